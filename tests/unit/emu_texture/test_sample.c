/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetches held against a reference of the test's own: it keeps the texels in a plain table, and
 * works the programming guide's formulas out from the outside in (a blend along z of blends along y
 * of blends along x) in double precision, texels outside found by the guide's rules for
 * coordinates and not by those for indices. All shapes x address modes x filters x kinds of
 * coordinates x texels, at random places, at edges and far outside. */
#include "emulator/texture/texture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The reference ---- */

typedef struct model {
    emu_shape shape;
    int size[3], layers, levels; /* of level 0 */
    emu_texel texel;
    double *value[EMU_MAX_LEVELS]; /* four channels a texel, as a fetch without filter gives them */
    const emu_sampler *sampler;
    bool floats;
} model;

static int shrunk(int size, int level) {
    return size >> level > 1 ? size >> level : 1;
}

static int dimensions(emu_shape shape) {
    return shape == EMU_SHAPE_1D || shape == EMU_SHAPE_1D_LAYERED ? 1
           : shape == EMU_SHAPE_3D                                ? 3
                                                                  : 2;
}

static int size_at(const model *m, int dimension, int level) {
    return dimension < dimensions(m->shape) ? shrunk(m->size[dimension], level) : 1;
}

static const double *stored(const model *m, int level, int x, int y, int z) {
    return m->value[level] + 4 * (((size_t)z * (size_t)size_at(m, 1, level) + (size_t)y) *
                                      (size_t)size_at(m, 0, level) +
                                  (size_t)x);
}

/* The texel whose centre is (i + 0.5) / N of the way along: the guide's rule for its coordinate. */
static bool inside(const model *m, int dimension, int n, long i, int *index) {
    const double c = ((double)i + 0.5) / n;
    double folded = c;
    emu_address_mode mode = m->sampler->address[dimension];
    if (!m->sampler->normalized && mode != EMU_ADDRESS_BORDER)
        mode = EMU_ADDRESS_CLAMP;
    if (mode == EMU_ADDRESS_BORDER && (c < 0 || c > 1))
        return false;
    if (mode == EMU_ADDRESS_WRAP)
        folded = c - floor(c);
    if (mode == EMU_ADDRESS_MIRROR)
        folded = fmod(floor(c), 2) == 0 ? c - floor(c) : 1 - (c - floor(c));
    folded = folded < 0 ? 0 : folded > 1 ? 1 : folded;
    *index = (int)floor(folded * n);
    *index = *index >= n ? n - 1 : *index;
    return true;
}

static void texel_at(const model *m, int level, const long i[3], int layer, double out[4]) {
    int at[3] = {0, 0, layer};
    for (int d = 0; d < dimensions(m->shape); d++) {
        if (inside(m, d, size_at(m, d, level), i[d], &at[d]))
            continue;
        for (int c = 0; c < 4; c++) {
            float border;
            memcpy(&border, &m->sampler->border[c], sizeof border);
            out[c] = c >= m->texel.channels ? (c == 3)
                     : m->floats            ? (double)border
                                            : (double)m->sampler->border[c];
        }
        return;
    }
    memcpy(out, stored(m, level, at[0], at[1], at[2]), 4 * sizeof *out);
}

/* Blends along dimension D, whose inner dimensions blend in turn. */
static void blend(const model *m, int level, int d, const double at[3], long i[3], int layer,
                  double out[4]) {
    if (d < 0) {
        texel_at(m, level, i, layer, out);
        return;
    }
    if (!m->sampler->linear) {
        i[d] = (long)floor(at[d]);
        blend(m, level, d - 1, at, i, layer, out);
        return;
    }
    const double b = at[d] - 0.5, weight = round((b - floor(b)) * 256) / 256;
    double low[4], high[4];
    i[d] = (long)floor(b);
    blend(m, level, d - 1, at, i, layer, low);
    i[d] = (long)floor(b) + 1;
    blend(m, level, d - 1, at, i, layer, high);
    for (int c = 0; c < 4; c++)
        out[c] = (1 - weight) * low[c] + weight * high[c];
}

