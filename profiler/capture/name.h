/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel names for people. Sources give them mangled or not, whole or cut, up to many kilobytes of
 * template arguments; all of it is evidence and stays in the capture, none of it fits a table.
 */
#ifndef RP_CAPTURE_NAME_H
#define RP_CAPTURE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The C++ name behind the mangled NAME (free); NULL if it is not mangled, or cannot be undone. */
char *rp_name_demangle(const char *name);

/* NAME without return type, namespaces, template arguments and parameters: short (up to 120
 * columns), printable UTF-8 (free). Entry points that many kernels share keep the name of their
 * first template argument: "device_kernel<GemmUniversal>". A mangled name that could not be
 * demangled gives its last identifier. NULL: no memory. Time is linear in the length. */
char *rp_name_short(const char *name);

/* Makes the N equal SHORT_NAMES (each owned; replaced) of kernels with different NAMES differ, by
 * the template arguments in which the names do: "elementwise_kernel<AddFunctor>"; where that is not
 * enough, by a number: "gemm #2". False: no memory. */
bool rp_name_distinguish(const char *const *names, size_t n, char **short_names);

/* True for communication kernels (nccl, rccl, nvshmem), by their bare name. */
bool rp_name_is_collective(const char *name);

#endif
