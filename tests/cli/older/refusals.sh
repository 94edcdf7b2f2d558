#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# refusals.sh ROOFPROF PROGRAM: whatever of the older way is refused, the program runs as it would, its
# launches are traced from there on, and the capture says which call it was and CUPTI's result. A
# refusal ends the session that was begun: the strict door sees none left open. 77: skipped.
set -u
roofprof=$1 program=$2
[ -x "$program" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST
export ASAN_OPTIONS=detect_leaks=0 ROOFPROF_CUPTI=$ROOFPROF_EMULATOR/libcupti.so.12
failures=0
fail() { echo "$*"; failures=1; }

"$roofprof" --emulate A100 --mode none -- "$program" >plain.out 2>plain.err || fail "the program fails by itself"
launches=0
check() { # check FUNCTION=CODE CALL [STRICT]
    rm -f a.*
    ROOFPROF_EMU_CUPTI_REFUSE=$1 ROOFPROF_EMU_STRICT=${3:-1} \
        "$roofprof" --emulate A100 --mode "$mode" --budget 0 -q -o a.roof -- "$program" >out 2>err ||
        fail "$1 $mode: exit code $?"
    cmp -s plain.out out || fail "$1 $mode: the program's output differs"
    sqlite3 a.roof "select text from notes" >notes
    grep -q "${1#*=} [A-Z_]*; *$2" notes || { fail "$1 $mode: $2 is not said to have refused:"; cat notes; }
    local n
    n=$(sqlite3 a.roof "select count(*) from launches")
    [ "$launches" -ne 0 ] || launches=$n
    [ "$n" -eq "$launches" ] || fail "$1 $mode: $n launches instead of $launches"
    if grep 'emulated device: CUPTI:' err | grep -v 'enable-after-load'; then fail "$1 $mode: the door complains"; fi
}
for mode in replay sampled; do
    check ProfilerGetCounterAvailability=35 cuptiProfilerGetCounterAvailability
    check ProfilerDeviceSupported=999 cuptiProfilerDeviceSupported
    check ProfilerCounterDataImageCalculateSize=8 cuptiProfilerCounterDataImageCalculateSize
    check ProfilerCounterDataImageInitialize=1 cuptiProfilerCounterDataImageInitialize
    check ProfilerCounterDataImageCalculateScratchBufferSize=1 cuptiProfilerCounterDataImageCalculateScratchBufferSize
    check ProfilerCounterDataImageInitializeScratchBuffer=1 cuptiProfilerCounterDataImageInitializeScratchBuffer
    check ProfilerBeginSession=26 cuptiProfilerBeginSession
    check ProfilerSetConfig=1 cuptiProfilerSetConfig
    check ProfilerEnableProfiling=7 cuptiProfilerEnableProfiling
    check ProfilerDisableProfiling=999 cuptiProfilerDisableProfiling 0 # nothing can be undone then
    check ProfilerUnsetConfig=999 cuptiProfilerUnsetConfig 0
    check ProfilerEndSession=999 cuptiProfilerEndSession 0
done
mode=rerun
check ProfilerBeginPass=7 cuptiProfilerBeginPass
check ProfilerEndPass=7 cuptiProfilerEndPass 0
check ProfilerFlushCounterData=999 cuptiProfilerFlushCounterData 0

# Where nothing is refused, the capture says which way it was, those that are made of several runs too.
for mode in "--mode replay" "--mode sampled" "--mode rerun" "--mode replay --runs 2"; do
    # shellcheck disable=SC2086 # a mode is one or two options
    "$roofprof" --emulate A100 $mode -q -o c.roof -- "$program" >out 2>err || fail "$mode: exit code $?"
    sqlite3 c.roof "select text from notes" | grep -q "counted by CUPTI's profiler sessions.*emulated device only" ||
        fail "$mode: the way of counting is not said"
done
ROOFPROF_CUPTI=$ROOFPROF_EMULATOR/libcupti.so.13 "$roofprof" --emulate A100 --mode replay -q -o d.roof -- "$program" >out 2>err
sqlite3 d.roof "select text from notes" | grep -q "profiler sessions" && fail "the range profiler is there and not used"
ROOFPROF_SESSIONS=1 ROOFPROF_CUPTI=$ROOFPROF_EMULATOR/libcupti.so.13 "$roofprof" --emulate A100 --mode replay -q -o e.roof \
    -- "$program" >out 2>err
sqlite3 e.roof "select text from notes" | grep -q "profiler sessions" || fail "ROOFPROF_SESSIONS=1 changes nothing"

# Without the host library there are no counters, and that is said.
mkdir alone
cp "$ROOFPROF_EMULATOR/libcupti.so.12" alone/
ROOFPROF_CUPTI=$folder/alone/libcupti.so.12 "$roofprof" --emulate A100 --mode replay -q -o b.roof -- "$program" >out 2>err ||
    fail "no host library: exit code $?"
cmp -s plain.out out || fail "no host library: the program's output differs"
sqlite3 b.roof "select text from notes" | grep -q "no libnvperf_host.so" || fail "a host library that is not there is not said"
exit $failures
