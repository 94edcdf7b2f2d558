/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of results, a device's calibration from start to end, and the judging of what came out.
 */
#include "kernels/calibration.h"

#include "kernels/session.h"
#include "support/array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Results --------------------------------------------------------------------------------- */

rp_result *rp_calibration_add(rp_calibration *calibration, rp_result_kind kind, const char *name) {
    rp_result *r;

    if (!RP_ARRAY_ROOM(calibration->results, calibration->capacity, calibration->count))
        return NULL;
    r = &calibration->results[calibration->count++];
    *r = (rp_result){.kind = kind,
                     .ceiling = {.rate = NAN, .clock_hz = NAN},
                     .sustained = NAN,
                     .seconds = NAN,
                     .theoretical = NAN,
                     .datasheet = NAN,
                     .spread = NAN,
                     .reading = {NAN, NAN, NAN, NAN, 0, false}};
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

void rp_calibration_free(rp_calibration *calibration) {
    free(calibration->results);
    *calibration = (rp_calibration){0};
}

double rp_result_of_theoretical(const rp_result *result) {
    return result->ceiling.rate / result->theoretical;
}

double rp_result_of_datasheet(const rp_result *result) {
    return result->ceiling.rate / result->datasheet;
}

const char *rp_result_unit(const rp_result *result) {
    if (result->kind == RP_RESULT_LATENCY)
        return "s";
    if (result->kind != RP_RESULT_COMPUTE)
        return "B/s";
    return result->ceiling.precision == RP_INT8 || result->ceiling.precision == RP_INT32 ? "OP/s"
                                                                                         : "FLOP/s";
}

const rp_result *rp_calibration_best(const rp_calibration *calibration, const char *name) {
    for (size_t i = 0; i < calibration->count; i++)
        if (calibration->results[i].best && !strcmp(calibration->results[i].name, name))
            return &calibration->results[i];
    return NULL;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* The ceiling of the database that R measures: of the same instruction and accumulate type. */
static const rp_ceiling *known(const rp_device *device, const rp_result *r, rp_provenance which) {
    return rp_device_ceiling(device, &r->ceiling, &which, 1);
}

static void set_references(const rp_calibration *c, rp_result *r) {
    const rp_ceiling *theory = known(c->device, r, RP_THEORETICAL);
    const rp_ceiling *sheet = known(c->device, r, RP_DATASHEET);
    double clock = r->ceiling.compute || r->ceiling.level != RP_DRAM ? r->ceiling.clock_hz
                                                                     : r->reading.memory_clock_hz;

    if (sheet)
        r->datasheet = sheet->rate;
    if (!theory)
        return;
    r->theoretical = theory->rate;
    if (clock > 0 && theory->clock_hz > 0)
        r->theoretical = theory->rate * clock / theory->clock_hz;
}

static void flag_low(const rp_calibration *c, rp_result *r, double fraction) {
    char causes[160];
    const char *throttle = r->reading.throttle_known
                               ? rp_throttle_text(r->reading.throttle, causes, sizeof causes)
                               : "";

    if (*throttle)
        snprintf(r->flag, sizeof r->flag, "%.0f %% of theory; the device was held back: %s",
                 100 * fraction, throttle);
    else if (r->spread > 0.1)
        snprintf(r->flag, sizeof r->flag,
                 "%.0f %% of theory, repeats differ by %.0f %%: something else uses the device?",
                 100 * fraction, 100 * r->spread);
    else if (!r->ceiling.compute && r->ceiling.level == RP_DRAM)
        snprintf(r->flag, sizeof r->flag,
                 "%.0f %% of theory: ECC, a partitioned device (MIG), or a chip of this name with "
                 "less memory",
                 100 * fraction);
    else
        snprintf(r->flag, sizeof r->flag,
                 "%.0f %% of theory at the clock observed: the peak in the database may be that of "
                 "another variant of %s, or the kernel does not fill this chip",
                 100 * fraction, *c->chip ? c->chip : "the chip");
}

static void judge_one(const rp_calibration *c, rp_result *r) {
    double fraction;

    if (r->kind == RP_RESULT_COPY || r->kind == RP_RESULT_LATENCY || !(r->ceiling.rate > 0))
        return;
    if (c->device)
        set_references(c, r);
    fraction = rp_result_of_theoretical(r);
    if (c->emulated)
        snprintf(r->flag, sizeof r->flag, "modelled, not measured");
    else if (fraction > 1.005)
        snprintf(r->flag, sizeof r->flag,
                 "%.1f %% of theory at the clock observed: the database's SMs, clock or operations "
                 "per clock are not this device's, or the clock was read low",
                 100 * fraction);
    else if (fraction < 0.8 && !c->host)
        flag_low(c, r, fraction);
}

void rp_calibration_judge(rp_calibration *c) {
    for (size_t i = 0; i < c->count; i++)
        judge_one(c, &c->results[i]);
    for (size_t i = 0; i < c->count; i++) {
        rp_result *r = &c->results[i];
        r->best = r->kind == RP_RESULT_LATENCY ? r->seconds > 0 : r->ceiling.rate > 0;
        for (size_t k = 0; k < c->count && r->best; k++) {
            const rp_result *other = &c->results[k];
            if (k != i && !strcmp(other->name, r->name) &&
                (other->ceiling.rate > r->ceiling.rate ||
                 (other->ceiling.rate == r->ceiling.rate && k < i)))
                r->best = false;
        }
    }
}

/* ---- A device -------------------------------------------------------------------------------- */

/* DRAM's ceiling is the best of all patterns: of some of them it may be too low. */
static void mark_partial(rp_calibration *c) {
    int patterns = 0;

    for (size_t i = 0; i < c->count; i++)
        patterns += !strcmp(c->results[i].name, "dram");
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->results[i].name, "dram") && patterns < RP_PATTERNS)
            c->results[i].partial = true;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* If there is nothing but copies, the first reason that the driver gave is everybody's. */
static rp_code check_any(const rp_calibration *c, rp_error *error) {
    const char *reason = "";

    for (size_t i = 0; i < c->count; i++) {
        const rp_result *r = &c->results[i];
        if (r->kind != RP_RESULT_COPY && (r->ceiling.rate > 0 || r->seconds > 0))
            return RP_OK;
        if (!*reason && strstr(r->absent_because, "CUDA_"))
            reason = r->absent_because;
    }
    return c->interrupted ? RP_OK
                          : rp_fail(error, RP_MACHINE, "nothing could be measured on %s%s%s",
                                    c->name, *reason ? ": " : "", reason);
}

rp_code rp_calibrate_device(const rp_hwdb *db, const rp_calibrate_options *options,
                            rp_calibration *calibration, rp_error *error) {
    rp_session session;
    double start = now();
    time_t today = time(NULL);
    struct tm utc;
    rp_code code;

    *calibration = (rp_calibration){.power_limit_w = NAN};
    strftime(calibration->date, sizeof calibration->date, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&today, &utc));
    if ((code = rp_session_open(&session, db, options, calibration, error)) != RP_OK)
        return code;
    (void)((code = rp_measure_compute(&session, error)) ||
           (code = rp_measure_memory(&session, error)) ||
           (code = rp_measure_onchip(&session, error)) ||
           (code = rp_measure_latency(&session, error)) ||
           (code = rp_measure_copies(&session, error)) ||
           (code = rp_measure_sweep(&session, error)));
    calibration->interrupted = rp_session_stopped(&session);
    if (calibration->interrupted)
        mark_partial(calibration);
    rp_session_close(&session);
    calibration->elapsed_s = now() - start;
    if (code == RP_OK)
        code = check_any(calibration, error);
    if (code != RP_OK) {
        rp_calibration_free(calibration);
        return code;
    }
    rp_calibration_judge(calibration);
    return RP_OK;
}
