/* SPDX-License-Identifier: Apache-2.0
 *
 * The older way to counters, host side: see nvpw.h.
 */
#include "tracer/nvpw.h"

#include "tracer/cupti_abi.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_SIZE = ABI_SIZE(nvpw_request, submetric) };
enum { OUT_OF_MEMORY = 8 }; /* CUPTI's */

static const char memory[] = "memory for a configuration of counters";

/* The result of CUPTI's that stands for the same. */
static int result_of(int nvpw) {
    switch (nvpw) {
    case NVPW_OK:
        return CUPTI_OK;
    case NVPW_OUT_OF_MEMORY:
        return OUT_OF_MEMORY;
    case NVPW_NOT_SUPPORTED:
    case NVPW_UNSUPPORTED_GPU:
        return CUPTI_NOT_SUPPORTED;
    case NVPW_INVALID_ARGUMENT:
        return CUPTI_INVALID_PARAMETER;
    case NVPW_INSUFFICIENT_PRIVILEGE:
        return CUPTI_INSUFFICIENT_PRIVILEGES;
    case NVPW_VIRTUAL_DEVICE:
        return CUPTI_VIRTUAL_DEVICE;
    default:
        return CUPTI_UNKNOWN;
    }
}

static nvpw_refusal refused(const char *call, int nvpw) {
    return (nvpw_refusal){call, result_of(nvpw)};
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* libcupti.so.11.8 may have a libnvperf_host.so.11.8 beside it. */
static void *load_beside(const char *cupti) {
    char path[PATH_MAX + 64];
    const char *slash = strrchr(cupti, '/');
    const char *version = strstr(slash ? slash : cupti, ".so");
    int folder = slash ? (int)(slash - cupti) : 0;
    if (!slash)
        return NULL;
    snprintf(path, sizeof path, "%.*s/libnvperf_host.so", folder, cupti);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle || !version)
        return handle;
    snprintf(path, sizeof path, "%.*s/libnvperf_host%s", folder, cupti, version);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Of another folder it would be of another version: the loader is not asked. */
static void *load(const char *cupti) {
    char real[PATH_MAX];
    void *handle = load_beside(cupti);
    if (!handle && realpath(cupti, real)) /* a link from another folder */
        handle = load_beside(real);
    return handle;
}

int nvpw_open(nvpw_api *api, const void *near, char *reason) {
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"NVPW_InitializeHost", (void **)&api->InitializeHost},
        {"NVPW_GetSupportedChipNames", (void **)&api->GetSupportedChipNames},
        {"NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize",
         (void **)&api->EvaluatorScratchSize},
        {"NVPW_CUDA_MetricsEvaluator_Initialize", (void **)&api->EvaluatorInitialize},
        {"NVPW_MetricsEvaluator_Destroy", (void **)&api->EvaluatorDestroy},
        {"NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", (void **)&api->ConvertName},
        {"NVPW_MetricsEvaluator_GetMetricRawDependencies", (void **)&api->GetDependencies},
        {"NVPW_MetricsEvaluator_SetDeviceAttributes", (void **)&api->SetDeviceAttributes},
        {"NVPW_MetricsEvaluator_EvaluateToGpuValues", (void **)&api->Evaluate},
        {"NVPW_CUDA_RawMetricsConfig_Create_V2", (void **)&api->ConfigCreate},
        {"NVPW_RawMetricsConfig_Destroy", (void **)&api->ConfigDestroy},
        {"NVPW_RawMetricsConfig_SetCounterAvailability", (void **)&api->ConfigSetAvailability},
        {"NVPW_RawMetricsConfig_BeginPassGroup", (void **)&api->ConfigBeginPassGroup},
        {"NVPW_RawMetricsConfig_EndPassGroup", (void **)&api->ConfigEndPassGroup},
        {"NVPW_RawMetricsConfig_AddMetrics", (void **)&api->ConfigAddMetrics},
        {"NVPW_RawMetricsConfig_GenerateConfigImage", (void **)&api->ConfigGenerate},
        {"NVPW_RawMetricsConfig_GetConfigImage", (void **)&api->ConfigGetImage},
        {"NVPW_RawMetricsConfig_GetNumPasses", (void **)&api->ConfigGetNumPasses},
        {"NVPW_CUDA_CounterDataBuilder_Create", (void **)&api->BuilderCreate},
        {"NVPW_CounterDataBuilder_Destroy", (void **)&api->BuilderDestroy},
        {"NVPW_CounterDataBuilder_AddMetrics", (void **)&api->BuilderAddMetrics},
        {"NVPW_CounterDataBuilder_GetCounterDataPrefix", (void **)&api->BuilderGetPrefix},
        {"NVPW_CounterData_GetNumRanges", (void **)&api->GetNumRanges},
    };
    Dl_info where;
    memset(api, 0, sizeof *api);
    if (!near || !dladdr(near, &where) || !where.dli_fname ||
        !(api->handle = load(where.dli_fname))) {
        snprintf(reason, 256, "there is no libnvperf_host.so beside the libcupti");
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!(*symbols[i].slot = dlsym(api->handle, symbols[i].name))) {
            snprintf(reason, 256, "its libnvperf_host.so has no %s: CUDA 11.4 brought it",
                     symbols[i].name);
            return -1;
        }
    nvpw_plain plain = {.size = sizeof plain};
    int result = api->InitializeHost(&plain);
    if (result)
        snprintf(reason, 256, "NVPW_InitializeHost returns %d", result);
    return result ? -1 : 0;
}

