#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One case of the tests of counting, over the strict range profiler of tests/unit/tracer; paths come
# from CMakeLists.txt. Whatever happens, the target's output and exit code must be its own, and no
# call may have been made out of order (FAKE_MISUSE).
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export LD_LIBRARY_PATH=$DRIVER ROOFPROF_TRACER=$TRACER ROOFPROF_CUPTI=$FAKE_CUPTI
export ROOFPROF_PROBE=$PROBE FAKE_MISUSE=$folder/misuse
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
lacks() { # lacks WHAT TEXT FILE
    if grep -q -- "$2" "$3"; then
        printf '%s: %q is in:\n' "$1" "$2"
        cat "$3"
        failures=$((failures + 1))
    fi
}
run() { # run MODE [OPTION...] -- TARGET-ARGUMENT...: out, err, code, notes; a.roof
    local options=(--mode "$1")
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -f a.roof misuse
    "$ROOFPROF" -q -o a.roof "${options[@]}" -- "$TARGET" "$@" >out 2>err
    code=$?
    check "exit code of $*" 42 "$code"
    check "stdout of $*" "target: out" "$(cat out)"
    contains "stderr of $*" "target: err" err
    check "calls out of order" "" "$(cat misuse 2>/dev/null)"
    : >notes
    [ ! -e a.roof ] || sqlite3 a.roof "select text from notes" >notes
    [ -e a.roof ] || cp err notes
}
query() { sqlite3 a.roof "$1"; }
# Launches of KERNEL that CONDITION holds for.
launches() {
    query "select count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where (k.name like '$1%' or k.short_name like '$1%') and ${2:-1}"
}
has_metric="exists (select 1 from counter_values v where v.launch=l.id and v.metric="

case $1 in
sampled)
    run sampled --samples 2 --budget 0 -- loop 100
    # Two configs of gemm (grids 1 and 2); each configuration twice at once, then twice a doubling.
    some() { [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || check "$1" "$3 to $4" "$2"; }
    hw=$(launches saxpy "${has_metric}'gpu__time_duration.sum') and ${has_metric}'l1tex__t_bytes.sum')")
    some "saxpy with hardware counters" "$hw" 8 14
    some "saxpy with instructions" "$(launches saxpy "${has_metric}'smsp__sass_thread_inst_executed_op_ffma_pred_on.sum')")" $((hw - 1)) $((hw + 1))
    check "saxpy has no tensor counters" 0 "$(launches saxpy "${has_metric}'sm__ops_path_tensor_src_fp8.sum')")"
    some "gemm with tensor counters, a config" "$(launches gemm "${has_metric}'sm__ops_path_tensor_src_fp8.sum')")" 6 24
    check "WHY comes once" 1 "$(launches saxpy "${has_metric}'smsp__issue_active.sum')")"
    check "launches" 100 "$(launches saxpy)"
    check "collectives are never counted" 0 "$(launches nccl "exists (select 1 from counters v where v.key >> 16 = l.id)")"
    check "a counted launch's time" 80000.0 "$(query "select distinct time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' and ${has_metric}'dram__bytes_read.sum')")"
    check "the others' time" 20000.0 "$(query "select distinct time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' and not exists (select 1 from counters v where v.key >> 16 = l.id)")"
    check "value" "$(((100 * 20) + 16)).0" "$(query "select distinct value from counter_values v join launches l on l.id=v.launch join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' and v.metric='dram__bytes_read.sum'")"
    check "provenance" counted "$(query "select distinct provenance from counter_values")"
    # FFMA: 128 thread instructions a cycle and SM would be the peak; the generator says 1000 in all.
    check "ceilings of peaks" 1 "$(query "select count(*) > 0 from ceilings")"
    contains "what it cost" "launches counted, which cost" notes
    contains "collectives are said" "left 100 launches of collectives" notes
    # Samples speak for the whole run: there are some of its last half.
    run sampled --samples 1 --budget 0 -- loop 300
    last=$(query "select max(idx) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' and ${has_metric}'smsp__sass_inst_executed.sum')")
    [ "$last" -gt 300 ] || check "samples are spread" "a launch after the 300th of 900" "$last"
    ;;
