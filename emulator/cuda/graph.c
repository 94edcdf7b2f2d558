/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs and stream capture through the driver's door: graphs, nodes and executable graphs are the
 * runtime's own, and so are the rules. What is here is the driver's form of their parameters.
 */
#include "emulator/cuda/abi_graph.h"
#include "emulator/cuda/array.h"
#include "emulator/cuda/driver.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- The runtime's functions of graphs ---------------------------------------------------------
 * Those whose arguments CUDA 13 changed are called _v2 in the door of CUDA 12. */
#define NODE_PLACE cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t
#define GRAPH_FUNCTIONS(F)                                                                         \
    F(cudaGraphCreate, "", cudaGraph_t *, unsigned)                                                \
    F(cudaGraphDestroy, "", cudaGraph_t)                                                           \
    F(cudaGraphClone, "", cudaGraph_t *, cudaGraph_t)                                              \
    F(cudaGraphNodeFindInClone, "", cudaGraphNode_t *, cudaGraphNode_t, cudaGraph_t)               \
    F(cudaGraphNodeGetType, "", cudaGraphNode_t, cudaGraphNodeType *)                              \
    F(cudaGraphDestroyNode, "", cudaGraphNode_t)                                                   \
    F(cudaGraphGetNodes, "", cudaGraph_t, cudaGraphNode_t *, size_t *)                             \
    F(cudaGraphGetRootNodes, "", cudaGraph_t, cudaGraphNode_t *, size_t *)                         \
    F(cudaGraphGetEdges, "_v2", cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *,                 \
      cudaGraphEdgeData *, size_t *)                                                               \
    F(cudaGraphNodeGetDependencies, "_v2", cudaGraphNode_t, cudaGraphNode_t *,                     \
      cudaGraphEdgeData *, size_t *)                                                               \
    F(cudaGraphNodeGetDependentNodes, "_v2", cudaGraphNode_t, cudaGraphNode_t *,                   \
      cudaGraphEdgeData *, size_t *)                                                               \
    F(cudaGraphAddDependencies, "_v2", cudaGraph_t, const cudaGraphNode_t *,                       \
      const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t)                                  \
    F(cudaGraphRemoveDependencies, "_v2", cudaGraph_t, const cudaGraphNode_t *,                    \
      const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t)                                  \
    F(cudaGraphAddNode, "_v2", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,            \
      const cudaGraphEdgeData *, size_t, cudaGraphNodeParams *)                                    \
    F(cudaGraphNodeSetParams, "", cudaGraphNode_t, const cudaGraphNodeParams *)                    \
    F(cudaGraphExecNodeSetParams, "", cudaGraphExec_t, cudaGraphNode_t,                            \
      const cudaGraphNodeParams *)                                                                 \
    F(cudaGraphKernelNodeGetParams, "", cudaGraphNode_t, cudaKernelNodeParams *)                   \
    F(cudaGraphMemcpyNodeGetParams, "", cudaGraphNode_t, cudaMemcpy3DParms *)                      \
    F(cudaGraphMemsetNodeGetParams, "", cudaGraphNode_t, cudaMemsetParams *)                       \
    F(cudaGraphHostNodeGetParams, "", cudaGraphNode_t, cudaHostNodeParams *)                       \
    F(cudaGraphChildGraphNodeGetGraph, "", cudaGraphNode_t, cudaGraph_t *)                         \
    F(cudaGraphEventRecordNodeGetEvent, "", cudaGraphNode_t, cudaEvent_t *)                        \
    F(cudaGraphEventWaitNodeGetEvent, "", cudaGraphNode_t, cudaEvent_t *)                          \
    F(cudaGraphMemAllocNodeGetParams, "", cudaGraphNode_t, cudaMemAllocNodeParams *)               \
    F(cudaGraphMemFreeNodeGetParams, "", cudaGraphNode_t, void *)                                  \
    F(cudaGraphKernelNodeGetAttribute, "", cudaGraphNode_t, int, void *)                           \
    F(cudaGraphKernelNodeSetAttribute, "", cudaGraphNode_t, int, const void *)                     \
    F(cudaGraphKernelNodeCopyAttributes, "", cudaGraphNode_t, cudaGraphNode_t)                     \
    F(cudaGraphInstantiate, "", cudaGraphExec_t *, cudaGraph_t, unsigned long long)                \
    F(cudaGraphInstantiateWithParams, "", cudaGraphExec_t *, cudaGraph_t,                          \
      cudaGraphInstantiateParams *)                                                                \
    F(cudaGraphExecGetFlags, "", cudaGraphExec_t, unsigned long long *)                            \
    F(cudaGraphExecUpdate, "", cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo *)      \
    F(cudaGraphExecDestroy, "", cudaGraphExec_t)                                                   \
    F(cudaGraphNodeSetEnabled, "", cudaGraphExec_t, cudaGraphNode_t, unsigned)                     \
    F(cudaGraphNodeGetEnabled, "", cudaGraphExec_t, cudaGraphNode_t, unsigned *)                   \
    F(cudaGraphLaunch, "", cudaGraphExec_t, cudaStream_t)                                          \
    F(cudaGraphUpload, "", cudaGraphExec_t, cudaStream_t)                                          \
    F(cudaGraphDebugDotPrint, "", cudaGraph_t, const char *, unsigned)                             \
    F(cudaDeviceGetGraphMemAttribute, "", int, int, void *)                                        \
    F(cudaDeviceSetGraphMemAttribute, "", int, int, void *)                                        \
    F(cudaDeviceGraphMemTrim, "", int)                                                             \
    F(cudaUserObjectCreate, "", cudaUserObject_t *, void *, cudaHostFn_t, unsigned, unsigned)      \
    F(cudaUserObjectRetain, "", cudaUserObject_t, unsigned)                                        \
    F(cudaUserObjectRelease, "", cudaUserObject_t, unsigned)                                       \
    F(cudaGraphRetainUserObject, "", cudaGraph_t, cudaUserObject_t, unsigned, unsigned)            \
    F(cudaGraphReleaseUserObject, "", cudaGraph_t, cudaUserObject_t, unsigned)                     \
    F(cudaStreamBeginCapture, "", cudaStream_t, int)                                               \
    F(cudaStreamBeginCaptureToGraph, "", cudaStream_t, cudaGraph_t, const cudaGraphNode_t *,       \
      const cudaGraphEdgeData *, size_t, int)                                                      \
    F(cudaStreamEndCapture, "", cudaStream_t, cudaGraph_t *)                                       \
    F(cudaStreamGetCaptureInfo, "_v3", cudaStream_t, int *, unsigned long long *, cudaGraph_t *,   \
      const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *)                              \
    F(cudaStreamUpdateCaptureDependencies, "_v2", cudaStream_t, cudaGraphNode_t *,                 \
      const cudaGraphEdgeData *, size_t, unsigned)                                                 \
    F(cudaThreadExchangeStreamCaptureMode, "", int *)                                              \
    F(cudaGetKernel, "", cudaKernel_t *, const void *)

