#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs every test: once as released and once under the address and
# undefined-behaviour sanitizers. Ends with ctest's summary. Build trees: build/ and build-asan/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
# The machine code of the calibration kernels is read where there is a disassembler, else skipped.
scripts/disassembler.sh || echo "test.sh: no disassembler, the sass tests are skipped" >&2
jobs=$(nproc)
export CTEST_OUTPUT_ON_FAILURE=1

build() { # build FOLDER [CMAKE-OPTION...]
    cmake -S . -B "$1" -G Ninja -DROOFPROF_TESTS=ON "${@:2}" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
    cmake --build "$1" -j "$jobs"
}

mkdir -p build build-asan
build build
# gnuplot, nvcc and python are not ours to check for leaks; the emulated device's own tests run in
# both trees.
build build-asan -DCMAKE_BUILD_TYPE=Debug -DROOFPROF_SANITIZE=address,undefined
ctest --test-dir build-asan -j "$jobs" --timeout 600
ctest --test-dir build -j "$jobs" --timeout 600
