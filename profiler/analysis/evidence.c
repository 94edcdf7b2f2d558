/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of a kernel held against each ceiling: t = work / peak. Arithmetic is held twice, as
 * FLOPs and as instructions of its pipe (an addition takes as long as a multiply-add; idle lanes
 * take as long as busy ones). The L1 access path is held by load/store requests and by data-stage
 * wavefronts: that is how uncoalesced, bank-conflicting and request-bound kernels show.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an evidence key stands for. */
typedef struct limit {
    const char *key, *roof, *bound_by;
    double divisor; /* of the roof's rate */
} limit;

static const limit limits[] = {
    {"fp64_insts", "fp64_vector", "fp64_vector", 2},
    {"fp32_insts", "fp32_vector", "fp32_vector", 2},
    {"fp16_insts", "fp16_vector", "fp16_vector", 4},
    {"fp64_pipe", "fp64_vector", "fp64_vector", 64}, /* 32 lanes of a warp, 2 FLOPs each */
    {"fma_pipe", "fp32_vector", "fp32_vector", 64},
    {"alu_pipe", "alu_pipe", "int32_vector", 1},
    {"xu_pipe", "xu_pipe", "special functions", 1},
    {"integer_and_bit", "alu_pipe", "int32_vector", 1},
    {"conversion", "xu_pipe", "special functions", 1},
    {"lsu_requests", "lsu_requests", "l1 access path", 1},
    {"wavefronts", "wavefronts", "l1 access path", 1},
    {"sm (imported)", NULL, "sm", 1},
    {"issue (imported)", NULL, "issue", 1},
    {"fp64_pipe (imported)", NULL, "fp64_vector", 1},
    {"fma_pipe (imported)", NULL, "fp32_vector", 1},
    {"alu_pipe (imported)", NULL, "int32_vector", 1},
    {"xu_pipe (imported)", NULL, "special functions", 1},
    {"tensor_pipe (imported)", NULL, "tensor", 1},
    {"memory (imported)", NULL, "memory", 1},
    {"dram (imported)", NULL, "dram", 1},
    {"l2 (imported)", NULL, "l2", 1},
    {"l1 (imported)", NULL, "l1", 1},
    {"lsu (imported)", NULL, "l1 access path", 1},
};

static const limit *find_limit(const char *key) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].key, key) == 0)
            return &limits[i];
    return NULL;
}

const char *rp_evidence_limit(const char *key) {
    const limit *found = find_limit(key);
    return found ? found->bound_by : key;
}

const rp_roof *rp_evidence_roof(const rp_roofs *roofs, const char *key, double *divisor) {
    const limit *found = find_limit(key);
    *divisor = found ? found->divisor : 1;
    return found && !found->roof ? NULL : rp_roofs_find(roofs, found ? found->roof : key);
}

const rp_evidence *rp_evidence_find(const rp_report_kernel *kernel, const char *key) {
    for (size_t i = 0; i < kernel->evidence_count; i++)
        if (strcmp(kernel->evidence[i].key, key) == 0)
            return &kernel->evidence[i];
    return NULL;
}

static rp_evidence *next(rp_report_kernel *kernel, const char *key, bool compute) {
    if (kernel->evidence_count == RP_REPORT_EVIDENCE)
        return NULL;
    rp_evidence *e = &kernel->evidence[kernel->evidence_count++];
    memset(e, 0, sizeof *e);
    snprintf(e->key, sizeof e->key, "%s", key);
    e->compute = compute;
    e->work = e->peak = e->drawn_peak = e->time_s = NAN;
    return e;
}

/* One ceiling. WORK NaN: not counted, and listed so. */
static rp_evidence *hold(rp_report_kernel *kernel, const rp_roofs *roofs, const char *key,
                         bool compute, double work, const char *unit, rp_provenance provenance) {
    double divisor;
    const rp_roof *roof = rp_evidence_roof(roofs, key, &divisor);
    rp_evidence *e = next(kernel, key, compute);
    if (!e)
        return NULL;
    e->work = work;
    e->work_unit = unit;
    e->work_provenance = isnan(work) ? RP_ABSENT : provenance;
    if (roof) {
        e->peak = rp_roof_at(roof, roofs, kernel->clock_hz) / divisor;
        e->drawn_peak = isnan(roof->calibrated) ? e->peak : roof->calibrated / divisor;
        e->peak_provenance = isnan(e->peak) ? RP_ABSENT : roof->provenance;
        e->source = roof->source;
    }
    e->time_s = work / e->peak;
    if (work == 0)
        e->time_s = 0; /* no work takes no time, whatever the peak */
    return e;
}

static void hold_quantity(const rp_group *group, rp_report_kernel *kernel, const rp_roofs *roofs,
                          const char *key, bool compute, rp_quantity quantity, const char *unit) {
    hold(kernel, roofs, key, compute, rp_group_total(group, quantity), unit,
         rp_group_provenance(group, quantity));
}

