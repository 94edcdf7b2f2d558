/* SPDX-License-Identifier: Apache-2.0
 *
 * How the lanes of a warp part and meet: the choice of the group to run, calls and returns, exits,
 * barriers of the block and of the warp, and *.sync operations that gather their members. */
#include "emulator/machine/handlers.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CALL_DEPTH = 2048, FRAME_ALIGNMENT = 64 };

/* ---- groups ------------------------------------------------------------------------------------
 */

/* Who runs first: those not found spinning, the deepest call, the lowest program counter. */
static bool goes_before(const emu_group *a, const emu_group *b) {
    if (a->penalty != b->penalty)
        return a->penalty < b->penalty;
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return a->pc < b->pc;
}

static void remove_group(emu_warp *w, int index) {
    w->group[index] = w->group[--w->group_count];
}

static int merge_into(emu_warp *w, int best) {
    for (int i = w->group_count - 1; i >= 0; i--) {
        const emu_group *g = &w->group[i];
        if (i == best || g->state != GROUP_READY || g->pc != w->group[best].pc ||
            g->frame != w->group[best].frame)
            continue;
        w->group[best].mask |= g->mask;
        int last = w->group_count - 1;
        remove_group(w, i);
        if (best == last)
            best = i;
    }
    return best;
}

int emu_choose_group(emu_warp *w, uint32_t *limit) {
    *limit = UINT32_MAX;
    if (w->group_count == 1) {
        w->group[0].penalty = 0;
        return w->group[0].state == GROUP_READY ? 0 : -1;
    }
    int best = -1;
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_READY &&
            (best < 0 || goes_before(&w->group[i], &w->group[best])))
            best = i;
    if (best < 0)
        return -1;
    best = merge_into(w, best);
    for (int i = 0; i < w->group_count; i++) {
        const emu_group *g = &w->group[i];
        if (g->state == GROUP_READY && g->frame == w->group[best].frame &&
            g->pc > w->group[best].pc && g->pc < *limit)
            *limit = g->pc;
    }
    return best;
}

bool emu_group_behind(const emu_warp *w, int spinner) {
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_READY && w->group[i].penalty < w->group[spinner].penalty)
            return true;
    return false;
}

void emu_split_group(emu_warp *w, uint32_t mask, uint32_t pc) {
    emu_group *current = &w->group[w->current];
    emu_group *added = &w->group[w->group_count++];
    *added = *current;
    added->mask = mask;
    added->pc = pc;
    current->mask &= ~mask;
}

bool emu_warp_ready(const emu_warp *w) {
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_READY)
            return true;
    return false;
}

/* ---- frames ------------------------------------------------------------------------------------
 */

void emu_warp_start(emu_warp *w, uint32_t existing) {
    w->existing = existing;
    w->exited = 0;
    w->cluster_arrived = 0;
    w->spin = 0;
    w->watched = w->spinning = false;
    w->carry = 0;
    w->frame = &w->root;
    w->base[0] = w->root.registers;
    w->root.parent = NULL;
    w->root.depth = 0;
    w->root.function = 0;
    w->root.local_base = 0;
    w->root.lanes = existing;
    w->group_count = 1;
    w->current = 0;
    w->group[0] =
        (emu_group){.mask = existing, .pc = w->program->function[0].entry, .frame = &w->root};
}

void emu_warp_stop(emu_warp *w) {
    for (int i = 0; i < w->group_count; i++) {
        emu_frame *f = w->group[i].frame;
        while (f && f->parent) {
            emu_frame *parent = f->parent;
            f->lanes &= ~w->group[i].mask;
            if (!f->lanes) {
                f->parent = w->spare;
                w->spare = f;
            }
            f = parent;
        }
    }
    w->group_count = 0;
    while (w->spare) {
        emu_frame *next = w->spare->parent;
        free(w->spare->registers);
        free(w->spare);
        w->spare = next;
    }
}

