/* SPDX-License-Identifier: Apache-2.0
 *
 * Spools to a capture: see ingest.h. Two passes over the mapped file: names, configs, devices and
 * ranges are collected first, since a range's record comes after the launches inside it; then
 * launches, copies and memory are added in file order.
 */
#include "capture/ingest.h"
#include "capture/spool_counts.h"
#include "support/cupti_result.h"
#include "tracer/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Longer than a day on one kernel is a broken record, not a kernel. */
#define LONGEST_NS UINT64_C(86400000000000)

typedef struct span {
    const char *at;
    size_t length;
} span;

typedef struct config {
    spool_config record;
    int64_t id;   /* in the capture; -1 not added yet */
    int64_t twin; /* with_registers: its index; -1 not looked for yet */
} config;

typedef struct device {
    bool known;
    spool_device record;
    char name[256], chip[32]; /* "": not known */
    int64_t id;               /* -1 not added yet */
} device;

typedef struct range {
    uint32_t id, name, parent;
    uint64_t start, end;
    int64_t capture_id;
} range;

enum { DEVICES = 256 };

typedef struct ingest {
    const uint8_t *base;
    size_t size;
    const char *path;
    rp_capture *capture;
    rp_ingest_summary *summary;
    rp_error *error;
    spool_header header;
    char host[256], program[512];
    span *names;
    size_t name_count;
    config *configs;
    size_t config_count;
    range *ranges;
    size_t range_count, range_room;
    spool_launch *launches; /* sorted by correlation */
    size_t launch_count, launch_room;
    device devices[DEVICES];
    int64_t process, wall_offset, cupti_offset;
    uint64_t kernels, copies, invalid, counted, unchosen;
    rp_spool_counts counts;
    size_t next_alone; /* of the counted launches, which are sorted: those before it are added */
    spool_lost lost;
    bool ended;
    size_t good; /* bytes of whole frames */
} ingest;

typedef rp_code (*visitor)(ingest *in, const spool_frame *frame, const uint8_t *payload);

static size_t padded(size_t n) {
    return (n + 7) & ~(size_t)7;
}

/* Calls VISIT for each whole frame. CHECK: verifies the CRCs (once is enough). */
static rp_code each_frame(ingest *in, bool check, size_t limit, visitor visit) {
    size_t at = 0;
    while (at + sizeof(spool_frame) <= limit) {
        spool_frame frame;
        memcpy(&frame, in->base + at, sizeof frame);
        const uint8_t *payload = in->base + at + sizeof frame;
        if (frame.magic != SPOOL_MAGIC || frame.length > SPOOL_FRAME_LIMIT ||
            frame.length > limit - at - sizeof frame)
            break;
        if (check) {
            uLong crc = crc32(0, in->base + at + 4, 8);
            if ((uint32_t)crc32(crc, payload, frame.length) != frame.crc)
                break;
        }
        rp_code code = visit(in, &frame, payload);
        if (code)
            return code;
        at += sizeof frame + padded(frame.length);
    }
    if (check)
        in->good = at < limit ? at : limit;
    return RP_OK;
}

static bool grow(void **list, size_t *room, size_t count, size_t size) {
    if (count < *room)
        return true;
    size_t larger = *room ? *room * 2 : 256;
    void *grown = realloc(*list, larger * size);
    if (!grown)
        return false;
    *list = grown;
    *room = larger;
    return true;
}

static rp_code no_memory(ingest *in) {
    return rp_fail(in->error, RP_INTERNAL, "%s: no memory to read it", in->path);
}

/* ---- First pass: what others refer to -------------------------------------------------------- */

/* Names and configs are numbered in the order in which they were written: a gap is damage. */
static rp_code damaged(ingest *in, const char *what) {
    return rp_fail(in->error, RP_INPUT, "%s: not a spool of this version: %s", in->path, what);
}

static rp_code collect_header(ingest *in, const uint8_t *payload, size_t length) {
    if (length < sizeof in->header)
        return damaged(in, "its header is too short");
    memcpy(&in->header, payload, sizeof in->header);
    if (in->header.version != SPOOL_VERSION)
        return rp_fail(in->error, RP_INPUT,
                       "%s: spool version %u; this roofprof reads version %u. Recover it with the "
                       "roofprof that wrote it",
                       in->path, in->header.version, SPOOL_VERSION);
    const char *host = (const char *)payload + sizeof in->header;
    size_t room = length - sizeof in->header, n = strnlen(host, room);
    snprintf(in->host, sizeof in->host, "%.*s", (int)n, host);
    if (n + 1 < room)
        snprintf(in->program, sizeof in->program, "%.*s", (int)strnlen(host + n + 1, room - n - 1),
                 host + n + 1);
    return RP_OK;
}

