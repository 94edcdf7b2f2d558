#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `roofprof --emulate` from the outside: exit codes, messages, what it leaves behind.
# Usage: command.sh ROOFPROF NVCC SOURCE_FOLDER WORK_FOLDER. Exit 77: skipped, no nvcc.
roofprof=$1 nvcc=$2 source=$3/programs work=$4
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work" || exit 1
export TMPDIR="$work/tmp"
status=0

# check CODE STDERR_PIECE WORD...: runs the words, holds exit code and stderr against what is said.
check() {
    code=$1 piece=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ $got = "$code" ] || { echo "$*: exit code $got, not $code"; cat err; status=1; }
    [ -z "$piece" ] || grep -qF -e "$piece" err || { echo "$*: stderr lacks: $piece"; cat err; status=1; }
}

"$nvcc" -std=c++17 -I "$source" -o static "$source/saxpy.cu" || exit 1
"$nvcc" -cudart shared -std=c++17 -I "$source" -o saxpy "$source/saxpy.cu" || exit 1
"$nvcc" -cudart shared -std=c++17 -I "$source" -gencode arch=compute_90,code=sm_90 -o bare \
    "$source/no_ptx.cu" || exit 1

cat >query.cu <<'CU'
#include <cstdio>
#include <cuda_runtime.h>
int main() {
    cudaDeviceProp p;
    return cudaGetDeviceProperties(&p, 0) != cudaSuccess || std::printf("%s\n", p.name) < 4;
}
CU
"$nvcc" -cudart shared -o query query.cu || exit 1

# Under a sanitizer: its library first in every process, whose leaks are not ours to count.
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD="$PRELOAD_FIRST"
export ASAN_OPTIONS=detect_leaks=0

check 0 'saxpy' "$roofprof" --emulate H100 ./saxpy
[ -f saxpy.roof ] || { echo "no capture"; status=1; }
check 0 '' "$roofprof" --emulate A100 -o other.roof --report report.json --format json ./saxpy
grep -q '"fp32_vector": *2097152' report.json || { echo "FLOPs are not in the report"; status=1; }
grep -q 'emulated' report.json || { echo "the report does not say emulated"; status=1; }
check 0 '' "$roofprof" --emulate list
grep -q H100-SXM5-80GB out || { echo "the list lacks the H100"; status=1; }

check 125 'NVCC_APPEND_FLAGS="-cudart shared"' "$roofprof" --emulate H100 ./static
check 125 'arch=compute_80,code=compute_80' "$roofprof" --emulate H100 ./bare
# A program without a kernel has nothing to refuse: it runs and asks for its device.
check 0 '' "$roofprof" --emulate H100 ./query
grep -q H100 out || { echo "the program does not see its device"; status=1; }
check 125 'nearest' "$roofprof" --emulate H1000 ./saxpy
check 127 'there is no such program' "$roofprof" --emulate H100 ./nothing
check 3 'used no emulated device' "$roofprof" --emulate H100 sh -c 'exit 3'
check 143 '' "$roofprof" --emulate H100 sh -c 'kill -TERM $$'
check 7 'saxpy' "$roofprof" --emulate H100 sh -c './saxpy && ./saxpy; exit 7' # two processes
[ -z "$(ls tmp)" ] || { echo "left behind: $(ls tmp)"; status=1; }
exit $status
