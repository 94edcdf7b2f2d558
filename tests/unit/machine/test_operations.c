/* SPDX-License-Identifier: Apache-2.0
 *
 * Every arithmetic, logic, conversion and comparison instruction with every type (cases.def), over
 * edge values, all pairs of them, and random ones, against the reference. One kernel per case, one
 * thread per combination; some lanes of each warp are off, and must keep their registers. */
#include "bench_device.h"
#include "emulator/machine/handlers.h"
#include "reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMBINATIONS = 2048, SOURCES = 4, UNTOUCHED = 0x5a5a };

/* ---- helpers of the expressions -----------------------------------------------------------------
 */

static uint64_t f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t f64_bits(double f) {
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float to_f32(uint64_t bits) {
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static double to_f64(uint64_t bits) {
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint64_t clamp_s32(int64_t v) {
    return (uint64_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static int64_t low24(uint32_t v, bool is_signed) {
    int64_t r = v & 0xffffff;
    return is_signed && r & 0x800000 ? r - 0x1000000 : r;
}

static float saturated(float f) {
    return !(f > 0) ? 0 : f > 1 ? 1 : f;
}

static float flushed(float f) {
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

static float relu(float f) {
    return isnan(f) || f > 0 ? f : 0;
}

static uint32_t half_flushed(uint32_t h) {
    return fpclassify((float)ref_value(h & 0xffff, ref_half)) == FP_ZERO ||
                   fabs(ref_value(h & 0xffff, ref_half)) < 0x1p-14
               ? h & 0x8000
               : h & 0xffff;
}

static bool ordered_differ(uint32_t a, uint32_t b) {
    double x = ref_value(a, ref_half), y = ref_value(b, ref_half);
    return !isnan(x) && !isnan(y) && x != y;
}

static uint64_t float2(float low, float high) {
    return f32_bits(high) << 32 | f32_bits(low);
}

static int32_t relu_integer(int32_t a) {
    return a < 0 ? 0 : a;
}

static uint32_t pair(uint32_t low, uint32_t high) {
    return high << 16 | low;
}

static uint32_t half2(double low, double high) {
    return pair(ref_round(low, ref_half, REF_RN, false), ref_round(high, ref_half, REF_RN, false));
}

static uint32_t small_add(uint32_t a, uint32_t b, ref_format f) {
    return ref_fma_small(a, ref_round(1, f, REF_RN, false), b, f);
}

static uint32_t small_sub(uint32_t a, uint32_t b, ref_format f) {
    return small_add(a, b ^ 0x8000, f);
}

static uint32_t small_mul(uint32_t a, uint32_t b, ref_format f) {
    return ref_round(ref_value(a, f) * ref_value(b, f), f, REF_RN, false);
}

static uint32_t small_saturated(uint32_t a, ref_format f) {
    return ref_round(saturated((float)ref_value(a, f)), f, REF_RN, false);
}

static uint32_t small_relu(uint32_t a, ref_format f) {
    return ref_round(relu((float)ref_value(a, f)), f, REF_RN, false);
}

static uint64_t xorsigned(float r, uint32_t a, uint32_t b) {
    return isnan(r) ? f32_bits(r) : f32_bits(copysignf(r, to_f32((a ^ b) & 0x80000000u)));
}

static uint64_t ref_round_integer(uint64_t bits, bool is_signed, ref_format f, ref_mode mode) {
    bool negative = is_signed && (int64_t)bits < 0;
    uint64_t magnitude = negative ? 0 - bits : bits, mask = 0;
    /* beyond 53 bits only whether anything is lost matters */
    if (magnitude >> 53) {
        mask = (UINT64_C(1) << 12) - 1;
        if (magnitude & mask)
            magnitude = (magnitude & ~mask) | UINT64_C(1) << 12;
    }
    return ref_round(negative ? -(double)magnitude : (double)magnitude, f, mode, false);
}

/* Cut to WIDTH bits, then extended into a register of REGISTER bits. */
static uint64_t resized(uint64_t v, int width, bool is_signed, int register_bits) {
    uint64_t ones = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    uint64_t all = register_bits == 64 ? UINT64_MAX : (UINT64_C(1) << register_bits) - 1;
    v &= ones;
    if (is_signed && v >> (width - 1) & 1)
        v |= ~ones;
    return v & all;
}

static uint64_t ref_extended(double v, int width, bool is_signed, ref_mode mode, bool wide,
                             int bits) {
    return resized(ref_to_integer(v, width, is_signed, mode, wide), width, is_signed, bits);
}

static uint64_t clamped_wide(__int128 v, int width, bool is_signed) {
    __int128 low = is_signed ? -((__int128)1 << (width - 1)) : 0;
    __int128 high = ((__int128)1 << (is_signed ? width - 1 : width)) - 1;
    return (uint64_t)(v < low ? low : v > high ? high : v);
}
#define clamped(v, width, is_signed) clamped_wide((__int128)(v), width, is_signed)

static uint32_t ref_absdiff4(uint32_t a, uint32_t b, bool is_signed) {
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        int x = is_signed ? (int8_t)(a >> (8 * i)) : (int)(a >> (8 * i) & 0xff);
        int y = is_signed ? (int8_t)(b >> (8 * i)) : (int)(b >> (8 * i) & 0xff);
        sum += (uint32_t)abs(x - y);
    }
    return sum;
}

/* ---- the table ----------------------------------------------------------------------------------
 */

typedef struct test_case {
    const char *instruction, *registers;
    uint64_t (*expected)(uint64_t a, uint64_t b, uint64_t c, uint64_t e);
    int tolerance;
} test_case;

#define NAME_(line) expected_##line
#define NAME(line)  NAME_(line)
#define CASE(text, registers, expression, tolerance)                                               \
    static uint64_t NAME(__LINE__)(uint64_t a, uint64_t b, uint64_t c, uint64_t e) {               \
        const uint32_t ua = (uint32_t)a, ub = (uint32_t)b, uc = (uint32_t)c, ue = (uint32_t)e;     \
        const int32_t sa = (int32_t)a, sb = (int32_t)b, sc = (int32_t)c;                           \
        const int64_t la = (int64_t)a, lb = (int64_t)b, lc = (int64_t)c;                           \
        const int16_t ha = (int16_t)a, hb = (int16_t)b, hc = (int16_t)c;                           \
        const uint16_t ka = (uint16_t)a, kb = (uint16_t)b, kc = (uint16_t)c;                       \
        const float fa = to_f32(a), fb = to_f32(b), fc = to_f32(c);                                \
        const double da = to_f64(a), db = to_f64(b), dc = to_f64(c);                               \
        (void)ua, (void)ub, (void)uc, (void)ue, (void)sa, (void)sb, (void)sc, (void)la, (void)lb;  \
        (void)lc, (void)ha, (void)hb, (void)hc, (void)ka, (void)kb, (void)kc, (void)fa, (void)fb;  \
        (void)fc, (void)da, (void)db, (void)dc;                                                    \
        return (uint64_t)(expression);                                                             \
    }
#include "cases.def"
#undef CASE

static const test_case cases[] = {
#define CASE(text, registers, expression, tolerance) {text, registers, NAME(__LINE__), tolerance},
#include "cases.def"
#undef CASE
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- values -------------------------------------------------------------------------------------
 */

static const uint64_t edge_integers[] = {0,
                                         1,
                                         2,
                                         3,
                                         7,
                                         8,
                                         15,
                                         16,
                                         17,
                                         31,
                                         32,
                                         33,
                                         63,
                                         64,
                                         65,
                                         127,
                                         128,
                                         255,
                                         256,
                                         0x7fff,
                                         0x8000,
                                         0x8001,
                                         0xffff,
                                         0x10000,
                                         0x7fffff,
                                         0x800000,
                                         0xffffff,
                                         0x7fffffff,
                                         0x80000000,
                                         0x80000001,
                                         0xffffffff,
                                         0x100000000,
                                         0x5555555555555555,
                                         0xaaaaaaaaaaaaaaaa,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0x8000000000000001,
                                         0xfffffffffffffffe,
                                         0xffffffffffffffff,
                                         0xfffffffffffffff0};

static const uint64_t edge_floats[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
    0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3fc00000,
    0x40200000, 0xbf000000, 0xc0200000, 0x4b000000, 0x4b800001, 0x4f000000, 0xcf000000, 0x4f7fffff,
    0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000, 0x477ff000, 0x38800000, 0x33000000,
    0x3f7fffff, 0x43e00000, 0x437f0000, 0xc3000000};

static const uint64_t edge_doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
    0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
    0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0xc004000000000000,
    0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
    0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
    0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000,
    0x3810000000000000, 0x380fffffc0000000, 0x4330000000000001, 0x40effc0000000000};

static const uint64_t edge_halves[] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff,
    0x3800, 0x3e00, 0x3f80, 0x7f80, 0x7fc0, 0x0080, 0x007f, 0x7f7f, 0x3f81, 0xbf80, 0x4200, 0x5bff};

static uint64_t state = 0x9e3779b97f4a7c15;
static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#define PICK(list, i) (list)[(i) % (sizeof(list) / sizeof *(list))]

/* Value number I for source S of a register kind: the first combinations are all pairs of edges. */
static uint64_t value(char kind, int i, int s) {
    size_t n = kind == 'f'   ? sizeof edge_floats / sizeof *edge_floats
               : kind == 'F' ? sizeof edge_doubles / sizeof *edge_doubles
               : kind == 'h' ? sizeof edge_halves / sizeof *edge_halves
                             : sizeof edge_integers / sizeof *edge_integers;
    size_t pick = s == 0 ? (size_t)i % n : s == 1 ? (size_t)i / n % n : random_bits() % n;
    bool edge = (size_t)i < n * n || random_bits() % 4 == 0;
    uint64_t wild = random_bits();
    if (kind == 'f' && !edge) /* exponents near one another, so that sums are no trivial matter */
        return i % 2 ? (uint32_t)wild
                     : (wild & 0x807fffff) | (uint64_t)(0x3b800000 + (wild >> 40) % 16 * 0x800000);
    if (kind == 'F' && !edge)
        return i % 2 ? wild
                     : (wild & 0x800fffffffffffff) | (UINT64_C(0x3fa) + (wild >> 56) % 16) << 52;
    if (kind == 'f')
        return edge_floats[pick];
    if (kind == 'F')
        return edge_doubles[pick];
    if (!edge)
        return i % 3 ? wild : wild % 64;
    if (kind == 'h' && i % 2)
        return edge_halves[pick];
    if (kind == 'r' && i % 4 == 3)
        return PICK(edge_halves, pick) | PICK(edge_halves, (size_t)(wild % 64)) << 16;
    return edge_integers[pick % (sizeof edge_integers / sizeof *edge_integers)];
}

/* ---- kernels ------------------------------------------------------------------------------------
 */

static const char *type_of(char kind) {
    switch (kind) {
    case 'h':
        return "b16";
    case 'r':
        return "b32";
    case 'd':
        return "b64";
    case 'f':
        return "f32";
    case 'F':
        return "f64";
    default:
        return "pred";
    }
}

/* The kernel of case NUMBER: loads, one instruction for two lanes of three, store. */
static size_t write_kernel(char *out, size_t size, int number) {
    const test_case *t = &cases[number];
    const char *sources = t->registers + 2, *immediate = strchr(sources, '|');
    size_t n = immediate ? (size_t)(immediate - sources) : strlen(sources);
    char result = t->registers[0], body[1024] = "", operands[256] = "";
    size_t b = 0, o = 0;
    for (size_t i = 0; i < n; i++) {
        char kind = sources[i];
        b += (size_t)snprintf(body + b, sizeof body - b,
                              kind == 'P' ? "ld.global.b32 %%w, [%%rd2+%zu]; and.b32 %%w, %%w, 1;"
                                            " setp.ne.b32 %%s%zu, %%w, 0;\n"
                                          : "ld.global.%3$s %%s%2$zu, [%%rd2+%1$zu];\n",
                              i * 8, i, type_of(kind));
        o += (size_t)snprintf(operands + o, sizeof operands - o, ", %%s%zu", i);
    }
    if (immediate)
        snprintf(operands + o, sizeof operands - o, ", %s", immediate + 1);
    size_t at = 0;
    at += (size_t)snprintf(out + at, size - at,
                           ".visible .entry k%d(.param .u64 in, .param .u64 out)\n{\n"
                           ".reg .b32 %%w, %%i, %%t, %%n; .reg .b64 %%rd<5>; .reg .pred %%on;\n"
                           ".reg .%s %%d;\n",
                           number, type_of(result));
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, ".reg .%s %%s%zu;\n", type_of(sources[i]), i);
    at += (size_t)snprintf(
        out + at, size - at,
        "ld.param.u64 %%rd0, [in]; ld.param.u64 %%rd1, [out];\n"
        "mov.u32 %%t, %%tid.x; mov.u32 %%n, %%ctaid.x; mad.lo.u32 %%i, %%n, 256, %%t;\n"
        "mad.wide.u32 %%rd2, %%i, %d, %%rd0; mad.wide.u32 %%rd3, %%i, 8, %%rd1;\n"
        "rem.u32 %%w, %%i, 3; setp.ne.u32 %%on, %%w, 2;\n%s",
        SOURCES * 8, body);
    if (result == 'p')
        at += (size_t)snprintf(out + at, size - at,
                               "setp.ne.u32 %%d, %%i, %%i;\n@%%on %s %%d%s;\n"
                               "selp.u32 %%w, 1, 0, %%d; st.global.u32 [%%rd3], %%w;\n",
                               t->instruction, operands);
    else
        at += (size_t)snprintf(
            out + at, size - at,
            "mov.%1$s %%d, %4$s;\n@%%on %2$s %%d%3$s;\nst.global.%1$s [%%rd3], %%d;\n",
            type_of(result), t->instruction, operands,
            result == 'f'   ? "0f00005a5a"
            : result == 'F' ? "0d0000000000005a5a"
                            : "23130");
    at += (size_t)snprintf(out + at, size - at, "ret;\n}\n");
    return at;
}

static bool is_nan_of(char kind, const test_case *t, uint64_t v) {
    if (kind == 'f')
        return isnan(to_f32(v));
    if (kind == 'F')
        return isnan(to_f64(v));
    (void)t;
    return false;
}

static bool same_float(uint32_t a, uint32_t b) {
    return a == b || (isnan(to_f32(a)) && isnan(to_f32(b)));
}

static bool close_enough(const test_case *t, char kind, uint64_t got, uint64_t want) {
    if (got == want || (is_nan_of(kind, t, got) && is_nan_of(kind, t, want)))
        return true;
    if (strstr(t->instruction, "f32x2")) /* each half for itself */
        return same_float((uint32_t)got, (uint32_t)want) &&
               same_float((uint32_t)(got >> 32), (uint32_t)(want >> 32));
    if (!t->tolerance || is_nan_of(kind, t, got))
        return t->tolerance < 0 && is_nan_of(kind, t, want); /* outside of the stated domain */
    double g = kind == 'f' ? (double)to_f32(got) : to_f64(got);
    double w = kind == 'f' ? (double)to_f32(want) : to_f64(want);
    if (is_nan_of(kind, t, want))
        return t->tolerance < 0;
    if (isinf(w) || isinf(g))
        return false;
    double allowed = t->tolerance > 0 ? ldexp(fabs(w), -t->tolerance) : ldexp(1, t->tolerance);
    return fabs(g - w) <= allowed || fabs(w) < 0x1p-126;
}

static uint64_t result_mask(char kind) {
    return kind == 'h' ? 0xffff : kind == 'r' || kind == 'f' ? UINT32_MAX : UINT64_MAX;
}

static int check_case(const test_case *t, const uint64_t *in, const uint64_t *out) {
    char kind = t->registers[0];
    for (int i = 0; i < COMBINATIONS; i++) {
        const uint64_t *s = in + i * SOURCES;
        bool on = i % 3 != 2;
        uint64_t want = on ? t->expected(s[0], s[1], s[2], s[3]) : kind == 'p' ? 0 : UNTOUCHED;
        want &= result_mask(kind);
        if (close_enough(t, kind, out[i], want))
            continue;
        print_error("%s: sources %016llx %016llx %016llx %016llx: got %llx, expected %llx%s\n",
                    t->instruction, (unsigned long long)s[0], (unsigned long long)s[1],
                    (unsigned long long)s[2], (unsigned long long)s[3], (unsigned long long)out[i],
                    (unsigned long long)want, on ? "" : " (lane was off)");
        return 1;
    }
    return 0;
}

static void check_all(emu_device *device) {
    size_t capacity = (size_t)CASES * 2048, length = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    length = (size_t)snprintf(text, capacity, ".version 8.6\n.target sm_90a\n.address_size 64\n");
    for (int i = 0; i < CASES; i++)
        length += write_kernel(text + length, capacity - length, i);
    assert_true(length < capacity);
    emu_module *module = bench_load(device, text);
    uint64_t in = bench_allocate(device, COMBINATIONS * SOURCES * 8);
    uint64_t out = bench_allocate(device, COMBINATIONS * 8);
    uint64_t *values = (uint64_t *)(uintptr_t)in, *results = (uint64_t *)(uintptr_t)out;
    int failures = 0;
    for (int k = 0; k < CASES; k++) {
        char name[16];
        const char *sources = cases[k].registers + 2;
        size_t n = strcspn(sources, "|");
        for (int i = 0; i < COMBINATIONS; i++)
            for (size_t s = 0; s < SOURCES; s++)
                values[i * SOURCES + (int)s] = s < n ? value(sources[s], i, (int)s) : 0;
        memset(results, 0, COMBINATIONS * 8);
        snprintf(name, sizeof name, "k%d", k);
        const void *parameters[] = {&in, &out, NULL};
        emu_fault fault = {0};
        if (bench_try(device, module, name, (bench_shape){COMBINATIONS / 256, 256, 0, false},
                      parameters, NULL, &fault)) {
            print_error("%s: %s\n", cases[k].instruction, fault.message);
            failures++;
            continue;
        }
        failures += check_case(&cases[k], values, results);
    }
    assert_int_equal(failures, 0);
    emu_module_unload(module);
    emu_device_destroy(device);
    free(text);
}

/* With the best handlers that this host can run, and with those that any host can. */
static void test_best(void **unused) {
    (void)unused;
    check_all(bench_device(1, false));
}

static void test_base(void **unused) {
    (void)unused;
    emu_device *device = bench_device(1, false);
    device->handlers = emu_handlers_base;
    device->run_warp = emu_run_warp_base;
    check_all(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_best), cmocka_unit_test(test_base)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
