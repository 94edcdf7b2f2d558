/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of textures and surfaces: which operand is what (each fetch is repeated by
 * emu_sample, which has a test of its own), what is counted, what happens outside, references, and
 * the faults of handles that are none. */
#include "bench_device.h"
#include "emulator/texture/texture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WARP = 32 };

static const emu_texel float4 = {EMU_CHANNEL_FLOAT, 32, 4}, float1 = {EMU_CHANNEL_FLOAT, 32, 1},
                       bytes4 = {EMU_CHANNEL_UINT, 8, 4}, uint1 = {EMU_CHANNEL_UINT, 32, 1};

typedef struct bench {
    emu_device *device;
    emu_module *module;
    uint64_t in, out; /* 16 words a thread each */
} bench;

/* Of the bench that is open last: each test case has one or two arrays, and no more. */
enum { MOST_ARRAYS = 4 };
static emu_array *arrays[MOST_ARRAYS];
static int array_count;

static bench open_bench(const char *text, bool count) {
    bench b = {.device = bench_device(1, count)};
    b.module = bench_load(b.device, text);
    b.in = bench_allocate(b.device, 64 * 1024);
    b.out = bench_allocate(b.device, 64 * 1024);
    return b;
}

/* The arrays go with the first bench that is closed. */
static void close_bench(bench *b) {
    while (array_count)
        emu_array_destroy(arrays[--array_count]);
    emu_module_unload(b->module);
    emu_device_destroy(b->device);
}

static emu_array *make_array(emu_device *device, emu_shape shape, emu_texel texel, uint32_t width,
                             uint32_t height, uint32_t depth, uint32_t levels) {
    const emu_array_spec spec = {shape, texel, width, height, depth, levels};
    emu_array *array;
    emu_fault fault = {0};
    if (emu_array_create(device, &spec, &array, &fault))
        fail_msg("%s", fault.message);
    assert_true(array_count < MOST_ARRAYS);
    arrays[array_count++] = array;
    return array;
}

static void drop_array(emu_array *array) {
    for (int i = 0; i < array_count; i++)
        if (arrays[i] == array)
            arrays[i] = arrays[--array_count];
    emu_array_destroy(array);
}

/* Every channel of every texel a number of its own, small enough for all formats. */
static void fill_array(emu_array *array) {
    const emu_array_spec *s = emu_array_get_spec(array);
    uint32_t n = 0;
    for (uint32_t l = 0; l < s->levels; l++) {
        const emu_image *i = emu_array_level(array, l);
        for (uint32_t z = 0; z < i->depth; z++)
            for (uint32_t y = 0; y < i->height; y++)
                for (uint32_t x = 0; x < i->width; x++) {
                    uint8_t texel[16];
                    uint32_t value[4];
                    for (int c = 0; c < 4; c++) {
                        const float f = (float)(n++ % 251);
                        value[c] = (uint32_t)f;
                        if (s->texel.channel == EMU_CHANNEL_FLOAT)
                            memcpy(&value[c], &f, sizeof f);
                    }
                    emu_texel_store(s->texel, texel, value);
                    emu_image_write(i, (uint64_t)x * emu_texel_bytes(s->texel), y, z, texel,
                                    emu_texel_bytes(s->texel));
                }
    }
}

static emu_view view_of(const emu_array *array, emu_shape shape) {
    const emu_window window = {.shape = shape, .texel = emu_array_get_spec(array)->texel};
    emu_view view;
    assert_true(emu_view_of_array(array, &window, &view));
    return view;
}

static uint64_t make_texture(bench *b, const emu_view *view, const emu_sampler *sampler) {
    uint64_t handle;
    emu_fault fault = {0};
    if (emu_texture_create(b->device, view, sampler, &handle, &fault))
        fail_msg("%s", fault.message);
    return handle;
}

static uint64_t make_surface(bench *b, const emu_view *view) {
    uint64_t handle;
    emu_fault fault = {0};
    if (emu_surface_create(b->device, view, &handle, &fault))
        fail_msg("%s", fault.message);
    return handle;
}

/* ---- Fetches ---- */

/* A kernel K around an instruction: %f0 to %f9 and %r0 to %r9 hold words 0 to 9 of the thread's
 * input, %o0 to %o3 go out as words 0 to 3, %p1 as word 4. %t is the handle. */
#define PAIR(n, at) "ld.f32 %f" n ", [%a+" at "]; ld.u32 %r" n ", [%a+" at "];\n"
static const char before[] = PTX_HEADER
    ".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out) {\n"
    ".reg .b64 %t, %a, %b, %off; .reg .b32 %r<10>, %o<4>, %n, %q; .reg .f32 %f<10>;\n"
    ".reg .b16 %h<4>; .reg .b64 %d<2>; .reg .pred %p1;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %a, [in]; ld.param.u64 %b, [out];\n"
    "mov.u32 %n, %tid.x; mul.wide.u32 %off, %n, 64;\n"
    "add.u64 %a, %a, %off; add.u64 %b, %b, %off;\n" PAIR("0", "0") PAIR("1", "4") PAIR("2", "8")
        PAIR("3", "12") PAIR("4", "16") PAIR("5", "20") PAIR("6", "24") PAIR("7", "28")
            PAIR("8", "32")
                PAIR("9", "36") "mov.u32 %o0, 9999; mov.u32 %o1, 9999; mov.u32 %o2, 9999;\n"
                                "mov.u32 %o3, 9999; setp.ne.u32 %p1, %n, %n;\n";
static const char after[] = "\nst.u32 [%b], %o0; st.u32 [%b+4], %o1; st.u32 [%b+8], %o2;\n"
                            "st.u32 [%b+12], %o3; selp.u32 %q, 1, 0, %p1; st.u32 [%b+16], %q;\n"
                            "ret; }\n";

static bench open_kernel(const char *instruction, bool count) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s", before, instruction, after);
    return open_bench(text, count);
}

