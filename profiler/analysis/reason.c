/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a kernel is far below every roof: the first rung of the ladder that holds. And what must have
 * been counted before that may be said at all.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thresholds of the ladder; evidence in docs/verdicts.md. */
static const double idle_lanes = 0.75;   /* of 32 lanes */
static const double imbalance = 0.8;     /* of the theoretical occupancy */
static const double low_occupancy = 0.3; /* of the warps that fit */
static const double few_eligible = 1.0;  /* warps per scheduler and cycle */

static double blocks_per_sm(const rp_group *group, const rp_roofs *roofs) {
    double threads = (double)group->block[0] * group->block[1] * group->block[2];
    double warps = ceil(threads / 32);
    double fit = roofs->max_blocks;
    if (threads <= 0 || isnan(fit) || isnan(roofs->max_threads))
        return NAN;
    fit = fmin(fit, floor(roofs->max_threads / (warps * 32)));
    if (group->registers > 0 && roofs->registers > 0) /* allocated per warp, in units of 256 */
        fit = fmin(fit, floor(roofs->registers /
                              (ceil((double)group->registers * 32 / 256) * 256 * warps)));
    double shared = (double)(group->shared_static > 0 ? group->shared_static : 0) +
                    (double)(group->shared_dynamic > 0 ? group->shared_dynamic : 0);
    if (shared > 0 && roofs->shared_bytes > 0)
        fit = fmin(fit, floor(roofs->shared_bytes / shared));
    return fit;
}

void rp_occupancy(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel) {
    double warps = rp_group_total(group, RP_Q_WARP_INSTS);
    double threads = rp_group_total(group, RP_Q_THREAD_INSTS);
    if (isnan(threads))
        threads = rp_group_total(group, RP_Q_THREAD_INSTS_ACTIVE);
    kernel->lanes = warps > 0 ? threads / (32 * warps) : NAN;
    kernel->occupancy = rp_group_mean(group, RP_Q_OCCUPANCY_ACHIEVED);
    if (isnan(kernel->occupancy))
        kernel->occupancy = rp_group_total(group, RP_Q_WARPS_ACTIVE) /
                            (rp_group_total(group, RP_Q_SM_CYCLES_ACTIVE) * roofs->max_warps);
    kernel->occupancy_limit = rp_group_mean(group, RP_Q_OCCUPANCY_THEORETICAL);
    kernel->warps_eligible = rp_group_mean(group, RP_Q_WARPS_ELIGIBLE);
    kernel->waves = rp_group_mean(group, RP_Q_WAVES);
    if (!group->has_shape)
        return;
    double fit = blocks_per_sm(group, roofs);
    double block_warps = ceil((double)group->block[0] * group->block[1] * group->block[2] / 32);
    if (isnan(kernel->waves) && fit > 0)
        kernel->waves =
            (double)group->grid[0] * group->grid[1] * group->grid[2] / (fit * roofs->sm_count);
    if (isnan(kernel->occupancy_limit) && fit > 0)
        kernel->occupancy_limit = fmin(1, fit * block_warps / roofs->max_warps);
}

void rp_explain_latency(const rp_report_kernel *kernel, char *reason, size_t size) {
    double mean = kernel->time_mean_s;
    if (kernel->waves < 0.01) /* exporters round it to two places */
        snprintf(reason, size, "grid far under one wave: most SMs have nothing to do");
    else if (kernel->waves < 1)
        snprintf(reason, size, "grid under one wave (%.2g): not every SM slot has a block",
                 kernel->waves);
    else if (kernel->lanes < idle_lanes)
        snprintf(reason, size, "idle lanes: %.1f of 32 threads active in the mean instruction",
                 kernel->lanes * 32);
    else if (mean < RP_SHORT_KERNEL_S)
        snprintf(reason, size, "short kernel (%.1f us): launch and ramp rule", mean * 1e6);
    else if (kernel->occupancy < imbalance * kernel->occupancy_limit)
        snprintf(reason, size, "imbalance: %.0f %% occupancy achieved of %.0f %% possible",
                 kernel->occupancy * 100, kernel->occupancy_limit * 100);
    else if (kernel->occupancy < low_occupancy)
        snprintf(reason, size, "low occupancy: %.0f %% of the warps that an SM holds",
                 kernel->occupancy * 100);
    else if (kernel->warps_eligible < few_eligible)
        snprintf(reason, size, "few eligible warps: %.2f per scheduler and cycle",
                 kernel->warps_eligible);
    else if (isnan(kernel->occupancy) && isnan(kernel->warps_eligible))
        snprintf(reason, size, "no roof is near; occupancy and schedulers were not counted");
    else
        snprintf(reason, size, "dependency: warps wait for their own results");
}

static bool known(const rp_report_kernel *kernel, const char *key) {
    const rp_evidence *e = rp_evidence_find(kernel, key);
    return e && !isnan(e->time_s);
}

static void append(char *list, size_t size, const char *what) {
    size_t used = strlen(list);
    if (used < size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", what);
}

/* The exporter's two overall percentages cover every unit; without them each kind of limit must
 * have been counted. */
void rp_missing_evidence(const rp_report_kernel *kernel, char *missing, size_t size) {
    missing[0] = '\0';
    bool sm = known(kernel, "sm (imported)") || known(kernel, "lsu (imported)");
    if (known(kernel, "memory (imported)") && sm)
        return;
    if (kernel->tensor_not_counted)
        append(missing, size, "tensor operations");
    if (!known(kernel, "dram") && !known(kernel, "dram (imported)"))
        append(missing, size, "dram");
    if (!known(kernel, "l2") && !known(kernel, "l2 (imported)"))
        append(missing, size, "l2");
    if (!known(kernel, "lsu_requests") && !known(kernel, "wavefronts") &&
        !known(kernel, "lsu (imported)"))
        append(missing, size, "l1 access path");
    if (isnan(kernel->flops_total) || !known(kernel, "fp32_vector"))
        append(missing, size, "floating-point instructions");
    if (!known(kernel, "issue") && !known(kernel, "issue (imported)"))
        append(missing, size, "instruction issue");
    if (!known(kernel, "alu_pipe") && !known(kernel, "integer_and_bit") &&
        !known(kernel, "alu_pipe (imported)"))
        append(missing, size, "integer work");
}
