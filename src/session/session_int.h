/*
 * session_int.h: the state of a connection, and the steps of a statement, for the files of session/.
 */
#ifndef SESSION_SESSION_INT_H
#define SESSION_SESSION_INT_H

#include "catalog/notes.h"
#include "catalog/reference.h"
#include "session/session.h"
#include "session/watch.h"
#include "session/rows.h"
#include "opt/opt.h"

typedef struct Point { /* SAVEPOINT */
    char *name;        /* malloc'd through mem_alloc(NULL) */
    Savepoint at;
    Settings settings, at_commit; /* to return to */
} Point;

typedef struct Named { /* PREPARE */
    struct Named *next;
    Prepared *prepared;
    char name[]; /* NUL-terminated */
} Named;

struct Session {
    Instance *instance;
    Settings settings;  /* in force */
    Settings at_begin;  /* what ROLLBACK returns to */
    Settings at_commit; /* what COMMIT leaves: SET LOCAL changes only `settings` */
    Txn *txn;           /* NULL: none open */
    bool block;         /* opened by BEGIN */
    bool queried;       /* the transaction has looked at the database: it cannot become one that writes */
    bool failed;        /* a statement of the block failed: only ROLLBACK helps */
    int64_t now;        /* start of the transaction, as a TIMESTAMP value */
    Point *points;
    uint32_t npoints;
    uint32_t cap_points;
    Named *named;
    SessionIo io;
    SessionNotice notice;
    void *notice_ctx;
    Watch watch;
    void (*measure)(void *ctx, const PhysPlan *phys, double seconds); /* after a query; calibrate.c */
    void *measure_ctx;
    Pool *pool;                         /* of its own after SET tcudb.threads; NULL: the instance's */
    char no_device[208];                /* why no GPU runs queries; "": not looked for yet */
    Db *temp;                           /* of its temporary tables; NULL: there was none yet */
    struct SessionSequences *sequences; /* sequence.c */
};

/* One statement on its way. Everything in it lives in `arena` or longer. */
typedef struct Run {
    Session *session;
    Arena *arena;
    const Stmt *stmt;
    const SessionSink *sink;
    const Value *params;
    uint32_t nparams;
    const char *tag;
    bool locked;                /* the write lock is taken */
    bool own_text;              /* BindEnv */
    TextEdits *edits;           /* likewise */
    Pool *pool;                 /* set by session_plan */
    ExecShape shape;            /* of what runs: see exec.h */
    const Sequences *sequences; /* while a plan runs that uses them */
    ExecReport report;
    Progress progress;
} Run;

/* ---- txn.c: transactions ------------------------------------------------------------------- */

tcudb_status session_begin(Session *session, bool block, Error *err) MUST_CHECK;
tcudb_status session_commit(Session *session, Error *err) MUST_CHECK;
void session_rollback(Session *session);
/* BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO. */
tcudb_status session_run_txn(Run *run, Error *err) MUST_CHECK;
/* SET TRANSACTION ISOLATION LEVEL, READ ONLY or READ WRITE. 25001 where it comes too late. */
tcudb_status session_set_isolation(Session *session, Str level, Error *err) MUST_CHECK;
tcudb_status session_set_access(Session *session, bool read_only, Error *err) MUST_CHECK;
tcudb_status session_set_modes(Run *run, Error *err) MUST_CHECK;
void session_free_points(Session *session);

/* ---- temp.c: temporary tables */

/* The open transaction gets its temporary side. */
tcudb_status session_attach_temp(Session *session, Error *err) MUST_CHECK;
/* ON COMMIT DELETE ROWS, ON COMMIT DROP. */
tcudb_status session_commit_temp(Session *session, Error *err) MUST_CHECK;
/* Whether a statement writes temporary tables only, so that it need not take the write lock. */
bool session_writes_temp(const Session *session, const Stmt *stmt);
/* DISCARD. */
tcudb_status session_discard(Run *run, Error *err) MUST_CHECK;

/* ---- sequence.c */

tcudb_status session_create_sequence(Run *run, Error *err) MUST_CHECK;
tcudb_status session_alter_sequence(Run *run, Error *err) MUST_CHECK;
tcudb_status session_make_sequence(Run *run, const TableDef *def, Error *err) MUST_CHECK;
/* The sequences of serial columns of `def` that are not in `now` (may be NULL): they are dropped, or begin anew. */
tcudb_status session_of_serials(Run *run, const TableDef *def, const TableDef *now, bool drop, Error *err) MUST_CHECK;
/* Runs the body with run->sequences set if the statement asks for sequences. */
tcudb_status session_with_sequences(Run *run, const Stmt *stmt, tcudb_status (*body)(Run *run, void *ctx, Error *err),
                                    void *ctx, Error *err) MUST_CHECK;
