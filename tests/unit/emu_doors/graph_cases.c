/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs through the driver's door, and what CUPTI's shows of them: graph_cases FOLDER CASE. Cases
 * that are named for a rule break it, and the strict door must say so; the others must hear nothing
 * and find everything as they check it.
 */
#include "emulator/cuda/abi_graph.h"
#include "session.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* The driver's functions of graphs, as a program of CUDA 13 finds them. */
#define GRAPH_DRIVER(F)                                                                            \
    F(cuGraphCreate, void **, unsigned)                                                            \
    F(cuGraphDestroy, void *)                                                                      \
    F(cuGraphClone, void **, void *)                                                               \
    F(cuGraphAddKernelNode, void **, void *, void *const *, size_t, const driver_kernel_node *)    \
    F(cuGraphKernelNodeGetParams, void *, driver_kernel_node *)                                    \
    F(cuGraphExecKernelNodeSetParams, void *, void *, const driver_kernel_node *)                  \
    F(cuGraphAddMemcpyNode, void **, void *, void *const *, size_t, const driver_memcpy3d *,       \
      void *)                                                                                      \
    F(cuGraphMemcpyNodeGetParams, void *, driver_memcpy3d *)                                       \
    F(cuGraphAddMemsetNode, void **, void *, void *const *, size_t, const cudaMemsetParams *,      \
      void *)                                                                                      \
    F(cuGraphAddNode, void **, void *, void *const *, const void *, size_t, driver_node *)         \
    F(cuGraphNodeGetType, void *, int *)                                                           \
    F(cuGraphGetNodes, void *, void **, size_t *)                                                  \
    F(cuGraphGetEdges, void *, void **, void **, void *, size_t *)                                 \
    F(cuGraphInstantiate, void **, void *, unsigned long long)                                     \
    F(cuGraphExecUpdate, void *, void *, cudaGraphExecUpdateResultInfo *)                          \
    F(cuGraphExecDestroy, void *)                                                                  \
    F(cuGraphNodeSetEnabled, void *, void *, unsigned)                                             \
    F(cuGraphLaunch, void *, void *)                                                               \
    F(cuStreamBeginCapture, void *, int)                                                           \
    F(cuStreamEndCapture, void *, void **)                                                         \
    F(cuStreamGetCaptureInfo, void *, int *, unsigned long long *, void **, void *const **,        \
      const void **, size_t *)                                                                     \
    F(cuMemsetD32Async, unsigned long long, unsigned, size_t, void *)                              \
    F(cuMemcpyDtoHAsync, void *, unsigned long long, size_t, void *)                               \
    F(cuArrayCreate, void **, const array_descriptor *)

typedef struct array_descriptor {
    size_t width, height;
    int format; /* 0x20: float */
    unsigned channels;
} array_descriptor;

static struct {
#define FIELD(name, ...) int (*name)(__VA_ARGS__);
    GRAPH_DRIVER(FIELD)
#undef FIELD
    int (*cuptiGetGraphId)(void *graph, uint32_t *id);
    int (*cuptiGetGraphExecId)(void *exec, uint32_t *id);
    int (*cuptiGetGraphNodeId)(void *node, uint64_t *id);
} gr;

