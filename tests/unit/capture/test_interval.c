/* SPDX-License-Identifier: Apache-2.0
 *
 * The union of intervals, held against a count of covered points.
 */
#include "capture/interval.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void test_simple(void **state) {
    (void)state;
    rp_intervals all = {0};
    int64_t start, end;
    assert_int_equal(rp_intervals_union(&all), 0);
    assert_false(rp_intervals_span(&all, &start, &end));
    rp_intervals_add(&all, 10, 20);
    rp_intervals_add(&all, 20, 30); /* touches */
    assert_int_equal(all.count, 1);
    rp_intervals_add(&all, 50, 60);
    rp_intervals_add(&all, 0, 55); /* before, over all */
    assert_int_equal(rp_intervals_union(&all), 60);
    assert_true(rp_intervals_span(&all, &start, &end) && start == 0 && end == 60);
    rp_intervals_add(&all, 100, 101);
    assert_int_equal(rp_intervals_union(&all), 61);
    rp_intervals_free(&all);
}

static void test_random(void **state) {
    (void)state;
    enum { POINTS = 2000 };
    srand(7);
    for (int round = 0; round < 200; round++) {
        char covered[POINTS] = "";
        rp_intervals all = {0};
        int64_t expected = 0;
        for (int i = 0; i < 60; i++) {
            int start = rand() % (POINTS - 40), length = 1 + rand() % (round % 40 + 1);
            memset(covered + start, 1, (size_t)length);
            assert_true(rp_intervals_add(&all, start, start + length));
            if (i == 30)
                rp_intervals_union(&all); /* more may come after a union */
        }
        for (int i = 0; i < POINTS; i++)
            expected += covered[i];
        assert_int_equal(rp_intervals_union(&all), expected);
        int64_t start, end;
        assert_true(rp_intervals_span(&all, &start, &end));
        const char *first = memchr(covered, 1, POINTS), *last = memrchr(covered, 1, POINTS);
        assert_true(start == first - covered && end == last - covered + 1);
        rp_intervals_free(&all);
    }
}

/* Memory goes by the gaps, not by the launches. */
static void test_overlapping_streams(void **state) {
    (void)state;
    rp_intervals all = {0};
    for (int64_t i = 0; i < 100000; i++)
        rp_intervals_add(&all, i * 10, i * 10 + 15);
    assert_int_equal(all.count, 1);
    assert_int_equal(rp_intervals_union(&all), 99999 * 10 + 15);
    rp_intervals_free(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_simple), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_overlapping_streams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
