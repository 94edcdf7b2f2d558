/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of one capture with the counts of another, and ranks side by side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include <sqlite3.h>

/* A capture of launches "k:grid:time_ns:bytes ..."; time 0 not known, bytes -1 not counted. */
typedef struct step {
    const char *kernel;
    uint32_t grid;
    int64_t time_ns;
    double bytes;
} step;

static rp_capture *make(const step *steps, size_t n, rp_cache_state cache) {
    rp_capture *capture = create(NULL);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.device = add_device(capture, 0);
    launch.cache = cache;
    launch.time_provenance = RP_MEASURED;
    for (size_t i = 0; i < n; i++) {
        launch.config = add_config(capture, steps[i].kernel, steps[i].grid);
        launch.start_ns = steps[i].time_ns ? 1000000 * (int64_t)(i + 1) : -1;
        launch.end_ns = steps[i].time_ns ? launch.start_ns + steps[i].time_ns : -1;
        int64_t id = add_launch(capture, &launch);
        if (steps[i].bytes < 0)
            continue;
        add_counter(capture, id, "dram__bytes.sum", steps[i].bytes);
        add_counter(capture, id, "gpu__time_duration.sum", 1e-3);
        add_counter(capture, id, "sm__cycles_elapsed.avg.per_second", 1e9);
    }
    finish(capture);
    return capture;
}

static rp_profile merge(rp_capture *times, rp_capture *counts, rp_group_by by) {
    rp_capture *into = create(NULL);
    rp_error error;
    ok(rp_capture_merge(times, counts, into, &error), &error);
    finish(into);
    rp_profile profile = load(into, NULL, by);
    rp_capture_close(into);
    rp_capture_close(times);
    rp_capture_close(counts);
    return profile;
}
#define MAKE(cache, ...)                                                                           \
    make((const step[]){__VA_ARGS__}, sizeof((const step[]){__VA_ARGS__}) / sizeof(step), cache)

static void test_times_and_counts(void **state) {
    (void)state;
    rp_profile p = merge(MAKE(RP_CACHE_UNKNOWN, {"void ns::a<int>(int)", 1, 2000, -1},
                              {"void ns::a<int>(int)", 2, 3000, -1}, {"b", 1, 5000, -1},
                              {"void ns::a<int>(int)", 1, 2200, -1}),
                         MAKE(RP_CACHE_COLD, {"a", 1, 9000, 10}, {"a", 2, 9000, 20},
                              {"b", 1, 9000, 30}, {"a", 1, 9000, 11}),
                         RP_BY_CONFIG);
    assert_int_equal(p.group_count, 3);
    const rp_group *a1 = &p.groups[0], *a2 = &p.groups[1], *b = &p.groups[2];
    assert_string_equal(a1->name, "void ns::a<int>(int)");
    NEAR(a1->time.sum, 4200e-9);
    assert_true(a1->q[RP_Q_DRAM_BYTES].sum == 21 && a1->q[RP_Q_DRAM_BYTES].n == 2);
    assert_true(a2->q[RP_Q_DRAM_BYTES].sum == 20 && b->q[RP_Q_DRAM_BYTES].sum == 30);
    assert_int_equal(a1->provenance[RP_Q_DRAM_BYTES], RP_COUNTED);
    assert_int_equal(a1->time_provenance, RP_MEASURED);
    assert_int_equal(a1->cache, RP_CACHE_COLD);
    assert_int_equal(a1->q[RP_Q_SM_CLOCK].n, 0); /* the clock was that of the other run */
    assert_true(isnan(p.devices[0].observed_sm_clock_hz));
    assert_true(has_note(&p, "2.95 times as long"));
    assert_false(has_note(&p, "counterpart"));
    rp_profile_free(&p);
}

/* Only some launches were counted, and not the first. */
static void test_sampled_counts(void **state) {
    (void)state;
    rp_profile p =
        merge(MAKE(RP_CACHE_UNKNOWN, {"a", 1, 1000, -1}, {"a", 1, 2000, -1}, {"a", 1, 3000, -1}),
              MAKE(RP_CACHE_NATURAL, {"a", 1, 1000, -1}, {"a", 1, 2000, 7}, {"a", 1, 3000, -1}),
              RP_BY_KERNEL);
    assert_int_equal(p.groups[0].launches, 3);
    assert_int_equal(p.groups[0].q[RP_Q_DRAM_BYTES].n, 1);
    assert_true(p.groups[0].q[RP_Q_DRAM_BYTES].sum == 7);
    assert_int_equal(p.groups[0].cache, RP_CACHE_NATURAL);
    assert_false(has_note(&p, "times as long"));
    assert_true(has_note(&p, "2 of 3 launches with times have no counted counterpart"));
    rp_profile_free(&p);
}

