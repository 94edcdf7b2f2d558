/* SPDX-License-Identifier: Apache-2.0
 *
 * Liveness of registers over a function's basic blocks: how many 32-bit registers are live at once
 * at most (an estimate of what ptxas would allocate), and which are read before they are written
 * (they start at zero, so that no launch depends on the one before). Backward data flow over bit
 * sets; a write under a guard does not end a register's life, since lanes may keep the old value.
 */
#include "emulator/machine/decode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 16 << 20, LEAST_REGISTERS = 16, MOST_REGISTERS = 255 };

typedef struct block {
    int first, end;             /* instructions */
    int successor[2];           /* blocks, -1: none */
    const ptx_targets *targets; /* of a branch table */
} block;

typedef struct flow {
    const ptx_body *body;
    block *block;
    int count;
    int *block_of; /* by instruction */
    size_t words;  /* of a set */
    uint64_t *in;  /* live at the start, by block */
} flow;

static bool is_one_of(const char *opcode, const char *const *list) {
    for (; *list; list++)
        if (strcmp(opcode, *list) == 0)
            return true;
    return false;
}

static bool ends_block(const ptx_instruction *in) {
    static const char *const enders[] = {"bra", "brx", "ret", "exit", NULL};
    return is_one_of(in->opcode, enders);
}

/* Whether operand 0 is written. */
static bool writes_first(const ptx_instruction *in) {
    static const char *const readers[] = {"st",  "red",       "bra",      "brx",     "cp",
                                          "ret", "nanosleep", "prefetch", "discard", NULL};
    if (is_one_of(in->opcode, readers) || !in->operand_count)
        return false;
    if (strcmp(in->opcode, "bar") == 0 || strcmp(in->opcode, "barrier") == 0) {
        for (int i = 0; i < in->modifier_count; i++)
            if (strcmp(in->modifier[i], "red") == 0)
                return true;
        return false;
    }
    if (strcmp(in->opcode, "call") == 0) /* the callee, if there are no results */
        return in->operand[0].kind == PTX_OPERAND_VECTOR;
    return in->operand[0].kind != PTX_OPERAND_ADDRESS;
}

static void set_bits(uint64_t *set, const ptx_operand *p, bool on) {
    if (p->kind == PTX_OPERAND_REGISTER) {
        uint64_t bit = UINT64_C(1) << (p->reg & 63);
        if (on)
            set[p->reg >> 6] |= bit;
        else
            set[p->reg >> 6] &= ~bit;
    }
    for (int i = 0; i < p->count; i++)
        set_bits(set, &p->element[i], on);
    if (p->second)
        set_bits(set, p->second, on);
}

/* Takes LIVE from after IN to before it. */
static void step_back(const ptx_instruction *in, uint64_t *live) {
    bool writes = writes_first(in);
    if (writes && in->guard < 0)
        set_bits(live, &in->operand[0], false);
    for (int i = writes ? 1 : 0; i < in->operand_count; i++)
        set_bits(live, &in->operand[i], true);
    if (in->guard >= 0)
        live[in->guard >> 6] |= UINT64_C(1) << (in->guard & 63);
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

static void mark_leaders(const ptx_body *b, uint8_t *leader) {
    leader[0] = 1;
    for (int i = 0; i < b->count; i++) {
        const ptx_instruction *in = &b->instruction[i];
        if (!ends_block(in))
            continue;
        if (i + 1 < b->count)
            leader[i + 1] = 1;
        for (int o = 0; o < in->operand_count; o++) {
            const ptx_operand *p = &in->operand[o];
            if (p->kind == PTX_OPERAND_LABEL)
                leader[p->target] = 1;
            for (int t = 0;
                 p->kind == PTX_OPERAND_TARGETS && p->targets->index && t < p->targets->count; t++)
                leader[p->targets->index[t]] = 1;
        }
    }
}

static void connect(flow *f) {
    for (int b = 0; b < f->count; b++) {
        block *k = &f->block[b];
        const ptx_instruction *last = &f->body->instruction[k->end - 1];
        k->successor[0] = k->successor[1] = -1;
        bool falls = !ends_block(last) || last->guard >= 0;
        if (falls && b + 1 < f->count)
            k->successor[0] = b + 1;
        if (strcmp(last->opcode, "bra") == 0 && last->operand_count &&
            last->operand[0].kind == PTX_OPERAND_LABEL)
            k->successor[1] = f->block_of[last->operand[0].target];
        if (strcmp(last->opcode, "brx") == 0 && last->operand_count > 1 &&
            last->operand[1].kind == PTX_OPERAND_TARGETS)
            k->targets = last->operand[1].targets;
    }
}

static bool cut_blocks(flow *f) {
    const ptx_body *b = f->body;
    uint8_t *leader = calloc((size_t)b->count + 1, 1);
    if (!leader)
        return false;
    mark_leaders(b, leader);
    for (int i = 0; i < b->count; i++)
        f->count += leader[i];
    f->block = calloc((size_t)f->count + 1, sizeof *f->block);
    f->block_of = calloc((size_t)b->count + 1, sizeof *f->block_of);
    if (f->block && f->block_of) {
        int at = -1;
        for (int i = 0; i < b->count; i++) {
            if (leader[i])
                f->block[++at].first = i;
            f->block[at].end = i + 1;
            f->block_of[i] = at;
        }
        connect(f);
    }
    free(leader);
    return f->block && f->block_of;
}

/* ---- data flow ----------------------------------------------------------------------------------
 */

static void join(uint64_t *live, const flow *f, int successor) {
    const uint64_t *from = f->in + (size_t)successor * f->words;
    for (size_t i = 0; i < f->words; i++)
        live[i] |= from[i];
}

static void live_after(const flow *f, const block *b, uint64_t *live) {
    memset(live, 0, f->words * sizeof *live);
    for (int s = 0; s < 2; s++)
        if (b->successor[s] >= 0)
            join(live, f, b->successor[s]);
    for (int t = 0; b->targets && b->targets->index && t < b->targets->count; t++)
        join(live, f, f->block_of[b->targets->index[t]]);
}

static void solve(flow *f, uint64_t *live) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = f->count - 1; b >= 0; b--) {
            const block *k = &f->block[b];
            live_after(f, k, live);
            for (int i = k->end - 1; i >= k->first; i--)
                step_back(&f->body->instruction[i], live);
            uint64_t *in = f->in + (size_t)b * f->words;
            if (memcmp(in, live, f->words * sizeof *live) != 0) {
                memcpy(in, live, f->words * sizeof *live);
                changed = true;
            }
        }
    }
}

