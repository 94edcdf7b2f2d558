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
# What is wrong with the files is said before anything is measured, and no file takes another's place.
expect 3 --host --check wrong.json
[ ! -s out ] || fail "measured, though the base cannot be read"
expect 125 --host -o none/gpu.json
grep -q 'none/gpu.json' err || fail "does not say what cannot be written"
cp host.json before.json
expect 2 --from better.json --check host.json --format json -o host.json
expect 2 --from host.json --plot host.json
cmp -s host.json before.json || fail "the base was overwritten"

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
# Shells and Python run with the sanitizer's library from here on, and leave memory behind.
export ROOFPROF_EMULATOR=$emulator LD_PRELOAD=${PRELOAD_FIRST:-} ASAN_OPTIONS=detect_leaks=0
expect 2 --emulate A100 --host
expect 2 --emulate A100 --from host.json
expect 4 --emulate nonsense
expect 4 --emulate A100 -d 1
grep -q 'the driver sees 1' err || fail "-d 1 of one device"
export ROOFPROF_EMU_NVML=power=350,temperature=61,throttle=0x4
expect 0 --emulate A100 --format json
cp out emulated.json
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
for k in there: # NVML's, read while it ran
    assert by[k]["power_w"] == 350 and by[k]["temperature_c"] == 61, by[k]
    assert by[k]["throttle"] == "power cap" and by[k]["memory_clock_hz"] > 1e9, by[k]
    if by[k]["kind"] == "compute": # the same again: an emulated device does not get warm
        assert abs(by[k]["sustained"] / by[k]["flops_per_s"] - 1) < 0.02, by[k]
assert d["device"]["power_limit_w"] == 400 and d["device"]["uuid"]
copies = {c["name"]: c for c in d["copies"]}
assert copies["copy_to_peer"]["absent_because"] and copies["copy_to_host_pageable"]["absent_because"]
for name in ("copy_to_device_pinned", "copy_to_host_pinned"):
    assert 20e9 < copies[name]["bytes_per_s"] < 32e9, copies[name]
assert copies["copy_both_ways_pinned"]["bytes_per_s"] > 1.9 * copies["copy_to_host_pinned"]["bytes_per_s"]
assert all(c["level"] == "pcie" for c in d["copies"])
assert len(d["sweep"]) == 9
for a, b in zip(d["sweep"], d["sweep"][1:]):
    assert b["intensity_flop_per_byte"] > a["intensity_flop_per_byte"]
P
unset ROOFPROF_EMU_NVML

# Two devices: copies between them. Between events of the emulated device, so on its clock.
expect 0 --emulate A100:2 -d 1 --quick --format json
python3 - <<'P' || fail "two devices"
import json
copies = {c["name"]: c for c in json.load(open("out"))["copies"]}
for name in ("copy_to_peer_0", "copy_from_peer_0", "copy_both_ways_peer_0"):
    assert copies[name]["bytes_per_s"] > 1e9 and "devices 1 and 0" in copies[name]["variant"], copies[name]
assert "copy_to_peer" not in copies
P
grep -q '"sustained":[0-9]' out && fail "--quick has a sustained figure"

# What a real device may answer, each said with what to do about it.
export ROOFPROF_EMU_CUDA_REFUSE
refuses() { # refuses LIST CODE PIECE
    ROOFPROF_EMU_CUDA_REFUSE=$1
    expect "$2" --emulate A100 --quick --format json
    cat err out | grep -q -- "$3" || fail "refused $1: no word of $3"
    ROOFPROF_EMU_CUDA_REFUSE=
}
refuses cuInit=802 4 fabric
refuses cuDevicePrimaryCtxRetain=46 4 'exclusive compute mode'
refuses cuModuleLoadData=209 4 "kernels are for other devices"
refuses cuStreamSynchronize=214 4 'ECC cannot correct'
# Memory that runs out, or a device that fails, on the way: what was done until then is kept.
refuses cuMemAlloc=2@12 0 "something else holds the device's memory"
python3 - <<'P' || fail "memory that runs out"
import json
d = json.load(open("out"))
assert any(c["flops_per_s"] for c in d["ceilings"] if c["kind"] == "compute")
absent = [c for c in d["ceilings"] if c["kind"] == "bandwidth"]
assert len(absent) == 10 and all("CUDA_ERROR_OUT_OF_MEMORY" in c["absent_because"] for c in absent), absent
assert d["sweep"] == []
P
refuses cuLaunchKernel=719@20 0 CUDA_ERROR_LAUNCH_FAILED
unset ROOFPROF_EMU_CUDA_REFUSE

# Pictures of an emulated device: the roofline with its sweep, and the bars.
if [ "$gnuplot" = 1 ]; then
    expect 0 --from emulated.json --plot device.svg
    grep -q '</svg>' device.svg || fail "no picture of a device"
fi
expect 0 --from emulated.json --check emulated.json
echo "all passed"
