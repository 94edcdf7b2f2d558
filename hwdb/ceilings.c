/* SPDX-License-Identifier: Apache-2.0
 *
 * Ceilings: their names, how they follow from the throughput table and the clocks, and which one is
 * taken where there are several.
 */
#include "hwdb/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const precision_names[RP_PRECISIONS] = {
    [RP_FP64] = "fp64", [RP_FP32] = "fp32", [RP_TF32] = "tf32", [RP_BF16] = "bf16",
    [RP_FP16] = "fp16", [RP_FP8] = "fp8",   [RP_FP6] = "fp6",   [RP_FP4] = "fp4",
    [RP_INT8] = "int8", [RP_INT4] = "int4", [RP_INT1] = "int1", [RP_INT32] = "int32"};
static const char *const path_names[RP_PATHS] = {"vector", "tensor"};
static const char *const level_names[RP_LEVELS] = {"dram", "l2", "l1", "shared", "pcie", "nvlink"};

const char *rp_precision_name(rp_hw_precision precision) {
    return precision_names[precision];
}

const char *rp_path_name(rp_hw_path path) {
    return path_names[path];
}

const char *rp_level_name(rp_hw_level level) {
    return level_names[level];
}

bool rp_precision_find(const char *name, rp_hw_precision *precision) {
    for (int p = 0; p < RP_PRECISIONS; p++)
        if (!strcmp(name, precision_names[p])) {
            *precision = (rp_hw_precision)p;
            return true;
        }
    return false;
}

bool rp_level_find(const char *name, rp_hw_level *level) {
    for (int l = 0; l < RP_LEVELS; l++)
        if (!strcmp(name, level_names[l])) {
            *level = (rp_hw_level)l;
            return true;
        }
    return false;
}

bool rp_precision_is_integer(rp_hw_precision precision) {
    return precision == RP_INT8 || precision == RP_INT4 || precision == RP_INT1 ||
           precision == RP_INT32;
}

const char *rp_ceiling_unit(const rp_ceiling *ceiling) {
    if (!ceiling->compute)
        return "B/s";
    return rp_precision_is_integer(ceiling->precision) ? "OP/s" : "FLOP/s";
}

void rp_ceiling_key(const rp_ceiling *ceiling, char *buffer, size_t size) {
    if (!ceiling->compute) {
        snprintf(buffer, size, "%s", rp_level_name(ceiling->level));
        return;
    }
    snprintf(buffer, size, "%s%s_%s%s%s%s", rp_precision_name(ceiling->precision),
             strcmp(ceiling->accumulate, "fp16") ? "" : "_acc16", rp_path_name(ceiling->path),
             *ceiling->instruction ? "_" : "", ceiling->instruction,
             ceiling->sparse ? "_sparse" : "");
}

/* Takes "_WORD" off the end of TEXT. */
static bool chop(char *text, const char *word) {
    size_t n = strlen(text), w = strlen(word);
    if (n <= w || strcmp(text + n - w, word))
        return false;
    text[n - w] = 0;
    return true;
}

bool rp_ceiling_from_key(const char *key, rp_ceiling *ceiling) {
    static const char *const instructions[] = {"mma", "wgmma", "tcgen05"};
    char text[64];

    *ceiling = (rp_ceiling){.rate = NAN, .clock_hz = NAN};
    if (rp_level_find(key, &ceiling->level))
        return true;
    if (strlen(key) >= sizeof text)
        return false;
    strcpy(text, key);
    ceiling->compute = true;
    ceiling->sparse = chop(text, "_sparse");
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "_%s", instructions[i]);
        if (chop(text, suffix))
            strcpy(ceiling->instruction, instructions[i]);
    }
    if (chop(text, "_tensor"))
        ceiling->path = RP_TENSOR;
    else if (chop(text, "_vector"))
        ceiling->path = RP_VECTOR;
    else
        return false;
    if (chop(text, "_acc16"))
        strcpy(ceiling->accumulate, "fp16");
    if (ceiling->path == RP_VECTOR &&
        (*ceiling->accumulate || *ceiling->instruction || ceiling->sparse))
        return false;
    return rp_precision_find(text, &ceiling->precision);
}

