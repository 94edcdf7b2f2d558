/* SPDX-License-Identifier: Apache-2.0
 *
 * A range profiler without a device: see fake_profiler.h. Every call checks that those before it
 * were made, in the order that CUPTI's documents show; a breach is one line in the file that
 * FAKE_MISUSE names, and the tests want that file empty. Values follow from the metric's name, the
 * kernel's name and the grid (value_of), so that a test can say what they must be.
 *
 * FAKE_REFUSE, FAKE_PROBE: results (see fake_profiler.h). FAKE_UNSUPPORTED=vgpu: what
 * cuptiProfilerDeviceSupported says. FAKE_STUCK=NAME: this kernel does not return while counted,
 * until the window is stopped. FAKE_STRAY=1: a range more than launches in each window.
 * FAKE_SLOW_WINDOW_MS: what starting one takes. FAKE_SLOW_LAUNCH_MS: and what a launch takes
 * longer. FAKE_UNKNOWN=TEXT: metrics with TEXT in their name are not known.
 */
#include "fake_profiler.h"
#include "tracer/host.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { INVALID = 1, INVALID_METRIC = 17, INVALID_CHIP = 46 };
enum { RANGES = 512, METRICS = 256, CONFIG_MAGIC = 0xC0F1, IMAGE_MAGIC = 0xDA7A };

typedef struct config_image {
    uint32_t magic, passes;
} config_image;

typedef struct counted_range {
    char name[64];
    uint32_t grid;
} counted_range;

typedef struct counter_image {
    uint32_t magic, room, count;
    bool decoded;
    counted_range ranges[];
} counter_image;

typedef struct host_object {
    const char *metrics[METRICS];
    size_t count;
    bool spoiled;
} host_object;

static struct {
    bool initialised, configured;
    atomic_bool started;
    void *context;
    config_image config;
    counter_image *image;
    size_t most;
    counted_range ranges[RANGES];
    size_t count;
    bool to_decode, stop_refused;
} p; /* one context at a time, as its enabling checks */

static const uint8_t availability[] = "every counter";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stopped = PTHREAD_COND_INITIALIZER;

static cupti_result misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static cupti_result misuse(const char *format, ...) {
    const char *path = getenv("FAKE_MISUSE");
    FILE *file = path ? fopen(path, "a") : stderr;
    va_list arguments;
    va_start(arguments, format);
    if (file) {
        vfprintf(file, format, arguments);
        fputc('\n', file);
    }
    va_end(arguments);
    if (file && file != stderr)
        fclose(file);
    return INVALID;
}

