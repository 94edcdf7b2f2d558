// SPDX-License-Identifier: Apache-2.0
// Virtual memory: addresses, memory and the two together, on one device and two; copies that run over
// several mappings; handles as files; and what has no access, which is out of reach.
// DRIVER: yes
// DEVICES: H100:2
// COUNTS: "peer_bytes":4096
// STDERR: is outside of every allocation
#include "driver.h"
#include <unistd.h>

__global__ void add(int *to, const int *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] += from[i] + 1;
}

static CUmemAllocationProp on(int device) {
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    return p;
}

static CUmemAccessDesc access_of(int device, CUmemAccess_flags flags) {
    CUmemAccessDesc a = {};
    a.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    a.location.id = device;
    a.flags = flags;
    return a;
}

int main() {
    size_t granule = 0, size, left, after, total;
    CUmemGenericAllocationHandle here, there, again;
    CUmemAllocationProp p = on(0), q = on(1), r;
    CUdeviceptr va, twice;
    int supported = 0;
    start();
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    CHECK(supported);
    DRIVER(cuMemGetAllocationGranularity(&granule, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(granule == 2 << 20);
    size = 2 * granule;

    // what is refused
    DRIVER_EXPECT(cuMemCreate(&here, 100, &p, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER_EXPECT(cuMemCreate(&here, (size_t)1 << 50, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
    DRIVER_EXPECT(cuMemAddressReserve(&va, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemGetInfo(&left, &total));
    DRIVER(cuMemCreate(&here, size, &p, 0));
    DRIVER(cuMemGetInfo(&after, &total));
    CHECK(left - after == size);
    DRIVER(cuMemCreate(&there, size, &q, 0));
    DRIVER(cuMemAddressReserve(&va, 3 * size, 0, 0, 0));
    CHECK(va % granule == 0);
    DRIVER_EXPECT(cuMemMap(va + 1, size, 0, here, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER_EXPECT(cuMemMap(va + 3 * size, size, 0, here, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemMap(va, size, 0, here, 0));
    DRIVER_EXPECT(cuMemMap(va, size, 0, there, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemMap(va + size, size, 0, there, 0));
    DRIVER_EXPECT(cuMemAddressFree(va, 3 * size), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemsetD8(va, 0, 16) != CUDA_SUCCESS); // no access yet

    // access of device 0 to both halves, of which one is the other device's
    CUmemAccessDesc a = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unsigned long long flags = 9;
    DRIVER_EXPECT(cuMemSetAccess(va, 3 * size, &a, 1), CUDA_ERROR_INVALID_VALUE); // a third is not mapped
    DRIVER(cuMemSetAccess(va, 2 * size, &a, 1));
    DRIVER(cuMemGetAccess(&flags, &a.location, va + size));
    CHECK(flags == 3);
    a = access_of(1, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    DRIVER(cuMemGetAccess(&flags, &a.location, va));
    CHECK(flags == 0);
    DRIVER(cuMemsetD32(va, 1, 2 * size / 4)); // over both
    int host[4] = {};
    DRIVER(cuMemcpyDtoH(host, va + size - 8, 16));
    CHECK(host[0] == 1 && host[3] == 1);
    CUdeviceptr base;
    size_t range;
    DRIVER(cuMemGetAddressRange(&base, &range, va + size + 4));
    CHECK(base == va && range == 2 * size);
    add<<<4, 256>>>((int *)va, (const int *)(va + size)); // reads 4096 bytes of the other device's
    DRIVER(cuMemcpyDtoH(host, va, 16));
    CHECK(host[0] == 3);

    // the same memory twice
    DRIVER(cuMemAddressReserve(&twice, size, 4 * granule, 0, 0));
    CHECK(twice % (4 * granule) == 0);
    DRIVER(cuMemMap(twice, size, 0, here, 0));
    a = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(cuMemSetAccess(twice, size, &a, 1));
    DRIVER(cuMemcpyDtoH(host, twice, 16));
    CHECK(host[0] == 3);
    DRIVER(cuMemRetainAllocationHandle(&again, (void *)(twice + 100)));
    CHECK(again == here);
    DRIVER(cuMemGetAllocationPropertiesFromHandle(&r, again));
    CHECK(r.location.id == 0 && r.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    DRIVER(cuMemRelease(again));
    DRIVER(cuMemRelease(here)); // the mappings keep it
    DRIVER_EXPECT(cuMemUnmap(twice, granule), CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemUnmap(twice, size));
    DRIVER(cuMemAddressFree(twice, size));
    DRIVER(cuMemcpyDtoH(host, va, 16));
    CHECK(host[0] == 3);

    // as a file: mapped beside what it is a copy of
    int file = -1;
    DRIVER_EXPECT(cuMemExportToShareableHandle(&file, there, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_ERROR_INVALID_VALUE); // nobody asked for it when it was made
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    DRIVER(cuMemCreate(&here, size, &p, 0));
    DRIVER(cuMemExportToShareableHandle(&file, here, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    DRIVER_EXPECT(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)0,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)file,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    DRIVER(cuMemMap(va + 2 * size, size, 0, again, 0));
    DRIVER(cuMemRelease(again));
    DRIVER(cuMemRelease(here));
    DRIVER(cuMemSetAccess(va + 2 * size, size, &a, 1));
    DRIVER(cuMemcpyDtoD(va + 2 * size, va, size));
    DRIVER(cuMemcpyDtoH(host, va + 2 * size, 16));
    CHECK(host[0] == 3);

    // all of it goes; what was there is no memory any more
    DRIVER(cuMemUnmap(va, 3 * size));
    DRIVER(cuMemRelease(there));
    DRIVER(cuMemGetInfo(&after, &total));
    CHECK(left == after);
    int *d;
    CUDA(cudaMalloc(&d, 4096));
    add<<<1, 32>>>(d, (const int *)va);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    DRIVER(cuMemAddressFree(va, 3 * size));
    return 0;
}
