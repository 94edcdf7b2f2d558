/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: loads, stores and atomics of all spaces, kernel parameters. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------
 */

bool emu_decode_address(decoder *d, const ptx_operand *p, emu_place *at) {
    *at = (emu_place){.space = SPACE_GENERIC};
    if (p->kind != PTX_OPERAND_ADDRESS || p->count != 1)
        return emu_decode_unsupported(d);
    ptx_operand base = p->element[0];
    base.offset = 0;
    at->offset = p->offset;
    if (base.kind == PTX_OPERAND_REGISTER) {
        at->wide = is_wide(d->body->register_type[base.reg]);
        at->ref = emu_source(d, &base, at->wide ? PTX_B64 : PTX_B32);
        return !d->fault->status;
    }
    if (base.kind == PTX_OPERAND_INTEGER) {
        at->offset += (int64_t)base.value;
        at->fixed = true;
        at->wide = true;
        at->ref = emu_decode_constant(d, 0, true);
        return !d->fault->status;
    }
    at->wide = true;
    if (base.kind == PTX_OPERAND_VARIABLE) {
        const ptx_variable *v = base.variable;
        at->space = v->space == PTX_SPACE_PARAM    ? EMU_PARAM
                    : v->space == PTX_SPACE_LOCAL  ? EMU_LOCAL
                    : v->space == PTX_SPACE_SHARED ? EMU_SHARED
                    : v->space == PTX_SPACE_CONST  ? EMU_CONSTANT
                                                   : EMU_GLOBAL;
        if (v->space == PTX_SPACE_PARAM)
            at->parameter = v;
    }
    at->ref = emu_source(d, &base, PTX_B64);
    at->fixed = true;
    return !d->fault->status;
}

/* Notes the access for the counts that the machine makes itself: parameters and constants. */
void emu_count_memory(decoder *d, int space, emu_access_op access, unsigned bytes) {
    emu_op_info *i = emu_info(d);
    i->kind = COUNT_MEMORY;
    i->space = (uint8_t)space;
    i->access = (uint8_t)access;
    i->bytes = (uint8_t)bytes;
    i->memory_counted = space == EMU_PARAM || space == EMU_CONSTANT;
}

void emu_number_memory(decoder *d, emu_op *o) {
    o->memory = d->program->memory_count++;
}

/* Registers of a vector or the single register of a load or store. */
static bool decode_elements(decoder *d, const ptx_operand *p, ptx_type *whole, bool loading,
                            uint32_t ref[8], int *count, bool *wide) {
    if (*whole == PTX_B128) { /* moved as two of 64 bits */
        *whole = PTX_B64;
        *count = 2;
        *wide = true;
        return emu_decode_halves(d, p, ref);
    }
    const ptx_type type = *whole;
    const ptx_operand *list = p->kind == PTX_OPERAND_VECTOR ? p->element : p;
    int n = p->kind == PTX_OPERAND_VECTOR ? p->count : 1;
    int said = emu_has(d, "v2") ? 2 : emu_has(d, "v4") ? 4 : emu_has(d, "v8") ? 8 : 1;
    *count = n;
    if (n != said)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d registers", d->in->mnemonic, n);
    if (n < 1 || n > 8 || ptx_type_bytes(type) > 8)
        return emu_decode_unsupported(d);
    /* the registers may be wider than the type; all of them have one width */
    *wide = is_wide(type);
    for (int i = 0; i < n; i++)
        if (list[i].kind == PTX_OPERAND_REGISTER)
            *wide = is_wide(d->body->register_type[list[i].reg]);
    if (is_wide(type) && !*wide)
        return emu_decode_fail(d, EMU_BAD_PTX, "a register too narrow for %s", d->in->mnemonic);
    for (int i = 0; i < n; i++) {
        ptx_type as = *wide ? (is_float(type) ? type : PTX_B64) : type;
        if (loading)
            ref[i] = list[i].kind == PTX_OPERAND_SINK
                         ? UINT32_MAX
                         : emu_destination(d, &list[i], *wide ? PTX_B64 : PTX_B32);
        else
            ref[i] = emu_source(d, &list[i], as);
    }
    return !d->fault->status;
}

static bool is_volatile(const decoder *d) {
    return emu_has(d, "volatile") || emu_has(d, "acquire") || emu_has(d, "relaxed") ||
           emu_has(d, "cv") || emu_has(d, "mmio");
}

