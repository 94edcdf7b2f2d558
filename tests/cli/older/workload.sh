#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: workload.sh ROOFPROF NVCC WORKLOADS NAME [ARGUMENT...]
# A workload on an emulated V100, which is counted by profiler sessions: those of CUDA 12.4's CUPTI,
# which has nothing newer, and those of 13's, whose range profiler does not serve a V100. Counts must
# be the device's own, in every mode that counts. CUDA 13 compiles for sm_75 at least: its PTX is told to be for
# sm_70 (retarget.py). NOT_COMPARED, and what else is checked: tests/cli/tracer/emulated.sh. 77: skipped.
set -u
roofprof=$1 nvcc=$2 workloads=$3 name=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$nvcc" ] || { echo "no nvcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
libraries=$(cd "$(dirname "$nvcc")/.." && pwd)
(   # the compiler runs without the sanitizer's library before it
    unset LD_PRELOAD
    "$nvcc" --compress-mode=none -cudart shared -O3 -Xlinker "-rpath,$libraries/lib64:$libraries/lib" \
        -gencode arch=compute_75,code=compute_75 -o "$folder/75" "$workloads/$name.cu" >"$folder/log" 2>&1
) || { cat "$folder/log"; echo "the compiler cannot build it for sm_75"; exit 77; }
python3 "$here/../tracer/retarget.py" "$folder/75" "$folder/$name" 75 70 || exit 1
chmod +x "$folder/$name"

failures=0
run() { # run VERSION MODE [ARGUMENT...]
    local version=$1 mode=$2 left_out=${NOT_COMPARED-}
    shift 2
    [ "$mode" != sampled ] || left_out=$left_out,shared_bytes
    echo "== CUPTI $version, $mode"
    DEVICE=V100 NOT_COMPARED=$left_out ROOFPROF_CUPTI=$ROOFPROF_EMULATOR/libcupti.so.$version \
        bash "$here/../tracer/emulated.sh" "$roofprof" "$mode" "$folder/$name" "$@" || failures=1
}
for mode in replay sampled rerun; do run 12 $mode "$@"; done
run 13 replay "$@"
exit $failures
