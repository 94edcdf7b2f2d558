/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities from raw metrics, with the shipped rules; FLOPs from instructions; ceilings from
 * peaks.
 */
#include "capture/derive.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct sample {
    const char *name;
    double value; /* NaN: not counted in this launch */
} sample;

/* Derives from N samples, all RP_COUNTED, on CHIP with 64 warps an SM. */
static void derive(const char *chip, const sample *samples, size_t n, rp_quantities *q) {
    const char *names[MOST];
    rp_quantity given[MOST];
    double values[MOST];
    uint8_t provenances[MOST];
    rp_hwdb *db;
    assert_int_equal(rp_hwdb_load(&db, NULL, NULL), RP_OK);
    for (size_t i = 0; i < n; i++) {
        names[i] = samples[i].name;
        given[i] = rp_quantity_find(names[i]);
        values[i] = samples[i].value;
        provenances[i] = RP_COUNTED;
    }
    rp_derivation *derivation = rp_derivation_make(db, chip, 64, names, given, n);
    assert_non_null(derivation);
    rp_counters counters = {values, provenances, n};
    rp_derive(derivation, &counters, q);
    rp_derivation_free(derivation);
    rp_hwdb_free(db);
}
#define DERIVE(chip, q, ...)                                                                       \
    do {                                                                                           \
        const sample s[] = {__VA_ARGS__};                                                          \
        derive(chip, s, sizeof s / sizeof *s, q);                                                  \
    } while (0)

#define OP(x) "smsp__sass_thread_inst_executed_op_" x "_pred_on.sum"

static void test_flops(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GH100", &q, {OP("dadd"), 1}, {OP("dmul"), 10}, {OP("dfma"), 100}, {OP("fadd"), 2},
           {OP("fmul"), 20}, {OP("ffma"), 200}, {OP("hadd"), 3}, {OP("hmul"), 30},
           {OP("hfma"), 300}, {OP("integer"), 7});
    assert_true(q.value[RP_Q_FLOPS_FP64_VECTOR] == 211);
    assert_true(q.value[RP_Q_FLOPS_FP32_VECTOR] == 422);
    assert_true(q.value[RP_Q_FLOPS_FP16_VECTOR] == 2 * 3 + 2 * 30 + 4 * 300);
    assert_true(q.value[RP_Q_OPS_INT32_VECTOR] == 7);
    assert_int_equal(q.provenance[RP_Q_FLOPS_FP64_VECTOR], RP_COUNTED);
    assert_int_equal(q.lower_bounds, 0);
    assert_true(isnan(q.value[RP_Q_DRAM_BYTES]));
    assert_true(isnan(q.value[RP_Q_FLOPS_FP16_TENSOR]));
    assert_int_equal(q.provenance[RP_Q_DRAM_BYTES], RP_ABSENT);
}

static void test_packed_flops(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GB100", &q, {OP("fadd"), 1}, {OP("fmul"), 1}, {OP("ffma"), 1}, {OP("fadd2"), 10},
           {OP("fmul2"), 100}, {OP("ffma2"), 1000});
    assert_true(q.value[RP_Q_FLOPS_FP32_VECTOR] == 4 + 20 + 200 + 4000);
}

/* One of the three missing: the rest is a lower bound, and says so. Zero is not missing. */
static void test_lower_bound(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GA100", &q, {OP("fadd"), 5}, {OP("ffma"), 8}, {OP("dadd"), 0}, {OP("dmul"), 0},
           {OP("dfma"), 0}, {OP("hadd"), NAN}, {OP("hmul"), NAN}, {OP("hfma"), NAN});
    assert_true(q.value[RP_Q_FLOPS_FP32_VECTOR] == 21);
    assert_int_equal(q.provenance[RP_Q_FLOPS_FP32_VECTOR], RP_ESTIMATED);
    assert_int_equal(q.lower_bounds, RP_LOWER_FP32);
    assert_true(q.value[RP_Q_FLOPS_FP64_VECTOR] == 0);
    assert_int_equal(q.provenance[RP_Q_FLOPS_FP64_VECTOR], RP_COUNTED);
    assert_true(isnan(q.value[RP_Q_FLOPS_FP16_VECTOR]));
}

