/* SPDX-License-Identifier: Apache-2.0
 *
 * What a graph's nodes do: their parameters, set and asked for, of plain and of executable graphs,
 * and their execution.
 */
#include "emulator/cudart/graph.h"
#include <stdlib.h>
#include <string.h>

/* ---- Work, by type ----------------------------------------------------------------------------
 */

static void kernel_free(kernel_work *w) {
    free(w->params.kernelParams);
    free(w->values);
    w->params.kernelParams = NULL;
    w->values = NULL;
}

/* Arguments packed in one buffer: pairs of what and where, 1 the buffer, 2 the address of its size,
 * 0 the end. */
static bool packed_arguments(void **extra, char **buffer, size_t *size) {
    *buffer = NULL;
    *size = 0;
    for (void **e = extra; *e; e += 2)
        if (*e == (void *)1)
            *buffer = e[1];
        else if (*e == (void *)2)
            *size = *(size_t *)e[1];
        else
            return false;
    return *buffer != NULL;
}

enum { VALUE_ALIGNMENT = 16 };

static size_t rounded(size_t size) {
    return (size + VALUE_ALIGNMENT - 1) / VALUE_ALIGNMENT * VALUE_ALIGNMENT;
}

/* Copies the arguments, whose sizes the kernel tells. */
static cudaError_t keep_values(kernel_work *w, const emu_kernel_info *info,
                               const cudaKernelNodeParams *p) {
    char *packed = NULL;
    size_t packed_size = 0, size = VALUE_ALIGNMENT, at = 0;
    int n = info->parameter_count;
    if (n && !p->kernelParams && (!p->extra || !packed_arguments(p->extra, &packed, &packed_size)))
        return cudaErrorInvalidValue;
    if (packed && packed_size < info->parameter_bytes)
        return cudaErrorInvalidValue;
    for (int i = 0; i < n; i++)
        size += rounded(info->parameter_size[i]);
    void **pointers = calloc((size_t)n + 1, sizeof *pointers);
    unsigned char *values = aligned_alloc(VALUE_ALIGNMENT, size);
    if (!pointers || !values) {
        free(pointers);
        free(values);
        return cudaErrorMemoryAllocation;
    }
    for (int i = 0; i < n; i++) {
        pointers[i] = values + at;
        memcpy(values + at, packed ? packed + info->parameter_offset[i] : p->kernelParams[i],
               info->parameter_size[i]);
        at += rounded(info->parameter_size[i]);
    }
    w->params.kernelParams = pointers;
    w->values = values;
    return cudaSuccess;
}

static door_kernel_call call_of(const kernel_work *w) {
    return (door_kernel_call){w->params.func,           w->params.gridDim,      w->params.blockDim,
                              w->params.sharedMemBytes, w->params.kernelParams, w->cooperative};
}

cudaError_t kernel_set(door_node *node, const cudaKernelNodeParams *p, bool cooperative) {
    const emu_kernel_info *info;
    kernel_work w = {.cooperative = cooperative, .priority = node->of.kernel.priority};
    if (!p)
        return cudaErrorInvalidValue;
    w.params = *p;
    w.params.kernelParams = w.params.extra = NULL;
    door_kernel_call call = call_of(&w);
    cudaError_t error = door_check_kernel(&call, &info);
    if (!error)
        error = keep_values(&w, info, p);
    if (error)
        return error;
    kernel_free(&node->of.kernel);
    node->of.kernel = w;
    return cudaSuccess;
}

