/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar arithmetic of one lane: what the C language has no operator for. Everything is inline and
 * free of branches where it is hot, so that loops over the lanes vectorise. Half-precision formats
 * are carried as their bits. Nothing here depends on subnormal floats being kept, so that it stays
 * right under flush-to-zero. */
#ifndef EMU_MACHINE_LANES_H
#define EMU_MACHINE_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LANE_FUNCTION static inline __attribute__((always_inline, unused))

LANE_FUNCTION uint32_t bits_of_float(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

LANE_FUNCTION float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

LANE_FUNCTION uint64_t bits_of_double(double f) {
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

LANE_FUNCTION double double_of_bits(uint64_t u) {
    double f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* ---- small floating-point formats -------------------------------------------------------------
 */

LANE_FUNCTION float half_to_float(uint16_t h) {
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, exponent = magnitude & 0x0f800000u;
    uint32_t normal = magnitude + (112u << 23);
    uint32_t special = magnitude + (224u << 23);
    float subnormal = float_of_bits(normal + (1u << 23)) - float_of_bits(113u << 23);
    uint32_t u = exponent == 0x0f800000u ? special
                 : exponent == 0         ? bits_of_float(subnormal)
                                         : normal;
    return float_of_bits(u | (uint32_t)(h & 0x8000) << 16);
}

/* To nearest even; NaN becomes the canonical 0x7fff. */
LANE_FUNCTION uint16_t float_to_half(float f) {
    uint32_t u = bits_of_float(f), sign = u >> 16 & 0x8000u, x = u & 0x7fffffffu;
    uint32_t normal = (x + 0xfffu + (x >> 13 & 1) - (112u << 23)) >> 13;
    const uint32_t magic = 126u << 23; /* 0.5: its ulp is 2^-24, that of the subnormals */
    uint32_t subnormal = bits_of_float(float_of_bits(x) + float_of_bits(magic)) - magic;
    uint32_t r = x < 113u << 23 ? subnormal : normal;
    r = x >= 0x477ff000u ? 0x7c00u : r;
    return (uint16_t)(x > 0x7f800000u ? 0x7fffu : (r | sign));
}

LANE_FUNCTION float bfloat_to_float(uint16_t b) {
    return float_of_bits((uint32_t)b << 16);
}

LANE_FUNCTION uint16_t float_to_bfloat(float f) {
    uint32_t u = bits_of_float(f);
    uint32_t r = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}

typedef enum lane_rounding {
    ROUND_NEAREST,
    ROUND_ZERO,
    ROUND_DOWN,
    ROUND_UP,
    ROUND_AWAY
} lane_rounding;

typedef struct small_format {
    int exponent_bits, mantissa_bits;
    bool infinite; /* has infinities; else the top exponent holds numbers and one NaN (e4m3) */
} small_format;

#define FORMAT_HALF   ((small_format){5, 10, true})
#define FORMAT_BFLOAT ((small_format){8, 7, true})
#define FORMAT_E4M3   ((small_format){4, 3, false})
#define FORMAT_E5M2   ((small_format){5, 2, true})
#define FORMAT_TF32   ((small_format){8, 10, true})

/* Rounds a finite double to FORMAT, any rounding; out of range gives infinity or, where the
 * rounding or SATURATE says so or the format has none, the largest finite number. */
__attribute__((unused)) static uint32_t round_to_format(double value, small_format format,
                                                        lane_rounding rounding, bool saturate) {
    int m = format.mantissa_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
    uint32_t sign = (uint32_t)signbit(value) << (format.exponent_bits + m);
    uint32_t top = (((1u << format.exponent_bits) - 1) << m); /* infinity */
    uint32_t largest = format.infinite ? top - 1 : (top | ((1u << m) - 1)) - 1;
    uint32_t nan = (1u << (format.exponent_bits + m)) - 1;
    if (isnan(value))
        return nan;
    double magnitude = fabs(value);
    uint32_t r;
    if (isinf(value)) {
        r = format.infinite && !saturate ? top : largest;
        return r | sign;
    }
    int exponent;
    frexp(magnitude, &exponent); /* magnitude = f * 2^exponent, f in [0.5, 1) */
    if (magnitude == 0 || exponent - 1 < 1 - bias)
        exponent = 2 - bias;
    double scaled = ldexp(magnitude, m - (exponent - 1)), whole = floor(scaled);
    double rest = scaled - whole;
    bool up = false;
    switch (rounding) {
    case ROUND_NEAREST:
        up = rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0);
        break;
    case ROUND_AWAY:
        up = rest >= 0.5;
        break;
    case ROUND_UP:
        up = rest > 0 && !sign;
        break;
    case ROUND_DOWN:
        up = rest > 0 && sign;
        break;
    case ROUND_ZERO:
        break;
    }
    double q = whole + up; /* in [0, 2^(m+1)] */
    uint64_t code = (uint64_t)q + ((uint64_t)(exponent - 1 + bias - 1) << m);
    if (code > largest) {
        bool infinite = format.infinite && !saturate &&
                        !(rounding == ROUND_ZERO || (rounding == ROUND_DOWN && !sign) ||
                          (rounding == ROUND_UP && sign));
        code = infinite ? top : largest;
    }
    return (uint32_t)code | sign;
}

__attribute__((unused)) static float small_to_float(uint32_t bits, small_format format) {
    int m = format.mantissa_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
    uint32_t fraction = bits & ((1u << m) - 1);
    uint32_t exponent = bits >> m & ((1u << format.exponent_bits) - 1);
    bool sign = bits >> (m + format.exponent_bits) & 1;
    bool top = exponent == (1u << format.exponent_bits) - 1;
    float value;
    if (top && format.infinite)
        value = fraction ? NAN : INFINITY;
    else if (top && fraction == (1u << m) - 1)
        value = NAN;
    else if (exponent == 0)
        value = ldexpf((float)fraction, 1 - bias - m);
    else
        value = ldexpf((float)(fraction | 1u << m), (int)exponent - bias - m);
    return sign ? -value : value;
}

/* a * b + c of small formats as a double that rounds on as the exact result would: the product is
 * exact, and what the sum loses is kept as an odd last bit. */
LANE_FUNCTION double fma_round_to_odd(double a, double b, double c) {
    double p = a * b, s = p + c, z = s - p;
    double error = (p - (s - z)) + (c - z);
    if (error != 0 && isfinite(s) && !(bits_of_double(s) & 1))
        s = double_of_bits(bits_of_double(s) + (((error > 0) == (s > 0)) ? 1 : UINT64_MAX));
    return s;
}

/* An integer as a double, the last bit odd if something was lost. */
LANE_FUNCTION double integer_to_odd_double(uint64_t magnitude, bool negative) {
    if (magnitude >> 53) {
        int shift = 64 - __builtin_clzll(magnitude) - 53;
        uint64_t kept = magnitude >> shift;
        kept |= (kept << shift) != magnitude;
        double d = ldexp((double)kept, shift);
        return negative ? -d : d;
    }
    return negative ? -(double)magnitude : (double)magnitude;
}

/* ---- floating point of 32 and 64 bits ---------------------------------------------------------
 */

/* min and max of PTX: a NaN loses against a number, -0 is less than +0. */
LANE_FUNCTION float min_float(float a, float b) {
    float less = a < b ? a : b;
    float equal = float_of_bits(bits_of_float(a) | bits_of_float(b));
    float r = a == b ? equal : less;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return r != r ? float_of_bits(0x7fffffffu) : r;
}

LANE_FUNCTION float max_float(float a, float b) {
    float more = a > b ? a : b;
    float equal = float_of_bits(bits_of_float(a) & bits_of_float(b));
    float r = a == b ? equal : more;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return r != r ? float_of_bits(0x7fffffffu) : r;
}

LANE_FUNCTION float min_nan_float(float a, float b) {
    float r = min_float(a, b);
    return a != a || b != b ? float_of_bits(0x7fffffffu) : r;
}

LANE_FUNCTION float max_nan_float(float a, float b) {
    float r = max_float(a, b);
    return a != a || b != b ? float_of_bits(0x7fffffffu) : r;
}

LANE_FUNCTION double min_double(double a, double b) {
    double less = a < b ? a : b;
    double equal = double_of_bits(bits_of_double(a) | bits_of_double(b));
    double r = a == b ? equal : less;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return r != r ? double_of_bits(UINT64_C(0x7ff8000000000000)) : r;
}

LANE_FUNCTION double max_double(double a, double b) {
    double more = a > b ? a : b;
    double equal = double_of_bits(bits_of_double(a) & bits_of_double(b));
    double r = a == b ? equal : more;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return r != r ? double_of_bits(UINT64_C(0x7ff8000000000000)) : r;
}

/* .sat: into [0, 1], NaN to +0. */
LANE_FUNCTION float saturate_float(float f) {
    float r = f > 0.0f ? f : 0.0f;
    return r < 1.0f ? r : 1.0f;
}

LANE_FUNCTION double saturate_double(double f) {
    double r = f > 0.0 ? f : 0.0;
    return r < 1.0 ? r : 1.0;
}

LANE_FUNCTION float relu_float(float f) {
    return f != f ? float_of_bits(0x7fffffffu) : f > 0.0f ? f : 0.0f;
}

LANE_FUNCTION float xorsign_float(float r, float a, float b) {
    uint32_t sign = (bits_of_float(a) ^ bits_of_float(b)) & 0x80000000u;
    return float_of_bits((bits_of_float(r) & 0x7fffffffu) | sign);
}

/* What .ftz makes of a value that is only moved. */
LANE_FUNCTION float flush_float(float f) {
    uint32_t u = bits_of_float(f);
    return float_of_bits(u & 0x7f800000u ? u : u & 0x80000000u);
}

LANE_FUNCTION uint16_t flush_half(uint16_t h) {
    return h & 0x7c00 ? h : h & 0x8000;
}

/* ---- float to integer: rounded already, NaN and range as the PTX document has it ----------------
 */

LANE_FUNCTION int32_t float_to_s32(float f) {
    int32_t r = f >= 2147483648.0f ? INT32_MAX : f < -2147483648.0f ? INT32_MIN : 0;
    bool inside = f >= -2147483648.0f && f < 2147483648.0f;
    return inside ? (int32_t)(inside ? f : 0.0f) : r;
}

LANE_FUNCTION uint32_t float_to_u32(float f) {
    if (!(f > 0))
        return 0;
    return f >= 4294967296.0f ? UINT32_MAX : (uint32_t)f;
}

LANE_FUNCTION int64_t double_to_s64(double f) {
    if (f != f)
        return INT64_MIN;
    return f >= 9223372036854775808.0   ? INT64_MAX
           : f < -9223372036854775808.0 ? INT64_MIN
                                        : (int64_t)f;
}

LANE_FUNCTION uint64_t double_to_u64(double f) {
    if (f != f)
        return UINT64_C(1) << 63;
    if (!(f > 0))
        return 0;
    return f >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)f;
}

/* Clamps to a narrower integer; NAN stands for what the document wants for one. */
LANE_FUNCTION int64_t double_to_range(double f, double low, double high, int64_t nan) {
    if (f != f)
        return nan;
    return (int64_t)(f < low ? low : f > high ? high : f);
}

/* ---- integers ---------------------------------------------------------------------------------
 */

LANE_FUNCTION uint64_t mul_hi_u64(uint64_t a, uint64_t b) {
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

LANE_FUNCTION int64_t mul_hi_s64(int64_t a, int64_t b) {
    return (int64_t)(((__int128)a * b) >> 64);
}

LANE_FUNCTION uint32_t reverse_bits_32(uint32_t x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

LANE_FUNCTION uint64_t reverse_bits_64(uint64_t x) {
    return (uint64_t)reverse_bits_32((uint32_t)x) << 32 | reverse_bits_32((uint32_t)(x >> 32));
}

/* bfe: LENGTH bits from POSITION, the sign taken from the last bit of the field that exists. */
LANE_FUNCTION uint64_t extract_field(uint64_t a, uint32_t position, uint32_t length, int width,
                                     bool is_signed) {
    uint32_t pos = position & 0xff, len = length & 0xff;
    uint64_t msb = (uint64_t)width - 1;
    bool negative;
    if (!is_signed || len == 0) {
        negative = false;
    } else {
        uint64_t at = (uint64_t)pos + len - 1;
        negative = a >> (at < msb ? at : msb) & 1;
    }
    uint64_t field = pos <= msb ? a >> pos : 0;
    uint32_t have = pos <= msb ? (uint32_t)(msb + 1 - pos) : 0;
    if (len < have)
        have = len;
    uint64_t mask = have >= 64 ? UINT64_MAX : (UINT64_C(1) << have) - 1;
    return (field & mask) | (negative ? ~mask : 0);
}

LANE_FUNCTION uint64_t insert_field(uint64_t a, uint64_t b, uint32_t position, uint32_t length,
                                    uint32_t width) {
    uint32_t pos = position & 0xff, len = length & 0xff;
    if (pos >= width || len == 0)
        return b;
    if (len > width - pos)
        len = width - pos;
    uint64_t mask = (len >= 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1) << pos;
    return (a << pos & mask) | (b & ~mask);
}

/* Position of the most significant bit that is not a sign bit; all ones if there is none. */
LANE_FUNCTION uint32_t find_bit(uint64_t a, int width, bool is_signed, bool shift_amount) {
    if (is_signed && a >> (width - 1) & 1)
        a = ~a;
    if (width < 64)
        a &= (UINT64_C(1) << width) - 1;
    if (a == 0)
        return UINT32_MAX;
    uint32_t at = 63u - (uint32_t)__builtin_clzll(a);
    return shift_amount ? (uint32_t)width - 1 - at : at;
}

/* fns: the OFFSET-th set bit of MASK from BASE, upwards or downwards. */
LANE_FUNCTION uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    uint32_t left = offset > 0 ? (uint32_t)offset : 0u - (uint32_t)offset;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}

LANE_FUNCTION uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector, int mode) {
    uint64_t pair = (uint64_t)b << 32 | a;
    uint32_t r = 0, s = selector & 3;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t pick, sign = 0;
        switch (mode) {
        case 1: /* f4e */
            pick = s + i;
            break;
        case 2: /* b4e */
            pick = (s - i) & 7;
            break;
        case 3: /* rc8 */
            pick = s;
            break;
        case 4: /* ecl */
            pick = i > s ? i : s;
            break;
        case 5: /* ecr */
            pick = i < s ? i : s;
            break;
        case 6: /* rc16 */
            pick = (s & 1) * 2 + (i & 1);
            break;
        default:
            pick = selector >> (4 * i) & 7;
            sign = selector >> (4 * i) & 8;
        }
        uint32_t byte = (uint32_t)(pair >> (8 * pick) & 0xff);
        if (sign)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}

LANE_FUNCTION uint32_t logic_3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t r = 0;
    r |= table & 1 ? ~a & ~b & ~c : 0;
    r |= table & 2 ? ~a & ~b & c : 0;
    r |= table & 4 ? ~a & b & ~c : 0;
    r |= table & 8 ? ~a & b & c : 0;
    r |= table & 16 ? a & ~b & ~c : 0;
    r |= table & 32 ? a & ~b & c : 0;
    r |= table & 64 ? a & b & ~c : 0;
    r |= table & 128 ? a & b & c : 0;
    return r;
}

LANE_FUNCTION int64_t byte_of(uint32_t x, int i, bool is_signed) {
    uint32_t byte = x >> (8 * i) & 0xff;
    return is_signed ? (int8_t)byte : (int64_t)byte;
}

LANE_FUNCTION uint32_t dot_4(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b) {
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += byte_of(a, i, signed_a) * byte_of(b, i, signed_b);
    return c + (uint32_t)sum;
}

LANE_FUNCTION uint32_t dot_2(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b,
                             int half) {
    int64_t sum = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t word = a >> (16 * i) & 0xffff;
        int64_t wide = signed_a ? (int16_t)word : (int64_t)word;
        sum += wide * byte_of(b, 2 * half + i, signed_b);
    }
    return c + (uint32_t)sum;
}

#endif
