/* SPDX-License-Identifier: Apache-2.0
 *
 * NVRTC's door: programs that compile CUDA C++ as they run take a cubin from NVRTC
 * (nvrtcCompileProgram for sm_XX, nvrtcGetCUBIN) and load it. An emulated device runs PTX. NVRTC
 * keeps the PTX that it made the cubin from, so this library, preloaded before the program's own
 * libnvrtc, answers nvrtcGetCUBINSize and nvrtcGetCUBIN with a fat binary that holds both: the
 * machine code, of which the registers are read, and the PTX, marked to be for the devices that the
 * cubin is for (EMU_FATBIN_FOR_CUBIN). All else of NVRTC is the program's, options and
 * architectures included: what it refuses on a machine with a GPU it refuses here.
 *
 * What has no cubin (compiled for compute_XX, failed) or no PTX (-dlto) is answered as NVRTC does.
 *
 * Reached are calls by name: of a program, or of a library that it opens, that is linked with
 * libnvrtc.so. Who asks dlsym() of libnvrtc's own handle, or has NVRTC linked in statically, gets
 * NVRTC's cubin, which the driver's door refuses.
 */
#ifndef EMU_NVRTC_NVRTC_H
#define EMU_NVRTC_NVRTC_H

#include <stddef.h>

typedef struct _nvrtcProgram *nvrtcProgram;

/* NVRTC's result codes that this door gives itself; the others are passed on. */
enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INTERNAL_ERROR = 11 /* there is no NVRTC in this process */
};

/* *size of what nvrtcGetCUBIN writes; 0, as NVRTC says it, for a virtual architecture. */
int nvrtcGetCUBINSize(nvrtcProgram program, size_t *size);

/* Writes the fat binary (a container, emulator/fatbin/fatbin.h has the layout). */
int nvrtcGetCUBIN(nvrtcProgram program, char *cubin);

#endif
