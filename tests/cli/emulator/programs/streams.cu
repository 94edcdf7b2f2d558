// SPDX-License-Identifier: Apache-2.0
// Streams and events on the virtual clock: times are positive, plausible, and overlap where streams
// do.
#include "check.h"

__global__ void touch(float *p, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += 1;
}

static int called;
static void host_function(void *data) {
    called += *(int *)data;
}
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data) {
    CHECK(status == cudaSuccess);
    called += *(int *)data;
}

int main() {
    const size_t n = 4 << 20, bytes = n * sizeof(float);
    float *d, *pinned, ms = -1, both = -1;
    int one = 1, least, greatest, priority;
    unsigned flags;
    cudaEvent_t a, b, c, untimed;
    cudaStream_t s, t;
    CUDA(cudaMalloc(&d, bytes));
    CUDA(cudaMallocHost(&pinned, bytes));
    CUDA(cudaEventCreate(&a));
    CUDA(cudaEventCreate(&b));
    CUDA(cudaEventCreate(&c));
    CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, greatest));
    CUDA(cudaStreamGetPriority(t, &priority));
    CUDA(cudaStreamGetFlags(s, &flags));
    CHECK(priority == greatest && flags == cudaStreamNonBlocking);

    CUDA(cudaEventRecord(a));
    touch<<<n / 256, 256>>>(d, n);
    CUDA(cudaEventRecord(b));
    CUDA(cudaEventSynchronize(b));
    CUDA(cudaEventElapsedTime(&ms, a, b));
    double rate = 2 * bytes / (ms * 1e-3); /* cannot be above the DRAM of any device there is */
    CHECK(ms > 0 && rate > 1e10 && rate < 1e13);
    EXPECT(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventElapsedTime(&ms, a, c), cudaErrorInvalidResourceHandle);

    CUDA(cudaEventRecord(a, s)); /* a copy each way, in two streams: side by side */
    CUDA(cudaMemcpyAsync(d, pinned, bytes, cudaMemcpyHostToDevice, s));
    CUDA(cudaEventRecord(b, s));
    CUDA(cudaMemcpyAsync(pinned, d, bytes, cudaMemcpyDeviceToHost, t));
    CUDA(cudaEventRecord(c, t));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventElapsedTime(&ms, a, b));
    CUDA(cudaEventElapsedTime(&both, a, c));
    CHECK(both > 0.5 * ms && both < 1.5 * ms);

    CUDA(cudaEventRecord(a, s)); /* and one after the other if an event says so */
    CUDA(cudaMemcpyAsync(d, pinned, bytes, cudaMemcpyHostToDevice, s));
    CUDA(cudaEventRecord(untimed, s));
    CUDA(cudaStreamWaitEvent(t, untimed, 0));
    CUDA(cudaMemcpyAsync(pinned, d, bytes, cudaMemcpyDeviceToHost, t));
    CUDA(cudaEventRecord(c, t));
    CUDA(cudaStreamSynchronize(t));
    CUDA(cudaEventElapsedTime(&both, a, c));
    CHECK(both > 1.8 * ms && both < 2.2 * ms);

    CUDA(cudaLaunchHostFunc(s, host_function, &one));
    CUDA(cudaStreamAddCallback(s, callback, &one, 0));
    CUDA(cudaStreamSynchronize(s));
    CHECK(called == 2);
    CUDA(cudaStreamQuery(s));
    CUDA(cudaEventQuery(c));
    CUDA(cudaStreamDestroy(s));
    EXPECT(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    CUDA(cudaEventDestroy(a));
    EXPECT(cudaEventRecord(a), cudaErrorInvalidResourceHandle);
    return 0;
}
