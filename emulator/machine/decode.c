/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX instructions to ops: finds the handler, gives registers their places in the frame and
 * literals theirs in the constant pool, and notes what each op counts as. An instruction that the
 * machine does not have fails the kernel that holds it, by name and line. */
#include "emulator/machine/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_LIMIT = 1 << 28, AREA_TAG = 1 << 20 };

/* ---- errors and memory -------------------------------------------------------------------------
 */

bool emu_decode_fail(decoder *d, emu_status status, const char *format, ...) {
    if (d->fault->status)
        return false;
    char what[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    int line = d->in ? d->in->line : d->source->line;
    emu_fail(d->fault, status, "kernel %.200s: line %d of its PTX: %s", d->kernel->info.name, line,
             what);
    snprintf(d->fault->kernel, sizeof d->fault->kernel, "%s", d->kernel->info.name);
    d->fault->ptx_line = line;
    return false;
}

static bool no_memory(decoder *d) {
    return emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
}

static bool unsupported(decoder *d) {
    return emu_decode_fail(d, EMU_BAD_PTX, "the emulated device does not have the instruction %s",
                           d->in->mnemonic);
}

/* Grows ARRAY to hold one more element. */
static bool grow(void *array, int count, int *capacity, size_t element) {
    void **place = array;
    if (count < *capacity)
        return true;
    int larger = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(*place, (size_t)larger * element);
    if (!grown)
        return false;
    *place = grown;
    *capacity = larger;
    return true;
}

/* ---- slots and constants -----------------------------------------------------------------------
 */

static bool is_wide(ptx_type type) {
    return ptx_type_bytes(type) == 8;
}

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
    else if (ptx_type_bytes(type) > 8)
        emu_decode_fail(d, EMU_BAD_PTX, "registers of 128 bits are not supported");
    else
        d->slot[reg] = emu_decode_temporary(d, is_wide(type));
    return d->slot[reg];
}

uint32_t emu_decode_constant(decoder *d, uint64_t value, bool wide) {
    emu_program *p = d->program;
    for (int i = p->constant_count - 1, n = 0; i >= 0 && n < 512; i--, n++)
        if (p->constant[i].value == value && p->constant[i].wide == wide)
            return p->constant[i].offset | 1;
    if (!grow(&p->constant, p->constant_count, &p->constant_capacity, sizeof *p->constant)) {
        no_memory(d);
        return 1;
    }
    emu_constant *c = &p->constant[p->constant_count++];
    *c = (emu_constant){.offset = p->pool_bytes, .wide = wide, .value = value};
    p->pool_bytes += (wide ? 8 : 4) * WARP;
    return c->offset | 1;
}

/* A kernel parameter read at a fixed place: a constant that each launch fills in. */
static uint32_t parameter_slot(decoder *d, uint32_t from, unsigned bytes, bool wide, bool sign) {
    emu_program *p = d->program;
    for (int i = 0; i < p->slot_count; i++) {
        const emu_parameter_slot *s = &p->slot[i];
        if (s->from == from && s->bytes == bytes && s->wide == wide && s->sign == sign)
            return s->offset | 1;
    }
    if (!grow(&p->slot, p->slot_count, &p->slot_capacity, sizeof *p->slot)) {
        no_memory(d);
        return 1;
    }
    emu_parameter_slot *s = &p->slot[p->slot_count++];
    *s = (emu_parameter_slot){
        .offset = p->pool_bytes, .from = from, .bytes = (uint8_t)bytes, .wide = wide, .sign = sign};
    p->pool_bytes += (wide ? 8 : 4) * WARP;
    return s->offset | 1;
}

/* ---- emitting ----------------------------------------------------------------------------------
 */

static emu_op *add_op(decoder *d, int handler) {
    emu_program *p = d->program;
    if (p->op_count == p->op_capacity) {
        uint32_t capacity = p->op_capacity ? p->op_capacity * 2 : 256;
        emu_op *op = realloc(p->op, capacity * sizeof *op);
        if (op)
            p->op = op;
        emu_op_info *info = realloc(p->info, capacity * sizeof *info);
        if (info)
            p->info = info;
        if (!op || !info) {
            no_memory(d);
            return NULL;
        }
        p->op_capacity = capacity;
    }
    emu_op *o = &p->op[p->op_count];
    *o = (emu_op){.run = d->device->handlers[handler],
                  .d = UINT32_MAX,
                  .second = UINT32_MAX,
                  .line = (uint32_t)d->in->line};
    p->info[p->op_count] = (emu_op_info){.kind = COUNT_HELPER, .mnemonic = d->in->mnemonic};
    p->op_count++;
    if (d->in->guard >= 0) {
        o->guard = emu_decode_register(d, d->in->guard) + 1;
        o->guard_negated = d->in->guard_negated;
    }
    return o;
}

/* A step that an instruction needs and that does not count. */
static emu_op *emit_helper(decoder *d, int handler) {
    return add_op(d, handler);
}

/* The op of the instruction itself. Operands must have been prepared before: preparing may emit
 * helpers, and the op must come after them. */
static emu_op *emit(decoder *d, int handler, emu_count_kind kind) {
    emu_op *o = add_op(d, handler);
    if (o)
        d->program->info[d->program->op_count - 1].kind = kind;
    return o;
}

static emu_op_info *info_of(decoder *d) {
    return &d->program->info[d->program->op_count - 1];
}

static emu_extra *add_extra(decoder *d, emu_op *o, int count) {
    emu_program *p = d->program;
    emu_extra *x = calloc(1, sizeof *x);
    uint32_t *ref = calloc((size_t)count + 1, sizeof *ref);
    if (!x || !ref || !grow(&p->extra, p->extra_count, &p->extra_capacity, sizeof(*p->extra))) {
        free(x);
        free(ref);
        no_memory(d);
        return NULL;
    }
    x->ref = ref;
    x->count = count;
    x->function = -1;
    p->extra[p->extra_count++] = x;
    o->extra = x;
    return x;
}

/* ---- modifiers ---------------------------------------------------------------------------------
 */

static bool has(const decoder *d, const char *modifier) {
    for (int i = 0; i < d->in->modifier_count; i++)
        if (strcmp(d->in->modifier[i], modifier) == 0)
            return true;
    return false;
}

