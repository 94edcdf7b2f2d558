// SPDX-License-Identifier: Apache-2.0
// Errors as the real runtime has them: a bad launch is forgotten once read, a fault of a kernel stays
// until the device is reset; and what is not there says so.
// STDERR: is outside of every allocation
// STDERR: an array of a planar or compressed format is not supported
// COUNTS: "status":"illegal_address"
// COUNTS: "status":"assert"
#include "check.h"
#include <cassert>

__global__ void write(int *p, int v) {
    *p = v;
}

__global__ void claim(int v) {
    assert(v == 3);
}

__global__ void __launch_bounds__(64) small() {
}

int main() {
    int *p, value;
    CUDA(cudaMalloc(&p, 4));
    write<<<1, 2000>>>(p, 1);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    write<<<0, 1>>>(p, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    write<<<dim3(1, 70000), 1>>>(p, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    write<<<1, 1, 1 << 20>>>(p, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    small<<<1, 128>>>();
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    write<<<1, 1>>>(p, 4);
    CUDA(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 4);
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
    cudaGetLastError();

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(format.x == 32 && format.y == 0 && format.f == cudaChannelFormatKindFloat);
    format = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedBlockCompressed1>();
    EXPECT(cudaMallocArray(&array, &format, 16, 16), cudaErrorNotSupported);
    cudaGetLastError();

    write<<<1, 1>>>(p + 100000, 1); /* outside every allocation */
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CUDA(cudaDeviceReset());
    CHECK(cudaGetLastError() == cudaSuccess);

    CUDA(cudaMalloc(&p, 4));
    claim<<<1, 1>>>(3);
    CUDA(cudaDeviceSynchronize());
    claim<<<1, 1>>>(4);
    EXPECT(cudaDeviceSynchronize(), cudaErrorAssert);
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&p, 4));
    write<<<1, 1>>>(p, 9);
    CUDA(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 9);
    return 0;
}
