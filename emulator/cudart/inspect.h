/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at a program before it is run on an emulated device: can it work, and if not, what has to
 * be done about it. Reads the ELF file only (any bytes at all), runs nothing.
 */
#ifndef EMU_CUDART_INSPECT_H
#define EMU_CUDART_INSPECT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct emu_inspection {
    bool elf;                    /* false: a script, or no program at all */
    bool fatbin;                 /* device code is embedded (.nv_fatbin, .nvFatBinSegment) */
    int cudart;                  /* major version of the shared runtime it needs; 0 none */
    bool driver;                 /* it needs libcuda.so.1 */
    bool ptx;                    /* PTX is embedded */
    int ptx_lowest, ptx_highest; /* architectures of the PTX: 75 ...; 0 none */
    char sass[128];              /* architectures of the cubins: "75 80 90" */
    char libraries[256];         /* libraries it needs that do not run on an emulated device */
} emu_inspection;

typedef enum emu_verdict {
    EMU_RUNS,          /* nothing speaks against it */
    EMU_UNDECIDED,     /* a script, or device code only in libraries or none: try */
    EMU_STATIC_CUDART, /* the runtime is inside the program */
    EMU_NO_PTX,
    EMU_NEEDS_LIBRARY
} emu_verdict;

/* False with errno set if the file cannot be read. */
bool emu_inspect(const char *path, emu_inspection *inspection);

/* CC: compute capability of the device to emulate (90). Where the verdict is neither EMU_RUNS nor
 * EMU_UNDECIDED, MESSAGE says what is wrong and the exact flags that help. */
emu_verdict emu_inspect_judge(const emu_inspection *inspection, const char *program, int cc,
                              char *message, size_t size);

#endif
