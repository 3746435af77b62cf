/*
 * store_int.h: what the files of store/ share.
 *
 * A Root is one committed state: every table and view. A Table is one version of one table. Both are immutable
 * once others can see them (refs > 1 or frozen) and copied before they are changed; what they point to (segments,
 * tail buffers, deletion bitmaps, definitions, dictionaries) is shared by reference count.
 *
 * A table's rows are its sealed segments' and then its tail's: an uncompressed buffer that versions share. A
 * version sees the first tail_rows rows; only the one writer writes behind them.
 */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include "store/dict.h"
#include "store/store.h"
#include "store/wire.h"

#include <pthread.h>

enum {
    BUFFER_SLACK = 64, /* readable bytes after every encoded column */
    SEGMENT_BLOCKS = SEGMENT_ROWS / CODEC_BLOCK,
    DELETED_WORDS = SEGMENT_ROWS / 64,
    TAIL_FIRST = 1024,
    RAW_WIDTHS = 6, /* 1, 2, 4, 8, 16, 32 */
    SKETCH_BYTES = 1024
};

/* ---- dictionaries (dict.h) ------------------------------------------------------------------ */

/* A private memory of texts seen lately, in front of a dictionary shared with other threads. */
typedef struct DictCache {
    Dict *dict;
    const atomic_bool *cancel; /* may be NULL */
    uint64_t from_id;          /* VEC_DICT input: the dictionary that `map` maps from */
    const Str *from_values;
    uint32_t **map; /* pages of code + 1; 0, or no page: not known yet */
    uint32_t map_pages;
    uint64_t hashes[1024];
    uint32_t codes[1024]; /* code + 1 */
} DictCache;
tcudb_status dict_cache_new(Dict *dict, Mem *mem, const atomic_bool *cancel, DictCache **out, Error *err) MUST_CHECK;
void dict_cache_free(DictCache *cache, Mem *mem);
/* Codes of the batch's live rows that are not NULL; others get 0. */
tcudb_status dict_encode(DictCache *cache, Mem *mem, const Vector *v, const Batch *batch, uint32_t *codes,
                         Error *err) MUST_CHECK;

/* Caches in front of a table's dictionaries, one worker's: append.c. */
typedef struct TextCaches {
    struct TextCaches *next;
    uint64_t table;
    uint32_t ncols;
    DictCache *caches[]; /* per column; NULL: not text */
} TextCaches;

/* ---- columns in memory (buffer.c, facts.c) ------------------------------------------------- */

/* Uncompressed rows, all columns; append-only, shared by versions as a tail or private to an appender.
 * Texts are codes. One allocation. */
typedef struct RowBuf {
    _Atomic uint32_t refs;
    Mem *mem;
    size_t bytes;
    uint32_t cap;
    uint32_t ncols;
    uint8_t **data;
    uint8_t **valid; /* a byte a row: 1, or 0 for NULL */
} RowBuf;

typedef struct TableMeta TableMeta;
tcudb_status rowbuf_new(Mem *mem, const TableMeta *meta, uint32_t cap, RowBuf **out, Error *err) MUST_CHECK;
void rowbuf_unref(RowBuf *buf);
/* A copy of the first `rows` rows with more room; *cancel (may be NULL) ends it. */
tcudb_status rowbuf_grow(const RowBuf *buf, const TableMeta *meta, uint32_t rows, uint32_t cap,
                         const atomic_bool *cancel, RowBuf **out, Error *err) MUST_CHECK;
/* Rows whose facts are gathered between two looks at a flag. */
uint32_t rowbuf_step(const TableMeta *meta);
/* Bytes of a stored word: of a text its code's. */
uint32_t stored_width(Phys phys);
/* *cancel (may be NULL) ends it. */
tcudb_status rowbuf_copy(RowBuf *to, uint32_t at, const RowBuf *from, uint32_t row, uint32_t n, const TableMeta *meta,
                         const atomic_bool *cancel, Error *err) MUST_CHECK;

/* Order of two values of one type as ORDER BY sees it; Num of one scale. */
int value_order(const Value *a, const Value *b);

