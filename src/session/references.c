/*
 * references.c: FOREIGN KEY, at the end of the statement that changed rows.
 *
 * What a statement did is known by table: rows came, went, or changed in some columns. What is wrong then are orphans,
 * rows whose columns are not NULL and have no row that they refer to:
 *
 *     FROM c WHERE c.x IS NOT NULL AND NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.x)
 *
 * A stack of tasks follows the consequences in PostgreSQL's order, depth first: for each foreign key that refers to the
 * table, from the oldest, orphans are an error (NO ACTION, RESTRICT), are deleted, or set to NULL or to defaults, which
 * changes that table in turn; then the table's own foreign keys are asked for orphans. ON UPDATE CASCADE needs to know
 * which key became which: the UPDATE has a plan for that (stmt->moved), which runs before it. Where it has none (with
 * FROM, in MERGE, for the tables that follow in turn), it is refused if there is an orphan.
 *
 * Cost: an anti join of both tables a constraint and statement: rows are best changed many at a time.
 */
#include "session/reference_rows.h"

#include <assert.h>

typedef enum TaskKind {
    ROWS_ADDED,
    ROWS_REMOVED,
    ROWS_CHANGED, /* in the columns `cols` */
    ACT,          /* rows of `table` refer to rows that went, or changed */
    CHECK         /* rows of `table` came or changed: do they refer to something? */
} TaskKind;

typedef struct Task {
    struct Task *next; /* to be done after it */
    TaskKind kind;
    Str table;
    const Str *cols; /* NULL: any */
    uint32_t ncols;
    const Reference *reference; /* ACT, CHECK */
    bool removed;               /* ACT */
    const RowList *added;       /* CHECK: of these rows only; NULL: of the table's */
} Task;

struct References {
    Run *run;
    Task *tasks;
    ReferenceRows added; /* by foreign keys of the table that they are added to; n 0: not known */
    ReferenceRows moved;
    Buf sql;
};

/* On top of what there is, at *at; *at becomes the place behind it. */
static tcudb_status put_task(References *s, Task ***at, const Task *task, Error *err)
{
    Task *copy = ARENA_NEW(s->run->arena, Task, err);
    TRY_PTR(copy);
    *copy = *task;
    copy->next = **at;
    **at = copy;
    *at = &copy->next;
    return TCUDB_OK;
}

void session_references_free(References *s)
{
    if (s == NULL) return;
    reference_rows_free(&s->added);
    reference_rows_free(&s->moved);
}

tcudb_status session_references_run(References *s, const Stmt *stmt, bool *done, Error *err)
{
    Plan *plan = stmt->plan;
    *done = false;
    if (s == NULL || stmt->nsteps > 0 || plan == NULL || !reference_rows_few(plan)) return TCUDB_OK;
    const Table *table = txn_table(s->run->session->txn, plan->modify.table);
    assert(table != NULL);
    TRY(reference_rows_added(s->run, table_def(table), &s->added, err));
    *done = s->added.n > 0;
    if (!*done) return TCUDB_OK;
    plan->ncols = plan->inputs[0]->ncols;
    plan->cols = plan->inputs[0]->cols;
    return session_run_plan_into(s->run, stmt, plan, reference_rows_add, &s->added, err);
}

/* ---- orphans ---------------------------------------------------------------------------------- */

static tcudb_status put_table(Buf *sql, Str table, const char *alias, Error *err)
{
    TRY(buf_printf(sql, err, "public."));
    TRY(text_quote_name(table, sql, err));
    return buf_printf(sql, err, " AS %s", alias);
}

/* The table, or the rows that were added to it. */
static tcudb_status put_rows(Buf *sql, const Task *task, Error *err)
{
    const Reference *r = task->reference;
    if (task->added == NULL) return put_table(sql, task->table, "c", err);
    TRY(buf_printf(sql, err, "(VALUES %.*s) AS c (", (int)task->added->list.len, task->added->list.data));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(sql, err, i == 0 ? "" : ", "));
        TRY(text_quote_name(r->cols[i], sql, err));
    }
    return buf_printf(sql, err, ")");
}

