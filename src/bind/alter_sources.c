/*
 * alter_sources.c: ALTER TABLE without a new table: where each column comes from (store/revise.c).
 *
 *     kept       not mentioned; or another kind of text that holds the same ones: varchar(5) to varchar(9) or text
 *     widened    int2 to int4 to int8; a decimal of more digits; a timestamp of more
 *     constant   ADD COLUMN whose default says the same for all rows: it is computed once
 *     written    TYPE and defaults else: an UPDATE computes the column alone, of all rows
 *
 * The revised table first promises only what the old one did of columns that are as they were; session/ then asks for
 * the rest by queries (session/satisfy.c). Keys over other columns than kept and widened ones are left to a new table.
 */
#include "bind/alter_int.h"

static bool widens(Type from, Type to)
{
    switch (from.id) {
    case TYPE_INT2: return to.id == TYPE_INT4 || to.id == TYPE_INT8;
    case TYPE_INT4: return to.id == TYPE_INT8;
    case TYPE_NUMERIC:
        return to.id == TYPE_NUMERIC && from.precision > 0 && to.precision >= from.precision && to.scale == from.scale;
    case TYPE_TIMESTAMP:
        return to.id == TYPE_TIMESTAMP && from.precision > 0 && (to.precision == 0 || to.precision >= from.precision);
    default: return false;
    }
}

/* Whether every text of the one type is the same as one of the other. char(n) is stored without its blanks. */
static bool holds_texts(Type from, Type to)
{
    if (!type_is_text(from) || !type_is_text(to) || type_keeps_blanks(from) || type_keeps_blanks(to)) return false;
    bool longer = from.id != TYPE_TEXT && from.length > 0 && from.length <= to.length;
    if (to.id == TYPE_BPCHAR) return from.id == TYPE_BPCHAR && longer;
    return to.length == 0 || longer;
}

void bind_alter_retype(ColumnSource *from, bool computed, Type old, Type type)
{
    bool kept = from->from != NO_COLUMN && !computed;
    if (kept && !from->widened && (type_equal(old, type) || holds_texts(old, type))) return;
    if (kept && widens(old, type)) {
        from->widened = true;
        return;
    }
    *from = (ColumnSource){.from = NO_COLUMN};
}

static bool is_col(void *ctx, const Expr *e)
{
    (void)ctx;
    return e->kind != EXPR_COL;
}

/* Whether all rows get the same value. */
static bool is_constant(const Expr *e)
{
    return expr_walk(e, is_col, NULL) && !expr_volatile(e);
}

static bool as_before(const Alter *a, uint32_t col)
{
    const ColumnSource *source = &a->from[col];
    return source->from != NO_COLUMN && !source->widened &&
           type_equal(a->old->cols[source->from].type, a->t.cols[col].type);
}

static bool keys_stay(const Alter *a)
{
    for (uint32_t k = 0; k < a->t.nkeys; k++)
        for (uint32_t i = 0; i < a->t.keys[k].ncols; i++)
            if (a->from[a->t.keys[k].cols[i]].from == NO_COLUMN) return false;
    return true;
}

/* ---- what holds already ----------------------------------------------------------------------------- */

static bool had_key(const Alter *a, const KeyDef *key)
{
    for (uint32_t k = 0; k < a->old->nkeys; k++) {
        const KeyDef *old = &a->old->keys[k];
        bool same = old->ncols == key->ncols && str_equal(old->name, key->name) && old->primary == key->primary;
        for (uint32_t i = 0; i < key->ncols && same; i++) same = a->from[key->cols[i]].from == old->cols[i];
        if (same) return true;
    }
    return false;
}

static tcudb_status holds_check(const Alter *a, const CheckDef *check, bool *holds, Error *err)
{
    *holds = false;
    for (uint32_t i = 0; i < a->old->nchecks && !*holds; i++)
        *holds = str_equal(a->old->checks[i].name, check->name) && str_equal(a->old->checks[i].sql, check->sql);
    for (uint32_t c = 0; c < a->t.n && *holds; c++) {
        bool mentioned = false;
        if (!as_before(a, c)) TRY(bind_check_mentions(a->b, &a->t, check, c, &mentioned, err));
        *holds = !mentioned;
    }
    return TCUDB_OK;
}

