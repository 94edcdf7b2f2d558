/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space of a device: exact bounds, capacity, poison, registered host memory, many
 * allocations, and that none of it costs host memory before it is used. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void test_allocations(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, false);
    emu_fault fault;
    uint64_t a, b, base, size;
    emu_memory_kind kind;
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_DEVICE, 100, &a, &fault), EMU_OK);
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_HOST, 5000, &b, &fault), EMU_OK);
    assert_int_equal(a % 256, 0);
    assert_true(emu_memory_find(d, a + 99, &base, &size, &kind));
    assert_int_equal(base, a);
    assert_int_equal(size, 100);
    assert_int_equal(kind, EMU_MEMORY_DEVICE);
    assert_false(emu_memory_find(d, a + 100, NULL, NULL, NULL));
    assert_false(emu_memory_find(d, a - 1, NULL, NULL, NULL));
    assert_true(emu_memory_find(d, b + 4999, NULL, NULL, &kind));
    assert_int_equal(kind, EMU_MEMORY_HOST);
    assert_int_equal(emu_memory_used(d), 256);               /* host memory is free of charge */
    assert_int_equal(*(uint32_t *)(uintptr_t)a, 0xffffffff); /* poison, not zeros */
    memset((void *)(uintptr_t)a, 0, 100);
    assert_int_equal(emu_memory_free(d, a + 4, &fault), EMU_ILLEGAL_ADDRESS);
    assert_int_equal(emu_memory_free(d, a, &fault), EMU_OK);
    assert_int_equal(emu_memory_free(d, a, &fault), EMU_ILLEGAL_ADDRESS);
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_DEVICE, 100, &b, &fault), EMU_OK);
    assert_int_equal(b, a); /* first fit */
    assert_int_equal(*(uint32_t *)(uintptr_t)b, 0xffffffff);
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_DEVICE, 0, &b, &fault), EMU_OUT_OF_MEMORY);
    emu_device_destroy(d);
}

static void test_capacity(void **unused) {
    (void)unused;
    emu_device_spec spec = bench_spec();
    spec.memory_bytes = UINT64_C(80) << 30; /* far more than the host has */
    emu_options options = {.host_threads = 1};
    emu_fault fault = {0};
    emu_device *d = emu_device_create(&spec, &options, &fault);
    assert_non_null(d);
    uint64_t block[8], more;
    for (int i = 0; i < 8; i++)
        assert_int_equal(
            emu_memory_allocate(d, EMU_MEMORY_DEVICE, UINT64_C(10) << 30, &block[i], &fault),
            EMU_OK);
    assert_int_equal(*(uint64_t *)(uintptr_t)(block[7] + (UINT64_C(9) << 30)), UINT64_MAX);
    *(uint64_t *)(uintptr_t)(block[3] + (UINT64_C(5) << 30)) = 1;
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_MANAGED, 1, &more, &fault),
                     EMU_OUT_OF_MEMORY);
    assert_non_null(strstr(fault.message, "out of memory"));
    assert_int_equal(emu_memory_free(d, block[3], &fault), EMU_OK);
    assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_MANAGED, UINT64_C(10) << 30, &more, &fault),
                     EMU_OK);
    assert_int_equal(*(uint64_t *)(uintptr_t)(more + (UINT64_C(5) << 30)), 0);
    emu_device_destroy(d);
}

/* Managed memory begins as zeros, to its first and last byte; what comes after it there does not.
 */
static void test_managed(void **unused) {
    static const uint64_t sizes[] = {1, 4096, 5000, 70000, (UINT64_C(16) << 20) + 5000};
    (void)unused;
    emu_device *d = bench_device(1, true);
    emu_fault fault = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t a, b, size = sizes[i];
        for (int again = 0; again < 2; again++) {
            assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_MANAGED, size, &a, &fault), EMU_OK);
            uint8_t *bytes = (uint8_t *)(uintptr_t)a;
            for (uint64_t k = 0; k < size; k++)
                assert_int_equal(bytes[k], 0);
            assert_int_equal(bytes[size], 0xff); /* behind it */
            memset(bytes, 7, size);
            assert_int_equal(emu_memory_free(d, a, &fault), EMU_OK);
        }
        assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_DEVICE, size, &b, &fault), EMU_OK);
        assert_int_equal(b, a);
        for (uint64_t k = 0; k < size; k++)
            assert_int_equal(((uint8_t *)(uintptr_t)b)[k], 0xff);
        assert_int_equal(emu_memory_free(d, b, &fault), EMU_OK);
    }
    emu_device_destroy(d);
}