/* A kernel's own parameter at a fixed offset, if ADDRESS is one. */
static bool kernel_parameter(const decoder *d, const emu_place *at, uint64_t *offset) {
    if (!at->parameter || d->function != 0)
        return false;
    for (int i = 0; i < d->source->parameter_count; i++) {
        if (&d->source->parameter[i] == at->parameter) {
            *offset = d->kernel->parameter_offset[i] + (uint64_t)at->offset;
            return true;
        }
    }
    return false;
}

static void fill_memory_op(emu_op *o, const emu_place *at, ptx_type type, int count, bool wide) {
    o->a = at->ref;
    o->immediate = at->offset;
    o->bytes = (uint8_t)ptx_type_bytes(type);
    o->vector = (uint8_t)(count > 1 ? count : 0);
    o->flags |= at->wide ? OP_WIDE_ADDRESS : 0;
    o->flags |= wide ? OP_WIDE_D : 0;
    o->flags |= is_signed(type) ? OP_SIGNED : 0;
}

static bool attach_elements(decoder *d, emu_op *o, const uint32_t *ref, int count) {
    o->d = ref[0];
    if (count <= 1)
        return true;
    emu_extra *x = emu_add_extra(d, o, count);
    if (!x)
        return false;
    memcpy(x->ref, ref, (size_t)count * sizeof *ref);
    return true;
}

static bool decode_load_parameter(decoder *d, const ptx_operand *to, ptx_type type, emu_place *at) {
    uint32_t ref[8];
    int count;
    bool wide;
    uint64_t offset;
    if (!decode_elements(d, to, &type, true, ref, &count, &wide))
        return false;
    unsigned bytes = ptx_type_bytes(type);
    if (kernel_parameter(d, at, &offset)) {
        for (int i = 0; i < count; i++) {
            if (ref[i] == UINT32_MAX)
                continue;
            uint64_t from = offset + (uint64_t)i * bytes;
            if (from + bytes > d->kernel->info.parameter_bytes)
                return emu_decode_fail(d, EMU_BAD_PTX, "a parameter is read past its end");
            uint32_t slot = emu_decode_parameter(d, (uint32_t)from, bytes, wide, is_signed(type));
            emu_op *o = emu_emit_helper(d, wide ? H_mov_b64 : H_mov_b32);
            if (!o)
                return false;
            o->d = ref[i];
            o->a = slot;
        }
        if (d->program->op_count)
            emu_count_memory(d, EMU_PARAM, EMU_LOAD, bytes * (unsigned)count);
        return !d->fault->status;
    }
    bool area = at->parameter != NULL || d->function > 0;
    emu_op *o = emu_emit(d, area ? H_load_area : H_load_parameter, COUNT_MEMORY);
    if (!o)
        return false;
    fill_memory_op(o, at, type, count, wide);
    if (area) {
        o->c = d->area_offset;
        o->target = d->area_bytes;
        o->kind = at->parameter ? 0 : 1;
        if (at->parameter) {
            uint64_t address;
            bool local;
            ptx_operand v = {.kind = PTX_OPERAND_VARIABLE, .variable = at->parameter};
            if (!emu_variable_address(d, &v, &address, &local))
                return false;
            o->immediate += (int64_t)address;
        }
        o->immediate -= AREA_TAG;
    }
    emu_count_memory(d, EMU_PARAM, EMU_LOAD, bytes * (unsigned)count);
    return attach_elements(d, &d->program->op[d->program->op_count - 1], ref, count) &&
           !d->fault->status;
}

static int memory_handler(bool loading, int space, ptx_type type, int count, bool wide) {
    unsigned bytes = ptx_type_bytes(type);
    bool plain32 = bytes == 4 && !wide, plain64 = bytes == 8;
    if (space == EMU_GLOBAL && loading)
        return count > 1 ? H_load_global_vector
               : plain32 ? H_load_global_32
               : plain64 ? H_load_global_64
                         : H_load_global_other;
    if (space == EMU_GLOBAL)
        return count > 1 ? H_store_global_vector
               : plain32 ? H_store_global_32
               : plain64 ? H_store_global_64
                         : H_store_global_other;
    if (space == EMU_SHARED && loading)
        return count > 1 ? H_load_shared_vector
               : plain32 ? H_load_shared_32
               : plain64 ? H_load_shared_64
                         : H_load_shared_other;
    if (space == EMU_SHARED)
        return count > 1 ? H_store_shared_vector
               : plain32 ? H_store_shared_32
               : plain64 ? H_store_shared_64
                         : H_store_shared_other;
    if (space == SPACE_GENERIC)
        return loading ? H_load_generic : H_store_generic;
    return loading ? H_load_local : H_store_local; /* and constant: takes the space from the op */
}

