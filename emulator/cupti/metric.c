/* SPDX-License-Identifier: Apache-2.0
 *
 * The metrics' definitions, one line each: metric.h has the contract, docs/doors.md the table.
 */
#include "emulator/cupti/metric.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct sample {
    const emu_counts *c;
    const emu_device_spec *s;
} sample;

/* ---- Counts ----------------------------------------------------------------------------------
 */

static double cycles(sample x) {
    return x.s->sm_clock_hz > 0 ? x.c->time_s * x.s->sm_clock_hz : NAN;
}

static double known(bool valid, double value) {
    return valid ? value : NAN;
}

/* Bytes or requests of one space, loads, stores and atomics together. */
static double in_space(const uint64_t load[], const uint64_t store[], const uint64_t atomic[],
                       emu_space space) {
    return (double)(load[space] + store[space] + atomic[space]);
}

static double bytes(sample x, emu_space space) {
    return in_space(x.c->load_bytes, x.c->store_bytes, x.c->atomic_bytes, space);
}

static double requests(sample x, emu_space space) {
    return in_space(x.c->load_requests, x.c->store_requests, x.c->atomic_requests, space);
}

static double all_sectors(sample x) {
    return (double)(x.c->load_sectors + x.c->store_sectors + x.c->atomic_sectors);
}

/* Sectors are counted for global and local memory and textures together: told apart only where
 * the others are unused. */
static double sectors(sample x, emu_space space) {
    emu_space other = space == EMU_GLOBAL ? EMU_LOCAL : EMU_GLOBAL;
    if (requests(x, space) == 0)
        return 0;
    return known(requests(x, other) == 0 && requests(x, EMU_TEXTURE) == 0, all_sectors(x));
}

/* Thread instructions of one class; packed ones count once. */
static double insts(sample x, emu_precision p, emu_op_class op) {
    return (double)x.c->fp[p][op];
}

/* FLOPs that the expansion of divisions, roots and the like adds, as FMAs. */
static double expansion(sample x, emu_precision p) {
    double flops = insts(x, p, EMU_OP_ADD) + insts(x, p, EMU_OP_MUL) + 2 * insts(x, p, EMU_OP_FMA);
    flops += (double)x.c->packed[p][EMU_OP_ADD] + (double)x.c->packed[p][EMU_OP_MUL] +
             2 * (double)x.c->packed[p][EMU_OP_FMA];
    double more = (double)x.c->flops_hardware[p] - flops;
    return more > 0 ? more / 2 : 0;
}

static double all_insts(sample x, emu_precision p) {
    double sum = 0;
    for (int op = 0; op < EMU_OP_CLASSES; op++)
        sum += (double)x.c->fp[p][op];
    return sum;
}

/* FADD2 and its like are instructions of their own from Blackwell's data centre parts on. */
static bool has_fp32_pairs(sample x) {
    return x.s->cc_major == 10;
}

static double single(sample x, emu_op_class op) {
    double pairs = has_fp32_pairs(x) ? (double)x.c->packed[EMU_FP32][op] : 0;
    return insts(x, EMU_FP32, op) - pairs;
}

static double pairs(sample x, emu_op_class op) {
    return has_fp32_pairs(x) ? (double)x.c->packed[EMU_FP32][op] : NAN;
}

static double half(sample x, emu_op_class op) {
    return insts(x, EMU_FP16, op) + insts(x, EMU_BF16, op);
}

/* Share of the device's warp slots that the launch's blocks fill on average, of those that its
 * occupancy allows: the last wave is not full. */
static double fill(sample x) {
    double w = x.c->waves;
    return w <= 0 ? 0 : w < 1 ? w : w / ceil(w);
}

static double warp_cycles(sample x) {
    return cycles(x) * x.s->sm_count * x.c->occupancy_theoretical * x.s->max_warps_per_sm * fill(x);
}

/* SMs that have a block, while the kernel runs. */
static double active_cycles(sample x) {
    double share = x.c->waves * x.c->blocks_per_sm;
    return cycles(x) * x.s->sm_count * (share < 1 ? share : 1);
}

static double ops(sample x, emu_precision p) {
    return (double)x.c->tensor_ops[p];
}

