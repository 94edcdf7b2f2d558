/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace reader behind trace.h: yajl's events, told apart by how deep they lie. Three parts of
 * the document matter: traceEvents (or a bare array of events), deviceProperties and
 * distributedInfo; everything else, environments included, is passed over unread.
 */
#include "importers/trace.h"
#include "importers/lenient.h"
#include "importers/rows.h"
#include "importers/stream.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { CHUNK = 64 * 1024, DEEPEST = 512 };

/* Times beyond this (ns; 126 years) cannot be: sums of two still fit 64 bits. */
static const int64_t farthest = INT64_C(4000000000000000000);

typedef enum section { ELSEWHERE, EVENTS, DEVICES, DISTRIBUTED } section;

/* Keys that matter, by where they stand. */
typedef enum key {
    K_NONE,
    /* the document */
    K_EVENTS,
    K_DEVICES,
    K_DISTRIBUTED,
    K_BASE,
    /* an event */
    K_NAME,
    K_CATEGORY,
    K_PHASE,
    K_PID,
    K_TID,
    K_TIME,
    K_DURATION,
    K_ARGUMENTS,
    /* an event's args */
    K_DEVICE,
    K_CONTEXT,
    K_STREAM,
    K_CORRELATION,
    K_REGISTERS,
    K_SHARED,
    K_BYTES,
    K_GRAPH_NODE,
    K_IN_ELEMENTS,
    K_OUT_ELEMENTS,
    K_GROUP_SIZE,
    K_OCCUPANCY,
    K_GRID,
    K_BLOCK,
    K_COLLECTIVE,
    K_ELEMENT_TYPE,
    /* a device, or distributedInfo */
    K_ID,
    K_MEMORY,
    K_MAJOR,
    K_MINOR,
    K_SMS,
    K_RANK,
} key;

typedef struct key_name {
    const char *name;
    key key;
} key_name;

static const key_name document_keys[] = {{"traceEvents", K_EVENTS},
                                         {"deviceProperties", K_DEVICES},
                                         {"distributedInfo", K_DISTRIBUTED},
                                         {"baseTimeNanoseconds", K_BASE},
                                         {NULL, K_NONE}};
static const key_name event_keys[] = {{"name", K_NAME},    {"cat", K_CATEGORY},   {"ph", K_PHASE},
                                      {"pid", K_PID},      {"tid", K_TID},        {"ts", K_TIME},
                                      {"dur", K_DURATION}, {"args", K_ARGUMENTS}, {NULL, K_NONE}};
static const key_name argument_keys[] = {{"device", K_DEVICE},
                                         {"context", K_CONTEXT},
                                         {"stream", K_STREAM},
                                         {"correlation", K_CORRELATION},
                                         {"registers per thread", K_REGISTERS},
                                         {"shared memory", K_SHARED},
                                         {"bytes", K_BYTES},
                                         {"Bytes", K_BYTES},
                                         {"graph node id", K_GRAPH_NODE},
                                         {"In msg nelems", K_IN_ELEMENTS},
                                         {"Out msg nelems", K_OUT_ELEMENTS},
                                         {"Group size", K_GROUP_SIZE},
                                         {"est. achieved occupancy %", K_OCCUPANCY},
                                         {"grid", K_GRID},
                                         {"block", K_BLOCK},
                                         {"Collective name", K_COLLECTIVE},
                                         {"dtype", K_ELEMENT_TYPE},
                                         {NULL, K_NONE}};
static const key_name device_keys[] = {{"id", K_ID},
                                       {"name", K_NAME},
                                       {"totalGlobalMem", K_MEMORY},
                                       {"computeMajor", K_MAJOR},
                                       {"computeMinor", K_MINOR},
                                       {"numSms", K_SMS},
                                       {NULL, K_NONE}};
static const key_name distributed_keys[] = {{"rank", K_RANK}, {NULL, K_NONE}};

typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

typedef struct parser {
    const rp_trace_reader *reader;
    rp_trace_header *header;
    rp_error *error;
    rp_code code;
    const char *path;
    unsigned depth;       /* containers open now */
    unsigned event_depth; /* of an event's own map: 3 inside a document, 2 in a bare array */
    section section;
    key key;          /* at the level of an event, device or distributedInfo, or the document */
    key argument_key; /* inside args */
    bool in_event, in_arguments, in_device;
    bool started, done; /* the outermost container was opened, closed */
    rp_trace_event event;
    text name;
    char category[32], phase[32], collective[32], element_type[32];
    rp_trace_device device;
} parser;

