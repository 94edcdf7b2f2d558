/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture: one SQLite file (NAME.roof) that holds what was observed. The tracer's ingest and
 * every importer write it through this API; report, plot, diff and the rest read a profile from it.
 * Schema, version and application_id are documented in docs/capture.md.
 *
 * Writing: rp_capture_create makes a temporary file beside the target; rp_capture_finish derives
 * quantities (hwdb/metrics.csv), makes summaries and renames it into place; rp_capture_abandon
 * removes it. Nothing half-written is ever seen under the final name. Strings are copied; they may
 * hold any bytes but NUL. Absent numbers are NaN (double) or -1 (integers) and become NULL.
 */
#ifndef RP_CAPTURE_CAPTURE_H
#define RP_CAPTURE_CAPTURE_H

#include "capture/profile.h"
#include "support/error.h"
#include "support/progress.h"

typedef struct rp_capture rp_capture;

/* PATH NULL: in memory (a foreign file reported directly). TOOL says what made it. */
rp_code rp_capture_create(rp_capture **capture, const char *path, const char *tool,
                          rp_error *error);
/* Then it can be read. On failure it can only be abandoned, and nothing is left of it. */
rp_code rp_capture_finish(rp_capture *capture, rp_error *error);
void rp_capture_abandon(rp_capture *capture);
rp_code rp_capture_open(rp_capture **capture, const char *path, rp_error *error);
void rp_capture_close(rp_capture *capture); /* one that is not finished is abandoned; may be NULL */

/* The file(s) it was made from, as reports name it; by default the path. */
rp_code rp_capture_set_source(rp_capture *capture, const char *source, rp_error *error);
/* What made it, where that differs from what rp_capture_create was told. */
rp_code rp_capture_set_tool(rp_capture *capture, const char *tool, rp_error *error);
/* Wall-clock time of the program, s. */
rp_code rp_capture_set_wall_time(rp_capture *capture, double seconds, rp_error *error);

typedef struct rp_device_record { /* see rp_profile_device; zero-initialise with the macro below */
    const char *name, *chip, *uuid, *pci_id;
    int64_t ordinal; /* the exporter's number */
    int cc_major, cc_minor;
    int64_t sm_count, memory_bytes, l2_bytes, memory_bus_bits;
    double sm_clock_hz, memory_clock_hz;
    bool emulated;
    const char *driver;   /* as NVML says it; NULL not known */
    double power_limit_w; /* enforced; NaN not known */
} rp_device_record;
#define RP_DEVICE_RECORD_INIT                                                                      \
    (rp_device_record) {                                                                           \
        .ordinal = -1, .cc_major = -1, .cc_minor = -1, .sm_count = -1, .memory_bytes = -1,         \
        .l2_bytes = -1, .memory_bus_bits = -1, .sm_clock_hz = __builtin_nan(""),                   \
        .memory_clock_hz = __builtin_nan(""), .power_limit_w = __builtin_nan("")                   \
    }
/* The same record given again returns its id. Driver and power limit do not make it another: those
 * of the first count. */
rp_code rp_capture_add_device(rp_capture *capture, const rp_device_record *device, int64_t *id,
                              rp_error *error);
/* Replaces what the device has of the same kind, precision, path or level, and provenance. */
rp_code rp_capture_add_ceiling(rp_capture *capture, int64_t device,
                               const rp_capture_ceiling *ceiling, rp_error *error);

typedef struct rp_process_record {
    int64_t pid, rank;       /* -1 not known */
    const char *name, *host; /* program name alone: no command line, no environment */
} rp_process_record;
/* The same record given again returns its id. */
rp_code rp_capture_add_process(rp_capture *capture, const rp_process_record *process, int64_t *id,
                               rp_error *error);

/* A config: kernel name, grid, block, shared memory. The same one given again returns its id, at
 * the price of a hash look-up. */
typedef struct rp_config_record {
    const char *name; /* as the source has it, mangled or not */
    size_t name_length;
    bool has_shape;
    uint32_t grid[3], block[3];
    int64_t registers, shared_static, shared_dynamic; /* -1 not known */
} rp_config_record;
rp_code rp_capture_add_config(rp_capture *capture, const rp_config_record *config, int64_t *id,
                              rp_error *error);

typedef struct rp_launch_record {
    int64_t config, device, process;                         /* ids; process -1 none */
    int64_t context, stream, correlation, graph_node, range; /* -1 not known */
    int64_t index;            /* the source's own number of the launch; -1: numbered here */
    int64_t start_ns, end_ns; /* timeline; -1 not known */
    double time_s;            /* duration; NaN not known */
    rp_provenance time_provenance;
    rp_cache_state cache;
} rp_launch_record;
#define RP_LAUNCH_RECORD_INIT                                                                      \
    (rp_launch_record) {                                                                           \
        .process = -1, .context = -1, .stream = -1, .correlation = -1, .graph_node = -1,           \
        .range = -1, .index = -1, .start_ns = -1, .end_ns = -1, .time_s = __builtin_nan("")        \
    }