static void test_disagreement(void **state) {
    (void)state;
    rp_profile p = merge(
        MAKE(RP_CACHE_UNKNOWN, {"a", 1, 1000, -1}, {"b", 1, 1000, -1}),
        MAKE(RP_CACHE_COLD, {"a", 1, 1000, 5}, {"a", 1, 1000, 6}, {"c", 3, 1000, 7}), RP_BY_KERNEL);
    assert_int_equal(p.group_count, 2);
    assert_true(p.groups[0].q[RP_Q_DRAM_BYTES].sum == 5);
    assert_int_equal(p.groups[1].q[RP_Q_DRAM_BYTES].n, 0);
    assert_true(has_note(&p, "2 of 3 counted launches have no counterpart"));
    assert_true(has_note(&p, "a with grid 1 x 1 x 1"));
    assert_true(has_note(&p, "1 of 2 launches with times have no counted counterpart"));
    rp_profile_free(&p);
}

/* A source without shapes is matched by name and order alone. */
static void test_without_shapes(void **state) {
    (void)state;
    rp_profile p = merge(MAKE(RP_CACHE_UNKNOWN, {"a", 1, 1000, -1}, {"a", 2, 1000, -1}),
                         MAKE(RP_CACHE_COLD, {"a", 0, 1000, 5}, {"a", 0, 1000, 6}), RP_BY_CONFIG);
    assert_int_equal(p.group_count, 2);
    assert_true(p.groups[0].q[RP_Q_DRAM_BYTES].sum == 5 && p.groups[1].q[RP_Q_DRAM_BYTES].sum == 6);
    rp_profile_free(&p);
}

static void expect_refusal(rp_capture *times, rp_capture *counts, const char *why) {
    rp_capture *into = create(NULL);
    rp_error error;
    assert_int_equal(rp_capture_merge(times, counts, into, &error), RP_INPUT);
    if (!strstr(error.message, why))
        fail_msg("%s", error.message);
    rp_capture_abandon(into);
    rp_capture_close(times);
    rp_capture_close(counts);
}

static void test_nothing_in_common(void **state) {
    (void)state;
    expect_refusal(MAKE(RP_CACHE_UNKNOWN, {"a", 1, 1000, -1}),
                   MAKE(RP_CACHE_COLD, {"b", 1, 1000, 5}), "not of the same program");
    expect_refusal(MAKE(RP_CACHE_COLD, {"a", 1, 1000, 5}),
                   MAKE(RP_CACHE_UNKNOWN, {"a", 1, 1000, -1}), "right order");
}

/* One rank's capture: a compute kernel, and a collective that fills up the time of the slowest. */
static rp_capture *make_rank(int64_t rank, const char *uuid, int64_t time_ns) {
    rp_capture *capture = create(NULL);
    rp_process_record process = {.pid = 100, .rank = rank, .name = "train"};
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_error error;
    device.name = "NVIDIA H100 80GB HBM3";
    device.ordinal = 0;
    device.uuid = uuid;
    ok(rp_capture_add_process(capture, &process, &launch.process, &error), &error);
    ok(rp_capture_add_device(capture, &device, &launch.device, &error), &error);
    ok(rp_capture_add_range(capture, -1, "step", 0, 10, &launch.range, &error), &error);
    launch.time_provenance = RP_MEASURED;
    launch.config = add_config(capture, "gemm", 1);
    launch.start_ns = 1000;
    launch.end_ns = 1000 + time_ns;
    add_counter(capture, add_launch(capture, &launch), "dram__bytes.sum", (double)time_ns);
    launch.config = add_config(capture, "ncclDevKernel_AllReduce", 1);
    launch.start_ns = launch.end_ns;
    launch.end_ns = 100000;
    add_launch(capture, &launch);
    launch.start_ns = launch.end_ns = 0; /* impossible */
    add_launch(capture, &launch);
    finish(capture);
    return capture;
}

