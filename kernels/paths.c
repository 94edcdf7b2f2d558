/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the kernels and the amounts of work that they do. The sizes of loops are those that the
 * kernels are compiled with (shapes.h).
 */
#include "kernels/paths.h"

#include "kernels/shapes.h"

/* ---- Vector ---------------------------------------------------------------------------------- */

const rp_vector_kernel rp_vector_kernels[] = {
    {"rp_fp64", RP_FP64, RP_NUMBER_FP64, 1, 8, 2, 70},
    {"rp_fp32", RP_FP32, RP_NUMBER_FP32, 1, 4, 2, 70},
    {"rp_fp32x2", RP_FP32, RP_NUMBER_FP32, 2, 8, 2, 100},
    {"rp_fp16x2", RP_FP16, RP_NUMBER_FP16, 2, 4, 2, 70},
    {"rp_bf16x2", RP_BF16, RP_NUMBER_BF16, 2, 4, 2, 80},
    {"rp_int32", RP_INT32, RP_NUMBER_INT32, 1, 4, 1, 70},
};
const size_t rp_vector_kernel_count = sizeof rp_vector_kernels / sizeof *rp_vector_kernels;

bool rp_vector_kernel_exists(const rp_vector_kernel *kernel, int cc, const char **why) {
    bool packed = kernel->precision == RP_FP32 && kernel->lanes == 2;
    bool exists = cc >= kernel->least_cc && !(packed && cc >= 110);
    *why = exists   ? ""
           : packed ? "packed FP32 pairs are instructions of 10.x alone"
           : kernel->precision == RP_BF16
               ? "the chip has no BF16 arithmetic (8.0 and later have it)"
               : "kernels are made for 7.0 and later";
    return exists;
}

rp_work rp_vector_work(const rp_vector_kernel *kernel, uint64_t blocks, uint64_t threads,
                       uint64_t iterations) {
    double all = (double)blocks * (double)threads;
    double instructions = all * RP_CHAINS * RP_STEPS * (double)iterations;
    return (rp_work){.operations = instructions * kernel->lanes * kernel->operations,
                     .load_bytes = all * (4 + RP_CHAINS) * kernel->word_bytes,
                     .store_bytes = all * kernel->word_bytes,
                     .atomic_bytes = 16.0 * (double)blocks};
}

/* ---- Tensor ---------------------------------------------------------------------------------- */

/* Candidates of one ceiling stand together: each that the chip has is tried, the best counts. */
const rp_tensor_kernel rp_tensor_kernels[] = {
    {"rp_mma_fp64_m8n8k4", false, RP_FP64, "", RP_NUMBER_FP64, RP_NUMBER_FP64, 8, 8, 4, 1, 1, 2,
     20},
    {"rp_mma_fp64_m16n8k16", false, RP_FP64, "", RP_NUMBER_FP64, RP_NUMBER_FP64, 16, 8, 16, 8, 4, 4,
     20},
    {"rp_mma_tf32_m16n8k8", false, RP_TF32, "", RP_NUMBER_TF32, RP_NUMBER_FP32, 16, 8, 8, 4, 2, 4,
     6},
    {"rp_wgmma_tf32", true, RP_TF32, "", RP_NUMBER_TF32, RP_NUMBER_FP32, 64, 256, 8, 0, 0, 0, 6},
    {"rp_mma_bf16_m16n8k16", false, RP_BF16, "", RP_NUMBER_BF16, RP_NUMBER_FP32, 16, 8, 16, 4, 2, 4,
     6},
    {"rp_wgmma_bf16", true, RP_BF16, "", RP_NUMBER_BF16, RP_NUMBER_FP32, 64, 256, 16, 0, 0, 0, 6},
    {"rp_mma_fp16_m16n8k8", false, RP_FP16, "", RP_NUMBER_FP16, RP_NUMBER_FP32, 16, 8, 8, 2, 1, 4,
     6},
    {"rp_mma_fp16_m16n8k16", false, RP_FP16, "", RP_NUMBER_FP16, RP_NUMBER_FP32, 16, 8, 16, 4, 2, 4,
     6},
    {"rp_wgmma_fp16", true, RP_FP16, "", RP_NUMBER_FP16, RP_NUMBER_FP32, 64, 256, 16, 0, 0, 0, 6},
    {"rp_mma_fp16_acc16_m16n8k8", false, RP_FP16, "fp16", RP_NUMBER_FP16, RP_NUMBER_FP16, 16, 8, 8,
     2, 1, 2, 3},
    {"rp_mma_fp16_acc16_m16n8k16", false, RP_FP16, "fp16", RP_NUMBER_FP16, RP_NUMBER_FP16, 16, 8,
     16, 4, 2, 2, 3},
    {"rp_mma_fp8_m16n8k32", false, RP_FP8, "", RP_NUMBER_FP8, RP_NUMBER_FP32, 16, 8, 32, 4, 2, 4,
     3},
    {"rp_wgmma_fp8", true, RP_FP8, "", RP_NUMBER_FP8, RP_NUMBER_FP32, 64, 256, 32, 0, 0, 0, 3},
    {"rp_mma_int8_m8n8k16", false, RP_INT8, "", RP_NUMBER_INT8, RP_NUMBER_INT32, 8, 8, 16, 1, 1, 2,
     6},
    {"rp_mma_int8_m16n8k32", false, RP_INT8, "", RP_NUMBER_INT8, RP_NUMBER_INT32, 16, 8, 32, 4, 2,
     4, 6},
    {"rp_wgmma_int8", true, RP_INT8, "", RP_NUMBER_INT8, RP_NUMBER_INT32, 64, 256, 32, 0, 0, 0, 6},
};
const size_t rp_tensor_kernel_count = sizeof rp_tensor_kernels / sizeof *rp_tensor_kernels;

