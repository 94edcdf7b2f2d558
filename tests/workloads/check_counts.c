/* SPDX-License-Identifier: Apache-2.0
 *
 * check_counts EXPECT COUNTS: holds a workload's closed-form counts (what it prints with --expect,
 * see workload.h) against a counts file of the emulated device (docs/emulator.md), exactly. Every
 * counted launch must equal one expected launch of its kernel in all fields that have a closed
 * form, and every expected launch must have been counted. Launches of a kernel may come in any
 * order. FLOPs of a precision that is not expected, and launches that failed, are failures.
 *
 * Exit: 0 all equal; 1 some differ, each said with its numbers; 2 usage, or a file that is not
 * what it should be.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

enum { UNKNOWN = -1, SHOWN = 10, DEPTH = 4 };

/* A field of an expected launch, and where its value stands in a launch record of the counts file,
 * below "counts". A member that is not there is 0; one that is null is not known. */
typedef struct field {
    const char *key;
    const char *path[DEPTH];
} field;

static const field fields[] = {
    {"flops_fp64", {"flops_algorithmic", "fp64"}},
    {"flops_fp32", {"flops_algorithmic", "fp32"}},
    {"flops_fp16", {"flops_algorithmic", "fp16"}},
    {"tensor_fp16", {"tensor_ops", "fp16"}},
    {"tensor_bf16", {"tensor_ops", "bf16"}},
    {"load_bytes", {"load_bytes", "global"}},
    {"store_bytes", {"store_bytes", "global"}},
    {"atomic_bytes", {"atomic_bytes", "global"}},
    {"load_requests", {"load_requests", "global"}},
    {"store_requests", {"store_requests", "global"}},
    {"atomic_requests", {"atomic_requests", "global"}},
    {"load_sectors", {"load_sectors"}},
    {"store_sectors", {"store_sectors"}},
    {"atomic_sectors", {"atomic_sectors"}},
    {"shared_load_bytes", {"load_bytes", "shared"}},
    {"shared_store_bytes", {"store_bytes", "shared"}},
    {"shared_atomic_bytes", {"atomic_bytes", "shared"}},
    {"shared_wavefronts", {"shared_wavefronts"}},
    {"shared_bank_conflicts", {"shared_bank_conflicts"}},
    {"texture_load_bytes", {"load_bytes", "texture"}},
    {"texture_store_bytes", {"store_bytes", "texture"}},
    {"texture_load_requests", {"load_requests", "texture"}},
    {"texture_store_requests", {"store_requests", "texture"}},
    {"dram_read_bytes", {"caches", "dram_read_bytes"}},
    {"dram_write_bytes", {"caches", "dram_write_bytes"}},
};
enum { FIELDS = sizeof fields / sizeof *fields };

typedef struct expected {
    char *kernel;
    long long launches, seen;
    long long value[FIELDS]; /* UNKNOWN: no closed form */
} expected;

typedef struct kernel_name {
    long long id, device;
    char *name;
    yajl_val last; /* its last launch written in full, which later ones may repeat */
} kernel_name;

typedef struct check {
    expected *expected;
    size_t expected_count;
    kernel_name *kernels;
    size_t kernel_count;
    long long launches, compared, failures;
} check;

static void *must(void *p) {
    if (p)
        return p;
    fprintf(stderr, "check_counts: out of memory\n");
    exit(2);
}

/* One more element at the end of a growing array; zeroed. */
static void *append(void *array, size_t *count, size_t size) {
    char *grown = must(realloc(array, (*count + 1) * size));
    memset(grown + *count * size, 0, size);
    ++*count;
    return grown;
}

static yajl_val parse(const char *text, const char *file, long line) {
    char why[256] = "";
    yajl_val tree = yajl_tree_parse(text, why, sizeof why);
    if (tree)
        return tree;
    fprintf(stderr, "%s:%ld: not JSON: %s\n", file, line, why);
    exit(2);
}

static yajl_val member(yajl_val object, const char *name) {
    const char *path[] = {name, NULL};
    return object ? yajl_tree_get(object, path, yajl_t_any) : NULL;
}

static const char *text_member(yajl_val object, const char *name) {
    yajl_val v = member(object, name);
    return YAJL_IS_STRING(v) ? YAJL_GET_STRING(v) : "";
}

static long long integer_member(yajl_val object, const char *name) {
    yajl_val v = member(object, name);
    return YAJL_IS_INTEGER(v) ? YAJL_GET_INTEGER(v) : UNKNOWN;
}