cudaError_t copy_set(door_node *node, const cudaMemcpy3DParms *p) {
    if (!p || (!p->srcArray && !p->srcPtr.ptr) || (!p->dstArray && !p->dstPtr.ptr) ||
        (unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidValue;
    node->of.copy = *p;
    return cudaSuccess;
}

cudaError_t fill_set(door_node *node, const cudaMemsetParams *p) {
    if (!p || !p->dst || !p->width || !p->height ||
        (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
        (uintptr_t)p->dst % p->elementSize)
        return cudaErrorInvalidValue;
    node->of.fill = *p;
    return cudaSuccess;
}

static cudaError_t host_set(door_node *node, const cudaHostNodeParams *p) {
    if (!p || !p->fn)
        return cudaErrorInvalidValue;
    node->of.host = *p;
    return cudaSuccess;
}

static cudaError_t event_set(door_node *node, cudaEvent_t event) {
    if (!door_find_event(event))
        return cudaErrorInvalidValue;
    node->of.event = event;
    return cudaSuccess;
}

static bool can_be_child(const door_graph *graph) {
    return !graph_has(graph, cudaGraphNodeTypeMemAlloc) &&
           !graph_has(graph, cudaGraphNodeTypeMemFree);
}

static cudaError_t child_copy(cudaGraph_t graph, door_graph **copy) {
    if (!handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    if (!can_be_child(graph))
        return cudaErrorNotSupported;
    *copy = graph_copy(graph, false);
    return *copy ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void child_take(door_node *node, door_graph *copy) {
    copy->parent = node->graph;
    graph_free(node->of.child);
    node->of.child = copy;
}

static cudaError_t child_set(door_node *node, cudaGraph_t graph) {
    door_graph *copy;
    cudaError_t error = child_copy(graph, &copy);
    if (!error)
        child_take(node, copy);
    return error;
}

cudaError_t node_set(door_node *node, const cudaGraphNodeParams *p) {
    if (!p || p->type != node->type)
        return cudaErrorInvalidValue;
    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        return kernel_set(node, &p->of.kernel, node->of.kernel.cooperative);
    case cudaGraphNodeTypeMemcpy:
        return copy_set(node, &p->of.memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return fill_set(node, &p->of.memset);
    case cudaGraphNodeTypeHost:
        return host_set(node, &p->of.host);
    case cudaGraphNodeTypeGraph:
        return child_set(node, p->of.graph.graph);
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return event_set(node, p->of.event);
    default:
        return cudaErrorInvalidValue; /* nothing of it can be changed */
    }
}

static bool kernel_copy(kernel_work *to, const kernel_work *from) {
    const emu_kernel_info *info;
    door_kernel_call call = call_of(from);
    *to = *from;
    to->values = NULL;
    to->params.kernelParams = NULL;
    return !door_check_kernel(&call, &info) && !keep_values(to, info, &from->params);
}

bool node_copy_work(door_node *to, const door_node *from) {
    int current = door_self.device;
    bool ok = true;
    switch (from->type) {
    case cudaGraphNodeTypeKernel:
        door_self.device = from->device->index;
        ok = kernel_copy(&to->of.kernel, &from->of.kernel);
        door_self.device = current;
        return ok;
    case cudaGraphNodeTypeGraph:
        to->of.child = graph_copy(from->of.child, true);
        if (to->of.child)
            to->of.child->parent = to->graph;
        return to->of.child != NULL;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return memory_copy_work(to, from);
    default:
        to->of = from->of;
        return true;
    }
}

void node_free_work(door_node *node) {
    if (node->type == cudaGraphNodeTypeKernel)
        kernel_free(&node->of.kernel);
    else if (node->type == cudaGraphNodeTypeGraph)
        graph_free(node->of.child);
    else if (node->type == cudaGraphNodeTypeMemAlloc || node->type == cudaGraphNodeTypeMemFree)
        memory_free_work(node);
}

/* ---- Running ----------------------------------------------------------------------------------
 */

static cudaError_t run_event(const door_node *node, door_stream *lane) {
    door_event *e = door_find_event(node->of.event);
    if (!e)
        return cudaErrorInvalidResourceHandle;
    if (node->type == cudaGraphNodeTypeEventRecord) {
        e->time_s = door_schedule(lane, NULL, DOOR_EVENT_S, false) + DOOR_EVENT_S;
        e->recorded = true;
    } else if (e->recorded && e->time_s > lane->ready_s) {
        lane->ready_s = e->time_s;
    }
    return cudaSuccess;
}

cudaError_t node_run(door_node *node, door_stream *lane) {
    door_kernel_call call;
    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        call = call_of(&node->of.kernel);
        return door_run_kernel(&call, lane);
    case cudaGraphNodeTypeMemcpy:
        return door_copy(&node->of.copy, lane);
    case cudaGraphNodeTypeMemset:
        return door_fill(&node->of.fill, lane);
    case cudaGraphNodeTypeHost:
        node->of.host.fn(node->of.host.userData);
        return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return run_event(node, lane);
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return memory_run(node, lane);
    default:
        return cudaSuccess; /* empty; children are walked over by graph_exec.c */
    }
}

/* ---- Adding -----------------------------------------------------------------------------------
 */

/* Whether nodes can be added to GRAPH after FROM. */
static cudaError_t check_place(cudaGraphNode_t *node, cudaGraph_t graph,
                               const cudaGraphNode_t *from, size_t count) {
    if (!node || !handle_is(graph, HANDLE_GRAPH) || (count && !from))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!handle_is(from[i], HANDLE_NODE) || from[i]->graph != graph)
            return cudaErrorInvalidValue;
    return cudaSuccess;
}

static void tell_added(const door_node *node) {
    tell_node(EMU_NODE_CREATED, node, NULL);
    for (size_t i = 0; i < node->from.count; i++)
        tell_node(EMU_NODE_DEPENDS, node, node->from.at[i]);
}

/* A graph may become a child of itself or of its own child: it is copied as it was before. */
static cudaError_t add_child(door_graph *graph, cudaGraphNode_t const *from, size_t count,
                             cudaGraph_t child, door_node **node) {
    door_graph *copy;
    cudaError_t error = child_copy(child, &copy);
    if (error)
        return error;
    error = node_new(graph, cudaGraphNodeTypeGraph, from, count, node);
    if (error)
        graph_free(copy);
    else
        child_take(*node, copy);
    return error;
}

static cudaError_t add_plain(door_graph *graph, cudaGraphNode_t const *from, size_t count,
                             const cudaGraphNodeParams *p, door_node **node) {
    cudaError_t error = node_new(graph, p->type, from, count, node);
    if (error || p->type == cudaGraphNodeTypeEmpty)
        return error;
    error = node_set(*node, p);
    if (error)
        node_free(*node);
    return error;
}

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *from,
                       size_t count, cudaGraphNodeParams *p) {
    door_node *node = NULL;
    cudaError_t error = p ? check_place(out, graph, from, count) : cudaErrorInvalidValue;
    if (error)
        return error;
    switch (p->type) {
    case cudaGraphNodeTypeMemAlloc:
        error = memory_allocate_node(graph, from, count, &p->of.alloc, &node);
        break;
    case cudaGraphNodeTypeMemFree:
        error = memory_free_node(graph, from, count, p->of.free, &node);
        break;
    case cudaGraphNodeTypeConditional:
        return door_not_supported("a graph's conditional node");
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return door_not_supported("a graph's node for external semaphores");
    case cudaGraphNodeTypeGraph:
        error = add_child(graph, from, count, p->of.graph.graph, &node);
        break;
    default:
        if ((unsigned)p->type > cudaGraphNodeTypeEventRecord)
            return cudaErrorInvalidValue;
        error = add_plain(graph, from, count, p, &node);
    }
    if (error)
        return error;
    *out = node;
    tell_added(node);
    return cudaSuccess;
}

#define PARAMS(kind, ...) (&(cudaGraphNodeParams){.type = cudaGraphNodeType##kind, __VA_ARGS__})
#define PLACE             cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count

/* A pointer to parameters becomes parameters; NULL is an error. */
#define ADD_BY_POINTER(name, kind, member, type)                                                   \
    GRAPH_EXPORT(name,                                                                             \
                 p ? add(node, graph, from, count, PARAMS(kind, .of.member = *p))                  \
                   : cudaErrorInvalidValue,                                                        \
                 PLACE, const type *p)
ADD_BY_POINTER(cudaGraphAddKernelNode, Kernel, kernel, cudaKernelNodeParams)
ADD_BY_POINTER(cudaGraphAddMemcpyNode, Memcpy, memcpy.copyParams, cudaMemcpy3DParms)
ADD_BY_POINTER(cudaGraphAddMemsetNode, Memset, memset, cudaMemsetParams)
ADD_BY_POINTER(cudaGraphAddHostNode, Host, host, cudaHostNodeParams)
GRAPH_EXPORT(cudaGraphAddEmptyNode, add(node, graph, from, count, PARAMS(Empty, .of.event = NULL)),
             PLACE)
GRAPH_EXPORT(cudaGraphAddChildGraphNode,
             add(node, graph, from, count, PARAMS(Graph, .of.graph.graph = child)), PLACE,
             cudaGraph_t child)
GRAPH_EXPORT(cudaGraphAddEventRecordNode,
             add(node, graph, from, count, PARAMS(EventRecord, .of.event = event)), PLACE,
             cudaEvent_t event)
GRAPH_EXPORT(cudaGraphAddEventWaitNode,
             add(node, graph, from, count, PARAMS(WaitEvent, .of.event = event)), PLACE,
             cudaEvent_t event)
GRAPH_EXPORT(cudaGraphAddMemFreeNode,
             add(node, graph, from, count, PARAMS(MemFree, .of.free = address)), PLACE,
             void *address)

static cudaError_t add_allocation(PLACE, cudaMemAllocNodeParams *p) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemAlloc};
    if (!p)
        return cudaErrorInvalidValue;
    params.of.alloc = *p;
    cudaError_t error = add(node, graph, from, count, &params);
    p->dptr = params.of.alloc.dptr;
    return error;
}
GRAPH_EXPORT(cudaGraphAddMemAllocNode, add_allocation(node, graph, from, count, p), PLACE,
             cudaMemAllocNodeParams *p)

