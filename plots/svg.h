/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done to gnuplot's SVG afterwards: a transparent circle over each disc whose <title>
 * (shown by browsers when the pointer rests on it) names the kernel. No script is involved, so a
 * name can do no more than be read.
 */
#ifndef RP_PLOTS_SVG_H
#define RP_PLOTS_SVG_H

#include "plots/layout.h"

/* Reads the SVG at PATH, adds the hover areas of LAYOUT; the result is malloc'ed into *SVG. */
rp_code rp_plot_svg_add_hover(const char *path, const rp_plot_layout *layout, char **svg,
                              rp_error *error);

/* TEXT becomes the file at PATH, whole or not at all. */
rp_code rp_plot_write_whole(const char *path, const char *text, rp_error *error);

#endif
