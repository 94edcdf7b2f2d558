/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals of which a sample is known, where launches differ: what each sample stands for, and the
 * interval that is given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"

enum { LAUNCHES = 100 };

/* Work of launch I, from 1. */
typedef double (*work)(int i);

static double growing(int i) {
    return 10.0 * i;
}

static double constant(int i) {
    (void)i;
    return 7;
}

/* LAUNCHES of one config, counted at the places AT (0 ends them). TIMED: counted ones have a time,
 * which goes with their work. */
static rp_profile sample(work of, const int *at, bool timed) {
    rp_capture *capture = create(NULL);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = add_config(capture, "k", 1);
    launch.device = add_device(capture, 0);
    launch.time_provenance = RP_MEASURED;
    launch.cache = RP_CACHE_NATURAL;
    for (int i = 1; i <= LAUNCHES; i++) {
        bool counted = *at == i, has_time = timed || !counted;
        launch.start_ns = has_time ? i * 100000 : -1;
        launch.end_ns = has_time ? launch.start_ns + (int64_t)(10 * of(i)) : -1;
        int64_t id = add_launch(capture, &launch);
        if (counted) {
            add_quantity(capture, id, RP_Q_FLOPS_FP32_VECTOR, of(i));
            at++;
        }
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    rp_capture_close(capture);
    return profile;
}

static double total(const rp_profile *p) {
    const rp_group *g = &p->groups[0];
    return rp_stat_mean(&g->q[RP_Q_FLOPS_FP32_VECTOR]) * (double)g->launches;
}

/* Half the width of the interval over the total; 0: none is given. */
static double half_width(const rp_profile *p) {
    for (size_t i = 0; i < p->note_count; i++) {
        const char *at = strstr(p->notes[i].text, "+- ");
        if (at)
            return strtod(at + 3, NULL) / 100;
    }
    return 0;
}

static void a_sample_stands_for_what_is_near(void **state) {
    static const int at[] = {1, 2, 10, 50, 95, 0};
    (void)state;
    rp_profile p = sample(growing, at, false);
    /* 1.5 - 0.5; 6 - 1.5; 30 - 6; 72.5 - 30; 100.5 - 72.5 */
    double expected = 10 * (1 * 1 + 4.5 * 2 + 24 * 10 + 42.5 * 50 + 28 * 95);
    assert_true(fabs(total(&p) - expected) < 1e-6 * expected);
    double exact = 10.0 * LAUNCHES * (LAUNCHES + 1) / 2;
    assert_true(half_width(&p) * total(&p) > fabs(total(&p) - exact));
    rp_profile_free(&p);
}

/* A plain mean of these would be a third of the truth. */
static void a_trend_beyond_the_last_is_in_the_interval(void **state) {
    static const int at[] = {1, 2, 3, 4, 20, 40, 0};
    (void)state;
    rp_profile p = sample(growing, at, false);
    double exact = 10.0 * LAUNCHES * (LAUNCHES + 1) / 2;
    assert_true(total(&p) < exact);
    assert_true(total(&p) * (1 + half_width(&p)) > exact);
    rp_profile_free(&p);
}

static void times_correct_where_they_are_known(void **state) {
    static const int at[] = {1, 2, 3, 50, 0};
    (void)state;
    rp_profile p = sample(growing, at, true);
    double exact = 10.0 * LAUNCHES * (LAUNCHES + 1) / 2;
    assert_true(fabs(total(&p) - exact) < 1e-6 * exact);
    assert_true(half_width(&p) < 1e-3); /* work goes with time exactly */
    rp_profile_free(&p);
}

static void equal_launches_need_no_interval(void **state) {
    static const int at[] = {1, 2, 3, 0};
    (void)state;
    rp_profile p = sample(constant, at, false);
    assert_true(fabs(total(&p) - 7 * LAUNCHES) < 1e-9);
    assert_true(half_width(&p) == 0);
    rp_profile_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_stands_for_what_is_near),
        cmocka_unit_test(a_trend_beyond_the_last_is_in_the_interval),
        cmocka_unit_test(times_correct_where_they_are_known),
        cmocka_unit_test(equal_launches_need_no_interval),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