static bool starts(const decoder *d, const char *prefix) {
    for (int i = 0; i < d->in->modifier_count; i++)
        if (strncmp(d->in->modifier[i], prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static ptx_type type_at(const decoder *d, int index) {
    for (int i = 0; i < d->in->modifier_count; i++) {
        ptx_type t = ptx_type_named(d->in->modifier[i], strlen(d->in->modifier[i]));
        if (t != PTX_NONE && index-- == 0)
            return t;
    }
    return PTX_NONE;
}

static ptx_type last_type(const decoder *d) {
    for (int i = d->in->modifier_count - 1; i >= 0; i--) {
        ptx_type t = ptx_type_named(d->in->modifier[i], strlen(d->in->modifier[i]));
        if (t != PTX_NONE)
            return t;
    }
    return PTX_NONE;
}

static bool is_float(ptx_type t) {
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2 || t == PTX_F32 ||
           t == PTX_F64 || t == PTX_TF32;
}

static bool is_signed(ptx_type t) {
    return t >= PTX_S8 && t <= PTX_S64;
}

static lane_rounding_code rounding_of(const decoder *d) {
    if (has(d, "rz") || has(d, "rzi"))
        return ROUNDING_ZERO;
    if (has(d, "rm") || has(d, "rmi"))
        return ROUNDING_DOWN;
    if (has(d, "rp") || has(d, "rpi"))
        return ROUNDING_UP;
    if (has(d, "rna"))
        return ROUNDING_AWAY;
    return ROUNDING_NEAREST;
}

/* Control word of the host's floating-point unit for the instruction's rounding and .ftz; 0 if it
 * is the ordinary one. */
static uint32_t control_word(const decoder *d) {
    static const uint32_t rounding[] = {[ROUNDING_NEAREST] = 0,
                                        [ROUNDING_DOWN] = 0x2000,
                                        [ROUNDING_UP] = 0x4000,
                                        [ROUNDING_ZERO] = 0x6000,
                                        [ROUNDING_AWAY] = 0};
    uint32_t word = rounding[rounding_of(d)];
    if (has(d, "ftz"))
        word |= 0x8040;
    return word ? word | 0x1f80 : 0;
}

static void apply_control_word(decoder *d, emu_op *o, uint32_t word) {
    if (!word)
        return;
    o->inner = o->run;
    o->run = d->device->handlers[H_rounded];
    o->csr = word;
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

static bool emit_special(decoder *d, const char *name, uint32_t target, bool wide, bool counted) {
    int kind;
    bool natural;
    if (!find_environment(name, &kind) && !find_special(name, &kind, &natural))
        return emu_decode_fail(d, EMU_BAD_PTX, "the special register %.60s is not supported", name);
    emu_op *o = counted ? emit(d, H_special, COUNT_MOVE) : emit_helper(d, H_special);
    if (!o)
        return false;
    o->d = target;
    o->kind = (uint8_t)kind;
    o->flags |= wide ? OP_WIDE_D : 0;
    return true;
}

/* Where a variable of the function lies: *LOCAL if the frame's base has to be added at run time. */
static bool variable_address(decoder *d, const ptx_operand *p, uint64_t *address, bool *local) {
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

static bool shared_symbol(decoder *d, const ptx_variable *v, const char *name, uint64_t *address);

static bool symbol_address(decoder *d, const ptx_operand *p, uint64_t *address) {
    const emu_symbol *s = emu_module_find(d->kernel->module, p->name, d->text);
    if (s && s->variable && s->variable->space == PTX_SPACE_SHARED) {
        if (!shared_symbol(d, s->variable, s->name, address))
            return false;
    } else if (!s || !s->address) {
        return emu_decode_fail(d, EMU_BAD_PTX, "%.200s is not defined", p->name);
    } else {
        *address = s->address;
    }
    *address += (uint64_t)p->offset;
    return true;
}

/* Reference to a source operand as a value of TYPE (its slot: 32 or 64 bits). */
static uint32_t source(decoder *d, const ptx_operand *p, ptx_type type) {
    bool wide = is_wide(type);
    uint64_t address = 0;
    bool local = false;
    switch (p->kind) {
    case PTX_OPERAND_REGISTER: {
        uint32_t ref = emu_decode_register(d, p->reg);
        bool have = is_wide(d->body->register_type[p->reg]);
        if (p->part[0] || p->minus || d->body->register_type[p->reg] == PTX_PRED) {
            emu_decode_fail(d, EMU_BAD_PTX, "operand form not supported by %s", d->in->mnemonic);
            return ref;
        }
        if (have == wide)
            return ref;
        uint32_t moved = emu_decode_temporary(d, wide);
        emu_op *o = emit_helper(d, wide ? H_extend : H_narrow);
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
        emit_special(d, p->name, moved, wide, false);
        return moved;
    }
    case PTX_OPERAND_VARIABLE:
        if (!variable_address(d, p, &address, &local))
            return 1;
        if (local && d->function > 0) {
            uint32_t moved = emu_decode_temporary(d, wide);
            emu_op *o = emit_helper(d, H_local_address);
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

static uint32_t source_predicate(decoder *d, const ptx_operand *p, emu_op *flags, int flag) {
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
 * finish_destination() afterwards. */
static uint32_t destination(decoder *d, const ptx_operand *p, ptx_type type) {
    d->moved_from = UINT32_MAX;
    if (p->kind == PTX_OPERAND_SINK)
        return emu_decode_temporary(d, is_wide(type));
    if (p->kind != PTX_OPERAND_REGISTER || d->body->register_type[p->reg] == PTX_PRED) {
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

static bool finish_destination(decoder *d, ptx_type type) {
    if (d->moved_from == UINT32_MAX)
        return !d->fault->status;
    emu_op *o = emit_helper(d, is_wide(type) ? H_narrow : H_extend);
    if (!o)
        return false;
    o->a = d->moved_from;
    o->d = d->moved_to;
    o->flags |= d->moved_signed ? OP_SIGNED : 0;
    d->moved_from = UINT32_MAX;
    return !d->fault->status;
}

static uint32_t destination_predicate(decoder *d, const ptx_operand *p) {
    if (p->kind == PTX_OPERAND_SINK)
        return UINT32_MAX;
    if (p->kind != PTX_OPERAND_REGISTER || d->body->register_type[p->reg] != PTX_PRED) {
        emu_decode_fail(d, EMU_BAD_PTX, "a predicate expected as the result of %s",
                        d->in->mnemonic);
        return UINT32_MAX;
    }
    return emu_decode_register(d, p->reg);
}

static bool need(decoder *d, int least, int most) {
    if (d->in->operand_count >= least && d->in->operand_count <= most)
        return true;
    return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d operands", d->in->mnemonic,
                           d->in->operand_count);
}

/* ---- counting ----------------------------------------------------------------------------------
 */

static int precision_of(ptx_type t) {
    switch (t) {
    case PTX_F64:
        return EMU_FP64;
    case PTX_F16:
    case PTX_F16X2:
        return EMU_FP16;
    case PTX_BF16:
    case PTX_BF16X2:
        return EMU_BF16;
    default:
        return EMU_FP32;
    }
}

static void count_float(decoder *d, ptx_type type, emu_op_class op_class) {
    emu_op_info *i = info_of(d);
    i->kind = COUNT_FP;
    i->precision = (uint8_t)precision_of(type);
    i->op_class = (uint8_t)op_class;
    i->packed = type == PTX_F16X2 || type == PTX_BF16X2;
    emu_flops(i, d->in);
}

/* ---- lane-by-lane operations -------------------------------------------------------------------
 */

static const emu_operation *find_operation(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static const emu_operation *find_operation(const char *format, ...) {
    char name[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return emu_operation_find(name);
}

/* Binds D and the sources of OPERATION from operand 0 and those from FIRST on. */
static bool bind_operation(decoder *d, const emu_operation *op, int first, emu_count_kind kind) {
    const ptx_instruction *in = d->in;
    if (!op)
        return unsupported(d);
    if (!need(d, first + op->sources, first + op->sources))
        return false;
    uint32_t ref[4] = {0};
    for (int i = 0; i < op->sources; i++)
        ref[i] = source(d, &in->operand[first + i], op->source[i]);
    uint32_t to = op->d == PTX_PRED ? destination_predicate(d, &in->operand[0])
                                    : destination(d, &in->operand[0], op->d);
    emu_op *o = emit(d, op->handler, kind);
    if (!o)
        return false;
    o->d = to;
    o->a = ref[0];
    o->b = ref[1];
    o->c = ref[2];
    o->e = ref[3];
    d->last = o;
    return !d->fault->status;
}

/* Finishes an operation whose op was bound: width of the result. */
static bool finish(decoder *d, const emu_operation *op) {
    return op->d == PTX_PRED ? !d->fault->status : finish_destination(d, op->d);
}

static int width_of(ptx_type t) {
    return 8 * (int)ptx_type_bytes(t);
}

/* .ftz on an operation that selects and does not calculate: the host flushes nothing there. */
static bool flush_result(decoder *d) {
    uint32_t place = d->last->d;
    emu_op *o = emit_helper(d, H_flush_f32);
    if (!o)
        return false;
    o->d = o->a = place;
    return finish_destination(d, PTX_F32);
}

static bool decode_float(decoder *d, const char *base, ptx_type type, emu_op_class op_class) {
    const char *sat = has(d, "sat") ? "_sat" : has(d, "relu") ? "_relu" : "";
    const emu_operation *op = find_operation("%s%s_%s", base, sat, ptx_type_name(type));
    if (!bind_operation(d, op, 1, COUNT_FP))
        return false;
    count_float(d, type, op_class);
    /* bf16 has the exponents of f32, which it is calculated in: subnormals are flushed the same way
     */
    if (type != PTX_F16 && type != PTX_F16X2)
        apply_control_word(d, d->last, control_word(d));
    else if (has(d, "ftz"))
        return unsupported(d);
    if (type == PTX_F32 && has(d, "ftz") && op_class == EMU_OP_FP_OTHER)
        return flush_result(d);
    return finish(d, op);
}

static bool decode_add(decoder *d) {
    ptx_type t = last_type(d);
    const char *name = d->in->opcode;
    if (is_float(t))
        return decode_float(d, name, t, EMU_OP_ADD);
    if (has(d, "cc"))
        return emu_decode_carry(d);
    const emu_operation *op;
    if (has(d, "sat"))
        op = find_operation("%s_sat_%s", name, ptx_type_name(t));
    else if (t == PTX_U16X2 || t == PTX_S16X2)
        op = find_operation("%s_%s", name, ptx_type_name(t));
    else
        op = find_operation("%s_b%d", name, width_of(t));
    return bind_operation(d, op, 1, COUNT_INTEGER) && finish(d, op);
}

static bool decode_mul(decoder *d) {
    ptx_type t = last_type(d);
    const char *name = d->in->opcode;
    if (is_float(t)) {
        bool mul = strcmp(name, "mul") == 0;
        return decode_float(d, mul ? "mul" : "fma", t, mul ? EMU_OP_MUL : EMU_OP_FMA);
    }
    if (has(d, "cc") || strcmp(name, "madc") == 0)
        return emu_decode_carry(d);
    const emu_operation *op;
    if (has(d, "lo"))
        op = find_operation("%s_lo_b%d", name, width_of(t));
    else if (has(d, "sat"))
        op = find_operation("%s_hi_sat_%s", name, ptx_type_name(t));
    else
        op = find_operation("%s_%s_%s", name, has(d, "wide") ? "wide" : "hi", ptx_type_name(t));
    return bind_operation(d, op, 1, COUNT_INTEGER) && finish(d, op);
}

static bool decode_fma(decoder *d) {
    return decode_float(d, "fma", last_type(d), EMU_OP_FMA);
}

static bool decode_mul24(decoder *d) {
    const emu_operation *op = find_operation("%s_%s_%s", d->in->opcode, has(d, "hi") ? "hi" : "lo",
                                             ptx_type_name(last_type(d)));
    return bind_operation(d, op, 1, COUNT_INTEGER) && finish(d, op);
}

/* One name, one type, sign mattering: rem, sad, szext, bfind ... */
static bool decode_typed(decoder *d) {
    const emu_operation *op =
        find_operation("%s%s_%s", d->in->opcode, has(d, "shiftamt") ? "_shiftamt" : "",
                       ptx_type_name(last_type(d)));
    return bind_operation(d, op, 1, COUNT_INTEGER) && finish(d, op);
}

static bool decode_div(decoder *d) {
    ptx_type t = last_type(d);
    if (!is_float(t))
        return decode_typed(d);
    return decode_float(d, "div", t, EMU_OP_DIV);
}

static bool decode_min_max(decoder *d) {
    ptx_type t = last_type(d);
    if (is_float(t)) {
        char base[48];
        snprintf(base, sizeof base, "%s%s%s%s", d->in->opcode, d->in->operand_count == 4 ? "3" : "",
                 has(d, "NaN") ? "_nan" : "", has(d, "xorsign") ? "_xorsign" : "");
        return decode_float(d, base, t, EMU_OP_FP_OTHER);
    }
    return has(d, "relu") ? unsupported(d) : decode_typed(d);
}

static bool decode_abs_neg(decoder *d) {
    ptx_type t = last_type(d);
    return is_float(t) ? decode_float(d, d->in->opcode, t, EMU_OP_FP_OTHER) : decode_typed(d);
}

static bool decode_special_function(decoder *d) {
    ptx_type t = last_type(d);
    emu_op_class c = strcmp(d->in->opcode, "sqrt") == 0  ? EMU_OP_SQRT
                     : strcmp(d->in->opcode, "rcp") == 0 ? EMU_OP_RCP
                                                         : EMU_OP_SPECIAL;
    return decode_float(d, d->in->opcode, t, c);
}

static bool decode_copysign(decoder *d) {
    return decode_float(d, "copysign", last_type(d), EMU_OP_FP_OTHER);
}

/* Bit operations whose sign does not matter; predicates have handlers of their own. */
static bool decode_logic(decoder *d) {
    ptx_type t = last_type(d);
    const char *name = d->in->opcode;
    if (t != PTX_PRED) {
        const emu_operation *op = find_operation("%s_b%d", name, width_of(t));
        return bind_operation(d, op, 1, COUNT_BIT) && finish(d, op);
    }
    bool one = strcmp(name, "not") == 0;
    int handler = one                        ? H_not_pred
                  : strcmp(name, "and") == 0 ? H_and_pred
                  : strcmp(name, "or") == 0  ? H_or_pred
                                             : H_xor_pred;
    if (!need(d, one ? 2 : 3, one ? 2 : 3))
        return false;
    emu_op flags = {0};
    uint32_t to = destination_predicate(d, &d->in->operand[0]);
    uint32_t a = source_predicate(d, &d->in->operand[1], &flags, OP_NEGATE_A);
    uint32_t b = one ? a : source_predicate(d, &d->in->operand[2], &flags, OP_NEGATE_B);
    emu_op *o = emit(d, handler, COUNT_BIT);
    if (!o || to == UINT32_MAX)
        return o && to == UINT32_MAX ? !d->fault->status : false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->flags |= flags.flags;
    return !d->fault->status;
}

static bool decode_shift_right(decoder *d) {
    ptx_type t = last_type(d);
    const emu_operation *op = find_operation("shr_%c%d", is_signed(t) ? 's' : 'u', width_of(t));
    return bind_operation(d, op, 1, COUNT_BIT) && finish(d, op);
}

static bool decode_bits_typed(decoder *d) {
    if (!decode_typed(d))
        return false;
    info_of(d)->kind = COUNT_BIT;
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
    return bind_operation(d, op, 1, COUNT_BIT) && finish(d, op);
}

static bool decode_dot(decoder *d) {
    if (!decode_joined(d))
        return false;
    info_of(d)->kind = COUNT_INTEGER;
    return true;
}

static bool decode_lop3(decoder *d) {
    if (has(d, "and") || has(d, "or") || !need(d, 5, 5))
        return unsupported(d);
    const ptx_operand *table = &d->in->operand[4];
    if (table->kind != PTX_OPERAND_INTEGER)
        return unsupported(d);
    ptx_instruction shorter = *d->in;
    const ptx_instruction *whole = d->in;
    shorter.operand_count = 4;
    d->in = &shorter;
    const emu_operation *op = find_operation("lop3_b32");
    bool done = bind_operation(d, op, 1, COUNT_BIT);
    if (done)
        d->last->immediate = (int64_t)table->value;
    done = done && finish(d, op);
    if (done) /* the op must not point at the copy */
        info_of(d)->mnemonic = whole->mnemonic;
    d->in = whole;
    return done;
}

/* ---- mov, selp, setp, set ----------------------------------------------------------------------
 */

static bool decode_pack(decoder *d, bool packing) {
    const ptx_operand *vector = &d->in->operand[packing ? 1 : 0];
    const ptx_operand *whole = &d->in->operand[packing ? 0 : 1];
    ptx_type type = last_type(d);
    int n = vector->count;
    unsigned bytes = n > 0 ? ptx_type_bytes(type) / (unsigned)n : 0;
    if (n < 2 || n > 8 || bytes == 0 || bytes * (unsigned)n != ptx_type_bytes(type) ||
        ptx_type_bytes(type) > 8)
        return unsupported(d);
    ptx_type part = bytes == 4 ? PTX_B32 : bytes == 2 ? PTX_B16 : PTX_B8;
    uint32_t ref[8];
    for (int i = 0; i < n; i++) {
        const ptx_operand *e = &vector->element[i];
        if (packing)
            ref[i] = source(d, e, part);
        else if (e->kind == PTX_OPERAND_SINK)
            ref[i] = UINT32_MAX;
        else
            ref[i] = destination(d, e, part);
    }
    uint32_t other = packing ? destination(d, whole, type) : source(d, whole, type);
    emu_op *o = emit(d, packing ? H_pack : H_unpack, COUNT_MOVE);
    emu_extra *x = o ? add_extra(d, o, n) : NULL;
    if (!x)
        return false;
    memcpy(x->ref, ref, (size_t)n * sizeof *ref);
    o->bytes = (uint8_t)bytes;
    if (packing) {
        o->d = other;
        o->flags |= is_wide(type) ? OP_WIDE_D : 0;
        return finish_destination(d, type);
    }
    o->a = other;
    o->flags |= is_wide(type) ? OP_WIDE_ADDRESS : 0;
    return !d->fault->status;
}

static bool decode_mov(decoder *d) {
    if (!need(d, 2, 2))
        return false;
    const ptx_operand *to = &d->in->operand[0], *from = &d->in->operand[1];
    ptx_type t = last_type(d);
    if (from->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_VECTOR)
        return decode_pack(d, from->kind == PTX_OPERAND_VECTOR);
    if (t == PTX_PRED) {
        emu_op flags = {0};
        uint32_t target = destination_predicate(d, to);
        uint32_t a = source_predicate(d, from, &flags, OP_NEGATE_A);
        emu_op *o = emit(d, H_mov_pred, COUNT_MOVE);
        if (!o || target == UINT32_MAX)
            return false;
        o->d = target;
        o->a = a;
        o->flags |= flags.flags;
        return !d->fault->status;
    }
    if (from->kind == PTX_OPERAND_SPECIAL && strcmp(from->name, "WARP_SZ") != 0)
        return emit_special(d, from->name, destination(d, to, t), is_wide(t), true) &&
               finish_destination(d, t);
    const emu_operation *op = find_operation("mov_b%d", width_of(t) < 16 ? 16 : width_of(t));
    return bind_operation(d, op, 1, COUNT_MOVE) && finish(d, op);
}

static bool decode_selp(decoder *d) {
    ptx_type t = last_type(d);
    if (!need(d, 4, 4) || ptx_type_bytes(t) > 8)
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = source(d, &p[1], t), b = source(d, &p[2], t);
    uint32_t c = source_predicate(d, &p[3], &flags, OP_NEGATE_C);
    uint32_t to = destination(d, &p[0], t);
    emu_op *o = emit(d, is_wide(t) ? H_selp_64 : H_selp_32, COUNT_MOVE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->flags |= flags.flags;
    if (is_float(t))
        count_float(d, t, EMU_OP_FP_OTHER);
    return finish_destination(d, t);
}

static bool decode_slct(decoder *d) {
    ptx_type t = type_at(d, 0), by = type_at(d, 1);
    if (!need(d, 4, 4) || (by != PTX_S32 && by != PTX_F32) || ptx_type_bytes(t) > 8)
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = source(d, &p[1], t), b = source(d, &p[2], t), c = source(d, &p[3], by);
    uint32_t to = destination(d, &p[0], t);
    int handler = by == PTX_S32 ? (is_wide(t) ? H_slct_64 : H_slct_32)
                                : (is_wide(t) ? H_slct_f32_64 : H_slct_f32_32);
    emu_op *o = emit(d, handler, COUNT_MOVE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    apply_control_word(d, o, control_word(d));
    return finish_destination(d, t);
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
        return find_operation("setp_%s_b%d", compare, width_of(type));
    return find_operation("setp_%s_%s%s", compare, ptx_type_name(type), suffix);
}

static emu_combine combine_of(const decoder *d) {
    return has(d, "and")   ? COMBINE_AND
           : has(d, "or")  ? COMBINE_OR
           : has(d, "xor") ? COMBINE_XOR
                           : COMBINE_NONE;
}

static void count_comparison(decoder *d, ptx_type type) {
    if (is_float(type))
        count_float(d, type, EMU_OP_FP_OTHER);
}

static bool decode_setp(decoder *d) {
    ptx_type t = last_type(d);
    emu_combine combine = combine_of(d);
    int n = combine == COMBINE_NONE ? 3 : 4;
    const emu_operation *op = find_comparison(d, t, "");
    if (!op || (has(d, "ftz") && t != PTX_F32))
        return unsupported(d);
    if (!need(d, n, n))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = source(d, &p[1], op->source[0]), b = source(d, &p[2], op->source[1]);
    uint32_t c = combine != COMBINE_NONE ? source_predicate(d, &p[3], &flags, OP_NEGATE_C) : 0;
    uint32_t to = destination_predicate(d, &p[0]);
    uint32_t second = p[0].second ? destination_predicate(d, p[0].second) : UINT32_MAX;
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    emu_op *o = emit(d, pair ? H_setp_x2 : op->handler, COUNT_INTEGER);
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
        apply_control_word(d, o, control_word(d));
    }
    count_comparison(d, t);
    return !d->fault->status;
}

static bool decode_set(decoder *d) {
    ptx_type to_type = type_at(d, 0), t = type_at(d, 1);
    emu_combine combine = combine_of(d);
    int n = combine == COMBINE_NONE ? 3 : 4;
    const emu_operation *op = t == PTX_NONE ? NULL : find_comparison(d, t, "");
    if (!op)
        return unsupported(d);
    if (!need(d, n, n))
        return false;
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    int handler = pair                  ? (to_type == PTX_F16X2    ? H_set_f16x2
                                           : to_type == PTX_BF16X2 ? H_set_bf16x2
                                                                   : H_set_mask_x2)
                  : to_type == PTX_F32  ? H_set_f32
                  : to_type == PTX_F16  ? H_set_f16
                  : to_type == PTX_BF16 ? H_set_bf16
                                        : H_set_32;
    if (has(d, "ftz"))
        return unsupported(d);
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = source(d, &p[1], op->source[0]), b = source(d, &p[2], op->source[1]);
    uint32_t c = combine != COMBINE_NONE ? source_predicate(d, &p[3], &flags, OP_NEGATE_C) : 0;
    uint32_t to = destination(d, &p[0], PTX_B32);
    emu_op *o = emit(d, handler, COUNT_INTEGER);
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
    return finish_destination(d, PTX_B32);
}

static bool decode_testp(decoder *d) {
    const emu_operation *op =
        find_operation("testp_%s_%s", d->in->modifier_count ? d->in->modifier[0] : "",
                       ptx_type_name(last_type(d)));
    if (!bind_operation(d, op, 1, COUNT_FP))
        return false;
    count_float(d, last_type(d), EMU_OP_FP_OTHER);
    return finish(d, op);
}

/* ---- cvt, cvta, isspacep -----------------------------------------------------------------------
 */

static bool decode_cvt_packed(decoder *d, ptx_type to, ptx_type from) {
    lane_rounding_code rounding = rounding_of(d);
    const char *relu = has(d, "relu") ? "_relu" : "";
    const emu_operation *op;
    bool plain = (rounding == ROUNDING_NEAREST && !has(d, "satfinite")) || to == PTX_E4M3X2 ||
                 to == PTX_E5M2X2 || to == PTX_TF32 || from != PTX_F32;
    op = find_operation("cvt%s%s_%s_%s", plain ? "" : "_rounded", relu, ptx_type_name(to),
                        ptx_type_name(from));
    if (!bind_operation(d, op, 1, COUNT_CONVERSION))
        return false;
    d->last->kind = (uint8_t)rounding;
    d->last->immediate = has(d, "satfinite");
    return finish(d, op);
}

static const char *integer_rounding(const decoder *d) {
    static const char *const names[] = {"rni", "rzi", "rmi", "rpi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has(d, names[i]))
            return names[i];
    return NULL;
}

static bool decode_cvt(decoder *d) {
    ptx_type to = type_at(d, 0), from = type_at(d, 1);
    if (to == PTX_NONE || from == PTX_NONE)
        return unsupported(d);
    if (to == PTX_F16X2 || to == PTX_BF16X2 || to == PTX_E4M3X2 || to == PTX_E5M2X2 ||
        to == PTX_TF32)
        return decode_cvt_packed(d, to, from);
    if ((to == PTX_F16 || to == PTX_BF16) && from == PTX_F32 && !has(d, "sat") &&
        !integer_rounding(d))
        return decode_cvt_packed(d, to, from);
    if (has(d, "sat") && (to == PTX_F16 || to == PTX_BF16) && rounding_of(d) != ROUNDING_NEAREST)
        return unsupported(d);
    const char *whole = integer_rounding(d), *sat = has(d, "sat") ? "_sat" : "";
    const char *t = ptx_type_name(to), *f = ptx_type_name(from);
    const emu_operation *op = NULL;
    uint32_t word = control_word(d);
    if (!is_float(to) && !is_float(from)) {
        op = find_operation("cvt%s_%s_%s", to == from ? "" : sat, t, f);
    } else if (!is_float(to)) {
        op = find_operation("cvt_%s_%s_%s", whole ? whole : "rzi", t, f);
        word &= 0x9fff; /* the operation rounds itself; .ftz stays */
        word = word == 0x1f80 ? 0 : word;
    } else if (whole && to == from) {
        op = find_operation("cvt_%s%s_%s_%s", whole, sat, t, f);
        word &= 0x9fff;
        word = word == 0x1f80 ? 0 : word;
    } else {
        op = find_operation("cvt%s_%s_%s", sat, t, f);
    }
    if (!bind_operation(d, op, 1, COUNT_CONVERSION))
        return false;
    d->last->kind = (uint8_t)rounding_of(d);
    if (to == PTX_F16 || to == PTX_BF16)
        word = 0;
    apply_control_word(d, d->last, word);
    if (to == PTX_F32 && from == PTX_F32 && has(d, "ftz"))
        return flush_result(d);
    return finish(d, op);
}

static int space_of_modifier(const decoder *d) {
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
    int space = space_of_modifier(d);
    ptx_type t = last_type(d);
    if (!need(d, 2, 2))
        return false;
    if (space == EMU_GLOBAL || space == EMU_CONSTANT) {
        const emu_operation *op = find_operation("mov_b%d", width_of(t));
        return bind_operation(d, op, 1, COUNT_MOVE) && finish(d, op);
    }
    uint32_t a = source(d, &d->in->operand[1], t);
    uint32_t to = destination(d, &d->in->operand[0], t);
    emu_op *o = emit(d, has(d, "to") ? H_from_generic : H_to_generic, COUNT_MOVE);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    o->space = (uint8_t)space;
    o->flags |= is_wide(t) ? OP_WIDE_D | OP_WIDE_ADDRESS : 0;
    return finish_destination(d, t);
}

static bool decode_isspacep(decoder *d) {
    if (!need(d, 2, 2))
        return false;
    const ptx_operand *p = &d->in->operand[1];
    bool wide = p->kind != PTX_OPERAND_REGISTER || is_wide(d->body->register_type[p->reg]);
    uint32_t a = source(d, p, wide ? PTX_B64 : PTX_B32);
    uint32_t to = destination_predicate(d, &d->in->operand[0]);
    emu_op *o = emit(d, H_is_space, COUNT_INTEGER);
    if (!o || to == UINT32_MAX)
        return false;
    o->a = a;
    o->d = to;
    o->space = (uint8_t)space_of_modifier(d);
    o->flags |= wide ? OP_WIDE_ADDRESS : 0;
    return !d->fault->status;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

typedef struct place { /* where an address operand points */
    uint32_t ref;
    int64_t offset;
    bool wide;
    int space;                     /* of the variable named, SPACE_GENERIC if it names none */
    bool fixed;                    /* the whole address is OFFSET */
    const ptx_variable *parameter; /* of a kernel's, a function's or a call's parameter */
} place;

static bool decode_address(decoder *d, const ptx_operand *p, place *at) {
    *at = (place){.space = SPACE_GENERIC};
    if (p->kind != PTX_OPERAND_ADDRESS || p->count != 1)
        return unsupported(d);
    ptx_operand base = p->element[0];
    base.offset = 0;
    at->offset = p->offset;
    if (base.kind == PTX_OPERAND_REGISTER) {
        at->wide = is_wide(d->body->register_type[base.reg]);
        at->ref = source(d, &base, at->wide ? PTX_B64 : PTX_B32);
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
    at->ref = source(d, &base, PTX_B64);
    at->fixed = true;
    return !d->fault->status;
}

/* Notes the access for the counts that the machine makes itself: parameters and constants. */
static void count_memory(decoder *d, int space, emu_access_op access, unsigned bytes) {
    emu_op_info *i = info_of(d);
    i->kind = COUNT_MEMORY;
    i->space = (uint8_t)space;
    i->access = (uint8_t)access;
    i->bytes = (uint8_t)bytes;
    i->memory_counted = space == EMU_PARAM || space == EMU_CONSTANT;
}

static void number_memory(decoder *d, emu_op *o) {
    o->memory = d->program->memory_count++;
}

/* Registers of a vector or the single register of a load or store. */
static bool decode_elements(decoder *d, const ptx_operand *p, ptx_type type, bool loading,
                            uint32_t ref[8], int *count, bool *wide) {
    const ptx_operand *list = p->kind == PTX_OPERAND_VECTOR ? p->element : p;
    int n = p->kind == PTX_OPERAND_VECTOR ? p->count : 1;
    int said = has(d, "v2") ? 2 : has(d, "v4") ? 4 : has(d, "v8") ? 8 : 1;
    *count = n;
    if (n != said)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d registers", d->in->mnemonic, n);
    if (n < 1 || n > 8 || ptx_type_bytes(type) > 8)
        return unsupported(d);
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
                         : destination(d, &list[i], *wide ? PTX_B64 : PTX_B32);
        else
            ref[i] = source(d, &list[i], as);
    }
    return !d->fault->status;
}

static bool is_volatile(const decoder *d) {
    return has(d, "volatile") || has(d, "acquire") || has(d, "relaxed") || has(d, "cv") ||
           has(d, "mmio");
}

/* A kernel's own parameter at a fixed offset, if ADDRESS is one. */
static bool kernel_parameter(const decoder *d, const place *at, uint64_t *offset) {
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

static void fill_memory_op(emu_op *o, const place *at, ptx_type type, int count, bool wide) {
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
    emu_extra *x = add_extra(d, o, count);
    if (!x)
        return false;
    memcpy(x->ref, ref, (size_t)count * sizeof *ref);
    return true;
}

static bool decode_load_parameter(decoder *d, const ptx_operand *to, ptx_type type, place *at) {
    uint32_t ref[8];
    int count;
    bool wide;
    uint64_t offset;
    if (!decode_elements(d, to, type, true, ref, &count, &wide))
        return false;
    unsigned bytes = ptx_type_bytes(type);
    if (kernel_parameter(d, at, &offset)) {
        for (int i = 0; i < count; i++) {
            if (ref[i] == UINT32_MAX)
                continue;
            uint64_t from = offset + (uint64_t)i * bytes;
            if (from + bytes > d->kernel->info.parameter_bytes)
                return emu_decode_fail(d, EMU_BAD_PTX, "a parameter is read past its end");
            uint32_t slot = parameter_slot(d, (uint32_t)from, bytes, wide, is_signed(type));
            emu_op *o = emit_helper(d, wide ? H_mov_b64 : H_mov_b32);
            if (!o)
                return false;
            o->d = ref[i];
            o->a = slot;
        }
        if (d->program->op_count)
            count_memory(d, EMU_PARAM, EMU_LOAD, bytes * (unsigned)count);
        return !d->fault->status;
    }
    bool area = at->parameter != NULL || d->function > 0;
    emu_op *o = emit(d, area ? H_load_area : H_load_parameter, COUNT_MEMORY);
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
            if (!variable_address(d, &v, &address, &local))
                return false;
            o->immediate += (int64_t)address;
        }
        o->immediate -= AREA_TAG;
    }
    count_memory(d, EMU_PARAM, EMU_LOAD, bytes * (unsigned)count);
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
    if (!need(d, 2, 3))
        return false;
    ptx_type type = last_type(d);
    const ptx_operand *data = &d->in->operand[loading ? 0 : 1];
    int space = space_of_modifier(d);
    place at;
    uint32_t ref[8];
    int count;
    bool wide;
    if (type == PTX_B128 || has(d, "async") || has(d, "bulk"))
        return unsupported(d);
    if (!decode_address(d, &d->in->operand[loading ? 1 : 0], &at))
        return false;
    if (space == SPACE_GENERIC && at.space != SPACE_GENERIC)
        space = at.space;
    if (space == EMU_PARAM && loading)
        return decode_load_parameter(d, data, type, &at);
    if (!decode_elements(d, data, type, loading, ref, &count, &wide))
        return false;
    unsigned bytes = ptx_type_bytes(type) * (unsigned)count;
    if (bytes > 32)
        return unsupported(d);
    bool area = space == EMU_PARAM;
    emu_op *o = emit(d, area ? H_store_area : memory_handler(loading, space, type, count, wide),
                     COUNT_MEMORY);
    if (!o)
        return false;
    fill_memory_op(o, &at, type, count, wide);
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_GLOBAL : space);
    if (area) {
        uint64_t address = 0;
        bool local;
        ptx_operand v = {.kind = PTX_OPERAND_VARIABLE, .variable = at.parameter};
        if (at.parameter && !variable_address(d, &v, &address, &local))
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
    if (has(d, "cg") || has(d, "cv") || has(d, "volatile") || has(d, "acquire") ||
        has(d, "relaxed"))
        o->flags |= OP_L2_ONLY;
    number_memory(d, o);
    count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, loading ? EMU_LOAD : EMU_STORE,
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
        if (has(d, names[i]))
            return i;
    return -1;
}

static bool decode_atomic(decoder *d) {
    bool reduction = strcmp(d->in->opcode, "red") == 0;
    ptx_type type = last_type(d);
    int kind = atomic_kind(d), first = reduction ? 0 : 1;
    bool cas = kind == ATOMIC_CAS;
    if (kind < 0 || has(d, "async") || starts(d, "noftz.v") ||
        !need(d, first + (cas ? 3 : 2), first + 4))
        return d->fault->status ? false : unsupported(d);
    if (type == PTX_B128 || ptx_type_bytes(type) < 2)
        return unsupported(d);
    static const uint8_t format[PTX_TYPES] = {[PTX_F32] = 1,   [PTX_F64] = 2,  [PTX_F16] = 3,
                                              [PTX_F16X2] = 4, [PTX_BF16] = 5, [PTX_BF16X2] = 6};
    place at;
    if (!decode_address(d, &d->in->operand[first], &at))
        return false;
    int space = space_of_modifier(d);
    if (space == SPACE_GENERIC && at.space != SPACE_GENERIC)
        space = at.space;
    const ptx_operand *data = &d->in->operand[first + 1];
    uint32_t ref[16];
    int count = 1, targets = 0;
    bool wide;
    if (!decode_elements(d, data, type, false, ref + 8, &count, &wide))
        return false;
    uint32_t c = cas ? source(d, &d->in->operand[first + 2], type) : 0;
    if (reduction) {
        for (int i = 0; i < count; i++)
            ref[i] = UINT32_MAX;
    } else {
        bool wide_target;
        if (d->in->operand[0].kind == PTX_OPERAND_SINK)
            for (int i = 0; i < count; i++)
                ref[i] = UINT32_MAX;
        else if (!decode_elements(d, &d->in->operand[0], type, true, ref, &targets, &wide_target))
            return false;
    }
    emu_op *o = emit(d, H_atomic, COUNT_MEMORY);
    if (!o)
        return false;
    fill_memory_op(o, &at, type, count, wide);
    o->kind = (uint8_t)kind;
    o->combine = format[type];
    o->d = ref[0];
    o->b = ref[8];
    o->c = c;
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_TEXTURE : space);
    number_memory(d, o);
    count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, EMU_ATOMIC,
                 ptx_type_bytes(type) * (unsigned)count);
    if (count > 1) {
        emu_extra *x = add_extra(d, o, 2 * count);
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
    return emit(d, H_prefetch, COUNT_CONTROL) != NULL;
}

static bool decode_cp(decoder *d) {
    if (!has(d, "async") || has(d, "bulk") || has(d, "reduce"))
        return unsupported(d);
    if (has(d, "commit_group") || has(d, "wait_group") || has(d, "wait_all"))
        return emit(d, H_nothing, COUNT_CONTROL) != NULL;
    if (has(d, "mbarrier"))
        return emu_decode_mbarrier(d);
    if (!need(d, 3, 5))
        return false;
    const ptx_operand *p = d->in->operand;
    place to, from;
    if (!decode_address(d, &p[0], &to) || !decode_address(d, &p[1], &from))
        return false;
    if (p[2].kind != PTX_OPERAND_INTEGER ||
        (p[2].value != 4 && p[2].value != 8 && p[2].value != 16))
        return unsupported(d);
    bool sized = d->in->operand_count > 3 && p[3].kind != PTX_OPERAND_VECTOR;
    if (sized && p[3].kind == PTX_OPERAND_REGISTER && d->body->register_type[p[3].reg] == PTX_PRED)
        return unsupported(d);
    uint32_t c = sized ? source(d, &p[3], PTX_B32) : 0;
    emu_op *o = emit(d, H_copy_async, COUNT_MEMORY);
    if (!o)
        return false;
    o->a = from.ref;
    o->immediate = from.offset;
    o->flags |= from.wide ? OP_WIDE_ADDRESS : 0;
    o->b = to.ref;
    o->target = (uint32_t)to.offset;
    o->flags |= to.wide ? OP_WIDE_D : 0;
    o->bytes = (uint8_t)p[2].value;
    o->c = c;
    o->kind = sized;
    o->flags |= has(d, "cg") ? OP_L2_ONLY : 0;
    number_memory(d, o);
    count_memory(d, EMU_GLOBAL, EMU_LOAD, o->bytes);
    return !d->fault->status;
}

/* ---- control -----------------------------------------------------------------------------------
 */

static bool decode_bra(decoder *d) {
    if (!need(d, 1, 1) || d->in->operand[0].kind != PTX_OPERAND_LABEL)
        return d->fault->status
                   ? false
                   : emu_decode_fail(d, EMU_BAD_PTX, "no label %.100s",
                                     d->in->operand[0].name ? d->in->operand[0].name : "given");
    emu_op *o = emit(d, H_nothing, COUNT_CONTROL);
    if (!o)
        return false;
    o->control = CONTROL_BRANCH;
    o->target = (uint32_t)d->in->operand[0].target; /* an instruction until the body is done */
    return true;
}

static bool decode_brx(decoder *d) {
    if (!need(d, 2, 2) || d->in->operand[1].kind != PTX_OPERAND_TARGETS ||
        !d->in->operand[1].targets->index)
        return d->fault->status ? false : unsupported(d);
    uint32_t a = source(d, &d->in->operand[0], PTX_U32);
    const ptx_targets *t = d->in->operand[1].targets;
    emu_op *o = emit(d, H_nothing, COUNT_CONTROL);
    emu_extra *x = o ? add_extra(d, o, t->count) : NULL;
    if (!x)
        return false;
    o->control = CONTROL_BRANCH_INDEXED;
    o->a = a;
    x->target = x->ref;
    for (int i = 0; i < t->count; i++)
        x->target[i] = (uint32_t)t->index[i];
    return true;
}

static bool decode_plain_control(decoder *d, emu_control control) {
    emu_op *o = emit(d, H_nothing, COUNT_CONTROL);
    if (o)
        o->control = (uint8_t)control;
    return o != NULL;
}

static bool decode_ret(decoder *d) {
    return decode_plain_control(d, CONTROL_RETURN);
}

static bool decode_exit(decoder *d) {
    return decode_plain_control(d, CONTROL_EXIT);
}

static bool decode_nothing(decoder *d) {
    return emit(d, H_nothing, COUNT_CONTROL) != NULL;
}

static bool decode_fence(decoder *d) {
    /* made visible to other blocks: one of them may wait for it */
    if (!has(d, "cta") && !starts(d, "proxy"))
        d->program->ordered = true;
    return emit(d, H_nothing, COUNT_BARRIER) != NULL;
}

static bool decode_trap(decoder *d) {
    return emit(d, H_trap, COUNT_CONTROL) != NULL;
}

static bool decode_nanosleep(decoder *d) {
    return decode_plain_control(d, CONTROL_YIELD);
}

/* One side of a call's transfer: a parameter variable of the caller, or a register or literal. */
static bool decode_transfer(decoder *d, const ptx_operand *p, struct emu_transfer *t, bool result) {
    if (p->kind == PTX_OPERAND_VARIABLE && p->variable->space == PTX_SPACE_PARAM) {
        uint64_t address;
        bool local;
        if (!variable_address(d, p, &address, &local))
            return false;
        *t = (struct emu_transfer){.place = (uint32_t)(address - AREA_TAG),
                                   .bytes = (uint32_t)p->variable->bytes};
        return true;
    }
    if (p->kind == PTX_OPERAND_REGISTER && d->body->register_type[p->reg] != PTX_PRED) {
        *t = (struct emu_transfer){.place = emu_decode_register(d, p->reg),
                                   .bytes = ptx_type_bytes(d->body->register_type[p->reg]),
                                   .in_register = true};
        return true;
    }
    if (!result && p->kind == PTX_OPERAND_INTEGER) {
        uint32_t moved = emu_decode_temporary(d, true);
        emu_op *o = emit_helper(d, H_mov_b64);
        if (!o)
            return false;
        o->d = moved;
        o->a = emu_decode_constant(d, p->value, true);
        *t = (struct emu_transfer){.place = moved, .bytes = 8, .in_register = true};
        return true;
    }
    return unsupported(d);
}

static emu_builtin builtin_named(const char *name) {
    static const struct {
        const char *name;
        emu_builtin builtin;
    } builtins[] = {{"vprintf", BUILTIN_VPRINTF},
                    {"__assertfail", BUILTIN_ASSERT},
                    {"malloc", BUILTIN_MALLOC},
                    {"free", BUILTIN_FREE}};
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return builtins[i].builtin;
    return BUILTIN_NONE;
}

static bool decode_call(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count, i = 0;
    const ptx_operand *results = NULL, *arguments = NULL;
    if (n && p[0].kind == PTX_OPERAND_VECTOR)
        results = &p[i++];
    if (i >= n)
        return unsupported(d);
    const ptx_operand *callee = &p[i++];
    if (i < n && p[i].kind == PTX_OPERAND_VECTOR)
        arguments = &p[i++];
    int result_count = results ? results->count : 0;
    int argument_count = arguments ? arguments->count : 0;
    struct emu_transfer *all =
        calloc((size_t)result_count + (size_t)argument_count + 1, sizeof *all);
    if (!all)
        return no_memory(d);
    bool ok = true;
    for (int r = 0; r < result_count && ok; r++)
        ok = decode_transfer(d, &results->element[r], &all[r], true);
    for (int a = 0; a < argument_count && ok; a++)
        ok = decode_transfer(d, &arguments->element[a], &all[result_count + a], false);
    bool indirect = callee->kind == PTX_OPERAND_REGISTER;
    uint32_t target = indirect && ok ? source(d, callee, PTX_B64) : 0;
    emu_op *o = ok ? emit(d, H_nothing, COUNT_CALL) : NULL;
    emu_extra *x = o ? add_extra(d, o, 0) : NULL;
    if (!x) {
        free(all);
        return false;
    }
    x->result = all;
    x->result_count = result_count;
    x->argument = all + result_count;
    x->argument_count = argument_count;
    if (indirect) {
        o->control = CONTROL_CALL_INDIRECT;
        o->a = target;
        d->program->indirect = true;
        return !d->fault->status;
    }
    if (callee->kind != PTX_OPERAND_SYMBOL)
        return unsupported(d);
    o->control = CONTROL_CALL;
    const emu_symbol *s = emu_module_find(d->kernel->module, callee->name, d->text);
    const char *name = callee->name;
    for (int hop = 0; s && s->function && !s->function->text && s->function->alias && hop < 8;
         hop++) {
        name = s->function->alias;
        s = emu_module_find(d->kernel->module, name, d->text);
    }
    if (!s || !s->function || !s->function->text) {
        x->builtin = builtin_named(name);
        if (x->builtin == BUILTIN_NONE)
            return emu_decode_fail(d, EMU_BAD_PTX, "the function %.200s is not defined", name);
        if (x->builtin == BUILTIN_MALLOC || x->builtin == BUILTIN_FREE)
            d->program->ordered = true;
        if (x->builtin == BUILTIN_VPRINTF)
            d->program->ordered = true; /* text in the order of the blocks */
        return !d->fault->status;
    }
    x->function = emu_program_function(d, s);
    return x->function >= 0;
}

/* ---- barriers and the warp ---------------------------------------------------------------------
 */

static bool decode_barrier(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count;
    if (has(d, "warp")) {
        if (!need(d, 1, 1))
            return false;
        uint32_t e = source(d, &p[0], PTX_B32);
        emu_op *o = emit(d, H_nothing, COUNT_BARRIER);
        if (o) {
            o->control = CONTROL_WARP_BARRIER;
            o->e = e;
        }
        return o != NULL;
    }
    if (has(d, "cluster"))
        return unsupported(d);
    bool red = has(d, "red"), wait = !has(d, "arrive");
    int first = red ? 1 : 0;
    if (!need(d, red ? 3 : 1, red ? 4 : 2))
        return false;
    int counted = red ? n == 4 : n == 2;
    emu_op flags = {0};
    uint32_t a = source(d, &p[first], PTX_B32);
    uint32_t b = counted ? source(d, &p[first + 1], PTX_B32) : 0;
    uint32_t c = red ? source_predicate(d, &p[n - 1], &flags, OP_NEGATE_C) : 0;
    bool popc = red && has(d, "popc");
    uint32_t to = !red   ? UINT32_MAX
                  : popc ? destination(d, &p[0], PTX_B32)
                         : destination_predicate(d, &p[0]);
    emu_op *o = emit(d, red ? H_barrier_value : H_nothing, COUNT_BARRIER);
    if (!o)
        return false;
    o->control = (uint8_t)(wait ? CONTROL_BARRIER : CONTROL_ARRIVE);
    o->a = a;
    o->b = b;
    o->c = c;
    o->d = to;
    o->kind = (uint8_t)(!red            ? BAR_RED_NONE
                        : popc          ? BAR_RED_POPC
                        : has(d, "and") ? BAR_RED_AND
                                        : BAR_RED_OR);
    o->flags |= flags.flags | (counted ? OP_COUNTED : 0);
    return !d->fault->status;
}

static bool decode_shfl(decoder *d) {
    bool sync = has(d, "sync");
    if (!need(d, sync ? 5 : 4, sync ? 5 : 4))
        return false;
    const ptx_operand *p = d->in->operand;
    uint32_t a = source(d, &p[1], PTX_B32), b = source(d, &p[2], PTX_B32),
             c = source(d, &p[3], PTX_B32);
    uint32_t e = sync ? source(d, &p[4], PTX_B32) : 0;
    uint32_t to = destination(d, &p[0], PTX_B32);
    uint32_t second = p[0].second ? destination_predicate(d, p[0].second) : UINT32_MAX;
    emu_op *o = emit(d, H_shuffle, COUNT_SHUFFLE);
    if (!o)
        return false;
    o->d = to;
    o->second = second;
    o->a = a;
    o->b = b;
    o->c = c;
    o->e = e;
    o->control = (uint8_t)(sync ? CONTROL_GATHER : CONTROL_NONE);
    o->kind = (uint8_t)(has(d, "up")     ? SHUFFLE_UP
                        : has(d, "down") ? SHUFFLE_DOWN
                        : has(d, "bfly") ? SHUFFLE_BUTTERFLY
                                         : SHUFFLE_INDEX);
    return finish_destination(d, PTX_B32);
}

static bool decode_vote(decoder *d) {
    bool sync = has(d, "sync"), ballot = has(d, "ballot");
    if (!need(d, sync ? 3 : 2, sync ? 3 : 2))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = source_predicate(d, &p[1], &flags, OP_NEGATE_A);
    uint32_t e = sync ? source(d, &p[2], PTX_B32) : 0;
    uint32_t to = ballot ? destination(d, &p[0], PTX_B32) : destination_predicate(d, &p[0]);
    emu_op *o = emit(d, H_vote, COUNT_VOTE);
    if (!o || to == UINT32_MAX)
        return false;
    o->d = to;
    o->a = a;
    o->e = e;
    o->flags |= flags.flags;
    o->control = (uint8_t)(sync ? CONTROL_GATHER : CONTROL_NONE);
    o->kind = (uint8_t)(ballot          ? VOTE_BALLOT
                        : has(d, "all") ? VOTE_ALL
                        : has(d, "any") ? VOTE_ANY
                                        : VOTE_UNIFORM);
    return !d->fault->status;
}

static bool decode_match(decoder *d) {
    if (!need(d, 3, 3))
        return false;
    const ptx_operand *p = d->in->operand;
    ptx_type t = last_type(d);
    uint32_t a = source(d, &p[1], t), e = source(d, &p[2], PTX_B32);
    uint32_t to = destination(d, &p[0], PTX_B32);
    uint32_t second = p[0].second ? destination_predicate(d, p[0].second) : UINT32_MAX;
    emu_op *o = emit(d, H_match, COUNT_VOTE);
    if (!o)
        return false;
    o->d = to;
    o->second = second;
    o->a = a;
    o->e = e;
    o->control = CONTROL_GATHER;
    o->kind = has(d, "all");
    o->flags |= is_wide(t) ? OP_WIDE_D : 0;
    return !d->fault->status;
}

static bool decode_redux(decoder *d) {
    ptx_type t = last_type(d);
    int kind = has(d, "add")   ? REDUCE_ADD
               : has(d, "min") ? (is_signed(t) ? REDUCE_MIN_S : REDUCE_MIN_U)
               : has(d, "max") ? (is_signed(t) ? REDUCE_MAX_S : REDUCE_MAX_U)
               : has(d, "and") ? REDUCE_AND
               : has(d, "or")  ? REDUCE_OR
                               : REDUCE_XOR;
    if (is_float(t) || !need(d, 3, 3))
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = source(d, &p[1], PTX_B32), e = source(d, &p[2], PTX_B32);
    uint32_t to = destination(d, &p[0], PTX_B32);
    emu_op *o = emit(d, H_reduce_32, COUNT_SHUFFLE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->e = e;
    o->control = CONTROL_GATHER;
    o->kind = (uint8_t)kind;
    return !d->fault->status;
}

static bool decode_activemask(decoder *d) {
    if (!need(d, 1, 1))
        return false;
    uint32_t to = destination(d, &d->in->operand[0], PTX_B32);
    emu_op *o = emit(d, H_active_mask, COUNT_VOTE);
    if (o)
        o->d = to;
    return o && finish_destination(d, PTX_B32);
}

static bool decode_elect(decoder *d) {
    if (!need(d, 2, 2) || !d->in->operand[0].second)
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t e = source(d, &p[1], PTX_B32);
    uint32_t to = p[0].kind == PTX_OPERAND_SINK ? UINT32_MAX : destination(d, &p[0], PTX_B32);
    uint32_t second = destination_predicate(d, p[0].second);
    emu_op *o = emit(d, H_elect, COUNT_VOTE);
    if (!o || second == UINT32_MAX)
        return false;
    o->d = to;
    o->second = second;
    o->e = e;
    o->control = CONTROL_GATHER;
    return !d->fault->status;
}

bool emu_decode_mbarrier(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count, kind, at = 0;
    bool cp = strcmp(d->in->opcode, "cp") == 0;
    bool result = false, count = false;
    ptx_type count_type = PTX_B32;
    if (cp) { /* cp.async.mbarrier.arrive: the copies are done, so it arrives at once */
        kind = MBARRIER_ARRIVE_NO_RESULT;
        if (!has(d, "noinc"))
            return decode_nothing(d); /* increments pending first, then arrives: no change */
    } else if (has(d, "init")) {
        kind = MBARRIER_INIT;
        count = true;
    } else if (has(d, "inval")) {
        kind = MBARRIER_INVALIDATE;
    } else if (has(d, "pending_count")) {
        kind = MBARRIER_PENDING;
    } else if (has(d, "expect_tx") || has(d, "complete_tx")) {
        return unsupported(d);
    } else if (has(d, "arrive") || has(d, "arrive_drop")) {
        kind = has(d, "arrive_drop") ? MBARRIER_ARRIVE_DROP : MBARRIER_ARRIVE;
        result = n > 0 && p[0].kind != PTX_OPERAND_ADDRESS;
        count = n > (result ? 2 : 1);
    } else if (has(d, "test_wait") || has(d, "try_wait")) {
        kind = has(d, "parity") ? MBARRIER_TEST_PARITY : MBARRIER_TEST;
        count_type = has(d, "parity") ? PTX_B32 : PTX_B64;
        result = count = true;
    } else {
        return unsupported(d);
    }
    bool test = kind == MBARRIER_TEST || kind == MBARRIER_TEST_PARITY;
    if (kind == MBARRIER_PENDING) {
        if (!need(d, 2, 2))
            return false;
        uint32_t a = source(d, &p[1], PTX_B64), to = destination(d, &p[0], PTX_B32);
        emu_op *o = emit(d, H_mbarrier, COUNT_BARRIER);
        if (!o)
            return false;
        o->a = a;
        o->d = to;
        o->kind = (uint8_t)kind;
        return !d->fault->status;
    }
    at = result ? 1 : 0;
    if (!need(d, at + 1 + count, at + 2 + count))
        return false;
    place where;
    if (!decode_address(d, &p[at], &where))
        return false;
    uint32_t b = count ? source(d, &p[at + 1], count_type) : UINT32_MAX;
    uint32_t to = !result                         ? UINT32_MAX
                  : test                          ? destination_predicate(d, &p[0])
                  : p[0].kind == PTX_OPERAND_SINK ? UINT32_MAX
                                                  : destination(d, &p[0], PTX_B64);
    emu_op *o = emit(d, H_mbarrier, COUNT_BARRIER);
    if (!o)
        return false;
    o->a = where.ref;
    o->immediate = where.offset;
    o->flags |= where.wide ? OP_WIDE_ADDRESS : 0;
    o->b = b;
    o->d = to;
    o->kind = (uint8_t)kind;
    o->space = (uint8_t)(space_of_modifier(d) == SPACE_GENERIC ? EMU_TEXTURE : EMU_SHARED);
    number_memory(d, o);
    count_memory(d, EMU_SHARED, EMU_ATOMIC, 8);
    info_of(d)->kind = COUNT_BARRIER;
    return !d->fault->status;
}

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
        ref[i] = result ? destination(d, &list[i], type) : source(d, &list[i], type);
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
    emu_op *o = emit(d, handler, kind);
    emu_extra *x = o ? add_extra(d, o, count) : NULL;
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
    if (!need(d, MATRICES, MATRICES))
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
    info_of(d)->precision = (uint8_t)emu_tensor_precision(t);
    info_of(d)->tensor_ops = 2u * t->m * t->n * t->k;
    return !d->fault->status;
}

/* Address, space and counts of an op that moves a fragment or tiles. */
static bool finish_whole_warp(decoder *d, emu_op *o, const place *at, bool loading) {
    int space = space_of_modifier(d);
    if (space == SPACE_GENERIC && at->space != SPACE_GENERIC)
        space = at->space;
    if (space != SPACE_GENERIC && space != EMU_GLOBAL && space != EMU_SHARED)
        return unsupported(d);
    o->a = at->ref;
    o->immediate = at->offset;
    o->flags |= at->wide ? OP_WIDE_ADDRESS : 0;
    o->space = (uint8_t)(space == SPACE_GENERIC ? EMU_TEXTURE : space);
    number_memory(d, o);
    count_memory(d, space == SPACE_GENERIC ? EMU_GLOBAL : space, loading ? EMU_LOAD : EMU_STORE,
                 0); /* the memory model sees its accesses */
    return !d->fault->status;
}

/* wmma.load d, [a], pitch; wmma.store [a], d, pitch: without a pitch rows or columns are dense. */
static bool decode_fragment_move(decoder *d, const emu_tensor *t) {
    const emu_matrix x = (emu_matrix)t->matrix;
    const bool loading = x != MATRIX_D;
    const int n = t->registers[x];
    uint32_t ref[TENSOR_MAX_REGISTERS];
    place at;
    if (!need(d, 2, 3))
        return false;
    const ptx_operand *p = d->in->operand;
    if (!decode_address(d, &p[loading ? 1 : 0], &at))
        return false;
    uint32_t dense = t->by_column ? emu_tensor_rows(t, x) : emu_tensor_columns(t, x);
    uint32_t pitch = d->in->operand_count == 3 ? source(d, &p[2], PTX_B32)
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
    return emu_tensor_parse(d->in, &t) ? decode_product(d, &t) : unsupported(d);
}

static bool decode_wmma(decoder *d) {
    emu_tensor t;
    if (!emu_tensor_parse(d->in, &t))
        return unsupported(d);
    return has(d, "mma") ? decode_product(d, &t) : decode_fragment_move(d, &t);
}

/* ldmatrix, stmatrix of 8 x 8 elements of 16 bits. */
static bool decode_tiles(decoder *d) {
    const bool loading = strcmp(d->in->opcode, "ldmatrix") == 0;
    const int n = has(d, "x1") ? 1 : has(d, "x2") ? 2 : has(d, "x4") ? 4 : 0;
    uint32_t ref[4];
    place at;
    if (!n || !has(d, "sync") || !has(d, "aligned") || !has(d, "m8n8") || !has(d, "b16"))
        return unsupported(d);
    if (!need(d, 2, 2))
        return false;
    const ptx_operand *p = d->in->operand;
    if (!decode_address(d, &p[loading ? 1 : 0], &at) ||
        !decode_fragment(d, &p[loading ? 0 : 1], ELEMENT_NONE, n, loading, ref))
        return false;
    emu_op *o = emit_whole_warp(d, loading ? H_load_matrix : H_store_matrix, COUNT_MEMORY, ref, n);
    if (!o)
        return false;
    o->kind = has(d, "trans");
    o->flags |= loading ? 0 : OP_NO_RESULT;
    return finish_whole_warp(d, o, &at, loading);
}

static bool decode_movmatrix(decoder *d) {
    if (!has(d, "sync") || !has(d, "aligned") || !has(d, "m8n8") || !has(d, "trans") ||
        !has(d, "b16"))
        return unsupported(d);
    if (!need(d, 2, 2))
        return false;
    uint32_t a = source(d, &d->in->operand[1], PTX_B32);
    uint32_t to = destination(d, &d->in->operand[0], PTX_B32);
    emu_op *o = emit_whole_warp(d, H_transpose_matrix, COUNT_SHUFFLE, NULL, 0);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    return finish_destination(d, PTX_B32);
}

/* ---- carry chains and video --------------------------------------------------------------------
 */

bool emu_decode_carry(decoder *d) {
    const char *name = d->in->opcode;
    ptx_type t = last_type(d);
    int kind = 0;
    bool multiply = strncmp(name, "mad", 3) == 0;
    if (strncmp(name, "sub", 3) == 0)
        kind |= CARRY_SUBTRACT;
    if (strcmp(name, "addc") == 0 || strcmp(name, "subc") == 0 || strcmp(name, "madc") == 0)
        kind |= CARRY_IN;
    if (has(d, "cc"))
        kind |= CARRY_OUT;
    if (multiply)
        kind |= has(d, "hi") ? CARRY_MULTIPLY_HIGH : CARRY_MULTIPLY_LOW;
    if (is_signed(t))
        kind |= CARRY_SIGNED;
    int n = multiply ? 4 : 3;
    if (is_float(t) || ptx_type_bytes(t) < 4 || !need(d, n, n))
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = source(d, &p[1], t), b = source(d, &p[2], t);
    uint32_t c = multiply ? source(d, &p[3], t) : a;
    uint32_t to = destination(d, &p[0], t);
    emu_op *o = emit(d, is_wide(t) ? H_carry_64 : H_carry_32, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->kind = (uint8_t)kind;
    return finish_destination(d, t);
}

static bool decode_video(decoder *d) {
    static const char *const names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    const char *name = d->in->opcode;
    size_t length = strlen(name);
    int kind = -1, bytes = name[length - 1] == '4' ? 1 : 2;
    for (int i = 0; i < 6; i++)
        if (length == strlen(names[i]) + 1 && strncmp(name, names[i], length - 1) == 0)
            kind = i;
    ptx_type t = type_at(d, 1);
    if (kind < 0 || t == PTX_NONE || !need(d, 4, 4))
        return d->fault->status ? false : unsupported(d);
    const ptx_operand *p = d->in->operand;
    for (int i = 1; i < 4; i++)
        if (p[i].part[0])
            return unsupported(d);
    uint32_t a = source(d, &p[1], PTX_B32), b = source(d, &p[2], PTX_B32),
             c = source(d, &p[3], PTX_B32);
    uint32_t to = destination(d, &p[0], PTX_B32);
    emu_op *o = emit(d, H_video, COUNT_INTEGER);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->b = b;
    o->c = c;
    o->kind = (uint8_t)kind;
    o->bytes = (uint8_t)bytes;
    o->combine = has(d, "add");
    o->vector = has(d, "sat");
    o->flags |= is_signed(t) ? OP_SIGNED : 0;
    return finish_destination(d, PTX_B32);
}

/* ---- one instruction ---------------------------------------------------------------------------
 */

static const struct {
    const char *opcode;
    bool (*decode)(decoder *d);
} table[] = {
    {"abs", decode_abs_neg},
    {"activemask", decode_activemask},
    {"add", decode_add},
    {"addc", emu_decode_carry},
    {"and", decode_logic},
    {"applypriority", decode_prefetch},
    {"atom", decode_atomic},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"bfe", decode_bits_typed},
    {"bfi", decode_logic},
    {"bfind", decode_bits_typed},
    {"bmsk", decode_joined},
    {"bra", decode_bra},
    {"brev", decode_logic},
    {"brkpt", decode_trap},
    {"brx", decode_brx},
    {"call", decode_call},
    {"clz", decode_logic},
    {"cnot", decode_logic},
    {"copysign", decode_copysign},
    {"cos", decode_special_function},
    {"cp", decode_cp},
    {"cvt", decode_cvt},
    {"cvta", decode_cvta},
    {"discard", decode_prefetch},
    {"div", decode_div},
    {"dp2a", decode_dot},
    {"dp4a", decode_dot},
    {"elect", decode_elect},
    {"ex2", decode_special_function},
    {"exit", decode_exit},
    {"fence", decode_fence},
    {"fma", decode_fma},
    {"fns", decode_joined},
    {"griddepcontrol", decode_nothing},
    {"isspacep", decode_isspacep},
    {"ld", decode_ld},
    {"ldmatrix", decode_tiles},
    {"ldu", decode_ld},
    {"lg2", decode_special_function},
    {"lop3", decode_lop3},
    {"mad", decode_mul},
    {"mad24", decode_mul24},
    {"madc", decode_mul},
    {"match", decode_match},
    {"max", decode_min_max},
    {"mbarrier", emu_decode_mbarrier},
    {"membar", decode_fence},
    {"min", decode_min_max},
    {"mma", decode_mma},
    {"mov", decode_mov},
    {"movmatrix", decode_movmatrix},
    {"mul", decode_mul},
    {"mul24", decode_mul24},
    {"nanosleep", decode_nanosleep},
    {"neg", decode_abs_neg},
    {"not", decode_logic},
    {"or", decode_logic},
    {"pmevent", decode_nothing},
    {"popc", decode_logic},
    {"prefetch", decode_prefetch},
    {"prefetchu", decode_prefetch},
    {"prmt", decode_joined},
    {"rcp", decode_special_function},
    {"red", decode_atomic},
    {"redux", decode_redux},
    {"rem", decode_div},
    {"ret", decode_ret},
    {"rsqrt", decode_special_function},
    {"sad", decode_typed},
    {"selp", decode_selp},
    {"set", decode_set},
    {"setmaxnreg", decode_nothing},
    {"setp", decode_setp},
    {"shf", decode_joined},
    {"shfl", decode_shfl},
    {"shl", decode_logic},
    {"shr", decode_shift_right},
    {"sin", decode_special_function},
    {"slct", decode_slct},
    {"sqrt", decode_special_function},
    {"st", decode_st},
    {"stmatrix", decode_tiles},
    {"sub", decode_add},
    {"subc", emu_decode_carry},
    {"szext", decode_joined},
    {"tanh", decode_special_function},
    {"testp", decode_testp},
    {"trap", decode_trap},
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
    {"vote", decode_vote},
    {"vsub2", decode_video},
    {"vsub4", decode_video},
    {"wmma", decode_wmma},
    {"xor", decode_logic},
};

static int by_opcode(const void *key, const void *element) {
    return strcmp(key, *(const char *const *)element);
}

bool emu_decode_instruction(decoder *d) {
    const void *found =
        bsearch(d->in->opcode, table, sizeof table / sizeof *table, sizeof *table, by_opcode);
    if (!found)
        return unsupported(d);
    size_t index = (size_t)((const char *)found - (const char *)table) / sizeof *table;
    d->moved_from = UINT32_MAX;
    return table[index].decode(d) && !d->fault->status;
}

static bool shared_symbol(decoder *d, const ptx_variable *v, const char *name, uint64_t *address) {
    return emu_program_shared(d, v, name, address);
}
