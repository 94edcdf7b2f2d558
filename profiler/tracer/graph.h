/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA graphs: which kernels an executable graph launches, in the order in which they run one by
 * one, so that the counters of its launches can be given to them. A graph is looked at where it is
 * made executable or changed, in the callback of that call's end; nothing that is asked of the
 * driver there touches a device.
 *
 * The order is that in which the nodes were added, each after what it depends on. A graph with
 * branches may be run in another: where two different kernels may change places the spool says so,
 * once (SPOOL_STAGE_GRAPH_ORDER).
 */
#ifndef RP_TRACER_GRAPH_H
#define RP_TRACER_GRAPH_H

#include "tracer/cupti_abi.h"
#include "tracer/schedule.h"
#include <stdatomic.h>
#include <stdbool.h>

/* A kernel of an executable graph. */
typedef struct graph_kernel {
    uint32_t config;               /* of names_config */
    uint64_t node;                 /* as in its records (cuptiGetGraphNodeId) */
    const void *handle;            /* the node of the graph that it was made of */
    bool enabled, wanted, skipped; /* switched on; asked for by name; never to be counted */
} graph_kernel;

typedef struct graph_kernels {
    atomic_int references;
    bool known; /* all of them are; else there may be others, or other shapes */
    size_t count;
    graph_kernel at[];
} graph_kernels;

/* Finds the driver's functions. COUNTING: nodes' ids and kernels' devices are wanted too. */
void graph_start(const cupti_api *api, bool counting);

/* The callbacks that must be on. */
extern const uint32_t graph_cbids[], graph_resource_cbids[];
extern const size_t graph_cbid_count, graph_resource_cbid_count;

/* A driver call of graph_cbids begins or ends; a resource callback. */
void graph_call(uint32_t cbid, const callback_data *data);
void graph_resource(uint32_t cbid, const resource_data *data);

/* Of an executable graph that is about to be launched; NULL: nothing is known of it. *KEY: what has
 * been counted of its launches, which stays where it is. Give it back with graph_release. */
graph_kernels *graph_find(const void *exec, launch_key **key);
void graph_release(graph_kernels *kernels);

/* Does a launch into STREAM become a node of a graph? Asked only while captures go on. */
bool graph_is_capturing(void *stream, bool per_thread);

#endif
