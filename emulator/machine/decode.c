/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX instructions to ops: an instruction goes to the decoder of its family (decode_*.c), which
 * finds the handler, binds the operands (operand.c) and notes what the op counts as. Here is what
 * all families share: errors, emitting, modifiers, counting. An instruction that the machine does
 * not have fails the kernel that holds it, by name and line. */
#include "emulator/machine/decode.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool emu_decode_no_memory(decoder *d) {
    return emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
}

bool emu_decode_unsupported(decoder *d) {
    return emu_decode_fail(d, EMU_BAD_PTX, "the emulated device does not have the instruction %s",
                           d->in->mnemonic);
}

/* Grows ARRAY to hold one more element. */
bool emu_decode_grow(void *array, int count, int *capacity, size_t element) {
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
            emu_decode_no_memory(d);
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
emu_op *emu_emit_helper(decoder *d, int handler) {
    return add_op(d, handler);
}

/* The op of the instruction itself. Operands must have been prepared before: preparing may emit
 * helpers, and the op must come after them. */
emu_op *emu_emit(decoder *d, int handler, emu_count_kind kind) {
    emu_op *o = add_op(d, handler);
    if (o)
        d->program->info[d->program->op_count - 1].kind = kind;
    return o;
}

emu_op_info *emu_info(decoder *d) {
    return &d->program->info[d->program->op_count - 1];
}

emu_extra *emu_add_extra(decoder *d, emu_op *o, int count) {
    emu_program *p = d->program;
    emu_extra *x = calloc(1, sizeof *x);
    uint32_t *ref = calloc((size_t)count + 1, sizeof *ref);
    if (!x || !ref ||
        !emu_decode_grow(&p->extra, p->extra_count, &p->extra_capacity, sizeof(*p->extra))) {
        free(x);
        free(ref);
        emu_decode_no_memory(d);
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

/* Modifiers are at most PTX_MAX_MODIFIERS, less than the bits of the mask. */
static void see(const decoder *d, int index) {
    *d->seen |= 1u << index;
}

bool emu_has(const decoder *d, const char *modifier) {
    bool found = false;
    for (int i = 0; i < d->in->modifier_count; i++) {
        if (strcmp(d->in->modifier[i], modifier) != 0)
            continue;
        see(d, i);
        found = true;
    }
    return found;
}

bool emu_has_prefix(const decoder *d, const char *prefix) {
    bool found = false;
    for (int i = 0; i < d->in->modifier_count; i++) {
        if (strncmp(d->in->modifier[i], prefix, strlen(prefix)) != 0)
            continue;
        see(d, i);
        found = true;
    }
    return found;
}

const char *emu_modifier(const decoder *d, int index) {
    if (index >= d->in->modifier_count)
        return "";
    see(d, index);
    return d->in->modifier[index];
}

/* Modifiers without a meaning on the emulated device, where memory is in order, caches hold what
 * the model lets them and warps are whole. */
static bool is_idle(const char *modifier) {
    static const char *const idle[] = {
        "acq_rel", "acquire",  "aligned", "approx", "ca",  "cg",   "cluster", "cs",
        "cta",     "cv",       "full",    "gl",     "gpu", "lu",   "mmio",    "nc",
        "noftz",   "relaxed",  "release", "rn",     "sc",  "sync", "sys",     "uni",
        "unified", "volatile", "wb",      "weak",   "wt"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (strcmp(modifier, idle[i]) == 0)
            return true;
    return strncmp(modifier, "L1::", 4) == 0 || strncmp(modifier, "L2::", 4) == 0 ||
           ptx_type_named(modifier, strlen(modifier)) != PTX_NONE;
}

static bool all_seen(const decoder *d) {
    for (int i = 0; i < d->in->modifier_count; i++)
        if (!(*d->seen >> i & 1) && !is_idle(d->in->modifier[i]))
            return false;
    return true;
}

ptx_type emu_type_at(const decoder *d, int index) {
    for (int i = 0; i < d->in->modifier_count; i++) {
        ptx_type t = ptx_type_named(d->in->modifier[i], strlen(d->in->modifier[i]));
        if (t != PTX_NONE && index-- == 0)
            return t;
    }
    return PTX_NONE;
}

ptx_type emu_last_type(const decoder *d) {
    for (int i = d->in->modifier_count - 1; i >= 0; i--) {
        ptx_type t = ptx_type_named(d->in->modifier[i], strlen(d->in->modifier[i]));
        if (t != PTX_NONE)
            return t;
    }
    return PTX_NONE;
}

lane_rounding_code emu_rounding(const decoder *d) {
    if (emu_has(d, "rz") || emu_has(d, "rzi"))
        return ROUNDING_ZERO;
    if (emu_has(d, "rm") || emu_has(d, "rmi"))
        return ROUNDING_DOWN;
    if (emu_has(d, "rp") || emu_has(d, "rpi"))
        return ROUNDING_UP;
    if (emu_has(d, "rna"))
        return ROUNDING_AWAY;
    return ROUNDING_NEAREST;
}

/* Control word of the host's floating-point unit for the instruction's rounding and .ftz; 0 if it
 * is the ordinary one. */
uint32_t emu_control_word(const decoder *d) {
    static const uint32_t rounding[] = {[ROUNDING_NEAREST] = 0,
                                        [ROUNDING_DOWN] = 0x2000,
                                        [ROUNDING_UP] = 0x4000,
                                        [ROUNDING_ZERO] = 0x6000,
                                        [ROUNDING_AWAY] = 0};
    uint32_t word = rounding[emu_rounding(d)];
    if (emu_has(d, "ftz"))
        word |= 0x8040;
    return word ? word | 0x1f80 : 0;
}

void emu_apply_control_word(decoder *d, emu_op *o, uint32_t word) {
    if (!word)
        return;
    o->inner = o->run;
    o->run = d->device->handlers[H_rounded];
    o->csr = word;
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

void emu_count_float(decoder *d, ptx_type type, emu_op_class op_class) {
    emu_op_info *i = emu_info(d);
    i->kind = COUNT_FP;
    i->precision = (uint8_t)precision_of(type);
    i->op_class = (uint8_t)op_class;
    i->packed = type == PTX_F16X2 || type == PTX_BF16X2 || type == PTX_F32X2;
    emu_flops(i, d->in);
}
/* ---- operations that work lane by lane ---------------------------------------------------------
 */

const emu_operation *emu_find_operation(const char *format, ...) {
    char name[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return emu_operation_find(name);
}

int emu_flush_handler(const decoder *d, ptx_type type) {
    int handler = type == PTX_F16     ? H_flush_f16
                  : type == PTX_F16X2 ? H_flush_f16x2
                  : type == PTX_F32   ? H_flush_f32
                                      : 0;
    return handler && emu_has(d, "ftz") ? handler : 0;
}

uint32_t emu_flushed(decoder *d, uint32_t ref, int handler) {
    if (!handler)
        return ref;
    uint32_t to = emu_decode_temporary(d, false);
    emu_op *o = emu_emit_helper(d, handler);
    if (o) {
        o->d = to;
        o->a = ref;
    }
    return to;
}

/* Binds D and the sources of OPERATION from operand 0 and those from FIRST on. */
bool emu_bind_operation(decoder *d, const emu_operation *op, int first, emu_count_kind kind) {
    const ptx_instruction *in = d->in;
    if (!op)
        return emu_decode_unsupported(d);
    if (!emu_need(d, first + op->sources, first + op->sources))
        return false;
    uint32_t ref[4] = {0};
    for (int i = 0; i < op->sources; i++)
        ref[i] = emu_flushed(d, emu_source(d, &in->operand[first + i], op->source[i]), d->flush);
    uint32_t to = op->d == PTX_PRED ? emu_destination_predicate(d, &in->operand[0])
                                    : emu_destination(d, &in->operand[0], op->d);
    emu_op *o = emu_emit(d, op->handler, kind);
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
bool emu_finish_operation(decoder *d, const emu_operation *op) {
    return op->d == PTX_PRED ? !d->fault->status : emu_finish_destination(d, op->d);
}
/* ---- one instruction ---------------------------------------------------------------------------
 */

enum { MOST_INSTRUCTIONS = 256 };
static struct known {
    emu_instruction instruction;
    bool strict; /* its decoder takes exactly the modifiers that it knows */
} known[MOST_INSTRUCTIONS];
static size_t known_count;

static int by_opcode(const void *a, const void *b) {
    return strcmp(((const struct known *)a)->instruction.opcode,
                  ((const struct known *)b)->instruction.opcode);
}

static void add_family(const emu_instruction *family, bool strict) {
    for (; family->opcode && known_count < MOST_INSTRUCTIONS; family++)
        known[known_count++] = (struct known){*family, strict};
}

static void collect_instructions(void) {
    add_family(emu_arithmetic_instructions, false);
    add_family(emu_video_instructions, false);
    add_family(emu_move_instructions, false);
    add_family(emu_memory_instructions, false);
    add_family(emu_async_instructions, false);
    add_family(emu_control_instructions, false);
    add_family(emu_matrix_instructions, true);
    add_family(emu_texture_instructions, false);
    qsort(known, known_count, sizeof *known, by_opcode);
}

bool emu_decode_instruction(decoder *d) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, collect_instructions);
    uint32_t seen = 0;
    d->seen = &seen;
    d->moved_from = UINT32_MAX;
    const struct known key = {.instruction.opcode = d->in->opcode};
    const struct known *found = bsearch(&key, known, known_count, sizeof *known, by_opcode);
    if (!found)
        return emu_decode_unsupported(d);
    if (!found->instruction.decode(d) || d->fault->status)
        return false;
    return found->strict || all_seen(d) || emu_decode_unsupported(d);
}
