// SPDX-License-Identifier: Apache-2.0
//
// 64 threads whose first call of CUDA is a launch, all at the same time. They count together; the
// sum is printed.
#include <cstdio>
#include <pthread.h>

static const int threads = 64, rounds = 20;
static pthread_barrier_t start;
__device__ unsigned total;

__global__ void step() {
    atomicAdd(&total, 1u);
}

static void *launcher(void *) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++)
        step<<<1, 32>>>();
    return cudaDeviceSynchronize() == cudaSuccess ? NULL : (void *)1;
}

int main() {
    pthread_t thread[threads];
    unsigned sum = 0;
    int failed = 0;
    pthread_barrier_init(&start, NULL, threads);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, launcher, NULL);
    for (int i = 0; i < threads; i++) {
        void *result;
        pthread_join(thread[i], &result);
        failed += result != NULL;
    }
    failed += cudaMemcpyFromSymbol(&sum, total, sizeof sum) != cudaSuccess;
    printf("%d failed, %u threads ran\n", failed, sum);
    return failed != 0 || sum != 32u * threads * rounds;
}
