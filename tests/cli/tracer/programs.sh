#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: programs.sh BUILD [MODE...] <LIST
# A development check, and no ctest, since the programs are other people's: each line of LIST is a
# program with its arguments (shared CUDA runtime, PTX for the device), which runs on the emulated
# device in every mode as emulated.sh says: output and exit code as by itself, but for times that it
# shows, the strict CUPTI content, and counts equal to the device's own. DEVICE: A100 unless set.
# LIMIT: seconds for a program and mode (120). Exit: 1 if one of them fails.
#
#     tests/cli/tracer/programs.sh build replay sampled <<'LIST'
#     samples/vectorAdd/vectorAdd
#     samples/reduction/reduction --n=65536
#     LIST
set -u
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- trace sampled replay rerun runs2
export DEVICE=${DEVICE:-A100} MAY_VARY=1 ROOFPROF_TRACER=$build/profiler/tracer/libroofprof_tracer.so
export ROOFPROF_EMULATOR=${ROOFPROF_EMULATOR:-$build/lib/emulator} ROOFPROF_HWDB=$here/../../../hwdb
divides=inst_fp32_fma,fp32_vector,inst_fp64_fma,fp64_vector,inst_fp16_fma,fp16_vector
good=0 bad=0
while read -r program arguments; do
    [ -n "$program" ] || continue
    for mode in "$@"; do
        left_out=$divides
        [ "$mode" != sampled ] || left_out=$divides,shared_bytes
        # shellcheck disable=SC2086
        if said=$(NOT_COMPARED=$left_out timeout "${LIMIT:-120}" bash "$here/emulated.sh" \
            "$build/profiler/roofprof" "$mode" "$(realpath "$program")" $arguments </dev/null 2>&1); then
            good=$((good + 1))
            printf 'ok   %-8s %s: %s\n' "$mode" "$(basename "$program")" "$(tail -n 1 <<<"$said")"
        else
            result=$?
            bad=$((bad + 1))
            printf 'FAIL %-8s %s (%d)\n%s\n' "$mode" "$(basename "$program")" $result "$(head -n 12 <<<"$said")"
        fi
    done
done
echo "$good ok, $bad failed"
exit $((bad > 0))
