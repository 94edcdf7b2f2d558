/* SPDX-License-Identifier: Apache-2.0
 *
 * What `run` asks of the tracer, as the file of settings that tracer/settings.h describes: which
 * launches, which are counted, how, and with which metrics.
 */
#ifndef RP_COMMANDS_SETTINGS_H
#define RP_COMMANDS_SETTINGS_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_trace_settings {
    const char *mode;          /* "trace", "sampled", "replay", "rerun" */
    const char *configuration; /* of "rerun": what this run counts, "HW"; NULL */
    int64_t samples;
    double budget; /* fraction of the run's time; 0 no limit; < 0: the mode's own */
    double watchdog_s, probe_limit_s;
    const char *no_count[32]; /* globs, besides the collectives */
    size_t no_count_count;
    const char *kernel, *range; /* globs; NULL all */
    int64_t first, count;       /* count < 0: no end */
    double start_after_s;
    bool from_api;
    bool virtual_clock; /* an emulated device: waiting for a kernel says nothing of its time */
    const char *probe;  /* roofprof-probe's path; NULL: there is none */
} rp_trace_settings;
#define RP_TRACE_SETTINGS_INIT                                                                     \
    (rp_trace_settings) {                                                                          \
        .mode = "sampled", .samples = 3, .budget = -1, .watchdog_s = 20, .probe_limit_s = 20,      \
        .count = -1                                                                                \
    }

/* Writes the file; its path (malloc), inside FOLDER. NULL: ERROR says why. */
char *rp_trace_settings_write(const rp_trace_settings *settings, const char *folder,
                              rp_error *error);

/* A glob goes into one line of the file. */
bool rp_trace_settings_glob_is_fine(const char *glob);

#endif
