/* Joins: every kind, with and without residual conditions, against two nested loops; NULLs everywhere. */
#include "exec_util.h"

enum { LEFT_ROWS = 900, RIGHT_ROWS = 700, COLS = 3 };

typedef enum Shape { EQ_INT, EQ_INT_AND_LESS, EQ_TEXT, EQ_TWO, LESS_ONLY, CROSS, SHAPES } Shape;

typedef struct Sides {
    Bench b;
    TestCol left[COLS], right[COLS];
    uint32_t nleft, nright;
} Sides;

static void make_sides(Sides *s, uint32_t nleft, uint32_t nright, uint32_t span)
{
    Bench *b = &s->b;
    bench_open(b);
    s->nleft = nleft;
    s->nright = nright;
    const Type types[COLS] = {TYPE(TYPE_INT4), TYPE(TYPE_INT8), TYPE(TYPE_TEXT)};
    for (uint32_t c = 0; c < COLS; c++) {
        s->left[c] = random_col(b, c == 0 ? "k" : c == 1 ? "v" : "t", types[c], nleft, -20, span, 9);
        s->right[c] = random_col(b, c == 0 ? "k" : c == 1 ? "v" : "t", types[c], nright, -20, span, 9);
    }
    bench_table(b, "l", s->left, COLS, nleft);
    bench_table(b, "r", s->right, COLS, nright);
}

/* 1 true, 0 false, -1 unknown */
static int equal_at(const TestCol *a, uint32_t i, const TestCol *c, uint32_t j)
{
    if (a->null[i] || c->null[j]) return -1;
    return a->values[i] == c->values[j];
}

static int less_at(const TestCol *a, uint32_t i, const TestCol *c, uint32_t j)
{
    if (a->null[i] || c->null[j]) return -1;
    return a->values[i] < c->values[j];
}

static int both(int x, int y)
{
    if (x == 0 || y == 0) return 0;
    return x < 0 || y < 0 ? -1 : 1;
}

static int matches(const Sides *s, Shape shape, uint32_t i, uint32_t j)
{
    switch (shape) {
    case EQ_INT: return equal_at(&s->left[0], i, &s->right[0], j);
    case EQ_INT_AND_LESS:
        return both(equal_at(&s->left[0], i, &s->right[0], j), less_at(&s->left[1], i, &s->right[1], j));
    case EQ_TEXT: return equal_at(&s->left[2], i, &s->right[2], j);
    case EQ_TWO: return both(equal_at(&s->left[0], i, &s->right[0], j), equal_at(&s->left[1], i, &s->right[1], j));
    case LESS_ONLY: return less_at(&s->left[1], i, &s->right[1], j);
    default: return 1;
    }
}

static void expected_line(Sides *s, Lines *out, int64_t i, int64_t j, const int *mark)
{
    Buf buf;
    buf_init(&buf, NULL);
    for (uint32_t c = 0; c < COLS; c++) {
        Value v = i < 0 ? (Value){.null = true}
                        : test_value(&s->b, s->left[c].type, s->left[c].values[i], s->left[c].null[i]);
        print_cell(&buf, &v, mark == NULL && j == -2 && c + 1 == COLS);
    }
    for (uint32_t c = 0; c < COLS && mark == NULL && j != -2; c++) {
        Value v = j < 0 ? (Value){.null = true}
                        : test_value(&s->b, s->right[c].type, s->right[c].values[j], s->right[c].null[j]);
        print_cell(&buf, &v, c + 1 == COLS);
    }
    if (mark != NULL) {
        Value v = {.type = TYPE(TYPE_BOOL), .null = *mark<0, .b = *mark> 0};
        print_cell(&buf, &v, true);
    }
    lines_add(out, buf_cstr(&buf, NULL));
    buf_free(&buf);
}

static void reference(Sides *s, JoinKind kind, bool mark_null, Shape shape, Lines *out)
{
    bool *right_matched = calloc(s->nright + 1, 1);
    for (uint32_t i = 0; i < s->nleft; i++) {
        int any = 0, unknown = 0;
        for (uint32_t j = 0; j < s->nright; j++) {
            int m = matches(s, shape, i, j);
            unknown |= m < 0;
            if (m != 1) continue;
            any = 1;
            right_matched[j] = true;
            if (kind <= JOIN_FULL) expected_line(s, out, i, j, NULL);
        }
        int mark = any ? 1 : mark_null && unknown ? -1 : 0;
        if (!any && (kind == JOIN_LEFT || kind == JOIN_FULL)) expected_line(s, out, i, -1, NULL);
        if ((kind == JOIN_SEMI && any) || (kind == JOIN_ANTI && !any)) expected_line(s, out, i, -2, NULL);
        if (kind == JOIN_MARK) expected_line(s, out, i, -2, &mark);
    }
    for (uint32_t j = 0; j < s->nright && (kind == JOIN_RIGHT || kind == JOIN_FULL); j++)
        if (!right_matched[j]) expected_line(s, out, -1, j, NULL);
    free(right_matched);
}

