/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of asynchronous copies and of the barriers in memory that they complete on. */
#include "emulator/machine/reach.h"

/* ---- cp.async
 * ------------------------------------------------------------------------------------
 */

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
    if (take)
        memcpy(w->block->shared + to, from, take);
    memset(w->block->shared + to + take, 0, o->bytes - take);
    return 0;
}

HANDLER(copy_async) {
    reached r;
    uint32_t mask = w->mask, reading = 0;
    const uint32_t *sizes = o->kind == COPY_SIZED ? at(w, o->c) : NULL;
    uint32_t ignored = 0; /* lanes that write zeros alone */
    if (o->kind == COPY_IGNORED)
        ignored = source_predicate(w, o->c, o->flags & OP_NEGATE_C);
    EACH_LANE(mask) reading |= (!sizes || sizes[l]) && !(ignored & lane_bit[l]) ? lane_bit[l] : 0;
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
        if (ignored & lane_bit[l])
            take = 0;
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

/* ---- mbarrier -----------------------------------------------------------------------------------
 * A barrier object is 64 bits, opaque to programs. Here: arrivals that are still expected in bits 0
 * to 19, those of the next phase in bits 20 to 39, bytes announced and not yet arrived (with a
 * sign: they may arrive first) in bits 40 to 62, the phase's parity in bit 63. */
enum { COUNT_BITS = 20, BYTES_BITS = 23 };
enum { WAITING = 128 }; /* a wait in vain counts as so many backward branches that change nothing */
#define COUNT_ONES ((UINT64_C(1) << COUNT_BITS) - 1)

typedef struct barrier_object {
    uint64_t pending, expected, parity;
    int64_t bytes;
} barrier_object;

INLINE barrier_object unpack_barrier(uint64_t state) {
    return (barrier_object){.pending = state & COUNT_ONES,
                            .expected = state >> COUNT_BITS & COUNT_ONES,
                            .parity = state >> 63,
                            .bytes = (int64_t)(state << 1) >> (64 - BYTES_BITS)};
}

INLINE uint64_t pack_barrier(barrier_object b) {
    uint64_t bytes = (uint64_t)b.bytes & ((UINT64_C(1) << BYTES_BITS) - 1);
    return b.parity << 63 | bytes << 2 * COUNT_BITS | b.expected << COUNT_BITS | b.pending;
}

/* ARRIVALS take place and BYTES more are awaited; the phase ends when nothing is left to come. */
INLINE uint64_t advance_barrier(uint64_t state, uint64_t arrivals, int64_t bytes) {
    barrier_object b = unpack_barrier(state);
    b.bytes += bytes;
    b.pending -= arrivals < b.pending ? arrivals : b.pending;
    if (b.pending == 0 && b.bytes == 0) {
        b.pending = b.expected;
        b.parity ^= 1;
    }
    return pack_barrier(b);
}

INLINE uint64_t drop_expected(uint64_t state, uint64_t count) {
    barrier_object b = unpack_barrier(state);
    b.expected -= count < b.expected ? count : b.expected;
    return pack_barrier(b);
}

INLINE void mbarrier_step(emu_warp *w, const emu_op *o, void *place, uint32_t l, uint32_t *waited) {
    uint64_t state, old;
    memcpy(&old, place, sizeof old);
    state = old;
    const uint64_t operand =
        o->b == UINT32_MAX ? 1 : slot_value(w, o->b, o->kind == MBARRIER_TEST, l);
    switch ((emu_mbarrier)o->kind) {
    case MBARRIER_INIT:
        state = pack_barrier(
            (barrier_object){.pending = operand & COUNT_ONES, .expected = operand & COUNT_ONES});
        break;
    case MBARRIER_INVALIDATE:
        state = 0;
        break;
    case MBARRIER_ARRIVE:
        state = advance_barrier(state, operand, 0);
        break;
    case MBARRIER_ARRIVE_DROP:
        state = advance_barrier(drop_expected(state, operand), operand, 0);
        break;
    case MBARRIER_ARRIVE_EXPECT:
        state = advance_barrier(state, 1, (int64_t)operand);
        break;
    case MBARRIER_ARRIVE_DROP_EXPECT:
        state = advance_barrier(drop_expected(state, 1), 1, (int64_t)operand);
        break;
    case MBARRIER_EXPECT:
        state = advance_barrier(state, 0, (int64_t)operand);
        break;
    case MBARRIER_COMPLETE:
        state = advance_barrier(state, 0, -(int64_t)operand);
        break;
    case MBARRIER_TEST:
        *waited |= operand >> 63 != state >> 63 ? lane_bit[l] : 0;
        break;
    case MBARRIER_TEST_PARITY:
        *waited |= (operand & 1) != state >> 63 ? lane_bit[l] : 0;
        break;
    case MBARRIER_PENDING:
        break;
    }
    if (o->d != UINT32_MAX && o->kind != MBARRIER_TEST && o->kind != MBARRIER_TEST_PARITY)
        ((uint64_t *)at(w, o->d))[l] = old;
    if (state != old)
        w->spin = 0;
    memcpy(place, &state, sizeof state);
}

HANDLER(mbarrier) {
    if (o->kind == MBARRIER_PENDING) {
        const uint64_t *state = at(w, o->a);
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) d[l] = (uint32_t)unpack_barrier(state[l]).pending;
        return 0;
    }
    reached r;
    bool generic = o->space == EMU_TEXTURE;
    int status = reach(w, o, EMU_SHARED, generic, EMU_ATOMIC, 8, &r);
    if (status)
        return status;
    uint32_t waited = 0;
    EACH_LANE(w->mask) mbarrier_step(w, o, host_of(&r, l), l, &waited);
    if (o->kind == MBARRIER_TEST || o->kind == MBARRIER_TEST_PARITY) {
        if (o->d != UINT32_MAX)
            put_predicate(w, o->d, waited);
        w->watched = true;
        if (!(waited & w->mask)) /* who asks again and again should not have to do it often */
            w->spin += WAITING;
    }
    return 0;
}

