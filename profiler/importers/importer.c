/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the importer of a file by its content, and running it.
 */
#include "importers/importer.h"
#include "support/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const rp_importer *const rp_importers[] = {
    &rp_importer_ncu_csv, &rp_importer_ncu_rep, &rp_importer_nsys,     &rp_importer_kineto,
    &rp_importer_nvprof,  &rp_importer_rocprof, &rp_importer_emulator, NULL};

enum { HEAD = 64 * 1024 };

/* "Nsight Compute CSV, Nsight Systems SQLite and Kineto trace", in memory of its own. */
static char *known_formats(void) {
    char *list = NULL;
    size_t size;
    FILE *out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; rp_importers[i]; i++)
        fprintf(out, "%s%s",
                i == 0                ? ""
                : rp_importers[i + 1] ? ", "
                                      : " and ",
                rp_importers[i]->title);
    if (fclose(out) == 0)
        return list;
    free(list);
    return NULL;
}

/* Files that people have, known by their ending alone, and what their maker turns them into. */
static const char *remedy(const char *path) {
    static const struct {
        const char *ending, *remedy;
    } known[] = {
        {".nsys-rep",
         "; for an Nsight Systems report: nsys export --type sqlite FILE, and read that"},
        {".qdrep", "; for an Nsight Systems report: nsys export --type sqlite FILE, and read that"},
        {".nvvp",
         "; for a file of nvprof -o: nvprof -i FILE --csv --print-gpu-trace, and read that"},
        {".nvprof",
         "; for a file of nvprof -o: nvprof -i FILE --csv --print-gpu-trace, and read that"},
    };
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t ending = strlen(known[i].ending);
        if (length > ending && strcmp(path + length - ending, known[i].ending) == 0)
            return known[i].remedy;
    }
    return "";
}

static rp_code not_known(const char *path, size_t length, rp_error *error) {
    if (length == 0)
        return rp_fail(error, RP_INPUT, "\"%s\" is empty; export it again", path);
    char *formats = known_formats();
    rp_code code = rp_fail(error, RP_INPUT,
                           "\"%s\" is neither a capture of roofprof nor a file of another profiler "
                           "that it can read%s. Those are: %s",
                           path, remedy(path), formats ? formats : "");
    free(formats);
    return code;
}

rp_code rp_import_recognise(const char *path, const rp_importer **importer, rp_error *error) {
    *importer = NULL;
    size_t length = HEAD;
    unsigned char *head = malloc(HEAD);
    if (!head)
        return rp_fail(error, RP_INTERNAL, "no memory left");
    rp_code code = rp_file_head(path, head, &length, error);
    int best = 0;
    for (size_t i = 0; code == RP_OK && rp_importers[i]; i++) {
        int sure = length ? rp_importers[i]->recognise(path, head, length) : 0;
        if (sure > best) {
            best = sure;
            *importer = rp_importers[i];
        }
    }
    free(head);
    return code != RP_OK || *importer ? code : not_known(path, length, error);
}

/* The names of the files, as the reports' source. */
static rp_code name_sources(const char *const *paths, size_t n, rp_capture *capture,
                            rp_error *error) {
    char *names = NULL;
    size_t size;
    FILE *out = open_memstream(&names, &size);
    if (!out)
        return rp_fail(error, RP_INTERNAL, "no memory left");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s", i ? ", " : "", paths[i]);
    rp_code code = fclose(out) == 0 ? rp_capture_set_source(capture, names, error)
                                    : rp_fail(error, RP_INTERNAL, "no memory left");
    free(names);
    return code;
}

rp_code rp_import(const char *const *paths, size_t n, rp_capture *capture, rp_error *error) {
    const char *repeated = rp_file_repeated(paths, n);
    if (repeated)
        return rp_fail(error, RP_INPUT, "\"%s\" is given twice: its launches would count twice",
                       repeated);
    rp_code code = name_sources(paths, n, capture, error);
    for (size_t i = 0; code == RP_OK && i < n; i++) {
        const rp_importer *importer;
        if (rp_capture_is(paths[i]))
            return rp_fail(error, RP_INPUT,
                           "\"%s\" is a capture of roofprof already; to join captures: roofprof "
                           "merge",
                           paths[i]);
        code = rp_import_recognise(paths[i], &importer, error);
        if (code == RP_OK)
            code = rp_capture_set_tool(capture, importer->title, error);
        if (code == RP_OK)
            code = importer->import(paths[i], capture, error);
    }
    if (code == RP_OK && rp_capture_launch_count(capture) == 0)
        code = rp_fail(error, RP_INPUT, "there is no kernel in \"%s\"%s", paths[0],
                       n > 1 ? " and the other files" : "");
    return code;
}

rp_code rp_open_any(const char *path, rp_capture **capture, rp_error *error) {
    *capture = NULL;
    if (rp_capture_is(path))
        return rp_capture_open(capture, path, error);
    const rp_importer *importer;
    rp_code code = rp_import_recognise(path, &importer, error);
    if (code != RP_OK)
        return code;
    rp_capture *made = NULL;
    code = rp_capture_create(&made, NULL, importer->title, error);
    if (code == RP_OK)
        code = rp_import(&path, 1, made, error);
    if (code == RP_OK)
        code = rp_capture_finish(made, error);
    if (code == RP_OK) {
        *capture = made;
        return RP_OK;
    }
    rp_capture_abandon(made);
    return code;
}
