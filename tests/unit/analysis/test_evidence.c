/* SPDX-License-Identifier: Apache-2.0
 *
 * Each ceiling by itself: the time that its work takes at its peak, what it counts as, from where
 * it is known, and what is said where it is passed. The device is an A100 40 GB at its nominal
 * clock, whose rates per clock and SM are written out here.
 */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static const rp_evidence *evidence(const char *kernel, const char *key) {
    const rp_report_kernel *k = fixture_find(&f, kernel);
    for (size_t i = 0; i < k->evidence_count; i++)
        if (strcmp(k->evidence[i].key, key) == 0)
            return &k->evidence[i];
    return NULL;
}

/* Work of 1e6 of a quantity in each of two launches, at a rate per clock and SM. */
static void every_quantity_at_its_own_peak(void **state) {
    (void)state;
    static const struct {
        rp_quantity quantity;
        const char *key;
        bool compute, upper_bound;
        double work_each; /* of the evidence, for one of the quantity */
        double rate;      /* per clock and SM; 0: DRAM's, which has no clock */
        const char *unit;
    } rows[] = {
        {RP_Q_DRAM_BYTES, "dram", false, false, 1, 0, "byte"},
        {RP_Q_L1_BYTES, "l1", false, false, 1, 128, "byte"},
        {RP_Q_SHARED_BYTES, "shared", false, false, 1, 128, "byte"},
        {RP_Q_LSU_REQUESTS, "lsu_requests", false, false, 1, 1, "inst"},
        {RP_Q_L1_WAVEFRONTS, "wavefronts", false, false, 1, 1, "wavefront"},
        {RP_Q_FLOPS_FP64_VECTOR, "fp64_vector", true, false, 1, 64, "flop"},
        {RP_Q_FLOPS_FP32_VECTOR, "fp32_vector", true, false, 1, 128, "flop"},
        {RP_Q_FLOPS_FP64_TENSOR, "fp64_tensor", true, false, 1, 128, "flop"},
        {RP_Q_FLOPS_TF32_TENSOR, "tf32_tensor", true, false, 1, 1024, "flop"},
        {RP_Q_FLOPS_BF16_TENSOR, "bf16_tensor", true, false, 1, 2048, "flop"},
        {RP_Q_FLOPS_FP16_TENSOR, "fp16_tensor", true, false, 1, 2048, "flop"},
        {RP_Q_OPS_INT8_TENSOR, "int8_tensor", true, false, 1, 4096, "op"},
        {RP_Q_OPS_INT32_VECTOR, "int32_vector", true, true, 1, 64, "op"},
        {RP_Q_INST_FP64, "fp64_insts", true, false, 1, 32, "inst"},
        {RP_Q_PIPE_FP64, "fp64_pipe", true, false, 1, 1, "inst"},
        {RP_Q_PIPE_FMA, "fma_pipe", true, false, 1, 2, "inst"},
        {RP_Q_PIPE_ALU, "alu_pipe", true, false, 1, 2, "inst"},
        {RP_Q_PIPE_XU, "xu_pipe", true, false, 1, 0.5, "inst"},
        {RP_Q_WARP_INSTS, "issue", true, false, 1, 4, "inst"},
        {RP_Q_INST_INTEGER, "integer_and_bit", true, true, 1.0 / 32, 2, "inst"},
        {RP_Q_INST_CONVERSION, "conversion", true, true, 1.0 / 32, 0.5, "inst"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_group *g = fixture_kernel(&f, rows[i].key, 2, 1e-3);
        fixture_set(g, rows[i].quantity, 1e6);
    }
    fixture_analyse(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rp_evidence *e = evidence(rows[i].key, rows[i].key);
        double peak = rows[i].rate > 0 ? rows[i].rate * CLOCKS : DRAM;
        if (!e)
            fail_msg("no ceiling %s", rows[i].key);
        assert_near(e->work, 2e6 * rows[i].work_each, 1e-6);
        if (fabs(e->peak / peak - 1) > 1e-3)
            fail_msg("%s: peak %g, not %g", rows[i].key, e->peak, peak);
        assert_near(e->time_s, e->work / e->peak, 1e-12);
        assert_true(e->drawn_peak == e->peak); /* nothing is calibrated */
        if (e->compute != rows[i].compute || e->upper_bound != rows[i].upper_bound)
            fail_msg("%s counts as something else", rows[i].key);
        assert_false(e->imported);
        assert_string_equal(e->work_unit, rows[i].unit);
        if (e->work_provenance != RP_COUNTED)
            fail_msg("%s: %s", rows[i].key, rp_provenance_name(e->work_provenance));
        assert_non_null(e->source);
        /* all others of this kernel are not known, and no zero */
        for (size_t j = 0; j < fixture_find(&f, rows[i].key)->evidence_count; j++) {
            const rp_evidence *other = &fixture_find(&f, rows[i].key)->evidence[j];
            if (other->work > 0 || strcmp(other->key, "fp32_vector") == 0 ||
                strcmp(other->key, "fp64_vector") == 0)
                continue;
            assert_unknown(other->time_s);
            assert_int_equal(other->work_provenance, RP_ABSENT);
        }
    }
}

/* Where nothing was counted, what would have to be is listed, and nothing else. */
static void what_is_always_listed(void **state) {
    (void)state;
    static const char *const keys[] = {"dram",        "l2",           "l1",
                                       "shared",      "lsu_requests", "wavefronts",
                                       "fp64_vector", "fp32_vector",  "issue"};
    fixture_kernel(&f, "k", 1, 1e-3);
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->evidence_count, sizeof keys / sizeof *keys);
    for (size_t i = 0; i < k->evidence_count; i++) {
        assert_string_equal(k->evidence[i].key, keys[i]);
        assert_unknown(k->evidence[i].time_s);
        assert_int_equal(k->evidence[i].work_provenance, RP_ABSENT);
    }
}

