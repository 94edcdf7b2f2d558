/* SPDX-License-Identifier: Apache-2.0
 *
 * Nsight Compute reports (.ncu-rep), read directly. The container, little endian:
 *
 *     "NVR\0"  u32 length  FileHeader
 *     then, to the end, blocks:  u32 length  BlockHeader  payload of BlockHeader.PayloadSize bytes
 *     payload:  NumSources, NumResults, NumRangeResults ... times (u32 length, message)
 *
 * All messages are protocol buffers; the field numbers below are those of the .proto files that
 * every installation of Nsight Compute has under extras/FileFormat. A block without a string table
 * keeps the one before. Values are in base units that are not stored: the metric's name implies
 * them (ncu_unit_of_metric). The vendor may change the format: unknown fields are skipped, another
 * version of the container is refused with the way around.
 *
 * The file is mapped, and nothing in it is trusted: every length is checked against what is left. A
 * file that ends early gives the launches before the end, and a note.
 */
#include "importers/importer.h"
#include "importers/ncu_store.h"
#include "importers/ncu_wire.h"
#include "support/array.h"
#include "support/map.h"
#include "support/text.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTAINER_VERSION = 7, RANGES_DEPTH_MAX = 64 };

enum { FILE_VERSION = 1 };
enum {
    BLOCK_SOURCES = 1,
    BLOCK_RESULTS = 2,
    BLOCK_STRINGS = 4,
    BLOCK_PAYLOAD = 5,
    BLOCK_PROCESS = 6,
    BLOCK_RANGE_RESULTS = 7,
    BLOCK_LIST_RESULTS = 8,
    BLOCK_GRAPH_RESULTS = 9
};
enum { PROCESS_PID = 1, PROCESS_HOST = 2, PROCESS_NAME = 3 };
enum {
    RESULT_MANGLED = 5,
    RESULT_FUNCTION = 6,
    RESULT_DEMANGLED = 7,
    RESULT_GRID = 10,
    RESULT_BLOCK = 11,
    RESULT_METRIC = 13,
    RESULT_NVTX = 21,
    RESULT_CONTEXT = 22,
    RESULT_STREAM = 23,
    RESULT_CLOCKS = 25
};
enum { METRIC_NAME = 1, METRIC_VALUE = 2, METRIC_INSTANCES = 3 };
enum { VALUE_STRING = 1, VALUE_FLOAT = 2, VALUE_DOUBLE = 3, VALUE_U32 = 4, VALUE_U64 = 5 };
enum { CLOCKS_LOCKED = 2 };
enum { NVTX_THREADS = 2, THREAD_DOMAINS = 2, DOMAIN_STACK = 3, RANGE_NAME = 1 };

typedef struct string {
    ncu_wire bytes;
    const ncu_column *column; /* of the store, once the string was met as a metric's name */
} string;

typedef struct report {
    const char *path;
    rp_capture *capture;
    ncu_store *store;
    rp_error *error;
    string *strings;
    size_t string_count, string_capacity;
    char *process, *host; /* of the block */
    int64_t pid;
    rp_map ranges; /* (parent, name) to range id */
    uint64_t launches, locked, range_results, list_results, graph_results, broken;
    bool truncated;
} report;

typedef struct block {
    uint64_t sources, results, range_results, list_results, graph_results, payload;
} block;

static rp_code no_memory(report *r) {
    return rp_fail(r->error, RP_INTERNAL, "%s: out of memory", r->path);
}

/* ---- Strings and columns --------------------------------------------------------------------- */

static rp_code read_strings(report *r, ncu_wire table) {
    ncu_wire_field field;
    bool first = true;
    while (ncu_wire_next(&table, &field) == 1) {
        if (field.number != 1 || field.type != NCU_WIRE_BYTES)
            continue;
        if (first) { /* an empty table is none: the former one stays */
            r->string_count = 0;
            first = false;
        }
        if (!RP_ARRAY_ROOM(r->strings, r->string_capacity, r->string_count))
            return no_memory(r);
        r->strings[r->string_count++] = (string){.bytes = field.bytes};
    }
    return RP_OK;
}

