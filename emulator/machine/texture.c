/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the instructions of textures and surfaces, lane by lane: finds the object that each lane
 * names, fetches or accesses its texels, and tells the memory model what was touched. */
#include "emulator/machine/lanes.h"
#include "emulator/machine/machine.h"

#include <stdlib.h>

#define EACH_LANE(mask)                                                                            \
    for (uint32_t left_ = (mask), l; left_ && (l = (uint32_t)__builtin_ctz(left_), 1);             \
         left_ &= left_ - 1)

static void *place_of(const emu_warp *w, uint32_t ref) {
    return w->base[ref & 1] + ref;
}

static uint32_t read_32(const emu_warp *w, uint32_t ref, uint32_t lane) {
    return ref == UINT32_MAX ? 0 : ((const uint32_t *)place_of(w, ref))[lane];
}

static uint64_t read_64(const emu_warp *w, uint32_t ref, uint32_t lane) {
    return ((const uint64_t *)place_of(w, ref))[lane];
}

static void write_32(const emu_warp *w, uint32_t ref, uint32_t lane, uint32_t value) {
    if (ref != UINT32_MAX)
        ((uint32_t *)place_of(w, ref))[lane] = value;
}

/* ---- Objects ----------------------------------------------------------------------------------
 */

/* The object that the lanes before this one named: mostly it is the same for all. */
typedef struct current {
    uint64_t handle;
    const emu_object *object;
} current;

static int find_object(emu_warp *w, const emu_op *o, uint32_t lane, current *at) {
    const bool surface = o->extra->texture.surface;
    const uint64_t handle = read_64(w, o->a, lane);
    const char *why;
    if (at->object && at->handle == handle)
        return 0;
    at->handle = handle;
    at->object = emu_object_find(w->worker->device, handle, surface, &why);
    if (at->object)
        return 0;
    return emu_fault_lane(w, o, (int)lane, EMU_ILLEGAL_ADDRESS, handle, "the %s handle 0x%llx %s",
                          surface ? "surface" : "texture", (unsigned long long)handle, why);
}

static bool is_cube(emu_shape shape) {
    return shape == EMU_SHAPE_CUBE || shape == EMU_SHAPE_CUBE_LAYERED;
}

/* ---- Fetches ----------------------------------------------------------------------------------
 */

/* What a samplerref says over what the texture says. */
static void apply_sampler(const emu_warp *w, uint32_t ref, uint32_t lane, emu_sampler *s) {
    static const emu_address_mode modes[] = {[PTX_ADDRESS_WRAP] = EMU_ADDRESS_WRAP,
                                             [PTX_ADDRESS_MIRROR] = EMU_ADDRESS_MIRROR,
                                             [PTX_ADDRESS_CLAMP] = EMU_ADDRESS_CLAMP,
                                             [PTX_ADDRESS_BORDER] = EMU_ADDRESS_BORDER};
    const uint64_t address = read_64(w, ref, lane);
    ptx_sampler said;
    emu_range range;
    if (!emu_memory_range(w->worker->device, address, &range) ||
        range.size - (address - range.base) < sizeof said)
        return;
    memcpy(&said, (const void *)(uintptr_t)address, sizeof said);
    for (int i = 0; i < 3; i++)
        if (said.address[i] && said.address[i] < sizeof modes / sizeof *modes)
            s->address[i] = modes[said.address[i]];
    if (said.filter)
        s->linear = said.filter == PTX_FILTER_LINEAR;
    if (said.unnormalized)
        s->normalized = false;
}

static void take_coordinates(const emu_warp *w, const emu_op *o, uint32_t lane, emu_fetch *f) {
    const uint32_t *ref = o->extra->ref;
    f->integer = o->extra->texture.integer;
    for (int i = 0; i < 3; i++) {
        const uint32_t bits = read_32(w, ref[TEXTURE_AT + i], lane);
        f->at[i] = float_of_bits(bits);
        f->whole[i] = (int32_t)bits;
        f->offset[i] = (int32_t)read_32(w, ref[TEXTURE_OFFSET + i], lane);
    }
    f->layer = read_32(w, ref[TEXTURE_AT + 3], lane);
}

static void take_level(const emu_warp *w, const emu_op *o, uint32_t lane, const emu_object *object,
                       emu_fetch *f) {
    const uint32_t *ref = o->extra->ref;
    const emu_texture_form form = (emu_texture_form)o->extra->texture.form;
    float dx[3], dy[3];
    f->lod = 0;
    if (form == TEXTURE_LEVEL)
        f->lod = float_of_bits(read_32(w, ref[TEXTURE_DX], lane));
    if (form != TEXTURE_GRADIENT)
        return;
    for (int i = 0; i < 3; i++) {
        dx[i] = float_of_bits(read_32(w, ref[TEXTURE_DX + i], lane));
        dy[i] = float_of_bits(read_32(w, ref[TEXTURE_DY + i], lane));
    }
    f->lod = emu_sample_lod(&object->view, &object->sampler, f->at, dx, dy);
}

