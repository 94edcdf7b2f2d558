#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No command writes its output over a file that it was told to read: it refuses (2), and the file is
# what it was, also where the output names it by another way.
set -euo pipefail
roofprof=$1
. "$(dirname "$0")/profile.inc"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data
unset ROOFPROF_HWDB

fail() { echo "FAILED: $*" >&2; exit 1; }
refuses() { # FILE ARGUMENT...
    local file=$1 got=0
    shift
    cp "$file" before
    "$roofprof" "$@" >out 2>err || got=$?
    [ "$got" = 2 ] || fail "roofprof $* exits $got: $(cat err)"
    grep -q 'is an input, which would be lost' err || fail "roofprof $*: $(cat err)"
    cmp -s before "$file" || fail "roofprof $* changed $file"
}

{ header; for i in 0 1; do launch $i saxpy 4096 100000 124400000 1000000; done; } >a.csv
cp a.csv b.csv
cp a.csv c.txt
"$roofprof" import a.csv -o a.roof >/dev/null
"$roofprof" import b.csv -o b.roof >/dev/null
ln -s a.roof link
printf '[saxpy]\nflops = 1\n' >known.ini
printf 'name,sm_count\nMine,10\n' >mine.csv
device=(-d A100-SXM4-40GB)

refuses a.csv import a.csv -o a.csv
refuses b.csv import a.csv b.csv -o ./b.csv
refuses a.roof merge a.roof b.roof -o a.roof
refuses a.roof merge link b.roof -o a.roof
refuses b.roof merge a.roof --counts b.roof -o b.roof
refuses a.roof report "${device[@]}" a.roof -o ../"$(basename "$work")"/a.roof
refuses known.ini report "${device[@]}" a.csv --work known.ini -o known.ini
refuses mine.csv report "${device[@]}" a.csv --hwdb mine.csv -o mine.csv
refuses c.txt plot "${device[@]}" c.txt -o c.txt
refuses b.roof diff "${device[@]}" a.roof b.roof -o b.roof
refuses a.roof compare A100-SXM4-40GB --from A100-SXM4-40GB --capture a.roof -o a.roof
refuses mine.csv compare A100-SXM4-40GB --hwdb mine.csv -o mine.csv
refuses mine.csv devices --hwdb mine.csv -o mine.csv
refuses mine.csv plan --params 7e9 --device A100-SXM4-40GB --hwdb mine.csv -o mine.csv

# and beside it they write as ever
"$roofprof" merge a.roof b.roof -o both.roof >/dev/null || fail 'merge'
[ -s both.roof ] || fail 'nothing was merged'
echo OK