static void run_kernel(bench *b, uint64_t handle, uint32_t threads, emu_counts *counts) {
    const void *parameters[] = {&handle, &b->in, &b->out, NULL};
    bench_run(b->device, b->module, "k", (bench_shape){.grid = 1, .block = threads}, parameters,
              counts);
}

typedef struct form {
    const char *text;
    emu_shape shape;
    int at[3], layer, lod, dx[3], dy[3], offset[3]; /* words of the input, 1-based; 0: none */
    int component;                                  /* of a gather, 1-based */
    bool integer, half, predicate;
    emu_texel texel;
} form;

#define D4 "{%o0, %o1, %o2, %o3}"
static const form forms[] = {
    {"tex.1d.v4.f32.f32 " D4 ", [%t, {%f0}];", EMU_SHAPE_1D, .at = {1}},
    {"tex.1d.v4.f32.f32 " D4 ", [%t, %f0];", EMU_SHAPE_1D, .at = {1}},
    {"tex.base.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}];", EMU_SHAPE_2D, .at = {1, 2}},
    {"tex.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f9, %f9}];", EMU_SHAPE_2D, .at = {1, 2}},
    {"tex.2d.v4.f32.f32 " D4 "|%p1, [%t, {%f1, %f0}];", EMU_SHAPE_2D, .at = {2, 1},
     .predicate = true},
    {"tex.3d.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f2, %f2}];", EMU_SHAPE_3D, .at = {1, 2, 3}},
    {"tex.a1d.v4.f32.f32 " D4 ", [%t, {%r9, %f0}];", EMU_SHAPE_1D_LAYERED, .at = {1}, .layer = 10},
    {"tex.a2d.v4.f32.f32 " D4 ", [%t, {%r9, %f0, %f1, %f1}];", EMU_SHAPE_2D_LAYERED, .at = {1, 2},
     .layer = 10},
    {"tex.cube.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f2, %f2}];", EMU_SHAPE_CUBE, .at = {1, 2, 3}},
    {"tex.acube.v4.f32.f32 " D4 ", [%t, {%r9, %f0, %f1, %f2}];", EMU_SHAPE_CUBE_LAYERED,
     .at = {1, 2, 3}, .layer = 10},
    {"tex.level.1d.v4.f32.f32 " D4 ", [%t, {%f0}], %f3;", EMU_SHAPE_1D, .at = {1}, .lod = 4},
    {"tex.level.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}], %f3;", EMU_SHAPE_2D, .at = {1, 2},
     .lod = 4},
    {"tex.level.a2d.v4.f32.f32 " D4 ", [%t, {%r9, %f0, %f1, %f1}], %f3;", EMU_SHAPE_2D_LAYERED,
     .at = {1, 2}, .layer = 10, .lod = 4},
    {"tex.level.3d.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f2, %f2}], %f3;", EMU_SHAPE_3D,
     .at = {1, 2, 3}, .lod = 4},
    {"tex.level.cube.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f2, %f2}], %f3;", EMU_SHAPE_CUBE,
     .at = {1, 2, 3}, .lod = 4},
    {"tex.level.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}], 0f3F800000;", EMU_SHAPE_2D, .at = {1, 2},
     .lod = -1},
    {"tex.grad.1d.v4.f32.f32 " D4 ", [%t, {%f0}], {%f4}, {%f6};", EMU_SHAPE_1D, .at = {1},
     .dx = {5}, .dy = {7}},
    {"tex.grad.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}], {%f4, %f5}, {%f6, %f7};", EMU_SHAPE_2D,
     .at = {1, 2}, .dx = {5, 6}, .dy = {7, 8}},
    {"tex.grad.3d.v4.f32.f32 " D4
     ", [%t, {%f0, %f1, %f2, %f2}], {%f4, %f5, %f6, %f6}, {%f7, %f8, %f6, %f6};",
     EMU_SHAPE_3D, .at = {1, 2, 3}, .dx = {5, 6, 7}, .dy = {8, 9, 7}},
    {"tex.grad.a2d.v4.f32.f32 " D4 ", [%t, {%r9, %f0, %f1, %f1}], {%f4, %f5}, {%f6, %f7};",
     EMU_SHAPE_2D_LAYERED, .at = {1, 2}, .layer = 10, .dx = {5, 6}, .dy = {7, 8}},
    {"tex.grad.cube.v4.f32.f32\t" D4
     ", [%t, {%f0, %f1, %f2, %f2}], {%f4, %f5, %f6, %f6}, {%f7, %f8, %f6, %f6};",
     EMU_SHAPE_CUBE, .at = {1, 2, 3}, .dx = {5, 6, 7}, .dy = {8, 9, 7}},
    {"tld4.r.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}];", EMU_SHAPE_2D, .at = {1, 2}, .component = 1},
    {"tld4.a.2d.v4.f32.f32 " D4 "|%p1, [%t, {%f0, %f1}];", EMU_SHAPE_2D, .at = {1, 2},
     .component = 4, .predicate = true},
    {"tld4.g.a2d.v4.f32.f32 " D4 ", [%t, {%r9, %f0, %f1, %f1}];", EMU_SHAPE_2D_LAYERED,
     .at = {1, 2}, .layer = 10, .component = 2},
    {"tld4.b.cube.v4.f32.f32 " D4 ", [%t, {%f0, %f1, %f2, %f2}];", EMU_SHAPE_CUBE, .at = {1, 2, 3},
     .component = 3},
    {"tex.2d.v4.f32.f32 " D4 ", [%t, {%f0, %f1}], {%r8, 2};", EMU_SHAPE_2D, .at = {1, 2},
     .offset = {9, -2}},
    {"tex.2d.v4.f32.s32 " D4 ", [%t, {%r8, %r9}];", EMU_SHAPE_2D, .at = {9, 10}, .integer = true},
    {"tex.1d.v4.f32.s32 " D4 ", [%t, {%r8}];", EMU_SHAPE_1D, .at = {9}, .integer = true},
    {"tex.2d.v4.u32.f32 " D4 ", [%t, {%f0, %f1}];", EMU_SHAPE_2D, .at = {1, 2},
     .texel = {EMU_CHANNEL_UINT, 8, 4}},
    {"tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%t, {%f0, %f1}];"
     "cvt.u32.u16 %o0, %h0; cvt.u32.u16 %o1, %h1; cvt.u32.u16 %o2, %h2; cvt.u32.u16 %o3, %h3;",
     EMU_SHAPE_2D, .at = {1, 2}, .half = true},
    {"tex.2d.v2.f16x2.f32 {%o0, %o2}, [%t, {%f0, %f1}];"
     "shr.u32 %o1, %o0, 16; and.b32 %o0, %o0, 65535; shr.u32 %o3, %o2, 16;"
     "and.b32 %o2, %o2, 65535;",
     EMU_SHAPE_2D, .at = {1, 2}, .half = true},
};

