#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# metrics.sh ROOFPROF: what the commands say of a CUPTI that has profiler sessions and NVPW alone: the
# emulated one of CUDA 12.4 and, where ROOFPROF_TEST_OLD_CUPTI names them, the real ones.
set -u
roofprof=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_DATA_HOME=$folder/none ASAN_OPTIONS=detect_leaks=0 # CUPTI keeps what it allocates
failures=0
fail() { echo "$*"; cat "$folder/out"; failures=1; }
flat() { tr -s ' \n' ' ' <"$folder/out"; }

confirmed() { # confirmed CUPTI VERSION CHIP...
    local cupti=$1 version=$2 chip
    shift 2
    for chip in "$@"; do
        ROOFPROF_CUPTI=$cupti "$roofprof" metrics "$chip" --check >"$folder/out" 2>&1 ||
            fail "$cupti: metrics $chip is not confirmed"
        grep -q "Asked: CUPTI $version (NVPW)" "$folder/out" || fail "$cupti: who was asked is not said"
    done
}
emulated=$ROOFPROF_EMULATOR/libcupti.so.12
confirmed "$emulated" 22 V100 GA100 GH100
ROOFPROF_CUPTI=$emulated "$roofprof" metrics GV100 --format json >"$folder/out" || fail "json"
grep -q '"interface": *"NVPW"' "$folder/out" || fail "the JSON does not say who was asked"
ROOFPROF_CUPTI=$emulated "$roofprof" doctor >"$folder/out" 2>&1
flat | grep -q "counters by profiler sessions: that way has been run on the emulated device only" ||
    fail "doctor does not say what the sessions are worth"

for cupti in $(echo "${ROOFPROF_TEST_OLD_CUPTI:-}" | tr : ' '); do
    [ -r "$cupti" ] || continue
    echo "asking $cupti"
    case $cupti in
    *.so.12) confirmed "$cupti" 22 GV100 TU102 TU116 GA100 GA102 GA10B AD102 AD107 GH100 ;;
    *)
        # No exact tensor counts before CUDA 12.2: said, and everything else is confirmed.
        ROOFPROF_CUPTI=$cupti "$roofprof" metrics GV100 --check --format csv >"$folder/out" 2>&1
        [ $? -eq 1 ] || fail "$cupti: what it has not passes --check"
        for set in HW SASS WHY; do
            grep -q "^$set,GV100,1,.*,confirmed" "$folder/out" || fail "$cupti: $set is not confirmed"
        done
        grep -q "^TENSOR0,.*GV100 has no metric sm__ops_path_tensor" "$folder/out" || fail "$cupti: TENSOR0"
        ROOFPROF_CUPTI=$cupti "$roofprof" metrics TU116 --check >"$folder/out" 2>&1 || fail "$cupti: TU116"
        ;;
    esac
    ROOFPROF_CUPTI=$cupti "$roofprof" metrics GB202 --format csv >"$folder/out" 2>&1
    grep -q "^HW,GB202,1,.*refused: NOT_SUPPORTED" "$folder/out" || fail "$cupti: a chip that it cannot know"
done
exit $failures