static Plan *join_plan(Sides *s, JoinKind kind, bool mark_null, Shape shape)
{
    Bench *b = &s->b;
    Plan *l = scan_of(b, "l"), *r = scan_of(b, "r");
    bool pairs = kind <= JOIN_FULL || kind == JOIN_SINGLE;
    Plan *p = plan_new(&b->arena, PLAN_JOIN, 2, COLS + (pairs ? COLS : kind == JOIN_MARK), &b->err);
    p->inputs[0] = l;
    p->inputs[1] = r;
    memcpy(p->cols, l->cols, COLS * sizeof *p->cols);
    if (pairs) memcpy(p->cols + COLS, r->cols, COLS * sizeof *p->cols);
    p->join.kind = kind;
    p->join.mark_null = mark_null;
    if (kind == JOIN_MARK) {
        p->join.mark = (PlanCol){b->next_col++, TYPE(TYPE_BOOL), "mark"};
        p->cols[COLS] = p->join.mark;
    }
    p->join.conds = ARENA_ARRAY(&b->arena, Expr *, 2, &b->err);
    Expr *eq_int = call(b, "=", col_of(b, l, 0), col_of(b, r, 0)),
         *less = call(b, "<", col_of(b, l, 1), col_of(b, r, 1));
    switch (shape) {
    case EQ_INT: p->join.conds[p->join.nconds++] = eq_int; break;
    case EQ_INT_AND_LESS:
        p->join.conds[p->join.nconds++] = less;
        p->join.conds[p->join.nconds++] = eq_int;
        break;
    case EQ_TEXT: p->join.conds[p->join.nconds++] = call(b, "=", col_of(b, r, 2), col_of(b, l, 2)); break;
    case EQ_TWO:
        p->join.conds[p->join.nconds++] = eq_int;
        p->join.conds[p->join.nconds++] = call(b, "=", col_of(b, l, 1), col_of(b, r, 1));
        break;
    case LESS_ONLY: p->join.conds[p->join.nconds++] = less; break;
    default: break;
    }
    return p;
}

static void check_shapes(uint32_t nleft, uint32_t nright, uint32_t span)
{
    static const JoinKind kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, JOIN_FULL,
                                     JOIN_SEMI,  JOIN_ANTI, JOIN_MARK,  JOIN_MARK};
    for (uint32_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (Shape shape = 0; shape < SHAPES; shape++) {
            Sides s;
            Lines expected = {0};
            bool mark_null = k == 7;
            make_sides(&s, nleft, nright, span);
            reference(&s, kinds[k], mark_null, shape, &expected);
            expect_lines(&s.b, join_plan(&s, kinds[k], mark_null, shape), &expected);
            bench_close(&s.b);
        }
    }
}

static void every_kind(void **state)
{
    (void)state;
    check_shapes(120, 90, 60);
}

static void sparse_keys(void **state)
{
    (void)state;
    check_shapes(100, 80, 2000000000);
}

static void empty_sides(void **state)
{
    (void)state;
    check_shapes(0, 40, 30);
    check_shapes(40, 0, 30);
    check_shapes(0, 0, 30);
}

/* More pairs than a batch holds, several tasks a side. */
static void many_pairs(void **state)
{
    (void)state;
    Sides s;
    Lines expected = {0};
    make_sides(&s, LEFT_ROWS, RIGHT_ROWS, 12);
    reference(&s, JOIN_FULL, false, EQ_INT, &expected);
    expect_lines(&s.b, join_plan(&s, JOIN_FULL, false, EQ_INT), &expected);
    bench_close(&s.b);
}

static void single_reports_a_second_match(void **state)
{
    (void)state;
    Sides s;
    Lines lines = {0};
    Mem mem;
    mem_init(&mem, 0);
    make_sides(&s, 50, 50, 5);
    Bench *b = &s.b;
    assert_int_equal(run_plan(b, join_plan(&s, JOIN_SINGLE, false, EQ_INT), 2, &mem, NULL, &lines, NULL), TCUDB_ERROR);
    assert_string_equal(b->err.sqlstate, "21000");
    assert_int_equal(run_plan(b, join_plan(&s, JOIN_SINGLE, false, LESS_ONLY), 2, &mem, NULL, &lines, NULL),
                     TCUDB_ERROR);
    assert_string_equal(b->err.sqlstate, "21000");
    assert_int_equal(atomic_load(&mem.used), 0);
    lines_free(&lines);
    bench_close(b);
}

/* A semi-join bitmap only takes away rows that could not match. */
static void bitmaps_change_nothing(void **state)
{
    (void)state;
    Sides s;
    Lines expected = {0};
    make_sides(&s, 5000, 30, 400);
    Bench *b = &s.b;
    reference(&s, JOIN_INNER, false, EQ_INT, &expected);
    Plan *p = join_plan(&s, JOIN_INNER, false, EQ_INT);
    SemiSource source = {.id = 1, .key = p->inputs[1]->cols[0].id};
    SemiFilter filter = {.id = 1, .col = p->inputs[0]->cols[0].id};
    p->join.semi = &source;
    p->join.nsemi = 1;
    p->inputs[0]->scan.semi = &filter;
    p->inputs[0]->scan.nsemi = 1;
    expect_lines(b, p, &expected);
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(sparse_keys),
        cmocka_unit_test(empty_sides),
        cmocka_unit_test(many_pairs),
        cmocka_unit_test(single_reports_a_second_match),
        cmocka_unit_test(bitmaps_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
