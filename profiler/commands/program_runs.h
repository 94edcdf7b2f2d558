/* SPDX-License-Identifier: Apache-2.0
 *
 * How often a program is run: once; twice, traced first and counted then; or, in mode rerun, once
 * to be traced and once for each configuration of counters. The runs become one capture, matched
 * launch by launch. Who runs it, on a real device or an emulated one, is the runner's business.
 *
 * What the program shows and returns is the first run's. Of later runs in mode rerun nothing is
 * shown, and they read the same file on stdin from where the first began, or nothing.
 */
#ifndef RP_COMMANDS_PROGRAM_RUNS_H
#define RP_COMMANDS_PROGRAM_RUNS_H

#include "commands/finish.h"
#include "commands/settings.h"

typedef struct rp_run {
    const rp_trace_settings *settings;
    const char *folder;  /* for whatever the run leaves; absolute */
    const char *capture; /* where its capture goes */
    const int *streams;  /* stdin, stdout, stderr; NULL: ours */
    bool first;          /* of all runs: the one that a person sees */
} rp_run;

typedef struct rp_run_result {
    int code;   /* the program's exit code, 128 + n for a signal; 126, 127 if it could not be run */
    int signal; /* that ended it, or asked it to end; 0 none */
    bool ran;
    bool made; /* there is a capture; else it was said why there is none */
} rp_run_result;

/* Runs ARGV once. A program that cannot be run is an error; one that fails is not. */
typedef rp_code (*rp_runner)(void *context, const rp_run *run, char *const *argv,
                             rp_run_result *result, rp_error *error);

typedef struct rp_runs_options {
    rp_runner run;
    void *context; /* of RUN */
    const char *capture;
    const rp_trace_settings *settings;
    const rp_finish_options *finish;
    int runs;  /* 1 or 2; of mode rerun 1 */
    bool keep; /* leave the spools */
} rp_runs_options;

rp_code rp_program_runs(const rp_runs_options *options, char *const *argv, rp_run_result *result,
                        rp_error *error);

#endif
