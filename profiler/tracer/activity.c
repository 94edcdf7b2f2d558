/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity records to spool records: see activity.h. CUPTI calls buffer_completed on a thread of
 * its own or inside a flush; it takes the writer's lock only, which nobody holds across a CUPTI
 * call.
 */
#include "tracer/activity.h"
#include "tracer/names.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4 << 20, ALIGNMENT = 8, SPARE = 16 };
enum { VERSION_GRAPH_NODES = 13, VERSION_MEMORY = 15 }; /* CUDA 11.0: Kernel5; 11.2: Memory2 */
enum { VERSION_DISABLE_DEADLOCKS = 130000 };            /* repaired in 13.0 Update 1 */

static const cupti_api *cupti;
static uint32_t cupti_version;
static atomic_bool stopped;
static _Atomic uint64_t dropped, discarded, unknown, not_asked;

/* Completed buffers wait here for the next request: CUPTI asks often, and malloc of 4 MiB maps. */
static _Atomic(uint8_t *) spare[SPARE];
/* Handed out when there is no memory: CUPTI crashes on a NULL buffer; what lands here is lost. */
static uint8_t discard[64 << 10] __attribute__((aligned(ALIGNMENT)));

void activity_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    uint8_t *b = NULL;
    *max_records = 0;
    for (int i = 0; i < SPARE && !b; i++)
        b = atomic_exchange(&spare[i], NULL);
    if (!b && !atomic_load(&stopped))
        b = aligned_alloc(ALIGNMENT, BUFFER);
    *buffer = b ? b : discard;
    *size = b ? BUFFER : sizeof discard;
}

static void give_back(uint8_t *buffer) {
    uint8_t *none = NULL;
    if (buffer == discard)
        return;
    for (int i = 0; i < SPARE; i++, none = NULL)
        if (atomic_compare_exchange_strong(&spare[i], &none, buffer))
            return;
    free(buffer);
}

static void kernel_record(const record_kernel *r) {
    uint32_t name = names_of_pointer(r->name);
    if (name != SPOOL_NONE && !select_kernel(name, r->name ? r->name : "")) {
        atomic_fetch_add(&not_asked, 1);
        return;
    }
    spool_config config = {
        .name = name,
        .device = r->device,
        .context = r->context,
        .grid = {(uint32_t)r->grid[0], (uint32_t)r->grid[1], (uint32_t)r->grid[2]},
        .block = {(uint32_t)r->block[0], (uint32_t)r->block[1], (uint32_t)r->block[2]},
        .shared_static = (uint32_t)r->shared_static,
        .shared_dynamic = (uint32_t)r->shared_dynamic,
        .local_per_thread = r->local_per_thread,
        .registers = r->registers};
    spool_node node = {.kernel = {.start_low = (uint32_t)r->start,
                                  .start_high = (uint32_t)(r->start >> 32),
                                  .end_low = (uint32_t)r->end,
                                  .end_high = (uint32_t)(r->end >> 32),
                                  .config = names_config(&config),
                                  .correlation = r->correlation,
                                  .stream = r->stream}};
    if (config.name == SPOOL_NONE || node.kernel.config == SPOOL_NONE) {
        atomic_fetch_add(&discarded, 1);
        return;
    }
    if (cupti_version < VERSION_GRAPH_NODES || !r->graph_node) {
        writer_record(SPOOL_KERNELS, &node.kernel, sizeof node.kernel);
        return;
    }
    node.graph = r->graph;
    node.node = r->graph_node;
    writer_record(SPOOL_NODES, &node, sizeof node);
}

