/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory bandwidth and latency. Stream kernels go over arrays in tiles of blockDim x UNROLL
 * vectors: a thread has UNROLL 16-byte accesses of every array in flight (32 bytes where the chip
 * has them), neighbours take neighbouring vectors, blocks take tiles in turns, so any grid is
 * right. The sizes are whole tiles. Reads sum 32-bit integers, the others work on doubles whose
 * results are exact.
 *
 * Bytes of a launch (kernels/paths.c divides by their sum): what the arrays hold, once for each
 * array and direction; 16 bytes of atomics a block for the cycle record, and 4 (8 for dot) a block
 * for the sum of those that have one.
 */
#include "device.cuh"
#include "shapes.h"

/* ---- Vectors --------------------------------------------------------------------------------- */

struct words16 {
    enum { WORDS = 4 };
    unsigned w[4];
};
struct doubles16 {
    enum { DOUBLES = 2 };
    double d[2];
};

__device__ __forceinline__ void load(words16 &v, const words16 *p) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
                 : "l"(p));
}
__device__ __forceinline__ void load(doubles16 &v, const doubles16 *p) {
    asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0,%1}, [%2];"
                 : "=d"(v.d[0]), "=d"(v.d[1])
                 : "l"(p));
}
__device__ __forceinline__ void store(doubles16 *p, const doubles16 &v) {
    asm volatile("st.global.v2.f64 [%0], {%1,%2};" ::"l"(p), "d"(v.d[0]), "d"(v.d[1]) : "memory");
}

#if __CUDA_ARCH__ >= 1000
struct words32 {
    enum { WORDS = 8 };
    unsigned w[8];
};
struct doubles32 {
    enum { DOUBLES = 4 };
    double d[4];
};
__device__ __forceinline__ void load(words32 &v, const words32 *p) {
    asm volatile("ld.global.nc.L1::no_allocate.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3]), "=r"(v.w[4]),
                   "=r"(v.w[5]), "=r"(v.w[6]), "=r"(v.w[7])
                 : "l"(p));
}
__device__ __forceinline__ void load(doubles32 &v, const doubles32 *p) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.f64 {%0,%1,%2,%3}, [%4];"
                 : "=d"(v.d[0]), "=d"(v.d[1]), "=d"(v.d[2]), "=d"(v.d[3])
                 : "l"(p));
}
__device__ __forceinline__ void store(doubles32 *p, const doubles32 &v) {
    asm volatile("st.global.v4.f64 [%0], {%1,%2,%3,%4};" ::"l"(p), "d"(v.d[0]), "d"(v.d[1]),
                 "d"(v.d[2]), "d"(v.d[3])
                 : "memory");
}
#endif

/* ---- Sums of a block ------------------------------------------------------------------------- */

template <class T> __device__ __forceinline__ void block_sum(T mine, T *total) {
    __shared__ T of_warp[32];
#pragma unroll
    for (int step = 16; step; step >>= 1)
        mine += __shfl_xor_sync(0xffffffffu, mine, step);
    if ((threadIdx.x & 31) == 0)
        of_warp[threadIdx.x >> 5] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned warp = 1; warp < blockDim.x >> 5; warp++)
            mine += of_warp[warp];
        atomicAdd(total, mine);
    }
}

/* ---- Streams --------------------------------------------------------------------------------- */

template <class V, int UNROLL>
__device__ __forceinline__ void read(const V *a, unsigned *sum, rp_span *spans,
                                     unsigned long long tiles) {
    const unsigned long long start = rp_cycle();
    unsigned mine = 0;
#pragma unroll 1
    for (unsigned long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const V *p = a + tile * (blockDim.x * UNROLL) + threadIdx.x;
        V v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            load(v[u], p + u * blockDim.x);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int w = 0; w < V::WORDS; w++)
                mine += v[u].w[w];
    }
    block_sum(mine, sum);
    rp_record(spans, start);
}

template <class V, int UNROLL>
__device__ __forceinline__ void dot(const V *a, const V *b, double *sum, rp_span *spans,
                                    unsigned long long tiles) {
    const unsigned long long start = rp_cycle();
    double mine = 0;
#pragma unroll 1
    for (unsigned long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const unsigned long long first = tile * (blockDim.x * UNROLL) + threadIdx.x;
        V v[UNROLL], w[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            load(v[u], a + first + u * blockDim.x);
            load(w[u], b + first + u * blockDim.x);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int d = 0; d < V::DOUBLES; d++)
                mine = fma(v[u].d[d], w[u].d[d], mine);
    }
    block_sum(mine, sum);
    rp_record(spans, start);
}

