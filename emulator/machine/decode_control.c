/* SPDX-License-Identifier: Apache-2.0
 *
 * Control: branches, calls, exits, barriers of blocks and warps, and the instructions that exchange
 * values between the lanes of a warp. */
#include "emulator/machine/decode.h"

#include <stdlib.h>
#include <string.h>

/* ---- control -----------------------------------------------------------------------------------
 */

static bool decode_bra(decoder *d) {
    if (!emu_need(d, 1, 1) || d->in->operand[0].kind != PTX_OPERAND_LABEL)
        return d->fault->status
                   ? false
                   : emu_decode_fail(d, EMU_BAD_PTX, "no label %.100s",
                                     d->in->operand[0].name ? d->in->operand[0].name : "given");
    emu_op *o = emu_emit(d, H_nothing, COUNT_CONTROL);
    if (!o)
        return false;
    o->control = CONTROL_BRANCH;
    o->target = (uint32_t)d->in->operand[0].target; /* an instruction until the body is done */
    return true;
}

static bool decode_brx(decoder *d) {
    emu_has(d, "idx");
    if (!emu_need(d, 2, 2) || d->in->operand[1].kind != PTX_OPERAND_TARGETS ||
        !d->in->operand[1].targets->index)
        return d->fault->status ? false : emu_decode_unsupported(d);
    uint32_t a = emu_source(d, &d->in->operand[0], PTX_U32);
    const ptx_targets *t = d->in->operand[1].targets;
    emu_op *o = emu_emit(d, H_nothing, COUNT_CONTROL);
    emu_extra *x = o ? emu_add_extra(d, o, t->count) : NULL;
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
    emu_op *o = emu_emit(d, H_nothing, COUNT_CONTROL);
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

bool emu_decode_nothing(decoder *d) {
    return emu_emit(d, H_nothing, COUNT_CONTROL) != NULL;
}

static bool decode_fence(decoder *d) {
    /* made visible to other blocks: one of them may wait for it */
    bool proxy = emu_has_prefix(d, "proxy"), block = emu_has(d, "cta");
    emu_has_prefix(d, "async");
    emu_has(d, "alias");
    emu_has_prefix(d, "tensormap");
    bool initialised = emu_has(d, "mbarrier_init");
    emu_space_of(d);
    if (!block && !proxy && !initialised)
        d->program->ordered = true;
    return emu_emit(d, H_nothing, COUNT_BARRIER) != NULL;
}

static bool decode_trap(decoder *d) {
    return emu_emit(d, H_trap, COUNT_CONTROL) != NULL;
}

static bool decode_pmevent(decoder *d) {
    emu_has(d, "mask");
    return emu_decode_nothing(d);
}

static bool decode_setmaxnreg(decoder *d) {
    return (emu_has(d, "inc") || emu_has(d, "dec")) && emu_decode_nothing(d);
}

static bool decode_griddepcontrol(decoder *d) {
    return (emu_has(d, "wait") || emu_has(d, "launch_dependents")) && emu_decode_nothing(d);
}

static bool decode_nanosleep(decoder *d) {
    return decode_plain_control(d, CONTROL_YIELD);
}

/* One side of a call's transfer: a parameter variable of the caller, or a register or literal. */
static bool decode_transfer(decoder *d, const ptx_operand *p, struct emu_transfer *t, bool result) {
    if (p->kind == PTX_OPERAND_VARIABLE && p->variable->space == PTX_SPACE_PARAM) {
        uint64_t address;
        bool local;
        if (!emu_variable_address(d, p, &address, &local))
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
        emu_op *o = emu_emit_helper(d, H_mov_b64);
        if (!o)
            return false;
        o->d = moved;
        o->a = emu_decode_constant(d, p->value, true);
        *t = (struct emu_transfer){.place = moved, .bytes = 8, .in_register = true};
        return true;
    }
    return emu_decode_unsupported(d);
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

bool emu_is_builtin(const char *name) {
    return builtin_named(name) != BUILTIN_NONE;
}

static bool decode_call(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count, i = 0;
    const ptx_operand *results = NULL, *arguments = NULL;
    if (n && p[0].kind == PTX_OPERAND_VECTOR)
        results = &p[i++];
    if (i >= n)
        return emu_decode_unsupported(d);
    const ptx_operand *callee = &p[i++];
    if (i < n && p[i].kind == PTX_OPERAND_VECTOR)
        arguments = &p[i++];
    int result_count = results ? results->count : 0;
    int argument_count = arguments ? arguments->count : 0;
    struct emu_transfer *all =
        calloc((size_t)result_count + (size_t)argument_count + 1, sizeof *all);
    if (!all)
        return emu_decode_no_memory(d);
    bool ok = true;
    for (int r = 0; r < result_count && ok; r++)
        ok = decode_transfer(d, &results->element[r], &all[r], true);
    for (int a = 0; a < argument_count && ok; a++)
        ok = decode_transfer(d, &arguments->element[a], &all[result_count + a], false);
    bool indirect = callee->kind == PTX_OPERAND_REGISTER;
    uint32_t target = indirect && ok ? emu_source(d, callee, PTX_B64) : 0;
    emu_op *o = ok ? emu_emit(d, H_nothing, COUNT_CALL) : NULL;
    emu_extra *x = o ? emu_add_extra(d, o, 0) : NULL;
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
        return emu_decode_unsupported(d);
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

/* A cluster is one block: its threads arrive and wait at a barrier that programs cannot name. */
static bool decode_cluster_barrier(decoder *d) {
    const bool arrive = emu_has(d, "arrive");
    if ((!arrive && !emu_has(d, "wait")) || !emu_need(d, 0, 0))
        return d->fault->status ? false : emu_decode_unsupported(d);
    emu_op *o = emu_emit(d, H_nothing, COUNT_BARRIER);
    if (!o)
        return false;
    o->control = (uint8_t)(arrive ? CONTROL_CLUSTER_ARRIVE : CONTROL_CLUSTER_WAIT);
    return true;
}

static bool decode_barrier(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count;
    if (emu_has(d, "warp")) {
        if (!emu_need(d, 1, 1))
            return false;
        uint32_t e = emu_source(d, &p[0], PTX_B32);
        emu_op *o = emu_emit(d, H_nothing, COUNT_BARRIER);
        if (o) {
            o->control = CONTROL_WARP_BARRIER;
            o->e = e;
        }
        return o != NULL;
    }
    if (emu_has(d, "cluster"))
        return decode_cluster_barrier(d);
    bool red = emu_has(d, "red"), wait = !emu_has(d, "arrive");
    int first = red ? 1 : 0;
    if (!emu_need(d, red ? 3 : 1, red ? 4 : 2))
        return false;
    int counted = red ? n == 4 : n == 2;
    emu_op flags = {0};
    uint32_t a = emu_source(d, &p[first], PTX_B32);
    uint32_t b = counted ? emu_source(d, &p[first + 1], PTX_B32) : 0;
    uint32_t c = red ? emu_source_predicate(d, &p[n - 1], &flags, OP_NEGATE_C) : 0;
    bool popc = red && emu_has(d, "popc");
    uint32_t to = !red   ? UINT32_MAX
                  : popc ? emu_destination(d, &p[0], PTX_B32)
                         : emu_destination_predicate(d, &p[0]);
    emu_op *o = emu_emit(d, red ? H_barrier_value : H_nothing, COUNT_BARRIER);
    if (!o)
        return false;
    o->control = (uint8_t)(wait ? CONTROL_BARRIER : CONTROL_ARRIVE);
    o->a = a;
    o->b = b;
    o->c = c;
    o->d = to;
    const bool all = emu_has(d, "and"), any = emu_has(d, "or");
    if (red && popc + all + any != 1)
        return emu_decode_unsupported(d);
    o->kind = (uint8_t)(!red   ? BAR_RED_NONE
                        : popc ? BAR_RED_POPC
                        : all  ? BAR_RED_AND
                               : BAR_RED_OR);
    o->flags |= flags.flags | (counted ? OP_COUNTED : 0);
    return !d->fault->status;
}

static bool decode_shfl(decoder *d) {
    bool sync = emu_has(d, "sync");
    if (!emu_need(d, sync ? 5 : 4, sync ? 5 : 4))
        return false;
    const ptx_operand *p = d->in->operand;
    uint32_t a = emu_source(d, &p[1], PTX_B32), b = emu_source(d, &p[2], PTX_B32),
             c = emu_source(d, &p[3], PTX_B32);
    uint32_t e = sync ? emu_source(d, &p[4], PTX_B32) : 0;
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    uint32_t second = p[0].second ? emu_destination_predicate(d, p[0].second) : UINT32_MAX;
    emu_op *o = emu_emit(d, H_shuffle, COUNT_SHUFFLE);
    if (!o)
        return false;
    o->d = to;
    o->second = second;
    o->a = a;
    o->b = b;
    o->c = c;
    o->e = e;
    o->control = (uint8_t)(sync ? CONTROL_GATHER : CONTROL_NONE);
    o->kind = (uint8_t)(emu_has(d, "up")     ? SHUFFLE_UP
                        : emu_has(d, "down") ? SHUFFLE_DOWN
                        : emu_has(d, "bfly") ? SHUFFLE_BUTTERFLY
                                             : SHUFFLE_INDEX);
    emu_has(d, "idx");
    return emu_finish_destination(d, PTX_B32);
}

static bool decode_vote(decoder *d) {
    bool sync = emu_has(d, "sync"), ballot = emu_has(d, "ballot");
    if (!emu_need(d, sync ? 3 : 2, sync ? 3 : 2))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_op flags = {0};
    uint32_t a = emu_source_predicate(d, &p[1], &flags, OP_NEGATE_A);
    uint32_t e = sync ? emu_source(d, &p[2], PTX_B32) : 0;
    uint32_t to = ballot ? emu_destination(d, &p[0], PTX_B32) : emu_destination_predicate(d, &p[0]);
    emu_op *o = emu_emit(d, H_vote, COUNT_VOTE);
    if (!o || to == UINT32_MAX)
        return false;
    o->d = to;
    o->a = a;
    o->e = e;
    o->flags |= flags.flags;
    o->control = (uint8_t)(sync ? CONTROL_GATHER : CONTROL_NONE);
    o->kind = (uint8_t)(ballot              ? VOTE_BALLOT
                        : emu_has(d, "all") ? VOTE_ALL
                        : emu_has(d, "any") ? VOTE_ANY
                                            : VOTE_UNIFORM);
    return !d->fault->status;
}

static bool decode_match(decoder *d) {
    if (!emu_need(d, 3, 3))
        return false;
    const ptx_operand *p = d->in->operand;
    ptx_type t = emu_last_type(d);
    uint32_t a = emu_source(d, &p[1], t), e = emu_source(d, &p[2], PTX_B32);
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    uint32_t second = p[0].second ? emu_destination_predicate(d, p[0].second) : UINT32_MAX;
    emu_op *o = emu_emit(d, H_match, COUNT_VOTE);
    if (!o)
        return false;
    o->d = to;
    o->second = second;
    o->a = a;
    o->e = e;
    o->control = CONTROL_GATHER;
    o->kind = emu_has(d, "all");
    emu_has(d, "any");
    o->flags |= is_wide(t) ? OP_WIDE_D : 0;
    return !d->fault->status;
}

static bool decode_redux(decoder *d) {
    ptx_type t = emu_last_type(d);
    const bool real = t == PTX_F32, add = emu_has(d, "add"), min = emu_has(d, "min");
    const bool max = emu_has(d, "max"), and = emu_has(d, "and"), or = emu_has(d, "or");
    int kind = add                 ? REDUCE_ADD
               : min               ? (is_signed(t) ? REDUCE_MIN_S : REDUCE_MIN_U)
               : max               ? (is_signed(t) ? REDUCE_MAX_S : REDUCE_MAX_U)
               : and               ? REDUCE_AND
               : or                ? REDUCE_OR
               : emu_has(d, "xor") ? REDUCE_XOR
                                   : -1;
    if (real)
        kind = min ? REDUCE_MIN_F : max ? REDUCE_MAX_F : -1;
    if (kind < 0 || ptx_type_bytes(t) != 4 || !emu_need(d, 3, 3))
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t a = emu_source(d, &p[1], t), e = emu_source(d, &p[2], PTX_B32);
    uint32_t to = emu_destination(d, &p[0], PTX_B32);
    emu_op *o = emu_emit(d, H_reduce_32, COUNT_SHUFFLE);
    if (!o)
        return false;
    o->d = to;
    o->a = a;
    o->e = e;
    o->control = CONTROL_GATHER;
    o->kind = (uint8_t)kind;
    o->immediate =
        real ? (emu_has(d, "abs") ? REDUCE_MAGNITUDE : 0) | (emu_has(d, "NaN") ? REDUCE_NAN : 0)
             : 0;
    return !d->fault->status;
}

static bool decode_activemask(decoder *d) {
    if (!emu_need(d, 1, 1))
        return false;
    uint32_t to = emu_destination(d, &d->in->operand[0], PTX_B32);
    emu_op *o = emu_emit(d, H_active_mask, COUNT_VOTE);
    if (o)
        o->d = to;
    return o && emu_finish_destination(d, PTX_B32);
}

static bool decode_elect(decoder *d) {
    if (!emu_need(d, 2, 2) || !d->in->operand[0].second)
        return d->fault->status ? false : emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    uint32_t e = emu_source(d, &p[1], PTX_B32);
    uint32_t to = p[0].kind == PTX_OPERAND_SINK ? UINT32_MAX : emu_destination(d, &p[0], PTX_B32);
    uint32_t second = emu_destination_predicate(d, p[0].second);
    emu_op *o = emu_emit(d, H_elect, COUNT_VOTE);
    if (!o || second == UINT32_MAX)
        return false;
    o->d = to;
    o->second = second;
    o->e = e;
    o->control = CONTROL_GATHER;
    return !d->fault->status;
}

const emu_instruction emu_control_instructions[] = {
    {"activemask", decode_activemask},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"bra", decode_bra},
    {"brkpt", decode_trap},
    {"brx", decode_brx},
    {"call", decode_call},
    {"elect", decode_elect},
    {"exit", decode_exit},
    {"fence", decode_fence},
    {"griddepcontrol", decode_griddepcontrol},
    {"match", decode_match},
    {"membar", decode_fence},
    {"nanosleep", decode_nanosleep},
    {"pmevent", decode_pmevent},
    {"redux", decode_redux},
    {"ret", decode_ret},
    {"setmaxnreg", decode_setmaxnreg},
    {"shfl", decode_shfl},
    {"trap", decode_trap},
    {"vote", decode_vote},
    {NULL, NULL},
};
