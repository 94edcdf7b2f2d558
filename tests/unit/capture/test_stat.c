/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples, quantities and provenances: the vocabulary.
 */
#include "capture/profile.h"
#include "capture/summary.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static void test_stat(void **state) {
    (void)state;
    rp_stat stat = {0};
    assert_true(isnan(rp_stat_mean(&stat)) && isnan(rp_stat_deviation(&stat)));
    rp_stat_add(&stat, NAN);
    assert_int_equal(stat.n, 0);
    rp_stat_add(&stat, 3);
    assert_true(rp_stat_mean(&stat) == 3 && isnan(rp_stat_deviation(&stat)));
    rp_stat_add(&stat, 5);
    rp_stat_add(&stat, -2);
    assert_true(stat.n == 3 && stat.sum == 6 && stat.min == -2 && stat.max == 5);
    assert_true(fabs(rp_stat_deviation(&stat) - sqrt(13)) < 1e-12);
}

static void test_merge(void **state) {
    (void)state;
    rp_stat a = {0}, b = {0}, all = {0}, none = {0, NAN, NAN, NAN, NAN};
    for (int i = 0; i < 10; i++) {
        rp_stat_add(i % 3 ? &a : &b, i * i);
        rp_stat_add(&all, i * i);
    }
    rp_stat_merge(&a, &none);
    rp_stat_merge(&none, &a);
    rp_stat_merge(&none, &b);
    assert_memory_equal(&none, &all, sizeof all);
}

/* Equal values spread by nothing, whatever rounding does to their sums. */
static void test_no_spread(void **state) {
    (void)state;
    rp_stat stat = {0};
    for (int i = 0; i < 1000; i++)
        rp_stat_add(&stat, 0.1);
    assert_true(rp_stat_deviation(&stat) >= 0 && rp_stat_deviation(&stat) < 1e-7);
}

static void test_quantities(void **state) {
    (void)state;
    for (unsigned q = 0; q < RP_QUANTITIES; q++) {
        assert_non_null(rp_quantity_table[q].key);
        assert_non_null(rp_quantity_table[q].unit);
        assert_int_equal(rp_quantity_find(rp_quantity_table[q].key), q);
    }
    assert_int_equal(rp_quantity_find("no such thing"), RP_QUANTITIES);
    assert_true(rp_quantity_table[RP_Q_DRAM_BYTES].sums);
    assert_false(rp_quantity_table[RP_Q_SM_CLOCK].sums);
    assert_string_equal(rp_provenance_name(RP_USER), "user");
    for (int p = 0; p < RP_PROVENANCES; p++)
        assert_non_null(rp_provenance_name((rp_provenance)p));
}

/* What does not add up weighs by the time of its launches where all of them are known, else each
 * launch counts the same; what adds up is added, whatever it took. */
static void test_weights(void **state) {
    (void)state;
    rp_summaries all = {0};
    rp_summary *s = rp_summaries_at(&all, 0, 0, -1, RP_CACHE_UNKNOWN);
    assert_true(rp_summary_add(s, RP_Q_FRACTION_DRAM, 0.2, 3, RP_IMPORTED));
    assert_true(rp_summary_add(s, RP_Q_FRACTION_DRAM, 0.8, 1, RP_COUNTED));
    assert_true(rp_summary_add(s, RP_Q_DRAM_BYTES, 2, 3, RP_COUNTED));
    assert_true(rp_summary_add(s, RP_Q_DRAM_BYTES, 8, 1, RP_COUNTED));
    const rp_summary_quantity *fraction = rp_summary_slot(s, RP_Q_FRACTION_DRAM);
    assert_true(fabs(rp_stat_mean(&fraction->stat) - 0.35) < 1e-12);
    assert_int_equal(fraction->provenance, RP_IMPORTED); /* the worse of the two */
    assert_true(rp_summary_slot(s, RP_Q_DRAM_BYTES)->stat.sum == 10);
    assert_true(rp_summary_add(s, RP_Q_FRACTION_DRAM, 0.5, NAN, RP_COUNTED));
    fraction = rp_summary_slot(s, RP_Q_FRACTION_DRAM);
    assert_true(fabs(rp_stat_mean(&fraction->stat) - 0.5) < 1e-12);
    assert_true(fraction->stat.n == 3 && fraction->time.n == 2 && fraction->time.sum == 4);
    rp_summary_add_time(s, NAN, RP_MEASURED);
    assert_int_equal(s->time.n, 0);
    rp_summary_add_time(s, 2, RP_MODELLED);
    rp_summary_add_time(s, 3, RP_MEASURED);
    assert_true(s->time.n == 2 && s->time.sum == 5);
    assert_int_equal(s->time_provenance, RP_MODELLED);
    rp_summaries_free(&all);
}

/* The device's clock is the median of launches that are long enough for theirs to be exact. */
static void test_observed_clock(void **state) {
    (void)state;
    rp_device_totals totals = {0};
    rp_device_sums sums;
    rp_device_totals_sum(&totals, &sums);
    assert_true(isnan(sums.observed_clock_hz) && isnan(sums.sum_s) && isnan(sums.busy_s));
    for (int i = 1; i <= 4; i++)
        assert_true(rp_device_totals_clock(&totals, 1e9 * i, RP_LONG_LAUNCH_S / 2));
    rp_device_totals_sum(&totals, &sums);
    assert_true(sums.observed_clock_hz == 2.5e9); /* short ones are better than none */
    static const double clocks[] = {1.9e9, 1.2e9, 1.5e9};
    for (int i = 0; i < 3; i++)
        assert_true(rp_device_totals_clock(&totals, clocks[i], RP_LONG_LAUNCH_S));
    assert_true(rp_device_totals_clock(&totals, NAN, 1));
    rp_device_totals_sum(&totals, &sums);
    assert_true(sums.observed_clock_hz == 1.5e9);
    rp_device_totals_free(&totals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),      cmocka_unit_test(test_merge),
        cmocka_unit_test(test_no_spread), cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_weights),   cmocka_unit_test(test_observed_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