/* ---- What is expected ------------------------------------------------------------------------ */

static char *read_file(const char *path) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t length = 0;
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (;;) {
        text = must(realloc(text, length + 65536));
        size_t n = fread(text + length, 1, 65535, f);
        length += n;
        if (n == 0)
            break;
    }
    text[length] = 0;
    fclose(f);
    return text;
}

static void add_expected(check *c, yajl_val launch) {
    c->expected = append(c->expected, &c->expected_count, sizeof *c->expected);
    expected *e = &c->expected[c->expected_count - 1];
    e->kernel = must(strdup(text_member(launch, "kernel")));
    e->launches = integer_member(launch, "launches");
    for (int i = 0; i < FIELDS; i++)
        e->value[i] = integer_member(launch, fields[i].key);
}

static void read_expected(check *c, const char *path) {
    char *text = read_file(path);
    yajl_val tree = parse(text, path, 1), launches = member(tree, "launches");
    if (strcmp(text_member(tree, "schema"), "roofprof.workload-expect/1") ||
        !YAJL_IS_ARRAY(launches)) {
        fprintf(stderr, "%s: not a roofprof.workload-expect/1 document\n", path);
        exit(2);
    }
    for (size_t i = 0; i < YAJL_GET_ARRAY(launches)->len; i++)
        add_expected(c, YAJL_GET_ARRAY(launches)->values[i]);
    yajl_tree_free(tree);
    free(text);
}

/* ---- What was counted ------------------------------------------------------------------------ */

static long long counted(yajl_val counts, const field *f) {
    yajl_val v = counts;
    for (int i = 0; i < DEPTH && f->path[i]; i++) {
        v = member(v, f->path[i]);
        if (!v)
            return 0;
        if (YAJL_IS_NULL(v))
            return UNKNOWN;
    }
    return YAJL_IS_INTEGER(v) ? YAJL_GET_INTEGER(v) : UNKNOWN;
}

static bool is_field(const char *group, const char *name) {
    for (int i = 0; i < FIELDS; i++)
        if (!strcmp(fields[i].path[0], group) && fields[i].path[1] &&
            !strcmp(fields[i].path[1], name))
            return true;
    return false;
}

/* Members of the object GROUP that no workload uses, summed: FLOPs of other precisions. */
static long long other_flops(yajl_val counts, const char *group) {
    yajl_val flops = member(counts, group);
    long long sum = 0;
    if (!YAJL_IS_OBJECT(flops))
        return 0;
    for (size_t i = 0; i < YAJL_GET_OBJECT(flops)->len; i++)
        if (!is_field(group, YAJL_GET_OBJECT(flops)->keys[i]))
            sum += YAJL_GET_INTEGER(YAJL_GET_OBJECT(flops)->values[i]);
    return sum;
}

static kernel_name *find_kernel(const check *c, yajl_val launch) {
    long long id = integer_member(launch, "kernel"), device = integer_member(launch, "device");
    for (size_t i = 0; i < c->kernel_count; i++)
        if (c->kernels[i].id == id && c->kernels[i].device == device)
            return &c->kernels[i];
    return NULL;
}

/* The record that holds the launch's counts: itself, or the one that it says it repeats. NULL: that
 * one is not there. */
static yajl_val full_record(const kernel_name *k, yajl_val launch) {
    long long same = integer_member(launch, "same_as");
    if (same == UNKNOWN)
        return launch;
    return k && k->last && integer_member(k->last, "launch") == same ? k->last : NULL;
}

static int differences(const expected *e, const long long *value) {
    int n = 0;
    for (int i = 0; i < FIELDS; i++)
        n += e->value[i] != UNKNOWN && e->value[i] != value[i];
    return n;
}

static void say_differences(const expected *e, const long long *value) {
    for (int i = 0; i < FIELDS; i++) {
        if (e->value[i] == UNKNOWN || e->value[i] == value[i])
            continue;
        printf("    %-22s expected %lld, counted ", fields[i].key, e->value[i]);
        if (value[i] == UNKNOWN)
            printf("nothing (not known)\n");
        else
            printf("%lld (%+lld)\n", value[i], value[i] - e->value[i]);
    }
}

/* The expected launch that this one is: the one with the fewest differences, and of those one that
 * is still waited for. NULL: the kernel is not expected at all. */
