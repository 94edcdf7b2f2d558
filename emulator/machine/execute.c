/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of all ops, and the loop that runs a warp. Compiled once per instruction set of the host
 * (EMU_ISA names it), each time with the loops over the 32 lanes vectorised for it. */
#include "emulator/machine/handlers.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/multiply.h"

#include <fenv.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#ifndef EMU_ISA
#error "EMU_ISA must name the instruction set: base or avx2"
#endif
#define PASTE_(a, b)   a##_##b
#define PASTE(a, b)    PASTE_(a, b)
#define EXPORTED(name) PASTE(name, EMU_ISA)

#define INLINE static inline __attribute__((always_inline))
/* Guest programs may race; that is not a race of ours. */
#define GUEST __attribute__((no_sanitize("thread")))

#ifdef __clang__
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < WARP; l++)
#else
#define LANE_LOOP _Pragma("GCC ivdep") for (int l = 0; l < WARP; l++)
#endif
#define EACH_LANE(mask)                                                                            \
    for (uint32_t left_ = (mask), l; left_ && (l = (uint32_t)__builtin_ctz(left_), 1);             \
         left_ &= left_ - 1)

#define ALL_LANES UINT32_MAX

typedef uint8_t u8_t;
typedef int8_t s8_t;
typedef uint16_t u16_t;
typedef int16_t s16_t;
typedef uint32_t u32_t;
typedef int32_t s32_t;
typedef uint64_t u64_t;
typedef int64_t s64_t;
typedef float f32_t;
typedef double f64_t;

/* How a type lies in its slot. */
#define SLOT_u8    uint32_t
#define SLOT_s8    uint32_t
#define SLOT_u16   uint32_t
#define SLOT_s16   uint32_t
#define SLOT_u32   uint32_t
#define SLOT_s32   int32_t
#define SLOT_u64   uint64_t
#define SLOT_s64   int64_t
#define SLOT_f32   float
#define SLOT_f64   double
#define PUT_u8(x)  (uint32_t)(uint8_t)(x)
#define PUT_s8(x)  (uint32_t)(int32_t)(x)
#define PUT_u16(x) (uint32_t)(uint16_t)(x)
#define PUT_s16(x) (uint32_t)(uint16_t)(x)
#define PUT_u32(x) (uint32_t)(x)
#define PUT_s32(x) (int32_t)(x)
#define PUT_u64(x) (uint64_t)(x)
#define PUT_s64(x) (int64_t)(x)
#define PUT_f32(x) (float)(x)
#define PUT_f64(x) (double)(x)

static const alignas(32) uint32_t lane_bit[WARP] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

INLINE void *at(const emu_warp *w, uint32_t ref) {
    return w->base[ref & 1] + ref;
}

INLINE uint32_t *predicate(const emu_warp *w, uint32_t ref) {
    return at(w, ref);
}

INLINE void put_predicate(const emu_warp *w, uint32_t ref, uint32_t value) {
    uint32_t *p = predicate(w, ref);
    *p = (*p & ~w->mask) | (value & w->mask);
}

/* ---- helpers of operations.def ------------------------------------------------------------------
 */

INLINE uint32_t pack_2(uint16_t low, uint16_t high) {
    return (uint32_t)high << 16 | low;
}

INLINE uint16_t fused_half(uint16_t a, uint16_t b, uint16_t c) {
    /* exact product; 53 bits hold the sum whenever its rounding to 11 bits could depend on more */
    double s = (double)half_to_float(a) * (double)half_to_float(b) + (double)half_to_float(c);
    float f = (float)s;
    /* to single precision without rounding twice: keep what was lost as an odd bit */
    uint32_t u = bits_of_float(f);
    double lost = s - (double)f;
    bool away = lost != 0 && ((lost < 0) != (f < 0)) && f - f == 0;
    u = away && !(u & 1) ? u - 1 : u;
    u = lost != 0 && f - f == 0 ? u | 1 : u;
    return float_to_half(float_of_bits(u));
}

static uint16_t fused_bfloat(uint16_t a, uint16_t b, uint16_t c) {
    double s = fma_round_to_odd(bfloat_to_float(a), bfloat_to_float(b), bfloat_to_float(c));
    return (uint16_t)round_to_format(s, FORMAT_BFLOAT, ROUND_NEAREST, false);
}

INLINE int32_t saturating_add_s32(int32_t a, int32_t b) {
    int64_t r = (int64_t)a + b;
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : (int32_t)r;
}

INLINE int32_t saturating_sub_s32(int32_t a, int32_t b) {
    int64_t r = (int64_t)a - b;
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : (int32_t)r;
}

