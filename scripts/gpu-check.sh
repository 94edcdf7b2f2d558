#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can tell, in under six minutes: every mode on programs of known
# work, calibration, a real profile, and the questions that are open without hardware.
#
#   scripts/gpu-check.sh build          here: build-gpu/, linked statically, to be carried there
#   scripts/gpu-check.sh run [OUT]      there: runs everything, leaves logs, captures and records in
#                                       OUT (gpu-check/), ends with 'N passed, N failed'
set -u
cd "$(dirname "$0")/.." || exit 1
build=build-gpu

if [ "${1:-}" = build ]; then
    set -e
    scripts/setup.sh
    cmake -S . -B $build -G Ninja -DROOFPROF_STATIC=ON -DROOFPROF_NVCC="$(scripts/toolchain.sh build/toolchain)"
    cmake --build $build -j "$(nproc)" --target roofprof roofprof_tracer roofprof_probe workloads
    echo "carry $build (and this checkout) to the GPU, then: scripts/gpu-check.sh run"
    exit
fi
[ "${1:-}" = run ] || { sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2; }

out=${2:-gpu-check}
mkdir -p "$out"
out=$(realpath "$out")
roofprof=$PWD/$build/profiler/roofprof
programs=$PWD/$build/tests/workloads
export ROOFPROF_HWDB=$PWD/hwdb ROOFPROF_PLOTS=$PWD/plots XDG_DATA_HOME=$out/data
passed=0 failed=0
exec > >(tee "$out/log") 2>&1

check() { # check WHAT COMMAND...: passes if the command does; a minute at most
    local what=$1 start=$SECONDS
    shift
    if timeout 60 "$@" >"$out/last" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $what ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED  $what (exit $?, $((SECONDS - start)) s)"
        tail -15 "$out/last" | sed 's/^/        /'
    fi
}

echo "== machine"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit --format=csv
grep -s RmProfilingAdminOnly /proc/driver/nvidia/params
check "doctor" "$roofprof" doctor
cp "$out/last" "$out/doctor.txt"

# Counts of known work: the same programs and closed forms as on the emulated device.
echo "== modes on programs of known work"
for program in saxpy stream gemm transpose reduction histogram stencil spmv nbody softmax train; do
    [ -x "$programs/$program" ] || continue
    check "$program alone" "$programs/$program"
    "$programs/$program" --expect >"$out/$program.expect.json" 2>/dev/null
    for mode in trace sampled replay rerun; do
        check "$program, $mode" "$roofprof" -q --mode $mode -o "$out/$program.$mode.roof" "$programs/$program"
    done
    # Two runs of one program must tell of the same launches; replay and rerun count them all.
    for mode in replay rerun; do
        check "$program, counts of $mode" python3 tests/gpu/compare.py "$out/$program.expect.json" "$out/$program.$mode.roof"
    done
done

echo "== how much it costs"
for mode in none trace sampled replay rerun; do
    start=$(date +%s.%N)
    timeout 60 "$roofprof" -q --mode $mode -o "$out/cost.roof" "$programs/train" --steps 200 >/dev/null 2>&1
    echo "train, 200 steps, $mode: $(echo "$(date +%s.%N) - $start" | bc) s"
done

echo "== calibration"
check "calibrate --quick" "$roofprof" calibrate --quick --no-record
check "calibrate" timeout 100 "$roofprof" calibrate --format json
cp "$out/last" "$out/calibration.json"
check "calibrate, as a table" "$roofprof" calibrate --from "$out/calibration.json"
cp "$out/last" "$out/calibration.txt"

echo "== a real program"
if python3 -c 'import torch' 2>/dev/null; then
    for mode in trace sampled; do
        check "PyTorch, $mode" "$roofprof" -q --mode $mode -o "$out/torch.$mode.roof" python3 tests/gpu/step.py
    done
    "$roofprof" report "$out/torch.sampled.roof" | head -40
fi
if command -v ncu >/dev/null; then
    check "ncu on gemm" ncu -f --set full -o "$out/gemm" "$programs/gemm"
    check "report of ncu's file" "$roofprof" report "$out/gemm.ncu-rep"
fi
rm -f "$out/last" "$out/cost.roof"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
