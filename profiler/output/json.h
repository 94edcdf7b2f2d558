/* SPDX-License-Identifier: Apache-2.0
 *
 * A streaming JSON writer: no tree, no memory that grows. The caller opens and closes objects and
 * arrays; commas, indentation and escapes are taken care of. Unknown numbers (NaN, infinities)
 * become null. Strings may hold any bytes: valid UTF-8 stays as it is, bytes that are no UTF-8
 * become the four visible characters \xNN. Numbers are the shortest text that reads back the same.
 *
 *     rp_json json;
 *     rp_json_start(&json, stdout);
 *     rp_json_object(&json, NULL);
 *     rp_json_string(&json, "name", kernel->name);
 *     rp_json_array(&json, "launches");
 *     rp_json_number(&json, NULL, 12.5);
 *     rp_json_close(&json);
 *     rp_json_close(&json);            // writes the last newline
 *
 * KEY is NULL inside an array (and for the outermost value). Write errors are left to ferror().
 */
#ifndef RP_OUTPUT_JSON_H
#define RP_OUTPUT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RP_JSON_DEPTH 32

typedef struct rp_json {
    FILE *file;
    int depth;
    char closer[RP_JSON_DEPTH]; /* of each open value */
    bool empty[RP_JSON_DEPTH];  /* nothing written in it yet */
    bool inside_html;           /* also escape < > & so that it can stand in a <script> element */
} rp_json;

void rp_json_start(rp_json *json, FILE *file);
void rp_json_object(rp_json *json, const char *key);
void rp_json_array(rp_json *json, const char *key);
void rp_json_close(rp_json *json); /* the innermost open object or array */
void rp_json_string(rp_json *json, const char *key, const char *value); /* NULL: null */
void rp_json_number(rp_json *json, const char *key, double value);
void rp_json_integer(rp_json *json, const char *key, int64_t value);
void rp_json_count(rp_json *json, const char *key, uint64_t value);
void rp_json_bool(rp_json *json, const char *key, bool value);
void rp_json_null(rp_json *json, const char *key);

/* The shortest decimal text that reads back as the same double. */
#define RP_SHORTEST 32
char *rp_shortest(double value, char buffer[RP_SHORTEST]);

#endif