/* A node of any type. OWNERSHIP of a child that is moved: it goes with the node. */
static cudaError_t add_any(PLACE, const cudaGraphEdgeData *data, cudaGraphNodeParams *p) {
    static const cudaGraphEdgeData plain;
    for (size_t i = 0; data && i < count; i++)
        if (memcmp(&data[i], &plain, sizeof plain) != 0)
            return door_not_supported("a graph's edge with data (programmatic dependent launch)");
    cudaError_t error = add(node, graph, from, count, p);
    if (!error && p->type == cudaGraphNodeTypeGraph && p->of.graph.ownership == 1)
        graph_free(p->of.graph.graph);
    return error;
}
#if DOOR_CUDART >= 13
GRAPH_EXPORT(cudaGraphAddNode, add_any(node, graph, from, count, data, p), cudaGraphNode_t *node,
             cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphEdgeData *data,
             size_t count, cudaGraphNodeParams *p)
#else
GRAPH_EXPORT(cudaGraphAddNode_v2, add_any(node, graph, from, count, data, p), cudaGraphNode_t *node,
             cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphEdgeData *data,
             size_t count, cudaGraphNodeParams *p)
GRAPH_EXPORT(cudaGraphAddNode, add_any(node, graph, from, count, NULL, p), PLACE,
             cudaGraphNodeParams *p)
