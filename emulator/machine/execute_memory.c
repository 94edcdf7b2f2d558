/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of loads, stores, parameters and atomics. */
#include "emulator/machine/reach.h"

/* ---- memory
 * -------------------------------------------------------------------------------------- */

#define COPY_LANES(GET)                                                                            \
    do {                                                                                           \
        if (w->mask == ALL_LANES)                                                                  \
            for (uint32_t l = 0; l < WARP; l++)                                                    \
                GET;                                                                               \
        else                                                                                       \
            EACH_LANE(w->mask) GET;                                                                \
    } while (0)

/* 32-bit loads of all lanes at places that follow no pattern over the warp: often they do over a
 * quarter of it (rows of a tile). */
INLINE GUEST void fetch_by_quarters(uint32_t *d, const reached *r, uint32_t offset) {
    enum { QUARTER = WARP / 4 };
    for (uint32_t q = 0; q < WARP; q += QUARTER) {
        const uint64_t *address = r->address + q, first = address[0];
        uint64_t gaps = 0, differs = 0;
        for (uint32_t l = 0; l < QUARTER; l++) {
            gaps |= address[l] ^ (first + 4 * (uint64_t)l);
            differs |= address[l] ^ first;
        }
        const uint8_t *from = host_of(r, q) + offset;
        if (gaps == 0) {
            memcpy(d + q, from, 4 * QUARTER);
        } else if (differs == 0) {
            uint32_t value;
            memcpy(&value, from, 4);
            for (uint32_t l = 0; l < QUARTER; l++)
                d[q + l] = value;
        } else {
            const uint64_t host = r->host + offset;
            for (uint32_t l = 0; l < QUARTER; l++)
                memcpy(&d[q + l], (const void *)(uintptr_t)(host + address[l]), 4);
        }
    }
}

/* Values of type T, extended into registers of 32 or 64 bits. */
#define FETCH_NARROW(T)                                                                            \
    do {                                                                                           \
        uint64_t *d64 = at(w, ref);                                                                \
        uint32_t *d32 = at(w, ref);                                                                \
        EACH_LANE(w->mask) {                                                                       \
            T value;                                                                               \
            memcpy(&value, host_of(r, l) + offset, sizeof value);                                  \
            if (wide)                                                                              \
                d64[l] = (uint64_t)(int64_t)value;                                                 \
            else                                                                                   \
                d32[l] = (uint32_t)(int32_t)value;                                                 \
        }                                                                                          \
    } while (0)

/* Element at OFFSET of every lane into register REF. */
INLINE GUEST void fetch(emu_warp *w, const reached *r, uint32_t ref, uint32_t offset,
                        uint32_t bytes, bool wide, bool sign, bool only) {
    if (bytes == 4 && !wide) {
        uint32_t *d = at(w, ref);
        if (only && r->shape == SHAPE_CONTIGUOUS) {
            memcpy(d, host_of(r, 0), 4 * WARP);
        } else if (r->shape == SHAPE_UNIFORM) {
            uint32_t value;
            memcpy(&value, host_of(r, 0) + offset, 4);
            LANE_LOOP d[l] = value;
        } else if (w->mask == ALL_LANES) {
            fetch_by_quarters(d, r, offset);
        } else {
            EACH_LANE(w->mask) memcpy(&d[l], host_of(r, l) + offset, 4);
        }
    } else if (bytes == 8) {
        uint64_t *d = at(w, ref);
        if (only && r->shape == SHAPE_CONTIGUOUS)
            memcpy(d, host_of(r, 0), 8 * WARP);
        else
            COPY_LANES(memcpy(&d[l], host_of(r, l) + offset, 8));
    } else if (bytes == 1) {
        if (sign)
            FETCH_NARROW(int8_t);
        else
            FETCH_NARROW(uint8_t);
    } else if (bytes == 2) {
        if (sign)
            FETCH_NARROW(int16_t);
        else
            FETCH_NARROW(uint16_t);
    } else {
        if (sign)
            FETCH_NARROW(int32_t);
        else
            FETCH_NARROW(uint32_t);
    }
}

