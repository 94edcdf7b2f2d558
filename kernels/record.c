/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing calibrations into the user's database, reading JSON back, and comparing two.
 */
#include "kernels/record.h"

#include "support/file.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yajl/yajl_tree.h>

enum { FILE_LIMIT = 64 << 20 };

/* ---- Files ----------------------------------------------------------------------------------- */

/* The whole of PATH, with a NUL behind it; NULL with errno set. */
static char *read_all(const char *path, size_t *length) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0, n = 0, got = 1;

    while (f && got && n < FILE_LIMIT) {
        if (n + 1 >= room) {
            char *more = realloc(text, room = room ? 2 * room : 8192);
            if (!more)
                break;
            text = more;
        }
        n += got = fread(text + n, 1, room - n - 1, f);
    }
    if (!f)
        return NULL;
    if (ferror(f) || got || !text) {
        free(text);
        text = NULL;
        errno = errno ? errno : EFBIG;
    } else {
        text[n] = 0;
        *length = n;
    }
    fclose(f);
    return text;
}

static rp_code make_folders(const char *path, rp_error *error) {
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1;; at++) {
        if (*at != '/' && *at)
            continue;
        char kept = *at;
        *at = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return rp_fail(error, RP_INTERNAL, "%s: the folder cannot be made: %s", part,
                           strerror(errno));
        *at = kept;
        if (!kept)
            return RP_OK;
    }
}

/* ---- Records --------------------------------------------------------------------------------- */

enum {
    DEVICE,
    CEILING,
    VALUE,
    UNIT,
    CLOCK,
    PROVENANCE,
    SOURCE,
    NOTE,
    UUID,
    DRIVER,
    POWER,
    DATE,
    COLUMNS
};
static const char *const columns[COLUMNS] = {"device",    "ceiling",    "value",         "unit",
                                             "clock_mhz", "provenance", "source",        "note",
                                             "uuid",      "driver",     "power_limit_w", "date"};

