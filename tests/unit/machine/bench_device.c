/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that the machine's tests share. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

emu_device_spec bench_spec(void) {
    return (emu_device_spec){.name = "test device",
                             .chip = "none",
                             .cc_major = 8,
                             .sm_count = 4,
                             .sm_clock_hz = 1e9,
                             .memory_bytes = UINT64_C(1) << 30,
                             .l2_bytes = 1 << 20,
                             .l1_bytes_per_sm = 128 << 10,
                             .shared_bytes_per_sm = 100 << 10,
                             .shared_bytes_per_block = 48 << 10,
                             .shared_bytes_per_block_optin = 99 << 10,
                             .registers_per_sm = 65536,
                             .max_threads_per_sm = 2048,
                             .max_blocks_per_sm = 32,
                             .max_warps_per_sm = 64,
                             .dram_bytes_per_s = 1e12,
                             .fp32_per_clk = 256};
}

emu_device *bench_device(int host_threads, bool count) {
    emu_device_spec spec = bench_spec();
    emu_options options = {.host_threads = host_threads, .count = count, .model_caches = count};
    emu_fault fault = {0};
    emu_device *device = emu_device_create(&spec, &options, &fault);
    if (!device)
        fail_msg("%s", fault.message);
    return device;
}

emu_module *bench_load(emu_device *device, const char *text) {
    emu_module *module;
    emu_fault fault = {0};
    size_t length = strlen(text);
    if (emu_module_load(device, &text, &length, 1, &module, &fault))
        fail_msg("%s", fault.message);
    return module;
}

uint64_t bench_allocate(emu_device *device, uint64_t bytes) {
    uint64_t address;
    emu_fault fault = {0};
    if (emu_memory_allocate(device, EMU_MEMORY_DEVICE, bytes, &address, &fault))
        fail_msg("%s", fault.message);
    memset((void *)(uintptr_t)address, 0, bytes);
    return address;
}

emu_status bench_try(emu_device *device, emu_module *module, const char *name, bench_shape shape,
                     const void *const *parameters, emu_counts *counts, emu_fault *fault) {
    emu_kernel *kernel;
    emu_status status = emu_module_get_kernel(module, name, &kernel, fault);
    if (status)
        return status;
    emu_launch launch = {.kernel = kernel,
                         .grid = {shape.grid, 1, 1},
                         .block = {shape.block, 1, 1},
                         .dynamic_shared_bytes = shape.dynamic_shared,
                         .cooperative = shape.cooperative,
                         .parameters = parameters};
    return emu_launch_run(device, &launch, counts, fault);
}

void bench_run(emu_device *device, emu_module *module, const char *name, bench_shape shape,
               const void *const *parameters, emu_counts *counts) {
    emu_fault fault = {0};
    if (bench_try(device, module, name, shape, parameters, counts, &fault))
        fail_msg("%s: %s", name, fault.message);
}
