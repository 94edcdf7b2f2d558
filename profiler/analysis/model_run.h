/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a plan and a run meet: what a model's work and sizes (plan.h) say of a report. Model FLOPs
 * utilisation [PaLM, appendix B] is the FLOPs that the model needs over what the dense peak of one
 * precision could do in the time that passed, so it needs times only; and of the bytes that were
 * allocated, U_eff says how many the model needs.
 */
#ifndef RP_ANALYSIS_MODEL_RUN_H
#define RP_ANALYSIS_MODEL_RUN_H

#include "analysis/plan.h"
#include "analysis/report.h"

typedef struct rp_model_run {
    rp_plan_request plan; /* as asked for: model, mode, dtype, batch, sequence (NaN: attention's own
                             FLOPs are left out, and sizes are a plan's defaults) */
    double tokens;        /* of the whole run, all devices; NaN: no model FLOPs */
    double flops;         /* useful FLOPs of the run as the user knows them, without a model; NaN */
} rp_model_run;
rp_model_run rp_model_run_none(void);

/* Fills report->model, model_flops_utilisation and capacity_effective. RP_USAGE with one sentence
 * for a model or sizes that cannot be; what the capture or the device lacks stays NaN, and
 * report->model.missing says what. Modelled times give no utilisation. */
rp_code rp_model_run_apply(const rp_model_run *run, const rp_hwdb *hwdb, rp_report *report,
                           rp_error *error);

#endif