static uint32_t word_of(const uint32_t *in, int word) {
    return word > 0 ? in[word - 1] : 0;
}

static void float_of(const uint32_t *in, const int word[3], float out[3]) {
    for (int i = 0; i < 3; i++) {
        const uint32_t bits = word_of(in, word[i]);
        memcpy(&out[i], &bits, sizeof bits);
    }
}

/* To the nearest half, ties to even; of finite numbers that a half can hold. */
static uint16_t half_of(float value) {
    int exponent;
    frexp(fabs((double)value), &exponent); /* the number is in [2^(exponent-1), 2^exponent) */
    exponent = value == 0 || exponent - 1 < -14 ? -14 : exponent - 1;
    const int digits = (int)nearbyint(ldexp(fabs((double)value), 10 - exponent));
    const int bits = digits < 1024 ? digits : digits + (exponent + 14) * 1024;
    return (uint16_t)(bits | (signbit(value) ? 0x8000 : 0));
}

/* What the instruction must give, from the thread's input. */
static void expected(const form *f, const emu_view *view, const emu_sampler *sampler,
                     const uint32_t *in, uint32_t out[4]) {
    emu_fetch fetch = {.integer = f->integer,
                       .gather = f->component > 0,
                       .component = (uint8_t)(f->component ? f->component - 1 : 0),
                       .layer = word_of(in, f->layer)};
    emu_touched touched = {.count = 0};
    float dx[3], dy[3];
    float_of(in, f->at, fetch.at);
    for (int i = 0; i < 3; i++) {
        fetch.whole[i] = (int32_t)word_of(in, f->at[i]);
        fetch.offset[i] = f->offset[i] < 0 ? -f->offset[i] : (int32_t)word_of(in, f->offset[i]);
    }
    float_of(in, f->dx, dx);
    float_of(in, f->dy, dy);
    if (f->dx[0])
        fetch.lod = emu_sample_lod(view, sampler, fetch.at, dx, dy);
    if (f->lod > 0)
        memcpy(&fetch.lod, &in[f->lod - 1], sizeof fetch.lod);
    if (f->lod < 0)
        fetch.lod = 1;
    emu_sample(view, sampler, &fetch, out, &touched);
    for (int i = 0; f->half && i < 4; i++) {
        float value;
        memcpy(&value, &out[i], sizeof value);
        out[i] = half_of(value);
    }
}

static void draw_input(uint32_t *in, unsigned n) {
    for (unsigned w = 0; w < 10; w++) {
        const float value = (float)((n * 37 + w * 101) % 173) / 40.0f - 2 + 0.003f * (float)w;
        memcpy(&in[w], &value, sizeof value);
    }
    in[8] = n % 9 - 2; /* texels: -2 to 6 */
    in[9] = n % 4;     /* layers, one too many */
}

static void check_form(const form *f) {
    const emu_sampler sampler = {.address = {EMU_ADDRESS_WRAP, EMU_ADDRESS_MIRROR},
                                 .linear = f->texel.bits != 8,
                                 .normalized = true,
                                 .mip_most = 10};
    const bool cube = f->shape >= EMU_SHAPE_CUBE;
    const bool rows = f->shape != EMU_SHAPE_1D && f->shape != EMU_SHAPE_1D_LAYERED;
    const uint32_t depth = f->shape == EMU_SHAPE_CUBE             ? 6
                           : f->shape == EMU_SHAPE_CUBE_LAYERED   ? 18
                           : f->shape == EMU_SHAPE_3D || f->layer ? 3
                                                                  : 1;
    bench b = open_kernel(f->text, false);
    emu_array *array = make_array(b.device, f->shape, f->texel.bits ? f->texel : float4, 16,
                                  cube   ? 16
                                  : rows ? 8
                                         : 1,
                                  depth, 4);
    fill_array(array);
    const emu_view view = view_of(array, f->shape);
    const uint64_t handle = make_texture(&b, &view, &sampler);
    uint32_t *in = (uint32_t *)(uintptr_t)b.in, *out = (uint32_t *)(uintptr_t)b.out;
    for (unsigned n = 0; n < 2 * WARP; n++)
        draw_input(in + 16 * n, n);
    run_kernel(&b, handle, 2 * WARP, NULL);
    for (unsigned n = 0; n < 2 * WARP; n++) {
        uint32_t wanted[4];
        expected(f, &view, &sampler, in + 16 * n, wanted);
        for (int c = 0; c < 4; c++)
            if (out[16 * n + (unsigned)c] != wanted[c])
                fail_msg("%s thread %u, result %d: 0x%08x, not 0x%08x", f->text, n, c,
                         out[16 * n + (unsigned)c], wanted[c]);
        assert_int_equal(out[16 * n + 4], f->predicate);
    }
    assert_true(emu_object_destroy(b.device, handle));
    close_bench(&b);
}

static void test_forms(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        check_form(&forms[i]);
}

/* ---- Counts ---- */

/* Words of the input: x, y and the rest 0. */
static void set_place(const bench *b, unsigned n, float x, float y) {
    float *in = (float *)(uintptr_t)b->in + 16 * n;
    memset(in, 0, 64);
    in[0] = x;
    in[1] = y;
}

