/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's host interface: see host.h.
 */
#include "tracer/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int host_open(host_api *api, const char *path, char *reason) {
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"cuptiProfilerHostInitialize", (void **)&api->Initialize},
        {"cuptiProfilerHostDeinitialize", (void **)&api->Deinitialize},
        {"cuptiProfilerHostGetSupportedChips", (void **)&api->GetSupportedChips},
        {"cuptiProfilerHostConfigAddMetrics", (void **)&api->ConfigAddMetrics},
        {"cuptiProfilerHostGetConfigImageSize", (void **)&api->GetConfigImageSize},
        {"cuptiProfilerHostGetConfigImage", (void **)&api->GetConfigImage},
        {"cuptiProfilerHostGetNumOfPasses", (void **)&api->GetNumOfPasses},
        {"cuptiProfilerHostEvaluateToGpuValues", (void **)&api->EvaluateToGpuValues},
    };
    memset(api, 0, sizeof *api);
    api->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!api->handle) {
        const char *why = dlerror();
        snprintf(reason, 256, "%s", why ? why : "cannot be loaded");
        return -1;
    }
    int (*version)(uint32_t *) = (int (*)(uint32_t *))dlsym(api->handle, "cuptiGetVersion");
    if (!version || version(&api->version)) {
        snprintf(reason, 256, "%.200s is no CUPTI", path);
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!(*symbols[i].slot = dlsym(api->handle, symbols[i].name)))
            api->older = true;
    char why[256];
    if (!api->older || !nvpw_open(&api->nvpw, (const void *)(uintptr_t)version, why))
        return 0;
    snprintf(reason, 256, "%.90s (version %u) has no host interface, and %.110s", path,
             api->version, why);
    return -1;
}

const char *host_name(const host_api *api) {
    return api->older ? "NVPW" : "host interface";
}

int host_image(const host_api *api, void *object, uint8_t **image, size_t *size, size_t *passes) {
    host_config_size wanted = {.size = sizeof wanted, .object = object};
    *image = NULL;
    int result = api->GetConfigImageSize(&wanted);
    if (result)
        return result;
    host_config config = {.size = sizeof config,
                          .object = object,
                          .image_size = wanted.image_size,
                          .image = malloc(wanted.image_size ? wanted.image_size : 1)};
    if (!config.image)
        return 8; /* CUPTI's OUT_OF_MEMORY */
    result = api->GetConfigImage(&config);
    host_passes p = {.size = sizeof p, .image_size = wanted.image_size, .image = config.image};
    if (!result)
        result = api->GetNumOfPasses(&p);
    if (result) {
        free(config.image);
        return result;
    }
    *image = config.image;
    *size = wanted.image_size;
    *passes = p.passes;
    return 0;
}

/* Which of them CUPTI does not know; NULL if each by itself is fine. Each is tried on an object of
 * its own: one that has refused something refuses what comes after. */
static const char *find_refused(const host_api *api, const char *chip, const char *const *metrics,
                                size_t count) {
    const char *refused = NULL;
    for (size_t i = 0; i < count && !refused; i++) {
        const char *one[1] = {metrics[i]};
        host_initialize initialize = {.size = sizeof initialize, .chip = chip};
        if (api->Initialize(&initialize))
            return NULL;
        host_add_metrics add = {
            .size = sizeof add, .object = initialize.object, .metrics = one, .count = 1};
        if (api->ConfigAddMetrics(&add))
            refused = metrics[i];
        host_deinitialize deinitialize = {.size = sizeof deinitialize, .object = initialize.object};
        api->Deinitialize(&deinitialize);
    }
    return refused;
}

static int count_passes_older(const nvpw_api *api, const char *chip, const char *const *metrics,
                              size_t count, size_t *passes, const char **refused) {
    nvpw_set set;
    nvpw_refusal r = nvpw_set_make(api, chip, NULL, metrics, count, &set, refused);
    *passes = set.passes;
    nvpw_set_free(&set);
    return r.result;
}

int host_count_passes(const host_api *api, const char *chip, const char *const *metrics,
                      size_t count, size_t *passes, const char **refused) {
    if (api->older)
        return count_passes_older(&api->nvpw, chip, metrics, count, passes, refused);
    host_initialize initialize = {.size = sizeof initialize, .chip = chip};
    uint8_t *image = NULL;
    size_t size = 0;
    int result = api->Initialize(&initialize);
    *refused = NULL;
    if (result)
        return result;
    host_add_metrics add = {.size = sizeof add,
                            .object = initialize.object,
                            .metrics = (const char **)(uintptr_t)metrics,
                            .count = count};
    result = api->ConfigAddMetrics(&add);
    if (result)
        *refused = find_refused(api, chip, metrics, count);
    else
        result = host_image(api, initialize.object, &image, &size, passes);
    free(image);
    host_deinitialize deinitialize = {.size = sizeof deinitialize, .object = initialize.object};
    api->Deinitialize(&deinitialize);
    return result;
}
