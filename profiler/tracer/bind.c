/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and binding CUPTI: see bind.h.
 */
#include "tracer/bind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Newest first; a driver runs every CUPTI of its own CUDA version and older. */
static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                    "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                    "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                    "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
enum { NAMES = sizeof names / sizeof names[0] };

typedef struct search {
    int (*visit)(void *context, const char *path);
    void *context;
    int driver;
    char mapped[4096];  /* a libcupti that the process has already */
    char runtime[4096]; /* folder of the process's libcudart */
    char torch[4096];   /* site-packages folder above torch */
} search;

void *bind_driver_symbol(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : NULL;
}

int bind_driver_version(void) {
    int version = 0;
    int (*get)(int *) = (int (*)(int *))bind_driver_symbol("cuDriverGetVersion");
    return get && get(&version) == 0 ? version : 0;
}

/* A library newer than the driver could only refuse: not even loaded. */
static int too_new(const search *s, const char *name) {
    const char *version = strstr(name, ".so.");
    int major = version ? atoi(version + 4) : 0;
    return s->driver && major && major > s->driver / 1000;
}

static int try_path(const search *s, const char *path) {
    return access(path, R_OK) == 0 ? s->visit(s->context, path) : 0;
}

static int try_folder(const search *s, const char *folder) {
    char path[4608];
    for (int i = 0; i < NAMES; i++) {
        if (too_new(s, names[i]))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        int result = try_path(s, path);
        if (result)
            return result;
    }
    return 0;
}

static int try_below(const search *s, const char *top, const char *const *below, size_t n) {
    char folder[4352];
    for (size_t i = 0; i < n && *top; i++) {
        snprintf(folder, sizeof folder, "%s/%s", top, below[i]);
        int result = try_folder(s, folder);
        if (result)
            return result;
    }
    return 0;
}

static void keep_folder(char *out, size_t size, const char *path, int up) {
    snprintf(out, size, "%s", path);
    for (; up > 0 && *out; up--) {
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = 0;
        else
            *out = 0;
    }
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *name = strrchr(path, '/');
    (void)size;
    name = name ? name + 1 : path;
    if (!strncmp(name, "libcupti.so", 11))
        snprintf(s->mapped, sizeof s->mapped, "%s", path);
    else if (!strncmp(name, "libcudart.so", 12) || !strncmp(name, "libcudart-", 10))
        keep_folder(s->runtime, sizeof s->runtime, path, 1);
    else if (!strncmp(name, "libtorch_cuda", 13)) /* site-packages/torch/lib/libtorch_cuda.so */
        keep_folder(s->torch, sizeof s->torch, path, 3);
    return 0;
}

