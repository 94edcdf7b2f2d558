#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.sh CMAKE BUILD NVCC PROGRAMS WORK SANITIZERS: installs BUILD, moves the prefix elsewhere and
# uses what is there. The moved database names its H100 differently, so that whoever still reads the
# source tree, or the place that was configured, does not find it.
set -euo pipefail
cmake=$1 build=$2 nvcc=$3 programs=$4 work=$5 sanitizers=$6
rm -rf "$work"
mkdir -p "$work"
cd "$work"
unset ROOFPROF_HWDB ROOFPROF_PLOTS ROOFPROF_TRACER ROOFPROF_EMULATOR
export XDG_DATA_HOME=$work/none

fail() { echo "FAILED: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$work/first" >log || fail "$(cat log)"
mv first "a prefix"
prefix=$work/a\ prefix
roofprof=$prefix/bin/roofprof
sed -i 's/^H100-SXM5-80GB,/H100-MOVED,/' "$prefix/share/roofprof/hwdb/devices.csv"

"$roofprof" devices H100-MOVED >out || fail "the database beside the program is not read"
"$roofprof" doctor >out
# The text is wrapped: words are compared, not lines.
grep -qF "ok emulated device: $prefix/lib" <(tr -s ' \n' ' ' <out) || fail "doctor: $(cat out)"
[ -s "$prefix/share/man/man1/roofprof.1" ] || fail "no man page"
grep -q '^\.SS "report"' "$prefix/share/man/man1/roofprof.1" || fail "the man page lacks commands"
[ -s "$prefix/share/doc/roofprof/docs/README.md" ] || fail "no manual"
if command -v gnuplot >/dev/null; then
    "$roofprof" compare H100-MOVED --plot roofs.png >/dev/null || fail "no picture"
    [ -s roofs.png ] || fail "an empty picture"
fi

# The emulated libraries, in somebody else's program, find the same database.
if [ -x "$nvcc" ] && [ -z "$sanitizers" ]; then
    "$nvcc" -cudart shared -std=c++17 -I "$programs" -o saxpy "$programs/saxpy.cu"
    "$roofprof" --emulate H100-MOVED -o saxpy.roof --mode trace ./saxpy >out 2>&1 || fail "$(cat out)"
    for capture in saxpy saxpy.counts; do
        "$roofprof" report $capture.roof >out || fail "$(cat out)"
        grep -q H100-MOVED out || fail "$capture.roof: $(cat out)"
    done
    # What kept the tracer from seeing anything is said at once, not left in a capture without kernels.
    ROOFPROF_EMU_CUPTI_REFUSE=subscribe=39 "$roofprof" --emulate H100-MOVED --mode trace ./saxpy >out 2>&1 ||
        fail "a refused tracer fails the program: $(cat out)"
    grep -q 'no kernel was traced: .*another tool holds CUPTI' out || fail "the refusal is not said: $(cat out)"
fi
echo OK
