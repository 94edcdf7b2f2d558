/* SPDX-License-Identifier: Apache-2.0
 *
 * Coalescing, bank conflicts and the cache models. traffic.h states the models; here is how they
 * are made fast. A warp's access becomes a short list of (128-byte line, mask of its sectors): the
 * patterns that make up most of all programs (all lanes in a row, all lanes the same word) are
 * recognised by one branch-free pass over the 32 addresses and never enter the general path.
 *
 * A cache set is an array of 64-bit entries in order of recency: line << 8 | dirty << 4 | valid,
 * both masks of four sectors. Order is the LRU state, zero is an empty way, and the entry used last
 * is found at once.
 */
#include "emulator/memory/traffic.h"
#include "emulator/memory/model.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 32,
    LINE_SHIFT = 7,
    SECTOR_SHIFT = 5,
    L1_WAYS = 8,
    L2_WAYS = 16,
    LOG_CHUNK = 256,     /* entries of one SM applied before the next SM's turn */
    LOG_PAUSE = 1 << 18, /* entries after which emu_traffic_log_full() says so */
    MAX_SLICES = 64
};
#define LOG_BYTES_MAX ((uint64_t)4 << 30)
#define NO_SET        UINT32_MAX

typedef struct cache_shape {
    uint64_t sets;
    uint64_t reciprocal; /* ceil(2^64 / sets) */
} cache_shape;

struct emu_traffic_sm {
    emu_traffic *traffic;
    uint64_t launch; /* the launch that this SM's state belongs to */
    uint64_t *l1;    /* sets x L1_WAYS entries; NULL: no L1 */
    cache_shape shape;
    uint64_t *log; /* line << 8 | op << 4 | sectors */
    size_t log_length, log_capacity;
    bool log_lost;
    /* counters of this launch */
    uint64_t bytes[3][EMU_SPACES], requests[3][EMU_SPACES], sectors[3];
    uint64_t shared_wavefronts, shared_bank_conflicts, l1_wavefronts;
    uint64_t l1_hit_sectors, l1_miss_sectors, host_sectors;
} __attribute__((aligned(64)));

typedef struct slice_counts {
    uint64_t read, write, hit, miss, dram_read, dram_write; /* sectors */
} __attribute__((aligned(64))) slice_counts;

struct emu_traffic {
    emu_device_spec spec;
    bool model_caches, cold;
    int sm_count;
    emu_traffic_sm *sm;
    uint64_t l1_capacity_sets; /* that every SM's array has room for */
    uint64_t launch;
    cache_shape l1_shape; /* of this launch */
    cache_shape l2_shape;
    uint64_t *l2;
    /* Sets of L2 that hold anything, as one linked list per slice: what a cold launch must empty.
     */
    uint32_t *next_used;
    uint32_t first_used[MAX_SLICES];
    slice_counts slice[MAX_SLICES];
    atomic_int slices_done;
    atomic_ullong log_bytes;
    uint64_t device_base, device_size;
};

/* ---- Cache sets ------------------------------------------------------------------------------ */

static cache_shape make_shape(uint64_t sets) {
    return (cache_shape){sets, sets > 1 ? UINT64_MAX / sets + 1 : 0};
}

/* VALUE / sets, exact while VALUE * sets < 2^64: lines have at most 41 bits (user addresses 48),
 * and 2^19 sets are an L2 of 1 GiB. */
static uint64_t divide(cache_shape shape, uint64_t value) {
    return shape.sets > 1 ? (uint64_t)((unsigned __int128)value * shape.reciprocal >> 64) : value;
}

/* A contiguous range of `sets` lines falls on all sets once; each further range is rotated by an
 * odd amount, so that power-of-two strides spread as they do under the hardware's hash. */
static uint64_t set_of(cache_shape shape, uint64_t line) {
    uint64_t range = divide(shape, line), turn = range * 7;
    uint64_t set = line - range * shape.sets + turn - divide(shape, turn) * shape.sets;
    return set < shape.sets ? set : set - shape.sets;
}

