/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of the emulated device's counts file ("roofprof.emulator.counts/1",
 * docs/emulator.md): one JSON object a line. Counts become quantities of provenance `emulated`,
 * times on the virtual clock `modelled`. A line cut off at the end (the process was killed) is left
 * out and said.
 */
#include "importers/importer.h"
#include "importers/stream.h"
#include "support/array.h"
#include "support/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static const char schema[] = "roofprof.emulator.counts/1";

enum { DEVICES = 64, SECTOR = 32, MAX_FAILURES_TOLD = 8, DEEPEST = 1000 };

typedef struct kernel {
    int64_t id;
    char *name;
    int64_t registers, shared;
    bool estimated;
    yajl_val last; /* its last launch that was written in full; owned */
    int64_t last_id;
} kernel;

typedef struct reader {
    rp_capture *capture;
    const char *path;
    uint64_t line;
    bool header, ended;
    rp_cache_state cache;
    int64_t process;
    int64_t device[DEVICES];
    struct {
        kernel *items;
        size_t count, capacity;
    } kernels;
    uint64_t launches, failed, uncounted, estimated;
    uint64_t at_peers; /* launches that touched other devices' memory */
    double peer_bytes; /* and how much of it */
    bool kept;         /* the record that was just read is kept, not to be freed */
} reader;

/* ---- Members of an object
 * ------------------------------------------------------------------------ */

static yajl_val member(yajl_val object, const char *name) {
    const char *path[] = {name, NULL};
    return yajl_tree_get(object, path, yajl_t_any);
}

static const char *text_of(yajl_val object, const char *name) {
    yajl_val value = member(object, name);
    return YAJL_IS_STRING(value) ? YAJL_GET_STRING(value) : NULL;
}

/* NaN where it is not there, or null. */
static double number_of(yajl_val object, const char *name) {
    yajl_val value = member(object, name);
    return YAJL_IS_DOUBLE(value)    ? YAJL_GET_DOUBLE(value)
           : YAJL_IS_INTEGER(value) ? (double)YAJL_GET_INTEGER(value)
                                    : NAN;
}

/* -1 where it is not there. */
static int64_t integer_of(yajl_val object, const char *name) {
    double value = number_of(object, name);
    yajl_val exact = member(object, name);
    if (YAJL_IS_INTEGER(exact))
        return YAJL_GET_INTEGER(exact);
    return value >= 0 && value < 9e18 ? (int64_t)value : -1;
}

/* A count: 0 where it is not there. */
static double count_of(yajl_val object, const char *name) {
    double value = object ? number_of(object, name) : NAN;
    return isnan(value) ? 0 : value;
}

static double count_in(yajl_val counts, const char *group, const char *name) {
    return count_of(member(counts, group), name);
}

static int64_t nanoseconds(double seconds) {
    return seconds >= 0 && seconds < 9e9 ? (int64_t)llround(seconds * 1e9) : -1;
}

/* ---- Records
 * --------------------------------------------------------------------------------------- */

static rp_code refuse(const reader *r, rp_error *error, const char *what) {
    return rp_fail(error, RP_INPUT, "%s:%" PRIu64 ": %s", r->path, r->line, what);
}

static rp_code read_header(reader *r, yajl_val record, rp_error *error) {
    const char *said = text_of(record, "schema"), *cache = text_of(record, "cache");
    if (!said || strcmp(said, schema) != 0)
        return refuse(r, error,
                      "a counts file of another version; this roofprof reads "
                      "roofprof.emulator.counts/1");
    r->header = true;
    r->cache = cache && strcmp(cache, "warm") == 0 ? RP_CACHE_WARM : RP_CACHE_COLD;
    rp_process_record process = {.pid = integer_of(record, "pid"),
                                 .rank = -1,
                                 .name = text_of(record, "program"),
                                 .host = text_of(record, "host")};
    return rp_capture_add_process(r->capture, &process, &r->process, error);
}