static rp_code collect_name(ingest *in, const uint8_t *payload, size_t length) {
    uint32_t id;
    if (length < sizeof id)
        return damaged(in, "a name is too short");
    memcpy(&id, payload, sizeof id);
    size_t room = in->name_count; /* the list's room is the next power of two */
    if (id != in->name_count)
        return damaged(in, "a name is out of order");
    if ((room & (room - 1)) == 0) {
        span *grown = realloc(in->names, (room ? room * 2 : 1) * sizeof *grown);
        if (!grown)
            return no_memory(in);
        in->names = grown;
    }
    in->names[in->name_count++] = (span){(const char *)payload + sizeof id, length - sizeof id};
    return RP_OK;
}

static rp_code collect_config(ingest *in, const uint8_t *payload, size_t length) {
    spool_config c;
    size_t room = in->config_count;
    if (length != sizeof c)
        return damaged(in, "a config has the wrong size");
    memcpy(&c, payload, sizeof c);
    if (c.id != in->config_count || c.name >= in->name_count || c.device >= DEVICES)
        return damaged(in, "a config is out of order");
    if ((room & (room - 1)) == 0) {
        config *grown = realloc(in->configs, (room ? room * 2 : 1) * sizeof *grown);
        if (!grown)
            return no_memory(in);
        in->configs = grown;
    }
    in->configs[in->config_count++] = (config){c, -1, -1};
    return RP_OK;
}

static rp_code collect_range(ingest *in, const uint8_t *payload, size_t length) {
    spool_range r;
    if (length != sizeof r)
        return damaged(in, "a range has the wrong size");
    memcpy(&r, payload, sizeof r);
    if (!grow((void **)&in->ranges, &in->range_room, in->range_count, sizeof *in->ranges))
        return no_memory(in);
    in->ranges[in->range_count++] = (range){r.id, r.name, r.parent, r.start_ns, r.end_ns, -1};
    return RP_OK;
}

static rp_code collect_launches(ingest *in, const uint8_t *payload, size_t length) {
    for (size_t at = 0; at + sizeof(spool_launch) <= length; at += sizeof(spool_launch)) {
        if (!grow((void **)&in->launches, &in->launch_room, in->launch_count, sizeof *in->launches))
            return no_memory(in);
        memcpy(&in->launches[in->launch_count++], payload + at, sizeof *in->launches);
    }
    return RP_OK;
}

static rp_code collect_device(ingest *in, const uint8_t *payload, size_t length) {
    spool_device d;
    if (length < sizeof d)
        return damaged(in, "a device is too short");
    memcpy(&d, payload, sizeof d);
    if (d.ordinal >= DEVICES)
        return damaged(in, "a device's number is too large");
    device *into = &in->devices[d.ordinal];
    into->known = true;
    into->record = d;
    snprintf(into->name, sizeof into->name, "%.*s",
             (int)strnlen((const char *)payload + sizeof d, length - sizeof d),
             (const char *)payload + sizeof d);
    return RP_OK;
}

static rp_code note(ingest *in, const char *severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "process 123 (train): ..." in the capture; a problem is kept for whoever has no capture to show.
 */
static rp_code note(ingest *in, const char *severity, const char *format, ...) {
    char words[900], text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "process %u (%.80s) %s", in->header.pid, in->program, words);
    if (strcmp(severity, "info"))
        memcpy(in->summary->problem, text, sizeof text);
    return rp_capture_add_note(in->capture, severity, in->error, "%s", text);
}

static const char *activity_kind(uint32_t kind) {
    return kind == 10 ? "kernels" : kind == 2 ? "memsets" : kind == 49 ? "memory" : "copies";
}

