/* SPDX-License-Identifier: Apache-2.0
 *
 * Nsight Compute reports. The reports are built here, message by message, so that each case holds
 * exactly what it is about.
 */
#include "imported.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Building protocol buffers --------------------------------------------------------------- */

typedef struct bytes {
    unsigned char at[16384];
    size_t length;
} bytes;

static void raw(bytes *b, const void *data, size_t length) {
    assert_true(b->length + length <= sizeof b->at);
    memcpy(b->at + b->length, data, length);
    b->length += length;
}

static void varint(bytes *b, uint64_t number) {
    do {
        unsigned char byte = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        raw(b, &byte, 1);
    } while (number >>= 7);
}

static void put_integer(bytes *b, unsigned field, uint64_t number) {
    varint(b, field << 3);
    varint(b, number);
}

static void put_double(bytes *b, unsigned field, double number) {
    varint(b, field << 3 | 1);
    raw(b, &number, 8);
}

static void put_float(bytes *b, unsigned field, float number) {
    varint(b, field << 3 | 5);
    raw(b, &number, 4);
}

static void put_bytes(bytes *b, unsigned field, const void *data, size_t length) {
    varint(b, field << 3 | 2);
    varint(b, length);
    raw(b, data, length);
}

static void put_text(bytes *b, unsigned field, const char *text) {
    put_bytes(b, field, text, strlen(text));
}

static void put_message(bytes *b, unsigned field, const bytes *inner) {
    put_bytes(b, field, inner->at, inner->length);
}

/* The container's own framing. */
static void put_framed(bytes *b, const bytes *inner) {
    uint32_t length = (uint32_t)inner->length;
    raw(b, &length, 4);
    raw(b, inner->at, inner->length);
}

static void put_shape(bytes *b, unsigned field, uint64_t x, uint64_t y, uint64_t z) {
    bytes shape = {0};
    put_integer(&shape, 1, x);
    put_integer(&shape, 2, y);
    put_integer(&shape, 3, z);
    put_message(b, field, &shape);
}

/* ---- Building reports ------------------------------------------------------------------------ */

enum {
    TIME,
    CYCLES_SUM,
    DFMA_PER_CYCLE,
    FFMA_DERIVED,
    NAME,
    SMS,
    MAJOR,
    MINOR,
    THROUGHPUT,
    BREAKDOWN,
    HADD_PER_CYCLE,
    STRINGS
};

static const char *const strings[STRINGS] = {
    [TIME] = "gpu__time_duration.sum",
    [CYCLES_SUM] = "smsp__cycles_elapsed.sum",
    [DFMA_PER_CYCLE] = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed",
    [FFMA_DERIVED] = "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2",
    [NAME] = "device__attribute_display_name",
    [SMS] = "device__attribute_multiprocessor_count",
    [MAJOR] = "device__attribute_compute_capability_major",
    [MINOR] = "device__attribute_compute_capability_minor",
    [THROUGHPUT] = "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    [BREAKDOWN] = "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
    [HADD_PER_CYCLE] = "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed",
};

static void metric_value(bytes *result, unsigned name, const bytes *value) {
    bytes metric = {0};
    put_integer(&metric, 1, name);
    put_message(&metric, 2, value);
    put_message(result, 13, &metric);
}

static void metric_double(bytes *result, unsigned name, double number) {
    bytes value = {0};
    put_double(&value, 3, number);
    metric_value(result, name, &value);
}

static void metric_integer(bytes *result, unsigned name, uint64_t number) {
    bytes value = {0};
    put_integer(&value, 5, number);
    metric_value(result, name, &value);
}

static void metric_text(bytes *result, unsigned name, const char *text) {
    bytes value = {0};
    put_text(&value, 1, text);
    metric_value(result, name, &value);
}

static void put_nvtx(bytes *result, const char *outer, const char *inner) {
    bytes range = {0}, domain = {0}, thread = {0}, state = {0};
    put_integer(&domain, 1, 0);
    put_text(&range, 1, outer);
    put_message(&domain, 3, &range);
    range.length = 0;
    put_text(&range, 1, inner);
    put_message(&domain, 3, &range);
    put_integer(&thread, 1, 7);
    put_message(&thread, 2, &domain);
    put_message(&state, 2, &thread);
    put_message(result, 21, &state);
}

/* 16 SMs; 64 sub-partitions ran 1000.25 cycles each on average. The counts are 12345 DFMA, 321
 * FFMA.
 */
static const double cycles = 64016 / 64.0;

