/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of carry chains and of the video instructions. */
#include "emulator/machine/execute.h"

/* ---- carry chains ------------------------------------------------------------------------------
 */

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

/* ---- video --------------------------------------------------------------------------------------
 */

INLINE __int128 clamp(__int128 x, int width, bool is_signed) {
    __int128 low = is_signed ? -((__int128)1 << (width - 1)) : 0;
    __int128 high = ((__int128)1 << (is_signed ? width - 1 : width)) - 1;
    return x < low ? low : x > high ? high : x;
}

INLINE int64_t part_of(uint32_t x, emu_video_part part, bool is_signed) {
    int64_t ones = (INT64_C(1) << part.width) - 1, value = x >> part.low & ones;
    return is_signed && value >> (part.width - 1) ? value - ones - 1 : value;
}

INLINE int64_t compared(emu_video_compare how, int64_t a, int64_t b) {
    switch (how) {
    case COMPARE_EQ:
        return a == b;
    case COMPARE_NE:
        return a != b;
    case COMPARE_LT:
        return a < b;
    case COMPARE_LE:
        return a <= b;
    case COMPARE_GT:
        return a > b;
    case COMPARE_GE:
        return a >= b;
    }
    return 0;
}

INLINE __int128 video_result(const emu_video *v, int64_t a, int64_t b) {
    int64_t shift = v->wrap ? b & 31 : b > 32 ? 32 : b;
    switch ((emu_video_operation)v->operation) {
    case VIDEO_ADD:
        return a + b;
    case VIDEO_SUB:
        return a - b;
    case VIDEO_AVERAGE: /* halves go up, but not those of negative sums */
        return (a + b + (a + b >= 0)) >> 1;
    case VIDEO_ABSDIFF:
        return a < b ? b - a : a - b;
    case VIDEO_MIN:
        return a < b ? a : b;
    case VIDEO_MAX:
        return a > b ? a : b;
    case VIDEO_SHL:
        return (__int128)((unsigned __int128)a << shift);
    case VIDEO_SHR:
        return a >> shift;
    case VIDEO_SET:
        return compared((emu_video_compare)v->compare, a, b);
    case VIDEO_MAD:
        break;
    }
    return 0;
}

static uint32_t video_mad(const emu_video *v, int64_t a, int64_t b, uint32_t c) {
    bool is_signed = v->signed_a || v->signed_b || v->negate_ab || v->negate_c;
    __int128 product = (__int128)a * b;
    int one = v->plus_one;
    if (!v->plus_one && v->negate_ab) {
        product = ~product;
        one = 1;
    } else if (!v->plus_one && v->negate_c) {
        c = ~c;
        one = 1;
    }
    __int128 sum = product + (is_signed ? (int64_t)(int32_t)c : (int64_t)c) + one;
    sum >>= v->scale;
    if (v->saturate)
        sum = clamp(sum, 32, is_signed);
    return (uint32_t)sum;
}

static uint32_t video_scalar(const emu_video *v, uint32_t a, uint32_t b, uint32_t c) {
    int64_t x = part_of(a, v->a, v->signed_a), y = part_of(b, v->b, v->signed_b);
    if (v->operation == VIDEO_MAD)
        return video_mad(v, x, y, c);
    __int128 r = video_result(v, x, y);
    if (v->saturate)
        r = clamp(r, v->d.width, v->signed_d);
    int64_t third = v->signed_d ? (int64_t)(int32_t)c : (int64_t)c;
    int64_t first = (int64_t)((uint64_t)r << 31) >> 31; /* 33 bits with a sign, as c */
    switch ((emu_video_second)v->second) {
    case SECOND_NONE:
        break;
    case SECOND_ADD:
        return (uint32_t)(first + third);
    case SECOND_MIN:
        return (uint32_t)(first < third ? first : third);
    case SECOND_MAX:
        return (uint32_t)(first > third ? first : third);
    }
    if (v->d.width == 32)
        return (uint32_t)r;
    uint32_t ones = ((1u << v->d.width) - 1) << v->d.low;
    return (c & ~ones) | ((uint32_t)r << v->d.low & ones);
}

static uint32_t video_simd(const emu_video *v, uint32_t a, uint32_t b, uint32_t c) {
    const uint8_t width = 32 / v->elements;
    uint32_t merged = c, sum = c;
    for (unsigned i = 0; i < v->elements; i++) {
        if (!(v->mask >> i & 1))
            continue;
        unsigned from_a = v->pick_a[i], from_b = v->pick_b[i];
        emu_video_part pa = {(uint8_t)(from_a % v->elements * width), width};
        emu_video_part pb = {(uint8_t)(from_b % v->elements * width), width};
        int64_t x = part_of(from_a < v->elements ? a : b, pa, v->signed_a);
        int64_t y = part_of(from_b < v->elements ? a : b, pb, v->signed_b);
        __int128 r = video_result(v, x, y);
        if (v->saturate)
            r = clamp(r, width, v->signed_d);
        sum += (uint32_t)r;
        uint32_t ones = ((1u << width) - 1) << (i * width);
        merged = (merged & ~ones) | ((uint32_t)r << (i * width) & ones);
    }
    return v->second == SECOND_ADD ? sum : merged;
}

HANDLER(video) {
    SOURCE(u32, a, pa);
    SOURCE(u32, b, pb);
    SOURCE(u32, c, pc);
    uint32_t *d = at(w, o->d);
    const emu_video *v = &o->extra->video;
    EACH_LANE(w->mask) {
        d[l] = v->elements > 1 ? video_simd(v, pa[l], pb[l], pc[l])
                               : video_scalar(v, pa[l], pb[l], pc[l]);
    }
    return 0;
}