/* RESULT of "NAME=RESULT" in LIST; NULL: NAME is not there. */
static const char *find_in(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static bool is_probe(void) {
    return !strcmp(program_invocation_short_name, "roofprof-probe");
}

void fake_breach(const char *what) {
    if (!is_probe())
        misuse("%s", what);
}

cupti_result fake_refusal(const char *function) {
    const char *wanted = find_in(getenv(is_probe() ? "FAKE_PROBE" : "FAKE_REFUSE"), function);
    if (wanted && !strncmp(wanted, "crash", 5))
        abort();
    if (wanted && !strncmp(wanted, "hang", 4))
        for (;;)
            pause();
    return wanted ? atoi(wanted) : CUPTI_OK;
}
#define REFUSE()                                                                                   \
    do {                                                                                           \
        cupti_result refused_ = fake_refusal(__func__);                                            \
        if (refused_)                                                                              \
            return refused_;                                                                       \
    } while (0)
#define SIZED(params, type, last)                                                                  \
    do {                                                                                           \
        if ((params)->size != ABI_SIZE(type, last))                                                \
            return misuse("%s: size %zu", __func__, (params)->size);                               \
    } while (0)

/* ---- Values ---------------------------------------------------------------------------------- */

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

static double value_of(const char *metric, const counted_range *r) {
    if (has(metric, "nan"))
        return NAN;
    if (has(metric, "peak_sustained"))
        return 1000;
    if (has(metric, "per_second"))
        return 1.5e9;
    if (has(metric, "gpu__time_duration"))
        return 5000.0 * r->grid;
    if (has(metric, "hfma2"))
        return 0;
    if (has(metric, "pipe_tensor"))
        return has(r->name, "gemm") ? 64.0 * r->grid : 0;
    return 100.0 * (double)strlen(metric) + r->grid;
}

/* ---- Target side ----------------------------------------------------------------------------- */

EXPORT cupti_result cuptiGetDeviceId(void *context, uint32_t *device);
EXPORT cupti_result cuptiProfilerInitialize(profiler_plain *params);
EXPORT cupti_result cuptiProfilerDeviceSupported(profiler_supported *params);
EXPORT cupti_result cuptiProfilerGetCounterAvailability(profiler_availability *params);
EXPORT cupti_result cuptiDeviceGetChipName(device_chip *params);
EXPORT cupti_result cuptiRangeProfilerEnable(range_enable *params);
EXPORT cupti_result cuptiRangeProfilerDisable(range_object *params);
EXPORT cupti_result cuptiRangeProfilerStart(range_object *params);
EXPORT cupti_result cuptiRangeProfilerStop(range_stop *params);
EXPORT cupti_result cuptiRangeProfilerSetConfig(range_config *params);
EXPORT cupti_result cuptiRangeProfilerDecodeData(range_decode *params);
EXPORT cupti_result cuptiRangeProfilerGetCounterDataSize(range_image_size *params);
EXPORT cupti_result cuptiRangeProfilerCounterDataImageInitialize(range_image *params);
EXPORT cupti_result cuptiRangeProfilerGetCounterDataInfo(range_info *params);

cupti_result cuptiGetDeviceId(void *context, uint32_t *device) {
    REFUSE();
    *device = 0;
    return context ? CUPTI_OK : misuse("cuptiGetDeviceId: no context");
}

cupti_result cuptiProfilerInitialize(profiler_plain *params) {
    REFUSE();
    SIZED(params, profiler_plain, private_data);
    p.initialised = true;
    return CUPTI_OK;
}

cupti_result cuptiProfilerDeviceSupported(profiler_supported *params) {
    const char *not_supported = getenv("FAKE_UNSUPPORTED");
    REFUSE();
    SIZED(params, profiler_supported, interface);
    params->architecture = params->sli = params->vgpu = params->confidential = params->cmp =
        params->wsl = SUPPORT_YES;
    if (not_supported && !strcmp(not_supported, "vgpu"))
        params->vgpu = SUPPORT_DISABLED;
    else if (not_supported)
        params->architecture = SUPPORT_NONE;
    params->supported = not_supported ? SUPPORT_NONE : SUPPORT_YES;
    return CUPTI_OK;
}

cupti_result cuptiDeviceGetChipName(device_chip *params) {
    REFUSE();
    SIZED(params, device_chip, chip);
    if (!p.initialised) /* the real one crashes */
        return misuse("cuptiDeviceGetChipName before cuptiProfilerInitialize");
    params->chip = getenv("FAKE_CHIP") ? getenv("FAKE_CHIP") : "GH100";
    return CUPTI_OK;
}

cupti_result cuptiProfilerGetCounterAvailability(profiler_availability *params) {
    REFUSE();
    SIZED(params, profiler_availability, image);
    if (!params->context)
        return misuse("cuptiProfilerGetCounterAvailability: no context");
    if (params->image && params->image_size < sizeof availability)
        return misuse("cuptiProfilerGetCounterAvailability: too little room");
    if (params->image)
        memcpy(params->image, availability, sizeof availability);
    params->image_size = sizeof availability;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerEnable(range_enable *params) {
    REFUSE();
    SIZED(params, range_enable, object);
    if (!p.initialised || !params->context || p.context)
        return misuse("cuptiRangeProfilerEnable: %s", p.context        ? "enabled already"
                                                      : !p.initialised ? "not initialised"
                                                                       : "no context");
    p.context = params->context;
    params->object = &p;
    return CUPTI_OK;
}

static cupti_result check_object(const char *function, const void *object) {
    return object == &p && p.context ? CUPTI_OK : misuse("%s: not enabled", function);
}

cupti_result cuptiRangeProfilerDisable(range_object *params) {
    REFUSE();
    if (check_object("cuptiRangeProfilerDisable", params->object))
        return INVALID;
    if (atomic_load(&p.started) && !p.stop_refused)
        return misuse("cuptiRangeProfilerDisable: in a window");
    atomic_store(&p.started, false);
    p.context = NULL;
    p.configured = false;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerGetCounterDataSize(range_image_size *params) {
    REFUSE();
    SIZED(params, range_image_size, image_size);
    if (check_object("cuptiRangeProfilerGetCounterDataSize", params->object))
        return INVALID;
    if (params->nodes < params->ranges || !params->count || !params->ranges)
        return misuse("cuptiRangeProfilerGetCounterDataSize: %u nodes for %zu ranges",
                      params->nodes, params->ranges);
    params->image_size = sizeof(counter_image) + params->ranges * sizeof(counted_range);
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerCounterDataImageInitialize(range_image *params) {
    counter_image *image = (counter_image *)(void *)params->image;
    REFUSE();
    SIZED(params, range_image, image);
    if (check_object("cuptiRangeProfilerCounterDataImageInitialize", params->object))
        return INVALID;
    if (atomic_load(&p.started) || p.to_decode)
        return misuse("cuptiRangeProfilerCounterDataImageInitialize: before the last window was "
                      "decoded");
    *image = (counter_image){
        .magic = IMAGE_MAGIC,
        .room = (uint32_t)((params->image_size - sizeof *image) / sizeof(counted_range))};
    return CUPTI_OK;
}

/* Replay by the application has one pass a run. */
static bool may_replay(int replay) {
    return replay == REPLAY_KERNEL || (replay == REPLAY_APPLICATION && p.config.passes == 1);
}

cupti_result cuptiRangeProfilerSetConfig(range_config *params) {
    REFUSE();
    SIZED(params, range_config, target_level);
    if (check_object("cuptiRangeProfilerSetConfig", params->object))
        return INVALID;
    memcpy(&p.config, params->config, sizeof p.config);
    p.image = (counter_image *)(void *)params->image;
    p.most = params->ranges_per_pass;
    if (atomic_load(&p.started) || p.to_decode)
        return misuse("cuptiRangeProfilerSetConfig: in a window");
    if (p.config.magic != CONFIG_MAGIC || params->config_size != sizeof p.config)
        return misuse("cuptiRangeProfilerSetConfig: no configuration image");
    if (p.image->magic != IMAGE_MAGIC || p.image->count || p.image->decoded)
        return misuse("cuptiRangeProfilerSetConfig: the counter image is not fresh");
    if (params->range != RANGE_AUTO || !may_replay(params->replay) || params->levels != 1 ||
        params->least_level != 1 || p.most > p.image->room || params->pass || params->target_level)
        return misuse("cuptiRangeProfilerSetConfig: ranges or levels");
    p.configured = true;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerStart(range_object *params) {
    REFUSE();
    if (check_object("cuptiRangeProfilerStart", params->object))
        return INVALID;
    if (!p.configured || atomic_load(&p.started))
        return misuse("cuptiRangeProfilerStart: %s", p.configured ? "started" : "not configured");
    p.count = 0;
    const char *slow = getenv("FAKE_SLOW_WINDOW_MS");
    usleep(slow ? (unsigned)atoi(slow) * 1000 : 0);
    atomic_store(&p.started, true);
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerStop(range_stop *params) {
    p.stop_refused = fake_refusal(__func__) != CUPTI_OK;
    REFUSE();
    SIZED(params, range_stop, all_submitted);
    if (check_object("cuptiRangeProfilerStop", params->object))
        return INVALID;
    if (!atomic_load(&p.started))
        return misuse("cuptiRangeProfilerStop: not started");
    if (getenv("FAKE_STRAY") && p.count && !is_probe())
        p.ranges[p.count++] = (counted_range){.name = "stray"};
    pthread_mutex_lock(&lock);
    atomic_store(&p.started, false);
    pthread_cond_broadcast(&stopped);
    pthread_mutex_unlock(&lock);
    p.to_decode = true;
    p.configured = false;
    params->all_submitted = 1;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerDecodeData(range_decode *params) {
    REFUSE();
    SIZED(params, range_decode, dropped);
    if (check_object("cuptiRangeProfilerDecodeData", params->object))
        return INVALID;
    if (!p.to_decode)
        return misuse("cuptiRangeProfilerDecodeData: nothing was stopped");
    params->dropped = p.count > p.image->room ? p.count - p.image->room : 0;
    p.image->count = (uint32_t)(p.count - params->dropped);
    memcpy(p.image->ranges, p.ranges, p.image->count * sizeof *p.ranges);
    p.image->decoded = true;
    p.to_decode = false;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerGetCounterDataInfo(range_info *params) {
    const counter_image *image = (const counter_image *)(const void *)params->image;
    REFUSE();
    SIZED(params, range_info, ranges);
    if (image->magic != IMAGE_MAGIC || !image->decoded)
        return misuse("cuptiRangeProfilerGetCounterDataInfo: the image is not decoded");
    params->ranges = image->count;
    return CUPTI_OK;
}

unsigned fake_profiler_launch(void *context, const char *name, uint32_t grid) {
    const char *stuck = getenv("FAKE_STUCK");
    if (!atomic_load(&p.started) || context != p.context)
        return 0;
    if (p.count >= p.most || p.count >= RANGES)
        misuse("a launch beyond maxRangesPerPass");
    else {
        counted_range *r = &p.ranges[p.count++];
        snprintf(r->name, sizeof r->name, "%s", name);
        r->grid = grid;
    }
    const char *slow = getenv("FAKE_SLOW_LAUNCH_MS");
    usleep(slow && !is_probe() ? (unsigned)atoi(slow) * 1000 : 0);
    pthread_mutex_lock(&lock);
    while (stuck && !strcmp(stuck, name) && atomic_load(&p.started))
        pthread_cond_wait(&stopped, &lock);
    pthread_mutex_unlock(&lock);
    return p.config.passes;
}

/* ---- Host side ------------------------------------------------------------------------------- */

EXPORT int cuptiProfilerHostInitialize(host_initialize *params);
EXPORT int cuptiProfilerHostDeinitialize(host_deinitialize *params);
EXPORT int cuptiProfilerHostGetSupportedChips(host_chips *params);
EXPORT int cuptiProfilerHostConfigAddMetrics(host_add_metrics *params);
EXPORT int cuptiProfilerHostGetConfigImageSize(host_config_size *params);
EXPORT int cuptiProfilerHostGetConfigImage(host_config *params);
EXPORT int cuptiProfilerHostGetNumOfPasses(host_passes *params);
EXPORT int cuptiProfilerHostEvaluateToGpuValues(host_evaluate *params);

static const char *const chips[] = {"GH100", "GA100"};

int cuptiProfilerHostInitialize(host_initialize *params) {
    REFUSE();
    SIZED(params, host_initialize, object);
    if (strcmp(params->chip, chips[0]) && strcmp(params->chip, chips[1]))
        return INVALID_CHIP;
    if (params->availability && memcmp(params->availability, availability, sizeof availability))
        return misuse("cuptiProfilerHostInitialize: another availability image");
    params->object = calloc(1, sizeof(host_object));
    return CUPTI_OK;
}

int cuptiProfilerHostDeinitialize(host_deinitialize *params) {
    free(params->object);
    return CUPTI_OK;
}

int cuptiProfilerHostGetSupportedChips(host_chips *params) {
    params->count = 2;
    params->names = chips;
    return CUPTI_OK;
}

int cuptiProfilerHostConfigAddMetrics(host_add_metrics *params) {
    host_object *o = params->object;
    const char *unknown = getenv("FAKE_UNKNOWN");
    REFUSE();
    if (o->spoiled)
        return misuse("cuptiProfilerHostConfigAddMetrics: on an object that refused before");
    for (size_t i = 0; i < params->count && o->count < METRICS; i++) {
        if (unknown && has(params->metrics[i], unknown)) {
            o->spoiled = true;
            return INVALID_METRIC;
        }
        o->metrics[o->count++] = params->metrics[i];
    }
    return CUPTI_OK;
}

int cuptiProfilerHostGetConfigImageSize(host_config_size *params) {
    REFUSE();
    params->image_size = sizeof(config_image);
    return CUPTI_OK;
}

/* Instrumented and hardware counters do not share a pass; tensor operations go six to
 * a pass. */
static uint32_t passes_of(const host_object *o) {
    uint32_t sass = 0, hardware = 0, tensor = 0;
    for (size_t i = 0; i < o->count; i++)
        if (has(o->metrics[i], "ops_path_tensor"))
            tensor += !has(o->metrics[i], "peak");
        else if (has(o->metrics[i], "peak") || has(o->metrics[i], "per_second"))
            continue;
        else if (has(o->metrics[i], "__sass_"))
            sass = 1;
        else
            hardware = 1;
    return sass + (tensor ? (tensor + 5) / 6 : hardware);
}

int cuptiProfilerHostGetConfigImage(host_config *params) {
    config_image image = {.magic = CONFIG_MAGIC, .passes = passes_of(params->object)};
    REFUSE();
    memcpy(params->image, &image, sizeof image);
    return CUPTI_OK;
}

int cuptiProfilerHostGetNumOfPasses(host_passes *params) {
    config_image image;
    REFUSE();
    memcpy(&image, params->image, sizeof image);
    params->passes = image.passes;
    return image.magic == CONFIG_MAGIC ? CUPTI_OK : misuse("cuptiProfilerHostGetNumOfPasses");
}

static bool knows(const host_object *o, const char *metric) {
    for (size_t i = 0; i < o->count; i++)
        if (!strcmp(o->metrics[i], metric))
            return true;
    return false;
}

int cuptiProfilerHostEvaluateToGpuValues(host_evaluate *params) {
    const counter_image *image = (const counter_image *)(const void *)params->image;
    REFUSE();
    SIZED(params, host_evaluate, values);
    if (image->magic != IMAGE_MAGIC || !image->decoded || params->range >= image->count)
        return misuse("cuptiProfilerHostEvaluateToGpuValues: range %zu", params->range);
    for (size_t i = 0; i < params->count; i++) {
        if (!knows(params->object, params->metrics[i]))
            return misuse("cuptiProfilerHostEvaluateToGpuValues: %s is not in the configuration",
                          params->metrics[i]);
        params->values[i] = value_of(params->metrics[i], &image->ranges[params->range]);
    }
    return CUPTI_OK;
}
