/* SPDX-License-Identifier: Apache-2.0
 *
 * Hopper's tensor cores through wgmma: m64n256 with both operands in shared memory, which is the
 * shape that reaches the peak (mma.sync reaches two thirds of it). A warp group is a block of 128
 * threads with 128 accumulators a thread; two blocks share an SM, so that one works while the other
 * waits. Two pairs of operands take turns, and the second half of each iteration takes away what
 * the first added (integers wrap instead), so accumulators stay bounded and, with the host's
 * operands (kernels/operands.c), exact. After the loop RP_WGMMA_TAIL more are added. The result of
 * a thread is the exclusive or of its accumulators.
 *
 * Shared memory: K-major, no swizzle. A core matrix is 8 rows of 16 bytes; the two core matrices
 * along K lie 128 bytes apart (leading offset), groups of 8 rows 256 bytes apart (stride offset).
 *
 * Instructions of a block: RP_WGMMA_STEPS x iterations + RP_WGMMA_TAIL.
 *
 * operands: A0, B0, A1, B1 as they are to lie in shared memory (2 KiB, 8 KiB, 2 KiB, 8 KiB).
 */
#include "device.cuh"
#include "shapes.h"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

enum { A_BYTES = RP_WGMMA_M * RP_WGMMA_K_BYTES, B_BYTES = RP_WGMMA_N * RP_WGMMA_K_BYTES };

__device__ __forceinline__ unsigned long long descriptor(const void *shared) {
    const unsigned long long address = __cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}

/* The 128 accumulators as the instruction's register list, and as the operands of the statement. */
#define SUMS                                                                                       \
    "%0,%1,%2,%3,%4,%5,%6,%7,"                                                                     \
    "%8,%9,%10,%11,%12,%13,%14,%15,"                                                               \
    "%16,%17,%18,%19,%20,%21,%22,%23,"                                                             \
    "%24,%25,%26,%27,%28,%29,%30,%31,"                                                             \
    "%32,%33,%34,%35,%36,%37,%38,%39,"                                                             \
    "%40,%41,%42,%43,%44,%45,%46,%47,"                                                             \
    "%48,%49,%50,%51,%52,%53,%54,%55,"                                                             \
    "%56,%57,%58,%59,%60,%61,%62,%63,"                                                             \
    "%64,%65,%66,%67,%68,%69,%70,%71,"                                                             \
    "%72,%73,%74,%75,%76,%77,%78,%79,"                                                             \
    "%80,%81,%82,%83,%84,%85,%86,%87,"                                                             \
    "%88,%89,%90,%91,%92,%93,%94,%95,"                                                             \
    "%96,%97,%98,%99,%100,%101,%102,%103,"                                                         \
    "%104,%105,%106,%107,%108,%109,%110,%111,"                                                     \
    "%112,%113,%114,%115,%116,%117,%118,%119,"                                                     \
    "%120,%121,%122,%123,%124,%125,%126,%127"
#define S8(T, i)                                                                                   \
    "+" T(s[i]), "+" T(s[i + 1]), "+" T(s[i + 2]), "+" T(s[i + 3]), "+" T(s[i + 4]),               \
        "+" T(s[i + 5]), "+" T(s[i + 6]), "+" T(s[i + 7])
#define S32(T, i) S8(T, i), S8(T, i + 8), S8(T, i + 16), S8(T, i + 24)
#define S128(T)   S32(T, 0), S32(T, 32), S32(T, 64), S32(T, 96)

#define RP_WGMMA(NAME, TYPE, LETTER, PTX, SIGNS, MINUS)                                            \
    struct NAME {                                                                                  \
        typedef TYPE sum;                                                                          \
        static __device__ __forceinline__ void add(sum (&s)[128], unsigned long long a,            \
                                                   unsigned long long b) {                         \
            asm volatile("wgmma.mma_async.sync.aligned." PTX " {" SUMS "}, %128, %129, 1" SIGNS    \
                         ";"                                                                       \
                         : S128(LETTER)                                                            \
                         : "l"(a), "l"(b));                                                        \
        }                                                                                          \
        static __device__ __forceinline__ void take(sum (&s)[128], unsigned long long a,           \
                                                    unsigned long long b) {                        \
            asm volatile("wgmma.mma_async.sync.aligned." PTX " {" SUMS "}, %128, %129, 1" MINUS    \
                         ";"                                                                       \
                         : S128(LETTER)                                                            \
                         : "l"(a), "l"(b));                                                        \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(128, 2) rp_wgmma_##NAME(                          \
        const uint4 *operands, unsigned *output, rp_span *spans, unsigned iterations) {            \
        run<NAME>(operands, output, spans, iterations);                                            \
    }

__device__ __forceinline__ unsigned bits(float value) {
    return __float_as_uint(value);
}
__device__ __forceinline__ unsigned bits(int value) {
    return (unsigned)value;
}

template <class Wgmma>
__device__ __forceinline__ void run(const uint4 *__restrict__ operands,
                                    unsigned *__restrict__ output, rp_span *spans,
                                    unsigned iterations) {
    __shared__ __align__(128) uint4 shared[2 * (A_BYTES + B_BYTES) / 16];
    typename Wgmma::sum s[128];
    unsigned all = 0;

    for (unsigned i = threadIdx.x; i < 2 * (A_BYTES + B_BYTES) / 16; i += blockDim.x)
        shared[i] = operands[i];
#pragma unroll
    for (int i = 0; i < 128; i++)
        s[i] = 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned long long a0 = descriptor(shared), b0 = descriptor(shared + A_BYTES / 16),
                       a1 = descriptor(shared + (A_BYTES + B_BYTES) / 16),
                       b1 = descriptor(shared + (2 * A_BYTES + B_BYTES) / 16);
    /* Opaque from here on, or the compiler makes them again in every iteration. */
    asm volatile("" : "+l"(a0), "+l"(b0), "+l"(a1), "+l"(b1));
    const unsigned long long start = rp_cycle();
#pragma unroll 1
    for (unsigned n = 0; n < iterations; n++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < RP_WGMMA_STEPS / 2; step += 2) {
            Wgmma::add(s, a0, b0);
            Wgmma::add(s, a1, b1);
        }
#pragma unroll
        for (int step = 0; step < RP_WGMMA_STEPS / 2; step += 2) {
            Wgmma::take(s, a0, b0);
            Wgmma::take(s, a1, b1);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    Wgmma::add(s, a0, b0);
    Wgmma::add(s, a1, b1);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 128; i++)
        all ^= bits(s[i]);
    rp_record(spans, start);
    output[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

/* The signs of A and B, and, of 16-bit types, that neither is transposed. */
RP_WGMMA(fp16, float, "f", "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", ", -1, 1, 0, 0")
RP_WGMMA(bf16, float, "f", "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", ", -1, 1, 0, 0")
RP_WGMMA(tf32, float, "f", "m64n256k8.f32.tf32.tf32", ", 1, 1", ", -1, 1")
RP_WGMMA(fp8, float, "f", "m64n256k32.f32.e4m3.e4m3", ", 1, 1", ", -1, 1")
RP_WGMMA(int8, int, "r", "m64n256k32.s32.s8.s8", "", "")

#endif
