#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the man page from what the commands say of themselves, so that it cannot say otherwise.
#
#   scripts/man.sh ROOFPROF VERSION > roofprof.1
set -euo pipefail
roofprof=$1 version=$2

roff() { sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'; }

cat <<ROFF
.\\" Made by scripts/man.sh from the commands' own help.
.TH ROOFPROF 1 "" "roofprof $version" "User Commands"
.SH NAME
roofprof \\- what bounds each CUDA kernel, on a roofline
.SH SYNOPSIS
.B roofprof
[\\fIOPTION\\fR]... \\fIPROGRAM\\fR [\\fIARGUMENT\\fR]...
.br
.B roofprof
\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...
.SH DESCRIPTION
Put before a program, roofprof reports for each of its GPU kernels the time, the FLOPs by precision,
the bytes at each memory level, where it stands under the device's ceilings, what bounds it, and how
much time that costs. Captures of other profilers are read as well.
.SH COMMANDS
ROFF
commands=$("$roofprof" help | sed -n '/^commands:/,/^$/p' | awk 'NR > 1 && NF { print $1 }' | grep -vx help)
for command in $commands; do
    printf '.SS "%s"\n.nf\n' "$command"
    "$roofprof" help "$command" | roff
    printf '.fi\n'
done
cat <<'ROFF'
.SH EXIT STATUS
0 done; 1 a gate failed; 2 usage; 3 bad input; 4 the machine lacks something. A wrapped program's own
code is passed on, 128+n if signal n ended it; 125 roofprof failed, 126 the program cannot be
executed, 127 it was not found.
.SH ENVIRONMENT
.TP
.B ROOFPROF_CUPTI
The libcupti.so that the tracer shall use; nothing else is then looked for.
.TP
.B ROOFPROF_SESSIONS
1: launches are counted by CUPTI's profiler sessions, the older way, where its range profiler is there
too.
.TP
.B ROOFPROF_HWDB, ROOFPROF_PLOTS, ROOFPROF_TRACER, ROOFPROF_EMULATOR
Where the hardware database, the gnuplot scripts, the tracer library and the emulated CUDA libraries
are, if not where they were installed.
.TP
.B XDG_DATA_HOME
Its folder roofprof/ holds the user's own records of devices (default ~/.local/share).
.TP
.B NO_COLOR
No colours in terminals.
.SH FILES
.TP
.B PROGRAM.roof
The capture, an SQLite database; its tables are described in docs/capture.md.
.TP
.B share/doc/roofprof/docs/README.md
Under the prefix of the installation: the manual, a chapter a command.
.SH SEE ALSO
.BR gnuplot (1),
.BR sqlite3 (1)
ROFF
