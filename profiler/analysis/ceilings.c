/* SPDX-License-Identifier: Apache-2.0
 *
 * The peaks of a device, each in three versions: theoretical at the nominal clock, theoretical at
 * the clock that was observed, and calibrated. Verdicts use the second, plots and time lost the
 * third where there is one. Peaks that were collected with the capture (peak per cycle x cycles per
 * second of that very chip) go before the database's.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rp_roof no_roof(void) {
    return (rp_roof){.nominal = NAN, .observed = NAN, .calibrated = NAN, .clock_hz = NAN};
}

static void clear(rp_roofs *roofs) {
    memset(roofs, 0, sizeof *roofs);
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            roofs->compute[p][path] = no_roof();
    for (int l = 0; l < RP_LEVELS; l++)
        roofs->level[l] = no_roof();
    roofs->fp16_acc16_tensor = roofs->issue = roofs->lsu = roofs->wavefront = no_roof();
    roofs->alu = roofs->xu = no_roof();
    roofs->sm_count = roofs->nominal_clock = roofs->observed_clock = NAN;
    roofs->max_warps = roofs->max_threads = roofs->max_blocks = NAN;
    roofs->registers = roofs->shared_bytes = NAN;
}

double rp_roof_at(const rp_roof *roof, const rp_roofs *roofs, double clock) {
    if (isnan(clock) || isnan(roof->clock_hz))
        return roof->observed;
    if (roofs->observed_clock > 0)
        return roof->observed * clock / roofs->observed_clock;
    return roof->nominal * clock / roof->clock_hz;
}

/* The one of ROOFS that CEILING describes; NULL if it is of another kind (sparse or dense, a single
 * instruction's, an accumulate type that has no roof of its own). */
static rp_roof *roof_of(rp_roofs *roofs, const rp_ceiling *ceiling, bool sparse) {
    if (!ceiling->compute)
        return &roofs->level[ceiling->level];
    if (ceiling->instruction[0])
        return NULL;
    if (ceiling->path == RP_TENSOR && ceiling->sparse != sparse)
        return NULL;
    if (strcmp(ceiling->accumulate, "fp16") == 0)
        return ceiling->path == RP_TENSOR && ceiling->precision == RP_FP16
                   ? &roofs->fp16_acc16_tensor
                   : NULL;
    return &roofs->compute[ceiling->precision][ceiling->path];
}

/* Does the rate follow the SM clock? Arithmetic and on-chip memory do; DRAM and links do not. */
static bool follows_clock(const rp_ceiling *ceiling) {
    return ceiling->compute || ceiling->level == RP_L1 || ceiling->level == RP_SHARED ||
           ceiling->level == RP_L2;
}

static void add_ceiling(rp_roofs *roofs, const rp_ceiling *ceiling, bool sparse) {
    rp_roof *roof = roof_of(roofs, ceiling, sparse);
    if (!roof || !(ceiling->rate > 0))
        return;
    if (ceiling->provenance == RP_CALIBRATED || ceiling->provenance == RP_MEASURED ||
        ceiling->provenance == RP_USER) {
        roof->calibrated = ceiling->rate;
        roof->calibrated_source = ceiling->source;
        roof->calibrated_provenance = ceiling->provenance;
        return;
    }
    if (ceiling->provenance == RP_EMULATED)
        return; /* what calibrate saw on an emulated device says nothing of a real one */
    /* theoretical goes before what is printed, and the first of a kind before later ones */
    if (!isnan(roof->nominal) &&
        (roof->provenance == RP_THEORETICAL || ceiling->provenance != RP_THEORETICAL))
        return;
    roof->nominal = ceiling->rate;
    roof->sparse = ceiling->compute && ceiling->sparse;
    roof->provenance = ceiling->provenance;
    roof->source = ceiling->source;
    roof->clock_hz = NAN;
    if (follows_clock(ceiling))
        roof->clock_hz = ceiling->clock_hz > 0 ? ceiling->clock_hz : roofs->nominal_clock;
}

