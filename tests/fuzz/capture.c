/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture with changed bytes: it may be refused, and must not crash, leak or hang whoever reads
 * it. The input is a list of changes to a sound capture, four bytes each: where (three bytes), and
 * what is flipped there. So no seed goes stale when the schema changes.
 */
#include "capture/capture.h"
#include "input.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t *sound;
static size_t sound_size;

static void must(bool condition) {
    if (!condition)
        abort();
}

static void fill(rp_capture *capture) {
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_config_record config = {.name = "void a<int>(int)", .name_length = 16, .has_shape = true};
    int64_t id;
    device.name = "GPU";
    must(rp_capture_add_device(capture, &device, &launch.device, NULL) == RP_OK);
    must(rp_capture_add_range(capture, -1, "step", 0, 9, &launch.range, NULL) == RP_OK);
    for (int i = 0; i < 40; i++) {
        config.grid[0] = 1 + (uint32_t)i % 3;
        must(rp_capture_add_config(capture, &config, &launch.config, NULL) == RP_OK);
        launch.start_ns = 1 + 100 * i;
        launch.end_ns = launch.start_ns + 50;
        must(rp_capture_add_launch(capture, &launch, &id, NULL) == RP_OK);
        must(rp_capture_add_quantity(capture, id, RP_Q_DRAM_BYTES, i, RP_COUNTED, NULL) == RP_OK);
    }
    must(rp_capture_add_note(capture, "info", NULL, "a note") == RP_OK);
}

static void make_sound(void) {
    const char *path = input_file((const uint8_t *)"", 0);
    rp_capture *capture;
    must(rp_capture_create(&capture, path, "fuzz", NULL) == RP_OK);
    fill(capture);
    must(rp_capture_finish(capture, NULL) == RP_OK);
    rp_capture_close(capture);
    FILE *file = fopen(path, "rb");
    must(file && fseek(file, 0, SEEK_END) == 0);
    sound_size = (size_t)ftell(file);
    rewind(file);
    sound = malloc(sound_size);
    must(sound && fread(sound, 1, sound_size, file) == sound_size);
    fclose(file);
}

static rp_code read_all(rp_capture *capture, rp_error *error) {
    rp_filter filter = RP_FILTER_INIT;
    filter.range_glob = "st*";
    rp_code code = RP_OK;
    for (int by = RP_BY_KERNEL; by <= RP_BY_RANGE && code == RP_OK; by++) {
        rp_profile profile;
        code = rp_capture_load(capture, by == RP_BY_CONFIG ? &filter : NULL, (rp_group_by)by,
                               &profile, error);
        if (code == RP_OK)
            rp_profile_free(&profile);
    }
    return code;
}

static rp_code copy_all(rp_capture *capture, rp_error *error) {
    rp_capture *into;
    rp_code code = rp_capture_create(&into, NULL, "fuzz", error);
    if (code == RP_OK)
        code = rp_capture_join(&capture, 1, into, error);
    if (code == RP_OK)
        code = rp_capture_finish(into, error);
    rp_capture_close(into);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!sound)
        make_sound();
    uint8_t *changed = malloc(sound_size);
    must(changed != NULL);
    memcpy(changed, sound, sound_size);
    for (; size >= 4; data += 4, size -= 4)
        changed[((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % sound_size] ^= data[3];
    const char *path = input_file(changed, sound_size);
    rp_capture *capture;
    rp_error error = {0};
    rp_code code = rp_capture_open(&capture, path, &error);
    if (code == RP_OK) {
        code = read_all(capture, &error);
        if (code == RP_OK)
            code = copy_all(capture, &error);
        rp_capture_close(capture);
    }
    must(code == RP_OK || (code == RP_INPUT && error.message[0]));
    free(changed);
    return 0;
}
