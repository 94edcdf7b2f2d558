// SPDX-License-Identifier: Apache-2.0
// A program may end from a callback of a stream, while another thread launches: it ends with its own
// code, and the counts file is whole.
// EXIT: 7
// COUNTS: "record":"end"
#include "check.h"
#include <thread>

__global__ void add(int *p) {
    atomicAdd(p, 1);
}

static void finish(void *) {
    exit(7);
}

int main() {
    int *p;
    CUDA(cudaMalloc(&p, 4));
    add<<<4, 64>>>(p);
    std::thread other([p] {
        for (;;) {
            add<<<4, 64>>>(p);
            cudaDeviceSynchronize();
        }
    });
    other.detach();
    CUDA(cudaLaunchHostFunc(0, finish, nullptr));
    cudaDeviceSynchronize();
    for (;;)
        std::this_thread::yield();
}