INLINE uint64_t magnitude_of(int64_t a, bool negative) {
    return negative ? 0 - (uint64_t)a : (uint64_t)a;
}

INLINE uint32_t bit_mask(uint32_t position, uint32_t width, bool clamp) {
    if (!clamp) {
        position &= 31;
        width &= 31;
    }
    if (position > 31 || width == 0)
        return 0;
    uint32_t ones = width >= 32 ? UINT32_MAX : (1u << width) - 1;
    return ones << position;
}

INLINE uint32_t round_to_tf32(float a, lane_rounding rounding, bool relu) {
    if (relu)
        a = relu_float(a);
    if (a != a)
        return 0x7fffffffu;
    return round_to_format(a, FORMAT_TF32, rounding, false) << 13;
}

#define CLAMPS(name, type, low, high)                                                              \
    INLINE type##_t clamp_to_##name##_from_s(int64_t a) {                                          \
        return (type##_t)(a < (low) ? (low) : a > (high) ? (high) : a);                            \
    }                                                                                              \
    INLINE type##_t clamp_to_##name##_from_u(uint64_t a) {                                         \
        return (type##_t)(a > (uint64_t)(high) ? (uint64_t)(high) : a);                            \
    }
CLAMPS(u8, u8, 0, UINT8_MAX)
CLAMPS(s8, s8, INT8_MIN, INT8_MAX)
CLAMPS(u16, u16, 0, UINT16_MAX)
CLAMPS(s16, s16, INT16_MIN, INT16_MAX)
CLAMPS(u32, u32, 0, (int64_t)UINT32_MAX)
CLAMPS(s32, s32, INT32_MIN, INT32_MAX)
CLAMPS(s64, s64, INT64_MIN, INT64_MAX)
INLINE uint64_t clamp_to_u64_from_s(int64_t a) {
    return a < 0 ? 0 : (uint64_t)a;
}
INLINE uint64_t clamp_to_u64_from_u(uint64_t a) {
    return a;
}

/* ---- the lane-by-lane handlers ------------------------------------------------------------------
 */

#define SOURCE(T, ref, name) const SLOT_##T *name = at(w, o->ref)
#define VALUE(T, array, name)                                                                      \
    T##_t name = (T##_t)(array)[l];                                                                \
    (void)name

/* all lanes at once where all are on; else a blend, or lane by lane if GUARDED */
#define LANES(D, GUARDED, VALUES, EXPRESSION)                                                      \
    SLOT_##D *d = at(w, o->d);                                                                     \
    const uint32_t mask = w->mask;                                                                 \
    if (mask == ALL_LANES && !(GUARDED)) {                                                         \
        LANE_LOOP {                                                                                \
            VALUES;                                                                                \
            d[l] = PUT_##D(EXPRESSION);                                                            \
        }                                                                                          \
    } else if (!(GUARDED)) {                                                                       \
        LANE_LOOP {                                                                                \
            VALUES;                                                                                \
            SLOT_##D r = PUT_##D(EXPRESSION);                                                      \
            d[l] = mask & lane_bit[l] ? r : d[l];                                                  \
        }                                                                                          \
    } else {                                                                                       \
        EACH_LANE(mask) {                                                                          \
            VALUES;                                                                                \
            d[l] = PUT_##D(EXPRESSION);                                                            \
        }                                                                                          \
    }                                                                                              \
    return 0

#define HANDLER(name) static int handle_##name(emu_warp *w, const emu_op *o)

#define MAKE_1(name, D, A, G, EXPRESSION)                                                          \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        LANES(D, G, VALUE(A, pa, a), EXPRESSION);                                                  \
    }
#define MAKE_2(name, D, A, B, G, EXPRESSION)                                                       \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        SOURCE(B, b, pb);                                                                          \
        LANES(D, G, VALUE(A, pa, a); VALUE(B, pb, b), EXPRESSION);                                 \
    }
#define MAKE_3(name, D, A, B, C, G, EXPRESSION)                                                    \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        SOURCE(B, b, pb);                                                                          \
        SOURCE(C, c, pc);                                                                          \
        LANES(D, G, VALUE(A, pa, a); VALUE(B, pb, b); VALUE(C, pc, c), EXPRESSION);                \
    }
