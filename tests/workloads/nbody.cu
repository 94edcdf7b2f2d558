// SPDX-License-Identifier: Apache-2.0
//
// Gravity between all pairs of bodies, tiled through shared memory: 19 operations a pair against
// 16 bytes of shared memory, and next to nothing from DRAM. The compute side of every roofline.
#include "workload.h"

enum { BLOCK = 128 };

// BODY is position and mass; ACCELERATION takes x, y, z and 0.
extern "C" __global__ void nbody(const float4 *body, float4 *acceleration, int n, float softening) {
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
#pragma unroll 1
    for (int first = 0; first < n; first += BLOCK) {
        tile[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < BLOCK; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
            float inverse = rsqrtf(r2);
            float pull = __fmul_rn(other.w, __fmul_rn(inverse, __fmul_rn(inverse, inverse)));
            ax = fmaf(dx, pull, ax);
            ay = fmaf(dy, pull, ay);
            az = fmaf(dz, pull, az);
        }
        __syncthreads();
    }
    acceleration[i] = make_float4(ax, ay, az, 0);
}

static void expect(long long n) {
    long long tiles = n / BLOCK;
    wl_counts c = {0};
    // 3 sub, 3 fma, rsqrt, 3 mul, 3 fma
    c.flops_fp32 = n * n * (3 + 6 + 1 + 3 + 6);
    c.load_bytes = 16 * n * (1 + tiles);
    c.load_requests = n / 32 * (1 + tiles);
    c.load_sectors = c.load_bytes / 32;
    c.store_bytes = 16 * n;
    c.store_requests = n / 32;
    c.store_sectors = c.store_bytes / 32;
    c.shared_store_bytes = 16 * n * tiles;
    c.shared_load_bytes = 16 * n * n;
    // float4 go by quarters of a warp, without conflict, to store as to load.
    c.shared_wavefronts = n / 32 * tiles * 4 + n / 32 * n * 4;
    c.dram_read_bytes = c.dram_write_bytes = 16 * n;
    wl_expect_begin("nbody");
    wl_expect("nbody", 1, &c);
    wl_expect_end();
}

static void verify(const float4 *body, const float4 *got, int n, float softening) {
    for (int i = 0; i < n; i++) {
        double ax = 0, ay = 0, az = 0, size = 0;
        for (int k = 0; k < n; k++) {
            double dx = (double)body[k].x - body[i].x, dy = (double)body[k].y - body[i].y;
            double dz = (double)body[k].z - body[i].z;
            double inverse = 1 / sqrt(dx * dx + dy * dy + dz * dz + softening);
            double pull = body[k].w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
            size += fabs(pull); // the sums cancel: errors are relative to their terms
        }
        wl_compare("x", i, got[i].x / size, ax / size, 1e-5);
        wl_compare("y", i, got[i].y / size, ay / size, 1e-5);
        wl_compare("z", i, got[i].z / size, az / size, 1e-5);
    }
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 2048, BLOCK, 1 << 20, BLOCK);
    if (wl_flag(argc, argv, "--expect")) {
        expect(n);
        return 0;
    }
    const float softening = 0.01f;
    float4 *body = (float4 *)wl_random_array(4LL * n, 10);
    float4 *got = (float4 *)wl_host_alloc(n * sizeof *got);
    for (int i = 0; i < n; i++)
        body[i].w = fabsf(body[i].w);
    float4 *dbody = (float4 *)wl_device_copy(body, n * sizeof *body);
    float4 *dacceleration = (float4 *)wl_device_alloc(n * sizeof *body);
    nbody<<<n / BLOCK, BLOCK>>>(dbody, dacceleration, n, softening);
    wl_launched("nbody");
    wl_fetch(got, dacceleration, n * sizeof *got);
    verify(body, got, n < 4096 ? n : 4096, softening);
    cudaFree(dbody);
    cudaFree(dacceleration);
    free(body);
    free(got);
    return wl_verdict("nbody");
}
