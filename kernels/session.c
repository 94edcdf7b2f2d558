/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking a device, and timing what runs on it.
 */
#include "kernels/session.h"

#include "kernels/images.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    uint64_t first, last;
} span; /* struct rp_span of device.cuh */

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

/* ---- Opening --------------------------------------------------------------------------------- */

static int attribute(rp_session *session, int which) {
    int value;
    return session->cuda.cuDeviceGetAttribute(&value, which, session->device) == 0 ? value : -1;
}

static void describe_driver(rp_session *session, rp_calibration *c) {
    int version = 0;
    char text[80] = "";

    if (session->nvml.driver_version && session->nvml.driver_version(text, sizeof text) == 0)
        snprintf(c->driver, sizeof c->driver, "%.31s", text);
    else if (session->cuda.cuDriverGetVersion(&version) == 0)
        snprintf(c->driver, sizeof c->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static void describe_uuid(rp_session *session, rp_calibration *c) {
    const rp_cuda *cuda = &session->cuda;
    unsigned char u[16];
    char *at = c->uuid;

    if ((!cuda->cuDeviceGetUuid_v2 || cuda->cuDeviceGetUuid_v2(u, session->device) != 0) &&
        cuda->cuDeviceGetUuid(u, session->device) != 0)
        return;
    at += sprintf(at, "GPU-");
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static void describe(rp_session *session, const rp_hwdb *db) {
    rp_calibration *c = session->calibration;
    size_t bytes = 0;
    int major = attribute(session, CU_ATTRIBUTE_CC_MAJOR),
        minor = attribute(session, CU_ATTRIBUTE_CC_MINOR);

    if (session->cuda.cuDeviceGetName(c->name, sizeof c->name, session->device) != 0)
        strcpy(c->name, "a device without a name");
    snprintf(c->compute_capability, sizeof c->compute_capability, "%d.%d", major, minor);
    session->cc = major * 10 + minor;
    c->sm_count = session->sms = attribute(session, CU_ATTRIBUTE_SMS);
    c->l2_bytes = attribute(session, CU_ATTRIBUTE_L2_BYTES);
    c->memory_bytes =
        session->cuda.cuDeviceTotalMem_v2(&bytes, session->device) == 0 ? (int64_t)bytes : -1;
    snprintf(c->pci_address, sizeof c->pci_address, "%08x:%02x:%02x.0",
             (unsigned)attribute(session, CU_ATTRIBUTE_PCI_DOMAIN),
             (unsigned)attribute(session, CU_ATTRIBUTE_PCI_BUS),
             (unsigned)attribute(session, CU_ATTRIBUTE_PCI_DEVICE));
    c->emulated = session->cuda.emulated;
    describe_uuid(session, c);
    rp_nvml_open(&session->nvml, c->pci_address, c->emulated);
    describe_driver(session, c);
    c->power_limit_w = rp_nvml_power_limit_w(&session->nvml);

    double sm_khz = attribute(session, CU_ATTRIBUTE_CLOCK_KHZ),
           memory_khz = attribute(session, CU_ATTRIBUTE_MEMORY_CLOCK_KHZ);
    rp_device_identity identity = {.name = c->name,
                                   .cc_major = major,
                                   .cc_minor = minor,
                                   .sm_count = c->sm_count,
                                   .memory_bytes = c->memory_bytes,
                                   .memory_bus_bits =
                                       attribute(session, CU_ATTRIBUTE_MEMORY_BUS_BITS),
                                   .sm_clock_hz = sm_khz > 0 ? sm_khz * 1e3 : NAN,
                                   .memory_clock_hz = memory_khz > 0 ? memory_khz * 1e3 : NAN,
                                   .uuid = c->uuid,
                                   .driver = c->driver,
                                   .power_limit_w = c->power_limit_w};
    rp_error ignored;
    if (db && rp_hwdb_match(db, &identity, &c->match, &ignored) == RP_OK)
        c->device = c->match.device ? c->match.device : &c->match.derived;
    if (c->device && c->device->chip)
        snprintf(c->chip, sizeof c->chip, "%s", c->device->chip);
}

/* The streams are ordered with the default one, on which fills and plain copies are: those may
 * return before they are done. */
static rp_code open_context(rp_session *session, rp_error *error) {
    rp_code code = TRY(cuDevicePrimaryCtxRetain(&session->context, session->device),
                       "no context on device %d", session->options->device);
    if (code != RP_OK)
        session->context = NULL;
    for (int i = 0; i <= RP_MOST_REPEATS && code == RP_OK; i++)
        (void)((code = i ? RP_OK : TRY(cuCtxSetCurrent(session->context), "no context")) ||
               (code = TRY(cuEventCreate(&session->events[i], 0), "no event")));
    (void)(code || (code = TRY(cuStreamCreate(&session->stream, 0), "no stream")) ||
           (code = TRY(cuStreamCreate(&session->other, 0), "no stream")) ||
           (code = rp_session_allocate(session, (RP_MOST_REPEATS + 1) * RP_MOST_SMS * sizeof(span),
                                       &session->spans, error)) ||
           (code = rp_session_allocate(session, 16, &session->sum, error)));
    return code;
}

rp_code rp_session_open(rp_session *session, const rp_hwdb *db, const rp_calibrate_options *options,
                        rp_calibration *calibration, rp_error *error) {
    int count = 0;
    rp_code code;

    *session = (rp_session){
        .options = options, .calibration = calibration, .reading = {NAN, NAN, NAN, NAN, 0, false}};
    if (!rp_image_of(RP_IMAGE_VECTOR).data)
        return rp_fail(error, RP_MACHINE,
                       "this roofprof was built without nvcc and so has no kernels to measure a "
                       "device with; build it with a CUDA toolkit (scripts/toolchain.sh fetches "
                       "one), or use --host to measure the CPU");
    if ((code = rp_cuda_open(&session->cuda, error)) != RP_OK)
        return code;
    session->cuda.cuDeviceGetCount(&count);
    if (options->device >= count)
        code = rp_fail(error, RP_MACHINE, "there is no device %d: the driver sees %d, from 0 on",
                       options->device, count);
    else
        code = TRY(cuDeviceGet(&session->device, options->device), "device %d", options->device);
    if (code == RP_OK) {
        describe(session, db);
        code = open_context(session, error);
    }
    if (code != RP_OK)
        rp_session_close(session);
    return code;
}

rp_code rp_session_return(rp_session *session, rp_error *error) {
    return TRY(cuCtxSetCurrent(session->context), "no context");
}

void rp_session_close(rp_session *session) {
    rp_cuda *cuda = &session->cuda;

    if (!cuda->library)
        return;
    if (session->context) {
        rp_session_release(session, session->spans);
        rp_session_release(session, session->sum);
        for (int i = 0; i < RP_IMAGES; i++)
            if (session->modules[i])
                cuda->cuModuleUnload(session->modules[i]);
        for (int i = 0; i <= RP_MOST_REPEATS; i++)
            if (session->events[i])
                cuda->cuEventDestroy_v2(session->events[i]);
        if (session->stream)
            cuda->cuStreamDestroy_v2(session->stream);
        if (session->other)
            cuda->cuStreamDestroy_v2(session->other);
        cuda->cuDevicePrimaryCtxRelease_v2(session->device);
    }
    rp_nvml_close(&session->nvml);
    rp_cuda_close(cuda);
}

rp_code rp_session_function(rp_session *session, rp_image_name image, const char *name,
                            cu_function *function, rp_error *error) {
    rp_code code = RP_OK;

    if (!session->modules[image])
        code = TRY(cuModuleLoadData(&session->modules[image], rp_image_of(image).data),
                   "the kernels (%s) do not load", rp_images_built_with());
    if (code != RP_OK)
        session->modules[image] = NULL;
    return code != RP_OK ? code
                         : TRY(cuModuleGetFunction(function, session->modules[image], name),
                               "no kernel %s for this device", name);
}

rp_code rp_session_allocate(rp_session *session, size_t bytes, cu_address *address,
                            rp_error *error) {
    rp_code code = TRY(cuMemAlloc_v2(address, bytes), "%zu bytes of device memory", bytes);
    if (code != RP_OK)
        *address = 0;
    return code;
}

void rp_session_release(rp_session *session, cu_address address) {
    if (address)
        session->cuda.cuMemFree_v2(address);
}

int rp_session_occupancy(rp_session *session, cu_function function, int threads) {
    int blocks;
    return session->cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                                     0) == 0
               ? blocks
               : 0;
}

bool rp_session_stopped(const rp_session *session) {
    return session->options->stop && *session->options->stop;
}

void rp_session_progress(rp_session *session, double done, const char *what) {
    if (session->options->progress)
        session->options->progress(session->options->context, done, what);
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static rp_code preset_spans(rp_session *session, int sets, rp_error *error) {
    size_t n = (size_t)sets * RP_MOST_SMS;
    span *records = malloc(n * sizeof *records);
    rp_code code;

    if (!records)
        return rp_fail(error, RP_INTERNAL, "no memory for the cycle records");
    for (size_t i = 0; i < n; i++)
        records[i] = (span){UINT64_MAX, 0};
    code = TRY(cuMemcpyHtoD_v2(session->spans, records, n * sizeof *records), "a copy");
    free(records);
    return code;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The clock of each repeat: cycles of the SM that was busy longest over the time of the launch. */
static rp_code read_clock(rp_session *session, const double *seconds, int repeats, double *clock_hz,
                          rp_error *error) {
    size_t n = (size_t)(repeats + 1) * RP_MOST_SMS;
    span *records = malloc(n * sizeof *records);
    double clocks[RP_MOST_REPEATS];
    rp_code code;

    if (!records)
        return rp_fail(error, RP_INTERNAL, "no memory for the cycle records");
    code = TRY(cuMemcpyDtoH_v2(records, session->spans, n * sizeof *records), "a copy");
    for (int r = 0; r < repeats && code == RP_OK; r++) {
        uint64_t most = 0;
        for (int sm = 0; sm < RP_MOST_SMS; sm++) {
            span *s = &records[(size_t)(r + 1) * RP_MOST_SMS + (size_t)sm];
            if (s->last > s->first && s->last - s->first > most)
                most = s->last - s->first;
        }
        clocks[r] = most ? (double)most / seconds[r] : NAN;
    }
    free(records);
    *clock_hz = code == RP_OK && !session->calibration->emulated ? median(clocks, repeats) : NAN;
    return code;
}

static rp_code enqueue(rp_session *session, const rp_launch *l, int set, rp_error *error) {
    cu_address spans = session->spans + (cu_address)set * RP_MOST_SMS * sizeof(span);

    if (l->spans_at >= 0)
        l->parameters[l->spans_at] = &spans;
    return TRY(cuLaunchKernel(l->function, l->grid, 1, 1, l->block, 1, 1, 0, session->stream,
                              l->parameters, NULL),
               "a launch of %u x %u threads", l->grid, l->block);
}

rp_code rp_time_launch(rp_session *session, const rp_launch *launch, int repeats, rp_timing *timing,
                       rp_error *error) {
    double seconds[RP_MOST_REPEATS], sorted[RP_MOST_REPEATS];
    rp_code code = launch->spans_at >= 0 ? preset_spans(session, repeats + 1, error) : RP_OK;

    *timing = (rp_timing){NAN, NAN, NAN, repeats};
    (void)(code || (code = enqueue(session, launch, 0, error)) ||
           (code = TRY(cuEventRecord(session->events[0], session->stream), "an event")));
    for (int r = 0; r < repeats && code == RP_OK; r++)
        (void)((code = enqueue(session, launch, r + 1, error)) ||
               (code = TRY(cuEventRecord(session->events[r + 1], session->stream), "an event")));
    if (session->observe)
        session->reading = rp_nvml_read(&session->nvml);
    session->observe = false;
    (void)(code || (code = TRY(cuStreamSynchronize(session->stream), "a kernel failed")));
    for (int r = 0; r < repeats && code == RP_OK; r++) {
        float ms;
        code = TRY(cuEventElapsedTime(&ms, session->events[r], session->events[r + 1]), "a time");
        seconds[r] = sorted[r] = ms / 1e3;
    }
    if (code != RP_OK)
        return code;
    timing->seconds = median(sorted, repeats);
    timing->spread = (sorted[repeats - 1] - sorted[0]) / timing->seconds;
    return launch->spans_at >= 0 ? read_clock(session, seconds, repeats, &timing->clock_hz, error)
                                 : RP_OK;
}