/* What a stream writes from the elements that it reads: LOADS arrays, b then c. */
struct write_op {
    enum { LOADS = 0 };
    static __device__ __forceinline__ double of(double, double, double s) {
        return s;
    }
};
struct copy_op {
    enum { LOADS = 1 };
    static __device__ __forceinline__ double of(double b, double, double) {
        return b;
    }
};
struct scale_op {
    enum { LOADS = 1 };
    static __device__ __forceinline__ double of(double b, double, double s) {
        return s * b;
    }
};
struct add_op {
    enum { LOADS = 2 };
    static __device__ __forceinline__ double of(double b, double c, double) {
        return b + c;
    }
};
struct triad_op {
    enum { LOADS = 2 };
    static __device__ __forceinline__ double of(double b, double c, double s) {
        return fma(s, c, b);
    }
};

template <class V, int UNROLL, class Op>
__device__ __forceinline__ void stream(V *a, const V *b, const V *c, double s, rp_span *spans,
                                       unsigned long long tiles) {
    const unsigned long long start = rp_cycle();
#pragma unroll 1
    for (unsigned long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const unsigned long long first = tile * (blockDim.x * UNROLL) + threadIdx.x;
        V x[UNROLL], y[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (Op::LOADS > 0)
                load(x[u], b + first + u * blockDim.x);
            if (Op::LOADS > 1)
                load(y[u], c + first + u * blockDim.x);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            V out;
#pragma unroll
            for (int d = 0; d < V::DOUBLES; d++)
                out.d[d] = Op::of(Op::LOADS > 0 ? x[u].d[d] : 0, Op::LOADS > 1 ? y[u].d[d] : 0, s);
            store(a + first + u * blockDim.x, out);
        }
    }
    rp_record(spans, start);
}

#define RP_STREAM(NAME, BYTES, UNROLL)                                                             \
    extern "C" __global__ void __launch_bounds__(512) rp_##NAME##_##BYTES##_##UNROLL(              \
        doubles##BYTES *a, const doubles##BYTES *b, const doubles##BYTES *c, double s,             \
        rp_span *spans, unsigned long long tiles) {                                                \
        stream<doubles##BYTES, UNROLL, NAME##_op>(a, b, c, s, spans, tiles);                       \
    }
#define RP_STREAMS(BYTES, UNROLL)                                                                  \
    extern "C" __global__ void __launch_bounds__(512) rp_read_##BYTES##_##UNROLL(                  \
        const words##BYTES *a, unsigned *sum, rp_span *spans, unsigned long long tiles) {          \
        read<words##BYTES, UNROLL>(a, sum, spans, tiles);                                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(512)                                              \
        rp_dot_##BYTES##_##UNROLL(const doubles##BYTES *a, const doubles##BYTES *b, double *sum,   \
                                  rp_span *spans, unsigned long long tiles) {                      \
        dot<doubles##BYTES, UNROLL>(a, b, sum, spans, tiles);                                      \
    }                                                                                              \
    RP_STREAM(write, BYTES, UNROLL)                                                                \
    RP_STREAM(copy, BYTES, UNROLL)                                                                 \
    RP_STREAM(scale, BYTES, UNROLL)                                                                \
    RP_STREAM(add, BYTES, UNROLL)                                                                  \
    RP_STREAM(triad, BYTES, UNROLL)

RP_STREAMS(16, 2)
RP_STREAMS(16, 4)
RP_STREAMS(16, 8)
#if __CUDA_ARCH__ >= 1000
RP_STREAMS(32, 2)
RP_STREAMS(32, 4)
#endif

/* ---- Making and checking of arrays (not timed) ----------------------------------------------- */

extern "C" __global__ void rp_fill_words(unsigned *a, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (unsigned long long)blockDim.x)
        a[i] = (unsigned)i * RP_WORD_K + RP_WORD_C;
}

/* b[i] = FIRST + i % PERIOD. */
extern "C" __global__ void rp_fill_doubles(double *b, double first, unsigned period,
                                           unsigned long long n) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (unsigned long long)blockDim.x)
        b[i] = first + (double)(i % period);
}

/* Counts the a[i] that are not S + P (1 + i % 16) + Q (2 + i % 8): the result of any stream. */
extern "C" __global__ void rp_check_doubles(const double *a, double s, double p, double q,
                                            unsigned long long n, unsigned long long *wrong) {
    unsigned long long mine = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (unsigned long long)blockDim.x)
        mine += a[i] != s + p * (double)(1 + i % 16) + q * (double)(2 + i % 8);
    if (mine)
        atomicAdd(wrong, mine);
}

/* ---- L2, L1, shared -------------------------------------------------------------------------- */

/* PASSES over an array that fits the L2, past the L1. Each pass starts a block elsewhere, so that
 * all of the L2's slices are in use at any time. Unroll 4. */
extern "C" __global__ void __launch_bounds__(512)
    rp_l2_read(const words16 *a, unsigned *sum, rp_span *spans, unsigned tiles, unsigned passes) {
    const unsigned long long start = rp_cycle();
    unsigned mine = 0;
#pragma unroll 1
    for (unsigned pass = 0; pass < passes; pass++)
#pragma unroll 1
        for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
            unsigned tile = t + pass * 17;
            tile %= tiles;
            const words16 *p = a + tile * (blockDim.x * 4) + threadIdx.x;
            words16 v[4];
#pragma unroll
            for (int u = 0; u < 4; u++)
                asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[u].w[0]), "=r"(v[u].w[1]), "=r"(v[u].w[2]), "=r"(v[u].w[3])
                             : "l"(p + u * blockDim.x));
