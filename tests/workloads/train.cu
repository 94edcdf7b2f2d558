// SPDX-License-Identifier: Apache-2.0
//
// Trains a small transformer language model, letter by letter, on a built-in text: CUDA C without
// any library. Embeddings, layer normalisation, causal attention, a GELU MLP, cross-entropy, the
// backward pass of all of them, and Adam; the loss is printed and falls. It is the program that
// roofprof's documentation profiles, so its kernels lie all over the roofline: matrix products in
// registers (or, with --naive, one result a thread and uncoalesced), attention that strides through
// memory, row reductions, an atomic scatter, and an optimizer that is nothing but traffic.
//
//   train [--size tiny|small|medium|large] [--layers N] [--heads N] [--channels N] [--context N]
//         [--batch N] [--steps N] [--seed N] [--naive]
//   train --check     gradients against finite differences of a CPU reference, then exit
//   train --expect    the closed-form counts of every launch, as JSON
//
// Shapes, row-major: B sequences of T tokens are M = B T rows of C channels; H heads of D = C / H
// channels; V symbols. Weights are stored inputs x outputs. "Rows of attention" are the B H T rows
// of B H T x T matrices, of which only the first t + 1 of row t are used.
#include "train_reference.h"
#include "train_text.h"
#include "workload.h"

// Ranges for profilers, where the header-only NVTX is installed.
#if defined(__has_include) && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGE_BEGIN(name) nvtxRangePushA(name)
#define RANGE_END()       nvtxRangePop()
#else
#define RANGE_BEGIN(name) ((void)0)
#define RANGE_END()       ((void)0)
#endif

enum { WARP = 32, BLOCK = 256, ROW_BLOCK = 128, ROW_WARPS = ROW_BLOCK / WARP };
enum { TILE = 64, STEP = 16 };        // matrix products: 64 x 64 results a block, 16 deep
enum { COLUMN_X = 32, COLUMN_Y = 8 }; // column sums: 32 columns a block, 8 threads each

/* ---- Matrix products ------------------------------------------------------------------------- */

// out[m x n] = A[m x k] B[k x n] (+ bias[n]). The suffix says how A and B are stored: nn as they
// are, nt with B transposed (n x k), tn with A transposed (k x m).

// Brings STEP x TILE of an operand that is stored along the tile: one float4 a thread, straight.
static __device__ __forceinline__ void tile_straight(float4 (*tile)[TILE / 4], const float *from,
                                                     int pitch, int t) {
    int row = t / (TILE / 4), x = t % (TILE / 4);
    tile[row][x] = *(const float4 *)&from[(size_t)row * pitch + 4 * x];
}

// The same of an operand that is stored along k: one float4 a thread, turned.
static __device__ __forceinline__ void tile_turned(float4 (*tile)[TILE / 4], const float *from,
                                                   int pitch, int t) {
    int column = t / (STEP / 4), row = 4 * (t % (STEP / 4));
    float4 v = *(const float4 *)&from[(size_t)column * pitch + row];
    float *to = (float *)tile + column;
    to[(row + 0) * TILE] = v.x;
    to[(row + 1) * TILE] = v.y;
    to[(row + 2) * TILE] = v.z;
    to[(row + 3) * TILE] = v.w;
}

// Adds the product of two tiles to the 4 x 4 results of thread (X, Y).
static __device__ __forceinline__ void tile_multiply(float sum[4][4], const float4 (*as)[TILE / 4],
                                                     const float4 (*bs)[TILE / 4], int x, int y) {
#pragma unroll
    for (int i = 0; i < STEP; i++) {
        float4 p = as[i][y], q = bs[i][x];
        const float pa[4] = {p.x, p.y, p.z, p.w}, qa[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum[r][s] = fmaf(pa[r], qa[s], sum[r][s]);
    }
}

// The same 4 x 4 results to OUT, whose rows have N elements, plus the BIAS of their columns if
// there is one. Both point at the thread's first result.
static __device__ __forceinline__ void tile_store(float *out, int n, const float sum[4][4],
                                                  const float *bias) {
    float4 add = make_float4(0, 0, 0, 0);
    if (bias)
        add = *(const float4 *)bias;
#pragma unroll
    for (int r = 0; r < 4; r++) {
        float4 v = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
        if (bias)
            v = make_float4(v.x + add.x, v.y + add.y, v.z + add.z, v.w + add.w);
        *(float4 *)&out[(size_t)r * n] = v;
    }
}

// Blocks of 16 x 16 threads, 4 x 4 results each. BRING_A and BRING_B fill the tiles AS and BS for
// the products of k from I on, with thread T of the block.
#define MATMUL_TILED(name, BRING_A, BRING_B)                                                       \
    extern "C" __global__ void name(float *out, const float *a, const float *b, const float *bias, \
                                    int m, int n, int k) {                                         \
        __shared__ float4 as[STEP][TILE / 4], bs[STEP][TILE / 4];                                  \
        int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;                                      \
        int row = blockIdx.y * TILE, column = blockIdx.x * TILE, first = column + 4 * x;           \
        float sum[4][4] = {{0}};                                                                   \
        for (int i = 0; i < k; i += STEP) {                                                        \
            BRING_A;                                                                               \
            BRING_B;                                                                               \
            __syncthreads();                                                                       \
            tile_multiply(sum, as, bs, x, y);                                                      \
            __syncthreads();                                                                       \
        }                                                                                          \
        tile_store(&out[(size_t)(row + 4 * y) * n + first], n, sum, bias ? &bias[first] : NULL);   \
    }

MATMUL_TILED(matmul_tiled_nn, tile_turned(as, &a[(size_t)row * k + i], k, t),
             tile_straight(bs, &b[(size_t)i * n + column], n, t))
MATMUL_TILED(matmul_tiled_nt, tile_turned(as, &a[(size_t)row * k + i], k, t),
             tile_turned(bs, &b[(size_t)column * k + i], k, t))
MATMUL_TILED(matmul_tiled_tn, tile_straight(as, &a[(size_t)i * m + row], m, t),
             tile_straight(bs, &b[(size_t)i * n + column], n, t))

// One result a thread, and lanes along the rows of the result: as a beginner would index it.
#define MATMUL_NAIVE(name, A, B)                                                                   \
    extern "C" __global__ void name(float *out, const float *a, const float *b, const float *bias, \
                                    int m, int n, int k) {                                         \
        int row = blockIdx.x * blockDim.x + threadIdx.x;                                           \
        int column = blockIdx.y * blockDim.y + threadIdx.y;                                        \
        float sum = 0;                                                                             \
        for (int i = 0; i < k; i++)                                                                \
            sum = fmaf(A, B, sum);                                                                 \
        if (bias)                                                                                  \
            sum += bias[column];                                                                   \
        out[(size_t)row * n + column] = sum;                                                       \
    }

MATMUL_NAIVE(matmul_naive_nn, a[(size_t)row * k + i], b[(size_t)i * n + column])
MATMUL_NAIVE(matmul_naive_nt, a[(size_t)row * k + i], b[(size_t)column * k + i])
MATMUL_NAIVE(matmul_naive_tn, a[(size_t)i * m + row], b[(size_t)i * n + column])

/* ---- Rows ------------------------------------------------------------------------------------ */

// The sum, the largest of V over a warp, in every lane.
static __device__ __forceinline__ float warp_sum(float v) {
    for (int half = WARP / 2; half > 0; half /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

static __device__ __forceinline__ float warp_max(float v) {
    for (int half = WARP / 2; half > 0; half /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, half));
    return v;
}

extern "C" __global__ void embed_forward(float *out, const int *token, const float *symbols,
                                         const float *positions, int context, int channels) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int row = i / channels, c = i % channels;
    out[i] = symbols[token[row] * channels + c] + positions[row % context * channels + c];
}

extern "C" __global__ void embed_backward(float *dsymbols, float *dpositions, const float *dout,
                                          const int *token, int context, int channels) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int row = i / channels, c = i % channels;
    float d = dout[i];
    atomicAdd(&dsymbols[token[row] * channels + c], d);
    atomicAdd(&dpositions[row % context * channels + c], d);
}

