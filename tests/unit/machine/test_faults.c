/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program does wrong ends in an error that names the kernel, the line, the thread and the
 * address, and never in a fault of the host. */
#include "bench_device.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KERNEL(BODY) KERNEL_HEAD BODY "\nret;\n}\n"
#define KERNEL_HEAD                                                                                \
    PTX_HEADER ".shared .align 8 .b8 s[64];\n.const .align 4 .u32 c[2] = {1, 2};\n"                \
               ".visible .entry k(.param .u64 out)\n{\n"                                           \
               ".reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<4>; .reg "      \
               ".pred %p<8>; .reg .f64 %d<2>;\n"                                                   \
               ".local .align 8 .b8 l[16]; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;\n"       \
               "mad.wide.u32 %rd1, %r0, 4, %rd0;\n"

static emu_status fault_of(const char *text, uint32_t grid, uint32_t block, emu_fault *fault,
                           uint64_t *out) {
    emu_device *device = bench_device(2, true);
    emu_module *module = bench_load(device, text);
    *out = bench_allocate(device, 256);
    const void *parameters[] = {out, NULL};
    memset(fault, 0, sizeof *fault);
    emu_status status = bench_try(device, module, "k", (bench_shape){grid, block, 0, false},
                                  parameters, NULL, fault);
    emu_module_unload(module);
    emu_device_destroy(device);
    return status;
}

/* Fails with STATUS; the message holds WORDS. */
static emu_fault expect(const char *body_text, uint32_t block, emu_status status,
                        const char *words) {
    emu_fault fault;
    uint64_t out;
    emu_status got = fault_of(body_text, 1, block, &fault, &out);
    if (got != status || !strstr(fault.message, words))
        fail_msg("status %d (expected %d), message \"%s\" (expected \"%s\")", got, status,
                 fault.message, words);
    assert_int_equal(fault.status, status);
    assert_string_equal(fault.kernel, "k");
    return fault;
}

static void test_out_of_bounds(void **unused) {
    (void)unused;
    emu_fault fault;
    uint64_t out;
    /* 64 words are there; thread 64 is the first outside */
    assert_int_equal(fault_of(KERNEL("st.global.u32 [%rd1], %r0;"), 1, 96, &fault, &out),
                     EMU_ILLEGAL_ADDRESS);
    assert_int_equal(fault.address, out + 256);
    assert_int_equal(fault.thread[0], 64);
    assert_true(fault.ptx_line > 0);
    expect(KERNEL("ld.global.u32 %r1, [%rd1+256];"), 32, EMU_ILLEGAL_ADDRESS, "allocation");
    expect(KERNEL("ld.global.v2.u64 {%rd2, %rd3}, [%rd0+248];"), 1, EMU_MISALIGNED, "16 bytes");
    expect(KERNEL("ld.global.u64 %rd2, [%rd0+256];"), 1, EMU_ILLEGAL_ADDRESS, "0x");
    expect(KERNEL("mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];"), 32, EMU_ILLEGAL_ADDRESS, "0x0 ");
    expect(KERNEL("mov.u64 %rd2, -8; st.global.u64 [%rd2], %rd0;"), 1, EMU_ILLEGAL_ADDRESS,
           "0xfff");
    expect(KERNEL("ld.shared.u32 %r1, [s+64];"), 1, EMU_ILLEGAL_ADDRESS, "shared address 0x40");
    expect(KERNEL("mov.u32 %r2, -4; st.shared.u32 [%r2], %r0;"), 1, EMU_ILLEGAL_ADDRESS, "shared");
    expect(KERNEL("ld.local.u32 %r1, [l+16];"), 1, EMU_ILLEGAL_ADDRESS, "local");
    expect(KERNEL("mov.u64 %rd2, c; ld.const.u32 %r1, [%rd2+8];"), 1, EMU_ILLEGAL_ADDRESS,
           "outside");
    expect(KERNEL("mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; ld.u32 %r1, [%rd2+64];"), 32,
           EMU_ILLEGAL_ADDRESS, "shared");
    expect(KERNEL("atom.global.add.u32 %r1, [%rd0+256], 1;"), 1, EMU_ILLEGAL_ADDRESS, "outside");
    expect(KERNEL("cp.async.ca.shared.global [s+60], [%rd0], 8; "), 1, EMU_MISALIGNED, "aligned");
    expect(KERNEL("cp.async.ca.shared.global [s+64], [%rd0], 8; "), 1, EMU_ILLEGAL_ADDRESS,
           "shared");
}

