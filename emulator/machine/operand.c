/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of instructions: registers get their places in the frame, literals and kernel parameters
 * theirs in the constant pool, and values that have the wrong width for their register a step that
 * changes it. */
#include "emulator/machine/decode.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_LIMIT = 1 << 28 };

/* ---- slots and constants -----------------------------------------------------------------------
 */

static uint32_t allocate(decoder *d, uint32_t bytes) {
    uint32_t at = (d->frame_bytes + 31) / 32 * 32;
    if (bytes > FRAME_LIMIT - at) {
        emu_decode_fail(d, EMU_BAD_PTX, "too many registers");
        return 0;
    }
    d->frame_bytes = at + bytes;
    return at;
}

static uint32_t allocate_predicate(decoder *d) {
    if (d->predicate_next == d->predicate_end) {
        d->predicate_next = allocate(d, 128);
        d->predicate_end = d->predicate_next + 128;
    }
    uint32_t at = d->predicate_next;
    d->predicate_next += 4;
    return at;
}

uint32_t emu_decode_temporary(decoder *d, bool wide) {
    return allocate(d, (wide ? 8 : 4) * WARP);
}

uint32_t emu_decode_register(decoder *d, int reg) {
    if (d->slot[reg] != UINT32_MAX)
        return d->slot[reg];
    ptx_type type = d->body->register_type[reg];
    if (type == PTX_PRED)
        d->slot[reg] = allocate_predicate(d);
    else if (ptx_type_bytes(type) > 8) /* its low half, then its high half */
        d->slot[reg] = allocate(d, 16 * WARP);
    else
        d->slot[reg] = emu_decode_temporary(d, is_wide(type));
    return d->slot[reg];
}

uint32_t emu_decode_constant(decoder *d, uint64_t value, bool wide) {
    emu_program *p = d->program;
    for (int i = p->constant_count - 1, n = 0; i >= 0 && n < 512; i--, n++)
        if (p->constant[i].value == value && p->constant[i].wide == wide)
            return p->constant[i].offset | 1;
    if (!emu_decode_grow(&p->constant, p->constant_count, &p->constant_capacity,
                         sizeof *p->constant)) {
        emu_decode_no_memory(d);
        return 1;
    }
    emu_constant *c = &p->constant[p->constant_count++];
    *c = (emu_constant){.offset = p->pool_bytes, .wide = wide, .value = value};
    p->pool_bytes += (wide ? 8 : 4) * WARP;
    return c->offset | 1;
}

/* A kernel parameter read at a fixed place: a constant that each launch fills in. */
uint32_t emu_decode_parameter(decoder *d, uint32_t from, unsigned bytes, bool wide, bool sign) {
    emu_program *p = d->program;
    for (int i = 0; i < p->slot_count; i++) {
        const emu_parameter_slot *s = &p->slot[i];
        if (s->from == from && s->bytes == bytes && s->wide == wide && s->sign == sign)
            return s->offset | 1;
    }
    if (!emu_decode_grow(&p->slot, p->slot_count, &p->slot_capacity, sizeof *p->slot)) {
        emu_decode_no_memory(d);
        return 1;
    }
    emu_parameter_slot *s = &p->slot[p->slot_count++];
    *s = (emu_parameter_slot){
        .offset = p->pool_bytes, .from = from, .bytes = (uint8_t)bytes, .wide = wide, .sign = sign};
    p->pool_bytes += (wide ? 8 : 4) * WARP;
    return s->offset | 1;
}
/* ---- operands ----------------------------------------------------------------------------------
 */

static uint64_t literal_bits(const ptx_operand *p, ptx_type type) {
    if (p->kind == PTX_OPERAND_INTEGER) {
        uint64_t value = p->value + (uint64_t)p->offset;
        if (type == PTX_F32) {
            float f = (float)(int64_t)value;
            uint32_t u;
            memcpy(&u, &f, 4);
            return u;
        }
        if (type == PTX_F64) {
            double f = (double)(int64_t)value;
            memcpy(&value, &f, 8);
        }
        return value;
    }
    float narrow;
    double wide;
    uint32_t bits = (uint32_t)p->value;
    uint64_t value = p->value;
    if (p->kind == PTX_OPERAND_F64 && type != PTX_F64 && !is_wide(type)) {
        memcpy(&wide, &value, 8);
        narrow = (float)wide;
        memcpy(&bits, &narrow, 4);
        return bits;
    }
    if (p->kind == PTX_OPERAND_F32 && type == PTX_F64) {
        memcpy(&narrow, &bits, 4);
        wide = narrow;
        memcpy(&value, &wide, 8);
    }
    return value;
}

