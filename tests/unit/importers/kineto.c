/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of Kineto traces: what is kept, what is refused, and what is said about it.
 */
#include "fixture.h"
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rp_importer *const kineto = &rp_importer_kineto;

static void close_to(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void check_small(const char *path) {
    rp_profile p;
    import_path(kineto, path, &p);
    assert_int_equal(p.launches_total, 6);
    assert_int_equal(p.launches_invalid, 4);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 2);
    close_to(k->time.sum, 22e-6);
    assert_int_equal(k->time_provenance, RP_IMPORTED);
    assert_true(k->has_shape);
    assert_int_equal(k->grid[1], 2);
    assert_int_equal(k->block[0], 128);
    assert_int_equal(k->registers, 32);
    close_to(rp_stat_mean(&k->q[RP_Q_OCCUPANCY_ACHIEVED]), 0.5);
    assert_int_equal(k->provenance[RP_Q_OCCUPANCY_ACHIEVED], RP_ESTIMATED);
    assert_true(isnan(total(k, RP_Q_DRAM_BYTES)));
    /* graphs keep kernels that run side by side; broken times go */
    assert_true(has_group(&p, "graph_a") && has_group(&p, "graph_b"));
    assert_true(has_group(&p, "after_overrun"));
    assert_false(has_group(&p, "zero") || has_group(&p, "negative") || has_group(&p, "two_days") ||
                 has_group(&p, "overrun") || has_group(&p, "not_a_kernel"));
    assert_true(has_note(&p, "warning", "4 of 10 kernels left out"));
    for (size_t i = 0; i < p.note_count; i++)
        assert_null(strstr(p.notes[i].text, "SECRET"));
    rp_profile_free(&p);
}

static void small_trace(void **state) {
    (void)state;
    assert_true(recognise_path(kineto, fixture("kineto_small.json")) >= 80);
    check_small(fixture("kineto_small.json"));
}

static void gzip_is_the_same(void **state) {
    (void)state;
    size_t length;
    char *bytes = read_file(fixture("kineto_small.json"), &length);
    char *path = make_gzip(bytes, length);
    assert_true(recognise_path(kineto, path) >= 80);
    check_small(path);
    drop_file(path);
    free(bytes);
}

static void devices_that_worked(void **state) {
    (void)state;
    rp_profile p;
    import_path(kineto, fixture("kineto_small.json"), &p);
    assert_int_equal(p.device_count, 2); /* the third of the machine did nothing */
    for (size_t i = 0; i < p.device_count; i++) {
        assert_string_equal(p.devices[i].name, "NVIDIA A100-SXM4-80GB");
        assert_int_equal(p.devices[i].cc_major, 8);
        assert_int_equal(p.devices[i].memory_bytes, INT64_C(85899345920));
    }
    /* -1 multiprocessors is what a profiler without CUPTI writes: not known */
    assert_int_equal(p.devices[0].sm_count + p.devices[1].sm_count, 107);
    rp_profile_free(&p);
}

static void copies_and_collectives(void **state) {
    (void)state;
    rp_profile p;
    import_path(kineto, fixture("kineto_small.json"), &p);
    bool in = false, set = false;
    for (size_t i = 0; i < p.copy_count; i++) {
        in |= !strcmp(p.copies[i].kind, "HtoD") && p.copies[i].bytes == 4096;
        set |= !strcmp(p.copies[i].kind, "memset") && p.copies[i].bytes == 512;
    }
    assert_true(in && set);
    const rp_group *nccl =
        find_group(&p, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    assert_true(nccl->collective);
    rp_profile_free(&p);
}

static void annotations_are_ranges(void **state) {
    (void)state;
    rp_profile p;
    import_by(kineto, fixture("kineto_small.json"), RP_BY_RANGE, &p);
    unsigned step = 0, forward = 0;
    for (size_t i = 0; i < p.group_count; i++) {
        if (strcmp(p.groups[i].name, hostile_name) != 0 || !p.groups[i].range)
            continue;
        forward += strstr(p.groups[i].range, "forward") != NULL;
        step += strstr(p.groups[i].range, "step") && !strstr(p.groups[i].range, "forward");
    }
    assert_true(forward > 0);
    assert_int_equal(step + forward, 2);
    rp_profile_free(&p);
}

/* Times are exact: the base stands behind the events and is added all the same, fractions of a
 * microsecond stay. */
static void times_to_the_nanosecond(void **state) {
    (void)state;
    char *path = make_file(".roof", "", 0);
    rp_capture *capture;
    rp_error error;
    assert_int_equal(rp_capture_create(&capture, path, "test", &error), RP_OK);
    assert_int_equal(kineto->import(fixture("kineto_small.json"), capture, &error), RP_OK);
    assert_int_equal(rp_capture_finish(capture, &error), RP_OK);
    rp_capture_close(capture);
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT min(start_ns), time_ns, correlation FROM launches",
                                        -1, &row, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(row, 0), INT64_C(1700000000001000125));
    close_to(sqlite3_column_double(row, 1), 10500);
    assert_int_equal(sqlite3_column_int64(row, 2), 1);
    sqlite3_finalize(row);
    sqlite3_close(db);
    drop_file(path);
}

