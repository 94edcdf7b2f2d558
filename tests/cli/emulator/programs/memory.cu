// SPDX-License-Identifier: Apache-2.0
// Every kind of memory, copy and fill that the front door implements, with what it must refuse.
// COUNTS: "kind":"managed"
// COUNTS: "kind":"pinned"
// COUNTS: "kind":"pool"
#include "check.h"
#include <cstdint>
#include <cstring>
#include <vector>

__constant__ int table[4];
__device__ int counter = 5;
__managed__ int shared_value = 7;

__global__ void add(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += table[i & 3];
    if (i == 0) {
        counter++;
        shared_value *= 2;
    }
}

static void plain() {
    int *d, host[64];
    void *none = &d;
    CUDA(cudaMalloc(&none, 0));
    CHECK(none == nullptr);
    CUDA(cudaFree(nullptr));
    CUDA(cudaMalloc(&d, sizeof host));
    CUDA(cudaMemset(d, 1, sizeof host));
    CUDA(cudaMemcpy(host, d, sizeof host, cudaMemcpyDefault));
    for (int v : host)
        CHECK(v == 0x01010101);
    EXPECT(cudaMemcpy(host, d, sizeof host + 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(host, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemset(d + 60, 0, 32), cudaErrorInvalidValue);
    EXPECT(cudaFree(d + 1), cudaErrorInvalidValue);
    EXPECT(cudaFreeHost(d), cudaErrorInvalidValue);
    CUDA(cudaFree(d));
    EXPECT(cudaFree(d), cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}

static void boxes() {
    char *d, host[6][10], back[6][10];
    size_t pitch;
    for (int i = 0; i < 60; i++)
        host[i / 10][i % 10] = (char)i;
    CUDA(cudaMallocPitch(&d, &pitch, 10, 6));
    CHECK(pitch >= 10 && pitch % 256 == 0);
    CUDA(cudaMemcpy2D(d, pitch, host, 10, 10, 6, cudaMemcpyHostToDevice));
    CUDA(cudaMemset2D(d + pitch, pitch, 99, 3, 2));
    CUDA(cudaMemcpy2D(back, 10, d, pitch, 10, 6, cudaMemcpyDeviceToHost));
    CHECK(back[0][9] == 9 && back[1][0] == 99 && back[2][2] == 99 && back[2][3] == 23);
    EXPECT(cudaMemcpy2D(d, 8, host, 10, 10, 6, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    CUDA(cudaFree(d));

    cudaPitchedPtr box;
    CUDA(cudaMalloc3D(&box, make_cudaExtent(10, 3, 2)));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(host, 10, 10, 3);
    p.dstPtr = box;
    p.extent = make_cudaExtent(10, 3, 2);
    p.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&p));
    CUDA(cudaMemset3D(box, 77, make_cudaExtent(1, 1, 2)));
    memset(back, 0, sizeof back);
    p = {};
    p.srcPtr = box;
    p.dstPtr = make_cudaPitchedPtr(back, 10, 10, 3);
    p.extent = make_cudaExtent(10, 3, 2);
    p.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&p));
    CHECK(back[0][0] == 77 && back[3][0] == 77 && back[5][9] == 59 && back[4][1] == 41);
    CUDA(cudaFree(box.ptr));
}

static void shared_with_host() {
    int *pinned, *managed, *device;
    cudaPointerAttributes a;
    std::vector<int> own(1000, 3);
    const int values[4] = {10, 20, 30, 40};
    CUDA(cudaMemcpyToSymbol(table, values, sizeof values));
    CUDA(cudaMallocHost(&pinned, 4000));
    CUDA(cudaMallocManaged(&managed, 4000));
    for (int i = 0; i < 1000; i++)
        pinned[i] = managed[i] = i;
    CUDA(cudaHostGetDevicePointer(&device, pinned, 0));
    CUDA(cudaHostRegister(own.data(), 4000, 0));
    EXPECT(cudaHostRegister(own.data(), 4000, 0), cudaErrorHostMemoryAlreadyRegistered);
    add<<<4, 256>>>(device, 1000);
    add<<<4, 256>>>(managed, 1000);
    add<<<4, 256>>>(own.data(), 1000);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++)
        CHECK(pinned[i] == i + values[i & 3] && managed[i] == pinned[i] &&
              own[i] == 3 + values[i & 3]);
    CHECK(shared_value == 7 * 8);
    CUDA(cudaPointerGetAttributes(&a, pinned));
    CHECK(a.type == cudaMemoryTypeHost && a.devicePointer == pinned);
    CUDA(cudaPointerGetAttributes(&a, managed + 5));
    CHECK(a.type == cudaMemoryTypeManaged && a.device == 0);
    CUDA(cudaPointerGetAttributes(&a, &a));
    CHECK(a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
    CUDA(cudaHostUnregister(own.data()));
    EXPECT(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaFree(managed));
}

static void symbols() {
    int value, *address;
    size_t size;
    CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 5 + 3);
    CUDA(cudaGetSymbolAddress((void **)&address, counter));
    CUDA(cudaMemset(address, 0, sizeof value));
    CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 0);
    CUDA(cudaGetSymbolSize(&size, table));
    CHECK(size == 16);
    EXPECT(cudaMemcpyToSymbol(table, &value, 4, 16), cudaErrorInvalidValue);
    EXPECT(cudaGetSymbolSize(&size, value), cudaErrorInvalidSymbol);
}

static void pools() {
    cudaMemPool_t pool;
    uint64_t used;
    int *p;
    CUDA(cudaMallocAsync(&p, 1 << 20, 0));
    CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used == 1 << 20);
    CUDA(cudaFreeAsync(p, 0));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    CHECK(used == 1 << 20);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CUDA(cudaMemPoolCreate(&pool, &properties));
    CUDA(cudaMallocFromPoolAsync(&p, 4096, pool, 0));
    CUDA(cudaMemsetAsync(p, 0, 4096, 0));
    CUDA(cudaFreeAsync(p, 0));
    CUDA(cudaMemPoolDestroy(pool));
}

static void capacity() {
    size_t free_bytes, total;
    void *p;
    CUDA(cudaMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes <= total && total > (size_t)10 << 30);
    EXPECT(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
    CUDA(cudaMalloc(&p, total / 2)); /* untouched: costs the host nothing */
    size_t left;
    CUDA(cudaMemGetInfo(&left, &total));
    CHECK(free_bytes - left >= total / 2);
    EXPECT(cudaMalloc(&p, total * 3 / 4), cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
}

int main() {
    plain();
    boxes();
    shared_with_host();
    symbols();
    pools();
    capacity();
    return 0;
}
