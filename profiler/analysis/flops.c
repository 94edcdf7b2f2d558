/* SPDX-License-Identifier: Apache-2.0
 *
 * FLOPs of a kernel by precision and path, from what was counted:
 *
 *   fp64 = add + mul + 2 fma        fp32 = add + mul + 2 fma (+ 2, 2, 4 of packed pairs)
 *   fp16 = 2 add + 2 mul + 4 fma    (each half instruction taken as packed: an upper bound)
 *
 * of predicated-on thread instructions; tensor operations come counted as operations. Evidence for
 * the factors: docs/verdicts.md.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double rp_group_total(const rp_group *group, rp_quantity quantity) {
    const rp_stat *stat = &group->q[quantity];
    if (stat->n == 0)
        return NAN;
    return stat->n == group->launches ? stat->sum : rp_stat_mean(stat) * (double)group->launches;
}

double rp_group_mean(const rp_group *group, rp_quantity quantity) {
    return rp_stat_mean(&group->q[quantity]);
}

rp_provenance rp_group_provenance(const rp_group *group, rp_quantity quantity) {
    if (group->q[quantity].n == 0)
        return RP_ABSENT;
    rp_provenance known = (rp_provenance)group->provenance[quantity];
    return group->q[quantity].n < group->launches ? rp_provenance_worse(known, RP_ESTIMATED)
                                                  : known;
}

void rp_kernel_note(rp_report_kernel *kernel, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (kernel->note_count == RP_REPORT_NOTES) {
        free(text);
        free(kernel->notes[RP_REPORT_NOTES - 1]);
        kernel->notes[RP_REPORT_NOTES - 1] = strdup("further notes were left out");
        kernel->note_count -= kernel->notes[RP_REPORT_NOTES - 1] == NULL;
    } else if (text) {
        kernel->notes[kernel->note_count++] = text;
    }
}

/* A precision of the vector path that instruction counters give. */
typedef struct vector_rule {
    rp_hw_precision precision;
    rp_quantity given, terms[6];
    double factors[6];
    size_t term_count, optional_from; /* terms from there on exist on some chips only */
} vector_rule;

static const vector_rule vector_rules[] = {
    {RP_FP64,
     RP_Q_FLOPS_FP64_VECTOR,
     {RP_Q_INST_FP64_ADD, RP_Q_INST_FP64_MUL, RP_Q_INST_FP64_FMA},
     {1, 1, 2},
     3,
     3},
    {RP_FP32,
     RP_Q_FLOPS_FP32_VECTOR,
     {RP_Q_INST_FP32_ADD, RP_Q_INST_FP32_MUL, RP_Q_INST_FP32_FMA, RP_Q_INST_FP32X2_ADD,
      RP_Q_INST_FP32X2_MUL, RP_Q_INST_FP32X2_FMA},
     {1, 1, 2, 2, 2, 4},
     6,
     3},
    {RP_FP16,
     RP_Q_FLOPS_FP16_VECTOR,
     {RP_Q_INST_FP16_ADD, RP_Q_INST_FP16_MUL, RP_Q_INST_FP16_FMA},
     {2, 2, 4},
     3,
     3},
    {RP_BF16, RP_Q_FLOPS_BF16_VECTOR, {0}, {0}, 0, 0},
};

static const struct {
    rp_hw_precision precision;
    rp_quantity quantity;
} tensor_rules[] = {
    {RP_FP64, RP_Q_FLOPS_FP64_TENSOR}, {RP_TF32, RP_Q_FLOPS_TF32_TENSOR},
    {RP_BF16, RP_Q_FLOPS_BF16_TENSOR}, {RP_FP16, RP_Q_FLOPS_FP16_TENSOR},
    {RP_FP8, RP_Q_FLOPS_FP8_TENSOR},   {RP_FP6, RP_Q_FLOPS_FP6_TENSOR},
    {RP_FP4, RP_Q_FLOPS_FP4_TENSOR},   {RP_INT8, RP_Q_OPS_INT8_TENSOR},
    {RP_INT4, RP_Q_OPS_INT4_TENSOR},   {RP_INT1, RP_Q_OPS_INT1_TENSOR},
};