static emu_frame *take_frame(emu_warp *w, size_t bytes) {
    emu_frame **link = &w->spare;
    while (*link && (*link)->capacity < bytes)
        link = &(*link)->parent;
    emu_frame *f = *link;
    if (f) {
        *link = f->parent;
        return f;
    }
    f = calloc(1, sizeof *f);
    size_t capacity = (bytes + FRAME_ALIGNMENT) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
    uint8_t *registers = f ? aligned_alloc(FRAME_ALIGNMENT, capacity) : NULL;
    if (!registers) {
        free(f);
        return NULL;
    }
    memset(registers, 0, capacity);
    f->registers = registers;
    f->capacity = capacity;
    return f;
}

static void zero_registers(uint8_t *registers, const emu_function_code *code) {
    for (int i = 0; i < code->zeroed_count; i++) {
        uint32_t z = code->zeroed[i];
        memset(registers + (z & ~3u), 0, z & 2 ? 4 : z & 1 ? 8 * WARP : 4 * WARP);
    }
}

/* Bytes of one parameter of one lane, between areas and registers of two frames. */
static void transfer(uint8_t *to, const struct emu_transfer *t, const emu_function_code *to_code,
                     const uint8_t *from, const struct emu_transfer *f,
                     const emu_function_code *from_code, uint32_t mask) {
    uint32_t bytes = t->bytes < f->bytes ? t->bytes : f->bytes;
    for (uint32_t l = 0; l < WARP; l++) {
        if (!(mask >> l & 1))
            continue;
        uint32_t width = bytes <= 4 ? 4 : 8;
        const uint8_t *source = f->in_register ? from + f->place + (size_t)l * width
                                               : from + from_code->area_offset +
                                                     (size_t)l * from_code->area_bytes + f->place;
        uint8_t *target =
            t->in_register ? to + t->place + (size_t)l * width
                           : to + to_code->area_offset + (size_t)l * to_code->area_bytes + t->place;
        if (t->in_register)
            memset(target, 0, width);
        memcpy(target, source, bytes);
    }
}

static int call_function(emu_warp *w, const emu_op *o, int function, uint32_t mask) {
    const emu_function_code *callee = &w->program->function[function];
    const emu_function_code *caller = &w->program->function[w->frame->function];
    int lane = __builtin_ctz(mask);
    if (callee->failed) {
        w->worker->fault = callee->failure;
        return callee->failure.status;
    }
    uint32_t base = w->frame->local_base + caller->local_bytes;
    if (w->frame->depth >= MAX_CALL_DEPTH || base + callee->local_bytes > w->program->local_limit)
        return emu_fault_lane(w, o, lane, EMU_ILLEGAL_ADDRESS, 0,
                              "stack overflow: call depth %d, %u bytes of local memory a thread",
                              w->frame->depth, w->program->local_limit);
    emu_frame *f = take_frame(w, callee->frame_bytes);
    if (!f)
        return emu_fault_lane(w, o, lane, EMU_OUT_OF_MEMORY, 0, "out of host memory in a call");
    zero_registers(f->registers, callee);
    f->parent = w->frame;
    f->depth = w->frame->depth + 1;
    f->lanes = mask;
    f->function = function;
    f->local_base = base;
    f->call = o->extra;
    f->return_pc = w->group[w->current].pc + 1;
    for (int i = 0; i < o->extra->argument_count && i < callee->source->parameter_count; i++)
        transfer(f->registers, &callee->parameter[i], callee, w->frame->registers,
                 &o->extra->argument[i], caller, mask);
    emu_group *g = &w->group[w->current];
    g->frame = f;
    g->pc = callee->entry;
    return 0;
}

