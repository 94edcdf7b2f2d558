#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: emulated.sh ROOFPROF MODE PROGRAM [ARGUMENT...]
# Counts that the tracer takes through the emulated device's CUPTI, against what that device itself
# counted: the same launches, in order, and every quantity that both know must be equal to the last
# digit. The device's CUPTI is strict: what it says of the tracer's calls fails the test. MODE: one of
# --mode, or runs2 for replay in two runs. FLOPs are what instructions make of them, as a GPU counts
# (a division is some ten), so they are held against the device's flops_hardware (hardware_flops.py).
# DEVICE: H100 if not set. NOT_COMPARED: quantities (separated by commas) that are left out. MAY_VARY=1:
# the program's own output may hold times. 77: skipped.
set -u
roofprof=$1 mode=$2 device=${DEVICE:-H100}
here=$(cd "$(dirname "$0")" && pwd)
options=(--mode "$mode")
[ "$mode" != runs2 ] || options=(--mode replay --runs 2)
shift 2
[ -x "$1" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
fail() {
    echo "$*"
    failures=1
}

# Sanitizers: their library first, and no real CUPTI, which opens others with RTLD_DEEPBIND.
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST ROOFPROF_EMU_REAL_CUPTI=none
export ASAN_OPTIONS=detect_leaks=0

# A program that shows times shows other numbers each time: then all but numbers must be the same.
varies=
comparable() {
    if [ -n "$varies" ]; then
        sed -E 's/[-+]?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g' "$1"
    else
        cat "$1"
    fi
}
"$roofprof" --emulate "$device" --mode none -- "$@" >plain.out 2>plain.err
plain=$?
if [ -n "${MAY_VARY:-}" ]; then
    sleep 1.1 # some are seeded by the time
    "$roofprof" --emulate "$device" --mode none -- "$@" >plain2.out 2>plain.err
    cmp -s plain.out plain2.out || varies=yes
fi
ROOFPROF_EMU_STRICT=1 "$roofprof" --emulate "$device" "${options[@]}" --budget 0 -q -o a.roof -- "$@" >out 2>err
code=$?
[ $plain = 0 ] || fail "the program fails by itself: $(tail -3 plain.err)"
[ -s a.roof ] || {
    fail "no capture: $(cat err)"
    exit 1
}
[ $code = $plain ] || fail "exit code $code, and $plain without the tracer"
[ "$mode" != runs2 ] || cat plain.out >>twice.out
cat plain.out >>twice.out
[ "$(comparable twice.out)" = "$(comparable out)" ] || {
    fail "the program's output differs"
    diff <(comparable twice.out) <(comparable out) | head -10
}
if grep 'emulated device: CUPTI:' err; then
    fail "the device found fault with the tracer's calls"
fi

sqlite3 a.roof >facts <<SQL
attach 'a.counts.roof' as d;
.mode list
select count(*) from launches;
select count(*) from d.launches;
SQL
[ "$(sed -n 1p facts)" = "$(sed -n 2p facts)" ] || fail "launches: $(tr '\n' ' ' <facts)"
# Launches by their correlation ids on one side and by their numbers on the other.
columns=$(sqlite3 a.roof "select name from pragma_table_info('quantities') where name <> 'launch'")
{
    echo "attach 'a.counts.roof' as d;"
    echo "create temp table ours as select row_number() over (order by l.correlation, l.graph_node) n, k.short_name name, q.* from launches l join configs c on c.id=l.config join kernels k on k.id=c.kernel left join quantities q on q.launch=l.id;"
    echo "create temp table theirs as select row_number() over (order by l.id) n, k.short_name name, q.* from d.launches l join d.configs c on c.id=l.config join d.kernels k on k.id=c.kernel left join d.quantities q on q.launch=l.id;"
    echo "select 'order ' || o.n || ' ' || o.name || ' ' || t.name from ours o join theirs t using (n) where o.name <> t.name;"
    for column in $columns; do
        case ,${NOT_COMPARED-}, in *,"$column",*) continue ;; esac
        echo "select '$column of launch ' || o.n || ' ' || o.name || ': ' || o.\"$column\" || ' ' || t.\"$column\" from ours o join theirs t using (n) where o.\"$column\" <> t.\"$column\" limit 3;"
        echo "select 'compared ' || count(*) from ours o join theirs t using (n) where o.\"$column\" = t.\"$column\";"
    done
} | sqlite3 a.roof >differences
grep -v '^compared' differences && failures=1
compared=$(awk '/^compared/ {n += $2} END {print n + 0}' differences)
launches=$(sed -n 1p facts)
case $mode in
trace) least=0 ;;
sampled) least=6 ;;
*) least=$((launches * 20)) ;;
esac
{ [ "$launches" -gt 0 ] && [ "$compared" -ge $least ]; } || fail "only $compared values of $launches launches were compared"
if [ "$mode" != trace ]; then
    door=$ROOFPROF_EMULATOR/libcudart.so.$(readelf -d "$1" | sed -n 's/.*libcudart.so.\([0-9]*\).*/\1/p')
    ROOFPROF_EMU_DEVICE=$device ROOFPROF_EMU_COUNTS=$folder/counts.jsonl \
        LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$door "$@" >/dev/null 2>&1
    python3 "$here/hardware_flops.py" a.roof counts.jsonl || failures=1
fi
echo "$compared values of $launches launches are equal"
exit $failures
