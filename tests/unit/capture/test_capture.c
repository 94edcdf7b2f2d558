/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes into a capture comes out of it: absent stays absent, zero stays zero, names keep their
 * bytes, times keep their bits, sums are those of the launches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include <sqlite3.h>

static void test_device(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    int64_t first, again, other;
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    device.name = "GPU \"x\"\n";
    device.cc_major = 9;
    device.cc_minor = 0;
    device.sm_clock_hz = 1.98e9;
    device.memory_bytes = 0;
    ok(rp_capture_add_device(capture, &device, &first, &error), &error);
    ok(rp_capture_add_device(capture, &device, &again, &error), &error);
    device.ordinal = 1;
    device.emulated = true;
    ok(rp_capture_add_device(capture, &device, &other, &error), &error);
    assert_int_equal(first, again);
    assert_int_not_equal(first, other);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.device_count, 2);
    const rp_profile_device *d = &profile.devices[0];
    assert_string_equal(d->name, "GPU \"x\"\n");
    assert_null(d->chip);
    assert_null(d->uuid);
    assert_true(d->cc_major == 9 && d->cc_minor == 0 && d->sm_count == -1 && d->memory_bytes == 0);
    assert_true(d->sm_clock_hz == 1.98e9 && isnan(d->memory_clock_hz) && isnan(d->busy_s) &&
                isnan(d->sum_s) && isnan(d->copy_s) && isnan(d->peak_allocated_bytes));
    assert_false(d->emulated);
    assert_true(profile.devices[1].emulated);
    assert_true(isnan(profile.wall_s));
    assert_int_equal(profile.group_count, 0);
    assert_string_equal(profile.tool, "test");
    assert_null(profile.source);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_ceilings(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    int64_t device = add_device(capture, 0);
    rp_capture_ceiling dram = {.level = "dram", .rate = 3e12, .provenance = RP_THEORETICAL};
    rp_capture_ceiling fp32 = {.compute = true,
                               .precision = "fp32",
                               .path = "vector",
                               .rate = 60e12,
                               .provenance = RP_IMPORTED};
    ok(rp_capture_add_ceiling(capture, device, &dram, &error), &error);
    ok(rp_capture_add_ceiling(capture, device, &fp32, &error), &error);
    dram.rate = 2e12;
    ok(rp_capture_add_ceiling(capture, device, &dram, &error), &error);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.devices[0].ceiling_count, 2);
    const rp_capture_ceiling *c = profile.devices[0].ceilings;
    assert_true(!c[0].compute && c[0].rate == 2e12 && c[0].provenance == RP_THEORETICAL);
    assert_string_equal(c[0].level, "dram");
    assert_true(c[1].compute && c[1].rate == 60e12 && c[1].provenance == RP_IMPORTED);
    assert_string_equal(c[1].precision, "fp32");
    assert_string_equal(c[1].path, "vector");
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* FLOPs of 0 were counted; DRAM bytes were not. */
static void test_absent_is_not_zero(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    int64_t launch = add_timed(capture, config, device, 1000, 3000);
    add_quantity(capture, launch, RP_Q_FLOPS_FP32_VECTOR, 0);
    add_quantity(capture, launch, RP_Q_L2_BYTES, NAN);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    const rp_group *group = &profile.groups[0];
    assert_int_equal(group->q[RP_Q_FLOPS_FP32_VECTOR].n, 1);
    assert_true(group->q[RP_Q_FLOPS_FP32_VECTOR].sum == 0);
    assert_int_equal(group->provenance[RP_Q_FLOPS_FP32_VECTOR], RP_EMULATED);
    assert_int_equal(group->q[RP_Q_L2_BYTES].n, 0);
    assert_true(isnan(group->q[RP_Q_DRAM_BYTES].sum));
    assert_int_equal(group->provenance[RP_Q_DRAM_BYTES], RP_ABSENT);
    assert_true(group->registers == -1 && group->shared_static == -1);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_times(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    launch.time_s = 1234.5e-9; /* half nanoseconds are kept */
    launch.time_provenance = RP_IMPORTED;
    add_launch(capture, &launch);
    launch.time_s = 1.0 / 3e6;
    add_launch(capture, &launch);
    launch.time_s = NAN; /* not known: no sum, and no mistake either */
    add_launch(capture, &launch);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    const rp_group *group = &profile.groups[0];
    assert_int_equal(group->launches, 3);
    assert_int_equal(group->time.n, 2);
    NEAR(group->time.max, 1234.5e-9);
    NEAR(group->time.min, 1.0 / 3e6);
    assert_int_equal(group->time_provenance, RP_IMPORTED);
    assert_int_equal(profile.launches_invalid, 0);
    assert_true(isnan(profile.devices[0].busy_s));
    NEAR(profile.devices[0].sum_s, 1234.5e-9 + 1.0 / 3e6);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* What a filtered load reads back from the rows is what the summaries were made of, to the bit. */
static void test_times_survive_the_file(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    for (int i = 1; i < 3000; i++) {
        launch.time_s = i % 3 ? i * 1e-9 : i / 7e9;
        add_launch(capture, &launch);
    }
    finish(capture);
    rp_filter filter = RP_FILTER_INIT;
    filter.kernel_glob = "k";
    rp_profile all = load(capture, NULL, RP_BY_KERNEL), read = load(capture, &filter, RP_BY_KERNEL);
    assert_memory_equal(&all.groups[0].time, &read.groups[0].time, sizeof(rp_stat));
    rp_profile_free(&all);
    rp_profile_free(&read);
    rp_capture_close(capture);
}

static void test_impossible_times(void **state) {
    (void)state;
    static const int64_t times[][2] = {{0, 0}, {5000, 4000}, {5000, 5000}, {-7, 100}};
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    for (size_t i = 0; i < 4; i++)
        add_timed(capture, config, device, times[i][0], times[i][1]);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    launch.time_s = -1e-6;
    add_launch(capture, &launch);
    launch.time_s = INFINITY;
    add_launch(capture, &launch);
    launch.time_s = 1e291;
    add_launch(capture, &launch);
    launch.time_s = 1e-309;
    add_launch(capture, &launch);
    add_timed(capture, config, device, 7000, 8000);
    rp_capture_count_invalid(capture, 3);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.launches_invalid, 11);
    assert_int_equal(profile.launches_total, 9);
    assert_int_equal(profile.groups[0].time.n, 1);
    assert_true(profile.devices[0].span_s == 1e-6);
    assert_true(has_note(&profile, "11 launches with impossible times"));
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* The first launch of a kernel in each process pays for loading, whatever the order of arrival. */
static void test_warm(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), a = add_process(capture, 1),
            b = add_process(capture, 2);
    int64_t small = add_config(capture, "k", 1), large = add_config(capture, "k", 2);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.device = device;
    static const struct {
        int process, large;
        int64_t start, time;
    } launches[] = {
        {0, 0, 5000, 10}, {0, 1, 1000, 500}, {0, 0, 9000, 12}, {1, 0, 100, 300}, {1, 0, 2000, 14}};
    for (size_t i = 0; i < 5; i++) {
        launch.process = launches[i].process ? b : a;
        launch.config = launches[i].large ? large : small;
        launch.start_ns = launches[i].start;
        launch.end_ns = launches[i].start + launches[i].time;
        add_launch(capture, &launch);
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.group_count, 1);
    assert_int_equal(profile.groups[0].time.n, 5);
    assert_int_equal(profile.groups[0].time_warm.n, 3);
    assert_true(profile.groups[0].time_warm.max == 14e-9 &&
                profile.groups[0].time_warm.min == 10e-9);
    assert_false(profile.groups[0].has_shape);
    rp_profile_free(&profile);
    profile = load(capture, NULL, RP_BY_CONFIG);
    assert_int_equal(profile.group_count, 2);
    assert_true(profile.groups[1].has_shape && profile.groups[1].grid[0] == 2);
    assert_int_equal(profile.groups[1].time_warm.n, 0);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_names(void **state) {
    (void)state;
    static const char *const names[] = {"`reboot`",
                                        "$(reboot)",
                                        "a\"b'c",
                                        "{/Symbol a}",
                                        "x\ny",
                                        "\xFF\xFE",
                                        "_Z5saxpyIfEviT_PS0_S1_",
                                        "nccl_kernel",
                                        "'; DROP TABLE launches; --",
                                        "%n%s%d"};
    enum { N = sizeof names / sizeof *names, LONG = 100000 };
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0);
    for (int i = 0; i < N; i++)
        add_timed(capture, add_config(capture, names[i], 1), device, 1000 * i + 1, 1000 * i + 500);
    char *name = malloc(LONG + 1);
    memset(name, 'n', LONG);
    name[LONG] = '\0';
    add_timed(capture, add_config(capture, name, 1), device, 1, 2);
    rp_config_record nul = {.name = "a\0b", .name_length = 3};
    int64_t config;
    ok(rp_capture_add_config(capture, &nul, &config, NULL), NULL);
    add_timed(capture, config, device, 1, 2);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.group_count, N + 2);
    for (int i = 0; i < N; i++)
        if (i != 6)
            assert_string_equal(profile.groups[i].name, names[i]);
    assert_string_equal(profile.groups[4].short_name, "x\\ny");
    assert_string_equal(profile.groups[5].short_name, "\\xff\\xfe");
    assert_string_equal(profile.groups[6].name, "void saxpy<float>(int, float, float*, float*)");
    assert_string_equal(profile.groups[6].short_name, "saxpy");
    assert_true(profile.groups[7].collective && !profile.groups[6].collective);
    assert_string_equal(profile.groups[N].name, name);
    assert_true(strlen(profile.groups[N].short_name) < 200);
    assert_string_equal(profile.groups[N + 1].name, "a\\0b");
    rp_profile_free(&profile);
    rp_capture_close(capture);
    free(name);
}

