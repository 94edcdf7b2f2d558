/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: made of a graph, updated, launched, and described for a person (dot).
 *
 * A launch runs the nodes one after the other, in an order that its edges allow; the virtual clock
 * gives each the time at which all that it depends on is done, so that branches overlap as far as
 * the engines they need let them. The stream is busy until the last node's end.
 */
#include "emulator/cudart/graph.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making -----------------------------------------------------------------------------------
 */

static void tell_exec(emu_graph_what what, const door_exec *exec) {
    const emu_observer *observer = door_observer();
    if (observer && observer->graph)
        observer->graph(&(emu_graph_event){.what = what,
                                           .device = door_self.device,
                                           .graph = exec->graph,
                                           .original_graph = exec->from,
                                           .exec = (void *)(uintptr_t)exec});
}

static void exec_free(door_exec *exec) {
    if (!exec)
        return;
    if (handle_is(exec->from, HANDLE_GRAPH) && exec->from->exec_of_memory == exec)
        exec->from->exec_of_memory = NULL;
    handle_remove(exec);
    graph_free(exec->graph);
    pthread_mutex_destroy(&exec->lock);
    free(exec);
}

static bool allocates(const door_graph *graph) {
    return graph_has(graph, cudaGraphNodeTypeMemAlloc) ||
           graph_has(graph, cudaGraphNodeTypeMemFree);
}

/* What keeps GRAPH from being made executable. */
static cudaError_t check_graph(door_graph *graph, unsigned long long flags,
                               cudaGraphInstantiateParams *result) {
    enum { FLAGS = 15 };
    result->result_out = cudaGraphInstantiateError;
    if (!handle_is(graph, HANDLE_GRAPH) || flags > FLAGS)
        return cudaErrorInvalidValue;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
        result->result_out = cudaGraphInstantiateNodeOperationNotSupported;
        return door_not_supported("launching a graph from the device");
    }
    if (allocates(graph) && graph->exec_of_memory)
        return cudaErrorInvalidValue; /* one at a time: its blocks have one address each */
    return cudaSuccess;
}

static cudaError_t make(cudaGraphExec_t *out, door_graph *graph, unsigned long long flags,
                        cudaGraphInstantiateParams *result) {
    door_node *where = NULL;
    cudaError_t error = out ? check_graph(graph, flags, result) : cudaErrorInvalidValue;
    if (error)
        return error;
    door_exec *exec = calloc(1, sizeof *exec);
    if (!exec || !handle_add(exec, HANDLE_EXEC)) {
        free(exec);
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_init(&exec->lock, NULL);
    exec->from = graph;
    exec->flags = flags;
    exec->graph = graph_copy(graph, true);
    if (!exec->graph || !graph_sort(exec->graph, &where)) {
        if (where) {
            result->result_out = cudaGraphInstantiateInvalidStructure;
            result->errNode_out = (door_node *)(uintptr_t)where->original;
        }
        exec_free(exec);
        return where ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    }
    if (allocates(graph))
        graph->exec_of_memory = exec;
    result->result_out = cudaGraphInstantiateSuccess;
    *out = exec;
    tell_exec(EMU_EXEC_CREATED, exec);
    return cudaSuccess;
}

typedef struct instantiate_arguments {
    cudaGraphExec_t *exec;
    cudaGraph_t graph;
    unsigned long long flags;
} instantiate_arguments;

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    const instantiate_arguments told = {exec, graph, flags};
    cudaGraphInstantiateParams result = {0};
    graph_inner_enter("cuGraphInstantiateWithFlags", &told);
    return (cudaError_t)graph_inner_exit((int)make(exec, graph, flags, &result));
}
GRAPH_EXPORT(cudaGraphInstantiate, instantiate(exec, graph, flags), cudaGraphExec_t *exec,
             cudaGraph_t graph, unsigned long long flags)
GRAPH_EXPORT(cudaGraphInstantiateWithFlags, instantiate(exec, graph, flags), cudaGraphExec_t *exec,
             cudaGraph_t graph, unsigned long long flags)

static cudaError_t instantiate_with(cudaGraphExec_t *exec, cudaGraph_t graph,
                                    cudaGraphInstantiateParams *p) {
    const struct {
        cudaGraphExec_t *exec;
        cudaGraph_t graph;
        cudaGraphInstantiateParams *params;
    } told = {exec, graph, p};
    if (!p)
        return cudaErrorInvalidValue;
    p->errNode_out = NULL;
    graph_inner_enter("cuGraphInstantiateWithParams", &told);
    return (cudaError_t)graph_inner_exit((int)make(exec, graph, p->flags, p));
}
GRAPH_EXPORT(cudaGraphInstantiateWithParams, instantiate_with(exec, graph, p),
             cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *p)
