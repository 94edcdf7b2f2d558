/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of the traffic model, shared by its two files: traffic.c (launches, logs, results) and
 * coalesce.c (each access, each log entry; compiled for several kinds of host).
 *
 * A cache set is an array of 64-bit entries in order of recency: line << 8 | dirty << 4 | valid,
 * both masks of four sectors. Order is the LRU state, zero is an empty way, and the entry used last
 * is found at once.
 */
#ifndef EMU_MEMORY_INTERNAL_H
#define EMU_MEMORY_INTERNAL_H

#include "emulator/memory/traffic.h"
#include <stdatomic.h>

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
#define NO_SET UINT32_MAX

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
    uint64_t l1_hit_sectors, l1_miss_sectors, host_sectors, peer_sectors;
} __attribute__((aligned(64)));

typedef struct slice_counts {
    uint64_t read, write, hit, miss, dram_read, dram_write; /* sectors */
} __attribute__((aligned(64))) slice_counts;

typedef struct traffic_place {
    uint64_t base, size;
    bool remote;
} traffic_place;

/* The hot code for one kind of host: see coalesce.c. */
typedef struct traffic_code {
    void (*access)(emu_traffic_sm *sm, emu_space space, emu_access_op op, emu_access_cache cache,
                   uint32_t bytes, uint32_t mask, const uint64_t address[LANES]);
    void (*access_row)(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                       emu_access_cache cache, uint32_t bytes, uint64_t first, uint32_t step);
    void (*texture)(emu_traffic_sm *sm, emu_access_op op, uint64_t bytes, const uint64_t *address,
                    unsigned count);
    void (*apply)(emu_traffic *traffic, const emu_traffic_sm *sm, size_t from, size_t to, int slice,
                  int slices);
} traffic_code;
extern const traffic_code emu_traffic_code_base, emu_traffic_code_avx2;

struct emu_traffic {
    traffic_code code;
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
    traffic_place *place; /* sorted by base, outside of that range */
    int places, place_capacity;
};

/* The stretch around ADDRESS; NULL: it is the host's. */
const traffic_place *emu_traffic_find_place(const emu_traffic *traffic, uint64_t address);

/* Makes room in a full log; false: there is none, and the launch's cache counts are lost. */
bool emu_traffic_grow_log(emu_traffic_sm *sm);

/* Of a mask of four sectors: a nibble of the constant for each value. */
static inline unsigned count_sectors(unsigned mask) {
    return (unsigned)(0x4332322132212110u >> mask * 4 & 15);
}

#endif
