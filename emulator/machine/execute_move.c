/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of moves: special registers, packing, widths, and the generic address space. */
#include "emulator/machine/execute.h"

/* ---- moves
 * --------------------------------------------------------------------------------------- */

static uint64_t virtual_clock(const emu_warp *w) {
    /* no cycles here: a number that grows with the block's backward branches and with each look */
    w->block->ticks += 32;
    return w->worker->run->first_tick + w->block->ticks;
}

INLINE uint64_t special_value(const emu_warp *w, int kind, uint32_t l) {
    const emu_block *b = w->block;
    const emu_launch *launch = w->worker->run->launch;
    switch ((emu_special)kind) {
    case SPECIAL_TID_X:
    case SPECIAL_TID_Y:
    case SPECIAL_TID_Z:
        return w->tid[kind - SPECIAL_TID_X][l];
    case SPECIAL_NTID_X:
    case SPECIAL_NTID_Y:
    case SPECIAL_NTID_Z:
        return launch->block[kind - SPECIAL_NTID_X];
    case SPECIAL_CTAID_X:
    case SPECIAL_CTAID_Y:
    case SPECIAL_CTAID_Z:
        return b->index[kind - SPECIAL_CTAID_X];
    case SPECIAL_NCTAID_X:
    case SPECIAL_NCTAID_Y:
    case SPECIAL_NCTAID_Z:
        return launch->grid[kind - SPECIAL_NCTAID_X];
    case SPECIAL_LANE:
        return l;
    case SPECIAL_WARP:
        return (uint64_t)w->index;
    case SPECIAL_WARPS:
        return (uint64_t)b->warp_count;
    case SPECIAL_SM:
        return (uint64_t)b->sm_index;
    case SPECIAL_SMS:
        return (uint64_t)w->worker->device->spec.sm_count;
    case SPECIAL_LANEMASK_EQ:
        return lane_bit[l];
    case SPECIAL_LANEMASK_LE:
        return lane_bit[l] | (lane_bit[l] - 1);
    case SPECIAL_LANEMASK_LT:
        return lane_bit[l] - 1;
    case SPECIAL_LANEMASK_GE:
        return (uint32_t) ~(lane_bit[l] - 1);
    case SPECIAL_LANEMASK_GT:
        return (uint32_t) ~(lane_bit[l] | (lane_bit[l] - 1));
    case SPECIAL_CLOCK:
    case SPECIAL_TIMER:
        return virtual_clock(w);
    case SPECIAL_CLOCK_HI:
    case SPECIAL_TIMER_HI:
        return virtual_clock(w) >> 32;
    case SPECIAL_WORKSPACE:
        return w->worker->run->workspace;
    case SPECIAL_WORKSPACE_HI:
        return w->worker->run->workspace >> 32;
    case SPECIAL_DYNAMIC_SHARED:
        return launch->dynamic_shared_bytes;
    case SPECIAL_TOTAL_SHARED:
        return w->worker->run->shared_bytes;
    case SPECIAL_ONE:
        return 1;
    case SPECIAL_GRID:
    case SPECIAL_ZERO:
    case SPECIALS:
        break;
    }
    return 0;
}

/* Which of them differ between the lanes of a warp. */
INLINE bool differs_by_lane(int kind) {
    return kind <= SPECIAL_TID_Z || kind == SPECIAL_LANE ||
           (kind >= SPECIAL_LANEMASK_EQ && kind <= SPECIAL_LANEMASK_GT);
}

HANDLER(special) {
    bool wide = o->flags & OP_WIDE_D;
    if (differs_by_lane(o->kind)) {
        const uint32_t *tid = o->kind <= SPECIAL_TID_Z ? w->tid[o->kind] : NULL;
        uint32_t *d = at(w, o->d);
        EACH_LANE(w->mask) {
            uint32_t value = tid ? tid[l] : (uint32_t)special_value(w, o->kind, l);
            if (wide)
                ((uint64_t *)d)[l] = value;
            else
                d[l] = value;
        }
        return 0;
    }
    uint64_t value = special_value(w, o->kind, 0);
    if (wide) {
        LANES(u64, 0, (void)0, value);
    } else {
        LANES(u32, 0, (void)0, value);
    }
}

