/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers in shared memory (mbarrier) with arrivals and announced bytes, the copies that complete
 * on them, the barrier of a cluster of one block, registers of 128 bits, and what all of it counts
 * as. */
#include "bench_device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 4096, IN = WORDS / 2 };

/* Kernels with these: %t the thread, %out the results, %in the input, %to the thread's result. */
#define HEAD                                                                                       \
    ".version 9.0\n.target sm_100a\n.address_size 64\n"                                            \
    ".shared .align 16 .b8 s[4096];\n.shared .align 8 .b64 bar;\n"                                 \
    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"                                      \
    ".reg .b16 %h<8>; .reg .b32 %t, %a, %b, %c, %d, %r<32>; .reg .b64 %out, %in, %to, %rd<32>;\n"  \
    ".reg .f32 %f<8>; .reg .f64 %fd<8>; .reg .pred %p<16>; .reg .b128 %q<8>;\n"                    \
    "mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; ld.param.u64 %in, [in];\n"                      \
    "mad.wide.u32 %to, %t, 4, %out; setp.eq.u32 %p15, %t, 0; mov.u32 %a, s; mov.u32 %b, bar;\n"
#define TAIL "\nret;\n}\n"

typedef struct fixture {
    emu_device *device;
    emu_module *module;
    uint64_t address;
    uint32_t *out;
    emu_counts counts;
} fixture;

static fixture start(const char *body) {
    char *text = malloc(strlen(HEAD) + strlen(body) + strlen(TAIL) + 1);
    assert_non_null(text);
    strcpy(text, HEAD);
    strcat(text, body);
    strcat(text, TAIL);
    fixture f = {.device = bench_device(1, true)};
    f.module = bench_load(f.device, text);
    f.address = bench_allocate(f.device, WORDS * 4);
    f.out = (uint32_t *)(uintptr_t)f.address;
    memset(f.out, 0, WORDS * 4);
    for (uint32_t i = 0; i < IN; i++)
        f.out[IN + i] = 0x01010101u * (i & 0xff) + i;
    free(text);
    return f;
}

static emu_status attempt(fixture *f, uint32_t threads, emu_fault *fault) {
    uint64_t in = f->address + IN * 4;
    const void *parameters[] = {&f->address, &in, NULL};
    return bench_try(f->device, f->module, "k", (bench_shape){1, threads, 0, false}, parameters,
                     &f->counts, fault);
}

static void stop(fixture *f) {
    emu_module_unload(f->module);
    emu_device_destroy(f->device);
}

static fixture run(const char *body, uint32_t threads) {
    fixture f = start(body);
    emu_fault fault = {0};
    if (attempt(&f, threads, &fault))
        fail_msg("%s", fault.message);
    return f;
}

/* Whether the phase of parity 0 is over goes to byte N of the results. */
#define NOTE(N)                                                                                    \
    "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r31, 1, 0, %p1;\n"              \
    "st.global.u32 [%out+" #N "], %r31;\n"

/* ---- mbarrier -----------------------------------------------------------------------------------
 */

// clang-format off
static void test_bytes(void **unused) {
    (void)unused;
    fixture f = run(
        "mbarrier.init.shared.b64 [bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 %rd1, [bar], 64;\n" NOTE(0)
        "mbarrier.complete_tx.shared.b64 [%b], 48;\n" NOTE(4)
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n" NOTE(8)
        /* the next phase: bytes come before they are announced */
        "mbarrier.complete_tx.shared.b64 [bar], 128;\n"
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 128;\n" NOTE(12)
        "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1; selp.u32 %r1, 1, 0, %p2;\n"
        "st.global.u32 [%out+16], %r1; mbarrier.arrive.shared.b64 _, [bar];\n"
        "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1; selp.u32 %r1, 1, 0, %p2;\n"
        "st.global.u32 [%out+20], %r1;\n", 1);
    const uint32_t want[] = {0, 0, 1, 1, 0, 1};
    for (int i = 0; i < 6; i++)
        assert_int_equal(f.out[i], want[i]);
    stop(&f);
}