/* Tensor instructions by the pipe that runs them: told apart only where one kind alone was used. */
static double tensor_insts(sample x, bool integer, bool fp64) {
    bool any_integer = x.c->tensor_ops[EMU_INT8] > 0, any_fp64 = x.c->tensor_ops[EMU_FP64] > 0;
    bool any_float = false;
    static const emu_precision floats[] = {EMU_FP16, EMU_FP16_ACC16, EMU_BF16, EMU_TF32, EMU_FP8};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        any_float = any_float || x.c->tensor_ops[floats[i]];
    bool mine = integer ? any_integer : fp64 ? any_fp64 : any_float;
    return !mine ? 0 : known(any_integer + any_fp64 + any_float == 1, (double)x.c->tensor_insts);
}

#define CACHES(value) known(x.c->caches_valid, (double)(value))

/* V(base name, value over the launches) */
#define COUNTED(V)                                                                                 \
    V(gpu__time_duration, x.c->time_s * 1e9)                                                       \
    V(sm__cycles_elapsed, cycles(x) * x.s->sm_count)                                               \
    V(smsp__cycles_elapsed, cycles(x) * x.s->sm_count * 4)                                         \
    V(sm__cycles_active, active_cycles(x))                                                         \
    V(smsp__cycles_active, active_cycles(x) * 4)                                                   \
    V(sm__warps_active, warp_cycles(x))                                                            \
    V(smsp__warps_active, warp_cycles(x))                                                          \
    V(smsp__warps_eligible, NAN)                                                                   \
    V(smsp__inst_executed, (double)x.c->warp_insts)                                                \
    V(smsp__inst_issued, (double)x.c->warp_insts)                                                  \
    V(smsp__issue_active, (double)x.c->warp_insts)                                                 \
    V(smsp__sass_inst_executed, (double)x.c->warp_insts)                                           \
    V(smsp__sass_thread_inst_executed, (double)x.c->thread_insts_active)                           \
    V(smsp__sass_thread_inst_executed_pred_on, (double)x.c->thread_insts)                          \
    V(smsp__sass_thread_inst_executed_op_dadd_pred_on, insts(x, EMU_FP64, EMU_OP_ADD))             \
    V(smsp__sass_thread_inst_executed_op_dmul_pred_on, insts(x, EMU_FP64, EMU_OP_MUL))             \
    V(smsp__sass_thread_inst_executed_op_dfma_pred_on,                                             \
      insts(x, EMU_FP64, EMU_OP_FMA) + expansion(x, EMU_FP64))                                     \
    V(smsp__sass_thread_inst_executed_op_fadd_pred_on, single(x, EMU_OP_ADD))                      \
    V(smsp__sass_thread_inst_executed_op_fmul_pred_on, single(x, EMU_OP_MUL))                      \
    V(smsp__sass_thread_inst_executed_op_ffma_pred_on,                                             \
      single(x, EMU_OP_FMA) + expansion(x, EMU_FP32))                                              \
    V(smsp__sass_thread_inst_executed_op_fadd2_pred_on, pairs(x, EMU_OP_ADD))                      \
    V(smsp__sass_thread_inst_executed_op_fmul2_pred_on, pairs(x, EMU_OP_MUL))                      \
    V(smsp__sass_thread_inst_executed_op_ffma2_pred_on, pairs(x, EMU_OP_FMA))                      \
    V(smsp__sass_thread_inst_executed_op_hadd_pred_on, half(x, EMU_OP_ADD))                        \
    V(smsp__sass_thread_inst_executed_op_hmul_pred_on, half(x, EMU_OP_MUL))                        \
    V(smsp__sass_thread_inst_executed_op_hfma_pred_on,                                             \
      half(x, EMU_OP_FMA) + expansion(x, EMU_FP16) + expansion(x, EMU_BF16))                       \
    V(smsp__sass_thread_inst_executed_op_fp64_pred_on, all_insts(x, EMU_FP64))                     \
    V(smsp__sass_thread_inst_executed_op_fp32_pred_on, all_insts(x, EMU_FP32))                     \
    V(smsp__sass_thread_inst_executed_op_fp16_pred_on,                                             \
      all_insts(x, EMU_FP16) + all_insts(x, EMU_BF16))                                             \
    V(smsp__sass_thread_inst_executed_op_integer_pred_on, (double)x.c->integer_insts)              \
    V(smsp__sass_thread_inst_executed_op_conversion_pred_on, (double)x.c->conversion_insts)        \
    V(smsp__sass_thread_inst_executed_op_bit_pred_on, (double)x.c->bit_insts)                      \
    V(smsp__sass_inst_executed_op_shared, requests(x, EMU_SHARED))                                 \
    V(smsp__sass_inst_executed_op_global, requests(x, EMU_GLOBAL))                                 \
    V(smsp__sass_inst_executed_op_local, requests(x, EMU_LOCAL))                                   \
    V(smsp__sass_inst_executed_op_ldsm, NAN)                                                       \
    V(smsp__sass_inst_executed_op_shared_gmma, 0)                                                  \
    V(smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared, (double)x.c->shared_wavefronts)             \
    V(smsp__sass_l1tex_tags_mem_global,                                                            \
      known(requests(x, EMU_TEXTURE) == 0, (double)x.c->l1_wavefronts))                            \
    V(smsp__sass_data_bytes_mem_shared, bytes(x, EMU_SHARED))                                      \
    V(smsp__sass_data_bytes_mem_global, bytes(x, EMU_GLOBAL))                                      \
    V(smsp__sass_data_bytes_mem_local, bytes(x, EMU_LOCAL))                                        \
    V(smsp__sass_sectors_mem_global, sectors(x, EMU_GLOBAL))                                       \
    V(smsp__sass_sectors_mem_local, sectors(x, EMU_LOCAL))                                         \
    V(dram__bytes, CACHES(x.c->dram_read_bytes + x.c->dram_write_bytes))                           \
    V(dram__bytes_read, CACHES(x.c->dram_read_bytes))                                              \
    V(dram__bytes_write, CACHES(x.c->dram_write_bytes))                                            \
    V(dram__bytes_op_read, CACHES(x.c->dram_read_bytes))                                           \
    V(dram__bytes_op_write, CACHES(x.c->dram_write_bytes))                                         \
    V(dram__cycles_elapsed, x.c->time_s *x.s->memory_clock_hz)                                     \
    V(lts__d_sectors_fill_sysmem, CACHES((double)x.c->dram_read_bytes / 32))                       \
    V(lts__t_bytes, CACHES(32 * (x.c->l2_read_sectors + x.c->l2_write_sectors)))                   \
    V(lts__t_sectors, CACHES(x.c->l2_read_sectors + x.c->l2_write_sectors))                        \
    V(lts__t_sectors_srcunit_tex, CACHES(x.c->l2_read_sectors + x.c->l2_write_sectors))            \
    V(lts__t_sectors_op_read, CACHES(x.c->l2_read_sectors))                                        \
    V(lts__t_sectors_op_write, CACHES(x.c->l2_write_sectors))                                      \
    V(lts__cycles_elapsed, NAN)                                                                    \
    V(lts__xbar2lts_cycles_active, NAN)                                                            \
    V(lts__lts2xbar_cycles_active, NAN)                                                            \
    V(l1tex__t_bytes, 32 * all_sectors(x))                                                         \
    V(l1tex__lsuin_requests,                                                                       \
      requests(x, EMU_GLOBAL) + requests(x, EMU_LOCAL) + requests(x, EMU_SHARED))                  \
    V(l1tex__data_pipe_lsu_wavefronts, (double)(x.c->l1_wavefronts + x.c->shared_wavefronts))      \
    V(l1tex__data_pipe_lsu_wavefronts_mem_shared, (double)x.c->shared_wavefronts)                  \
    V(l1tex__f_wavefronts, (double)x.c->l1_wavefronts)                                             \
    V(sm__inst_executed_pipe_tensor, (double)x.c->tensor_insts)                                    \
    V(sm__inst_executed_pipe_tensor_op_hmma, tensor_insts(x, false, false))                        \
    V(sm__inst_executed_pipe_tensor_op_imma, tensor_insts(x, true, false))                         \
    V(sm__inst_executed_pipe_tensor_op_dmma, tensor_insts(x, false, true))                         \
    V(sm__inst_executed_pipe_tensor_op_gmma, 0)                                                    \
    V(sm__inst_executed_pipe_tensor_op_hmma_type_hfma2, 0)                                         \
    V(sm__inst_executed_pipe_tensor_subpipe_hmma, tensor_insts(x, false, false))                   \
    V(sm__inst_executed_pipe_tensor_subpipe_imma, tensor_insts(x, true, false))                    \
    V(sm__inst_executed_pipe_tensor_subpipe_dmma, tensor_insts(x, false, true))                    \
    V(sm__inst_executed_pipe_alu, NAN)                                                             \
    V(sm__inst_executed_pipe_fp64, NAN)                                                            \
    V(sm__inst_executed_pipe_xu, NAN)                                                              \
    V(sm__sass_thread_inst_executed_op_ffma_pred_on,                                               \
      single(x, EMU_OP_FMA) + expansion(x, EMU_FP32))                                              \
    V(sm__sass_thread_inst_executed_op_dfma_pred_on,                                               \
      insts(x, EMU_FP64, EMU_OP_FMA) + expansion(x, EMU_FP64))                                     \
    V(sm__sass_thread_inst_executed_op_hfma_pred_on,                                               \
      half(x, EMU_OP_FMA) + expansion(x, EMU_FP16) + expansion(x, EMU_BF16))

