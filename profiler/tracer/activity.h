/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity records: the buffers that CUPTI fills, and what of their records goes to the spool.
 */
#ifndef RP_TRACER_ACTIVITY_H
#define RP_TRACER_ACTIVITY_H

#include "tracer/cupti_abi.h"

/* Registers the buffer callbacks and enables the kinds; VERSION is cuptiGetVersion's. Refusals are
 * noted in the spool. 0, or the result that makes tracing pointless. */
cupti_result activity_start(const cupti_api *api, uint32_t version);

/* Writes an SPOOL_LOST frame if anything was lost since the last. */
void activity_write_lost(void);

/* In a forked child: no callback may touch the spool any more. */
void activity_abandon(void);

/* What CUPTI calls; tests call them as well. */
void activity_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void activity_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid);

#endif
