// SPDX-License-Identifier: Apache-2.0
//
// CUDA graphs. One step of gradient descent (linear regression) is captured from two streams, then
// replayed --steps times: what a training loop does. Then a graph that is made node by node, with
// two branches, launched --rounds times; between the launches a node's grid changes, a branch is
// switched off and on, and the executable graph is updated from another one. All launches but those of
// the first step come out of graphs.
#include "workload.h"

enum { BLOCK = 128, FEATURES = 32 };

// x: FEATURES rows of n samples. error = x w - y.
extern "C" __global__ void predict(int n, const float *x, const float *w, const float *y,
                                   float *error) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float p = 0;
#pragma unroll 1
    for (int j = 0; j < FEATURES; j++)
        p = fmaf(x[j * n + i], w[j], p);
    error[i] = __fsub_rn(p, y[i]);
}

// One warp, a feature a lane.
extern "C" __global__ void gradient(int n, const float *x, const float *error, float *g) {
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        sum = fmaf(x[threadIdx.x * n + i], error[i], sum);
    g[threadIdx.x] = sum;
}

extern "C" __global__ void square(int n, const float *error, float *squared) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        squared[i] = __fmul_rn(error[i], error[i]);
}

extern "C" __global__ void update(float rate, float momentum, const float *g, float *v, float *w) {
    int j = threadIdx.x;
    float next = fmaf(momentum, v[j], __fmul_rn(rate, g[j]));
    v[j] = next;
    w[j] = __fadd_rn(w[j], next);
}

extern "C" __global__ void scale(int n, float by, const float *a, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __fmul_rn(by, a[i]);
}

extern "C" __global__ void join(int n, const float *a, const float *b, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __fadd_rn(a[i], b[i]);
}

static const float rate = -1.0f / 4096, momentum = 0.5f;

static int grid_of(int n) {
    return (n + BLOCK - 1) / BLOCK;
}

// ---- Closed forms ----

static void expect_training(int n, long long steps) {
    long long warps = wl_ceil_div(n, 32);
    wl_counts c = {0};
    c.flops_fp32 = (2LL * FEATURES + 1) * n;
    for (int j = 0; j < FEATURES; j++)
        wl_stream_load(&c, n, 4);
    wl_stream_load(&c, n, 4);
    c.load_bytes += 4LL * FEATURES * n; // w[j], one word for all lanes
    c.load_requests += FEATURES * warps;
    c.load_sectors += FEATURES * warps;
    c.dram_read_bytes += 4LL * FEATURES;
    wl_stream_store(&c, n, 4);
    wl_expect("predict", steps, &c);

    wl_counts g = {0};
    g.flops_fp32 = 2LL * FEATURES * n;
    g.load_bytes = 2LL * 4 * FEATURES * n;
    g.load_requests = 2LL * n;
    g.load_sectors = (FEATURES + 1LL) * n; // each lane its row, and one word for all
    g.dram_read_bytes = 4LL * FEATURES * n + wl_sectors(4LL * n) * 32;
    wl_stream_store(&g, FEATURES, 4);
    wl_expect("gradient", steps, &g);

    wl_counts s = {0};
    s.flops_fp32 = n;
    wl_stream_load(&s, n, 4);
    wl_stream_store(&s, n, 4);
    wl_expect("square", steps, &s);

    wl_counts u = {0};
    u.flops_fp32 = 4LL * FEATURES;
    for (int k = 0; k < 3; k++)
        wl_stream_load(&u, FEATURES, 4);
    wl_stream_store(&u, FEATURES, 4);
    wl_stream_store(&u, FEATURES, 4);
    wl_expect("update", steps, &u);
}

static void expect_one(const char *kernel, int n, int operands, long long launches) {
    wl_counts c = {0};
    c.flops_fp32 = n;
    for (int k = 0; k < operands; k++)
        wl_stream_load(&c, n, 4);
    wl_stream_store(&c, n, 4);
    wl_expect(kernel, launches, &c);
}

// Which launches of the second graph do what.
static int half_of(int round) {
    return round % 3 == 1; // the first branch works on half of the elements
}

static int off(int round) {
    return round % 4 == 2; // the second branch is switched off
}

static void expect_branches(int n, int rounds) {
    long long halves = 0, offs = 0;
    for (int r = 0; r < rounds; r++) {
        halves += half_of(r);
        offs += off(r);
    }
    expect_one("scale", n, 1, rounds - halves + rounds - offs); // of both branches
    expect_one("scale", n / 2, 1, halves);
    expect_one("join", n, 2, rounds);
}

// ---- The captured step ----

typedef struct training {
    int n;
    float *x, *y, *error, *g, *squared, *v, *w; // on the device
    float *squared_host;                        // pinned
} training;

