/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program registers before main(): fat binaries, and the kernels and variables in them. A
 * module's PTX is loaded on a device when the first of its kernels or variables is needed there.
 */
#include "emulator/cudart/door.h"
#include "emulator/fatbin/fatbin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct door_variable {
    const void *host;
    door_module *module;
    const char *name;
    size_t size;
    void **managed; /* the host's pointer to a managed variable, to be filled in; NULL */
} door_variable;

struct door_module {
    emu_fatbin fatbin;
    char *text; /* of the driver's modules: PTX, what the linker made, or the fat binary's copy */
    const char **part; /* the texts in it; NULL: a fat binary */
    size_t *part_length, parts;
    bool readable;
    char complaint[1024]; /* why it is not */
    struct on_device {
        emu_module *module;
        cudaError_t error; /* of a load that failed: it is not tried again */
    } on[DOOR_DEVICES];
    struct door_module *next;
};

/* Open addressing by the host address, at most half full. Functions and variables are found through
 * pointers that may be either. */
typedef struct registry {
    void **slot;
    size_t capacity, count;
} registry;

static struct {
    pthread_mutex_t lock; /* of loading, taken before door.lock */
    door_module *modules;
    registry functions, variables; /* of door_function, door_variable: `host` comes first in both */
    bool warned_target, loaded;
} program = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The registry ------------------------------------------------------------------------------
 */

static const void *host_of(const void *entry) {
    return *(const void *const *)entry;
}

static size_t find_slot(const registry *r, const void *host) {
    size_t i = ((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; i++) {
        void *entry = r->slot[i & (r->capacity - 1)];
        if (!entry || host_of(entry) == host)
            return i & (r->capacity - 1);
    }
}

static void *find_entry(const registry *r, const void *host) {
    return r->capacity && host ? r->slot[find_slot(r, host)] : NULL;
}

static bool grow(registry *r) {
    registry bigger = {.capacity = r->capacity ? r->capacity * 2 : 64, .count = r->count};
    bigger.slot = calloc(bigger.capacity, sizeof *bigger.slot);
    if (!bigger.slot)
        return false;
    for (size_t i = 0; i < r->capacity; i++)
        if (r->slot[i])
            bigger.slot[find_slot(&bigger, host_of(r->slot[i]))] = r->slot[i];
    free(r->slot);
    *r = bigger;
    return true;
}

/* Adds ENTRY, in place of one with the same host address. */
static bool add_entry(registry *r, void *entry) {
    if (r->count * 2 >= r->capacity && !grow(r))
        return false;
    size_t i = find_slot(r, host_of(entry));
    if (r->slot[i])
        free(r->slot[i]);
    else
        r->count++;
    r->slot[i] = entry;
    return true;
}

static void remove_module(registry *r, size_t module_offset, const door_module *module) {
    registry kept = {0};
    for (size_t i = 0; i < r->capacity; i++) {
        void *entry = r->slot[i];
        if (!entry)
            continue;
        if (*(door_module *const *)((char *)entry + module_offset) == module ||
            !add_entry(&kept, entry))
            free(entry);
    }
    free(r->slot);
    *r = kept;
}

/* ---- Registration ------------------------------------------------------------------------------
 */

DOOR_EXPORT(void **, __cudaRegisterFatBinary, void *wrapper) {
    door_module *m = calloc(1, sizeof *m);
    emu_fault fault = {0};
    if (!m)
        return NULL;
    m->readable = emu_fatbin_add_wrapper(&m->fatbin, wrapper, &fault) == EMU_OK;
    memcpy(m->complaint, fault.message, sizeof m->complaint);
    pthread_mutex_lock(&program.lock);
    m->next = program.modules;
    program.modules = m;
    pthread_mutex_unlock(&program.lock);
    return (void **)m;
}

DOOR_EXPORT(void, __cudaRegisterFatBinaryEnd, void **handle) {
    (void)handle;
}

static void free_module(door_module *m) {
    emu_fatbin_free(&m->fatbin);
    free(m->text);
    free(m->part);
    free(m->part_length);
    free(m);
}

/* A library of the program's is unloaded; what its kernels printed needs the module's strings, so
 * it goes out first. When the program ends the module stays: other threads may be using it. False:
 * there is no such module. */
static bool forget_module(door_module *m) {
    door_module **link = &program.modules;
    pthread_mutex_lock(&program.lock);
    while (*link && *link != m)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found && !atomic_load(&door.ending)) {
        *link = m->next;
        remove_module(&program.functions, offsetof(door_function, module), m);
        remove_module(&program.variables, offsetof(door_variable, module), m);
        for (int i = 0; i < DOOR_DEVICES; i++)
            if (m->on[i].module) {
                door_drain_printf(&door.device[i]);
                emu_module_unload(m->on[i].module);
            }
        free_module(m);
    }
    pthread_mutex_unlock(&program.lock);
    return found;
}