/* ---- Tensor operations by path ---------------------------------------------------------------
 * sm__ops_path_tensor_[op_O_]src_S[_dst_D][_sparsity_on|_off][_realtime]: mma.sync alone runs here
 * (op_hmma, op_imma), dense, so the other instructions and sparsity have done nothing: 0. */

#define TENSOR_PREFIX "sm__ops_path_tensor_"

/* Precisions of a source and destination, a bit each; 0: types that no instruction here has. */
static const struct {
    const char *types;
    unsigned precisions;
} tensor_types[] = {
    {"src_fp16_dst_fp16", 1u << EMU_FP16_ACC16},
    {"src_fp16_dst_fp32", 1u << EMU_FP16},
    {"src_fp16", 1u << EMU_FP16 | 1u << EMU_FP16_ACC16},
    {"src_bf16_dst_fp32", 1u << EMU_BF16},
    {"src_tf32_dst_fp32", 1u << EMU_TF32},
    {"src_fp16_bf16_tf32_dst_fp32", 1u << EMU_FP16 | 1u << EMU_BF16 | 1u << EMU_TF32},
    {"src_fp64", 1u << EMU_FP64},
    {"src_int8", 1u << EMU_INT8},
    {"src_fp8", 1u << EMU_FP8},
    {"src_fp8_dst_fp32", 1u << EMU_FP8},
    {"src_fp4_fp6_fp8_dst_fp32", 1u << EMU_FP8},
    {"src_fp8_dst_fp16", 0},
    {"src_fp4_fp6_fp8_dst_fp16", 0},
    {"src_int1", 0},
    {"src_int4", 0},
    {"src_fp4_dst_fp32", 0},
    {"src_fp4_fp6_dst_fp32", 0},
    {"src_fp4_fp6_dst_fp16", 0},
};

