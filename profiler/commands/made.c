/* SPDX-License-Identifier: Apache-2.0
 *
 * What import and merge print of the capture that they made.
 */
#include "commands/made.h"

#include "output/json.h"
#include "support/text.h"
#include "support/units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Distinct names, whatever the device. */
static size_t count_kernels(const rp_profile *profile) {
    size_t kernels = 0;
    for (size_t i = 0; i < profile->group_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen && profile->device_count > 1; k++)
            seen = strcmp(profile->groups[i].name, profile->groups[k].name) == 0;
        kernels += !seen;
    }
    return kernels;
}

/* Reports say it themselves, unless --device was given; who imports should know it now. */
static void say_nameless(const rp_profile *profile) {
    for (size_t i = 0; i < profile->device_count; i++) {
        const rp_profile_device *device = &profile->devices[i];
        if (!(device->name && *device->name) && !(device->pci_id && *device->pci_id))
            printf("warning: device %zu has no name there: give it with --device in reports and "
                   "plots (the compute capability alone does not tell the memory bandwidth)\n",
                   i);
    }
}

static void print_text(const char *path, const rp_profile *profile) {
    char launches[40];
    size_t kernels = count_kernels(profile), devices = profile->device_count;
    rp_format_count(launches, sizeof launches, profile->launches_total);
    printf("%s: %s %s of %zu %s on %zu %s, from %s\n", path, launches,
           profile->launches_total == 1 ? "launch" : "launches", kernels,
           kernels == 1 ? "kernel" : "kernels", devices, devices == 1 ? "device" : "devices",
           profile->tool ? profile->tool : "an unknown tool");
    for (size_t i = 0; i < profile->note_count; i++) {
        const rp_profile_note *note = &profile->notes[i];
        char *text = rp_text_printable(note->text, strlen(note->text));
        printf("%s: %s\n", note->severity, text ? text : "");
        free(text);
    }
    say_nameless(profile);
}

static void print_json(const char *path, const rp_profile *profile) {
    rp_json json;
    rp_json_start(&json, stdout);
    rp_json_object(&json, NULL);
    rp_json_string(&json, "schema", "roofprof.capture/1");
    rp_json_string(&json, "capture", path);
    rp_json_string(&json, "source", profile->source);
    rp_json_string(&json, "tool", profile->tool);
    rp_json_count(&json, "launches", profile->launches_total);
    rp_json_count(&json, "launches_invalid", profile->launches_invalid);
    rp_json_count(&json, "kernels", count_kernels(profile));
    rp_json_array(&json, "devices");
    for (size_t i = 0; i < profile->device_count; i++)
        rp_json_string(&json, NULL, profile->devices[i].name);
    rp_json_close(&json);
    rp_json_array(&json, "notes");
    for (size_t i = 0; i < profile->note_count; i++) {
        rp_json_object(&json, NULL);
        rp_json_string(&json, "severity", profile->notes[i].severity);
        rp_json_string(&json, "text", profile->notes[i].text);
        rp_json_close(&json);
    }
    rp_json_close(&json);
    rp_json_close(&json);
}

rp_code rp_made_print(const char *path, const rp_profile *profile, bool json, rp_error *error) {
    json ? print_json(path, profile) : print_text(path, profile);
    if (fflush(stdout) != 0)
        return rp_fail(error, RP_INTERNAL, "cannot write to standard output");
    return RP_OK;
}
