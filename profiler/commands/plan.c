/* SPDX-License-Identifier: Apache-2.0
 *
 * `roofprof plan`: whether a model will fit, on how many devices, and what will bound it.
 */
#include "analysis/plan.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "output/plan.h"
#include "plots/plots.h"
#include "support/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 32 };

enum {
    MODEL,
    PARAMS,
    ACTIVE_PARAMS,
    LAYERS,
    HIDDEN,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    FFN,
    VOCAB,
    EXPERTS,
    ACTIVE_EXPERTS,
    GPT,
    MODE,
    DTYPE,
    KV_DTYPE,
    GRAD_DTYPE,
    OPTIMIZER,
    NO_MASTER,
    CHECKPOINT,
    OFFLOAD,
    DEVICE,
    COUNT,
    TP,
    PP,
    DP,
    ZERO,
    FSDP,
    SEQUENCE_PARALLEL,
    PER_NODE,
    NETWORK,
    BATCH,
    MICRO_BATCH,
    SEQ,
    TOKENS_PER_S,
    BUFFERS,
    CEILINGS,
    FORMAT,
    PLOT,
    HWDB,
    OUTPUT
};
static const rp_option table[] = {
    [MODEL] = {"model", 0, "NAME",
               "a preset: llama-7b, llama-70b, gpt2, mixtral-8x7b, ... (a wrong\n"
               "name lists them); the options below change it"},
    [PARAMS] = {"params", 0, "N", "parameters, as in 7e9"},
    [ACTIVE_PARAMS] = {"active-params", 0, "N", "of those, used for a token (mixture of experts)"},
    [LAYERS] = {"layers", 0, "N", "transformer blocks"},
    [HIDDEN] = {"hidden", 0, "N", "hidden size"},
    [HEADS] = {"heads", 0, "N", "attention heads"},
    [KV_HEADS] = {"kv-heads", 0, "N", "heads of keys and values (fewer: grouped queries)"},
    [HEAD_DIM] = {"head-dim", 0, "N", "size of a head, if not hidden / heads"},
    [FFN] = {"ffn", 0, "N", "feed-forward size"},
    [VOCAB] = {"vocab", 0, "N", "vocabulary"},
    [EXPERTS] = {"experts", 0, "N", "experts of a layer"},
    [ACTIVE_EXPERTS] = {"active-experts", 0, "N", "of those, used for a token"},
    [GPT] = {"gpt", 0, NULL,
             "GPT blocks: two feed-forward matrices, biases (default: gated, as\n"
             "in Llama)"},
    [MODE] = {"mode", 0, "MODE", "infer (default) or train"},
    [DTYPE] = {"dtype", 0, "TYPE",
               "of weights and arithmetic: bf16 (default), fp16, fp32, tf32, fp8,\n"
               "fp4, int8, int4"},
    [KV_DTYPE] = {"kv-dtype", 0, "TYPE", "of the KV cache"},
    [GRAD_DTYPE] = {"grad-dtype", 0, "TYPE", "of gradients"},
    [OPTIMIZER] = {"optimizer", 0, "NAME", "adam (default), adam8bit, momentum, sgd"},
    [NO_MASTER] = {"no-master", 0, NULL, "no FP32 master weights"},
    [CHECKPOINT] = {"checkpoint", 0, "HOW", "activations: none, selective (default), full"},
    [OFFLOAD] = {"offload", 0, "WHAT", "to the host's memory: none (default), optimizer, params"},
    [DEVICE] = {"device", 'd', "NAME,...", "the devices to compare (default H100)"},
    [COUNT] = {"count", 'n', "N", "how many of them"},
    [TP] = {"tp", 0, "N", "tensor parallelism"},
    [PP] = {"pp", 0, "N", "pipeline parallelism"},
    [DP] = {"dp", 0, "N", "data parallelism"},
    [ZERO] = {"zero", 0, "STAGE",
              "0 to 3: partition optimizer, gradients, weights over data-parallel\n"
              "ranks (default for training: 3)"},
    [FSDP] = {"fsdp", 0, NULL, "the same as --zero 3"},
    [SEQUENCE_PARALLEL] = {"sequence-parallel", 0, NULL, "sequence parallelism beside --tp"},
    [PER_NODE] = {"per-node", 0, "N", "devices of a node (default 8)"},
    [NETWORK] = {"network", 0, "LINK",
                 "between nodes, one a device: ib-hdr, ib-ndr (default), ..."},
    [BATCH] = {"batch", 'b', "N", "sequences decoded together; training: of a step, all devices"},
    [MICRO_BATCH] = {"micro-batch", 0, "N", "training: sequences of a device at once (default 1)"},
    [SEQ] = {"seq", 's', "N", "context or training length in tokens (default 2048)"},
    [TOKENS_PER_S] = {"tokens-per-s", 0, "N", "wanted, all sequences together"},
    [BUFFERS] = {"buffers", 0, "BYTES", "context and workspaces of a device (default 1G)"},
    [CEILINGS] = {"ceilings", 0, "WHICH", "printed (default), theoretical or calibrated"},
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [PLOT] = {"plot", 0, "FILE", "draw memory and times of the devices (.png, .svg, .pdf)"},
    [HWDB] = {"hwdb", 0, "FILE", "records of your own, over the shipped ones"},
    [OUTPUT] = {"output", 'o', "FILE", "write there instead of to standard output"}};