static int call_indirect(emu_warp *w, const emu_op *o, uint32_t mask) {
    const uint64_t *address = (const uint64_t *)(w->base[o->a & 1] + o->a);
    int lane = __builtin_ctz(mask);
    uint64_t target = address[lane];
    uint32_t same = 0;
    for (uint32_t l = 0; l < WARP; l++)
        if (mask >> l & 1 && address[l] == target)
            same |= 1u << l;
    int function = -1;
    for (int i = 0; i < w->program->function_count && function < 0; i++)
        if (w->program->function[i].address == target && target)
            function = i;
    if (function < 0)
        return emu_fault_lane(w, o, lane, EMU_ILLEGAL_INSTRUCTION, target,
                              "indirect call of 0x%llx, which is no function of the module",
                              (unsigned long long)target);
    if (same != mask) /* the others come back to this call with their own target */
        emu_split_group(w, mask & ~same, w->group[w->current].pc);
    return call_function(w, o, function, same);
}

/* ---- barriers of the block ---------------------------------------------------------------------
 */

static void open_barrier(emu_block *b, int id) {
    for (int i = 0; i < b->warp_count; i++) {
        emu_warp *w = &b->warp[i];
        for (int g = 0; g < w->group_count; g++) {
            emu_group *group = &w->group[g];
            if (group->state != GROUP_BARRIER || group->barrier != id)
                continue;
            const emu_op *o = &w->program->op[group->pc];
            if (o->kind != BAR_RED_NONE) {
                w->frame = group->frame;
                w->base[0] = group->frame->registers;
                w->mask = group->waiting;
                w->compare[0] = (uint32_t)id;
                o->run(w, o);
            }
            group->state = GROUP_READY;
            group->pc++;
        }
    }
    b->barrier[id].arrived = 0;
    b->barrier[id].pending = false;
}

static void check_barrier(emu_block *b, int id) {
    emu_barrier *bar = &b->barrier[id];
    uint32_t expected = bar->expected ? bar->expected : b->threads - b->exited;
    if (bar->pending && bar->arrived >= expected)
        open_barrier(b, id);
}

static uint32_t lane_value(const emu_warp *w, uint32_t ref, uint32_t mask) {
    return ((const uint32_t *)(w->base[ref & 1] + ref))[__builtin_ctz(mask)];
}

static int arrive(emu_warp *w, const emu_op *o, uint32_t mask, bool wait) {
    emu_block *b = w->block;
    uint32_t id = lane_value(w, o->a, mask), expected = 0;
    int lane = __builtin_ctz(mask);
    if (id >= MAX_BARRIERS)
        return emu_fault_lane(w, o, lane, EMU_ILLEGAL_INSTRUCTION, 0, "there is no barrier %u", id);
    if (o->flags & OP_COUNTED) {
        expected = lane_value(w, o->b, mask);
        if (expected == 0 || expected % WARP)
            return emu_fault_lane(w, o, lane, EMU_ILLEGAL_INSTRUCTION, 0,
                                  "barrier %u for %u threads: not a multiple of 32", id, expected);
    }
    emu_barrier *bar = &b->barrier[id];
    if (!bar->pending)
        *bar = (emu_barrier){.pending = true, .red_and = 1};
    if (expected)
        bar->expected = expected;
    /* lanes that do not exist in the last warp count with a whole warp where threads are counted */
    bar->arrived += expected && mask == w->existing ? WARP : (uint32_t)__builtin_popcount(mask);
    if (o->kind != BAR_RED_NONE) {
        uint32_t p = *(const uint32_t *)(w->base[o->c & 1] + o->c);
        p = (o->flags & OP_NEGATE_C ? ~p : p) & mask;
        bar->red_count += (uint32_t)__builtin_popcount(p);
        bar->red_or |= p != 0;
        bar->red_and &= p == mask;
    }
    emu_group *g = &w->group[w->current];
    if (wait) {
        if (mask != w->active)
            emu_split_group(w, w->active & ~mask, g->pc + 1);
        g->state = GROUP_BARRIER;
        g->barrier = (int)id;
        g->waiting = mask;
    } else {
        g->pc++;
    }
    check_barrier(b, (int)id);
    return 0;
}