static struct {
#define FIELD(name, suffix, ...) cudaError_t (*name)(__VA_ARGS__);
    GRAPH_FUNCTIONS(FIELD)
#undef FIELD
} of;

static void *symbol(const char *name, const char *suffix) {
    char newer[96];
    snprintf(newer, sizeof newer, "%s%s", name, suffix);
    void *found = *suffix ? driver_doors()->symbol(newer) : NULL;
    return found ? found : driver_doors()->symbol(name);
}

static void bind_all(void) {
#define BIND(name, suffix, ...) of.name = (cudaError_t(*)(__VA_ARGS__))symbol(#name, suffix);
    GRAPH_FUNCTIONS(BIND)
#undef BIND
}

/* After driver_ready: the doors of one build have the same functions. */
static void bind_graphs(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bind_all);
}

/* Like DRIVER_CALL, TOLD being the arguments as observers get them (NULL: not shown). */
#define GRAPH_TOLD(name, told, call, ...)                                                          \
    DRIVER_EXPORT(name, __VA_ARGS__) {                                                             \
        int refused_ = driver_ready(true);                                                         \
        if (refused_)                                                                              \
            return refused_;                                                                       \
        bind_graphs();                                                                             \
        driver_doors()->enter(__func__, NULL, told);                                               \
        return driver_leave((int)(call));                                                          \
    }
#define GRAPH(name, call, ...) GRAPH_TOLD(name, NULL, call, __VA_ARGS__)
/* For both default streams. */
#define GRAPH_STREAM(name, told, call, ...)                                                        \
    GRAPH_TOLD(name, told, call, __VA_ARGS__)                                                      \
    GRAPH_TOLD(name##_ptsz, (stream = stream ? stream : cudaStreamPerThread, told), call,          \
               __VA_ARGS__)