static rp_code read_device(reader *r, yajl_val record, rp_error *error) {
    int64_t ordinal = integer_of(record, "device");
    if (ordinal < 0 || ordinal >= DEVICES)
        return refuse(r, error, "a device record without a device number");
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    device.name = text_of(record, "name");
    device.chip = text_of(record, "chip");
    device.ordinal = ordinal;
    device.cc_major = (int)integer_of(record, "cc_major");
    device.cc_minor = (int)integer_of(record, "cc_minor");
    device.sm_count = integer_of(record, "sm_count");
    device.memory_bytes = integer_of(record, "memory_bytes");
    device.l2_bytes = integer_of(record, "l2_bytes");
    device.memory_bus_bits = integer_of(record, "memory_bus_bits");
    device.sm_clock_hz = number_of(record, "sm_clock_hz");
    device.memory_clock_hz = number_of(record, "memory_clock_hz");
    device.emulated = true;
    return rp_capture_add_device(r->capture, &device, &r->device[ordinal], error);
}

static rp_code read_kernel(reader *r, yajl_val record, rp_error *error) {
    const char *name = text_of(record, "name");
    const char *provenance = text_of(record, "registers_provenance");
    if (!name)
        return refuse(r, error, "a kernel record without a name");
    if (!RP_ARRAY_ROOM(r->kernels.items, r->kernels.capacity, r->kernels.count))
        return rp_fail(error, RP_INTERNAL, "%s: no memory", r->path);
    kernel k = {.id = integer_of(record, "kernel"),
                .name = strdup(name),
                .registers = integer_of(record, "registers_per_thread"),
                .shared = integer_of(record, "shared_static_bytes"),
                .estimated = provenance && strcmp(provenance, "estimated") == 0};
    if (!k.name)
        return rp_fail(error, RP_INTERNAL, "%s: no memory", r->path);
    r->kernels.items[r->kernels.count++] = k;
    return RP_OK;
}

static kernel *find_kernel(const reader *r, int64_t id) {
    for (size_t i = r->kernels.count; i-- > 0;)
        if (r->kernels.items[i].id == id)
            return &r->kernels.items[i];
    return NULL;
}

static bool read_triple(yajl_val record, const char *name, uint32_t triple[3]) {
    yajl_val array = member(record, name);
    if (!YAJL_IS_ARRAY(array) || YAJL_GET_ARRAY(array)->len != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        yajl_val value = YAJL_GET_ARRAY(array)->values[i];
        if (!YAJL_IS_INTEGER(value) || YAJL_GET_INTEGER(value) < 0 ||
            YAJL_GET_INTEGER(value) > UINT32_MAX)
            return false;
        triple[i] = (uint32_t)YAJL_GET_INTEGER(value);
    }
    return true;
}

/* ---- Counts
 * ---------------------------------------------------------------------------------------- */

typedef struct sink {
    rp_capture *capture;
    int64_t launch;
    rp_code code;
    rp_error *error;
} sink;

static void give(sink *s, rp_quantity quantity, double value, rp_provenance provenance) {
    if (s->code == RP_OK && !isnan(value))
        s->code =
            rp_capture_add_quantity(s->capture, s->launch, quantity, value, provenance, s->error);
}

static void give_count(sink *s, rp_quantity quantity, double value) {
    give(s, quantity, value, RP_EMULATED);
}

