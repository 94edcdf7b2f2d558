/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces of an emulated device, in three layers:
 *
 * - Texels and images (texel.c, image.c): what a texel is, and where it lies. Pure functions.
 * - Fetching (sample.c): what a texture instruction returns. Pure functions, and the statement of
 *   the filtering below.
 * - Objects of a device (emulator/machine/objects.c): arrays, and the handles that kernels name
 *   textures and surfaces by.
 *
 * Layout. Memory that the program made (linear, pitched) is as it says. An array of one row is
 * linear too. Any other array is stored in tiles of 64 bytes by 8 rows, so that neighbours in both
 * directions share sectors: within a tile of 512 bytes, a sector of 32 bytes holds 16 bytes of two
 * rows, and a line of 128 bytes holds 32 bytes of four rows. Tiles follow each other by rows,
 * slices (layers, faces) and levels are whole tiles. That is the block-linear layout of NVIDIA's
 * devices inside a tile, as the Tegra X1's reference manual gives it (chapter on memory layouts);
 * how tiles are grouped further does not show in sectors and lines, and is left out.
 *
 * Fetching follows the CUDA programming guide, appendix "Texture Fetching" and the sections on
 * cubemap and layered textures:
 * - A coordinate that is normalized is first brought to [0, 1) by wrap or mirror, where the
 *   texture asks for that, then multiplied by the size. Wrap and mirror of texel coordinates are
 *   clamp.
 * - nearest: texel floor(x). linear: texels i = floor(x - 0.5) and i + 1 in each dimension; the
 *   weight of the second is frac(x - 0.5), rounded to 8 bits of fraction (0 to 256 of 256; halves
 *   upwards, which the guide does not say).
 * - A texel outside: clamp takes the nearest inside, wrap and mirror go on round, border gives the
 *   border colour. Layers are clamped. Linear memory gives 0 outside.
 * - 8- and 16-bit integers read as normalized floats: unsigned / (2^n - 1), signed
 *   max(-1, value / (2^(n-1) - 1)); sRGB decodes the first three channels of 8-bit unsigned ones.
 * - Channels that the texture has not: 0, the fourth 1.
 * - Levels: level of detail + bias, clamped to the texture's limits, then to the levels there are;
 *   the nearest, or the two around it blended with 8 bits of fraction. An instruction that names no
 *   level of detail takes 0 (compute kernels have no implicit derivatives). From gradients it is
 *   log2 of the longer one in texels. Anisotropy is taken to be 1.
 * - Weighted sums are made in single precision, texel by texel in order of x, then y, then z.
 *   Hardware rounds its own way; the guide does not say how.
 * - Coordinates that are not a number count as 0.
 */
#ifndef EMU_TEXTURE_TEXTURE_H
#define EMU_TEXTURE_TEXTURE_H

#include "emulator/emulator.h"

/* ---- Texels ---------------------------------------------------------------------------------- */

typedef enum emu_channel {
    EMU_CHANNEL_UINT,
    EMU_CHANNEL_SINT,
    EMU_CHANNEL_FLOAT,
    EMU_CHANNEL_UNORM, /* 8 and 16 bits, always read as floats */
    EMU_CHANNEL_SNORM
} emu_channel;

typedef struct emu_texel {
    emu_channel channel;
    uint8_t bits;     /* of a channel: 8, 16, 32 */
    uint8_t channels; /* 1, 2, 4 */
} emu_texel;

/* Whether there is such a texel. Floats have 16 or 32 bits. */
bool emu_texel_valid(emu_texel texel);
static inline uint32_t emu_texel_bytes(emu_texel texel) {
    return (uint32_t)texel.bits / 8 * texel.channels;
}
/* Whether a fetch gives floats: of the channel's own, or by the normalized read mode. */
bool emu_texel_reads_float(emu_texel texel, bool normalized);

/* The four channels of the texel at FROM, as floats (NORMALIZED: the read mode; SRGB: decoded)...
 */