/* Distinct counts (sketch.c). */
void sketch_add(uint8_t *sketch, Phys phys, const uint8_t *data, const uint8_t *valid, uint32_t n);
void sketch_merge(uint8_t *to, const uint8_t *from, size_t n);
double sketch_count(const uint8_t *sketch);

/* ---- segments ------------------------------------------------------------------------------ */

/* One column of one segment. `pub` is constant but for its last group, which is set once, under the segment's
 * lock, before `resident` turns true. */
typedef struct ColData {
    SegColumn pub;
    bool mixed; /* Num of several scales or not finite: no bounds */
    atomic_bool resident;
    _Atomic uint64_t last_used; /* the database's clock at the last pin, see residency.c */
    _Atomic uint32_t holds;
    uint8_t *memory; /* bytes, then blocks, then validity: what pub points into; also what the file holds */
    size_t memory_size;
    uint64_t offset;   /* in the segment's part file */
    uint64_t checksum; /* XXH3-64 of memory */
} ColData;

void facts_init(ColData *col, Type type);
/* Takes rows [from, from + n) of a column into its facts; pub.rows must be `from`. */
void facts_add(ColData *col, Type type, const uint8_t *data, const uint8_t *valid, uint32_t from, uint32_t n);

/* A file of column data, immutable once committed. */
typedef struct Part {
    _Atomic uint32_t refs;
    Db *db;
    uint64_t number;
    pthread_mutex_t lock;  /* of fd */
    int fd;                /* -1: not open yet */
    _Atomic uint64_t size; /* where the next segment goes */
    bool committed;        /* else the file goes with the last reference */
} Part;

/* A column of a segment, shared by all versions of the segment that have it. */
typedef struct Column {
    _Atomic uint32_t refs;
    Mem *mem;
    Part *part;           /* NULL: in memory only, or without bytes */
    pthread_mutex_t lock; /* of data.memory and what points into it */
    ColData data;
} Column;

/* Which columns a segment has; another set of columns over the same rows is another Segment. */
typedef struct Segment {
    _Atomic uint32_t refs;
    Mem *mem;
    uint32_t rows;
    uint32_t ncols;
    uint8_t *sketch; /* SKETCH_BYTES a column until a table has taken it over */
    Column *cols[];
} Segment;

tcudb_status column_new(Mem *mem, Column **out, Error *err) MUST_CHECK;
Column *column_ref(Column *column);
void column_unref(Column *column);
/* All rows have the same value, or NULL: the facts say everything, and no bytes are written or read. */
bool column_is_uniform(const SegColumn *column);

/* col->memory is `size` encoded bytes and slack, the blocks' offsets, and validity bits if there are NULLs; layout
 * returns its size, point sets pub's pointers into it. */
void coldata_point(ColData *col);
size_t coldata_layout(size_t size, uint32_t rows, bool with_valid, size_t *at_blocks, size_t *at_valid);
tcudb_status coldata_alloc(ColData *col, Mem *mem, size_t size, Error *err) MUST_CHECK;
/* Columns are NULL at first. */
tcudb_status segment_new(Mem *mem, uint32_t rows, uint32_t ncols, Segment **out, Error *err) MUST_CHECK;
void segment_drop_sketch(Segment *segment);
void segment_unref(Segment *segment);
/* Encodes the first `rows` values of a type: as in a RowBuf. */
tcudb_status column_encode(Mem *mem, Type type, const uint8_t *data, const uint8_t *valid, uint32_t rows, Column **out,
                           Error *err) MUST_CHECK;
/* Encodes the first `rows` rows of a buffer. */
tcudb_status segment_encode(Mem *mem, const TableMeta *meta, const RowBuf *buf, uint32_t rows,
                            const atomic_bool *cancel, Segment **out, Error *err) MUST_CHECK;

/* Bit set: row deleted. DELETED_WORDS words. */
typedef struct Deleted {
    _Atomic uint32_t refs;
    Mem *mem;
    uint32_t count;
    uint64_t bits[DELETED_WORDS];
} Deleted;

tcudb_status deleted_new(Mem *mem, const Deleted *from, Deleted **out, Error *err) MUST_CHECK;
void deleted_unref(Deleted *deleted);

