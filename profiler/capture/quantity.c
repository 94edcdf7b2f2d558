/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of quantities and the names of provenances.
 */
#include "capture/quantity.h"
#include <string.h>

enum { M = 0, S = 1 };

const rp_quantity_info rp_quantity_table[RP_QUANTITIES] = {
#define Q(name, key, unit, kind) [RP_Q_##name] = {key, unit, kind},
    RP_QUANTITY_LIST(Q)
#undef Q
};

rp_quantity rp_quantity_find(const char *key) {
    for (unsigned q = 0; q < RP_QUANTITIES; q++)
        if (strcmp(rp_quantity_table[q].key, key) == 0)
            return (rp_quantity)q;
    return RP_QUANTITIES;
}

static const char *const provenance_names[RP_PROVENANCES] = {
    [RP_ABSENT] = "absent",
    [RP_MEASURED] = "measured",
    [RP_COUNTED] = "counted",
    [RP_CALIBRATED] = "calibrated",
    [RP_THEORETICAL] = "theoretical",
    [RP_DATASHEET] = "datasheet",
    [RP_EMULATED] = "emulated",
    [RP_MODELLED] = "modelled",
    [RP_IMPORTED] = "imported",
    [RP_ESTIMATED] = "estimated",
    [RP_USER] = "user",
};

const char *rp_provenance_name(rp_provenance provenance) {
    return (unsigned)provenance < RP_PROVENANCES ? provenance_names[provenance] : "absent";
}

rp_provenance rp_provenance_worse(rp_provenance a, rp_provenance b) {
    return a > b ? a : b;
}
