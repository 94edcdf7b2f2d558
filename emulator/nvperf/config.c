/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations of raw counters, with their passes, and the prefixes of counter data images. What
 * the real library refuses, out of order or unknown, is refused with the same result, and said.
 */
#include "emulator/cupti/image.h"
#include "emulator/cupti/metric.h"
#include "emulator/nvperf/nvperf.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_OBJECT  UINT64_C(0x474643504e)
#define BUILDER_OBJECT UINT64_C(0x444c42504e)

typedef struct raw_config {
    uint64_t magic;
    void *real; /* NULL: there is no real library */
    name_list names;
    bool in_group, generated;
    size_t passes;
} raw_config;

typedef struct builder {
    uint64_t magic;
    name_list names;
} builder;

static raw_config *config_of(void *object) {
    raw_config *c = object;
    return c && c->magic == CONFIG_OBJECT ? c : NULL;
}

static builder *builder_of(void *object) {
    builder *b = object;
    return b && b->magic == BUILDER_OBJECT ? b : NULL;
}

/* ---- Configurations -------------------------------------------------------------------------- */

static nvperf_status open_real(raw_config *c, int activity, const char *chip) {
    if (!nvperf_real())
        return NVPERF_SUCCESS;
    config_params copy = {.size = sizeof copy, .activity = activity, .chip = chip};
    nvperf_status status = nvperf_real()->config(&copy); /* our availability is not its own */
    c->real = copy.object;
    return status;
}

NVPERF_EXPORT(NVPW_CUDA_RawMetricsConfig_Create_V2, config_params *p) {
    const char *chip;
    nvperf_status status =
        p ? nvperf_find_chip(p->chip, p->availability, &chip) : NVPERF_INVALID_ARGUMENT;
    if (status)
        return status;
    raw_config *c = calloc(1, sizeof *c);
    if (!c)
        return NVPERF_OUT_OF_MEMORY;
    c->magic = CONFIG_OBJECT;
    status = open_real(c, p->activity, chip);
    if (status) {
        free(c);
        return status;
    }
    p->object = c;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_Destroy, object_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    object_params copy = {.size = sizeof copy, .object = c->real};
    if (c->real)
        nvperf_real()->config_destroy(&copy);
    names_free(&c->names);
    c->magic = 0;
    free(c);
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_SetCounterAvailability, config_availability_params *p) {
    return p && config_of(p->object) && p->availability ? NVPERF_SUCCESS : NVPERF_INVALID_ARGUMENT;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_BeginPassGroup, group_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    if (c->in_group) {
        nvperf_complain("pass-group", "NVPW_RawMetricsConfig_BeginPassGroup is called twice");
        return NVPERF_ERROR;
    }
    group_params copy = {.size = sizeof copy, .object = c->real, .most = p->most};
    nvperf_status status = c->real ? nvperf_real()->begin_group(&copy) : NVPERF_SUCCESS;
    c->in_group = !status;
    return status;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_EndPassGroup, object_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    if (!c->in_group) {
        nvperf_complain("pass-group", "NVPW_RawMetricsConfig_EndPassGroup comes before Begin");
        return NVPERF_ERROR;
    }
    c->in_group = false;
    object_params copy = {.size = sizeof copy, .object = c->real};
    return c->real ? nvperf_real()->end_group(&copy) : NVPERF_SUCCESS;
}

/* One of ours: a metric's own name, or a peak's. */
static bool own_name(const char *name) {
    char whole[192];
    const char *dot = strchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    if (length > 160 || (dot && strcmp(dot, ".peak_sustained") != 0))
        return false;
    memcpy(whole, name, length);
    strcpy(whole + length, ".sum");
    return metric_known(whole);
}

static nvperf_status add_names(name_list *l, const add_params *p, bool check) {
    for (size_t i = 0; i < p->count; i++) {
        const char *name = p->requests[i].name;
        if (!name || (check && !own_name(name)))
            return NVPERF_ERROR;
        if (!names_add(l, name))
            return NVPERF_OUT_OF_MEMORY;
    }
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_AddMetrics, add_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c || (p->count && !p->requests))
        return NVPERF_INVALID_ARGUMENT;
    if (!c->in_group) {
        nvperf_complain("pass-group", "NVPW_RawMetricsConfig_AddMetrics comes outside of a pass "
                                      "group");
        return NVPERF_ERROR;
    }
    add_params copy = *p;
    copy.object = c->real;
    nvperf_status status = c->real ? nvperf_real()->add(&copy) : NVPERF_SUCCESS;
    return status ? status : add_names(&c->names, p, !c->real);
}

