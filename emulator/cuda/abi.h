/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver's binary interface as far as this door implements it, beside what it shares with
 * the runtime's (emulator/cudart/abi.h): written down from its public documentation.
 * tests/unit/emu_doors/abi.c holds it against a toolkit's own header where there is one.
 */
#ifndef EMU_CUDA_ABI_H
#define EMU_CUDA_ABI_H

#include "emulator/cudart/abi.h"

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_FILE_NOT_FOUND = 301,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CUDA_ERROR_NOT_SUPPORTED = 801
};

enum { MEMORYTYPE_HOST = 1, MEMORYTYPE_DEVICE = 2, MEMORYTYPE_ARRAY = 3, MEMORYTYPE_UNIFIED = 4 };

typedef struct driver_memcpy2d {
    size_t source_x, source_y;
    int source_type;
    const void *source_host;
    unsigned long long source_device;
    void *source_array;
    size_t source_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    unsigned long long to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} driver_memcpy2d;

typedef struct driver_memcpy3d {
    size_t source_x, source_y, source_z, source_lod;
    int source_type;
    const void *source_host;
    unsigned long long source_device;
    void *source_array, *reserved_0;
    size_t source_pitch, source_height;
    size_t to_x, to_y, to_z, to_lod;
    int to_type;
    void *to_host;
    unsigned long long to_device;
    void *to_array, *reserved_1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
} driver_memcpy3d;

typedef struct driver_launch_config {
    unsigned grid[3], block[3], shared;
    cudaStream_t stream;
    const cudaLaunchAttribute *attributes;
    unsigned attribute_count;
} driver_launch_config;

#endif