#pragma unroll
            for (int u = 0; u < 4; u++)
                mine += v[u].w[0] + v[u].w[1] + v[u].w[2] + v[u].w[3];
        }
    block_sum(mine, sum);
    rp_record(spans, start);
}

/* Every warp reads the same RP_L1_BYTES over and over: 8 loads of 512 bytes an iteration. */
extern "C" __global__ void __launch_bounds__(1024)
    rp_l1_read(const char *a, unsigned *sum, rp_span *spans, unsigned iterations) {
    const char *p = a + (threadIdx.x & 31) * 16;
    const unsigned long long start = rp_cycle();
    unsigned mine = 0;
#pragma unroll 1
    for (unsigned n = 0; n < iterations; n++) {
        const char *at = p + n % 4 * 4096;
        words16 v[RP_ONCHIP_UNROLL];
#pragma unroll
        for (unsigned u = 0; u < RP_ONCHIP_UNROLL; u++)
            asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[u].w[0]), "=r"(v[u].w[1]), "=r"(v[u].w[2]), "=r"(v[u].w[3])
                         : "l"(at + u * 512));
#pragma unroll
        for (unsigned u = 0; u < RP_ONCHIP_UNROLL; u++)
            mine += v[u].w[0] + v[u].w[1] + v[u].w[2] + v[u].w[3];
    }
    block_sum(mine, sum);
    rp_record(spans, start);
}

/* The same in shared memory: RP_SHARED_BYTES that the block copies there first, no bank conflicts.
 */
extern "C" __global__ void __launch_bounds__(1024)
    rp_shared_read(const unsigned *a, unsigned *sum, rp_span *spans, unsigned iterations) {
    __shared__ __align__(16) unsigned data[RP_SHARED_BYTES / 4];
    for (unsigned i = threadIdx.x; i < RP_SHARED_BYTES / 4; i += blockDim.x)
        data[i] = a[i];
    __syncthreads();
    const unsigned p = (unsigned)__cvta_generic_to_shared(data) + (threadIdx.x & 31) * 16;
    const unsigned long long start = rp_cycle();
    unsigned mine = 0;
#pragma unroll 1
    for (unsigned n = 0; n < iterations; n++) {
        const unsigned at = p + n % 4 * 4096;
        words16 v[RP_ONCHIP_UNROLL];
#pragma unroll
        for (unsigned u = 0; u < RP_ONCHIP_UNROLL; u++)
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[u].w[0]), "=r"(v[u].w[1]), "=r"(v[u].w[2]), "=r"(v[u].w[3])
                         : "r"(at + u * 512));
#pragma unroll
        for (unsigned u = 0; u < RP_ONCHIP_UNROLL; u++)
            mine += v[u].w[0] + v[u].w[1] + v[u].w[2] + v[u].w[3];
    }
    block_sum(mine, sum);
    rp_record(spans, start);
}

/* ---- Latency --------------------------------------------------------------------------------- */

/* One thread follows a chain of addresses, STEPS of them (a multiple of 16). out: the last address,
 * and the cycles taken. LD picks the cache level at which it may hit. */
#define RP_CHASE(NAME, LD)                                                                         \
    extern "C" __global__ void rp_chase_##NAME(unsigned long long address,                         \
                                               unsigned long long *out, unsigned steps) {          \
        const unsigned long long start = rp_cycle();                                               \
        _Pragma("unroll 1") for (unsigned n = 0; n < steps; n += 16)                               \
            _Pragma("unroll") for (int i = 0; i < 16;                                              \
                                   i++) asm volatile(LD " %0, [%0];" : "+l"(address)::"memory");   \
        out[1] = rp_cycle() - start;                                                               \
        out[0] = address;                                                                          \
    }
RP_CHASE(cached, "ld.global.ca.u64")
RP_CHASE(uncached, "ld.global.cg.u64")

/* The same in shared memory, over 32-bit offsets that the thread lays out first: n x 37 + 1 in 1024
 * words is a full cycle through them. */
extern "C" __global__ void rp_chase_shared(unsigned long long first, unsigned long long *out,
                                           unsigned steps) {
    __shared__ unsigned next[1024];
    const unsigned base = (unsigned)__cvta_generic_to_shared(next);
    for (unsigned i = 0; i < 1024; i++)
        next[i] = base + (i * 37 + 1) % 1024 * 4;
    unsigned at = base + (unsigned)first * 4;
    const unsigned long long start = rp_cycle();
#pragma unroll 1
    for (unsigned n = 0; n < steps; n += 16)
#pragma unroll
        for (int i = 0; i < 16; i++)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    out[1] = rp_cycle() - start;
    out[0] = (at - base) / 4;
}
