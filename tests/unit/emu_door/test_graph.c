/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs and stream capture of each version's door, without a toolkit: structure, what runs in
 * which order and when on the virtual clock, updates, memory, and every error of capture. Kernels
 * come from PTX through the door's own table, so that no program has to be registered.
 */
#include "emulator/cudart/abi_graph.h"
#include "emulator/cudart/observe.h"
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The door's functions ---- */

/* Those of the first list are called _v2 (info: _v3) in the door of CUDA 12. */
#define PLACE cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t
#define CHANGED(F)                                                                                 \
    F(GraphGetEdges, "_v2", cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *,                     \
      cudaGraphEdgeData *, size_t *)                                                               \
    F(GraphNodeGetDependencies, "_v2", cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *,    \
      size_t *)                                                                                    \
    F(GraphNodeGetDependentNodes, "_v2", cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *,  \
      size_t *)                                                                                    \
    F(GraphAddDependencies, "_v2", cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *,  \
      const cudaGraphEdgeData *, size_t)                                                           \
    F(GraphRemoveDependencies, "_v2", cudaGraph_t, const cudaGraphNode_t *,                        \
      const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t)                                  \
    F(GraphAddNode, "_v2", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,                \
      const cudaGraphEdgeData *, size_t, cudaGraphNodeParams *)                                    \
    F(StreamGetCaptureInfo, "_v3", cudaStream_t, int *, unsigned long long *, cudaGraph_t *,       \
      const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *)                              \
    F(StreamUpdateCaptureDependencies, "_v2", cudaStream_t, cudaGraphNode_t *,                     \
      const cudaGraphEdgeData *, size_t, unsigned)
#define FUNCTIONS(F)                                                                               \
    CHANGED(F)                                                                                     \
    F(Malloc, "", void **, size_t)                                                                 \
    F(Free, "", void *)                                                                            \
    F(MallocAsync, "", void **, size_t, cudaStream_t)                                              \
    F(FreeAsync, "", void *, cudaStream_t)                                                         \
    F(Memcpy, "", void *, const void *, size_t, int)                                               \
    F(MemcpyAsync, "", void *, const void *, size_t, int, cudaStream_t)                            \
    F(MemsetAsync, "", void *, int, size_t, cudaStream_t)                                          \
    F(LaunchKernel, "", const void *, dim3, dim3, void **, size_t, cudaStream_t)                   \
    F(LaunchHostFunc, "", cudaStream_t, cudaHostFn_t, void *)                                      \
    F(StreamAddCallback, "", cudaStream_t, void *, void *, unsigned)                               \
    F(GetLastError, "", void)                                                                      \
    F(DeviceReset, "", void)                                                                       \
    F(DeviceSynchronize, "", void)                                                                 \
    F(StreamCreate, "", cudaStream_t *)                                                            \
    F(StreamCreateWithFlags, "", cudaStream_t *, unsigned)                                         \
    F(StreamDestroy, "", cudaStream_t)                                                             \
    F(StreamSynchronize, "", cudaStream_t)                                                         \
    F(StreamQuery, "", cudaStream_t)                                                               \
    F(StreamWaitEvent, "", cudaStream_t, cudaEvent_t, unsigned)                                    \
    F(EventCreate, "", cudaEvent_t *)                                                              \
    F(EventDestroy, "", cudaEvent_t)                                                               \
    F(EventRecord, "", cudaEvent_t, cudaStream_t)                                                  \
    F(EventRecordWithFlags, "", cudaEvent_t, cudaStream_t, unsigned)                               \
    F(EventQuery, "", cudaEvent_t)                                                                 \
    F(EventSynchronize, "", cudaEvent_t)                                                           \
    F(EventElapsedTime, "", float *, cudaEvent_t, cudaEvent_t)                                     \
    F(StreamBeginCapture, "", cudaStream_t, int)                                                   \
    F(StreamBeginCaptureToGraph, "", cudaStream_t, cudaGraph_t, const cudaGraphNode_t *,           \
      const cudaGraphEdgeData *, size_t, int)                                                      \
    F(StreamEndCapture, "", cudaStream_t, cudaGraph_t *)                                           \
    F(StreamIsCapturing, "", cudaStream_t, int *)                                                  \
    F(ThreadExchangeStreamCaptureMode, "", int *)                                                  \
    F(GraphCreate, "", cudaGraph_t *, unsigned)                                                    \
    F(GraphDestroy, "", cudaGraph_t)                                                               \
    F(GraphClone, "", cudaGraph_t *, cudaGraph_t)                                                  \
    F(GraphNodeFindInClone, "", cudaGraphNode_t *, cudaGraphNode_t, cudaGraph_t)                   \
    F(GraphNodeGetType, "", cudaGraphNode_t, cudaGraphNodeType *)                                  \
    F(GraphDestroyNode, "", cudaGraphNode_t)                                                       \
    F(GraphGetNodes, "", cudaGraph_t, cudaGraphNode_t *, size_t *)                                 \
    F(GraphGetRootNodes, "", cudaGraph_t, cudaGraphNode_t *, size_t *)                             \
    F(GraphAddKernelNode, "", PLACE, const cudaKernelNodeParams *)                                 \
    F(GraphKernelNodeGetParams, "", cudaGraphNode_t, cudaKernelNodeParams *)                       \
    F(GraphKernelNodeSetParams, "", cudaGraphNode_t, const cudaKernelNodeParams *)                 \
    F(GraphExecKernelNodeSetParams, "", cudaGraphExec_t, cudaGraphNode_t,                          \
      const cudaKernelNodeParams *)                                                                \
    F(GraphAddMemcpyNode1D, "", PLACE, void *, const void *, size_t, int)                          \
    F(GraphAddMemcpyNode, "", PLACE, const cudaMemcpy3DParms *)                                    \
    F(GraphAddMemsetNode, "", PLACE, const cudaMemsetParams *)                                     \
    F(GraphMemsetNodeGetParams, "", cudaGraphNode_t, cudaMemsetParams *)                           \
    F(GraphAddHostNode, "", PLACE, const cudaHostNodeParams *)                                     \
    F(GraphAddEmptyNode, "", PLACE)                                                                \
    F(GraphAddChildGraphNode, "", PLACE, cudaGraph_t)                                              \
    F(GraphChildGraphNodeGetGraph, "", cudaGraphNode_t, cudaGraph_t *)                             \
    F(GraphAddEventRecordNode, "", PLACE, cudaEvent_t)                                             \
    F(GraphAddEventWaitNode, "", PLACE, cudaEvent_t)                                               \
    F(GraphAddMemAllocNode, "", PLACE, cudaMemAllocNodeParams *)                                   \
    F(GraphAddMemFreeNode, "", PLACE, void *)                                                      \
    F(GraphInstantiate, "", cudaGraphExec_t *, cudaGraph_t, unsigned long long)                    \
    F(GraphInstantiateWithParams, "", cudaGraphExec_t *, cudaGraph_t,                              \
      cudaGraphInstantiateParams *)                                                                \
    F(GraphExecUpdate, "", cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo *)          \
    F(GraphExecDestroy, "", cudaGraphExec_t)                                                       \
    F(GraphNodeSetEnabled, "", cudaGraphExec_t, cudaGraphNode_t, unsigned)                         \
    F(GraphNodeGetEnabled, "", cudaGraphExec_t, cudaGraphNode_t, unsigned *)                       \
    F(GraphUpload, "", cudaGraphExec_t, cudaStream_t)                                              \
    F(GraphLaunch, "", cudaGraphExec_t, cudaStream_t)                                              \
    F(GraphDebugDotPrint, "", cudaGraph_t, const char *, unsigned)                                 \
    F(GraphConditionalHandleCreate, "", void *, cudaGraph_t, unsigned, unsigned)                   \
    F(DeviceGetGraphMemAttribute, "", int, int, void *)                                            \
    F(DeviceSetGraphMemAttribute, "", int, int, void *)                                            \
    F(DeviceGraphMemTrim, "", int)                                                                 \
    F(UserObjectCreate, "", cudaUserObject_t *, void *, cudaHostFn_t, unsigned, unsigned)          \
    F(UserObjectRelease, "", cudaUserObject_t, unsigned)                                           \
    F(GraphRetainUserObject, "", cudaGraph_t, cudaUserObject_t, unsigned, unsigned)