static tcudb_status put_column(Buf *sql, const char *alias, Str col, Error *err)
{
    TRY(buf_printf(sql, err, "%s.", alias));
    return text_quote_name(col, sql, err);
}

static tcudb_status put_orphans(Buf *sql, const Reference *r, Error *err)
{
    TRY(buf_printf(sql, err, " WHERE "));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(put_column(sql, "c", r->cols[i], err));
        TRY(buf_printf(sql, err, " IS NOT NULL AND "));
    }
    TRY(buf_printf(sql, err, "NOT EXISTS (SELECT 1 FROM "));
    TRY(put_table(sql, r->table, "p", err));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(sql, err, i == 0 ? " WHERE " : " AND "));
        TRY(put_column(sql, "p", r->keys[i], err));
        TRY(buf_printf(sql, err, " = "));
        TRY(put_column(sql, "c", r->cols[i], err));
    }
    return buf_printf(sql, err, ")");
}

static tcudb_status run_text(References *s, ExecSink batch, void *ctx, uint64_t *rows, Error *err)
{
    char *sql = arena_strndup(s->run->arena, s->sql.data, s->sql.len, err);
    TRY_PTR(sql);
    return session_run_inner_counted(s->run, sql, batch, ctx, rows, err);
}

static tcudb_status delete_orphans(References *s, Str table, const Reference *r, uint64_t *rows, Error *err)
{
    s->sql.len = 0;
    TRY(buf_printf(&s->sql, err, "DELETE FROM "));
    TRY(put_table(&s->sql, table, "c", err));
    TRY(put_orphans(&s->sql, r, err));
    return run_text(s, session_drop_batch, NULL, rows, err);
}

static tcudb_status set_orphans(References *s, Str table, const Reference *r, const char *value, uint64_t *rows,
                                Error *err)
{
    s->sql.len = 0;
    TRY(buf_printf(&s->sql, err, "UPDATE "));
    TRY(put_table(&s->sql, table, "c", err));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(&s->sql, err, i == 0 ? " SET " : ", "));
        TRY(text_quote_name(r->cols[i], &s->sql, err));
        TRY(buf_printf(&s->sql, err, " = %s", value));
    }
    TRY(put_orphans(&s->sql, r, err));
    return run_text(s, session_drop_batch, NULL, rows, err);
}

/* UPDATE c SET x = m.n0 FROM (VALUES (old, new), ...) AS m (o0, n0) WHERE c.x = m.o0 */
static tcudb_status follow_moved(References *s, Str table, const Reference *r, const RowList *moved, uint64_t *rows,
                                 Error *err)
{
    Buf *sql = &s->sql;
    sql->len = 0;
    TRY(buf_printf(sql, err, "UPDATE "));
    TRY(put_table(sql, table, "c", err));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(sql, err, i == 0 ? " SET " : ", "));
        TRY(text_quote_name(r->cols[i], sql, err));
        TRY(buf_printf(sql, err, " = m.n%u", i));
    }
    TRY(buf_printf(sql, err, " FROM (VALUES %.*s) AS m (", (int)moved->list.len, moved->list.data));
    for (uint32_t i = 0; i < 2 * r->n; i++)
        TRY(buf_printf(sql, err, "%s%c%u", i == 0 ? "" : ", ", i < r->n ? 'o' : 'n', i % r->n));
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(sql, err, i == 0 ? ") WHERE " : " AND "));
        TRY(put_column(sql, "c", r->cols[i], err));
        TRY(buf_printf(sql, err, " = m.o%u", i));
    }
    return run_text(s, session_drop_batch, NULL, rows, err);
}

/* ---- what follows from what happened ------------------------------------------------------------ */

static bool among(const Str *names, uint32_t n, const Str *set, uint32_t nset)
{
    if (set == NULL) return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < nset; k++)
            if (str_equal(names[i], set[k])) return true;
    return false;
}

