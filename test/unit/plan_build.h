/*
 * plan_build.h: plans made by hand, for the tests of plan/ and opt/.
 *
 * A Fix holds an in-memory database with two tables, t(a int4, b int4, c text) and u(x int4, y int4), an
 * arena and the next column id. Makers fail the test on error, so tests read like plans.
 */
#ifndef TEST_PLAN_BUILD_H
#define TEST_PLAN_BUILD_H

#include "opt/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct Fix {
    Mem mem;
    Arena arena;
    Db *db;
    Txn *txn;
    Settings settings;
    OptEnv env;
    Rates rates;
    Error err;
} Fix;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        tcudb_status ok_status_ = (call);                                                                              \
        if (ok_status_ != TCUDB_OK) print_error("%s: %s\n", f->err.message, f->err.detail);                            \
        assert_int_equal(ok_status_, TCUDB_OK);                                                                        \
    } while (0)

static inline void fix_table(Fix *f, const char *name, const ColumnDef *cols, uint32_t ncols)
{
    TableDef def = {.name = str_of(name), .ncols = ncols, .cols = cols};
    OK(txn_create_table(f->txn, &def, &f->err));
}

/* Row i of a table: column c holds (i * (c + 3)) % (7 * (c + 1)); text 'w<number>'; every 5th b is NULL. */
static inline void fix_fill(Fix *f, const char *name, uint32_t ncols, uint32_t rows, bool nulls)
{
    static const char *const words[] = {"w0", "w1", "w2", "w3", "w4"};
    Vector cols[3];
    for (uint32_t c = 0; c < ncols; c++) {
        Type type = c == 2 ? TYPE(TYPE_TEXT) : TYPE(TYPE_INT4);
        OK(vec_new(&f->arena, type, rows, &cols[c], &f->err));
        if (c == 1 && nulls) OK(vec_need_valid(&f->arena, &cols[c], rows, &f->err));
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t v = (i * (c + 3)) % (7 * (c + 1));
            if (c == 2)
                ((Str *)cols[c].data)[i] = str_of(words[v % 5]);
            else
                ((int32_t *)cols[c].data)[i] = (int32_t)v;
            if (c == 1 && nulls && i % 5 == 0) bit_clear(cols[c].valid, i);
        }
    }
    Batch batch = {.rows = rows, .n = rows, .ncols = ncols, .cols = cols};
    OK(txn_append(f->txn, str_of(name), &batch, &f->err));
}

static inline void fix_init(Fix *f)
{
    memset(f, 0, sizeof *f);
    mem_init(&f->mem, 0);
    arena_init(&f->arena, &f->mem);
    settings_init(&f->settings);
    DbOptions options = {.create = true};
    OK(db_open(NULL, &options, &f->db, &f->err));
    OK(txn_begin(f->db, &f->txn, &f->err));
    ColumnDef t[] = {{.name = STR_LIT("a"), .type = TYPE(TYPE_INT4)},
                     {.name = STR_LIT("b"), .type = TYPE(TYPE_INT4)},
                     {.name = STR_LIT("c"), .type = TYPE(TYPE_TEXT)}};
    ColumnDef u[] = {{.name = STR_LIT("x"), .type = TYPE(TYPE_INT4)}, {.name = STR_LIT("y"), .type = TYPE(TYPE_INT4)}};
    fix_table(f, "t", t, 3);
    fix_table(f, "u", u, 2);
    fix_fill(f, "t", 3, 100, true);
    fix_fill(f, "u", 2, 20, false);
    f->rates = rates_default();
    f->env = (OptEnv){.arena = &f->arena, .settings = &f->settings, .rates = &f->rates, .next_col = 1, .workers = 1};
}

static inline void fix_free(Fix *f)
{
    txn_rollback(f->txn);
    db_close(f->db);
    arena_free(&f->arena);
}

static inline PlanCol new_col(Fix *f, Type type, const char *name)
{
    return (PlanCol){.id = f->env.next_col++, .type = type, .name = name};
}

static inline Plan *node(Fix *f, PlanKind kind, Plan *a, Plan *b, uint32_t ncols)
{
    Plan *plan = plan_new(&f->arena, kind, (a != NULL) + (b != NULL), ncols, &f->err);
    assert_non_null(plan);
    if (a != NULL) plan->inputs[0] = a;
    if (b != NULL) plan->inputs[1] = b;
    return plan;
}

static inline Plan *scan(Fix *f, const char *name)
{
    const Table *table = txn_table(f->txn, str_of(name));
    assert_non_null(table);
    const TableDef *def = table_def(table);
    Plan *plan = node(f, PLAN_SCAN, NULL, NULL, def->ncols);
    uint32_t *columns = arena_alloc(&f->arena, def->ncols * sizeof *columns, &f->err);
    assert_non_null(columns);
    for (uint32_t i = 0; i < def->ncols; i++) {
        columns[i] = i;
        const char *cname = arena_strndup(&f->arena, def->cols[i].name.ptr, def->cols[i].name.len, &f->err);
        assert_non_null(cname);
        plan->cols[i] = new_col(f, def->cols[i].type, cname);
    }
    plan->scan.table = table;
    plan->scan.name = def->name;
    plan->scan.columns = columns;
    return plan;
}