/* With sparse peaks asked for: tensor operations that have none (FP64) keep the dense one. */
static void add_dense(rp_roofs *roofs, const rp_ceiling *ceiling) {
    const rp_roof *roof = roof_of(roofs, ceiling, false);
    bool tensor = ceiling->compute && ceiling->path == RP_TENSOR;
    if (tensor && roof && !roof->sparse)
        add_ceiling(roofs, ceiling, false);
}

/* A limit per clock and SM of the throughput table, as a rate of the whole device. */
static void add_limit(rp_roofs *roofs, const rp_hwdb *hwdb, const rp_device *device,
                      const char *limit, rp_roof *roof) {
    if (!isnan(roof->nominal))
        return;
    double per_clock = rp_hwdb_limit(hwdb, device, limit);
    roof->nominal = per_clock * roofs->sm_count * roofs->nominal_clock;
    if (!(roof->nominal > 0)) {
        roof->nominal = NAN;
        return;
    }
    roof->clock_hz = roofs->nominal_clock;
    roof->provenance = RP_THEORETICAL;
    roof->source = "per clock and SM x SMs x clock";
}

static void observe(rp_roofs *roofs, rp_roof *roof) {
    if (!isnan(roof->observed))
        return;
    roof->observed = roof->nominal;
    if (roofs->observed_clock > 0 && roof->clock_hz > 0)
        roof->observed = roof->nominal * roofs->observed_clock / roof->clock_hz;
}

static void for_each_roof(rp_roofs *roofs, void (*apply)(rp_roofs *, rp_roof *)) {
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            apply(roofs, &roofs->compute[p][path]);
    for (int l = 0; l < RP_LEVELS; l++)
        apply(roofs, &roofs->level[l]);
    rp_roof *const rest[] = {&roofs->fp16_acc16_tensor, &roofs->issue, &roofs->lsu,
                             &roofs->wavefront,         &roofs->alu,   &roofs->xu};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        apply(roofs, rest[i]);
}

static void add_limits(rp_roofs *roofs, const rp_hwdb *hwdb, const rp_device *device) {
    add_limit(roofs, hwdb, device, "issue", &roofs->issue);
    add_limit(roofs, hwdb, device, "lsu", &roofs->lsu);
    add_limit(roofs, hwdb, device, "l1_wavefront", &roofs->wavefront);
    add_limit(roofs, hwdb, device, "alu", &roofs->alu);
    add_limit(roofs, hwdb, device, "xu", &roofs->xu);
    add_limit(roofs, hwdb, device, "int32_vector", &roofs->compute[RP_INT32][RP_VECTOR]);
    add_limit(roofs, hwdb, device, "l1_bytes", &roofs->level[RP_L1]);
    add_limit(roofs, hwdb, device, "shared_bytes", &roofs->level[RP_SHARED]);
    add_limit(roofs, hwdb, device, "l2_bytes", &roofs->level[RP_L2]);
    roofs->max_warps = rp_hwdb_limit(hwdb, device, "max_warps");
    roofs->max_threads = rp_hwdb_limit(hwdb, device, "max_threads");
    roofs->max_blocks = rp_hwdb_limit(hwdb, device, "max_blocks");
    roofs->registers = rp_hwdb_limit(hwdb, device, "registers");
    roofs->shared_bytes = rp_hwdb_limit(hwdb, device, "shared_bytes_per_sm");
}

static void add_device(rp_roofs *roofs, const rp_hwdb *hwdb, const rp_device *device, bool sparse) {
    roofs->nominal_clock = device->boost_hz > 0 ? device->boost_hz : NAN;
    if (device->sm_count > 0)
        roofs->sm_count = (double)device->sm_count;
    for (size_t i = 0; i < device->ceiling_count; i++)
        add_ceiling(roofs, &device->ceilings[i], sparse);
    for (size_t i = 0; sparse && i < device->ceiling_count; i++)
        add_dense(roofs, &device->ceilings[i]);
    add_limits(roofs, hwdb, device);
    for (int p = 0; p < RP_PRECISIONS; p++)
        roofs->tensor = roofs->tensor || !isnan(roofs->compute[p][RP_TENSOR].nominal);
}

