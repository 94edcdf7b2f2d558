/* SPDX-License-Identifier: Apache-2.0
 *
 * FLOPs and bytes from instruction counts: the factors, the sums, and that unknown stays unknown.
 */
#include "fixture.h"

#include <math.h>
#include <string.h>

static fixture f;

static int setup(void **state) {
    (void)state;
    fixture_start(&f, "NVIDIA B200");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static const rp_report_kernel *only(void) {
    fixture_analyse(&f);
    return fixture_find(&f, "k");
}

static void factors(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 2, 1e-3);
    fixture_set(g, RP_Q_INST_FP64_ADD, 1);
    fixture_set(g, RP_Q_INST_FP64_MUL, 10);
    fixture_set(g, RP_Q_INST_FP64_FMA, 100);
    fixture_set(g, RP_Q_INST_FP32_ADD, 2);
    fixture_set(g, RP_Q_INST_FP32_MUL, 20);
    fixture_set(g, RP_Q_INST_FP32_FMA, 200);
    fixture_set(g, RP_Q_INST_FP32X2_ADD, 1);
    fixture_set(g, RP_Q_INST_FP32X2_MUL, 10);
    fixture_set(g, RP_Q_INST_FP32X2_FMA, 100);
    fixture_set(g, RP_Q_INST_FP16_ADD, 3);
    fixture_set(g, RP_Q_INST_FP16_MUL, 30);
    fixture_set(g, RP_Q_INST_FP16_FMA, 300);
    fixture_set(g, RP_Q_FLOPS_FP8_TENSOR, 5e6);
    fixture_set(g, RP_Q_OPS_INT8_TENSOR, 7e6);
    fixture_set(g, RP_Q_INST_INTEGER, 9);
    const rp_report_kernel *k = only();
    assert_true(k->flops[RP_FP64][RP_VECTOR] == 2 * 211);
    assert_true(k->flops[RP_FP32][RP_VECTOR] == 2 * (422 + 2 + 20 + 400));
    assert_true(k->flops[RP_FP16][RP_VECTOR] == 2 * (66 + 1200));
    assert_true(k->flops[RP_FP8][RP_TENSOR] == 1e7);
    assert_true(k->int_ops == 18);
    /* integer operations are no FLOPs */
    assert_true(k->flops_total == 2 * (211 + 844 + 1266) + 1e7);
    assert_int_equal(k->flops_provenance, RP_COUNTED);
    assert_false(k->flops_lower_bound);
}

static void unknown_is_not_zero(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    const rp_report_kernel *k = only();
    assert_unknown(k->flops_total);
    assert_unknown(k->flops_per_s);
    assert_unknown(k->bytes[RP_DRAM]);
    assert_unknown(k->intensity[RP_DRAM]);
    assert_unknown(k->int_ops);
    assert_int_equal(k->flops_provenance, RP_ABSENT);
    /* one precision counted: the others stay unknown, the total is what is known */
    fixture_set(g, RP_Q_INST_FP32_ADD, 0);
    fixture_set(g, RP_Q_INST_FP32_MUL, 0);
    fixture_set(g, RP_Q_INST_FP32_FMA, 5);
    k = only();
    assert_unknown(k->flops[RP_FP64][RP_VECTOR]);
    assert_true(k->flops_total == 10);
}

static void parts_are_a_lower_bound(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_INST_FP32_FMA, 5);
    fixture_set(g, RP_Q_DRAM_READ, 64);
    const rp_report_kernel *k = only();
    assert_true(k->flops_total == 10);
    assert_true(k->flops_lower_bound);
    assert_true(k->bytes[RP_DRAM] == 64);
    assert_int_equal(k->bytes_provenance, RP_ESTIMATED);
    assert_int_equal(k->note_count, 2);
}

/* FLOPs are known as badly as the worst of what they were made of, and from as few launches. */
static void the_worst_part_is_the_provenance(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 4, 1e-3);
    fixture_set(g, RP_Q_INST_FP32_ADD, 1);
    fixture_set(g, RP_Q_INST_FP32_MUL, 1);
    fixture_set(g, RP_Q_INST_FP32_FMA, 1);
    assert_int_equal(only()->flops_provenance, RP_COUNTED);
    assert_int_equal(only()->launches_counted, 4);
    g->provenance[RP_Q_INST_FP32_MUL] = RP_MODELLED;
    assert_int_equal(only()->flops_provenance, RP_MODELLED);
    g->q[RP_Q_INST_FP32_FMA] = (rp_stat){.n = 2, .sum = 2, .min = 1, .max = 1, .sum_squares = 2};
    const rp_report_kernel *k = only();
    assert_int_equal(k->launches_counted, 2);
    assert_true(k->flops_total == 4 + 4 + 8);
}

/* FLOPs that a capture summed up of multiply-adds alone are estimated there, and a lower bound
 * here; what another profiler or the user gave as FLOPs is whole, whatever else was counted. */
