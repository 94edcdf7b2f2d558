/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches made from means, behind expand.h.
 */
#include "importers/expand.h"
#include <inttypes.h>
#include <math.h>

int64_t rp_expand_limit = 20000000;

static rp_code add_counter(rp_capture *capture, int64_t launch, const rp_expand_counter *c,
                           rp_error *error) {
    if (isnan(c->value))
        return RP_OK;
    rp_code code = RP_OK;
    if (c->metric >= 0)
        code = rp_capture_add_counter(capture, launch, c->metric, c->value, c->provenance, error);
    if (!code && c->quantity != RP_QUANTITIES)
        code =
            rp_capture_add_quantity(capture, launch, c->quantity, c->value, c->provenance, error);
    return code;
}

rp_code rp_expand(rp_capture *capture, const char *path, int64_t calls,
                  const rp_launch_record *launch, const rp_expand_counter *counters, size_t n,
                  int64_t *total, rp_error *error) {
    if (calls > rp_expand_limit - *total)
        return rp_fail(error, RP_INPUT,
                       "%s: counts more than %" PRId64 " calls in all; profile a shorter run, or "
                       "import a trace with one record a launch",
                       path, rp_expand_limit);
    rp_code code = RP_OK;
    for (int64_t i = 0; i < calls && !code; i++) {
        int64_t id;
        code = rp_capture_add_launch(capture, launch, &id, error);
        for (size_t k = 0; k < n && !code; k++)
            code = add_counter(capture, id, &counters[k], error);
    }
    *total += calls;
    return code;
}
