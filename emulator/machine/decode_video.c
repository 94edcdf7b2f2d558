/* SPDX-License-Identifier: Apache-2.0
 *
 * The video instructions: arithmetic on bytes and halfwords of 32-bit registers, which selectors
 * after the registers' names choose. */
#include "emulator/machine/decode.h"

#include <string.h>

static const char *const operations[] = {
    [VIDEO_ADD] = "vadd",         [VIDEO_SUB] = "vsub", [VIDEO_AVERAGE] = "vavrg",
    [VIDEO_ABSDIFF] = "vabsdiff", [VIDEO_MIN] = "vmin", [VIDEO_MAX] = "vmax",
    [VIDEO_SHL] = "vshl",         [VIDEO_SHR] = "vshr", [VIDEO_MAD] = "vmad",
    [VIDEO_SET] = "vset"};
static const char *const comparisons[] = {
    [COMPARE_EQ] = "eq", [COMPARE_NE] = "ne", [COMPARE_LT] = "lt",
    [COMPARE_LE] = "le", [COMPARE_GT] = "gt", [COMPARE_GE] = "ge"};

static bool find_operation(const char *opcode, emu_video *v) {
    size_t length = strlen(opcode);
    char last = opcode[length - 1];
    v->elements = last == '2' ? 2 : last == '4' ? 4 : 1;
    length -= v->elements > 1;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        v->operation = (uint8_t)i;
        if (strlen(operations[i]) == length && strncmp(operations[i], opcode, length) == 0)
            return true;
    }
    return false;
}

/* "b0" ... "b3", "h0", "h1"; the whole register without one. */
static bool parse_part(const ptx_operand *p, emu_video_part *part) {
    *part = (emu_video_part){0, 32};
    if (!p->part[0])
        return true;
    unsigned number = (unsigned)p->part[1] - '0';
    if (strlen(p->part) != 2 || (p->part[0] != 'b' && p->part[0] != 'h') ||
        number > (p->part[0] == 'b' ? 3 : 1))
        return false;
    part->width = p->part[0] == 'b' ? 8 : 16;
    part->low = (uint8_t)(number * part->width);
    return true;
}

/* "h31", "b7654": an element of a or b for each element of the result, the highest first. */
static bool parse_picks(const ptx_operand *p, int elements, int first, uint8_t *pick) {
    for (int i = 0; i < elements; i++)
        pick[i] = (uint8_t)(first + i);
    if (!p->part[0])
        return true;
    if (p->part[0] != (elements == 2 ? 'h' : 'b') || (int)strlen(p->part) != elements + 1)
        return false;
    for (int i = 0; i < elements; i++) {
        unsigned number = (unsigned)p->part[elements - i] - '0';
        if (number >= 2u * (unsigned)elements)
            return false;
        pick[i] = (uint8_t)number;
    }
    return true;
}

/* "h1", "b320": the elements that are written. */
static bool parse_mask(const ptx_operand *p, int elements, uint8_t *mask) {
    *mask = (uint8_t)((1u << elements) - 1);
    if (!p->part[0])
        return true;
    *mask = 0;
    for (const char *digit = p->part + 1; *digit; digit++) {
        unsigned number = (unsigned)*digit - '0';
        if (number >= (unsigned)elements)
            return false;
        *mask |= (uint8_t)(1u << number);
    }
    return *mask != 0 && p->part[0] == (elements == 2 ? 'h' : 'b');
}

static bool parse_selectors(const ptx_operand *p, emu_video *v) {
    if (v->elements == 1)
        return parse_part(&p[0], &v->d) && parse_part(&p[1], &v->a) && parse_part(&p[2], &v->b);
    return parse_mask(&p[0], v->elements, &v->mask) &&
           parse_picks(&p[1], v->elements, 0, v->pick_a) &&
           parse_picks(&p[2], v->elements, v->elements, v->pick_b);
}