// A warp per row: out = (x - mean) / deviation * gamma + beta; mean and 1 / deviation are kept.
extern "C" __global__ void layernorm_forward(float *out, float *mean, float *scale, const float *x,
                                             const float *gamma, const float *beta, int channels) {
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    float inverse_channels = 1.0f / channels, sum = 0, squares = 0;
    x += (size_t)row * channels;
    out += (size_t)row * channels;
#pragma unroll 1
    for (int c = lane; c < channels; c += WARP)
        sum += x[c];
    float middle = __fmul_rn(warp_sum(sum), inverse_channels);
#pragma unroll 1
    for (int c = lane; c < channels; c += WARP) {
        float d = __fsub_rn(x[c], middle);
        squares = fmaf(d, d, squares);
    }
    float s = rsqrtf(fmaf(warp_sum(squares), inverse_channels, 1e-5f));
#pragma unroll 1
    for (int c = lane; c < channels; c += WARP)
        out[c] = fmaf(__fmul_rn(__fsub_rn(x[c], middle), s), gamma[c], beta[c]);
    if (lane == 0) {
        mean[row] = middle;
        scale[row] = s;
    }
}

// Adds the gradient by x to DX; a warp per row.
extern "C" __global__ void layernorm_backward(float *dx, const float *dout, const float *x,
                                              const float *mean, const float *scale,
                                              const float *gamma, int channels) {
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    float inverse_channels = 1.0f / channels, m = mean[row], s = scale[row];
    size_t base = (size_t)row * channels;
    float sum = 0, product = 0;
#pragma unroll 1
    for (int c = lane; c < channels; c += WARP) {
        float normal = __fmul_rn(__fsub_rn(x[base + c], m), s);
        float d = __fmul_rn(dout[base + c], gamma[c]);
        sum = __fadd_rn(sum, d);
        product = fmaf(d, normal, product);
    }
    sum = __fmul_rn(warp_sum(sum), inverse_channels);
    product = __fmul_rn(warp_sum(product), inverse_channels);
#pragma unroll 1
    for (int c = lane; c < channels; c += WARP) {
        float normal = __fmul_rn(__fsub_rn(x[base + c], m), s);
        float d = __fmul_rn(dout[base + c], gamma[c]);
        d = fmaf(-normal, product, __fsub_rn(d, sum));
        dx[base + c] = fmaf(d, s, dx[base + c]);
    }
}

// The sum over a block's COLUMN_Y threads of one column, in those of threadIdx.y == 0.
static __device__ __forceinline__ float column_total(float v, float (*shared)[COLUMN_X]) {
    int x = threadIdx.x, y = threadIdx.y;
    shared[y][x] = v;
    __syncthreads();
    if (y == 0) {
        v = shared[0][x];
#pragma unroll
        for (int k = 1; k < COLUMN_Y; k++)
            v += shared[k][x];
    }
    __syncthreads();
    return v;
}

// dgamma = the columns' sums of dout (x - mean) scale, dbeta those of dout.
extern "C" __global__ void layernorm_backward_weights(float *dgamma, float *dbeta,
                                                      const float *dout, const float *x,
                                                      const float *mean, const float *scale,
                                                      int rows, int channels) {
    __shared__ float shared[COLUMN_Y][COLUMN_X];
    int c = blockIdx.x * COLUMN_X + threadIdx.x;
    float g = 0, b = 0;
#pragma unroll 1
    for (int r = threadIdx.y; r < rows; r += COLUMN_Y) {
        float d = dout[(size_t)r * channels + c];
        float centred = __fsub_rn(x[(size_t)r * channels + c], mean[r]);
        g = fmaf(d, __fmul_rn(centred, scale[r]), g);
        b = __fadd_rn(b, d);
    }
    g = column_total(g, shared);
    b = column_total(b, shared);
    if (threadIdx.y == 0) {
        dgamma[c] = g;
        dbeta[c] = b;
    }
}

// dbias = the columns' sums of dout.
extern "C" __global__ void bias_backward(float *dbias, const float *dout, int rows, int columns) {
    __shared__ float shared[COLUMN_Y][COLUMN_X];
    int c = blockIdx.x * COLUMN_X + threadIdx.x;
    float b = 0;
#pragma unroll 1
    for (int r = threadIdx.y; r < rows; r += COLUMN_Y)
        b += dout[(size_t)r * columns + c];
    b = column_total(b, shared);
    if (threadIdx.y == 0)
        dbias[c] = b;
}

/* ---- Elements -------------------------------------------------------------------------------- */

extern "C" __global__ void residual_add(float *out, const float *a, const float *b) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = a[i] + b[i];
}

// GELU(x) = x s(z): s the logistic function, z = x (A + B x^2). That is the usual form with tanh,
// written so that it has no branches.
#define GELU_A 1.5957691216f /* 2 sqrt(2 / pi) */
#define GELU_B 0.0713548163f /* 0.044715 A */

static __device__ __forceinline__ float logistic(float z) {
    return __frcp_rn(__fadd_rn(1.0f, __expf(-z)));
}

extern "C" __global__ void gelu_forward(float *out, const float *x) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float v = x[i], z = __fmul_rn(v, fmaf(GELU_B, __fmul_rn(v, v), GELU_A));
    out[i] = __fmul_rn(v, logistic(z));
}

extern "C" __global__ void gelu_backward(float *dx, const float *dout, const float *x) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float v = x[i], square = __fmul_rn(v, v);
    float s = logistic(__fmul_rn(v, fmaf(GELU_B, square, GELU_A)));
    float slope = __fmul_rn(__fmul_rn(v, s), __fsub_rn(1.0f, s));
    dx[i] = __fmul_rn(dout[i], fmaf(slope, fmaf(3 * GELU_B, square, GELU_A), s));
}

// M and V are Adam's averages; CORRECT_M and CORRECT_V undo their start from zero.
extern "C" __global__ void adam_update(float *parameter, const float *gradient, float *m, float *v,
                                       int count, float rate, float correct_m, float correct_v) {
    const float keep_m = 0.9f, keep_v = 0.99f;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count)
        return;
    float g = gradient[i];
    float a = fmaf(keep_m, m[i], __fmul_rn(1 - keep_m, g));
    float b = fmaf(keep_v, v[i], __fmul_rn(__fmul_rn(1 - keep_v, g), g));
    float divisor = __fadd_rn(__fsqrt_rn(__fmul_rn(b, correct_v)), 1e-8f);
    parameter[i] = fmaf(-rate, __fdiv_rn(__fmul_rn(a, correct_m), divisor), parameter[i]);
    m[i] = a;
    v[i] = b;
}

