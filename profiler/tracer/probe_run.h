/* SPDX-License-Identifier: Apache-2.0
 *
 * Trying CUPTI in a process of its own before it is used in the target: a refusal, a crash or a
 * hang happens there. The answer is kept beside the spool for the other processes of the run. The
 * target never sees the child: it neither gets a SIGCHLD nor can it wait for it.
 */
#ifndef RP_TRACER_PROBE_RUN_H
#define RP_TRACER_PROBE_RUN_H

#include "tracer/cupti_abi.h"
#include "tracer/settings.h"
#include <stdbool.h>

/* The probe's word for having survived what tracing needs. */
#define PROBE_TRACES "tracing"

typedef struct probe_answer {
    bool works;          /* launches can be counted */
    bool dangerous;      /* it crashed or hung before it could trace: leave this CUPTI alone */
    cupti_result result; /* where CUPTI refused; else 0 */
    char text[256];      /* trial_word if it works; else which call, or what happened */
} probe_answer;

/* Runs the probe that SETTINGS name with the CUPTI at PATH, unless FOLDER holds its answer already
 * or another process is at it: then that one's answer is waited for. Takes as long as making a
 * context does, and SETTINGS' limit at most. */
void probe_run(const tracer_settings *settings, const char *folder, const char *cupti,
               probe_answer *answer);

#endif
