/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of streams. They are hints: what the L2 should keep, how the host waits, which domain
 * memory is synchronised in. They are checked, kept and given back, and change no count or time:
 * the model of the caches knows no persisting lines.
 */
#include "emulator/cudart/door.h"
#include <stdlib.h>
#include <string.h>

enum { /* cudaLaunchAttributeID */
       ATTRIBUTE_WINDOW = 1,
       ATTRIBUTE_SYNC_POLICY = 3,
       ATTRIBUTE_PRIORITY = 8,
       ATTRIBUTE_DOMAIN_MAP = 9,
       ATTRIBUTE_DOMAIN = 10,
       ATTRIBUTES
};

typedef struct window { /* cudaAccessPolicyWindow */
    void *base;
    size_t bytes;
    float hit_ratio;
    int hit, miss; /* 0 normal, 1 streaming, 2 persisting */
} window;

typedef struct value { /* cudaLaunchAttributeValue */
    char bytes[64];
} value;

/* What a stream was told; one that has gone may stay here, for no other has its number. */
typedef struct kept {
    struct kept *next;
    const door_stream *stream;
    uint64_t id;
    value values[ATTRIBUTES];
} kept;

static struct {
    pthread_mutex_t lock;
    kept *all;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock held. NULL: nothing is kept of it. */
static kept *find(const door_stream *s) {
    kept *k = streams.all;
    while (k && (k->stream != s || k->id != s->id))
        k = k->next;
    return k;
}

static kept *find_or_make(const door_stream *s) {
    kept *k = find(s);
    if (k || !(k = calloc(1, sizeof *k)))
        return k;
    *k = (kept){.next = streams.all, .stream = s, .id = s->id};
    memcpy(&k->values[ATTRIBUTE_PRIORITY], &s->priority, sizeof s->priority);
    streams.all = k;
    return k;
}

static bool is_known(int id) {
    return id == ATTRIBUTE_WINDOW || id == ATTRIBUTE_SYNC_POLICY || id == ATTRIBUTE_PRIORITY ||
           id == ATTRIBUTE_DOMAIN_MAP || id == ATTRIBUTE_DOMAIN;
}

size_t door_max_window(const door_device *d) {
    enum { BYTES = 134213632 }; /* on every chip that has them */
    return d->profile.spec.cc_major >= 8 ? BYTES : 0;
}

/* The bytes of a window that persist are a share of it, and what misses must not persist. */
static bool is_window(const door_device *d, const window *w) {
    enum { PERSISTING = 2 };
    return w->bytes <= door_max_window(d) && w->hit_ratio >= 0 && w->hit_ratio <= 1 &&
           w->hit >= 0 && w->hit <= PERSISTING && w->miss >= 0 && w->miss < PERSISTING;
}

static cudaError_t find_stream(cudaStream_t handle, int id, door_stream **stream) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    *stream = door_find_stream(handle, d);
    if (!*stream)
        return cudaErrorInvalidResourceHandle;
    return is_known(id) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t set(cudaStream_t handle, int id, const value *v) {
    door_stream *s;
    window w;
    cudaError_t error = find_stream(handle, id, &s);
    if (!error && !v)
        error = cudaErrorInvalidValue;
    if (error)
        return error;
    memcpy(&w, v, sizeof w);
    if (id == ATTRIBUTE_WINDOW && !is_window(s->device, &w))
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&streams.lock);
    kept *k = find_or_make(s);
    if (k)
        k->values[id] = *v;
    pthread_mutex_unlock(&streams.lock);
    return k ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t get(cudaStream_t handle, int id, value *v) {
    door_stream *s;
    cudaError_t error = find_stream(handle, id, &s);
    if (!error && !v)
        error = cudaErrorInvalidValue;
    if (error)
        return error;
    pthread_mutex_lock(&streams.lock);
    const kept *k = find_or_make(s);
    if (k)
        *v = k->values[id];
    pthread_mutex_unlock(&streams.lock);
    return k ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* All but the priority, which a stream is made with. */
static cudaError_t copy(cudaStream_t to, cudaStream_t from) {
    door_stream *a, *b;
    cudaError_t error = find_stream(to, ATTRIBUTE_WINDOW, &a);
    if (!error)
        error = find_stream(from, ATTRIBUTE_WINDOW, &b);
    if (error)
        return error;
    pthread_mutex_lock(&streams.lock);
    kept *target = find_or_make(a);
    const kept *source = find_or_make(b);
    for (int id = 0; target && source && id < ATTRIBUTES; id++)
        if (id != ATTRIBUTE_PRIORITY)
            target->values[id] = source->values[id];
    pthread_mutex_unlock(&streams.lock);
    return target && source ? cudaSuccess : cudaErrorMemoryAllocation;
}

#define EXPORT_STREAM(name, call, ...)                                                             \
    DOOR_EXPORT(cudaError_t, name, cudaStream_t stream, __VA_ARGS__) {                             \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptsz, cudaStream_t stream, __VA_ARGS__) {                      \
        stream = door_per_thread(stream);                                                          \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }
EXPORT_STREAM(cudaStreamSetAttribute, set(stream, id, v), int id, const value *v)
EXPORT_STREAM(cudaStreamGetAttribute, get(stream, id, v), int id, value *v)

DOOR_EXPORT(cudaError_t, cudaStreamCopyAttributes, cudaStream_t to, cudaStream_t from) {
    return door_return(copy(to, from));
}

DOOR_EXPORT(cudaError_t, cudaStreamCopyAttributes_ptsz, cudaStream_t to, cudaStream_t from) {
    return door_return(copy(door_per_thread(to), door_per_thread(from)));
}
