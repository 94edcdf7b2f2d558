/* SPDX-License-Identifier: Apache-2.0
 *
 * Demangling of names from strangers. libiberty does it, because it can be bounded: __cxa_demangle
 * gives up on names of a kilobyte (CUTLASS has longer ones), and lets a name of 200 bytes expand to
 * megabytes. Here the output is cut off by its size, and long names, whose parts may nest deeply,
 * are worked on with a stack of their own.
 */
#include "capture/name.h"
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_NAME = 1000,        /* within libiberty's own recursion limit: the caller's stack does */
    LONGEST_NAME = 32 * 1024, /* beyond, a name is shown as it is */
    LONGEST_OUTPUT = 1 << 20,
    STACK_PER_BYTE = 4096, /* frames and components; generous: pages not touched cost nothing */
};

typedef struct demangling {
    const char *name;
    int options;
    FILE *out;
    size_t written;
    jmp_buf too_long;
    bool done;
} demangling;

static void take(const char *text, size_t length, void *opaque) {
    demangling *work = opaque;
    work->written += length;
    if (work->written > LONGEST_OUTPUT)
        longjmp(work->too_long, 1); /* libiberty holds no memory but its stack */
    fwrite(text, 1, length, work->out);
}

static void *demangle(void *opaque) {
    demangling *work = opaque;
    if (setjmp(work->too_long) == 0)
        work->done = cplus_demangle_v3_callback(work->name, work->options, take, work);
    return NULL;
}

static void demangle_apart(demangling *work, size_t length) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, length * STACK_PER_BYTE) == 0 &&
        pthread_create(&thread, &attributes, demangle, work) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

char *rp_name_demangle(const char *name) {
    size_t length = strlen(name), size;
    if (strncmp(name, "_Z", 2) != 0 || length > LONGEST_NAME)
        return NULL;
    char *text = NULL;
    demangling work = {.name = name, .options = DMGL_PARAMS | DMGL_ANSI};
    work.out = open_memstream(&text, &size);
    if (!work.out)
        return NULL;
    if (length <= SHORT_NAME) {
        demangle(&work);
    } else {
        work.options |= DMGL_NO_RECURSE_LIMIT;
        demangle_apart(&work, length);
    }
    if (fclose(work.out) == 0 && work.done && size)
        return text;
    free(text);
    return NULL;
}