static void reference(const model *m, int level, const float coordinate[3], int layer,
                      double out[4]) {
    double at[3];
    long i[3] = {0};
    for (int d = 0; d < 3; d++) {
        at[d] = (double)coordinate[d];
        if (m->sampler->normalized) {
            if (m->sampler->address[d] == EMU_ADDRESS_WRAP)
                at[d] -= floor(at[d]);
            if (m->sampler->address[d] == EMU_ADDRESS_MIRROR) {
                const double whole = floor(at[d]), rest = at[d] - whole;
                at[d] = fmod(fabs(whole), 2) == 0 ? rest : 1 - rest;
            }
            at[d] *= size_at(m, d, level);
        }
    }
    layer = layer < 0 ? 0 : layer >= m->layers ? m->layers - 1 : layer;
    blend(m, level, dimensions(m->shape) - 1, at, i, m->shape == EMU_SHAPE_3D ? 0 : layer, out);
}

/* ---- The thing itself, with the same texels ---- */

typedef struct subject {
    emu_array_spec spec;
    emu_view view;
    uint8_t *memory;
    model model;
} subject;

static uint32_t seed = 1;

static uint32_t draw(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static float draw_between(float low, float high) {
    return low + (high - low) * (float)(draw() & 0xffff) / 65536;
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

/* A random channel in memory, and what a fetch makes of it. */
static double draw_channel(emu_texel t, bool normalized, uint8_t *to) {
    if (t.channel == EMU_CHANNEL_FLOAT) {
        const int eighths = (int)(draw() % 4096) - 2048; /* short enough for a half, too */
        const float value = (float)eighths / 8;
        const uint16_t half = half_of(value); /* exact */
        memcpy(to, t.bits == 32 ? (const void *)&value : (const void *)&half, t.bits / 8);
        return (double)value;
    }
    const uint32_t mask = t.bits == 32 ? UINT32_MAX : (1u << t.bits) - 1;
    const uint32_t bits = (draw() << 16 ^ draw()) & mask;
    const bool sign = t.channel == EMU_CHANNEL_SINT || t.channel == EMU_CHANNEL_SNORM;
    const int64_t number =
        sign && bits >> (t.bits - 1) ? (int64_t)bits - ((int64_t)mask + 1) : bits;
    memcpy(to, &bits, t.bits / 8);
    if (!normalized)
        return (double)number;
    return sign ? fmax(-1, (double)number / (mask >> 1)) : (double)number / mask;
}

static void fill_level(subject *s, int level) {
    model *m = &s->model;
    const emu_image *image = &s->view.level[level];
    const emu_texel t = s->spec.texel;
    m->value[level] =
        calloc((size_t)image->width * image->height * image->depth * 4, sizeof *m->value[level]);
    assert_non_null(m->value[level]);
    double *value = m->value[level];
    for (uint32_t z = 0; z < image->depth; z++)
        for (uint32_t y = 0; y < image->height; y++)
            for (uint32_t x = 0; x < image->width; x++, value += 4) {
                uint8_t bytes[16];
                value[3] = 1;
                for (int c = 0; c < t.channels; c++)
                    value[c] = draw_channel(t, m->floats && t.channel != EMU_CHANNEL_FLOAT,
                                            bytes + c * t.bits / 8);
                emu_image_write(image, (uint64_t)x * emu_texel_bytes(t), y, z, bytes,
                                emu_texel_bytes(t));
            }
}

static subject make(emu_shape shape, emu_texel texel, int width, int height, int depth, int levels,
                    const emu_sampler *sampler) {
    subject s = {.spec = {shape, texel, (uint32_t)width, (uint32_t)height, (uint32_t)depth,
                          (uint32_t)levels}};
    emu_image level[EMU_MAX_LEVELS];
    const uint64_t size = emu_array_layout(&s.spec, level);
    const emu_window window = {.shape = shape, .texel = texel};
    assert_true(size > 0);
    s.memory = aligned_alloc(512, size);
    assert_non_null(s.memory);
    assert_true(emu_view_of_levels(&s.spec, level, &window, &s.view));
    s.model = (model){.shape = shape,
                      .size = {width, height, depth},
                      .layers = shape == EMU_SHAPE_3D ? 1 : depth,
                      .levels = levels,
                      .texel = texel,
                      .sampler = sampler,
                      .floats = emu_texel_reads_float(texel, sampler->reads_normalized)};
    for (int l = 0; l < levels; l++) {
        s.view.level[l].base += (uint64_t)(uintptr_t)s.memory;
        fill_level(&s, l);
    }
    return s;
}

static void drop(subject *s) {
    for (int l = 0; l < s->model.levels; l++)
        free(s->model.value[l]);
    free(s->memory);
}

/* Whether VALUE is the reference's OUT: single precision, blended of numbers up to LARGEST. */
static void compare(const model *m, const uint32_t value[4], const double out[4], double largest,
                    const emu_fetch *f) {
    for (int c = 0; c < 4; c++) {
        float got;
        memcpy(&got, &value[c], sizeof got);
        const double number = m->floats                              ? (double)got
                              : m->texel.channel == EMU_CHANNEL_SINT ? (double)(int32_t)value[c]
                                                                     : (double)value[c];
        const double allowed = m->floats ? (m->sampler->linear ? largest * 1e-6 : 1e-7) : 0;
        if (!(fabs(number - out[c]) <= allowed))
            fail_msg("shape %d, %d x %d x %d, %s %s, address %d %d %d, texel %d of %d bits x %d, "
                     "channel %d at %.9g %.9g %.9g layer %u: %.9g, reference %.9g",
                     (int)m->shape, m->size[0], m->size[1], m->size[2],
                     m->sampler->normalized ? "normalized" : "texel coordinates",
                     m->sampler->linear ? "linear" : "nearest", (int)m->sampler->address[0],
                     (int)m->sampler->address[1], (int)m->sampler->address[2],
                     (int)m->texel.channel, m->texel.bits, m->texel.channels, c, (double)f->at[0],
                     (double)f->at[1], (double)f->at[2], f->layer, number, out[c]);
    }
}

/* A coordinate: somewhere around, on an edge or a centre, or far away. */
static float draw_coordinate(int size, bool normalized) {
    const float scale = normalized ? 1.0f / (float)size : 1;
    switch (draw() % 4) {
    case 0:
        return draw_between(-2, 3) * (normalized ? 1 : (float)size);
    case 1:
        return (float)((int)(draw() % (unsigned)(3 * size + 1)) - size) * scale;
    case 2:
        return ((float)((int)(draw() % (unsigned)(3 * size)) - size) + 0.5f) * scale;
    default:
        return draw_between(0, 1) * (normalized ? 1 : (float)size);
    }
}

static void hold(const subject *s, int times) {
    const model *m = &s->model;
    const double largest = m->texel.channel == EMU_CHANNEL_FLOAT ? 256 : 2;
    for (int n = 0; n < times; n++) {
        emu_fetch f = {.layer = draw() % (unsigned)(m->layers + 2)};
        emu_touched touched = {.count = 0};
        uint32_t value[4];
        double out[4];
        for (int d = 0; d < 3; d++)
            f.at[d] = draw_coordinate(m->size[d] ? m->size[d] : 1, m->sampler->normalized);
        emu_sample(&s->view, m->sampler, &f, value, &touched);
        reference(m, 0, f.at, (int)f.layer, out);
        compare(m, value, out, largest, &f);
        assert_true(touched.count <= (m->sampler->linear ? 1u << dimensions(m->shape) : 1u));
    }
}

static const emu_texel texels[] = {
    {EMU_CHANNEL_FLOAT, 32, 1}, {EMU_CHANNEL_FLOAT, 32, 2}, {EMU_CHANNEL_FLOAT, 32, 4},
    {EMU_CHANNEL_FLOAT, 16, 1}, {EMU_CHANNEL_FLOAT, 16, 4}, {EMU_CHANNEL_UINT, 8, 1},
    {EMU_CHANNEL_UINT, 8, 4},   {EMU_CHANNEL_SINT, 8, 2},   {EMU_CHANNEL_UINT, 16, 2},
    {EMU_CHANNEL_SINT, 16, 4},  {EMU_CHANNEL_UINT, 32, 1},  {EMU_CHANNEL_SINT, 32, 4},
    {EMU_CHANNEL_UNORM, 8, 4},  {EMU_CHANNEL_SNORM, 8, 1},  {EMU_CHANNEL_UNORM, 16, 1},
    {EMU_CHANNEL_SNORM, 16, 2},
};

static void test_everything(void **state) {
    (void)state;
    static const struct {
        emu_shape shape;
        int width, height, depth;
    } shapes[] = {{EMU_SHAPE_1D, 13, 1, 1},         {EMU_SHAPE_2D, 19, 11, 1},
                  {EMU_SHAPE_3D, 7, 9, 5},          {EMU_SHAPE_1D_LAYERED, 8, 1, 3},
                  {EMU_SHAPE_2D_LAYERED, 16, 6, 4}, {EMU_SHAPE_2D, 1, 1, 1}};
    const float border[4] = {0.25f, -3, 7, 0.5f};
    for (size_t t = 0; t < sizeof texels / sizeof *texels; t++)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            for (unsigned way = 0; way < 4 * 4 * 2 * 2 * 2; way++) {
                emu_sampler sampler = {.address = {(emu_address_mode)(way & 3),
                                                   (emu_address_mode)(way >> 2 & 3),
                                                   (emu_address_mode)(way & 3)},
                                       .linear = way >> 4 & 1,
                                       .normalized = way >> 5 & 1,
                                       .reads_normalized = way >> 6 & 1};
                const bool floats = emu_texel_reads_float(texels[t], sampler.reads_normalized);
                if (sampler.linear && !floats)
                    continue; /* integers are not blended */
                if (floats)
                    memcpy(sampler.border, border, sizeof border);
                else
                    sampler.border[0] = 77;
                subject s = make(shapes[n].shape, texels[t], shapes[n].width, shapes[n].height,
                                 shapes[n].depth, 1, &sampler);
                hold(&s, 12);
                drop(&s);
            }
}

/* ---- Integer coordinates, offsets, linear and pitched memory ---- */

static void test_whole_coordinates(void **state) {
    (void)state;
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_BORDER},
                                 .linear = true}; /* which they do not use */
    subject s = make(EMU_SHAPE_2D, texels[0], 10, 6, 1, 1, &sampler);
    for (int y = -3; y < 9; y++)
        for (int x = -3; x < 13; x++) {
            const emu_fetch f = {.integer = true, .whole = {x, y}};
            emu_touched touched = {.count = 0};
            uint32_t value[4];
            float got;
            emu_sample(&s.view, &sampler, &f, value, &touched);
            memcpy(&got, value, sizeof got);
            const int at = x < 0 ? 0 : x > 9 ? 9 : x;
            const double wanted = y < 0 || y > 5 ? 0 : stored(&s.model, 0, at, y, 0)[0];
            assert_true((double)got == wanted);
            assert_int_equal(touched.count, y >= 0 && y <= 5);
        }
    drop(&s);
}

