/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples, quantities and provenances: the vocabulary.
 */
#include "capture/profile.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stat), cmocka_unit_test(test_merge),
                                       cmocka_unit_test(test_no_spread),
                                       cmocka_unit_test(test_quantities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
