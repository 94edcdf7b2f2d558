// SPDX-License-Identifier: Apache-2.0
//
// The four STREAM kernels in fp32, fp64 and packed fp16: nothing but DRAM traffic, so their counts
// are the arrays' sizes. One thread per element.
#include "workload.h"

#include <cuda_fp16.h>

enum { BLOCK = 256 };

// One set of kernels per type. Half precision needs intrinsics, hence MUL, ADD and FMA.
#define STREAM_KERNELS(suffix, type, MUL, ADD, FMA)                                                \
    extern "C" __global__ void copy_##suffix(const type *a, type *c, int n) {                      \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            c[i] = a[i];                                                                           \
    }                                                                                              \
    extern "C" __global__ void scale_##suffix(type *b, const type *c, type s, int n) {             \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            b[i] = MUL(s, c[i]);                                                                   \
    }                                                                                              \
    extern "C" __global__ void add_##suffix(const type *a, const type *b, type *c, int n) {        \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            c[i] = ADD(a[i], b[i]);                                                                \
    }                                                                                              \
    extern "C" __global__ void triad_##suffix(type *a, const type *b, const type *c, type s,       \
                                              int n) {                                             \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            a[i] = FMA(s, c[i], b[i]);                                                             \
    }

STREAM_KERNELS(f32, float, __fmul_rn, __fadd_rn, __fmaf_rn)
STREAM_KERNELS(f64, double, __dmul_rn, __dadd_rn, __fma_rn)
STREAM_KERNELS(h2, __half2, __hmul2, __hadd2, __hfma2)

// One round: copy a to c, b = s c, c = a + b, a = b + s c. With a = 1 and s = 0.5 all intermediate
// values are exact in every precision: c = 1, b = 0.5, c = 1.5, a = 1.25 after one round, and each
// further round multiplies by 1.25, which fp16 rounds; hence the tolerance of the checks.
#define STREAM_RUN(suffix, type, one, half)                                                        \
    static void run_##suffix(int n, int rounds, type *result) {                                    \
        type *a = (type *)wl_device_alloc((size_t)n * sizeof(type));                               \
        type *b = (type *)wl_device_alloc((size_t)n * sizeof(type));                               \
        type *c = (type *)wl_device_alloc((size_t)n * sizeof(type));                               \
        int grid = (n + BLOCK - 1) / BLOCK;                                                        \
        for (int i = 0; i < n; i++)                                                                \
            result[i] = one;                                                                       \
        WL_CUDA(cudaMemcpy(a, result, (size_t)n * sizeof(type), cudaMemcpyHostToDevice));          \
        for (int r = 0; r < rounds; r++) {                                                         \
            copy_##suffix<<<grid, BLOCK>>>(a, c, n);                                               \
            scale_##suffix<<<grid, BLOCK>>>(b, c, half, n);                                        \
            add_##suffix<<<grid, BLOCK>>>(a, b, c, n);                                             \
            triad_##suffix<<<grid, BLOCK>>>(a, b, c, half, n);                                     \
        }                                                                                          \
        wl_launched("stream " #suffix);                                                            \
        wl_fetch(result, a, (size_t)n * sizeof(type));                                             \
        cudaFree(a);                                                                               \
        cudaFree(b);                                                                               \
        cudaFree(c);                                                                               \
    }

STREAM_RUN(f32, float, 1.0f, 0.5f)
STREAM_RUN(f64, double, 1.0, 0.5)
STREAM_RUN(h2, __half2, __floats2half2_rn(1.0f, 1.0f), __floats2half2_rn(0.5f, 0.5f))

// One kernel of one type: LOADS arrays in, one out, FLOPS in all but for the second half of half2.
static void expect_one(const char *kernel, const char *suffix, int n, int size, int loads,
                       long long flops, int rounds) {
    wl_counts c = {0};
    char name[32];
    snprintf(name, sizeof name, "%s_%s", kernel, suffix);
    for (int i = 0; i < loads; i++)
        wl_stream_load(&c, n, size);
    wl_stream_store(&c, n, size);
    if (!strcmp(suffix, "f64"))
        c.flops_fp64 = flops;
    else if (!strcmp(suffix, "f32"))
        c.flops_fp32 = flops;
    else
        c.flops_fp16 = 2 * flops; // two lanes
    wl_expect(name, rounds, &c);
}

static void expect(int n, int rounds) {
    static const struct {
        const char *suffix;
        int size;
    } types[] = {{"f32", 4}, {"f64", 8}, {"h2", 4}};
    wl_expect_begin("stream");
    for (int t = 0; t < 3; t++) {
        expect_one("copy", types[t].suffix, n, types[t].size, 1, 0, rounds);
        expect_one("scale", types[t].suffix, n, types[t].size, 1, n, rounds);
        expect_one("add", types[t].suffix, n, types[t].size, 2, n, rounds);
        expect_one("triad", types[t].suffix, n, types[t].size, 2, 2LL * n, rounds);
    }
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", "--rounds=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 1 << 18, 16, 1 << 30, 16);
    int rounds = wl_option(argc, argv, "--rounds", 1, 1, 16, 1);
    if (wl_flag(argc, argv, "--expect")) {
        expect(n, rounds);
        return 0;
    }
    double want = pow(1.25, rounds);
    double *buffer = (double *)wl_host_alloc((size_t)n * sizeof(double));
    run_f32(n, rounds, (float *)buffer);
    for (int i = 0; i < n; i++)
        wl_compare("triad_f32", i, ((float *)buffer)[i], want, 1e-6);
    run_f64(n, rounds, buffer);
    for (int i = 0; i < n; i++)
        wl_compare("triad_f64", i, buffer[i], want, 1e-15);
    run_h2(n, rounds, (__half2 *)buffer);
    for (int i = 0; i < n; i++) {
        wl_compare("triad_h2 low", i, __low2float(((__half2 *)buffer)[i]), want, 2e-2);
        wl_compare("triad_h2 high", i, __high2float(((__half2 *)buffer)[i]), want, 2e-2);
    }
    free(buffer);
    return wl_verdict("stream");
}
