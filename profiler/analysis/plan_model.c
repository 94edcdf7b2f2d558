/* SPDX-License-Identifier: Apache-2.0
 *
 * Models for plan.h: presets, parameter counts from a shape, useful FLOPs, bytes of the KV cache
 * and of activations.
 */
#include "analysis/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shapes as their authors published them. GPT: biases, tied embeddings, learned positions. */
#define LLAMA(name_, layers_, hidden_, heads_, kv_, ffn_, vocab_)                                  \
    {                                                                                              \
        .name = name_, .layers = layers_, .hidden = hidden_, .heads = heads_, .kv_heads = kv_,     \
        .ffn = ffn_, .vocab = vocab_, .experts = 1, .experts_active = 1, .gated = true             \
    }
#define GPT(name_, layers_, hidden_, heads_, vocab_, positions_)                                   \
    {                                                                                              \
        .name = name_, .layers = layers_, .hidden = hidden_, .heads = heads_, .kv_heads = heads_,  \
        .ffn = 4 * (hidden_), .vocab = vocab_, .experts = 1, .experts_active = 1,                  \
        .positions = positions_, .biases = true, .tied = true                                      \
    }
static const rp_model presets[] = {
    LLAMA("llama-7b", 32, 4096, 32, 32, 11008, 32000),
    LLAMA("llama-13b", 40, 5120, 40, 40, 13824, 32000),
    LLAMA("llama-33b", 60, 6656, 52, 52, 17920, 32000),
    LLAMA("llama-65b", 80, 8192, 64, 64, 22016, 32000),
    LLAMA("llama-70b", 80, 8192, 64, 8, 28672, 32000),
    LLAMA("llama3-8b", 32, 4096, 32, 8, 14336, 128256),
    LLAMA("llama3-70b", 80, 8192, 64, 8, 28672, 128256),
    LLAMA("llama3-405b", 126, 16384, 128, 8, 53248, 128256),
    LLAMA("mistral-7b", 32, 4096, 32, 8, 14336, 32000),
    {.name = "mixtral-8x7b",
     .layers = 32,
     .hidden = 4096,
     .heads = 32,
     .kv_heads = 8,
     .ffn = 14336,
     .vocab = 32000,
     .experts = 8,
     .experts_active = 2,
     .gated = true},
    {.name = "mixtral-8x22b",
     .layers = 56,
     .hidden = 6144,
     .heads = 48,
     .kv_heads = 8,
     .ffn = 16384,
     .vocab = 32768,
     .experts = 8,
     .experts_active = 2,
     .gated = true},
    GPT("gpt2", 12, 768, 12, 50257, 1024),
    GPT("gpt2-medium", 24, 1024, 16, 50257, 1024),
    GPT("gpt2-large", 36, 1280, 20, 50257, 1024),
    GPT("gpt2-xl", 48, 1600, 25, 50257, 1024),
    GPT("gpt3-175b", 96, 12288, 96, 50257, 2048),
    GPT("opt-13b", 40, 5120, 40, 50272, 2050),
    GPT("opt-66b", 64, 9216, 72, 50272, 2050),
    GPT("opt-175b", 96, 12288, 96, 50272, 2050),
    GPT("megatron-22b", 48, 6144, 64, 51200, 2048),
    GPT("megatron-530b", 105, 20480, 128, 51200, 2048),
    GPT("megatron-1t", 128, 25600, 160, 51200, 2048),
};
enum { PRESETS = sizeof presets / sizeof *presets };

size_t rp_model_preset_count(void) {
    return PRESETS;
}

const char *rp_model_preset_name(size_t i) {
    return i < PRESETS ? presets[i].name : NULL;
}

rp_model rp_model_unknown(void) {
    return (rp_model){.params = NAN,
                      .params_active = NAN,
                      .layers = -1,
                      .hidden = -1,
                      .heads = -1,
                      .kv_heads = -1,
                      .head_dim = -1,
                      .ffn = -1,
                      .vocab = -1,
                      .experts = 1,
                      .experts_active = 1,
                      .gated = true};
}