/* Registers that the driver fills: of those only the grid's workspace has a meaning here, which
 * cooperative groups find in %envreg1 (high half) and %envreg2. */
static bool find_environment(const char *name, int *kind) {
    if (strncmp(name, "%envreg", 7) != 0)
        return false;
    *kind = strcmp(name, "%envreg1") == 0   ? SPECIAL_WORKSPACE_HI
            : strcmp(name, "%envreg2") == 0 ? SPECIAL_WORKSPACE
                                            : SPECIAL_ZERO;
    return true;
}

static bool find_special(const char *name, int *kind, bool *wide) {
    static const struct {
        const char *name;
        int kind;
        bool wide;
    } specials[] = {
        {"%tid.x", SPECIAL_TID_X, 0},
        {"%tid.y", SPECIAL_TID_Y, 0},
        {"%tid.z", SPECIAL_TID_Z, 0},
        {"%ntid.x", SPECIAL_NTID_X, 0},
        {"%ntid.y", SPECIAL_NTID_Y, 0},
        {"%ntid.z", SPECIAL_NTID_Z, 0},
        {"%ctaid.x", SPECIAL_CTAID_X, 0},
        {"%ctaid.y", SPECIAL_CTAID_Y, 0},
        {"%ctaid.z", SPECIAL_CTAID_Z, 0},
        {"%nctaid.x", SPECIAL_NCTAID_X, 0},
        {"%nctaid.y", SPECIAL_NCTAID_Y, 0},
        {"%nctaid.z", SPECIAL_NCTAID_Z, 0},
        {"%laneid", SPECIAL_LANE, 0},
        {"%warpid", SPECIAL_WARP, 0},
        {"%nwarpid", SPECIAL_WARPS, 0},
        {"%smid", SPECIAL_SM, 0},
        {"%nsmid", SPECIAL_SMS, 0},
        {"%gridid", SPECIAL_GRID, 1},
        {"%lanemask_eq", SPECIAL_LANEMASK_EQ, 0},
        {"%lanemask_le", SPECIAL_LANEMASK_LE, 0},
        {"%lanemask_lt", SPECIAL_LANEMASK_LT, 0},
        {"%lanemask_ge", SPECIAL_LANEMASK_GE, 0},
        {"%lanemask_gt", SPECIAL_LANEMASK_GT, 0},
        {"%clock", SPECIAL_CLOCK, 0},
        {"%clock_hi", SPECIAL_CLOCK_HI, 0},
        {"%clock64", SPECIAL_CLOCK, 1},
        {"%globaltimer", SPECIAL_TIMER, 1},
        {"%globaltimer_lo", SPECIAL_TIMER, 0},
        {"%globaltimer_hi", SPECIAL_TIMER_HI, 0},
        {"%dynamic_smem_size", SPECIAL_DYNAMIC_SHARED, 0},
        {"%total_smem_size", SPECIAL_TOTAL_SHARED, 0},
        {"%aggr_smem_size", SPECIAL_TOTAL_SHARED, 0},
        {"%reserved_smem_offset_begin", SPECIAL_ZERO, 0},
        {"%cluster_ctaid.x", SPECIAL_ZERO, 0},
        {"%cluster_ctaid.y", SPECIAL_ZERO, 0},
        {"%cluster_ctaid.z", SPECIAL_ZERO, 0},
        {"%cluster_nctaid.x", SPECIAL_ONE, 0},
        {"%cluster_nctaid.y", SPECIAL_ONE, 0},
        {"%cluster_nctaid.z", SPECIAL_ONE, 0},
        {"%cluster_ctarank", SPECIAL_ZERO, 0},
        {"%cluster_nctarank", SPECIAL_ONE, 0},
        {"%reserved_smem_offset_end", SPECIAL_ZERO, 0},
        {"%reserved_smem_offset_cap", SPECIAL_ZERO, 0},
        {"%reserved_smem_offset_0", SPECIAL_ZERO, 0},
        {"%reserved_smem_offset_1", SPECIAL_ZERO, 0},
        {"%current_graph_exec", SPECIAL_ZERO, 1},
        {"%clusterid.x", SPECIAL_CTAID_X, 0},
        {"%clusterid.y", SPECIAL_CTAID_Y, 0},
        {"%clusterid.z", SPECIAL_CTAID_Z, 0},
        {"%nclusterid.x", SPECIAL_NCTAID_X, 0},
        {"%nclusterid.y", SPECIAL_NCTAID_Y, 0},
        {"%nclusterid.z", SPECIAL_NCTAID_Z, 0},
    };
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (strcmp(specials[i].name, name) == 0) {
            *kind = specials[i].kind;
            *wide = specials[i].wide;
            return true;
        }
    }
    return false;
}

