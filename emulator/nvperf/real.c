/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of the emulated host library, how a broken rule is said, and the real library behind
 * it.
 */
#include "emulator/cuda/find.h"
#include "emulator/cupti/chips.h"
#include "emulator/cupti/image.h"
#include "emulator/nvperf/nvperf.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rules ----------------------------------------------------------------------------------- */

void nvperf_complain(const char *rule, const char *format, ...) {
    const char *strict = getenv("ROOFPROF_EMU_STRICT");
    const emu_doors *doors[2];
    char what[512], line[640];
    va_list arguments;
    if (!strict || !*strict || !strcmp(strict, "0"))
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "CUPTI: %s [%s]", what, rule);
    if (emu_find_doors(doors))
        doors[0]->say("error", line);
    else
        fprintf(stderr, "roofprof: emulated device: %s\n", line);
}

nvperf_status nvperf_not_here(const char *function) {
    nvperf_complain("not-supported", "%s is not there on an emulated device", function);
    return NVPERF_NOT_IMPLEMENTED;
}

/* ---- The real library ------------------------------------------------------------------------ */

static real_library real;
static bool has_real;

static bool bind(const char *path) {
    const struct {
        const char *name;
        real_call *slot;
    } symbols[] = {
        {"NVPW_GetSupportedChipNames", &real.chips},
        {"NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", &real.scratch},
        {"NVPW_CUDA_MetricsEvaluator_Initialize", &real.evaluator},
        {"NVPW_MetricsEvaluator_Destroy", &real.evaluator_destroy},
        {"NVPW_MetricsEvaluator_GetMetricNames", &real.metric_names},
        {"NVPW_MetricsEvaluator_GetMetricTypeAndIndex", &real.metric_index},
        {"NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", &real.convert},
        {"NVPW_MetricsEvaluator_GetSupportedSubmetrics", &real.subs},
        {"NVPW_MetricsEvaluator_GetCounterProperties", &real.counter},
        {"NVPW_MetricsEvaluator_GetMetricRawDependencies", &real.dependencies},
        {"NVPW_CUDA_RawMetricsConfig_Create_V2", &real.config},
        {"NVPW_RawMetricsConfig_Destroy", &real.config_destroy},
        {"NVPW_RawMetricsConfig_BeginPassGroup", &real.begin_group},
        {"NVPW_RawMetricsConfig_EndPassGroup", &real.end_group},
        {"NVPW_RawMetricsConfig_AddMetrics", &real.add},
        {"NVPW_RawMetricsConfig_IsAddMetricsPossible", &real.is_possible},
        {"NVPW_RawMetricsConfig_GenerateConfigImage", &real.generate},
        {"NVPW_RawMetricsConfig_GetNumPasses", &real.passes},
    };
    /* Its own symbols first: ours have the same names. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    real_call start = library ? (real_call)dlsym(library, "NVPW_InitializeHost") : NULL;
    has_real = start && !start(&(plain_params){.size = sizeof(plain_params)});
    for (size_t i = 0; has_real && i < sizeof symbols / sizeof *symbols; i++) {
        *symbols[i].slot = (real_call)dlsym(library, symbols[i].name);
        has_real = *symbols[i].slot != NULL;
    }
    return has_real;
}

static void find(void) {
    static const char *const below[] = {"extras/CUPTI/lib64", "lib64"};
    const char *told = getenv("ROOFPROF_EMU_REAL_CUPTI"), *home = getenv("CUDA_HOME");
    char path[4096];
    if (told && *told) {
        const char *slash = strrchr(told, '/');
        int folder = slash ? (int)(slash - told) : 0;
        snprintf(path, sizeof path, "%.*s/libnvperf_host.so", folder, told);
        if (slash && !bind(path))
            nvperf_complain("real-cupti", "ROOFPROF_EMU_REAL_CUPTI: there is no host library at %s",
                            path);
        return;
    }
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s/%s/libnvperf_host.so",
                 home && *home ? home : "/usr/local/cuda", below[i]);
        if (bind(path))
            return;
    }
}

const real_library *nvperf_real(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return has_real ? &real : NULL;
}

/* ---- The start, and chips -------------------------------------------------------------------- */

/* The real one serves without it as well. */
NVPERF_EXPORT(NVPW_InitializeHost, plain_params *p) {
    return p ? NVPERF_SUCCESS : NVPERF_INVALID_ARGUMENT;
}

NVPERF_EXPORT(NVPW_GetSupportedChipNames, chips_params *p) {
    if (!p)
        return NVPERF_INVALID_ARGUMENT;
    if (nvperf_real())
        return real.chips(p);
    p->names = chips;
    p->count = CHIPS;
    return NVPERF_SUCCESS;
}

nvperf_status nvperf_find_chip(const char *name, const uint8_t *availability, const char **chip) {
    const availability_image *image = (const availability_image *)(const void *)availability;
    *chip = image && image->magic == COUNTERS_MAGIC ? image->chip : name;
    if (!*chip)
        return NVPERF_INVALID_ARGUMENT;
    if (nvperf_real()) {
        scratch_params p = {.size = sizeof p, .chip = *chip};
        return real.scratch(&p);
    }
    for (size_t i = 0; i < CHIPS; i++)
        if (!strcmp(chips[i], *chip))
            return NVPERF_SUCCESS;
    return NVPERF_UNSUPPORTED_GPU;
}
