#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# roofprof calibrate as a user sees it: no GPU, the host, an emulated device, checking against a base,
# pictures, interruption.    calibrate.sh ROOFPROF EMULATOR-FOLDER GNUPLOT(1 or 0) IMAGES(1 or 0)
set -euo pipefail
roofprof=$1 emulator=$2 gnuplot=$3 images=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data

fail() { echo "FAILED: $*" >&2; cat err out 2>/dev/null >&2; exit 1; }
expect() { # expect CODE ARGUMENT...
    local code=$1 rc=0
    shift
    "$roofprof" calibrate "$@" >out 2>err || rc=$?
    [ $rc -eq "$code" ] || fail "calibrate $*: exit $rc, not $code"
}

# No driver here (or no kernels in this build): said, with what to do; nothing printed.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    expect 4
    grep -q -- '--host' err || fail "no hint at --host"
    [ ! -s out ] || fail "something on stdout"
    if [ "$images" = 0 ]; then grep -q nvcc err || fail "does not say why there are no kernels"; fi
fi

# Usage.
expect 2 --format nonsense
expect 2 -d -1
expect 2 stray
expect 2 --from x --host
expect 0 --help

# The host, for real.
expect 0 --host --quick --format json
cp out host.json
python3 - <<'P' || fail "host JSON"
import json
d = json.load(open("host.json"))
assert d["schema"] == "roofprof.calibration/1" and d["device"]["source"] == "host"
by = {(c["name"], c.get("pattern")): c for c in d["ceilings"]}
patterns = {p for n, p in by if n == "dram"}
assert patterns == {"read", "write", "copy", "scale", "add", "triad", "dot"}, patterns
for c in d["ceilings"]:
    assert c["absent_because"] is None, c
    rate = c.get("bytes_per_s") or c["flops_per_s"]
    assert 1e8 < rate < 1e14, c
    assert c["provenance"] == "calibrated" and c["repeats"] >= 5
# twice the lanes: between once and three times the rate, however busy the machine
assert sum(c["best"] for c in d["ceilings"] if c["name"] == "dram") == 1
best = [c for c in d["ceilings"] if c["name"] == "dram" and c["best"]][0]
assert best["bytes_per_s"] == max(c["bytes_per_s"] for c in d["ceilings"] if c["name"] == "dram")
P
[ ! -e data ] || fail "the host was recorded"
for format in text csv md html; do
    expect 0 --from host.json --format $format
    grep -q 'fp64.\?_vector' out || fail "--format $format"
done

# A check against itself passes; a base that was better fails, and says what and by how much.
expect 0 --from host.json --check host.json
python3 - <<'P'
import json
d = json.load(open("host.json"))
for c in d["ceilings"]:
    if c["name"] == "fp32_vector":
        c["flops_per_s"] *= 1.2
json.dump(d, open("better.json", "w"))
d["device"]["name"] = "another"
json.dump(d, open("other.json", "w"))
d["schema"] = "roofprof.report/1"
json.dump(d, open("wrong.json", "w"))
P
expect 1 --from host.json --check better.json
grep -q 'fp32_vector.*16.7 % worse' err || fail "--check does not say what was lost"
expect 0 --from host.json --check better.json --loss 20
expect 3 --from host.json --check other.json
expect 3 --from host.json --check wrong.json
expect 3 --from host.json --check nothing.json
head -c 300 host.json >cut.json
expect 3 --from cut.json

if [ "$gnuplot" = 1 ]; then
    expect 0 --from host.json --plot host.png
    [ "$(head -c 4 host.png | tail -c 3)" = PNG ] || fail "no picture"
    expect 2 --from host.json --plot host.txt
fi

# Ctrl-C keeps what is done.
"$roofprof" calibrate --host --format json >partial.json 2>err & pid=$!
sleep 1
kill -INT $pid 2>/dev/null || true
wait $pid || fail "interrupted: exit $?"
python3 -c 'import json; d = json.load(open("partial.json")); assert d["ceilings"] or d["interrupted"]' ||
    fail "interrupted: no document"

# An emulated device: every kernel that it has gives right results; all is marked, nothing recorded.
[ "$images" = 1 ] && [ -e "$emulator/libcuda.so.1" ] || { echo "no emulated driver or no kernels in this build: that part is left out"; exit 0; }
runtime=$(ls "$emulator"/libcudart.so.1* | tail -1)
rc=0
ROOFPROF_EMU_DEVICE=A100 LD_PRELOAD=${PRELOAD_FIRST:+$PRELOAD_FIRST:}$runtime:$emulator/libcuda.so.1 \
    "$roofprof" calibrate --format json >emulated.json 2>err || rc=$?
[ $rc -eq 0 ] || fail "emulated: exit $rc"
grep -q 'nothing is recorded' err || fail "does not say that nothing is recorded"
[ ! -e data ] || fail "modelled figures were recorded"
python3 - <<'P' || fail "emulated JSON"
import json
d = json.load(open("emulated.json"))
assert d["device"]["source"] == "emulated" and d["device"]["database_row"].startswith("A100")
by = {(c["name"], c.get("pattern")): c for c in d["ceilings"]}
there = [k for k, c in by.items() if c["absent_because"] is None]
for name in ("fp64_vector", "fp32_vector", "fp16_vector", "bf16_vector", "int32_vector"):
    assert (name, None) in there, name
for pattern in ("read", "write", "copy", "scale", "add", "triad", "dot"):
    assert ("dram", pattern) in there, pattern
for level in ("l2", "l1", "shared"):
    assert (level, "read") in there, level
for k in there:
    assert by[k]["provenance"] == "modelled", by[k]
    assert by[k]["fraction_of_theoretical"] is None or by[k]["fraction_of_theoretical"] <= 1.0, by[k]
for k, c in by.items():
    assert c["absent_because"] or k in there
    if c["absent_because"]:
        assert c["provenance"] == "absent" and (c.get("flops_per_s") or c.get("bytes_per_s")) is None
assert ("fp8_tensor", None) not in there
assert len(d["sweep"]) == 9
for a, b in zip(d["sweep"], d["sweep"][1:]):
    assert b["intensity_flop_per_byte"] > a["intensity_flop_per_byte"]
P
echo "all passed"