/* Address of a local variable: its place in the frame's part of the thread's local memory. */
HANDLER(local_address) {
    EACH_LANE(w->mask) put_wide(w, o, l, w->frame->local_base + (uint64_t)o->immediate);
    return 0;
}

HANDLER(parameter_address) {
    EACH_LANE(w->mask) put_wide(w, o, l, (uint64_t)o->immediate);
    return 0;
}

/* mov.b64 d, {a, b}: extra holds the parts, from the low one up; o->bytes is a part's size. */
HANDLER(pack) {
    const emu_extra *x = o->extra;
    EACH_LANE(w->mask) {
        uint64_t value = 0;
        for (int i = x->count - 1; i >= 0; i--) {
            uint64_t part = slot_value(w, x->ref[i], o->bytes == 8, l);
            uint64_t ones = o->bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * o->bytes)) - 1;
            value = (o->bytes >= 8 ? 0 : value << (8 * o->bytes)) | (part & ones);
        }
        put_wide(w, o, l, value);
    }
    return 0;
}

HANDLER(unpack) {
    const emu_extra *x = o->extra;
    EACH_LANE(w->mask) {
        uint64_t value = slot_value(w, o->a, o->flags & OP_WIDE_ADDRESS, l);
        for (int i = 0; i < x->count; i++) {
            uint64_t ones = o->bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * o->bytes)) - 1;
            uint64_t part = (value >> (8 * o->bytes * i)) & ones;
            if (x->ref[i] == UINT32_MAX)
                continue;
            if (o->bytes == 8)
                ((uint64_t *)at(w, x->ref[i]))[l] = part;
            else
                ((uint32_t *)at(w, x->ref[i]))[l] = (uint32_t)part;
        }
    }
    return 0;
}

/* 32-bit slot to 64-bit slot and back, for operands whose register is wider than the type. */
HANDLER(extend) {
    SOURCE(u32, a, pa);
    bool sign = o->flags & OP_SIGNED;
    LANES(u64, 0, VALUE(u32, pa, a), sign ? (uint64_t)(int64_t)(int32_t)a : a);
}
MAKE_1(narrow, u32, u64, 0, (uint32_t)a)
/* ---- the generic address space ------------------------------------------------------------------
 */

INLINE uint64_t window_of(uint8_t space) {
    return space == EMU_SHARED ? SHARED_WINDOW : space == EMU_LOCAL ? LOCAL_WINDOW : 0;
}

HANDLER(to_generic) {
    uint64_t window = window_of(o->space);
    if (o->space == EMU_PARAM)
        window = w->worker->run->parameter_address;
    bool wide = o->flags & OP_WIDE_ADDRESS;
    EACH_LANE(w->mask) put_wide(w, o, l, slot_value(w, o->a, wide, l) + window);
    return 0;
}

HANDLER(from_generic) {
    uint64_t window = window_of(o->space);
    if (o->space == EMU_PARAM)
        window = w->worker->run->parameter_address;
    bool wide = o->flags & OP_WIDE_ADDRESS;
    EACH_LANE(w->mask) put_wide(w, o, l, slot_value(w, o->a, wide, l) - window);
    return 0;
}

HANDLER(is_space) {
    uint32_t found = 0;
    bool wide = o->flags & OP_WIDE_ADDRESS;
    uint64_t parameters = w->worker->run->parameter_address;
    EACH_LANE(w->mask) {
        uint64_t address = slot_value(w, o->a, wide, l), window = address & WINDOW_MASK;
        bool in_parameters = address - parameters < w->worker->run->parameter_bytes;
        bool yes;
        if (o->space == EMU_PARAM)
            yes = in_parameters;
        else if (o->space == EMU_GLOBAL)
            yes = window == 0 && !in_parameters;
        else if (o->space == EMU_CONSTANT)
            yes = false;
        else
            yes = window == window_of(o->space);
        found |= yes ? lane_bit[l] : 0;
    }
    put_predicate(w, o->d, found);
    return 0;
}