replay)
    run replay -- loop 50
    check "every saxpy is counted" 50 "$(launches saxpy "${has_metric}'dram__bytes_read.sum') and ${has_metric}'smsp__sass_inst_executed.sum')")"
    check "every gemm has its tensor counters" 50 "$(launches gemm "${has_metric}'sm__ops_path_tensor_src_fp8.sum')")"
    check "saxpy's first launch alone has them" 1 "$(launches saxpy "${has_metric}'sm__ops_path_tensor_src_fp8.sum')")"
    check "collectives are there, without counters or times" 50 "$(launches nccl "l.time_ns is null and not exists (select 1 from counters v where v.key >> 16 = l.id)")"
    check "launches once each, whatever the passes" 150 "$(query "select count(*) from launches")"
    check "time" 80000.0 "$(query "select distinct time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy'")"
    ;;
records)
    # With and without activity records of counted launches: the same launches.
    run sampled --budget 0 -- loop 40
    with=$(query "select count(*), sum(value) from launches l left join counter_values v on v.launch=l.id and v.metric='dram__bytes_read.sum'")
    FAKE_NO_RECORD=1 run sampled --budget 0 -- loop 40
    check "without records" "$with" "$(query "select count(*), sum(value) from launches l left join counter_values v on v.launch=l.id and v.metric='dram__bytes_read.sum'")"
    check "registers are those of the records" 32 "$(query "select distinct registers from configs c join kernels k on k.id=c.kernel where k.name='saxpy'")"
    ;;
mix)
    # Where the records of counted launches cannot be relied on, tracing pauses meanwhile, which the
    # probe finds out; launches stay in their order.
    run sampled --budget 0 -- loop 40
    together=$(query "select count(*), sum(time_ns is null) from launches")
    FAKE_STRICT=1 run sampled --budget 0 -- loop 40
    check "launches and those without a time" "$together" "$(query "select count(*), sum(time_ns is null) from launches")"
    check "in order" 0 "$(query "select count(*) from (select correlation - lag(correlation) over (order by id) d from launches) where d < 0")"
    [ "$(query "select count(*) from counters")" -gt 0 ] || check "counters" some none
    # The same where the probe cannot launch a kernel.
    FAKE_NO_MODULES=1 FAKE_STRICT=1 run sampled --budget 0 -- loop 40
    check "launches, without a trial" 120 "$(query "select count(*) from launches")"
    FAKE_STRICT=1 FAKE_STUCK=spins run sampled --watchdog 1 -- stuck
    check "all launches of a window that is stuck" 3 "$(query "select count(*) from launches")"
    # Neither at once nor in turns, or not without a deadlock of that version's: only traced.
    for what in FAKE_LOST_RECORDS=1 "FAKE_VERSION=130000 FAKE_STRICT=1"; do
        # shellcheck disable=SC2086,SC2163
        export $what
        run sampled -- loop 40
        contains "$what is said" "--runs 2 makes a run of each" notes
        check "$what: launches" 120 "$(query "select count(*) from launches")"
        check "$what: counters" 0 "$(query "select count(*) from counters")"
        run replay -- loop 10
        [ "$(query "select count(*) from counters")" -gt 0 ] || check "$what: counters of replay" some none
        unset FAKE_LOST_RECORDS FAKE_VERSION FAKE_STRICT
    done
    ;;
threads)
    run sampled --budget 0 -- threads 200
    check "launches" 12800 "$(launches threaded)"
    run replay -- threads 20
    check "launches" 1280 "$(launches threaded "${has_metric}'dram__bytes_read.sum')")"
    ;;
processes)
    # A child without exec is left alone, also by counting; contexts come and go.
    for mode in sampled replay; do
        run $mode -- fork
        check "$mode: kernels" "in the parent" "$(query "select name from kernels")"
        run $mode --budget 0 -- contexts 10
        check "$mode: launches in two contexts" 20 "$(launches saxpy)"
        check "$mode: counted in both" 2 "$(query "select count(distinct c.context) from counters v join launches l on l.id = v.key >> 16 join places c on c.id = l.place")"
        "$ROOFPROF" -q --mode $mode -o a.roof -- "$TARGET" exec >out 2>err
        check "$mode: exec" 9 $?
    done
    ;;
