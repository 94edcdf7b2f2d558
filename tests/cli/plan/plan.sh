#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `roofprof plan`: the worked examples through the command line, formats, and nonsense.
set -euo pipefail
roofprof=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data NO_COLOR=1
unset ROOFPROF_HWDB COLUMNS

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" plan "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "plan $* exits $got, not $code: $(cat err)"
}

expect 0 --params 70e9 --dtype fp16 --mode infer --device H100-SXM5-80GB --tokens-per-s 50 --batch 1 --format json
python3 - <<'P' || fail "70 billion"
import json
p = json.load(open("out"))
assert p["schema"] == "roofprof.plan/1" and p["mode"] == "infer" and p["provenance"] == "modelled"
d, = p["devices"]
assert d["memory_bytes"]["weights"] == 140e9 and d["fits"] is False and d["min_count"] == 2
assert d["required_bytes_per_s"] == 7e12 and d["min_count_by_bandwidth"] == 3
assert d["memory_bytes"]["kv_cache"] is None  # no shape: not known, not 0
assert d["bound"] == "capacity" and abs(d["ridge_batch"] - 295.1) < 1
assert d["tokens_per_s"]["bandwidth_limit"] == 23.94  # four digits, no more
assert any("KV cache is left out" in a for a in p["assumptions"])
P
expect 0 --params 7e9 --mode train --device A100-SXM4-80GB --grad-dtype fp32 --format json
python3 - <<'P' || fail "7 billion"
import json
d, = json.load(open("out"))["devices"]
m = d["memory_bytes"]
assert d["bytes_per_param"] == 18
assert m["weights"] + m["master_weights"] + m["gradients"] + m["optimizer"] == 126e9
P
expect 0 --params 7e9 --batch 1 --dtype fp16 --device A100,H100 --format json
python3 - <<'P' || fail "batch 1"
import json
a, h = json.load(open("out"))["devices"]
assert a["bound"] == h["bound"] == "bandwidth"
assert abs(a["ridge_batch"] - 153) < 0.8 and abs(h["ridge_batch"] - 295.1) < 1.5
P
for format in text csv md html; do
    expect 0 --model llama-70b --device A100,H100,H200,H20 --count 4 --batch 8 --format $format
    grep -q H20-96GB out || fail "no H20 in $format"
    expect 0 --model llama-7b --mode train --count 8 --checkpoint full --format $format
done
# GB and GiB are never mixed: no figure is in GiB.
expect 0 --model llama-70b
if grep -q GiB out; then fail "GiB"; fi
grep -q '138 GB' out || fail "69 billion parameters in 16 bits are 138 GB"
# Options change a preset, before it or after it.
expect 0 --layers 16 --model llama-7b --format json
cp out before.json
expect 0 --model llama-7b --layers 16 --format json
cmp -s out before.json || fail "the order of --model and --layers matters"

# Nonsense: exit 2 and one sentence.
nonsense() {
    expect 2 "$@"
    [ "$(grep -vc 'is taken as' err)" = 1 ] || fail "plan $*: $(cat err)"
    [ ! -s out ] || fail "plan $* prints a plan"
}
nonsense
nonsense --params -7e9
nonsense --params 0
nonsense --params nan
nonsense --params 1e400
nonsense --params 7e9x
grep -q "'7e9x' is not a number;" err || fail "odd limits: $(cat err)"
nonsense --layers 32 --hidden 4096 --heads 0 --vocab 32000
nonsense --layers -32 --hidden 4096 --heads 32 --vocab 32000
nonsense --layers 32 --hidden 4095 --heads 32 --vocab 32000
nonsense --layers 99999999999999 --hidden 4096 --heads 32 --vocab 32000
nonsense --model llama-8000b
nonsense --model llama-7b --dtype fp8 --device A100-SXM4-80GB
nonsense --model llama-7b --dtype bf16 --device V100-SXM2-16GB
nonsense --model llama-7b --dtype fp99
grep -q "is none of fp64, fp32, tf32, bf16, fp16, fp8, fp6, fp4, int8, int4" err || fail "no list of types: $(cat err)"
nonsense --model llama-7b --mode dream
grep -q "'dream' is none of infer, train" err || fail "no list of modes: $(cat err)"
nonsense --model llama-7b --count 0
nonsense --model llama-7b --count 8 --tp 3
nonsense --model llama-7b --batch -1
nonsense --model llama-7b --seq 0
nonsense --model llama-7b --tokens-per-s 0
nonsense --model llama-7b --network telegraph
nonsense --mode train --params 1e16 --dtype fp32
nonsense --model llama-7b --mode train --zero 9
nonsense --model llama-7b H100
nonsense --model llama-7b --plot plan.gif
grep -q 'params .nan' <(expect 2 --params nan; cat err) || fail "a wrong number's option is not named"
expect 3 --model llama-7b --device H1000

# A device without a needed figure says which.
expect 0 --model llama-7b --device H100-SXM5-94GB
grep -q 'DRAM bandwidth of H100-SXM5-94GB' out || fail "a missing figure is not named"
if command -v gnuplot >/dev/null; then
    expect 0 --model llama-7b --device A100,H100 --plot plan.png
    [ -s plan.png ] || fail "no picture"
fi
echo passed
