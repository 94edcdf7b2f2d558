/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory traffic against closed forms: what a streaming kernel, a stride, a transpose and a bank
 * conflict must count is known by arithmetic. And one pseudo-random load is counted again by a slow
 * reference that follows the text of traffic.h, and must not depend on how L2 is sliced.
 */
#include "emulator/memory/traffic.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB  1024u
#define MIB  (1024u * 1024u)
#define BASE ((uint64_t)1 << 40)

static emu_device_spec small_device(void) {
    return (emu_device_spec){.cc_major = 9,
                             .sm_count = 4,
                             .l2_bytes = 4 * MIB,
                             .l1_bytes_per_sm = 256 * KIB,
                             .shared_bytes_per_sm = 228 * KIB};
}

static emu_traffic *begin(emu_device_spec spec, emu_cache_mode mode) {
    emu_options options = {.cache = mode, .count = true, .model_caches = true};
    emu_traffic *t = emu_traffic_create(&spec, &options);
    assert_non_null(t);
    emu_traffic_begin(t, 1024, 8);
    return t;
}

static emu_counts end(emu_traffic *t) {
    emu_counts counts = {0};
    emu_traffic_end(t, &counts);
    return counts;
}

/* One warp, lane i at FIRST + i * STRIDE. */
static void touch(emu_traffic_sm *sm, emu_space space, emu_access_op op, uint32_t bytes,
                  uint32_t mask, uint64_t first, uint64_t stride) {
    uint64_t address[32];
    for (unsigned i = 0; i < 32; i++)
        address[i] = mask >> i & 1 ? first + i * stride : 0xdeadbeefdeadbeef;
    emu_traffic_access(sm, space, op, EMU_CACHE_ALL, bytes, mask, address);
}

/* y[i] = a * x[i] + y[i] over n floats, blocks of 256 threads dealt to the SMs. */
static void run_saxpy(emu_traffic *t, uint64_t x, uint64_t y, unsigned n) {
    for (unsigned i = 0; i < n; i += 32) {
        unsigned left = n - i < 32 ? n - i : 32;
        uint32_t mask = left == 32 ? UINT32_MAX : (1u << left) - 1;
        emu_traffic_sm *sm = emu_traffic_get_sm(t, (int)(i / 256 % 4));
        touch(sm, EMU_GLOBAL, EMU_LOAD, 4, mask, x + i * 4ull, 4);
        touch(sm, EMU_GLOBAL, EMU_LOAD, 4, mask, y + i * 4ull, 4);
        touch(sm, EMU_GLOBAL, EMU_STORE, 4, mask, y + i * 4ull, 4);
    }
}

static void test_saxpy(void **state) {
    (void)state;
    enum { N = 1000003 };
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    run_saxpy(t, BASE, BASE + 16 * MIB, N);
    emu_counts c = end(t);
    uint64_t sectors = (N * 4 + 31) / 32, warps = (N + 31) / 32;
    assert_int_equal(c.load_bytes[EMU_GLOBAL], 8 * N);
    assert_int_equal(c.store_bytes[EMU_GLOBAL], 4 * N);
    assert_int_equal(c.load_requests[EMU_GLOBAL], 2 * warps);
    assert_int_equal(c.store_requests[EMU_GLOBAL], warps);
    assert_int_equal(c.load_sectors, 2 * sectors);
    assert_int_equal(c.store_sectors, sectors);
    assert_int_equal(c.l1_wavefronts, 3 * warps);
    assert_true(c.caches_valid);
    assert_int_equal(c.l1_hit_sectors, 0);
    assert_int_equal(c.l1_miss_sectors, 2 * sectors);
    assert_int_equal(c.l2_read_sectors, 2 * sectors);
    assert_int_equal(c.l2_write_sectors, sectors);
    assert_int_equal(c.dram_read_bytes, 2 * sectors * 32);
    assert_int_equal(c.dram_write_bytes, sectors * 32); /* all of it, the dirty rest included */
    emu_traffic_destroy(t);
}

