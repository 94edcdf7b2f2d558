/* SPDX-License-Identifier: Apache-2.0
 *
 * The front door of each version, without a toolkit: opened as a library, shown a fat binary made
 * by hand, asked to run its kernel. Everything goes through the exported names, as in a program.
 */
#include "emulator/cudart/abi.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void *library;
static char counts_path[64];

static void *find(const char *name) {
    void *address = dlsym(library, name);
    if (!address)
        fail_msg("%s is not exported", name);
    return address;
}

/* NAME as a function that takes ARGUMENTS and returns an error. */
#define CALL(name, ...) ((cudaError_t(*)(__VA_ARGS__))find(name))

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 bias = 100;\n"
                          ".visible .entry add_bias(.param .u64 p, .param .u32 n) {\n"
                          "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                          "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
                          "  mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1; @%p1 bra done;\n"
                          "  cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r2, 4;\n"
                          "  add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3];\n"
                          "  ld.global.u32 %r4, [bias]; add.u32 %r5, %r3, %r4;\n"
                          "  st.global.u32 [%rd3], %r5;\n"
                          "done: ret;\n}\n";

/* A container with the PTX as it is, and the wrapper that leads to it. */
static uint8_t container[16 + 64 + 1024];
static struct {
    uint32_t magic, version;
    const void *container, *further;
} wrapper = {0x466243B1u, 1, container, NULL};

static void make_container(void) {
    uint64_t payload = (sizeof ptx + 7) / 8 * 8, entries = 64 + payload;
    uint32_t magic = 0xBA55ED50u, entry_header = 64, arch = 70;
    uint16_t version = 1, header = 16, kind = 1;
    memcpy(container, &magic, 4);
    memcpy(container + 4, &version, 2);
    memcpy(container + 6, &header, 2);
    memcpy(container + 8, &entries, 8);
    memcpy(container + 16, &kind, 2);
    memcpy(container + 20, &entry_header, 4);
    memcpy(container + 24, &payload, 8);
    memcpy(container + 44, &arch, 4);
    memcpy(container + 80, ptx, sizeof ptx);
}

static int stub,
    bias; /* the host's side of the kernel and of the variable: addresses that name them */

static void register_program(void) {
    void **(*fatbin)(void *);
    void (*function)(void **, const void *, char *, const char *, int, void *, void *, dim3 *,
                     dim3 *, int *);
    void (*variable)(void **, void *, char *, const char *, int, size_t, int, int);
    make_container();
    *(void **)&fatbin = find("__cudaRegisterFatBinary");
    *(void **)&function = find("__cudaRegisterFunction");
    *(void **)&variable = find("__cudaRegisterVar");
    void **handle = fatbin(&wrapper);
    assert_non_null(handle);
    function(handle, &stub, NULL, "add_bias", -1, NULL, NULL, NULL, NULL, NULL);
    variable(handle, &bias, NULL, "bias", 0, 4, 0, 1);
}

static void test_properties(void **state) {
    (void)state;
    const char *name = DOOR_CUDART < 13 ? "cudaGetDeviceProperties_v2" : "cudaGetDeviceProperties";
    struct {
        cudaDeviceProp p;
        uint8_t guard[64];
    } room;
    int version, count;
    memset(&room, 0x5a, sizeof room);
    assert_int_equal(CALL(name, cudaDeviceProp *, int)(&room.p, 0), cudaSuccess);
    for (size_t i = 0; i < sizeof room.guard; i++) /* nothing is written behind the structure */
        assert_int_equal(room.guard[i], 0x5a);
    assert_string_equal(room.p.name, "NVIDIA A100-SXM4-80GB");
    assert_int_equal(room.p.major, 8);
    assert_int_equal(room.p.multiProcessorCount, 108);
    assert_int_equal(room.p.warpSize, 32);
    assert_int_equal(room.p.sharedMemPerBlock, 48 * 1024);
    assert_int_equal(CALL("cudaRuntimeGetVersion", int *)(&version), cudaSuccess);
    assert_int_equal(version / 1000, DOOR_CUDART);
    assert_int_equal(CALL("cudaGetDeviceCount", int *)(&count), cudaSuccess);
    assert_int_equal(count, 1);
}

