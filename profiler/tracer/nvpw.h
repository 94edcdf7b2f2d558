/* SPDX-License-Identifier: Apache-2.0
 *
 * The older way to counters, for CUDA 11 to 12.6 and for devices that the range profiler does not
 * serve (V100): NVPW, the host library beside CUPTI, makes configurations and evaluates; CUPTI's
 * profiler sessions count. Host and target side are apart here: a set (nvpw_set) needs no GPU, a
 * window (nvpw_window) needs a context.
 *
 * The order of calls is that of NVIDIA's documents and samples. Target side, a window: image and
 * scratch initialised, session begun, configuration set, profiling enabled, launches, disabled,
 * unset, ended; each launch is a range of its own, and the kernel is replayed as often as its
 * configuration has passes. With application replay nothing is replayed: a pass begins before
 * profiling is enabled, ends after it is disabled, and its data is flushed. The host side is tested
 * against the libraries of CUDA 11.8, 12.4 and 13.0; the target side has been run on the emulated
 * device only.
 *
 * Results: CUPTI's. NVPW's own are translated to the nearest of those (docs/tracer.md has them).
 */
#ifndef RP_TRACER_NVPW_H
#define RP_TRACER_NVPW_H

#include "tracer/nvpw_abi.h"
#include <stdbool.h>

/* What of NVPW is used; bound as a whole. */
typedef struct nvpw_api {
    void *handle;
    int (*InitializeHost)(nvpw_plain *);
    int (*GetSupportedChipNames)(nvpw_chips *);
    int (*EvaluatorScratchSize)(nvpw_scratch *);
    int (*EvaluatorInitialize)(nvpw_evaluator *);
    int (*EvaluatorDestroy)(nvpw_object *);
    int (*ConvertName)(nvpw_convert *);
    int (*GetDependencies)(nvpw_dependencies *);
    int (*SetDeviceAttributes)(nvpw_attributes *);
    int (*Evaluate)(nvpw_evaluate *);
    int (*ConfigCreate)(nvpw_config_create *);
    int (*ConfigDestroy)(nvpw_object *);
    int (*ConfigSetAvailability)(nvpw_config_availability *);
    int (*ConfigBeginPassGroup)(nvpw_pass_group *);
    int (*ConfigEndPassGroup)(nvpw_object *);
    int (*ConfigAddMetrics)(nvpw_add *);
    int (*ConfigGenerate)(nvpw_generate *);
    int (*ConfigGetImage)(nvpw_bytes *);
    int (*ConfigGetNumPasses)(nvpw_passes *);
    int (*BuilderCreate)(nvpw_builder_create *);
    int (*BuilderDestroy)(nvpw_object *);
    int (*BuilderAddMetrics)(nvpw_add *);
    int (*BuilderGetPrefix)(nvpw_bytes *);
    int (*GetNumRanges)(nvpw_ranges *);
} nvpw_api;

/* A call that was refused, and the result (0: none was). */
typedef struct nvpw_refusal {
    const char *call;
    int result;
} nvpw_refusal;

/* Loads and initialises the libnvperf_host.so beside the CUPTI that NEAR is an address in. 0, or -1
 * with REASON (256 bytes). */
int nvpw_open(nvpw_api *api, const void *near, char *reason);

/* ---- The host side --------------------------------------------------------------------------- */

/* A set of metrics, as configured for a chip. */
typedef struct nvpw_set {
    const nvpw_api *api;
    void *evaluator;
    uint8_t *scratch; /* the evaluator's memory */
    const char *const *names;
    nvpw_request *requests; /* of names */
    size_t count;
    uint8_t *config, *prefix; /* images: configuration, and what a counter data image begins with */
    size_t config_size, prefix_size, passes;
} nvpw_set;

/* Configures COUNT of NAMES, which must live as long as the set, for CHIP. AVAILABILITY: of the
 * device's counters, or NULL. *UNKNOWN (may be NULL): the first name that there is none of on this
 * chip; NULL if it was something else. After a refusal SET is empty. */
nvpw_refusal nvpw_set_make(const nvpw_api *api, const char *chip, const uint8_t *availability,
                           const char *const *names, size_t count, nvpw_set *set,
                           const char **unknown);
void nvpw_set_free(nvpw_set *set);

/* Puts the names that CHIP has (and AVAILABILITY allows) to the front, in order; how many. */
size_t nvpw_keep_known(const nvpw_api *api, const char *chip, const uint8_t *availability,
                       const char **names, size_t count);

/* Values of range I of a counter data IMAGE for COUNT of NAMES, each one of the set's. */
nvpw_refusal nvpw_evaluate_range(const nvpw_set *set, const uint8_t *image, size_t image_size,
                                 size_t i, const char *const *names, size_t count, double *values);

/* ---- The target side ------------------------------------------------------------------------- */

/* Where a context's launches are counted to: a counter data image and its scratch. */
typedef struct nvpw_window {
    uint8_t *image, *scratch;
    size_t image_size, scratch_size;
    session_image_options options;
    int replay; /* how it was begun */
} nvpw_window;

/* For RANGES launches of SET's metrics, which must outlive it. */
nvpw_refusal nvpw_window_make(const session_api *api, const nvpw_set *set, size_t ranges,
                              nvpw_window *window);
void nvpw_window_free(nvpw_window *window);

/* From here to nvpw_window_end each launch in CONTEXT is a range, in order. REPLAY: REPLAY_KERNEL
 * or, of a set with a single pass, REPLAY_APPLICATION (cupti_abi.h). */
nvpw_refusal nvpw_window_begin(const session_api *api, const nvpw_set *set, void *context,
                               int replay, nvpw_window *window);
/* Ends what began, whichever of it is refused; the first refusal is returned. *RANGES: how many
 * there were. */
nvpw_refusal nvpw_window_end(const session_api *api, const nvpw_set *set, void *context,
                             nvpw_window *window, size_t *ranges);
/* The same of a window that is stuck: profiling ends, nothing is read. */
void nvpw_window_break(const session_api *api, void *context, const nvpw_window *window);

#endif