static void test_misaligned(void **unused) {
    (void)unused;
    expect(KERNEL("ld.global.u32 %r1, [%rd0+2];"), 32, EMU_MISALIGNED,
           "not aligned to the 4 bytes");
    expect(KERNEL("st.shared.u64 [s+4], %rd0;"), 1, EMU_MISALIGNED, "8 bytes");
    expect(KERNEL("ld.local.u16 %h1, [l+1];"), 1, EMU_MISALIGNED, "2 bytes");
}

static void test_trap_and_assert(void **unused) {
    (void)unused;
    emu_fault fault = expect(KERNEL("setp.eq.u32 %p1, %r0, 37; @%p1 trap;"), 64, EMU_TRAP, "trap");
    assert_int_equal(fault.thread[0], 37);
    expect(PTX_HEADER
           ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param "
           ".b64 d, .param .b64 e);\n"
           ".global .align 1 .b8 what[4] = {120, 62, 48, 0};\n"
           ".visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; mov.u64 %rd1, what;\n"
           "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
           "st.param.b64 [a], %rd1; st.param.b64 [b], %rd1; st.param.b32 [c], 17;\n"
           "st.param.b64 [d], %rd1; st.param.b64 [e], 1;\n"
           "call.uni __assertfail, (a, b, c, d, e); } ret; }",
           1, EMU_ASSERT, "assertion `x>0` failed at x>0:17");
}

static void test_deadlock(void **unused) {
    (void)unused;
    expect(KERNEL("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;"), 64,
           EMU_DEADLOCK, "barrier 1 has 32 of 64 threads, barrier 2 has 32 of 64 threads");
}

static void test_bad_instructions(void **unused) {
    (void)unused;
    emu_fault fault =
        expect(KERNEL("tensormap.replace.x [%rd0];"), 1, EMU_BAD_PTX, "tensormap.replace.x");
    assert_int_equal(fault.ptx_line, 11);
    expect(KERNEL("add.s32 %r1, %r2;"), 1, EMU_BAD_PTX, "operands");
    expect(KERNEL("bra NOWHERE;"), 1, EMU_BAD_PTX, "no label NOWHERE");
    expect(KERNEL("add.s32 %r1, %r2, nothing;"), 1, EMU_BAD_PTX, "nothing is not defined");
    expect(KERNEL("call.uni unknown_function;"), 1, EMU_BAD_PTX, "unknown_function");
    expect(KERNEL("mov.u32 %r1, %nonsense;"), 1, EMU_BAD_PTX, "%nonsense");
    expect(KERNEL("mov.u32 %r1, ;"), 1, EMU_BAD_PTX, "operand");
    expect(KERNEL("bar.sync 99;"), 1, EMU_ILLEGAL_INSTRUCTION, "barrier 99");
}

/* One kernel that cannot be decoded leaves its neighbours alone. */
static void test_lazy(void **unused) {
    (void)unused;
    emu_device *device = bench_device(1, true);
    emu_module *module =
        bench_load(device, PTX_HEADER ".visible .entry bad() { wgmma.fence.sync.aligned; ret; }\n"
                                      ".visible .entry good() { ret; }\n");
    emu_fault fault = {0};
    const void *none[] = {NULL};
    bench_shape one = {1, 32, 0, false};
    assert_int_equal(bench_try(device, module, "good", one, none, NULL, &fault), EMU_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bench_try(device, module, "bad", one, none, NULL, &fault), EMU_BAD_PTX);
        assert_non_null(strstr(fault.message, "wgmma.fence"));
    }
    assert_int_equal(bench_try(device, module, "good", one, none, NULL, &fault), EMU_OK);
    assert_int_equal(bench_try(device, module, "none", one, none, NULL, &fault), EMU_NOT_FOUND);
    emu_module_unload(module);
    emu_device_destroy(device);
}

