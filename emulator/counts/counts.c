/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of the counts file. A record is put together in memory and leaves in one write, so
 * that lines of different threads never mix and a crash can only cut off the last one.
 */
#include "emulator/counts/counts.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The last launch of a kernel that was written in full: most launches of a program are repetitions.
 */
typedef struct last_launch {
    uint64_t id; /* 0: none */
    uint32_t grid[3], block[3], dynamic_shared_bytes;
    bool cooperative;
    emu_counts counts;
} last_launch;

struct emu_counts_file {
    int descriptor;
    bool broken; /* or ended: nothing more is written */
    pthread_mutex_t lock;
    uint64_t launches, failed;
    last_launch **last; /* by kernel number */
    uint64_t last_count;
};

const char *const emu_precision_names[EMU_PRECISIONS] = {
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp16_acc16", "fp8", "int8", "int32"};
const char *const emu_space_names[EMU_SPACES] = {"global",   "shared", "local",
                                                 "constant", "param",  "texture"};
const char *const emu_op_class_names[EMU_OP_CLASSES] = {"add",  "mul", "fma",     "div",
                                                        "sqrt", "rcp", "special", "other"};

const char *emu_status_name(emu_status status) {
    static const char *const names[] = {
        "ok",         "bad_ptx", "not_found", "bad_launch", "out_of_memory", "illegal_address",
        "misaligned", "trap",    "assert",    "deadlock",   "interrupted",   "illegal_instruction"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

/* ---- A line of JSON ---------------------------------------------------------------------------
 */

typedef struct line {
    char *text;
    size_t length, capacity;
    bool lost;  /* no memory: the record is dropped, and that is said */
    bool comma; /* the next member needs one */
} line;

static void put(line *l, const char *text, size_t n) {
    if (l->length + n + 1 > l->capacity) {
        size_t capacity = (l->length + n + 1) * 2;
        char *grown = realloc(l->text, capacity);
        if (!grown) {
            l->lost = true;
            return;
        }
        l->text = grown;
        l->capacity = capacity;
    }
    memcpy(l->text + l->length, text, n);
    l->length += n;
}

static void put_text(line *l, const char *text) {
    put(l, text, strlen(text));
}

static void put_string(line *l, const char *s) {
    put_text(l, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        char escaped[8];
        if (c == '"' || c == '\\')
            put(l, (char[]){'\\', (char)c}, 2);
        else if (c < 0x20 || c >= 0x7f) /* bytes that need not be UTF-8: as Latin-1 */
            put(l, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
        else
            put(l, s, 1);
    }
    put_text(l, "\"");
}

static void key(line *l, const char *name) {
    if (l->comma)
        put_text(l, ",");
    put_text(l, "\"");
    put_text(l, name);
    put_text(l, "\":");
    l->comma = true;
}

static void member_string(line *l, const char *name, const char *value) {
    key(l, name);
    if (value)
        put_string(l, value);
    else
        put_text(l, "null");
}

static void member_int(line *l, const char *name, uint64_t value) {
    char text[24];
    key(l, name);
    put(l, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

static void member_bool(line *l, const char *name, bool value) {
    key(l, name);
    put_text(l, value ? "true" : "false");
}

static void member_double(line *l, const char *name, double value) {
    char text[40];
    key(l, name);
    if (!isfinite(value))
        put_text(l, "null");
    else
        put(l, text, (size_t)snprintf(text, sizeof text, "%.12g", value));
}

/* A rate or size of a device spec: 0 stands for "not known" there. */
static void member_known(line *l, const char *name, double value) {
    member_double(l, name, value > 0 ? value : NAN);
}

static void member_count(line *l, const char *name, uint64_t value) {
    if (value)
        member_int(l, name, value);
}

static void member_triple(line *l, const char *name, const uint32_t v[3]) {
    char text[48];
    key(l, name);
    put(l, text,
        (size_t)snprintf(text, sizeof text, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", v[0], v[1],
                         v[2]));
}

static void open_object(line *l, const char *name) {
    if (name)
        key(l, name);
    put_text(l, "{");
    l->comma = false;
}

static void close_object(line *l) {
    put_text(l, "}");
    l->comma = true;
}

static line begin_record(const char *record) {
    line l = {0};
    open_object(&l, NULL);
    member_string(&l, "record", record);
    return l;
}

/* ---- The file ---------------------------------------------------------------------------------
 */

static bool write_all(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t n = write(descriptor, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

/* With the file's lock held. */
static void write_record(emu_counts_file *file, line *l) {
    close_object(l);
    put_text(l, "\n");
    if (!file->broken && (l->lost || !write_all(file->descriptor, l->text, l->length))) {
        file->broken = true;
        fprintf(stderr,
                "roofprof: emulated device: the counts file cannot be written (%s); counts "
                "from here on are lost, the program goes on\n",
                l->lost ? "no memory" : strerror(errno));
    }
    free(l->text);
}

static void end_record(emu_counts_file *file, line *l) {
    pthread_mutex_lock(&file->lock);
    write_record(file, l);
    pthread_mutex_unlock(&file->lock);
}

static char *expand_pattern(const char *pattern) {
    char host[256] = "localhost", number[24];
    line path = {0};
    gethostname(host, sizeof host - 1);
    snprintf(number, sizeof number, "%ld", (long)getpid());
    for (const char *p = pattern; *p; p++) {
        bool escape = *p == '%' && (p[1] == 'p' || p[1] == 'h' || p[1] == '%');
        if (!escape) {
            put(&path, p, 1);
            continue;
        }
        p++;
        put_text(&path, *p == 'p' ? number : *p == 'h' ? host : "%");
    }
    put(&path, "", 1);
    if (!path.lost)
        return path.text;
    free(path.text);
    errno = ENOMEM;
    return NULL;
}

static void write_header(emu_counts_file *file, const emu_counts_header *header) {
    char host[256] = "";
    struct timespec now;
    line l = begin_record("header");
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    member_string(&l, "schema", EMU_COUNTS_SCHEMA);
    member_string(&l, "program", header->program);
    member_int(&l, "pid", (uint64_t)getpid());
    member_int(&l, "parent_pid", (uint64_t)getppid());
    member_string(&l, "host", host);
    member_double(&l, "started_unix_s", (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    member_int(&l, "cuda_major", (uint64_t)header->cuda_major);
    member_string(&l, "cache", header->options->cache == EMU_CACHE_COLD ? "cold" : "warm");
    member_bool(&l, "count", header->options->count);
    member_bool(&l, "model_caches", header->options->model_caches);
    end_record(file, &l);
}

emu_counts_file *emu_counts_open(const char *pattern, const emu_counts_header *header) {
    emu_counts_file *file = calloc(1, sizeof *file);
    char *path = expand_pattern(pattern);
    if (!file || !path)
        goto fail;
    file->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (file->descriptor < 0)
        goto fail;
    free(path);
    pthread_mutex_init(&file->lock, NULL);
    write_header(file, header);
    return file;
fail:
    free(path);
    free(file);
    return NULL;
}

static void free_last(emu_counts_file *file) {
    for (uint64_t i = 0; i < file->last_count; i++)
        free(file->last[i]);
    free(file->last);
}

void emu_counts_abandon(emu_counts_file *file) {
    if (!file)
        return;
    close(file->descriptor);
    free_last(file);
    free(file); /* the lock may be held by a thread that this process does not have */
}

void emu_counts_end(emu_counts_file *file, double time_s) {
    if (!file)
        return;
    pthread_mutex_lock(&file->lock);
    line l = begin_record("end");
    member_double(&l, "time_s", time_s);
    member_int(&l, "launches", file->launches);
    member_int(&l, "failed_launches", file->failed);
    write_record(file, &l);
    file->broken = true;
    close(file->descriptor);
    pthread_mutex_unlock(&file->lock);
}

void emu_counts_close(emu_counts_file *file, double time_s) {
    if (!file)
        return;
    emu_counts_end(file, time_s);
    pthread_mutex_destroy(&file->lock);
    free_last(file);
    free(file);
}

/* ---- Records ----------------------------------------------------------------------------------
 */

void emu_counts_device(emu_counts_file *file, int device, const emu_device_spec *spec,
                       double pcie_bytes_per_s) {
    if (!file)
        return;
    line l = begin_record("device");
    member_int(&l, "device", (uint64_t)device);
    member_string(&l, "name", spec->name);
    member_string(&l, "chip", spec->chip);
    member_int(&l, "cc_major", (uint64_t)spec->cc_major);
    member_int(&l, "cc_minor", (uint64_t)spec->cc_minor);
    member_int(&l, "sm_count", (uint64_t)spec->sm_count);
    member_known(&l, "sm_clock_hz", spec->sm_clock_hz);
    member_known(&l, "memory_clock_hz", spec->memory_clock_hz);
    member_known(&l, "memory_bus_bits", spec->memory_bus_bits);
    member_int(&l, "memory_bytes", spec->memory_bytes);
    member_known(&l, "l2_bytes", (double)spec->l2_bytes);
    member_known(&l, "l1_bytes_per_sm", spec->l1_bytes_per_sm);
    member_known(&l, "shared_bytes_per_sm", spec->shared_bytes_per_sm);
    member_known(&l, "dram_bytes_per_s", spec->dram_bytes_per_s);
    member_known(&l, "l2_bytes_per_s", spec->l2_bytes_per_s);
    member_known(&l, "pcie_bytes_per_s", pcie_bytes_per_s);
    end_record(file, &l);
}

void emu_counts_kernel_record(emu_counts_file *file, const emu_counts_kernel *kernel) {
    if (!file)
        return;
    const emu_kernel_info *info = kernel->info;
    line l = begin_record("kernel");
    member_int(&l, "kernel", kernel->id);
    member_int(&l, "device", (uint64_t)kernel->device);
    member_string(&l, "name", info->name);
    member_int(&l, "ptx_target", (uint64_t)kernel->ptx_target);
    member_int(&l, "registers_per_thread", info->registers_per_thread);
    member_string(&l, "registers_provenance", info->registers_estimated ? "estimated" : "cubin");
    member_int(&l, "shared_static_bytes", info->shared_bytes);
    member_int(&l, "local_bytes_per_thread", info->local_bytes_per_thread);
    member_int(&l, "constant_bytes", info->constant_bytes);
    member_int(&l, "parameter_bytes", info->parameter_bytes);
    member_int(&l, "max_threads_per_block", (uint64_t)info->max_threads_per_block);
    end_record(file, &l);
}

static void put_instructions(line *l, const emu_counts *c) {
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"warp_insts", offsetof(emu_counts, warp_insts)},
        {"thread_insts", offsetof(emu_counts, thread_insts)},
        {"thread_insts_active", offsetof(emu_counts, thread_insts_active)},
        {"integer_insts", offsetof(emu_counts, integer_insts)},
        {"conversion_insts", offsetof(emu_counts, conversion_insts)},
        {"bit_insts", offsetof(emu_counts, bit_insts)},
        {"control_insts", offsetof(emu_counts, control_insts)},
        {"move_insts", offsetof(emu_counts, move_insts)},
        {"barrier_insts", offsetof(emu_counts, barrier_insts)},
        {"shuffle_insts", offsetof(emu_counts, shuffle_insts)},
        {"vote_insts", offsetof(emu_counts, vote_insts)},
        {"call_insts", offsetof(emu_counts, call_insts)},
        {"tensor_insts", offsetof(emu_counts, tensor_insts)},
        {"load_sectors", offsetof(emu_counts, load_sectors)},
        {"store_sectors", offsetof(emu_counts, store_sectors)},
        {"atomic_sectors", offsetof(emu_counts, atomic_sectors)},
        {"shared_wavefronts", offsetof(emu_counts, shared_wavefronts)},
        {"shared_bank_conflicts", offsetof(emu_counts, shared_bank_conflicts)},
        {"l1_wavefronts", offsetof(emu_counts, l1_wavefronts)},
        {"host_bytes", offsetof(emu_counts, host_bytes)},
        {"peer_bytes", offsetof(emu_counts, peer_bytes)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        member_count(l, fields[i].name, *(const uint64_t *)((const char *)c + fields[i].offset));
}

/* An object of one kind of count by name, left out where all are 0. */
static void put_by_name(line *l, const char *name, const char *const *names, const uint64_t *counts,
                        int n) {
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= counts[i] != 0;
    if (!any)
        return;
    open_object(l, name);
    for (int i = 0; i < n; i++)
        member_count(l, names[i], counts[i]);
    close_object(l);
}

static void put_arithmetic(line *l, const emu_counts *c) {
    char name[64];
    for (int p = 0; p < EMU_PRECISIONS; p++) {
        snprintf(name, sizeof name, "%s_insts", emu_precision_names[p]);
        put_by_name(l, name, emu_op_class_names, c->fp[p], EMU_OP_CLASSES);
        snprintf(name, sizeof name, "%s_packed_insts", emu_precision_names[p]);
        put_by_name(l, name, emu_op_class_names, c->packed[p], EMU_OP_CLASSES);
    }
    put_by_name(l, "flops_algorithmic", emu_precision_names, c->flops_algorithmic, EMU_PRECISIONS);
    put_by_name(l, "flops_hardware", emu_precision_names, c->flops_hardware, EMU_PRECISIONS);
    put_by_name(l, "tensor_ops", emu_precision_names, c->tensor_ops, EMU_PRECISIONS);
}

static void put_memory(line *l, const emu_counts *c) {
    put_by_name(l, "load_bytes", emu_space_names, c->load_bytes, EMU_SPACES);
    put_by_name(l, "store_bytes", emu_space_names, c->store_bytes, EMU_SPACES);
    put_by_name(l, "atomic_bytes", emu_space_names, c->atomic_bytes, EMU_SPACES);
    put_by_name(l, "load_requests", emu_space_names, c->load_requests, EMU_SPACES);
    put_by_name(l, "store_requests", emu_space_names, c->store_requests, EMU_SPACES);
    put_by_name(l, "atomic_requests", emu_space_names, c->atomic_requests, EMU_SPACES);
}

static void put_caches(line *l, const emu_counts *c) {
    if (!c->caches_valid) {
        key(l, "caches");
        put_text(l, "null");
        return;
    }
    open_object(l, "caches");
    member_count(l, "l1_hit_sectors", c->l1_hit_sectors);
    member_count(l, "l1_miss_sectors", c->l1_miss_sectors);
    member_count(l, "l2_read_sectors", c->l2_read_sectors);
    member_count(l, "l2_write_sectors", c->l2_write_sectors);
    member_count(l, "l2_hit_sectors", c->l2_hit_sectors);
    member_count(l, "l2_miss_sectors", c->l2_miss_sectors);
    member_count(l, "dram_read_bytes", c->dram_read_bytes);
    member_count(l, "dram_write_bytes", c->dram_write_bytes);
    close_object(l);
}

/* Where the last full launch of a kernel is kept; NULL: no memory. */
static last_launch *last_of(emu_counts_file *file, uint64_t kernel) {
    enum { STEP = 64 };
    while (kernel >= file->last_count) {
        last_launch **grown = realloc(file->last, (file->last_count + STEP) * sizeof(void *));
        if (!grown)
            return NULL;
        file->last = grown;
        memset(grown + file->last_count, 0, STEP * sizeof(void *));
        file->last_count += STEP;
    }
    if (!file->last[kernel])
        file->last[kernel] = calloc(1, sizeof(last_launch));
    return file->last[kernel];
}

/* The launch that this one repeats in all but its place and start; 0: it is to be written in full,
 * and is then what later ones are held against. */
static uint64_t repeated(emu_counts_file *file, const emu_counts_launch *launch) {
    const emu_launch *l = launch->launch;
    uint64_t same = 0;
    pthread_mutex_lock(&file->lock);
    file->launches++;
    file->failed += launch->status != EMU_OK;
    last_launch *last =
        launch->status == EMU_OK && launch->counts ? last_of(file, launch->kernel) : NULL;
    if (last && last->id && last->cooperative == l->cooperative &&
        last->dynamic_shared_bytes == l->dynamic_shared_bytes &&
        memcmp(last->grid, l->grid, sizeof last->grid) == 0 &&
        memcmp(last->block, l->block, sizeof last->block) == 0 &&
        memcmp(&last->counts, launch->counts, sizeof last->counts) == 0) {
        same = last->id;
    } else if (last) {
        *last = (last_launch){.id = launch->id,
                              .dynamic_shared_bytes = l->dynamic_shared_bytes,
                              .cooperative = l->cooperative,
                              .counts = *launch->counts};
        memcpy(last->grid, l->grid, sizeof last->grid);
        memcpy(last->block, l->block, sizeof last->block);
    }
    pthread_mutex_unlock(&file->lock);
    return same;
}

/* Of what a graph did. */
static void put_graph(line *l, uint32_t graph, uint64_t node) {
    if (!graph)
        return;
    member_int(l, "graph", graph);
    member_int(l, "node", node);
}

static void put_launch(line *l, const emu_counts_launch *launch) {
    const emu_counts *c = launch->counts;
    member_triple(l, "grid", launch->launch->grid);
    member_triple(l, "block", launch->launch->block);
    member_int(l, "shared_dynamic_bytes", launch->launch->dynamic_shared_bytes);
    if (launch->launch->cooperative)
        member_bool(l, "cooperative", true);
    member_string(l, "status", emu_status_name(launch->status));
    if (launch->message)
        member_string(l, "message", launch->message);
    if (!c)
        return;
    member_double(l, "time_s", c->time_s);
    member_string(l, "time_bound", c->time_bound);
    member_int(l, "blocks_per_sm", c->blocks_per_sm);
    member_double(l, "occupancy_theoretical", c->occupancy_theoretical);
    member_string(l, "occupancy_limiter", c->occupancy_limiter);
    member_double(l, "waves", c->waves);
    open_object(l, "counts");
    put_instructions(l, c);
    put_arithmetic(l, c);
    put_memory(l, c);
    put_caches(l, c);
    close_object(l);
}

void emu_counts_launch_record(emu_counts_file *file, const emu_counts_launch *launch) {
    if (!file)
        return;
    uint64_t same = repeated(file, launch);
    line l = begin_record("launch");
    member_int(&l, "launch", launch->id);
    member_int(&l, "kernel", launch->kernel);
    member_int(&l, "device", (uint64_t)launch->device);
    member_int(&l, "stream", launch->stream);
    member_double(&l, "start_s", launch->start_s);
    put_graph(&l, launch->graph, launch->node);
    if (same)
        member_int(&l, "same_as", same);
    else
        put_launch(&l, launch);
    end_record(file, &l);
}

void emu_counts_copy_record(emu_counts_file *file, const emu_counts_copy *copy) {
    if (!file)
        return;
    line l = begin_record("copy");
    member_string(&l, "kind", copy->kind);
    member_int(&l, "device", (uint64_t)copy->device);
    member_int(&l, "stream", copy->stream);
    member_int(&l, "bytes", copy->bytes);
    member_double(&l, "start_s", copy->start_s);
    member_double(&l, "time_s", copy->time_s);
    put_graph(&l, copy->graph, copy->node);
    end_record(file, &l);
}

void emu_counts_memory(emu_counts_file *file, int device, const char *kind, bool allocated,
                       uint64_t address, uint64_t bytes, double time_s) {
    if (!file)
        return;
    line l = begin_record(allocated ? "allocation" : "free");
    member_int(&l, "device", (uint64_t)device);
    member_string(&l, "kind", kind);
    member_int(&l, "address", address);
    member_int(&l, "bytes", bytes);
    member_double(&l, "time_s", time_s);
    end_record(file, &l);
}

void emu_counts_note(emu_counts_file *file, const char *severity, const char *text) {
    if (!file)
        return;
    line l = begin_record("note");
    member_string(&l, "severity", severity);
    member_string(&l, "text", text);
    end_record(file, &l);
}
