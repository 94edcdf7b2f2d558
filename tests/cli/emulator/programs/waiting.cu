// SPDX-License-Identifier: Apache-2.0
// Blocks that wait for each other: at a grid's barrier, in a chain of flags, at a lock; and blocks that
// do not. More memory than the L2 holds, whose number of sets is no power of two: which set a line falls
// into shows in the misses. repeat.sh runs it.
// FLAGS: -arch=compute_86
// DEVICES: RTX 3080
#include "check.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void at_barrier(float *a, const float *b, double *sums, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 2; round++) {
        double sum = 0;
        for (size_t i = grid.thread_rank(); i < n; i += grid.size())
            sum += a[i] * b[i];
        atomicAdd(&sums[round], sum);
        grid.sync();
        for (size_t i = grid.thread_rank(); i < n; i += grid.size())
            a[i] += (float)sums[round] * b[i];
        grid.sync();
    }
}

__global__ void in_chain(float *a, volatile int *turn, int n) {
    if (threadIdx.x == 0)
        while (*turn != (int)blockIdx.x)
            ;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        a[i] += 1.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        *turn = (int)blockIdx.x + 1;
}

__global__ void at_lock(int *lock, float *a, int n) {
    if (threadIdx.x == 0)
        while (atomicCAS(lock, 0, 1) != 0)
            ;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        a[i] += (float)blockIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(lock, 0);
}

/* Where a value goes depends on who comes first. */
__global__ void compact(const float *in, float *out, int *count, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n && i % 3 == 0)
        out[atomicAdd(count, 1)] = in[i];
}

__global__ void alone(float *a, const float *b, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        a[i] = a[i] * 2 + b[i * 7ll % n];
}

int main() {
    const int n = 700001, blocks = (n + 255) / 256;
    float *a, *b;
    double *sums;
    int *words;
    CUDA(cudaMalloc(&a, n * sizeof *a));
    CUDA(cudaMalloc(&b, n * sizeof *b));
    CUDA(cudaMalloc(&sums, 2 * sizeof *sums));
    CUDA(cudaMalloc(&words, 3 * sizeof *words));
    CUDA(cudaMemset(a, 0, n * sizeof *a));
    CUDA(cudaMemset(b, 0, n * sizeof *b));
    CUDA(cudaMemset(sums, 0, 2 * sizeof *sums));
    CUDA(cudaMemset(words, 0, 3 * sizeof *words));
    int count = n;
    void *arguments[] = {&a, &b, &sums, &count};
    CUDA(cudaLaunchCooperativeKernel((void *)at_barrier, 40, 128, arguments));
    in_chain<<<40, 128>>>(a, words, n / 8);
    at_lock<<<40, 128>>>(words + 1, a, n / 8);
    compact<<<blocks, 256>>>(a, b, words + 2, n);
    alone<<<blocks, 256>>>(a, b, n);
    CUDA(cudaDeviceSynchronize());
    int kept;
    CUDA(cudaMemcpy(&kept, words + 2, sizeof kept, cudaMemcpyDeviceToHost));
    CHECK(kept == (n + 2) / 3);
    printf("%p %p %p %p\n", (void *)a, (void *)b, (void *)sums, (void *)words);
    return 0;
}
