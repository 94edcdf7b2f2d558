/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be measured on a device: the kernels of each path, which ceiling each measures, and how
 * much a launch of it does. These formulas are what calibrate divides by; a test holds them against
 * the emulated device's counts, exactly.
 */
#ifndef RP_KERNELS_PATHS_H
#define RP_KERNELS_PATHS_H

#include "hwdb/hwdb.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fat binaries (kernels/images.c): one of each .cu file. */
typedef enum rp_image_name {
    RP_IMAGE_VECTOR,
    RP_IMAGE_MMA,
    RP_IMAGE_WGMMA,
    RP_IMAGE_MEMORY,
    RP_IMAGE_SWEEP,
    RP_IMAGES
} rp_image_name;

/* What a launch does. Bytes are those that its threads ask of global memory (of shared memory for
 * the shared level): arrays, results and the atomics of the records. */
typedef struct rp_work {
    double operations; /* FLOP (FMA = 2) or OP (integer: one an instruction) */
    double load_bytes, store_bytes, atomic_bytes;
} rp_work;

/* How operands are encoded. */
typedef enum rp_number {
    RP_NUMBER_FP64,
    RP_NUMBER_FP32,
    RP_NUMBER_TF32, /* a float whose low 13 bits are 0 */
    RP_NUMBER_BF16,
    RP_NUMBER_FP16,
    RP_NUMBER_FP8, /* e4m3 */
    RP_NUMBER_INT8,
    RP_NUMBER_INT32
} rp_number;

/* A kernel of vector.cu. */
typedef struct rp_vector_kernel {
    const char *name;          /* "rp_fp32" */
    rp_hw_precision precision; /* of the ceiling that it measures */
    rp_number number;
    int lanes;      /* values in a word: 2 for packed halves and pairs */
    int word_bytes; /* 4 or 8 */
    int operations; /* of one instruction and value: 2, or 1 for integers */
    int least_cc;   /* 75 = 7.5: where it exists */
} rp_vector_kernel;
extern const rp_vector_kernel rp_vector_kernels[];
extern const size_t rp_vector_kernel_count;

/* A kernel of mma.cu or wgmma.cu. */
typedef struct rp_tensor_kernel {
    const char *name;
    bool wgmma;
    rp_hw_precision precision;
    const char *accumulate; /* "" or "fp16" */
    rp_number number, sum;
    int m, n, k;                   /* of one instruction */
    int a_words, b_words, c_words; /* registers of a thread, mma.sync only */
    int significant_bits;          /* of the operands that keep every sum exact */
} rp_tensor_kernel;
extern const rp_tensor_kernel rp_tensor_kernels[];
extern const size_t rp_tensor_kernel_count;
/* Whether the image for compute capability CC (90 = 9.0) holds it; if not, *WHY says so. */
bool rp_vector_kernel_exists(const rp_vector_kernel *kernel, int cc, const char **why);
bool rp_tensor_kernel_exists(const rp_tensor_kernel *kernel, int cc, const char **why);

/* BLOCKS x THREADS (whole warps; wgmma: 128), ITERATIONS as passed to the kernel. */
rp_work rp_vector_work(const rp_vector_kernel *kernel, uint64_t blocks, uint64_t threads,
                       uint64_t iterations);
rp_work rp_tensor_work(const rp_tensor_kernel *kernel, uint64_t blocks, uint64_t threads,
                       uint64_t iterations);

/* The stream patterns of memory.cu. */
typedef enum rp_pattern {
    RP_PATTERN_READ,
    RP_PATTERN_WRITE,
    RP_PATTERN_COPY,
    RP_PATTERN_SCALE,
    RP_PATTERN_ADD,
    RP_PATTERN_TRIAD,
    RP_PATTERN_DOT,
    RP_PATTERNS
} rp_pattern;
const char *rp_pattern_name(rp_pattern pattern);
int rp_pattern_loads(rp_pattern pattern);  /* arrays read */
int rp_pattern_stores(rp_pattern pattern); /* arrays written */

/* A launch over arrays of ARRAY_BYTES each. operations: FLOP of the doubles. */
rp_work rp_stream_work(rp_pattern pattern, uint64_t array_bytes, uint64_t blocks);
/* rp_l2_read: PASSES over ARRAY_BYTES. rp_l1_read: ITERATIONS by BLOCKS x THREADS. rp_shared_read:
 * load_bytes are of shared memory, the copy and the block's sum left out. */
rp_work rp_l2_work(uint64_t array_bytes, uint64_t passes, uint64_t blocks);
rp_work rp_l1_work(uint64_t blocks, uint64_t threads, uint64_t iterations);
rp_work rp_shared_work(uint64_t blocks, uint64_t threads, uint64_t iterations);
rp_work rp_sweep_work(int depth, uint64_t array_bytes, uint64_t blocks);
double rp_work_bytes(const rp_work *work); /* all that moves */

#endif