/* ---- Attention ------------------------------------------------------------------------------- */

// out[b,h,t,s] = scale a[b,t,h] . b[b,s,h] for s <= t: the scores from queries and keys; and,
// backward, the gradient of the weights from that of the output and the values. A thread per score;
// neighbours read rows of B that lie PITCH_B floats apart.
extern "C" __global__ void attention_scores(float *out, const float *a, int pitch_a, const float *b,
                                            int pitch_b, float scale, int context, int heads,
                                            int depth) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int s = i % context, t = i / context % context;
    int h = i / context / context % heads, sequence = i / context / context / heads;
    if (s > t)
        return;
    a += (size_t)(sequence * context + t) * pitch_a + h * depth;
    b += (size_t)(sequence * context + s) * pitch_b + h * depth;
    float sum = 0;
    for (int c = 0; c < depth; c++)
        sum = fmaf(a[c], b[c], sum);
    out[i] = __fmul_rn(sum, scale);
}

// Softmax of each row of attention over its first t + 1 elements, in place; a warp per row.
extern "C" __global__ void attention_softmax(float *att, int context) {
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int t = row % context;
    float largest = -INFINITY, sum = 0;
    att += (size_t)row * context;
#pragma unroll 1
    for (int s = lane; s <= t; s += WARP)
        largest = fmaxf(largest, att[s]);
    largest = warp_max(largest);
#pragma unroll 1
    for (int s = lane; s <= t; s += WARP) {
        float e = __expf(__fsub_rn(att[s], largest));
        att[s] = e;
        sum = __fadd_rn(sum, e);
    }
    float inverse = __frcp_rn(warp_sum(sum));
#pragma unroll 1
    for (int s = lane; s <= t; s += WARP)
        att[s] = __fmul_rn(att[s], inverse);
}

// From the gradient of the weights to that of the scores before SCALE, in place; a warp per row.
extern "C" __global__ void attention_softmax_backward(float *datt, const float *att, float scale,
                                                      int context) {
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int t = row % context;
    float sum = 0;
    datt += (size_t)row * context;
    att += (size_t)row * context;
#pragma unroll 1
    for (int s = lane; s <= t; s += WARP)
        sum = fmaf(att[s], datt[s], sum);
    sum = warp_sum(sum);
#pragma unroll 1
    for (int s = lane; s <= t; s += WARP)
        datt[s] = __fmul_rn(__fmul_rn(att[s], __fsub_rn(datt[s], sum)), scale);
}

// out[b,t,h] = sum over s <= t of weight[b,h,t,s] v[b,s,h]: the output from weights and values;
// and, backward, the gradient of the queries from that of the scores and the keys. A thread per
// channel of each row.
extern "C" __global__ void attention_values(float *out, int pitch_out, const float *weight,
                                            const float *v, int pitch_v, int context, int heads,
                                            int depth) {
    int i = blockIdx.x * BLOCK + threadIdx.x, channels = heads * depth;
    int c = i % channels, row = i / channels;
    int t = row % context, sequence = row / context;
    weight += ((size_t)(sequence * heads + c / depth) * context + t) * context;
    v += (size_t)sequence * context * pitch_v + c;
    float sum = 0;
    for (int s = 0; s <= t; s++)
        sum = fmaf(weight[s], v[(size_t)s * pitch_v], sum);
    out[(size_t)row * pitch_out + c] = sum;
}

// out[b,s,h] = sum over t >= s of weight[b,h,t,s] v[b,t,h]: the gradients of values and of keys.
extern "C" __global__ void attention_values_turned(float *out, int pitch_out, const float *weight,
                                                   const float *v, int pitch_v, int context,
                                                   int heads, int depth) {
    int i = blockIdx.x * BLOCK + threadIdx.x, channels = heads * depth;
    int c = i % channels, row = i / channels;
    int s = row % context, sequence = row / context;
    weight += (size_t)(sequence * heads + c / depth) * context * context + s;
    v += (size_t)sequence * context * pitch_v + c;
    float sum = 0;
    for (int t = s; t < context; t++)
        sum = fmaf(weight[(size_t)t * context], v[(size_t)t * pitch_v], sum);
    out[(size_t)row * pitch_out + c] = sum;
}

/* ---- Loss ------------------------------------------------------------------------------------ */

// Cross-entropy of each row's softmax against its target, and the gradient of the mean over rows;
// a warp per row. dlogits may be logits.
extern "C" __global__ void cross_entropy(float *loss, float *dlogits, const float *logits,
                                         const int *target, float share, int symbols) {
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int right = target[row];
    float largest = -INFINITY, sum = 0;
    logits += (size_t)row * symbols;
    dlogits += (size_t)row * symbols;
#pragma unroll 1
    for (int k = lane; k < symbols; k += WARP)
        largest = fmaxf(largest, logits[k]);
    largest = warp_max(largest);
#pragma unroll 1
    for (int k = lane; k < symbols; k += WARP)
        sum = __fadd_rn(sum, __expf(__fsub_rn(logits[k], largest)));
    sum = warp_sum(sum);
    float inverse = __frcp_rn(sum);
    if (lane == 0)
        loss[row] = __fsub_rn(__fadd_rn(__logf(sum), largest), logits[right]);
    __syncwarp();
#pragma unroll 1
    for (int k = lane; k < symbols; k += WARP) {
        float p = __fmul_rn(__expf(__fsub_rn(logits[k], largest)), inverse);
        dlogits[k] = __fmul_rn(__fsub_rn(p, k == right ? 1.0f : 0.0f), share);
    }
}

/* ---- The model ------------------------------------------------------------------------------- */

typedef struct options {
    train_shape shape;
    int steps, naive, check, expect;
    uint32_t seed;
    float rate;
} options;

// Everything on the device. Activations are kept per layer for the backward pass.
typedef struct model {
    train_shape shape;
    train_layout layout;
    int naive;
    float *parameters, *gradients, *adam_m, *adam_v;
    int *token, *target;
    struct {
        float *input, *ln1, *mean1, *scale1, *qkv, *att, *mixed, *middle, *ln2, *mean2, *scale2,
            *wide, *active;
    } layer[TRAIN_MAX_LAYERS];
    float *output, *lnf, *meanf, *scalef, *logits, *loss;
    float *branch;                                    // what is added to the residual stream
    float *dresidual, *dnarrow, *dwide, *datt, *dqkv; // gradients in flight
} model;

static float *floats(size_t count) {
    return (float *)wl_device_alloc(count * sizeof(float));
}

