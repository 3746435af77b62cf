/* Expressions over random columns with NULLs against plain three-valued arithmetic, with and without a selection. */
#include "exec_util.h"
#include "expr/eval.h"

enum { ROWS = 1500, COLS = 4 };

typedef struct Data {
    Bench b;
    TestCol cols[COLS]; /* a int4, c int4, p bool, t text */
    Vector vectors[COLS];
    ColId ids[COLS];
} Data;

static void make_data(Data *d)
{
    Bench *b = &d->b;
    memset(d, 0, sizeof *d);
    arena_init(&b->arena, NULL);
    b->seed = 99;
    d->cols[0] = random_col(b, "a", TYPE(TYPE_INT4), ROWS, -5, 12, 6);
    d->cols[1] = random_col(b, "c", TYPE(TYPE_INT4), ROWS, -5, 12, 6);
    d->cols[2] = random_col(b, "p", TYPE(TYPE_BOOL), ROWS, 0, 2, 4);
    d->cols[3] = random_col(b, "t", TYPE(TYPE_TEXT), ROWS, 0, 5, 5);
    for (uint32_t c = 0; c < COLS; c++) {
        d->ids[c] = c + 1;
        OK(vec_new(&b->arena, d->cols[c].type, ROWS, &d->vectors[c], &b->err));
        OK(vec_need_valid(&b->arena, &d->vectors[c], ROWS, &b->err));
        for (uint32_t i = 0; i < ROWS; i++) {
            Value v = test_value(b, d->cols[c].type, d->cols[c].values[i], d->cols[c].null[i]);
            put_value(&d->vectors[c], i, &v);
        }
    }
}

static void free_data(Data *d)
{
    arena_free(&d->b.arena);
}

static Expr *col(Data *d, uint32_t c)
{
    return expr_col(&d->b.arena, d->ids[c], d->cols[c].type, 0, &d->b.err);
}

static Expr *node(Data *d, ExprKind kind, Type type, Expr **args, uint32_t n)
{
    return expr_node(&d->b.arena, kind, type, args, n, 0, &d->b.err);
}

/* Three-valued results: 0, 1, -1 for NULL; or numbers with `null`. */
typedef struct Result {
    bool null;
    int64_t v;
} Result;

typedef Result (*Reference)(const Data *d, uint32_t row);

static Result at(const Data *d, uint32_t c, uint32_t row)
{
    return (Result){d->cols[c].null[row], d->cols[c].values[row]};
}

static tcudb_status evaluate(Data *d, Expr *e, const uint16_t *sel, uint32_t n, Vector *out)
{
    Bench *b = &d->b;
    Evaluator *evaluator;
    EvalState *state;
    EvalCtx ctx = {.arena = &b->arena};
    Batch batch = {.rows = ROWS, .n = n, .sel = sel, .ncols = COLS, .cols = d->vectors};
    OK(expr_verify(e, &b->err));
    OK(eval_compile(&b->arena, e, d->ids, COLS, NULL, 0, &evaluator, &b->err));
    OK(eval_state_new(&b->arena, evaluator, &state, &b->err));
    return eval_run(evaluator, state, &ctx, &batch, out, &b->err);
}

static int64_t number(const Value *v)
{
    switch (type_phys(v->type)) {
    case PHYS_BOOL: return v->b;
    case PHYS_I32: return v->i32;
    default: return v->i64;
    }
}

static void check(Data *d, Expr *e, Reference reference)
{
    Bench *b = &d->b;
    uint16_t sel[ROWS];
    uint32_t n = 0;
    Vector v;
    for (uint32_t i = 0; i < ROWS; i += 1 + i % 3) sel[n++] = (uint16_t)i;
    for (int selected = 0; selected < 2; selected++) {
        OK(evaluate(d, e, selected ? sel : NULL, selected ? n : ROWS, &v));
        for (uint32_t i = 0; i < (selected ? n : ROWS); i++) {
            uint32_t row = selected ? sel[i] : i;
            Value got = vec_value(&v, row);
            got.type = e->type;
            Result want = reference(d, row);
            assert_int_equal(got.null, want.null);
            if (!want.null) assert_int_equal(number(&got), want.v);
        }
    }
}

