/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels are given to work on, and what must come out. All of it is exact: operands are
 * chosen so that no sum rounds (tensor) or so that every rounding is the one that IEEE 754
 * prescribes (vector), and results are compared bit by bit.
 */
#ifndef RP_KERNELS_OPERANDS_H
#define RP_KERNELS_OPERANDS_H

#include "kernels/paths.h"
#include "support/error.h"

/* VALUE as the bits of NUMBER; it must be representable and normal (or an integer in range). */
uint64_t rp_encode(rp_number number, double value);
double rp_decode(rp_number number, uint64_t bits);

/* vector.cu: the input words, (4 + 32 x RP_CHAINS) of word_bytes each, malloc'ed; and the result of
 * each lane after ITERATIONS. NULL: no memory. */
void *rp_vector_input(const rp_vector_kernel *kernel, size_t *bytes);
void rp_vector_expect(const rp_vector_kernel *kernel, uint64_t iterations, uint64_t expected[32]);

/* mma.cu, wgmma.cu: what the kernel reads, and the result of each thread of a warp (expected[32])
 * or of a warp group (expected[128]) after any number of iterations; INT8 through wgmma never takes
 * away, so there ITERATIONS matters. */
void *rp_tensor_input(const rp_tensor_kernel *kernel, size_t *bytes);
rp_code rp_tensor_expect(const rp_tensor_kernel *kernel, uint64_t iterations, uint64_t *expected,
                         rp_error *error);

/* Sum of the N words of rp_fill_words, mod 2^32; of a dot product of N doubles b and c. */
uint32_t rp_words_sum(uint64_t n);
double rp_dot_sum(uint64_t n);

/* sweep.cu: the coefficients, the float at I, and the sum of the bits over N floats (a multiple of
 * RP_SWEEP_PERIOD) after DEPTH steps. */
extern const float rp_sweep_coefficients[4];
float rp_sweep_value(uint64_t i);
uint32_t rp_sweep_sum(int depth, uint64_t n);

#endif
