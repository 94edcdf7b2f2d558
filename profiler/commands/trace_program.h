/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program with the tracer injected, and making a capture of what it left. Once, or twice:
 * traced first and counted then, matched launch by launch.
 */
#ifndef RP_COMMANDS_TRACE_PROGRAM_H
#define RP_COMMANDS_TRACE_PROGRAM_H

#include "commands/finish.h"
#include "commands/settings.h"

typedef struct rp_trace_options {
    const char *tracer;  /* libroofprof_tracer.so */
    const char *capture; /* where it goes */
    const rp_trace_settings *settings;
    int runs;  /* 1 or 2 */
    bool keep; /* leave the spools */
} rp_trace_options;

typedef struct rp_trace_result {
    int code;    /* the program's exit code; 126, 127 if it could not be run; 125 */
    bool traced; /* it ran */
    bool made;   /* there is a capture; else it was said why there is none */
} rp_trace_result;

/* $ROOFPROF_TRACER; beside an installed binary; beside one in its build tree. To be freed; NULL:
 * ERROR says why. */
char *rp_trace_find_tracer(rp_error *error);

/* A program that cannot be run is an error; one that fails is not. */
rp_code rp_trace_program(const rp_trace_options *options, const rp_finish_options *finish,
                         char *const *argv, rp_trace_result *result, rp_error *error);

#endif
