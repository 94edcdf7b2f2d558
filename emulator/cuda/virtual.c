/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory through the driver's door: what it means is in emulator/cudart/virtual.h.
 */
#include "emulator/cudart/virtual.h"
#include "emulator/cuda/driver.h"

static const emu_virtual *memory(void) {
    return driver_doors()->virtual_memory;
}

/* Addresses, for their alignment and the wish where to be. Flags: none are defined. */
DRIVER_QUERY(cuMemAddressReserve, flags ? 1 : memory()->reserve(address, size, alignment, wish),
             uint64_t *address, size_t size, size_t alignment, uint64_t wish, uint64_t flags)
DRIVER_QUERY(cuMemAddressFree, memory()->release_address(address, size), uint64_t address,
             size_t size)
DRIVER_QUERY(cuMemCreate, flags ? 1 : memory()->create(handle, size, properties), uint64_t *handle,
             size_t size, const emu_allocation_properties *properties, uint64_t flags)
DRIVER_QUERY(cuMemRelease, memory()->release(handle), uint64_t handle)
DRIVER_QUERY(cuMemMap, flags ? 1 : memory()->map(address, size, offset, handle), uint64_t address,
             size_t size, size_t offset, uint64_t handle, uint64_t flags)
DRIVER_QUERY(cuMemUnmap, memory()->unmap(address, size), uint64_t address, size_t size)
DRIVER_QUERY(cuMemSetAccess, memory()->set_access(address, size, list, count), uint64_t address,
             size_t size, const emu_access *list, size_t count)
DRIVER_QUERY(cuMemGetAccess, memory()->get_access(flags, location, address), uint64_t *flags,
             const emu_location *location, uint64_t address)
DRIVER_QUERY(cuMemGetAllocationGranularity, memory()->granularity(bytes, properties), size_t *bytes,
             const emu_allocation_properties *properties, int option)
DRIVER_QUERY(cuMemRetainAllocationHandle, memory()->retain(handle, (uint64_t)(uintptr_t)address),
             uint64_t *handle, void *address)
DRIVER_QUERY(cuMemGetAllocationPropertiesFromHandle, memory()->properties(properties, handle),
             emu_allocation_properties *properties, uint64_t handle)
DRIVER_QUERY(cuMemExportToShareableHandle, memory()->export_handle(shareable, handle, type),
             void *shareable, uint64_t handle, int type, uint64_t flags)
DRIVER_QUERY(cuMemImportFromShareableHandle, memory()->import_handle(handle, shareable, type),
             uint64_t *handle, void *shareable, int type)
