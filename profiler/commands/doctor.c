/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof doctor: what works on this machine, and what to do about the rest. Every check is read
 * only; what may crash or hang (the driver, counters) is asked in a child with a time limit.
 */
#include "commands/commands.h"

#include "commands/emulate.h"
#include "commands/finish.h"
#include "commands/options.h"
#include "commands/settings.h"
#include "commands/trace_program.h"
#include "hwdb/hwdb.h"
#include "output/document.h"
#include "output/table.h"
#include "support/cupti_result.h"
#include "tracer/bind.h"
#include "tracer/host.h"
#include "tracer/probe_run.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum option { FORMAT, HWDB };

static const rp_option table[] = {
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Looks at the driver, the devices, CUPTI and its permissions, other tools that hold\n"
    "the counters, gnuplot and the emulated device, and says what to do about what is\n"
    "missing.\n";

typedef enum state { GOOD, NOTE, BAD } state;

typedef struct doctor {
    rp_format format;
    const char *hwdb;
    rp_table *table;   /* for programs */
    rp_document *page; /* for people */
    bool gpu;          /* a device can be used */
} doctor;

static void finding(doctor *d, const char *what, state s, const char *remedy, const char *format,
                    ...) __attribute__((format(printf, 5, 6)));

static void finding(doctor *d, const char *what, state s, const char *remedy, const char *format,
                    ...) {
    static const char *const names[] = {"ok", "note", "missing"};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s == GOOD)
        remedy = "";
    if (d->format != RP_FORMAT_JSON && d->format != RP_FORMAT_CSV) {
        rp_document_item(d->page, "%-8s %s: %s%s%s", names[s], what, text, *remedy ? "; " : "",
                         remedy);
        return;
    }
    rp_table_row(d->table);
    rp_table_text(d->table, what);
    rp_table_text(d->table, names[s]);
    rp_table_text(d->table, text);
    rp_table_text(d->table, remedy);
}

/* ---- Driver and devices ---------------------------------------------------------------------- */

/* In the child: what the driver says, a line a fact. */
static void ask_driver(FILE *out) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(out, "absent\n");
        return;
    }
    int (*version)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*name)(char *, int, int) = (int (*)(char *, int, int))dlsym(driver, "cuDeviceGetName");
    int (*attribute)(int *, int, int) =
        (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute");
    int number = 0, devices = 0;
    if (version && version(&number) == 0)
        fprintf(out, "version %d\n", number);
    fflush(out);
    number = init ? init(0) : -1;
    fprintf(out, "init %d\n", number);
    if (number != 0 || !count || count(&devices) != 0)
        return;
    for (int i = 0; i < devices; i++) {
        char text[256] = "";
        int value[5] = {-1, -1, -1, -1, -1};
        static const int wanted[5] = {75, 76, 16, 37, 36}; /* cc, SMs, bus, memory clock */
        if (name)
            name(text, sizeof text - 1, i);
        for (int k = 0; k < 5 && attribute; k++)
            attribute(&value[k], wanted[k], i);
        fprintf(out, "device %d %d %d %d %d %s\n", value[0], value[1], value[2], value[3], value[4],
                text);
    }
}

/* The child's text (malloc), or NULL with *SIGNAL_NUMBER set (-1: it took too long). */
static char *driver_says(int *signal_number) {
    int pipes[2], status = 0;
    char *text = NULL;
    size_t size = 0;
    *signal_number = 0;
    if (pipe(pipes))
        return NULL;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("CUDA_INJECTION64_PATH");
        FILE *out = fdopen(pipes[1], "w");
        if (out) {
            ask_driver(out);
            fflush(out);
        }
        _exit(0);
    }
    close(pipes[1]);
    FILE *memory = open_memstream(&text, &size);
    char part[4096];
    struct pollfd wait = {.fd = pipes[0], .events = POLLIN};
    ssize_t n = 0;
    int ready = 0;
    while (memory && (ready = poll(&wait, 1, 15000)) > 0 &&
           (n = read(pipes[0], part, sizeof part)) > 0)
        fwrite(part, 1, (size_t)n, memory);
    close(pipes[0]);
    if (memory)
        fclose(memory);
    if (ready == 0 && child > 0) {
        kill(child, SIGKILL);
        *signal_number = -1;
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && !*signal_number)
        *signal_number = WTERMSIG(status);
    return text;
}