static void count_fetch(const char *text, emu_texel texel, bool linear, uint32_t lanes_wide,
                        uint32_t bytes, uint32_t sectors, uint32_t lines) {
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP},
                                 .linear = linear};
    bench b = open_kernel(text, true);
    emu_array *array = make_array(b.device, EMU_SHAPE_2D, texel, 64, 64, 1, 1);
    fill_array(array);
    const emu_view view = view_of(array, EMU_SHAPE_2D);
    const uint64_t handle = make_texture(&b, &view, &sampler);
    emu_counts counts = {0}, without = {0};
    for (unsigned n = 0; n < WARP; n++)
        set_place(&b, n, (float)(n % lanes_wide) + 0.5f, (float)(n / lanes_wide) + 0.5f);
    run_kernel(&b, handle, WARP, &counts);
    bench plain = open_kernel("", true);
    memcpy((void *)(uintptr_t)plain.in, (const void *)(uintptr_t)b.in, 64 * WARP);
    run_kernel(&plain, handle, WARP, &without);
    assert_int_equal(counts.load_requests[EMU_TEXTURE], 1);
    assert_int_equal(counts.load_bytes[EMU_TEXTURE], bytes);
    assert_int_equal(counts.load_sectors - without.load_sectors, sectors);
    assert_int_equal(counts.l1_wavefronts - without.l1_wavefronts, lines);
    assert_int_equal(counts.l1_miss_sectors - without.l1_miss_sectors, sectors);
    assert_int_equal(counts.dram_read_bytes - without.dram_read_bytes, 32 * sectors);
    assert_int_equal(counts.load_requests[EMU_GLOBAL], without.load_requests[EMU_GLOBAL]);
    assert_int_equal(counts.warp_insts, without.warp_insts + 1);
    close_bench(&b);
    close_bench(&plain);
}

static void test_counts(void **state) {
    (void)state;
    static const char fetch[] = "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];";
    static const char gather[] = "tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];";
    /* 32 floats of one row: sectors of 4 x 2 of them, lines of 8 x 4 */
    count_fetch(fetch, float1, false, 32, 4 * WARP, 8, 4);
    /* 8 x 4 of them: one line */
    count_fetch(fetch, float1, false, 8, 4 * WARP, 4, 1);
    /* a texel of 16 bytes takes half a sector of its own: 2 rows share one */
    count_fetch(fetch, float4, false, 32, 16 * WARP, 32, 16);
    count_fetch(fetch, float4, false, 16, 16 * WARP, 16, 8);
    /* 4 bytes, whatever the type */
    count_fetch(fetch, bytes4, false, 8, 4 * WARP, 4, 1);
    /* at the centres linear reads the next texel and row, too: 9 x 5, in 3 x 3 sectors */
    count_fetch(fetch, float1, true, 8, 4 * WARP, 9, 4);
    /* four texels of one channel a thread */
    count_fetch(gather, float1, false, 8, 16 * WARP, 9, 4);
}

/* The second warp finds in L1 what the first one read. */
static void test_cached(void **state) {
    (void)state;
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};
    bench b = open_kernel("tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];", true);
    emu_array *array = make_array(b.device, EMU_SHAPE_2D, float1, 64, 64, 1, 1);
    fill_array(array);
    const emu_view view = view_of(array, EMU_SHAPE_2D);
    const uint64_t handle = make_texture(&b, &view, &sampler);
    for (unsigned n = 0; n < 8 * WARP; n++)
        set_place(&b, n, (float)(n % 8) + 0.5f, (float)(n / 8 % 4) + 0.5f);
    emu_counts counts = {0};
    run_kernel(&b, handle, 8 * WARP, &counts);
    assert_int_equal(counts.load_requests[EMU_TEXTURE], 8);
    assert_int_equal(counts.load_bytes[EMU_TEXTURE], 8 * 4 * WARP);
    assert_true(counts.l1_hit_sectors >= 7 * 4);
    close_bench(&b);
}

/* ---- Surfaces ---- */

typedef struct surface_test {
    const char *load, *store;
    emu_shape shape;
    emu_texel texel;
    uint32_t width, height, depth;
    int bytes; /* of an access */
} surface_test;

