/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON writer; see json.h.
 */
#include "output/json.h"

#include "support/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

char *rp_shortest(double value, char buffer[RP_SHORTEST]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, RP_SHORTEST, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

static void write_escaped(rp_json *json, const char *text) {
    size_t length = strlen(text);
    fputc('"', json->file);
    for (size_t i = 0; i < length;) {
        size_t n;
        int32_t code = rp_text_decode(text + i, length - i, &n);
        if (code < 0)
            fprintf(json->file, "\\\\x%02x", (unsigned char)text[i]);
        else if (code == '"' || code == '\\')
            fprintf(json->file, "\\%c", code);
        else if (code == '\n')
            fputs("\\n", json->file);
        else if (code == '\t')
            fputs("\\t", json->file);
        else if (code < 0x20 || code == 0x7f || code == 0x2028 || code == 0x2029 ||
                 (json->inside_html && (code == '<' || code == '>' || code == '&')))
            fprintf(json->file, "\\u%04x", (unsigned)code);
        else
            fwrite(text + i, 1, n, json->file);
        i += n;
    }
    fputc('"', json->file);
}

/* Everything that stands before a value: comma, line break, key. */
static void before(rp_json *json, const char *key) {
    if (json->depth > 0) {
        if (!json->empty[json->depth - 1])
            fputc(',', json->file);
        json->empty[json->depth - 1] = false;
        fprintf(json->file, "\n%*s", json->depth * 2, "");
    }
    if (key) {
        write_escaped(json, key);
        fputs(": ", json->file);
    }
}

static void open_value(rp_json *json, const char *key, char opener, char closer) {
    before(json, key);
    fputc(opener, json->file);
    if (json->depth < RP_JSON_DEPTH) {
        json->closer[json->depth] = closer;
        json->empty[json->depth] = true;
        json->depth++;
    }
}

void rp_json_start(rp_json *json, FILE *file) {
    memset(json, 0, sizeof *json);
    json->file = file;
}

void rp_json_object(rp_json *json, const char *key) {
    open_value(json, key, '{', '}');
}

void rp_json_array(rp_json *json, const char *key) {
    open_value(json, key, '[', ']');
}

void rp_json_close(rp_json *json) {
    if (json->depth == 0)
        return;
    json->depth--;
    if (!json->empty[json->depth])
        fprintf(json->file, "\n%*s", json->depth * 2, "");
    fputc(json->closer[json->depth], json->file);
    if (json->depth == 0)
        fputc('\n', json->file);
}

void rp_json_string(rp_json *json, const char *key, const char *value) {
    before(json, key);
    if (value)
        write_escaped(json, value);
    else
        fputs("null", json->file);
}

void rp_json_number(rp_json *json, const char *key, double value) {
    char buffer[RP_SHORTEST];
    before(json, key);
    fputs(isfinite(value) ? rp_shortest(value, buffer) : "null", json->file);
}

void rp_json_integer(rp_json *json, const char *key, int64_t value) {
    before(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void rp_json_count(rp_json *json, const char *key, uint64_t value) {
    before(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void rp_json_bool(rp_json *json, const char *key, bool value) {
    before(json, key);
    fputs(value ? "true" : "false", json->file);
}

void rp_json_null(rp_json *json, const char *key) {
    before(json, key);
    fputs("null", json->file);
}
