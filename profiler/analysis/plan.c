/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans (plan.h): how the devices are shared out, whether it fits and on how many, what a step
 * costs at the ceilings of a device, and which of capacity, bandwidth, compute and communication
 * bounds it.
 */
#include "analysis/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 1000000 };

/* Model FLOPs utilisation of published 16-bit training runs: 38 to 43 % (Llama 3, arXiv
 * 2407.21783), 46 % [PaLM], 41 to 56 % [Recompute]. */
static const double mfu_low = 0.38, mfu_high = 0.56;

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

/* ---- Filling in and checking the request ----------------------------------------------------- */

static rp_code check_number(const char *what, double value, double most, rp_error *error) {
    if (value >= 1 && value <= most)
        return RP_OK;
    return rp_fail(error, RP_USAGE, "%s is %g; it must be from 1 to %g", what, value, most);
}

static rp_code check_split(const char *what, int64_t value, rp_error *error) {
    if (value == -1 || (value >= 1 && value <= MOST_DEVICES))
        return RP_OK;
    return rp_fail(error, RP_USAGE, "%s is %lld; it must be from 1 to %d", what, (long long)value,
                   MOST_DEVICES);
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
    fixed = fixed > MOST_DEVICES ? fixed : fixed * (r->dp == -1 ? 1 : r->dp);
    if (r->count == -1)
        r->count = fixed;
    if (fixed > MOST_DEVICES || r->count % fixed)
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

/* ---- Assumptions and notes ------------------------------------------------------------------- */

static void assume(rp_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void assume(rp_plan *plan, const char *format, ...) {
    const size_t room = sizeof plan->assumptions / sizeof *plan->assumptions;
    va_list arguments;
    if (plan->assumption_count == room)
        return;
    va_start(arguments, format);
    vsnprintf(plan->assumptions[plan->assumption_count++], sizeof plan->assumptions[0], format,
              arguments);
    va_end(arguments);
}

static void note(rp_plan_device *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(rp_plan_device *d, const char *format, ...) {
    va_list arguments;
    if (d->note_count == RP_PLAN_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(d->notes[d->note_count++], sizeof d->notes[0], format, arguments);
    va_end(arguments);
}

static void assume_training(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;
    static const char *const checkpoints[] = {"kept whole",
                                              "selective: attention scores are not kept",
                                              "full: each layer's input alone is kept"};

    assume(plan, "training states: %s weights, %s gradients, %s%s", rp_precision_name(r->dtype),
           rp_precision_name(r->grad_dtype),
           r->optimizer == RP_ADAM        ? "Adam with two FP32 moments"
           : r->optimizer == RP_ADAM_8BIT ? "Adam with two 8-bit moments"
           : r->optimizer == RP_MOMENTUM  ? "momentum in FP32"
                                          : "plain SGD",
           r->master && rp_plan_bytes(r->dtype) < 4 ? ", FP32 master weights" : "");
    assume(plan, "ZeRO stage %d over %lld data-parallel ranks%s", r->zero, (long long)r->dp,
           r->zero == 3 ? " (as FSDP: weights, gradients and optimizer are partitioned)" : "");
    if (rp_model_has_shape(&r->model))
        assume(plan, "activations %s; 16-bit GPT block with dropout (34 sbh + 5 a s^2 b a layer)",
               checkpoints[r->checkpoint]);
    else
        assume(plan, "activations are left out: they need a shape (--layers, --hidden, --heads)");
    assume(plan,
           "FLOPs: 6 per active parameter and token%s; recomputation is added to the time, not "
           "to the useful work",
           rp_model_has_shape(&r->model) ? ", attention scores besides" : "");
    assume(plan,
           "likely time: model FLOPs utilisation of %.0f to %.0f %%, as published for 16-bit "
           "training",
           100 * mfu_low, 100 * mfu_high);
}

static void assume_inference(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;

    assume(plan, "decode: each step reads the weights once and each sequence's KV cache once, and "
                 "makes one token a sequence");
    if (rp_model_has_shape(&r->model))
        assume(plan, "KV cache in %s at a context of %g tokens, no page waste",
               rp_precision_name(r->kv_dtype), r->sequence);
    else
        assume(plan, "the KV cache is left out: it needs a shape (--layers, --hidden, --heads)");
    assume(plan, "FLOPs: 2 per active parameter and token%s",
           rp_model_has_shape(&r->model) ? ", attention scores besides" : "");
    if (plan->params_active < plan->params)
        assume(plan, "mixture of experts: tokens choose experts independently");
}

static void write_assumptions(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;

    if (plan->params_active < plan->params)
        assume(plan, "%.3g of %.3g billion parameters are active for a token",
               plan->params_active / 1e9, plan->params / 1e9);
    if (r->mode == RP_PLAN_TRAIN)
        assume_training(plan);
    else
        assume_inference(plan);
    assume(plan, "%.3g GB a device for context, workspaces and communication buffers",
           r->buffers / 1e9);
    if (r->offload != RP_OFFLOAD_NONE)
        assume(plan, "offload: %s in the host's memory; the copies over PCIe are not overlapped",
               r->offload == RP_OFFLOAD_OPTIMIZER ? "optimizer and master weights"
                                                  : "weights, gradients and optimizer");
    if (r->count > 1)
        assume(plan, "communication at the links' peak, without latency: a lower bound");
    assume(plan, "GB are 1e9 bytes; peaks are dense");
}

/* ---- Ceilings of a device -------------------------------------------------------------------- */

/* What does the arithmetic of values kept as DTYPE. */
static rp_hw_precision compute_precision(rp_hw_precision dtype) {
    return dtype == RP_INT4 || dtype == RP_INT1 ? RP_FP16 : dtype;
}

static size_t source_order(rp_compare_source source, rp_provenance order[4]) {
    static const rp_provenance orders[][4] = {
        {RP_DATASHEET, RP_THEORETICAL, RP_ESTIMATED, RP_ABSENT},
        {RP_THEORETICAL, RP_DATASHEET, RP_ESTIMATED, RP_ABSENT},
        {RP_CALIBRATED, RP_THEORETICAL, RP_DATASHEET, RP_ESTIMATED}};
    memcpy(order, orders[source], sizeof orders[source]);
    return 4;
}

static const rp_ceiling *compute_ceiling(const rp_device *d, rp_hw_precision dtype,
                                         rp_compare_source source) {
    rp_provenance order[4];
    size_t n = source_order(source, order);
    rp_hw_precision p = compute_precision(dtype);
    rp_ceiling like = {.compute = true, .precision = p, .path = RP_TENSOR};
    const rp_ceiling *c = rp_device_ceiling(d, &like, order, n);

    like.path = RP_VECTOR;
    return c ? c : rp_device_ceiling(d, &like, order, n);
}

static bool has_any_compute(const rp_device *d) {
    for (size_t i = 0; i < d->ceiling_count; i++)
        if (d->ceilings[i].compute)
            return true;
    return false;
}

static rp_code find_ceilings(const rp_plan_request *r, rp_plan_device *d, rp_error *error) {
    rp_provenance order[4];
    size_t n = source_order(r->ceilings, order);
    rp_ceiling like = {.level = RP_DRAM};
    const rp_ceiling *dram = rp_device_ceiling(d->device, &like, order, n);
    const rp_ceiling *peak = compute_ceiling(d->device, r->dtype, r->ceilings);

    if (!peak && has_any_compute(d->device))
        return rp_fail(error, RP_USAGE, "%s has no %s arithmetic", d->device->name,
                       rp_precision_name(compute_precision(r->dtype)));
    if (!peak)
        note(d, "no peak of %s is in the hardware database: limits by compute are not known",
             d->device->name);
    if (!dram)
        note(d,
             "the DRAM bandwidth of %s is not in the hardware database: limits by bandwidth are "
             "not known",
             d->device->name);
    d->peak_flops = peak ? peak->rate : NAN;
    d->peak_provenance = peak ? peak->provenance : RP_ABSENT;
    d->dram_bytes_per_s = dram ? dram->rate : NAN;
    d->dram_provenance = dram ? dram->provenance : RP_ABSENT;
    d->memory_bytes = d->device->memory_bytes > 0 ? (double)d->device->memory_bytes : NAN;
    if (isnan(d->memory_bytes))
        note(d, "the memory size of %s is not in the hardware database", d->device->name);
    return RP_OK;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

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

    for (; high <= 64 * step && high <= MOST_DEVICES; high += step)
        if (total_on(r, high) <= memory)
            return high;
    if (r->mode == RP_PLAN_TRAIN && r->zero == 0)
        step = r->per_node;
    low = high / step;
    for (high = low; high * step <= MOST_DEVICES && total_on(r, high * step) > memory;)
        high *= 2;
    if (high * step > MOST_DEVICES)
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

static rp_code fit(const rp_plan_request *r, rp_plan_device *d, rp_error *error) {
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
    if (d->memory.distinct > MOST_DEVICES * d->memory_bytes)
        return rp_fail(error, RP_USAGE, "%.3g parameters need more than %d of %s",
                       rp_model_params(&r->model), MOST_DEVICES, d->device->name);
    if (d->min_count == -1)
        note(d,
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

static double kv_read(const rp_plan_request *r) {
    double token = rp_plan_kv_bytes_per_token(&r->model, rp_plan_bytes(r->kv_dtype));
    return isnan(token) ? 0 : r->sequence * token;
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
static void decode(const rp_hwdb *db, const rp_plan_request *r, rp_plan_device *d) {
    double batch = r->batch / (double)r->dp, tp = (double)r->tp;
    double bytes = weights_read(r, batch) + batch * kv_read(r), flops = batch * decode_flops(r);
    fabric f = fabric_of(db, r, d->device);
    double state = batch * (double)r->model.hidden * 2; /* 16-bit hidden states between devices */

    d->step_bytes = bytes * (double)r->dp;
    d->step_flops = flops * (double)r->dp;
    d->memory_s = bytes / (tp * d->dram_bytes_per_s);
    d->compute_s = flops / (tp * d->peak_flops);
    d->communication_s = 0;
    if (r->count > r->dp && rp_model_has_shape(&r->model)) {
        /* two all-reduces a layer [Megatron, section 2.3], one hand-over a stage */
        double tensor = 2 * (double)r->model.layers * all_reduce(state, r->tp) /
                        link_of(r, &f, r->tp, 1, &d->link);
        double stages = (double)(r->pp - 1) * state / link_of(r, &f, r->pp, r->tp, &d->link);
        d->communication_s = tensor + stages;
        if (isnan(d->communication_s))
            note(d, "the links of %s are not in the hardware database: communication is not known",
                 d->device->name);
    } else if (r->count > r->dp) {
        d->communication_s = NAN;
    }
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

/* Seconds that one device communicates in a step. */
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

static void train(const rp_hwdb *db, const rp_plan_request *r, rp_plan_device *d) {
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
    d->mfu_low = mfu_low;
    d->mfu_high = mfu_high;
    d->likely_low_s = ideal / mfu_high;
    d->likely_high_s = ideal / mfu_low;
    if (isnan(d->communication_s))
        note(d, "the links of %s are not in the hardware database: communication is not known",
             d->device->name);
}

/* ---- A device of the plan -------------------------------------------------------------------- */

static void find_bound(rp_plan_device *d) {
    const struct {
        const char *name;
        double seconds;
    } times[] = {{"bandwidth", d->memory_s},
                 {"compute", d->compute_s},
                 {"communication", d->communication_s}};
    const char *bound = "unknown";

    d->roof_s = NAN;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!isnan(times[i].seconds) && !(times[i].seconds <= d->roof_s)) {
            d->roof_s = times[i].seconds;
            bound = times[i].name;
        }
    if (isnan(d->memory_s) || isnan(d->compute_s))
        bound = "unknown";
    if (d->likely_low_s < d->roof_s) /* no run is faster than its roof */
        d->likely_low_s = d->roof_s;
    if (d->likely_high_s < d->likely_low_s)
        d->likely_high_s = d->likely_low_s;
    if (d->fits == 0)
        bound = "capacity";
    snprintf(d->bound, sizeof d->bound, "%s", bound);
}

static rp_code plan_device(const rp_hwdb *db, const rp_plan_request *r, const rp_device *device,
                           rp_plan_device *d, rp_error *error) {
    rp_code code;

    *d = (rp_plan_device){.device = device,
                          .count = r->count,
                          .tp = r->tp,
                          .pp = r->pp,
                          .dp = r->dp,
                          .likely_low_s = NAN,
                          .likely_high_s = NAN,
                          .mfu_low = NAN,
                          .mfu_high = NAN,
                          .ridge_batch = NAN,
                          .ridge_batch_weights = NAN,
                          .required_bytes_per_s = NAN,
                          .min_count_by_bandwidth = -1};
    if ((code = find_ceilings(r, d, error)) || (code = fit(r, d, error)))
        return code;
    if (r->mode == RP_PLAN_TRAIN)
        train(db, r, d);
    else
        decode(db, r, d);
    find_bound(d);
    return RP_OK;
}

rp_code rp_plan_make(const rp_hwdb *db, const rp_plan_request *request,
                     const rp_device *const *devices, size_t n, rp_plan *plan, rp_error *error) {
    rp_code code;

    *plan = (rp_plan){.request = *request};
    if ((code = rp_plan_complete(&plan->request, error)))
        return code;
    if (!rp_hwdb_find_link(db, plan->request.network))
        return rp_fail(error, RP_USAGE, "\"%.40s\" is no link of interconnect.csv (as in ib-ndr)",
                       plan->request.network);
    plan->params = rp_model_params(&plan->request.model);
    plan->params_active = rp_model_params_active(&plan->request.model);
    plan->devices = calloc(n ? n : 1, sizeof *plan->devices);
    if (!plan->devices)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    for (size_t i = 0; i < n && code == RP_OK; i++) {
        code = plan_device(db, &plan->request, devices[i], &plan->devices[i], error);
        plan->device_count = i + 1;
    }
    if (code != RP_OK)
        rp_plan_free(plan);
    else
        write_assumptions(plan);
    return code;
}

void rp_plan_free(rp_plan *plan) {
    free(plan->devices);
    plan->devices = NULL;
    plan->device_count = 0;
}