/* What the numbers given so far have to hear of: a commit; that something was undone, or savepoints released, so that
 * so many are left. */
void session_sequences_committed(Session *session);
void session_sequences_undone(Session *session, uint32_t savepoints);
void session_sequences_released(Session *session, uint32_t savepoints);
/* Whether numbers were given whose row was undone; writes these rows again in the open transaction. */
bool session_sequences_lost(const Session *session);
tcudb_status session_put_back_sequences(Session *session, Error *err) MUST_CHECK;
/* DISCARD SEQUENCES: currval and lastval are not yet defined. */
void session_forget_given(Session *session);
void session_free_sequences(Session *session);

/* ---- sequence_uses.c: defaults that use a sequence */

tcudb_status session_rename_sequence_uses(Run *run, const TableDef *sequence, Str to, Error *err) MUST_CHECK;
/* DROP SEQUENCE: 2BP01, or the defaults that use it go, too (CASCADE). */
tcudb_status session_drop_sequence(Run *run, Str name, Error *err) MUST_CHECK;

/* ---- steps.c: what runs before a statement's own plan */

tcudb_status session_run_steps(Run *run, Error *err) MUST_CHECK;

/* ---- references.c: FOREIGN KEY. begin looks at what the statement changes, before its plans run; NULL: nothing */

typedef struct References References;
tcudb_status session_references_begin(Run *run, const Stmt *stmt, References **out, Error *err) MUST_CHECK;
/* Runs an INSERT of few rows itself, and notes them: *done. */
tcudb_status session_references_run(References *references, const Stmt *stmt, bool *done, Error *err) MUST_CHECK;
/* Frees what they hold, too; references may be NULL. */
tcudb_status session_references_end(References *references, Error *err) MUST_CHECK;
void session_references_free(References *references); /* after a failure */
/* Rows were added to the table by other means. */
tcudb_status session_references_added(Run *run, Str table, Error *err) MUST_CHECK;
/* ALTER TABLE: the table has foreign keys that its definition before had not, or columns on either side of some have
 * other values. */
tcudb_status session_references_new(Run *run, const TableDef *before, Str table, Error *err) MUST_CHECK;

/* ---- referring.c: definitions that refer to one */

typedef struct Referring {
    uint64_t id; /* of the table */
    Str table;   /* that refers */
    Reference reference;
} Referring;

/* The foreign keys that refer to a table, its own ones among them, the oldest first. */
tcudb_status session_referring(Run *run, Str table, Referring **out, uint32_t *n, Error *err) MUST_CHECK;
/* DROP TABLE: 2BP01, or the foreign keys of other tables go (CASCADE). */
tcudb_status session_drop_referred(Run *run, Str table, Error *err) MUST_CHECK;
/* TRUNCATE: the tables that are emptied: with CASCADE those that refer to them; else 0A000 if there are any. */
tcudb_status session_truncated(Run *run, const Str **names, uint32_t *n, Error *err) MUST_CHECK;
/* A table and its columns have other names now. */
tcudb_status session_rename_referred(Run *run, Str from, const TableDef *old, Str to, Error *err) MUST_CHECK;
/* ALTER TABLE to stmt->table: 2BP01 if it takes keys that foreign keys refer to, or those go (CASCADE). */
tcudb_status session_keep_referred(Run *run, const TableDef *old, Error *err) MUST_CHECK;
/* ALTER TABLE: foreign keys with columns of other types, on either side. 42804 if those cannot be compared. */
tcudb_status session_retyped_references(Run *run, Referring **out, uint32_t *n, Error *err) MUST_CHECK;

/* ---- notes.c: COMMENT ON */

tcudb_status session_note(Run *run, Error *err) MUST_CHECK;
tcudb_status session_forget_view(Run *run, Str view, Error *err) MUST_CHECK;
/* The view gets another name, which is free. */
tcudb_status session_rename_view(Run *run, Str view, Str to, Error *err) MUST_CHECK;

/* ---- stmt.c: what each kind of statement does ---------------------------------------------- */

