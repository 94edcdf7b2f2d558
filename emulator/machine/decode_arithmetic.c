/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: what works lane by lane (operations.def has the operations themselves), conversions,
 * carry chains, and the video instructions. */
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
        kind |= emu_has(d, "hi") ? CARRY_MULTIPLY_HIGH : CARRY_MULTIPLY_LOW;
    if (is_signed(t))
        kind |= CARRY_SIGNED;
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

/* .ftz on an operation that selects and does not calculate: the host flushes nothing there. */
static bool flush_result(decoder *d) {
    uint32_t place = d->last->d;
    emu_op *o = emu_emit_helper(d, H_flush_f32);
    if (!o)
        return false;
    o->d = o->a = place;
    return emu_finish_destination(d, PTX_F32);
}

static bool decode_float(decoder *d, const char *base, ptx_type type, emu_op_class op_class) {
    const char *sat = emu_has(d, "sat") ? "_sat" : emu_has(d, "relu") ? "_relu" : "";
    const emu_operation *op = emu_find_operation("%s%s_%s", base, sat, ptx_type_name(type));
    if (!emu_bind_operation(d, op, 1, COUNT_FP))
        return false;
    emu_count_float(d, type, op_class);
    /* bf16 has the exponents of f32, which it is calculated in: subnormals are flushed the same way
     */
    if (type != PTX_F16 && type != PTX_F16X2)
        emu_apply_control_word(d, d->last, emu_control_word(d));
    else if (emu_has(d, "ftz"))
        return emu_decode_unsupported(d);
    if (type == PTX_F32 && emu_has(d, "ftz") && op_class == EMU_OP_FP_OTHER)
        return flush_result(d);
    return emu_finish_operation(d, op);
}

static bool decode_add(decoder *d) {
    ptx_type t = emu_last_type(d);
    const char *name = d->in->opcode;
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
    else if (emu_has(d, "sat"))
        op = emu_find_operation("%s_hi_sat_%s", name, ptx_type_name(t));
    else
        op = emu_find_operation("%s_%s_%s", name, emu_has(d, "wide") ? "wide" : "hi",
                                ptx_type_name(t));
    return emu_bind_operation(d, op, 1, COUNT_INTEGER) && emu_finish_operation(d, op);
}

static bool decode_fma(decoder *d) {
    return decode_float(d, "fma", emu_last_type(d), EMU_OP_FMA);
}

static bool decode_mul24(decoder *d) {
    const emu_operation *op = emu_find_operation(
        "%s_%s_%s", d->in->opcode, emu_has(d, "hi") ? "hi" : "lo", ptx_type_name(emu_last_type(d)));
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
        snprintf(base, sizeof base, "%s%s%s%s", d->in->opcode, d->in->operand_count == 4 ? "3" : "",
                 emu_has(d, "NaN") ? "_nan" : "", emu_has(d, "xorsign") ? "_xorsign" : "");
        return decode_float(d, base, t, EMU_OP_FP_OTHER);
    }
    return emu_has(d, "relu") ? emu_decode_unsupported(d) : decode_typed(d);
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
        n += snprintf(name + n, sizeof name - (size_t)n, "_%s", d->in->modifier[i]);
    const emu_operation *op = emu_operation_find(name);
    return emu_bind_operation(d, op, 1, COUNT_BIT) && emu_finish_operation(d, op);
}

static bool decode_dot(decoder *d) {
    if (!decode_joined(d))
        return false;
    emu_info(d)->kind = COUNT_INTEGER;
    return true;
}

static bool decode_lop3(decoder *d) {
    if (emu_has(d, "and") || emu_has(d, "or") || !emu_need(d, 5, 5))
        return emu_decode_unsupported(d);
    const ptx_operand *table = &d->in->operand[4];
    if (table->kind != PTX_OPERAND_INTEGER)
        return emu_decode_unsupported(d);
    ptx_instruction shorter = *d->in;
    const ptx_instruction *whole = d->in;
    shorter.operand_count = 4;
    d->in = &shorter;
    const emu_operation *op = emu_find_operation("lop3_b32");
    bool done = emu_bind_operation(d, op, 1, COUNT_BIT);
    if (done)
        d->last->immediate = (int64_t)table->value;
    done = done && emu_finish_operation(d, op);
    if (done) /* the op must not point at the copy */
        emu_info(d)->mnemonic = whole->mnemonic;
    d->in = whole;
    return done;
}
/* ---- conversions ------------------------------------------------------------------------------
 */

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
    return emu_finish_operation(d, op);
}