typedef struct request {
    rp_plan_request plan;
    const char *devices, *hwdb, *output, *plot;
    rp_format format;
} request;

/* ---- Options --------------------------------------------------------------------------------- */

/* A number that the analysis judges: here it must only be one. Sizes take k, M, G as everywhere. */
static bool number(const rp_options *o, int option, double *value) {
    return rp_options_number(o, table[option].name, -1e300, 1e300, value);
}

/* Whole, within what fits; the analysis says what is sensible. -1 stands for "not given" there. */
static bool integer(const rp_options *o, const char *name, int64_t *value) {
    double n;
    if (!rp_options_number(o, name, -1e15, 1e15, &n))
        return false;
    if (n != floor(n) || n < 0) {
        rp_options_error(o, "--%s %s is not a whole number of things", name, o->value);
        return false;
    }
    *value = (int64_t)n;
    return true;
}

static bool choose(const rp_options *o, const char *name, const char *const *choices, int *choice) {
    int count = 0;
    for (; choices[count]; count++)
        if (!strcmp(o->value, choices[count])) {
            *choice = count;
            return true;
        }
    return rp_options_none_of(o, name, choices, (size_t)count);
}

/* A preset lays down the shape; options given before or after it change it. */
static bool preset(const rp_options *o, rp_model *model) {
    rp_error error;
    rp_model found, given = *model;
    const int64_t *from[] = {&given.layers,   &given.hidden, &given.heads, &given.kv_heads,
                             &given.head_dim, &given.ffn,    &given.vocab};
    int64_t *to[] = {&found.layers,   &found.hidden, &found.heads, &found.kv_heads,
                     &found.head_dim, &found.ffn,    &found.vocab};

    if (rp_model_preset(o->value, &found, &error) != RP_OK) {
        rp_options_error(o, "%s", error.message);
        return false;
    }
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (*from[i] != -1)
            *to[i] = *from[i];
    if (!isnan(given.params))
        found.params = given.params;
    if (!isnan(given.params_active))
        found.params_active = given.params_active;
    *model = found;
    return true;
}

