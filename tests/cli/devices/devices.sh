#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `roofprof devices`: the list and one device in every format, names, overlays, bad files.
set -euo pipefail
roofprof=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data NO_COLOR=1
unset ROOFPROF_HWDB COLUMNS

fail() { echo "FAILED: $*" >&2; exit 1; }
# Runs a command that must exit with CODE; its stderr is in err.
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" devices "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "devices $* exits $got, not $code: $(cat err)"
}

expect 0 --format csv
[ "$(wc -l <out)" -ge 76 ] || fail "the list is short"
for format in text csv md html json; do
    expect 0 --format $format
    grep -q H100-SXM5-80GB out || fail "no H100 in $format"
    expect 0 --format $format "NVIDIA H100 80GB HBM3"
    grep -q 'fp16.*_tensor' out || fail "no FP16 peak in $format"
done
python3 - <<'P' || fail "the JSON"
import json
d = json.load(open("out"))
assert d["schema"] == "roofprof.device/1" and d["name"] == "H100-SXM5-80GB"
peaks = {(c["ceiling"], c["provenance"]): c["rate"] for c in d["ceilings"]}
assert peaks["fp16_tensor", "datasheet"] == 989.4e12
assert abs(peaks["fp16_tensor", "theoretical"] / 989.4e12 - 1) < 0.001
assert d["limits"]["shared_optin"] == 232448 and d["memory_bytes_reported"] is True
assert all(c["source"] for c in d["ceilings"])
P

# An ambiguous name lists the candidates, on stderr alone.
expect 0 A100
grep -q A100-PCIE-40GB err || fail "A100 does not list the others"
expect 0 A100-SXM4-40GB
[ ! -s err ] || fail "an exact name says more than it must: $(cat err)"

# Unknown ones give the nearest names.
expect 3 H1000
grep -q H100-SXM5-80GB err || fail "no nearest name for H1000"
[ ! -s out ] || fail "an unknown name prints a device"
expect 3 ""
expect 2 A100 H100
expect 2 --format yaml
expect 2 --nonsense

# Records of one's own: in a file, in a folder, in the data folder.
printf 'name,dram_gbs,note\nH100-SXM5-80GB,3000,mine\nHome made,100,\n' >own.csv
expect 0 --hwdb own.csv --format csv "home made"
grep -q '^dram,100000000000,' out || fail "the overlay's record is not shown"
mkdir -p data/roofprof folder
cp own.csv data/roofprof/devices.csv
expect 0 --format csv H100
grep -q '^dram,3000000000000,.*datasheet' out || fail "the data folder is not read"
mv data/roofprof/devices.csv folder/
expect 0 --hwdb folder --format csv H100
grep -q '^dram,3000000000000,' out || fail "the overlay's folder is not read"
rm -r folder data/roofprof

# Bad ones are told by file and line, and nothing is printed.
printf 'name,dram_gbs\nX,fast\n' >bad.csv
expect 3 --hwdb bad.csv
grep -q 'bad.csv:2: dram_gbs' err || fail "a bad record is not located: $(cat err)"
[ ! -s out ] || fail "a bad overlay prints a list"
expect 3 --hwdb /nonexistent.csv
head -c 4096 /dev/urandom >noise.csv
expect 3 --hwdb noise.csv

# Text from a file reaches neither the terminal nor a spreadsheet as a command.
printf 'name,vendor,note\n"evil\033[31m<script>=1+1",NVIDIA,"=HYPERLINK(""x"")"\n' >hostile.csv
expect 0 --hwdb hostile.csv
if grep -q $'\033' out; then fail "an escape sequence passes through"; fi
expect 0 --hwdb hostile.csv --format html
if grep -q '<script>' out; then fail "HTML is not escaped"; fi

# A file is there whole or not at all.
expect 0 -o here.csv --format csv
[ -s here.csv ] && [ ! -s out ] || fail "-o"
expect 125 -o /nonexistent/there.csv
# Installed elsewhere: the folder can be named.
ROOFPROF_HWDB=/nonexistent "$roofprof" devices >out 2>err && fail "a missing database goes unnoticed"
grep -q ROOFPROF_HWDB err || fail "a missing database has no remedy"
echo passed
