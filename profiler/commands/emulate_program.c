/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program on emulated devices; emulate.h has the contract.
 */
#include "commands/emulate.h"

#include "capture/capture.h"
#include "commands/launch.h"
#include "commands/settings.h"
#include "commands/trace_program.h"
#include "emulator/cudart/inspect.h"
#include "emulator/device/profile.h"
#include "importers/importer.h"
#include "kernels/driver.h"
#include "support/file.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PROCESSES = 4096 };

/* ---- Where things are
 * ----------------------------------------------------------------------------- */

rp_code rp_emulate_find(char folder[PATH_MAX], rp_error *error) {
    static const char *const places[] = {"../lib/emulator", "../lib/roofprof/emulator",
                                         "../lib64/roofprof/emulator",
                                         "../lib/" ROOFPROF_MULTIARCH "/roofprof/emulator"};
    const char *told = getenv("ROOFPROF_EMULATOR");
    char self[PATH_MAX], file[PATH_MAX + 32];
    if (told && *told) {
        if (!realpath(told, folder))
            return rp_fail(error, RP_MACHINE, "ROOFPROF_EMULATOR=%s: %s", told, strerror(errno));
        snprintf(file, sizeof file, "%s/libcudart.so.13", folder);
        if (access(file, R_OK))
            return rp_fail(error, RP_MACHINE, "ROOFPROF_EMULATOR=%s: no libcudart.so.13 is in it",
                           told);
        return RP_OK;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char place[2 * PATH_MAX];
        snprintf(place, sizeof place, "%s/%s", self, places[i]);
        if (!realpath(place, folder))
            continue;
        snprintf(file, sizeof file, "%s/libcudart.so.13", folder);
        if (access(file, R_OK) == 0)
            return RP_OK;
    }
    return rp_fail(error, RP_MACHINE,
                   "the emulated runtime (libcudart.so.13) is not beside %s, where "
                   "an installation or a build puts it; ROOFPROF_EMULATOR=FOLDER tells where it is",
                   self);
}

/* The file that execvp would run; false: there is none. */
static bool find_program(const char *name, char path[PATH_MAX]) {
    const char *rest = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return access(path, F_OK) == 0;
    }
    while (rest && *rest) {
        size_t n = strcspn(rest, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", (int)n, rest, name);
        if (access(path, X_OK) == 0)
            return true;
        rest += n + (rest[n] == ':');
    }
    return false;
}

/* ---- Before it runs
 * ------------------------------------------------------------------------------- */

static rp_code lowest_capability(const rp_emulate_options *options, int *cc, rp_error *error) {
    rp_hwdb *db = NULL;
    emu_profile *profiles = NULL;
    int count = 0;
    rp_code code = rp_hwdb_load(&db, options->hwdb, error);
    if (code == RP_OK)
        code = emu_profiles_parse(db, options->devices, &profiles, &count, error);
    *cc = INT_MAX;
    for (int i = 0; code == RP_OK && i < count; i++) {
        int each = profiles[i].spec.cc_major * 10 + profiles[i].spec.cc_minor;
        *cc = each < *cc ? each : *cc;
    }
    free(profiles);
    rp_hwdb_free(db);
    return code;
}

static rp_code inspect(const rp_emulate_options *options, const char *program, rp_error *error) {
    char path[PATH_MAX], message[1024];
    emu_inspection inspection;
    int cc;
    rp_code code = lowest_capability(options, &cc, error);
    if (code != RP_OK || !find_program(program, path) || !emu_inspect(path, &inspection))
        return code; /* a program that is not there says so when it is run */
    emu_verdict verdict = emu_inspect_judge(&inspection, program, cc, message, sizeof message);
    if (verdict == EMU_RUNS || verdict == EMU_UNDECIDED)
        return RP_OK;
    return rp_fail(error, RP_INPUT, "%s", message);
}

/* ---- The run
 * -------------------------------------------------------------------------------------- */

/* What the program's environment has more than ours; the values are owned. */
enum { VARIABLES = 16 };
typedef struct environment {
    rp_launch_variable list[VARIABLES];
    size_t count;
} environment;

static void set(environment *e, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Without memory the variable is left out: the program then says what it misses. */
static void set(environment *e, const char *name, const char *format, ...) {
    char *value = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&value, format, arguments) >= 0 && e->count < VARIABLES)
        e->list[e->count++] = (rp_launch_variable){name, value};
    va_end(arguments);
}

static void forget(environment *e) {
    for (size_t i = 0; i < e->count; i++)
        free((char *)(uintptr_t)e->list[i].value);
}

/* The loader takes spaces and colons of LD_PRELOAD for separators: a folder whose path has one is
 * reached by a link in the spool. */