typedef struct tensor_path {
    unsigned precisions;
    bool runs;          /* by an instruction that is there; else always 0 */
    bool sparse, dense; /* one kind alone */
    bool warp;          /* mma.sync's own: op_hmma, op_imma */
} tensor_path;

static bool cut_suffix(char *name, const char *suffix) {
    size_t length = strlen(name), end = strlen(suffix);
    bool there = length > end && strcmp(name + length - end, suffix) == 0;
    if (there)
        name[length - end] = 0;
    return there;
}

static bool parse_tensor(const char *base, tensor_path *path) {
    static const char *const here[] = {"op_hmma_", "op_imma_"};
    static const char *const elsewhere[] = {"op_hgmma_",   "op_igmma_",   "op_bgmma_",
                                            "op_bmma_",    "op_utchmma_", "op_utcimma_",
                                            "op_utcomma_", "op_utcqmma_"};
    char name[128];
    if (strncmp(base, TENSOR_PREFIX, strlen(TENSOR_PREFIX)) != 0)
        return false;
    snprintf(name, sizeof name, "%s", base + strlen(TENSOR_PREFIX));
    cut_suffix(name, "_realtime");
    *path = (tensor_path){.runs = true};
    path->sparse = cut_suffix(name, "_sparsity_on");
    path->dense = cut_suffix(name, "_sparsity_off");
    const char *types = name;
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (!strncmp(types, here[i], strlen(here[i]))) {
            types += strlen(here[i]);
            path->warp = true;
        }
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strncmp(types, elsewhere[i], strlen(elsewhere[i]))) {
            types += strlen(elsewhere[i]);
            path->runs = false;
        }
    for (size_t i = 0; i < sizeof tensor_types / sizeof *tensor_types; i++)
        if (!strcmp(types, tensor_types[i].types)) {
            path->precisions = tensor_types[i].precisions;
            return true;
        }
    return false;
}

