// SPDX-License-Identifier: Apache-2.0
// Ways to launch, and what can be asked about kernels: attributes, occupancy, dynamic shared memory
// beyond 48 KiB, cooperative launches, templates, structures as parameters, printf.
// STDOUT: hello from 3
// COUNTS: "registers_provenance":"cubin"
// COUNTS: "cooperative":true
// FLAGS: -arch=sm_90
#include "check.h"
#include <cooperative_groups.h>

struct big {
    double d[20];
    char c;
    short s[3];
};

template <typename T, int N> __global__ void fill(T *p, big b, T value) {
    extern __shared__ char scratch[];
    T *mine = (T *)scratch;
    mine[threadIdx.x] = value + (T)b.d[19] + (T)b.c + (T)b.s[2];
    __syncthreads();
    for (int i = 0; i < N; i++)
        p[threadIdx.x * N + i] = mine[(threadIdx.x + i) % blockDim.x];
}

__global__ void hello() {
    if (threadIdx.x == 3)
        printf("hello from %d %s %.1f\n", threadIdx.x, "text", 2.5);
}

/* The sum of all block indices, passed through a barrier of the whole grid. */
__global__ void gather(int *parts, int *sum) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0)
        parts[blockIdx.x] = blockIdx.x;
    grid.sync();
    if (grid.thread_rank() == 0) {
        int s = 0;
        for (int i = 0; i < (int)gridDim.x; i++)
            s += parts[i];
        *sum = s;
    }
}

static void ask() {
    cudaFuncAttributes a;
    cudaDeviceProp p;
    int blocks, size, grid, value;
    CUDA(cudaFuncGetAttributes(&a, hello));
    CHECK(a.numRegs > 0 && a.maxThreadsPerBlock == 1024);
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hello, 256, 0));
    CUDA(cudaGetDeviceProperties(&p, 0));
    CHECK(blocks > 0 && blocks * 256 <= p.maxThreadsPerMultiProcessor);
    CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &size, hello));
    CHECK(size > 0 && size <= 1024 && grid >= p.multiProcessorCount);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == p.multiProcessorCount && p.warpSize == 32 && p.major >= 6);
    EXPECT(cudaFuncGetAttributes(&a, (const void *)&p), cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

int main() {
    double *d, host[64 * 2];
    big b = {};
    b.d[19] = 100, b.c = 10, b.s[2] = 1;
    ask();
    CUDA(cudaMalloc(&d, sizeof host));
    fill<double, 2><<<1, 64, 100 << 10>>>(d, b, 1000.0);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue); /* more than 48 KiB, not asked for */
    CUDA(cudaFuncSetAttribute(fill<double, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              100 << 10));
    fill<double, 2><<<1, 64, 100 << 10>>>(d, b, 1000.0);
    CUDA(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    for (double v : host)
        CHECK(v == 1111);

    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 64;
    config.dynamicSmemBytes = 1024;
    CUDA(cudaLaunchKernelEx(&config, fill<int, 4>, (int *)d, b, 5));
    CUDA(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(((int *)host)[255] == 116);
    hello<<<1, 32>>>();
    CUDA(cudaDeviceSynchronize());

    int *parts, *sum, value = 0, count = 100;
    CUDA(cudaMalloc(&parts, count * sizeof(int)));
    CUDA(cudaMalloc(&sum, sizeof(int)));
    void *arguments[] = {&parts, &sum};
    CUDA(cudaLaunchCooperativeKernel((void *)gather, dim3(count), dim3(64), arguments, 0, 0));
    CUDA(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 99 * 100 / 2);
    EXPECT(cudaLaunchCooperativeKernel((void *)gather, dim3(1 << 20), dim3(64), arguments, 0, 0),
           cudaErrorCooperativeLaunchTooLarge);
    return 0;
}
