#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py CALIBRATION.json MEASURED.csv: what `roofprof calibrate` measured on a GPU becomes rows of
the database's table of measurements, with date, driver and clocks; rows of the same device that an
earlier calibration made are replaced. The change is committed where MEASURED.csv is under git.

Exit: 0 done, 2 usage, 3 the calibration is modelled, of the host, interrupted, or of no known device.
"""
import csv
import io
import json
import os
import subprocess
import sys

PEAKS = {"dram": "dram_gbs"}  # columns of devices.csv; compute ceilings are called as their columns
MARK = "roofprof calibrate, "


def refuse(why):
    print(f"record.py: {why}", file=sys.stderr)
    sys.exit(3)


def rows_of(d):
    device = d["device"]
    who = f"{MARK}{d['date']}, driver {device['driver'] or 'not known'}"
    if device["power_limit_w"]:
        who += f", {device['power_limit_w']:.0f} W"
    for c in d["ceilings"]:
        rate = c.get("flops_per_s") or c.get("bytes_per_s")
        if not rate or not (c["best"] or c.get("pattern")):
            continue
        compute = c["kind"] == "compute"
        scale, unit = (1e12, "TOP/s" if c["precision"].startswith("int") else "TFLOP/s") if compute else (1e9, "GB/s")
        fraction = c["fraction_of_datasheet"]
        quantity = c["name"] if compute else f"{c['name']} {c['pattern']}"
        note = [c["variant"]]
        if c["clock_hz"]:
            note.append(f"SM clock {c['clock_hz'] / 1e6:.0f} MHz")
        if c.get("memory_clock_hz") and not compute:
            note.append(f"memory clock {c['memory_clock_hz'] / 1e6:.0f} MHz")
        if c["fraction_of_theoretical"]:
            note.append(f"{100 * c['fraction_of_theoretical']:.1f} % of theory at that clock")
        if c["sustained"]:
            note.append(f"sustained {c['sustained'] / scale:.4g}")
        yield {
            "device": device["database_row"],
            "quantity": quantity,
            "value": f"{rate / scale:.5g}",
            "unit": unit,
            "peak_column": PEAKS.get(c["name"], c["name"] if compute else "") if fraction else "",
            "peak": f"{rate / fraction / scale:.5g}" if fraction else "",
            "percent_of_peak": f"{100 * fraction:.1f}" if fraction else "",
            "source": who,
            "note": "; ".join(note),
        }


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1]) as f:
        d = json.load(f)
    if d["device"]["source"] != "device":
        refuse(f"a calibration of the {d['device']['source']} is not recorded")
    if d["interrupted"]:
        refuse("the calibration was interrupted")
    if not d["device"]["database_row"]:
        refuse(f"the database has no row of {d['device']['name']}: describe it in devices.csv first")
    path = sys.argv[2]
    with open(path, newline="") as f:
        text = f.read()
    lines = text.splitlines(keepends=True)
    fields = next(csv.reader([lines[0]]))
    name = d["device"]["database_row"]
    # Other rows stay as they are, byte for byte.
    kept = [l for l in lines[1:] if not (l.startswith(name + ",") and MARK in l)]
    made = io.StringIO()
    writer = csv.DictWriter(made, fields, lineterminator="\n")
    rows = list(rows_of(d))
    writer.writerows(rows)
    with open(path + ".new", "w", newline="") as f:
        f.write(lines[0] + "".join(kept) + made.getvalue())
    os.replace(path + ".new", path)
    print(f"{len(rows)} measurements of {name} in {path}")
    folder = os.path.dirname(os.path.abspath(path))
    if subprocess.run(["git", "-C", folder, "rev-parse"], capture_output=True).returncode == 0:
        subprocess.run(["git", "-C", folder, "commit", "-q", "-m",
                        f"Measured: {name}, {d['date'][:10]}, driver {d['device']['driver']}",
                        "--", os.path.basename(path)], check=True)
    return 0


sys.exit(main())
