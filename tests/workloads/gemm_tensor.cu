// SPDX-License-Identifier: Apache-2.0
//
// C = A B on tensor cores, f16 and bf16 with sums in f32, in two ways: by nvcuda::wmma straight
// from global memory, and by mma.sync with fragments that ldmatrix reads from tiles in shared
// memory. Row-major; A is M x K, B is K x N.
#include "workload.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

enum { TILE = 16, BIG = 64, STEP = 16, WARPS = 4 };
// Rows of the tiles in shared memory, in elements: padded so that the 8 rows that ldmatrix reads at
// once lie in different banks.
enum { PITCH_A = STEP + 8, PITCH_B = BIG + 8 };

// A warp makes a tile of 16 x 16; the 4 warps of a block stand side by side.
template <typename T>
static __device__ void multiply_wmma(const T *a, const T *b, float *c, int n, int k) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, T, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
    int row = blockIdx.y * TILE, col = (blockIdx.x * WARPS + threadIdx.x / 32) * TILE;
    wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
    for (int first = 0; first < k; first += TILE) {
        wmma::load_matrix_sync(fa, a + (size_t)row * k + first, k);
        wmma::load_matrix_sync(fb, b + (size_t)first * n + col, n);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c + (size_t)row * n + col, sum, n, wmma::mem_row_major);
}

static __device__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t *b,
                                    __half) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t *b,
                                    __nv_bfloat16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ void load_matrices(uint32_t (&d)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

static __device__ void load_matrices_turned(uint32_t (&d)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

// A block of 128 threads makes a tile of 64 x 64, a warp 16 of its rows.
template <typename T>
static __device__ void multiply_mma(const T *a, const T *b, float *c, int n, int k) {
    __shared__ __align__(16) T as[BIG * PITCH_A], bs[STEP * PITCH_B];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int col = blockIdx.x * BIG, row = blockIdx.y * BIG;
    float sum[BIG / 8][4] = {{0}};
#pragma unroll 1
    for (int first = 0; first < k; first += STEP) {
        // Each thread brings 8 elements of A, and 8 of B.
        *(uint4 *)&as[t / 2 * PITCH_A + t % 2 * 8] =
            *(const uint4 *)&a[(size_t)(row + t / 2) * k + first + t % 2 * 8];
        *(uint4 *)&bs[t / 8 * PITCH_B + t % 8 * 8] =
            *(const uint4 *)&b[(size_t)(first + t / 8) * n + col + t % 8 * 8];
        __syncthreads();
        uint32_t fa[4], fb[4];
        load_matrices(fa, &as[(16 * warp + lane % 16) * PITCH_A + lane / 16 * 8]);
#pragma unroll
        for (int pair = 0; pair < BIG / 16; pair++) {
            load_matrices_turned(fb, &bs[lane % 16 * PITCH_B + 16 * pair + lane / 16 * 8]);
            multiply_add(sum[2 * pair], fa, fb, T());
            multiply_add(sum[2 * pair + 1], fa, fb + 2, T());
        }
        __syncthreads();
    }
#pragma unroll
    for (int tile = 0; tile < BIG / 8; tile++) {
        float *to = c + (size_t)(row + 16 * warp + lane / 4) * n + col + 8 * tile + 2 * (lane % 4);
        *(float2 *)to = make_float2(sum[tile][0], sum[tile][1]);
        *(float2 *)(to + (size_t)8 * n) = make_float2(sum[tile][2], sum[tile][3]);
    }
}

extern "C" __global__ void gemm_wmma_f16(const __half *a, const __half *b, float *c, int n, int k) {
    multiply_wmma(a, b, c, n, k);
}

extern "C" __global__ void gemm_wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c,
                                          int n, int k) {
    multiply_wmma(a, b, c, n, k);
}

extern "C" __global__ void gemm_mma_f16(const __half *a, const __half *b, float *c, int n, int k) {
    multiply_mma(a, b, c, n, k);
}

extern "C" __global__ void gemm_mma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c,
                                         int n, int k) {
    multiply_mma(a, b, c, n, k);
}

static void expect_both(const char *f16, const char *bf16, const wl_counts *c, long long ops) {
    wl_counts one = *c;
    one.tensor_fp16 = ops;
    wl_expect(f16, 1, &one);
    one = *c;
    one.tensor_bf16 = ops;
    wl_expect(bf16, 1, &one);
}

