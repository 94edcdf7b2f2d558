/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow and everything that crosses lanes: divergence, loops, spin locks, barriers, calls,
 * shuffles, votes, atomics, grid-wide waiting, printf. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A kernel around BODY: %r0 = thread in the grid, %rd0 = out, %rd1 = out + 4 * thread. */
#define DECLARATIONS                                                                               \
    ".reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<8>; .reg .f64 %d<8>;\n"    \
    ".reg .pred %p<16>;\n"
#define KERNEL(BODY) KERNEL_HEAD BODY KERNEL_TAIL
#define KERNEL_TAIL  "\nret;\n}\n"
#define KERNEL_HEAD                                                                                \
    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" DECLARATIONS                         \
    "ld.param.u64 %rd0, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, "         \
    "%tid.x;\n"                                                                                    \
    "mad.lo.s32 %r0, %r1, %r2, %r3; mad.wide.u32 %rd1, %r0, 4, %rd0;\n"

enum { WORDS = 4096 };

typedef struct fixture {
    emu_device *device;
    emu_module *module;
    uint32_t *out;
    uint64_t address;
} fixture;

static fixture start(const char *text, int host_threads) {
    fixture f = {.device = bench_device(host_threads, true)};
    f.module = bench_load(f.device, text);
    f.address = bench_allocate(f.device, WORDS * 4);
    f.out = (uint32_t *)(uintptr_t)f.address;
    return f;
}

static void stop(fixture *f) {
    emu_module_unload(f->module);
    emu_device_destroy(f->device);
}

static void launch(fixture *f, bench_shape shape, emu_counts *counts) {
    uint64_t in = f->address + WORDS * 2;
    const void *parameters[] = {&f->address, &in, NULL};
    bench_run(f->device, f->module, "k", shape, parameters, counts);
}

static fixture run(const char *text, uint32_t grid, uint32_t block) {
    fixture f = start(text, 1);
    launch(&f, (bench_shape){grid, block, 0, false}, NULL);
    return f;
}

/* ---- divergence ---------------------------------------------------------------------------------
 */

static void test_collatz(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL("add.u32 %r4, %r0, 1; mov.u32 %r5, 0;\n"
                              "LOOP: setp.eq.u32 %p1, %r4, 1; @%p1 bra DONE;\n"
                              "and.b32 %r6, %r4, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra EVEN;\n"
                              "mad.lo.u32 %r4, %r4, 3, 1; bra.uni NEXT;\n"
                              "EVEN: shr.u32 %r4, %r4, 1;\n"
                              "NEXT: add.u32 %r5, %r5, 1; bra LOOP;\n"
                              "DONE: st.global.u32 [%rd1], %r5;"),
            3, 100);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t n = i + 1, steps = 0;
        for (; n != 1; steps++)
            n = n & 1 ? 3 * n + 1 : n / 2;
        assert_int_equal(f.out[i], steps);
    }
    stop(&f);
}

/* Both sides of a branch run once each, and what follows runs for the whole warp again. */
static void test_reconvergence(void **unused) {
    (void)unused;
    fixture f = start(PTX_HEADER KERNEL("and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0;\n"
                                        "@%p1 bra EVEN;\n mov.u32 %r5, 7;\n bra JOIN;\n"
                                        "EVEN: mov.u32 %r5, 9;\n"
                                        "JOIN: activemask.b32 %r6; add.u32 %r5, %r5, %r6;\n"
                                        "st.global.u32 [%rd1], %r5;"),
                      1);
    emu_counts counts;
    launch(&f, (bench_shape){1, 32, 0, false}, &counts);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], (i & 1 ? 7u : 9u) + 0xffffffffu);
    /* ld.param, 3 mov, 2 mad, and, setp, bra | mov bra | mov | activemask add st ret */
    assert_int_equal(counts.warp_insts, 9 + 2 + 1 + 4);
    assert_int_equal(counts.thread_insts, 32 * (8 + 4) + 16 * (1 + 2 + 1));
    stop(&f);
}

static void test_branch_table(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL("TABLE: .branchtargets A, B, C;\n rem.u32 %r4, %r0, 3;\n"
                              "brx.idx %r4, TABLE;\n"
                              "A: mov.u32 %r5, 10; bra END;\n B: mov.u32 %r5, 20; bra END;\n"
                              "C: mov.u32 %r5, 30;\n END: st.global.u32 [%rd1], %r5;"),
            1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(f.out[i], 10 * (i % 3 + 1));
    stop(&f);
}

/* ---- waiting ------------------------------------------------------------------------------------
 */

/* All lanes of all warps of all blocks take one lock in turn; the loser's path is the shorter one.
 */
static void test_spin_lock(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER KERNEL("add.s64 %rd2, %rd0, 8000;\n"
                                      "TRY: atom.global.cas.b32 %r4, [%rd2], 0, 1;\n"
                                      "setp.ne.u32 %p1, %r4, 0; @%p1 bra TRY;\n"
                                      "ld.volatile.global.u32 %r5, [%rd0]; add.u32 %r5, %r5, 1;\n"
                                      "st.volatile.global.u32 [%rd0], %r5; membar.gl;\n"
                                      "atom.global.exch.b32 %r6, [%rd2], 0;"),
                    4, 96);
    assert_int_equal(f.out[0], 4 * 96);
    stop(&f);
}