static void check_device(doctor *d, const rp_hwdb *db, const char *line) {
    int major, minor, sms, bus, clock, at = 0;
    rp_device_match match;
    rp_error error = {0};
    char what[32];
    static int number;
    if (sscanf(line, "device %d %d %d %d %d %n", &major, &minor, &sms, &bus, &clock, &at) < 5 ||
        !at)
        return;
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    rp_device_identity identity = {.name = name,
                                   .cc_major = major,
                                   .cc_minor = minor,
                                   .sm_count = sms,
                                   .memory_bytes = -1,
                                   .memory_bus_bits = bus,
                                   .sm_clock_hz = __builtin_nan(""),
                                   .memory_clock_hz = clock > 0 ? clock * 1e3 : __builtin_nan("")};
    snprintf(what, sizeof what, "GPU %d", number++);
    d->gpu = true;
    if (db && rp_hwdb_match(db, &identity, &match, &error) == RP_OK && match.device)
        finding(d, what, match.certain ? GOOD : NOTE, "name it with --device if the match is wrong",
                "%s: in the hardware database as %s (%s)", name, match.device->name, match.how);
    else
        finding(d, what, NOTE, "give its record with --hwdb FILE (docs/hwdb.md), or calibrate",
                "%s: not in the hardware database; ceilings are derived from its clocks", name);
}

static void check_driver(doctor *d, const rp_hwdb *db, int *version) {
    int signal_number, init = -1;
    char *text = driver_says(&signal_number);
    const char *at = text ? strstr(text, "version ") : NULL;
    *version = at ? atoi(at + 8) : 0;
    if (!text || strstr(text, "absent"))
        finding(
            d, "driver", BAD,
            "install the NVIDIA driver (in a container: run it with --gpus all); without a GPU use "
            "roofprof --emulate H100 PROGRAM",
            "libcuda.so.1 is not there");
    else if (signal_number)
        finding(d, "driver", BAD, "look at the kernel log (dmesg) for NVRM and Xid messages",
                signal_number < 0 ? "it does not answer within 15 s"
                                  : "it crashes when initialised");
    else if ((at = strstr(text, "init ")) && (init = atoi(at + 5)) == 0)
        finding(d, "driver", GOOD, "", "CUDA %d.%d", *version / 1000, *version % 1000 / 10);
    else
        finding(d, "driver", BAD,
                init == 100
                    ? "no device is visible: check nvidia-smi, CUDA_VISIBLE_DEVICES, and the "
                      "container's --gpus"
                    : "nvidia-smi says more; driver and kernel module may be of two versions",
                "libcuda.so.1 is there (CUDA %d.%d) but cuInit returns %d%s", *version / 1000,
                *version % 1000 / 10, init, init == 100 ? " (no device)" : "");
    for (at = text; at && (at = strstr(at, "device ")); at++)
        if (at == text || at[-1] == '\n')
            check_device(d, db, at);
    free(text);
}

/* ---- CUPTI ----------------------------------------------------------------------------------- */

typedef struct found {
    doctor *d;
    int count;
    struct stat seen[32]; /* one library has many names */
    char first[PATH_MAX]; /* the one that would be used */
} found;

static bool seen_before(found *f, const char *path) {
    struct stat status;
    if (stat(path, &status))
        return false;
    for (int i = 0; i < f->count; i++)
        if (f->seen[i].st_ino == status.st_ino && f->seen[i].st_dev == status.st_dev)
            return true;
    f->seen[f->count] = status;
    return false;
}