static const surface_test surfaces[] = {
    {"suld.b.1d.b32.trap {%o0}, [%t, {%r0}];",
     "sust.b.1d.b32.trap [%t, {%r0}], {%r4};",
     EMU_SHAPE_1D,
     {EMU_CHANNEL_UINT, 32, 1},
     16,
     1,
     1,
     4},
    {"suld.b.2d.b32.trap {%o0}, [%t, {%r0, %r1}];",
     "sust.b.2d.b32.trap [%t, {%r0, %r1}], {%r4};",
     EMU_SHAPE_2D,
     {EMU_CHANNEL_UINT, 8, 4},
     16,
     9,
     1,
     4},
    {"suld.b.2d.v4.b32.trap {%o0, %o1, %o2, %o3}, [%t, {%r0, %r1}];",
     "sust.b.2d.v4.b32.trap [%t, {%r0, %r1}], {%r4, %r5, %r6, %r7};",
     EMU_SHAPE_2D,
     {EMU_CHANNEL_FLOAT, 32, 4},
     5,
     3,
     1,
     16},
    {"suld.b.3d.v2.b32.trap {%o0, %o1}, [%t, {%r0, %r1, %r2, %r2}];",
     "sust.b.3d.v2.b32.trap [%t, {%r0, %r1, %r2, %r2}], {%r4, %r5};",
     EMU_SHAPE_3D,
     {EMU_CHANNEL_FLOAT, 32, 2},
     7,
     5,
     3,
     8},
    {"suld.b.a1d.b32.trap {%o0}, [%t, {%r2, %r0}];",
     "sust.b.a1d.b32.trap [%t, {%r2, %r0}], {%r4};",
     EMU_SHAPE_1D_LAYERED,
     {EMU_CHANNEL_SINT, 32, 1},
     9,
     1,
     3,
     4},
    {"suld.b.a2d.b32.trap {%o0}, [%t, {%r2, %r0, %r1, %r1}];",
     "sust.b.a2d.b32.trap [%t, {%r2, %r0, %r1, %r1}], {%r4};",
     EMU_SHAPE_2D_LAYERED,
     {EMU_CHANNEL_UINT, 32, 1},
     9,
     4,
     3,
     4},
    {"suld.b.a2d.b32.trap {%o0}, [%t, {%r2, %r0, %r1, %r1}];",
     "sust.b.a2d.b32.trap [%t, {%r2, %r0, %r1, %r1}], {%r4};",
     EMU_SHAPE_CUBE,
     {EMU_CHANNEL_UINT, 32, 1},
     8,
     8,
     6,
     4},
    {"suld.b.2d.b8.trap {%h0}, [%t, {%r0, %r1}]; cvt.u32.u16 %o0, %h0;",
     "cvt.u16.u32 %h0, %r4; sust.b.2d.b8.trap [%t, {%r0, %r1}], {%h0};",
     EMU_SHAPE_2D,
     {EMU_CHANNEL_UINT, 8, 1},
     40,
     9,
     1,
     1},
    {"suld.b.2d.v2.b16.trap {%h0, %h1}, [%t, {%r0, %r1}];"
     "cvt.u32.u16 %o0, %h0; cvt.u32.u16 %o1, %h1;",
     "cvt.u16.u32 %h0, %r4; cvt.u16.u32 %h1, %r5;"
     "sust.b.2d.v2.b16.trap [%t, {%r0, %r1}], {%h0, %h1};",
     EMU_SHAPE_2D,
     {EMU_CHANNEL_SINT, 16, 2},
     13,
     5,
     1,
     4},
    {"suld.b.2d.v2.b64.trap {%d0, %d1}, [%t, {%r0, %r1}];"
     "mov.b64 {%o0, %o1}, %d0; mov.b64 {%o2, %o3}, %d1;",
     "mov.b64 %d0, {%r4, %r5}; mov.b64 %d1, {%r6, %r7};"
     "sust.b.2d.v2.b64.trap [%t, {%r0, %r1}], {%d0, %d1};",
     EMU_SHAPE_2D,
     {EMU_CHANNEL_UINT, 32, 4},
     6,
     6,
     1,
     16},
};

/* Threads 0 to N-1 access different places; what a load gives is what lies there. */
static void check_surface(const surface_test *t) {
    const unsigned per_row = t->width * emu_texel_bytes(t->texel) / (unsigned)t->bytes;
    unsigned n = per_row * t->height * t->depth;
    uint32_t seen[256][4] = {{0}};
    n = n > 256 ? 256 : n;
    for (int side = 0; side < 2; side++) {
        bench of_side = open_kernel(side ? t->load : t->store, side), *b = &of_side;
        emu_array *array =
            make_array(b->device, t->shape, t->texel, t->width, t->height, t->depth, 1);
        fill_array(array);
        const emu_image *image = emu_array_level(array, 0);
        const emu_view view = view_of(array, t->shape);
        const uint64_t handle = make_surface(b, &view);
        uint32_t *in = (uint32_t *)(uintptr_t)b->in, *out = (uint32_t *)(uintptr_t)b->out;
        for (unsigned i = 0; i < n; i++) {
            in[16 * i] = i % per_row * (unsigned)t->bytes;
            in[16 * i + 1] = i / per_row % t->height;
            in[16 * i + 2] = i / per_row / t->height;
            for (unsigned w = 4; w < 8; w++)
                in[16 * i + w] = i * 16777259u + w * 8191;
        }
        emu_counts counts = {0};
        run_kernel(b, handle, n, &counts);
        for (unsigned i = 0; i < n; i++) {
            const uint32_t *at = &in[16 * i];
            emu_image_read(image, at[0], at[1], at[2], seen[i], (uint64_t)t->bytes);
            uint32_t wanted[4] = {0};
            if (side == 0 && t->bytes == 4 && t->texel.bits == 16)
                wanted[0] = (at[4] & 0xffff) | at[5] << 16;
            else
                memcpy(wanted, side ? (const void *)&out[16 * i] : (const void *)&at[4],
                       (size_t)t->bytes);
            if (side && t->texel.bits == 16)
                wanted[0] = out[16 * i] | out[16 * i + 1] << 16;
            assert_memory_equal(seen[i], wanted, (size_t)t->bytes);
        }
        if (side) {
            assert_int_equal(counts.load_requests[EMU_TEXTURE], (n + WARP - 1) / WARP);
            assert_int_equal(counts.load_bytes[EMU_TEXTURE], n * (unsigned)t->bytes);
        }
        close_bench(b);
    }
}

static void test_surfaces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof surfaces / sizeof *surfaces; i++)
        check_surface(&surfaces[i]);
}

/* Outside: zero gives 0 and keeps stores out, clamp takes the nearest place. */
static void test_outside(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int32_t x, y; /* given: bytes, rows */
        uint32_t x_at, y_at, changes, gives;
    } rows[] = {
        {"suld.b.2d.b32.zero {%o0}, [%t, {%r0, %r1}];", 4, 64, 0, 0, 0, 0},
        {"suld.b.2d.b32.zero {%o0}, [%t, {%r0, %r1}];", -4, 1, 0, 0, 0, 0},
        {"suld.b.2d.b32.clamp {%o0}, [%t, {%r0, %r1}];", -4, -1, 0, 0, 0, 1},
        {"suld.b.2d.b32.clamp {%o0}, [%t, {%r0, %r1}];", 400, 2, 28, 2, 0, 24},
        {"sust.b.2d.b32.zero [%t, {%r0, %r1}], {%r4};", 32, 0, 0, 0, 0, 9999},
        {"sust.b.2d.b32.clamp [%t, {%r0, %r1}], {%r4};", 32, 99, 28, 7, 1, 9999},
        {"sust.p.2d.v4.b32.clamp [%t, {%r0, %r1}], {%r4, %r4, %r4, %r4};", 3, 2, 12, 2, 1, 9999},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_kernel(rows[i].text, false);
        emu_array *array = make_array(b.device, EMU_SHAPE_2D, uint1, 8, 8, 1, 1);
        const emu_image *image = emu_array_level(array, 0);
        for (uint32_t n = 0; n < 64; n++) {
            const uint32_t value = n + 1;
            emu_image_write(image, n % 8 * 4, n / 8, 0, &value, 4);
        }
        const emu_view view = view_of(array, EMU_SHAPE_2D);
        const uint64_t handle = make_surface(&b, &view);
        int32_t *in = (int32_t *)(uintptr_t)b.in;
        in[0] = rows[i].x;
        in[1] = rows[i].y;
        in[4] = 777;
        run_kernel(&b, handle, 1, NULL);
        assert_int_equal(*(uint32_t *)(uintptr_t)b.out, rows[i].gives);
        for (uint32_t n = 0; n < 64; n++) {
            uint32_t value;
            emu_image_read(image, n % 8 * 4, n / 8, 0, &value, 4);
            const bool changed =
                rows[i].changes && n % 8 * 4 == rows[i].x_at && n / 8 == rows[i].y_at;
            assert_int_equal(value, changed ? 777 : n + 1);
        }
        close_bench(&b);
    }
}

