/* SPDX-License-Identifier: Apache-2.0
 *
 * Before the run: will a transformer fit, on how many devices, and what will bound it. Pure
 * functions on a model's shape and the hardware database. Everything here is modelled; every
 * formula has its published source, told where it stands and in docs/plan.md:
 *
 *   [Kaplan]     arXiv 2001.08361   2 FLOP per parameter and token forward, 4 backward
 *   [PaLM]       arXiv 2204.02311   appendix B: attention FLOPs, model FLOPs utilisation
 *   [Mixed]      arXiv 1710.03740   FP32 master weights under 16-bit training
 *   [ZeRO]       arXiv 1910.02054   bytes per parameter, partitioning, communication volume
 *   [Offload]    arXiv 2101.06840   gradients to the host, updated weights back
 *   [Megatron]   arXiv 2104.04473   tensor and pipeline parallelism, bubble
 *   [Recompute]  arXiv 2205.05198   activation bytes, selective recomputation, sequence parallelism
 *   [GQA]        arXiv 2305.13245   KV heads
 *   [Paged]      arXiv 2309.06180   KV cache per token
 *   [Pope]       arXiv 2211.05102   decode: weights and KV cache read once a step
 *
 * Sizes are bytes (GB is 1e9 B), rates per second. Unknown is NaN (or -1), never 0.
 */
#ifndef RP_ANALYSIS_PLAN_H
#define RP_ANALYSIS_PLAN_H

#include "analysis/compare.h"
#include "hwdb/hwdb.h"
#include "support/error.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- Models ---------------------------------------------------------------------------------- */

/* A decoder-only transformer. A model known only by its parameter count has layers = -1. */
typedef struct rp_model {
    char name[48];
    double params;        /* given count; NaN: from the shape */
    double params_active; /* used per token (mixture of experts); NaN: from the shape */
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t experts, experts_active; /* 1, 1: dense */
    int64_t positions;               /* learned position embeddings; 0 none */
    bool gated;                      /* SwiGLU: three matrices in the feed-forward block, not two */
    bool biases;                     /* GPT: biases, and layer norms with two vectors */
    bool tied;                       /* output layer shares the embedding */
} rp_model;

/* An empty model: nothing known. */
rp_model rp_model_unknown(void);

/* A preset by name ("llama-7b", "gpt2", "mixtral-8x7b"). RP_USAGE lists the names. */
rp_code rp_model_preset(const char *name, rp_model *model, rp_error *error);
size_t rp_model_preset_count(void);
const char *rp_model_preset_name(size_t i);

/* Fills what follows from the rest (KV heads, head size, feed-forward size) and refuses what cannot
 * be: 0 heads, hidden not divisible by heads, sizes beyond reason, neither shape nor count. */
rp_code rp_model_complete(rp_model *model, rp_error *error);

bool rp_model_has_shape(const rp_model *model);
double rp_model_params(const rp_model *model);        /* all */
double rp_model_params_active(const rp_model *model); /* used per token */

/* Useful FLOPs of TOKENS tokens at context SEQUENCE (NaN: without attention's own): forward 2, with
 * TRAINING 6 per active parameter [Kaplan], and 4 (12) x layers x heads x head size x sequence for
 * the attention scores [PaLM]. Recomputation is not useful work and is not counted. */
double rp_plan_model_flops(const rp_model *model, double tokens, double sequence, bool training);

/* KV cache of one token of one sequence: 2 x layers x KV heads x head size x BYTES [Paged] [GQA].
 * NaN without a shape. */
double rp_plan_kv_bytes_per_token(const rp_model *model, double bytes);

/* Activations of one layer on one device, bytes, for a micro-batch [Recompute, table 2]: 16-bit
 * values, GPT block. CHECKPOINT: none, selective (attention scores recomputed, or never stored),
 * full (only the layer's input kept). */
typedef enum rp_checkpoint {
    RP_CHECKPOINT_NONE,
    RP_CHECKPOINT_SELECTIVE,
    RP_CHECKPOINT_FULL
} rp_checkpoint;
double rp_plan_activation_bytes_per_layer(const rp_model *model, double micro_batch,
                                          double sequence, int64_t tensor_parallel,
                                          bool sequence_parallel, rp_checkpoint checkpoint);

/* ---- A plan ---------------------------------------------------------------------------------- */

typedef enum rp_plan_mode { RP_PLAN_INFER, RP_PLAN_TRAIN } rp_plan_mode;
typedef enum rp_optimizer { RP_ADAM, RP_ADAM_8BIT, RP_MOMENTUM, RP_SGD } rp_optimizer;
typedef enum rp_offload { RP_OFFLOAD_NONE, RP_OFFLOAD_OPTIMIZER, RP_OFFLOAD_PARAMETERS } rp_offload;

