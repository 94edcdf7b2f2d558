// SPDX-License-Identifier: Apache-2.0
//
// y = a x + y, once with a float and once with four floats per thread: the same bytes and sectors,
// a quarter of the load and store requests.
#include "workload.h"

enum { BLOCK = 256 };

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaf(a, x[i], y[i]);
}

// N4 elements of four floats.
extern "C" __global__ void saxpy_float4(int n4, float a, const float4 *x, float4 *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    float4 u = x[i], v = y[i];
    v.x = fmaf(a, u.x, v.x);
    v.y = fmaf(a, u.y, v.y);
    v.z = fmaf(a, u.z, v.z);
    v.w = fmaf(a, u.w, v.w);
    y[i] = v;
}

static void expect_one(const char *kernel, int elements, int size) {
    wl_counts c = {0};
    c.flops_fp32 = 2LL * elements * size / 4;
    wl_stream_load(&c, elements, size);
    wl_stream_load(&c, elements, size);
    wl_stream_store(&c, elements, size);
    wl_expect(kernel, 1, &c);
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 1 << 20, 16, 1 << 30, 16);
    if (wl_flag(argc, argv, "--expect")) {
        wl_expect_begin("saxpy");
        expect_one("saxpy", n, 4);
        expect_one("saxpy_float4", n / 4, 16);
        wl_expect_end();
        return 0;
    }
    const float a = 1.5f;
    float *x = wl_random_array(n, 1), *y = wl_random_array(n, 2);
    float *dx = (float *)wl_device_copy(x, n * sizeof *x);
    float *dy = (float *)wl_device_copy(y, n * sizeof *y);
    float *got = (float *)wl_host_alloc(n * sizeof *got);

    saxpy<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(n, a, dx, dy);
    wl_launched("saxpy");
    saxpy_float4<<<(n / 4 + BLOCK - 1) / BLOCK, BLOCK>>>(n / 4, a, (float4 *)dx, (float4 *)dy);
    wl_launched("saxpy_float4");
    wl_fetch(got, dy, n * sizeof *got);
    for (int i = 0; i < n; i++)
        wl_compare("y", i, got[i], fmaf(a, x[i], fmaf(a, x[i], y[i])), 0);
    cudaFree(dx);
    cudaFree(dy);
    free(x);
    free(y);
    free(got);
    return wl_verdict("saxpy");
}