static bool take_model(const rp_options *o, int option, rp_model *m) {
    switch (option) {
    case MODEL:
        return preset(o, m);
    case PARAMS:
        return number(o, option, &m->params);
    case ACTIVE_PARAMS:
        return number(o, option, &m->params_active);
    case LAYERS:
        return integer(o, "layers", &m->layers);
    case HIDDEN:
        return integer(o, "hidden", &m->hidden);
    case HEADS:
        return integer(o, "heads", &m->heads);
    case KV_HEADS:
        return integer(o, "kv-heads", &m->kv_heads);
    case HEAD_DIM:
        return integer(o, "head-dim", &m->head_dim);
    case FFN:
        return integer(o, "ffn", &m->ffn);
    case VOCAB:
        return integer(o, "vocab", &m->vocab);
    case EXPERTS:
        return integer(o, "experts", &m->experts);
    case ACTIVE_EXPERTS:
        return integer(o, "active-experts", &m->experts_active);
    default:
        m->gated = false;
        m->biases = true;
        return true;
    }
}

static bool take_kind(const rp_options *o, int option, rp_plan_request *r) {
    static const char *const modes[] = {"infer", "train", NULL};
    static const char *const optimizers[] = {"adam", "adam8bit", "momentum", "sgd", NULL};
    static const char *const checkpoints[] = {"none", "selective", "full", NULL};
    static const char *const offloads[] = {"none", "optimizer", "params", NULL};
    int choice = 0;
    bool ok = true;

    switch (option) {
    case MODE:
        if ((ok = choose(o, "mode", modes, &choice)))
            r->mode = (rp_plan_mode)choice;
        return ok;
    case DTYPE:
        return rp_options_precision(o, "dtype", &r->dtype);
    case KV_DTYPE:
        return rp_options_precision(o, "kv-dtype", &r->kv_dtype);
    case GRAD_DTYPE:
        return rp_options_precision(o, "grad-dtype", &r->grad_dtype);
    case OPTIMIZER:
        if ((ok = choose(o, "optimizer", optimizers, &choice)))
            r->optimizer = (rp_optimizer)choice;
        return ok;
    case NO_MASTER:
        r->master = false;
        return true;
    case CHECKPOINT:
        if ((ok = choose(o, "checkpoint", checkpoints, &choice)))
            r->checkpoint = (rp_checkpoint)choice;
        return ok;
    default:
        if ((ok = choose(o, "offload", offloads, &choice)))
            r->offload = (rp_offload)choice;
        return ok;
    }
}

static bool take_numbers(const rp_options *o, int option, rp_plan_request *r) {
    int64_t stage;

    switch (option) {
    case COUNT:
        return integer(o, "count", &r->count);
    case TP:
        return integer(o, "tp", &r->tp);
    case PP:
        return integer(o, "pp", &r->pp);
    case DP:
        return integer(o, "dp", &r->dp);
    case ZERO:
        if (!rp_options_integer(o, "zero", 0, 3, &stage))
            return false;
        r->zero = (int)stage;
        return true;
    case FSDP:
        r->zero = 3;
        return true;
    case SEQUENCE_PARALLEL:
        r->sequence_parallel = true;
        return true;
    case PER_NODE:
        return integer(o, "per-node", &r->per_node);
    case NETWORK:
        r->network = o->value;
        return true;
    case BATCH:
        return number(o, option, &r->batch);
    case MICRO_BATCH:
        return number(o, option, &r->micro_batch);
    case SEQ:
        return number(o, option, &r->sequence);
    case TOKENS_PER_S:
        return number(o, option, &r->tokens_per_s);
    default:
        return number(o, option, &r->buffers);
    }
}

static bool take(const rp_options *o, int option, request *r) {
    static const char *const sources[] = {"printed", "theoretical", "calibrated", NULL};
    int choice = 0;

    if (option == RP_OPTION_POSITIONAL) {
        rp_options_error(o, "\"%s\" is no option; a device is named with --device", o->value);
        return false;
    }
    if (option <= GPT)
        return take_model(o, option, &r->plan.model);
    if (option <= OFFLOAD)
        return take_kind(o, option, &r->plan);
    if (option > DEVICE && option <= BUFFERS)
        return take_numbers(o, option, &r->plan);
    switch (option) {
    case DEVICE:
        r->devices = o->value;
        return true;
    case CEILINGS:
        if (!choose(o, "ceilings", sources, &choice))
            return false;
        r->plan.ceilings = (rp_compare_source)choice;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &r->format))
            return true;
        rp_options_error(o, "\"%s\" is no format", o->value);
        return false;
    case PLOT:
        r->plot = o->value;
        return true;
    case HWDB:
        r->hwdb = o->value;
        return true;
    default:
        r->output = o->value;
        return true;
    }
}