/* ---- Parameters of nodes -----------------------------------------------------------------------
 */

static cudaError_t kernel_in(const driver_kernel_node *p, bool second, cudaKernelNodeParams *out) {
    if (!p)
        return cudaErrorInvalidValue;
    *out = p->params;
    const void *kernel = p->params.func || !second ? p->params.func : p->kernel;
    out->func = kernel ? (void *)(uintptr_t)driver_doors()->kernel_host(kernel) : NULL;
    return out->func ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t kernel_out(cudaGraphNode_t node, driver_kernel_node *p, bool second) {
    cudaKernel_t kernel = NULL;
    cudaKernelNodeParams found;
    cudaError_t error = p ? of.cudaGraphKernelNodeGetParams(node, &found) : cudaErrorInvalidValue;
    if (!error)
        error = of.cudaGetKernel(&kernel, found.func);
    if (error)
        return error;
    found.func = kernel;
    p->params = found;
    if (second)
        p->kernel = p->context = NULL;
    return cudaSuccess;
}

/* Arrays count elements where the driver counts bytes. */
static void arrays_out(const cudaMemcpy3DParms *p, driver_memcpy3d *c) {
    size_t element = driver_element(p->srcArray ? p->srcArray : p->dstArray);
    if (p->srcArray) {
        c->source_type = MEMORYTYPE_ARRAY;
        c->source_array = p->srcArray;
        c->source_x *= element;
    }
    if (p->dstArray) {
        c->to_type = MEMORYTYPE_ARRAY;
        c->to_array = p->dstArray;
        c->to_x *= element;
    }
    c->width *= element;
}

static cudaError_t copy_out(cudaGraphNode_t node, driver_memcpy3d *c) {
    cudaMemcpy3DParms p;
    cudaError_t error = c ? of.cudaGraphMemcpyNodeGetParams(node, &p) : cudaErrorInvalidValue;
    if (error)
        return error;
    bool to_host = p.kind == cudaMemcpyDeviceToHost || p.kind == cudaMemcpyHostToHost;
    bool from_host = p.kind == cudaMemcpyHostToDevice || p.kind == cudaMemcpyHostToHost;
    int other = p.kind == cudaMemcpyDefault ? MEMORYTYPE_UNIFIED : MEMORYTYPE_DEVICE;
    *c = (driver_memcpy3d){.source_x = p.srcPos.x,
                           .source_y = p.srcPos.y,
                           .source_z = p.srcPos.z,
                           .source_type = from_host ? MEMORYTYPE_HOST : other,
                           .source_pitch = p.srcPtr.pitch,
                           .source_height = p.srcPtr.ysize,
                           .to_x = p.dstPos.x,
                           .to_y = p.dstPos.y,
                           .to_z = p.dstPos.z,
                           .to_type = to_host ? MEMORYTYPE_HOST : other,
                           .to_pitch = p.dstPtr.pitch,
                           .to_height = p.dstPtr.ysize,
                           .width = p.extent.width,
                           .height = p.extent.height,
                           .depth = p.extent.depth};
    if (from_host)
        c->source_host = p.srcPtr.ptr;
    else
        c->source_device = (device_pointer)(uintptr_t)p.srcPtr.ptr;
    if (to_host)
        c->to_host = p.dstPtr.ptr;
    else
        c->to_device = (device_pointer)(uintptr_t)p.dstPtr.ptr;
    if (p.srcArray || p.dstArray)
        arrays_out(&p, c);
    return cudaSuccess;
}

/* The runtime's form of a node's parameters, whose type may be any. */
static cudaError_t params_in(const driver_node *p, cudaGraphNodeParams *out) {
    if (!p)
        return cudaErrorInvalidValue;
    *out = (cudaGraphNodeParams){.type = (cudaGraphNodeType)p->type};
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        return kernel_in(&p->as.kernel, true, &out->of.kernel);
    case cudaGraphNodeTypeMemcpy:
        return driver_copy_params(&p->as.memcpy.copy, &out->of.memcpy.copyParams);
    default: /* the others are the same in both */
        memcpy(&out->of, &p->as, sizeof out->of);
        return cudaSuccess;
    }
}

