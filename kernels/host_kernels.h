/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's counterparts of the device kernels, compiled once for each instruction set
 * (host_kernels.c); host.c picks what the processor runs best.
 */
#ifndef RP_KERNELS_HOST_KERNELS_H
#define RP_KERNELS_HOST_KERNELS_H

#include "kernels/paths.h"
#include <stddef.h>

/* Elements of a stream are handled in steps of this many; N must be a multiple, arrays aligned to
 * 64 bytes. */
enum { RP_HOST_STEP = 32 };

typedef struct rp_host_kernels {
    const char *name; /* "avx512" */
    /* a = s | b | s b | b + c | b + s c, with stores past the caches where there are such; the sum
     * of b (read) or of b c (dot) is returned, else 0. */
    double (*stream)(rp_pattern pattern, double *a, const double *b, const double *c, double s,
                     size_t n);
    /* Multiply-adds on independent registers, x = x m + a: returns how many FLOP N rounds are, and
     * the sum of the registers in *SUM. */
    double (*fma64)(size_t n, double m, double a, double *sum);
    double (*fma32)(size_t n, float m, float a, double *sum);
} rp_host_kernels;

extern const rp_host_kernels rp_host_kernels_base;
#if defined(__x86_64__)
extern const rp_host_kernels rp_host_kernels_avx2, rp_host_kernels_avx512;
#endif

#endif
