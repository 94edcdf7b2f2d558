/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of memory accesses that are off the fast path, compiled once: faults, lanes in several
 * allocations, local memory. */
#include "emulator/machine/machine.h"

#include <stdalign.h>

static const char *const space_names[EMU_SPACES] = {[EMU_GLOBAL] = "global",
                                                    [EMU_SHARED] = "shared",
                                                    [EMU_LOCAL] = "local",
                                                    [EMU_CONSTANT] = "constant",
                                                    [EMU_PARAM] = "parameter"};

/* The first lane that is misaligned or outside of [LOW, LOW + LIMIT] is the one to report. */
int emu_report_lane(emu_warp *w, const emu_op *o, int space, const uint64_t *address, uint64_t low,
                    uint64_t limit, uint32_t bytes) {
    for (uint32_t left = w->mask, l; left && (l = (uint32_t)__builtin_ctz(left), 1);
         left &= left - 1) {
        if (address[l] & (bytes - 1))
            return emu_fault_lane(w, o, (int)l, EMU_MISALIGNED, address[l],
                                  "%s address 0x%llx is not aligned to the %u bytes accessed",
                                  space_names[space], (unsigned long long)address[l], bytes);
        if (address[l] - low > limit || limit >> 63)
            return emu_fault_lane(
                w, o, (int)l, EMU_ILLEGAL_ADDRESS, address[l],
                "%u bytes at %s address 0x%llx are outside of the %llu bytes there", bytes,
                space_names[space], (unsigned long long)address[l],
                (unsigned long long)(limit + bytes));
    }
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_ADDRESS, address[0],
                          "illegal %s access", space_names[space]);
}

/* Global lanes that are not all in the range this op used last: each is looked up. */
int emu_search_ranges(emu_warp *w, const emu_op *o, const uint64_t *lanes, uint32_t bytes) {
    emu_worker *k = w->worker;
    emu_range *range = &k->range[o->memory];
    for (uint32_t left = w->mask, l; left && (l = (uint32_t)__builtin_ctz(left), 1);
         left &= left - 1) {
        uint64_t address = lanes[l];
        if (address & (bytes - 1))
            return emu_report_lane(w, o, EMU_GLOBAL, lanes, 0, UINT64_MAX >> 1, bytes);
        if (address - range->base < range->size && range->size - (address - range->base) >= bytes)
            continue;
        emu_range found;
        if (!emu_memory_range(k->device, address, &found))
            return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, address,
                                  "global address 0x%llx is outside of every allocation",
                                  (unsigned long long)address);
        if (found.size - (address - found.base) < bytes)
            return emu_fault_lane(w, o, (int)l, EMU_ILLEGAL_ADDRESS, address,
                                  "%u bytes at global address 0x%llx run past the end of an "
                                  "allocation of %llu bytes at 0x%llx",
                                  bytes, (unsigned long long)address,
                                  (unsigned long long)found.size, (unsigned long long)found.base);
        *range = found;
    }
    return 0;
}

/* What the memory model sees of local memory: 4-byte words of the lanes of a warp lie side by side.
 */
void emu_count_local(emu_warp *w, const emu_op *o, emu_access_op access, uint32_t bytes,
                     const uint64_t *address) {
    if (!w->worker->counting)
        return;
    alignas(32) uint64_t place[WARP];
    for (uint32_t l = 0; l < WARP; l++)
        place[l] = w->local_id + (address[l] / bytes * WARP + l) * bytes;
    emu_traffic_access(w->worker->sm, EMU_LOCAL, access,
                       o->flags & OP_L2_ONLY ? EMU_CACHE_L2_ONLY : EMU_CACHE_ALL, bytes, w->mask,
                       place);
}