/* ---- The evaluator --------------------------------------------------------------------------- */

static nvpw_refusal open_evaluator(const nvpw_api *api, const char *chip,
                                   const uint8_t *availability, void **evaluator,
                                   uint8_t **scratch) {
    nvpw_scratch s = {.size = sizeof s, .chip = chip, .availability = availability};
    *evaluator = *scratch = NULL;
    int result = api->EvaluatorScratchSize(&s);
    if (result)
        return refused("NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", result);
    if (!(*scratch = malloc(s.scratch_size ? s.scratch_size : 1)))
        return (nvpw_refusal){memory, OUT_OF_MEMORY};
    nvpw_evaluator e = {.size = sizeof e,
                        .scratch = *scratch,
                        .scratch_size = s.scratch_size,
                        .chip = chip,
                        .availability = availability};
    result = api->EvaluatorInitialize(&e);
    *evaluator = result ? NULL : e.object;
    return refused("NVPW_CUDA_MetricsEvaluator_Initialize", result);
}

static void close_evaluator(const nvpw_api *api, void *evaluator, uint8_t *scratch) {
    nvpw_object o = {.size = sizeof o, .object = evaluator};
    if (evaluator)
        api->EvaluatorDestroy(&o);
    free(scratch);
}

static int convert(const nvpw_api *api, void *evaluator, const char *name, nvpw_request *request) {
    nvpw_convert c = {.size = sizeof c,
                      .object = evaluator,
                      .name = name,
                      .request = request,
                      .request_size = REQUEST_SIZE};
    return api->ConvertName(&c);
}

/* ---- Raw counters ---------------------------------------------------------------------------- */

/* The counters that the set's metrics are made of. What they are called differs from version to
 * version, so the names are passed through. */
typedef struct raw_list {
    nvpw_raw *requests;
    size_t count;
} raw_list;

static nvpw_dependencies dependencies_of(const nvpw_set *set) {
    return (nvpw_dependencies){.size = sizeof(nvpw_dependencies),
                               .object = set->evaluator,
                               .requests = set->requests,
                               .count = set->count,
                               .request_size = REQUEST_SIZE,
                               .request_stride = sizeof(nvpw_request)};
}

