/* SPDX-License-Identifier: Apache-2.0
 *
 * The test clients' program and tracer: client.h tells what for.
 */
#include "client.h"
#include <dlfcn.h>
#include <string.h>

doors_api cu;
void *client_subscriber;
atomic_int client_records[KINDS];
record_kernel client_last_kernel;
char client_last_name[256];

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .align 4 .u32 answer = 42;\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n"
    "  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u64 %rd2, [b];\n  ld.param.u64 %rd3, [c];\n"
    "  ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n  setp.ge.s32 %p1, %r5, %r1;\n  @%p1 bra done;\n"
    "  mul.wide.s32 %rd4, %r5, 4;\n"
    "  add.s64 %rd5, %rd1, %rd4;\n  add.s64 %rd6, %rd2, %rd4;\n  add.s64 %rd7, %rd3, %rd4;\n"
    "  ld.global.f32 %f1, [%rd5];\n  ld.global.f32 %f2, [%rd6];\n"
    "  add.f32 %f3, %f1, %f2;\n  st.global.f32 [%rd7], %f3;\n"
    "done:\n  ret;\n}\n";

static void *open_library(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    return library;
}

void client_load(const char *folder, const char *cupti) {
    void *driver = open_library(folder, "libcuda.so.1");
    void *profiler = open_library(folder, cupti);
#define FROM_DRIVER(name, ...) cu.name = (int (*)(__VA_ARGS__))dlsym(driver, #name);
#define FROM_CUPTI(name, ...)  cu.name = (int (*)(__VA_ARGS__))dlsym(profiler, #name);
    DRIVER_FUNCTIONS(FROM_DRIVER)
    CUPTI_FUNCTIONS(FROM_CUPTI)
    RANGE_FUNCTIONS(FROM_CUPTI)
}

void client_start(void) {
    void *context;
    CHECK(cu.cuInit(0) == 0);
    CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0) == 0);
    CHECK(cu.cuCtxSetCurrent(context) == 0);
}

void client_prepare(client_program *p, int n) {
    size_t bytes = (size_t)n * sizeof(float);
    float *host = malloc(bytes);
    CHECK(host);
    *p = (client_program){.n = n};
    CHECK(cu.cuModuleLoadData(&p->module, ptx) == 0);
    CHECK(cu.cuModuleGetFunction(&p->kernel, p->module, "add") == 0);
    CHECK(cu.cuMemAlloc_v2(&p->a, bytes) == 0 && cu.cuMemAlloc_v2(&p->b, bytes) == 0 &&
          cu.cuMemAlloc_v2(&p->c, bytes) == 0);
    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    CHECK(cu.cuMemcpyHtoD_v2(p->a, host, bytes) == 0);
    CHECK(cu.cuMemcpyHtoD_v2(p->b, host, bytes) == 0);
    free(host);
}

void client_launch(const client_program *p) {
    unsigned long long a = p->a, b = p->b, c = p->c;
    int n = p->n;
    void *arguments[] = {&a, &b, &c, &n};
    CHECK(cu.cuLaunchKernel(p->kernel, (unsigned)(n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL,
                            arguments, NULL) == 0);
}

void client_finish(client_program *p) {
    size_t bytes = (size_t)p->n * sizeof(float);
    float *host = malloc(bytes);
    CHECK(host && cu.cuMemcpyDtoH_v2(host, p->c, bytes) == 0);
    for (int i = 0; i < p->n; i++)
        CHECK(host[i] == 2 * (float)i);
    free(host);
    CHECK(cu.cuMemFree_v2(p->a) == 0 && cu.cuMemFree_v2(p->b) == 0 && cu.cuMemFree_v2(p->c) == 0);
    CHECK(cu.cuModuleUnload(p->module) == 0);
}

/* ---- The tracer ---- */

static void on_call(void *user, int domain, uint32_t id, const void *data) {
    (void)user, (void)domain, (void)id, (void)data;
}

void client_buffer_requested(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 64 << 10;
    *most = 0;
    *buffer = aligned_alloc(8, *size);
}

void client_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid) {
    void *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cu.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
        uint32_t kind = *(const uint32_t *)record;
        CHECK(kind < KINDS);
        client_records[kind]++;
        if (kind == KIND_CONCURRENT_KERNEL) {
            memcpy(&client_last_kernel, record, offsetof(record_kernel, reserved));
            snprintf(client_last_name, sizeof client_last_name, "%s", client_last_kernel.name);
        }
    }
    free(buffer);
}

void client_trace(void) {
    static const int kinds[] = {KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET, KIND_MEMORY2,
                                KIND_DEVICE};
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_call, NULL) == 0);
    CHECK(cu.cuptiActivityRegisterCallbacks(client_buffer_requested, client_buffer_completed) == 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        CHECK(cu.cuptiActivityEnable(kinds[i]) == 0);
}