static void test_same_short_name(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0);
    add_timed(capture, add_config(capture, "void ew<ns::Add>(int)", 1), device, 1, 2);
    add_timed(capture, add_config(capture, "other(int)", 1), device, 1, 2);
    add_timed(capture, add_config(capture, "void ew<ns::Mul>(int)", 1), device, 1, 2);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    find_group(&profile, "ew<Add>");
    find_group(&profile, "ew<Mul>");
    find_group(&profile, "other");
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* Time only from counters (Nsight Compute): it reaches rows, summaries and the device. */
static void test_counted_time(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    launch.cache = RP_CACHE_COLD;
    for (int i = 0; i < 3; i++) {
        int64_t id = add_launch(capture, &launch);
        add_counter(capture, id, "gpu__time_duration.sum", (20 + i) * 1e-6);
        add_counter(capture, id, "sm__cycles_elapsed.avg.per_second", 1e9 + i);
        add_counter(capture, id, "dram__bytes.sum", 100);
        add_counter(capture, id, "dram__bytes.sum.peak_sustained", 1536);
        add_counter(capture, id, "dram__cycles_elapsed.avg.per_second", 2e9);
    }
    finish(capture);
    rp_filter filter = RP_FILTER_INIT;
    filter.first = 1;
    for (int filtered = 0; filtered < 2; filtered++) {
        rp_profile profile = load(capture, filtered ? &filter : NULL, RP_BY_KERNEL);
        const rp_group *group = &profile.groups[0];
        assert_int_equal(group->time.n, 3 - filtered);
        assert_int_equal(group->time_warm.n, 2);
        assert_int_equal(group->cache, RP_CACHE_COLD);
        assert_int_equal(group->time_provenance, RP_COUNTED);
        NEAR(group->time_warm.sum, 43e-6);
        NEAR(profile.devices[0].sum_s, filtered ? 43e-6 : 63e-6);
        assert_true(profile.devices[0].observed_sm_clock_hz == 1e9 + 1);
        assert_true(group->q[RP_Q_DRAM_BYTES].sum == 100 * (3 - filtered));
        assert_int_equal(profile.devices[0].ceiling_count, 1);
        assert_true(profile.devices[0].ceilings[0].rate == 1536 * 2e9);
        rp_profile_free(&profile);
    }
    rp_capture_close(capture);
}