static void model_create(model *m, const options *o) {
    train_shape s = m->shape = o->shape;
    train_layout_make(&m->layout, &s);
    m->naive = o->naive;
    size_t rows = (size_t)s.batch * s.context, narrow = rows * s.channels;
    size_t att = rows * s.heads * s.context, count = m->layout.count;
    float *start = (float *)wl_host_alloc(count * sizeof(float));
    train_initialise(start, &m->layout, &s, o->seed);
    m->parameters = (float *)wl_device_copy(start, count * sizeof(float));
    free(start);
    m->gradients = floats(count);
    m->adam_m = floats(count);
    m->adam_v = floats(count);
    WL_CUDA(cudaMemset(m->gradients, 0, count * sizeof(float)));
    WL_CUDA(cudaMemset(m->adam_m, 0, count * sizeof(float)));
    WL_CUDA(cudaMemset(m->adam_v, 0, count * sizeof(float)));
    m->token = (int *)wl_device_alloc(rows * sizeof(int));
    m->target = (int *)wl_device_alloc(rows * sizeof(int));
    for (int l = 0; l < s.layers; l++) {
        m->layer[l].input = floats(narrow);
        m->layer[l].ln1 = floats(narrow);
        m->layer[l].mean1 = floats(rows);
        m->layer[l].scale1 = floats(rows);
        m->layer[l].qkv = floats(3 * narrow);
        m->layer[l].att = floats(att);
        m->layer[l].mixed = floats(narrow);
        m->layer[l].middle = floats(narrow);
        m->layer[l].ln2 = floats(narrow);
        m->layer[l].mean2 = floats(rows);
        m->layer[l].scale2 = floats(rows);
        m->layer[l].wide = floats(4 * narrow);
        m->layer[l].active = floats(4 * narrow);
    }
    m->output = floats(narrow);
    m->lnf = floats(narrow);
    m->meanf = floats(rows);
    m->scalef = floats(rows);
    m->logits = floats(rows * TRAIN_SYMBOLS);
    m->loss = floats(rows);
    m->branch = floats(narrow);
    m->dresidual = floats(narrow);
    m->dnarrow = floats(narrow);
    m->dwide = floats(4 * narrow);
    m->datt = floats(att);
    m->dqkv = floats(3 * narrow);
}

static void model_destroy(model *m) {
    float *all[] = {m->parameters, m->gradients,      m->adam_m,         m->adam_v, m->output,
                    m->lnf,        m->meanf,          m->scalef,         m->logits, m->loss,
                    m->branch,     m->dresidual,      m->dnarrow,        m->dwide,  m->datt,
                    m->dqkv,       (float *)m->token, (float *)m->target};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaFree(all[i]);
    for (int l = 0; l < m->shape.layers; l++) {
        float **layer = (float **)&m->layer[l];
        for (size_t i = 0; i < sizeof m->layer[l] / sizeof *layer; i++)
            cudaFree(layer[i]);
    }
}

typedef enum matmul_kind { NN, NT, TN } matmul_kind;

static void matmul(const model *mo, matmul_kind kind, float *out, const float *a, const float *b,
                   const float *bias, int m, int n, int k) {
    dim3 grid(n / TILE, m / TILE), block(16, 16);
    if (mo->naive) {
        grid = dim3(m / 32, n / 8);
        block = dim3(32, 8);
    }
    switch (kind) {
    case NN:
        if (mo->naive)
            matmul_naive_nn<<<grid, block>>>(out, a, b, bias, m, n, k);
        else
            matmul_tiled_nn<<<grid, block>>>(out, a, b, bias, m, n, k);
        break;
    case NT:
        if (mo->naive)
            matmul_naive_nt<<<grid, block>>>(out, a, b, bias, m, n, k);
        else
            matmul_tiled_nt<<<grid, block>>>(out, a, b, bias, m, n, k);
        break;
    case TN:
        if (mo->naive)
            matmul_naive_tn<<<grid, block>>>(out, a, b, bias, m, n, k);
        else
            matmul_tiled_tn<<<grid, block>>>(out, a, b, bias, m, n, k);
        break;
    }
}

/* Blocks for a thread per score: B H T is a multiple of 64 and T of 32. */
static int score_blocks(const train_shape *s) {
    return s->batch * s->heads * s->context / 8 * (s->context / 32);
}

static void forward(model *m) {
    train_shape s = m->shape;
    int rows = s.batch * s.context, C = s.channels, depth = C / s.heads;
    int att_rows = rows * s.heads;
    const float *p = m->parameters;
    RANGE_BEGIN("forward");
    embed_forward<<<rows * C / BLOCK, BLOCK>>>(s.layers ? m->layer[0].input : m->output, m->token,
                                               p + m->layout.symbols, p + m->layout.positions,
                                               s.context, C);
    for (int l = 0; l < s.layers; l++) {
        const train_layer_layout *w = &m->layout.layer[l];
        float *next = l + 1 < s.layers ? m->layer[l + 1].input : m->output;
        layernorm_forward<<<rows / ROW_WARPS, ROW_BLOCK>>>(m->layer[l].ln1, m->layer[l].mean1,
                                                           m->layer[l].scale1, m->layer[l].input,
                                                           p + w->gamma1, p + w->beta1, C);
        matmul(m, NN, m->layer[l].qkv, m->layer[l].ln1, p + w->qkv, p + w->qkv_bias, rows, 3 * C,
               C);
        attention_scores<<<score_blocks(&s), BLOCK>>>(
            m->layer[l].att, m->layer[l].qkv, 3 * C, m->layer[l].qkv + C, 3 * C,
            1.0f / sqrtf((float)depth), s.context, s.heads, depth);
        attention_softmax<<<att_rows / ROW_WARPS, ROW_BLOCK>>>(m->layer[l].att, s.context);
        attention_values<<<rows * C / BLOCK, BLOCK>>>(m->layer[l].mixed, C, m->layer[l].att,
                                                      m->layer[l].qkv + 2 * C, 3 * C, s.context,
                                                      s.heads, depth);
        matmul(m, NN, m->branch, m->layer[l].mixed, p + w->out, p + w->out_bias, rows, C, C);
        residual_add<<<rows * C / BLOCK, BLOCK>>>(m->layer[l].middle, m->layer[l].input, m->branch);
        layernorm_forward<<<rows / ROW_WARPS, ROW_BLOCK>>>(m->layer[l].ln2, m->layer[l].mean2,
                                                           m->layer[l].scale2, m->layer[l].middle,
                                                           p + w->gamma2, p + w->beta2, C);
        matmul(m, NN, m->layer[l].wide, m->layer[l].ln2, p + w->up, p + w->up_bias, rows, 4 * C, C);
        gelu_forward<<<rows * 4 * C / BLOCK, BLOCK>>>(m->layer[l].active, m->layer[l].wide);
        matmul(m, NN, m->branch, m->layer[l].active, p + w->down, p + w->down_bias, rows, C, 4 * C);
        residual_add<<<rows * C / BLOCK, BLOCK>>>(next, m->layer[l].middle, m->branch);
    }
    layernorm_forward<<<rows / ROW_WARPS, ROW_BLOCK>>>(m->lnf, m->meanf, m->scalef, m->output,
                                                       p + m->layout.gamma, p + m->layout.beta, C);
    matmul(m, NN, m->logits, m->lnf, p + m->layout.head, NULL, rows, TRAIN_SYMBOLS, C);
    cross_entropy<<<rows / ROW_WARPS, ROW_BLOCK>>>(m->loss, m->logits, m->logits, m->target,
                                                   1.0f / rows, TRAIN_SYMBOLS);
    RANGE_END();
}