static void expect(long long m, long long n, long long k) {
    wl_counts all = {0};
    long long ops = 2 * m * n * k, tiles = m / TILE * (n / TILE), steps = k / STEP;
    all.store_bytes = 4 * m * n;
    all.store_requests = m * n / 64; // two floats a lane
    all.store_sectors = m * n / 8;
    all.dram_read_bytes = 2 * (m * k + k * n);
    all.dram_write_bytes = 4 * m * n;
    wl_expect_begin("gemm_tensor");

    wl_counts wmma = all;
    wmma.load_bytes = tiles * steps * 2 * 2 * TILE * STEP;
    // A: 4 accesses of two elements a lane, of 8 rows each; B, whose columns the lanes go along: 8
    // of one element, of 4 rows each.
    wmma.load_requests = tiles * steps * (4 + 8);
    wmma.load_sectors = tiles * steps * (4 * 8 + 8 * 4);
    expect_both("gemm_wmma_f16", "gemm_wmma_bf16", &wmma, ops);

    wl_counts mma = all;
    long long warps = m / BIG * (n / BIG) * WARPS;
    mma.load_bytes = warps * steps * 2 * 32 * 16;
    mma.load_requests = warps * steps * 2;
    mma.load_sectors = warps * steps * (16 + 4 * 4); // 16 rows of A, 4 rows of B of 128 bytes
    mma.shared_store_bytes = mma.load_bytes;
    mma.shared_load_bytes = warps * steps * 5 * 32 * 16; // A once, B four times 16 columns
    // The 4 rows of A that a quarter of a warp stores lie 12 words apart: the last is over the
    // banks of the first. All else is free of conflicts.
    mma.shared_wavefronts = warps * steps * (8 + 4 + 5 * 4);
    mma.shared_bank_conflicts = warps * steps * 4;
    expect_both("gemm_mma_f16", "gemm_mma_bf16", &mma, ops);
    wl_expect_end();
}

static float to_float(__half x) {
    return __half2float(x);
}
static float to_float(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
static void from_float(float x, __half *to) {
    *to = __float2half(x);
}
static void from_float(float x, __nv_bfloat16 *to) {
    *to = __float2bfloat16(x);
}

template <typename T> static T *random_elements(long long count, uint32_t seed) {
    T *x = (T *)wl_host_alloc((size_t)count * sizeof *x);
    for (long long i = 0; i < count; i++)
        from_float(wl_random_float(&seed), &x[i]);
    return x;
}

// Each result against the sum in double precision: products are exact, so that only the K additions
// round, each by less than 2^-23 of the sum of sizes (tensor cores truncate).
template <typename T>
static void verify(const char *what, const T *a, const T *b, const float *dc, int m, int n, int k) {
    float *got = (float *)wl_host_alloc((size_t)m * n * sizeof *got);
    wl_launched(what);
    wl_fetch(got, dc, (size_t)m * n * sizeof *got);
    for (int r = 0; r < m; r++)
        for (int s = 0; s < n; s++) {
            double sum = 0, size = 0;
            for (int i = 0; i < k; i++) {
                double term = (double)to_float(a[(size_t)r * k + i]) * to_float(b[(size_t)i * n + s]);
                sum += term;
                size += fabs(term);
            }
            wl_compare(what, (long long)r * n + s, got[(size_t)r * n + s], sum,
                       (k + 1) * size / (1 << 23));
        }
    WL_CUDA(cudaMemset((void *)dc, 0, (size_t)m * n * sizeof *got));
    free(got);
}

template <typename T, typename K>
static void run(const char *wmma_name, K wmma, const char *mma_name, K mma, int m, int n, int k) {
    T *a = random_elements<T>((long long)m * k, 11), *b = random_elements<T>((long long)k * n, 12);
    T *da = (T *)wl_device_copy(a, (size_t)m * k * sizeof *a);
    T *db = (T *)wl_device_copy(b, (size_t)k * n * sizeof *b);
    float *dc = (float *)wl_device_alloc((size_t)m * n * sizeof *dc);
    wmma<<<dim3(n / (TILE * WARPS), m / TILE), 32 * WARPS>>>(da, db, dc, n, k);
    verify(wmma_name, a, b, dc, m, n, k);
    mma<<<dim3(n / BIG, m / BIG), 32 * WARPS>>>(da, db, dc, n, k);
    verify(mma_name, a, b, dc, m, n, k);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    free(a);
    free(b);
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
    run<__half>("gemm_wmma_f16", gemm_wmma_f16, "gemm_mma_f16", gemm_mma_f16, m, n, k);
    run<__nv_bfloat16>("gemm_wmma_bf16", gemm_wmma_bf16, "gemm_mma_bf16", gemm_mma_bf16, m, n, k);
    return wl_verdict("gemm_tensor");
}