GRAPH_EXPORT(cudaGraphInstantiateWithParams_ptsz, instantiate_with(exec, graph, p),
             cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *p)

static cudaError_t destroy(cudaGraphExec_t exec) {
    if (!handle_is(exec, HANDLE_EXEC))
        return cudaErrorInvalidValue;
    tell_exec(EMU_EXEC_DESTROYED, exec);
    exec_free(exec);
    return cudaSuccess;
}
static cudaError_t destroy_told(cudaGraphExec_t exec) {
    graph_inner_enter("cuGraphExecDestroy", &exec);
    return (cudaError_t)graph_inner_exit((int)destroy(exec));
}
GRAPH_EXPORT(cudaGraphExecDestroy, destroy_told(exec), cudaGraphExec_t exec)

static cudaError_t get_flags(cudaGraphExec_t exec, unsigned long long *flags) {
    if (!flags || !handle_is(exec, HANDLE_EXEC))
        return cudaErrorInvalidValue;
    *flags = exec->flags;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphExecGetFlags, get_flags(exec, flags), cudaGraphExec_t exec,
             unsigned long long *flags)

/* ---- Updating ---------------------------------------------------------------------------------
 * Nodes are matched by their place in the order that graph_sort gives both, as the real one's are
 * by an order that it derives from the edges. */

static cudaGraphExecUpdateResult compare_nodes(const door_graph *own, const door_graph *other,
                                               cudaGraphExecUpdateResultInfo *info);

/* Both nodes, N of either graph's, and the places of what they depend on. */
static cudaGraphExecUpdateResult compare_node(const door_node *a, const door_node *b,
                                              cudaGraphExecUpdateResultInfo *info) {
    info->errorNode = (door_node *)(uintptr_t)b->original;
    if (a->type != b->type)
        return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (a->from.count != b->from.count)
        return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < a->from.count; i++)
        if (a->from.at[i]->place != b->from.at[i]->place) {
            info->errorFromNode = (door_node *)(uintptr_t)b->from.at[i]->original;
            return cudaGraphExecUpdateErrorTopologyChanged;
        }
    if (a->type == cudaGraphNodeTypeKernel && a->device != b->device)
        return cudaGraphExecUpdateErrorFunctionChanged;
    if (a->type == cudaGraphNodeTypeMemAlloc || a->type == cudaGraphNodeTypeMemFree)
        return a->of.memory.params.dptr == b->of.memory.params.dptr
                   ? cudaGraphExecUpdateSuccess
                   : cudaGraphExecUpdateErrorNotSupported;
    if (a->type == cudaGraphNodeTypeMemcpy && a->of.copy.kind != b->of.copy.kind)
        return cudaGraphExecUpdateErrorParametersChanged;
    return a->type == cudaGraphNodeTypeGraph ? compare_nodes(a->of.child, b->of.child, info)
                                             : cudaGraphExecUpdateSuccess;
}

static cudaGraphExecUpdateResult compare_nodes(const door_graph *own, const door_graph *other,
                                               cudaGraphExecUpdateResultInfo *info) {
    cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
    if (own->nodes.count != other->nodes.count)
        return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < own->nodes.count; i++)
        own->nodes.at[i]->place = other->nodes.at[i]->place = i;
    for (size_t i = 0; !result && i < own->nodes.count; i++)
        result = compare_node(own->nodes.at[i], other->nodes.at[i], info);
    return result;
}

/* FRESH's work for OWN's nodes, which keep their ids. */
static void take_work(door_graph *own, door_graph *fresh) {
    for (size_t i = 0; i < own->nodes.count; i++) {
        door_node *a = own->nodes.at[i], *b = fresh->nodes.at[i];
        if (a->type == cudaGraphNodeTypeGraph) {
            take_work(a->of.child, b->of.child);
        } else {
            __typeof__(a->of) kept = a->of;
            a->of = b->of;
            b->of = kept;
        }
    }
}

static cudaError_t update_locked(door_exec *exec, const door_graph *graph,
                                 cudaGraphExecUpdateResultInfo *info) {
    door_node *where = NULL;
    door_graph *fresh = graph_copy(graph, true);
    if (!fresh)
        return cudaErrorMemoryAllocation;
    cudaError_t error = cudaSuccess;
    info->result = cudaGraphExecUpdateError;
    if (!graph_sort(fresh, &where))
        error = cudaErrorInvalidValue;
    else if ((info->result = compare_nodes(exec->graph, fresh, info)))
        error = cudaErrorGraphExecUpdateFailure;
    else
        take_work(exec->graph, fresh);
    if (!error)
        *info = (cudaGraphExecUpdateResultInfo){0};
    graph_free(fresh);
    return error;
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph,
                          cudaGraphExecUpdateResultInfo *out) {
    cudaGraphExecUpdateResultInfo info = {0};
    if (!handle_is(exec, HANDLE_EXEC) || !handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&exec->lock);
    cudaError_t error = update_locked(exec, graph, &info);
    pthread_mutex_unlock(&exec->lock);
    if (out)
        *out = info;
    return error;
}

