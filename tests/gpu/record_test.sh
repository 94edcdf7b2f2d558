#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What record.py makes of a calibration: rows that the linter takes, in place of older ones of the same
# device; and what it refuses.    record_test.sh SOURCE-FOLDER
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }

head -3 "$source/hwdb/measured.csv" >measured.csv
cp measured.csv before.csv
cat >calibration.json <<'J'
{"schema":"roofprof.calibration/1","date":"2026-01-02T03:04:05Z",
 "device":{"name":"NVIDIA H200","source":"device","database_row":"H200-SXM-141GB","driver":"580.1","power_limit_w":700},
 "ceilings":[
  {"name":"fp16_tensor","kind":"compute","precision":"fp16","flops_per_s":900e12,"best":true,"fraction_of_theoretical":0.96,
   "fraction_of_datasheet":0.9096,"sustained":850e12,"clock_hz":1.7e9,"variant":"wgmma_fp16, 128 threads x 2 blocks an SM"},
  {"name":"fp64_tensor","kind":"compute","precision":"fp64","flops_per_s":1e12,"best":false,"fraction_of_theoretical":null,
   "fraction_of_datasheet":null,"sustained":null,"clock_hz":null,"variant":"x"},
  {"name":"dram","kind":"bandwidth","pattern":"triad","bytes_per_s":4.5e12,"best":true,"fraction_of_theoretical":null,
   "fraction_of_datasheet":0.9375,"sustained":null,"clock_hz":1.9e9,"memory_clock_hz":3.2e9,"variant":"triad_16_4"},
  {"name":"l2","kind":"bandwidth","pattern":"read","bytes_per_s":null,"best":false,"variant":null}],
 "interrupted":false}
J
python3 "$source/tests/gpu/record.py" calibration.json measured.csv
grep -qF 'H200-SXM-141GB,fp16_tensor,900,TFLOP/s,fp16_tensor,989.45,91.0,"roofprof calibrate, 2026-01-02T03:04:05Z, driver 580.1, 700 W"' measured.csv ||
    { cat measured.csv; fail "the row of fp16_tensor"; }
grep -qF 'H200-SXM-141GB,dram triad,4500,GB/s,dram_gbs,4800,93.8' measured.csv || { cat measured.csv; fail "the row of dram"; }
[ "$(wc -l <measured.csv)" = 5 ] || fail "rows of what has no value, or is not the best"
cmp -n "$(wc -c <before.csv)" before.csv measured.csv || fail "other rows were changed"
sed -i 's/900e12/910e12/' calibration.json
python3 "$source/tests/gpu/record.py" calibration.json measured.csv
[ "$(wc -l <measured.csv)" = 5 ] || fail "an older calibration's rows are still there"
grep -q ',910,' measured.csv || fail "the newer value"
for change in 's/"source":"device"/"source":"emulated"/' 's/"interrupted":false/"interrupted":true/' \
    's/"database_row":"H200-SXM-141GB"/"database_row":null/'; do
    sed "$change" calibration.json >other.json
    rc=0
    python3 "$source/tests/gpu/record.py" other.json measured.csv 2>err || rc=$?
    [ $rc = 3 ] && [ -s err ] || fail "$change: exit $rc"
done