/* With half of the lanes idle, instructions take the place of twice as many. */
static void idle_lanes_take_time(void **state) {
    (void)state;
    static const struct {
        rp_quantity quantity;
        const char *key;
        double work_each;
    } rows[] = {{RP_Q_INST_FP64_FMA, "fp64_insts", 2},
                {RP_Q_INST_FP32_FMA, "fp32_insts", 2},
                {RP_Q_INST_FP16_FMA, "fp16_insts", 2},
                {RP_Q_INST_INTEGER, "integer_and_bit", 2.0 / 32},
                {RP_Q_INST_CONVERSION, "conversion", 2.0 / 32}};
    for (int idle = 0; idle < 3; idle++) { /* 2: more lanes than there are, by sampling: all */
        fixture_end(&f);
        fixture_start(&f, "NVIDIA A100-SXM4-40GB");
        rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
        for (rp_quantity q = RP_Q_INST_FP64_ADD; q <= RP_Q_INST_FP16_FMA; q++)
            fixture_set(g, q, 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            fixture_set(g, rows[i].quantity, 3.2e6);
        fixture_set(g, RP_Q_INST_BIT, 3.2e6);
        fixture_set(g, RP_Q_WARP_INSTS, idle == 2 ? 0.8e6 : 1e6);
        fixture_set(g, RP_Q_THREAD_INSTS, idle == 1 ? 16e6 : 32e6);
        fixture_analyse(&f);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const rp_evidence *e = evidence("k", rows[i].key);
            double bits = i == 3 ? 2 : 1; /* integer and bit work share a pipe */
            assert_non_null(e);
            assert_near(e->work, (idle == 1 ? 1 : 0.5) * bits * rows[i].work_each * 3.2e6, 1e-3);
        }
        assert_near(fixture_find(&f, "k")->lanes, idle == 1 ? 0.5 : idle ? 1.25 : 1, 1e-12);
    }
}

/* A tenth of the instructions is where half-precision ones begin to count. */
static void halves_count_from_a_tenth_on(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_INST_FP16_ADD, 0);
    fixture_set(g, RP_Q_INST_FP16_MUL, 0);
    fixture_set(g, RP_Q_INST_FP16_FMA, 100);
    fixture_set(g, RP_Q_THREAD_INSTS, 1000);
    fixture_analyse(&f);
    assert_false(fixture_find(&f, "k")->half_moves);
    assert_non_null(evidence("k", "fp16_insts"));
    fixture_set(g, RP_Q_THREAD_INSTS, 1001);
    fixture_analyse(&f);
    assert_true(fixture_find(&f, "k")->half_moves);
    assert_null(evidence("k", "fp16_insts"));
}

