#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of an nvcc that works, and nothing else, on stdout. An installed CUDA toolkit is
# used where there is one; on a bare machine the compiler, its headers and the runtime are brought
# in as Python wheels, pinned to CUDA 13.0, into the build tree (about 115 MB to fetch, 320 MB on
# disk, nothing outside that folder is touched). Either way the answer has compiled and linked a
# small program with `-cudart shared`, which is how a program must be built for the emulated device.
#
#   scripts/toolchain.sh [FOLDER]      FOLDER: where the wheels go; default build/toolchain
#
#   ROOFPROF_NVCC=PATH          use this nvcc, or fail
#   ROOFPROF_NO_SYSTEM_CUDA=1   do not look for an installed toolkit
#   PYTHON=PATH                 the Python (3.8 or later) whose pip fetches; default python3
#
# Needs g++ (or what NVCC_CCBIN names) as the host compiler, and for the wheels python3 with venv
# or pip. Exit: 0 found; 1 no nvcc could be had, with the reason and the remedy on stderr.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/toolchain}
python=${PYTHON:-python3}
# What one nvcc needs: the compiler, its headers, its optimiser, the runtime, the device libraries'
# headers (cooperative groups stand on them), and CUPTI for whoever builds against it.
wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88
        nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 nvidia-cuda-cupti==13.0.85)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { echo "toolchain: $*" >&2; }
die() { say "$*"; exit 1; }

# works NVCC: compiles and links a kernel against the shared runtime. The reason of a failure is
# left in $scratch/log.
works() {
    cat > "$scratch/try.cu" <<'CU'
#include <cuda_runtime.h>
#include <cuda_fp16.h>
__global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }
int main(void)
{
    twice<<<1, 32>>>(NULL);
    return (int)cudaDeviceSynchronize();
}
CU
    "$1" -cudart shared -arch=compute_80 -o "$scratch/try" "$scratch/try.cu" \
        > "$scratch/log" 2>&1 || return 1
    grep -q 'libcudart\.so' "$scratch/try" && return 0
    echo "the program it built does not load a shared libcudart" > "$scratch/log"
    return 1
}

# The nvcc of an installed toolkit, best first.
installed() {
    local place
    for place in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${CUDA_ROOT:-}"; do
        if [ -n "$place" ]; then echo "$place/bin/nvcc"; fi
    done
    command -v nvcc || true
    echo /usr/local/cuda/bin/nvcc
    echo /opt/cuda/bin/nvcc
}

# Puts the wheels under $folder. They are installed beside it first and renamed when whole, so that
# an interrupted or a second run at the same time never leaves half a toolchain.
fetch() {
    local pip=("$scratch/venv/bin/pip") new=$folder.new.$$
    command -v "$python" > /dev/null ||
        die "no CUDA toolkit, and no $python to fetch one with: install python3 and python3-venv"
    if ! "$python" -m venv "$scratch/venv" > "$scratch/log" 2>&1; then
        pip=("$python" -m pip)
        "${pip[@]}" --version > /dev/null 2>&1 ||
            die "$python has neither venv nor pip: install python3-venv"
    fi
    mkdir -p "$(dirname "$folder")"
    say "fetching the CUDA 13.0 compiler as Python wheels (about 115 MB) into $folder"
    if ! "${pip[@]}" install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --target "$new" "${wheels[@]}" > "$scratch/log" 2>&1; then
        cat "$scratch/log" >&2
        rm -rf "$new"
        die "the wheels could not be installed (there are some for Linux on x86_64 and aarch64)"
    fi
    # The wheels hold libraries by soname alone and in lib/; nvcc links by the plain name in lib64/.
    ln -s lib "$new/nvidia/cu13/lib64"
    ln -sf libcudart.so.13 "$new/nvidia/cu13/lib/libcudart.so"
    ln -sf libcupti.so.13 "$new/nvidia/cu13/lib/libcupti.so"
    rm -rf "$folder"
    if ! mv -T "$new" "$folder" 2> /dev/null; then
        rm -rf "$new" # somebody else was first
    fi
}

command -v "${NVCC_CCBIN:-g++}" > /dev/null || die "nvcc needs a host compiler: install g++"

if [ -n "${ROOFPROF_NVCC:-}" ]; then
    works "$ROOFPROF_NVCC" || { cat "$scratch/log" >&2; die "ROOFPROF_NVCC=$ROOFPROF_NVCC does not work"; }
    echo "$ROOFPROF_NVCC"
    exit 0
fi

if [ "${ROOFPROF_NO_SYSTEM_CUDA:-0}" != 1 ]; then
    while read -r nvcc; do
        [ -x "$nvcc" ] || continue
        if works "$nvcc"; then
            echo "$nvcc"
            exit 0
        fi
        say "$nvcc does not work here, passing it by: $(head -n 1 "$scratch/log")"
    done < <(installed)
fi

nvcc=$folder/nvidia/cu13/bin/nvcc
if ! { [ -x "$nvcc" ] && works "$nvcc"; }; then
    fetch
    works "$nvcc" || { cat "$scratch/log" >&2; die "the fetched $nvcc does not work"; }
fi
echo "$nvcc"
