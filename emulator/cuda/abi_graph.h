/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of graph nodes as the driver's interface has them, where they are not the runtime's
 * (emulator/cudart/abi_graph.h). tests/unit/emu_doors/abi_driver.c holds them against a toolkit's
 * own header where there is one.
 */
#ifndef EMU_CUDA_ABI_GRAPH_H
#define EMU_CUDA_ABI_GRAPH_H

#include "emulator/cuda/abi.h"
#include "emulator/cudart/abi_graph.h"

typedef struct driver_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2; version 1 ends before KERNEL */
    cudaKernelNodeParams params;    /* func: a CUfunction */
    void *kernel, *context;
} driver_kernel_node;

typedef struct driver_memcpy_node {
    int flags, reserved;
    void *context;
    driver_memcpy3d copy;
} driver_memcpy_node;

typedef struct driver_node { /* CUgraphNodeParams */
    int type, reserved[3];
    union {
        long long room[29];
        driver_kernel_node kernel;
        driver_memcpy_node memcpy;
        cudaMemsetParams fill; /* and a context */
        cudaHostNodeParams host;
        cudaChildGraphNodeParams graph;
        cudaEvent_t event;
        cudaMemAllocNodeParams alloc;
        void *free;
    } as;
    long long reserved_2;
} driver_node;

#endif