static void nothing_to_analyse(void **state) {
    (void)state;
    refuse_path(kineto, fixture("kineto_cpu_only.json"), "nothing to analyse");
    refuse_path(kineto, fixture("kineto_profiler_range.json"), "cuda_profiler_range");
    static const char *const empty[] = {"{}", "[]", "{\"traceEvents\": []}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        char *path = make_file(".json", empty[i], strlen(empty[i]));
        refuse_path(kineto, path, "nothing to analyse");
        drop_file(path);
    }
    char *path = make_file(".json", "", 0);
    refuse_path(kineto, path, "no JSON");
    drop_file(path);
}

static void bare_array_of_an_amd_trace(void **state) {
    (void)state;
    rp_profile p;
    assert_true(recognise_path(kineto, fixture("kineto_amd.json")) >= 60);
    import_path(kineto, fixture("kineto_amd.json"), &p);
    assert_int_equal(p.launches_total, 1);
    assert_int_equal(p.device_count, 1);
    assert_null(p.devices[0].name);
    assert_true(has_note(&p, "warning", "whole microseconds"));
    assert_int_equal(p.copy_count, 1);
    assert_string_equal(p.copies[0].kind, "HtoD");
    rp_profile_free(&p);
}

/* A killed run: wherever the file ends, what is complete is imported, and that is said. */
static void cut_anywhere(void **state) {
    (void)state;
    size_t length;
    char *bytes = read_file(fixture("kineto_small.json"), &length);
    unsigned imported = 0;
    for (size_t n = 0; n < length - 3; n += 37) {
        char *path = make_file(".json", bytes, n);
        rp_code code = try_path(kineto, path);
        assert_true(code == RP_OK || code == RP_INPUT);
        imported += code == RP_OK;
        drop_file(path);
    }
    assert_true(imported > 50);
    char *tail = strstr(bytes, "\"graph_b\"");
    char *path = make_file(".json", bytes, (size_t)(tail - bytes));
    rp_profile p;
    import_path(kineto, path, &p);
    assert_int_equal(p.launches_total, 3);
    assert_true(has_note(&p, "warning", "ends in the middle"));
    rp_profile_free(&p);
    drop_file(path);
    free(bytes);
}

static void gzip_cut_short(void **state) {
    (void)state;
    size_t length, packed;
    char *bytes = read_file(fixture("kineto_small.json"), &length);
    char *whole = make_gzip(bytes, length), *gz = read_file(whole, &packed);
    char *path = make_file(".gz", gz, packed - 20);
    rp_profile p;
    import_path(kineto, path, &p);
    assert_true(has_note(&p, "warning", "ends in the middle"));
    rp_profile_free(&p);
    drop_file(path);
    gz[packed / 2] ^= 0x55; /* damage, not a cut */
    path = make_file(".gz", gz, packed);
    assert_int_equal(try_path(kineto, path), RP_INPUT);
    drop_file(path);
    drop_file(whole);
    free(gz);
    free(bytes);
}

static void wrong_in_the_middle(void **state) {
    (void)state;
    static const char bad[] = "{\"traceEvents\": [{\"ph\": \"X\" \"cat\": \"kernel\"}]}";
    char *path = make_file(".json", bad, sizeof bad - 1);
    refuse_path(kineto, path, "not valid JSON");
    drop_file(path);
    char deep[2000];
    memset(deep, '[', sizeof deep);
    path = make_file(".json", deep, sizeof deep);
    refuse_path(kineto, path, "deep");
    drop_file(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_trace),
        cmocka_unit_test(gzip_is_the_same),
        cmocka_unit_test(devices_that_worked),
        cmocka_unit_test(copies_and_collectives),
        cmocka_unit_test(annotations_are_ranges),
        cmocka_unit_test(times_to_the_nanosecond),
        cmocka_unit_test(nothing_to_analyse),
        cmocka_unit_test(bare_array_of_an_amd_trace),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(gzip_cut_short),
        cmocka_unit_test(wrong_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
