/* SPDX-License-Identifier: Apache-2.0
 *
 * Where everything of a roofline goes. Pure: from a report to ranges, lines, labels and discs, in
 * data coordinates, with label boxes kept clear of each other in pixels. gnuplot, the terminal
 * picture and the SVG's hover areas all draw from this one layout.
 */
#ifndef RP_PLOTS_LAYOUT_H
#define RP_PLOTS_LAYOUT_H

#include "plots/plots.h"

typedef struct rp_plot_box { /* pixels, y upwards from the bottom */
    double left, right, bottom, top;
} rp_plot_box;

typedef struct rp_plot_axis { /* logarithmic */
    double min, max;
} rp_plot_axis;

typedef struct rp_plot_roof { /* one ceiling */
    bool compute;
    rp_hw_path path; /* of a compute ceiling; of the first, where several are one line */
    bool used;       /* some kernel's arithmetic runs under it; of a bandwidth: the discs' level */
    double rate;
    char label[96];
    double x0, y0, x1, y1;     /* the segment that is drawn */
    double beyond_x, beyond_y; /* faint continuation up to the highest ceiling; NaN none */
    rp_provenance provenance;
    /* label: anchor in data coordinates, degrees counter-clockwise, -1 left, 0 centre, 1 right */
    double label_x, label_y, label_angle;
    int label_anchor;
    bool label_fits; /* false: no free place was found; the roof is listed in the key instead */
} rp_plot_roof;

typedef struct rp_plot_disc {
    const rp_report_kernel *kernel;
    bool in_strip; /* no FLOPs: x is 0..1 across the strip, y the fraction of the level's roof */
    double x, y;   /* data coordinates */
    double radius; /* pixels */
    bool hollow;   /* modelled */
    int number;    /* 0: not numbered */
    double number_x, number_y; /* where its number stands */
    int number_anchor;
    bool number_inside;
} rp_plot_disc;

typedef struct rp_plot_layout {
    int width, height;
    double font; /* pixels */
    rp_plot_box main, strip, key;
    bool has_strip, has_key;
    rp_plot_axis x, y;
    double strip_max; /* top of the strip's axis, fraction of the level's roof */
    rp_plot_roof *roofs;
    size_t roof_count;
    double ridge_x, ridge_y; /* of the highest used compute ceiling and the level; NaN none */
    rp_hw_level level;       /* the level whose intensity the discs stand at */
    rp_plot_disc *discs;     /* largest first */
    size_t disc_count;
    size_t keyed;    /* kernels listed in the key */
    size_t unplaced; /* kernels whose FLOPs, bytes or time are not known */
    char title[256], caption[512];
    const char *disc_note; /* how to read the discs; static */
} rp_plot_layout;

rp_code rp_plot_layout_make(const rp_report *report, const rp_plot_options *options,
                            rp_plot_layout *layout, rp_error *error);
void rp_plot_layout_free(rp_plot_layout *layout);

/* Data to pixels. */
double rp_plot_px(const rp_plot_layout *layout, double x);
double rp_plot_py(const rp_plot_layout *layout, double y);

/* A box in pixels that is taken, so that nothing else is written over it. */
typedef struct rp_plot_taken {
    rp_plot_box *boxes;
    size_t count, room;
} rp_plot_taken;
bool rp_plot_is_free(const rp_plot_taken *taken, const rp_plot_box *box);
void rp_plot_take(rp_plot_taken *taken, const rp_plot_box *box);

/* Width of TEXT in pixels at a font size, estimated for a proportional sans. */
double rp_plot_text_width(const char *text, double font);

uint32_t rp_plot_bound_color(rp_bound bound); /* 0xRRGGBB, safe for colour-blind readers */

#endif
