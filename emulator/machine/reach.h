/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the lanes of a memory access point to: addresses, checks, and what the memory model sees of
 * them. Shared by the handlers that touch memory. */
#ifndef EMU_MACHINE_REACH_H
#define EMU_MACHINE_REACH_H

#include "emulator/machine/execute.h"

typedef enum shape { SHAPE_SCATTERED, SHAPE_CONTIGUOUS, SHAPE_UNIFORM } shape;

/* Where the lanes of an access point to: lane l at host + address[l] of the host. */
typedef struct reached {
    alignas(32) uint64_t address[WARP];
    uint64_t host;
    shape shape;
} reached;

INLINE uint8_t *host_of(const reached *r, uint32_t l) {
    return (uint8_t *)(uintptr_t)(r->host + r->address[l]);
}

INLINE void make_addresses(const emu_warp *w, const emu_op *o, bool generic, uint64_t *address) {
    if (o->flags & OP_WIDE_ADDRESS) {
        const uint64_t *a = at(w, o->a), offset = (uint64_t)o->immediate;
        LANE_LOOP address[l] = a[l] + offset;
    } else {
        const uint32_t *a = at(w, o->a), offset = (uint32_t)o->immediate;
        LANE_LOOP address[l] = a[l] + offset;
    }
    if (generic)
        LANE_LOOP address[l] &= OFFSET_MASK;
    const uint32_t mask = w->mask;
    if (mask != ALL_LANES) {
        uint64_t first = address[__builtin_ctz(mask)];
        LANE_LOOP address[l] = mask & lane_bit[l] ? address[l] : first;
    }
}

/* True if BYTES at every address are in [LOW, LOW + LIMIT + BYTES) and aligned. */
INLINE bool inside(reached *r, uint64_t low, uint64_t limit, uint32_t bytes, uint32_t align,
                   uint32_t mask) {
    uint64_t outside = 0, low_bits = 0, gaps = 0, differs = 0, first = r->address[0];
    LANE_LOOP {
        uint64_t a = r->address[l], d = a - low;
        outside |= d | (limit - d);
        low_bits |= a;
        gaps |= a ^ (first + (uint64_t)l * bytes);
        differs |= a ^ first;
    }
    r->shape = mask != ALL_LANES ? SHAPE_SCATTERED
               : gaps == 0       ? SHAPE_CONTIGUOUS
               : differs == 0    ? SHAPE_UNIFORM
                                 : SHAPE_SCATTERED;
    return !(outside >> 63) && !(low_bits & (align - 1));
}

INLINE void count_access(emu_warp *w, const emu_op *o, int space, emu_access_op access,
                         uint32_t bytes, const uint64_t *address) {
    if (w->worker->counting)
        emu_traffic_access(w->worker->sm, (emu_space)space, access,
                           o->flags & OP_L2_ONLY ? EMU_CACHE_L2_ONLY : EMU_CACHE_ALL, bytes,
                           w->mask, address);
}

/* The same where inside() has seen how the lanes lie. */
INLINE void count_reached(emu_warp *w, const emu_op *o, int space, emu_access_op access,
                          uint32_t bytes, const reached *r) {
    if (r->shape == SHAPE_SCATTERED || access == EMU_ATOMIC)
        count_access(w, o, space, access, bytes, r->address);
    else if (w->worker->counting)
        emu_traffic_access_row(w->worker->sm, (emu_space)space, access,
                               o->flags & OP_L2_ONLY ? EMU_CACHE_L2_ONLY : EMU_CACHE_ALL, bytes,
                               r->address[0], r->shape == SHAPE_CONTIGUOUS ? bytes : 0);
}

/* Checks and counts of one access of BYTES a lane at the addresses in R. */
INLINE int reach_addresses(emu_warp *w, const emu_op *o, int space, emu_access_op access,
                           uint32_t bytes, reached *r) {
    uint32_t align = bytes;
    if (space == EMU_GLOBAL || space == EMU_CONSTANT) {
        const emu_range *range = &w->worker->range[o->memory];
        r->host = 0;
        if (!inside(r, range->base, range->size - bytes, bytes, align, w->mask)) {
            int status = emu_search_ranges(w, o, r->address, bytes);
            if (status)
                return status;
        }
        if (space == EMU_GLOBAL)
            count_reached(w, o, space, access, bytes, r);
    } else if (space == EMU_SHARED) {
        uint64_t limit = (uint64_t)w->worker->run->shared_bytes - bytes;
        r->host = (uint64_t)(uintptr_t)w->block->shared;
        if (!inside(r, 0, limit, bytes, align, w->mask))
            return emu_report_lane(w, o, space, r->address, 0, limit, bytes);
        count_reached(w, o, space, access, bytes, r);
    } else {
        uint64_t limit = (uint64_t)w->program->local_limit - bytes;
        r->host = (uint64_t)(uintptr_t)w->local;
        const uint64_t stride = w->program->local_limit; /* from one lane to the next */
        if (!inside(r, 0, limit, bytes, align, w->mask))
            return emu_report_lane(w, o, space, r->address, 0, limit, bytes);
        r->shape = SHAPE_SCATTERED;
        emu_count_local(w, o, access, bytes, r->address);
        LANE_LOOP r->address[l] += (uint64_t)l * stride;
    }
    return 0;
}

/* Addresses, checks and counts of one access of BYTES a lane. */
INLINE int reach(emu_warp *w, const emu_op *o, int space, bool generic, emu_access_op access,
                 uint32_t bytes, reached *r) {
    make_addresses(w, o, generic, r->address);
    return reach_addresses(w, o, space, access, bytes, r);
}

/* Cuts the lanes of a generic access by window and runs PIECE for each. */
INLINE int by_window(emu_warp *w, const emu_op *o,
                     int (*piece)(emu_warp *, const emu_op *, int, bool)) {
    uint32_t mask = w->mask, shared = 0, local = 0;
    bool wide = o->flags & OP_WIDE_ADDRESS;
    for (uint32_t l = 0; l < WARP; l++) {
        uint64_t window = (slot_value(w, o->a, wide, l) + (uint64_t)o->immediate) & WINDOW_MASK;
        shared |= window == SHARED_WINDOW ? lane_bit[l] : 0;
        local |= window == LOCAL_WINDOW ? lane_bit[l] : 0;
    }
    uint32_t part[3] = {mask & ~shared & ~local, mask & shared, mask & local};
    static const int space[3] = {EMU_GLOBAL, EMU_SHARED, EMU_LOCAL};
    int status = 0;
    for (int i = 0; i < 3 && !status; i++) {
        w->mask = part[i];
        if (part[i])
            status = piece(w, o, space[i], i > 0);
    }
    w->mask = mask;
    return status;
}

#endif
