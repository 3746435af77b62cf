/*
 * opt_corrections_test.c: what queries took changes predictions, within its limits: too few samples say nothing, one
 * outlier says little, sizes and forms are apart, what all have in common concerns all; a choice follows only where it
 * gains a fifth; and runs of one query settle for its fastest way.
 */
#include "opt/candidates.h"
#include "plan_build.h"

#include <math.h>

static Corrections *fresh(void)
{
    Corrections *c = NULL;
    Error err = {0};
    assert_int_equal(corrections_new(&c, &err), TCUDB_OK);
    return c;
}

static void learn(Corrections *c, CandidateForm form, double predicted, double actual, int times)
{
    for (int i = 0; i < times; i++) corrections_learn(c, form, predicted, actual);
}

static void a_few_samples_say_nothing(void **state)
{
    (void)state;
    Corrections *c = fresh();
    learn(c, CANDIDATE_SPARSE, 0.010, 0.020, CORRECTION_SAMPLES - 1);
    assert_true(corrections_factor(c, CANDIDATE_SPARSE, 0.010) == 1);
    learn(c, CANDIDATE_SPARSE, 0.010, 0.020, 1);
    assert_true(fabs(corrections_factor(c, CANDIDATE_SPARSE, 0.010) - 2) < 1e-9);
    assert_true(corrections_factor(NULL, CANDIDATE_SPARSE, 0.010) == 1);
    corrections_free(c);
}

static void forms_and_sizes_are_apart(void **state)
{
    (void)state;
    Corrections *c = fresh();
    learn(c, CANDIDATE_DENSE, 0.010, 0.016, 6);
    learn(c, CANDIDATE_SPARSE, 0.010, 0.010, 6);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.010) > 1.59);
    assert_true(corrections_factor(c, CANDIDATE_SPARSE, 0.010) < 1.01);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.0005) == 1);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 1) == 1);
    corrections_reset(c);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.010) == 1);
    corrections_free(c);
}

/* A busy machine makes everything slow, and shows it in what is taken only. */
static void what_all_have_in_common_concerns_all(void **state)
{
    (void)state;
    Corrections *c = fresh();
    learn(c, CANDIDATE_PLAIN, 0.010, 0.030, 6);
    assert_true(fabs(corrections_factor(c, CANDIDATE_PLAIN, 0.010) - 3) < 1e-9);
    assert_true(fabs(corrections_factor(c, CANDIDATE_VECTOR, 0.010) - 3) < 1e-9);
    learn(c, CANDIDATE_VECTOR, 0.010, 0.010, 6);
    assert_true(corrections_factor(c, CANDIDATE_VECTOR, 0.010) < corrections_factor(c, CANDIDATE_PLAIN, 0.010) / 2.9);
    corrections_free(c);
}

static void an_outlier_counts_as_four_times_and_a_form_as_two(void **state)
{
    (void)state;
    Corrections *c = fresh();
    learn(c, CANDIDATE_PLAIN, 0.010, 10, 20);
    assert_true(fabs(corrections_factor(c, CANDIDATE_PLAIN, 0.010) - 4) < 1e-9);
    learn(c, CANDIDATE_VECTOR, 0.010, 0.010, 20);
    learn(c, CANDIDATE_SPARSE, 0.010, 0.010, 20);
    learn(c, CANDIDATE_DENSE, 0.010, 0.010, 20);
    double common = pow(4, 0.25);
    assert_true(fabs(corrections_factor(c, CANDIDATE_PLAIN, 0.010) - 2 * common) < 1e-9);
    learn(c, CANDIDATE_VECTOR, 0.010, 10, 1);
    assert_true(corrections_factor(c, CANDIDATE_VECTOR, 0.010) < 1.5);
    corrections_free(c);
}

/* Plain at 10 ms, vector at `vector` ms, both corrected; the form that is taken. */
static CandidateForm choice(Fix *f, Corrections *c, double vector)
{
    Opt opt = {.env = &f->env, .arena = &f->arena};
    Candidates *list;
    f->env.corrections = c;
    OK(candidates_new(&opt, &list, &f->err));
    candidates_add(&opt, list, CANDIDATE_PLAIN, (Price){.multiply = 0.010}, NULL);
    candidates_add(&opt, list, CANDIDATE_VECTOR, (Price){.multiply = vector * 1e-3}, NULL);
    candidates_add(&opt, list, CANDIDATE_BITS, (Price){.multiply = 1e-6}, "it cannot");
    candidates_choose(&opt, list);
    return list->items[list->taken].form;
}