static void give_instructions(sink *s, yajl_val c) {
    static const struct {
        rp_quantity quantity;
        const char *name;
    } plain[] = {{RP_Q_WARP_INSTS, "warp_insts"},
                 {RP_Q_THREAD_INSTS, "thread_insts"},
                 {RP_Q_THREAD_INSTS_ACTIVE, "thread_insts_active"},
                 {RP_Q_INST_INTEGER, "integer_insts"},
                 {RP_Q_INST_CONVERSION, "conversion_insts"},
                 {RP_Q_INST_BIT, "bit_insts"},
                 {RP_Q_TENSOR_PIPE_INSTS, "tensor_insts"},
                 {RP_Q_SHARED_WAVEFRONTS, "shared_wavefronts"},
                 {RP_Q_SHARED_CONFLICTS, "shared_bank_conflicts"},
                 {RP_Q_HOST_BYTES, "host_bytes"}};
    static const struct {
        rp_quantity quantity;
        const char *group, *name;
    } by_operation[] = {
        {RP_Q_INST_FP64_ADD, "fp64_insts", "add"}, {RP_Q_INST_FP64_MUL, "fp64_insts", "mul"},
        {RP_Q_INST_FP64_FMA, "fp64_insts", "fma"}, {RP_Q_INST_FP32_ADD, "fp32_insts", "add"},
        {RP_Q_INST_FP32_MUL, "fp32_insts", "mul"}, {RP_Q_INST_FP32_FMA, "fp32_insts", "fma"}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        give_count(s, plain[i].quantity, count_of(c, plain[i].name));
    for (size_t i = 0; i < sizeof by_operation / sizeof *by_operation; i++)
        give_count(s, by_operation[i].quantity,
                   count_in(c, by_operation[i].group, by_operation[i].name));
}

/* FLOPs as the algorithm has them: a division is one. The file keeps the hardware's view too. */
static void give_flops(sink *s, yajl_val c) {
    static const char vector[] = "flops_algorithmic", tensor[] = "tensor_ops";
    give_count(s, RP_Q_FLOPS_FP64_VECTOR, count_in(c, vector, "fp64"));
    give_count(s, RP_Q_FLOPS_FP32_VECTOR, count_in(c, vector, "fp32"));
    give_count(s, RP_Q_FLOPS_FP16_VECTOR,
               count_in(c, vector, "fp16") + count_in(c, vector, "fp16_acc16"));
    give_count(s, RP_Q_FLOPS_BF16_VECTOR, count_in(c, vector, "bf16"));
    give_count(s, RP_Q_OPS_INT32_VECTOR, count_of(c, "integer_insts"));
    give_count(s, RP_Q_FLOPS_FP64_TENSOR, count_in(c, tensor, "fp64"));
    give_count(s, RP_Q_FLOPS_TF32_TENSOR, count_in(c, tensor, "tf32"));
    give_count(s, RP_Q_FLOPS_BF16_TENSOR, count_in(c, tensor, "bf16"));
    give_count(s, RP_Q_FLOPS_FP16_TENSOR, count_in(c, tensor, "fp16"));
    give_count(s, RP_Q_FLOPS_FP16_ACC16_TENSOR, count_in(c, tensor, "fp16_acc16"));
    give_count(s, RP_Q_FLOPS_FP8_TENSOR, count_in(c, tensor, "fp8"));
    give_count(s, RP_Q_OPS_INT8_TENSOR, count_in(c, tensor, "int8"));
}

static double all_ways(yajl_val c, const char *what, const char *space) {
    static const char *const ways[] = {"load", "store", "atomic"};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_%s", ways[i], what);
        sum += space ? count_in(c, name, space) : count_of(c, name);
    }
    return sum;
}

static void give_memory(sink *s, yajl_val c) {
    double sectors = all_ways(c, "sectors", NULL);
    double global = all_ways(c, "requests", "global");
    give_count(s, RP_Q_GLOBAL_BYTES, all_ways(c, "bytes", "global"));
    give_count(s, RP_Q_LOCAL_BYTES, all_ways(c, "bytes", "local"));
    give_count(s, RP_Q_SHARED_BYTES, all_ways(c, "bytes", "shared"));
    give_count(s, RP_Q_L1_BYTES, sectors * SECTOR);
    /* Sectors of texture and local memory are among them: global ones are told apart only where
     * there is one kind. */
    if (all_ways(c, "requests", "texture") + all_ways(c, "requests", "local") == 0)
        give_count(s, RP_Q_GLOBAL_SECTORS, sectors);
    else if (global == 0)
        give_count(s, RP_Q_GLOBAL_SECTORS, 0);
    give_count(s, RP_Q_GLOBAL_REQUESTS, global);
    give_count(s, RP_Q_LSU_REQUESTS,
               global + all_ways(c, "requests", "local") + all_ways(c, "requests", "shared"));
    give(s, RP_Q_L1_WAVEFRONTS, count_of(c, "l1_wavefronts") + count_of(c, "shared_wavefronts"),
         RP_MODELLED);
}

