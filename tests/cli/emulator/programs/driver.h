/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h for the driver's functions.
 */
#pragma once
#include "check.h"
#include <cuda.h>

#define DRIVER_EXPECT(call, expected)                                                              \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        const char *name_ = "?";                                                                   \
        if (result_ != (expected)) {                                                               \
            cuGetErrorName(result_, &name_);                                                       \
            fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call, name_,           \
                    #expected);                                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define DRIVER(call) DRIVER_EXPECT(call, CUDA_SUCCESS)

/* A context on device 0, current. */
static inline CUcontext start(int device = 0) {
    CUcontext context;
    DRIVER(cuInit(0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    return context;
}

/* PTX: n[i] += BY() for one block, with by() to be defined elsewhere or in a text of its own. */
static const char adding[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .b32 r) by ();\n"
                             ".visible .entry add(.param .u64 n) {\n"
                             "  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
                             "  ld.param.u64 %d0, [n]; mov.u32 %r0, %tid.x;\n"
                             "  mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;\n"
                             "  { .param .b32 v; call.uni (v), by, (); ld.param.b32 %r1, [v]; }\n"
                             "  ld.global.u32 %r2, [%d0]; add.u32 %r2, %r2, %r1;\n"
                             "  st.global.u32 [%d0], %r2; ret; }\n";
static const char seven[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .global .align 4 .u32 amount = 7;\n"
                            ".visible .func (.param .b32 r) by () {\n"
                            "  .reg .b32 %r<2>; ld.global.u32 %r0, [amount];\n"
                            "  st.param.b32 [r], %r0; ret; }\n";
