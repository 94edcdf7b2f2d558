/* SPDX-License-Identifier: Apache-2.0
 *
 * What device.c and launch.c share: the host threads of a device and the blocks they run. */
#ifndef EMU_MACHINE_DEVICE_H
#define EMU_MACHINE_DEVICE_H

#include "emulator/machine/handlers.h"

typedef struct emu_pool emu_pool;

/* Host threads that launches of DEVICE may use, the caller's included; starts them if need be. */
int emu_device_threads(emu_device *device);
/* Runs WORK on the first WORKERS workers, the caller's thread being one; returns when all are done.
 */
void emu_device_work(emu_device *device, int workers, void (*work)(emu_worker *worker));

void emu_block_free(emu_block *block);

#endif
