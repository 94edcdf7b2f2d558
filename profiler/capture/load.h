/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that read a capture share: load.c reads the tables, scan.c the launches that pass
 * a filter, group.c makes the profile's groups of the sums that either gives.
 */
#ifndef RP_CAPTURE_LOAD_H
#define RP_CAPTURE_LOAD_H

#include "capture/internal.h"

typedef struct rp_kernel_row {
    char *name, *short_name;
    bool collective, selected;
} rp_kernel_row;

typedef struct rp_config_row {
    int64_t kernel;
    bool has_shape;
    uint32_t grid[3], block[3];
    int64_t registers, shared_static, shared_dynamic;
} rp_config_row;

typedef struct rp_place_row {
    int64_t device, process;
    rp_provenance time_provenance;
    rp_cache_state cache;
} rp_place_row;

typedef struct rp_range_row {
    int64_t path; /* index in loader.paths */
    bool selected;
} rp_range_row;

/* What a group needs only while it is filled. */
typedef struct rp_group_state {
    double weight[RP_QUANTITIES]; /* launches of the configs whose quantity is known */
    double time[RP_QUANTITIES], weighted[RP_QUANTITIES]; /* what is averaged: time of those launches
                                                            (NaN not known), mean x that time */
    bool counted, mixed_cache;
} rp_group_state;

typedef struct rp_loader {
    rp_capture *capture;
    const rp_filter *filter;
    rp_group_by by;
    rp_profile *profile;
    rp_error *error;
    rp_kernel_row *kernels;
    size_t kernel_count, kernel_capacity;
    rp_config_row *configs;
    size_t config_count, config_capacity;
    rp_place_row *places;
    size_t place_count, place_capacity;
    rp_range_row *ranges;
    size_t range_count, range_capacity;
    char **paths; /* of ranges, outermost first, joined by '/' */
    size_t path_count, path_capacity;
    rp_map path_index;
    rp_summaries stored, kept;
    rp_device_totals *totals;
    unsigned char *first_launches; /* a bit a launch */
    rp_map group_index;
    rp_group_state *states;
    size_t group_capacity, state_capacity;
} rp_loader;

/* A table: how its rows are asked for, and what takes each. */
typedef struct rp_table_reader {
    const char *sql;
    rp_code (*take)(rp_loader *, sqlite3_stmt *);
} rp_table_reader;

rp_code rp_load_tables(rp_loader *loader, const rp_table_reader *tables, size_t n);
/* RP_INPUT: the capture is damaged, WHAT says how. */
rp_code rp_load_damaged(rp_loader *loader, const char *what);

/* scan.c: sums up the launches that pass the filter into loader->kept, and the devices' sums of
 * them into the profile. */
rp_code rp_load_filtered(rp_loader *loader);

/* group.c: fills the profile's groups. */
rp_code rp_load_groups(rp_loader *loader, const rp_summaries *summaries);

#endif
