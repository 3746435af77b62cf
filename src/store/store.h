/*
 * store.h: databases on disk and in memory: tables as compressed column segments, snapshots,
 * transactions.
 *
 * A database is a directory NAME.tcu/ (or memory only). A table's rows lie in segments of up to
 * SEGMENT_ROWS rows, each column of a segment encoded by itself; segments are immutable, deletions are
 * bitmaps beside them. A manifest names the live files; a commit makes a new one durable. Small commits
 * go to a log that is folded into segments later. See doc/format.md for the bytes.
 *
 * Threads: one Db per directory and process, shared by all its connections. A Txn belongs to one
 * connection, but any number of that connection's workers may read through it at once. Readers hold a
 * snapshot and never wait. One writer at a time: the first write of a second transaction reports 55P03
 * (another connection or process holds the write lock) after tcudb.lock_timeout milliseconds.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/pool.h"
#include "codec/codec.h"
#include "type/vector.h"

enum { SEGMENT_ROWS = 131072 }; /* 64 batches */

typedef struct Db Db;
typedef struct Txn Txn;
typedef struct Table Table; /* one version of a table, as a transaction sees it */

typedef struct DbOptions {
    bool read_only;
    bool create; /* make the directory if it is not there */
    size_t memory_limit;
    uint32_t lock_timeout_ms;
    bool temp; /* in memory, for txn_attach_temp */
} DbOptions;

/* path NULL or ":memory:": in memory. Recovers (log replay) as needed. Errors: 58P01 no such database,
 * XX001 damaged (names file and offset), 0A000 newer format version, 42501. */
tcudb_status db_open(const char *path, const DbOptions *options, Db **out, Error *err) MUST_CHECK;
/* Every Txn must be ended. Folds the log if that is cheap. */
void db_close(Db *db);
Mem *db_mem(Db *db);
const char *db_path(const Db *db); /* NULL: in memory */
void db_set_lock_timeout(Db *db, uint32_t ms);

/* ---- transactions ------------------------------------------------------------------------- */

/* A snapshot of the last commit (of any process). Cheap. */
tcudb_status txn_begin(Db *db, Txn **out, Error *err) MUST_CHECK;
/* Ends the transaction durably; on failure nothing of it remains and the Txn is ended all the same. */
tcudb_status txn_commit(Txn *txn, Error *err) MUST_CHECK;
void txn_rollback(Txn *txn);
/* A point within the transaction to return to: a failed statement inside BEGIN must leave no half. */
typedef uint64_t Savepoint;
Savepoint txn_savepoint(Txn *txn);
void txn_rollback_to(Txn *txn, Savepoint savepoint);
bool txn_has_writes(const Txn *txn);
/* What is done in the transaction from now on ends with 57014 once *cancel is true; its commit too, up to the point
 * where it becomes durable. NULL: nothing stops it. */
void txn_set_cancel(Txn *txn, const atomic_bool *cancel);
/* Gives the transaction the tables of a database in memory besides its own: temporary ones, which hide those of the
 * same name. They begin, commit and roll back with it, but need no write lock of its. */
tcudb_status txn_attach_temp(Txn *txn, Db *temp, Error *err) MUST_CHECK;
bool txn_has_temp(const Txn *txn);
bool txn_is_temp(const Txn *txn, Str name); /* whether the name is a temporary table's */
/* Takes the write lock now (else the first change does) and, if the transaction has changed nothing yet, moves
 * its snapshot to the last commit: Tables obtained before are out of date (but stay readable). Call it before
 * binding a statement that writes. Without it, a txn_delete on a table that another transaction has changed
 * since the snapshot reports 40001; an append just joins the newer version. */
tcudb_status txn_lock(Txn *txn, Error *err) MUST_CHECK;

/* ---- definitions -------------------------------------------------------------------------- */

typedef struct ColumnDef {
    Str name;
    Type type;
    bool not_null;
    Str default_sql; /* expression text; len 0: none */
} ColumnDef;

