/* SPDX-License-Identifier: Apache-2.0
 *
 * Every verdict, on kernels whose ceiling times are known by hand. The device is an A100 40 GB at
 * its nominal clock: 108 SMs x 1.41 GHz, FP64 64 and FP32 128 FLOP per clock and SM, 1555 GB/s.
 */
#include "fixture.h"

#include <math.h>
#include <string.h>

#define CLOCKS (108 * 1.41e9) /* SM clocks per second */
#define DRAM   1555.2e9

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

/* A kernel of 1 ms whose FP32 and DRAM ceilings take the given shares of it. */
static rp_group *streaming(const char *name, double compute, double memory) {
    rp_group *k = fixture_kernel(&f, name, 1, 1e-3);
    double fma = compute * 1e-3 * CLOCKS * 128 / 2;
    fixture_all_counted(k);
    fixture_set(k, RP_Q_INST_FP32_FMA, fma);
    fixture_set(k, RP_Q_DRAM_BYTES, memory * 1e-3 * DRAM);
    return k;
}

static void memory_bound(void **state) {
    (void)state;
    streaming("k", 0.1, 0.8);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_MEMORY);
    assert_string_equal(k->bound_by, "dram");
    assert_int_equal(k->side, RP_SIDE_MEMORY);
    assert_near(k->roof_fraction, 0.8, 0.002);
    assert_near(k->time_lost_s, 0.2e-3, 0.01e-3);
    assert_near(k->intensity[RP_DRAM], 0.1 / 0.8 * CLOCKS * 128 / DRAM, 0.05);
    assert_false(k->above_roof);
    assert_unknown(k->calibrated_fraction);
}

static void compute_bound(void **state) {
    (void)state;
    streaming("k", 0.9, 0.2);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_COMPUTE);
    assert_string_equal(k->bound_by, "fp32_vector");
    assert_int_equal(k->side, RP_SIDE_COMPUTE);
    assert_near(k->roof_fraction, 0.9, 0.002);
}

static void balanced(void **state) {
    (void)state;
    streaming("k", 0.80, 0.85);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_BALANCED);
    assert_string_equal(k->bound_by, "dram, fp32_vector");
}

/* FLOPs alone say 31 % of peak; its instructions, comparisons included, fill 83 % of the pipe. */
static void fp64_by_instructions(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0, 0.1);
    double rate = CLOCKS * 32 * 1e-3; /* FP64 instructions that fit into the time */
    fixture_set(g, RP_Q_INST_FP64_ADD, 0.62 * rate);
    fixture_set(g, RP_Q_INST_FP64, 0.83 * rate);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_near(k->flops_total / k->time_s / (CLOCKS * 64), 0.31, 0.01);
    assert_int_equal(k->bound, RP_BOUND_COMPUTE);
    assert_string_equal(k->bound_by, "fp64_vector");
    assert_near(k->roof_fraction, 0.83, 0.005);
}

static void issue_bound(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0.2, 0.2);
    fixture_set(g, RP_Q_WARP_INSTS, 0.75 * 4 * CLOCKS * 1e-3);
    fixture_set(g, RP_Q_THREAD_INSTS, 32 * 0.75 * 4 * CLOCKS * 1e-3);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_COMPUTE);
    assert_string_equal(k->bound_by, "issue");
    assert_near(k->roof_fraction, 0.75, 0.005);
}

/* A naive matrix product: 91 % of the load/store request rate, DRAM under 1 %. */
static void bound_by_access_path(void **state) {
    (void)state;
    rp_group *g = streaming("requests", 0.25, 0.01);
    fixture_set(g, RP_Q_LSU_REQUESTS, 0.91 * CLOCKS * 1e-3);
    fixture_set(g, RP_Q_L1_WAVEFRONTS, 0.5 * CLOCKS * 1e-3);
    g = streaming("uncoalesced", 0.02, 0.3);
    fixture_set(g, RP_Q_LSU_REQUESTS, 0.04 * CLOCKS * 1e-3);
    fixture_set(g, RP_Q_L1_WAVEFRONTS, 0.66 * CLOCKS * 1e-3);
    fixture_analyse(&f);
    for (size_t i = 0; i < 2; i++) {
        const rp_report_kernel *k = &f.report.kernels[i];
        assert_int_equal(k->bound, RP_BOUND_MEMORY);
        assert_string_equal(k->bound_by, "l1 access path");
    }
    assert_int_equal(fixture_find(&f, "requests")->side, RP_SIDE_COMPUTE);
}

