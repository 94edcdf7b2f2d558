/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: checks the shape, sets parameters, deals blocks to SMs and SMs to host threads, steps
 * the warps of a block in turn, and tells deadlock from waiting. */
#include "emulator/machine/device.h"
#include "emulator/memory/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE = 1 << 14,       /* backward branches of a warp before the next one has its turn */
    SMALL_LAUNCH = 1 << 12 /* threads: not worth waking other host threads for */
};

/* What stepping a block ended with. */
typedef enum step_end { STEP_FINISHED, STEP_WAITING, STEP_FAILED, STEP_FULL } step_end;

/* ---- blocks -------------------------------------------------------------------------------------
 */

void emu_block_free(emu_block *b) {
    if (!b)
        return;
    for (int i = 0; i < b->warp_capacity; i++)
        emu_warp_stop(&b->warp[i]);
    free(b->warp);
    free(b->shared);
    free(b->registers);
    free(b->local);
    free(b);
}

static bool reserve_bytes(uint8_t **place, size_t *capacity, size_t bytes) {
    if (bytes <= *capacity)
        return true;
    free(*place);
    *capacity = 0;
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    *place = aligned_alloc(64, rounded);
    if (!*place)
        return false;
    memset(*place, 0, rounded);
    *capacity = rounded;
    return true;
}

/* A block with room for the launch's warps, registers, shared and local memory. */
static emu_block *take_block(emu_worker *k) {
    const emu_run *run = k->run;
    const emu_program *p = run->program;
    emu_block *b = k->block;
    if (b)
        k->block = b->next;
    else
        b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->next = NULL;
    int warps = (int)run->warps_per_block;
    if (b->warp_capacity < warps) {
        emu_warp *grown = aligned_alloc(64, (sizeof *grown + 63) / 64 * 64 * (size_t)warps);
        if (!grown)
            goto fail;
        memset(grown, 0, sizeof *grown * (size_t)warps);
        for (int i = 0; i < b->warp_capacity; i++)
            emu_warp_stop(&b->warp[i]);
        free(b->warp);
        b->warp = grown;
        b->warp_capacity = warps;
    }
    size_t shared_capacity = b->shared_capacity;
    if (!reserve_bytes(&b->registers, &b->registers_capacity,
                       (size_t)p->function[0].frame_bytes * (size_t)warps) ||
        !reserve_bytes(&b->shared, &shared_capacity, (size_t)run->shared_bytes + 64) ||
        !reserve_bytes(&b->local, &b->local_capacity,
                       (size_t)p->local_limit * WARP * (size_t)warps))
        goto fail;
    b->shared_capacity = (uint32_t)shared_capacity;
    return b;
fail:
    emu_block_free(b);
    return NULL;
}

static void give_block(emu_worker *k, emu_block *b) {
    b->next = k->block;
    k->block = b;
}

static void zero_root(emu_warp *w, const emu_function_code *code) {
    for (int i = 0; i < code->zeroed_count; i++) {
        uint32_t z = code->zeroed[i];
        memset(w->root.registers + (z & ~3u), 0, z & 2 ? 4 : z & 1 ? 8 * WARP : 4 * WARP);
    }
}

static void start_warp(emu_worker *k, emu_block *b, int index) {
    const emu_run *run = k->run;
    const emu_program *p = run->program;
    const uint32_t *shape = run->launch->block;
    emu_warp *w = &b->warp[index];
    w->block = b;
    w->worker = k;
    w->program = p;
    w->index = index;
    w->root.registers = b->registers + (size_t)index * p->function[0].frame_bytes;
    w->base[1] = p->pool - 1;
    w->local = b->local + (size_t)index * WARP * p->local_limit;
    w->local_id = (UINT64_C(1) << 52) +
                  ((uint64_t)b->sm_index * MAX_WARPS + (uint64_t)index) * WARP * p->local_limit;
    uint32_t first = (uint32_t)index * WARP, left = run->threads_per_block - first;
    if (memcmp(w->shape, shape, sizeof w->shape) != 0) { /* else they stand from the last block */
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t thread = first + l;
            w->tid[0][l] = thread % shape[0];
            w->tid[1][l] = thread / shape[0] % shape[1];
            w->tid[2][l] = thread / shape[0] / shape[1];
        }
        memcpy(w->shape, shape, sizeof w->shape);
    }
    emu_warp_start(w, left >= WARP ? UINT32_MAX : (1u << left) - 1);
    zero_root(w, &p->function[0]);
}

