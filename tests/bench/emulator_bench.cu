// SPDX-License-Identifier: Apache-2.0
// Speed of the emulated device: one kernel, launched again and again.
// usage: emulator_bench saxpy|gemm LAUNCHES; prints the CPU seconds (user) and the seconds that the
// launches took, without the program's own start.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/resource.h>
#include <time.h>

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

__global__ void gemm(int n, const float *a, const float *b, float *c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

static double seconds(bool user) {
    if (user) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    const bool stream = argc == 3 && strcmp(argv[1], "saxpy") == 0;
    if (argc != 3 || (!stream && strcmp(argv[1], "gemm") != 0)) {
        fprintf(stderr, "usage: %s saxpy|gemm LAUNCHES\n", argv[0]);
        return 2;
    }
    const int n = stream ? 1 << 20 : 256, elements = stream ? n : n * n;
    float *a, *b, *c;
    for (float **p : {&a, &b, &c}) {
        cudaMalloc(p, elements * sizeof(float));
        cudaMemset(*p, 0, elements * sizeof(float));
    }
    double user = 0, wall = 0;
    for (int i = -1; i < atoi(argv[2]); i++) {
        if (i == 0) { /* after one to warm up */
            user = seconds(true);
            wall = seconds(false);
        }
        if (stream)
            saxpy<<<n / 256, 256>>>(n, 2, a, b);
        else
            gemm<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, a, b, c);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
    }
    printf("%.3f %.3f\n", seconds(true) - user, seconds(false) - wall);
    return 0;
}
