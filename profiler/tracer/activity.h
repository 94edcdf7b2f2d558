/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity records: the buffers that CUPTI fills, and what of their records goes to the spool.
 */
#ifndef RP_TRACER_ACTIVITY_H
#define RP_TRACER_ACTIVITY_H

#include "tracer/cupti_abi.h"
#include <stdbool.h>

/* Registers the buffer callbacks and enables copies and memory; VERSION is cuptiGetVersion's.
 * Refusals are noted in the spool. 0, or the result that makes tracing pointless. */
cupti_result activity_start(const cupti_api *api, uint32_t version);

/* Kernels as well: at once, except while every launch is counted, since records of replayed kernels
 * are not to be relied on. 0 also if they are traced already. */
cupti_result activity_trace_kernels(void);
/* Kernels are not traced until the next activity_trace_kernels. */
void activity_pause_kernels(void);
/* May tracing be paused with this VERSION? 13.0.0 deadlocks in it. */
bool activity_can_pause(uint32_t version);

/* Writes an SPOOL_LOST frame if anything was lost since the last. */
void activity_write_lost(void);

/* In a forked child: no callback may touch the spool any more. */
void activity_abandon(void);

/* What CUPTI calls; tests call them as well. */
void activity_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void activity_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid);

#endif