/* *COLUMN NULL: what is called so is no metric. */
static rp_code column_of(report *r, uint64_t name_id, const ncu_column **column) {
    *column = NULL;
    if (name_id >= r->string_count)
        return RP_OK;
    string *s = &r->strings[name_id];
    const char *name = (const char *)s->bytes.at;
    size_t length = ncu_wire_length(s->bytes);
    if (!s->column && length > 0 && length < 400) {
        rp_code code = ncu_store_column(r->store, name, length, NULL, 0, &s->column, r->error);
        if (code)
            return code;
    }
    *column = s->column;
    return RP_OK;
}

/* ---- A launch -------------------------------------------------------------------------------- */

static void read_value(report *r, const ncu_column *column, ncu_wire value, bool has_instances) {
    ncu_wire_field field;
    double number = NAN, bound = 0;
    while (ncu_wire_next(&value, &field) == 1) {
        if (field.number == VALUE_STRING && field.type == NCU_WIRE_BYTES) {
            ncu_store_put_text(r->store, column, (const char *)field.bytes.at,
                               ncu_wire_length(field.bytes));
            return;
        }
        if (field.number == VALUE_DOUBLE && field.type == NCU_WIRE_FIXED64) {
            number = ncu_wire_double(&field);
        } else if (field.number == VALUE_FLOAT && field.type == NCU_WIRE_FIXED32) {
            number = (double)ncu_wire_float(&field);
            bound = fabs(number) * 0x1p-24;
        } else if ((field.number == VALUE_U32 || field.number == VALUE_U64) &&
                   field.type == NCU_WIRE_VARINT) {
            number = (double)field.integer;
        }
    }
    if (isfinite(number))
        ncu_store_put(r->store, column, number, bound);
    else if (!has_instances)
        ncu_store_put_missing(r->store, column);
}

static rp_code read_metric(report *r, ncu_wire metric) {
    ncu_wire_field field;
    ncu_wire value = {0};
    uint64_t name = UINT64_MAX;
    bool has_instances = false;
    while (ncu_wire_next(&metric, &field) == 1) {
        if (field.number == METRIC_NAME && field.type == NCU_WIRE_VARINT)
            name = field.integer;
        else if (field.number == METRIC_VALUE && field.type == NCU_WIRE_BYTES)
            value = field.bytes;
        else if (field.number == METRIC_INSTANCES)
            has_instances = true;
    }
    const ncu_column *column;
    rp_code code = column_of(r, name, &column);
    if (!code && column)
        read_value(r, column, value, has_instances);
    return code;
}

static bool read_shape(ncu_wire message, uint32_t shape[3]) {
    ncu_wire_field field;
    bool given[3] = {false, false, false};
    while (ncu_wire_next(&message, &field) == 1) {
        if (field.type != NCU_WIRE_VARINT || field.number < 1 || field.number > 3)
            continue;
        if (field.integer == 0 || field.integer > UINT32_MAX)
            return false;
        shape[field.number - 1] = (uint32_t)field.integer;
        given[field.number - 1] = true;
    }
    return given[0] && given[1] && given[2];
}

/* One range of the capture for each name inside the same parent, however many launches it holds. */
static rp_code range_of(report *r, int64_t parent, ncu_wire name, int64_t *range) {
    char key[8 + 256];
    size_t length = ncu_wire_length(name);
    if (length > 255)
        length = 255;
    memcpy(key, &parent, 8);
    memcpy(key + 8, name.at, length);
    bool added;
    int64_t *at = rp_map_put(&r->ranges, key, 8 + length, &added);
    if (!at)
        return no_memory(r);
    if (added) {
        char text[256];
        memcpy(text, name.at, length);
        text[length] = 0;
        rp_code code = rp_capture_add_range(r->capture, parent, text, -1, -1, at, r->error);
        if (code)
            return code;
    }
    *range = *at;
    return RP_OK;
}

static rp_code read_stack(report *r, ncu_wire domain, int64_t *range) {
    ncu_wire_field field, inner;
    int depth = 0;
    while (ncu_wire_next(&domain, &field) == 1) {
        if (field.number != DOMAIN_STACK || field.type != NCU_WIRE_BYTES ||
            depth++ >= RANGES_DEPTH_MAX)
            continue;
        while (ncu_wire_next(&field.bytes, &inner) == 1) {
            if (inner.number != RANGE_NAME || inner.type != NCU_WIRE_BYTES ||
                ncu_wire_length(inner.bytes) == 0)
                continue;
            rp_code code = range_of(r, *range, inner.bytes, range);
            if (code)
                return code;
        }
    }
    return RP_OK;
}

