/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool: what the tracer leaves for its parent. One append-only file a process, a sequence of
 * frames, each with its length and a CRC, so that whatever is on the disk when the program dies can
 * be read up to the last whole frame. This header is all that the tracer shares with the rest of
 * roofprof. Little-endian, x86-64 and AArch64 alike.
 *
 * Times are CLOCK_MONOTONIC nanoseconds, tied to the wall clock by SPOOL_CLOCK frames. Names and
 * configs are written once, before the first record that refers to them, and numbered from 0.
 */
#ifndef RP_TRACER_SPOOL_H
#define RP_TRACER_SPOOL_H

#include <stdint.h>

#define SPOOL_MAGIC   0x4C505352u /* "RSPL" */
#define SPOOL_VERSION 1u
#define SPOOL_SUFFIX  ".spool"
#define SPOOL_NONE    0xFFFFFFFFu /* no range, no name */
/* A longer frame is not one: names are at most 1 MiB, batches far less. */
#define SPOOL_FRAME_LIMIT (4u << 20)

typedef enum spool_type {
    SPOOL_HEADER = 1, /* spool_header, then host, program and tracer version, NUL-terminated each */
    SPOOL_NAME,       /* u32 id, then the bytes */
    SPOOL_CONFIG,     /* spool_config */
    SPOOL_KERNELS,    /* spool_kernel[] */
    SPOOL_NODES,      /* spool_node[]: kernels of CUDA graphs */
    SPOOL_COPIES,     /* spool_copy[] */
    SPOOL_MEMORY,     /* spool_memory[] */
    SPOOL_RANGE,      /* spool_range: a closed NVTX range */
    SPOOL_LAUNCHES,   /* spool_launch[]: which range a correlation id was launched in */
    SPOOL_DEVICE,     /* spool_device, then name, NUL-terminated */
    SPOOL_STATUS,     /* spool_status, then a text, NUL-terminated */
    SPOOL_LOST,       /* spool_lost */
    SPOOL_CLOCK,      /* spool_clock */
    SPOOL_COUNTERS,   /* spool_counters, then double[] */
    SPOOL_METRICS,    /* spool_metrics, then its configuration's name and COUNT metric names,
                         NUL-terminated each */
    SPOOL_END,        /* the program ended and everything is here */
    SPOOL_SELECTED,   /* u32[]: correlation ids. If there is one such frame, launches whose id is in
                         none were not asked for */
    SPOOL_COUNTED,    /* spool_counted: what counting did so far */
    SPOOL_NODE_COUNTERS /* spool_node_counters, then double[] */
} spool_type;

typedef struct spool_frame {
    uint32_t magic;
    uint16_t type, zero;
    uint32_t length; /* of the payload that follows */
    uint32_t crc;    /* CRC-32 (IEEE 802.3) of type, zero, length and the payload */
} spool_frame;

typedef struct spool_header {
    uint32_t version, pid, parent;
    int32_t rank; /* -1 no launcher */
    int64_t start_ns, wall_ns;
} spool_header;

typedef struct spool_clock {
    int64_t monotonic_ns, wall_ns;
    int64_t cupti_ns; /* CUPTI's clock at the same moment, where its records are not monotonic
                         already (before CUDA 11.6); else 0 */
} spool_clock;

/* Kernel name, shape, device and context: what launches have in common. */
typedef struct spool_config {
    uint32_t id, name, device, context;
    uint32_t grid[3], block[3];
    uint32_t shared_static, shared_dynamic, local_per_thread;
    uint32_t registers;
} spool_config;

typedef struct spool_kernel { /* 28 bytes: a run has millions */
    uint32_t start_low, start_high, end_low, end_high;
    uint32_t config, correlation, stream;
} spool_kernel;

typedef struct spool_node {
    spool_kernel kernel;
    uint32_t graph;
    uint64_t node;
} spool_node;

typedef struct spool_copy {
    uint64_t start_ns, end_ns, bytes;
    uint32_t device, stream, correlation;
    uint8_t kind; /* CUPTI's copy kind; SPOOL_COPY_MEMSET */
    uint8_t source, destination, zero;
} spool_copy;
#define SPOOL_COPY_MEMSET 255