static void test_arrivals(void **unused) {
    (void)unused;
    fixture f = run(
        "mbarrier.init.shared.b64 [bar], 10;\n"
        "mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 4;\n"
        "mbarrier.pending_count.b64 %r1, %rd1; st.global.u32 [%out], %r1;\n"
        "mbarrier.arrive.release.cta.shared::cta.b64 %rd2, [bar];\n"
        "mbarrier.pending_count.b64 %r1, %rd2; st.global.u32 [%out+4], %r1;\n"
        /* three fewer from the next phase on, who arrive now */
        "mbarrier.arrive_drop.shared.b64 %rd3, [bar], 2;\n"
        "mbarrier.pending_count.b64 %r1, %rd3; st.global.u32 [%out+8], %r1;\n"
        "mbarrier.arrive_drop.expect_tx.shared.b64 _, [bar], 8;\n" NOTE(12)
        "mbarrier.complete_tx.shared.b64 [bar], 8;\n" NOTE(16)
        "mbarrier.test_wait.shared.b64 %p2, [bar], %rd1; selp.u32 %r1, 1, 0, %p2;\n"
        "st.global.u32 [%out+20], %r1;\n"
        "mbarrier.arrive.shared.b64 %rd4, [bar], 2;\n" NOTE(24)
        "mbarrier.try_wait.shared.b64 %p2, [bar], %rd1, 1000; selp.u32 %r1, 1, 0, %p2;\n"
        "st.global.u32 [%out+28], %r1; mbarrier.arrive.shared.b64 %rd5, [bar];\n"
        "mbarrier.pending_count.b64 %r1, %rd5; st.global.u32 [%out+32], %r1;\n"
        "mbarrier.inval.shared.b64 [bar];\n", 1);
    const uint32_t want[] = {10, 6, 5, 0, 0, 0, 1, 1, 7};
    for (int i = 0; i < 9; i++)
        if (f.out[i] != want[i])
            fail_msg("word %d: %u, expected %u", i, f.out[i], want[i]);
    stop(&f);
}
// clang-format on

/* Warps that hand a buffer back and forth: a producer and a consumer, 8 phases. */
static void test_pipeline(void **unused) {
    (void)unused;
    fixture f = run(
        ".shared .align 8 .b64 full, empty;\n"
        "@!%p15 bra READY; mbarrier.init.shared.b64 [full], 32; mbarrier.init.shared.b64 [empty], "
        "32;\n"
        "READY: bar.sync 0; mov.u32 %r0, 0; mov.u32 %r7, 0; and.b32 %r6, %t, 31;\n"
        "mad.lo.u32 %r5, %r6, 4, %a; setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;\n"
        "PRODUCE: setp.eq.u32 %p2, %r0, 0; @%p2 bra FILL; sub.u32 %r1, %r0, 1; and.b32 %r1, %r1, "
        "1;\n"
        "W1: mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r1; @!%p3 bra W1;\n"
        "FILL: mad.lo.u32 %r2, %r0, 100, %r6; st.shared.u32 [%r5], %r2;\n"
        "mbarrier.arrive.shared.b64 _, [full]; add.u32 %r0, %r0, 1; setp.lt.u32 %p4, %r0, 8;\n"
        "@%p4 bra PRODUCE; bra END;\n"
        "CONSUME: and.b32 %r1, %r0, 1;\n"
        "W2: mbarrier.try_wait.parity.shared.b64 %p3, [full], %r1; @!%p3 bra W2;\n"
        "xor.b32 %r3, %r5, 4; ld.shared.u32 %r4, [%r3]; add.u32 %r7, %r7, %r4;\n"
        "mbarrier.arrive.shared.b64 _, [empty]; add.u32 %r0, %r0, 1; setp.lt.u32 %p4, %r0, 8;\n"
        "@%p4 bra CONSUME; st.global.u32 [%to], %r7; END:\n",
        64);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[32 + i], 2800 + 8 * (i ^ 1));
    stop(&f);
}

/* ---- copies -------------------------------------------------------------------------------------
 */