static rp_code note_status(ingest *in, const uint8_t *payload, size_t length) {
    spool_status s;
    if (length < sizeof s)
        return damaged(in, "a status is too short");
    memcpy(&s, payload, sizeof s);
    const char *words = (const char *)payload + sizeof s;
    int n = (int)strnlen(words, length - sizeof s);
    const rp_cupti_result *r = rp_cupti_result_find((int)s.code);
    switch (s.stage) {
    case SPOOL_STAGE_CUPTI_CHOSEN:
        return note(in, "info", "used CUPTI %u from %.*s", s.code, n, words);
    case SPOOL_STAGE_NO_CUPTI:
        return note(in, "error",
                    "found no CUPTI, so nothing was traced (%.*s). Set ROOFPROF_CUPTI to the "
                    "libcupti.so of a CUDA toolkit (extras/CUPTI/lib64), or install the "
                    "nvidia-cuda-cupti package",
                    n, words);
    case SPOOL_STAGE_SUBSCRIBE:
        return note(in, "warning", "was refused by CUPTI %.*s (%u %s): %s. %s", n, words, s.code,
                    r->name, r->meaning, r->remedy);
    case SPOOL_STAGE_ENABLE:
        return note(in, "warning", "cannot trace %s (%u %s): %s. %s", activity_kind(s.detail),
                    s.code, r->name, r->meaning, r->remedy);
    case SPOOL_STAGE_COUNTERS:
        if (s.code == 0) /* it was not CUPTI that refused */
            return note(in, "warning", "has no counters, or none from there on: %.*s", n, words);
        return note(in, "warning", "has no counters, or none from there on (%u %s; %.*s): %s. %s",
                    s.code, r->name, n, words, r->meaning, r->remedy);
    case SPOOL_STAGE_CHAIN:
        return note(in, "warning",
                    "has an injection library of yours, %.*s, that could not be loaded", n, words);
    case SPOOL_STAGE_CHIP:
        if (s.detail < DEVICES)
            snprintf(in->devices[s.detail].chip, sizeof in->devices[s.detail].chip, "%.*s", n,
                     words);
        if (s.code)
            return note(in, "warning",
                        "was counted by CUPTI's profiler sessions, the older way: it has been run "
                        "on the emulated device only");
        return RP_OK;
    case SPOOL_STAGE_LEFT_OUT:
        return note(in, "warning", "did not count %.*s", n, words);
    case SPOOL_STAGE_GRAPH_ORDER:
        return note(in, "warning",
                    "has CUDA graphs with branches: counters are given to their kernels in the "
                    "order in which the nodes were added, each after what it depends on. A device "
                    "that runs branches in another order mixes those of different kernels up");
    case SPOOL_STAGE_FLUSH: /* the driver was down already; the flushes before it count */
        return RP_OK;
    default:
        return note(in, "warning", "reports: %.*s", n, words);
    }
}

static rp_code collect_counts(ingest *in, const spool_frame *frame, const uint8_t *payload) {
    rp_code code =
        rp_spool_counts_collect(&in->counts, frame->type, payload, frame->length, in->error);
    return code == RP_INPUT ? damaged(in, "a frame of counters does not hold what it says") : code;
}

static rp_code collect(ingest *in, const spool_frame *frame, const uint8_t *payload) {
    spool_clock clock;
    switch (frame->type) {
    case SPOOL_HEADER:
        return collect_header(in, payload, frame->length);
    case SPOOL_NAME:
        return collect_name(in, payload, frame->length);
    case SPOOL_CONFIG:
        return collect_config(in, payload, frame->length);
    case SPOOL_RANGE:
        return collect_range(in, payload, frame->length);
    case SPOOL_LAUNCHES:
        return collect_launches(in, payload, frame->length);
    case SPOOL_DEVICE:
        return collect_device(in, payload, frame->length);
    case SPOOL_STATUS:
        return note_status(in, payload, frame->length);
    case SPOOL_LOST:
        if (frame->length == sizeof in->lost)
            memcpy(&in->lost, payload, sizeof in->lost);
        return RP_OK;
    case SPOOL_CLOCK:
        if (frame->length == sizeof clock) {
            memcpy(&clock, payload, sizeof clock);
            in->wall_offset = clock.wall_ns - clock.monotonic_ns;
            in->cupti_offset = clock.cupti_ns ? clock.cupti_ns - clock.monotonic_ns : 0;
        }
        return RP_OK;
    case SPOOL_END:
        in->ended = true;
        return RP_OK;
    default:
        return collect_counts(in, frame, payload);
    }
}

/* ---- Between: devices, ranges, configs ------------------------------------------------------- */

