/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy against known rows of the occupancy calculator, and modelled times against the ceilings
 * they must equal.
 */
#include "emulator/memory/model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static emu_device_spec h100(void) {
    return (emu_device_spec){.cc_major = 9,
                             .sm_count = 132,
                             .sm_clock_hz = 1.98e9,
                             .l1_bytes_per_sm = 256 * 1024,
                             .shared_bytes_per_sm = 228 * 1024,
                             .registers_per_sm = 65536,
                             .max_threads_per_sm = 2048,
                             .max_blocks_per_sm = 32,
                             .max_warps_per_sm = 64,
                             .dram_bytes_per_s = 3.352e12,
                             .fp32_per_clk = 256,
                             .fp64_per_clk = 128};
}

static void test_occupancy(void **state) {
    (void)state;
    static const struct {
        emu_occupancy_query query;
        unsigned blocks;
        const char *limiter;
    } rows[] = {
        {{256, 32, 0, 0}, 8, "threads"},         {{256, 64, 0, 0}, 4, "registers"},
        {{256, 33, 0, 0}, 6, "registers"},       {{32, 16, 0, 0}, 32, "blocks"},
        {{128, 32, 48 * 1024, 0}, 4, "shared"},  {{1024, 64, 0, 0}, 1, "registers"},
        {{1024, 65, 0, 0}, 0, "registers"},      {{128, 32, 0, 227 * 1024}, 1, "shared"},
        {{128, 32, 1, 227 * 1024}, 0, "shared"}, {{96, 255, 0, 0}, 2, "registers"},
    };
    emu_device_spec spec = h100();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        emu_occupancy o = emu_model_occupancy(&spec, &rows[i].query);
        assert_int_equal(o.blocks_per_sm, rows[i].blocks);
        assert_string_equal(o.limiter, rows[i].limiter);
        assert_true(o.theoretical >= 0 && o.theoretical <= 1);
    }
}

static void test_carve_out(void **state) {
    (void)state;
    emu_device_spec spec = h100();
    assert_int_equal(emu_model_l1_bytes(&spec, 1024, 8), 248 * 1024);
    assert_int_equal(emu_model_l1_bytes(&spec, 49 * 1024, 4), (256 - 196) * 1024);
    assert_int_equal(emu_model_l1_bytes(&spec, 228 * 1024, 1), 28 * 1024);
    spec.l1_bytes_per_sm = 0;
    assert_int_equal(emu_model_l1_bytes(&spec, 1024, 8), 0);
}

static void assert_near(double a, double b) {
    assert_true(fabs(a - b) <= 1e-9 * fabs(b));
}

static void test_time(void **state) {
    (void)state;
    emu_device_spec spec = h100();
    emu_counts c = {.caches_valid = true, .dram_read_bytes = 3352000000, .warp_insts = 1};
    emu_model_fill_time(&spec, 132 * 100, &c);
    assert_string_equal(c.time_bound, "dram");
    assert_near(c.time_s, 1e-3 + EMU_LAUNCH_OVERHEAD_S);

    c = (emu_counts){.flops_algorithmic[EMU_FP32] = (uint64_t)132 * 256 * 1980000};
    emu_model_fill_time(&spec, 132, &c);
    assert_string_equal(c.time_bound, "fp32");
    assert_near(c.time_s, 1e-3 + EMU_LAUNCH_OVERHEAD_S);
    emu_model_fill_time(&spec, 133, &c); /* the last block has an SM to itself: two rounds */
    assert_near(c.time_s, 1e-3 * 2 * 132 / 133 + EMU_LAUNCH_OVERHEAD_S);
    emu_model_fill_time(&spec, 1, &c);
    assert_near(c.time_s, 132e-3 + EMU_LAUNCH_OVERHEAD_S);

    c = (emu_counts){.dram_read_bytes = 3352000000}; /* not valid: no DRAM ceiling */
    emu_model_fill_time(&spec, 1, &c);
    assert_string_equal(c.time_bound, "latency");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_carve_out),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
