/* SPDX-License-Identifier: Apache-2.0
 *
 * The subcommands. Each has one file NAME.c here with `int rp_cmd_NAME(int argc, char **argv)`:
 * argv[0] is the command's name, the return value is the exit code (rp_code). The table in main.c
 * lists those that this build holds: profiler/CMakeLists.txt defines RP_COMMAND_NAME for every file
 * that is there, so a command is added by adding its file and its row.
 *
 * A command parses its options (options.h), calls the stages and prints; it neither reads formats
 * nor computes. `--help` of every command comes from the same table as its parser.
 */
#ifndef RP_COMMANDS_COMMANDS_H
#define RP_COMMANDS_COMMANDS_H

int rp_cmd_run(int argc, char **argv);     /* wrap a program; argv[1]… as typed, options first */
int rp_cmd_emulate(int argc, char **argv); /* the same on an emulated device */
int rp_cmd_report(int argc, char **argv);
int rp_cmd_plot(int argc, char **argv);
int rp_cmd_diff(int argc, char **argv);
int rp_cmd_import(int argc, char **argv);
int rp_cmd_merge(int argc, char **argv);
int rp_cmd_recover(int argc, char **argv);
int rp_cmd_devices(int argc, char **argv);
int rp_cmd_compare(int argc, char **argv);
int rp_cmd_plan(int argc, char **argv);
int rp_cmd_calibrate(int argc, char **argv);
int rp_cmd_metrics(int argc, char **argv);
int rp_cmd_doctor(int argc, char **argv);

#endif
