/* SPDX-License-Identifier: Apache-2.0
 *
 * Humanising numbers.
 */
#include "support/units.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits after the point so that VALUE (0 < VALUE) shows three significant ones. */
static int decimals(double value) {
    /* As printed: 9.996 rounds to "10.0", not "10.00". */
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static char *not_known(char *buffer, size_t size) {
    snprintf(buffer, size, "n/a");
    return buffer;
}

char *rp_format_si(char *buffer, size_t size, double value, const char *unit) {
    static const char *const prefixes[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
    enum { NONE = 4, LAST = sizeof prefixes / sizeof *prefixes - 1 };
    if (isnan(value))
        return not_known(buffer, size);
    double magnitude = fabs(value);
    int prefix = NONE;
    if (magnitude > 0 && isfinite(magnitude)) {
        for (; magnitude >= 999.5 && prefix < LAST; prefix++)
            magnitude /= 1000;
        for (; magnitude < 0.9995 && prefix > 0; prefix--)
            magnitude *= 1000;
    }
    const char *space = *prefixes[prefix] || *unit ? " " : "";
    if (magnitude == 0 || !isfinite(magnitude) || magnitude >= 999.5 || magnitude < 0.005)
        snprintf(buffer, size, "%.3g%s%s%s", copysign(magnitude, value), space, prefixes[prefix],
                 unit);
    else
        snprintf(buffer, size, "%.*f%s%s%s", decimals(magnitude), copysign(magnitude, value), space,
                 prefixes[prefix], unit);
    return buffer;
}

char *rp_format_time(char *buffer, size_t size, double seconds) {
    if (isnan(seconds) || fabs(seconds) < 120 || fabs(seconds) >= 1e9)
        return rp_format_si(buffer, size, seconds, "s");
    long whole = lround(fabs(seconds));
    const char *sign = seconds < 0 ? "-" : "";
    if (whole < 7200)
        snprintf(buffer, size, "%s%ld min %02ld s", sign, whole / 60, whole % 60);
    else
        snprintf(buffer, size, "%s%ld h %02ld min", sign, whole / 3600, whole % 3600 / 60);
    return buffer;
}

char *rp_format_percent(char *buffer, size_t size, double fraction) {
    if (isnan(fraction))
        return not_known(buffer, size);
    double percent = 100 * fraction, magnitude = fabs(percent);
    if (magnitude > 0 && magnitude < 0.005)
        snprintf(buffer, size, "%s0.01 %%", percent < 0 ? ">-" : "<");
    else if (magnitude >= 1e9)
        snprintf(buffer, size, "%.3g %%", percent);
    else
        snprintf(buffer, size, "%.*f %%",
                 magnitude < 9.995    ? 2
                 : magnitude < 999.95 ? 1
                                      : 0,
                 percent);
    return buffer;
}

char *rp_format_count(char *buffer, size_t size, unsigned long long count) {
    char digits[24], grouped[40];
    int length = snprintf(digits, sizeof digits, "%llu", count), out = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            grouped[out++] = ' ';
        grouped[out++] = digits[i];
    }
    grouped[out] = '\0';
    snprintf(buffer, size, "%s", grouped);
    return buffer;
}

char *rp_format_number(char *buffer, size_t size, double value) {
    if (isnan(value))
        return not_known(buffer, size);
    double magnitude = fabs(value);
    if (magnitude >= 0.9995 && magnitude < 999999.5)
        snprintf(buffer, size, "%.*f", decimals(magnitude), value);
    else
        snprintf(buffer, size, "%.3g", value);
    return buffer;
}