/* ---- Adding ------------------------------------------------------------------------------------
 */

#define PLACE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count

static cudaError_t add_any(PLACE, const cudaGraphEdgeData *data, driver_node *p) {
    cudaGraphNodeParams params;
    cudaError_t error = params_in(p, &params);
    if (!error)
        error = of.cudaGraphAddNode(node, graph, from, data, count, &params);
    if (p && p->type == cudaGraphNodeTypeMemAlloc)
        p->as.alloc.dptr = params.of.alloc.dptr;
    return error;
}

static cudaError_t add(PLACE, cudaGraphNodeParams params) {
    return of.cudaGraphAddNode(node, graph, from, NULL, count, &params);
}

static cudaError_t add_kernel(PLACE, const driver_kernel_node *p, bool second) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    cudaError_t error = kernel_in(p, second, &params.of.kernel);
    return error ? error : add(node, graph, from, count, params);
}

static cudaError_t add_copy(PLACE, const driver_memcpy3d *p) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemcpy};
    cudaError_t error = driver_copy_params(p, &params.of.memcpy.copyParams);
    return error ? error : add(node, graph, from, count, params);
}

static cudaError_t add_allocation(PLACE, cudaMemAllocNodeParams *p) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemAlloc};
    if (!p)
        return cudaErrorInvalidValue;
    params.of.alloc = *p;
    cudaError_t error = of.cudaGraphAddNode(node, graph, from, NULL, count, &params);
    p->dptr = params.of.alloc.dptr;
    return error;
}

#define PARAMS(kind, ...) ((cudaGraphNodeParams){.type = cudaGraphNodeType##kind, __VA_ARGS__})
#define HERE              node, graph, from, count
GRAPH(cuGraphAddKernelNode, add_kernel(HERE, p, false), PLACE, const driver_kernel_node *p)
GRAPH(cuGraphAddKernelNode_v2, add_kernel(HERE, p, true), PLACE, const driver_kernel_node *p)
GRAPH(cuGraphAddMemcpyNode, add_copy(HERE, p), PLACE, const driver_memcpy3d *p, void *context)
GRAPH(cuGraphAddMemsetNode, p ? add(HERE, PARAMS(Memset, .of.memset = *p)) : cudaErrorInvalidValue,
      PLACE, const cudaMemsetParams *p, void *context)
GRAPH(cuGraphAddHostNode, p ? add(HERE, PARAMS(Host, .of.host = *p)) : cudaErrorInvalidValue, PLACE,
      const cudaHostNodeParams *p)
GRAPH(cuGraphAddChildGraphNode, add(HERE, PARAMS(Graph, .of.graph.graph = child)), PLACE,
      cudaGraph_t child)
GRAPH(cuGraphAddEmptyNode, add(HERE, PARAMS(Empty, .of.event = NULL)), PLACE)
GRAPH(cuGraphAddEventRecordNode, add(HERE, PARAMS(EventRecord, .of.event = event)), PLACE,
      cudaEvent_t event)
GRAPH(cuGraphAddEventWaitNode, add(HERE, PARAMS(WaitEvent, .of.event = event)), PLACE,
      cudaEvent_t event)
GRAPH(cuGraphAddMemAllocNode, add_allocation(HERE, p), PLACE, cudaMemAllocNodeParams *p)
GRAPH(cuGraphAddMemFreeNode, add(HERE, PARAMS(MemFree, .of.free = pointer(address))), PLACE,
      device_pointer address)
GRAPH(cuGraphAddNode, add_any(HERE, NULL, p), PLACE, driver_node *p)
GRAPH(cuGraphAddNode_v2, add_any(HERE, data, p), cudaGraphNode_t *node, cudaGraph_t graph,
      const cudaGraphNode_t *from, const cudaGraphEdgeData *data, size_t count, driver_node *p)

/* ---- Asking and changing -----------------------------------------------------------------------
 */

/* EXEC NULL: in the graph itself. */
static cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node,
                       const cudaGraphNodeParams *params) {
    return exec ? of.cudaGraphExecNodeSetParams(exec, node, params)
                : of.cudaGraphNodeSetParams(node, params);
}

static cudaError_t set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                              const driver_kernel_node *p, bool second) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    cudaError_t error = kernel_in(p, second, &params.of.kernel);
    return error ? error : set(exec, node, &params);
}

