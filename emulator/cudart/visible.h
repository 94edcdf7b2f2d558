/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a machine's devices a process sees, and in what order: CUDA_VISIBLE_DEVICES, read as the
 * real driver reads it.
 */
#ifndef EMU_CUDART_VISIBLE_H
#define EMU_CUDART_VISIBLE_H

enum { EMU_UUID_TEXT = 41 };

/* The UUID of the machine's device number PHYSICAL: its 16 bytes say that it is emulated. TEXT (may
 * be NULL): "GPU-656d756c-…", as NVML prints it. */
void emu_device_uuid(int physical, char bytes[16], char text[EMU_UUID_TEXT]);

/* LIST: numbers, or UUIDs ("GPU-…", as much of it as is needed to tell it from the others), with
 * commas between them; NULL: it is not set, all are visible. The first entry that names no device
 * ends it; one that names a device again hides all. Fills ORDER with the COUNT machine devices,
 * those that are visible first, and returns how many these are. */
int emu_visible_devices(const char *list, int count, int order[]);

#endif