static key find_key(const key_name *keys, const unsigned char *name, size_t length) {
    for (; keys->name; keys++)
        if (strlen(keys->name) == length && !memcmp(keys->name, name, length))
            return keys->key;
    return K_NONE;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Microseconds in decimal, exactly: ns = digits before the point x 1000 + three after it. */
static bool microseconds(const char *number, int64_t *ns, bool *fractional) {
    double us;
    if (!rp_number(number, &us) || fabs(us) > (double)farthest / 1e3)
        return false;
    const char *point = strchr(number, '.');
    *fractional = point != NULL;
    if (strpbrk(number, "eE")) {
        *ns = llround(us * 1e3);
        return true;
    }
    int64_t whole = strtoll(number, NULL, 10), part = 0;
    if (point) {
        const char *digit = point + 1;
        for (int i = 0; i < 3; i++)
            part = part * 10 + (isdigit((unsigned char)*digit) ? *digit++ - '0' : 0);
        if (isdigit((unsigned char)*digit) && *digit >= '5')
            part++;
    }
    *ns = whole * 1000 + (number[0] == '-' ? -part : part);
    return true;
}

/* Puts up to N bytes and a NUL into TO. */
static void keep(char *to, size_t size, const unsigned char *from, size_t length) {
    size_t n = length < size - 1 ? length : size - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

static bool keep_name(parser *p, const unsigned char *from, size_t length) {
    if (length + 1 > p->name.capacity) {
        size_t capacity = (length + 1) * 2;
        char *bytes = realloc(p->name.bytes, capacity);
        if (!bytes) {
            p->code = rp_fail(p->error, RP_INTERNAL, "%s: out of memory", p->path);
            return false;
        }
        p->name.bytes = bytes;
        p->name.capacity = capacity;
    }
    memcpy(p->name.bytes, from, length);
    p->name.bytes[length] = '\0';
    p->name.length = length;
    return true;
}

static void event_number(parser *p, const char *number) {
    rp_trace_event *e = &p->event;
    bool fractional = false;
    switch (p->key) {
    case K_PID:
        rp_integer(number, &e->pid);
        break;
    case K_TID:
        rp_integer(number, &e->tid);
        break;
    case K_TIME:
        e->has_time = microseconds(number, &e->time_ns, &fractional);
        e->fractional |= fractional;
        break;
    case K_DURATION:
        e->has_duration = microseconds(number, &e->duration_ns, &fractional);
        e->fractional |= fractional;
        if (e->has_duration && rp_number(number, &e->duration_s))
            e->duration_s *= 1e-6;
        break;
    default:
        break;
    }
}

static void push(int64_t *at, unsigned *n, const char *number) {
    int64_t value;
    if (*n < 3 && rp_integer(number, &value))
        at[(*n)++] = value;
}

static void argument_number(parser *p, const char *number) {
    rp_trace_event *e = &p->event;
    double value;
    switch (p->argument_key) {
#define CASE(k, field)                                                                             \
    case k:                                                                                        \
        rp_integer(number, &e->field);                                                             \
        break
        CASE(K_DEVICE, device);
        CASE(K_CONTEXT, context);
        CASE(K_STREAM, stream);
        CASE(K_CORRELATION, correlation);
        CASE(K_REGISTERS, registers);
        CASE(K_SHARED, shared);
        CASE(K_BYTES, bytes);
        CASE(K_GRAPH_NODE, graph_node);
        CASE(K_IN_ELEMENTS, in_elements);
        CASE(K_OUT_ELEMENTS, out_elements);
        CASE(K_GROUP_SIZE, group_size);
#undef CASE
    case K_OCCUPANCY:
        if (rp_number(number, &value))
            e->occupancy = value / 100;
        break;
    case K_GRID:
        push(e->grid, &e->grid_n, number);
        break;
    case K_BLOCK:
        push(e->block, &e->block_n, number);
        break;
    default:
        break;
    }
}

static void device_number(parser *p, const char *number) {
    rp_trace_device *d = &p->device;
    int64_t value;
    if (!rp_integer(number, &value))
        return;
    switch (p->key) {
    case K_ID:
        d->id = value;
        break;
    case K_MEMORY:
        d->memory_bytes = value > 0 ? value : -1;
        break;
    case K_MAJOR:
        d->cc_major = value >= 0 && value < 1000 ? value : -1;
        break;
    case K_MINOR:
        d->cc_minor = value >= 0 && value < 1000 ? value : -1;
        break;
    case K_SMS:
        d->sm_count = value > 0 ? value : -1;
        break;
    default:
        break;
    }
}

static void document_number(parser *p, const char *number) {
    int64_t value;
    if (!rp_integer(number, &value))
        return;
    if (p->depth == 1 && p->key == K_BASE && value > 0 && value < farthest)
        p->header->base_ns = value;
    if (p->depth == 2 && p->section == DISTRIBUTED && p->key == K_RANK && value >= 0)
        p->header->rank = value;
}

/* A number, or a string where some versions write the number in quotes. */
static void value(parser *p, const unsigned char *bytes, size_t length) {
    char number[64];
    if (length >= sizeof number)
        return;
    keep(number, sizeof number, bytes, length);
    if (p->in_arguments && p->depth <= p->event_depth + 2)
        argument_number(p, number);
    else if (p->in_event && p->depth == p->event_depth)
        event_number(p, number);
    else if (p->in_device && p->depth == 3)
        device_number(p, number);
    else
        document_number(p, number);
}

/* ---- yajl's callbacks: 0 stops the parser ---------------------------------------------------- */

static int on_number(void *context, const char *number, size_t length) {
    value(context, (const unsigned char *)number, length);
    return 1;
}

static int on_string(void *context, const unsigned char *bytes, size_t length) {
    parser *p = context;
    if (p->in_arguments && p->depth == p->event_depth + 1 && p->argument_key == K_COLLECTIVE)
        keep(p->collective, sizeof p->collective, bytes, length);
    else if (p->in_arguments && p->depth == p->event_depth + 1 && p->argument_key == K_ELEMENT_TYPE)
        keep(p->element_type, sizeof p->element_type, bytes, length);
    else if (p->in_event && p->depth == p->event_depth && p->key == K_NAME)
        return keep_name(p, bytes, length);
    else if (p->in_event && p->depth == p->event_depth && p->key == K_CATEGORY)
        keep(p->category, sizeof p->category, bytes, length);
    else if (p->in_event && p->depth == p->event_depth && p->key == K_PHASE)
        keep(p->phase, sizeof p->phase, bytes, length);
    else if (p->in_device && p->depth == 3 && p->key == K_NAME)
        keep(p->device.name, sizeof p->device.name, bytes, length);
    else
        value(p, bytes, length);
    return 1;
}

static void begin_event(parser *p) {
    p->in_event = true;
    p->in_arguments = false;
    p->event = (rp_trace_event){.pid = RP_TRACE_ABSENT,
                                .tid = RP_TRACE_ABSENT,
                                .device = RP_TRACE_ABSENT,
                                .context = RP_TRACE_ABSENT,
                                .stream = RP_TRACE_ABSENT,
                                .correlation = RP_TRACE_ABSENT,
                                .registers = RP_TRACE_ABSENT,
                                .shared = RP_TRACE_ABSENT,
                                .bytes = RP_TRACE_ABSENT,
                                .graph_node = RP_TRACE_ABSENT,
                                .in_elements = RP_TRACE_ABSENT,
                                .out_elements = RP_TRACE_ABSENT,
                                .group_size = RP_TRACE_ABSENT,
                                .occupancy = NAN};
    p->name.length = 0;
    p->category[0] = p->phase[0] = p->collective[0] = p->element_type[0] = '\0';
}

static int end_event(parser *p) {
    p->in_event = p->in_arguments = false;
    p->header->events++;
    p->event.name = p->name.length ? p->name.bytes : "";
    p->event.name_length = p->name.length;
    p->event.category = p->category;
    p->event.phase = p->phase;
    p->event.collective = p->collective;
    p->event.element_type = p->element_type;
    if (p->reader->event)
        p->code = p->reader->event(p->reader->context, &p->event, p->error);
    return p->code == RP_OK;
}

static int open_container(parser *p) {
    p->started = true;
    if (++p->depth <= DEEPEST)
        return 1;
    p->code = rp_fail(p->error, RP_INPUT, "%s: JSON nested more than %d deep: this is no trace",
                      p->path, (int)DEEPEST);
    return 0;
}

static int on_map(void *context) {
    parser *p = context;
    if (!open_container(p))
        return 0;
    if (p->section == EVENTS && p->depth == p->event_depth)
        begin_event(p);
    else if (p->in_event && p->depth == p->event_depth + 1 && p->key == K_ARGUMENTS)
        p->in_arguments = true;
    else if (p->section == DEVICES && p->depth == 3) {
        p->in_device = true;
        p->device = (rp_trace_device){
            .id = -1, .memory_bytes = -1, .cc_major = -1, .cc_minor = -1, .sm_count = -1};
    }
    p->argument_key = K_NONE;
    return 1;
}

static int on_key(void *context, const unsigned char *name, size_t length) {
    parser *p = context;
    if (p->in_arguments) {
        if (p->depth == p->event_depth + 1)
            p->argument_key = find_key(argument_keys, name, length);
        else if (p->depth > p->event_depth + 1)
            p->argument_key = K_NONE; /* a map inside an argument: its numbers are not ours */
    } else if (p->in_event && p->depth == p->event_depth) {
        p->key = find_key(event_keys, name, length);
    } else if (p->in_device && p->depth == 3) {
        p->key = find_key(device_keys, name, length);
    } else if (p->section == DISTRIBUTED && p->depth == 2) {
        p->key = find_key(distributed_keys, name, length);
    } else if (p->depth == 1) {
        p->key = find_key(document_keys, name, length);
        p->section = p->key == K_EVENTS        ? EVENTS
                     : p->key == K_DEVICES     ? DEVICES
                     : p->key == K_DISTRIBUTED ? DISTRIBUTED
                                               : ELSEWHERE;
    }
    return 1;
}

static int on_map_end(void *context) {
    parser *p = context;
    unsigned was = p->depth--;
    p->done = p->depth == 0;
    if (p->in_event && was == p->event_depth)
        return end_event(p);
    if (p->in_arguments && was == p->event_depth + 1) {
        p->in_arguments = false;
        p->key = K_NONE;
    }
    if (p->in_device && was == 3) {
        p->in_device = false;
        if (p->reader->device)
            p->code = p->reader->device(p->reader->context, &p->device, p->error);
    }
    return p->code == RP_OK;
}

static int on_array(void *context) {
    parser *p = context;
    if (!open_container(p))
        return 0;
    if (p->depth == 1) { /* a bare array of events */
        p->section = EVENTS;
        p->event_depth = 2;
    }
    return 1;
}

static int on_array_end(void *context) {
    parser *p = context;
    p->depth--;
    p->done = p->depth == 0;
    return 1;
}

static int on_nothing(void *context) {
    (void)context;
    return 1;
}

static int on_boolean(void *context, int truth) {
    (void)context;
    (void)truth;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_nothing,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* ---- The file -------------------------------------------------------------------------------- */

static rp_code syntax_error(parser *p, yajl_handle json, uint64_t near) {
    unsigned char *why = yajl_get_error(json, 0, NULL, 0);
    size_t length = why ? strcspn((char *)why, "\n") : 0;
    rp_code code = rp_fail(p->error, RP_INPUT,
                           "%s: not valid JSON within the 64 KiB after byte %" PRIu64
                           " (unpacked): %.*s; export the trace again",
                           p->path, near, (int)length, why ? (char *)why : "");
    yajl_free_error(json, why);
    return code;
}

static rp_code read_chunks(parser *p, rp_stream *stream, yajl_handle json) {
    unsigned char *input = malloc(CHUNK);
    unsigned char *output = malloc((size_t)CHUNK * RP_LENIENT_GROWTH + RP_LENIENT_HELD);
    rp_lenient lenient = {0};
    uint64_t offset = 0;
    rp_code code = input && output ? RP_OK : rp_fail(p->error, RP_INTERNAL, "out of memory");
    while (!code) {
        size_t got;
        code = rp_stream_read(stream, input, CHUNK, &got, p->error);
        if (code || !got)
            break;
        size_t skip = offset == 0 && got >= 3 && !memcmp(input, "\xEF\xBB\xBF", 3) ? 3 : 0;
        size_t length = rp_lenient_filter(&lenient, input + skip, got - skip, output);
        if (lenient.too_long) {
            code = rp_fail(p->error, RP_INPUT,
                           "%s: a string is longer than 16 MiB: this is no trace", p->path);
            break;
        }
        yajl_status status = yajl_parse(json, output, length);
        if (p->code)
            code = p->code;
        else if (status != yajl_status_ok)
            code = syntax_error(p, json, offset);
        offset += got;
    }
    p->header->not_numbers = lenient.not_numbers;
    p->header->truncated = !p->done;
    if (!code && !p->started)
        code = rp_fail(p->error, RP_INPUT, "%s: holds no JSON", p->path);
    free(input);
    free(output);
    return code;
}

rp_code rp_trace_read(const char *path, const rp_trace_reader *reader, rp_trace_header *header,
                      rp_error *error) {
    *header = (rp_trace_header){.rank = -1};
    parser p = {.reader = reader, .header = header, .error = error, .path = path, .event_depth = 3};
    rp_stream *stream = NULL;
    yajl_handle json = yajl_alloc(&callbacks, NULL, &p);
    if (!json)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", path);
    yajl_config(json, yajl_dont_validate_strings, 1); /* names need not be UTF-8 */
    yajl_config(json, yajl_allow_trailing_garbage, 1);
    rp_code code = rp_stream_open(&stream, path, error);
    if (!code)
        code = read_chunks(&p, stream, json);
    yajl_free(json);
    rp_stream_close(stream);
    free(p.name.bytes);
    return code;
}