/* null: the caches were not modelled, and so nothing is known of what lies behind them. */
static void give_caches(sink *s, yajl_val c) {
    yajl_val caches = member(c, "caches");
    if (!YAJL_IS_OBJECT(caches))
        return;
    double l1_hit = count_of(caches, "l1_hit_sectors"),
           l1_miss = count_of(caches, "l1_miss_sectors");
    double l2_hit = count_of(caches, "l2_hit_sectors"),
           l2_miss = count_of(caches, "l2_miss_sectors");
    double read = count_of(caches, "dram_read_bytes"),
           written = count_of(caches, "dram_write_bytes");
    give_count(s, RP_Q_L2_BYTES,
               SECTOR *
                   (count_of(caches, "l2_read_sectors") + count_of(caches, "l2_write_sectors")));
    give_count(s, RP_Q_DRAM_READ, read);
    give_count(s, RP_Q_DRAM_WRITE, written);
    give_count(s, RP_Q_DRAM_BYTES, read + written);
    if (l1_hit + l1_miss > 0)
        give_count(s, RP_Q_L1_HIT_RATE, l1_hit / (l1_hit + l1_miss));
    if (l2_hit + l2_miss > 0)
        give_count(s, RP_Q_L2_HIT_RATE, l2_hit / (l2_hit + l2_miss));
}

static rp_code give_all(reader *r, yajl_val record, int64_t launch, rp_error *error) {
    sink s = {.capture = r->capture, .launch = launch, .error = error};
    yajl_val c = member(record, "counts");
    if (!YAJL_IS_OBJECT(c)) {
        r->uncounted++;
        return RP_OK;
    }
    give_instructions(&s, c);
    give_flops(&s, c);
    give_memory(&s, c);
    give_caches(&s, c);
    give(&s, RP_Q_OCCUPANCY_THEORETICAL, number_of(record, "occupancy_theoretical"), RP_MODELLED);
    give(&s, RP_Q_WAVES, number_of(record, "waves"), RP_MODELLED);
    double peer_bytes = count_of(c, "peer_bytes");
    r->at_peers += peer_bytes > 0;
    r->peer_bytes += peer_bytes;
    return s.code;
}

/* ---- Launches and the rest
 * --------------------------------------------------------------------------- */

static rp_code note_failure(reader *r, yajl_val record, const kernel *k, rp_error *error) {
    const char *message = text_of(record, "message"), *status = text_of(record, "status");
    if (r->failed++ >= MAX_FAILURES_TOLD)
        return RP_OK;
    return rp_capture_add_note(r->capture, "error", error, "a launch of %s failed (%s): %s",
                               k->name, status ? status : "?", message ? message : "no message");
}

static int64_t device_of(const reader *r, yajl_val record) {
    int64_t ordinal = integer_of(record, "device");
    return ordinal >= 0 && ordinal < DEVICES ? r->device[ordinal] : -1;
}

static bool is_whole(yajl_val record) {
    const char *status = text_of(record, "status");
    return status && strcmp(status, "ok") == 0 && YAJL_IS_OBJECT(member(record, "counts"));
}

/* The record that holds a launch's shape and counts: itself, or the one that it repeats. NULL: that
 * one is not there. */
static yajl_val whole_launch(reader *r, kernel *k, yajl_val record) {
    int64_t same = integer_of(record, "same_as");
    if (same >= 0)
        return k->last && k->last_id == same ? k->last : NULL;
    if (!is_whole(record))
        return record;
    yajl_tree_free(k->last);
    k->last = record;
    k->last_id = integer_of(record, "launch");
    r->kept = true;
    return record;
}

static rp_code add_launch(reader *r, const kernel *k, yajl_val record, yajl_val whole,
                          int64_t device, rp_error *error) {
    int64_t id;
    rp_config_record config = {.name = k->name,
                               .name_length = strlen(k->name),
                               .has_shape = true,
                               .registers = k->registers,
                               .shared_static = k->shared,
                               .shared_dynamic = integer_of(whole, "shared_dynamic_bytes")};
    if (!read_triple(whole, "grid", config.grid) || !read_triple(whole, "block", config.block))
        return refuse(r, error, "a launch without grid and block");
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_code code = rp_capture_add_config(r->capture, &config, &launch.config, error);
    if (code != RP_OK)
        return code;
    launch.device = device;
    launch.process = r->process;
    launch.stream = integer_of(record, "stream");
    launch.correlation = integer_of(record, "launch");
    launch.graph_node = integer_of(record, "node");
    launch.time_s = number_of(whole, "time_s");
    launch.time_provenance = isnan(launch.time_s) ? RP_ABSENT : RP_MODELLED;
    launch.start_ns = nanoseconds(number_of(record, "start_s"));
    if (launch.start_ns >= 0 && !isnan(launch.time_s))
        launch.end_ns = launch.start_ns + nanoseconds(launch.time_s);
    launch.cache = r->cache;
    code = rp_capture_add_launch(r->capture, &launch, &id, error);
    r->launches++;
    r->estimated += k->estimated;
    return code == RP_OK ? give_all(r, whole, id, error) : code;
}

