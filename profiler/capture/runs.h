/* SPDX-License-Identifier: Apache-2.0
 *
 * Several runs of one program made into one capture: the first was traced, each of the others
 * counted every launch with one configuration of counters. Nothing says that a program does the
 * same twice, so the runs are held against each other, launch by launch.
 */
#ifndef RP_CAPTURE_RUNS_H
#define RP_CAPTURE_RUNS_H

#include "capture/capture.h"

typedef struct rp_counted_run {
    rp_capture *capture; /* finished */
    const char *name;    /* what it counted, for notes: "HW" */
} rp_counted_run;

/* FIRST's launches, times, copies and ranges, and the counters of RUNS, into INTO (created, not
 * finished). Processes are matched by rank, else by name and launches; launches by process, kernel,
 * grid, block and shared memory, in order. Where a run has another number of launches of a kernel
 * and shape than the first, its counters of these are left out: they stay unknown. That,
 * another order of launches, and that there are kernels of graphs, is noted. A metric that several
 * runs have counted is the first one's. */
rp_code rp_capture_merge_runs(rp_capture *first, const rp_counted_run *runs, size_t n,
                              rp_capture *into, rp_error *error);

/* Some launch of a counted run used the tensor pipe for more than half-precision FMAs. */
rp_code rp_capture_used_tensor_cores(rp_capture *capture, bool *used, rp_error *error);

/* The chips of its devices, as CUPTI names them: calls TAKE with each that is known. */
rp_code rp_capture_each_chip(rp_capture *capture, void (*take)(void *context, const char *chip),
                             void *context, rp_error *error);

#endif