/* All threads on one texel. */
static void test_reductions(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t start, wanted; /* the threads' operands: 1 to 32 */
        int bytes;
    } rows[] = {
        {"sured.b.add.2d.u32.trap [%t, {%r0, %r1}], %r4;", 5, 5 + 32 * 33 / 2, 4},
        {"sured.p.add.2d.b32.trap [%t, {%r1, %r1}], %r4;", 5, 5 + 32 * 33 / 2, 4},
        {"sured.b.min.2d.u32.trap [%t, {%r0, %r1}], %r4;", UINT32_MAX, 1, 4},
        {"sured.b.min.2d.s32.trap [%t, {%r0, %r1}], %r4;", UINT32_MAX, UINT32_MAX, 4},
        {"sured.b.max.2d.s32.trap [%t, {%r0, %r1}], %r4;", UINT32_MAX, 32, 4},
        {"sured.b.and.2d.b32.trap [%t, {%r0, %r1}], %r4;", 255, 0, 4},
        {"sured.b.or.2d.b32.trap [%t, {%r0, %r1}], %r4;", 0, 63, 4},
        {"cvt.u64.u32 %d0, %r4; sured.b.add.2d.u64.trap [%t, {%r0, %r1}], %d0;",
         UINT64_C(0xffffffff), UINT64_C(0xffffffff) + 32 * 33 / 2, 8},
        {"sured.b.add.2d.u32.zero [%t, {%r9, %r1}], %r4;", 5, 5, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_kernel(rows[i].text, true);
        const emu_texel texel = {EMU_CHANNEL_UINT, 32, (uint8_t)(rows[i].bytes / 4)};
        emu_array *array = make_array(b.device, EMU_SHAPE_2D, texel, 8, 8, 1, 1);
        const emu_image *image = emu_array_level(array, 0);
        emu_image_write(image, 0, 0, 0, &rows[i].start, (uint64_t)rows[i].bytes);
        const emu_view view = view_of(array, EMU_SHAPE_2D);
        const uint64_t handle = make_surface(&b, &view);
        uint32_t *in = (uint32_t *)(uintptr_t)b.in;
        for (unsigned n = 0; n < WARP; n++) {
            in[16 * n + 4] = n + 1;
            in[16 * n + 9] = 4096;
        }
        uint64_t value = 0;
        emu_counts counts = {0};
        run_kernel(&b, handle, WARP, &counts);
        emu_image_read(image, 0, 0, 0, &value, (uint64_t)rows[i].bytes);
        assert_true(value == rows[i].wanted);
        assert_int_equal(counts.atomic_requests[EMU_TEXTURE], 1);
        assert_int_equal(counts.atomic_bytes[EMU_TEXTURE], WARP * (unsigned)rows[i].bytes);
        assert_int_equal(counts.atomic_sectors, in[9] && strstr(rows[i].text, "zero") ? 0 : 1);
        close_bench(&b);
    }
}

/* ---- References and queries ---- */

static const char reference_text[] =
    PTX_HEADER ".visible .global .texref image;\n.global .surfref target;\n"
               ".visible .entry k(.param .u64 out) {\n"
               ".reg .b64 %b, %t, %d; .reg .b32 %x, %o<4>; .reg .f32 %f;\n"
               "ld.param.u64 %b, [out]; mov.u32 %x, 3; mov.f32 %f, 0f40600000;\n"
               "tex.1d.v4.u32.s32 {%o0, _, _, _}, [image, {%x}];\n"
               "mov.u64 %t, image; tex.1d.v4.u32.f32 {%o1, _, _, _}, [%t, {%f}];\n"
               "txq.width.b32 %o2, [image];\n"
               "st.u32 [%b], %o0; st.u32 [%b+4], %o1; st.u32 [%b+8], %o2;\n"
               "ret; }\n"
               ".visible .entry unbound() { .reg .b32 %x; mov.u32 %x, 0;\n"
               "sust.b.1d.b32.trap [target, {%x}], {%x}; ret; }\n";

static void test_references(void **state) {
    (void)state;
    bench b = open_bench(reference_text, false);
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP}};
    emu_array *array = make_array(b.device, EMU_SHAPE_1D, uint1, 11, 1, 1, 1);
    fill_array(array);
    const emu_view view = view_of(array, EMU_SHAPE_1D);
    const uint64_t handle = make_texture(&b, &view, &sampler);
    uint64_t reference, size;
    emu_fault fault = {0};
    assert_int_equal(emu_module_get_global(b.module, "image", &reference, &size, &fault), EMU_OK);
    assert_int_equal(size, 8);
    memcpy((void *)(uintptr_t)reference, &handle, sizeof handle);
    const void *parameters[] = {&b.out, NULL};
    bench_run(b.device, b.module, "k", (bench_shape){.grid = 1, .block = 1}, parameters, NULL);
    const uint32_t *out = (const uint32_t *)(uintptr_t)b.out;
    assert_int_equal(out[0], 12); /* the fourth texel */
    assert_int_equal(out[1], 12);
    assert_int_equal(out[2], 11);
    const emu_status status = bench_try(b.device, b.module, "unbound",
                                        (bench_shape){.grid = 1, .block = 1}, NULL, NULL, &fault);
    assert_int_equal(status, EMU_ILLEGAL_ADDRESS);
    assert_non_null(strstr(fault.message, "nothing is bound"));
    close_bench(&b);
}