static bytes make_result(const char *kernel, double time_ns) {
    bytes result = {0};
    put_integer(&result, 1, 99);
    put_text(&result, 5, "_Z1kv");
    put_text(&result, 6, "k");
    put_text(&result, 7, kernel);
    put_shape(&result, 10, 70, 16, 12288);
    put_shape(&result, 11, 35, 16, 1);
    put_integer(&result, 22, 1);
    put_integer(&result, 23, 7);
    metric_double(&result, TIME, time_ns);
    metric_double(&result, CYCLES_SUM, 64016);
    metric_double(&result, DFMA_PER_CYCLE, 12345 / cycles);
    metric_double(&result, FFMA_DERIVED, 2 * 321 / cycles);
    metric_text(&result, NAME, "Test GPU 16GB");
    metric_integer(&result, SMS, 16);
    metric_integer(&result, MAJOR, 7);
    metric_integer(&result, MINOR, 0);
    metric_double(&result, THROUGHPUT, 100.39);
    metric_text(&result, BREAKDOWN, "sm__inst");
    put_nvtx(&result, "step", "forward");
    return result;
}

static bytes start_report(uint32_t version) {
    bytes report = {0}, header = {0};
    raw(&report, "NVR", 4);
    put_integer(&header, 1, version);
    put_framed(&report, &header);
    return report;
}

static void put_process(bytes *header) {
    bytes process = {0};
    put_integer(&process, 1, 4711);
    put_text(&process, 2, "host");
    put_text(&process, 3, "/secret/folder/app");
    put_message(header, 6, &process);
}

static void put_strings(bytes *header) {
    bytes table = {0};
    for (unsigned i = 0; i < STRINGS; i++)
        put_text(&table, 1, strings[i]);
    put_message(header, 4, &table);
}

static void put_block(bytes *report, bool with_strings, unsigned results_field,
                      const bytes *result) {
    bytes header = {0}, payload = {0};
    put_framed(&payload, result);
    put_integer(&header, 1, 0);
    put_integer(&header, results_field, 1);
    if (with_strings)
        put_strings(&header);
    put_integer(&header, 5, payload.length);
    put_process(&header);
    put_text(&header, 77, "a field of a later release");
    put_framed(report, &header);
    raw(report, payload.at, payload.length);
}