static rp_code preloadable(char door[PATH_MAX], const char *spool, rp_error *error) {
    char link[PATH_MAX + 8];
    if (!strpbrk(door, " :"))
        return RP_OK;
    snprintf(link, sizeof link, "%s/door", spool);
    if (strpbrk(link, " :") || strlen(link) >= PATH_MAX)
        return rp_fail(
            error, RP_MACHINE,
            "the loader cannot preload from %s (a space or a colon in the path), nor from "
            "%s; set TMPDIR to a folder without either",
            door, spool);
    if (symlink(door, link))
        return rp_fail(error, RP_MACHINE, "%s cannot be made: %s", link, strerror(errno));
    memcpy(door, link, strlen(link) + 1);
    return RP_OK;
}

/* The emulated libraries that are there, after what was to be preloaded anyway: allocators and
 * sanitizers must be first. */
static void preload(environment *e, const char *door) {
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcuda.so.1",
                                        "libnvidia-ml.so.1", "libnvrtc-door.so"};
    char text[8 * PATH_MAX] = "", path[PATH_MAX + 32];
    const char *before = getenv("LD_PRELOAD");
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", door, names[i]);
        if (access(path, R_OK) == 0)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ":" : "", path);
    }
    set(e, "LD_PRELOAD", "%s%s%s", before ? before : "", before && *before ? ":" : "", text);
}

/* The tracer, loaded as on a machine with a GPU, finds the emulated CUPTI. */
static void set_tracer(environment *e, const char *tracer, const char *door, const char *spool) {
    const char *injection = getenv("CUDA_INJECTION64_PATH"),
               *nvtx = getenv("NVTX_INJECTION64_PATH");
    if (injection)
        set(e, "ROOFPROF_INJECTION_NEXT", "%s", injection);
    if (nvtx)
        set(e, "ROOFPROF_NVTX_NEXT", "%s", nvtx);
    set(e, "CUDA_INJECTION64_PATH", "%s", tracer);
    set(e, "NVTX_INJECTION64_PATH", "%s", tracer);
    set(e, "ROOFPROF_SPOOL", "%s", spool);
    set(e, "ROOFPROF_CONFIG", "%s/settings", spool);
    if (!getenv("ROOFPROF_CUPTI"))
        set(e, "ROOFPROF_CUPTI", "%s/libcupti.so.13", door);
}

static void set_environment(environment *e, const rp_emulate_options *options, const char *door,
                            const char *spool) {
    preload(e, door);
    if (options->tracer)
        set_tracer(e, options->tracer, door, spool);
    set(e, "ROOFPROF_EMU_DEVICE", "%s", options->devices);
    set(e, "ROOFPROF_EMU_COUNTS", "%s/%%h-%%p.counts", spool);
    set(e, "ROOFPROF_EMU_CACHE", "%s", options->warm ? "warm" : "cold");
    set(e, "ROOFPROF_EMU_COUNT", "%d", !options->no_counts);
    set(e, "ROOFPROF_EMU_PROGRESS", "%d", isatty(STDERR_FILENO));
    set(e, "ROOFPROF_EMU_THREADS", "%d", options->threads);
    if (options->hwdb)
        set(e, "ROOFPROF_EMU_HWDB", "%s", options->hwdb);
}

static rp_code run(const rp_emulate_options *options, const char *door, const char *spool,
                   char *const argv[], rp_emulate_result *into, rp_error *error) {
    environment e = {.count = 0};
    rp_launch_result result;
    set_environment(&e, options, door, spool);
    rp_code code = rp_launch(argv, e.list, e.count, options->streams, &result, error);
    forget(&e);
    into->exit_code = result.code;
    into->signal = result.signal;
    into->ran = code == RP_OK && result.started;
    return code != RP_OK || result.started ? code : error->code;
}

/* ---- After it ran
 * --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *name, const char *suffix) {
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

/* The files in the spool folder whose names end in SUFFIX, sorted; *count of them. NULL: no
 * memory. */
static char **list_spool(const char *spool, const char *suffix, int *count) {
    char **names = calloc(MAX_PROCESSES, sizeof *names);
    DIR *folder = opendir(spool);
    struct dirent *entry;
    *count = 0;
    while (names && folder && *count < MAX_PROCESSES && (entry = readdir(folder)) != NULL)
        if (ends_with(entry->d_name, suffix) &&
            asprintf(&names[*count], "%s/%s", spool, entry->d_name) > 0)
            ++*count;
    if (folder)
        closedir(folder);
    if (names)
        qsort(names, (size_t)*count, sizeof *names, by_name);
    return names;
}

static rp_code import_all(char *const *files, int count, const char *path, rp_error *error) {
    rp_capture *capture = NULL;
    rp_code code = rp_capture_create(&capture, path, "roofprof emulated device", error);
    for (int i = 0; code == RP_OK && i < count; i++)
        code = rp_importer_emulator.import(files[i], capture, error);
    if (code == RP_OK)
        code = rp_capture_finish(capture, error);
    if (code == RP_OK)
        rp_capture_close(capture);
    else if (capture)
        rp_capture_abandon(capture);
    return code;
}

