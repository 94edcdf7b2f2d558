/* SPDX-License-Identifier: Apache-2.0
 *
 * What the test programs of the emulated device share: a check that names its line and ends the
 * program, so that the exit code tells.
 */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                          \
                    cudaGetErrorName(error_));                                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define EXPECT(call, expected)                                                                     \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != (expected)) {                                                                \
            fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call,                  \
                    cudaGetErrorName(error_), #expected);                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
