/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a capture: filters, groups, ranges, samples of launches weighed by config.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include <sqlite3.h>

/* Two devices, two processes, three kernels, nested ranges. */
typedef struct program {
    rp_capture *capture;
    int64_t devices[2], processes[2];
} program;

static const char *const kernels[] = {"void ns::gemm<float>(int)", "void ns::gemm<double>(int)",
                                      "softmax(int)"};

static program make_program(void) {
    program p = {.capture = create(NULL)};
    rp_error error;
    int64_t step, forward, eval;
    for (int i = 0; i < 2; i++) {
        p.devices[i] = add_device(p.capture, 4 + i);
        p.processes[i] = add_process(p.capture, 100 + i);
    }
    ok(rp_capture_add_range(p.capture, -1, "step", 0, 900, &step, &error), &error);
    ok(rp_capture_add_range(p.capture, step, "forward", 0, 500, &forward, &error), &error);
    ok(rp_capture_add_range(p.capture, -1, "eval", 900, 1000, &eval, &error), &error);
    const int64_t ranges[] = {step, forward, eval, -1};
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.time_provenance = RP_MEASURED;
    for (int i = 0; i < 24; i++) { /* process 0: device 4, process 1: device 5 */
        launch.config = add_config(p.capture, kernels[i % 3], 1 + (uint32_t)i / 12);
        launch.process = p.processes[i % 2];
        launch.device = p.devices[i % 2];
        launch.range = ranges[i / 2 % 4];
        launch.start_ns = 1000 * i + 10;
        launch.end_ns = launch.start_ns + 100 + i;
        int64_t id = add_launch(p.capture, &launch);
        add_quantity(p.capture, id, RP_Q_DRAM_BYTES, 1000 + i);
    }
    finish(p.capture);
    return p;
}

static uint64_t kept(const program *p, const rp_filter *filter) {
    rp_profile profile = load(p->capture, filter, RP_BY_KERNEL);
    uint64_t launches = 0, on_devices = 0;
    for (size_t i = 0; i < profile.group_count; i++)
        launches += profile.groups[i].launches;
    for (size_t i = 0; i < profile.device_count; i++)
        on_devices += profile.devices[i].launches;
    assert_int_equal(launches, profile.launches_kept);
    assert_int_equal(launches, on_devices);
    assert_int_equal(profile.launches_total, 24);
    assert_int_equal(profile.note_count, 0); /* nothing is wrong with it, so nothing is said */
    rp_profile_free(&profile);
    return launches;
}

static void test_filters(void **state) {
    (void)state;
    program p = make_program();
    rp_filter f = RP_FILTER_INIT;
    assert_int_equal(kept(&p, NULL), 24);
    assert_int_equal(kept(&p, &f), 24);
    f.kernel_glob = "gemm*"; /* the short name */
    assert_int_equal(kept(&p, &f), 16);
    f.kernel_glob = "*ns::gemm<float>*"; /* the full name */
    assert_int_equal(kept(&p, &f), 8);
    f.kernel_glob = "nothing";
    assert_int_equal(kept(&p, &f), 0);
    f = (rp_filter)RP_FILTER_INIT;
    f.kernel_regex = "^soft|double";
    assert_int_equal(kept(&p, &f), 16);
    f.device = 1;
    assert_int_equal(kept(&p, &f), 8);
    f = (rp_filter)RP_FILTER_INIT;
    f.device = 5; /* the profiler's number, not ours */
    assert_int_equal(kept(&p, &f), 0);
    rp_capture_close(p.capture);
}

static void test_window(void **state) {
    (void)state;
    program p = make_program();
    rp_filter f = RP_FILTER_INIT;
    f.first = 10; /* of 12 in each process */
    assert_int_equal(kept(&p, &f), 4);
    f.count = 1;
    assert_int_equal(kept(&p, &f), 2);
    f.first = -1;
    f.count = 3;
    assert_int_equal(kept(&p, &f), 6);
    f.first = 100;
    assert_int_equal(kept(&p, &f), 0);
    f.first = 2;
    f.count = INT64_MAX;
    assert_int_equal(kept(&p, &f), 20);
    rp_capture_close(p.capture);
}

