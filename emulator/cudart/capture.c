/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: between its begin and its end what is asked of a stream does not run but becomes
 * nodes of a graph, each after what the stream did before. Events carry a capture into other
 * streams and back. What must not be done meanwhile is refused with the real runtime's codes, and
 * spoils the captures that it touches: their end gives no graph.
 */
#include "emulator/cudart/graph.h"
#include <stdlib.h>
#include <string.h>

/* ---- Streams and what they did last -----------------------------------------------------------
 */

static bool keep_tips(door_node ***to, size_t *to_count, door_node *const *tips, size_t count) {
    door_node **fresh = count ? malloc(count * sizeof(door_node *)) : NULL;
    if (count && !fresh)
        return false;
    if (count)
        memcpy(fresh, tips, count * sizeof(door_node *));
    free(*to);
    *to = fresh;
    *to_count = count;
    return true;
}

static bool set_tips(door_stream *stream, door_node *const *tips, size_t count) {
    return keep_tips(&stream->tips, &stream->tip_count, tips, count);
}

static bool add_tips(door_stream *stream, door_node *const *tips, size_t count) {
    door_node **grown = realloc(stream->tips, (stream->tip_count + count + 1) * sizeof *grown);
    if (!grown)
        return false;
    stream->tips = grown;
    for (size_t i = 0; i < count; i++) {
        bool there = false;
        for (size_t k = 0; k < stream->tip_count; k++)
            there |= grown[k] == tips[i];
        if (!there)
            grown[stream->tip_count++] = tips[i];
    }
    return true;
}

static void detach(door_stream *stream) {
    stream->capture = NULL;
    set_tips(stream, NULL, 0);
}

/* Calls DO for each stream, with door.lock held. */
static void each_stream(void (*call)(door_stream *stream, void *context), void *context) {
    for (door_stream *s = door.streams; s; s = s->next)
        call(s, context);
    for (int i = 0; i < door.device_count; i++)
        call(&door.device[i].per_thread, context);
}

/* ---- What may not be done ---------------------------------------------------------------------
 */

int door_capture_count(void) {
    return door.capture_count;
}

void door_capture_spoil(door_capture *capture) {
    capture->invalid = true;
}

cudaError_t door_unsafe(void) {
    cudaError_t error = cudaSuccess;
    if (!door.capture_count || door_self.capture_mode == cudaStreamCaptureModeRelaxed)
        return cudaSuccess;
    pthread_mutex_lock(&door.lock);
    for (door_capture *c = door.captures; c; c = c->next) {
        bool own = c->owner == &door_self;
        bool forbids = own ? c->mode != cudaStreamCaptureModeRelaxed
                           : c->mode == cudaStreamCaptureModeGlobal &&
                                 door_self.capture_mode == cudaStreamCaptureModeGlobal;
        if (forbids && !c->invalid) {
            door_capture_spoil(c);
            error = cudaErrorStreamCaptureUnsupported;
        } else if (forbids && own) {
            error = cudaErrorStreamCaptureUnsupported;
        }
    }
    pthread_mutex_unlock(&door.lock);
    return error;
}

typedef struct implicit {
    const door_device *device;
    bool spoil, found;
} implicit;

static void look_for_blocking(door_stream *stream, void *context) {
    implicit *i = context;
    if (stream->device != i->device || !stream->capture || stream->flags & cudaStreamNonBlocking)
        return;
    i->found = true;
    if (i->spoil)
        door_capture_spoil(stream->capture);
}

/* Whether the legacy stream of a device would wait for a stream that is capturing. */
static bool is_implicit(const door_device *device, bool spoil) {
    implicit i = {device, spoil, false};
    pthread_mutex_lock(&door.lock);
    each_stream(look_for_blocking, &i);
    pthread_mutex_unlock(&door.lock);
    return i.found;
}

cudaError_t door_enqueue(door_stream *stream) {
    if (!door.capture_count)
        return cudaSuccess;
    if (stream->capture)
        return stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    return stream->legacy && is_implicit(stream->device, true) ? cudaErrorStreamCaptureImplicit
                                                               : cudaSuccess;
}

