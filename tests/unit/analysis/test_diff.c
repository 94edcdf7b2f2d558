/* SPDX-License-Identifier: Apache-2.0
 *
 * Two runs compared: matching, changes, intervals, renames and gates.
 */
#include "fixture.h"

#include "analysis/diff.h"
#include <math.h>
#include <string.h>

static fixture base, now;
static rp_diff diff;

static int setup(void **state) {
    (void)state;
    fixture_start(&base, "NVIDIA A100-SXM4-40GB");
    fixture_start(&now, "NVIDIA A100-SXM4-40GB");
    memset(&diff, 0, sizeof diff);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    rp_diff_free(&diff);
    fixture_end(&base);
    fixture_end(&now);
    return 0;
}

static void compare(bool follow) {
    rp_error error = {0};
    fixture_analyse(&base);
    fixture_analyse(&now);
    rp_diff_free(&diff);
    assert_int_equal(rp_diff_make(&base.report, &now.report, follow, &diff, &error), RP_OK);
}

static const rp_diff_kernel *find(const char *name) {
    for (size_t i = 0; i < diff.kernel_count; i++) {
        const rp_diff_kernel *k = &diff.kernels[i];
        if (strcmp((k->base ? k->base : k->now)->name, name) == 0)
            return k;
    }
    fail_msg("no kernel %s in the diff", name);
    return NULL;
}

static bool fails(const char *text, double min_share) {
    rp_gate gate;
    rp_error error = {0};
    if (rp_gate_parse(text, &gate, &error) != RP_OK)
        fail_msg("%s", error.message);
    if (rp_gate_fails_total(&gate, &diff))
        return true;
    for (size_t i = 0; i < diff.kernel_count; i++)
        if (rp_gate_fails(&gate, &diff.kernels[i], min_share))
            return true;
    return false;
}

/* N launches around MEAN, half of them SPREAD above it and half below. */
static void with_spread(fixture *f, const char *name, uint64_t n, double mean, double spread) {
    rp_group *g = fixture_kernel(f, name, n, mean);
    g->time = (rp_stat){0};
    for (uint64_t i = 0; i < n; i++)
        rp_stat_add(&g->time, mean + (i % 2 ? spread : -spread));
}

static void changes(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&base, "k", 1, 1e-3), RP_Q_DRAM_BYTES, 1e9);
    fixture_set(fixture_kernel(&now, "k", 1, 2e-3), RP_Q_DRAM_BYTES, 3e9);
    compare(false);
    const rp_diff_kernel *k = find("k");
    assert_near(k->time, 1, 1e-12);
    assert_near(k->bytes, 2, 1e-12);
    assert_unknown(k->flops); /* was not counted: no zero */
    assert_unknown(k->time_low);
    assert_near(k->time_delta_s, 1e-3, 1e-15);
    assert_near(diff.total, 1, 1e-12);
    assert_int_equal(diff.matched, 1);
    assert_true(fails("time>5%", 0));
    assert_true(fails("total > 0.9", 0));
    assert_true(fails("bytes>150%", 0));
    assert_false(fails("bytes>250%", 0));
    assert_false(fails("time<-5%", 0));
    assert_false(fails("flops>0%", 0));
}

/* 6 % more in the mean, under a spread of 20 %: three launches cannot tell, thousands can. */
static void noise_fails_no_gate(void **state) {
    (void)state;
    with_spread(&base, "few", 4, 1e-3, 0.2e-3);
    with_spread(&now, "few", 4, 1.06e-3, 0.2e-3);
    compare(false);
    const rp_diff_kernel *k = find("few");
    assert_near(k->time, 0.06, 1e-9);
    assert_true(k->time_low < 0 && k->time_high > 0.06);
    assert_false(fails("time>5%", 0));
    assert_false(fails("mean>5%", 0));
    assert_false(fails("total>5%", 0));
    with_spread(&base, "many", 5000, 1e-3, 0.2e-3);
    with_spread(&now, "many", 5000, 1.06e-3, 0.2e-3);
    compare(false);
    k = find("many");
    assert_true(k->time_low > 0.05 && k->time_high < 0.07);
    assert_true(fails("time>5%", 0));
    assert_true(fails("mean>5%", 0));
    assert_false(fails("time>7%", 0));
}

/* Half of the launches are of a shape that takes ten times as long: no noise. 10 % more is 10 %
 * more. Where no shape was launched twice, nothing is known of noise and the change decides. */
static void shapes_are_no_noise(void **state) {
    (void)state;
    for (int launched_twice = 0; launched_twice < 2; launched_twice++) {
        fixture *both[] = {&base, &now};
        const char *name = launched_twice ? "twice" : "once";
        for (int i = 0; i < 2; i++) {
            with_spread(both[i], name, 20, (i ? 1.1 : 1) * 5.5e-3, (i ? 1.1 : 1) * 4.5e-3);
            rp_group *g = &both[i]->profile.groups[both[i]->profile.group_count - 1];
            g->configs = launched_twice ? 2 : 20;
            g->noise = launched_twice ? 20 * 1e-10 : 0; /* 10 us within a shape */
            g->noise_launches = launched_twice ? 20 : 0;
            g->noise_degrees = launched_twice ? 18 : 0;
        }
        compare(false);
        const rp_diff_kernel *k = find(name);
        assert_near(k->time, 0.1, 1e-9);
        if (launched_twice)
            assert_true(k->time_low > 0.09 && k->time_high < 0.11);
        else
            assert_unknown(k->time_low);
        assert_true(fails("time>5%", 0));
    }
}