#define OP_1(name, D, A, EXPRESSION)        MAKE_1(name, D, A, 0, EXPRESSION)
#define OP_2(name, D, A, B, EXPRESSION)     MAKE_2(name, D, A, B, 0, EXPRESSION)
#define OP_3(name, D, A, B, C, EXPRESSION)  MAKE_3(name, D, A, B, C, 0, EXPRESSION)
#define OP_1G(name, D, A, EXPRESSION)       MAKE_1(name, D, A, 1, EXPRESSION)
#define OP_2G(name, D, A, B, EXPRESSION)    MAKE_2(name, D, A, B, 1, EXPRESSION)
#define OP_3G(name, D, A, B, C, EXPRESSION) MAKE_3(name, D, A, B, C, 1, EXPRESSION)
#define OP_4(name, D, A, B, C, E, EXPRESSION)                                                      \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        SOURCE(B, b, pb);                                                                          \
        SOURCE(C, c, pc);                                                                          \
        SOURCE(E, e, pe);                                                                          \
        LANES(D, 0, VALUE(A, pa, a); VALUE(B, pb, b); VALUE(C, pc, c);                             \
              VALUE(E, pe, e), EXPRESSION);                                                        \
    }

INLINE int finish_compare(emu_warp *w, const emu_op *o, uint32_t found) {
    uint32_t other = ~found;
    if (o->combine != COMBINE_NONE) {
        uint32_t c = *predicate(w, o->c);
        if (o->flags & OP_NEGATE_C)
            c = ~c;
        switch (o->combine) {
        case COMBINE_AND:
            found &= c;
            other &= c;
            break;
        case COMBINE_OR:
            found |= c;
            other |= c;
            break;
        default:
            found ^= c;
            other ^= c;
        }
    }
    if (o->d != UINT32_MAX)
        put_predicate(w, o->d, found);
    if (o->second != UINT32_MAX)
        put_predicate(w, o->second, other);
    return 0;
}

#define COMPARE(name, T, EXPRESSION)                                                               \
    INLINE uint32_t find_##name(const emu_warp *w, const emu_op *o) {                              \
        SOURCE(T, a, pa);                                                                          \
        SOURCE(T, b, pb);                                                                          \
        uint32_t found = 0;                                                                        \
        LANE_LOOP {                                                                                \
            VALUE(T, pa, a);                                                                       \
            VALUE(T, pb, b);                                                                       \
            found |= (EXPRESSION) ? lane_bit[l] : 0;                                               \
        }                                                                                          \
        return found;                                                                              \
    }