rp_code rp_model_preset(const char *name, rp_model *model, rp_error *error) {
    char list[800] = "";
    size_t used = 0;

    for (size_t i = 0; i < PRESETS; i++) {
        if (!strcasecmp(name, presets[i].name)) {
            *model = presets[i];
            model->params = model->params_active = NAN;
            model->head_dim = -1;
            return RP_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.30s", i ? ", " : "",
                                     presets[i].name);
    }
    return rp_fail(error, RP_USAGE, "there is no preset \"%.60s\"; there are %s", name, list);
}

bool rp_model_has_shape(const rp_model *model) {
    return model->layers > 0;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static rp_code check_size(const char *what, int64_t value, int64_t most, rp_error *error) {
    if (value < 1 || value > most)
        return rp_fail(error, RP_USAGE, "%s is %lld; it must be from 1 to %lld", what,
                       (long long)value, (long long)most);
    return RP_OK;
}

static rp_code check_count(const char *what, double value, rp_error *error) {
    if (isnan(value) || (value >= 1 && value <= 1e16))
        return RP_OK;
    return rp_fail(error, RP_USAGE, "%s is %g; it must be from 1 to 1e16", what, value);
}

static bool any_shape(const rp_model *m) {
    return m->layers != -1 || m->hidden != -1 || m->heads != -1 || m->kv_heads != -1 ||
           m->head_dim != -1 || m->ffn != -1 || m->vocab != -1;
}

static rp_code check_shape(rp_model *m, rp_error *error) {
    rp_code code;

    if (m->layers == -1 || m->hidden == -1 || m->heads == -1)
        return rp_fail(
            error, RP_USAGE,
            "a shape needs the number of layers, the hidden size and the number of heads");
    if ((code = check_size("the number of layers", m->layers, 100000, error)) ||
        (code = check_size("the hidden size", m->hidden, 10000000, error)) ||
        (code = check_size("the number of heads", m->heads, 100000, error)))
        return code;
    if (m->kv_heads == -1)
        m->kv_heads = m->heads;
    if ((code = check_size("the number of KV heads", m->kv_heads, m->heads, error)))
        return code;
    if (m->heads % m->kv_heads)
        return rp_fail(error, RP_USAGE, "%lld heads cannot share %lld KV heads evenly",
                       (long long)m->heads, (long long)m->kv_heads);
    if (m->head_dim == -1) {
        if (m->hidden % m->heads)
            return rp_fail(error, RP_USAGE, "a hidden size of %lld is not divisible by %lld heads",
                           (long long)m->hidden, (long long)m->heads);
        m->head_dim = m->hidden / m->heads;
    }
    if (m->ffn == -1)
        m->ffn = 4 * m->hidden;
    if ((code = check_size("the head size", m->head_dim, 1000000, error)) ||
        (code = check_size("the feed-forward size", m->ffn, 100000000, error)) ||
        (code = check_size("the number of experts", m->experts, 100000, error)) ||
        (code = check_size("the number of active experts", m->experts_active, m->experts, error)))
        return code;
    return m->vocab == -1 ? RP_OK : check_size("the vocabulary", m->vocab, 100000000, error);
}

rp_code rp_model_complete(rp_model *model, rp_error *error) {
    rp_code code;

    if ((code = check_count("the number of parameters", model->params, error)) ||
        (code = check_count("the number of active parameters", model->params_active, error)))
        return code;
    if (any_shape(model) && (code = check_shape(model, error)))
        return code;
    if (!any_shape(model) && isnan(model->params))
        return rp_fail(
            error, RP_USAGE,
            "which model? a preset (--model llama-7b), a count (--params 7e9) or a shape "
            "(--layers, --hidden, --heads)");
    if (isnan(model->params) && model->vocab == -1)
        return rp_fail(error, RP_USAGE, "a shape without --params needs the vocabulary (--vocab)");
    if (rp_model_params_active(model) > rp_model_params(model))
        return rp_fail(error, RP_USAGE, "more parameters are active (%g) than there are (%g)",
                       rp_model_params_active(model), rp_model_params(model));
    if (!(rp_model_params(model) <= 1e16))
        return rp_fail(error, RP_USAGE, "a model of %.3g parameters is beyond reason",
                       rp_model_params(model));
    return RP_OK;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* Parameters of the shape with EXPERTS of the feed-forward blocks. */
static double count(const rp_model *m, double experts) {
    double h = (double)m->hidden, f = (double)m->ffn, v = m->vocab > 0 ? (double)m->vocab : 0;
    double q = (double)(m->heads * m->head_dim), kv = (double)(m->kv_heads * m->head_dim);
    double attention = 2 * h * q + 2 * h * kv;
    double block = (m->gated ? 3 : 2) * h * f;
    double router = m->experts > 1 ? h * (double)m->experts : 0;
    double vectors = m->biases ? q + 2 * kv + h + f + h + 4 * h : 2 * h;
    double ends = (m->tied ? 1 : 2) * v * h + (double)m->positions * h + (m->biases ? 2 : 1) * h;

    return (double)m->layers * (attention + experts * block + router + vectors) + ends;
}

double rp_model_params(const rp_model *model) {
    return isnan(model->params) ? count(model, (double)model->experts) : model->params;
}

double rp_model_params_active(const rp_model *model) {
    if (!isnan(model->params_active))
        return model->params_active;
    if (model->experts == 1 || !rp_model_has_shape(model))
        return rp_model_params(model);
    return rp_model_params(model) *
           (count(model, (double)model->experts_active) / count(model, (double)model->experts));
}

double rp_plan_model_flops(const rp_model *model, double tokens, double sequence, bool training) {
    double per_token = 2 * rp_model_params_active(model);

    if (!isnan(sequence) && rp_model_has_shape(model))
        per_token +=
            4 * (double)model->layers * (double)(model->heads * model->head_dim) * sequence;
    return tokens * per_token * (training ? 3 : 1);
}

double rp_plan_kv_bytes_per_token(const rp_model *model, double bytes) {
    if (!rp_model_has_shape(model))
        return NAN;
    return 2 * (double)model->layers * (double)(model->kv_heads * model->head_dim) * bytes;
}

double rp_plan_activation_bytes_per_layer(const rp_model *model, double micro_batch,
                                          double sequence, int64_t tensor_parallel,
                                          bool sequence_parallel, rp_checkpoint checkpoint) {
    double sbh, t = (double)tensor_parallel, scores;

    if (!rp_model_has_shape(model))
        return NAN;
    sbh = sequence * micro_batch * (double)model->hidden;
    scores = 5 * (double)model->heads * sequence / (double)model->hidden;
    switch (checkpoint) {
    case RP_CHECKPOINT_FULL:
        return 2 * sbh;
    case RP_CHECKPOINT_SELECTIVE:
        return sequence_parallel ? sbh * 34 / t : sbh * (10 + 24 / t);
    default:
        return sequence_parallel ? sbh * (34 + scores) / t : sbh * (10 + 24 / t + scores / t);
    }
}

double rp_plan_bytes(rp_hw_precision precision) {
    switch (precision) {
    case RP_FP64:
        return 8;
    case RP_FP32:
    case RP_TF32:
    case RP_INT32:
        return 4;
    case RP_BF16:
    case RP_FP16:
        return 2;
    case RP_FP8:
    case RP_INT8:
        return 1;
    case RP_FP6:
        return 0.75;
    case RP_FP4:
    case RP_INT4:
        return 0.5;
    case RP_INT1:
        return 0.125;
    default:
        return NAN;
    }
}
