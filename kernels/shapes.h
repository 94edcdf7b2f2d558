/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that the kernels and the C that launches them must agree on.
 */
#ifndef RP_KERNELS_SHAPES_H
#define RP_KERNELS_SHAPES_H

/* vector.cu: independent chains of a thread; multiply-adds of a chain in one loop iteration. */
#define RP_CHAINS 8
#define RP_STEPS  64

/* mma.cu: accumulators of a warp; instructions of each in one iteration (half add, half take away);
 * after the loop each accumulator gets one more, so that the result is not the start. */
#define RP_MMA_CHAINS 8
#define RP_MMA_STEPS  8

/* wgmma.cu: instructions of a warp group in one iteration, and after the loop. */
#define RP_WGMMA_STEPS   32
#define RP_WGMMA_TAIL    2
#define RP_WGMMA_M       64
#define RP_WGMMA_N       256
#define RP_WGMMA_K_BYTES 32 /* K of an instruction is 32 bytes of any type */

/* memory.cu: bytes that one loop iteration of an on-chip kernel reads per thread and load. */
#define RP_LOAD_BYTES    16
#define RP_ONCHIP_UNROLL 8
#define RP_L1_BYTES      16384 /* what l1_read goes over: 4 iterations of 8 x 512 bytes a warp */
#define RP_SHARED_BYTES  16384 /* the same of shared_read */

/* Steps of a pointer chase in one iteration. */
#define RP_CHASE_STEPS 16

/* The words of an integer array that read kernels add up: word i is i x K + C (mod 2^32). */
#define RP_WORD_K 2654435761u
#define RP_WORD_C 12345u

/* Doubles of the stream kernels: b[i] = 1 + i % 16, c[i] = 2 + i % 8, scalar 3, write puts 7. All
 * sums are integers under 2^53: exact in any order. */
#define RP_STREAM_SCALAR 3.0
#define RP_STREAM_VALUE  7.0

/* sweep.cu: float i is 1 + (i % 256) / 256. */
#define RP_SWEEP_PERIOD 256

#endif