static void test_copy_forms(void **unused) {
    (void)unused;
    fixture f = run(
        "mbarrier.init.shared.b64 [bar], 3;\n"
        "st.shared.v4.u32 [s], {9, 9, 9, 9}; st.shared.v4.u32 [s+16], {9, 9, 9, 9};\n"
        "st.shared.v4.u32 [s+32], {9, 9, 9, 9}; st.shared.v4.u32 [s+48], {9, 9, 9, 9};\n"
        "setp.eq.u32 %p1, %t, %t; mov.u32 %r1, 8; mov.u64 %rd1, 0;\n"
        "cp.async.cg.shared.global [s], [%in], 16, %p1;\n"
        "cp.async.ca.shared.global [s+16], [%in+16], 16, !%p1;\n"
        "cp.async.cg.shared.global.L2::cache_hint [s+32], [%in+32], 16, %r1, %rd1;\n"
        "cp.async.cg.shared::cta.global.L2::cache_hint.L2::128B [s+48], [%in+48], 16, %rd1;\n"
        "cp.async.mbarrier.arrive.shared.b64 [bar]; cp.async.commit_group;\n"
        "mbarrier.arrive.shared.b64 %rd2, [bar]; mbarrier.pending_count.b64 %r2, %rd2;\n"
        "st.global.u32 [%out+64], %r2; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
        "mbarrier.arrive.shared.b64 %rd2, [bar]; mbarrier.pending_count.b64 %r2, %rd2;\n"
        "st.global.u32 [%out+68], %r2; cp.async.wait_group 0; cp.async.wait_all;\n"
        "mov.u32 %r0, 0;\n"
        "L: mad.lo.u32 %r3, %r0, 4, %a; ld.shared.u32 %r4, [%r3]; mad.wide.u32 %rd3, %r0, 4, "
        "%out;\n"
        "st.global.u32 [%rd3], %r4; add.u32 %r0, %r0, 1; setp.lt.u32 %p2, %r0, 16; @%p2 bra L;\n",
        1);
    for (uint32_t i = 0; i < 16; i++) {
        /* the first is ignored, of the third 8 bytes are read */
        uint32_t want = i < 4 || (i >= 10 && i < 12) ? 0 : f.out[IN + i];
        assert_int_equal(f.out[i], want);
    }
    assert_int_equal(f.out[16], 3);
    assert_int_equal(f.out[17], 1);
    stop(&f);
}

/* 2 KiB in, by one thread; all threads wait, change it, and one brings it out. */
static void test_bulk(void **unused) {
    (void)unused;
    fixture f = run(
        "mov.u32 %r1, 2048; @!%p15 bra WAIT; mbarrier.init.shared.b64 [bar], 1;\n"
        "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r1;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+16], [%in+32], %r1, "
        "[bar];\n"
        "WAIT: bar.sync 0;\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;\n"
        "mad.lo.u32 %r2, %t, 4, %a; ld.shared.u32 %r3, [%r2+16]; add.u32 %r3, %r3, 5;\n"
        "st.shared.u32 [%r2+16], %r3; fence.proxy.async; bar.sync 0; @!%p15 bra END;\n"
        "cvta.shared.u64 %rd1, %rd2; add.u32 %r4, %a, 16; cvt.u64.u32 %rd1, %r4;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r4], 256;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;\n"
        "cp.async.bulk.prefetch.L2.global [%in], 64;\n"
        "END:\n",
        64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(f.out[i], f.out[IN + 8 + i] + 5);
    assert_int_equal(f.out[64], 0);
    assert_int_equal(f.counts.load_bytes[EMU_GLOBAL], 2048);
    assert_int_equal(f.counts.load_requests[EMU_GLOBAL], 4); /* of 512 bytes */
    assert_int_equal(f.counts.load_sectors, 64);
    assert_int_equal(f.counts.store_bytes[EMU_GLOBAL], 256);
    assert_int_equal(f.counts.store_sectors, 8);
    assert_int_equal(f.counts.store_bytes[EMU_SHARED], 2048 + 64 * 4);
    assert_int_equal(f.counts.load_bytes[EMU_SHARED], 256 + 64 * 4);
    assert_int_equal(f.counts.l1_hit_sectors, 0); /* they go past L1 */
    stop(&f);
}

static void test_bulk_within_shared(void **unused) {
    (void)unused;
    fixture f = run(
        "mad.lo.u32 %r2, %t, 4, %a; st.shared.u32 [%r2], %t; @!%p15 bra WAIT;\n"
        "mbarrier.init.shared.b64 [bar], 1; mapa.shared::cluster.u32 %r3, %a, 0;\n"
        "mapa.shared::cluster.u32 %r4, %b, 0; add.u32 %r5, %r3, 512;\n"
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 140;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%a], 128, "
        "[%r4];\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5+128], 77, [%r4];\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5+136], {78, 79}, [%r4];\n"
        "WAIT: bar.sync 0;\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;\n"
        "ld.shared.u32 %r6, [%r2+512]; st.global.u32 [%to], %r6;\n"
        "getctarank.shared::cluster.u32 %r7, %a; mov.u32 %r8, %cluster_nctarank; add.u32 %r8, %r8, "
        "%r7;\n"
        "st.global.u32 [%out+256], %r8; mov.pred %p3, %is_explicit_cluster;\n"
        "selp.u32 %r9, 3, 4, %p3; st.global.u32 [%out+260], %r9;\n",
        36);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], i);
    assert_int_equal(f.out[32], 77);
    assert_int_equal(f.out[34], 78);
    assert_int_equal(f.out[35], 79);
    assert_int_equal(f.out[64], 1);
    assert_int_equal(f.out[65], 4);
    stop(&f);
}

