/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces in the runtime's binary interface, as abi.h has the rest:
 * tests/cli/emulator checks the layouts against a toolkit's headers.
 */
#ifndef EMU_CUDART_ABI_TEXTURE_H
#define EMU_CUDART_ABI_TEXTURE_H

#include "emulator/cudart/abi.h"

typedef struct door_array *cudaArray_t;
typedef struct door_array *cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

typedef enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone,
    cudaChannelFormatKindNV12,
    cudaChannelFormatKindUnsignedNormalized8X1,
    cudaChannelFormatKindUnsignedNormalized16X4 = 10,
    cudaChannelFormatKindSignedNormalized8X1,
    cudaChannelFormatKindSignedNormalized16X4 = 16
} cudaChannelFormatKind;

enum { /* flags of arrays */
       cudaArrayLayered = 1,
       cudaArraySurfaceLoadStore = 2,
       cudaArrayCubemap = 4,
       cudaArrayTextureGather = 8,
       cudaArrayColorAttachment = 0x20
};

enum { /* cudaResourceType */
       cudaResourceTypeArray,
       cudaResourceTypeMipmappedArray,
       cudaResourceTypeLinear,
       cudaResourceTypePitch2D
};

typedef struct cudaResourceDesc {
    int resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
#if DOOR_CUDART >= 13
        struct {
            int reserved[32];
        } reserved;
#endif
    } res;
#if DOOR_CUDART >= 13
    unsigned flags;
#endif
} cudaResourceDesc;

typedef struct cudaResourceViewDesc {
    int format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
#if DOOR_CUDART >= 13
    unsigned reserved[16];
#endif
} cudaResourceViewDesc;

typedef struct cudaTextureDesc {
    int addressMode[3]; /* wrap, clamp, mirror, border */
    int filterMode;     /* point, linear */
    int readMode;       /* element type, normalized float */
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;

typedef struct cudaArrayMemoryRequirements {
    size_t size, alignment;
    unsigned reserved[4];
} cudaArrayMemoryRequirements;

typedef struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    int dstDevice;
    cudaExtent extent;
} cudaMemcpy3DPeerParms;

#endif