static void test_ranks(void **state) {
    (void)state;
    for (int named = 0; named < 2; named++) {
        rp_capture *ranks[3] = {make_rank(0, named ? "GPU-0" : NULL, 1000),
                                make_rank(1, named ? "GPU-1" : NULL, 3000),
                                make_rank(2, named ? "GPU-0" : NULL, 2000)};
        rp_capture *into = create(NULL);
        rp_error error;
        ok(rp_capture_join(ranks, 3, into, &error), &error);
        finish(into);
        rp_profile p = load(into, NULL, RP_BY_KERNEL), r = load(into, NULL, RP_BY_RANGE);
        assert_int_equal(p.launches_total, 9);
        assert_int_equal(p.launches_invalid, 3);
        assert_int_equal(p.device_count, named ? 2 : 3);
        assert_int_equal(p.group_count, named ? 4 : 6);
        assert_string_equal(r.groups[0].range, "step");
        double bytes = 0;
        for (size_t i = 0; i < p.group_count; i++)
            if (p.groups[i].q[RP_Q_DRAM_BYTES].n)
                bytes += p.groups[i].q[RP_Q_DRAM_BYTES].sum;
        assert_true(bytes == 6000);
        assert_true(has_note(&p, "3 processes spend 1.00 µs (least) to 3.00 µs (most, rank 1)"));
        assert_true(has_note(&p, "50.0 % above the mean"));
        int invalid_notes = 0;
        for (size_t i = 0; i < p.note_count; i++)
            invalid_notes += strstr(p.notes[i].text, "impossible times") != NULL;
        assert_int_equal(invalid_notes, 1);
        rp_profile_free(&p);
        rp_profile_free(&r);
        rp_capture_close(into);
        for (int i = 0; i < 3; i++)
            rp_capture_close(ranks[i]);
    }
}

/* ---- A copy is whole ------------------------------------------------------------------------- */

/* Everything that a capture can hold, no two values alike and none of them absent. */
static rp_capture *make_everything(const char *path) {
    rp_capture *capture = create(path);
    rp_error error;
    rp_device_record device = {.name = "NVIDIA H100 80GB HBM3",
                               .chip = "GH100",
                               .uuid = "GPU-1234",
                               .pci_id = "10de:2330",
                               .ordinal = 3,
                               .cc_major = 9,
                               .cc_minor = 1,
                               .sm_count = 132,
                               .memory_bytes = 80000,
                               .l2_bytes = 50000,
                               .memory_bus_bits = 5120,
                               .sm_clock_hz = 1.98e9,
                               .memory_clock_hz = 2.6e9,
                               .emulated = true,
                               .driver = "580.95.05",
                               .power_limit_w = 650};
    rp_capture_ceiling compute = {.compute = true,
                                  .precision = "fp16",
                                  .path = "tensor",
                                  .rate = 9e14,
                                  .provenance = RP_CALIBRATED};
    rp_capture_ceiling dram = {.level = "dram", .rate = 3e12, .provenance = RP_MEASURED};
    rp_process_record process = {.pid = 17, .rank = 2, .name = "train", .host = "node7"};
    rp_config_record config = {.name = "void ns::gemm<float>(int)",
                               .name_length = strlen("void ns::gemm<float>(int)"),
                               .has_shape = true,
                               .grid = {2, 3, 4},
                               .block = {32, 5, 6},
                               .registers = 77,
                               .shared_static = 1000,
                               .shared_dynamic = 2000};
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    ok(rp_capture_add_device(capture, &device, &launch.device, &error), &error);
    ok(rp_capture_add_ceiling(capture, launch.device, &compute, &error), &error);
    ok(rp_capture_add_ceiling(capture, launch.device, &dram, &error), &error);
    ok(rp_capture_add_process(capture, &process, &launch.process, &error), &error);
    ok(rp_capture_add_range(capture, -1, "step", 100, 90000, &launch.range, &error), &error);
    ok(rp_capture_add_range(capture, launch.range, "forward", 200, 80000, &launch.range, &error),
       &error);
    ok(rp_capture_add_config(capture, &config, &launch.config, &error), &error);
    launch.context = 8;
    launch.stream = 9;
    launch.correlation = 10;
    launch.graph_node = 11;
    launch.time_provenance = RP_MODELLED;
    launch.cache = RP_CACHE_COLD;
    for (int i = 0; i < 3; i++) {
        launch.start_ns = 1000 + 1000 * i;
        launch.end_ns = launch.start_ns + 300 + i;
        int64_t id = add_launch(capture, &launch), bad;
        add_counter(capture, id, "dram__bytes.sum", 64 + i);
        add_quantity(capture, id, RP_Q_INST_FP32_FMA, 1e3 + i);
        add_counter(capture, id, "sm__cycles_elapsed.avg.per_second", 1e9 + i);
        ok(rp_capture_metric(capture, "own.metric", "byte", &bad, &error), &error);
        ok(rp_capture_add_counter(capture, id, bad, 5 + i, RP_ESTIMATED, &error), &error);
    }
    ok(rp_capture_add_copy(capture,
                           &(rp_copy_record){.device = launch.device,
                                             .process = launch.process,
                                             .stream = 12,
                                             .correlation = 13,
                                             .kind = "HtoD",
                                             .bytes = 4096,
                                             .start_ns = 5000,
                                             .end_ns = 5100,
                                             .time_provenance = RP_MODELLED},
                           &error),
       &error);
    ok(rp_capture_add_memory(capture,
                             &(rp_memory_record){.device = launch.device,
                                                 .process = launch.process,
                                                 .time_ns = 500,
                                                 .address = 0x7000,
                                                 .bytes = 777,
                                                 .kind = "device"},
                             &error),
       &error);
    ok(rp_capture_add_note(capture, "warning", &error, "mind the gap"), &error);
    ok(rp_capture_set_wall_time(capture, 1.5, &error), &error);
    finish(capture);
    return capture;
}