cudaError_t door_await(door_stream *stream) {
    if (!door.capture_count)
        return cudaSuccess;
    if (stream->capture) {
        bool before = stream->capture->invalid;
        door_capture_spoil(stream->capture);
        return before ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnsupported;
    }
    if (stream->legacy && is_implicit(stream->device, true))
        return cudaErrorStreamCaptureImplicit;
    return door_unsafe();
}

cudaError_t door_await_device(const door_device *device) {
    cudaError_t error = cudaSuccess;
    if (!door.capture_count)
        return cudaSuccess;
    pthread_mutex_lock(&door.lock);
    for (door_capture *c = door.captures; c; c = c->next)
        if (c->origin->device == device) {
            door_capture_spoil(c);
            error = cudaErrorStreamCaptureUnsupported;
        }
    pthread_mutex_unlock(&door.lock);
    return error;
}

/* ---- Work that becomes nodes ------------------------------------------------------------------
 */

/* Those of the stream's last nodes that nobody has destroyed meanwhile. */
static size_t live_tips(door_stream *stream) {
    size_t kept = 0;
    for (size_t i = 0; i < stream->tip_count; i++)
        if (handle_is(stream->tips[i], HANDLE_NODE))
            stream->tips[kept++] = stream->tips[i];
    return stream->tip_count = kept;
}

static cudaError_t start_node(door_stream *stream, cudaGraphNodeType type, door_node **node) {
    cudaError_t error =
        node_new(stream->capture->graph, type, stream->tips, live_tips(stream), node);
    if (!error)
        (*node)->device = stream->device;
    return error;
}

/* NODE comes before what the stream does next; or it goes, if ERROR. */
static cudaError_t end_node(door_stream *stream, door_node *node, cudaError_t error) {
    if (!error && !set_tips(stream, &node, 1))
        error = cudaErrorMemoryAllocation;
    if (error) {
        node_free(node);
        return error;
    }
    tell_node(EMU_NODE_CREATED, node, NULL);
    for (size_t i = 0; i < node->from.count; i++)
        tell_node(EMU_NODE_DEPENDS, node, node->from.at[i]);
    return cudaSuccess;
}

cudaError_t capture_node(door_stream *stream, cudaGraphNodeType type, door_node **node) {
    cudaError_t error = start_node(stream, type, node);
    return error ? error : end_node(stream, *node, cudaSuccess);
}

cudaError_t door_capture_kernel(door_stream *stream, const door_kernel_call *call) {
    const cudaKernelNodeParams p = {.func = (void *)(uintptr_t)call->host,
                                    .gridDim = call->grid,
                                    .blockDim = call->block,
                                    .sharedMemBytes = (unsigned)call->shared,
                                    .kernelParams = call->parameters};
    door_node *node;
    cudaError_t error = start_node(stream, cudaGraphNodeTypeKernel, &node);
    return error ? error : end_node(stream, node, kernel_set(node, &p, call->cooperative));
}

cudaError_t door_capture_copy(door_stream *stream, const cudaMemcpy3DParms *copy) {
    door_node *node;
    cudaError_t error = start_node(stream, cudaGraphNodeTypeMemcpy, &node);
    return error ? error : end_node(stream, node, copy_set(node, copy));
}

cudaError_t door_capture_fill(door_stream *stream, const cudaMemsetParams *fill) {
    door_node *node;
    cudaError_t error = start_node(stream, cudaGraphNodeTypeMemset, &node);
    return error ? error : end_node(stream, node, fill_set(node, fill));
}

cudaError_t door_capture_host(door_stream *stream, void (*function)(void *), void *data) {
    door_node *node;
    cudaError_t error = start_node(stream, cudaGraphNodeTypeHost, &node);
    if (error)
        return error;
    node->of.host = (cudaHostNodeParams){function, data};
    return end_node(stream, node, cudaSuccess);
}