// Gradients of a product with bias: out = in W + b. DIN may be NULL.
static void backward_linear(const model *m, float *din, size_t weight, size_t bias, int has_bias,
                            const float *dout, const float *in, int rows, int inputs, int outputs) {
    if (has_bias)
        bias_backward<<<outputs / COLUMN_X, dim3(COLUMN_X, COLUMN_Y)>>>(m->gradients + bias, dout,
                                                                        rows, outputs);
    matmul(m, TN, m->gradients + weight, in, dout, NULL, inputs, outputs, rows);
    matmul(m, NT, din, dout, m->parameters + weight, NULL, rows, inputs, outputs);
}

// Gradients of a layer normalisation; that by its input is added to dresidual.
static void backward_layernorm(const model *m, size_t gamma, size_t beta, const float *dout,
                               const float *x, const float *mean, const float *scale) {
    int rows = m->shape.batch * m->shape.context, C = m->shape.channels;
    layernorm_backward_weights<<<C / COLUMN_X, dim3(COLUMN_X, COLUMN_Y)>>>(
        m->gradients + gamma, m->gradients + beta, dout, x, mean, scale, rows, C);
    layernorm_backward<<<rows / ROW_WARPS, ROW_BLOCK>>>(m->dresidual, dout, x, mean, scale,
                                                        m->parameters + gamma, C);
}

static void backward_attention(const model *m, int l) {
    train_shape s = m->shape;
    int rows = s.batch * s.context, C = s.channels, depth = C / s.heads;
    int att_rows = rows * s.heads;
    const float *qkv = m->layer[l].qkv, *att = m->layer[l].att, *dmixed = m->dnarrow;
    attention_scores<<<score_blocks(&s), BLOCK>>>(m->datt, dmixed, C, qkv + 2 * C, 3 * C, 1.0f,
                                                  s.context, s.heads, depth);
    attention_values_turned<<<rows * C / BLOCK, BLOCK>>>(m->dqkv + 2 * C, 3 * C, att, dmixed, C,
                                                         s.context, s.heads, depth);
    attention_softmax_backward<<<att_rows / ROW_WARPS, ROW_BLOCK>>>(
        m->datt, att, 1.0f / sqrtf((float)depth), s.context);
    attention_values<<<rows * C / BLOCK, BLOCK>>>(m->dqkv, 3 * C, m->datt, qkv + C, 3 * C,
                                                  s.context, s.heads, depth);
    attention_values_turned<<<rows * C / BLOCK, BLOCK>>>(m->dqkv + C, 3 * C, m->datt, qkv, 3 * C,
                                                         s.context, s.heads, depth);
}

static void backward(model *m) {
    train_shape s = m->shape;
    int rows = s.batch * s.context, C = s.channels;
    const train_layout *w = &m->layout;
    RANGE_BEGIN("backward");
    WL_CUDA(cudaMemsetAsync(m->dresidual, 0, (size_t)rows * C * sizeof(float), 0));
    // The embeddings' gradients are scattered into; all others are overwritten.
    WL_CUDA(cudaMemsetAsync(m->gradients + w->symbols, 0, (size_t)TRAIN_SYMBOLS * C * sizeof(float),
                            0));
    WL_CUDA(
        cudaMemsetAsync(m->gradients + w->positions, 0, (size_t)s.context * C * sizeof(float), 0));
    backward_linear(m, m->dnarrow, w->head, 0, 0, m->logits, m->lnf, rows, C, TRAIN_SYMBOLS);
    backward_layernorm(m, w->gamma, w->beta, m->dnarrow, m->output, m->meanf, m->scalef);
    for (int l = s.layers - 1; l >= 0; l--) {
        const train_layer_layout *wl = &w->layer[l];
        backward_linear(m, m->dwide, wl->down, wl->down_bias, 1, m->dresidual, m->layer[l].active,
                        rows, 4 * C, C);
        gelu_backward<<<rows * 4 * C / BLOCK, BLOCK>>>(m->dwide, m->dwide, m->layer[l].wide);
        backward_linear(m, m->dnarrow, wl->up, wl->up_bias, 1, m->dwide, m->layer[l].ln2, rows, C,
                        4 * C);
        backward_layernorm(m, wl->gamma2, wl->beta2, m->dnarrow, m->layer[l].middle,
                           m->layer[l].mean2, m->layer[l].scale2);
        backward_linear(m, m->dnarrow, wl->out, wl->out_bias, 1, m->dresidual, m->layer[l].mixed,
                        rows, C, C);
        backward_attention(m, l);
        backward_linear(m, m->dnarrow, wl->qkv, wl->qkv_bias, 1, m->dqkv, m->layer[l].ln1, rows, C,
                        3 * C);
        backward_layernorm(m, wl->gamma1, wl->beta1, m->dnarrow, m->layer[l].input,
                           m->layer[l].mean1, m->layer[l].scale1);
    }
    embed_backward<<<rows * C / BLOCK, BLOCK>>>(m->gradients + w->symbols,
                                                m->gradients + w->positions, m->dresidual, m->token,
                                                s.context, C);
    RANGE_END();
}

static void update(model *m, int step, float rate) {
    int count = (int)m->layout.count;
    RANGE_BEGIN("update");
    adam_update<<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(
        m->parameters, m->gradients, m->adam_m, m->adam_v, count, rate,
        1.0f / (1.0f - powf(0.9f, (float)step)), 1.0f / (1.0f - powf(0.99f, (float)step)));
    RANGE_END();
}

// The mean loss of the last forward pass; waits for it.
static double mean_loss(const model *m) {
    int rows = m->shape.batch * m->shape.context;
    float *loss = (float *)wl_host_alloc(rows * sizeof *loss);
    double sum = 0;
    wl_fetch(loss, m->loss, rows * sizeof *loss);
    for (int r = 0; r < rows; r++)
        sum += loss[r];
    free(loss);
    return sum / rows;
}

/* ---- Data ------------------------------------------------------------------------------------ */

// Letters to symbols, in order of their codes.
static int symbol_of(char letter) {
    static int table[256], made;
    if (!made) {
        int used[256] = {0}, next = 0;
        for (const char *c = train_text; *c; c++)
            used[(unsigned char)*c] = 1;
        for (int i = 0; i < 256; i++)
            table[i] = used[i] ? next++ : 0;
        made = 1;
    }
    return table[(unsigned char)letter];
}

// A batch of sequences from random places of the text, and what follows each token.
static void next_batch(const train_shape *s, uint32_t *seed, int *token, int *target) {
    uint32_t places = (uint32_t)(sizeof train_text - 1 - s->context - 1);
    for (int b = 0; b < s->batch; b++) {
        const char *text = train_text + (wl_random(seed) >> 4) % places;
        for (int t = 0; t < s->context; t++) {
            token[b * s->context + t] = symbol_of(text[t]);
            target[b * s->context + t] = symbol_of(text[t + 1]);
        }
    }
}

static void give_batch(model *m, const int *token, const int *target) {
    size_t bytes = (size_t)m->shape.batch * m->shape.context * sizeof(int);
    WL_CUDA(cudaMemcpy(m->token, token, bytes, cudaMemcpyHostToDevice));
    WL_CUDA(cudaMemcpy(m->target, target, bytes, cudaMemcpyHostToDevice));
}