static void test_registered(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, true);
    uint32_t *host = calloc(256, sizeof *host);
    assert_non_null(host);
    emu_module *m =
        bench_load(d, PTX_HEADER
                   ".visible .entry k(.param .u64 p) { .reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
                   "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 4, %rd0;\n"
                   "st.global.u32 [%rd1], %r0; ret; }\n");
    const void *parameters[] = {&host, NULL};
    emu_fault fault = {0};
    bench_shape shape = {1, 256, 0, false};
    assert_int_equal(bench_try(d, m, "k", shape, parameters, NULL, &fault), EMU_ILLEGAL_ADDRESS);
    assert_int_equal(emu_memory_register_host(d, host, 256 * sizeof *host), EMU_OK);
    assert_int_equal(emu_memory_register_host(d, host + 1, 4), EMU_ILLEGAL_ADDRESS); /* overlaps */
    emu_counts counts;
    bench_run(d, m, "k", shape, parameters, &counts);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(host[i], i);
    assert_int_equal(counts.host_bytes, 8 * 32 * (4 + ((uintptr_t)host % 32 != 0)));
    uint64_t address = (uint64_t)(uintptr_t)host;
    assert_int_equal(emu_memory_free(d, address, &fault), EMU_ILLEGAL_ADDRESS);
    assert_int_equal(emu_memory_unregister_host(d, host), EMU_OK);
    assert_int_equal(emu_memory_unregister_host(d, host), EMU_ILLEGAL_ADDRESS);
    assert_int_equal(bench_try(d, m, "k", shape, parameters, NULL, &fault), EMU_ILLEGAL_ADDRESS);
    emu_module_unload(m);
    emu_device_destroy(d);
    free(host);
}

/* Random allocations and releases: never two that overlap, and all is given back. */
static void test_random(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, false);
    enum { SLOTS = 200 };
    uint64_t address[SLOTS] = {0}, size[SLOTS] = {0};
    uint32_t state = 7;
    emu_fault fault;
    for (int i = 0; i < 4000; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t s = (state >> 8) % SLOTS;
        if (address[s]) {
            for (uint64_t b = 0; b<size[s]; b += size[s]> 64 ? size[s] - 1 : 1)
                assert_int_equal(*(uint8_t *)(uintptr_t)(address[s] + b), (uint8_t)s);
            assert_int_equal(emu_memory_free(d, address[s], &fault), EMU_OK);
            address[s] = 0;
            continue;
        }
        size[s] = 1 + (state >> 4) % 20000;
        assert_int_equal(emu_memory_allocate(d, EMU_MEMORY_DEVICE, size[s], &address[s], &fault),
                         EMU_OK);
        memset((void *)(uintptr_t)address[s], (int)s, size[s]);
    }
    for (int s = 0; s < SLOTS; s++)
        if (address[s])
            assert_int_equal(emu_memory_free(d, address[s], &fault), EMU_OK);
    assert_int_equal(emu_memory_used(d), 0);
    emu_device_destroy(d);
}

static void test_globals(void **unused) {
    (void)unused;
    emu_device *d = bench_device(1, false);
    emu_module *m = bench_load(d, PTX_HEADER ".visible .global .align 4 .u32 a[5] = {7, 8};\n"
                                             ".visible .const .align 4 .f32 b = 0f3F800000;\n"
                                             ".visible .global .attribute(.managed) .u32 c;\n");
    uint64_t address, size;
    emu_fault fault;
    emu_memory_kind kind;
    assert_int_equal(emu_module_get_global(m, "a", &address, &size, &fault), EMU_OK);
    assert_int_equal(size, 20);
    assert_memory_equal((void *)(uintptr_t)address, ((uint32_t[]){7, 8, 0, 0, 0}), 20);
    assert_int_equal(emu_module_get_global(m, "b", &address, &size, &fault), EMU_OK);
    assert_int_equal(*(uint32_t *)(uintptr_t)address, 0x3f800000);
    assert_int_equal(emu_module_get_global(m, "c", &address, NULL, &fault), EMU_OK);
    assert_true(emu_memory_find(d, address, NULL, NULL, &kind));
    assert_int_equal(kind, EMU_MEMORY_MANAGED);
    assert_int_equal(emu_module_get_global(m, "z", &address, &size, &fault), EMU_NOT_FOUND);
    assert_int_equal(emu_module_ptx_target(m), 80);
    emu_module_unload(m);
    assert_int_equal(emu_memory_used(d), 0);
    emu_device_destroy(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_managed),     cmocka_unit_test(test_registered),
        cmocka_unit_test(test_random),      cmocka_unit_test(test_globals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
