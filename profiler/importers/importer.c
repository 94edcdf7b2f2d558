/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the importer of a file by its content, and running it.
 */
#include "importers/importer.h"
#include "support/file.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* What HEAD tells of a file that nobody reads: packed by something other than gzip, or an SQLite
 * file of which a part is missing; "" nothing. */
static const char *flaw(const char *path, const unsigned char *head, size_t length) {
    static const struct {
        const char *magic, *flaw;
    } packed[] = {{"\xFD"
                   "7zXZ",
                   "; it is packed with xz: unpack it first"},
                  {"PK\x03\x04", "; it is a zip archive: unpack it first"},
                  {"\x28\xB5\x2F\xFD", "; it is packed with zstd: unpack it first"},
                  {"BZh", "; it is packed with bzip2: unpack it first"},
                  {"7z\xBC\xAF", "; it is a 7z archive: unpack it first"}};
    struct stat status;
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (length >= strlen(packed[i].magic) &&
            memcmp(head, packed[i].magic, strlen(packed[i].magic)) == 0)
            return packed[i].flaw;
    if (length < 100 || memcmp(head, "SQLite format 3", 16) != 0)
        return "";
    uint64_t page = (uint64_t)head[16] << 8 | head[17]; /* 1 stands for 65536 */
    uint64_t pages = (uint64_t)head[28] << 24 | head[29] << 16 | head[30] << 8 | head[31];
    if (stat(path, &status) == 0 && (uint64_t)status.st_size < pages * (page == 1 ? 65536 : page))
        return "; it is an SQLite database that is cut short: copy or export it again";
    return "; it is an SQLite database, but no export of Nsight Systems";
}

static rp_code not_known(const char *path, const unsigned char *head, size_t length,
                         rp_error *error) {
    if (length == 0)
        return rp_fail(error, RP_INPUT, "\"%s\" is empty; export it again", path);
    char *formats = known_formats();
    rp_code code = rp_fail(error, RP_INPUT,
                           "\"%s\" is neither a capture of roofprof nor a file of another profiler "
                           "that it can read%s%s. Those are: %s",
                           path, flaw(path, head, length), remedy(path), formats ? formats : "");
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
    if (code == RP_OK && !*importer)
        code = not_known(path, head, length, error);
    free(head);
    return code;
}

/* What wrote the files: each format once, in the order in which they came. */
static rp_code name_tools(const rp_importer *const *seen, size_t n, rp_capture *capture,
                          rp_error *error) {
    char tools[512] = "";
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(tools);
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || seen[k] == seen[i];
        if (!again)
            snprintf(tools + used, sizeof tools - used, "%s%s", used ? ", " : "", seen[i]->title);
    }
    return rp_capture_set_tool(capture, tools, error);
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
    const rp_importer **importers = calloc(n + 1, sizeof *importers);
    rp_code code = importers ? name_sources(paths, n, capture, error)
                             : rp_fail(error, RP_INTERNAL, "no memory left");
    for (size_t i = 0; code == RP_OK && i < n; i++) {
        if (rp_capture_is(paths[i]))
            code = rp_fail(error, RP_INPUT,
                           "\"%s\" is a capture of roofprof already; to join captures: roofprof "
                           "merge",
                           paths[i]);
        else
            code = rp_import_recognise(paths[i], &importers[i], error);
        if (code == RP_OK)
            code = importers[i]->import(paths[i], capture, error);
    }
    if (code == RP_OK)
        code = name_tools(importers, n, capture, error);
    free(importers);
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