stray)
    # A range that nobody launched: which values are whose is not known, so none are kept.
    FAKE_STRAY=1 run sampled --budget 0 -- loop 20
    check "no counters" 0 "$(query "select count(*) from counters")"
    check "launches" 60 "$(query "select count(*) from launches")"
    contains "it is said" "counted launches without counters" notes
    ;;
refusals)
    calls="cuptiProfilerInitialize cuptiGetDeviceId cuptiProfilerDeviceSupported cuptiDeviceGetChipName
           cuptiProfilerGetCounterAvailability cuptiRangeProfilerEnable cuptiProfilerHostInitialize
           cuptiProfilerHostConfigAddMetrics cuptiProfilerHostGetConfigImageSize
           cuptiProfilerHostGetConfigImage cuptiProfilerHostGetNumOfPasses
           cuptiRangeProfilerGetCounterDataSize cuptiRangeProfilerCounterDataImageInitialize
           cuptiRangeProfilerSetConfig cuptiRangeProfilerStart cuptiRangeProfilerStop
           cuptiRangeProfilerDecodeData cuptiRangeProfilerGetCounterDataInfo
           cuptiProfilerHostEvaluateToGpuValues"
    for call in $calls; do # in the target only: the probe found nothing
        for mode in sampled replay; do
            FAKE_REFUSE=$call=26 run $mode -- loop 5
            contains "$mode: $call refused is said" "(26 HARDWARE_BUSY; cupti" notes
            check "$mode: no counters after $call" 0 "$(query "select count(*) from counters")"
            check "all launches are there" 15 "$(query "select count(*) from launches")"
        done
    done
    for result in 15 26 27 35 36 38 39 40 41 42 43 44 45 46 999; do # found by the probe
        FAKE_PROBE=cuptiRangeProfilerEnable=$result run sampled -- loop 5
        contains "result $result is named" "($result " notes
        check "launches" 15 "$(query "select count(*) from launches")"
    done
    contains "no counters" "has no counters" notes
    FAKE_PROBE=cuptiRangeProfilerEnable=35 run sampled -- loop 1
    contains "what to set" "NVreg_RestrictProfilingToAdminUsers" notes
    FAKE_UNSUPPORTED=vgpu run sampled -- loop 1
    contains "a virtual GPU" "virtual GPU" notes
    FAKE_UNSUPPORTED=architecture run sampled -- loop 1
    contains "V100" "compute capability 7.5" notes
    FAKE_CHIP=GX999 run sampled -- loop 1
    contains "a new chip" "no configurations are known for chip GX999" notes
    ROOFPROF_CUPTI=$FAKE_OLD run sampled -- loop 5
    contains "an old CUPTI" "neither the range profiler, which CUDA 12.8 brought, nor" notes
    check "launches" 15 "$(query "select count(*) from launches")"
    ;;
probe)
    FAKE_PROBE=cuptiRangeProfilerEnable=crash run sampled -- loop 5
    contains "a crash" "it crashed" notes
    check "launches" 15 "$(query "select count(*) from launches")"
    check "no counters" 0 "$(query "select count(*) from counters")"
    FAKE_CONTEXT=46 run sampled -- loop 5
    contains "exclusive mode" "exclusive mode" notes
    ROOFPROF_PROBE=/bin/false run sampled -- loop 1
    contains "a probe that says nothing" "no counters" notes
    # One that hangs is given up on after its limit; the run's other processes do not try again.
    "$ROOFPROF" -q -o a.roof --probe-limit 1 -- /bin/sh -c "$TARGET loop 5; $TARGET loop 5" >out 2>err &
    pid=$!
    wait $pid
    FAKE_PROBE=cuptiRangeProfilerEnable=hang "$ROOFPROF" -q -o a.roof --probe-limit 1 -- /bin/sh -c "$TARGET loop 5; $TARGET loop 5; exit 3" >out 2>err
    check "exit code" 3 $?
    query "select text from notes" >notes
    contains "a hang" "it did not come back in time" notes
    check "launches of both" 30 "$(query "select count(*) from launches")"
    # By itself, as doctor may use it.
    check "the probe says" "tracing 0 apart" "$("$PROBE" "$FAKE_CUPTI" | xargs)"
    check "the probe says" "tracing 35 cuptiRangeProfilerEnable" "$(FAKE_PROBE=cuptiRangeProfilerEnable=35 "$PROBE" "$FAKE_CUPTI" | xargs)"
    ;;