/* ---- what completes on a barrier: bulk copies, st.async, red.async
 * --------------------------------
 */

/* Host address of BYTES at ADDRESS of SPACE; NULL with the worker's fault. */
static uint8_t *resolve(emu_warp *w, const emu_op *o, uint32_t l, int space, uint64_t address,
                        uint64_t bytes, uint32_t align) {
    if (space == EMU_SHARED)
        address &= OFFSET_MASK;
    const char *name = space == EMU_SHARED ? "shared" : "global";
    if (address & (align - 1)) {
        emu_fault_lane(w, o, (int)l, EMU_MISALIGNED, address,
                       "%s address 0x%llx is not aligned to %u bytes", name,
                       (unsigned long long)address, align);
        return NULL;
    }
    const uint64_t shared = w->worker->run->shared_bytes;
    emu_range range = {0};
    bool inside = space == EMU_SHARED ? address <= shared && bytes <= shared - address
                                      : emu_memory_range(w->worker->device, address, &range) &&
                                            bytes <= range.size - (address - range.base);
    if (!inside) {
        emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, address,
                       "%llu bytes at %s address 0x%llx are outside of %s",
                       (unsigned long long)bytes, name, (unsigned long long)address,
                       space == EMU_SHARED ? "the block's shared memory" : "every allocation");
        return NULL;
    }
    return space == EMU_SHARED ? w->block->shared + address : (uint8_t *)(uintptr_t)address;
}

static int complete_bytes(emu_warp *w, const emu_op *o, uint32_t l, uint64_t barrier,
                          uint64_t bytes) {
    uint8_t *place = resolve(w, o, l, EMU_SHARED, barrier, 8, 8);
    if (!place)
        return (int)w->worker->fault.status;
    uint64_t state;
    memcpy(&state, place, sizeof state);
    state = advance_barrier(state, 0, -(int64_t)bytes);
    memcpy(place, &state, sizeof state);
    w->spin = 0;
    return 0;
}