static void start_block(emu_worker *k, emu_block *b, uint64_t linear) {
    const emu_run *run = k->run;
    const uint32_t *grid = run->launch->grid;
    b->linear = linear;
    b->index[0] = (uint32_t)(linear % grid[0]);
    b->index[1] = (uint32_t)(linear / grid[0] % grid[1]);
    b->index[2] = (uint32_t)(linear / grid[0] / grid[1]);
    b->sm_index = (int)(linear % (uint64_t)run->device->spec.sm_count);
    b->sm = run->counting ? emu_traffic_get_sm(run->device->traffic, b->sm_index) : NULL;
    b->warp_count = (int)run->warps_per_block;
    b->threads = run->threads_per_block;
    b->exited = 0;
    b->finished = false;
    b->ticks = 0;
    memset(b->barrier, 0, sizeof b->barrier);
    if (run->shared_bytes)
        memset(b->shared, 0, run->shared_bytes);
    for (int i = 0; i < b->warp_count; i++)
        start_warp(k, b, i);
}

/* ---- stepping -----------------------------------------------------------------------------------
 */

static void keep_fault(emu_worker *k) {
    emu_run *run = k->run;
    pthread_mutex_lock(&run->lock);
    if (!atomic_load(&run->failed)) {
        run->fault = k->fault;
        atomic_store(&run->failed, k->fault.status);
    }
    pthread_mutex_unlock(&run->lock);
}

static void tell_deadlock(emu_worker *k, const emu_block *b) {
    char where[400] = "";
    size_t n = 0;
    for (int id = 0; id <= CLUSTER_BARRIER; id++) {
        const emu_barrier *bar = &b->barrier[id];
        char name[24] = "barrier of the cluster";
        if (id < MAX_BARRIERS)
            snprintf(name, sizeof name, "barrier %d", id);
        if (bar->pending && n < sizeof where)
            n += (size_t)snprintf(where + n, sizeof where - n, "%s%s has %u of %u threads",
                                  n ? ", " : "", name, bar->arrived,
                                  bar->expected ? bar->expected : b->threads - b->exited);
    }
    const emu_op *o = NULL;
    for (int i = 0; i < b->warp_count && !o; i++)
        if (b->warp[i].group_count)
            o = &b->warp[i].program->op[b->warp[i].group[0].pc];
    const char *kernel = k->run->kernel->info.name;
    emu_fail(&k->fault, EMU_DEADLOCK,
             "kernel %.200s, block (%u,%u,%u): deadlock: no thread can go on: %s (%u of %u threads "
             "have ended)",
             kernel, b->index[0], b->index[1], b->index[2],
             n ? where : "threads wait for others of their warp", b->exited, b->threads);
    snprintf(k->fault.kernel, sizeof k->fault.kernel, "%s", kernel);
    k->fault.ptx_line = o ? (int)o->line : 0;
    memcpy(k->fault.block, b->index, sizeof b->index);
}

