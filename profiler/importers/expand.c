/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches made from means, behind expand.h.
 */
#include "importers/expand.h"
#include <inttypes.h>

int64_t rp_expand_limit = 20000000;

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
            code = rp_capture_add_counter(capture, id, counters[k].metric, counters[k].value,
                                          counters[k].provenance, error);
    }
    *total += calls;
    return code;
}