/* ---- versions (root.c) --------------------------------------------------------------------- */

struct TableMeta {
    _Atomic uint32_t refs;
    Mem *mem;
    size_t bytes;
    TableDef def;
    Dict **dicts;         /* per column; NULL: not text */
    uint64_t *ids;        /* per column: the same in the versions of a table that have the column */
    uint64_t next_col_id; /* above all that versions before have given */
};

struct Table {
    _Atomic uint32_t refs;
    atomic_bool frozen; /* handed out or committed: not to be changed */
    Db *db;
    TableMeta *meta;
    uint32_t nsegs; /* sealed */
    uint32_t cap;   /* of segs; deleted has one more, for the tail */
    Segment **segs;
    Deleted **deleted; /* per segment, then the tail's; NULL: none */
    RowBuf *tail;
    uint32_t tail_rows;
    ColData *tail_cols;   /* the tail's facts at this version */
    SegColumn *tail_pins; /* the same with bytes, made by segment_pin under the lock */
    uint64_t live;
    uint64_t lineage;     /* versions without a TRUNCATE between them have the same */
    uint8_t *sketch;      /* SKETCH_BYTES a column, of the sealed segments; NULL: none */
    pthread_mutex_t lock; /* of what is computed lazily: tail validity, statistics */
    struct TableCache *cache;
};

typedef struct View {
    _Atomic uint32_t refs;
    Mem *mem;
    size_t bytes;
    ViewDef def;
} View;

/* One manifest and its log. While a snapshot of it lives, its files are kept, by a shared lock that other processes
 * see. */
typedef struct Generation {
    _Atomic uint32_t refs;
    Db *db;
    uint64_t number;
    struct Generation *next; /* db->generations, under db->lock */
} Generation;

typedef struct Root {
    _Atomic uint32_t refs;
    Mem *mem;
    Generation *generation; /* NULL: in memory */
    uint64_t commit;        /* number of the commit that made it */
    uint32_t ntables, nviews;
    uint32_t tables_cap, views_cap;
    Table **tables; /* by name */
    View **views;
} Root;

/* Columns get ids as in `like`, which has the same ones; NULL: new ones. */
tcudb_status meta_new(Mem *mem, const TableDef *def, Dict *const *dicts, const TableMeta *like, TableMeta **out,
                      Error *err) MUST_CHECK;
void meta_unref(TableMeta *meta);
tcudb_status table_new(Db *db, TableMeta *meta, Table **out, Error *err) MUST_CHECK;
tcudb_status table_clone(const Table *table, Table **out, Error *err) MUST_CHECK;
void table_ref(Table *table);
void table_unref(Table *table);
void table_drop_cache(Table *table);
tcudb_status table_reserve(Table *table, uint32_t segments, Error *err) MUST_CHECK;
tcudb_status table_merge_sketch(Table *table, const uint8_t *sketch, Error *err) MUST_CHECK;
bool table_uses_part(const Table *table, uint64_t number);
/* Takes over the caller's reference on success; the tail must be empty. */
tcudb_status table_add_segment(Table *table, Segment *segment, Error *err) MUST_CHECK;
tcudb_status view_new(Mem *mem, const ViewDef *def, View **out, Error *err) MUST_CHECK;
void view_unref(View *view);

/* An array of pointers with room for one more than n; NULL and *err set on failure (the old one stays valid). */
void *grow_pointers(Mem *mem, void *array, uint32_t *cap, uint32_t n, Error *err) MUST_CHECK;
tcudb_status root_new(Mem *mem, Root **out, Error *err) MUST_CHECK;
tcudb_status root_clone(const Root *root, Root **out, Error *err) MUST_CHECK;
void root_ref(Root *root);
void root_unref(Root *root);
/* Position of the name, or where it belongs; *found says which. */
uint32_t root_find_table(const Root *root, Str name, bool *found);
uint32_t root_find_view(const Root *root, Str name, bool *found);
/* These take over the caller's reference on success. */
tcudb_status root_insert_table(Root *root, Table *table, Error *err) MUST_CHECK;
tcudb_status root_insert_view(Root *root, View *view, Error *err) MUST_CHECK;
void root_remove_table(Root *root, uint32_t at); /* gives the reference to the caller */
void root_remove_view(Root *root, uint32_t at);  /* likewise */

