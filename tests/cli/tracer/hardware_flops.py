#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardware_flops.py CAPTURE COUNTS: FP64 and FP32 FLOPs of every launch that was counted, as
instructions make them, against flops_hardware in the emulated device's own counts file. Exit 1 if
one differs."""
import json
import sqlite3
import sys

capture, counts = sys.argv[1:]
written, device = {}, []
for line in open(counts, encoding="utf-8"):
    record = json.loads(line)
    if record["record"] != "launch":
        continue
    if "same_as" in record:
        device.append(written[record["same_as"]])
    else:
        written[record["launch"]] = record["counts"].get("flops_hardware", {})
        device.append(record["counts"].get("flops_hardware", {}))

rows = sqlite3.connect(capture).execute(
    "select q.fp64_vector, q.fp32_vector from launches l left join quantities q on q.launch = l.id"
    " order by l.correlation").fetchall()
if len(rows) != len(device):
    sys.exit(f"{len(rows)} launches in the capture, {len(device)} of the device")
compared = bad = 0
for number, (row, flops) in enumerate(zip(rows, device), 1):
    for name, value in zip(("fp64", "fp32"), row):
        if value is None:
            continue
        compared += 1
        if value != flops.get(name, 0):
            bad += 1
            print(f"{name} of launch {number}: {value:.0f}, and {flops.get(name, 0)} by the device")
print(f"FLOPs of {compared} launches and precisions are the device's")
sys.exit(bad > 0)
