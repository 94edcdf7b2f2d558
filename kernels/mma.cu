/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor cores through mma.sync. Every warp keeps RP_MMA_CHAINS accumulators in registers and adds
 * A x B to them, then A x -B, in turns: accumulators stay bounded, even in FP16, and the operands,
 * two sets of them, are as dense as the format allows while every sum is still exact (the host
 * makes them, kernels/operands.c). After the loop each accumulator gets one more A x B, so the
 * result, the exclusive or of all accumulator words of a thread, differs from the start and is
 * known exactly.
 *
 * Instructions of a warp: RP_MMA_CHAINS x (RP_MMA_STEPS x iterations + 1).
 *
 * fragments: for either set its A, B and -B registers, [register][lane]; then the starting value of
 * each chain's accumulator words.
 */
#include "device.cuh"
#include "shapes.h"

template <class Mma>
__device__ __forceinline__ void run(const typename Mma::word *__restrict__ fragments,
                                    typename Mma::sum_word *__restrict__ output, rp_span *spans,
                                    unsigned iterations) {
    typedef typename Mma::word word;
    typedef typename Mma::sum_word sum_word;
    enum { A = Mma::A, B = Mma::B, C = Mma::C };
    word a[2][A], plus[2][B], minus[2][B];
    sum_word sum[RP_MMA_CHAINS][C], all = 0;
    const word *in = fragments + (threadIdx.x & 31);

#pragma unroll
    for (int set = 0; set < 2; set++) {
#pragma unroll
        for (int i = 0; i < A; i++, in += 32)
            a[set][i] = *in;
#pragma unroll
        for (int i = 0; i < B; i++, in += 32)
            plus[set][i] = *in;
#pragma unroll
        for (int i = 0; i < B; i++, in += 32)
            minus[set][i] = *in;
    }
#pragma unroll
    for (int chain = 0; chain < RP_MMA_CHAINS; chain++) {
        const sum_word first = (sum_word)fragments[2 * 32 * (A + 2 * B) + chain];
#pragma unroll
        for (int i = 0; i < C; i++)
            sum[chain][i] = first;
    }
    const unsigned long long start = rp_cycle();
#pragma unroll 1
    for (unsigned n = 0; n < iterations; n++) {
#pragma unroll
        for (int step = 0; step < RP_MMA_STEPS; step += 2) {
#pragma unroll
            for (int chain = 0; chain < RP_MMA_CHAINS; chain++)
                Mma::mma(sum[chain], a[chain & 1], plus[chain & 1]);
#pragma unroll
            for (int chain = 0; chain < RP_MMA_CHAINS; chain++)
                Mma::mma(sum[chain], a[chain & 1], minus[chain & 1]);
        }
    }
#pragma unroll
    for (int chain = 0; chain < RP_MMA_CHAINS; chain++) {
        Mma::mma(sum[chain], a[chain & 1], plus[chain & 1]);
#pragma unroll
        for (int i = 0; i < C; i++)
            all ^= sum[chain][i];
    }
    rp_record(spans, start);
    output[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

/* Registers are held as 32-bit words whatever the format; the instruction reads them as it likes.
 */
#define RP_KERNEL(NAME, WORD, SUM_WORD)                                                            \
    extern "C" __global__ void __launch_bounds__(256) rp_mma_##NAME(                               \
        const WORD *fragments, SUM_WORD *output, rp_span *spans, unsigned iterations) {            \
        run<NAME>(fragments, output, spans, iterations);                                           \
    }

#define RP_MMA_A4_B2_C4(NAME, PTX, LETTER, TYPE, AS)                                               \
    struct NAME {                                                                                  \
        typedef unsigned word, sum_word;                                                           \
        enum { A = 4, B = 2, C = 4 };                                                              \
        static __device__ __forceinline__ void mma(sum_word (&c)[4], const word (&a)[4],           \
                                                   const word (&b)[2]) {                           \
            asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"              \
                         : "+" LETTER(AS(c[0])), "+" LETTER(AS(c[1])), "+" LETTER(AS(c[2])),       \
                           "+" LETTER(AS(c[3]))                                                    \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));      \
        }                                                                                          \
    };                                                                                             \
    RP_KERNEL(NAME, unsigned, unsigned)

#define RP_FLOAT(word) reinterpret_cast<float &>(word)
#define RP_SAME(word)  word

#if __CUDA_ARCH__ == 750
/* Turing's shapes; later chips run the larger ones below at their full rate. */
struct fp16_m16n8k8 {
    typedef unsigned word, sum_word;
    enum { A = 2, B = 1, C = 4 };
    static __device__ __forceinline__ void mma(sum_word (&c)[4], const word (&a)[2],
                                               const word (&b)[1]) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, "
                     "{%6}, {%0,%1,%2,%3};"
                     : "+f"(RP_FLOAT(c[0])), "+f"(RP_FLOAT(c[1])), "+f"(RP_FLOAT(c[2])),
                       "+f"(RP_FLOAT(c[3]))
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    }
};
RP_KERNEL(fp16_m16n8k8, unsigned, unsigned)

struct fp16_acc16_m16n8k8 {
    typedef unsigned word, sum_word;
    enum { A = 2, B = 1, C = 2 };
    static __device__ __forceinline__ void mma(sum_word (&c)[2], const word (&a)[2],
                                               const word (&b)[1]) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, "
                     "{%0,%1};"
                     : "+r"(c[0]), "+r"(c[1])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    }
};
RP_KERNEL(fp16_acc16_m16n8k8, unsigned, unsigned)

struct int8_m8n8k16 {
    typedef unsigned word, sum_word;
    enum { A = 1, B = 1, C = 2 };
    static __device__ __forceinline__ void mma(sum_word (&c)[2], const word (&a)[1],
                                               const word (&b)[1]) {
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+r"(c[0]), "+r"(c[1])
                     : "r"(a[0]), "r"(b[0]));
    }
};
RP_KERNEL(int8_m8n8k16, unsigned, unsigned)
#elif __CUDA_ARCH__ >= 800
RP_MMA_A4_B2_C4(fp16_m16n8k16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f", float,
                RP_FLOAT)