enum { BULK_UNIT = 16 }; /* addresses and sizes are multiples of it */

/* A bulk copy counts as what a warp that copies 16 bytes a lane would ask for, past L1. */
static void count_bulk(emu_warp *w, int space, emu_access_op access, uint64_t address,
                       uint64_t bytes) {
    if (!w->worker->counting)
        return;
    for (uint64_t done = 0; done < bytes; done += WARP * BULK_UNIT) {
        uint64_t units = (bytes - done) / BULK_UNIT, place[WARP] = {0};
        uint32_t lanes = units >= WARP ? ALL_LANES : (1u << units) - 1;
        for (uint32_t l = 0; l < WARP; l++)
            place[l] = address + done + l * BULK_UNIT;
        emu_traffic_access(w->worker->sm, (emu_space)space, access, EMU_CACHE_L2_ONLY, BULK_UNIT,
                           lanes, place);
    }
}

/* cp.async.bulk: b the destination, a the source, c the size in bytes, e the barrier, if there is
 * one. Addresses are whole (decode_async.c has added the offsets). */
static int copy_bulk_lane(emu_warp *w, const emu_op *o, uint32_t l) {
    const int from_space = o->kind == BULK_TO_SHARED ? EMU_GLOBAL : EMU_SHARED;
    const int to_space = o->kind == BULK_TO_GLOBAL ? EMU_GLOBAL : EMU_SHARED;
    uint64_t from = slot_value(w, o->a, true, l), to = slot_value(w, o->b, true, l);
    uint64_t bytes = slot_value(w, o->c, false, l);
    if (bytes % BULK_UNIT)
        return emu_fault_lane(w, o, (int)l, EMU_MISALIGNED, bytes,
                              "a bulk copy of %llu bytes, which is no multiple of %d",
                              (unsigned long long)bytes, BULK_UNIT);
    const uint8_t *source = resolve(w, o, l, from_space, from, bytes, BULK_UNIT);
    uint8_t *target = source ? resolve(w, o, l, to_space, to, bytes, BULK_UNIT) : NULL;
    if (!target)
        return (int)w->worker->fault.status;
    memmove(target, source, bytes);
    count_bulk(w, from_space, EMU_LOAD,
               from & (from_space == EMU_SHARED ? OFFSET_MASK : UINT64_MAX), bytes);
    count_bulk(w, to_space, EMU_STORE, to & (to_space == EMU_SHARED ? OFFSET_MASK : UINT64_MAX),
               bytes);
    w->spin = 0;
    if (o->e == UINT32_MAX)
        return 0;
    return complete_bytes(w, o, l, slot_value(w, o->e, true, l), bytes);
}

HANDLER(copy_bulk) {
    int status = 0;
    for (uint32_t l = 0; l < WARP && !status; l++)
        if (w->mask & lane_bit[l])
            status = copy_bulk_lane(w, o, l);
    return status;
}

/* st.async: b the address, e the barrier, extra the values. */
HANDLER(store_async) {
    const uint32_t count = (uint32_t)o->extra->count, bytes = o->bytes * count;
    alignas(32) uint64_t place[WARP] = {0};
    EACH_LANE(w->mask) {
        place[l] = slot_value(w, o->b, true, l) & OFFSET_MASK;
        uint8_t *to = resolve(w, o, l, EMU_SHARED, place[l], bytes, bytes);
        if (!to)
            return (int)w->worker->fault.status;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t value = slot_value(w, o->extra->ref[i], o->bytes == 8, l);
            memcpy(to + i * o->bytes, &value, o->bytes);
        }
        int status = complete_bytes(w, o, l, slot_value(w, o->e, true, l), bytes);
        if (status)
            return status;
    }
    count_access(w, o, EMU_SHARED, EMU_STORE, bytes, place);
    return 0;
}