/* ---- Training -------------------------------------------------------------------------------- */

static int train(const options *o) {
    model m;
    model_create(&m, o);
    int rows = o->shape.batch * o->shape.context;
    int *token = (int *)wl_host_alloc(2 * rows * sizeof(int));
    uint32_t seed = o->seed;
    double first = 0, loss = 0;
    cudaEvent_t begin, end;
    float milliseconds = 0;
    WL_CUDA(cudaEventCreate(&begin));
    WL_CUDA(cudaEventCreate(&end));
    printf("%d layers, %d heads, %d channels, %d x %d tokens a step: %zu parameters\n",
           o->shape.layers, o->shape.heads, o->shape.channels, o->shape.batch, o->shape.context,
           m.layout.count);
    WL_CUDA(cudaEventRecord(begin, 0));
    for (int step = 1; step <= o->steps; step++) {
        next_batch(&o->shape, &seed, token, token + rows);
        give_batch(&m, token, token + rows);
        forward(&m);
        backward(&m);
        update(&m, step, o->rate);
        WL_CUDA(cudaGetLastError());
        loss = mean_loss(&m);
        if (step == 1)
            first = loss;
        printf("step %4d  loss %.4f\n", step, loss);
        fflush(stdout);
    }
    WL_CUDA(cudaEventRecord(end, 0));
    WL_CUDA(cudaEventSynchronize(end));
    WL_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    printf("%.3f ms a step, %.0f tokens/s\n", milliseconds / o->steps,
           milliseconds > 0 ? 1e3 * rows * o->steps / milliseconds : 0.0);
    // NaN fails too. A single step has nothing to compare with.
    if (!(loss < 10) || (o->steps > 1 && !(loss < first))) {
        printf("FAILED: the loss does not fall: %.4f at first, %.4f at last\n", first, loss);
        wl_failures++;
    }
    WL_CUDA(cudaEventDestroy(begin));
    WL_CUDA(cudaEventDestroy(end));
    free(token);
    model_destroy(&m);
    return wl_verdict("train");
}

// The device's loss and gradients of one batch against the CPU reference: the loss itself, and
// central differences of it by some parameters of every tensor.
static int check(const options *o) {
    model m;
    model_create(&m, o);
    const train_layout *layout = &m.layout;
    int rows = o->shape.batch * o->shape.context;
    int *token = (int *)wl_host_alloc(2 * rows * sizeof(int)), *target = token + rows;
    float *start = (float *)wl_host_alloc(layout->count * sizeof(float));
    float *gradient = (float *)wl_host_alloc(layout->count * sizeof(float));
    double *parameters = (double *)wl_host_alloc(layout->count * sizeof(double));
    uint32_t seed = o->seed;
    next_batch(&o->shape, &seed, token, target);
    give_batch(&m, token, target);
    forward(&m);
    backward(&m);
    wl_launched("train --check");
    wl_fetch(start, m.parameters, layout->count * sizeof(float));
    wl_fetch(gradient, m.gradients, layout->count * sizeof(float));
    for (size_t i = 0; i < layout->count; i++)
        parameters[i] = start[i];
    double loss = train_reference_loss(parameters, layout, &o->shape, token, target);
    wl_compare("loss", 0, mean_loss(&m), loss, 1e-5);
    int checked = 0;
    for (int tensor = 0; tensor < layout->tensors; tensor++) {
        for (int k = 0; k < 2; k++) {
            size_t i = layout->tensor[tensor].at + wl_random(&seed) % layout->tensor[tensor].size;
            const double keep = parameters[i], h = 1e-4;
            parameters[i] = keep + h;
            double up = train_reference_loss(parameters, layout, &o->shape, token, target);
            parameters[i] = keep - h;
            double down = train_reference_loss(parameters, layout, &o->shape, token, target);
            parameters[i] = keep;
            // Gradients are of the order of 1e-3 to 1: compared to one part in a thousand, and
            // what is nearer to zero to a millionth.
            double want = (up - down) / (2 * h), tolerance = 1e-6 + 1e-3 * fabs(want);
            if (!(fabs(gradient[i] - want) <= tolerance)) {
                printf("FAILED gradient of %s[%zu]: %.9g, should be %.9g\n",
                       layout->tensor[tensor].name, i - layout->tensor[tensor].at, gradient[i],
                       want);
                wl_failures++;
            }
            checked++;
        }
    }
    printf("loss %.6f; %d gradients checked in %d tensors\n", loss, checked, layout->tensors);
    free(token);
    free(start);
    free(gradient);
    free(parameters);
    model_destroy(&m);
    return wl_verdict("train --check");
}

/* ---- Closed forms ----------------------------------------------------------------------------
 * All per launch; derivations in tests/workloads/README.md. DRAM bytes of the embeddings depend on
 * which symbols occur, and are left out. */

static void add_row_loop(wl_counts *c, long long elements, int loads, int stores) {
    c->load_bytes += 4 * elements * loads;
    c->load_requests += elements / WARP * loads;
    c->load_sectors += elements / 8 * loads;
    c->store_bytes += 4 * elements * stores;
    c->store_requests += elements / WARP * stores;
    c->store_sectors += elements / 8 * stores;
}

// COUNT warps each load (store) the same single word.
static void add_uniform_load(wl_counts *c, long long warps) {
    c->load_bytes += 4 * WARP * warps;
    c->load_requests += warps;
    c->load_sectors += warps;
}

static void add_lane_store(wl_counts *c, long long warps) {
    c->store_bytes += 4 * warps;
    c->store_requests += warps;
    c->store_sectors += warps;
}

static void expect_matmul(const options *o, matmul_kind kind, long long m, long long n, long long k,
                          int bias, long long launches) {
    static const char *const names[2][3] = {
        {"matmul_tiled_nn", "matmul_tiled_nt", "matmul_tiled_tn"},
        {"matmul_naive_nn", "matmul_naive_nt", "matmul_naive_tn"}};
    wl_counts c = {0};
    long long warps = m * n / WARP;
    c.flops_fp32 = 2 * m * n * k + (bias ? m * n : 0);
    c.store_bytes = 4 * m * n;
    c.dram_read_bytes = 4 * (m * k + k * n + (bias ? n : 0));
    c.dram_write_bytes = 4 * m * n;
    if (o->naive) {
        c.load_bytes = 8 * m * n * k + (bias ? 4 * m * n : 0);
        c.load_requests = 2 * warps * k + (bias ? warps : 0);
        c.load_sectors = warps * k * ((kind == TN ? 4 : 32) + 1) + (bias ? warps : 0);
        c.store_requests = warps;
        c.store_sectors = 32 * warps;
    } else {
        long long blocks = m / TILE * (n / TILE), steps = blocks * (k / STEP);
        long long turned = kind == NT ? 2 : kind == NN ? 1 : 0; // of the two operands
        c.load_bytes = steps * 2 * 4 * TILE * STEP;
        c.load_requests = steps * 2 * 8;
        c.load_sectors = c.load_bytes / 32;
        c.store_requests = blocks * 8 * 4;
        c.store_sectors = c.store_bytes / 32;
        c.shared_store_bytes = c.load_bytes;
        c.shared_load_bytes = steps * STEP * 256 * 2 * 16;
        c.shared_wavefronts = steps * 8 * (4 * (2 - turned) + 16 * turned + STEP * (4 + 4));
        c.shared_bank_conflicts = steps * 8 * 12 * turned;
        if (bias) { // a float4 a thread, the same for the two halves of a warp
            c.load_bytes += blocks * 256 * 16;
            c.load_requests += blocks * 8;
            c.load_sectors += blocks * 8 * 8;
        }
    }
    wl_expect(names[!!o->naive][kind], launches, &c);
}

