/* SPDX-License-Identifier: Apache-2.0
 *
 * Nested intervals behind lanes.h: one array sorted by lane, start and falling length, with a link
 * from each interval to the one around it. A look-up is a binary search and a walk outwards.
 */
#include "importers/lanes.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 4096 };

typedef struct interval {
    uint64_t lane;
    int64_t start, end;
    size_t order;  /* as added: keeps the sort stable */
    size_t parent; /* index, SIZE_MAX none */
    int64_t id;
    char *name;
} interval;

struct rp_lanes {
    interval *at;
    size_t count, capacity;
};

rp_code rp_lanes_new(rp_lanes **lanes, rp_error *error) {
    *lanes = calloc(1, sizeof **lanes);
    return *lanes ? RP_OK : rp_fail(error, RP_INTERNAL, "out of memory");
}

void rp_lanes_free(rp_lanes *lanes) {
    if (!lanes)
        return;
    for (size_t i = 0; i < lanes->count; i++)
        free(lanes->at[i].name);
    free(lanes->at);
    free(lanes);
}

size_t rp_lanes_count(const rp_lanes *lanes) {
    return lanes->count;
}

rp_code rp_lanes_add(rp_lanes *lanes, uint64_t lane, const char *name, size_t length, int64_t start,
                     int64_t end, rp_error *error) {
    if (end < start)
        return RP_OK;
    if (lanes->count == lanes->capacity) {
        size_t capacity = lanes->capacity ? lanes->capacity * 2 : 64;
        interval *at = realloc(lanes->at, capacity * sizeof *at);
        if (!at)
            return rp_fail(error, RP_INTERNAL, "out of memory for %zu ranges", capacity);
        lanes->at = at;
        lanes->capacity = capacity;
    }
    char *copy = strndup(name, length < LONGEST_NAME ? length : LONGEST_NAME);
    if (!copy)
        return rp_fail(error, RP_INTERNAL, "out of memory for a range's name");
    lanes->at[lanes->count] = (interval){.lane = lane,
                                         .start = start,
                                         .end = end,
                                         .order = lanes->count,
                                         .parent = SIZE_MAX,
                                         .id = -1,
                                         .name = copy};
    lanes->count++;
    return RP_OK;
}

static int compare(const void *left, const void *right) {
    const interval *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* In sorted order the intervals around one are the latest before it, or around that one. */
static void link_parents(rp_lanes *lanes) {
    for (size_t i = 1; i < lanes->count; i++) {
        interval *at = lanes->at;
        size_t around = at[i - 1].lane == at[i].lane ? i - 1 : SIZE_MAX;
        while (around != SIZE_MAX && at[around].end < at[i].end)
            around = at[around].parent;
        at[i].parent = around;
    }
}

rp_code rp_lanes_store(rp_lanes *lanes, rp_capture *capture, int64_t shift, rp_error *error) {
    if (lanes->count)
        qsort(lanes->at, lanes->count, sizeof *lanes->at, compare);
    link_parents(lanes);
    for (size_t i = 0; i < lanes->count; i++) {
        interval *one = &lanes->at[i];
        int64_t parent = one->parent == SIZE_MAX ? -1 : lanes->at[one->parent].id;
        rp_code code = rp_capture_add_range(capture, parent, one->name, one->start + shift,
                                            one->end + shift, &one->id, error);
        if (code)
            return code;
    }
    return RP_OK;
}

int64_t rp_lanes_find(const rp_lanes *lanes, uint64_t lane, int64_t time) {
    size_t low = 0, high = lanes->count; /* first interval after (lane, time) */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const interval *one = &lanes->at[middle];
        if (one->lane < lane || (one->lane == lane && one->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || lanes->at[low - 1].lane != lane)
        return -1;
    size_t i = low - 1;
    /* Intervals that overlap without nesting (start/end ranges) are not in this chain; the nearest
     * that opened before is enough for them. */
    while (i != SIZE_MAX && lanes->at[i].end < time)
        i = lanes->at[i].parent;
    return i == SIZE_MAX ? -1 : lanes->at[i].id;
}