static rp_code read_launch(reader *r, yajl_val record, rp_error *error) {
    kernel *k = find_kernel(r, integer_of(record, "kernel"));
    int64_t device = device_of(r, record);
    if (!k || device < 0)
        return refuse(r, error,
                      "a launch of a kernel or on a device that the file does not tell of");
    yajl_val whole = whole_launch(r, k, record);
    if (!whole)
        return refuse(r, error, "a launch that repeats one that is not there");
    const char *status = text_of(whole, "status");
    if (!status || strcmp(status, "ok") != 0) /* its counts are of a part: not a launch to judge */
        return note_failure(r, record, k, error);
    return add_launch(r, k, record, whole, device, error);
}

static rp_code read_copy(reader *r, yajl_val record, rp_error *error) {
    const char *kind = text_of(record, "kind");
    double time = number_of(record, "time_s");
    rp_copy_record copy = {.device = device_of(r, record),
                           .process = r->process,
                           .stream = integer_of(record, "stream"),
                           .correlation = -1,
                           .kind = kind,
                           .bytes = number_of(record, "bytes"),
                           .start_ns = nanoseconds(number_of(record, "start_s")),
                           .end_ns = -1,
                           .time_provenance = RP_MODELLED};
    if (!kind || copy.device < 0 || isnan(copy.bytes))
        return refuse(r, error, "a copy without kind, device or size");
    if (copy.start_ns >= 0 && !isnan(time))
        copy.end_ns = copy.start_ns + nanoseconds(time);
    return rp_capture_add_copy(r->capture, &copy, error);
}

static rp_code read_memory(reader *r, yajl_val record, bool allocated, rp_error *error) {
    const char *kind = text_of(record, "kind");
    double bytes = number_of(record, "bytes");
    rp_memory_record memory = {.device = device_of(r, record),
                               .process = r->process,
                               .time_ns = nanoseconds(number_of(record, "time_s")),
                               .address = (uint64_t)integer_of(record, "address"),
                               .bytes = allocated ? bytes : -bytes,
                               .kind = kind};
    if (!kind || memory.device < 0 || isnan(bytes))
        return refuse(r, error, "an allocation without kind, device or size");
    return rp_capture_add_memory(r->capture, &memory, error);
}

static rp_code read_note(reader *r, yajl_val record, rp_error *error) {
    const char *severity = text_of(record, "severity"), *text = text_of(record, "text");
    return text ? rp_capture_add_note(r->capture, severity ? severity : "info", error, "%s", text)
                : RP_OK;
}

static rp_code read_record(reader *r, yajl_val record, rp_error *error) {
    const char *kind = text_of(record, "record");
    if (!kind)
        return refuse(r, error, "a line that is no record");
    if (strcmp(kind, "header") == 0)
        return read_header(r, record, error);
    if (!r->header)
        return refuse(r, error, "a record before the header");
    if (strcmp(kind, "device") == 0)
        return read_device(r, record, error);
    if (strcmp(kind, "kernel") == 0)
        return read_kernel(r, record, error);
    if (strcmp(kind, "launch") == 0)
        return read_launch(r, record, error);
    if (strcmp(kind, "copy") == 0)
        return read_copy(r, record, error);
    if (strcmp(kind, "allocation") == 0)
        return read_memory(r, record, true, error);
    if (strcmp(kind, "free") == 0)
        return read_memory(r, record, false, error);
    if (strcmp(kind, "note") == 0)
        return read_note(r, record, error);
    r->ended = r->ended || strcmp(kind, "end") == 0;
    return RP_OK; /* records of later versions that add to this one */
}

/* ---- The file
 * ---------------------------------------------------------------------------------------- */

/* yajl's tree frees itself by recursion: a line of brackets would exhaust the stack. Brackets
 * inside strings count too; records nest three deep and names hold few. */
