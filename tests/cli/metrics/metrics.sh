#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# metrics.sh ROOFPROF TOOLCHAIN HWDB: the command itself, and every configuration against a CUPTI.
set -u
roofprof=$1 toolchain=$2 hwdb=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_DATA_HOME=$folder/none ASAN_OPTIONS=detect_leaks=0 # CUPTI keeps what it allocates
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

# Without a CUPTI the sets are shown all the same, and said not to be confirmed.
ROOFPROF_CUPTI=/nonexistent "$roofprof" metrics GH100 >"$folder/out" || fail "metrics GH100: exit $?"
grep -q 'FULL2 .* 2 ' "$folder/out" || fail "no FULL2 of two passes"
grep -q 'not asked' "$folder/out" || fail "an absent CUPTI is not said"
ROOFPROF_CUPTI=/nonexistent "$roofprof" metrics GH100 --check >/dev/null 2>"$folder/err"
[ $? -eq 4 ] || fail "--check without a CUPTI: exit is not 4"
ROOFPROF_CUPTI=/nonexistent "$roofprof" metrics XX999 >/dev/null 2>"$folder/err"
[ $? -eq 3 ] || fail "an unknown chip: exit is not 3"
"$roofprof" metrics >/dev/null 2>&1
[ $? -eq 2 ] || fail "no chip: exit is not 2"
ROOFPROF_CUPTI=/nonexistent "$roofprof" metrics H100 --format json >"$folder/json" || fail "json"
python3 - "$folder/json" <<'P' || fail "the JSON is not as documented"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "roofprof.metrics/1" and d["chip"] == "GH100", d
names = {c["name"]: c for c in d["configurations"]}
assert names["FULL2"]["passes"] == 2 and names["HW"]["passes"] == 1 and names["SASS"]["passes"] == 1
assert "dram__bytes_read.sum" in names["HW"]["metrics"]
P

# A real CUPTI with the host interface: CUDA 12.6 and later. It loads libraries of its own in a way
# that the sanitizers refuse (RTLD_DEEPBIND).
[ -z "${SANITIZED:-}" ] || { [ $failures -eq 0 ] && exit 77; exit 1; }
# Those of CUDA 12 (ROOFPROF_TEST_CUPTI12: libraries, separated by spaces) confirm what they know: they
# may lack a chip that is newer than they are, and nothing else.
for cupti in ${ROOFPROF_TEST_CUPTI12:-} "$toolchain"/*/lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12 \
             "$toolchain"/nvidia/cuda_cupti/lib/libcupti.so.12; do
    [ -r "$cupti" ] || continue
    echo "asking $cupti"
    ROOFPROF_CUPTI=$cupti "$roofprof" metrics all --format csv >"$folder/out" 2>"$folder/err"
    grep -q ',confirmed' "$folder/out" || fail "nothing is confirmed: $(cat "$folder/err")"
    grep -E 'GA100|GH100|AD102' "$folder/out" | grep -v 'GB' | grep -v ',confirmed' && fail "a configuration of an older chip is not confirmed"
    sed 1d "$folder/out" | grep -v ',confirmed' | grep -v 'refused: \(NOT_SUPPORTED\|INVALID_CHIP_NAME\)' &&
        fail "a configuration is neither confirmed nor of a chip that is not known"
done
for cupti in ${ROOFPROF_TEST_CUPTI:-} "$toolchain"/*/lib/python3*/site-packages/nvidia/cu13/lib/libcupti.so.13 \
             "$toolchain"/*/nvidia/cu13/lib/libcupti.so.13 "$toolchain"/nvidia/cu13/lib/libcupti.so.13 \
             /usr/local/cuda/extras/CUPTI/lib64/libcupti.so /usr/local/cuda/lib64/libcupti.so; do
    [ -r "$cupti" ] || continue
    echo "asking $cupti"
    ROOFPROF_CUPTI=$cupti "$roofprof" metrics all --check >"$folder/out" 2>"$folder/err" ||
        { cat "$folder/out" "$folder/err"; fail "configurations are not confirmed"; }
    # A metric that is not there is found out.
    mkdir "$folder/hwdb"
    cp "$hwdb"/*.csv "$folder/hwdb/"
    sed -i 's/gpu__time_duration.sum sm__cycles/gpu__time_duration.sum no__such_metric.sum sm__cycles/' \
        "$folder/hwdb/metric_sets.csv"
    ROOFPROF_HWDB=$folder/hwdb ROOFPROF_CUPTI=$cupti "$roofprof" metrics all --check --format csv >"$folder/out" 2>&1
    [ $? -eq 1 ] || fail "a metric that is not there passes --check"
    grep -q no__such_metric.sum "$folder/out" || fail "the metric that is not there is not named"
    exit $((failures > 0))
done
[ $failures -gt 0 ] && exit 1
echo "no CUPTI with the host interface was found: the sets were not held against one"
exit 77
