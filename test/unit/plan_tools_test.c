/* The tools of logical plans: printer, verifier, copy, free columns, walking. */
#include "plan_build.h"

#define FIX                                                                                                            \
    Fix fix, *f = &fix;                                                                                                \
    (void)state;                                                                                                       \
    fix_init(f)

static void faulty(Fix *f, const Plan *plan, const char *what)
{
    assert_int_not_equal(plan_verify(plan, &f->err), TCUDB_OK);
    assert_string_equal(f->err.sqlstate, "XX000");
    if (strstr(f->err.message, what) == NULL) print_error("%s\n", f->err.message);
    assert_non_null(strstr(f->err.message, what));
}

static Plan *some_plan(Fix *f)
{
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *p = join(f, JOIN_LEFT, t, u, op(f, "=", col(f, t, 0), col(f, u, 0)), NULL);
    p = filter(f, p, op(f, "<", col(f, t, 1), num(f, 5)), NULL);
    return project(f, p, op(f, "+", col(f, t, 1), col(f, u, 1)), "sum");
}

static void prints_a_tree(void **state)
{
    FIX;
    Plan *plan = some_plan(f);
    plan->rows = 12;
    plan->cost = 0.0005;
    assert_string_equal(printed(f, plan), "Project sum#6 = (b#2 + y#5)  (rows 12, cost 0.500 ms)\n"
                                          "  Filter (b#2 < 5)\n"
                                          "    Join Left on (a#1 = x#4)\n"
                                          "      Scan t: a#1, b#2, c#3\n"
                                          "      Scan u: x#4, y#5\n");
    fix_free(f);
}

static void verifier_accepts_what_is_right(void **state)
{
    FIX;
    OK(plan_verify(some_plan(f), &f->err));
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *sub = filter(f, u, op(f, "=", col(f, u, 0), col(f, t, 0)), NULL); /* an outer column */
    OK(plan_verify(apply(f, APPLY_EXISTS, t, sub, NULL), &f->err));
    fix_free(f);
}

static void verifier_names_the_fault(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    faulty(f, filter(f, t, op(f, "=", col(f, u, 0), num(f, 1)), NULL), "not in scope");
    faulty(f, filter(f, t, num(f, 1), NULL), "not boolean");
    Plan *p = project(f, t, col(f, t, 0), "x");
    p->cols[0].type = TYPE(TYPE_TEXT);
    faulty(f, p, "another type");
    p = join(f, JOIN_INNER, t, t, NULL, NULL);
    faulty(f, p, "twice");
    p = join(f, JOIN_SEMI, t, u, NULL, NULL);
    p->cols = u->cols;
    p->ncols = u->ncols;
    faulty(f, p, "comes from nowhere");
    p = filter(f, t, op(f, "<", col(f, t, 0), num(f, 1)), NULL);
    p->ninputs = 0;
    faulty(f, p, "number of inputs");
    p = project(f, t, op(f, "+", col(f, t, 0), num(f, 1)), "a");
    p->cols[0].id = p->project.exprs[0].col.id = t->cols[0].id;
    faulty(f, p, "redefined");
    fix_free(f);
}

static void copy_has_ids_of_its_own(void **state)
{
    FIX;
    Plan *plan = some_plan(f), *copy;
    ColId before = f->env.next_col;
    OK(plan_copy(&f->arena, plan, &f->env.next_col, &copy, &f->err));
    OK(plan_verify(copy, &f->err));
    assert_true(f->env.next_col >= before + 6);
    assert_true(copy->cols[0].id >= before);
    assert_string_equal(printed(f, plan->inputs[0]), "Filter (b#2 < 5)\n"
                                                     "  Join Left on (a#1 = x#4)\n"
                                                     "    Scan t: a#1, b#2, c#3\n"
                                                     "    Scan u: x#4, y#5\n");
    OK(plan_verify(join(f, JOIN_INNER, plan, copy, NULL, NULL), &f->err)); /* both in one statement */
    fix_free(f);
}

static void copy_keeps_outer_columns(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u"), *copy;
    Plan *sub = filter(f, u, op(f, "=", col(f, u, 0), col(f, t, 0)), NULL);
    OK(plan_copy(&f->arena, sub, &f->env.next_col, &copy, &f->err));
    ColId *list = NULL;
    uint32_t n = 0;
    OK(plan_free_cols(&f->arena, copy, &list, &n, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(list[0], t->cols[0].id);
    fix_free(f);
}

static void free_columns_are_those_from_outside(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    Plan *sub = filter(f, u, op(f, "=", col(f, u, 0), col(f, t, 0)), op(f, "<", col(f, t, 0), col(f, t, 1)));
    ColId *list = NULL;
    uint32_t n = 0;
    OK(plan_free_cols(&f->arena, sub, &list, &n, &f->err));
    assert_int_equal(n, 2);
    n = 0;
    OK(plan_free_cols(&f->arena, apply(f, APPLY_EXISTS, t, sub, NULL), &list, &n, &f->err));
    assert_int_equal(n, 0);
    fix_free(f);
}

static tcudb_status count_slot(void *ctx, Expr **slot, Error *err)
{
    (void)err;
    assert_non_null(*slot);
    (*(uint32_t *)ctx)++;
    return TCUDB_OK;
}

static void every_expression_is_visited(void **state)
{
    FIX;
    Plan *t = scan(f, "t"), *u = scan(f, "u");
    uint32_t n = 0;
    Plan *agg = aggregate(f, t, col(f, t, 0), AGG_SUM, col(f, t, 1), TYPE(TYPE_INT8));
    agg->agg.aggs[0].filter = op(f, "<", col(f, t, 1), num(f, 5));
    OK(plan_each_expr(agg, count_slot, &n, &f->err));
    assert_int_equal(n, 3);
    n = 0;
    OK(plan_each_expr(apply(f, APPLY_ANY, t, u, op(f, "=", col(f, t, 0), col(f, u, 0))), count_slot, &n, &f->err));
    assert_int_equal(n, 1);
    fix_free(f);
}

static Plan *cte_scan(Fix *f, Cte *cte)
{
    Plan *plan = node(f, PLAN_CTE_SCAN, NULL, NULL, cte->plan->ncols);
    for (uint32_t i = 0; i < plan->ncols; i++) plan->cols[i] = new_col(f, cte->plan->cols[i].type, "c");
    plan->cte_scan.cte = cte;
    return plan;
}

static void ctes_are_listed_once_and_in_order(void **state)
{
    FIX;
    Cte ctes[4] = {{.id = 1, .name = "first", .plan = scan(f, "t")}};
    for (int i = 1; i < 4; i++) { /* each uses the one before twice */
        ctes[i].name = "next";
        ctes[i].plan = join(f, JOIN_INNER, cte_scan(f, &ctes[i - 1]), cte_scan(f, &ctes[i - 1]), NULL, NULL);
    }
    Cte **list = NULL;
    uint32_t n = 0;
    OK(plan_ctes(&f->arena, cte_scan(f, &ctes[3]), &list, &n, &f->err));
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++) assert_ptr_equal(list[i], &ctes[i]);
    assert_non_null(strstr(printed(f, cte_scan(f, &ctes[3])), "CTE first"));
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_a_tree),
        cmocka_unit_test(verifier_accepts_what_is_right),
        cmocka_unit_test(verifier_names_the_fault),
        cmocka_unit_test(copy_has_ids_of_its_own),
        cmocka_unit_test(copy_keeps_outer_columns),
        cmocka_unit_test(free_columns_are_those_from_outside),
        cmocka_unit_test(every_expression_is_visited),
        cmocka_unit_test(ctes_are_listed_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
