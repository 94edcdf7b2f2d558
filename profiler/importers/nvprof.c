/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of nvprof's CSV: metrics (--metrics), summary of GPU activities, and GPU trace, with
 * the "==PID==" messages and the program's own output around them. One file may hold several
 * tables; each begins with its header. The text form of metrics and summary is read as well.
 *
 * Metrics and summaries are sums or means over all calls of a kernel: see expand.h. Rates ("GB/s")
 * are left out, for nvprof does not say whether its GB are 10^9 or 2^30; sizes are 2^10 based.
 */
#include "importers/expand.h"
#include "importers/importer.h"
#include "importers/nvprof_text.h"
#include "importers/rows.h"
#include "support/text.h"
#include "support/units.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 4096, MAX_METRICS = 4096, NAME_SIZE = 96 };
static const double longest_s = 86400, farthest_s = 4e9;

typedef enum table { T_NONE, T_METRICS, T_SUMMARY, T_TRACE } table;

typedef enum role {
    R_OTHER, /* in a trace: a metric */
    R_IGNORED,
    R_TYPE,
    R_DEVICE,
    R_KERNEL,
    R_INVOCATIONS,
    R_METRIC,
    R_MEAN,
    R_CALLS,
    R_TIME,
    R_START,
    R_DURATION,
    R_GRID_X,
    R_GRID_Y,
    R_GRID_Z,
    R_BLOCK_X,
    R_BLOCK_Y,
    R_BLOCK_Z,
    R_REGISTERS,
    R_STATIC,
    R_DYNAMIC,
    R_SIZE,
    R_CONTEXT,
    R_STREAM,
    R_CORRELATION,
    ROLES
} role;

/* Letters and digits of the header, in lower case. */
static const struct {
    const char *name;
    role role;
} role_names[] = {{"type", R_TYPE},
                  {"device", R_DEVICE},
                  {"kernel", R_KERNEL},
                  {"name", R_KERNEL},
                  {"invocations", R_INVOCATIONS},
                  {"metricname", R_METRIC},
                  {"metricdescription", R_IGNORED},
                  {"min", R_IGNORED},
                  {"max", R_IGNORED},
                  {"avg", R_MEAN},
                  {"calls", R_CALLS},
                  {"time", R_TIME},
                  {"start", R_START},
                  {"duration", R_DURATION},
                  {"gridx", R_GRID_X},
                  {"gridy", R_GRID_Y},
                  {"gridz", R_GRID_Z},
                  {"blockx", R_BLOCK_X},
                  {"blocky", R_BLOCK_Y},
                  {"blockz", R_BLOCK_Z},
                  {"registersperthread", R_REGISTERS},
                  {"staticsmem", R_STATIC},
                  {"dynamicsmem", R_DYNAMIC},
                  {"size", R_SIZE},
                  {"throughput", R_IGNORED},
                  {"srcmemtype", R_IGNORED},
                  {"dstmemtype", R_IGNORED},
                  {"context", R_CONTEXT},
                  {"stream", R_STREAM},
                  {"correlationid", R_CORRELATION},
                  {"", R_IGNORED}};

static role role_of(const char *header) {
    char name[NAME_SIZE];
    size_t n = 0;
    if (!strncasecmp(header, "Time(%)", 7))
        return R_IGNORED;
    for (const char *c = header; *c && n < sizeof name - 1; c++)
        if (isalnum((unsigned char)*c))
            name[n++] = (char)tolower((unsigned char)*c);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof role_names / sizeof *role_names; i++)
        if (!strcmp(role_names[i].name, name))
            return role_names[i].role;
    return R_OTHER;
}

/* ---- State ----------------------------------------------------------------------------------- */

typedef struct metric {
    char name[NAME_SIZE], unit[8];
    double value; /* per launch, base unit; NAN */
} metric;

