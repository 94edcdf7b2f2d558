// SPDX-License-Identifier: Apache-2.0
//
// C = A B in four ways: naive with lanes along the rows of B and C (coalesced), naive with lanes
// along the columns (every lane its own sector), tiled through shared memory, and tiled with 4 x 4
// results a thread. The same FLOPs and the same compulsory DRAM bytes at four different rates of
// requests. Row-major; A is M x K, B is K x N.
#include "workload.h"

enum { TILE = 16, BIG = 64, STEP = 16 };

extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c, int m, int n,
                                      int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum = fmaf(a[(size_t)row * k + i], b[(size_t)i * n + col], sum);
    c[(size_t)row * n + col] = sum;
}

extern "C" __global__ void gemm_uncoalesced(const float *a, const float *b, float *c, int m, int n,
                                            int k) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum = fmaf(a[(size_t)row * k + i], b[(size_t)i * n + col], sum);
    c[(size_t)row * n + col] = sum;
}

// A block of 16 x 16 threads makes a tile of 16 x 16.
extern "C" __global__ void gemm_tiled(const float *a, const float *b, float *c, int m, int n,
                                      int k) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
#pragma unroll 1
    for (int first = 0; first < k; first += TILE) {
        as[y][x] = a[(size_t)row * k + first + x];
        bs[y][x] = b[(size_t)(first + y) * n + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum = fmaf(as[y][i], bs[i][x], sum);
        __syncthreads();
    }
    c[(size_t)row * n + col] = sum;
}

