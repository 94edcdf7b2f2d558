/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking protocol buffers; see ncu_wire.h.
 */
#include "importers/ncu_wire.h"

#include <string.h>

static bool read_varint(ncu_wire *wire, uint64_t *number) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        unsigned char byte = *wire->at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number = result;
            return true;
        }
    }
    return false;
}

/* SIZE bytes, little endian. */
static bool read_fixed(ncu_wire *wire, size_t size, uint64_t *number) {
    if (ncu_wire_length(*wire) < size)
        return false;
    *number = 0;
    for (size_t i = 0; i < size; i++)
        *number |= (uint64_t)wire->at[i] << (8 * i);
    wire->at += size;
    return true;
}

static bool read_bytes(ncu_wire *wire, ncu_wire *bytes) {
    uint64_t length;
    if (!read_varint(wire, &length) || length > ncu_wire_length(*wire))
        return false;
    *bytes = ncu_wire_of(wire->at, (size_t)length);
    wire->at += length;
    return true;
}

int ncu_wire_next(ncu_wire *wire, ncu_wire_field *field) {
    uint64_t key;
    if (wire->at == wire->end)
        return 0;
    if (!read_varint(wire, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return -1;
    field->number = (uint32_t)(key >> 3);
    field->type = (ncu_wire_type)(key & 7);
    bool good;
    switch (field->type) {
    case NCU_WIRE_VARINT:
        good = read_varint(wire, &field->integer);
        break;
    case NCU_WIRE_FIXED64:
        good = read_fixed(wire, 8, &field->integer);
        break;
    case NCU_WIRE_BYTES:
        good = read_bytes(wire, &field->bytes);
        break;
    case NCU_WIRE_FIXED32:
        good = read_fixed(wire, 4, &field->integer);
        break;
    default:
        good = false;
    }
    return good ? 1 : -1;
}

double ncu_wire_double(const ncu_wire_field *field) {
    double number;
    memcpy(&number, &field->integer, sizeof number);
    return number;
}

float ncu_wire_float(const ncu_wire_field *field) {
    uint32_t bits = (uint32_t)field->integer;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}
