#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up and does the main job: builds roofprof and a small training program, runs the one under the
# other, on a GPU if there is one, else on an emulated H100, and draws the roofline. A CUDA compiler
# is used where it is installed and fetched into build/ where not. Leaves train, train.roof and
# train.png in this folder.
#
#   scripts/demo.sh [DEVICE]     DEVICE to emulate (H100); without a GPU only
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
nvcc=$(scripts/toolchain.sh build/toolchain)
mkdir -p build
echo "building"
cmake -S . -B build -G Ninja -DROOFPROF_NVCC="$nvcc" -DROOFPROF_TESTS=ON >build/configure.log ||
    { cat build/configure.log; exit 1; }
targets=(roofprof roofprof_tracer roofprof_probe emu_cudart13 emu_cudart12 emu_cupti13 emu_cupti12
         emu_cuda emu_nvml)
cmake --build build -j "$(nproc)" --target "${targets[@]}" >build/build.log ||
    { tail -40 build/build.log; exit 1; }
cmake --build build --target tests/workloads/train >>build/build.log ||
    { tail -40 build/build.log; exit 1; }
cp build/tests/workloads/train train
ln -sf build/profiler/roofprof roofprof

if nvidia-smi -L 2>/dev/null | grep -q GPU; then
    set -x
    ./roofprof -o train.roof --plot train.png ./train --size small
else
    echo "no GPU here: emulating ${1:-H100}"
    set -x
    ./roofprof --emulate "${1:-H100}" -o train.roof --plot train.png ./train --channels 256 --context 128 --steps 2
fi
{ set +x; } 2>/dev/null
echo "the picture: train.png; the capture: train.roof; next: ./roofprof report train.roof --explain"