/* The exporter's percentages: a share of the measured time, whatever the device. */
static void every_imported_percentage(void **state) {
    (void)state;
    static const struct {
        rp_quantity quantity;
        const char *key, *limit;
        bool compute;
    } rows[] = {
        {RP_Q_FRACTION_SM, "sm (imported)", "sm", true},
        {RP_Q_FRACTION_ISSUE, "issue (imported)", "issue", true},
        {RP_Q_FRACTION_FP64_PIPE, "fp64_pipe (imported)", "fp64_vector", true},
        {RP_Q_FRACTION_FMA_PIPE, "fma_pipe (imported)", "fp32_vector", true},
        {RP_Q_FRACTION_ALU_PIPE, "alu_pipe (imported)", "int32_vector", true},
        {RP_Q_FRACTION_XU_PIPE, "xu_pipe (imported)", "special functions", true},
        {RP_Q_FRACTION_TENSOR_PIPE, "tensor_pipe (imported)", "tensor", true},
        {RP_Q_FRACTION_MEMORY, "memory (imported)", "memory", false},
        {RP_Q_FRACTION_DRAM, "dram (imported)", "dram", false},
        {RP_Q_FRACTION_L2, "l2 (imported)", "l2", false},
        {RP_Q_FRACTION_LSU, "lsu (imported)", "l1 access path", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_group *g = fixture_kernel(&f, rows[i].key, 4, 1e-3);
        fixture_set(g, rows[i].quantity, 0.75);
        g->provenance[rows[i].quantity] = RP_IMPORTED;
    }
    rp_group *g = fixture_kernel(&f, "l1", 4, 1e-3);
    fixture_set(g, RP_Q_FRACTION_L1, 0.9);
    fixture_analyse(&f);
    assert_null(evidence("l1", "l1 (imported)")); /* of active cycles, whose share is not known */
    fixture_set(g, RP_Q_SM_CYCLES, 1000);
    fixture_set(g, RP_Q_SM_CYCLES_ACTIVE, 800 * 108);
    fixture_analyse(&f);
    assert_near(evidence("l1", "l1 (imported)")->time_s, 0.9 * 0.8 * 4e-3, 1e-9);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rp_report_kernel *k = fixture_find(&f, rows[i].key);
        const rp_evidence *e = evidence(rows[i].key, rows[i].key);
        if (!e)
            fail_msg("no ceiling %s", rows[i].key);
        assert_near(e->time_s, 3e-3, 1e-12);
        assert_true(e->imported);
        assert_int_equal(e->work_provenance, RP_IMPORTED);
        assert_int_equal(e->compute, rows[i].compute);
        assert_unknown(e->work);
        assert_int_equal(k->bound, rows[i].compute ? RP_BOUND_COMPUTE : RP_BOUND_MEMORY);
        assert_string_equal(k->bound_by, rows[i].limit);
        assert_near(k->roof_fraction, 0.75, 1e-12);
        assert_near(k->nominal_fraction, 0.75, 1e-12);
    }
}

/* ---- Sides that cannot be told --------------------------------------------------------------- */

static void sides_that_are_not_known(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "no bytes", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 1e9);
    g = fixture_kernel(&f, "no flops", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e9);
    g = fixture_kernel(&f, "no peak", 1, 1e-3); /* an A100 has no FP8 */
    fixture_set(g, RP_Q_FLOPS_FP8_TENSOR, 1e9);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_analyse(&f);
    assert_int_equal(fixture_find(&f, "no bytes")->side, RP_SIDE_UNKNOWN);
    assert_int_equal(fixture_find(&f, "no flops")->side, RP_SIDE_UNKNOWN);
    assert_int_equal(fixture_find(&f, "no peak")->side, RP_SIDE_UNKNOWN);
}

/* ---- Peaks that came with the capture -------------------------------------------------------- */

static rp_capture_ceiling collected[3] = {
    {.compute = true,
     .precision = "fp32",
     .path = "vector",
     .rate = 1e12,
     .provenance = RP_THEORETICAL},
    {.level = "dram", .rate = 1e11, .provenance = RP_THEORETICAL},
    {.level = "l2", .rate = 4e11, .provenance = RP_THEORETICAL}};

static void with_collected(void) {
    f.profile.devices[0].ceilings = collected;
    f.profile.devices[0].ceiling_count = 3;
    fixture_analyse(&f);
    f.profile.devices[0].ceilings = NULL; /* not the profile's to free */
    f.profile.devices[0].ceiling_count = 0;
}

/* They are of the clock that was observed. At the nominal one arithmetic and caches are faster,
 * DRAM is not. Integer work without a peak does not hide the side. */
