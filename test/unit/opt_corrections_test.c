/*
 * opt_corrections_test.c: what queries took changes predictions, within its limits: too few samples say nothing, one
 * outlier says little, sizes and forms are apart; and a choice follows only where it gains a fifth.
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
    learn(c, CANDIDATE_DENSE, 0.010, 0.030, 6);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.010) > 2.9);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.0005) == 1);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 1) == 1);
    assert_true(corrections_factor(c, CANDIDATE_SPARSE, 0.010) == 1);
    corrections_reset(c);
    assert_true(corrections_factor(c, CANDIDATE_DENSE, 0.010) == 1);
    corrections_free(c);
}

static void an_outlier_counts_as_four_times(void **state)
{
    (void)state;
    Corrections *c = fresh();
    learn(c, CANDIDATE_PLAIN, 0.010, 10, 20);
    assert_true(fabs(corrections_factor(c, CANDIDATE_PLAIN, 0.010) - 4) < 1e-9);
    learn(c, CANDIDATE_VECTOR, 0.010, 0.010, 20);
    learn(c, CANDIDATE_VECTOR, 0.010, 10, 1);
    assert_true(corrections_factor(c, CANDIDATE_VECTOR, 0.010) < 1.33);
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
    assert_int_equal(choice(f, c, 11), CANDIDATE_PLAIN);
    corrections_reset(c);
    learn(c, CANDIDATE_PLAIN, 0.010, 0.020, 5); /* and now 45 */
    assert_int_equal(choice(f, c, 11), CANDIDATE_VECTOR);
    f->settings.eager = EAGER_OFF; /* a setting that forces nothing here leaves the list as it is */
    assert_int_equal(choice(f, c, 9), CANDIDATE_VECTOR);
    f->settings.eager = EAGER_ON;
    assert_int_equal(choice(f, NULL, 500), CANDIDATE_VECTOR);
    corrections_free(c);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_samples_say_nothing),
        cmocka_unit_test(forms_and_sizes_are_apart),
        cmocka_unit_test(an_outlier_counts_as_four_times),
        cmocka_unit_test(a_choice_follows_a_large_gain_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
