"""How fast is an import against the bare loop that any importer must run (B-import of docs/ARCHITECTURE.md)?

Usage: python tests/bench/import_speed.py [MB] [ROUNDS]

B-import reads each line, parses it with orjson and hashes the text of its tool results. The import does all
that a user's import does: recognition, every column, the store on disk, the history settled. Both run in
turn in one process; CPU time is compared (a busy machine makes wall time useless) and the median of the
ratios printed, with peak memory measured in a process of its own.
"""

from __future__ import annotations

import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from made_up import write_sessions

from dedupstats import import_paths, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable

GOAL, STRETCH = 0.45, 0.55


def bare_loop(paths: Iterable[Path]) -> int:
    """B-import: the work that cannot be avoided."""
    results = 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                row = orjson.loads(line)
                if row.get("type") != "user":
                    continue
                content = row["message"]["content"]
                if isinstance(content, list):
                    for block in content:
                        if block["type"] == "tool_result":
                            hashlib.sha256(block["content"].encode()).digest()
                            results += 1
    return results


def whole_import(folder: Path, db: Path) -> int:
    """What a user's first import does, on one thread."""
    db.unlink(missing_ok=True)
    with open_store(db) as store:
        # worker threads would be charged to us
        store.query("set threads = 1")
        return sum(import_paths(store, [folder]).emissions.values())


def cpu(function: object, *arguments: object) -> tuple[float, int]:
    """CPU seconds of a call, and what it returned."""
    begin = time.process_time()
    found = function(*arguments)  # type: ignore[operator]
    return time.process_time() - begin, found


def peak_memory(folder: Path, db: Path) -> float:
    """Peak resident memory of an import in a fresh process, in MB."""
    script = (
        "import resource, sys; from dedupstats import import_paths, open_store;\n"
        "with open_store(sys.argv[2]) as s: import_paths(s, [sys.argv[1]])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    db.unlink(missing_ok=True)
    return float(subprocess.check_output([sys.executable, "-c", script, str(folder), str(db)]))


def main(megabytes: int = 200, rounds: int = 5) -> None:
    """Make the input, run both sides in turn, print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", Path(name) / "bench.duckdb"
        files = write_sessions(folder, megabytes * 1_000_000)
        paths = sorted(folder.rglob("*.jsonl"))
        ratios = []
        for number in range(rounds + 1):
            bare, expected = cpu(bare_loop, paths)
            ours, found = cpu(whole_import, folder, db)
            assert found == expected, (found, expected)
            if number:  # the first round warms up
                ratios.append(bare / ours)
                print(f"round {number}: bare {bare:.2f} s, import {ours:.2f} s, speed {bare / ours:.2f}")
        median = statistics.median(ratios)
        print(
            f"{megabytes} MB, {files} files, {expected:,} results: speed {median:.2f} of B-import "
            f"(goal {GOAL}, stretch {STRETCH})"
        )
        memory = peak_memory(folder, db)
        print(f"store {db.stat().st_size / 1e6:.0f} MB, peak memory {memory:.0f} MB (goal < 400)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
