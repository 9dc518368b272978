"""How long do rates take on 100,000 results? Goal: about a second for the whole command.

Usage: python tests/bench/rates_speed.py [RESULTS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from made_up import write_sessions
from warm_import import seconds

from dedupstats import import_paths, open_store, rates

PER_MB = 90
"""Tool results in a megabyte of the made-up logs, about."""


def main(results: int = 100_000) -> None:
    """Make a store of about so many results, time the function and the command."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", Path(name) / "bench.duckdb"
        write_sessions(folder, results * 1_000_000 // PER_MB)
        with open_store(db) as store:
            import_paths(store, [folder])
        with open_store(db, read_only=True) as store:
            spent = []
            for all_rules in (False, True) * 3:
                begin = time.perf_counter()
                found = rates(store, all_rules=all_rules)
                spent.append(time.perf_counter() - begin)
        whole = [seconds("-m", "dedupstats", "rates", "--db", str(db)) for _ in range(5)]
        print(
            f"{found.total.results.results:,} results: rates() {statistics.median(spent):.2f} s, "
            f"command {statistics.median(whole):.2f} s of CPU time (goal about 1)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