static void test_range_filter(void **state) {
    (void)state;
    program p = make_program();
    rp_filter f = RP_FILTER_INIT;
    f.range_glob = "forward";
    assert_int_equal(kept(&p, &f), 6);
    f.range_glob = "step"; /* what is inside a range is in it */
    assert_int_equal(kept(&p, &f), 12);
    f.range_glob = "step/forw*";
    assert_int_equal(kept(&p, &f), 6);
    f.range_glob = "*";
    assert_int_equal(kept(&p, &f), 18);
    rp_capture_close(p.capture);
}

static void test_bad_regex(void **state) {
    (void)state;
    program p = make_program();
    rp_filter f = RP_FILTER_INIT;
    rp_profile profile;
    rp_error error;
    f.kernel_regex = "(";
    assert_int_equal(rp_capture_load(p.capture, &f, RP_BY_KERNEL, &profile, &error), RP_USAGE);
    assert_int_equal(profile.group_count, 0);
    rp_capture_close(p.capture);
}

/* The same sums from the summaries and from the launches. */
static void test_filter_that_passes_all(void **state) {
    (void)state;
    program p = make_program();
    rp_filter f = RP_FILTER_INIT;
    f.kernel_glob = "*";
    for (int by = RP_BY_KERNEL; by <= RP_BY_CONFIG; by++) {
        rp_profile a = load(p.capture, NULL, (rp_group_by)by);
        rp_profile b = load(p.capture, &f, (rp_group_by)by);
        assert_int_equal(a.group_count, b.group_count);
        for (size_t i = 0; i < a.group_count; i++) {
            const rp_group *x = &a.groups[i], *y = &b.groups[i];
            assert_string_equal(x->name, y->name);
            assert_memory_equal(&x->time, &y->time, sizeof x->time);
            assert_memory_equal(&x->time_warm, &y->time_warm, sizeof x->time);
            assert_memory_equal(&x->q[RP_Q_DRAM_BYTES], &y->q[RP_Q_DRAM_BYTES], sizeof x->time);
            assert_int_equal(x->provenance[RP_Q_DRAM_BYTES], y->provenance[RP_Q_DRAM_BYTES]);
            assert_int_equal(x->time_provenance, y->time_provenance);
        }
        for (size_t i = 0; i < a.device_count; i++) {
            assert_true(a.devices[i].busy_s == b.devices[i].busy_s);
            assert_true(a.devices[i].span_s == b.devices[i].span_s);
            assert_true(a.devices[i].sum_s == b.devices[i].sum_s);
        }
        rp_profile_free(&a);
        rp_profile_free(&b);
    }
    rp_capture_close(p.capture);
}

static void test_groups(void **state) {
    (void)state;
    program p = make_program();
    rp_profile by_kernel = load(p.capture, NULL, RP_BY_KERNEL);
    rp_profile by_config = load(p.capture, NULL, RP_BY_CONFIG);
    rp_profile by_range = load(p.capture, NULL, RP_BY_RANGE);
    assert_int_equal(by_kernel.group_count, 6); /* kernel x device */
    assert_int_equal(by_config.group_count, 12);
    assert_int_equal(by_range.group_count, 24); /* kernel x device x (three ranges and none) */
    uint64_t forward = 0, none = 0;
    for (size_t i = 0; i < by_range.group_count; i++) {
        const rp_group *group = &by_range.groups[i];
        if (!group->range)
            none += group->launches;
        else if (strcmp(group->range, "step/forward") == 0)
            forward += group->launches;
    }
    assert_int_equal(forward, 6);
    assert_int_equal(none, 6);
    assert_int_equal(by_range.launches_kept, 24);
    rp_profile_free(&by_kernel);
    rp_profile_free(&by_config);
    rp_profile_free(&by_range);
    rp_capture_close(p.capture);
}

