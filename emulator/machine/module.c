/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules: links the symbols of one or several PTX texts, gives variables their places in device
 * memory and their initial values, and lists the kernels. */
#include "emulator/machine/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

emu_status emu_fail(emu_fault *fault, emu_status status, const char *format, ...) {
    if (!fault)
        return status;
    *fault = (emu_fault){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- symbols ----------------------------------------------------------------------------------
 */

static uint32_t hash_name(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static emu_symbol *find(const emu_module *m, const char *name, int text, bool local) {
    emu_symbol *s = m->buckets ? m->table[hash_name(name) & (m->buckets - 1)] : NULL;
    for (; s; s = s->next)
        if (s->local == local && (!local || s->text == text) && strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

emu_symbol *emu_module_find(const emu_module *module, const char *name, int text) {
    emu_symbol *s = find(module, name, text, true);
    return s ? s : find(module, name, text, false);
}

/* How much a definition counts against another of its name. */
static int strength(ptx_linkage linkage, bool defined) {
    if (!defined)
        return 0;
    return linkage == PTX_LINK_COMMON ? 1 : linkage == PTX_LINK_WEAK ? 2 : 3;
}

static bool is_defined(const emu_symbol *s) {
    return s->variable
               ? s->variable->linkage != PTX_LINK_EXTERN || s->variable->space == PTX_SPACE_SHARED
               : s->function->text != NULL;
}

static ptx_linkage linkage_of(const emu_symbol *s) {
    return s->variable ? s->variable->linkage : s->function->linkage;
}

/* Symbols are made once, before anybody points at them: the array has its final size. */
static emu_status add_symbol(emu_module *m, emu_symbol symbol, emu_fault *fault) {
    symbol.local = linkage_of(&symbol) == PTX_LINK_LOCAL;
    emu_symbol *old = find(m, symbol.name, symbol.text, symbol.local);
    if (old) {
        int had = strength(linkage_of(old), is_defined(old));
        int has = strength(linkage_of(&symbol), is_defined(&symbol));
        if (!old->variable != !symbol.variable)
            return emu_fail(fault, EMU_BAD_PTX, "%.200s is both a variable and a function",
                            symbol.name);
        if (had == 3 && has == 3)
            return emu_fail(fault, EMU_BAD_PTX, "%.200s is defined twice", symbol.name);
        if (has > had) {
            old->variable = symbol.variable;
            old->function = symbol.function;
            old->text = symbol.text;
        }
        return EMU_OK;
    }
    emu_symbol *s = &m->symbol[m->symbol_count++];
    *s = symbol;
    emu_symbol **slot = &m->table[hash_name(s->name) & (m->buckets - 1)];
    s->next = *slot;
    *slot = s;
    return EMU_OK;
}

static emu_status collect_symbols(emu_module *m, emu_fault *fault) {
    int total = 0;
    for (int t = 0; t < m->text_count; t++)
        total += ptx_module_function_count(m->text[t]) + ptx_module_variable_count(m->text[t]);
    m->buckets = 64;
    while (m->buckets < (uint32_t)total)
        m->buckets *= 2;
    m->symbol = calloc((size_t)total + 1, sizeof *m->symbol);
    m->table = calloc(m->buckets, sizeof(*m->table));
    if (!m->symbol || !m->table)
        return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
    for (int t = 0; t < m->text_count; t++) {
        emu_status status = EMU_OK;
        for (int i = 0; i < ptx_module_variable_count(m->text[t]) && !status; i++) {
            const ptx_variable *v = ptx_module_variable(m->text[t], i);
            status = add_symbol(m, (emu_symbol){.name = v->name, .text = t, .variable = v}, fault);
        }
        for (int i = 0; i < ptx_module_function_count(m->text[t]) && !status; i++) {
            ptx_function *f = ptx_module_function(m->text[t], i);
            status = add_symbol(m, (emu_symbol){.name = f->name, .text = t, .function = f}, fault);
        }
        if (status)
            return status;
    }
    return EMU_OK;
}

/* ---- variables --------------------------------------------------------------------------------
 */

static bool in_memory(const emu_symbol *s) {
    return s->variable && is_defined(s) && s->variable->space != PTX_SPACE_SHARED;
}

static emu_status place_variables(emu_module *m, emu_fault *fault) {
    for (int i = 0; i < m->symbol_count; i++) {
        emu_symbol *s = &m->symbol[i];
        if (s->function)
            s->address = FUNCTION_WINDOW + 16 * ((uint64_t)i + 1);
        if (!in_memory(s))
            continue;
        const ptx_variable *v = s->variable;
        uint64_t bytes = v->bytes ? v->bytes : 1;
        emu_status status =
            emu_memory_allocate(m->device, v->managed ? EMU_MEMORY_MANAGED : EMU_MEMORY_DEVICE,
                                bytes, &s->address, fault);
        if (status)
            return status;
        uint8_t *at = (uint8_t *)(uintptr_t)s->address;
        if (v->initial_bytes)
            memcpy(at, v->initial, v->initial_bytes);
        memset(at + v->initial_bytes, 0, bytes - v->initial_bytes);
    }
    return EMU_OK;
}

static emu_status relocate(emu_module *m, emu_fault *fault) {
    for (int i = 0; i < m->symbol_count; i++) {
        emu_symbol *s = &m->symbol[i];
        for (int r = 0; in_memory(s) && r < s->variable->relocation_count; r++) {
            const ptx_relocation *rel = &s->variable->relocations[r];
            const emu_symbol *to = emu_module_find(m, rel->name, s->text);
            if (!to || !to->address)
                return emu_fail(fault, EMU_BAD_PTX,
                                "line %d: the initial value of %.200s names %.200s, which is not "
                                "defined",
                                s->variable->line, s->name, rel->name);
            uint64_t value = (to->address + (uint64_t)rel->addend) >> rel->shift;
            memcpy((uint8_t *)(uintptr_t)s->address + rel->offset, &value, rel->width);
        }
    }
    return EMU_OK;
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static uint32_t align_up(uint32_t value, uint32_t alignment) {
    return alignment ? (value + alignment - 1) / alignment * alignment : value;
}

static emu_kernel *make_kernel(emu_module *m, int text, const ptx_function *f) {
    emu_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    size_t n = (size_t)f->parameter_count + 1;
    k->parameter_size = calloc(n, sizeof *k->parameter_size);
    k->parameter_offset = calloc(n, sizeof *k->parameter_offset);
    if (!k->parameter_size || !k->parameter_offset) {
        free(k->parameter_size);
        free(k->parameter_offset);
        free(k);
        return NULL;
    }
    uint32_t offset = 0;
    for (int i = 0; i < f->parameter_count; i++) {
        const ptx_variable *p = &f->parameter[i];
        offset = align_up(offset, p->alignment);
        k->parameter_offset[i] = offset;
        k->parameter_size[i] = (uint32_t)p->bytes;
        offset += (uint32_t)p->bytes;
    }
    uint64_t threads = 1;
    for (int i = 0; i < 3 && f->max_threads[0]; i++)
        threads *= f->max_threads[i] ? f->max_threads[i] : 1;
    k->module = m;
    k->source = f;
    k->text = m->text[text];
    k->text_index = text;
    k->info = (emu_kernel_info){.name = f->name,
                                .parameter_count = f->parameter_count,
                                .parameter_size = k->parameter_size,
                                .parameter_offset = k->parameter_offset,
                                .parameter_bytes = offset,
                                .max_threads_per_block =
                                    f->max_threads[0] && threads < 1024 ? (int)threads : 1024,
                                .registers_estimated = true};
    return k;
}

static emu_status list_kernels(emu_module *m, emu_fault *fault) {
    for (int i = m->symbol_count - 1; i >= 0; i--) {
        emu_symbol *s = &m->symbol[i];
        if (!s->function || !s->function->entry || !s->function->text)
            continue;
        for (int p = 0; p < s->function->parameter_count; p++)
            if (s->function->parameter[p].bytes > 32768)
                return emu_fail(fault, EMU_BAD_PTX, "parameter %d of kernel %.200s is too large", p,
                                s->name);
        emu_kernel *k = make_kernel(m, s->text, s->function);
        if (!k)
            return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        k->next = m->kernels;
        m->kernels = k;
    }
    return EMU_OK;
}

emu_status emu_module_get_kernel(emu_module *module, const char *name, emu_kernel **kernel,
                                 emu_fault *fault) {
    for (emu_kernel *k = module->kernels; k; k = k->next) {
        if (strcmp(k->info.name, name) == 0) {
            *kernel = k;
            return EMU_OK;
        }
    }
    *kernel = NULL;
    return emu_fail(fault, EMU_NOT_FOUND, "the module has no kernel %.200s", name);
}

int emu_module_kernels(const emu_module *module, emu_kernel **kernels, int room) {
    int n = 0;
    for (emu_kernel *k = module->kernels; k; k = k->next, n++)
        if (n < room)
            kernels[n] = k;
    return n;
}

const char *emu_module_undefined(const emu_module *module) {
    for (int i = 0; i < module->symbol_count; i++) {
        const emu_symbol *s = &module->symbol[i];
        if (!is_defined(s) && !(s->function && emu_is_builtin(s->name)))
            return s->name;
    }
    return NULL;
}

emu_status emu_module_get_global(emu_module *module, const char *name, uint64_t *address,
                                 uint64_t *size, emu_fault *fault) {
    for (int i = 0; i < module->symbol_count; i++) {
        const emu_symbol *s = &module->symbol[i];
        if (in_memory(s) && strcmp(s->name, name) == 0) {
            if (address)
                *address = s->address;
            if (size)
                *size = s->variable->bytes;
            return EMU_OK;
        }
    }
    return emu_fail(fault, EMU_NOT_FOUND, "the module has no variable %.200s", name);
}

const emu_kernel_info *emu_kernel_get_info(const emu_kernel *kernel) {
    /* sizes and registers are known once it is decoded; a kernel that cannot be is told at launch
     */
    emu_program *program;
    emu_fault fault;
    emu_program_get((emu_kernel *)(uintptr_t)kernel, &program, &fault);
    return &kernel->info;
}

void emu_kernel_set_registers(emu_kernel *kernel, uint32_t registers_per_thread,
                              uint32_t local_bytes_per_thread) {
    pthread_mutex_lock(&kernel->module->lock);
    kernel->info.registers_per_thread = registers_per_thread;
    kernel->info.local_bytes_per_thread = local_bytes_per_thread;
    kernel->info.registers_estimated = false;
    pthread_mutex_unlock(&kernel->module->lock);
}

/* ---- load and unload --------------------------------------------------------------------------
 */

static emu_status parse_texts(emu_module *m, const char *const *texts, const size_t *lengths, int n,
                              emu_fault *fault) {
    m->text = calloc((size_t)n + 1, sizeof(*m->text));
    m->copy = calloc((size_t)n + 1, sizeof(*m->copy));
    if (!m->text || !m->copy)
        return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
    for (int i = 0; i < n; i++) {
        m->copy[i] = malloc(lengths[i] + 1);
        if (!m->copy[i])
            return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        memcpy(m->copy[i], texts[i], lengths[i]);
        ptx_error error;
        m->text[i] = ptx_parse(m->copy[i], lengths[i], &error);
        if (!m->text[i]) {
            emu_fail(fault, EMU_BAD_PTX, "PTX text %d of %d, line %d: %s", i + 1, n, error.line,
                     error.message);
            if (fault)
                fault->ptx_line = error.line;
            return EMU_BAD_PTX;
        }
        m->text_count = i + 1;
        if (ptx_module_target(m->text[i]) > m->target)
            m->target = ptx_module_target(m->text[i]);
    }
    return EMU_OK;
}

emu_status emu_module_load(emu_device *device, const char *const *texts, const size_t *lengths,
                           int n, emu_module **module, emu_fault *fault) {
    *module = NULL;
    emu_module *m = calloc(1, sizeof *m);
    if (!m)
        return emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
    m->device = device;
    pthread_mutex_init(&m->lock, NULL);
    emu_status status = parse_texts(m, texts, lengths, n, fault);
    if (!status)
        status = collect_symbols(m, fault);
    if (!status)
        status = place_variables(m, fault);
    if (!status)
        status = relocate(m, fault);
    if (!status)
        status = list_kernels(m, fault);
    if (status) {
        emu_module_unload(m);
        return status;
    }
    *module = m;
    return EMU_OK;
}

void emu_module_unload(emu_module *m) {
    if (!m)
        return;
    while (m->kernels) {
        emu_kernel *k = m->kernels;
        m->kernels = k->next;
        emu_program_free(k->program);
        free(k->parameter_size);
        free(k->parameter_offset);
        free(k);
    }
    for (int i = 0; i < m->symbol_count; i++)
        if (in_memory(&m->symbol[i]) && m->symbol[i].address)
            emu_memory_free(m->device, m->symbol[i].address, NULL);
    for (int i = 0; m->text && m->copy && m->copy[i]; i++) {
        ptx_module_free(m->text[i]);
        free(m->copy[i]);
    }
    free(m->text);
    free(m->copy);
    free(m->symbol);
    free(m->table);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

int emu_module_ptx_target(const emu_module *module) {
    return module->target;
}
