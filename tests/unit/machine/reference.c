/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference arithmetic of the machine's tests. */
#include "reference.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

const ref_format ref_half = {5, 10, true}, ref_bfloat = {8, 7, true}, ref_e4m3 = {4, 3, false},
                 ref_e5m2 = {5, 2, true}, ref_tf32 = {8, 10, true};

double ref_value(uint32_t code, ref_format f) {
    int bias = (1 << (f.exponent - 1)) - 1;
    uint32_t mantissa = code & ((1u << f.mantissa) - 1);
    uint32_t exponent = code >> f.mantissa & ((1u << f.exponent) - 1);
    bool negative = code >> (f.mantissa + f.exponent) & 1;
    bool top = exponent == (1u << f.exponent) - 1;
    double v;
    if (top && f.infinite)
        v = mantissa ? NAN : INFINITY;
    else if (top && mantissa == (1u << f.mantissa) - 1)
        v = NAN;
    else if (exponent)
        v = ldexp(1 + (double)mantissa / (1 << f.mantissa), (int)exponent - bias);
    else
        v = ldexp((double)mantissa / (1 << f.mantissa), 1 - bias);
    return negative ? -v : v;
}

/* Codes of one sign are in the order of their values: search the two neighbours. */
uint32_t ref_round(double value, ref_format f, ref_mode mode, bool saturate) {
    uint32_t sign = signbit(value) ? 1u << (f.exponent + f.mantissa) : 0;
    uint32_t infinity = ((1u << f.exponent) - 1) << f.mantissa;
    uint32_t largest = f.infinite ? infinity - 1 : (1u << (f.exponent + f.mantissa)) - 2;
    if (isnan(value))
        return (1u << (f.exponent + f.mantissa)) - 1;
    double magnitude = fabs(value), top = ref_value(largest, f);
    if (isinf(value))
        return sign | (f.infinite && !saturate ? infinity : largest);
    uint32_t low = 0, high = largest;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (ref_value(middle, f) <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    double below = ref_value(low, f);
    if (below == magnitude)
        return sign | low;
    double above = low == largest ? top + (top - ref_value(largest - 1, f)) : ref_value(low + 1, f);
    double half = below + (above - below) / 2;
    bool up = false;
    if (mode == REF_RN)
        up = magnitude > half || (magnitude == half && (low & 1));
    else if (mode == REF_RNA)
        up = magnitude >= half;
    else if (mode == REF_RP)
        up = !sign;
    else if (mode == REF_RM)
        up = sign != 0;
    if (low == largest && up)
        return sign | (f.infinite && !saturate ? infinity : largest);
    return sign | (low + up);
}

uint32_t ref_fma_small(uint32_t a, uint32_t b, uint32_t c, ref_format f) {
    long double p = (long double)ref_value(a, f) * (long double)ref_value(b, f);
    long double z = (long double)ref_value(c, f);
    if (isfinite(p) && isfinite(z) && p != 0 && z != 0) {
        /* the smaller one must not vanish: it decides ties. 64 bits hold a product and a sticky bit
         */
        if (fabsl(z) < ldexpl(fabsl(p), -40))
            z = copysignl(ldexpl(fabsl(p), -40), z);
        else if (fabsl(p) < ldexpl(fabsl(z), -40))
            p = copysignl(ldexpl(fabsl(z), -40), p);
    }
    long double s = p + z;
    /* to double with the last bit odd where something is lost */
    double d = (double)s;
    if (isfinite(d) && (long double)d != s) {
        uint64_t u;
        int saved = fegetround();
        fesetround(FE_TOWARDZERO);
        volatile long double v = s;
        d = (double)v;
        fesetround(saved);
        memcpy(&u, &d, 8);
        u |= 1;
        memcpy(&d, &u, 8);
    }
    return ref_round(d, f, REF_RN, false);
}

static int host_mode(ref_mode mode) {
    return mode == REF_RZ   ? FE_TOWARDZERO
           : mode == REF_RM ? FE_DOWNWARD
           : mode == REF_RP ? FE_UPWARD
                            : FE_TONEAREST;
}

float ref_f32(ref_op op, float x, float y, float z, ref_mode mode) {
    volatile float a = x, b = y, c = z, r = 0;
    fesetround(host_mode(mode));
    switch (op) {
    case REF_ADD:
        r = a + b;
        break;
    case REF_SUB:
        r = a - b;
        break;
    case REF_MUL:
        r = a * b;
        break;
    case REF_DIV:
        r = a / b;
        break;
    case REF_FMA:
        r = fmaf(a, b, c);
        break;
    case REF_SQRT:
        r = sqrtf(a);
        break;
    case REF_NARROW:
    case REF_FROM_S:
    case REF_FROM_U:
        break;
    }
    fesetround(FE_TONEAREST);
    return r;
}

static float flush(float f) {
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

float ref_f32_flushed(ref_op op, float a, float b, float c, ref_mode mode) {
    return flush(ref_f32(op, flush(a), flush(b), flush(c), mode));
}

double ref_f64(ref_op op, double x, double y, double z, ref_mode mode) {
    volatile double a = x, b = y, c = z, r = 0;
    fesetround(host_mode(mode));
    switch (op) {
    case REF_ADD:
        r = a + b;
        break;
    case REF_SUB:
        r = a - b;
        break;
    case REF_MUL:
        r = a * b;
        break;
    case REF_DIV:
        r = a / b;
        break;
    case REF_FMA:
        r = fma(a, b, c);
        break;
    case REF_SQRT:
        r = sqrt(a);
        break;
    case REF_NARROW:
    case REF_FROM_S:
    case REF_FROM_U:
        break;
    }
    fesetround(FE_TONEAREST);
    return r;
}

float ref_narrow(double x, ref_mode mode) {
    volatile double a = x;
    fesetround(host_mode(mode));
    volatile float r = (float)a;
    fesetround(FE_TONEAREST);
    return r;
}

float ref_f32_of_integer(uint64_t bits, bool is_signed, ref_mode mode) {
    volatile uint64_t u = bits;
    fesetround(host_mode(mode));
    volatile float r = is_signed ? (float)(int64_t)u : (float)u;
    fesetround(FE_TONEAREST);
    return r;
}

double ref_f64_of_integer(uint64_t bits, bool is_signed, ref_mode mode) {
    volatile uint64_t u = bits;
    fesetround(host_mode(mode));
    volatile double r = is_signed ? (double)(int64_t)u : (double)u;
    fesetround(FE_TONEAREST);
    return r;
}

double ref_whole(double v, ref_mode mode) {
    if (mode == REF_RZ)
        return trunc(v);
    if (mode == REF_RM)
        return floor(v);
    if (mode == REF_RP)
        return ceil(v);
    double low = floor(v), rest = v - low;
    if (!isfinite(v) || rest == 0)
        return v;
    double r = rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0) ? low + 1 : low;
    return copysign(r, v);
}

uint64_t ref_to_integer(double v, int width, bool is_signed, ref_mode mode, bool wide_source) {
    uint64_t ones = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (isnan(v))
        return wide_source || width == 64 ? UINT64_C(1) << (width - 1) : 0;
    long double whole = ref_whole(v, mode);
    long double low = is_signed ? -ldexpl(1, width - 1) : 0;
    long double high = ldexpl(1, is_signed ? width - 1 : width) - 1;
    if (whole < low)
        whole = low;
    if (whole > high)
        whole = high;
    return (whole < 0 ? 0 - (uint64_t)(-whole) : (uint64_t)whole) & ones;
}

float ref_min(float a, float b, bool nan) {
    if (isnan(a) || isnan(b))
        return nan || (isnan(a) && isnan(b)) ? NAN : isnan(a) ? b : a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

float ref_max(float a, float b, bool nan) {
    return -ref_min(-a, -b, nan);
}

double ref_min64(double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

double ref_max64(double a, double b) {
    return -ref_min64(-a, -b);
}

/* ---- bit by bit -------------------------------------------------------------------------------
 */

static int bit(uint64_t a, int i) {
    return (int)(a >> i & 1);
}

uint64_t ref_bfe(uint64_t a, uint32_t b, uint32_t c, int width, bool is_signed) {
    int pos = b & 0xff, len = c & 0xff, msb = width - 1;
    int last = pos + len - 1 < msb ? pos + len - 1 : msb;
    int sign = !is_signed || len == 0 ? 0 : bit(a, last);
    uint64_t d = 0;
    for (int i = 0; i <= msb; i++) {
        int v = i < len && pos + i <= msb ? bit(a, pos + i) : sign;
        d |= (uint64_t)v << i;
    }
    return d;
}

uint64_t ref_bfi(uint64_t a, uint64_t b, uint32_t c, uint32_t d, int width) {
    int pos = c & 0xff, len = d & 0xff;
    uint64_t f = b;
    for (int i = 0; i < len && pos + i < width; i++) {
        f &= ~(UINT64_C(1) << (pos + i));
        f |= (uint64_t)bit(a, i) << (pos + i);
    }
    return f;
}

uint32_t ref_bfind(uint64_t a, int width, bool is_signed, bool amount) {
    int sign = is_signed ? bit(a, width - 1) : 0;
    for (int i = width - 1; i >= 0; i--)
        if (bit(a, i) != sign)
            return (uint32_t)(amount ? width - 1 - i : i);
    return UINT32_MAX;
}

uint64_t ref_reverse(uint64_t a, int width) {
    uint64_t r = 0;
    for (int i = 0; i < width; i++)
        r |= (uint64_t)bit(a, i) << (width - 1 - i);
    return r;
}

uint32_t ref_count_ones(uint64_t a, int width) {
    uint32_t n = 0;
    for (int i = 0; i < width; i++)
        n += (uint32_t)bit(a, i);
    return n;
}

uint32_t ref_leading_zeros(uint64_t a, int width) {
    uint32_t n = 0;
    for (int i = width - 1; i >= 0 && !bit(a, i); i--)
        n++;
    return n;
}

static uint32_t byte_at(uint32_t a, uint32_t b, uint32_t i) {
    return i < 4 ? a >> (8 * i) & 0xff : b >> (8 * (i - 4)) & 0xff;
}

uint32_t ref_prmt(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t select = c >> (4 * i) & 0xf, byte = byte_at(a, b, select & 7);
        if (select & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}

uint32_t ref_prmt_mode(uint32_t a, uint32_t b, uint32_t c, const char *mode) {
    /* the table of the PTX document: bytes d.b3 d.b2 d.b1 d.b0 for c[1:0] = 0, 1, 2, 3 */
    static const struct {
        const char *mode;
        const char *row[4];
    } table[] = {
        {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
        {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
        {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
    for (int t = 0; t < 6; t++) {
        if (strcmp(table[t].mode, mode))
            continue;
        uint32_t r = 0;
        for (uint32_t i = 0; i < 4; i++)
            r |= byte_at(a, b, (uint32_t)(table[t].row[c & 3][3 - i] - '0')) << (8 * i);
        return r;
    }
    return 0;
}

uint32_t ref_lop3(uint32_t a, uint32_t b, uint32_t c, int table) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (uint32_t)(table >> (bit(a, i) * 4 + bit(b, i) * 2 + bit(c, i)) & 1) << i;
    return r;
}

static int64_t extended(uint32_t value, int bits, bool is_signed) {
    return is_signed && value >> (bits - 1) & 1 ? (int64_t)value - ((int64_t)1 << bits) : value;
}

/* dp4a: FIRST 0, STEP 8; dp2a.lo and .hi: STEP 16, FIRST 0 or 2. */
uint32_t ref_dot(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b, int first,
                 int step) {
    int64_t sum = c;
    for (int i = 0; i < 32 / step; i++) {
        uint32_t x = step == 8 ? a >> (8 * i) & 0xff : a >> (16 * i) & 0xffff;
        sum += extended(x, step, signed_a) * extended(b >> (8 * (first + i)) & 0xff, 8, signed_b);
    }
    return (uint32_t)sum;
}

uint32_t ref_fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31)
        return UINT32_MAX; /* not defined by the document; the machine says none */
    if (offset == 0)
        return bit(mask, (int)base) ? base : UINT32_MAX;
    int64_t pos = base, count = offset < 0 ? -(int64_t)offset - 1 : (int64_t)offset - 1;
    int64_t step = offset < 0 ? -1 : 1, found = UINT32_MAX;
    for (int64_t i = 0; pos + i * step >= 0 && pos + i * step < 32; i++) {
        if (!bit(mask, (int)(pos + i * step)))
            continue;
        if (count-- == 0) {
            found = pos + i * step;
            break;
        }
    }
    return (uint32_t)found;
}