/* No launch moves bytes backwards, takes a day, or does 1e30 of anything. */
static void test_impossible_counts(void **state) {
    (void)state;
    static const struct {
        rp_quantity quantity;
        double value;
        bool possible;
    } values[] = {{RP_Q_DRAM_BYTES, -100, false},  {RP_Q_DRAM_BYTES, 0, true},
                  {RP_Q_DRAM_BYTES, 1e308, false}, {RP_Q_INST_FP32_FMA, 1e25, true},
                  {RP_Q_FRACTION_SM, -0.5, false}, {RP_Q_FRACTION_SM, 1.2, true},
                  {RP_Q_TIME, 1e300, false},       {RP_Q_TIME, 1e-300, false},
                  {RP_Q_TIME, -1, false},          {RP_Q_TIME, 3600, true},
                  {RP_Q_SM_CLOCK, -1e9, false},    {RP_Q_L2_BYTES, 1e200, false}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        rp_capture *capture = create(NULL);
        int64_t device = add_device(capture, 0);
        rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
        launch.device = device;
        launch.config = add_config(capture, "k", 1);
        add_quantity(capture, add_launch(capture, &launch), values[i].quantity, values[i].value);
        finish(capture);
        rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
        const rp_stat *stat = &profile.groups[0].q[values[i].quantity];
        assert_int_equal(stat->n, values[i].possible);
        if (values[i].possible)
            assert_true(stat->sum == values[i].value);
        bool said = false;
        for (size_t n = 0; n < profile.note_count; n++)
            said = said || strstr(profile.notes[n].text, "count as not known: 1, such as");
        assert_int_equal(said, !values[i].possible);
        rp_profile_free(&profile);
        rp_capture_close(capture);
    }
}

