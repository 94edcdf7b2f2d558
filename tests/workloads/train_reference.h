/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of train.cu on the CPU, in double and for reading: where each parameter lies, how they
 * start, and the loss of a batch. It shares no arithmetic with the device code, so that gradients
 * can be held against its finite differences.
 */
#ifndef TRAIN_REFERENCE_H
#define TRAIN_REFERENCE_H

#include "workload.h"

enum { TRAIN_SYMBOLS = 64, TRAIN_MAX_LAYERS = 48, TRAIN_MAX_TENSORS = 5 + 12 * TRAIN_MAX_LAYERS };

typedef struct train_shape {
    int layers, heads, channels, context, batch;
} train_shape;

/* Offsets, in floats, into the one array of all parameters. */
typedef struct train_layer_layout {
    size_t gamma1, beta1, qkv, qkv_bias, out, out_bias, gamma2, beta2, up, up_bias, down, down_bias;
} train_layer_layout;

typedef struct train_tensor {
    const char *name;
    size_t at, size;
    double start;  /* the value of all elements, or */
    double spread; /* the standard deviation of random ones around 0 */
} train_tensor;

typedef struct train_layout {
    size_t symbols, positions, gamma, beta, head, count;
    train_layer_layout layer[TRAIN_MAX_LAYERS];
    int tensors;
    train_tensor tensor[TRAIN_MAX_TENSORS];
} train_layout;

static inline size_t train_tensor_add(train_layout *l, const char *name, size_t size, double start,
                                      double spread) {
    size_t at = l->count;
    l->tensor[l->tensors++] = (train_tensor){name, at, size, start, spread};
    l->count += size; /* all sizes are multiples of 64: every tensor is aligned to 256 bytes */
    return at;
}

static inline void train_layout_make(train_layout *l, const train_shape *s) {
    size_t C = (size_t)s->channels;
    double in = 1 / sqrt((double)C), deep = 1 / sqrt(2.0 * s->layers);
    memset(l, 0, sizeof *l);
    l->symbols = train_tensor_add(l, "symbols", TRAIN_SYMBOLS * C, 0, 0.1);
    l->positions = train_tensor_add(l, "positions", (size_t)s->context * C, 0, 0.1);
    for (int i = 0; i < s->layers; i++) {
        train_layer_layout *w = &l->layer[i];
        w->gamma1 = train_tensor_add(l, "gamma1", C, 1, 0);
        w->beta1 = train_tensor_add(l, "beta1", C, 0, 0);
        w->qkv = train_tensor_add(l, "qkv", C * 3 * C, 0, in);
        w->qkv_bias = train_tensor_add(l, "qkv_bias", 3 * C, 0, 0);
        w->out = train_tensor_add(l, "out", C * C, 0, in * deep);
        w->out_bias = train_tensor_add(l, "out_bias", C, 0, 0);
        w->gamma2 = train_tensor_add(l, "gamma2", C, 1, 0);
        w->beta2 = train_tensor_add(l, "beta2", C, 0, 0);
        w->up = train_tensor_add(l, "up", C * 4 * C, 0, in);
        w->up_bias = train_tensor_add(l, "up_bias", 4 * C, 0, 0);
        w->down = train_tensor_add(l, "down", 4 * C * C, 0, in / 2 * deep);
        w->down_bias = train_tensor_add(l, "down_bias", C, 0, 0);
    }
    l->gamma = train_tensor_add(l, "gamma", C, 1, 0);
    l->beta = train_tensor_add(l, "beta", C, 0, 0);
    l->head = train_tensor_add(l, "head", C * TRAIN_SYMBOLS, 0, in / 2);
}

static inline void train_initialise(float *p, const train_layout *l, const train_shape *s,
                                    uint32_t seed) {
    (void)s;
    for (int t = 0; t < l->tensors; t++)
        for (size_t i = 0; i < l->tensor[t].size; i++)
            p[l->tensor[t].at + i] = /* uniform in +- sqrt(3) has a deviation of 1 */
                (float)(l->tensor[t].start +
                        l->tensor[t].spread * 1.7320508 * wl_random_float(&seed));
}

/* out = (x - mean) / sqrt(variance + 1e-5) gamma + beta, one row. */
static inline void reference_layernorm(double *out, const double *x, const double *gamma,
                                       const double *beta, int channels) {
    double mean = 0, variance = 0;
    for (int c = 0; c < channels; c++)
        mean += x[c] / channels;
    for (int c = 0; c < channels; c++)
        variance += (x[c] - mean) * (x[c] - mean) / channels;
    for (int c = 0; c < channels; c++)
        out[c] = (x[c] - mean) / sqrt(variance + 1e-5) * gamma[c] + beta[c];
}