static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const driver_memcpy3d *p) {
    cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemcpy};
    cudaError_t error = driver_copy_params(p, &params.of.memcpy.copyParams);
    return error ? error : set(exec, node, &params);
}

static cudaError_t set_any(cudaGraphExec_t exec, cudaGraphNode_t node, const driver_node *p) {
    cudaGraphNodeParams params;
    cudaError_t error = params_in(p, &params);
    return error ? error : set(exec, node, &params);
}

#define NODE cudaGraphNode_t node
#define IN   cudaGraphExec_t exec, cudaGraphNode_t node
#define PLAIN(kind, member)                                                                        \
    (p ? set(exec, node, &PARAMS(kind, .of.member = *p)) : cudaErrorInvalidValue)

/* Arguments in the order of the call. */
typedef struct set_arguments {
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    const void *params;
} set_arguments;
#define SET_TOLD(what) (&(set_arguments){exec, node, what})

GRAPH(cuGraphKernelNodeGetParams, kernel_out(node, p, false), NODE, driver_kernel_node *p)
GRAPH(cuGraphKernelNodeGetParams_v2, kernel_out(node, p, true), NODE, driver_kernel_node *p)
GRAPH(cuGraphMemcpyNodeGetParams, copy_out(node, p), NODE, driver_memcpy3d *p)
GRAPH(cuGraphMemsetNodeGetParams, of.cudaGraphMemsetNodeGetParams(node, p), NODE,
      cudaMemsetParams *p)
GRAPH(cuGraphHostNodeGetParams, of.cudaGraphHostNodeGetParams(node, p), NODE, cudaHostNodeParams *p)
GRAPH(cuGraphChildGraphNodeGetGraph, of.cudaGraphChildGraphNodeGetGraph(node, graph), NODE,
      cudaGraph_t *graph)
GRAPH(cuGraphEventRecordNodeGetEvent, of.cudaGraphEventRecordNodeGetEvent(node, event), NODE,
      cudaEvent_t *event)
GRAPH(cuGraphEventWaitNodeGetEvent, of.cudaGraphEventWaitNodeGetEvent(node, event), NODE,
      cudaEvent_t *event)
GRAPH(cuGraphMemAllocNodeGetParams, of.cudaGraphMemAllocNodeGetParams(node, p), NODE,
      cudaMemAllocNodeParams *p)
GRAPH(cuGraphMemFreeNodeGetParams, of.cudaGraphMemFreeNodeGetParams(node, p), NODE,
      device_pointer *p)
GRAPH(cuGraphKernelNodeGetAttribute, of.cudaGraphKernelNodeGetAttribute(node, attribute, value),
      NODE, int attribute, void *value)
GRAPH(cuGraphKernelNodeSetAttribute, of.cudaGraphKernelNodeSetAttribute(node, attribute, value),
      NODE, int attribute, const void *value)
GRAPH(cuGraphKernelNodeCopyAttributes, of.cudaGraphKernelNodeCopyAttributes(to, node),
      cudaGraphNode_t to, NODE)

GRAPH(cuGraphKernelNodeSetParams, set_kernel(NULL, node, p, false), NODE,
      const driver_kernel_node *p)
GRAPH(cuGraphKernelNodeSetParams_v2, set_kernel(NULL, node, p, true), NODE,
      const driver_kernel_node *p)
GRAPH(cuGraphMemcpyNodeSetParams, set_copy(NULL, node, p), NODE, const driver_memcpy3d *p)
GRAPH(cuGraphMemsetNodeSetParams,
      p ? set(NULL, node, &PARAMS(Memset, .of.memset = *p)) : cudaErrorInvalidValue, NODE,
      const cudaMemsetParams *p)
GRAPH(cuGraphHostNodeSetParams,
      p ? set(NULL, node, &PARAMS(Host, .of.host = *p)) : cudaErrorInvalidValue, NODE,
      const cudaHostNodeParams *p)
GRAPH(cuGraphEventRecordNodeSetEvent, set(NULL, node, &PARAMS(EventRecord, .of.event = event)),
      NODE, cudaEvent_t event)
GRAPH(cuGraphEventWaitNodeSetEvent, set(NULL, node, &PARAMS(WaitEvent, .of.event = event)), NODE,
      cudaEvent_t event)
GRAPH(cuGraphNodeSetParams, set_any(NULL, node, p), NODE, const driver_node *p)

