/* SPDX-License-Identifier: Apache-2.0
 *
 * The metrics evaluator: which metrics a chip has, as requests; the raw counters that they are made
 * of; and their values in a counter data image.
 */
#include "emulator/cupti/image.h"
#include "emulator/cupti/metric.h"
#include "emulator/nvperf/nvperf.h"
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVALUATOR UINT64_C(0x4c4156454e)

typedef struct evaluator { /* lies in the client's scratch buffer */
    uint64_t magic;
    void *real; /* NULL: there is no real library */
    uint8_t *real_scratch;
    bool attributes; /* of a device, from an image */
} evaluator;

static evaluator *evaluator_of(void *object) {
    evaluator *e = object;
    return e && e->magic == EVALUATOR ? e : NULL;
}

/* ---- Names and requests ---------------------------------------------------------------------- */

/* Submetrics by their number in a request; those that no metric here has are NULL. */
static const char *const subs[] = {[SUB_NONE] = "",
                                   [SUB_PEAK_SUSTAINED] = "peak_sustained",
                                   [SUB_PER_CYCLE_ELAPSED] = "per_cycle_elapsed",
                                   [SUB_PER_SECOND] = "per_second",
                                   [SUB_PCT_ELAPSED] = "pct_of_peak_sustained_elapsed"};
enum { SUBS = sizeof subs / sizeof *subs };
static const char *const rollups[ROLLUPS] = {
    [ROLLUP_AVG] = "avg", [ROLLUP_MAX] = "max", [ROLLUP_MIN] = "min", [ROLLUP_SUM] = "sum"};

/* Metrics without a real library: by their place in a list that begins with those of metric.h and
 * grows by the tensor paths that are asked for. Names stay where they are for good, so that they
 * can be handed out as raw counters. */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static name_list own, own_peaks;

static bool fill_own(void) {
    static bool filled;
    for (size_t i = 0; !filled && metric_base(i); i++)
        if (!names_add(&own, metric_base(i)))
            return false;
    return filled = true;
}

static size_t place_of(name_list *l, const char *name) {
    if (!names_add(l, name))
        return SIZE_MAX;
    size_t i = 0;
    while (strcmp(l->names[i], name))
        i++;
    return i;
}

static int find_word(const char *const *words, int count, const char *word, size_t length) {
    for (int i = 0; i < count; i++)
        if (words[i] && strlen(words[i]) == length && !strncmp(words[i], word, length))
            return i;
    return -1;
}

/* False: there is no such metric in our own table. */
static bool own_request(const char *name, eval_request *out) {
    char base[160];
    size_t length = strcspn(name, ".");
    if (!metric_known(name) || length >= sizeof base)
        return false;
    memcpy(base, name, length);
    base[length] = 0;
    const char *rollup = name + length + 1, *sub = strchr(rollup, '.');
    size_t rolled = sub ? (size_t)(sub - rollup) : strlen(rollup);
    sub = sub ? sub + 1 : "";
    pthread_mutex_lock(&own_lock);
    *out = (eval_request){.metric = fill_own() ? place_of(&own, base) : SIZE_MAX,
                          .type = METRIC_COUNTER,
                          .rollup = (uint8_t)find_word(rollups, ROLLUPS, rollup, rolled),
                          .sub = (uint16_t)find_word(subs, SUBS, sub, strlen(sub))};
    pthread_mutex_unlock(&own_lock);
    return out->metric != SIZE_MAX;
}

static const char *own_base(size_t i) {
    pthread_mutex_lock(&own_lock);
    const char *base = i < own.count ? own.names[i] : NULL;
    pthread_mutex_unlock(&own_lock);
    return base;
}

/* The base name that REQUEST means; NULL: none. */
static const char *base_of(const evaluator *e, const eval_request *request) {
    if (!e->real)
        return request->type == METRIC_COUNTER ? own_base(request->metric) : NULL;
    names_params p = {.size = sizeof p, .object = e->real, .type = request->type};
    bool there = request->type < METRIC_TYPES && !nvperf_real()->metric_names(&p);
    return there && request->metric < p.count ? p.names + p.begins[request->metric] : NULL;
}

/* "base.rollup.sub" in our words; false: none of our metrics. */
static bool name_of(const evaluator *e, const eval_request *r, char *name, size_t size) {
    const char *base = base_of(e, r);
    if (!base || r->type != METRIC_COUNTER || r->rollup >= ROLLUPS || r->sub >= SUBS ||
        !subs[r->sub])
        return false;
    snprintf(name, size, "%s.%s%s%s", base, rollups[r->rollup], *subs[r->sub] ? "." : "",
             subs[r->sub]);
    return metric_known(name);
}

static const eval_request *request_at(const void *requests, size_t stride, size_t i) {
    return (const eval_request *)(const void *)((const char *)requests + i * stride);
}

/* ---- Objects --------------------------------------------------------------------------------- */