/* ---- Latency and its reasons ----------------------------------------------------------------- */

static rp_group *idle(const char *name, double time_s) {
    rp_group *g = fixture_kernel(&f, name, 3, time_s);
    fixture_all_counted(g);
    return g;
}

static void assert_latency(const char *name, const char *reason) {
    const rp_report_kernel *k = fixture_find(&f, name);
    assert_int_equal(k->bound, RP_BOUND_LATENCY);
    if (strncmp(k->reason, reason, strlen(reason)) != 0)
        fail_msg("%s: '%s', not '%s...'", name, k->reason, reason);
}

static void latency_ladder(void **state) {
    (void)state;
    fixture_set(idle("wave", 1e-3), RP_Q_WAVES, 0.4);
    fixture_set(idle("lanes", 1e-3), RP_Q_THREAD_INSTS, 8000);
    idle("short", 4e-6);
    rp_group *g = idle("imbalance", 1e-3);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.4);
    fixture_set(g, RP_Q_OCCUPANCY_THEORETICAL, 1);
    g = idle("occupancy", 1e-3);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.12);
    fixture_set(g, RP_Q_OCCUPANCY_THEORETICAL, 0.125);
    g = idle("eligible", 1e-3);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.9);
    fixture_set(g, RP_Q_OCCUPANCY_THEORETICAL, 1);
    fixture_set(g, RP_Q_WARPS_ELIGIBLE, 0.2);
    g = idle("dependency", 1e-3);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.9);
    fixture_set(g, RP_Q_OCCUPANCY_THEORETICAL, 1);
    fixture_set(g, RP_Q_WARPS_ELIGIBLE, 2);
    idle("bare", 1e-3);
    fixture_analyse(&f);
    assert_latency("wave", "grid under one wave (0.4)");
    assert_latency("lanes", "idle lanes: 8.0 of 32");
    assert_latency("short", "short kernel (4.0 us)");
    assert_latency("imbalance", "imbalance: 40 %");
    assert_latency("occupancy", "low occupancy: 12 %");
    assert_latency("eligible", "few eligible warps: 0.20");
    assert_latency("dependency", "dependency");
    assert_latency("bare", "no roof is near; occupancy and schedulers were not counted");
}

/* A small grid is evidence enough, even where nothing was counted but bytes; the wave is worked out
 * from the launch shape. */
static void small_grid_needs_no_counters(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_shape(g, 60, 256);
    fixture_analyse(&f);
    assert_latency("k", "grid under one wave (0.069)");
}

/* Waves follow from what fits on a multiprocessor (an A100's: 2048 threads, 32 blocks, 65536
 * registers, 164 KiB of shared memory), whichever runs out first. */
static void waves_of_a_shape(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t block;
        int64_t registers, shared_static, shared_dynamic;
        double fit; /* blocks of a multiprocessor */
    } rows[] = {{"blocks", 32, -1, -1, -1, 32},
                {"threads", 1024, -1, -1, -1, 2},
                {"odd threads", 33, -1, -1, -1, 32}, /* two warps: 64 threads each */
                {"registers", 1024, 64, -1, -1, 1},
                {"rounded registers", 256, 33, -1, -1, 6}, /* 1280 a warp */
                {"shared", 32, -1, 1024, 80 * 1024, 2},
                {"static", 32, -1, 40 * 1024, -1, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_group *g = fixture_kernel(&f, rows[i].name, 1, 1e-3);
        fixture_shape(g, 108 * 64, rows[i].block);
        g->registers = rows[i].registers;
        g->shared_static = rows[i].shared_static;
        g->shared_dynamic = rows[i].shared_dynamic;
    }
    fixture_analyse(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rp_report_kernel *k = fixture_find(&f, rows[i].name);
        double warps = ceil(rows[i].block / 32.0);
        if (fabs(k->waves - 64 / rows[i].fit) > 1e-9)
            fail_msg("%s: %g waves, not %g", rows[i].name, k->waves, 64 / rows[i].fit);
        assert_near(k->occupancy_limit, fmin(1, rows[i].fit * warps / 64), 1e-9);
    }
}