INLINE GUEST void deposit(emu_warp *w, const reached *r, uint32_t ref, uint32_t offset,
                          uint32_t bytes, bool wide, bool only) {
    if (bytes == 4 && !wide) {
        const uint32_t *s = at(w, ref);
        if (only && r->shape == SHAPE_CONTIGUOUS)
            memcpy(host_of(r, 0), s, 4 * WARP);
        else
            COPY_LANES(memcpy(host_of(r, l) + offset, &s[l], 4));
    } else if (bytes == 8) {
        const uint64_t *s = at(w, ref);
        if (only && r->shape == SHAPE_CONTIGUOUS)
            memcpy(host_of(r, 0), s, 8 * WARP);
        else
            COPY_LANES(memcpy(host_of(r, l) + offset, &s[l], 8));
    } else if (bytes == 1) {
        EACH_LANE(w->mask) * (host_of(r, l) + offset) = (uint8_t)slot_value(w, ref, wide, l);
    } else if (bytes == 2) {
        EACH_LANE(w->mask) {
            uint16_t value = (uint16_t)slot_value(w, ref, wide, l);
            memcpy(host_of(r, l) + offset, &value, sizeof value);
        }
    } else {
        EACH_LANE(w->mask) {
            uint32_t value = (uint32_t)slot_value(w, ref, wide, l);
            memcpy(host_of(r, l) + offset, &value, sizeof value);
        }
    }
}

INLINE int load(emu_warp *w, const emu_op *o, int space, bool generic, uint32_t bytes, bool wide,
                bool sign, bool vector) {
    reached r;
    int status = reach(w, o, space, generic, EMU_LOAD, vector ? bytes * o->vector : bytes, &r);
    if (status)
        return status;
    if (o->flags & OP_VOLATILE)
        w->watched = true;
    if (!vector) {
        fetch(w, &r, o->d, 0, bytes, wide, sign, true);
        return 0;
    }
    for (int i = 0; i < o->extra->count; i++)
        if (o->extra->ref[i] != UINT32_MAX)
            fetch(w, &r, o->extra->ref[i], (uint32_t)i * bytes, bytes, wide, sign, false);
    return 0;
}

INLINE int store(emu_warp *w, const emu_op *o, int space, bool generic, uint32_t bytes, bool wide,
                 bool vector) {
    reached r;
    int status = reach(w, o, space, generic, EMU_STORE, vector ? bytes * o->vector : bytes, &r);
    if (status)
        return status;
    if (space != EMU_LOCAL)
        w->spin = 0;
    if (!vector) {
        deposit(w, &r, o->d, 0, bytes, wide, true);
        return 0;
    }
    for (int i = 0; i < o->extra->count; i++)
        deposit(w, &r, o->extra->ref[i], (uint32_t)i * bytes, bytes, wide, false);
    return 0;
}

#define SPACE_HANDLERS(name, SPACE)                                                                \
    HANDLER(load_##name##_32) {                                                                    \
        return load(w, o, SPACE, false, 4, false, false, false);                                   \
    }                                                                                              \
    HANDLER(load_##name##_64) {                                                                    \
        return load(w, o, SPACE, false, 8, true, false, false);                                    \
    }                                                                                              \
    HANDLER(load_##name##_other) {                                                                 \
        return load(w, o, SPACE, false, o->bytes, o->flags & OP_WIDE_D, o->flags & OP_SIGNED,      \
                    false);                                                                        \
    }                                                                                              \
    HANDLER(load_##name##_vector) {                                                                \
        return load(w, o, SPACE, false, o->bytes, o->flags & OP_WIDE_D, o->flags & OP_SIGNED,      \
                    true);                                                                         \
    }                                                                                              \
    HANDLER(store_##name##_32) {                                                                   \
        return store(w, o, SPACE, false, 4, false, false);                                         \
    }                                                                                              \
    HANDLER(store_##name##_64) {                                                                   \
        return store(w, o, SPACE, false, 8, true, false);                                          \
    }                                                                                              \
    HANDLER(store_##name##_other) {                                                                \
        return store(w, o, SPACE, false, o->bytes, o->flags & OP_WIDE_D, false);                   \
    }                                                                                              \
    HANDLER(store_##name##_vector) {                                                               \
        return store(w, o, SPACE, false, o->bytes, o->flags & OP_WIDE_D, true);                    \
    }