/* Warp 0 waits for warp 1 through shared memory, lanes 1..31 of a warp for its lane 0 through
 * global. */
static void test_waits_for_others(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER ".shared .align 4 .u32 flag;\n" KERNEL(
                        "setp.lt.u32 %p1, %r3, 32; @%p1 bra WAIT;\n"
                        "mov.u32 %r4, 5; st.volatile.shared.u32 [flag], %r4; bra END;\n"
                        "WAIT: ld.volatile.shared.u32 %r4, [flag]; setp.ne.u32 %p2, %r4, 5;\n"
                        "@%p2 bra WAIT;\n END: st.global.u32 [%rd1], %r4;"),
                    1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(f.out[i], 5);
    stop(&f);
}

/* A barrier over the whole grid out of atomics: every block must be in flight. */
static void test_grid_barrier(void **unused) {
    (void)unused;
    fixture f = start(PTX_HEADER KERNEL("add.s64 %rd2, %rd0, 8000; mov.u32 %r7, %nctaid.x;\n"
                                        "atom.global.add.u32 %r4, [%rd2+4], 1; bar.sync 0;\n"
                                        "setp.ne.u32 %p1, %r3, 0; @%p1 bra WAITED;\n"
                                        "atom.global.add.u32 %r4, [%rd2], 1;\n"
                                        "SPIN: ld.acquire.gpu.global.u32 %r5, [%rd2];\n"
                                        "setp.lt.u32 %p2, %r5, %r7; @%p2 bra SPIN;\n"
                                        "WAITED: bar.sync 0; ld.global.u32 %r6, [%rd2+4];\n"
                                        "st.global.u32 [%rd1], %r6;"),
                      2);
    launch(&f, (bench_shape){20, 64, 0, true}, NULL);
    for (uint32_t i = 0; i < 20 * 64; i++)
        assert_int_equal(f.out[i], 20 * 64);
    stop(&f);
}

/* The barrier of cooperative groups, which finds its counter through the driver's registers. */
static void test_grid_workspace(void **unused) {
    (void)unused;
    fixture f =
        start(PTX_HEADER KERNEL(
                  "mov.u32 %r4, %envreg2; mov.u32 %r5, %envreg1; mov.b64 %rd2, {%r4, %r5};\n"
                  "setp.eq.u64 %p3, %rd2, 0; @%p3 bra ALONE;\n"
                  "atom.add.u32 %r6, [%rd2+4], 1; mov.u32 %r7, %nctaid.x;\n"
                  "SPIN: ld.volatile.u32 %r8, [%rd2+4]; setp.lt.u32 %p1, %r8, %r7;\n"
                  "@%p1 bra SPIN; st.global.u32 [%rd1], %r8; bra END;\n"
                  "ALONE: st.global.u32 [%rd1], 7; END:"),
              1);
    launch(&f, (bench_shape){12, 1, 0, true}, NULL);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(f.out[i], 12);
    launch(&f, (bench_shape){12, 1, 0, false}, NULL);
    assert_int_equal(f.out[5], 7);
    stop(&f);
}

/* ---- barriers -----------------------------------------------------------------------------------
 */

static void test_barrier_reverses(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER ".shared .align 4 .b8 s[1024];\n" KERNEL(
                        "mov.u32 %r4, s; mad.lo.u32 %r5, %r3, 4, %r4; st.shared.u32 [%r5], %r0;\n"
                        "bar.sync 0; sub.u32 %r6, %r2, %r3; sub.u32 %r6, %r6, 1;\n"
                        "mad.lo.u32 %r6, %r6, 4, %r4; ld.shared.u32 %r7, [%r6];\n"
                        "st.global.u32 [%rd1], %r7;"),
                    2, 250);
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(f.out[i], i / 250 * 250 + 249 - i % 250);
    stop(&f);
}

/* Half of the threads leave early, the others meet at two different barrier instructions. */
static void test_divergent_barrier(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER ".shared .align 4 .u32 total;\n" KERNEL(
                        "setp.ge.u32 %p1, %r3, 48; @%p1 exit;\n"
                        "atom.shared.add.u32 %r4, [total], 1;\n"
                        "and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra EVEN;\n"
                        "bar.sync 0; ld.shared.u32 %r6, [total]; bra END;\n"
                        "EVEN: bar.sync 0; ld.shared.u32 %r6, [total]; add.u32 %r6, %r6, 100;\n"
                        "END: st.global.u32 [%rd1], %r6;"),
                    1, 96);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(f.out[i], i >= 48 ? 0 : i & 1 ? 48 : 148);
    stop(&f);
}

