/* SPDX-License-Identifier: Apache-2.0
 *
 * Published roofline points. The fixtures in tests/golden/ncu were written by hand from the numbers
 * that people published (work, bytes, time), each in a layout of its own; imported, they must give
 * the published intensity and rates within 1 %.
 *
 * The GENE paper's rates are multiples of 1024^3: 333.2 "G/s" there are 333.2 * 1.0737 = 357.8
 * GFLOP/s here.
 */
#include "imported.h"

#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIBI 1073741824.0

typedef struct point {
    const char *file, *kernel; /* glob */
    rp_quantity work;
    double launches, time_s, flops, bytes;      /* of one launch; bytes NaN: not published */
    double intensity, flops_per_s, bytes_per_s; /* as published, in SI; NaN: not published */
} point;

static const point points[] = {
    /* GENE, POP 2020: AI 0.478, 333.2 "G/s", 697.1 "GB/s" */
    {"gene_v100.csv", "ij_deriv_kernel*", RP_Q_FLOPS_FP64_VECTOR, 2, 0.0009231, 330301440,
     690960320, 0.478, 333.2 * GIBI, 697.1 * GIBI},
    /* AI 0.628, 460.2 "G/s", 732.5 "GB/s" */
    {"gene_v100.csv", "*kernel_assign_6*", RP_Q_FLOPS_FP64_VECTOR, 2, 0.0008913, 440401920,
     701032000, 0.628, 460.2 * GIBI, 732.5 * GIBI},
    /* distbatch-infer: AI 244.245, 1148.02 GFLOP/s, 4.70 GB/s; 1.274, 453.61, 356.05 */
    {"windows_rtx5060ti.csv", "gemm_tiled*", RP_Q_FLOPS_FP32_VECTOR, 1, 0.0018706, 2147483648,
     8792320, 244.245, 1148.02e9, 4.70e9},
    {"windows_rtx5060ti.csv", "softmax*", RP_Q_FLOPS_FP32_VECTOR, 1, 5.84e-5, 26476544, 20781824,
     1.274, 453.61e9, 356.05e9},
    /* arXiv 2110.08221, LWFA simulation */
    {"picongpu_v100.csv", "*ComputeCurrent*", RP_Q_FLOPS_FP32_VECTOR, 1, 0.000211232, 42506000,
     139101952, 0.305574, 201.229e9, 658.527e9},
    /* NVIDIA/DCGM issue 251: a product of 4096^3 counts 2 * 4096^3 */
    {"fp8_b300.csv", "nvjet*", RP_Q_FLOPS_FP8_TENSOR, 1, 52e-6, 137438953472.0, NAN, NAN, NAN, NAN},
    /* 117 us and not 0.117 us */
    {"european_rtx40.csv", "ampere_sgemm*", RP_Q_FLOPS_FP32_VECTOR, 1, 0.000117344, 2147483648,
     27595520, 77.82, 18300.8e9, 235.168e9},
    /* no FLOP at all is a result */
    {"wide_rtx5070.csv", "transpose_naive*", RP_Q_FLOPS_FP32_VECTOR, 1, 0.000163072, 0, 23401216, 0,
     0, 143.502e9},
};

static void within(const char *what, const char *file, double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * fabs(expected)))
        fail_msg("%s: %s is %.9g, not %.9g", file, what, value, expected);
}

static const rp_group *find_group(const rp_profile *profile, const char *kernel) {
    for (size_t i = 0; i < profile->group_count; i++)
        if (fnmatch(kernel, profile->groups[i].name, 0) == 0)
            return &profile->groups[i];
    fail_msg("no kernel %s", kernel);
    return NULL;
}

static void check(const point *p, const rp_group *g) {
    double time = rp_stat_mean(&g->time), flops = rp_stat_mean(&g->q[p->work]);
    double bytes = rp_stat_mean(&g->q[RP_Q_DRAM_BYTES]);
    assert_true((double)g->launches == p->launches);
    within("time", p->file, time, p->time_s, 1e-4);
    within("work", p->file, flops, p->flops, 0);
    if (isnan(p->bytes)) {
        assert_true(isnan(bytes));
        return;
    }
    within("DRAM bytes", p->file, bytes, p->bytes, 0);
    within("intensity", p->file, flops / bytes, p->intensity, 0.01);
    within("FLOP/s", p->file, flops / time, p->flops_per_s, 0.01);
    within("B/s", p->file, bytes / time, p->bytes_per_s, 0.01);
}

static void test_published_points(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        char path[512];
        rp_capture *capture = NULL;
        rp_error error = {0};
        rp_profile profile = {0};
        snprintf(path, sizeof path, ROOFPROF_SOURCE_DIR "/tests/golden/ncu/%s", points[i].file);
        imported in = import_path(path);
        if (in.code)
            fail_msg("%s", in.error.message);
        snprintf(path, sizeof path, "%s/capture.roof", in.folder);
        if (rp_capture_open(&capture, path, &error) ||
            rp_capture_load(capture, NULL, RP_BY_KERNEL, &profile, &error))
            fail_msg("%s", error.message);
        check(&points[i], find_group(&profile, points[i].kernel));
        rp_profile_free(&profile);
        rp_capture_close(capture);
        imported_free(&in);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
