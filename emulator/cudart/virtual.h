/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: addresses that are reserved, memory that is made, and the two put together. The
 * driver's door alone exports it (cuMem*, emulator/cuda/virtual.c), through one table, since
 * devices and copies must know what is mapped where. Functions return the runtime's error codes;
 * their arguments are those of the driver's functions of the same name.
 *
 * Made memory is a file in memory, mapped where it is asked for, so that the same may be mapped
 * twice and handed to another process. Unlike a block of cudaMalloc it holds zeros.
 */
#ifndef EMU_CUDART_VIRTUAL_H
#define EMU_CUDART_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_location {
    int type; /* 1: a device */
    int id;
} emu_location;

typedef struct emu_allocation_properties {
    int type;         /* 1: pinned, there is no other */
    int handle_types; /* bits; 1: file descriptor */
    emu_location location;
    void *win32;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
} emu_allocation_properties;

typedef struct emu_access {
    emu_location location;
    int flags; /* 0 none, 1 read, 3 read and write */
} emu_access;

typedef struct emu_virtual {
    int (*reserve)(uint64_t *address, size_t size, size_t alignment, uint64_t wish);
    int (*release_address)(uint64_t address, size_t size);
    int (*create)(uint64_t *handle, size_t size, const emu_allocation_properties *properties);
    int (*release)(uint64_t handle);
    int (*map)(uint64_t address, size_t size, size_t offset, uint64_t handle);
    int (*unmap)(uint64_t address, size_t size);
    int (*set_access)(uint64_t address, size_t size, const emu_access *list, size_t count);
    int (*get_access)(uint64_t *flags, const emu_location *location, uint64_t address);
    int (*granularity)(size_t *bytes, const emu_allocation_properties *properties);
    int (*retain)(uint64_t *handle, uint64_t address);
    int (*properties)(emu_allocation_properties *properties, uint64_t handle);
    int (*export_handle)(void *shareable, uint64_t handle, int type);
    int (*import_handle)(uint64_t *handle, void *shareable, int type);
} emu_virtual;

extern const emu_virtual door_virtual;

struct door_place;
struct door_device;
/* The stretch of mapped memory around an address that some device may reach, however many mappings
 * it is made of. False: there is none. */
bool door_virtual_find(uint64_t address, struct door_place *place);
/* A device is about to go: nothing is accessible to it any more. */
void door_virtual_forget(struct door_device *device);

#endif
