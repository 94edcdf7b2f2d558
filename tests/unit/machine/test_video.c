/* SPDX-License-Identifier: Apache-2.0
 *
 * The video instructions with all types, selectors, masks and secondary operations, over random
 * values and edges, against a reference that reads the same PTX text by the formulas of the PTX ISA
 * document. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 256, MOST = 6000, TEXT = 200 };

typedef struct video_case { /* one instruction, as text and in pieces */
    char text[TEXT];
    const char *op, *second, *mode;
    int elements;
    bool types[3]; /* d, a, b: signed */
    bool saturate;
    const char *select[3]; /* after d, a, b; "" */
    bool minus[3];         /* a, b, c: vmad */
} video_case;

static video_case *cases;
static int case_count;

/* ---- the reference ------------------------------------------------------------------------------
 */

static long long field(uint64_t value, int low, int width, bool is_signed) {
    long long f = (long long)((value >> low) & ((1ull << width) - 1));
    return is_signed && f >= 1ll << (width - 1) ? f - (1ll << width) : f;
}

static __int128 limited(__int128 v, int width, bool is_signed) {
    __int128 most = ((__int128)1 << (is_signed ? width - 1 : width)) - 1;
    __int128 least = is_signed ? -most - 1 : 0;
    return v > most ? most : v < least ? least : v;
}

static void part(const char *select, int *low, int *width) {
    *low = 0;
    *width = 32;
    if (!*select)
        return;
    *width = select[1] == 'b' ? 8 : 16;
    *low = (select[2] - '0') * *width;
}

static bool holds(const char *mode, long long a, long long b) {
    switch (mode[1] << 8 | mode[2]) {
    case 'e' << 8 | 'q':
        return a == b;
    case 'n' << 8 | 'e':
        return a != b;
    case 'l' << 8 | 't':
        return a < b;
    case 'l' << 8 | 'e':
        return a <= b;
    case 'g' << 8 | 't':
        return a > b;
    default:
        return a >= b;
    }
}

static __int128 primary(const video_case *c, long long a, long long b) {
    if (strcmp(c->op, "vadd") == 0)
        return a + b;
    if (strcmp(c->op, "vsub") == 0)
        return a - b;
    if (strcmp(c->op, "vabsdiff") == 0)
        return a > b ? a - b : b - a;
    if (strcmp(c->op, "vmin") == 0)
        return a > b ? b : a;
    if (strcmp(c->op, "vmax") == 0)
        return a > b ? a : b;
    if (strcmp(c->op, "vset") == 0)
        return holds(c->mode, a, b);
    if (strcmp(c->op, "vavrg") == 0) {
        long long sum = a + b;
        return sum >= 0 ? (sum + 1) / 2 : sum / 2 - (sum % 2 != 0);
    }
    long long by = strcmp(c->mode, ".wrap") == 0 ? b % 32 : b > 32 ? 32 : b;
    __int128 power = (__int128)1 << by;
    if (strcmp(c->op, "vshl") == 0)
        return (__int128)a * power;
    return a >= 0 ? (__int128)a / power : -((-(__int128)a + power - 1) / power);
}

static uint32_t multiply_add(const video_case *c, long long a, long long b, uint32_t addend) {
    bool is_signed = c->types[1] || c->types[2] || c->minus[0] != c->minus[1] || c->minus[2];
    __int128 third = is_signed ? (__int128)(int32_t)addend : (__int128)addend;
    __int128 product = (__int128)a * b, sum;
    if (strstr(c->mode, ".po"))
        sum = product + third + 1;
    else if (c->minus[0] != c->minus[1])
        sum = third - product;
    else if (c->minus[2]) /* the complement is what is extended */
        sum = product + (int32_t)~addend + 1;
    else
        sum = product + third;
    int shift = strstr(c->mode, ".shr15") ? 15 : strstr(c->mode, ".shr7") ? 7 : 0;
    sum >>= shift;
    return (uint32_t)(c->saturate ? limited(sum, 32, is_signed) : sum);
}

