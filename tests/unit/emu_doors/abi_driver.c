/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the driver's door's own declarations against a toolkit's header (12.0 or later): it
 * compiles only if every size, offset and value agrees.
 */
#include <cuda.h>

/* The driver's names, kept apart from the header's. */
#define CUDA_SUCCESS                      OUR_SUCCESS
#define CUDA_ERROR_INVALID_VALUE          OUR_INVALID_VALUE
#define CUDA_ERROR_OUT_OF_MEMORY          OUR_OUT_OF_MEMORY
#define CUDA_ERROR_NOT_INITIALIZED        OUR_NOT_INITIALIZED
#define CUDA_ERROR_NO_DEVICE              OUR_NO_DEVICE
#define CUDA_ERROR_INVALID_DEVICE         OUR_INVALID_DEVICE
#define CUDA_ERROR_INVALID_CONTEXT        OUR_INVALID_CONTEXT
#define CUDA_ERROR_FILE_NOT_FOUND         OUR_FILE_NOT_FOUND
#define CUDA_ERROR_INVALID_HANDLE         OUR_INVALID_HANDLE
#define CUDA_ERROR_NOT_FOUND              OUR_NOT_FOUND
#define CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE OUR_PRIMARY_CONTEXT_ACTIVE
#define CUDA_ERROR_NOT_SUPPORTED          OUR_NOT_SUPPORTED
#include "emulator/cuda/abi_texture.h"
#undef CUDA_SUCCESS
#undef CUDA_ERROR_INVALID_VALUE
#undef CUDA_ERROR_OUT_OF_MEMORY
#undef CUDA_ERROR_NOT_INITIALIZED
#undef CUDA_ERROR_NO_DEVICE
#undef CUDA_ERROR_INVALID_DEVICE
#undef CUDA_ERROR_INVALID_CONTEXT
#undef CUDA_ERROR_FILE_NOT_FOUND
#undef CUDA_ERROR_INVALID_HANDLE
#undef CUDA_ERROR_NOT_FOUND
#undef CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE
#undef CUDA_ERROR_NOT_SUPPORTED

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

/* ---- The driver ---- */

