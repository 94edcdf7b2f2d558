/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts file: what a process did on emulated devices, one JSON object a line, appended as it
 * happens, so that a process that dies keeps what was done. docs/emulator.md describes the format
 * ("roofprof.emulator.counts/1"); its rules in short: a count that is not in a launch's "counts" is
 * 0, one that is not known is null; times are seconds on the virtual clock; sizes are bytes.
 *
 * One writer a process; calls may come from any thread. A file that can no longer be written is
 * said once on stderr and then left alone: the program goes on.
 */
#ifndef EMU_COUNTS_COUNTS_H
#define EMU_COUNTS_COUNTS_H

#include "emulator/emulator.h"

#define EMU_COUNTS_SCHEMA "roofprof.emulator.counts/1"

typedef struct emu_counts_file emu_counts_file;

typedef struct emu_counts_header {
    const char *program; /* its name, no path, no arguments */
    int cuda_major;      /* which runtime the program was linked with: 12, 13 */
    const emu_options *options;
} emu_counts_header;

/* Creates PATTERN with %p (process id), %h (host name) and %% replaced, and writes the header. NULL
 * with errno set on failure. */
emu_counts_file *emu_counts_open(const char *pattern, const emu_counts_header *header);

void emu_counts_device(emu_counts_file *file, int device, const emu_device_spec *spec,
                       double pcie_bytes_per_s);

typedef struct emu_counts_kernel {
    uint64_t id; /* given by the caller, from 1 */
    int device;
    const emu_kernel_info *info;
    int ptx_target;
} emu_counts_kernel;
void emu_counts_kernel_record(emu_counts_file *file, const emu_counts_kernel *kernel);

typedef struct emu_counts_launch {
    uint64_t id, kernel, stream; /* stream 0: the default stream */
    int device;
    const emu_launch *launch;
    double start_s;
    emu_status status;
    uint32_t graph;           /* executable graph and node that it belongs to; 0: launched alone */
    uint64_t node;
    const char *message;      /* of a failure; NULL */
    const emu_counts *counts; /* NULL: counting was off */
} emu_counts_launch;
void emu_counts_launch_record(emu_counts_file *file, const emu_counts_launch *launch);

typedef struct emu_counts_copy {
    const char *kind; /* "HtoD" "DtoH" "DtoD" "PtoP" "HtoH" "memset" */
    int device;
    uint64_t stream, bytes;
    double start_s, time_s;
    uint32_t graph; /* as of a launch */
    uint64_t node;
} emu_counts_copy;
void emu_counts_copy_record(emu_counts_file *file, const emu_counts_copy *copy);

/* KIND "device" "pinned" "managed" "pool". ALLOCATED false: freed. */
void emu_counts_memory(emu_counts_file *file, int device, const char *kind, bool allocated,
                       uint64_t address, uint64_t bytes, double time_s);
void emu_counts_note(emu_counts_file *file, const char *severity, const char *text);

/* Writes the end record, the last one: FILE stays for threads that still run, and drops what they
 * add. Once a file. */
void emu_counts_end(emu_counts_file *file, double time_s);
/* The same, and frees it. */
void emu_counts_close(emu_counts_file *file, double time_s);
/* Closes without a word: a forked child's copy. */
void emu_counts_abandon(emu_counts_file *file);

const char *emu_status_name(emu_status status);

/* The names under which a launch's counts stand in the file, in the order of the enums. */
extern const char *const emu_precision_names[EMU_PRECISIONS];
extern const char *const emu_space_names[EMU_SPACES];
extern const char *const emu_op_class_names[EMU_OP_CLASSES];

#endif