static void test_offsets(void **state) {
    (void)state;
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};
    subject s = make(EMU_SHAPE_2D, texels[0], 20, 20, 1, 1, &sampler);
    for (int offset = -8; offset < 8; offset++) {
        const emu_fetch f = {.at = {10.5f, 9.5f}, .offset = {offset, -offset}};
        emu_touched touched = {.count = 0};
        uint32_t value[4];
        float got;
        emu_sample(&s.view, &sampler, &f, value, &touched);
        memcpy(&got, value, sizeof got);
        const int x = 10 + offset, y = offset == -8 ? 17 - 16 : 9 - offset;
        /* 8 does not fit the four bits of an offset: it is -8 */
        assert_true((double)got == stored(&s.model, 0, x, y, 0)[0]);
    }
    drop(&s);
}

static void test_memory(void **state) {
    (void)state;
    float line[64];
    emu_view v;
    const emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};
    for (int i = 0; i < 64; i++)
        line[i] = (float)i + 1;
    emu_view_of_memory((uint64_t)(uintptr_t)line, texels[0], 50, 0, 0, &v);
    for (int x = -2; x < 53; x++) {
        const emu_fetch whole = {.integer = true, .whole = {x}}, at = {.at = {(float)x + 0.5f}};
        const emu_fetch *both[] = {&whole, &at};
        for (int n = 0; n < 2; n++) {
            emu_touched touched = {.count = 0};
            uint32_t value[4];
            float got[4];
            emu_sample(&v, &sampler, both[n], value, &touched);
            memcpy(got, value, sizeof got);
            assert_true(got[0] == (x < 0 || x >= 50 ? 0 : (float)x + 1));
            assert_true(got[1] == 0 && got[3] == 1);
        }
    }
    emu_view_of_memory((uint64_t)(uintptr_t)line, texels[0], 5, 4, 16 * sizeof *line, &v);
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 6; x++) {
            const emu_fetch f = {.at = {(float)x + 0.5f, (float)y + 0.5f}};
            emu_touched touched = {.count = 0};
            uint32_t value[4];
            float got;
            emu_sample(&v, &sampler, &f, value, &touched);
            memcpy(&got, value, sizeof got);
            assert_true(got == line[(y > 3 ? 3 : y) * 16 + (x > 4 ? 4 : x)]);
            assert_int_equal(touched.count, 1);
        }
}

