// SPDX-License-Identifier: Apache-2.0
// A million launches, with events, streams and allocations among them, leave nothing behind.
// COUNTS: "record":"end"
#include <stdlib.h>
#include "check.h"
#include <unistd.h>

__global__ void add(int *p) {
    atomicAdd(p, 1);
}

static long resident_kib() {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void launch(int *p, int n) {
    for (int i = 0; i < n; i++) {
        add<<<1, 1>>>(p);
        if (i % 100)
            continue;
        cudaStream_t stream;
        cudaEvent_t event;
        void *q;
        CUDA(cudaStreamCreate(&stream));
        CUDA(cudaEventCreate(&event));
        CUDA(cudaMallocAsync(&q, 10000, stream));
        CUDA(cudaMemsetAsync(q, 1, 10000, stream));
        add<<<1, 1, 0, stream>>>(p);
        CUDA(cudaEventRecord(event, stream));
        CUDA(cudaFreeAsync(q, stream));
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaEventDestroy(event));
        CUDA(cudaStreamDestroy(stream));
    }
    CUDA(cudaDeviceSynchronize());
}

int main() {
    const int warm_up = 10000, launches = 990000;
    int *p, total;
    CUDA(cudaMalloc(&p, 4));
    CUDA(cudaMemset(p, 0, 4));
    launch(p, warm_up);
    long before = resident_kib();
    launch(p, launches);
    long grown = resident_kib() - before;
    printf("grown by %ld KiB\n", grown);
    /* 4 bytes a launch would show; a sanitizer keeps freed memory back for a while. */
    CHECK(grown < 4096 || getenv("PRELOAD_FIRST"));
    CUDA(cudaMemcpy(&total, p, 4, cudaMemcpyDeviceToHost));
    CHECK(total == warm_up + launches + (warm_up + launches) / 100);
    return 0;
}