/* An empty block, a launch with the string table, a launch that inherits it. */
static bytes two_launches(void) {
    bytes report = start_report(7), empty = {0};
    put_integer(&empty, 5, 0);
    put_framed(&report, &empty);
    bytes result = make_result("first(int, float<a>)", 5000.5);
    put_block(&report, true, 2, &result);
    result = make_result("second()", 6000);
    put_block(&report, false, 2, &result);
    return report;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void near(double value, double expected) {
    if (value != expected)
        fail_msg("%.17g, not %.17g", value, expected);
}

static void test_two_launches(void **state) {
    (void)state;
    bytes report = two_launches();
    imported in = import_bytes(report.at, report.length);
    near(ask(&in, "SELECT count(*) FROM launches"), 2);
    near(ask(&in, "SELECT time_ns FROM launches WHERE idx = 0"), 5000.5);
    near(ask(&in, "SELECT time_ns FROM launches WHERE idx = 1"), 6000);
    assert_string_equal(ask_text(&in, "SELECT kernel FROM launch_list WHERE idx = 1"), "second");
    near(ask(&in, "SELECT grid_z FROM configs LIMIT 1"), 12288);
    near(counter(&in, 0, strings[THROUGHPUT]), 1.0039);
    assert_string_equal(ask_text(&in, "SELECT name FROM devices"), "Test GPU 16GB");
    near(ask(&in, "SELECT sm_count FROM devices"), 16);
    near(ask(&in, "SELECT cc_major FROM devices"), 7);
    near(ask(&in, "SELECT pid FROM processes"), 4711);
    assert_string_equal(ask_text(&in, "SELECT name FROM processes"), "app");
    near(ask(&in, "SELECT count(*) FROM metrics WHERE name LIKE 'breakdown%'"), 0);
    near(ask(&in, "SELECT count(*) FROM ranges"), 2);
    assert_string_equal(ask_text(&in, "SELECT range FROM launch_list WHERE idx = 0"), "forward");
    imported_free(&in);
}

/* The profiler holds the clocks unless told not to: times are longer then, and that is said of as
 * many launches as it is true of. */
static void test_clocks_that_were_held(void **state) {
    (void)state;
    for (int held = 0; held <= 2; held++) {
        bytes report = start_report(7);
        for (int i = 0; i < 2; i++) {
            bytes result = make_result("k()", 5000), clocks = {0};
            put_integer(&clocks, 1, 5);
            put_integer(&clocks, 2, i < held);
            put_message(&result, 25, &clocks);
            put_block(&report, i == 0, 2, &result);
        }
        imported in = import_bytes(report.at, report.length);
        assert_int_equal(has_note(&in, "at their base in 1 launch:"), held == 1);
        assert_int_equal(has_note(&in, "at their base in 2 launches:"), held == 2);
        assert_int_equal(has_note(&in, "held the clocks"), held > 0);
        imported_free(&in);
    }
}

/* What `--set full` collects is a count per cycle; as doubles they give the count itself. */
static void test_counts(void **state) {
    (void)state;
    bytes report = two_launches();
    imported in = import_bytes(report.at, report.length);
    near(counter(&in, 0, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"), 12345);
    near(counter(&in, 1, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 321);
    near(ask(&in, "SELECT count(*) FROM counter_values WHERE provenance <> 'imported'"), 0);
    assert_true(has_note(&in, "4 counts were recovered"));
    imported_free(&in);
}

/* A float has 24 bits: enough for a small count, not for one of billions. */
static void test_floats(void **state) {
    (void)state;
    bytes report = start_report(7), result = make_result("k", 5000), value = {0};
    put_float(&value, 2, (float)(4321 / cycles));
    metric_value(&result, HADD_PER_CYCLE, &value);
    put_block(&report, true, 2, &result);
    imported in = import_bytes(report.at, report.length);
    near(counter(&in, 0, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum"), 4321);
    imported_free(&in);

    report = start_report(7);
    result = make_result("k", 5000);
    value.length = 0;
    put_float(&value, 2, (float)(8.7654321e12 / cycles));
    metric_value(&result, HADD_PER_CYCLE, &value);
    put_block(&report, true, 2, &result);
    in = import_bytes(report.at, report.length);
    double count = counter(&in, 0, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum");
    assert_true(fabs(count / 8.7654321e12 - 1) < 1e-6);
    near(ask(&in, "SELECT count(*) FROM counter_values WHERE provenance = 'estimated'"), 1);
    assert_true(has_note(&in, "estimated"));
    imported_free(&in);
}

/* Some reports give a metric twice; the vendor's readers take the last one. */
static void test_given_twice(void **state) {
    (void)state;
    bytes report = start_report(7), result = make_result("k", 6944);
    metric_double(&result, TIME, 6880);
    put_block(&report, true, 2, &result);
    imported in = import_bytes(report.at, report.length);
    near(ask(&in, "SELECT time_ns FROM launches"), 6880);
    near(counter(&in, 0, strings[TIME]), 6880e-9);
    imported_free(&in);
}

static void refused(const bytes *report, const char *part) {
    imported in = import_bytes(report->at, report->length);
    assert_int_equal(in.code, RP_INPUT);
    if (!strstr(in.error.message, part))
        fail_msg("\"%s\" says nothing of \"%s\"", in.error.message, part);
    imported_free(&in);
}

static void test_refused(void **state) {
    (void)state;
    bytes result = make_result("k", 5000), report = start_report(8);
    put_block(&report, true, 2, &result);
    refused(&report, "--csv --page raw");
    report = start_report(7);
    put_block(&report, true, 7, &result);
    refused(&report, "1 result of ranges");
    report = start_report(7);
    refused(&report, "without a launch");
    report.length = 5;
    refused(&report, "heading");
    report = start_report(7);
    result = make_result("k", 0);
    put_block(&report, true, 2, &result);
    refused(&report, "zero");
}

/* Ranges beside kernels are counted and left out. */
static void test_ranges_beside(void **state) {
    (void)state;
    bytes report = two_launches(), range = {0};
    put_integer(&range, 1, 1);
    put_block(&report, false, 7, &range);
    imported in = import_bytes(report.at, report.length);
    near(ask(&in, "SELECT count(*) FROM launches"), 2);
    assert_true(has_note(&in, "1 result of ranges"));
    imported_free(&in);
}

/* A report that ends early gives the launches before its end, and says so. */
static void test_cut(void **state) {
    (void)state;
    bytes report = two_launches();
    double before = 0;
    for (size_t n = 1; n < report.length; n += n < 64 ? 1 : 61) {
        imported in = import_bytes(report.at, n);
        if (in.code == RP_OK) {
            double launches = ask(&in, "SELECT count(*) FROM launches");
            assert_true(launches >= before && launches >= 1 && launches <= 2);
            before = launches;
        } else {
            assert_int_equal(in.code, RP_INPUT);
            assert_true(before == 0);
        }
        imported_free(&in);
    }
    assert_true(before == 1);
    imported in = import_bytes(report.at, report.length - 1);
    assert_true(has_note(&in, "cut off"));
    imported_free(&in);
}

/* Any bytes in any place: refused or read, never a crash (the sanitizers watch). */
static void test_damaged(void **state) {
    (void)state;
    bytes report = two_launches();
    unsigned seed = 99;
    for (int i = 0; i < 150; i++) {
        bytes damaged = report;
        for (int k = 0; k < 4; k++) {
            seed = seed * 1103515245u + 12345u;
            size_t at = 4 + (seed >> 8) % (report.length - 4);
            seed = seed * 1103515245u + 12345u;
            damaged.at[at] = (unsigned char)(seed >> 16);
        }
        imported in = import_bytes(damaged.at, damaged.length);
        assert_true(in.code == RP_OK || in.code == RP_INPUT);
        imported_free(&in);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_launches),  cmocka_unit_test(test_clocks_that_were_held),
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_given_twice),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ranges_beside), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