#endif

/* ---- Copies of one row, and of variables ------------------------------------------------------
 */

static cudaMemcpy3DParms row(void *to, const void *from, size_t size, cudaMemcpyKind kind) {
    return (cudaMemcpy3DParms){.dstPtr = {to, size, size, 1},
                               .srcPtr = {(void *)(uintptr_t)from, size, size, 1},
                               .extent = {size, 1, 1},
                               .kind = kind};
}

/* The bytes of a variable on the current device. */
static cudaError_t symbol_at(const void *symbol, size_t size, size_t offset, void **at) {
    size_t whole;
    cudaError_t error = door_find_symbol(symbol, &door.device[door_self.device], at, &whole);
    if (!error && (offset > whole || size > whole - offset))
        error = cudaErrorInvalidValue;
    if (!error)
        *at = (char *)*at + offset;
    return error;
}

typedef struct symbol_copy {
    const void *symbol;
    size_t size, offset;
    cudaMemcpyKind kind;
    bool to_symbol;
    void *other;
} symbol_copy;

static cudaError_t symbol_params(const symbol_copy *c, cudaGraphNodeParams *p) {
    void *at;
    cudaError_t error = symbol_at(c->symbol, c->size, c->offset, &at);
    p->type = cudaGraphNodeTypeMemcpy;
    if (!error)
        p->of.memcpy.copyParams = c->to_symbol ? row(at, c->other, c->size, c->kind)
                                               : row(c->other, at, c->size, c->kind);
    return error;
}

