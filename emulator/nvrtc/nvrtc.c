/* SPDX-License-Identifier: Apache-2.0
 *
 * NVRTC's door: nvrtc.h has the contract. Nothing is kept between calls: sizes are asked for again.
 */
#include "emulator/nvrtc/nvrtc.h"

#include "emulator/fatbin/fatbin.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- The program's NVRTC ----------------------------------------------------------------------
 */

/* Wheels rename it (libnvrtc-1a2b3c.so.12); its other half has no interface of its own. */
static int note_nvrtc(struct dl_phdr_info *info, size_t size, void *path) {
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libnvrtc", 8) != 0 || strncmp(name, "libnvrtc-builtins", 17) == 0 ||
        strncmp(name, "libnvrtc-door", 13) == 0)
        return 0;
    return snprintf(path, PATH_MAX, "%s", info->dlpi_name) < PATH_MAX;
}

/* The next one behind this library; NVRTC that came with a library opened later is in nobody's
 * order of search but that library's, and is looked for among all that is loaded. */
static void *real(const char *name) {
    char path[PATH_MAX];
    void *function = dlsym(RTLD_NEXT, name);
    if (!function && dl_iterate_phdr(note_nvrtc, path)) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        function = library ? dlsym(library, name) : NULL;
        if (library)
            dlclose(library); /* whoever calls us holds it */
    }
    return function;
}

static int real_size(const char *name, nvrtcProgram program, size_t *size) {
    int (*function)(nvrtcProgram, size_t *) = (int (*)(nvrtcProgram, size_t *))real(name);
    return function ? function(program, size) : NVRTC_ERROR_INTERNAL_ERROR;
}

static int real_bytes(const char *name, nvrtcProgram program, char *bytes) {
    int (*function)(nvrtcProgram, char *) = (int (*)(nvrtcProgram, char *))real(name);
    return function ? function(program, bytes) : NVRTC_ERROR_INTERNAL_ERROR;
}

/* ---- The fat binary ---------------------------------------------------------------------------
 */

enum { CONTAINER_HEADER = 16, ENTRY_HEADER = 64 };

typedef struct target {
    uint32_t arch; /* 90 */
    bool specific; /* sm_90a */
} target;

static size_t padded(size_t size) {
    return (size + 7) / 8 * 8;
}

static size_t container_size(size_t cubin, size_t ptx) {
    return CONTAINER_HEADER + 2 * (size_t)ENTRY_HEADER + padded(cubin) + padded(ptx);
}

/* From PTX's line ".target sm_90a"; false: it has none. */
static bool read_target(const char *ptx, target *t) {
    const char *line = strstr(ptx, "\n.target sm_");
    char *end;
    if (!line)
        return false;
    unsigned long arch = strtoul(line + strlen("\n.target sm_"), &end, 10);
    *t = (target){.arch = (uint32_t)arch, .specific = *end == 'a'};
    return arch > 0 && arch <= UINT16_MAX;
}

static void put(char *at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++)
        at[i] = (char)(value >> 8 * i & 0xff);
}

/* Returns where its payload belongs, of which the padding is written. */
static char *put_entry(char *at, emu_image_kind kind, const target *t, size_t size) {
    const uint64_t for_cubin = kind == EMU_IMAGE_PTX ? EMU_FATBIN_FOR_CUBIN : 0;
    memset(at, 0, ENTRY_HEADER);
    put(at, kind, 2);
    put(at + 4, ENTRY_HEADER, 4);
    put(at + 8, padded(size), 8);
    put(at + 28, t->arch, 4);
    put(at + 40, for_cubin | (t->specific ? EMU_FATBIN_ARCH_SPECIFIC : 0), 8);
    memset(at + ENTRY_HEADER + size, 0, padded(size) - size);
    return at + ENTRY_HEADER;
}

/* ---- The two functions ------------------------------------------------------------------------
 */

/* What NVRTC has of PROGRAM. *ptx (to be freed) is NULL where NVRTC's own answer is to be given:
 * there are not both, or the PTX names no device. */
static int read_program(nvrtcProgram program, size_t *cubin, size_t *ptx_size, char **ptx,
                        target *t) {
    *ptx = NULL;
    int result = real_size("nvrtcGetCUBINSize", program, cubin);
    if (result != NVRTC_SUCCESS || *cubin == 0 ||
        real_size("nvrtcGetPTXSize", program, ptx_size) != NVRTC_SUCCESS || *ptx_size <= 1)
        return result;
    char *text = calloc(1, *ptx_size + 1);
    if (!text)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    if (real_bytes("nvrtcGetPTX", program, text) == NVRTC_SUCCESS && read_target(text, t))
        *ptx = text;
    else
        free(text);
    return result;
}

EXPORT int nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    size_t cubin, ptx_size;
    char *ptx;
    target t;
    if (!size)
        return NVRTC_ERROR_INVALID_INPUT;
    int result = read_program(program, &cubin, &ptx_size, &ptx, &t);
    if (result == NVRTC_SUCCESS)
        *size = ptx ? container_size(cubin, ptx_size) : cubin;
    free(ptx);
    return result;
}

EXPORT int nvrtcGetCUBIN(nvrtcProgram program, char *bytes) {
    size_t cubin, ptx_size;
    char *ptx;
    target t;
    if (!bytes)
        return NVRTC_ERROR_INVALID_INPUT;
    int result = read_program(program, &cubin, &ptx_size, &ptx, &t);
    if (result != NVRTC_SUCCESS || !ptx)
        return result != NVRTC_SUCCESS ? result : real_bytes("nvrtcGetCUBIN", program, bytes);
    put(bytes, EMU_FATBIN_MAGIC, 4);
    put(bytes + 4, 1, 2);
    put(bytes + 6, CONTAINER_HEADER, 2);
    put(bytes + 8, container_size(cubin, ptx_size) - CONTAINER_HEADER, 8);
    char *elf = put_entry(bytes + CONTAINER_HEADER, EMU_IMAGE_ELF, &t, cubin);
    memcpy(put_entry(elf + padded(cubin), EMU_IMAGE_PTX, &t, ptx_size), ptx, ptx_size);
    free(ptx);
    return real_bytes("nvrtcGetCUBIN", program, elf);
}