void emu_texel_load_float(emu_texel texel, bool normalized, bool srgb, const void *from,
                          float value[4]);
/* ... and as they are, extended to 32 bits by their sign. Floats of 16 bits are widened. */
void emu_texel_load(emu_texel texel, const void *from, uint32_t value[4]);
/* Stores four 32-bit values converted to the texel: integers cut to its range, floats for FLOAT,
 * UNORM and SNORM (the latter two clamped and rounded to nearest even). */
void emu_texel_store(emu_texel texel, void *to, const uint32_t value[4]);

/* ---- Images ---------------------------------------------------------------------------------- */

typedef enum emu_shape {
    EMU_SHAPE_1D,
    EMU_SHAPE_2D,
    EMU_SHAPE_3D,
    EMU_SHAPE_1D_LAYERED,
    EMU_SHAPE_2D_LAYERED,
    EMU_SHAPE_CUBE,
    EMU_SHAPE_CUBE_LAYERED
} emu_shape;

enum { EMU_MAX_LEVELS = 18 /* of 131072 texels */ };

/* One level of an array, or linear or pitched memory. */
typedef struct emu_image {
    uint64_t base;                 /* address of the first texel */
    uint32_t width, height, depth; /* texels, rows, slices or layers (six for a cube); 1 at least */
    uint64_t pitch;                /* bytes from row to row; tiled: from row of tiles to the next */
    uint64_t slice;                /* bytes from slice to slice */
    bool tiled;
} emu_image;

enum { EMU_TILE_WIDTH = 64 /* bytes */, EMU_TILE_HEIGHT = 8 /* rows */ };

/* Address of the byte X of row Y of slice Z. 16 bytes from a multiple of 16 on are together. */
static inline uint64_t emu_image_address(const emu_image *i, uint64_t x, uint32_t y, uint32_t z) {
    const uint64_t at = i->base + z * i->slice;
    if (!i->tiled)
        return at + y * i->pitch + x;
    return at + y / EMU_TILE_HEIGHT * i->pitch + x / EMU_TILE_WIDTH * 512 + (x & 32) * 8 +
           (y & 6) * 32 + (x & 16) * 2 + (y & 1) * 16 + (x & 15);
}

/* Copies COUNT bytes of a row from, or to, the byte X on. */
void emu_image_read(const emu_image *image, uint64_t x, uint32_t y, uint32_t z, void *to,
                    uint64_t count);
void emu_image_write(const emu_image *image, uint64_t x, uint32_t y, uint32_t z, const void *from,
                     uint64_t count);

/* ---- Arrays ---------------------------------------------------------------------------------- */

typedef struct emu_array_spec {
    emu_shape shape;
    emu_texel texel;
    uint32_t width, height,
        depth;       /* of level 0; depth counts layers (six for a cube); 1 at least */
    uint32_t levels; /* 1: no mipmaps; cut to the levels that there are */
} emu_array_spec;

typedef struct emu_array emu_array;

/* Levels of an array down to one texel. */
uint32_t emu_array_levels(const emu_array_spec *spec);
/* Lays out the levels one behind the other from address 0 on: LEVEL[0..levels). The whole size;
 * 0: more than there are addresses, or no such array. */
uint64_t emu_array_layout(const emu_array_spec *spec, emu_image level[EMU_MAX_LEVELS]);

/* Memory for it, as any other of the device: filled with the poison, counted against the capacity.
 */
emu_status emu_array_create(emu_device *device, const emu_array_spec *spec, emu_array **array,
                            emu_fault *fault);
/* Objects that look at it are dead from then on: a kernel that uses one fails. */
void emu_array_destroy(emu_array *array);
const emu_array_spec *emu_array_get_spec(const emu_array *array);
/* LEVEL below the number of levels. */
const emu_image *emu_array_level(const emu_array *array, uint32_t level);
/* Where its memory starts, and how much it is. */
uint64_t emu_array_address(const emu_array *array);
uint64_t emu_array_bytes(const emu_array *array);