/* Instrumented code and hardware counters each need a pass; peaks none. */
static size_t own_passes(const name_list *l) {
    bool sass = false, hardware = false;
    for (size_t i = 0; i < l->count; i++) {
        bool is_peak = strchr(l->names[i], '.') != NULL;
        sass = sass || (!is_peak && metric_is_sass(l->names[i]));
        hardware = hardware || (!is_peak && !metric_is_sass(l->names[i]));
    }
    return sass && hardware ? 2 : 1;
}

static nvperf_status real_passes(raw_config *c, uint8_t merge) {
    generate_params generate = {.size = sizeof generate, .object = c->real, .merge = merge};
    passes_params passes = {.size = sizeof passes, .object = c->real};
    nvperf_status status = nvperf_real()->generate(&generate);
    if (!status)
        status = nvperf_real()->passes(&passes);
    c->passes = passes.pipelined + passes.isolated;
    return status;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_GenerateConfigImage, generate_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    nvperf_status status = NVPERF_SUCCESS;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    if (c->real)
        status = real_passes(c, p->merge);
    else
        c->passes = own_passes(&c->names);
    c->generated = !status;
    return status;
}

/* The bytes of HEAD and the names behind it, as far as the caller has room. */
static nvperf_status hand_out(bytes_params *p, const void *head, size_t head_size,
                              const name_list *names) {
    size_t size = head_size + names->bytes;
    if (p->bytes && p->room < size)
        return NVPERF_INVALID_ARGUMENT;
    if (p->bytes) {
        memcpy(p->bytes, head, head_size);
        names_copy(names, (char *)p->bytes + head_size);
    }
    p->copied = size;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_GetConfigImage, bytes_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    if (!c->generated) {
        nvperf_complain("image-not-generated",
                        "NVPW_RawMetricsConfig_GetConfigImage comes before GenerateConfigImage");
        return NVPERF_ERROR;
    }
    const config_image head = {CONFIG_MAGIC, (uint32_t)c->passes, (uint32_t)c->names.count,
                               sizeof head + c->names.bytes};
    return hand_out(p, &head, sizeof head, &c->names);
}

/* Instrumented passes are the isolated ones in the real library, which counts all of them so here:
 * what matters is the sum. */
NVPERF_EXPORT(NVPW_RawMetricsConfig_GetNumPasses, passes_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    p->pipelined = 0;
    p->isolated = c->generated ? c->passes : 0;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_RawMetricsConfig_GetNumPasses_V2, passes2_params *p) {
    raw_config *c = p ? config_of(p->object) : NULL;
    if (!c)
        return NVPERF_INVALID_ARGUMENT;
    p->passes = c->generated ? c->passes : 0;
    return NVPERF_SUCCESS;
}

/* ---- Prefixes -------------------------------------------------------------------------------- */

static nvperf_status make_builder(const char *name, const uint8_t *availability, void **object) {
    const char *chip;
    nvperf_status status = nvperf_find_chip(name, availability, &chip);
    if (status)
        return status;
    builder *b = calloc(1, sizeof *b);
    if (!b)
        return NVPERF_OUT_OF_MEMORY;
    b->magic = BUILDER_OBJECT;
    *object = b;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_CUDA_CounterDataBuilder_Create, builder_params *p) {
    return p ? make_builder(p->chip, p->availability, &p->object) : NVPERF_INVALID_ARGUMENT;
}

NVPERF_EXPORT(NVPW_CounterDataBuilder_Create, builder_old_params *p) {
    return p ? make_builder(p->chip, NULL, &p->object) : NVPERF_INVALID_ARGUMENT;
}

NVPERF_EXPORT(NVPW_CounterDataBuilder_Destroy, object_params *p) {
    builder *b = p ? builder_of(p->object) : NULL;
    if (!b)
        return NVPERF_INVALID_ARGUMENT;
    names_free(&b->names);
    b->magic = 0;
    free(b);
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_CounterDataBuilder_AddMetrics, add_params *p) {
    builder *b = p ? builder_of(p->object) : NULL;
    if (!b || (p->count && !p->requests))
        return NVPERF_INVALID_ARGUMENT;
    return add_names(&b->names, p, !nvperf_real());
}

NVPERF_EXPORT(NVPW_CounterDataBuilder_GetCounterDataPrefix, bytes_params *p) {
    builder *b = p ? builder_of(p->object) : NULL;
    if (!b)
        return NVPERF_INVALID_ARGUMENT;
    const prefix_image head = {PREFIX_MAGIC, (uint32_t)b->names.bytes, (uint32_t)b->names.count,
                               sizeof head + b->names.bytes};
    return hand_out(p, &head, sizeof head, &b->names);
}