static double tensor_value(const tensor_path *path, sample x) {
    double sum = 0;
    if (!path->runs || path->sparse)
        return 0;
    for (int p = 0; p < EMU_PRECISIONS; p++)
        if (path->precisions >> p & 1)
            sum += ops(x, (emu_precision)p);
    return sum;
}

/* Dense operations a clock and SM; 0: not known. */
static double tensor_rate(const emu_device_spec *s, unsigned precisions) {
    const double rates[EMU_PRECISIONS] = {
        [EMU_FP64] = s->tensor_fp64_per_clk,       [EMU_TF32] = s->tensor_tf32_per_clk,
        [EMU_BF16] = s->tensor_bf16_per_clk,       [EMU_FP16] = s->tensor_fp16_per_clk,
        [EMU_FP16_ACC16] = s->tensor_fp16_per_clk, [EMU_FP8] = s->tensor_fp8_per_clk,
        [EMU_INT8] = s->tensor_int8_per_clk};
    double most = 0;
    for (int p = 0; p < EMU_PRECISIONS; p++)
        if (precisions >> p & 1 && rates[p] > most)
            most = rates[p];
    return most;
}

/* Without a suffix it is the sparse peak from Ampere on; mma.sync reaches two thirds of wgmma's on
 * Hopper. */
static double tensor_peak(const tensor_path *path, const emu_device_spec *s) {
    double peak = tensor_rate(s, path->precisions) * s->sm_count;
    bool has_sparsity = s->cc_major >= 8 && !(path->precisions & 1u << EMU_FP64);
    if (!path->dense && has_sparsity)
        peak *= 2;
    if (path->warp && s->cc_major == 9)
        peak *= 2.0 / 3;
    return peak > 0 ? peak : NAN;
}

/* ---- Peaks: a clock of the unit, whole device ------------------------------------------------ */

static double ratio(double a, double b) {
    return a > 0 && b > 0 ? a / b : NAN;
}

static double per_sm(const emu_device_spec *s, double rate, double lanes) {
    return ratio(rate * s->sm_count, lanes);
}

#define PEAKS(P)                                                                                   \
    P(sm__sass_thread_inst_executed_op_ffma_pred_on, per_sm(s, s->fp32_per_clk, 2))                \
    P(sm__sass_thread_inst_executed_op_dfma_pred_on, per_sm(s, s->fp64_per_clk, 2))                \
    P(sm__sass_thread_inst_executed_op_hfma_pred_on, per_sm(s, s->fp16_per_clk, 4))                \
    P(sm__inst_executed_pipe_alu, per_sm(s, s->int32_per_clk, 32))                                 \
    P(sm__inst_executed_pipe_fp64, per_sm(s, s->fp64_per_clk, 64))                                 \
    P(sm__inst_executed_pipe_xu, per_sm(s, s->special_per_clk, 32))                                \
    P(smsp__inst_issued, 4.0 * s->sm_count)                                                        \
    P(smsp__inst_executed, 4.0 * s->sm_count)                                                      \
    P(l1tex__t_bytes, ratio(s->l1_bytes_per_s, s->sm_clock_hz))                                    \
    P(l1tex__data_pipe_lsu_wavefronts, (double)s->sm_count)                                        \
    P(l1tex__data_pipe_lsu_wavefronts_mem_shared, (double)s->sm_count)                             \
    P(lts__t_bytes, ratio(s->l2_bytes_per_s, s->sm_clock_hz))                                      \
    P(lts__t_sectors, ratio(s->l2_bytes_per_s, 32 * s->sm_clock_hz))                               \
    P(lts__xbar2lts_cycles_active, ratio(s->l2_bytes_per_s, 32 * s->sm_clock_hz))                  \
    P(lts__lts2xbar_cycles_active, ratio(s->l2_bytes_per_s, 32 * s->sm_clock_hz))                  \
    P(dram__bytes, ratio(s->dram_bytes_per_s, s->memory_clock_hz))                                 \
    P(gpu__time_duration, NAN)

