/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a plan (plan.h): model states by optimizer and how they are spread, activations, KV
 * cache, buffers; of one device, the fullest.
 */
#include "analysis/plan.h"

#include <math.h>

typedef struct states { /* bytes of the whole model */
    double weights, master, gradients, optimizer;
} states;

static double moments(rp_optimizer optimizer) {
    switch (optimizer) {
    case RP_ADAM: /* two FP32 moments [ZeRO] */
        return 8;
    case RP_ADAM_8BIT:
        return 2;
    case RP_MOMENTUM:
        return 4;
    default:
        return 0;
    }
}

static states states_of(const rp_plan_request *r) {
    double p = rp_model_params(&r->model), bytes = rp_plan_bytes(r->dtype);
    states s = {.weights = p * bytes};

    if (r->mode == RP_PLAN_INFER)
        return s;
    s.master = r->master && bytes < 4 ? 4 * p : 0;
    s.gradients = p * rp_plan_bytes(r->grad_dtype);
    s.optimizer = p * moments(r->optimizer);
    return s;
}

/* Layers of the fullest pipeline stage; 1 of 1 when the shape is not known. */
static double stage_share(const rp_plan_request *r) {
    double layers = (double)r->model.layers, pp = (double)r->pp;
    return rp_model_has_shape(&r->model) ? ceil(layers / pp) / layers : 1 / pp;
}

static double micro_batches(const rp_plan_request *r) {
    double n = r->batch / ((double)r->dp * r->micro_batch);
    return n > 1 ? n : 1;
}

/* Values wider than the 16 bits that the formulas stand for. */
static double width(const rp_plan_request *r) {
    double bytes = rp_plan_bytes(r->dtype);
    return bytes > 2 ? bytes / 2 : 1;
}

/* What is outside the layers, on the device that has both ends of the pipeline: embedding dropout,
 * last layer norm, output layer with FP32 logits [Recompute, section 4.3]. */
static double ends(const rp_plan_request *r, double sbh, double tp) {
    double vocab = r->model.vocab > 0 ? (double)r->model.vocab : 0;
    double embedding = sbh * (double)r->pp / tp;
    double output = r->pp == 1 ? 4 * sbh / tp * (1 + vocab / (double)r->model.hidden) : 0;
    return embedding + output;
}

/* One-forward-one-backward keeps as many micro-batches in flight on the first stage as there are
 * stages: the layers of a stage times that [Recompute, section 4.2.3]. */
static double activations(const rp_plan_request *r) {
    const rp_model *m = &r->model;
    double in_flight = fmin((double)r->pp, micro_batches(r));
    double layers = ceil((double)m->layers / (double)r->pp), sbh, bytes;

    if (!rp_model_has_shape(m))
        return NAN;
    sbh = r->sequence * r->micro_batch * (double)m->hidden;
    bytes = layers * in_flight *
            rp_plan_activation_bytes_per_layer(m, r->micro_batch, r->sequence, r->tp,
                                               r->sequence_parallel, r->checkpoint);
    if (r->checkpoint == RP_CHECKPOINT_FULL) /* the layer that is being recomputed */
        bytes += rp_plan_activation_bytes_per_layer(m, r->micro_batch, r->sequence, r->tp,
                                                    r->sequence_parallel, RP_CHECKPOINT_SELECTIVE);
    return (bytes + ends(r, sbh, (double)r->tp)) * width(r);
}

/* The same over all devices, each value once. Stage i keeps pp - i micro-batches. */
static double distinct_activations(const rp_plan_request *r) {
    double all = fmin((double)r->pp, micro_batches(r)), in_flight = 0;
    for (int64_t stage = 0; stage < r->pp; stage++)
        in_flight += fmin((double)(r->pp - stage), all);
    return width(r) * (double)r->dp * (double)r->model.layers * in_flight / (double)r->pp *
           rp_plan_activation_bytes_per_layer(&r->model, r->micro_batch, r->sequence, 1, true,
                                              r->checkpoint);
}

static double kv_cache(const rp_plan_request *r, bool distinct) {
    double all =
        r->batch * r->sequence * rp_plan_kv_bytes_per_token(&r->model, rp_plan_bytes(r->kv_dtype));
    double shards = fmin((double)r->tp, (double)r->model.kv_heads); /* heads are not cut */
    double sequences = ceil(r->batch / (double)r->dp) / r->batch;
    return distinct ? all : all * sequences * stage_share(r) / shards;
}

/* Gathered weights of the layer at work and of the next one, where weights are partitioned. */
static double gathered(const rp_plan_request *r, const states *s) {
    bool apart = r->zero == 3 && r->dp > 1;
    if (!(apart || r->offload == RP_OFFLOAD_PARAMETERS) || !rp_model_has_shape(&r->model))
        return 0;
    return 2 * s->weights / (double)r->model.layers / (double)r->tp;
}

static void spread(const rp_plan_request *r, const states *s, rp_plan_memory *m) {
    double share = stage_share(r) / (double)r->tp, dp = (double)r->dp;

    m->weights = s->weights * share / (r->zero >= 3 ? dp : 1);
    m->gradients = s->gradients * share / (r->zero >= 2 ? dp : 1);
    m->master_weights = s->master * share / (r->zero >= 1 ? dp : 1);
    m->optimizer = s->optimizer * share / (r->zero >= 1 ? dp : 1);
    if (r->mode == RP_PLAN_INFER)
        m->weights = s->weights * share;
    m->host = 0;
    if (r->offload != RP_OFFLOAD_NONE) {
        m->host += m->master_weights + m->optimizer;
        m->master_weights = m->optimizer = 0;
    }
    if (r->offload == RP_OFFLOAD_PARAMETERS) {
        m->host += m->weights + m->gradients;
        m->weights = m->gradients = 0;
    }
}

static double known(double value) {
    return isnan(value) ? 0 : value;
}

rp_code rp_plan_memory_of(const rp_plan_request *request, rp_plan_memory *memory, rp_error *error) {
    states s = states_of(request);
    rp_plan_memory m = {.buffers = request->buffers};
    bool training = request->mode == RP_PLAN_TRAIN;

    spread(request, &s, &m);
    m.buffers += training || request->offload == RP_OFFLOAD_PARAMETERS ? gathered(request, &s) : 0;
    m.activations = training ? activations(request) : 0;
    m.kv_cache = training ? 0 : kv_cache(request, false);
    m.bytes_per_param =
        (s.weights + s.master + s.gradients + s.optimizer) / rp_model_params(&request->model);
    m.distinct = s.weights + s.master + s.gradients + s.optimizer -
                 m.host * (double)request->count +
                 known(training ? distinct_activations(request) : kv_cache(request, true));
    m.total = m.weights + m.master_weights + m.gradients + m.optimizer + known(m.activations) +
              known(m.kv_cache) + m.buffers;
    *memory = m;
    if (!isfinite(m.total))
        return rp_fail(error, RP_USAGE, "the sizes are beyond reason (%g bytes a device)", m.total);
    return RP_OK;
}