/* Noise is how launches of one shape differ; each kernel's first launch is left out. */
static void test_noise(void **state) {
    (void)state;
    static const struct {
        uint32_t grid;
        int64_t time_ns;
    } launches[] = {{1, 90000}, {1, 1000}, {2, 50000}, {1, 1200}, {2, 50600}, {3, 777}};
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0);
    for (int i = 0; i < 6; i++)
        add_timed(capture, add_config(capture, "k", launches[i].grid), device, i * 100000,
                  i * 100000 + launches[i].time_ns);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    const rp_group *group = &profile.groups[0];
    assert_int_equal(group->configs, 3);
    assert_int_equal(group->noise_launches, 4);
    assert_int_equal(group->noise_degrees, 2);
    assert_true(fabs(group->noise / (2 * (20000e-18 + 180000e-18)) - 1) < 1e-6);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

/* What is averaged is so over time, in one config, over configs, and filtered: the long launches
 * are what a kernel's percentage of a peak is about. Without times, the plain mean. */
static void test_averages(void **state) {
    (void)state;
    for (int configs = 1; configs <= 2; configs++)
        for (int timed = 0; timed < 2; timed++) {
            rp_capture *capture = create(NULL);
            int64_t device = add_device(capture, 0);
            rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
            launch.device = device;
            for (int i = 0; i < 10; i++) {
                launch.config = add_config(capture, "k", i == 9 ? (uint32_t)configs : 1);
                int64_t id = add_launch(capture, &launch);
                if (timed)
                    add_counter(capture, id, "gpu__time_duration.sum", i == 9 ? 991e-6 : 1e-6);
                add_quantity(capture, id, RP_Q_FRACTION_DRAM, i == 9 ? 0.9 : 0.1);
                add_quantity(capture, id, RP_Q_DRAM_BYTES, i == 9 ? 900 : 1);
            }
            finish(capture);
            rp_filter filter = RP_FILTER_INIT;
            filter.first = 0;
            for (int filtered = 0; filtered < 2; filtered++) {
                rp_profile profile = load(capture, filtered ? &filter : NULL, RP_BY_KERNEL);
                const rp_group *group = &profile.groups[0];
                assert_int_equal(group->q[RP_Q_FRACTION_DRAM].n, 10);
                NEAR(rp_stat_mean(&group->q[RP_Q_FRACTION_DRAM]), timed ? 0.8928 : 0.18);
                NEAR(group->q[RP_Q_DRAM_BYTES].sum, 909);
                rp_profile_free(&profile);
            }
            rp_capture_close(capture);
        }
}