metrics)
    # Metrics that this CUPTI does not know are left out, and the others counted.
    FAKE_UNKNOWN=dram__bytes run sampled --budget 0 -- loop 40
    check "the unknown one" 0 "$(launches saxpy "${has_metric}'dram__bytes_read.sum')")"
    check "another" 1 "$(query "select count(*) > 0 from counter_values where metric='l1tex__t_bytes.sum'")"
    ;;
watchdog)
    FAKE_STUCK=spins run sampled --watchdog 1 -- stuck
    contains "it is said" "did not return while it was counted" notes
    check "all launches" 3 "$(query "select count(*) from launches")"
    FAKE_STUCK=spins run replay --watchdog 1 -- stuck
    check "replay: all launches" 3 "$(query "select count(*) from launches")"
    FAKE_STUCK=spins run sampled --watchdog 1 --no-count 'spin*' -- stuck
    lacks "left alone on request" "did not return" notes
    check "the others are counted" 2 "$(query "select count(distinct key >> 16) from counters")"
    ;;
budget)
    # A hundredth of a run of seconds, or half a second, where each window costs 50 ms.
    FAKE_SLOW_WINDOW_MS=50 run sampled --samples 10000 --budget 0.01 -- paced 600
    contains "it is said" "since counting had cost its share" notes
    check "launches" 600 "$(launches paced)"
    counted=$(launches paced "exists (select 1 from counters v where v.key >> 16 = l.id)")
    { [ "$counted" -gt 5 ] && [ "$counted" -lt 17 ]; } || check "counted" "some, not all" "$counted"
    # The same where it is the launches that take longer than their kernels.
    FAKE_SLOW_LAUNCH_MS=50 run sampled --samples 10000 --budget 0.01 -- paced 300
    contains "it is said of slow launches" "since counting had cost its share" notes
    counted=$(launches paced "exists (select 1 from counters v where v.key >> 16 = l.id)")
    { [ "$counted" -gt 5 ] && [ "$counted" -lt 17 ]; } || check "counted, slow launches" "some, not all" "$counted"
    ;;
graphs)
    run sampled --budget 0 -- graphs 20
    check "nodes" 20 "$(launches captured "graph_node is not null")"
    check "no node is counted" 0 "$(launches captured "exists (select 1 from counters v where v.key >> 16 = l.id)")"
    run replay -- graphs 20
    check "what is captured is no launch" 0 "$(launches captured)"
    check "saxpy between graphs" 20 "$(launches saxpy "${has_metric}'dram__bytes_read.sum')")"
    ;;
choice)
    for mode in trace sampled; do
        run $mode --kernel 'gemm' -- loop 20
        check "$mode --kernel" 20 "$(query "select count(*) from launches")"
        run $mode --kernel '*pattern of nothing' -- loop 20
        contains "$mode: nothing is chosen" "60 launches, and none was asked for" err
        run $mode --kernel saxpy --skip 5 --count 7 -- loop 20
        check "$mode --skip --count" 7 "$(query "select count(*) from launches")"
        run $mode --from-api -- api 10
        check "$mode --from-api" "inside|10" "$(query "select k.name, count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel group by 1")"
        contains "$mode: what was left out" "launches that were not asked for" notes
        run $mode --start-after 0.5 -- paced 300
        n=$(query "select count(*) from launches")
        { [ "$n" -gt 10 ] && [ "$n" -lt 295 ]; } || check "$mode --start-after" "some, not all" "$n"
        run $mode --range 'step*' -- ranges 10
        check "$mode --range" "inside|10" "$(query "select k.name, count(*) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel group by 1")"
    done
    ;;
