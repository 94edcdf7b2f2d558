/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves, packing, selection, comparison, and the generic address space. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- mov, selp, setp, set ----------------------------------------------------------------------
 */

static bool decode_pack(decoder *d, bool packing) {
    const ptx_operand *vector = &d->in->operand[packing ? 1 : 0];
    const ptx_operand *whole = &d->in->operand[packing ? 0 : 1];
    ptx_type type = emu_last_type(d);
    int n = vector->count;
    unsigned bytes = n > 0 ? ptx_type_bytes(type) / (unsigned)n : 0;
    if (n < 2 || n > 8 || bytes == 0 || bytes * (unsigned)n != ptx_type_bytes(type) ||
        ptx_type_bytes(type) > 8)
        return emu_decode_unsupported(d);
    ptx_type part = bytes == 4 ? PTX_B32 : bytes == 2 ? PTX_B16 : PTX_B8;
    uint32_t ref[8];
    for (int i = 0; i < n; i++) {
        const ptx_operand *e = &vector->element[i];
        if (packing)
            ref[i] = emu_source(d, e, part);
        else if (e->kind == PTX_OPERAND_SINK)
            ref[i] = UINT32_MAX;
        else
            ref[i] = emu_destination(d, e, part);
    }
    uint32_t other = packing ? emu_destination(d, whole, type) : emu_source(d, whole, type);
    emu_op *o = emu_emit(d, packing ? H_pack : H_unpack, COUNT_MOVE);
    emu_extra *x = o ? emu_add_extra(d, o, n) : NULL;
    if (!x)
        return false;
    memcpy(x->ref, ref, (size_t)n * sizeof *ref);
    o->bytes = (uint8_t)bytes;
    if (packing) {
        o->d = other;
        o->flags |= is_wide(type) ? OP_WIDE_D : 0;
        return emu_finish_destination(d, type);
    }
    o->a = other;
    o->flags |= is_wide(type) ? OP_WIDE_ADDRESS : 0;
    return !d->fault->status;
}

/* mov.b128 between registers of 128 bits and pairs of 64. */
static bool decode_mov_128(decoder *d) {
    uint32_t ref[2][2];
    for (int i = 0; i < 2; i++) {
        const ptx_operand *p = &d->in->operand[i];
        if (p->kind != PTX_OPERAND_VECTOR) {
            if (!emu_decode_halves(d, p, ref[i]))
                return false;
            continue;
        }
        if (p->count != 2)
            return emu_decode_unsupported(d);
        for (int half = 0; half < 2; half++) {
            const ptx_operand *e = &p->element[half];
            bool sink = e->kind == PTX_OPERAND_SINK;
            ref[i][half] = sink ? UINT32_MAX
                           : i  ? emu_source(d, e, PTX_B64)
                                : emu_destination(d, e, PTX_B64);
            if (!i && !sink && d->moved_from != UINT32_MAX)
                return emu_decode_unsupported(d); /* a half into a register of another width */
        }
    }
    for (int half = 0; half < 2; half++) {
        if (ref[0][half] == UINT32_MAX || ref[1][half] == UINT32_MAX)
            continue;
        emu_op *o = emu_emit_helper(d, H_mov_b64);
        if (!o)
            return false;
        o->d = ref[0][half];
        o->a = ref[1][half];
    }
    return emu_emit(d, H_nothing, COUNT_MOVE) != NULL;
}