static Result and_of(Result x, Result y)
{
    if ((!x.null && !x.v) || (!y.null && !y.v)) return (Result){false, 0};
    return (Result){x.null || y.null, 1};
}

static Result or_of(Result x, Result y)
{
    if ((!x.null && x.v) || (!y.null && y.v)) return (Result){false, 1};
    return (Result){x.null || y.null, 0};
}

static Result less(const Data *d, uint32_t row)
{
    Result a = at(d, 0, row), c = at(d, 1, row);
    return (Result){a.null || c.null, a.v < c.v};
}

static Result ref_and(const Data *d, uint32_t row)
{
    return and_of(at(d, 2, row), less(d, row));
}

static Result ref_or(const Data *d, uint32_t row)
{
    return or_of(less(d, row), at(d, 2, row));
}

/* CASE WHEN p THEN a WHEN a < c THEN c ELSE NULL END */
static Result ref_case(const Data *d, uint32_t row)
{
    Result p = at(d, 2, row), l = less(d, row);
    if (!p.null && p.v) return at(d, 0, row);
    if (!l.null && l.v) return at(d, 1, row);
    return (Result){true, 0};
}

static Result ref_coalesce(const Data *d, uint32_t row)
{
    Result a = at(d, 0, row), c = at(d, 1, row);
    return !a.null ? a : !c.null ? c : (Result){false, 77};
}

/* a IN (1, 3, NULL) */
static Result ref_in(const Data *d, uint32_t row)
{
    Result a = at(d, 0, row);
    if (a.null) return a;
    return a.v == 1 || a.v == 3 ? (Result){false, 1} : (Result){true, 0};
}

/* a IN (c, 2) */
static Result ref_in_column(const Data *d, uint32_t row)
{
    Result a = at(d, 0, row), c = at(d, 1, row);
    if (a.null) return a;
    if (a.v == 2 || (!c.null && a.v == c.v)) return (Result){false, 1};
    return (Result){c.null, 0};
}

/* t = 't3' */
static Result ref_text(const Data *d, uint32_t row)
{
    Result t = at(d, 3, row);
    return (Result){t.null, t.v == 3};
}

/* CASE WHEN c <> 0 THEN a / c ELSE -1 END */
static Result ref_guarded(const Data *d, uint32_t row)
{
    Result a = at(d, 0, row), c = at(d, 1, row);
    if (c.null || c.v == 0) return (Result){false, -1};
    return a.null ? a : (Result){false, a.v / c.v};
}

static void logic(void **state)
{
    (void)state;
    Data d;
    make_data(&d);
    Expr *args[2] = {col(&d, 2), call(&d.b, "<", col(&d, 0), col(&d, 1))};
    check(&d, node(&d, EXPR_AND, TYPE(TYPE_BOOL), args, 2), ref_and);
    Expr *swapped[2] = {args[1], args[0]};
    check(&d, node(&d, EXPR_OR, TYPE(TYPE_BOOL), swapped, 2), ref_or);
    free_data(&d);
}

static void branches(void **state)
{
    (void)state;
    Data d;
    make_data(&d);
    Value null = {.type = TYPE(TYPE_INT4), .null = true};
    Expr *none = expr_const(&d.b.arena, &null, 0, &d.b.err);
    Expr *arms[5] = {col(&d, 2), col(&d, 0), call(&d.b, "<", col(&d, 0), col(&d, 1)), col(&d, 1), none};
    check(&d, node(&d, EXPR_CASE, TYPE(TYPE_INT4), arms, 5), ref_case);
    Expr *list[3] = {col(&d, 0), col(&d, 1), int_const(&d.b, 77)};
    check(&d, node(&d, EXPR_COALESCE, TYPE(TYPE_INT4), list, 3), ref_coalesce);
    free_data(&d);
}

