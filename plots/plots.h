/* SPDX-License-Identifier: Apache-2.0
 *
 * Plots: a report (or devices alone) as a roofline. gnuplot draws; this module decides where things
 * go, writes the data files and runs it without a shell. Text from captures reaches gnuplot only
 * inside data files, quoted for its label reader; it never becomes part of a script. The SVG's
 * hover text is added afterwards by this module, as escaped <title> elements, and needs no script
 * at all.
 */
#ifndef RP_PLOTS_PLOTS_H
#define RP_PLOTS_PLOTS_H

#include "analysis/plan.h"
#include "analysis/report.h"
#include <stdio.h>

typedef enum rp_plot_format {
    RP_PLOT_PNG,
    RP_PLOT_SVG,             /* plain */
    RP_PLOT_SVG_INTERACTIVE, /* names and figures appear when the pointer rests on a disc */
    RP_PLOT_PDF,
    RP_PLOT_ASCII
} rp_plot_format;

typedef struct rp_plot_options {
    const char *output; /* the file to write; it appears whole or not at all */
    rp_plot_format format;
    int width, height; /* pixels (PDF: hundredths of an inch); 0: 1600 x 1000 */
    const char *title; /* NULL: made from the device's name */
    size_t device;     /* index in the report */
    bool levels;       /* also a small mark at each kernel's L2 and L1 intensity */
    const char *keep;  /* folder for the data files and the script; NULL: temporary, removed */
    bool color;        /* ASCII: use terminal colours */
} rp_plot_options;
#define RP_PLOT_OPTIONS_INIT                                                                       \
    (rp_plot_options) {                                                                            \
        .width = 1600, .height = 1000                                                              \
    }

/* The format that a file name's ending asks for (.png .svg .pdf .txt); RP_USAGE for another. */
rp_code rp_plot_format_of(const char *path, rp_plot_format *format, rp_error *error);

/* RP_MACHINE when gnuplot is missing or fails: the data and the script are then kept and named. */
rp_code rp_plot_roofline(const rp_report *report, const rp_plot_options *options, rp_error *error);

/* The same as SVG text in memory (malloc; for the caller to free). */
rp_code rp_plot_roofline_svg(const rp_report *report, const rp_plot_options *options, char **svg,
                             rp_error *error);

/* In the terminal; needs no gnuplot. WIDTH x HEIGHT in characters. */
rp_code rp_plot_roofline_ascii(const rp_report *report, const rp_plot_options *options, FILE *out,
                               int width, int height, rp_error *error);

/* Several devices in one picture, no kernels. SPARSE: the 2:4 ceilings. */
rp_code rp_plot_compare(const rp_device *const *devices, size_t n, bool sparse,
                        const rp_plot_options *options, rp_error *error);

/* A plan: memory by part against what the device has, and the times of a step. */
rp_code rp_plot_plan(const rp_plan *plan, const rp_plot_options *options, rp_error *error);

#endif