/* The cluster's barrier: a thread arrives, and later waits for the others to have arrived. */
static void check_cluster(emu_block *b) {
    emu_barrier *bar = &b->barrier[CLUSTER_BARRIER];
    if (!bar->pending || bar->arrived < b->threads - b->exited)
        return;
    for (int i = 0; i < b->warp_count; i++)
        b->warp[i].cluster_arrived = 0;
    open_barrier(b, CLUSTER_BARRIER);
}

static void arrive_cluster(emu_warp *w, uint32_t mask) {
    emu_barrier *bar = &w->block->barrier[CLUSTER_BARRIER];
    bar->pending = true;
    bar->arrived += (uint32_t)__builtin_popcount(mask);
    w->cluster_arrived |= mask;
    w->group[w->current].pc++;
    check_cluster(w->block);
}

static void wait_cluster(emu_warp *w, uint32_t mask) {
    emu_group *g = &w->group[w->current];
    uint32_t waiting = mask & w->cluster_arrived;
    if (!waiting) {
        g->pc++;
        return;
    }
    if (waiting != w->active) {
        emu_split_group(w, w->active & ~waiting, g->pc + 1);
        g = &w->group[w->current];
    }
    g->state = GROUP_BARRIER;
    g->barrier = CLUSTER_BARRIER;
    g->waiting = waiting;
}

/* ---- barriers of the warp, gathering -----------------------------------------------------------
 */

static void check_warp_barriers(emu_warp *w) {
    uint32_t waiting = 0;
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_WARP_BARRIER)
            waiting |= w->group[i].mask;
    for (int i = 0; waiting && i < w->group_count; i++) {
        emu_group *g = &w->group[i];
        if (g->state == GROUP_WARP_BARRIER && !(g->members & w->existing & ~w->exited & ~waiting)) {
            g->state = GROUP_READY;
            g->pc++;
        }
    }
}

/* All the members that lanes of mask name. Lanes that arrive together need not name the same ones:
 * the tiles of a partitioned warp run in step. */
static uint32_t named_members(const emu_warp *w, uint32_t ref, uint32_t mask) {
    const uint32_t *value = (const uint32_t *)(w->base[ref & 1] + ref);
    uint32_t members = 0;
    for (uint32_t l = 0; l < WARP; l++)
        members |= mask >> l & 1 ? value[l] : 0;
    return members;
}

/* Runs a *.sync once for each set of members that its lanes name: a vote or a sum of one tile takes
 * in nothing of another. Shuffles need no such care: a lane reads from its own members. */
static int run_by_members(emu_warp *w, const emu_op *o) {
    const uint32_t *value = (const uint32_t *)(w->base[o->e & 1] + o->e);
    uint32_t all = w->mask, named[WARP];
    memcpy(named, value, sizeof named); /* the result may go where the members came from */
    int status = 0;
    for (uint32_t rest = all; rest && !status; rest &= ~w->mask) {
        uint32_t first = (uint32_t)__builtin_ctz(rest);
        w->mask = 0;
        for (uint32_t l = first; l < WARP; l++)
            w->mask |= rest >> l & 1 && named[l] == named[first] ? 1u << l : 0;
        status = o->run(w, o);
    }
    w->mask = all;
    return status;
}

static void wait_for_warp(emu_warp *w, const emu_op *o, uint32_t mask) {
    emu_group *g = &w->group[w->current];
    uint32_t members = named_members(w, o->e, mask);
    if (!(members & w->existing & ~w->exited & ~w->active)) {
        g->pc++;
        return;
    }
    if (mask != w->active)
        emu_split_group(w, w->active & ~mask, g->pc + 1);
    g->members = members;
    g->state = GROUP_WARP_BARRIER;
    check_warp_barriers(w);
}