static void load_graphs(const char *folder) {
    char path[4096];
    int status;
#define FIND(name, ...)                                                                            \
    CHECK(cu.cuGetProcAddress_v2(#name, (void **)&gr.name, 13000, 0, &status) == 0 && gr.name);
    GRAPH_DRIVER(FIND)
#undef FIND
    snprintf(path, sizeof path, "%s/libcupti.so.13", folder);
    void *cupti = dlopen(path, RTLD_NOW);
    CHECK(cupti);
    *(void **)&gr.cuptiGetGraphId = dlsym(cupti, "cuptiGetGraphId");
    *(void **)&gr.cuptiGetGraphExecId = dlsym(cupti, "cuptiGetGraphExecId");
    *(void **)&gr.cuptiGetGraphNodeId = dlsym(cupti, "cuptiGetGraphNodeId");
    CHECK(gr.cuptiGetGraphId && gr.cuptiGetGraphExecId && gr.cuptiGetGraphNodeId);
}

enum { N = 1000, NODES = 5 };
static client_program program;
static float got[N];

/* The program's kernel as a node: arguments that live as long as this. */
typedef struct add_node {
    unsigned long long a, b, c;
    int n;
    void *arguments[4];
    driver_kernel_node params;
} add_node;

static const driver_kernel_node *add_params(add_node *k, int n) {
    *k = (add_node){.a = program.a, .b = program.b, .c = program.c, .n = n};
    k->arguments[0] = &k->a;
    k->arguments[1] = &k->b;
    k->arguments[2] = &k->c;
    k->arguments[3] = &k->n;
    k->params.params = (cudaKernelNodeParams){.func = program.kernel,
                                              .gridDim = {(unsigned)(n + 127) / 128, 1, 1},
                                              .blockDim = {128, 1, 1},
                                              .kernelParams = k->arguments};
    return &k->params;
}

/* A fill, two kernels beside each other, one after both, a copy to the host. */
static void *make_graph(void *nodes[NODES]) {
    void *graph;
    add_node k;
    const cudaMemsetParams fill = {(void *)(uintptr_t)program.c, 0, 0x7f800000, 4, N, 1};
    const driver_memcpy3d copy = {.source_type = MEMORYTYPE_DEVICE,
                                  .source_device = program.c,
                                  .to_type = MEMORYTYPE_HOST,
                                  .to_host = got,
                                  .width = sizeof got,
                                  .height = 1,
                                  .depth = 1};
    CHECK(gr.cuGraphCreate(&graph, 0) == 0);
    CHECK(gr.cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, NULL) == 0);
    CHECK(gr.cuGraphAddKernelNode(&nodes[1], graph, nodes, 1, add_params(&k, N)) == 0);
    CHECK(gr.cuGraphAddKernelNode(&nodes[2], graph, nodes, 1, add_params(&k, N / 2)) == 0);
    CHECK(gr.cuGraphAddKernelNode(&nodes[3], graph, nodes + 1, 2, add_params(&k, N)) == 0);
    CHECK(gr.cuGraphAddMemcpyNode(&nodes[4], graph, nodes + 3, 1, &copy, NULL) == 0);
    return graph;
}

static void check_sums(int first, int n) {
    for (int i = first; i < n; i++)
        CHECK(got[i] == 2 * (float)i);
}

static void launch(void *exec) {
    memset(got, 0, sizeof got);
    CHECK(gr.cuGraphLaunch(exec, NULL) == 0);
    CHECK(cu.cuCtxSynchronize() == 0);
}

/* ---- The driver ---- */

static void driver(void) {
    void *nodes[NODES], *graph, *exec, *from[8], *to[8];
    add_node k;
    driver_kernel_node read;
    driver_memcpy3d copy;
    cudaGraphExecUpdateResultInfo info;
    size_t count = 8;
    int type;
    client_start();
    client_prepare(&program, N);
    graph = make_graph(nodes);
    CHECK(gr.cuGraphGetEdges(graph, from, to, NULL, &count) == 0 && count == 5);
    CHECK(gr.cuGraphNodeGetType(nodes[4], &type) == 0 && type == cudaGraphNodeTypeMemcpy);
    CHECK(gr.cuGraphKernelNodeGetParams(nodes[2], &read) == 0);
    CHECK(read.params.func == program.kernel && read.params.gridDim.x == (N / 2 + 127) / 128);
    CHECK(*(int *)read.params.kernelParams[3] == N / 2);
    CHECK(gr.cuGraphMemcpyNodeGetParams(nodes[4], &copy) == 0);
    CHECK(copy.to_host == got && copy.source_device == program.c && copy.width == sizeof got);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    launch(exec);
    check_sums(0, N);
    /* the first half alone: the other one is what the fill left */
    CHECK(gr.cuGraphNodeSetEnabled(exec, nodes[1], 0) == 0);
    CHECK(gr.cuGraphExecKernelNodeSetParams(exec, nodes[3], add_params(&k, N / 2)) == 0);
    launch(exec);
    check_sums(0, N / 2);
    CHECK(got[N / 2] > 3e38f);
    CHECK(gr.cuGraphExecUpdate(exec, graph, &info) == 0 && info.result == 0);
    launch(exec);
    check_sums(0, N);
    /* any type by one function; a kernel by its other handle */
    driver_node p = {.type = cudaGraphNodeTypeKernel, .as.kernel = *add_params(&k, N)};
    p.as.kernel.kernel = p.as.kernel.params.func;
    p.as.kernel.params.func = NULL;
    CHECK(gr.cuGraphAddNode(&nodes[0], graph, &nodes[3], NULL, 1, &p) == 0);
    CHECK(gr.cuGraphExecUpdate(exec, graph, &info) == cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(gr.cuGraphExecDestroy(exec) == 0 && gr.cuGraphDestroy(graph) == 0);
    CHECK(gr.cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
    client_finish(&program);
}

static void captures(void) {
    void *stream, *graph, *in_capture, *exec;
    int status = 0;
    size_t count = 0;
    client_start();
    client_prepare(&program, N);
    CHECK(cu.cuStreamCreate(&stream, 0) == 0);
    CHECK(gr.cuStreamBeginCapture(stream, 0) == 0);
    CHECK(gr.cuMemsetD32Async(program.c, 0x40490fdb, N, stream) == 0);
    CHECK(gr.cuMemcpyDtoHAsync(got, program.c, sizeof got, stream) == 0);
    CHECK(gr.cuStreamGetCaptureInfo(stream, &status, NULL, &in_capture, NULL, NULL, &count) == 0);
    CHECK(status == cudaStreamCaptureStatusActive && count == 1);
    CHECK(got[0] == 0);
    CHECK(gr.cuStreamEndCapture(stream, &graph) == 0 && graph == in_capture);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    launch(exec);
    CHECK(got[0] > 3.14159f && got[N - 1] == got[0] && got[0] < 3.1416f);
    CHECK(gr.cuStreamBeginCapture(stream, 0) == 0);
    CHECK(cu.cuStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    CHECK(gr.cuStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    client_launch(&program);
    client_finish(&program);
}

/* To an array and back, where the driver counts bytes. */
static void arrays(void) {
    enum { WIDTH = 16, FIRST = 4 };
    const array_descriptor descriptor = {WIDTH, 0, 0x20, 1};
    float from[WIDTH - FIRST], to[WIDTH] = {0};
    void *array, *graph, *exec, *nodes[2];
    driver_memcpy3d in = {.source_type = MEMORYTYPE_HOST,
                          .source_host = from,
                          .to_type = MEMORYTYPE_ARRAY,
                          .to_x = FIRST * sizeof(float),
                          .width = sizeof from,
                          .height = 1,
                          .depth = 1},
                    out = {.source_type = MEMORYTYPE_ARRAY,
                           .to_type = MEMORYTYPE_HOST,
                           .to_host = to,
                           .width = sizeof to,
                           .height = 1,
                           .depth = 1},
                    read;
    client_start();
    for (int i = 0; i < WIDTH - FIRST; i++)
        from[i] = (float)(i + 1);
    CHECK(gr.cuArrayCreate(&array, &descriptor) == 0);
    in.to_array = out.source_array = array;
    CHECK(gr.cuGraphCreate(&graph, 0) == 0);
    CHECK(gr.cuGraphAddMemcpyNode(&nodes[0], graph, NULL, 0, &in, NULL) == 0);
    CHECK(gr.cuGraphAddMemcpyNode(&nodes[1], graph, nodes, 1, &out, NULL) == 0);
    CHECK(gr.cuGraphMemcpyNodeGetParams(nodes[0], &read) == 0);
    CHECK(read.to_type == MEMORYTYPE_ARRAY && read.to_array == array);
    CHECK(read.to_x == FIRST * sizeof(float) && read.width == sizeof from);
    CHECK(read.source_type == MEMORYTYPE_HOST && read.source_host == from);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    launch(exec);
    for (int i = 0; i < WIDTH - FIRST; i++)
        CHECK(to[FIRST + i] == (float)(i + 1));
}

/* What a function meant to programs of older versions. */
static void versions(void) {
    static const struct {
        const char *name, *exported;
        int version;
    } asked[] = {{"cuGraphInstantiate", "cuGraphInstantiate", 10000},
                 {"cuGraphInstantiate", "cuGraphInstantiate_v2", 11040},
                 {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
                 {"cuGraphGetEdges", "cuGraphGetEdges", 12020},
                 {"cuGraphGetEdges", "cuGraphGetEdges_v2", 12030},
                 {"cuGraphAddNode", "cuGraphAddNode", 12020},
                 {"cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams", 11080},
                 {"cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2", 12000},
                 {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 12000},
                 {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 13000},
                 {"cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000}};
    Dl_info info;
    client_start();
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        void *found = NULL;
        CHECK(cu.cuGetProcAddress_v2(asked[i].name, &found, asked[i].version, 0, NULL) == 0);
        CHECK(dladdr(found, &info) && info.dli_sname);
        if (strcmp(info.dli_sname, asked[i].exported) != 0)
            fprintf(stderr, "%s of %d: %s\n", asked[i].name, asked[i].version, info.dli_sname);
        CHECK(strcmp(info.dli_sname, asked[i].exported) == 0);
    }
}

/* ---- CUPTI: records ---- */

enum { SEEN = 64 };
static struct {
    uint32_t kind, graph, correlation;
    uint64_t node, start, end;
} seen[SEEN];
static int seen_count;

/* Kernels, copies and fills have these at places of their own. */
static void look(const void *record) {
    const record_kernel *k = record;
    const record_memcpy *c = record;
    const record_memset *m = record;
    const record_graph *g = record;
    CHECK(seen_count < SEEN);
    seen[seen_count].kind = k->kind;
    switch (k->kind) {
    case KIND_CONCURRENT_KERNEL:
        seen[seen_count].graph = k->graph, seen[seen_count].node = k->graph_node;
        seen[seen_count].correlation = k->correlation;
        seen[seen_count].start = k->start, seen[seen_count].end = k->end;
        break;
    case KIND_MEMCPY:
        seen[seen_count].graph = c->graph, seen[seen_count].node = c->graph_node;
        seen[seen_count].correlation = c->correlation;
        break;
    case KIND_MEMSET:
        seen[seen_count].graph = m->graph, seen[seen_count].node = m->graph_node;
        seen[seen_count].correlation = m->correlation;
        break;
    case KIND_GRAPH_TRACE:
        seen[seen_count].graph = g->graph, seen[seen_count].correlation = g->correlation;
        seen[seen_count].start = g->start, seen[seen_count].end = g->end;
        break;
    default:
        return;
    }
    seen_count++;
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid) {
    void *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cu.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK)
        look(record);
    free(buffer);
}

/* Nodes of executable graphs, as callbacks tell of them. */
static struct {
    void *original;
    uint64_t id;
    int type;
} cloned[SEEN];
static int cloned_count, told[64];

static void on_resource(void *user, int domain, uint32_t id, const void *data) {
    const resource_data *r = data;
    const graph_data *g = r->descriptor;
    (void)user;
    if (domain != DOMAIN_RESOURCE || id < RESOURCE_GRAPH_CREATED)
        return;
    CHECK(id < 64 && g && r->context);
    told[id]++;
    if (id == RESOURCE_NODE_CLONED) {
        cloned[cloned_count].original = g->original_node;
        cloned[cloned_count].type = g->node_type;
        CHECK(gr.cuptiGetGraphNodeId(g->node, &cloned[cloned_count++].id) == 0);
    }
    CHECK(id != RESOURCE_EXEC_CREATED || (g->exec && g->original_graph));
    CHECK(id != RESOURCE_DEPENDENCY_CREATED || (g->node && g->dependency));
}

static void trace(bool whole) {
    static const int kinds[] = {KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET};
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_resource, NULL) == 0);
    for (uint32_t id = RESOURCE_GRAPH_CREATED; id <= RESOURCE_NODE_CLONED; id++)
        CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_RESOURCE, id) == 0);
    CHECK(cu.cuptiActivityRegisterCallbacks(client_buffer_requested, buffer_completed) == 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        CHECK(cu.cuptiActivityEnable(kinds[i]) == 0);
    if (whole)
        CHECK(cu.cuptiActivityEnable(KIND_GRAPH_TRACE) == 0);
}

static void flush(void) {
    seen_count = 0;
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
}

static uint64_t id_of(const void *original) {
    for (int i = 0; i < cloned_count; i++)
        if (cloned[i].original == original)
            return cloned[i].id;
    return 0;
}

static int record_of(uint64_t node) {
    for (int i = 0; i < seen_count; i++)
        if (seen[i].node == node)
            return i;
    return -1;
}

static void records(void) {
    void *nodes[NODES], *graph, *exec;
    uint32_t graph_id, exec_id;
    client_start();
    trace(false);
    client_prepare(&program, N);
    graph = make_graph(nodes);
    CHECK(told[RESOURCE_GRAPH_CREATED] == 1 && told[RESOURCE_NODE_CREATED] == NODES);
    CHECK(told[RESOURCE_DEPENDENCY_CREATED] == 5 && told[RESOURCE_NODE_CLONED] == 0);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    CHECK(told[RESOURCE_NODE_CLONED] == NODES && told[RESOURCE_EXEC_CREATED] == 1);
    CHECK(gr.cuptiGetGraphId(graph, &graph_id) == 0);
    CHECK(gr.cuptiGetGraphExecId(exec, &exec_id) == 0 && exec_id != graph_id);
    CHECK(gr.cuptiGetGraphExecId(graph, &exec_id) == CUPTI_INVALID_PARAMETER);
    CHECK(gr.cuptiGetGraphExecId(exec, &exec_id) == 0);
    flush(); /* the program's own copies */
    launch(exec);
    flush();
    CHECK(seen_count == NODES);
    for (int i = 0; i < NODES; i++) {
        int at = record_of(id_of(nodes[i]));
        CHECK(at >= 0 && seen[at].graph == exec_id);
        CHECK(seen[at].correlation == seen[0].correlation);
        CHECK(seen[at].kind == (i == 0   ? KIND_MEMSET
                                : i == 4 ? KIND_MEMCPY
                                         : KIND_CONCURRENT_KERNEL));
    }
    /* two branches at once, then what joins them */
    int left = record_of(id_of(nodes[1])), right = record_of(id_of(nodes[2])),
        join = record_of(id_of(nodes[3]));
    CHECK(seen[left].start == seen[right].start);
    CHECK(seen[join].start >= seen[left].end && seen[join].start >= seen[right].end);
    uint32_t first = seen[0].correlation;
    launch(exec);
    client_launch(&program);
    CHECK(cu.cuCtxSynchronize() == 0);
    flush();
    CHECK(seen_count == NODES + 1 && seen[0].correlation != first);
    CHECK(seen[NODES].node == 0 && seen[NODES].graph == 0);
    CHECK(gr.cuGraphExecDestroy(exec) == 0 && told[RESOURCE_EXEC_DESTROY_STARTING] == 1);
    CHECK(gr.cuGraphClone(&exec, graph) == 0 && told[RESOURCE_GRAPH_CLONED] == 1);
    CHECK(gr.cuGraphDestroy(exec) == 0 && gr.cuGraphDestroy(graph) == 0);
    CHECK(told[RESOURCE_GRAPH_DESTROY_STARTING] == 2);
    client_finish(&program);
    flush();
}

/* Traced as a whole a graph has one record, and its nodes have none. */
static void whole(void) {
    void *nodes[NODES], *graph, *exec;
    uint32_t exec_id;
    client_start();
    trace(true);
    client_prepare(&program, N);
    graph = make_graph(nodes);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    CHECK(gr.cuptiGetGraphExecId(exec, &exec_id) == 0);
    flush();
    launch(exec);
    flush();
    CHECK(seen_count == 1 && seen[0].kind == KIND_GRAPH_TRACE && seen[0].graph == exec_id);
    CHECK(seen[0].correlation && seen[0].end > seen[0].start);
    client_launch(&program);
    client_finish(&program);
    flush();
    CHECK(seen_count == 2 && seen[0].kind == KIND_CONCURRENT_KERNEL);
}

/* ---- CUPTI: ranges ---- */

static session counters;

static void start_session(uint32_t range, uint32_t replay) {
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_resource, NULL) == 0);
    client_prepare(&program, N);
    session_initialize();
    CHECK(session_enable(&counters) == 0);
    session_configure(&counters, session_metrics, 5, 8);
    CHECK(session_set(&counters, range, replay, 0) == 0);
}

static void end_session(void) {
    CHECK(session_disable(&counters) == 0 && session_deinitialize() == 0);
    client_finish(&program);
}

/* With automatic ranges each kernel of a graph is its own, in the order in which they run. */
static void ranges_auto(void) {
    static const char *const added = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
    const double want[] = {N, N / 2, N};
    void *nodes[NODES], *graph, *exec;
    size_t dropped, pass;
    uint8_t all;
    double value;
    start_session(RANGE_AUTO, REPLAY_KERNEL);
    graph = make_graph(nodes);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    CHECK(session_start(&counters) == 0);
    launch(exec);
    CHECK(session_stop(&counters, &all, &pass) == 0 && all);
    CHECK(session_decode(&counters, &dropped) == 0 && !dropped);
    CHECK(session_ranges(&counters) == 3);
    for (size_t i = 0; i < 3; i++)
        CHECK(session_value(&counters, i, added, &value) == 0 && value == want[i]);
    end_session();
}

/* A range of the client's holds the graph whole. */
static void ranges_user(void) {
    static const char *const added = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
    void *nodes[NODES], *graph, *exec;
    size_t dropped, pass;
    uint8_t all = 0;
    double value;
    start_session(RANGE_USER, REPLAY_USER);
    graph = make_graph(nodes);
    CHECK(gr.cuGraphInstantiate(&exec, graph, 0) == 0);
    while (!all) {
        CHECK(session_start(&counters) == 0 && session_push(&counters, "graph") == 0);
        launch(exec);
        CHECK(session_pop(&counters) == 0 && session_stop(&counters, &all, &pass) == 0);
    }
    CHECK(session_decode(&counters, &dropped) == 0 && session_ranges(&counters) == 1);
    CHECK(session_value(&counters, 0, added, &value) == 0 && value == N + N / 2 + N);
    end_session();
}

/* ---- Rules ---- */

static void profiling_while_capturing(void) {
    void *stream, *graph;
    start_session(RANGE_AUTO, REPLAY_KERNEL);
    CHECK(cu.cuStreamCreate(&stream, 0) == 0);
    CHECK(gr.cuStreamBeginCapture(stream, 2) == 0);
    session_start(&counters);
    CHECK(gr.cuStreamEndCapture(stream, &graph) == 0);
}

static void capture_while_profiling(void) {
    void *stream, *graph;
    start_session(RANGE_AUTO, REPLAY_KERNEL);
    CHECK(cu.cuStreamCreate(&stream, 0) == 0);
    CHECK(session_start(&counters) == 0);
    CHECK(gr.cuStreamBeginCapture(stream, 2) == 0);
    CHECK(gr.cuStreamEndCapture(stream, &graph) == 0);
}

static void graph_replay(void) {
    void *nodes[NODES], *exec;
    start_session(RANGE_AUTO, REPLAY_USER);
    CHECK(gr.cuGraphInstantiate(&exec, make_graph(nodes), 0) == 0);
    CHECK(session_start(&counters) == 0);
    launch(exec);
}

static int questions;

static void asking(void *user, int domain, uint32_t id, const void *data) {
    const callback_data *d = data;
    void *found[8];
    driver_kernel_node params;
    size_t count = 8;
    const char *name;
    (void)user, (void)domain, (void)id;
    if (d->site != SITE_EXIT)
        return;
    void *const *arguments = d->parameters; /* the executable graph's address, the graph */
    CHECK(gr.cuGraphGetNodes(arguments[1], found, &count) == 0 && count == NODES);
    CHECK(gr.cuGraphKernelNodeGetParams(found[1], &params) == 0);
    CHECK(cu.cuFuncGetName(&name, params.params.func) == 0 && strcmp(name, "add") == 0);
    questions++;
}

/* Questions about graphs may be asked in the callback of a call. */
static void asked_in_callback(void) {
    enum { INSTANTIATE = 643 };
    void *nodes[NODES], *exec;
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, asking, NULL) == 0);
    CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_DRIVER, INSTANTIATE) == 0);
    client_prepare(&program, N);
    CHECK(gr.cuGraphInstantiate(&exec, make_graph(nodes), 0) == 0);
    CHECK(questions == 1);
    launch(exec);
    client_finish(&program);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"driver", driver},
             {"captures", captures},
             {"arrays", arrays},
             {"versions", versions},
             {"records", records},
             {"whole", whole},
             {"ranges-auto", ranges_auto},
             {"ranges-user", ranges_user},
             {"asked-in-callback", asked_in_callback},
             {"profiling-while-capturing", profiling_while_capturing},
             {"capture-while-profiling", capture_while_profiling},
             {"graph-replay", graph_replay}};

int main(int argc, char **argv) {
    CHECK(argc == 3);
    client_load(argv[1], "libcupti.so.13");
    load_graphs(argv[1]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[2])) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "no such case: %s\n", argv[2]);
    return 2;
}