/* Cold: each launch is charged alike. Warm: the second finds what fits, and owes what is dirty. */
static void test_cold_and_warm(void **state) {
    (void)state;
    enum { N = 65536 };
    uint64_t bytes = N * 4;
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    run_saxpy(t, BASE, BASE + 16 * MIB, N);
    emu_counts first = end(t);
    emu_traffic_begin(t, 1024, 8);
    run_saxpy(t, BASE, BASE + 16 * MIB, N);
    emu_counts second = end(t);
    assert_memory_equal(&first, &second, sizeof first);
    emu_traffic_destroy(t);

    t = begin(small_device(), EMU_CACHE_WARM);
    run_saxpy(t, BASE, BASE + 16 * MIB, N);
    first = end(t);
    assert_int_equal(first.dram_read_bytes, 2 * bytes);
    assert_int_equal(first.dram_write_bytes, 0);
    emu_traffic_begin(t, 1024, 8);
    run_saxpy(t, BASE, BASE + 16 * MIB, N);
    second = end(t);
    assert_int_equal(second.dram_read_bytes, 0);
    assert_int_equal(second.l2_miss_sectors, 0);
    assert_int_equal(second.l1_hit_sectors, 0); /* L1 never outlives a launch */
    emu_traffic_destroy(t);
}

static void test_strides(void **state) {
    (void)state;
    static const struct {
        uint64_t first, stride;
        uint32_t bytes, mask;
        unsigned sectors, lines;
    } rows[] = {
        {0, 4, 4, UINT32_MAX, 4, 1},         {4, 4, 4, UINT32_MAX, 5, 2},
        {0, 8, 8, UINT32_MAX, 8, 2},         {0, 16, 16, UINT32_MAX, 16, 4},
        {0, 32, 32, UINT32_MAX, 32, 8},      {0, 8, 4, UINT32_MAX, 8, 2},
        {0, 32, 4, UINT32_MAX, 32, 8},       {0, 128, 4, UINT32_MAX, 32, 32},
        {0, 4096, 4, UINT32_MAX, 32, 32},    {64, 0, 4, UINT32_MAX, 1, 1},
        {0, 1, 1, UINT32_MAX, 1, 1},         {0, 2, 2, UINT32_MAX, 2, 1},
        {124, 1, 1, UINT32_MAX, 2, 2},       {0, 4, 4, 0x0000ffff, 2, 1},
        {0, 4, 4, 0x00ff00ff, 2, 1},         {0, 4, 4, 0xf0000000, 1, 1},
        {0, 4, 4, 0x80000001, 2, 1},         {0, 16, 4, 1, 1, 1},
        {128 * 31, -128ull, 4, ~0u, 32, 32},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
        touch(emu_traffic_get_sm(t, 0), EMU_GLOBAL, EMU_LOAD, rows[r].bytes, rows[r].mask,
              BASE + rows[r].first, rows[r].stride);
        emu_counts c = end(t);
        assert_int_equal(c.load_sectors, rows[r].sectors);
        assert_int_equal(c.l1_wavefronts, rows[r].lines);
        assert_int_equal(c.l1_miss_sectors, rows[r].sectors);
        assert_int_equal(c.dram_read_bytes, rows[r].sectors * 32);
        assert_int_equal(c.load_bytes[EMU_GLOBAL],
                         (unsigned)__builtin_popcount(rows[r].mask) * rows[r].bytes);
        emu_traffic_destroy(t);
    }
}

