// SPDX-License-Identifier: Apache-2.0
// Separate compilation: a kernel here, a device function and a variable that it needs elsewhere.
// FLAGS: -rdc=true
// ALSO: linked_part.cu
#include "check.h"

extern __device__ int base;
extern __device__ int twice(int v);

__global__ void use(int *p) {
    p[threadIdx.x] = base + twice(threadIdx.x);
}

int main() {
    int *d, host[32];
    CUDA(cudaMalloc(&d, sizeof host));
    use<<<1, 32>>>(d);
    CUDA(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        CHECK(host[i] == 1000 + 2 * i);
    return 0;
}
