/* SPDX-License-Identifier: Apache-2.0
 *
 * STREAM patterns and multiply-add loops of the CPU. Compiled for any processor (the compiler's own
 * vectors), for AVX2 with FMA, and for AVX-512; RP_HOST_ISA names which.
 */
#include "kernels/host_kernels.h"

#include <stdint.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TEXT2(a)    #a
#define TEXT(a)     TEXT2(a)

/* A vector of doubles V, of floats F, and what is done with them. Chains: enough independent
 * registers to cover the latency of two multiply-add units, within the registers there are. */
#if defined(__AVX512F__)
#include <immintrin.h>
enum { CHAINS = 24 };
typedef __m512d V;
typedef __m512 F;
#define LOAD(p)       _mm512_load_pd(p)
#define STORE(p, v)   _mm512_stream_pd(p, v)
#define FMA(x, y, z)  _mm512_fmadd_pd(x, y, z)
#define FMAF(x, y, z) _mm512_fmadd_ps(x, y, z)
#define BROADCAST(x)  _mm512_set1_pd(x)
#define BROADCASTF(x) _mm512_set1_ps(x)
#define FENCE()       _mm_sfence()
#elif defined(__AVX2__)
#include <immintrin.h>
enum { CHAINS = 12 };
typedef __m256d V;
typedef __m256 F;
#define LOAD(p)       _mm256_load_pd(p)
#define STORE(p, v)   _mm256_stream_pd(p, v)
#define FMA(x, y, z)  _mm256_fmadd_pd(x, y, z)
#define FMAF(x, y, z) _mm256_fmadd_ps(x, y, z)
#define BROADCAST(x)  _mm256_set1_pd(x)
#define BROADCASTF(x) _mm256_set1_ps(x)
#define FENCE()       _mm_sfence()
#else
enum { CHAINS = 12 };
typedef double V __attribute__((vector_size(16), may_alias));
typedef float F __attribute__((vector_size(16), may_alias));
#define LOAD(p)       (*(const V *)(p))
#define STORE(p, v)   (*(V *)(p) = (v))
#define FMA(x, y, z)  ((x) * (y) + (z))
#define FMAF(x, y, z) ((x) * (y) + (z))
#define BROADCAST(x)  ((V){(x), (x)})
#define BROADCASTF(x) ((F){(x), (x), (x), (x)})
#define FENCE()       ((void)0)
#endif
#if defined(__AVX512F__)
#define KEEP(x) __asm__ volatile("" : "+v"(x))
#elif defined(__aarch64__)
#define KEEP(x) __asm__ volatile("" : "+w"(x))
#elif defined(__x86_64__) || defined(__i386__)
#define KEEP(x) __asm__ volatile("" : "+x"(x))
#else
#define KEEP(x) __asm__ volatile("" : "+m"(x))
#endif
#define UNROLLED _Pragma("GCC unroll 32")
enum { LANES = sizeof(V) / sizeof(double), UNROLL = RP_HOST_STEP / LANES };

/* Every step of a stream, as straight-line code of UNROLL vectors. */
#define FOR_STEPS                                                                                  \
    for (size_t i = 0; i < n; i += RP_HOST_STEP)                                                   \
    UNROLLED for (size_t u = 0; u < RP_HOST_STEP; u += LANES)
#define B LOAD(b + i + u)
#define C LOAD(c + i + u)

static inline __attribute__((always_inline)) double total(const V *parts, int n) {
    double sum = 0;
    UNROLLED for (int i = 0; i < n; i++) UNROLLED for (int lane = 0; lane < (int)LANES; lane++)
        sum += parts[i][lane];
    return sum;
}

static double stream(rp_pattern pattern, double *a, const double *b, const double *c, double s,
                     size_t n) {
    const V scalar = BROADCAST(s);
    V sum[UNROLL];

    UNROLLED for (int i = 0; i < (int)UNROLL; i++) sum[i] = BROADCAST(0.0);
    switch (pattern) {
    case RP_PATTERN_READ:
        FOR_STEPS sum[u / LANES] += B;
        return total(sum, UNROLL);
    case RP_PATTERN_DOT:
        FOR_STEPS sum[u / LANES] = FMA(B, C, sum[u / LANES]);
        return total(sum, UNROLL);
    case RP_PATTERN_WRITE:
        FOR_STEPS STORE(a + i + u, scalar);
        break;
    case RP_PATTERN_COPY:
        FOR_STEPS STORE(a + i + u, B);
        break;
    case RP_PATTERN_SCALE:
        FOR_STEPS STORE(a + i + u, scalar * B);
        break;
    case RP_PATTERN_ADD:
        FOR_STEPS STORE(a + i + u, B + C);
        break;
    case RP_PATTERN_TRIAD:
        FOR_STEPS STORE(a + i + u, FMA(scalar, C, B));
        break;
    default:
        break;
    }
    FENCE();
    return 0;
}

static double fma64(size_t n, double m, double a, double *sum) {
    V x[CHAINS];
    const V mul = BROADCAST(m), add = BROADCAST(a);

    UNROLLED for (int i = 0; i < CHAINS; i++) x[i] = BROADCAST(1 + 0.01 * i);
    for (size_t round = 0; round < n; round++) {
        UNROLLED for (int i = 0; i < CHAINS; i++) x[i] = FMA(x[i], mul, add);
        UNROLLED for (int i = 0; i < CHAINS;
                      i++) /* in registers, and not merged with the next round */
            KEEP(x[i]);
    }
    *sum = total(x, CHAINS);
    return 2.0 * LANES * CHAINS * (double)n;
}

static double fma32(size_t n, float m, float a, double *sum) {
    F x[CHAINS];
    const F mul = BROADCASTF(m), add = BROADCASTF(a);

    UNROLLED for (int i = 0; i < CHAINS; i++) x[i] = BROADCASTF(1 + 0.01f * (float)i);
    for (size_t round = 0; round < n; round++) {
        UNROLLED for (int i = 0; i < CHAINS; i++) x[i] = FMAF(x[i], mul, add);
        UNROLLED for (int i = 0; i < CHAINS; i++) KEEP(x[i]);
    }
    *sum = 0;
    UNROLLED for (int i = 0; i < CHAINS; i++)
        UNROLLED for (int lane = 0; lane < 2 * (int)LANES; lane++) *sum += (double)x[i][lane];
    return 4.0 * LANES * CHAINS * (double)n;
}

const rp_host_kernels JOIN(rp_host_kernels_, RP_HOST_ISA) = {TEXT(RP_HOST_ISA), stream, fma64,
                                                             fma32};
