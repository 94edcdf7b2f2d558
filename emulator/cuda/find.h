/* SPDX-License-Identifier: Apache-2.0
 *
 * How the driver's, CUPTI's and NVML's doors find the runtime's: each is a library of its own.
 */
#ifndef EMU_CUDA_FIND_H
#define EMU_CUDA_FIND_H

#include "emulator/cudart/observe.h"

/* The tables of the runtime's doors in this process, version 13's first; if there is none, the one
 * beside the library that this is linked into is loaded. Returns how many. */
int emu_find_doors(const emu_doors *found[2]);

#endif
