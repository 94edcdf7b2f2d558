#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu-check.sh on an emulated device: every command that it issues is there, a step that fails
# stops no other, and what it leaves is whole.    check_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
[ -x "$build/tests/workloads/saxpy" ] || { echo "skipped: no workloads (is there an nvcc?)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/out/log" 2>/dev/null; echo "FAILED: $*"; exit 1; }

mkdir -p "$work/bundle/programs" "$work/bundle/lib"
ln -s "$build"/profiler/roofprof "$build"/profiler/tracer/libroofprof_tracer.so \
    "$build"/profiler/tracer/roofprof-probe "$work/bundle/"
ln -s "$build"/tests/workloads/{saxpy,gemm} "$work/bundle/programs/"
printf '#!/bin/sh\nexit 7\n' >"$work/bundle/programs/broken"
chmod +x "$work/bundle/programs/broken"

export GPU_CHECK_BUNDLE=$work/bundle GPU_CHECK_EMULATE=H200 GPU_CHECK_PROGRAMS="saxpy broken gemm"
export ROOFPROF_EMULATOR=$build/lib/emulator
rc=0
"$source/scripts/gpu-check.sh" run "$work/out" >/dev/null || rc=$?
[ $rc = 1 ] || fail "exit $rc, though a program is broken"
# doctor may find fault with this machine: it has no GPU
grep -v broken "$work/out/log" | grep -v '^FAILED  doctor' | grep '^FAILED' && fail "steps that should pass"
for step in 'calibrate --quick' 'calibrate' 'calibrate, as a table' 'calibrate --check of itself' \
    'saxpy alone' 'saxpy, replay' 'saxpy, counts of replay' 'saxpy, counts of rerun' 'gemm, trace' 'gemm, sampled' 'report of gemm'; do
    grep -q "^ok      $step (" "$work/out/log" || fail "no word of $step"
done
grep -q '^FAILED  broken, trace' "$work/out/log" || fail "the broken program passes"
for file in calibration.json quick.json doctor.txt captures.tar.gz; do
    [ -s "$work/out/$file" ] || fail "no $file"
done
tar tzf "$work/out/captures.tar.gz" >"$work/list"
grep -q saxpy.replay.roof "$work/list" || fail "no capture in the archive"

# No time: all is skipped, and said.
GPU_CHECK_SECONDS=2 "$source/scripts/gpu-check.sh" run "$work/none" >/dev/null || true
grep -q '^skipped calibrate' "$work/none/log" || fail "nothing is skipped without time"