static nvpw_refusal list_raw(const nvpw_set *set, raw_list *list) {
    nvpw_dependencies d = dependencies_of(set);
    nvpw_refusal r = {NULL, 0};
    const char **names = NULL;
    int result = set->api->GetDependencies(&d);
    if (!result) {
        names = calloc(d.name_count + 1, sizeof *names);
        list->requests = calloc(d.name_count + 1, sizeof *list->requests);
        if (!names || !list->requests) {
            r = (nvpw_refusal){memory, OUT_OF_MEMORY};
            goto out;
        }
        nvpw_dependencies again = dependencies_of(set);
        again.names = names;
        again.name_count = d.name_count;
        result = set->api->GetDependencies(&again);
        list->count = result ? 0 : again.name_count;
    }
    r = refused("NVPW_MetricsEvaluator_GetMetricRawDependencies", result);
    for (size_t i = 0; i < list->count; i++)
        list->requests[i] = (nvpw_raw){.size = ABI_SIZE(nvpw_raw, keep_instances),
                                       .name = names[i],
                                       .isolated = 1,
                                       .keep_instances = 1};
out:
    free(names);
    return r;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* GET's bytes, in memory of ours. */
static int copy_bytes(int (*get)(nvpw_bytes *), void *object, uint8_t **bytes, size_t *size) {
    nvpw_bytes b = {.size = sizeof b, .object = object};
    int result = get(&b);
    if (result)
        return result;
    nvpw_bytes filled = {
        .size = sizeof filled, .object = object, .room = b.copied, .bytes = malloc(b.copied + 1)};
    if (!filled.bytes)
        return NVPW_OUT_OF_MEMORY;
    result = get(&filled);
    *bytes = filled.bytes; /* the caller's, whatever the result */
    *size = filled.copied;
    return result;
}

static nvpw_refusal fill_config(nvpw_set *set, void *config, const raw_list *raw) {
    const nvpw_api *api = set->api;
    nvpw_pass_group group = {.size = sizeof group, .object = config};
    nvpw_add add = {
        .size = sizeof add, .object = config, .requests = raw->requests, .count = raw->count};
    nvpw_object object = {.size = sizeof object, .object = config};
    nvpw_generate generate = {.size = ABI_SIZE(nvpw_generate, merge), .object = config};
    nvpw_passes passes = {.size = sizeof passes, .object = config};
    nvpw_refusal r =
        refused("NVPW_RawMetricsConfig_BeginPassGroup", api->ConfigBeginPassGroup(&group));
    if (!r.result)
        r = refused("NVPW_RawMetricsConfig_AddMetrics", api->ConfigAddMetrics(&add));
    if (!r.result)
        r = refused("NVPW_RawMetricsConfig_EndPassGroup", api->ConfigEndPassGroup(&object));
    if (!r.result)
        r = refused("NVPW_RawMetricsConfig_GenerateConfigImage", api->ConfigGenerate(&generate));
    if (!r.result)
        r = refused("NVPW_RawMetricsConfig_GetConfigImage",
                    copy_bytes(api->ConfigGetImage, config, &set->config, &set->config_size));
    if (!r.result)
        r = refused("NVPW_RawMetricsConfig_GetNumPasses", api->ConfigGetNumPasses(&passes));
    set->passes = passes.pipelined + passes.isolated; /* ranges have one nesting level */
    return r;
}

static nvpw_refusal make_config(nvpw_set *set, const char *chip, const uint8_t *availability,
                                const raw_list *raw) {
    const nvpw_api *api = set->api;
    nvpw_config_create create = {.size = sizeof create,
                                 .activity = NVPW_ACTIVITY_PROFILER,
                                 .chip = chip,
                                 .availability = availability};
    nvpw_refusal r = refused("NVPW_CUDA_RawMetricsConfig_Create_V2", api->ConfigCreate(&create));
    if (r.result)
        return r;
    nvpw_config_availability a = {
        .size = sizeof a, .object = create.object, .availability = availability};
    if (availability)
        r = refused("NVPW_RawMetricsConfig_SetCounterAvailability", api->ConfigSetAvailability(&a));
    if (!r.result)
        r = fill_config(set, create.object, raw);
    nvpw_object object = {.size = sizeof object, .object = create.object};
    api->ConfigDestroy(&object);
    return r;
}

static nvpw_refusal make_prefix(nvpw_set *set, const char *chip, const uint8_t *availability,
                                const raw_list *raw) {
    const nvpw_api *api = set->api;
    nvpw_builder_create create = {
        .size = sizeof create, .chip = chip, .availability = availability};
    nvpw_refusal r = refused("NVPW_CUDA_CounterDataBuilder_Create", api->BuilderCreate(&create));
    if (r.result)
        return r;
    nvpw_add add = {.size = sizeof add,
                    .object = create.object,
                    .requests = raw->requests,
                    .count = raw->count};
    r = refused("NVPW_CounterDataBuilder_AddMetrics", api->BuilderAddMetrics(&add));
    if (!r.result)
        r = refused(
            "NVPW_CounterDataBuilder_GetCounterDataPrefix",
            copy_bytes(api->BuilderGetPrefix, create.object, &set->prefix, &set->prefix_size));
    nvpw_object object = {.size = sizeof object, .object = create.object};
    api->BuilderDestroy(&object);
    return r;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

static nvpw_refusal convert_all(nvpw_set *set, const char **unknown) {
    for (size_t i = 0; i < set->count; i++) {
        int result = convert(set->api, set->evaluator, set->names[i], &set->requests[i]);
        if (result && unknown)
            *unknown = set->names[i];
        if (result)
            return refused("NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", result);
    }
    return (nvpw_refusal){NULL, 0};
}

nvpw_refusal nvpw_set_make(const nvpw_api *api, const char *chip, const uint8_t *availability,
                           const char *const *names, size_t count, nvpw_set *set,
                           const char **unknown) {
    raw_list raw = {NULL, 0};
    *set = (nvpw_set){.api = api, .names = names, .count = count};
    if (unknown)
        *unknown = NULL;
    nvpw_refusal r = {memory, OUT_OF_MEMORY};
    if ((set->requests = calloc(count + 1, sizeof *set->requests)))
        r = open_evaluator(api, chip, availability, &set->evaluator, &set->scratch);
    if (!r.result)
        r = convert_all(set, unknown);
    if (!r.result)
        r = list_raw(set, &raw);
    if (!r.result)
        r = make_config(set, chip, availability, &raw);
    if (!r.result)
        r = make_prefix(set, chip, availability, &raw);
    free(raw.requests);
    if (r.result)
        nvpw_set_free(set);
    return r;
}

void nvpw_set_free(nvpw_set *set) {
    if (set->api)
        close_evaluator(set->api, set->evaluator, set->scratch);
    free(set->requests);
    free(set->config);
    free(set->prefix);
    *set = (nvpw_set){0};
}

/* A name may be known and still have counters that this device (a slice of one) has not, so that
 * each is configured on its own. */
size_t nvpw_keep_known(const nvpw_api *api, const char *chip, const uint8_t *availability,
                       const char **names, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        nvpw_set one;
        const char *name = names[i];
        if (!nvpw_set_make(api, chip, availability, &name, 1, &one, NULL).result)
            names[kept++] = name;
        nvpw_set_free(&one);
    }
    return kept;
}

/* ---- Evaluation ------------------------------------------------------------------------------ */

static const nvpw_request *request_of(const nvpw_set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (set->names[i] == name || !strcmp(set->names[i], name))
            return &set->requests[i];
    return NULL;
}

nvpw_refusal nvpw_evaluate_range(const nvpw_set *set, const uint8_t *image, size_t image_size,
                                 size_t i, const char *const *names, size_t count, double *values) {
    nvpw_request *requests = calloc(count + 1, sizeof *requests);
    nvpw_refusal r = {memory, OUT_OF_MEMORY};
    if (!requests)
        return r;
    for (size_t k = 0; k < count; k++) {
        const nvpw_request *found = request_of(set, names[k]);
        if (!found) {
            r = (nvpw_refusal){"a metric that was not configured", CUPTI_INVALID_PARAMETER};
            goto out;
        }
        requests[k] = *found;
    }
    nvpw_attributes attributes = {.size = sizeof attributes,
                                  .object = set->evaluator,
                                  .image = image,
                                  .image_size = image_size};
    r = refused("NVPW_MetricsEvaluator_SetDeviceAttributes",
                set->api->SetDeviceAttributes(&attributes));
    if (r.result)
        goto out;
    nvpw_evaluate e = {.size = sizeof e,
                       .object = set->evaluator,
                       .requests = requests,
                       .count = count,
                       .request_size = REQUEST_SIZE,
                       .request_stride = sizeof *requests,
                       .image = image,
                       .image_size = image_size,
                       .range = i,
                       .isolated = 1,
                       .values = values};
    r = refused("NVPW_MetricsEvaluator_EvaluateToGpuValues", set->api->Evaluate(&e));
out:
    free(requests);
    return r;
}
