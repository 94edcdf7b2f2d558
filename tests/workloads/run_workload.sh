#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run_workload.sh CHECK_COUNTS LIBCUDART DEVICE PROGRAM [OPTION...]: one test of the emulated
# device. Runs PROGRAM on the emulated DEVICE, where it verifies its own results, and holds what was
# counted against what PROGRAM --expect says. LIBCUDART may be a list for LD_PRELOAD, with the
# sanitizers' libraries first. Exit: the first of the three that is not 0.
set -eu

check_counts=$1
cudart=$2
device=$3
program=$4
shift 4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export ROOFPROF_EMU_DEVICE="$device"
LD_PRELOAD="$cudart" "$program" --expect "$@" > "$work/expect.json"
ROOFPROF_EMU_COUNTS="$work/counts.jsonl" LD_PRELOAD="$cudart" "$program" "$@"
"$check_counts" "$work/expect.json" "$work/counts.jsonl"