static bool mma_exists(const rp_tensor_kernel *kernel, int cc) {
    bool turing = (kernel->precision == RP_FP16 && kernel->k == 8) ||
                  (kernel->precision == RP_INT8 && kernel->k == 16);
    if (turing)
        return cc == 75;
    if (kernel->precision == RP_FP64)
        return kernel->k == 16 ? cc == 90 : cc >= 80 && cc < 110;
    if (kernel->precision == RP_FP8)
        return cc == 89 || cc >= 120;
    return cc >= 80;
}

bool rp_tensor_kernel_exists(const rp_tensor_kernel *kernel, int cc, const char **why) {
    bool exists = kernel->wgmma ? cc == 90 : mma_exists(kernel, cc);
    *why = exists          ? ""
           : kernel->wgmma ? "wgmma is an instruction of compute capability 9.0 alone"
           : kernel->precision == RP_FP8
               ? "the chip has no FP8 in mma.sync (8.9 and 12.x have it; 9.0 and 10.x have it in "
                 "wgmma and tcgen05)"
               : "mma.sync of this type and shape is not, or not at its full rate, on this chip";
    return exists;
}

rp_work rp_tensor_work(const rp_tensor_kernel *kernel, uint64_t blocks, uint64_t threads,
                       uint64_t iterations) {
    double each = 2.0 * kernel->m * kernel->n * kernel->k, all = (double)blocks * (double)threads;
    double instructions =
        kernel->wgmma ? (double)blocks * (RP_WGMMA_STEPS * (double)iterations + RP_WGMMA_TAIL)
                      : all / 32 * RP_MMA_CHAINS * (RP_MMA_STEPS * (double)iterations + 1);
    double word = kernel->number == RP_NUMBER_FP64 ? 8 : 4;
    double loads = kernel->wgmma
                       ? (double)blocks * 2 * RP_WGMMA_K_BYTES * (RP_WGMMA_M + RP_WGMMA_N)
                       : all * word * (2 * (kernel->a_words + 2 * kernel->b_words) + RP_MMA_CHAINS);
    return (rp_work){.operations = each * instructions,
                     .load_bytes = loads,
                     .store_bytes = all * word,
                     .atomic_bytes = 16.0 * (double)blocks};
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int loads, stores;
    double flops; /* of one double */
} patterns[RP_PATTERNS] = {
    [RP_PATTERN_READ] = {"read", 1, 0, 0}, [RP_PATTERN_WRITE] = {"write", 0, 1, 0},
    [RP_PATTERN_COPY] = {"copy", 1, 1, 0}, [RP_PATTERN_SCALE] = {"scale", 1, 1, 1},
    [RP_PATTERN_ADD] = {"add", 2, 1, 1},   [RP_PATTERN_TRIAD] = {"triad", 2, 1, 2},
    [RP_PATTERN_DOT] = {"dot", 2, 0, 2},
};

const char *rp_pattern_name(rp_pattern pattern) {
    return patterns[pattern].name;
}

int rp_pattern_loads(rp_pattern pattern) {
    return patterns[pattern].loads;
}

int rp_pattern_stores(rp_pattern pattern) {
    return patterns[pattern].stores;
}

rp_work rp_stream_work(rp_pattern pattern, uint64_t array_bytes, uint64_t blocks) {
    double sum = pattern == RP_PATTERN_READ ? 4 : pattern == RP_PATTERN_DOT ? 8 : 0;
    return (rp_work){.operations = patterns[pattern].flops * (double)array_bytes / 8,
                     .load_bytes = patterns[pattern].loads * (double)array_bytes,
                     .store_bytes = patterns[pattern].stores * (double)array_bytes,
                     .atomic_bytes = (16 + sum) * (double)blocks};
}

rp_work rp_l2_work(uint64_t array_bytes, uint64_t passes, uint64_t blocks) {
    return (rp_work){.load_bytes = (double)array_bytes * (double)passes,
                     .atomic_bytes = 20.0 * (double)blocks};
}

rp_work rp_l1_work(uint64_t blocks, uint64_t threads, uint64_t iterations) {
    return (rp_work){.load_bytes = (double)blocks * (double)threads * (double)iterations *
                                   RP_ONCHIP_UNROLL * RP_LOAD_BYTES,
                     .atomic_bytes = 20.0 * (double)blocks};
}

rp_work rp_shared_work(uint64_t blocks, uint64_t threads, uint64_t iterations) {
    rp_work work = rp_l1_work(blocks, threads, iterations);
    work.atomic_bytes = 0; /* of shared memory: none */
    return work;
}

rp_work rp_sweep_work(int depth, uint64_t array_bytes, uint64_t blocks) {
    return (rp_work){.operations = 2.0 * depth * (double)array_bytes / 4,
                     .load_bytes = (double)array_bytes,
                     .atomic_bytes = 20.0 * (double)blocks};
}

double rp_work_bytes(const rp_work *work) {
    return work->load_bytes + work->store_bytes + work->atomic_bytes;
}
