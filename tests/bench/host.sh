#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# host.sh ROOFPROF [ROUNDS]: calibrate --host beside likwid-bench (Debian: likwid) in one run, taking
# turns so that a busy machine disturbs both alike; the best of ROUNDS (default 10) of either counts.
# Exit 1 if ours is more than 10 % below; 77 without likwid-bench.
set -euo pipefail
roofprof=$1 rounds=${2:-10}
command -v likwid-bench >/dev/null || { echo "no likwid-bench (apt-get install likwid)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
isa=avx
grep -qw avx512f /proc/cpuinfo && isa=avx512
suffix=_fma
threads=$(nproc)

likwid() { # likwid TEST SIZE: MByte/s or MFlops/s of a run on all processors
    likwid-bench -t "$1" -w "N:$2:$threads" 2>/dev/null | awk -v k="$3" '$1 == k ":" {print $2 * 1e6}'
}
for ((i = 0; i < rounds; i++)); do
    "$roofprof" calibrate --host --quick --format csv |
        awk -F, '$1 == "dram" && $2 == "triad" {print "triad", "ours", $3}
                 $1 == "dram" && $2 == "copy" {print "copy", "ours", $3}
                 $1 == "fp64_vector" {print "fp64", "ours", $3}'
    echo "triad likwid $(likwid stream_mem_$isa$suffix 512MB MByte/s)"
    echo "copy likwid $(likwid copy_mem_$isa 512MB MByte/s)"
    echo "fp64 likwid $(likwid peakflops_$isa$suffix 64kB MFlops/s)"
done >"$work/all"
awk '{ if ($3 > best[$1 " " $2]) best[$1 " " $2] = $3 }
     END { bad = 0
           for (k in best) { split(k, p, " "); seen[p[1]] = 1 }
           for (w in seen) {
               o = best[w " ours"]; l = best[w " likwid"]
               if (!(o > 0) || !(l > 0)) { printf "%s: no figures\n", w; bad = 1; continue }
               printf "%-6s ours %.3g, likwid-bench %.3g: %.1f %%\n", w, o, l, 100 * o / l
               if (o < 0.9 * l) bad = 1
           }
           exit bad }' "$work/all"
