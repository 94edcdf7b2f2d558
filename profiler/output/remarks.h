/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said below a table of kernels: reasons, likely causes of points above the roof, notes.
 * The same sentence of many kernels is said once, with their numbers.
 */
#ifndef RP_OUTPUT_REMARKS_H
#define RP_OUTPUT_REMARKS_H

#include "analysis/report.h"

typedef struct rp_remark {
    char *text;       /* printable */
    char kernels[64]; /* "#1 #4 #7 and 12 more" */
    size_t count;
} rp_remark;

typedef struct rp_remarks {
    rp_remark *items;
    size_t count;
} rp_remarks;

/* Of the first SHOWN kernels. Without memory the list is shorter, never wrong. */
void rp_remarks_make(const rp_report *report, size_t shown, rp_remarks *remarks);
void rp_remarks_free(rp_remarks *remarks);

#endif