DOOR_EXPORT(void, __cudaUnregisterFatBinary, void **handle) {
    forget_module((door_module *)handle);
}

DOOR_EXPORT(void, __cudaRegisterFunction, void **handle, const char *host, char *device_stub,
            const char *name, int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
            int *warp_size) {
    (void)device_stub, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid;
    (void)warp_size;
    door_function *f = calloc(1, sizeof *f);
    if (!f)
        return;
    f->host = host;
    f->module = (door_module *)handle;
    f->name = name;
    f->carveout = -1;
    pthread_mutex_lock(&program.lock);
    if (!add_entry(&program.functions, f))
        free(f);
    pthread_mutex_unlock(&program.lock);
}

static void register_variable(void **handle, const void *host, const char *name, size_t size,
                              void **managed) {
    door_variable *v = calloc(1, sizeof *v);
    if (!v)
        return;
    *v = (door_variable){host, (door_module *)handle, name, size, managed};
    pthread_mutex_lock(&program.lock);
    if (!add_entry(&program.variables, v))
        free(v);
    pthread_mutex_unlock(&program.lock);
}

DOOR_EXPORT(void, __cudaRegisterVar, void **handle, char *host, char *device, const char *name,
            int external, size_t size, int constant, int global) {
    (void)device, (void)external, (void)constant, (void)global;
    register_variable(handle, host, name, size, NULL);
}

DOOR_EXPORT(void, __cudaRegisterManagedVar, void **handle, void **host, char *device,
            const char *name, int external, size_t size, int constant, int global) {
    (void)device, (void)external, (void)constant, (void)global;
    register_variable(handle, host, name, size, host);
}

/* Textures and surfaces of the old kind: a program can register them; using them is refused where
 * it is tried. */
DOOR_EXPORT(void, __cudaRegisterTexture, void) {
}

DOOR_EXPORT(void, __cudaRegisterSurface, void) {
}

DOOR_EXPORT(void, __cudaRegisterHostVar, void **handle, const char *name, char *host, size_t size) {
    register_variable(handle, host, name, size, NULL);
}

DOOR_EXPORT(void, __cudaRegisterUnifiedTable, void) {
}

/* ---- Loading -----------------------------------------------------------------------------------
 */

static int capability(const door_device *d) {
    return d->profile.spec.cc_major * 10 + d->profile.spec.cc_minor;
}

