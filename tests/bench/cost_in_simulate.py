"""What do costs add to the time of a replay: tokens by the ladder, with dollars, against bytes / 4?

Usage: python tests/bench/cost_in_simulate.py [EMISSIONS] [ROUNDS]

The history is that of simulate_speed.py, with a row of costs for each result. Both replay it in turn in one
process, history sorted, costs joined, chunks read, decided, judged and added up; CPU time is compared (a busy
machine makes wall time useless) and the median of the ratios printed. The replay switches the collector off
itself, where it does.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from simulate_speed import SIX, build, cpu

from dedupstats import open_store
from dedupstats.simulate.run import simulate
from dedupstats.simulate.variants import Variant, variants

if TYPE_CHECKING:
    from dedupstats import Store
    from dedupstats.economics.tokens import TokenRule

GOAL = 30
"""percent that costs may add"""

COSTS = """
insert into derived.emission_cost
select emission_key, bytes / 2.9 + 12, ordinal % 4, bytes / 3.1 + 12, 20, bytes * 6, bytes * 0.1, bytes * 0.2,
    1, bytes * 1e-6, case when ordinal % 50 = 0 then bytes else 0 end, 0
from emission
"""


def compare(store: Store, rounds: int) -> None:
    """Print how the two compare."""
    store.query("set threads = 1")  # worker threads would be charged to us
    everything = variants()

    def run(tokens: TokenRule, chosen: list[Variant]) -> float:
        return cpu(lambda: simulate(store, chosen, tokens=tokens))[0]

    for name, chosen in (
        ("six policies", [variant for variant in variants(SIX) if variant.is_headline]),
        (f"all {len(everything)} variants", everything),
    ):
        pairs = [(run("bytes4", chosen), run("ladder", chosen)) for _ in range(rounds)]
        bare, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
        added = statistics.median(100 * (with_cost / without - 1) for without, with_cost in pairs)
        took = f"bytes / 4 {bare:.2f} s, with costs {whole:.2f} s"
        print(f"{name}: {took}: {added:+.0f} % (goal at most {GOAL} %)")


def main(emissions: int = 300_000, rounds: int = 5) -> None:
    """Make the store, measure."""
    with tempfile.TemporaryDirectory() as name:
        db = Path(name) / "bench.duckdb"
        build(db, emissions)
        with open_store(db) as store:
            store.query(COSTS)
        with open_store(db, read_only=True) as store:
            compare(store, rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
