/* SPDX-License-Identifier: Apache-2.0
 *
 * From executions per op to the counts of a launch, and the table of what one PTX instruction of
 * floating point is to a GPU's counters.
 *
 * Hardware counters count FADD, FMUL and FFMA (and their double and half kin) as they are executed;
 * one PTX div or sqrt is a sequence of those around a MUFU instruction. The sequences were read
 * from the SASS that nvcc 13.0 makes for sm_80 and sm_90 (the path that ordinary numbers take; the
 * slow path for subnormals and overflow is a call that is not counted here). */
#include "emulator/machine/decode.h"

#include <string.h>

static bool says(const ptx_instruction *in, const char *modifier) {
    for (int i = 0; i < in->modifier_count; i++)
        if (strcmp(in->modifier[i], modifier) == 0)
            return true;
    return false;
}

typedef struct expansion {
    const char *opcode, *variant, *type;
    int flops; /* of one thread: FADD, FMUL 1; FFMA 2 */
} expansion;

/* First match; an empty variant matches any. */
static const expansion expansions[] = {
    {"div", "approx", "f32", 2}, {"div", "full", "f32", 4},    {"div", "", "f32", 12},
    {"div", "", "f64", 15},      {"rcp", "approx", "f32", 0},  {"rcp", "", "f32", 4},
    {"rcp", "", "f64", 11},      {"sqrt", "approx", "f32", 2}, {"sqrt", "", "f32", 9},
    {"sqrt", "", "f64", 16},     {"rsqrt", "", "f32", 2},      {"rsqrt", "", "f64", 9},
    {"ex2", "", "f32", 2},       {"lg2", "", "f32", 2},        {"sin", "", "f32", 1},
    {"cos", "", "f32", 1},
};

void emu_flops(emu_op_info *info, const ptx_instruction *in) {
    int lanes = info->packed ? 2 : 1;
    switch ((emu_op_class)info->op_class) {
    case EMU_OP_ADD:
    case EMU_OP_MUL:
        info->flops_algorithmic = info->flops_hardware = (uint8_t)lanes;
        return;
    case EMU_OP_FMA:
        info->flops_algorithmic = info->flops_hardware = (uint8_t)(2 * lanes);
        return;
    case EMU_OP_DIV:
    case EMU_OP_SQRT:
    case EMU_OP_RCP:
    case EMU_OP_SPECIAL:
        break;
    case EMU_OP_FP_OTHER:
    case EMU_OP_CLASSES:
        return;
    }
    info->flops_algorithmic = (uint8_t)lanes;
    for (size_t i = 0; i < sizeof expansions / sizeof *expansions; i++) {
        const expansion *e = &expansions[i];
        if (strcmp(in->opcode, e->opcode) == 0 && says(in, e->type) &&
            (!*e->variant || says(in, e->variant))) {
            info->flops_hardware = (uint8_t)(e->flops * lanes);
            return;
        }
    }
}

static void fold_memory(const emu_op_info *info, const emu_count_cell *cell, emu_counts *counts) {
    if (!info->memory_counted || !cell->threads)
        return;
    uint64_t bytes = cell->threads * info->bytes;
    if (info->access == EMU_LOAD) {
        counts->load_bytes[info->space] += bytes;
        counts->load_requests[info->space] += cell->warps;
    } else {
        counts->store_bytes[info->space] += bytes;
        counts->store_requests[info->space] += cell->warps;
    }
}

void emu_fold_counts(const emu_program *program, const emu_count_cell *cells, emu_counts *counts) {
    for (uint32_t i = 0; i < program->op_count; i++) {
        const emu_op_info *info = &program->info[i];
        const emu_count_cell *cell = &cells[i];
        if (info->kind == COUNT_HELPER || !cell->warps)
            continue;
        counts->warp_insts += cell->warps;
        counts->thread_insts += cell->threads;
        counts->thread_insts_active += cell->active;
        switch ((emu_count_kind)info->kind) {
        case COUNT_FP:
            counts->fp[info->precision][info->op_class] += cell->threads;
            if (info->packed)
                counts->packed[info->precision][info->op_class] += cell->threads;
            counts->flops_algorithmic[info->precision] += cell->threads * info->flops_algorithmic;
            counts->flops_hardware[info->precision] += cell->threads * info->flops_hardware;
            break;
        case COUNT_INTEGER:
            counts->integer_insts += cell->threads;
            break;
        case COUNT_CONVERSION:
            counts->conversion_insts += cell->threads;
            break;
        case COUNT_BIT:
            counts->bit_insts += cell->threads;
            break;
        case COUNT_CONTROL:
            counts->control_insts += cell->threads;
            break;
        case COUNT_MOVE:
            counts->move_insts += cell->threads;
            break;
        case COUNT_BARRIER:
            counts->barrier_insts += cell->threads;
            break;
        case COUNT_SHUFFLE:
            counts->shuffle_insts += cell->threads;
            break;
        case COUNT_VOTE:
            counts->vote_insts += cell->threads;
            break;
        case COUNT_CALL:
            counts->call_insts += cell->threads;
            break;
        case COUNT_TENSOR:
            counts->tensor_insts += cell->warps;
            break;
        case COUNT_MEMORY:
            fold_memory(info, cell, counts);
            break;
        }
    }
}