SPACE_HANDLERS(global, EMU_GLOBAL)
SPACE_HANDLERS(shared, EMU_SHARED)

/* Spaces without fast paths of their own, and the pieces of generic accesses. */
static __attribute__((noinline)) int load_any(emu_warp *w, const emu_op *o, int space,
                                              bool generic) {
    bool wide = o->flags & OP_WIDE_D, sign = o->flags & OP_SIGNED, vector = o->vector > 1;
    if (space == EMU_GLOBAL)
        return load(w, o, EMU_GLOBAL, generic, o->bytes, wide, sign, vector);
    if (space == EMU_CONSTANT)
        return load(w, o, EMU_CONSTANT, generic, o->bytes, wide, sign, vector);
    if (space == EMU_SHARED)
        return load(w, o, EMU_SHARED, generic, o->bytes, wide, sign, vector);
    return load(w, o, EMU_LOCAL, generic, o->bytes, wide, sign, vector);
}

static __attribute__((noinline)) int store_any(emu_warp *w, const emu_op *o, int space,
                                               bool generic) {
    bool wide = o->flags & OP_WIDE_D, vector = o->vector > 1;
    if (space == EMU_GLOBAL)
        return store(w, o, EMU_GLOBAL, generic, o->bytes, wide, vector);
    if (space == EMU_SHARED)
        return store(w, o, EMU_SHARED, generic, o->bytes, wide, vector);
    return store(w, o, EMU_LOCAL, generic, o->bytes, wide, vector);
}

HANDLER(load_local) {
    return load_any(w, o, o->space, false);
}

HANDLER(store_local) {
    return store_any(w, o, o->space, false);
}

HANDLER(load_generic) {
    return by_window(w, o, load_any);
}

HANDLER(store_generic) {
    return by_window(w, o, store_any);
}

/* Kernel parameters at an address that is not known before. */
HANDLER(load_parameter) {
    reached r;
    uint32_t bytes = (uint32_t)o->bytes * (o->vector ? o->vector : 1);
    make_addresses(w, o, false, r.address);
    uint64_t limit = (uint64_t)w->worker->run->parameter_bytes - bytes;
    r.host = (uint64_t)(uintptr_t)w->worker->run->parameters;
    if (!inside(&r, 0, limit, bytes, bytes, w->mask))
        return emu_report_lane(w, o, EMU_PARAM, r.address, 0, limit, bytes);
    bool wide = o->flags & OP_WIDE_D, sign = o->flags & OP_SIGNED;
    if (o->vector <= 1)
        fetch(w, &r, o->d, 0, o->bytes, wide, sign, true);
    for (int i = 0; o->vector > 1 && i < o->extra->count; i++)
        if (o->extra->ref[i] != UINT32_MAX)
            fetch(w, &r, o->extra->ref[i], (uint32_t)i * o->bytes, o->bytes, wide, sign, false);
    return 0;
}

/* Parameters of device functions and their calls: a stretch of the frame per lane. o->c is its
 * offset in the frame, o->target its size; the offset in it is o->immediate, plus register a if
 * o->kind says so. */
INLINE int reach_area(emu_warp *w, const emu_op *o, reached *r) {
    uint32_t bytes = (uint32_t)o->bytes * (o->vector ? o->vector : 1);
    if (o->kind)
        make_addresses(w, o, false, r->address);
    else
        LANE_LOOP r->address[l] = (uint64_t)o->immediate;
    r->host = (uint64_t)(uintptr_t)at(w, o->c);
    const uint64_t stride = o->target;
    uint64_t limit = (uint64_t)o->target - bytes;
    if (!inside(r, 0, limit, bytes, 1, w->mask))
        return emu_report_lane(w, o, EMU_PARAM, r->address, 0, limit, bytes);
    r->shape = SHAPE_SCATTERED;
    LANE_LOOP r->address[l] += (uint64_t)l * stride;
    return 0;
}

