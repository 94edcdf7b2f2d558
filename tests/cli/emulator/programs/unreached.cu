// SPDX-License-Identifier: Apache-2.0
// Another device's memory without access to it: an illegal address, as on a GPU; and access of one
// device is not that of the other.
// DEVICES: H100:2
// STDERR: is outside of every allocation
#include "check.h"

__global__ void read(int *to, const int *from) {
    *to = *from;
}

int main() {
    int *near, *far;
    CUDA(cudaMalloc(&near, sizeof *near));
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&far, sizeof *far));
    CUDA(cudaMemset(far, 7, sizeof *far));
    CUDA(cudaDeviceEnablePeerAccess(0, 0));
    read<<<1, 1>>>(far, near);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaSetDevice(0));
    read<<<1, 1>>>(near, far);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return 0;
}
