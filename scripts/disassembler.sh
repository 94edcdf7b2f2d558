#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings in cuobjdump and nvdisasm as Python wheels where no toolkit has them (about 40 MB), into
# build/disassembler or the folder given; tests/sass looks there. Nothing is done when they are there.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/disassembler}
if command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null; then exit 0; fi
[ -x "${CUDA_HOME:-/usr/local/cuda}/bin/cuobjdump" ] && exit 0
[ -x "$folder/nvidia/cu13/bin/cuobjdump" ] && exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/venv"
mkdir -p "$(dirname "$folder")"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: --target "$folder.new" nvidia-cuda-cuobjdump==13.5.37 nvidia-cuda-nvdisasm==13.5.37
rm -rf "$folder"
mv -T "$folder.new" "$folder"