static bool is_stopped(emu_worker *k) {
    if (atomic_load_explicit(&k->run->failed, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(&k->device->interrupted, memory_order_relaxed))
        return false;
    emu_fail(&k->fault, EMU_INTERRUPTED, "kernel %.200s was interrupted",
             k->run->kernel->info.name);
    keep_fault(k);
    return true;
}

/* One turn of every warp that can run. */
static step_end step_turn(emu_worker *k, emu_block *b, bool *ran, bool *all_spin) {
    *ran = false;
    *all_spin = true;
    for (int i = 0; i < b->warp_count; i++) {
        emu_warp *w = &b->warp[i];
        if (!w->group_count || !emu_warp_ready(w))
            continue;
        *ran = true;
        if (k->device->run_warp(w, SLICE)) {
            keep_fault(k);
            return STEP_FAILED;
        }
        *all_spin &= w->spinning;
        if (is_stopped(k))
            return STEP_FAILED;
        if (b->sm && emu_traffic_log_full(b->sm))
            return STEP_FULL;
    }
    return STEP_WAITING;
}

/* Steps B until it is finished, has failed, only spins, or the memory model's log is full. */
static step_end step_block(emu_worker *k, emu_block *b) {
    k->sm = b->sm;
    for (;;) {
        bool ran, all_spin;
        step_end end = step_turn(k, b, &ran, &all_spin);
        if (end != STEP_WAITING)
            return end;
        if (b->exited == b->threads)
            return STEP_FINISHED;
        if (ran && all_spin)
            return STEP_WAITING;
        if (ran)
            continue;
        bool forced = false;
        for (int i = 0; i < b->warp_count && !forced; i++)
            forced = b->warp[i].group_count && emu_force_gather(&b->warp[i]);
        if (!forced) {
            tell_deadlock(k, b);
            keep_fault(k);
            return STEP_FAILED;
        }
    }
}

static void abandon_block(emu_block *b) {
    for (int i = 0; i < b->warp_count; i++)
        emu_warp_stop(&b->warp[i]);
}

static void report_progress(emu_worker *k) {
    emu_run *run = k->run;
    uint64_t done = atomic_fetch_add(&run->done_blocks, 1) + 1;
    if (!run->launch->progress || k->number != 0)
        return;
    if (done < run->progress_at)
        return;
    run->progress_at = done + (run->blocks / 200 ? run->blocks / 200 : 1);
    uint64_t insts = run->counting ? emu_fold_threads(run->program, k->cell) : 0;
    run->launch->progress(run->launch->progress_context, done, run->blocks,
                          insts * (uint64_t)run->workers);
}

static bool no_host_memory(emu_worker *k) {
    emu_fail(&k->fault, EMU_OUT_OF_MEMORY, "kernel %.200s: out of host memory for a block",
             k->run->kernel->info.name);
    keep_fault(k);
    return false;
}

/* ---- one host thread for all: blocks in order, those that wait for others set aside
 * --------------- */

static void work_in_order(emu_worker *k) {
    emu_run *run = k->run;
    emu_block *list = NULL, **tail = &list;
    uint64_t next = 0, in_flight = 0, since_drain = 0;
    uint64_t wave = (uint64_t)run->device->spec.sm_count * run->round;
    while (list || next < run->blocks) {
        emu_block *b;
        /* a new block, unless as many as may be resident wait: then the one that waits longest */
        if (next < run->blocks && in_flight < run->residents && (!list || list->parked)) {
            b = take_block(k);
            if (!b && !no_host_memory(k))
                break;
            start_block(k, b, next++);
            in_flight++;
        } else {
            b = list;
            list = b->next;
            if (!list)
                tail = &list;
            b->next = NULL;
        }
        step_end end = step_block(k, b);
        if (end == STEP_FINISHED || end == STEP_FAILED) {
            if (end == STEP_FAILED)
                abandon_block(b);
            give_block(k, b);
            in_flight--;
            since_drain++;
            for (emu_block *other = list; other; other = other->next)
                other->parked = false; /* something has changed */
            if (end == STEP_FAILED)
                break;
            report_progress(k);
        } else {
            b->parked = end == STEP_WAITING;
            *tail = b;
            tail = &b->next;
            if (next == run->blocks || in_flight >= run->residents)
                for (emu_block *other = list; other; other = other->next)
                    other->parked = false;
        }
        if (run->counting && (since_drain >= wave || end == STEP_FULL)) {
            emu_traffic_drain(run->device->traffic, 0, 1);
            since_drain = 0;
        }
    }
    while (list) {
        emu_block *b = list;
        list = b->next;
        abandon_block(b);
        give_block(k, b);
    }
}

/* ---- several host threads: SMs are dealt out, round by round
 * -------------------------------------- */

/* Runs up to a round of blocks of SM. */
static void run_sm(emu_worker *k, int sm) {
    emu_run *run = k->run;
    uint64_t sms = (uint64_t)run->device->spec.sm_count;
    for (uint32_t n = 0; n < run->round; n++) {
        emu_block *b = run->held[sm];
        run->held[sm] = NULL;
        if (!b) {
            if (run->cursor[sm] >= run->blocks || is_stopped(k))
                return;
            b = take_block(k);
            if (!b && !no_host_memory(k))
                return;
            start_block(k, b, run->cursor[sm]);
            run->cursor[sm] += sms;
        }
        for (int i = 0; i < b->warp_count; i++)
            b->warp[i].worker = k;
        step_end end;
        do
            end = step_block(k, b);
        while (end == STEP_WAITING && !is_stopped(k));
        if (end == STEP_FULL) {
            run->held[sm] = b;
            return;
        }
        if (end != STEP_FINISHED)
            abandon_block(b);
        give_block(k, b);
        if (end != STEP_FINISHED)
            return;
        report_progress(k);
    }
}

static bool any_left(const emu_run *run) {
    for (int sm = 0; sm < run->device->spec.sm_count; sm++)
        if (run->held[sm] || run->cursor[sm] < run->blocks)
            return true;
    return false;
}

static void work_in_rounds(emu_worker *k) {
    emu_run *run = k->run;
    int sms = run->device->spec.sm_count;
    for (;;) {
        int sm;
        while ((sm = atomic_fetch_add(&run->next_sm, 1)) < sms)
            run_sm(k, sm);
        pthread_barrier_wait(run->barrier);
        bool more = any_left(run) && !atomic_load(&run->failed);
        if (run->counting)
            emu_traffic_drain(run->device->traffic, k->number, run->workers);
        /* nobody may look at the cursors or the failure of the next round before all have done so
         */
        if (pthread_barrier_wait(run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_store(&run->next_sm, 0);
        pthread_barrier_wait(run->barrier);
        if (!more)
            return;
    }
}

/* Without counts nothing depends on which SM runs what. */
static void work_freely(emu_worker *k) {
    emu_run *run = k->run;
    for (;;) {
        uint64_t linear = atomic_fetch_add(&run->next_block, 1);
        if (linear >= run->blocks || is_stopped(k))
            return;
        emu_block *b = take_block(k);
        if (!b && !no_host_memory(k))
            return;
        start_block(k, b, linear);
        step_end end;
        do
            end = step_block(k, b);
        while (end == STEP_WAITING && !is_stopped(k));
        if (end != STEP_FINISHED)
            abandon_block(b);
        give_block(k, b);
        if (end != STEP_FINISHED)
            return;
        report_progress(k);
    }
}

/* ---- a launch -----------------------------------------------------------------------------------
 */

static emu_status bad_launch(emu_fault *fault, const emu_kernel *kernel, const char *what) {
    emu_status status = emu_fail(fault, EMU_BAD_LAUNCH, "kernel %.200s cannot be launched: %s",
                                 kernel->info.name, what);
    if (fault)
        snprintf(fault->kernel, sizeof fault->kernel, "%s", kernel->info.name);
    return status;
}

static emu_status check_shape(const emu_device *device, const emu_launch *launch,
                              const emu_program *program, emu_fault *fault) {
    const emu_device_spec *spec = &device->spec;
    const uint32_t *g = launch->grid, *b = launch->block;
    const ptx_function *source = launch->kernel->source;
    char what[200];
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
    uint64_t shared = (uint64_t)program->shared_bytes + launch->dynamic_shared_bytes;
    uint64_t most = spec->shared_bytes_per_block_optin ? spec->shared_bytes_per_block_optin
                                                       : spec->shared_bytes_per_block;
    if (!g[0] || !g[1] || !g[2] || g[0] > INT32_MAX || g[1] > 65535 || g[2] > 65535)
        snprintf(what, sizeof what, "a grid of %u x %u x %u blocks", g[0], g[1], g[2]);
    else if (!b[0] || !b[1] || !b[2] || b[0] > 1024 || b[1] > 1024 || b[2] > 64 ||
             threads > (uint64_t)launch->kernel->info.max_threads_per_block)
        snprintf(what, sizeof what, "%u x %u x %u threads a block, at most %d", b[0], b[1], b[2],
                 launch->kernel->info.max_threads_per_block);
    else if (source->required_threads &&
             (b[0] != source->max_threads[0] || b[1] != source->max_threads[1] ||
              b[2] != source->max_threads[2]))
        snprintf(what, sizeof what, "%u x %u x %u threads a block, and it requires %u x %u x %u",
                 b[0], b[1], b[2], source->max_threads[0], source->max_threads[1],
                 source->max_threads[2]);
    else if (most && shared > most)
        snprintf(what, sizeof what, "%llu bytes of shared memory a block, at most %llu",
                 (unsigned long long)shared, (unsigned long long)most);
    else
        return EMU_OK;
    return bad_launch(fault, launch->kernel, what);
}

static void set_parameters(emu_device *device, const emu_launch *launch, emu_program *p) {
    uint8_t *block = (uint8_t *)(uintptr_t)device->parameters;
    const uint32_t workspace[2] = {sizeof workspace, 0};
    memcpy((uint8_t *)(uintptr_t)device->workspace, workspace, sizeof workspace);
    const emu_kernel_info *info = &launch->kernel->info;
    for (int i = 0; i < info->parameter_count; i++)
        memcpy(block + info->parameter_offset[i], launch->parameters[i], info->parameter_size[i]);
    for (int i = 0; i < p->slot_count; i++) {
        const emu_parameter_slot *s = &p->slot[i];
        uint64_t value = 0;
        memcpy(&value, block + s->from, s->bytes);
        if (s->sign && s->bytes < 8) {
            int unused = 64 - 8 * s->bytes;
            value = (uint64_t)((int64_t)(value << unused) >> unused);
        }
        for (uint32_t l = 0; l < WARP; l++) {
            if (s->wide)
                memcpy(p->pool + s->offset + 8 * l, &value, 8);
            else
                memcpy(p->pool + s->offset + 4 * l, &value, 4);
        }
    }
}

static bool prepare_worker(emu_worker *k, emu_run *run) {
    const emu_program *p = run->program;
    k->run = run;
    k->counting = run->counting;
    k->alone = run->workers == 1;
    if (k->range_capacity < p->memory_count + 1) {
        free(k->range);
        k->range = calloc((size_t)p->memory_count + 1, sizeof *k->range);
        k->range_capacity = k->range ? p->memory_count + 1 : 0;
    } else {
        memset(k->range, 0, ((size_t)p->memory_count + 1) * sizeof *k->range);
    }
    if (!k->range)
        return false;
    if (!run->counting)
        return true;
    if (k->cell_capacity < p->op_count + 1) {
        free(k->cell);
        k->cell = calloc((size_t)p->op_count + 1, sizeof *k->cell);
        k->cell_capacity = k->cell ? p->op_count + 1 : 0;
    } else {
        memset(k->cell, 0, ((size_t)p->op_count + 1) * sizeof *k->cell);
    }
    return k->cell != NULL;
}

static int choose_workers(emu_device *device, const emu_run *run) {
    const emu_program *p = run->program;
    if (p->ordered || run->launch->cooperative || run->blocks == 1 ||
        run->blocks * run->threads_per_block <= SMALL_LAUNCH)
        return 1;
    int workers = emu_device_threads(device);
    return (uint64_t)workers > run->blocks ? (int)run->blocks : workers;
}

static emu_status occupy(emu_run *run, emu_counts *counts, emu_fault *fault) {
    const emu_device_spec *spec = &run->device->spec;
    emu_occupancy_query query = {.threads_per_block = run->threads_per_block,
                                 .registers_per_thread = run->kernel->info.registers_per_thread,
                                 .static_shared_bytes = run->program->shared_bytes,
                                 .dynamic_shared_bytes = run->launch->dynamic_shared_bytes};
    emu_occupancy o = emu_model_occupancy(spec, &query);
    /* an estimate of the registers must not forbid what the real count might allow */
    if (o.blocks_per_sm == 0 && run->kernel->info.registers_estimated) {
        query.registers_per_thread = 32;
        o = emu_model_occupancy(spec, &query);
    }
    if (o.blocks_per_sm == 0)
        return bad_launch(fault, run->kernel, "its block needs more than an SM has");
    emu_model_fill_occupancy(spec, &o, run->blocks, counts);
    run->residents = (uint64_t)o.blocks_per_sm * (uint64_t)spec->sm_count;
    if (run->launch->cooperative && run->blocks > run->residents) {
        char what[160];
        snprintf(what, sizeof what,
                 "a cooperative launch of %llu blocks, and at most %llu can be resident",
                 (unsigned long long)run->blocks, (unsigned long long)run->residents);
        return bad_launch(fault, run->kernel, what);
    }
    run->round = o.blocks_per_sm < 8 ? o.blocks_per_sm : 8;
    if (run->counting)
        emu_traffic_begin(run->device->traffic, o.shared_bytes_per_block, o.blocks_per_sm);
    return EMU_OK;
}

static emu_status run_blocks(emu_run *run, emu_fault *fault) {
    emu_device *device = run->device;
    int sms = device->spec.sm_count;
    emu_status status = EMU_OK;
    pthread_barrier_t barrier;
    run->workers = choose_workers(device, run);
    /* The memory model pauses and drains by round: the same rounds for any number of host threads.
     * Where blocks may wait for each other all of them go in order, on one. */
    bool ordered = run->program->ordered || run->launch->cooperative;
    bool rounds = !ordered && run->counting;
    if (rounds) {
        run->held = calloc((size_t)sms, sizeof(*run->held));
        run->cursor = calloc((size_t)sms, sizeof *run->cursor);
        if (!run->held || !run->cursor) {
            status = emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
            goto out;
        }
        for (int sm = 0; sm < sms; sm++)
            run->cursor[sm] = (uint64_t)sm;
        pthread_barrier_init(&barrier, NULL, (unsigned)run->workers);
        run->barrier = &barrier;
    }
    for (int i = 0; i < run->workers; i++) {
        if (!prepare_worker(device->worker[i], run)) {
            run->workers = 0;
            status = emu_fail(fault, EMU_OUT_OF_MEMORY, "out of host memory");
            goto out;
        }
    }
    emu_device_work(device, run->workers,
                    rounds              ? work_in_rounds
                    : run->workers == 1 ? work_in_order
                                        : work_freely);
    status = (emu_status)atomic_load(&run->failed);
    if (status && fault)
        *fault = run->fault;
out:
    for (int sm = 0; run->held && sm < sms; sm++) {
        if (run->held[sm]) {
            abandon_block(run->held[sm]);
            emu_block_free(run->held[sm]);
        }
    }
    if (run->barrier)
        pthread_barrier_destroy(&barrier);
    free(run->held);
    free(run->cursor);
    return status;
}

static void finish_counts(emu_run *run, emu_counts *counts) {
    for (int i = 0; i < run->workers; i++)
        emu_fold_counts(run->program, run->device->worker[i]->cell, counts);
    emu_traffic_end(run->device->traffic, counts);
    emu_model_fill_time(&run->device->spec, run->blocks, counts);
}

emu_status emu_launch_run(emu_device *device, const emu_launch *launch, emu_counts *counts,
                          emu_fault *fault) {
    emu_counts unused;
    if (!counts)
        counts = &unused;
    memset(counts, 0, sizeof *counts);
    emu_program *program;
    emu_status status = emu_program_get(launch->kernel, &program, fault);
    if (!status)
        status = check_shape(device, launch, program, fault);
    if (status)
        return status;
    pthread_mutex_lock(&device->launch_lock);
    emu_run run = {.device = device,
                   .kernel = launch->kernel,
                   .program = program,
                   .launch = launch,
                   .blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
                   .threads_per_block = launch->block[0] * launch->block[1] * launch->block[2],
                   .shared_bytes = program->shared_bytes,
                   .parameters = (const uint8_t *)(uintptr_t)device->parameters,
                   .parameter_address = device->parameters,
                   .parameter_bytes = launch->kernel->info.parameter_bytes,
                   .workspace = launch->cooperative ? device->workspace : 0,
                   .first_tick = device->ticks,
                   .counting = device->options.count};
    run.warps_per_block = (run.threads_per_block + WARP - 1) / WARP;
    if (launch->dynamic_shared_bytes) {
        uint32_t base = program->dynamic ? program->dynamic_base : program->shared_bytes;
        run.shared_bytes = base + launch->dynamic_shared_bytes;
    }
    pthread_mutex_init(&run.lock, NULL);
    atomic_store(&device->interrupted, 0);
    status = occupy(&run, counts, fault);
    if (!status) {
        set_parameters(device, launch, program);
        status = run_blocks(&run, fault);
        if (run.counting && run.workers)
            finish_counts(&run, counts);
    }
    device->ticks += UINT64_C(1) << 20; /* later launches see later clocks */
    pthread_mutex_destroy(&run.lock);
    pthread_mutex_unlock(&device->launch_lock);
    return status;
}
