/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of what the driver would compile or link, as a program passes them: names and values, of
 * which some are places to write to.
 */
#ifndef EMU_CUDA_LINK_H
#define EMU_CUDA_LINK_H

#include <stddef.h>

typedef struct link_options {
    unsigned count;
    const int *names; /* CUjit_option */
    void **values;
} link_options;

/* Writes what was wrong with this thread's last image into the logs that the options ask for, and
 * that it took no time. */
void jit_report(const link_options *options);

/* The file's bytes, with a NUL behind them, in a new block; NULL: it cannot be read. */
char *driver_read_file(const char *path, size_t *size);

#endif