NVPERF_EXPORT(NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize, scratch_params *p) {
    const char *chip;
    nvperf_status status =
        p ? nvperf_find_chip(p->chip, p->availability, &chip) : NVPERF_INVALID_ARGUMENT;
    if (!status)
        p->scratch_size = sizeof(evaluator);
    return status;
}

static nvperf_status open_real(evaluator *e, const char *chip) {
    scratch_params s = {.size = sizeof s, .chip = chip};
    nvperf_status status = nvperf_real()->scratch(&s);
    if (status)
        return status;
    if (!(e->real_scratch = malloc(s.scratch_size + 1)))
        return NVPERF_OUT_OF_MEMORY;
    evaluator_params p = {
        .size = sizeof p, .scratch = e->real_scratch, .scratch_size = s.scratch_size, .chip = chip};
    status = nvperf_real()->evaluator(&p);
    e->real = p.object;
    if (status)
        free(e->real_scratch);
    return status;
}

NVPERF_EXPORT(NVPW_CUDA_MetricsEvaluator_Initialize, evaluator_params *p) {
    const char *chip;
    nvperf_status status =
        p ? nvperf_find_chip(p->chip, p->availability, &chip) : NVPERF_INVALID_ARGUMENT;
    if (!status && (!p->scratch || p->scratch_size < sizeof(evaluator)))
        status = NVPERF_INVALID_ARGUMENT;
    if (status)
        return status;
    evaluator *e = (evaluator *)(void *)p->scratch;
    *e = (evaluator){.magic = EVALUATOR};
    if (nvperf_real())
        status = open_real(e, chip);
    e->magic = status ? 0 : EVALUATOR;
    p->object = status ? NULL : e;
    return status;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_Destroy, object_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e)
        return NVPERF_INVALID_ARGUMENT;
    object_params copy = {.size = sizeof copy, .object = e->real};
    if (e->real)
        nvperf_real()->evaluator_destroy(&copy);
    free(e->real_scratch);
    e->magic = 0;
    return NVPERF_SUCCESS;
}

/* ---- Listing --------------------------------------------------------------------------------- */

/* Our own names, one behind the other, made once. */
static nvperf_status own_names(names_params *p) {
    static char *text;
    static size_t *begins, count;
    pthread_mutex_lock(&own_lock);
    if (!text && fill_own()) {
        text = malloc(own.bytes);
        begins = calloc(own.count, sizeof *begins);
        for (size_t i = 0, at = 0; text && begins && metric_base(i); i++) {
            begins[count++] = at;
            at += (size_t)sprintf(text + at, "%s", own.names[i]) + 1;
        }
    }
    pthread_mutex_unlock(&own_lock);
    p->names = text;
    p->begins = begins;
    p->count = p->type == METRIC_COUNTER ? count : 0;
    return text && begins ? NVPERF_SUCCESS : NVPERF_OUT_OF_MEMORY;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_GetMetricNames, names_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e || p->type >= METRIC_TYPES)
        return NVPERF_INVALID_ARGUMENT;
    if (!e->real)
        return own_names(p);
    p->object = e->real;
    nvperf_status status = nvperf_real()->metric_names(p);
    p->object = e;
    return status;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_GetMetricTypeAndIndex, index_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    char whole[192];
    eval_request r;
    if (!e || !p->name)
        return NVPERF_INVALID_ARGUMENT;
    if (e->real) {
        p->object = e->real;
        nvperf_status status = nvperf_real()->metric_index(p);
        p->object = e;
        return status;
    }
    snprintf(whole, sizeof whole, "%.160s%s", p->name, strchr(p->name, '.') ? "" : ".sum");
    if (!own_request(whole, &r))
        return NVPERF_INVALID_ARGUMENT;
    p->type = r.type;
    p->index = r.metric;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_GetSupportedSubmetrics, subs_params *p) {
    static const uint16_t all[] = {SUB_NONE, SUB_PEAK_SUSTAINED, SUB_PER_CYCLE_ELAPSED,
                                   SUB_PER_SECOND, SUB_PCT_ELAPSED};
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e || p->type >= METRIC_TYPES)
        return NVPERF_INVALID_ARGUMENT;
    if (e->real) {
        p->object = e->real;
        nvperf_status status = nvperf_real()->subs(p);
        p->object = e;
        return status;
    }
    p->subs = all;
    p->count = p->type == METRIC_COUNTER ? sizeof all / sizeof *all : 0;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_GetCounterProperties, counter_params *p) {
    enum { UNIT_GPU = 1014363534 };
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e)
        return NVPERF_INVALID_ARGUMENT;
    if (e->real) {
        p->object = e->real;
        nvperf_status status = nvperf_real()->counter(p);
        p->object = e;
        return status;
    }
    if (!own_base(p->index))
        return NVPERF_INVALID_ARGUMENT;
    p->description = "counted by the emulated device";
    p->unit = UNIT_GPU;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest, convert_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e || !p->name || !p->request)
        return NVPERF_INVALID_ARGUMENT;
    if (e->real) {
        convert_params copy = *p;
        copy.object = e->real;
        return nvperf_real()->convert(&copy);
    }
    return own_request(p->name, p->request) ? NVPERF_SUCCESS : NVPERF_INVALID_ARGUMENT;
}

