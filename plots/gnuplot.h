/* SPDX-License-Identifier: Apache-2.0
 *
 * Running gnuplot safely: a folder of data files, a fixed script and a settings file that holds
 * numbers and words of our own alone; no shell, no text from outside in any script.
 */
#ifndef RP_PLOTS_GNUPLOT_H
#define RP_PLOTS_GNUPLOT_H

#include "plots/plots.h"

typedef struct rp_gnuplot {
    char folder[4096];
    bool temporary;
} rp_gnuplot;

/* Makes the folder: KEEP if not NULL (made if absent), else a private temporary one. */
rp_code rp_gnuplot_open(rp_gnuplot *plot, const char *keep, rp_error *error);

/* Opens NAME in the folder for writing; NULL with ERROR filled. Closed with rp_gnuplot_close_file.
 */
FILE *rp_gnuplot_file(const rp_gnuplot *plot, const char *name, rp_error *error);
rp_code rp_gnuplot_close_file(FILE *file, const char *name, rp_error *error);

/* Writes TEXT as one field of a tab-separated label file: printable, one line, and with
 * backslashes doubled, which gnuplot would read as escapes, so that it is shown as it is. */
void rp_gnuplot_text(FILE *file, const char *text);

/* Settings that every script reads first: the terminal, the output, the font. */
void rp_gnuplot_terminal(FILE *settings, const rp_plot_options *options, int width, int height,
                         double font);

/* Copies SCRIPT (a file beside the installed scripts) into the folder and runs it there; the
 * picture, written as "picture" in the folder, is then moved to OUTPUT. */
rp_code rp_gnuplot_run(rp_gnuplot *plot, const char *script, const char *output, rp_error *error);

/* Removes a temporary folder. KEEP_IT: leaves it (something failed, and the user may want it). */
void rp_gnuplot_close(rp_gnuplot *plot, bool keep_it);

#endif
