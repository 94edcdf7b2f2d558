/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of PyTorch profiler (Kineto) and other Chrome traces: GPU kernels, copies, memsets
 * and annotations with their times; no counts, for such traces hold none.
 *
 * The file is read twice, because what the events need may stand behind them: first the header,
 * the devices and the annotations, then kernels and copies straight into the capture. Memory holds
 * the annotations and one launch a stream.
 *
 * Kernel events are taken as they are, with or without a launch event of their own: the kernels of
 * a replayed graph have none.
 */
#include "importers/importer.h"
#include "importers/lanes.h"
#include "importers/trace.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEVICES = 4096, MAX_STREAMS = 256 };

/* No kernel runs for a day: such a duration is a broken record. */
static const int64_t longest_ns = INT64_C(86400) * 1000000000;
/* Clock granularity of the older traces: 1 us. */
static const int64_t grain_ns = 1000;

typedef struct device {
    rp_trace_device properties;
    int64_t id; /* in the capture; -1: no kernel ran there yet */
} device;

/* The last launch of a stream, held until the next one shows that it can be true. */
typedef struct held_launch {
    rp_launch_record launch;
    double occupancy, in_bytes, out_bytes, group_size; /* NaN none */
    uint64_t age;
} held_launch;

typedef struct import {
    rp_capture *capture;
    const char *path;
    rp_trace_header header;
    rp_lanes *ranges;
    device *devices;
    size_t device_count;
    held_launch held[MAX_STREAMS];
    size_t held_count;
    int64_t process, launches; /* launches: numbered in the order of the file */
    int64_t host_pid;
    int64_t metric_in, metric_out, metric_group;
    uint64_t kernels, cpu_operators, profiler_ranges, collectives, copies;
    uint64_t no_time, zero, negative, absurd, overrun, whole_us;
} import;

static bool is(const rp_trace_event *e, const char *category, const char *older) {
    return !strcasecmp(e->category, category) || (older && !strcasecmp(e->category, older));
}

static bool is_kernel(const rp_trace_event *e) {
    return is(e, "kernel", NULL);
}

static uint64_t lane(int64_t device_ordinal, int64_t stream) {
    return (uint64_t)(uint32_t)device_ordinal << 32 | (uint32_t)stream;
}

static int64_t device_of(const rp_trace_event *e) {
    return e->device >= 0 ? e->device : e->pid;
}

static int64_t stream_of(const rp_trace_event *e) {
    return e->stream >= 0 ? e->stream : e->tid;
}

/* ---- First reading: what the launches need --------------------------------------------------- */

static rp_code add_properties(void *context, const rp_trace_device *properties, rp_error *error) {
    import *in = context;
    if (in->device_count == MAX_DEVICES)
        return rp_fail(error, RP_INPUT, "%s: lists more than %d devices", in->path, MAX_DEVICES);
    device *devices = realloc(in->devices, (in->device_count + 1) * sizeof *devices);
    if (!devices)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", in->path);
    in->devices = devices;
    devices[in->device_count++] = (device){.properties = *properties, .id = -1};
    return RP_OK;
}

static rp_code look_around(void *context, const rp_trace_event *e, rp_error *error) {
    import *in = context;
    if (strcmp(e->phase, "X") != 0)
        return RP_OK;
    if (is(e, "gpu_user_annotation", NULL) && e->has_time && e->has_duration && e->duration_ns >= 0)
        return rp_lanes_add(in->ranges, lane(device_of(e), stream_of(e)), e->name, e->name_length,
                            e->time_ns, e->time_ns + e->duration_ns, error);
    if (is(e, "cpu_op", "Operator"))
        in->cpu_operators++;
    else if (is(e, "cuda_profiler_range", NULL))
        in->profiler_ranges++;
    else if (in->host_pid < 0 && (is(e, "cuda_runtime", "Runtime") || is(e, "hip_runtime", NULL)))
        in->host_pid = e->pid;
    return RP_OK;
}

/* ---- Second reading: launches and copies ----------------------------------------------------- */

static rp_code find_device(import *in, const rp_trace_event *e, int64_t *id, rp_error *error) {
    int64_t ordinal = device_of(e);
    device *found = NULL;
    for (size_t i = 0; i < in->device_count && !found; i++)
        if (in->devices[i].properties.id == ordinal)
            found = &in->devices[i];
    if (!found) {
        rp_trace_device unknown = {
            .id = ordinal, .memory_bytes = -1, .cc_major = -1, .cc_minor = -1, .sm_count = -1};
        rp_code code = add_properties(in, &unknown, error);
        if (code)
            return code;
        found = &in->devices[in->device_count - 1];
    }
    if (found->id < 0) {
        const rp_trace_device *p = &found->properties;
        rp_device_record record = RP_DEVICE_RECORD_INIT;
        record.name = p->name[0] ? p->name : NULL;
        record.ordinal = ordinal;
        record.cc_major = (int)p->cc_major;
        record.cc_minor = (int)p->cc_minor;
        record.sm_count = p->sm_count;
        record.memory_bytes = p->memory_bytes;
        rp_code code = rp_capture_add_device(in->capture, &record, &found->id, error);
        if (code)
            return code;
    }
    *id = found->id;
    return RP_OK;
}