static void say_no_ptx(const door_module *m, const door_device *d, const char *name) {
    int cc = capability(d), lowest = 0;
    bool for_cubin = false;
    for (size_t i = 0; i < m->fatbin.count; i++) {
        const emu_image *image = &m->fatbin.images[i];
        if (image->kind == EMU_IMAGE_PTX && (!lowest || image->arch < lowest)) {
            lowest = image->arch;
            for_cubin = image->for_cubin;
        }
    }
    if (for_cubin)
        door_say(
            "error",
            "%s: NVRTC compiled it to a cubin for sm_%d, which %s, sm_%d, does not run; compile "
            "for sm_%d, or for compute_%d and take the PTX",
            name, lowest, d->profile.spec.name, cc, cc, cc);
    else if (lowest)
        door_say("error",
                 "%s: the program's PTX is for sm_%d and up, %s is sm_%d; build with "
                 "-gencode arch=compute_%d,code=compute_%d, or emulate a newer device",
                 name, lowest, d->profile.spec.name, cc, cc, cc);
    else
        door_say("error",
                 "%s: the program holds no PTX, and an emulated device runs nothing else; "
                 "rebuild with NVCC_APPEND_FLAGS=\"-gencode arch=compute_%d,code=compute_%d\" in "
                 "the environment",
                 name, cc, cc);
}

static void warn_target(const door_device *d, int target) {
    if (target >= capability(d) || program.warned_target)
        return;
    program.warned_target = true;
    door_say("warning",
             "the program's PTX is for sm_%d, %s is sm_%d: code for newer architectures "
             "(__CUDA_ARCH__ >= %d) is not in it; nvcc -arch=compute_%d puts it there",
             target, d->profile.spec.name, capability(d), capability(d) / 10 * 100, capability(d));
}

static void apply_registers(void *context, const emu_cubin_kernel *said) {
    emu_kernel *kernel;
    emu_fault fault;
    if (said->registers && emu_module_get_kernel(context, said->name, &kernel, &fault) == EMU_OK)
        emu_kernel_set_registers(kernel, said->registers, said->local_bytes);
}

/* Registers from the cubins beside the PTX. The first container of a linked program holds the code
 * as it would run: it has the last word. */
static void read_registers(const door_module *m, int cc, emu_module *module) {
    for (uint32_t c = m->fatbin.containers; c-- > 0;) {
        const emu_image *elf = emu_fatbin_best(&m->fatbin, c, EMU_IMAGE_ELF, cc);
        char *bytes;
        size_t length;
        emu_fault fault;
        if (!elf || emu_image_expand(elf, &bytes, &length, &fault) != EMU_OK)
            continue;
        emu_cubin_visit(bytes, length, apply_registers, module);
        free(bytes);
    }
}

/* Expands the best PTX of every container; *n texts. */
static emu_status expand_all(const door_module *m, int cc, char **texts, size_t *lengths, int *n,
                             emu_fault *fault) {
    emu_status status = EMU_OK;
    *n = 0;
    for (uint32_t c = 0; status == EMU_OK && c < m->fatbin.containers; c++) {
        const emu_image *ptx = emu_fatbin_best(&m->fatbin, c, EMU_IMAGE_PTX, cc);
        if (!ptx)
            continue;
        status = emu_image_expand(ptx, &texts[*n], &lengths[*n], fault);
        *n += status == EMU_OK;
    }
    return status;
}

/* What went wrong with this thread's last image, for those who asked the driver to write it down.
 */
static _Thread_local char complaint[1024];

static cudaError_t complain(emu_status status, const emu_fault *fault) {
    snprintf(complaint, sizeof complaint, "%s", fault->message);
    door_say("error", "%s", fault->message);
    return door_error_of(status);
}

const char *door_image_complaint(void) {
    return complaint;
}

/* The driver's own: its linker has seen that nothing is missing, and a module that was not linked
 * fails where it is called. */
static cudaError_t load_parts(const door_module *m, door_device *d, emu_module **module) {
    emu_fault fault = {0};
    emu_status status =
        emu_module_load(d->emu, m->part, m->part_length, (int)m->parts, module, &fault);
    return status == EMU_OK ? cudaSuccess : complain(status, &fault);
}