static void test_bulk_faults(void **unused) {
    (void)unused;
    static const struct {
        const char *body;
        emu_status status;
    } cases[] = {
#define BULK "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        {BULK "[s], [%in], 24, [bar];", EMU_MISALIGNED},
        {BULK "[s+8], [%in], 16, [bar];", EMU_MISALIGNED},
        {BULK "[s], [%in+4], 16, [bar];", EMU_MISALIGNED},
        {BULK "[s], [%in], 8192, [bar];", EMU_ILLEGAL_ADDRESS},
        {BULK "[s+4096], [%in], 16, [bar];", EMU_ILLEGAL_ADDRESS},
        {BULK "[s], [%in+8176], 32, [bar];", EMU_ILLEGAL_ADDRESS},
        {BULK "[s], [0], 32, [bar];", EMU_ILLEGAL_ADDRESS},
        {BULK "[s], [%in], 16, [bar+4];", EMU_MISALIGNED},
        {"cp.async.bulk.global.shared::cta.bulk_group [%in+8176], [s], 32;", EMU_ILLEGAL_ADDRESS},
        {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [s+2], 1, [bar];",
         EMU_MISALIGNED},
        {"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], "
         "[%in, {%r1}], [bar];",
         EMU_BAD_PTX},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[s], "
         "[%in], 16, [bar], %h1;",
         EMU_BAD_PTX},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in], [s], 16;", EMU_BAD_PTX},
        {"mbarrier.arrive.sideways.shared.b64 _, [bar];", EMU_BAD_PTX},
        {"mbarrier.expect_tx.shared.b64 [bar];", EMU_BAD_PTX},
        {"mbarrier.test_wait.shared.b64 [bar], %rd1;", EMU_BAD_PTX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = start(cases[i].body);
        emu_fault fault = {0};
        emu_status got = attempt(&f, 1, &fault);
        if (got != cases[i].status)
            fail_msg("%s: %d, expected %d: %s", cases[i].body, got, cases[i].status, fault.message);
        stop(&f);
    }
}

/* ---- the barrier of the cluster -----------------------------------------------------------------
 */

/* Thread 40 arrives, waits for a flag that thread 0 sets only after its own wait, then waits:
 * right, since a wait needs the arrivals alone. And two rounds, of which the last threads leave
 * one. */
static void test_cluster_barrier(void **unused) {
    (void)unused;
    fixture f =
        run("mad.lo.u32 %r1, %t, 4, %a; st.shared.u32 [%r1], %t; setp.ge.u32 %p1, %t, 60; @%p1 bra "
            "END;\n"
            "barrier.cluster.arrive.release.aligned; setp.ne.u32 %p2, %t, 40; @%p2 bra WAIT;\n"
            "SPIN: ld.volatile.shared.u32 %r2, [s+1024]; setp.ne.u32 %p3, %r2, 7; @%p3 bra SPIN;\n"
            "WAIT: barrier.cluster.wait.acquire; @%p15 st.volatile.shared.u32 [s+1024], 7;\n"
            "xor.b32 %r3, %r1, 4; ld.shared.u32 %r4, [%r3]; st.global.u32 [%to], %r4;\n"
            "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
            "mul.lo.u32 %r4, %r4, 2; st.shared.u32 [%r1+512], %r4;\n"
            "barrier.cluster.arrive; barrier.cluster.wait; sub.u32 %r5, 59, %t; mad.lo.u32 %r5, "
            "%r5, 4, "
            "%a;\n"
            "ld.shared.u32 %r6, [%r5+512]; st.global.u32 [%to+512], %r6; END:\n",
            64);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(f.out[i], i ^ 1);
        assert_int_equal(f.out[128 + i], 2 * ((59 - i) ^ 1));
    }
    stop(&f);
}