/* UNIQUE, PRIMARY KEY: no two rows have the same values there, none of them NULL. The store keeps keys and checks;
 * who adds rows sees to them (exec/unique.c, op_modify.c). */
typedef struct KeyDef {
    Str name;
    bool primary;
    uint32_t ncols;
    const uint32_t *cols;
} KeyDef;

/* CHECK: an expression over the row's columns that is not false. */
typedef struct CheckDef {
    Str name;
    Str sql;
} CheckDef;

/* What is said of a table beside its columns and constraints; the store keeps it (catalog/notes.h has the kinds). */
typedef struct NoteDef {
    Str kind, subject, text; /* subject "": the table itself */
} NoteDef;

/* A temporary table, and what COMMIT does to it. */
typedef enum TableTemp { TEMP_NONE, TEMP_KEEP, TEMP_DELETE, TEMP_DROP } TableTemp;

typedef struct TableDef {
    uint64_t id; /* never reused */
    Str name;
    uint32_t ncols;
    const ColumnDef *cols;
    uint32_t nkeys, nchecks, nnotes;
    const KeyDef *keys;
    const CheckDef *checks; /* by name */
    const NoteDef *notes;   /* by kind and subject */
    TableTemp temp;         /* not TEMP_NONE: only in a transaction that has a temporary side; never on disk */
} TableDef;

typedef struct ViewDef {
    uint64_t id;
    Str name;
    Str sql; /* the SELECT, as text */
    uint32_t ncols;
    const Str *cols; /* output names */
} ViewDef;

/* Definitions are copied in; what is returned lives until the Txn ends or rolls back to a savepoint before it. Names
 * are exact (the binder folds case). Existence errors (42P07, 42P01) are raised here. */
tcudb_status txn_create_table(Txn *txn, const TableDef *def, Error *err) MUST_CHECK;
tcudb_status txn_create_view(Txn *txn, const ViewDef *def, bool replace, Error *err) MUST_CHECK;
tcudb_status txn_drop_table(Txn *txn, Str name, Error *err) MUST_CHECK;
tcudb_status txn_drop_view(Txn *txn, Str name, Error *err) MUST_CHECK;
tcudb_status txn_rename_table(Txn *txn, Str from, Str to, Error *err) MUST_CHECK;
/* Gives a table another definition over the same columns' values: names, defaults, NOT NULL, keys, checks, notes. Types
 * stay; the caller has seen that the rows satisfy it. */
tcudb_status txn_redefine_table(Txn *txn, Str name, const TableDef *def, Error *err) MUST_CHECK;
tcudb_status txn_truncate(Txn *txn, Str name, Error *err) MUST_CHECK;
const Table *txn_table(Txn *txn, Str name); /* NULL: no such table. The current version, own writes included */
const Table *txn_permanent_table(Txn *txn, Str name); /* not a temporary one */
const ViewDef *txn_view(Txn *txn, Str name);          /* NULL: none */
uint32_t txn_table_count(Txn *txn);                   /* for listings; order by name */
const Table *txn_table_at(Txn *txn, uint32_t i);
uint32_t txn_view_count(Txn *txn);
const ViewDef *txn_view_at(Txn *txn, uint32_t i);

/* ---- reading ------------------------------------------------------------------------------ */

const TableDef *table_def(const Table *table);
uint64_t table_rows(const Table *table); /* live rows */
uint32_t table_segments(const Table *table);

/* Exact facts about one column of one segment, over all its rows, deleted ones included. For text the
 * bounds are of dictionary codes in use, as .i64 of a Value of type int8. Floats: NaN counts as the maximum.
 * The last group of members is set by segment_pin only. */
