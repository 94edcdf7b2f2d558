/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and textures in the driver's binary interface, as abi.h has the rest.
 */
#ifndef EMU_CUDA_ABI_TEXTURE_H
#define EMU_CUDA_ABI_TEXTURE_H

#include "emulator/cuda/abi.h"
#include "emulator/cudart/abi_texture.h"

typedef struct driver_array_2d {
    size_t width, height;
    int format;
    unsigned channels;
} driver_array_2d;

typedef struct driver_array_3d {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} driver_array_3d;

typedef struct driver_resource {
    int type; /* as cudaResourceType */
    union {
        void *array;
        struct {
            unsigned long long address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            unsigned long long address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitch;
        int reserved[32];
    } of;
    unsigned flags;
} driver_resource;

enum { /* flags of a texture */
       TEXTURE_READ_AS_INTEGER = 1,
       TEXTURE_NORMALIZED_COORDINATES = 2,
       TEXTURE_SRGB = 0x10,
       TEXTURE_NO_TRILINEAR_OPTIMIZATION = 0x20,
       TEXTURE_SEAMLESS = 0x40
};

typedef struct driver_texture {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float mip_bias, mip_least, mip_most, border[4];
    int reserved[12];
} driver_texture;

#endif
