// SPDX-License-Identifier: Apache-2.0
// Memory and events of another process: what one writes the other reads, both ways; handles that are
// none, or one's own; a block that is freed and made again is nobody else's.
// DEVICES: H100:2
#include "check.h"
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void add(int *n, int by) {
    n[threadIdx.x] += by;
}

struct message {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static void child(int in, int out) {
    message m;
    int *n, *again, byte = 0, value = 0;
    cudaEvent_t event;
    CHECK(read(in, &m, sizeof m) == sizeof m);
    CUDA(cudaIpcOpenMemHandle((void **)&n, m.memory, cudaIpcMemLazyEnablePeerAccess));
    CUDA(cudaIpcOpenMemHandle((void **)&again, m.memory, cudaIpcMemLazyEnablePeerAccess));
    CHECK(n == again);
    CUDA(cudaIpcOpenEventHandle(&event, m.event));
    CUDA(cudaStreamWaitEvent(0, event, 0));
    CUDA(cudaEventSynchronize(event));
    CUDA(cudaMemcpy(&value, n + 31, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 5);
    add<<<1, 32>>>(n, 100);
    CUDA(cudaDeviceSynchronize());
    CHECK(write(out, &byte, 1) == 1);
    CUDA(cudaIpcCloseMemHandle(again));
    add<<<1, 32>>>(n, 0); /* still open once */
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaIpcCloseMemHandle(n));
    EXPECT(cudaIpcCloseMemHandle(n), cudaErrorInvalidValue);
    memset(&m.memory, 7, sizeof m.memory);
    EXPECT(cudaIpcOpenMemHandle((void **)&n, m.memory, 1), cudaErrorInvalidResourceHandle);
    exit(0);
}

int main() {
    int to[2], from[2], *small, *n, *pinned, host[32], byte, status = -1;
    message m, second;
    cudaEvent_t event, plain;
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    pid_t pid = fork(); /* before anything of CUDA's */
    if (pid == 0)
        child(to[0], from[1]);
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&small, 100)); /* shares a page with the next */
    CUDA(cudaMalloc(&n, sizeof host));
    CUDA(cudaMallocHost(&pinned, 100));
    CUDA(cudaMemset(small, 1, 100));
    CUDA(cudaMemset(n, 0, sizeof host));
    CUDA(cudaIpcGetMemHandle(&m.memory, n));
    CUDA(cudaIpcGetMemHandle(&second.memory, n));
    CHECK(memcmp(&m.memory, &second.memory, sizeof m.memory) == 0);
    EXPECT(cudaIpcGetMemHandle(&second.memory, pinned), cudaErrorInvalidValue);
    CHECK(cudaIpcOpenMemHandle((void **)&pinned, m.memory, 1) == cudaErrorDeviceUninitialized);
    cudaGetLastError();
    CUDA(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    EXPECT(cudaIpcGetEventHandle(&m.event, plain), cudaErrorInvalidValue);
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CUDA(cudaIpcGetEventHandle(&m.event, event));
    cudaGetLastError();
    add<<<1, 32>>>(n, 5);
    CUDA(cudaEventRecord(event));
    CHECK(write(to[1], &m, sizeof m) == sizeof m);
    CHECK(read(from[0], &byte, 1) == 1);
    CUDA(cudaMemcpy(host, n, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 105 && host[31] == 105);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CUDA(cudaMemcpy(host, small, 100, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0x01010101 && host[24] == 0x01010101);
    CUDA(cudaFree(n));
    CUDA(cudaMalloc(&n, sizeof host));
    CUDA(cudaMemcpy(host, n, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[3] == -1); /* new memory's pattern */
    return 0;
}
