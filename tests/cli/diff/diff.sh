#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `roofprof diff`: what changed, the gates and their exit codes, every format.
set -euo pipefail
roofprof=$1
. "$(dirname "$0")/../report/profile.inc"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data NO_COLOR=1
unset ROOFPROF_HWDB COLUMNS

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" diff "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "diff $* exits $got, not $code: $(cat out err)"
}
says() { grep -qF -- "$1" out || fail "the diff lacks '$1': $(cat out)"; }

{
    header
    launch 0 saxpy 4096 100000 124400000 1000000
    launch 1 'gemm_tiled_128_v1' 1024 1000000 40000000 8000000000
    launch 2 gone 16 300000 1000000 1000
    # the same work, twice as slow now and then
    for i in 3 4 5 6 7; do launch $i noisy 4096 $((100000 + i % 2 * 90000)) 10000000 1000; done
} >base.csv
{
    header
    launch 0 saxpy 4096 120000 124400000 1000000
    launch 1 'gemm_tiled_128_v2' 1024 900000 40000000 8000000000
    launch 2 '<b>new</b>' 16 300000 1000000 1000
    for i in 3 4 5 6 7; do launch $i noisy 4096 $((106000 + i % 2 * 90000)) 10000000 1000; done
} >new.csv

expect 0 base.csv base.csv --fail-on 'time>0%' --fail-on new --fail-on gone --fail-on bound --fail-on 'total>0%'
expect 0 base.csv new.csv
says '+20.0 %'
says 'gone'
says 'gemm_tiled_128_v2 looks like gemm_tiled_128_v1'
expect 1 base.csv new.csv --fail-on 'time>5%'
says 'FAILED time>5%: saxpy, time +20.0 %'
grep -q 'FAILED.*noisy' out && fail 'noise failed a gate'
expect 0 base.csv new.csv --fail-on 'time>25%'
says 'passed time>25%'
expect 1 base.csv new.csv --fail-on new
expect 1 base.csv new.csv --fail-on gone
expect 1 base.csv new.csv --fail-on 'time>25%' --fail-on gone
expect 0 base.csv new.csv --fail-on 'bytes>1%'
expect 0 base.csv new.csv --kernel 'noisy' --fail-on 'time>1%'
expect 0 base.csv new.csv --fail-on 'time>5%' --min-share 90
expect 0 base.csv new.csv --follow-renames --fail-on 'time<-30%'
says 'renamed'
expect 1 base.csv new.csv --follow-renames --fail-on 'time<-5%'

# a gate that compared nothing does not pass
{ header; launch 0 other 1 1000 '' ''; } >other.csv
expect 1 base.csv other.csv --fail-on 'time>5%'
says 'no kernel is in both runs'
expect 1 other.csv other.csv --fail-on 'flops>5%'
says 'not known of any kernel'

# formats
expect 1 base.csv new.csv --fail-on 'time>5%' -f json
python3 - <<'P' || fail "JSON"
import json
d = json.load(open("out"))
assert d["schema"] == "roofprof.diff/1" and d["matched"] == 2
k = {x["name"]: x for x in d["kernels"]}
assert abs(k["saxpy"]["time_change"] - 0.2) < 1e-9 and k["saxpy"]["time_change_interval"] is None
low, high = k["noisy"]["time_change_interval"]
assert low < 0 < high
assert k["<b>new</b>"]["base"] is None and k["<b>new</b>"]["time_change"] is None
assert d["gates"] == [{"gate": "time>5%", "failed": True, "judged": True, "kernels": ["saxpy"]}]
P
expect 0 base.csv new.csv -f csv
python3 -c 'import csv; r = list(csv.DictReader(open("out"))); assert len(r) == 6 and all(None not in x for x in r)'
expect 0 base.csv new.csv -f md
expect 0 base.csv new.csv -f html -o page.html
grep -q '<b>new' page.html && fail 'a name became markup'
grep -q '&lt;b&gt;new' page.html || fail 'the name is not shown'

# usage and input
expect 2 base.csv
expect 2 base.csv new.csv third.csv
expect 2 base.csv new.csv --fail-on 'time'
expect 2 base.csv new.csv --fail-on 'speed>5%'
expect 3 base.csv nowhere.csv
expect 0 --help
echo OK