void rp_roofs_of_device(const rp_hwdb *hwdb, const rp_device *device, bool sparse,
                        rp_roofs *roofs) {
    clear(roofs);
    roofs->certain = true;
    add_device(roofs, hwdb, device, sparse);
    for_each_roof(roofs, observe);
}

static rp_roof *roof_by_names(rp_roofs *roofs, const rp_capture_ceiling *ceiling) {
    if (!ceiling->compute) {
        for (int l = 0; l < RP_LEVELS; l++)
            if (strcmp(ceiling->level, rp_level_name((rp_hw_level)l)) == 0)
                return &roofs->level[l];
        return NULL;
    }
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            if (strcmp(ceiling->precision, rp_precision_name((rp_hw_precision)p)) == 0 &&
                strcmp(ceiling->path, rp_path_name((rp_hw_path)path)) == 0)
                return &roofs->compute[p][path];
    return NULL;
}

/* Peaks that came with the capture: those of this very chip, at the clock of the run. */
static void add_collected(rp_roofs *roofs, const rp_profile_device *seen) {
    for (size_t i = 0; i < seen->ceiling_count; i++) {
        const rp_capture_ceiling *ceiling = &seen->ceilings[i];
        rp_roof *roof = roof_by_names(roofs, ceiling);
        if (!roof || !(ceiling->rate > 0))
            continue;
        if (ceiling->provenance == RP_CALIBRATED || ceiling->provenance == RP_MEASURED) {
            roof->calibrated = ceiling->rate;
            roof->calibrated_source = "measured, came with the capture";
            roof->calibrated_provenance = ceiling->provenance;
            continue;
        }
        bool clocked = ceiling->compute || strcmp(ceiling->level, "dram") != 0;
        roof->observed = ceiling->rate;
        roof->provenance = ceiling->provenance;
        roof->source = ceiling->provenance == RP_THEORETICAL
                           ? "peak per cycle x cycles per second, came with the capture"
                           : "came with the capture";
        if (clocked && isnan(roof->clock_hz))
            roof->clock_hz = roofs->nominal_clock;
        if (isnan(roof->nominal)) {
            roof->nominal = ceiling->rate;
            if (clocked && roofs->observed_clock > 0 && roofs->nominal_clock > 0)
                roof->nominal *= roofs->nominal_clock / roofs->observed_clock;
        }
    }
}

/* ---- The device ------------------------------------------------------------------------------ */

/* True where the capture does not say which device it was: then none was looked up in vain. */
static bool nameless(const rp_profile_device *seen) {
    return !(seen->name && *seen->name) && !(seen->chip && *seen->chip) &&
           !(seen->pci_id && *seen->pci_id);
}

static rp_code match_device(const rp_profile_device *seen, const rp_hwdb *hwdb,
                            const rp_analysis_options *options, rp_device_match *match,
                            rp_error *error) {
    if (options->device_name) {
        rp_code code = rp_hwdb_find(hwdb, options->device_name, &match->device, NULL, error);
        snprintf(match->how, sizeof match->how, "--device");
        match->certain = true;
        return code;
    }
    rp_device_identity identity = {.name = seen->name,
                                   .chip = seen->chip,
                                   .pci_id = seen->pci_id,
                                   .uuid = seen->uuid,
                                   .cc_major = seen->cc_major,
                                   .cc_minor = seen->cc_minor,
                                   .sm_count = seen->sm_count,
                                   .memory_bytes = seen->memory_bytes,
                                   .memory_bus_bits = seen->memory_bus_bits,
                                   .sm_clock_hz = seen->sm_clock_hz,
                                   .memory_clock_hz = seen->memory_clock_hz,
                                   .driver = seen->driver,
                                   .power_limit_w = seen->power_limit_w};
    rp_error ignored = {0};
    if (rp_hwdb_match(hwdb, &identity, match, &ignored) != RP_OK) {
        memset(match, 0, sizeof *match);
        snprintf(match->how, sizeof match->how, "%s",
                 nameless(seen) ? "not named in the capture"
                                : "not found in the hardware database");
    }
    return RP_OK;
}