/* ID may be NULL. Times that cannot be (no longer than nothing, end before start, start and end 0)
 * are left out and counted as by rp_capture_count_invalid; the launch stays, for its counts. */
rp_code rp_capture_add_launch(rp_capture *capture, const rp_launch_record *launch, int64_t *id,
                              rp_error *error);

/* A raw metric by its own name and unit ("dram__bytes_read.sum", "byte"); value in base SI units
 * (seconds, bytes, Hz, fractions of 1 for percentages say unit "1"). The same name again returns
 * its id. At most 65536 metrics. Counters come fastest with the launches in order; a value of the
 * same launch and metric given again is left out and noted. */
rp_code rp_capture_metric(rp_capture *capture, const char *name, const char *unit, int64_t *id,
                          rp_error *error);
rp_code rp_capture_add_counter(rp_capture *capture, int64_t launch, int64_t metric, double value,
                               rp_provenance provenance, rp_error *error);
/* A quantity given directly, where there is no raw metric (emulated device, --work, nvprof). */
rp_code rp_capture_add_quantity(rp_capture *capture, int64_t launch, rp_quantity quantity,
                                double value, rp_provenance provenance, rp_error *error);

typedef struct rp_copy_record {
    int64_t device, process, stream, correlation; /* -1 not known */
    const char *kind;                             /* HtoD DtoH DtoD PtoP HtoH memset */
    double bytes;
    int64_t start_ns, end_ns; /* -1 not known */
    rp_provenance time_provenance;
} rp_copy_record;
rp_code rp_capture_add_copy(rp_capture *capture, const rp_copy_record *copy, rp_error *error);

typedef struct rp_memory_record {
    int64_t device, process;
    int64_t time_ns;
    uint64_t address;
    double bytes;     /* > 0 allocated, < 0 freed */
    const char *kind; /* device pinned managed pool */
} rp_memory_record;
rp_code rp_capture_add_memory(rp_capture *capture, const rp_memory_record *memory, rp_error *error);

rp_code rp_capture_add_range(rp_capture *capture, int64_t parent, const char *name,
                             int64_t start_ns, int64_t end_ns, int64_t *id, rp_error *error);
/* SEVERITY "info", "warning", "error". The same text again is no second note. */
rp_code rp_capture_add_note(rp_capture *capture, const char *severity, rp_error *error,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A launch whose times are impossible: counted, not stored. */
void rp_capture_count_invalid(rp_capture *capture, uint64_t n);
/* Launches added so far. */
uint64_t rp_capture_launch_count(const rp_capture *capture);
/* Drawn with the number of launches and counters added; must live until finish. NULL: none. */
void rp_capture_show_progress(rp_capture *capture, rp_progress *progress);

/* ---- Reading --------------------------------------------------------------------------------- */
typedef enum rp_group_by { RP_BY_KERNEL, RP_BY_CONFIG, RP_BY_RANGE } rp_group_by;

typedef struct rp_filter {
    const char *kernel_glob;  /* NULL all; fnmatch against full and short name */
    const char *kernel_regex; /* POSIX extended */
    int64_t device;           /* index in rp_profile.devices, as reports number them; -1 all */
    int64_t first, count;     /* launch window, per process; -1 all */
    const char *range_glob;   /* NULL all */
} rp_filter;
#define RP_FILTER_INIT                                                                             \
    (rp_filter) {                                                                                  \
        .device = -1, .first = -1, .count = -1                                                     \
    }

/* FILTER NULL: everything, read from the summaries. */
rp_code rp_capture_load(rp_capture *capture, const rp_filter *filter, rp_group_by by,
                        rp_profile *profile, rp_error *error);

/* Times from TIMES, counts from COUNTS, into INTO (created, not finished). Launches are matched by
 * process (in order), kernel name, grid and occurrence: the third launch of a kernel with a grid in
 * one is the third in the other. Names are compared without namespaces and arguments, which
 * profilers write differently. What COUNTS knows of times and clocks is left out, since it is of
 * another run. What has no counterpart, and how the times of both differ, is noted. */
rp_code rp_capture_merge(rp_capture *times, rp_capture *counts, rp_capture *into, rp_error *error);

/* Captures of the ranks of one program, side by side into INTO (created, not finished). Devices
 * without a UUID are taken to be different ones. A note names the slowest rank and the spread. */
rp_code rp_capture_join(rp_capture *const *ranks, size_t n, rp_capture *into, rp_error *error);

/* True if the file at PATH is a capture (application_id), whatever its name. */
bool rp_capture_is(const char *path);

#endif
