/* SPDX-License-Identifier: Apache-2.0
 *
 * Named intervals of a timeline (NVTX ranges, user annotations), and which one an instant lies in.
 * Intervals belong to a lane (a host thread, or a stream) in which they nest. First all are added,
 * then they are put into the capture, then launches ask. Private to importers.
 */
#ifndef RP_IMPORTERS_LANES_H
#define RP_IMPORTERS_LANES_H

#include "capture/capture.h"
#include <stdint.h>

typedef struct rp_lanes rp_lanes;

rp_code rp_lanes_new(rp_lanes **lanes, rp_error *error);
void rp_lanes_free(rp_lanes *lanes); /* NULL is fine */
size_t rp_lanes_count(const rp_lanes *lanes);

/* NAME is copied, at most 4 KiB of it. Intervals with END_NS < START_NS are ignored. */
rp_code rp_lanes_add(rp_lanes *lanes, uint64_t lane, const char *name, size_t length,
                     int64_t start_ns, int64_t end_ns, rp_error *error);

/* Sorts, finds each interval's parent (the innermost that holds it wholly) and adds all to CAPTURE
 * with SHIFT_NS added to their times, parents first. */
rp_code rp_lanes_store(rp_lanes *lanes, rp_capture *capture, int64_t shift_ns, rp_error *error);

/* The capture's id of the innermost interval of LANE that holds TIME_NS (unshifted); -1 none. */
int64_t rp_lanes_find(const rp_lanes *lanes, uint64_t lane, int64_t time_ns);

#endif