static char *text_or(const char *first, const char *second) {
    return strdup(first && *first ? first : second ? second : "");
}

static rp_ceiling drawn_ceiling(const rp_roof *roof) {
    bool calibrated = !isnan(roof->calibrated);
    return (rp_ceiling){.rate = calibrated ? roof->calibrated : roof->observed,
                        .clock_hz = roof->clock_hz,
                        .provenance = calibrated ? roof->calibrated_provenance : roof->provenance,
                        .source = calibrated ? roof->calibrated_source : roof->source};
}

static void draw(rp_report_device *device, const rp_roof *roof, rp_ceiling kind) {
    rp_ceiling ceiling = drawn_ceiling(roof);
    if (isnan(ceiling.rate))
        return;
    ceiling.compute = kind.compute;
    ceiling.precision = kind.precision;
    ceiling.path = kind.path;
    ceiling.level = kind.level;
    ceiling.sparse = kind.sparse;
    memcpy(ceiling.accumulate, kind.accumulate, sizeof ceiling.accumulate);
    device->ceilings[device->ceiling_count++] = ceiling;
}

static rp_code draw_all(rp_report_device *device, const rp_roofs *roofs, rp_error *error) {
    device->ceilings = calloc(RP_PRECISIONS * RP_PATHS + RP_LEVELS + 1, sizeof *device->ceilings);
    if (!device->ceilings)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            draw(device, &roofs->compute[p][path],
                 (rp_ceiling){.compute = true,
                              .precision = (rp_hw_precision)p,
                              .path = (rp_hw_path)path,
                              .sparse = roofs->compute[p][path].sparse});
    draw(device, &roofs->fp16_acc16_tensor,
         (rp_ceiling){.compute = true,
                      .precision = RP_FP16,
                      .path = RP_TENSOR,
                      .accumulate = "fp16",
                      .sparse = roofs->fp16_acc16_tensor.sparse});
    for (int l = 0; l < RP_LEVELS; l++)
        draw(device, &roofs->level[l], (rp_ceiling){.level = (rp_hw_level)l});
    return RP_OK;
}

/* "calibrated and theoretical ceilings": which kinds are drawn; what is printed by the vendor
 * counts as theoretical. */
static void kinds_of_ceilings(const rp_report_device *device, char *text, size_t size) {
    static const char *const names[] = {"calibrated", "imported", "theoretical"};
    bool kinds[3] = {0};
    for (size_t i = 0; i < device->ceiling_count; i++) {
        rp_provenance p = device->ceilings[i].provenance;
        bool calibrated = p == RP_CALIBRATED || p == RP_MEASURED || p == RP_USER;
        kinds[calibrated ? 0 : p == RP_IMPORTED ? 1 : 2] = true;
    }
    *text = '\0';
    for (int k = 0; k < 3; k++)
        if (kinds[k])
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? " and " : "",
                     names[k]);
    snprintf(text + strlen(text), size - strlen(text), "%sceilings", *text ? " " : "no ");
}

