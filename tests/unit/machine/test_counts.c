/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts against closed forms, the same for any number of host threads, and what a kernel says of
 * itself. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* y = a * x + y for i < n */
static const char saxpy[] = PTX_HEADER
    ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)\n{\n"
    ".reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<6>;\n"
    "ld.param.u32 %r0, [n]; ld.param.f32 %f0, [a]; ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, "
    "[y];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, "
    "%r3;\n"
    "setp.ge.s32 %p0, %r4, %r0; @%p0 bra DONE;\n"
    "mad.wide.s32 %rd2, %r4, 4, %rd0; mad.wide.s32 %rd3, %r4, 4, %rd1;\n"
    "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd3]; fma.rn.f32 %f3, %f0, %f1, %f2;\n"
    "st.global.f32 [%rd3], %f3;\nDONE: ret;\n}\n";

static emu_counts run_saxpy(int threads, uint32_t n) {
    emu_device *d = bench_device(threads, true);
    emu_module *m = bench_load(d, saxpy);
    uint64_t x = bench_allocate(d, (uint64_t)n * 4), y = bench_allocate(d, (uint64_t)n * 4);
    float a = 2;
    for (uint32_t i = 0; i < n; i++) {
        ((float *)(uintptr_t)x)[i] = (float)i;
        ((float *)(uintptr_t)y)[i] = 1;
    }
    const void *parameters[] = {&n, &a, &x, &y, NULL};
    emu_counts counts;
    bench_run(d, m, "saxpy", (bench_shape){(n + 255) / 256, 256, 0, false}, parameters, &counts);
    for (uint32_t i = 0; i < n; i++)
        assert_true(((float *)(uintptr_t)y)[i] == 2 * (float)i + 1);
    emu_module_unload(m);
    emu_device_destroy(d);
    return counts;
}

static void test_saxpy(void **unused) {
    (void)unused;
    const uint64_t n = 100000, blocks = (n + 255) / 256, threads = blocks * 256;
    emu_counts c = run_saxpy(1, (uint32_t)n);
    assert_int_equal(c.flops_algorithmic[EMU_FP32], 2 * n);
    assert_int_equal(c.flops_hardware[EMU_FP32], 2 * n);
    assert_int_equal(c.fp[EMU_FP32][EMU_OP_FMA], n);
    assert_int_equal(c.load_bytes[EMU_GLOBAL], 8 * n);
    assert_int_equal(c.store_bytes[EMU_GLOBAL], 4 * n);
    assert_int_equal(c.load_requests[EMU_GLOBAL], 2 * (n / 32));
    assert_int_equal(c.load_sectors, 2 * (n / 8));
    assert_int_equal(c.store_sectors, n / 8);
    assert_int_equal(c.load_bytes[EMU_PARAM], threads * (4 + 4 + 8 + 8));
    assert_int_equal(c.load_requests[EMU_PARAM], threads / 32 * 4);
    assert_int_equal(c.dram_read_bytes, 8 * n);
    assert_int_equal(c.dram_write_bytes, 4 * n);
    /* to the bra all threads run 10, the bra counts for those that take it, then 6 and the ret */
    assert_int_equal(c.thread_insts, 9 * threads + (threads - n) + 6 * n + threads);
    assert_int_equal(c.thread_insts_active, 10 * threads + 6 * n + threads);
    assert_int_equal(c.warp_insts, threads / 32 * 11 + n / 32 * 6);
    assert_int_equal(c.integer_insts, 2 * threads + 2 * n); /* mad setp, mad.wide twice */
    assert_int_equal(c.control_insts, (threads - n) + threads);
    assert_true(c.occupancy_theoretical > 0 && c.time_s > 0);
}

static void test_any_number_of_threads(void **unused) {
    (void)unused;
    emu_counts one = run_saxpy(1, 50000), three = run_saxpy(3, 50000);
    assert_memory_equal(&one, &three, sizeof one);
}

/* One instruction of each kind, its precision and FLOPs. */
static void test_kinds(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, true);
    emu_module *m =
        bench_load(d, PTX_HEADER
                   ".visible .entry k()\n{ .reg .f32 %f<3>; .reg .f64 %d<3>; .reg .b16 %h<3>; .reg "
                   ".b32 %r<3>;\n"
                   ".reg .pred %p<2>;\n"
                   "add.f32 %f0, %f1, %f2; mul.f64 %d0, %d1, %d2; fma.rn.f16 %h0, %h1, %h2, %h0;\n"
                   "fma.rn.f16x2 %r0, %r1, %r2, %r0; fma.rn.bf16x2 %r0, %r1, %r2, %r0; min.f32 "
                   "%f0, %f1, %f2;\n"
                   "div.rn.f32 %f0, %f1, %f2; sqrt.rn.f64 %d0, %d1; ex2.approx.f32 %f0, %f1;\n"
                   "cvt.rn.f32.s32 %f0, %r0; shl.b32 %r0, %r1, 2; setp.lt.f32 %p0, %f0, %f1;\n"
                   "@%p0 add.f32 %f0, %f0, %f0; ret; }\n");
    const void *none[] = {NULL};
    emu_counts c;
    bench_run(d, m, "k", (bench_shape){1, 32, 0, false}, none, &c);
    assert_int_equal(c.fp[EMU_FP32][EMU_OP_ADD], 32);
    assert_int_equal(c.fp[EMU_FP64][EMU_OP_MUL], 32);
    assert_int_equal(c.fp[EMU_FP16][EMU_OP_FMA], 64);
    assert_int_equal(c.packed[EMU_FP16][EMU_OP_FMA], 32);
    assert_int_equal(c.flops_algorithmic[EMU_FP16], 32 * (2 + 4));
    assert_int_equal(c.flops_algorithmic[EMU_BF16], 32 * 4);
    assert_int_equal(c.fp[EMU_FP32][EMU_OP_DIV], 32);
    assert_int_equal(c.fp[EMU_FP64][EMU_OP_SQRT], 32);
    assert_int_equal(c.fp[EMU_FP32][EMU_OP_SPECIAL], 32);
    assert_int_equal(c.fp[EMU_FP32][EMU_OP_FP_OTHER], 64);
    assert_int_equal(c.flops_algorithmic[EMU_FP32], 32 * 3);
    assert_int_equal(c.flops_hardware[EMU_FP32], 32 * (1 + 10 + 0)); /* add, div.rn, ex2 */
    assert_int_equal(c.flops_hardware[EMU_FP64], 32 * (1 + 13));     /* mul, sqrt.rn */
    assert_int_equal(c.conversion_insts, 32);
    assert_int_equal(c.bit_insts, 32);
    assert_int_equal(c.thread_insts_active - c.thread_insts, 32); /* the add under a false guard */
    emu_module_unload(m);
    emu_device_destroy(d);
}

