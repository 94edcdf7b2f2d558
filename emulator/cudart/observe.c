/* SPDX-License-Identifier: Apache-2.0
 *
 * What the doors beside the runtime's see of it: calls and their correlation, contexts, the table
 * of functions; and the injection library, which the driver would load. observe.h is the contract.
 */
#include "emulator/cudart/observe.h"
#include "emulator/cudart/abi_graph.h"
#include "emulator/cudart/door.h"
#include "emulator/cudart/virtual.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const emu_observer *) observer;
static atomic_uint correlations;

const emu_observer *door_observer(void) {
    return atomic_load_explicit(&observer, memory_order_acquire);
}

/* ---- Calls ------------------------------------------------------------------------------------
 */

static door_api_call *top(void) {
    int depth = door_self.api_depth;
    return depth > 0 && depth <= DOOR_API_DEPTH ? &door_self.api[depth - 1] : NULL;
}

emu_domain door_api_domain(void) {
    return door_self.api_depth ? door_self.api[0].event.domain : (emu_domain)0;
}

uint32_t door_api_correlation(void) {
    return door_self.api_depth ? door_self.api[0].event.correlation : 0;
}

static void tell(door_api_call *call) {
    const emu_observer *o = door_observer();
    int before = door_self.telling;
    call->event.user = &call->user;
    door_self.telling = door_self.api_depth;
    if (o && o->api)
        o->api(&call->event);
    door_self.telling = before;
}

/* The program's call is told, or the observer's own, and the driver's call inside the runtime's;
 * any other inside a call is the door's. */
static bool is_told(const door_api_call *outer, emu_domain domain) {
    int inside = door_self.api_depth - door_self.telling; /* before this one is entered */
    return inside == 0 || (inside == 1 && outer && outer->event.domain == EMU_DOMAIN_RUNTIME &&
                           domain == EMU_DOMAIN_DRIVER);
}

void door_api_enter(emu_domain domain, const char *function, const char *symbol,
                    const void *parameters) {
    const door_api_call *outer = top();
    bool told = door_observer() && is_told(outer, domain);
    int depth = door_self.api_depth++;
    if (depth >= DOOR_API_DEPTH)
        return;
    door_api_call *call = &door_self.api[depth];
    *call = (door_api_call){.event = {.domain = domain,
                                      .function = function,
                                      .symbol = symbol,
                                      .parameters = parameters,
                                      .correlation = depth ? door_api_correlation()
                                                           : atomic_fetch_add(&correlations, 1) + 1,
                                      .device = door_self.device},
                            .told = told};
    if (call->told)
        tell(call);
}

int door_api_exit(int result) {
    door_api_call *call = top();
    if (call && call->told) {
        call->event.exit = true;
        call->event.result = result;
        tell(call);
    }
    door_self.api_depth--;
    return result;
}

/* ---- Contexts ---------------------------------------------------------------------------------
 */

enum { MAX_CONTEXTS = 256 };