static void test_barrier_reductions(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL("setp.lt.u32 %p1, %r3, 70;\n"
                              "bar.red.popc.u32 %r4, 0, %p1;\n bar.red.and.pred %p2, 1, %p1;\n"
                              "bar.red.or.pred %p3, 2, %p1;\n bar.red.and.pred %p4, 1, !%p1;\n"
                              "selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 2000, 0, %p3;\n"
                              "selp.u32 %r7, 4000, 0, %p4;\n"
                              "add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;\n"
                              "add.u32 %r4, %r4, %r7; st.global.u32 [%rd1], %r4;"),
            1, 128);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(f.out[i], 70 + 2000);
    stop(&f);
}

/* Producer warps arrive, consumer warps wait: a named barrier with a count. */
static void test_named_barrier(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER ".shared .align 4 .u32 box;\n" KERNEL(
                        "setp.lt.u32 %p1, %r3, 32; @%p1 bra CONSUMER;\n"
                        "mov.u32 %r4, 77; st.shared.u32 [box], %r4; bar.arrive 3, 64; bra END;\n"
                        "CONSUMER: bar.sync 3, 64; ld.shared.u32 %r4, [box];\n"
                        "END: st.global.u32 [%rd1], %r4;"),
                    1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(f.out[i], 77);
    stop(&f);
}

static void test_warp_barrier(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER ".shared .align 4 .b8 s[128];\n" KERNEL(
                        "mov.u32 %r4, s; mad.lo.u32 %r5, %r3, 4, %r4;\n"
                        "setp.lt.u32 %p1, %r3, 16; @%p1 bra LOW;\n"
                        "add.u32 %r6, %r3, 100; st.shared.u32 [%r5], %r6; bar.warp.sync -1;\n"
                        "bra END;\n"
                        "LOW: add.u32 %r6, %r3, 200; st.shared.u32 [%r5], %r6; bar.warp.sync -1;\n"
                        "END: xor.b32 %r7, %r3, 31; mad.lo.u32 %r7, %r7, 4, %r4;\n"
                        "ld.shared.u32 %r8, [%r7]; st.global.u32 [%rd1], %r8;"),
                    1, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], (31 - i) + ((31 - i) < 16 ? 200 : 100));
    stop(&f);
}

/* ---- across lanes -------------------------------------------------------------------------------
 */

static void test_shuffles(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL(
                "mul.lo.u32 %r4, %r3, 3;\n"
                "shfl.sync.up.b32 %r5|%p1, %r4, 2, 0, -1; selp.u32 %r6, 1000, 0, %p1;\n"
                "add.u32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;\n"
                "shfl.sync.down.b32 %r5|%p1, %r4, 5, 31, -1; selp.u32 %r6, 1000, 0, %p1;\n"
                "add.u32 %r5, %r5, %r6; st.global.u32 [%rd1+128], %r5;\n"
                "shfl.sync.bfly.b32 %r5, %r4, 7, 31, -1; st.global.u32 [%rd1+256], %r5;\n"
                "shfl.sync.idx.b32 %r5, %r4, 9, 0x181f, -1; st.global.u32 [%rd1+384], %r5;\n"
                "setp.lt.u32 %p2, %r3, 8; mov.u32 %r5, 5;\n"
                "@%p2 shfl.sync.idx.b32 %r5, %r4, 20, 31, 0xff; st.global.u32 [%rd1+512], %r5;"),
            1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(f.out[i], i >= 2 ? (i - 2) * 3 + 1000 : i * 3);
        assert_int_equal(f.out[32 + i], i + 5 <= 31 ? (i + 5) * 3 + 1000 : i * 3);
        assert_int_equal(f.out[64 + i], (i ^ 7) * 3);
        assert_int_equal(f.out[96 + i], ((i & 24) + 1) * 3); /* segments of 8 lanes */
        assert_int_equal(f.out[128 + i], i < 8 ? 0 : 5);     /* from a lane that takes no part */
    }
    stop(&f);
}

/* Lanes come to one shuffle by different paths, at different times. */
static void test_gathering(void **unused) {
    (void)unused;
    fixture f = start(PTX_HEADER KERNEL("mov.u32 %r4, %r3; setp.lt.u32 %p1, %r3, 10;\n"
                                        "mov.u32 %r9, 50; @%p1 bra LONG; bra MEET;\n"
                                        "LONG: sub.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0;\n"
                                        "@%p2 bra LONG; add.u32 %r4, %r4, 100;\n"
                                        "MEET: shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;\n"
                                        "st.global.u32 [%rd1], %r5;"),
                      1);
    emu_counts counts;
    launch(&f, (bench_shape){1, 32, 0, false}, &counts);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], (i ^ 16) + ((i ^ 16) < 10 ? 100 : 0));
    assert_int_equal(counts.shuffle_insts, 32);
    stop(&f);
}

