/* SPDX-License-Identifier: Apache-2.0
 *
 * The union of time intervals: how long a device was busy when streams overlap. Intervals may come
 * in any order; those that touch the last one are joined at once, so that the memory used is that
 * of the gaps. Nanoseconds.
 */
#ifndef RP_CAPTURE_INTERVAL_H
#define RP_CAPTURE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_interval {
    int64_t start, end;
} rp_interval;

typedef struct rp_intervals { /* zero-initialise */
    rp_interval *items;
    size_t count, capacity;
    size_t joined; /* of the first items, those known to be sorted and apart */
} rp_intervals;

/* False: no memory. */
bool rp_intervals_add(rp_intervals *intervals, int64_t start, int64_t end);
/* Length of the union, ns; sorts and joins what is there. */
int64_t rp_intervals_union(rp_intervals *intervals);
/* First start and last end, after rp_intervals_union; false if there is none. */
bool rp_intervals_span(const rp_intervals *intervals, int64_t *start, int64_t *end);
void rp_intervals_free(rp_intervals *intervals);

#endif