static cudaError_t load_texts(door_module *m, door_device *d, const char *name,
                              emu_module **module) {
    if (m->part)
        return load_parts(m, d, module);
    size_t room = m->fatbin.containers + 1;
    char **texts = calloc(room, sizeof *texts);
    size_t *lengths = calloc(room, sizeof *lengths);
    int n = 0;
    emu_fault fault = {0};
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!texts || !lengths)
        goto out;
    emu_status status = expand_all(m, capability(d), texts, lengths, &n, &fault);
    if (status == EMU_OK && n == 0) {
        say_no_ptx(m, d, name);
        error = cudaErrorNoKernelImageForDevice;
        goto out;
    }
    if (status == EMU_OK)
        status = emu_module_load(d->emu, (const char *const *)texts, lengths, n, module, &fault);
    error = status == EMU_OK ? cudaSuccess : complain(status, &fault);
out:
    for (int i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    free(lengths);
    return error;
}

/* Managed variables are the same memory on both sides: the host learns where. They live on the
 * device that is used first. */
static void bind_managed(door_module *m, emu_module *module) {
    for (size_t i = 0; i < program.variables.capacity; i++) {
        door_variable *v = program.variables.slot[i];
        uint64_t address, size;
        emu_fault fault;
        if (v && v->module == m && v->managed &&
            emu_module_get_global(module, v->name, &address, &size, &fault) == EMU_OK)
            *v->managed = (void *)(uintptr_t)address;
    }
}

static double wall_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* With program.lock held. NAME is what is wanted, for messages. */
static cudaError_t load_module(door_module *m, door_device *d, const char *name,
                               emu_module **module) {
    struct on_device *on = &m->on[d->index];
    if (!on->module && !on->error) {
        double began_s = wall_s();
        if (!m->readable) {
            door_say("error", "%s: %s", name, m->complaint);
            on->error = cudaErrorInvalidKernelImage;
        } else {
            on->error = load_texts(m, d, name, &on->module);
        }
        if (on->module) {
            program.loaded = true;
            read_registers(m, capability(d), on->module);
            bind_managed(m, on->module);
            warn_target(d, emu_module_ptx_target(on->module));
            if (door_observer() && door_observer()->module_loaded)
                door_observer()->module_loaded(d->index, wall_s() - began_s);
        }
    }
    *module = on->module;
    return on->error;
}

DOOR_EXPORT(char, __cudaInitModule, void **handle) {
    door_device *d;
    emu_module *module;
    bool ok = door_enter(&d) == cudaSuccess;
    pthread_mutex_lock(&program.lock);
    ok = ok && load_module((door_module *)handle, d, "managed variables", &module) == cudaSuccess;
    pthread_mutex_unlock(&program.lock);
    return ok;
}

door_function *door_find_function(const void *host) {
    pthread_mutex_lock(&program.lock);
    door_function *f = find_entry(&program.functions, host);
    pthread_mutex_unlock(&program.lock);
    return f;
}

static void record_kernel(door_function *f, const door_device *d, emu_module *module) {
    struct door_kernel_state *on = &f->on[d->index];
    pthread_mutex_lock(&door.lock);
    on->id = ++door.next_kernel;
    pthread_mutex_unlock(&door.lock);
    on->ptx_target = emu_module_ptx_target(module);
    emu_counts_kernel_record(door.file,
                             &(emu_counts_kernel){.id = on->id,
                                                  .device = d->index,
                                                  .info = emu_kernel_get_info(on->kernel),
                                                  .ptx_target = on->ptx_target});
}

cudaError_t door_load_function(door_function *f, door_device *d, emu_kernel **kernel) {
    struct door_kernel_state *on = &f->on[d->index];
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&program.lock);
    if (!on->kernel) {
        emu_module *module;
        emu_fault fault = {0};
        error = load_module(f->module, d, f->name, &module);
        if (!error) {
            error = door_error_of(emu_module_get_kernel(module, f->name, &on->kernel, &fault));
            if (error)
                door_say("error", "%s", fault.message);
            else
                record_kernel(f, d, module);
        }
    }
    *kernel = on->kernel;
    pthread_mutex_unlock(&program.lock);
    return error;
}

