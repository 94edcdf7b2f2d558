/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of AMD's CSV files: rocprof v1, rocprofv3 and rocprof-compute.
 */
#include "fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rp_importer *const rocprof = &rp_importer_rocprof;

static void version_1_results(void **state) {
    (void)state;
    rp_profile p;
    assert_true(recognise_path(rocprof, fixture("rocprof_v1_results.csv")) >= 90);
    import_path(rocprof, fixture("rocprof_v1_results.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name); /* without [clone .kd] */
    assert_int_equal(p.launches_total, 1);
    assert_int_equal(p.launches_invalid, 1);
    assert_true(fabs(k->time.sum - 2e-6) < 1e-18);
    assert_int_equal(k->grid[0], 4); /* 1000 work-items in groups of 256 */
    assert_int_equal(k->block[0], 256);
    assert_int_equal(k->registers, 24);
    assert_true(total(k, RP_Q_FLOPS_FP64_VECTOR) == 64 * (10 + 20 + 2 * 30 + 0));
    assert_int_equal(k->provenance[RP_Q_FLOPS_FP64_VECTOR], RP_ESTIMATED);
    assert_true(has_note(&p, "warning", "hold no number"));
    assert_true(has_note(&p, "info", "64 lanes"));
    rp_profile_free(&p);
}

static void statistics(void **state) {
    (void)state;
    rp_profile p;
    import_path(rocprof, fixture("rocprof_v1_stats.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 4);
    assert_true(fabs(k->time.sum - 8e-6) < 1e-15);
    assert_true(has_group(&p, "plain"));
    assert_true(has_note(&p, "info", "spreads are not known"));
    rp_profile_free(&p);
    refuse_path(rocprof, fixture("rocprof_hip_stats.csv"), "API");
}

static void version_3_counters(void **state) {
    (void)state;
    rp_profile p;
    import_path(rocprof, fixture("rocprof_v3_counters.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 2); /* eight rows */
    assert_true(fabs(k->time.sum - 6e-6) < 1e-15);
    /* 128-byte requests: 10 and 0; 32-byte: 20 and 0; of 100 and 400 */
    assert_true(total(k, RP_Q_DRAM_READ) == (128 * 10 + 64 * 70 + 32 * 20) + 64 * 400);
    assert_int_equal(p.devices[0].cc_major, -1);
    assert_string_equal(p.devices[0].chip, "gfx942");
    assert_true(has_note(&p, "info", "1 repeated counter values"));
    rp_profile_free(&p);
}

static void version_3_trace(void **state) {
    (void)state;
    rp_profile p;
    import_path(rocprof, fixture("rocprof_v3_trace.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name);
    assert_true(fabs(k->time.sum - 1.5e-6) < 1e-15);
    assert_int_equal(k->grid[0], 4);
    assert_int_equal(k->grid[1], 2);
    assert_int_equal(k->grid[2], 2);
    assert_int_equal(k->block[1], 16);
    rp_profile_free(&p);
}

static double ceiling(const rp_profile_device *device, const char *precision, const char *path,
                      const char *level) {
    for (size_t i = 0; i < device->ceiling_count; i++) {
        const rp_capture_ceiling *c = &device->ceilings[i];
        if (!strcmp(c->compute ? "" : c->level, level) &&
            !strcmp(c->compute ? c->precision : "", precision) &&
            !strcmp(c->compute ? c->path : "", path))
            return c->rate;
    }
    return NAN;
}

static void compute_counters_and_their_ceilings(void **state) {
    (void)state;
    rp_profile p;
    import_path(rocprof, fixture("rocprof_pmc_perf.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 2);
    assert_int_equal(k->grid[0], 4096);
    assert_true(total(k, RP_Q_FLOPS_FP32_VECTOR) == 2 * 64 * (1 + 2 + 2 * 3 + 4));
    assert_true(total(k, RP_Q_FLOPS_FP64_TENSOR) == 2 * 512 * 2);
    assert_true(total(k, RP_Q_DRAM_READ) == 2 * (64 * 800 + 32 * 200));
    assert_true(total(k, RP_Q_DRAM_WRITE) == 2 * (64 * 40 + 32 * 60)); /* channels 30 + 70 */
    assert_true(total(k, RP_Q_L1_BYTES) == 2 * 64 * 500);
    assert_true(isnan(total(k, RP_Q_L2_BYTES))); /* not collected */
    assert_true(total(k, RP_Q_SHARED_BYTES) == 2 * (10 - 2) * 4 * 32);
    assert_int_equal(p.device_count, 1);
    assert_int_equal(p.devices[0].sm_count, -1);
    assert_string_equal(p.devices[0].chip, "gfx90a");
    assert_true(ceiling(&p.devices[0], "", "", "dram") == 1388.5e9);
    assert_true(ceiling(&p.devices[0], "", "", "shared") == 17715e9);
    assert_true(ceiling(&p.devices[0], "fp64", "tensor", "") == 41498e9);
    assert_true(ceiling(&p.devices[0], "int8", "tensor", "") == 166413e9);
    assert_true(isnan(ceiling(&p.devices[0], "fp16", "tensor", "")));
    assert_true(has_note(&p, "info", "rocprof-compute"));
    assert_true(has_note(&p, "warning", "FP32 matrix operations"));
    rp_profile_free(&p);
}

static void ceilings_alone(void **state) {
    (void)state;
    static const char text[] = "device,HBMBw,HBMBwLow,HBMBwHigh\n0,1,1,1\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    assert_true(recognise_path(rocprof, path) >= 90);
    refuse_path(rocprof, path, "pmc_perf.csv");
    drop_file(path);
    assert_int_equal(try_path(rocprof, fixture("rocprof_roofline.csv")), RP_OK);
}

/* Names without quotes: their commas are no columns. */
static void unquoted_names(void **state) {
    (void)state;
    static const char text[] = "Index,KernelName,gpu-id,grd,wgr,SQ_WAVES,DurationNs\n"
                               "0,void k<int, 3>(float*, int) [clone .kd],0,256,64,4,1500\n"
                               "1,plain,0,256,64,4,500\n";
    rp_profile p;
    char *path = make_file(".csv", text, sizeof text - 1);
    import_path(rocprof, path, &p);
    const rp_group *k = find_group(&p, "void k<int, 3>(float*, int)");
    assert_int_equal(k->grid[0], 4);
    assert_true(fabs(k->time.sum - 1.5e-6) < 1e-18);
    assert_true(has_group(&p, "plain"));
    assert_true(has_note(&p, "info", "1 row has more cells"));
    rp_profile_free(&p);
    drop_file(path);
}

static void nothing_measured(void **state) {
    (void)state;
    static const char text[] = "Dispatch_ID,Kernel_Name,GPU_ID,SQ_WAVES\n0,k,0,nan\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    refuse_path(rocprof, path, "without any time and any counter");
    drop_file(path);
}

static void no_dispatch(void **state) {
    (void)state;
    static const char text[] = "Dispatch_ID,Kernel_Name,GPU_ID,SQ_WAVES\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    refuse_path(rocprof, path, "no dispatch");
    drop_file(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_results),
        cmocka_unit_test(statistics),
        cmocka_unit_test(version_3_counters),
        cmocka_unit_test(version_3_trace),
        cmocka_unit_test(compute_counters_and_their_ceilings),
        cmocka_unit_test(ceilings_alone),
        cmocka_unit_test(no_dispatch),
        cmocka_unit_test(unquoted_names),
        cmocka_unit_test(nothing_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
