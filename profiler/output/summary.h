/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines at the head of a report, the same in text, Markdown and HTML: what was profiled, on
 * what, where the time went, how well the device was used.
 */
#ifndef RP_OUTPUT_SUMMARY_H
#define RP_OUTPUT_SUMMARY_H

#include "analysis/report.h"

typedef struct rp_line {
    char *label, *text; /* printable; the label may be "" (it goes on from the line above) */
} rp_line;

typedef struct rp_lines {
    rp_line *items;
    size_t count;
} rp_lines;

void rp_summary_lines(const rp_report *report, rp_lines *lines);
void rp_lines_free(rp_lines *lines);

#endif