static struct {
    pthread_mutex_t lock;
    struct {
        void *handle;
        int device;
    } at[MAX_CONTEXTS];
    int count;
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void remember(const emu_context_event *event) {
    pthread_mutex_lock(&contexts.lock);
    if (event->created && contexts.count < MAX_CONTEXTS) {
        contexts.at[contexts.count].handle = event->handle;
        contexts.at[contexts.count++].device = event->device;
    }
    for (int i = 0; !event->created && i < contexts.count; i++)
        if (contexts.at[i].handle == event->handle) {
            memmove(&contexts.at[i], &contexts.at[i + 1],
                    (size_t)(--contexts.count - i) * sizeof contexts.at[0]);
            break;
        }
    pthread_mutex_unlock(&contexts.lock);
}

static void tell_event(const emu_context_event *event) {
    const emu_observer *o = door_observer();
    if (event->created)
        remember(event);
    if (o && o->context)
        o->context(event);
    if (!event->created)
        remember(event);
}

static int context_device(const void *handle) {
    int device = -1;
    pthread_mutex_lock(&contexts.lock);
    for (int i = 0; i < contexts.count; i++)
        if (contexts.at[i].handle == handle)
            device = contexts.at[i].device;
    pthread_mutex_unlock(&contexts.lock);
    return device;
}

static void *device_context(int device) {
    void *handle = NULL;
    pthread_mutex_lock(&contexts.lock);
    for (int i = 0; i < contexts.count && !handle; i++)
        if (contexts.at[i].device == device)
            handle = contexts.at[i].handle;
    pthread_mutex_unlock(&contexts.lock);
    return handle;
}

static int context_count(void) {
    pthread_mutex_lock(&contexts.lock);
    int count = contexts.count;
    pthread_mutex_unlock(&contexts.lock);
    return count;
}

void door_tell_context(door_device *device, bool created) {
    if ((context_device(device) >= 0) == created)
        return;
    tell_event(&(emu_context_event){.created = created,
                                    .device = device->index,
                                    .handle = device,
                                    .uid = (uint32_t)device->index + 1});
}

/* ---- Injection --------------------------------------------------------------------------------
 */

/* The table of the other version's door in this process; NULL: it is not loaded. */
static const emu_doors *other_door(void) {
    void *other =
        dlopen(DOOR_CUDART == 13 ? "libcudart.so.12" : "libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    const emu_doors *(*table)(void) =
        other ? (const emu_doors *(*)(void))dlsym(other, "emu_doors_table") : NULL;
    return table ? table() : NULL;
}

/* The driver's door is there for whoever looks for it, as the driver would be. */
static void load_driver(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr((const void *)(uintptr_t)load_driver, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s/libcuda.so.1", slash ? (int)(slash - self.dli_fname) : 1,
             slash ? self.dli_fname : ".");
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void inject(void) {
    const char *path = secure_getenv("CUDA_INJECTION64_PATH");
    const emu_doors *other = other_door();
    load_driver();
    if (!path || !*path || (other && other->started()))
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize)
        initialize();
}

/* Other threads wait until it is done; what the library itself asks of the door goes through. */
void door_inject(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (door_self.injecting)
        return;
    door_self.injecting = true;
    pthread_once(&once, inject);
    door_self.injecting = false;
}

/* ---- The table --------------------------------------------------------------------------------
 */

static int table_start(void) {
    return (int)door_enter_query();
}

static bool table_started(void) {
    return door.started;
}

static bool table_module_loaded(void) {
    return door_module_loaded();
}

static int table_device_count(void) {
    return door.device_count;
}

static void describe(door_device *d, emu_door_device *out) {
    pthread_mutex_lock(&door.lock);
    *out = (emu_door_device){.spec = &d->profile.spec,
                             .index = d->index < door.device_count ? d->index : -1,
                             .physical = d->physical,
                             .pci_id = d->profile.pci_id,
                             .tdp_w = d->profile.tdp_w,
                             .pcie_bytes_per_s = d->profile.pcie_bytes_per_s,
                             .context = d,
                             .open = d->emu != NULL,
                             .used_bytes = d->emu ? emu_memory_used(d->emu) : 0,
                             .busy_s = d->busy_s};
    pthread_mutex_unlock(&door.lock);
    out->active = context_device(d) >= 0;
}

static bool table_device(int index, emu_door_device *out) {
    if (index < 0 || index >= door.device_count)
        return false;
    describe(&door.device[index], out);
    return true;
}

static int table_machine_count(void) {
    return door.machine_count;
}

static bool table_machine_device(int physical, emu_door_device *out) {
    for (int i = 0; i < door.machine_count; i++)
        if (door.device[i].physical == physical) {
            describe(&door.device[i], out);
            return true;
        }
    return false;
}

static int table_set_device(int index) {
    int error = (int)door_enter_query();
    if (!error && (index < 0 || index >= door.device_count))
        error = (int)cudaErrorInvalidDevice;
    if (!error)
        door_self.device = index;
    return error;
}

static int table_open_device(int index) {
    int error = (int)door_enter_query();
    if (error)
        return error;
    return index < 0 || index >= door.device_count
               ? (int)cudaErrorInvalidDevice
               : (int)door_open_device(&door.device[index], false);
}

static void table_say(const char *severity, const char *text) {
    door_say(severity, "%s", text);
}

static void table_observe(const emu_observer *o) {
    atomic_store_explicit(&observer, o, memory_order_release);
}

static void table_enter(const char *function, const char *symbol, const void *parameters) {
    door_api_enter(EMU_DOMAIN_DRIVER, function, symbol, parameters);
}

static int table_module_load(const void *image, size_t size, void **module) {
    door_module *m = NULL;
    int error = (int)door_image_load(image, size, &m);
    *module = m;
    return error;
}

static int table_module_kernel(void *module, const char *name, void **kernel) {
    door_function *f = NULL;
    int error = (int)door_image_kernel(module, name, &f);
    *kernel = f;
    return error;
}

static int table_module_global(void *module, const char *name, uint64_t *address, uint64_t *size) {
    return (int)door_image_global(module, name, address, size);
}

static int table_module_unload(void *module) {
    return (int)door_image_unload(module);
}

static int table_module_kernels(void *module, void **kernels, unsigned room, unsigned *count) {
    return (int)door_image_kernels(module, (door_function **)kernels, room, count);
}

static void *table_kernel_module(const void *kernel) {
    return ((const door_function *)kernel)->module;
}

static int table_image_text(const void *image, size_t size, char **text, size_t *length) {
    return (int)door_image_text(image, size, text, length);
}

static int table_image_check(const void *image, size_t size) {
    return (int)door_image_check(image, size);
}

static bool table_memory_range(uint64_t address, uint64_t *base, uint64_t *size) {
    door_place place;
    if (!door_find_memory((const void *)(uintptr_t)address, &place))
        return false;
    *base = place.base;
    *size = place.size;
    return true;
}

static const char *table_kernel_name(const void *kernel) {
    return ((const door_function *)kernel)->name;
}

static const void *table_kernel_host(const void *kernel) {
    return ((const door_function *)kernel)->host;
}

static void *table_symbol(const char *name) {
    static void *self;
    Dl_info info;
    if (!self && dladdr((const void *)(uintptr_t)table_symbol, &info))
        self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return self ? dlsym(self, name) : NULL;
}

static uint64_t table_stream_id(const void *stream, int device) {
    const door_stream *s = door_find_stream((cudaStream_t)(uintptr_t)stream, &door.device[device]);
    return s ? s->id : 0;
}

static int table_fill(void *to, size_t pitch, unsigned value, unsigned element, size_t width,
                      size_t height, void *stream) {
    const cudaMemsetParams fill = {to, pitch, value, element, width, height};
    return (int)door_fill(&fill, stream);
}

const emu_doors *emu_doors_table(void) {
    static const emu_doors table = {.version = EMU_DOORS_VERSION,
                                    .cudart = DOOR_CUDART,
                                    .start = table_start,
                                    .list_devices = door_list_devices,
                                    .started = table_started,
                                    .module_loaded = table_module_loaded,
                                    .device_count = table_device_count,
                                    .device = table_device,
                                    .machine_count = table_machine_count,
                                    .machine_device = table_machine_device,
                                    .set_device = table_set_device,
                                    .virtual_memory = &door_virtual,
                                    .ipc_export = door_ipc_export,
                                    .ipc_import = door_ipc_import,
                                    .ipc_close = door_ipc_close,
                                    .now_s = door_now,
                                    .say = table_say,
                                    .observe = table_observe,
                                    .enter = table_enter,
                                    .leave = door_api_exit,
                                    .tell_context = tell_event,
                                    .context_device = context_device,
                                    .device_context = device_context,
                                    .context_count = context_count,
                                    .open_device = table_open_device,
                                    .correlation = door_api_correlation,
                                    .module_load = table_module_load,
                                    .module_kernel = table_module_kernel,
                                    .module_global = table_module_global,
                                    .module_unload = table_module_unload,
                                    .module_kernels = table_module_kernels,
                                    .kernel_module = table_kernel_module,
                                    .image_text = table_image_text,
                                    .image_check = table_image_check,
                                    .image_complaint = door_image_complaint,
                                    .memory_range = table_memory_range,
                                    .kernel_name = table_kernel_name,
                                    .kernel_host = table_kernel_host,
                                    .symbol = table_symbol,
                                    .stream_id = table_stream_id,
                                    .graph_id = door_graph_id,
                                    .captures = door_capture_count,
                                    .fill = table_fill};
    return &table;
}
