/* SPDX-License-Identifier: Apache-2.0
 *
 * From executions per op to the counts of a launch, and the table of what one PTX instruction of
 * floating point is to a GPU's counters.
 *
 * Hardware counters count FADD, FMUL and FFMA (and their double and half kin) as they are executed,
 * threads whose predicate is off excepted; one PTX div or sqrt is a sequence of those around a MUFU
 * instruction, which they do not count. The sequences were read from the SASS that ptxas 13.0 makes
 * of single instructions for sm_80 and sm_90, where they are the same. They are those of ordinary
 * operands: scaling for subnormals is predicated off then, and the slow path is not taken. */
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
    int flops;  /* of one thread: FADD, FMUL 1; FFMA 2 */
    int single; /* of a double-precision instruction: FLOPs of single precision on top */
} expansion;

/* First match; an empty variant matches any (the directed roundings rz, rm, rp). */
static const expansion expansions[] = {
    {"div", "approx", "f32", 1, 0},  /* FMUL */
    {"div", "full", "f32", 1, 0},    /* FMUL */
    {"div", "rn", "f32", 10, 0},     /* 5 FFMA */
    {"div", "", "f32", 16, 0},       /* 7 FFMA, 2 FADD: a subroutine, its longest path */
    {"rcp", "ftz", "f64", 0, 0},     /* rcp.approx.ftz.f64: MUFU.RCP64H */
    {"rcp", "approx", "f32", 2, 0},  /* 2 FMUL; none with .ftz, see emu_flops() */
    {"rcp", "", "f32", 5, 0},        /* 2 FFMA, FADD */
    {"sqrt", "approx", "f32", 0, 0}, /* MUFU.SQRT */
    {"sqrt", "rn", "f32", 6, 0},     /* 2 FMUL, 2 FFMA */
    {"sqrt", "", "f32", 12, 0},      /* 2 FMUL, 2 FADD, 4 FFMA */
    {"sin", "", "f32", 1, 0},        /* FMUL into revolutions */
    {"cos", "", "f32", 1, 0},
    {"div", "rn", "f64", 15, 2},   /* 7 DFMA, DMUL; FFMA in the range check */
    {"div", "", "f64", 23, 0},     /* 10 DFMA, 3 DMUL: a subroutine, its longest path */
    {"rcp", "rn", "f64", 10, 0},   /* 5 DFMA */
    {"rcp", "", "f64", 18, 0},     /* 8 DFMA, 2 DMUL: a subroutine, its longest path */
    {"sqrt", "rn", "f64", 13, 0},  /* 5 DFMA, 3 DMUL */
    {"sqrt", "", "f64", 20, 0},    /* 8 DFMA, 4 DMUL: a subroutine, its longest path */
    {"rsqrt", "ftz", "f64", 0, 0}, /* MUFU.RSQ64H */
    {"rsqrt", "", "f64", 8, 0},    /* 3 DFMA, 2 DMUL */
    /* ex2, lg2, rsqrt, tanh of f32: MUFU alone */
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
            bool short_rcp = strcmp(e->opcode, "rcp") == 0 && says(in, "approx") && says(in, "ftz");
            info->flops_hardware = short_rcp ? 0 : (uint8_t)(e->flops * lanes);
            info->flops_single = (uint8_t)e->single;
            return;
        }
    }
}

typedef struct executions { /* of one op */
    uint64_t warps, active, threads;
} executions;

static void fold_memory(const emu_op_info *info, const executions *cell, emu_counts *counts) {
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

uint64_t emu_fold_threads(const emu_program *program, const emu_count_cell *cells) {
    uint64_t active = 0, threads = 0;
    for (uint32_t i = 0; i < program->op_count; i++) {
        active += cells[i].active;
        threads += active - cells[i].off;
    }
    return threads;
}

void emu_fold_counts(const emu_program *program, const emu_count_cell *cells, emu_counts *counts) {
    executions sum = {0}, *cell = &sum;
    for (uint32_t i = 0; i < program->op_count; i++) {
        const emu_op_info *info = &program->info[i];
        sum.warps += cells[i].warps;
        sum.active += cells[i].active;
        sum.threads = sum.active - cells[i].off;
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
            counts->flops_hardware[EMU_FP32] += cell->threads * info->flops_single;
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
            /* whole warps or none: a predicate may be off for all lanes */
            counts->tensor_insts += cell->threads / WARP;
            counts->tensor_ops[info->precision] += cell->threads / WARP * info->tensor_ops;
            break;
        case COUNT_MEMORY:
            fold_memory(info, cell, counts);
            break;
        }
    }
}