cudaError_t door_find_symbol(const void *host, door_device *d, void **address, size_t *size) {
    cudaError_t error = cudaErrorInvalidSymbol;
    uint64_t at, length;
    emu_module *module;
    emu_fault fault;
    pthread_mutex_lock(&program.lock);
    door_variable *v = find_entry(&program.variables, host);
    if (v)
        error = load_module(v->module, d, v->name, &module);
    if (v && !error && emu_module_get_global(module, v->name, &at, &length, &fault) != EMU_OK)
        error = cudaErrorInvalidSymbol;
    pthread_mutex_unlock(&program.lock);
    if (error)
        return error;
    *address = (void *)(uintptr_t)at;
    *size = length;
    return cudaSuccess;
}

bool door_module_loaded(void) {
    pthread_mutex_lock(&program.lock);
    bool loaded = program.loaded;
    pthread_mutex_unlock(&program.lock);
    return loaded;
}

void door_unload(door_device *d) {
    pthread_mutex_lock(&program.lock);
    for (size_t i = 0; i < program.functions.capacity; i++) {
        door_function *f = program.functions.slot[i];
        if (f)
            f->on[d->index] = (struct door_kernel_state){0};
    }
    for (door_module *m = program.modules; m; m = m->next) {
        if (m->on[d->index].module)
            emu_module_unload(m->on[d->index].module);
        m->on[d->index] = (struct on_device){0};
    }
    pthread_mutex_unlock(&program.lock);
}

/* ---- The driver's modules
 * ------------------------------------------------------------------------
 */

enum { FATBIN_MAGIC = 0x466243B1, CONTAINER_MAGIC = 0xBA55ED50u };

/* Bytes from the container at IMAGE to its end, as its header says. */
static size_t container_size(const void *image) {
    uint16_t header;
    uint64_t entries;
    memcpy(&header, (const char *)image + 6, sizeof header);
    memcpy(&entries, (const char *)image + 8, sizeof entries);
    return header + entries;
}

static bool set_part(door_module *m, size_t i, const char *text, size_t length) {
    m->part[i] = text;
    m->part_length[i] = length;
    return true;
}

static bool make_parts(door_module *m, size_t n) {
    m->part = calloc(n, sizeof *m->part);
    m->part_length = calloc(n, sizeof *m->part_length);
    m->parts = n;
    return m->part && m->part_length;
}

/* What cuLinkComplete made (emu_linked): texts one after the other. False: it is none. */
static bool take_linked(door_module *m, size_t size) {
    emu_linked header;
    if (size < sizeof header)
        return false;
    memcpy(&header, m->text, sizeof header);
    if (header.size != size || !header.count || header.count > size / sizeof(uint64_t) ||
        !make_parts(m, header.count))
        return false;
    size_t at = sizeof header;
    for (uint64_t i = 0; i < header.count; i++) {
        uint64_t length;
        if (size - at < sizeof length)
            return false;
        memcpy(&length, m->text + at, sizeof length);
        at += sizeof length;
        if (length > size - at)
            return false;
        set_part(m, i, m->text + at, length);
        at += length;
    }
    return true;
}

static size_t linked_size(const void *image) {
    emu_linked header;
    memcpy(&header, image, sizeof header);
    return header.size;
}

