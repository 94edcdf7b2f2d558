/* SPDX-License-Identifier: Apache-2.0
 *
 * nvprof's text form (what it prints without --csv) turned into the cells that its CSV would have:
 * the summary of GPU activities and the table of metrics. Private to importers.
 */
#ifndef RP_IMPORTERS_NVPROF_TEXT_H
#define RP_IMPORTERS_NVPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { RP_NVPROF_TEXT_CELLS = 8 };

typedef enum rp_nvprof_text_table {
    RP_TEXT_NONE,
    RP_TEXT_SUMMARY,
    RP_TEXT_METRICS
} rp_nvprof_text_table;

typedef struct rp_nvprof_text { /* zero-initialise */
    rp_nvprof_text_table table;
    char *buffer; /* the line, cut into cells; freed by rp_nvprof_text_free */
    size_t capacity;
    char *kernel; /* metrics: whose rows follow */
    char device[256];
    char section[32]; /* summary: "GPU activities", "API calls" */
} rp_nvprof_text;

/* The header of a text table, as the cells of the CSV header; false: LINE is none. */
bool rp_nvprof_text_header(rp_nvprof_text *text, const char *line, size_t length,
                           const char *cells[RP_NVPROF_TEXT_CELLS]);

/* A row of the table begun; false: LINE holds none (it names a device or a kernel, or is foreign),
 * or there is no memory, which sets NO_MEMORY. */
bool rp_nvprof_text_row(rp_nvprof_text *text, const char *line, size_t length,
                        const char *cells[RP_NVPROF_TEXT_CELLS], bool *no_memory);

void rp_nvprof_text_free(rp_nvprof_text *text);

#endif
