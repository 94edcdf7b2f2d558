/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: what works lane by lane (operations.def has the operations themselves), conversions
 * and carry chains. */
#include "emulator/machine/decode.h"

#include <stdio.h>
#include <string.h>

/* ---- carry chains --------------------------------------------------------------------
 */

static bool decode_carry(decoder *d) {
    const char *name = d->in->opcode;
    ptx_type t = emu_last_type(d);
    int kind = 0;
    bool multiply = strncmp(name, "mad", 3) == 0;
    if (strncmp(name, "sub", 3) == 0)
        kind |= CARRY_SUBTRACT;
    if (strcmp(name, "addc") == 0 || strcmp(name, "subc") == 0 || strcmp(name, "madc") == 0)
        kind |= CARRY_IN;
    if (emu_has(d, "cc"))
        kind |= CARRY_OUT;
    if (multiply)
        kind |= emu_has(d, "lo") ? CARRY_MULTIPLY_LOW : CARRY_MULTIPLY_HIGH;
    if (is_signed(t))
        kind |= CARRY_SIGNED;
    if (multiply && !(kind & CARRY_MULTIPLY_LOW) && !emu_has(d, "hi"))
        return emu_decode_unsupported(d);
    int n = multiply ? 4 : 3;
    if (is_float(t) || ptx_type_bytes(t) < 4 || !emu_need(d, n, n))
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = emu_source(d, &p[1], t), b = emu_source(d, &p[2], t);
    uint32_t c = multiply ? emu_source(d, &p[3], t) : a;
    uint32_t to = emu_destination(d, &p[0], t);
    emu_op *o = emu_emit(d, is_wide(t) ? H_carry_64 : H_carry_32, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->kind = (uint8_t)kind;
    return emu_finish_destination(d, t);
}

/* ---- lane by lane ------------------------------------------------------------------------------
 */

static bool is_half(ptx_type t) {
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
}

/* A step on the result of the operation just bound. */
static bool follow(decoder *d, int handler) {
    uint32_t place = d->last->d;
    emu_op *o = emu_emit_helper(d, handler);
    if (!o)
        return false;
    o->d = o->a = place;
    return true;
}

static bool decode_float(decoder *d, const char *base, ptx_type type, emu_op_class op_class) {
    const char *sat = emu_has(d, "sat") ? "_sat" : emu_has(d, "relu") ? "_relu" : "";
    const emu_operation *op = emu_find_operation("%s%s_%s", base, sat, ptx_type_name(type));
    if (is_half(type) && emu_rounding(d) != ROUNDING_NEAREST)
        return emu_decode_unsupported(d);
    int flush = is_half(type) ? emu_flush_handler(d, type) : 0;
    d->flush = flush;
    bool bound = emu_bind_operation(d, op, 1, COUNT_FP);
    d->flush = 0;
    if (!bound)
        return false;
    emu_count_float(d, type, op_class);
    /* bf16 has the exponents of f32, which it is calculated in: subnormals are flushed the same way
     */
    if (type != PTX_F16 && type != PTX_F16X2)
        emu_apply_control_word(d, d->last, emu_control_word(d));
    /* the host flushes nothing in an operation that selects and does not calculate */
    if (type == PTX_F32 && op_class == EMU_OP_FP_OTHER)
        flush = emu_flush_handler(d, type);
    if (flush && !follow(d, flush))
        return false;
    return emu_finish_operation(d, op);
}

/* add, sub, fma of f32 whose factors or first term are f16 or bf16. */
static bool decode_mixed(decoder *d, ptx_type narrow, emu_op_class op_class) {
    const emu_operation *op =
        emu_find_operation("%s%s_f32", d->in->opcode, emu_has(d, "sat") ? "_sat" : "");
    const emu_operation *widen = emu_find_operation("cvt_f32_%s", ptx_type_name(narrow));
    if (!op || !widen)
        return emu_decode_unsupported(d);
    if (!emu_need(d, op->sources + 1, op->sources + 1))
        return false;
    uint32_t ref[3] = {0};
    for (int i = 0; i < op->sources; i++) {
        bool last = i == op->sources - 1;
        ref[i] = emu_source(d, &d->in->operand[1 + i], last ? PTX_F32 : narrow);
        if (last)
            continue;
        uint32_t wide = emu_decode_temporary(d, false);
        emu_op *o = emu_emit_helper(d, widen->handler);
        if (!o)
            return false;
        o->a = ref[i];
        o->d = ref[i] = wide;
    }
    uint32_t to = emu_destination(d, &d->in->operand[0], PTX_F32);
    emu_op *o = emu_emit(d, op->handler, COUNT_FP);
    if (!o)
        return false;
    o->d = to;
    o->a = ref[0];
    o->b = ref[1];
    o->c = ref[2];
    emu_count_float(d, PTX_F32, op_class);
    emu_apply_control_word(d, o, emu_control_word(d));
    return emu_finish_destination(d, PTX_F32);
}

/* The second type of an instruction that has two, of which the first is f32; PTX_NONE. */
static ptx_type mixed_type(const decoder *d) {
    ptx_type narrow = emu_type_at(d, 1);
    bool mixed = emu_type_at(d, 0) == PTX_F32 && (narrow == PTX_F16 || narrow == PTX_BF16);
    return mixed ? narrow : PTX_NONE;
}

static bool decode_add(decoder *d) {
    ptx_type t = emu_last_type(d);
    const char *name = d->in->opcode;
    if (mixed_type(d) != PTX_NONE)
        return decode_mixed(d, mixed_type(d), EMU_OP_ADD);
    if (is_float(t))
        return decode_float(d, name, t, EMU_OP_ADD);
    if (emu_has(d, "cc"))
        return decode_carry(d);
    const emu_operation *op;
    if (emu_has(d, "sat"))
        op = emu_find_operation("%s_sat_%s", name, ptx_type_name(t));
    else if (t == PTX_U16X2 || t == PTX_S16X2)
        op = emu_find_operation("%s_%s", name, ptx_type_name(t));
    else
        op = emu_find_operation("%s_b%d", name, width_of(t));
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

static bool decode_mul(decoder *d) {
    ptx_type t = emu_last_type(d);
    const char *name = d->in->opcode;
    if (is_float(t)) {
        bool mul = strcmp(name, "mul") == 0;
        return decode_float(d, mul ? "mul" : "fma", t, mul ? EMU_OP_MUL : EMU_OP_FMA);
    }
    if (emu_has(d, "cc") || strcmp(name, "madc") == 0)
        return decode_carry(d);
    const emu_operation *op;
    if (emu_has(d, "lo"))
        op = emu_find_operation("%s_lo_b%d", name, width_of(t));
    else if (emu_has(d, "wide"))
        op = emu_find_operation("%s_wide_%s", name, ptx_type_name(t));
    else if (emu_has(d, "hi"))
        op = emu_find_operation("%s_hi%s_%s", name, emu_has(d, "sat") ? "_sat" : "",
                                ptx_type_name(t));
    else
        return emu_decode_unsupported(d);
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

static bool decode_fma(decoder *d) {
    if (mixed_type(d) != PTX_NONE)
        return decode_mixed(d, mixed_type(d), EMU_OP_FMA);
    return decode_float(d, "fma", emu_last_type(d), EMU_OP_FMA);
}

static bool decode_mul24(decoder *d) {
    const emu_operation *op =
        emu_find_operation("%s_%s%s_%s", d->in->opcode,
                           emu_has(d, "lo")   ? "lo"
                           : emu_has(d, "hi") ? "hi"
                                              : "",
                           emu_has(d, "sat") ? "_sat" : "", ptx_type_name(emu_last_type(d)));
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

/* One name, one type, sign mattering: rem, sad, szext, bfind ... */
static bool decode_typed(decoder *d) {
    const emu_operation *op =
        emu_find_operation("%s%s_%s", d->in->opcode, emu_has(d, "shiftamt") ? "_shiftamt" : "",
                           ptx_type_name(emu_last_type(d)));
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

static bool decode_div(decoder *d) {
    ptx_type t = emu_last_type(d);
    if (!is_float(t))
        return decode_typed(d);
    return decode_float(d, "div", t, EMU_OP_DIV);
}

static bool decode_min_max(decoder *d) {
    ptx_type t = emu_last_type(d);
    if (is_float(t)) {
        char base[48];
        bool xorsign = emu_has(d, "xorsign"), magnitude = emu_has(d, "abs") && !xorsign;
        snprintf(base, sizeof base, "%s%s%s%s%s", d->in->opcode,
                 d->in->operand_count == 4 ? "3" : "", emu_has(d, "NaN") ? "_nan" : "",
                 xorsign ? "_xorsign" : "", magnitude ? "_abs" : "");
        return decode_float(d, base, t, EMU_OP_FP_OTHER);
    }
    if (!emu_has(d, "relu"))
        return decode_typed(d);
    const emu_operation *op = emu_find_operation("%s_relu_%s", d->in->opcode, ptx_type_name(t));
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

static bool decode_abs_neg(decoder *d) {
    ptx_type t = emu_last_type(d);
    return is_float(t) ? decode_float(d, d->in->opcode, t, EMU_OP_FP_OTHER) : decode_typed(d);
}

static bool decode_special_function(decoder *d) {
    ptx_type t = emu_last_type(d);
    emu_op_class c = strcmp(d->in->opcode, "sqrt") == 0  ? EMU_OP_SQRT
                     : strcmp(d->in->opcode, "rcp") == 0 ? EMU_OP_RCP
                                                         : EMU_OP_SPECIAL;
    return decode_float(d, d->in->opcode, t, c);
}

static bool decode_copysign(decoder *d) {
    return decode_float(d, "copysign", emu_last_type(d), EMU_OP_FP_OTHER);
}

/* Bit operations whose sign does not matter; predicates have handlers of their own. */
static bool decode_logic(decoder *d) {
    ptx_type t = emu_last_type(d);
    const char *name = d->in->opcode;
    if (t != PTX_PRED) {
        const emu_operation *op = emu_find_operation("%s_b%d", name, width_of(t));
        return emu_bind_operation(d, op, 1, COUNT_BIT) && emu_finish_operation(d, op);
    }
    bool one = strcmp(name, "not") == 0;
    int handler = one                        ? H_not_pred
                  : strcmp(name, "and") == 0 ? H_and_pred
                  : strcmp(name, "or") == 0  ? H_or_pred
                                             : H_xor_pred;
    if (!emu_need(d, one ? 2 : 3, one ? 2 : 3))
        return false;
    emu_op flags = {0};
    uint32_t to = emu_destination_predicate(d, &d->in->operand[0]);
    uint32_t a = emu_source_predicate(d, &d->in->operand[1], &flags, OP_NEGATE_A);
    uint32_t b = one ? a : emu_source_predicate(d, &d->in->operand[2], &flags, OP_NEGATE_B);
    emu_op *o = emu_emit(d, handler, COUNT_BIT);
    if (!o || to == UINT32_MAX)
        return o && to == UINT32_MAX ? !d->fault->status : false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->flags |= flags.flags;
    return !d->fault->status;
}

static bool decode_shift_right(decoder *d) {
    ptx_type t = emu_last_type(d);
    const emu_operation *op = emu_find_operation("shr_%c%d", is_signed(t) ? 's' : 'u', width_of(t));
    return emu_bind_operation(d, op, 1, COUNT_BIT) && emu_finish_operation(d, op);
}

static bool decode_bits_typed(decoder *d) {
    if (!decode_typed(d))
        return false;
    emu_info(d)->kind = COUNT_BIT;
    return true;
}

/* modifiers between opcode and type joined: shf.l.wrap.b32, bmsk.clamp.b32, prmt.b32.f4e, dp2a ...
 */
static bool decode_joined(decoder *d) {
    char name[96];
    int n = snprintf(name, sizeof name, "%s", d->in->opcode);
    for (int i = 0; i < d->in->modifier_count && n < (int)sizeof name; i++)
        n += snprintf(name + n, sizeof name - (size_t)n, "_%s", emu_modifier(d, i));
    const emu_operation *op = emu_operation_find(name);
    return emu_bind_operation(d, op, 1, COUNT_BIT) && emu_finish_operation(d, op);
}

static bool decode_dot(decoder *d) {
    if (!decode_joined(d))
        return false;
    emu_info(d)->kind = COUNT_INTEGER;
    return true;
}

/* d|p of lop3.and, lop3.or: p is whether d is not zero, combined with predicate Q. */
static bool test_result(decoder *d, uint32_t value, const ptx_operand *p, const ptx_operand *q,
                        emu_combine combine) {
    emu_op flags = {0};
    uint32_t zero = emu_decode_constant(d, 0, false);
    uint32_t c = emu_source_predicate(d, q, &flags, OP_NEGATE_C);
    uint32_t to = emu_destination_predicate(d, p);
    emu_op *o = emu_emit_helper(d, H_setp_ne_b32);
    if (!o)
        return false;
    o->d = to;
    o->a = value;
    o->b = zero;
    o->c = c;
    o->combine = (uint8_t)combine;
    o->flags |= flags.flags;
    return !d->fault->status;
}

static bool decode_lop3(decoder *d) {
    const emu_combine combine = emu_has(d, "and")  ? COMBINE_AND
                                : emu_has(d, "or") ? COMBINE_OR
                                                   : COMBINE_NONE;
    const int n = combine == COMBINE_NONE ? 5 : 6;
    if (!emu_need(d, n, n))
        return false;
    const ptx_operand *p = d->in->operand, *table = &p[4];
    if (table->kind != PTX_OPERAND_INTEGER || (combine == COMBINE_NONE) != !p[0].second)
        return emu_decode_unsupported(d);
    uint32_t a = emu_source(d, &p[1], PTX_B32), b = emu_source(d, &p[2], PTX_B32);
    uint32_t c = emu_source(d, &p[3], PTX_B32), to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, H_lop3_b32, COUNT_BIT);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->immediate = (int64_t)table->value;
    if (combine != COMBINE_NONE && !test_result(d, to, p[0].second, &p[5], combine))
        return false;
    return emu_finish_destination(d, PTX_B32);
}

/* ---- conversions ------------------------------------------------------------------------------
 */

/* The host's control word for an operation that rounds itself: .ftz stays. */
static uint32_t without_rounding(uint32_t word) {
    word &= 0x9fff;
    return word == 0x1f80 ? 0 : word;
}

static bool decode_cvt_packed(decoder *d, ptx_type to, ptx_type from) {
    lane_rounding_code rounding = emu_rounding(d);
    const char *relu = emu_has(d, "relu") ? "_relu" : "";
    const emu_operation *op;
    bool plain = (rounding == ROUNDING_NEAREST && !emu_has(d, "satfinite")) || to == PTX_E4M3X2 ||
                 to == PTX_E5M2X2 || to == PTX_TF32 || from != PTX_F32;
    op = emu_find_operation("cvt%s%s_%s_%s", plain ? "" : "_rounded", relu, ptx_type_name(to),
                            ptx_type_name(from));
    if (!emu_bind_operation(d, op, 1, COUNT_CONVERSION))
        return false;
    d->last->kind = (uint8_t)rounding;
    d->last->immediate = emu_has(d, "satfinite");
    if (from == PTX_F32) /* the operation rounds; subnormal sources are the host's to flush */
        emu_apply_control_word(d, d->last, without_rounding(emu_control_word(d)));
    return emu_finish_operation(d, op);
}

static const char *integer_rounding(const decoder *d) {
    static const char *const names[] = {"rni", "rzi", "rmi", "rpi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (emu_has(d, names[i]))
            return names[i];
    return NULL;
}

/* cvt.pack.sat.u8.s32.b32 d, a, b, c: a and b, clamped, go below what c has. */
static bool decode_cvt_pack(decoder *d) {
    static const char *const types[] = {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"};
    const char *name = emu_modifier(d, 2);
    int bits = 0;
    for (int i = 0; i < 8; i++)
        if (strcmp(types[i], name) == 0)
            bits = 2 << i / 2;
    const bool third = bits < 16;
    if (!bits || !emu_has(d, "sat") || !emu_has(d, "s32"))
        return emu_decode_unsupported(d);
    if (!emu_need(d, third ? 4 : 3, third ? 4 : 3))
        return false;
    const ptx_operand *p = d->in->operand;
    uint32_t a = emu_source(d, &p[1], PTX_S32), b = emu_source(d, &p[2], PTX_S32);
    uint32_t c = third ? emu_source(d, &p[3], PTX_B32) : emu_decode_constant(d, 0, false);
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, name[0] == 's' ? H_pack_signed : H_pack_unsigned, COUNT_CONVERSION);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->bytes = (uint8_t)bits; /* here bits */
    return emu_finish_destination(d, PTX_B32);
}

/* Handler that clamps a result of TYPE to [0, 1]. */
static int saturating_handler(ptx_type type) {
    return type == PTX_F64 ? H_saturate_f64 : type == PTX_F32 ? H_saturate_f32 : H_saturate_f16;
}

static bool decode_cvt(decoder *d) {
    if (emu_has(d, "pack"))
        return decode_cvt_pack(d);
    ptx_type to = emu_type_at(d, 0), from = emu_type_at(d, 1);
    if (to == PTX_NONE || from == PTX_NONE)
        return emu_decode_unsupported(d);
    const char *whole = integer_rounding(d);
    const bool saturate = emu_has(d, "sat");
    if (to == PTX_F16X2 || to == PTX_BF16X2 || to == PTX_E4M3X2 || to == PTX_E5M2X2 ||
        to == PTX_TF32)
        return decode_cvt_packed(d, to, from);
    if ((to == PTX_F16 || to == PTX_BF16) && from == PTX_F32 && !saturate && !whole)
        return decode_cvt_packed(d, to, from);
    const char *t = ptx_type_name(to), *f = ptx_type_name(from);
    const emu_operation *op;
    uint32_t word = emu_control_word(d);
    bool clamp = false; /* by a step of its own */
    if (!is_float(to) && !is_float(from)) {
        op = emu_find_operation("cvt%s_%s_%s", saturate && to != from ? "_sat" : "", t, f);
    } else if (!is_float(to)) {
        op = emu_find_operation("cvt_%s_%s_%s", whole ? whole : "rzi", t, f);
        word = without_rounding(word);
    } else {
        const bool to_half = to == PTX_F16 || to == PTX_BF16;
        char how[16] = "";
        if (whole && to == from)
            snprintf(how, sizeof how, "_%s", whole);
        else if (to_half && from == PTX_F32 && emu_rounding(d) != ROUNDING_NEAREST)
            snprintf(how, sizeof how, "_rounded");
        op = saturate ? emu_find_operation("cvt%s_sat_%s_%s", how, t, f) : NULL;
        clamp = saturate && !op;
        if (!op)
            op = emu_find_operation("cvt%s_%s_%s", how, t, f);
        if (clamp && to == PTX_BF16)
            return emu_decode_unsupported(d);
        if (whole && to == from)
            word = without_rounding(word);
        if (to_half)
            word = from == PTX_F32 ? without_rounding(word) : 0;
    }
    if (!emu_bind_operation(d, op, 1, COUNT_CONVERSION))
        return false;
    d->last->kind = (uint8_t)emu_rounding(d);
    emu_apply_control_word(d, d->last, word);
    if (clamp && !follow(d, saturating_handler(to)))
        return false;
    if (to == PTX_F32 && from == PTX_F32 && emu_has(d, "ftz") && !follow(d, H_flush_f32))
        return false;
    return emu_finish_operation(d, op);
}

const emu_instruction emu_arithmetic_instructions[] = {
    {"abs", decode_abs_neg},
    {"add", decode_add},
    {"addc", decode_carry},
    {"and", decode_logic},
    {"bfe", decode_bits_typed},
    {"bfi", decode_logic},
    {"bfind", decode_bits_typed},
    {"bmsk", decode_joined},
    {"brev", decode_logic},
    {"clz", decode_logic},
    {"cnot", decode_logic},
    {"copysign", decode_copysign},
    {"cos", decode_special_function},
    {"cvt", decode_cvt},
    {"div", decode_div},
    {"dp2a", decode_dot},
    {"dp4a", decode_dot},
    {"ex2", decode_special_function},
    {"fma", decode_fma},
    {"fns", decode_joined},
    {"lg2", decode_special_function},
    {"lop3", decode_lop3},
    {"mad", decode_mul},
    {"mad24", decode_mul24},
    {"madc", decode_mul},
    {"max", decode_min_max},
    {"min", decode_min_max},
    {"mul", decode_mul},
    {"mul24", decode_mul24},
    {"neg", decode_abs_neg},
    {"not", decode_logic},
    {"or", decode_logic},
    {"popc", decode_logic},
    {"prmt", decode_joined},
    {"rcp", decode_special_function},
    {"rem", decode_div},
    {"rsqrt", decode_special_function},
    {"sad", decode_typed},
    {"shf", decode_joined},
    {"shl", decode_logic},
    {"shr", decode_shift_right},
    {"sin", decode_special_function},
    {"sqrt", decode_special_function},
    {"sub", decode_add},
    {"subc", decode_carry},
    {"szext", decode_joined},
    {"tanh", decode_special_function},
    {"xor", decode_logic},
    {NULL, NULL},
};
