// SPDX-License-Identifier: Apache-2.0
//
// The sum of an array in two ways: a tree in shared memory that leaves one partial sum a block, and
// shuffles within a warp followed by one atomic addition a warp. The data are small whole numbers,
// so that every order of addition gives the same float.
#include "workload.h"

enum { BLOCK = 256, WARPS = BLOCK / 32 };

extern "C" __global__ void reduce_shared(const float *x, float *partial) {
    __shared__ float sum[BLOCK];
    int t = threadIdx.x;
    sum[t] = x[blockIdx.x * BLOCK + t];
    __syncthreads();
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = sum[0];
}

extern "C" __global__ void reduce_shuffle(const float *x, float *total) {
    float sum = x[blockIdx.x * BLOCK + threadIdx.x];
    for (int half = 16; half > 0; half /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, sum);
}

static void expect(long long n) {
    long long blocks = n / BLOCK;
    wl_expect_begin("reduction");
    wl_counts c = {0};
    wl_stream_load(&c, n, 4);
    c.flops_fp32 = blocks * (BLOCK - 1);
    c.store_bytes = 4 * blocks;
    c.store_requests = c.store_sectors = blocks;
    c.dram_write_bytes = wl_sectors(4 * blocks) * 32;
    // One store a thread, then per addition two loads and a store, and the load of the result.
    c.shared_store_bytes = 4 * blocks * (BLOCK + BLOCK - 1);
    c.shared_load_bytes = 4 * blocks * (2 * (BLOCK - 1) + 1);
    // Consecutive words: one wavefront a warp. A level of the tree with HALF threads has
    // ceil(HALF / 32) warps: 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1 for 256 threads.
    long long warps = 0;
    for (int half = BLOCK / 2; half > 0; half /= 2)
        warps += wl_ceil_div(half, 32);
    c.shared_wavefronts = blocks * (WARPS + 3 * warps + 1);
    wl_expect("reduce_shared", 1, &c);

    wl_counts s = {0};
    wl_stream_load(&s, n, 4);
    s.flops_fp32 = 5 * n; // all lanes add in each of log2(32) steps
    s.atomic_bytes = 4 * (n / 32);
    s.atomic_requests = s.atomic_sectors = n / 32;
    s.dram_read_bytes += 32; // the total is read, added to and written back
    s.dram_write_bytes = 32;
    wl_expect("reduce_shuffle", 1, &s);
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 1 << 20, 2048, 1 << 24, 2048);
    if (wl_flag(argc, argv, "--expect")) {
        expect(n);
        return 0;
    }
    int blocks = n / BLOCK;
    float *x = (float *)wl_host_alloc(n * sizeof *x);
    float *partial = (float *)wl_host_alloc(blocks * sizeof *partial), total = 0;
    double want = 0;
    uint32_t seed = 4;
    for (int i = 0; i < n; i++)
        want += x[i] = wl_random(&seed) % 2; // sums stay below 2^24, where float is exact
    float *dx = (float *)wl_device_copy(x, n * sizeof *x);
    float *dpartial = (float *)wl_device_alloc(blocks * sizeof *partial);
    float *dtotal = (float *)wl_device_copy(&total, sizeof total);
    reduce_shared<<<blocks, BLOCK>>>(dx, dpartial);
    wl_launched("reduce_shared");
    reduce_shuffle<<<blocks, BLOCK>>>(dx, dtotal);
    wl_launched("reduce_shuffle");
    wl_fetch(partial, dpartial, blocks * sizeof *partial);
    wl_fetch(&total, dtotal, sizeof total);
    double sum = 0;
    for (int b = 0; b < blocks; b++)
        sum += partial[b];
    wl_compare("reduce_shared", 0, sum, want, 0);
    wl_compare("reduce_shuffle", 0, total, want, 0);
    cudaFree(dx);
    cudaFree(dpartial);
    cudaFree(dtotal);
    free(x);
    free(partial);
    return wl_verdict("reduction");
}