static void test_shapes(void **unused) {
    (void)unused;
    emu_device *device = bench_device(1, true);
    emu_module *module = bench_load(
        device, PTX_HEADER ".visible .entry k() .maxntid 256, 1, 1 { ret; }\n"
                           ".visible .entry big() { .shared .align 4 .b8 s[40000]; ret; }\n");
    emu_fault fault = {0};
    const void *none[] = {NULL};
    static const bench_shape bad[] = {{0, 32, 0, 0},   {1, 0, 0, 0},       {1, 257, 0, 0},
                                      {1, 1025, 0, 0}, {1, 32, 200000, 0}, {100000, 256, 0, true}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bench_try(device, module, "k", bad[i], none, NULL, &fault) != EMU_BAD_LAUNCH)
            fail_msg("shape %zu was taken", i);
        assert_non_null(strstr(fault.message, "cannot be launched"));
    }
    assert_int_equal(
        bench_try(device, module, "big", (bench_shape){1, 32, 70000, 0}, none, NULL, &fault),
        EMU_BAD_LAUNCH);
    assert_int_equal(
        bench_try(device, module, "big", (bench_shape){1, 32, 60000, 0}, none, NULL, &fault),
        EMU_OK);
    emu_module_unload(module);
    emu_device_destroy(device);
}

static void test_stack_overflow(void **unused) {
    (void)unused;
    expect(PTX_HEADER ".func deep() { .local .align 8 .b8 l[64]; call.uni deep; ret; }\n"
                      ".visible .entry k(.param .u64 out) { call.uni deep; ret; }\n",
           32, EMU_ILLEGAL_ADDRESS, "stack overflow");
}

static void *interrupt_later(void *device) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    emu_interrupt(device);
    return NULL;
}

static void test_interrupt(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s",
                 i ? KERNEL("LOOP: ld.volatile.global.u32 %r1, [%rd0];"
                            "setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;")
                   : KERNEL("LOOP: add.u32 %r1, %r1, 1; bra LOOP;"));
        for (int threads = 1; threads <= 2; threads++) {
            emu_device *device = bench_device(threads, threads == 2);
            emu_module *module = bench_load(device, text);
            uint64_t out = bench_allocate(device, 8192);
            const void *parameters[] = {&out, NULL};
            emu_fault fault = {0};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, interrupt_later, device), 0);
            assert_int_equal(bench_try(device, module, "k", (bench_shape){64, 128, 0, false},
                                       parameters, NULL, &fault),
                             EMU_INTERRUPTED);
            pthread_join(thread, NULL);
            assert_string_equal(fault.message, "kernel k was interrupted");
            emu_module_unload(module);
            emu_device_destroy(device);
        }
    }
}

/* Forms that compilers and CUDA headers write, beyond those that other tests run: all are decoded,
 * and none is executed (the guard is false). */
static const char forms_head[] = KERNEL_HEAD;

