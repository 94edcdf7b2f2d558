/* SPDX-License-Identifier: Apache-2.0
 *
 * The hardware database over any bytes, given as the user's own records: it may refuse them, and
 * what it takes must then be found, matched and listed without harm.
 */
#include "hwdb/hwdb.h"
#include "input.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void look_up(const rp_hwdb *db) {
    rp_error error = {0};
    const rp_device *device;
    for (size_t i = rp_hwdb_count(db); i-- > 0;) {
        const rp_device *one = rp_hwdb_at(db, i);
        if (!one->user)
            continue;
        char key[64];
        for (size_t k = 0; k < one->ceiling_count; k++)
            rp_ceiling_key(&one->ceilings[k], key, sizeof key);
        rp_hwdb_find(db, one->name, &device, NULL, &error);
        rp_device_identity identity = {.name = one->name,
                                       .chip = one->chip,
                                       .cc_major = one->cc_major,
                                       .cc_minor = one->cc_minor,
                                       .sm_count = one->sm_count,
                                       .memory_bytes = one->memory_bytes,
                                       .memory_bus_bits = one->memory_bus_bits,
                                       .sm_clock_hz = one->boost_hz,
                                       .memory_clock_hz = one->memory_hz};
        rp_device_match match;
        rp_hwdb_match(db, &identity, &match, &error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rp_hwdb *db = NULL;
    rp_error error = {0};
    const char *path = input_file(data, size);
    rp_code code = rp_hwdb_load(&db, path, &error);
    if (code == RP_OK)
        look_up(db);
    else if (!error.message[0])
        abort();
    rp_hwdb_free(db);
    return 0;
}