static void test_kernel(void **state) {
    (void)state;
    uint32_t host[40], *device, value = 7, n = 40;
    for (uint32_t i = 0; i < n; i++)
        host[i] = i;
    assert_int_equal(CALL("cudaMalloc", void *, size_t)(&device, sizeof host), cudaSuccess);
    CALL("cudaMemcpy", void *, const void *, size_t, int)
    (device, host, sizeof host, cudaMemcpyHostToDevice);
    CALL("cudaMemcpyToSymbol", const void *, const void *, size_t, size_t, int)
    (&bias, &value, 4, 0, cudaMemcpyHostToDevice);
    void *parameters[] = {&device, &n};
    cudaError_t (*launch)(const void *, dim3, dim3, void **, size_t, cudaStream_t);
    *(void **)&launch = find("cudaLaunchKernel");
    assert_int_equal(launch(&stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, parameters, 0, NULL),
                     cudaSuccess);
    assert_int_equal(launch(&value, (dim3){1, 1, 1}, (dim3){64, 1, 1}, parameters, 0, NULL),
                     cudaErrorInvalidDeviceFunction);
    assert_int_equal(CALL("cudaGetLastError", void)(), cudaErrorInvalidDeviceFunction);
    assert_int_equal(CALL("cudaMemcpy", void *, const void *, size_t,
                          int)(host, device, sizeof host, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(host[i], i + 7);
    assert_int_equal(CALL("cudaFree", void *)(device), cudaSuccess);
}

static void test_attributes(void **state) {
    (void)state;
    cudaFuncAttributes a;
    int blocks;
    assert_int_equal(CALL("cudaFuncGetAttributes", cudaFuncAttributes *, const void *)(&a, &stub),
                     cudaSuccess);
    assert_int_equal(a.ptxVersion, 70);
    assert_int_equal(a.binaryVersion, 80);
    assert_int_equal(a.maxThreadsPerBlock, 1024);
    assert_int_equal(CALL("cudaOccupancyMaxActiveBlocksPerMultiprocessor", int *, const void *, int,
                          size_t)(&blocks, &stub, 128, 0),
                     cudaSuccess);
    assert_int_equal(blocks, 16);
}

/* All names are there; what has no code says so and is no crash. */
static void test_exports(void **state) {
    (void)state;
    char path[512], name[128];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/emulator/cudart/exports/%d.txt", ROOFPROF_SOURCE_DIR,
             DOOR_CUDART);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fscanf(file, "%127s", name) == 1) {
        find(name);
        count++;
    }
    fclose(file);
    assert_true(count > 400);
    assert_int_equal(CALL("cudaExternalMemoryGetMappedBuffer", void)(), cudaErrorNotSupported);
}

static void test_counts_file(void **state) {
    (void)state;
    char text[16384];
    FILE *file = fopen(counts_path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    assert_non_null(strstr(text, "\"name\":\"add_bias\",\"ptx_target\":70"));
    /* 40 of the 64 threads load their element, and the variable once each, and store */
    assert_non_null(strstr(text, "\"store_bytes\":{\"global\":160}"));
    assert_non_null(strstr(text, "\"load_bytes\":{\"global\":320"));
    assert_non_null(strstr(text, "\"load_sectors\":7,\"store_sectors\":5"));
}

static int open_door(void **state) {
    (void)state;
    char path[512];
    strcpy(counts_path, "/tmp/roofprof-door-XXXXXX");
    int descriptor = mkstemp(counts_path);
    if (descriptor < 0 || close(descriptor) != 0)
        return -1;
    setenv("ROOFPROF_EMU_DEVICE", "A100-SXM4-80GB", 1);
    setenv("ROOFPROF_EMU_COUNTS", counts_path, 1);
    snprintf(path, sizeof path, "%s/lib/emulator/libcudart.so.%d", ROOFPROF_BINARY_DIR,
             DOOR_CUDART);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    register_program();
    return 0;
}

static int remove_counts(void **state) {
    (void)state;
    return unlink(counts_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),  cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_exports),
        cmocka_unit_test(test_counts_file),
    };
    return cmocka_run_group_tests(tests, open_door, remove_counts);
}
