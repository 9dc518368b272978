"""How long does an import take that finds 10,000 unchanged files? Goal: about 0.4 s with start-up.

Usage: python tests/bench/warm_import.py [FILES]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_up import write_sessions

COMMAND = [sys.executable, "-m", "dedupstats"]


def seconds(*arguments: str) -> float:
    """Wall time of one command, output thrown away."""
    begin = time.perf_counter()
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin


def main(files: int = 10_000) -> None:
    """Import once, then time the imports that have nothing to do."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", str(Path(name) / "bench.duckdb")
        made = 0
        while made < files:
            made += write_sessions(folder / f"part{made}", 2_000_000, seed=made + 1, rows=4)
        cold = seconds("import", str(folder), "--db", db)
        warm = [seconds("import", str(folder), "--db", db) for _ in range(5)]
        bare = [seconds("--help") for _ in range(5)]
        print(
            f"{made:,} files: cold {cold:.1f} s, warm {statistics.median(warm):.2f} s (goal about 0.4), "
            f"--help alone {statistics.median(bare):.2f} s (goal about 0.2)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