/* Adds N launches of CONFIG of TIME ns each; the first COUNTED have BYTES of DRAM traffic. */
static void add_sampled(rp_capture *capture, int64_t config, int64_t device, int n, int counted,
                        int64_t time, double bytes) {
    for (int i = 0; i < n; i++) {
        int64_t id = add_timed(capture, config, device, 1000, 1000 + time);
        if (i < counted)
            add_quantity(capture, id, RP_Q_DRAM_BYTES, bytes);
    }
}

/* A config with many launches of which few were counted weighs by its launches. */
static void test_sampled_configs(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0);
    add_sampled(capture, add_config(capture, "k", 1), device, 1000, 3, 100, 10);
    add_sampled(capture, add_config(capture, "k", 2), device, 10, 3, 5000, 4000);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    const rp_group *group = &profile.groups[0];
    assert_int_equal(group->launches, 1010);
    assert_int_equal(group->q[RP_Q_DRAM_BYTES].n, 6);
    NEAR(rp_stat_mean(&group->q[RP_Q_DRAM_BYTES]) * 1010, 1000.0 * 10 + 10 * 4000);
    assert_true(group->q[RP_Q_DRAM_BYTES].min == 10 && group->q[RP_Q_DRAM_BYTES].max == 4000);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* A persistent kernel: one config, launches of different length whose traffic goes with time. */
