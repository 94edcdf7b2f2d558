/* SPDX-License-Identifier: Apache-2.0
 *
 * A small emulated device for the machine's tests, and the steps that every test repeats: load PTX,
 * allocate, launch. Every failure that a test did not ask for ends the test with its message. */
#ifndef TESTS_BENCH_DEVICE_H
#define TESTS_BENCH_DEVICE_H

#include "emulator/emulator.h"

/* HEADER for the texts of tests. */
#define PTX_HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

emu_device_spec bench_spec(void);
emu_device *bench_device(int host_threads, bool count);
emu_module *bench_load(emu_device *device, const char *text);
uint64_t bench_allocate(emu_device *device, uint64_t bytes);

typedef struct bench_shape {
    uint32_t grid, block, dynamic_shared;
    bool cooperative;
} bench_shape;

/* Launches NAME with the parameters given as pointers, ended by NULL. */
emu_status bench_try(emu_device *device, emu_module *module, const char *name, bench_shape shape,
                     const void *const *parameters, emu_counts *counts, emu_fault *fault);
void bench_run(emu_device *device, emu_module *module, const char *name, bench_shape shape,
               const void *const *parameters, emu_counts *counts);

#endif