typedef struct SegColumn {
    CodecId codec;
    uint8_t word_width; /* bytes of a decoded word before conversion: 1, 2, 4, 8, 16; Num as such: 32 */
    uint8_t bits;       /* CODEC_BITPACK: width */
    bool ascending;     /* no NULLs, and every value is greater than the one before */
    uint32_t rows;
    uint32_t nulls;
    bool has_bounds; /* false: all NULL or empty, or a Phys without bounds */
    Value min, max;
    uint64_t base;        /* what decoding adds: word + base, modulo the width of the type */
    const uint8_t *bytes; /* encoded blocks; 64 more bytes after `size` are readable (any value) */
    size_t size;
    const uint32_t *blocks; /* offset of each block in bytes[], one more than there are blocks */
    const uint64_t *valid;  /* bit set: not NULL (NULL rows have any word); NULL pointer: no NULLs */
} SegColumn;

uint32_t segment_rows(const Table *table, uint32_t segment);
bool segment_sealed(const Table *table, uint32_t segment); /* else the tail: raw, and still growing */
/* Facts only; never reads the file. */
const SegColumn *segment_column(const Table *table, uint32_t segment, uint32_t col);
/* Deleted rows of a segment: bit set = deleted; NULL: none. */
const uint64_t *segment_deleted(const Table *table, uint32_t segment);
/* Makes a column's bytes resident and checked (checksums), and keeps them so until the Txn ends: a scan of more than
 * fits the memory limit should use segment_read, which does not. */
tcudb_status segment_pin(const Table *table, uint32_t segment, uint32_t col, const SegColumn **out,
                         Error *err) MUST_CHECK;
/* Decodes rows [row, row + n) of a column (row a multiple of CODEC_BLOCK, n <= BATCH_ROWS). Flat, except
 * text: VEC_DICT. Constant columns come as VEC_CONST. Memory from the arena. sel/nsel as a hint: only
 * these rows (relative to row) need be right; NULL: all. */
tcudb_status segment_read(const Table *table, uint32_t segment, uint32_t col, uint32_t row, uint32_t n,
                          const uint16_t *sel, uint32_t nsel, Arena *arena, Vector *out, Error *err) MUST_CHECK;

/* The dictionary of a text column at this version; loads it at its first use, which *cancel (may be NULL) ends. Lives
 * as long as the Txn. */
typedef struct DictView {
    uint64_t id;
    uint32_t count;
    const Str *values;
    bool ascii;                /* all of them */
    const atomic_bool *cancel; /* of whoever asked for it */
} DictView;
tcudb_status table_dict(const Table *table, uint32_t col, const atomic_bool *cancel, DictView *out,
                        Error *err) MUST_CHECK;
/* Bytes of one of its texts, about; loads nothing. */
double table_text_width(const Table *table, uint32_t col);
/* The heads (str_head) of a dictionary's texts by code, in blocks. Made at the first use, which *cancel (may be NULL)
 * stops. TCUDB_NOMEM: there is no room for them, which callers do without. */
enum { HEAD_BLOCK = 1024 };
typedef struct HeadBlock {
    uint64_t min, max; /* of all heads; only right in blocks that are full */
    uint64_t at[HEAD_BLOCK];
} HeadBlock;
typedef struct HeadView {
    uint32_t count;
    const HeadBlock *const *blocks;
} HeadView;
tcudb_status table_heads(const Table *table, uint32_t col, const atomic_bool *cancel, HeadView *out,
                         Error *err) MUST_CHECK;
/* No head of the codes lo..hi is outside [min, max]. */
void heads_bounds(const HeadView *view, uint32_t lo, uint32_t hi, uint64_t *min, uint64_t *max);
static inline uint64_t head_at(const HeadView *view, uint32_t code)
{
    return view->blocks[code / HEAD_BLOCK]->at[code % HEAD_BLOCK];
}
/* Code of a text in the dictionary; *found false: not there. `many`: more look-ups follow, so an index is made if there
 * is none yet; else the values are read. */
tcudb_status table_dict_find(const Table *table, uint32_t col, Str text, bool many, const atomic_bool *cancel,
                             bool *found, uint32_t *code, Error *err) MUST_CHECK;

