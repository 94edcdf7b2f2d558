/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tracer does at launches: notes the NVTX range around them, chooses those that are
 * wanted, and hands those that may be counted to count.h. Callbacks are on only for what needs
 * them, since each costs.
 */
#ifndef RP_TRACER_LAUNCHES_H
#define RP_TRACER_LAUNCHES_H

#include "tracer/cupti_abi.h"
#include "tracer/settings.h"

/* The callback to subscribe with. */
void launches_callback(void *user, int domain, uint32_t cbid, const void *data);

/* Turns on what SETTINGS need. COUNTING: contexts and captures are followed as well. */
void launches_start(const cupti_api *api, cupti_subscriber subscriber,
                    const tracer_settings *settings, bool counting);

/* The program uses NVTX: its launches' ranges are wanted. */
void launches_ranges_begin(void);

/* No callback does anything any more. */
void launches_end(void);

#endif
