/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a program's ELF file: its dynamic section for the libraries it needs, its fat binaries for
 * the code it holds. Offsets and sizes are held against the file before they are used.
 */
#include "emulator/cudart/inspect.h"
#include "emulator/fatbin/fatbin.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct span {
    const uint8_t *bytes;
    uint64_t size;
} span;

static span part(span whole, uint64_t offset, uint64_t size) {
    if (offset > whole.size || size > whole.size - offset)
        return (span){0};
    return (span){whole.bytes + offset, size};
}

typedef struct sections {
    span file, headers, names;
    uint64_t count, entry_size;
} sections;

static bool section_at(const sections *s, uint64_t i, Elf64_Shdr *header) {
    if (i >= s->count)
        return false;
    memcpy(header, s->headers.bytes + i * s->entry_size, sizeof *header);
    return true;
}

static span contents(const sections *s, const Elf64_Shdr *header) {
    return header->sh_type == SHT_NOBITS ? (span){0}
                                         : part(s->file, header->sh_offset, header->sh_size);
}

static const char *string_at(span table, uint64_t offset) {
    if (offset >= table.size || !memchr(table.bytes + offset, 0, table.size - offset))
        return "";
    return (const char *)table.bytes + offset;
}

static bool open_sections(span file, sections *s) {
    Elf64_Ehdr header;
    Elf64_Shdr names;
    if (file.size < sizeof header)
        return false;
    memcpy(&header, file.bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize < sizeof names)
        return false;
    *s = (sections){.file = file, .count = header.e_shnum, .entry_size = header.e_shentsize};
    s->headers = part(file, header.e_shoff, s->count * s->entry_size);
    if (!s->headers.bytes)
        s->count = 0;
    if (section_at(s, header.e_shstrndx, &names))
        s->names = contents(s, &names);
    return true;
}

/* ---- Libraries ----------------------------------------------------------------------------------
 */

/* Those that hold a CUDA runtime of their own, or need a driver's insides. */
static const char *const foreign[] = {"libcublas",   "libcudnn",     "libcufft",      "libcurand",
                                      "libcusparse", "libcusolver",  "libnccl",       "libnpp",
                                      "libnvjpeg",   "libcutensor",  "libnvJitLink",  "libnvgraph",
                                      "libnvinfer",  "libcudadevrt", "libtorch_cuda", "libnvshmem"};

static void append_word(char *list, size_t size, const char *word, const char *between) {
    size_t n = strlen(list);
    if (n + strlen(word) + strlen(between) + 1 <= size)
        snprintf(list + n, size - n, "%s%s", n ? between : "", word);
}

static void note_library(emu_inspection *in, const char *name) {
    if (strncmp(name, "libcudart.so.", 13) == 0)
        in->cudart = atoi(name + 13);
    if (strncmp(name, "libcuda.so", 10) == 0)
        in->driver = true;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strncmp(name, foreign[i], strlen(foreign[i])) == 0) {
            append_word(in->libraries, sizeof in->libraries, name, ", ");
            return;
        }
}

static void read_needed(const sections *s, const Elf64_Shdr *dynamic, emu_inspection *in) {
    Elf64_Shdr strings_header;
    span entries = contents(s, dynamic);
    if (!section_at(s, dynamic->sh_link, &strings_header))
        return;
    span strings = contents(s, &strings_header);
    Elf64_Dyn entry;
    for (uint64_t at = 0; at + sizeof entry <= entries.size; at += sizeof entry) {
        memcpy(&entry, entries.bytes + at, sizeof entry);
        if (entry.d_tag == DT_NEEDED)
            note_library(in, string_at(strings, entry.d_un.d_val));
    }
}

/* ---- Device code --------------------------------------------------------------------------------
 */

static void note_image(emu_inspection *in, const emu_image *image) {
    char arch[16];
    if (image->kind == EMU_IMAGE_PTX) {
        in->ptx = true;
        if (!in->ptx_lowest || image->arch < in->ptx_lowest)
            in->ptx_lowest = image->arch;
        if (image->arch > in->ptx_highest)
            in->ptx_highest = image->arch;
        return;
    }
    snprintf(arch, sizeof arch, "%d", image->arch);
    if (!strstr(in->sass, arch))
        append_word(in->sass, sizeof in->sass, arch, " ");
}