GRAPH_TOLD(cuGraphExecKernelNodeSetParams, SET_TOLD(p), set_kernel(exec, node, p, false), IN,
           const driver_kernel_node *p)
GRAPH_TOLD(cuGraphExecKernelNodeSetParams_v2, SET_TOLD(p), set_kernel(exec, node, p, true), IN,
           const driver_kernel_node *p)
GRAPH_TOLD(cuGraphExecMemcpyNodeSetParams, SET_TOLD(p), set_copy(exec, node, p), IN,
           const driver_memcpy3d *p, void *context)
GRAPH_TOLD(cuGraphExecMemsetNodeSetParams, SET_TOLD(p), PLAIN(Memset, memset), IN,
           const cudaMemsetParams *p, void *context)
GRAPH_TOLD(cuGraphExecHostNodeSetParams, SET_TOLD(p), PLAIN(Host, host), IN,
           const cudaHostNodeParams *p)
GRAPH_TOLD(cuGraphExecChildGraphNodeSetParams, SET_TOLD(child),
           set(exec, node, &PARAMS(Graph, .of.graph.graph = child)), IN, cudaGraph_t child)
GRAPH_TOLD(cuGraphExecEventRecordNodeSetEvent, SET_TOLD(event),
           set(exec, node, &PARAMS(EventRecord, .of.event = event)), IN, cudaEvent_t event)
GRAPH_TOLD(cuGraphExecEventWaitNodeSetEvent, SET_TOLD(event),
           set(exec, node, &PARAMS(WaitEvent, .of.event = event)), IN, cudaEvent_t event)
GRAPH_TOLD(cuGraphExecNodeSetParams, SET_TOLD(p), set_any(exec, node, p), IN, const driver_node *p)

/* ---- Structure ---------------------------------------------------------------------------------
 */

GRAPH(cuGraphCreate, of.cudaGraphCreate(graph, flags), cudaGraph_t *graph, unsigned flags)
GRAPH(cuGraphDestroy, of.cudaGraphDestroy(graph), cudaGraph_t graph)
GRAPH(cuGraphClone, of.cudaGraphClone(copy, original), cudaGraph_t *copy, cudaGraph_t original)
GRAPH(cuGraphNodeFindInClone, of.cudaGraphNodeFindInClone(found, node, graph),
      cudaGraphNode_t *found, NODE, cudaGraph_t graph)
GRAPH(cuGraphNodeGetType, of.cudaGraphNodeGetType(node, type), NODE, cudaGraphNodeType *type)
GRAPH(cuGraphDestroyNode, of.cudaGraphDestroyNode(node), NODE)
GRAPH(cuGraphGetNodes, of.cudaGraphGetNodes(graph, nodes, count), cudaGraph_t graph,
      cudaGraphNode_t *nodes, size_t *count)
GRAPH(cuGraphGetRootNodes, of.cudaGraphGetRootNodes(graph, nodes, count), cudaGraph_t graph,
      cudaGraphNode_t *nodes, size_t *count)

#define EDGE_LISTS cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to
GRAPH(cuGraphGetEdges, of.cudaGraphGetEdges(graph, from, to, NULL, count), EDGE_LISTS,
      size_t *count)
GRAPH(cuGraphGetEdges_v2, of.cudaGraphGetEdges(graph, from, to, data, count), EDGE_LISTS,
      cudaGraphEdgeData *data, size_t *count)
GRAPH(cuGraphNodeGetDependencies, of.cudaGraphNodeGetDependencies(node, nodes, NULL, count), NODE,
      cudaGraphNode_t *nodes, size_t *count)
GRAPH(cuGraphNodeGetDependencies_v2, of.cudaGraphNodeGetDependencies(node, nodes, data, count),
      NODE, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count)
GRAPH(cuGraphNodeGetDependentNodes, of.cudaGraphNodeGetDependentNodes(node, nodes, NULL, count),
      NODE, cudaGraphNode_t *nodes, size_t *count)
GRAPH(cuGraphNodeGetDependentNodes_v2, of.cudaGraphNodeGetDependentNodes(node, nodes, data, count),
      NODE, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count)

#define EDGES cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to
GRAPH(cuGraphAddDependencies, of.cudaGraphAddDependencies(graph, from, to, NULL, count), EDGES,
      size_t count)