static cudaError_t add_symbol(PLACE, symbol_copy c) {
    cudaGraphNodeParams p = {0};
    cudaError_t error = symbol_params(&c, &p);
    return error ? error : add(node, graph, from, count, &p);
}

GRAPH_EXPORT(cudaGraphAddMemcpyNode1D,
             add(node, graph, from, count,
                 PARAMS(Memcpy, .of.memcpy.copyParams = row(to, source, size, kind))),
             PLACE, void *to, const void *source, size_t size, cudaMemcpyKind kind)
GRAPH_EXPORT(cudaGraphAddMemcpyNodeToSymbol,
             add_symbol(node, graph, from, count,
                        (symbol_copy){symbol, size, offset, kind, true, (void *)(uintptr_t)source}),
             PLACE, const void *symbol, const void *source, size_t size, size_t offset,
             cudaMemcpyKind kind)
GRAPH_EXPORT(cudaGraphAddMemcpyNodeFromSymbol,
             add_symbol(node, graph, from, count,
                        (symbol_copy){symbol, size, offset, kind, false, to}),
             PLACE, void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind)

/* ---- Asking and changing ----------------------------------------------------------------------
 */

static bool is_type(cudaGraphNode_t node, cudaGraphNodeType type) {
    return handle_is(node, HANDLE_NODE) && node->type == type;
}

/* What node an executable graph made of NODE; NULL: none. */
static door_node *counterpart(const door_graph *graph, const door_node *node) {
    door_node *found = NULL;
    for (size_t i = 0; i < graph->nodes.count && !found; i++) {
        door_node *n = graph->nodes.at[i];
        if (n->original == node)
            return n;
        if (n->type == cudaGraphNodeTypeGraph)
            found = counterpart(n->of.child, node);
    }
    return found;
}

static cudaError_t set(cudaGraphNode_t node, const cudaGraphNodeParams *p) {
    return p && handle_is(node, HANDLE_NODE) ? node_set(node, p) : cudaErrorInvalidValue;
}

static cudaError_t set_in_exec(cudaGraphExec_t exec, cudaGraphNode_t node,
                               const cudaGraphNodeParams *p) {
    if (!p || !handle_is(exec, HANDLE_EXEC) || !handle_is(node, HANDLE_NODE))
        return cudaErrorInvalidValue;
    door_node *own = counterpart(exec->graph, node);
    door_node *where;
    if (!own)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&exec->lock);
    cudaError_t error = node_set(own, p);
    if (!error && own->type == cudaGraphNodeTypeGraph)
        graph_sort(own->of.child, &where);
    pthread_mutex_unlock(&exec->lock);
    return error;
}

