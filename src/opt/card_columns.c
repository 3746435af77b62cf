/*
 * card_columns.c: what is known of every column of a statement.
 *
 * A table's column brings its statistics (exact bounds and NULL counts; distinct values, exact for text).
 * A column that is passed on or renamed keeps them; a computed one gets a guess from the columns that it
 * is computed from. One array by ColId, filled by a walk; ids never change meaning, so what was filled
 * stays right.
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const ColFact unknown = {.distinct = -1};

const ColFact *card_fact(const Opt *opt, ColId id)
{
    return id < opt->nfacts && opt->facts[id].seen ? &opt->facts[id] : &unknown;
}

static tcudb_status reserve(Opt *opt, ColId end, Error *err)
{
    if (end <= opt->nfacts) return TCUDB_OK;
    uint32_t n = end + 64;
    ColFact *grown = ARENA_ARRAY(opt->arena, ColFact, n, err);
    TRY_PTR(grown);
    if (opt->nfacts > 0) memcpy(grown, opt->facts, opt->nfacts * sizeof *grown);
    opt->facts = grown;
    opt->nfacts = n;
    return TCUDB_OK;
}

static void set_fact(Opt *opt, ColId id, ColFact fact)
{
    assert(id < opt->nfacts);
    if (opt->facts[id].seen) return;
    fact.seen = true;
    opt->facts[id] = fact;
}

double card_number(const Value *value)
{
    if (value->null) return NAN;
    switch (type_phys(value->type)) {
    case PHYS_BOOL: return value->b;
    case PHYS_I16: return value->i16;
    case PHYS_I32: return value->i32;
    case PHYS_I64: return (double)value->i64 / pow(10, value->type.id == TYPE_NUMERIC ? value->type.scale : 0);
    case PHYS_I128: return (double)value->i128 / pow(10, value->type.scale);
    case PHYS_F32: return value->f32;
    case PHYS_F64: return value->f64;
    case PHYS_NUM: return value->num.kind == NUM_FINITE ? (double)value->num.value / pow(10, value->num.scale) : NAN;
    default: return NAN;
    }
}

static ColFact scan_fact(const Table *table, uint32_t column)
{
    ColFact fact = {.distinct = -1, .table = table, .column = column};
    ColumnStats stats;
    double rows = (double)table_rows(table);
    if (catalog_stats(table, column, &stats, NULL) != TCUDB_OK) return fact;
    fact.distinct = stats.distinct > rows ? rows : stats.distinct;
    fact.null_share = rows > 0 ? (double)stats.nulls / rows : 0;
    if (fact.null_share > 1) fact.null_share = 1; /* deleted rows are counted too */
    fact.unique = stats.unique;
    if (!stats.has_bounds) return fact;
    fact.exact = true;
    fact.min = stats.min;
    fact.max = stats.max;
    fact.lo = card_number(&stats.min);
    fact.hi = card_number(&stats.max);
    fact.has_range = isfinite(fact.lo) && isfinite(fact.hi) && fact.lo <= fact.hi;
    return fact;
}

static ColFact expr_fact(const Opt *opt, const Expr *e)
{
    if (e->kind == EXPR_COL) return *card_fact(opt, e->col);
    ColFact fact = {.distinct = -1};
    if (e->kind == EXPR_CONST) fact.distinct = 1;
    bool cast = e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && e->nargs == 1;
    if (cast && e->args[0]->kind == EXPR_COL) {
        const ColFact *from = card_fact(opt, e->args[0]->col);
        fact.distinct = from->distinct;
        fact.null_share = from->null_share;
    } else if (e->kind != EXPR_CONST && expr_has_cols(e)) {
        fact.distinct = card_distinct(opt, e, INFINITY);
    }
    return fact;
}

static void collect_named(Opt *opt, const NamedExpr *exprs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) set_fact(opt, exprs[i].col.id, expr_fact(opt, exprs[i].expr));
}

/* Values of the other side of a set operation come in. */
static void add_values(ColFact *fact, const ColFact *other)
{
    fact->exact = fact->unique = false;
    fact->table = NULL;
    fact->has_range &= other->has_range;
    fact->lo = fmin(fact->lo, other->lo);
    fact->hi = fmax(fact->hi, other->hi);
}

static void collect_positional(Opt *opt, const Plan *plan, const Plan *source)
{
    for (uint32_t i = 0; i < plan->ncols && i < source->ncols; i++) {
        ColFact fact = *card_fact(opt, source->cols[i].id);
        if (plan->kind == PLAN_SET_OP) add_values(&fact, card_fact(opt, plan->inputs[1]->cols[i].id));
        set_fact(opt, plan->cols[i].id, fact);
    }
}

static void collect_values(Opt *opt, const Plan *values)
{
    for (uint32_t i = 0; i < values->ncols; i++)
        set_fact(opt, values->cols[i].id, (ColFact){.distinct = (double)values->values.nrows});
}

static void collect_node(Opt *opt, const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_SCAN:
        for (uint32_t i = 0; i < plan->ncols; i++) {
            if (plan->scan.columns[i] == ROWID_COLUMN || opt->facts[plan->cols[i].id].seen) continue;
            set_fact(opt, plan->cols[i].id, scan_fact(plan->scan.table, plan->scan.columns[i]));
        }
        break;
    case PLAN_VALUES: collect_values(opt, plan); break;
    case PLAN_PROJECT: collect_named(opt, plan->project.exprs, plan->ncols); break;
    case PLAN_AGGREGATE: collect_named(opt, plan->agg.groups, plan->agg.ngroups); break;
    case PLAN_SET_OP: collect_positional(opt, plan, plan->inputs[0]); break;
    case PLAN_CTE_SCAN:
        if (plan->cte_scan.cte->plan != NULL) collect_positional(opt, plan, plan->cte_scan.cte->plan);
        break;
    default: break;
    }
}

static void collect(Opt *opt, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) collect(opt, plan->inputs[i]);
    collect_node(opt, plan);
}

tcudb_status card_collect(Opt *opt, const Plan *plan, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    TRY(reserve(opt, opt->env->next_col, err));
    TRY(plan_ctes(opt->arena, plan, &ctes, &n, err));
    TRY(reserve(opt, plan_col_end(plan, ctes, n), err));
    for (uint32_t i = 0; i < n; i++) collect(opt, ctes[i]->plan);
    collect(opt, plan);
    return TCUDB_OK;
}