static uint32_t find_way(const uint64_t *set, uint32_t ways, uint64_t line) {
    if (set[0] >> 8 == line && set[0] != 0)
        return 0;
    uint32_t found = ways;
    for (uint32_t w = 1; w < ways; w++)
        found = set[w] >> 8 == line && set[w] != 0 ? w : found;
    return found;
}

static void move_to_front(uint64_t *set, uint32_t way, uint64_t entry) {
    memmove(set + 1, set, way * sizeof *set);
    set[0] = entry;
}

/* Looks LINE up, makes it the most recent with MASK valid (and dirty). Returns the sectors of MASK
 * that were there already; *evicted is the entry that had to leave, 0 if none. */
static unsigned cache_touch(uint64_t *set, uint32_t ways, uint64_t line, unsigned mask, bool dirty,
                            uint64_t *evicted) {
    uint32_t way = find_way(set, ways, line);
    uint64_t entry = line << 8;
    *evicted = 0;
    if (way < ways) {
        entry = set[way];
    } else {
        way = ways - 1;
        *evicted = set[way];
    }
    unsigned hits = (unsigned)entry & mask;
    entry |= mask | (dirty ? mask << 4 : 0);
    if (way == 0)
        set[0] = entry;
    else
        move_to_front(set, way, entry);
    return hits;
}

/* Of a mask of four sectors: a nibble of the constant for each value. */
static unsigned count_sectors(unsigned mask) {
    return (unsigned)(0x4332322132212110u >> mask * 4 & 15);
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
    free(traffic);
}

void emu_traffic_set_device_range(emu_traffic *traffic, uint64_t base, uint64_t size) {
    traffic->device_base = base;
    traffic->device_size = size;
}

/* ---- A launch begins ------------------------------------------------------------------------- */