/* What a samplerref says goes before what the texture says. */
static void test_samplers(void **state) {
    (void)state;
    bench b = open_bench(
        PTX_HEADER
        ".global .samplerref border = { addr_mode_0 = clamp_to_border, filter_mode = nearest };\n"
        ".global .samplerref blend = { filter_mode = linear, addr_mode_0 = clamp_to_edge };\n"
        ".visible .entry k(.param .u64 t, .param .u64 out) {\n"
        ".reg .b64 %t, %b; .reg .f32 %f, %o<3>;\n"
        "ld.param.u64 %t, [t]; ld.param.u64 %b, [out]; mov.f32 %f, 0fC0000000;\n"
        "tex.1d.v4.f32.f32 {%o0, _, _, _}, [%t, {%f}];\n"
        "tex.1d.v4.f32.f32 {%o1, _, _, _}, [%t, border, {%f}];\n"
        "mov.f32 %f, 0f40000000;\n"
        "tex.1d.v4.f32.f32 {%o2, _, _, _}, [%t, blend, {%f}];\n"
        "st.f32 [%b], %o0; st.f32 [%b+4], %o1; st.f32 [%b+8], %o2; ret; }\n",
        false);
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP}};
    float line[16];
    for (int i = 0; i < 16; i++)
        line[i] = (float)(i + 3) * 2;
    uint64_t memory = bench_allocate(b.device, sizeof line);
    memcpy((void *)(uintptr_t)memory, line, sizeof line);
    emu_view view;
    emu_view_of_memory(memory, float1, 16, 1, 64, &view);
    const uint64_t handle = make_texture(&b, &view, &sampler);
    const void *parameters[] = {&handle, &b.out, NULL};
    bench_run(b.device, b.module, "k", (bench_shape){.grid = 1, .block = 1}, parameters, NULL);
    const float *out = (const float *)(uintptr_t)b.out;
    assert_true(out[0] == 6 && out[1] == 0 && out[2] == 9);
    close_bench(&b);
}

static void test_queries(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t answer;
        bool surface;
    } rows[] = {{"txq.width.b32 %o0, [%t];", 16, false},
                {"txq.height.b32 %o0, [%t];", 8, false},
                {"txq.depth.b32 %o0, [%t];", 1, false},
                {"txq.array_size.b32 %o0, [%t];", 5, false},
                {"txq.num_mipmap_levels.b32 %o0, [%t];", 3, false},
                {"txq.level.width.b32 %o0, [%t], 2;", 4, false},
                {"txq.level.height.b32 %o0, [%t], %r8;", 4, false},
                {"txq.channel_data_type.b32 %o0, [%t];", 0x10DA, false},
                {"txq.channel_order.b32 %o0, [%t];", 0x10B5, false},
                {"txq.normalized_coords.b32 %o0, [%t];", 1, false},
                {"txq.filter_mode.b32 %o0, [%t];", 0, false},
                {"suq.width.b32 %o0, [%t];", 16, true},
                {"suq.array_size.b32 %o0, [%t];", 5, true},
                {"suq.channel_order.b32 %o0, [%t];", 0x10B5, true}};
    const emu_sampler sampler = {.normalized = true, .mip_most = 10};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_kernel(rows[i].text, false);
        emu_array *array = make_array(b.device, EMU_SHAPE_2D_LAYERED, bytes4, 16, 8, 5, 3);
        const emu_view view = view_of(array, EMU_SHAPE_2D_LAYERED);
        ((uint32_t *)(uintptr_t)b.in)[8] = 1;
        run_kernel(&b,
                   rows[i].surface ? make_surface(&b, &view) : make_texture(&b, &view, &sampler), 1,
                   NULL);
        assert_int_equal(*(uint32_t *)(uintptr_t)b.out, rows[i].answer);
        close_bench(&b);
    }
}

/* ---- Faults ---- */

static void expect_fault(bench *b, uint64_t handle, emu_status status, const char *piece) {
    const void *parameters[] = {&handle, &b->in, &b->out, NULL};
    emu_fault fault = {0};
    const emu_status got =
        bench_try(b->device, b->module, "k", (bench_shape){.grid = 1, .block = WARP}, parameters,
                  NULL, &fault);
    if (got != status || !strstr(fault.message, piece))
        fail_msg("status %d: %s", (int)got, fault.message);
    assert_string_equal(fault.kernel, "k");
    assert_true(fault.ptx_line > 0);
}