/* Counts what is wrong with the times of E; false if they can be true. */
static bool impossible(import *in, const rp_trace_event *e) {
    if (!e->has_time || !e->has_duration)
        in->no_time++;
    else if (e->duration_ns < 0 || e->time_ns < 0)
        in->negative++;
    else if (e->duration_ns == 0) {
        in->zero++;
        in->whole_us += !e->fractional;
    } else if (e->duration_ns > longest_ns)
        in->absurd++;
    else
        return false;
    return true;
}

static double element_bytes(const char *type) {
    static const struct {
        const char *name;
        double bytes;
    } sizes[] = {{"Float", 4},   {"Double", 8}, {"Half", 2},          {"BFloat16", 2},
                 {"Int", 4},     {"Long", 8},   {"Short", 2},         {"Byte", 1},
                 {"Char", 1},    {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},
                 {"Float32", 4}, {"Float16", 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!strcasecmp(type, sizes[i].name))
            return sizes[i].bytes;
    return NAN;
}

static uint32_t dimension(int64_t value) {
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static rp_code find_config(import *in, const rp_trace_event *e, int64_t *id, rp_error *error) {
    rp_config_record config = {.name = e->name_length ? e->name : "(unnamed kernel)",
                               .name_length = e->name_length ? e->name_length : 16,
                               .has_shape = e->grid_n == 3 && e->block_n == 3,
                               .registers = e->registers,
                               .shared_static = -1,
                               .shared_dynamic = -1};
    for (int i = 0; i < 3 && config.has_shape; i++) {
        config.grid[i] = dimension(e->grid[i]);
        config.block[i] = dimension(e->block[i]);
        config.has_shape = config.grid[i] && config.block[i];
    }
    if (e->shared >= 0) { /* the trace gives the sum of static and dynamic */
        config.shared_static = 0;
        config.shared_dynamic = e->shared;
    }
    return rp_capture_add_config(in->capture, &config, id, error);
}

static rp_code add_counter(import *in, int64_t launch, int64_t *metric, const char *name,
                           const char *unit, double value, rp_error *error) {
    if (isnan(value))
        return RP_OK;
    rp_code code = RP_OK;
    if (*metric < 0)
        code = rp_capture_metric(in->capture, name, unit, metric, error);
    if (!code)
        code = rp_capture_add_counter(in->capture, launch, *metric, value, RP_IMPORTED, error);
    return code;
}

static rp_code store(import *in, const held_launch *held, rp_error *error) {
    int64_t id;
    rp_code code = rp_capture_add_launch(in->capture, &held->launch, &id, error);
    /* Kineto computes the occupancy from the launch's shape, in whole percents: 0 is "below half a
     * percent", not a value. */
    if (!code && held->occupancy > 0)
        code = rp_capture_add_quantity(in->capture, id, RP_Q_OCCUPANCY_ACHIEVED, held->occupancy,
                                       RP_ESTIMATED, error);
    if (!code)
        code = add_counter(in, id, &in->metric_in, "kineto__collective_in", "byte", held->in_bytes,
                           error);
    if (!code)
        code = add_counter(in, id, &in->metric_out, "kineto__collective_out", "byte",
                           held->out_bytes, error);
    if (!code)
        code = add_counter(in, id, &in->metric_group, "kineto__collective_group_size", "1",
                           held->group_size, error);
    return code;
}

/* A stream's work ends in order. A launch that ends after the next one has ended never ran that
 * long, unless both belong to one graph, whose branches run side by side. */
static bool overran(const rp_launch_record *a, const rp_launch_record *next) {
    bool one_graph = (a->correlation >= 0 && a->correlation == next->correlation) ||
                     a->graph_node >= 0 || next->graph_node >= 0;
    return !one_graph && next->start_ns >= a->start_ns && a->end_ns > next->end_ns + grain_ns;
}

static rp_code replace_held(import *in, const held_launch *next, rp_error *error) {
    held_launch *slot = NULL, *oldest = NULL;
    for (size_t i = 0; i < in->held_count && !slot; i++) {
        held_launch *one = &in->held[i];
        if (one->launch.device == next->launch.device && one->launch.stream == next->launch.stream)
            slot = one;
        if (!oldest || one->age < oldest->age)
            oldest = one;
    }
    rp_code code = RP_OK;
    if (slot && overran(&slot->launch, &next->launch)) {
        in->overrun++;
    } else if (slot || in->held_count == MAX_STREAMS) {
        slot = slot ? slot : oldest;
        code = store(in, slot, error);
    } else {
        slot = &in->held[in->held_count++];
    }
    *slot = *next;
    return code;
}

static rp_code add_kernel(import *in, const rp_trace_event *e, rp_error *error) {
    in->kernels++;
    if (impossible(in, e))
        return RP_OK;
    double bytes = element_bytes(e->element_type);
    held_launch next = {.launch = RP_LAUNCH_RECORD_INIT,
                        .occupancy = e->occupancy,
                        .in_bytes = e->in_elements >= 0 ? (double)e->in_elements * bytes : NAN,
                        .out_bytes = e->out_elements >= 0 ? (double)e->out_elements * bytes : NAN,
                        .group_size = e->group_size > 0 ? (double)e->group_size : NAN,
                        .age = in->kernels};
    rp_launch_record *l = &next.launch;
    rp_code code = find_device(in, e, &l->device, error);
    if (!code)
        code = find_config(in, e, &l->config, error);
    if (code)
        return code;
    in->collectives += e->collective[0] != '\0';
    l->process = in->process;
    l->context = e->context;
    l->stream = stream_of(e);
    l->correlation = e->correlation;
    l->graph_node = e->graph_node;
    l->range = rp_lanes_find(in->ranges, lane(device_of(e), l->stream), e->time_ns);
    l->index = in->launches++;
    l->start_ns = e->time_ns + in->header.base_ns;
    l->end_ns = l->start_ns + e->duration_ns;
    l->time_s = e->duration_s;
    l->time_provenance = RP_IMPORTED;
    l->cache = RP_CACHE_NATURAL;
    return replace_held(in, &next, error);
}

/* NVIDIA: "Memcpy HtoD (Pinned -> Device)"; AMD: "CopyHostToDevice". */
static const char *copy_kind(const char *name) {
    static const struct {
        const char *text, *kind;
    } kinds[] = {{"HtoD", "HtoD"},         {"DtoH", "DtoH"},           {"DtoD", "DtoD"},
                 {"PtoP", "PtoP"},         {"HtoH", "HtoH"},           {"HostToDevice", "HtoD"},
                 {"DeviceToHost", "DtoH"}, {"DeviceToDevice", "DtoD"}, {"HostToHost", "HtoH"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].text))
            return kinds[i].kind;
    return "unknown";
}

static rp_code add_copy(import *in, const rp_trace_event *e, bool memset_event, rp_error *error) {
    bool valid = e->has_time && e->has_duration && e->duration_ns >= 0 && e->time_ns >= 0 &&
                 e->duration_ns <= longest_ns;
    rp_copy_record copy = {.process = in->process,
                           .stream = stream_of(e),
                           .correlation = e->correlation,
                           .kind = memset_event ? "memset" : copy_kind(e->name),
                           .bytes = e->bytes >= 0 ? (double)e->bytes : NAN,
                           .start_ns = valid ? e->time_ns + in->header.base_ns : -1,
                           .end_ns = valid ? e->time_ns + in->header.base_ns + e->duration_ns : -1,
                           .time_provenance = valid ? RP_IMPORTED : RP_ABSENT};
    rp_code code = find_device(in, e, &copy.device, error);
    in->copies++;
    return code ? code : rp_capture_add_copy(in->capture, &copy, error);
}

static rp_code take(void *context, const rp_trace_event *e, rp_error *error) {
    import *in = context;
    if (strcmp(e->phase, "X") != 0)
        return RP_OK;
    if (is_kernel(e))
        return add_kernel(in, e, error);
    if (is(e, "gpu_memcpy", "Memcpy"))
        return add_copy(in, e, false, error);
    if (is(e, "gpu_memset", "Memset"))
        return add_copy(in, e, true, error);
    return RP_OK;
}

static rp_code store_held(import *in, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < in->held_count && !code; i++)
        code = store(in, &in->held[i], error);
    return code;
}

