/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the program of a kernel: decodes it and every function it can reach, lays out registers,
 * parameters, local and shared memory, and fills the constant pool. Done at the kernel's first use;
 * a failure is kept and told again at each launch. */
#include "emulator/machine/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECURSION_BYTES = 64 * 1024, FRAME_SLACK = 256, POOL_ALIGNMENT = 64 };

static uint32_t align_up(uint32_t value, uint32_t alignment) {
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

void emu_program_free(emu_program *p) {
    if (!p)
        return;
    for (int i = 0; i < p->extra_count; i++) {
        free(p->extra[i]->result ? p->extra[i]->result : NULL);
        free(p->extra[i]->ref);
        free(p->extra[i]);
    }
    for (int i = 0; i < p->function_count; i++) {
        free(p->function[i].zeroed);
        free(p->function[i].parameter);
        free(p->function[i].returned);
        free(p->function[i].callee);
    }
    free(p->extra);
    free(p->function);
    free(p->op);
    free(p->info);
    free(p->pool);
    free(p->constant);
    free(p->slot);
    free(p->shared);
    free(p);
}

/* ---- functions and variables --------------------------------------------------------------------
 */

static int add_function(emu_program *p, ptx_function *source, int text, uint64_t address) {
    for (int i = 0; i < p->function_count; i++)
        if (p->function[i].source == source)
            return i;
    if (p->function_count == p->function_capacity) {
        int capacity = p->function_capacity ? p->function_capacity * 2 : 8;
        emu_function_code *grown = realloc(p->function, (size_t)capacity * sizeof *grown);
        if (!grown)
            return -1;
        p->function = grown;
        p->function_capacity = capacity;
    }
    p->function[p->function_count] = (emu_function_code){
        .source = source, .text = text, .address = address, .entry = UINT32_MAX};
    return p->function_count++;
}

static bool add_callee(emu_function_code *f, int callee) {
    int *grown = realloc(f->callee, ((size_t)f->callee_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    f->callee = grown;
    f->callee[f->callee_count++] = callee;
    return true;
}

int emu_program_function(decoder *d, const emu_symbol *symbol) {
    int f = add_function(d->program, symbol->function, symbol->text, symbol->address);
    if (f < 0 || !add_callee(&d->program->function[d->function], f))
        emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
    return d->fault->status ? -1 : f;
}

/* Static variables one behind the other; dynamic ones (extern, no size) all where the static ones
 * end, which is known when everything is decoded: see build(). */
bool emu_program_shared(decoder *d, const ptx_variable *v, const char *name, uint64_t *offset) {
    emu_program *p = d->program;
    for (int i = 0; i < p->shared_count; i++) {
        if (p->shared[i].variable == v) {
            *offset = p->shared[i].offset;
            return true;
        }
    }
    if (p->shared_count == p->shared_capacity) {
        int capacity = p->shared_capacity ? p->shared_capacity * 2 : 16;
        void *grown = realloc(p->shared, (size_t)capacity * sizeof *p->shared);
        if (!grown)
            return emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
        p->shared = grown;
        p->shared_capacity = capacity;
    }
    uint32_t at = p->dynamic_base;
    if (v->bytes == 0) {
        p->dynamic = true;
    } else {
        at = align_up(p->shared_bytes, v->alignment);
        if (v->bytes > UINT32_MAX / 2 - at)
            return emu_decode_fail(d, EMU_BAD_PTX, "too much shared memory in %.100s", name);
        p->shared_bytes = at + (uint32_t)v->bytes;
    }
    p->shared[p->shared_count].variable = v;
    p->shared[p->shared_count].name = name;
    p->shared[p->shared_count++].offset = at;
    *offset = at;
    return true;
}

static bool is_kernel_parameter(const decoder *d, const ptx_variable *v, uint32_t *offset) {
    for (int i = 0; d->function == 0 && i < d->source->parameter_count; i++) {
        if (&d->source->parameter[i] == v) {
            *offset = d->kernel->parameter_offset[i];
            return true;
        }
    }
    return false;
}

/* Every variable of the body gets its place before the first instruction is decoded. */
static bool place_variables(decoder *d) {
    const ptx_body *b = d->body;
    d->place = calloc((size_t)b->variable_count + 1, sizeof *d->place);
    if (!d->place)
        return emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
    for (int i = 0; i < b->variable_count; i++) {
        const ptx_variable *v = b->variable[i];
        decoder_place at = {.variable = v};
        uint64_t shared = 0;
        if (v->bytes > UINT32_MAX / 64)
            return emu_decode_fail(d, EMU_BAD_PTX, "variable %.100s is too large", v->name);
        if (v->space == PTX_SPACE_LOCAL) {
            at.offset = align_up(d->local_bytes, v->alignment);
            d->local_bytes = at.offset + (uint32_t)v->bytes;
        } else if (v->space == PTX_SPACE_SHARED) {
            if (!emu_program_shared(d, v, v->name, &shared))
                return false;
            at.offset = (uint32_t)shared;
        } else if (v->space == PTX_SPACE_PARAM) {
            if (!is_kernel_parameter(d, v, &at.offset)) {
                at.area = true;
                at.offset = align_up(d->area_bytes, v->alignment);
                d->area_bytes = at.offset + (uint32_t)v->bytes;
            }
        } else {
            return emu_decode_fail(d, EMU_BAD_PTX, "variable %.100s in a function is not supported",
                                   v->name);
        }
        if (d->local_bytes > 1u << 24 || d->area_bytes > 1u << 20)
            return emu_decode_fail(d, EMU_BAD_PTX, "the variables of %.100s are too large",
                                   d->source->name);
        d->place[d->place_count++] = at;
    }
    d->area_bytes = align_up(d->area_bytes, 16);
    d->local_bytes = align_up(d->local_bytes, 16);
    d->area_offset = d->frame_bytes;
    d->frame_bytes += d->area_bytes * WARP;
    return true;
}

/* Where parameters and results lie in the function's own frame. */
static struct emu_transfer *own_places(decoder *d, const ptx_variable *list, int count, int *reg) {
    struct emu_transfer *t = calloc((size_t)count + 1, sizeof *t);
    if (!t) {
        emu_decode_fail(d, EMU_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        t[i].bytes = (uint32_t)list[i].bytes;
        if (list[i].space == PTX_SPACE_REG) {
            t[i].in_register = true;
            t[i].place = emu_decode_register(d, (*reg)++);
            continue;
        }
        for (int p = 0; p < d->place_count; p++)
            if (d->place[p].variable == &list[i])
                t[i].place = d->place[p].offset;
    }
    return t;
}

/* ---- reads of registers -------------------------------------------------------------------------
 */

static void count_reads(decoder *d, const ptx_operand *p) {
    if (p->kind == PTX_OPERAND_REGISTER)
        d->reads[p->reg]++;
    for (int i = 0; i < p->count; i++)
        count_reads(d, &p->element[i]);
    if (p->second)
        count_reads(d, p->second);
}

static void count_all_reads(decoder *d) {
    static const char *const readers[] = {"st",  "red",  "bar", "barrier",
                                          "bra", "call", "brx", "nanosleep"};
    for (int i = 0; i < d->body->count; i++) {
        const ptx_instruction *in = &d->body->instruction[i];
        bool all = false;
        for (size_t r = 0; r < sizeof readers / sizeof *readers; r++)
            all |= strcmp(in->opcode, readers[r]) == 0;
        for (int o = 0; o < in->operand_count; o++)
            if (all || o > 0 || in->operand[o].kind == PTX_OPERAND_ADDRESS)
                count_reads(d, &in->operand[o]);
    }
}

bool emu_decode_is_read(const decoder *d, int reg) {
    return d->reads[reg] > 0;
}

/* ---- one function -------------------------------------------------------------------------------
 */

/* Branches hold instruction numbers until the function is decoded. */
static void patch_branches(decoder *d, uint32_t first, const uint32_t *start) {
    emu_program *p = d->program;
    for (uint32_t i = first; i < p->op_count; i++) {
        emu_op *o = &p->op[i];
        if (o->control == CONTROL_BRANCH)
            o->target = start[o->target];
        if (o->control == CONTROL_BRANCH_INDEXED)
            for (int t = 0; t < o->extra->count; t++)
                o->extra->target[t] = start[o->extra->target[t]];
    }
}

static bool decode_body(decoder *d, uint32_t *start) {
    for (int i = 0; i < d->body->count; i++) {
        start[i] = d->program->op_count;
        d->in = &d->body->instruction[i];
        if (!emu_decode_instruction(d))
            return false;
    }
    d->in = NULL;
    return true;
}

static bool decode_function(emu_kernel *kernel, emu_program *p, int index, emu_fault *fault) {
    ptx_function *source = p->function[index].source;
    decoder d = {.device = kernel->module->device,
                 .kernel = kernel,
                 .program = p,
                 .fault = fault,
                 .function = index,
                 .text = p->function[index].text,
                 .source = source};
    ptx_error error;
    uint32_t first = p->op_count, *start = NULL;
    bool ok = false;
    if (!ptx_parse_body(kernel->module->text[d.text], source, &error)) {
        emu_fail(fault, EMU_BAD_PTX, "kernel %.200s: line %d of its PTX: %s", kernel->info.name,
                 error.line, error.message);
        fault->ptx_line = error.line;
        goto out;
    }
    d.body = source->body;
    size_t registers = (size_t)d.body->register_count + 1;
    d.slot = malloc(registers * sizeof *d.slot);
    d.reads = calloc(registers, sizeof *d.reads);
    start = calloc((size_t)d.body->count + 1, sizeof *start);
    if (!d.slot || !d.reads || !start) {
        emu_decode_fail(&d, EMU_OUT_OF_MEMORY, "out of host memory");
        goto out;
    }
    memset(d.slot, 0xff, registers * sizeof *d.slot);
    count_all_reads(&d);
    int reg = 0;
    if (!place_variables(&d) ||
        !(p->function[index].parameter =
              own_places(&d, source->parameter, index ? source->parameter_count : 0, &reg)) ||
        !(p->function[index].returned =
              own_places(&d, source->returned, source->return_count, &reg)) ||
        !decode_body(&d, start))
        goto out;
    patch_branches(&d, first, start);
    if (!emu_program_liveness(&d, &p->function[index]))
        goto out;
    emu_function_code *f = &p->function[index];
    f->entry = first;
    f->frame_bytes = align_up(d.frame_bytes + FRAME_SLACK, 64);
    f->local_bytes = d.local_bytes;
    f->area_offset = d.area_offset;
    f->area_bytes = d.area_bytes;
    ok = !fault->status;
out:
    free(d.slot);
    free(d.reads);
    free(d.place);
    free(start);
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

/* Decodes what an indirect call may reach: every function of the module. One that cannot be decoded
 * fails the call and not the kernel. */
static bool add_all_functions(emu_kernel *kernel, emu_program *p, emu_fault *fault) {
    const emu_module *m = kernel->module;
    for (int i = 0; i < m->symbol_count; i++) {
        const emu_symbol *s = &m->symbol[i];
        if (s->function && !s->function->entry && s->function->text &&
            add_function(p, s->function, s->text, s->address) < 0)
            return !emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
    }
    return true;
}

static bool decode_all(emu_kernel *kernel, emu_program *p, emu_fault *fault) {
    bool all_added = false;
    int required = 1;
    for (int i = 0; i < p->function_count; i++) {
        emu_fault mine = {0};
        if (!decode_function(kernel, p, i, &mine)) {
            p->function[i].failed = true;
            p->function[i].failure = mine;
            if (!all_added || i < required) {
                *fault = mine;
                return false;
            }
        }
        if (p->indirect && !all_added && i + 1 == p->function_count) {
            required = p->function_count;
            all_added = true;
            if (!add_all_functions(kernel, p, fault))
                return false;
        }
    }
    return true;
}

static bool is_recursive(emu_program *p, int f, int depth) {
    emu_function_code *code = &p->function[f];
    if (code->visiting || depth > 512)
        return true;
    if (code->decoded)
        return false;
    code->visiting = true;
    bool found = false;
    for (int i = 0; i < code->callee_count && !found; i++)
        found = is_recursive(p, code->callee[i], depth + 1);
    code->visiting = false;
    code->decoded = true; /* looked at */
    return found;
}

static void size_local(emu_program *p) {
    uint64_t bytes = 0;
    for (int i = 0; i < p->function_count; i++)
        bytes += p->function[i].local_bytes;
    p->recursive = p->indirect || is_recursive(p, 0, 0);
    if (p->recursive)
        bytes += RECURSION_BYTES;
    p->local_limit = bytes > 1u << 26 ? 1u << 26 : (uint32_t)bytes;
}

static bool fill_pool(emu_program *p) {
    size_t bytes = align_up(p->pool_bytes + FRAME_SLACK, POOL_ALIGNMENT);
    p->pool = aligned_alloc(POOL_ALIGNMENT, bytes);
    if (!p->pool)
        return false;
    memset(p->pool, 0, bytes);
    for (int i = 0; i < p->constant_count; i++) {
        const emu_constant *c = &p->constant[i];
        for (uint32_t l = 0; l < WARP; l++) {
            if (c->wide)
                memcpy(p->pool + c->offset + 8 * l, &c->value, 8);
            else
                memcpy(p->pool + c->offset + 4 * l, &c->value, 4);
        }
    }
    return true;
}

static emu_program *build(emu_kernel *kernel, uint32_t dynamic_base, emu_fault *fault) {
    emu_program *p = calloc(1, sizeof *p);
    if (!p ||
        add_function(p, (ptx_function *)(uintptr_t)kernel->source, kernel->text_index, 0) < 0) {
        free(p);
        emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    p->dynamic_base = dynamic_base;
    const uint32_t *cluster = kernel->source->cluster;
    if (cluster[0] && (uint64_t)cluster[0] * cluster[1] * cluster[2] > 1) {
        emu_fail(
            fault, EMU_BAD_PTX,
            "kernel %.200s asks for clusters of %u x %u x %u blocks, which the emulated device "
            "does not have",
            kernel->info.name, cluster[0], cluster[1], cluster[2]);
        emu_program_free(p);
        return NULL;
    }
    if (!decode_all(kernel, p, fault)) {
        emu_program_free(p);
        return NULL;
    }
    size_local(p);
    if (!fill_pool(p)) {
        emu_program_free(p);
        emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    return p;
}

static void fill_info(emu_kernel *kernel) {
    const emu_program *p = kernel->program;
    emu_kernel_info *info = &kernel->info;
    info->shared_bytes = p->shared_bytes;
    for (int i = 0; i < kernel->module->symbol_count; i++) {
        const emu_symbol *s = &kernel->module->symbol[i];
        if (s->variable && s->variable->space == PTX_SPACE_CONST)
            info->constant_bytes += (uint32_t)s->variable->bytes;
    }
    if (!info->registers_estimated)
        return;
    info->registers_per_thread = p->registers;
    info->local_bytes_per_thread = p->recursive ? p->local_limit - RECURSION_BYTES : p->local_limit;
}

emu_status emu_program_get(emu_kernel *kernel, emu_program **program, emu_fault *fault) {
    pthread_mutex_lock(&kernel->module->lock);
    if (!kernel->program && !kernel->failed) {
        emu_fault failure = {0};
        emu_program *p = build(kernel, 0, &failure);
        uint32_t base = p ? align_up(p->shared_bytes, 16) : 0;
        if (p && p->dynamic && base) { /* now that it is known where dynamic memory starts */
            emu_program_free(p);
            p = build(kernel, base, &failure);
        }
        kernel->program = p;
        kernel->failed = !p;
        kernel->failure = failure;
        if (p)
            fill_info(kernel);
    }
    *program = kernel->program;
    emu_status status = kernel->failed ? kernel->failure.status : EMU_OK;
    if (status && fault)
        *fault = kernel->failure;
    pthread_mutex_unlock(&kernel->module->lock);
    return status;
}