/* Facts of one column over all stored rows, deleted ones included; kept with the version. */
typedef struct TableFacts {
    uint64_t rows, nulls;
    bool has_bounds; /* exact: no value is outside */
    bool complete;   /* internal */
    bool ascending;  /* no NULLs, and every value is greater than the one before: unique */
    Value min, max;  /* text: codes */
    double distinct; /* text: size of the dictionary, an upper bound; else an estimate */
    bool exact;      /* text: every value of the dictionary is in some stored row */
} TableFacts;
tcudb_status table_facts(const Table *table, uint32_t col, TableFacts *out, Error *err) MUST_CHECK;

/* ---- writing ------------------------------------------------------------------------------ */

/* Appends the live rows of a batch whose columns match the table's (types equal, NOT NULL checked here:
 * 23502 naming the column). Small transactions end in the log, large ones in segments. */
tcudb_status txn_append(Txn *txn, Str table, const Batch *batch, Error *err) MUST_CHECK;

/* Parallel load: an Appender gathers rows on one worker and cuts segments by itself; several may be open
 * on one table at once. Rows become visible to the transaction in appender_finish, in `order` (the
 * caller's number: lower first). Not thread-safe each; between them it is. */
typedef struct Appender Appender;
tcudb_status appender_new(Txn *txn, Str table, Appender **out, Error *err) MUST_CHECK;
/* About so many rows will come through the transaction's appenders of this table; 0: no more. Only the memory that
 * dictionaries take depends on it. */
void appender_expect(Appender *appender, uint64_t rows);
tcudb_status appender_add(Appender *appender, const Batch *batch, Error *err) MUST_CHECK;
tcudb_status appender_finish(Appender *appender, uint64_t order, Error *err) MUST_CHECK; /* frees it, always */
void appender_abort(Appender *appender);

/* ---- other columns over the same rows: revise.c ---- */

enum { NO_COLUMN = UINT32_MAX };

/* Where a column of the revised table comes from. */
typedef struct ColumnSource {
    uint32_t from; /* the column of the table as it is; NO_COLUMN: none */
    bool widened;  /* the values of `from` in a type that holds them all in wider words, of integers: int2 to int8, a
                    * decimal of more digits */
    bool written;  /* gets values by patches: of all live rows if from is NO_COLUMN */
    Value value;   /* from is NO_COLUMN, not written: of all rows; may be NULL */
} ColumnSource;

/* The table gets the columns of def (its id and name do not count; NULL: those it has), one source each. A column that
 * is kept has the same type, or both are texts. The caller has seen to what def promises of the rows. The table must
 * not change until revision_finish. 40001 as for txn_delete. */
typedef struct Revision Revision;
tcudb_status revision_new(Txn *txn, Str table, const TableDef *def, const ColumnSource *sources, Revision **out,
                          Error *err) MUST_CHECK;
/* Both free it, always; no patch is open. */
tcudb_status revision_finish(Revision *revision, Error *err) MUST_CHECK;
void revision_abort(Revision *revision);

/* New values of the written columns in one segment; the tail (the last one) only if all of them are new. Patches of
 * different segments may be written by different threads. */
typedef struct Patch Patch;
/* all: every live row will be written; else other rows keep what they have. */
tcudb_status patch_new(Revision *revision, uint32_t segment, bool all, Patch **out, Error *err) MUST_CHECK;
/* The batch's live rows, at most BATCH_ROWS, are for these rows of the segment, ascending; its columns are the written
 * ones, in their order in def. */
tcudb_status patch_write(Patch *patch, const uint32_t *rows, const Batch *batch, Error *err) MUST_CHECK;
/* Encodes and writes them. Frees it, always. */
tcudb_status patch_finish(Patch *patch, Error *err) MUST_CHECK;
void patch_abort(Patch *patch);

/* Row ids: segment << 32 | row, valid within the transaction until its next append or delete. */
tcudb_status txn_delete(Txn *txn, Str table, const uint64_t *row_ids, size_t n, Error *err) MUST_CHECK;

/* Called between statements and on close: folds the log into segments when that is due. Stopped by *cancel (may be
 * NULL), it has changed nothing and is due again. */
tcudb_status db_maintain(Db *db, const atomic_bool *cancel, Error *err) MUST_CHECK;

#endif