static void test_forms(void **unused) {
    (void)unused;
    static const char *const forms[] = {
        "ld.global.nc.f32 %f1, [%rd0]",
        "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0]",
        "ld.volatile.global.u32 %r1, [%rd0]",
        "ld.relaxed.sys.global.u64 %rd2, [%rd0]",
        "ld.acquire.gpu.u32 %r1, [%rd0]",
        "ld.weak.global.u32 %r1, [%rd0]",
        "ld.global.ca.u32 %r1, [%rd0]",
        "ld.global.cg.v2.u32 {%r1, %r2}, [%rd0]",
        "ld.global.cs.u8 %h1, [%rd0]",
        "ld.global.lu.s16 %h1, [%rd0]",
        "ld.global.cv.b32 %r1, [%rd0]",
        "ldu.global.u32 %r1, [%rd0]",
        "ld.shared::cta.u32 %r1, [%r0]",
        "ld.const.v2.u32 {%r1, %r2}, [c]",
        "ld.param::entry.u64 %rd2, [out]",
        "ld.u16 %h1, [%rd0+2]",
        "st.global.wb.u32 [%rd0], 7",
        "st.global.cg.f32 [%rd0], 0f3F800000",
        "st.cs.global.u32 [%rd0], %r1",
        "st.global.wt.v2.f32 [%rd0], {%f0, %f1}",
        "st.release.gpu.global.u32 [%rd0], %r1",
        "st.relaxed.sys.b64 [%rd0], %rd1",
        "st.volatile.shared.u8 [s], %r1",
        "st.local.u8 [l+3], %h1",
        "atom.global.relaxed.gpu.add.u32 %r1, [%rd0], 1",
        "atom.acq_rel.sys.global.cas.b64 %rd2, [%rd0], %rd1, 5",
        "atom.add.release.cta.u32 %r1, [%rd0], 1",
        "atom.shared.add.f64 %d1, [s], %d0",
        "atom.shared.cas.b32 %r1, [s], 0, 1",
        "atom.global.add.noftz.f16x2 %r1, [%rd0], %r2",
        "atom.global.add.noftz.bf16 %h1, [%rd0], %h2",
        "atom.global.cas.b16 %h1, [%rd0], %h2, %h3",
        "atom.global.v2.f32.add %f1, [%rd0], %f2",
        "red.and.b32 [%rd0], %r1",
        "red.global.add.f32 [%rd0], %f1",
        "red.relaxed.gpu.global.max.s32 [%rd0], %r1",
        "red.shared.or.b32 [s], %r1",
        "atom.global.add.f32 _, [%rd0], %f1",
        "prefetch.global.L2 [%rd0]",
        "prefetch.global.L1 [%rd0+128]",
        "prefetchu.L1 [%rd0]",
        "discard.global.L2 [%rd0], 128",
        "applypriority.global.L2::evict_normal [%rd0], 128",
        "membar.sys",
        "membar.gl",
        "membar.cta",
        "fence.sc.cta",
        "fence.acq_rel.gpu",
        "fence.proxy.async",
        "cp.async.ca.shared.global [s], [%rd0], 4",
        "cp.async.cg.shared.global.L2::128B [s], [%rd0], 16",
        "cp.async.cg.shared::cta.global [s], [%rd0], 16, %r1",
        "cp.async.wait_all",
        "cp.async.commit_group",
        "cp.async.mbarrier.arrive.shared.b64 [s]",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [s]",
        "mbarrier.inval.shared.b64 [s]",
        "mbarrier.arrive.shared::cta.b64 %rd2, [s], 3",
        "mbarrier.test_wait.parity.shared.b64 %p1, [s], %r1",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [s], 0",
        "mbarrier.pending_count.b64 %r1, %rd2",
        "mbarrier.arrive_drop.shared.b64 _, [s]",
        "barrier.sync 0",
        "barrier.cta.sync.aligned 1, 64",
        "barrier.arrive 2, 64",
        "bar.cta.red.popc.aligned.u32 %r1, 0, %p1",
        "bar.warp.sync %r1",
        "vote.ballot.sync.b32 %r1, %p1, -1",
        "vote.any.pred %p1, %p2",
        "shfl.down.b32 %r1, %r2, 1, 31",
        "activemask.b32 %r1",
        "elect.sync %r1|%p1, -1",
        "nanosleep.u32 100",
        "griddepcontrol.wait",
        "pmevent 1",
        "setmaxnreg.inc.sync.aligned.u32 96",
        "griddepcontrol.launch_dependents",
        "mov.u64 %rd2, %globaltimer",
        "mov.u64 %rd2, %clock64",
        "mov.u32 %r1, %smid",
        "mov.u32 %r1, %lanemask_lt",
        "mov.u32 %r1, WARP_SZ",
        "mov.u32 %r1, %envreg3",
        "mov.b16 %h1, 5",
        "mov.b64 %rd2, {%r1, %r2}",
        "mov.b32 %r1, {%h1, %h2}",
        "mov.pred %p1, -1",
        "mov.pred %p1, !%p2",
        "add.s32 %r1, %tid.x, 1",
        "cvta.param.u64 %rd2, %rd0",
        "cvta.to.param.u64 %rd2, %rd0",
        "isspacep.param %p1, %rd0",
        "isspacep.const %p1, %rd0",
        "setp.eq.f16x2 %p1|%p2, %r1, %r2",
        "setp.lt.or.f32 %p1|_, %f0, %f1, !%p2",
        "cvt.rn.bf16x2.f32 %r1, %f0, %f1",
        "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4",
        "fma.rn.f32x2 %rd2, %rd3, %rd4, %rd5",
        "exit"};
    /* those that this device does not have say so */
    static const char *const missing[] = {"atom.global.v2.f32.add"};
    emu_device *device = bench_device(1, true);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s@%%p7 %s;\nret;\n}\n", forms_head, forms[i]);
        bool absent = false;
        for (size_t m = 0; m < sizeof missing / sizeof *missing; m++)
            absent |= strstr(forms[i], missing[m]) != NULL;
        emu_module *module = bench_load(device, text);
        uint64_t out = bench_allocate(device, 64);
        const void *parameters[] = {&out, NULL};
        emu_fault fault = {0};
        emu_status got = bench_try(device, module, "k", (bench_shape){1, 32, 0, false}, parameters,
                                   NULL, &fault);
        if ((got != EMU_OK) != absent)
            fail_msg("%s: %s", forms[i], got ? fault.message : "was taken");
        emu_module_unload(module);
    }
    emu_device_destroy(device);
}

