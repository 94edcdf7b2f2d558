/* SPDX-License-Identifier: Apache-2.0
 *
 * The program as a whole: shares, order, utilisations, filters and joined files.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Streams that overlap: kernels' shares are of the union, so they may pass 1 together; the shares
 * by bound are of the sum and add up to 1. */
static void shares(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&f, "a", 1, 6e-3), RP_Q_DRAM_BYTES, 6e-3 * 1555.2e9 * 0.9);
    fixture_kernel(&f, "b", 2, 3e-3);
    f.profile.devices[0].busy_s = 8e-3;
    f.profile.devices[0].span_s = 10e-3;
    fixture_analyse(&f);
    assert_near(fixture_find(&f, "a")->time_share, 0.75, 1e-9);
    assert_near(fixture_find(&f, "b")->time_share, 0.75, 1e-9);
    assert_near(f.report.gpu_time_s, 8e-3, 1e-12);
    assert_near(f.report.gpu_sum_s, 12e-3, 1e-12);
    assert_near(f.report.time_share_by_bound[RP_BOUND_MEMORY], 0.5, 1e-9);
    assert_near(f.report.time_share_by_bound[RP_BOUND_UNKNOWN], 0.5, 1e-9);
    assert_near(f.report.devices[0].idle_s, 2e-3, 1e-12);
    assert_near(f.report.time_lost_by_bound[RP_BOUND_MEMORY], 0.6e-3, 0.01e-3);
}

/* Counted launches whose time is not their own: GPU time holds the mean of their kind for each, as
 * the kernel's total does, so that shares stay shares. */
static void launches_without_a_time(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "a", 4, 1e-3);
    g->time.n = 2;
    g->time.sum = 2e-3;
    f.profile.devices[0].busy_s = 2e-3;
    f.profile.devices[0].sum_s = 2e-3;
    f.profile.devices[0].span_s = 10e-3;
    fixture_analyse(&f);
    assert_near(f.report.gpu_time_s, 4e-3, 1e-12);
    assert_near(f.report.gpu_sum_s, 4e-3, 1e-12);
    assert_near(fixture_find(&f, "a")->time_share, 1, 1e-9);
    assert_near(f.report.devices[0].idle_s, 6e-3, 1e-12);
    f.profile.devices[0].span_s = 3e-3; /* launches before the first or after the last time */
    fixture_analyse(&f);
    assert_unknown(f.report.devices[0].idle_s);
}

/* Of an emulated device, some launches' times stand for all: they are modelled still, not judged.
 */
static void a_mean_of_modelled_times_is_modelled(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "a", 4, 1e-3);
    g->time.n = 2;
    g->time.sum = 2e-3;
    g->time_provenance = RP_MODELLED;
    fixture_set(g, RP_Q_DRAM_BYTES, 1e-3 * 1555.2e9 * 0.9);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "a");
    assert_true(k->modelled);
    assert_int_equal(k->time_provenance, RP_MODELLED);
    assert_unknown(k->roof_fraction);
    assert_unknown(k->time_lost_s);
}

/* Time lost to a bound: of those that know theirs; not known where none does; 0 where there is no
 * kernel of that bound. */
static void time_lost_is_not_zero_where_it_is_not_known(void **state) {
    (void)state;
    fixture_kernel(&f, "times alone", 1, 1e-3);
    fixture_analyse(&f);
    assert_unknown(f.report.time_lost_by_bound[RP_BOUND_UNKNOWN]);
    assert_true(f.report.time_lost_by_bound[RP_BOUND_MEMORY] == 0);
    fixture_set(fixture_kernel(&f, "some", 1, 1e-3), RP_Q_DRAM_BYTES, 0.25e-3 * 1555.2e9);
    fixture_analyse(&f);
    assert_near(f.report.time_lost_by_bound[RP_BOUND_UNKNOWN], 0.75e-3, 1e-6);
}

/* Copies are known as the launches beside them are, and carried into the report as they come. */
static void copies(void **state) {
    (void)state;
    rp_copy_total totals[2] = {
        {.kind = "HtoD", .count = 3, .bytes = 6e9, .time_s = 0.5, .time_provenance = RP_MODELLED},
        {.kind = "memset", .count = 1, .bytes = 5, .time_s = NAN}};
    fixture_kernel(&f, "k", 1, 1e-3);
    f.profile.copies = totals;
    f.profile.copy_count = 2;
    fixture_analyse(&f);
    f.profile.copies = NULL; /* not the profile's to free */
    f.profile.copy_count = 0;
    assert_int_equal(f.report.copy_count, 2);
    const rp_report_copy *copy = f.report.copies;
    assert_string_equal(copy[0].kind, "HtoD");
    assert_int_equal(copy[0].count, 3);
    assert_near(copy[0].bytes_per_s, 12e9, 1);
    assert_int_equal(copy[0].time_provenance, RP_MODELLED);
    assert_unknown(copy[1].bytes_per_s);
    assert_int_equal(copy[1].time_provenance, RP_ABSENT);
}