/* Bytes of a level, known or not. */
static void hold_levels(rp_report_kernel *kernel, const rp_roofs *roofs) {
    for (int l = RP_DRAM; l <= RP_SHARED; l++)
        hold(kernel, roofs, rp_level_name((rp_hw_level)l), false, kernel->bytes[l], "byte",
             kernel->bytes_provenance);
    if (kernel->bytes[RP_PCIE] > 0)
        hold(kernel, roofs, rp_level_name(RP_PCIE), false, kernel->bytes[RP_PCIE], "byte",
             kernel->bytes_provenance);
}

static void hold_flops(const rp_group *group, rp_report_kernel *kernel, const rp_roofs *roofs) {
    char key[32];
    bool ops = group->q[RP_Q_OPS_INT32_VECTOR].n > 0;
    rp_provenance integer =
        rp_group_provenance(group, ops ? RP_Q_OPS_INT32_VECTOR : RP_Q_INST_INTEGER);
    for (int path = 0; path < RP_PATHS; path++)
        for (int p = 0; p < RP_PRECISIONS; p++) {
            double flops = kernel->flops[p][path];
            bool always = path == RP_VECTOR && (p == RP_FP64 || p == RP_FP32);
            if (!(flops > 0) && !always)
                continue;
            snprintf(key, sizeof key, "%s_%s", rp_precision_name((rp_hw_precision)p),
                     rp_path_name((rp_hw_path)path));
            rp_evidence *e = hold(kernel, roofs, key, true, flops,
                                  rp_precision_is_integer((rp_hw_precision)p) ? "op" : "flop",
                                  p == RP_INT32 ? integer : kernel->flops_provenance);
            /* multiply-adds run on another pipe beside the integer one: a mix passes its peak */
            if (e && p == RP_INT32)
                e->upper_bound = true;
        }
    if (kernel->flops_fp16_acc16_tensor > 0)
        hold(kernel, roofs, "fp16_acc16_tensor", true, kernel->flops_fp16_acc16_tensor, "flop",
             kernel->flops_provenance);
}

static double sum3(const rp_group *group, rp_quantity a, rp_quantity b, rp_quantity c) {
    return rp_group_total(group, a) + rp_group_total(group, b) + rp_group_total(group, c);
}

static void hold_arithmetic_instructions(const rp_group *group, rp_report_kernel *kernel,
                                         const rp_roofs *roofs) {
    double lanes = kernel->lanes > 0 && kernel->lanes < 1 ? kernel->lanes : 1;
    double fp64 = rp_group_total(group, RP_Q_INST_FP64);
    double fp32 = sum3(group, RP_Q_INST_FP32_ADD, RP_Q_INST_FP32_MUL, RP_Q_INST_FP32_FMA);
    double fp16 = sum3(group, RP_Q_INST_FP16_ADD, RP_Q_INST_FP16_MUL, RP_Q_INST_FP16_FMA);
    double threads = rp_group_total(group, RP_Q_THREAD_INSTS);
    rp_provenance fp64_known = rp_group_provenance(group, RP_Q_INST_FP64);
    if (isnan(fp64)) {
        fp64 = sum3(group, RP_Q_INST_FP64_ADD, RP_Q_INST_FP64_MUL, RP_Q_INST_FP64_FMA);
        fp64_known = kernel->flops_provenance;
    }
    if (fp64 > 0)
        hold(kernel, roofs, "fp64_insts", true, fp64 / lanes, "inst", fp64_known);
    if (fp32 > 0)
        hold(kernel, roofs, "fp32_insts", true, fp32 / lanes, "inst", kernel->flops_provenance);
    /* below a tenth they may be register moves, which also run elsewhere */
    if (fp16 > 0 && !(fp16 < 0.1 * threads))
        hold(kernel, roofs, "fp16_insts", true, fp16 / lanes, "inst", kernel->flops_provenance);
    if (group->q[RP_Q_PIPE_FP64].n)
        hold_quantity(group, kernel, roofs, "fp64_pipe", true, RP_Q_PIPE_FP64, "inst");
    if (group->q[RP_Q_PIPE_FMA].n)
        hold_quantity(group, kernel, roofs, "fma_pipe", true, RP_Q_PIPE_FMA, "inst");
}

/* Integer, bit and conversion work: exact where the pipes were counted, else an upper bound from
 * thread instructions. */
static void hold_integer(const rp_group *group, rp_report_kernel *kernel, const rp_roofs *roofs) {
    double lanes = kernel->lanes > 0 && kernel->lanes < 1 ? kernel->lanes : 1;
    double integer = rp_group_total(group, RP_Q_INST_INTEGER);
    double bit = rp_group_total(group, RP_Q_INST_BIT);
    double conversion = rp_group_total(group, RP_Q_INST_CONVERSION);
    rp_evidence *e;
    if (group->q[RP_Q_PIPE_ALU].n) {
        hold_quantity(group, kernel, roofs, "alu_pipe", true, RP_Q_PIPE_ALU, "inst");
    } else if (!isnan(integer)) {
        e = hold(kernel, roofs, "integer_and_bit", true,
                 (integer + (isnan(bit) ? 0 : bit)) / (32 * lanes), "inst",
                 rp_group_provenance(group, RP_Q_INST_INTEGER));
        if (e)
            e->upper_bound = true;
    }
    if (group->q[RP_Q_PIPE_XU].n) {
        hold_quantity(group, kernel, roofs, "xu_pipe", true, RP_Q_PIPE_XU, "inst");
    } else if (!isnan(conversion)) {
        e = hold(kernel, roofs, "conversion", true, conversion / (32 * lanes), "inst",
                 rp_group_provenance(group, RP_Q_INST_CONVERSION));
        if (e)
            e->upper_bound = true;
    }
}

