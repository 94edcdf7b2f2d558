/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's linker: PTX texts (or fat binaries that hold PTX) become one image, which is loaded
 * like any other. It is linked when it is completed, so that what is missing is said there.
 */
#include "emulator/cuda/link.h"
#include "emulator/cuda/driver.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBINARY, INPUT_OBJECT, INPUT_LIBRARY, INPUT_NVVM };

typedef struct linker {
    struct linker *next;
    link_options options;
    char **text;
    size_t *length, count;
    char *image; /* what cuLinkComplete gave out */
} linker;

static struct {
    pthread_mutex_t lock;
    linker *all;
} linkers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Options ----------------------------------------------------------------------------------
 */

enum { /* CUjit_option */
       JIT_WALL_TIME = 2,
       JIT_INFO_LOG = 3,
       JIT_INFO_LOG_SIZE = 4,
       JIT_ERROR_LOG = 5,
       JIT_ERROR_LOG_SIZE = 6
};

static void **option(const link_options *o, int name) {
    for (unsigned i = 0; o->names && o->values && i < o->count; i++)
        if (o->names[i] == name)
            return &o->values[i];
    return NULL;
}

/* The size of a log is an option of its own, which says afterwards how much was written. */
static void write_log(const link_options *o, int buffer, int size, const char *text) {
    void **to = option(o, buffer), **room = option(o, size);
    if (!room)
        return;
    size_t most = (size_t)(uintptr_t)*room, length = strlen(text);
    *room = NULL;
    if (!to || !*to || !most)
        return;
    if (length >= most)
        length = most - 1;
    memcpy(*to, text, length);
    ((char *)*to)[length] = 0;
    *room = (void *)(uintptr_t)(length ? length + 1 : 0);
}

void jit_report(const link_options *options) {
    const float seconds = 0;
    void **time = option(options, JIT_WALL_TIME);
    if (time)
        memcpy(time, &seconds, sizeof seconds);
    write_log(options, JIT_INFO_LOG, JIT_INFO_LOG_SIZE, "");
    write_log(options, JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE, driver_doors()->image_complaint());
}

/* ---- Linking ----------------------------------------------------------------------------------
 */

/* With the lock held. */
static linker **find_linker(const void *handle) {
    linker **link = &linkers.all;
    while (*link && *link != handle)
        link = &(*link)->next;
    return link;
}

static linker *is_linker(const void *handle) {
    pthread_mutex_lock(&linkers.lock);
    linker *l = *find_linker(handle);
    pthread_mutex_unlock(&linkers.lock);
    return l;
}

static cudaError_t create(unsigned count, int *names, void **values, void **handle) {
    if (!handle || (count && (!names || !values)))
        return cudaErrorInvalidValue;
    linker *l = calloc(1, sizeof *l);
    if (!l)
        return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&linkers.lock);
    *l = (linker){.next = linkers.all, .options = {count, names, values}};
    linkers.all = l;
    pthread_mutex_unlock(&linkers.lock);
    *handle = l;
    return cudaSuccess;
}

static cudaError_t keep(linker *l, char *text, size_t length) {
    char **texts = realloc(l->text, (l->count + 1) * sizeof *texts);
    if (texts)
        l->text = texts;
    size_t *lengths = texts ? realloc(l->length, (l->count + 1) * sizeof *lengths) : NULL;
    if (!lengths) {
        free(text);
        return cudaErrorMemoryAllocation;
    }
    l->length = lengths;
    l->text[l->count] = text;
    l->length[l->count++] = length;
    return cudaSuccess;
}

static cudaError_t add_data(void *handle, int type, const void *data, size_t size) {
    linker *l = is_linker(handle);
    char *text;
    size_t length;
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!data || !size || l->image)
        return cudaErrorInvalidValue;
    if (type < INPUT_CUBIN || type > INPUT_NVVM)
        return cudaErrorInvalidValue;
    if (type == INPUT_OBJECT || type == INPUT_LIBRARY || type == INPUT_NVVM)
        return (cudaError_t)driver_not_supported(
            "linking of objects, libraries and NVVM code (PTX and fat binaries can be linked)");
    /* A text need not end in a NUL, and one after it is not part of it. */
    char *copy = malloc(size + 1);
    if (!copy)
        return cudaErrorMemoryAllocation;
    memcpy(copy, data, size);
    copy[size] = 0;
    cudaError_t error = (cudaError_t)driver_doors()->image_text(
        copy, type == INPUT_PTX ? strlen(copy) : size, &text, &length);
    free(copy);
    if (!error)
        error = keep(l, text, length);
    jit_report(&l->options);
    return error;
}