/* The push/pop ranges around the launch, outermost first. */
static rp_code read_nvtx(report *r, ncu_wire state, int64_t *range) {
    ncu_wire_field thread, domain;
    while (ncu_wire_next(&state, &thread) == 1) {
        if (thread.number != NVTX_THREADS || thread.type != NCU_WIRE_BYTES)
            continue;
        while (ncu_wire_next(&thread.bytes, &domain) == 1) {
            if (domain.number != THREAD_DOMAINS || domain.type != NCU_WIRE_BYTES)
                continue;
            rp_code code = read_stack(r, domain.bytes, range);
            if (code)
                return code;
        }
    }
    return RP_OK;
}

static bool is_locked(ncu_wire clocks) {
    ncu_wire_field field;
    while (ncu_wire_next(&clocks, &field) == 1)
        if (field.number == CLOCKS_LOCKED && field.type == NCU_WIRE_VARINT)
            return field.integer != 0;
    return false;
}

static void take_name(ncu_launch *launch, int *rank, int new_rank, ncu_wire name) {
    if (new_rank <= *rank || ncu_wire_length(name) == 0)
        return;
    launch->kernel = (const char *)name.at;
    launch->kernel_length = ncu_wire_length(name);
    *rank = new_rank;
}

/* Everything of a result but its metrics. False: it is broken. */
static rp_code read_identity(report *r, ncu_wire result, ncu_launch *launch, bool *good) {
    ncu_wire_field field;
    bool grid = false, block_shape = false;
    int state, rank = 0;
    rp_code code = RP_OK;
    while ((state = ncu_wire_next(&result, &field)) == 1 && !code) {
        bool bytes = field.type == NCU_WIRE_BYTES, integer = field.type == NCU_WIRE_VARINT;
        if (field.number == RESULT_DEMANGLED && bytes)
            take_name(launch, &rank, 3, field.bytes);
        else if (field.number == RESULT_MANGLED && bytes)
            take_name(launch, &rank, 2, field.bytes);
        else if (field.number == RESULT_FUNCTION && bytes)
            take_name(launch, &rank, 1, field.bytes);
        else if (field.number == RESULT_GRID && bytes)
            grid = read_shape(field.bytes, launch->grid);
        else if (field.number == RESULT_BLOCK && bytes)
            block_shape = read_shape(field.bytes, launch->block);
        else if (field.number == RESULT_CONTEXT && integer)
            launch->context = (int64_t)(uint32_t)field.integer;
        else if (field.number == RESULT_STREAM && integer)
            launch->stream = (int64_t)(uint32_t)field.integer;
        else if (field.number == RESULT_CLOCKS && bytes)
            r->locked += is_locked(field.bytes);
        else if (field.number == RESULT_NVTX && bytes)
            code = read_nvtx(r, field.bytes, &launch->range);
    }
    launch->has_shape = grid && block_shape;
    *good = state == 0 && rank > 0;
    return code;
}