SAME_VALUE(OUR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(OUR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(OUR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(OUR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(OUR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(OUR_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(OUR_FILE_NOT_FOUND, CUDA_ERROR_FILE_NOT_FOUND);
SAME_VALUE(OUR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(OUR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(OUR_PRIMARY_CONTEXT_ACTIVE, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
SAME_VALUE(OUR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST);
SAME_VALUE(MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(MEMORYTYPE_ARRAY, CU_MEMORYTYPE_ARRAY);
SAME_VALUE(MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
SAME_SIZE(driver_memcpy2d, CUDA_MEMCPY2D);
SAME_FIELD(driver_memcpy2d, source_x, CUDA_MEMCPY2D, srcXInBytes);
SAME_FIELD(driver_memcpy2d, source_y, CUDA_MEMCPY2D, srcY);
SAME_FIELD(driver_memcpy2d, source_type, CUDA_MEMCPY2D, srcMemoryType);
SAME_FIELD(driver_memcpy2d, source_host, CUDA_MEMCPY2D, srcHost);
SAME_FIELD(driver_memcpy2d, source_device, CUDA_MEMCPY2D, srcDevice);
SAME_FIELD(driver_memcpy2d, source_array, CUDA_MEMCPY2D, srcArray);
SAME_FIELD(driver_memcpy2d, source_pitch, CUDA_MEMCPY2D, srcPitch);
SAME_FIELD(driver_memcpy2d, to_x, CUDA_MEMCPY2D, dstXInBytes);
SAME_FIELD(driver_memcpy2d, to_y, CUDA_MEMCPY2D, dstY);
SAME_FIELD(driver_memcpy2d, to_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_FIELD(driver_memcpy2d, to_host, CUDA_MEMCPY2D, dstHost);
SAME_FIELD(driver_memcpy2d, to_device, CUDA_MEMCPY2D, dstDevice);
SAME_FIELD(driver_memcpy2d, to_pitch, CUDA_MEMCPY2D, dstPitch);
SAME_FIELD(driver_memcpy2d, width, CUDA_MEMCPY2D, WidthInBytes);
SAME_FIELD(driver_memcpy2d, height, CUDA_MEMCPY2D, Height);
SAME_SIZE(driver_memcpy3d, CUDA_MEMCPY3D);
SAME_FIELD(driver_memcpy3d, source_x, CUDA_MEMCPY3D, srcXInBytes);
SAME_FIELD(driver_memcpy3d, source_z, CUDA_MEMCPY3D, srcZ);
SAME_FIELD(driver_memcpy3d, source_type, CUDA_MEMCPY3D, srcMemoryType);
SAME_FIELD(driver_memcpy3d, source_host, CUDA_MEMCPY3D, srcHost);
SAME_FIELD(driver_memcpy3d, source_device, CUDA_MEMCPY3D, srcDevice);
SAME_FIELD(driver_memcpy3d, source_pitch, CUDA_MEMCPY3D, srcPitch);
SAME_FIELD(driver_memcpy3d, source_height, CUDA_MEMCPY3D, srcHeight);
SAME_FIELD(driver_memcpy3d, to_x, CUDA_MEMCPY3D, dstXInBytes);
SAME_FIELD(driver_memcpy3d, to_type, CUDA_MEMCPY3D, dstMemoryType);
SAME_FIELD(driver_memcpy3d, to_host, CUDA_MEMCPY3D, dstHost);
SAME_FIELD(driver_memcpy3d, to_device, CUDA_MEMCPY3D, dstDevice);
SAME_FIELD(driver_memcpy3d, to_pitch, CUDA_MEMCPY3D, dstPitch);
SAME_FIELD(driver_memcpy3d, to_height, CUDA_MEMCPY3D, dstHeight);
SAME_FIELD(driver_memcpy3d, width, CUDA_MEMCPY3D, WidthInBytes);
SAME_FIELD(driver_memcpy3d, height, CUDA_MEMCPY3D, Height);
SAME_FIELD(driver_memcpy3d, depth, CUDA_MEMCPY3D, Depth);
SAME_SIZE(driver_launch_config, CUlaunchConfig);
SAME_FIELD(driver_launch_config, grid, CUlaunchConfig, gridDimX);
SAME_FIELD(driver_launch_config, block, CUlaunchConfig, blockDimX);
SAME_FIELD(driver_launch_config, shared, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(driver_launch_config, stream, CUlaunchConfig, hStream);
SAME_FIELD(driver_launch_config, attributes, CUlaunchConfig, attrs);
SAME_FIELD(driver_launch_config, attribute_count, CUlaunchConfig, numAttrs);
SAME_SIZE(cudaLaunchAttribute, CUlaunchAttribute);
SAME_FIELD(cudaLaunchAttribute, id, CUlaunchAttribute, id);
SAME_FIELD(cudaLaunchAttribute, val, CUlaunchAttribute, value);
SAME_SIZE(cudaMemPoolProps, CUmemPoolProps);
SAME_FIELD(cudaMemPoolProps, allocType, CUmemPoolProps, allocType);
SAME_FIELD(cudaMemPoolProps, handleTypes, CUmemPoolProps, handleTypes);
SAME_FIELD(cudaMemPoolProps, location, CUmemPoolProps, location);
SAME_FIELD(cudaMemPoolProps, maxSize, CUmemPoolProps, maxSize);

/* ---- Graphs ---- */

#if CUDA_VERSION >= 13000
#include "emulator/cuda/abi_graph.h"

SAME_SIZE(driver_kernel_node, CUDA_KERNEL_NODE_PARAMS_v3);
SAME_FIELD(driver_kernel_node, params.gridDim, CUDA_KERNEL_NODE_PARAMS_v3, gridDimX);
SAME_FIELD(driver_kernel_node, params.blockDim, CUDA_KERNEL_NODE_PARAMS_v3, blockDimX);
SAME_FIELD(driver_kernel_node, params.sharedMemBytes, CUDA_KERNEL_NODE_PARAMS_v3, sharedMemBytes);
SAME_FIELD(driver_kernel_node, params.kernelParams, CUDA_KERNEL_NODE_PARAMS_v3, kernelParams);
SAME_FIELD(driver_kernel_node, params.extra, CUDA_KERNEL_NODE_PARAMS_v3, extra);
SAME_FIELD(driver_kernel_node, kernel, CUDA_KERNEL_NODE_PARAMS_v3, kern);
SAME_FIELD(driver_kernel_node, context, CUDA_KERNEL_NODE_PARAMS_v3, ctx);
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == offsetof(driver_kernel_node, kernel),
               "the first version ends before the kernel");
SAME_SIZE(driver_memcpy_node, CUDA_MEMCPY_NODE_PARAMS);
SAME_FIELD(driver_memcpy_node, copy, CUDA_MEMCPY_NODE_PARAMS, copyParams);
SAME_SIZE(driver_node, CUgraphNodeParams);
SAME_FIELD(driver_node, as, CUgraphNodeParams, kernel);
SAME_FIELD(driver_node, as.graph.ownership, CUgraphNodeParams, graph.ownership);
SAME_FIELD(driver_node, as.alloc.dptr, CUgraphNodeParams, alloc.dptr);
SAME_FIELD(driver_node, as.fill.height, CUgraphNodeParams, memset.height);
SAME_SIZE(cudaMemsetParams, CUDA_MEMSET_NODE_PARAMS_v1);
SAME_SIZE(cudaHostNodeParams, CUDA_HOST_NODE_PARAMS_v1);
SAME_SIZE(cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS_v2);
SAME_SIZE(cudaGraphEdgeData, CUgraphEdgeData);
SAME_SIZE(cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_FIELD(cudaGraphInstantiateParams, result_out, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo);
#endif

/* ---- Arrays and textures ---- */

SAME_SIZE(driver_array_2d, CUDA_ARRAY_DESCRIPTOR);
SAME_FIELD(driver_array_2d, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(driver_array_3d, CUDA_ARRAY3D_DESCRIPTOR);
SAME_FIELD(driver_array_3d, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_FIELD(driver_array_3d, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(driver_resource, CUDA_RESOURCE_DESC);
SAME_FIELD(driver_resource, of.array, CUDA_RESOURCE_DESC, res.array.hArray);
SAME_FIELD(driver_resource, of.linear.bytes, CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME_FIELD(driver_resource, of.pitch.pitch, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME_FIELD(driver_resource, flags, CUDA_RESOURCE_DESC, flags);
SAME_SIZE(driver_texture, CUDA_TEXTURE_DESC);
SAME_FIELD(driver_texture, flags, CUDA_TEXTURE_DESC, flags);
SAME_FIELD(driver_texture, mip_bias, CUDA_TEXTURE_DESC, mipmapLevelBias);
SAME_FIELD(driver_texture, border, CUDA_TEXTURE_DESC, borderColor);
SAME_SIZE(cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC);
SAME_FIELD(cudaResourceViewDesc, lastLayer, CUDA_RESOURCE_VIEW_DESC, lastLayer);
SAME_SIZE(cudaArrayMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS);
SAME_VALUE(cudaArrayLayered, CUDA_ARRAY3D_LAYERED);
SAME_VALUE(cudaArraySurfaceLoadStore, CUDA_ARRAY3D_SURFACE_LDST);
SAME_VALUE(cudaArrayCubemap, CUDA_ARRAY3D_CUBEMAP);
SAME_VALUE(cudaArrayTextureGather, CUDA_ARRAY3D_TEXTURE_GATHER);
SAME_VALUE(cudaResourceTypePitch2D, CU_RESOURCE_TYPE_PITCH2D);
SAME_VALUE(TEXTURE_READ_AS_INTEGER, CU_TRSF_READ_AS_INTEGER);
SAME_VALUE(TEXTURE_NORMALIZED_COORDINATES, CU_TRSF_NORMALIZED_COORDINATES);
SAME_VALUE(TEXTURE_SRGB, CU_TRSF_SRGB);
SAME_VALUE(TEXTURE_NO_TRILINEAR_OPTIMIZATION, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
SAME_VALUE(TEXTURE_SEAMLESS, CU_TRSF_SEAMLESS_CUBEMAP);