/* The clock of launches under 12 us reads low: long ones decide where there are any. */
static void test_observed_clock(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    static const double clocks[][2] = {
        {5e-6, 0.7e9}, {5e-6, 0.8e9}, {5e-6, 0.9e9}, {20e-6, 1.5e9}, {30e-6, 1.7e9}};
    for (int i = 0; i < 5; i++) {
        int64_t id = add_timed(capture, config, device, 1000, 1000 + (int64_t)(clocks[i][0] * 1e9));
        add_quantity(capture, id, RP_Q_SM_CLOCK, clocks[i][1]);
    }
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    NEAR(profile.devices[0].observed_sm_clock_hz, 1.6e9);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_counters_out_of_order(void **state) {
    (void)state;
    enum { N = 50000 };
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    for (int i = 0; i < N; i++)
        add_launch(capture, &launch);
    for (int i = 0; i < N;
         i++) { /* every launch once, in a scattered order, over several buffers */
        int64_t id = (int64_t)i * 7919 % N;
        add_quantity(capture, id, RP_Q_DRAM_WRITE, 1);
        add_quantity(capture, id, RP_Q_DRAM_READ, (double)id);
    }
    add_quantity(capture, 3, RP_Q_DRAM_READ, 1e9); /* again: the first stays */
    add_quantity(capture, 4, RP_Q_L2_BYTES, 5);
    add_quantity(capture, 4, RP_Q_L2_BYTES, 6);
    add_quantity(capture, 5, RP_Q_L2_BYTES, INFINITY);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    const rp_group *group = &profile.groups[0];
    assert_int_equal(group->q[RP_Q_DRAM_READ].n, N);
    assert_true(group->q[RP_Q_DRAM_READ].sum == (double)N * (N - 1) / 2);
    assert_true(group->q[RP_Q_DRAM_BYTES].sum == (double)N * (N - 1) / 2 + N);
    assert_true(group->q[RP_Q_L2_BYTES].n == 1 && group->q[RP_Q_L2_BYTES].sum == 5);
    assert_true(has_note(&profile, "2 values were given again"));
    assert_true(has_note(&profile, "1 infinite value was left out"));
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_copies_and_memory(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    int64_t device = add_device(capture, 0), other = add_device(capture, 1);
    static const rp_copy_record copies[] = {{0, -1, 7, -1, "HtoD", 1000, 100, 300, RP_MEASURED},
                                            {0, -1, 8, -1, "HtoD", 500, 200, 400, RP_MEASURED},
                                            {0, -1, 7, -1, "DtoH", 10, -1, -1, RP_ABSENT},
                                            {1, -1, 7, -1, "memset", NAN, 100, 150, RP_MEASURED},
                                            {1, -1, 7, -1, "DtoD", 8, 200, 300, RP_MEASURED},
                                            {1, -1, 7, -1, "DtoD", 8, 400, 400, RP_MEASURED},
                                            {1, -1, 7, -1, "PtoP", 8, 500, 600, RP_MEASURED},
                                            {1, -1, 7, -1, "PtoP", 8, 0, 0, RP_ABSENT}};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        ok(rp_capture_add_copy(capture, &copies[i], &error), &error);
    static const rp_memory_record memory[] = {
        {0, -1, 300, 3, -50, "device"}, /* out of order */
        {0, -1, 100, 1, 100, "device"}, {0, -1, 200, 2, 50, "pool"},
        {0, -1, 250, 9, 900, "pinned"}, {0, -1, 400, 4, 20, "managed"},
        {1, -1, 100, 1, -30, "device"}, {1, -1, 200, 1, 10, "device"}};
    for (size_t i = 0; i < 7; i++)
        ok(rp_capture_add_memory(capture, &memory[i], &error), &error);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.copy_count, 5);
    assert_string_equal(profile.copies[0].kind, "HtoD");
    assert_true(profile.copies[0].count == 2 && profile.copies[0].bytes == 1500);
    NEAR(profile.copies[0].time_s, 400e-9);
    assert_true(profile.copies[1].bytes == 10 && isnan(profile.copies[1].time_s));
    assert_true(isnan(profile.copies[2].bytes) && profile.copies[2].device == (size_t)other);
    NEAR(profile.copies[3].time_s, 100e-9); /* one of them was rounded down to nothing */
    /* the time of one for the bytes of both would be a rate that neither had */
    assert_true(profile.copies[4].bytes == 16 && isnan(profile.copies[4].time_s));
    assert_int_equal(profile.note_count, 1);
    assert_true(has_note(&profile, "1 of 2 copies PtoP have no time"));
    assert_true(has_note(&profile, "(the others: 100 ns)"));
    NEAR(profile.devices[device].copy_s, 300e-9);
    assert_true(profile.devices[device].peak_allocated_bytes == 150);
    assert_true(profile.devices[other].peak_allocated_bytes == 30); /* was there from the start */
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_streams_overlap(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    add_timed(capture, config, device, 1000, 3000);
    add_timed(capture, config, device, 2000, 4000);
    add_timed(capture, config, device, 9000, 10000);
    add_timed(capture, config, device, 100, 200); /* arrives late */
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    NEAR(profile.devices[0].sum_s, 5100e-9);
    NEAR(profile.devices[0].busy_s, 4100e-9);
    NEAR(profile.devices[0].span_s, 9900e-9);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_notes(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    ok(rp_capture_add_note(capture, "warning", &error, "%d%% of \"%s\"", 5, "x\xFF"), &error);
    ok(rp_capture_add_note(capture, "warning", &error, "5%% of \"x\xFF\""), &error);
    ok(rp_capture_set_source(capture, "a.csv, b.csv", &error), &error);
    ok(rp_capture_set_wall_time(capture, 1.0 / 3, &error), &error);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_int_equal(profile.note_count, 1);
    assert_string_equal(profile.notes[0].severity, "warning");
    assert_string_equal(profile.notes[0].text, "5% of \"x\xFF\"");
    assert_string_equal(profile.source, "a.csv, b.csv");
    assert_true(profile.wall_s == 1.0 / 3);
    rp_profile_free(&profile);
    rp_capture_close(capture);
}

static void test_wrong_ids(void **state) {
    (void)state;
    rp_capture *capture = create(NULL);
    rp_error error;
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1), id;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config + 1;
    launch.device = device;
    assert_int_equal(rp_capture_add_launch(capture, &launch, &id, &error), RP_INTERNAL);
    launch.config = config;
    launch.device = -1;
    assert_int_equal(rp_capture_add_launch(capture, &launch, &id, &error), RP_INTERNAL);
    assert_int_equal(rp_capture_add_counter(capture, 0, 0, 1, RP_COUNTED, &error), RP_INTERNAL);
    rp_capture_abandon(capture);
}

/* The views that the manual documents give rows. */
static void test_views(void **state) {
    (void)state;
    rp_capture *capture = create("views.roof");
    int64_t device = add_device(capture, 0), config = add_config(capture, "k", 1);
    int64_t launch = add_timed(capture, config, device, 1000, 3000);
    add_counter(capture, launch, "dram__bytes.sum", 77);
    finish(capture);
    rp_capture_close(capture);
    static const char *const queries[] = {
        "SELECT 1 FROM launch_list WHERE kernel = 'k' AND time_ns = 2000 AND grid_x = 1",
        "SELECT 1 FROM counter_values WHERE metric = 'dram__bytes.sum' AND provenance = 'counted'",
        "SELECT 1 FROM kernel_list WHERE kernel = 'k' AND launches = 1 AND time_s = 2e-6",
        "SELECT 1 FROM quantities WHERE dram_bytes = 77 AND l2_bytes IS NULL",
        "SELECT 1 FROM pragma_user_version WHERE user_version = 1",
        "SELECT 1 FROM pragma_integrity_check WHERE integrity_check = 'ok'"};
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2("views.roof", &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(db, queries[i], -1, &statement, NULL), SQLITE_OK);
        if (sqlite3_step(statement) != SQLITE_ROW)
            fail_msg("no row: %s", queries[i]);
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
    unlink("views.roof");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device),
                                       cmocka_unit_test(test_ceilings),
                                       cmocka_unit_test(test_absent_is_not_zero),
                                       cmocka_unit_test(test_times),
                                       cmocka_unit_test(test_times_survive_the_file),
                                       cmocka_unit_test(test_impossible_times),
                                       cmocka_unit_test(test_warm),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_same_short_name),
                                       cmocka_unit_test(test_counted_time),
                                       cmocka_unit_test(test_averages),
                                       cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_impossible_counts),
                                       cmocka_unit_test(test_observed_clock),
                                       cmocka_unit_test(test_counters_out_of_order),
                                       cmocka_unit_test(test_copies_and_memory),
                                       cmocka_unit_test(test_streams_overlap),
                                       cmocka_unit_test(test_notes),
                                       cmocka_unit_test(test_wrong_ids),
                                       cmocka_unit_test(test_views)};
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
