/* SPDX-License-Identifier: Apache-2.0
 *
 * Traffic of a launch from its beginning to its end: the caches' state, the logs that lead from
 * each SM's L1 to L2, and the sums. traffic.h states the models; coalesce.c has the code that runs
 * for every access.
 */
#include "emulator/memory/internal.h"
#include "emulator/memory/model.h"
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES_MAX ((uint64_t)4 << 30)

static cache_shape make_shape(uint64_t sets) {
    return (cache_shape){sets, sets > 1 ? UINT64_MAX / sets + 1 : 0};
}

/* ---- Creation -------------------------------------------------------------------------------- */

static void forget_used(emu_traffic *t) {
    for (int s = 0; s < MAX_SLICES; s++)
        t->first_used[s] = NO_SET;
}

static bool create_caches(emu_traffic *t) {
    uint64_t l2_lines = t->spec.l2_bytes >> LINE_SHIFT;
    if (l2_lines >= L2_WAYS) {
        t->l2_shape = make_shape(l2_lines / L2_WAYS);
        t->l2 = calloc(t->l2_shape.sets * L2_WAYS, sizeof *t->l2);
        t->next_used = malloc(t->l2_shape.sets * sizeof *t->next_used);
        if (!t->l2 || !t->next_used)
            return false;
    }
    t->l1_capacity_sets = (t->spec.l1_bytes_per_sm >> LINE_SHIFT) / L1_WAYS;
    if (t->l1_capacity_sets == 0)
        return true;
    for (int i = 0; i < t->sm_count; i++) {
        t->sm[i].l1 = calloc(t->l1_capacity_sets * L1_WAYS, sizeof *t->sm[i].l1);
        if (!t->sm[i].l1)
            return false;
    }
    return true;
}

emu_traffic *emu_traffic_create(const emu_device_spec *spec, const emu_options *options) {
    emu_traffic *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->spec = *spec;
    t->code = __builtin_cpu_supports("avx2") ? emu_traffic_code_avx2 : emu_traffic_code_base;
    /* Without the L2's size there is no L2 model, and then L1's misses mean nothing either. */
    t->model_caches = options->model_caches && spec->l2_bytes > 0;
    t->cold = options->cache == EMU_CACHE_COLD;
    t->sm_count = spec->sm_count > 0 ? spec->sm_count : 1;
    t->device_size = UINT64_MAX;
    forget_used(t);
    if (posix_memalign((void **)&t->sm, 64, (size_t)t->sm_count * sizeof *t->sm) != 0) {
        t->sm = NULL;
        goto fail;
    }
    memset(t->sm, 0, (size_t)t->sm_count * sizeof *t->sm);
    for (int i = 0; i < t->sm_count; i++)
        t->sm[i].traffic = t;
    if (t->model_caches && !create_caches(t))
        goto fail;
    return t;
fail:
    emu_traffic_destroy(t);
    return NULL;
}

void emu_traffic_destroy(emu_traffic *traffic) {
    if (!traffic)
        return;
    for (int i = 0; traffic->sm && i < traffic->sm_count; i++) {
        free(traffic->sm[i].l1);
        free(traffic->sm[i].log);
    }
    free(traffic->sm);
    free(traffic->l2);
    free(traffic->next_used);
    free(traffic->place);
    free(traffic);
}

