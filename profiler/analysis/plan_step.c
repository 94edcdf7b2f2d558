/* SPDX-License-Identifier: Apache-2.0
 *
 * What a step of a plan takes (plan.h): bytes, FLOPs and communication of decoding and training, at
 * the ceilings of a device.
 */
#include "analysis/plan_internal.h"

#include <math.h>
#include <string.h>

/* ---- Links ----------------------------------------------------------------------------------- */

typedef struct fabric {
    double inside, outside; /* bytes per second and device, one direction; NaN unknown */
    const char *inside_name, *outside_name;
} fabric;

static fabric fabric_of(const rp_hwdb *db, const rp_plan_request *r, const rp_device *d) {
    const rp_link *network = rp_hwdb_find_link(db, r->network);
    bool nvlink = !isnan(d->nvlink_bytes_per_s);
    fabric f = {.inside = nvlink ? d->nvlink_bytes_per_s : d->pcie_bytes_per_s,
                .inside_name = nvlink ? "NVLink" : "PCIe",
                .outside = network ? network->bytes_per_s : NAN,
                .outside_name = network ? network->generation : NULL};
    if (nvlink && strcmp(d->vendor, "NVIDIA"))
        f.inside_name = "the devices' own links";
    return f;
}

/* The link between N neighbours that take STRIDE devices each. */
static double link_of(const rp_plan_request *r, const fabric *f, int64_t n, int64_t stride,
                      const char **name) {
    bool outside = n * stride > r->per_node;
    if (n <= 1)
        return INFINITY;
    *name = outside ? f->outside_name : f->inside_name;
    return outside ? f->outside : f->inside;
}

/* Bytes that each of N devices sends for an all-reduce of BYTES by a ring: 2 (n - 1) / n. */
static double all_reduce(double bytes, int64_t n) {
    return 2 * bytes * (double)(n - 1) / (double)n;
}

/* Hidden states pass between the devices of a replica: how many bytes that are only a shape tells.
 */
static bool shape_is_missing(const rp_plan_request *r) {
    return (r->tp > 1 || r->pp > 1) && !rp_model_has_shape(&r->model);
}

static void note_communication(const rp_plan_request *r, rp_plan_device *d) {
    if (!isnan(d->communication_s))
        return;
    if (shape_is_missing(r))
        rp_plan_note(d, "communication is not known: what passes between devices needs a shape "
                        "(--layers, --hidden, --heads)");
    else
        rp_plan_note(d,
                     "the links of %s are not in the hardware database: communication is not known",
                     d->device->name);
}

/* ---- Inference ------------------------------------------------------------------------------- */

/* Weights that a step of BATCH sequences reads: all, or with experts those that some token chose.
 */
static double weights_read(const rp_plan_request *r, double batch) {
    const rp_model *m = &r->model;
    double all = rp_model_params(m), active = rp_model_params_active(m), chosen, touched;
    double bytes = rp_plan_bytes(r->dtype);

    if (active >= all)
        return all * bytes;
    if (m->experts <= 1)
        return fmin(all, active * batch) * bytes;
    chosen = (double)m->experts_active / (double)m->experts;
    touched = 1 - pow(1 - chosen, batch);
    return (active + (all - active) * (touched - chosen) / (1 - chosen)) * bytes;
}

/* KV cache that all devices of a replica read for a sequence: where there are more of them than KV
 * heads, heads are kept, and read, more than once. */
static double kv_read(const rp_plan_request *r) {
    double token = rp_plan_kv_bytes_per_token(&r->model, rp_plan_bytes(r->kv_dtype));
    double copies = fmax(1, (double)r->tp / (double)r->model.kv_heads);
    return isnan(token) ? 0 : r->sequence * token * copies;
}

static double decode_flops(const rp_plan_request *r) {
    return rp_plan_model_flops(&r->model, 1, r->sequence, false);
}