static bool decode_mov(decoder *d) {
    if (!emu_need(d, 2, 2))
        return false;
    const ptx_operand *to = &d->in->operand[0], *from = &d->in->operand[1];
    ptx_type t = emu_last_type(d);
    if (t == PTX_B128)
        return decode_mov_128(d);
    if (from->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_VECTOR)
        return decode_pack(d, from->kind == PTX_OPERAND_VECTOR);
    if (t == PTX_PRED) {
        emu_op flags = {0};
        uint32_t target = emu_destination_predicate(d, to);
        const bool cluster =
            from->kind == PTX_OPERAND_SPECIAL && strcmp(from->name, "%is_explicit_cluster") == 0;
        uint32_t a = cluster ? emu_decode_constant(d, 0, false)
                             : emu_source_predicate(d, from, &flags, OP_NEGATE_A);
        emu_op *o = emu_emit(d, H_mov_pred, COUNT_MOVE);
        if (!o || target == UINT32_MAX)
            return false;
        o->d = target;
        o->a = a;
        o->flags |= flags.flags;
        return !d->fault->status;
    }
    if (from->kind == PTX_OPERAND_SPECIAL && strcmp(from->name, "WARP_SZ") != 0)
        return emu_emit_special(d, from->name, emu_destination(d, to, t), is_wide(t), true) &&
               emu_finish_destination(d, t);
    const emu_operation *op = emu_find_operation("mov_b%d", width_of(t) < 16 ? 16 : width_of(t));
    return emu_bind_operation(d, op, 1, COUNT_MOVE) && emu_finish_operation(d, op);
}

