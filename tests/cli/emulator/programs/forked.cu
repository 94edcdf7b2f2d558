// SPDX-License-Identifier: Apache-2.0
// A child of a process that has used a device cannot use it; one of a process that has not can.
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static int in_child(cudaError_t expected) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        void *p;
        _exit(cudaMalloc(&p, 16) == expected ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

int main() {
    void *p;
    CHECK(in_child(cudaSuccess) == 0);
    CUDA(cudaMalloc(&p, 16));
    CHECK(in_child(cudaErrorInitializationError) == 0);
    CUDA(cudaFree(p));
    return 0;
}