static void put_result(const emu_warp *w, const emu_op *o, uint32_t lane, const uint32_t value[4]) {
    const uint32_t *ref = &o->extra->ref[TEXTURE_DATA];
    uint32_t half[4];
    switch ((emu_texture_result)o->extra->texture.result) {
    case RESULT_32:
        for (int i = 0; i < 4; i++)
            write_32(w, ref[i], lane, value[i]);
        return;
    case RESULT_F16:
    case RESULT_F16X2:
        break;
    }
    for (int i = 0; i < 4; i++)
        half[i] = float_to_half(float_of_bits(value[i]));
    if (o->extra->texture.result == RESULT_F16) {
        for (int i = 0; i < 4; i++)
            write_32(w, ref[i], lane, half[i]);
        return;
    }
    write_32(w, ref[0], lane, half[1] << 16 | half[0]);
    write_32(w, ref[1], lane, half[3] << 16 | half[2]);
}

int emu_run_texture(emu_warp *w, const emu_op *o) {
    const emu_texture_op *op = &o->extra->texture;
    const uint32_t sampler_ref = o->extra->ref[TEXTURE_SAMPLER];
    uint64_t touched[WARP * 16], bytes = 0;
    unsigned count = 0;
    current at = {0};
    EACH_LANE(w->mask) {
        emu_fetch f = {.gather = op->form == TEXTURE_GATHER, .component = op->component};
        emu_touched mine;
        emu_sampler own;
        uint32_t value[4];
        const int status = find_object(w, o, l, &at);
        if (status)
            return status;
        const emu_view *view = &at.object->view;
        const emu_sampler *sampler = &at.object->sampler;
        if (is_cube(view->shape) != is_cube((emu_shape)op->shape))
            return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, at.handle,
                                  "the texture 0x%llx is %s cube, and the instruction is for %s",
                                  (unsigned long long)at.handle, is_cube(view->shape) ? "a" : "no",
                                  is_cube(view->shape) ? "others" : "cubes");
        if (sampler_ref != UINT32_MAX) {
            own = *sampler;
            apply_sampler(w, sampler_ref, l, &own);
            sampler = &own;
        }
        mine.count = 0; /* the rest is for emu_sample to fill */
        take_coordinates(w, o, l, &f);
        take_level(w, o, l, at.object, &f);
        emu_sample(view, sampler, &f, value, &mine);
        put_result(w, o, l, value);
        bytes += f.gather ? 4u * view->texel.bits / 8 : emu_texel_bytes(view->texel);
        for (unsigned i = 0; i < mine.count; i++)
            touched[count++] = mine.address[i];
    }
    if (o->second != UINT32_MAX)
        *(uint32_t *)place_of(w, o->second) |= w->mask; /* nothing is sparse: all is resident */
    if (w->worker->counting)
        emu_traffic_texture(w->worker->sm, EMU_LOAD, bytes, touched, count);
    return 0;
}

/* ---- Surfaces ---------------------------------------------------------------------------------
 */

/* Where a lane's access goes; address 0: nowhere, it is outside and that is no fault. */
typedef struct target {
    const emu_view *view;
    uint64_t address;
} target;

static uint32_t clamped(int64_t i, uint64_t limit) {
    return (uint32_t)(i < 0 ? 0 : i > (int64_t)limit ? (int64_t)limit : i);
}