// A block of 16 x 16 threads makes a tile of 64 x 64, 4 x 4 results a thread. The tile of A is kept
// transposed, so that both operands of a step are read as float4.
extern "C" __global__ void gemm_registers(const float *a, const float *b, float *c, int m, int n,
                                          int k) {
    __shared__ float4 as[STEP][BIG / 4], bs[STEP][BIG / 4];
    int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
    int col = blockIdx.x * BIG, row = blockIdx.y * BIG;
    float sum[4][4] = {{0}};
#pragma unroll 1
    for (int first = 0; first < k; first += STEP) {
        // Each thread brings one float4 of B, and four floats of one row of A.
        bs[y][x] = *(const float4 *)&b[(size_t)(first + y) * n + col + 4 * x];
        float4 v = *(const float4 *)&a[(size_t)(row + t / 4) * k + first + 4 * (t % 4)];
        float *column = (float *)as + t / 4;
        column[(4 * (t % 4) + 0) * BIG] = v.x;
        column[(4 * (t % 4) + 1) * BIG] = v.y;
        column[(4 * (t % 4) + 2) * BIG] = v.z;
        column[(4 * (t % 4) + 3) * BIG] = v.w;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            float4 p = as[i][y], q = bs[i][x];
            const float pa[4] = {p.x, p.y, p.z, p.w}, qa[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    sum[r][s] = fmaf(pa[r], qa[s], sum[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        *(float4 *)&c[(size_t)(row + 4 * y + r) * n + col + 4 * x] =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

static void expect(long long m, long long n, long long k) {
    long long warps = m * n / 32;
    wl_counts all = {0};
    all.flops_fp32 = 2 * m * n * k;
    all.store_bytes = 4 * m * n;
    all.store_requests = warps;
    all.store_sectors = 4 * warps;
    all.dram_read_bytes = 4 * (m * k + k * n);
    all.dram_write_bytes = 4 * m * n;
    wl_expect_begin("gemm");

    wl_counts naive = all;
    naive.load_bytes = 8 * m * n * k;
    naive.load_requests = 2 * warps * k;
    naive.load_sectors = warps * k * (1 + 4); // one word of A for all, 32 words of B
    wl_expect("gemm_naive", 1, &naive);

    wl_counts uncoalesced = naive;
    uncoalesced.load_sectors = warps * k * (32 + 1);
    uncoalesced.store_sectors = 32 * warps;
    wl_expect("gemm_uncoalesced", 1, &uncoalesced);

    wl_counts tiled = all;
    long long steps = k / TILE; // a warp is two rows of a tile: 2 x 64 bytes
    tiled.load_bytes = 8 * m * n * steps;
    tiled.load_requests = 2 * warps * steps;
    tiled.load_sectors = 4 * 2 * warps * steps;
    tiled.shared_store_bytes = 8 * m * n * steps;
    tiled.shared_load_bytes = 8 * m * n * k;
    // Stores: 32 consecutive words. Loads: a word of A for each of the two rows of a warp, which
    // lie 16 banks apart, and 16 words of B, shared by the two halves of the warp.
    tiled.shared_wavefronts = warps * steps * (2 + TILE + TILE);
    wl_expect("gemm_tiled", 1, &tiled);

    wl_counts registers = all;
    long long blocks = (m / BIG) * (n / BIG);
    steps = k / STEP;
    registers.load_bytes = blocks * steps * 2 * 4 * BIG * STEP;
    registers.load_requests = blocks * steps * 2 * 8;
    registers.load_sectors = registers.load_bytes / 32;
    registers.store_requests = blocks * 8 * 4;
    registers.shared_store_bytes = registers.load_bytes;
    registers.shared_load_bytes = blocks * steps * STEP * 256 * 2 * 16;
    // Of each of a block's 8 warps, per step: float4 go by quarters of a warp, each without
    // conflict, one to store B and two a step to load; the four columns of A put 4 words into each
    // of 8 banks: 4 wavefronts where 1 is the least.
    registers.shared_wavefronts = blocks * steps * 8 * (4 + 4 * 4 + STEP * (4 + 4));
    registers.shared_bank_conflicts = blocks * steps * 8 * 4 * 3;
    wl_expect("gemm_registers", 1, &registers);
    wl_expect_end();
}

static void verify(const char *what, const double *want, const float *dc, long long count) {
    float *got = (float *)wl_host_alloc(count * sizeof *got);
    wl_launched(what);
    wl_fetch(got, dc, count * sizeof *got);
    for (long long i = 0; i < count; i++)
        wl_compare(what, i, got[i], want[i], 1e-4);
    WL_CUDA(cudaMemset((void *)dc, 0, count * sizeof *got));
    free(got);
}

static double *multiply(const float *a, const float *b, int m, int n, int k) {
    double *c = (double *)wl_host_alloc((size_t)m * n * sizeof *c);
    for (size_t i = 0; i < (size_t)m * n; i++)
        c[i] = 0;
    for (int r = 0; r < m; r++)
        for (int i = 0; i < k; i++)
            for (int s = 0; s < n; s++)
                c[(size_t)r * n + s] += (double)a[(size_t)r * k + i] * b[(size_t)i * n + s];
    return c;
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--m=", "--n=", "--k=", NULL};
    wl_options_check(argc, argv, options);
    int m = wl_option(argc, argv, "--m", 128, BIG, 1 << 14, BIG);
    int n = wl_option(argc, argv, "--n", 192, BIG, 1 << 14, BIG);
    int k = wl_option(argc, argv, "--k", 96, STEP, 1 << 14, STEP);
    if (wl_flag(argc, argv, "--expect")) {
        expect(m, n, k);
        return 0;
    }
    float *a = wl_random_array((long long)m * k, 11), *b = wl_random_array((long long)k * n, 12);
    float *da = (float *)wl_device_copy(a, (size_t)m * k * sizeof *a);
    float *db = (float *)wl_device_copy(b, (size_t)k * n * sizeof *b);
    float *dc = (float *)wl_device_alloc((size_t)m * n * sizeof *a);
    double *want = multiply(a, b, m, n, k);
    gemm_naive<<<dim3(n / 32, m / 8), dim3(32, 8)>>>(da, db, dc, m, n, k);
    verify("gemm_naive", want, dc, (long long)m * n);
    gemm_uncoalesced<<<dim3(m / 32, n / 8), dim3(32, 8)>>>(da, db, dc, m, n, k);
    verify("gemm_uncoalesced", want, dc, (long long)m * n);
    gemm_tiled<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(da, db, dc, m, n, k);
    verify("gemm_tiled", want, dc, (long long)m * n);
    gemm_registers<<<dim3(n / BIG, m / BIG), dim3(16, 16)>>>(da, db, dc, m, n, k);
    verify("gemm_registers", want, dc, (long long)m * n);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    free(a);
    free(b);
    free(want);
    return wl_verdict("gemm");
}
