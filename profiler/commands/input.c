/* SPDX-License-Identifier: Apache-2.0
 *
 * From file names to a report; see input.h.
 */
#include "commands/input.h"

#include "commands/options.h"
#include "importers/importer.h"
#include "support/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_LIMIT (16 << 20) /* bytes of a --work file */

bool rp_input_set_option(rp_input_options *input, const rp_options *options, const char *name) {
    const struct {
        const char *name, **text;
    } texts[] = {{"kernel", &input->filter.kernel_glob},
                 {"kernel-regex", &input->filter.kernel_regex},
                 {"range", &input->filter.range_glob},
                 {"device", &input->device},
                 {"work", &input->work},
                 {"hwdb", &input->hwdb}};
    const struct {
        const char *name;
        int64_t least, most, *value;
    } numbers[] = {{"gpu", 0, 1 << 20, &input->filter.device},
                   {"skip", 0, INT64_MAX, &input->filter.first},
                   {"count", 1, INT64_MAX, &input->filter.count}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(name, texts[i].name)) {
            *texts[i].text = options->value;
            return true;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i].name))
            return rp_options_integer(options, name, numbers[i].least, numbers[i].most,
                                      numbers[i].value);
    input->sparse |= strcmp(name, "sparse") == 0;
    return true;
}

/* The whole of a small text file; NULL with ERROR filled. */
static char *read_text(const char *path, rp_error *error) {
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(WORK_LIMIT + 1) : NULL;
    size_t length = text ? fread(text, 1, WORK_LIMIT + 1, file) : 0;
    bool bad = !file || !text || ferror(file);
    int reason = errno;
    if (file)
        fclose(file);
    if (bad)
        rp_fail(error, RP_INPUT, "cannot read '%s': %s", path, strerror(reason));
    else if (length > WORK_LIMIT)
        rp_fail(error, RP_INPUT, "'%s' is larger than %d MiB: that is no --work file", path,
                WORK_LIMIT >> 20);
    else if (memchr(text, '\0', length))
        rp_fail(error, RP_INPUT, "'%s' holds a NUL byte: that is no text", path);
    else {
        text[length] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

static rp_code load_work(rp_input *input, const char *path, rp_error *error) {
    if (!path)
        return RP_OK;
    char *text = read_text(path, error);
    if (!text)
        return error->code;
    rp_code code = rp_work_parse(path, text, &input->work, &input->work_count, error);
    free(text);
    return code;
}

/* Foreign files of one run belong into one capture; ready captures stay apart. */
static bool all_foreign(const rp_input_options *options) {
    for (size_t i = 0; i < options->file_count; i++)
        if (rp_capture_is(options->files[i]))
            return false;
    return true;
}

static rp_code open_together(const rp_input_options *options, rp_capture **capture,
                             rp_error *error) {
    rp_code code = rp_capture_create(capture, NULL, "import", error);
    if (code != RP_OK)
        return code;
    code = rp_import(options->files, options->file_count, *capture, error);
    if (code == RP_OK)
        code = rp_capture_finish(*capture, error);
    if (code != RP_OK)
        rp_capture_abandon(*capture);
    return code;
}

static rp_code load(rp_capture *capture, const rp_input_options *options, rp_group_by by,
                    rp_profile *profile, rp_error *error) {
    const rp_filter none = RP_FILTER_INIT;
    bool filtered = memcmp(&none, &options->filter, sizeof none) != 0;
    rp_code code = rp_capture_load(capture, filtered ? &options->filter : NULL, by, profile, error);
    rp_capture_close(capture);
    return code;
}

static rp_code load_each(rp_input *input, const rp_input_options *options, rp_group_by by,
                         rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < options->file_count && code == RP_OK; i++) {
        rp_capture *capture;
        rp_profile one = {0};
        code = rp_open_any(options->files[i], &capture, error);
        if (code == RP_OK)
            code = load(capture, options, by, i ? &one : &input->profile, error);
        if (code == RP_OK && i)
            code = rp_profile_join(&input->profile, &one, error);
        rp_profile_free(&one);
    }
    return code;
}

static rp_code load_profile(rp_input *input, const rp_input_options *options, rp_group_by by,
                            rp_error *error) {
    rp_capture *capture;
    if (options->file_count < 2 || !all_foreign(options))
        return load_each(input, options, by, error);
    rp_code code = open_together(options, &capture, error);
    return code == RP_OK ? load(capture, options, by, &input->profile, error) : code;
}

/* What "A100" was taken as decides every verdict: it is said. A wrong name fails in the analysis.
 */
static void say_taken(const rp_input *input, const rp_input_options *options) {
    const rp_device *device, *const *others;
    if (options->device && options->command &&
        rp_hwdb_find(input->hwdb, options->device, &device, &others, NULL) == RP_OK)
        rp_options_say_taken(options->command, options->device, device, others);
}

static rp_code check_kept(const rp_input *input, const rp_input_options *options, rp_error *error) {
    if (input->profile.group_count > 0)
        return RP_OK;
    if (input->profile.launches_total > 0)
        return rp_fail(error, RP_INPUT,
                       "none of the %llu launches passes the filter; 'roofprof report %s' without "
                       "filters shows what there is",
                       (unsigned long long)input->profile.launches_total, options->files[0]);
    return rp_fail(error, RP_INPUT, "%s holds no kernel: none was launched, or none was seen",
                   options->files[0]);
}

rp_code rp_input_open(rp_input *input, const rp_input_options *options, rp_error *error) {
    memset(input, 0, sizeof *input);
    const char *repeated = rp_file_repeated(options->files, options->file_count);
    if (repeated)
        return rp_fail(error, RP_INPUT, "\"%s\" is given twice: its launches would count twice",
                       repeated);
    rp_code code = load_work(input, options->work, error);
    if (code == RP_OK)
        code = rp_hwdb_load(&input->hwdb, options->hwdb, error);
    /* only a config has a shape to compute with */
    bool merge = code == RP_OK && options->by == RP_BY_KERNEL &&
                 rp_work_needs_shape(input->work, input->work_count);
    if (code == RP_OK)
        code = load_profile(input, options, merge ? RP_BY_CONFIG : options->by, error);
    if (code == RP_OK)
        code = check_kept(input, options, error);
    if (code == RP_OK)
        say_taken(input, options);
    if (code == RP_OK) {
        rp_analysis_options analysis = {.device_name = options->device,
                                        .sparse = options->sparse,
                                        .work = input->work,
                                        .work_count = input->work_count,
                                        .work_file = options->work,
                                        .merge_configs = merge,
                                        .model_flops = options->model_flops};
        code = rp_analyse(&input->profile, input->hwdb, &analysis, &input->report, error);
    }
    if (code != RP_OK)
        rp_input_close(input);
    return code;
}

void rp_input_close(rp_input *input) {
    rp_report_free(&input->report);
    rp_profile_free(&input->profile);
    rp_work_free(input->work, input->work_count);
    rp_hwdb_free(input->hwdb);
    memset(input, 0, sizeof *input);
}