static void test_bad_handles(void **state) {
    (void)state;
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};
    bench b = open_kernel("tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];", false);
    emu_array *array = make_array(b.device, EMU_SHAPE_2D, float1, 8, 8, 1, 1);
    const emu_view view = view_of(array, EMU_SHAPE_2D);
    const uint64_t first = make_texture(&b, &view, &sampler);
    const uint64_t surface = make_surface(&b, &view);
    const uint64_t memory = bench_allocate(b.device, 4096);
    emu_view linear;
    emu_view_of_memory(memory, float1, 16, 0, 0, &linear);
    const uint64_t second = make_texture(&b, &linear, &sampler);
    emu_fault fault = {0};

    expect_fault(&b, 0, EMU_ILLEGAL_ADDRESS, "names none");
    expect_fault(&b, 7, EMU_ILLEGAL_ADDRESS, "names none");
    expect_fault(&b, first + 100, EMU_ILLEGAL_ADDRESS, "names none");
    expect_fault(&b, UINT64_MAX, EMU_ILLEGAL_ADDRESS, "names none");
    expect_fault(&b, surface, EMU_ILLEGAL_ADDRESS, "is a surface's");
    run_kernel(&b, first, WARP, NULL);
    run_kernel(&b, second, WARP, NULL);
    assert_int_equal(emu_memory_free(b.device, memory, &fault), EMU_OK);
    expect_fault(&b, second, EMU_ILLEGAL_ADDRESS, "has been freed");
    run_kernel(&b, first, WARP, NULL); /* the other is still good */
    drop_array(array);
    expect_fault(&b, first, EMU_ILLEGAL_ADDRESS, "has been freed");
    assert_true(emu_object_destroy(b.device, first));
    assert_false(emu_object_destroy(b.device, first));
    expect_fault(&b, first, EMU_ILLEGAL_ADDRESS, "has been destroyed");
    /* a new one in the same place does not bring it back */
    const uint64_t memory2 = bench_allocate(b.device, 4096);
    emu_view_of_memory(memory2, float1, 16, 0, 0, &linear);
    const uint64_t third = make_texture(&b, &linear, &sampler);
    assert_true(third != first);
    run_kernel(&b, third, WARP, NULL);
    expect_fault(&b, first, EMU_ILLEGAL_ADDRESS, "has been destroyed");
    /* freed before any kernel has used it */
    const uint64_t memory3 = bench_allocate(b.device, 4096);
    emu_view_of_memory(memory3, float1, 16, 0, 0, &linear);
    const uint64_t fourth = make_texture(&b, &linear, &sampler);
    assert_int_equal(emu_memory_free(b.device, memory3, &fault), EMU_OK);
    expect_fault(&b, fourth, EMU_ILLEGAL_ADDRESS, "has been freed");
    /* memory that is no allocation cannot be looked at */
    emu_view_of_memory(memory2, float1, 4096, 0, 0, &linear);
    uint64_t handle;
    assert_int_equal(emu_texture_create(b.device, &linear, &sampler, &handle, &fault),
                     EMU_ILLEGAL_ADDRESS);
    emu_view_of_memory(memory2 + 2, float1, 16, 0, 0, &linear);
    assert_int_equal(emu_texture_create(b.device, &linear, &sampler, &handle, &fault),
                     EMU_BAD_LAUNCH);
    close_bench(&b);
}

static void test_traps(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int32_t x, y;
        emu_status status;
        const char *piece;
    } rows[] = {
        {"suld.b.2d.b32.trap {%o0}, [%t, {%r0, %r1}];", 32, 0, EMU_ILLEGAL_ADDRESS, "outside"},
        {"suld.b.2d.b32.trap {%o0}, [%t, {%r0, %r1}];", -1, 0, EMU_ILLEGAL_ADDRESS, "outside"},
        {"sust.b.2d.b32.trap [%t, {%r0, %r1}], {%r4};", 0, 8, EMU_ILLEGAL_ADDRESS, "outside"},
        {"sured.b.add.2d.u32.trap [%t, {%r0, %r1}], %r4;", 0, -8, EMU_ILLEGAL_ADDRESS, "outside"},
        {"suld.b.2d.b32.trap {%o0}, [%t, {%r0, %r1}];", 6, 0, EMU_MISALIGNED, "not aligned"},
        {"suld.b.2d.b32.clamp {%o0}, [%t, {%r0, %r1}];", 1, 0, EMU_MISALIGNED, "not aligned"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_kernel(rows[i].text, false);
        emu_array *array = make_array(b.device, EMU_SHAPE_2D, uint1, 8, 8, 1, 1);
        const emu_view view = view_of(array, EMU_SHAPE_2D);
        const uint64_t handle = make_surface(&b, &view);
        int32_t *in = (int32_t *)(uintptr_t)b.in;
        in[16 * 5] = rows[i].x; /* of thread 5 */
        in[16 * 5 + 1] = rows[i].y;
        expect_fault(&b, handle, rows[i].status, rows[i].piece);
        close_bench(&b);
    }
}

/* What the machine does not have fails its kernel by name. */
static void test_not_there(void **state) {
    (void)state;
    static const char *const texts[] = {
        "tex.2dms.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%r0, %r1, %r2, %r2}];",
        "tex.2d.f32.f32 %o0, [%t, {%f0, %f1}], %f2;",
        "tex.2d.v4.f64.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
        "tex.2d.v4.f32.f32 {%o0, %o1, %o2}, [%t, {%f0, %f1}];",
        "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];",
        "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t];",
        "tex.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];",
        "tld4.r.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];",
        "suld.2d.b32.trap {%o0}, [%t, {%r0, %r1}];",
        "sust.b.2d.v4.b64.trap [%t, {%r0, %r1}], {%d0, %d0, %d0, %d0};",
        "sured.b.xor.2d.b32.trap [%t, {%r0, %r1}], %r4;",
        "txq.colour.b32 %o0, [%t];",
        "tex.slow.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
        "sust.b.2d.b32.wrap [%t, {%r0, %r1}], {%r4};",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bench b = open_kernel(texts[i], false);
        expect_fault(&b, 0, EMU_BAD_PTX, "line");
        close_bench(&b);
    }
}

/* The fuzzer's seed: every form decodes, so that the first one's handle is what is wrong. */
static void test_every_form(void **state) {
    (void)state;
    static char text[32768];
    FILE *file = fopen(ROOFPROF_SOURCE_DIR "/tests/fuzz/corpus/ptx/textures.ptx", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    bench b = open_bench(text, false);
    const uint64_t none = 0;
    const void *parameters[] = {&none, NULL};
    emu_fault fault = {0};
    const emu_status status =
        bench_try(b.device, b.module, "every", (bench_shape){.grid = 1, .block = 1}, parameters,
                  NULL, &fault);
    if (status != EMU_ILLEGAL_ADDRESS || !strstr(fault.message, "names none"))
        fail_msg("%s", fault.message);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_cached),     cmocka_unit_test(test_surfaces),
        cmocka_unit_test(test_outside),    cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_references), cmocka_unit_test(test_samplers),
        cmocka_unit_test(test_queries),    cmocka_unit_test(test_bad_handles),
        cmocka_unit_test(test_traps),      cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
