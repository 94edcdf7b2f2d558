// SPDX-License-Identifier: Apache-2.0
//
// A matrix transposed in three ways: straight (its writes scatter over 32 sectors a warp), through
// a tile in shared memory (coalesced, but columns of the tile lie in one bank), and through a tile
// padded by one column (coalesced and free of conflicts).
#include "workload.h"

enum { TILE = 32, ROWS = 8 }; // a block of 32 x 8 threads moves a tile of 32 x 32

extern "C" __global__ void transpose_naive(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(size_t)x * height + y + j] = in[(size_t)(y + j) * width + x];
}

#define TRANSPOSE_TILED(name, pitch)                                                               \
    extern "C" __global__ void name(const float *in, float *out, int width, int height) {          \
        __shared__ float tile[TILE][pitch];                                                        \
        int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;              \
        for (int j = 0; j < TILE; j += ROWS)                                                       \
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];                  \
        __syncthreads();                                                                           \
        x = blockIdx.y * TILE + threadIdx.x;                                                       \
        y = blockIdx.x * TILE + threadIdx.y;                                                       \
        for (int j = 0; j < TILE; j += ROWS)                                                       \
            out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];                \
    }

TRANSPOSE_TILED(transpose_shared, TILE)
TRANSPOSE_TILED(transpose_padded, TILE + 1)

static void expect(long long n) {
    wl_counts c = {0};
    wl_expect_begin("transpose");
    wl_stream_load(&c, n, 4);
    wl_stream_store(&c, n, 4);
    wl_counts naive = c;
    naive.store_sectors = n; // every lane writes another row: 32 sectors a warp
    wl_expect("transpose_naive", 1, &naive);
    c.shared_load_bytes = c.shared_store_bytes = 4 * n;
    c.shared_wavefronts = n / 32 + n; // rows in one go, columns one lane at a time
    c.shared_bank_conflicts = n / 32 * 31;
    wl_expect("transpose_shared", 1, &c);
    c.shared_wavefronts = 2 * (n / 32);
    c.shared_bank_conflicts = 0;
    wl_expect("transpose_padded", 1, &c);
    wl_expect_end();
}

static void verify(const char *what, const float *in, const float *device, int width, int height) {
    size_t bytes = (size_t)width * height * sizeof(float);
    float *got = (float *)wl_host_alloc(bytes);
    wl_launched(what);
    wl_fetch(got, device, bytes);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            wl_compare(what, (long long)x * height + y, got[(size_t)x * height + y],
                       in[(size_t)y * width + x], 0);
    free(got);
    WL_CUDA(cudaMemset((void *)device, 0, bytes));
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--width=", "--height=", NULL};
    wl_options_check(argc, argv, options);
    int width = wl_option(argc, argv, "--width", 512, TILE, 1 << 15, TILE);
    int height = wl_option(argc, argv, "--height", 256, TILE, 1 << 15, TILE);
    long long n = (long long)width * height;
    if (wl_flag(argc, argv, "--expect")) {
        expect(n);
        return 0;
    }
    float *in = wl_random_array(n, 3);
    float *din = (float *)wl_device_copy(in, n * sizeof *in);
    float *dout = (float *)wl_device_alloc(n * sizeof *in);
    dim3 grid(width / TILE, height / TILE), block(TILE, ROWS);
    transpose_naive<<<grid, block>>>(din, dout, width, height);
    verify("transpose_naive", in, dout, width, height);
    transpose_shared<<<grid, block>>>(din, dout, width, height);
    verify("transpose_shared", in, dout, width, height);
    transpose_padded<<<grid, block>>>(din, dout, width, height);
    verify("transpose_padded", in, dout, width, height);
    cudaFree(din);
    cudaFree(dout);
    free(in);
    return wl_verdict("transpose");
}
