/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a plan fits, and the smallest number of devices that it fits on (plan.h).
 */
#include "analysis/plan_internal.h"

#include <math.h>

/* The request on about N devices, spread as the request spreads: inference by tensor parallelism,
 * ZeRO by data parallelism, else by tensor parallelism in a node and pipeline stages beyond. */
static bool on_devices(const rp_plan_request *r, int64_t n, rp_plan_request *scaled) {
    int64_t node = r->per_node;

    *scaled = *r;
    scaled->count = n;
    if (r->mode == RP_PLAN_INFER) {
        if (n % (r->pp * r->dp))
            return false;
        scaled->tp = n / (r->pp * r->dp);
        return true;
    }
    if (r->zero > 0) {
        if (n % (r->tp * r->pp))
            return false;
        scaled->dp = n / (r->tp * r->pp);
    } else {
        scaled->tp = n < node ? n : node;
        scaled->pp = n / scaled->tp;
        scaled->dp = 1;
        if (n % scaled->tp || (rp_model_has_shape(&r->model) && scaled->pp > r->model.layers))
            return false;
    }
    scaled->batch = fmax(r->batch, scaled->micro_batch * (double)scaled->dp);
    return true;
}

static double total_on(const rp_plan_request *r, int64_t n) {
    rp_plan_request scaled;
    rp_plan_memory memory;
    if (!on_devices(r, n, &scaled) || rp_plan_memory_of(&scaled, &memory, NULL) != RP_OK)
        return INFINITY;
    return memory.total;
}

/* The step in which a spread can grow. */
static int64_t granule(const rp_plan_request *r) {
    if (r->mode == RP_PLAN_INFER)
        return r->pp * r->dp;
    return r->zero > 0 ? r->tp * r->pp : 1;
}

/* The smallest count that fits; -1 never. Totals fall as devices are added, but for the steps of
 * whole layers and nodes, so small counts are tried one by one and large ones by halving. */
static int64_t smallest_count(const rp_plan_request *r, double memory) {
    int64_t step = granule(r), low, high = step;

    for (; high <= 64 * step && high <= RP_PLAN_MOST_DEVICES; high += step)
        if (total_on(r, high) <= memory)
            return high;
    if (r->mode == RP_PLAN_TRAIN && r->zero == 0)
        step = r->per_node;
    low = high / step;
    for (high = low; high * step <= RP_PLAN_MOST_DEVICES && total_on(r, high * step) > memory;)
        high *= 2;
    if (high * step > RP_PLAN_MOST_DEVICES)
        return -1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (total_on(r, middle * step) > memory)
            low = middle;
        else
            high = middle;
    }
    return high * step;
}

rp_code rp_plan_fit(const rp_plan_request *r, rp_plan_device *d, rp_error *error) {
    rp_code code = rp_plan_memory_of(r, &d->memory, error);

    d->fits = -1;
    d->min_count = -1;
    d->max_sequences = -1;
    d->capacity_effective = d->memory.distinct / (d->memory.total * (double)r->count);
    d->capacity_used = d->memory.total / d->memory_bytes;
    if (code != RP_OK || isnan(d->memory_bytes))
        return code;
    d->fits = d->memory.total <= d->memory_bytes;
    d->min_count = smallest_count(r, d->memory_bytes);
    if (d->memory.distinct > RP_PLAN_MOST_DEVICES * d->memory_bytes)
        return rp_fail(error, RP_USAGE, "%.3g parameters need more than %d of %s",
                       rp_model_params(&r->model), RP_PLAN_MOST_DEVICES, d->device->name);
    if (d->min_count == -1)
        rp_plan_note(
            d,
            "does not fit on any number of %s spread like this: activations or what is not "
            "partitioned is larger than one device's memory",
            d->device->name);
    if (r->mode == RP_PLAN_INFER && d->memory.kv_cache > 0) {
        double each = d->memory.kv_cache / ceil(r->batch / (double)r->dp);
        double left = d->memory_bytes - (d->memory.total - d->memory.kv_cache);
        d->max_sequences = left > 0 ? (int64_t)fmin(floor(left / each) * (double)r->dp, 9e15) : 0;
    }
    return RP_OK;
}