bool emu_emit_special(decoder *d, const char *name, uint32_t target, bool wide, bool counted) {
    int kind;
    bool natural;
    if (!find_environment(name, &kind) && !find_special(name, &kind, &natural))
        return emu_decode_fail(d, EMU_BAD_PTX, "the special register %.60s is not supported", name);
    emu_op *o = counted ? emu_emit(d, H_special, COUNT_MOVE) : emu_emit_helper(d, H_special);
    if (!o)
        return false;
    o->d = target;
    o->kind = (uint8_t)kind;
    o->flags |= wide ? OP_WIDE_D : 0;
    return true;
}

/* Where a variable of the function lies: *LOCAL if the frame's base has to be added at run time. */
bool emu_variable_address(decoder *d, const ptx_operand *p, uint64_t *address, bool *local) {
    const ptx_variable *v = p->variable;
    *local = false;
    for (int i = 0; i < d->place_count; i++) {
        if (d->place[i].variable != v)
            continue;
        *address = d->place[i].offset + (uint64_t)p->offset;
        *local = v->space == PTX_SPACE_LOCAL;
        if (d->place[i].area)
            *address += AREA_TAG;
        return true;
    }
    return emu_decode_fail(d, EMU_BAD_PTX, "variable %.100s cannot be addressed here", v->name);
}

static bool symbol_address(decoder *d, const ptx_operand *p, uint64_t *address) {
    const emu_symbol *s = emu_module_find(d->kernel->module, p->name, d->text);
    if (s && s->variable && s->variable->space == PTX_SPACE_SHARED) {
        if (!emu_program_shared(d, s->variable, s->name, address))
            return false;
    } else if (!s || !s->address) {
        return emu_decode_fail(d, EMU_BAD_PTX, "%.200s is not defined", p->name);
    } else {
        *address = s->address;
    }
    *address += (uint64_t)p->offset;
    return true;
}

/* A register of 128 bits. */
static bool is_quad(const decoder *d, const ptx_operand *p) {
    return p->kind == PTX_OPERAND_REGISTER && ptx_type_bytes(d->body->register_type[p->reg]) == 16;
}

bool emu_decode_halves(decoder *d, const ptx_operand *p, uint32_t ref[2]) {
    ref[0] = ref[1] = UINT32_MAX;
    if (p->kind == PTX_OPERAND_SINK)
        return true;
    if (!is_quad(d, p))
        return emu_decode_fail(d, EMU_BAD_PTX, "a register of 128 bits expected in %s",
                               d->in->mnemonic);
    ref[0] = emu_decode_register(d, p->reg);
    ref[1] = ref[0] + 8 * WARP;
    return !d->fault->status;
}