static uint32_t weight(const flow *f, const uint64_t *live) {
    uint32_t total = 0;
    for (size_t w = 0; w < f->words; w++) {
        for (uint64_t left = live[w]; left; left &= left - 1) {
            ptx_type t = f->body->register_type[w * 64 + (size_t)__builtin_ctzll(left)];
            total += t == PTX_PRED ? 0 : (ptx_type_bytes(t) + 3) / 4;
        }
    }
    return total;
}

static uint32_t most_live(const flow *f, uint64_t *live) {
    uint32_t most = 0;
    for (int b = 0; b < f->count; b++) {
        const block *k = &f->block[b];
        live_after(f, k, live);
        for (int i = k->end - 1; i >= k->first; i--) {
            step_back(&f->body->instruction[i], live);
            uint32_t now = weight(f, live);
            most = now > most ? now : most;
        }
    }
    return most;
}

static bool note_zeroed(const decoder *d, const flow *f, emu_function_code *code) {
    int n = 0;
    for (size_t w = 0; w < f->words; w++)
        n += 2 * __builtin_popcountll(f->in[w]); /* registers of 128 bits are two of 64 */
    code->zeroed = calloc((size_t)n + 1, sizeof *code->zeroed);
    if (!code->zeroed)
        return false;
    for (size_t w = 0; w < f->words; w++) {
        for (uint64_t left = f->in[w]; left; left &= left - 1) {
            size_t reg = w * 64 + (size_t)__builtin_ctzll(left);
            ptx_type t = f->body->register_type[reg];
            if (d->slot[reg] == UINT32_MAX)
                continue;
            if (ptx_type_bytes(t) > 8)
                code->zeroed[code->zeroed_count++] = (d->slot[reg] + 8 * WARP) | 1;
            code->zeroed[code->zeroed_count++] = d->slot[reg] | (t == PTX_PRED           ? 2
                                                                 : ptx_type_bytes(t) > 4 ? 1
                                                                                         : 0);
        }
    }
    return true;
}

bool emu_program_liveness(decoder *d, emu_function_code *code) {
    flow f = {.body = d->body, .words = ((size_t)d->body->register_count + 64) / 64};
    uint64_t *live = NULL;
    uint32_t most = MOST_REGISTERS;
    bool done = false;
    if (!cut_blocks(&f))
        goto out;
    if (f.words * (size_t)f.count > MAX_WORDS) {
        done = true; /* too large to be worth it: as many as there can be */
        goto out;
    }
    f.in = calloc(f.words * (size_t)f.count, sizeof *f.in);
    live = calloc(f.words, sizeof *live);
    if (!f.in || !live)
        goto out;
    solve(&f, live);
    most = most_live(&f, live);
    done = note_zeroed(d, &f, code);
out:
    free(f.in);
    free(live);
    free(f.block);
    free(f.block_of);
    if (!done)
        return emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
    most = most < LEAST_REGISTERS ? LEAST_REGISTERS : most > MOST_REGISTERS ? MOST_REGISTERS : most;
    const uint32_t limit = d->kernel->source->max_registers;
    if (limit && most > limit)
        most = limit;
    if (most > d->program->registers)
        d->program->registers = most;
    return true;
}
