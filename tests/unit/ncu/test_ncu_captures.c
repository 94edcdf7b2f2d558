/* SPDX-License-Identifier: Apache-2.0
 *
 * Other people's profiles, where they are at hand (they are not files of this project): each
 * imports with the launches it holds, the same run as CSV and as report agrees to the CSV's
 * rounding, and the published points come out. Skipped where the folder is absent.
 */
#include "imported.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

static const char *folder(void) {
    const char *given = getenv("ROOFPROF_CAPTURES");
    return given && *given ? given : ROOFPROF_SOURCE_DIR "/../shared/captures";
}

static imported import_capture(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    imported in = import_path(path);
    if (in.code)
        fail_msg("%s", in.error.message);
    return in;
}

static void within(double value, double expected, double distance) {
    if (!(fabs(value - expected) <= distance))
        fail_msg("%.17g, not %.17g", value, expected);
}

typedef struct content {
    const char *name;
    int launches, kernels, devices;
    const char *metric; /* of launch 0, with its value */
    double value;
} content;

static const content contents[] = {
    {"ncu_csv/bert_flashattn_a100.csv", 10, 7, 1, "launch__waves_per_multiprocessor", 1.42},
    {"ncu_csv/dropout_a100.csv", 162, 1, 1, "dram__bytes.sum", 4194688},
    {"ncu_csv/interpolate_a100.csv", 198, 1, 1, "dram__bytes.sum", 0},
    {"ncu_csv/gemm_naive_rtx5070.csv", 1, 1, 1, "lts__t_sector_hit_rate.pct", 1.0039},
    {"ncu_csv/gemm_tiled_rtx5070.csv", 1, 1, 1, "dram__bytes_op_read.sum", 53261312},
    {"ncu_csv/saxpy_rtx5070.csv", 1, 1, 1, "dram__bytes_op_read.sum", 134221568},
    {"ncu_csv/transpose_naive_rtx5070.csv", 1, 1, 1, "gpu__time_duration.sum", 163072e-9},
    {"ncu_csv/gene_dgdxy_time_v100.csv", 8, 2, 1, "dram__bytes.sum", 690960320},
    {"ncu_csv/gene_dgdxy_fused_v100.csv", 12, 3, 1, "dram__bytes.sum", 450249760},
    {"ncu_csv/gene_dzv_v100.csv", 4, 1, 1, "dram__bytes.sum", 663913408},
    {"ncu_details/cublaslt_fp8_b200.log", 1, 1, 1, "gpu__time_duration.sum", 406240e-9},
    {"ncu_rep/gene_dgdxy_time_v100.ncu-rep", 8, 2, 1, "sm__cycles_elapsed.avg", 1209252.425},
    {"ncu_rep/vector_ops_a100.ncu-rep", 6, 5, 1, "gpu__time_duration.sum", 4064e-9},
    {"ncu_rep/simple_divergence_gtx1660ti.ncu-rep", 4, 4, 1, "gpu__time_duration.sum", 1600e-9},
};

static void test_contents(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        const content *c = &contents[i];
        imported in = import_capture(c->name);
        print_message("%s\n", c->name);
        within(ask(&in, "SELECT count(*) FROM launches"), c->launches, 0);
        within(ask(&in, "SELECT count(*) FROM kernels"), c->kernels, 0);
        within(ask(&in, "SELECT count(*) FROM devices"), c->devices, 0);
        within(ask(&in, "SELECT count(*) FROM launches WHERE time_ns > 0"), c->launches, 0);
        within(counter(&in, 0, c->metric), c->value, 1e-12 * c->value);
        imported_free(&in);
    }
}

/* The same eight launches, printed with two decimals and as doubles. */
static void test_twins(void **state) {
    (void)state;
    static const char *const metrics[] = {"dram__bytes.sum", "sm__cycles_elapsed.avg",
                                          "sm__cycles_elapsed.avg.per_second"};
    imported csv = import_capture("ncu_csv/gene_dgdxy_time_v100.csv");
    imported report = import_capture("ncu_rep/gene_dgdxy_time_v100.ncu-rep");
    for (int i = 0; i < 8; i++) {
        char sql[100];
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            within(counter(&csv, i, metrics[m]), counter(&report, i, metrics[m]), 0.005000001);
        snprintf(sql, sizeof sql, "SELECT time_ns FROM launches WHERE idx = %d", i);
        double time = ask(&report, sql);
        within(ask(&csv, sql), time, 2e-8 * time);
    }
    imported_free(&csv);
    imported_free(&report);
}

typedef struct published {
    const char *name, *kernel; /* LIKE */
    double time_s, bytes, flops;
} published;

/* Rows P01 has no counts in these files; P03 has; P15 and P19 have no FLOP counter. */
static const published rows[] = {
    {"ncu_csv/gene_dgdxy_time_v100.csv", "ij_deriv_kernel%", 0.0009231, 690960320, NAN},
    {"ncu_rep/gene_dgdxy_time_v100.ncu-rep", "ij_deriv_kernel%", 0.0009231, 690960320, NAN},
    {"ncu_csv/gene_dgdxy_fused_v100.csv", "%kernel_assign_6<gt::gtensor_view%", 0.0008913,
     701032000, 440401920},
    {"ncu_csv/gemm_naive_rtx5070.csv", "%gemm_naive%", 0.009589248, 80808960, NAN},
    {"ncu_csv/transpose_naive_rtx5070.csv", "%transpose_naive%", 0.000163072, 23401216, NAN},
};

static double of_kernel(const imported *in, const char *what, const char *kernel) {
    char sql[400];
    snprintf(
        sql, sizeof sql,
        "SELECT avg(%s) FROM launches l JOIN configs c ON c.id = l.config JOIN kernels k ON k.id "
        "= c.kernel LEFT JOIN quantities q ON q.launch = l.id WHERE k.name LIKE '%s'",
        what, kernel);
    return ask(in, sql);
}

static void test_published(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const published *p = &rows[i];
        imported in = import_capture(p->name);
        within(of_kernel(&in, "time_ns", p->kernel) / 1e9, p->time_s, 0.01 * p->time_s);
        within(of_kernel(&in, "dram_bytes", p->kernel), p->bytes, 0.01 * p->bytes);
        double flops = of_kernel(&in, "fp64_vector", p->kernel);
        assert_true(isnan(p->flops) ? isnan(flops) : flops == p->flops);
        imported_free(&in);
    }
}

int main(void) {
    if (access(folder(), R_OK) != 0) {
        printf("skipped: no captures in %s (set ROOFPROF_CAPTURES)\n", folder());
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
