// SPDX-License-Identifier: Apache-2.0
// Several devices: each its own memory and properties; copies between them; pinned memory for all.
// DEVICES: H100:2,A100
// COUNTS: "record":"device","device":2
// COUNTS: "kind":"PtoP"
#include "check.h"
#include <cstring>

__global__ void add(int *p, int v) {
    p[threadIdx.x] += v;
}

// Pinned and managed memory of each device is its own, and can be freed whichever is current.
static void blocks_of_each() {
    cudaPointerAttributes what;
    int *pinned[3], *managed[3];
    for (int i = 0; i < 3; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaMallocHost(&pinned[i], 128));
        CUDA(cudaMallocManaged(&managed[i], 128));
    }
    for (int i = 0; i < 3; i++) {
        CUDA(cudaSetDevice((i + 1) % 3));
        CUDA(cudaPointerGetAttributes(&what, pinned[i] + 1));
        CHECK(what.type == cudaMemoryTypeHost && what.device == i);
        CUDA(cudaPointerGetAttributes(&what, managed[i] + 1));
        CHECK(what.type == cudaMemoryTypeManaged && what.device == i);
        CUDA(cudaFreeHost(pinned[i]));
        CUDA(cudaFree(managed[i]));
        CHECK(cudaFreeHost(pinned[i]) == cudaErrorInvalidValue);
        cudaGetLastError();
    }
}

int main() {
    int count, can, current, *a, *b, *pinned, host[32] = {};
    cudaDeviceProp p[3];
    CUDA(cudaGetDeviceCount(&count));
    CHECK(count == 3);
    for (int i = 0; i < 3; i++)
        CUDA(cudaGetDeviceProperties(&p[i], i));
    CHECK(strcmp(p[0].name, p[1].name) == 0 && strcmp(p[0].name, p[2].name) != 0);
    CHECK(p[0].major == 9 && p[2].major == 8);
    CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can);
    CUDA(cudaDeviceCanAccessPeer(&can, 0, 2)); /* another chip */
    CHECK(!can);
    EXPECT(cudaDeviceEnablePeerAccess(2, 0), cudaErrorPeerAccessUnsupported);
    cudaGetLastError();
    CUDA(cudaMalloc(&a, sizeof host));
    CUDA(cudaMemset(a, 0, sizeof host));
    CUDA(cudaMallocHost(&pinned, sizeof host));
    add<<<1, 32>>>(a, 1);
    CUDA(cudaSetDevice(2));
    CUDA(cudaMalloc(&b, sizeof host));
    CUDA(cudaMemcpyPeer(b, 2, a, 0, sizeof host));
    add<<<1, 32>>>(b, 10);
    memset(pinned, 0, sizeof host);
    add<<<1, 32>>>(pinned, 100);
    CUDA(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 11 && pinned[31] == 100);
    CUDA(cudaGetDevice(&current));
    CHECK(current == 2);
    cudaStream_t s;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaSetDevice(0));
    add<<<1, 32, 0, s>>>(a, 1); /* another device's stream */
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    blocks_of_each();
    return 0;
}