static int find_target(emu_warp *w, const emu_op *o, uint32_t lane, uint32_t bytes, current *at,
                       target *t) {
    const uint32_t *ref = &o->extra->ref[TEXTURE_AT];
    const emu_texture_op *op = &o->extra->texture;
    const int status = find_object(w, o, lane, at);
    if (status)
        return status;
    const emu_view *v = &at->object->view;
    const emu_image *image = &v->level[0];
    const uint64_t row = (uint64_t)image->width * emu_texel_bytes(v->texel);
    const bool layered = ref[3] != UINT32_MAX;
    const int64_t unit = op->formatted ? emu_texel_bytes(v->texel) : 1;
    int64_t x = (int32_t)read_32(w, ref[0], lane) * unit;
    int64_t y = (int32_t)read_32(w, ref[1], lane);
    int64_t z = (int32_t)read_32(w, ref[layered ? 3 : 2], lane);
    *t = (target){.view = v};
    if (row < bytes || x < 0 || x > (int64_t)(row - bytes) || y < 0 || y >= image->height ||
        z < 0 || z >= image->depth) {
        if (op->outside == OUTSIDE_TRAP || (op->outside == OUTSIDE_CLAMP && row < bytes))
            return emu_fault_lane(w, o, (int)lane, EMU_ILLEGAL_ADDRESS, at->handle,
                                  "%u bytes at byte %lld, row %lld, layer %lld are outside of the "
                                  "surface 0x%llx of %llu bytes x %u x %u",
                                  bytes, (long long)x, (long long)y, (long long)z,
                                  (unsigned long long)at->handle, (unsigned long long)row,
                                  image->height, image->depth);
        if (op->outside == OUTSIDE_ZERO)
            return 0;
        x = clamped(x, row - bytes);
        y = clamped(y, image->height - 1);
        z = clamped(z, image->depth - 1);
    }
    if (x % bytes)
        return emu_fault_lane(w, o, (int)lane, EMU_MISALIGNED, at->handle,
                              "byte %lld of a row of the surface 0x%llx is not aligned to the %u "
                              "bytes accessed",
                              (long long)x, (unsigned long long)at->handle, bytes);
    t->address = emu_image_address(image, (uint64_t)x, (uint32_t)y, (uint32_t)z);
    return 0;
}

static void count_surface(const emu_warp *w, emu_access_op access, uint64_t bytes,
                          const uint64_t *address, unsigned count) {
    if (w->worker->counting)
        emu_traffic_texture(w->worker->sm, access, bytes, address, count);
}

int emu_run_surface_load(emu_warp *w, const emu_op *o) {
    const uint32_t bytes = (uint32_t)o->bytes * o->vector;
    const uint32_t *ref = &o->extra->ref[TEXTURE_DATA];
    uint64_t touched[WARP], asked = 0;
    unsigned count = 0;
    current at = {0};
    EACH_LANE(w->mask) {
        uint8_t data[16] = {0};
        target t;
        const int status = find_target(w, o, l, bytes, &at, &t);
        if (status)
            return status;
        if (t.address) {
            memcpy(data, (const void *)(uintptr_t)t.address, bytes);
            touched[count++] = t.address;
        }
        for (int i = 0; i < o->vector; i++) {
            uint64_t value = 0;
            memcpy(&value, data + i * o->bytes, o->bytes);
            if (ref[i] != UINT32_MAX && o->bytes == 8)
                ((uint64_t *)place_of(w, ref[i]))[l] = value;
            else
                write_32(w, ref[i], l, (uint32_t)value);
        }
        asked += bytes;
    }
    count_surface(w, EMU_LOAD, asked, touched, count);
    return 0;
}

static uint64_t read_data(const emu_warp *w, const emu_op *o, int i, uint32_t lane) {
    const uint32_t ref = o->extra->ref[TEXTURE_DATA + i];
    return o->bytes == 8 ? read_64(w, ref, lane) : read_32(w, ref, lane);
}

/* The bytes that LANE stores. A formatted store converts to the surface's texels. */
static void make_data(const emu_warp *w, const emu_op *o, uint32_t lane, const emu_view *v,
                      uint8_t data[16]) {
    if (o->extra->texture.formatted) {
        uint32_t value[4] = {0};
        for (int i = 0; i < o->vector; i++)
            value[i] = (uint32_t)read_data(w, o, i, lane);
        emu_texel_store(v->texel, data, value);
        return;
    }
    for (int i = 0; i < o->vector; i++) {
        const uint64_t value = read_data(w, o, i, lane);
        memcpy(data + i * o->bytes, &value, o->bytes); /* the low bytes come first */
    }
}

int emu_run_surface_store(emu_warp *w, const emu_op *o) {
    const bool formatted = o->extra->texture.formatted;
    uint64_t touched[WARP], asked = 0;
    unsigned count = 0;
    current at = {0};
    EACH_LANE(w->mask) {
        uint32_t bytes = (uint32_t)o->bytes * o->vector;
        uint8_t data[16] = {0};
        target t;
        int status = formatted ? find_object(w, o, l, &at) : 0;
        if (status)
            return status;
        if (formatted)
            bytes = emu_texel_bytes(at.object->view.texel);
        status = find_target(w, o, l, bytes, &at, &t);
        if (status)
            return status;
        asked += bytes;
        if (!t.address)
            continue;
        make_data(w, o, l, t.view, data);
        memcpy((void *)(uintptr_t)t.address, data, bytes);
        touched[count++] = t.address;
    }
    w->spin = 0;
    count_surface(w, EMU_STORE, asked, touched, count);
    return 0;
}

