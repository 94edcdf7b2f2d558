/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the parent's settings: see settings.h.
 */
#include "tracer/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char space[] = " \t\r\n";

/* The next word of *REST, NUL-terminated in place; NULL: no more. */
static char *word(char **rest) {
    char *start = *rest + strspn(*rest, space);
    char *end = start + strcspn(start, space);
    *rest = *end ? end + 1 : end;
    *end = 0;
    return *start ? start : NULL;
}

/* Everything that is left of the line: globs may hold spaces. */
static char *rest_of(char *rest) {
    char *start = rest + strspn(rest, space), *end = start + strlen(start);
    while (end > start && strchr(space, end[-1]))
        *--end = 0;
    return *start ? start : NULL;
}

static bool append(const char ***list, size_t *count, const char *text) {
    if ((*count & (*count - 1)) == 0) { /* the list's room is the next power of two */
        const char **grown = realloc(*list, (*count ? *count * 2 : 1) * sizeof *grown);
        if (!grown)
            return false;
        *list = grown;
    }
    (*list)[(*count)++] = text;
    return true;
}

/* True: the line is kept. */
static bool read_set(tracer_settings *s, char *rest) {
    metric_set set = {.chips = word(&rest), .profile = word(&rest)};
    for (char *metric; (metric = word(&rest));)
        if (!append(&set.metrics, &set.count, metric))
            goto drop;
    metric_set *grown = realloc(s->sets, (s->set_count + 1) * sizeof *grown);
    if (!grown)
        goto drop;
    s->sets = grown;
    if (!set.count)
        goto drop;
    s->sets[s->set_count++] = set;
    return true;
drop:
    free(set.metrics);
    return false;
}

static tracer_mode mode_of(const char *name) {
    return !strcmp(name, "sampled")  ? MODE_SAMPLED
           : !strcmp(name, "replay") ? MODE_REPLAY
           : !strcmp(name, "rerun")  ? MODE_RERUN
                                     : MODE_TRACE;
}

/* Numbers and flags. */
static void read_value(tracer_settings *s, const char *name, const char *value) {
    if (!strcmp(name, "mode"))
        s->mode = mode_of(value);
    else if (!strcmp(name, "samples"))
        s->samples = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(name, "budget"))
        s->budget = strtod(value, NULL);
    else if (!strcmp(name, "watchdog"))
        s->watchdog_s = strtod(value, NULL);
    else if (!strcmp(name, "probe_limit"))
        s->probe_limit_s = strtod(value, NULL);
    else if (!strcmp(name, "first"))
        s->first = strtoull(value, NULL, 10);
    else if (!strcmp(name, "count"))
        s->count = strtoull(value, NULL, 10);
    else if (!strcmp(name, "start_after"))
        s->start_after_s = strtod(value, NULL);
}

/* True: the line is kept, since the settings point into it. */
static bool read_text(tracer_settings *s, const char *name, const char *value) {
    if (!strcmp(name, "skip"))
        return append(&s->skip, &s->skip_count, value);
    const char **text = !strcmp(name, "probe")           ? &s->probe
                        : !strcmp(name, "configuration") ? &s->configuration
                        : !strcmp(name, "kernel")        ? &s->kernel
                        : !strcmp(name, "range")         ? &s->range
                                                         : NULL;
    if (text)
        *text = value;
    return text != NULL;
}

static bool read_line(tracer_settings *s, char *line) {
    char *rest = line, *name = word(&rest), *value;
    if (!name)
        return false;
    if (!strcmp(name, "set"))
        return read_set(s, rest);
    s->from_api |= !strcmp(name, "from_api");
    s->virtual_clock |= !strcmp(name, "virtual_clock");
    if (!(value = rest_of(rest)))
        return false;
    read_value(s, name, value);
    return read_text(s, name, value);
}

void settings_read(tracer_settings *settings, const char *path) {
    char *line = NULL;
    size_t room = 0;
    *settings = (tracer_settings){.file = path ? path : "",
                                  .samples = 1,
                                  .watchdog_s = 20,
                                  .probe_limit_s = 20,
                                  .count = UINT64_MAX};
    FILE *file = path && *path ? fopen(path, "re") : NULL;
    while (file && getline(&line, &room, file) >= 0)
        if (read_line(settings, line)) {
            line = NULL;
            room = 0;
        }
    free(line);
    if (file)
        fclose(file);
}

bool settings_choose_launches(const tracer_settings *s) {
    return s->range || s->first || s->count != UINT64_MAX || s->start_after_s > 0 || s->from_api;
}

bool settings_set_is_for(const metric_set *set, const char *chip) {
    size_t length = strlen(chip);
    for (const char *c = set->chips; *c; c += strcspn(c, ";"), c += *c == ';')
        if (strcspn(c, ";") == length && !strncmp(c, chip, length))
            return true;
    return false;
}