static bool decode_selp(decoder *d) {
    ptx_type t = emu_last_type(d);
    if (!emu_need(d, 4, 4) || ptx_type_bytes(t) > 8)
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_source(d, &p[1], t), b = emu_source(d, &p[2], t);
    uint32_t c = emu_source_predicate(d, &p[3], &flags, OP_NEGATE_C);
    uint32_t to = emu_destination(d, &p[0], t);
    emu_op *o = emu_emit(d, is_wide(t) ? H_selp_64 : H_selp_32, COUNT_MOVE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->flags |= flags.flags;
    if (is_float(t))
        emu_count_float(d, t, EMU_OP_FP_OTHER);
    return emu_finish_destination(d, t);
}

static bool decode_slct(decoder *d) {
    ptx_type t = emu_type_at(d, 0), by = emu_type_at(d, 1);
    if (!emu_need(d, 4, 4) || (by != PTX_S32 && by != PTX_F32) || ptx_type_bytes(t) > 8)
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = emu_source(d, &p[1], t), b = emu_source(d, &p[2], t), c = emu_source(d, &p[3], by);
    uint32_t to = emu_destination(d, &p[0], t);
    int handler = by == PTX_S32 ? (is_wide(t) ? H_slct_64 : H_slct_32)
                                : (is_wide(t) ? H_slct_f32_64 : H_slct_f32_32);
    emu_op *o = emu_emit(d, handler, COUNT_MOVE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    emu_apply_control_word(d, o, emu_control_word(d));
    return emu_finish_destination(d, t);
}

/* Name of a comparison: eq lt ... of TYPE, with the unsigned spellings lo ls hi hs. */
static const emu_operation *find_comparison(const decoder *d, ptx_type type, const char *suffix) {
    const char *compare = emu_modifier(d, 0);
    static const char *const spelling[][2] = {
        {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling; i++)
        if (strcmp(compare, spelling[i][0]) == 0)
            compare = spelling[i][1];
    if (!is_float(type) && (strcmp(compare, "eq") == 0 || strcmp(compare, "ne") == 0))
        return emu_find_operation("setp_%s_b%d", compare, width_of(type));
    return emu_find_operation("setp_%s_%s%s", compare, ptx_type_name(type), suffix);
}

static emu_combine combine_of(const decoder *d) {
    return emu_has(d, "and")   ? COMBINE_AND
           : emu_has(d, "or")  ? COMBINE_OR
           : emu_has(d, "xor") ? COMBINE_XOR
                               : COMBINE_NONE;
}

static void count_comparison(decoder *d, ptx_type type) {
    if (is_float(type))
        emu_count_float(d, type, EMU_OP_FP_OTHER);
}

static bool decode_setp(decoder *d) {
    ptx_type t = emu_last_type(d);
    emu_combine combine = combine_of(d);
    int n = combine == COMBINE_NONE ? 3 : 4;
    const emu_operation *op = find_comparison(d, t, "");
    if (!op)
        return emu_decode_unsupported(d);
    const int flush = t == PTX_F32 ? 0 : emu_flush_handler(d, t);
    if (!emu_need(d, n, n))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_flushed(d, emu_source(d, &p[1], op->source[0]), flush);
    uint32_t b = emu_flushed(d, emu_source(d, &p[2], op->source[1]), flush);
    uint32_t c = combine != COMBINE_NONE ? emu_source_predicate(d, &p[3], &flags, OP_NEGATE_C) : 0;
    uint32_t to = emu_destination_predicate(d, &p[0]);
    uint32_t second = p[0].second ? emu_destination_predicate(d, p[0].second) : UINT32_MAX;
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    emu_op *o = emu_emit(d, pair ? H_setp_x2 : op->handler, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->second = second;
    o->a = a;
    o->b = b;
    o->c = c;
    o->combine = (uint8_t)combine;
    o->flags |= flags.flags;
    if (pair) {
        const emu_operation *high = find_comparison(d, t, "_high");
        o->inner = d->device->handlers[op->compare];
        o->immediate = high ? high->compare : op->compare;
    } else if (is_float(t) && (t == PTX_F32 || t == PTX_F64)) {
        emu_apply_control_word(d, o, emu_control_word(d));
    }
    count_comparison(d, t);
    return !d->fault->status;
}

static bool decode_set(decoder *d) {
    ptx_type to_type = emu_type_at(d, 0), t = emu_type_at(d, 1);
    emu_combine combine = combine_of(d);
    int n = combine == COMBINE_NONE ? 3 : 4;
    const emu_operation *op = t == PTX_NONE ? NULL : find_comparison(d, t, "");
    if (!op)
        return emu_decode_unsupported(d);
    if (!emu_need(d, n, n))
        return false;
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    int handler = pair                  ? (to_type == PTX_F16X2    ? H_set_f16x2
                                           : to_type == PTX_BF16X2 ? H_set_bf16x2
                                                                   : H_set_mask_x2)
                  : to_type == PTX_F32  ? H_set_f32
                  : to_type == PTX_F16  ? H_set_f16
                  : to_type == PTX_BF16 ? H_set_bf16
                                        : H_set_32;
    const int flush = emu_flush_handler(d, t);
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_flushed(d, emu_source(d, &p[1], op->source[0]), flush);
    uint32_t b = emu_flushed(d, emu_source(d, &p[2], op->source[1]), flush);
    uint32_t c = combine != COMBINE_NONE ? emu_source_predicate(d, &p[3], &flags, OP_NEGATE_C) : 0;
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, handler, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->combine = (uint8_t)combine;
    o->flags |= flags.flags;
    o->inner = d->device->handlers[op->compare];
    if (pair) {
        const emu_operation *high = find_comparison(d, t, "_high");
        o->immediate = high ? high->compare : op->compare;
    }
    count_comparison(d, t);
    return emu_finish_destination(d, PTX_B32);
}

static bool decode_testp(decoder *d) {
    const emu_operation *op =
        emu_find_operation("testp_%s_%s", emu_modifier(d, 0), ptx_type_name(emu_last_type(d)));
    if (!emu_bind_operation(d, op, 1, COUNT_FP))
        return false;
    emu_count_float(d, emu_last_type(d), EMU_OP_FP_OTHER);
    return emu_finish_operation(d, op);
}
int emu_space_of(const decoder *d) {
    return emu_has(d, "global")          ? EMU_GLOBAL
           : emu_has_prefix(d, "shared") ? EMU_SHARED
           : emu_has(d, "local")         ? EMU_LOCAL
           : emu_has(d, "const")         ? EMU_CONSTANT
           : emu_has_prefix(d, "param")  ? EMU_PARAM
                                         : SPACE_GENERIC;
}

static bool decode_cvta(decoder *d) {
    int space = emu_space_of(d);
    ptx_type t = emu_last_type(d);
    const bool from_generic = emu_has(d, "to");
    if (!emu_need(d, 2, 2))
        return false;
    if (space == EMU_GLOBAL || space == EMU_CONSTANT) {
        const emu_operation *op = emu_find_operation("mov_b%d", width_of(t));
        return emu_bind_operation(d, op, 1, COUNT_MOVE) && emu_finish_operation(d, op);
    }
    uint32_t a = emu_source(d, &d->in->operand[1], t);
    uint32_t to = emu_destination(d, &d->in->operand[0], t);
    emu_op *o = emu_emit(d, from_generic ? H_from_generic : H_to_generic, COUNT_MOVE);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    o->space = (uint8_t)space;
    o->flags |= is_wide(t) ? OP_WIDE_D | OP_WIDE_ADDRESS : 0;
    return emu_finish_destination(d, t);
}

static bool decode_isspacep(decoder *d) {
    if (!emu_need(d, 2, 2))
        return false;
    const ptx_operand *p = &d->in->operand[1];
    bool wide = p->kind != PTX_OPERAND_REGISTER || is_wide(d->body->register_type[p->reg]);
    uint32_t a = emu_source(d, p, wide ? PTX_B64 : PTX_B32);
    uint32_t to = emu_destination_predicate(d, &d->in->operand[0]);
    emu_op *o = emu_emit(d, H_is_space, COUNT_INTEGER);
    if (!o || to == UINT32_MAX)
        return false;
    o->a = a;
    o->d = to;
    o->space = (uint8_t)emu_space_of(d);
    o->flags |= wide ? OP_WIDE_ADDRESS : 0;
    return !d->fault->status;
}

/* ---- clusters of one block
 * -----------------------------------------------------------------------
 */

/* mapa: an address in the shared memory of another block of the cluster, of which there is none. */
static bool decode_mapa(decoder *d) {
    ptx_type t = emu_last_type(d);
    emu_space_of(d);
    if (!emu_need(d, 3, 3))
        return false;
    const emu_operation *op = emu_find_operation("mov_b%d", width_of(t));
    if (!op)
        return emu_decode_unsupported(d);
    uint32_t a = emu_source(d, &d->in->operand[1], t);
    uint32_t to = emu_destination(d, &d->in->operand[0], t);
    emu_op *o = emu_emit(d, op->handler, COUNT_MOVE);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    return emu_finish_destination(d, t);
}

/* A register that gets a constant. */
static bool set_constant(decoder *d, ptx_type type, uint64_t value) {
    uint32_t a = emu_decode_constant(d, value, is_wide(type));
    uint32_t to = emu_destination(d, &d->in->operand[0], type);
    emu_op *o = emu_emit(d, is_wide(type) ? H_mov_b64 : H_mov_b32, COUNT_MOVE);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    return emu_finish_destination(d, type);
}

static bool decode_getctarank(decoder *d) {
    emu_space_of(d);
    return emu_need(d, 2, 2) && set_constant(d, PTX_B32, 0);
}

/* A cache policy is a number that loads and stores pass on to a cache which does not ask for it. */
static bool decode_createpolicy(decoder *d) {
    if (!emu_has(d, "fractional") && !emu_has(d, "range") && !emu_has(d, "cvt"))
        return emu_decode_unsupported(d);
    emu_has(d, "global");
    emu_has(d, "L2");
    return emu_need(d, 1, 4) && set_constant(d, PTX_B64, 0);
}

const emu_instruction emu_move_instructions[] = {
    {"createpolicy", decode_createpolicy},
    {"getctarank", decode_getctarank},
    {"mapa", decode_mapa},
    {"cvta", decode_cvta},
    {"isspacep", decode_isspacep},
    {"mov", decode_mov},
    {"selp", decode_selp},
    {"set", decode_set},
    {"setp", decode_setp},
    {"slct", decode_slct},
    {"testp", decode_testp},
    {NULL, NULL},
};