/* ---- Gathers ---- */

static void test_gather(void **state) {
    (void)state;
    static const int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    emu_sampler sampler = {.address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}};
    for (int integers = 0; integers < 2; integers++) {
        subject s = make(EMU_SHAPE_2D, texels[integers ? 6 : 2], 9, 7, 1, 1, &sampler);
        for (int n = 0; n < 200; n++) {
            const float at[2] = {draw_between(-2, 11), draw_between(-2, 9)};
            const int component = (int)(draw() % 4);
            const emu_fetch f = {
                .at = {at[0], at[1]}, .gather = true, .component = (uint8_t)component};
            emu_touched touched = {.count = 0};
            uint32_t value[4];
            emu_sample(&s.view, &sampler, &f, value, &touched);
            assert_int_equal(touched.count, 4);
            for (int i = 0; i < 4; i++) {
                int x = (int)floorf(at[0] - 0.5f) + order[i][0];
                int y = (int)floorf(at[1] - 0.5f) + order[i][1];
                x = x < 0 ? 0 : x > 8 ? 8 : x;
                y = y < 0 ? 0 : y > 6 ? 6 : y;
                float got;
                memcpy(&got, &value[i], sizeof got);
                assert_true((integers ? (double)value[i] : (double)got) ==
                            stored(&s.model, 0, x, y, 0)[component]);
            }
        }
        drop(&s);
    }
}

