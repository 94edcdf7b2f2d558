#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what the manual promises of speed and memory, each against something that runs here and
# now. `scripts/bench.sh` runs every section, `scripts/bench.sh import capture` some; a section is a
# function bench_NAME below. Prints one line a figure and, at the end, which promises were not kept
# (exit 1). BUILD is the build folder (default: build), BENCH_MB the size of the large CSV.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${BUILD:-build}")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/roofprof-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
broken=0

# figure NAME VALUE UNIT [RELATION LIMIT]: prints a figure and holds it against its promise.
figure() {
    local name=$1 value=$2 unit=$3 relation=${4:-} limit=${5:-} verdict=""
    if [ -n "$relation" ]; then
        if awk -v a="$value" -v b="$limit" "BEGIN { exit !(a $relation b) }"; then
            verdict="  (promised: $relation $limit)"
        else
            verdict="  (promised: $relation $limit, NOT KEPT)"
            broken=1
        fi
    fi
    printf '%-58s %10s %s%s\n' "$name" "$value" "$unit" "$verdict"
}

# measure COMMAND...: sets $seconds, $mib (peak memory) and $cpu (seconds of processor time, which a
# busy machine does not blur) of a command that must succeed.
measure() {
    python3 - "$scratch/measured" "$@" <<'PYTHON'
import resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode
seconds = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = used.ru_utime + used.ru_stime
open(sys.argv[1], "w").write(f"{seconds:.2f} {used.ru_maxrss / 1024:.0f} {cpu:.2f}\n")
sys.exit(code)
PYTHON
    read -r seconds mib cpu <"$scratch/measured"
}

ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / (b > 0 ? b : 0.001) }'
}

# An Nsight Compute CSV, against the loop that people write: csv.DictReader, summing.
bench_import() {
    local megabytes=${BENCH_MB:-500} csv=$scratch/ncu.csv loop
    python3 tests/bench/ncu_csv.py make "$megabytes" "$csv" 2>/dev/null
    cat "$csv" >/dev/null
    measure python3 tests/bench/ncu_csv.py sum "$csv" 2>/dev/null
    loop=$seconds
    figure "csv.DictReader loop, $megabytes MB of Nsight Compute CSV" "$loop" s
    measure "$build/profiler/roofprof" import "$csv" -o "$scratch/ncu.roof"
    figure "roofprof import, the same file" "$seconds" s
    figure "  times as fast" "$(ratio "$loop" "$seconds")" "" ">=" 2
    figure "  peak memory" "$mib" MiB "<=" 256
    figure "  capture" "$(($(stat -c %s "$scratch/ncu.roof") / 1000000))" MB
    rm -f "$csv" "$scratch/ncu.roof"
}

# A capture of 10 million launches: written through the API, then reported on.
bench_capture() {
    local launches=10000000 file=$scratch/large.roof filter
    measure "$build/tests/bench/capture_bench" make "$launches" "$file"
    figure "writing a capture of $launches launches" "$seconds" s
    figure "  peak memory" "$mib" MiB "<=" 1024
    figure "  size" "$(($(stat -c %s "$file") / 1000000))" MB "<=" 600
    measure "$build/tests/bench/capture_bench" load "$file" all
    figure "loading it from the summaries" "$seconds" s "<=" 1
    for filter in kernel window range; do
        measure "$build/tests/bench/capture_bench" load "$file" "$filter"
        figure "loading it filtered by $filter" "$seconds" s "<=" 10
        figure "  peak memory" "$mib" MiB "<=" 1024
    done
    measure "$build/profiler/roofprof" report "$file" --format json
    figure "roofprof report of it" "$seconds" s "<=" 1
    measure "$build/profiler/roofprof" report "$file" --kernel '*layer1*' --format json
    figure "roofprof report --kernel of it" "$seconds" s "<=" 10
    figure "  peak memory" "$mib" MiB "<=" 1024
    rm -f "$file"
}