int bind_candidates(int driver, int (*visit)(void *context, const char *path), void *context) {
    search s = {.visit = visit, .context = context, .driver = driver};
    static const char *const beside_runtime[] = {
        ".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64", "../../../extras/CUPTI/lib64"};
    static const char *const packages[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"};
    static const char *const toolkit[] = {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib",
                                          "targets/sbsa-linux/lib", "lib"};
    static const char *const conda[] = {"lib"};
    const char *wanted = getenv("ROOFPROF_CUPTI"), *home = getenv("CUDA_HOME");
    const char *prefix = getenv("CONDA_PREFIX");
    int result;
    dl_iterate_phdr(look_at_object, &s);
    if (wanted && *wanted)
        return visit(context, wanted);
    if (*s.mapped && (result = visit(context, s.mapped)))
        return result;
    if ((result = try_below(&s, s.runtime, beside_runtime, 4)))
        return result;
    if ((result = try_below(&s, s.torch, packages, 2)))
        return result;
    if (!home || !*home)
        home = getenv("CUDA_PATH");
    if (home && (result = try_below(&s, home, toolkit, 5)))
        return result;
    if ((result = try_below(&s, "/usr/local/cuda", toolkit, 5)))
        return result;
    if (prefix && (result = try_below(&s, prefix, conda, 1)))
        return result;
    for (int i = 0; i < NAMES; i++) /* by name: the loader looks in its own places */
        if (!too_new(&s, names[i]) && (result = visit(context, names[i])))
            return result;
    return 0;
}

static bool has_profiler(const cupti_api *api) {
    return api->GetDeviceId && api->ProfilerInitialize && api->ProfilerDeviceSupported &&
           api->ProfilerGetCounterAvailability && api->DeviceGetChipName;
}

bool bind_has_sessions(const cupti_api *api) {
    const session_api *s = &api->session;
    return has_profiler(api) && s->ImageSize && s->ImageInitialize && s->ScratchSize &&
           s->ScratchInitialize && s->Begin && s->End && s->SetConfig && s->UnsetConfig &&
           s->Enable && s->Disable && s->BeginPass && s->EndPass && s->Flush;
}

bool bind_has_range_profiler(const cupti_api *api) {
    const char *sessions = getenv("ROOFPROF_SESSIONS");
    return (!sessions || strcmp(sessions, "1") != 0) && has_profiler(api) && api->RangeEnable &&
           api->RangeDisable && api->RangeStart && api->RangeStop && api->RangeSetConfig &&
           api->RangeDecodeData && api->RangeGetCounterDataSize &&
           api->RangeCounterDataImageInitialize && api->RangeGetCounterDataInfo;
}

int bind_open(const char *path, cupti_api *api, void **handle, char *reason) {
    struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"cuptiGetVersion", (void **)&api->GetVersion},
        {"cuptiGetResultString", (void **)&api->GetResultString},
        {"cuptiSubscribe", (void **)&api->Subscribe},
        {"cuptiUnsubscribe", (void **)&api->Unsubscribe},
        {"cuptiEnableCallback", (void **)&api->EnableCallback},
        {"cuptiActivityRegisterCallbacks", (void **)&api->ActivityRegisterCallbacks},
        {"cuptiActivityEnable", (void **)&api->ActivityEnable},
        {"cuptiActivityDisable", (void **)&api->ActivityDisable},
        {"cuptiActivityFlushAll", (void **)&api->ActivityFlushAll},
        {"cuptiActivityGetNextRecord", (void **)&api->ActivityGetNextRecord},
        {"cuptiActivityGetNumDroppedRecords", (void **)&api->ActivityGetNumDroppedRecords},
        {"cuptiActivityRegisterTimestampCallback",
         (void **)&api->ActivityRegisterTimestampCallback},
        {"cuptiGetTimestamp", (void **)&api->GetTimestamp},
        {"cuptiGetDeviceId", (void **)&api->GetDeviceId},
        {"cuptiGetGraphNodeId", (void **)&api->GetGraphNodeId},
        {"cuptiProfilerInitialize", (void **)&api->ProfilerInitialize},
        {"cuptiProfilerDeviceSupported", (void **)&api->ProfilerDeviceSupported},
        {"cuptiProfilerGetCounterAvailability", (void **)&api->ProfilerGetCounterAvailability},
        {"cuptiDeviceGetChipName", (void **)&api->DeviceGetChipName},
        {"cuptiRangeProfilerEnable", (void **)&api->RangeEnable},
        {"cuptiRangeProfilerDisable", (void **)&api->RangeDisable},
        {"cuptiRangeProfilerStart", (void **)&api->RangeStart},
        {"cuptiRangeProfilerStop", (void **)&api->RangeStop},
        {"cuptiRangeProfilerSetConfig", (void **)&api->RangeSetConfig},
        {"cuptiRangeProfilerDecodeData", (void **)&api->RangeDecodeData},
        {"cuptiRangeProfilerGetCounterDataSize", (void **)&api->RangeGetCounterDataSize},
        {"cuptiRangeProfilerCounterDataImageInitialize",
         (void **)&api->RangeCounterDataImageInitialize},
        {"cuptiRangeProfilerGetCounterDataInfo", (void **)&api->RangeGetCounterDataInfo},
        {"cuptiProfilerCounterDataImageCalculateSize", (void **)&api->session.ImageSize},
        {"cuptiProfilerCounterDataImageInitialize", (void **)&api->session.ImageInitialize},
        {"cuptiProfilerCounterDataImageCalculateScratchBufferSize",
         (void **)&api->session.ScratchSize},
        {"cuptiProfilerCounterDataImageInitializeScratchBuffer",
         (void **)&api->session.ScratchInitialize},
        {"cuptiProfilerBeginSession", (void **)&api->session.Begin},
        {"cuptiProfilerEndSession", (void **)&api->session.End},
        {"cuptiProfilerSetConfig", (void **)&api->session.SetConfig},
        {"cuptiProfilerUnsetConfig", (void **)&api->session.UnsetConfig},
        {"cuptiProfilerEnableProfiling", (void **)&api->session.Enable},
        {"cuptiProfilerDisableProfiling", (void **)&api->session.Disable},
        {"cuptiProfilerBeginPass", (void **)&api->session.BeginPass},
        {"cuptiProfilerEndPass", (void **)&api->session.EndPass},
        {"cuptiProfilerFlushCounterData", (void **)&api->session.Flush},
    };
    memset(api, 0, sizeof *api);
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) {
        const char *why = dlerror();
        snprintf(reason, 256, "%s", why ? why : "cannot be loaded");
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        *symbols[i].slot = dlsym(*handle, symbols[i].name);
    if (api->GetVersion && api->Subscribe && api->EnableCallback &&
        api->ActivityRegisterCallbacks && api->ActivityEnable && api->ActivityFlushAll &&
        api->ActivityGetNextRecord)
        return 0;
    snprintf(reason, 256, "%.180s: the activity interface is not there", path);
    return -1;
}