static void test_votes(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL(
                "and.b32 %r4, %r3, 3; setp.eq.u32 %p1, %r4, 1;\n"
                "vote.sync.ballot.b32 %r5, %p1, -1; st.global.u32 [%rd1], %r5;\n"
                "vote.sync.ballot.b32 %r5, !%p1, -1; st.global.u32 [%rd1+128], %r5;\n"
                "vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1;\n"
                "vote.sync.uni.pred %p4, %p1, -1;\n"
                "selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 2, 0, %p3; selp.u32 %r7, 4, 0, %p4;\n"
                "or.b32 %r5, %r5, %r6; or.b32 %r5, %r5, %r7; st.global.u32 [%rd1+256], %r5;\n"
                "match.any.sync.b32 %r5, %r4, -1; st.global.u32 [%rd1+384], %r5;\n"
                "cvt.u64.u32 %rd5, %r4; match.any.sync.b64 %r5, %rd5, -1;\n"
                "st.global.u32 [%rd1+512], %r5; mov.u32 %r6, 9;\n"
                "match.all.sync.b32 %r5|%p5, %r6, -1; selp.u32 %r7, 1, 0, %p5;\n"
                "sub.u32 %r5, %r5, %r7; st.global.u32 [%rd1+640], %r5;\n"
                "match.all.sync.b32 %r5|%p5, %r4, -1; selp.u32 %r7, 1, 0, %p5;\n"
                "sub.u32 %r5, %r5, %r7; st.global.u32 [%rd1+768], %r5;\n"
                "redux.sync.add.s32 %r5, %r3, -1; redux.sync.max.u32 %r6, %r3, -1;\n"
                "redux.sync.min.s32 %r7, %r3, -1; redux.sync.xor.b32 %r8, %r3, -1;\n"
                "redux.sync.or.b32 %r9, %r3, -1; redux.sync.and.b32 %r10, %r3, -1;\n"
                "mad.lo.u32 %r5, %r6, 1000, %r5; add.u32 %r5, %r5, %r7;\n"
                "add.u32 %r5, %r5, %r8; add.u32 %r5, %r5, %r9; add.u32 %r5, %r5, %r10;\n"
                "st.global.u32 [%rd1+896], %r5;"),
            1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(f.out[i], 0x22222222u);
        assert_int_equal(f.out[32 + i], 0xddddddddu);
        assert_int_equal(f.out[64 + i], 1);
        assert_int_equal(f.out[96 + i], 0x11111111u << (i & 3));
        assert_int_equal(f.out[128 + i], 0x11111111u << (i & 3));
        assert_int_equal(f.out[160 + i], 0xfffffffeu);
        assert_int_equal(f.out[192 + i], 0);
        assert_int_equal(f.out[224 + i], 496 + 31000 + 0 + 0 + 31 + 0);
    }
    stop(&f);
}

/* ---- atomics ------------------------------------------------------------------------------------
 */

typedef struct atomic_case {
    const char *op, *type;
    uint64_t before, after; /* 32 threads with their number + 1 as operand */
} atomic_case;

static const char atomic_head[] = PTX_HEADER ".shared .align 8 .b64 cell;\n" KERNEL_HEAD
                                             "add.u32 %r4, %r3, 1; cvt.u64.u32 %rd4, %r4; "
                                             "cvt.rn.f32.u32 %f1, %r4; cvt.rn.f64.u32 %d1, %r4;\n"
                                             "ld.global.u64 %rd6, [%rd0+64]; st.shared.u64 [cell], "
                                             "%rd6; add.s64 %rd2, %rd0, 64; bar.sync 0;\n";

static void test_atomics(void **unused) {
    (void)unused;
    static const atomic_case list[] = {
        {"add", "u32", 5, 5 + 528},
        {"add", "s32", 5, 5 + 528},
        {"add", "u64", 5, 5 + 528},
        {"min", "u32", 50, 1},
        {"min", "s32", 0xffffffff, 0xffffffff},
        {"min", "u64", 50, 1},
        {"min", "s64", UINT64_MAX, UINT64_MAX},
        {"max", "u32", 3, 32},
        {"max", "s32", 0x80000000, 32},
        {"max", "u64", 3, 32},
        {"max", "s64", UINT64_MAX, 32},
        {"and", "b32", 0xff00, 0},
        {"and", "b64", 0xff00, 0},
        {"or", "b32", 0x1000, 0x103f},
        {"or", "b64", 0x1000, 0x103f},
        {"xor", "b32", 0, 32},
        {"xor", "b64", 0, 32},
        {"exch", "b32", 0, 32},
        {"exch", "b64", 0, 32},
        {"inc", "u32", 0, 32},
        {"dec", "u32", 0, 30},
        {"add", "f32", 0x3f800000, 0x44044000}, /* 1 + 528 */
        {"add", "f64", 0x3ff0000000000000, 0x4080880000000000},
    };
    static const char *const spaces[] = {"global", "shared"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        for (int s = 0; s < 2; s++) {
            const atomic_case *c = &list[i];
            bool wide = strstr(c->type, "64"), real = c->type[0] == 'f';
            char text[4096];
            const char *operand = real ? (wide ? "%d1" : "%f1") : wide ? "%rd4" : "%r4";
            const char *old = real ? (wide ? "%d2" : "%f2") : wide ? "%rd5" : "%r5";
            snprintf(text, sizeof text, "%satom.%s.%s.%s %s, %s, %s;\n%s%s" KERNEL_TAIL,
                     atomic_head, spaces[s], c->op, c->type, old, s ? "[cell]" : "[%rd2]", operand,
                     "bar.sync 0; ld.shared.u64 %rd6, [cell];\n",
                     s ? "st.global.u64 [%rd0+64], %rd6;" : "");
            fixture f = start(text, 1);
            memcpy(f.out + 16, &c->before, 8);
            launch(&f, (bench_shape){1, 32, 0, false}, NULL);
            uint64_t got;
            memcpy(&got, f.out + 16, 8);
            if (got != c->after)
                fail_msg("atom.%s.%s.%s: got %llx, expected %llx", spaces[s], c->op, c->type,
                         (unsigned long long)got, (unsigned long long)c->after);
            stop(&f);
        }
    }
}

