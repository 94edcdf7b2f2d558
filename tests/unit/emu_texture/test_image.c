/* SPDX-License-Identifier: Apache-2.0
 *
 * Texels to values and back, and the layout of arrays: every texel of every level has a place of
 * its own inside the array, rows come back as they were written, sectors and lines hold the
 * neighbours that the layout promises. */
#include "emulator/texture/texture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static emu_texel texel(emu_channel channel, int bits, int channels) {
    return (emu_texel){channel, (uint8_t)bits, (uint8_t)channels};
}

static float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t as_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* ---- Texels ---- */

static void test_valid(void **state) {
    (void)state;
    int valid = 0;
    for (int channel = EMU_CHANNEL_UINT; channel <= EMU_CHANNEL_SNORM; channel++)
        for (int bits = 0; bits <= 64; bits++)
            for (int channels = 0; channels <= 5; channels++)
                valid += emu_texel_valid(texel((emu_channel)channel, bits, channels));
    assert_int_equal(valid, 3 * (3 + 3 + 2 + 2 + 2));
}

static void test_integers(void **state) {
    (void)state;
    const uint8_t bytes[4] = {0, 127, 128, 255};
    uint32_t v[4];
    emu_texel_load(texel(EMU_CHANNEL_UINT, 8, 4), bytes, v);
    for (int i = 0; i < 4; i++)
        assert_int_equal(v[i], bytes[i]);
    emu_texel_load(texel(EMU_CHANNEL_SINT, 8, 4), bytes, v);
    assert_int_equal((int32_t)v[1], 127);
    assert_int_equal((int32_t)v[2], -128);
    assert_int_equal((int32_t)v[3], -1);
    const int16_t shorts[2] = {-32768, 32767};
    emu_texel_load(texel(EMU_CHANNEL_SINT, 16, 2), shorts, v);
    assert_int_equal((int32_t)v[0], -32768);
    assert_int_equal((int32_t)v[1], 32767);
    assert_int_equal(v[2], 0); /* channels that are not there */
    assert_int_equal(v[3], 1);
    const uint32_t word = 0x80000001u;
    emu_texel_load(texel(EMU_CHANNEL_UINT, 32, 1), &word, v);
    assert_int_equal(v[0], word);
}

static void test_floats(void **state) {
    (void)state;
    const uint16_t halves[4] = {0x3c00, 0xc000, 0x0001, 0x7c00}; /* 1, -2, 2^-24, infinity */
    float f[4];
    uint32_t v[4];
    emu_texel_load_float(texel(EMU_CHANNEL_FLOAT, 16, 4), false, false, halves, f);
    assert_true(f[0] == 1 && f[1] == -2 && f[2] == ldexpf(1, -24) && isinf(f[3]));
    emu_texel_load(texel(EMU_CHANNEL_FLOAT, 16, 2), halves, v);
    assert_true(as_float(v[0]) == 1 && as_float(v[1]) == -2 && as_float(v[2]) == 0 &&
                as_float(v[3]) == 1);
    const float one[1] = {0.3f};
    emu_texel_load_float(texel(EMU_CHANNEL_FLOAT, 32, 1), true, true, one, f);
    assert_true(f[0] == 0.3f && f[1] == 0 && f[2] == 0 && f[3] == 1);
}

static void test_normalized(void **state) {
    (void)state;
    const uint8_t bytes[4] = {0, 255, 51, 128};
    const int8_t sbytes[4] = {-128, -127, 127, 64};
    const uint16_t shorts[2] = {65535, 13107};
    float f[4];
    emu_texel_load_float(texel(EMU_CHANNEL_UINT, 8, 4), true, false, bytes, f);
    assert_true(f[0] == 0 && f[1] == 1 && f[2] == 0.2f && f[3] == 128 / 255.0f);
    emu_texel_load_float(texel(EMU_CHANNEL_UNORM, 8, 4), false, false, bytes, f);
    assert_true(f[1] == 1);
    emu_texel_load_float(texel(EMU_CHANNEL_SINT, 8, 4), true, false, sbytes, f);
    assert_true(f[0] == -1 && f[1] == -1 && f[2] == 1 && f[3] == 64 / 127.0f);
    emu_texel_load_float(texel(EMU_CHANNEL_UINT, 16, 2), true, false, shorts, f);
    assert_true(f[0] == 1 && f[1] == 0.2f);
    assert_true(emu_texel_reads_float(texel(EMU_CHANNEL_UINT, 16, 1), true));
    assert_false(emu_texel_reads_float(texel(EMU_CHANNEL_UINT, 32, 1), true));
    assert_false(emu_texel_reads_float(texel(EMU_CHANNEL_UINT, 8, 1), false));
}

