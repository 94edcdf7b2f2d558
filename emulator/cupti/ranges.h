/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that are being collected, of the range profiler or of a session: each launch its own, or
 * all between a push and a pop of the client's together. They are kept here until they are decoded
 * into a counter data image. Nothing here locks: the owner does.
 */
#ifndef EMU_CUPTI_RANGES_H
#define EMU_CUPTI_RANGES_H

#include "emulator/cudart/observe.h"
#include "emulator/cupti/image.h"

enum { RANGES_DEPTH = 16 }; /* of the client's, one in another */

typedef struct range_list {
    counter_range *pending; /* not decoded */
    size_t count, capacity;
    size_t most;    /* of a pass */
    size_t of_pass; /* in the pass that runs */
    size_t dropped;
    bool later; /* pass of a replay by the client: its ranges are there already */
    counter_range open[RANGES_DEPTH]; /* outermost first */
    int depth;
} range_list;

/* Nothing collected, room for MOST in a pass; ranges that are pending are gone. */
void ranges_reset(range_list *l, size_t most);
void ranges_begin_pass(range_list *l, bool later);
/* USER: the client's ranges, else one of its own. */
void ranges_launch(range_list *l, const emu_launch_event *e, bool user);
/* False: nested too deep. */
bool ranges_push(range_list *l, const char *name);
/* False: none is open. */
bool ranges_pop(range_list *l);
/* A later pass has other ranges than the first. */
bool ranges_differ(const range_list *l);
/* What is pending goes into the image. Returns how many were dropped since the last time. */
size_t ranges_decode(range_list *l, counter_image *image);
void ranges_free(range_list *l);

#endif