typedef enum base_id {
#define ID(name, value) BASE_##name,
    COUNTED(ID) BASES
#undef ID
} base_id;

static const char *const bases[] = {
#define NAME(name, value) #name,
    COUNTED(NAME)
#undef NAME
};

static int find_base(const char *name) {
    for (int i = 0; i < BASES; i++)
        if (!strcmp(bases[i], name))
            return i;
    return -1;
}

static double counted(int base, sample x) {
    switch ((base_id)base) {
#define CASE(name, value)                                                                          \
    case BASE_##name:                                                                              \
        return (value);
        COUNTED(CASE)
#undef CASE
    case BASES:
        break;
    }
    return NAN;
}

static double peak(int base, const emu_device_spec *s) {
#define CHECK(name, value)                                                                         \
    if (base == BASE_##name)                                                                       \
        return (value);
    PEAKS(CHECK)
#undef CHECK
    return NAN;
}

/* How many units there are of the kind that NAME begins with; NaN: not known. */
static double units(const char *name, const emu_device_spec *s) {
    if (!strncmp(name, "smsp__", 6))
        return 4.0 * s->sm_count;
    if (!strncmp(name, "sm__", 4) || !strncmp(name, "l1tex__", 7))
        return s->sm_count;
    if (!strncmp(name, "gpu__", 5))
        return 1;
    return NAN;
}

static double clock_of(const char *name, const emu_device_spec *s) {
    double hz = strncmp(name, "dram__", 6) ? s->sm_clock_hz : s->memory_clock_hz;
    return hz > 0 ? hz : NAN;
}

/* ---- Names -----------------------------------------------------------------------------------
 */

typedef enum rollup { ROLLUP_SUM, ROLLUP_AVG, ROLLUP_MIN, ROLLUP_MAX, ROLLUPS } rollup;
typedef enum submetric {
    SUB_NONE,
    SUB_PER_SECOND,
    SUB_PER_CYCLE,
    SUB_PEAK,
    SUB_PERCENT,
    SUBS
} submetric;

typedef struct parsed {
    char base[128];
    int counted; /* -1: a tensor path */
    tensor_path tensor;
    rollup rollup;
    submetric sub;
} parsed;

static int find_word(const char *const *words, int count, const char *word) {
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

static bool parse(const char *name, parsed *p) {
    static const char *const rollups[] = {"sum", "avg", "min", "max"};
    static const char *const subs[] = {"", "per_second", "per_cycle_elapsed", "peak_sustained",
                                       "pct_of_peak_sustained_elapsed"};
    char word[16];
    size_t length = strcspn(name, ".");
    if (name[length] != '.' || length >= sizeof p->base)
        return false;
    memcpy(p->base, name, length);
    p->base[length] = 0;
    const char *rest = name + length + 1, *dot = strchr(rest, '.');
    snprintf(word, sizeof word, "%.*s", dot ? (int)(dot - rest) : 15, rest);
    int rolled = find_word(rollups, ROLLUPS, word);
    int sub = find_word(subs, SUBS, dot ? dot + 1 : "");
    p->rollup = (rollup)rolled;
    p->sub = (submetric)sub;
    p->counted = find_base(p->base);
    return rolled >= 0 && sub >= 0 && (p->counted >= 0 || parse_tensor(p->base, &p->tensor));
}

bool metric_known(const char *name) {
    parsed p;
    return parse(name, &p);
}

bool metric_is_sass(const char *name) {
    return strstr(name, "__sass_") != NULL && !metric_is_peak(name);
}

bool metric_is_peak(const char *name) {
    parsed p;
    return parse(name, &p) && p.sub == SUB_PEAK;
}

const char *metric_base(size_t i) {
    return i < BASES ? bases[i] : NULL;
}

/* ---- Values ----------------------------------------------------------------------------------
 */

/* Units that do the same work in the mean: their least and most are known of clocks alone. */
static double rolled_up(const parsed *p, double sum, const emu_device_spec *s) {
    if (p->rollup == ROLLUP_SUM)
        return sum;
    double n = strncmp(p->base, "dram__cycles", 12) && strncmp(p->base, "lts__cycles", 11)
                   ? units(p->base, s)
                   : 1;
    bool same = strstr(p->base, "__cycles_elapsed") || n == 1;
    return p->rollup == ROLLUP_AVG || same ? sum / n : NAN;
}

double metric_value(const char *name, const emu_counts *counts, const emu_device_spec *spec) {
    parsed p;
    if (!parse(name, &p))
        return NAN;
    sample x = {counts, spec};
    double most = p.counted < 0 ? tensor_peak(&p.tensor, spec) : peak(p.counted, spec);
    double per_unit = p.rollup == ROLLUP_SUM ? 1 : units(p.base, spec);
    if (p.sub == SUB_PEAK)
        return most / per_unit;
    bool is_clock = strstr(p.base, "__cycles_elapsed") != NULL;
    if (p.sub == SUB_PER_SECOND && is_clock && p.rollup != ROLLUP_SUM)
        return clock_of(p.base, spec);
    double sum = p.counted < 0 ? tensor_value(&p.tensor, x) : counted(p.counted, x);
    double value = rolled_up(&p, sum, spec);
    double elapsed = counts->time_s * clock_of(p.base, spec);
    switch (p.sub) {
    case SUB_PER_SECOND:
        return ratio(value, counts->time_s);
    case SUB_PER_CYCLE:
        return value / elapsed;
    case SUB_PERCENT:
        return 100 * value * per_unit / (most * elapsed);
    default:
        return value;
    }
}

/* ---- Sums ------------------------------------------------------------------------------------
 */

static void add_words(void *sum, const void *more, size_t from, size_t to) {
    for (size_t at = from; at < to; at += sizeof(uint64_t)) {
        uint64_t a, b;
        memcpy(&a, (const char *)sum + at, sizeof a);
        memcpy(&b, (const char *)more + at, sizeof b);
        a += b;
        memcpy((char *)sum + at, &a, sizeof a);
    }
}

_Static_assert(offsetof(emu_counts, caches_valid) % sizeof(uint64_t) == 0 &&
                   offsetof(emu_counts, l1_hit_sectors) % sizeof(uint64_t) == 0 &&
                   offsetof(emu_counts, occupancy_theoretical) % sizeof(uint64_t) == 0,
               "the counts before the occupancy are 64-bit words");

void metric_add_counts(emu_counts *sum, const emu_counts *launch) {
    bool first = sum->time_s == 0 && sum->warp_insts == 0;
    double time_s = sum->time_s + launch->time_s;
    add_words(sum, launch, 0, offsetof(emu_counts, caches_valid));
    add_words(sum, launch, offsetof(emu_counts, l1_hit_sectors),
              offsetof(emu_counts, occupancy_theoretical));
    sum->caches_valid = launch->caches_valid && (first || sum->caches_valid);
    if (time_s > 0) {
        sum->occupancy_theoretical = (sum->occupancy_theoretical * sum->time_s +
                                      launch->occupancy_theoretical * launch->time_s) /
                                     time_s;
        sum->waves = (sum->waves * sum->time_s + launch->waves * launch->time_s) / time_s;
    }
    sum->blocks_per_sm = launch->blocks_per_sm;
    sum->time_s = time_s;
}