/* ---- The work -------------------------------------------------------------------------------- */

/* The comma-separated NAMES. */
static rp_code find_devices(const rp_hwdb *db, const char *names, const rp_device **devices,
                            size_t *n, rp_error *error) {
    char *list = strdup(names), *save = NULL;
    rp_code code = list ? RP_OK : rp_fail(error, RP_INTERNAL, "out of memory");

    *n = 0;
    for (char *name = list ? strtok_r(list, ",", &save) : NULL; name && code == RP_OK;
         name = strtok_r(NULL, ",", &save)) {
        const rp_device *const *others;
        if (*n == MOST_DEVICES)
            code = rp_fail(error, RP_USAGE, "at most %d devices", MOST_DEVICES);
        else if ((code = rp_hwdb_find(db, name, &devices[*n], &others, error)) == RP_OK)
            rp_options_say_taken("plan", name, devices[(*n)++], others);
    }
    if (code == RP_OK && !*n)
        code = rp_fail(error, RP_USAGE, "--device names no device");
    free(list);
    return code;
}

static rp_code draw(const request *r, rp_plot_format format, const rp_plan *plan, rp_error *error) {
    rp_plot_options options = RP_PLOT_OPTIONS_INIT;

    options.format = format;
    options.output = r->plot;
    return rp_plot_plan(plan, &options, error);
}

static rp_code plan_it(const request *r, rp_error *error) {
    const rp_device *devices[MOST_DEVICES];
    rp_hwdb *db = NULL;
    rp_plan plan = {0};
    rp_output output = {0};
    rp_plot_format picture = RP_PLOT_PNG;
    size_t n = 0;
    rp_code code;

    (void)((code = r->plot ? rp_plot_format_of(r->plot, &picture, error) : RP_OK) ||
           (code = rp_hwdb_load(&db, r->hwdb, error)) ||
           (code = find_devices(db, r->devices, devices, &n, error)) ||
           (code = rp_plan_make(db, &r->plan, devices, n, &plan, error)) ||
           (code = rp_file_spare(r->output, &r->hwdb, 1, error)) ||
           (code = rp_output_open(&output, r->output, error)));
    if (code == RP_OK) {
        rp_plan_print(&plan, output.stream, r->format);
        code = rp_output_commit(&output, error);
    }
    if (code == RP_OK && r->plot)
        code = draw(r, picture, &plan, error);
    rp_plan_free(&plan);
    rp_hwdb_free(db);
    return code;
}

int rp_cmd_plan(int argc, char **argv) {
    rp_options o = RP_OPTIONS(
        argc, argv, table, "",
        "Before the run: does the model fit, on how many devices, and which of capacity, "
        "bandwidth,\n"
        "compute and communication bounds it. Every figure is modelled; the assumptions are "
        "listed.\n",
        "examples:\n"
        "  roofprof plan --params 70e9 --dtype fp16 --device H100 --tokens-per-s 50\n"
        "  roofprof plan --model llama-70b --batch 64 --seq 4096 --count 4 --device "
        "A100,H100,H200\n"
        "  roofprof plan --model llama-7b --mode train --count 8 --batch 64 --checkpoint full\n");
    request r = {.plan = rp_plan_request_default(RP_PLAN_INFER),
                 .devices = "H100",
                 .format = RP_FORMAT_TEXT};
    rp_error error = {0};
    int option;

    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (!take(&o, option, &r))
            return RP_USAGE;
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    return plan_it(&r, &error) == RP_OK ? RP_OK : rp_options_fail(&o, &error);
}