/* Containers stand one after the other, each aligned to 8 bytes. */
static void read_containers(span bytes, emu_inspection *in) {
    emu_fatbin fatbin = {0};
    for (uint64_t at = 0; at < bytes.size;) {
        size_t used;
        if (emu_fatbin_add(&fatbin, bytes.bytes + at, (size_t)(bytes.size - at), &used, NULL) !=
            EMU_OK)
            used = 8;
        at += (used + 7) / 8 * 8;
    }
    for (size_t i = 0; i < fatbin.count; i++)
        note_image(in, &fatbin.images[i]);
    emu_fatbin_free(&fatbin);
}

static void read_sections(const sections *s, emu_inspection *in) {
    Elf64_Shdr header;
    for (uint64_t i = 0; section_at(s, i, &header); i++) {
        const char *name = string_at(s->names, header.sh_name);
        if (header.sh_type == SHT_DYNAMIC)
            read_needed(s, &header, in);
        if (strcmp(name, ".nvFatBinSegment") == 0 || strcmp(name, ".nv_fatbin") == 0)
            in->fatbin = true;
        if (strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0)
            read_containers(contents(s, &header), in);
    }
}

bool emu_inspect(const char *path, emu_inspection *inspection) {
    *inspection = (emu_inspection){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    struct stat status;
    void *bytes = MAP_FAILED;
    bool ok = fstat(descriptor, &status) == 0;
    if (ok && S_ISREG(status.st_mode) && status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        ok = bytes != MAP_FAILED;
    }
    int saved = errno;
    close(descriptor);
    errno = saved;
    if (bytes == MAP_FAILED)
        return ok;
    sections s;
    inspection->elf = open_sections((span){bytes, (uint64_t)status.st_size}, &s);
    if (inspection->elf)
        read_sections(&s, inspection);
    munmap(bytes, (size_t)status.st_size);
    return true;
}

/* ---- Verdict ------------------------------------------------------------------------------------
 */

emu_verdict emu_inspect_judge(const emu_inspection *in, const char *program, int cc, char *message,
                              size_t size) {
    message[0] = 0;
    if (in->libraries[0]) {
        snprintf(message, size,
                 "%s needs %s: such libraries bring a CUDA runtime or device code of their own, "
                 "which does not run on an emulated device; build it without them, or run it on a "
                 "GPU",
                 program, in->libraries);
        return EMU_NEEDS_LIBRARY;
    }
    if (in->fatbin && !in->cudart && !in->driver) {
        snprintf(message, size,
                 "%s has the CUDA runtime linked into it, and so no emulated one can be put before "
                 "it; link it again with the shared one: NVCC_APPEND_FLAGS=\"-cudart shared\" in "
                 "the environment of the build (any build that calls nvcc), or with CMake "
                 "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared",
                 program);
        return EMU_STATIC_CUDART;
    }
    if (!in->elf || !in->fatbin)
        return EMU_UNDECIDED;
    if (!in->ptx && !in->sass[0])
        return EMU_UNDECIDED; /* a container without code: a program that launches nothing */
    if (!in->ptx) {
        snprintf(message, size,
                 "%s holds machine code for sm_%s but no PTX, and an emulated device runs nothing "
                 "else; build it again with NVCC_APPEND_FLAGS=\"-gencode "
                 "arch=compute_80,code=compute_80\" in the environment (it adds PTX), or with "
                 "CMake -DCMAKE_CUDA_ARCHITECTURES=80-virtual",
                 program, in->sass);
        return EMU_NO_PTX;
    }
    if (in->ptx_lowest > cc) {
        snprintf(message, size,
                 "%s holds PTX for sm_%d and up, the emulated device is sm_%d; build it again with "
                 "NVCC_APPEND_FLAGS=\"-gencode arch=compute_%d,code=compute_%d\", or emulate a "
                 "newer device",
                 program, in->ptx_lowest, cc, cc, cc);
        return EMU_NO_PTX;
    }
    return EMU_RUNS;
}
