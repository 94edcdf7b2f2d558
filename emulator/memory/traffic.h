/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory traffic of a launch: the machine hands over each warp-wide access, this module coalesces
 * it into 32-byte sectors and 128-byte lines, counts requests, bytes, bank conflicts and
 * wavefronts, and drives the L1 and L2 cache models.
 *
 * Determinism: blocks are dealt to SMs by index (block b runs on SM b mod sm_count, in order of b).
 * One SM is simulated by one host thread at a time, so its L1 sees one order. What L1 passes on is
 * logged per SM, and the logs are applied to L2 in SM order between waves of blocks; L2 may be
 * sliced by address over the workers, each slice in that same order. Counts never depend on how
 * many host threads there are.
 *
 * The models, all of them stated so that a reader can disagree:
 * - Sectors: the distinct 32-byte sectors that a warp instruction touches.
 * - L1 wavefronts: one for each distinct 128-byte line of a global, local or texture access.
 * - Shared wavefronts: 32 banks of 4 bytes; accesses of 8 bytes go by half warps, of 16 by quarter
 *   warps; a wavefront serves one word of each bank (any number of threads may read it, or write
 *   it: one wins); atomics on the same word take one each. Bank conflicts: the wavefronts over one
 *   for each such part of the warp that has an active thread.
 * - L1: 128-byte lines of four sectors, 8 ways, LRU, indexed by a rotation hash. Loads allocate.
 *   Stores write through and do not allocate, except to local memory; atomics go to L2.
 * - L2: the device's whole L2, 128-byte lines of four sectors, 16 ways, LRU, write-back, allocate
 * on loads, stores and atomics. A load or an atomic that misses reads the sector from DRAM; a store
 *   does not (byte masks are not modelled: a sector counts as written whole). Atomics count in
 *   l2_write_sectors. The two halves of the L2 of large devices are one here.
 * - DRAM: sectors that L2 misses, and dirty sectors it evicts or, in cold mode, still holds at the
 *   launch's end.
 */
#ifndef EMU_MEMORY_TRAFFIC_H
#define EMU_MEMORY_TRAFFIC_H

#include "emulator/emulator.h"

typedef struct emu_traffic emu_traffic;       /* of a device: L2, DRAM, the SMs' L1s */
typedef struct emu_traffic_sm emu_traffic_sm; /* of one SM during a launch */

typedef enum emu_access_op {
    EMU_LOAD,
    EMU_STORE,
    EMU_ATOMIC
} emu_access_op; /* red is EMU_ATOMIC */

/* Cache behaviour that the instruction asks for: .ca/default, .cg (L2 only), .cs, .cv/.volatile
 * (not from L1), .nc (read-only path). */
typedef enum emu_access_cache { EMU_CACHE_ALL, EMU_CACHE_L2_ONLY } emu_access_cache;

/* NULL: no memory. */
emu_traffic *emu_traffic_create(const emu_device_spec *spec, const emu_options *options);
void emu_traffic_destroy(emu_traffic *traffic);

/* Device memory is [BASE, BASE+SIZE); global accesses outside it go to the host over the bus
 * (host_bytes) and past the cache models. Until this is called everything is device memory. */
void emu_traffic_set_device_range(emu_traffic *traffic, uint64_t base, uint64_t size);
/* Further stretches: device memory as well, or (REMOTE) that of another device, whose accesses go
 * over the links between them (peer_bytes) and past the cache models. Not during a launch. False:
 * no memory. remove takes away those that lie within [BASE, BASE+SIZE). */
bool emu_traffic_add_place(emu_traffic *traffic, uint64_t base, uint64_t size, bool remote);
void emu_traffic_remove_places(emu_traffic *traffic, uint64_t base, uint64_t size);

/* A launch begins: shared memory takes its part of the unified L1 (SHARED_BYTES per block, the
 * kept-back part included, BLOCKS resident per SM). L1 is always empty at the start of a launch, as
 * on the hardware; L2 is empty in cold mode. Counters start at zero. */
void emu_traffic_begin(emu_traffic *traffic, uint32_t shared_bytes, uint32_t blocks_per_sm);
/* May be called from several workers at once, for different SMs. */
emu_traffic_sm *emu_traffic_get_sm(emu_traffic *traffic, int sm);

/* One warp access of BYTES per thread (1, 2, 4, 8, 16, 32) by the threads of MASK. ADDRESS[lane] is
 * the address in SPACE: device address for global (and, made unique per thread by the machine, for
 * local), byte offset in the block's shared memory for shared. Constant and param accesses are
 * counted as requests and bytes only; textures have a function of their own. */
void emu_traffic_access(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                        emu_access_cache cache, uint32_t bytes, uint32_t mask,
                        const uint64_t address[32]);

/* The same for a load or a store by all 32 threads to global or shared memory whose addresses the
 * caller knows to be FIRST + lane * STEP, STEP being BYTES or 0; FIRST is a multiple of BYTES. */
void emu_traffic_access_row(emu_traffic_sm *sm, emu_space space, emu_access_op op,
                            emu_access_cache cache, uint32_t bytes, uint64_t first, uint32_t step);

/* One texture or surface instruction of a warp, whose threads ask for BYTES in all and touch COUNT
 * texels at ADDRESS, none of them across sectors. Sectors and lines are counted once for the whole
 * warp, as for global memory; loads go through L1, stores past it. */
void emu_traffic_texture(emu_traffic_sm *sm, emu_access_op op, uint64_t bytes,
                         const uint64_t *address, unsigned count);

/* True when SM's log has grown so long that its blocks should pause (at any warp boundary) until
 * the next drain: that is what bounds the memory of a kernel whose only wave runs for hours. It
 * depends on the SM's own accesses alone, so pausing on it keeps counts independent of host
 * threads. A machine that never asks still counts right, until the logs of all SMs exceed 4 GiB:
 * then the launch's cache counts are given up (caches_valid is false). */
bool emu_traffic_log_full(const emu_traffic_sm *sm);

/* A wave is over: applies the SMs' logs to L2, 256 entries of each SM in turn. SLICE of SLICES, to
 * be called from one worker each; all workers must have finished the wave, and none may start the
 * next before all slices are done. */
void emu_traffic_drain(emu_traffic *traffic, int slice, int slices);

/* The launch is over: drains what is left, writes back dirty lines (cold mode), and adds to COUNTS
 * load_, store_ and atomic_bytes, _requests and _sectors, shared_wavefronts, shared_bank_conflicts,
 * l1_wavefronts and the cache fields. */
void emu_traffic_end(emu_traffic *traffic, emu_counts *counts);

#endif