/* What follows from rows that came, went or changed: tasks on top of the others. */
static tcudb_status follow(References *s, const Task *task, Error *err)
{
    Run *run = s->run;
    Reference *own;
    Referring *list;
    uint32_t n;
    Task **at = &s->tasks;
    if (task->kind != ROWS_ADDED) {
        TRY(session_referring(run, task->table, &list, &n, err));
        for (uint32_t i = 0; i < n; i++) {
            const Reference *r = &list[i].reference;
            const Task act = {
                .kind = ACT, .table = list[i].table, .reference = r, .removed = task->kind == ROWS_REMOVED};
            if (act.removed || among(r->keys, r->n, task->cols, task->ncols)) TRY(put_task(s, &at, &act, err));
        }
    }
    if (task->kind == ROWS_REMOVED) return TCUDB_OK;
    const Table *table = txn_table(run->session->txn, task->table);
    assert(table != NULL);
    TRY(reference_list(run->arena, table_def(table), &own, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        const Task check = {.kind = CHECK,
                            .table = task->table,
                            .reference = &own[i],
                            .added = s->added.n == 0 || task->kind != ROWS_ADDED ? NULL : &s->added.lists[i]};
        if (check.added != NULL && check.added->list.len == 0) continue;
        if (among(own[i].cols, own[i].n, task->cols, task->ncols)) TRY(put_task(s, &at, &check, err));
    }
    return TCUDB_OK;
}

/* ---- what is wrong -------------------------------------------------------------------------------- */

typedef struct FirstRow {
    Buf *text; /* of its values */
    bool found;
} FirstRow;

static tcudb_status keep_first(void *ctx, const Batch *batch, Error *err)
{
    FirstRow *first = ctx;
    if (first->found || batch->n == 0) return TCUDB_OK;
    first->found = true;
    for (uint32_t c = 0; c < batch->ncols; c++) {
        Value value = vec_value(&batch->cols[c], batch_row(batch, 0));
        if (c > 0) TRY(buf_printf(first->text, err, ", "));
        if (!value.null) TRY(value_print(&value, first->text, err));
    }
    return TCUDB_OK;
}

/* "(a, b)=(" */
static tcudb_status key_head(const Task *task, Buf *out, Error *err)
{
    const Reference *r = task->reference;
    for (uint32_t i = 0; i < r->n; i++) {
        Str name = task->kind == ACT ? r->keys[i] : r->cols[i];
        TRY(buf_printf(out, err, "%s" STR_FMT, i == 0 ? "(" : ", ", STR_ARG(name)));
    }
    return buf_printf(out, err, ")=(");
}

static tcudb_status violated(const Task *task, const Buf *key, Error *err)
{
    const Reference *r = task->reference;
    if (task->kind == ACT) {
        error_set(err, SQLSTATE_FOREIGN_KEY_VIOLATION,
                  "update or delete on table \"" STR_FMT "\" violates foreign key constraint \"" STR_FMT
                  "\" on table \"" STR_FMT "\"",
                  STR_ARG(r->table), STR_ARG(r->name), STR_ARG(task->table));
        error_detail(err, "Key %.*s) is still referenced from table \"" STR_FMT "\".", (int)key->len, key->data,
                     STR_ARG(task->table));
        return TCUDB_ERROR;
    }
    error_set(err, SQLSTATE_FOREIGN_KEY_VIOLATION,
              "insert or update on table \"" STR_FMT "\" violates foreign key constraint \"" STR_FMT "\"",
              STR_ARG(task->table), STR_ARG(r->name));
    if (key == NULL)
        error_detail(err, "MATCH FULL does not allow mixing of null and nonnull key values.");
    else
        error_detail(err, "Key %.*s) is not present in table \"" STR_FMT "\".", (int)key->len, key->data,
                     STR_ARG(r->table));
    return TCUDB_ERROR;
}

static tcudb_status ask_orphan(References *s, const Task *task, FirstRow *first, Error *err)
{
    Buf *sql = &s->sql;
    const Reference *r = task->reference;
    sql->len = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        TRY(buf_printf(sql, err, i == 0 ? "SELECT " : ", "));
        TRY(put_column(sql, "c", r->cols[i], err));
    }
    TRY(buf_printf(sql, err, " FROM "));
    TRY(put_rows(sql, task, err));
    TRY(put_orphans(sql, r, err));
    for (uint32_t i = 0; i < r->n && task->kind == ACT; i++) {
        TRY(buf_printf(sql, err, i == 0 ? " ORDER BY " : ", "));
        TRY(put_column(sql, "c", r->cols[i], err));
    }
    TRY(buf_printf(sql, err, " LIMIT 1"));
    return run_text(s, keep_first, first, NULL, err);
}