static void unknown_without_evidence(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "some", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.3e-3 * DRAM);
    fixture_kernel(&f, "none", 1, 1e-3);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "some");
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_non_null(strstr(k->reason, "below the roofs that were counted (30 %)"));
    assert_non_null(strstr(k->reason, "instruction issue"));
    assert_int_equal(k->side, RP_SIDE_UNKNOWN);
    k = fixture_find(&f, "none");
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_string_equal(k->reason, "no counts: only times are known");
    assert_unknown(k->roof_fraction);
    assert_unknown(k->time_lost_s);
    assert_unknown(k->flops_total);
}

/* FLOPs of 0 and nothing else counted: no roof of 0 s, no fraction, no time lost. */
static void zeros_are_no_roof(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "copy", 1, 1e-3);
    fixture_shape(g, 4096, 256);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 0);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "copy");
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_non_null(strstr(k->reason, "not counted"));
    assert_unknown(k->roof_time_s);
    assert_unknown(k->roof_fraction);
    assert_unknown(k->time_lost_s);
    rp_projection there;
    const rp_device *device;
    assert_int_equal(rp_hwdb_find(f.hwdb, "H100-SXM5-80GB", &device, NULL, NULL), RP_OK);
    rp_project(&f.report, k, f.hwdb, device, &there);
    assert_unknown(there.low_s);
    assert_unknown(there.likely_s);
}

/* Integer work that no FLOP counter shows forbids "latency", but is no roof either: multiply-adds
 * may run on another pipe. */
static void integer_upper_bound(void **state) {
    (void)state;
    rp_group *g = streaming("sass", 0, 0.1);
    fixture_set(g, RP_Q_INST_INTEGER, 0.8 * 64 * CLOCKS * 1e-3);
    g = streaming("pipe", 0, 0.1);
    fixture_set(g, RP_Q_INST_INTEGER, 0.8 * 64 * CLOCKS * 1e-3);
    fixture_set(g, RP_Q_PIPE_ALU, 0.7 * 2 * CLOCKS * 1e-3);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "sass");
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_non_null(strstr(k->reason, "int32_vector work may bind it: up to 80 %"));
    assert_int_equal(k->side, RP_SIDE_COMPUTE);
    k = fixture_find(&f, "pipe");
    assert_int_equal(k->bound, RP_BOUND_COMPUTE);
    assert_string_equal(k->bound_by, "int32_vector");
    assert_near(k->roof_fraction, 0.7, 0.005);
}

static void integer_only(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0, 0.1);
    fixture_set(g, RP_Q_INST_FP32_FMA, 0);
    fixture_set(g, RP_Q_INST_INTEGER, 1e6);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_true(k->intensity[RP_DRAM] == 0);
    assert_int_equal(k->note_count, 1);
    assert_non_null(strstr(k->notes[0], "integer work only"));
}

/* The ridge of a kernel of two precisions lies between theirs; what is attainable is the roof. */
static void ridge_and_attainable(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 1e9);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e9);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_near(k->ridge, CLOCKS * 128 / DRAM, 0.01);
    assert_near(k->attainable_flops_per_s, DRAM, DRAM * 0.001);
    fixture_set(g, RP_Q_FLOPS_FP64_VECTOR, 1e9);
    fixture_analyse(&f);
    k = fixture_find(&f, "k");
    assert_near(k->ridge, 2 / (1 / (CLOCKS * 128) + 1 / (CLOCKS * 64)) / DRAM, 0.01);
}

