/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of a plan share; see plan.h. Each fills its part of a device of the plan, whose
 * request is complete.
 */
#ifndef RP_ANALYSIS_PLAN_INTERNAL_H
#define RP_ANALYSIS_PLAN_INTERNAL_H

#include "analysis/plan.h"

enum { RP_PLAN_MOST_DEVICES = 1000000 };

/* Model FLOPs utilisation of published 16-bit training runs: 38 to 43 % (Llama 3, arXiv
 * 2407.21783), 46 % [PaLM], 42 to 56 % [Recompute]. */
#define RP_PLAN_MFU_LOW  0.38
#define RP_PLAN_MFU_HIGH 0.56

void rp_plan_note(rp_plan_device *device, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Memory, whether it fits, and on how many devices. */
rp_code rp_plan_fit(const rp_plan_request *request, rp_plan_device *device, rp_error *error);

/* What a decoding step, and a training step, takes at the device's ceilings. */
void rp_plan_decode(const rp_hwdb *db, const rp_plan_request *request, rp_plan_device *device);
void rp_plan_train(const rp_hwdb *db, const rp_plan_request *request, rp_plan_device *device);

#endif