static void worst_loss_first(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&f, "efficient", 1, 9e-3), RP_Q_DRAM_BYTES, 9e-3 * 1555e9 * 0.95);
    fixture_set(fixture_kernel(&f, "wasteful", 1, 5e-3), RP_Q_DRAM_BYTES, 5e-3 * 1555e9 * 0.1);
    fixture_kernel(&f, "unknown", 1, 2e-3);
    fixture_analyse(&f);
    assert_string_equal(f.report.kernels[0].name, "wasteful");
    assert_string_equal(f.report.kernels[1].name, "unknown"); /* may have lost all its 2 ms */
    assert_string_equal(f.report.kernels[2].name, "efficient");
    assert_int_equal(f.report.kernels[2].number, 3);
    rp_error error = {0};
    assert_int_equal(rp_report_sort(&f.report, "time", &error), RP_OK);
    assert_string_equal(f.report.kernels[0].name, "efficient");
    assert_int_equal(f.report.kernels[0].number, 3);
    assert_int_equal(rp_report_sort(&f.report, "roof", &error), RP_OK);
    assert_string_equal(f.report.kernels[2].name, "unknown"); /* not known goes last */
    assert_int_equal(rp_report_sort(&f.report, "beauty", &error), RP_USAGE);
}

static void utilisations(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 4e-3);
    const double peak = 108 * 1.41e9 * 128, dram = 1555.2e9;
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 0.5 * 4e-3 * peak);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.8 * 4e-3 * dram);
    f.profile.devices[0].span_s = 8e-3;
    f.profile.devices[0].busy_s = 4e-3;
    f.profile.devices[0].memory_bytes = 40000;
    f.profile.devices[0].peak_allocated_bytes = 10000;
    f.options.model_flops = 0.4 * 4e-3 * peak;
    fixture_analyse(&f);
    assert_near(f.report.compute, 0.25, 0.002);
    assert_near(f.report.bandwidth, 0.4, 0.002);
    assert_near(f.report.capacity, 0.25, 1e-9);
    assert_near(f.report.model_flops_utilisation, 0.2, 0.002);
    assert_near(f.report.counted_share, 1, 1e-12);
}

static void unknown_utilisations(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 4e-3);
    fixture_analyse(&f);
    assert_unknown(f.report.compute);
    assert_unknown(f.report.bandwidth);
    assert_unknown(f.report.capacity);
    assert_unknown(f.report.model_flops_utilisation);
    assert_true(f.report.counted_share == 0);
}

static bool noted(const char *text) {
    for (size_t i = 0; i < f.report.note_count; i++)
        if (strstr(f.report.notes[i].text, text))
            return true;
    return false;
}

/* Said of what is there now, not of the file that it came from: counts may have been merged. */
static void times_alone_are_said(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_analyse(&f);
    assert_true(noted("intensities need a second capture with counters"));
    fixture_set(g, RP_Q_DRAM_BYTES, 0);
    fixture_analyse(&f);
    assert_false(noted("second capture"));
}

static void what_was_left_out_is_said(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 4, 1e-3);
    f.profile.launches_total = 10;
    f.profile.launches_invalid = 7;
    fixture_analyse(&f);
    assert_true(noted("4 of 10 launches pass the filter"));
    assert_true(noted("7 launches with impossible times"));
}

static void joined_files(void **state) {
    (void)state;
    fixture other;
    rp_error error = {0};
    fixture_start(&other, "Tesla V100-SXM2-16GB");
    fixture_kernel(&f, "k", 1, 1e-3);
    fixture_kernel(&other, "k", 1, 5e-3);
    other.profile.copies = calloc(1, sizeof *other.profile.copies);
    other.profile.copies[0] = (rp_copy_total){.kind = "DtoH", .count = 1, .bytes = 8, .time_s = 1};
    other.profile.copy_count = 1;
    f.profile.wall_s = 2;
    other.profile.wall_s = 3;
    assert_int_equal(rp_profile_join(&f.profile, &other.profile, &error), RP_OK);
    fixture_end(&other);
    fixture_analyse(&f);
    assert_int_equal(f.report.device_count, 2);
    assert_int_equal(f.report.kernel_count, 2);
    assert_int_equal(f.report.kernels[0].device, 1);
    assert_string_equal(f.report.devices[1].chip, "GV100");
    assert_string_equal(f.report.source, "made by hand, made by hand");
    assert_int_equal(f.report.launches, 2);
    assert_int_equal(f.report.copy_count, 1);
    assert_int_equal(f.report.copies[0].device, 1); /* as the second file's devices moved */
    assert_true(f.report.wall_s == 3);              /* they ran side by side */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(shares),
        TEST(launches_without_a_time),
        TEST(a_mean_of_modelled_times_is_modelled),
        TEST(time_lost_is_not_zero_where_it_is_not_known),
        TEST(copies),
        TEST(worst_loss_first),
        TEST(utilisations),
        TEST(unknown_utilisations),
        TEST(times_alone_are_said),
        TEST(what_was_left_out_is_said),
        TEST(joined_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