/* ---- What has to be said --------------------------------------------------------------------- */

static uint64_t invalid(const import *in) {
    return in->no_time + in->zero + in->negative + in->absurd + in->overrun;
}

static rp_code nothing_to_analyse(const import *in, rp_error *error) {
    if (in->kernels)
        return rp_fail(error, RP_INPUT,
                       "%s: all %" PRIu64 " kernels have impossible times (%" PRIu64
                       " of 0 duration, %" PRIu64 " negative, %" PRIu64
                       " without a time): record the trace again with a newer driver or PyTorch",
                       in->path, in->kernels, in->zero, in->negative, in->no_time);
    if (in->profiler_ranges)
        return rp_fail(error, RP_INPUT,
                       "%s: nothing to analyse: the trace holds %" PRIu64
                       " cuda_profiler_range records (counters summed over a range) and no kernel; "
                       "record it again without experimental_config's profiler metrics",
                       in->path, in->profiler_ranges);
    return rp_fail(error, RP_INPUT,
                   "%s: nothing to analyse: no GPU kernel among %" PRIu64 " events (%" PRIu64
                   " CPU operators)%s; profile with ProfilerActivity.CUDA on a machine with a GPU, "
                   "and let the profiled part launch kernels",
                   in->path, in->header.events, in->cpu_operators,
                   in->header.truncated ? "; the file is cut off as well" : "");
}