options)
    for option in "--samples 0" "--samples x" "--budget 2" "--mode all" "--count 0" "--watchdog 0"; do
        # shellcheck disable=SC2086,SC2163
        "$ROOFPROF" $option -- "$TARGET" loop 1 >out 2>err
        check "$option" 125 $?
        check "$option: nothing ran" "" "$(cat out)"
    done
    "$ROOFPROF" --emulate H100 --kernel gemm -- "$TARGET" loop 1 >out 2>err
    check "--kernel without a tracer" 125 $?
    contains "--kernel without a tracer" "needs --mode" err
    "$ROOFPROF" --kernel "$(printf 'a\nprobe /bin/true')" -- "$TARGET" loop 1 >out 2>err
    check "a pattern of two lines" 125 $?
    ;;
runs)
    # Twice: times of the first run, counters of the second.
    "$ROOFPROF" -q -o a.roof --mode replay --runs 2 -- "$TARGET" loop 30 >out 2>err
    check "exit code" 42 $?
    contains "a program that fails runs once" "not run again" err
    check "it ran once" "target: out" "$(cat out)"
    check "launches" 90 "$(query "select count(*) from launches")"
    "$ROOFPROF" -q -o a.roof --mode replay --runs 2 -- /bin/sh -c "$TARGET loop 30; exit 0" >out 2>err
    check "exit code" 0 $?
    check "it ran twice" 2 "$(grep -c 'target: out' out)"
    check "launches" 90 "$(query "select count(*) from launches")"
    check "times are those of the first" "20000.0" "$(query "select distinct time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy'")"
    check "saxpy's bytes" 30 "$(query "select count(*) from quantities q join launches l on l.id=q.launch join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy' and q.dram_read_bytes = 2016")"
    check "nothing is left" "a.roof" "$(ls -d a.roof*)"
    # Without counters the first run is the capture.
    FAKE_PROBE=cuptiRangeProfilerEnable=35 "$ROOFPROF" -q -o a.roof --mode replay --runs 2 -- /bin/sh -c "$TARGET loop 30; exit 0" >out 2>err
    check "launches without counters" 90 "$(query "select count(*) from launches")"
    # So it is where the second run comes to nothing, which is said with how it ended.
    rm -f a.roof begun
    "$ROOFPROF" -q -o a.roof --mode replay --runs 2 -- /bin/sh -c "[ ! -e begun ] || exit 7; : >begun; $TARGET loop 30; exit 0" >out 2>err
    check "exit code" 0 $?
    contains "how the second run ended" "second run ended with 7, and the first with 0" err
    contains "that it counted nothing" "gave no counts, so the capture is of the first" err
    check "launches of the first run" 90 "$(query "select count(*) from launches")"
    ;;
