/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the capture module share: the open capture, and SQLite with our errors. Rows
 * are numbered from 0 and ids are row numbers, so that a table read in order is an array.
 */
#ifndef RP_CAPTURE_INTERNAL_H
#define RP_CAPTURE_INTERNAL_H

#include "capture/capture.h"
#include "capture/summary.h"
#include "support/file.h"
#include "support/map.h"
#include <sqlite3.h>

#define RP_CAPTURE_APPLICATION_ID 0x726f6f66 /* "roof" */
#define RP_CAPTURE_VERSION        1

/* Counters are keyed launch << 16 | metric, so that those of a launch lie together in launch order.
 */
#define RP_COUNTER_SHIFT 16
#define RP_METRICS_MAX   (1 << RP_COUNTER_SHIFT)

/* Times outside of these are no launch's: under half a clock of any device, over a day. */
#define RP_TIME_LEAST_S 0.5e-9
#define RP_TIME_MOST_S  86400.0

extern const char rp_capture_schema[];
/* The wide table `quantities` (a row a counted launch, a column a quantity), in memory of its own.
 */
char *rp_capture_quantities_sql(void);

/* What devices ran under, from RP_DEVICES: NULL where the capture is older than the columns, for a
 * name that the inner SELECT's table lacks is looked up in the outer one. */
#define RP_DEVICE_STATE                                                                            \
    "(SELECT driver FROM devices s WHERE s.id = d.id),"                                            \
    " (SELECT power_limit_w FROM devices s WHERE s.id = d.id)"
#define RP_DEVICES "devices d, (SELECT NULL AS driver, NULL AS power_limit_w)"

typedef enum rp_insert {
    RP_INSERT_DEVICE,
    RP_INSERT_CEILING,
    RP_INSERT_LARGER_CEILING,
    RP_INSERT_PROCESS,
    RP_INSERT_KERNEL,
    RP_INSERT_CONFIG,
    RP_INSERT_PLACE,
    RP_INSERT_LAUNCH,
    RP_INSERT_METRIC,
    RP_INSERT_COUNTER,
    RP_INSERT_COUNTERS,
    RP_INSERT_COPY,
    RP_INSERT_MEMORY,
    RP_INSERT_RANGE,
    RP_INSERT_NOTE,
    RP_INSERTS
} rp_insert;

/* Buffered until there are enough to be written in key order. */
typedef struct rp_counter {
    int64_t key;
    double value;
    uint32_t sequence; /* of arrival: the first of equals is kept */
    uint8_t provenance;
} rp_counter;

/* Where and how launches ran: a row of `places`. */
typedef struct rp_place {
    int64_t device, process, context, stream;
    int64_t time_provenance, cache;
} rp_place;

/* The earliest launch of a kernel in a process. Its time is held back from time_warm. */
typedef struct rp_first_launch {
    int64_t kernel, process, launch;
    int64_t start_ns, index;
    double time_s;
    size_t summary;
} rp_first_launch;

typedef struct rp_memory_event {
    int64_t device, time_ns, sequence;
    double bytes;
} rp_memory_event;

typedef struct rp_copy_sum {
    int64_t device;
    char kind[16];
    uint64_t count, untimed;
    double bytes, time_s; /* NaN: of none known */
} rp_copy_sum;

/* What only a capture that is being written needs. */
typedef struct rp_writer {
    sqlite3_stmt *insert[RP_INSERTS];
    rp_map devices, processes, kernels, configs, places, metrics, firsts, copy_kinds, notes;
    int64_t *config_kernel; /* kernel of each config */
    size_t config_count, config_capacity;
    rp_place *place;
    size_t place_count, place_capacity;
    int64_t last_place;
    int64_t *process_next; /* index of the next launch of each process */
    size_t process_count, process_capacity;
    int64_t next_index; /* the same for launches of no process */
    rp_first_launch *first;
    size_t first_count, first_capacity;
    rp_summaries summaries;
    rp_device_totals *totals;
    size_t device_count, device_capacity;
    rp_counter *counters;
    size_t counter_count;
    int64_t counters_written;
    int32_t given[RP_QUANTITIES]; /* 1 + metric of quantities given directly; 0 none */
    uint64_t counters_repeated;   /* given again for the same launch and metric */
    uint64_t counters_infinite;
    rp_memory_event *memory;
    size_t memory_count, memory_capacity;
    rp_copy_sum *copies;
    size_t copy_count, copy_capacity;
    int64_t launch_count, range_count, metric_count;
    uint64_t invalid;
    rp_progress *progress;    /* NULL: none */
    bool finishing;           /* notes are derived from here on */
    int64_t device_namespace; /* devices of different namespaces are different, however alike */
} rp_writer;