typedef struct import {
    rp_capture *capture;
    const char *path;
    table table;
    bool expect_header, expect_units, api_table;
    role *roles;
    char (*headers)[NAME_SIZE];
    char (*units)[8];
    size_t columns;
    bool has_role[ROLES];
    /* the kernel whose metrics are being collected */
    char *device, *kernel;
    int64_t calls;
    metric *metrics;
    size_t metric_count;
    int64_t expanded, trace_index;
    uint64_t launches, values, times, invalid, odd_rows, overflows, rates, tables, too_many;
    bool permission, nothing_profiled, means;
    rp_nvprof_text text;
    uint64_t line;
    rp_code late_code; /* of a text row: lines are left out of the CSV by a call that cannot fail */
    rp_error *error;
} import;

static rp_code no_memory(const import *in, rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "%s: out of memory", in->path);
}

/* ---- Values ---------------------------------------------------------------------------------- */

typedef enum value_kind { V_NONE, V_NUMBER, V_RATE, V_OVERFLOW } value_kind;

/* Scale and SI unit of UNIT. */
static value_kind unit_scale(const char *unit, double *scale, const char **si) {
    static const struct {
        const char *unit, *si;
        double scale;
    } units[] = {{"", "1", 1},
                 {"%", "1", 0.01},
                 {"s", "s", 1},
                 {"ms", "s", 1e-3},
                 {"us", "s", 1e-6},
                 {"ns", "s", 1e-9},
                 {"B", "byte", 1},
                 {"KB", "byte", 1024},
                 {"MB", "byte", 1048576},
                 {"GB", "byte", 1073741824.0},
                 {"TB", "byte", 1099511627776.0}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].unit, unit)) {
            *scale = units[i].scale;
            *si = units[i].si;
            return V_NUMBER;
        }
    return strstr(unit, "/s") ? V_RATE : V_NONE;
}

/* CELL as a number in its base unit: "12.5", "98.7%", "542.36ms", "3.3255e+10", "Idle (0)" (a level
 * from 0 to 10). UNIT applies where the cell names none. */
static value_kind parse_value(const char *cell, const char *unit, double *value, const char **si) {
    char number[64];
    while (*cell == ' ')
        cell++;
    if (strcasestr(cell, "OVERFLOW"))
        return V_OVERFLOW;
    const char *level = strchr(cell, '(');
    if (isalpha((unsigned char)*cell) && level) {
        cell = level + 1;
        unit = "";
    }
    size_t n = strspn(cell, "0123456789+-.eE");
    if (!n || n >= sizeof number)
        return V_NONE;
    memcpy(number, cell, n);
    number[n] = '\0';
    const char *suffix = cell + n + (cell[n] == ')');
    double scale = 1;
    if (!rp_number(number, value))
        return V_NONE;
    value_kind kind = unit_scale(*suffix ? suffix : unit, &scale, si);
    *value *= scale;
    return kind;
}

static const char *cell_of(const import *in, const rp_row *row, role wanted) {
    for (size_t i = 0; i < row->count && i < in->columns; i++)
        if (in->roles[i] == wanted)
            return row->cell[i];
    return "";
}

static double number_of(const import *in, const rp_row *row, role wanted) {
    double value;
    const char *si;
    for (size_t i = 0; i < row->count && i < in->columns; i++)
        if (in->roles[i] == wanted)
            return parse_value(row->cell[i], in->units[i], &value, &si) == V_NUMBER ? value : NAN;
    return NAN;
}

static int64_t integer_of(const import *in, const rp_row *row, role wanted) {
    double value = number_of(in, row, wanted);
    return value >= 0 && value < 9e15 ? (int64_t)value : -1;
}

/* ---- Devices and kernels --------------------------------------------------------------------- */

/* "Tesla V100-SXM2-16GB (0)": name and number. "" is a device of which nothing is known. */
static rp_code add_device(import *in, const char *text, int64_t *id, rp_error *error) {
    rp_device_record record = RP_DEVICE_RECORD_INIT;
    char name[256];
    snprintf(name, sizeof name, "%s", text);
    char *open = strrchr(name, '(');
    if (open && open > name && strspn(open + 1, "0123456789") == strcspn(open + 1, ")")) {
        record.ordinal = strtoll(open + 1, NULL, 10);
        *open = '\0';
    }
    for (size_t n = strlen(name); n && name[n - 1] == ' ';)
        name[--n] = '\0';
    record.name = *name ? name : NULL;
    return rp_capture_add_device(in->capture, &record, id, error);
}

