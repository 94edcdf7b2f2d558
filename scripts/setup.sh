#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what roofprof is built and tested with, on Debian and its relatives, if it is not there.
# Nothing is done when everything is; without the right to install, it says what is missing.
set -euo pipefail

packages=(gcc g++ cmake ninja-build pkg-config libcsv-dev libsqlite3-dev libyajl-dev zlib1g-dev
          libiberty-dev liblz4-dev libzstd-dev libcmocka-dev gnuplot-nox fonts-dejavu-core python3 python3-venv
          sqlite3)
if ! command -v apt-get >/dev/null; then
    echo "setup.sh: no apt-get here, so nothing is installed; what CMake will not find is in these" \
        "packages of Debian: ${packages[*]}" >&2
    exit 0
fi
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
        missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup.sh: these packages are missing: ${missing[*]}" >&2
        echo "Install them as root (apt-get install ${missing[*]}) and run this again." >&2
        exit 4
    fi
    as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
