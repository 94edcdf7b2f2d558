#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor.sh ROOFPROF FAKE_CUPTI DRIVER: the findings follow what is there.
set -u
roofprof=$1 cupti=$2 driver=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_DATA_HOME=$folder/none ASAN_OPTIONS=detect_leaks=0
failures=0
has() { grep -q -- "$1" "$folder/out" || { echo "not said: $1"; cat "$folder/out"; failures=$((failures + 1)); }; }

# A driver with an H100 and a CUPTI that can only trace.
LD_LIBRARY_PATH=$driver ROOFPROF_CUPTI=$cupti "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
has "ok driver: CUDA 12.8"
has "ok GPU 0: NVIDIA H100 80GB HBM3: in the hardware database as H100-SXM5-80GB"
has "version 26"
LD_LIBRARY_PATH=$driver ROOFPROF_CUPTI=$cupti "$roofprof" doctor --format json >"$folder/out"
python3 -c "import json,sys; d=json.load(open(sys.argv[1])); assert d['schema']=='roofprof.doctor/1' and d['gpu'] is True" \
    "$folder/out" || failures=$((failures + 1))

# Counters are tried: what is refused is said with its remedy; a crash or a hang is only that.
tried() { # tried FAKE_PROBE TEXT
    FAKE_PROBE=$1 LD_LIBRARY_PATH=$driver ROOFPROF_CUPTI=$cupti "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
    tr -s ' \n' ' ' <"$folder/out" >"$folder/flat"
    mv "$folder/flat" "$folder/out"
    has "$2"
}
tried "" "ok counters, tried: a small kernel was counted; kernels can be traced in the same run"
FAKE_STRICT=1 tried "" "counted; tracing pauses for the launches that are counted"
FAKE_LOST_RECORDS=1 tried "" "note counters, tried: a small kernel was counted; tracing and counting in one run do not go together; --runs 2"
tried cuptiRangeProfilerEnable=35 "note counters, tried: refused (35 .*NVreg_RestrictProfilingToAdminUsers"
tried cuptiRangeProfilerEnable=26 "refused (26 HARDWARE_BUSY"
tried cuptiRangeProfilerEnable=crash "note counters, tried: there are none: it crashed"
FAKE_CONTEXT=46 tried "" "the device is in exclusive mode and taken"

# Nothing of it: each gap with its remedy, and no crash.
ROOFPROF_CUPTI=/nonexistent PATH=/nonexistent "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
has "gnuplot is not installed; install it"
mkdir -p "$folder/spoiled/roofprof"
echo junk >"$folder/spoiled/roofprof/ceilings.csv"
XDG_DATA_HOME=$folder/spoiled "$roofprof" doctor | tr -s ' \n' ' ' >"$folder/out" || failures=$((failures + 1))
has "no column \"junk\"; correct that file, or take it away"

# The emulated device: where it is, or what to do.
mkdir "$folder/emulated"
ROOFPROF_EMULATOR=$folder/emulated "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
has "missing emulated device: ROOFPROF_EMULATOR=$folder/emulated: no libcudart"
: >"$folder/emulated/libcudart.so.13"
ROOFPROF_EMULATOR=$folder/emulated "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
has "ok emulated device: $folder/emulated"
ROOFPROF_EMULATOR=/nonexistent "$roofprof" doctor >"$folder/out" || failures=$((failures + 1))
has "missing emulated device: ROOFPROF_EMULATOR=/nonexistent"
"$roofprof" doctor too much >/dev/null 2>&1
[ $? -eq 2 ] || failures=$((failures + 1))
exit $((failures > 0))