cudaError_t door_capture_allocate(door_stream *stream, door_pool *pool, size_t size,
                                  void **address) {
    cudaMemAllocNodeParams p = {
        .bytesize = size, .poolProps = {.allocType = 1, .location = {1, pool->device->index}}};
    door_node *node;
    if (!address)
        return cudaErrorInvalidValue;
    *address = NULL;
    if (!size)
        return cudaSuccess;
    cudaError_t error =
        memory_allocate_node(stream->capture->graph, stream->tips, live_tips(stream), &p, &node);
    if (!error)
        error = end_node(stream, node, cudaSuccess);
    if (!error)
        *address = p.dptr;
    return error;
}

cudaError_t door_capture_free(door_stream *stream, void *address) {
    door_node *node;
    cudaError_t error =
        memory_free_node(stream->capture->graph, stream->tips, live_tips(stream), address, &node);
    return error ? error : end_node(stream, node, cudaSuccess);
}

/* ---- Events -----------------------------------------------------------------------------------
 */

static cudaError_t event_node(door_stream *stream, cudaGraphNodeType type, door_event *event) {
    door_node *node;
    cudaError_t error = start_node(stream, type, &node);
    if (error)
        return error;
    node->of.event = event;
    return end_node(stream, node, cudaSuccess);
}

cudaError_t door_capture_event(door_stream *stream, door_event *event, bool external) {
    if (external)
        return event_node(stream, cudaGraphNodeTypeEventRecord, event);
    if (!keep_tips(&event->tips, &event->tip_count, stream->tips, live_tips(stream)))
        return cudaErrorMemoryAllocation;
    event->capture = stream->capture->id;
    return cudaSuccess;
}

static door_capture *find_capture(uint64_t id) {
    pthread_mutex_lock(&door.lock);
    door_capture *c = door.captures;
    while (c && c->id != id)
        c = c->next;
    pthread_mutex_unlock(&door.lock);
    return c;
}

