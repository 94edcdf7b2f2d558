/* SPDX-License-Identifier: Apache-2.0
 *
 * The roofline itself, measured: floats are read from DRAM, 16 bytes a load and four loads in
 * flight, and each goes through DEPTH multiply-adds before its bits are added up. DEPTH 1 to 256
 * moves the kernel from the memory side (0.5 FLOP/B) to the compute side (128 FLOP/B). Coefficients
 * alternate as in vector.cu; the host recomputes the RP_SWEEP_PERIOD values that the array holds.
 *
 * A launch reads tiles x blockDim x 64 bytes and does 2 x DEPTH operations for each float, and
 * 16 + 4 bytes of atomics a block.
 */
#include "device.cuh"
#include "shapes.h"

template <int DEPTH, int CHUNK = (DEPTH < 32 ? DEPTH : 32)>
__device__ __forceinline__ void sweep(const float4 *__restrict__ a, unsigned *sum, rp_span *spans,
                                      unsigned long long tiles, float p, float q, float r,
                                      float s) {
    __shared__ unsigned of_warp[32];
    const unsigned long long start = rp_cycle();
    unsigned mine = 0;
#pragma unroll 1
    for (unsigned long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const float4 *from = a + tile * (blockDim.x * 4) + threadIdx.x;
        float x[16];
#pragma unroll
        for (int u = 0; u < 4; u++)
            asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
                         : "=f"(x[4 * u]), "=f"(x[4 * u + 1]), "=f"(x[4 * u + 2]),
                           "=f"(x[4 * u + 3])
                         : "l"(from + u * blockDim.x));
        /* Unrolled altogether, the deepest would not fit an instruction cache. */
#pragma unroll 1
        for (int chunk = 0; chunk < DEPTH; chunk += CHUNK)
#pragma unroll
            for (int step = 0; step < CHUNK; step++)
#pragma unroll
                for (int i = 0; i < 16; i++)
                    x[i] = step & 1 ? __fmaf_rn(x[i], r, s) : __fmaf_rn(x[i], p, q);
#pragma unroll
        for (int i = 0; i < 16; i++)
            mine += __float_as_uint(x[i]);
    }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        mine += __shfl_xor_sync(0xffffffffu, mine, step);
    if ((threadIdx.x & 31) == 0)
        of_warp[threadIdx.x >> 5] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned warp = 1; warp < blockDim.x >> 5; warp++)
            mine += of_warp[warp];
        atomicAdd(sum, mine);
    }
    rp_record(spans, start);
}

#define RP_SWEEP(DEPTH)                                                                            \
    extern "C" __global__ void __launch_bounds__(512)                                              \
        rp_sweep_##DEPTH(const float4 *a, unsigned *sum, rp_span *spans, unsigned long long tiles, \
                         float p, float q, float r, float s) {                                     \
        sweep<DEPTH>(a, sum, spans, tiles, p, q, r, s);                                            \
    }
RP_SWEEP(1)
RP_SWEEP(2)
RP_SWEEP(4)
RP_SWEEP(8)
RP_SWEEP(16)
RP_SWEEP(32)
RP_SWEEP(64)
RP_SWEEP(128)
RP_SWEEP(256)

extern "C" __global__ void rp_fill_floats(float *a, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (unsigned long long)blockDim.x)
        a[i] = 1.0f + (float)(i % RP_SWEEP_PERIOD) / RP_SWEEP_PERIOD;
}
