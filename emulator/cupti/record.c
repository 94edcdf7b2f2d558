/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the device to activity records, in the layout of the version that is shown: the newest
 * layout is filled, and its first bytes are what an older version had.
 */
#include "emulator/cupti/door.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Sizes -----------------------------------------------------------------------------------
 */

/* From which cuptiGetVersion on a record has which size, newest first. */
static const struct {
    uint32_t kind, since, size;
} sizes[] = {
    {KIND_KERNEL, VERSION_13_0, 216},
    {KIND_KERNEL, 19, 208},
    {KIND_KERNEL, 18, 200},
    {KIND_KERNEL, 17, 176},
    {KIND_KERNEL, 15, 168},
    {KIND_KERNEL, 13, 160},
    {KIND_KERNEL, 0, 144},
    {KIND_MEMCPY, 26, 96},
    {KIND_MEMCPY, 17, 88},
    {KIND_MEMCPY, 15, 80},
    {KIND_MEMCPY, 13, 72},
    {KIND_MEMCPY, 0, 64},
    {KIND_MEMCPY2, 17, 96},
    {KIND_MEMCPY2, 15, 88},
    {KIND_MEMCPY2, 13, 80},
    {KIND_MEMCPY2, 0, 72},
    {KIND_MEMSET, 17, 88},
    {KIND_MEMSET, 15, 80},
    {KIND_MEMSET, 13, 72},
    {KIND_MEMSET, 0, 64},
    {KIND_MEMORY2, 24, 128},
    {KIND_MEMORY2, 17, 120},
    {KIND_MEMORY2, 15, 112},
    {KIND_MEMORY_POOL, VERSION_13_0, 80},
    {KIND_MEMORY_POOL, 17, 72},
    {KIND_MEMORY_POOL, 15, 64},
    {KIND_DEVICE, 20, 184},
    {KIND_DEVICE, 17, 176},
    {KIND_DEVICE, 0, 152},
    {KIND_CONTEXT, VERSION_13_0, 32},
    {KIND_CONTEXT, 22, 24},
    {KIND_CONTEXT, 0, 16},
    {KIND_GRAPH_TRACE, 22, 56},
    {KIND_GRAPH_TRACE, 0, 48},
    {KIND_OVERHEAD, 22, 56},
    {KIND_OVERHEAD, 0, 40},
    {KIND_RUNTIME, 0, 40},
    {KIND_EXTERNAL_CORRELATION, 0, 24},
};

size_t record_size(uint32_t kind) {
    uint32_t now = version();
    kind = kind == KIND_CONCURRENT_KERNEL ? KIND_KERNEL : kind == KIND_DRIVER ? KIND_RUNTIME : kind;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].kind == kind && now >= sizes[i].since)
            return sizes[i].size;
    return 0;
}

static void add(const void *record, double end_s, const char *name, size_t name_offset) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    size_t size = record_size(kind);
    if (size)
        activity_add(record, size, end_s, name, name_offset);
}

/* ---- Kernels ---------------------------------------------------------------------------------
 */

/* Of launches that are profiled NVIDIA promises no times: the strict door gives none. */
static bool without_times(int device) {
    return strict() && profiling_started(device);
}

/* Where graphs are traced as a whole, their nodes have no records. */
static bool only_whole(uint32_t graph) {
    return graph && activity_on(KIND_GRAPH_TRACE);
}

