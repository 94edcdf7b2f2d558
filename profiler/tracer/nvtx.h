/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX ranges, by an injection of our own (NVTX_INJECTION64_PATH names this library too): CUPTI's
 * markers are not needed. Each thread has a stack of pushed ranges; started ranges, which any
 * thread may end, stand below them. A range goes to the spool when it closes.
 */
#ifndef RP_TRACER_NVTX_H
#define RP_TRACER_NVTX_H

#include "tracer/spool.h"
#include <stdbool.h>

/* The innermost open range of this thread; SPOOL_NONE. */
uint32_t nvtx_current(void);

/* One of this thread's open ranges, or of the started ones, has a name that --range matches. */
bool nvtx_selected(void);

/* The program has used NVTX. */
bool nvtx_in_use(void);

/* Writes the started ranges that are still open, with end 0. Pushed ones of other threads are not
 * known here; they stay without a record and their launches name a range that never closed. */
void nvtx_write_open(void);

/* In a forked child. */
void nvtx_abandon(void);

#endif