// What one step asks of two streams; the second is forked from the first and joined again.
static void ask_for_step(const training *t, cudaStream_t main, cudaStream_t side, cudaEvent_t fork,
                         cudaEvent_t done) {
    predict<<<grid_of(t->n), BLOCK, 0, main>>>(t->n, t->x, t->w, t->y, t->error);
    WL_CUDA(cudaEventRecord(fork, main));
    WL_CUDA(cudaStreamWaitEvent(side, fork, 0));
    WL_CUDA(cudaMemsetAsync(t->g, 0, FEATURES * 4, main));
    gradient<<<1, FEATURES, 0, main>>>(t->n, t->x, t->error, t->g);
    square<<<grid_of(t->n), BLOCK, 0, side>>>(t->n, t->error, t->squared);
    WL_CUDA(cudaMemcpyAsync(t->squared_host, t->squared, t->n * 4, cudaMemcpyDeviceToHost, side));
    WL_CUDA(cudaEventRecord(done, side));
    update<<<1, FEATURES, 0, main>>>(rate, momentum, t->g, t->v, t->w);
    WL_CUDA(cudaStreamWaitEvent(main, done, 0));
}

static cudaGraphExec_t capture_step(const training *t, cudaStream_t main, cudaStream_t side,
                                    cudaEvent_t fork, cudaEvent_t done) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    WL_CUDA(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
    ask_for_step(t, main, side, fork, done);
    WL_CUDA(cudaStreamEndCapture(main, &graph));
    WL_CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    wl_compare("nodes of the captured step", 0, (double)nodes, 6, 0);
    WL_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    WL_CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void train_on_host(const training *t, const float *x, const float *y, int steps, float *w,
                          float *squared) {
    float v[FEATURES] = {0}, *error = (float *)wl_host_alloc(t->n * 4);
    memset(w, 0, FEATURES * 4);
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < t->n; i++) {
            float p = 0;
            for (int j = 0; j < FEATURES; j++)
                p = fmaf(x[j * t->n + i], w[j], p);
            error[i] = p - y[i];
            squared[i] = error[i] * error[i];
        }
        for (int j = 0; j < FEATURES; j++) {
            float g = 0;
            for (int i = 0; i < t->n; i++)
                g = fmaf(x[j * t->n + i], error[i], g);
            v[j] = fmaf(momentum, v[j], rate * g);
            w[j] += v[j];
        }
    }
    free(error);
}

// One step outside a graph, the others out of it.
static void run_training(int n, int steps) {
    cudaStream_t main, side;
    cudaEvent_t fork, done;
    float *x = wl_random_array((long long)FEATURES * n, 1), *y = wl_random_array(n, 2);
    training t = {n};
    float w[FEATURES], want_w[FEATURES], *want = (float *)wl_host_alloc(n * 4);
    WL_CUDA(cudaStreamCreate(&main));
    WL_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    WL_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    WL_CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    WL_CUDA(cudaMallocHost((void **)&t.squared_host, n * 4));
    t.x = (float *)wl_device_copy(x, (size_t)FEATURES * n * 4);
    t.y = (float *)wl_device_copy(y, n * 4);
    t.error = (float *)wl_device_alloc(n * 4);
    t.squared = (float *)wl_device_alloc(n * 4);
    t.g = (float *)wl_device_alloc(FEATURES * 4);
    t.v = (float *)wl_device_alloc(FEATURES * 4);
    t.w = (float *)wl_device_alloc(FEATURES * 4);
    WL_CUDA(cudaMemset(t.v, 0, FEATURES * 4));
    WL_CUDA(cudaMemset(t.w, 0, FEATURES * 4));
    WL_CUDA(cudaDeviceSynchronize());

    ask_for_step(&t, main, side, fork, done);
    cudaGraphExec_t exec = capture_step(&t, main, side, fork, done);
    for (int s = 1; s < steps; s++)
        WL_CUDA(cudaGraphLaunch(exec, main));
    WL_CUDA(cudaStreamSynchronize(main));
    train_on_host(&t, x, y, steps, want_w, want);
    wl_fetch(w, t.w, sizeof w);
    for (int j = 0; j < FEATURES; j++)
        wl_compare("w", j, w[j], want_w[j], 0);
    for (int i = 0; i < n; i++)
        wl_compare("squared error", i, t.squared_host[i], want[i], 0);

    WL_CUDA(cudaGraphExecDestroy(exec));
    WL_CUDA(cudaEventDestroy(fork));
    WL_CUDA(cudaEventDestroy(done));
    WL_CUDA(cudaStreamDestroy(main));
    WL_CUDA(cudaStreamDestroy(side));
    cudaFree(t.x), cudaFree(t.y), cudaFree(t.error), cudaFree(t.squared);
    cudaFree(t.g), cudaFree(t.v), cudaFree(t.w), cudaFreeHost(t.squared_host);
    free(x), free(y), free(want);
}

// ---- The graph with branches ----

typedef struct branches {
    int n;
    float *a, *left, *right, *out; // on the device
} branches;

