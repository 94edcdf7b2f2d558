/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiler's host interface: metrics by name, configurations, passes, evaluation. Where a real
 * libcupti can be loaded (ROOFPROF_EMU_REAL_CUPTI, else a toolkit's; its host interface needs no
 * GPU), it decides which metrics a chip has and how many passes they take; else this door's own
 * table does. Configurations and evaluation are always this door's own.
 */
#include "emulator/cupti/chips.h"
#include "emulator/cupti/door.h"
#include "emulator/cupti/image.h"
#include "emulator/cupti/metric.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAGIC UINT64_C(0x54534f48554d45)

typedef struct host {
    uint64_t magic;
    char chip[32];
    void *real; /* the real library's own object; NULL: there is none */
    char **names;
    uint32_t count;
    size_t names_size;
    config_image *image; /* made when its size is asked for */
} host;

/* ---- The real library ------------------------------------------------------------------------
 */

typedef cupti_result (*real_call)(void *params);

static struct {
    real_call initialize, deinitialize, chips, base, sub, properties, add, image_size, image,
        passes;
} real;

static bool bind_real(const char *path) {
    const struct {
        const char *name;
        real_call *slot;
    } symbols[] = {{"cuptiProfilerHostInitialize", &real.initialize},
                   {"cuptiProfilerHostDeinitialize", &real.deinitialize},
                   {"cuptiProfilerHostGetSupportedChips", &real.chips},
                   {"cuptiProfilerHostGetBaseMetrics", &real.base},
                   {"cuptiProfilerHostGetSubMetrics", &real.sub},
                   {"cuptiProfilerHostGetMetricProperties", &real.properties},
                   {"cuptiProfilerHostConfigAddMetrics", &real.add},
                   {"cuptiProfilerHostGetConfigImageSize", &real.image_size},
                   {"cuptiProfilerHostGetConfigImage", &real.image},
                   {"cuptiProfilerHostGetNumOfPasses", &real.passes}};
    /* Its own symbols first: ours have the same names. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    bool whole = library != NULL;
    for (size_t i = 0; whole && i < sizeof symbols / sizeof *symbols; i++) {
        *symbols[i].slot = (real_call)dlsym(library, symbols[i].name);
        whole = *symbols[i].slot != NULL;
    }
    if (!whole)
        memset(&real, 0, sizeof real);
    return whole;
}

static void find_real(void) {
    static const char *const below[] = {"lib64/libcupti.so.13",
                                        "extras/CUPTI/lib64/libcupti.so.13"};
    const char *told = getenv("ROOFPROF_EMU_REAL_CUPTI"), *home = getenv("CUDA_HOME");
    char path[4096];
    if (told && *told) {
        if (strcmp(told, "none") != 0 && !bind_real(told))
            complain("warning", "real-cupti", "ROOFPROF_EMU_REAL_CUPTI: %s has no host interface",
                     told);
        return;
    }
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s/%s", home && *home ? home : "/usr/local/cuda", below[i]);
        if (bind_real(path))
            return;
    }
}

static bool has_real(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_real);
    return real.initialize != NULL;
}

/* ---- Objects ---------------------------------------------------------------------------------
 */


static host *host_of(void *object) {
    host *h = object;
    return h && h->magic == HOST_MAGIC ? h : NULL;
}

CUPTI_EXPORT(cuptiProfilerHostGetSupportedChips, host_chips_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(host_chips_params, names), __func__))
        return CUPTI_INVALID_PARAMETER;
    if (has_real())
        return real.chips(p);
    p->count = CHIPS;
    p->names = chips;
    return CUPTI_OK;
}

static bool known_chip(const char *name) {
    for (size_t i = 0; i < CHIPS; i++)
        if (!strcmp(chips[i], name))
            return true;
    return false;
}

static cupti_result open_real(host *h, const host_initialize_params *p) {
    host_initialize_params copy = {
        .size = SIZE_TO(host_initialize_params, host), .type = p->type, .chip = p->chip};
    cupti_result result = real.initialize(&copy); /* our availability image is not its own */
    h->real = copy.host;
    return result;
}

CUPTI_EXPORT(cuptiProfilerHostInitialize, host_initialize_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(host_initialize_params, host), __func__) || !p->chip)
        return CUPTI_INVALID_PARAMETER;
    if (p->type != PROFILER_RANGE)
        return CUPTI_NOT_SUPPORTED;
    if (!has_real() && !known_chip(p->chip))
        return CUPTI_INVALID_CHIP_NAME;
    host *h = calloc(1, sizeof *h);
    if (!h)
        return CUPTI_OUT_OF_MEMORY;
    h->magic = HOST_MAGIC;
    snprintf(h->chip, sizeof h->chip, "%s", p->chip);
    cupti_result result = has_real() ? open_real(h, p) : CUPTI_OK;
    if (result) {
        free(h);
        return result;
    }
    p->host = h;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostDeinitialize, host_params *p) {
    CUPTI_SWITCH();
    host *h = params_ok(p, SIZE_TO(host_params, host), __func__) ? host_of(p->host) : NULL;
    if (!h)
        return CUPTI_INVALID_PARAMETER;
    if (h->real)
        real.deinitialize(&(host_params){.size = SIZE_TO(host_params, host), .host = h->real});
    for (uint32_t i = 0; i < h->count; i++)
        free(h->names[i]);
    free(h->names);
    free(h->image);
    h->magic = 0;
    free(h);
    return CUPTI_OK;
}