static void copy_record(const record_head *head) {
    spool_copy c = {0};
    if (head->kind == KIND_MEMSET) {
        const record_memset *r = (const record_memset *)(const void *)head;
        c = (spool_copy){r->start,          r->end, r->bytes, r->device, r->stream, r->correlation,
                         SPOOL_COPY_MEMSET, 0,      0,        0};
    } else if (head->kind == KIND_MEMCPY2) {
        const record_memcpy2 *r = (const record_memcpy2 *)(const void *)head;
        c = (spool_copy){r->start,       r->end,       r->bytes,  r->device,      r->stream,
                         r->correlation, r->copy_kind, r->source, r->destination, 0};
    } else {
        const record_memcpy *r = (const record_memcpy *)(const void *)head;
        c = (spool_copy){r->start,       r->end,       r->bytes,  r->device,      r->stream,
                         r->correlation, r->copy_kind, r->source, r->destination, 0};
    }
    writer_record(SPOOL_COPIES, &c, sizeof c);
}

static void memory_record(const record_memory2 *r) {
    spool_memory m = {.time_ns = r->timestamp,
                      .address = r->address,
                      .bytes = r->bytes,
                      .device = r->device,
                      .operation = (uint8_t)r->operation,
                      .kind = (uint8_t)r->memory_kind};
    writer_record(SPOOL_MEMORY, &m, sizeof m);
}

static void record(const record_head *head) {
    switch (head->kind) {
    case KIND_KERNEL:
    case KIND_CONCURRENT_KERNEL:
        kernel_record((const record_kernel *)(const void *)head);
        break;
    case KIND_MEMCPY:
    case KIND_MEMCPY2:
    case KIND_MEMSET:
        copy_record(head);
        break;
    case KIND_MEMORY2:
        memory_record((const record_memory2 *)(const void *)head);
        break;
    default:
        atomic_fetch_add(&unknown, 1);
    }
}

void activity_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid) {
    record_head *next = NULL;
    size_t lost = 0;
    (void)size;
    if (!buffer)
        return;
    if (buffer == discard || atomic_load(&stopped)) {
        while (cupti->ActivityGetNextRecord(buffer, valid, &next) == CUPTI_OK)
            atomic_fetch_add(&discarded, 1);
        give_back(buffer);
        return;
    }
    writer_lock();
    while (valid && cupti->ActivityGetNextRecord(buffer, valid, &next) == CUPTI_OK)
        record(next);
    writer_unlock();
    if (cupti->ActivityGetNumDroppedRecords &&
        cupti->ActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_OK)
        atomic_fetch_add(&dropped, lost);
    give_back(buffer);
}

void activity_write_lost(void) {
    static spool_lost written;
    spool_lost now = {atomic_load(&dropped), atomic_load(&discarded), atomic_load(&unknown),
                      atomic_load(&not_asked)};
    if (!memcmp(&now, &written, sizeof now))
        return;
    written = now;
    writer_frame(SPOOL_LOST, &now, sizeof now, NULL, 0);
}

void activity_abandon(void) {
    atomic_store(&stopped, true);
}

/* Refusals are noted in the spool. */
static cupti_result enable(int kind) {
    cupti_result refused = cupti->ActivityEnable(kind);
    spool_status status = {SPOOL_STAGE_ENABLE, (uint32_t)refused, (uint32_t)kind, 0};
    if (refused)
        writer_frame(SPOOL_STATUS, &status, sizeof status, "", 1);
    return refused;
}

cupti_result activity_start(const cupti_api *api, uint32_t version) {
    cupti = api;
    cupti_version = version;
    cupti_result result =
        api->ActivityRegisterCallbacks(activity_buffer_requested, activity_buffer_completed);
    if (result)
        return result;
    static const int kinds[] = {KIND_MEMCPY, KIND_MEMCPY2, KIND_MEMSET};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        enable(kinds[i]);
    if (version >= VERSION_MEMORY)
        enable(KIND_MEMORY2);
    return CUPTI_OK;
}

static atomic_bool kernels_on;

cupti_result activity_trace_kernels(void) {
    return atomic_exchange(&kernels_on, true) ? CUPTI_OK : enable(KIND_CONCURRENT_KERNEL);
}

void activity_pause_kernels(void) {
    if (atomic_exchange(&kernels_on, false))
        cupti->ActivityDisable(KIND_CONCURRENT_KERNEL);
}

bool activity_can_pause(uint32_t version) {
    return version != VERSION_DISABLE_DEADLOCKS;
}