static bool parse_types(const decoder *d, emu_video *v) {
    const bool set = v->operation == VIDEO_SET;
    ptx_type t[3] = {PTX_U32, PTX_NONE, PTX_NONE};
    for (int i = set; i < 3; i++)
        t[i] = emu_type_at(d, i - set);
    v->signed_d = t[0] == PTX_S32;
    v->signed_a = t[1] == PTX_S32;
    v->signed_b = t[2] == PTX_S32;
    for (int i = 0; i < 3; i++)
        if (t[i] != PTX_U32 && t[i] != PTX_S32)
            return false;
    return true;
}

static bool parse_modifiers(const decoder *d, emu_video *v) {
    v->saturate = emu_has(d, "sat");
    v->second = emu_has(d, "add")   ? SECOND_ADD
                : emu_has(d, "min") ? SECOND_MIN
                : emu_has(d, "max") ? SECOND_MAX
                                    : SECOND_NONE;
    if (v->operation == VIDEO_SHL || v->operation == VIDEO_SHR) {
        v->wrap = emu_has(d, "wrap");
        if (!v->wrap && !emu_has(d, "clamp"))
            return false;
    }
    if (v->operation == VIDEO_MAD) {
        v->plus_one = emu_has(d, "po");
        v->scale = emu_has(d, "shr7") ? 7 : emu_has(d, "shr15") ? 15 : 0;
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        v->compare = (uint8_t)i;
        if (v->operation == VIDEO_SET && emu_has(d, comparisons[i]))
            return true;
    }
    return v->operation != VIDEO_SET;
}

/* A source without its selector or sign, which are in the op. */
static uint32_t whole_source(decoder *d, const ptx_operand *p) {
    ptx_operand whole = *p;
    whole.part[0] = 0;
    whole.minus = false;
    return emu_source(d, &whole, PTX_B32);
}

static bool decode_video(decoder *d) {
    emu_video v = {0};
    const ptx_operand *p = d->in->operand;
    if (!find_operation(d->in->opcode, &v) || !parse_types(d, &v) || !parse_modifiers(d, &v))
        return emu_decode_unsupported(d);
    /* a third source for: mad, a second operation, elements or bits that are not written */
    bool third = v.operation == VIDEO_MAD || v.second != SECOND_NONE || v.elements > 1;
    if (!third && d->in->operand_count == 4)
        third = p[0].part[0] != 0;
    if (!emu_need(d, third ? 4 : 3, third ? 4 : 3))
        return false;
    if (!parse_selectors(p, &v) || (third && p[3].part[0]))
        return emu_decode_unsupported(d);
    if (v.operation != VIDEO_MAD && (p[1].minus || p[2].minus || (third && p[3].minus)))
        return emu_decode_unsupported(d);
    if (v.operation == VIDEO_MAD) {
        v.negate_ab = p[1].minus != p[2].minus;
        v.negate_c = p[3].minus;
    }
    uint32_t a = whole_source(d, &p[1]), b = whole_source(d, &p[2]);
    uint32_t c = third ? whole_source(d, &p[3]) : a;
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, H_video, COUNT_INTEGER);
    emu_extra *x = o ? emu_add_extra(d, o, 0) : NULL;
    if (!x)
        return false;
    x->video = v;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    return emu_finish_destination(d, PTX_B32);
}

const emu_instruction emu_video_instructions[] = {
    {"vabsdiff", decode_video}, {"vabsdiff2", decode_video}, {"vabsdiff4", decode_video},
    {"vadd", decode_video},     {"vadd2", decode_video},     {"vadd4", decode_video},
    {"vavrg2", decode_video},   {"vavrg4", decode_video},    {"vmad", decode_video},
    {"vmax", decode_video},     {"vmax2", decode_video},     {"vmax4", decode_video},
    {"vmin", decode_video},     {"vmin2", decode_video},     {"vmin4", decode_video},
    {"vset", decode_video},     {"vset2", decode_video},     {"vset4", decode_video},
    {"vshl", decode_video},     {"vshr", decode_video},      {"vsub", decode_video},
    {"vsub2", decode_video},    {"vsub4", decode_video},     {NULL, NULL},
};