#define OP_C(name, T, EXPRESSION)                                                                  \
    COMPARE(name, T, EXPRESSION)                                                                   \
    HANDLER(setp_##name) {                                                                         \
        return finish_compare(w, o, find_##name(w, o));                                            \
    }                                                                                              \
    HANDLER(compare_##name) {                                                                      \
        w->compare[0] = find_##name(w, o);                                                         \
        return 0;                                                                                  \
    }
#define OP_T(name, T, EXPRESSION)                                                                  \
    HANDLER(name) {                                                                                \
        SOURCE(T, a, pa);                                                                          \
        uint32_t found = 0;                                                                        \
        LANE_LOOP {                                                                                \
            VALUE(T, pa, a);                                                                       \
            found |= (EXPRESSION) ? lane_bit[l] : 0;                                               \
        }                                                                                          \
        put_predicate(w, o->d, found);                                                             \
        return 0;                                                                                  \
    }
#include "emulator/machine/operations.def"
#undef OP_1
#undef OP_2
#undef OP_3
#undef OP_4
#undef OP_1G
#undef OP_2G
#undef OP_3G
#undef OP_C
#undef OP_T

HANDLER(nothing) {
    (void)w;
    (void)o;
    return 0;
}

/* Runs the inner handler with another rounding or with subnormals flushed. */
HANDLER(rounded) {
    unsigned saved = _mm_getcsr();
    _mm_setcsr(o->csr);
    int status = o->inner(w, o);
    _mm_setcsr(saved);
    return status;
}

/* ---- predicates, selection, comparison into registers -------------------------------------------
 */

INLINE uint32_t source_predicate(const emu_warp *w, uint32_t ref, bool negated) {
    uint32_t p = *predicate(w, ref);
    return negated ? ~p : p;
}

#define PREDICATE_OP(name, EXPRESSION)                                                             \
    HANDLER(name) {                                                                                \
        uint32_t a = source_predicate(w, o->a, o->flags & OP_NEGATE_A);                            \
        uint32_t b = source_predicate(w, o->b, o->flags & OP_NEGATE_B);                            \
        (void)b;                                                                                   \
        put_predicate(w, o->d, EXPRESSION);                                                        \
        return 0;                                                                                  \
    }
PREDICATE_OP(mov_pred, a)
PREDICATE_OP(not_pred, ~a)
PREDICATE_OP(and_pred, a &b)
PREDICATE_OP(or_pred, a | b)
PREDICATE_OP(xor_pred, a ^ b)

HANDLER(selp_32) {
    SOURCE(u32, a, pa);
    SOURCE(u32, b, pb);
    uint32_t choose = source_predicate(w, o->c, o->flags & OP_NEGATE_C);
    LANES(u32, 0, VALUE(u32, pa, a); VALUE(u32, pb, b), choose & lane_bit[l] ? a : b);
}

HANDLER(selp_64) {
    SOURCE(u64, a, pa);
    SOURCE(u64, b, pb);
    uint32_t choose = source_predicate(w, o->c, o->flags & OP_NEGATE_C);
    LANES(u64, 0, VALUE(u64, pa, a); VALUE(u64, pb, b), choose & lane_bit[l] ? a : b);
}

MAKE_3(slct_32, u32, u32, u32, s32, 0, c >= 0 ? a : b)
MAKE_3(slct_64, u64, u64, u64, s32, 0, c >= 0 ? a : b)
MAKE_3(slct_f32_32, u32, u32, u32, f32, 0, c >= 0 ? a : b)
MAKE_3(slct_f32_64, u64, u64, u64, f32, 0, c >= 0 ? a : b)

/* set: the comparison's mask, combined, as a number. The inner handler compares. */
INLINE uint32_t set_mask(emu_warp *w, const emu_op *o, emu_handler compare) {
    compare(w, o);
    uint32_t found = w->compare[0];
    if (o->combine == COMBINE_NONE)
        return found;
    uint32_t c = source_predicate(w, o->c, o->flags & OP_NEGATE_C);
    return o->combine == COMBINE_AND ? found & c : o->combine == COMBINE_OR ? found | c : found ^ c;
}

#define SET_OP(name, ONE)                                                                          \
    HANDLER(name) {                                                                                \
        uint32_t found = set_mask(w, o, o->inner);                                                 \
        LANES(u32, 0, (void)0, found &lane_bit[l] ? (ONE) : 0u);                                   \
    }
SET_OP(set_32, 0xffffffffu)
SET_OP(set_f32, 0x3f800000u)
SET_OP(set_f16, 0x3c00u)
SET_OP(set_bf16, 0x3f80u)

/* Comparisons of packed pairs: the low one is the inner handler, the high one has the number in
 * o->immediate. */
INLINE emu_handler second_compare(const emu_warp *w, const emu_op *o) {
    return w->worker->device->handlers[o->immediate];
}

#define SET_PAIR_OP(name, ONE)                                                                     \
    HANDLER(name) {                                                                                \
        uint32_t low = set_mask(w, o, o->inner), high = set_mask(w, o, second_compare(w, o));      \
        LANES(u32, 0, (void)0,                                                                     \
              (low & lane_bit[l] ? (ONE) : 0u) | (high & lane_bit[l] ? (ONE) << 16 : 0u));         \
    }
SET_PAIR_OP(set_f16x2, 0x3c00u)
SET_PAIR_OP(set_bf16x2, 0x3f80u)
SET_PAIR_OP(set_mask_x2, 0xffffu)

HANDLER(setp_x2) {
    uint32_t low = set_mask(w, o, o->inner), high = set_mask(w, o, second_compare(w, o));
    if (o->d != UINT32_MAX)
        put_predicate(w, o->d, low);
    if (o->second != UINT32_MAX)
        put_predicate(w, o->second, high);
    return 0;
}

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

INLINE void put_wide(const emu_warp *w, const emu_op *o, uint32_t l, uint64_t value) {
    if (o->flags & OP_WIDE_D)
        ((uint64_t *)at(w, o->d))[l] = value;
    else
        ((uint32_t *)at(w, o->d))[l] = (uint32_t)value;
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

INLINE uint64_t slot_value(const emu_warp *w, uint32_t ref, bool wide, uint32_t l) {
    return wide ? ((const uint64_t *)at(w, ref))[l] : ((const uint32_t *)at(w, ref))[l];
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

/* ---- carry chains, video
 * ------------------------------------------------------------------------- */

INLINE unsigned __int128 carry_value(const emu_op *o, uint64_t a, uint64_t b, uint64_t c, int bits,
                                     unsigned in) {
    unsigned __int128 ones = bits == 64 ? UINT64_MAX : UINT32_MAX, left = a, right = b;
    if (o->kind & (CARRY_MULTIPLY_LOW | CARRY_MULTIPLY_HIGH)) {
        unsigned __int128 product = (unsigned __int128)a * b;
        if (o->kind & CARRY_SIGNED) {
            __int128 x = bits == 64 ? (int64_t)a : (int32_t)a,
                     y = bits == 64 ? (int64_t)b : (int32_t)b;
            product = (unsigned __int128)(x * y);
        }
        left = (o->kind & CARRY_MULTIPLY_HIGH ? product >> bits : product) & ones;
        right = c;
    }
    /* a - b - borrow as a + ~b + (1 - borrow); the carry flag holds the borrow then */
    if (o->kind & CARRY_SUBTRACT)
        return left + (~right & ones) + (1 - in);
    return left + right + in;
}

#define CARRY_OP(name, T, BITS)                                                                    \
    HANDLER(name) {                                                                                \
        SOURCE(T, a, pa);                                                                          \
        SOURCE(T, b, pb);                                                                          \
        SOURCE(T, c, pc);                                                                          \
        T##_t *d = at(w, o->d);                                                                    \
        uint32_t carry = 0;                                                                        \
        EACH_LANE(w->mask) {                                                                       \
            unsigned in = o->kind & CARRY_IN ? w->carry >> l & 1 : 0;                              \
            unsigned __int128 r = carry_value(o, pa[l], pb[l], pc[l], BITS, in);                   \
            bool out = r >> BITS & 1;                                                              \
            carry |= (o->kind & CARRY_SUBTRACT ? !out : out) ? lane_bit[l] : 0;                    \
            d[l] = (T##_t)r;                                                                       \
        }                                                                                          \
        if (o->kind & CARRY_OUT)                                                                   \
            w->carry = (w->carry & ~w->mask) | carry;                                              \
        return 0;                                                                                  \
    }
CARRY_OP(carry_32, u32, 32)
CARRY_OP(carry_64, u64, 64)

/* vadd4, vsub4, vavrg4, vabsdiff4, vmin4, vmax4 and their 16-bit pairs, without sub-word selection:
 * kind is the operation, bytes the size of an element, combine != 0 accumulates into c. */
HANDLER(video) {
    SOURCE(u32, a, pa);
    SOURCE(u32, b, pb);
    SOURCE(u32, c, pc);
    uint32_t *d = at(w, o->d);
    int bits = 8 * o->bytes, count = 4 / o->bytes;
    bool is_signed = o->flags & OP_SIGNED, saturate = o->vector;
    int64_t top = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    int64_t bottom = is_signed ? -(1 << (bits - 1)) : 0;
    EACH_LANE(w->mask) {
        uint32_t r = 0, sum = pc[l];
        for (int i = 0; i < count; i++) {
            int64_t x = (int64_t)(pa[l] >> (bits * i) & ((1u << bits) - 1));
            int64_t y = (int64_t)(pb[l] >> (bits * i) & ((1u << bits) - 1)), v = 0;
            if (is_signed) {
                x = x > top ? x - (1 << bits) : x;
                y = y > top ? y - (1 << bits) : y;
            }
            switch (o->kind) {
            case 0:
                v = x + y;
                break;
            case 1:
                v = x - y;
                break;
            case 2:
                v = (x + y + 1) >> 1;
                break;
            case 3:
                v = x < y ? y - x : x - y;
                break;
            case 4:
                v = x < y ? x : y;
                break;
            default:
                v = x > y ? x : y;
            }
            if (saturate)
                v = v < bottom ? bottom : v > top ? top : v;
            sum += (uint32_t)v;
            r |= ((uint32_t)v & ((1u << bits) - 1)) << (bits * i);
        }
        d[l] = o->combine ? sum : r;
    }
    return 0;
}

/* ---- memory
 * -------------------------------------------------------------------------------------- */

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

static const char *const space_names[EMU_SPACES] = {[EMU_GLOBAL] = "global",
                                                    [EMU_SHARED] = "shared",
                                                    [EMU_LOCAL] = "local",
                                                    [EMU_CONSTANT] = "constant",
                                                    [EMU_PARAM] = "parameter"};

/* The first lane that is misaligned or outside of [LOW, LOW + LIMIT] is the one to report. */
static __attribute__((noinline, cold)) int report_lane(emu_warp *w, const emu_op *o, int space,
                                                       const uint64_t *address, uint64_t low,
                                                       uint64_t limit, uint32_t bytes) {
    EACH_LANE(w->mask) {
        if (address[l] & (bytes - 1))
            return emu_fault_lane(w, o, (int)l, EMU_MISALIGNED, address[l],
                                  "%s address 0x%llx is not aligned to the %u bytes accessed",
                                  space_names[space], (unsigned long long)address[l], bytes);
        if (address[l] - low > limit || limit >> 63)
            return emu_fault_lane(
                w, o, (int)l, EMU_ILLEGAL_ADDRESS, address[l],
                "%u bytes at %s address 0x%llx are outside of the %llu bytes there", bytes,
                space_names[space], (unsigned long long)address[l],
                (unsigned long long)(limit + bytes));
    }
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_ADDRESS, address[0],
                          "illegal %s access", space_names[space]);
}

/* Global lanes that are not all in the range this op used last: each is looked up. */
static __attribute__((noinline)) int search_ranges(emu_warp *w, const emu_op *o, reached *r,
                                                   uint32_t bytes) {
    emu_worker *k = w->worker;
    emu_range *range = &k->range[o->memory];
    EACH_LANE(w->mask) {
        uint64_t address = r->address[l];
        if (address & (bytes - 1))
            return report_lane(w, o, EMU_GLOBAL, r->address, 0, UINT64_MAX >> 1, bytes);
        if (address - range->base < range->size && range->size - (address - range->base) >= bytes)
            continue;
        emu_range found;
        if (!emu_memory_range(k->device, address, &found))
            return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, address,
                                  "global address 0x%llx is outside of every allocation",
                                  (unsigned long long)address);
        if (found.size - (address - found.base) < bytes)
            return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, address,
                                  "%u bytes at global address 0x%llx run past the end of an "
                                  "allocation of %llu bytes at 0x%llx",
                                  bytes, (unsigned long long)address,
                                  (unsigned long long)found.size, (unsigned long long)found.base);
        *range = found;
    }
    return 0;
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

/* What the memory model sees of local memory: 4-byte words of the lanes of a warp lie side by side.
 */
static __attribute__((noinline)) void count_local(emu_warp *w, const emu_op *o,
                                                  emu_access_op access, uint32_t bytes,
                                                  const uint64_t *address) {
    if (!w->worker->counting)
        return;
    alignas(32) uint64_t place[WARP];
    for (uint32_t l = 0; l < WARP; l++)
        place[l] = w->local_id + (address[l] / bytes * WARP + l) * bytes;
    count_access(w, o, EMU_LOCAL, access, bytes, place);
}

/* Checks and counts of one access of BYTES a lane at the addresses in R. */
INLINE int reach_addresses(emu_warp *w, const emu_op *o, int space, emu_access_op access,
                           uint32_t bytes, reached *r) {
    uint32_t align = bytes;
    if (space == EMU_GLOBAL || space == EMU_CONSTANT) {
        const emu_range *range = &w->worker->range[o->memory];
        r->host = 0;
        if (!inside(r, range->base, range->size - bytes, bytes, align, w->mask)) {
            int status = search_ranges(w, o, r, bytes);
            if (status)
                return status;
        }
        if (space == EMU_GLOBAL)
            count_reached(w, o, space, access, bytes, r);
    } else if (space == EMU_SHARED) {
        uint64_t limit = (uint64_t)w->worker->run->shared_bytes - bytes;
        r->host = (uint64_t)(uintptr_t)w->block->shared;
        if (!inside(r, 0, limit, bytes, align, w->mask))
            return report_lane(w, o, space, r->address, 0, limit, bytes);
        count_reached(w, o, space, access, bytes, r);
    } else {
        uint64_t limit = (uint64_t)w->program->local_limit - bytes;
        r->host = (uint64_t)(uintptr_t)w->local;
        const uint64_t stride = w->program->local_limit; /* from one lane to the next */
        if (!inside(r, 0, limit, bytes, align, w->mask))
            return report_lane(w, o, space, r->address, 0, limit, bytes);
        r->shape = SHAPE_SCATTERED;
        count_local(w, o, access, bytes, r->address);
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
        return report_lane(w, o, EMU_PARAM, r.address, 0, limit, bytes);
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
        return report_lane(w, o, EMU_PARAM, r->address, 0, limit, bytes);
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
        }
    }
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

/* ---- matrices: instructions of a whole warp
 * ------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) int report_part(emu_warp *w, const emu_op *o) {
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_INSTRUCTION, 0,
                          "%s needs all 32 lanes of a warp, and %d came to it",
                          w->program->info[o - w->program->op].mnemonic,
                          __builtin_popcount(w->mask));
}

HANDLER(multiply) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    EMU_MULTIPLY(w, o);
    return 0;
}

/* Elements FIRST ... FIRST + run - 1 of the fragment between memory and registers. Where a fragment
 * has more elements than its matrix needs, they repeat. */
INLINE GUEST void move_elements(emu_warp *w, const emu_op *o, const reached *r, uint32_t first) {
    const emu_tensor *t = &o->extra->tensor;
    const emu_element e = (emu_element)t->element[t->matrix];
    const uint32_t bytes = emu_element_bytes(e), packing = emu_element_packing(e);
    const uint32_t all = t->registers[t->matrix] * packing;
    const uint32_t step = emu_tensor_elements(t, (emu_matrix)t->matrix);
    const bool loading = t->matrix != MATRIX_D;
    const uint32_t slot = bytes == 8 ? 8 : 4;
    EACH_LANE(w->mask) {
        for (uint32_t i = first; i < first + t->run; i++) {
            uint8_t *memory = host_of(r, l) + (i - first) * bytes;
            for (uint32_t k = i; k < all; k += step) {
                uint8_t *lane =
                    (uint8_t *)at(w, o->extra->ref[k / packing]) + l * slot + k % packing * bytes;
                memcpy(loading ? lane : memory, loading ? memory : lane, bytes);
            }
        }
    }
}

/* wmma.load and wmma.store: as many accesses as it takes to move what lies side by side at once. */
static int fragment_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    const emu_tensor *t = &o->extra->tensor;
    const emu_matrix matrix = (emu_matrix)t->matrix;
    const uint32_t bytes = emu_element_bytes((emu_element)t->element[matrix]);
    alignas(32) uint64_t base[WARP];
    make_addresses(w, o, generic, base);
    for (uint32_t i = 0; i < emu_tensor_elements(t, matrix); i += t->run) {
        reached r;
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t row, column;
            emu_tensor_place(t, matrix, l, i, &row, &column);
            uint64_t pitch = slot_value(w, o->b, false, l);
            r.address[l] =
                base[l] + bytes * (t->by_column ? column * pitch + row : row * pitch + column);
        }
        int status = reach_addresses(w, o, space, matrix == MATRIX_D ? EMU_STORE : EMU_LOAD,
                                     bytes * t->run, &r);
        if (status)
            return status;
        move_elements(w, o, &r, i);
    }
    return 0;
}