/* Empties L2. With WRITE_BACK its dirty sectors are charged to the slice they belong to. */
static void empty_l2(emu_traffic *t, bool write_back) {
    for (int s = 0; s < MAX_SLICES; s++) {
        for (uint32_t set = t->first_used[s]; set != NO_SET; set = t->next_used[set]) {
            uint64_t *entries = t->l2 + (uint64_t)set * L2_WAYS;
            for (int w = 0; write_back && w < L2_WAYS; w++)
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

/* ---- From the SM to L2: the log ---------------------------------------------------------------
 */

static bool grow_log(emu_traffic_sm *sm) {
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

static void append_log(emu_traffic_sm *sm, uint64_t line, emu_access_op op, unsigned sectors) {
    if (sm->log_length == sm->log_capacity && !grow_log(sm))
        return;
    sm->log[sm->log_length++] = line << 8 | (unsigned)op << 4 | sectors;
}

bool emu_traffic_log_full(const emu_traffic_sm *sm) {
    return sm->log_length >= LOG_PAUSE;
}

/* ---- One line of a warp's access --------------------------------------------------------------
 */

typedef struct access {
    emu_space space;
    emu_access_op op;
    emu_access_cache cache;
} access;

static void load_line(emu_traffic_sm *sm, uint64_t line, unsigned sectors) {
    uint64_t evicted; /* write-through: nothing dirty ever leaves L1 */
    uint64_t *set = sm->l1 + set_of(sm->shape, line) * L1_WAYS;
    unsigned hits = cache_touch(set, L1_WAYS, line, sectors, false, &evicted);
    unsigned misses = sectors & ~hits;
    sm->l1_hit_sectors += count_sectors(hits);
    if (misses) {
        sm->l1_miss_sectors += count_sectors(misses);
        append_log(sm, line, EMU_LOAD, misses);
    }
}

/* What L1 must forget or learn when a store or an atomic goes by. */
static void pass_line(emu_traffic_sm *sm, access a, uint64_t line, unsigned sectors) {
    uint64_t evicted;
    uint64_t *set = sm->l1 + set_of(sm->shape, line) * L1_WAYS;
    if (a.op == EMU_STORE) {
        if (a.space == EMU_LOCAL)
            cache_touch(set, L1_WAYS, line, sectors, false, &evicted);
        return;
    }
    uint32_t way = find_way(set, L1_WAYS, line);
    if (way == L1_WAYS)
        return;
    set[way] &= ~(uint64_t)sectors;
    if ((set[way] & 15) == 0) { /* keep empty ways last */
        memmove(set + way, set + way + 1, (L1_WAYS - 1 - way) * sizeof *set);
        set[L1_WAYS - 1] = 0;
    }
}

static void account_line(emu_traffic_sm *sm, access a, uint64_t line, unsigned sectors) {
    const emu_traffic *t = sm->traffic;
    unsigned n = count_sectors(sectors);
    sm->sectors[a.op] += n;
    sm->l1_wavefronts++;
    if (a.space == EMU_GLOBAL && (line << LINE_SHIFT) - t->device_base >= t->device_size) {
        sm->host_sectors += n;
        return;
    }
    if (!t->model_caches)
        return;
    bool through_l1 = sm->l1 && sm->shape.sets > 0;
    if (a.op == EMU_LOAD && through_l1 && a.cache == EMU_CACHE_ALL) {
        load_line(sm, line, sectors);
        return;
    }
    if (a.op == EMU_LOAD)
        sm->l1_miss_sectors += n;
    else if (through_l1)
        pass_line(sm, a, line, sectors);
    append_log(sm, line, a.op, sectors);
}

/* ---- Global and local: coalescing -------------------------------------------------------------
 */

/* 0 if the active lanes' addresses are first + lane * STEP. */
static uint64_t off_pattern(const uint64_t address[LANES], uint32_t mask, uint64_t origin,
                            uint64_t step) {
    uint64_t difference = 0;
    if (mask == UINT32_MAX) {
        for (unsigned lane = 0; lane < LANES; lane++)
            difference |= address[lane] ^ (origin + lane * step);
    } else {
        for (unsigned lane = 0; lane < LANES; lane++)
            difference |= (address[lane] ^ (origin + lane * step)) & -(uint64_t)(mask >> lane & 1);
    }
    return difference;
}

/* One line after the other from FIRST to LAST, both inclusive byte addresses. */
static void account_range(emu_traffic_sm *sm, access a, uint64_t first, uint64_t last) {
    uint64_t sector = first >> SECTOR_SHIFT, end = (last >> SECTOR_SHIFT) + 1;
    while (sector < end) {
        uint64_t line = sector >> 2, line_end = (line + 1) << 2;
        unsigned from = (unsigned)(sector & 3);
        unsigned to = (unsigned)((line_end < end ? line_end : end) - (line << 2));
        account_line(sm, a, line, (15u << from) & 15u & ((1u << to) - 1));
        sector = line_end;
    }
}

static void account_scattered(emu_traffic_sm *sm, access a, uint32_t mask,
                              const uint64_t address[LANES]) {
    uint64_t line[LANES];
    unsigned sectors[LANES], n = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t at = address[__builtin_ctz(mask)], l = at >> LINE_SHIFT;
        unsigned sector = 1u << (at >> SECTOR_SHIFT & 3);
        if (n && line[n - 1] == l) {
            sectors[n - 1] |= sector;
            continue;
        }
        unsigned found = n;
        for (unsigned i = 0; i < n; i++)
            found = line[i] == l ? i : found;
        if (found == n) {
            line[n] = l;
            sectors[n++] = 0;
        }
        sectors[found] |= sector;
    }
    for (unsigned i = 0; i < n; i++)
        account_line(sm, a, line[i], sectors[i]);
}

static void access_global(emu_traffic_sm *sm, access a, uint32_t bytes, uint32_t mask,
                          const uint64_t address[LANES]) {
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint64_t first = address[lane], origin = first - (uint64_t)lane * bytes;
    uint32_t from_lane = mask >> lane;
    /* In a row: the lanes from the first active one to the last, without a gap. */
    if ((from_lane & (from_lane + 1)) == 0 && !off_pattern(address, mask, origin, bytes)) {
        account_range(sm, a, first, first + (uint64_t)__builtin_popcount(mask) * bytes - 1);
        return;
    }
    if (!off_pattern(address, mask, first, 0)) {
        account_range(sm, a, first, first + bytes - 1);
        return;
    }
    account_scattered(sm, a, mask, address);
}

/* ---- Shared memory: banks ---------------------------------------------------------------------
 */

/* Wavefronts of the lanes in PART (a warp, half or quarter): the most distinct words (or, for
 * atomics, threads) that any bank must serve. */
static unsigned bank_passes(emu_access_op op, uint32_t words, uint32_t part,
                            const uint64_t address[LANES]) {
    uint32_t seen[LANES][LANES]; /* words of a bank */
    uint8_t used[LANES] = {0};
    unsigned most = 0;
    for (; part; part &= part - 1) {
        uint32_t word = (uint32_t)(address[__builtin_ctz(part)] >> 2);
        for (uint32_t w = word; w < word + words; w++) {
            unsigned bank = w % LANES, i = 0;
            while (op != EMU_ATOMIC && i < used[bank] && seen[bank][i] != w)
                i++;
            if (op == EMU_ATOMIC || i == used[bank])
                seen[bank][used[bank]++] = w;
            most = used[bank] > most ? used[bank] : most;
        }
    }
    return most;
}

static void access_shared(emu_traffic_sm *sm, emu_access_op op, uint32_t bytes, uint32_t mask,
                          const uint64_t address[LANES]) {
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint64_t origin = address[lane] - (uint64_t)lane * bytes;
    unsigned lanes = bytes <= 4    ? LANES
                     : bytes == 8  ? LANES / 2
                     : bytes == 16 ? LANES / 4
                                   : LANES / 8;
    uint32_t part_mask = lanes == LANES ? UINT32_MAX : (1u << lanes) - 1;
    bool row = !off_pattern(address, mask, origin, bytes);
    bool simple = (row && (bytes >= 4 || op != EMU_ATOMIC)) ||
                  (op != EMU_ATOMIC && !off_pattern(address, mask, address[lane], 0));
    for (unsigned at = 0; at < LANES; at += lanes) {
        uint32_t part = mask & part_mask << at;
        if (!part)
            continue;
        unsigned passes = simple ? 1 : bank_passes(op, bytes <= 4 ? 1 : bytes / 4, part, address);
        sm->shared_wavefronts += passes;
        sm->shared_bank_conflicts += passes - 1;
    }
}

void emu_traffic_access(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                        emu_access_cache cache, uint32_t bytes, uint32_t mask,
                        const uint64_t address[32]) {
    if (!mask)
        return;
    sm->bytes[op][space] += (uint64_t)bytes * (unsigned)__builtin_popcount(mask);
    sm->requests[op][space]++;
    if (space == EMU_GLOBAL || space == EMU_LOCAL)
        access_global(sm, (access){space, op, cache}, bytes, mask, address);
    else if (space == EMU_SHARED)
        access_shared(sm, op, bytes, mask, address);
}

/* ---- L2 ---------------------------------------------------------------------------------------
 */

static void apply_entry(emu_traffic *t, int slice, uint64_t set_index, uint64_t entry) {
    slice_counts *n = &t->slice[slice];
    uint64_t *set = t->l2 + set_index * L2_WAYS, evicted;
    unsigned sectors = entry & 15;
    emu_access_op op = (emu_access_op)(entry >> 4 & 3);
    if (set[0] == 0) {
        t->next_used[set_index] = t->first_used[slice];
        t->first_used[slice] = (uint32_t)set_index;
    }
    unsigned hits = cache_touch(set, L2_WAYS, entry >> 8, sectors, op != EMU_LOAD, &evicted);
    unsigned hit = count_sectors(hits), miss = count_sectors(sectors) - hit;
    *(op == EMU_LOAD ? &n->read : &n->write) += hit + miss;
    n->hit += hit;
    n->miss += miss;
    if (op != EMU_STORE)
        n->dram_read += miss;
    n->dram_write += count_sectors(evicted >> 4 & 15);
}

static void apply_chunk(emu_traffic *t, const emu_traffic_sm *sm, size_t from, int slice,
                        int slices) {
    size_t to = from + LOG_CHUNK < sm->log_length ? from + LOG_CHUNK : sm->log_length;
    for (size_t i = from; i < to; i++) {
        uint64_t set = set_of(t->l2_shape, sm->log[i] >> 8);
        if (slices == 1 || set % (unsigned)slices == (unsigned)slice)
            apply_entry(t, slice, set, sm->log[i]);
    }
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
            apply_chunk(t, sm, from, slice, parts);
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
