/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a plan (plan.h): defaults, how the devices are shared out, and what cannot be.
 */
#include "analysis/plan_internal.h"

#include <math.h>

rp_plan_request rp_plan_request_default(rp_plan_mode mode) {
    return (rp_plan_request){.model = rp_model_unknown(),
                             .mode = mode,
                             .dtype = RP_BF16,
                             .kv_dtype = RP_PRECISIONS,
                             .grad_dtype = RP_PRECISIONS,
                             .optimizer = RP_ADAM,
                             .master = true,
                             .checkpoint = RP_CHECKPOINT_SELECTIVE,
                             .zero = -1,
                             .count = -1,
                             .tp = -1,
                             .pp = -1,
                             .dp = -1,
                             .batch = NAN,
                             .micro_batch = NAN,
                             .sequence = NAN,
                             .tokens_per_s = NAN,
                             .buffers = 1e9,
                             .per_node = 8,
                             .network = "ib-ndr"};
}

static rp_code check_number(const char *what, double value, double most, rp_error *error) {
    if (value >= 1 && value <= most)
        return RP_OK;
    return rp_fail(error, RP_USAGE, "%s is %g; it must be from 1 to %g", what, value, most);
}

static rp_code check_split(const char *what, int64_t value, rp_error *error) {
    if (value == -1 || (value >= 1 && value <= RP_PLAN_MOST_DEVICES))
        return RP_OK;
    return rp_fail(error, RP_USAGE, "%s is %lld; it must be from 1 to %d", what, (long long)value,
                   RP_PLAN_MOST_DEVICES);
}

/* TP x PP x DP = count: what is not given follows. */
static rp_code share_out(rp_plan_request *r, rp_error *error) {
    rp_code code;
    int64_t fixed;

    if ((code = check_split("the number of devices", r->count, error)) ||
        (code = check_split("tensor parallelism", r->tp, error)) ||
        (code = check_split("pipeline parallelism", r->pp, error)) ||
        (code = check_split("data parallelism", r->dp, error)))
        return code;
    if (r->pp == -1)
        r->pp = 1;
    if (r->mode == RP_PLAN_INFER && r->dp == -1 && r->tp == -1)
        r->dp = 1;
    if (r->mode == RP_PLAN_TRAIN && r->tp == -1 && r->dp == -1)
        r->tp = 1;
    fixed = r->pp * (r->tp == -1 ? 1 : r->tp);
    fixed = fixed > RP_PLAN_MOST_DEVICES ? fixed : fixed * (r->dp == -1 ? 1 : r->dp);
    if (r->count == -1)
        r->count = fixed;
    if (fixed > RP_PLAN_MOST_DEVICES || r->count % fixed)
        return rp_fail(error, RP_USAGE,
                       "%lld devices cannot be shared out over tensor x pipeline x data "
                       "parallelism that multiply to %lld",
                       (long long)r->count, (long long)fixed);
    if (r->tp == -1)
        r->tp = r->count / fixed;
    else if (r->dp == -1)
        r->dp = r->count / fixed;
    if (r->tp * r->pp * r->dp != r->count)
        return rp_fail(error, RP_USAGE,
                       "tensor x pipeline x data parallelism is %lld x %lld x %lld = %lld, not the "
                       "%lld devices given",
                       (long long)r->tp, (long long)r->pp, (long long)r->dp,
                       (long long)(r->tp * r->pp * r->dp), (long long)r->count);
    if (rp_model_has_shape(&r->model) && r->pp > r->model.layers)
        return rp_fail(error, RP_USAGE, "%lld pipeline stages for %lld layers", (long long)r->pp,
                       (long long)r->model.layers);
    return RP_OK;
}

static rp_code complete_training(rp_plan_request *r, rp_error *error) {
    rp_code code;

    if (isnan(r->micro_batch))
        r->micro_batch = 1;
    if (isnan(r->batch))
        r->batch = r->micro_batch * (double)r->dp;
    if (r->grad_dtype == RP_PRECISIONS)
        r->grad_dtype = rp_plan_bytes(r->dtype) < 2 ? RP_BF16 : r->dtype;
    if ((code = check_number("the micro-batch", r->micro_batch, 1e9, error)) ||
        (code = check_number("the batch", r->batch, 1e12, error)))
        return code;
    if (r->batch < r->micro_batch * (double)r->dp)
        return rp_fail(
            error, RP_USAGE,
            "a batch of %g is less than one micro-batch of %g on each of %lld data-parallel "
            "ranks",
            r->batch, r->micro_batch, (long long)r->dp);
    if (rp_plan_bytes(r->dtype) < 1 || r->dtype == RP_INT8)
        return rp_fail(error, RP_USAGE,
                       "training in %s is not planned for; use bf16, fp16, fp8, "
                       "tf32 or fp32",
                       rp_precision_name(r->dtype));
    return RP_OK;
}

rp_code rp_plan_complete(rp_plan_request *r, rp_error *error) {
    rp_code code;

    if ((code = rp_model_complete(&r->model, error)))
        return code;
    if (r->zero == -1)
        r->zero = r->mode == RP_PLAN_TRAIN ? 3 : 0;
    if (isnan(r->sequence))
        r->sequence = 2048;
    if (r->kv_dtype == RP_PRECISIONS) /* quantised weights do not imply a quantised cache */
        r->kv_dtype = rp_plan_bytes(r->dtype) < 2 ? RP_FP16 : r->dtype;
    if (r->zero < 0 || r->zero > 3)
        return rp_fail(error, RP_USAGE, "ZeRO has stages 0 to 3, not %d", r->zero);
    if ((code = check_number("the sequence length", r->sequence, 1e9, error)) ||
        (code = check_number("the devices of a node", (double)r->per_node, 1e6, error)))
        return code;
    if (!(r->buffers >= 0 && r->buffers < 1e15))
        return rp_fail(error, RP_USAGE, "buffers of %g bytes", r->buffers);
    if (!isnan(r->tokens_per_s) && !(r->tokens_per_s > 0 && r->tokens_per_s <= 1e15))
        return rp_fail(error, RP_USAGE, "%g tokens per second", r->tokens_per_s);
    if ((code = share_out(r, error)))
        return code;
    if (r->mode == RP_PLAN_TRAIN)
        return complete_training(r, error);
    if (isnan(r->batch))
        r->batch = 1;
    r->micro_batch = r->batch;
    if ((code = check_number("the batch", r->batch, 1e9, error)))
        return code;
    if (r->batch < (double)r->dp)
        return rp_fail(error, RP_USAGE, "%g sequences for %lld replicas", r->batch,
                       (long long)r->dp);
    return RP_OK;
}