static void expect_linear(const options *o, long long inputs, long long outputs, int bias,
                          long long launches) {
    long long rows = (long long)o->shape.batch * o->shape.context;
    expect_matmul(o, NN, rows, outputs, inputs, bias, launches);
    expect_matmul(o, NT, rows, inputs, outputs, 0, launches);
    expect_matmul(o, TN, inputs, outputs, rows, 0, launches);
    if (!bias)
        return;
    wl_counts c = {0};
    long long blocks = outputs / COLUMN_X;
    c.flops_fp32 = rows * outputs + blocks * COLUMN_X * (COLUMN_Y - 1);
    add_row_loop(&c, rows * outputs, 1, 0);
    add_row_loop(&c, outputs, 0, 1);
    c.shared_store_bytes = c.shared_load_bytes = 4 * blocks * COLUMN_X * COLUMN_Y;
    c.shared_wavefronts = blocks * 2 * COLUMN_Y;
    c.dram_read_bytes = 4 * rows * outputs;
    c.dram_write_bytes = 4 * outputs;
    wl_expect("bias_backward", launches, &c);
}

static void expect_layernorm(const options *o, long long launches) {
    long long rows = (long long)o->shape.batch * o->shape.context, C = o->shape.channels;
    long long n = rows * C, threads = rows * WARP, blocks = C / COLUMN_X;
    wl_counts f = {0};
    // Elements: add; sub, fma; sub, mul, fma. Lanes: 1 / channels, two sums of five shuffles, a
    // multiplication, an fma and a reciprocal root.
    f.flops_fp32 = n * (1 + 3 + 4) + threads * (1 + 2 * 5 + 1 + 2 + 1);
    add_row_loop(&f, n, 3 + 2, 1);
    add_lane_store(&f, 2 * rows);
    f.dram_read_bytes = 4 * n + 2 * 4 * C;
    f.dram_write_bytes = 4 * n + 2 * 4 * rows;
    wl_expect("layernorm_forward", launches, &f);

    wl_counts b = {0};
    // Elements: sub, mul, mul, add, fma; sub, mul, mul, sub, fma, fma.
    b.flops_fp32 = n * (6 + 8) + threads * (1 + 2 * 5 + 2);
    add_row_loop(&b, n, 3 + 4, 1);
    add_uniform_load(&b, 2 * rows);
    b.dram_read_bytes = 3 * 4 * n + 2 * 4 * rows + 4 * C;
    b.dram_write_bytes = 4 * n;
    wl_expect("layernorm_backward", launches, &b);

    wl_counts w = {0};
    w.flops_fp32 = n * 5 + 2 * blocks * COLUMN_X * (COLUMN_Y - 1);
    add_row_loop(&w, n, 2, 0);
    add_uniform_load(&w, 2 * n / WARP);
    add_row_loop(&w, C, 0, 2);
    w.shared_store_bytes = w.shared_load_bytes = 2 * 4 * blocks * COLUMN_X * COLUMN_Y;
    w.shared_wavefronts = 2 * blocks * 2 * COLUMN_Y;
    w.dram_read_bytes = 2 * 4 * n + 2 * 4 * rows;
    w.dram_write_bytes = 2 * 4 * C;
    wl_expect("layernorm_backward_weights", launches, &w);
}

static void expect_attention(const options *o, long long launches) {
    long long T = o->shape.context, C = o->shape.channels, H = o->shape.heads, D = C / H;
    long long matrices = o->shape.batch * H, rows = o->shape.batch * T;
    // Of one row t: t + 1 elements, in ceil((t + 1) / 32) warps and ceil((t + 1) / 8) sectors.
    long long pairs = matrices * T * (T + 1) / 2;
    long long warps = matrices * 16 * (T / 32) * (T / 32 + 1);
    long long sectors = matrices * 4 * (T / 8) * (T / 8 + 1);

    wl_counts s = {0}; // the same forward and backward, but for the DRAM bytes of its operands
    s.flops_fp32 = pairs * (2 * D + 1);
    s.load_bytes = 8 * D * pairs;
    s.load_requests = 2 * D * warps;
    s.load_sectors = D * (warps + pairs); // one word for all, and a sector for each lane
    s.store_bytes = 4 * pairs;
    s.store_requests = warps;
    s.store_sectors = sectors;
    s.dram_read_bytes = 2 * 4 * rows * C;
    s.dram_write_bytes = 32 * sectors;
    wl_expect("attention_scores", 2 * launches, &s);

    wl_counts f = {0};
    // Elements: sub, mul, ex2, add; mul. Lanes: five shuffled additions and, those that have an
    // element (the first t + 1 of a short row), a reciprocal.
    long long with_element = matrices * (WARP * (WARP + 1) / 2 + (T - WARP) * WARP);
    f.flops_fp32 = pairs * (4 + 1) + matrices * T * WARP * 5 + with_element;
    f.load_bytes = 3 * 4 * pairs;
    f.load_requests = 3 * warps;
    f.load_sectors = 3 * sectors;
    f.store_bytes = 2 * 4 * pairs;
    f.store_requests = 2 * warps;
    f.store_sectors = 2 * sectors;
    f.dram_read_bytes = f.dram_write_bytes = 32 * sectors;
    wl_expect("attention_softmax", launches, &f);

    wl_counts b = {0};
    b.flops_fp32 = pairs * (2 + 3) + matrices * T * WARP * 5;
    b.load_bytes = 4 * 4 * pairs;
    b.load_requests = 4 * warps;
    b.load_sectors = 4 * sectors;
    b.store_bytes = 4 * pairs;
    b.store_requests = warps;
    b.store_sectors = sectors;
    b.dram_read_bytes = 2 * 32 * sectors;
    b.dram_write_bytes = 32 * sectors;
    wl_expect("attention_softmax_backward", launches, &b);

    wl_counts v = {0}; // a warp is 32 channels, of one head or of several
    long long steps = rows * (T + 1) / 2 * (C / WARP), heads = 0;
    for (long long c = 0; c < C; c += WARP) // summed over the warps of one row
        heads += (c + WARP - 1) / D - c / D + 1;
    v.flops_fp32 = 2 * steps * WARP;
    v.load_bytes = 8 * steps * WARP;
    v.load_requests = 2 * steps;
    v.load_sectors = rows * (T + 1) / 2 * heads + 4 * steps;
    add_row_loop(&v, rows * C, 0, 1);
    v.dram_read_bytes = 32 * sectors + 4 * rows * C;
    v.dram_write_bytes = 4 * rows * C;
    wl_expect("attention_values", 2 * launches, &v);
    wl_expect("attention_values_turned", 2 * launches, &v);
}