/* The same, told as the driver's function INNER too. */
#define EXEC_SET(name, inner, told, params, ...)                                                   \
    GRAPH_EXPORT(name, GRAPH_INNER(inner, told, set_in_exec(exec, node, params)),                  \
                 cudaGraphExec_t exec, cudaGraphNode_t node, __VA_ARGS__)
#define GRAPH_INNER(inner, told, call)                                                             \
    (graph_inner_enter(inner, told), (cudaError_t)graph_inner_exit((int)(call)))

/* The driver's kernel parameters: the runtime's and two more. */
typedef struct driver_kernel_params {
    cudaKernelNodeParams params;
    void *kernel, *context;
} driver_kernel_params;

typedef struct set_arguments {
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    const void *params;
} set_arguments;

static driver_kernel_params driver_params(const cudaKernelNodeParams *p) {
    driver_kernel_params d = {0};
    if (p) {
        d.params = *p;
        d.params.func = door_find_function(p->func);
    }
    return d;
}

#define ACCESS(type_name, kind, member, type)                                                      \
    static cudaError_t get_##type_name(cudaGraphNode_t node, type *p) {                            \
        if (!p || !is_type(node, cudaGraphNodeType##kind))                                         \
            return cudaErrorInvalidValue;                                                          \
        *p = node->of.member;                                                                      \
        return cudaSuccess;                                                                        \
    }
ACCESS(kernel, Kernel, kernel.params, cudaKernelNodeParams)
ACCESS(copy, Memcpy, copy, cudaMemcpy3DParms)
ACCESS(fill, Memset, fill, cudaMemsetParams)
ACCESS(host, Host, host, cudaHostNodeParams)
ACCESS(child, Graph, child, cudaGraph_t)
ACCESS(record, EventRecord, event, cudaEvent_t)
ACCESS(wait, WaitEvent, event, cudaEvent_t)
ACCESS(allocation, MemAlloc, memory.params, cudaMemAllocNodeParams)
ACCESS(release, MemFree, memory.params.dptr, void *)

#define GET(name, function, type)                                                                  \
    GRAPH_EXPORT(name, function(node, p), cudaGraphNode_t node, type *p)
GET(cudaGraphKernelNodeGetParams, get_kernel, cudaKernelNodeParams)
GET(cudaGraphMemcpyNodeGetParams, get_copy, cudaMemcpy3DParms)
GET(cudaGraphMemsetNodeGetParams, get_fill, cudaMemsetParams)
GET(cudaGraphHostNodeGetParams, get_host, cudaHostNodeParams)
GET(cudaGraphChildGraphNodeGetGraph, get_child, cudaGraph_t)
GET(cudaGraphEventRecordNodeGetEvent, get_record, cudaEvent_t)
GET(cudaGraphEventWaitNodeGetEvent, get_wait, cudaEvent_t)
GET(cudaGraphMemAllocNodeGetParams, get_allocation, cudaMemAllocNodeParams)
GRAPH_EXPORT(cudaGraphMemFreeNodeGetParams, get_release(node, (void **)p), cudaGraphNode_t node,
             void *p)

#define SET(name, kind, member, type)                                                              \
    GRAPH_EXPORT(name, p ? set(node, PARAMS(kind, .of.member = *p)) : cudaErrorInvalidValue,       \
                 cudaGraphNode_t node, const type *p)
SET(cudaGraphKernelNodeSetParams, Kernel, kernel, cudaKernelNodeParams)
SET(cudaGraphMemcpyNodeSetParams, Memcpy, memcpy.copyParams, cudaMemcpy3DParms)
SET(cudaGraphMemsetNodeSetParams, Memset, memset, cudaMemsetParams)
SET(cudaGraphHostNodeSetParams, Host, host, cudaHostNodeParams)
GRAPH_EXPORT(cudaGraphEventRecordNodeSetEvent, set(node, PARAMS(EventRecord, .of.event = event)),
             cudaGraphNode_t node, cudaEvent_t event)
GRAPH_EXPORT(cudaGraphEventWaitNodeSetEvent, set(node, PARAMS(WaitEvent, .of.event = event)),
             cudaGraphNode_t node, cudaEvent_t event)
GRAPH_EXPORT(cudaGraphNodeSetParams, set(node, p), cudaGraphNode_t node,
             const cudaGraphNodeParams *p)
GRAPH_EXPORT(cudaGraphMemcpyNodeSetParams1D,
             set(node, PARAMS(Memcpy, .of.memcpy.copyParams = row(to, source, size, kind))),
             cudaGraphNode_t node, void *to, const void *source, size_t size, cudaMemcpyKind kind)

static cudaError_t set_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, symbol_copy c) {
    cudaGraphNodeParams p = {0};
    cudaError_t error = symbol_params(&c, &p);
    return error ? error : exec ? set_in_exec(exec, node, &p) : set(node, &p);
}
#define SOURCE (void *)(uintptr_t)source
GRAPH_EXPORT(cudaGraphMemcpyNodeSetParamsToSymbol,
             set_symbol(NULL, node, (symbol_copy){symbol, size, offset, kind, true, SOURCE}),
             cudaGraphNode_t node, const void *symbol, const void *source, size_t size,
             size_t offset, cudaMemcpyKind kind)
