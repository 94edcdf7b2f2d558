/* SPDX-License-Identifier: Apache-2.0
 *
 * Running the program that a person wants measured: its own stdin, stdout, stderr, terminal,
 * working directory, signals and exit code; only the environment has a few variables more.
 */
#ifndef RP_COMMANDS_LAUNCH_H
#define RP_COMMANDS_LAUNCH_H

#include "support/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct rp_launch_variable {
    const char *name, *value; /* value NULL: removed */
} rp_launch_variable;

typedef struct rp_launch_result {
    int code;     /* the program's exit code; 128 + n if signal n ended it; 126, 127 below */
    int signal;   /* 0; or n; or, where the program ended otherwise, INT, QUIT, TERM or HUP if that
                     reached us while it ran */
    bool started; /* false: CODE is 126 (cannot be executed) or 127 (not found) */
    double wall_s;
} rp_launch_result;

/* Runs ARGV (NULL-terminated; found in PATH) and waits for it, with our own streams, or (STREAMS
 * not NULL) with these for stdin, stdout and stderr. A signal that reaches us alone is passed on;
 * one from the terminal reaches the program by itself. Not started: ERROR says why and the code of
 * RESULT is set; the return value is RP_OK even so. */
rp_code rp_launch(char *const *argv, const rp_launch_variable *environment, size_t n,
                  const int streams[3], rp_launch_result *result, rp_error *error);

#endif
