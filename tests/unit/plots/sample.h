/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports made by hand for the tests of plots: an H100 with its levels and ceilings, and any number
 * of kernels spread over the plane.
 */
#ifndef RP_TESTS_PLOTS_SAMPLE_H
#define RP_TESTS_PLOTS_SAMPLE_H

#include "analysis/report.h"

/* KERNELS kernels; every seventh has no FLOPs, the second stands above the roof. Names are NAME
 * followed by a number, or NAME alone if there is one kernel. Free with sample_free. */
void sample_make(rp_report *report, size_t kernels, const char *name);
/* Leaves only the DRAM roof and the FP32 ceiling. */
void sample_one_level(rp_report *report);
void sample_free(rp_report *report);

#endif
