/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user types: the text of a --work file and of a diff's gates, from any bytes. What is taken
 * must hold values that are numbers.
 */
#include "analysis/analysis.h"
#include "analysis/diff.h"
#include "input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_value(const char *expression) {
    static const double shape[6] = {65535, 3, 1, 1024, 1, 1};
    double value;
    if (!expression)
        return;
    if (rp_expression(expression, shape, &value, NULL) == RP_OK && !(value >= 0 && isfinite(value)))
        abort();
    if (rp_expression(expression, NULL, &value, NULL) != RP_OK && !isnan(value))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rp_work_rule *rules;
    size_t n;
    rp_error error = {0};
    rp_gate gate;
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (rp_work_parse("fuzz", text, &rules, &n, &error) == RP_OK) {
        for (size_t i = 0; i < n; i++) {
            check_value(rules[i].flops);
            check_value(rules[i].bytes);
        }
        rp_work_needs_shape(rules, n);
        rp_work_free(rules, n);
    } else if (!error.message[0] || rules || n) {
        abort();
    }
    check_value(text);
    if (rp_gate_parse(text, &gate, &error) == RP_OK && !isfinite(gate.threshold))
        abort();
    free(text);
    return 0;
}