static void format_uuid(const uint8_t *u, char out[41]) {
    char *to = out + sprintf(out, "GPU-");
    for (int i = 0; i < 16; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}

/* An emulated device says so in its UUID; its times come from a model. */
static bool emulated(const ingest *in, uint32_t ordinal) {
    const device *d = &in->devices[ordinal];
    return d->known && !memcmp(d->record.uuid, "emulated ", 9);
}

static rp_provenance count_provenance(const ingest *in, uint32_t ordinal) {
    return emulated(in, ordinal) ? RP_EMULATED : RP_COUNTED;
}

static rp_provenance time_provenance(const ingest *in, uint32_t ordinal) {
    return emulated(in, ordinal) ? RP_MODELLED : RP_MEASURED;
}

/* What the device ran under, for the calibration of it that counts; where the tracer knew its
 * address. */
static void ask_state(const ingest *in, const spool_device *s, rp_device_record *record,
                      char driver[80]) {
    char address[48];
    if (!in->summary->ask || !record->uuid || s->pci_domain < 0 || s->pci_bus < 0 ||
        s->pci_device < 0)
        return;
    snprintf(address, sizeof address, "%08x:%02x:%02x.0", (unsigned)s->pci_domain,
             (unsigned)s->pci_bus, (unsigned)s->pci_device);
    if (in->summary->ask(address, record->uuid, record->emulated, driver, &record->power_limit_w) &&
        *driver)
        record->driver = driver;
}

static rp_code add_device(ingest *in, uint32_t ordinal, int64_t *id) {
    device *d = &in->devices[ordinal];
    if (d->id < 0) {
        rp_device_record record = RP_DEVICE_RECORD_INIT;
        const spool_device *s = &d->record;
        static const uint8_t none[16];
        char uuid[41], driver[80] = "";
        record.ordinal = ordinal;
        record.emulated = emulated(in, ordinal);
        if (*d->chip)
            record.chip = d->chip;
        if (d->known) {
            record.name = d->name;
            record.cc_major = s->cc_major;
            record.cc_minor = s->cc_minor;
            record.sm_count = s->sm_count;
            record.memory_bus_bits = s->memory_bus_bits;
            record.memory_bytes = s->memory_bytes ? (int64_t)s->memory_bytes : -1;
            record.l2_bytes = s->l2_bytes ? (int64_t)s->l2_bytes : -1;
            if (s->sm_clock_khz > 0)
                record.sm_clock_hz = s->sm_clock_khz * 1e3;
            if (s->memory_clock_khz > 0)
                record.memory_clock_hz = s->memory_clock_khz * 1e3;
            if (memcmp(s->uuid, none, sizeof none)) {
                format_uuid(s->uuid, uuid);
                record.uuid = uuid;
            }
            ask_state(in, s, &record, driver);
        }
        rp_code code = rp_capture_add_device(in->capture, &record, &d->id, in->error);
        if (code)
            return code;
    }
    *id = d->id;
    return RP_OK;
}

/* Ranges by id, outermost first, so that a parent has its number before its children. */
static int by_id(const void *a, const void *b) {
    const range *p = a, *q = b;
    return p->id < q->id ? -1 : p->id > q->id;
}

static range *find_range(const ingest *in, uint32_t id) {
    range key = {.id = id};
    return in->range_count ? bsearch(&key, in->ranges, in->range_count, sizeof *in->ranges, by_id)
                           : NULL;
}

static rp_code add_ranges(ingest *in) {
    if (in->range_count)
        qsort(in->ranges, in->range_count, sizeof *in->ranges, by_id);
    for (size_t i = 0; i < in->range_count; i++) {
        range *r = &in->ranges[i];
        const range *parent = r->parent == SPOOL_NONE ? NULL : find_range(in, r->parent);
        char *name = NULL;
        if (r->name < in->name_count)
            name = strndup(in->names[r->name].at, in->names[r->name].length);
        rp_code code = rp_capture_add_range(
            in->capture, parent ? parent->capture_id : -1, name ? name : "", (int64_t)r->start,
            r->end ? (int64_t)r->end : -1, &r->capture_id, in->error);
        free(name);
        if (code)
            return code;
    }
    return RP_OK;
}

static int by_correlation(const void *a, const void *b) {
    const spool_launch *p = a, *q = b;
    return p->correlation < q->correlation ? -1 : p->correlation > q->correlation;
}

static int64_t range_of(const ingest *in, uint32_t correlation) {
    spool_launch key = {correlation, 0};
    const spool_launch *l =
        in->launch_count ? bsearch(&key, in->launches, in->launch_count, sizeof key, by_correlation)
                         : NULL;
    const range *r = l ? find_range(in, l->range) : NULL;
    return r ? r->capture_id : -1;
}

static int64_t known(uint32_t number) {
    return number == SPOOL_NONE ? -1 : (int64_t)number;
}

static rp_code add_config(ingest *in, config *c) {
    const spool_config *s = &c->record;
    rp_config_record record = {.name = in->names[s->name].at,
                               .name_length = in->names[s->name].length,
                               .has_shape = true,
                               .grid = {s->grid[0], s->grid[1], s->grid[2]},
                               .block = {s->block[0], s->block[1], s->block[2]},
                               .registers = known(s->registers),
                               .shared_static = known(s->shared_static),
                               .shared_dynamic = s->shared_dynamic};
    return rp_capture_add_config(in->capture, &record, &c->id, in->error);
}

/* ---- Second pass: launches, copies, memory --------------------------------------------------- */

static bool impossible(uint64_t start, uint64_t end) {
    return start == 0 || end < start || end - start > LONGEST_NS;
}

/* A launch of C with what both its record and its counters tell. */
static rp_code start_launch(ingest *in, config *c, uint32_t correlation, rp_launch_record *launch) {
    rp_code code = c->id < 0 ? add_config(in, c) : RP_OK;
    *launch = RP_LAUNCH_RECORD_INIT;
    if (!code)
        code = add_device(in, c->record.device, &launch->device);
    launch->config = c->id;
    launch->process = in->process;
    launch->context = c->record.context;
    launch->correlation = correlation;
    launch->range = in->launch_count ? range_of(in, correlation) : -1;
    launch->cache = RP_CACHE_NATURAL;
    return code;
}

static rp_code end_launch(ingest *in, const rp_launch_record *launch, uint32_t ordinal,
                          rp_spool_counted *counted) {
    int64_t id;
    rp_code code = rp_capture_add_launch(in->capture, launch, &id, in->error);
    in->kernels++;
    if (code || !counted)
        return code;
    in->counted += in->counts.metrics[counted->record.metrics].count > 0;
    return rp_spool_counts_add(&in->counts, counted, in->capture, id, count_provenance(in, ordinal),
                               in->error);
}

/* The time of a counted launch is the one that its counters tell (the capture takes it from them):
 * its record holds what counting made of it. Of several passes only the first saw the caches as the
 * program had left them. */
static void set_counted_time(const ingest *in, uint32_t ordinal, const rp_spool_counted *counted,
                             int64_t start_ns, rp_launch_record *launch) {
    double duration = rp_spool_counts_duration(&in->counts, counted);
    bool one_pass = rp_spool_counts_passes(&in->counts, counted) <= 1;
    if (!one_pass)
        launch->cache = RP_CACHE_WARM;
    if (!(duration > 0 && duration < (double)LONGEST_NS))
        return;
    launch->time_s = duration * 1e-9;
    launch->time_provenance = emulated(in, ordinal) ? RP_MODELLED : RP_COUNTED;
    if (one_pass && start_ns >= 0) {
        launch->start_ns = start_ns;
        launch->end_ns = start_ns + (int64_t)duration;
    }
}

static bool same_shape(const spool_config *a, const spool_config *b) {
    return a->name == b->name && a->device == b->device && a->context == b->context &&
           !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block) && a->shared_dynamic == b->shared_dynamic;
}

