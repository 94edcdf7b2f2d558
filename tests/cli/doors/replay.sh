#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# replay.sh NVCC PROGRAM.cu FOLDER: collects counters with the tracer on an emulated device, through the
# emulated range profiler, and holds FLOPs and bytes of every kernel against what the device itself
# counted. 77: skipped.
set -u
nvcc=$1 source=$2 folder=$3
command -v "$nvcc" >/dev/null && command -v python3 >/dev/null || exit 77
mkdir -p "$folder" && cd "$folder" || exit 1
name=$(basename "$source" .cu)
if [ ! -x "$name" ] || [ "$source" -nt "$name" ]; then
    "$nvcc" -cudart shared -gencode arch=compute_80,code=compute_80 -o "$name" "$source" || exit 1
fi
library_path=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$(command -v "$nvcc")")/../lib64
export ROOFPROF_EMU_STRICT=1 LD_LIBRARY_PATH=$library_path
rm -f "$name".roof "$name".counts.roof
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST
export ASAN_OPTIONS=detect_leaks=0
"$ROOFPROF" run --emulate A100 --mode replay -q -o "$name.roof" "./$name" >"$name.out" 2>"$name.err" || {
    cat "$name.err"
    exit 1
}
if grep 'CUPTI: ' "$name.err"; then
    echo "$name: the tracer breaks a rule of the strict door"
    exit 1
fi
"$ROOFPROF" report -f json "$name.roof" >"$name.profiled.json" || exit 1
"$ROOFPROF" report -f json "$name.counts.roof" >"$name.counted.json" || exit 1
python3 - "$name" <<'P'
import json, sys
name = sys.argv[1]
profiled, counted = ({k["name"]: k for k in json.load(open(f"{name}.{which}.json"))["kernels"]}
                     for which in ("profiled", "counted"))
bad = [] if profiled.keys() == counted.keys() and profiled else ["the kernels differ"]
compared = 0
for kernel in profiled.keys() & counted.keys():
    a, b = profiled[kernel], counted[kernel]
    if a["launches"] != b["launches"]:
        bad.append(f"{kernel}: {a['launches']} launches, {b['launches']} counted")
    for what in ("flops", "bytes"):
        for key in (a[what] or {}).keys() & (b[what] or {}).keys():
            if a[what][key] is None or b[what][key] is None:
                continue
            compared += b[what][key] > 0
            if abs(a[what][key] - b[what][key]) > 1e-9 * abs(b[what][key]):
                bad.append(f"{kernel}: {what} {key}: {a[what][key]}, counted {b[what][key]}")
if not compared:
    bad.append("nothing was compared")
print("\n".join(bad))
sys.exit(bool(bad))
P
