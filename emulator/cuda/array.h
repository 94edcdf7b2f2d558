/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and textures through the driver's door: what array.c, texture.c and texref.c share.
 */
#ifndef EMU_CUDA_ARRAY_H
#define EMU_CUDA_ARRAY_H

#include "emulator/cuda/abi_texture.h"
#include "emulator/cuda/driver.h"

/* A format and channels as the runtime says them; false: there is none such. */
bool driver_format(int format, unsigned channels, cudaChannelFormatDesc *out);
/* The other way. */
bool driver_format_of(const cudaChannelFormatDesc *desc, int *format, unsigned *channels);
/* Bytes of an element of an array; 0: it is none. */
size_t driver_element(void *array);

/* A texture of RESOURCE as DESCRIBED (VIEW may be NULL). */
cudaError_t driver_make_texture(unsigned long long *object, const driver_resource *resource,
                                const driver_texture *described, const void *view);

#endif
