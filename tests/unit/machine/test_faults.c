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

#define KERNEL(BODY)                                                                               \
    PTX_HEADER ".shared .align 8 .b8 s[64];\n.const .align 4 .u32 c[2] = {1, 2};\n"                \
               ".visible .entry k(.param .u64 out)\n{\n"                                           \
               ".reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<4>; .reg "      \
               ".pred %p<8>;\n"                                                                    \
               ".local .align 8 .b8 l[16]; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;\n"       \
               "mad.wide.u32 %rd1, %r0, 4, %rd0;\n" BODY "\nret;\n}\n"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_bounds),    cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_trap_and_assert),  cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_bad_instructions), cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_shapes),           cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