static int each_cupti(void *context, const char *path) {
    found *f = context;
    cupti_api api;
    host_api host;
    void *handle;
    char reason[256];
    uint32_t version = 0;
    if (f->count == sizeof f->seen / sizeof f->seen[0])
        return 1;
    if (strchr(path, '/') && seen_before(f, path))
        return 0;
    if (!strchr(path, '/')) { /* by name: found only if the loader knows it */
        if (f->count)
            return 1;
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            return 0;
    }
    if (bind_open(path, &api, &handle, reason)) {
        finding(f->d, "CUPTI", NOTE, "", "%s: %s", path, reason);
        return 0;
    }
    api.GetVersion(&version);
    if (!f->count)
        snprintf(f->first, sizeof f->first, "%s", path);
    bool has_host = host_open(&host, path, reason) == 0;
    bool ranges = bind_has_range_profiler(&api), sessions = bind_has_sessions(&api);
    finding(f->d, "CUPTI", GOOD, "", "%s%s: version %u; %s%s",
            f->count ? "" : "first choice: ", path, version,
            !has_host  ? "tracing; no counters: "
            : ranges   ? "tracing and counters; a V100 is counted by profiler sessions, which have "
                         "been run on the emulated device only"
            : sessions ? "tracing, and counters by profiler sessions: that way has been run on the "
                         "emulated device only (CUDA 12.8 brought the range profiler)"
                       : "tracing; no counters",
            has_host ? "" : reason);
    f->count++;
    return 0;
}

/* ---- Counters, tried ------------------------------------------------------------------------- */

/* What the probe (tracer/probe.c) says of the CUPTI at PATH: it counts a small kernel on the first
 * device, in a process of its own, within 20 s. False: it could not be run. */
static bool ask_probe(const char *path, probe_answer *answer) {
    rp_trace_settings wanted = RP_TRACE_SETTINGS_INIT;
    rp_error error = {0};
    tracer_settings settings;
    char folder[] = "/tmp/roofprof-doctor-XXXXXX";
    char *tracer = rp_trace_find_tracer(&error);
    char *probe = tracer ? rp_trace_find_probe(tracer) : NULL, *file = NULL;
    bool asked = false;
    if (!probe || !mkdtemp(folder))
        goto out;
    wanted.probe = probe;
    if ((file = rp_trace_settings_write(&wanted, folder, &error))) {
        settings_read(&settings, file);
        probe_run(&settings, folder, path, answer);
        asked = true;
    }
    rp_finish_remove(folder);
out:
    free(file);
    free(probe);
    free(tracer);
    return asked;
}

static void say_mix(doctor *d, const char *word) {
    if (!strcmp(word, "alone"))
        finding(d, "counters, tried", NOTE,
                "--runs 2 makes a run of each, --mode rerun one for each pass",
                "a small kernel was counted; tracing and counting in one run do not go together");
    else
        finding(d, "counters, tried", GOOD, "", "a small kernel was counted; %s",
                !strcmp(word, "together")
                    ? "kernels can be traced in the same run"
                    : "tracing pauses for the launches that are counted in the same run");
}

static void check_counters(doctor *d, const char *path) {
    probe_answer answer;
    if (!d->gpu || !*path || !ask_probe(path, &answer))
        return;
    const rp_cupti_result *r = rp_cupti_result_find((int)answer.result);
    if (answer.works)
        say_mix(d, answer.text);
    else if (answer.result)
        finding(d, "counters, tried", NOTE, r->remedy, "refused (%d %s; %s): %s", answer.result,
                r->name, answer.text, r->meaning);
    else if (answer.dangerous)
        finding(d, "counters, tried", BAD, "set ROOFPROF_CUPTI to another libcupti.so",
                "CUPTI is not used, not even for tracing: %s", answer.text);
    else
        finding(d, "counters, tried", NOTE, "--mode trace needs none", "there are none: %s",
                *answer.text ? answer.text : "the probe said nothing");
}

