/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of asynchronous copies and of the barriers in memory that they complete on. */
#include "emulator/machine/reach.h"

/* cp.async: a copy, made at once. a is the global address, b the shared one; bytes are copied, of
 * which the first (register c, if kind is set) come from memory and the rest are zero. */
static int copy_piece(emu_warp *w, const emu_op *o, const uint8_t *from, uint32_t l,
                      uint32_t take) {
    uint64_t to =
        slot_value(w, o->b, o->flags & OP_WIDE_D, l) + (uint64_t)(int64_t)(int32_t)o->target;
    if ((to & WINDOW_MASK) == SHARED_WINDOW)
        to &= OFFSET_MASK;
    uint64_t limit = (uint64_t)w->worker->run->shared_bytes - o->bytes;
    if (to & (o->bytes - 1u))
        return emu_fault_lane(w, o, (int)l, EMU_MISALIGNED, to,
                              "shared address 0x%llx is not aligned to the %u bytes copied",
                              (unsigned long long)to, o->bytes);
    if (to > limit || limit >> 63)
        return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, to,
                              "%u bytes at shared address 0x%llx are outside of the block's shared "
                              "memory",
                              o->bytes, (unsigned long long)to);
    memcpy(w->block->shared + to, from, take);
    memset(w->block->shared + to + take, 0, o->bytes - take);
    return 0;
}

HANDLER(copy_async) {
    reached r;
    uint32_t mask = w->mask, reading = 0;
    const uint32_t *sizes = o->kind ? at(w, o->c) : NULL;
    EACH_LANE(mask) reading |= !sizes || sizes[l] ? lane_bit[l] : 0;
    int status = 0;
    w->mask = reading;
    if (reading)
        status = reach(w, o, EMU_GLOBAL, false, EMU_LOAD, o->bytes, &r);
    w->mask = mask;
    if (status)
        return status;
    alignas(32) uint64_t place[WARP] = {0};
    w->spin = 0;
    EACH_LANE(mask) {
        uint32_t take = sizes && sizes[l] < o->bytes ? sizes[l] : o->bytes;
        status = copy_piece(w, o, take ? host_of(&r, l) : NULL, l, take);
        if (status)
            return status;
        place[l] =
            (slot_value(w, o->b, o->flags & OP_WIDE_D, l) + (uint64_t)(int64_t)(int32_t)o->target) &
            OFFSET_MASK;
    }
    count_access(w, o, EMU_SHARED, EMU_STORE, o->bytes, place);
    return 0;
}
/* ---- mbarrier: phase in bit 63, arrivals still expected in bits 0-19, expected of the next phase
 * in bits 20-39, bytes outstanding in bits 40-62. The layout is ours; programs treat it as opaque.
 * ----- */
enum { MBARRIER_COUNT_BITS = 20 };
#define MBARRIER_ONES ((UINT64_C(1) << MBARRIER_COUNT_BITS) - 1)

INLINE uint64_t mbarrier_arrive(uint64_t state, uint64_t count) {
    uint64_t pending = state & MBARRIER_ONES, expected = state >> 20 & MBARRIER_ONES;
    uint64_t phase = state >> 63;
    pending = pending > count ? pending - count : 0;
    if (pending == 0) {
        pending = expected;
        phase ^= 1;
    }
    return phase << 63 | expected << 20 | pending;
}

INLINE void mbarrier_step(emu_warp *w, const emu_op *o, uint64_t *place, uint32_t l,
                          uint32_t *waited) {
    uint64_t state;
    memcpy(&state, place, sizeof state);
    uint64_t old = state;
    switch ((emu_mbarrier)o->kind) {
    case MBARRIER_INIT: {
        uint64_t count = ((const uint32_t *)at(w, o->b))[l] & MBARRIER_ONES;
        state = count << 20 | count;
        break;
    }
    case MBARRIER_INVALIDATE:
        state = 0;
        break;
    case MBARRIER_ARRIVE_DROP:
    case MBARRIER_ARRIVE:
    case MBARRIER_ARRIVE_NO_RESULT: {
        uint64_t count = o->b == UINT32_MAX ? 1 : ((const uint32_t *)at(w, o->b))[l];
        if (o->kind == MBARRIER_ARRIVE_DROP)
            state -= count << 20;
        state = mbarrier_arrive(state, count);
        if (o->d != UINT32_MAX)
            ((uint64_t *)at(w, o->d))[l] = old;
        break;
    }
    case MBARRIER_TEST: {
        uint64_t token = ((const uint64_t *)at(w, o->b))[l];
        *waited |= (token >> 63) != (state >> 63) ? lane_bit[l] : 0;
        break;
    }
    case MBARRIER_TEST_PARITY: {
        uint32_t parity = ((const uint32_t *)at(w, o->b))[l] & 1;
        *waited |= parity != (uint32_t)(state >> 63) ? lane_bit[l] : 0;
        break;
    }
    case MBARRIER_PENDING:
    case MBARRIER_EXPECT:
    case MBARRIER_ARRIVE_EXPECT:
        break;
    }
    if (state != old)
        w->spin = 0;
    memcpy(place, &state, sizeof state);
}

HANDLER(mbarrier) {
    if (o->kind == MBARRIER_PENDING) {
        const uint64_t *state = at(w, o->a);
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) d[l] = (uint32_t)(state[l] & MBARRIER_ONES);
        return 0;
    }
    reached r;
    bool generic = o->space == EMU_TEXTURE;
    int status = reach(w, o, EMU_SHARED, generic, EMU_ATOMIC, 8, &r);
    if (status)
        return status;
    uint32_t waited = 0;
    EACH_LANE(w->mask) mbarrier_step(w, o, (uint64_t *)host_of(&r, l), l, &waited);
    if (o->kind == MBARRIER_TEST || o->kind == MBARRIER_TEST_PARITY) {
        put_predicate(w, o->d, waited);
        w->watched = true;
    }
    return 0;
}

HANDLER(trap) {
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_TRAP, 0, "trap instruction");
}