static void test_banks(void **state) {
    (void)state;
    static const struct {
        emu_access_op op;
        uint32_t bytes;
        uint64_t stride;
        unsigned wavefronts, conflicts;
    } rows[] = {
        {EMU_LOAD, 4, 4, 1, 0},      {EMU_LOAD, 4, 8, 2, 1},     {EMU_LOAD, 4, 128, 32, 31},
        {EMU_LOAD, 4, 132, 1, 0},    {EMU_LOAD, 4, 0, 1, 0},     {EMU_STORE, 4, 64, 16, 15},
        {EMU_LOAD, 8, 8, 2, 0},      {EMU_LOAD, 16, 16, 4, 0},   {EMU_LOAD, 8, 128, 32, 30},
        {EMU_LOAD, 16, 128, 32, 28}, {EMU_LOAD, 1, 1, 1, 0},     {EMU_STORE, 2, 2, 1, 0},
        {EMU_ATOMIC, 4, 4, 1, 0},    {EMU_ATOMIC, 4, 0, 32, 31}, {EMU_LOAD, 4, 12, 1, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
        touch(emu_traffic_get_sm(t, 1), EMU_SHARED, rows[r].op, rows[r].bytes, UINT32_MAX, 256,
              rows[r].stride);
        emu_counts c = end(t);
        assert_int_equal(c.shared_wavefronts, rows[r].wavefronts);
        assert_int_equal(c.shared_bank_conflicts, rows[r].conflicts);
        assert_int_equal(c.load_sectors + c.store_sectors + c.atomic_sectors, 0);
        assert_int_equal(c.dram_read_bytes, 0);
        emu_traffic_destroy(t);
    }
}

/* What is told of a row or of one place is what its 32 addresses say. */
static void test_rows(void **state) {
    (void)state;
    static const emu_space spaces[] = {EMU_GLOBAL, EMU_SHARED};
    for (unsigned i = 0; i < 2 * 2 * 2 * 6 * 9; i++) {
        emu_space space = spaces[i % 2];
        emu_access_op op = i / 2 % 2 ? EMU_STORE : EMU_LOAD;
        uint32_t bytes = 1u << i / 8 % 6, step = i / 4 % 2 ? bytes : 0;
        uint64_t first = (space == EMU_GLOBAL ? BASE : 0) + i / 48 * 28 / bytes * bytes;
        emu_counts counts[2];
        for (int told = 0; told < 2; told++) {
            emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
            emu_traffic_sm *sm = emu_traffic_get_sm(t, 0);
            if (told)
                emu_traffic_access_row(sm, space, op, EMU_CACHE_ALL, bytes, first, step);
            else
                touch(sm, space, op, bytes, UINT32_MAX, first, step);
            counts[told] = end(t);
            emu_traffic_destroy(t);
        }
        assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    }
}

/* Patterns that the fast test of bank conflicts tells apart, by rule: lane l accesses word
 * (l / DIVIDE) * FACTOR + (l % MODULO) * STEP. */
static void test_bank_patterns(void **state) {
    (void)state;
    static const struct {
        unsigned divide, factor, modulo, step, wavefronts;
    } rows[] = {
        {32, 0, 32, 1, 1}, {16, 0, 16, 1, 1},  /* both halves the same row */
        {16, 16, 1, 0, 1}, {16, 32, 1, 0, 2},  /* a word for each half, in other banks or not */
        {16, 0, 1, 0, 1},  {16, 32, 16, 1, 2}, /* two rows in the same banks */
        {8, 8, 1, 0, 1},   {8, 32, 1, 0, 4},   {16, 16, 16, 1, 1},
        {16, 0, 16, 2, 1}, {16, 0, 16, 4, 2},  {2, 33, 2, 1, 2},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint64_t address[32];
        emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
        for (unsigned l = 0; l < 32; l++)
            address[l] =
                4ull * (l / rows[r].divide * rows[r].factor + l % rows[r].modulo * rows[r].step);
        emu_traffic_access(emu_traffic_get_sm(t, 0), EMU_SHARED, EMU_LOAD, EMU_CACHE_ALL, 4,
                           UINT32_MAX, address);
        emu_counts c = end(t);
        if (c.shared_wavefronts != rows[r].wavefronts)
            fail_msg("row %zu: %d wavefronts", r, (int)c.shared_wavefronts);
        emu_traffic_destroy(t);
    }
}

/* Naive transpose of 256 x 256 floats by 32 x 8 blocks: rows in, columns out. The whole matrix fits
 * L2, so the scattered stores still reach DRAM as whole sectors. */
static void test_transpose(void **state) {
    (void)state;
    enum { N = 256 };
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    for (unsigned y = 0; y < N; y++)
        for (unsigned x = 0; x < N; x += 32) {
            emu_traffic_sm *sm = emu_traffic_get_sm(t, (int)(x / 32 % 4));
            touch(sm, EMU_GLOBAL, EMU_LOAD, 4, UINT32_MAX, BASE + (y * N + x) * 4ull, 4);
            touch(sm, EMU_GLOBAL, EMU_STORE, 4, UINT32_MAX, BASE + MIB + (x * N + y) * 4ull, N * 4);
        }
    emu_counts c = end(t);
    assert_int_equal(c.load_sectors, N * N / 8);
    assert_int_equal(c.store_sectors, N * N);
    assert_int_equal(c.l2_write_sectors, N * N);
    assert_int_equal(c.dram_read_bytes, N * N * 4);
    assert_int_equal(c.dram_write_bytes, N * N * 4);
    emu_traffic_destroy(t);
}

/* Twice over a buffer of L2's size misses only once; over twice its size, LRU finds nothing. */
static void test_l2_capacity(void **state) {
    (void)state;
    for (unsigned times = 1; times <= 2; times++) {
        emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
        uint64_t bytes = 4ull * MIB * times;
        for (int pass = 0; pass < 2; pass++)
            for (uint64_t at = 0; at < bytes; at += 128)
                touch(emu_traffic_get_sm(t, 0), EMU_GLOBAL, EMU_STORE, 4, UINT32_MAX, BASE + at, 4);
        emu_counts c = end(t);
        assert_int_equal(c.dram_read_bytes, 0);
        assert_int_equal(c.dram_write_bytes, times == 1 ? bytes : 2 * bytes);
        assert_int_equal(c.l2_hit_sectors, times == 1 ? bytes / 32 : 0);
        emu_traffic_destroy(t);
    }
}

static void test_l1(void **state) {
    (void)state;
    uint64_t address[32];
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    emu_traffic_sm *sm = emu_traffic_get_sm(t, 0), *other = emu_traffic_get_sm(t, 1);
    for (unsigned i = 0; i < 32; i++)
        address[i] = BASE + i * 4;
    for (int i = 0; i < 3; i++) /* miss, hit, hit */
        emu_traffic_access(sm, EMU_GLOBAL, EMU_LOAD, EMU_CACHE_ALL, 4, UINT32_MAX, address);
    emu_traffic_access(sm, EMU_GLOBAL, EMU_LOAD, EMU_CACHE_L2_ONLY, 4, UINT32_MAX, address);
    emu_traffic_access(other, EMU_GLOBAL, EMU_LOAD, EMU_CACHE_ALL, 4, UINT32_MAX, address);
    emu_traffic_access(sm, EMU_GLOBAL, EMU_ATOMIC, EMU_CACHE_ALL, 4, 1, address); /* drops 1 */
    emu_traffic_access(sm, EMU_GLOBAL, EMU_LOAD, EMU_CACHE_ALL, 4, UINT32_MAX, address);
    touch(sm, EMU_LOCAL, EMU_STORE, 4, UINT32_MAX, BASE + MIB, 4);
    touch(sm, EMU_LOCAL, EMU_LOAD, 4, UINT32_MAX, BASE + MIB, 4);
    emu_counts c = end(t);
    assert_int_equal(c.l1_hit_sectors, 4 + 4 + 3 + 4);
    assert_int_equal(c.l1_miss_sectors, 4 + 4 + 4 + 1);
    assert_int_equal(c.l2_read_sectors, 13);
    assert_int_equal(c.l2_write_sectors, 1 + 4);
    assert_int_equal(c.dram_read_bytes, 4 * 32);
    assert_int_equal(c.dram_write_bytes, (1 + 4) * 32);
    assert_int_equal(c.atomic_sectors, 1);
    emu_traffic_destroy(t);
}

static void test_host_memory(void **state) {
    (void)state;
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    emu_traffic_set_device_range(t, BASE, MIB);
    emu_traffic_sm *sm = emu_traffic_get_sm(t, 0);
    touch(sm, EMU_GLOBAL, EMU_LOAD, 4, UINT32_MAX, BASE + MIB - 128, 4);
    touch(sm, EMU_GLOBAL, EMU_LOAD, 4, UINT32_MAX, BASE + MIB, 4);
    touch(sm, EMU_GLOBAL, EMU_STORE, 4, UINT32_MAX, BASE - 128, 4);
    emu_counts c = end(t);
    assert_int_equal(c.host_bytes, 256);
    assert_int_equal(c.dram_read_bytes, 128);
    assert_int_equal(c.dram_write_bytes, 0);
    assert_int_equal(c.load_sectors, 8);
    emu_traffic_destroy(t);
}

static void test_unknown_l2_is_said(void **state) {
    (void)state;
    emu_device_spec spec = small_device();
    spec.l2_bytes = 0;
    emu_traffic *t = begin(spec, EMU_CACHE_COLD);
    touch(emu_traffic_get_sm(t, 0), EMU_GLOBAL, EMU_LOAD, 4, UINT32_MAX, BASE, 4);
    emu_counts c = end(t);
    assert_false(c.caches_valid);
    assert_int_equal(c.load_sectors, 4);
    emu_traffic_destroy(t);
}

static void test_log_full(void **state) {
    (void)state;
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    emu_traffic_sm *sm = emu_traffic_get_sm(t, 0);
    unsigned drains = 0;
    enum { LINES = 600000 };
    for (unsigned i = 0; i < LINES; i++) {
        touch(sm, EMU_GLOBAL, EMU_STORE, 4, UINT32_MAX, BASE + i * 128ull, 4);
        if (emu_traffic_log_full(sm)) {
            emu_traffic_drain(t, 0, 1);
            assert_false(emu_traffic_log_full(sm));
            drains++;
        }
    }
    emu_counts c = end(t);
    assert_int_equal(drains, 2);
    assert_int_equal(c.dram_write_bytes, LINES * 128ull);
    emu_traffic_destroy(t);
}

/* ---- Random accesses --------------------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static uint64_t slow_sectors(uint32_t mask, const uint64_t address[32]) {
    uint64_t n = 0;
    for (unsigned i = 0; i < 32; i++) {
        bool fresh = mask >> i & 1;
        for (unsigned j = 0; j < i; j++)
            fresh = fresh && !(mask >> j & 1 && address[j] / 32 == address[i] / 32);
        n += fresh;
    }
    return n;
}

static emu_counts run_random(int slices, uint64_t *expected_sectors) {
    emu_traffic *t = begin(small_device(), EMU_CACHE_COLD);
    uint64_t seed = 42, address[32];
    *expected_sectors = 0;
    for (unsigned n = 0; n < 60000; n++) {
        uint32_t mask = (uint32_t)(next_random(&seed) | next_random(&seed) << 16);
        emu_access_op op = (emu_access_op)(next_random(&seed) % 3);
        uint32_t bytes = 1u << next_random(&seed) % 5;
        uint64_t range = 64ull << next_random(&seed) % 18;
        for (unsigned i = 0; i < 32; i++)
            address[i] = BASE + next_random(&seed) % range / bytes * bytes;
        *expected_sectors += slow_sectors(mask, address);
        emu_traffic_access(emu_traffic_get_sm(t, (int)(n % 4)), EMU_GLOBAL, op, EMU_CACHE_ALL,
                           bytes, mask, address);
        for (int s = 0; n % 5000 == 4999 && s < slices; s++)
            emu_traffic_drain(t, s, slices);
    }
    emu_counts c = end(t);
    emu_traffic_destroy(t);
    return c;
}

static void test_slices_do_not_matter(void **state) {
    (void)state;
    uint64_t sectors;
    emu_counts one = run_random(1, &sectors);
    assert_int_equal(one.load_sectors + one.store_sectors + one.atomic_sectors, sectors);
    assert_int_equal(one.l1_hit_sectors + one.l1_miss_sectors, one.load_sectors);
    assert_int_equal(one.l2_read_sectors, one.l1_miss_sectors);
    assert_int_equal(one.l2_hit_sectors + one.l2_miss_sectors,
                     one.l2_read_sectors + one.l2_write_sectors);
    assert_true(one.l1_hit_sectors > 0 && one.l2_hit_sectors > 0 && one.dram_write_bytes > 0);
    static const int slices[] = {2, 3, 4, 64, 100};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        emu_counts many = run_random(slices[i], &sectors);
        assert_memory_equal(&one, &many, sizeof one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),
        cmocka_unit_test(test_cold_and_warm),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_banks),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bank_patterns),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_l2_capacity),
        cmocka_unit_test(test_l1),
        cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_unknown_l2_is_said),
        cmocka_unit_test(test_log_full),
        cmocka_unit_test(test_slices_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
