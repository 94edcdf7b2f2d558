// SPDX-License-Identifier: Apache-2.0
//
// Attention, softmax(Q K^T / sqrt(D)) V, in fp32, in two ways: naive, by three kernels that write
// all scores to memory between them; and tiled, by one that keeps the scores of a tile in
// registers, the maximum and the sum of each row running along (the scheme of FlashAttention). Q,
// K, V and the result are [heads][context][HEAD].
#include "workload.h"

enum { HEAD = 64, TILE = 32, BLOCK = 128, WARPS = BLOCK / 32, ROWS = TILE / WARPS };
// Rows of K in shared memory, padded so that the lanes, each at a row of its own, meet no bank
// twice.
enum { PITCH = HEAD + 1 };

static __device__ float warp_max(float v) {
    for (int half = 16; half > 0; half /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, half));
    return v;
}

static __device__ float warp_sum(float v) {
    for (int half = 16; half > 0; half /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

// ---- naive
// ----------------------------------------------------------------------------------------

// A thread a score; the lanes go along the keys.
extern "C" __global__ void attention_scores(const float *q, const float *k, float *scores,
                                            int context, float scale) {
    int key = blockIdx.x * 32 + threadIdx.x, query = blockIdx.y * blockDim.y + threadIdx.y;
    q += ((size_t)blockIdx.z * context + query) * HEAD;
    k += ((size_t)blockIdx.z * context + key) * HEAD;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < HEAD; i++)
        sum = fmaf(q[i], k[i], sum);
    scores[((size_t)blockIdx.z * context + query) * context + key] = __fmul_rn(sum, scale);
}

// A warp a row, in place.
extern "C" __global__ void attention_softmax(float *scores, int context) {
    float *row = scores + ((size_t)blockIdx.x * WARPS + threadIdx.x / 32) * context;
    int lane = threadIdx.x % 32;
    float largest = -INFINITY;
#pragma unroll 1
    for (int i = lane; i < context; i += 32)
        largest = fmaxf(largest, row[i]);
    largest = warp_max(largest);
    float sum = 0;
#pragma unroll 1
    for (int i = lane; i < context; i += 32) {
        float e = __expf(row[i] - largest);
        row[i] = e;
        sum += e;
    }
    float inverse = 1.0f / warp_sum(sum);
#pragma unroll 1
    for (int i = lane; i < context; i += 32)
        row[i] = __fmul_rn(row[i], inverse);
}

// A thread a result; the lanes go along the channels.
extern "C" __global__ void attention_values(const float *scores, const float *v, float *out,
                                            int context) {
    size_t row = (size_t)blockIdx.y * context + blockIdx.x * blockDim.y + threadIdx.y;
    scores += row * context;
    v += (size_t)blockIdx.y * context * HEAD + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < context; i++)
        sum = fmaf(scores[i], v[(size_t)i * HEAD], sum);
    out[row * HEAD + threadIdx.x] = sum;
}

// ---- tiled
// ----------------------------------------------------------------------------------------

