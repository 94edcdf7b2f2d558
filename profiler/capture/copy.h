/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying what one capture holds into another that is being written: the common part of joining
 * ranks and of merging times with counts.
 */
#ifndef RP_CAPTURE_COPY_H
#define RP_CAPTURE_COPY_H

#include "capture/internal.h"

typedef struct rp_copier {
    rp_capture *from, *into;
    rp_error *error;
    /* Called before a launch is added (its record may be changed) and after (with its new id); may
     * be NULL. ID is the launch's in FROM, CONFIG and PROCESS are its there. */
    rp_code (*before)(void *context, int64_t id, int64_t config, int64_t process,
                      rp_launch_record *launch);
    rp_code (*after)(void *context, int64_t id, int64_t new_id);
    void *context;
    /* by row number in FROM: the ids in INTO */
    int64_t *devices, *processes, *configs, *metrics, *ranges;
    size_t device_count, process_count, config_count, metric_count, range_count;
    size_t device_capacity, process_capacity, config_capacity, metric_capacity, range_capacity;
    int64_t first_launch; /* id in INTO of FROM's launch 0 */
    rp_place *places;
    size_t place_count, place_capacity;
    double *process_time_s; /* of kernels that are no collectives; the last one of no process */
    bool *config_collective;
    size_t collective_capacity;
} rp_copier;

/* Everything but summaries, which INTO makes anew. */
rp_code rp_copy_capture(rp_copier *copier);
void rp_copier_free(rp_copier *copier);

/* Notes of FROM that are no mere information: what makes its numbers less than they look stays with
 * these when only its counts are taken. Notes that are derived are made anew. */
rp_code rp_copy_warnings(rp_capture *from, rp_capture *into, rp_error *error);

#endif
