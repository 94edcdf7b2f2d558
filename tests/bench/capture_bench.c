/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast a large capture is written and read. `capture_bench make N FILE` writes N launches of a
 * program like a training loop (400 configs, 8 streams, nested ranges, a counted launch in a
 * thousand); `capture_bench load FILE all|kernel|window|range` reads it back as a report would.
 * Each prints one line: what, seconds, peak memory. Run as separate processes by scripts/bench.sh.
 */
#include "capture/capture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { KERNELS = 100, SHAPES = 4, STREAMS = 8, COUNTED_EVERY = 1000, STEP = 2000 };

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int fail(const rp_error *error) {
    fprintf(stderr, "capture_bench: %s\n", error->message);
    return error->code;
}

static void say(const char *what, double started_s, double items) {
    struct rusage usage;
    double seconds = now_s() - started_s;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-14s %7.2f s  %6.1f MiB", what, seconds, (double)usage.ru_maxrss / 1024);
    if (items > 0)
        printf("  %.2f M/s", items / seconds / 1e6);
    putchar('\n');
}

static rp_code add_configs(rp_capture *capture, int64_t *configs, rp_error *error) {
    rp_code code = RP_OK;
    for (int i = 0; code == RP_OK && i < KERNELS * SHAPES; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "void layer%d::gemm_kernel<%d>(float*)",
                              i / SHAPES, i / SHAPES);
        rp_config_record config = {.name = name,
                                   .name_length = (size_t)length,
                                   .has_shape = true,
                                   .grid = {(uint32_t)(i % SHAPES + 1) * 64, 1, 1},
                                   .block = {256, 1, 1},
                                   .registers = 64,
                                   .shared_static = 0,
                                   .shared_dynamic = 49152};
        code = rp_capture_add_config(capture, &config, &configs[i], error);
    }
    return code;
}

static const char *const metric_names[] = {"dram__bytes_read.sum",
                                           "dram__bytes_write.sum",
                                           "lts__t_bytes.sum",
                                           "sm__cycles_elapsed.max",
                                           "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                                           "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                                           "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"};
enum { METRICS = sizeof metric_names / sizeof *metric_names };

static rp_code count(rp_capture *capture, int64_t launch, const int64_t *metrics, rp_error *error) {
    rp_code code = RP_OK;
    for (int m = 0; code == RP_OK && m < METRICS; m++)
        code = rp_capture_add_counter(capture, launch, metrics[m], 1e6 + (double)(launch + m),
                                      RP_COUNTED, error);
    return code;
}

/* One launch after the other, streams overlapping, a range for each STEP of them. */
static rp_code add_launches(rp_capture *capture, long n, rp_error *error) {
    int64_t configs[KERNELS * SHAPES], metrics[METRICS], device, process, range = -1, id;
    rp_device_record gpu = RP_DEVICE_RECORD_INIT;
    rp_process_record program = {.pid = 4711, .rank = -1, .name = "train", .host = "node"};
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.chip = "GH100";
    gpu.ordinal = 0;
    rp_code code = rp_capture_add_device(capture, &gpu, &device, error);
    if (code == RP_OK)
        code = rp_capture_add_process(capture, &program, &process, error);
    if (code == RP_OK)
        code = add_configs(capture, configs, error);
    for (int m = 0; code == RP_OK && m < METRICS; m++)
        code = rp_capture_metric(capture, metric_names[m], "", &metrics[m], error);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.device = device;
    launch.process = process;
    launch.time_provenance = RP_MEASURED;
    launch.cache = RP_CACHE_NATURAL;
    int64_t clock_ns = 1700000000000000000;
    for (long i = 0; code == RP_OK && i < n; i++) {
        if (i % STEP == 0)
            code = rp_capture_add_range(capture, -1, i / STEP % 2 ? "validate" : "train", clock_ns,
                                        clock_ns + STEP, &range, error);
        launch.config = configs[(unsigned long)i * 2654435761U % (KERNELS * SHAPES)];
        launch.stream = 7 + i % STREAMS;
        launch.context = 1;
        launch.correlation = 1000 + 3 * i;
        launch.range = range;
        launch.start_ns = clock_ns + i % STREAMS * 100;
        launch.end_ns = launch.start_ns + 4000 + i % 977;
        clock_ns += i % STREAMS == STREAMS - 1 ? 6000 : 200;
        if (code == RP_OK)
            code = rp_capture_add_launch(capture, &launch, &id, error);
        if (code == RP_OK && i % COUNTED_EVERY == 0)
            code = count(capture, id, metrics, error);
    }
    return code;
}

static int make(long n, const char *path) {
    rp_error error;
    rp_capture *capture;
    double started_s = now_s();
    rp_code code = rp_capture_create(&capture, path, "capture_bench", &error);
    if (code != RP_OK)
        return fail(&error);
    code = add_launches(capture, n, &error);
    if (code == RP_OK)
        say("added", started_s, (double)n);
    if (code == RP_OK)
        code = rp_capture_finish(capture, &error);
    if (code == RP_OK)
        say("finished", started_s, (double)n);
    rp_capture_close(capture);
    return code == RP_OK ? 0 : fail(&error);
}

static int load(const char *path, const char *how) {
    rp_error error;
    rp_capture *capture;
    rp_profile profile;
    rp_filter filter = RP_FILTER_INIT;
    if (strcmp(how, "kernel") == 0)
        filter.kernel_glob = "*layer1*";
    else if (strcmp(how, "window") == 0)
        filter.first = 1;
    else if (strcmp(how, "range") == 0)
        filter.range_glob = "train";
    double started_s = now_s();
    rp_code code = rp_capture_open(&capture, path, &error);
    if (code != RP_OK)
        return fail(&error);
    code = rp_capture_load(capture, &filter, RP_BY_KERNEL, &profile, &error);
    rp_capture_close(capture);
    if (code != RP_OK)
        return fail(&error);
    say(how, started_s, 0);
    int wrong = profile.group_count == 0 || profile.launches_kept == 0;
    rp_profile_free(&profile);
    return wrong;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make(atol(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "load") == 0)
        return load(argv[2], argv[3]);
    fprintf(stderr, "usage: capture_bench make N FILE | load FILE all|kernel|window|range\n");
    return 2;
}