/* A trace numbers its launches: "kernel(float*) [123]". */
static size_t name_length(const char *name) {
    size_t n = strlen(name), end = n;
    if (n < 4 || name[n - 1] != ']')
        return n;
    for (end = n - 1; end && isdigit((unsigned char)name[end - 1]);)
        end--;
    bool numbered = end >= 3 && end < n - 1 && name[end - 1] == '[' && name[end - 2] == ' ';
    return numbered ? end - 2 : n;
}

static rp_code add_config(import *in, const char *name, rp_config_record *config, int64_t *id,
                          rp_error *error) {
    config->name = name;
    config->name_length = name_length(name);
    return rp_capture_add_config(in->capture, config, id, error);
}

/* ---- Metrics --------------------------------------------------------------------------------- */

static void add_metric(import *in, const char *name, const char *cell, const char *unit) {
    double value = NAN;
    const char *si = "";
    switch (parse_value(cell, unit, &value, &si)) {
    case V_OVERFLOW:
        in->overflows++;
        return;
    case V_RATE:
        in->rates++;
        return;
    case V_NONE:
        return;
    case V_NUMBER:
        break;
    }
    if (in->metric_count == MAX_METRICS) {
        in->too_many++;
        return;
    }
    metric *m = &in->metrics[in->metric_count++];
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->unit, sizeof m->unit, "%s", si);
    m->value = value;
}

static double metric_value(const import *in, const char *name) {
    for (size_t i = 0; i < in->metric_count; i++)
        if (!strcmp(in->metrics[i].name, name))
            return in->metrics[i].value;
    return NAN;
}

/* Adds CALLS launches, each with the metrics collected; what those mean is for hwdb/metrics.csv. */
static rp_code add_launches(import *in, const rp_launch_record *launch, int64_t calls,
                            rp_error *error) {
    rp_expand_counter *counters = calloc(in->metric_count + 1, sizeof *counters);
    if (!counters)
        return no_memory(in, error);
    rp_code code = RP_OK;
    for (size_t i = 0; i < in->metric_count && !code; i++) {
        const metric *m = &in->metrics[i];
        counters[i] = (rp_expand_counter){.value = m->value, .provenance = RP_IMPORTED};
        code = rp_capture_metric(in->capture, m->name, m->unit, &counters[i].metric, error);
    }
    if (!code)
        code = rp_expand(in->capture, in->path, calls, launch, counters, in->metric_count,
                         &in->expanded, error);
    in->launches += (uint64_t)calls;
    in->values += in->metric_count;
    in->metric_count = 0;
    free(counters);
    return code;
}

/* Puts the kernel whose metrics were collected into the capture. */
static rp_code flush(import *in, rp_error *error) {
    rp_code code = RP_OK;
    if (in->kernel && in->calls > 0) {
        rp_config_record config = {.registers = -1, .shared_static = -1, .shared_dynamic = -1};
        rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
        code = add_config(in, in->kernel, &config, &launch.config, error);
        if (!code)
            code = add_device(in, in->device, &launch.device, error);
        if (!code)
            code = add_launches(in, &launch, in->calls, error);
        in->means |= in->calls > 1;
    }
    free(in->kernel);
    free(in->device);
    in->kernel = in->device = NULL;
    in->metric_count = 0;
    return code;
}

static rp_code take_metric(import *in, const rp_row *row, rp_error *error) {
    const char *device = cell_of(in, row, R_DEVICE), *kernel = cell_of(in, row, R_KERNEL);
    const char *name = cell_of(in, row, R_METRIC);
    int64_t calls = integer_of(in, row, R_INVOCATIONS);
    if (calls <= 0 || !*kernel) {
        in->odd_rows++;
        return RP_OK;
    }
    bool same = in->kernel && !strcmp(in->kernel, kernel) && !strcmp(in->device, device) &&
                in->calls == calls && isnan(metric_value(in, name));
    if (!same) {
        rp_code code = flush(in, error);
        if (code)
            return code;
        in->kernel = strdup(kernel);
        in->device = strdup(device);
        in->calls = calls;
        if (!in->kernel || !in->device)
            return no_memory(in, error);
    }
    add_metric(in, name, cell_of(in, row, R_MEAN), "");
    return RP_OK;
}

