#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/gpu-check.sh holds against closed forms, on an emulated device: it names every workload
# (but for check_counts, which is none), the counts of each pass compare.py, and a tenth of the FLOPs would
# not.    compare_test.sh SOURCE BUILD
set -u
source=$1 build=$2 status=0 seen=0
[ -x "$build/tests/workloads/saxpy" ] || { echo "skipped: no workloads (is there an nvcc?)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; status=1; }
export ROOFPROF_HWDB=$source/hwdb ROOFPROF_EMULATOR=$build/lib/emulator
export ROOFPROF_TRACER=$build/profiler/tracer/libroofprof_tracer.so

sed -n 's/^ *for program in \(.*\); do$/\1/p' "$source/scripts/gpu-check.sh" | tr -cs 'a-z_' '\n' >"$work/named"
while read -r program; do
    name=$(basename "$program")
    grep -qx "$name" "$work/named" || { fail "gpu-check.sh does not run $name"; continue; }
    arguments=()
    [ "$name" != train ] || arguments=(--steps 3)
    "$program" "${arguments[@]}" --expect >"$work/expect.json" || fail "$name --expect"
    "$build/profiler/roofprof" run -q --emulate H200 --mode replay -o "$work/$name.roof" "$program" \
        "${arguments[@]}" >"$work/out" 2>&1 || { cat "$work/out"; fail "$name is not profiled"; continue; }
    python3 "$source/tests/gpu/compare.py" "$work/expect.json" "$work/$name.roof" >"$work/out" ||
        { cat "$work/out"; fail "counts of $name"; }
    sed -E 's/"flops_fp32":([1-9][0-9]*)/"flops_fp32":\10/g' "$work/expect.json" >"$work/more.json"
    if ! cmp -s "$work/expect.json" "$work/more.json"; then
        python3 "$source/tests/gpu/compare.py" "$work/more.json" "$work/$name.roof" >"$work/out" &&
            fail "$name: a tenth of the FLOPs passes"
        seen=$((seen + 1))
    fi
done < <(find "$build/tests/workloads" -maxdepth 1 -type f -perm -u+x ! -name check_counts | sort)
[ $seen -ge 8 ] || fail "FLOPs of $seen workloads only"
exit $status
