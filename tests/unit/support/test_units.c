/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for people.
 */
#include "support/units.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define SHOWS(call, expected)                                                                      \
    do {                                                                                           \
        char b[48];                                                                                \
        assert_string_equal(call, expected);                                                       \
    } while (0)

static void test_si(void **state) {
    (void)state;
    SHOWS(rp_format_si(b, sizeof b, 1.23e12, "B/s"), "1.23 TB/s");
    SHOWS(rp_format_si(b, sizeof b, 989.4e12, "FLOP/s"), "989 TFLOP/s");
    SHOWS(rp_format_si(b, sizeof b, 999.6, "B"), "1.00 kB");
    SHOWS(rp_format_si(b, sizeof b, 12.3e-6, "s"), "12.3 µs");
    SHOWS(rp_format_si(b, sizeof b, 9.996e3, "Hz"), "10.0 kHz");
    SHOWS(rp_format_si(b, sizeof b, 1, "B"), "1.00 B");
    SHOWS(rp_format_si(b, sizeof b, 0, "B"), "0 B");
    SHOWS(rp_format_si(b, sizeof b, -4.5e9, ""), "-4.50 G");
    SHOWS(rp_format_si(b, sizeof b, NAN, "B"), "n/a");
    SHOWS(rp_format_si(b, sizeof b, INFINITY, "B"), "inf B");
    SHOWS(rp_format_si(b, sizeof b, 5e24, "B"), "5e+06 EB");
    SHOWS(rp_format_si(b, sizeof b, 1e-20, "s"), "1e-08 ps");
}

static void test_time(void **state) {
    (void)state;
    SHOWS(rp_format_time(b, sizeof b, 2.5e-9), "2.50 ns");
    SHOWS(rp_format_time(b, sizeof b, 90), "90.0 s");
    SHOWS(rp_format_time(b, sizeof b, 200), "3 min 20 s");
    SHOWS(rp_format_time(b, sizeof b, 7500), "2 h 05 min");
    SHOWS(rp_format_time(b, sizeof b, NAN), "n/a");
}

static void test_percent(void **state) {
    (void)state;
    SHOWS(rp_format_percent(b, sizeof b, 0.812), "81.2 %");
    SHOWS(rp_format_percent(b, sizeof b, 0.0512), "5.12 %");
    SHOWS(rp_format_percent(b, sizeof b, 1), "100.0 %");
    SHOWS(rp_format_percent(b, sizeof b, 12.5), "1250 %");
    SHOWS(rp_format_percent(b, sizeof b, 643000), "64300000 %");
    SHOWS(rp_format_percent(b, sizeof b, 6.43e40), "6.43e+42 %");
    SHOWS(rp_format_percent(b, sizeof b, 1e-6), "<0.01 %");
    SHOWS(rp_format_percent(b, sizeof b, 0), "0.00 %");
    SHOWS(rp_format_percent(b, sizeof b, NAN), "n/a");
}

static void test_counts(void **state) {
    (void)state;
    SHOWS(rp_format_count(b, sizeof b, 0), "0");
    SHOWS(rp_format_count(b, sizeof b, 999), "999");
    SHOWS(rp_format_count(b, sizeof b, 12345678), "12 345 678");
    SHOWS(rp_format_number(b, sizeof b, 295.1), "295");
    SHOWS(rp_format_number(b, sizeof b, 4.834), "4.83");
    SHOWS(rp_format_number(b, sizeof b, 0.012345), "0.0123");
    SHOWS(rp_format_number(b, sizeof b, 1.2e9), "1.2e+09");
    SHOWS(rp_format_number(b, sizeof b, NAN), "n/a");
}

static void test_small_buffer(void **state) {
    (void)state;
    char b[4];
    assert_int_equal(strlen(rp_format_si(b, sizeof b, 1.23e12, "FLOP/s")), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_si), cmocka_unit_test(test_time), cmocka_unit_test(test_percent),
        cmocka_unit_test(test_counts), cmocka_unit_test(test_small_buffer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
