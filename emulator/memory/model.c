/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy and modelled time of a launch; model.h states both models. The steps of the
 * L1/shared carve-out are those of the CUDA programming guide's sections on each compute capability
 * ("Shared Memory": the capacities that can be configured, in KB).
 */
#include "emulator/memory/model.h"

enum { WARP = 32, SUB_PARTITIONS = 4, REGISTER_UNIT = 256, SECTOR_BYTES = 32 };

/* ---- Occupancy --------------------------------------------------------------------------------
 */

static uint32_t round_up(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

uint32_t emu_model_reserved_shared(const emu_device_spec *spec) {
    return spec->cc_major >= 8 ? 1024 : 0;
}

static uint32_t shared_per_block(const emu_device_spec *spec, const emu_occupancy_query *q) {
    uint32_t bytes = q->static_shared_bytes + q->dynamic_shared_bytes;
    return round_up(bytes + emu_model_reserved_shared(spec), spec->cc_major >= 8 ? 128 : 256);
}

/* Warps that fit the register files of the sub-partitions. */
static uint32_t warps_by_registers(const emu_device_spec *spec, uint32_t registers_per_thread) {
    uint32_t per_warp = round_up(registers_per_thread * WARP, REGISTER_UNIT);
    return spec->registers_per_sm / SUB_PARTITIONS / per_warp * SUB_PARTITIONS;
}

typedef struct limit {
    uint32_t blocks;
    const char *name;
} limit;

static void take_smaller(limit *least, uint32_t blocks, const char *name) {
    if (blocks < least->blocks)
        *least = (limit){blocks, name};
}

emu_occupancy emu_model_occupancy(const emu_device_spec *spec, const emu_occupancy_query *query) {
    emu_occupancy o = {.warps_per_block = (query->threads_per_block + WARP - 1) / WARP,
                       .shared_bytes_per_block = shared_per_block(spec, query)};
    uint32_t most_warps =
        spec->max_warps_per_sm ? spec->max_warps_per_sm : spec->max_threads_per_sm / WARP;
    limit least = {UINT32_MAX, "blocks"};
    if (o.warps_per_block == 0)
        return o;
    if (spec->max_blocks_per_sm)
        take_smaller(&least, spec->max_blocks_per_sm, "blocks");
    if (most_warps)
        take_smaller(&least, most_warps / o.warps_per_block, "threads");
    if (spec->registers_per_sm && query->registers_per_thread)
        take_smaller(&least,
                     warps_by_registers(spec, query->registers_per_thread) / o.warps_per_block,
                     "registers");
    if (spec->shared_bytes_per_sm && o.shared_bytes_per_block)
        take_smaller(&least, spec->shared_bytes_per_sm / o.shared_bytes_per_block, "shared");
    if (least.blocks == UINT32_MAX) /* nothing is known of the SM: one block is what is certain */
        least.blocks = 1;
    o.blocks_per_sm = least.blocks;
    o.limiter = least.name;
    o.theoretical = most_warps ? (double)least.blocks * o.warps_per_block / most_warps : 0;
    return o;
}

static uint32_t carve_out(const emu_device_spec *spec, uint32_t bytes) {
    static const uint16_t volta[] = {0, 8, 16, 32, 64, 96}, turing[] = {32, 64},
                          ampere[] = {0, 8, 16, 32, 64, 100, 132, 164},
                          small[] = {0, 8, 16, 32, 64, 100},
                          hopper[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
    const uint16_t *steps = hopper;
    unsigned n = sizeof hopper / sizeof *hopper;
    int cc = spec->cc_major * 10 + spec->cc_minor;
    if (cc == 75)
        steps = turing, n = 2;
    else if (cc < 80)
        steps = volta, n = 6;
    else if (cc == 80 || cc == 87)
        steps = ampere, n = 8;
    else if (cc == 86 || cc == 89 || cc >= 120)
        steps = small, n = 6;
    for (unsigned i = 0; i < n; i++)
        if (bytes <= steps[i] * 1024u)
            return steps[i] * 1024u;
    return bytes;
}

uint32_t emu_model_l1_bytes(const emu_device_spec *spec, uint32_t shared_bytes, uint32_t blocks) {
    uint64_t need = (uint64_t)shared_bytes * blocks;
    if (need > spec->shared_bytes_per_sm)
        need = spec->shared_bytes_per_sm;
    uint32_t shared = carve_out(spec, (uint32_t)need);
    return shared < spec->l1_bytes_per_sm ? spec->l1_bytes_per_sm - shared : 0;
}

void emu_model_fill_occupancy(const emu_device_spec *spec, const emu_occupancy *occupancy,
                              uint64_t blocks, emu_counts *counts) {
    uint64_t at_once =
        (uint64_t)occupancy->blocks_per_sm * (uint64_t)(spec->sm_count > 0 ? spec->sm_count : 1);
    counts->occupancy_theoretical = occupancy->theoretical;
    counts->blocks_per_sm = occupancy->blocks_per_sm;
    counts->occupancy_limiter = occupancy->limiter;
    counts->waves = at_once ? (double)blocks / (double)at_once : 0;
}

/* ---- Time -------------------------------------------------------------------------------------
 */

typedef struct ceiling {
    double time_s;
    const char *name;
} ceiling;

/* RATE 0 is "not known": that ceiling is left out. */
static void raise_time(ceiling *top, double work, double rate, const char *name) {
    if (rate > 0 && work / rate > top->time_s)
        *top = (ceiling){work / rate, name};
}

/* Special functions have units of their own; the rest of a precision's FLOPs share its pipe. */
static double pipe_flops(const emu_counts *c, emu_precision p) {
    return (double)c->flops_algorithmic[p] - (double)c->fp[p][EMU_OP_SPECIAL];
}

static double special_insts(const emu_counts *c) {
    double n = 0;
    for (int p = 0; p < EMU_PRECISIONS; p++)
        n += (double)(c->fp[p][EMU_OP_SPECIAL] + c->fp[p][EMU_OP_RCP] + c->fp[p][EMU_OP_SQRT] +
                      c->fp[p][EMU_OP_DIV]);
    return n;
}

/* RATE: clocks of one SM times the SMs' even share of the blocks. */
static void raise_sm_ceilings(const emu_device_spec *s, const emu_counts *c, double rate,
                              ceiling *top) {
    raise_time(top, pipe_flops(c, EMU_FP64), s->fp64_per_clk * rate, "fp64");
    raise_time(top, pipe_flops(c, EMU_FP32), s->fp32_per_clk * rate, "fp32");
    raise_time(top,
               pipe_flops(c, EMU_FP16) + pipe_flops(c, EMU_FP16_ACC16) + pipe_flops(c, EMU_BF16),
               s->fp16_per_clk * rate, "fp16");
    raise_time(top, (double)(c->integer_insts + c->bit_insts), s->int32_per_clk * rate, "int32");
    raise_time(top, special_insts(c), s->special_per_clk * rate, "special");
    raise_time(top, (double)c->tensor_ops[EMU_FP64], s->tensor_fp64_per_clk * rate, "tensor");
    raise_time(top, (double)c->tensor_ops[EMU_TF32], s->tensor_tf32_per_clk * rate, "tensor");
    raise_time(top, (double)(c->tensor_ops[EMU_FP16] + c->tensor_ops[EMU_FP16_ACC16]),
               s->tensor_fp16_per_clk * rate, "tensor");
    raise_time(top, (double)c->tensor_ops[EMU_BF16], s->tensor_bf16_per_clk * rate, "tensor");
    raise_time(top, (double)c->tensor_ops[EMU_FP8], s->tensor_fp8_per_clk * rate, "tensor");
    raise_time(top, (double)c->tensor_ops[EMU_INT8], s->tensor_int8_per_clk * rate, "tensor");
    raise_time(top, (double)c->warp_insts, SUB_PARTITIONS * rate, "issue");
    raise_time(top, (double)c->l1_wavefronts, rate, "l1");
    raise_time(top, (double)c->shared_wavefronts, rate, "shared");
}

static void raise_device_ceilings(const emu_device_spec *s, const emu_counts *c, ceiling *top) {
    if (!c->caches_valid)
        return;
    raise_time(top, (double)(c->dram_read_bytes + c->dram_write_bytes), s->dram_bytes_per_s,
               "dram");
    raise_time(top, (double)(c->l2_read_sectors + c->l2_write_sectors) * SECTOR_BYTES,
               s->l2_bytes_per_s, "l2");
}

void emu_model_fill_time(const emu_device_spec *spec, uint64_t blocks, emu_counts *counts) {
    ceiling top = {0, "latency"};
    uint64_t sms = spec->sm_count > 0 ? (uint64_t)spec->sm_count : 1;
    uint64_t on_fullest_sm = (blocks + sms - 1) / sms;
    if (on_fullest_sm > 0) {
        double share = (double)blocks / (double)on_fullest_sm; /* SMs' worth of work at once */
        raise_sm_ceilings(spec, counts, spec->sm_clock_hz * share, &top);
    }
    raise_device_ceilings(spec, counts, &top);
    counts->time_bound = top.time_s > EMU_LAUNCH_OVERHEAD_S ? top.name : "latency";
    counts->time_s = top.time_s + EMU_LAUNCH_OVERHEAD_S;
}
