// SPDX-License-Identifier: Apache-2.0
//
// Softmax of each row of a matrix, a block per row, in three passes over the row: its largest
// element, the sum of the exponentials, the division. The row is read three times, from DRAM once.
#include "workload.h"

enum { BLOCK = 128, WARPS = BLOCK / 32 };

// The largest or the sum of V over the block, in every thread.
static __device__ float block_max(float v, float *warp) {
    for (int half = 16; half > 0; half /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, half));
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = fmaxf(fmaxf(warp[0], warp[1]), fmaxf(warp[2], warp[3]));
    __syncthreads();
    return v;
}

static __device__ float block_sum(float v, float *warp) {
    for (int half = 16; half > 0; half /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, half);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = (warp[0] + warp[1]) + (warp[2] + warp[3]);
    __syncthreads();
    return v;
}

extern "C" __global__ void softmax_rows(const float *in, float *out, int columns) {
    __shared__ float warp[WARPS];
    in += (size_t)blockIdx.x * columns;
    out += (size_t)blockIdx.x * columns;
    float largest = -INFINITY;
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        largest = fmaxf(largest, in[i]);
    largest = block_max(largest, warp);
    float sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        sum += __expf(in[i] - largest);
    float scale = 1.0f / block_sum(sum, warp);
#pragma unroll 1
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        out[i] = __expf(in[i] - largest) * scale;
}

static void expect(long long rows, long long columns) {
    wl_counts c = {0};
    long long n = rows * columns, warps = rows * WARPS, threads = rows * BLOCK;
    // An exponential is a multiplication and a base-2 exponential. Per element: subtraction,
    // exponential and addition, then subtraction, exponential and multiplication. Per thread: five
    // shuffled additions, three of warps, one reciprocal.
    c.flops_fp32 = n * (1 + 2 + 1 + 1 + 2 + 1) + threads * (5 + 3 + 1);
    c.load_bytes = 3 * 4 * n;
    c.load_requests = 3 * n / 32;
    c.load_sectors = 3 * n / 8;
    c.store_bytes = 4 * n;
    c.store_requests = n / 32;
    c.store_sectors = n / 8;
    // Twice: a word stored per warp, and four that every thread reads.
    c.shared_store_bytes = 2 * 4 * warps;
    c.shared_load_bytes = 2 * 16 * threads;
    c.shared_wavefronts = 2 * (warps + 4 * warps);
    c.dram_read_bytes = c.dram_write_bytes = 4 * n;
    wl_expect_begin("softmax");
    wl_expect("softmax_rows", 1, &c);
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--rows=", "--columns=", NULL};
    wl_options_check(argc, argv, options);
    int rows = wl_option(argc, argv, "--rows", 256, 1, 1 << 20, 1);
    int columns = wl_option(argc, argv, "--columns", 1024, BLOCK, 1 << 20, BLOCK);
    if (wl_flag(argc, argv, "--expect")) {
        expect(rows, columns);
        return 0;
    }
    size_t n = (size_t)rows * columns;
    float *in = wl_random_array(n, 13), *got = (float *)wl_host_alloc(n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        in[i] *= 10;
    float *din = (float *)wl_device_copy(in, n * sizeof *in);
    float *dout = (float *)wl_device_alloc(n * sizeof *in);
    softmax_rows<<<rows, BLOCK>>>(din, dout, columns);
    wl_launched("softmax_rows");
    wl_fetch(got, dout, n * sizeof *got);
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < columns; i++)
            sum += exp(in[(size_t)r * columns + i]);
        for (int i = 0; i < columns; i++)
            wl_compare("softmax_rows", (long long)r * columns + i, got[(size_t)r * columns + i],
                       exp(in[(size_t)r * columns + i]) / sum, 1e-5);
    }
    cudaFree(din);
    cudaFree(dout);
    free(in);
    free(got);
    return wl_verdict("softmax");
}