static inline Expr *col(Fix *f, const Plan *plan, uint32_t i)
{
    Expr *e = expr_col(&f->arena, plan->cols[i].id, plan->cols[i].type, 0, &f->err);
    assert_non_null(e);
    return e;
}

static inline Expr *num(Fix *f, int32_t v)
{
    Value value = {.type = TYPE(TYPE_INT4), .i32 = v};
    Expr *e = expr_const(&f->arena, &value, 0, &f->err);
    assert_non_null(e);
    return e;
}

static inline Expr *op(Fix *f, const char *name, Expr *a, Expr *b)
{
    Expr *args[2] = {a, b}, *e;
    OK(expr_call(&f->arena, FUNC_OPERATOR, name, args, b == NULL ? 1 : 2, 0, &e, &f->err));
    return e;
}

static inline Expr *logic(Fix *f, ExprKind kind, Expr *a, Expr *b)
{
    Expr *args[2] = {a, b};
    Expr *e = expr_node(&f->arena, kind, TYPE(TYPE_BOOL), args, 2, 0, &f->err);
    assert_non_null(e);
    return e;
}

static inline Expr **exprs(Fix *f, Expr *a, Expr *b, uint32_t *n)
{
    Expr **list = arena_alloc(&f->arena, 2 * sizeof *list, &f->err);
    assert_non_null(list);
    list[0] = a;
    list[1] = b;
    *n = (a != NULL) + (b != NULL);
    return list;
}

static inline Plan *filter(Fix *f, Plan *input, Expr *a, Expr *b)
{
    Plan *plan = node(f, PLAN_FILTER, input, NULL, input->ncols);
    memcpy(plan->cols, input->cols, input->ncols * sizeof *plan->cols);
    plan->filter.conds = exprs(f, a, b, &plan->filter.nconds);
    return plan;
}

static inline Plan *join(Fix *f, JoinKind kind, Plan *left, Plan *right, Expr *a, Expr *b)
{
    bool left_only = kind == JOIN_SEMI || kind == JOIN_ANTI;
    Plan *plan = node(f, PLAN_JOIN, left, right, left->ncols + (left_only ? 0 : right->ncols));
    memcpy(plan->cols, left->cols, left->ncols * sizeof *plan->cols);
    if (!left_only) memcpy(plan->cols + left->ncols, right->cols, right->ncols * sizeof *plan->cols);
    plan->join.kind = kind;
    plan->join.conds = exprs(f, a, b, &plan->join.nconds);
    return plan;
}

static inline Plan *apply(Fix *f, ApplyKind kind, Plan *left, Plan *right, Expr *test)
{
    Plan *plan = node(f, PLAN_APPLY, left, right, left->ncols + 1);
    memcpy(plan->cols, left->cols, left->ncols * sizeof *plan->cols);
    plan->apply.kind = kind;
    plan->apply.test = test;
    plan->apply.result = new_col(f, kind == APPLY_SCALAR ? right->cols[0].type : TYPE(TYPE_BOOL), "sub");
    plan->cols[left->ncols] = plan->apply.result;
    return plan;
}

/* Projects to one column. */
static inline Plan *project(Fix *f, Plan *input, Expr *e, const char *name)
{
    Plan *plan = node(f, PLAN_PROJECT, input, NULL, 1);
    plan->project.exprs = arena_alloc(&f->arena, sizeof(NamedExpr), &f->err);
    assert_non_null(plan->project.exprs);
    plan->cols[0] = new_col(f, e->type, name);
    plan->project.exprs[0] = (NamedExpr){.col = plan->cols[0], .expr = e};
    return plan;
}

/* One aggregate, grouped by one column or none. */
static inline Plan *aggregate(Fix *f, Plan *input, Expr *group, AggKind kind, Expr *arg, Type type)
{
    Plan *plan = node(f, PLAN_AGGREGATE, input, NULL, group == NULL ? 1 : 2);
    plan->agg.groups = arena_alloc(&f->arena, sizeof(NamedExpr), &f->err);
    plan->agg.aggs = arena_alloc(&f->arena, sizeof(AggCall), &f->err);
    assert_non_null(plan->agg.groups);
    assert_non_null(plan->agg.aggs);
    if (group != NULL) {
        plan->agg.ngroups = 1;
        plan->agg.groups[0].expr = group;
        plan->agg.groups[0].col = plan->cols[0] = (PlanCol){.id = group->col, .type = group->type, .name = "g"};
    }
    plan->agg.naggs = 1;
    plan->agg.aggs[0] = (AggCall){.col = new_col(f, type, "agg"), .kind = kind, .nargs = arg != NULL, .args = {arg}};
    plan->cols[plan->ncols - 1] = plan->agg.aggs[0].col;
    return plan;
}

/* The plan's text; lives in the arena. */
static inline const char *printed(Fix *f, const Plan *plan)
{
    Buf buf;
    buf_init(&buf, &f->mem);
    OK(plan_print(plan, &buf, &f->err));
    const char *text = arena_strndup(&f->arena, buf.data, buf.len, &f->err);
    buf_free(&buf);
    assert_non_null(text);
    return text;
}

#endif
