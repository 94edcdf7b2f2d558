/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of nvprof's CSV tables.
 */
#include "fixture.h"
#include "importers/expand.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rp_importer *const nvprof = &rp_importer_nvprof;

static void metrics(void **state) {
    (void)state;
    rp_profile p;
    assert_true(recognise_path(nvprof, fixture("nvprof_metrics.csv")) >= 80);
    import_path(nvprof, fixture("nvprof_metrics.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 3);
    assert_int_equal(k->time.n, 0); /* metrics say nothing of time */
    assert_true(total(k, RP_Q_FLOPS_FP64_VECTOR) == 600);
    assert_true(total(k, RP_Q_FLOPS_FP32_VECTOR) == 3 * 3.3255e10);
    assert_true(total(k, RP_Q_DRAM_READ) == 3000); /* bytes go before transactions */
    assert_true(total(k, RP_Q_DRAM_WRITE) == 3 * 10 * 32);
    assert_true(isnan(total(k, RP_Q_L2_BYTES))); /* half of it overflowed */
    assert_true(rp_stat_mean(&k->q[RP_Q_OCCUPANCY_ACHIEVED]) == 0.5);
    assert_true(fabs(rp_stat_mean(&k->q[RP_Q_L2_HIT_RATE]) - 0.987) < 1e-12);
    assert_int_equal(k->provenance[RP_Q_DRAM_READ], RP_IMPORTED);
    const rp_group *copy = find_group(&p, "copy(float*, float*)");
    assert_int_equal(copy->launches, 1);
    assert_true(total(copy, RP_Q_FLOPS_FP64_VECTOR) == 0); /* counted, and 0 */
    assert_true(isnan(total(copy, RP_Q_DRAM_READ)));
    assert_string_equal(p.devices[0].name, "Tesla V100-SXM2-16GB");
    assert_true(has_note(&p, "warning", "1 value that overflowed"));
    assert_true(has_note(&p, "info", "1 rate left out"));
    assert_true(has_note(&p, "info", "spreads are not known"));
    rp_profile_free(&p);
}

static void summary(void **state) {
    (void)state;
    rp_profile p;
    import_path(nvprof, fixture("nvprof_summary.csv"), &p);
    const rp_group *gemm = find_group(&p, "gemm(float*, float*, float*)");
    assert_int_equal(gemm->launches, 100);
    assert_true(fabs(gemm->time.sum - 0.54236) < 1e-9);
    assert_true(fabs(find_group(&p, hostile_name)->time.sum - 200.5e-6) < 1e-15);
    assert_false(has_group(&p, "cudaMalloc") || has_group(&p, "[CUDA memcpy HtoD]") ||
                 has_group(&p, "never_timed(int)"));
    assert_int_equal(p.launches_invalid, 5);
    assert_true(has_note(&p, "info", "[CUDA memcpy HtoD]: 2 calls"));
    rp_profile_free(&p);
}

static void trace(void **state) {
    (void)state;
    rp_profile p;
    import_path(nvprof, fixture("nvprof_trace.csv"), &p);
    const rp_group *k = find_group(&p, hostile_name); /* without its number */
    assert_int_equal(p.launches_total, 1);
    assert_int_equal(p.launches_invalid, 1);
    assert_true(fabs(k->time.sum - 12.5e-6) < 1e-15);
    assert_int_equal(k->grid[0], 196);
    assert_int_equal(k->registers, 16);
    assert_int_equal(k->shared_static, 2048);
    assert_int_equal(k->shared_dynamic, 512);
    assert_int_equal(p.copy_count, 1);
    assert_true(p.copies[0].bytes == 200000);
    rp_profile_free(&p);
}

/* Times of both kinds of rows in the units of the table, and what a launch lacks. */
static void times_and_shapes(void **state) {
    (void)state;
    static const char text[] =
        "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block "
        "Z\","
        "\"Size\",\"Device\",\"Context\",\"Stream\",\"Name\",\"flop_count_sp\",\"flop_count_dp\"\n"
        "ms,us,,,,,,,MB,,,,,,\n"
        "1,10,4,5,6,32,2,3,,\"d (0)\",1,7,\"k(int) [1]\",7,n/a\n"
        "1.02,20,4,0,6,32,2,3,,\"d (0)\",1,7,\"shapeless(int) [2]\",8,Low (3)\n"
        "2,40,,,,,,,2,\"d (0)\",1,7,\"[CUDA memcpy DtoH]\",,\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    rp_profile p;
    import_path(nvprof, path, &p);
    const rp_group *k = find_group(&p, "k(int)"), *s = find_group(&p, "shapeless(int)");
    assert_true(fabs(k->time.sum - 10e-6) < 1e-15 && fabs(s->time.sum - 20e-6) < 1e-15);
    assert_true(k->has_shape && k->grid[0] == 4 && k->grid[2] == 6 && k->block[1] == 2);
    assert_false(s->has_shape);
    assert_true(fabs(p.devices[0].busy_s - 30e-6) < 1e-12);
    assert_true(fabs(p.devices[0].span_s - 40e-6) < 1e-12); /* 1 ms to 1.02 ms + 20 us */
    assert_true(total(k, RP_Q_FLOPS_FP32_VECTOR) == 7);
    assert_true(isnan(total(k, RP_Q_FLOPS_FP64_VECTOR))); /* no number: not known */
    assert_true(total(s, RP_Q_FLOPS_FP64_VECTOR) == 3);   /* a level is its number */
    assert_int_equal(p.copy_count, 1);
    assert_string_equal(p.copies[0].kind, "DtoH");
    assert_true(p.copies[0].bytes == 2 * 1048576);
    assert_true(fabs(p.copies[0].time_s - 40e-6) < 1e-12);
    assert_int_equal(p.copies[0].time_provenance, RP_IMPORTED);
    rp_profile_free(&p);
    drop_file(path);
}

static void text_form(void **state) {
    (void)state;
    rp_profile p;
    assert_true(recognise_path(nvprof, fixture("nvprof_text.txt")) >= 70);
    import_path(nvprof, fixture("nvprof_text.txt"), &p);
    const rp_group *copy =
        find_group(&p, "void copy<int, float>(float*, `id`, $(touch pwned), {/Symbol a}, @)");
    assert_int_equal(copy->launches, 2);
    assert_true(total(copy, RP_Q_DRAM_READ) == 400);
    assert_true(total(copy, RP_Q_FLOPS_FP32_VECTOR) == 2 * 3.3255e10);
    assert_true(fabs(rp_stat_mean(&copy->q[RP_Q_L2_HIT_RATE]) - 0.987) < 1e-12);
    assert_true(total(find_group(&p, "other(int)"), RP_Q_FLOPS_FP32_VECTOR) == 0);
    rp_profile_free(&p);
    import_path(nvprof, fixture("nvprof_text_summary.txt"), &p);
    assert_int_equal(p.group_count, 2);
    assert_int_equal(p.launches_total, 101);
    assert_true(fabs(find_group(&p, "void gemm<int, 3>(float*, float*)")->time.sum - 0.54236) <
                1e-9);
    assert_true(fabs(find_group(&p, "tail(float*)")->time.sum - 200.5e-6) < 1e-15);
    rp_profile_free(&p);
}

static void refusals(void **state) {
    (void)state;
    static const char overflow[] =
        "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Min\",\"Max\",\"Avg\"\n"
        "\"d (0)\",\"k\",1,\"flop_count_sp\",\"<OVERFLOW>\",\"<OVERFLOW>\",\"<OVERFLOW>\"\n";
    char *none = make_file(".csv", overflow, sizeof overflow - 1);
    refuse_path(nvprof, none, "no metric of any kernel has a value");
    drop_file(none);
    refuse_path(nvprof, fixture("nvprof_permission.txt"), "NVreg_RestrictProfilingToAdminUsers");
    static const char empty[] = "==7== NVPROF is profiling process 7, command: ./app\n"
                                "==7== No kernels were profiled.\n";
    char *path = make_file(".csv", empty, sizeof empty - 1);
    refuse_path(nvprof, path, "no kernel was profiled");
    drop_file(path);
}

static void a_billion_calls(void **state) {
    (void)state;
    static const char text[] = "\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
                               "%,s,,us,us,us,\n100,1000,1000000000,1,1,1,\"k\"\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    refuse_path(nvprof, path, "calls");
    drop_file(path);
}

/* The limit is on all kernels of a file together. */
static void calls_of_all_kernels(void **state) {
    (void)state;
    static const char text[] = "\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
                               "%,s,,us,us,us,\n50,1,6,1,1,1,\"a\"\n50,1,6,1,1,1,\"b\"\n";
    char *path = make_file(".csv", text, sizeof text - 1);
    int64_t usual = rp_expand_limit;
    rp_expand_limit = 11;
    refuse_path(nvprof, path, "more than 11 calls in all");
    rp_expand_limit = 12;
    rp_profile p;
    import_path(nvprof, path, &p);
    assert_int_equal(p.launches_total, 12);
    rp_profile_free(&p);
    rp_expand_limit = usual;
    drop_file(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics),
        cmocka_unit_test(summary),
        cmocka_unit_test(trace),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_billion_calls),
        cmocka_unit_test(text_form),
        cmocka_unit_test(times_and_shapes),
        cmocka_unit_test(calls_of_all_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
