/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan (analysis/plan.h) in every format. JSON is `roofprof.plan/1`: sizes in bytes of one
 * device, modelled rates and times rounded to four digits, unknown numbers null, fits true, false
 * or null.
 */
#ifndef RP_OUTPUT_PLAN_H
#define RP_OUTPUT_PLAN_H

#include "analysis/plan.h"
#include "output/table.h"

void rp_plan_print(const rp_plan *plan, FILE *file, rp_format format);

#endif
