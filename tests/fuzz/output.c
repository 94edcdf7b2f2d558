/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a kernel's name, shown in every format: no control byte reaches a terminal, no
 * markup a page, no line a CSV; JSON stays JSON.
 */
#include "input.h"
#include "output/table.h"
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static const rp_column columns[] = {{"name", "kernel", RP_LEFT, RP_FLEXIBLE, 0},
                                    {"time_s", "time", RP_RIGHT, 0, 0}};

static char *print(const char *name, rp_format format) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    rp_table *table = rp_table_create(columns, 2);
    rp_table_row(table);
    rp_table_text_as(table, name, name);
    rp_table_number(table, 1e-6, "1 us");
    rp_table_print(table, file, format, (rp_style){.width = 80});
    rp_table_free(table);
    fclose(file);
    return text;
}

static size_t count(const char *text, char c) {
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

/* What NAME adds of each of MARKS to the output, beside a name of letters: nothing. */
static void check(const char *name, rp_format format, const char *marks) {
    char *text = print(name, format), *plain = print("letters", format);
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n')
            abort();
    for (; *marks; marks++)
        if (count(text, *marks) != count(plain, *marks))
            abort();
    free(text);
    free(plain);
}

static void check_json(const char *name) {
    char *text = print(name, RP_FORMAT_JSON), error[256];
    yajl_val root = yajl_tree_parse(text, error, sizeof error);
    if (!root)
        abort();
    yajl_tree_free(root);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *name = malloc(size + 1);
    if (!name)
        abort();
    memcpy(name, data, size);
    name[size] = '\0';
    check(name, RP_FORMAT_TEXT, "\n");
    check(name, RP_FORMAT_CSV, "\n");
    check(name, RP_FORMAT_MD, "<>\n");
    check(name, RP_FORMAT_HTML, "<>\n");
    check_json(name);
    free(name);
    return 0;
}
