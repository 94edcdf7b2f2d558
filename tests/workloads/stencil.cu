// SPDX-License-Identifier: Apache-2.0
//
// One sweep of a 7-point stencil over a grid of three dimensions. The neighbours along x make the
// loads of a warp straddle sectors; re-use between the rows is the caches'.
#include "workload.h"

enum { BLOCK_X = 32, BLOCK_Y = 4 };

extern "C" __global__ void stencil7(const float *in, float *out, int nx, int ny, int nz, float c0,
                                    float c1) {
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int z = blockIdx.z;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1 || z < 1 || z >= nz - 1)
        return;
    size_t row = nx, plane = row * ny, i = z * plane + y * row + x;
    float sum = in[i - 1] + in[i + 1];
    sum += in[i - row];
    sum += in[i + row];
    sum += in[i - plane];
    sum += in[i + plane];
    out[i] = fmaf(c0, in[i], __fmul_rn(c1, sum));
}

static float reference(const float *in, size_t i, size_t row, size_t plane, float c0, float c1) {
    float sum = in[i - 1] + in[i + 1];
    sum += in[i - row];
    sum += in[i + row];
    sum += in[i - plane];
    sum += in[i + plane];
    return c0 * in[i] + c1 * sum;
}

static void expect(long long nx, long long ny, long long nz) {
    long long rows = (ny - 2) * (nz - 2), points = rows * (nx - 2);
    long long warps = nx / 32; // of a row
    wl_counts c = {0};
    c.flops_fp32 = 8 * points; // 5 additions, a multiplication, a fused multiply-add
    c.load_bytes = 7 * 4 * points;
    c.store_bytes = 4 * points;
    c.load_requests = 7 * rows * warps;
    c.store_requests = rows * warps;
    // A warp's 128 bytes are 4 sectors. Shifted by one element they are 5, but for the first warp
    // (to the left) and the last (to the right), whose outermost lane is idle.
    c.load_sectors = rows * (5 * 4 * warps + 2 * (5 * warps - 1));
    c.store_sectors = rows * 4 * warps;
    // Every row but the four edges of the volume, whole: a sector is fetched if one of its bytes
    // is.
    c.dram_read_bytes = (ny * nz - 4) * nx * 4;
    c.dram_write_bytes = rows * nx * 4;
    wl_expect_begin("stencil");
    wl_expect("stencil7", 1, &c);
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--nx=", "--ny=", "--nz=", NULL};
    wl_options_check(argc, argv, options);
    int nx = wl_option(argc, argv, "--nx", 96, 32, 1024, 32);
    int ny = wl_option(argc, argv, "--ny", 48, BLOCK_Y, 1024, BLOCK_Y);
    int nz = wl_option(argc, argv, "--nz", 32, 3, 1024, 1);
    if (wl_flag(argc, argv, "--expect")) {
        expect(nx, ny, nz);
        return 0;
    }
    const float c0 = 0.4f, c1 = 0.1f;
    size_t row = nx, plane = row * ny, n = plane * nz;
    float *in = wl_random_array(n, 6), *got = (float *)wl_host_alloc(n * sizeof *got);
    float *din = (float *)wl_device_copy(in, n * sizeof *in);
    float *dout = (float *)wl_device_alloc(n * sizeof *in);
    WL_CUDA(cudaMemset(dout, 0, n * sizeof *in));
    dim3 grid(nx / BLOCK_X, ny / BLOCK_Y, nz), block(BLOCK_X, BLOCK_Y);
    stencil7<<<grid, block>>>(din, dout, nx, ny, nz, c0, c1);
    wl_launched("stencil7");
    wl_fetch(got, dout, n * sizeof *got);
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) {
                size_t i = z * plane + y * row + x;
                int inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1;
                wl_compare("stencil7", i, got[i], inside ? reference(in, i, row, plane, c0, c1) : 0,
                           1e-6);
            }
    cudaFree(din);
    cudaFree(dout);
    free(in);
    free(got);
    return wl_verdict("stencil");
}