static void expect_elements(const options *o, const train_layout *layout) {
    long long rows = (long long)o->shape.batch * o->shape.context, C = o->shape.channels;
    long long n = rows * C, steps = o->steps, layers = o->shape.layers * steps;
    wl_counts e = {0};
    e.flops_fp32 = n;
    add_row_loop(&e, n, 2, 1);
    add_uniform_load(&e, n / WARP);
    e.dram_read_bytes = WL_UNKNOWN;
    e.dram_write_bytes = 4 * n;
    wl_expect("embed_forward", steps, &e);

    wl_counts d = {0};
    add_row_loop(&d, n, 1, 0);
    add_uniform_load(&d, n / WARP);
    d.atomic_bytes = 2 * 4 * n;
    d.atomic_requests = 2 * n / WARP;
    d.atomic_sectors = 2 * n / 8;
    d.dram_read_bytes = d.dram_write_bytes = WL_UNKNOWN;
    wl_expect("embed_backward", steps, &d);

    wl_counts r = {0};
    r.flops_fp32 = n;
    wl_stream_load(&r, n, 4);
    wl_stream_load(&r, n, 4);
    wl_stream_store(&r, n, 4);
    wl_expect("residual_add", 2 * layers, &r);

    wl_counts g = {0}; // mul, fma, mul; mul, ex2, add, rcp; mul
    g.flops_fp32 = 4 * n * (1 + 2 + 1 + 4 + 1);
    wl_stream_load(&g, 4 * n, 4);
    wl_stream_store(&g, 4 * n, 4);
    wl_expect("gelu_forward", layers, &g);
    // mul, fma, mul; mul, ex2, add, rcp; mul, sub, mul; fma, fma, mul
    g.flops_fp32 = 4 * n * (1 + 2 + 1 + 4 + 3 + 5);
    wl_stream_load(&g, 4 * n, 4);
    wl_expect("gelu_backward", layers, &g);

    wl_counts a = {0}; // mul, fma; mul, mul, fma; mul, sqrt, add; mul, div; fma
    long long count = (long long)layout->count;
    a.flops_fp32 = count * (3 + 4 + 3 + 2 + 2);
    for (int i = 0; i < 4; i++)
        wl_stream_load(&a, count, 4);
    for (int i = 0; i < 3; i++)
        wl_stream_store(&a, count, 4);
    wl_expect("adam_update", steps, &a);

    wl_counts x = {0};
    long long symbols = rows * TRAIN_SYMBOLS;
    // Elements: sub, mul, ex2, add; sub, mul, ex2, mul, sub, mul. Lanes: five shuffled additions
    // and a reciprocal. First lane: lg2, mul, add, sub.
    x.flops_fp32 = symbols * (4 + 6) + rows * WARP * (5 + 1) + rows * 4;
    add_row_loop(&x, symbols, 3, 1);
    add_uniform_load(&x, rows); // the target
    x.load_bytes += 4 * rows;   // the target's logit, by the first lane
    x.load_requests += rows;
    x.load_sectors += rows;
    add_lane_store(&x, rows);
    x.dram_read_bytes = 4 * symbols + 4 * rows;
    x.dram_write_bytes = 4 * symbols + 4 * rows;
    wl_expect("cross_entropy", steps, &x);
}

static void expect(const options *o) {
    train_layout layout;
    train_layout_make(&layout, &o->shape);
    long long C = o->shape.channels, layers = (long long)o->shape.layers * o->steps;
    wl_expect_begin("train");
    expect_elements(o, &layout);
    expect_layernorm(o, 2 * layers + o->steps);
    expect_attention(o, layers);
    expect_linear(o, C, 3 * C, 1, layers);
    expect_linear(o, C, C, 1, layers);
    expect_linear(o, C, 4 * C, 1, layers);
    expect_linear(o, 4 * C, C, 1, layers);
    expect_linear(o, C, TRAIN_SYMBOLS, 0, o->steps);
    wl_expect_end();
}

/* ---- Options --------------------------------------------------------------------------------- */

static train_shape named_shape(const char *size, int *steps) {
    static const struct {
        const char *name;
        train_shape shape;
        int steps;
    } sizes[] = {
        // layers, heads, channels, context, batch
        {"tiny", {2, 4, 64, 32, 4}, 30},      // seconds on the emulated device
        {"small", {4, 4, 128, 64, 16}, 100},  // a laptop's GPU
        {"medium", {6, 6, 384, 256, 16}, 50}, // 11 M parameters
        {"large", {12, 12, 768, 1024, 8}, 20} // the smallest GPT-2, but for its vocabulary
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!strcmp(size, sizes[i].name)) {
            *steps = sizes[i].steps;
            return sizes[i].shape;
        }
    fprintf(stderr, "--size %s: want tiny, small, medium or large\n", size);
    exit(2);
}

static options read_options(int argc, char **argv) {
    static const char *const names[] = {
        "--size=",  "--layers=", "--heads=", "--channels=", "--context=", "--batch=",
        "--steps=", "--seed=",   "--naive",  "--check",     NULL};
    options o = {{0}, 0, 0, 0, 0, 0, 0};
    wl_options_check(argc, argv, names);
    const char *size = wl_option_text(argc, argv, "--size");
    train_shape s = named_shape(size ? size : "tiny", &o.steps);
    s.layers = wl_option(argc, argv, "--layers", s.layers, 1, TRAIN_MAX_LAYERS, 1);
    s.channels = wl_option(argc, argv, "--channels", s.channels, 64, 4096, 64);
    s.heads = wl_option(argc, argv, "--heads", s.heads, 1, 64, 1);
    s.context = wl_option(argc, argv, "--context", s.context, 32, 2048, 32);
    s.batch = wl_option(argc, argv, "--batch", s.batch, 1, 4096, 1);
    if (s.channels % s.heads || s.channels / s.heads % 8) {
        fprintf(stderr, "--heads %d: each head of %d channels must have a multiple of 8\n", s.heads,
                s.channels);
        exit(2);
    }
    double elements =
        (double)s.batch * s.context *
        (s.channels > s.heads * s.context / 4 ? 4.0 * s.channels : (double)s.heads * s.context);
    if (elements >= 2147483648.0) {
        fprintf(stderr,
                "batch, context, heads and channels make an array of %.0f elements, "
                "more than 2^31\n",
                elements);
        exit(2);
    }
    if (s.batch * s.context % TILE) {
        fprintf(stderr, "--batch %d --context %d: their product must be a multiple of %d\n",
                s.batch, s.context, TILE);
        exit(2);
    }
    o.shape = s;
    o.steps = wl_option(argc, argv, "--steps", o.steps, 1, 1 << 20, 1);
    o.seed = (uint32_t)wl_option(argc, argv, "--seed", 1234, 1, 1 << 30, 1);
    o.naive = wl_flag(argc, argv, "--naive");
    o.check = wl_flag(argc, argv, "--check");
    o.expect = wl_flag(argc, argv, "--expect");
    o.rate = s.channels <= 128 ? 3e-3f : 6e-4f;
    return o;
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    if (o.expect) {
        expect(&o);
        return 0;
    }
    return o.check ? check(&o) : train(&o);
}
