/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of what is known about a launch. Profilers name the same thing differently by
 * chip, version and vendor; importers store their raw metrics, and hwdb/metrics.csv maps those to
 * the quantities below, on which everything after the capture stands. A quantity is of one launch,
 * in the unit of its name or comment; absent is NaN in memory and NULL in a file, never 0.
 *
 * "thread instructions" are predicated-on thread-level counts; "warp instructions" count once for a
 * warp. FLOPs: a multiply-add is 2; packed half adds count 2 and packed half FMAs 4.
 */
#ifndef RP_CAPTURE_QUANTITY_H
#define RP_CAPTURE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* Q(ENUM, "key", "unit", kind): kind S adds up over launches, M is averaged. */
#define RP_QUANTITY_LIST(Q)                                                                        \
    /* time and clocks */                                                                          \
    Q(TIME, "time_s", "s", S)                                                                      \
    Q(SM_CYCLES, "sm_cycles", "cycle", S)               /* elapsed, of one SM */                   \
    Q(SM_CYCLES_ACTIVE, "sm_cycles_active", "cycle", S) /* summed over the SMs */                  \
    Q(SM_CLOCK, "sm_clock_hz", "Hz", M)                                                            \
    Q(DRAM_CLOCK, "dram_clock_hz", "Hz", M)                                                        \
    /* thread instructions of floating-point arithmetic */                                         \
    Q(INST_FP64_ADD, "inst_fp64_add", "inst", S)                                                   \
    Q(INST_FP64_MUL, "inst_fp64_mul", "inst", S)                                                   \
    Q(INST_FP64_FMA, "inst_fp64_fma", "inst", S)                                                   \
    Q(INST_FP32_ADD, "inst_fp32_add", "inst", S)                                                   \
    Q(INST_FP32_MUL, "inst_fp32_mul", "inst", S)                                                   \
    Q(INST_FP32_FMA, "inst_fp32_fma", "inst", S)                                                   \
    Q(INST_FP32X2_ADD, "inst_fp32x2_add", "inst", S) /* packed pairs: GB10x only */                \
    Q(INST_FP32X2_MUL, "inst_fp32x2_mul", "inst", S)                                               \
    Q(INST_FP32X2_FMA, "inst_fp32x2_fma", "inst", S)                                               \
    Q(INST_FP16_ADD, "inst_fp16_add", "inst", S) /* HADD2 counts once; BF16 included */            \
    Q(INST_FP16_MUL, "inst_fp16_mul", "inst", S)                                                   \
    Q(INST_FP16_FMA, "inst_fp16_fma", "inst", S)                                                   \
    /* thread instructions by kind */                                                              \
    Q(INST_FP64, "inst_fp64", "inst", S) /* all that run on the FP64 pipe, compares included */    \
    Q(INST_FP32, "inst_fp32", "inst", S)                                                           \
    Q(INST_FP16, "inst_fp16", "inst", S)                                                           \
    Q(INST_INTEGER, "inst_integer", "inst", S)                                                     \
    Q(INST_CONVERSION, "inst_conversion", "inst", S)                                               \
    Q(INST_BIT, "inst_bit", "inst", S)                                                             \
    Q(THREAD_INSTS, "thread_insts", "inst", S)               /* predicated on */                   \
    Q(THREAD_INSTS_ACTIVE, "thread_insts_active", "inst", S) /* predicated on or off */            \
    Q(WARP_INSTS, "warp_insts", "inst", S)                                                         \
    /* FLOPs (operations for integers) by precision and path: derived from the above, or given */  \
    Q(FLOPS_FP64_VECTOR, "fp64_vector", "flop", S)                                                 \
    Q(FLOPS_FP32_VECTOR, "fp32_vector", "flop", S)                                                 \
    Q(FLOPS_FP16_VECTOR, "fp16_vector", "flop", S)                                                 \
    Q(FLOPS_BF16_VECTOR, "bf16_vector", "flop", S)                                                 \
    Q(OPS_INT32_VECTOR, "int32_vector", "op", S)                                                   \
    Q(FLOPS_FP64_TENSOR, "fp64_tensor", "flop", S)                                                 \
    Q(FLOPS_TF32_TENSOR, "tf32_tensor", "flop", S)                                                 \
    Q(FLOPS_BF16_TENSOR, "bf16_tensor", "flop", S)                                                 \
    Q(FLOPS_FP16_TENSOR, "fp16_tensor", "flop", S)             /* FP32 accumulate */               \
    Q(FLOPS_FP16_ACC16_TENSOR, "fp16_acc16_tensor", "flop", S) /* FP16 accumulate */               \
    Q(FLOPS_FP8_TENSOR, "fp8_tensor", "flop", S)                                                   \
    Q(FLOPS_FP6_TENSOR, "fp6_tensor", "flop", S)                                                   \
    Q(FLOPS_FP4_TENSOR, "fp4_tensor", "flop", S)                                                   \
    Q(OPS_INT8_TENSOR, "int8_tensor", "op", S)                                                     \
    Q(OPS_INT4_TENSOR, "int4_tensor", "op", S)                                                     \
    Q(OPS_INT1_TENSOR, "int1_tensor", "op", S)                                                     \
    Q(TENSOR_PIPE_INSTS, "tensor_pipe_insts", "inst",                                              \
      S) /* warp instructions: a trigger, no FLOPs */                                              \
    Q(TENSOR_PIPE_HFMA2, "tensor_pipe_hfma2", "inst", S) /* of those, half FMAs, no MMA */         \
    /* bytes by level */                                                                           \
    Q(DRAM_READ, "dram_read_bytes", "byte", S)                                                     \
    Q(DRAM_WRITE, "dram_write_bytes", "byte", S)                                                   \
    Q(DRAM_BYTES, "dram_bytes", "byte", S)                                                         \
    Q(L2_BYTES, "l2_bytes", "byte", S)         /* from the SMs */                                  \
    Q(L2_ALL_BYTES, "l2_all_bytes", "byte", S) /* lts__t_bytes: fills and fabric included */       \
    Q(L1_BYTES, "l1_bytes", "byte", S)                                                             \
    Q(SHARED_BYTES, "shared_bytes", "byte", S)                                                     \
    Q(GLOBAL_BYTES, "global_requested_bytes", "byte", S) /* asked for by the threads */            \
    Q(LOCAL_BYTES, "local_requested_bytes", "byte", S)                                             \
    Q(HOST_BYTES, "host_bytes", "byte", S) /* pinned memory over the bus */                        \
    /* the L1 access path */                                                                       \
    Q(LSU_REQUESTS, "lsu_requests", "inst", S)        /* warp-level memory instructions */         \
    Q(L1_WAVEFRONTS, "l1_wavefronts", "wavefront", S) /* data stage, shared included */            \
    Q(SHARED_WAVEFRONTS, "shared_wavefronts", "wavefront", S)                                      \
    Q(SHARED_CONFLICTS, "shared_bank_conflicts", "wavefront", S)                                   \
    Q(GLOBAL_SECTORS, "global_sectors", "sector", S)                                               \
    Q(GLOBAL_REQUESTS, "global_requests", "inst", S)                                               \
    /* pipes, warp instructions */                                                                 \
    Q(PIPE_ALU, "pipe_alu_insts", "inst", S)                                                       \
    Q(PIPE_XU, "pipe_xu_insts", "inst", S)                                                         \
    Q(PIPE_FMA, "pipe_fma_insts", "inst", S)                                                       \
    Q(PIPE_FP64, "pipe_fp64_insts", "inst", S)                                                     \
    /* occupancy and scheduling */                                                                 \
    Q(WARPS_ACTIVE, "warps_active", "warp*cycle", S) /* summed over SMs and cycles */              \
    Q(OCCUPANCY_ACHIEVED, "occupancy_achieved", "1", M)                                            \
    Q(OCCUPANCY_THEORETICAL, "occupancy_theoretical", "1", M)                                      \
    Q(WAVES, "waves", "1", M)                            /* waves per multiprocessor */            \
    Q(WARPS_ELIGIBLE, "warps_eligible", "warp/cycle", M) /* per scheduler */                       \
    Q(L1_HIT_RATE, "l1_hit_rate", "1", M)                                                          \
    Q(L2_HIT_RATE, "l2_hit_rate", "1", M)                                                          \
    /* what the exporter itself said, as fractions of 1 */                                         \
    Q(FRACTION_SM, "fraction_sm", "1", M)                                                          \
    Q(FRACTION_MEMORY, "fraction_memory", "1", M)                                                  \
    Q(FRACTION_DRAM, "fraction_dram", "1", M)                                                      \
    Q(FRACTION_L2, "fraction_l2", "1", M)                                                          \
    Q(FRACTION_L1, "fraction_l1", "1", M)                                                          \
    Q(FRACTION_ISSUE, "fraction_issue", "1", M)                                                    \
    Q(FRACTION_FP64_PIPE, "fraction_fp64_pipe", "1", M)                                            \
    Q(FRACTION_FMA_PIPE, "fraction_fma_pipe", "1", M)                                              \
    Q(FRACTION_ALU_PIPE, "fraction_alu_pipe", "1", M)                                              \
    Q(FRACTION_XU_PIPE, "fraction_xu_pipe", "1", M)                                                \
    Q(FRACTION_TENSOR_PIPE, "fraction_tensor_pipe", "1", M)                                        \
    Q(FRACTION_LSU, "fraction_lsu", "1", M)