HANDLER(load_area) {
    reached r;
    int status = reach_area(w, o, &r);
    if (status)
        return status;
    bool wide = o->flags & OP_WIDE_D, sign = o->flags & OP_SIGNED;
    if (o->vector <= 1)
        fetch(w, &r, o->d, 0, o->bytes, wide, sign, true);
    for (int i = 0; o->vector > 1 && i < o->extra->count; i++)
        if (o->extra->ref[i] != UINT32_MAX)
            fetch(w, &r, o->extra->ref[i], (uint32_t)i * o->bytes, o->bytes, wide, sign, false);
    return 0;
}

HANDLER(store_area) {
    reached r;
    int status = reach_area(w, o, &r);
    if (status)
        return status;
    bool wide = o->flags & OP_WIDE_D;
    if (o->vector <= 1)
        deposit(w, &r, o->d, 0, o->bytes, wide, true);
    for (int i = 0; o->vector > 1 && i < o->extra->count; i++)
        deposit(w, &r, o->extra->ref[i], (uint32_t)i * o->bytes, o->bytes, wide, false);
    return 0;
}

HANDLER(prefetch) {
    (void)w;
    (void)o;
    return 0;
}

/* ---- atomics
 * ------------------------------------------------------------------------------------- */

INLINE uint64_t atomic_integer(const emu_op *o, uint64_t old, uint64_t b, uint64_t c, int bits) {
    bool is_signed = o->flags & OP_SIGNED;
    if (bits == 32 && is_signed) {
        old = (uint64_t)(int64_t)(int32_t)old;
        b = (uint64_t)(int64_t)(int32_t)b;
    }
    bool less = is_signed ? (int64_t)old < (int64_t)b : old < b;
    switch ((emu_atomic)o->kind) {
    case ATOMIC_ADD:
        return old + b;
    case ATOMIC_MIN:
        return less ? old : b;
    case ATOMIC_MAX:
        return less ? b : old;
    case ATOMIC_INC:
        return old >= b ? 0 : old + 1;
    case ATOMIC_DEC:
        return old == 0 || old > b ? b : old - 1;
    case ATOMIC_AND:
        return old & b;
    case ATOMIC_OR:
        return old | b;
    case ATOMIC_XOR:
        return old ^ b;
    case ATOMIC_EXCH:
        return b;
    case ATOMIC_CAS:
        return old == b ? c : old;
    }
    return old;
}

static uint16_t atomic_small(const emu_op *o, uint16_t old, uint16_t b, bool bfloat) {
    float x = bfloat ? bfloat_to_float(old) : half_to_float(old);
    float y = bfloat ? bfloat_to_float(b) : half_to_float(b);
    float r = o->kind == ATOMIC_ADD   ? x + y
              : o->kind == ATOMIC_MIN ? min_float(x, y)
                                      : max_float(x, y);
    return bfloat ? float_to_bfloat(r) : float_to_half(r);
}

/* o->combine holds the type: 0 integer, 1 f32, 2 f64, 3 f16, 4 f16x2, 5 bf16, 6 bf16x2 */
static uint64_t atomic_result(const emu_op *o, uint64_t old, uint64_t b, uint64_t c) {
    switch (o->combine) {
    case 1:
        return bits_of_float(float_of_bits((uint32_t)old) + float_of_bits((uint32_t)b));
    case 2:
        return bits_of_double(double_of_bits(old) + double_of_bits(b));
    case 3:
    case 5:
        return atomic_small(o, (uint16_t)old, (uint16_t)b, o->combine == 5);
    case 4:
    case 6:
        return pack_2(atomic_small(o, (uint16_t)old, (uint16_t)b, o->combine == 6),
                      atomic_small(o, (uint16_t)(old >> 16), (uint16_t)(b >> 16), o->combine == 6));
    default:
        return atomic_integer(o, old, b, c, o->bytes * 8);
    }
}