/* ---- transactions -------------------------------------------------------------------------- */

/* What a transaction has written to a part file, per table. */
typedef struct TxnPart {
    uint64_t table;
    Part *part;
} TxnPart;

typedef struct SavedRoot {
    Root *root; /* referenced; NULL: no writes yet */
} SavedRoot;

struct Txn {
    Db *db;
    uint64_t began; /* the clock then */
    Txn *live_next, **live_at;
    Root *base;                /* the snapshot */
    Root *work;                /* own state; NULL: no writes */
    bool writer;               /* holds the write lock */
    bool folding;              /* changes nothing but where things lie: commits by manifest */
    const atomic_bool *cancel; /* may be NULL */
    Savepoint nsaves, cap_saves;
    SavedRoot *saves;
    pthread_mutex_t lock; /* appenders finish on many threads */
    TextCaches *caches;
    struct Pending *pending; /* finished appenders' rows not yet in their table */
    Root *stale;             /* the snapshot before txn_lock moved it: its Tables may still be read */
    Table **held;            /* versions handed out and since replaced: they live as long as the Txn */
    uint32_t nheld, cap_held;
    View **held_views;
    uint32_t nheld_views, cap_held_views;
    uint32_t appenders; /* open ones */
    pthread_mutex_t parts_lock;
    TxnPart *parts;
    uint32_t nparts, cap_parts;
    struct Txn *temp; /* of the session's temporary tables (temp.c); NULL: none */
};

/* Temporary tables (temp.c). */
Txn *txn_of(Txn *txn, Str name); /* the side that has the table of that name */
Savepoint txn_temp_savepoint(Txn *txn);
Savepoint txn_temp_rollback_to(Txn *txn, Savepoint savepoint);
const Table *table_hand_out(Table *table);

typedef struct Disk Disk;

struct Db {
    Mem mem;
    bool read_only;
    char *path;
    pthread_mutex_t lock; /* root, writer */
    pthread_cond_t writer_free;
    Txn *writer;
    _Atomic uint32_t lock_timeout_ms;
    Root *root;                    /* last commit */
    struct Txn *live;              /* all transactions, under lock */
    _Atomic uint64_t clock;        /* ticks at each txn_begin */
    _Atomic size_t resident_bytes; /* of columns that are in files too */
    pthread_mutex_t evicting;
    atomic_bool compact_due;    /* some table has many deleted rows */
    _Atomic uint64_t next_id;   /* of tables, views, dictionaries */
    _Atomic uint64_t next_file; /* of parts */
    _Atomic uint64_t next_lineage;
    Disk *disk;                                          /* NULL: in memory */
    uint32_t raw_blocks[RAW_WIDTHS][SEGMENT_BLOCKS + 1]; /* block offsets of raw columns by width */
};

const uint32_t *db_raw_blocks(const Db *db, uint32_t width);
tcudb_status txn_no_table(Str name, Error *err);
/* Keeps a version until the transaction ends; takes over the reference on success. */
tcudb_status txn_hold(Txn *txn, Table *table, Error *err) MUST_CHECK;
tcudb_status txn_hold_view(Txn *txn, View *view, Error *err) MUST_CHECK;
void drop_pending(Txn *txn);
void drop_caches(Txn *txn);
/* The transaction's state to be changed: its own, not shared with a savepoint. Takes the write lock. */
tcudb_status txn_write(Txn *txn, Error *err) MUST_CHECK;
/* The version of a table to be changed; 42P01 if there is none. *at: its place in txn->work. */
tcudb_status txn_write_table(Txn *txn, Str name, Table **out, Error *err) MUST_CHECK;
/* Puts what appenders have finished into the tables, in order. */
tcudb_status txn_settle(Txn *txn, Error *err) MUST_CHECK;
tcudb_status table_delete_row(Table *table, uint32_t segment, uint32_t row, Error *err) MUST_CHECK;
/* Makes room for n more rows in the tail, which must fit; then counts n rows written behind it. */
tcudb_status table_tail_room(Table *table, uint32_t n, Error *err) MUST_CHECK;
void table_tail_added(Table *table, uint32_t n);
tcudb_status text_caches_new(Mem *mem, const TableMeta *meta, const atomic_bool *cancel, TextCaches **out,
                             Error *err) MUST_CHECK;
