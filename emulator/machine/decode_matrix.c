/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices: mma, wmma, ldmatrix, stmatrix, movmatrix. tensor.c knows shapes, types and
 * fragments. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- matrices ----------------------------------------------------------------------------------
 */

/* References to the registers of fragment P, N of them, appended to REF. */
static bool decode_fragment(decoder *d, const ptx_operand *p, emu_element element, int n,
                            bool result, uint32_t *ref) {
    const ptx_operand *list = p->kind == PTX_OPERAND_VECTOR ? p->element : p;
    int count = p->kind == PTX_OPERAND_VECTOR ? p->count : 1;
    ptx_type type = element == ELEMENT_F64 ? PTX_F64 : element == ELEMENT_F32 ? PTX_F32 : PTX_B32;
    if (count != n)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with a fragment of %d registers, %d expected",
                               d->in->mnemonic, count, n);
    for (int i = 0; i < n; i++) {
        ref[i] = result ? emu_destination(d, &list[i], type) : emu_source(d, &list[i], type);
        if (result && d->moved_from != UINT32_MAX)
            return emu_decode_fail(d, EMU_BAD_PTX, "%s into a register of another width",
                                   d->in->mnemonic);
    }
    return !d->fault->status;
}

/* An instruction of all lanes of a warp. COUNT registers REF are its fragments. */
static emu_op *emit_whole_warp(decoder *d, int handler, emu_count_kind kind, const uint32_t *ref,
                               int count) {
    uint32_t all = emu_decode_constant(d, UINT32_MAX, false);
    emu_op *o = emu_emit(d, handler, kind);
    emu_extra *x = o ? emu_add_extra(d, o, count) : NULL;
    if (!x)
        return NULL;
    if (count)
        memcpy(x->ref, ref, (size_t)count * sizeof *ref);
    o->e = all;
    o->control = CONTROL_GATHER;
    return o;
}

static void set_tensor(decoder *d, const emu_tensor *tensor) {
    d->program->extra[d->program->extra_count - 1]->tensor = *tensor;
}

static bool decode_product(decoder *d, const emu_tensor *t) {
    static const emu_matrix order[] = {MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D};
    uint32_t ref[MATRICES * TENSOR_MAX_REGISTERS];
    int at[MATRICES], count = t->registers[MATRIX_D];
    if (!emu_need(d, MATRICES, MATRICES))
        return false;
    at[MATRIX_D] = 0;
    for (int i = MATRIX_A; i <= MATRIX_C; i++) {
        at[i] = count;
        count += t->registers[i];
    }
    for (int i = 0; i < MATRICES; i++) {
        const emu_matrix x = order[i]; /* in PTX D comes first */
        const ptx_operand *p = &d->in->operand[x == MATRIX_D ? 0 : (int)x + 1];
        if (!decode_fragment(d, p, (emu_element)t->element[x], t->registers[x], x == MATRIX_D,
                             ref + at[x]))
            return false;
    }
    if (!emit_whole_warp(d, H_multiply, COUNT_TENSOR, ref, count))
        return false;
    set_tensor(d, t);
    emu_info(d)->precision = (uint8_t)emu_tensor_precision(t);
    emu_info(d)->tensor_ops = 2u * t->m * t->n * t->k;
    return !d->fault->status;
}

/* Address, space and counts of an op that moves a fragment or tiles. */
static bool finish_whole_warp(decoder *d, emu_op *o, const emu_place *at, bool loading) {
    int space = emu_space_of(d);
    if (space == SPACE_GENERIC && at->space != SPACE_GENERIC)
        space = at->space;
    if (space != SPACE_GENERIC && space != EMU_GLOBAL && space != EMU_SHARED)
        return emu_decode_unsupported(d);
    o->a = at->ref;
    o->immediate = at->offset;
    o->flags |= at->wide ? OP_WIDE_ADDRESS : 0;
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_TEXTURE : space);
    emu_number_memory(d, o);
    emu_count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, loading ? EMU_LOAD : EMU_STORE,
                     0); /* the memory model sees its accesses */
    return !d->fault->status;
}

