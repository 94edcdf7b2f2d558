#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: driver.sh ROOFPROF PROGRAM [ARGUMENT...]
# The driver and the power limit that a device ran under: in the capture where the machine's NVML (here
# the emulated device's) knows that device, and then they choose the calibrated records that count.
set -u
roofprof=$1
shift
[ -x "$1" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
fail() {
    echo "$*"
    failures=1
}
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST ROOFPROF_EMU_REAL_CUPTI=none
export ASAN_OPTIONS=detect_leaks=0 XDG_DATA_HOME=$folder/data
mkdir -p data/roofprof

trace() { # CAPTURE [NAME=VALUE...]: the command itself sees the emulated NVML
    local capture=$1
    shift
    env "$@" "$roofprof" --emulate H100 --mode trace --budget 0 -q -o "$capture" -- "${program[@]}" >out 2>err ||
        fail "$capture: $(tail -3 err)"
}
ask() { # CAPTURE: driver|power limit|UUID of its only device
    python3 - "$1" <<'P'
import sqlite3, sys
print(*["" if v is None else v for v in sqlite3.connect(sys.argv[1]).execute(
    "SELECT driver, power_limit_w, uuid FROM devices").fetchone()], sep="|")
P
}
program=("$@")
trace none.roof
[[ $(ask none.roof) == "||GPU-"* ]] || fail "guessed without an NVML: $(ask none.roof)"
nvml=(LD_LIBRARY_PATH="$ROOFPROF_EMULATOR")
trace seen.roof "${nvml[@]}" ROOFPROF_EMU_DEVICE=H100
state=$(ask seen.roof)
uuid=${state##*|}
[[ $state == "580.00 (emulated)|700.0|GPU-"* ]] || fail "the driver and the power limit: $state"
python3 - <<'P'
import sqlite3
for column in ("driver", "power_limit_w"): # as a capture of before had it
    with open("seen.roof", "rb") as f, open("old.roof", "ab") as g:
        if column == "driver":
            g.write(f.read())
    c = sqlite3.connect("old.roof")
    c.execute("ALTER TABLE devices DROP COLUMN " + column)
    c.commit()
P

calibrated() { # DRIVER POWER-LIMIT: the record that there is
    echo "device,ceiling,value,unit,provenance,source,uuid,driver,power_limit_w,date" >data/roofprof/ceilings.csv
    echo "H100-SXM5-80GB,dram,1.234e12,B/s,calibrated,test,$uuid,$1,$2,2026-01-02T00:00:00Z" >>data/roofprof/ceilings.csv
}
report() { # CAPTURE yes|no TEXT: whether the record is drawn; what is said of it, "" nothing
    "$roofprof" report --format json "$1" >report.json 2>err || fail "report $1: $(cat err)"
    python3 - "$2" "$3" <<'P' || fail "report of $1, want: $2 $3"
import json, sys
drawn, said = sys.argv[1] == "yes", sys.argv[2]
text = open("report.json").read()
assert (any(c.get("bytes_per_s") == 1.234e12 for c in json.loads(text)["ceilings"])) == drawn, text[:3000]
assert said in text if said else "calibrat" not in json.dumps(json.loads(text)["notes"]), text[:3000]
P
}
calibrated "580.00 (emulated)" 700
report seen.roof yes ""
calibrated 550.54 700
report seen.roof yes "calibrated on 2026-01-02 under driver 550.54, not 580.00 (emulated) as here"
report none.roof yes "" # by UUID alone
report old.roof yes ""
calibrated 550.54 350
report seen.roof no "the calibration of 2026-01-02 is of a power limit of 350 W, not 700 W as here: it does not count"
report none.roof yes ""
report old.roof yes ""
"$roofprof" merge seen.roof old.roof -o both.roof >out 2>err || fail "merge: $(cat err)"
[ "$(ask both.roof)" = "$state" ] || fail "merged: $(ask both.roof)"
exit $failures
