/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers that work lane by lane: those of operations.def, predicates, selection, comparison into
 * registers. */
#include "emulator/machine/execute.h"

#include <xmmintrin.h>

/* ---- helpers of operations.def ------------------------------------------------------------------
 */

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

INLINE uint32_t round_to_tf32(float a, lane_rounding rounding, bool relu, bool finite) {
    if (relu)
        a = relu_float(a);
    if (a != a)
        return 0x7fffffffu;
    return round_to_format(a, FORMAT_TF32, rounding, finite) << 13;
}

INLINE uint64_t pack_floats(float low, float high) {
    return (uint64_t)bits_of_float(high) << 32 | bits_of_float(low);
}

INLINE float low_float(uint64_t pair) {
    return float_of_bits((uint32_t)pair);
}

INLINE float high_float(uint64_t pair) {
    return float_of_bits((uint32_t)(pair >> 32));
}

INLINE uint16_t min_relu_s16(int16_t a, int16_t b) {
    int16_t r = a < b ? a : b;
    return (uint16_t)(r < 0 ? 0 : r);
}

INLINE uint16_t max_relu_s16(int16_t a, int16_t b) {
    int16_t r = a > b ? a : b;
    return (uint16_t)(r < 0 ? 0 : r);
}

/* A clamped to a number of BITS, as those bits. */
INLINE uint32_t clamp_bits(int32_t a, int bits, bool is_signed) {
    int32_t high = (1 << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
    return (uint32_t)(a < low ? low : a > high ? high : a) & ((1u << bits) - 1);
}

/* cvt.pack: B lowest, then A, then what C has. */
INLINE uint32_t pack_clamped(uint32_t a, uint32_t b, uint32_t c, int bits) {
    return (uint32_t)((uint64_t)c << (2 * bits)) | a << bits | b;
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
