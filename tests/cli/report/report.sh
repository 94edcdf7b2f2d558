#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `roofprof report`: formats, filters, evidence, --work, outputs that are whole or not there, and
# what it says when it cannot.
set -euo pipefail
roofprof=$1
. "$(dirname "$0")/profile.inc"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data
unset ROOFPROF_HWDB COLUMNS NO_COLOR

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" report "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "report $* exits $got, not $code: $(cat err)"
}
says() { grep -qF -- "$1" out || fail "the report lacks '$1': $(cat out)"; }
complains() { grep -qF -- "$1" err || fail "the message lacks '$1': $(cat err)"; }

evil='k`touch pwned`$(touch pwned)<script>alert(1)</script>{/Symbol};@'
{ # A100 40 GB: saxpy at 80 % of its bandwidth; a product of matrices; one without FLOPs; a hostile name
    header
    for i in 0 1 2 3; do launch $i 'saxpy(float, float*)' 4096 100000 124400000 1000000; done
    launch 4 'void gemm<float, 128>(float*)' 1024 1000000 40000000 8000000000
    launch 5 'transpose(float*)' 4096 200000 124400000 0
    launch 6 "$evil" 4096 50000 9000000 ''
} >profile.csv

# ---- Text
expect 0 profile.csv --device A100-SXM4-40GB
says 'memory: dram'
says 'compute: fp32_vector'
says '7 launches of 4 kernels'
[ -s err ] && fail "noise on stderr: $(cat err)"
grep -q $'\033' out && fail 'colour in a pipe'
[ -e pwned ] && fail 'a kernel name was executed'
awk 'length($0) > 130' out | grep -q . && fail 'a line is too long for a pipe'
COLUMNS=80 "$roofprof" report profile.csv -d A100-SXM4-40GB | awk '/^ *#/ { print length($0) }' |
    while read -r n; do [ "$n" -le 80 ] || fail "a header of $n columns on a terminal of 80"; done

# ---- JSON
expect 0 profile.csv -d A100-SXM4-40GB --format json
EVIL=$evil python3 - <<'P' || fail "JSON"
import json, os
d = json.load(open("out"))
assert d["schema"] == "roofprof.report/1"
k = {x["short_name"]: x for x in d["kernels"]}
s = k["saxpy"]
assert s["launches"] == 4 and abs(s["time_s"] - 4e-4) < 1e-12
assert s["flops"]["fp32_vector"] == 8e6 and s["bytes"]["dram"] == 4976e5
assert abs(s["intensity"]["dram"] - 8e6 / 4976e5) < 1e-12
assert s["bound"] == "memory" and s["bound_by"] == "dram" and 0.78 < s["roof_fraction"] < 0.82
assert s["flops"]["fp64_vector"] is None and s["bytes"]["l2"] is None
assert k["transpose"]["flops_total"] == 0 and k["transpose"]["intensity"]["dram"] == 0
assert k["transpose"]["side"] == "memory"
e = [x for x in d["kernels"] if x["name"] == os.environ["EVIL"]]
assert len(e) == 1 and e[0]["flops_total"] is None and e[0]["bound"] == "unknown"
assert d["device"]["chip"] == "GA100"
assert {c["precision"] + "_" + c["path"] for c in d["ceilings"] if c["kind"] == "compute"} >= \
    {"fp64_vector", "fp32_vector", "fp16_tensor", "tf32_tensor"}
assert abs(sum(d["summary"]["time_share_by_bound"].values()) - 1) < 1e-9
P

# ---- CSV, Markdown, HTML
expect 0 profile.csv -d A100-SXM4-40GB -f csv
EVIL=$evil python3 - <<'P' || fail "CSV"
import csv, os
rows = list(csv.DictReader(open("out", newline="")))
assert len(rows) == 4 and all(None not in r and None not in r.values() for r in rows)
assert {r["name"] for r in rows} >= {os.environ["EVIL"], "void gemm<float, 128>(float*)"}
r = next(r for r in rows if r["short_name"] == "saxpy")
assert float(r["time_s"]) == 4e-4 and r["bytes_l2"] == "" and r["bound"] == "memory"
P
expect 0 profile.csv -d A100-SXM4-40GB -f md
says '| \# | kernel |'
grep -q '<script' out && fail 'Markdown lets HTML through'
expect 0 profile.csv -d A100-SXM4-40GB -f html
says '<!DOCTYPE html>'
grep -q 'alert(1)</script>' out && fail 'a name became a script'
EVIL=$evil python3 - <<'P' || fail "HTML"
import os
from html.parser import HTMLParser
class P(HTMLParser):
    def __init__(self):
        super().__init__(); self.depth = []; self.titles = []; self.scripts = 0
    def handle_starttag(self, tag, attrs):
        assert not any(k.startswith("on") for k, _ in attrs), attrs
        self.titles += [v for k, v in attrs if k == "title"]
        self.scripts += tag == "script"
        if tag not in ("meta", "br", "path", "use", "circle", "rect", "line"): self.depth.append(tag)
    def handle_endtag(self, tag):
        if tag in self.depth:
            while self.depth.pop() != tag: pass
