/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol buffers, the wire format alone: enough to walk a message that lies in memory, field by
 * field, and to skip what is not known. Nothing is copied, nothing is allocated, and no read leaves
 * the message, whatever its bytes.
 */
#ifndef RP_IMPORTERS_NCU_WIRE_H
#define RP_IMPORTERS_NCU_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ncu_wire { /* a message, or what is left of it */
    const unsigned char *at, *end;
} ncu_wire;

typedef enum ncu_wire_type {
    NCU_WIRE_VARINT = 0,
    NCU_WIRE_FIXED64 = 1,
    NCU_WIRE_BYTES = 2,
    NCU_WIRE_FIXED32 = 5
} ncu_wire_type;

typedef struct ncu_wire_field {
    uint32_t number;
    ncu_wire_type type;
    uint64_t integer; /* VARINT, FIXED64, FIXED32: the bits */
    ncu_wire bytes;   /* BYTES: a string or an inner message */
} ncu_wire_field;

static inline ncu_wire ncu_wire_of(const void *bytes, size_t length) {
    return (ncu_wire){bytes, (const unsigned char *)bytes + length};
}

static inline size_t ncu_wire_length(ncu_wire wire) {
    return (size_t)(wire.end - wire.at);
}

/* The next field of the message; 1 there is one, 0 the message ends here, -1 it is broken: the rest
 * of it cannot be read. Groups (deprecated, and in no known report) count as broken. */
int ncu_wire_next(ncu_wire *wire, ncu_wire_field *field);

double ncu_wire_double(const ncu_wire_field *field); /* of a FIXED64 */
float ncu_wire_float(const ncu_wire_field *field);   /* of a FIXED32 */

#endif