/* Applies the op at PLACE; returns the old value. Launches with one worker need no lock. */
#define ATOMIC_AT(T)                                                                               \
    do {                                                                                           \
        T *p = (T *)place, old = __atomic_load_n(p, __ATOMIC_RELAXED), next;                       \
        do                                                                                         \
            next = (T)atomic_result(o, old, b, c);                                                 \
        while (!alone && !__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_SEQ_CST,       \
                                                      __ATOMIC_SEQ_CST));                          \
        if (alone)                                                                                 \
            *p = next;                                                                             \
        *changed |= next != old;                                                                   \
        return old;                                                                                \
    } while (0)

static GUEST uint64_t atomic_at(const emu_op *o, void *place, uint64_t b, uint64_t c, bool alone,
                                bool *changed) {
    if (o->bytes == 8)
        ATOMIC_AT(uint64_t);
    if (o->bytes == 4)
        ATOMIC_AT(uint32_t);
    ATOMIC_AT(uint16_t);
}

static int atomic_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    reached r;
    uint32_t count = o->vector > 1 ? o->vector : 1;
    int status = reach(w, o, space, generic, EMU_ATOMIC, o->bytes * count, &r);
    if (status)
        return status;
    bool wide = o->flags & OP_WIDE_D, changed = false;
    bool alone = w->worker->alone || space != EMU_GLOBAL;
    EACH_LANE(w->mask) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t source = count > 1 ? o->extra->ref[count + i] : o->b;
            uint32_t target = count > 1 ? o->extra->ref[i] : o->d;
            uint64_t b = slot_value(w, source, wide, l);
            uint64_t c = o->kind == ATOMIC_CAS ? slot_value(w, o->c, wide, l) : 0;
            uint64_t old = atomic_at(o, host_of(&r, l) + i * o->bytes, b, c, alone, &changed);
            if (target == UINT32_MAX)
                continue;
            if (wide)
                ((uint64_t *)at(w, target))[l] = old;
            else
                ((uint32_t *)at(w, target))[l] = (uint32_t)old;
        }
    }
    w->watched = true;
    if (changed)
        w->spin = 0;
    return 0;
}

HANDLER(atomic) {
    if (o->space == EMU_TEXTURE) /* marks the generic space here */
        return by_window(w, o, atomic_piece);
    return atomic_piece(w, o, o->space, false);
}

/* exch and cas of 128 bits: extra holds the halves of the result, of b and of c. Only one worker
 * runs a launch with such an op on global memory. */
static GUEST int atomic_128_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    reached r;
    int status = reach(w, o, space, generic, EMU_ATOMIC, 16, &r);
    if (status)
        return status;
    const uint32_t *ref = o->extra->ref;
    EACH_LANE(w->mask) {
        uint64_t old[2], next[2], compare[2];
        memcpy(old, host_of(&r, l), sizeof old);
        for (int half = 0; half < 2; half++) {
            compare[half] = ((const uint64_t *)at(w, ref[2 + half]))[l];
            next[half] = ((const uint64_t *)at(w, ref[4 + half]))[l];
        }
        bool equal = old[0] == compare[0] && old[1] == compare[1];
        if (o->kind == ATOMIC_EXCH || equal) {
            memcpy(host_of(&r, l), next, sizeof next);
            if (memcmp(old, next, sizeof next) != 0)
                w->spin = 0;
        }
        for (int half = 0; half < 2; half++)
            if (ref[half] != UINT32_MAX)
                ((uint64_t *)at(w, ref[half]))[l] = old[half];
    }
    w->watched = true;
    return 0;
}

HANDLER(atomic_128) {
    if (o->space == EMU_TEXTURE) /* marks the generic space here */
        return by_window(w, o, atomic_128_piece);
    return atomic_128_piece(w, o, o->space, false);
}