static void a_choice_follows_a_large_gain_only(void **state)
{
    (void)state;
    Fix fix, *f = &fix;
    fix_init(f);
    Corrections *c = fresh();
    assert_int_equal(choice(f, NULL, 11), CANDIDATE_PLAIN);
    assert_int_equal(choice(f, c, 9), CANDIDATE_VECTOR);
    learn(c, CANDIDATE_PLAIN, 0.010, 0.012, 5); /* vector now gains 8 percent: not worth it */
    learn(c, CANDIDATE_VECTOR, 0.010, 0.010, 5);
    assert_int_equal(choice(f, c, 11), CANDIDATE_PLAIN);
    corrections_reset(c);
    learn(c, CANDIDATE_PLAIN, 0.010, 0.020, 5); /* of plain alone: may be anything */
    assert_int_equal(choice(f, c, 11), CANDIDATE_PLAIN);
    learn(c, CANDIDATE_VECTOR, 0.010, 0.010, 5); /* and now 45 */
    assert_int_equal(choice(f, c, 11), CANDIDATE_VECTOR);
    f->settings.eager = EAGER_OFF; /* a setting that forces nothing here leaves the list as it is */
    assert_int_equal(choice(f, c, 9), CANDIDATE_VECTOR);
    f->settings.eager = EAGER_ON;
    assert_int_equal(choice(f, NULL, 500), CANDIDATE_VECTOR);
    corrections_free(c);
    fix_free(f);
}

/* Runs of one query, expected to take `price` and taking `truth` ms (plain, vector, sparse); how often each was taken
 * in `runs` runs, and whether the last half of them were all the same, which is returned. */
static CandidateForm settle(const double price[3], const double truth[3], int runs, int taken[3])
{
    Fix fix, *f = &fix;
    fix_init(f);
    Opt opt = {.env = &f->env, .arena = &f->arena};
    CandidateForm last = CANDIDATE_FORMS;
    f->env.corrections = fresh();
    memset(taken, 0, 3 * sizeof *taken);
    for (int run = 0; run < runs; run++) {
        Candidates *list;
        OK(candidates_new(&opt, &list, &f->err));
        list->node = 4711;
        for (CandidateForm form = CANDIDATE_PLAIN; form <= CANDIDATE_SPARSE; form++)
            candidates_add(&opt, list, form, (Price){.multiply = price[form] * 1e-3}, NULL);
        candidates_choose(&opt, list);
        const Candidate *c = &list->items[list->taken];
        double noise = 1 + run % 3 * 0.05, seconds = truth[c->form] * noise * 1e-3;
        assert_true(run <= runs / 2 || c->form == last);
        last = c->form;
        taken[last]++;
        corrections_learn(f->env.corrections, c->form, price[c->form] * 1e-3, seconds);
        corrections_node(f->env.corrections, list->node, correction_way(c->form), price[c->form] * 1e-3, seconds);
    }
    corrections_free(f->env.corrections);
    fix_free(f);
    return last;
}

/* Whatever prices say, the way that is by far the fastest is found where its price allows it, and kept; ways that
 * disappoint are tried once. */
static void runs_of_a_query_settle(void **state)
{
    (void)state;
    int taken[3];
    /* TPC-H's query 9 as it was: the plan that looks a little cheaper takes twice as long */
    assert_int_equal(settle((double[]){12, 10, 50}, (double[]){40, 80, 200}, 40, taken), CANDIDATE_PLAIN);
    assert_int_equal(taken[CANDIDATE_VECTOR], 2);
    assert_int_equal(taken[CANDIDATE_SPARSE], 0);
    /* everything takes eight times as long: the choice is right */
    assert_int_equal(settle((double[]){10, 12, 50}, (double[]){80, 96, 400}, 40, taken), CANDIDATE_PLAIN);
    assert_true(taken[CANDIDATE_VECTOR] <= 1 && taken[CANDIDATE_SPARSE] <= 1);
    /* a join that is larger than expected by far: the contraction does not make it */
    assert_int_equal(settle((double[]){10, 30, 40}, (double[]){900, 800, 45}, 40, taken), CANDIDATE_SPARSE);
    assert_int_equal(taken[CANDIDATE_PLAIN], 2);
    assert_true(taken[CANDIDATE_VECTOR] <= 2);
    /* prices that are right are not doubted */
    assert_int_equal(settle((double[]){10, 12, 11}, (double[]){11, 12, 11}, 40, taken), CANDIDATE_PLAIN);
    assert_int_equal(taken[CANDIDATE_PLAIN], 40);
}

static void other_nodes_know_nothing_of_it(void **state)
{
    (void)state;
    Corrections *c = fresh();
    NodeRuns runs;
    corrections_node(c, 1, WAY_VECTOR, 0.010, 0.040);
    corrections_node(c, 1, WAY_VECTOR, 0.010, 0.020);
    corrections_node(c, 1, WAY_VECTOR, 0.010, 0.090);
    assert_true(corrections_node_look(c, 1, &runs));
    assert_int_equal(runs.runs[WAY_VECTOR], 3);
    assert_int_equal(runs.runs[WAY_PLAIN], 0);
    assert_true(runs.ratio[WAY_VECTOR] >= 2 && runs.ratio[WAY_VECTOR] < 2.2);
    assert_false(corrections_node_look(c, 2, &runs));
    assert_false(corrections_node_look(c, 0, &runs));
    corrections_reset(c);
    assert_false(corrections_node_look(c, 1, &runs));
    corrections_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_samples_say_nothing),
        cmocka_unit_test(forms_and_sizes_are_apart),
        cmocka_unit_test(what_all_have_in_common_concerns_all),
        cmocka_unit_test(an_outlier_counts_as_four_times_and_a_form_as_two),
        cmocka_unit_test(runs_of_a_query_settle),
        cmocka_unit_test(other_nodes_know_nothing_of_it),
        cmocka_unit_test(a_choice_follows_a_large_gain_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
