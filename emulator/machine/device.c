/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated device: made, ended, interrupted; and the host threads that its launches run on. */
#include "emulator/machine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_HEAP_BYTES = 8 << 20,
    MAX_HOST_THREADS = 256,
    PARAMETER_BYTES = 32768,
    WORKSPACE_BYTES = 8
};

static bool has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}

/* ---- host threads -------------------------------------------------------------------------------
 */

struct emu_pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    pthread_t *thread;
    int count;    /* threads beside the caller */
    uint64_t job; /* number of the current job */
    int running;
    bool stopping;
    void (*work)(emu_worker *worker);
    emu_worker **worker;
    int workers; /* of the current job, the caller included */
    int next_number;
};

static void *pool_thread(void *argument) {
    emu_pool *p = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    int number = ++p->next_number;
    for (;;) {
        while (p->job == seen && !p->stopping)
            pthread_cond_wait(&p->start, &p->lock);
        if (p->stopping)
            break;
        seen = p->job;
        if (number >= p->workers)
            continue;
        pthread_mutex_unlock(&p->lock);
        p->work(p->worker[number]);
        pthread_mutex_lock(&p->lock);
        if (--p->running == 0)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static emu_pool *make_pool(int threads) {
    emu_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    p->thread = calloc((size_t)threads + 1, sizeof *p->thread);
    for (int i = 0; p->thread && i < threads; i++) {
        if (pthread_create(&p->thread[i], NULL, pool_thread, p))
            break; /* with fewer threads, then */
        p->count++;
    }
    return p;
}

static void end_pool(emu_pool *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->count; i++)
        pthread_join(p->thread[i], NULL);
    free(p->thread);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int emu_device_threads(emu_device *device) {
    if (device->worker_count > 1 && !device->pool)
        device->pool = make_pool(device->worker_count - 1);
    return device->pool ? device->pool->count + 1 : 1;
}

void emu_device_work(emu_device *device, int workers, void (*work)(emu_worker *worker)) {
    emu_pool *p = device->pool;
    if (workers > 1) {
        pthread_mutex_lock(&p->lock);
        p->work = work;
        p->worker = device->worker;
        p->workers = workers;
        p->running = workers - 1;
        p->job++;
        pthread_cond_broadcast(&p->start);
        pthread_mutex_unlock(&p->lock);
    }
    work(device->worker[0]);
    if (workers > 1) {
        pthread_mutex_lock(&p->lock);
        while (p->running)
            pthread_cond_wait(&p->done, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
}

/* ---- the device ---------------------------------------------------------------------------------
 */

static bool make_workers(emu_device *device) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int count = device->options.host_threads > 0 ? device->options.host_threads
                                                 : (online > 0 ? (int)online : 1);
    count = count > MAX_HOST_THREADS ? MAX_HOST_THREADS : count;
    device->worker = calloc((size_t)count, sizeof(*device->worker));
    if (!device->worker)
        return false;
    for (int i = 0; i < count; i++) {
        device->worker[i] = calloc(1, sizeof **device->worker);
        if (!device->worker[i])
            return false;
        device->worker[i]->device = device;
        device->worker[i]->number = i;
        device->worker_count = i + 1;
    }
    return true;
}

emu_device *emu_device_create(const emu_device_spec *spec, const emu_options *options,
                              emu_fault *fault) {
    emu_device *d = calloc(1, sizeof *d);
    if (!d) {
        emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    d->spec = *spec;
    d->spec.sm_count = spec->sm_count > 0 ? spec->sm_count : 1;
    d->options = *options;
    d->poison_file = -1;
    d->heap_limit = DEFAULT_HEAP_BYTES;
    bool fast = has_avx2();
    d->handlers = fast ? emu_handlers_avx2 : emu_handlers_base;
    d->run_warp = fast ? emu_run_warp_avx2 : emu_run_warp_base;
    pthread_mutex_init(&d->launch_lock, NULL);
    pthread_mutex_init(&d->print_lock, NULL);
    if (!emu_memory_open(d, fault))
        goto fail;
    d->traffic = options->count ? emu_traffic_create(&d->spec, &d->options) : NULL;
    if (!make_workers(d) || (options->count && !d->traffic)) {
        emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
        goto fail;
    }
    if (d->traffic)
        emu_traffic_set_device_range(d->traffic, d->device_arena.base, d->device_arena.size);
    /* kernel parameters have addresses too; charged to nobody */
    if (emu_memory_allocate(d, EMU_MEMORY_DEVICE, PARAMETER_BYTES + WORKSPACE_BYTES, &d->parameters,
                            fault))
        goto fail;
    d->workspace = d->parameters + PARAMETER_BYTES;
    d->used = 0;
    return d;
fail:
    emu_device_destroy(d);
    return NULL;
}

static void free_blocks(emu_block *b) {
    while (b) {
        emu_block *next = b->next;
        emu_block_free(b);
        b = next;
    }
}

void emu_device_destroy(emu_device *device) {
    if (!device)
        return;
    end_pool(device->pool);
    for (int i = 0; i < device->worker_count; i++) {
        free_blocks(device->worker[i]->block);
        free(device->worker[i]->range);
        free(device->worker[i]->cell);
        free(device->worker[i]);
    }
    free(device->worker);
    emu_traffic_destroy(device->traffic);
    emu_objects_close(device);
    emu_memory_close(device);
    free(device->printed);
    pthread_mutex_destroy(&device->launch_lock);
    pthread_mutex_destroy(&device->print_lock);
    free(device);
}

const emu_device_spec *emu_device_get_spec(const emu_device *device) {
    return &device->spec;
}

void emu_interrupt(emu_device *device) {
    atomic_store(&device->interrupted, 1);
}