static void test_cluster_deadlock(void **unused) {
    (void)unused;
    fixture f = start("setp.ge.u32 %p1, %t, 32; @%p1 bra OTHER; barrier.cluster.arrive;\n"
                      "barrier.cluster.wait; bra END; OTHER: bar.sync 1, 64; END:\n");
    emu_fault fault = {0};
    assert_int_equal(attempt(&f, 64, &fault), EMU_DEADLOCK);
    assert_non_null(strstr(fault.message, "barrier of the cluster has 32 of 64 threads"));
    stop(&f);
}

/* ---- 128 bits -----------------------------------------------------------------------------------
 */

static void test_quads(void **unused) {
    (void)unused;
    fixture f = run(
        "mad.wide.u32 %rd1, %t, 16, %in; mad.wide.u32 %rd2, %t, 16, %out;\n"
        "ld.global.b128 %q1, [%rd1]; mov.b128 {%rd3, %rd4}, %q1; mov.b128 %q2, {%rd4, %rd3};\n"
        "mov.b128 %q3, %q2; mad.lo.u32 %r1, %t, 16, %a; st.shared.b128 [%r1], %q3;\n"
        "ld.shared.v2.u64 {%rd5, %rd6}, [%r1]; mov.b128 {_, %rd7}, %q1; sub.u64 %rd6, %rd6, %rd7;\n"
        "add.u64 %rd6, %rd6, 1; mov.b128 %q4, {%rd5, %rd6}; st.global.b128 [%rd2], %q4;\n"
        /* every thread in turn: compare and swap, then exchange, at one place */
        "@%p15 st.shared.v2.u64 [s+2048], {5, 6}; bar.sync 0; mov.u64 %rd8, 5; mov.u64 %rd9, 6;\n"
        "mov.b128 %q5, {%rd8, %rd9}; cvt.u64.u32 %rd10, %t; mov.b128 %q6, {%rd10, %rd9};\n"
        "atom.shared.cas.b128 %q7, [s+2048], %q5, %q6; mov.b128 {%rd11, _}, %q7;\n"
        "st.global.u32 [%to+1024], %rd11; atom.exch.b128 %q0, [%rd2], %q6;\n"
        "mov.b128 {%rd12, %rd13}, %q0; st.global.u64 [%rd2], %rd12;\n",
        32);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t *in = f.out + IN + 4 * i;
        uint64_t low = (uint64_t)in[1] << 32 | in[0], high = (uint64_t)in[3] << 32 | in[2], got;
        memcpy(&got, f.out + 4 * i, 8);
        assert_true(got == high); /* the exchange gave back what was stored there */
        memcpy(&got, f.out + 4 * i + 2, 8);
        assert_true(got == 6);
        (void)low;
        assert_int_equal(f.out[256 + i], i == 0 ? 5 : 0); /* thread 0 wins, and leaves {0, 6} */
    }
    stop(&f);
}