static sqlite3 *open_plain(const char *path) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return db;
}

/* All rows of TABLE as text, the caller's to free. */
static char *rows_of(sqlite3 *db, const char *table) {
    char *text = NULL, *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        for (int c = 0; c < sqlite3_column_count(row); c++) {
            const unsigned char *value = sqlite3_column_text(row, c);
            fprintf(out, "%s=%s ", sqlite3_column_name(row, c),
                    value ? (const char *)value : "NULL");
        }
        fputc('\n', out);
    }
    fclose(out);
    sqlite3_finalize(row);
    sqlite3_free(sql);
    return text;
}

/* Joining one capture copies it: every row of every table but what tells who made the file. */
static void test_a_copy_is_whole(void **state) {
    (void)state;
    rp_capture *from = make_everything("from.roof"), *into = create("into.roof");
    rp_error error;
    ok(rp_capture_join(&from, 1, into, &error), &error);
    finish(into);
    rp_profile p = load(into, NULL, RP_BY_KERNEL);
    assert_int_equal(p.copies[0].time_provenance, RP_MODELLED);
    assert_true(p.devices[0].emulated);
    rp_profile_free(&p);
    rp_capture_close(into);
    rp_capture_close(from);
    sqlite3 *a = open_plain("from.roof"), *b = open_plain("into.roof");
    sqlite3_stmt *table;
    int tables = 0;
    static const char *const filled[] = {"devices",   "processes", "configs",       "places",
                                         "launches",  "counters",  "copies",        "memory",
                                         "summaries", "notes",     "copy_summaries"};
    assert_int_equal(sqlite3_prepare_v2(a, "SELECT name FROM sqlite_schema WHERE type = 'table'",
                                        -1, &table, NULL),
                     SQLITE_OK);
    while (sqlite3_step(table) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(table, 0);
        char *before = rows_of(a, name), *after = rows_of(b, name);
        if (strcmp(name, "meta") != 0 && strcmp(before, after) != 0)
            fail_msg("%s: copied\n%sis\n%s", name, before, after);
        assert_true(*before); /* a table of nothing would show nothing */
        /* and what was given is in its column: only the outer range has nothing above it */
        if (strcmp(name, "ranges") == 0)
            assert_true(strstr(before, "parent=NULL") && !strstr(before, "ns=NULL"));
        for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
            if (strcmp(name, filled[i]) == 0 && strstr(before, "=NULL"))
                fail_msg("%s: %s", name, before);
        tables++;
        free(before);
        free(after);
    }
    assert_true(tables >= 17);
    sqlite3_finalize(table);
    sqlite3_close(a);
    sqlite3_close(b);
    unlink("from.roof");
    unlink("into.roof");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_and_counts),  cmocka_unit_test(test_sampled_counts),
        cmocka_unit_test(test_disagreement),      cmocka_unit_test(test_without_shapes),
        cmocka_unit_test(test_nothing_in_common), cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_a_copy_is_whole)};
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