/* The standard's own inverse: encoding what was decoded gives the byte back. */
static void test_srgb(void **state) {
    (void)state;
    for (int i = 0; i < 256; i++) {
        const uint8_t bytes[4] = {(uint8_t)i, (uint8_t)i, (uint8_t)i, (uint8_t)i};
        float f[4];
        emu_texel_load_float(texel(EMU_CHANNEL_UINT, 8, 4), true, true, bytes, f);
        const double v = (double)f[1];
        const double encoded = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
        assert_int_equal(lrint(encoded * 255), i);
        assert_true(f[3] == (float)i / 255); /* alpha is linear */
    }
}

static void test_store(void **state) {
    (void)state;
    const uint32_t floats[4] = {as_bits(-1.5f), as_bits(0.5f), as_bits(NAN), as_bits(2)};
    const uint32_t numbers[4] = {(uint32_t)-5, 300, 70000, 0x7fffffff};
    uint8_t bytes[4];
    int8_t sbytes[4];
    uint16_t shorts[4];
    emu_texel_store(texel(EMU_CHANNEL_UNORM, 8, 4), bytes, floats);
    assert_true(bytes[0] == 0 && bytes[1] == 128 && bytes[2] == 0 && bytes[3] == 255);
    emu_texel_store(texel(EMU_CHANNEL_SNORM, 8, 4), sbytes, floats);
    assert_true(sbytes[0] == -127 && sbytes[1] == 64 && sbytes[2] == 0 && sbytes[3] == 127);
    emu_texel_store(texel(EMU_CHANNEL_SINT, 8, 4), sbytes, numbers);
    assert_true(sbytes[0] == -5 && sbytes[1] == 127 && sbytes[2] == 127 && sbytes[3] == 127);
    emu_texel_store(texel(EMU_CHANNEL_UINT, 16, 4), shorts, numbers);
    assert_true(shorts[0] == 65535 && shorts[1] == 300 && shorts[2] == 65535);
    emu_texel_store(texel(EMU_CHANNEL_FLOAT, 16, 4), shorts, floats);
    assert_true(shorts[0] == 0xbe00 && shorts[1] == 0x3800 && shorts[3] == 0x4000);
}

/* ---- Layout ---- */

static const emu_array_spec specs[] = {
    {EMU_SHAPE_1D, {EMU_CHANNEL_FLOAT, 32, 1}, 1000, 1, 1, 1},
    {EMU_SHAPE_1D_LAYERED, {EMU_CHANNEL_UINT, 8, 4}, 37, 1, 5, 3},
    {EMU_SHAPE_2D, {EMU_CHANNEL_UINT, 8, 1}, 131, 9, 1, 8},
    {EMU_SHAPE_2D, {EMU_CHANNEL_FLOAT, 32, 4}, 5, 50, 1, 1},
    {EMU_SHAPE_2D_LAYERED, {EMU_CHANNEL_UINT, 16, 2}, 20, 17, 3, 2},
    {EMU_SHAPE_3D, {EMU_CHANNEL_UINT, 32, 2}, 9, 10, 11, 4},
    {EMU_SHAPE_CUBE_LAYERED, {EMU_CHANNEL_FLOAT, 16, 4}, 16, 16, 12, 5},
};

/* Marks the bytes of all texels in a map of the array. */
static void mark_level(const emu_image *i, uint32_t bytes, uint8_t *map, uint64_t size) {
    for (uint32_t z = 0; z < i->depth; z++)
        for (uint32_t y = 0; y < i->height; y++)
            for (uint32_t x = 0; x < i->width; x++) {
                const uint64_t at = emu_image_address(i, (uint64_t)x * bytes, y, z);
                assert_int_equal(at % bytes, 0);
                assert_true(at + bytes <= size);
                for (uint32_t b = 0; b < bytes; b++) {
                    assert_int_equal(map[at + b], 0);
                    map[at + b] = 1;
                }
            }
}

static void test_layout(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
        emu_image level[EMU_MAX_LEVELS];
        const uint64_t size = emu_array_layout(&specs[n], level);
        assert_true(size > 0);
        uint8_t *map = calloc(size, 1);
        assert_non_null(map);
        for (uint32_t l = 0; l < specs[n].levels; l++)
            mark_level(&level[l], emu_texel_bytes(specs[n].texel), map, size);
        free(map);
    }
}

static void test_levels(void **state) {
    (void)state;
    assert_int_equal(emu_array_levels(&specs[2]), 8);
    assert_int_equal(emu_array_levels(&specs[5]), 4);
    emu_image level[EMU_MAX_LEVELS];
    emu_array_layout(&specs[5], level);
    assert_int_equal(level[3].width, 1);
    assert_int_equal(level[1].height, 5);
    assert_int_equal(level[2].depth, 2);
    emu_array_layout(&specs[6], level);
    assert_int_equal(level[4].depth, 12); /* layers stay */
}

