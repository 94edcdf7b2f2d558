#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts are the same each time: five runs of programs/NAME.cu, by one and by two host threads in turn,
# must give the same output (device addresses are in it) and the same launches, to the last digit of what
# is modelled.
# Usage: repeat.sh NVCC SOURCE_FOLDER DOOR_FOLDER WORK_FOLDER NAME. Exit 77: skipped, no nvcc.
nvcc=$1 source=$2/programs/$5.cu door=$3 work=$4/$5-repeated
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }

said() { sed -n "s|^// $1: ||p" "$source"; }

rm -rf "$work" && mkdir -p "$work" || exit 1
# shellcheck disable=SC2046 # flags are words
"$nvcc" -cudart shared -std=c++17 $(said FLAGS) -o "$work/program" "$source" >"$work/build" 2>&1 ||
    { cat "$work/build"; echo "does not build"; exit 1; }

status=0
for run in 1 2 3 4 5; do
    LD_PRELOAD="${PRELOAD_FIRST:+$PRELOAD_FIRST:}$door/libcudart.so.13" ASAN_OPTIONS=detect_leaks=0 \
        LD_LIBRARY_PATH="$door${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        ROOFPROF_EMU_DEVICE="$(said DEVICES)" ROOFPROF_EMU_COUNTS="$work/counts" \
        ROOFPROF_EMU_THREADS=$((run % 2 + 1)) "$work/program" >"$work/$run" 2>&1 ||
        { cat "$work/$run"; echo "run $run fails"; exit 1; }
    grep '"record":"launch"' "$work/counts" >>"$work/$run" || { echo "run $run: no launches"; exit 1; }
    cmp "$work/1" "$work/$run" || { diff "$work/1" "$work/$run"; status=1; }
done
grep -q '"dram_[a-z_]*":[1-9]' "$work/1" || { echo "no DRAM traffic is told"; status=1; }
exit $status