typedef enum rp_quantity {
#define Q(name, key, unit, kind) RP_Q_##name,
    RP_QUANTITY_LIST(Q)
#undef Q
        RP_QUANTITIES
} rp_quantity;

typedef struct rp_quantity_info {
    const char *key, *unit;
    bool sums; /* adds up over launches; false: averaged */
} rp_quantity_info;
extern const rp_quantity_info rp_quantity_table[RP_QUANTITIES];

/* RP_QUANTITIES if KEY names none. */
rp_quantity rp_quantity_find(const char *key);

/* How a number is known. Order: from most to least trusted. */
typedef enum rp_provenance {
    RP_ABSENT,
    RP_MEASURED,    /* a clock or a sensor */
    RP_COUNTED,     /* a hardware or software counter */
    RP_CALIBRATED,  /* measured on this very device by calibrate */
    RP_THEORETICAL, /* operations per clock x SMs x observed or nominal clock */
    RP_DATASHEET,
    RP_EMULATED,  /* counted by the emulated device */
    RP_MODELLED,  /* from a model */
    RP_IMPORTED,  /* another profiler's file */
    RP_ESTIMATED, /* from a sample of launches, or a lower/upper bound */
    RP_USER,      /* --work */
    RP_PROVENANCES
} rp_provenance;
const char *rp_provenance_name(rp_provenance provenance);
/* The less trusted of two; RP_ABSENT counts as none. */
rp_provenance rp_provenance_worse(rp_provenance a, rp_provenance b);

#endif