void text_caches_free(TextCaches *set, Mem *mem);
/* The transaction's caches in front of a table's dictionaries, by column. */
tcudb_status txn_caches(Txn *txn, const TableMeta *meta, DictCache ***out, Error *err) MUST_CHECK;
/* revise.c: a version of the same rows with the columns of `meta`: from[c] is the column of `old` that column c is, or
 * NO_COLUMN: those are to be put in, into every segment and, by revised_tail, the tail. */
tcudb_status table_revised(const Table *old, TableMeta *meta, const uint32_t *from, Table **out, Error *err) MUST_CHECK;
/* The tail's values of new column c are there. */
void revised_tail(Table *table, uint32_t c);
/* Takes over the reference. */
void revised_column(Table *table, uint32_t segment, uint32_t c, Column *column);
tcudb_status revised_sketch(Table *table, uint32_t c, const uint8_t *sketch, bool anew, Error *err) MUST_CHECK;
/* compact.c: whether a version has many deleted rows; writes those tables of a fold anew. */
bool table_is_due(const Table *table);
tcudb_status txn_compact(Txn *txn, Error *err) MUST_CHECK;
/* The flag of the transaction that changes the table; NULL: it is read from disk. */
const atomic_bool *table_cancel(const Table *table);
/* Encodes the tail into a segment. */
tcudb_status table_seal(Table *table, Error *err) MUST_CHECK;
/* Appends rows [from, from + n) of a buffer to the tail, sealing full ones. */
tcudb_status table_append_rows(Table *table, const RowBuf *rows, uint32_t from, uint32_t n, Error *err) MUST_CHECK;
/* Takes the live rows of a batch into a buffer with room for them. caches: per column, NULL for non-text. *cancel (may
 * be NULL) ends it between columns: each may be the first in huge pages, or make a dictionary grow. */
tcudb_status rowbuf_append(RowBuf *buf, uint32_t at, const TableMeta *meta, DictCache **caches, const Batch *batch,
                           uint32_t skip, uint32_t n, const atomic_bool *cancel, Error *err) MUST_CHECK;

/* ---- on disk --------------------------------------------------------------------------------- */

void generation_unref(Generation *generation);

/* part.c */
void part_unref(Part *part);
/* Part files met while reading a record, by number: each is one Part, with one open file, for all its columns. */
typedef struct PartSet {
    uint32_t n, cap;
    Part **at;
} PartSet;

/* A reference of the caller's own. */
tcudb_status partset_find(PartSet *set, Db *db, uint64_t number, Part **out, Error *err) MUST_CHECK;
void partset_free(PartSet *set, Db *db);
/* Writes new columns to the transaction's part file of the table; in memory: nothing. Any thread. */
tcudb_status txn_write_columns(Txn *txn, uint64_t table, Column *const *cols, uint32_t n, Error *err) MUST_CHECK;
tcudb_status txn_sync_parts(Txn *txn, Error *err) MUST_CHECK;
void txn_drop_parts(Txn *txn, bool committed);
/* residency.c: column bytes in memory, and their limit. */
bool residency_full(Db *db, size_t more);
void residency_make_room(Db *db, size_t more);
void residency_add(const Column *column);
void residency_written(Column *column);

/* Before column_load: keeps a column's bytes until every transaction that lives now has ended, or until released. */
void residency_pin(Column *column);
void residency_hold(Column *column);
void residency_release(Column *column);
/* Reads and checks a column. */
tcudb_status column_load(Column *column, Error *err) MUST_CHECK;

