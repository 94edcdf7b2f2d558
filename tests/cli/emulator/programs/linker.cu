// SPDX-License-Identifier: Apache-2.0
// The driver's linker: texts that need each other become one module; what is missing is said when it
// is completed, on stderr and in the log that the program asks for; and libraries, by both doors.
// DRIVER: yes
// STDERR: what is linked uses by, and nothing of it defines that
#include "driver.h"
#include <cstring>
#include <string>

static void run(CUfunction add, int by) {
    CUdeviceptr n;
    int host[32] = {};
    void *parameters[] = {&n};
    DRIVER(cuMemAlloc(&n, sizeof host));
    DRIVER(cuMemsetD32(n, 100, 32));
    DRIVER(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    DRIVER(cuMemcpyDtoH(host, n, sizeof host));
    CHECK(host[0] == 100 + by && host[31] == 100 + by);
    DRIVER(cuMemFree(n));
}

static void link_two() {
    CUlinkState state;
    CUmodule module;
    CUfunction add, all[4];
    CUdeviceptr amount;
    void *image;
    size_t size;
    unsigned count = 0;
    int three = 3;
    DRIVER(cuLinkCreate(0, NULL, NULL, &state));
    // the size may count a NUL, or be that of the text
    DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)adding, sizeof adding, "a", 0, NULL, NULL));
    DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)seven, strlen(seven), "b", 0, NULL, NULL));
    DRIVER(cuLinkComplete(state, &image, &size));
    CHECK(size > sizeof adding);
    DRIVER(cuModuleLoadData(&module, image));
    DRIVER(cuLinkDestroy(state)); // the image goes, the module stays
    DRIVER_EXPECT(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
    DRIVER(cuModuleGetFunction(&add, module, "add"));
    run(add, 7);
    DRIVER(cuModuleGetGlobal(&amount, NULL, module, "amount"));
    DRIVER(cuMemcpyHtoD(amount, &three, sizeof three));
    run(add, 3);
    DRIVER(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 1);
    DRIVER(cuModuleEnumerateFunctions(all, 4, module));
    CHECK(all[0] == add);
    CUmodule of;
    DRIVER(cuFuncGetModule(&of, add));
    CHECK(of == module);
    DRIVER(cuModuleUnload(module));
}

static void link_one_of_two() {
    CUlinkState state;
    CUmodule module;
    void *image;
    char log[500] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME};
    void *values[] = {log, (void *)sizeof log, NULL};
    DRIVER(cuLinkCreate(3, options, values, &state));
    DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)adding, sizeof adding, "a", 0, NULL, NULL));
    values[1] = (void *)sizeof log; // it was given back
    DRIVER_EXPECT(cuLinkComplete(state, &image, NULL), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "by") && (size_t)values[1] == strlen(log) + 1);
    DRIVER(cuLinkDestroy(state));

    // defined twice; no PTX at all; a file that is not there; nothing
    DRIVER(cuLinkCreate(0, NULL, NULL, &state));
    DRIVER_EXPECT(cuLinkComplete(state, &image, NULL), CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)seven, sizeof seven, "", 0, NULL, NULL));
    DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)seven, sizeof seven, "", 0, NULL, NULL));
    DRIVER_EXPECT(cuLinkComplete(state, &image, NULL), CUDA_ERROR_INVALID_PTX);
    DRIVER_EXPECT(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL),
                  CUDA_ERROR_FILE_NOT_FOUND);
    DRIVER(cuLinkDestroy(state));

    values[1] = (void *)sizeof log;
    CHECK(cuModuleLoadDataEx(&module, "no PTX", 2, options, values) != CUDA_SUCCESS && *log);
    // what looks like the linker's, and is not
    char damaged[64] = "EMLK";
    damaged[8] = 64;
    damaged[16] = 9;
    CHECK(cuModuleLoadData(&module, damaged) != CUDA_SUCCESS);
}

static void libraries() {
    std::string whole = std::string(seven) + (strstr(adding, ".extern") + strlen(
                            ".extern .func (.param .b32 r) by ();\n"));
    CUlibrary library;
    CUkernel kernel, same;
    CUfunction function;
    cudaLibrary_t other;
    cudaKernel_t added;
    void *amount;
    size_t size;
    unsigned count = 0;
    DRIVER(cuLibraryLoadData(&library, whole.c_str(), NULL, NULL, 0, NULL, NULL, 0));
    DRIVER(cuLibraryGetKernelCount(&count, library));
    CHECK(count == 1);
    DRIVER(cuLibraryEnumerateKernels(&same, 1, library));
    DRIVER(cuLibraryGetKernel(&kernel, library, "add"));
    CHECK(kernel == same);
    DRIVER(cuKernelGetFunction(&function, kernel));
    run(function, 7);
    DRIVER_EXPECT(cuLibraryGetManaged(NULL, NULL, library, "amount"), CUDA_ERROR_NOT_FOUND);
    DRIVER(cuLibraryUnload(library));

    CUDA(cudaLibraryLoadData(&other, whole.c_str(), NULL, NULL, 0, NULL, NULL, 0));
    CUDA(cudaLibraryGetKernelCount(&count, other));
    CHECK(count == 1);
    CUDA(cudaLibraryGetKernel(&added, other, "add"));
    EXPECT(cudaLibraryGetKernel(&added, other, "sub"), cudaErrorSymbolNotFound);
    CUDA(cudaLibraryGetKernel(&added, other, "add"));
    CUDA(cudaLibraryGetGlobal(&amount, &size, other, "amount"));
    CHECK(size == 4);
    int *n, host[32], nine = 9;
    void *parameters[] = {&n};
    CUDA(cudaMemcpy(amount, &nine, 4, cudaMemcpyHostToDevice));
    CUDA(cudaMalloc(&n, sizeof host));
    CUDA(cudaMemset(n, 0, sizeof host));
    CUDA(cudaKernelSetAttributeForDevice(added, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000, 0));
    CUDA(cudaLaunchKernel((const void *)added, 1, 32, parameters, 60000, 0));
    CUDA(cudaMemcpy(host, n, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 9);
    CUDA(cudaLibraryUnload(other));
}

int main() {
    start();
    link_two();
    link_one_of_two();
    libraries();
    return 0;
}
