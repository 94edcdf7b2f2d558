/* SPDX-License-Identifier: Apache-2.0
 *
 * A diff in every format. JSON has the schema roofprof.diff/1; docs/diff.md explains it.
 */
#ifndef RP_OUTPUT_DIFF_H
#define RP_OUTPUT_DIFF_H

#include "analysis/diff.h"
#include "output/table.h"

typedef struct rp_diff_print_options {
    rp_format format;
    rp_style style;
    size_t top; /* kernels shown; 0 all */
    const rp_gate *gates;
    size_t gate_count;
    double min_share; /* of time, below which kernels fail no gate */
} rp_diff_print_options;

/* Returns how many gates failed; what failed is part of the output. */
size_t rp_print_diff(FILE *file, const rp_diff *diff, const rp_diff_print_options *options);

#endif