/* Copies what is needed of IMAGE: the caller may free it as soon as it is loaded. */
static emu_status take_image(door_module *m, const void *image, size_t size, emu_fault *fault) {
    uint32_t magic = 0;
    if (!size || size >= sizeof magic)
        memcpy(&magic, image, sizeof magic);
    if (magic == FATBIN_MAGIC)
        return emu_fatbin_add_wrapper(&m->fatbin, image, fault);
    bool linked = magic == EMU_LINKED_MAGIC, container = magic == CONTAINER_MAGIC;
    if (!size)
        size = linked ? linked_size(image) : container ? container_size(image) : strlen(image);
    m->text = malloc(size + 1);
    if (!m->text)
        return EMU_OUT_OF_MEMORY;
    memcpy(m->text, image, size);
    m->text[size] = 0;
    if (container)
        return emu_fatbin_add(&m->fatbin, m->text, size, NULL, fault);
    if (linked && !take_linked(m, size)) {
        snprintf(fault->message, sizeof fault->message, "what the linker made is damaged");
        return EMU_BAD_PTX;
    }
    return linked || (make_parts(m, 1) && set_part(m, 0, m->text, strlen(m->text)))
               ? EMU_OK
               : EMU_OUT_OF_MEMORY;
}

static const char cubin_refused[] =
    "a module is a cubin, and an emulated device runs PTX alone: give it the PTX, or a fat binary "
    "that holds it";

static bool is_cubin(const void *image) {
    return memcmp(image, "\177ELF", 4) == 0;
}

/* A module of IMAGE that is not in the list yet; says what is wrong with it. */
static cudaError_t read_image(const void *image, size_t size, door_module **module) {
    emu_fault fault = {0};
    complaint[0] = 0;
    if (!image)
        return cudaErrorInvalidValue;
    if (is_cubin(image)) {
        snprintf(fault.message, sizeof fault.message, "%s", cubin_refused);
        complain(EMU_BAD_PTX, &fault);
        return cudaErrorNoKernelImageForDevice;
    }
    door_module *m = calloc(1, sizeof *m);
    if (!m)
        return cudaErrorMemoryAllocation;
    emu_status status = take_image(m, image, size, &fault);
    if (status == EMU_OK) {
        m->readable = true;
        *module = m;
        return cudaSuccess;
    }
    char text[sizeof fault.message];
    snprintf(text, sizeof text, "a module cannot be read: %.950s", fault.message);
    memcpy(fault.message, text, sizeof text);
    complain(status, &fault);
    free_module(m);
    return status == EMU_OUT_OF_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidKernelImage;
}

cudaError_t door_image_load(const void *image, size_t size, door_module **module) {
    door_device *d;
    emu_module *loaded;
    door_module *m;
    cudaError_t error = door_enter(&d);
    if (!error)
        error = read_image(image, size, &m);
    if (error)
        return error;
    pthread_mutex_lock(&program.lock);
    m->next = program.modules;
    program.modules = m;
    error = load_module(m, d, "a module of the driver's", &loaded);
    pthread_mutex_unlock(&program.lock);
    if (error)
        forget_module(m);
    else
        *module = m;
    return error;
}

/* ---- The driver's linker ----------------------------------------------------------------------
 */

cudaError_t door_image_text(const void *image, size_t size, char **text, size_t *length) {
    door_device *d;
    door_module *m;
    emu_fault fault = {0};
    cudaError_t error = door_enter(&d);
    if (!error)
        error = read_image(image, size, &m);
    if (error)
        return error;
    const emu_image *ptx = emu_fatbin_best(&m->fatbin, 0, EMU_IMAGE_PTX, capability(d));
    *text = NULL;
    if (m->parts == 1) {
        *length = m->part_length[0];
        *text = strdup(m->part[0]);
        error = *text ? cudaSuccess : cudaErrorMemoryAllocation;
    } else if (ptx) {
        emu_status status = emu_image_expand(ptx, text, length, &fault);
        error = status == EMU_OK ? cudaSuccess : complain(status, &fault);
    } else {
        say_no_ptx(m, d, "what is to be linked");
        error = cudaErrorNoKernelImageForDevice;
    }
    free_module(m);
    return error;
}

