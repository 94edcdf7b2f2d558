#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Holds roofprof's reading of Nsight Compute reports against NVIDIA's own readers. For developers: it
# needs their software, which is free to get but not to pass on, so CI does not run it.
#
#   usage: scripts/oracle.sh REPORT.ncu-rep...
#
#   ROOFPROF    the program to check                  (default: build/profiler/roofprof)
#   NCU         Nsight Compute's command line         (default: ncu)
#   NCU_PYTHON  a Python that can import ncu_report   (default: this check is left out)
#
# Debian: the packages nsight-compute and nsight-compute-target (non-free), and time; Python:
# ncu-report.
#
# For each report:
#   values    every number of ncu's raw page against the capture's counter, to the digits printed
#   bits      every number of ncu_report against the counter, to the last bit
#   csv       the raw page, imported, gives the same launches and counters within its rounding
#   labels    the details page, imported: what its labels were led back to, within its rounding
#   rules     what ncu's speed-of-light rule says beside our bound
#   cost      time and memory of `roofprof report` beside those of the raw page
# Exit: 0 all agree; 1 something differs (it is printed).
set -eu
[ $# -gt 0 ] || { sed -n '3,25s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
exec python3 - "$root" "$@" <<'PY'
import csv, json, math, os, re, sqlite3, subprocess, sys, tempfile

ROOT, REPORTS = sys.argv[1], sys.argv[2:]
ROOFPROF = os.environ.get("ROOFPROF", os.path.join(ROOT, "build/profiler/roofprof"))
NCU = os.environ.get("NCU", "ncu")
NCU_PYTHON = os.environ.get("NCU_PYTHON")
SCALE = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECONDS = {"second": 1, "s": 1, "msecond": 1e-3, "ms": 1e-3, "usecond": 1e-6, "us": 1e-6,
           "nsecond": 1e-9, "ns": 1e-9}
NOT_COUNTERS = re.compile(r"^(\w+:|derived__pct_occupancy_per_|device__|nvlink__|profiler__|numa__|launch__(context_|stream_|function_pcs|"
                          r"occupancy_per_|uses_|kernel_id|grid_dim_|block_dim_|device_id|sm_count)|smsp__pcsamp_)")
failures = 0


def differ(text):
    global failures
    failures += 1
    if failures <= 20:
        print("  DIFFERS:", text)


def unit_scale(unit):
    """Factor from a printed unit to SI, worked out apart from roofprof's own table."""
    top, _, bottom = unit.partition("/")
    factor = 1.0
    if top == "%":
        factor = 0.01
    elif top in SECONDS:
        factor = SECONDS[top]
    elif len(top) > 1 and top[0] in "KMGT" and top[1:] in ("byte", "hz", "inst", "cycle", "sector"):
        factor = SCALE[top[0]]
    return factor / SECONDS.get(bottom, 1)


def number(text):
    """Value and half of the last digit printed; None if it is no number."""
    plain = text.replace(",", "")
    if not re.fullmatch(r"-?\d+(\.\d+)?", plain):
        return None
    decimals = len(plain.partition(".")[2])
    return float(plain), 0.5 * 10 ** -decimals


def counters(capture):
    """{launch number: {metric: (value, provenance)}}"""
    found = {}
    with sqlite3.connect(f"file:{capture}?mode=ro", uri=True) as db:
        for idx, metric, value, provenance in db.execute(
                "SELECT l.idx, c.metric, c.value, c.provenance FROM counter_values c "
                "JOIN launches l ON l.id = c.launch"):
            found.setdefault(idx, {})[metric] = value, provenance
        times = dict(db.execute("SELECT idx, time_ns FROM launches"))
    return found, times


def run_to(command, output):
    with open(output, "w") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL).returncode


def best_of(n, command, output):
    """Least seconds elapsed, seconds of processor and MiB of N runs, and the exit code. Not by wait4()
    from here: what Python itself occupies would count as the program's."""
    runs = []
    for _ in range(n):
        with open(output, "w") as out:
            result = subprocess.run(["/usr/bin/time", "-q", "-f", "%e %U %S %M", *command], stdout=out,
                                    stderr=subprocess.PIPE, text=True)
        elapsed, user, system, kibibytes = map(float, result.stderr.strip().splitlines()[-1].split())
        runs.append((max(elapsed, 0.01), max(user + system, 0.01), kibibytes / 1024))
    return [min(column) for column in zip(*runs)] + [result.returncode]