p = P(); p.feed(open("out").read())
assert not p.depth, p.depth
assert p.scripts == 1, p.scripts          # the page's own
assert os.environ["EVIL"] in p.titles      # the whole name, as text
P

# ---- A model: useful FLOPs against a stated peak; what cannot be said, and why
expect 0 profile.csv -d A100-SXM4-40GB --model gpt2 --tokens 1e3 --mode train --seq 1024 -f json
python3 - <<'P' || fail "a model's share"
import json
s = json.load(open("out"))["summary"]
flops = 1e3 * (6 * 124439808 + 12 * 12 * 768 * 1024)
assert abs(s["model"]["flops"] / flops - 1) < 1e-9 and s["model"]["peak"] == "bf16_tensor"
share = flops / (s["utilization_time_s"] * 108 * 2048 * 1.41e9)
assert abs(s["utilization"]["model_flops"] / share - 1) < 1e-3
assert s["utilization"]["capacity_effective"] is None and "allocated" in s["model"]["missing"]
P
expect 0 profile.csv -d A100-SXM4-40GB --model gpt2 --tokens 1e3
says '0.124 billion parameters, inference'
says 'of the dense bf16_tensor peak'
expect 0 profile.csv -d A100-SXM4-40GB --model-flops 1e9 --dtype fp32
says 'of the dense fp32_vector peak'
expect 2 profile.csv --model gpt2
expect 2 profile.csv --model gpt2 --tokens 1e3 --model-flops 1e9
expect 2 profile.csv --tokens 1e3
expect 2 profile.csv --model gpt9 --tokens 1e3

# ---- What is said of the input: other devices of that name, the same file twice, the file at hand
expect 0 profile.csv -d A100
complains '"A100" is taken as A100-SXM4-80GB; also: A100-SXM4-40GB'
expect 3 profile.csv ./profile.csv
complains 'given twice'
expect 3 profile.csv -k 'no such kernel'
complains "'roofprof report profile.csv'"
cp profile.csv before.csv
expect 2 profile.csv -d A100-SXM4-40GB -o ./profile.csv
complains 'which would be lost'
cmp profile.csv before.csv || fail 'the input was overwritten'
{ header; launch 0 untimed 1 'n/a' 100 1; } >untimed.csv
expect 0 untimed.csv -d A100-SXM4-40GB
says 'GPU time   n/a'
expect 0 untimed.csv -d A100-SXM4-40GB -f json
python3 - <<'P' || fail "a time that is not known is no 0"
import json
s = json.load(open("out"))["summary"]
assert s["gpu_time_s"] is None and s["kernel_time_sum_s"] is None and s["utilization_time_s"] is None
assert set(s["time_share_by_bound"].values()) == {None}
P

# ---- Filters, order, evidence
expect 0 profile.csv -d A100-SXM4-40GB --kernel saxpy
says '4 of 7 launches pass the filter'
expect 0 profile.csv -d A100-SXM4-40GB --kernel-regex '^(saxpy|void gemm)' -f csv
[ "$(wc -l <out)" = 3 ] || fail 'the regular expression selects two kernels'
expect 0 profile.csv -d A100-SXM4-40GB --skip 4 --count 1 -f csv
[ "$(wc -l <out)" = 2 ] || fail 'a window of one launch'
grep -q gemm out || fail 'the window starts at the fifth launch'
expect 0 profile.csv -d A100-SXM4-40GB --top 2
says 'and 2 more kernels'
expect 0 profile.csv -d A100-SXM4-40GB --sort name -f csv
sed -n 2p out | grep -q pwned || fail 'k comes first by name'
sed -n 5p out | grep -q gemm || fail 'void gemm comes last by name'
expect 0 profile.csv -d A100-SXM4-40GB --explain --kernel '*gemm*'
says 'fp32_insts'
says 'not counted'
# where nothing was counted one sentence stands for a table of dashes; data formats keep the rows
{ header; launch 0 timed 64 100000 '' ''; } >times.csv
for format in text md html; do
    expect 0 times.csv -d A100-SXM4-40GB --explain -f $format
    tr -s ' \n' ' ' <out >flat
    grep -qF 'Nothing was counted that a ceiling could be held against.' flat ||
        fail "$format: no word on what is missing: $(cat out)"
    grep -qF 'not counted' out && fail "$format: rows of dashes: $(cat out)"