/* ---- Listing ---------------------------------------------------------------------------------
 */

enum { TYPE_COUNTER = 0 };

CUPTI_EXPORT(cuptiProfilerHostGetBaseMetrics, host_base_params *p) {
    CUPTI_SWITCH();
    static const char *list[256];
    host *h = params_ok(p, SIZE_TO(host_base_params, count), __func__) ? host_of(p->host) : NULL;
    if (!h)
        return CUPTI_INVALID_PARAMETER;
    if (h->real) {
        p->host = h->real;
        cupti_result result = real.base(p);
        p->host = h;
        return result;
    }
    size_t n = 0;
    while (p->type == TYPE_COUNTER && n < sizeof list / sizeof *list && metric_base(n)) {
        list[n] = metric_base(n);
        n++;
    }
    p->names = list;
    p->count = n;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostGetSubMetrics, host_sub_params *p) {
    CUPTI_SWITCH();
    static const char *subs[] = {".sum",
                                 ".avg",
                                 ".min",
                                 ".max",
                                 ".sum.per_second",
                                 ".avg.per_second",
                                 ".sum.per_cycle_elapsed",
                                 ".sum.peak_sustained",
                                 ".sum.pct_of_peak_sustained_elapsed"};
    host *h = params_ok(p, SIZE_TO(host_sub_params, subs), __func__) ? host_of(p->host) : NULL;
    if (!h || !p->name)
        return CUPTI_INVALID_PARAMETER;
    if (h->real) {
        p->host = h->real;
        cupti_result result = real.sub(p);
        p->host = h;
        return result;
    }
    p->subs = subs;
    p->count = p->type == TYPE_COUNTER ? sizeof subs / sizeof *subs : 0;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostGetMetricProperties, host_properties_params *p) {
    CUPTI_SWITCH();
    static _Thread_local char unit[32];
    char whole[160];
    host *h =
        params_ok(p, SIZE_TO(host_properties_params, type), __func__) ? host_of(p->host) : NULL;
    if (!h || !p->name)
        return CUPTI_INVALID_PARAMETER;
    if (h->real) {
        p->host = h->real;
        cupti_result result = real.properties(p);
        p->host = h;
        return result;
    }
    snprintf(whole, sizeof whole, "%.140s%s", p->name, strchr(p->name, '.') ? "" : ".sum");
    if (!metric_known(whole))
        return CUPTI_INVALID_METRIC_NAME;
    snprintf(unit, sizeof unit, "%.*s", (int)strcspn(p->name, "_"), p->name);
    p->description = "counted by the emulated device";
    p->unit = unit;
    p->dimension = "";
    p->type = TYPE_COUNTER;
    return CUPTI_OK;
}

/* ---- Configurations --------------------------------------------------------------------------
 */

static cupti_result add_name(host *h, const char *name) {
    char **grown = realloc(h->names, (h->count + 1) * sizeof *grown);
    if (!grown)
        return CUPTI_OUT_OF_MEMORY;
    h->names = grown;
    if (!(grown[h->count] = strdup(name)))
        return CUPTI_OUT_OF_MEMORY;
    h->count++;
    h->names_size += strlen(name) + 1;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostConfigAddMetrics, host_add_params *p) {
    CUPTI_SWITCH();
    host *h = params_ok(p, SIZE_TO(host_add_params, count), __func__) ? host_of(p->host) : NULL;
    cupti_result result = CUPTI_OK;
    if (!h || (p->count && !p->names))
        return CUPTI_INVALID_PARAMETER;
    if (h->real) {
        host_add_params copy = *p;
        copy.host = h->real;
        result = real.add(&copy);
    }
    for (size_t i = 0; !result && i < p->count; i++)
        if (!p->names[i] || (!h->real && !metric_known(p->names[i])))
            result = CUPTI_INVALID_METRIC_NAME;
    for (size_t i = 0; !result && i < p->count; i++)
        result = add_name(h, p->names[i]);
    free(h->image);
    h->image = NULL;
    return result;
}

/* Instrumented code and hardware counters each need a pass; peaks none. */
static uint32_t own_passes(const host *h) {
    bool sass = false, hardware = false;
    for (uint32_t i = 0; i < h->count; i++)
        if (metric_is_sass(h->names[i]))
            sass = true;
        else if (!metric_is_peak(h->names[i]))
            hardware = true;
    return sass && hardware ? 2 : 1;
}