static void take(const rp_group *group, rp_quantity quantity, rp_report_kernel *kernel) {
    kernel->flops_provenance =
        rp_provenance_worse(kernel->flops_provenance, rp_group_provenance(group, quantity));
    if (kernel->launches_counted == 0 || group->q[quantity].n < kernel->launches_counted)
        kernel->launches_counted = group->q[quantity].n;
}

/* Sum over the terms that are known; *MISSING counts those that should be and are not. */
static double from_instructions(const rp_group *group, const vector_rule *rule,
                                rp_report_kernel *kernel, size_t *missing) {
    double flops = NAN;
    *missing = 0;
    for (size_t i = 0; i < rule->term_count; i++) {
        double count = rp_group_total(group, rule->terms[i]);
        if (isnan(count)) {
            *missing += i < rule->optional_from;
            continue;
        }
        flops = (isnan(flops) ? 0 : flops) + rule->factors[i] * count;
        take(group, rule->terms[i], kernel);
    }
    return flops;
}

/* Were the FLOPs that the capture holds summed up of some kinds of instructions alone, in some
 * launches at least? Ingest marks such sums as estimated, and the kinds stand beside them. */
static bool summed_of_parts(const rp_group *group, const vector_rule *rule) {
    uint64_t most = 0, least = UINT64_MAX;
    if (group->provenance[rule->given] != RP_ESTIMATED)
        return false;
    for (size_t i = 0; i < rule->term_count; i++) {
        uint64_t n = group->q[rule->terms[i]].n;
        most = n > most ? n : most;
        if (i < rule->optional_from)
            least = n < least ? n : least;
    }
    return most > 0 && least < most;
}

static void say_lower_bound(rp_report_kernel *kernel, rp_hw_precision precision) {
    kernel->flops_lower_bound = true;
    rp_kernel_note(kernel,
                   "%s: not every kind of instruction was counted, the FLOPs are a lower bound",
                   rp_precision_name(precision));
}

static void count_vector(const rp_group *group, rp_report_kernel *kernel) {
    for (size_t i = 0; i < sizeof vector_rules / sizeof *vector_rules; i++) {
        const vector_rule *rule = &vector_rules[i];
        double *flops = &kernel->flops[rule->precision][RP_VECTOR];
        size_t missing = 0;
        *flops = rp_group_total(group, rule->given);
        if (!isnan(*flops)) {
            take(group, rule->given, kernel);
            if (summed_of_parts(group, rule))
                say_lower_bound(kernel, rule->precision);
            continue;
        }
        *flops = from_instructions(group, rule, kernel, &missing);
        if (!isnan(*flops) && missing)
            say_lower_bound(kernel, rule->precision);
        if (rule->precision == RP_FP16 && *flops > 0)
            rp_kernel_note(kernel,
                           "fp16: every half instruction is taken as packed (two lanes): an "
                           "upper bound; HFMA2 also moves registers");
    }
}

/* HFMA2 is also how registers are moved: below a tenth of the instructions it says nothing of what
 * a kernel computes. */