static bool decode_access(decoder *d, bool loading) {
    if (!emu_need(d, 2, 3))
        return false;
    ptx_type type = emu_last_type(d);
    const ptx_operand *data = &d->in->operand[loading ? 0 : 1];
    int space = emu_space_of(d);
    emu_place at;
    uint32_t ref[8];
    int count;
    bool wide;
    if (emu_has(d, "async"))
        return loading ? emu_decode_unsupported(d) : emu_decode_store_async(d);
    if (!emu_decode_address(d, &d->in->operand[loading ? 1 : 0], &at))
        return false;
    if (space == SPACE_GENERIC && at.space != SPACE_GENERIC)
        space = at.space;
    if (space == EMU_PARAM && loading)
        return decode_load_parameter(d, data, type, &at);
    if (!decode_elements(d, data, &type, loading, ref, &count, &wide))
        return false;
    unsigned bytes = ptx_type_bytes(type) * (unsigned)count;
    if (bytes > 32)
        return emu_decode_unsupported(d);
    bool area = space == EMU_PARAM;
    emu_op *o = emu_emit(d, area ? H_store_area : memory_handler(loading, space, type, count, wide),
                         COUNT_MEMORY);
    if (!o)
        return false;
    fill_memory_op(o, &at, type, count, wide);
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_GLOBAL : space);
    if (area) {
        uint64_t address = 0;
        bool local;
        ptx_operand v = {.kind = PTX_OPERAND_VARIABLE, .variable = at.parameter};
        if (at.parameter && !emu_variable_address(d, &v, &address, &local))
            return false;
        o->c = d->area_offset;
        o->target = d->area_bytes;
        o->kind = at.parameter ? 0 : 1;
        o->immediate += (int64_t)address - AREA_TAG;
    }
    if (loading && is_volatile(d)) {
        o->flags |= OP_VOLATILE;
        if (space != EMU_SHARED && space != EMU_LOCAL)
            d->program->ordered = true;
    }
    if (emu_has(d, "cg") || emu_has(d, "cv") || emu_has(d, "volatile") || emu_has(d, "acquire") ||
        emu_has(d, "relaxed"))
        o->flags |= OP_L2_ONLY;
    emu_number_memory(d, o);
    emu_count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, loading ? EMU_LOAD : EMU_STORE,
                     bytes);
    return attach_elements(d, o, ref, count) && !d->fault->status;
}

static bool decode_ld(decoder *d) {
    return decode_access(d, true);
}

static bool decode_st(decoder *d) {
    return decode_access(d, false);
}

static int atomic_kind(const decoder *d) {
    static const char *const names[] = {"add", "min", "max", "inc",  "dec",
                                        "and", "or",  "xor", "exch", "cas"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (emu_has(d, names[i]))
            return i;
    return -1;
}

/* atom.exch.b128, atom.cas.b128. */
static bool decode_atomic_128(decoder *d, int kind) {
    const ptx_operand *p = d->in->operand;
    const bool cas = kind == ATOMIC_CAS;
    uint32_t ref[6]; /* halves of the result, of b, of c */
    emu_place at;
    if (strcmp(d->in->opcode, "atom") != 0 || (!cas && kind != ATOMIC_EXCH))
        return emu_decode_unsupported(d);
    if (!emu_need(d, cas ? 4 : 3, 5) || !emu_decode_address(d, &p[1], &at) ||
        !emu_decode_halves(d, &p[0], ref) || !emu_decode_halves(d, &p[2], ref + 2) ||
        !emu_decode_halves(d, &p[cas ? 3 : 2], ref + 4))
        return false;
    int space = emu_space_of(d);
    if (space == SPACE_GENERIC && at.space != SPACE_GENERIC)
        space = at.space;
    emu_op *o = emu_emit(d, H_atomic_128, COUNT_MEMORY);
    emu_extra *x = o ? emu_add_extra(d, o, 6) : NULL;
    if (!x)
        return false;
    memcpy(x->ref, ref, sizeof ref);
    o->a = at.ref;
    o->immediate = at.offset;
    o->bytes = 16;
    o->flags |= at.wide ? OP_WIDE_ADDRESS : 0;
    o->kind = (uint8_t)kind;
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_TEXTURE : space);
    emu_number_memory(d, o);
    emu_count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, EMU_ATOMIC, 16);
    if (space != EMU_SHARED)
        d->program->ordered = true;
    return !d->fault->status;
}

