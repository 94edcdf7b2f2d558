// SPDX-License-Identifier: Apache-2.0
// Whatever a kernel does wrong is its CUDA error, told with kernel, thread and address, and the program
// goes on after a reset: the host never crashes, and no fault leaks into the next kernel.
// STDERR: kernel _Z8far_away
// STDERR: kernel _Z12null_pointer
// STDERR: kernel _Z12past_the_end
// STDERR: is outside of every allocation
// STDERR: kernel _Z6skewed
// STDERR: is not aligned to the 4 bytes accessed
// STDERR: kernel _Z11past_shared
// STDERR: kernel _Z10past_local
// STDERR: kernel _Z12jump_nowhere
// STDERR: kernel _Z7recurse
// STDERR: kernel _Z7trapped
// STDERR: kernel _Z11freed_twice
// STDERR: barrier 1 has 64 of 96 threads, barrier 2 has 64 of 96 threads
// STDERR: stack overflow: call depth
// STDERR: block (3,0,0), thread (5,0,0)
// COUNTS: "status":"illegal_address"
// COUNTS: "status":"misaligned"
// COUNTS: "status":"deadlock"
#include "check.h"

__device__ int sink;

__global__ void far_away(int *p) {
    if (blockIdx.x == 3 && threadIdx.x == 5)
        p[(size_t)1 << 40] = 1;
}

__global__ void null_pointer(int *p) {
    sink = *p;
}

__global__ void past_the_end(int *p, int n) {
    p[n + threadIdx.x] = 1;
}

__global__ void skewed(char *p) {
    sink = *(int *)(p + 1 + threadIdx.x);
}

__global__ void atomics(unsigned long long *p) {
    atomicAdd(p, 1ull);
}

__global__ void past_shared(int i) {
    __shared__ volatile int room[32];
    room[i] = 1;
    sink = room[threadIdx.x];
}

__global__ void past_local(int i) {
    volatile int room[8];
    for (int k = 0; k < 8; k++)
        room[k] = k;
    sink = room[i];
}

__global__ void jump_nowhere(size_t where) {
    void (*f)(int) = (void (*)(int))where;
    f(1);
}

__device__ __noinline__ int deeper(int n) {
    volatile int room[64];
    room[n & 63] = n;
    return n == -1 ? 0 : deeper(n + 1) + room[(n + 1) & 63];
}

__global__ void recurse(int n) {
    sink = deeper(n);
}

__global__ void trapped() {
    __trap();
}

__global__ void freed_twice() {
    void *p = malloc(16);
    free(p);
    free(p);
}

__global__ void half_a_barrier(int n) {
    if ((int)threadIdx.x < n)
        asm volatile("bar.sync 1, 96;");
    else
        asm volatile("bar.sync 2, 96;");
}

__global__ void fine(int *p) {
    p[threadIdx.x] = threadIdx.x;
}

static int *p;

/* The fault stays until the reset; then a kernel runs as if nothing had been. */
static void expect(cudaError_t expected) {
    int host[32];
    EXPECT(cudaDeviceSynchronize(), expected);
    EXPECT(cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost), expected);
    CUDA(cudaDeviceReset());
    CHECK(cudaGetLastError() == cudaSuccess);
    CUDA(cudaMalloc(&p, 4000));
    fine<<<1, 32>>>(p);
    CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 31);
}

static void addresses() {
    far_away<<<8, 32>>>(p);
    expect(cudaErrorIllegalAddress);
    null_pointer<<<1, 1>>>(nullptr);
    expect(cudaErrorIllegalAddress);
    past_the_end<<<1, 32>>>(p, 984); /* lane 16 is the first outside */
    expect(cudaErrorIllegalAddress);
    past_the_end<<<1, 32>>>(p, -100);
    expect(cudaErrorIllegalAddress);
    skewed<<<1, 1>>>((char *)p);
    expect(cudaErrorMisalignedAddress);
    atomics<<<1, 32>>>((unsigned long long *)(p + 1));
    expect(cudaErrorMisalignedAddress);
    atomics<<<1, 32>>>((unsigned long long *)~(size_t)7);
    expect(cudaErrorIllegalAddress);
    int *stale;
    CUDA(cudaMalloc(&stale, 4000));
    CUDA(cudaFree(stale));
    fine<<<1, 32>>>(stale);
    expect(cudaErrorIllegalAddress);
    int own[32];
    fine<<<1, 32>>>(own); /* of the host, and not registered */
    expect(cudaErrorIllegalAddress);
    past_shared<<<1, 32>>>(1 << 20);
    expect(cudaErrorIllegalAddress);
    past_shared<<<1, 32>>>(-1);
    expect(cudaErrorIllegalAddress);
    past_local<<<1, 32>>>(1 << 24);
    expect(cudaErrorIllegalAddress);
}

static void control() {
    jump_nowhere<<<1, 32>>>(12345);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalInstruction);
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&p, 4000));
    recurse<<<1, 32>>>(0);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&p, 4000));
    trapped<<<1, 32>>>();
    expect(cudaErrorLaunchFailure);
    freed_twice<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&p, 4000));
    half_a_barrier<<<1, 128>>>(64);
    expect(cudaErrorLaunchTimeout);
}

int main() {
    CUDA(cudaMalloc(&p, 4000));
    addresses();
    control();
    return 0;
}