static void sparse_peaks_where_asked_for(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP16_TENSOR, 1.5 * CLOCKS * 2048 * 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_near(k->roof_fraction, 1.5, 0.01);
    assert_true(k->above_roof);
    assert_non_null(strstr(k->above_reason, "--sparse"));
    f.options.sparse = true;
    fixture_analyse(&f);
    k = fixture_find(&f, "k");
    assert_near(k->roof_fraction, 0.75, 0.01);
    assert_false(k->above_roof);
    /* FP64 has no sparse operations: its peak is the dense one, and not marked */
    g = fixture_kernel(&f, "fp64", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP64_TENSOR, 0.9 * CLOCKS * 128 * 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_analyse(&f);
    assert_near(fixture_find(&f, "fp64")->roof_fraction, 0.9, 0.01);
    assert_int_equal(fixture_find(&f, "fp64")->side, RP_SIDE_COMPUTE);
    size_t sparse = 0, dense = 0;
    for (size_t i = 0; i < f.report.devices[0].ceiling_count; i++) {
        const rp_ceiling *c = &f.report.devices[0].ceilings[i];
        bool tensor = c->compute && c->path == RP_TENSOR;
        sparse += c->sparse;
        dense += tensor && !c->sparse;
        assert_true(tensor || !c->sparse);
        assert_true(!tensor || c->sparse == (c->precision != RP_FP64 && c->precision != RP_INT1));
    }
    assert_true(sparse >= 4 && dense >= 1);
}

/* GeForce runs FP16 accumulation at twice the rate of FP32 accumulation: each has its own peak. */
static void accumulate_types_have_their_own_peak(void **state) {
    (void)state;
    fixture_end(&f);
    fixture_start(&f, "NVIDIA GeForce RTX 3090");
    rp_group *g = fixture_kernel(&f, "acc16", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP16_ACC16_TENSOR, 0.12e12); /* 120 TFLOP/s */
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    g = fixture_kernel(&f, "acc32", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP16_TENSOR, 0.12e12);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "acc16");
    assert_near(k->roof_fraction, 120 / 142.0, 0.02);
    assert_string_equal(k->bound_by, "fp16_acc16_tensor");
    assert_int_equal(k->side, RP_SIDE_COMPUTE);
    k = fixture_find(&f, "acc32");
    assert_near(k->roof_fraction, 120 / 71.0, 0.04);
    assert_true(k->above_roof);
}

/* A card with a name that the database does not have is derived, and said to be. */
static void derived_device_is_said(void **state) {
    (void)state;
    fixture_end(&f);
    fixture_start(&f, "NVIDIA Unheard Of 9000");
    rp_profile_device *device = &f.profile.devices[0];
    device->cc_major = 8;
    device->cc_minor = 0;
    device->sm_count = 50;
    device->sm_clock_hz = 1e9;
    device->memory_clock_hz = 1e9;
    device->memory_bus_bits = 1024;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.9e-3 * 256e9);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_MEMORY);
    assert_near(k->roof_fraction, 0.9, 0.01);
    bool said = false;
    for (size_t i = 0; i < f.report.note_count; i++)
        said = said || strstr(f.report.notes[i].text, "not in the hardware database");
    assert_true(said);
}

static void no_arithmetic(void **state) {
    (void)state;
    rp_group *g = streaming("transpose", 0, 0.7);
    fixture_set(g, RP_Q_INST_FP32_FMA, 0);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "transpose");
    assert_true(k->flops_total == 0);
    assert_true(k->intensity[RP_DRAM] == 0);
    assert_int_equal(k->side, RP_SIDE_MEMORY);
    assert_int_equal(k->bound, RP_BOUND_MEMORY);
}

/* ---- Above the roof -------------------------------------------------------------------------- */

static void above_the_roof(void **state) {
    (void)state;
    streaming("counted", 0.1, 1.0887);
    rp_group *g = fixture_kernel(&f, "algorithmic", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 2.25e-3 * DRAM);
    g->provenance[RP_Q_DRAM_BYTES] = RP_USER;
    streaming("boosted", 1.04, 0.1);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "counted");
    assert_true(k->above_roof);
    assert_near(k->roof_fraction, 1.0887, 0.002);
    assert_true(k->time_lost_s < 0);
    k = fixture_find(&f, "algorithmic");
    assert_true(k->above_roof);
    assert_near(k->roof_fraction, 2.25, 0.01);
    assert_non_null(strstr(k->above_reason, "stays in cache"));
    k = fixture_find(&f, "boosted");
    assert_true(k->above_roof);
    assert_non_null(strstr(k->above_reason, "boosted"));
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

/* At half the clock the same share of the peak is the same verdict; against the nominal peak it is
 * half of it. */
static void observed_clock_rules(void **state) {
    (void)state;
    f.profile.devices[0].observed_sm_clock_hz = 0.705e9;
    streaming("k", 0.45, 0.1);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_near(k->roof_fraction, 0.9, 0.005);
    assert_near(k->nominal_fraction, 0.45, 0.005);
    assert_int_equal(k->bound, RP_BOUND_COMPUTE);
}

