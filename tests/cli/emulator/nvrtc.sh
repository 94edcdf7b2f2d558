#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nvrtc.sh ROOFPROF NVCC CC SOURCE_FOLDER WORK_FOLDER: programs that take cubins from NVRTC, under
# `roofprof --emulate`. Exit 77: skipped, no toolkit with NVRTC.
roofprof=$1 nvcc=$2 cc=$3 source=$4 work=$5
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
for lib in "$toolkit/lib64" "$toolkit/targets/x86_64-linux/lib" "$toolkit/lib"; do
    [ ! -e "$lib/libnvrtc.so" ] || break
done
[ -e "$lib/libnvrtc.so" ] && [ -f "$toolkit/include/nvrtc.h" ] ||
    { echo "skipped: no NVRTC in $toolkit"; exit 77; }
door=$(dirname "$roofprof")/../lib/emulator
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
build() { # OUTPUT FLAG...
    output=$1
    shift
    "$cc" -std=c17 -isystem "$toolkit/include" "$source/nvrtc.c" -o "$output" "$@" \
        -Wl,--allow-shlib-undefined "$door/libcuda.so.1" -L "$lib" -lnvrtc || exit 1
}
build program
# The same inside a library that is opened with a scope of its own: NVRTC is then in nobody else's.
build plugin.so -shared -fPIC
cat >opener.c <<'C'
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*entry)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "main") : 0;
    return entry ? entry(argc, argv) : 1;
}
C
"$cc" opener.c -o opener -ldl || exit 1

# A sanitizer's library is first in the programs; its leaks are not ours to count.
[ -z "${PRELOAD_FIRST:-}" ] || export LD_PRELOAD=$PRELOAD_FIRST
export ASAN_OPTIONS=detect_leaks=0
status=0
check() { # DEVICE STDOUT STDERR_PIECE PROGRAM...
    device=$1 line=$2 piece=$3
    shift 3
    "$roofprof" --emulate "$device" -o nvrtc.roof "$@" >out 2>err || { echo "$device $*: fails"; cat out err; status=1; }
    grep -qxF -e "$line" out || { echo "$device $*: not \"$line\":"; cat out err; status=1; }
    [ -z "$piece" ] || grep -qF -e "$piece" err || { echo "$device $*: stderr lacks: $piece"; cat err; status=1; }
}

check H100 right '' ./program sm_90
check H100 right '' ./program sm_90a
check H100 right '' ./opener sm_90
check L4 right '' ./program sm_86 # a cubin runs on later minors of its own major
check H100 right '' ./program sm_90 LINK
check H100 'load 209' 'NVRTC compiled it to a cubin for sm_80' ./program sm_80
check A100 'load 209' 'cubin for sm_90' ./program sm_90
check H100 'no cubin' '' ./program compute_80
check H100 'no cubin' '' ./program sm_90 -dlto
check H100 'options refused' '' ./program sm_999

# Registers are the cubin's, not an estimate.
"$roofprof" --emulate H100 -o nvrtc.roof ./program sm_90 >out 2>&1 || { cat out; status=1; }
ROOFPROF_EMU_DEVICE=H100 ROOFPROF_EMU_COUNTS=$work/counts \
    LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$door/libcudart.so.13:$door/libcuda.so.1:$door/libnvrtc-door.so \
    ./program sm_90 >out 2>&1
grep -q '"registers_provenance": *"cubin"' counts || { echo "registers are not the cubin's"; cat out; status=1; }

# Without the door NVRTC's own answer, and with it where no NVRTC is, nothing at all.
ROOFPROF_EMU_DEVICE=H100 LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$door/libcudart.so.13:$door/libcuda.so.1 \
    ./program sm_90 >out 2>&1
grep -qx 'load 209' out || { echo "without the door:"; cat out; status=1; }
LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$door/libnvrtc-door.so sh -c 'echo "$((6 * 7))"' >out 2>err
[ "$(cat out)" = 42 ] && [ ! -s err ] || { echo "in a program without NVRTC:"; cat out err; status=1; }
exit $status
