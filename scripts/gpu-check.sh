#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can tell, in under six minutes: calibration, every mode on programs of
# known work, a real profile, and what profiling costs.
#
#   scripts/gpu-check.sh build          here: build-gpu/bundle.tar.xz, all that is run there, to be
#                                       carried there with this checkout
#   scripts/gpu-check.sh run [OUT]      there: runs everything; OUT (gpu-check/) gets a log, the
#                                       calibration and an archive of the captures; ends with
#                                       'N passed, N failed'. What fails or hangs stops nothing else.
#   scripts/gpu-check.sh record OUT     here: the calibration goes into hwdb/measured.csv, and is
#                                       committed
#
# GPU_CHECK_SECONDS: how long all of it may take (330). What there is no time for is said.
# GPU_CHECK_PROGRAMS: the programs of known work (default: all).
# GPU_CHECK_EMULATE: a device to emulate, to try this script on a machine without a GPU.
# GPU_CHECK_BUNDLE: the unpacked bundle.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build-gpu

# Needed there and not to be relied on: the CUDA runtime of the programs, and a CUPTI.
pack() {
    local bundle=$build/bundle folder
    rm -rf "$bundle"
    mkdir -p "$bundle/programs" "$bundle/lib"
    cp $build/profiler/roofprof "$bundle/"
    cp $build/profiler/tracer/libroofprof_tracer.so $build/profiler/tracer/roofprof-probe "$bundle/"
    strip -g "$bundle"/roofprof "$bundle"/*.so "$bundle"/roofprof-probe
    find $build/tests/workloads -maxdepth 1 -type f -perm -u+x ! -name check_counts \
        -exec cp {} "$bundle/programs/" \;
    for folder in "$(dirname "$nvcc")"/../{lib64,lib,extras/CUPTI/lib64,targets/x86_64-linux/lib}; do
        cp -n "$folder"/lib{cudart.so.1?,cupti.so.1?,nvperf_host.so,nvperf_target.so} "$bundle/lib/" 2>/dev/null
    done
    tar -C $build -cJf $build/bundle.tar.xz bundle
    du -h $build/bundle.tar.xz
}

case ${1:-} in
build)
    set -e
    scripts/setup.sh
    nvcc=$(scripts/toolchain.sh build/toolchain)
    cmake -S . -B $build -G Ninja -DROOFPROF_STATIC=ON -DROOFPROF_NVCC="$nvcc"
    cmake --build $build -j "$(nproc)" --target roofprof roofprof_tracer roofprof_probe workloads
    set +e
    pack
    echo "carry $build/bundle.tar.xz and this checkout to the GPU, then: scripts/gpu-check.sh run"
    exit
    ;;
record)
    exec python3 tests/gpu/record.py "${2:?record which OUT?}/calibration.json" hwdb/measured.csv
    ;;
run) ;;
*)
    sed -n '3,20s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac

out=${2:-gpu-check}
mkdir -p "$out/captures"
out=$(realpath "$out")
exec > >(tee "$out/log") 2>&1
bundle=${GPU_CHECK_BUNDLE:-$PWD/$build/bundle}
[ -d "$bundle" ] || tar -C $build -xJf $build/bundle.tar.xz
roofprof=$bundle/roofprof programs=$bundle/programs
export ROOFPROF_HWDB=$PWD/hwdb ROOFPROF_PLOTS=$PWD/plots XDG_DATA_HOME=$out/data
export ROOFPROF_TRACER=$bundle/libroofprof_tracer.so
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ -z "${ROOFPROF_CUPTI:-}" ] && ls "$bundle"/lib/libcupti.so.1? >/dev/null 2>&1 &&
    ROOFPROF_CUPTI=$(ls "$bundle"/lib/libcupti.so.1?) && export ROOFPROF_CUPTI
passed=0 failed=0 skipped=0 budget=${GPU_CHECK_SECONDS:-330}
emulate=() alone=()
if [ -n "${GPU_CHECK_EMULATE:-}" ]; then
    unset ROOFPROF_CUPTI
    emulate=(--emulate "$GPU_CHECK_EMULATE")
    alone=("$roofprof" -q "${emulate[@]}" -o "$out/alone.roof")
fi

# check WHAT SECONDS COMMAND...: passes if the command does, within so many seconds. Its output is in
# $out/last, and, if it fails, in the log.
check() {
    local what=$1 limit=$2 start=$SECONDS code
    shift 2
    if [ $((budget - SECONDS)) -lt 3 ]; then
        skipped=$((skipped + 1))
        echo "skipped $what (no time is left)"
        return 1
    fi
    [ "$limit" -le $((budget - SECONDS)) ] || limit=$((budget - SECONDS))
    timeout -k 5 "$limit" "$@" >"$out/last" 2>&1 </dev/null
    code=$?
    if [ $code -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $what ($((SECONDS - start)) s)"
        return 0
    fi
    failed=$((failed + 1))
    echo "FAILED  $what (exit $code, $((SECONDS - start)) s)"
    tail -25 "$out/last" | sed 's/^/        /'
    return 1
}
show() { # show LINES: the start of what the last check printed
    head -"$1" "$out/last" | sed 's/^/        /'
}

echo "== machine"
uname -srm
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit,ecc.mode.current,mig.mode.current,compute_mode --format=csv
grep -s RmProfilingAdminOnly /proc/driver/nvidia/params
check "doctor" 40 "$roofprof" doctor
show 60
cp "$out/last" "$out/doctor.txt"

echo "== calibration"
check "calibrate --quick" 30 "$roofprof" calibrate "${emulate[@]}" --quick --no-record --format json
cp "$out/last" "$out/quick.json"
if check "calibrate" 110 "$roofprof" calibrate "${emulate[@]}" --format json -o "$out/calibration.json" \
    --plot "$out/calibration.svg"; then
    check "calibrate, as a table" 10 "$roofprof" calibrate --from "$out/calibration.json"
    show 120
    check "calibrate --check of itself" 10 "$roofprof" calibrate --from "$out/calibration.json" \
        --check "$out/calibration.json"
fi

# Counts of known work: the same programs and closed forms as on the emulated device. Those that tell
# most come first.
one_program() { # one_program NAME
    local program=$1 mode
    [ -x "$programs/$program" ] || return
    check "$program alone" 30 "${alone[@]}" "$programs/$program"
    timeout 30 "$programs/$program" --expect >"$out/$program.expect.json" 2>/dev/null
    for mode in trace sampled replay rerun; do
        check "$program, $mode" 40 "$roofprof" run -q "${emulate[@]}" --mode $mode \
            -o "$out/captures/$program.$mode.roof" "$programs/$program"
    done
    # Two runs of one program must tell of the same launches; replay and rerun count them all.
    for mode in replay rerun; do
        check "$program, counts of $mode" 10 python3 tests/gpu/compare.py "$out/$program.expect.json" \
            "$out/captures/$program.$mode.roof"
    done
    rm -f "$out/$program.expect.json"
}
echo "== modes on programs of known work"
for program in ${GPU_CHECK_PROGRAMS:-gemm stream gemm_tensor train saxpy transpose reduction}; do
    one_program "$program"
    if [ "$program" = gemm ]; then
        check "report of gemm" 10 "$roofprof" report "$out/captures/gemm.replay.roof" --explain
        show 60
    fi
    if [ "$program" = gemm ] && [ ${#emulate[@]} -eq 0 ]; then
        # The older way to counters, which a V100 needs, where a newer device has both.
        timeout 30 "$programs/gemm" --expect >"$out/gemm.expect.json" 2>/dev/null
        check "gemm, replay by profiler sessions" 40 env ROOFPROF_SESSIONS=1 "$roofprof" run -q "${emulate[@]}" \
            --mode replay -o "$out/captures/gemm.sessions.roof" "$programs/gemm"
        check "gemm, counts of profiler sessions" 10 python3 tests/gpu/compare.py "$out/gemm.expect.json" \
            "$out/captures/gemm.sessions.roof"
        rm -f "$out/gemm.expect.json"
    fi
done

echo "== a real program"
if [ ${#emulate[@]} -eq 0 ] && timeout 60 python3 -c 'import torch' 2>/dev/null; then
    for mode in trace sampled; do
        check "PyTorch, $mode" 50 "$roofprof" run -q --mode $mode -o "$out/captures/torch.$mode.roof" \
            python3 tests/gpu/step.py
    done
    check "report of PyTorch's step" 10 "$roofprof" report "$out/captures/torch.sampled.roof" \
        --plot "$out/torch.svg"
    show 60
fi
if [ ${#emulate[@]} -eq 0 ] && command -v ncu >/dev/null; then
    check "ncu on gemm" 60 ncu -f --set full --clock-control none -o "$out/captures/gemm" "$programs/gemm" &&
        check "report of ncu's file" 10 "$roofprof" report "$out/captures/gemm.ncu-rep" && show 40
fi

if [ -z "${GPU_CHECK_PROGRAMS:-}" ]; then
    echo "== how much it costs"
    for mode in none trace sampled replay rerun; do
        [ $((budget - SECONDS)) -gt 10 ] || break
        start=$(date +%s%N)
        timeout 40 "$roofprof" run -q "${emulate[@]}" --mode $mode -o "$out/cost.roof" "$programs/train" \
            --steps 200 >/dev/null 2>&1 </dev/null
        echo "train, 200 steps, $mode: exit $?, $((($(date +%s%N) - start) / 1000000)) ms"
    done
    for program in attention layernorm graphs texture softmax histogram stencil spmv nbody; do
        one_program "$program"
    done
fi

rm -f "$out/last" "$out/cost.roof" "$out/alone.roof"
tar -C "$out" -czf "$out/captures.tar.gz" captures && rm -r "$out/captures"
[ -e "$out/data/roofprof/ceilings.csv" ] && cp "$out/data/roofprof/ceilings.csv" "$out/" && rm -r "$out/data"
echo "$passed passed, $failed failed, $skipped skipped, $SECONDS s"
[ $failed -eq 0 ]
