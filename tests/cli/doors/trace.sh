#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# trace.sh NVCC PROGRAM.cu FOLDER: runs a program traced on an emulated device, strictly, and holds
# what the tracer saw against what the device counted. 77: skipped.
set -u
nvcc=$1 source=$2 folder=$3
command -v "$nvcc" >/dev/null && command -v sqlite3 >/dev/null || exit 77
mkdir -p "$folder" && cd "$folder" || exit 1
name=$(basename "$source" .cu)
if [ ! -x "$name" ] || [ "$source" -nt "$name" ]; then
    "$nvcc" -cudart shared -gencode arch=compute_80,code=compute_80 -o "$name" "$source" || exit 1
fi
library_path=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$(command -v "$nvcc")")/../lib64
export ROOFPROF_EMU_STRICT=1 LD_LIBRARY_PATH=$library_path
rm -f "$name".roof "$name".counts.roof
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST
export ASAN_OPTIONS=detect_leaks=0
"$ROOFPROF" run --emulate A100 --mode trace -q -o "$name.roof" "./$name" >"$name.out" 2>"$name.err"
code=$?
failures=0
fail() {
    echo "$name: $*"
    failures=$((failures + 1))
}
[ $code = 0 ] || fail "exit code $code: $(cat "$name.err")"
grep 'CUPTI: ' "$name.err" && fail "the tracer breaks a rule of the strict door"

# One line a launch or copy, in order of their start; starts relative to the first.
# shellcheck disable=SC2034 # both are named by $what below
launches="select k.name, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z,
  c.shared_static, c.shared_dynamic, c.registers, p.stream,
  l.start_ns - (select min(start_ns) from launches), round(l.time_ns)
  from launches l join configs c on c.id = l.config join kernels k on k.id = c.kernel
  join places p on p.id = l.place order by 12, 1, 11"
# shellcheck disable=SC2034
copies="select kind, bytes, stream, start_ns - (select min(start_ns) from copies),
  end_ns - start_ns from copies order by 4, 1, 2"
# Nanoseconds are rounded at both ends of each: one may differ.
same() {
    paste -d'|' "$2" "$3" | awk -F'|' -v times="$1" '
        { n = NF / 2
          for (i = 1; i <= n; i++) {
              d = $i - $(i + n); near = i > n - times && d <= 1.5 && d >= -1.5
              if ($i != $(i + n) && !near) { print "line " NR ": " $0; bad = 1; break } } }
        END { exit bad }'
}
for what in launches copies; do
    sqlite3 "$name.roof" "${!what}" >"$name.$what.traced"
    sqlite3 "$name.counts.roof" "${!what}" >"$name.$what.counted"
    [ "$(wc -l <"$name.$what.traced")" = "$(wc -l <"$name.$what.counted")" ] ||
        fail "$(wc -l <"$name.$what.traced") $what traced, $(wc -l <"$name.$what.counted") counted"
    same 2 "$name.$what.traced" "$name.$what.counted" || fail "$what differ"
done
[ -s "$name.launches.traced" ] || fail "no launch was traced"
[ "$(sqlite3 "$name.roof" 'select distinct emulated from devices')" = 1 ] || fail "the device is not marked as emulated"
exit $((failures > 0))
