/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracing and counting at once, tried: see trial.h.
 */
#include "tracer/trial.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20, RECORDS = 16, FORCED = 1, VERSION_DISABLE_DEADLOCKS = 130000 };

/* Barriers, so that no compiler can leave the loop out; some tens of microseconds. */
static const char kernel_text[] = ".version 6.4\n"
                                  ".target sm_75\n"
                                  ".address_size 64\n"
                                  ".visible .entry roofprof_trial()\n"
                                  "{\n"
                                  "    .reg .pred %p;\n"
                                  "    .reg .u32 %i;\n"
                                  "    mov.u32 %i, 0;\n"
                                  "AGAIN:\n"
                                  "    bar.sync 0;\n"
                                  "    add.u32 %i, %i, 1;\n"
                                  "    setp.lt.u32 %p, %i, 1000;\n"
                                  "    @%p bra AGAIN;\n"
                                  "    ret;\n"
                                  "}\n";

static const char *const words[] = {"together", "apart", "alone"};

static struct {
    const cupti_api *api;
    void *function; /* CUfunction */
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*synchronize)(void);
    struct seen {
        uint64_t start, end;
        uint32_t correlation;
    } records[RECORDS];
    size_t count;
} t;

const char *trial_word(trial_result result) {
    return words[result];
}

trial_result trial_of_word(const char *text) {
    for (int i = 0; i < 3; i++)
        if (!strncmp(text, words[i], strlen(words[i])))
            return (trial_result)i;
    return TRIAL_APART;
}

/* ---- Records --------------------------------------------------------------------------------- */

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *most) {
    static uint8_t spare[1024] __attribute__((aligned(8)));
    *buffer = aligned_alloc(8, BUFFER);
    *size = *buffer ? BUFFER : sizeof spare;
    if (!*buffer)
        *buffer = spare;
    *most = 0;
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid) {
    record_head *next = NULL;
    (void)context, (void)stream, (void)size;
    while (valid && t.api->ActivityGetNextRecord(buffer, valid, &next) == CUPTI_OK) {
        const record_kernel *r = (const record_kernel *)(const void *)next;
        if (next->kind != KIND_CONCURRENT_KERNEL || t.count == RECORDS)
            continue;
        t.records[t.count].start = r->start;
        t.records[t.count].end = r->end;
        t.records[t.count++].correlation = r->correlation;
    }
    if (size == BUFFER)
        free(buffer);
}

static void nothing(void *user, int domain, uint32_t cbid, const void *data) {
    (void)user, (void)domain, (void)cbid, (void)data;
}

cupti_result trial_trace(const cupti_api *api) {
    static cupti_subscriber subscriber;
    t.api = api;
    cupti_result result = api->Subscribe(&subscriber, nothing, NULL);
    if (!result)
        result = api->ActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (!result)
        result = api->ActivityEnable(KIND_CONCURRENT_KERNEL);
    if (!result)
        result = api->ActivityFlushAll(0);
    return result;
}

/* ---- Launches -------------------------------------------------------------------------------- */

static bool load(void *driver) {
    int (*load_data)(void **, const void *) =
        (int (*)(void **, const void *))dlsym(driver, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction");
    void *module;
    t.launch = (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **))dlsym(driver, "cuLaunchKernel");
    t.synchronize = (int (*)(void))dlsym(driver, "cuCtxSynchronize");
    if (!load_data || !get || !t.launch || !t.synchronize || load_data(&module, kernel_text) != 0 ||
        get(&t.function, module, "roofprof_trial") != 0)
        t.function = NULL;
    return t.function != NULL;
}

static bool launch(void) {
    return t.launch(t.function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0 &&
           t.synchronize() == 0;
}

/* A window with a launch in it; its time by its counters, ns, NaN if they do not tell. */
static refusal count_one(const host_api *host, const counted_context *context, configuration *hw,
                         double *time_ns) {
    static const char *const duration[] = {"gpu__time_duration.sum"};
    size_t ranges, dropped;
    *time_ns = NAN;
    refusal r = range_start(t.api, context, hw, REPLAY_KERNEL);
    if (r.result)
        return r;
    bool launched = t.function && launch();
    r = range_stop_and_decode(t.api, context, hw, &ranges, &dropped);
    if (!r.result && launched && ranges == 1)
        r = range_evaluate(host, hw, 0, duration, 1, time_ns);
    return r;
}

/* ---- What was seen --------------------------------------------------------------------------- */

static int by_correlation(const void *a, const void *b) {
    uint32_t p = ((const struct seen *)a)->correlation;
    uint32_t q = ((const struct seen *)b)->correlation;
    return (p > q) - (p < q);
}

/* Durations of the records so far, in order of their launches, ns; 0 where a time cannot be.
 * Returns their number, and forgets them. */
static size_t take_records(double durations[RECORDS]) {
    t.api->ActivityFlushAll(FORCED);
    size_t n = t.count;
    qsort(t.records, n, sizeof t.records[0], by_correlation);
    for (size_t i = 0; i < n; i++)
        durations[i] = t.records[i].start && t.records[i].end > t.records[i].start
                           ? (double)(t.records[i].end - t.records[i].start)
                           : 0;
    t.count = 0;
    return n;
}

/* As long as each other, but for clocks that change and what a short kernel's time is worth. */
static bool alike(double a_ns, double b_ns) {
    const double factor = 3, slack_ns = 20000;
    return a_ns > 0 && b_ns > 0 && a_ns < factor * b_ns + slack_ns &&
           b_ns < factor * a_ns + slack_ns;
}

static bool together(const host_api *host, const counted_context *context, configuration *hw,
                     refusal *refused) {
    double durations[RECORDS], counted;
    bool launched = launch();
    *refused = count_one(host, context, hw, &counted);
    launched = launched && launch();
    return take_records(durations) == 3 && launched && !refused->result &&
           alike(durations[1], counted) && alike(durations[0], durations[2]);
}

static bool apart(const host_api *host, const counted_context *context, configuration *hw) {
    double durations[RECORDS], counted;
    bool launched = launch();
    if (!t.api->ActivityDisable || t.api->ActivityDisable(KIND_CONCURRENT_KERNEL))
        return false;
    refusal r = count_one(host, context, hw, &counted);
    if (t.api->ActivityEnable(KIND_CONCURRENT_KERNEL))
        return false;
    launched = launched && launch();
    return take_records(durations) == 2 && launched && !r.result && counted > 0 &&
           alike(durations[0], durations[1]);
}

trial_result trial_run(const cupti_api *api, const host_api *host, void *driver, uint32_t version,
                       const counted_context *context, configuration *hw, refusal *refused) {
    double durations[RECORDS], counted;
    bool can_pause = version != VERSION_DISABLE_DEADLOCKS;
    t.api = api;
    *refused = (refusal){NULL, CUPTI_OK};
    if (!load(driver) || !launch()) { /* the first pays for loading */
        *refused = count_one(host, context, hw, &counted);
        return can_pause ? TRIAL_APART : TRIAL_ALONE;
    }
    take_records(durations);
    if (together(host, context, hw, refused))
        return TRIAL_TOGETHER;
    return refused->result || (can_pause && apart(host, context, hw)) ? TRIAL_APART : TRIAL_ALONE;
}
