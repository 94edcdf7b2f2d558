/* SPDX-License-Identifier: Apache-2.0
 *
 * Trying counters in a process of their own before they are used in the target: a refusal, a crash
 * or a hang of CUPTI's happens there. The answer is kept beside the spool for the other processes
 * of the run. The target never sees the child: it neither gets a SIGCHLD nor can it wait for it.
 */
#ifndef RP_TRACER_PROBE_RUN_H
#define RP_TRACER_PROBE_RUN_H

#include "tracer/cupti_abi.h"
#include "tracer/settings.h"
#include <stdbool.h>

typedef struct probe_answer {
    bool works;
    cupti_result result; /* where CUPTI refused; else 0 */
    char text[256];      /* which call, or what happened */
} probe_answer;

/* Runs the probe that SETTINGS name with the CUPTI at PATH, unless FOLDER holds its answer already.
 * Takes as long as making a context does, and SETTINGS' limit at most. */
void probe_run(const tracer_settings *settings, const char *folder, const char *cupti,
               probe_answer *answer);

#endif
