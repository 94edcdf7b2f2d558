// SPDX-License-Identifier: Apache-2.0
// Machine code alone: the kernel cannot run, and the way out is told.
// FLAGS: -gencode arch=compute_90,code=sm_90
// STDERR: the program holds no PTX
// STDERR: NVCC_APPEND_FLAGS
#include "check.h"

__global__ void nothing() {
}

int main() {
    nothing<<<1, 1>>>();
    CHECK(cudaGetLastError() == cudaErrorNoKernelImageForDevice);
    return 0;
}