/* COUNTS: what this run of several counts, or NULL. */
static rp_code trace_all(const char *spool, const char *path, const char *counts, rp_error *error) {
    rp_capture *capture = NULL;
    rp_ingest_summary summary = {.ask = rp_nvml_ask};
    rp_code code = rp_capture_create(&capture, path, "roofprof trace, emulated device", error);
    if (code == RP_OK)
        code = rp_trace_ingest(spool, capture, &summary, error);
    if (code == RP_OK && summary.launches == 0)
        fprintf(stderr, "roofprof: no kernel was traced%s%s%s%s\n",
                counts ? " in the run that counts " : "", counts ? counts : "",
                *summary.problem ? ": " : "", summary.problem);
    if (code == RP_OK)
        code = rp_capture_finish(capture, error);
    if (code == RP_OK)
        rp_capture_close(capture);
    else if (capture)
        rp_capture_abandon(capture);
    return code;
}

static void free_files(char **files, int count) {
    for (int i = 0; files && i < count; i++)
        free(files[i]);
    free(files);
}

/* With a tracer: its spools become the capture, and the device's counts another. */
static rp_code make_captures(const rp_emulate_options *options, const char *spool, char **counts,
                             int count, rp_emulate_result *result, rp_error *error) {
    if (!options->tracer)
        return import_all(counts, count, result->capture, error);
    rp_code code = trace_all(spool, result->capture,
                             options->settings ? options->settings->configuration : NULL, error);
    if (code != RP_OK || !options->counts)
        return code;
    code = import_all(counts, count, options->counts, error);
    result->counts = code == RP_OK;
    return code;
}

static rp_code collect(const rp_emulate_options *options, const char *spool,
                       rp_emulate_result *result, rp_error *error) {
    int count = 0;
    char **files = list_spool(spool, ".counts", &count);
    rp_code code = files ? RP_OK : rp_fail(error, RP_INTERNAL, "no memory");
    result->processes = count;
    if (code == RP_OK && count > 0) {
        result->capture = strdup(options->capture);
        code = result->capture ? make_captures(options, spool, files, count, result, error)
                               : rp_fail(error, RP_INTERNAL, "no memory");
    }
    free_files(files, count);
    if (code == RP_OK)
        rp_finish_remove(spool);
    else
        rp_error_prefix(error, "what the program did is kept in %s", spool);
    return code;
}

static rp_code make_spool(char spool[PATH_MAX], rp_error *error) {
    const char *folder = getenv("TMPDIR");
    snprintf(spool, PATH_MAX, "%s/roofprof-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(spool))
        return rp_fail(error, RP_INTERNAL, "%s cannot be made: %s", spool, strerror(errno));
    return RP_OK;
}

/* The settings' path (free); NULL without a tracer, or with CODE not RP_OK. */
static char *write_settings(const rp_emulate_options *options, const char *spool, rp_code *code,
                            rp_error *error) {
    if (!options->tracer || !options->settings)
        return NULL;
    rp_trace_settings wanted = *options->settings;
    char *probe = rp_trace_find_probe(options->tracer);
    wanted.probe = probe;
    wanted.virtual_clock = true;
    char *path = rp_trace_settings_write(&wanted, spool, error);
    free(probe);
    *code = path ? RP_OK : error->code;
    return path;
}

rp_code rp_emulate_program(const rp_emulate_options *options, char *const argv[],
                           rp_emulate_result *result, rp_error *error) {
    char door[PATH_MAX], spool[PATH_MAX];
    *result = (rp_emulate_result){.exit_code = RP_INTERNAL};
    rp_code code = rp_emulate_find(door, error);
    if (code == RP_OK)
        code = inspect(options, argv[0], error);
    if (code == RP_OK)
        code = make_spool(spool, error);
    if (code != RP_OK)
        return code;
    code = preloadable(door, spool, error);
    char *settings = code == RP_OK ? write_settings(options, spool, &code, error) : NULL;
    if (code == RP_OK)
        code = run(options, door, spool, argv, result, error);
    free(settings);
    if (code != RP_OK) {
        rp_finish_remove(spool);
        return code;
    }
    return collect(options, spool, result, error);
}

rp_code rp_emulate_list(const char *hwdb, rp_error *error) {
    rp_hwdb *db = NULL;
    rp_code code = rp_hwdb_load(&db, hwdb, error);
    if (code != RP_OK)
        return code;
    printf("%-24s %-5s %4s %11s %9s  %s\n", "device", "arch", "SMs", "memory", "L2", "shown as");
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        emu_profile profile;
        const char *why;
        if (!emu_profile_fill(db, rp_hwdb_at(db, i), &profile, &why))
            continue;
        const emu_device_spec *s = &profile.spec;
        printf("%-24s sm_%d%d %4d %7.1f GiB %5.1f MiB  %s\n", profile.database_name, s->cc_major,
               s->cc_minor, s->sm_count, (double)s->memory_bytes / (1 << 30),
               (double)s->l2_bytes / (1 << 20), s->name);
    }
    rp_hwdb_free(db);
    return RP_OK;
}