/* The config that records of the same kernel and shape have: it knows registers and memory. */
static config *with_registers(ingest *in, config *c) {
    if (c->twin < 0) {
        c->twin = c - in->configs;
        for (size_t i = 0; i < in->config_count; i++)
            if (in->configs[i].record.registers != SPOOL_NONE &&
                same_shape(&c->record, &in->configs[i].record))
                c->twin = (int64_t)i;
    }
    return &in->configs[c->twin];
}

static rp_code add_without_record(ingest *in, rp_spool_counted *counted) {
    rp_launch_record launch;
    if (counted->record.config >= in->config_count)
        return damaged(in, "a counted launch names a config that is not there");
    config *c = with_registers(in, &in->configs[counted->record.config]);
    rp_code code = start_launch(in, c, counted->record.correlation, &launch);
    if (code)
        return code;
    if (counted->node)
        launch.graph_node = (int64_t)counted->node;
    set_counted_time(in, c->record.device, counted, (int64_t)counted->record.time_ns, &launch);
    return end_launch(in, &launch, c->record.device, counted);
}

/* While launches are counted they may have no record: their counters stand alone, and they come
 * where they were launched, BEFORE that one. */
static rp_code add_launches_without_record(ingest *in, uint64_t before) {
    rp_code code = RP_OK;
    for (; in->next_alone < in->counts.launch_count && !code; in->next_alone++) {
        rp_spool_counted *counted = &in->counts.launches[in->next_alone];
        if (counted->record.correlation >= before)
            break;
        if (!counted->recorded && !counted->used)
            code = add_without_record(in, counted);
    }
    return code;
}

