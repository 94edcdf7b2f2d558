/* SPDX-License-Identifier: Apache-2.0
 *
 * The roofprof command: finds the subcommand and hands over. A first word that is no command is a
 * program to wrap; `--` forces that, and options before the program belong to `run`.
 */
#include "commands/commands.h"

#include "commands/options.h"
#include "support/error.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
#ifdef RP_COMMAND_RUN
    {"run", "wrap a program and report its kernels (the default)", rp_cmd_run},
#endif
#ifdef RP_COMMAND_EMULATE
    {"emulate", "the same on an emulated device, without a GPU", rp_cmd_emulate},
#endif
#ifdef RP_COMMAND_REPORT
    {"report", "what bounds each kernel of a capture", rp_cmd_report},
#endif
#ifdef RP_COMMAND_PLOT
    {"plot", "the roofline as a picture, or in the terminal", rp_cmd_plot},
#endif
#ifdef RP_COMMAND_DIFF
    {"diff", "what got slower between two captures, and why; a gate for CI", rp_cmd_diff},
#endif
#ifdef RP_COMMAND_IMPORT
    {"import", "make a capture from other profilers' files", rp_cmd_import},
#endif
#ifdef RP_COMMAND_MERGE
    {"merge", "times from one capture, counts from another", rp_cmd_merge},
#endif
#ifdef RP_COMMAND_RECOVER
    {"recover", "make a capture from what a killed program left behind", rp_cmd_recover},
#endif
#ifdef RP_COMMAND_DEVICES
    {"devices", "the hardware database: devices and their ceilings", rp_cmd_devices},
#endif
#ifdef RP_COMMAND_COMPARE
    {"compare", "ceilings and ridge points of devices side by side", rp_cmd_compare},
#endif
#ifdef RP_COMMAND_PLAN
    {"plan", "will a model fit, and what will bound it", rp_cmd_plan},
#endif
#ifdef RP_COMMAND_CALIBRATE
    {"calibrate", "measure this device's real ceilings", rp_cmd_calibrate},
#endif
#ifdef RP_COMMAND_METRICS
    {"metrics", "which counters give which quantity, on which chip", rp_cmd_metrics},
#endif
#ifdef RP_COMMAND_DOCTOR
    {"doctor", "what works on this machine, and what to do about the rest", rp_cmd_doctor},
#endif
    {NULL, NULL, NULL}};

static const command *find(const char *name) {
    for (const command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void print_help(FILE *file) {
    fputs("roofprof: what bounds each CUDA kernel, on a roofline\n\n"
          "usage: roofprof [OPTION]... PROGRAM [ARGUMENT]...\n"
          "       roofprof COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "commands:\n",
          file);
    for (const command *c = commands; c->name; c++)
        fprintf(file, "  %-10s %s\n", c->name, c->summary);
    fputs(
        "  help       this text; 'help COMMAND' for one command\n\n"
        "  A first word that is no command is a program; '--' before it forces that.\n"
        "  'roofprof COMMAND --help' explains a command; 'roofprof --version' tells the version.\n"
        "\nexit codes: 0 done, 1 a gate failed, 2 usage, 3 bad input, 4 the machine lacks\n"
        "something; a wrapped program's own code is passed on (125 roofprof failed, 126 it\n"
        "cannot be executed, 127 it was not found).\n",
        file);
}

static int help(int argc, char **argv) {
    if (argc < 2) {
        print_help(stdout);
        return RP_OK;
    }
    const command *c = find(argv[1]);
    if (!c) {
        fprintf(stderr, "roofprof help: there is no command '%s'; 'roofprof help' lists them\n",
                argv[1]);
        return RP_USAGE;
    }
    char flag[] = "--help";
    char *arguments[] = {argv[1], flag, NULL};
    return c->run(2, arguments);
}

/* A program that is not there, and has nearly the name of a command, was meant to be one. */
static void suggest(const char *word) {
    if (strchr(word, '/') || word[0] == '-')
        return;
    for (const command *c = commands; c->name; c++)
        if (rp_options_edits(word, strlen(word), c->name, 2) <= 2) {
            fprintf(stderr, "roofprof: did you mean the command '%s'?\n", c->name);
            return;
        }
}

/* argv[0] of a wrapped run is "run"; what follows is as the user typed it. */
static int wrap(int argc, char **argv) {
    static char name[] = "run", emulated[] = "emulate";
    const command *c = find(name);
    if (c) {
        argv[0] = name;
    } else if ((c = find(emulated)) != NULL) {
        argv[0] = emulated;
    } else {
        fputs("roofprof: this build cannot wrap programs, and the first word is none of its "
              "commands; 'roofprof help' lists them\n",
              stderr);
        return RP_USAGE;
    }
    int code = c->run(argc, argv);
    if (code == 127)
        suggest(argv[1]);
    return code;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return RP_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return RP_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("roofprof %s\n", ROOFPROF_VERSION);
        return RP_OK;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    const command *c = find(argv[1]);
    return c ? c->run(argc - 1, argv + 1) : wrap(argc, argv);
}

/* Where standard input, output or error is closed, the next file that is opened takes its number,
 * and messages would go into it. Their places are held by what can neither be read nor written;
 * a wrapped program finds them closed, as it was started with. */
static void hold_standard_streams(void) {
    int fd = -1;
    do
        fd = open("/dev/null", O_PATH | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    int code = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == RP_OK) {
        perror("roofprof: cannot write to standard output");
        return RP_INTERNAL;
    }
    return code;
}