// A block makes TILE rows of the result, a warp ROWS of them. Over the keys of a tile the lanes go
// one key each for the scores, then two channels each (lane and lane + 32) for the result.
extern "C" __global__ void attention_tiled(const float *q, const float *k, const float *v,
                                           float *out, int context, float scale) {
    __shared__ __align__(16) float qs[TILE * HEAD], vs[TILE * HEAD];
    __shared__ float ks[TILE * PITCH];
    const int t = threadIdx.x, lane = t % 32, first = t / 32 * ROWS;
    const size_t head = (size_t)blockIdx.y * context * HEAD,
                 block = head + (size_t)blockIdx.x * TILE * HEAD;
#pragma unroll
    for (int i = t; i < TILE * HEAD / 4; i += BLOCK)
        ((float4 *)qs)[i] = ((const float4 *)(q + block))[i];
    float largest[ROWS], sum[ROWS], low[ROWS], high[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        largest[r] = -INFINITY;
        sum[r] = low[r] = high[r] = 0;
    }
#pragma unroll 1
    for (int tile = 0; tile < context; tile += TILE) {
        const float *kt = k + head + (size_t)tile * HEAD, *vt = v + head + (size_t)tile * HEAD;
        __syncthreads();
#pragma unroll
        for (int i = t; i < TILE * HEAD; i += BLOCK)
            ks[i / HEAD * PITCH + i % HEAD] = kt[i];
#pragma unroll
        for (int i = t; i < TILE * HEAD / 4; i += BLOCK)
            ((float4 *)vs)[i] = ((const float4 *)vt)[i];
        __syncthreads();

        float p[ROWS] = {0};
#pragma unroll 1
        for (int i = 0; i < HEAD; i++) {
            float x = ks[lane * PITCH + i];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                p[r] = fmaf(qs[(first + r) * HEAD + i], x, p[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            float s = __fmul_rn(p[r], scale), larger = fmaxf(largest[r], warp_max(s));
            float fade = __expf(__fsub_rn(largest[r], larger));
            p[r] = __expf(__fsub_rn(s, larger));
            sum[r] = fmaf(sum[r], fade, warp_sum(p[r]));
            low[r] = __fmul_rn(low[r], fade);
            high[r] = __fmul_rn(high[r], fade);
            largest[r] = larger;
        }
#pragma unroll 1
        for (int j = 0; j < TILE; j++) {
            float x = vs[j * HEAD + lane], y = vs[j * HEAD + lane + 32];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float weight = __shfl_sync(0xffffffffu, p[r], j);
                low[r] = fmaf(weight, x, low[r]);
                high[r] = fmaf(weight, y, high[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float inverse = 1.0f / sum[r];
        float *to = out + block + (size_t)(first + r) * HEAD + lane;
        to[0] = __fmul_rn(low[r], inverse);
        to[32] = __fmul_rn(high[r], inverse);
    }
}

// ---- closed forms
// ---------------------------------------------------------------------------------

static void expect_naive(long long heads, long long context) {
    long long n = heads * context * HEAD, pairs = heads * context * context;
    wl_counts scores = {0};
    scores.flops_fp32 = pairs * (2 * HEAD + 1);
    scores.load_bytes = pairs * HEAD * 2 * 4;
    scores.load_requests = pairs / 32 * HEAD * 2;
    scores.load_sectors =
        pairs / 32 * HEAD * (1 + 32); // a word of q for all lanes; a row of k each
    wl_stream_store(&scores, pairs, 4);
    scores.dram_read_bytes = 2 * 4 * n;
    wl_expect("attention_scores", 1, &scores);

    // Per element: subtraction, multiplication and power of two of an exponential, addition; the
    // multiplication. Per lane: five shuffled additions and a reciprocal.
    wl_counts softmax = {0};
    softmax.flops_fp32 = pairs * (1 + 2 + 1 + 1) + heads * context * 32 * (5 + 1);
    softmax.load_bytes = 3 * 4 * pairs;
    softmax.load_requests = 3 * pairs / 32;
    softmax.load_sectors = 3 * pairs / 8;
    softmax.store_bytes = 2 * 4 * pairs;
    softmax.store_requests = 2 * pairs / 32;
    softmax.store_sectors = 2 * pairs / 8;
    softmax.dram_read_bytes = softmax.dram_write_bytes = 4 * pairs;
    wl_expect("attention_softmax", 1, &softmax);

    wl_counts values = {0};
    values.flops_fp32 = 2 * n * context;
    values.load_bytes = n * context * 2 * 4;
    values.load_requests = n / 32 * context * 2;
    values.load_sectors = n / 32 * context * (1 + 4);
    wl_stream_store(&values, n, 4);
    values.dram_read_bytes = 4 * (pairs + n);
    wl_expect("attention_values", 1, &values);
}

static void expect_tiled(long long heads, long long context) {
    const long long n = heads * context * HEAD, pairs = heads * context * context;
    const long long blocks = heads * (context / TILE), steps = blocks * (context / TILE);
    const long long bytes = 4 * TILE * HEAD; // of a tile of Q, K or V
    wl_counts c = {0};
    // A pair: scores, scale, exponential (sub, mul, ex2), result. A row and lane of a tile: the
    // fading factor (sub, mul, ex2), five shuffled additions, an fma, two multiplications; at the
    // end a reciprocal and two multiplications.
    c.flops_fp32 = pairs * (2 * HEAD + 1 + 3 + 2 * HEAD) + steps * TILE * 32 * (3 + 5 + 2 + 2) +
                   blocks * TILE * 32 * (1 + 2);
    c.load_bytes = bytes * (blocks + 2 * steps);
    c.load_requests = bytes / 512 * blocks + (bytes / 128 + bytes / 512) * steps;
    c.load_sectors = c.load_bytes / 32;
    c.store_bytes = 4 * n;
    c.store_requests = n / 32;
    c.store_sectors = n / 8;
    c.shared_store_bytes = c.load_bytes;
    // A warp and tile: for each channel a word of K a lane and a word of each of its rows of Q for
    // all lanes; for each key two words of V.
    const long long reads = steps * WARPS * (HEAD * (1 + ROWS) + 2 * TILE);
    c.shared_load_bytes = reads * 32 * 4;
    c.shared_wavefronts = c.shared_store_bytes / 128 + reads; // none meets a bank twice
    c.dram_read_bytes = 3 * 4 * n;
    c.dram_write_bytes = 4 * n;
    wl_expect("attention_tiled", 1, &c);
}

// ---- reference
// ------------------------------------------------------------------------------------

static double *reference(const float *q, const float *k, const float *v, int heads, int context) {
    size_t n = (size_t)heads * context * HEAD;
    double *out = (double *)wl_host_alloc(n * sizeof *out);
    double *p = (double *)wl_host_alloc(context * sizeof *p);
    for (int row = 0; row < heads * context; row++) {
        size_t head = (size_t)(row / context) * context * HEAD;
        double sum = 0;
        for (int j = 0; j < context; j++) {
            double s = 0;
            for (int i = 0; i < HEAD; i++)
                s += (double)q[(size_t)row * HEAD + i] * k[head + (size_t)j * HEAD + i];
            sum += p[j] = exp(s / sqrt((double)HEAD)); // scores are small
        }
        for (int i = 0; i < HEAD; i++) {
            double r = 0;
            for (int j = 0; j < context; j++)
                r += p[j] * v[head + (size_t)j * HEAD + i];
            out[(size_t)row * HEAD + i] = r / sum;
        }
    }
    free(p);
    return out;
}

static void verify(const char *name, const double *want, float *got, float *dout, size_t n) {
    wl_launched(name);
    wl_fetch(got, dout, n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        wl_compare(name, (long long)i, got[i], want[i], 1e-5);
    WL_CUDA(cudaMemset(dout, 0, n * sizeof *got));
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--heads=", "--context=", NULL};
    wl_options_check(argc, argv, options);
    int heads = wl_option(argc, argv, "--heads", 4, 1, 1 << 12, 1);
    int context = wl_option(argc, argv, "--context", 128, TILE, 1 << 14, TILE);
    if (wl_flag(argc, argv, "--expect")) {
        wl_expect_begin("attention");
        expect_naive(heads, context);
        expect_tiled(heads, context);
        wl_expect_end();
        return 0;
    }
    size_t n = (size_t)heads * context * HEAD;
    float *q = wl_random_array(n, 17), *k = wl_random_array(n, 18), *v = wl_random_array(n, 19);
    float *got = (float *)wl_host_alloc(n * sizeof *got);
    double *want = reference(q, k, v, heads, context);
    float *dq = (float *)wl_device_copy(q, n * sizeof *q),
          *dk = (float *)wl_device_copy(k, n * sizeof *k);
    float *dv = (float *)wl_device_copy(v, n * sizeof *v);
    float *dout = (float *)wl_device_alloc(n * sizeof *q);
    float *scores = (float *)wl_device_alloc((size_t)heads * context * context * sizeof *scores);
    const float scale = 1 / sqrtf(HEAD);

    attention_scores<<<dim3(context / 32, context / 8, heads), dim3(32, 8)>>>(dq, dk, scores,
                                                                              context, scale);
    wl_launched("attention_scores");
    attention_softmax<<<heads * context / WARPS, BLOCK>>>(scores, context);
    wl_launched("attention_softmax");
    attention_values<<<dim3(context / 4, heads), dim3(HEAD, 4)>>>(scores, dv, dout, context);
    verify("attention_values", want, got, dout, n);

    attention_tiled<<<dim3(context / TILE, heads), BLOCK>>>(dq, dk, dv, dout, context, scale);
    verify("attention_tiled", want, got, dout, n);

    cudaFree(dq);
    cudaFree(dk);
    cudaFree(dv);
    cudaFree(dout);
    cudaFree(scores);
    free(q);
    free(k);
    free(v);
    free(got);
    free(want);
    return wl_verdict("attention");
}