static void test_sampled_lengths(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 132);
    double bytes = 0;
    for (int i = 0; i < 100; i++) {
        int64_t time = 1000 + 100 * i, id = add_timed(capture, config, device, 1000, 1000 + time);
        bytes += 3.0 * (double)time;
        if (i < 5) /* the shortest ones */
            add_quantity(capture, id, RP_Q_DRAM_BYTES, 3.0 * (double)time);
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    NEAR(rp_stat_mean(&profile.groups[0].q[RP_Q_DRAM_BYTES]) * 100, bytes);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* Times vary and counts do not: then they are the same in all launches, and nothing is corrected.
 */
static void test_sampled_noise(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 132);
    for (int i = 0; i < 50; i++) {
        int64_t id = add_timed(capture, config, device, 1000, 2000 + i);
        if (i < 5)
            add_quantity(capture, id, RP_Q_DRAM_BYTES, 64);
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_true(rp_stat_mean(&profile.groups[0].q[RP_Q_DRAM_BYTES]) == 64);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* The cache state is that of the launches that were counted. */
static void test_cache_states(void **state) {
    (void)state;
    static const struct {
        rp_cache_state counted[2];
        rp_cache_state expected;
    } cases[] = {{{RP_CACHE_COLD, RP_CACHE_COLD}, RP_CACHE_COLD},
                 {{RP_CACHE_COLD, RP_CACHE_WARM}, RP_CACHE_UNKNOWN}};
    for (size_t i = 0; i < 2; i++) {
        rp_capture *capture = create(NULL);
        rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
        launch.device = add_device(capture, 0);
        launch.config = add_config(capture, "k", 1);
        launch.cache = RP_CACHE_NATURAL;
        add_launch(capture, &launch);
        for (int k = 0; k < 2; k++) {
            launch.cache = cases[i].counted[k];
            add_quantity(capture, add_launch(capture, &launch), RP_Q_DRAM_BYTES, 1);
        }
        finish(capture);
        rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
        assert_int_equal(profile.groups[0].cache, cases[i].expected);
        assert_int_equal(has_note(&profile, "kernel was counted partly with cold"), i == 1);
        rp_profile_free(&profile);
        rp_capture_close(capture);
    }
}

/* Provenance of a group is that of its least trusted launch. */
static void test_provenance(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    int64_t device = add_device(capture, 0);
    static const rp_provenance provenances[] = {RP_COUNTED, RP_EMULATED, RP_COUNTED};
    for (int i = 0; i < 3; i++) {
        int64_t id = add_timed(capture, add_config(capture, "k", 1 + (uint32_t)i), device, 1, 100);
        ok(rp_capture_add_quantity(capture, id, RP_Q_L2_BYTES, 1, provenances[i], &error), &error);
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.groups[0].provenance[RP_Q_L2_BYTES], RP_EMULATED);
    assert_int_equal(profile.groups[0].provenance[RP_Q_TIME], RP_MEASURED);
    assert_true(profile.groups[0].q[RP_Q_TIME].n == 3);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static rp_capture *of_one_device(const char *path, const char *driver, double power_limit_w) {
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    rp_capture *capture = create(path);
    rp_error error;
    int64_t first, id;
    device.uuid = "GPU-7";
    device.driver = driver;
    device.power_limit_w = power_limit_w;
    ok(rp_capture_add_device(capture, &device, &first, &error), &error);
    device.driver = "another";
    device.power_limit_w = 1;
    ok(rp_capture_add_device(capture, &device, &id, &error), &error);
    assert_int_equal(id, first); /* the same device, and what was first said of it counts */
    finish(capture);
    return capture;
}

static void expect_state(rp_capture *capture, const char *driver, double power_limit_w) {
    rp_profile p = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(p.device_count, 1);
    if (driver)
        assert_string_equal(p.devices[0].driver, driver);
    else
        assert_null(p.devices[0].driver);
    if (isnan(power_limit_w))
        assert_true(isnan(p.devices[0].power_limit_w));
    else
        assert_true(p.devices[0].power_limit_w == power_limit_w);
    rp_profile_free(&p);
}

/* What a device ran under: kept, copied, absent where it was not known. */
static void test_device_state(void **state) {
    rp_error error;
    (void)state;
    rp_capture *known = of_one_device(NULL, "580.95.05", 650), *into = create(NULL);
    rp_capture *unknown = of_one_device(NULL, NULL, NAN), *zero = of_one_device(NULL, NULL, 0);
    expect_state(known, "580.95.05", 650);
    expect_state(unknown, NULL, NAN);
    expect_state(zero, NULL, NAN);
    ok(rp_capture_join(&known, 1, into, &error), &error);
    finish(into);
    expect_state(into, "580.95.05", 650);
    rp_capture_close(known);
    rp_capture_close(into);
    rp_capture_close(unknown);
    rp_capture_close(zero);
}

/* A capture of before these columns were added is read, and copied, as one that does not know. */
static void test_older_devices(void **state) {
    rp_error error;
    sqlite3 *db;
    rp_capture *old, *into = create(NULL);
    (void)state;
    rp_capture_close(of_one_device("old.roof", "580.95.05", 650));
    assert_int_equal(sqlite3_open("old.roof", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "ALTER TABLE devices DROP COLUMN driver;"
                                  "ALTER TABLE devices DROP COLUMN power_limit_w",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    ok(rp_capture_open(&old, "old.roof", &error), &error);
    expect_state(old, NULL, NAN);
    ok(rp_capture_join(&old, 1, into, &error), &error);
    finish(into);
    expect_state(into, NULL, NAN);
    rp_capture_close(old);
    rp_capture_close(into);
    unlink("old.roof");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_filters),
                                       cmocka_unit_test(test_window),
                                       cmocka_unit_test(test_range_filter),
                                       cmocka_unit_test(test_bad_regex),
                                       cmocka_unit_test(test_filter_that_passes_all),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_sampled_configs),
                                       cmocka_unit_test(test_sampled_lengths),
                                       cmocka_unit_test(test_sampled_noise),
                                       cmocka_unit_test(test_cache_states),
                                       cmocka_unit_test(test_provenance),
                                       cmocka_unit_test(test_device_state),
                                       cmocka_unit_test(test_older_devices)};
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