def import_file(path, output):
    result = subprocess.run([ROOFPROF, "import", path, "-o", output], capture_output=True, text=True)
    if result.returncode:
        differ(f"roofprof import {path}: {result.stderr.strip()}")
    return result.returncode == 0


def rule_metrics():
    with open(os.path.join(ROOT, "hwdb/metrics.csv"), newline="") as table:
        return {m for row in csv.DictReader(table) for m in re.split(r"[-+*/]|\d\*", row["metric"]) if "__" in m}


def compare_raw_page(raw, ours, used):
    with open(raw, newline="") as page:
        rows = list(csv.DictReader(page))
    units, rows = rows[0], rows[1:]
    compared = compared_used = negative = 0
    for row in rows:
        launch = ours.get(int(row["ID"]), {})
        for metric, text in row.items():
            value = number(text or "")
            if not metric or "__" not in metric or value is None or NOT_COUNTERS.match(metric):
                continue
            scale = unit_scale(units[metric])
            expected, half = value[0] * scale, value[1] * scale * 1.0001
            if metric not in launch:
                differ(f"launch {row['ID']}: {metric} = {text} {units[metric]} was not read")
            elif launch[metric][0] < 0 and value[0] == 0:
                negative += 1 # differences of two counters; ncu prints 0 for them
            elif abs(launch[metric][0] - expected) > half + 1e-12 * abs(expected):
                differ(f"launch {row['ID']}: {metric} = {launch[metric][0]!r}, ncu prints {text} {units[metric]}")
            compared += 1
            compared_used += metric in used
    return len(rows), compared, compared_used, negative


BITS = r"""
import json, sys, ncu_report
out = []
context = ncu_report.load_report(sys.argv[1])
for r in range(context.num_ranges()):
    for a in range(context.range_by_idx(r).num_actions()):
        action = context.range_by_idx(r).action_by_idx(a)
        values = {}
        for name in action.metric_names():
            v = action[name].value()
            if isinstance(v, (int, float)) and not isinstance(v, bool):
                values[name] = v
        out.append(values)
json.dump(out, sys.stdout)
"""


def compare_bits(report, ours):
    result = subprocess.run([NCU_PYTHON, "-c", BITS, report], capture_output=True, text=True)
    if result.returncode:
        print("  bits: ncu_report cannot open it:", result.stderr.strip().splitlines()[-1:])
        return
    compared, before = 0, failures
    for number_, values in enumerate(json.loads(result.stdout)):
        launch = ours.get(number_, {})
        for metric, value in values.items():
            if "__" not in metric or ":" in metric or NOT_COUNTERS.match(metric) or metric not in launch:
                continue
            if "__time_" in metric.partition(".")[0]:
                value = value / 1e9
            elif ".pct" in metric or metric.endswith("_pct"):
                value = value / 100
            if not (float(value) == launch[metric][0] or math.isnan(value)):
                differ(f"launch {number_}: {metric} = {launch[metric][0]!r}, ncu_report has {value!r}")
            compared += 1
    print(f"  bits: {compared} values compared, {failures - before} differ in any bit")


def compare_csv(raw, ours, times, folder):
    other = os.path.join(folder, "raw.roof")
    if not import_file(raw, other):
        return
    theirs, their_times = counters(other)
    with open(raw, newline="") as page:
        rows = list(csv.DictReader(page))
    units, printed = rows[0], {int(r["ID"]): r for r in rows[1:]}
    same = marked = 0
    if set(theirs) != set(ours):
        differ(f"launches of the CSV {sorted(theirs)} and of the report {sorted(ours)}")
    for launch, values in theirs.items():
        for metric, (value, provenance) in values.items():
            exact, _ = ours.get(launch, {}).get(metric, (None, None))
            if exact is None:
                differ(f"launch {launch}: {metric} comes from the CSV alone")
            elif provenance == "estimated":
                marked += 1
                cycles = ours[launch].get("smsp__cycles_elapsed.avg.per_second", (0,))[0] * (times[launch] or 0) / 1e9
                if abs(value - exact) > 0.0101 * abs(exact) + 1.1e-6 * cycles:
                    differ(f"launch {launch}: {metric} estimated as {value!r}, is {exact!r}")
            else:
                text = number(printed[launch].get(metric) or "")
                half = text[1] * unit_scale(units[metric]) * 1.0001 if text else 0  # a recovered count: exact
                known = exact if value == exact else max(exact, 0)
                if abs(value - known) > half + 1e-12 * abs(exact):
                    differ(f"launch {launch}: {metric} = {value!r} from the CSV, {exact!r} from the report")
                same += 1
    missing = sum(metric not in theirs.get(launch, {}) for launch, v in ours.items() for metric in v)
    for launch, t in times.items():
        if t and abs((their_times.get(launch) or 0) - t) > 1e-6 * t + 0.5:
            differ(f"launch {launch}: {their_times.get(launch)} ns from the CSV, {t} ns from the report")
    print(f"  csv: {same} counters equal within the rounding, {marked} marked as estimated, "
          f"{missing} not recoverable and left unknown")