static const char *integer_rounding(const decoder *d) {
    static const char *const names[] = {"rni", "rzi", "rmi", "rpi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (emu_has(d, names[i]))
            return names[i];
    return NULL;
}

static bool decode_cvt(decoder *d) {
    ptx_type to = emu_type_at(d, 0), from = emu_type_at(d, 1);
    if (to == PTX_NONE || from == PTX_NONE)
        return emu_decode_unsupported(d);
    if (to == PTX_F16X2 || to == PTX_BF16X2 || to == PTX_E4M3X2 || to == PTX_E5M2X2 ||
        to == PTX_TF32)
        return decode_cvt_packed(d, to, from);
    if ((to == PTX_F16 || to == PTX_BF16) && from == PTX_F32 && !emu_has(d, "sat") &&
        !integer_rounding(d))
        return decode_cvt_packed(d, to, from);
    if (emu_has(d, "sat") && (to == PTX_F16 || to == PTX_BF16) &&
        emu_rounding(d) != ROUNDING_NEAREST)
        return emu_decode_unsupported(d);
    const char *whole = integer_rounding(d), *sat = emu_has(d, "sat") ? "_sat" : "";
    const char *t = ptx_type_name(to), *f = ptx_type_name(from);
    const emu_operation *op = NULL;
    uint32_t word = emu_control_word(d);
    if (!is_float(to) && !is_float(from)) {
        op = emu_find_operation("cvt%s_%s_%s", to == from ? "" : sat, t, f);
    } else if (!is_float(to)) {
        op = emu_find_operation("cvt_%s_%s_%s", whole ? whole : "rzi", t, f);
        word &= 0x9fff; /* the operation rounds itself; .ftz stays */
        word = word == 0x1f80 ? 0 : word;
    } else if (whole && to == from) {
        op = emu_find_operation("cvt_%s%s_%s_%s", whole, sat, t, f);
        word &= 0x9fff;
        word = word == 0x1f80 ? 0 : word;
    } else {
        op = emu_find_operation("cvt%s_%s_%s", sat, t, f);
    }
    if (!emu_bind_operation(d, op, 1, COUNT_CONVERSION))
        return false;
    d->last->kind = (uint8_t)emu_rounding(d);
    if (to == PTX_F16 || to == PTX_BF16)
        word = 0;
    emu_apply_control_word(d, d->last, word);
    if (to == PTX_F32 && from == PTX_F32 && emu_has(d, "ftz"))
        return flush_result(d);
    return emu_finish_operation(d, op);
}
/* ---- video -------------------------------------------------------------------------------------
 */

static bool decode_video(decoder *d) {
    static const char *const names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    const char *name = d->in->opcode;
    size_t length = strlen(name);
    int kind = -1, bytes = name[length - 1] == '4' ? 1 : 2;
    for (int i = 0; i < 6; i++)
        if (length == strlen(names[i]) + 1 && strncmp(name, names[i], length - 1) == 0)
            kind = i;
    ptx_type t = emu_type_at(d, 1);
    if (kind < 0 || t == PTX_NONE || !emu_need(d, 4, 4))
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    for (int i = 1; i < 4; i++)
        if (p[i].part[0])
            return emu_decode_unsupported(d);
    uint32_t a = emu_source(d, &p[1], PTX_B32), b = emu_source(d, &p[2], PTX_B32),
             c = emu_source(d, &p[3], PTX_B32);
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, H_video, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->kind = (uint8_t)kind;
    o->bytes = (uint8_t)bytes;
    o->combine = emu_has(d, "add");
    o->vector = emu_has(d, "sat");
    o->flags |= is_signed(t) ? OP_SIGNED : 0;
    return emu_finish_destination(d, PTX_B32);
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
    {"vabsdiff2", decode_video},
    {"vabsdiff4", decode_video},
    {"vadd2", decode_video},
    {"vadd4", decode_video},
    {"vavrg2", decode_video},
    {"vavrg4", decode_video},
    {"vmax2", decode_video},
    {"vmax4", decode_video},
    {"vmin2", decode_video},
    {"vmin4", decode_video},
    {"vsub2", decode_video},
    {"vsub4", decode_video},
    {"xor", decode_logic},
    {NULL, NULL},
};
