/* SPDX-License-Identifier: Apache-2.0
 *
 * The emulated device's front end over any text: PTX parsed with the body of every function, then
 * loaded as a module (linked with itself, too, as -rdc does) with every kernel decoded.
 */
#include "emulator/ptx/ptx.h"
#include "emulator/emulator.h"
#include "input.h"
#include <stdio.h>
#include <stdlib.h>

static emu_device *device;

static void open_device(void) {
    const emu_device_spec spec = {.name = "fuzzed device",
                                  .chip = "none",
                                  .cc_major = 9,
                                  .sm_count = 2,
                                  .sm_clock_hz = 1e9,
                                  .memory_bytes = 1 << 22,
                                  .l2_bytes = 1 << 16,
                                  .l1_bytes_per_sm = 128 << 10,
                                  .shared_bytes_per_sm = 100 << 10,
                                  .shared_bytes_per_block = 48 << 10,
                                  .shared_bytes_per_block_optin = 99 << 10,
                                  .registers_per_sm = 65536,
                                  .max_threads_per_sm = 2048,
                                  .max_blocks_per_sm = 32,
                                  .max_warps_per_sm = 64};
    const emu_options options = {.host_threads = 1};
    emu_fault fault = {0};
    device = emu_device_create(&spec, &options, &fault);
    if (!device) {
        fprintf(stderr, "%s\n", fault.message);
        exit(1);
    }
}

/* What cannot be read is told with a line that the text has. */
static void check_error(const ptx_error *error, size_t size) {
    if (!error->message[0] || error->line < 0 || (size_t)error->line > size + 1)
        abort();
}

static void parse(const char *text, size_t size) {
    ptx_error error = {0};
    ptx_module *module = ptx_parse(text, size, &error);
    if (!module) {
        check_error(&error, size);
        return;
    }
    for (int i = 0; i < ptx_module_function_count(module); i++) {
        ptx_function *function = ptx_module_function(module, i);
        error = (ptx_error){0};
        if (function->text && !ptx_parse_body(module, function, &error))
            check_error(&error, size);
    }
    ptx_module_free(module);
}

static void decode(emu_module *module, const char *text, size_t size) {
    ptx_error error = {0};
    ptx_module *names = ptx_parse(text, size, &error);
    for (int i = 0; names && i < ptx_module_function_count(names); i++) {
        emu_kernel *kernel;
        emu_fault fault = {0};
        const ptx_function *function = ptx_module_function(names, i);
        if (emu_module_get_kernel(module, function->name, &kernel, &fault) == EMU_OK)
            emu_kernel_get_info(kernel);
    }
    ptx_module_free(names);
}

static void load(const char *text, size_t size, int copies) {
    const char *texts[] = {text, text};
    const size_t lengths[] = {size, size};
    const uint64_t used = emu_memory_used(device);
    emu_module *module;
    emu_fault fault = {0};
    if (emu_module_load(device, texts, lengths, copies, &module, &fault) == EMU_OK) {
        decode(module, text, size);
        emu_module_unload(module);
    } else if (!fault.message[0]) {
        abort();
    }
    if (emu_memory_used(device) != used)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!device)
        open_device();
    parse((const char *)data, size);
    load((const char *)data, size, 1);
    load((const char *)data, size, 2);
    return 0;
}