INLINE int move_fragment(emu_warp *w, const emu_op *o) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    if (o->space == EMU_TEXTURE) /* marks the generic space here */
        return by_window(w, o, fragment_piece);
    return fragment_piece(w, o, o->space, false);
}

HANDLER(load_fragment) {
    return move_fragment(w, o);
}

HANDLER(store_fragment) {
    w->spin = 0;
    return move_fragment(w, o);
}

enum { TILE = 8, TILE_ROW_BYTES = 16 }; /* ldmatrix, stmatrix: 8 x 8 elements of 16 bits */

/* Element of a tile that LANE holds in half J of its register. */
INLINE void tile_place(const emu_op *o, uint32_t lane, uint32_t j, uint32_t *row,
                       uint32_t *column) {
    *row = lane / 4;
    *column = 2 * (lane % 4) + j;
    if (o->kind) { /* .trans */
        uint32_t swapped = *row;
        *row = *column;
        *column = swapped;
    }
}

/* The rows of tile i are where lanes 8 i ... 8 i + 7 point. */
static GUEST int tiles_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    const bool storing = o->flags & OP_NO_RESULT;
    if (space != EMU_SHARED)
        return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_ADDRESS, 0,
                              "a row of a matrix is not in shared memory");
    reached r;
    int status = reach(w, o, space, generic, storing ? EMU_STORE : EMU_LOAD, TILE_ROW_BYTES, &r);
    for (uint32_t i = 0; !status && i < (uint32_t)o->extra->count; i++) {
        uint32_t *slot = at(w, o->extra->ref[i]);
        for (uint32_t l = 0; l < WARP; l++) {
            for (uint32_t j = 0; j < 2; j++) {
                uint32_t row, column;
                tile_place(o, l, j, &row, &column);
                uint8_t *memory = host_of(&r, TILE * i + row) + 2 * column;
                uint16_t value = (uint16_t)(slot[l] >> 16 * j);
                if (storing) {
                    memcpy(memory, &value, sizeof value);
                    continue;
                }
                memcpy(&value, memory, sizeof value);
                slot[l] = j ? (slot[l] & 0xffff) | (uint32_t)value << 16 : value;
            }
        }
    }
    return status;
}

