/* SPDX-License-Identifier: Apache-2.0
 *
 * Switches by environment variables: strictness, refusals, version; and how a broken rule is said.
 */
#include "emulator/cupti/door.h"
#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- Refusals --------------------------------------------------------------------------------
 */

/* Names for what users mean without knowing the function. */
static const struct {
    const char *group, *function;
} groups[] = {{"subscribe", "Subscribe_v2"},
              {"enable", "ActivityEnable"},
              {"flush", "ActivityFlushAll"},
              {"profiler", "ProfilerInitialize"},
              {"profiler", "RangeProfilerEnable"}};

static bool names_function(const char *word, size_t length, const char *function) {
    if (strlen(function) == length && strncasecmp(word, function, length) == 0)
        return true;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strlen(groups[i].group) == length && !strncasecmp(word, groups[i].group, length) &&
            !strcmp(groups[i].function, function))
            return true;
    return false;
}

static cupti_result act(const char *action) {
    if (!strncmp(action, "crash", 5)) {
        raise(SIGSEGV);
    } else if (!strncmp(action, "slow:", 5)) {
        long ms = strtol(action + 5, NULL, 10);
        struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
    } else {
        return (cupti_result)strtol(action, NULL, 10);
    }
    return CUPTI_OK;
}

cupti_result switch_of(const char *function) {
    const char *at = getenv("ROOFPROF_EMU_CUPTI_REFUSE");
    const char *name = strncmp(function, "cupti", 5) ? function : function + 5;
    while (at && *at) {
        size_t word = strcspn(at, "=,");
        if (at[word] == '=' && names_function(at, word, name)) {
            cupti_result result = act(at + word + 1);
            if (result)
                return failed(result);
        }
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return CUPTI_OK;
}

/* ---- The last error --------------------------------------------------------------------------
 */

static _Thread_local cupti_result last;

cupti_result failed(cupti_result result) {
    last = result;
    return result;
}

CUPTI_EXPORT(cuptiGetLastError, void) {
    cupti_result result = last;
    last = CUPTI_OK;
    return result;
}

/* ---- Strictness ------------------------------------------------------------------------------
 */

bool strict(void) {
    const char *value = getenv("ROOFPROF_EMU_STRICT");
    return value && *value && strcmp(value, "0") != 0;
}

double strict_timeout_s(void) {
    const char *value = getenv("ROOFPROF_EMU_STRICT_TIMEOUT");
    double seconds = value ? strtod(value, NULL) : 0;
    return seconds > 0 ? seconds : 10;
}

void complain(const char *severity, const char *rule, const char *format, ...) {
    char what[768], line[1024];
    const emu_doors *d = doors();
    va_list arguments;
    if (!strict())
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "CUPTI: %s [%s]", what, rule);
    if (d)
        d->say(severity, line);
    else
        fprintf(stderr, "roofprof: emulated device: %s\n", line);
}

cupti_result not_here(const char *function) {
    cupti_result switched = switch_of(function);
    complain("warning", "not-supported", "%s is not there on an emulated device", function);
    return switched ? switched : failed(CUPTI_NOT_SUPPORTED);
}

/* ---- Version ---------------------------------------------------------------------------------
 */

uint32_t version(void) {
    const char *value = getenv("ROOFPROF_EMU_CUPTI_VERSION");
    long wanted = value ? strtol(value, NULL, 10) : 0;
    return wanted > 0 ? (uint32_t)wanted : DOOR_CUPTI >= 13 ? VERSION_13_0 + 1 : 22;
}

CUPTI_EXPORT(cuptiGetVersion, uint32_t *out) {
    CUPTI_SWITCH();
    if (!out)
        return CUPTI_INVALID_PARAMETER;
    *out = version();
    return CUPTI_OK;
}

static const char *result_name(cupti_result result) {
    switch (result) {
#define RESULT(code, name)                                                                         \
    case code:                                                                                     \
        return #name;
#include "emulator/cupti/results.inc"
#undef RESULT
    default:
        return NULL;
    }
}

CUPTI_EXPORT(cuptiGetResultString, cupti_result result, const char **text) {
    if (!text || !(*text = result_name(result)))
        return CUPTI_INVALID_PARAMETER;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetErrorMessage, cupti_result result, const char **text) {
    return cuptiGetResultString(result, text);
}