/* ---- Levels ---- */

static void expect_level(const subject *s, float lod, double level) {
    const model *m = &s->model;
    for (int n = 0; n < 20; n++) {
        emu_fetch f = {.at = {draw_between(0, 1), draw_between(0, 1)}, .lod = lod};
        emu_touched touched = {.count = 0};
        uint32_t value[4];
        double low[4], high[4], rest = level - floor(level);
        emu_sample(&s->view, m->sampler, &f, value, &touched);
        reference(m, (int)level, f.at, 0, low);
        reference(m, rest > 0 ? (int)level + 1 : (int)level, f.at, 0, high);
        for (int c = 0; c < 4; c++)
            low[c] = (1 - rest) * low[c] + rest * high[c];
        emu_sampler tolerant = *m->sampler; /* blends of levels round, too */
        model looser = *m;
        tolerant.linear = true;
        looser.sampler = &tolerant;
        compare(&looser, value, low, 256, &f);
    }
}

static void test_levels(void **state) {
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        emu_sampler sampler = {.address = {EMU_ADDRESS_WRAP, EMU_ADDRESS_MIRROR},
                               .linear = linear,
                               .normalized = true,
                               .mip_most = 100};
        subject s = make(EMU_SHAPE_2D, texels[2], 32, 16, 1, 6, &sampler);
        expect_level(&s, 0, 0);
        expect_level(&s, 1.4f, 1);
        expect_level(&s, 1.5f, 2);
        expect_level(&s, 99, 5);
        expect_level(&s, -3, 0);
        expect_level(&s, NAN, 0);
        sampler.mip_linear = true;
        expect_level(&s, 1.25f, 1.25);
        expect_level(&s, 2.0f + 1.0f / 1024, 2); /* 8 bits of fraction */
        expect_level(&s, 99, 5);
        sampler.mip_bias = 1;
        expect_level(&s, 0.5f, 1.5);
        sampler.mip_least = 2;
        sampler.mip_most = 3.5f;
        expect_level(&s, 0, 2);
        expect_level(&s, 9, 3.5);
        drop(&s);
    }
}