/* ---- Summary --------------------------------------------------------------------------------- */

static bool is_api_row(const import *in, const rp_row *row) {
    bool typed = in->has_role[R_TYPE];
    return in->api_table || (typed && strcasecmp(cell_of(in, row, R_TYPE), "GPU activities") != 0);
}

static rp_code take_summary(import *in, const rp_row *row, rp_error *error) {
    const char *name = cell_of(in, row, R_KERNEL);
    int64_t calls = integer_of(in, row, R_CALLS);
    double time = number_of(in, row, R_TIME);
    if (is_api_row(in, row))
        return RP_OK;
    if (!*name || calls <= 0 || isnan(time)) {
        in->odd_rows++;
        return RP_OK;
    }
    if (!strncmp(name, "[CUDA ", 6)) {
        char total[32];
        return rp_capture_add_note(in->capture, "info", error,
                                   "%s: %s: %" PRId64 " calls, %s in all", in->path, name, calls,
                                   rp_format_time(total, sizeof total, time));
    }
    if (!(time > 0) || time / (double)calls > longest_s) {
        in->invalid += calls < rp_expand_limit ? (uint64_t)calls : 1;
        return RP_OK;
    }
    rp_config_record config = {.registers = -1, .shared_static = -1, .shared_dynamic = -1};
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_code code = add_config(in, name, &config, &launch.config, error);
    if (!code)
        code = add_device(in, "", &launch.device, error);
    in->times++;
    launch.time_s = time / (double)calls;
    launch.time_provenance = RP_IMPORTED;
    launch.cache = RP_CACHE_NATURAL;
    in->means |= calls > 1;
    return code ? code : add_launches(in, &launch, calls, error);
}

/* ---- Trace ----------------------------------------------------------------------------------- */

static rp_code take_trace_copy(import *in, const rp_row *row, const char *name, rp_error *error) {
    static const char *const kinds[] = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset"};
    double start = number_of(in, row, R_START), duration = number_of(in, row, R_DURATION);
    bool valid = start >= 0 && start < farthest_s && duration >= 0 && duration < longest_s;
    int64_t start_ns = valid ? llround(start * 1e9) : -1;
    rp_copy_record copy = {.process = -1,
                           .stream = integer_of(in, row, R_STREAM),
                           .correlation = integer_of(in, row, R_CORRELATION),
                           .kind = "unknown",
                           .bytes = number_of(in, row, R_SIZE),
                           .start_ns = start_ns,
                           .end_ns = valid ? start_ns + llround(duration * 1e9) : -1,
                           .time_provenance = valid ? RP_IMPORTED : RP_ABSENT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i]))
            copy.kind = kinds[i];
    rp_code code = add_device(in, cell_of(in, row, R_DEVICE), &copy.device, error);
    return code ? code : rp_capture_add_copy(in->capture, &copy, error);
}

static void set_shape(const import *in, const rp_row *row, rp_config_record *config) {
    config->has_shape = true;
    for (int i = 0; i < 3; i++) {
        int64_t grid = integer_of(in, row, (role)(R_GRID_X + i));
        int64_t block = integer_of(in, row, (role)(R_BLOCK_X + i));
        config->has_shape &= grid > 0 && grid <= UINT32_MAX && block > 0 && block <= UINT32_MAX;
        config->grid[i] = config->has_shape ? (uint32_t)grid : 0;
        config->block[i] = config->has_shape ? (uint32_t)block : 0;
    }
    if (!config->has_shape)
        for (int i = 0; i < 3; i++)
            config->grid[i] = config->block[i] = 0;
}

/* Start and duration of a launch; false if they are there and cannot be true. */
static bool set_times(const import *in, const rp_row *row, rp_launch_record *launch) {
    if (!in->has_role[R_DURATION])
        return true; /* a trace of metrics has no times */
    double start = number_of(in, row, R_START), duration = number_of(in, row, R_DURATION);
    if (!(duration > 0) || duration > longest_s || start < 0 || start > farthest_s)
        return false;
    launch->time_s = duration;
    launch->time_provenance = RP_IMPORTED;
    if (!isnan(start)) {
        launch->start_ns = llround(start * 1e9);
        launch->end_ns = launch->start_ns + llround(duration * 1e9);
    }
    return true;
}

