/* SPDX-License-Identifier: Apache-2.0
 *
 * Other people's profiles, where they are present (ROOFPROF_CAPTURES, or ../shared/captures beside
 * the source): launches and times held against sums made from the files by other means. Skipped
 * where there are none.
 */
#include "fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct expected {
    const rp_importer *importer;
    const char *file, *device; /* DEVICE: name or chip */
    uint64_t launches;
    double time_s, copy_bytes; /* NAN: not in the file */
} expected;

static const expected captures[] = {
    {&rp_importer_nsys, "nsys_sqlite/concurrent_kernels_gtx1060.sqlite",
     "GeForce GTX 1060 with Max-Q Design", 9, 271.711594e-3, 80400000},
    {&rp_importer_nsys, "nsys_sqlite/vector_ops_a100.sqlite", "A100-PCIE-40GB", 6, 34.113e-6, 0},
    {&rp_importer_kineto, "kineto/alexnet_a100.json.gz", "NVIDIA A100-PG509-200", 79, 10.692e-3,
     244425120},
    {&rp_importer_kineto, "kineto/triton_kernel_a100.json.gz", "NVIDIA A100-PG509-200", 1, 1.76e-6,
     0},
    {&rp_importer_kineto, "kineto/eager_b200.json.gz", "NVIDIA B200", 768, 10.862916e-3, 771357013},
    {&rp_importer_rocprof, "rocprof/vcopy_pmc_perf_mi200.csv", "gfx90a", 3, 52.64e-6, 0},
};

static const char *folder(void) {
    const char *given = getenv("ROOFPROF_CAPTURES");
    return given && *given ? given : ROOFPROF_SOURCE_DIR "/../shared/captures";
}

static const char *path_of(const char *file) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder(), file);
    return path;
}

static void equals(const char *file, const char *what, double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%s: %s is %.12g, not %.12g", file, what, value, wanted);
}

static void sums_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof captures / sizeof *captures; i++) {
        const expected *e = &captures[i];
        const char *path = path_of(e->file);
        assert_true(recognise_path(e->importer, path) >= 90);
        rp_profile p;
        import_path(e->importer, path, &p);
        double time = 0, bytes = 0;
        for (size_t k = 0; k < p.group_count; k++)
            time += p.groups[k].time.sum;
        for (size_t k = 0; k < p.copy_count; k++)
            bytes += p.copies[k].bytes;
        equals(e->file, "launches", (double)p.launches_total, (double)e->launches);
        equals(e->file, "time", time, e->time_s);
        equals(e->file, "bytes copied", bytes, e->copy_bytes);
        assert_int_equal(p.launches_invalid, 0);
        assert_string_equal(p.devices[0].name ? p.devices[0].name : p.devices[0].chip, e->device);
        rp_profile_free(&p);
    }
}

static void no_kernel(void **state) {
    (void)state;
    refuse_path(&rp_importer_kineto, path_of("kineto/cpu_only.json.gz"), "nothing to analyse");
    assert_int_equal(recognise_path(&rp_importer_kineto, path_of("ncu_csv/saxpy_rtx5070.csv")), 0);
    assert_int_equal(recognise_path(&rp_importer_nvprof, path_of("ncu_csv/interpolate_a100.csv")),
                     0);
    assert_int_equal(
        recognise_path(&rp_importer_rocprof, path_of("roofline_results/rtx5070_peaks.csv")), 0);
}

/* A copy of three vectors of 1048576 doubles is read once, and written; the counters' sums by the
 * formula for requests of 32 and 64 bytes. */
static void amd_bytes(void **state) {
    (void)state;
    rp_profile p;
    import_path(&rp_importer_rocprof, path_of("rocprof/vcopy_pmc_perf_mi200.csv"), &p);
    equals("vcopy", "DRAM bytes read", total(&p.groups[0], RP_Q_DRAM_READ), 25166976);
    equals("vcopy", "DRAM bytes written", total(&p.groups[0], RP_Q_DRAM_WRITE), 20087168);
    assert_int_equal(p.devices[0].ceiling_count, 11);
    rp_profile_free(&p);
}

int main(void) {
    if (access(path_of("kineto/alexnet_a100.json.gz"), R_OK) != 0) {
        printf("skipped: no captures in %s (set ROOFPROF_CAPTURES)\n", folder());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree),
        cmocka_unit_test(no_kernel),
        cmocka_unit_test(amd_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
