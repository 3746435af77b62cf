/*
 * listing.c: a relation's rows as constants, put cell by cell.
 *
 * Invariant: a row's cells are put completely before the next row begins. Cost: an expression a cell.
 */
#include "bind/listing.h"

#include <assert.h>

tcudb_status bind_list_row(Listing *l, Error *err)
{
    uint32_t ncols = l->relation->ncols;
    assert(l->nrows == 0 || l->at == ncols);
    if (l->nrows == l->cap) {
        uint64_t cap = l->cap == 0 ? 16 : 2 * l->cap;
        Expr **cells = ARENA_ARRAY(l->b->arena, Expr *, cap * ncols, err);
        TRY_PTR(cells);
        if (l->nrows > 0) memcpy(cells, l->cells, l->nrows * ncols * sizeof *cells);
        l->cells = cells;
        l->cap = cap;
    }
    l->nrows++;
    l->at = 0;
    return TCUDB_OK;
}

static tcudb_status put(Listing *l, const Value *value, Error *err)
{
    assert(l->at < l->relation->ncols);
    Expr **cell = &l->cells[(l->nrows - 1) * l->relation->ncols + l->at++];
    *cell = expr_const(l->b->arena, value, 0, err);
    TRY_PTR(*cell);
    return TCUDB_OK;
}

tcudb_status bind_list_text(Listing *l, Str s, Error *err)
{
    return put(l, &(Value){.type = TYPE(TYPE_TEXT), .str = s}, err);
}

tcudb_status bind_list_word(Listing *l, const char *s, Error *err)
{
    return bind_list_text(l, str_of(s), err);
}

tcudb_status bind_list_int(Listing *l, TypeId type, int64_t n, Error *err)
{
    Value value = {.type = TYPE(type), .i64 = n};
    if (type == TYPE_INT4) value.i32 = (int32_t)n;
    if (type == TYPE_INT2) value.i16 = (int16_t)n;
    return put(l, &value, err);
}

tcudb_status bind_list_bool(Listing *l, bool yes, Error *err)
{
    return put(l, &(Value){.type = TYPE(TYPE_BOOL), .b = yes}, err);
}

tcudb_status bind_list_null(Listing *l, TypeId type, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) TRY(put(l, &(Value){.type = TYPE(type), .null = true}, err));
    return TCUDB_OK;
}

static TypeId column_type(char last)
{
    switch (last) {
    case '#': return TYPE_INT4;
    case '^': return TYPE_INT8;
    case '%': return TYPE_INT2;
    case '?': return TYPE_BOOL;
    default: return TYPE_TEXT;
    }
}

static tcudb_status name_columns(Binder *b, const Listed *relation, Plan *plan, Error *err)
{
    const char *at = relation->columns;
    for (uint32_t i = 0; i < relation->ncols; i++) {
        size_t n = strcspn(at, " ");
        TypeId type = column_type(at[n - 1]);
        char *name = arena_strndup(b->arena, at, n - (type != TYPE_TEXT), err);
        TRY_PTR(name);
        plan->cols[i] = bind_new_col(b, TYPE(type), name);
        at += n + (at[n] == ' ');
    }
    assert(*at == '\0');
    return TCUDB_OK;
}

tcudb_status bind_list_plan(Binder *b, const Listed *relation, Plan **out, Error *err)
{
    Listing l = {.b = b, .relation = relation};
    if (relation->fill != NULL) TRY(relation->fill(&l, err));
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, relation->ncols, err);
    TRY_PTR(plan);
    plan->values.nrows = l.nrows;
    plan->values.rows_exprs = l.cells;
    TRY(name_columns(b, relation, plan, err));
    *out = plan;
    return TCUDB_OK;
}
