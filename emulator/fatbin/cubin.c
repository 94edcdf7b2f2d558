/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cubin says of its kernels. A cubin is an ELF64 file whose section .nv.info holds
 * attributes: u8 format, u8 attribute, u16 size or value, and for format 4 that many bytes.
 * REGCOUNT (0x2f) and FRAME_SIZE (0x11) are pairs of u32: symbol index, value.
 */
#include "emulator/fatbin/fatbin.h"
#include <elf.h>
#include <string.h>

enum { FORMAT_SIZED = 4, ATTRIBUTE_REGCOUNT = 0x2f, ATTRIBUTE_FRAME_SIZE = 0x11 };

typedef struct span {
    const uint8_t *bytes;
    size_t size;
} span;

typedef struct cubin {
    span file, sections, names; /* names: of the sections */
    uint64_t count, entry_size;
} cubin;

/* The part of WHOLE at OFFSET; empty if it is not all there. */
static span part(span whole, uint64_t offset, uint64_t size) {
    if (offset > whole.size || size > whole.size - offset)
        return (span){0};
    return (span){whole.bytes + offset, (size_t)size};
}

static bool section_at(const cubin *c, uint64_t i, Elf64_Shdr *header) {
    if (i >= c->count)
        return false;
    memcpy(header, c->sections.bytes + i * c->entry_size, sizeof *header);
    return true;
}

static span contents(const cubin *c, const Elf64_Shdr *header) {
    return header->sh_type == SHT_NOBITS ? (span){0}
                                         : part(c->file, header->sh_offset, header->sh_size);
}

/* A NUL-terminated string of a string table, NULL if it has no end there. */
static const char *string_at(span table, uint64_t offset) {
    if (offset >= table.size || !memchr(table.bytes + offset, 0, table.size - offset))
        return NULL;
    return (const char *)table.bytes + offset;
}

static bool open_cubin(const void *elf, size_t size, cubin *c) {
    Elf64_Ehdr header;
    Elf64_Shdr names;
    if (size < sizeof header)
        return false;
    memcpy(&header, elf, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize < sizeof(Elf64_Shdr))
        return false;
    c->file = (span){elf, size};
    c->count = header.e_shnum;
    c->entry_size = header.e_shentsize;
    c->sections = part(c->file, header.e_shoff, c->count * c->entry_size);
    if (!c->sections.bytes || !section_at(c, header.e_shstrndx, &names))
        return false;
    c->names = contents(c, &names);
    return true;
}

static span find_section(const cubin *c, const char *name, Elf64_Shdr *header) {
    for (uint64_t i = 0; section_at(c, i, header); i++) {
        const char *n = string_at(c->names, header->sh_name);
        if (n && strcmp(n, name) == 0)
            return contents(c, header);
    }
    return (span){0};
}

typedef struct attribute {
    unsigned kind;
    uint32_t symbol, value;
} attribute;

/* Steps to the next pair attribute of INFO from *at; false at the end or where it makes no sense.
 */
static bool next_pair(span info, size_t *at, attribute *a) {
    while (info.size - *at >= 4) {
        const uint8_t *p = info.bytes + *at;
        uint16_t size;
        memcpy(&size, p + 2, sizeof size);
        size_t length = 4 + (p[0] == FORMAT_SIZED ? size : 0u);
        if (length > info.size - *at)
            return false;
        *at += length;
        if (p[0] != FORMAT_SIZED || size < 8)
            continue;
        a->kind = p[1];
        memcpy(&a->symbol, p + 4, sizeof a->symbol);
        memcpy(&a->value, p + 8, sizeof a->value);
        return true;
    }
    return false;
}

static uint32_t value_of(span info, unsigned kind, uint32_t symbol) {
    attribute a;
    for (size_t at = 0; next_pair(info, &at, &a);)
        if (a.kind == kind && a.symbol == symbol)
            return a.value;
    return 0;
}

size_t emu_cubin_visit(const void *elf, size_t size,
                       void (*visit)(void *context, const emu_cubin_kernel *kernel),
                       void *context) {
    cubin c;
    Elf64_Shdr header, symbols_header, strings_header;
    if (!open_cubin(elf, size, &c))
        return 0;
    span info = find_section(&c, ".nv.info", &header);
    span symbols = find_section(&c, ".symtab", &symbols_header);
    if (!info.bytes || !symbols.bytes || !section_at(&c, symbols_header.sh_link, &strings_header))
        return 0;
    span strings = contents(&c, &strings_header);
    attribute a;
    size_t visited = 0;
    for (size_t at = 0; next_pair(info, &at, &a);) {
        Elf64_Sym symbol;
        span bytes = part(symbols, (uint64_t)a.symbol * sizeof symbol, sizeof symbol);
        if (a.kind != ATTRIBUTE_REGCOUNT || !bytes.bytes)
            continue;
        memcpy(&symbol, bytes.bytes, sizeof symbol);
        const char *name = string_at(strings, symbol.st_name);
        if (!name)
            continue;
        visit(context,
              &(emu_cubin_kernel){name, a.value, value_of(info, ATTRIBUTE_FRAME_SIZE, a.symbol)});
        visited++;
    }
    return visited;
}