static uint32_t scalar(const video_case *c, uint32_t a, uint32_t b, uint32_t third) {
    int low, width;
    part(c->select[1], &low, &width);
    long long x = field(a, low, width, c->types[1]);
    part(c->select[2], &low, &width);
    long long y = field(b, low, width, c->types[2]);
    if (strcmp(c->op, "vmad") == 0)
        return multiply_add(c, x, y, third);
    part(c->select[0], &low, &width);
    __int128 r = primary(c, x, y);
    if (c->saturate)
        r = limited(r, width, c->types[0]);
    __int128 other = c->types[0] ? (__int128)(int32_t)third : (__int128)third;
    /* an intermediate result has 33 bits */
    __int128 first = r & (((__int128)1 << 33) - 1);
    if (first >> 32)
        first -= (__int128)1 << 33;
    if (strcmp(c->second, ".add") == 0)
        return (uint32_t)(first + other);
    if (strcmp(c->second, ".min") == 0)
        return (uint32_t)(first < other ? first : other);
    if (strcmp(c->second, ".max") == 0)
        return (uint32_t)(first > other ? first : other);
    if (width == 32)
        return (uint32_t)r;
    uint64_t hole = ((1ull << width) - 1) << low;
    return (uint32_t)((third & ~hole) | (((uint64_t)r << low) & hole));
}

static uint32_t simd(const video_case *c, uint32_t a, uint32_t b, uint32_t third) {
    const int n = c->elements, width = 32 / n;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t accumulated = third, merged = 0;
    for (int i = 0; i < n; i++) {
        int from_a = *c->select[1] ? c->select[1][1 + n - i] - '0' : i;
        int from_b = *c->select[2] ? c->select[2][1 + n - i] - '0' : n + i;
        __int128 r = primary(c, field(both, from_a * width, width, c->types[1]),
                             field(both, from_b * width, width, c->types[2]));
        if (c->saturate)
            r = limited(r, width, c->types[0]);
        bool on = !*c->select[0] || strchr(c->select[0] + 2, '0' + i) != NULL;
        accumulated += on ? (uint32_t)r : 0;
        uint64_t element = on ? (uint64_t)r : third >> (i * width);
        merged |= (uint32_t)((element & ((1ull << width) - 1)) << (i * width));
    }
    return strcmp(c->second, ".add") == 0 ? accumulated : merged;
}

/* ---- the cases ----------------------------------------------------------------------------------
 */

static void add_case(video_case c) {
    assert_true(case_count < MOST);
    const bool set = strcmp(c.op, "vset") == 0;
    const bool third = c.elements > 1 || *c.second || *c.select[0] || strcmp(c.op, "vmad") == 0;
    char type[3][8], number[2] = {c.elements > 1 ? (char)('0' + c.elements) : 0, 0};
    for (int i = 0; i < 3; i++)
        snprintf(type[i], sizeof type[i], ".%c32", c.types[i] ? 's' : 'u');
    /* vmad has .po before .sat and the scale after it; comparisons stand before a second operation
     */
    const bool po = strncmp(c.mode, ".po", 3) == 0;
    snprintf(c.text, sizeof c.text, "%s%s%s%s%s%s%s%s%s %%d%s, %s%%a%s, %s%%b%s%s%s", c.op, number,
             set ? "" : type[0], type[1], type[2], po ? ".po" : "", c.saturate ? ".sat" : "",
             po ? c.mode + 3 : c.mode, c.second, c.select[0], c.minus[0] ? "-" : "", c.select[1],
             c.minus[1] ? "-" : "", c.select[2], third ? c.minus[2] ? ", -" : ", " : "",
             third ? "%c" : "");
    cases[case_count++] = c;
}

