/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof emulate DEVICE ...: another way to write `roofprof --emulate DEVICE ...`.
 */
#include "commands/commands.h"

#include "support/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rp_cmd_emulate(int argc, char **argv) {
    static char run[] = "run", option[] = "--emulate", help[] = "--help";
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        char *words[] = {run, help, NULL};
        return rp_cmd_run(2, words);
    }
    if (argc < 2 || argv[1][0] == '-') {
        fputs("roofprof emulate: no DEVICE is given: roofprof emulate DEVICE [OPTION]... PROGRAM "
              "[ARGUMENT]...; `roofprof emulate list` shows what there is\n",
              stderr);
        return RP_USAGE;
    }
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words)
        return RP_INTERNAL;
    words[0] = run;
    words[1] = option;
    memcpy(words + 2, argv + 1, (size_t)argc * sizeof *words); /* its NULL included */
    int code = rp_cmd_run(argc + 1, words);
    free(words);
    return code;
}