static uint64_t reduced(const emu_texture_op *op, uint32_t bytes, uint64_t a, uint64_t b) {
    const int unused = 64 - 8 * (int)bytes;
    const int64_t sa = (int64_t)(a << unused) >> unused, sb = (int64_t)(b << unused) >> unused;
    const bool less = op->is_signed ? sa < sb : a < b;
    switch ((emu_surface_reduction)op->reduction) {
    case SURFACE_ADD:
        return a + b;
    case SURFACE_MIN:
        return less ? a : b;
    case SURFACE_MAX:
        return less ? b : a;
    case SURFACE_AND:
        return a & b;
    case SURFACE_OR:
        return a | b;
    }
    return a;
}

/* Blocks on other host threads may do the same to the same texel. */
#define REDUCE(T)                                                                                  \
    do {                                                                                           \
        T *place = (T *)(uintptr_t)address, old = __atomic_load_n(place, __ATOMIC_RELAXED);        \
        while (!__atomic_compare_exchange_n(place, &old, (T)reduced(op, sizeof(T), old, value),    \
                                            false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))            \
            ;                                                                                      \
    } while (0)

static void reduce(const emu_texture_op *op, uint32_t bytes, uint64_t address, uint64_t value) {
    if (bytes == 8)
        REDUCE(uint64_t);
    else
        REDUCE(uint32_t);
}

int emu_run_surface_reduce(emu_warp *w, const emu_op *o) {
    uint64_t touched[WARP], asked = 0;
    unsigned count = 0;
    current at = {0};
    EACH_LANE(w->mask) {
        target t;
        const int status = find_target(w, o, l, o->bytes, &at, &t);
        if (status)
            return status;
        asked += o->bytes;
        if (!t.address)
            continue;
        reduce(&o->extra->texture, o->bytes, t.address, read_data(w, o, 0, l));
        touched[count++] = t.address;
    }
    w->spin = 0;
    count_surface(w, EMU_ATOMIC, asked, touched, count);
    return 0;
}

/* ---- Queries ----------------------------------------------------------------------------------
 */

/* Codes of the PTX document (those of OpenCL's cl.h). */
static uint32_t channel_type(emu_texel t) {
    static const uint32_t first[] = {[EMU_CHANNEL_UINT] = 0x10DA,
                                     [EMU_CHANNEL_SINT] = 0x10D7,
                                     [EMU_CHANNEL_FLOAT] = 0x10DC,
                                     [EMU_CHANNEL_UNORM] = 0x10D2,
                                     [EMU_CHANNEL_SNORM] = 0x10D0};
    return first[t.channel] + (t.bits == 8 ? 0u : t.bits == 16 ? 1u : 2u);
}

static uint32_t channel_order(emu_texel t) {
    return t.channels == 1 ? 0x10B0 : t.channels == 2 ? 0x10B2 : 0x10B5;
}

static uint32_t answer(const emu_object *object, emu_texture_query query, uint32_t level) {
    const emu_view *v = &object->view;
    const emu_sampler *s = &object->sampler;
    const emu_image *image = &v->level[level < v->levels ? level : v->levels - 1];
    const bool cube = is_cube(v->shape);
    switch (query) {
    case QUERY_WIDTH:
        return image->width;
    case QUERY_HEIGHT:
        return image->height;
    case QUERY_DEPTH:
        return v->shape == EMU_SHAPE_3D ? image->depth : 1;
    case QUERY_CHANNEL_TYPE:
        return channel_type(v->texel);
    case QUERY_CHANNEL_ORDER:
        return channel_order(v->texel);
    case QUERY_NORMALIZED:
        return s->normalized;
    case QUERY_UNNORMALIZED:
        return !s->normalized;
    case QUERY_LAYERS:
        return v->shape == EMU_SHAPE_3D ? 1 : cube ? image->depth / 6 : image->depth;
    case QUERY_LEVELS:
        return v->levels;
    case QUERY_SAMPLES:
        return 1;
    case QUERY_FILTER:
        return s->linear;
    case QUERY_ADDRESS_0:
    case QUERY_ADDRESS_1:
    case QUERY_ADDRESS_2:
        return (uint32_t)s->address[query - QUERY_ADDRESS_0];
    case QUERY_LAYOUT:
        return image->tiled;
    }
    return 0;
}

int emu_run_texture_query(emu_warp *w, const emu_op *o) {
    current at = {0};
    EACH_LANE(w->mask) {
        const int status = find_object(w, o, l, &at);
        if (status)
            return status;
        write_32(w, o->extra->ref[TEXTURE_DATA], l,
                 answer(at.object, (emu_texture_query)o->extra->texture.query,
                        read_32(w, o->extra->ref[TEXTURE_DX], l)));
    }
    return 0;
}
