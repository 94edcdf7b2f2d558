/* SPDX-License-Identifier: Apache-2.0
 *
 * The metrics of the emulated range profiler: every name that the hardware database's metric sets
 * ask for is there, and values follow from counts and the device as docs/doors.md says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emulator/cupti/metric.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const emu_device_spec spec = {.cc_major = 9,
                                     .sm_count = 132,
                                     .sm_clock_hz = 2e9,
                                     .memory_clock_hz = 2.5e9,
                                     .max_warps_per_sm = 64,
                                     .dram_bytes_per_s = 3e12,
                                     .l1_bytes_per_s = 33e12,
                                     .fp64_per_clk = 128,
                                     .fp32_per_clk = 256,
                                     .fp16_per_clk = 512,
                                     .tensor_fp16_per_clk = 4096,
                                     .tensor_fp64_per_clk = 256};

static emu_counts launch(void) {
    emu_counts c = {.time_s = 1e-3,
                    .warp_insts = 1000,
                    .thread_insts = 31000,
                    .thread_insts_active = 32000,
                    .integer_insts = 77,
                    .caches_valid = true,
                    .dram_read_bytes = 6400,
                    .dram_write_bytes = 640,
                    .l2_read_sectors = 200,
                    .l2_write_sectors = 20,
                    .load_sectors = 300,
                    .store_sectors = 40,
                    .occupancy_theoretical = 0.5,
                    .waves = 2,
                    .blocks_per_sm = 4};
    c.fp[EMU_FP32][EMU_OP_ADD] = 10;
    c.fp[EMU_FP32][EMU_OP_FMA] = 100;
    c.fp[EMU_FP32][EMU_OP_DIV] = 3;
    c.flops_hardware[EMU_FP32] = 10 + 200 + 30; /* ten for a division */
    c.fp[EMU_FP16][EMU_OP_FMA] = 5;
    c.packed[EMU_FP16][EMU_OP_FMA] = 5;
    c.flops_hardware[EMU_FP16] = 20;
    c.load_bytes[EMU_SHARED] = 512;
    c.load_requests[EMU_SHARED] = 4;
    c.load_requests[EMU_GLOBAL] = 11;
    c.tensor_ops[EMU_FP16] = 4096;
    c.tensor_insts = 2;
    return c;
}

static double value(const char *name, const emu_counts *c) {
    assert_true(metric_known(name));
    return metric_value(name, c, &spec);
}

#define EXPECT(name, expected) assert_true(fabs(value(name, &c) - (expected)) <= 1e-9 * (expected))

static void names_of_the_sets(void **state) {
    (void)state;
    char line[65536];
    size_t names = 0;
    FILE *file = fopen(ROOFPROF_SOURCE_DIR "/hwdb/metric_sets.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the columns' names */
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        for (int column = 0; column < 3 && at; column++)
            at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
        if (!at || line[0] == '#')
            continue;
        at[strcspn(at, ",\r\n")] = 0;
        for (char *name = strtok(at, " "); name; name = strtok(NULL, " ")) {
            if (!metric_known(name))
                fail_msg("%s is not known", name);
            names++;
        }
    }
    fclose(file);
    assert_true(names > 1000);
}