static void test_gradients(void **state) {
    (void)state;
    emu_sampler sampler = {.normalized = true, .mip_most = 100};
    subject s = make(EMU_SHAPE_2D, texels[0], 64, 32, 1, 1, &sampler);
    const float at[3] = {0};
    assert_float_equal(emu_sample_lod(&s.view, &sampler, at, (float[3]){4.0f / 64, 0, 0},
                                      (float[3]){0, 1.0f / 32, 0}),
                       2, 1e-6);
    assert_float_equal(
        emu_sample_lod(&s.view, &sampler, at, (float[3]){0}, (float[3]){3.0f / 64, 4.0f / 32, 9}),
        log2f(5), 1e-6);
    assert_float_equal(emu_sample_lod(&s.view, &sampler, at, (float[3]){0}, (float[3]){0}), 0, 0);
    sampler.normalized = false;
    assert_float_equal(emu_sample_lod(&s.view, &sampler, at, (float[3]){8, 0, 0}, (float[3]){0}), 3,
                       1e-6);
    drop(&s);
}

/* ---- Cubes ---- */

/* The guide's table of faces. */
static void test_faces(void **state) {
    (void)state;
    static const struct {
        float direction[3];
        uint32_t face;
        double s, t;
    } rows[] = {{{1, 0, 0}, 0, 0.5, 0.5},    {{-1, 0, 0}, 1, 0.5, 0.5},
                {{0, 1, 0}, 2, 0.5, 0.5},    {{0, -1, 0}, 3, 0.5, 0.5},
                {{0, 0, 1}, 4, 0.5, 0.5},    {{0, 0, -1}, 5, 0.5, 0.5},
                {{2, 1, -1}, 0, 0.75, 0.25}, {{-2, 1, -1}, 1, 0.25, 0.25},
                {{1, 2, -1}, 2, 0.75, 0.25}, {{1, -2, -1}, 3, 0.75, 0.75},
                {{1, -1, 2}, 4, 0.75, 0.75}, {{1, -1, -2}, 5, 0.25, 0.75},
                {{0, 0, 0}, 0, 0.5, 0.5},    {{NAN, 1, INFINITY}, 4, 0.5, 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double s, t;
        const uint32_t face = emu_cube_face(rows[i].direction, &s, &t);
        if (rows[i].direction[0] == rows[i].direction[0])
            assert_int_equal(face, rows[i].face);
        assert_true(face < 6);
        assert_float_equal(s, rows[i].s, 1e-12);
        assert_float_equal(t, rows[i].t, 1e-12);
    }
}

static void test_cubes(void **state) {
    (void)state;
    emu_sampler sampler = {.linear = true};
    subject s = make(EMU_SHAPE_CUBE_LAYERED, texels[2], 8, 8, 18, 1, &sampler);
    const emu_sampler flat = {
        .address = {EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP}, .linear = true, .normalized = true};
    for (int n = 0; n < 500; n++) {
        emu_fetch f = {.at = {draw_between(-1, 1), draw_between(-1, 1), draw_between(-1, 1)},
                       .layer = draw() % 4};
        emu_touched touched = {.count = 0};
        uint32_t value[4];
        double u, v, out[4];
        const uint32_t face = emu_cube_face(f.at, &u, &v);
        emu_sample(&s.view, &sampler, &f, value, &touched);
        /* the same as the face as a texture of two dimensions */
        model m = s.model;
        m.shape = EMU_SHAPE_2D_LAYERED;
        m.sampler = &flat;
        const uint32_t cube = f.layer < 3 ? f.layer : 2;
        const float at[3] = {(float)u, (float)v, 0};
        if (fabs(nearbyint(u * 2048 - 128) - (u * 2048 - 128)) > 0.499 ||
            fabs(nearbyint(v * 2048 - 128) - (v * 2048 - 128)) > 0.499)
            continue; /* so near to the next weight that single precision may be over it */
        reference(&m, 0, at, (int)(cube * 6 + face), out);
        compare(&m, value, out, 256, &f);
    }
    drop(&s);
}

/* Over an edge the two faces' fetches meet: seamless is continuous there, the other is not. */
static void test_seamless(void **state) {
    (void)state;
    for (int seamless = 0; seamless < 2; seamless++) {
        const emu_sampler sampler = {.linear = true, .seamless = seamless};
        subject s = make(EMU_SHAPE_CUBE, texels[0], 8, 8, 6, 1, &sampler);
        double worst = 0;
        for (int edge = 0; edge < 12; edge++)
            for (int n = 0; n < 10; n++) {
                const float along = draw_between(-0.8f, 0.8f), near = 1.0f - 1.0f / 65536;
                const float a = edge & 1 ? -1 : 1, b = edge & 2 ? -1 : 1;
                const int one = edge / 4, two = (one + 1) % 3, three = (one + 2) % 3;
                double value[2];
                for (int side = 0; side < 2; side++) {
                    emu_fetch f = {.layer = 0};
                    emu_touched touched = {.count = 0};
                    uint32_t bits[4];
                    float got;
                    f.at[one] = side ? a : a * near;
                    f.at[two] = side ? b * near : b;
                    f.at[three] = along;
                    emu_sample(&s.view, &sampler, &f, bits, &touched);
                    memcpy(&got, bits, sizeof got);
                    value[side] = (double)got;
                }
                worst = fmax(worst, fabs(value[0] - value[1]));
            }
        if (seamless)
            assert_true(worst < 5); /* of texels up to 256: the step of a weight, and rounding */
        else
            assert_true(worst > 50);
        drop(&s);
    }
}

/* ---- Whatever comes ---- */

static void test_any_bits(void **state) {
    (void)state;
    for (int n = 0; n < 20000; n++) {
        static const emu_shape shapes[] = {EMU_SHAPE_1D, EMU_SHAPE_2D, EMU_SHAPE_3D,
                                           EMU_SHAPE_CUBE_LAYERED};
        emu_sampler sampler = {.address = {(emu_address_mode)(draw() & 3),
                                           (emu_address_mode)(draw() & 3),
                                           (emu_address_mode)(draw() & 3)},
                               .linear = draw() & 1,
                               .mip_linear = draw() & 1,
                               .normalized = draw() & 1,
                               .seamless = draw() & 1,
                               .mip_most = 5};
        const emu_shape shape = shapes[draw() % 4];
        static const int sides[] = {1, 2, 5};
        const int size = sides[draw() % 3];
        subject s = make(shape, texels[0], size, shape == EMU_SHAPE_1D ? 1 : size,
                         shape == EMU_SHAPE_CUBE_LAYERED ? 6
                         : shape == EMU_SHAPE_3D         ? size
                                                         : 1,
                         1, &sampler);
        for (int k = 0; k < 4; k++) {
            emu_fetch f = {.gather = draw() & 1, .component = 2};
            emu_touched touched = {.count = 0};
            uint32_t value[4], bits[6];
            for (int i = 0; i < 6; i++)
                bits[i] = draw() << 16 ^ draw();
            bits[draw() % 6] |= 0x7f800000u; /* infinite, or not a number */
            memcpy(f.at, bits, sizeof f.at);
            memcpy(&f.lod, &bits[3], sizeof f.lod);
            f.layer = bits[4];
            f.integer = shape != EMU_SHAPE_CUBE_LAYERED && !f.gather && (bits[5] & 1);
            memcpy(f.whole, bits, sizeof f.whole);
            emu_sample(&s.view, &sampler, &f, value, &touched);
            const uint64_t low = (uint64_t)(uintptr_t)s.memory;
            for (unsigned i = 0; i < touched.count; i++)
                assert_true(touched.address[i] >= low && touched.address[i] < low + 65536);
        }
        drop(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything), cmocka_unit_test(test_whole_coordinates),
        cmocka_unit_test(test_offsets),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_gather),     cmocka_unit_test(test_levels),
        cmocka_unit_test(test_gradients),  cmocka_unit_test(test_faces),
        cmocka_unit_test(test_cubes),      cmocka_unit_test(test_seamless),
        cmocka_unit_test(test_any_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