static rp_code add_notes(import *in, rp_error *error) {
    rp_code code = RP_OK;
    if (in->header.truncated)
        code = rp_capture_add_note(in->capture, "warning", error,
                                   "%s ends in the middle (the program was killed, or the copy is "
                                   "incomplete): the %" PRIu64 " complete events were imported, "
                                   "totals are lower bounds",
                                   in->path, in->header.events);
    if (!code && invalid(in))
        code = rp_capture_add_note(
            in->capture, "warning", error,
            "%s: %" PRIu64 " of %" PRIu64 " kernels left out for impossible times: %" PRIu64
            " of 0 duration%s, %" PRIu64 " negative, %" PRIu64 " longer than a day, %" PRIu64
            " ending after the next kernel of their stream, %" PRIu64 " without a time",
            in->path, invalid(in), in->kernels, in->zero,
            in->whole_us ? " (the trace counts whole microseconds)" : "", in->negative, in->absurd,
            in->overrun, in->no_time);
    if (!code && in->profiler_ranges)
        code = rp_capture_add_note(in->capture, "info", error,
                                   "%s: %" PRIu64 " cuda_profiler_range records left out: their "
                                   "counters are of a range, not of a kernel",
                                   in->path, in->profiler_ranges);
    return code;
}

static rp_code read_twice(import *in, rp_error *error) {
    rp_trace_reader first = {look_around, add_properties, in};
    rp_trace_reader second = {take, NULL, in};
    rp_trace_header again;
    rp_code code = rp_trace_read(in->path, &first, &in->header, error);
    if (!code && (in->host_pid >= 0 || in->header.rank >= 0)) {
        rp_process_record process = {.pid = in->host_pid, .rank = in->header.rank};
        code = rp_capture_add_process(in->capture, &process, &in->process, error);
    }
    if (!code)
        code = rp_lanes_store(in->ranges, in->capture, in->header.base_ns, error);
    if (!code)
        code = rp_trace_read(in->path, &second, &again, error);
    if (!code)
        code = store_held(in, error);
    return code;
}

static rp_code import_kineto(const char *path, rp_capture *capture, rp_error *error) {
    import *in = calloc(1, sizeof *in);
    if (!in)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", path);
    in->capture = capture;
    in->path = path;
    in->process = in->host_pid = -1;
    in->metric_in = in->metric_out = in->metric_group = -1;
    rp_code code = rp_lanes_new(&in->ranges, error);
    if (!code)
        code = read_twice(in, error);
    if (!code && in->kernels == invalid(in))
        code = nothing_to_analyse(in, error);
    if (!code)
        code = add_notes(in, error);
    if (!code)
        rp_capture_count_invalid(capture, invalid(in));
    rp_lanes_free(in->ranges);
    free(in->devices);
    free(in);
    return code;
}

static bool holds(const unsigned char *head, size_t length, const char *text) {
    return memmem(head, length, text, strlen(text)) != NULL;
}

static int recognise_kineto(const char *path, const unsigned char *head, size_t length) {
    (void)path;
    size_t i = length >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (i < length && head[i] && strchr(" \t\r\n", head[i]))
        i++;
    if (i == length || (head[i] != '{' && head[i] != '['))
        return 0;
    if (holds(head, length, "\"traceEvents\""))
        return 95;
    if (holds(head, length, "\"deviceProperties\"") ||
        holds(head, length, "\"baseTimeNanoseconds\""))
        return 80;
    if (holds(head, length, "\"ph\"") && holds(head, length, "\"ts\""))
        return 70;
    return holds(head, length, "\"schemaVersion\"") || holds(head, length, "\"displayTimeUnit\"")
               ? 30
               : 0;
}

const rp_importer rp_importer_kineto = {.name = "kineto",
                                        .title = "PyTorch profiler (Kineto) trace",
                                        .recognise = recognise_kineto,
                                        .import = import_kineto};