static cudaError_t update_told(cudaGraphExec_t exec, cudaGraph_t graph,
                               cudaGraphExecUpdateResultInfo *info) {
    const struct {
        cudaGraphExec_t exec;
        cudaGraph_t graph;
        cudaGraphExecUpdateResultInfo *info;
    } told = {exec, graph, info};
    graph_inner_enter("cuGraphExecUpdate_v2", &told);
    return (cudaError_t)graph_inner_exit((int)update(exec, graph, info));
}
GRAPH_EXPORT(cudaGraphExecUpdate, update_told(exec, graph, info), cudaGraphExec_t exec,
             cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)

/* ---- Launching --------------------------------------------------------------------------------
 */

typedef struct run {
    uint32_t graph; /* the executable graph's id */
    uint64_t stream;
} run;

static cudaError_t run_graph(const door_graph *graph, const run *r, double start_s, double *end_s);

static cudaError_t run_node(door_node *node, const run *r, double start_s) {
    int before = door_self.device;
    door_stream lane = {.id = r->stream,
                        .device = node->device,
                        .flags = cudaStreamNonBlocking,
                        .ready_s = start_s};
    cudaError_t error;
    if (node->type == cudaGraphNodeTypeGraph) {
        node->end_s = start_s;
        return node->disabled ? cudaSuccess : run_graph(node->of.child, r, start_s, &node->end_s);
    }
    door_self.device = node->device->index;
    door_self.lane = &lane;
    door_self.graph = r->graph;
    door_self.node = node->id;
    error = node->disabled ? cudaSuccess : node_run(node, &lane);
    if (!error)
        error = node->device->sticky;
    door_self.lane = NULL;
    door_self.graph = 0;
    door_self.node = 0;
    door_self.device = before;
    node->end_s = lane.ready_s;
    return error;
}

static cudaError_t run_graph(const door_graph *graph, const run *r, double start_s, double *end_s) {
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; !error && i < graph->nodes.count; i++) {
        door_node *n = graph->nodes.at[i];
        double ready_s = start_s;
        for (size_t k = 0; k < n->from.count; k++)
            if (n->from.at[k]->end_s > ready_s)
                ready_s = n->from.at[k]->end_s;
        error = run_node(n, r, ready_s);
        if (n->end_s > *end_s)
            *end_s = n->end_s;
    }
    return error;
}

static cudaError_t launch_locked(door_exec *exec, door_stream *stream) {
    const run r = {exec->graph->id, stream->id};
    bool free_first = (exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
    cudaError_t error = memory_before_launch(exec->graph, free_first);
    if (error)
        return error;
    double start_s = door_schedule(stream, NULL, 0, false), end_s = start_s;
    error = run_graph(exec->graph, &r, start_s, &end_s);
    door_occupy(stream, end_s);
    const emu_observer *observer = door_observer();
    if (observer && observer->graph_run)
        observer->graph_run(&(emu_graph_run_event){.correlation = door_api_correlation(),
                                                   .graph = r.graph,
                                                   .device = stream->device->index,
                                                   .stream = stream->id,
                                                   .start_s = start_s,
                                                   .end_s = end_s});
    /* A fault of a kernel shows at the next call, as an asynchronous one does. */
    return stream->device->sticky ? cudaSuccess : error;
}

/* A node may not be launched again while this thread runs it (a host node that launches its own
 * graph): that is no call a host function may make. */
static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t handle) {
    door_device *d = &door.device[door_self.device];
    if (!handle_is(exec, HANDLE_EXEC) || door_self.graph)
        return cudaErrorInvalidValue;
    door_stream *stream = door_find_stream(handle, d);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    cudaError_t error = door_enqueue(stream);
    if (error)
        return error;
    if (stream->capture)
        return exec_capture(exec, stream);
    pthread_mutex_lock(&exec->lock);
    error = launch_locked(exec, stream);
    pthread_mutex_unlock(&exec->lock);
    return error;
}

static cudaError_t launch_told(const char *inner, cudaGraphExec_t exec, cudaStream_t stream) {
    const struct {
        cudaGraphExec_t exec;
        cudaStream_t stream;
    } told = {exec, stream};
    graph_inner_enter(inner, &told);
    return (cudaError_t)graph_inner_exit((int)launch(exec, stream));
}
GRAPH_EXPORT(cudaGraphLaunch, launch_told("cuGraphLaunch", exec, stream), cudaGraphExec_t exec,
             cudaStream_t stream)
