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

static bool decode_mov(decoder *d) {
    if (!emu_need(d, 2, 2))
        return false;
    const ptx_operand *to = &d->in->operand[0], *from = &d->in->operand[1];
    ptx_type t = emu_last_type(d);
    if (from->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_VECTOR)
        return decode_pack(d, from->kind == PTX_OPERAND_VECTOR);
    if (t == PTX_PRED) {
        emu_op flags = {0};
        uint32_t target = emu_destination_predicate(d, to);
        uint32_t a = emu_source_predicate(d, from, &flags, OP_NEGATE_A);
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
    const char *compare = d->in->modifier_count ? d->in->modifier[0] : "";
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
    if (!op || (emu_has(d, "ftz") && t != PTX_F32))
        return emu_decode_unsupported(d);
    if (!emu_need(d, n, n))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_source(d, &p[1], op->source[0]), b = emu_source(d, &p[2], op->source[1]);
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
    if (emu_has(d, "ftz"))
        return emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_source(d, &p[1], op->source[0]), b = emu_source(d, &p[2], op->source[1]);
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
        emu_find_operation("testp_%s_%s", d->in->modifier_count ? d->in->modifier[0] : "",
                           ptx_type_name(emu_last_type(d)));
    if (!emu_bind_operation(d, op, 1, COUNT_FP))
        return false;
    emu_count_float(d, emu_last_type(d), EMU_OP_FP_OTHER);
    return emu_finish_operation(d, op);
}
int emu_space_of(const decoder *d) {
    for (int i = 0; i < d->in->modifier_count; i++) {
        const char *m = d->in->modifier[i];
        if (strcmp(m, "global") == 0)
            return EMU_GLOBAL;
        if (strncmp(m, "shared", 6) == 0)
            return EMU_SHARED;
        if (strcmp(m, "local") == 0)
            return EMU_LOCAL;
        if (strcmp(m, "const") == 0)
            return EMU_CONSTANT;
        if (strncmp(m, "param", 5) == 0)
            return EMU_PARAM;
    }
    return SPACE_GENERIC;
}

static bool decode_cvta(decoder *d) {
    int space = emu_space_of(d);
    ptx_type t = emu_last_type(d);
    if (!emu_need(d, 2, 2))
        return false;
    if (space == EMU_GLOBAL || space == EMU_CONSTANT) {
        const emu_operation *op = emu_find_operation("mov_b%d", width_of(t));
        return emu_bind_operation(d, op, 1, COUNT_MOVE) && emu_finish_operation(d, op);
    }
    uint32_t a = emu_source(d, &d->in->operand[1], t);
    uint32_t to = emu_destination(d, &d->in->operand[0], t);
    emu_op *o = emu_emit(d, emu_has(d, "to") ? H_from_generic : H_to_generic, COUNT_MOVE);
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

const emu_instruction emu_move_instructions[] = {
    {"cvta", decode_cvta}, {"isspacep", decode_isspacep}, {"mov", decode_mov},
    {"selp", decode_selp}, {"set", decode_set},           {"setp", decode_setp},
    {"slct", decode_slct}, {"testp", decode_testp},       {NULL, NULL},
};
