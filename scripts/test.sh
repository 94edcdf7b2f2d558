#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs every test: once as released and once under the address and
# undefined-behaviour sanitizers. Ends with ctest's summary. Build trees: build/ and build-asan/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
# The machine code of the calibration kernels is read where there is a disassembler, else skipped.
scripts/disassembler.sh || echo "test.sh: no disassembler, the sass tests are skipped" >&2
# Programs for the emulated device are compiled by an installed toolkit, else by a fetched one.
nvcc=$(scripts/toolchain.sh build/toolchain) ||
    { echo "test.sh: no CUDA compiler, tests that need one are skipped" >&2; nvcc=OFF; }
# What is counted through the host libraries of older CUDA versions is held against them.
ROOFPROF_TEST_OLD_CUPTI=$(scripts/old-cupti.sh | paste -sd:) ||
    echo "test.sh: no CUPTI of CUDA 11.8 and 12.4, the tests against them are skipped" >&2
export ROOFPROF_TEST_OLD_CUPTI
jobs=$(nproc)
export CTEST_OUTPUT_ON_FAILURE=1

build() { # build FOLDER [CMAKE-OPTION...]
    cmake -S . -B "$1" -G Ninja -DROOFPROF_TESTS=ON -DROOFPROF_NVCC="$nvcc" "${@:2}" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
    cmake --build "$1" -j "$jobs"
}

mkdir -p build build-asan
build build
build build-asan -DCMAKE_BUILD_TYPE=Debug -DROOFPROF_SANITIZE=address,undefined
ctest --test-dir build-asan -j "$jobs" --timeout 600
ctest --test-dir build -j "$jobs" --timeout 600
