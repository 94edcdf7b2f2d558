/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program once with the tracer injected, and making a capture of what it left. How often
 * it is run, and what becomes of the captures, is program_runs.h.
 */
#ifndef RP_COMMANDS_TRACE_PROGRAM_H
#define RP_COMMANDS_TRACE_PROGRAM_H

#include "capture/ingest.h"
#include "commands/program_runs.h"

/* $ROOFPROF_TRACER; beside an installed binary; beside one in its build tree. To be freed; NULL:
 * ERROR says why. */
char *rp_trace_find_tracer(rp_error *error);

/* $ROOFPROF_PROBE, or what stands beside TRACER. To be freed; NULL: there is none. */
char *rp_trace_find_probe(const char *tracer);

/* Adds the spools of FOLDER to CAPTURE; one that cannot be read is said, and left out. */
rp_code rp_trace_ingest(const char *folder, rp_capture *capture, rp_ingest_summary *summary,
                        rp_error *error);

/* An rp_runner; CONTEXT is the tracer's path. */
rp_code rp_trace_run(void *context, const rp_run *run, char *const *argv, rp_run_result *result,
                     rp_error *error);

#endif