static rp_code take_trace(import *in, const rp_row *row, rp_error *error) {
    const char *name = cell_of(in, row, R_KERNEL), *device = cell_of(in, row, R_DEVICE);
    if (!*name) {
        in->odd_rows++;
        return RP_OK;
    }
    if (!strncmp(name, "[CUDA ", 6))
        return take_trace_copy(in, row, name, error);
    rp_config_record config = {.registers = integer_of(in, row, R_REGISTERS),
                               .shared_static = integer_of(in, row, R_STATIC),
                               .shared_dynamic = integer_of(in, row, R_DYNAMIC)};
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    if (!set_times(in, row, &launch)) {
        in->invalid++;
        return RP_OK;
    }
    in->times += launch.time_provenance != RP_ABSENT;
    set_shape(in, row, &config);
    rp_code code = add_config(in, name, &config, &launch.config, error);
    if (!code)
        code = add_device(in, device, &launch.device, error);
    launch.context = integer_of(in, row, R_CONTEXT);
    launch.stream = integer_of(in, row, R_STREAM);
    launch.correlation = integer_of(in, row, R_CORRELATION);
    launch.index = in->trace_index++;
    launch.cache = in->has_role[R_DURATION] ? RP_CACHE_NATURAL : RP_CACHE_UNKNOWN;
    in->metric_count = 0;
    for (size_t i = 0; i < row->count && i < in->columns; i++)
        if (in->roles[i] == R_OTHER)
            add_metric(in, in->headers[i], row->cell[i], in->units[i]);
    return code ? code : add_launches(in, &launch, 1, error);
}

/* ---- Lines and tables ------------------------------------------------------------------------ */

static bool line_has(const char *line, size_t length, const char *text) {
    return memmem(line, length, text, strlen(text)) != NULL;
}

/* Which table LINE is the header of; only CSV counts. */
static table header_of(const char *line, size_t length) {
    if (!memchr(line, ',', length))
        return T_NONE;
    if (line_has(line, length, "Metric Name") && line_has(line, length, "Invocations"))
        return T_METRICS;
    if (line_has(line, length, "Time(%)") && line_has(line, length, "Calls"))
        return T_SUMMARY;
    bool start = line_has(line, length, "Start") && line_has(line, length, "Duration");
    bool launch = line_has(line, length, "Context") && line_has(line, length, "Stream");
    if ((start && line_has(line, length, "Name")) || (launch && line_has(line, length, "Kernel")))
        return T_TRACE;
    return T_NONE;
}

static void read_message(import *in, const char *line, size_t length) {
    in->permission |= line_has(line, length, "ERR_NVGPUCTRPERM") ||
                      line_has(line, length, "does not have permission");
    in->nothing_profiled |= line_has(line, length, "No kernels were profiled") ||
                            line_has(line, length, "No CUDA application was profiled");
    in->api_table = line_has(line, length, "API calls");
}

static void forget_header(import *in) {
    free(in->roles);
    free(in->headers);
    free(in->units);
    in->roles = NULL;
    in->headers = NULL;
    in->units = NULL;
    in->columns = 0;
}

static rp_code take_header(import *in, const rp_row *row, rp_error *error) {
    rp_code code = flush(in, error);
    if (code)
        return code;
    if (row->count > MAX_COLUMNS)
        return rp_fail(error, RP_INPUT, "%s: a table of %zu columns, more than %d", in->path,
                       row->count, MAX_COLUMNS);
    forget_header(in);
    in->roles = calloc(row->count, sizeof *in->roles);
    in->headers = calloc(row->count, sizeof *in->headers);
    in->units = calloc(row->count, sizeof *in->units);
    if (!in->roles || !in->headers || !in->units)
        return no_memory(in, error);
    in->columns = row->count;
    memset(in->has_role, 0, sizeof in->has_role);
    for (size_t i = 0; i < row->count; i++) {
        in->roles[i] = role_of(row->cell[i]);
        in->has_role[in->roles[i]] = true;
        snprintf(in->headers[i], sizeof in->headers[i], "%s", row->cell[i]);
    }
    in->tables++;
    in->expect_header = false;
    in->expect_units = in->table != T_METRICS;
    return RP_OK;
}

