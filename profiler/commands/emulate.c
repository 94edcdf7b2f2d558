/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof emulate DEVICE ...: another way to write `roofprof --emulate DEVICE ...`.
 */
#include "commands/commands.h"

#include "support/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: roofprof emulate DEVICE [OPTION]... PROGRAM [ARGUMENT]...\n"
    "\n"
    "The same as 'roofprof run --emulate DEVICE ...': PROGRAM runs on an emulated device,\n"
    "without a GPU; what it does is counted exactly, its times are modelled. DEVICE is a\n"
    "name of the hardware database, or several: H100:2,A100. 'roofprof emulate list' shows\n"
    "them, 'roofprof run --help' the options, docs/emulator.md what a program needs.\n"
    "\n"
    "examples:\n"
    "  roofprof emulate list\n"
    "  roofprof emulate H100 --plot train.png ./train\n";

int rp_cmd_emulate(int argc, char **argv) {
    static char run[] = "run", option[] = "--emulate";
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return RP_OK;
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