static void test_cas_and_old_values(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL("add.s64 %rd2, %rd0, 8000;\n"
                              "atom.global.add.u32 %r4, [%rd2], 2; st.global.u32 [%rd1], %r4;\n"
                              "atom.global.cas.b32 %r5, [%rd2+4], %r3, 99;\n"
                              "red.global.add.u32 [%rd2+8], 3; red.add.u32 [%rd2+12], %r3;\n"
                              "atom.global.cas.b64 %rd5, [%rd2+16], 0, 7;"),
            1, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], 2 * i);
    assert_int_equal(f.out[2000], 64);
    assert_int_equal(f.out[2001], 99);
    assert_int_equal(f.out[2002], 96);
    assert_int_equal(f.out[2003], 496);
    assert_int_equal(f.out[2004], 7);
    stop(&f);
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static const char functions[] = PTX_HEADER
    ".func (.param .b32 r) fib(.param .b32 n);\n"
    ".func (.param .b32 r) fib(.param .b32 n)\n{ .reg .b32 %r<8>; .reg .pred %p<2>;\n"
    " .local .align 4 .b8 keep[4]; .reg .b64 %rd<2>;\n"
    " mov.u64 %rd0, keep; ld.param.u32 %r0, [n]; setp.gt.u32 %p0, %r0, 1; @%p0 bra MORE;\n"
    " st.param.b32 [r], %r0; ret;\n"
    "MORE: sub.u32 %r1, %r0, 1; st.local.u32 [%rd0], %r0;\n"
    " { .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), fib, (a);\n"
    "   ld.param.b32 %r2, [v]; }\n"
    " ld.local.u32 %r3, [%rd0]; sub.u32 %r3, %r3, 2;\n"
    " { .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), fib, (a);\n"
    "   ld.param.b32 %r4, [v]; }\n"
    " add.u32 %r5, %r2, %r4; st.param.b32 [r], %r5; ret; }\n"
    ".func (.reg .b32 r) twice(.reg .b32 n) { add.u32 r, n, n; ret; }\n"
    ".func (.param .b32 r) plus(.param .align 8 .b8 s[16]) { .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    " ld.param.u32 %r0, [s]; ld.param.u64 %rd0, [s+8]; cvt.u32.u64 %r1, %rd0; add.u32 %r2, %r0, "
    "%r1;\n"
    " st.param.b32 [r+0], %r2; ret; }\n"
    ".func (.param .b32 r) one(.param .b32 n) { .reg .b32 %r<2>; ld.param.u32 %r0, [n];\n"
    " add.u32 %r1, %r0, 1; st.param.b32 [r], %r1; }\n"
    ".func (.param .b32 r) two(.param .b32 n) { .reg .b32 %r<2>; ld.param.u32 %r0, [n];\n"
    " mul.lo.u32 %r1, %r0, 2; st.param.b32 [r], %r1; ret; }\n"
    ".global .align 8 .u64 table[2] = {one, two};\n" KERNEL(
        "rem.u32 %r9, %r0, 9;\n"
        "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r9; call (v), fib, (a);\n"
        "  ld.param.b32 %r4, [v]; }\n st.global.u32 [%rd1], %r4;\n"
        "call (%r5), twice, (%r0); st.global.u32 [%rd1+256], %r5;\n"
        "{ .param .align 8 .b8 s[16]; .param .b32 v; cvt.u64.u32 %rd5, %r0; st.param.b32 [s], "
        "%r0;\n"
        "  st.param.b64 [s+8], %rd5; call (v), plus, (s); ld.param.b32 %r6, [v]; }\n"
        "st.global.u32 [%rd1+512], %r6;\n"
        "and.b32 %r7, %r0, 1; mul.wide.u32 %rd6, %r7, 8; mov.u64 %rd7, table; add.s64 %rd7, %rd7, "
        "%rd6;\n"
        "ld.global.u64 %rd8, [%rd7];\n"
        "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r0;\n"
        "  P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "  call (v), %rd8, (a), P; ld.param.b32 %r8, [v]; }\n st.global.u32 [%rd1+768], %r8;");

