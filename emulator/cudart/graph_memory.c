/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that graphs allocate. A node's block has its address from the moment that the node is
 * added, and holds it as long as any copy of the node lives; a launch allocates and frees it only
 * in the books (the counts file, what observers hear, the graph memory attributes), since an
 * emulated device has no physical memory to map behind an address.
 */
#include "emulator/cudart/graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct graph_block {
    struct graph_block *next;
    door_device *device;
    uint64_t address, size;
    int references; /* nodes */
    bool live;      /* a launch has allocated it, and nobody has freed it yet */
    bool lost;      /* its device was reset */
} graph_block;

static struct {
    pthread_mutex_t lock;
    graph_block *blocks;
    uint64_t attribute[DOOR_DEVICES][DOOR_GRAPH_MEMORY_ATTRIBUTES];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Blocks -----------------------------------------------------------------------------------
 */

/* With the lock held. */
static graph_block *find_block(uint64_t address) {
    graph_block *b = memory.blocks;
    while (b && (b->lost || b->address != address))
        b = b->next;
    return b;
}

static graph_block *new_block(door_device *device, uint64_t size, cudaError_t *error) {
    emu_fault fault = {0};
    graph_block *b = calloc(1, sizeof *b);
    if (!b) {
        *error = cudaErrorMemoryAllocation;
        return NULL;
    }
    *b = (graph_block){.device = device, .size = size, .references = 1};
    *error = door_error_of(
        emu_memory_allocate(device->emu, EMU_MEMORY_DEVICE, size, &b->address, &fault));
    if (*error) {
        free(b);
        return NULL;
    }
    pthread_mutex_lock(&memory.lock);
    b->next = memory.blocks;
    memory.blocks = b;
    pthread_mutex_unlock(&memory.lock);
    return b;
}

static void account(const graph_block *b, bool allocated) {
    uint64_t *a = memory.attribute[b->device->index];
    uint64_t *used = &a[cudaGraphMemAttrUsedMemCurrent],
             *kept = &a[cudaGraphMemAttrReservedMemCurrent];
    *used = allocated ? *used + b->size : *used - b->size;
    if (*used > *kept)
        *kept = *used;
    if (*used > a[cudaGraphMemAttrUsedMemHigh])
        a[cudaGraphMemAttrUsedMemHigh] = *used;
    if (*kept > a[cudaGraphMemAttrReservedMemHigh])
        a[cudaGraphMemAttrReservedMemHigh] = *kept;
}

/* False: it was in that state already, or is no more. */
static bool turn(graph_block *b, bool live) {
    pthread_mutex_lock(&memory.lock);
    bool turned = b->live != live && !b->lost;
    if (turned) {
        b->live = live;
        account(b, live);
    }
    pthread_mutex_unlock(&memory.lock);
    if (!turned)
        return false;
    emu_counts_memory(door.file, b->device->index, "pool", live, b->address, b->size, door_now());
    door_tell_pool_memory(b->device, live, b->address, b->size);
    return true;
}

void door_graph_forget(const door_device *device) {
    pthread_mutex_lock(&memory.lock);
    for (graph_block *b = memory.blocks; b; b = b->next) {
        if (b->device != device)
            continue;
        if (b->live)
            account(b, false);
        b->live = false;
        b->lost = true;
    }
    pthread_mutex_unlock(&memory.lock);
}

static void release_block(graph_block *block) {
    emu_fault fault;
    pthread_mutex_lock(&memory.lock);
    bool last = block && --block->references == 0;
    /* what a graph has left allocated stays until somebody frees it */
    last = last && !block->live;
    for (graph_block **link = &memory.blocks; last && *link; link = &(*link)->next)
        if (*link == block) {
            *link = block->next;
            break;
        }
    pthread_mutex_unlock(&memory.lock);
    if (!last)
        return;
    if (block->device->emu && !block->lost)
        emu_memory_free(block->device->emu, block->address, &fault);
    free(block);
}

bool door_graph_free(void *address, cudaError_t *error) {
    pthread_mutex_lock(&memory.lock);
    graph_block *b = find_block((uint64_t)(uintptr_t)address);
    pthread_mutex_unlock(&memory.lock);
    if (!b)
        return false;
    *error = turn(b, false) ? cudaSuccess : cudaErrorInvalidValue;
    if (!*error && b->references == 0) { /* its graphs are gone */
        b->references = 1;
        release_block(b);
    }
    return true;
}

/* ---- Nodes ------------------------------------------------------------------------------------
 */

cudaError_t memory_allocate_node(door_graph *graph, door_node *const *from, size_t count,
                                 cudaMemAllocNodeParams *params, door_node **node) {
    cudaError_t error;
    params->dptr = NULL;
    if (!params->bytesize || params->poolProps.location.type != 1 ||
        params->poolProps.location.id < 0 || params->poolProps.location.id >= door.device_count)
        return cudaErrorInvalidValue;
    if (params->poolProps.handleTypes)
        return cudaErrorNotSupported; /* memory shared between processes */
    if (graph->parent)
        return cudaErrorNotSupported;
    door_device *d = &door.device[params->poolProps.location.id];
    if ((error = door_open_device(d, true)))
        return error;
    graph_block *b = new_block(d, params->bytesize, &error);
    if (!b)
        return error;
    if ((error = node_new(graph, cudaGraphNodeTypeMemAlloc, from, count, node))) {
        release_block(b);
        return error;
    }
    params->dptr = (void *)(uintptr_t)b->address;
    (*node)->device = d;
    (*node)->of.memory = (memory_work){.block = b, .params = *params};
    (*node)->of.memory.params.accessDescs = NULL; /* the program's, for the call alone */
    (*node)->of.memory.params.accessDescCount = 0;
    return cudaSuccess;
}

cudaError_t memory_free_node(door_graph *graph, door_node *const *from, size_t count, void *address,
                             door_node **node) {
    pthread_mutex_lock(&memory.lock);
    graph_block *b = find_block((uint64_t)(uintptr_t)address);
    if (b)
        b->references++;
    pthread_mutex_unlock(&memory.lock);
    if (!b)
        return cudaErrorInvalidValue; /* only what a graph has allocated */
    bool twice = false;
    for (size_t i = 0; i < graph->nodes.count; i++)
        twice |= graph->nodes.at[i]->type == cudaGraphNodeTypeMemFree &&
                 graph->nodes.at[i]->of.memory.block == b;
    cudaError_t error = twice ? cudaErrorInvalidValue
                              : node_new(graph, cudaGraphNodeTypeMemFree, from, count, node);
    if (error) {
        release_block(b);
        return error;
    }
    (*node)->device = b->device;
    (*node)->of.memory = (memory_work){.block = b, .params.dptr = address};
    return cudaSuccess;
}

bool memory_copy_work(door_node *to, const door_node *from) {
    to->of.memory = from->of.memory;
    pthread_mutex_lock(&memory.lock);
    to->of.memory.block->references++;
    pthread_mutex_unlock(&memory.lock);
    return true;
}

void memory_free_work(door_node *node) {
    release_block(node->of.memory.block);
}

cudaError_t memory_run(door_node *node, door_stream *lane) {
    (void)lane; /* takes no time */
    return turn(node->of.memory.block, node->type == cudaGraphNodeTypeMemAlloc)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

cudaError_t memory_before_launch(door_graph *graph, bool free) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const door_node *n = graph->nodes.at[i];
        if (n->type != cudaGraphNodeTypeMemAlloc || !n->of.memory.block->live)
            continue;
        if (!free)
            return cudaErrorInvalidValue;
        turn(n->of.memory.block, false);
    }
    return cudaSuccess;
}