static struct {
#define FIELD(name, suffix, ...) cudaError_t (*name)(__VA_ARGS__);
    FUNCTIONS(FIELD)
#undef FIELD
} cuda;

#define OK(call)          assert_int_equal((call), cudaSuccess)
#define FAILS(code, call) assert_int_equal((call), (code))

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* p[i] = p[i] * factor + term */
    ".visible .entry step(.param .u64 p, .param .u32 factor, .param .u32 term) {\n"
    "  .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [factor]; ld.param.u32 %r2, [term];\n"
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "  mad.lo.u32 %r3, %r3, %r4, %r5; cvta.to.global.u64 %rd1, %rd1;\n"
    "  mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r6, [%rd3];\n"
    "  mad.lo.u32 %r7, %r6, %r1, %r2; st.global.u32 [%rd3], %r7; ret;\n}\n"
    ".visible .entry sum(.param .u64 to, .param .u64 a, .param .u64 b) {\n"
    "  .reg .b32 %r<5>; .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];\n"
    "  mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4;\n"
    "  add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4; ld.global.u32 %r2, [%rd6];\n"
    "  ld.global.u32 %r3, [%rd7]; add.u32 %r4, %r2, %r3; st.global.u32 [%rd5], %r4; ret;\n}\n";

enum { N = 32 };
static const void *step, *sum; /* by which the kernels are named */
static uint32_t *a, *b, *c;    /* N words each, on the device */
static cudaStream_t stream, other;
static char counts_path[64];

static uint32_t value_of(const uint32_t *p) {
    uint32_t v[N];
    OK(cuda.Memcpy(v, p, sizeof v, cudaMemcpyDeviceToHost));
    for (int i = 1; i < N; i++)
        assert_int_equal(v[i], v[0]);
    return v[0];
}

static void set_all(uint32_t x) {
    uint32_t v[N];
    for (int i = 0; i < N; i++)
        v[i] = x;
    OK(cuda.Memcpy(a, v, sizeof v, cudaMemcpyHostToDevice));
    OK(cuda.Memcpy(b, v, sizeof v, cudaMemcpyHostToDevice));
    OK(cuda.Memcpy(c, v, sizeof v, cudaMemcpyHostToDevice));
}

/* A launch of step, and what a node of it is made of. */
typedef struct step_call {
    uint32_t *p, factor, term;
    void *arguments[3];
    cudaKernelNodeParams params;
} step_call;

static const cudaKernelNodeParams *step_of(step_call *s, uint32_t *p, uint32_t factor,
                                           uint32_t term) {
    *s = (step_call){.p = p, .factor = factor, .term = term};
    s->arguments[0] = &s->p;
    s->arguments[1] = &s->factor;
    s->arguments[2] = &s->term;
    s->params = (cudaKernelNodeParams){.func = (void *)(uintptr_t)step,
                                       .gridDim = {1, 1, 1},
                                       .blockDim = {N, 1, 1},
                                       .kernelParams = s->arguments};
    return &s->params;
}

static cudaGraphNode_t add_step(cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                uint32_t *p, uint32_t factor, uint32_t term) {
    step_call s;
    cudaGraphNode_t node;
    OK(cuda.GraphAddKernelNode(&node, graph, from, count, step_of(&s, p, factor, term)));
    return node;
}

static cudaError_t launch_step(cudaStream_t on, uint32_t *p, uint32_t factor, uint32_t term) {
    step_call s;
    step_of(&s, p, factor, term);
    return cuda.LaunchKernel(step, s.params.gridDim, s.params.blockDim, s.arguments, 0, on);
}

static cudaGraph_t new_graph(void) {
    cudaGraph_t graph;
    OK(cuda.GraphCreate(&graph, 0));
    return graph;
}

static cudaGraphExec_t executable(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    OK(cuda.GraphInstantiate(&exec, graph, 0));
    return exec;
}

static void run(cudaGraphExec_t exec) {
    OK(cuda.GraphLaunch(exec, stream));
    OK(cuda.StreamSynchronize(stream));
}

/* ---- Structure ---- */