static void sums_of_parts_are_a_lower_bound(void **state) {
    (void)state;
    static const struct {
        rp_provenance provenance;
        bool all_kinds, lower_bound;
    } rows[] = {{RP_ESTIMATED, false, true},
                {RP_ESTIMATED, true, false}, /* rounded, but of all kinds */
                {RP_IMPORTED, false, false},
                {RP_USER, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture_end(&f);
        fixture_start(&f, "NVIDIA B200");
        rp_group *g = fixture_kernel(&f, "k", 3, 1e-3);
        fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 10);
        g->provenance[RP_Q_FLOPS_FP32_VECTOR] = (uint8_t)rows[i].provenance;
        fixture_set(g, RP_Q_INST_FP32_FMA, 5);
        if (rows[i].all_kinds) {
            fixture_set(g, RP_Q_INST_FP32_ADD, 0);
            fixture_set(g, RP_Q_INST_FP32_MUL, 0);
        }
        const rp_report_kernel *k = only();
        assert_true(k->flops_total == 30);
        assert_int_equal(k->flops_lower_bound, rows[i].lower_bound);
        assert_int_equal(k->note_count, rows[i].lower_bound);
        if (rows[i].all_kinds) { /* in some launches only */
            g->q[RP_Q_INST_FP32_ADD].n = 2;
            assert_true(only()->flops_lower_bound);
        }
    }
}

/* None of what was counted, where FP32 or some kinds of instructions were not: that is no kernel
 * without arithmetic. */
static void nothing_of_a_part_is_not_nothing(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 1e6);
    fixture_set(g, RP_Q_INST_FP64_ADD, 0);
    fixture_set(g, RP_Q_INST_FP64_MUL, 0);
    fixture_set(g, RP_Q_INST_FP64_FMA, 0);
    const rp_report_kernel *k = only();
    assert_true(k->flops_total == 0 && k->flops_lower_bound);
    assert_int_equal(k->side, RP_SIDE_UNKNOWN);
    assert_non_null(strstr(k->notes[0], "fp32 was not counted"));
    fixture_set(g, RP_Q_INST_FP32_FMA, 0);
    k = only();
    assert_true(k->flops_total == 0 && k->flops_lower_bound);
    assert_int_equal(k->side, RP_SIDE_UNKNOWN);
    fixture_set(g, RP_Q_INST_FP32_ADD, 0);
    fixture_set(g, RP_Q_INST_FP32_MUL, 0);
    k = only();
    assert_false(k->flops_lower_bound);
    assert_int_equal(k->side, RP_SIDE_MEMORY);
}

static void sampled_launches_are_scaled_and_say_so(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 10, 1e-3);
    g->q[RP_Q_DRAM_BYTES] = (rp_stat){.n = 2, .sum = 200, .min = 90, .max = 110};
    g->provenance[RP_Q_DRAM_BYTES] = RP_COUNTED;
    const rp_report_kernel *k = only();
    assert_near(k->bytes[RP_DRAM], 1000, 1e-9);
    assert_int_equal(k->bytes_provenance, RP_ESTIMATED);
}

static void levels(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_READ, 60);
    fixture_set(g, RP_Q_DRAM_WRITE, 40);
    fixture_set(g, RP_Q_L2_ALL_BYTES, 500);
    fixture_set(g, RP_Q_L1_BYTES, 800);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 1000);
    const rp_report_kernel *k = only();
    assert_true(k->intensity[RP_DRAM] == 10);
    assert_true(k->intensity[RP_L2] == 2);
    assert_true(k->intensity[RP_L1] == 1.25);
    assert_unknown(k->intensity[RP_SHARED]);
    assert_int_equal(k->note_count, 1); /* which L2 bytes */
    /* SM-side bytes go before the total of the slices */
    fixture_set(g, RP_Q_L2_BYTES, 250);
    assert_true(only()->intensity[RP_L2] == 4);
}

static void no_dram_traffic(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 1000);
    fixture_set(g, RP_Q_DRAM_BYTES, 0);
    const rp_report_kernel *k = only();
    assert_unknown(k->intensity[RP_DRAM]);
    assert_int_equal(k->side, RP_SIDE_COMPUTE);
    assert_int_equal(k->note_count, 1);
    assert_non_null(strstr(k->notes[0], "no DRAM traffic at all"));
}

static void first_launch_is_left_out_of_means(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 3, NAN);
    g->time = (rp_stat){.n = 3, .sum = 12e-3, .min = 1e-3, .max = 10e-3, .sum_squares = 102e-6};
    g->time_warm = (rp_stat){.n = 2, .sum = 2e-3, .min = 1e-3, .max = 1e-3, .sum_squares = 2e-6};
    const rp_report_kernel *k = only();
    assert_near(k->time_s, 12e-3, 1e-12);
    assert_near(k->time_mean_s, 1e-3, 1e-12);
    assert_near(k->time_max_s, 1e-3, 1e-12);
    bool said = false;
    for (size_t i = 0; i < f.report.note_count; i++)
        said = said || strstr(f.report.notes[i].text, "first launch");
    assert_true(said);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(factors),
        TEST(unknown_is_not_zero),
        TEST(parts_are_a_lower_bound),
        TEST(the_worst_part_is_the_provenance),
        TEST(sums_of_parts_are_a_lower_bound),
        TEST(nothing_of_a_part_is_not_nothing),
        TEST(sampled_launches_are_scaled_and_say_so),
        TEST(levels),
        TEST(no_dram_traffic),
        TEST(first_launch_is_left_out_of_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