static bool half_moves(const rp_group *group) {
    static const rp_quantity halves[] = {RP_Q_INST_FP16_ADD, RP_Q_INST_FP16_MUL,
                                         RP_Q_INST_FP16_FMA};
    static const rp_quantity others[] = {RP_Q_INST_FP32_ADD, RP_Q_INST_FP32_MUL,
                                         RP_Q_INST_FP32_FMA, RP_Q_INST_FP64_ADD,
                                         RP_Q_INST_FP64_MUL, RP_Q_INST_FP64_FMA};
    double half = 0, all = rp_group_total(group, RP_Q_THREAD_INSTS), other = 0;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        if (group->q[halves[i]].n)
            half += rp_group_total(group, halves[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (group->q[others[i]].n)
            other += rp_group_total(group, others[i]);
    if (isnan(all))
        all = half + other;
    return half > 0 && half < 0.1 * all;
}

static bool count_tensor(const rp_group *group, rp_report_kernel *kernel) {
    bool known = false;
    for (size_t i = 0; i < sizeof tensor_rules / sizeof *tensor_rules; i++) {
        double ops = rp_group_total(group, tensor_rules[i].quantity);
        kernel->flops[tensor_rules[i].precision][RP_TENSOR] = ops;
        if (!isnan(ops)) {
            take(group, tensor_rules[i].quantity, kernel);
            known = true;
        }
    }
    kernel->flops_fp16_acc16_tensor = rp_group_total(group, RP_Q_FLOPS_FP16_ACC16_TENSOR);
    if (!isnan(kernel->flops_fp16_acc16_tensor)) {
        take(group, RP_Q_FLOPS_FP16_ACC16_TENSOR, kernel);
        known = true;
    }
    return known;
}

static double tensor_total(const rp_report_kernel *kernel) {
    double total = 0;
    for (int p = 0; p < RP_PRECISIONS; p++)
        if (!isnan(kernel->flops[p][RP_TENSOR]))
            total += kernel->flops[p][RP_TENSOR];
    if (!isnan(kernel->flops_fp16_acc16_tensor))
        total += kernel->flops_fp16_acc16_tensor;
    return total;
}

/* Is the tensor pipe busy with more than half FMAs that were routed there? Its count is a trigger,
 * never FLOPs: some hundred instructions of it occur in kernels without any matrix operation. */
static bool tensor_busy(const rp_group *group) {
    double pipe = rp_group_total(group, RP_Q_TENSOR_PIPE_INSTS);
    double halves = rp_group_total(group, RP_Q_TENSOR_PIPE_HFMA2);
    double fraction = rp_group_mean(group, RP_Q_FRACTION_TENSOR_PIPE);
    double insts = rp_group_total(group, RP_Q_WARP_INSTS);
    if (isnan(halves)) {
        halves = rp_group_total(group, RP_Q_INST_FP16_FMA) / 32;
        halves = isnan(halves) ? 0 : halves;
    }
    if (!isnan(pipe)) {
        double matrix = pipe - halves;
        return matrix > (isnan(insts) ? 1000.0 * (double)group->launches : 0.02 * insts);
    }
    return fraction > 0.05;
}

static void add_up(rp_report_kernel *kernel) {
    double total = NAN;
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            if (!rp_precision_is_integer((rp_hw_precision)p) && !isnan(kernel->flops[p][path]))
                total = (isnan(total) ? 0 : total) + kernel->flops[p][path];
    if (!isnan(kernel->flops_fp16_acc16_tensor))
        total = (isnan(total) ? 0 : total) + kernel->flops_fp16_acc16_tensor;
    kernel->flops_total = total;
}

void rp_count_flops(const rp_group *group, rp_report_kernel *kernel) {
    for (int p = 0; p < RP_PRECISIONS; p++)
        kernel->flops[p][RP_VECTOR] = kernel->flops[p][RP_TENSOR] = NAN;
    count_vector(group, kernel);
    bool tensor_known = count_tensor(group, kernel);
    kernel->int_ops = rp_group_total(group, RP_Q_OPS_INT32_VECTOR);
    if (isnan(kernel->int_ops))
        kernel->int_ops = rp_group_total(group, RP_Q_INST_INTEGER);
    kernel->flops[RP_INT32][RP_VECTOR] = kernel->int_ops;
    kernel->half_moves = half_moves(group);
    add_up(kernel);
    if (kernel->flops_total == 0 && isnan(kernel->flops[RP_FP32][RP_VECTOR])) {
        kernel->flops_lower_bound = true;
        rp_kernel_note(kernel, "no floating-point operation among those that were counted, but "
                               "fp32 was not counted");
    }
    if (kernel->flops_total == 0 && !kernel->flops_lower_bound && kernel->int_ops > 0)
        rp_kernel_note(kernel, "integer work only: no floating-point operation was executed");
    if (tensor_busy(group) && (!tensor_known || tensor_total(kernel) == 0)) {
        kernel->flops_lower_bound = true;
        kernel->tensor_not_counted = true;
        rp_kernel_note(kernel, "the tensor cores were busy but their operations were not counted: "
                               "FLOPs are a lower bound; collect sm__ops_path_tensor_* metrics");
    }
}
