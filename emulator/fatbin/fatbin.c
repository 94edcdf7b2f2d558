/* SPDX-License-Identifier: Apache-2.0
 *
 * The fat-binary reader. Every size that the bytes claim is held against the bytes that are there
 * before it is used; fatbin.h has the layout.
 */
#include "emulator/fatbin/fatbin.h"
#include <lz4.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243B1u
#define FLAG_DEBUG    0x2u
#define FLAG_LZ4      0x2000u
#define FLAG_ZSTD     0x8000u
#define EXPANDED_MAX  ((uint64_t)1 << 30)

enum { CONTAINER_HEADER = 16, ENTRY_HEADER = 64 };

static emu_status fail(emu_fault *fault, emu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static emu_status fail(emu_fault *fault, emu_status status, const char *format, ...) {
    if (!fault)
        return status;
    va_list arguments;
    *fault = (emu_fault){.status = status};
    va_start(arguments, format);
    vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return status;
}

static uint16_t read16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t read32(const uint8_t *p) {
    return read16(p) | (uint32_t)read16(p + 2) << 16;
}

static uint64_t read64(const uint8_t *p) {
    return read32(p) | (uint64_t)read32(p + 4) << 32;
}

void emu_fatbin_free(emu_fatbin *fatbin) {
    free(fatbin->images);
    *fatbin = (emu_fatbin){0};
}

/* ---- Containers -------------------------------------------------------------------------------
 */

static emu_status append(emu_fatbin *fatbin, emu_image image, emu_fault *fault) {
    if ((fatbin->count & (fatbin->count - 1)) == 0) { /* full at every power of two */
        size_t capacity = fatbin->count ? fatbin->count * 2 : 1;
        emu_image *images = realloc(fatbin->images, capacity * sizeof *images);
        if (!images)
            return fail(fault, EMU_OUT_OF_MEMORY, "fat binary: no memory for %zu images", capacity);
        fatbin->images = images;
    }
    fatbin->images[fatbin->count++] = image;
    return EMU_OK;
}

/* One entry at P with LEFT bytes from there to the container's end; *length is what it takes. */
static emu_status read_entry(emu_fatbin *fatbin, const uint8_t *p, uint64_t left, uint64_t *length,
                             emu_fault *fault) {
    if (left < ENTRY_HEADER)
        return fail(fault, EMU_BAD_PTX,
                    "fat binary: an entry's header is cut off (%llu bytes left)",
                    (unsigned long long)left);
    uint64_t header = read32(p + 4), payload = read64(p + 8), compressed = read32(p + 16);
    uint64_t flags = read64(p + 40);
    if (header < ENTRY_HEADER || header > left || payload > left - header || compressed > payload)
        return fail(
            fault, EMU_BAD_PTX,
            "fat binary: an entry claims %llu + %llu bytes (%llu compressed), %llu are there",
            (unsigned long long)header, (unsigned long long)payload, (unsigned long long)compressed,
            (unsigned long long)left);
    *length = header + payload;
    emu_image image = {.kind = (emu_image_kind)read16(p),
                       .arch = (int)(read32(p + 28) & 0xffff),
                       .arch_specific = flags & EMU_FATBIN_ARCH_SPECIFIC,
                       .for_cubin = flags & EMU_FATBIN_FOR_CUBIN,
                       .debug = flags & FLAG_DEBUG,
                       .minor = read16(p + 24),
                       .major = read16(p + 26),
                       .stored = p + header,
                       .stored_size = (size_t)(compressed ? compressed : payload),
                       .container = fatbin->containers};
    if (image.kind != EMU_IMAGE_PTX && image.kind != EMU_IMAGE_ELF)
        return EMU_OK;
    if (compressed && !(flags & (FLAG_LZ4 | FLAG_ZSTD)))
        return fail(fault, EMU_BAD_PTX,
                    "fat binary: an entry is compressed in a way that is not known (flags 0x%llx); "
                    "build with nvcc --compress-mode=balance or -no-compress",
                    (unsigned long long)flags);
    if (compressed)
        image.compression = flags & FLAG_ZSTD ? EMU_ZSTD : EMU_LZ4;
    image.expanded_size = compressed ? read64(p + 56) : payload;
    return append(fatbin, image, fault);
}

emu_status emu_fatbin_add(emu_fatbin *fatbin, const void *data, size_t size, size_t *used,
                          emu_fault *fault) {
    const uint8_t *p = data;
    if (size < CONTAINER_HEADER || read32(p) != EMU_FATBIN_MAGIC || read16(p + 4) != 1)
        return fail(fault, EMU_BAD_PTX, "fat binary: no container (version 1) where one must be");
    uint64_t header = read16(p + 6), entries = read64(p + 8);
    if (header < CONTAINER_HEADER || header > size || entries > size - header)
        return fail(
            fault, EMU_BAD_PTX, "fat binary: a container claims %llu + %llu bytes, %llu are there",
            (unsigned long long)header, (unsigned long long)entries, (unsigned long long)size);
    size_t before = fatbin->count;
    for (uint64_t at = 0, length = 0; at < entries; at += length) {
        emu_status status = read_entry(fatbin, p + header + at, entries - at, &length, fault);
        if (status != EMU_OK) {
            fatbin->count = before;
            if (before == 0) { /* then there may be nobody to free what has grown */
                free(fatbin->images);
                fatbin->images = NULL;
            }
            return status;
        }
    }
    fatbin->containers++;
    if (used)
        *used = (size_t)(header + entries);
    return EMU_OK;
}

static emu_status add_trusted(emu_fatbin *fatbin, const uint8_t *container, emu_fault *fault) {
    return emu_fatbin_add(fatbin, container, SIZE_MAX - (uintptr_t)container, NULL, fault);
}

emu_status emu_fatbin_add_wrapper(emu_fatbin *fatbin, const void *wrapper, emu_fault *fault) {
    struct {
        uint32_t magic, version;
        const uint8_t *container;
        const uint8_t *const *further;
    } w;
    if (!wrapper)
        return fail(fault, EMU_BAD_PTX, "fat binary: no wrapper");
    memcpy(&w, wrapper, sizeof w);
    if (w.magic != WRAPPER_MAGIC || (w.version != 1 && w.version != 2))
        return fail(fault, EMU_BAD_PTX,
                    "fat binary: wrapper has magic 0x%x, version %u; known are "
                    "0x%x, versions 1 and 2",
                    w.magic, w.version, WRAPPER_MAGIC);
    emu_status status = w.container ? add_trusted(fatbin, w.container, fault) : EMU_OK;
    for (size_t i = 0; status == EMU_OK && w.version == 2 && w.further && w.further[i]; i++)
        status = add_trusted(fatbin, w.further[i], fault);
    return status;
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

static bool runs_on(const emu_image *image, int cc) {
    if (image->arch_specific)
        return image->arch == cc;
    return image->arch <= cc &&
           ((image->kind == EMU_IMAGE_PTX && !image->for_cubin) || image->arch / 10 == cc / 10);
}

const emu_image *emu_fatbin_best(const emu_fatbin *fatbin, uint32_t container, emu_image_kind kind,
                                 int cc) {
    const emu_image *best = NULL;
    for (size_t i = 0; i < fatbin->count; i++) {
        const emu_image *image = &fatbin->images[i];
        if (image->container != container || image->kind != kind || !runs_on(image, cc))
            continue;
        if (!best || image->arch > best->arch ||
            (image->arch == best->arch && image->arch_specific && !best->arch_specific))
            best = image;
    }
    return best;
}

/* ---- Expansion --------------------------------------------------------------------------------
 */

static bool expand_into(const emu_image *image, char *bytes, size_t size, size_t *length) {
    if (image->compression == EMU_RAW) {
        memcpy(bytes, image->stored, size);
        *length = size;
        return true;
    }
    if (image->compression == EMU_LZ4) {
        if (image->stored_size > INT32_MAX)
            return false;
        int n = LZ4_decompress_safe((const char *)image->stored, bytes, (int)image->stored_size,
                                    (int)size);
        *length = n > 0 ? (size_t)n : 0;
        return n > 0;
    }
    size_t n = ZSTD_decompress(bytes, size, image->stored, image->stored_size);
    *length = ZSTD_isError(n) ? 0 : n;
    return !ZSTD_isError(n);
}

emu_status emu_image_expand(const emu_image *image, char **bytes, size_t *length,
                            emu_fault *fault) {
    const char *what = image->kind == EMU_IMAGE_PTX ? "PTX" : "cubin";
    if (image->expanded_size == 0 || image->expanded_size > EXPANDED_MAX)
        return fail(fault, EMU_BAD_PTX, "fat binary: the %s for sm_%d claims %llu bytes expanded",
                    what, image->arch, (unsigned long long)image->expanded_size);
    char *block = malloc((size_t)image->expanded_size + 1);
    if (!block)
        return fail(fault, EMU_OUT_OF_MEMORY, "fat binary: no memory for %llu bytes of %s",
                    (unsigned long long)image->expanded_size, what);
    size_t n = 0;
    if (!expand_into(image, block, (size_t)image->expanded_size, &n)) {
        free(block);
        return fail(fault, EMU_BAD_PTX, "fat binary: the %s for sm_%d does not decompress (%s)",
                    what, image->arch, image->compression == EMU_LZ4 ? "LZ4" : "zstd");
    }
    block[n] = 0;
    *bytes = block;
    *length = image->kind == EMU_IMAGE_PTX ? strlen(block) : n;
    return EMU_OK;
}