RP_MMA_A4_B2_C4(bf16_m16n8k16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f", float,
                RP_FLOAT)
RP_MMA_A4_B2_C4(tf32_m16n8k8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f", float,
                RP_FLOAT)
RP_MMA_A4_B2_C4(int8_m16n8k32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r", unsigned,
                RP_SAME)

struct fp16_acc16_m16n8k16 {
    typedef unsigned word, sum_word;
    enum { A = 4, B = 2, C = 2 };
    static __device__ __forceinline__ void mma(sum_word (&c)[2], const word (&a)[4],
                                               const word (&b)[2]) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                     "{%6,%7}, {%0,%1};"
                     : "+r"(c[0]), "+r"(c[1])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};
RP_KERNEL(fp16_acc16_m16n8k16, unsigned, unsigned)

#if __CUDA_ARCH__ < 1100
/* Later chips run these one lane at a time: no ceiling to be had there. */
#define RP_DOUBLE(word)    reinterpret_cast<double &>(word)
#define RP_DOUBLE_IN(word) __longlong_as_double((long long)(word))

struct fp64_m8n8k4 {
    typedef unsigned long long word, sum_word;
    enum { A = 1, B = 1, C = 2 };
    static __device__ __forceinline__ void mma(sum_word (&c)[2], const word (&a)[1],
                                               const word (&b)[1]) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(RP_DOUBLE(c[0])), "+d"(RP_DOUBLE(c[1]))
                     : "d"(RP_DOUBLE_IN(a[0])), "d"(RP_DOUBLE_IN(b[0])));
    }
};
RP_KERNEL(fp64_m8n8k4, unsigned long long, unsigned long long)

#if __CUDA_ARCH__ == 900 /* elsewhere it is split into the small one */
struct fp64_m16n8k16 {
    typedef unsigned long long word, sum_word;
    enum { A = 8, B = 4, C = 4 };
    static __device__ __forceinline__ void mma(sum_word (&c)[4], const word (&a)[8],
                                               const word (&b)[4]) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                     : "+d"(RP_DOUBLE(c[0])), "+d"(RP_DOUBLE(c[1])), "+d"(RP_DOUBLE(c[2])),
                       "+d"(RP_DOUBLE(c[3]))
                     : "d"(RP_DOUBLE_IN(a[0])), "d"(RP_DOUBLE_IN(a[1])), "d"(RP_DOUBLE_IN(a[2])),
                       "d"(RP_DOUBLE_IN(a[3])), "d"(RP_DOUBLE_IN(a[4])), "d"(RP_DOUBLE_IN(a[5])),
                       "d"(RP_DOUBLE_IN(a[6])), "d"(RP_DOUBLE_IN(a[7])), "d"(RP_DOUBLE_IN(b[0])),
                       "d"(RP_DOUBLE_IN(b[1])), "d"(RP_DOUBLE_IN(b[2])), "d"(RP_DOUBLE_IN(b[3])));
    }
};
RP_KERNEL(fp64_m16n8k16, unsigned long long, unsigned long long)
#endif
#endif
#endif

/* 9.0 and 10.x have FP8 only in wgmma and tcgen05: mma.sync is made of FP16 instructions there,
 * which would measure nothing of FP8. */
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
RP_MMA_A4_B2_C4(fp8_m16n8k32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", float,
                RP_FLOAT)
#endif
