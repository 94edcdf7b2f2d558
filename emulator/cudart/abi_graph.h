/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the CUDA runtime's binary interface that graphs and stream capture need, written down
 * from its public documentation like abi.h. The driver's structures are in emulator/cuda/graph.c.
 */
#ifndef EMU_CUDART_ABI_GRAPH_H
#define EMU_CUDART_ABI_GRAPH_H

#include "emulator/cudart/abi.h"

typedef struct door_graph *cudaGraph_t;
typedef struct door_node *cudaGraphNode_t;
typedef struct door_exec *cudaGraphExec_t;
typedef struct door_user_object *cudaUserObject_t;
typedef void (*cudaHostFn_t)(void *data);

typedef enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel,
    cudaGraphNodeTypeMemcpy,
    cudaGraphNodeTypeMemset,
    cudaGraphNodeTypeHost,
    cudaGraphNodeTypeGraph,
    cudaGraphNodeTypeEmpty,
    cudaGraphNodeTypeWaitEvent,
    cudaGraphNodeTypeEventRecord,
    cudaGraphNodeTypeExtSemaphoreSignal,
    cudaGraphNodeTypeExtSemaphoreWait,
    cudaGraphNodeTypeMemAlloc,
    cudaGraphNodeTypeMemFree,
    cudaGraphNodeTypeConditional = 13
} cudaGraphNodeType;

typedef enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
} cudaStreamCaptureStatus;

typedef enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
} cudaStreamCaptureMode;

enum { /* flags */
       cudaStreamAddCaptureDependencies = 0,
       cudaStreamSetCaptureDependencies = 1,
       cudaEventRecordExternal = 1,
       cudaEventWaitExternal = 1,
       cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
       cudaGraphInstantiateFlagUpload = 2,
       cudaGraphInstantiateFlagDeviceLaunch = 4,
       cudaGraphInstantiateFlagUseNodePriority = 8,
       cudaGraphUserObjectMove = 1
};

typedef struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
} cudaKernelNodeParams;

typedef struct cudaMemsetParams {
    void *dst;
    size_t pitch; /* only of several rows */
    unsigned value, elementSize;
    size_t width, height; /* in elements, in rows */
} cudaMemsetParams;

typedef struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
} cudaHostNodeParams;

typedef struct cudaMemAllocNodeParams {
    cudaMemPoolProps poolProps;
    const cudaMemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr; /* out */
} cudaMemAllocNodeParams;

typedef struct cudaMemcpyNodeParams {
    int flags, reserved[3];
    cudaMemcpy3DParms copyParams;
} cudaMemcpyNodeParams;

typedef struct cudaChildGraphNodeParams {
    cudaGraph_t graph;
    int ownership; /* 0: the child is copied; 1: it is moved. From CUDA 12.9 on */
} cudaChildGraphNodeParams;

typedef struct cudaGraphNodeParams { /* of cudaGraphAddNode, whatever the type */
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        cudaKernelNodeParams kernel;
        cudaMemcpyNodeParams memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        cudaChildGraphNodeParams graph;
        cudaEvent_t event; /* of both kinds */
        cudaMemAllocNodeParams alloc;
        void *free;
    } of;
    long long reserved2;
} cudaGraphNodeParams;

typedef struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;

typedef enum cudaGraphInstantiateResult {
    cudaGraphInstantiateSuccess,
    cudaGraphInstantiateError,
    cudaGraphInstantiateInvalidStructure,
    cudaGraphInstantiateNodeOperationNotSupported,
    cudaGraphInstantiateMultipleDevicesNotSupported
} cudaGraphInstantiateResult;

typedef struct cudaGraphInstantiateParams {
    unsigned long long flags;
    cudaStream_t uploadStream;
    cudaGraphNode_t errNode_out;
    cudaGraphInstantiateResult result_out;
} cudaGraphInstantiateParams;

typedef enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess,
    cudaGraphExecUpdateError,
    cudaGraphExecUpdateErrorTopologyChanged,
    cudaGraphExecUpdateErrorNodeTypeChanged,
    cudaGraphExecUpdateErrorFunctionChanged,
    cudaGraphExecUpdateErrorParametersChanged,
    cudaGraphExecUpdateErrorNotSupported
} cudaGraphExecUpdateResult;

typedef struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
} cudaGraphExecUpdateResultInfo;

enum { /* cudaGraphMemAttributeType */
       cudaGraphMemAttrUsedMemCurrent,
       cudaGraphMemAttrUsedMemHigh,
       cudaGraphMemAttrReservedMemCurrent,
       cudaGraphMemAttrReservedMemHigh,
       DOOR_GRAPH_MEMORY_ATTRIBUTES
};

#endif