/* The row under a header may hold units: it names no kernel, and its cells are no numbers. */
static bool take_units(import *in, const rp_row *row) {
    if (*cell_of(in, row, R_KERNEL))
        return false;
    for (size_t i = 0; i < row->count && i < in->columns; i++)
        snprintf(in->units[i], sizeof in->units[i], "%s", row->cell[i]);
    return true;
}

static rp_code take_row(void *context, const rp_row *row, rp_error *error) {
    import *in = context;
    if (in->expect_header)
        return take_header(in, row, error);
    bool first = in->expect_units;
    in->expect_units = false;
    if (first && row->count == in->columns && take_units(in, row))
        return RP_OK;
    if (row->count != in->columns) {
        in->odd_rows++; /* what the program printed */
        return RP_OK;
    }
    rp_code code = in->table == T_METRICS   ? take_metric(in, row, error)
                   : in->table == T_SUMMARY ? take_summary(in, row, error)
                                            : take_trace(in, row, error);
    return code ? rp_error_prefix(error, "line %" PRIu64, row->line) : RP_OK;
}

/* A line of the text form; true if it was one. */
static bool take_text(import *in, const char *line, size_t length) {
    const char *cells[RP_NVPROF_TEXT_CELLS];
    rp_row row = {.cell = cells, .count = RP_NVPROF_TEXT_CELLS, .line = in->line};
    bool no_room = false;
    if (in->late_code)
        return true;
    if (rp_nvprof_text_header(&in->text, line, length, cells)) {
        in->table = in->text.table == RP_TEXT_METRICS ? T_METRICS : T_SUMMARY;
        in->late_code = take_header(in, &row, in->error);
        return true;
    }
    if (in->text.table == RP_TEXT_NONE)
        return false;
    if (rp_nvprof_text_row(&in->text, line, length, cells, &no_room))
        in->late_code = take_row(in, &row, in->error);
    else if (no_room)
        in->late_code = no_memory(in, in->error);
    return true;
}

/* Lines that are no part of a CSV table: messages, which also end one, the text form, and the
 * program's output. */
static bool skip_line(void *context, const char *line, size_t length) {
    import *in = context;
    in->line++;
    if (length >= 2 && line[0] == '=' && line[1] == '=') {
        read_message(in, line, length);
        in->table = T_NONE;
        in->text.table = RP_TEXT_NONE;
        return true;
    }
    table header = header_of(line, length);
    if (header == T_NONE)
        return take_text(in, line, length) || in->table == T_NONE;
    in->table = header;
    in->text.table = RP_TEXT_NONE;
    in->expect_header = true;
    return false;
}

/* ---- The file -------------------------------------------------------------------------------- */

static const char permission_remedy[] = "the driver refused the counters (ERR_NVGPUCTRPERM): an "
                                        "administrator of the host must load the "
                                        "nvidia module with NVreg_RestrictProfilingToAdminUsers=0, "
                                        "or profile as root; nothing inside a "
                                        "container can change it";

static rp_code nothing_to_analyse(const import *in, rp_error *error) {
    if (in->permission)
        return rp_fail(error, RP_INPUT, "%s: no counts: %s", in->path, permission_remedy);
    if (in->launches)
        return rp_fail(error, RP_INPUT,
                       "%s: no metric of any kernel has a value (%" PRIu64 " overflowed, %" PRIu64
                       " are rates): profile again with other metrics, such as "
                       "--metrics flop_count_sp,dram_read_bytes,dram_write_bytes",
                       in->path, in->overflows, in->rates);
    if (in->invalid)
        return rp_fail(error, RP_INPUT, "%s: all %" PRIu64 " launches have impossible times",
                       in->path, in->invalid);
    return rp_fail(error, RP_INPUT,
                   "%s: nothing to analyse: %s; check that the program launches kernels, and "
                   "profile child processes too (--profile-child-processes)",
                   in->path,
                   in->nothing_profiled ? "nvprof says that no kernel was profiled"
                   : in->tables         ? "the tables name no kernel"
                                        : "there is no table of kernels (run nvprof with --csv)");
}