/* Index of the first place that ends after ADDRESS. */
static int place_after(const emu_traffic *t, uint64_t address) {
    int low = 0, high = t->places;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (t->place[middle].base + t->place[middle].size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const traffic_place *emu_traffic_find_place(const emu_traffic *t, uint64_t address) {
    int i = place_after(t, address);
    return i < t->places && t->place[i].base <= address ? &t->place[i] : NULL;
}

bool emu_traffic_add_place(emu_traffic *t, uint64_t base, uint64_t size, bool remote) {
    if (t->places == t->place_capacity) {
        int capacity = t->place_capacity ? t->place_capacity * 2 : 16;
        traffic_place *grown = realloc(t->place, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        t->place = grown;
        t->place_capacity = capacity;
    }
    int i = place_after(t, base);
    memmove(t->place + i + 1, t->place + i, (size_t)(t->places - i) * sizeof *t->place);
    t->place[i] = (traffic_place){base, size, remote};
    t->places++;
    return true;
}

void emu_traffic_remove_places(emu_traffic *t, uint64_t base, uint64_t size) {
    int first = place_after(t, base), last = first;
    while (last < t->places && t->place[last].base >= base &&
           t->place[last].base + t->place[last].size <= base + size)
        last++;
    memmove(t->place + first, t->place + last, (size_t)(t->places - last) * sizeof *t->place);
    t->places -= last - first;
}

void emu_traffic_set_device_range(emu_traffic *traffic, uint64_t base, uint64_t size) {
    traffic->device_base = base;
    traffic->device_size = size;
}

/* ---- A launch begins ------------------------------------------------------------------------- */

/* Empties L2. With WRITE_BACK its dirty sectors are charged to the slice they belong to. */
static void empty_l2(emu_traffic *t, bool write_back) {
    for (int s = 0; s < MAX_SLICES; s++) {
        for (uint32_t set = t->first_used[s], next; set != NO_SET; set = next) {
            uint64_t *entries = t->l2 + (uint64_t)set * L2_WAYS;
            next = t->next_used[set];
            if (next != NO_SET)
                __builtin_prefetch(t->l2 + (uint64_t)next * L2_WAYS, 1);
            for (int w = 0; write_back && w < L2_WAYS && entries[w]; w++) /* empty ways are last */
                t->slice[s].dram_write += count_sectors(entries[w] >> 4 & 15);
            memset(entries, 0, L2_WAYS * sizeof *entries);
        }
    }
    forget_used(t);
}

void emu_traffic_begin(emu_traffic *traffic, uint32_t shared_bytes, uint32_t blocks_per_sm) {
    emu_traffic *t = traffic;
    t->launch++;
    memset(t->slice, 0, sizeof t->slice);
    atomic_store(&t->slices_done, 0);
    if (!t->model_caches)
        return;
    uint64_t lines = emu_model_l1_bytes(&t->spec, shared_bytes, blocks_per_sm) >> LINE_SHIFT;
    uint64_t sets = lines / L1_WAYS;
    t->l1_shape = make_shape(sets < t->l1_capacity_sets ? sets : t->l1_capacity_sets);
    if (t->cold)
        empty_l2(t, false);
}

emu_traffic_sm *emu_traffic_get_sm(emu_traffic *traffic, int sm) {
    emu_traffic_sm *s = &traffic->sm[sm];
    if (s->launch == traffic->launch)
        return s;
    /* First use in this launch: everything from `bytes` on is a counter. */
    memset(s->bytes, 0, sizeof *s - offsetof(emu_traffic_sm, bytes));
    s->launch = traffic->launch;
    s->log_length = 0;
    s->log_lost = false;
    s->shape = traffic->l1_shape;
    if (s->l1)
        memset(s->l1, 0, s->shape.sets * L1_WAYS * sizeof *s->l1);
    return s;
}

/* ---- From the SM to L2: the log
 * ------------------------------------------------------------------------------------------- */

bool emu_traffic_grow_log(emu_traffic_sm *sm) {
    size_t capacity = sm->log_capacity ? sm->log_capacity * 2 : 1024;
    uint64_t more = (capacity - sm->log_capacity) * sizeof *sm->log;
    if (atomic_fetch_add(&sm->traffic->log_bytes, more) + more <= LOG_BYTES_MAX) {
        uint64_t *log = realloc(sm->log, capacity * sizeof *log);
        if (log) {
            sm->log = log;
            sm->log_capacity = capacity;
            return true;
        }
    }
    atomic_fetch_sub(&sm->traffic->log_bytes, more);
    sm->log_lost = true;
    return false;
}

bool emu_traffic_log_full(const emu_traffic_sm *sm) {
    return sm->log_length >= LOG_PAUSE;
}

void emu_traffic_access(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                        emu_access_cache cache, uint32_t bytes, uint32_t mask,
                        const uint64_t address[32]) {
    if (mask)
        sm->traffic->code.access(sm, space, op, cache, bytes, mask, address);
}

void emu_traffic_access_row(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                            emu_access_cache cache, uint32_t bytes, uint64_t first, uint32_t step) {
    sm->traffic->code.access_row(sm, space, op, cache, bytes, first, step);
}

void emu_traffic_texture(emu_traffic_sm *sm, emu_access_op op, uint64_t bytes,
                         const uint64_t *address, unsigned count) {
    sm->traffic->code.texture(sm, op, bytes, address, count);
}

static bool in_launch(const emu_traffic *t, const emu_traffic_sm *sm) {
    return sm->launch == t->launch;
}

void emu_traffic_drain(emu_traffic *traffic, int slice, int slices) {
    emu_traffic *t = traffic;
    if (!t->model_caches)
        return;
    /* More workers than slices that can be told apart: the rest have nothing to do. */
    int parts = slices < MAX_SLICES ? slices : MAX_SLICES;
    bool more = slice < parts;
    for (size_t from = 0; more; from += LOG_CHUNK) {
        more = false;
        for (int i = 0; i < t->sm_count; i++) {
            const emu_traffic_sm *sm = &t->sm[i];
            if (!in_launch(t, sm) || from >= sm->log_length)
                continue;
            size_t left = sm->log_length - from;
            t->code.apply(t, sm, from, from + (left < LOG_CHUNK ? left : LOG_CHUNK), slice, parts);
            more = true;
        }
    }
    if (atomic_fetch_add(&t->slices_done, 1) + 1 < slices)
        return;
    atomic_store(&t->slices_done, 0); /* the last one: nobody reads the logs any more */
    for (int i = 0; i < t->sm_count; i++)
        t->sm[i].log_length = 0;
}

/* ---- A launch ends ----------------------------------------------------------------------------
 */

static void add_sm(emu_counts *counts, const emu_traffic_sm *sm) {
    for (int s = 0; s < EMU_SPACES; s++) {
        counts->load_bytes[s] += sm->bytes[EMU_LOAD][s];
        counts->store_bytes[s] += sm->bytes[EMU_STORE][s];
        counts->atomic_bytes[s] += sm->bytes[EMU_ATOMIC][s];
        counts->load_requests[s] += sm->requests[EMU_LOAD][s];
        counts->store_requests[s] += sm->requests[EMU_STORE][s];
        counts->atomic_requests[s] += sm->requests[EMU_ATOMIC][s];
    }
    counts->load_sectors += sm->sectors[EMU_LOAD];
    counts->store_sectors += sm->sectors[EMU_STORE];
    counts->atomic_sectors += sm->sectors[EMU_ATOMIC];
    counts->shared_wavefronts += sm->shared_wavefronts;
    counts->shared_bank_conflicts += sm->shared_bank_conflicts;
    counts->l1_wavefronts += sm->l1_wavefronts;
    counts->l1_hit_sectors += sm->l1_hit_sectors;
    counts->l1_miss_sectors += sm->l1_miss_sectors;
    counts->host_bytes += sm->host_sectors << SECTOR_SHIFT;
    counts->peer_bytes += sm->peer_sectors << SECTOR_SHIFT;
}

static void add_slices(emu_counts *counts, const emu_traffic *t) {
    for (int s = 0; s < MAX_SLICES; s++) {
        const slice_counts *n = &t->slice[s];
        counts->l2_read_sectors += n->read;
        counts->l2_write_sectors += n->write;
        counts->l2_hit_sectors += n->hit;
        counts->l2_miss_sectors += n->miss;
        counts->dram_read_bytes += n->dram_read << SECTOR_SHIFT;
        counts->dram_write_bytes += n->dram_write << SECTOR_SHIFT;
    }
}

void emu_traffic_end(emu_traffic *traffic, emu_counts *counts) {
    emu_traffic *t = traffic;
    bool lost = false;
    emu_traffic_drain(t, 0, 1);
    if (t->model_caches && t->cold)
        empty_l2(t, true);
    for (int i = 0; i < t->sm_count; i++) {
        if (!in_launch(t, &t->sm[i]))
            continue;
        add_sm(counts, &t->sm[i]);
        lost |= t->sm[i].log_lost;
    }
    add_slices(counts, t);
    counts->caches_valid = t->model_caches && !lost;
}
