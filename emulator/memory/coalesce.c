/* SPDX-License-Identifier: Apache-2.0
 *
 * The hot part of the traffic model: coalescing, bank conflicts, and the look-ups in L1 and L2. A
 * warp's access becomes a short list of (128-byte line, mask of its sectors): the patterns that
 * make up most of all programs (all lanes in a row, all lanes the same word) are recognised by one
 * branch-free pass over the 32 addresses and never enter the general path.
 *
 * Compiled once for each kind of host (EMU_ISA: base, avx2); traffic.c picks at run time.
 */
#include "emulator/memory/internal.h"
#include <string.h>

static unsigned count_lanes(uint32_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

/* ---- Cache sets
 * ------------------------------------------------------------------------------------------- */

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

/* Four entries of a set, at any place in it. */
enum { FOUR = 4 };
typedef uint64_t four __attribute__((vector_size(8 * FOUR), aligned(8), may_alias));

static inline four *four_at(uint64_t *entry) {
    return (four *)(void *)entry;
}

/* The way that holds LINE, WAYS if none does: without a branch after the first. An empty way (0)
 * looks like line 0, the first page, where nothing is. */
static inline uint32_t find_way(uint64_t *set, uint32_t ways, uint64_t line) {
    four found = {0}, number = {1, 2, 3, 4};
    if (set[0] >> 8 == line)
        return 0;
    for (uint32_t w = 0; w < ways; w += FOUR, number += FOUR)
        found |= (four)(*four_at(set + w) >> 8 == line) & number;
    uint64_t way = found[0] | found[1] | found[2] | found[3];
    return way ? (uint32_t)way - 1 : ways;
}

static inline void move_to_front(uint64_t *set, uint32_t ways, uint32_t way, uint64_t entry) {
    uint64_t moved[L2_WAYS] = {entry};
    for (uint64_t w = 1; w < ways; w++)
        moved[w] = w <= way ? set[w - 1] : set[w];
    memcpy(set, moved, ways * sizeof *set);
}

/* The same for the last way, the one that a miss takes. */
static inline void push_front(uint64_t *set, uint32_t ways, uint64_t entry) {
    for (uint32_t w = ways - FOUR; w > 0; w -= FOUR)
        *four_at(set + w) = *four_at(set + w - 1);
    *four_at(set + 1) = *four_at(set);
    set[0] = entry;
}

/* Looks LINE up, makes it the most recent with MASK valid (and dirty). Returns the sectors of MASK
 * that were there already; *evicted is the entry that had to leave, 0 if none. */
static inline __attribute__((always_inline)) unsigned cache_touch(uint64_t *set, uint32_t ways,
                                                                  uint64_t line, unsigned mask,
                                                                  bool dirty, uint64_t *evicted) {
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
    else if (way == ways - 1)
        push_front(set, ways, entry);
    else
        move_to_front(set, ways, way, entry);
    return hits;
}

static void append_log(emu_traffic_sm *sm, uint64_t line, emu_access_op op, unsigned sectors) {
    if (sm->log_length == sm->log_capacity && !emu_traffic_grow_log(sm))
        return;
    sm->log[sm->log_length++] = line << 8 | (unsigned)op << 4 | sectors;
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
        __builtin_prefetch(set + L1_WAYS, 1); /* the next line's, soon wanted by a stream */
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
    if (a.space != EMU_LOCAL && (line << LINE_SHIFT) - t->device_base >= t->device_size) {
        const traffic_place *place =
            t->places ? emu_traffic_find_place(t, line << LINE_SHIFT) : NULL;
        if (!place)
            sm->host_sectors += n;
        else if (place->remote)
            sm->peer_sectors += n;
        if (!place || place->remote)
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
    uint32_t others = mask & (mask - 1);
    uint64_t step = others ? address[__builtin_ctz(others)] - first : 0;
    /* In a row: the lanes from the first active one to the last, without a gap. */
    if (step == bytes && (from_lane & (from_lane + 1)) == 0 &&
        !off_pattern(address, mask, origin, bytes))
        account_range(sm, a, first, first + (uint64_t)count_lanes(mask) * bytes - 1);
    else if (step == 0 && !off_pattern(address, mask, first, 0))
        account_range(sm, a, first, first + bytes - 1);
    else
        account_scattered(sm, a, mask, address);
}

/* ---- Shared memory: banks
 * ------------------------------------------------------------------------------------------- */

/* Wavefronts of the lanes in PART (a warp, half or quarter) that load or store WORDS words each.
 * Each pass serves one word of every bank: all lanes write their words into a table by bank, and
 * those whose words all survive are served. */
static unsigned bank_passes(uint32_t words, uint32_t part, const uint64_t address[LANES]) {
    uint32_t table[LANES], passes = 0;
    while (part) {
        for (uint32_t left = part; left; left &= left - 1) {
            uint32_t word = (uint32_t)(address[__builtin_ctz(left)] >> 2);
            for (uint32_t w = word; w < word + words; w++)
                table[w % LANES] = w;
        }
        uint32_t waiting = 0;
        for (uint32_t left = part; left; left &= left - 1) {
            unsigned lane = (unsigned)__builtin_ctz(left);
            uint32_t word = (uint32_t)(address[lane] >> 2), lost = 0;
            for (uint32_t w = word; w < word + words; w++)
                lost |= table[w % LANES] ^ w;
            waiting |= (uint32_t)(lost != 0) << lane;
        }
        part = waiting;
        passes++;
    }
    return passes;
}

/* Atomics: a bank serves one thread at a time, whatever the word. */
static unsigned atomic_passes(uint32_t words, uint32_t part, const uint64_t address[LANES]) {
    unsigned threads[LANES] = {0}, most = 0;
    for (; part; part &= part - 1) {
        uint32_t word = (uint32_t)(address[__builtin_ctz(part)] >> 2);
        for (uint32_t w = word; w < word + words; w++) {
            unsigned n = ++threads[w % LANES];
            most = n > most ? n : most;
        }
    }
    return most;
}

/* One word each for all 32 lanes, the common case: true if one pass serves them. The usual patterns
 * (each lane a bank of its own; both halves of the warp the same; each half a word of its own) are
 * seen from the banks together and the halves' differences, without a table. */
static bool free_of_conflicts(const uint64_t address[LANES]) {
    uint32_t word[LANES], banks = 0, apart = 0, uneven = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        word[lane] = (uint32_t)(address[lane] >> 2);
        banks |= 1u << (word[lane] % LANES);
    }
    if (banks == UINT32_MAX)
        return true;
    for (unsigned lane = 0; lane < LANES / 2; lane++) {
        apart |= word[lane] ^ word[lane + LANES / 2];
        uneven |= (word[lane] ^ word[0]) | (word[lane + LANES / 2] ^ word[LANES / 2]);
    }
    if (!uneven)
        return !apart || count_lanes(banks) == 2;
    if (!apart && count_lanes(banks) == LANES / 2)
        return true;
    uint32_t table[LANES], lost = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        table[word[lane] % LANES] = word[lane];
    for (unsigned lane = 0; lane < LANES; lane++)
        lost |= table[word[lane] % LANES] ^ word[lane];
    return lost == 0;
}

static bool in_one_pass(emu_access_op op, uint32_t bytes, uint32_t mask,
                        const uint64_t address[LANES]) {
    unsigned lane = (unsigned)__builtin_ctz(mask);
    if (bytes <= 4 && op != EMU_ATOMIC && mask == UINT32_MAX)
        return free_of_conflicts(address);
    if (op != EMU_ATOMIC && !off_pattern(address, mask, address[lane], 0))
        return true;
    return (bytes >= 4 || op != EMU_ATOMIC) &&
           !off_pattern(address, mask, address[lane] - (uint64_t)lane * bytes, bytes);
}

static void access_shared(emu_traffic_sm *sm, emu_access_op op, uint32_t bytes, uint32_t mask,
                          const uint64_t address[LANES]) {
    unsigned lanes = bytes <= 4 ? LANES : LANES * 4 / bytes; /* of a part: 128 bytes */
    uint32_t part_mask = lanes == LANES ? UINT32_MAX : (1u << lanes) - 1;
    uint32_t words = bytes <= 4 ? 1 : bytes / 4;
    bool simple = in_one_pass(op, bytes, mask, address);
    for (unsigned at = 0; at < LANES; at += lanes) {
        uint32_t part = mask & part_mask << at;
        if (!part)
            continue;
        unsigned passes = simple             ? 1
                          : op == EMU_ATOMIC ? atomic_passes(words, part, address)
                                             : bank_passes(words, part, address);
        sm->shared_wavefronts += passes;
        sm->shared_bank_conflicts += passes - 1;
    }
}

static void access_memory(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                          emu_access_cache cache, uint32_t bytes, uint32_t mask,
                          const uint64_t address[LANES]) {
    sm->bytes[op][space] += (uint64_t)bytes * count_lanes(mask);
    sm->requests[op][space]++;
    if (space == EMU_GLOBAL || space == EMU_LOCAL)
        access_global(sm, (access){space, op, cache}, bytes, mask, address);
    else if (space == EMU_SHARED)
        access_shared(sm, op, bytes, mask, address);
}

/* All lanes in a row, or all at the same place: no bank conflicts, and the lines follow from the
 * ends. */
static void access_row(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                       emu_access_cache cache, uint32_t bytes, uint64_t first, uint32_t step) {
    sm->bytes[op][space] += (uint64_t)bytes * LANES;
    sm->requests[op][space]++;
    if (space == EMU_SHARED) {
        sm->shared_wavefronts += bytes <= 4 ? 1 : bytes / 4;
        return;
    }
    const access a = {space, op, cache};
    uint64_t last = first + (uint64_t)step * (LANES - 1) + bytes - 1;
    uint64_t line = first >> LINE_SHIFT;
    unsigned from = first >> SECTOR_SHIFT & 3, to = last >> SECTOR_SHIFT & 3;
    if (line == last >> LINE_SHIFT)
        account_line(sm, a, line, (2u << to) - (1u << from));
    else
        account_range(sm, a, first, last);
}

/* ---- Textures ---------------------------------------------------------------------------------
 */

/* Up to 16 texels a lane, of which many share sectors: lines are kept in a list, in the order in
 * which they come, and found again by a table of hints. */
static void access_texture(emu_traffic_sm *sm, emu_access_op op, uint64_t bytes,
                           const uint64_t *address, unsigned count) {
    enum { MOST = LANES * 16, HINTS = 128 };
    const access a = {EMU_TEXTURE, op, EMU_CACHE_ALL};
    uint64_t line[MOST];
    uint8_t sectors[MOST];
    uint16_t hint[HINTS] = {0};
    unsigned n = 0;
    sm->bytes[op][EMU_TEXTURE] += bytes;
    sm->requests[op][EMU_TEXTURE]++;
    for (unsigned i = 0; i < count && i < MOST; i++) {
        const uint64_t l = address[i] >> LINE_SHIFT;
        const uint8_t sector = (uint8_t)(1u << (address[i] >> SECTOR_SHIFT & 3));
        unsigned found = hint[l % HINTS];
        if (found >= n || line[found] != l)
            for (found = 0; found < n && line[found] != l; found++)
                ;
        if (found == n) {
            line[n] = l;
            sectors[n++] = 0;
        }
        hint[l % HINTS] = (uint16_t)found;
        sectors[found] |= sector;
    }
    for (unsigned i = 0; i < n; i++)
        account_line(sm, a, line[i], sectors[i]);
}

/* ---- L2
 * ------------------------------------------------------------------------------------------- */

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

/* The sets lie all over the host's memory: those of the entries ahead are fetched early. */
static void apply_entries(emu_traffic *t, const emu_traffic_sm *sm, size_t from, size_t to,
                          int slice, int slices) {
    enum { AHEAD = 8 };
    uint64_t sets[AHEAD];
    for (size_t i = from; i < to + AHEAD; i++) {
        uint64_t *slot = &sets[i % AHEAD];
        if (i >= from + AHEAD && (slices == 1 || *slot % (unsigned)slices == (unsigned)slice))
            apply_entry(t, slice, *slot, sm->log[i - AHEAD]);
        if (i >= to)
            continue;
        *slot = set_of(t->l2_shape, sm->log[i] >> 8);
        __builtin_prefetch(t->l2 + *slot * L2_WAYS);
        __builtin_prefetch(t->l2 + *slot * L2_WAYS + 8);
    }
}

#define NAME_OF(isa)   emu_traffic_code_##isa
#define CODE_NAME(isa) NAME_OF(isa)
const traffic_code CODE_NAME(EMU_ISA) = {access_memory, access_row, access_texture, apply_entries};