static rp_code describe(const rp_profile_device *seen, const rp_roofs *roofs,
                        rp_report_device *device, rp_error *error) {
    const rp_device *row = device->hardware;
    char clock[96] = "nominal clock, none was observed", kinds[96];
    kinds_of_ceilings(device, kinds, sizeof kinds);
    if (roofs->observed_clock > 0)
        snprintf(clock, sizeof clock, "%.0f MHz observed%s%.0f%s", roofs->observed_clock / 1e6,
                 roofs->nominal_clock > 0 ? " (nominal " : " (", roofs->nominal_clock / 1e6,
                 roofs->nominal_clock > 0 ? " MHz)" : " MHz nominal)");
    if (roofs->observed_clock > 0 && !(roofs->nominal_clock > 0))
        snprintf(clock, sizeof clock, "%.0f MHz observed", roofs->observed_clock / 1e6);
    device->name = text_or(seen->name, row ? row->name : NULL);
    device->chip = text_or(seen->chip, row ? row->chip : NULL);
    if (row && row->compute_capability[0])
        device->compute_capability = strdup(row->compute_capability);
    else if (seen->cc_major < 0 ||
             asprintf(&device->compute_capability, "%d.%d", seen->cc_major, seen->cc_minor) < 0)
        device->compute_capability = strdup("");
    const char *row_name = device->match->device ? device->match->device->name : "";
    if (asprintf(&device->source, "%s%s%s; %s%s%s", row_name,
                 row_name[0] && device->match->how[0] ? ", by " : "", device->match->how, kinds,
                 device->ceiling_count ? " at " : "", device->ceiling_count ? clock : "") < 0)
        device->source = NULL;
    if (!device->name || !device->chip || !device->compute_capability || !device->source)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    return RP_OK;
}

rp_code rp_roofs_make(const rp_profile_device *seen, const rp_hwdb *hwdb,
                      const rp_analysis_options *options, rp_report_device *device, rp_roofs *roofs,
                      rp_error *error) {
    clear(roofs);
    device->match = calloc(1, sizeof *device->match);
    if (!device->match)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    rp_code code = match_device(seen, hwdb, options, device->match, error);
    if (code != RP_OK)
        return code;
    const rp_device *row = device->match->device;
    if (!row && device->match->derived.ceiling_count > 0)
        row = &device->match->derived;
    device->hardware = row;
    roofs->certain = device->match->certain;
    roofs->observed_clock = seen->observed_sm_clock_hz > 0 ? seen->observed_sm_clock_hz : NAN;
    if (row)
        add_device(roofs, hwdb, row, options->sparse);
    if (seen->sm_count > 0)
        roofs->sm_count = (double)seen->sm_count;
    if (isnan(roofs->nominal_clock) && seen->sm_clock_hz > 0)
        roofs->nominal_clock = seen->sm_clock_hz;
    add_collected(roofs, seen);
    for_each_roof(roofs, observe);
    device->emulated = seen->emulated;
    device->observed_clock_hz = roofs->observed_clock;
    device->nominal_clock_hz = roofs->nominal_clock;
    device->sm_count = roofs->sm_count;
    code = draw_all(device, roofs, error);
    return code == RP_OK ? describe(seen, roofs, device, error) : code;
}

const rp_roof *rp_roofs_find(const rp_roofs *roofs, const char *key) {
    static const struct {
        const char *key;
        size_t offset;
    } fixed[] = {
        {"issue", offsetof(rp_roofs, issue)},
        {"lsu_requests", offsetof(rp_roofs, lsu)},
        {"wavefronts", offsetof(rp_roofs, wavefront)},
        {"alu_pipe", offsetof(rp_roofs, alu)},
        {"xu_pipe", offsetof(rp_roofs, xu)},
        {"conversion", offsetof(rp_roofs, xu)},
        {"fp16_acc16_tensor", offsetof(rp_roofs, fp16_acc16_tensor)},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(key, fixed[i].key) == 0)
            return (const rp_roof *)((const char *)roofs + fixed[i].offset);
    for (int l = 0; l < RP_LEVELS; l++)
        if (strcmp(key, rp_level_name((rp_hw_level)l)) == 0)
            return &roofs->level[l];
    for (int p = 0; p < RP_PRECISIONS; p++) {
        size_t length = strlen(rp_precision_name((rp_hw_precision)p));
        if (strncmp(key, rp_precision_name((rp_hw_precision)p), length) != 0 || key[length] != '_')
            continue;
        for (int path = 0; path < RP_PATHS; path++)
            if (strcmp(key + length + 1, rp_path_name((rp_hw_path)path)) == 0)
                return &roofs->compute[p][path];
    }
    return NULL;
}
