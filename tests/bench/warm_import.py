"""How long does an import take that finds 10,000 unchanged files? Goal: about 0.4 s with start-up.

Usage: python tests/bench/warm_import.py [FILES]

Beside it stands what no such import can do without, measured in turn: a command of typer with one option
that opens DuckDB, and a bare pass that lists and stats the files and hashes both ends of each. Where the goal
was set such a pass took 0.10 s (methods.md 1.4), so the last line says what the import takes at that
machine's speed. CPU time of whole processes, the median of several.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from made_up import write_sessions

ROUNDS = 7
PASS_OF_THE_GOAL = 0.10
"""seconds of a bare pass over 10,000 files on the machine on which the goal was set"""
START = """
import duckdb, typer

def main(number: int = 1):
    duckdb.connect().execute("select 1").fetchall()

typer.run(main)
"""
BARE = """
import os, sys
from hashlib import blake2b

def files(folder):
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from files(entry.path)
        else:
            yield entry.path, entry.stat()

for path, stat in files(sys.argv[1]):
    with open(path, "rb", buffering=0) as file:
        ends = blake2b(file.read(4096), digest_size=16)
        if stat.st_size > 4096:
            file.seek(-4096, os.SEEK_END)
            ends.update(file.read(4096))
    ends.digest()
"""


def seconds(*arguments: str) -> float:
    """CPU time of one command, output thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(files: int = 10_000) -> None:
    """Import once, then time the imports that have nothing to do."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", str(Path(name) / "bench.duckdb")
        made = 0
        while made < files:
            made += write_sessions(folder / f"part{made}", 2_000_000, seed=made + 1, rows=4)
        import_ = ("-m", "dedupstats", "import", str(folder), "--db", db)
        commands = {
            "warm import (goal about 0.4)": import_,
            "--help (goal about 0.2)": ("-m", "dedupstats", "--help"),
            "a command of typer that opens DuckDB": ("-c", START),
            "Python alone": ("-c", ""),
            "Python and a bare pass": ("-c", BARE, str(folder)),
        }
        print(f"{made:,} files: first import {seconds(*import_):.1f} s")
        taken = [[seconds(*command) for command in commands.values()] for _ in range(ROUNDS)]
        medians = [statistics.median(times) for times in zip(*taken, strict=True)]
        for label, median in zip(commands, medians, strict=True):
            print(f"{median:.2f} s {label}")
        warm, _, start, python, with_pass = medians
        bare = with_pass - python
        if bare > 0:  # of a few files it is too short to be seen
            there = warm / bare * PASS_OF_THE_GOAL * made / 10_000
            print(
                f"{warm - start:.2f} s beyond start-up, {(warm - start) / bare:.1f} bare passes; in all "
                f"{there:.2f} s where a bare pass over 10,000 files takes {PASS_OF_THE_GOAL:.2f} s"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
