#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: graphs.sh ROOFPROF PROGRAM, which is the workload `graphs`: what the tracer makes of CUDA graphs on
# the emulated device, whose CUPTI is strict. What is captured is no launch; a launch of a graph is one where
# launches are numbered, and all its kernels are chosen or none but for their names. 77: skipped.
set -u
roofprof=$1 program=$2
[ -x "$program" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST ROOFPROF_EMU_REAL_CUPTI=none
export ASAN_OPTIONS=detect_leaks=0 ROOFPROF_EMU_STRICT=1

# check WHAT WANTED GOT
check() {
    [ "$2" = "$3" ] && return
    echo "$1: wanted $2, got $3"
    failures=1
}

# run MODE OPTION...: the first step runs by itself, 19 out of the graph.
run() {
    mode=$1
    shift
    rm -f a.roof
    "$roofprof" --emulate H100 --mode "$mode" --budget 0 -q -o a.roof "$@" -- "$program" --steps 20 --rounds 0 \
        ${arguments:-} >out 2>err || { cat err; check "$mode $*: exit code" 0 failed; }
    check "$mode $*: output" "ok graphs" "$(cat out)"
    check "$mode $*: what the device says of the tracer" "" "$(grep 'CUPTI:' err)"
}

query() {
    sqlite3 a.roof "$1"
}

# "KERNEL LAUNCHES COUNTED" of each kernel.
kernels() {
    query "select k.short_name || ' ' || count(*) || ' ' || count(q.fp32_vector) from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel left join quantities q on q.launch=l.id group by k.short_name" | tr '\n' ';'
}

each() { # each LAUNCHES COUNTED
    for kernel in gradient predict square update; do printf '%s %s %s;' $kernel "$1" "$2"; done
}

run trace
check "trace" "$(each 20 0)" "$(kernels)"
check "nodes" "76 19" "$(query "select count(*) || ' ' || count(distinct correlation) from launches where graph_node is not null")"
check "nodes have times" 76 "$(query "select count(*) from launches where graph_node is not null and time_ns > 0")"
check "the same nodes each time" 4 "$(query "select count(distinct graph_node) from launches")"
check "the device's own nodes" "$(query "select group_concat(graph_node) from (select distinct graph_node from launches order by 1)")" \
    "$(sqlite3 a.counts.roof "select group_concat(graph_node) from (select distinct graph_node from launches order by 1)")"
run replay
check "replay" "$(each 20 20)" "$(kernels)"
check "branches are said" 1 "$(query "select count(*) from notes where text like '%graphs with branches%'")"
run sampled --samples 2
check "sampled: some of each are counted" 4 "$(query "select count(*) from (select c.kernel, count(q.fp32_vector) n from launches l join configs c on c.id=l.config left join quantities q on q.launch=l.id where l.graph_node is not null group by 1) where n > 0 and n < 19")"
check "sampled: only what ran instrumented has no time" 0 "$(query "select count(*) from launches l left join quantities q on q.launch = l.id where l.time_ns is null and q.fp32_vector is null")"
for mode in trace replay; do
    n=$([ $mode = trace ] && echo 0 || echo 2)
    run $mode --skip 4 --count 2 # after the four launches of the first step: two of the graph
    check "$mode --skip --count" "$(each 2 "$n")" "$(kernels)"
    run $mode --kernel gradient
    check "$mode --kernel" "gradient 20 $((n * 10));" "$(kernels)"
    run $mode --kernel gradient --skip 1 --count 2
    check "$mode --kernel --skip --count" "gradient 2 $n;" "$(kernels)"
done
run replay --no-count square # with one of its kernels a graph is left alone
check "replay --no-count" "$(each 20 1 | sed 's/square 20 1/square 20 0/')" "$(kernels)"
# A launch that is refused is none, and the graph goes on being counted.
arguments="--refused 1"
for mode in replay sampled; do
    run $mode --kernel scale
    check "$mode: launches, refused ones not" 3 "$(query "select count(*) from launches")"
    check "$mode: no launch is without values" 0 "$(query "select count(*) from notes where text like '%counted launches without counters%'")"
done
run replay --kernel scale
check "what is launched after a refused one is counted" "scale 3 3;" "$(kernels)"
# Of several runs it is said which one saw nothing.
cat >once.sh <<'S'
[ ! -e begun ] || export ROOFPROF_EMU_CUPTI_REFUSE=subscribe=39
: >begun
exec "$1" --steps 2 --rounds 0
S
"$roofprof" --emulate H100 --mode rerun -q -o a.roof -- /bin/sh once.sh "$program" >out 2>err
check "the run without kernels is named" 1 "$(grep -c 'no kernel was traced in the run that counts HW: ' err)"
rm begun
"$roofprof" --emulate H100 --mode rerun -q -o a.roof -- /bin/sh -c "[ -e begun ] || '$program' --steps 2 --rounds 0; : >begun" >out 2>err
check "a run without CUDA is named" 1 "$(grep -c 'the run that counts HW launched no kernel' err)"
exit $failures
