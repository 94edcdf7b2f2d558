/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries: what nvcc embeds in a program. A container holds entries (images), each PTX text or
 * a cubin for one architecture, stored raw, as an LZ4 block or as a zstd frame. Layout, all
 * little-endian:
 *
 *   container: u32 0xBA55ED50, u16 version 1, u16 header size (16), u64 size of all entries
 *   entry:     +0 u16 kind (1 PTX, 2 ELF), +4 u32 header size, +8 u64 payload size as stored
 *              (padded to 8), +16 u32 compressed size (0: raw), +24 u16 minor, +26 u16 major,
 *              +28 u32 architecture (75, 90 ...), +40 u64 flags, +56 u64 uncompressed size
 *   wrapper:   u32 0x466243B1, u32 version (1, 2), pointer to a container, pointer to (version 2,
 *              separate compilation) a NULL-terminated array of pointers to further containers
 *
 * The readers of bytes (emu_fatbin_add, emu_image_expand, emu_cubin_*) take any bytes at all: what
 * does not fit is refused with a sentence. Images point into the caller's bytes, which must outlive
 * them.
 */
#ifndef EMU_FATBIN_FATBIN_H
#define EMU_FATBIN_FATBIN_H

#include "emulator/emulator.h"

#define EMU_FATBIN_MAGIC         0xBA55ED50u
#define EMU_FATBIN_ARCH_SPECIFIC 0x100000u
/* A flag of our own, in none of nvcc's: the entry is PTX that stands for a cubin (NVRTC's door),
 * and runs where the cubin would. */
#define EMU_FATBIN_FOR_CUBIN (1ull << 63)

typedef enum emu_image_kind { EMU_IMAGE_PTX = 1, EMU_IMAGE_ELF = 2 } emu_image_kind;
typedef enum emu_compression { EMU_RAW, EMU_LZ4, EMU_ZSTD } emu_compression;

typedef struct emu_image {
    emu_image_kind kind;
    int arch;           /* 75, 90, 120 */
    bool arch_specific; /* sm_90a: runs on that architecture alone */
    bool for_cubin;     /* PTX in the place of a cubin: runs where that would */
    bool debug;
    int major, minor; /* version of the PTX language or of the ELF ABI */
    emu_compression compression;
    const uint8_t *stored;
    size_t stored_size;     /* without padding */
    uint64_t expanded_size; /* as claimed; raw: stored_size */
    uint32_t container;     /* which container of the fat binary it came from, from 0 */
} emu_image;

typedef struct emu_fatbin {
    emu_image *images;
    size_t count;
    uint32_t containers;
} emu_fatbin; /* all zero: empty */

void emu_fatbin_free(emu_fatbin *fatbin);

/* Adds the images of the container at DATA. Kinds of entries that are not known are passed over.
 * *used (may be NULL) is the container's whole length. EMU_BAD_PTX: the bytes are no container, or
 * a size in it lies; EMU_OUT_OF_MEMORY. On failure nothing is added. */
emu_status emu_fatbin_add(emu_fatbin *fatbin, const void *data, size_t size, size_t *used,
                          emu_fault *fault);

/* Adds every container that a wrapper in this process's memory leads to. Its pointers and the sizes
 * in the containers' headers have to be trusted: there is nothing to hold them against. */
emu_status emu_fatbin_add_wrapper(emu_fatbin *fatbin, const void *wrapper, emu_fault *fault);

/* The best image of KIND in CONTAINER for compute capability CC (90): PTX of the highest
 * architecture that is not above it, an arch-specific one only on its own; ELF, and PTX in the
 * place of a cubin, of the same major architecture and not above. NULL: none. */
const emu_image *emu_fatbin_best(const emu_fatbin *fatbin, uint32_t container, emu_image_kind kind,
                                 int cc);

/* The image's bytes, expanded, in a new block that the caller frees, with a NUL behind them; for
 * PTX *length ends before the first NUL. Claims over 1 GiB are refused. */
emu_status emu_image_expand(const emu_image *image, char **bytes, size_t *length, emu_fault *fault);

/* ---- Cubins ---- */

typedef struct emu_cubin_kernel {
    const char *name;     /* mangled; points into the cubin */
    uint32_t registers;   /* per thread; 0 where the cubin does not say */
    uint32_t local_bytes; /* stack frame per thread */
} emu_cubin_kernel;

/* Calls VISIT for every kernel of the ELF image whose registers it can tell: from the .nv.info
 * attributes REGCOUNT and FRAME_SIZE, as `cuobjdump -elf` names them. Bytes that make no sense are
 * passed over. Returns how many were visited. */
size_t emu_cubin_visit(const void *elf, size_t size,
                       void (*visit)(void *context, const emu_cubin_kernel *kernel), void *context);

#endif
