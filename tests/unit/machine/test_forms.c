/* SPDX-License-Identifier: Apache-2.0
 *
 * Which forms of PTX instructions the emulated device has and which it refuses, by name: forms.txt,
 * line by line. A form that it has must be decoded; one that it has not must fail its kernel with a
 * message that holds the instruction. What they do is the other tests' business. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = 512 };

/* Decodes INSTRUCTION, which is never reached. */
static emu_status decode(emu_device *device, const char *target, const char *instruction,
                         emu_fault *fault) {
    char text[2 * LINE + 512];
    snprintf(text, sizeof text,
             ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k(.param .b64 a)\n{\n"
             ".reg .b16 %%h<20>; .reg .b32 %%r<20>; .reg .b64 %%rd<20>; .reg .b128 %%q<20>;\n"
             ".reg .f32 %%f<20>; .reg .f64 %%fd<20>; .reg .pred %%p<20>;\nexit;\n%s\n}\n",
             target, instruction);
    const char *one = text;
    size_t length = strlen(text);
    emu_module *module;
    *fault = (emu_fault){0};
    emu_status status = emu_module_load(device, &one, &length, 1, &module, fault);
    if (status)
        return status;
    uint64_t zero = 0;
    const void *parameters[] = {&zero, NULL};
    bench_shape shape = {1, 32, 0, false};
    status = bench_try(device, module, "k", shape, parameters, NULL, fault);
    emu_module_unload(module);
    return status;
}

static void test_forms(void **unused) {
    (void)unused;
    FILE *file = fopen(ROOFPROF_SOURCE_DIR "/tests/unit/machine/forms.txt", "r");
    assert_non_null(file);
    emu_device_spec spec = bench_spec();
    spec.cc_major = 10; /* so that it may run all of them */
    emu_options options = {.host_threads = 1};
    emu_fault fault = {0};
    emu_device *device = emu_device_create(&spec, &options, &fault);
    assert_non_null(device);
    char line[LINE], target[16], has;
    int had = 0, missing = 0, wrong = 0, start;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%c %15s %n", &has, target, &start), 2);
        emu_status status = decode(device, target, line + start, &fault);
        bool refused = status == EMU_BAD_PTX;
        char opcode[LINE];
        snprintf(opcode, sizeof opcode, "%.*s", (int)strcspn(line + start, " ;"), line + start);
        bool named = strstr(fault.message, opcode) || strstr(fault.message, "special register");
        if ((has == '+' && status == EMU_OK) || (has == '-' && refused && named)) {
            had += has == '+';
            missing += has == '-';
            continue;
        }
        print_error("%s: %s\n", line, status ? fault.message : "was taken");
        wrong++;
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(had > 800 && missing > 40);
    emu_device_destroy(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