static void counts(void **state) {
    (void)state;
    emu_counts c = launch();
    EXPECT("gpu__time_duration.sum", 1e6);
    EXPECT("sm__cycles_elapsed.max", 2e6);
    EXPECT("sm__cycles_elapsed.avg.per_second", 2e9);
    EXPECT("sm__cycles_active.sum", 2e6 * 132);
    EXPECT("sm__warps_active.sum", 2e6 * 132 * 32);
    EXPECT("smsp__inst_executed.sum", 1000);
    EXPECT("smsp__sass_thread_inst_executed_pred_on.sum", 31000);
    EXPECT("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 10);
    EXPECT("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 115); /* 30 FLOPs are 15 FMAs */
    EXPECT("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", 113);
    EXPECT("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 5);
    EXPECT("smsp__sass_data_bytes_mem_shared.sum", 512);
    EXPECT("smsp__sass_sectors_mem_global.sum", 340);
    EXPECT("dram__bytes_read.sum", 6400);
    EXPECT("dram__bytes_read.sum.per_second", 6.4e6);
    EXPECT("lts__t_bytes.sum", 32 * 220);
    EXPECT("l1tex__t_bytes.sum", 32 * 340);
    EXPECT("smsp__inst_executed.avg", 1000.0 / 528);
    c.load_requests[EMU_TEXTURE] = 1; /* whose sectors were which is not known */
    assert_true(isnan(value("smsp__sass_sectors_mem_global.sum", &c)));
    EXPECT("l1tex__t_bytes.sum", 32 * 340);
}

static void tensor(void **state) {
    (void)state;
    emu_counts c = launch();
    EXPECT("sm__ops_path_tensor_src_fp16_dst_fp32.sum", 4096);
    EXPECT("sm__ops_path_tensor_op_hmma_src_fp16.sum", 4096);
    EXPECT("sm__ops_path_tensor_src_fp16_dst_fp32_realtime.sum", 4096);
    EXPECT("sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum", 4096);
    EXPECT("sm__inst_executed_pipe_tensor_op_hmma.sum", 2);
    assert_true(value("sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_on.sum", &c) == 0);
    assert_true(value("sm__ops_path_tensor_op_hgmma_src_fp16.sum", &c) == 0);
    assert_true(value("sm__ops_path_tensor_src_bf16_dst_fp32.sum", &c) == 0);
    assert_true(value("sm__inst_executed_pipe_tensor_op_imma.sum", &c) == 0);
    c.tensor_ops[EMU_INT8] = 1; /* two kinds: which instruction was which is not known */
    assert_true(isnan(value("sm__inst_executed_pipe_tensor_op_hmma.sum", &c)));
}

static void peaks(void **state) {
    (void)state;
    emu_counts c = launch();
    EXPECT("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 128 * 132);
    EXPECT("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", 64 * 132);
    EXPECT("sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 128 * 132);
    EXPECT("dram__bytes.sum.peak_sustained", 1200);
    EXPECT("sm__ops_path_tensor_src_fp16.sum.peak_sustained", 2 * 4096 * 132);
    EXPECT("sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained", 4096 * 132);
    EXPECT("sm__ops_path_tensor_op_hmma_src_fp16_sparsity_off.sum.peak_sustained",
           4096 * 132 * 2 / 3.0);
    EXPECT("sm__ops_path_tensor_src_fp64.sum.peak_sustained", 256 * 132);
    EXPECT("l1tex__t_bytes.sum.pct_of_peak_sustained_elapsed",
           100 * 32 * 340 / (33e12 / 2e9 * 2e6));
    assert_true(metric_is_peak("dram__bytes.sum.peak_sustained"));
    assert_false(
        metric_is_sass("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"));
    assert_true(metric_is_sass("smsp__sass_inst_executed.sum"));
}

static void not_known(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",           "gpu__time_duration",         "gpu__time_duration.total",
        "sm__no.sum", "gpu__time_duration.sum.pct", "sm__ops_path_tensor_src_fp7.sum"};
    emu_counts c = launch();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(metric_known(wrong[i]));
    assert_true(isnan(value("smsp__warps_eligible.sum", &c)));
    assert_true(isnan(value("lts__t_bytes.sum.peak_sustained", &c))); /* no rate in this device */
    assert_true(isnan(value("dram__bytes_read.max", &c)));
    assert_true(isnan(value("smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum", &c)));
    c.caches_valid = false;
    assert_true(isnan(value("dram__bytes_read.sum", &c)));
    assert_false(isnan(value("l1tex__t_bytes.sum", &c)));
    c.load_requests[EMU_LOCAL] = 1; /* sectors of global and local are counted together */
    assert_true(isnan(value("smsp__sass_sectors_mem_global.sum", &c)));
}

static void sums(void **state) {
    (void)state;
    emu_counts one = launch(), c = {0};
    metric_add_counts(&c, &one);
    assert_true(c.caches_valid && c.occupancy_theoretical == 0.5);
    one.occupancy_theoretical = 1;
    metric_add_counts(&c, &one);
    EXPECT("gpu__time_duration.sum", 2e6);
    EXPECT("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 20);
    EXPECT("dram__bytes_write.sum", 1280);
    assert_true(fabs(c.occupancy_theoretical - 0.75) < 1e-12);
    one.caches_valid = false; /* of one launch: nothing is known of the sum */
    metric_add_counts(&c, &one);
    assert_true(isnan(value("dram__bytes_write.sum", &c)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_the_sets),
                                       cmocka_unit_test(counts),
                                       cmocka_unit_test(tensor),
                                       cmocka_unit_test(peaks),
                                       cmocka_unit_test(not_known),
                                       cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