typedef struct rp_plan_request {
    rp_model model;
    rp_plan_mode mode;
    rp_hw_precision dtype; /* weights and arithmetic; int4 weights compute in fp16 */
    rp_hw_precision kv_dtype, grad_dtype;
    rp_optimizer optimizer;
    bool master; /* FP32 master weights where dtype is narrower */
    rp_checkpoint checkpoint;
    rp_offload offload;
    int zero;           /* ZeRO stage 0 to 3 (FSDP is 3) */
    int64_t count;      /* devices; -1: 1, or TP x PP x DP */
    int64_t tp, pp, dp; /* -1: chosen (infer: TP = count; train: DP = what is left) */
    bool sequence_parallel;
    double batch;        /* infer: sequences decoded together; train: global batch, NaN: one
                            micro-batch a data-parallel rank */
    double micro_batch;  /* train */
    double sequence;     /* context or training length, tokens */
    double tokens_per_s; /* wanted, all sequences together; NaN none */
    double buffers;      /* context, workspaces, communication buffers: bytes a device */
    int64_t per_node;    /* devices of a node: beyond it the network is used */
    const char *network; /* a link of interconnect.csv */
    rp_compare_source ceilings;
} rp_plan_request;
rp_plan_request rp_plan_request_default(rp_plan_mode mode);

typedef struct rp_plan_memory { /* bytes of one device (the fullest one) */
    double weights, master_weights, gradients, optimizer, activations, kv_cache, buffers, total;
    double host;            /* bytes a device moves to the host's memory by offloading */
    double bytes_per_param; /* model states of the whole, before they are spread */
    double distinct;        /* of all devices, each tensor once, without buffers */
} rp_plan_memory;

/* Fills in what was not given and refuses what cannot be (RP_USAGE, one sentence). rp_plan_make
 * does it too. */
rp_code rp_plan_complete(rp_plan_request *request, rp_error *error);

/* Of a completed request. Unknown parts (no shape) are NaN and left out of total; the plan's
 * assumptions say so. */
rp_code rp_plan_memory_of(const rp_plan_request *request, rp_plan_memory *memory, rp_error *error);

#define RP_PLAN_NOTES 6

typedef struct rp_plan_device {
    const rp_device *device;
    int64_t count; /* devices planned for */
    int64_t tp, pp, dp;
    double memory_bytes; /* of one device, as a driver reports it, else by the label */
    rp_plan_memory memory;
    int fits;                  /* 1 yes, 0 no, -1 not known */
    int64_t min_count;         /* smallest number that fits; -1 unknown or never so spread */
    double capacity_used;      /* U_cap: total / memory of a device */
    double capacity_effective; /* U_eff: distinct bytes / bytes occupied on all devices */
    double peak_flops, dram_bytes_per_s; /* of one device; what they are from follows */
    rp_provenance peak_provenance, dram_provenance;
    /* decode */
    double bandwidth_limit, compute_limit; /* tokens per s, all sequences */
    double step_bytes, step_flops;         /* all devices, one decode step or training step */
    int64_t min_count_by_bandwidth;        /* for the wanted tokens per s; -1 */
    double required_bytes_per_s;           /* for the wanted tokens per s; NaN */
    double ridge_batch; /* batch at which decode becomes compute bound; NaN: never, or unknown */
    double ridge_batch_weights; /* the same without the KV cache */
    int64_t max_sequences;      /* that fit at this context; -1 unknown */
    /* times of a step (decode: one token of every sequence), seconds */
    double compute_s, memory_s, communication_s, bubble; /* bubble: idle fraction of the pipeline */
    double roof_s;                                       /* the largest of them */
    double likely_low_s,
        likely_high_s; /* train: at the published range of MFU; infer: of bandwidth */
    double mfu_low, mfu_high;
    char bound[16];   /* capacity, bandwidth, compute, communication, unknown */
    const char *link; /* that communication goes over; NULL none */
    char notes[RP_PLAN_NOTES][240];
    size_t note_count;
} rp_plan_device;

typedef struct rp_plan {
    rp_plan_request request; /* with the defaults filled */
    double params, params_active;
    rp_plan_device *devices;
    size_t device_count;
    char assumptions[24][280];
    size_t assumption_count;
} rp_plan;

/* RP_USAGE with one sentence for what cannot be: a precision that a device lacks, sizes beyond
 * reason, a split that does not divide, a model that needs more than 10^6 devices. */
rp_code rp_plan_make(const rp_hwdb *db, const rp_plan_request *request,
                     const rp_device *const *devices, size_t n, rp_plan *plan, rp_error *error);
void rp_plan_free(rp_plan *plan);

/* Bytes of a value: 4 for fp32 and tf32, 0.5 for int4. */
double rp_plan_bytes(rp_hw_precision precision);

#endif