static void test_structure(void **state) {
    (void)state;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t n[4], from[8], to[8], found[8];
    size_t count;
    for (int i = 0; i < 4; i++)
        OK(cuda.GraphAddEmptyNode(&n[i], graph, i ? n : NULL, i ? 1 : 0));
    OK(cuda.GraphAddDependencies(graph, &n[1], &n[3], NULL, 1));
    FAILS(cudaErrorInvalidValue, cuda.GraphAddDependencies(graph, &n[1], &n[3], NULL, 1));
    FAILS(cudaErrorInvalidValue, cuda.GraphAddDependencies(graph, &n[1], &n[1], NULL, 1));
    count = 8;
    memset(found, 0x5a, sizeof found);
    OK(cuda.GraphGetNodes(graph, found, &count));
    assert_int_equal(count, 4);
    assert_ptr_equal(found[2], n[2]);
    assert_null(found[7]);
    OK(cuda.GraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    OK(cuda.GraphGetRootNodes(graph, found, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(found[0], n[0]);
    count = 8;
    OK(cuda.GraphGetEdges(graph, from, to, NULL, &count));
    assert_int_equal(count, 4);
    assert_ptr_equal(to[3], n[3]);
    assert_ptr_equal(from[3], n[1]);
    count = 8;
    OK(cuda.GraphNodeGetDependencies(n[3], found, NULL, &count));
    assert_int_equal(count, 2);
    count = 8;
    OK(cuda.GraphNodeGetDependentNodes(n[0], found, NULL, &count));
    assert_int_equal(count, 3);
    OK(cuda.GraphRemoveDependencies(graph, &n[1], &n[3], NULL, 1));
    FAILS(cudaErrorInvalidValue, cuda.GraphRemoveDependencies(graph, &n[1], &n[3], NULL, 1));
    OK(cuda.GraphDestroyNode(n[0]));
    FAILS(cudaErrorInvalidValue, cuda.GraphDestroyNode(n[0]));
    OK(cuda.GraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 3);
    OK(cuda.GraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cuda.GraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cuda.GraphGetNodes(graph, NULL, &count));
    FAILS(cudaErrorInvalidValue, cuda.GraphDestroyNode(n[1]));
    FAILS(cudaErrorInvalidValue, cuda.GraphDestroy((cudaGraph_t)&count));
    cuda.GetLastError();
}

static void test_circle(void **state) {
    (void)state;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t n[3];
    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiateParams p = {0};
    for (int i = 0; i < 3; i++)
        OK(cuda.GraphAddEmptyNode(&n[i], graph, i ? &n[i - 1] : NULL, i ? 1 : 0));
    OK(cuda.GraphAddDependencies(graph, &n[2], &n[1], NULL, 1));
    FAILS(cudaErrorInvalidValue, cuda.GraphInstantiateWithParams(&exec, graph, &p));
    assert_int_equal(p.result_out, cudaGraphInstantiateInvalidStructure);
    assert_true(p.errNode_out == n[1] || p.errNode_out == n[2]);
    assert_null(exec);
    OK(cuda.GraphDestroy(graph));
    cuda.GetLastError();
}

/* Edges may lead from later to earlier nodes, in chains of any length. */
static void test_order(void **state) {
    (void)state;
    enum { LENGTH = 20000 };
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = NULL, before = NULL, node;
    set_all(1);
    for (int i = 0; i < LENGTH; i++) {
        OK(cuda.GraphAddEmptyNode(&node, graph, NULL, 0));
        if (before)
            OK(cuda.GraphAddDependencies(graph, &node, &before, NULL, 1));
        first = first ? first : node;
        before = node;
    }
    add_step(graph, &first, 1, a, 10, 0);                      /* second, after all */
    cudaGraphNode_t start = add_step(graph, NULL, 0, a, 1, 4); /* first: the last one's start */
    OK(cuda.GraphAddDependencies(graph, &start, &before, NULL, 1));
    cudaGraphExec_t exec = executable(graph);
    OK(cuda.GraphDestroy(graph)); /* the executable graph is one of its own */
    run(exec);
    assert_int_equal(value_of(a), 50);
    OK(cuda.GraphExecDestroy(exec));
    FAILS(cudaErrorInvalidValue, cuda.GraphLaunch(exec, stream));
    cuda.GetLastError();
}

/* ---- What nodes do, and when ---- */

static float elapsed(cudaEvent_t from, cudaEvent_t to) {
    float ms;
    OK(cuda.EventElapsedTime(&ms, from, to));
    return ms;
}

static float time_of(cudaGraphExec_t exec) {
    cudaEvent_t from, to;
    OK(cuda.EventCreate(&from));
    OK(cuda.EventCreate(&to));
    OK(cuda.EventRecord(from, stream));
    OK(cuda.GraphLaunch(exec, stream));
    OK(cuda.EventRecord(to, stream));
    OK(cuda.StreamSynchronize(stream));
    float ms = elapsed(from, to);
    OK(cuda.EventDestroy(from));
    OK(cuda.EventDestroy(to));
    return ms;
}

/* Two branches of one kernel each take the time of one, one after the other that of two. */
static void test_branches(void **state) {
    (void)state;
    uint32_t *to = c, *x = a, *y = b;
    void *arguments[] = {&to, &x, &y};
    const cudaKernelNodeParams join = {.func = (void *)(uintptr_t)sum,
                                       .gridDim = {1, 1, 1},
                                       .blockDim = {N, 1, 1},
                                       .kernelParams = arguments};
    float ms[2];
    for (int chain = 0; chain < 2; chain++) {
        cudaGraph_t graph = new_graph();
        cudaGraphNode_t n[3];
        set_all(3);
        n[0] = add_step(graph, NULL, 0, a, 2, 1);
        n[1] = add_step(graph, n, chain ? 1 : 0, b, 5, 0);
        OK(cuda.GraphAddKernelNode(&n[2], graph, n, 2, &join));
        cudaGraphExec_t exec = executable(graph);
        ms[chain] = time_of(exec);
        assert_int_equal(value_of(c), 7 + 15);
        run(exec);
        assert_int_equal(value_of(c), 15 + 75);
        OK(cuda.GraphExecDestroy(exec));
        OK(cuda.GraphDestroy(graph));
    }
    /* a kernel takes 2 us and next to nothing, the event one */
    assert_true(ms[0] > 0.0049F && ms[0] < 0.0054F);
    assert_true(ms[1] > 0.0069F && ms[1] < 0.0074F);
}

static int host_calls;
static uint32_t host_value;

static void on_host(void *data) {
    host_calls++;
    host_value = *(const uint32_t *)data;
}

static void test_nodes(void **state) {
    (void)state;
    uint32_t got[N] = {0};
    cudaGraph_t graph = new_graph(), child = new_graph(), inside;
    cudaGraphNode_t n[6], found;
    cudaGraphNodeType type;
    cudaEvent_t event;
    const cudaMemsetParams fill = {a, 0, 0x00010203, 4, N, 1};
    const cudaMemsetParams odd = {(char *)a + 2, 0, 1, 4, N, 1};
    const cudaHostNodeParams host = {on_host, got};
    cudaMemsetParams fill_read;
    OK(cuda.EventCreate(&event));
    found = add_step(child, NULL, 0, a, 1, 1);
    FAILS(cudaErrorInvalidValue, cuda.GraphAddMemsetNode(&n[0], graph, NULL, 0, &odd));
    OK(cuda.GraphAddMemsetNode(&n[0], graph, NULL, 0, &fill));
    OK(cuda.GraphMemsetNodeGetParams(n[0], &fill_read));
    assert_memory_equal(&fill, &fill_read, sizeof fill);
    OK(cuda.GraphAddChildGraphNode(&n[1], graph, &n[0], 1, child));
    OK(cuda.GraphChildGraphNodeGetGraph(n[1], &inside));
    FAILS(cudaErrorInvalidValue, cuda.GraphDestroy(inside)); /* it belongs to the node */
    OK(cuda.GraphNodeFindInClone(&found, found, inside));
    OK(cuda.GraphDestroy(child)); /* the node's is a copy */
    OK(cuda.GraphAddMemcpyNode1D(&n[2], graph, &n[1], 1, got, a, sizeof got,
                                 cudaMemcpyDeviceToHost));
    OK(cuda.GraphAddHostNode(&n[3], graph, &n[2], 1, &host));
    OK(cuda.GraphAddEventRecordNode(&n[4], graph, &n[3], 1, event));
    OK(cuda.GraphAddEventWaitNode(&n[5], graph, &n[4], 1, event));
    OK(cuda.GraphNodeGetType(n[5], &type));
    assert_int_equal(type, cudaGraphNodeTypeWaitEvent);
    cudaGraphExec_t exec = executable(graph);
    host_calls = 0;
    OK(cuda.GraphUpload(exec, stream));
    assert_int_equal(host_calls, 0);
    run(exec);
    assert_int_equal(host_calls, 1);
    assert_int_equal(host_value, 0x00010204);
    OK(cuda.EventSynchronize(event));
    /* in an executable graph a node of a child is named by the child's */
    step_call s;
    OK(cuda.GraphExecKernelNodeSetParams(exec, found, step_of(&s, a, 1, 2)));
    run(exec);
    assert_int_equal(host_value, 0x00010205);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.EventDestroy(event));
    cuda.GetLastError();
}

/* What becomes a child is copied as it was before, its parent or itself too. */
static void test_child_of_itself(void **state) {
    (void)state;
    uint32_t value = 7;
    cudaGraph_t graph = new_graph(), inside;
    cudaGraphNode_t own, child, inner;
    size_t nodes = 0;
    const cudaHostNodeParams host = {on_host, &value};
    OK(cuda.GraphAddHostNode(&own, graph, NULL, 0, &host));
    OK(cuda.GraphAddChildGraphNode(&child, graph, &own, 1, graph));
    OK(cuda.GraphChildGraphNodeGetGraph(child, &inside));
    OK(cuda.GraphGetNodes(inside, NULL, &nodes));
    assert_int_equal(nodes, 1);
    OK(cuda.GraphAddChildGraphNode(&inner, inside, NULL, 0, graph));
    FAILS(cudaErrorInvalidValue, cuda.GraphAddChildGraphNode(&inner, graph, NULL, 0, NULL));
    OK(cuda.GraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 2); /* what failed left no node */
    cudaGraphExec_t exec = executable(graph);
    host_calls = 0;
    run(exec);
    assert_int_equal(host_calls, 4);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    cuda.GetLastError();
}

/* Arguments are copied when they are set, and a copy of a graph has its own. */
static void test_params(void **state) {
    (void)state;
    step_call s;
    cudaKernelNodeParams read;
    cudaGraph_t graph = new_graph(), clone;
    cudaGraphNode_t in_clone;
    unsigned enabled = 0;
    set_all(1);
    cudaGraphNode_t node = add_step(graph, NULL, 0, a, 3, 0);
    OK(cuda.GraphClone(&clone, graph));
    OK(cuda.GraphNodeFindInClone(&in_clone, node, clone));
    FAILS(cudaErrorInvalidValue, cuda.GraphNodeFindInClone(&in_clone, node, graph));
    OK(cuda.GraphKernelNodeGetParams(node, &read));
    assert_ptr_equal(read.func, step);
    assert_int_equal(*(uint32_t *)read.kernelParams[1], 3);
    OK(cuda.GraphKernelNodeSetParams(in_clone, step_of(&s, a, 7, 0)));
    cudaGraphExec_t exec = executable(graph), exec_of_clone = executable(clone);
    run(exec);
    assert_int_equal(value_of(a), 3);
    run(exec_of_clone);
    assert_int_equal(value_of(a), 21);
    OK(cuda.GraphExecKernelNodeSetParams(exec, node, step_of(&s, a, 2, 0)));
    FAILS(cudaErrorInvalidValue,
          cuda.GraphExecKernelNodeSetParams(exec, in_clone, step_of(&s, a, 2, 0)));
    run(exec);
    assert_int_equal(value_of(a), 42);
    OK(cuda.GraphNodeSetEnabled(exec, node, 0));
    OK(cuda.GraphNodeGetEnabled(exec, node, &enabled));
    assert_int_equal(enabled, 0);
    run(exec);
    assert_int_equal(value_of(a), 42);
    OK(cuda.GraphNodeSetEnabled(exec, node, 1));
    run(exec);
    assert_int_equal(value_of(a), 84);
    /* what no launch could be */
    step_of(&s, a, 2, 0);
    s.params.blockDim.x = 2048;
    FAILS(cudaErrorInvalidConfiguration, cuda.GraphKernelNodeSetParams(node, &s.params));
    s.params.func = &host_calls;
    s.params.blockDim.x = N;
    FAILS(cudaErrorInvalidDeviceFunction, cuda.GraphKernelNodeSetParams(node, &s.params));
    FAILS(cudaErrorInvalidValue, cuda.GraphKernelNodeSetParams(node, NULL));
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphExecDestroy(exec_of_clone));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.GraphDestroy(clone));
    cuda.GetLastError();
}

