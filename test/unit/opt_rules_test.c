/* The optimizer's rules on plans made by hand: what moves where, what stays. */
#include "plan_build.h"

static const char *optimised(Fix *f, Plan *plan)
{
    OK(plan_verify(plan, &f->err));
    OK(opt_run(&f->env, &plan, &f->err));
    OK(plan_verify(plan, &f->err));
    return printed(f, plan);
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) print_error("no \"%s\" in:\n%s", part, text);
    assert_non_null(strstr(text, part));
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) print_error("\"%s\" in:\n%s", part, text);
    assert_null(strstr(text, part));
}

#define FIX                                                                                                            \
    Fix fix, *f = &fix;                                                                                                \
    (void)state;                                                                                                       \
    fix_init(f)

static void filters_reach_scans_and_narrow_outer_joins(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *p = join(f, JOIN_LEFT, t, u, op(f, "=", col(f, t, 0), col(f, u, 0)), NULL);
    p = filter(f, p, op(f, "<", col(f, t, 1), num(f, 5)), op(f, ">", num(f, 3), col(f, u, 1)));
    const char *text = optimised(f, project(f, p, col(f, t, 2), "c"));
    has(text, "Join Inner");
    lacks(text, "Filter");
    has(text, "where (y");
    has(text, "where (b");
    fix_free(f);
}

static void outer_join_stays_where_nulls_pass(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *p = join(f, JOIN_LEFT, t, u, op(f, "=", col(f, t, 0), col(f, u, 0)), op(f, "<", col(f, t, 1), num(f, 5)));
    p = filter(f, p, op(f, "is null", op(f, "+", col(f, u, 1), num(f, 1)), NULL), NULL);
    const char *text = optimised(f, project(f, p, col(f, t, 2), "c"));
    has(text, "Join Left");
    has(text, "Filter");
    lacks(text, "where"); /* the ON condition on the preserved side must not filter it */
    fix_free(f);
}

static void outer_join_without_matches_is_anti(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *p = join(f, JOIN_LEFT, t, u, op(f, "=", col(f, t, 0), col(f, u, 0)), op(f, "<", col(f, t, 1), num(f, 5)));
    p = filter(f, p, op(f, "is null", col(f, u, 1), NULL), NULL);
    const char *text = optimised(f, project(f, p, col(f, t, 2), "c"));
    has(text, "Join Anti");
    lacks(text, "Filter");
    lacks(text, "where");
    fix_free(f);
}

static void exists_becomes_semi_join(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *a = apply(f, APPLY_EXISTS, t, filter(f, u, op(f, "=", col(f, u, 0), col(f, t, 0)), NULL), NULL);
    Plan *p = filter(f, a, col(f, a, 3), NULL);
    const char *text = optimised(f, project(f, p, col(f, t, 2), "c"));
    has(text, "Join Semi");
    lacks(text, "Apply");
    fix_free(f);
}

static void not_in_with_nulls_keeps_the_mark(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *a = apply(f, APPLY_ANY, t, u, op(f, "=", col(f, t, 1), col(f, u, 0))); /* t.b has NULLs */
    Plan *p = filter(f, a, op(f, "not", col(f, a, 3), NULL), NULL);
    has(optimised(f, project(f, p, col(f, t, 2), "c")), "(null-aware)");
    t = scan(f, "t"), u = scan(f, "u");
    a = apply(f, APPLY_ANY, t, u, op(f, "=", col(f, t, 0), col(f, u, 0))); /* neither side has any */
    p = filter(f, a, op(f, "not", col(f, a, 3), NULL), NULL);
    has(optimised(f, project(f, p, col(f, t, 2), "c")), "Join Anti");
    fix_free(f);
}

static void correlated_count_is_zero_without_rows(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *sub = filter(f, u, op(f, "=", col(f, u, 0), col(f, t, 0)), NULL);
    sub = aggregate(f, sub, NULL, AGG_COUNT, col(f, u, 1), TYPE(TYPE_INT8));
    Plan *a = apply(f, APPLY_SCALAR, t, sub, NULL);
    const char *text = optimised(f, project(f, a, col(f, a, 3), "n"));
    has(text, "COALESCE(");
    has(text, "Join Left");
    lacks(text, "Apply");
    fix_free(f);
}

static void contradiction_empties_the_plan(void **state)
{
    FIX;
    Plan *t = scan(f, "t");
    Plan *p = filter(f, t, op(f, "<", num(f, 2), num(f, 1)), NULL);
    has(optimised(f, project(f, p, col(f, t, 2), "c")), "no rows");
    fix_free(f);
}

static void aggregate_without_groups_stops_predicates(void **state)
{
    FIX;
    Plan *t = scan(f, "t");
    Plan *a = aggregate(f, t, NULL, AGG_MAX, col(f, t, 0), TYPE(TYPE_INT4));
    Plan *p = filter(f, a, op(f, ">", col(f, a, 0), num(f, 3)), NULL);
    has(optimised(f, project(f, p, col(f, a, 0), "m")), "Filter");
    t = scan(f, "t");
    a = aggregate(f, t, col(f, t, 0), AGG_MAX, col(f, t, 1), TYPE(TYPE_INT4));
    p = filter(f, a, op(f, ">", col(f, a, 0), num(f, 3)), NULL);
    const char *text = optimised(f, project(f, p, col(f, a, 1), "m"));
    lacks(text, "Filter");
    has(text, "where");
    fix_free(f);
}

static void off_leaves_the_plan_alone(void **state)
{
    FIX;
    f->settings.optimizer = false;
    Plan *t = scan(f, "t");
    Plan *p = filter(f, t, op(f, "<", num(f, 2), num(f, 1)), NULL);
    has(optimised(f, project(f, p, col(f, t, 2), "c")), "Filter");
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_reach_scans_and_narrow_outer_joins),
        cmocka_unit_test(outer_join_stays_where_nulls_pass),
        cmocka_unit_test(outer_join_without_matches_is_anti),
        cmocka_unit_test(exists_becomes_semi_join),
        cmocka_unit_test(not_in_with_nulls_keeps_the_mark),
        cmocka_unit_test(correlated_count_is_zero_without_rows),
        cmocka_unit_test(contradiction_empties_the_plan),
        cmocka_unit_test(aggregate_without_groups_stops_predicates),
        cmocka_unit_test(off_leaves_the_plan_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