cudaError_t door_image_check(const void *image, size_t size) {
    door_device *d;
    door_module *m;
    emu_module *loaded = NULL;
    emu_fault fault = {0};
    cudaError_t error = door_enter(&d);
    if (!error)
        error = read_image(image, size, &m);
    if (error)
        return error;
    error = load_texts(m, d, "what is linked", &loaded);
    const char *missing = error ? NULL : emu_module_undefined(loaded);
    if (missing) {
        snprintf(fault.message, sizeof fault.message,
                 "what is linked uses %.200s, and nothing of it defines that", missing);
        error = complain(EMU_BAD_PTX, &fault);
    }
    emu_module_unload(loaded);
    free_module(m);
    return error;
}

/* ---- Kernels and variables by name -------------------------------------------------------------
 */

/* With program.lock held. */
static door_function *find_by_name(const door_module *m, const char *name) {
    for (size_t i = 0; i < program.functions.capacity; i++) {
        door_function *f = program.functions.slot[i];
        if (f && f->module == m && strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

/* A kernel of a module that no stub stands for: it is its own handle. */
static door_function *add_by_name(door_module *m, const emu_kernel *kernel) {
    const char *name = emu_kernel_get_info(kernel)->name;
    size_t length = strlen(name) + 1;
    door_function *f = calloc(1, sizeof *f + length); /* the name outlives the loaded module */
    if (!f)
        return NULL;
    *f = (door_function){.module = m, .name = memcpy(f + 1, name, length), .carveout = -1};
    f->host = f;
    if (add_entry(&program.functions, f))
        return f;
    free(f);
    return NULL;
}

cudaError_t door_image_kernel(door_module *m, const char *name, door_function **function) {
    door_device *d;
    emu_module *module;
    emu_kernel *kernel;
    emu_fault fault = {0};
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    pthread_mutex_lock(&program.lock);
    error = load_module(m, d, name, &module);
    *function = error ? NULL : find_by_name(m, name);
    if (!error && !*function) {
        if (emu_module_get_kernel(module, name, &kernel, &fault) != EMU_OK)
            error = cudaErrorSymbolNotFound;
        else if (!(*function = add_by_name(m, kernel)))
            error = cudaErrorMemoryAllocation;
    }
    pthread_mutex_unlock(&program.lock);
    return error ? error : door_load_function(*function, d, &kernel);
}

/* The kernel of M that is called NAME, made known if it is not. With program.lock held. */
static door_function *know_kernel(door_module *m, const emu_kernel *kernel) {
    door_function *f = find_by_name(m, emu_kernel_get_info(kernel)->name);
    return f ? f : add_by_name(m, kernel);
}

cudaError_t door_image_kernels(door_module *m, door_function **kernels, unsigned room,
                               unsigned *count) {
    door_device *d;
    emu_module *module;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    pthread_mutex_lock(&program.lock);
    error = load_module(m, d, "a module's kernels", &module);
    unsigned n = error ? 0 : (unsigned)emu_module_kernels(module, NULL, 0);
    emu_kernel **all = calloc(n + 1, sizeof *all);
    if (!error && !all)
        error = cudaErrorMemoryAllocation;
    if (!error)
        emu_module_kernels(module, all, (int)n);
    for (unsigned i = 0; !error && i < n && i < room; i++)
        if (!(kernels[i] = know_kernel(m, all[i])))
            error = cudaErrorMemoryAllocation;
    pthread_mutex_unlock(&program.lock);
    free(all);
    *count = n;
    return error;
}

cudaError_t door_image_global(door_module *m, const char *name, uint64_t *address, uint64_t *size) {
    door_device *d;
    emu_module *module;
    emu_fault fault;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    pthread_mutex_lock(&program.lock);
    error = load_module(m, d, name, &module);
    if (!error && emu_module_get_global(module, name, address, size, &fault) != EMU_OK)
        error = cudaErrorSymbolNotFound;
    pthread_mutex_unlock(&program.lock);
    return error;
}

cudaError_t door_image_unload(door_module *m) {
    return forget_module(m) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
