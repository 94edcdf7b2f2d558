/* SPDX-License-Identifier: Apache-2.0
 *
 * What `run` and `emulate` have in common around the program: where the capture goes, that it can
 * go there (found before the program runs, not after hours of it), and the report and the plot once
 * it is written.
 */
#ifndef RP_COMMANDS_FINISH_H
#define RP_COMMANDS_FINISH_H

#include "output/table.h"
#include "support/error.h"
#include <stdbool.h>

typedef struct rp_finish_options {
    const char *output; /* -o; NULL: from the program's name. %p %h %r %% */
    const char *report; /* --report FILE; NULL: stderr */
    rp_format format;   /* of the report */
    const char *plot;   /* --plot FILE; NULL none */
    const char *device; /* --device; NULL */
    const char *hwdb;   /* --hwdb; NULL */
    const char *work;   /* --work; NULL */
    bool quiet;         /* no report */
} rp_finish_options;

/* The capture's path (malloc): OUTPUT with its letters replaced, else the program's name, or the
 * script's under an interpreter, with the rank under a launcher, and ".roof". NULL: RP_USAGE. */
char *rp_finish_capture_name(const rp_finish_options *options, char *const *argv, rp_error *error);

/* Fails if the capture, the report or the plot could not be written where they shall go. */
rp_code rp_finish_check(const rp_finish_options *options, const char *capture, rp_error *error);

/* The same, and makes a private folder for spools beside CAPTURE; the path (malloc) is absolute.
 * NULL: ERROR says why. */
char *rp_finish_prepare(const rp_finish_options *options, const char *capture, rp_error *error);

/* Removes the folder and what is in it. */
void rp_finish_remove(const char *folder);

/* Report to stderr or the file, then the plot; each that fails says so on stderr, and the other is
 * still made. */
void rp_finish_show(const rp_finish_options *options, const char *capture);

#endif