static void test_bytes(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GH100", &q, {"dram__bytes_read.sum", 100}, {"dram__bytes_write.sum", 28},
           {"lts__t_sectors_srcunit_tex.sum", 10}, {"lts__t_bytes.sum", 999});
    assert_true(q.value[RP_Q_DRAM_BYTES] == 128);
    assert_true(q.value[RP_Q_L2_BYTES] == 320);
    assert_true(q.value[RP_Q_L2_ALL_BYTES] == 999);
    DERIVE("GH100", &q, {"dram__bytes_read.sum", 100});
    assert_true(isnan(q.value[RP_Q_DRAM_BYTES])); /* half of it is not all of it */
    assert_true(q.value[RP_Q_DRAM_READ] == 100);
}

/* Given directly beats a rule; read and write that were given make the total. */
static void test_given(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE(NULL, &q, {"dram_read_bytes", 7}, {"dram_write_bytes", 3}, {"dram__bytes_read.sum", 100},
           {"fp32_vector", 12}, {OP("ffma"), 50}, {OP("fadd"), 0}, {OP("fmul"), 0});
    assert_true(q.value[RP_Q_DRAM_READ] == 7);
    assert_true(q.value[RP_Q_DRAM_BYTES] == 10);
    assert_true(q.value[RP_Q_FLOPS_FP32_VECTOR] == 12);
    assert_true(q.value[RP_Q_INST_FP32_FMA] == 50);
}

/* Reports of the roofline set carry rates and cycles, no sums and no duration. */
static void test_rates(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GV100", &q, {"sm__cycles_elapsed.avg", 1209252.5},
           {"sm__cycles_elapsed.avg.per_second", 1309394950.25},
           {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed", 2},
           {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed", 3},
           {"derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2", 8},
           {"smsp__cycles_elapsed.avg", 1000});
    assert_true(q.value[RP_Q_TIME] == 1209252.5 / 1309394950.25);
    assert_true(q.value[RP_Q_FLOPS_FP64_VECTOR] == 2000 + 3000 + 8000);
    assert_true(q.value[RP_Q_SM_CLOCK] == 1309394950.25);
}

static void test_occupancy(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GH100", &q, {"sm__warps_active.sum", 3200}, {"sm__cycles_active.sum", 100});
    assert_true(q.value[RP_Q_OCCUPANCY_ACHIEVED] == 0.5);
    DERIVE("GH100", &q, {"sm__warps_active.sum", 0}, {"sm__cycles_active.sum", 0});
    assert_true(isnan(q.value[RP_Q_OCCUPANCY_ACHIEVED]));
}

static void test_divisor_zero(void **state) {
    (void)state;
    rp_quantities q;
    DERIVE("GH100", &q, {"sm__cycles_elapsed.avg", 100}, {"sm__cycles_elapsed.avg.per_second", 0});
    assert_true(isnan(q.value[RP_Q_TIME]));
}

static void check_peak(const char *name, int cc_major, const char *precision, const char *level,
                       double factor) {
    rp_peak peak;
    assert_true(rp_peak_of(name, cc_major, &peak));
    assert_string_equal(peak.precision, precision);
    assert_string_equal(peak.level, level);
    assert_true(peak.factor == factor);
    assert_int_equal(peak.compute, *precision != 0);
}

static void test_peaks(void **state) {
    (void)state;
    rp_peak peak;
    check_peak("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 9, "fp32", "",
               2);
    check_peak("sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 9, "fp16", "",
               4);
    check_peak("dram__bytes.sum.peak_sustained", 9, "", "dram", 1);
    check_peak("lts__t_sectors.sum.peak_sustained", 9, "", "l2", 32);
    check_peak("sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained", 9, "fp16",
               "", 1);
    check_peak("sm__ops_path_tensor_src_fp16_dst_fp16_sparsity_off.sum.peak_sustained", 8,
               "fp16_acc16", "", 1);
    check_peak("sm__ops_path_tensor_src_fp64.sum.peak_sustained", 9, "fp64", "", 1);
    check_peak("sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained", 7, "fp16", "", 1);
    static const char *const none[] = {
        "sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained", /* the sparse peak on cc 8+ */
        "sm__ops_path_tensor_src_fp8_sparsity_on.sum.peak_sustained",
        "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32_sparsity_off.sum.peak_sustained",
        "dram__bytes.sum",
        "dram__bytes.sum.peak_sustained.x",
        ".sum.peak_sustained",
        ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(rp_peak_of(none[i], 9, &peak));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flops),       cmocka_unit_test(test_packed_flops),
        cmocka_unit_test(test_lower_bound), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_given),       cmocka_unit_test(test_rates),
        cmocka_unit_test(test_occupancy),   cmocka_unit_test(test_divisor_zero),
        cmocka_unit_test(test_peaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