tcudb_status session_dispatch(Run *run, Error *err) MUST_CHECK;
void session_notify(Session *session, const char *severity, const char *sqlstate, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Binds without the intent to run: for descriptions. */
tcudb_status session_bind(Run *run, const Ast *ast, const Type *types, uint32_t ntypes, Stmt **out,
                          Error *err) MUST_CHECK;
/* Binds the view's query; *out NULL: it does not bind. Short memory and interrupts say nothing of the view: they are
 * errors. edits (may be NULL): what to note of its text. */
tcudb_status session_bind_view(Run *run, Arena *arena, const ViewDef *view, TextEdits *edits, Ast **ast, Stmt **out,
                               Error *err) MUST_CHECK;
/* The views whose texts name a relation, or its column (len > 0), as they are after it is called `to`: to be asked for
 * before and set after. 0A000 where a text cannot be written otherwise. In the run's arena. */
typedef struct ViewTexts {
    ViewDef *views;
    uint32_t n;
} ViewTexts;
tcudb_status session_view_texts(Run *run, Str relation, Str column, Str to, ViewTexts *out, Error *err) MUST_CHECK;
tcudb_status session_set_view_texts(Run *run, const ViewTexts *texts, Error *err) MUST_CHECK;

/* Binds a text of ours, or one that is kept: search_path does not matter. */
tcudb_status session_bind_own(Run *run, const Ast *ast, Stmt **out, Error *err) MUST_CHECK;
/* Binds to run: a statement that writes takes the write lock first, because that moves the snapshot. */
tcudb_status session_bind_to_run(Run *run, const Ast *ast, const Type *types, uint32_t ntypes, Stmt **out,
                                 Error *err) MUST_CHECK;

/* ---- run.c: one statement in its transaction ----------------------------------------------- */

/* A call begins that runs the text: from here on an interrupt is meant for it. 54000: it is too long. */
tcudb_status session_begin_text(Session *session, const char *text, Str *sql, Error *err) MUST_CHECK;

/* What happens between the start and the end of a statement's transaction. */
typedef tcudb_status (*RunBody)(Run *run, void *ctx, Error *err);
/* The first keyword of a statement's text, past blanks and comments. */
Str session_first_word(Str text);
bool session_word_in(Str word, const char *const *words, size_t n);
/* text: to see whether it ends a failed transaction. Reports to sink->done. */
tcudb_status session_run_one(Session *session, Arena *arena, Str text, RunBody body, void *ctx, const SessionSink *sink,
                             Error *err) MUST_CHECK;

/* ---- hint.c: adds the nearest names to "relation does not exist" ------------------------------- */

void session_hint(Session *session, Error *err);

/* ---- query.c: plans ------------------------------------------------------------------------ */

bool stmt_returns_rows(const Stmt *stmt);
/* Checks tcudb.engine and finds run->pool: before anything that uses either. */
tcudb_status session_set_up(Run *run, Error *err) MUST_CHECK;
/* Optimises and plans; trace may be NULL. The subqueries of LIMIT run before, but for session_plan_only. */
tcudb_status session_plan_only(Run *run, const Stmt *stmt, Plan *plan, OptTrace trace, void *ctx, PhysPlan **out,
                               Error *err) MUST_CHECK;
tcudb_status session_plan(Run *run, const Stmt *stmt, Plan *plan, OptTrace trace, void *ctx, PhysPlan **out,
                          Error *err) MUST_CHECK;
tcudb_status session_exec(Run *run, const PhysPlan *phys, ExecSink batch, void *ctx, Error *err) MUST_CHECK;
/* A sink for rows that nobody wants. */
tcudb_status session_drop_batch(void *ctx, const Batch *batch, Error *err) MUST_CHECK;
/* Optimises, plans, runs; rows go to run->sink. */
tcudb_status session_run_plan(Run *run, const Stmt *stmt, Plan *plan, Error *err) MUST_CHECK;
/* The same into any sink; no columns call. */
tcudb_status session_run_plan_into(Run *run, const Stmt *stmt, Plan *plan, ExecSink batch, void *ctx,
                                   Error *err) MUST_CHECK;
tcudb_status session_columns(const SessionSink *sink, const PlanCol *cols, uint32_t ncols, Error *err) MUST_CHECK;

/* ---- engine.c ------------------------------------------------------------------------------ */

/* Before a plan runs: with tcudb.require_engine, an engine that cannot run it is an error. */
tcudb_status session_check_engine(Session *session, Error *err) MUST_CHECK;
/* After it ran: why not the engine asked for, if it was another. */
void session_explain_engine(Session *session, ExecReport *report);

/* ---- ddl.c, setting.c, explain.c, prepare.c, copy.c, call.c -------------------------------- */

/* 42P07: something has the name. */
tcudb_status session_name_is_free(Txn *txn, Str name, bool temp, Error *err) MUST_CHECK;
/* IF NOT EXISTS: whether the statement has nothing to do, and says so. */
bool session_skips(Run *run, Str name, bool temp);
tcudb_status session_create_table(Run *run, Error *err) MUST_CHECK;
tcudb_status session_create_view(Run *run, Error *err) MUST_CHECK;
tcudb_status session_drop(Run *run, Error *err) MUST_CHECK;
tcudb_status session_truncate(Run *run, Error *err) MUST_CHECK;
tcudb_status session_rename(Run *run, Error *err) MUST_CHECK;
tcudb_status session_alter_table(Run *run, Error *err) MUST_CHECK;
tcudb_status session_set(Run *run, Error *err) MUST_CHECK;
tcudb_status session_set_to(Session *session, Str name, Str value, bool local, Error *err) MUST_CHECK;
tcudb_status session_reset(Run *run, Error *err) MUST_CHECK;
tcudb_status session_show(Run *run, Error *err) MUST_CHECK;
tcudb_status session_explain(Run *run, Error *err) MUST_CHECK;
tcudb_status session_prepare_named(Run *run, Error *err) MUST_CHECK;
tcudb_status session_execute_named(Run *run, Error *err) MUST_CHECK;
tcudb_status session_deallocate(Run *run, Error *err) MUST_CHECK;
void session_free_named(Session *session);
/* EXECUTE: its arguments become run->params, *out is the statement to run. */
tcudb_status session_bind_execute(Run *run, const Stmt *stmt, const Stmt **out, Error *err) MUST_CHECK;
/* A value or an untyped literal as an argument of the type `to`. */
tcudb_status session_convert(const Value *in, Type to, Arena *arena, Value *out, Error *err) MUST_CHECK;
/* Sets the database's limit from the setting. */
void session_apply_memory_limit(Session *session);
tcudb_status session_copy_from(Run *run, Error *err) MUST_CHECK;
tcudb_status session_copy_to(Run *run, Error *err) MUST_CHECK;
tcudb_status session_call(Run *run, Error *err) MUST_CHECK;
/* calibrate.c: CALL tcudb_calibrate(). */
tcudb_status session_calibrate(Run *run, Error *err) MUST_CHECK;
void session_set_measure(Session *session, void (*fn)(void *ctx, const PhysPlan *phys, double seconds), void *ctx);
/* show_rates.c: SHOW RATES, SHOW CORRECTIONS. */
tcudb_status session_rates_rows(Session *session, Rows *rows, Error *err) MUST_CHECK;
tcudb_status session_corrections_rows(Session *session, Rows *rows, Error *err) MUST_CHECK;

/* ---- inner.c: statements inside a statement ------------------------------------------------ */

/* Runs one INSERT, UPDATE or DELETE of our own making. */
tcudb_status session_run_inner(Run *run, const char *sql, Error *err) MUST_CHECK;
tcudb_status session_run_inner_into(Run *run, const char *sql, ExecSink batch, void *ctx, Error *err) MUST_CHECK;
/* rows (may be NULL): how many it returned or changed. */
tcudb_status session_run_inner_counted(Run *run, const char *sql, ExecSink batch, void *ctx, uint64_t *rows,
                                       Error *err) MUST_CHECK;
/* columns.c: *done: the table has the columns of stmt->revised, and its rows satisfy stmt->table. */
tcudb_status session_revise_columns(Run *run, bool *done, Error *err) MUST_CHECK;
/* satisfy.c: *ok: whether the rows of the table satisfy the constraints of another definition. */
tcudb_status session_rows_satisfy(Run *run, Str table, const TableDef *def, bool *ok, Error *err) MUST_CHECK;
/* "CONSTRAINT t_pkey PRIMARY KEY (a), CONSTRAINT t_a_check CHECK (a > 0)"; len 0: there are none. */
tcudb_status session_constraints_text(Arena *arena, const TableDef *def, Str *out, Error *err) MUST_CHECK;

/* ---- list.c: rows of SHOW TABLES and SHOW ALL ---------------------------------------------- */

tcudb_status session_tables_rows(Session *session, Str name, Rows *rows, Error *err) MUST_CHECK;
tcudb_status session_settings_rows(Session *session, Rows *rows, Error *err) MUST_CHECK;

#endif