struct rp_capture {
    sqlite3 *db;
    char *path; /* as given; NULL in memory */
    rp_temp temp;
    rp_writer *writer; /* NULL: finished or opened */
};

/* The last SQLite error of CAPTURE as ours: RP_INTERNAL while writing, RP_INPUT while reading. */
rp_code rp_db_fail(rp_capture *capture, rp_error *error);
rp_code rp_db_exec(rp_capture *capture, const char *sql, rp_error *error);
rp_code rp_db_prepare(rp_capture *capture, sqlite3_stmt **statement, const char *sql,
                      rp_error *error);
/* Steps a statement that returns no row and makes it ready for the next. */
rp_code rp_db_run(rp_capture *capture, sqlite3_stmt *statement, rp_error *error);
/* Steps to the next row: *ROW false at the end. */
rp_code rp_db_next(rp_capture *capture, sqlite3_stmt *statement, bool *row, rp_error *error);
/* Calls TAKE for each row of SQL until it fails. */
rp_code rp_db_each(rp_capture *capture, const char *sql,
                   rp_code (*take)(void *context, sqlite3_stmt *row), void *context,
                   rp_error *error);
rp_code rp_db_no_memory(rp_error *error);
rp_code rp_db_damaged(const rp_capture *capture, const char *what, rp_error *error);

/* True if ID is a row number below COUNT. */
bool rp_is_index(int64_t id, size_t count);

/* Binding and reading with our words for absent: -1, NaN and NULL are SQL's NULL. */
void rp_bind_integer(sqlite3_stmt *statement, int column, int64_t value);
void rp_bind_real(sqlite3_stmt *statement, int column, double value);
void rp_bind_text(sqlite3_stmt *statement, int column, const char *text);
int64_t rp_column_integer(sqlite3_stmt *statement, int column);
double rp_column_real(sqlite3_stmt *statement, int column);
/* RP_ABSENT, RP_CACHE_UNKNOWN for what is none. */
rp_provenance rp_column_provenance(sqlite3_stmt *statement, int column);
rp_cache_state rp_column_cache(sqlite3_stmt *statement, int column);
/* A copy (free), or NULL for NULL; *FAILED is set if there was no memory. */
char *rp_column_text(sqlite3_stmt *statement, int column, bool *failed);
/* Five columns from FIRST on: n, sum, min, max, sum of squares. */
void rp_bind_stat(sqlite3_stmt *statement, int first, const rp_stat *stat);
rp_stat rp_column_stat(sqlite3_stmt *statement, int first);

/* Name and value of table meta. VALUE NULL removes it. */
rp_code rp_meta_set(rp_capture *capture, const char *key, const char *value, rp_error *error);
rp_code rp_meta_get(rp_capture *capture, const char *key, char **value, rp_error *error);

/* The prepared statement of KIND. */
rp_code rp_writer_insert(rp_capture *capture, rp_insert kind, sqlite3_stmt **row, rp_error *error);
rp_code rp_writer_flush_counters(rp_capture *capture, rp_error *error);
void rp_writer_free(rp_writer *writer);
/* As rp_capture_metric; QUANTITY not NULL: the key of the quantity that it is. */
rp_code rp_writer_metric(rp_capture *capture, const char *name, const char *unit,
                         const char *quantity, int64_t *id, rp_error *error);
/* As rp_capture_add_ceiling, but a larger one that is there stays (one instruction of several). */
rp_code rp_writer_raise_ceiling(rp_capture *capture, int64_t device,
                                const rp_capture_ceiling *ceiling, rp_error *error);
/* Between seconds and what is stored (schema: time_ns). */
double rp_launch_time_s(double time_ns);
double rp_launch_time_ns(double time_s);

/* Opens the file at capture->path for reading. */
rp_code rp_capture_reopen(rp_capture *capture, rp_error *error);

/* Derives the quantities of all launches with counters, into table quantities and the summaries;
 * raw peaks become ceilings. */
rp_code rp_capture_derive(rp_capture *capture, rp_error *error);

/* After that: totals of which a sample is known, where launches differ, and how far off they may
 * be. */
rp_code rp_capture_estimate(rp_capture *capture, rp_error *error);

#endif
