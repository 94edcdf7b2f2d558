#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py EXPECT.json CAPTURE.roof: counted on a GPU against closed forms.

FLOPs must be those of the closed form, or more where machine code holds further operations. Kernels with
exponentials and reciprocal roots may show fewer, down to half: a closed form counts each as one, and
counters of additions, multiplications and multiply-adds do not see them. DRAM bytes of kernels that stream far more than an L2 holds must lie within 5 %: a real
L2 keeps what is small. Exit 1 when anything differs, 77 when the capture holds no counts.
"""
import json
import sqlite3
import sys

LARGE = 256 << 20  # bytes: beyond every L2 by far
SPECIAL = ("softmax_rows", "nbody", "attention_softmax", "attention_tiled", "layernorm_block", "layernorm_warp",
           "cross_entropy")


def totals(capture):
    """Per kernel: launches and sums of the quantities, from the summaries."""
    db = sqlite3.connect(capture)
    names = [row[1] for row in db.execute("pragma table_info(quantities)")]
    wanted = [n for n in ("fp32_vector", "fp64_vector", "dram_read_bytes", "dram_write_bytes") if n in names]
    result = {}
    for row in db.execute(
        "select k.name, count(*), " + ", ".join(f"sum(q.{n})" for n in wanted) +
        " from launches l join configs c on c.id = l.config join kernels k on k.id = c.kernel"
        " join quantities q on q.launch = l.id group by k.name"
    ):
        result[row[0]] = dict(zip(["launches"] + wanted, row[1:]))
    return result


def main():
    expected = {}
    for launch in json.load(open(sys.argv[1]))["launches"]:
        e = expected.setdefault(launch["kernel"], {"launches": 0})
        n = launch.get("launches", 1)
        e["launches"] += n
        for key, value in launch.items():
            if isinstance(value, (int, float)) and key != "launches":
                e[key] = e.get(key, 0) + n * value
    counted = totals(sys.argv[2])
    if not counted:
        print("the capture holds no counts")
        return 77
    bad = 0
    for kernel, e in expected.items():
        c = next((c for name, c in counted.items() if name == kernel or kernel in name), None)
        if c is None or c["launches"] != e["launches"]:
            print(f"{kernel}: {e['launches']} launches expected, {c['launches'] if c else 0} counted")
            bad += 1
            continue
        for ours, theirs in (("flops_fp32", "fp32_vector"), ("flops_fp64", "fp64_vector")):
            if e.get(ours) is None or c.get(theirs) is None:
                continue
            if c[theirs] != e[ours]:
                print(f"{kernel}: {theirs} {c[theirs]:.0f}, closed form {e[ours]:.0f}")
                bad += c[theirs] < e[ours] * (0.5 if kernel in SPECIAL else 1)
        for way in ("read", "write"):
            e_bytes, c_bytes = e.get(f"dram_{way}_bytes"), c.get(f"dram_{way}_bytes")
            if e_bytes and c_bytes is not None and e_bytes > LARGE and abs(c_bytes / e_bytes - 1) > 0.05:
                print(f"{kernel}: dram_{way}_bytes {c_bytes:.0f}, arrays hold {e_bytes:.0f}")
                bad += 1
    print(f"{len(expected)} kernels compared, {bad} differences")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