static void make_cases(void) {
    static const char *const plain[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
    static const char *const seconds[] = {"", ".add", ".min", ".max"};
    static const char *const parts[] = {"", ".b0", ".b3", ".h1", ".h0", ".b2"};
    static const char *const compares[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};
    static const char *const scales[] = {"", ".shr7", ".shr15", ".po", ".po.shr7"};
    static const char *const two[] = {"", ".h02", ".h31", ".h11"};
    static const char *const four[] = {"", ".b7654", ".b0123", ".b2517"};
    static const char *const masks2[] = {"", ".h0", ".h1", ".h10"};
    static const char *const masks4[] = {"", ".b2", ".b31", ".b3210"};
    for (int bits = 0; bits < 16; bits++) { /* types and saturation */
        video_case c = {.types = {bits & 1, bits & 2, bits & 4},
                        .saturate = bits & 8,
                        .select = {"", "", ""},
                        .second = "",
                        .mode = "",
                        .elements = 1};
        for (int i = 0; i < 5; i++)
            for (int s = 0; s < 6; s++) {
                video_case k = c;
                k.op = plain[i];
                k.select[1] = parts[s];
                k.select[2] = parts[(s + i) % 6];
                if (s < 4)
                    k.second = seconds[s];
                else
                    k.select[0] = parts[1 + (s + i) % 5];
                add_case(k);
            }
        for (int i = 0; i < 4 && !(bits & 4); i++) /* shift amounts are unsigned */
            for (int s = 0; s < 6; s++) {
                video_case k = c;
                k.op = i & 1 ? "vshl" : "vshr";
                k.mode = i & 2 ? ".wrap" : ".clamp";
                k.select[1] = parts[s];
                k.select[2] = parts[s + i < 6 ? s + i : 0];
                if (s < 3)
                    k.second = seconds[s];
                else
                    k.select[0] = parts[s];
                add_case(k);
            }
        for (int i = 0; i < 5; i++)
            for (int m = 0; m < 4; m++) {
                video_case k = c;
                k.op = "vmad";
                k.mode = scales[i];
                k.select[1] = parts[m];
                k.select[2] = parts[(m + i) % 6];
                if (m && i < 3)
                    k.minus[m - 1] = true;
                add_case(k);
            }
        for (int i = 0; i < 6 && !(bits & 9); i++)
            for (int s = 0; s < 5; s++) {
                video_case k = c;
                k.op = "vset";
                k.mode = compares[i];
                k.select[1] = parts[s];
                if (s < 4)
                    k.second = seconds[s];
                else
                    k.select[0] = ".h1";
                add_case(k);
                for (int n = 2; n <= 4; n += 2) {
                    video_case v = c;
                    v.op = "vset";
                    v.mode = compares[i];
                    v.elements = n;
                    v.second = s & 1 ? ".add" : "";
                    v.select[0] = n == 2 ? masks2[s % 4] : masks4[s % 4];
                    v.select[1] = n == 2 ? two[(s + i) % 4] : four[(s + i) % 4];
                    add_case(v);
                }
            }
        for (int i = 0; i < 6; i++)
            for (int s = 0; s < 8; s++)
                for (int n = 2; n <= 4; n += 2) {
                    video_case k = c;
                    k.op = i < 5 ? plain[i] : "vavrg";
                    k.elements = n;
                    if (s & 4 && !c.saturate)
                        k.second = ".add";
                    k.select[0] = n == 2 ? masks2[(s + i) % 4] : masks4[(s + i) % 4];
                    k.select[1] = n == 2 ? two[s % 4] : four[s % 4];
                    k.select[2] = n == 2 ? two[i % 4] : four[i % 4];
                    add_case(k);
                }
    }
}

/* ---- running ------------------------------------------------------------------------------------
 */

static uint32_t next_value(uint32_t *state) {
    static const uint32_t edges[] = {0,          1,          0xffffffff, 0x80000000,
                                     0x7fffffff, 0x80808080, 0x7f7f7f7f, 0x80008000,
                                     0x7fff7fff, 0x00ff00ff, 0x01020304, 33};
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % 3 ? *state : edges[(*state >> 8) % (sizeof edges / sizeof *edges)];
}

static void test_all(void **unused) {
    (void)unused;
    cases = calloc(MOST, sizeof *cases);
    assert_non_null(cases);
    make_cases();
    size_t capacity = (size_t)case_count * 800 + 100, length = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    length += (size_t)snprintf(text, capacity, PTX_HEADER);
    for (int i = 0; i < case_count; i++)
        length += (size_t)snprintf(
            text + length, capacity - length,
            ".visible .entry k%d(.param .u64 in, .param .u64 out) {\n"
            ".reg .b64 %%rd<5>; .reg .b32 %%t, %%a, %%b, %%c, %%d; mov.u32 %%t, %%tid.x;\n"
            "ld.param.u64 %%rd0, [in]; ld.param.u64 %%rd1, [out];\n"
            "mad.wide.u32 %%rd2, %%t, 16, %%rd0; mad.wide.u32 %%rd3, %%t, 4, %%rd1;\n"
            "ld.global.v2.u32 {%%a, %%b}, [%%rd2]; ld.global.u32 %%c, [%%rd2+8];\n"
            "%s;\nst.global.u32 [%%rd3], %%d; ret; }\n",
            i, cases[i].text);
    emu_device *device = bench_device(1, false);
    emu_module *module = bench_load(device, text);
    uint64_t in = bench_allocate(device, THREADS * 16), out = bench_allocate(device, THREADS * 4);
    uint32_t *values = (uint32_t *)(uintptr_t)in, *results = (uint32_t *)(uintptr_t)out;
    uint32_t state = 2463534242u;
    int failures = 0;
    for (int i = 0; i < case_count && failures < 20; i++) {
        for (int k = 0; k < THREADS * 4; k++)
            values[k] = next_value(&state);
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        const void *parameters[] = {&in, &out, NULL};
        bench_run(device, module, name, (bench_shape){1, THREADS, 0, false}, parameters, NULL);
        for (int k = 0; k < THREADS; k++) {
            const uint32_t *v = values + 4 * k;
            uint32_t want = cases[i].elements > 1 ? simd(&cases[i], v[0], v[1], v[2])
                                                  : scalar(&cases[i], v[0], v[1], v[2]);
            if (results[k] == want)
                continue;
            print_error("%s: %08x %08x %08x: got %08x, expected %08x\n", cases[i].text, v[0], v[1],
                        v[2], results[k], want);
            failures++;
            break;
        }
    }
    assert_int_equal(failures, 0);
    emu_module_unload(module);
    emu_device_destroy(device);
    free(text);
    free(cases);
}

/* Selectors that no such instruction has. */
static void test_refused(void **unused) {
    (void)unused;
    static const char *const wrong[] = {"vadd.u32.u32.u32 %d, %a.b4, %b",
                                        "vadd.u32.u32.u32 %d, %a.h2, %b",
                                        "vadd2.u32.u32.u32 %d, %a.b3210, %b, %c",
                                        "vadd2.u32.u32.u32 %d, %a.h4, %b, %c",
                                        "vadd4.u32.u32.u32 %d, %a.b8000, %b, %c",
                                        "vadd4.u32.u32.u32 %d.b4, %a, %b, %c",
                                        "vadd.u32.u64.u32 %d, %a, %b",
                                        "vset.u32.u32 %d, %a, %b",
                                        "vshl.u32.u32.u32 %d, %a, %b",
                                        "vadd.u32.u32.u32 %d, -%a, %b",
                                        "vadd.u32.u32.u32 %d, %a, %b, %c",
                                        "vadd4.u32.u32.u32 %d, %a, %b",
                                        "vadd.u32.u32.u32.sideways %d, %a, %b, %c"};
    emu_device *device = bench_device(1, false);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 PTX_HEADER ".visible .entry k() { .reg .b32 %%a, %%b, %%c, %%d; %s; ret; }\n",
                 wrong[i]);
        emu_module *module = bench_load(device, text);
        const void *parameters[] = {NULL};
        emu_fault fault = {0};
        if (bench_try(device, module, "k", (bench_shape){1, 32, 0, false}, parameters, NULL,
                      &fault) != EMU_BAD_PTX)
            fail_msg("%s was taken", wrong[i]);
        emu_module_unload(module);
    }
    emu_device_destroy(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