rerun)
    # Once traced, then once for HW, SASS, six of the tensor cores' (gemm uses them) and WHY.
    tensor=$(grep -c '^[^#]*GH100[^,]*,TENSOR' "$ROOFPROF_HWDB/metric_sets.csv")
    again() { # again [OPTION...] -- SHELL-TEXT: as run, for a program that ends well
        local options=()
        while [ "$1" != -- ]; do
            options+=("$1")
            shift
        done
        rm -f a.roof misuse
        "$ROOFPROF" -q -o a.roof --mode rerun "${options[@]}" -- /bin/sh -c "$2" >out 2>err
        code=$?
        check "calls out of order" "" "$(cat misuse 2>/dev/null)"
        [ ! -e a.roof ] || query "select text from notes" >notes
    }
    again -- "$TARGET loop 30; echo ran >>ran; exit 0"
    check "exit code" 0 "$code"
    check "it is shown once" "target: out" "$(cat out)"
    check "stderr is shown once" 1 "$(grep -c 'target: err' err)"
    check "runs" $((4 + tensor)) "$(wc -l <ran)"
    contains "that it runs again is said" "runs again, once for each pass" err
    check "launches" 90 "$(query "select count(*) from launches")"
    check "times are those of the first run" 20000.0 "$(query "select distinct time_ns from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel where k.name='saxpy'")"
    for metric in dram__bytes_read.sum smsp__sass_inst_executed.sum smsp__inst_issued.sum; do
        check "every saxpy has $metric" 30 "$(launches saxpy "${has_metric}'$metric')")"
    done
    check "every gemm has its tensor counters" 30 "$(launches gemm "${has_metric}'sm__ops_path_tensor_src_fp8.sum')")"
    check "collectives are not counted" 0 "$(launches nccl "exists (select 1 from counters v where v.key >> 16 = l.id)")"
    check "caches as they were" 1 "$(query "select distinct cache from places")"
    check "nothing is left" "a.roof" "$(ls -d a.roof*)"
    lacks "the runs agree" "not do the same" notes
    # Only what is asked for; without tensor cores no runs for them.
    : >ran
    again --kernel saxpy --skip 5 --count 7 -- "$TARGET loop 20; echo ran >>ran; exit 0"
    check "--kernel --skip --count" "7|7" "$(query "select count(*), sum(exists (select 1 from counters v where v.key >> 16 = l.id)) from launches l")"
    check "runs without tensor cores" 4 "$(wc -l <ran)"
    again --range 'step*' -- "$TARGET ranges 10; exit 0"
    check "--range" "10|10" "$(query "select count(*), sum(exists (select 1 from counters v where v.key >> 16 = l.id)) from launches l")"
    # Several processes, one after the other and at once.
    again -- "$TARGET loop 5; $TARGET paced 3; $TARGET loop 5; exit 0"
    check "processes" "3|10|3" "$(query "select count(distinct p.process), sum(k.name = 'saxpy' and ${has_metric}'dram__bytes_read.sum')), sum(k.name = 'paced' and ${has_metric}'dram__bytes_read.sum')) from launches l join places p on p.id=l.place join configs c on c.id=l.config join kernels k on k.id=c.kernel")"
    again -- "$TARGET loop 5 & $TARGET paced 4 & $TARGET contexts 3; wait; exit 0"
    check "processes at once" "25|20" "$(query "select count(*), sum(${has_metric}'smsp__sass_inst_executed.sum')) from launches l" | sed 's/|.*|/|/')"
    again -- "$TARGET threads 20; exit 0"
    check "threads" 1280 "$(launches threaded "${has_metric}'dram__bytes_read.sum')")"
    # A program that does something else each time: what does not match stays unknown, and is said.
    : >state
    again -- "echo >>state; $TARGET paced 5; $TARGET loop \$((8 + \$(wc -l <state))); exit 0"
    check "another number of launches: the first run's" 9 "$(launches saxpy)"
    check "they have no counters" 0 "$(launches saxpy "exists (select 1 from counters v where v.key >> 16 = l.id)")"
    check "the others have" 5 "$(launches paced "${has_metric}'dram__bytes_read.sum')")"
    contains "it is said" "did not do the same as the first: launches of saxpy.*: 10, not 9" notes
    : >state
    again -- "echo >>state; if [ \$(wc -l <state) = 1 ]; then $TARGET loop 3; else $TARGET basic 3; fi; exit 0"
    contains "other kernels are said" "did not do the same as the first" notes
    : >state
    again -- "echo >>state; $TARGET loop 3; [ \$(wc -l <state) != 1 ] || $TARGET paced 3; exit 0"
    contains "a process that is missing is said" "process of the first run has no counterpart" notes
    check "the other one is counted" "3|0" "$(launches saxpy "${has_metric}'dram__bytes_read.sum')")|$(launches paced "${has_metric}'dram__bytes_read.sum')")"
    : >state
    again -- "echo >>state; exec $TARGET order \$(wc -l <state)"
    check "exit code of a program that fails" 42 "$code"
    contains "a program that fails runs once" "not run again" err
    : >state
    again -- "echo >>state; $TARGET order \$(wc -l <state); exit 0"
    contains "another order is said" "launched in another order than the first" notes
    check "and matched by kernel" "3|3" "$(launches saxpy "${has_metric}'dram__bytes_read.sum')")|$(launches gemm "${has_metric}'dram__bytes_read.sum')")"
    # A later run that ends otherwise; input; no counters; a refusal in one run.
    : >state
    again -- "echo >>state; $TARGET loop 3; [ \$(wc -l <state) = 1 ]"
    check "the first run's exit code" 0 "$code"
    contains "another exit code is said" "ended with 1, and the first with 0" err
    printf 'one\ntwo\n' >input
    again -- "$TARGET stdin; cat >>read; exit 0" <input
    check "input of the first run" "$(printf 'target: out\none\ntwo')" "$(cat out)"
    cat >reads.sh <<'S'
