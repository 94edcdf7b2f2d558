// SPDX-License-Identifier: Apache-2.0
// One streaming kernel, whose counts are known in closed form: n = 1 Mi floats, 8 bytes read and 4
// written each, 2 FLOPs each.
// COUNTS: "flops_algorithmic":{"fp32":2097152}
// COUNTS: "load_bytes":{"global":8388608
// COUNTS: "store_bytes":{"global":4194304}
// COUNTS: "load_sectors":262144,"store_sectors":131072
// COUNTS: "dram_read_bytes":8388608,"dram_write_bytes":4194304
// COUNTS: "kind":"HtoD","device":0,"stream":0,"bytes":4194304
// COUNTS: "kind":"device","address":
// COUNTS: "record":"end"
#include "check.h"
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

int main() {
    const int n = 1 << 20;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++)
        x[i] = i % 1000, y[i] = 1;
    float *dx, *dy;
    CUDA(cudaMalloc(&dx, n * sizeof(float)));
    CUDA(cudaMalloc(&dy, n * sizeof(float)));
    CUDA(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(n, 2, dx, dy);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(y[i] == 2 * (i % 1000) + 1);
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
    return 0;
}