static void test_calls(void **unused) {
    (void)unused;
    static const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
    fixture f = run(functions, 1, 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(f.out[i], fib[i % 9]);
        assert_int_equal(f.out[64 + i], 2 * i);
        assert_int_equal(f.out[128 + i], 2 * i);
        assert_int_equal(f.out[192 + i], i & 1 ? 2 * i : i + 1);
    }
    stop(&f);
}

static void collect(void *context, const char *text, size_t length) {
    char *to = context;
    size_t have = strlen(to);
    memcpy(to + have, text, length);
    to[have + length] = '\0';
}

static void test_printf(void **unused) {
    (void)unused;
    fixture f = run(
        PTX_HEADER
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
        ".global .align 1 .b8 word[4] = {97, 98, 99, 0};\n"
        /* "%d|%5u|%-4x|%lld|%.2f|%s|%c|%%|%*d\n" */
        ".global .align 1 .b8 fmt[40] = "
        "{37,100,124,37,53,117,124,37,45,52,120,124,37,108,108,100,124,"
        "37,46,50,102,124,37,115,124,37,99,124,37,37,124,37,42,100,10,0};\n" KERNEL(
            ".local .align 8 .b8 v[64]; mov.u64 %rd4, v; cvta.local.u64 %rd5, %rd4;\n"
            "mov.u32 %r4, -7; st.local.u32 [%rd4], %r4; mov.u32 %r4, 42; st.local.u32 [%rd4+4], "
            "%r4;\n"
            "mov.u32 %r4, 255; st.local.u32 [%rd4+8], %r4; mov.u64 %rd6, -5000000000;\n"
            "st.local.u64 [%rd4+16], %rd6; mov.f64 %d1, 0d400921FB54442D18; st.local.f64 "
            "[%rd4+24], %d1;\n"
            "mov.u64 %rd7, word; cvta.global.u64 %rd7, %rd7; st.local.u64 [%rd4+32], %rd7;\n"
            "mov.u32 %r4, 81; st.local.u32 [%rd4+40], %r4; mov.u32 %r4, 6; st.local.u32 [%rd4+44], "
            "%r4;\n"
            "mov.u32 %r4, 12; st.local.u32 [%rd4+48], %r4;\n"
            "mov.u64 %rd8, fmt; cvta.global.u64 %rd8, %rd8;\n"
            "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd8;\n"
            "  st.param.b64 [b], %rd5; call.uni (r), vprintf, (a, b); ld.param.b32 %r5, [r]; }\n"
            "st.global.u32 [%rd1], %r5;"),
        1, 1);
    char text[512] = "";
    emu_device_drain_printf(f.device, collect, text);
    assert_string_equal(text, "-7|   42|ff  |-5000000000|3.14|abc|Q|%|    12\n");
    stop(&f);
}

/* ---- memory of all kinds ------------------------------------------------------------------------
 */

static void test_spaces(void **unused) {
    (void)unused;
    fixture f = run(
        PTX_HEADER
        ".const .align 4 .u32 c[4] = {10, 20, 30, 40};\n.extern .shared .align 16 .b8 dyn[];\n"
        ".global .align 8 .u64 there = generic(target)+4;\n"
        ".global .align 4 .u32 target[2] = {1, 1234};\n"
        ".shared .align 4 .u32 fixed;\n" KERNEL(
            ".local .align 16 .b8 l[32]; mov.u64 %rd4, l; cvta.local.u64 %rd5, %rd4;\n"
            "and.b32 %r4, %r3, 3; mul.wide.u32 %rd6, %r4, 4; mov.u64 %rd7, c; add.s64 %rd7, %rd7, "
            "%rd6;\n"
            "ld.const.u32 %r5, [%rd7]; st.u32 [%rd5+12], %r5; ld.local.u32 %r6, [%rd4+12];\n"
            "ld.u32 %r7, [%rd5+12]; add.u32 %r6, %r6, %r7; st.global.u32 [%rd1], %r6;\n"
            "mov.u64 %rd8, fixed; cvta.shared.u64 %rd9, %rd8; st.u32 [%rd9], 5; bar.sync 0;\n"
            "ld.shared.u32 %r8, [fixed];\n"
            "isspacep.shared %p1, %rd9; isspacep.local %p2, %rd5; isspacep.global %p3, %rd1;\n"
            "isspacep.global %p4, %rd9; selp.u32 %r9, 100, 0, %p1; selp.u32 %r10, 200, 0, %p2;\n"
            "selp.u32 %r11, 400, 0, %p3; selp.u32 %r12, 800, 0, %p4; add.u32 %r8, %r8, %r9;\n"
            "add.u32 %r8, %r8, %r10; add.u32 %r8, %r8, %r11; add.u32 %r8, %r8, %r12;\n"
            "st.global.u32 [%rd1+256], %r8;\n"
            "ld.global.u64 %rd10, [there]; ld.u32 %r13, [%rd10]; st.global.u32 [%rd1+512], %r13;\n"
            "setp.lt.u32 %p5, %r3, 16; selp.b64 %rd11, %rd9, %rd5, %p5; ld.u32 %r14, [%rd11];\n"
            "st.global.u32 [%rd1+768], %r14;"),
        1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(f.out[i], 2 * 10 * (i % 4 + 1));
        assert_int_equal(f.out[64 + i], 705);
        assert_int_equal(f.out[128 + i], 1234);
        if (i < 16)
            assert_int_equal(f.out[192 + i], 5);
    }
    stop(&f);
}