static tcudb_status promised(const Alter *a, TableDef *def, Error *err)
{
    Arena *arena = a->b->arena;
    ColumnDef *cols = ARENA_ARRAY(arena, ColumnDef, def->ncols, err);
    TRY_PTR(cols);
    KeyDef *keys = ARENA_ARRAY(arena, KeyDef, def->nkeys + 1, err);
    TRY_PTR(keys);
    CheckDef *checks = ARENA_ARRAY(arena, CheckDef, def->nchecks + 1, err);
    TRY_PTR(checks);
    for (uint32_t c = 0; c < def->ncols; c++) {
        uint32_t from = a->from[c].from;
        cols[c] = def->cols[c];
        cols[c].not_null = def->cols[c].not_null && from != NO_COLUMN && a->old->cols[from].not_null;
    }
    uint32_t nkeys = 0, nchecks = 0;
    for (uint32_t k = 0; k < def->nkeys; k++)
        if (had_key(a, &def->keys[k])) keys[nkeys++] = def->keys[k];
    for (uint32_t i = 0; i < def->nchecks; i++) {
        bool holds = false;
        TRY(holds_check(a, &def->checks[i], &holds, err));
        if (holds) checks[nchecks++] = def->checks[i];
    }
    def->cols = cols;
    def->keys = keys;
    def->nkeys = nkeys;
    def->checks = checks;
    def->nchecks = nchecks;
    return TCUDB_OK;
}

/* ---- new values -------------------------------------------------------------------------------------- */

static tcudb_status plan_constants(const Alter *a, uint32_t n, Stmt *stmt, Error *err)
{
    if (n == 0) return TCUDB_OK;
    Plan *plan = plan_new(a->b->arena, PLAN_VALUES, 0, n, err);
    TRY_PTR(plan);
    plan->values.nrows = 1;
    plan->values.rows_exprs = ARENA_ARRAY(a->b->arena, Expr *, n, err);
    TRY_PTR(plan->values.rows_exprs);
    for (uint32_t c = 0, i = 0; c < a->t.n; c++) {
        if (a->from[c].from != NO_COLUMN || a->from[c].written) continue;
        plan->cols[i] = bind_new_col(a->b, a->t.cols[c].type, "constant");
        plan->values.rows_exprs[i++] = a->sources[c];
    }
    stmt->constants = plan;
    return TCUDB_OK;
}

static tcudb_status plan_written(const Alter *a, const NamedExpr *exprs, uint32_t n, Stmt *stmt, Error *err)
{
    Binder *b = a->b;
    if (n == 0) return TCUDB_OK;
    NamedExpr *outs = ARENA_ARRAY(b->arena, NamedExpr, n + 1, err);
    TRY_PTR(outs);
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, n, err);
    TRY_PTR(columns);
    Plan *plan = plan_new(b->arena, PLAN_UPDATE, 1, 0, err);
    TRY_PTR(plan);
    outs[0].col = (PlanCol){.id = a->rowid, .type = TYPE(TYPE_INT8), .name = "rowid"};
    outs[0].expr = expr_col(b->arena, a->rowid, outs[0].col.type, 0, err);
    TRY_PTR(outs[0].expr);
    for (uint32_t c = 0, i = 0; c < a->t.n; c++) {
        if (!a->from[c].written) continue;
        columns[i] = c;
        outs[++i] = exprs[c];
    }
    plan->modify.table = stmt->name;
    plan->modify.columns = columns;
    plan->modify.nset = plan->modify.ncolumns = n;
    plan->modify.def = &stmt->revised;
    plan->modify.sources = a->from;
    TRY(plan_project(b->arena, a->scan, outs, n + 1, &plan->inputs[0], err));
    return plan_copy(b->arena, plan, &b->next_col, &stmt->revision, err); /* the scan is the other plan's too */
}

tcudb_status bind_alter_sources(Alter *a, const NamedExpr *exprs, Stmt *stmt, Error *err)
{
    uint32_t nconstants = 0, nwritten = 0;
    if (a->t.n == 0 || a->old->ncols == 0 || !keys_stay(a)) return TCUDB_OK;
    for (uint32_t c = 0; c < a->t.n; c++) {
        if (a->from[c].from != NO_COLUMN) continue;
        a->from[c].written = !is_constant(a->sources[c]);
        nwritten += a->from[c].written;
        nconstants += !a->from[c].written;
    }
    stmt->sources = a->from;
    stmt->revised = stmt->table;
    TRY(promised(a, &stmt->revised, err));
    TRY(plan_constants(a, nconstants, stmt, err));
    return plan_written(a, exprs, nwritten, stmt, err);
}
