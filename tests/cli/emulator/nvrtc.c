/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the driver API that compiles a kernel as it runs and loads the cubin, as CUDA's
 * samples do. Built with a toolkit's headers.
 * Usage: nvrtc ARCHITECTURE [OPTION]: "sm_80" and a further option of NVRTC. It says what it meets:
 *   "options refused"   NVRTC does not take them         "no cubin"   it made none
 *   "load N"            cuModuleLoadData failed, N       "right"      the kernel ran, all is as it
 * must be With LINK as the option the cubin goes through cuLinkAddData. Exit code 0: one of these
 * was said.
 */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int code_ = (int)(call);                                                                   \
        if (code_) {                                                                               \
            printf("%s: %d\n", #call, code_);                                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char source[] = "template <int F> __global__ void scale(float *x, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] = F * x[i] + __CUDA_ARCH__;\n"
                             "}\n";

static void say(const char *what) {
    puts(what);
    exit(0);
}

/* The cubin (free), and the kernel's name in it. */
static char *compile(const char *arch, const char *option, size_t *size, char *name, size_t room) {
    char first[64];
    const char *options[] = {first, option};
    const char *lowered;
    nvrtcProgram program;
    snprintf(first, sizeof first, "--gpu-architecture=%s", arch);
    CHECK(nvrtcCreateProgram(&program, source, "scale.cu", 0, NULL, NULL));
    CHECK(nvrtcAddNameExpression(program, "scale<3>"));
    if (nvrtcCompileProgram(program, option ? 2 : 1, options) == NVRTC_ERROR_INVALID_OPTION)
        say("options refused");
    CHECK(nvrtcGetCUBINSize(program, size));
    if (*size == 0)
        say("no cubin");
    /* The byte behind the end must stay as it is. */
    char *cubin = malloc(*size + 1);
    if (!cubin)
        exit(1);
    cubin[*size] = 0x5a;
    CHECK(nvrtcGetCUBIN(program, cubin));
    CHECK(cubin[*size] != 0x5a);
    CHECK(nvrtcGetLoweredName(program, "scale<3>", &lowered));
    snprintf(name, room, "%s", lowered);
    CHECK(nvrtcDestroyProgram(&program));
    return cubin;
}

static int load(CUmodule *module, char *cubin, size_t size, int linked) {
    CUlinkState link;
    void *image = cubin;
    if (linked) {
        CHECK(cuLinkCreate(0, NULL, NULL, &link));
        CHECK(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, cubin, size, "scale", 0, NULL, NULL));
        CHECK(cuLinkComplete(link, &image, &size));
    }
    int code = (int)cuModuleLoadData(module, image);
    if (linked)
        CHECK(cuLinkDestroy(link));
    return code;
}

static void run(CUfunction kernel, int arch) {
    float host[N];
    CUdeviceptr x;
    int n = N, registers = 0;
    void *arguments[] = {&x, &n};
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    CHECK(cuMemAlloc(&x, sizeof host));
    CHECK(cuMemcpyHtoD(x, host, sizeof host));
    CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH(host, x, sizeof host));
    for (int i = 0; i < N; i++)
        CHECK(host[i] != (float)(3 * i + arch * 10));
    CHECK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
    CHECK(registers <= 0);
    CHECK(cuMemFree(x));
}

int main(int argc, char **argv) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    size_t size;
    char name[128];
    if (argc < 2)
        return 2;
    int linked = argc > 2 && strcmp(argv[2], "LINK") == 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    char *cubin = compile(argv[1],
                          linked     ? "-rdc=true"
                          : argc > 2 ? argv[2]
                                     : NULL,
                          &size, name, sizeof name);
    int code = load(&module, cubin, size, linked);
    free(cubin);
    if (code) {
        printf("load %d\n", code);
        return 0;
    }
    CHECK(cuModuleGetFunction(&kernel, module, name));
    run(kernel, atoi(argv[1] + strlen("sm_")));
    say("right");
}