static void test_vectors_and_narrow(void **unused) {
    (void)unused;
    fixture f = run(
        PTX_HEADER KERNEL(
            "mul.lo.u32 %r4, %r3, 0x01010101; add.u32 %r5, %r3, 0xf0;\n"
            "mad.wide.u32 %rd4, %r3, 16, %rd0; add.s64 %rd4, %rd4, 4096;\n"
            "st.global.v4.u32 [%rd4], {%r3, %r4, %r5, %r0};\n"
            "ld.global.v2.u64 {%rd5, %rd6}, [%rd4]; mov.b64 {%r6, %r7}, %rd5;\n"
            "mov.b64 %rd7, {%r7, %r6}; shr.u64 %rd7, %rd7, 32; cvt.u32.u64 %r8, %rd7;\n"
            "st.global.u32 [%rd1], %r8;\n"
            "ld.global.s8 %r9, [%rd4+8]; ld.global.u8 %h1, [%rd4+8]; cvt.u32.u16 %r10, %h1;\n"
            "sub.s32 %r9, %r10, %r9; st.global.u32 [%rd1+256], %r9;\n"
            "ld.global.s8 %rd8, [%rd4+8]; shr.u64 %rd8, %rd8, 60; cvt.u32.u64 %r11, %rd8;\n"
            "st.global.u32 [%rd1+512], %r11;\n"
            "mov.b32 {%h2, %h3}, %r4; mov.b32 %r12, {%h3, %h2}; st.global.u32 [%rd1+768], %r12;\n"
            "st.global.u8 [%rd1+1024], %rd7; ld.global.v2.u16 {%h4, _}, [%rd4+4];\n"
            "cvt.u32.u16 %r13, %h4; st.global.u16 [%rd1+1026], %r13;"),
        1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(f.out[i], i);
        assert_int_equal(f.out[64 + i], ((i + 0xf0) & 0xff) >= 0x80 ? 256 : 0);
        assert_int_equal(f.out[128 + i], ((i + 0xf0) & 0xff) >= 0x80 ? 15 : 0);
        assert_int_equal(f.out[192 + i], i * 0x01010101u);
        assert_int_equal(f.out[256 + i], i | (i * 0x0101u) << 16);
    }
    stop(&f);
}

static void test_dynamic_shared(void **unused) {
    (void)unused;
    fixture f =
        start(PTX_HEADER ".extern .shared .align 16 .b8 dyn[];\n" KERNEL(
                  ".shared .align 4 .b8 fixed[20];\n"
                  "mov.u32 %r4, dyn; mad.lo.u32 %r5, %r3, 4, %r4; st.shared.u32 [%r5], %r3;\n"
                  "mov.u32 %r6, fixed; st.shared.u32 [%r6+16], %r4; bar.sync 0;\n"
                  "xor.b32 %r7, %r3, 1; mad.lo.u32 %r7, %r7, 4, %r4; ld.shared.u32 %r8, [%r7];\n"
                  "mov.u32 %r9, %dynamic_smem_size; mad.lo.u32 %r8, %r9, 1000, %r8;\n"
                  "st.global.u32 [%rd1], %r8;"),
              1);
    launch(&f, (bench_shape){1, 64, 256, false}, NULL);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(f.out[i], (i ^ 1) + 256000);
    stop(&f);
}

static void test_carry(void **unused) {
    (void)unused;
    fixture f =
        run(PTX_HEADER KERNEL(
                "mov.u32 %r4, 0xffffffff; mov.u32 %r5, 2; add.cc.u32 %r6, %r4, %r5;\n"
                "addc.cc.u32 %r7, %r4, 0; addc.u32 %r8, 10, 20; st.global.u32 [%rd1], %r6;\n"
                "st.global.u32 [%rd1+4], %r7; st.global.u32 [%rd1+8], %r8;\n"
                "sub.cc.u32 %r6, 1, %r5; subc.cc.u32 %r7, 0, 0; subc.u32 %r8, 9, 3;\n"
                "st.global.u32 [%rd1+12], %r6; st.global.u32 [%rd1+16], %r7;\n"
                "st.global.u32 [%rd1+20], %r8; mad.lo.cc.u32 %r6, %r4, %r4, %r4;\n"
                "madc.hi.u32 %r7, %r4, %r4, 0; st.global.u32 [%rd1+24], %r6;\n"
                "st.global.u32 [%rd1+28], %r7;"),
            1, 1);
    const uint32_t expected[] = {1, 0, 31, 0xffffffff, 0xffffffff, 5, 0, 0xffffffff};
    for (int i = 0; i < 8; i++)
        assert_int_equal(f.out[i], expected[i]);
    stop(&f);
}