INLINE int move_tiles(emu_warp *w, const emu_op *o) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    w->mask = ALL_LANES >> (WARP - TILE * o->extra->count);
    int status =
        o->space == EMU_TEXTURE ? by_window(w, o, tiles_piece) : tiles_piece(w, o, o->space, false);
    w->mask = ALL_LANES;
    return status;
}

HANDLER(load_matrix) {
    return move_tiles(w, o);
}

HANDLER(store_matrix) {
    w->spin = 0;
    return move_tiles(w, o);
}

HANDLER(transpose_matrix) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    const uint32_t *a = at(w, o->a);
    uint32_t *d = at(w, o->d), result[WARP];
    for (uint32_t l = 0; l < WARP; l++) {
        /* row 2 (l % 4) and the one below of a, column l / 4 */
        uint32_t from = l % 4 * 8 + l / 8, shift = 16 * (l / 4 % 2);
        result[l] = (a[from] >> shift & 0xffff) | (a[from + 4] >> shift) << 16;
    }
    memcpy(d, result, sizeof result);
    return 0;
}

/* ---- tables and the loop
 * ------------------------------------------------------------------------- */

const emu_handler EXPORTED(emu_handlers)[HANDLERS] = {
#define OP_1(name, ...)  [H_##name] = handle_##name,
#define OP_2(name, ...)  [H_##name] = handle_##name,
#define OP_3(name, ...)  [H_##name] = handle_##name,
#define OP_4(name, ...)  [H_##name] = handle_##name,
#define OP_1G(name, ...) [H_##name] = handle_##name,
#define OP_2G(name, ...) [H_##name] = handle_##name,
#define OP_3G(name, ...) [H_##name] = handle_##name,
#define OP_C(name, ...)                                                                            \
    [H_setp_##name] = handle_setp_##name, [H_compare_##name] = handle_compare_##name,
#define OP_T(name, ...) [H_##name] = handle_##name,
#include "emulator/machine/operations.def"
#define X(name) [H_##name] = handle_##name,
    EMU_SPECIAL_HANDLERS(X)
#undef X
};

enum {
    SPIN_LIMIT = 512,          /* backward branches that watch memory and change none: it spins */
    SPIN_LIMIT_BLIND = 1 << 20 /* the same without even watching */
};

/* True if the current group should give way. */
static bool spins(emu_warp *w) {
    if (w->spin++ == 0)
        w->watched = false;
    if (w->spin < SPIN_LIMIT || (!w->watched && w->spin < SPIN_LIMIT_BLIND))
        return false;
    w->spin = 0;
    return true;
}

/* Runs WARP for about BUDGET backward branches, or until no group of it can go on. */
int EXPORTED(emu_run_warp)(emu_warp *w, uint64_t budget) {
    const emu_op *code = w->program->op;
    emu_count_cell *cell = w->worker->cell;
    const bool counting = w->worker->counting;
    w->spinning = false;
    while (budget) {
        uint32_t limit;
        int chosen = emu_choose_group(w, &limit);
        if (chosen < 0)
            return 0;
        w->current = chosen;
        emu_group *group = &w->group[chosen];
        uint32_t pc = group->pc, first = pc; /* of the run of straight code being counted */
        const uint32_t active = group->mask;
        const uint64_t lanes = (uint64_t)__builtin_popcount(active);
        if (w->frame != group->frame) {
            w->frame = group->frame;
            w->base[0] = group->frame->registers;
        }
        for (;;) {
            if (__builtin_expect(pc >= limit, 0)) {
                if (counting)
                    emu_count_run(cell, first, pc, lanes);
                group->pc = pc;
                break;
            }
            const emu_op *o = &code[pc];
            uint32_t mask = active;
            if (o->guard) {
                uint32_t p = *(const uint32_t *)(w->base[0] + (o->guard - 1));
                mask &= o->guard_negated ? ~p : p;
                if (counting)
                    cell[pc].off += (uint64_t)__builtin_popcount(active & ~mask);
            }
            if (__builtin_expect(o->control == CONTROL_NONE, 1)) {
                pc++;
                if (mask) {
                    w->mask = mask;
                    int status = o->run(w, o);
                    if (__builtin_expect(status != 0, 0)) {
                        if (counting)
                            emu_count_run(cell, first, pc, lanes);
                        group->pc = pc - 1;
                        return status;
                    }
                }
                continue;
            }
            if (o->control == CONTROL_BRANCH && mask == 0) {
                pc++;
                continue;
            }
            if (counting)
                emu_count_run(cell, first, pc + 1, lanes);
            if (o->control != CONTROL_BRANCH) {
                group->pc = pc;
                w->mask = mask;
                w->active = active;
                int status = emu_control_step(w, o, mask);
                if (status)
                    return status;
                break;
            }
            bool backward = o->target <= pc;
            if (mask == active) {
                first = pc = o->target;
                group->pc = pc;
            } else {
                group->pc = pc + 1;
                group->mask = active & ~mask;
                w->group[w->group_count] = *group;
                w->group[w->group_count].pc = o->target;
                w->group[w->group_count].mask = mask;
                chosen = w->group_count++;
            }
            if (backward) {
                w->block->ticks += 8;
                budget--;
                if (__builtin_expect(spins(w), 0)) {
                    w->group[chosen].penalty++;
                    w->spinning = !emu_group_behind(w, chosen);
                    if (w->spinning)
                        return 0;
                    break;
                }
                if (!budget)
                    break;
            }
            if (w->group_count > 1)
                break;
        }
    }
    return 0;
}
