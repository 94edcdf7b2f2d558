/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels carried over to another device.
 */
#include "fixture.h"

#include <math.h>

static fixture f;

static int setup(void **state) {
    (void)state;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static rp_projection project(const char *name, const char *device) {
    rp_error error = {0};
    rp_projection p;
    const rp_device *to;
    assert_int_equal(rp_hwdb_find(f.hwdb, device, &to, NULL, &error), RP_OK);
    fixture_analyse(&f);
    rp_project(&f.report, fixture_find(&f, name), f.hwdb, to, &p);
    return p;
}

static void memory_bound_follows_bandwidth(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&f, "k", 1, 1e-3), RP_Q_DRAM_BYTES, 0.8e-3 * 1555.2e9);
    rp_projection p = project("k", "H100-SXM5-80GB");
    assert_near(p.low_s, 0.8e-3 * 1555.2 / 3352, 0.01e-3);
    assert_near(p.likely_s, p.low_s / 0.8, 0.01e-3);
    assert_false(p.scaled_by_clock);
}

static void same_device_same_time(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.7e-3 * 1555.2e9);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 0.2e-3 * 108 * 1.41e9 * 128);
    rp_projection p = project("k", "A100-SXM4-40GB");
    assert_near(p.likely_s, 1e-3, 1e-8);
    assert_near(p.low_s, 0.7e-3, 0.002e-3);
    assert_false(p.changes_side);
}

/* Intensity between the FP64 ridges of a GeForce and of an A100. */
static void side_changes(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e9);
    fixture_set(g, RP_Q_FLOPS_FP64_VECTOR, 3e9);
    rp_projection p = project("k", "RTX 4090");
    assert_int_equal(fixture_find(&f, "k")->side, RP_SIDE_MEMORY);
    assert_int_equal(p.side, RP_SIDE_COMPUTE);
    assert_true(p.changes_side);
}

static void latency_by_clock_and_sms(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "wide", 1, 1e-3);
    fixture_all_counted(g);
    g = fixture_kernel(&f, "small", 1, 1e-3);
    fixture_all_counted(g);
    fixture_set(g, RP_Q_WAVES, 0.2);
    rp_projection p = project("wide", "H100-SXM5-80GB");
    assert_true(p.scaled_by_clock);
    assert_near(p.likely_s, 1e-3 * 1.41 / 1.98 * 108 / 132, 0.002e-3);
    p = project("small", "H100-SXM5-80GB");
    assert_near(p.likely_s, 1e-3 * 1.41 / 1.98, 0.002e-3);
}

static void precision_that_is_not_there(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP8_TENSOR, 1e12);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    rp_projection p = project("k", "V100");
    assert_unknown(p.low_s);
    assert_unknown(p.likely_s);
}

/* What is no roof here is none there: neither an upper bound nor the exporter's percentage. A time
 * that only such a percentage explains cannot be carried over. */
static void upper_bounds_and_percentages_are_no_roofs(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.8e-3 * 1555.2e9);
    fixture_set(g, RP_Q_OPS_INT32_VECTOR, 5e-3 * 108 * 1.41e9 * 64);
    fixture_set(g, RP_Q_FRACTION_DRAM, 0.85);
    rp_projection p = project("k", "A100-SXM4-40GB");
    assert_near(p.low_s, 0.8e-3, 0.002e-3);
    assert_near(p.likely_s, 0.8e-3 / 0.85, 0.002e-3);
    g = fixture_kernel(&f, "percentage", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.1e-3 * 1555.2e9);
    fixture_set(g, RP_Q_FRACTION_DRAM, 0.85);
    p = project("percentage", "A100-SXM4-40GB");
    assert_near(p.low_s, 0.1e-3, 0.001e-3);
    assert_unknown(p.likely_s);
}

/* Modelled times keep their overhead: the same factor above the roof. */
static void modelled_times_scale_with_the_roof(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.8e-3 * 1555.2e9);
    g->time_provenance = RP_MODELLED;
    rp_projection p = project("k", "H100-SXM5-80GB");
    assert_near(p.low_s, 0.8e-3 * 1555.2 / 3352, 0.002e-3);
    assert_near(p.likely_s, p.low_s / 0.8, 0.002e-3);
}

static void times_alone_project_to_nothing(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 1e-3);
    rp_projection p = project("k", "H100-SXM5-80GB");
    assert_unknown(p.low_s);
    assert_unknown(p.likely_s);
    assert_int_equal(p.side, RP_SIDE_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_bound_follows_bandwidth),
        TEST(same_device_same_time),
        TEST(side_changes),
        TEST(latency_by_clock_and_sms),
        TEST(precision_that_is_not_there),
        TEST(upper_bounds_and_percentages_are_no_roofs),
        TEST(modelled_times_scale_with_the_roof),
        TEST(times_alone_project_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
