// SPDX-License-Identifier: Apache-2.0
//
// Layer normalisation of each row of a matrix, in two ways: a block per row that reads it word by
// word, and a warp per row that reads it by float4. Both take three passes over the row: its mean,
// its variance, the scaled result. The row is read three times, from DRAM once.
#include "workload.h"

enum { BLOCK = 128, WARPS = BLOCK / 32 };

static __device__ float warp_sum(float v) {
    for (int half = 16; half > 0; half /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

// The sum of V over the block, in every thread.
static __device__ float block_sum(float v, float *warp) {
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = (warp[0] + warp[1]) + (warp[2] + warp[3]);
    __syncthreads();
    return v;
}

// INVERSE is 1 / columns.
extern "C" __global__ void layernorm_block(const float *in, const float *gamma, const float *beta,
                                           float *out, int columns, float inverse, float epsilon) {
    __shared__ float warp[WARPS];
    in += (size_t)blockIdx.x * columns;
    out += (size_t)blockIdx.x * columns;
    float sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        sum += in[i];
    float mean = __fmul_rn(block_sum(sum, warp), inverse);
    float squares = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK) {
        float away = __fsub_rn(in[i], mean);
        squares = fmaf(away, away, squares);
    }
    float scale = rsqrtf(fmaf(block_sum(squares, warp), inverse, epsilon));
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        out[i] = fmaf(__fmul_rn(__fsub_rn(in[i], mean), scale), gamma[i], beta[i]);
}

static __device__ float normalise(float x, float mean, float scale, float gamma, float beta) {
    return fmaf(__fmul_rn(__fsub_rn(x, mean), scale), gamma, beta);
}

extern "C" __global__ void layernorm_warp(const float4 *in, const float4 *gamma, const float4 *beta,
                                          float4 *out, int quads, float inverse, float epsilon) {
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    in += row * quads;
    out += row * quads;
    float sum = 0;
#pragma unroll 1
    for (int i = lane; i < quads; i += 32) {
        float4 x = in[i];
        sum += (x.x + x.y) + (x.z + x.w);
    }
    float mean = __fmul_rn(warp_sum(sum), inverse);
    float squares = 0;
#pragma unroll 1
    for (int i = lane; i < quads; i += 32) {
        float4 x = in[i];
        float a = __fsub_rn(x.x, mean), b = __fsub_rn(x.y, mean);
        float c = __fsub_rn(x.z, mean), d = __fsub_rn(x.w, mean);
        squares = fmaf(a, a, fmaf(b, b, fmaf(c, c, fmaf(d, d, squares))));
    }
    float scale = rsqrtf(fmaf(warp_sum(squares), inverse, epsilon));
#pragma unroll 1
    for (int i = lane; i < quads; i += 32) {
        float4 x = in[i], g = gamma[i], b = beta[i];
        out[i] = make_float4(
            normalise(x.x, mean, scale, g.x, b.x), normalise(x.y, mean, scale, g.y, b.y),
            normalise(x.z, mean, scale, g.z, b.z), normalise(x.w, mean, scale, g.w, b.w));
    }
}

static void expect(long long rows, long long columns) {
    wl_counts all = {0};
    long long n = rows * columns;
    // In: three passes; gamma and beta once each.
    all.load_bytes = 5 * 4 * n;
    all.load_sectors = 5 * n / 8;
    all.store_bytes = 4 * n;
    all.store_sectors = n / 8;
    all.dram_read_bytes = 4 * n + 2 * 4 * columns;
    all.dram_write_bytes = 4 * n;
    wl_expect_begin("layernorm");

    // Per element: an addition; a subtraction and an fma; subtraction, multiplication and fma. Per
    // thread: twice five shuffled additions and three of warps; mul, fma, rsqrt.
    wl_counts block = all;
    long long threads = rows * BLOCK, warps = rows * WARPS;
    block.flops_fp32 = 8 * n + threads * (2 * 8 + 1 + 2 + 1);
    block.load_requests = 5 * n / 32;
    block.store_requests = n / 32;
    block.shared_store_bytes = 2 * 4 * warps;
    block.shared_load_bytes = 2 * 16 * threads;
    block.shared_wavefronts = 2 * (warps + 4 * warps);
    wl_expect("layernorm_block", 1, &block);

    wl_counts warp = all;
    warp.flops_fp32 = 8 * n + rows * 32 * (2 * 5 + 1 + 2 + 1);
    warp.load_requests = 5 * n / 128;
    warp.store_requests = n / 128;
    wl_expect("layernorm_warp", 1, &warp);
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--rows=", "--columns=", NULL};
    wl_options_check(argc, argv, options);
    int rows = wl_option(argc, argv, "--rows", 256, WARPS, 1 << 20, WARPS);
    int columns = wl_option(argc, argv, "--columns", 768, BLOCK, 1 << 20, BLOCK);
    if (wl_flag(argc, argv, "--expect")) {
        expect(rows, columns);
        return 0;
    }
    const float epsilon = 1e-5f;
    size_t n = (size_t)rows * columns;
    float *in = wl_random_array(n, 14), *gamma = wl_random_array(columns, 15);
    float *beta = wl_random_array(columns, 16), *got = (float *)wl_host_alloc(n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        in[i] = 3 * in[i] + 2;
    float *din = (float *)wl_device_copy(in, n * sizeof *in);
    float *dgamma = (float *)wl_device_copy(gamma, columns * sizeof *gamma);
    float *dbeta = (float *)wl_device_copy(beta, columns * sizeof *beta);
    float *dout = (float *)wl_device_alloc(n * sizeof *in);
    for (int kind = 0; kind < 2; kind++) {
        const char *name = kind ? "layernorm_warp" : "layernorm_block";
        if (kind)
            layernorm_warp<<<rows / WARPS, BLOCK>>>((float4 *)din, (float4 *)dgamma,
                                                    (float4 *)dbeta, (float4 *)dout, columns / 4,
                                                    1.0f / columns, epsilon);
        else
            layernorm_block<<<rows, BLOCK>>>(din, dgamma, dbeta, dout, columns, 1.0f / columns,
                                             epsilon);
        wl_launched(name);
        wl_fetch(got, dout, n * sizeof *got);
        WL_CUDA(cudaMemset(dout, 0, n * sizeof *got));
        for (int r = 0; r < rows; r++) {
            const float *x = in + (size_t)r * columns;
            double mean = 0, variance = 0;
            for (int i = 0; i < columns; i++)
                mean += x[i];
            mean /= columns;
            for (int i = 0; i < columns; i++)
                variance += (x[i] - mean) * (x[i] - mean);
            double scale = 1 / sqrt(variance / columns + epsilon);
            for (int i = 0; i < columns; i++)
                wl_compare(name, (long long)r * columns + i, got[(size_t)r * columns + i],
                           (x[i] - mean) * scale * gamma[i] + beta[i], 1e-5);
        }
    }
    cudaFree(din);
    cudaFree(dgamma);
    cudaFree(dbeta);
    cudaFree(dout);
    free(in);
    free(gamma);
    free(beta);
    free(got);
    return wl_verdict("layernorm");
}