static rp_code read_result(report *r, ncu_wire result) {
    ncu_launch launch = NCU_LAUNCH_INIT;
    launch.number = (int64_t)r->launches;
    launch.pid = r->pid;
    launch.process = r->process;
    launch.host = r->host;
    bool good;
    rp_code code = read_identity(r, result, &launch, &good);
    if (code)
        return code;
    if (!good) {
        r->broken++;
        return RP_OK;
    }
    r->launches++;
    if ((code = ncu_store_begin(r->store, &launch, r->error)))
        return code;
    ncu_wire_field field;
    while (ncu_wire_next(&result, &field) == 1 && !code)
        if (field.number == RESULT_METRIC && field.type == NCU_WIRE_BYTES)
            code = read_metric(r, field.bytes);
    return code ? code : ncu_store_end(r->store, r->error);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static bool read_u32(ncu_wire *wire, uint32_t *number) {
    if (ncu_wire_length(*wire) < 4)
        return false;
    *number = (uint32_t)wire->at[0] | (uint32_t)wire->at[1] << 8 | (uint32_t)wire->at[2] << 16 |
              (uint32_t)wire->at[3] << 24;
    wire->at += 4;
    return true;
}

/* Takes a message with its length off WIRE; false if it is cut off. */
static bool take_message(ncu_wire *wire, ncu_wire *message) {
    uint32_t length;
    if (!read_u32(wire, &length) || length > ncu_wire_length(*wire))
        return false;
    *message = ncu_wire_of(wire->at, length);
    wire->at += length;
    return true;
}

static rp_code keep_text(report *r, char **text, ncu_wire bytes) {
    free(*text);
    *text = strndup((const char *)bytes.at, ncu_wire_length(bytes));
    return *text ? RP_OK : no_memory(r);
}

static rp_code read_process(report *r, ncu_wire process) {
    ncu_wire_field field;
    rp_code code = RP_OK;
    while (ncu_wire_next(&process, &field) == 1 && !code) {
        if (field.number == PROCESS_PID && field.type == NCU_WIRE_VARINT)
            r->pid = (int64_t)(uint32_t)field.integer;
        else if (field.number == PROCESS_HOST && field.type == NCU_WIRE_BYTES)
            code = keep_text(r, &r->host, field.bytes);
        else if (field.number == PROCESS_NAME && field.type == NCU_WIRE_BYTES)
            code = keep_text(r, &r->process, field.bytes);
    }
    return code;
}

static rp_code read_header(report *r, ncu_wire header, block *b) {
    ncu_wire_field field;
    rp_code code = RP_OK;
    *b = (block){0};
    while (ncu_wire_next(&header, &field) == 1 && !code) {
        if (field.type == NCU_WIRE_BYTES) {
            if (field.number == BLOCK_STRINGS)
                code = read_strings(r, field.bytes);
            else if (field.number == BLOCK_PROCESS)
                code = read_process(r, field.bytes);
            continue;
        }
        uint64_t *slot = field.number == BLOCK_SOURCES         ? &b->sources
                         : field.number == BLOCK_RESULTS       ? &b->results
                         : field.number == BLOCK_PAYLOAD       ? &b->payload
                         : field.number == BLOCK_RANGE_RESULTS ? &b->range_results
                         : field.number == BLOCK_LIST_RESULTS  ? &b->list_results
                         : field.number == BLOCK_GRAPH_RESULTS ? &b->graph_results
                                                               : NULL;
        if (slot)
            *slot = field.integer;
    }
    return code;
}

static rp_code read_payload(report *r, ncu_wire payload, const block *b) {
    ncu_wire message;
    for (uint64_t i = 0; i < b->sources; i++)
        if (!take_message(&payload, &message)) {
            r->truncated = true;
            return RP_OK;
        }
    for (uint64_t i = 0; i < b->results; i++) {
        if (!take_message(&payload, &message)) {
            r->truncated = true;
            return RP_OK;
        }
        rp_code code = read_result(r, message);
        if (code)
            return code;
    }
    r->range_results += b->range_results;
    r->list_results += b->list_results;
    r->graph_results += b->graph_results;
    return RP_OK;
}

static rp_code read_blocks(report *r, ncu_wire file) {
    while (file.at < file.end) {
        ncu_wire header;
        block b;
        if (!take_message(&file, &header)) {
            r->truncated = true;
            return RP_OK;
        }
        rp_code code = read_header(r, header, &b);
        if (code)
            return code;
        size_t length = ncu_wire_length(file);
        if (b.payload > length)
            r->truncated = true;
        else
            length = (size_t)b.payload;
        if ((code = read_payload(r, ncu_wire_of(file.at, length), &b)))
            return code;
        file.at += length;
    }
    return RP_OK;
}

/* ---- The file -------------------------------------------------------------------------------- */

static rp_code check_version(report *r, ncu_wire *file) {
    ncu_wire header;
    ncu_wire_field field;
    if (ncu_wire_length(*file) < 4 || memcmp(file->at, "NVR", 4) != 0)
        return rp_fail(r->error, RP_INPUT, "%s is no Nsight Compute report", r->path);
    file->at += 4;
    if (!take_message(file, &header))
        return rp_fail(r->error, RP_INPUT,
                       "%s: the report ends inside of its heading; copy it again", r->path);
    uint64_t version = 0;
    while (ncu_wire_next(&header, &field) == 1)
        if (field.number == FILE_VERSION && field.type == NCU_WIRE_VARINT)
            version = field.integer;
    if (version != CONTAINER_VERSION)
        return rp_fail(
            r->error, RP_INPUT,
            "%s: reports of version %llu cannot be read (only version %d is known). Export "
            "it: ncu --import %s --csv --page raw > FILE.csv, then import FILE.csv",
            r->path, (unsigned long long)version, CONTAINER_VERSION, r->path);
    return RP_OK;
}

static rp_code nothing_found(const report *r) {
    unsigned long long others = r->range_results + r->list_results + r->graph_results;
    if (others)
        return rp_fail(r->error, RP_INPUT,
                       "%s holds %llu %s of ranges, command lists or graphs and none of a "
                       "kernel: values of several kernels together have no place on a roofline. "
                       "Profile with kernel replay (ncu --replay-mode kernel)",
                       r->path, others, rp_plural(others, "result", "results"));
    if (r->truncated || r->broken)
        return rp_fail(r->error, RP_INPUT,
                       "%s: the report is cut off or damaged, and no complete launch is in it",
                       r->path);
    return rp_fail(r->error, RP_INPUT,
                   "%s: a report without a launch: no kernel was profiled (child processes need "
                   "--target-processes all)",
                   r->path);
}

static rp_code add_notes(const report *r) {
    rp_code code = RP_OK;
    unsigned long long others = r->range_results + r->list_results + r->graph_results;
    if (r->truncated)
        code = rp_capture_add_note(
            r->capture, "warning", r->error, "%s is cut off: %llu %s read before the end", r->path,
            (unsigned long long)r->launches, rp_plural(r->launches, "launch was", "launches were"));
    if (!code && r->broken)
        code = rp_capture_add_note(r->capture, "warning", r->error, "%s: %llu damaged %s left out",
                                   r->path, (unsigned long long)r->broken,
                                   rp_plural(r->broken, "result was", "results were"));
    if (!code && others)
        code = rp_capture_add_note(
            r->capture, "warning", r->error,
            "%s: %llu %s of ranges, command lists or graphs left out: these hold several kernels "
            "together",
            r->path, others, rp_plural(others, "result", "results"));
    if (!code && r->locked)
        code = rp_capture_add_note(r->capture, "info", r->error,
                                   "%s: the profiler held the clocks at their base in %llu %s: "
                                   "times are longer than in a run without it",
                                   r->path, (unsigned long long)r->locked,
                                   rp_plural(r->locked, "launch", "launches"));
    return code;
}

static rp_code read_report(report *r, ncu_wire file) {
    rp_code code = check_version(r, &file);
    if (code || (code = ncu_store_open(&r->store, r->capture, r->path, r->error)))
        return code;
    if ((code = read_blocks(r, file)))
        return code;
    if (r->launches == 0)
        return nothing_found(r);
    if ((code = ncu_store_finish(r->store, NULL, r->error)))
        return code;
    return add_notes(r);
}

static rp_code import_rep(const char *path, rp_capture *capture, rp_error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        int reason = errno;
        if (file >= 0)
            close(file);
        return rp_fail(error, RP_INPUT, "%s: cannot be opened: %s", path, strerror(reason));
    }
    size_t length = status.st_size > 0 ? (size_t)status.st_size : 0;
    void *bytes = length ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    int reason = errno;
    close(file);
    if (bytes == MAP_FAILED)
        return rp_fail(error, RP_INPUT, "%s: cannot be read: %s", path,
                       length ? strerror(reason) : "the file is empty");

    report r = {.path = path, .capture = capture, .error = error, .pid = -1};
    rp_code code = read_report(&r, ncu_wire_of(bytes, length));
    ncu_store_close(r.store);
    rp_map_free(&r.ranges);
    free(r.strings);
    free(r.process);
    free(r.host);
    munmap(bytes, length);
    return code;
}

static int recognise(const char *path, const unsigned char *head, size_t length) {
    (void)path;
    return length >= 4 && memcmp(head, "NVR", 4) == 0 ? 100 : 0;
}

const rp_importer rp_importer_ncu_rep = {
    .name = "ncu-rep",
    .title = "Nsight Compute report",
    .recognise = recognise,
    .import = import_rep,
};