/* Of the launches that were counted, those that have a record. */
static rp_code mark_recorded(ingest *in, const spool_frame *frame, const uint8_t *payload) {
    spool_node n = {0};
    size_t size = frame->type == SPOOL_NODES ? sizeof n : sizeof n.kernel;
    if ((frame->type != SPOOL_KERNELS && frame->type != SPOOL_NODES) || !in->counts.launch_count)
        return RP_OK;
    for (size_t at = 0; at + size <= frame->length; at += size) {
        memcpy(&n, payload + at, size);
        rp_spool_counted *counted = rp_spool_counts_find(&in->counts, n.kernel.correlation, n.node);
        if (counted)
            counted->recorded = true;
    }
    return RP_OK;
}

static rp_code add_kernel(ingest *in, const spool_kernel *k, int64_t node) {
    uint64_t start = (uint64_t)k->start_high << 32 | k->start_low;
    uint64_t end = (uint64_t)k->end_high << 32 | k->end_low;
    rp_launch_record launch;
    if (k->config >= in->config_count)
        return damaged(in, "a launch names a config that is not there");
    if (!rp_spool_counts_selected(&in->counts, k->correlation)) {
        in->unchosen++;
        return RP_OK;
    }
    rp_spool_counted *counted =
        rp_spool_counts_find(&in->counts, k->correlation, node < 0 ? 0 : (uint64_t)node);
    if (counted && counted->used) /* a further pass over the same launch */
        return RP_OK;
    rp_code code = add_launches_without_record(in, k->correlation);
    if (!code)
        code = start_launch(in, &in->configs[k->config], k->correlation, &launch);
    if (code)
        return code;
    if (impossible(start, end) && !counted) {
        in->invalid++;
        return RP_OK;
    }
    launch.stream = k->stream;
    launch.graph_node = node;
    if (counted) {
        set_counted_time(in, in->configs[k->config].record.device, counted,
                         impossible(start, end) ? -1 : (int64_t)start - in->cupti_offset, &launch);
    } else {
        launch.start_ns = (int64_t)start - in->cupti_offset;
        launch.end_ns = (int64_t)end - in->cupti_offset;
        launch.time_s = (double)(end - start) * 1e-9;
        launch.time_provenance = time_provenance(in, in->configs[k->config].record.device);
    }
    return end_launch(in, &launch, in->configs[k->config].record.device, counted);
}

static const char *copy_kind(uint8_t kind) {
    switch (kind) { /* CUpti_ActivityMemcpyKind; arrays count as what holds them */
    case 1:
    case 3:
        return "HtoD";
    case 2:
    case 4:
        return "DtoH";
    case 5:
    case 6:
    case 7:
    case 8:
        return "DtoD";
    case 9:
        return "HtoH";
    case 10:
        return "PtoP";
    case SPOOL_COPY_MEMSET:
        return "memset";
    default:
        return "other";
    }
}

static rp_code add_copy(ingest *in, const spool_copy *c) {
    rp_copy_record record = {.process = in->process,
                             .stream = c->stream,
                             .correlation = c->correlation,
                             .kind = copy_kind(c->kind),
                             .bytes = (double)c->bytes,
                             .start_ns = -1,
                             .end_ns = -1,
                             .time_provenance = RP_ABSENT};
    if (c->device >= DEVICES)
        return damaged(in, "a copy names a device that cannot be");
    rp_code code = add_device(in, c->device, &record.device);
    if (code)
        return code;
    if (!impossible(c->start_ns, c->end_ns)) {
        record.start_ns = (int64_t)c->start_ns - in->cupti_offset;
        record.end_ns = (int64_t)c->end_ns - in->cupti_offset;
        record.time_provenance = time_provenance(in, c->device);
    }
    in->copies++;
    return rp_capture_add_copy(in->capture, &record, in->error);
}