static expected *find_expected(check *c, const char *kernel, const long long *value) {
    expected *best = NULL;
    for (size_t i = 0; i < c->expected_count; i++) {
        expected *e = &c->expected[i];
        if (strcmp(e->kernel, kernel))
            continue;
        int more = best ? differences(e, value) - differences(best, value) : -1;
        if (more < 0 || (more == 0 && best->seen >= best->launches && e->seen < e->launches))
            best = e;
    }
    return best;
}

static void check_launch(check *c, yajl_val launch, const char *file, long line) {
    const kernel_name *k = find_kernel(c, launch);
    const char *kernel = k ? k->name : "(a kernel without a record)";
    yajl_val full = full_record(k, launch);
    const char *status = full ? text_member(full, "status") : "a repeat of what is not there";
    yajl_val counts = full ? member(full, "counts") : NULL;
    long long value[FIELDS],
        other = other_flops(counts, "flops_algorithmic") + other_flops(counts, "tensor_ops");
    for (int i = 0; i < FIELDS; i++)
        value[i] = counts ? counted(counts, &fields[i]) : UNKNOWN;
    expected *e = find_expected(c, kernel, value);
    bool bad = !e || strcmp(status, "ok") || other || differences(e, value);
    c->launches++;
    if (e)
        e->seen++;
    for (int i = 0; e && i < FIELDS; i++)
        c->compared += e->value[i] != UNKNOWN;
    if (!bad || c->failures++ >= SHOWN)
        return;
    printf("FAILED %s, launch %lld (%s:%ld)\n", kernel, integer_member(launch, "launch"), file,
           line);
    if (!e)
        printf("    the workload expects no such kernel\n");
    if (strcmp(status, "ok"))
        printf("    its status is %s: %s\n", status, full ? text_member(full, "message") : "");
    if (other)
        printf("    %lld FLOPs of precisions that no workload uses\n", other);
    if (e)
        say_differences(e, value);
}

static void read_record(check *c, const char *text, const char *file, long line) {
    yajl_val tree = parse(text, file, line);
    const char *record = text_member(tree, "record");
    if (!strcmp(record, "kernel")) {
        c->kernels = append(c->kernels, &c->kernel_count, sizeof *c->kernels);
        kernel_name *k = &c->kernels[c->kernel_count - 1];
        k->id = integer_member(tree, "kernel");
        k->device = integer_member(tree, "device");
        k->name = must(strdup(text_member(tree, "name")));
    } else if (!strcmp(record, "launch")) {
        check_launch(c, tree, file, line);
        kernel_name *k = find_kernel(c, tree);
        if (k && integer_member(tree, "same_as") == UNKNOWN) {
            yajl_tree_free(k->last);
            k->last = tree;
            return;
        }
    }
    yajl_tree_free(tree);
}

static void read_counts(check *c, const char *path) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (long line = 1; getline(&text, &capacity, f) > 0; line++)
        read_record(c, text, path, line);
    free(text);
    fclose(f);
}

/* ---- The verdict ----------------------------------------------------------------------------- */

static void check_numbers_of_launches(check *c) {
    for (size_t i = 0; i < c->expected_count; i++) {
        const expected *e = &c->expected[i];
        if (e->seen == e->launches)
            continue;
        if (c->failures++ < SHOWN)
            printf("FAILED %s: %lld launches expected, %lld counted\n", e->kernel, e->launches,
                   e->seen);
    }
}

static void free_check(check *c) {
    for (size_t i = 0; i < c->expected_count; i++)
        free(c->expected[i].kernel);
    for (size_t i = 0; i < c->kernel_count; i++) {
        free(c->kernels[i].name);
        yajl_tree_free(c->kernels[i].last);
    }
    free(c->expected);
    free(c->kernels);
}

int main(int argc, char **argv) {
    check c = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: check_counts EXPECT.json COUNTS.jsonl\n");
        return 2;
    }
    read_expected(&c, argv[1]);
    read_counts(&c, argv[2]);
    check_numbers_of_launches(&c);
    if (c.launches == 0) {
        printf("FAILED: %s holds no launch\n", argv[2]);
        c.failures++;
    }
    if (c.failures)
        printf("FAILED: %lld differences in %lld launches\n", c.failures, c.launches);
    else
        printf("ok: %lld launches, %lld counts equal their closed forms\n", c.launches, c.compared);
    free_check(&c);
    return c.failures ? 1 : 0;
}
