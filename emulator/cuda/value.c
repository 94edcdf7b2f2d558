/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that write values to memory and wait for them, and what else a stream can be told. Work
 * is done in the order of the calls, so a wait can only be ended by what was asked for before it,
 * by another thread, or by another process: it lasts until then, or for some seconds, after which
 * it is given up and that is said.
 */
#include "emulator/cuda/driver.h"
#include <string.h>
#include <time.h>

enum { WAIT_GEQ, WAIT_EQ, WAIT_AND, WAIT_NOR, WAIT_KINDS = 3 }; /* the low bits of the flags */
enum { PATIENCE_MS = 10000 };

static uint64_t read_value(device_pointer at, size_t bytes) {
    return bytes == 4 ? *(volatile uint32_t *)pointer(at) : *(volatile uint64_t *)pointer(at);
}

static bool is_there(uint64_t now, uint64_t value, unsigned flags, size_t bytes) {
    const uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (flags & WAIT_KINDS) {
    case WAIT_GEQ: /* on a circle: the difference is not negative */
        return bytes == 4 ? (int32_t)(uint32_t)(now - value) >= 0 : (int64_t)(now - value) >= 0;
    case WAIT_EQ:
        return now == (value & mask);
    case WAIT_AND:
        return (now & value) != 0;
    default:
        return (~(now | value) & mask) != 0;
    }
}

static cudaError_t check(cudaStream_t stream, device_pointer at, size_t bytes) {
    uint64_t base, size;
    if (at % bytes || !driver_doors()->memory_range(at, &base, &size) || size - (at - base) < bytes)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaStreamQuery(stream);
    return error == cudaErrorNotReady ? cudaSuccess : error;
}

static cudaError_t wait_value(cudaStream_t stream, device_pointer at, uint64_t value,
                              unsigned flags, size_t bytes) {
    const struct timespec a_millisecond = {.tv_nsec = 1000000};
    cudaError_t error = check(stream, at, bytes);
    for (int ms = 0; !error && !is_there(read_value(at, bytes), value, flags, bytes); ms++) {
        if (ms == PATIENCE_MS) {
            driver_doors()->say("error",
                                "a stream waits for a value that nothing asked for so far will "
                                "write; work on an emulated device is done in the order of the "
                                "calls, so it would wait for ever");
            return cudaErrorLaunchTimeout;
        }
        nanosleep(&a_millisecond, NULL);
    }
    return error;
}

static cudaError_t write_value(cudaStream_t stream, device_pointer at, uint64_t value,
                               size_t bytes) {
    cudaError_t error = check(stream, at, bytes);
    if (!error && bytes == 4)
        *(volatile uint32_t *)pointer(at) = (uint32_t)value;
    else if (!error)
        *(volatile uint64_t *)pointer(at) = value;
    return error;
}

typedef struct memory_operation { /* CUstreamBatchMemOpParams */
    int operation;
    device_pointer address;
    uint64_t value;
    unsigned flags;
    uint64_t rest[2];
} memory_operation;
_Static_assert(sizeof(memory_operation) == 48, "an operation is six words of 8 bytes");

static cudaError_t run(cudaStream_t stream, const memory_operation *o) {
    enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
    switch (o->operation) {
    case WAIT_32:
        return wait_value(stream, o->address, (uint32_t)o->value, o->flags, 4);
    case WAIT_64:
        return wait_value(stream, o->address, o->value, o->flags, 8);
    case WRITE_32:
        return write_value(stream, o->address, o->value, 4);
    case WRITE_64:
        return write_value(stream, o->address, o->value, 8);
    case FLUSH:
    case BARRIER:
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

static cudaError_t run_all(cudaStream_t stream, unsigned count, const memory_operation *list) {
    cudaError_t error = count && list ? cudaSuccess : cudaErrorInvalidValue;
    for (unsigned i = 0; !error && i < count; i++)
        error = run(stream, &list[i]);
    return error;
}

#define VALUE(name, call, ...)                                                                     \
    DRIVER_CALL(name, call, cudaStream_t stream, __VA_ARGS__)                                      \
    DRIVER_EXPORT(name##_ptsz, cudaStream_t stream, __VA_ARGS__) {                                 \
        stream = stream ? stream : cudaStreamPerThread;                                            \
        DRIVER_BODY(true, call)                                                                    \
    }
/* The functions with _v2 differ in what a device must support, and that is all there is here. */
#define VALUES(version)                                                                            \
    VALUE(cuStreamWaitValue32##version, wait_value(stream, at, value, flags, 4),                   \
          device_pointer at, uint32_t value, unsigned flags)                                       \
    VALUE(cuStreamWaitValue64##version, wait_value(stream, at, value, flags, 8),                   \
          device_pointer at, uint64_t value, unsigned flags)                                       \
    VALUE(cuStreamWriteValue32##version, write_value(stream, at, value, 4), device_pointer at,     \
          uint32_t value, unsigned flags)                                                          \
    VALUE(cuStreamWriteValue64##version, write_value(stream, at, value, 8), device_pointer at,     \
          uint64_t value, unsigned flags)                                                          \
    VALUE(cuStreamBatchMemOp##version, run_all(stream, count, list), unsigned count,               \
          const memory_operation *list, unsigned flags)
VALUES()
VALUES(_v2)

/* ---- Attributes --------------------------------------------------------------------------------
 */

/* Numbers and values are the runtime's. */
VALUE(cuStreamSetAttribute, runtime.cudaStreamSetAttribute(stream, id, v), int id, const void *v)
VALUE(cuStreamGetAttribute, runtime.cudaStreamGetAttribute(stream, id, v), int id, void *v)
VALUE(cuStreamCopyAttributes, runtime.cudaStreamCopyAttributes(stream, from), cudaStream_t from)
VALUE(cuStreamAttachMemAsync, check(stream, at, 1), device_pointer at, size_t size, unsigned flags)