/* The batch at which arithmetic takes as long as memory, by halving; NaN: memory always longer. */
static double ridge_batch(const rp_plan_request *r, const rp_plan_device *d, double flops,
                          double kv_bytes) {
    double low = 0, high = 1e9;

    if (isnan(d->peak_flops) || isnan(d->dram_bytes_per_s))
        return NAN;
#define BEHIND(b)                                                                                  \
    ((b)*flops / d->peak_flops < (weights_read(r, (b)) + (b)*kv_bytes) / d->dram_bytes_per_s)
    if (BEHIND(high))
        return NAN;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (BEHIND(middle))
            low = middle;
        else
            high = middle;
    }
#undef BEHIND
    return high;
}

/* A replica's tensor-parallel group works on one stage at a time; stages take turns, so that
 * pipeline parallelism adds memory, not speed, to a token. */
void rp_plan_decode(const rp_hwdb *db, const rp_plan_request *r, rp_plan_device *d) {
    double batch = r->batch / (double)r->dp, tp = (double)r->tp;
    double bytes = weights_read(r, batch) + batch * kv_read(r), flops = batch * decode_flops(r);
    fabric f = fabric_of(db, r, d->device);
    double state = batch * (double)r->model.hidden * 2; /* 16-bit hidden states between devices */

    d->step_bytes = bytes * (double)r->dp;
    d->step_flops = flops * (double)r->dp;
    d->memory_s = bytes / (tp * d->dram_bytes_per_s);
    d->compute_s = flops / (tp * d->peak_flops);
    d->communication_s = 0;
    if (shape_is_missing(r)) {
        d->communication_s = NAN;
    } else if (r->count > r->dp) {
        /* two all-reduces a layer [Megatron, section 2.3], one hand-over a stage */
        double tensor = 2 * (double)r->model.layers * all_reduce(state, r->tp) /
                        link_of(r, &f, r->tp, 1, &d->link);
        double stages = (double)(r->pp - 1) * state / link_of(r, &f, r->pp, r->tp, &d->link);
        d->communication_s = tensor + stages;
    }
    note_communication(r, d);
    if (rp_model_has_shape(&r->model) && r->model.heads % r->tp && r->tp % r->model.heads)
        rp_plan_note(d,
                     "%lld attention heads do not divide among %lld devices: most programs refuse, "
                     "or leave devices idle",
                     (long long)r->model.heads, (long long)r->tp);
    d->bandwidth_limit = r->batch / d->memory_s;
    d->compute_limit = r->batch / d->compute_s;
    d->ridge_batch_weights =
        ridge_batch(r, d, 2 * rp_model_params_active(&r->model), 0) * (double)r->dp;
    d->ridge_batch = rp_model_has_shape(&r->model)
                         ? ridge_batch(r, d, decode_flops(r), kv_read(r)) * (double)r->dp
                         : d->ridge_batch_weights;
    d->required_bytes_per_s = r->tokens_per_s * bytes / batch;
    d->min_count_by_bandwidth = -1;
    if (!isnan(d->required_bytes_per_s / d->dram_bytes_per_s))
        d->min_count_by_bandwidth =
            (int64_t)fmin(ceil(d->required_bytes_per_s / d->dram_bytes_per_s * (1 - 1e-12)), 9e15);
}

/* ---- Training -------------------------------------------------------------------------------- */

/* FLOPs that recomputation adds to a step: a forward pass, or its attention scores [Recompute,
 * section 5 and appendix A]. */
static double recomputed_flops(const rp_plan_request *r) {
    double tokens = r->batch * r->sequence;
    double forward = rp_plan_model_flops(&r->model, tokens, r->sequence, false);

    if (r->checkpoint == RP_CHECKPOINT_FULL)
        return forward;
    if (r->checkpoint == RP_CHECKPOINT_SELECTIVE)
        return forward - rp_plan_model_flops(&r->model, tokens, NAN, false);
    return 0;
}

/* DRAM bytes of one device that no schedule avoids: weights for each pass, gradients added up,
 * activations out and in, optimizer states once. */
