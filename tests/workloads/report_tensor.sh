#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# report_tensor.sh ROOFPROF LIBCUDART PROGRAM: the way of tensor FLOPs to the user. Runs gemm_tensor on
# the emulated H100, reports its counts file, and holds every kernel's FLOPs, by precision and path,
# against 2 m n k. LIBCUDART may be a list for LD_PRELOAD.
set -eu

roofprof=$1
cudart=$2
program=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ROOFPROF_EMU_DEVICE=H100 ROOFPROF_EMU_COUNTS="$work/counts.jsonl" LD_PRELOAD="$cudart" \
    "$program" --m 128 --n 64 --k 32
"$roofprof" report --format json "$work/counts.jsonl" > "$work/report.json"
python3 - "$work/report.json" <<'END'
import json
import sys

kernels = json.load(open(sys.argv[1]))["kernels"]
assert {k["name"] for k in kernels} == {
    "gemm_wmma_f16", "gemm_wmma_bf16", "gemm_mma_f16", "gemm_mma_bf16"}
for k in kernels:
    path = "bf16_tensor" if k["name"].endswith("_bf16") else "fp16_tensor"
    for name, flops in k["flops"].items():
        want = 2 * 128 * 64 * 32 if name == path else 0
        assert flops == want, (k["name"], name, flops, want)
    assert k["flops_total"] == 2 * 128 * 64 * 32 and k["flops_provenance"] == "emulated", k
print("ok report of gemm_tensor")
END