// scale (a to left), scale (a to right), then join: the nodes in this order. BY: of the first.
static cudaGraph_t make_branches(branches *b, float by, cudaGraphNode_t *nodes) {
    cudaGraph_t graph;
    float right_by = 3;
    void *left[] = {&b->n, &by, &b->a, &b->left}, *right[] = {&b->n, &right_by, &b->a, &b->right};
    void *out[] = {&b->n, &b->left, &b->right, &b->out};
    cudaKernelNodeParams p = {};
    WL_CUDA(cudaGraphCreate(&graph, 0));
    p.gridDim = dim3(grid_of(b->n));
    p.blockDim = dim3(BLOCK);
    p.func = (void *)scale;
    p.kernelParams = left;
    WL_CUDA(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, &p));
    p.kernelParams = right;
    WL_CUDA(cudaGraphAddKernelNode(&nodes[1], graph, NULL, 0, &p));
    p.func = (void *)join;
    p.kernelParams = out;
    WL_CUDA(cudaGraphAddKernelNode(&nodes[2], graph, nodes, 2, &p));
    return graph;
}

// The first branch on the first N elements.
static void set_left(cudaGraphExec_t exec, cudaGraphNode_t node, branches *b, float by, int n) {
    void *left[] = {&n, &by, &b->a, &b->left};
    cudaKernelNodeParams p = {};
    p.func = (void *)scale;
    p.gridDim = dim3(grid_of(n));
    p.blockDim = dim3(BLOCK);
    p.kernelParams = left;
    WL_CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &p));
}

static void run_branches(int n, int rounds) {
    float *a = wl_random_array(n, 3), *got = (float *)wl_host_alloc(n * 4);
    float *left = (float *)calloc(n, 4), *right = (float *)calloc(n, 4);
    branches b = {n};
    cudaGraphNode_t nodes[3], others[3];
    cudaGraphExec_t exec;
    b.a = (float *)wl_device_copy(a, n * 4);
    b.left = (float *)wl_device_copy(left, n * 4);
    b.right = (float *)wl_device_copy(right, n * 4);
    b.out = (float *)wl_device_alloc(n * 4);
    cudaGraph_t graph = make_branches(&b, 2, nodes);
    WL_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int r = 0; r < rounds; r++) {
        float by = (float)(r + 2);
        if (r % 2) { // from another graph, or node by node
            cudaGraph_t other = make_branches(&b, by, others);
            cudaGraphExecUpdateResultInfo result;
            WL_CUDA(cudaGraphExecUpdate(exec, other, &result));
            WL_CUDA(cudaGraphDestroy(other));
        }
        set_left(exec, nodes[0], &b, by, half_of(r) ? n / 2 : n);
        WL_CUDA(cudaGraphNodeSetEnabled(exec, nodes[1], !off(r)));
        WL_CUDA(cudaGraphLaunch(exec, 0));
        for (int i = 0; i < (half_of(r) ? n / 2 : n); i++)
            left[i] = by * a[i];
        for (int i = 0; i < n && !off(r); i++)
            right[i] = 3 * a[i];
        wl_fetch(got, b.out, n * 4);
        for (int i = 0; i < n; i++)
            wl_compare("out", i, got[i], left[i] + right[i], 0);
    }
    WL_CUDA(cudaGraphExecDestroy(exec));
    WL_CUDA(cudaGraphDestroy(graph));
    cudaFree(b.a), cudaFree(b.left), cudaFree(b.right), cudaFree(b.out);
    free(a), free(got), free(left), free(right);
}

// A graph that leaves memory allocated cannot be launched again before that is freed.
static void run_refused(int n) {
    float *a = wl_random_array(n, 5), *from = (float *)wl_device_copy(a, n * 4), *to;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    WL_CUDA(cudaStreamCreate(&stream));
    WL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    WL_CUDA(cudaMallocAsync((void **)&to, n * 4, stream));
    scale<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(n, 2, from, to);
    WL_CUDA(cudaStreamEndCapture(stream, &graph));
    WL_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        WL_CUDA(cudaGraphLaunch(exec, stream));
        if (cudaGraphLaunch(exec, stream) != cudaErrorInvalidValue)
            wl_compare("refused", i, 0, 1, 0);
        cudaGetLastError();
        WL_CUDA(cudaStreamSynchronize(stream));
        WL_CUDA(cudaFree(to));
    }
    WL_CUDA(cudaGraphExecDestroy(exec));
    WL_CUDA(cudaGraphDestroy(graph));
    WL_CUDA(cudaStreamDestroy(stream));
    cudaFree(from);
    free(a);
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", "--steps=", "--rounds=", "--refused=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 256, 64, 1 << 20, 64);
    int steps = wl_option(argc, argv, "--steps", 1000, 1, 1 << 20, 1);
    int rounds = wl_option(argc, argv, "--rounds", 12, 0, 1 << 20, 1);
    if (wl_flag(argc, argv, "--expect")) {
        wl_expect_begin("graphs");
        expect_training(n, steps);
        expect_branches(n, rounds);
        wl_expect_end();
        return 0;
    }
    run_training(n, steps);
    run_branches(n, rounds);
    if (wl_option(argc, argv, "--refused", 0, 0, 1, 1)) // of which --expect says nothing
        run_refused(n);
    return wl_verdict("graphs");
}
