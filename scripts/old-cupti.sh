#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings in CUPTI of CUDA 11.8 and 12.4 as Python wheels (about 27 MB), into build/old-cupti or the folder
# given: tests hold what is counted through their host library against it. No GPU and no driver is
# needed. Prints the paths of both on stdout; nothing is fetched when they are there.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/old-cupti}
inside=nvidia/cuda_cupti/lib
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fetch NAME LIBRARY WHEEL: the wheel's files in FOLDER/NAME
fetch() {
    local to=$folder/$1
    if [ ! -e "$to/$inside/$2" ]; then
        [ -d "$scratch/venv" ] || "${PYTHON:-python3}" -m venv "$scratch/venv"
        mkdir -p "$folder"
        "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
            --only-binary=:all: --target "$to.new" "$3" >&2
        rm -rf "$to"
        mv -T "$to.new" "$to"
    fi
    echo "$to/$inside/$2"
}
fetch 11.8 libcupti.so.11.8 nvidia-cuda-cupti-cu11==11.8.87
fetch 12.4 libcupti.so.12 nvidia-cuda-cupti-cu12==12.4.127