static void short_kernels_take_the_median_clock(void **state) {
    (void)state;
    f.profile.devices[0].observed_sm_clock_hz = 1.41e9;
    rp_group *g = fixture_kernel(&f, "short", 1, 5e-6);
    fixture_set(g, RP_Q_SM_CLOCK, 1e9);
    g = fixture_kernel(&f, "long", 1, 5e-3);
    fixture_set(g, RP_Q_SM_CLOCK, 1e9);
    fixture_analyse(&f);
    assert_near(fixture_find(&f, "short")->clock_hz, 1.41e9, 1);
    assert_near(fixture_find(&f, "long")->clock_hz, 1e9, 1);
}

/* ---- Calibrated ceilings --------------------------------------------------------------------- */

static void calibration_moves_time_lost_not_the_verdict(void **state) {
    (void)state;
    static rp_capture_ceiling measured = {
        .level = "dram", .rate = 0.9 * DRAM, .provenance = RP_CALIBRATED};
    streaming("k", 0.1, 0.8);
    f.profile.devices[0].ceilings = &measured;
    f.profile.devices[0].ceiling_count = 1;
    fixture_analyse(&f);
    f.profile.devices[0].ceilings = NULL; /* not the profile's to free */
    f.profile.devices[0].ceiling_count = 0;
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_near(k->roof_fraction, 0.8, 0.002);
    assert_near(k->calibrated_fraction, 0.8 / 0.9, 0.002);
    assert_near(k->time_lost_s, 1e-3 * (1 - 0.8 / 0.9), 0.005e-3);
    bool drawn = false;
    for (size_t i = 0; i < f.report.devices[0].ceiling_count; i++) {
        const rp_ceiling *c = &f.report.devices[0].ceilings[i];
        if (!c->compute && c->level == RP_DRAM) {
            drawn = true;
            assert_int_equal(c->provenance, RP_CALIBRATED);
            assert_near(c->rate, 0.9 * DRAM, 1);
        }
    }
    assert_true(drawn);
}

/* ---- Halves, tensor, imports, models, devices ------------------------------------------------ */

/* HFMA2 also moves registers: below a tenth of the instructions it turns no kernel to the compute
 * side. */
static void register_moves_do_not_turn_the_side(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0.1, 0.15);
    double moves = 0.3 * CLOCKS * 128 * 1e-3; /* would take 0.3 of the time */
    fixture_set(g, RP_Q_INST_FP16_FMA, moves);
    fixture_set(g, RP_Q_THREAD_INSTS, moves * 20);
    fixture_set(g, RP_Q_WARP_INSTS, moves * 20 / 32);
    fixture_analyse(&f);
    assert_int_equal(fixture_find(&f, "k")->side, RP_SIDE_MEMORY);
    fixture_set(g, RP_Q_THREAD_INSTS, moves * 2);
    fixture_set(g, RP_Q_WARP_INSTS, moves * 2 / 32);
    fixture_analyse(&f);
    assert_int_equal(fixture_find(&f, "k")->side, RP_SIDE_COMPUTE);
}

static void tensor_work_that_was_not_counted(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0.05, 0.3);
    fixture_set(g, RP_Q_WARP_INSTS, 1e6);
    fixture_set(g, RP_Q_THREAD_INSTS, 32e6);
    fixture_set(g, RP_Q_TENSOR_PIPE_INSTS, 2e5);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_true(k->flops_lower_bound);
    assert_int_equal(k->side, RP_SIDE_UNKNOWN);
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_non_null(strstr(k->reason, "tensor operations"));
    /* the pipe alone is a trigger: with operations counted there is nothing missing */
    fixture_set(g, RP_Q_FLOPS_FP16_TENSOR, 0.9 * CLOCKS * 2048 * 1e-3);
    fixture_analyse(&f);
    k = fixture_find(&f, "k");
    assert_false(k->flops_lower_bound);
    assert_string_equal(k->bound_by, "fp16_tensor");
    /* and half FMAs that were routed to it are none */
    fixture_set(g, RP_Q_FLOPS_FP16_TENSOR, NAN);
    fixture_set(g, RP_Q_TENSOR_PIPE_HFMA2, 2e5);
    fixture_analyse(&f);
    assert_false(fixture_find(&f, "k")->flops_lower_bound);
}

/* The exporter's own percentages are ceilings too, but the load/store unit that it counts under SM
 * is the access path here. */
