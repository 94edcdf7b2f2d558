/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer_bench RECORDS FOLDER: what the tracer's own code costs for a kernel record, from CUPTI's
 * full buffer to the spool in FOLDER. Prints "NANOSECONDS BYTES" for a record, then the spool's
 * path. Records are those of 200 configs of 50 kernels, as CUDA 12 lays them out.
 */
#include "tracer/activity.h"
#include "tracer/nvtx.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { RECORD = 208, KERNELS = 50, CONFIGS = 200, BUFFER_RECORDS = 20000 };

static char names[KERNELS][96];

static cupti_result next_record(uint8_t *buffer, size_t valid, record_head **record) {
    uint8_t *next = *record ? (uint8_t *)*record + RECORD : buffer;
    if (next >= buffer + valid)
        return CUPTI_LIMIT_REACHED;
    *record = (record_head *)(void *)next;
    return CUPTI_OK;
}

static cupti_result register_callbacks(cupti_buffer_requested r, cupti_buffer_completed c) {
    (void)r, (void)c;
    return CUPTI_OK;
}

static cupti_result enable(int kind) {
    (void)kind;
    return CUPTI_OK;
}

bool nvtx_selected(void) {
    return true;
}

/* Fills BUFFER as the device would: streams, configs and times of one record after another. */
static size_t fill(uint8_t *buffer, uint64_t *number) {
    for (size_t i = 0; i < BUFFER_RECORDS; i++) {
        uint64_t n = (*number)++;
        record_kernel r = {.kind = KIND_CONCURRENT_KERNEL,
                           .registers = 64,
                           .start = 1000000000 + n * 5000,
                           .end = 1000000000 + n * 5000 + 3000 + n % 977,
                           .context = 1,
                           .stream = (uint32_t)(7 + n % 4),
                           .grid = {(int32_t)(1 + n % CONFIGS), 4, 1},
                           .block = {256, 1, 1},
                           .correlation = (uint32_t)n,
                           .name = names[n % KERNELS]};
        memset(buffer + i * RECORD, 0, RECORD);
        memcpy(buffer + i * RECORD, &r, sizeof r);
    }
    return (size_t)BUFFER_RECORDS * RECORD;
}

int main(int argc, char **argv) {
    static const cupti_api api = {.ActivityGetNextRecord = next_record,
                                  .ActivityRegisterCallbacks = register_callbacks,
                                  .ActivityEnable = enable};
    tracer_settings settings;
    uint64_t wanted = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, number = 0;
    int64_t spent = 0;
    struct stat status;
    if (!wanted || writer_open(argv[2], "tracer_bench", -1)) {
        fputs("usage: tracer_bench RECORDS FOLDER\n", stderr);
        return 2;
    }
    settings_read(&settings, NULL);
    select_start(&settings);
    activity_start(&api, 26);
    for (int i = 0; i < KERNELS; i++)
        snprintf(names[i], sizeof names[i],
                 "_ZN2at6native29vectorized_elementwise_kernel%dILi4EEEviT0_T1_", i);
    while (number < wanted) {
        uint8_t *buffer;
        size_t size, limit;
        activity_buffer_requested(&buffer, &size, &limit);
        size_t valid = fill(buffer, &number);
        int64_t began = writer_now(CLOCK_THREAD_CPUTIME_ID);
        activity_buffer_completed(NULL, 0, buffer, size, valid);
        spent += writer_now(CLOCK_THREAD_CPUTIME_ID) - began;
    }
    int64_t began = writer_now(CLOCK_THREAD_CPUTIME_ID);
    writer_close();
    spent += writer_now(CLOCK_THREAD_CPUTIME_ID) - began;
    if (writer_error() || stat(writer_path(), &status))
        return 1;
    printf("%.1f %.1f\n%s\n", (double)spent / (double)number,
           (double)status.st_size / (double)number, writer_path());
    return 0;
}