/* Integer atomics without a result run on several threads; their sum is exact all the same. */
static void test_atomics_on_threads(void **unused) {
    (void)unused;
    emu_counts counts[2];
    for (int i = 0; i < 2; i++) {
        emu_device *d = bench_device(i ? 4 : 1, true);
        emu_module *m =
            bench_load(d, PTX_HEADER
                       ".visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; .reg .b32 %r<6>;\n"
                       "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 7;\n"
                       "mad.wide.u32 %rd1, %r1, 4, %rd0; red.global.add.u32 [%rd1], %r0; ret; }\n");
        uint64_t out = bench_allocate(d, 32);
        const void *parameters[] = {&out, NULL};
        bench_run(d, m, "k", (bench_shape){64, 256, 0, false}, parameters, &counts[i]);
        for (uint32_t b = 0; b < 8; b++)
            assert_int_equal(((uint32_t *)(uintptr_t)out)[b], 64 * (32 * b + 8 * 496));
        emu_module_unload(m);
        emu_device_destroy(d);
    }
    assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    assert_int_equal(counts[0].atomic_requests[EMU_GLOBAL], 64 * 8);
    assert_int_equal(counts[0].atomic_bytes[EMU_GLOBAL], 64 * 256 * 4);
}

static void test_information(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, true);
    emu_module *m = bench_load(d, PTX_HEADER ".visible .entry k(.param .u8 a, .param .u64 b, "
                                             ".param .align 16 .b8 c[20]) .maxntid 96, 1, 1\n"
                                             "{ .shared .align 8 .b8 s[100]; .local .align 8 .b8 "
                                             "l[24]; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                                             "mov.u64 %rd0, l; ld.local.u32 %r0, [%rd0]; ret; }\n");
    emu_kernel *k;
    emu_fault fault;
    assert_int_equal(emu_module_get_kernel(m, "k", &k, &fault), EMU_OK);
    const emu_kernel_info *i = emu_kernel_get_info(k);
    assert_string_equal(i->name, "k");
    assert_int_equal(i->parameter_count, 3);
    assert_int_equal(i->parameter_offset[1], 8);
    assert_int_equal(i->parameter_offset[2], 16);
    assert_int_equal(i->parameter_bytes, 36);
    assert_int_equal(i->shared_bytes, 100);
    assert_int_equal(i->local_bytes_per_thread, 32);
    assert_int_equal(i->max_threads_per_block, 96);
    assert_true(i->registers_estimated);
    emu_kernel_set_registers(k, 77, 8);
    assert_int_equal(i->registers_per_thread, 77);
    assert_false(i->registers_estimated);
    emu_module_unload(m);
    emu_device_destroy(d);
}

/* Many launches leave nothing behind (the sanitizer looks at the memory). */
static void test_many_launches(void **unused) {
    (void)unused;
    emu_device *d = bench_device(2, true);
    emu_module *m = bench_load(d, PTX_HEADER ".visible .entry k() { ret; }\n");
    const void *none[] = {NULL};
    for (int i = 0; i < 3000; i++)
        bench_run(d, m, "k", (bench_shape){1 + (uint32_t)i % 3, 32, 0, false}, none, NULL);
    assert_int_equal(emu_memory_used(d), 0);
    emu_module_unload(m);
    emu_device_destroy(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),       cmocka_unit_test(test_any_number_of_threads),
        cmocka_unit_test(test_kinds),       cmocka_unit_test(test_atomics_on_threads),
        cmocka_unit_test(test_information), cmocka_unit_test(test_many_launches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