n=0
while read -r _; do n=$((n + 1)); done
echo "$n" >>lines
exit 0
S
    again -- "sh reads.sh; $TARGET loop 1; exit 0" <input
    check "input of each run" 2 "$(sort -u lines)"
    rm lines
    cat input | again -- "sh reads.sh; $TARGET loop 1; exit 0"
    check "input that cannot be read again" "0 2" "$(sort -u lines | xargs)"
    contains "and that is said" "could not read the standard input again" notes
    FAKE_PROBE=cuptiRangeProfilerEnable=35 again -- "$TARGET loop 5; echo ran >>ran2; exit 0"
    check "without counters there is one more run" 2 "$(wc -l <ran2)"
    check "launches without counters" "15|0" "$(query "select count(*), sum(exists (select 1 from counters v where v.key >> 16 = l.id)) from launches l")"
    contains "what to set" "NVreg_RestrictProfilingToAdminUsers" notes
    # A signal in a later run ends the runs; the first one's capture and exit code stay.
    "$ROOFPROF" -q -o a.roof --mode rerun -- /bin/sh -c "echo >>begun; $TARGET paced 100; exit 0" >out 2>err &
    pid=$!
    for _ in $(seq 300); do
        [ -e begun ] && [ "$(wc -l <begun)" = 2 ] && break
        sleep 0.1
    done
    pkill -TERM -P $pid
    wait $pid
    check "exit code where a later run is ended" 0 $?
    check "launches where a later run is ended" 100 "$(launches paced)"
    check "runs" 2 "$(wc -l <begun)"
    # So it does where the program ends well all the same; in the first run it leaves that run alone.
    for last in 1 2; do
        rm -f begun a.roof
        "$ROOFPROF" -q -o a.roof --mode rerun -- /bin/sh -c "trap 'exit 0' TERM; echo >>begun; $TARGET paced 100; exit 0" >out 2>err &
        pid=$!
        for _ in $(seq 300); do
            [ -e begun ] && [ "$(wc -l <begun)" = $last ] && break
            sleep 0.1
        done
        kill -TERM $pid
        wait $pid
        check "exit code of a program that catches TERM in run $last" 0 $?
        check "its launches" 100 "$(launches paced)"
        check "its runs" $last "$(wc -l <begun)"
        contains "that it was told to end" "told to end" err
    done
    "$ROOFPROF" --mode rerun --runs 2 -- "$TARGET" loop 1 >out 2>err
    check "--runs 2 with --mode rerun" 125 $?
    again -- "$TARGET graphs 5; exit 0"
    contains "graphs are said" "nodes of CUDA graphs: 5" notes
    check "what is no node is counted" 5 "$(launches saxpy "${has_metric}'dram__bytes_read.sum')")"
    ;;
kill)
    for mode in sampled replay; do
        "$ROOFPROF" -q --mode $mode -o a.roof -- "$TARGET" forever >out 2>err &
        pid=$!
        sleep 1.7
        pkill -KILL -P $pid
        wait $pid
        check "$mode: exit code" 137 $?
        check "$mode: the capture is reported" 0 "$("$ROOFPROF" report a.roof >/dev/null 2>&1; echo $?)"
        [ "$(query "select count(*) from counters")" -gt 0 ] || check "$mode: counters" some none
    done
    ;;
*)
    echo "no such case: $1"
    exit 1
    ;;
esac
exit $((failures > 0))