/* ---- Attributes -------------------------------------------------------------------------------
 */

static cudaError_t attribute(int device, int which, uint64_t *value, bool set) {
    if (device < 0 || device >= door.device_count)
        return cudaErrorInvalidDevice;
    if (!value || which < 0 || which >= DOOR_GRAPH_MEMORY_ATTRIBUTES)
        return cudaErrorInvalidValue;
    bool high = which == cudaGraphMemAttrUsedMemHigh || which == cudaGraphMemAttrReservedMemHigh;
    if (set && (!high || *value)) /* a high-water mark may be set back, and nothing else */
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&memory.lock);
    uint64_t *a = memory.attribute[device];
    if (set)
        a[which] = a[which - 1];
    else
        *value = a[which];
    pthread_mutex_unlock(&memory.lock);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaDeviceGetGraphMemAttribute, attribute(device, which, value, false), int device,
             int which, void *value)
GRAPH_EXPORT(cudaDeviceSetGraphMemAttribute, attribute(device, which, value, true), int device,
             int which, void *value)

static cudaError_t trim(int device) {
    if (device < 0 || device >= door.device_count)
        return cudaErrorInvalidDevice;
    pthread_mutex_lock(&memory.lock);
    uint64_t *a = memory.attribute[device];
    a[cudaGraphMemAttrReservedMemCurrent] = a[cudaGraphMemAttrUsedMemCurrent];
    pthread_mutex_unlock(&memory.lock);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaDeviceGraphMemTrim, trim(device), int device)
