/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, and the handles of textures and surfaces. Making and destroying them waits for a launch
 * in progress, so that kernels look handles up without a lock. */
#include "emulator/machine/machine.h"

#include <stdlib.h>
#include <string.h>

struct emu_array {
    emu_device *device;
    emu_array_spec spec;
    emu_image level[EMU_MAX_LEVELS];
    uint64_t address, bytes;
};

/* ---- Arrays -------------------------------------------------------------------------------------
 */

emu_status emu_array_create(emu_device *device, const emu_array_spec *spec, emu_array **array,
                            emu_fault *fault) {
    *array = NULL;
    emu_array *a = calloc(1, sizeof *a);
    if (!a)
        return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
    a->device = device;
    a->spec = *spec;
    if (a->spec.levels > emu_array_levels(spec))
        a->spec.levels = emu_array_levels(spec);
    a->bytes = emu_array_layout(&a->spec, a->level);
    emu_status status =
        a->bytes ? emu_memory_allocate(device, EMU_MEMORY_DEVICE, a->bytes, &a->address, fault)
                 : emu_fail(fault, EMU_BAD_LAUNCH,
                            "there is no array of %u x %u x %u texels of %u channels of %u bits",
                            spec->width, spec->height, spec->depth, spec->texel.channels,
                            spec->texel.bits);
    if (status) {
        free(a);
        return status;
    }
    for (uint32_t l = 0; l < a->spec.levels; l++)
        a->level[l].base += a->address;
    *array = a;
    return EMU_OK;
}

void emu_array_destroy(emu_array *array) {
    if (!array)
        return;
    emu_device *d = array->device;
    pthread_mutex_lock(&d->launch_lock);
    for (int i = 0; i < d->object_count; i++)
        if (d->object[i]->view.array == array) {
            d->object[i]->dead = true;
            d->object[i]->view.array = NULL;
        }
    pthread_mutex_unlock(&d->launch_lock);
    emu_memory_free(d, array->address, NULL);
    free(array);
}

const emu_array_spec *emu_array_get_spec(const emu_array *array) {
    return &array->spec;
}

const emu_image *emu_array_level(const emu_array *array, uint32_t level) {
    return &array->level[level];
}

uint64_t emu_array_address(const emu_array *array) {
    return array->address;
}

uint64_t emu_array_bytes(const emu_array *array) {
    return array->bytes;
}

bool emu_view_of_array(const emu_array *array, const emu_window *window, emu_view *view) {
    if (!emu_view_of_levels(&array->spec, array->level, window, view))
        return false;
    view->array = array;
    return true;
}

/* ---- Handles ------------------------------------------------------------------------------------
 */

enum { NUMBER_BITS = 24, GENERATION_BITS = 32, MOST_OBJECTS = 1 << 20 };

static uint64_t number_of(uint64_t handle) {
    return handle & ((1u << NUMBER_BITS) - 1);
}

/* A free slot; NULL: no memory. */
static emu_object *take_slot(emu_device *d, int *number) {
    for (int i = 0; i < d->object_count; i++)
        if (!d->object[i]->handle) {
            *number = i;
            return d->object[i];
        }
    if (d->object_count == MOST_OBJECTS)
        return NULL;
    if (d->object_count == d->object_capacity) {
        int capacity = d->object_capacity ? d->object_capacity * 2 : 64;
        emu_object **grown = realloc(d->object, (size_t)capacity * sizeof *grown);
        if (!grown)
            return NULL;
        d->object = grown;
        d->object_capacity = capacity;
    }
    emu_object *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    *number = d->object_count;
    d->object[d->object_count++] = o;
    return o;
}

/* The memory that a view of the program's own memory needs. */
static uint64_t span_of(const emu_view *v) {
    const emu_image *i = &v->level[0];
    return i->pitch * (i->height - 1) + (uint64_t)i->width * emu_texel_bytes(v->texel);
}

static bool holds(emu_device *d, uint64_t base, uint64_t bytes) {
    emu_range range;
    return emu_memory_range(d, base, &range) && range.size - (base - range.base) >= bytes;
}