/* A stream that was not capturing joins the capture of an event. */
static cudaError_t join(door_stream *stream, const door_event *event, door_capture *capture) {
    if (!capture)
        return cudaErrorCapturedEvent;
    if (capture->invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (stream->legacy) {
        door_capture_spoil(capture);
        return cudaErrorStreamCaptureImplicit;
    }
    if (!set_tips(stream, event->tips, event->tip_count))
        return cudaErrorMemoryAllocation;
    stream->capture = capture;
    return cudaSuccess;
}

cudaError_t door_capture_wait(door_stream *stream, door_event *event, bool external) {
    door_capture *own = stream->capture,
                 *other = event->capture ? find_capture(event->capture) : NULL;
    if (own && own->invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (own && external)
        return event_node(stream, cudaGraphNodeTypeWaitEvent, event);
    if (!own)
        return join(stream, event, other);
    if (own == other)
        return add_tips(stream, event->tips, event->tip_count) ? cudaSuccess
                                                               : cudaErrorMemoryAllocation;
    door_capture_spoil(own);
    if (!other)
        return cudaErrorStreamCaptureIsolation;
    door_capture_spoil(other);
    return cudaErrorStreamCaptureMerge;
}

/* ---- Begin and end ----------------------------------------------------------------------------
 */

static cudaError_t find_stream(cudaStream_t handle, door_stream **stream) {
    *stream = door_find_stream(handle, &door.device[door_self.device]);
    return *stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t check_nodes(const door_graph *graph, const cudaGraphNode_t *nodes,
                               size_t count) {
    if (count && !nodes)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!handle_is(nodes[i], HANDLE_NODE) || nodes[i]->graph != graph)
            return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t may_begin(const door_stream *stream, int mode) {
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    if (stream->legacy)
        return cudaErrorStreamCaptureUnsupported;
    return stream->capture ? cudaErrorIllegalState : cudaSuccess;
}

/* GRAPH NULL: a new one. */
static cudaError_t begin(cudaStream_t handle, int mode, cudaGraph_t graph,
                         const cudaGraphNode_t *tips, size_t count) {
    door_stream *stream;
    cudaError_t error = find_stream(handle, &stream);
    if (!error)
        error = may_begin(stream, mode);
    if (error)
        return error;
    door_capture *c = calloc(1, sizeof *c);
    bool own = !graph;
    if (own)
        graph = graph_new();
    if (!c || !graph || !set_tips(stream, tips, count)) {
        free(c);
        if (own)
            graph_free(graph);
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_lock(&door.lock);
    *c = (door_capture){.next = door.captures,
                        .id = ++door.next_capture,
                        .graph = graph,
                        .own_graph = own,
                        .mode = (cudaStreamCaptureMode)mode,
                        .owner = &door_self,
                        .origin = stream};
    door.captures = stream->capture = c;
    door.capture_count++;
    pthread_mutex_unlock(&door.lock);
    if (own)
        tell_graph(EMU_GRAPH_CREATED, graph, NULL);
    return cudaSuccess;
}

static cudaError_t begin_told(const char *inner, cudaStream_t stream, int mode) {
    const struct {
        cudaStream_t stream;
        int mode;
    } told = {stream, mode};
    graph_inner_enter(inner, &told);
    return (cudaError_t)graph_inner_exit((int)begin(stream, mode, NULL, NULL, 0));
}
GRAPH_EXPORT(cudaStreamBeginCapture, begin_told("cuStreamBeginCapture_v2", stream, mode),
             cudaStream_t stream, int mode)
GRAPH_EXPORT(cudaStreamBeginCapture_ptsz,
             begin_told("cuStreamBeginCapture_v2_ptsz", door_per_thread(stream), mode),
             cudaStream_t stream, int mode)

static cudaError_t begin_to_graph(const char *inner, cudaStream_t stream, cudaGraph_t graph,
                                  const cudaGraphNode_t *tips, const cudaGraphEdgeData *data,
                                  size_t count, int mode) {
    const struct {
        cudaStream_t stream;
        cudaGraph_t graph;
        const cudaGraphNode_t *tips;
        const cudaGraphEdgeData *data;
        size_t count;
        int mode;
    } told = {stream, graph, tips, data, count, mode};
    cudaError_t error = cudaErrorInvalidValue;
    graph_inner_enter(inner, &told);
    if (handle_is(graph, HANDLE_GRAPH))
        error = check_nodes(graph, tips, count);
    return (cudaError_t)graph_inner_exit(
        (int)(error ? error : begin(stream, mode, graph, tips, count)));
}
GRAPH_EXPORT(cudaStreamBeginCaptureToGraph,
             begin_to_graph("cuStreamBeginCaptureToGraph", stream, graph, tips, data, count, mode),
             cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *tips,
             const cudaGraphEdgeData *data, size_t count, int mode)
GRAPH_EXPORT(cudaStreamBeginCaptureToGraph_ptsz,
             begin_to_graph("cuStreamBeginCaptureToGraph_ptsz", door_per_thread(stream), graph,
                            tips, data, count, mode),
             cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *tips,
             const cudaGraphEdgeData *data, size_t count, int mode)

/* Marks (place 1) what comes before NODES, and those themselves. False: no memory. */
static bool mark_before(const door_graph *graph, door_node *const *nodes, size_t count) {
    node_list open = {0};
    bool ok = true;
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->nodes.at[i]->place = 0;
    for (size_t i = 0; ok && i < count; i++)
        ok = list_add(&open, nodes[i]);
    while (ok && open.count) {
        door_node *n = open.at[--open.count];
        if (n->place)
            continue;
        n->place = 1;
        for (size_t i = 0; ok && i < n->from.count; i++)
            ok = n->from.at[i]->place || list_add(&open, n->from.at[i]);
    }
    free(open.at);
    return ok;
}

typedef struct unjoined {
    const door_capture *capture;
    bool found;
} unjoined;

static void look_for_unjoined(door_stream *stream, void *context) {
    unjoined *u = context;
    if (stream->capture != u->capture)
        return;
    for (size_t i = 0; i < stream->tip_count; i++)
        u->found |= handle_is(stream->tips[i], HANDLE_NODE) && !stream->tips[i]->place;
}

static void detach_from(door_stream *stream, void *context) {
    if (stream->capture == context)
        detach(stream);
}

/* Every stream of the capture has been joined into its first one: that comes after all they did. */
static cudaError_t check_joined(const door_capture *c) {
    unjoined u = {c, false};
    live_tips(c->origin);
    if (!mark_before(c->graph, c->origin->tips, c->origin->tip_count))
        return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&door.lock);
    each_stream(look_for_unjoined, &u);
    pthread_mutex_unlock(&door.lock);
    for (size_t i = 0; i < c->left.count; i++)
        u.found |= handle_is(c->left.at[i], HANDLE_NODE) && !c->left.at[i]->place;
    return u.found ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

static void end_capture(door_capture *c) {
    pthread_mutex_lock(&door.lock);
    each_stream(detach_from, c);
    door_capture **link = &door.captures;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    door.capture_count--;
    pthread_mutex_unlock(&door.lock);
}

static void free_capture(door_capture *c) {
    free(c->left.at);
    free(c);
}

static cudaError_t end(cudaStream_t handle, cudaGraph_t *graph) {
    door_stream *stream;
    cudaError_t error = find_stream(handle, &stream);
    if (error)
        return error;
    door_capture *c = stream->capture;
    if (!graph)
        return cudaErrorInvalidValue;
    *graph = NULL;
    if (!c)
        return cudaErrorIllegalState;
    if (c->origin != stream) {
        door_capture_spoil(c);
        return cudaErrorStreamCaptureUnmatched;
    }
    if (c->mode != cudaStreamCaptureModeRelaxed && c->owner != &door_self)
        return cudaErrorStreamCaptureWrongThread;
    error = c->invalid ? cudaErrorStreamCaptureInvalidated : check_joined(c);
    end_capture(c);
    if (!error)
        *graph = c->graph;
    else if (c->own_graph) {
        tell_graph(EMU_GRAPH_DESTROYED, c->graph, NULL);
        graph_free(c->graph);
    }
    free_capture(c);
    return error;
}

static cudaError_t end_told(const char *inner, cudaStream_t stream, cudaGraph_t *graph) {
    const struct {
        cudaStream_t stream;
        cudaGraph_t *graph;
    } told = {stream, graph};
    graph_inner_enter(inner, &told);
    return (cudaError_t)graph_inner_exit((int)end(stream, graph));
}
GRAPH_EXPORT(cudaStreamEndCapture, end_told("cuStreamEndCapture", stream, graph),
             cudaStream_t stream, cudaGraph_t *graph)
GRAPH_EXPORT(cudaStreamEndCapture_ptsz,
             end_told("cuStreamEndCapture_ptsz", door_per_thread(stream), graph),
             cudaStream_t stream, cudaGraph_t *graph)

/* A capture's first stream takes the capture with it when it is destroyed: nobody can end it any
 * more. Of another what it did must have been joined all the same. */
void door_capture_leave(door_stream *stream) {
    door_capture *c = stream->capture;
    if (!c)
        return;
    bool first = c->origin == stream;
    for (size_t i = 0; !first && i < stream->tip_count; i++)
        if (!list_add(&c->left, stream->tips[i]))
            door_capture_spoil(c);
    if (first)
        end_capture(c);
    if (first && c->own_graph)
        graph_free(c->graph);
    if (first)
        free_capture(c);
    detach(stream);
}

/* ---- Asking -----------------------------------------------------------------------------------
 */

enum { EDGES_SHOWN = 1024 };

typedef struct capture_info { /* where the answers go; NULL: not asked for */
    int *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **tips;
    const cudaGraphEdgeData **data;
    size_t *count;
} capture_info;

static cudaError_t info(cudaStream_t handle, capture_info out) {
    static const cudaGraphEdgeData plain[EDGES_SHOWN];
    door_stream *s;
    cudaError_t error = find_stream(handle, &s);
    if (error)
        return error;
    if (!out.status)
        return cudaErrorInvalidValue;
    if (s->legacy && is_implicit(s->device, false))
        return cudaErrorStreamCaptureImplicit;
    const door_capture *c = s->capture;
    *out.status = !c           ? cudaStreamCaptureStatusNone
                  : c->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
    if (!c || c->invalid)
        return cudaSuccess;
    if (out.data && s->tip_count > EDGES_SHOWN)
        return cudaErrorMemoryAllocation;
    if (out.id)
        *out.id = c->id;
    if (out.graph)
        *out.graph = c->graph;
    if (out.count)
        *out.count = live_tips(s);
    if (out.tips)
        *out.tips = s->tips;
    if (out.data)
        *out.data = plain;
    return cudaSuccess;
}

/* NAME and NAME_ptsz. */
#define CAPTURE_EXPORT(name, call, ...)                                                            \
    GRAPH_EXPORT(name, call, __VA_ARGS__)                                                          \
    GRAPH_EXPORT(name##_ptsz, (stream = door_per_thread(stream), call), __VA_ARGS__)

CAPTURE_EXPORT(cudaStreamIsCapturing, info(stream, (capture_info){.status = status}),
               cudaStream_t stream, int *status)
#define INFO_WITH_DATA(name)                                                                       \
    CAPTURE_EXPORT(name, info(stream, (capture_info){status, id, graph, tips, data, count}),       \
                   cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,   \
                   const cudaGraphNode_t **tips, const cudaGraphEdgeData **data, size_t *count)
#if DOOR_CUDART >= 13
INFO_WITH_DATA(cudaStreamGetCaptureInfo)
#else
CAPTURE_EXPORT(cudaStreamGetCaptureInfo, info(stream, (capture_info){.status = status, .id = id}),
               cudaStream_t stream, int *status, unsigned long long *id)
CAPTURE_EXPORT(cudaStreamGetCaptureInfo_v2,
               info(stream, (capture_info){status, id, graph, tips, NULL, count}),
               cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
               const cudaGraphNode_t **tips, size_t *count)
INFO_WITH_DATA(cudaStreamGetCaptureInfo_v3)
#endif

static cudaError_t update(cudaStream_t handle, const cudaGraphNode_t *nodes,
                          const cudaGraphEdgeData *data, size_t count, unsigned flags) {
    static const cudaGraphEdgeData plain;
    door_stream *s;
    cudaError_t error = find_stream(handle, &s);
    if (error)
        return error;
    if (!s->capture)
        return cudaErrorIllegalState;
    if (s->capture->invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (flags > cudaStreamSetCaptureDependencies)
        return cudaErrorInvalidValue;
    for (size_t i = 0; data && i < count; i++)
        if (memcmp(&data[i], &plain, sizeof plain) != 0)
            return door_not_supported("a graph's edge with data (programmatic dependent launch)");
    if ((error = check_nodes(s->capture->graph, nodes, count)))
        return error;
    bool ok = flags == cudaStreamSetCaptureDependencies ? set_tips(s, nodes, count)
                                                        : add_tips(s, nodes, count);
    return ok ? cudaSuccess : cudaErrorMemoryAllocation;
}
#define UPDATE_WITH_DATA(name)                                                                     \
    CAPTURE_EXPORT(name, update(stream, nodes, data, count, flags), cudaStream_t stream,           \
                   cudaGraphNode_t *nodes, const cudaGraphEdgeData *data, size_t count,            \
                   unsigned flags)
#if DOOR_CUDART >= 13
UPDATE_WITH_DATA(cudaStreamUpdateCaptureDependencies)
#else
CAPTURE_EXPORT(cudaStreamUpdateCaptureDependencies, update(stream, nodes, NULL, count, flags),
               cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags)
UPDATE_WITH_DATA(cudaStreamUpdateCaptureDependencies_v2)
#endif

static cudaError_t exchange(int *mode) {
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    int before = door_self.capture_mode;
    door_self.capture_mode = *mode;
    *mode = before;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaThreadExchangeStreamCaptureMode, exchange(mode), int *mode)