static void collected_peaks(void **state) {
    (void)state;
    fixture_end(&f);
    fixture_start(&f, NULL);
    f.profile.devices[0].sm_clock_hz = 2e9;
    f.profile.devices[0].observed_sm_clock_hz = 1e9;
    rp_group *g = fixture_kernel(&f, "compute", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 0.8e9);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e7);
    fixture_set(g, RP_Q_OPS_INT32_VECTOR, 1e6);
    g = fixture_kernel(&f, "dram", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 0.9e8);
    g = fixture_kernel(&f, "l2", 1, 1e-3);
    fixture_set(g, RP_Q_L2_BYTES, 2.8e8);
    with_collected();
    const rp_report_kernel *k = fixture_find(&f, "compute");
    assert_near(k->roof_fraction, 0.8, 1e-9);
    assert_near(k->nominal_fraction, 0.4, 1e-9);
    assert_int_equal(k->side, RP_SIDE_COMPUTE);
    k = fixture_find(&f, "dram");
    assert_near(k->roof_fraction, 0.9, 1e-9);
    assert_near(k->nominal_fraction, 0.9, 1e-9);
    k = fixture_find(&f, "l2");
    assert_near(k->roof_fraction, 0.7, 1e-9);
    assert_near(k->nominal_fraction, 0.35, 1e-9);
}

/* ---- What is said of the device -------------------------------------------------------------- */

static void what_is_said_of_the_device(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 1e-3);
    fixture_analyse(&f);
    assert_string_equal(f.report.devices[0].source,
                        "A100-SXM4-40GB, by name; theoretical ceilings at nominal clock, none was "
                        "observed");
    f.profile.devices[0].observed_sm_clock_hz = 1.2e9;
    fixture_analyse(&f);
    assert_string_equal(f.report.devices[0].source,
                        "A100-SXM4-40GB, by name; theoretical ceilings at 1200 MHz observed "
                        "(nominal 1410 MHz)");
    f.options.device_name = "V100-SXM2-16GB";
    fixture_analyse(&f);
    assert_string_equal(f.report.devices[0].source,
                        "V100-SXM2-16GB, by --device; theoretical ceilings at 1200 MHz observed "
                        "(nominal 1530 MHz)");
    f.options.device_name = NULL;
    free(f.profile.devices[0].name);
    f.profile.devices[0].name = strdup("Unheard Of");
    fixture_analyse(&f);
    assert_string_equal(f.report.devices[0].source,
                        "not found in the hardware database; no ceilings");
    assert_non_null(strstr(f.report.notes[0].text, "device 0 Unheard Of is not in"));
    free(f.profile.devices[0].name);
    f.profile.devices[0].name = NULL;
    with_collected();
    assert_string_equal(f.report.devices[0].source,
                        "not named in the capture; theoretical ceilings at 1200 MHz observed");
    fixture_analyse(&f);
    assert_non_null(strstr(f.report.notes[0].text, "the capture does not name device 0"));
    collected[1].provenance = RP_MEASURED;
    with_collected();
    assert_non_null(strstr(f.report.devices[0].source, "calibrated and theoretical ceilings"));
    collected[0].provenance = collected[2].provenance = RP_IMPORTED;
    with_collected();
    assert_non_null(strstr(f.report.devices[0].source, "; calibrated and imported ceilings at"));
    collected[0].provenance = collected[2].provenance = RP_THEORETICAL;
    collected[1].provenance = RP_THEORETICAL;
}

/* ---- Above the roof -------------------------------------------------------------------------- */

static void assert_above(const char *kernel, const char *reason) {
    const rp_report_kernel *k = fixture_find(&f, kernel);
    assert_true(k->above_roof);
    assert_string_equal(k->above_reason, reason);
}

static rp_group *above(const char *name, rp_quantity quantity, double value, double time_s) {
    rp_group *g = fixture_kernel(&f, name, 1, time_s);
    fixture_set(g, quantity, value * time_s);
    return g;
}