static void test_update(void **state) {
    (void)state;
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t graph = new_graph(), same = new_graph(), more = new_graph(), typed = new_graph(),
                turned = new_graph();
    cudaGraphNode_t n[2], m[2];
    set_all(1);
    n[0] = add_step(graph, NULL, 0, a, 2, 0);
    add_step(graph, n, 1, a, 1, 1);
    cudaGraphExec_t exec = executable(graph);
    n[0] = add_step(same, NULL, 0, a, 5, 0);
    add_step(same, n, 1, a, 1, 3);
    n[0] = add_step(more, NULL, 0, a, 5, 0);
    n[1] = add_step(more, n, 1, a, 1, 3);
    add_step(more, &n[1], 1, a, 1, 3);
    n[0] = add_step(typed, NULL, 0, a, 5, 0);
    OK(cuda.GraphAddEmptyNode(&n[1], typed, n, 1));
    m[0] = add_step(turned, NULL, 0, a, 5, 0);
    m[1] = add_step(turned, NULL, 0, a, 1, 3);
    FAILS(cudaErrorGraphExecUpdateFailure, cuda.GraphExecUpdate(exec, more, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    FAILS(cudaErrorGraphExecUpdateFailure, cuda.GraphExecUpdate(exec, typed, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
    assert_ptr_equal(info.errorNode, n[1]);
    FAILS(cudaErrorGraphExecUpdateFailure, cuda.GraphExecUpdate(exec, turned, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    assert_ptr_equal(info.errorNode, m[1]);
    run(exec); /* as it was */
    assert_int_equal(value_of(a), 3);
    OK(cuda.GraphExecUpdate(exec, same, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
    run(exec);
    assert_int_equal(value_of(a), 18);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.GraphDestroy(same));
    OK(cuda.GraphDestroy(more));
    OK(cuda.GraphDestroy(typed));
    OK(cuda.GraphDestroy(turned));
    cuda.GetLastError();
}

/* ---- Capture ---- */

static void begin(cudaStream_t s, int mode) {
    OK(cuda.StreamBeginCapture(s, mode));
}

/* The capture of S ends with CODE, and no graph. */
static void end_fails(cudaError_t code, cudaStream_t s) {
    cudaGraph_t graph = (cudaGraph_t)&graph;
    int status = -1;
    FAILS(code, cuda.StreamEndCapture(s, &graph));
    assert_null(graph);
    OK(cuda.StreamIsCapturing(s, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    cuda.GetLastError();
}

static void test_capture(void **state) {
    (void)state;
    uint32_t got[N];
    cudaGraph_t graph;
    cudaEvent_t fork, joined;
    size_t count = 0;
    int status = -1;
    OK(cuda.EventCreate(&fork));
    OK(cuda.EventCreate(&joined));
    set_all(1);
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.StreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(launch_step(stream, a, 2, 0));
    OK(cuda.EventRecord(fork, stream));
    OK(cuda.StreamWaitEvent(other, fork, 0));
    OK(cuda.StreamIsCapturing(other, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(cuda.MemsetAsync(b, 0, N * 4, other));
    OK(launch_step(other, b, 1, 9));
    OK(cuda.EventRecord(joined, other));
    OK(launch_step(stream, a, 1, 5));
    OK(cuda.StreamWaitEvent(stream, joined, 0));
    OK(cuda.MemcpyAsync(got, b, sizeof got, cudaMemcpyDeviceToHost, stream));
    host_calls = 0;
    OK(cuda.LaunchHostFunc(stream, on_host, got));
    assert_int_equal(host_calls, 0); /* nothing has run */
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.StreamIsCapturing(other, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    assert_int_equal(value_of(a), 1);
    OK(cuda.GraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 6);
    OK(cuda.GraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 6); /* of six nodes, one with none and one with two */
    cudaGraphExec_t exec = executable(graph);
    run(exec);
    run(exec);
    assert_int_equal(value_of(a), (2 + 5) * 2 + 5);
    assert_int_equal(host_value, 9);
    assert_int_equal(host_calls, 2);
    FAILS(cudaErrorCapturedEvent, cuda.EventQuery(joined)); /* it was never recorded for real */
    FAILS(cudaErrorCapturedEvent, cuda.StreamWaitEvent(stream, joined, 0));
    OK(cuda.EventRecord(joined, stream));
    OK(cuda.EventQuery(joined));
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.EventDestroy(fork));
    OK(cuda.EventDestroy(joined));
    cuda.GetLastError();
}

static void test_begin_and_end(void **state) {
    (void)state;
    cudaGraph_t graph;
    FAILS(cudaErrorStreamCaptureUnsupported, cuda.StreamBeginCapture(NULL, 0));
    FAILS(cudaErrorInvalidValue, cuda.StreamBeginCapture(stream, 3));
    FAILS(cudaErrorIllegalState, cuda.StreamEndCapture(stream, &graph));
    begin(stream, cudaStreamCaptureModeRelaxed);
    FAILS(cudaErrorIllegalState, cuda.StreamBeginCapture(stream, 0));
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.GraphDestroy(graph));
    /* a stream that ends what another began */
    cudaEvent_t event;
    OK(cuda.EventCreate(&event));
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.EventRecord(event, stream));
    OK(cuda.StreamWaitEvent(other, event, 0));
    FAILS(cudaErrorStreamCaptureUnmatched, cuda.StreamEndCapture(other, &graph));
    end_fails(cudaErrorStreamCaptureInvalidated, stream);
    /* work that was not joined */
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.EventRecord(event, stream));
    OK(cuda.StreamWaitEvent(other, event, 0));
    OK(launch_step(other, a, 1, 1));
    end_fails(cudaErrorStreamCaptureUnjoined, stream);
    /* a fork that did nothing needs no join, and one that is destroyed must have been joined */
    cudaStream_t third;
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.EventRecord(event, stream));
    OK(cuda.StreamWaitEvent(other, event, 0));
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.GraphDestroy(graph));
    for (int joined = 0; joined < 2; joined++) {
        OK(cuda.StreamCreate(&third));
        begin(stream, cudaStreamCaptureModeGlobal);
        OK(cuda.EventRecord(event, stream));
        OK(cuda.StreamWaitEvent(third, event, 0));
        OK(launch_step(third, a, 1, 1));
        OK(cuda.EventRecord(event, third));
        OK(cuda.StreamDestroy(third));
        if (joined) {
            OK(cuda.StreamWaitEvent(stream, event, 0));
            OK(cuda.StreamEndCapture(stream, &graph));
            OK(cuda.GraphDestroy(graph));
        } else {
            end_fails(cudaErrorStreamCaptureUnjoined, stream);
        }
    }
    OK(cuda.EventDestroy(event));
    cuda.GetLastError();
}

static void test_boundaries(void **state) {
    (void)state;
    cudaEvent_t outside, inside;
    cudaStream_t nonblocking;
    OK(cuda.EventCreate(&outside));
    OK(cuda.EventCreate(&inside));
    OK(cuda.StreamCreateWithFlags(&nonblocking, cudaStreamNonBlocking));
    OK(cuda.EventRecord(outside, other));
    /* from outside the capture */
    begin(stream, cudaStreamCaptureModeGlobal);
    FAILS(cudaErrorStreamCaptureIsolation, cuda.StreamWaitEvent(stream, outside, 0));
    FAILS(cudaErrorStreamCaptureInvalidated, launch_step(stream, a, 1, 1));
    end_fails(cudaErrorStreamCaptureInvalidated, stream);
    /* two captures in one */
    begin(stream, cudaStreamCaptureModeGlobal);
    begin(other, cudaStreamCaptureModeGlobal);
    OK(cuda.EventRecord(inside, stream));
    FAILS(cudaErrorStreamCaptureMerge, cuda.StreamWaitEvent(other, inside, 0));
    end_fails(cudaErrorStreamCaptureInvalidated, stream);
    end_fails(cudaErrorStreamCaptureInvalidated, other);
    /* the legacy stream waits for all blocking ones, and for no others */
    begin(stream, cudaStreamCaptureModeRelaxed);
    FAILS(cudaErrorStreamCaptureImplicit, launch_step(NULL, a, 1, 1));
    end_fails(cudaErrorStreamCaptureInvalidated, stream);
    begin(nonblocking, cudaStreamCaptureModeRelaxed);
    OK(launch_step(NULL, a, 1, 1));
    cudaGraph_t graph;
    OK(cuda.StreamEndCapture(nonblocking, &graph));
    OK(cuda.GraphDestroy(graph));
    /* events that are recorded and waited for outside */
    cudaGraphNodeType type;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.StreamWaitEvent(stream, outside, cudaEventWaitExternal));
    OK(cuda.EventRecordWithFlags(outside, stream, cudaEventRecordExternal));
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.GraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    OK(cuda.GraphNodeGetType(nodes[1], &type));
    assert_int_equal(type, cudaGraphNodeTypeEventRecord);
    OK(cuda.GraphDestroy(graph));
    OK(cuda.StreamDestroy(nonblocking));
    OK(cuda.EventDestroy(outside));
    OK(cuda.EventDestroy(inside));
    cuda.GetLastError();
}

typedef cudaError_t (*unsafe_call)(void);
static cudaEvent_t plain_event;

static cudaError_t call_malloc(void) {
    void *p = NULL;
    cudaError_t error = cuda.Malloc(&p, 64);
    return error ? error : cuda.Free(p);
}

static cudaError_t call_memcpy(void) {
    uint32_t word = 0;
    return cuda.Memcpy(a, &word, 4, cudaMemcpyHostToDevice);
}

static cudaError_t call_sync_stream(void) {
    return cuda.StreamSynchronize(stream);
}

static cudaError_t call_query_stream(void) {
    return cuda.StreamQuery(stream);
}

static cudaError_t call_sync_device(void) {
    return cuda.DeviceSynchronize();
}

static cudaError_t call_query_event(void) {
    return cuda.EventQuery(plain_event);
}

static cudaError_t call_add_callback(void) {
    return cuda.StreamAddCallback(stream, (void *)(uintptr_t)call_malloc, NULL, 0);
}

static void test_unsafe(void **state) {
    (void)state;
    static const struct {
        unsafe_call call;
        bool relaxed; /* may be made in a relaxed capture */
        cudaError_t code;
    } calls[] = {{call_malloc, true, cudaErrorStreamCaptureUnsupported},
                 {call_query_event, true, cudaErrorStreamCaptureUnsupported},
                 {call_memcpy, false, cudaErrorStreamCaptureUnsupported},
                 {call_sync_stream, false, cudaErrorStreamCaptureUnsupported},
                 {call_query_stream, false, cudaErrorStreamCaptureUnsupported},
                 {call_add_callback, false, cudaErrorStreamCaptureUnsupported},
                 {call_sync_device, false, cudaErrorStreamCaptureUnsupported}};
    OK(cuda.EventCreate(&plain_event));
    OK(cuda.EventRecord(plain_event, other));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int mode = 0; mode < 3; mode++) {
            bool allowed = mode == cudaStreamCaptureModeRelaxed && calls[i].relaxed;
            cudaGraph_t graph;
            begin(stream, mode);
            cudaError_t got = calls[i].call();
            /* the copy goes through the legacy stream, which a relaxed capture does not free */
            bool copy = calls[i].call == call_memcpy && mode == cudaStreamCaptureModeRelaxed;
            assert_int_equal(got, allowed ? cudaSuccess
                                  : copy  ? cudaErrorStreamCaptureImplicit
                                          : calls[i].code);
            if (!allowed)
                end_fails(cudaErrorStreamCaptureInvalidated, stream);
            else
                OK(cuda.StreamEndCapture(stream, &graph));
            if (allowed)
                OK(cuda.GraphDestroy(graph));
        }
    /* the thread's own mode */
    int mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph;
    OK(cuda.ThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(call_malloc());
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.ThreadExchangeStreamCaptureMode(&mode));
    OK(cuda.EventDestroy(plain_event));
    cuda.GetLastError();
}

static cudaError_t others_malloc, others_end;
static cudaGraph_t others_graph;

static void *on_other_thread(void *mode) {
    int own = *(int *)mode;
    if (own)
        cuda.ThreadExchangeStreamCaptureMode(&own);
    others_malloc = call_malloc();
    others_end = cuda.StreamEndCapture(stream, &others_graph);
    return NULL;
}

/* Another thread's unsafe call spoils a global capture alone, unless that thread's own mode lets it
 * pass; and only a relaxed one may be ended by another thread. */
static void test_threads(void **state) {
    (void)state;
    for (int mode = 0; mode < 3; mode++)
        for (int own = 0; own < 2; own++) {
            pthread_t thread;
            cudaGraph_t graph;
            begin(stream, mode);
            assert_int_equal(pthread_create(&thread, NULL, on_other_thread, &own), 0);
            pthread_join(thread, NULL);
            bool spoiled = mode == cudaStreamCaptureModeGlobal && own == 0;
            assert_int_equal(others_malloc,
                             spoiled ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
            if (mode == cudaStreamCaptureModeRelaxed) {
                assert_int_equal(others_end, cudaSuccess);
                OK(cuda.GraphDestroy(others_graph));
                continue;
            }
            assert_int_equal(others_end, cudaErrorStreamCaptureWrongThread);
            assert_int_equal(cuda.StreamEndCapture(stream, &graph),
                             spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
            if (!spoiled)
                OK(cuda.GraphDestroy(graph));
        }
    cuda.GetLastError();
}

static void test_capture_info(void **state) {
    (void)state;
    int status;
    unsigned long long id = 0;
    cudaGraph_t graph = new_graph(), captured = NULL;
    const cudaGraphNode_t *tips;
    const cudaGraphEdgeData *data;
    cudaGraphNode_t root, later, found[4];
    size_t count = 0;
    root = add_step(graph, NULL, 0, a, 1, 1);
    OK(cuda.StreamBeginCaptureToGraph(stream, graph, &root, NULL, 1, 0));
    OK(launch_step(stream, a, 1, 1));
    OK(cuda.StreamGetCaptureInfo(stream, &status, &id, &captured, &tips, &data, &count));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_int_not_equal(id, 0);
    assert_ptr_equal(captured, graph);
    assert_int_equal(count, 1);
    later = tips[0];
    FAILS(cudaErrorStreamCaptureImplicit,
          cuda.StreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL));
    OK(cuda.StreamUpdateCaptureDependencies(stream, &root, NULL, 1,
                                            cudaStreamSetCaptureDependencies));
    OK(launch_step(stream, b, 1, 1)); /* beside the other one */
    OK(cuda.StreamUpdateCaptureDependencies(stream, &later, NULL, 1,
                                            cudaStreamAddCaptureDependencies));
    OK(launch_step(stream, c, 1, 1)); /* after both */
    OK(cuda.StreamEndCapture(stream, &captured));
    assert_ptr_equal(captured, graph);
    count = 4;
    OK(cuda.GraphNodeGetDependentNodes(root, found, NULL, &count));
    assert_int_equal(count, 2);
    OK(cuda.GraphNodeGetDependentNodes(later, found, NULL, &count));
    assert_int_equal(count, 1);
    OK(cuda.GraphNodeGetDependencies(found[0], NULL, NULL, &count));
    assert_int_equal(count, 2);
    FAILS(cudaErrorIllegalState, cuda.StreamUpdateCaptureDependencies(stream, &root, NULL, 1, 0));
    OK(cuda.GraphDestroy(graph));
    cuda.GetLastError();
}

/* A graph that is launched into a capture becomes a part of what is captured. */
static void test_graph_in_capture(void **state) {
    (void)state;
    cudaGraph_t graph = new_graph(), captured;
    cudaGraphNode_t nodes[2];
    cudaGraphNodeType type;
    size_t count = 2;
    set_all(1);
    add_step(graph, NULL, 0, a, 2, 0);
    cudaGraphExec_t exec = executable(graph);
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.GraphLaunch(exec, stream));
    OK(launch_step(stream, a, 1, 1));
    OK(cuda.StreamEndCapture(stream, &captured));
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.GraphGetNodes(captured, nodes, &count));
    OK(cuda.GraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, cudaGraphNodeTypeGraph);
    exec = executable(captured);
    run(exec);
    assert_int_equal(value_of(a), 3);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(captured));
}

/* ---- Memory ---- */

static uint64_t memory_attribute(int which) {
    uint64_t value = 0;
    OK(cuda.DeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

static void test_memory(void **state) {
    (void)state;
    cudaMemAllocNodeParams p = {.poolProps = {.allocType = 1, .location = {1, 0}},
                                .bytesize = 1 << 20};
    cudaGraph_t graph = new_graph(), freeing = new_graph(), clone;
    cudaGraphExec_t exec, twice, free_exec;
    cudaGraphNode_t n[2];
    uint64_t zero = 0, used = memory_attribute(cudaGraphMemAttrUsedMemCurrent);
    FAILS(cudaErrorInvalidValue, cuda.GraphAddMemFreeNode(&n[1], graph, NULL, 0, a));
    OK(cuda.GraphAddMemAllocNode(&n[0], graph, NULL, 0, &p));
    assert_non_null(p.dptr);
    OK(cuda.GraphAddMemFreeNode(&n[1], freeing, NULL, 0, p.dptr));
    FAILS(cudaErrorNotSupported, cuda.GraphClone(&clone, graph));
    FAILS(cudaErrorNotSupported, cuda.GraphDestroyNode(n[0]));
    FAILS(cudaErrorNotSupported, cuda.GraphAddChildGraphNode(&n[1], new_graph(), NULL, 0, graph));
    exec = executable(graph);
    FAILS(cudaErrorInvalidValue, cuda.GraphInstantiate(&twice, graph, 0));
    free_exec = executable(freeing);
    run(exec);
    assert_int_equal(memory_attribute(cudaGraphMemAttrUsedMemCurrent), used + (1 << 20));
    FAILS(cudaErrorInvalidValue, cuda.GraphLaunch(exec, stream)); /* still allocated */
    run(free_exec);
    assert_int_equal(memory_attribute(cudaGraphMemAttrUsedMemCurrent), used);
    FAILS(cudaErrorInvalidValue, cuda.GraphLaunch(free_exec, stream)); /* freed already */
    run(exec);
    OK(cuda.FreeAsync(p.dptr, stream));
    FAILS(cudaErrorInvalidValue, cuda.FreeAsync(p.dptr, stream));
    run(exec);
    OK(cuda.Free(p.dptr));
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    run(exec);
    run(exec); /* frees first */
    assert_true(memory_attribute(cudaGraphMemAttrReservedMemHigh) >= 1 << 20);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphExecDestroy(free_exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.GraphDestroy(freeing));
    OK(cuda.Free(p.dptr)); /* what the graph left, though it is gone */
    FAILS(cudaErrorInvalidValue, cuda.Free(p.dptr));
    OK(cuda.DeviceGraphMemTrim(0));
    assert_int_equal(memory_attribute(cudaGraphMemAttrReservedMemCurrent), used);
    OK(cuda.DeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    assert_int_equal(memory_attribute(cudaGraphMemAttrUsedMemHigh), used);
    FAILS(cudaErrorInvalidValue,
          cuda.DeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero));
    cuda.GetLastError();
}

static void test_captured_memory(void **state) {
    (void)state;
    uint32_t *temporary = NULL, got[N];
    cudaGraph_t graph;
    size_t count;
    begin(stream, cudaStreamCaptureModeGlobal);
    OK(cuda.MallocAsync((void **)&temporary, N * 4, stream));
    OK(cuda.MemsetAsync(temporary, 1, N * 4, stream));
    OK(launch_step(stream, temporary, 1, 1));
    OK(cuda.MemcpyAsync(got, temporary, sizeof got, cudaMemcpyDeviceToHost, stream));
    FAILS(cudaErrorInvalidValue, cuda.FreeAsync(a, stream)); /* no graph's */
    OK(cuda.FreeAsync(temporary, stream));
    OK(cuda.StreamEndCapture(stream, &graph));
    OK(cuda.GraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 5);
    cudaGraphExec_t exec = executable(graph);
    for (int i = 0; i < 3; i++) {
        memset(got, 0, sizeof got);
        run(exec);
        assert_int_equal(got[N - 1], 0x01010102);
    }
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    cuda.GetLastError();
}

/* ---- The rest ---- */

static void test_user_objects(void **state) {
    (void)state;
    uint32_t word = 5;
    cudaUserObject_t object;
    cudaGraph_t graph = new_graph();
    host_calls = 0;
    OK(cuda.UserObjectCreate(&object, &word, on_host, 1, 1));
    OK(cuda.GraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t exec = executable(graph);
    OK(cuda.GraphDestroy(graph));
    assert_int_equal(host_calls, 0);
    OK(cuda.GraphExecDestroy(exec));
    assert_int_equal(host_calls, 1);
    FAILS(cudaErrorInvalidValue, cuda.UserObjectRelease(object, 1));
    cuda.GetLastError();
}

static void test_refused(void **state) {
    (void)state;
    unsigned long long handle;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraphNodeParams conditional = {.type = cudaGraphNodeTypeConditional};
    cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    cudaGraphEdgeData programmatic = {.type = 1};
    FAILS(cudaErrorNotSupported, cuda.GraphConditionalHandleCreate(&handle, graph, 0, 0));
    FAILS(cudaErrorNotSupported, cuda.GraphAddNode(&node, graph, NULL, NULL, 0, &conditional));
    OK(cuda.GraphAddNode(&node, graph, NULL, NULL, 0, &empty));
    FAILS(cudaErrorNotSupported, cuda.GraphAddNode(&node, graph, &node, &programmatic, 1, &empty));
    FAILS(cudaErrorNotSupported,
          cuda.GraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cuda.GraphDestroy(graph));
    cuda.GetLastError();
}

static void test_dot(void **state) {
    (void)state;
    char path[] = "/tmp/roofprof-graph-XXXXXX", text[2048] = "";
    int descriptor = mkstemp(path);
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = add_step(graph, NULL, 0, a, 1, 1), empty;
    assert_true(descriptor >= 0);
    OK(cuda.GraphAddEmptyNode(&empty, graph, &node, 1));
    OK(cuda.GraphDebugDotPrint(graph, path, 0));
    assert_true(read(descriptor, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "KERNEL\\nstep"));
    assert_non_null(strstr(text, "->"));
    FAILS(cudaErrorInvalidValue, cuda.GraphDebugDotPrint(graph, "/nowhere/x", 0));
    OK(cuda.GraphDestroy(graph));
    close(descriptor);
    unlink(path);
    cuda.GetLastError();
}

/* Launches and copies of graphs say so in the counts file; others do not. */
static void test_counts_file(void **state) {
    (void)state;
    cudaGraph_t graph = new_graph();
    uint32_t got[N];
    cudaGraphNode_t node = add_step(graph, NULL, 0, a, 1, 1), copy;
    char line[8192];
    int in_graphs = 0, copies = 0, alone = 0;
    OK(cuda.GraphAddMemcpyNode1D(&copy, graph, &node, 1, got, a, sizeof got, cudaMemcpyDefault));
    cudaGraphExec_t exec = executable(graph);
    FILE *file = fopen(counts_path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long before = ftell(file);
    run(exec);
    OK(launch_step(stream, a, 1, 1));
    fseek(file, before, SEEK_SET);
    while (fgets(line, sizeof line, file)) {
        bool member = strstr(line, "\"graph\":") && strstr(line, "\"node\":");
        in_graphs += strstr(line, "\"record\":\"launch\"") && member;
        alone += strstr(line, "\"record\":\"launch\"") && !member;
        copies += strstr(line, "\"record\":\"copy\"") && member;
    }
    fclose(file);
    assert_int_equal(in_graphs, 1);
    assert_int_equal(alone, 1);
    assert_int_equal(copies, 1);
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
}

/* Graphs outlive their device's memory, and free nothing of what comes after. The last test. */
static void test_reset(void **state) {
    (void)state;
    cudaMemAllocNodeParams p = {.poolProps = {.allocType = 1, .location = {1, 0}},
                                .bytesize = 1 << 20};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    uint32_t word = 7, *after;
    OK(cuda.GraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    cudaGraphExec_t exec = executable(graph);
    run(exec);
    /* a fault ends the graph, and shows at the next call */
    cudaGraph_t bad = new_graph();
    const cudaHostNodeParams host = {on_host, &word};
    cudaGraphNode_t first = add_step(bad, NULL, 0, (uint32_t *)64, 1, 1), second;
    OK(cuda.GraphAddHostNode(&second, bad, &first, 1, &host));
    cudaGraphExec_t bad_exec = executable(bad);
    host_calls = 0;
    OK(cuda.GraphLaunch(bad_exec, stream));
    assert_int_equal(host_calls, 0);
    FAILS(cudaErrorIllegalAddress, cuda.StreamSynchronize(stream));
    FAILS(cudaErrorIllegalAddress, cuda.GraphLaunch(exec, stream));
    OK(cuda.DeviceReset());
    OK(cuda.GraphExecDestroy(bad_exec));
    OK(cuda.GraphDestroy(bad));
    OK(cuda.Malloc((void **)&after, 1 << 20));
    FAILS(cudaErrorInvalidValue, cuda.GraphLaunch(exec, NULL));
    OK(cuda.GraphExecDestroy(exec));
    OK(cuda.GraphDestroy(graph));
    OK(cuda.Memcpy(after, &word, 4, cudaMemcpyHostToDevice)); /* it is still there */
    assert_int_equal(memory_attribute(cudaGraphMemAttrUsedMemCurrent), 0);
    cuda.GetLastError();
}

/* ---- The start ---- */

static void *library;

static void *symbol(const char *name, const char *suffix) {
    char full[96];
    snprintf(full, sizeof full, "cuda%s%s", name, DOOR_CUDART < 13 ? suffix : "");
    void *found = dlsym(library, full);
    if (!found)
        fprintf(stderr, "%s is not exported\n", full);
    return found;
}

static bool load_kernels(void) {
    const emu_doors *(*table)(void);
    void *module, *kernel[2];
    *(void **)&table = dlsym(library, "emu_doors_table");
    const emu_doors *doors = table ? table() : NULL;
    if (!doors || doors->start() || cuda.Free(NULL) ||
        doors->module_load(ptx, sizeof ptx, &module) ||
        doors->module_kernel(module, "step", &kernel[0]) ||
        doors->module_kernel(module, "sum", &kernel[1]))
        return false;
    step = doors->kernel_host(kernel[0]);
    sum = doors->kernel_host(kernel[1]);
    return true;
}

static int open_door(void **state) {
    (void)state;
    char path[512];
    strcpy(counts_path, "/tmp/roofprof-graph-XXXXXX");
    int descriptor = mkstemp(counts_path);
    if (descriptor < 0 || close(descriptor) != 0)
        return -1;
    setenv("ROOFPROF_EMU_DEVICE", "A100-SXM4-80GB", 1);
    setenv("ROOFPROF_EMU_COUNTS", counts_path, 1);
    snprintf(path, sizeof path, "%s/lib/emulator/libcudart.so.%d", ROOFPROF_BINARY_DIR,
             DOOR_CUDART);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    bool whole = true;
#define FIND(name, suffix, ...)                                                                    \
    *(void **)&cuda.name = symbol(#name, suffix);                                                  \
    whole = whole && cuda.name;
    FUNCTIONS(FIND)
#undef FIND
    if (!whole || !load_kernels())
        return -1;
    return cuda.Malloc((void **)&a, N * 4) || cuda.Malloc((void **)&b, N * 4) ||
                   cuda.Malloc((void **)&c, N * 4) || cuda.StreamCreate(&stream) ||
                   cuda.StreamCreate(&other)
               ? -1
               : 0;
}

static int remove_counts(void **state) {
    (void)state;
    return unlink(counts_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_begin_and_end),
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_unsafe),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_capture_info),
        cmocka_unit_test(test_graph_in_capture),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_captured_memory),
        cmocka_unit_test(test_user_objects),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_counts_file),
        cmocka_unit_test(test_child_of_itself),
        cmocka_unit_test(test_reset),
    };
    return cmocka_run_group_tests(tests, open_door, remove_counts);
}