void record_launch(const emu_launch_event *e) {
    bool concurrent = activity_on(KIND_CONCURRENT_KERNEL);
    if ((!concurrent && !activity_on(KIND_KERNEL)) || only_whole(e->graph))
        return;
    const emu_kernel_info *info = e->info;
    uint64_t start = virtual_ns(e->start_s), end = virtual_ns(e->end_s);
    if (without_times(e->device))
        start = end = 0;
    record_kernel r = {.kind = concurrent ? KIND_CONCURRENT_KERNEL : KIND_KERNEL,
                       .registers = (uint16_t)info->registers_per_thread,
                       .start = start,
                       .end = end,
                       .completed = end,
                       .device = (uint32_t)e->device,
                       .context = context_uid(e->device),
                       .stream = (uint32_t)e->stream,
                       .shared_static = (int32_t)info->shared_bytes,
                       .shared_dynamic = (int32_t)e->launch->dynamic_shared_bytes,
                       .shared_executed = info->shared_bytes + e->launch->dynamic_shared_bytes,
                       .local_per_thread = info->local_bytes_per_thread,
                       .correlation = e->correlation,
                       .grid_id = (int64_t)e->id,
                       .graph_node = e->node,
                       .graph = e->graph,
                       .launch_type = e->launch->cooperative ? LAUNCH_COOPERATIVE : LAUNCH_REGULAR,
                       .channel_type = CHANNEL_COMPUTE};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        r.grid[i] = (int32_t)e->launch->grid[i];
        r.block[i] = (int32_t)e->launch->block[i];
        threads *= (uint64_t)e->launch->grid[i] * e->launch->block[i];
    }
    r.local_total_2 = threads * info->local_bytes_per_thread;
    r.local_total = (uint32_t)r.local_total_2;
    add(&r, e->end_s, info->name, offsetof(record_kernel, name));
}

/* ---- Copies and fills ------------------------------------------------------------------------
 */

static uint8_t memory_kind(bool known, bool array, emu_memory_kind kind) {
    if (!known)
        return MEMORY_PAGEABLE;
    if (array)
        return MEMORY_ARRAY;
    return kind == EMU_MEMORY_DEVICE ? MEMORY_DEVICE
           : kind == EMU_MEMORY_HOST ? MEMORY_PINNED
                                     : MEMORY_MANAGED;
}

static void add_fill(const emu_copy_event *e) {
    record_memset r = {.kind = KIND_MEMSET,
                       .value = (uint32_t)e->value,
                       .bytes = e->bytes,
                       .start = virtual_ns(e->start_s),
                       .end = virtual_ns(e->end_s),
                       .device = (uint32_t)e->device,
                       .context = context_uid(e->device),
                       .stream = (uint32_t)e->stream,
                       .correlation = e->correlation,
                       .flags = e->waits ? 0 : FLAG_COPY_ASYNC,
                       .memory_kind = memory_kind(e->to_known, e->to_array, e->to),
                       .channel_type = CHANNEL_COMPUTE,
                       .graph_node = e->node,
                       .graph = e->graph};
    if (activity_on(KIND_MEMSET))
        add(&r, e->end_s, NULL, 0);
}

static void add_peer(const emu_copy_event *e) {
    record_memcpy2 r = {.kind = KIND_MEMCPY2,
                        .copy_kind = COPY_PTOP,
                        .source = memory_kind(e->from_known, e->from_array, e->from),
                        .destination = memory_kind(e->to_known, e->to_array, e->to),
                        .flags = e->waits ? 0 : FLAG_COPY_ASYNC,
                        .bytes = e->bytes,
                        .start = virtual_ns(e->start_s),
                        .end = virtual_ns(e->end_s),
                        .device = (uint32_t)e->device,
                        .context = context_uid(e->device),
                        .stream = (uint32_t)e->stream,
                        .source_device = (uint32_t)e->from_device,
                        .source_context = context_uid(e->from_device),
                        .destination_device = (uint32_t)e->to_device,
                        .destination_context = context_uid(e->to_device),
                        .correlation = e->correlation,
                        .channel_type = CHANNEL_ASYNC_COPY,
                        .graph_node = e->node,
                        .graph = e->graph};
    if (activity_on(KIND_MEMCPY2))
        add(&r, e->end_s, NULL, 0);
}

