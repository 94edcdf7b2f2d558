/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that kernels call and no PTX defines: vprintf, __assertfail, malloc, free. */
#include "emulator/machine/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STRING = 4096, PRINT_LIMIT = 64 << 20 };

int emu_fault_lane(emu_warp *w, const emu_op *o, int lane, emu_status status, uint64_t address,
                   const char *format, ...) {
    emu_fault *f = &w->worker->fault;
    char what[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *kernel = w->worker->run->kernel->info.name;
    *f = (emu_fault){.status = status, .ptx_line = (int)o->line, .address = address};
    snprintf(f->kernel, sizeof f->kernel, "%s", kernel);
    for (int i = 0; i < 3; i++) {
        f->block[i] = w->block->index[i];
        f->thread[i] = w->tid[i][lane];
    }
    snprintf(f->message, sizeof f->message,
             "kernel %.200s, PTX line %u, block (%u,%u,%u), thread (%u,%u,%u): %s", kernel, o->line,
             f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2], what);
    return (int)status;
}

/* ---- arguments and memory of one lane -----------------------------------------------------------
 */

static uint8_t *place_of(emu_warp *w, const struct emu_transfer *t, uint32_t lane) {
    const emu_function_code *code = &w->program->function[w->frame->function];
    if (t->in_register)
        return w->frame->registers + t->place + (size_t)lane * (t->bytes <= 4 ? 4 : 8);
    return w->frame->registers + code->area_offset + (size_t)lane * code->area_bytes + t->place;
}

static uint64_t argument(emu_warp *w, const emu_op *o, int index, uint32_t lane) {
    uint64_t value = 0;
    if (index < o->extra->argument_count) {
        const struct emu_transfer *t = &o->extra->argument[index];
        memcpy(&value, place_of(w, t, lane), t->bytes < 8 ? t->bytes : 8);
    }
    return value;
}

static void give_result(emu_warp *w, const emu_op *o, uint32_t lane, uint64_t value) {
    if (o->extra->result_count > 0) {
        const struct emu_transfer *t = &o->extra->result[0];
        memcpy(place_of(w, t, lane), &value, t->bytes < 8 ? t->bytes : 8);
    }
}

/* Host memory behind a generic address, and how many bytes are there; NULL if there are none. */
static const uint8_t *readable(emu_warp *w, uint64_t address, uint32_t lane, uint64_t *bytes) {
    uint64_t window = address & WINDOW_MASK, offset = address & OFFSET_MASK;
    if (window == LOCAL_WINDOW) {
        uint32_t limit = w->program->local_limit;
        *bytes = offset < limit ? limit - offset : 0;
        return *bytes ? w->local + (size_t)lane * limit + offset : NULL;
    }
    if (window == SHARED_WINDOW) {
        uint32_t limit = w->worker->run->shared_bytes;
        *bytes = offset < limit ? limit - offset : 0;
        return *bytes ? w->block->shared + offset : NULL;
    }
    emu_range range;
    if (!emu_memory_range(w->worker->device, address, &range))
        return NULL;
    *bytes = range.base + range.size - address;
    return (const uint8_t *)(uintptr_t)address;
}

/* A string of the device, shortened to SIZE; "(null)" and "(unreadable)" for what is none. */
static void copy_string(emu_warp *w, uint64_t address, uint32_t lane, char *to, size_t size) {
    uint64_t bytes = 0;
    const uint8_t *from = address ? readable(w, address, lane, &bytes) : NULL;
    if (!from) {
        snprintf(to, size, "%s", address ? "(unreadable)" : "(null)");
        return;
    }
    size_t n = 0;
    while (n < bytes && n + 1 < size && from[n])
        n++;
    memcpy(to, from, n);
    to[n] = '\0';
}

/* ---- vprintf ------------------------------------------------------------------------------------
 */

static void print(emu_device *device, const char *text, size_t length) {
    if (!length)
        return;
    pthread_mutex_lock(&device->print_lock);
    if (device->printed_bytes + length <= PRINT_LIMIT) {
        if (device->printed_bytes + length > device->printed_capacity) {
            size_t capacity = (device->printed_bytes + length) * 2;
            char *grown = realloc(device->printed, capacity);
            if (grown) {
                device->printed = grown;
                device->printed_capacity = capacity;
            }
        }
        if (device->printed_bytes + length <= device->printed_capacity) {
            memcpy(device->printed + device->printed_bytes, text, length);
            device->printed_bytes += length;
        }
    }
    pthread_mutex_unlock(&device->print_lock);
}

void emu_device_drain_printf(emu_device *device,
                             void (*write)(void *context, const char *text, size_t length),
                             void *context) {
    pthread_mutex_lock(&device->print_lock);
    char *text = device->printed;
    size_t length = device->printed_bytes;
    device->printed = NULL;
    device->printed_bytes = device->printed_capacity = 0;
    pthread_mutex_unlock(&device->print_lock);
    if (length && write)
        write(context, text, length);
    free(text);
}

typedef struct print_state {
    emu_warp *warp;
    uint32_t lane;
    const uint8_t *values; /* the argument buffer */
    uint64_t left, at;
    int status_count;
} print_state;

/* Next value of BYTES from the argument buffer, aligned to its size; zero past the end. */
static uint64_t next_value(print_state *s, unsigned bytes) {
    uint64_t value = 0;
    s->at = (s->at + bytes - 1) / bytes * bytes;
    if (s->values && s->at + bytes <= s->left)
        memcpy(&value, s->values + s->at, bytes);
    s->at += bytes;
    return value;
}