/* Each cause where it applies, and nowhere else. */
static void reasons_above_the_roof(void **state) {
    (void)state;
    above("dram", RP_Q_DRAM_BYTES, 1.5 * DRAM, 1e-3);
    above("user", RP_Q_DRAM_BYTES, 1.5 * DRAM, 1e-3)->provenance[RP_Q_DRAM_BYTES] = RP_USER;
    above("emulated", RP_Q_DRAM_BYTES, 1.5 * DRAM, 1e-3)->provenance[RP_Q_DRAM_BYTES] = RP_EMULATED;
    above("l1", RP_Q_L1_BYTES, 1.5 * 128 * CLOCKS, 1e-3);
    above("compute", RP_Q_FLOPS_FP32_VECTOR, 1.5 * 128 * CLOCKS, 1e-3);
    above("flops", RP_Q_FLOPS_FP32_VECTOR, 1.5 * 128 * CLOCKS, 1e-3)
        ->provenance[RP_Q_FLOPS_FP32_VECTOR] = RP_USER;
    above("half", RP_Q_FLOPS_FP16_VECTOR, 1.5 * 512 * CLOCKS, 1e-3);
    above("tensor", RP_Q_FLOPS_BF16_TENSOR, 1.9 * 2048 * CLOCKS, 1e-3);
    above("thrice", RP_Q_FLOPS_BF16_TENSOR, 3 * 2048 * CLOCKS, 1e-3);
    above("short", RP_Q_DRAM_BYTES, 1.5 * DRAM, 5e-6);
    rp_group *g = above("sampled", RP_Q_DRAM_BYTES, 1.5 * DRAM, 1e-3);
    g->launches = 3; /* of which one was counted and timed */
    above("imported", RP_Q_FRACTION_DRAM, 1.5e3, 1e-3);
    fixture_analyse(&f);
    assert_above("dram", "150 % of dram; another memory size or clock of the same part; time and "
                         "bytes from different runs");
    assert_above("user", "150 % of dram; bytes were not counted on the device: data that stays in "
                         "cache never reaches dram");
    assert_non_null(
        strstr(fixture_find(&f, "emulated")->above_reason, "not counted on the device"));
    assert_above("l1", "150 % of l1; the l1 peak follows the SM clock, its own may be higher");
    assert_above("compute", "150 % of fp32_vector; the clock may have boosted above the nominal "
                            "one: none was observed");
    assert_above("flops", "150 % of fp32_vector; the FLOPs are what --work says; the clock may "
                          "have boosted above the nominal one: none was observed");
    assert_non_null(strstr(fixture_find(&f, "half")->above_reason, "taken as packed"));
    assert_non_null(strstr(fixture_find(&f, "tensor")->above_reason, "2:4 sparse"));
    assert_null(strstr(fixture_find(&f, "tensor")->above_reason, "packed"));
    assert_null(strstr(fixture_find(&f, "thrice")->above_reason, "2:4 sparse"));
    assert_non_null(strstr(fixture_find(&f, "short")->above_reason, "too short"));
    assert_false(fixture_find(&f, "imported")->above_roof); /* no peak of ours is passed */
    f.profile.devices[0].observed_sm_clock_hz = 1.41e9;
    fixture_analyse(&f);
    assert_above("compute", "150 % of fp32_vector");
}

/* A name given with --device is certain; a guess is said first. */
static void a_guessed_device_is_a_reason(void **state) {
    (void)state;
    free(f.profile.devices[0].name);
    f.profile.devices[0].name = NULL;
    f.profile.devices[0].cc_major = 8;
    f.profile.devices[0].cc_minor = 0;
    f.profile.devices[0].sm_count = 108;
    f.profile.devices[0].memory_bytes = 40LL << 30;
    above("dram", RP_Q_DRAM_BYTES, 3000e9, 1e-3);
    fixture_analyse(&f);
    const char *reason = fixture_find(&f, "dram")->above_reason;
    if (!strstr(reason, "the device was guessed: name it with --device"))
        fail_msg("%s: %s", f.report.devices[0].source, reason);
    f.options.device_name = "A100-SXM4-40GB";
    fixture_analyse(&f);
    assert_null(strstr(fixture_find(&f, "dram")->above_reason, "guessed"));
}

/* Only the calibrated roof is passed: calibration is what is wrong. */
static void above_the_calibrated_roof(void **state) {
    (void)state;
    rp_capture_ceiling measured = {.level = "dram", .rate = 0.8 * DRAM, .provenance = RP_MEASURED};
    above("k", RP_Q_DRAM_BYTES, 0.92 * DRAM, 1e-3);
    f.profile.devices[0].ceilings = &measured;
    f.profile.devices[0].ceiling_count = 1;
    fixture_analyse(&f);
    f.profile.devices[0].ceilings = NULL;
    f.profile.devices[0].ceiling_count = 0;
    assert_above("k", "115 % of the calibrated dram; calibrate again: it beat what calibration "
                      "reached");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_quantity_at_its_own_peak),
        TEST(idle_lanes_take_time),
        TEST(what_is_always_listed),
        TEST(halves_count_from_a_tenth_on),
        TEST(every_imported_percentage),
        TEST(sides_that_are_not_known),
        TEST(collected_peaks),
        TEST(what_is_said_of_the_device),
        TEST(reasons_above_the_roof),
        TEST(a_guessed_device_is_a_reason),
        TEST(above_the_calibrated_roof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