GRAPH_EXPORT(cudaGraphLaunch_ptsz, launch_told("cuGraphLaunch_ptsz", exec, door_per_thread(stream)),
             cudaGraphExec_t exec, cudaStream_t stream)

cudaError_t exec_capture(door_exec *exec, door_stream *stream) {
    door_node *node;
    if (allocates(exec->graph)) {
        door_capture_spoil(stream->capture);
        return cudaErrorNotSupported;
    }
    door_graph *copy = graph_copy(exec->graph, false);
    cudaError_t error =
        copy ? capture_node(stream, cudaGraphNodeTypeGraph, &node) : cudaErrorMemoryAllocation;
    if (error) {
        graph_free(copy);
        return error;
    }
    copy->parent = node->graph;
    node->of.child = copy;
    return cudaSuccess;
}

/* There is nothing to upload; where it may be asked for, it has been done. */
static cudaError_t upload(cudaGraphExec_t exec, cudaStream_t handle) {
    door_stream *stream = door_find_stream(handle, &door.device[door_self.device]);
    if (!handle_is(exec, HANDLE_EXEC))
        return cudaErrorInvalidValue;
    return stream ? door_enqueue(stream) : cudaErrorInvalidResourceHandle;
}
GRAPH_EXPORT(cudaGraphUpload, upload(exec, stream), cudaGraphExec_t exec, cudaStream_t stream)
GRAPH_EXPORT(cudaGraphUpload_ptsz, upload(exec, door_per_thread(stream)), cudaGraphExec_t exec,
             cudaStream_t stream)

/* ---- Dot --------------------------------------------------------------------------------------
 */

static const char *type_name(cudaGraphNodeType type) {
    static const char *const names[] = {"KERNEL",     "MEMCPY",   "MEMSET",     "HOST",
                                        "GRAPH",      "EMPTY",    "EVENT_WAIT", "EVENT_RECORD",
                                        "EXT_SIGNAL", "EXT_WAIT", "MEM_ALLOC",  "MEM_FREE"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "NODE";
}

static void dot_details(FILE *file, const door_node *n) {
    const cudaKernelNodeParams *k = &n->of.kernel.params;
    const door_function *f =
        n->type == cudaGraphNodeTypeKernel ? door_find_function(k->func) : NULL;
    switch (n->type) {
    case cudaGraphNodeTypeKernel: /* a kernel's name has letters, digits, _ and $ alone */
        fprintf(file, "\\n%s\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", f ? f->name : "unloaded",
                k->gridDim.x, k->gridDim.y, k->gridDim.z, k->blockDim.x, k->blockDim.y,
                k->blockDim.z, k->sharedMemBytes);
        break;
    case cudaGraphNodeTypeMemcpy:
        fprintf(file, "\\n%zu x %zu x %zu bytes", n->of.copy.extent.width, n->of.copy.extent.height,
                n->of.copy.extent.depth);
        break;
    case cudaGraphNodeTypeMemset:
        fprintf(file, "\\n%zu x %zu of %u bytes", n->of.fill.width, n->of.fill.height,
                n->of.fill.elementSize);
        break;
    case cudaGraphNodeTypeMemAlloc:
        fprintf(file, "\\n%zu bytes", n->of.memory.params.bytesize);
        break;
    default:
        break;
    }
}

static void dot_graph(FILE *file, const door_graph *g) {
    fprintf(file, "subgraph cluster_%" PRIu32 " {\nlabel=\"graph_%" PRIu32 "\"\n", g->id, g->id);
    for (size_t i = 0; i < g->nodes.count; i++) {
        const door_node *n = g->nodes.at[i];
        fprintf(file, "\"node_%" PRIu64 "\" [shape=\"record\" label=\"%zu %s", n->id, i,
                type_name(n->type));
        dot_details(file, n);
        fprintf(file, "\"];\n");
        if (n->type == cudaGraphNodeTypeGraph)
            dot_graph(file, n->of.child);
    }
    for (size_t i = 0; i < g->nodes.count; i++)
        for (size_t k = 0; k < g->nodes.at[i]->from.count; k++)
            fprintf(file, "\"node_%" PRIu64 "\" -> \"node_%" PRIu64 "\";\n",
                    g->nodes.at[i]->from.at[k]->id, g->nodes.at[i]->id);
    fprintf(file, "}\n");
}

static cudaError_t print_dot(cudaGraph_t graph, const char *path) {
    if (!path || !handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    FILE *file = fopen(path, "w");
    if (!file)
        return cudaErrorInvalidValue;
    fprintf(file, "digraph dot {\n");
    dot_graph(file, graph);
    fprintf(file, "}\n");
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? cudaSuccess : cudaErrorUnknown;
}
GRAPH_EXPORT(cudaGraphDebugDotPrint, ((void)flags, print_dot(graph, path)), cudaGraph_t graph,
             const char *path, unsigned flags)