GRAPH(cuGraphAddDependencies_v2, of.cudaGraphAddDependencies(graph, from, to, data, count), EDGES,
      const cudaGraphEdgeData *data, size_t count)
GRAPH(cuGraphRemoveDependencies, of.cudaGraphRemoveDependencies(graph, from, to, NULL, count),
      EDGES, size_t count)
GRAPH(cuGraphRemoveDependencies_v2, of.cudaGraphRemoveDependencies(graph, from, to, data, count),
      EDGES, const cudaGraphEdgeData *data, size_t count)
GRAPH(cuGraphDebugDotPrint, of.cudaGraphDebugDotPrint(graph, path, flags), cudaGraph_t graph,
      const char *path, unsigned flags)

GRAPH(cuUserObjectCreate, of.cudaUserObjectCreate(object, data, destroy, count, flags),
      cudaUserObject_t *object, void *data, cudaHostFn_t destroy, unsigned count, unsigned flags)
GRAPH(cuUserObjectRetain, of.cudaUserObjectRetain(object, count), cudaUserObject_t object,
      unsigned count)
GRAPH(cuUserObjectRelease, of.cudaUserObjectRelease(object, count), cudaUserObject_t object,
      unsigned count)
GRAPH(cuGraphRetainUserObject, of.cudaGraphRetainUserObject(graph, object, count, flags),
      cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)
GRAPH(cuGraphReleaseUserObject, of.cudaGraphReleaseUserObject(graph, object, count),
      cudaGraph_t graph, cudaUserObject_t object, unsigned count)

GRAPH(cuDeviceGetGraphMemAttribute, of.cudaDeviceGetGraphMemAttribute(device, attribute, value),
      int device, int attribute, void *value)
GRAPH(cuDeviceSetGraphMemAttribute, of.cudaDeviceSetGraphMemAttribute(device, attribute, value),
      int device, int attribute, void *value)
GRAPH(cuDeviceGraphMemTrim, of.cudaDeviceGraphMemTrim(device), int device)

/* ---- Executable graphs -------------------------------------------------------------------------
 */

typedef struct instantiate_arguments {
    cudaGraphExec_t *exec;
    cudaGraph_t graph;
    unsigned long long flags;
} instantiate_arguments;

typedef struct with_arguments {
    cudaGraphExec_t *exec;
    cudaGraph_t graph;
    const void *params;
} with_arguments;

typedef struct update_arguments {
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    const void *result;
} update_arguments;

typedef struct launch_arguments {
    cudaGraphExec_t exec;
    cudaStream_t stream;
} launch_arguments;

typedef struct enable_arguments {
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    unsigned enabled;
} enable_arguments;

/* The first form: where it went wrong comes by itself, and no text is written. */
static cudaError_t instantiate_logged(cudaGraphExec_t *exec, cudaGraph_t graph,
                                      cudaGraphNode_t *where, char *log, size_t size) {
    cudaGraphInstantiateParams p = {0};
    cudaError_t error = of.cudaGraphInstantiateWithParams(exec, graph, &p);
    if (where)
        *where = error ? p.errNode_out : NULL;
    if (log && size)
        *log = 0;
    return error;
}

static cudaError_t update_first(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *where,
                                int *result) {
    cudaGraphExecUpdateResultInfo info = {0};
    cudaError_t error = of.cudaGraphExecUpdate(exec, graph, &info);
    if (where)
        *where = info.errorNode;
    if (result)
        *result = (int)info.result;
    return error;
}

#define LOGGED                                                                                     \
    cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *where, char *log, size_t size
GRAPH_TOLD(cuGraphInstantiate, (&(instantiate_arguments){exec, graph, 0}),
           instantiate_logged(exec, graph, where, log, size), LOGGED)
GRAPH_TOLD(cuGraphInstantiate_v2, (&(instantiate_arguments){exec, graph, 0}),
           instantiate_logged(exec, graph, where, log, size), LOGGED)
GRAPH_TOLD(cuGraphInstantiateWithFlags, (&(instantiate_arguments){exec, graph, flags}),
           of.cudaGraphInstantiate(exec, graph, flags), cudaGraphExec_t *exec, cudaGraph_t graph,
           unsigned long long flags)
GRAPH_TOLD(cuGraphInstantiateWithParams, (&(with_arguments){exec, graph, p}),
           of.cudaGraphInstantiateWithParams(exec, graph, p), cudaGraphExec_t *exec,
           cudaGraph_t graph, cudaGraphInstantiateParams *p)
