/* SPDX-License-Identifier: Apache-2.0
 *
 * A Chrome trace as PyTorch's profiler (Kineto) writes it, taken apart as a stream: header facts,
 * devices and one complete event after the other. Memory does not grow with the file. What an event
 * means is for kineto.c. Private to importers.
 */
#ifndef RP_IMPORTERS_TRACE_H
#define RP_IMPORTERS_TRACE_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_TRACE_ABSENT = -1 };

typedef struct rp_trace_event {
    const char *name; /* bytes, NUL-terminated; "" if absent */
    size_t name_length;
    const char *category, *phase;          /* "" if absent; the first 31 bytes */
    const char *collective, *element_type; /* NCCL's "Collective name" and "dtype" */
    bool has_time, has_duration;           /* both were numbers */
    int64_t time_ns;                       /* "ts", relative to the trace's base */
    int64_t duration_ns;
    double duration_s;
    bool fractional; /* ts or dur had a fraction: the clock is finer than 1 us */
    /* integers, RP_TRACE_ABSENT where the event has none */
    int64_t pid, tid, device, context, stream, correlation, registers, shared, bytes, graph_node;
    int64_t in_elements, out_elements, group_size;
    double occupancy;          /* "est. achieved occupancy %" / 100; NaN */
    int64_t grid[3], block[3]; /* 0 absent */
    unsigned grid_n, block_n;  /* how many were given */
} rp_trace_event;

typedef struct rp_trace_device {
    char name[128];                                         /* "" not known */
    int64_t id, memory_bytes, cc_major, cc_minor, sm_count; /* -1 not known */
} rp_trace_device;

typedef struct rp_trace_header {
    int64_t base_ns; /* baseTimeNanoseconds; 0 none */
    int64_t rank;    /* -1 not known */
    bool truncated;  /* the file ends before the JSON does */
    uint64_t events, not_numbers;
} rp_trace_header;

typedef struct rp_trace_reader {
    /* Any may be NULL. The event lives until the call returns. */
    rp_code (*event)(void *context, const rp_trace_event *event, rp_error *error);
    rp_code (*device)(void *context, const rp_trace_device *device, rp_error *error);
    void *context;
} rp_trace_reader;

/* Reads the whole file, plain or gzip. JSON that ends too early is RP_OK with header->truncated;
 * JSON that is wrong in the middle is RP_INPUT with the place. */
rp_code rp_trace_read(const char *path, const rp_trace_reader *reader, rp_trace_header *header,
                      rp_error *error);

#endif
