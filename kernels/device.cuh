/* SPDX-License-Identifier: Apache-2.0
 *
 * What all calibration kernels share: the record by which the host learns how many SM cycles a
 * launch took. Nothing here is host code; the files that include this are compiled to fat binaries
 * alone.
 */
#ifndef RP_KERNELS_DEVICE_CUH
#define RP_KERNELS_DEVICE_CUH

/* First and last cycle of the blocks that ran on one SM, by its own counter. The host presets first
 * to all ones and last to 0. One record for each SM identifier. */
struct rp_span {
    unsigned long long first, last;
};

__device__ __forceinline__ unsigned long long rp_cycle() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

__device__ __forceinline__ unsigned rp_sm() {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Called by every thread at the end; START was read at the beginning. 16 bytes of atomics a block.
 * A scheduler may favour the first warp, which then ends long before its block does: all are waited
 * for. */
__device__ __forceinline__ void rp_record(rp_span *spans, unsigned long long start) {
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    rp_span *span = spans + rp_sm();
    atomicMin(&span->first, start);
    atomicMax(&span->last, rp_cycle());
}

#endif
