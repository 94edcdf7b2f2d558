#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh PYTHON FATBINS DISASSEMBLER: finds cuobjdump and nvdisasm (in PATH, in a toolkit, in the
# folder that scripts/disassembler.sh fills) and runs check_kernels.py; 77 if there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for folder in "" "${CUDA_HOME:-/usr/local/cuda}/bin/" "$3/nvidia/cu13/bin/"; do
    if command -v "${folder}cuobjdump" >/dev/null && command -v "${folder}nvdisasm" >/dev/null; then
        cuobjdump=$(command -v "${folder}cuobjdump")
        PATH=$(dirname "$cuobjdump"):$PATH exec "$1" "$here/check_kernels.py" "$cuobjdump" "$2"
    fi
done
echo "no cuobjdump and nvdisasm here: scripts/disassembler.sh fetches them"
exit 77