/* One conversion: SPEC is "%-8.3" without length and letter. Star widths are in SPEC already. */
static int format_one(print_state *s, const char *spec, int longs, char letter, char *out,
                      size_t size) {
    char full[64];
    double real;
    uint64_t value;
    char text[MAX_STRING];
    switch (letter) {
    case 'd':
    case 'i':
        value = next_value(s, longs ? 8 : 4);
        snprintf(full, sizeof full, "%s%s%c", spec, "ll", letter);
        return snprintf(out, size, full, longs ? (long long)value : (long long)(int32_t)value);
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        value = next_value(s, longs ? 8 : 4);
        snprintf(full, sizeof full, "%s%s%c", spec, "ll", letter);
        return snprintf(out, size, full, (unsigned long long)value);
    case 'c':
        value = next_value(s, 4);
        snprintf(full, sizeof full, "%sc", spec);
        return snprintf(out, size, full, (int)value);
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        value = next_value(s, 8);
        memcpy(&real, &value, sizeof real);
        snprintf(full, sizeof full, "%s%c", spec, letter);
        return snprintf(out, size, full, real);
    case 'p':
        value = next_value(s, 8);
        snprintf(full, sizeof full, "%sp", spec);
        return snprintf(out, size, full, (void *)(uintptr_t)value);
    case 's':
        copy_string(s->warp, next_value(s, 8), s->lane, text, sizeof text);
        snprintf(full, sizeof full, "%ss", spec);
        return snprintf(out, size, full, text);
    default:
        return -1;
    }
}

/* Reads one "%..." at F into SPEC (flags, width and precision) and returns the letter's position.
 */
static const char *read_spec(print_state *s, const char *f, char *spec, size_t size, int *longs) {
    size_t n = 0;
    spec[n++] = *f++;
    while (*f && strchr("-+ #0123456789.*", *f)) {
        if (n + 16 >= size)
            return NULL;
        if (*f == '*') {
            int32_t width = (int32_t)next_value(s, 4);
            if (width > MAX_STRING || width < -MAX_STRING)
                return NULL;
            n += (size_t)snprintf(spec + n, size - n, "%d", (int)width);
        } else {
            spec[n++] = *f;
        }
        f++;
    }
    spec[n] = '\0';
    *longs = 0;
    for (; *f && strchr("hlLqjzt", *f); f++)
        *longs += *f != 'h';
    return f;
}

static int print_lane(emu_warp *w, const emu_op *o, uint32_t lane) {
    char format[MAX_STRING], out[2 * MAX_STRING];
    copy_string(w, argument(w, o, 0, lane), lane, format, sizeof format);
    print_state s = {.warp = w, .lane = lane};
    uint64_t values = argument(w, o, 1, lane);
    if (values)
        s.values = readable(w, values, lane, &s.left);
    int converted = 0;
    for (const char *f = format; *f;) {
        const char *percent = strchr(f, '%');
        size_t plain = percent ? (size_t)(percent - f) : strlen(f);
        print(w->worker->device, f, plain);
        if (!percent)
            break;
        if (percent[1] == '%') {
            print(w->worker->device, "%", 1);
            f = percent + 2;
            continue;
        }
        char spec[48];
        int longs;
        const char *letter = read_spec(&s, percent, spec, sizeof spec, &longs);
        int n = letter && *letter ? format_one(&s, spec, longs, *letter, out, sizeof out) : -1;
        if (n < 0) { /* not a conversion: as it stands */
            print(w->worker->device, percent, strlen(percent));
            break;
        }
        print(w->worker->device, out, (size_t)n < sizeof out ? (size_t)n : sizeof out - 1);
        converted++;
        f = letter + 1;
    }
    return converted;
}

/* ---- assert, malloc, free -----------------------------------------------------------------------
 */

static int fail_assert(emu_warp *w, const emu_op *o, uint32_t lane) {
    char expression[256], file[256], function[256];
    copy_string(w, argument(w, o, 0, lane), lane, expression, sizeof expression);
    copy_string(w, argument(w, o, 1, lane), lane, file, sizeof file);
    copy_string(w, argument(w, o, 3, lane), lane, function, sizeof function);
    char line[1024];
    int n = snprintf(line, sizeof line,
                     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                     file, (unsigned)argument(w, o, 2, lane), function, w->block->index[0],
                     w->block->index[1], w->block->index[2], w->tid[0][lane], w->tid[1][lane],
                     w->tid[2][lane], expression);
    print(w->worker->device, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    return emu_fault_lane(w, o, (int)lane, EMU_ASSERT, 0, "assertion `%s` failed at %s:%u",
                          expression, file, (unsigned)argument(w, o, 2, lane));
}

int emu_call_builtin(emu_warp *w, const emu_op *o) {
    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (!(w->mask >> lane & 1))
            continue;
        switch ((emu_builtin)o->extra->builtin) {
        case BUILTIN_VPRINTF:
            give_result(w, o, lane, (uint64_t)(int64_t)print_lane(w, o, lane));
            break;
        case BUILTIN_ASSERT:
            return fail_assert(w, o, lane);
        case BUILTIN_MALLOC:
            give_result(w, o, lane, emu_heap_allocate(w->worker->device, argument(w, o, 0, lane)));
            break;
        case BUILTIN_FREE:
            if (!emu_heap_free(w->worker->device, argument(w, o, 0, lane)))
                return emu_fault_lane(w, o, (int)lane, EMU_ILLEGAL_ADDRESS, argument(w, o, 0, lane),
                                      "free() of 0x%llx, which malloc() did not give",
                                      (unsigned long long)argument(w, o, 0, lane));
            break;
        case BUILTIN_NONE:
            break;
        }
    }
    return 0;
}
