#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `roofprof import` and `roofprof merge`: names of outputs, messages, hostile input, outputs that are
# whole or not there.
set -euo pipefail
roofprof=$1
golden=$(realpath "$(dirname "$0")/../../golden")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data
unset ROOFPROF_HWDB

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$code" ] || fail "$* exits $got, not $code: $(cat err)"
}
says() { grep -qF -- "$1" out || fail "the output lacks '$1': $(cat out)"; }
complains() { grep -qF -- "$1" err || fail "the message lacks '$1': $(cat err)"; }
only() { # FILE...: nothing else is here, hidden or not
    local there
    there=$(find . -mindepth 1 ! -name out ! -name err -printf '%P\n' | sort | xargs)
    [ "$there" = "$*" ] || fail "here are '$there', not '$*'"
}
json() { python3 -c "import json, sys; d = json.load(open('out')); assert $1, d" || fail "JSON: not $1"; }

# the name comes from the file, and what is printed is what happened
expect 0 import "$golden/importers/kineto_small.json"
says 'kineto_small.roof: '
says 'PyTorch profiler'
[ -s err ] && fail "messages in a pipe: $(cat err)"
only kineto_small.roof
# what its maker must turn into something first
printf '\001\002 nothing that is known' >run.nsys-rep
expect 3 import run.nsys-rep
complains 'nsys export --type sqlite'
rm run.nsys-rep
cp "$golden/importers/kineto_small.json" run.pt.trace.json
gzip run.pt.trace.json
expect 0 import run.pt.trace.json.gz
[ -f run.roof ] || fail 'run.pt.trace.json.gz makes run.roof'
rm run.*
expect 0 import "$golden/ncu/gene_v100.csv" -o nameless.roof
grep -q '^warning: device 0 has no name there: give it with --device' out ||
    fail "no word on the device's name: $(cat out)"
rm nameless.roof
expect 0 import "$golden/ncu/gene_v100.csv" -o 'x%%%p.roof' --format json
ls x%*.roof >/dev/null || fail 'no x%PID.roof'
json 'd["schema"] == "roofprof.capture/1" and d["launches"] > 0 and d["kernels"] > 0'
json 'd["tool"] == "Nsight Compute CSV" and d["source"].endswith("gene_v100.csv")'
rm x%*

# several files, one capture
expect 0 import "$golden/importers/kineto_small.json" "$golden/importers/nvprof_trace.csv" -o both.roof
says 'both.roof: '
rm both.roof

# refusals: usage, missing, unknown, nothing in it, a capture already
expect 2 import
expect 2 import --format xml "$golden/importers/kineto_small.json"
expect 2 import "$golden/importers/kineto_small.json" -o 'a%z.roof'
expect 3 import missing.csv
complains 'missing.csv'
expect 3 import .
complains 'folder'
printf 'a,b\n1,2\n' >table
expect 3 import table
complains 'Nsight Compute CSV'
expect 3 import "$golden/importers/kineto_cpu_only.json"
complains 'kernel'
expect 3 import kineto_small.roof
complains 'roofprof merge'
rm table
only kineto_small.roof

# an output that cannot be: nothing is left, and what was there stays
cp kineto_small.roof before
expect 125 import "$golden/ncu/gene_v100.csv" -o none/x.roof
complains 'none/x.roof'
expect 125 import "$golden/ncu/gene_v100.csv" -o .
expect 3 import "$golden/importers/kineto_cpu_only.json" -o kineto_small.roof
cmp -s before kineto_small.roof || fail 'a failed import changed the old capture'
got=0
(ulimit -f 64 && exec "$roofprof" import "$golden/ncu/gene_v100.csv" -o kineto_small.roof) >out 2>err || got=$?
[ $got = 125 ] || fail "full disk: exit $got, $(cat err)"
complains 'make room'
cmp -s before kineto_small.roof || fail 'a full disk changed the old capture'
only before kineto_small.roof
rm before

# ended by a signal in the middle of long work: no trace of it
mkfifo pipe
"$roofprof" import pipe -o slow.roof >out 2>err &
child=$!
exec 3>pipe
head -1 "$golden/ncu/gene_v100.csv" >&3 || true
sleep 0.3
kill -TERM $child 2>/dev/null || true
exec 3>&-
wait $child 2>/dev/null || true
rm pipe
only kineto_small.roof

# names are text, whatever they hold
evil='`touch pwned`$(touch pwned)"'\''; touch pwned #{/Symbol x}%n'
python3 - "$evil" >evil.json <<'PYTHON'
import json, sys
names = [sys.argv[1], "two\nlines", "esc\x1b[31m", "n" * 100000, "\u202egpj"]
events = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": 100 * i, "dur": 12,
           "args": {"device": 0, "stream": 7, "grid": [4, 1, 1], "block": [128, 1, 1]}} for i, n in enumerate(names, 1)]
print(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": names[0] + "\x07"}], "traceEvents": events}))
PYTHON
expect 0 import evil.json
says '5 launches of 5 kernels'
[ -e pwned ] && fail 'a kernel name was executed'
LC_ALL=C grep -q '[[:cntrl:]]' <(tr -d '\n' <out) && fail 'control characters reach the terminal'
expect 0 report evil.roof --format json
[ -e pwned ] && fail 'a kernel name was executed'
python3 -c "import json, sys; d = json.load(open('out')); assert sys.argv[1] in [k['name'] for k in d['kernels']], d" "$evil" ||
    fail 'the name did not survive'
rm evil.*

# ranks side by side; times with counts
header='"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
row() { printf '"%s","1","a","h","%s","1","7","(128, 1, 1)","(4, 1, 1)","0","8.0","s","%s","%s","%s"\n' "$@"; }
{ echo "$header"; row 0 'gemm(int)' dram__bytes.sum byte '4,096'; row 1 'gemm(int)' dram__bytes.sum byte '8,192'; } >counts.csv
{ echo "$header"; row 0 'void ns::gemm(int)' gpu__time_duration.sum ns '5,000'; row 1 'void ns::gemm(int)' gpu__time_duration.sum ns '7,000'; } >times.csv
expect 0 merge times.csv --counts counts.csv -o merged.roof
says 'merged.roof: 2 launches of 1 kernel'
expect 0 report merged.roof --format json
json 'abs(d["kernels"][0]["time_s"] - 12e-6) < 1e-15 and d["kernels"][0]["bytes"]["dram"] == 12288'
expect 3 merge counts.csv --counts times.csv -o wrong.roof
complains 'right order'
cp times.csv rank1.csv
expect 0 merge times.csv rank1.csv -o ranks.roof --format json
json 'd["launches"] == 4 and d["schema"] == "roofprof.capture/1"'
rm rank1.csv
expect 3 merge times.csv ./times.csv -o twice.roof
complains 'given twice'
expect 2 import counts.csv -o counts.csv
complains 'which would be lost'
expect 3 import counts.csv counts.csv
complains 'given twice'
expect 2 merge times.csv
expect 2 merge times.csv times.csv --counts counts.csv
expect 3 merge times.csv missing.roof
only counts.csv kineto_small.roof merged.roof ranks.roof times.csv

# a capture in a folder that cannot be written
mkdir sealed
mv merged.roof sealed
chmod 555 sealed
expect 0 report sealed/merged.roof
chmod 755 sealed

# damage is said
head -c 30000 ranks.roof >cut.roof
expect 3 report cut.roof
complains 'cut short'
echo "import: all as expected"