bool rp_list_has(const char *list, const char *item) {
    size_t n = strlen(item);
    for (const char *p = list; p && *p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
        if (!strncmp(p, item, n) && (p[n] == ';' || !p[n]))
            return true;
    return false;
}

/* ---- The throughput table -------------------------------------------------------------------- */

double rp_throughput(const rp_hwdb *db, const rp_device *device, const char *limit,
                     const char *instruction, const char *accumulate, const char **source) {
    const rp_hw_table *t = &db->throughput_table;
    const size_t key = rp_hw_table_column(t, "key"), variant = rp_hw_table_column(t, "variant"),
                 name = rp_hw_table_column(t, "limit"), ins = rp_hw_table_column(t, "instruction"),
                 acc = rp_hw_table_column(t, "accumulate"), value = rp_hw_table_column(t, "value"),
                 src = rp_hw_table_column(t, "source");
    /* From the particular to the general; a row without a value ends the search: not known. */
    const char *keys[] = {device->name, device->chip, device->compute_capability, device->arch};
    enum { KEYS = sizeof keys / sizeof *keys };
    char *const *best = NULL;
    size_t best_rank = 2 * KEYS;

    for (size_t r = 0; r < t->row_count; r++) {
        char *const *f = t->rows[r].field;
        if (strcmp(f[name], limit) || strcmp(f[ins], instruction) || strcmp(f[acc], accumulate))
            continue;
        bool own = device->variant && *device->variant && !strcmp(f[variant], device->variant);
        if (!own && *f[variant])
            continue;
        for (size_t k = 0; k < KEYS && 2 * k + !own < best_rank; k++)
            if (keys[k] && *keys[k] && !strcmp(f[key], keys[k])) {
                best = f;
                best_rank = 2 * k + !own;
            }
    }
    if (!best)
        return NAN;
    if (source)
        *source = best[src];
    return *best[value] ? strtod(best[value], NULL) : NAN;
}

double rp_hwdb_ops_per_clock(const rp_hwdb *db, const rp_device *device, rp_hw_precision precision,
                             rp_hw_path path, const char *accumulate) {
    char limit[32];
    double value = NAN;

    snprintf(limit, sizeof limit, "%s_%s", rp_precision_name(precision), rp_path_name(path));
    if (accumulate && *accumulate)
        value = rp_throughput(db, device, limit, "", accumulate, NULL);
    return isnan(value) ? rp_throughput(db, device, limit, "", "", NULL) : value;
}

double rp_hwdb_limit(const rp_hwdb *db, const rp_device *device, const char *limit) {
    if (!strcmp(limit, "l2_bytes"))
        return rp_throughput(db, device, "l2_bytes_chip", "", "", NULL) /
               (device->sm_count > 0 ? (double)device->sm_count : NAN);
    return rp_throughput(db, device, limit, "", "", NULL);
}

/* ---- Building -------------------------------------------------------------------------------- */

void rp_ceilings_add(rp_ceiling_list *list, const rp_ceiling *ceiling) {
    if (list->full || !(ceiling->rate > 0))
        return;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        rp_ceiling *items = list->bounded ? NULL : realloc(list->items, room * sizeof *items);
        if (!items) {
            list->full = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = *ceiling;
}

/* The same kind of ceiling, whatever its rate. */
static bool alike(const rp_ceiling *a, const rp_ceiling *b) {
    if (a->compute != b->compute)
        return false;
    if (!a->compute)
        return a->level == b->level;
    return a->precision == b->precision && a->path == b->path && a->sparse == b->sparse &&
           !strcmp(a->instruction, b->instruction) && !strcmp(a->accumulate, b->accumulate);
}

/* Vector units and FP64 tensor cores run at the boost clock, the other tensor cores at the clock
 * that the vendor rates them at. */
static double clock_of(const rp_device *device, const rp_ceiling *ceiling) {
    bool tensor = ceiling->path == RP_TENSOR && ceiling->precision != RP_FP64;
    return tensor && !isnan(device->tensor_hz) ? device->tensor_hz : device->boost_hz;
}

static void add_compute(const rp_hwdb *db, const rp_device *device, const char *limit,
                        rp_ceiling like, rp_ceiling_list *list) {
    char key[64];
    double ops = rp_throughput(db, device, limit, like.instruction, like.accumulate, &like.source);

    if (isnan(ops) || device->sm_count <= 0)
        return;
    like.compute = true;
    like.provenance = RP_THEORETICAL;
    like.clock_hz = clock_of(device, &like);
    like.rate = ops * (double)device->sm_count * like.clock_hz;
    rp_ceilings_add(list, &like);
    if (like.path != RP_TENSOR || like.precision == RP_FP64 || !(device->sparse_factor > 1))
        return;
    like.sparse = true;
    like.rate *= device->sparse_factor;
    rp_ceiling_key(&like, key, sizeof key);
    if (!rp_list_has(device->flags, key))
        rp_ceilings_add(list, &like);
}

static bool is_listed(const rp_ceiling_list *list, size_t from, const rp_ceiling *like) {
    for (size_t i = from; i < list->count; i++)
        if (alike(&list->items[i], like))
            return true;
    return false;
}

/* Each kind of arithmetic that some row of the throughput table has for this device, once: which
 * row counts is for rp_throughput to say. */
static void add_all_compute(const rp_hwdb *db, const rp_device *device, rp_ceiling_list *list) {
    const rp_hw_table *t = &db->throughput_table;
    const size_t key = rp_hw_table_column(t, "key"), limit = rp_hw_table_column(t, "limit"),
                 ins = rp_hw_table_column(t, "instruction"),
                 acc = rp_hw_table_column(t, "accumulate"), from = list->count;

    for (size_t r = 0; r < t->row_count; r++) {
        char *const *f = t->rows[r].field;
        rp_ceiling c;
        if (strcmp(f[key], device->compute_capability) && strcmp(f[key], device->arch) &&
            strcmp(f[key], device->chip) && strcmp(f[key], device->name))
            continue;
        if (!rp_ceiling_from_key(f[limit], &c) || !c.compute || c.sparse || *c.instruction ||
            *c.accumulate)
            continue;
        snprintf(c.instruction, sizeof c.instruction, "%s", f[ins]);
        snprintf(c.accumulate, sizeof c.accumulate, "%s", f[acc]);
        if (!is_listed(list, from, &c))
            add_compute(db, device, f[limit], c, list);
    }
}

static void add_bandwidth(rp_hw_level level, double bytes_per_clock, double clock_hz,
                          const char *source, rp_ceiling_list *list) {
    rp_ceiling c = {.level = level,
                    .clock_hz = clock_hz,
                    .provenance = RP_THEORETICAL,
                    .source = source,
                    .rate = bytes_per_clock * clock_hz};
    rp_ceilings_add(list, &c);
}

void rp_ceilings_theoretical(const rp_hwdb *db, const rp_device *device, rp_ceiling_list *list) {
    const char *source = NULL;
    double sms = device->sm_count > 0 ? (double)device->sm_count : NAN;
    double bytes;

    add_all_compute(db, device, list);
    if (device->memory_bus_bits > 0)
        add_bandwidth(RP_DRAM, 2.0 * (double)device->memory_bus_bits / 8, device->memory_hz,
                      "2 x memory clock x bus width / 8", list);
    bytes = rp_throughput(db, device, "l2_bytes_chip", "", "", &source);
    add_bandwidth(RP_L2, bytes, device->boost_hz, source, list);
    bytes = rp_throughput(db, device, "l1_bytes", "", "", &source);
    add_bandwidth(RP_L1, bytes * sms, device->boost_hz, source, list);
    bytes = rp_throughput(db, device, "shared_bytes", "", "", &source);
    add_bandwidth(RP_SHARED, bytes * sms, device->boost_hz, source, list);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

const rp_ceiling *rp_device_ceiling(const rp_device *device, const rp_ceiling *like,
                                    const rp_provenance *order, size_t n) {
    for (size_t o = 0; o < n; o++)
        for (size_t c = 0; c < device->ceiling_count; c++)
            if (device->ceilings[c].provenance == order[o] && alike(&device->ceilings[c], like))
                return &device->ceilings[c];
    return NULL;
}

static const rp_provenance drawn_order[] = {RP_CALIBRATED, RP_THEORETICAL, RP_DATASHEET,
                                            RP_ESTIMATED};

const rp_ceiling *rp_device_compute_ceiling(const rp_device *device, rp_hw_precision precision,
                                            rp_hw_path path, const char *accumulate, bool sparse) {
    rp_ceiling like = {.compute = true, .precision = precision, .path = path, .sparse = sparse};
    const rp_ceiling *found;
    const size_t n = sizeof drawn_order / sizeof *drawn_order;

    /* The accumulate type matters on few chips: elsewhere the default's ceiling holds. */
    snprintf(like.accumulate, sizeof like.accumulate, "%s",
             accumulate && !strcmp(accumulate, "fp16") ? "fp16" : "");
    found = rp_device_ceiling(device, &like, drawn_order, n);
    if (!found && *like.accumulate) {
        like.accumulate[0] = 0;
        found = rp_device_ceiling(device, &like, drawn_order, n);
    }
    return found;
}

const rp_ceiling *rp_device_bandwidth(const rp_device *device, rp_hw_level level) {
    rp_ceiling like = {.level = level};
    return rp_device_ceiling(device, &like, drawn_order, sizeof drawn_order / sizeof *drawn_order);
}
