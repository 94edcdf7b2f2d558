/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the runtime's doors: find.h has the contract.
 */
#include "emulator/cuda/find.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const emu_doors *table_of(void *library) {
    const emu_doors *(*table)(void) =
        library ? (const emu_doors *(*)(void))dlsym(library, "emu_doors_table") : NULL;
    const emu_doors *doors = table ? table() : NULL;
    return doors && doors->version == EMU_DOORS_VERSION ? doors : NULL;
}

static const emu_doors *load_beside(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr((const void *)(uintptr_t)load_beside, &self) || !self.dli_fname)
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    if (!slash)
        return NULL;
    snprintf(path, sizeof path, "%.*s/libcudart.so.13", (int)(slash - self.dli_fname),
             self.dli_fname);
    return table_of(dlopen(path, RTLD_NOW | RTLD_LOCAL));
}

int emu_find_doors(const emu_doors *found[2]) {
    static const char *const names[2] = {"libcudart.so.13", "libcudart.so.12"};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        const emu_doors *doors = table_of(dlopen(names[i], RTLD_NOW | RTLD_NOLOAD));
        if (doors)
            found[count++] = doors;
    }
    if (!count && (found[0] = load_beside()))
        count = 1;
    return count;
}
