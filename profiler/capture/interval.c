/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining intervals.
 */
#include "capture/interval.h"
#include "support/array.h"
#include <stdlib.h>

bool rp_intervals_add(rp_intervals *intervals, int64_t start, int64_t end) {
    if (intervals->count) {
        rp_interval *last = &intervals->items[intervals->count - 1];
        if (start >= last->start && start <= last->end) {
            if (end > last->end)
                last->end = end;
            return true;
        }
    }
    if (!RP_ARRAY_ROOM(intervals->items, intervals->capacity, intervals->count))
        return false;
    bool in_order = intervals->joined == intervals->count &&
                    (!intervals->count || start > intervals->items[intervals->count - 1].end);
    intervals->items[intervals->count++] = (rp_interval){start, end};
    if (in_order)
        intervals->joined = intervals->count;
    return true;
}

static int by_start(const void *a, const void *b) {
    int64_t x = ((const rp_interval *)a)->start, y = ((const rp_interval *)b)->start;
    return (x > y) - (x < y);
}

static void join(rp_intervals *intervals) {
    if (intervals->joined == intervals->count)
        return;
    qsort(intervals->items, intervals->count, sizeof *intervals->items, by_start);
    size_t kept = 0;
    for (size_t i = 1; i < intervals->count; i++) {
        rp_interval next = intervals->items[i], *last = &intervals->items[kept];
        if (next.start > last->end)
            intervals->items[++kept] = next;
        else if (next.end > last->end)
            last->end = next.end;
    }
    intervals->joined = intervals->count = kept + 1;
}

int64_t rp_intervals_union(rp_intervals *intervals) {
    join(intervals);
    int64_t total = 0;
    for (size_t i = 0; i < intervals->count; i++)
        total += intervals->items[i].end - intervals->items[i].start;
    return total;
}

bool rp_intervals_span(const rp_intervals *intervals, int64_t *start, int64_t *end) {
    if (!intervals->count)
        return false;
    *start = intervals->items[0].start;
    *end = intervals->items[intervals->count - 1].end;
    return true;
}

void rp_intervals_free(rp_intervals *intervals) {
    free(intervals->items);
    *intervals = (rp_intervals){0};
}