def compare_labels(report, ours, folder):
    page, other = os.path.join(folder, "labels.csv"), os.path.join(folder, "labels.roof")
    if run_to([NCU, "--import", report, "--csv", "--page", "details", "--print-units", "base"], page):
        print("  labels: ncu cannot print the details page")
        return
    if not import_file(page, other):
        return
    same = unknown = 0
    for launch, values in counters(other)[0].items():
        for metric, (value, _) in values.items():
            if "__" not in metric:
                unknown += 1
                continue
            exact = ours.get(launch, {}).get(metric, (math.nan,))[0]
            # two decimals of nanoseconds, of per cent, or of whatever is stored as it is printed
            half = 5.01e-12 if "__time_" in metric else 5.01e-5 if "pct" in metric else 5.01e-3
            if not abs(value - exact) <= half + 1e-9 * abs(exact):
                differ(f"launch {launch}: a label gives {metric} = {value!r}, the report {exact!r}")
            same += 1
    print(f"  labels: {same} values equal to the metric they stand for, {unknown} of labels that are kept as they are")


def show_rules(report, folder):
    page = os.path.join(folder, "details.csv")
    if run_to([NCU, "--import", report, "--csv", "--page", "details"], page):
        print("  rules: ncu cannot print the details page")
        return
    with open(page, newline="") as lines:
        rules = {r["Kernel Name"]: r["Rule Description"] for r in csv.DictReader(lines)
                 if r.get("Rule Name") == "SOLBottleneck"}
    result = subprocess.run([ROOFPROF, "report", "--format", "json", report], capture_output=True, text=True)
    if result.returncode or not rules:
        return
    for kernel in json.loads(result.stdout)["kernels"]:
        theirs = [v for k, v in rules.items() if k == kernel["name"]]
        if theirs:
            print(f"  rules: {kernel['name'][:40]}: {kernel['bound']} by {kernel.get('bound_by')}, "
                  f"{kernel.get('reason')} | ncu: {theirs[0][:110]}")


def check(report, used, folder):
    print(report)
    capture, raw = os.path.join(folder, "report.roof"), os.path.join(folder, "raw.csv")
    theirs = best_of(3, [NCU, "--import", report, "--csv", "--page", "raw"], raw)
    mine = best_of(3, [ROOFPROF, "report", report], os.devnull)
    if theirs[3]:
        differ(f"{NCU} cannot open it (exit {theirs[3]})")
        return
    if mine[3]:
        differ(f"roofprof report exits with {mine[3]}")
    if not import_file(report, capture):
        return
    ours, times = counters(capture)
    launches, compared, compared_used, negative = compare_raw_page(raw, ours, used)
    print(f"  values: {launches} launches, {compared} values compared ({compared_used} that roofprof uses)"
          + (f", {negative} negative ones that ncu prints as 0" if negative else ""))
    if NCU_PYTHON:
        compare_bits(report, ours)
    compare_csv(raw, ours, times, folder)
    compare_labels(report, ours, folder)
    show_rules(report, folder)
    print(f"  cost: {theirs[0]:.2f} s, {theirs[1]:.2f} s of processor, {theirs[2]:.0f} MiB for ncu; {mine[0]:.2f} s, "
          f"{mine[1]:.2f} s, {mine[2]:.0f} MiB for roofprof: {theirs[0] / mine[0]:.1f} and {theirs[1] / mine[1]:.1f} "
          f"times faster, {theirs[2] / mine[2]:.1f} times less memory")


used = rule_metrics()
for report in REPORTS:
    with tempfile.TemporaryDirectory() as folder:
        check(report, used, folder)
print("all agree" if not failures else f"{failures} differences")
sys.exit(failures > 0)
PY