static rp_code add_notes(import *in, bool truncated, rp_error *error) {
    rp_capture *c = in->capture;
    rp_code code = RP_OK;
    if (truncated)
        code = rp_capture_add_note(c, "warning", error,
                                   "%s ends in the middle of a row: totals are lower bounds",
                                   in->path);
    if (!code && in->permission)
        code = rp_capture_add_note(c, "warning", error, "%s: part of the counts is missing: %s",
                                   in->path, permission_remedy);
    if (!code && in->invalid)
        code = rp_capture_add_note(c, "warning", error,
                                   "%s: %" PRIu64 " %s left out for impossible times", in->path,
                                   in->invalid, rp_plural(in->invalid, "launch", "launches"));
    if (!code && in->overflows)
        code = rp_capture_add_note(
            c, "warning", error, "%s: %" PRIu64 " %s in nvprof and left out", in->path,
            in->overflows,
            rp_plural(in->overflows, "value that overflowed", "values that overflowed"));
    if (!code && in->rates)
        code =
            rp_capture_add_note(c, "info", error,
                                "%s: %" PRIu64 " %s left out: nvprof does not say what its GB are; "
                                "bytes and times give them",
                                in->path, in->rates, rp_plural(in->rates, "rate", "rates"));
    if (!code && in->too_many)
        code = rp_capture_add_note(
            c, "warning", error, "%s: %" PRIu64 " %s left out: a kernel has more than %d metrics",
            in->path, in->too_many, rp_plural(in->too_many, "value", "values"), MAX_METRICS);
    if (!code && in->means)
        code =
            rp_capture_add_note(c, "info", error,
                                "%s holds means over all calls of a kernel: every launch has the "
                                "mean, spreads are not known",
                                in->path);
    if (!code && in->odd_rows)
        code = rp_capture_add_note(c, "info", error,
                                   "%s: %" PRIu64 " lines among the tables are no rows of theirs",
                                   in->path, in->odd_rows);
    return code;
}

static rp_code import_nvprof(const char *path, rp_capture *capture, rp_error *error) {
import in = {.capture = capture, .path = path };
    rp_rows rows = {skip_line, take_row, &in};
    bool truncated = false;
    in.metrics = calloc(MAX_METRICS, sizeof *in.metrics);
    rp_code code =
        in.metrics ? rp_rows_read(path, &rows, &truncated, error) : no_memory(&in, error);
    code = code ? code : in.late_code;
    rp_error late; /* FLUSH also frees, so it runs after a failure too */
    rp_code flushed = flush(&in, code ? &late : error);
    code = code ? code : flushed;
    if (!code && !(in.values || in.times))
        code = nothing_to_analyse(&in, error);
    if (!code)
        code = add_notes(&in, truncated, error);
    if (!code)
        rp_capture_count_invalid(capture, in.invalid);
    forget_header(&in);
    rp_nvprof_text_free(&in.text);
    free(in.metrics);
    return code;
}

static int recognise_nvprof(const char *path, const unsigned char *head, size_t length) {
    (void)path;
    const char *at = (const char *)head, *end = at + length;
    if (length >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3))
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);
        bool message = n > 2 && at[0] == '=' && at[1] == '=';
        if (message && (line_has(at, n, "NVPROF is profiling") || line_has(at, n, "nvprof")))
            return 90;
        if (!message && header_of(at, n) != T_NONE && !line_has(at, n, "\"ID\""))
            return 85;
        rp_nvprof_text text = {0};
        const char *cells[RP_NVPROF_TEXT_CELLS];
        if (rp_nvprof_text_header(&text, at, n, cells))
            return 70;
        at += n + 1;
    }
    return 0;
}

const rp_importer rp_importer_nvprof = {.name = "nvprof",
                                        .title = "nvprof CSV",
                                        .recognise = recognise_nvprof,
                                        .import = import_nvprof};