/* Arrays have kinds of their own. */
static uint8_t copy_kind(const emu_copy_event *e) {
    static const struct {
        const char *name;
        uint8_t kind, from_array, to_array, between;
    } kinds[] = {{"HtoD", COPY_HTOD, 0, COPY_HTOA, 0},
                 {"DtoH", COPY_DTOH, COPY_ATOH, 0, 0},
                 {"DtoD", COPY_DTOD, COPY_ATOD, COPY_DTOA, COPY_ATOA},
                 {"HtoH", COPY_HTOH, 0, 0, 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, e->kind))
            return e->from_array && e->to_array ? kinds[i].between
                   : e->from_array              ? kinds[i].from_array
                   : e->to_array                ? kinds[i].to_array
                                                : kinds[i].kind;
    return 0;
}

void record_copy(const emu_copy_event *e) {
    if (only_whole(e->graph))
        return;
    if (!strcmp(e->kind, "memset")) {
        add_fill(e);
        return;
    }
    if (!strcmp(e->kind, "PtoP")) {
        add_peer(e);
        return;
    }
    record_memcpy r = {.kind = KIND_MEMCPY,
                       .copy_kind = copy_kind(e),
                       .source = memory_kind(e->from_known, e->from_array, e->from),
                       .destination = memory_kind(e->to_known, e->to_array, e->to),
                       .flags = e->waits ? 0 : FLAG_COPY_ASYNC,
                       .bytes = e->bytes,
                       .start = virtual_ns(e->start_s),
                       .end = virtual_ns(e->end_s),
                       .device = (uint32_t)e->device,
                       .context = context_uid(e->device),
                       .stream = (uint32_t)e->stream,
                       .correlation = e->correlation,
                       .channel_type = CHANNEL_ASYNC_COPY,
                       .copies = 1,
                       .graph_node = e->node,
                       .graph = e->graph};
    if (activity_on(KIND_MEMCPY))
        add(&r, e->end_s, NULL, 0);
}

/* ---- Graphs ----------------------------------------------------------------------------------
 */

void record_graph_run(const emu_graph_run_event *e) {
    record_graph r = {.kind = KIND_GRAPH_TRACE,
                      .correlation = e->correlation,
                      .start = virtual_ns(e->start_s),
                      .end = virtual_ns(e->end_s),
                      .device = (uint32_t)e->device,
                      .graph = e->graph,
                      .context = context_uid(e->device),
                      .stream = (uint32_t)e->stream,
                      .end_device = (uint32_t)e->device,
                      .end_context = context_uid(e->device)};
    if (activity_on(KIND_GRAPH_TRACE))
        add(&r, e->end_s, NULL, 0);
}

/* ---- Memory ----------------------------------------------------------------------------------
 */

void record_memory(const emu_memory_event *e) {
    record_memory_4 r = {.kind = KIND_MEMORY2,
                         .operation = e->allocated ? MEMORY_ALLOCATION : MEMORY_RELEASE,
                         .memory_kind = memory_kind(true, e->array, e->kind),
                         .correlation = e->correlation,
                         .address = e->address,
                         .bytes = e->bytes,
                         .timestamp = virtual_ns(e->time_s),
                         .process = (uint32_t)getpid(),
                         .device = (uint32_t)e->device,
                         .context = context_uid(e->device),
                         .is_async = e->pool};
    if (e->pool) {
        r.pool_type = POOL_LOCAL;
        r.pool = (uint64_t)(uintptr_t)e->pool_handle;
        r.pool_used = r.pool_size = e->pool_bytes;
    }
    if (activity_on(KIND_MEMORY2))
        add(&r, e->time_s, NULL, 0);
}

