/* SPDX-License-Identifier: Apache-2.0
 *
 * The fat binaries of the .cu files, part of this program: machine code for every architecture that
 * the toolkit of the build knows, and PTX for later ones. calibrate needs no toolkit at run time.
 */
#ifndef RP_KERNELS_IMAGES_H
#define RP_KERNELS_IMAGES_H

#include "kernels/paths.h"

typedef struct rp_image {
    const void *data; /* NULL: this build had no nvcc */
    size_t size;
} rp_image;

rp_image rp_image_of(rp_image_name name);
/* "CUDA 13.0: sm_75 sm_80 ..."; "" if this build had no nvcc. */
const char *rp_images_built_with(void);

#endif
