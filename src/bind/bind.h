/*
 * bind.h: parse tree -> bound statement: names resolved, types and casts settled, plans built.
 */
#ifndef BIND_BIND_H
#define BIND_BIND_H

#include "base/cancel.h"
#include "base/settings.h"
#include "plan/plan.h"
#include "plan/table_func.h"
#include "sql/sql.h"

typedef enum StmtKind {
    STMT_QUERY,        /* plan: SELECT, VALUES, INSERT, UPDATE, DELETE; executed, rows returned if any */
    STMT_CREATE_TABLE, /* create; plan set for CREATE TABLE AS */
    STMT_CREATE_VIEW,
    STMT_DROP,
    STMT_TRUNCATE,
    STMT_ALTER_RENAME,
    STMT_ALTER_TABLE, /* table: the new definition; plan: the INSERT that fills it from the old one */
    STMT_COPY_FROM,
    STMT_COPY_TO, /* plan: what to write */
    STMT_BEGIN,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_SAVEPOINT,
    STMT_RELEASE,
    STMT_ROLLBACK_TO,
    STMT_SET,
    STMT_RESET,
    STMT_SHOW,
    STMT_PREPARE,
    STMT_EXECUTE,
    STMT_DEALLOCATE,
    STMT_EXPLAIN,
    STMT_CREATE_SEQUENCE, /* table, name; flag: IF NOT EXISTS */
    STMT_ALTER_SEQUENCE,  /* table, name, restart; flag: it does not exist, and that is no error */
    STMT_NOTE,            /* table: the definition with the note, of the table `name`; flag: it is not there yet */
    STMT_SET_MODES,       /* SET TRANSACTION ... */
    STMT_DISCARD,         /* name: what; flag: ALL */
    STMT_CALL,            /* CALL ssb(scale => 1): a procedure of files/proc.def */
    STMT_NOTHING          /* accepted and ignored: ANALYZE, VACUUM, CHECKPOINT is not (folds the log) */
} StmtKind;

/* name => value options of COPY, EXPLAIN, CALL. */
typedef struct StmtOption {
    Str name;
    Value value; /* null: given without a value */
    int position;
} StmtOption;

/* A plan that runs before the statement's own: a data-modifying query of WITH. */
typedef struct StmtStep {
    Plan *plan;
    KeptRows *kept; /* where its rows go */
    Str table;      /* that it changes */
} StmtStep;

/* A subquery of LIMIT or OFFSET: runs once before the plan that has it, as a parameter behind the statement's own. */
typedef struct StmtCount {
    Plan *plan;  /* of one row and column */
    Expr *param; /* in the plan */
    Value value;
    bool known;
} StmtCount;

typedef struct Stmt {
    StmtKind kind;
    ColId next_col;                                                         /* first unused column id */
    uint32_t nparams, nnames, ncolumns, noptions, nargs, nretyped, ncounts; /* of the arrays below */
    bool flag; /* IF EXISTS, IF NOT EXISTS, OR REPLACE, SET LOCAL, SHOW ALL, DEALLOCATE ALL */
    bool cascade;
    bool view;             /* DROP VIEW */
    bool keeps_rows;       /* ALTER TABLE: if they satisfy `table`, they stay as they are */
    ColumnSource *sources; /* ALTER TABLE: where `revised`'s columns come from; NULL: the table is made anew */
    TableDef revised;      /* the columns of `table`, with what is known to hold of them already */
    const Str *retyped;    /* ALTER TABLE: columns that get another type, maybe other values */
    Str column, column_to; /* ALTER TABLE ... RENAME COLUMN; column.len 0: none */
    Plan *constants;       /* the values of sources that are new and not written, in order; NULL: none */
    Plan *revision;        /* the UPDATE that writes columns; NULL: none is written */
    const char *tag;       /* command tag: "SELECT", "INSERT", "CREATE TABLE", ... */
    Plan *plan;            /* QUERY, COPY_TO, CREATE TABLE AS; NULL otherwise */
    const Type *params;    /* types of $1..$n, inferred where not given */
    Str name;              /* table, view, setting, prepared statement, savepoint, procedure */
    const Str *names;      /* DROP a, b; TRUNCATE a, b */
    TableDef table;        /* CREATE TABLE */
    Str isolation;         /* BEGIN, SET TRANSACTION: ISOLATION LEVEL; len 0: none */
    bool read_only;        /* the same: READ ONLY */
    bool read_write;       /* the same: READ WRITE */
    bool sequence;         /* DROP SEQUENCE */
    bool restart;          /* ALTER SEQUENCE ... RESTART; TRUNCATE ... RESTART IDENTITY */
    bool advances;         /* takes numbers from sequences or sets them */
    bool asks_sequences;   /* calls functions over sequences, of which `sequences` are named */
    ViewDef create_view;
    Str text; /* SET value; new name of a rename; a column dropped; file of COPY (len 0: stdin/stdout); SQL of PREPARE
               */
    const uint32_t *columns; /* COPY t (a, b): table column numbers in file order */
    const StmtOption *options;
    const struct Stmt *inner; /* EXPLAIN of this */
    const Value *args;        /* EXECUTE, CALL */
    const Type *arg_types;    /* PREPARE x (int, text) */
    int64_t restart_value;
    const Str *sequences;
    uint32_t nsequences;
    uint32_t nmerged; /* columns that NATURAL joins in it go by */
    const StmtStep *steps;
    uint32_t nsteps;
    StmtCount *counts;
    bool merge;              /* the steps are all: the first one's rows are those to be changed */
    bool merge_again;        /* the first step looks for rows that would be changed twice, the others join anew */
    uint32_t merge_rowid;    /* of that one's columns the row id; the last is the number of the clause */
    uint64_t merge_once;     /* clauses (from bit 0) that may change a row once only */
    const TableDef *serials; /* CREATE, ALTER TABLE: sequences of its columns, to be made with it */
    uint32_t nserials;
    Str set_name, set_value; /* set_config('name', 'value', local): a query that also sets; name.ptr NULL: none */
    bool set_local;
    Plan *moved; /* UPDATE of keys that ON UPDATE CASCADE follows: their old values, then their new ones; or NULL */
    const uint32_t *moved_columns; /* of the table */
    uint32_t nmoved;
    int param_position, param_number; /* of the first $n; 0: there is none */
    const Ast *ast;                   /* of the statement itself (PREPARE: of the inner one) */
} Stmt;

/* What binding may look at. Functions that yield rows are found through `find_table_func`, so that bind/
 * need not know files/. */
/* What is to be written otherwise in the text of a view's query: while the view is made its stars, as the columns that
 * they stand for; later a relation, or a column of it, that gets another name. */
typedef struct TextEdits {
    struct NameEdit *list;
    uint32_t n, cap;
    Str relation, column, to; /* relation.len 0: stars; column.len 0: the relation itself */
    bool refused;             /* a place that cannot be written otherwise */
} TextEdits;

typedef struct BindEnv {
    Txn *txn;
    const Settings *settings;
    int64_t now;
    const TableFunc *(*find_table_func)(Str name);
    const Type *param_types; /* given in advance by PREPARE or the API; TYPE_NONE: infer */
    uint32_t nparam_types;
    const atomic_bool *cancel; /* may be NULL */
    bool own_text;             /* not the user's: search_path does not matter */
    TextEdits *edits;          /* NULL: nobody asks */
} BindEnv;

/* The statement lives in the arena. */
tcudb_status bind_statement(Arena *arena, const BindEnv *env, const Ast *ast, Stmt **out, Error *err) MUST_CHECK;

#endif
