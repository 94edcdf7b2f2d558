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
    bool leave;          /* where gnuplot is missing or fails, the user can go on with the data */
    const char *instead; /* what else to do without gnuplot, as "; ..."; "" nothing */
} rp_gnuplot;

/* Makes the folder: OPTIONS' keep if there is one (made if absent), else a private temporary one,
 * which is left behind only if gnuplot fails and the picture was to be a file. */
rp_code rp_gnuplot_open(rp_gnuplot *plot, const rp_plot_options *options, rp_error *error);

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
 * picture, written as "picture" in the folder, is then moved to OUTPUT (NULL: stays there).
 * RP_MACHINE where gnuplot is missing or fails. */
rp_code rp_gnuplot_run(rp_gnuplot *plot, const char *script, const char *output, rp_error *error);

/* Removes a temporary folder, but for one that CODE, what rp_gnuplot_run said, tells of. */
void rp_gnuplot_close(rp_gnuplot *plot, rp_code code);

#endif