static bool too_deep(const char *line, size_t length) {
    int depth = 0;
    for (size_t i = 0; i < length && depth <= DEEPEST; i++)
        depth += line[i] == '[' || line[i] == '{' ? 1 : line[i] == ']' || line[i] == '}' ? -1 : 0;
    return depth > DEEPEST;
}

static rp_code read_line(reader *r, const char *line, size_t length, rp_error *error) {
    if (too_deep(line, length))
        return refuse(r, error, "a line nested too deep to be a record");
    char *copy = malloc(length + 1), message[256];
    if (!copy)
        return rp_fail(error, RP_INTERNAL, "%s: no memory", r->path);
    memcpy(copy, line, length);
    copy[length] = 0;
    yajl_val record = yajl_tree_parse(copy, message, sizeof message);
    free(copy);
    if (!record)
        return refuse(r, error, "a line that is not JSON");
    r->kept = false;
    rp_code code = read_record(r, record, error);
    if (!r->kept)
        yajl_tree_free(record);
    return code;
}

static rp_code note_ending(reader *r, bool cut, rp_error *error) {
    rp_code code = RP_OK;
    if (cut || !r->ended)
        code = rp_capture_add_note(r->capture, "warning", error,
                                   "%s: the process did not end by itself: what it did last may be "
                                   "missing",
                                   r->path);
    if (code == RP_OK && r->failed > MAX_FAILURES_TOLD)
        code = rp_capture_add_note(r->capture, "error", error, "%" PRIu64 " more %s failed",
                                   r->failed - MAX_FAILURES_TOLD,
                                   rp_plural(r->failed - MAX_FAILURES_TOLD, "launch", "launches"));
    if (code == RP_OK && r->uncounted)
        code = rp_capture_add_note(r->capture, "info", error, "%" PRIu64 " %s run without counting",
                                   r->uncounted,
                                   rp_plural(r->uncounted, "launch was", "launches were"));
    if (code == RP_OK && r->at_peers)
        code = rp_capture_add_note(
            r->capture, "info", error,
            "%" PRIu64 " %s used other devices' memory, %.0f bytes over links: a "
            "capture has no place for those, the counts file has them",
            r->at_peers, rp_plural(r->at_peers, "launch", "launches"), r->peer_bytes);
    if (code == RP_OK && r->estimated)
        code =
            rp_capture_add_note(r->capture, "info", error,
                                "registers per thread of some kernels are estimated from PTX (no "
                                "cubin for this architecture was in the program): their "
                                "occupancy is an estimate");
    return code;
}

static rp_code read_all(reader *r, rp_stream *stream, rp_error *error) {
    const char *line;
    size_t length;
    bool cut = false;
    rp_code code;
    while ((code = rp_stream_line(stream, &line, &length, error)) == RP_OK && length > 0) {
        r->line++;
        cut = line[length - 1] != '\n';
        if (cut)
            break;
        if (length > 1 && (code = read_line(r, line, length, error)) != RP_OK)
            return code;
    }
    if (code == RP_OK && !r->header)
        return rp_fail(error, RP_INPUT, "%s: no header: not a counts file of the emulated device",
                       r->path);
    return code == RP_OK ? note_ending(r, cut, error) : code;
}

static rp_code import(const char *path, rp_capture *capture, rp_error *error) {
    reader r = {.capture = capture, .path = path, .process = -1};
    rp_stream *stream = NULL;
    for (int i = 0; i < DEVICES; i++)
        r.device[i] = -1;
    rp_code code = rp_stream_open(&stream, path, error);
    if (code == RP_OK)
        code = read_all(&r, stream, error);
    rp_stream_close(stream);
    for (size_t i = 0; i < r.kernels.count; i++) {
        free(r.kernels.items[i].name);
        yajl_tree_free(r.kernels.items[i].last);
    }
    free(r.kernels.items);
    return code;
}

static int recognise(const char *path, const unsigned char *head, size_t length) {
    (void)path;
    static const char start[] = "{\"record\":\"header\",\"schema\":\"roofprof.emulator.counts/";
    return length >= sizeof start - 1 && memcmp(head, start, sizeof start - 1) == 0 ? 100 : 0;
}

const rp_importer rp_importer_emulator = {.name = "emulator",
                                          .title = "roofprof emulated device",
                                          .recognise = recognise,
                                          .import = import};
