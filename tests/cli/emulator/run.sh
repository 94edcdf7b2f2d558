#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One test program of the emulated device: builds programs/NAME.cu with nvcc against the shared
# runtime, runs it behind the front door, and holds it against the comments in its source:
#   // FLAGS: nvcc flags      // ALSO: a further source file     // DEVICES: what to emulate
#   // DRIVER: it is linked with the driver's door too
#   // EXIT: the program's exit code, if not 0
#   // COUNTS: a piece of the counts file   // STDERR: and // STDOUT: a piece of the output
# Usage: run.sh NVCC SOURCE_FOLDER DOOR_FOLDER WORK_FOLDER NAME. Exit 77: skipped, no nvcc.
nvcc=$1 source=$2/programs door=$3 work=$4/$5 name=$5
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
[ -f "$door/libcudart.so.13" ] || { echo "no front door in $door"; exit 1; }

said() { sed -n "s|^// $1: ||p" "$source/$name.cu"; }

rm -rf "$work" && mkdir -p "$work" || exit 1
also=$(said ALSO)
driver=
[ -z "$(said DRIVER)" ] || driver="-Xlinker --allow-shlib-undefined -Xlinker $door/libcuda.so.1"
# shellcheck disable=SC2046,SC2086 # flags are words
"$nvcc" -cudart shared -std=c++17 $(said FLAGS) $driver -I "$source" -o "$work/program" \
    "$source/$name.cu" ${also:+"$source/$also"} >"$work/build" 2>&1 ||
    { cat "$work/build"; echo "does not build"; exit 1; }

devices=$(said DEVICES)
LD_PRELOAD="${PRELOAD_FIRST:+$PRELOAD_FIRST:}$door/libcudart.so.13" ASAN_OPTIONS=detect_leaks=0 \
    LD_LIBRARY_PATH="$door${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    ROOFPROF_EMU_DEVICE="${devices:-H100}" \
    ROOFPROF_EMU_COUNTS="$work/counts" ROOFPROF_EMU_THREADS=2 \
    "$work/program" >"$work/stdout" 2>"$work/stderr"
code=$?
cat "$work/stdout" "$work/stderr"
exit=$(said EXIT)
[ $code = "${exit:-0}" ] || { echo "exit code $code"; exit 1; }

status=0
expect() { # WHAT FILE
    said "$1" >"$work/expected"
    while IFS= read -r piece; do
        grep -qF -e "$piece" "$2" || { echo "not in $2: $piece"; status=1; }
    done <"$work/expected"
}
expect STDOUT "$work/stdout"
expect STDERR "$work/stderr"
expect COUNTS "$work/counts"
exit $status