void record_pool_event(const emu_pool_event *e) {
    record_pool r = {.kind = KIND_MEMORY_POOL,
                     .operation = (uint32_t)e->operation,
                     .pool_type = POOL_LOCAL,
                     .correlation = e->correlation,
                     .process = (uint32_t)getpid(),
                     .device = (uint32_t)e->device,
                     .keep = e->keep,
                     .address = (uint64_t)(uintptr_t)e->pool_handle,
                     .size = e->pool_bytes,
                     .release_threshold = e->release_threshold,
                     .timestamp = virtual_ns(e->time_s),
                     .used = e->pool_bytes};
    if (activity_on(KIND_MEMORY_POOL))
        add(&r, e->time_s, NULL, 0);
}

/* ---- Devices, contexts, calls ----------------------------------------------------------------
 */

static uint32_t khz(double hz) {
    return (uint32_t)(hz / 1e3);
}

static void add_device(int index, const emu_door_device *d) {
    const emu_device_spec *s = d->spec;
    record_device r = {.kind = KIND_DEVICE,
                       .bandwidth = (uint64_t)(s->dram_bytes_per_s / 1000),
                       .memory_bytes = s->memory_bytes,
                       .constant_bytes = 65536,
                       .l2_bytes = (uint32_t)s->l2_bytes,
                       .warp = 32,
                       .clock_khz = khz(s->sm_clock_hz),
                       .copy_engines = 2,
                       .sm_count = (uint32_t)s->sm_count,
                       .warps_per_sm = s->max_warps_per_sm,
                       .blocks_per_sm = s->max_blocks_per_sm,
                       .shared_per_sm = s->shared_bytes_per_sm,
                       .registers_per_sm = s->registers_per_sm,
                       .registers_per_block = s->registers_per_sm,
                       .shared_per_block = s->shared_bytes_per_block,
                       .threads_per_block = 1024,
                       .block = {1024, 1024, 64},
                       .grid = {INT32_MAX, 65535, 65535},
                       .cc_major = (uint32_t)s->cc_major,
                       .cc_minor = (uint32_t)s->cc_minor,
                       .id = (uint32_t)index,
                       .visible = 1};
    memcpy(r.uuid, "emulated ", 9);
    r.uuid[9] = (uint8_t)('0' + index);
    add(&r, 0, s->name, offsetof(record_device, name));
}

void record_context_of(int index) {
    emu_door_device d;
    if (!doors()->device(index, &d))
        return;
    record_context r = {.kind = KIND_CONTEXT,
                        .context = context_uid(index),
                        .device = (uint32_t)index,
                        .api = 1, /* CUDA */
                        .sm_count = (uint16_t)d.spec->sm_count};
    add(&r, 0, NULL, 0);
}

void record_existing(int kind) {
    const emu_doors *d = doors();
    emu_door_device device;
    for (int i = 0; i < d->device_count(); i++) {
        if (!d->device(i, &device))
            continue;
        if (kind == KIND_DEVICE)
            add_device(i, &device);
        if (kind == KIND_CONTEXT && d->device_context(i))
            record_context_of(i);
    }
}

/* The real time that loading took, laid before the moment on the virtual clock. */
void record_module(int device, double seconds) {
    activity_module_loaded();
    if (!activity_on(KIND_OVERHEAD))
        return;
    double now_s = doors()->now_s();
    record_overhead r = {.kind = KIND_OVERHEAD,
                         .overhead_kind = OVERHEAD_MODULE_LOADING,
                         .object_kind = OBJECT_DEVICE,
                         .object = {(uint32_t)device, context_uid(device), 0},
                         .start = virtual_ns(now_s - seconds),
                         .end = virtual_ns(now_s),
                         .correlation = doors()->correlation()};
    add(&r, 0, NULL, 0);
}

void record_api_call(const emu_api_event *event, uint64_t start, uint64_t end) {
    record_api r = {.kind = event->domain == EMU_DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME,
                    .cbid = callback_id(event),
                    .start = start,
                    .end = end,
                    .process = (uint32_t)getpid(),
                    .thread = (uint32_t)syscall(SYS_gettid),
                    .correlation = event->correlation,
                    .result = (uint32_t)event->result};
    add(&r, 0, NULL, 0);
}
