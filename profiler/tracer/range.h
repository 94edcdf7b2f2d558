/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's range profiler, one context at a time, in the order of calls that its documents and
 * samples show: image initialised, configuration set, started, launches, stopped, decoded,
 * evaluated. Each launch is a range of its own (automatic ranges; kernel replay, which with one
 * pass replays nothing, or application replay, which leaves replaying to us). Values are evaluated
 * here, by CUPTI's host interface.
 *
 * Where there is no range profiler, or none for a device (V100), the same is done by profiler
 * sessions (nvpw.h). Which of the two it is, a context knows; who calls need not.
 */
#ifndef RP_TRACER_RANGE_H
#define RP_TRACER_RANGE_H

#include "tracer/cupti_abi.h"
#include "tracer/host.h"
#include <stdbool.h>

enum { RANGE_BATCH = 64 }; /* launches that one image holds, but for graphs of more kernels */

/* A set of metrics, and what CUPTI made of it for a chip. */
typedef struct configuration {
    const char *profile; /* "HW" */
    const char **metrics;
    size_t count;
    bool built;
    void *host; /* CUPTI's host object */
    uint8_t *image;
    size_t image_size, passes;
    uint8_t *counters; /* the counter data image of its context */
    size_t counters_size;
    size_t room;         /* ranges that it holds */
    uint32_t written[2]; /* numbers + 1 of its SPOOL_METRICS frames: with peaks, without */
    uint32_t evaluations;
    nvpw_set set; /* by sessions: this instead of the host object and the images */
    nvpw_window window;
} configuration;

/* A context whose launches can be counted. */
typedef struct counted_context {
    void *context, *object;
    uint32_t device;
    char chip[32];
    uint8_t *availability; /* which counters there are: fewer on MIG; NULL */
    nvpw_api *nvpw;        /* counted by sessions; NULL: by the range profiler */
} counted_context;

/* A call that was refused: what it was, and CUPTI's result (0: none was). */
typedef struct refusal {
    const char *call;
    cupti_result result;
} refusal;

/* What counters need of CONTEXT: support, chip, availability, the profiler itself. */
refusal range_attach(const cupti_api *api, void *context, counted_context *out);
void range_detach(const cupti_api *api, counted_context *context);

/* Adds the metrics that are not in it yet. False: no memory. */
bool configuration_add(configuration *c, const char *const *metrics, size_t count);

/* Makes the images; metrics that this CUPTI or this device has not are left out. */
refusal configuration_build(const cupti_api *api, const host_api *host,
                            const counted_context *context, configuration *c);
/* Of a built one: its image holds RANGES at least. */
refusal configuration_make_room(const cupti_api *api, const counted_context *context,
                                configuration *c, size_t ranges);
/* Back to what it was before it was built: metrics alone. */
void configuration_clear(const host_api *host, configuration *c);
void configuration_free(const host_api *host, configuration *c);

/* From here to range_stop each launch in the context is a range. REPLAY: REPLAY_KERNEL, by CUPTI,
 * as often as the configuration has passes; REPLAY_APPLICATION, by nobody: one pass. */
refusal range_start(const cupti_api *api, const counted_context *context, configuration *c,
                    int replay);
/* Ends a window that does not come back, from any thread; nothing is read. */
void range_break(const cupti_api *api, const counted_context *context, const configuration *c);
/* *RANGES: how many there were; *DROPPED: how many found no room. */
refusal range_stop_and_decode(const cupti_api *api, const counted_context *context,
                              configuration *c, size_t *ranges, size_t *dropped);
/* Values of range I for COUNT of METRICS. */
refusal range_evaluate(const host_api *host, const configuration *c, size_t i,
                       const char *const *metrics, size_t count, double *values);

#endif