static void test_copy_async_and_mbarrier(void **unused) {
    (void)unused;
    fixture f =
        start(PTX_HEADER ".shared .align 16 .b8 s[512];\n.shared .align 8 .b64 bar;\n" KERNEL(
                  "ld.param.u64 %rd4, [in]; mad.wide.u32 %rd5, %r3, 16, %rd4; mov.u32 %r4, s;\n"
                  "mad.lo.u32 %r5, %r3, 16, %r4; setp.ne.u32 %p1, %r3, 0;\n"
                  "@!%p1 mbarrier.init.shared.b64 [bar], 32; bar.sync 0;\n"
                  "cp.async.cg.shared.global [%r5], [%rd5], 16, 8; cp.async.commit_group;\n"
                  "cp.async.wait_group 0; mbarrier.arrive.shared.b64 %rd6, [bar];\n"
                  "W: mbarrier.test_wait.shared.b64 %p2, [bar], %rd6; @!%p2 bra W;\n"
                  "xor.b32 %r6, %r5, 16; ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];\n"
                  "add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10;\n"
                  "st.global.u32 [%rd1], %r7;"),
              1);
    for (uint32_t i = 0; i < 128; i++)
        f.out[WORDS / 2 + i] = 1000 + i;
    launch(&f, (bench_shape){1, 32, 0, false}, NULL);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], 2 * 1000 + 8 * (i ^ 1) + 1);
    stop(&f);
}

static void test_device_heap(void **unused) {
    (void)unused;
    fixture f = run(PTX_HEADER
                    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                    ".extern .func free(.param .b64 p);\n" KERNEL(
                        "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 40;\n"
                        "  call.uni (r), malloc, (n); ld.param.b64 %rd4, [r]; }\n"
                        "st.u32 [%rd4+36], %r0; ld.u32 %r4, [%rd4+36]; st.global.u32 [%rd1], %r4;\n"
                        "{ .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }"),
                    4, 64);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(f.out[i], i);
    stop(&f);
}

/* ---- linking ------------------------------------------------------------------------------------
 */

static void test_linking(void **unused) {
    (void)unused;
    const char *texts[] = {
        PTX_HEADER
        ".extern .func (.param .b32 r) other(.param .b32 n);\n.extern .global .u32 value;\n"
        ".weak .global .u32 soft = 1;\n.global .u32 mine = 3;\n" KERNEL(
            "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r0; call.uni (v), other, (a);\n"
            "  ld.param.b32 %r4, [v]; } ld.global.u32 %r5, [value]; ld.global.u32 %r6, [soft];\n"
            "ld.global.u32 %r7, [mine]; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;\n"
            "add.u32 %r4, %r4, %r7; st.global.u32 [%rd1], %r4;"),
        PTX_HEADER ".visible .global .u32 value = 100;\n.visible .global .u32 soft = 1000;\n"
                   ".global .u32 mine = 50;\n"
                   ".visible .func (.param .b32 r) other(.param .b32 n) { .reg .b32 %r<4>;\n"
                   " ld.param.u32 %r0, [n]; ld.global.u32 %r1, [mine]; add.u32 %r2, %r0, %r1;\n"
                   " st.param.b32 [r], %r2; ret; }\n"};
    size_t lengths[] = {strlen(texts[0]), strlen(texts[1])};
    fixture f = {.device = bench_device(1, true)};
    emu_fault fault = {0};
    assert_int_equal(emu_module_load(f.device, texts, lengths, 2, &f.module, &fault), EMU_OK);
    f.address = bench_allocate(f.device, WORDS * 4);
    f.out = (uint32_t *)(uintptr_t)f.address;
    launch(&f, (bench_shape){1, 32, 0, false}, NULL);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], i + 50 + 100 + 1000 + 3);
    stop(&f);
    const char *twice[] = {PTX_HEADER ".visible .global .u32 x = 1;\n",
                           PTX_HEADER ".visible .global .u32 x = 2;\n"};
    size_t sizes[] = {strlen(twice[0]), strlen(twice[1])};
    emu_device *device = bench_device(1, true);
    emu_module *module;
    assert_int_equal(emu_module_load(device, twice, sizes, 2, &module, &fault), EMU_BAD_PTX);
    assert_non_null(strstr(fault.message, "x is defined twice"));
    emu_device_destroy(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collatz),
        cmocka_unit_test(test_reconvergence),
        cmocka_unit_test(test_branch_table),
        cmocka_unit_test(test_spin_lock),
        cmocka_unit_test(test_waits_for_others),
        cmocka_unit_test(test_grid_barrier),
        cmocka_unit_test(test_grid_workspace),
        cmocka_unit_test(test_barrier_reverses),
        cmocka_unit_test(test_divergent_barrier),
        cmocka_unit_test(test_barrier_reductions),
        cmocka_unit_test(test_named_barrier),
        cmocka_unit_test(test_warp_barrier),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_gathering),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_cas_and_old_values),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_vectors_and_narrow),
        cmocka_unit_test(test_dynamic_shared),
        cmocka_unit_test(test_carry),
        cmocka_unit_test(test_copy_async_and_mbarrier),
        cmocka_unit_test(test_device_heap),
        cmocka_unit_test(test_linking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
