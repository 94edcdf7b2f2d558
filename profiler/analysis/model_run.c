/* SPDX-License-Identifier: Apache-2.0
 *
 * Model FLOPs utilisation and effective capacity of a run; see model_run.h.
 */
#include "analysis/model_run.h"

#include "analysis/internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

rp_model_run rp_model_run_none(void) {
    rp_model_run run = {
        .plan = rp_plan_request_default(RP_PLAN_INFER), .tokens = NAN, .flops = NAN};
    return run;
}

static void lack(rp_report_model *model, const char *what) {
    size_t used = strlen(model->missing);
    snprintf(model->missing + used, sizeof model->missing - used, "%s%s", used ? "; " : "", what);
}

/* The precision that weights of DTYPE are computed in (plan.h: int4 weights compute in fp16). */
static rp_hw_precision arithmetic(rp_hw_precision dtype) {
    return dtype == RP_INT4 ? RP_FP16 : dtype;
}

/* The dense peak of PRECISION, tensor cores first, FLOP/s; NaN not known. */
static double peak_of(const rp_hwdb *hwdb, const rp_device *device, rp_hw_precision precision,
                      rp_report_model *model) {
    rp_roofs roofs;
    if (!device)
        return NAN;
    rp_roofs_of_device(hwdb, device, false, &roofs);
    double tensor = roofs.compute[precision][RP_TENSOR].nominal;
    snprintf(model->peak, sizeof model->peak, "%s_%s", rp_precision_name(precision),
             rp_path_name(isnan(tensor) ? RP_VECTOR : RP_TENSOR));
    return isnan(tensor) ? roofs.compute[precision][RP_VECTOR].nominal : tensor;
}

/* FLOPs that all devices could have done in the time that passed on them. */
static double possible_flops(const rp_hwdb *hwdb, rp_hw_precision precision, rp_report *report) {
    double sum = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        const rp_report_device *device = &report->devices[d];
        double time = device->utilisation_time_s;
        if (!(time > 0))
            continue;
        double peak = peak_of(hwdb, device->hardware, precision, &report->model);
        if (isnan(peak))
            return NAN;
        report->model.peak_flops_per_s = peak;
        sum += peak * time;
    }
    return sum > 0 ? sum : NAN;
}

static void use_flops(const rp_model_run *run, const rp_hwdb *hwdb, rp_report *report) {
    rp_report_model *model = &report->model;
    report->model_flops_utilisation = NAN;
    if (isnan(model->flops)) {
        lack(model, "without --tokens its FLOPs are not known");
        return;
    }
    double possible = possible_flops(hwdb, arithmetic(run->plan.dtype), report);
    if (report->modelled)
        lack(model, "times are modelled: no utilisation");
    else if (isnan(possible))
        lack(model, "the device's peak in this precision, or the time, is not known");
    else
        report->model_flops_utilisation = model->flops / possible;
    if (report->model_flops_utilisation > 1)
        lack(model, "more than the peak: not this model, or not so many tokens");
}

/* Bytes that were allocated at the peak on all devices that ran kernels; NaN if one does not say.
 */
static double allocated(const rp_report *report, size_t *devices) {
    double sum = 0;
    *devices = 0;
    for (size_t d = 0; d < report->device_count; d++)
        if (report->devices[d].sum_s > 0) {
            sum += report->devices[d].peak_allocated_bytes;
            ++*devices;
        }
    return sum > 0 ? sum : NAN;
}

/* The plan's sizes on as many devices as ran. */
static rp_code use_sizes(const rp_model_run *run, rp_report *report, rp_error *error) {
    size_t devices;
    double bytes = allocated(report, &devices);
    rp_plan_request plan = run->plan;
    rp_plan_memory memory;
    if (plan.count == -1 && devices > 0)
        plan.count = (int64_t)devices;
    rp_code code = rp_plan_complete(&plan, error);
    if (code == RP_OK)
        code = rp_plan_memory_of(&plan, &memory, error);
    if (code != RP_OK)
        return code;
    report->model.bytes = memory.distinct;
    if (isnan(bytes))
        lack(&report->model, "the capture does not know what was allocated: no U_eff");
    else
        report->capacity_effective = memory.distinct / bytes;
    if (report->capacity_effective > 1)
        lack(&report->model, "more than was allocated: not this model, batch or length");
    return RP_OK;
}

rp_code rp_model_run_apply(const rp_model_run *run, const rp_hwdb *hwdb, rp_report *report,
                           rp_error *error) {
    rp_model model = run->plan.model;
    rp_report_model *used = &report->model;
    bool has_model = rp_model_has_shape(&model) || !isnan(model.params);
    rp_code code;

    used->missing[0] = '\0';
    used->dtype = run->plan.dtype;
    used->training = run->plan.mode == RP_PLAN_TRAIN;
    used->tokens = run->tokens;
    used->flops = run->flops;
    if (has_model) {
        if ((code = rp_model_complete(&model, error)) != RP_OK)
            return code;
        snprintf(used->name, sizeof used->name, "%s", *model.name ? model.name : "the model");
        used->params = rp_model_params(&model);
        used->flops = rp_plan_model_flops(&model, run->tokens, run->plan.sequence, used->training);
    }
    use_flops(run, hwdb, report);
    return has_model ? use_sizes(run, report, error) : RP_OK;
}
