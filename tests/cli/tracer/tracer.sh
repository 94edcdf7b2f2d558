#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One case of the tracer's end-to-end tests; CMakeLists.txt sets the paths. 77: skipped.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export LD_LIBRARY_PATH=$DRIVER ROOFPROF_TRACER=$TRACER ROOFPROF_CUPTI=$FAKE_CUPTI
# The target loads libraries without unloading them, and is killed in the middle of things.
export ASAN_OPTIONS=detect_leaks=0 XDG_DATA_HOME=$folder/none
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID

failures=0
check() { # check WHAT EXPECTED ACTUAL
    if [ "$2" != "$3" ]; then
        printf '%s: expected %q, got %q\n' "$1" "$2" "$3"
        failures=$((failures + 1))
    fi
}
contains() { # contains WHAT TEXT FILE
    if ! grep -q -- "$2" "$3"; then
        printf '%s: %q is not in:\n' "$1" "$2"
        cat "$3"
        failures=$((failures + 1))
    fi
}
mode=trace # of run
query() { sqlite3 "$1" "$2"; }
run() { # run [OPTION...] -- TARGET-ARGUMENT...: as a user would; out, err and code
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "$ROOFPROF" --mode "$mode" "${options[@]}" -- "$TARGET" "$@" >out 2>err
    code=$?
}
# What the target does by itself, to hold the traced run against.
bare() { "$TARGET" "$@" >bare.out 2>bare.err; bare_code=$?; }
same_as_bare() {
    check "stdout of $1" "$(cat bare.out)" "$(cat out)"
    check "exit code of $1" "$bare_code" "$code"
    contains "stderr of $1" "target: err" err
}

case $1 in
basic)
    bare basic 10
    run -o a.roof -- basic 10
    same_as_bare basic
    check "saxpy launches" 10 "$(query a.roof "select count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy'")"
    check "configs of gemm" 3 "$(query a.roof "select count(*) from configs c join kernels k on k.id=c.kernel where k.name='gemm'")"
    check "saxpy time" 20000.0 "$(query a.roof "select time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' limit 1")"
    check "graph node" 77 "$(query a.roof "select graph_node from launches where graph_node is not null")"
    check "copies" "HtoD|1048576.0" "$(query a.roof "select kind, bytes from copies")"
    check "device" "NVIDIA H100 80GB HBM3|9|132" "$(query a.roof "select name, cc_major, sm_count from devices")"
    check "threads a block" 256 "$(query a.roof "select distinct block_x from configs")"
    contains "report" saxpy err
    contains "report" "capture a.roof" err
    check "spools left" "" "$(ls -d a.roof.* 2>/dev/null)"
    ;;
records)
    run -o a.roof -- broken
    check "exit code" 42 "$code"
    contains "nothing can be used" "no kernel was traced" err
    run -o a.roof -- basic 1
    check "launches" 3 "$(query a.roof "select count(*) from launches")"
    ;;
