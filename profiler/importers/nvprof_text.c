/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of nvprof's text tables behind nvprof_text.h. Columns are set apart by blanks; only
 * the last (a kernel's name) or the middle one (a metric's description) may hold blanks itself.
 */
#include "importers/nvprof_text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *line, size_t length, const char *text) {
    return memmem(line, length, text, strlen(text)) != NULL;
}

bool rp_nvprof_text_header(rp_nvprof_text *text, const char *line, size_t length,
                           const char *cells[RP_NVPROF_TEXT_CELLS]) {
    static const char *const summary[] = {"Type", "Time(%)", "Time", "Calls",
                                          "Avg",  "Min",     "Max",  "Name"};
    static const char *const metrics[] = {
        "Device", "Kernel", "Invocations", "Metric Name", "Metric Description",
        "Min",    "Max",    "Avg"};
    if (memchr(line, ',', length) || memchr(line, '"', length))
        return false;
    bool is_summary =
        has(line, length, "Time(%)") && has(line, length, "Calls") && has(line, length, "Name");
    bool is_metrics = has(line, length, "Invocations") && has(line, length, "Metric Name");
    if (!is_summary && !is_metrics)
        return false;
    text->table = is_summary ? RP_TEXT_SUMMARY : RP_TEXT_METRICS;
    text->section[0] = '\0';
    memcpy(cells, is_summary ? summary : metrics, sizeof summary);
    return true;
}

static char *copy_line(rp_nvprof_text *text, const char *line, size_t length) {
    if (length + 1 > text->capacity) {
        char *buffer = realloc(text->buffer, length + 1);
        if (!buffer)
            return NULL;
        text->buffer = buffer;
        text->capacity = length + 1;
    }
    for (size_t i = 0; i < length; i++)
        text->buffer[i] = line[i] ? line[i] : '?';
    text->buffer[length] = '\0';
    return text->buffer;
}

static char *blanks(char *at) {
    return at + strspn(at, " \t");
}

/* Cuts the first word off *AT. */
static char *first_word(char **at) {
    char *word = blanks(*at), *end = word + strcspn(word, " \t");
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Cuts the last value off LINE: a word, or "Idle (0)". */
static char *last_value(char *line) {
    size_t n = strlen(line);
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    line[n] = '\0';
    size_t at = n;
    while (at && !isspace((unsigned char)line[at - 1]))
        at--;
    if (line[at] == '(') {
        while (at && isspace((unsigned char)line[at - 1]))
            at--;
        while (at && !isspace((unsigned char)line[at - 1]))
            at--;
    }
    if (at)
        line[at - 1] = '\0';
    return line + at;
}

/* " GPU activities:   54.23%  542.36ms       100  5.4236ms  5.0000ms  6.0000ms  kernel(float*)" */
static bool summary_row(rp_nvprof_text *text, char *at, const char **cells) {
    char *colon = strstr(at, ":  ");
    char *percent = strchr(at, '%');
    if (colon && (!percent || colon < percent)) {
        *colon = '\0';
        snprintf(text->section, sizeof text->section, "%s", blanks(at));
        at = colon + 1;
    }
    cells[0] = text->section[0] ? text->section : "GPU activities";
    for (int i = 1; i < RP_NVPROF_TEXT_CELLS - 1; i++)
        cells[i] = first_word(&at);
    cells[RP_NVPROF_TEXT_CELLS - 1] = blanks(at);
    return strchr(cells[1], '%') && isdigit((unsigned char)cells[3][0]) && *blanks(at);
}

/* "          1       dram_read_bytes    Total bytes read from DRAM        100         100    100"
 */
static bool metric_row(rp_nvprof_text *text, char *at, const char **cells) {
    cells[0] = text->device;
    cells[1] = text->kernel;
    cells[2] = first_word(&at);
    cells[3] = first_word(&at);
    for (int i = RP_NVPROF_TEXT_CELLS - 1; i > 4; i--)
        cells[i] = last_value(at);
    cells[4] = at;
    return text->kernel && isdigit((unsigned char)cells[2][0]) && cells[7][0];
}

bool rp_nvprof_text_row(rp_nvprof_text *text, const char *line, size_t length,
                        const char *cells[RP_NVPROF_TEXT_CELLS], bool *no_memory) {
    static const char device[] = "Device \"", kernel[] = "Kernel: ";
    char *copy = copy_line(text, line, length);
    *no_memory = !copy;
    if (!copy)
        return false;
    char *at = blanks(copy);
    if (text->table == RP_TEXT_SUMMARY)
        return summary_row(text, at, cells);
    if (text->table != RP_TEXT_METRICS)
        return false;
    if (!strncmp(at, device, sizeof device - 1)) {
        at += sizeof device - 1;
        snprintf(text->device, sizeof text->device, "%.*s", (int)strcspn(at, "\""), at);
        return false;
    }
    if (!strncmp(at, kernel, sizeof kernel - 1)) {
        free(text->kernel);
        text->kernel = strdup(at + sizeof kernel - 1);
        *no_memory = !text->kernel;
        return false;
    }
    return metric_row(text, at, cells);
}

void rp_nvprof_text_free(rp_nvprof_text *text) {
    free(text->buffer);
    free(text->kernel);
}
