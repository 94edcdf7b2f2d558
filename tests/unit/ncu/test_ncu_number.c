/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of every locale, and units: shapes, values, and what is refused.
 */
#include "importers/ncu_number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct number_case {
    const char *text;
    ncu_locale locale;
    ncu_shape shape;
    double value; /* NaN: none */
} number_case;

static const number_case numbers[] = {
    {"0", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 0},
    {"508757", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 508757},
    {"-12", NCU_LOCALE_UNKNOWN, NCU_PLAIN, -12},
    {" 32 ", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 32},
    {"18446744073709551615", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 18446744073709551615.0},
    {"1 234 567", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 1234567},
    {"1\xC2\xA0"
     "234",
     NCU_LOCALE_UNKNOWN, NCU_PLAIN, 1234},
    {"1\xE2\x80\xAF"
     "234,5",
     NCU_LOCALE_UNKNOWN, NCU_COMMA, 1234.5},
    {"1'234.5", NCU_LOCALE_UNKNOWN, NCU_POINT, 1234.5},
    {"1\xE2\x80\x99"
     "234",
     NCU_LOCALE_UNKNOWN, NCU_PLAIN, 1234},
    {"97.32", NCU_LOCALE_UNKNOWN, NCU_POINT, 97.32},
    {"0.123", NCU_LOCALE_UNKNOWN, NCU_POINT, 0.123},
    {"1234.567", NCU_LOCALE_UNKNOWN, NCU_POINT, 1234.567},
    {"3995313115.40", NCU_LOCALE_UNKNOWN, NCU_POINT, 3995313115.40},
    {"1,342,177,280", NCU_LOCALE_UNKNOWN, NCU_POINT, 1342177280},
    {"1,209,252.43", NCU_LOCALE_UNKNOWN, NCU_POINT, 1209252.43},
    {"12,34,567", NCU_LOCALE_UNKNOWN, NCU_POINT, 1234567},
    {"3.3255e+10", NCU_LOCALE_UNKNOWN, NCU_POINT, 3.3255e10},
    {"4.34e-02", NCU_LOCALE_UNKNOWN, NCU_POINT, 0.0434},
    {"1e9", NCU_LOCALE_UNKNOWN, NCU_PLAIN, 1e9},
    {".5", NCU_LOCALE_UNKNOWN, NCU_POINT, 0.5},
    {"5.", NCU_LOCALE_UNKNOWN, NCU_POINT, 5},
    {"65,77", NCU_LOCALE_UNKNOWN, NCU_COMMA, 65.77},
    {"2.508.800", NCU_LOCALE_UNKNOWN, NCU_COMMA, 2508800},
    {"1.209.252,43", NCU_LOCALE_UNKNOWN, NCU_COMMA, 1209252.43},
    {"0,123", NCU_LOCALE_UNKNOWN, NCU_COMMA, 0.123},
    {"117.344", NCU_LOCALE_UNKNOWN, NCU_EITHER, NAN},
    {"117.344", NCU_LOCALE_POINT, NCU_EITHER, 117.344},
    {"117.344", NCU_LOCALE_COMMA, NCU_EITHER, 117344},
    {"117,344", NCU_LOCALE_POINT, NCU_EITHER, 117344},
    {"117,344", NCU_LOCALE_COMMA, NCU_EITHER, 117.344},
    {"", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"n/a", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"N/A", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"nan", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"-nan(ind)", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"inf", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"no data", NCU_LOCALE_POINT, NCU_MISSING, NAN},
    {"cudaFuncCachePreferNone", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"0x3", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"12.1.0", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"(32, 32, 1)", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"1,23,4", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"1,2345.6", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {".", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {",", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"-", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"e5", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"5e", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"1e99999", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"12 %", NCU_LOCALE_POINT, NCU_TEXT, NAN},
    {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", NCU_LOCALE_POINT, NCU_TEXT, NAN},
};

static void test_numbers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const number_case *c = &numbers[i];
        double value;
        ncu_shape shape = ncu_number_read(c->text, strlen(c->text), c->locale, &value, NULL);
        if (shape != c->shape)
            fail_msg("\"%s\": shape %d, not %d", c->text, shape, c->shape);
        if (isnan(c->value) ? !isnan(value) : value != c->value)
            fail_msg("\"%s\": %.17g, not %.17g", c->text, value, c->value);
    }
}

static void test_decimals(void **state) {
    (void)state;
    double value;
    int decimals;
    ncu_number_read("1,209,252.43", 12, NCU_LOCALE_POINT, &value, &decimals);
    assert_int_equal(decimals, 2);
    ncu_number_read("1,209", 5, NCU_LOCALE_POINT, &value, &decimals);
    assert_int_equal(decimals, 0);
    ncu_number_read("1.5e3", 5, NCU_LOCALE_POINT, &value, &decimals);
    assert_int_equal(decimals, -2);
}

/* Any bytes: no crash, and never a value without a shape that has one. */
static void test_any_bytes(void **state) {
    (void)state;
    static const char alphabet[] = "0123456789.,'-+eE \xC2\xA0\xE2\x80\xAF%n";
    unsigned seed = 12345;
    for (int i = 0; i < 200000; i++) {
        char text[24];
        size_t length = 0;
        seed = seed * 1103515245u + 12345u;
        size_t wanted = seed >> 16 & 15;
        for (; length < wanted; length++) {
            seed = seed * 1103515245u + 12345u;
            text[length] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        double value;
        int decimals;
        ncu_shape shape = ncu_number_read(text, length, NCU_LOCALE_POINT, &value, &decimals);
        assert_int_equal(isfinite(value), shape != NCU_TEXT && shape != NCU_MISSING);
    }
}

typedef struct unit_case {
    const char *text, *name;
    double of_three; /* what 3 of it are */
} unit_case;

static const unit_case units[] = {
    {"byte", "byte", 3},
    {"Kbyte", "byte", 3e3},
    {"Mbyte", "byte", 3e6},
    {"Gbyte/second", "byte/s", 3e9},
    {"Kbyte/block", "byte/block", 3e3},
    {"ns", "s", 3e-9},
    {"nsecond", "s", 3e-9},
    {"usecond", "s", 3e-6},
    {"us", "s", 3e-6},
    {"ms", "s", 3e-3},
    {"msecond", "s", 3e-3},
    {"s", "s", 3},
    {"hz", "Hz", 3},
    {"Ghz", "Hz", 3e9},
    {"cycle/second", "Hz", 3},
    {"cycle/nsecond", "Hz", 3e9},
    {"cycle/usecond", "Hz", 3e6},
    {"%", "1", 0.03},
    {"", "", 3},
    {"inst", "inst", 3},
    {"Kinst", "inst", 3e3},
    {"inst/cycle", "inst/cycle", 3},
    {"sector", "sector", 3},
    {"register/thread", "register/thread", 3},
    {"SM", "SM", 3},
    {"question", "question", 3},
    {"Transactions", "transaction", 3},
};

static void test_units(void **state) {
    (void)state;
    ncu_unit unit;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const unit_case *c = &units[i];
        assert_true(ncu_unit_parse(c->text, strlen(c->text), &unit));
        assert_string_equal(unit.name, c->name);
        if (ncu_unit_apply(&unit, 3) != c->of_three)
            fail_msg("3 %s are %.17g", c->text, ncu_unit_apply(&unit, 3));
    }
    assert_false(ncu_unit_parse("MB", 2, &unit)); /* 1000 or 1024? */
    assert_false(ncu_unit_parse("GiB", 3, &unit));
    assert_false(ncu_unit_parse("GB/s", 4, &unit));
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[150] = '/';
    assert_true(ncu_unit_parse(longest, sizeof longest, &unit));
}

typedef struct implied_case {
    const char *metric, *unit; /* NULL: no raw metric */
} implied_case;

static const implied_case implied[] = {
    {"gpu__time_duration.sum", "ns"},
    {"dram__bytes.sum", "byte"},
    {"dram__bytes.sum.per_second", "byte/second"},
    {"dram__bytes_read.sum.pct_of_peak_sustained_elapsed", "%"},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
    {"l1tex__t_sector_hit_rate.pct", "%"},
    {"sm__maximum_warps_per_active_cycle_pct", "%"},
    {"sm__cycles_elapsed.avg", "cycle"},
    {"sm__cycles_elapsed.avg.per_second", "cycle/second"},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "inst"},
    {"smsp__thread_inst_executed_per_inst_executed.ratio", ""},
    {"lts__t_sectors_op_read.sum", "sector"},
    {"launch__waves_per_multiprocessor", ""},
    {"launch__shared_mem_per_block_static", "byte"},
    {"Duration", NULL},
    {"Memory Throughput", NULL},
};

static void test_implied_units(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof implied / sizeof *implied; i++) {
        const char *unit = ncu_unit_of_metric(implied[i].metric, strlen(implied[i].metric));
        if (!implied[i].unit)
            assert_null(unit);
        else
            assert_string_equal(unit, implied[i].unit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_any_bytes),     cmocka_unit_test(test_units),
        cmocka_unit_test(test_implied_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