static rp_code add_memory(ingest *in, const spool_memory *m) {
    static const char *const kinds[] = {"unknown", "pageable", "pinned", "device",
                                        "array",   "managed",  "static", "managed"};
    rp_memory_record record = {.process = in->process,
                               .time_ns = (int64_t)m->time_ns - in->cupti_offset,
                               .address = m->address,
                               .kind = m->kind < 8 ? kinds[m->kind] : "pool"};
    if (m->device >= DEVICES) /* host memory belongs to no device */
        return RP_OK;
    if (m->operation != 1 && m->operation != 2)
        return RP_OK;
    record.bytes = m->operation == 1 ? (double)m->bytes : -(double)m->bytes;
    rp_code code = add_device(in, m->device, &record.device);
    return code ? code : rp_capture_add_memory(in->capture, &record, in->error);
}

static rp_code add(ingest *in, const spool_frame *frame, const uint8_t *payload) {
    rp_code code = RP_OK;
    size_t size = frame->type == SPOOL_KERNELS  ? sizeof(spool_kernel)
                  : frame->type == SPOOL_NODES  ? sizeof(spool_node)
                  : frame->type == SPOOL_COPIES ? sizeof(spool_copy)
                  : frame->type == SPOOL_MEMORY ? sizeof(spool_memory)
                                                : 0;
    for (size_t at = 0; size && !code && at + size <= frame->length; at += size) {
        spool_kernel kernel;
        spool_node node;
        spool_copy copy;
        spool_memory memory;
        switch (frame->type) {
        case SPOOL_KERNELS:
            memcpy(&kernel, payload + at, size);
            code = add_kernel(in, &kernel, -1);
            break;
        case SPOOL_NODES:
            memcpy(&node, payload + at, size);
            code = add_kernel(in, &node.kernel, (int64_t)node.node);
            break;
        case SPOOL_COPIES:
            memcpy(&copy, payload + at, size);
            code = add_copy(in, &copy);
            break;
        default:
            memcpy(&memory, payload + at, size);
            code = add_memory(in, &memory);
        }
    }
    return code;
}

/* ---- One spool ------------------------------------------------------------------------------- */

static rp_code say_what_is_missing(ingest *in) {
    uint64_t lost = in->lost.dropped + in->lost.discarded;
    rp_code code = RP_OK;
    if (!in->ended)
        code = note(in, "warning",
                    "ended without running its exit handlers (killed, aborted or _exit): up to its "
                    "last second, and buffers with an unfinished record, are missing");
    if (!code && in->good < in->size)
        code = note(in, "warning", "left a spool whose last %zu bytes are torn: they were left out",
                    in->size - in->good);
    if (!code && lost)
        code = note(in, "warning",
                    "lost %" PRIu64 " records (%" PRIu64 " dropped by CUPTI, %" PRIu64
                    " for want of memory): totals are too low by these",
                    lost, in->lost.dropped, in->lost.discarded);
    in->summary->dropped += lost;
    rp_capture_count_invalid(in->capture, in->invalid);
    return code;
}

/* "counted 12 of 4000 launches ..." */
static rp_code say_what_was_counted(ingest *in) {
    const spool_counted *t = &in->counts.totals;
    in->unchosen += in->lost.not_asked;
    in->summary->unchosen += in->unchosen;
    if (in->unchosen) {
        rp_code code =
            note(in, "info", "made %" PRIu64 " launches that were not asked for", in->unchosen);
        if (code)
            return code;
    }
    if (!in->counts.has_totals)
        return RP_OK;
    rp_code code = note(
        in, "info",
        "had %" PRIu64 " of %" PRIu64 " launches counted, which cost %.2f s of %.2f s (%" PRIu64
        " changes of configuration, %.0f us each)",
        in->counted, in->kernels, (double)t->cost_ns * 1e-9, (double)t->elapsed_ns * 1e-9,
        t->switches, t->switches ? (double)t->switch_ns * 1e-3 / (double)t->switches : 0.0);
    if (!code && t->over_budget)
        code = note(in, "info",
                    "left %" PRIu64 " launches untouched, since counting had cost its share of the "
                    "run: raise it with --budget",
                    t->over_budget);
    if (!code && t->skipped)
        code = note(in, "info",
                    "left %" PRIu64 " launches of collectives and the like untouched: these must "
                    "not be held back",
                    t->skipped);
    if (!code && t->in_graphs)
        code = note(in, "warning",
                    "launched CUDA graphs %" PRIu64 " times whose kernels could not be told apart "
                    "(a driver before CUDA 12.3, more than 4096 kernels, or a CUPTI that counts "
                    "others than these): they are traced and not counted",
                    t->in_graphs);
    if (!code && t->lost + t->busy)
        code = note(in, "warning",
                    "has %" PRIu64 " counted launches without counters (several threads launched "
                    "at once, or a launch was stopped)",
                    t->lost + t->busy);
    return code;
}