/* A percentage of the exporter: its time is that share of the measured time. */
static void take_imported(const rp_group *group, rp_report_kernel *kernel, const char *key,
                          bool compute, rp_quantity quantity, double scale) {
    double fraction = rp_group_mean(group, quantity) * scale;
    rp_evidence *e = isnan(fraction) ? NULL : next(kernel, key, compute);
    if (!e)
        return;
    e->imported = true;
    e->work_unit = "";
    e->time_s = fraction * kernel->time_s;
    e->work_provenance = RP_IMPORTED;
    e->source = "the exporter's own percentage of peak";
}

/* The exporter counts the load/store unit under compute as well: its SM percentage is no compute
 * ceiling where that unit explains it. */
static bool load_store_explains(const rp_group *group, const rp_report_kernel *kernel) {
    double sm = rp_group_mean(group, RP_Q_FRACTION_SM) * kernel->time_s;
    double lsu = rp_group_mean(group, RP_Q_FRACTION_LSU) * kernel->time_s;
    const rp_evidence *own[] = {rp_evidence_find(kernel, "lsu_requests"),
                                rp_evidence_find(kernel, "wavefronts")};
    if (lsu >= 0.95 * sm)
        return true;
    for (size_t i = 0; i < 2; i++)
        if (own[i] && own[i]->time_s >= 0.95 * sm)
            return true;
    return false;
}

static void hold_imported(const rp_group *group, rp_report_kernel *kernel, const rp_roofs *roofs) {
    double active = rp_group_total(group, RP_Q_SM_CYCLES_ACTIVE) /
                    (rp_group_total(group, RP_Q_SM_CYCLES) * roofs->sm_count);
    if (kernel->modelled)
        return;
    if (!load_store_explains(group, kernel))
        take_imported(group, kernel, "sm (imported)", true, RP_Q_FRACTION_SM, 1);
    take_imported(group, kernel, "issue (imported)", true, RP_Q_FRACTION_ISSUE, 1);
    take_imported(group, kernel, "fp64_pipe (imported)", true, RP_Q_FRACTION_FP64_PIPE, 1);
    take_imported(group, kernel, "fma_pipe (imported)", true, RP_Q_FRACTION_FMA_PIPE, 1);
    take_imported(group, kernel, "alu_pipe (imported)", true, RP_Q_FRACTION_ALU_PIPE, 1);
    take_imported(group, kernel, "xu_pipe (imported)", true, RP_Q_FRACTION_XU_PIPE, 1);
    take_imported(group, kernel, "tensor_pipe (imported)", true, RP_Q_FRACTION_TENSOR_PIPE, 1);
    take_imported(group, kernel, "memory (imported)", false, RP_Q_FRACTION_MEMORY, 1);
    take_imported(group, kernel, "dram (imported)", false, RP_Q_FRACTION_DRAM, 1);
    take_imported(group, kernel, "l2 (imported)", false, RP_Q_FRACTION_L2, 1);
    /* a percentage of active cycles: of the whole time only where those are known */
    if (active > 0 && active <= 1.001)
        take_imported(group, kernel, "l1 (imported)", false, RP_Q_FRACTION_L1, active);
    take_imported(group, kernel, "lsu (imported)", false, RP_Q_FRACTION_LSU, 1);
}

void rp_evidence_make(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel) {
    hold_levels(kernel, roofs);
    hold_quantity(group, kernel, roofs, "lsu_requests", false, RP_Q_LSU_REQUESTS, "inst");
    hold_quantity(group, kernel, roofs, "wavefronts", false, RP_Q_L1_WAVEFRONTS, "wavefront");
    hold_flops(group, kernel, roofs);
    hold_arithmetic_instructions(group, kernel, roofs);
    hold_quantity(group, kernel, roofs, "issue", true, RP_Q_WARP_INSTS, "inst");
    hold_integer(group, kernel, roofs);
    hold_imported(group, kernel, roofs);
}

double rp_nominal_roof_time(const rp_report_kernel *kernel, const rp_roofs *roofs) {
    double largest = NAN, divisor;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        const rp_roof *roof = rp_evidence_roof(roofs, e->key, &divisor);
        if (e->upper_bound || isnan(e->time_s))
            continue;
        double time = e->imported    ? e->time_s
                      : e->work == 0 ? 0
                                     : e->work / (roof ? roof->nominal / divisor : NAN);
        if (!isnan(time) && !(time <= largest))
            largest = time;
    }
    return largest;
}
