#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The door's structures against a toolkit's: see layout.inc.
# Usage: layout.sh NVCC CC TEST_FOLDER SOURCE_TREE WORK_FOLDER. Exit 77: skipped, no nvcc.
nvcc=$1 cc=$2 here=$3 tree=$4 work=$5
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
mkdir -p "$work" && cd "$work" || exit 1
{ echo '#include <cuda_runtime.h>'; echo '#include <cstddef>'; echo '#include <cstdio>'
  cat "$here/layout.inc"; } >theirs.cu
{ echo '#include "emulator/cudart/abi_graph.h"'; echo '#include "emulator/cudart/abi_texture.h"'
  echo '#include <stdio.h>'; cat "$here/layout.inc"; } >ours.c
major=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
"$nvcc" -o theirs theirs.cu && "$cc" -DDOOR_CUDART="$major" -I "$tree" -o ours ours.c || exit 1
./theirs >theirs.txt && ./ours >ours.txt && diff theirs.txt ours.txt
