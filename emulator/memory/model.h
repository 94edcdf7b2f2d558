/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that turn exact counts into the two things an emulated device cannot observe: how many
 * blocks an SM holds (occupancy) and how long a launch would take (time). Pure functions.
 *
 * Occupancy follows the rules of the CUDA programming guide (section "Compute Capabilities") and
 * of the occupancy calculator: registers are given out per warp in units of 256, warps in units of
 * 4 to the SM's sub-partitions, shared memory in units of 128 bytes (256 before compute capability
 * 8) with 1 KiB kept back per block from compute capability 8 on.
 *
 * Time is the largest ceiling time plus a stated launch overhead. Every ceiling time is work /
 * peak; work inside the SMs is spread as blocks are (block b on SM b mod sm_count), so the SM with
 * the most blocks sets it: that is the wave quantisation. A rate that the device spec does not know
 * (0) is left out. Latency, dependencies and imbalance are not modelled: the time is a bound, never
 * a measurement.
 */
#ifndef EMU_MEMORY_MODEL_H
#define EMU_MEMORY_MODEL_H

#include "emulator/emulator.h"

/* Time from the start of a launch to its first instruction and from its last to completion, as
 * seen by events around an empty kernel on current devices: a round figure, stated, not measured.
 */
#define EMU_LAUNCH_OVERHEAD_S 2.0e-6

typedef struct emu_occupancy_query {
    uint32_t threads_per_block;
    uint32_t registers_per_thread;
    uint32_t static_shared_bytes, dynamic_shared_bytes;
} emu_occupancy_query;

typedef struct emu_occupancy {
    uint32_t blocks_per_sm; /* 0: the block does not fit */
    uint32_t warps_per_block;
    uint32_t shared_bytes_per_block; /* as allocated, the kept-back part included */
    double theoretical;              /* resident warps / maximum; 0..1 */
    const char *limiter;             /* "registers", "shared", "threads", "blocks"; static */
} emu_occupancy;

/* How many blocks of a kernel one SM holds. Limits that SPEC does not know (0) do not limit. */
emu_occupancy emu_model_occupancy(const emu_device_spec *spec, const emu_occupancy_query *query);

/* Bytes of shared memory that the runtime keeps back per block on this device. */
uint32_t emu_model_reserved_shared(const emu_device_spec *spec);

/* The part of the unified L1/shared memory that is left to L1 when BLOCKS blocks of SHARED bytes
 * each are resident: the carve-out is the smallest of the device's steps that holds them. 0 where
 * the size of the unified memory is not known. */
uint32_t emu_model_l1_bytes(const emu_device_spec *spec, uint32_t shared_per_block,
                            uint32_t blocks);

/* Fills the occupancy fields (occupancy_theoretical, waves, blocks_per_sm, occupancy_limiter) of
 * COUNTS for a launch of BLOCKS blocks. */
void emu_model_fill_occupancy(const emu_device_spec *spec, const emu_occupancy *occupancy,
                              uint64_t blocks, emu_counts *counts);

/* Fills time_s and time_bound of COUNTS from its other fields for a launch of BLOCKS blocks.
 * time_bound is one of "fp64", "fp32", "fp16", "int32", "special", "tensor", "issue", "dram", "l2",
 * "l1", "shared", "latency" (nothing took as long as the overhead). */
void emu_model_fill_time(const emu_device_spec *spec, uint64_t blocks, emu_counts *counts);

#endif
