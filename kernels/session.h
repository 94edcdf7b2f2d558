/* SPDX-License-Identifier: Apache-2.0
 *
 * A device held for measuring: context, modules, stream, events, and the timing of launches. Inside
 * of kernels/ only.
 */
#ifndef RP_KERNELS_SESSION_H
#define RP_KERNELS_SESSION_H

#include "kernels/calibration.h"
#include "kernels/driver.h"
#include "kernels/paths.h"

enum { RP_MOST_REPEATS = 15, RP_MOST_SMS = 1024 };

typedef struct rp_session {
    rp_cuda cuda;
    rp_nvml nvml;
    cu_device device;
    cu_context context;
    cu_stream stream, other;
    cu_module modules[RP_IMAGES];
    cu_event events[RP_MOST_REPEATS + 1];
    cu_address spans; /* RP_MOST_REPEATS + 1 sets of RP_MOST_SMS records */
    cu_address sum;   /* 8 bytes of result */
    int sms, cc;      /* cc: 90 = 9.0 */
    /* rp_time_launch reads NVML while its launches run, when this is set, and clears it: a reading
     * takes longer than most launches. */
    bool observe;
    rp_reading reading;
    const rp_calibrate_options *options;
    rp_calibration *calibration;
} rp_session;

/* One kind of launch. PARAMETERS as cuLaunchKernel takes them; the one at SPANS_AT is set by
 * rp_time_launch (-1: none). */
typedef struct rp_launch {
    cu_function function;
    unsigned grid, block;
    void **parameters;
    int spans_at;
} rp_launch;

typedef struct rp_timing {
    double seconds;  /* median */
    double spread;   /* (max - min) / median */
    double clock_hz; /* cycles of the SM that was busy longest / time, median; NaN */
    int repeats;
} rp_timing;

/* DB (may be NULL) to find the device in. */
rp_code rp_session_open(rp_session *session, const rp_hwdb *db, const rp_calibrate_options *options,
                        rp_calibration *calibration, rp_error *error);
void rp_session_close(rp_session *session);

/* The function NAME of IMAGE; RP_MACHINE if the device's image has none. */
rp_code rp_session_function(rp_session *session, rp_image_name image, const char *name,
                            cu_function *function, rp_error *error);

/* Runs LAUNCH once untimed and REPEATS times between events, all queued at once, so that no time of
 * the host is in between. */
rp_code rp_time_launch(rp_session *session, const rp_launch *launch, int repeats, rp_timing *timing,
                       rp_error *error);

/* Blocks of THREADS that one SM holds. */
int rp_session_occupancy(rp_session *session, cu_function function, int threads);

rp_code rp_session_allocate(rp_session *session, size_t bytes, cu_address *address,
                            rp_error *error);
void rp_session_release(rp_session *session, cu_address address);

bool rp_session_stopped(const rp_session *session);
void rp_session_progress(rp_session *session, double done, const char *what);

/* Makes the session's own context current again, after another device's was. */
rp_code rp_session_return(rp_session *session, rp_error *error);

/* The parts of a device's calibration; each adds its results. What has no kernel, no memory, or
 * gives a wrong result says so in its result: only a want of the host's memory is an error. */
rp_code rp_measure_compute(rp_session *session, rp_error *error);
rp_code rp_measure_memory(rp_session *session, rp_error *error);
rp_code rp_measure_onchip(rp_session *session, rp_error *error);
rp_code rp_measure_latency(rp_session *session, rp_error *error);
rp_code rp_measure_copies(rp_session *session, rp_error *error);
rp_code rp_measure_sweep(rp_session *session, rp_error *error);

#endif