static void check_cupti(doctor *d, int driver) {
    found f = {.d = d};
    bind_candidates(driver, each_cupti, &f);
    check_counters(d, f.first);
    if (!f.count)
        finding(d, "CUPTI", BAD,
                "install the CUDA toolkit's CUPTI or the nvidia-cuda-cupti package, or set "
                "ROOFPROF_CUPTI to a libcupti.so",
                "none was found");
}

static bool first_line(const char *path, const char *key, char *value, size_t size) {
    FILE *file = fopen(path, "r");
    char line[512];
    bool there = false;
    while (file && !there && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) {
            snprintf(value, size, "%s", line + strlen(key) + strspn(line + strlen(key), " \t:"));
            value[strcspn(value, "\n")] = 0;
            there = true;
        }
    if (file)
        fclose(file);
    return there;
}

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };

static void check_permission(doctor *d) {
    char restricted[64], capabilities[64] = "0";
    first_line("/proc/self/status", "CapEff", capabilities, sizeof capabilities);
    unsigned long long set = strtoull(capabilities, NULL, 16);
    bool admin = set >> CAPABILITY_SYS_ADMIN & 1, perfmon = set >> CAPABILITY_PERFMON & 1;
    if (!first_line("/proc/driver/nvidia/params", "RmProfilingAdminOnly", restricted,
                    sizeof restricted))
        finding(d, "counters", NOTE, "",
                "permission is not known: the driver's kernel module is not "
                "loaded here");
    else if (atoi(restricted) == 0)
        finding(d, "counters", GOOD, "", "every user may read them");
    else if (admin || perfmon)
        finding(d, "counters", GOOD, "", "administrators only; this process has %s",
                admin ? "CAP_SYS_ADMIN" : "CAP_PERFMON (enough from driver R565 on)");
    else
        finding(
            d, "counters", NOTE,
            "on the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, "
            "then reload the driver; or run with CAP_SYS_ADMIN. Nothing inside a container can "
            "change it. Times need no permission",
            "only administrators may read them, and this process is none");
}

/* ---- Others that hold CUPTI, and the surroundings ---------------------------------------------
 */