done
expect 0 times.csv -d A100-SXM4-40GB --explain -f csv
says 'fp32_vector'
# who names the device is not told to; who does not is, once
expect 0 times.csv -d A100-SXM4-40GB
grep -q -e '--device (' out && fail "still asks for --device: $(cat out)"
expect 0 times.csv
tr -s ' \n' ' ' <out | grep -qF 'warning: the capture does not name device 0' ||
    fail "no word on the device: $(cat out)"
[ "$(grep -c '^warning' out)" = 1 ] || fail "one warning is enough: $(cat out)"

expect 0 profile.csv -d A100-SXM4-40GB --explain -k saxpy -f json
grep -q '"evidence"' out || fail 'evidence in JSON'
expect 3 profile.csv -d A100-SXM4-40GB --kernel 'no such*'
complains 'none of the 7 launches passes the filter'

# ---- --work
printf '[saxpy*]\nflops = 2 * gx * bx\nbytes = 12 * gx * bx\n[k*]\nflops = 1e6\n' >known.ini
{ header; launch 0 saxpy 1000 100000 '' ''; launch 1 saxpy 2000 100000 '' ''; } >times.csv
expect 0 times.csv -d A100-SXM4-40GB --work known.ini -f json
python3 - <<'P' || fail "--work"
import json
k = json.load(open("out"))["kernels"]
assert len(k) == 1 and k[0]["flops_total"] == 2 * 3000 * 256 and k[0]["bytes"]["dram"] == 12 * 3000 * 256
assert k[0]["flops_provenance"] == "user" and k[0]["bytes_provenance"] == "user"
P
printf '[saxpy]\nflops = 2 * gx / (bx - 256)\n' >bad.ini
expect 3 times.csv --work bad.ini
complains 'bad.ini:2'
printf '[saxpy]\nflops = system("touch pwned")\n' >bad.ini
expect 3 times.csv --work bad.ini
complains 'bad.ini:2'
[ -e pwned ] && fail '--work executed something'
expect 3 times.csv --work nowhere.ini
complains 'nowhere.ini'

# ---- A device that is not known is said, and nothing is guessed
expect 0 profile.csv
says 'name it with --device'
expect 3 profile.csv --device 'A1000 SXL'
complains 'A1000 SXL'

# ---- Calibrated ceilings move what is lost, not the verdict
mkdir overlay
printf 'device,ceiling,value,unit,clock_mhz,provenance,source\nA100-SXM4-40GB,dram,1400e9,B/s,,calibrated,test\n' \
    >overlay/ceilings.csv
expect 0 profile.csv -d A100-SXM4-40GB -k saxpy -f json
cp out plain
expect 0 profile.csv -d A100-SXM4-40GB -k saxpy -f json --hwdb overlay
python3 - <<'P' || fail "calibrated ceilings"
import json
p, c = (json.load(open(f))["kernels"][0] for f in ("plain", "out"))
assert p["calibrated_fraction"] is None
assert abs(c["calibrated_fraction"] - 4976e5 / 1400e9 / 4e-4) < 1e-6
assert c["roof_fraction"] == p["roof_fraction"] and c["bound"] == p["bound"]
assert c["time_lost_s"] < p["time_lost_s"]
d = [x for x in json.load(open("out"))["ceilings"] if x.get("level") == "dram"]
assert len(d) == 1 and d[0]["provenance"] == "calibrated" and d[0]["bytes_per_s"] == 1400e9
P

# ---- Outputs
expect 0 profile.csv -d A100-SXM4-40GB -f json -o 'report-%p-%%.json'
ls report-*-%.json >/dev/null || fail 'the name was not filled in'
python3 -m json.tool report-*-%.json >/dev/null || fail 'the file is not whole'
expect 2 profile.csv -o 'report-%x'
expect 125 profile.csv -o no/such/folder/report.txt
expect 125 profile.csv -o .
[ -z "$(find . -name '*tmp*' -o -name '.report*')" ] || fail "left behind: $(ls -a)"
got=0
"$roofprof" report profile.csv >/dev/full 2>err || got=$?
[ "$got" = 125 ] || fail "a full disk exits $got"

# ---- Usage and input
expect 2
complains 'no FILE is given'
expect 2 profile.csv --formt json
complains "did you mean '--format'"
expect 2 profile.csv --format yaml
expect 2 profile.csv --top -3
expect 2 profile.csv --top 3x
expect 2 profile.csv --sort beauty
expect 2 profile.csv --by moon
expect 2 profile.csv --explain=yes
expect 2 profile.csv --kernel
expect 3 nowhere.csv
complains nowhere.csv
expect 3 .
printf 'no profile\n' >text.txt
expect 3 text.txt
expect 0 --help
says 'usage: roofprof report'
says '--model-flops N'

# ---- Several files stand side by side
expect 0 profile.csv times.csv -d A100-SXM4-40GB -f json
echo OK