/* ---- Raw counters ---------------------------------------------------------------------------- */

/* The one raw counter of a metric of our own table; NULL: no memory, or no such metric. */
static const char *own_raw(const eval_request *r) {
    char name[192];
    const char *base = own_base(r->metric);
    if (!base || r->sub != SUB_PEAK_SUSTAINED)
        return base;
    snprintf(name, sizeof name, "%s.peak_sustained", base);
    pthread_mutex_lock(&own_lock);
    size_t place = place_of(&own_peaks, name);
    const char *kept = place == SIZE_MAX ? NULL : own_peaks.names[place];
    pthread_mutex_unlock(&own_lock);
    return kept;
}

static nvperf_status own_dependencies(dependencies_params *p) {
    size_t room = p->names ? p->name_count : 0;
    for (size_t i = 0; i < p->count; i++) {
        const char *raw = own_raw(request_at(p->requests, p->request_stride, i));
        if (!raw || (p->names && i >= room))
            return NVPERF_INVALID_ARGUMENT;
        if (p->names)
            p->names[i] = raw;
    }
    p->name_count = p->count;
    p->optional_count = 0;
    return NVPERF_SUCCESS;
}

static nvperf_status dependencies(const evaluator *e, dependencies_params *p) {
    if (!e->real)
        return own_dependencies(p);
    dependencies_params copy = *p;
    copy.object = e->real;
    nvperf_status status = nvperf_real()->dependencies(&copy);
    p->name_count = copy.name_count;
    p->optional_count = copy.optional_count;
    return status;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_GetMetricRawDependencies, dependencies_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    bool sound = e && (!p->count || p->requests) && p->request_stride >= p->request_size;
    return sound ? dependencies(e, p) : NVPERF_INVALID_ARGUMENT;
}

/* ---- Values ---------------------------------------------------------------------------------- */

NVPERF_EXPORT(NVPW_MetricsEvaluator_SetDeviceAttributes, attributes_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    if (!e || !counter_image_of(p->image, p->image_size))
        return NVPERF_INVALID_ARGUMENT;
    e->attributes = true;
    return NVPERF_SUCCESS;
}

/* Every raw counter of REQUEST is in the image. The real library makes a peak of none, and gives a
 * name of zeros where there must be one. */
static bool collected(const evaluator *e, const eval_request *request, const counter_image *image) {
    dependencies_params p = {.size = sizeof p,
                             .requests = request,
                             .count = 1,
                             .request_size = sizeof *request,
                             .request_stride = sizeof *request};
    if (e->real && request->sub == SUB_PEAK_SUSTAINED)
        return true;
    if (dependencies(e, &p))
        return false;
    const char **names = calloc(p.name_count + 1, sizeof *names);
    p.names = names;
    bool all = names && !dependencies(e, &p);
    for (size_t i = 0; all && i < p.name_count; i++)
        all = image_names((const char *)(image + 1), image->names, names[i]);
    free(names);
    return all;
}

static nvperf_status evaluate(const evaluator *e, const eval_request *request, counter_image *image,
                              size_t range, double *value) {
    const counter_range *r = counter_range_at(image, range);
    char name[192];
    *value = NAN;
    if (!collected(e, request, image)) {
        const char *base = base_of(e, request);
        nvperf_complain("metric-not-in-image",
                        "%s is evaluated, and the counter data image was not made for it",
                        base ? base : "a metric that there is not");
        return NVPERF_INVALID_ARGUMENT;
    }
    if (r->counted && image->complete && name_of(e, request, name, sizeof name))
        *value = metric_value(name, &r->counts, &image->spec);
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_MetricsEvaluator_EvaluateToGpuValues, evaluate_params *p) {
    evaluator *e = p ? evaluator_of(p->object) : NULL;
    counter_image *image = e ? counter_image_of(p->image, p->image_size) : NULL;
    if (!image || p->range >= image->count || (p->count && (!p->requests || !p->values)) ||
        p->request_stride < p->request_size)
        return NVPERF_INVALID_ARGUMENT;
    if (!e->attributes) {
        nvperf_complain("attributes-not-set", "NVPW_MetricsEvaluator_EvaluateToGpuValues comes "
                                              "before SetDeviceAttributes");
        return NVPERF_INVALID_ARGUMENT;
    }
    nvperf_status status = NVPERF_SUCCESS;
    for (size_t i = 0; !status && i < p->count; i++)
        status = evaluate(e, request_at(p->requests, p->request_stride, i), image, p->range,
                          &p->values[i]);
    return status;
}
