/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all handlers, and the loop that runs a warp. Compiled once per instruction set of
 * the host, as the handlers are. */
#include "emulator/machine/execute.h"

/* ---- tables and the loop
 * ------------------------------------------------------------------------- */

const emu_handler EXPORTED(emu_handlers)[HANDLERS] = {
#define OP_1(name, ...)  [H_##name] = EXPORTED(handle_##name),
#define OP_2(name, ...)  [H_##name] = EXPORTED(handle_##name),
#define OP_3(name, ...)  [H_##name] = EXPORTED(handle_##name),
#define OP_4(name, ...)  [H_##name] = EXPORTED(handle_##name),
#define OP_1G(name, ...) [H_##name] = EXPORTED(handle_##name),
#define OP_2G(name, ...) [H_##name] = EXPORTED(handle_##name),
#define OP_3G(name, ...) [H_##name] = EXPORTED(handle_##name),
#define OP_C(name, ...)                                                                            \
    [H_setp_##name] = EXPORTED(handle_setp_##name),                                                \
    [H_compare_##name] = EXPORTED(handle_compare_##name),
#define OP_T(name, ...) [H_##name] = EXPORTED(handle_##name),
#include "emulator/machine/operations.def"
#define X(name) [H_##name] = EXPORTED(handle_##name),
    EMU_SPECIAL_HANDLERS(X)
#undef X
};

enum {
    SPIN_LIMIT = 512,          /* backward branches that watch memory and change none: it spins */
    SPIN_LIMIT_BLIND = 1 << 20 /* the same without even watching */
};

/* True if the current group should give way. */
static bool spins(emu_warp *w) {
    if (w->spin++ == 0)
        w->watched = false;
    if (w->spin < SPIN_LIMIT || (!w->watched && w->spin < SPIN_LIMIT_BLIND))
        return false;
    w->spin = 0;
    return true;
}

/* Runs WARP for about BUDGET backward branches, or until no group of it can go on. */
int EXPORTED(emu_run_warp)(emu_warp *w, uint64_t budget) {
    const emu_op *code = w->program->op;
    emu_count_cell *cell = w->worker->cell;
    const bool counting = w->worker->counting;
    w->spinning = false;
    while (budget) {
        uint32_t limit;
        int chosen = emu_choose_group(w, &limit);
        if (chosen < 0)
            return 0;
        w->current = chosen;
        emu_group *group = &w->group[chosen];
        uint32_t pc = group->pc, first = pc; /* of the run of straight code being counted */
        const uint32_t active = group->mask;
        const uint64_t lanes = (uint64_t)__builtin_popcount(active);
        if (w->frame != group->frame) {
            w->frame = group->frame;
            w->base[0] = group->frame->registers;
        }
        for (;;) {
            if (__builtin_expect(pc >= limit, 0)) {
                if (counting)
                    emu_count_run(cell, first, pc, lanes);
                group->pc = pc;
                break;
            }
            const emu_op *o = &code[pc];
            uint32_t mask = active;
            if (o->guard) {
                uint32_t p = *(const uint32_t *)(w->base[0] + (o->guard - 1));
                mask &= o->guard_negated ? ~p : p;
                if (counting)
                    cell[pc].off += (uint64_t)__builtin_popcount(active & ~mask);
            }
            if (__builtin_expect(o->control == CONTROL_NONE, 1)) {
                pc++;
                if (mask) {
                    w->mask = mask;
                    int status = o->run(w, o);
                    if (__builtin_expect(status != 0, 0)) {
                        if (counting)
                            emu_count_run(cell, first, pc, lanes);
                        group->pc = pc - 1;
                        return status;
                    }
                }
                continue;
            }
            if (o->control == CONTROL_BRANCH && mask == 0) {
                pc++;
                continue;
            }
            if (counting)
                emu_count_run(cell, first, pc + 1, lanes);
            if (o->control != CONTROL_BRANCH) {
                group->pc = pc;
                w->mask = mask;
                w->active = active;
                int status = emu_control_step(w, o, mask);
                if (status)
                    return status;
                break;
            }
            bool backward = o->target <= pc;
            if (mask == active) {
                first = pc = o->target;
                group->pc = pc;
            } else {
                group->pc = pc + 1;
                group->mask = active & ~mask;
                w->group[w->group_count] = *group;
                w->group[w->group_count].pc = o->target;
                w->group[w->group_count].mask = mask;
                chosen = w->group_count++;
            }
            if (backward) {
                w->block->ticks += 8;
                budget--;
                if (__builtin_expect(spins(w), 0)) {
                    w->group[chosen].penalty++;
                    w->spinning = !emu_group_behind(w, chosen);
                    if (w->spinning)
                        return 0;
                    break;
                }
                if (!budget)
                    break;
            }
            if (w->group_count > 1)
                break;
        }
    }
    return 0;
}
