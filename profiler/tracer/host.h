/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's host interface, which needs neither a GPU nor a driver: which metrics a chip has and how
 * many passes a configuration takes. Declared from its documented layout, as cupti_abi.h is, and
 * checked against the toolkit's headers by the same test; present from CUDA 12.6 on. An older CUPTI
 * has a library beside it that answers the same questions (nvpw.h).
 */
#ifndef RP_TRACER_HOST_H
#define RP_TRACER_HOST_H

#include "tracer/nvpw.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parameter blocks; size comes first and says which fields there are. */
typedef struct host_initialize {
    size_t size;
    void *private_data;
    int profiler; /* 0: range profiler */
    const char *chip;
    const uint8_t *availability; /* NULL: a chip that this version knows */
    void *object;                /* out */
} host_initialize;
typedef struct host_deinitialize {
    size_t size;
    void *private_data, *object;
} host_deinitialize;
typedef struct host_chips {
    size_t size;
    void *private_data;
    size_t count;
    const char *const *names;
} host_chips;
typedef struct host_add_metrics {
    size_t size;
    void *private_data, *object;
    const char **metrics;
    size_t count;
} host_add_metrics;
typedef struct host_config_size {
    size_t size;
    void *private_data, *object;
    size_t image_size;
} host_config_size;
typedef struct host_config {
    size_t size;
    void *private_data, *object;
    size_t image_size;
    uint8_t *image;
} host_config;
typedef struct host_passes {
    size_t size;
    void *private_data;
    size_t image_size;
    uint8_t *image;
    size_t passes;
} host_passes;

typedef struct host_evaluate {
    size_t size;
    void *private_data, *object;
    const uint8_t *image;
    size_t image_size, range;
    const char **metrics;
    size_t count;
    double *values;
} host_evaluate;

typedef struct host_api {
    void *handle;
    uint32_t version;
    int (*Initialize)(host_initialize *);
    int (*Deinitialize)(host_deinitialize *);
    int (*GetSupportedChips)(host_chips *);
    int (*ConfigAddMetrics)(host_add_metrics *);
    int (*GetConfigImageSize)(host_config_size *);
    int (*GetConfigImage)(host_config *);
    int (*GetNumOfPasses)(host_passes *);
    int (*EvaluateToGpuValues)(host_evaluate *); /* from 12.6 on, as all of them */
    bool older;                                  /* there is none of these: NVPW is asked */
    nvpw_api nvpw;
} host_api;

/* Binds the host interface of the CUPTI at PATH, or NVPW where it has none. 0, or -1 with REASON
 * (256 bytes) filled. */
int host_open(host_api *api, const char *path, char *reason);

/* What answers, for people: "host interface", "NVPW". */
const char *host_name(const host_api *api);

/* The configuration image (malloc) of the metrics that were added to OBJECT, and its passes. 0, or
 * CUPTI's result. */
int host_image(const host_api *api, void *object, uint8_t **image, size_t *size, size_t *passes);

/* Passes that METRICS take on CHIP. 0 with *PASSES set; else CUPTI's result, with the first metric
 * that it refused in *REFUSED (NULL: it refused the chip or the set as a whole). */
int host_count_passes(const host_api *api, const char *chip, const char *const *metrics,
                      size_t count, size_t *passes, const char **refused);

#endif