/* out = x W (+ bias), one row; W is inputs x outputs. */
static inline void reference_linear(double *out, const double *x, const double *w,
                                    const double *bias, int inputs, int outputs) {
    for (int o = 0; o < outputs; o++)
        out[o] = bias ? bias[o] : 0;
    for (int i = 0; i < inputs; i++)
        for (int o = 0; o < outputs; o++)
            out[o] += x[i] * w[(size_t)i * outputs + o];
}

/* GELU in its form with tanh. */
static inline double reference_gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/* Turns LENGTH values into their softmax. */
static inline void reference_softmax(double *x, int length) {
    double largest = x[0], sum = 0;
    for (int i = 1; i < length; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (int i = 0; i < length; i++)
        sum += x[i] = exp(x[i] - largest);
    for (int i = 0; i < length; i++)
        x[i] /= sum;
}

/* The causal attention of one sequence: MIXED from its T rows of queries, keys and values. SCORE is
 * room for T values. */
static inline void reference_attention(double *mixed, const double *qkv, double *score,
                                       const train_shape *s) {
    int C = s->channels, depth = C / s->heads;
    for (int h = 0; h < s->heads; h++)
        for (int t = 0; t < s->context; t++) {
            const double *q = qkv + (size_t)t * 3 * C + h * depth;
            double *out = mixed + (size_t)t * C + h * depth;
            for (int i = 0; i <= t; i++) {
                const double *k = qkv + (size_t)i * 3 * C + C + h * depth;
                score[i] = 0;
                for (int c = 0; c < depth; c++)
                    score[i] += q[c] * k[c] / sqrt((double)depth);
            }
            reference_softmax(score, t + 1);
            for (int c = 0; c < depth; c++)
                out[c] = 0;
            for (int i = 0; i <= t; i++)
                for (int c = 0; c < depth; c++)
                    out[c] += score[i] * qkv[(size_t)i * 3 * C + 2 * C + h * depth + c];
        }
}

/* One layer over one sequence of T rows X, in place. ROOM is for (4 + 1 + 4 + 4) C T + T values. */
static inline void reference_layer(double *x, double *room, const double *p,
                                   const train_layer_layout *w, const train_shape *s) {
    int C = s->channels, T = s->context;
    double *qkv = room, *mixed = qkv + (size_t)4 * C * T, *normal = mixed + (size_t)C * T;
    double *wide = normal + (size_t)4 * C * T, *score = wide + (size_t)4 * C * T;
    for (int t = 0; t < T; t++) {
        reference_layernorm(normal, x + (size_t)t * C, p + w->gamma1, p + w->beta1, C);
        reference_linear(qkv + (size_t)t * 3 * C, normal, p + w->qkv, p + w->qkv_bias, C, 3 * C);
    }
    reference_attention(mixed, qkv, score, s);
    for (int t = 0; t < T; t++) {
        double *row = x + (size_t)t * C;
        reference_linear(normal, mixed + (size_t)t * C, p + w->out, p + w->out_bias, C, C);
        for (int c = 0; c < C; c++)
            row[c] += normal[c];
        reference_layernorm(normal, row, p + w->gamma2, p + w->beta2, C);
        reference_linear(wide, normal, p + w->up, p + w->up_bias, C, 4 * C);
        for (int c = 0; c < 4 * C; c++)
            wide[c] = reference_gelu(wide[c]);
        reference_linear(normal, wide, p + w->down, p + w->down_bias, 4 * C, C);
        for (int c = 0; c < C; c++)
            row[c] += normal[c];
    }
}

/* The mean cross-entropy of a batch. */
static inline double train_reference_loss(const double *p, const train_layout *l,
                                          const train_shape *s, const int *token,
                                          const int *target) {
    int C = s->channels, T = s->context;
    double *x = (double *)wl_host_alloc((size_t)C * T * sizeof *x);
    double *room = (double *)wl_host_alloc(((size_t)13 * C * T + T) * sizeof *room);
    double *normal = (double *)wl_host_alloc((size_t)C * sizeof *normal);
    double logits[TRAIN_SYMBOLS], loss = 0;
    for (int b = 0; b < s->batch; b++) {
        for (int t = 0; t < T; t++)
            for (int c = 0; c < C; c++)
                x[(size_t)t * C + c] = p[l->symbols + (size_t)token[b * T + t] * C + c] +
                                       p[l->positions + (size_t)t * C + c];
        for (int i = 0; i < s->layers; i++)
            reference_layer(x, room, p, &l->layer[i], s);
        for (int t = 0; t < T; t++) {
            reference_layernorm(normal, x + (size_t)t * C, p + l->gamma, p + l->beta, C);
            reference_linear(logits, normal, p + l->head, NULL, C, TRAIN_SYMBOLS);
            reference_softmax(logits, TRAIN_SYMBOLS);
            loss -= log(logits[target[b * T + t]]);
        }
    }
    free(x);
    free(room);
    free(normal);
    return loss / ((double)s->batch * T);
}

#endif