static uint32_t guarded(const emu_warp *w, const emu_op *o, uint32_t active) {
    if (!o->guard)
        return active;
    uint32_t p = *(const uint32_t *)(w->base[0] + (o->guard - 1));
    return active & (o->guard_negated ? ~p : p);
}

/* A group that parks has not executed its instruction yet: takes the count back. */
static void uncount(emu_warp *w, uint32_t pc, uint32_t mask) {
    if (!w->worker->counting)
        return;
    emu_count_cell *c = &w->worker->cell[pc];
    uint64_t lanes = (uint64_t)__builtin_popcount(w->active);
    c[0].warps--;
    c[1].warps++;
    c[0].active -= lanes;
    c[1].active += lanes;
    c[0].off -= (uint64_t)__builtin_popcount(w->active & ~mask);
}

static int gather(emu_warp *w, const emu_op *o, uint32_t mask) {
    emu_group *g = &w->group[w->current];
    uint32_t pc = g->pc;
    uint32_t needed = named_members(w, o->e, mask) & w->existing & ~w->exited;
    uint32_t present = w->active;
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_GATHER && w->group[i].pc == pc &&
            w->group[i].frame == g->frame)
            present |= w->group[i].mask;
    if ((needed & ~present) && !g->forced) {
        uncount(w, pc, mask);
        g->state = GROUP_GATHER;
        return 0;
    }
    for (int i = w->group_count - 1; i >= 0 && present != w->active; i--) {
        if (w->group[i].state != GROUP_GATHER || w->group[i].pc != pc ||
            w->group[i].frame != g->frame)
            continue;
        uint32_t joined = w->group[i].mask;
        if (w->worker->counting) {
            emu_count_cell *c = &w->worker->cell[pc];
            c[0].active += (uint64_t)__builtin_popcount(joined);
            c[1].active -= (uint64_t)__builtin_popcount(joined);
            c[0].off += (uint64_t)__builtin_popcount(joined & ~guarded(w, o, joined));
        }
        w->group[w->current].mask |= joined;
        int last = w->group_count - 1;
        remove_group(w, i);
        if (w->current == last)
            w->current = i;
    }
    g = &w->group[w->current];
    g->forced = false;
    w->active = g->mask;
    w->mask = guarded(w, o, g->mask);
    g->pc = pc + 1;
    bool shuffle = o->run == w->worker->device->handlers[H_shuffle];
    return shuffle ? o->run(w, o) : run_by_members(w, o);
}

bool emu_force_gather(emu_warp *w) {
    emu_group *first = NULL;
    for (int i = 0; i < w->group_count; i++) {
        emu_group *g = &w->group[i];
        if ((g->state == GROUP_GATHER || g->state == GROUP_WARP_BARRIER) &&
            (!first || g->pc < first->pc))
            first = g;
    }
    if (!first)
        return false;
    if (first->state == GROUP_GATHER)
        first->forced = true;
    else
        first->pc++;
    first->state = GROUP_READY;
    return true;
}

/* ---- leaving -----------------------------------------------------------------------------------
 */

static void release_frames(emu_warp *w, emu_frame *f, uint32_t mask) {
    while (f && f->parent) {
        emu_frame *parent = f->parent;
        f->lanes &= ~mask;
        if (!f->lanes) {
            f->parent = w->spare;
            w->spare = f;
        }
        f = parent;
    }
}

static void leave(emu_warp *w, uint32_t mask) {
    emu_block *b = w->block;
    emu_group *g = &w->group[w->current];
    release_frames(w, g->frame, mask);
    w->exited |= mask;
    b->exited += (uint32_t)__builtin_popcount(mask);
    g->mask &= ~mask;
    g->pc++;
    if (!g->mask)
        remove_group(w, w->current);
    check_warp_barriers(w);
    /* groups that gathered for members which are gone look again */
    for (int i = 0; i < w->group_count; i++)
        if (w->group[i].state == GROUP_GATHER)
            w->group[i].state = GROUP_READY;
    for (int id = 0; id < MAX_BARRIERS; id++)
        if (b->barrier[id].pending && !b->barrier[id].expected)
            check_barrier(b, id);
    check_cluster(b);
}

