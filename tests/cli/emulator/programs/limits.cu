// SPDX-License-Identifier: Apache-2.0
// Sizes at and over the limits, and pointers that are none: each is refused with its error or done, and
// nothing is left behind.
#include "check.h"
#include <cstdint>
#include <thread>
#include <vector>

__global__ void empty() {
}

__global__ void count_blocks(unsigned long long *n) {
    if (blockIdx.x + blockIdx.y + blockIdx.z == gridDim.x + gridDim.y + gridDim.z - 3)
        *n = (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
}

__global__ void use_shared(int *p, int bytes) {
    extern __shared__ char room[];
    room[bytes - 1 - threadIdx.x] = 1;
    __syncthreads();
    p[threadIdx.x] = room[bytes - 1 - threadIdx.x];
}

static void shapes(int *p) {
    const cudaError_t refused = cudaErrorInvalidConfiguration;
    empty<<<0, 32>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<1, 0>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<dim3(1, 0, 1), 32>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<1, dim3(1, 1, 65)>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<1, 1025>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<1, dim3(65536, 65536, 1)>>>(); /* 2^32 threads: 0 in 32 bits */
    CHECK(cudaGetLastError() == refused);
    empty<<<0x80000000u, 1>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<dim3(1, 65536, 1), 1>>>();
    CHECK(cudaGetLastError() == refused);
    empty<<<dim3(1, 65535, 1), 1>>>();
    CUDA(cudaDeviceSynchronize());
    void *none[] = {&p};
    CHECK(cudaLaunchKernel(nullptr, 1, 1, none, 0, nullptr) != cudaSuccess);
    CHECK(cudaLaunchKernel(p, 1, 1, none, 0, nullptr) != cudaSuccess);
    cudaGetLastError();
}

static void shared_memory(int *p) {
    int most, host[32];
    CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    use_shared<<<1, 32, 49152>>>(p, 49152);
    CUDA(cudaGetLastError());
    use_shared<<<1, 32, 49153>>>(p, 49153);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CHECK(cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1) !=
          cudaSuccess);
    cudaGetLastError();
    use_shared<<<1, 32, most>>>(p, most);
    CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 1 && host[31] == 1);
    use_shared<<<1, 32, SIZE_MAX>>>(p, 64);
    CHECK(cudaGetLastError() != cudaSuccess);
    use_shared<<<1, 32, (size_t)1 << 32>>>(p, 64); /* 0 in 32 bits */
    CHECK(cudaGetLastError() != cudaSuccess);
}

static void pointers(int *p) {
    const cudaError_t refused = cudaErrorInvalidValue;
    char host[64];
    void *q;
    int *wild = (int *)(uintptr_t)0x1234560;
    CUDA(cudaMemcpy(host, nullptr, 0, cudaMemcpyDeviceToHost));
    EXPECT(cudaMemcpy(host, nullptr, 4, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpy(nullptr, p, 4, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpy(p, nullptr, 4, cudaMemcpyHostToDevice), refused);
    EXPECT(cudaMemcpy(host, wild, 4, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpy(wild, host, 4, cudaMemcpyHostToDevice), refused);
    EXPECT(cudaMemcpy(p, wild, 4, cudaMemcpyDeviceToDevice), refused);
    EXPECT(cudaMemcpy(host, p, SIZE_MAX, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpy(host, p - 1, 4, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpyAsync(host, p + 1024, 4, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemset(wild, 0, 4), refused);
    EXPECT(cudaMemset(p, 0, SIZE_MAX), refused);
    EXPECT(cudaMemcpy2D(host, 8, p, SIZE_MAX, 8, SIZE_MAX, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaMemcpy2D(host, 8, p, (size_t)1 << 62, 8, 5, cudaMemcpyDeviceToHost), refused);
    EXPECT(cudaFree(wild), refused);
    EXPECT(cudaFree(p + 1), refused);
    EXPECT(cudaFree(host), refused);
    EXPECT(cudaMalloc(nullptr, 4), refused);
    EXPECT(cudaMalloc(&q, SIZE_MAX), cudaErrorMemoryAllocation);
    EXPECT(cudaMallocHost(&q, SIZE_MAX), cudaErrorMemoryAllocation);
    EXPECT(cudaMallocManaged(&q, SIZE_MAX), cudaErrorMemoryAllocation);
    CHECK(cudaStreamSynchronize((cudaStream_t)(uintptr_t)0x999990) != cudaSuccess);
    CHECK(cudaEventRecord((cudaEvent_t)(uintptr_t)0x999990) != cudaSuccess);
    cudaGetLastError();
}

/* All of the device, in pieces, and again: what is freed can be had once more. */
static void capacity() {
    const size_t piece = (size_t)1 << 30;
    size_t rounds[2];
    for (size_t &round : rounds) {
        std::vector<void *> held;
        void *q;
        while (cudaMalloc(&q, piece) == cudaSuccess)
            held.push_back(q);
        CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
        size_t unused, total;
        CUDA(cudaMemGetInfo(&unused, &total));
        CHECK(unused < piece && held.size() >= total / piece - 1);
        round = held.size();
        for (void *one : held)
            CUDA(cudaFree(one));
    }
    CHECK(rounds[0] == rounds[1]);
}

int main() {
    int *p;
    CUDA(cudaMalloc(&p, 4096));
    shapes(p);
    shared_memory(p);
    pointers(p);
    capacity();
    unsigned long long *n, blocks;
    CUDA(cudaMalloc(&n, 8));
    count_blocks<<<dim3(1 << 10, 1 << 5, 1 << 4), 1>>>(n);
    CUDA(cudaMemcpy(&blocks, n, 8, cudaMemcpyDeviceToHost));
    CHECK(blocks == 1 << 19);
    return 0;
}
