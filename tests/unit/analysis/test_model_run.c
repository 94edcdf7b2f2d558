/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a plan and a run meet: model FLOPs utilisation against a stated peak, from times alone, and
 * the share of what was allocated that a model needs.
 */
#include "fixture.h"

#include "analysis/model_run.h"
#include <math.h>
#include <string.h>

static fixture f;
static const double peak = 108 * 1.41e9 * 2048; /* A100, bf16 tensor, dense */
static const double params = 6738415616;        /* Llama 7B, counted from its shape */

static int set_up(void **state) {
    (void)state;
    fixture_start(&f, "A100-SXM4-40GB");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static rp_model_run llama(double tokens) {
    rp_model_run run = rp_model_run_none();
    rp_error error;
    assert_int_equal(rp_model_preset("llama-7b", &run.plan.model, &error), RP_OK);
    run.tokens = tokens;
    return run;
}

static void apply(const rp_model_run *run) {
    rp_error error;
    if (rp_model_run_apply(run, f.hwdb, &f.report, &error) != RP_OK)
        fail_msg("%s", error.message);
}

/* Times alone are enough: 2 FLOPs a parameter and token, 6 in training [Kaplan]; with a length,
 * 4 (12) x layers x hidden x length for attention [PaLM]. The time is the span of the work. */
static void from_times_alone(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 0.4);
    f.profile.devices[0].busy_s = 0.4;
    f.profile.devices[0].span_s = 0.5;
    fixture_analyse(&f);
    assert_unknown(f.report.compute);
    rp_model_run run = llama(5000);
    apply(&run);
    assert_near(f.report.model.flops, 2 * params * 5000, 1);
    assert_near(f.report.model_flops_utilisation, 2 * params * 5000 / (0.5 * peak), 1e-3);
    assert_string_equal(f.report.model.peak, "bf16_tensor");
    assert_unknown(f.report.capacity_effective);
    assert_non_null(strstr(f.report.model.missing, "allocated"));
    run.plan.mode = RP_PLAN_TRAIN;
    run.plan.sequence = 2048;
    apply(&run);
    assert_near(f.report.model.flops, 5000 * (6 * params + 12.0 * 32 * 4096 * 2048), 1e3);
}

/* A precision that the device has no units for gives no share, and that is said. */
static void peaks(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 0.5);
    fixture_analyse(&f);
    rp_model_run run = llama(1000);
    run.plan.dtype = RP_FP8;
    apply(&run);
    assert_unknown(f.report.model_flops_utilisation);
    assert_non_null(strstr(f.report.model.missing, "peak"));
    run.plan.dtype = RP_FP32;
    apply(&run);
    assert_string_equal(f.report.model.peak, "fp32_vector");
    assert_near(f.report.model_flops_utilisation, 2 * params * 1000 / (0.5 * peak / 16), 1e-3);
    run.tokens = 1e9;
    apply(&run);
    assert_true(f.report.model_flops_utilisation > 1); /* shown as it is, and said */
    assert_non_null(strstr(f.report.model.missing, "more than the peak"));
}

/* U_eff: the model's bytes, each once, over all that was allocated. */
static void effective_capacity(void **state) {
    (void)state;
    fixture_kernel(&f, "k", 1, 0.5);
    f.profile.devices[0].sum_s = 0.5;
    f.profile.devices[0].peak_allocated_bytes = 20e9;
    fixture_analyse(&f);
    rp_model_run run = llama(1000);
    run.plan.batch = 4;
    run.plan.sequence = 1000;
    apply(&run);
    double needed = 2 * params + 4 * 1000 * 2.0 * 32 * 4096 * 2;
    assert_near(f.report.model.bytes, needed, 1);
    assert_near(f.report.capacity_effective, needed / 20e9, 1e-9);
    run.plan.mode = RP_PLAN_TRAIN; /* 16 bytes a parameter: more than there was */
    apply(&run);
    assert_true(f.report.capacity_effective > 5);
    assert_non_null(strstr(f.report.model.missing, "more than was allocated"));
}

/* --model-flops alone is held against the mix that was executed: not if that is not known. */
static void the_mix_must_be_known(void **state) {
    (void)state;
    rp_group *g = fixture_kernel(&f, "k", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 1e9);
    fixture_set(g, RP_Q_FRACTION_TENSOR_PIPE, 0.5); /* busy, and its operations not counted */
    f.options.model_flops = 1e11;
    fixture_analyse(&f);
    assert_true(fixture_find(&f, "k")->tensor_not_counted);
    assert_unknown(f.report.model_flops_utilisation);
    assert_non_null(strstr(f.report.model.missing, "--dtype"));
    rp_model_run run = rp_model_run_none();
    run.flops = 1e11;
    apply(&run);
    assert_near(f.report.model_flops_utilisation, 1e11 / (1e-3 * peak), 1e-3);
    assert_string_equal(f.report.model.missing, "");
}

static void nonsense(void **state) {
    (void)state;
    rp_error error;
    fixture_kernel(&f, "k", 1, NAN);
    fixture_analyse(&f);
    rp_model_run run = llama(1000);
    apply(&run);
    assert_unknown(f.report.model_flops_utilisation);
    assert_unknown(f.report.gpu_time_s); /* no time is known: not 0 */
    assert_unknown(f.report.gpu_sum_s);
    assert_unknown(f.report.time_share_by_bound[RP_BOUND_UNKNOWN]);
    run.plan.model.heads = 33;
    assert_int_equal(rp_model_run_apply(&run, f.hwdb, &f.report, &error), RP_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_times_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(peaks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(effective_capacity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_mix_must_be_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