static emu_status create(emu_device *d, const emu_view *view, const emu_sampler *sampler,
                         uint64_t *handle, emu_fault *fault) {
    enum { MOST_TEXELS = 1 << 20 };
    emu_status status = EMU_OK;
    *handle = 0;
    const emu_image *first = &view->level[0];
    const uint32_t texel = emu_texel_bytes(view->texel);
    if (!emu_texel_valid(view->texel) || !first->width || !first->height ||
        (!view->linear && (first->width > MOST_TEXELS || first->height > MOST_TEXELS)) ||
        (!view->array && (first->base % texel || first->pitch % texel)))
        return emu_fail(fault, EMU_BAD_LAUNCH, "no texture or surface can look at that");
    const uint64_t base = view->array ? view->array->address : first->base;
    const uint64_t bytes = view->array ? view->array->bytes : span_of(view);
    const uint64_t now =
        atomic_load(&d->frees); /* before the look: what is freed behind it shows */
    if (!holds(d, base, bytes))
        return emu_fail(fault, EMU_ILLEGAL_ADDRESS,
                        "%llu bytes at 0x%llx are not one allocation of the device",
                        (unsigned long long)bytes, (unsigned long long)base);
    pthread_mutex_lock(&d->launch_lock);
    int number = 0;
    emu_object *o = take_slot(d, &number);
    if (!o) {
        status = emu_fail(fault, EMU_OUT_OF_MEMORY, "no room for another texture or surface");
    } else {
        o->view = *view;
        o->sampler = sampler ? *sampler : (emu_sampler){0};
        o->base = base;
        o->bytes = bytes;
        o->dead = false;
        o->generation++;
        atomic_store(&o->checked, now);
        *handle = (sampler ? TEXTURE_WINDOW : SURFACE_WINDOW) |
                  (o->generation & ((UINT64_C(1) << GENERATION_BITS) - 1)) << NUMBER_BITS |
                  (uint64_t)(number + 1);
        o->handle = *handle;
    }
    pthread_mutex_unlock(&d->launch_lock);
    return status;
}

emu_status emu_texture_create(emu_device *device, const emu_view *view, const emu_sampler *sampler,
                              uint64_t *handle, emu_fault *fault) {
    return create(device, view, sampler, handle, fault);
}

emu_status emu_surface_create(emu_device *device, const emu_view *view, uint64_t *handle,
                              emu_fault *fault) {
    return create(device, view, NULL, handle, fault);
}

bool emu_object_destroy(emu_device *d, uint64_t handle) {
    pthread_mutex_lock(&d->launch_lock);
    const uint64_t number = number_of(handle);
    const bool found =
        number && number <= (uint64_t)d->object_count && d->object[number - 1]->handle == handle;
    if (found) {
        d->object[number - 1]->handle = 0;
        d->object[number - 1]->view.array = NULL;
    }
    pthread_mutex_unlock(&d->launch_lock);
    return found;
}

void emu_objects_close(emu_device *d) {
    for (int i = 0; i < d->object_count; i++)
        free(d->object[i]);
    free(d->object);
}

/* ---- Finding ------------------------------------------------------------------------------------
 */

/* Whether the object's memory is there: looked up again when anything was freed since. */
static bool is_mapped(emu_device *d, emu_object *o) {
    const uint64_t now = atomic_load_explicit(&d->frees, memory_order_acquire);
    if (atomic_load_explicit(&o->checked, memory_order_relaxed) == now)
        return true;
    if (!holds(d, o->base, o->bytes))
        return false;
    atomic_store_explicit(&o->checked, now, memory_order_relaxed);
    return true;
}

const emu_object *emu_object_find(emu_device *d, uint64_t handle, bool surface, const char **why) {
    const uint64_t window = surface ? SURFACE_WINDOW : TEXTURE_WINDOW;
    bool reference = false;
    *why = "names none that is there";
    if ((handle & WINDOW_MASK) != TEXTURE_WINDOW && (handle & WINDOW_MASK) != SURFACE_WINDOW &&
        handle % sizeof handle == 0 && holds(d, handle, sizeof handle)) {
        memcpy(&handle, (const void *)(uintptr_t)handle, sizeof handle);
        reference = true;
    }
    if (reference && !handle) {
        *why = "is of a reference to which nothing is bound";
        return NULL;
    }
    if ((handle & WINDOW_MASK) != window) {
        if ((handle & WINDOW_MASK) == (surface ? TEXTURE_WINDOW : SURFACE_WINDOW))
            *why = surface ? "is a texture's, not a surface's" : "is a surface's, not a texture's";
        return NULL;
    }
    const uint64_t number = number_of(handle);
    if (!number || number > (uint64_t)d->object_count)
        return NULL;
    emu_object *o = d->object[number - 1];
    if (o->handle != handle) {
        *why = "is of one that has been destroyed";
        return NULL;
    }
    if (o->dead || !is_mapped(d, o)) {
        *why = "looks at memory that has been freed";
        return NULL;
    }
    return o;
}