/* wmma.load d, [a], pitch; wmma.store [a], d, pitch: without a pitch rows or columns are dense. */
static bool decode_fragment_move(decoder *d, const emu_tensor *t) {
    const emu_matrix x = (emu_matrix)t->matrix;
    const bool loading = x != MATRIX_D;
    const int n = t->registers[x];
    uint32_t ref[TENSOR_MAX_REGISTERS];
    emu_place at;
    if (!emu_need(d, 2, 3))
        return false;
    const ptx_operand *p = d->in->operand;
    if (!emu_decode_address(d, &p[loading ? 1 : 0], &at))
        return false;
    uint32_t dense = t->by_column ? emu_tensor_rows(t, x) : emu_tensor_columns(t, x);
    uint32_t pitch = d->in->operand_count == 3 ? emu_source(d, &p[2], PTX_B32)
                                               : emu_decode_constant(d, dense, false);
    if (!decode_fragment(d, &p[loading ? 0 : 1], (emu_element)t->element[x], n, loading, ref))
        return false;
    emu_op *o =
        emit_whole_warp(d, loading ? H_load_fragment : H_store_fragment, COUNT_MEMORY, ref, n);
    if (!o)
        return false;
    o->b = pitch;
    set_tensor(d, t);
    return finish_whole_warp(d, o, &at, loading);
}

static bool decode_mma(decoder *d) {
    emu_tensor t;
    return emu_tensor_parse(d->in, &t) ? decode_product(d, &t) : emu_decode_unsupported(d);
}

static bool decode_wmma(decoder *d) {
    emu_tensor t;
    if (!emu_tensor_parse(d->in, &t))
        return emu_decode_unsupported(d);
    return emu_has(d, "mma") ? decode_product(d, &t) : decode_fragment_move(d, &t);
}

/* ldmatrix, stmatrix of 8 x 8 elements of 16 bits. */
static bool decode_tiles(decoder *d) {
    const bool loading = strcmp(d->in->opcode, "ldmatrix") == 0;
    const int n = emu_has(d, "x1") ? 1 : emu_has(d, "x2") ? 2 : emu_has(d, "x4") ? 4 : 0;
    uint32_t ref[4];
    emu_place at;
    if (!n || !emu_has(d, "sync") || !emu_has(d, "aligned") || !emu_has(d, "m8n8") ||
        !emu_has(d, "b16"))
        return emu_decode_unsupported(d);
    if (!emu_need(d, 2, 2))
        return false;
    const ptx_operand *p = d->in->operand;
    if (!emu_decode_address(d, &p[loading ? 1 : 0], &at) ||
        !decode_fragment(d, &p[loading ? 0 : 1], ELEMENT_NONE, n, loading, ref))
        return false;
    emu_op *o = emit_whole_warp(d, loading ? H_load_matrix : H_store_matrix, COUNT_MEMORY, ref, n);
    if (!o)
        return false;
    o->kind = emu_has(d, "trans");
    o->flags |= loading ? 0 : OP_NO_RESULT;
    return finish_whole_warp(d, o, &at, loading);
}

static bool decode_movmatrix(decoder *d) {
    if (!emu_has(d, "sync") || !emu_has(d, "aligned") || !emu_has(d, "m8n8") ||
        !emu_has(d, "trans") || !emu_has(d, "b16"))
        return emu_decode_unsupported(d);
    if (!emu_need(d, 2, 2))
        return false;
    uint32_t a = emu_source(d, &d->in->operand[1], PTX_B32);
    uint32_t to = emu_destination(d, &d->in->operand[0], PTX_B32);
    emu_op *o = emit_whole_warp(d, H_transpose_matrix, COUNT_SHUFFLE, NULL, 0);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    return emu_finish_destination(d, PTX_B32);
}

const emu_instruction emu_matrix_instructions[] = {
    {"ldmatrix", decode_tiles}, {"mma", decode_mma},   {"movmatrix", decode_movmatrix},
    {"stmatrix", decode_tiles}, {"wmma", decode_wmma}, {NULL, NULL},
};