/* The interval of two means with 10 launches each and a deviation of 1.0541 each: t(18) = 2.101. */
static void welch_interval(void **state) {
    (void)state;
    with_spread(&base, "k", 10, 10, 1);
    with_spread(&now, "k", 10, 12, 1);
    compare(false);
    const rp_diff_kernel *k = find("k");
    double half = 2.101 * sqrt(2 * (10.0 / 9) / 10) / 10;
    assert_near(k->mean_low, 0.2 - half, 1e-3);
    assert_near(k->mean_high, 0.2 + half, 1e-3);
    assert_near(k->time_low, k->mean_low, 1e-9);
}

static void equal_launches_are_exact(void **state) {
    (void)state;
    fixture_kernel(&base, "k", 5, 1e-3);
    fixture_kernel(&now, "k", 5, 1.01e-3);
    compare(false);
    assert_true(fails("time>0.5%", 0));
}

static void came_and_went(void **state) {
    (void)state;
    fixture_kernel(&base, "axpy", 1, 1e-3);
    fixture_kernel(&base, "both", 1, 1e-3);
    fixture_kernel(&now, "both", 1, 1e-3);
    fixture_kernel(&now, "zzzz", 1, 4e-3);
    compare(false);
    assert_int_equal(diff.matched, 1);
    assert_int_equal(diff.appeared, 1);
    assert_int_equal(diff.vanished, 1);
    assert_null(find("axpy")->now);
    assert_null(find("zzzz")->base);
    assert_unknown(find("zzzz")->time);
    assert_int_equal(diff.suggestion_count, 0);
    assert_true(fails("new", 0));
    assert_true(fails("gone", 0));
    assert_false(fails("time>5%", 0)); /* what is new has no change */
    assert_true(fails("total>5%", 0)); /* but the program is slower */
    assert_ptr_equal(diff.kernels[0].now, find("zzzz")->now);
}

static void renames(void **state) {
    (void)state;
    fixture_kernel(&base, "gemm_tiled_128x64_v1", 3, 1e-3);
    fixture_kernel(&now, "gemm_tiled_128x64_v2", 3, 2e-3);
    fixture_kernel(&now, "softmax", 3, 1e-3);
    compare(false);
    assert_int_equal(diff.suggestion_count, 1);
    assert_string_equal(diff.suggestions[0].now->name, "gemm_tiled_128x64_v2");
    assert_int_equal(diff.matched, 0);
    compare(true);
    assert_int_equal(diff.matched, 1);
    assert_true(find("gemm_tiled_128x64_v1")->renamed);
    assert_near(find("gemm_tiled_128x64_v1")->time, 1, 1e-9);
}

static void small_kernels_fail_no_gate(void **state) {
    (void)state;
    fixture_kernel(&base, "large", 1, 1);
    fixture_kernel(&now, "large", 1, 1);
    fixture_kernel(&base, "small", 1, 1e-4);
    fixture_kernel(&now, "small", 1, 3e-4);
    compare(false);
    assert_false(fails("time>5%", 0.005));
    assert_true(fails("time>5%", 0));
}

/* A time that is not known is no zero: no change of time follows from it, it goes last, and a gate
 * on something else looks at the kernel however small its share may be. */
static void times_that_are_not_known(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&base, "untimed", 1, NAN), RP_Q_DRAM_BYTES, 1e9);
    fixture_set(fixture_kernel(&now, "untimed", 1, NAN), RP_Q_DRAM_BYTES, 3e9);
    fixture_kernel(&base, "lost", 1, 5e-3);
    fixture_kernel(&now, "lost", 1, NAN);
    fixture_kernel(&base, "small", 1, 1e-3);
    fixture_kernel(&now, "small", 1, 1.1e-3);
    compare(false);
    assert_string_equal(diff.kernels[0].base->name, "small");
    assert_unknown(find("untimed")->time_delta_s);
    assert_unknown(find("untimed")->time);
    assert_unknown(find("untimed")->share);
    assert_unknown(find("untimed")->mean_low);
    assert_unknown(find("untimed")->mean_high);
    assert_unknown(find("lost")->time_delta_s);
    assert_near(find("lost")->share, 5.0 / 6, 1e-12); /* of the side that knows it */
    assert_true(fails("bytes>150%", 0.5));
    assert_false(fails("bytes>250%", 0.5));
}

