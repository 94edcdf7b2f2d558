// SPDX-License-Identifier: Apache-2.0
//
// Launches of one shape that differ in their work: launch i of N makes steps(i) multiply-adds a
// thread. growing: i steps; heavy: one launch in 16, at odd places, makes 500 times as many as the
// others. `varying KIND N --expect` prints the FLOPs of all launches together.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int threads = 64;

static __device__ float work(float x, int steps) {
#pragma unroll 1
    for (int i = 0; i < steps; i++)
        x = fmaf(x, 0.5f, 1.0f);
    return x;
}

__global__ void growing(float *x, int steps) {
    x[threadIdx.x] = work(x[threadIdx.x], steps);
}

__global__ void heavy(float *x, int steps) {
    x[threadIdx.x] = work(x[threadIdx.x], steps);
}

static int steps_of(bool grows, int i) {
    return grows ? i : (unsigned)i * 2654435761u >> 28 == 3 ? 500 : 1;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    bool grows = !strcmp(argv[1], "growing");
    int n = atoi(argv[2]);
    double flops = 0;
    float *x;
    for (int i = 1; i <= n; i++)
        flops += 2.0 * threads * steps_of(grows, i);
    if (argc > 3) {
        printf("%.0f\n", flops);
        return 0;
    }
    if (cudaMalloc(&x, threads * sizeof *x) || cudaMemset(x, 0, threads * sizeof *x))
        return 1;
    for (int i = 1; i <= n; i++)
        if (grows)
            growing<<<1, threads>>>(x, steps_of(grows, i));
        else
            heavy<<<1, threads>>>(x, steps_of(grows, i));
    if (cudaDeviceSynchronize())
        return 1;
    puts("ok varying");
    return 0;
}