static void in_lists(void **state)
{
    (void)state;
    Data d;
    make_data(&d);
    Value null = {.type = TYPE(TYPE_INT4), .null = true};
    Expr *items[4] = {col(&d, 0), int_const(&d.b, 3), expr_const(&d.b.arena, &null, 0, &d.b.err), int_const(&d.b, 1)};
    check(&d, node(&d, EXPR_IN, TYPE(TYPE_BOOL), items, 4), ref_in);
    Expr *columns[3] = {col(&d, 0), col(&d, 1), int_const(&d.b, 2)};
    check(&d, node(&d, EXPR_IN, TYPE(TYPE_BOOL), columns, 3), ref_in_column);
    free_data(&d);
}

/* The same predicate over flat and dictionary vectors; the dictionary is evaluated once per entry. */
static void text_by_dictionary(void **state)
{
    (void)state;
    Data d;
    make_data(&d);
    Value three = {.type = TYPE(TYPE_TEXT), .str = STR_LIT("t3")};
    Expr *e = call(&d.b, "=", col(&d, 3), expr_const(&d.b.arena, &three, 0, &d.b.err));
    check(&d, e, ref_text);
    static const Str entries[5] = {STR_LIT("t0"), STR_LIT("t1"), STR_LIT("t2"), STR_LIT("t3"), STR_LIT("t4")};
    uint32_t codes[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) codes[i] = (uint32_t)d.cols[3].values[i];
    Vector *t = &d.vectors[3];
    *t = (Vector){.type = t->type,
                  .phys = PHYS_STR,
                  .form = VEC_DICT,
                  .data = codes,
                  .valid = t->valid,
                  .values = entries,
                  .nvalues = 5,
                  .dict_id = 42};
    check(&d, e, ref_text);
    free_data(&d);
}

/* No row reaches a division by zero, so none is raised; without the guard it is. */
static void errors_only_where_rows_get(void **state)
{
    (void)state;
    Data d;
    Vector v;
    make_data(&d);
    Expr *divide = call(&d.b, "/", col(&d, 0), col(&d, 1));
    Expr *arms[3] = {call(&d.b, "<>", col(&d, 1), int_const(&d.b, 0)), divide, int_const(&d.b, -1)};
    check(&d, node(&d, EXPR_CASE, TYPE(TYPE_INT4), arms, 3), ref_guarded);
    assert_int_equal(evaluate(&d, divide, NULL, ROWS, &v), TCUDB_ERROR);
    assert_string_equal(d.b.err.sqlstate, "22012");
    free_data(&d);
}

static void folding_and_rewriting(void **state)
{
    (void)state;
    Data d;
    make_data(&d);
    Bench *b = &d.b;
    Expr *one = int_const(b, 1), *zero = int_const(b, 0), *bad = call(b, "/", one, zero);
    EvalCtx ctx = {.arena = &b->arena};
    Value value;
    OK(eval_const(&b->arena, call(b, "+", one, int_const(b, 41)), NULL, 0, &ctx, &value, &b->err));
    assert_int_equal(value.i32, 42);
    assert_int_equal(eval_const(&b->arena, bad, NULL, 0, &ctx, &value, &b->err), TCUDB_ERROR);
    Expr *arms[3] = {call(b, ">", one, zero), one, bad}; /* the ELSE is not reached */
    OK(eval_const(&b->arena, node(&d, EXPR_CASE, TYPE(TYPE_INT4), arms, 3), NULL, 0, &ctx, &value, &b->err));
    assert_int_equal(value.i32, 1);
    Expr *same = call(b, "+", one, int_const(b, 41));
    assert_true(expr_equal(same, call(b, "+", int_const(b, 1), int_const(b, 41))));
    assert_false(expr_equal(same, call(b, "+", int_const(b, 1), int_const(b, 40))));
    Buf buf;
    buf_init(&buf, NULL);
    OK(expr_print(call(b, "<", col(&d, 0), same), NULL, NULL, &buf, &b->err));
    assert_string_equal(buf_cstr(&buf, &b->err), "(#1 < (1 + 41))");
    buf_free(&buf);
    free_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logic),
        cmocka_unit_test(branches),
        cmocka_unit_test(in_lists),
        cmocka_unit_test(text_by_dictionary),
        cmocka_unit_test(errors_only_where_rows_get),
        cmocka_unit_test(folding_and_rewriting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
