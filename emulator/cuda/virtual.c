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
DRIVER_QUERY_TOLD(cuMemAddressReserve, (address, size, alignment, wish, flags),
                  flags ? 1 : memory()->reserve(address, size, alignment, wish), uint64_t *address,
                  size_t size, size_t alignment, uint64_t wish, uint64_t flags)
DRIVER_QUERY_TOLD(cuMemAddressFree, (address, size), memory()->release_address(address, size),
                  uint64_t address, size_t size)
DRIVER_QUERY_TOLD(cuMemCreate, (handle, size, properties, flags),
                  flags ? 1 : memory()->create(handle, size, properties), uint64_t *handle,
                  size_t size, const emu_allocation_properties *properties, uint64_t flags)
DRIVER_QUERY_TOLD(cuMemRelease, (handle), memory()->release(handle), uint64_t handle)
DRIVER_QUERY_TOLD(cuMemMap, (address, size, offset, handle, flags),
                  flags ? 1 : memory()->map(address, size, offset, handle), uint64_t address,
                  size_t size, size_t offset, uint64_t handle, uint64_t flags)
DRIVER_QUERY_TOLD(cuMemUnmap, (address, size), memory()->unmap(address, size), uint64_t address,
                  size_t size)
DRIVER_QUERY_TOLD(cuMemSetAccess, (address, size, list, count),
                  memory()->set_access(address, size, list, count), uint64_t address, size_t size,
                  const emu_access *list, size_t count)
DRIVER_QUERY_TOLD(cuMemGetAccess, (flags, location, address),
                  memory()->get_access(flags, location, address), uint64_t *flags,
                  const emu_location *location, uint64_t address)
DRIVER_QUERY_TOLD(cuMemGetAllocationGranularity, (bytes, properties, option),
                  memory()->granularity(bytes, properties), size_t *bytes,
                  const emu_allocation_properties *properties, int option)
DRIVER_QUERY_TOLD(cuMemRetainAllocationHandle, (handle, address),
                  memory()->retain(handle, (uint64_t)(uintptr_t)address), uint64_t *handle,
                  void *address)
DRIVER_QUERY_TOLD(cuMemGetAllocationPropertiesFromHandle, (properties, handle),
                  memory()->properties(properties, handle), emu_allocation_properties *properties,
                  uint64_t handle)
DRIVER_QUERY_TOLD(cuMemExportToShareableHandle, (shareable, handle, type, flags),
                  memory()->export_handle(shareable, handle, type), void *shareable,
                  uint64_t handle, int type, uint64_t flags)
DRIVER_QUERY_TOLD(cuMemImportFromShareableHandle, (handle, shareable, type),
                  memory()->import_handle(handle, shareable, type), uint64_t *handle,
                  void *shareable, int type)