static void check_holders(doctor *d) {
    static const char *const names[] = {"nv-hostengine", "dcgm-exporter", "nsys", "ncu",
                                        "nvidia-cuda-mps"};
    DIR *proc = opendir("/proc");
    bool any = false;
    for (struct dirent *e; proc && (e = readdir(proc));) {
        char path[300], name[64];
        if (strspn(e->d_name, "0123456789") != strlen(e->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        if (!first_line(path, "Name", name, sizeof name))
            continue;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (!strncmp(name, names[i], 15 < strlen(names[i]) ? 15 : strlen(names[i]))) {
                any = true;
                finding(d, "other tools", NOTE,
                        i < 2 ? "before counting: dcgmi profile --pause (afterwards --resume)"
                        : i < 4
                            ? "end it before counting"
                            : "no profiling works under MPS: stop the daemon, or use --mode none",
                        "%s is running (pid %s)", name, e->d_name);
            }
    }
    if (proc)
        closedir(proc);
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    if (injection && *injection)
        finding(d, "other tools", NOTE,
                "it is called after roofprof's tracer; unset it if it takes "
                "CUPTI for itself",
                "CUDA_INJECTION64_PATH names %s", injection);
    else if (!any)
        finding(d, "other tools", GOOD, "", "none that is known to hold the counters");
}

static void check_surroundings(doctor *d) {
    char line[512];
    FILE *version = fopen("/proc/version", "r");
    if (version && fgets(line, sizeof line, version) && strcasestr(line, "microsoft"))
        finding(d, "system", NOTE, "counters need Windows 11 and a current driver", "this is WSL");
    if (version)
        fclose(version);
    if (access("/.dockerenv", F_OK) == 0 || getenv("container"))
        finding(d, "system", NOTE, "counters: the host's setting and --cap-add SYS_ADMIN decide",
                "this is a container");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && strstr(visible, "MIG"))
        finding(d, "system", NOTE,
                "memory counters of a slice that shares the L2 are not to be had",
                "a MIG slice is selected: %s", visible);
}

static bool program_answers(const char *program, const char *argument, char *line, size_t size) {
    int pipes[2], status = 0;
    if (pipe(pipes))
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 1);
        close(pipes[0]);
        execlp(program, program, argument, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    ssize_t n = read(pipes[0], line, size - 1);
    close(pipes[0]);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void check_tools(doctor *d, const rp_hwdb *db, const rp_error *error) {
    char line[PATH_MAX];
    rp_error missing = {0};
    if (program_answers("gnuplot", "--version", line, sizeof line))
        finding(d, "pictures", GOOD, "", "%s", line);
    else
        finding(d, "pictures", NOTE,
                "install it (Debian: apt install gnuplot-nox); --ascii works "
                "without",
                "gnuplot is not installed");
    if (rp_emulate_find(line, &missing) == RP_OK)
        finding(d, "emulated device", GOOD, "", "%s", line);
    else
        finding(d, "emulated device", BAD, "install roofprof with cmake --install", "%s",
                missing.message);
    if (db)
        finding(d, "devices known", GOOD, "", "%zu, from %s", rp_hwdb_count(db),
                rp_hwdb_folder(db));
    else
        finding(d, "devices known", BAD,
                error->code == RP_INPUT ? "correct that file, or take it away"
                                        : "install roofprof's data folder, or set ROOFPROF_HWDB",
                "%s", error->message);
}

static void print_json(const doctor *d) {
    rp_json json;
    rp_json_start(&json, stdout);
    rp_json_object(&json, NULL);
    rp_json_string(&json, "schema", "roofprof.doctor/1");
    rp_json_bool(&json, "gpu", d->gpu);
    rp_table_json(d->table, &json, "findings");
    rp_json_close(&json);
}

int rp_cmd_doctor(int argc, char **argv) {
    static const rp_column columns[] = {{"what", "what", RP_LEFT, 0, 0},
                                        {"state", "state", RP_LEFT, 0, 0},
                                        {"finding", "finding", RP_LEFT, 0, 0},
                                        {"remedy", "remedy", RP_LEFT, 0, 0}};
    rp_options o = RP_OPTIONS(argc, argv, table, "", intro, NULL);
    doctor d = {.format = RP_FORMAT_TEXT};
    rp_hwdb *db = NULL;
    rp_error error = {0};
    int option, driver;
    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (option == RP_OPTION_POSITIONAL)
            return rp_options_error(&o, "'%s' is too much: doctor takes no argument", o.value);
        else if (option == HWDB)
            d.hwdb = o.value;
        else if (!rp_format_find(o.value, &d.format))
            return rp_options_error(&o, "--format '%s' is none of text, json, csv, md, html",
                                    o.value);
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    d.table = rp_table_create(columns, sizeof columns / sizeof columns[0]);
    if (rp_hwdb_load(&db, d.hwdb, &error))
        db = NULL;
    rp_document page = rp_document_start(stdout, d.format, "What works on this machine");
    d.page = &page;
    check_driver(&d, db, &driver);
    check_cupti(&d, driver);
    check_permission(&d);
    check_holders(&d);
    check_surroundings(&d);
    check_tools(&d, db, &error);
    if (d.format == RP_FORMAT_JSON)
        print_json(&d);
    else if (d.format == RP_FORMAT_CSV)
        rp_document_table(&page, d.table);
    rp_document_end(&page);
    rp_table_free(d.table);
    rp_hwdb_free(db);
    return RP_OK;
}
