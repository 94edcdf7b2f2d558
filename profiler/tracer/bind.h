/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding CUPTI in a stranger's process: which libraries may serve, in which order, and binding one
 * of them symbol by symbol. Nothing is ever dlclosed (CUPTI does not survive it), and the process's
 * library path is never touched.
 */
#ifndef RP_TRACER_BIND_H
#define RP_TRACER_BIND_H

#include "tracer/cupti_abi.h"
#include <stdbool.h>

/* Calls VISIT with each candidate's path until it returns non-zero; returns that. DRIVER is the
 * driver's CUDA version (13000), 0 not known. Order: already mapped; $ROOFPROF_CUPTI (then nothing
 * else); beside the process's libcudart or torch; $CUDA_HOME and the toolkit's usual folder;
 * $CONDA_PREFIX; the loader's own path. A path that does not exist is not visited. */
int bind_candidates(int driver, int (*visit)(void *context, const char *path), void *context);

/* Loads PATH and binds what it has; 0 if it is a CUPTI (the activity interface is there), else the
 * reason in REASON (of 256 bytes). */
int bind_open(const char *path, cupti_api *api, void **handle, char *reason);

/* Two ways to counters: everything of the range profiler's is there (CUDA 12.8 and later), or of
 * the older profiler sessions (CUDA 11 and later). ROOFPROF_SESSIONS=1 denies the first, so that the
 * second can be tried where both are. */
bool bind_has_range_profiler(const cupti_api *api);
bool bind_has_sessions(const cupti_api *api);

/* The driver's CUDA version, from the libcuda that is loaded; 0 if there is none. */
int bind_driver_version(void);

/* A symbol of the libcuda that is loaded; NULL. */
void *bind_driver_symbol(const char *name);

#endif