typedef struct spool_memory {
    uint64_t time_ns, address, bytes;
    uint32_t device;
    uint8_t operation; /* CUPTI's: 1 allocation, 2 release */
    uint8_t kind;      /* CUPTI's memory kind; pools: SPOOL_MEMORY_POOL */
    uint16_t zero;
} spool_memory;
#define SPOOL_MEMORY_POOL 255

typedef struct spool_range {
    uint32_t id, parent, name, thread;
    uint64_t start_ns, end_ns; /* end 0: still open when the program ended */
} spool_range;

typedef struct spool_launch {
    uint32_t correlation, range;
} spool_launch;

typedef struct spool_device {
    uint32_t ordinal;
    int32_t cc_major, cc_minor, sm_count, memory_bus_bits, sm_clock_khz, memory_clock_khz;
    int32_t pci_domain, pci_bus, pci_device;
    uint64_t memory_bytes, l2_bytes;
    uint8_t uuid[16];
} spool_device;

/* What the tracer could not do, or what the reader must know: code is a cupti result where there is
 * one, else 0. */
typedef enum spool_stage {
    SPOOL_STAGE_CUPTI_CHOSEN = 1, /* text: the library's path; code: its version */
    SPOOL_STAGE_NO_CUPTI,
    SPOOL_STAGE_SUBSCRIBE,
    SPOOL_STAGE_ENABLE, /* detail: the activity kind */
    SPOOL_STAGE_FLUSH,
    SPOOL_STAGE_MEMORY,
    SPOOL_STAGE_FORKED,
    SPOOL_STAGE_COUNTERS,
    SPOOL_STAGE_CHAIN,      /* the user's own injection library could not be loaded */
    SPOOL_STAGE_CHIP,       /* text: as CUPTI calls it; detail: the device's ordinal; code: 1, it is
                               counted by profiler sessions */
    SPOOL_STAGE_LEFT_OUT,   /* text: a configuration that is not counted, and why */
    SPOOL_STAGE_GRAPH_ORDER /* counted graphs have branches: kernels may have changed places */
} spool_stage;

typedef struct spool_status {
    uint32_t stage, code, detail, zero;
} spool_status;

/* A configuration's metrics, numbered in order; what SPOOL_COUNTERS frames hold values of. */
typedef struct spool_metrics {
    uint32_t id, count, passes, zero;
} spool_metrics;

/* A launch that was counted. Values are CUPTI's, in its units (ns, bytes, cycles); NaN: none. */
typedef struct spool_counters {
    uint32_t metrics, config, correlation, stream;
    uint64_t time_ns; /* of the launch call */
} spool_counters;

typedef struct spool_node_counters { /* of a kernel of a graph */
    spool_counters counters;
    uint64_t node; /* as in spool_node */
} spool_node_counters;

typedef struct spool_counted {
    uint64_t counted;     /* launches */
    uint64_t over_budget; /* left alone, since counting had cost enough */
    uint64_t skipped;     /* collectives and others that must not be serialised */
    uint64_t in_graphs;   /* launches of graphs left alone, since their kernels are not known */
    uint64_t busy;        /* left alone: another thread's counted launch was in the way too long */
    uint64_t lost;        /* counted, but ranges were dropped or did not match launches */
    uint64_t cost_ns;     /* of setting up, stopping, decoding, and of waiting for counted launches
                             beyond the kernels' own time, where that is known */
    uint64_t elapsed_ns;  /* from the first launch to now */
    uint64_t switches;    /* from one configuration to another */
    uint64_t switch_ns;   /* what those took together */
} spool_counted;

typedef struct spool_lost {
    uint64_t dropped;   /* records that CUPTI dropped for want of buffers */
    uint64_t discarded; /* buffers' records that the tracer had no memory for */
    uint64_t unknown;   /* records of kinds that it does not know */
    uint64_t not_asked; /* not lost: of kernels that nobody wants to see */
} spool_lost;

#endif
