// SPDX-License-Identifier: Apache-2.0
// Many host threads, each with its own stream, memory and launches; the current device and the last
// error are each thread's own.
// FLAGS: -default-stream per-thread
#include "check.h"
#include <thread>
#include <vector>

__global__ void add(int *p, int v) {
    p[blockIdx.x * blockDim.x + threadIdx.x] += v;
}

static void work(int mine) {
    int *d, host[256];
    CUDA(cudaMalloc(&d, sizeof host));
    CUDA(cudaMemset(d, 0, sizeof host));
    for (int i = 0; i < 20; i++)
        add<<<4, 64>>>(d, mine);
    if (mine % 2)
        EXPECT(cudaFree(d + 1), cudaErrorInvalidValue);
    CHECK(cudaPeekAtLastError() == (mine % 2 ? cudaErrorInvalidValue : cudaSuccess));
    CUDA(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    for (int v : host)
        CHECK(v == 20 * mine);
    CUDA(cudaFree(d));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 64; i++)
        threads.emplace_back(work, i);
    for (auto &t : threads)
        t.join();
    return 0;
}
