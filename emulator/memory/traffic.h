/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory traffic of a launch: the machine hands over each warp-wide access, this module coalesces
 * it into 32-byte sectors and 128-byte lines, counts requests, bytes, bank conflicts and wavefronts,
 * and drives the L1 and L2 cache models.
 *
 * Determinism: blocks are dealt to SMs by index (block b runs on SM b mod sm_count, in order of b).
 * One SM is simulated by one host thread at a time, so its L1 sees one order. What L1 passes on is
 * logged per SM, and the logs are applied to L2 in SM order between waves of blocks; L2 may be
 * sliced by address over the workers, each slice in that same order. Counts never depend on how
 * many host threads there are.
 */
#ifndef EMU_MEMORY_TRAFFIC_H
#define EMU_MEMORY_TRAFFIC_H

#include "emulator/emulator.h"

typedef struct emu_traffic emu_traffic;       /* of a device: L2, DRAM, the SMs' L1s */
typedef struct emu_traffic_sm emu_traffic_sm; /* of one SM during a launch */

typedef enum emu_access_op { EMU_LOAD, EMU_STORE, EMU_ATOMIC } emu_access_op; /* red is EMU_ATOMIC */

/* Cache behaviour that the instruction asks for: .ca/default, .cg (L2 only), .cs, .cv/.volatile
 * (not from L1), .nc (read-only path). */
typedef enum emu_access_cache { EMU_CACHE_ALL, EMU_CACHE_L2_ONLY } emu_access_cache;

emu_traffic *emu_traffic_create(const emu_device_spec *spec, const emu_options *options);
void emu_traffic_destroy(emu_traffic *traffic);

/* A launch begins: shared memory takes its part of the unified L1 (SHARED_BYTES per block, BLOCKS
 * resident per SM), cold caches are emptied. */
void emu_traffic_begin(emu_traffic *traffic, uint32_t shared_bytes, uint32_t blocks_per_sm);
emu_traffic_sm *emu_traffic_get_sm(emu_traffic *traffic, int sm);

/* One warp access of BYTES per thread (1, 2, 4, 8, 16, 32) by the threads of MASK. ADDRESS[lane] is
 * the address in SPACE: device address for global (and, made unique per thread by the machine, for
 * local), byte offset in the block's shared memory for shared. Constant, param and texture accesses
 * are counted as requests and bytes only. */
void emu_traffic_access(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                        emu_access_cache cache, uint32_t bytes, uint32_t mask,
                        const uint64_t address[32]);

/* A wave is over: applies the SMs' logs to L2. SLICE of SLICES, to be called from one worker each;
 * all workers must have finished the wave, and none may start the next before all slices are done. */
void emu_traffic_drain(emu_traffic *traffic, int slice, int slices);

/* The launch is over: writes back what it must, adds everything to COUNTS. */
void emu_traffic_end(emu_traffic *traffic, emu_counts *counts);

#endif
