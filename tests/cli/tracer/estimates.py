#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""estimates.py ROOFPROF PROGRAM: launches of one shape that differ in their work (varying.cu), of
which sampled mode counts a few. The FLOPs of all of them, which follow from the source, must lie
within the interval that the capture gives for its estimate; where work follows a trend the estimate
must be near. Exit 77: the program is not there."""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

roofprof, program = sys.argv[1:]
if not os.access(program, os.X_OK):
    sys.exit(77)
environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
if os.environ.get("PRELOAD_FIRST"): # the sanitizers' library first, and no real CUPTI, as in emulated.sh
    environment.update(LD_PRELOAD=os.environ["PRELOAD_FIRST"], ROOFPROF_EMU_REAL_CUPTI="none")
failures = 0
# kind, launches, how far off the estimate may be
for kind, launches, near in (("growing", 60, 0.05), ("growing", 1000, 0.05), ("heavy", 1000, 9)):
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "a.roof")
        expected = float(subprocess.run([program, kind, str(launches), "--expect"], check=True,
                                        capture_output=True).stdout)
        run = subprocess.run([roofprof, "--emulate", "H100", "--mode", "sampled", "--budget", "0", "-q",
                              "-o", capture, "--", program, kind, str(launches)], capture_output=True,
                             env=environment)
        if run.returncode or run.stdout != b"ok varying\n":
            sys.exit(f"{kind}: exit code {run.returncode}: {run.stderr.decode()}")
        db = sqlite3.connect(capture)
        counted, total = db.execute(
            "select q.n, q.sum / q.n * s.launches from summary_quantities q join summaries s"
            " on s.id = q.summary where q.quantity = 'fp32_vector'").fetchone()
        notes = [text for (text,) in db.execute("select text from notes where text like '%Intervals of 95%'")]
        found = re.search(r"\+- ([0-9.e+]+) %", notes[0]) if notes else None
        half = float(found.group(1)) / 100 * total if found else 0
        off = abs(total - expected)
        print(f"{kind}, {launches} launches, {counted} counted: {total:.0f} +- {half:.0f}, and {expected:.0f} are made")
        if not found or off > half * 1.01 or off > near * expected or counted * 2 > launches:
            failures = 1
            print(notes)
sys.exit(failures)