lost)
    run -o a.roof --keep-spool -- basic 1
    spool=$(ls a.roof.*/*.spool)
    # A torn tail: everything before it still counts.
    for cut in 1 7 40; do
        head -c -$cut "$spool" >torn.spool
        "$ROOFPROF" recover torn.spool -o torn.roof >out 2>err
        check "recover less $cut bytes" 0 $?
        check "launches less $cut bytes" 3 "$(query torn.roof "select count(*) from launches")"
    done
    # Damage before the end: what is before it counts, and the rest is said to be missing.
    size=$(stat -c %s "$spool")
    cp "$spool" bad.spool
    printf '\xff\xff\xff' | dd of=bad.spool bs=1 seek=$((size - 100)) conv=notrunc 2>/dev/null
    "$ROOFPROF" recover bad.spool -o bad.roof >out 2>err
    query bad.roof "select text from notes" >notes
    contains "damage is said" "torn" notes
    : >empty.spool
    "$ROOFPROF" recover empty.spool -o e.roof >out 2>err
    check "an empty spool" 3 $?
    check "no capture of an empty spool" "" "$(ls e.roof 2>/dev/null)"
    head -c 5000 /dev/urandom >noise.spool
    "$ROOFPROF" recover noise.spool -o n.roof >out 2>err
    check "noise" 3 $?
    ;;
names)
    run -o a.roof -- name
    check "long name" 100000 "$(query a.roof "select max(length(name)) from kernels")"
    check "same address, other name" 1 "$(query a.roof "select count(*) from kernels where name like 'another kernel%'")"
    ;;
threads)
    run -o a.roof -- threads 500
    check "launches" 32000 "$(query a.roof "select count(*) from launches")"
    ;;
fork)
    bare fork
    run -o a.roof -- fork
    same_as_bare fork
    check "kernels" "in the parent" "$(query a.roof "select name from kernels")"
    ;;
exec)
    bare exec
    run -o a.roof -- exec
    same_as_bare exec
    ;;
exit)
    run -o a.roof -- _exit 5
    check "exit code" 7 "$code"
    check "launches" 11 "$(query a.roof "select count(*) from launches")"
    contains "what is lost is said" "without running its exit handlers" err
    ;;
full)
    # The spool cannot grow any more, or its folder is gone: the program does not notice.
    "$ROOFPROF" --mode trace -q -o a.roof -- /bin/sh -c "ulimit -f 256; exec '$TARGET' basic 50000" >out 2>err
    check "exit code at the limit" 42 $?
    check "output at the limit" "target: out" "$(cat out)"
    contains "the limit is said" "File too large" err
    kept=$(query a.roof "select count(*) from launches")
    { [ "${kept:-0}" -gt 1000 ] && [ "$kept" -lt 100000 ]; } || check "launches kept" "some" "$kept"
    "$ROOFPROF" -q -o b.roof -- /bin/sh -c "rm -rf b.roof.*; exec '$TARGET' basic 10" >out 2>err
    check "exit code without a folder" 42 $?
    contains "a vanished folder" "is not traced" err
    "$ROOFPROF" -q -o c.roof -- /bin/sh -c "'$TARGET' _exit 10; rm -rf c.roof.*; exit 5" >out 2>err
    check "exit code with a folder that vanishes later" 5 $?
    # While the program runs: its file is written on, and nobody finds it.
    "$ROOFPROF" -q -o d.roof -- /bin/sh -c "(sleep 0.5; rm -rf d.roof.*) & exec '$TARGET' paced 300" >out 2>err
    check "exit code with a folder that vanishes meanwhile" 42 $?
    check "output with a folder that vanishes meanwhile" "target: out" "$(cat out)"
    [ -s err ] || check "a folder that vanishes meanwhile" "said" "nothing"
    # Where nothing can be made, whoever asks.
    "$ROOFPROF" -q -o e.roof -- /bin/sh -c "ROOFPROF_SPOOL=/sys exec '$TARGET' basic 10" >out 2>err
    check "exit code with a read-only folder" 42 $?
    check "output with a read-only folder" "target: out" "$(cat out)"
    contains "a read-only folder" "cannot write in /sys" err
    ;;
many)
    # LAUNCHES: 10 million take a quarter of a minute.
    n=${LAUNCHES:-600000}
    "$ROOFPROF" -q -o a.roof -- "$TARGET" basic $((n / 2)) >out 2>err
    check "exit code" 42 $?
    check "output" "target: out" "$(cat out)"
    check "launches" $((n + 1)) "$(query a.roof "select count(*) from launches")"
    check "they are summed" $((n / 2)) "$(query a.roof "select launches from kernel_list where kernel='saxpy'")"
    ;;
abort)
    run -o a.roof -- abort 5
    check "exit code" 134 "$code"
    check "stdout" "target: out" "$(cat out)"
    [ ! -e a.roof ] || check "the capture is whole" ok "$(query a.roof "pragma integrity_check")"
    "$ROOFPROF" -q -o b.roof -- /bin/sh -c "'$TARGET' paced 500; '$TARGET' abort 5" >out 2>err
    check "exit code of the last" 134 $?
    check "launches of the one that ended well" 500 "$(query b.roof "select count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='paced'")"
    ;;
kill)
    # At instants that follow from SEED, KILLS times: whatever was launched over a second before is in
    # the capture, and the program's end is what it was.
    RANDOM=${SEED:-1}
    for i in $(seq "${KILLS:-25}"); do
        rm -f progress k.roof
        PROGRESS=progress "$ROOFPROF" -q -o k.roof -- "$TARGET" forever >out 2>err &
        pid=$!
        for _ in $(seq 500); do # a loaded machine takes its time to start it
            [ -s progress ] && break
            sleep 0.02
        done
        sleep "$(printf '%d.%03d' $((RANDOM % 10 / 8)) $((RANDOM % 1000)))"
        pkill -KILL -P "$pid"
        wait "$pid"
        check "exit code, kill $i" 137 $?
        check "stdout, kill $i" "target: out" "$(cat out)"
        # 12 lines back: a second of flushing, and what a loaded machine adds to it.
        before=$(tail -n 13 progress | head -n 1)
        [ "$(wc -l <progress)" -gt 12 ] || before=0
        kept=0
        if [ -e k.roof ]; then
            check "the capture is whole, kill $i" ok "$(query k.roof "pragma integrity_check")"
            kept=$(query k.roof "select count(*) from launches")
        else
            contains "there is no capture, kill $i" "no kernel was traced" err
        fi
        [ "$kept" -ge "$before" ] || check "launches kept, kill $i" "at least $before" "$kept"
    done
    # One that has run for seconds, and is reported.
    "$ROOFPROF" -o k.roof -- "$TARGET" forever >out 2>err &
    pid=$!
    sleep 3
    pkill -KILL -P "$pid"
    wait "$pid"
    check "the capture is reported" 0 "$("$ROOFPROF" report k.roof >/dev/null 2>&1; echo $?)"
    query k.roof "select text from notes" >notes
    contains "how it ended is said" "without running its exit handlers" notes
    kept=$(query k.roof "select count(*) from launches")
    [ "$kept" -gt 100 ] || check "launches kept" "over 100" "$kept"
    ;;
refusals)
    bare nothing
    for result in 15 26 27 35 39 40 43 999; do
        FAKE_SUBSCRIBE=$result run -o a.roof -- nothing
        same_as_bare "a refused subscription ($result)"
        check "no capture" "" "$(ls a.roof 2>/dev/null)"
        contains "refusal $result is named" "($result " err
        FAKE_ENABLE=$result run -o a.roof -- nothing
        same_as_bare "a refused record kind ($result)"
    done
    FAKE_SUBSCRIBE=39 run -o a.roof -- nothing
    contains "who may hold it" "another tool holds CUPTI" err
    ROOFPROF_CUPTI=/nonexistent/libcupti.so run -o a.roof -- nothing
    same_as_bare "no CUPTI"
    contains "no CUPTI is said" "found no CUPTI" err
    ROOFPROF_CUPTI=/bin/true run -o a.roof -- nothing
    same_as_bare "a file that is no CUPTI"
    LD_LIBRARY_PATH=/nonexistent "$ROOFPROF" -o a.roof -- /bin/sh -c 'exit 3' >out 2>err
    check "a program without CUDA" 3 $?
    contains "a program without CUDA" "did not start CUDA" err
    "$ROOFPROF" -- /nonexistent/program >out 2>err
    check "not found" 127 $?
    "$ROOFPROF" -- "$folder" >out 2>err
    check "not executable" 126 $?
    ;;
chain)
    # The user's own injection library is called as well.
    cat >next.c <<'C'
#include <stdio.h>
int InitializeInjection(void);
int InitializeInjection(void) { FILE *f = fopen("chained", "w"); if (f) fclose(f); return 1; }
C
    cc -shared -fPIC -o next.so next.c || exit 77
    CUDA_INJECTION64_PATH=$folder/next.so run -o a.roof -- basic 1
    check "chained" chained "$(ls chained 2>/dev/null)"
    check "exit code" 42 "$code"
    CUDA_INJECTION64_PATH=/nonexistent.so run -o a.roof -- basic 1
    check "exit code" 42 "$code"
    contains "a chain that breaks is said" "could not be loaded" err
    ;;
output)
    # What cannot be written is found before the program runs.
    for option in "-o /nonexistent/a.roof" "--report /nonexistent/r -o a.roof" "--plot /nonexistent/p.png -o a.roof" "--plot p.jpeg -o a.roof"; do
        # shellcheck disable=SC2086
        run $option -- basic 1
        check "$option" 125 "$code"
        check "$option: the program did not run" "" "$(cat out)"
    done
    run -o '%p-%%.roof' --report r.json --format json -- basic 1
    check "exit code" 42 "$code"
    check "named by pid" 1 "$(ls [0-9]*-%.roof | wc -l)"
    contains "report in a file" roofprof.report/1 r.json
    RANK=3 run -- basic 1
    check "named by program and rank" tracer_target.3.roof "$(ls tracer_target.*.roof)"
    check "rank" 3 "$(query tracer_target.3.roof "select rank from processes")"
    run --mode none -- basic 1
    check "exit code" 42 "$code"
    run --quiet -o q.roof -- basic 1
    check "quiet" "target: err" "$(head -1 err)"
    ;;
stdin)
    printf 'one\ntwo\n' | "$ROOFPROF" -o a.roof -- "$TARGET" stdin >out 2>err
    check "stdin" "$(printf 'target: out\none\ntwo')" "$(cat out)"
    ;;
signals)
    for signal in TERM INT HUP USR1; do
        "$ROOFPROF" -o a.roof -- "$TARGET" forever >out 2>err &
        pid=$!
        sleep 1.5
        kill "-$signal" "$pid"
        # A background job of a shell without job control ignores SIGINT, and so does its child.
        [ $signal != INT ] || pkill -KILL -P "$pid"
        wait "$pid"
        result=$?
        case $signal in TERM) expected=143 ;; INT) expected=137 ;; HUP) expected=129 ;; USR1) expected=138 ;; esac
        check "exit code of SIG$signal" $expected $result
        contains "still reports after SIG$signal" "capture a.roof" err
    done
    ;;
merge)
    "$ROOFPROF" -o a.roof -- /bin/sh -c "$TARGET basic 2; $TARGET basic 3; exit 6" >out 2>err
    check "exit code of the shell" 6 $?
    check "processes" 2 "$(query a.roof "select count(*) from processes")"
    check "saxpy launches" 5 "$(query a.roof "select count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy'")"
    check "one device" 1 "$(query a.roof "select count(distinct uuid) from devices")"
    ;;
library)
    [ -z "$SANITIZED" ] || exit 77
    needed=$(readelf -d "$TRACER" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
    check "NEEDED" "libc.so.6 libdl.so.2 libpthread.so.0 " "$needed"
    newer=$(objdump -T "$TRACER" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u | awk -F. '$2 > 28')
    check "symbols newer than GLIBC_2.28" "" "$newer"
    exported=$(nm -D --defined-only "$TRACER" | awk '{print $3}' | sort | tr '\n' ' ')
    check "exported" "InitializeInjection InitializeInjectionNvtx2 " "$exported"
    ;;
*)
    echo "no such case: $1"
    exit 1
    ;;
esac
exit $((failures > 0))