static rp_code add_process(ingest *in) {
    rp_process_record process = {
        .pid = in->header.pid, .rank = in->header.rank, .name = in->program, .host = in->host};
    return rp_capture_add_process(in->capture, &process, &in->process, in->error);
}

static rp_code ingest_mapped(ingest *in) {
    rp_code code = each_frame(in, true, in->size, collect);
    if (!code && !in->header.version)
        code = damaged(in, "it does not begin with a header");
    if (!code)
        code = add_process(in);
    if (!code)
        code = add_ranges(in);
    if (code)
        return code;
    if (in->launch_count)
        qsort(in->launches, in->launch_count, sizeof *in->launches, by_correlation);
    rp_spool_counts_ready(&in->counts);
    code = each_frame(in, false, in->good, mark_recorded);
    if (!code)
        code = each_frame(in, false, in->good, add);
    if (!code)
        code = add_launches_without_record(in, UINT64_MAX);
    if (!code)
        code = say_what_was_counted(in);
    return code ? code : say_what_is_missing(in);
}

rp_code rp_ingest_spool(rp_capture *capture, const char *path, rp_ingest_summary *summary,
                        rp_error *error) {
    ingest *in = calloc(1, sizeof *in);
    struct stat status;
    rp_code code = RP_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (!in || file < 0 || fstat(file, &status)) {
        code = rp_fail(error, in ? RP_INPUT : RP_INTERNAL, "%s: cannot be opened: %s", path,
                       strerror(errno));
        goto out;
    }
    *in = (ingest){.path = path,
                   .capture = capture,
                   .summary = summary,
                   .error = error,
                   .size = (size_t)status.st_size};
    for (int i = 0; i < DEVICES; i++)
        in->devices[i].id = -1;
    void *base = in->size ? mmap(NULL, in->size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (base == MAP_FAILED) {
        code = rp_fail(error, RP_INPUT, "%s: %s", path,
                       in->size ? strerror(errno) : "the spool is empty");
        goto out;
    }
    in->base = base;
    code = ingest_mapped(in);
    munmap(base, in->size);
    summary->processes++;
    summary->processes_without_kernels += in->kernels == 0;
    summary->unfinished += !in->ended;
    summary->launches += in->kernels;
    summary->copies += in->copies;
    summary->invalid += in->invalid;
out:
    if (file >= 0)
        close(file);
    if (in) {
        free(in->names);
        free(in->configs);
        free(in->ranges);
        free(in->launches);
        rp_spool_counts_free(&in->counts);
    }
    free(in);
    return code;
}

/* The wall clock in a spool's name, HOST.PID.NANOSECONDS.RANK.spool: hosts may have dots. 0: it has
 * another name. */
static unsigned long long started(const char *path) {
    const char *at = path + strlen(path);
    for (int dots = 0; at > path && dots < 3; at--)
        dots += at[-1] == '.';
    return *at == '.' ? strtoull(at + 1, NULL, 10) : 0;
}

/* In the order in which processes were started, which the runs of a program have in common. */
static int by_start(const void *a, const void *b) {
    const char *p = *(char *const *)a, *q = *(char *const *)b;
    unsigned long long s = started(p), t = started(q);
    return s != t ? (s < t ? -1 : 1) : strcmp(p, q);
}

rp_code rp_ingest_find(const char *folder, char ***paths, size_t *count, rp_error *error) {
    DIR *dir = opendir(folder);
    size_t room = 0;
    rp_code code = RP_OK;
    *paths = NULL;
    *count = 0;
    if (!dir)
        return rp_fail(error, RP_INPUT, "%s: cannot be opened: %s", folder, strerror(errno));
    for (struct dirent *e; !code && (e = readdir(dir));) {
        size_t length = strlen(e->d_name), suffix = strlen(SPOOL_SUFFIX);
        char *path;
        if (length <= suffix || strcmp(e->d_name + length - suffix, SPOOL_SUFFIX))
            continue;
        if (!grow((void **)paths, &room, *count, sizeof **paths) ||
            asprintf(&path, "%s/%s", folder, e->d_name) < 0)
            code = rp_fail(error, RP_INTERNAL, "no memory");
        else
            (*paths)[(*count)++] = path;
    }
    closedir(dir);
    if (*count)
        qsort(*paths, *count, sizeof **paths, by_start);
    return code;
}
