/* SPDX-License-Identifier: Apache-2.0
 *
 * A program on emulated devices, from start to capture: inspects it, puts the emulated runtime
 * before it (LD_PRELOAD), runs it with its own streams, signals and exit code, and imports what
 * each process of it wrote. Used by `roofprof emulate` and `roofprof --emulate`.
 */
#ifndef RP_COMMANDS_EMULATE_H
#define RP_COMMANDS_EMULATE_H

#include "support/error.h"
#include <limits.h>
#include <stdbool.h>

typedef struct rp_emulate_options {
    const char *devices; /* "H100", "H100:2,A100" */
    const char *capture; /* where it goes */
    const char *hwdb;    /* further records of the database; NULL */
    bool warm;           /* caches keep their state from launch to launch */
    bool no_counts;      /* run only: no counts, no modelled times */
    int threads;         /* host threads; 0: one per core */
    const char *tracer;  /* libroofprof_tracer.so: it runs in the program too, and the capture is
                            what it saw; what the device counted goes to a capture beside it. NULL:
                            the capture is what the device counted */
    const struct rp_trace_settings *settings; /* of the tracer; NULL: it traces and counts nothing */
    const char *counts; /* with a tracer: where what the device counted goes; NULL: nowhere */
    const int *streams; /* the program's stdin, stdout and stderr; NULL: ours */
} rp_emulate_options;

typedef struct rp_emulate_result {
    int exit_code; /* the program's, 128 + n for a signal, 126 and 127 if it cannot be run */
    int signal;    /* that ended it, or asked it to end; 0 none */
    bool ran;
    char *capture; /* where it is; NULL: nothing was launched. To be freed */
    bool counts;   /* with a tracer: the device's own capture was made */
    int processes; /* that used a device */
} rp_emulate_result;

/* Runs ARGV (NULL-terminated). What speaks against the program's running on an emulated device is
 * RP_INPUT before it is started, with the flags that help. */
rp_code rp_emulate_program(const rp_emulate_options *options, char *const argv[],
                           rp_emulate_result *result, rp_error *error);

/* The folder with the emulated libraries: $ROOFPROF_EMULATOR, else where a build or an installation
 * puts it beside this executable. RP_MACHINE: it is not there. */
rp_code rp_emulate_find(char folder[PATH_MAX], rp_error *error);

/* The devices that can be emulated, one a line, on stdout. */
rp_code rp_emulate_list(const char *hwdb, rp_error *error);

#endif
