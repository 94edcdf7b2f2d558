/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the instructions that exchange values between the lanes of a warp. */
#include "emulator/machine/execute.h"

/* ---- across the lanes
 * ---------------------------------------------------------------------------- */

HANDLER(shuffle) {
    SOURCE(u32, a, pa);
    SOURCE(u32, b, pb);
    SOURCE(u32, c, pc);
    uint32_t *d = at(w, o->d);
    alignas(32) uint32_t value[WARP];
    uint32_t valid = 0, mask = w->mask;
    memcpy(value, pa, sizeof value);
    EACH_LANE(mask) {
        uint32_t segment = pc[l] >> 8 & 31, clamp = pc[l] & 31, by = pb[l] & 31;
        uint32_t most = (l & segment) | (clamp & ~segment), least = l & segment, from = l;
        bool in = false;
        switch ((emu_shuffle)o->kind) {
        case SHUFFLE_UP:
            from = l - by;
            in = (int32_t)from >= (int32_t)most;
            break;
        case SHUFFLE_DOWN:
            from = l + by;
            in = from <= most;
            break;
        case SHUFFLE_BUTTERFLY:
            from = l ^ by;
            in = from <= most;
            break;
        case SHUFFLE_INDEX:
            from = least | (by & ~segment);
            in = from <= most;
            break;
        }
        if (!in)
            from = l;
        valid |= in ? lane_bit[l] : 0;
        /* a lane that takes no part gives 0: programs rely on it */
        d[l] = mask >> (from & 31) & 1 ? value[from & 31] : 0;
    }
    if (o->second != UINT32_MAX)
        put_predicate(w, o->second, valid);
    return 0;
}

HANDLER(vote) {
    uint32_t p = source_predicate(w, o->a, o->flags & OP_NEGATE_A) & w->mask, r = 0;
    switch ((emu_vote)o->kind) {
    case VOTE_ALL:
        r = p == w->mask ? ALL_LANES : 0;
        break;
    case VOTE_ANY:
        r = p ? ALL_LANES : 0;
        break;
    case VOTE_UNIFORM:
        r = p == 0 || p == w->mask ? ALL_LANES : 0;
        break;
    case VOTE_BALLOT: {
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) d[l] = p;
        return 0;
    }
    }
    put_predicate(w, o->d, r);
    return 0;
}

HANDLER(match) {
    bool wide = o->flags & OP_WIDE_D;
    uint32_t *d = at(w, o->d), mask = w->mask, all = ALL_LANES;
    uint64_t first = slot_value(w, o->a, wide, (uint32_t)__builtin_ctz(mask));
    uint32_t result[WARP] = {0};
    EACH_LANE(mask) {
        uint64_t mine = slot_value(w, o->a, wide, l);
        for (uint32_t k = 0; k < WARP; k++)
            if (mask >> k & 1 && slot_value(w, o->a, wide, k) == mine)
                result[l] |= lane_bit[k];
        if (mine != first)
            all = 0;
    }
    EACH_LANE(mask) d[l] = o->kind ? all & mask : result[l];
    if (o->second != UINT32_MAX)
        put_predicate(w, o->second, all);
    return 0;
}

/* .f32: NaN loses against a number unless .NaN is written; .abs takes magnitudes. */
INLINE uint32_t reduce_float(const emu_op *o, uint32_t a, uint32_t b) {
    float x = float_of_bits(a), y = float_of_bits(b);
    if (o->immediate & REDUCE_MAGNITUDE) {
        x = __builtin_fabsf(x);
        y = __builtin_fabsf(y);
    }
    bool min = o->kind == REDUCE_MIN_F, nan = o->immediate & REDUCE_NAN;
    return bits_of_float(min ? (nan ? min_nan_float(x, y) : min_float(x, y))
                             : (nan ? max_nan_float(x, y) : max_float(x, y)));
}

HANDLER(reduce_32) {
    SOURCE(u32, a, pa);
    uint32_t *d = at(w, o->d);
    uint32_t r = pa[__builtin_ctz(w->mask)], rest = w->mask & (w->mask - 1);
    EACH_LANE(rest) {
        uint32_t v = pa[l];
        switch ((emu_reduce)o->kind) {
        case REDUCE_ADD:
            r += v;
            break;
        case REDUCE_MIN_U:
            r = v < r ? v : r;
            break;
        case REDUCE_MAX_U:
            r = v > r ? v : r;
            break;
        case REDUCE_MIN_S:
            r = (int32_t)v < (int32_t)r ? v : r;
            break;
        case REDUCE_MAX_S:
            r = (int32_t)v > (int32_t)r ? v : r;
            break;
        case REDUCE_AND:
            r &= v;
            break;
        case REDUCE_OR:
            r |= v;
            break;
        case REDUCE_XOR:
            r ^= v;
            break;
        case REDUCE_MIN_F:
        case REDUCE_MAX_F:
            r = reduce_float(o, r, v);
            break;
        }
    }
    if (o->kind >= REDUCE_MIN_F) /* a sum of one lane has its form too */
        r = reduce_float(o, r, r);
    EACH_LANE(w->mask) d[l] = r;
    return 0;
}

HANDLER(active_mask) {
    uint32_t *d = at(w, o->d);
    EACH_LANE(w->mask) d[l] = w->mask;
    return 0;
}

HANDLER(elect) {
    uint32_t leader = (uint32_t)__builtin_ctz(w->mask);
    if (o->d != UINT32_MAX) {
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) d[l] = leader;
    }
    put_predicate(w, o->second, lane_bit[leader]);
    return 0;
}

/* Result of bar.red, written when the barrier (w->compare[0]) opens. */
HANDLER(barrier_value) {
    const emu_barrier *b = &w->block->barrier[w->compare[0]];
    if (o->kind == BAR_RED_POPC) {
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) d[l] = b->red_count;
    } else {
        put_predicate(w, o->d, (o->kind == BAR_RED_AND ? b->red_and : b->red_or) ? ALL_LANES : 0);
    }
    return 0;
}

HANDLER(trap) {
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_TRAP, 0, "trap instruction");
}
