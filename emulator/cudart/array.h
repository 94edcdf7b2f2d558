/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the runtime's door: what a cudaArray_t and a cudaMipmappedArray_t point to, shared by
 * array.c (which makes them), copy.c (which copies them) and texture.c (which shows them to
 * kernels). A handle is looked up among those that are there before it is followed.
 */
#ifndef EMU_CUDART_ARRAY_H
#define EMU_CUDART_ARRAY_H

#include "emulator/cudart/abi_texture.h"
#include "emulator/cudart/door.h"
#include "emulator/texture/texture.h"

typedef struct door_array {
    door_device *device;
    emu_array *array;
    struct door_array *whole; /* of a level: the mipmapped array that it is of; else NULL */
    uint32_t level;
    bool mipmapped; /* a cudaMipmappedArray_t */
    cudaChannelFormatDesc format;
    cudaExtent extent; /* as the program gave it: 0 for a dimension that is not there */
    unsigned flags;
    struct door_array *next;
} door_array;

/* NULL: no array, or not of the kind asked for. */
door_array *door_find_array(const void *handle, bool mipmapped);
/* The texel that a format stands for; false: the emulated device does not have it. */
bool door_texel_of(const cudaChannelFormatDesc *format, emu_texel *texel);
/* The level of its array that a cudaArray_t is. */
const emu_image *door_array_image(const door_array *array);
/* All of a device that is about to go. */
void door_forget_arrays(const door_device *device);

/* ---- texture.c ---- */

/* The descriptions of the objects of a device that is about to go. */
void door_forget_objects(const door_device *device);

#endif
