/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays through the driver's door: handles are those of the runtime.
 */
#include "emulator/cuda/array.h"

enum { /* CUarray_format */
       FORMAT_UINT8 = 1,
       FORMAT_SINT8 = 8,
       FORMAT_HALF = 0x10,
       FORMAT_FLOAT = 0x20,
       FORMAT_UNORM = 0xc0, /* 8 bits of 1, 2, 4 channels, then 16 bits; */
       FORMAT_SNORM = 0xc6, /* likewise */
       FORMAT_END = 0xcc
};

/* ---- Formats ----------------------------------------------------------------------------------
 */

static cudaChannelFormatDesc desc_of(int kind, int bits, unsigned channels) {
    return (cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                   channels > 2 ? bits : 0, kind};
}

bool driver_format(int format, unsigned channels, cudaChannelFormatDesc *out) {
    if (format >= FORMAT_UNORM && format < FORMAT_END) {
        const int number = (format - FORMAT_UNORM) % 6;
        const int first = format < FORMAT_SNORM ? cudaChannelFormatKindUnsignedNormalized8X1
                                                : cudaChannelFormatKindSignedNormalized8X1;
        *out = desc_of(first + number, number < 3 ? 8 : 16, 1u << number % 3);
        return true;
    }
    if (channels != 1 && channels != 2 && channels != 4)
        return false;
    if (format >= FORMAT_UINT8 && format < FORMAT_UINT8 + 3)
        *out = desc_of(cudaChannelFormatKindUnsigned, 8 << (format - FORMAT_UINT8), channels);
    else if (format >= FORMAT_SINT8 && format < FORMAT_SINT8 + 3)
        *out = desc_of(cudaChannelFormatKindSigned, 8 << (format - FORMAT_SINT8), channels);
    else if (format == FORMAT_HALF || format == FORMAT_FLOAT)
        *out = desc_of(cudaChannelFormatKindFloat, format == FORMAT_HALF ? 16 : 32, channels);
    else
        return false;
    return true;
}

bool driver_format_of(const cudaChannelFormatDesc *d, int *format, unsigned *channels) {
    const int step = d->x == 8 ? 0 : d->x == 16 ? 1 : 2;
    *channels = !d->y ? 1 : !d->z ? 2 : 4;
    if (d->f >= cudaChannelFormatKindUnsignedNormalized8X1 &&
        d->f <= cudaChannelFormatKindSignedNormalized16X4)
        *format = FORMAT_UNORM + d->f - cudaChannelFormatKindUnsignedNormalized8X1;
    else if (d->f == cudaChannelFormatKindUnsigned)
        *format = FORMAT_UINT8 + step;
    else if (d->f == cudaChannelFormatKindSigned)
        *format = FORMAT_SINT8 + step;
    else if (d->f == cudaChannelFormatKindFloat)
        *format = d->x == 16 ? FORMAT_HALF : FORMAT_FLOAT;
    else
        return false;
    return true;
}

size_t driver_element(void *array) {
    cudaChannelFormatDesc d;
    if (runtime.cudaArrayGetInfo(&d, NULL, NULL, array))
        return 0;
    return (size_t)(d.x + d.y + d.z + d.w) / 8;
}

/* ---- Making -----------------------------------------------------------------------------------
 */

static cudaError_t create(cudaArray_t *out, const driver_array_3d *a) {
    cudaChannelFormatDesc format;
    if (!out || !a || !driver_format(a->format, a->channels, &format))
        return cudaErrorInvalidValue;
    return runtime.cudaMalloc3DArray(out, &format, (cudaExtent){a->width, a->height, a->depth},
                                     a->flags);
}

static cudaError_t create_2d(cudaArray_t *out, const driver_array_2d *a) {
    if (!a)
        return cudaErrorInvalidValue;
    const driver_array_3d whole = {
        .width = a->width, .height = a->height, .format = a->format, .channels = a->channels};
    return create(out, &whole);
}

static cudaError_t create_mipmapped(cudaMipmappedArray_t *out, const driver_array_3d *a,
                                    unsigned levels) {
    cudaChannelFormatDesc format;
    if (!out || !a || !driver_format(a->format, a->channels, &format))
        return cudaErrorInvalidValue;
    return runtime.cudaMallocMipmappedArray(
        out, &format, (cudaExtent){a->width, a->height, a->depth}, levels, a->flags);
}

