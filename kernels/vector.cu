/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector arithmetic at its peak: every thread runs RP_CHAINS independent chains of multiply-adds
 * that live in registers, and touches memory only before and after. Two pairs of coefficients
 * alternate, x = a x + b,   x = c x + d     with |a c| < 1, so that values stay bounded, away from
 * zero and from denormals, and keep changing. The result of a thread is the exclusive or of its
 * chains' bits, which the host recomputes step by step: no arithmetic beyond the counted one,
 * nothing that can be optimised away.
 *
 * Operations of a launch: threads x RP_CHAINS x RP_STEPS x iterations instructions
 * (kernels/paths.c divides by that).
 *
 * input: a, b, c, d, then 32 x RP_CHAINS starting values, [chain][lane].
 */
#include "device.cuh"
#include "shapes.h"

template <class Op>
__device__ __forceinline__ void run(const typename Op::word *__restrict__ input,
                                    typename Op::word *__restrict__ output, rp_span *spans,
                                    unsigned iterations) {
    typedef typename Op::word word;
    const word a = input[0], b = input[1], c = input[2], d = input[3];
    word x[RP_CHAINS], all = 0;

#pragma unroll
    for (int i = 0; i < RP_CHAINS; i++)
        x[i] = input[4 + 32 * i + (threadIdx.x & 31)];
    const unsigned long long start = rp_cycle();
#pragma unroll 1
    for (unsigned n = 0; n < iterations; n++) {
#pragma unroll
        for (int step = 0; step < RP_STEPS; step += 2) {
#pragma unroll
            for (int i = 0; i < RP_CHAINS; i++)
                Op::fma(x[i], a, b);
#pragma unroll
            for (int i = 0; i < RP_CHAINS; i++)
                Op::fma(x[i], c, d);
        }
    }
#pragma unroll
    for (int i = 0; i < RP_CHAINS; i++)
        all ^= x[i];
    rp_record(spans, start);
    output[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

#define RP_OP(NAME, WORD, LETTER, PTX)                                                             \
    struct NAME {                                                                                  \
        typedef WORD word;                                                                         \
        static __device__ __forceinline__ void fma(word &x, word m, word a) {                      \
            asm(PTX " %0, %0, %1, %2;" : "+" LETTER(x) : LETTER(m), LETTER(a));                    \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024)                                             \
        rp_##NAME(const WORD *input, WORD *output, rp_span *spans, unsigned iterations) {          \
        run<NAME>(input, output, spans, iterations);                                               \
    }

RP_OP(int32, unsigned, "r", "mad.lo.u32")
RP_OP(fp16x2, unsigned, "r", "fma.rn.f16x2")
#if __CUDA_ARCH__ >= 800
RP_OP(bf16x2, unsigned, "r", "fma.rn.bf16x2")
#endif
/* Later chips than 10.x split it into two. */
#if __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100
RP_OP(fp32x2, unsigned long long, "l", "fma.rn.f32x2")
#endif

/* Floating-point registers: the words are reinterpreted once at either end, not in the loop. */
#define RP_FLOAT_OP(NAME, WORD, TYPE, LETTER, PTX, TO, FROM)                                       \
    struct NAME##_chain {                                                                          \
        TYPE value;                                                                                \
        __device__ __forceinline__ NAME##_chain() {                                                \
        }                                                                                          \
        __device__ __forceinline__ NAME##_chain(WORD bits) : value(TO(bits)) {                     \
        }                                                                                          \
        __device__ __forceinline__ NAME##_chain &operator^=(const NAME##_chain &other) {           \
            value = TO(FROM(value) ^ FROM(other.value));                                           \
            return *this;                                                                          \
        }                                                                                          \
    };                                                                                             \
    struct NAME {                                                                                  \
        typedef NAME##_chain word;                                                                 \
        static __device__ __forceinline__ void fma(word &x, word m, word a) {                      \
            asm(PTX " %0, %0, %1, %2;" : "+" LETTER(x.value) : LETTER(m.value), LETTER(a.value));  \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024) rp_##NAME(                                  \
        const NAME##_chain *input, NAME##_chain *output, rp_span *spans, unsigned iterations) {    \
        run<NAME>(input, output, spans, iterations);                                               \
    }

RP_FLOAT_OP(fp32, unsigned, float, "f", "fma.rn.f32", __uint_as_float, __float_as_uint)
RP_FLOAT_OP(fp64, unsigned long long, double, "d", "fma.rn.f64", __longlong_as_double,
            __double_as_longlong)