# A Kineto trace: bounded memory, whatever its size.
bench_kineto() {
    local megabytes=$((${BENCH_MB:-500} / 2)) trace=$scratch/trace.json loop
    python3 tests/bench/kineto_trace.py "$megabytes" >"$trace"
    measure python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$trace"
    loop=$seconds
    figure "json.load of a Kineto trace, $megabytes MB" "$loop" s
    figure "  peak memory" "$mib" MiB
    measure "$build/profiler/roofprof" import "$trace" -o "$scratch/trace.roof"
    figure "roofprof import, the same file" "$seconds" s
    figure "  peak memory" "$mib" MiB "<=" 256
    rm -f "$trace" "$scratch/trace.roof"
}

# The tracer's own code for a kernel record, on one core, and its spool into a capture.
bench_tracer() {
    local records=${BENCH_RECORDS:-10000000} cost bytes spool
    { read -r cost bytes; read -r spool; } < <("$build/tests/bench/tracer_bench" "$records" "$scratch")
    figure "a kernel record, from CUPTI's buffer to the spool" "$cost" ns "<=" 200
    figure "  records a second" "$(awk -v n="$cost" 'BEGIN { printf "%.1f", 1e3 / n }')" "million" ">=" 5
    figure "  spool" "$bytes" "bytes a record" "<=" 32
    measure "$build/profiler/roofprof" recover "$spool" -o "$scratch/traced.roof"
    figure "the spool of $records launches to a capture" "$seconds" s
    figure "  processor time" "$cpu" s
    figure "  launches a second of it" "$(awk -v n="$records" -v s="$cpu" 'BEGIN { printf "%.2f", n / s / 1e6 }')" "million" ">=" 1
    figure "  peak memory" "$mib" MiB
    rm -f "$spool" "$scratch/traced.roof"
}

# The emulated device, one core unless said: instructions a second with counting off, what counting
# costs, and what a second host thread brings. The best of three runs each.
bench_emulator() {
    local nvcc door kernel launches counted off alone both instructions
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    door=$(find "$build/lib/emulator" -name 'libcudart.so.*' 2>/dev/null | sort -V | tail -n 1)
    if ! [ -x "$nvcc" ] || [ -z "$door" ]; then
        echo "left out: it needs nvcc and the emulated device's libcudart in $build/lib/emulator"
        return
    fi
    "$nvcc" -O3 -cudart shared -arch=sm_90 -o "$scratch/emulator_bench" tests/bench/emulator_bench.cu
    # emulated COUNT THREADS COLUMN: the least of column 1 (user CPU seconds) or 2 (seconds)
    emulated() {
        for _ in 1 2 3; do
            LD_PRELOAD=$door ROOFPROF_EMU_DEVICE=H100 ROOFPROF_EMU_COUNT=$1 ROOFPROF_EMU_THREADS=$2 \
                "$scratch/emulator_bench" "$kernel" "$launches"
        done | sort -n -k "$3" | awk -v column="$3" 'NR == 1 { print $column }'
    }
    for kernel in saxpy gemm; do
        launches=50
        [ $kernel = saxpy ] || launches=8
        LD_PRELOAD=$door ROOFPROF_EMU_DEVICE=H100 ROOFPROF_EMU_COUNTS=$scratch/emulated.jsonl \
            "$scratch/emulator_bench" $kernel 1 >/dev/null
        instructions=$(grep -o '"thread_insts":[0-9]*' "$scratch/emulated.jsonl" | sort -u | cut -d : -f 2)
        off=$(emulated 0 1 1)
        counted=$(emulated 1 1 1)
        figure "$kernel, counting off: thread instructions a second" \
            "$(awk -v n="$instructions" -v l="$launches" -v s="$off" 'BEGIN { printf "%.2f", n * l / s / 1e9 }')" G ">=" 1
        figure "  counting and caches, times the CPU time" "$(ratio "$counted" "$off")" "" "<=" 2
        alone=$(emulated 1 1 2)
        both=$(emulated 1 2 2)
        figure "  two host threads, times as fast" "$(ratio "$alone" "$both")" "" ">=" 1.5
    done
}

sections=("$@")
[ ${#sections[@]} -gt 0 ] || mapfile -t sections < <(declare -F | sed -n 's/^declare -f bench_//p')
for section in "${sections[@]}"; do
    if ! declare -F "bench_$section" >/dev/null; then
        echo "bench.sh: no section '$section'; there are: $(declare -F | sed -n 's/^declare -f bench_//p' | xargs)" >&2
        exit 2
    fi
    echo "== $section"
    "bench_$section"
done
exit $broken