/* Read before it is written: zero, both halves. */
static void test_quad_starts_at_zero(void **unused) {
    (void)unused;
    fixture f = run("@%p15 mov.b128 %q1, {%out, %out}; mov.b128 {%rd1, %rd2}, %q1;\n"
                    "or.b64 %rd1, %rd1, %rd2; setp.ne.u64 %p1, %rd1, 0; selp.u32 %r1, 1, 0, %p1;\n"
                    "st.global.u32 [%to], %r1;\n",
                    32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(f.out[i], i == 0);
    stop(&f);
}

/* 32 bytes a lane. */
static void test_eights(void **unused) {
    (void)unused;
    fixture f = run("mad.wide.u32 %rd1, %t, 32, %in; mad.wide.u32 %rd2, %t, 32, %out;\n"
                    "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];\n"
                    "st.global.v8.b32 [%rd2], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};\n"
                    "ld.global.v4.b64 {%rd3, %rd4, %rd5, %rd6}, [%rd1];\n"
                    "st.global.v4.b64 [%rd2+2048], {%rd6, %rd5, %rd4, %rd3};\n",
                    32);
    for (uint32_t i = 0; i < 256; i++) {
        assert_int_equal(f.out[i], f.out[IN + (i ^ 7)]);
        assert_int_equal(f.out[512 + i], f.out[IN + (i ^ 6)]);
    }
    assert_int_equal(f.counts.load_bytes[EMU_GLOBAL], 2 * 32 * 32);
    assert_int_equal(f.counts.load_sectors, 2 * 32);
    assert_int_equal(f.counts.store_requests[EMU_GLOBAL], 2);
    stop(&f);
}

/* ---- reductions of f32, and counts --------------------------------------------------------------
 */

static void test_redux_float(void **unused) {
    (void)unused;
    fixture f =
        start("mad.wide.u32 %rd1, %t, 4, %in; ld.global.f32 %f0, [%rd1];\n"
              "redux.sync.min.f32 %f1, %f0, -1; st.global.f32 [%to], %f1;\n"
              "redux.sync.max.f32 %f1, %f0, -1; st.global.f32 [%to+128], %f1;\n"
              "redux.sync.max.abs.f32 %f1, %f0, -1; st.global.f32 [%to+256], %f1;\n"
              "redux.sync.min.abs.NaN.f32 %f1, %f0, -1; st.global.f32 [%to+384], %f1;\n"
              "setp.lt.u32 %p1, %t, 8; @!%p1 bra END;\n"
              "redux.sync.min.NaN.f32 %f1, %f0, 0xff; st.global.f32 [%to+512], %f1; END:\n");
    float *in = (float *)(f.out + IN), *out = (float *)f.out;
    for (int i = 0; i < 32; i++)
        in[i] = (float)(i - 20) * 1.5f; /* -30 ... 16.5 */
    in[20] = 3.0f;                      /* no zero: the least magnitude is 1.5 */
    in[30] = NAN;
    emu_fault fault = {0};
    assert_int_equal(attempt(&f, 32, &fault), EMU_OK);
    for (int i = 0; i < 32; i++) {
        assert_true(out[i] == -30.0f);
        assert_true(out[32 + i] == 16.5f);
        assert_true(out[64 + i] == 30.0f);
        assert_true(isnan(out[96 + i]));
        assert_true(i >= 8 || out[128 + i] == -30.0f);
    }
    stop(&f);
}

static void test_counts(void **unused) {
    (void)unused;
    fixture f = run("fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4; add.rn.f32x2 %rd1, %rd1, %rd2;\n"
                    "fma.rn.f32.f16 %f1, %h1, %h2, %f2; add.ftz.f16 %h3, %h1, %h2;\n"
                    "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, 0; vadd4.u32.u32.u32 %r1, %r2, %r3, "
                    "%r4;\n"
                    "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x1e, %p2; mov.b128 %q1, {%rd1, %rd2};\n"
                    "cvt.rn.sat.f32.s32 %f3, %r1; createpolicy.fractional.L2::evict_last.b64 %rd5, "
                    "1.0;\n",
                    32);
    emu_counts a = f.counts;
    stop(&f);
    f = run("", 32);
    emu_counts b = f.counts;
    stop(&f);
    assert_int_equal(a.fp[EMU_FP32][EMU_OP_FMA], 2 * 32);
    assert_int_equal(a.packed[EMU_FP32][EMU_OP_FMA], 32);
    assert_int_equal(a.packed[EMU_FP32][EMU_OP_ADD], 32);
    assert_int_equal(a.flops_algorithmic[EMU_FP32], 32 * (4 + 2 + 2));
    assert_int_equal(a.flops_hardware[EMU_FP32], 32 * (4 + 2 + 2));
    assert_int_equal(a.fp[EMU_FP16][EMU_OP_ADD], 32);
    assert_int_equal(a.conversion_insts - b.conversion_insts, 2 * 32);
    assert_int_equal(a.integer_insts - b.integer_insts, 32);
    assert_int_equal(a.bit_insts - b.bit_insts, 32);
    assert_int_equal(a.move_insts - b.move_insts, 2 * 32);
    assert_int_equal(a.warp_insts - b.warp_insts, 10); /* what is done in steps counts once */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_arrivals),
                                       cmocka_unit_test(test_pipeline),
                                       cmocka_unit_test(test_copy_forms),
                                       cmocka_unit_test(test_bulk),
                                       cmocka_unit_test(test_bulk_within_shared),
                                       cmocka_unit_test(test_bulk_faults),
                                       cmocka_unit_test(test_cluster_barrier),
                                       cmocka_unit_test(test_cluster_deadlock),
                                       cmocka_unit_test(test_quads),
                                       cmocka_unit_test(test_quad_starts_at_zero),
                                       cmocka_unit_test(test_eights),
                                       cmocka_unit_test(test_redux_float),
                                       cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
