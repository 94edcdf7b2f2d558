#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: emulated_faults.sh ROOFPROF CASE PROGRAM [ARGUMENT...]
# What can go wrong between the tracer and an emulated CUPTI that refuses, crashes or dawdles, in
# every mode: the program's output and exit code stay as without roofprof, and the capture says what
# to do. 77: skipped.
set -u
roofprof=$1 case=$2
shift 2
[ -x "$1" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# A crash must be one under the sanitizers too; without a real CUPTI each run is shorter.
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0 ROOFPROF_EMU_REAL_CUPTI=none
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST
failures=0
fail() {
    echo "$*"
    failures=1
}

"$roofprof" --emulate H100 --mode none -- "$@" >plain.out 2>plain.err
plain=$?

# run MODE REFUSAL PROGRAM...: a.roof, notes
run() {
    local mode=$1 refusal=$2
    shift 2
    rm -f a.roof
    ROOFPROF_EMU_CUPTI_REFUSE=$refusal "$roofprof" --emulate H100 --mode "$mode" -q -o a.roof -- "$@" >out 2>err
    local code=$?
    [ $code = $plain ] || fail "$mode, $refusal: exit code $code, and $plain by itself"
    cmp -s plain.out out || fail "$mode, $refusal: the output differs"
    : >notes
    [ ! -e a.roof ] || sqlite3 a.roof "select text from notes" >notes
}
said() { # said WHAT TEXT
    grep -q -- "$2" notes || fail "$1: '$2' is not said: $(cat notes err)"
}
launches() { sqlite3 a.roof "select count(*) from launches"; }
counters() { sqlite3 a.roof "select count(*) from counters"; }

case $case in
refusals) # of the profiler: a lesser mode, and how to get the greater one
    for mode in trace sampled replay rerun; do
        for code in 15 26 27 35 39 40 41 43 45 999; do
            run $mode profiler=$code "$@"
            [ "$(launches)" -gt 0 ] || fail "$mode, $code: no launch"
            [ "$(counters)" = 0 ] || fail "$mode, $code: counters"
            [ $mode = trace ] || said "$mode, $code" "has no counters.*($code "
        done
    done
    run sampled profiler=35 "$@"
    said "what to set" NVreg_RestrictProfilingToAdminUsers
    run sampled profiler=26 "$@"
    said "whom to pause" "dcgmi profile --pause"
    # Of a call in the middle, and of those that trace.
    for refusal in RangeProfilerSetConfig=1 RangeProfilerStop=999 RangeProfilerDecodeData=8; do
        run sampled $refusal "$@"
        said $refusal "has no counters"
    done
    for refusal in subscribe=39 Subscribe=39 enable=27 flush=999; do
        run trace $refusal "$@"
        run sampled $refusal "$@"
    done
    ;;
crashes) # in the probe's process, not in the program's
    for mode in sampled replay rerun; do
        run $mode profiler=crash "$@"
        said "$mode, profiler=crash" "it crashed"
        [ "$(launches)" -gt 0 ] || fail "$mode, profiler=crash: no launch"
    done
    for mode in trace sampled replay rerun; do
        for function in Subscribe ActivityEnable flush; do
            run $mode $function=crash "$@"
            said "$mode, $function=crash" "it crashed"
        done
        run $mode profiler=slow:100 "$@"
        [ "$(launches)" -gt 0 ] || fail "$mode, profiler=slow: no launch"
        [ $mode = trace ] || [ "$(counters)" -gt 0 ] || fail "$mode, profiler=slow: no counters"
    done
    # Slower than it may be.
    ROOFPROF_EMU_CUPTI_REFUSE=profiler=slow:60000 "$roofprof" --emulate H100 --mode sampled --probe-limit 1 -q -o a.roof -- "$@" >out 2>err
    cmp -s plain.out out || fail "a probe that hangs: the output differs"
    sqlite3 a.roof "select text from notes" >notes
    said "a probe that hangs" "did not come back in time"
    ;;
threads) # every launch of 64 threads that start at once is counted
    "$roofprof" --emulate H100 --mode trace -q -o a.roof -- "$@" >out 2>err || fail "exit code"
    all=$(launches)
    for round in 1 2 3 4 5; do
        for mode in replay rerun; do
            "$roofprof" --emulate H100 --mode $mode -q -o a.roof -- "$@" >out 2>err || fail "exit code"
            cmp -s plain.out out || fail "$mode: the output differs"
            counted=$(sqlite3 a.roof "select count(*) from quantities")
            [ "$counted" = "$all" ] || fail "$mode, round $round: $counted of $all launches are counted"
        done
    done
    ;;
unload) # the runtime and the kernels' library go, and come again
    for mode in trace sampled replay; do
        "$roofprof" --emulate H100 --mode $mode -q -o a.roof -- "$@" >out 2>err
        [ $? = $plain ] || fail "$mode: exit code"
        cmp -s plain.out out || fail "$mode: the output differs: $(cat out err)"
        [ "$(launches)" = 4 ] || fail "$mode: $(launches) launches, not 4"
    done
    ;;
*)
    fail "no such case: $case"
    ;;
esac
exit $failures
