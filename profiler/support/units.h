/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for people: the one place where a value gets its prefix. Decimal prefixes everywhere
 * (1 TB/s is 1e12 B/s), three significant digits. NaN prints as "n/a". Independent of the locale.
 */
#ifndef RP_SUPPORT_UNITS_H
#define RP_SUPPORT_UNITS_H

#include <stddef.h>

/* "1.23 TB/s" of 1.23e12 and "B/s"; UNIT may be "": "1.23 T". Values under 1 take m, µ, n, p.
 * Returns BUFFER; 32 bytes hold any number with a unit of up to 15 bytes, longer text is cut. */
char *rp_format_si(char *buffer, size_t size, double value, const char *unit);

/* "12.3 µs" of 12.3e-6 s; from 120 s on "3 min 20 s", "2 h 05 min". */
char *rp_format_time(char *buffer, size_t size, double seconds);

/* "81.2 %" of 0.812; under 10 % one digit more; "<0.01 %" of what is too small to show. */
char *rp_format_percent(char *buffer, size_t size, double fraction);

/* "12 345 678" with thin groups of three. */
char *rp_format_count(char *buffer, size_t size, unsigned long long count);

/* Three significant digits without a prefix: "153", "4.83", "0.0127", "1.2e+09" beyond a million.
 */
char *rp_format_number(char *buffer, size_t size, double value);

#endif
