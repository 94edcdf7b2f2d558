/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting: which launches are counted, the windows around them, and what their counters say. Calls
 * come from launch callbacks, on the target's threads; every refusal of CUPTI's ends counting for
 * good, is said in the spool, and leaves the target and tracing as they are.
 *
 * While a launch is counted no other thread launches: one lock is held, for writing, from its entry
 * to its exit, and the others hold it for reading. Nobody waits for it for long: a launch that
 * cannot have it in time goes on untouched, and if one slips into another's window, CUPTI's number
 * of ranges does not fit and that window is thrown away.
 */
#ifndef RP_TRACER_COUNT_H
#define RP_TRACER_COUNT_H

#include "tracer/cupti_abi.h"
#include "tracer/graph.h"
#include "tracer/host.h"
#include "tracer/settings.h"

/* HOST: of the same library. Both live for ever. TOGETHER: kernels may be traced while a window is
 * open; else, in sampled mode, their tracing pauses for as long. */
void count_start(const cupti_api *api, const host_api *host, const tracer_settings *settings,
                 bool together);
bool count_on(void);

/* When it is created, and before each launch in it: threads may launch before the one that made it
 * has told of it. */
void count_context_seen(void *context);
void count_context_destroyed(void *context);
/* Its device's ordinal; 0 for a context that cannot be counted in. */
uint32_t count_device(const void *context);

/* A launch, of CONFIG (names_config), is about to happen; the result goes to count_exit. */
uint64_t count_enter(void *context, uint32_t config, uint32_t correlation);
/* One that nobody asked for. */
uint64_t count_enter_untouched(void);
/* One that must not be counted: a collective, or of a kind whose shape is not known (CONFIG
 * SPOOL_NONE). */
uint64_t count_enter_skipped(uint32_t config, uint32_t correlation);
/* A graph: one launch of many kernels, whose ranges are KERNELS' in their order. KERNELS NULL:
 * nothing is known of it, and it runs untouched. KEY: what was counted of it so far. */
uint64_t count_enter_graph(void *context, const graph_kernels *kernels, launch_key *key,
                           uint32_t correlation);
/* REFUSED: it did not happen. */
void count_exit(uint64_t entered, bool refused);

/* From a stream capture's begin to its end launches do not run. FAILED: it did not begin. */
void count_capture_begins(void);
void count_capture_ends(void);

/* Each second, from the tracer's own thread: a stuck window, one that was left open, the totals. */
void count_tick(void);
/* The program ends. DRIVER_IS_UP: what is open can still be read. */
void count_finish(bool driver_is_up);
/* In a forked child. */
void count_abandon(void);

#endif
