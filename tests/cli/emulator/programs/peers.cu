// SPDX-License-Identifier: Apache-2.0
// Kernels that reach another device's memory: only when they may, in that direction alone, with what
// is allocated later as well, and counted apart from the device's own traffic.
// DEVICES: H100:2
// COUNTS: "peer_bytes":4096
// COUNTS: "peer_bytes":8192
#include "check.h"

__global__ void copy(int *to, const int *from) {
    to[blockIdx.x * blockDim.x + threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x] + 1;
}

__global__ void count(int *n) {
    atomicAdd(n, 1);
}

int main() {
    const int n = 1024, bytes = n * sizeof(int);
    int *near, *far, *late, host[1024], value;
    CUDA(cudaMalloc(&near, bytes));
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&far, bytes));
    CUDA(cudaMemset(far, 0, bytes));
    CUDA(cudaSetDevice(0));
    EXPECT(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    EXPECT(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();

    copy<<<4, 256>>>(near, far); /* reads 4096 bytes there */
    copy<<<4, 256>>>(far, near); /* writes as many */
    copy<<<4, 256>>>(far, far);  /* both */
    CUDA(cudaMemcpy(host, far, bytes, cudaMemcpyDefault));
    CHECK(host[0] == 3 && host[n - 1] == 3);

    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&late, sizeof *late));
    CUDA(cudaMemset(late, 0, sizeof *late));
    CUDA(cudaSetDevice(0));
    count<<<10, 32>>>(late);
    CUDA(cudaMemcpy(&value, late, sizeof value, cudaMemcpyDefault));
    CHECK(value == 320);

    cudaDeviceP2PAttr attribute = cudaDevP2PAttrAccessSupported;
    CUDA(cudaDeviceGetP2PAttribute(&value, attribute, 0, 1));
    CHECK(value == 1);

    /* A pool that is told to, without peer access of the device's. */
    cudaMemPool_t pool;
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
    cudaMemAccessFlags flags;
    int *pooled;
    CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
    CUDA(cudaMemPoolGetAccess(&flags, pool, &access.location));
    CHECK(flags == cudaMemAccessFlagsProtNone);
    CUDA(cudaMemPoolSetAccess(pool, &access, 1));
    CUDA(cudaMemPoolGetAccess(&flags, pool, &access.location));
    CHECK(flags == cudaMemAccessFlagsProtReadWrite);
    CUDA(cudaMallocAsync(&pooled, bytes, 0));
    CUDA(cudaMemset(pooled, 0, bytes));
    CUDA(cudaSetDevice(1));
    copy<<<4, 256>>>(far, pooled);
    CUDA(cudaMemcpy(host, far, bytes, cudaMemcpyDefault));
    CHECK(host[5] == 1);

    /* What is taken back, and a device that goes, are out of reach: `unreached` has the fault. */
    CUDA(cudaSetDevice(0));
    CUDA(cudaDeviceDisablePeerAccess(1));
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    CUDA(cudaSetDevice(1));
    CUDA(cudaDeviceReset());
    CUDA(cudaSetDevice(0));
    EXPECT(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    return 0;
}
