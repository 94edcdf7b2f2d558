// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends is stopped by SIGINT; then the program's own handler runs, and what comes
// after is the program's choice. The same of the largest grid there is, that would take hours.
// COUNTS: "status":"interrupted"
// COUNTS: "record":"end"
#include "check.h"
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

__global__ void spin(volatile int *flag) {
    while (*flag == 0)
        ;
}

static volatile sig_atomic_t handled;
static void handler(int) {
    handled++;
}

/* A launch that waits for FLAG, interrupted. */
static void interrupt(dim3 grid, int value) {
    int *flag, before = handled;
    CUDA(cudaMalloc(&flag, 4));
    CUDA(cudaMemset(flag, value, 4));
    std::thread impatient([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        kill(getpid(), SIGINT);
    });
    spin<<<grid, 64>>>(flag);
    EXPECT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    impatient.join();
    CHECK(handled == before + 1);
    CUDA(cudaDeviceReset());
}

int main() {
    int *flag;
    signal(SIGINT, handler);
    interrupt(2, 0);
    interrupt(0x7fffffff, 0);
    interrupt(0x7fffffff, 1);
    interrupt(dim3(65536, 65535, 65535), 1);
    CUDA(cudaMalloc(&flag, 4));
    CUDA(cudaMemset(flag, 1, 4));
    spin<<<1, 1>>>(flag);
    CUDA(cudaDeviceSynchronize());
    raise(SIGINT); /* outside a launch it is the program's alone */
    CHECK(handled == 5);
    return 0;
}