/* Whatever bytes a kernel consists of: it is decoded or refused. */
static void test_mutated_kernels(void **unused) {
    (void)unused;
    static const char text[] =
        KERNEL("add.s32 %r1, %r2, %tid.x; ld.global.v2.u32 {%r3, %r4}, [%rd0+8]; @!%p1 "
               "bra END;\n"
               "setp.lt.and.f32 %p1|%p2, %f0, 0f3F800000, !%p3; shfl.sync.down.b32 "
               "%r1|%p1, %r2, 1, 31, -1;\n"
               "mov.b64 %rd4, {%r1, %r2}; mov.b64 {%r1, _}, %rd4; atom.shared.add.u32 "
               "%r1, [s+4], %r2;\n"
               "cvt.rzi.s32.f32 %r1, %f0; selp.f32 %f1, %f0, 0f00000000, %p1; "
               "bar.red.popc.u32 %r1, 0, 64, %p2;\n"
               "T: .branchtargets END, T2; T2: brx.idx %r1, T; mad.wide.s32 %rd5, %r1, "
               "-4, %rd0;\n"
               "{ .param .b64 a; .param .b32 b; st.param.b64 [a+0], %rd0; call.uni (b), "
               "k2, (a); }\n"
               "END: cp.async.cg.shared.global [s], [%rd0], 16; prmt.b32 %r1, %r2, 0x12, "
               "%r3;") ".func (.param .b32 r) k2(.param .b64 x) { st.param.b32 [r], 1; "
                       "ret; }\n";
    emu_device *device = bench_device(1, false);
    static const char pieces[] = "%rdfp0123456789,.;:{}[]()+-@!|_su bx";
    uint32_t state = 99;
    int decoded = 0;
    for (int round = 0; round < 6000; round++) {
        char mutant[sizeof text];
        memcpy(mutant, text, sizeof text);
        for (int m = 0; m < 1 + round % 4; m++) {
            state = state * 1664525 + 1013904223;
            size_t at = 300 + (state >> 8) % (sizeof text - 301);
            state = state * 1664525 + 1013904223;
            mutant[at] = pieces[(state >> 8) % (sizeof pieces - 1)];
        }
        const char *one = mutant;
        size_t length = sizeof text - 1;
        emu_module *module;
        emu_kernel *kernel;
        emu_fault fault;
        if (emu_module_load(device, &one, &length, 1, &module, &fault))
            continue;
        if (!emu_module_get_kernel(module, "k", &kernel, &fault))
            decoded += emu_kernel_get_info(kernel)->shared_bytes != 0;
        emu_module_unload(module);
    }
    assert_true(decoded > 100);
    emu_device_destroy(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_bounds),    cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_trap_and_assert),  cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_bad_instructions), cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_shapes),           cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_interrupt),        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_mutated_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