/* MATCH FULL: some columns NULL, others not. */
static tcudb_status ask_mixed(References *s, const Task *task, FirstRow *first, Error *err)
{
    Buf *sql = &s->sql;
    const Reference *r = task->reference;
    sql->len = 0;
    TRY(buf_printf(sql, err, "SELECT 1 FROM "));
    TRY(put_rows(sql, task, err));
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t i = 0; i < r->n; i++) {
            TRY(buf_printf(sql, err, i > 0 ? " OR " : half == 0 ? " WHERE (" : ") AND ("));
            TRY(put_column(sql, "c", r->cols[i], err));
            TRY(buf_printf(sql, err, half == 0 ? " IS NULL" : " IS NOT NULL"));
        }
    }
    TRY(buf_printf(sql, err, ") LIMIT 1"));
    return run_text(s, keep_first, first, NULL, err);
}

static tcudb_status look(References *s, const Task *task, Error *err)
{
    Buf key;
    FirstRow first = {.text = &key};
    const Reference *r = task->reference;
    bool mixed = r->full && r->n > 1 && task->kind == CHECK;
    tcudb_status status;
    buf_init(&key, NULL);
    if (mixed) TRY_GOTO(ask_mixed(s, task, &first, err));
    mixed = first.found;
    key.len = 0;
    TRY_GOTO(key_head(task, &key, err));
    if (!mixed) TRY_GOTO(ask_orphan(s, task, &first, err));
    if (first.found && task->kind == ACT && !task->removed && r->on_update == REFERENCE_CASCADE)
        status = error_unsupported(err, 0, "ON UPDATE CASCADE of keys that rows refer to");
    else if (first.found)
        status = violated(task, mixed ? NULL : &key, err);
done:
    buf_free(&key);
    return status;
}

static tcudb_status act(References *s, const Task *task, Error *err)
{
    const Reference *r = task->reference;
    ReferenceAction action = task->removed ? r->on_delete : r->on_update;
    Task then = {.kind = ROWS_CHANGED, .table = task->table, .cols = r->cols, .ncols = r->n}, **at = &s->tasks;
    const RowList *moved = reference_rows_find(&s->moved, task->table, r);
    uint64_t rows = 0;
    switch (action) {
    case REFERENCE_CASCADE:
        if (!task->removed && moved == NULL) return look(s, task, err);
        if (!task->removed) {
            TRY(follow_moved(s, task->table, r, moved, &rows, err));
            break;
        }
        then.kind = ROWS_REMOVED;
        TRY(delete_orphans(s, task->table, r, &rows, err));
        break;
    case REFERENCE_SET_NULL:
    case REFERENCE_SET_DEFAULT:
        TRY(set_orphans(s, task->table, r, action == REFERENCE_SET_NULL ? "NULL" : "DEFAULT", &rows, err));
        break;
    default: return look(s, task, err);
    }
    return rows == 0 ? TCUDB_OK : put_task(s, &at, &then, err);
}

static tcudb_status settle(References *s, Error *err)
{
    while (s->tasks != NULL) {
        const Task *task = s->tasks;
        s->tasks = task->next;
        switch (task->kind) {
        case ACT: TRY(act(s, task, err)); break;
        case CHECK: TRY(look(s, task, err)); break;
        default: TRY(follow(s, task, err)); break;
        }
    }
    return TCUDB_OK;
}

/* ---- of a statement ------------------------------------------------------------------------------- */