GRAPH_EXPORT(cudaGraphMemcpyNodeSetParamsFromSymbol,
             set_symbol(NULL, node, (symbol_copy){symbol, size, offset, kind, false, to}),
             cudaGraphNode_t node, void *to, const void *symbol, size_t size, size_t offset,
             cudaMemcpyKind kind)

EXEC_SET(cudaGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",
         (&(set_arguments){exec, node, &(driver_kernel_params[]){driver_params(p)}[0]}),
         (p ? PARAMS(Kernel, .of.kernel = *p) : NULL), const cudaKernelNodeParams *p)
EXEC_SET(cudaGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", NULL,
         (p ? PARAMS(Memcpy, .of.memcpy.copyParams = *p) : NULL), const cudaMemcpy3DParms *p)
EXEC_SET(cudaGraphExecMemcpyNodeSetParams1D, "cuGraphExecMemcpyNodeSetParams", NULL,
         PARAMS(Memcpy, .of.memcpy.copyParams = row(to, source, size, kind)), void *to,
         const void *source, size_t size, cudaMemcpyKind kind)
EXEC_SET(cudaGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", NULL,
         (p ? PARAMS(Memset, .of.memset = *p) : NULL), const cudaMemsetParams *p)
EXEC_SET(cudaGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams", NULL,
         (p ? PARAMS(Host, .of.host = *p) : NULL), const cudaHostNodeParams *p)
EXEC_SET(cudaGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams",
         (&(set_arguments){exec, node, child}), PARAMS(Graph, .of.graph.graph = child),
         cudaGraph_t child)
EXEC_SET(cudaGraphExecEventRecordNodeSetEvent, "cuGraphExecEventRecordNodeSetEvent", NULL,
         PARAMS(EventRecord, .of.event = event), cudaEvent_t event)
EXEC_SET(cudaGraphExecEventWaitNodeSetEvent, "cuGraphExecEventWaitNodeSetEvent", NULL,
         PARAMS(WaitEvent, .of.event = event), cudaEvent_t event)
EXEC_SET(cudaGraphExecNodeSetParams, "cuGraphExecNodeSetParams", (&(set_arguments){exec, node, p}),
         p, const cudaGraphNodeParams *p)
GRAPH_EXPORT(cudaGraphExecMemcpyNodeSetParamsToSymbol,
             set_symbol(exec, node, (symbol_copy){symbol, size, offset, kind, true, SOURCE}),
             cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol, const void *source,
             size_t size, size_t offset, cudaMemcpyKind kind)