static cudaError_t describe(driver_array_3d *out, cudaArray_t array) {
    cudaChannelFormatDesc format;
    cudaExtent extent;
    unsigned flags;
    if (!out)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaArrayGetInfo(&format, &extent, &flags, array);
    if (error)
        return error;
    *out = (driver_array_3d){
        .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    return driver_format_of(&format, &out->format, &out->channels) ? cudaSuccess : cudaErrorUnknown;
}

static cudaError_t describe_2d(driver_array_2d *out, cudaArray_t array) {
    driver_array_3d whole;
    cudaError_t error = out ? describe(&whole, array) : cudaErrorInvalidValue;
    if (!error)
        *out = (driver_array_2d){whole.width, whole.height, whole.format, whole.channels};
    return error;
}

DRIVER_CALL(cuArrayCreate_v2, create_2d(out, array), cudaArray_t *out, const driver_array_2d *array)
DRIVER_CALL(cuArray3DCreate_v2, create(out, array), cudaArray_t *out, const driver_array_3d *array)
DRIVER_CALL(cuArrayGetDescriptor_v2, describe_2d(out, array), driver_array_2d *out,
            cudaArray_t array)
DRIVER_CALL(cuArray3DGetDescriptor_v2, describe(out, array), driver_array_3d *out,
            cudaArray_t array)
DRIVER_CALL(cuArrayDestroy, array ? runtime.cudaFreeArray(array) : cudaErrorInvalidResourceHandle,
            cudaArray_t array)
DRIVER_CALL(cuArrayGetMemoryRequirements,
            runtime.cudaArrayGetMemoryRequirements(out, array, device),
            cudaArrayMemoryRequirements *out, cudaArray_t array, int device)
DRIVER_CALL(cuMipmappedArrayCreate, create_mipmapped(out, array, levels), cudaMipmappedArray_t *out,
            const driver_array_3d *array, unsigned levels)
DRIVER_CALL(cuMipmappedArrayDestroy,
            array ? runtime.cudaFreeMipmappedArray(array) : cudaErrorInvalidResourceHandle,
            cudaMipmappedArray_t array)
DRIVER_CALL(cuMipmappedArrayGetLevel, runtime.cudaGetMipmappedArrayLevel(out, array, level),
            cudaArray_t *out, cudaMipmappedArray_t array, unsigned level)
DRIVER_CALL(cuMipmappedArrayGetMemoryRequirements,
            runtime.cudaMipmappedArrayGetMemoryRequirements(out, array, device),
            cudaArrayMemoryRequirements *out, cudaMipmappedArray_t array, int device)

static cudaError_t most_linear(size_t *out, int format, unsigned channels, int device) {
    cudaChannelFormatDesc desc;
    if (!driver_format(format, channels, &desc))
        return cudaErrorInvalidValue;
    return runtime.cudaDeviceGetTexture1DLinearMaxWidth(out, &desc, device);
}
DRIVER_QUERY(cuDeviceGetTexture1DLinearMaxWidth, most_linear(out, format, channels, device),
             size_t *out, int format, unsigned channels, int device)

/* ---- Copies of bytes --------------------------------------------------------------------------
 */

/* The byte OFFSET of an array as row and byte in it. */
static cudaError_t place_in(cudaArray_t array, size_t offset, size_t *x, size_t *y) {
    cudaExtent extent;
    cudaError_t error = runtime.cudaArrayGetInfo(NULL, &extent, NULL, array);
    const size_t row = error ? 0 : extent.width * driver_element(array);
    if (!row)
        return error ? error : cudaErrorInvalidValue;
    *x = offset % row;
    *y = offset / row;
    return cudaSuccess;
}

static cudaError_t to_array(cudaArray_t array, size_t offset, const void *from, size_t count,
                            cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    size_t x, y;
    cudaError_t error = place_in(array, offset, &x, &y);
    if (error)
        return error;
    if (!wait)
        return runtime.cudaMemcpyToArrayAsync(array, x, y, from, count, kind, stream);
    return stream == cudaStreamPerThread
               ? runtime.cudaMemcpyToArray_ptds(array, x, y, from, count, kind)
               : runtime.cudaMemcpyToArray(array, x, y, from, count, kind);
}

static cudaError_t from_array(void *to, cudaArray_t array, size_t offset, size_t count,
                              cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    size_t x, y;
    cudaError_t error = place_in(array, offset, &x, &y);
    if (error)
        return error;
    if (!wait)
        return runtime.cudaMemcpyFromArrayAsync(to, array, x, y, count, kind, stream);
    return stream == cudaStreamPerThread
               ? runtime.cudaMemcpyFromArray_ptds(to, array, x, y, count, kind)
               : runtime.cudaMemcpyFromArray(to, array, x, y, count, kind);
}

static cudaError_t between(cudaArray_t to, size_t to_offset, cudaArray_t from, size_t from_offset,
                           size_t count, cudaStream_t stream) {
    size_t to_x, to_y, x, y;
    cudaError_t error = place_in(to, to_offset, &to_x, &to_y);
    if (!error)
        error = place_in(from, from_offset, &x, &y);
    if (error)
        return error;
    return stream == cudaStreamPerThread
               ? runtime.cudaMemcpyArrayToArray_ptds(to, to_x, to_y, from, x, y, count,
                                                     cudaMemcpyDeviceToDevice)
               : runtime.cudaMemcpyArrayToArray(to, to_x, to_y, from, x, y, count,
                                                cudaMemcpyDeviceToDevice);
}

DRIVER_SYNC(cuMemcpyHtoA_v2,
            to_array(array, offset, from, count, cudaMemcpyHostToDevice, stream, true),
            cudaArray_t array, size_t offset, const void *from, size_t count)
DRIVER_SYNC(cuMemcpyDtoA_v2,
            to_array(array, offset, pointer(from), count, cudaMemcpyDeviceToDevice, stream, true),
            cudaArray_t array, size_t offset, device_pointer from, size_t count)
DRIVER_SYNC(cuMemcpyAtoH_v2,
            from_array(to, array, offset, count, cudaMemcpyDeviceToHost, stream, true), void *to,
            cudaArray_t array, size_t offset, size_t count)
DRIVER_SYNC(cuMemcpyAtoD_v2,
            from_array(pointer(to), array, offset, count, cudaMemcpyDeviceToDevice, stream, true),
            device_pointer to, cudaArray_t array, size_t offset, size_t count)
DRIVER_SYNC(cuMemcpyAtoA_v2, between(to, to_offset, from, from_offset, count, stream),
            cudaArray_t to, size_t to_offset, cudaArray_t from, size_t from_offset, size_t count)
DRIVER_STREAM(cuMemcpyHtoAAsync_v2,
              to_array(array, offset, from, count, cudaMemcpyHostToDevice, stream, false),
              cudaArray_t array, size_t offset, const void *from, size_t count)
DRIVER_STREAM(cuMemcpyAtoHAsync_v2,
              from_array(to, array, offset, count, cudaMemcpyDeviceToHost, stream, false), void *to,
              cudaArray_t array, size_t offset, size_t count)
