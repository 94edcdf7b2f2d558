// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends is stopped by SIGINT; then the program's own handler runs, and what comes
// after is the program's choice.
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

int main() {
    int *flag;
    signal(SIGINT, handler);
    CUDA(cudaMalloc(&flag, 4));
    CUDA(cudaMemset(flag, 0, 4));
    std::thread impatient([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        kill(getpid(), SIGINT);
    });
    spin<<<2, 64>>>(flag);
    EXPECT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    impatient.join();
    CHECK(handled == 1);
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&flag, 4));
    CUDA(cudaMemset(flag, 1, 4));
    spin<<<1, 1>>>(flag);
    CUDA(cudaDeviceSynchronize());
    raise(SIGINT); /* outside a launch it is the program's alone */
    CHECK(handled == 2);
    return 0;
}