GRAPH_EXPORT(cudaGraphExecMemcpyNodeSetParamsFromSymbol,
             set_symbol(exec, node, (symbol_copy){symbol, size, offset, kind, false, to}),
             cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *symbol, size_t size,
             size_t offset, cudaMemcpyKind kind)

/* ---- On and off -------------------------------------------------------------------------------
 */

static door_node *switchable(cudaGraphExec_t exec, cudaGraphNode_t node) {
    door_node *own = handle_is(exec, HANDLE_EXEC) && handle_is(node, HANDLE_NODE)
                         ? counterpart(exec->graph, node)
                         : NULL;
    return own && own->type <= cudaGraphNodeTypeMemset ? own : NULL;
}

static cudaError_t set_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
    door_node *own = switchable(exec, node);
    if (!own)
        return cudaErrorInvalidValue;
    own->disabled = !enabled;
    return cudaSuccess;
}

typedef struct enable_arguments {
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    unsigned enabled;
} enable_arguments;
GRAPH_EXPORT(cudaGraphNodeSetEnabled,
             GRAPH_INNER("cuGraphNodeSetEnabled", (&(enable_arguments){exec, node, enabled}),
                         set_enabled(exec, node, enabled)),
             cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)

static cudaError_t get_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled) {
    const door_node *own = switchable(exec, node);
    if (!own || !enabled)
        return cudaErrorInvalidValue;
    *enabled = !own->disabled;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphNodeGetEnabled, get_enabled(exec, node, enabled), cudaGraphExec_t exec,
             cudaGraphNode_t node, unsigned *enabled)

/* ---- Attributes of kernel nodes ---------------------------------------------------------------
 * Two mean something here; the others are hints, which are taken and read back as zeros. */

typedef union attribute_value {
    char bytes[64];
    int number;
    dim3 cluster;
} attribute_value;
enum { ATTRIBUTE_PRIORITY = 8 };

static cudaError_t get_attribute(cudaGraphNode_t node, int attribute, attribute_value *value) {
    if (!value || attribute < 0 || !is_type(node, cudaGraphNodeTypeKernel))
        return cudaErrorInvalidValue;
    memset(value, 0, sizeof *value);
    if (attribute == cudaLaunchAttributeCooperative)
        value->number = node->of.kernel.cooperative;
    else if (attribute == ATTRIBUTE_PRIORITY)
        value->number = node->of.kernel.priority;
    return cudaSuccess;
}

static cudaError_t set_attribute(cudaGraphNode_t node, int attribute,
                                 const attribute_value *value) {
    if (!value || attribute < 0 || !is_type(node, cudaGraphNodeTypeKernel))
        return cudaErrorInvalidValue;
    if (attribute == cudaLaunchAttributeClusterDimension &&
        (uint64_t)value->cluster.x * value->cluster.y * value->cluster.z > 1)
        return door_not_supported("a launch with thread block clusters");
    if (attribute == cudaLaunchAttributeCooperative)
        node->of.kernel.cooperative = value->number != 0;
    else if (attribute == ATTRIBUTE_PRIORITY)
        node->of.kernel.priority = value->number;
    return cudaSuccess;
}

static cudaError_t copy_attributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    if (!is_type(to, cudaGraphNodeTypeKernel) || !is_type(from, cudaGraphNodeTypeKernel))
        return cudaErrorInvalidValue;
    to->of.kernel.cooperative = from->of.kernel.cooperative;
    to->of.kernel.priority = from->of.kernel.priority;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphKernelNodeGetAttribute, get_attribute(node, attribute, value),
             cudaGraphNode_t node, int attribute, void *value)
GRAPH_EXPORT(cudaGraphKernelNodeSetAttribute, set_attribute(node, attribute, value),
             cudaGraphNode_t node, int attribute, const void *value)
GRAPH_EXPORT(cudaGraphKernelNodeCopyAttributes, copy_attributes(to, source), cudaGraphNode_t to,
             cudaGraphNode_t source)