/* ---- Views and samplers ---------------------------------------------------------------------- */

/* What an object looks at. */
typedef struct emu_view {
    emu_shape shape;
    emu_texel texel;
    bool linear; /* linear memory: whole coordinates, 0 outside */
    uint32_t levels;
    emu_image level[EMU_MAX_LEVELS];
    const emu_array *array; /* that it is of; NULL: memory of the program */
} emu_view;

/* The part of an array that a view shows: LEVELS levels, LAYERS layers (0: all that are left), as
 * SHAPE, with texels of the array's size. */
typedef struct emu_window {
    emu_shape shape;
    emu_texel texel;
    uint32_t first_level, levels, first_layer, layers;
} emu_window;

/* False: the array does not hold that. */
bool emu_view_of_levels(const emu_array_spec *spec, const emu_image *level,
                        const emu_window *window, emu_view *view);
bool emu_view_of_array(const emu_array *array, const emu_window *window, emu_view *view);
/* Memory of the program: WIDTH texels, or rows of them PITCH bytes apart (HEIGHT 0: linear). */
void emu_view_of_memory(uint64_t address, emu_texel texel, uint64_t width, uint64_t height,
                        uint64_t pitch, emu_view *view);

typedef enum emu_address_mode {
    EMU_ADDRESS_WRAP,
    EMU_ADDRESS_CLAMP,
    EMU_ADDRESS_MIRROR,
    EMU_ADDRESS_BORDER
} emu_address_mode;

typedef struct emu_sampler {
    emu_address_mode address[3];
    bool linear, mip_linear; /* filters; false: nearest */
    bool normalized;         /* coordinates */
    bool reads_normalized;   /* integers of 8 and 16 bits become floats */
    bool srgb, seamless;     /* seamless: cubes filter over their edges */
    float mip_bias, mip_least, mip_most;
    uint32_t border[4]; /* bits of floats or integers, whichever the fetch gives */
} emu_sampler;

/* ---- Fetching -------------------------------------------------------------------------------- */

/* One thread's request. Cubes take a direction in `at`. */
typedef struct emu_fetch {
    float at[3];
    int32_t whole[3]; /* texel coordinates, where `integer` */
    bool integer;
    bool gather; /* tld4: channel COMPONENT of the four texels that a linear fetch would blend */
    uint8_t component;
    uint32_t layer;
    float lod;
    int32_t offset[3]; /* texels */
} emu_fetch;

/* The texels that a fetch read: what the memory model is told. */
typedef struct emu_touched {
    uint64_t address[16];
    unsigned count;
} emu_touched;

/* VALUE: floats as their bits, or integers. TOUCHED is added to. No request makes it read outside
 * of the view's memory. */
void emu_sample(const emu_view *view, const emu_sampler *sampler, const emu_fetch *fetch,
                uint32_t value[4], emu_touched *touched);

/* Level of detail from the gradients of the coordinates in x and y of the screen. AT: the
 * direction, for cubes. */
float emu_sample_lod(const emu_view *view, const emu_sampler *sampler, const float at[3],
                     const float dx[3], const float dy[3]);

/* Face (0 to 5: +x -x +y -y +z -z) that a direction meets, and where on it: S and T in [0, 1]. */
uint32_t emu_cube_face(const float direction[3], double *s, double *t);

/* ---- Objects of a device --------------------------------------------------------------------- */

/* Handles as kernels get them. They wait for a launch in progress. */
emu_status emu_texture_create(emu_device *device, const emu_view *view, const emu_sampler *sampler,
                              uint64_t *handle, emu_fault *fault);
emu_status emu_surface_create(emu_device *device, const emu_view *view, uint64_t *handle,
                              emu_fault *fault);
/* False: no such object. */
bool emu_object_destroy(emu_device *device, uint64_t handle);

#endif