/* record.c: definitions and facts as bytes. */
/* What decoding adds: the minimum where words are of the column's own width. */
uint64_t column_base(const SegColumn *column, Phys phys);
tcudb_status put_table_def(Buf *buf, const TableMeta *meta, Error *err) MUST_CHECK;
tcudb_status get_table_def(Reader *r, Db *db, Arena *arena, TableMeta **out, Error *err) MUST_CHECK;
tcudb_status put_view_def(Buf *buf, const ViewDef *def, Error *err) MUST_CHECK;
tcudb_status get_view_def(Reader *r, Db *db, Arena *arena, View **out, Error *err) MUST_CHECK;
tcudb_status put_segment(Buf *buf, const TableMeta *meta, const Segment *segment, Error *err) MUST_CHECK;
/* *out NULL: bad. */
tcudb_status get_segment(Reader *r, Db *db, const TableMeta *meta, PartSet *parts, Segment **out,
                         Error *err) MUST_CHECK;
/* One column's facts and place; `part`: where it is unless it says otherwise. */
tcudb_status put_column(Buf *buf, const Column *column, uint64_t part, Error *err) MUST_CHECK;
tcudb_status get_column(Reader *r, Db *db, const TableMeta *meta, uint32_t col, uint32_t rows, uint64_t part,
                        PartSet *parts, Column **out, Error *err) MUST_CHECK;
tcudb_status db_dict(Db *db, uint64_t id, Dict **out, Error *err) MUST_CHECK;
/* Rows deleted in `now` and not in `before` (either may be NULL). */
tcudb_status put_deleted(Buf *buf, const Deleted *now, const Deleted *before, Error *err) MUST_CHECK;
tcudb_status get_deleted(Reader *r, Table *table, uint32_t segment, Error *err) MUST_CHECK;
tcudb_status put_rows(Buf *buf, const TableMeta *meta, const RowBuf *rows, uint32_t from, uint32_t n,
                      Error *err) MUST_CHECK;
tcudb_status put_raw_column(Buf *buf, Type type, const RowBuf *rows, uint32_t c, uint32_t from, uint32_t n,
                            Error *err) MUST_CHECK;
/* Into rows [at, at + n) of the buffer. */
void get_raw_column(Reader *r, const TableMeta *meta, uint32_t c, RowBuf *rows, uint32_t at, uint32_t n);
/* Appends them to the table's tail. */
tcudb_status get_rows(Reader *r, Table *table, Error *err) MUST_CHECK;
tcudb_status put_sketch(Buf *buf, const Table *table, Error *err) MUST_CHECK;
tcudb_status get_sketch(Reader *r, Table *table, Error *err) MUST_CHECK;
/* Of one column, in the place of what it has. */
tcudb_status get_column_sketch(Reader *r, Table *table, uint32_t c, Error *err) MUST_CHECK;

/* commit.c, replay.c: a transaction's changes as the payload of a log record. */
tcudb_status put_commit(Buf *buf, Txn *txn, Error *err) MUST_CHECK;
tcudb_status table_drop_tail(Table *table, Error *err) MUST_CHECK;
tcudb_status get_segments(Reader *r, Table *table, uint32_t n, Error *err) MUST_CHECK;
tcudb_status apply_commit(Reader *r, Db *db, Root *root, Error *err) MUST_CHECK;

/* Counters only grow. */
void db_raise(_Atomic uint64_t *counter, uint64_t least);

/* disk.c, log.c, manifest.c, fold.c */
tcudb_status disk_open(Db *db, const DbOptions *options, Error *err) MUST_CHECK;
void disk_close(Db *db);
/* Follows the commits of other processes. */
tcudb_status disk_refresh(Db *db, Error *err) MUST_CHECK;
tcudb_status disk_lock(Db *db, uint32_t timeout_ms, const atomic_bool *cancel, Error *err) MUST_CHECK;
void disk_unlock(Db *db);
tcudb_status disk_commit(Txn *txn, Error *err) MUST_CHECK;
/* Removes files that the root does not name, each if no snapshot is left of a generation below the first one that was
 * seen without it; `since`: what that is of those seen now. With the write lock. */
void disk_collect_garbage(Db *db, const Root *root, uint64_t since);
void disk_free_garbage(Db *db);
bool disk_fold_due(Db *db, bool closing);
/* The last commit failed and may yet be found in the log after a crash: what it refers to must stay. */
bool disk_doubtful(const Db *db);

#endif