static cupti_result real_passes(const host *h, uint32_t *passes) {
    host_image_size_params size = {.size = SIZE_TO(host_image_size_params, image_size),
                                   .host = h->real};
    cupti_result result = real.image_size(&size);
    if (result)
        return result;
    uint8_t *bytes = malloc(size.image_size + 1);
    host_image_params image = {.size = SIZE_TO(host_image_params, image),
                               .host = h->real,
                               .image_size = size.image_size,
                               .image = bytes};
    host_passes_params p = {
        .size = SIZE_TO(host_passes_params, passes), .image_size = size.image_size, .image = bytes};
    result = bytes ? real.image(&image) : CUPTI_OUT_OF_MEMORY;
    if (!result)
        result = real.passes(&p);
    free(bytes);
    *passes = (uint32_t)p.passes;
    return result;
}

static cupti_result make_image(host *h) {
    uint32_t passes = 0;
    cupti_result result = CUPTI_OK;
    if (h->image)
        return CUPTI_OK;
    if (h->real)
        result = real_passes(h, &passes);
    else
        passes = own_passes(h);
    if (result)
        return result;
    size_t size = sizeof *h->image + h->names_size;
    if (!(h->image = calloc(1, size)))
        return CUPTI_OUT_OF_MEMORY;
    *h->image = (config_image){CONFIG_MAGIC, passes, h->count, size};
    char *at = (char *)(h->image + 1);
    for (uint32_t i = 0; i < h->count; i++)
        at = stpcpy(at, h->names[i]) + 1;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostGetConfigImageSize, host_image_size_params *p) {
    CUPTI_SWITCH();
    host *h = params_ok(p, SIZE_TO(host_image_size_params, image_size), __func__) ? host_of(p->host)
                                                                                  : NULL;
    cupti_result result = h ? make_image(h) : CUPTI_INVALID_PARAMETER;
    if (!result)
        p->image_size = h->image->size;
    return result;
}

CUPTI_EXPORT(cuptiProfilerHostGetConfigImage, host_image_params *p) {
    CUPTI_SWITCH();
    host *h = params_ok(p, SIZE_TO(host_image_params, image), __func__) ? host_of(p->host) : NULL;
    cupti_result result = h && p->image ? make_image(h) : CUPTI_INVALID_PARAMETER;
    if (!result && p->image_size < h->image->size)
        result = CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    if (!result)
        memcpy(p->image, h->image, h->image->size);
    return result;
}

CUPTI_EXPORT(cuptiProfilerHostGetNumOfPasses, host_passes_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(host_passes_params, passes), __func__))
        return CUPTI_INVALID_PARAMETER;
    const config_image *image = config_image_of(p->image, p->image_size);
    if (!image)
        return CUPTI_INVALID_PARAMETER;
    p->passes = image->passes;
    return CUPTI_OK;
}

/* ---- Evaluation ------------------------------------------------------------------------------
 */

/* Only what the image was made for is in it: compared without rollup and submetric. */
static bool collected(const counter_image *image, const char *name) {
    const char *at = (const char *)(image + 1);
    size_t length = strcspn(name, ".");
    for (uint32_t i = 0; i < image->names; i++) {
        if (strcspn(at, ".") == length && !strncmp(at, name, length))
            return true;
        at += strlen(at) + 1;
    }
    return false;
}

static cupti_result evaluate(counter_image *image, size_t index, const char *name, double *value) {
    const counter_range *r = counter_range_at(image, index);
    if (!name)
        return CUPTI_INVALID_PARAMETER;
    *value = NAN;
    if (!collected(image, name)) {
        complain("error", "metric-not-in-image",
                 "%s is evaluated, and the counter data image was not made for it", name);
        return CUPTI_INVALID_METRIC_NAME;
    }
    if (r->counted && image->complete)
        *value = metric_value(name, &r->counts, &image->spec);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerHostEvaluateToGpuValues, host_evaluate_params *p) {
    CUPTI_SWITCH();
    host *h =
        params_ok(p, SIZE_TO(host_evaluate_params, values), __func__) ? host_of(p->host) : NULL;
    counter_image *image = h ? counter_image_of(p->image, p->image_size) : NULL;
    if (!image || p->index >= image->count || (p->count && (!p->names || !p->values)))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = CUPTI_OK;
    for (size_t i = 0; !result && i < p->count; i++)
        result = evaluate(image, p->index, p->names[i], &p->values[i]);
    return result;
}

CUPTI_EXPORT(cuptiProfilerHostGetRangeName, host_range_name_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(host_range_name_params, name), __func__))
        return CUPTI_INVALID_PARAMETER;
    p->name = range_name(p->image, p->image_size, p->index, p->delimiter);
    return p->name ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}
