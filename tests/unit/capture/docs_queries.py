#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every query of the manual's page on captures, so that the page stays true.

usage: docs_queries.py CAPTURE_BENCH docs/capture.md
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    bench, page = sys.argv[1:]
    text = pathlib.Path(page).read_text(encoding="utf-8")
    queries = re.findall(r'^    (sqlite3 [^"]*"[^"]*")', text, re.MULTILINE)
    assert len(queries) >= 5, "the page has lost its queries"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("run", "base", "new"):
            subprocess.run([bench, "make", "5000", f"{folder}/{name}.roof"], check=True, stdout=subprocess.DEVNULL)
        for query in queries:
            done = subprocess.run(query, shell=True, cwd=folder, capture_output=True, text=True)
            if done.returncode or done.stderr:
                sys.exit(f"{query}\n{done.stderr}")
            if "copy_summaries" not in query and "gap_ns" not in query and not done.stdout:
                sys.exit(f"no rows: {query}")
    print(f"{len(queries)} queries run")


if __name__ == "__main__":
    main()