static void imported_percentages(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "sm", 1, 1e-3);
    fixture_set(g, RP_Q_FRACTION_SM, 0.73);
    fixture_set(g, RP_Q_FRACTION_MEMORY, 0.3);
    g = fixture_kernel(&f, "issue", 1, 1e-3);
    fixture_set(g, RP_Q_FRACTION_SM, 0.73);
    fixture_set(g, RP_Q_FRACTION_ISSUE, 0.72);
    fixture_set(g, RP_Q_FRACTION_ALU_PIPE, 0.5);
    g = fixture_kernel(&f, "lsu", 1, 1e-3);
    fixture_set(g, RP_Q_FRACTION_SM, 0.91);
    fixture_set(g, RP_Q_FRACTION_LSU, 0.91);
    fixture_set(g, RP_Q_FRACTION_MEMORY, 0.5);
    g = fixture_kernel(&f, "idle", 1, 1e-3);
    fixture_set(g, RP_Q_FRACTION_SM, 0.2);
    fixture_set(g, RP_Q_FRACTION_MEMORY, 0.3);
    fixture_analyse(&f);
    assert_int_equal(fixture_find(&f, "sm")->bound, RP_BOUND_COMPUTE);
    assert_string_equal(fixture_find(&f, "sm")->bound_by, "sm");
    /* where one unit explains the overall percentage, that is the limit */
    assert_string_equal(fixture_find(&f, "issue")->bound_by, "issue");
    assert_int_equal(fixture_find(&f, "lsu")->bound, RP_BOUND_MEMORY);
    assert_string_equal(fixture_find(&f, "lsu")->bound_by, "l1 access path");
    assert_int_equal(fixture_find(&f, "idle")->bound, RP_BOUND_LATENCY);
}

static void modelled_times_are_not_judged(void **state) {
    (void)state;
    rp_group *g = streaming("k", 0.1, 1.5);
    g->time_provenance = RP_MODELLED;
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_true(k->modelled);
    assert_unknown(k->roof_fraction);
    assert_unknown(k->time_lost_s);
    assert_false(k->above_roof);
    assert_int_equal(k->bound, RP_BOUND_MEMORY);
    assert_true(f.report.modelled);
    assert_unknown(f.report.compute);
    bool said = false;
    for (size_t i = 0; i < f.report.note_count; i++)
        said = said || strstr(f.report.notes[i].text, "times are modelled, not measured");
    assert_true(said);
}

static void unknown_device(void **state) {
    fixture_end(&f);
    fixture_start(&f, NULL);
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e9);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_non_null(strstr(k->reason, "--device"));
    assert_true(f.report.note_count > 0);
    f.options.device_name = "A100-SXM4-40GB";
    fixture_analyse(&f);
    assert_near(fixture_find(&f, "k")->roof_fraction, 1e9 / DRAM / 1e-3, 0.005);
}

static void unknown_device_name_is_an_error(void **state) {
    (void)state;
    rp_error error = {0};
    fixture_kernel(&f, "k", 1, 1e-3);
    f.options.device_name = "Voodoo 2";
    assert_int_equal(rp_analyse(&f.profile, f.hwdb, &f.options, &f.report, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "Voodoo 2"));
    assert_null(f.report.kernels);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_bound),
        TEST(compute_bound),
        TEST(balanced),
        TEST(fp64_by_instructions),
        TEST(issue_bound),
        TEST(bound_by_access_path),
        TEST(latency_ladder),
        TEST(small_grid_needs_no_counters),
        TEST(waves_of_a_shape),
        TEST(unknown_without_evidence),
        TEST(zeros_are_no_roof),
        TEST(integer_upper_bound),
        TEST(accumulate_types_have_their_own_peak),
        TEST(derived_device_is_said),
        TEST(integer_only),
        TEST(ridge_and_attainable),
        TEST(sparse_peaks_where_asked_for),
        TEST(no_arithmetic),
        TEST(above_the_roof),
        TEST(observed_clock_rules),
        TEST(short_kernels_take_the_median_clock),
        TEST(calibration_moves_time_lost_not_the_verdict),
        TEST(register_moves_do_not_turn_the_side),
        TEST(tensor_work_that_was_not_counted),
        TEST(imported_percentages),
        TEST(modelled_times_are_not_judged),
        TEST(unknown_device),
        TEST(unknown_device_name_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