static tcudb_status names_set(References *s, const Plan *plan, const Str **out, Error *err)
{
    const Table *table = txn_table(s->run->session->txn, plan->modify.table);
    Str *names = ARENA_ARRAY(s->run->arena, Str, plan->modify.nset + 1, err);
    TRY_PTR(names);
    assert(table != NULL);
    for (uint32_t i = 0; i < plan->modify.nset; i++) names[i] = table_def(table)->cols[plan->modify.columns[i]].name;
    *out = names;
    return TCUDB_OK;
}

static tcudb_status gather(References *s, const Plan *plan, Task ***at, Error *err)
{
    Task task = {.kind = ROWS_ADDED, .table = plan->modify.table};
    switch (plan->kind) {
    case PLAN_INSERT:
        if (plan->modify.conflict == CONFLICT_UPDATE) task.kind = ROWS_CHANGED;
        TRY(put_task(s, at, &task, err));
        break;
    case PLAN_DELETE:
        task.kind = ROWS_REMOVED;
        TRY(put_task(s, at, &task, err));
        break;
    case PLAN_UPDATE:
        task.kind = ROWS_CHANGED;
        task.ncols = plan->modify.nset;
        TRY(names_set(s, plan, &task.cols, err));
        TRY(put_task(s, at, &task, err));
        break;
    default: break;
    }
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(gather(s, plan->inputs[i], at, err));
    return TCUDB_OK;
}

static tcudb_status new_references(Run *run, References **out, Error *err)
{
    *out = ARENA_NEW(run->arena, References, err);
    TRY_PTR(*out);
    (*out)->run = run;
    return TCUDB_OK;
}

tcudb_status session_references_begin(Run *run, const Stmt *stmt, References **out, Error *err)
{
    *out = NULL;
    if (stmt->nsteps == 0 && (stmt->plan == NULL || !plan_writes(stmt->plan))) return TCUDB_OK;
    TRY(new_references(run, out, err));
    Task **at = &(*out)->tasks;
    for (uint32_t i = 0; i < stmt->nsteps; i++) TRY(gather(*out, stmt->steps[i].plan, &at, err));
    if (stmt->plan != NULL) TRY(gather(*out, stmt->plan, &at, err));
    if (stmt->moved == NULL) return TCUDB_OK;
    Run inner = *run;
    tcudb_status status = reference_rows_moved(run, stmt, &(*out)->moved, err);
    if (status == TCUDB_OK)
        status = session_run_plan_into(&inner, stmt, stmt->moved, reference_rows_move, &(*out)->moved, err);
    if (status != TCUDB_OK) session_references_free(*out);
    return status;
}

tcudb_status session_references_end(References *s, Error *err)
{
    if (s == NULL) return TCUDB_OK;
    buf_init(&s->sql, NULL);
    tcudb_status status = settle(s, err);
    buf_free(&s->sql);
    session_references_free(s);
    return status;
}

tcudb_status session_references_added(Run *run, Str table, Error *err)
{
    References *s = NULL;
    TRY(new_references(run, &s, err));
    Task **at = &s->tasks;
    TRY(put_task(s, &at, &(Task){.kind = ROWS_ADDED, .table = table}, err));
    return session_references_end(s, err);
}

tcudb_status session_references_new(Run *run, const TableDef *before, Str table, Error *err)
{
    References *s = NULL;
    Reference *list;
    uint32_t n;
    const Table *now = txn_table(run->session->txn, table);
    assert(now != NULL);
    TRY(new_references(run, &s, err));
    TRY(reference_list(run->arena, table_def(now), &list, &n, err));
    Task **at = &s->tasks;
    for (uint32_t i = 0; i < n; i++) {
        const Task check = {.kind = CHECK, .table = table, .reference = &list[i]};
        if (note_find(before, NOTE_REFERENCE, list[i].name).ptr == NULL) TRY(put_task(s, &at, &check, err));
    }
    Referring *retyped;
    TRY(session_retyped_references(run, &retyped, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        const Task check = {.kind = CHECK, .table = retyped[i].table, .reference = &retyped[i].reference};
        if (note_find(before, NOTE_REFERENCE, retyped[i].reference.name).ptr != NULL ||
            !str_equal(retyped[i].table, before->name))
            TRY(put_task(s, &at, &check, err));
    }
    return session_references_end(s, err);
}
