/* SPDX-License-Identifier: Apache-2.0
 *
 * Images: where the levels of an array lie, copies of rows, and the views that textures and
 * surfaces have of arrays and of memory. */
#include "emulator/texture/texture.h"

#include <string.h>

enum { TILE_BYTES = EMU_TILE_WIDTH * EMU_TILE_HEIGHT, LINEAR_ALIGNMENT = 512, RUN = 16 };

/* ---- Rows -------------------------------------------------------------------------------------
 */

static void *at(const emu_image *image, uint64_t x, uint32_t y, uint32_t z) {
    return (void *)(uintptr_t)emu_image_address(image, x, y, z);
}

/* Bytes from X on that lie together, COUNT at most. */
static uint64_t run_of(const emu_image *image, uint64_t x, uint64_t count) {
    const uint64_t run = image->tiled ? RUN - x % RUN : count;
    return run < count ? run : count;
}

void emu_image_read(const emu_image *image, uint64_t x, uint32_t y, uint32_t z, void *to,
                    uint64_t count) {
    for (uint64_t n; count; count -= n, x += n, to = (char *)to + n) {
        n = run_of(image, x, count);
        memmove(to, at(image, x, y, z), n);
    }
}

void emu_image_write(const emu_image *image, uint64_t x, uint32_t y, uint32_t z, const void *from,
                     uint64_t count) {
    for (uint64_t n; count; count -= n, x += n, from = (const char *)from + n) {
        n = run_of(image, x, count);
        memmove(at(image, x, y, z), from, n);
    }
}

/* ---- Layout -----------------------------------------------------------------------------------
 */

static uint32_t halved(uint32_t size, uint32_t level) {
    return size >> level ? size >> level : 1;
}

static bool has_rows(emu_shape shape) {
    return shape != EMU_SHAPE_1D && shape != EMU_SHAPE_1D_LAYERED;
}

uint32_t emu_array_levels(const emu_array_spec *spec) {
    uint32_t most = spec->width, levels = 1;
    if (has_rows(spec->shape) && spec->height > most)
        most = spec->height;
    if (spec->shape == EMU_SHAPE_3D && spec->depth > most)
        most = spec->depth;
    while (most >>= 1)
        levels++;
    return levels;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* The image of LEVEL, from address 0 on; its size. Sizes have 17 bits each, so nothing overflows.
 */
static uint64_t lay_out(const emu_array_spec *s, uint32_t level, emu_image *image) {
    *image = (emu_image){.width = halved(s->width, level),
                         .height = has_rows(s->shape) ? halved(s->height, level) : 1,
                         .depth = s->shape == EMU_SHAPE_3D ? halved(s->depth, level) : s->depth,
                         .tiled = has_rows(s->shape)};
    const uint64_t row = (uint64_t)image->width * emu_texel_bytes(s->texel);
    if (image->tiled) {
        image->pitch = round_up(row, EMU_TILE_WIDTH) * EMU_TILE_HEIGHT;
        image->slice = image->pitch * (round_up(image->height, EMU_TILE_HEIGHT) / EMU_TILE_HEIGHT);
    } else {
        image->pitch = image->slice = round_up(row, LINEAR_ALIGNMENT);
    }
    return image->slice * image->depth;
}

static bool is_cube(emu_shape shape) {
    return shape == EMU_SHAPE_CUBE || shape == EMU_SHAPE_CUBE_LAYERED;
}

uint64_t emu_array_layout(const emu_array_spec *s, emu_image level[EMU_MAX_LEVELS]) {
    enum { MOST = 1 << 17 };
    uint64_t size = 0;
    if (!emu_texel_valid(s->texel) || !s->width || !s->height || !s->depth || s->width > MOST ||
        s->height > MOST || s->depth > MOST || !s->levels || s->levels > EMU_MAX_LEVELS ||
        (is_cube(s->shape) && (s->width != s->height || s->depth % 6)))
        return 0;
    for (uint32_t l = 0; l < s->levels; l++) {
        const uint64_t bytes = lay_out(s, l, &level[l]);
        level[l].base = size;
        size += round_up(bytes, TILE_BYTES);
    }
    return size;
}

/* ---- Views ------------------------------------------------------------------------------------
 */

/* Whether layers of WHOLE may be looked at as SHAPE. */
static bool may_be(emu_shape whole, emu_shape shape) {
    if (whole == shape)
        return true;
    switch (whole) {
    case EMU_SHAPE_1D:
    case EMU_SHAPE_1D_LAYERED:
        return shape == EMU_SHAPE_1D || shape == EMU_SHAPE_1D_LAYERED;
    case EMU_SHAPE_2D:
    case EMU_SHAPE_2D_LAYERED:
    case EMU_SHAPE_CUBE:
    case EMU_SHAPE_CUBE_LAYERED:
        return shape != EMU_SHAPE_1D && shape != EMU_SHAPE_1D_LAYERED && shape != EMU_SHAPE_3D;
    case EMU_SHAPE_3D:
        break;
    }
    return false;
}

bool emu_view_of_levels(const emu_array_spec *s, const emu_image *level, const emu_window *window,
                        emu_view *view) {
    const emu_shape shape = window->shape;
    const uint32_t first = window->first_level, layer = window->first_layer;
    if (first >= s->levels || window->levels > s->levels - first || !may_be(s->shape, shape) ||
        !emu_texel_valid(window->texel) ||
        emu_texel_bytes(window->texel) != emu_texel_bytes(s->texel))
        return false;
    *view = (emu_view){.shape = shape,
                       .texel = window->texel,
                       .levels = window->levels ? window->levels : s->levels - first};
    for (uint32_t l = 0; l < view->levels; l++) {
        emu_image *image = &view->level[l];
        *image = level[first + l];
        if (shape == EMU_SHAPE_3D)
            continue;
        if (layer >= image->depth || window->layers > image->depth - layer)
            return false;
        image->depth = window->layers ? window->layers : image->depth - layer;
        image->base += layer * image->slice;
        if (is_cube(shape) && (image->depth % 6 || image->width != image->height))
            return false;
    }
    return true;
}

void emu_view_of_memory(uint64_t address, emu_texel texel, uint64_t width, uint64_t height,
                        uint64_t pitch, emu_view *view) {
    const bool rows = height != 0;
    *view = (emu_view){
        .shape = rows ? EMU_SHAPE_2D : EMU_SHAPE_1D, .texel = texel, .linear = !rows, .levels = 1};
    view->level[0] = (emu_image){.base = address,
                                 .width = width > INT32_MAX ? INT32_MAX : (uint32_t)width,
                                 .height = !rows                ? 1
                                           : height > INT32_MAX ? INT32_MAX
                                                                : (uint32_t)height,
                                 .depth = 1,
                                 .pitch = pitch};
}