static void return_from(emu_warp *w, uint32_t mask) {
    emu_group *g = &w->group[w->current];
    emu_frame *f = g->frame, *parent = f->parent;
    const emu_function_code *callee = &w->program->function[f->function];
    const emu_function_code *caller = &w->program->function[parent->function];
    if (mask != w->active)
        emu_split_group(w, w->active & ~mask, g->pc + 1);
    for (int i = 0; i < f->call->result_count && i < callee->source->return_count; i++)
        transfer(parent->registers, &f->call->result[i], caller, f->registers, &callee->returned[i],
                 callee, mask);
    g->frame = parent;
    g->pc = f->return_pc;
    f->lanes &= ~mask;
    if (!f->lanes) {
        f->parent = w->spare;
        w->spare = f;
    }
}

static int branch_indexed(emu_warp *w, const emu_op *o, uint32_t mask) {
    const uint32_t *index = (const uint32_t *)(w->base[o->a & 1] + o->a);
    emu_group *g = &w->group[w->current];
    int lane = __builtin_ctz(mask);
    uint32_t chosen = index[lane], same = 0;
    if (chosen >= (uint32_t)o->extra->count)
        return emu_fault_lane(w, o, lane, EMU_ILLEGAL_INSTRUCTION, 0,
                              "brx.idx with index %u of %d targets", chosen, o->extra->count);
    for (uint32_t l = 0; l < WARP; l++)
        if (mask >> l & 1 && index[l] == chosen)
            same |= 1u << l;
    uint32_t pc = g->pc, rest = w->active & ~mask;
    if (mask & ~same)
        emu_split_group(w, mask & ~same, pc);
    if (rest)
        emu_split_group(w, rest, pc + 1);
    w->group[w->current].pc = o->extra->target[chosen];
    return 0;
}

int emu_control_step(emu_warp *w, const emu_op *o, uint32_t mask) {
    emu_group *g = &w->group[w->current];
    if (!mask) {
        g->pc++;
        return 0;
    }
    int status = 0;
    switch ((emu_control)o->control) {
    case CONTROL_CALL:
    case CONTROL_CALL_INDIRECT:
        if (o->control == CONTROL_CALL && o->extra->builtin != BUILTIN_NONE) {
            g->pc++;
            return emu_call_builtin(w, o);
        }
        if (mask != w->active)
            emu_split_group(w, w->active & ~mask, g->pc + 1);
        return o->control == CONTROL_CALL ? call_function(w, o, o->extra->function, mask)
                                          : call_indirect(w, o, mask);
    case CONTROL_RETURN:
        if (g->frame->parent) {
            return_from(w, mask);
            return 0;
        }
        leave(w, mask);
        return 0;
    case CONTROL_EXIT:
        leave(w, mask);
        return 0;
    case CONTROL_BRANCH_INDEXED:
        return branch_indexed(w, o, mask);
    case CONTROL_BARRIER:
        return arrive(w, o, mask, true);
    case CONTROL_ARRIVE:
        return arrive(w, o, mask, false);
    case CONTROL_CLUSTER_ARRIVE:
        arrive_cluster(w, mask);
        return 0;
    case CONTROL_CLUSTER_WAIT:
        wait_cluster(w, mask);
        return 0;
    case CONTROL_WARP_BARRIER:
        wait_for_warp(w, o, mask);
        return 0;
    case CONTROL_GATHER:
        return gather(w, o, mask);
    case CONTROL_YIELD:
        g->pc++;
        w->spin += 64;
        w->watched = true;
        return 0;
    case CONTROL_NONE:
    case CONTROL_BRANCH:
        break;
    }
    return status;
}