GRAPH_TOLD(cuGraphInstantiateWithParams_ptsz, (&(with_arguments){exec, graph, p}),
           of.cudaGraphInstantiateWithParams(exec, graph, p), cudaGraphExec_t *exec,
           cudaGraph_t graph, cudaGraphInstantiateParams *p)
GRAPH_TOLD(cuGraphExecUpdate, (&(update_arguments){exec, graph, where}),
           update_first(exec, graph, where, result), cudaGraphExec_t exec, cudaGraph_t graph,
           cudaGraphNode_t *where, int *result)
GRAPH_TOLD(cuGraphExecUpdate_v2, (&(update_arguments){exec, graph, info}),
           of.cudaGraphExecUpdate(exec, graph, info), cudaGraphExec_t exec, cudaGraph_t graph,
           cudaGraphExecUpdateResultInfo *info)
GRAPH_TOLD(cuGraphExecDestroy, &exec, of.cudaGraphExecDestroy(exec), cudaGraphExec_t exec)
GRAPH(cuGraphExecGetFlags, of.cudaGraphExecGetFlags(exec, flags), cudaGraphExec_t exec,
      unsigned long long *flags)
GRAPH_TOLD(cuGraphNodeSetEnabled, (&(enable_arguments){exec, node, enabled}),
           of.cudaGraphNodeSetEnabled(exec, node, enabled), IN, unsigned enabled)
GRAPH(cuGraphNodeGetEnabled, of.cudaGraphNodeGetEnabled(exec, node, enabled), IN, unsigned *enabled)

GRAPH_STREAM(cuGraphLaunch, (&(launch_arguments){exec, stream}), of.cudaGraphLaunch(exec, stream),
             cudaGraphExec_t exec, cudaStream_t stream)
GRAPH_STREAM(cuGraphUpload, (&(launch_arguments){exec, stream}), of.cudaGraphUpload(exec, stream),
             cudaGraphExec_t exec, cudaStream_t stream)

/* ---- Capture -----------------------------------------------------------------------------------
 */

typedef struct begin_arguments {
    cudaStream_t stream;
    int mode;
} begin_arguments;

typedef struct end_arguments {
    cudaStream_t stream;
    cudaGraph_t *graph;
} end_arguments;

GRAPH_STREAM(cuStreamBeginCapture, (&(begin_arguments){stream, 0}),
             of.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaStream_t stream)
GRAPH_STREAM(cuStreamBeginCapture_v2, (&(begin_arguments){stream, mode}),
             of.cudaStreamBeginCapture(stream, mode), cudaStream_t stream, int mode)
GRAPH_STREAM(cuStreamBeginCaptureToGraph, &stream,
             of.cudaStreamBeginCaptureToGraph(stream, graph, from, data, count, mode),
             cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *from,
             const cudaGraphEdgeData *data, size_t count, int mode)
GRAPH_STREAM(cuStreamEndCapture, (&(end_arguments){stream, graph}),
             of.cudaStreamEndCapture(stream, graph), cudaStream_t stream, cudaGraph_t *graph)

#define INFO cudaStream_t stream, int *status, unsigned long long *id
GRAPH_STREAM(cuStreamGetCaptureInfo, NULL,
             of.cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL), INFO)
GRAPH_STREAM(cuStreamGetCaptureInfo_v2, NULL,
             of.cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count), INFO,
             cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count)
GRAPH_STREAM(cuStreamGetCaptureInfo_v3, NULL,
             of.cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, data, count), INFO,
             cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **data,
             size_t *count)
GRAPH_STREAM(cuStreamUpdateCaptureDependencies, NULL,
             of.cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags),
             cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags)
GRAPH_STREAM(cuStreamUpdateCaptureDependencies_v2, NULL,
             of.cudaStreamUpdateCaptureDependencies(stream, nodes, data, count, flags),
             cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *data,
             size_t count, unsigned flags)
GRAPH(cuThreadExchangeStreamCaptureMode, of.cudaThreadExchangeStreamCaptureMode(mode), int *mode)

DRIVER_EXPORT(cuGraphConditionalHandleCreate, void *handle, cudaGraph_t graph, void *context,
              unsigned value, unsigned flags) {
    return driver_not_supported("a graph's conditional node");
}
