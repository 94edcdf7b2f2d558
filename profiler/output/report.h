/* SPDX-License-Identifier: Apache-2.0
 *
 * A report in every format. Output shows what analysis found and computes nothing: unknown numbers
 * are "-" for people, empty in CSV, null in JSON. docs/report.md explains columns and keys.
 */
#ifndef RP_OUTPUT_REPORT_H
#define RP_OUTPUT_REPORT_H

#include "analysis/report.h"
#include "output/table.h"
#include <stdio.h>

typedef struct rp_print_options {
    rp_format format;
    rp_style style;  /* text */
    size_t top;      /* kernels shown; 0: all. What is left out is said */
    const char *svg; /* HTML: the picture, as an <svg> element that is safe to embed; NULL: none */
    const char *svg_missing; /* HTML: why there is none; NULL */
} rp_print_options;

void rp_print_report(FILE *file, const rp_report *report, const rp_print_options *options);

/* The evidence of the verdicts on the report's kernels: every ceiling, its work, peak, time and
 * where they are from. CSV: one table of all; JSON the report with an
 * "evidence" array in each kernel. */
void rp_print_evidence(FILE *file, const rp_report *report, const rp_print_options *options);

/* The frame of every page: TITLE (any bytes) stands in the window and as the heading; END closes
 * the page and brings the script that sorts its tables. */
void rp_html_start(FILE *file, const char *title, const char *heading);
void rp_html_end(FILE *file);

/* The HTML page (rp_print_report calls it). */
void rp_print_html(FILE *file, const rp_report *report, const rp_print_options *options);

/* Parts, for pages that are put together elsewhere. The table's columns live in static storage. */
typedef struct rp_report_columns {
    rp_column columns[96];
    size_t count;
} rp_report_columns;
rp_table *rp_report_table(const rp_report *report, size_t top, rp_report_columns *columns);
rp_table *rp_evidence_table(const rp_report_kernel *kernels, size_t n);
void rp_report_json(rp_json *json, const rp_report *report, size_t top, bool evidence);

/* Can it be said whether KERNEL is above its roof? Not of modelled times, nor without a roof. */
bool rp_above_is_known(const rp_report_kernel *kernel);

/* "memory: dram", "latency", "compute: fp32_vector (modelled)"; BUFFER of 64. */
char *rp_bound_text(const rp_report_kernel *kernel, char buffer[64]);
rp_colour rp_bound_colour(rp_bound bound);
const char *rp_cache_name(rp_cache_state cache); /* NULL: unknown */

#endif