/* FLOPs of one side of which a part is missing tell no change; of both, the same part may. */
static void a_part_of_the_flops_is_no_change(void **state) {
    (void)state;
    fixture *sides[] = {&base, &now};
    for (int i = 0; i < 2; i++) {
        fixture_set(fixture_kernel(sides[i], "both", 1, 1e-3), RP_Q_INST_FP32_FMA, 10 + 10 * i);
        rp_group *g = fixture_kernel(sides[i], "one", 1, 1e-3);
        fixture_set(g, RP_Q_INST_FP32_FMA, 10 + 10 * i);
        if (i == 0) {
            fixture_set(g, RP_Q_INST_FP32_ADD, 20);
            fixture_set(g, RP_Q_INST_FP32_MUL, 20);
        }
    }
    compare(false);
    assert_unknown(find("one")->flops);
    assert_near(find("both")->flops, 1, 1e-12);
}

/* Runs on other devices, or on more of them, are said to be. */
static void other_devices(void **state) {
    (void)state;
    fixture_kernel(&base, "k", 1, 1e-3);
    fixture_kernel(&now, "k", 1, 1e-3);
    compare(false);
    assert_false(diff.devices_differ);
    fixture_end(&now);
    fixture_start(&now, "NVIDIA H100 80GB HBM3");
    fixture_kernel(&now, "k", 1, 1e-3);
    compare(false);
    assert_true(diff.devices_differ);
    fixture more;
    rp_error error = {0};
    fixture_start(&more, "NVIDIA H100 80GB HBM3");
    fixture_end(&base);
    fixture_start(&base, "NVIDIA H100 80GB HBM3");
    fixture_kernel(&base, "k", 1, 1e-3);
    compare(false);
    assert_false(diff.devices_differ);
    assert_int_equal(rp_profile_join(&now.profile, &more.profile, &error), RP_OK);
    fixture_end(&more);
    compare(false);
    assert_true(diff.devices_differ);
}

/* Two and three launches a side: Student's exact points (12.706 of 1 degree, 4.303 of 2, 2.776 of
 * 4). A kernel on one side only has no interval. */
static void few_launches(void **state) {
    (void)state;
    fixture_kernel(&base, "gone", 1, 1e-3);
    rp_group *g = fixture_kernel(&now, "k", 2, NAN);
    /* no spread at the base: all the uncertainty is the other side's */
    g->time = (rp_stat){.n = 2, .sum = 24, .min = 11, .max = 13, .sum_squares = 290};
    g = fixture_kernel(&base, "k", 2, 10);
    compare(false);
    const rp_diff_kernel *k = find("k");
    assert_near(k->mean, 0.2, 1e-12);
    assert_near(k->mean_high - k->mean, 12.7062 * 1 / 10, 1e-3);
    assert_near(k->mean - k->mean_low, 12.7062 * 1 / 10, 1e-3);
    with_spread(&base, "both", 2, 10, 1);
    with_spread(&now, "both", 2, 12, 1);
    compare(false);
    k = find("both");
    assert_near(k->mean_high - k->mean, 4.3027 * sqrt(2) / 10, 1e-3);
    assert_unknown(find("gone")->mean_low);
    assert_unknown(find("gone")->mean_high);
}

static void changed_verdict(void **state) {
    (void)state;
    fixture_set(fixture_kernel(&base, "k", 1, 1e-3), RP_Q_DRAM_BYTES, 1.4e9);
    rp_group *g = fixture_kernel(&now, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP64_VECTOR, 9e9);
    compare(false);
    assert_true(find("k")->bound_changed);
    assert_true(fails("bound", 0));
}

static void a_gate_must_have_something_to_judge(void **state) {
    (void)state;
    rp_gate gate;
    fixture_kernel(&base, "a", 1, 1e-3);
    fixture_kernel(&now, "b", 1, 1e-3);
    compare(false);
    assert_int_equal(rp_gate_parse("time>5%", &gate, NULL), RP_OK);
    assert_false(rp_gate_can_judge(&gate, &diff));
    fixture_kernel(&now, "a", 1, 1e-3);
    compare(false);
    assert_true(rp_gate_can_judge(&gate, &diff));
    assert_int_equal(rp_gate_parse("flops>5%", &gate, NULL), RP_OK);
    assert_false(rp_gate_can_judge(&gate, &diff));
}

static void gates_that_are_none(void **state) {
    (void)state;
    static const char *const bad[] = {"",         "time",    "time>",    "time>x%",   "time=5%",
                                      "tim>5%",   "new>5%",  "time>5%%", "time>5 %x", "time>inf",
                                      "time>nan", "speed>1", "bound now"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_gate gate;
        rp_error error = {0};
        if (rp_gate_parse(bad[i], &gate, &error) != RP_USAGE)
            fail_msg("taken: '%s'", bad[i]);
        assert_non_null(strstr(error.message, "METRIC>N%"));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(changes),
        TEST(noise_fails_no_gate),
        TEST(shapes_are_no_noise),
        TEST(welch_interval),
        TEST(equal_launches_are_exact),
        TEST(came_and_went),
        TEST(renames),
        TEST(small_kernels_fail_no_gate),
        TEST(times_that_are_not_known),
        TEST(a_part_of_the_flops_is_no_change),
        TEST(few_launches),
        TEST(other_devices),
        TEST(changed_verdict),
        TEST(a_gate_must_have_something_to_judge),
        TEST(gates_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
