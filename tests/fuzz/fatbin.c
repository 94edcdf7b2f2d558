/* SPDX-License-Identifier: Apache-2.0
 *
 * The fat-binary reader and the program inspection over any bytes: taken as a container, as a cubin
 * and as an ELF program.
 */
#include "emulator/fatbin/fatbin.h"
#include "emulator/cudart/inspect.h"
#include "input.h"
#include <stdlib.h>
#include <string.h>

static size_t length_of_names;

static void note_kernel(void *context, const emu_cubin_kernel *kernel) {
    (void)context;
    length_of_names += strlen(kernel->name);
}

static void read_container(const uint8_t *data, size_t size) {
    emu_fatbin fatbin = {0};
    emu_fault fault = {0};
    size_t used = 0, length;
    char *bytes;
    if (emu_fatbin_add(&fatbin, data, size, &used, &fault) != EMU_OK) {
        if (!fault.message[0])
            abort();
        return;
    }
    if (used > size)
        abort();
    for (size_t i = 0; i < fatbin.count; i++) {
        /* Claims of gigabytes are legal and slow; what they unpack to is tested elsewhere. */
        if (fatbin.images[i].expanded_size > 1 << 20 ||
            emu_image_expand(&fatbin.images[i], &bytes, &length, &fault) != EMU_OK)
            continue;
        if (length > fatbin.images[i].expanded_size)
            abort();
        emu_cubin_visit(bytes, length, note_kernel, NULL);
        free(bytes);
    }
    emu_fatbin_best(&fatbin, 0, EMU_IMAGE_PTX, 90);
    emu_fatbin_free(&fatbin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    emu_inspection inspection;
    char message[1024];
    read_container(data, size);
    emu_cubin_visit(data, size, note_kernel, NULL);
    if (emu_inspect(input_file(data, size), &inspection))
        emu_inspect_judge(&inspection, "program", 90, message, sizeof message);
    return 0;
}
