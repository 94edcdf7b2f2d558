/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320), as zlib's crc32() computes it; the
 * tracer cannot bring zlib into a stranger's process. Continue with the result of the call before;
 * begin with 0.
 */
#ifndef RP_TRACER_CRC_H
#define RP_TRACER_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(uint32_t crc, const void *data, size_t length);

#endif
