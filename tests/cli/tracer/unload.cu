// SPDX-License-Identifier: Apache-2.0
//
// A library with a kernel, which unload.c loads and unloads.
#include <cuda_runtime.h>

__global__ void twice(int *x) {
    *x *= 2;
}

// 42, by the device; -1: CUDA refused.
extern "C" int answer() {
    int *x, result = 21;
    if (cudaMalloc(&x, sizeof *x) || cudaMemcpy(x, &result, sizeof *x, cudaMemcpyHostToDevice))
        return -1;
    twice<<<1, 1>>>(x);
    if (cudaMemcpy(&result, x, sizeof *x, cudaMemcpyDeviceToHost) || cudaFree(x))
        return -1;
    return result;
}