/* Reference to a source operand as a value of TYPE (its slot: 32 or 64 bits). */
uint32_t emu_source(decoder *d, const ptx_operand *p, ptx_type type) {
    bool wide = is_wide(type);
    uint64_t address = 0;
    bool local = false;
    switch (p->kind) {
    case PTX_OPERAND_REGISTER: {
        uint32_t ref = emu_decode_register(d, p->reg);
        bool have = is_wide(d->body->register_type[p->reg]);
        if (p->part[0] || p->minus || is_quad(d, p) || d->body->register_type[p->reg] == PTX_PRED) {
            emu_decode_fail(d, EMU_BAD_PTX, "operand form not supported by %s", d->in->mnemonic);
            return ref;
        }
        if (have == wide)
            return ref;
        uint32_t moved = emu_decode_temporary(d, wide);
        emu_op *o = emu_emit_helper(d, wide ? H_extend : H_narrow);
        if (o) {
            o->a = ref;
            o->d = moved;
            o->flags |= is_signed(type) ? OP_SIGNED : 0;
        }
        return moved;
    }
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: {
        uint64_t bits = literal_bits(p, type);
        return emu_decode_constant(d, wide ? bits : (uint32_t)bits, wide);
    }
    case PTX_OPERAND_SPECIAL: {
        if (strcmp(p->name, "WARP_SZ") == 0)
            return emu_decode_constant(d, WARP, wide);
        uint32_t moved = emu_decode_temporary(d, wide);
        emu_emit_special(d, p->name, moved, wide, false);
        return moved;
    }
    case PTX_OPERAND_VARIABLE:
        if (!emu_variable_address(d, p, &address, &local))
            return 1;
        if (local && d->function > 0) {
            uint32_t moved = emu_decode_temporary(d, wide);
            emu_op *o = emu_emit_helper(d, H_local_address);
            if (o) {
                o->d = moved;
                o->immediate = (int64_t)address;
                o->flags |= wide ? OP_WIDE_D : 0;
            }
            return moved;
        }
        return emu_decode_constant(d, wide ? address : (uint32_t)address, wide);
    case PTX_OPERAND_SYMBOL:
        if (!symbol_address(d, p, &address))
            return 1;
        return emu_decode_constant(d, wide ? address : (uint32_t)address, wide);
    case PTX_OPERAND_LABEL:
    case PTX_OPERAND_TARGETS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_SINK:
        break;
    }
    emu_decode_fail(d, EMU_BAD_PTX, "operand form not supported by %s", d->in->mnemonic);
    return 1;
}

uint32_t emu_source_predicate(decoder *d, const ptx_operand *p, emu_op *flags, int flag) {
    if (p->kind == PTX_OPERAND_INTEGER)
        return emu_decode_constant(d, p->value ? UINT32_MAX : 0, false);
    if (p->kind != PTX_OPERAND_REGISTER || d->body->register_type[p->reg] != PTX_PRED) {
        emu_decode_fail(d, EMU_BAD_PTX, "a predicate expected in %s", d->in->mnemonic);
        return 1;
    }
    if (p->negated)
        flags->flags |= (uint16_t)flag;
    return emu_decode_register(d, p->reg);
}

/* Slot of a destination of TYPE. A register of the other width gets a temporary, moved by
 * emu_finish_destination() afterwards. */
uint32_t emu_destination(decoder *d, const ptx_operand *p, ptx_type type) {
    d->moved_from = UINT32_MAX;
    if (p->kind == PTX_OPERAND_SINK)
        return emu_decode_temporary(d, is_wide(type));
    if (p->kind != PTX_OPERAND_REGISTER || is_quad(d, p) ||
        d->body->register_type[p->reg] == PTX_PRED) {
        emu_decode_fail(d, EMU_BAD_PTX, "a register expected as the result of %s", d->in->mnemonic);
        return 0;
    }
    uint32_t ref = emu_decode_register(d, p->reg);
    bool have = is_wide(d->body->register_type[p->reg]), wide = is_wide(type);
    if (have == wide)
        return ref;
    d->moved_from = emu_decode_temporary(d, wide);
    d->moved_to = ref;
    d->moved_signed = is_signed(type);
    return d->moved_from;
}

bool emu_finish_destination(decoder *d, ptx_type type) {
    if (d->moved_from == UINT32_MAX)
        return !d->fault->status;
    emu_op *o = emu_emit_helper(d, is_wide(type) ? H_narrow : H_extend);
    if (!o)
        return false;
    o->a = d->moved_from;
    o->d = d->moved_to;
    o->flags |= d->moved_signed ? OP_SIGNED : 0;
    d->moved_from = UINT32_MAX;
    return !d->fault->status;
}

uint32_t emu_destination_predicate(decoder *d, const ptx_operand *p) {
    if (p->kind == PTX_OPERAND_SINK)
        return UINT32_MAX;
    if (p->kind != PTX_OPERAND_REGISTER || d->body->register_type[p->reg] != PTX_PRED) {
        emu_decode_fail(d, EMU_BAD_PTX, "a predicate expected as the result of %s",
                        d->in->mnemonic);
        return UINT32_MAX;
    }
    return emu_decode_register(d, p->reg);
}

bool emu_need(decoder *d, int least, int most) {
    if (d->in->operand_count >= least && d->in->operand_count <= most)
        return true;
    return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d operands", d->in->mnemonic,
                           d->in->operand_count);
}
