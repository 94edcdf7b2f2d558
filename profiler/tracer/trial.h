/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe's trial: do tracing kernels and counting launches go together in one process? NVIDIA
 * promises nothing of the records of launches that are profiled, so a small kernel is launched
 * before, inside and after a window, and its records are looked at. Only what is seen to work here
 * is then done in the target.
 */
#ifndef RP_TRACER_TRIAL_H
#define RP_TRACER_TRIAL_H

#include "tracer/range.h"

typedef enum trial_result {
    TRIAL_TOGETHER, /* records and counters are as they should be, with both at once */
    TRIAL_APART,    /* or as long as tracing pauses while a window is open */
    TRIAL_ALONE     /* neither: a run is either traced or counted */
} trial_result;

/* "together", "apart", "alone": how the probe says it. */
const char *trial_word(trial_result result);
/* The first word of TEXT; TRIAL_APART for any other, which is what NVIDIA promises. */
trial_result trial_of_word(const char *text);

/* Subscribes, registers buffers and enables kernel records, before anything is loaded. 0, or the
 * first result that was refused: no harm, the target will be told the same. */
cupti_result trial_trace(const cupti_api *api);

/* With HW built for CONTEXT, which is current. DRIVER: the handle of libcuda. VERSION is CUPTI's.
 * *REFUSED: what counting itself was refused. Without a way to launch a kernel it says APART. */
trial_result trial_run(const cupti_api *api, const host_api *host, void *driver, uint32_t version,
                       const counted_context *context, configuration *hw, refusal *refused);

#endif
