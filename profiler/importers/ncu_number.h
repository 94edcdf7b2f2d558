/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and units as Nsight Compute prints them. Its numbers follow the locale of the machine
 * that ran it: "1,209,252.43" and "1.209.252,43" are the same value, and "117.344" alone may be
 * either 117 or 117 thousand. So a number has a shape, which says under which locales it can be
 * read, and an importer decides the locale of a file from the shapes of all its cells. Units are
 * printed base
 * ("ns", "byte") or scaled ("usecond", "Mbyte", K = 1000); both become SI base units here.
 *
 * Pure functions: no state, no allocation, any bytes accepted.
 */
#ifndef RP_IMPORTERS_NCU_NUMBER_H
#define RP_IMPORTERS_NCU_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ncu_locale {
    NCU_LOCALE_UNKNOWN,
    NCU_LOCALE_POINT, /* 1,234.5 */
    NCU_LOCALE_COMMA  /* 1.234,5 */
} ncu_locale;

typedef enum ncu_shape {
    NCU_TEXT,    /* no number: "PolicySpread", "0x3", "12.1.0" */
    NCU_MISSING, /* "", "n/a", "nan", "inf" */
    NCU_PLAIN,   /* the same value in every locale: "1234", "1 234" */
    NCU_POINT,   /* a number with a decimal point only: "65.77", "1,342,177", "1,234.5", "1.5e3" */
    NCU_COMMA,   /* a number with a decimal comma only: "65,77", "1.342.177", "1.234,5" */
    NCU_EITHER   /* one separator before three digits, "117.344": the locale must tell */
} ncu_shape;

/* The shape of the LENGTH bytes at TEXT. *VALUE is set for PLAIN, POINT and COMMA, and for EITHER
 * if LOCALE is known; NaN otherwise. Values of up to 15 digits are exact decimal conversions.
 * Space, no-break space and apostrophe between digits are grouping in any locale. *DECIMALS (may be
 * NULL) is the number of digits after the decimal mark: printed values are rounded to half of the
 * last. */
ncu_shape ncu_number_read(const char *text, size_t length, ncu_locale locale, double *value,
                          int *decimals);

/* How a printed value becomes SI: value * multiply / divide, in UNIT ("s", "byte", "Hz", "1" for
 * percentages, "byte/s", "inst" ...). Division keeps whole nanoseconds correctly rounded. */
typedef struct ncu_unit {
    char name[24];
    double multiply, divide;
} ncu_unit;

/* False if the unit's scale cannot be told ("MB": 1000 or 1024?). A word that is not known and
 * carries no known prefix stands for itself, with scale 1. */
bool ncu_unit_parse(const char *text, size_t length, ncu_unit *unit);

double ncu_unit_apply(const ncu_unit *unit, double value);

/* Units in which a value is a whole number of things, when not scaled: a fraction there is
 * impossible, so that "2.508" byte must be 2508. */
bool ncu_unit_is_count(const char *text, size_t length);

/* The base unit, as ncu prints it, that the name of a raw metric implies ("dram__bytes.sum":
 * "byte", "gpu__time_duration.sum": "ns"): what a report holds and what a table without units must
 * hold. NULL if NAME is not a raw metric name (those contain "__"), "" if the metric has no
 * dimension. */
const char *ncu_unit_of_metric(const char *name, size_t length);

#endif