static cudaError_t add_file(void *handle, int type, const char *path) {
    size_t size = 0;
    if (!path)
        return cudaErrorInvalidValue;
    char *bytes = driver_read_file(path, &size);
    if (!bytes)
        return (cudaError_t)CUDA_ERROR_FILE_NOT_FOUND;
    cudaError_t error = add_data(handle, type, bytes, size);
    free(bytes);
    return error;
}

static char *make_image(const linker *l, size_t *size) {
    emu_linked header = {.magic = EMU_LINKED_MAGIC, .size = sizeof header, .count = l->count};
    for (size_t i = 0; i < l->count; i++)
        header.size += sizeof(uint64_t) + l->length[i];
    char *image = malloc(header.size), *at = image;
    if (!image)
        return NULL;
    *size = header.size;
    at = (char *)memcpy(at, &header, sizeof header) + sizeof header;
    for (size_t i = 0; i < l->count; i++) {
        const uint64_t length = l->length[i];
        at = (char *)memcpy(at, &length, sizeof length) + sizeof length;
        at = (char *)memcpy(at, l->text[i], length) + length;
    }
    return image;
}

static cudaError_t complete(void *handle, void **image, size_t *size) {
    linker *l = is_linker(handle);
    size_t bytes = 0;
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!image || !l->count)
        return cudaErrorInvalidValue;
    free(l->image);
    l->image = make_image(l, &bytes);
    if (!l->image)
        return cudaErrorMemoryAllocation;
    cudaError_t error = (cudaError_t)driver_doors()->image_check(l->image, bytes);
    jit_report(&l->options);
    if (error)
        return error;
    *image = l->image;
    if (size)
        *size = bytes;
    return cudaSuccess;
}

static cudaError_t destroy(void *handle) {
    pthread_mutex_lock(&linkers.lock);
    linker **link = find_linker(handle), *l = *link;
    if (l)
        *link = l->next;
    pthread_mutex_unlock(&linkers.lock);
    if (!l)
        return cudaErrorInvalidResourceHandle;
    for (size_t i = 0; i < l->count; i++)
        free(l->text[i]);
    free(l->text);
    free(l->length);
    free(l->image);
    free(l);
    return cudaSuccess;
}

DRIVER_CALL_TOLD(cuLinkCreate_v2, (count, options, values, handle),
                 create(count, options, values, handle), unsigned count, int *options,
                 void **values, void **handle)
DRIVER_CALL_TOLD(cuLinkAddData_v2, (handle, type, data, size, name, count, options, values),
                 add_data(handle, type, data, size), void *handle, int type, void *data,
                 size_t size, const char *name, unsigned count, int *options, void **values)
DRIVER_CALL_TOLD(cuLinkAddFile_v2, (handle, type, path, count, options, values),
                 add_file(handle, type, path), void *handle, int type, const char *path,
                 unsigned count, int *options, void **values)
DRIVER_CALL_TOLD(cuLinkComplete, (handle, image, size), complete(handle, image, size), void *handle,
                 void **image, size_t *size)
DRIVER_CALL_TOLD(cuLinkDestroy, (handle), destroy(handle), void *handle)
/* The same but for the size of the options' enumeration, which is an int's. */
DRIVER_CALL_TOLD(cuLinkCreate, (count, options, values, handle),
                 create(count, options, values, handle), unsigned count, int *options,
                 void **values, void **handle)
DRIVER_CALL_TOLD(cuLinkAddData, (handle, type, data, size, name, count, options, values),
                 add_data(handle, type, data, size), void *handle, int type, void *data,
                 size_t size, const char *name, unsigned count, int *options, void **values)
DRIVER_CALL_TOLD(cuLinkAddFile, (handle, type, path, count, options, values),
                 add_file(handle, type, path), void *handle, int type, const char *path,
                 unsigned count, int *options, void **values)