static void put_field(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

/* Which of our columns stands at each place of the header line at TEXT; -1 one of another name. *n:
 * how many places. */
static void read_header(const char *text, int *places, int *n) {
    const char *end = text + strcspn(text, "\r\n");
    for (*n = 0; text <= end && *n < 64; (*n)++) {
        size_t length = strcspn(text, ",\r\n");
        const char *name = text;
        size_t plain = length;
        if (length >= 2 && name[0] == '"' && name[length - 1] == '"')
            name++, plain -= 2;
        places[*n] = -1;
        for (int c = 0; c < COLUMNS; c++)
            if (strlen(columns[c]) == plain && !strncmp(columns[c], name, plain))
                places[*n] = c;
        text += length + 1;
    }
}

/* Copies what was there. Records get an empty field for each column that is new to the file. */
static void copy_old(FILE *f, const char *text, int missing, const int *places, int old) {
    bool quoted = false, header = true, comment = *text == '#', start = true;

    for (; *text; text++) {
        if (start)
            comment = !quoted && *text == '#';
        start = false;
        quoted ^= *text == '"' && !comment;
        bool end = !quoted && (*text == '\n' || (text[1] == 0 && *text != '\n'));
        if (*text != '\n' && *text != '\r')
            fputc(*text, f);
        else if (quoted)
            fputc(*text, f);
        if (!end)
            continue;
        for (int i = 0; i < missing && !comment; i++)
            fprintf(f, ",%s", header ? columns[places[old + i]] : "");
        fputc('\n', f);
        header = header && comment;
        start = true;
    }
}

static void field_of(const rp_calibration *c, const rp_result *r, const char *key, int column,
                     char *text, size_t size) {
    *text = 0;
    switch (column) {
    case DEVICE:
        snprintf(text, size, "%s", c->device->name);
        break;
    case CEILING:
        snprintf(text, size, "%s", key);
        break;
    case VALUE:
        snprintf(text, size, "%.6g", r->ceiling.rate);
        break;
    case UNIT:
        snprintf(text, size, "%s", rp_result_unit(r));
        break;
    case CLOCK: {
        bool dram = r->kind == RP_RESULT_BANDWIDTH && r->ceiling.level == RP_DRAM;
        double clock = dram ? r->reading.memory_clock_hz : r->ceiling.clock_hz;
        if (clock > 0)
            snprintf(text, size, "%.1f", clock / 1e6);
        break;
    }
    case PROVENANCE:
        snprintf(text, size, "calibrated");
        break;
    case SOURCE:
        snprintf(text, size, "roofprof calibrate%s%s: %s", *r->pattern ? " " : "", r->pattern,
                 r->variant);
        break;
    case NOTE:
        if (r->sustained > 0)
            snprintf(text, size, "sustained %.6g", r->sustained);
        break;
    case UUID:
        snprintf(text, size, "%s", c->uuid);
        break;
    case DRIVER:
        snprintf(text, size, "%s", c->driver);
        break;
    case POWER:
        if (c->power_limit_w > 0)
            snprintf(text, size, "%.0f", c->power_limit_w);
        break;
    case DATE:
        snprintf(text, size, "%s", c->date);
        break;
    default:
        break;
    }
}

static void write_record(FILE *f, const rp_calibration *c, const rp_result *r, const char *key,
                         const int *places, int n) {
    for (int i = 0; i < n; i++) {
        char text[512];
        field_of(c, r, key, places[i], text, sizeof text);
        if (i)
            fputc(',', f);
        put_field(f, text);
    }
    fputc('\n', f);
}

/* Whether R is a copy in one direction over the LEVEL: the bus's of pinned memory. */
static bool is_one_way(const rp_result *r, rp_hw_level level) {
    if (r->kind != RP_RESULT_COPY || !(r->ceiling.rate > 0) || r->ceiling.level != level ||
        !strncmp(r->name, "copy_both_ways", 14))
        return false;
    return level == RP_NVLINK || !strcmp(r->name, "copy_to_device_pinned") ||
           !strcmp(r->name, "copy_to_host_pinned");
}

/* Whether no other copy of its kind is faster than R, or came before as fast. */
static bool is_fastest(const rp_calibration *c, const rp_result *r, rp_hw_level level) {
    for (size_t i = 0; i < c->count; i++) {
        const rp_result *o = &c->results[i];
        if (o != r && is_one_way(o, level) &&
            (o->ceiling.rate > r->ceiling.rate || (o->ceiling.rate == r->ceiling.rate && o < r)))
            return false;
    }
    return true;
}

/* The key under which R is recorded; NULL: it is not. The bus, and links between devices, are
 * recorded by their faster direction. */
static const char *key_of(const rp_calibration *c, const rp_result *r) {
    if (!r->best || r->partial || !(r->ceiling.rate > 0))
        return NULL;
    if (r->kind == RP_RESULT_COMPUTE || r->kind == RP_RESULT_BANDWIDTH)
        return r->name;
    for (rp_hw_level level = RP_PCIE; level <= RP_NVLINK; level++)
        if (is_one_way(r, level) && is_fastest(c, r, level))
            return rp_level_name(level);
    return NULL;
}

static rp_code write_file(const rp_calibration *c, const char *path, size_t *written,
                          rp_error *error) {
    rp_output output = {0};
    int places[64 + COLUMNS], old = 0, n;
    bool has[COLUMNS] = {false};
    size_t length = 0;
    char *text;
    rp_code code;

    errno = 0;
    text = read_all(path, &length);
    if (!text && errno && errno != ENOENT)
        return rp_fail(error, RP_INTERNAL, "%s: cannot be read: %s", path, strerror(errno));
    if (text && *text) {
        const char *header = text;
        while (*header == '#' && strchr(header, '\n'))
            header = strchr(header, '\n') + 1;
        read_header(header, places, &old);
    }
    for (int i = 0; i < old; i++)
        if (places[i] >= 0)
            has[places[i]] = true;
    n = old;
    for (int i = 0; i < COLUMNS; i++)
        if (!has[i])
            places[n++] = i;
    if ((code = rp_output_open(&output, path, error)) != RP_OK) {
        free(text);
        return code;
    }
    if (old)
        copy_old(output.stream, text, n - old, places, old);
    else
        for (int i = 0; i < n; i++)
            fprintf(output.stream, "%s%s", columns[places[i]], i + 1 < n ? "," : "\n");
    for (size_t i = 0; i < c->count; i++) {
        const char *key = key_of(c, &c->results[i]);
        if (!key)
            continue;
        write_record(output.stream, c, &c->results[i], key, places, n);
        (*written)++;
    }
    free(text);
    return rp_output_commit(&output, error);
}

rp_code rp_calibration_record(const rp_calibration *calibration, char *path, size_t path_size,
                              size_t *written, const char **why, rp_error *error) {
    char folder[PATH_MAX - 16], file[PATH_MAX];
    rp_code code;

    *written = 0;
    *why =
        calibration->host       ? "the host is no device of the database"
        : calibration->emulated ? "modelled figures are never recorded"
        : strstr(calibration->name, " MIG ")
            ? "this is a slice of a device (MIG): its ceilings are not the device's"
        : !calibration->match.device
            ? "the database has no row of this device: describe it in devices.csv of your own first"
            : "";
    if (**why)
        return RP_OK;
    if (!rp_hwdb_user_folder(folder, sizeof folder)) {
        *why = "neither XDG_DATA_HOME nor HOME is set";
        return RP_OK;
    }
    snprintf(file, sizeof file, "%s/ceilings.csv", folder);
    if (path)
        snprintf(path, path_size, "%s", file);
    if ((code = make_folders(folder, error)) != RP_OK)
        return code;
    return write_file(calibration, file, written, error);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static yajl_val member(yajl_val from, const char *name, yajl_type type) {
    const char *path[] = {name, NULL};
    return YAJL_IS_OBJECT(from) ? yajl_tree_get(from, path, type) : NULL;
}

static double number(yajl_val from, const char *name) {
    yajl_val v = member(from, name, yajl_t_number);
    return v ? strtod(YAJL_GET_NUMBER(v), NULL) : NAN;
}

static const char *text_of(yajl_val from, const char *name) {
    yajl_val v = member(from, name, yajl_t_string);
    return v ? YAJL_GET_STRING(v) : "";
}

static rp_code read_list(yajl_val root, const char *list, rp_calibration *c, const char *path,
                         rp_error *error) {
    yajl_val array = member(root, list, yajl_t_array);

    for (size_t i = 0; array && i < YAJL_GET_ARRAY(array)->len; i++) {
        yajl_val v = YAJL_GET_ARRAY(array)->values[i];
        const char *name = text_of(v, "name");
        rp_ceiling ceiling = {0};
        bool is_ceiling = rp_ceiling_from_key(name, &ceiling);
        rp_result_kind kind = !strcmp(list, "latencies") ? RP_RESULT_LATENCY
                              : !is_ceiling              ? RP_RESULT_COPY
                              : ceiling.compute          ? RP_RESULT_COMPUTE
                                                         : RP_RESULT_BANDWIDTH;
        rp_result *r = rp_calibration_add(c, kind, name);
        if (!r)
            return rp_fail(error, RP_INTERNAL, "%s: no memory", path);
        if (is_ceiling)
            r->ceiling = ceiling;
        else if (kind == RP_RESULT_COPY)
            r->ceiling.level = !strcmp(text_of(v, "level"), "nvlink") ? RP_NVLINK : RP_PCIE;
        r->ceiling.rate =
            kind == RP_RESULT_COMPUTE ? number(v, "flops_per_s") : number(v, "bytes_per_s");
        r->ceiling.clock_hz = number(v, "clock_hz");
        r->ceiling.provenance = c->emulated ? RP_MODELLED : RP_CALIBRATED;
        r->seconds = number(v, "time_s");
        r->sustained = number(v, "sustained");
        r->spread = number(v, "spread");
        double theory = number(v, "fraction_of_theoretical"),
               sheet = number(v, "fraction_of_datasheet");
        r->theoretical = theory > 0 ? r->ceiling.rate / theory : NAN;
        r->datasheet = sheet > 0 ? r->ceiling.rate / sheet : NAN;
        snprintf(r->pattern, sizeof r->pattern, "%s", text_of(v, "pattern"));
        snprintf(r->variant, sizeof r->variant, "%s", text_of(v, "variant"));
        snprintf(r->absent_because, sizeof r->absent_because, "%s", text_of(v, "absent_because"));
        snprintf(r->flag, sizeof r->flag, "%s", text_of(v, "flag"));
    }
    return RP_OK;
}

static void read_points(yajl_val root, rp_calibration *c) {
    yajl_val array = member(root, "sweep", yajl_t_array);
    for (size_t i = 0; array && i < YAJL_GET_ARRAY(array)->len; i++) {
        yajl_val v = YAJL_GET_ARRAY(array)->values[i];
        rp_sweep_point p = {.intensity = number(v, "intensity_flop_per_byte"),
                            .flops_per_s = number(v, "flops_per_s"),
                            .bytes_per_s = number(v, "bytes_per_s"),
                            .clock_hz = number(v, "clock_hz")};
        if (c->point_count < RP_SWEEP_POINTS && p.intensity > 0 && p.flops_per_s > 0)
            c->points[c->point_count++] = p;
    }
}

rp_code rp_calibration_read(const char *path, rp_calibration *calibration, rp_error *error) {
    char reason[256] = "";
    size_t length;
    char *text = read_all(path, &length);
    rp_code code = RP_OK;

    *calibration = (rp_calibration){.power_limit_w = NAN};
    if (!text)
        return rp_fail(error, RP_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    yajl_val root = yajl_tree_parse(text, reason, sizeof reason);
    free(text);
    yajl_val device = root ? member(root, "device", yajl_t_object) : NULL;
    if (!device || strcmp(text_of(root, "schema"), "roofprof.calibration/1") != 0) {
        yajl_tree_free(root);
        return rp_fail(error, RP_INPUT,
                       "%s is no calibration (JSON of schema roofprof.calibration/1, as calibrate "
                       "--format json -o FILE writes it)",
                       path);
    }
    snprintf(calibration->name, sizeof calibration->name, "%s", text_of(device, "name"));
    snprintf(calibration->uuid, sizeof calibration->uuid, "%s", text_of(device, "uuid"));
    snprintf(calibration->driver, sizeof calibration->driver, "%s", text_of(device, "driver"));
    snprintf(calibration->date, sizeof calibration->date, "%s", text_of(root, "date"));
    calibration->emulated = !strcmp(text_of(device, "source"), "emulated");
    calibration->host = !strcmp(text_of(device, "source"), "host");
    calibration->power_limit_w = number(device, "power_limit_w");
    calibration->sm_count = (int)fmax(0, fmin(1e6, number(device, "sm_count")));
    calibration->memory_bytes = calibration->l2_bytes = -1;
    (void)((code = read_list(root, "ceilings", calibration, path, error)) ||
           (code = read_list(root, "copies", calibration, path, error)) ||
           (code = read_list(root, "latencies", calibration, path, error)));
    read_points(root, calibration);
    yajl_tree_free(root);
    if (code != RP_OK)
        rp_calibration_free(calibration);
    else
        rp_calibration_judge(calibration);
    return code;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool has_value(const rp_result *r) {
    return r->kind == RP_RESULT_LATENCY ? r->seconds > 0 : r->ceiling.rate > 0;
}

/* The best result of C that measures what LIKE does: several kernels may try for one ceiling. */
static const rp_result *same(const rp_calibration *c, const rp_result *like) {
    const rp_result *best = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const rp_result *r = &c->results[i];
        if (r->kind == like->kind && !strcmp(r->name, like->name) &&
            !strcmp(r->pattern, like->pattern) &&
            (!best || !has_value(best) || r->ceiling.rate > best->ceiling.rate))
            best = r;
    }
    return best;
}

rp_code rp_calibration_compare(const rp_calibration *base, const rp_calibration *now, double share,
                               rp_loss **losses, size_t *count, size_t *compared, rp_error *error) {
    *count = *compared = 0;
    *losses = NULL;
    if (base->emulated != now->emulated || strcmp(base->name, now->name) != 0)
        return rp_fail(error, RP_INPUT,
                       "the base is of %s%s, this is %s%s: only the same kind of device compares",
                       base->name, base->emulated ? " (modelled)" : "", now->name,
                       now->emulated ? " (modelled)" : "");
    if (!(*losses = calloc(base->count ? base->count : 1, sizeof **losses)))
        return rp_fail(error, RP_INTERNAL, "no memory");
    for (size_t i = 0; i < base->count; i++) {
        const rp_result *b = &base->results[i], *n = same(now, b);
        if (!has_value(b) || b != same(base, b) || (now->interrupted && !n))
            continue;
        bool latency = b->kind == RP_RESULT_LATENCY;
        rp_loss loss = {.name = b->name,
                        .pattern = b->pattern,
                        .before = latency ? b->seconds : b->ceiling.rate,
                        .after = n && has_value(n) ? (latency ? n->seconds : n->ceiling.rate) : NAN,
                        .loss = NAN};
        loss.loss = latency ? loss.after / loss.before - 1 : 1 - loss.after / loss.before;
        *compared += !isnan(loss.after);
        if (isnan(loss.after) || loss.loss > share)
            (*losses)[(*count)++] = loss;
    }
    if (*compared)
        return RP_OK;
    free(*losses);
    *losses = NULL;
    return rp_fail(error, RP_INPUT, "the base and this calibration have no result in common");
}