static double training_bytes(const rp_plan_request *r, const rp_plan_memory *m, double micro) {
    double shard = rp_model_params(&r->model) / (double)(r->tp * r->pp);
    double passes = r->checkpoint == RP_CHECKPOINT_FULL ? 3 : 2;
    double in_flight = fmin((double)r->pp, micro);
    double kept = isnan(m->activations) ? 0 : m->activations / in_flight;

    return micro * (passes * shard * rp_plan_bytes(r->dtype) +
                    2 * shard * rp_plan_bytes(r->grad_dtype) + 2 * kept) +
           2 * (m->master_weights + m->optimizer) + m->gradients + m->weights;
}

/* Seconds that one device communicates in a step; NaN where what passes is not known. */
static double training_communication(const rp_hwdb *db, const rp_plan_request *r, rp_plan_device *d,
                                     double micro) {
    double shard = rp_model_params(&r->model) / (double)(r->tp * r->pp), dp = (double)r->dp;
    double gradients = shard * rp_plan_bytes(r->grad_dtype);
    double weights = shard * rp_plan_bytes(r->dtype);
    double state = r->micro_batch * r->sequence * (double)r->model.hidden * 2;
    double layers = ceil((double)r->model.layers / (double)r->pp);
    double reduces = r->checkpoint == RP_CHECKPOINT_FULL ? 6 : 4;
    fabric f = fabric_of(db, r, d->device);
    double seconds = 0;

    if (shape_is_missing(r))
        return NAN;
    if (r->dp > 1) { /* ZeRO-3 gathers the weights for each pass [ZeRO, section 7] */
        double bytes = all_reduce(gradients, r->dp);
        if (r->zero == 3)
            bytes = (gradients + 2 * micro * weights) * (dp - 1) / dp;
        seconds += bytes / link_of(r, &f, r->dp, r->tp * r->pp, &d->link);
    }
    if (r->pp > 1)
        seconds += 2 * micro * state / link_of(r, &f, r->pp, r->tp, &d->link);
    if (r->tp > 1) /* two all-reduces a layer forward, two backward [Megatron, section 2.3] */
        seconds += reduces * micro * layers * all_reduce(state, r->tp) /
                   link_of(r, &f, r->tp, 1, &d->link);
    if (r->offload != RP_OFFLOAD_NONE) { /* gradients out, weights in [Offload] */
        seconds += (gradients + weights) / (r->zero ? dp : 1) / d->device->pcie_bytes_per_s;
        d->link = "PCIe";
    }
    return seconds;
}

void rp_plan_train(const rp_hwdb *db, const rp_plan_request *r, rp_plan_device *d) {
    double useful = rp_plan_model_flops(&r->model, r->batch * r->sequence, r->sequence, true);
    double micro = fmax(1, r->batch / ((double)r->dp * r->micro_batch)), n = (double)r->count;
    double ideal = useful / (n * d->peak_flops);

    d->step_flops = useful;
    d->step_bytes = n * training_bytes(r, &d->memory, micro);
    d->compute_s = (useful + recomputed_flops(r)) / (n * d->peak_flops);
    d->bubble = (double)(r->pp - 1) / (micro + (double)(r->pp - 1)); /* [Megatron, section 2.2] */
    d->compute_s /= 1 - d->bubble;
    d->memory_s = d->step_bytes / (n * d->dram_bytes_per_s);
    d->communication_s = training_communication(db, r, d, micro);
    d->bandwidth_limit = r->batch * r->sequence / d->memory_s;
    d->compute_limit = r->batch * r->sequence / d->compute_s;
    d->mfu_low = RP_PLAN_MFU_LOW;
    d->mfu_high = RP_PLAN_MFU_HIGH;
    d->likely_low_s = ideal / RP_PLAN_MFU_HIGH;
    d->likely_high_s = ideal / RP_PLAN_MFU_LOW;
    note_communication(r, d);
}