static void test_no_layout(void **state) {
    (void)state;
    emu_image level[EMU_MAX_LEVELS];
    emu_array_spec none = specs[2];
    none.width = 0;
    assert_int_equal(emu_array_layout(&none, level), 0);
    none = specs[2];
    none.texel.channels = 3;
    assert_int_equal(emu_array_layout(&none, level), 0);
    none = specs[6];
    none.depth = 7; /* not whole cubes */
    assert_int_equal(emu_array_layout(&none, level), 0);
    none = specs[2];
    none.height = 1u << 18;
    assert_int_equal(emu_array_layout(&none, level), 0);
}

static void test_rows(void **state) {
    (void)state;
    emu_image level[EMU_MAX_LEVELS];
    const uint64_t size = emu_array_layout(&specs[2], level);
    uint8_t *memory = malloc(size), row[131], back[131];
    assert_non_null(memory);
    level[0].base += (uint64_t)(uintptr_t)memory;
    for (uint32_t y = 0; y < level[0].height; y++) {
        for (unsigned x = 0; x < sizeof row; x++)
            row[x] = (uint8_t)(x * 7 + y * 31);
        emu_image_write(&level[0], 0, y, 0, row, sizeof row);
    }
    for (unsigned from = 0; from < sizeof row; from += 13) {
        const uint64_t n = sizeof row - from < 29 ? sizeof row - from : 29;
        emu_image_read(&level[0], from, 5, 0, back, n);
        for (unsigned x = 0; x < n; x++)
            assert_int_equal(back[x], (uint8_t)((from + x) * 7 + 5 * 31));
    }
    free(memory);
}

/* 16 bytes of two rows share a sector, 32 bytes of four rows a line, 64 bytes of 8 rows a tile. */
static void test_neighbours(void **state) {
    (void)state;
    emu_image level[EMU_MAX_LEVELS];
    const emu_array_spec spec = {EMU_SHAPE_2D, {EMU_CHANNEL_UINT, 8, 1}, 128, 64, 1, 1};
    emu_array_layout(&spec, level);
    for (uint32_t y = 0; y < 64; y++)
        for (uint32_t x = 0; x < 128; x++) {
            const uint64_t at = emu_image_address(&level[0], x, y, 0);
            assert_int_equal(at / 32, emu_image_address(&level[0], x & ~15u, y & ~1u, 0) / 32);
            assert_int_equal(at / 128, emu_image_address(&level[0], x & ~31u, y & ~3u, 0) / 128);
            assert_int_equal(at / 512, emu_image_address(&level[0], x & ~63u, y & ~7u, 0) / 512);
        }
}

/* ---- Views ---- */

static void test_views(void **state) {
    (void)state;
    emu_image level[EMU_MAX_LEVELS];
    emu_view v;
    const emu_array_spec *spec = &specs[6]; /* two cubes of 16 x 16, five levels */
    emu_array_layout(spec, level);
    emu_window w = {.shape = EMU_SHAPE_CUBE_LAYERED, .texel = spec->texel};
    assert_true(emu_view_of_levels(spec, level, &w, &v));
    assert_int_equal(v.levels, 5);
    assert_int_equal(v.level[0].depth, 12);
    w = (emu_window){EMU_SHAPE_2D_LAYERED, spec->texel, 1, 2, 6, 3};
    assert_true(emu_view_of_levels(spec, level, &w, &v));
    assert_int_equal(v.levels, 2);
    assert_int_equal(v.level[0].width, 8);
    assert_int_equal(v.level[0].depth, 3);
    assert_true(v.level[0].base == level[1].base + 6 * level[1].slice);
    w.layers = 7; /* over the end */
    assert_false(emu_view_of_levels(spec, level, &w, &v));
    w = (emu_window){EMU_SHAPE_CUBE, spec->texel, 0, 0, 1, 5};
    assert_false(emu_view_of_levels(spec, level, &w, &v));
    w = (emu_window){EMU_SHAPE_3D, spec->texel, 0, 0, 0, 0};
    assert_false(emu_view_of_levels(spec, level, &w, &v));
    w = (emu_window){EMU_SHAPE_CUBE_LAYERED, spec->texel, 5, 0, 0, 0};
    assert_false(emu_view_of_levels(spec, level, &w, &v));
    /* texels of the same size as something else, and of another */
    w = (emu_window){EMU_SHAPE_CUBE_LAYERED, {EMU_CHANNEL_UINT, 32, 2}, 0, 0, 0, 0};
    assert_true(emu_view_of_levels(spec, level, &w, &v));
    w.texel.channels = 1;
    assert_false(emu_view_of_levels(spec, level, &w, &v));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),      cmocka_unit_test(test_integers),
        cmocka_unit_test(test_floats),     cmocka_unit_test(test_normalized),
        cmocka_unit_test(test_srgb),       cmocka_unit_test(test_store),
        cmocka_unit_test(test_layout),     cmocka_unit_test(test_levels),
        cmocka_unit_test(test_no_layout),  cmocka_unit_test(test_rows),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
