/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces in the machine: the objects that kernels name by handles, and what a
 * decoded instruction keeps about itself. emulator/texture/texture.h is the contract for both. */
#ifndef EMU_MACHINE_TEXTURE_H
#define EMU_MACHINE_TEXTURE_H

#include "emulator/texture/texture.h"
#include <stdatomic.h>

typedef struct emu_warp emu_warp;
typedef struct emu_op emu_op;

/* ---- Objects ------------------------------------------------------------------------------------
 * A handle is a window tag that no address has, the generation of its slot, and the slot's number
 * plus 1: a stale or invented one is told from a good one. */
#define TEXTURE_WINDOW (UINT64_C(0x54) << 56)
#define SURFACE_WINDOW (UINT64_C(0x53) << 56)

typedef struct emu_object {
    uint64_t handle; /* 0: the slot is free */
    emu_view view;
    emu_sampler sampler;   /* of a texture */
    uint64_t base, bytes;  /* memory that it needs */
    uint64_t generation;   /* of the slot */
    atomic_ullong checked; /* the device's count of frees when its memory was last seen there */
    bool dead;             /* its array is gone */
} emu_object;

/* The object of HANDLE, or of the handle that a texture or surface reference (a variable of the
 * module, whose address HANDLE is) holds. NULL, with the reason in WHY (a static text): there is
 * none, or its memory is gone. */
const emu_object *emu_object_find(emu_device *device, uint64_t handle, bool surface,
                                  const char **why);
void emu_objects_close(emu_device *device);

/* ---- Instructions -------------------------------------------------------------------------------
 */

/* Places in emu_extra.ref; UINT32_MAX: not there. */
enum {
    TEXTURE_DATA = 0,     /* results of a load, data of a store: 4 */
    TEXTURE_AT = 4,       /* x, y, z and the layer: 4 */
    TEXTURE_DX = 8,       /* level of detail, or gradient: 3 */
    TEXTURE_DY = 11,      /* 3 */
    TEXTURE_OFFSET = 14,  /* 3 */
    TEXTURE_SAMPLER = 17, /* a samplerref's address */
    TEXTURE_REFS = 18
};

typedef enum emu_texture_form {
    TEXTURE_PLAIN,
    TEXTURE_LEVEL,
    TEXTURE_GRADIENT,
    TEXTURE_GATHER
} emu_texture_form;

typedef enum emu_texture_result { RESULT_32, RESULT_F16, RESULT_F16X2 } emu_texture_result;

typedef enum emu_surface_outside { OUTSIDE_TRAP, OUTSIDE_CLAMP, OUTSIDE_ZERO } emu_surface_outside;

typedef enum emu_surface_reduction {
    SURFACE_ADD,
    SURFACE_MIN,
    SURFACE_MAX,
    SURFACE_AND,
    SURFACE_OR
} emu_surface_reduction;

typedef enum emu_texture_query {
    QUERY_WIDTH,
    QUERY_HEIGHT,
    QUERY_DEPTH,
    QUERY_CHANNEL_TYPE,
    QUERY_CHANNEL_ORDER,
    QUERY_NORMALIZED,
    QUERY_LAYERS,
    QUERY_LEVELS,
    QUERY_SAMPLES,
    QUERY_FILTER,
    QUERY_ADDRESS_0,
    QUERY_ADDRESS_1,
    QUERY_ADDRESS_2,
    QUERY_UNNORMALIZED,
    QUERY_LAYOUT
} emu_texture_query;

typedef struct emu_texture_op {
    uint8_t shape; /* emu_shape */
    uint8_t form, result, component;
    uint8_t outside, reduction, query;
    bool integer;   /* coordinates */
    bool formatted; /* surface accesses .p: x in texels, data converted */
    bool surface, is_signed;
} emu_texture_op;

int emu_run_texture(emu_warp *warp, const emu_op *op);
int emu_run_surface_load(emu_warp *warp, const emu_op *op);
int emu_run_surface_store(emu_warp *warp, const emu_op *op);
int emu_run_surface_reduce(emu_warp *warp, const emu_op *op);
int emu_run_texture_query(emu_warp *warp, const emu_op *op);

#endif