static bool decode_atomic(decoder *d) {
    bool reduction = strcmp(d->in->opcode, "red") == 0;
    ptx_type type = emu_last_type(d);
    int kind = atomic_kind(d), first = reduction ? 0 : 1;
    bool cas = kind == ATOMIC_CAS;
    if (kind >= 0 && reduction && emu_has(d, "async"))
        return emu_decode_store_async(d);
    if (kind < 0 || !emu_need(d, first + (cas ? 3 : 2), first + 4))
        return d->fault->status ? false : emu_decode_unsupported(d);
    if (type == PTX_B128)
        return decode_atomic_128(d, kind);
    if (ptx_type_bytes(type) < 2)
        return emu_decode_unsupported(d);
    static const uint8_t format[PTX_TYPES] = {[PTX_F32] = 1,   [PTX_F64] = 2,  [PTX_F16] = 3,
                                              [PTX_F16X2] = 4, [PTX_BF16] = 5, [PTX_BF16X2] = 6};
    emu_place at;
    if (!emu_decode_address(d, &d->in->operand[first], &at))
        return false;
    int space = emu_space_of(d);
    if (space == SPACE_GENERIC && at.space != SPACE_GENERIC)
        space = at.space;
    const ptx_operand *data = &d->in->operand[first + 1];
    uint32_t ref[16];
    int count = 1, targets = 0;
    bool wide;
    if (!decode_elements(d, data, &type, false, ref + 8, &count, &wide))
        return false;
    uint32_t c = cas ? emu_source(d, &d->in->operand[first + 2], type) : 0;
    if (reduction) {
        for (int i = 0; i < count; i++)
            ref[i] = UINT32_MAX;
    } else {
        bool wide_target;
        if (d->in->operand[0].kind == PTX_OPERAND_SINK)
            for (int i = 0; i < count; i++)
                ref[i] = UINT32_MAX;
        else if (!decode_elements(d, &d->in->operand[0], &type, true, ref, &targets, &wide_target))
            return false;
    }
    emu_op *o = emu_emit(d, H_atomic, COUNT_MEMORY);
    if (!o)
        return false;
    fill_memory_op(o, &at, type, count, wide);
    o->kind = (uint8_t)kind;
    o->combine = format[type];
    o->d = ref[0];
    o->b = ref[8];
    o->c = c;
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_TEXTURE : space);
    emu_number_memory(d, o);
    emu_count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, EMU_ATOMIC,
                     ptx_type_bytes(type) * (unsigned)count);
    if (count > 1) {
        emu_extra *x = emu_add_extra(d, o, 2 * count);
        if (!x)
            return false;
        memcpy(x->ref, ref, (size_t)count * sizeof *ref);
        memcpy(x->ref + count, ref + 8, (size_t)count * sizeof *ref);
    }
    bool used = !reduction && d->in->operand[0].kind == PTX_OPERAND_REGISTER &&
                emu_decode_is_read(d, d->in->operand[0].reg);
    if (space != EMU_SHARED && (used || is_float(type) || kind >= ATOMIC_EXCH))
        d->program->ordered = true;
    return !d->fault->status;
}

static bool decode_prefetch(decoder *d) {
    emu_has(d, "L1");
    emu_has(d, "L2");
    emu_space_of(d);
    return emu_emit(d, H_prefetch, COUNT_CONTROL) != NULL;
}

const emu_instruction emu_memory_instructions[] = {
    {"applypriority", decode_prefetch},
    {"atom", decode_atomic},
    {"discard", decode_prefetch},
    {"ld", decode_ld},
    {"ldu", decode_ld},
    {"prefetch", decode_prefetch},
    {"prefetchu", decode_prefetch},
    {"red", decode_atomic},
    {"st", decode_st},
    {NULL, NULL},
};
