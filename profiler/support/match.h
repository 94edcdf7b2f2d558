/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching names against what a person typed: globs as the shell has them, and POSIX extended
 * regular expressions. Bytes are compared, no locale.
 */
#ifndef RP_SUPPORT_MATCH_H
#define RP_SUPPORT_MATCH_H

#include "support/error.h"
#include <regex.h>
#include <stdbool.h>

/* True if TEXT as a whole matches the glob PATTERN (* ? [a-z] \x). A star also matches slashes. */
bool rp_match_glob(const char *pattern, const char *text);

/* True if TEXT matches one of the globs in LIST, separated by ';'. "*" alone matches NULL as well.
 */
bool rp_match_list(const char *list, const char *text);

/* A compiled regular expression; RP_USAGE with the reason and PATTERN if it cannot be compiled. */
rp_code rp_match_compile(regex_t *regex, const char *pattern, rp_error *error);

#endif
