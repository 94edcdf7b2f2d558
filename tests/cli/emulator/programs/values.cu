// SPDX-License-Identifier: Apache-2.0
// Streams that write values and wait for them: those that are there, those that another thread writes.
// What else a stream, and a device, can be told.
// DRIVER: yes
#include "driver.h"
#include <thread>

__global__ void take(size_t bytes, int *got) {
    void *p = malloc(bytes);
    *got = p != nullptr;
    free(p);
}

static void attributes() {
    cudaDeviceProp p;
    cudaStream_t s, t;
    cudaStreamAttrValue v = {}, got = {};
    size_t most = 0;
    int *there;
    CUDA(cudaGetDeviceProperties(&p, 0));
    CHECK(p.persistingL2CacheMaxSize == p.l2CacheSize / 4 * 3 && p.accessPolicyMaxWindowSize > 100 << 20);
    CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, p.persistingL2CacheMaxSize));
    CUDA(cudaDeviceGetLimit(&most, cudaLimitPersistingL2CacheSize));
    CHECK(most == (size_t)p.persistingL2CacheMaxSize);
    EXPECT(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most + 1), cudaErrorInvalidValue);
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamCreate(&t));
    v.accessPolicyWindow.num_bytes = p.accessPolicyMaxWindowSize;
    v.accessPolicyWindow.hitRatio = 0.6f;
    v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    CUDA(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
    CUDA(cudaStreamGetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &got));
    CHECK(got.accessPolicyWindow.hitRatio == 0.6f);
    CUDA(cudaStreamGetAttribute(t, cudaStreamAttributeAccessPolicyWindow, &got));
    CHECK(got.accessPolicyWindow.num_bytes == 0);
    CUDA(cudaStreamCopyAttributes(t, s));
    CUDA(cudaStreamGetAttribute(t, cudaStreamAttributeAccessPolicyWindow, &got));
    CHECK(got.accessPolicyWindow.hitProp == cudaAccessPropertyPersisting);
    v.accessPolicyWindow.num_bytes++;
    EXPECT(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v), cudaErrorInvalidValue);
    v.accessPolicyWindow.num_bytes = 0;
    v.accessPolicyWindow.missProp = cudaAccessPropertyPersisting;
    EXPECT(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v), cudaErrorInvalidValue);
    EXPECT(cudaStreamSetAttribute(s, (cudaStreamAttrID)2, &v), cudaErrorInvalidValue);
    cudaGetLastError();

    CUDA(cudaMallocManaged(&there, sizeof *there));
    take<<<1, 1>>>(16 << 20, there);
    CUDA(cudaDeviceSynchronize());
    CHECK(*there == 0); // over the 8 MiB that there are at first
    CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
    take<<<1, 1>>>(16 << 20, there);
    CUDA(cudaDeviceSynchronize());
    CHECK(*there == 1);
}

int main() {
    CUdeviceptr p;
    CUstream a, b;
    unsigned value = 0;
    start();
    DRIVER(cuMemAlloc(&p, 64));
    DRIVER(cuMemsetD32(p, 0, 16));
    DRIVER(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamWriteValue32(a, p, 5, 0));
    DRIVER(cuStreamWaitValue32(b, p, 5, CU_STREAM_WAIT_VALUE_EQ));
    DRIVER(cuStreamWaitValue32(b, p, 4, CU_STREAM_WAIT_VALUE_GEQ));
    DRIVER(cuStreamWaitValue32(b, p, 4, CU_STREAM_WAIT_VALUE_AND));
    DRIVER(cuStreamWaitValue32(b, p, 2, CU_STREAM_WAIT_VALUE_NOR));
    DRIVER(cuStreamWriteValue64(a, p + 8, 1ull << 40, 0));
    DRIVER(cuStreamWaitValue64(b, p + 8, 1ull << 40, CU_STREAM_WAIT_VALUE_EQ));
    DRIVER_EXPECT(cuStreamWriteValue64(a, p + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER_EXPECT(cuStreamWaitValue32(a, (CUdeviceptr)&value, 0, 0), CUDA_ERROR_INVALID_VALUE);

    CUstreamBatchMemOpParams o[2] = {};
    o[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    o[0].writeValue.address = p + 16;
    o[0].writeValue.value = 77;
    o[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    o[1].waitValue.address = p + 16;
    o[1].waitValue.value = 77;
    o[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    DRIVER(cuStreamBatchMemOp(a, 2, o, 0));
    DRIVER(cuMemcpyDtoH(&value, p + 16, 4));
    CHECK(value == 77);

    std::thread other([&] {
        start();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        DRIVER(cuStreamWriteValue32(a, p + 32, 1, 0));
    });
    DRIVER(cuStreamWaitValue32(b, p + 32, 1, CU_STREAM_WAIT_VALUE_GEQ));
    other.join();
    DRIVER(cuMemcpyDtoH(&value, p + 32, 4));
    CHECK(value == 1);
    attributes();
    return 0;
}
