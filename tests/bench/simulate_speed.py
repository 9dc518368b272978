"""How fast is a replay against B-ledger, the bare loop that any engine with a ledger must run?

Usage: python tests/bench/simulate_speed.py [EMISSIONS] [ROUNDS]

B-ledger gets and sets one entry of a dict per emission, its key a tuple of two numbers, on lists that are
ready. A replay does all that `simulate` does once the history is sorted: chunks read, emissions made,
decisions, verdicts, scores. Both run in turn in one process; CPU time is compared (a busy machine makes wall
time useless) and the median of the ratios printed. Peak memory is measured in a process of its own. The
history is made up: skewed sessions, a quarter of the results in subagents, turns, compactions.

A decision is one result under one policy. Those that a policy is not asked about (a shell's engine about
other tools) are decided without it and told apart; the twins that say what unknown tools would add are in the
time and in no count.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from peak import peak_megabytes

from dedupstats import history, open_store
from dedupstats.collector import collector_off
from dedupstats.model import ReadOnly
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.run import simulate
from dedupstats.simulate.timeline import Timeline
from dedupstats.simulate.variants import Variant, variants
from dedupstats.sources.base import Names

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dedupstats import Store

GOAL, DECISIONS, MEMORY = 4.0, 500_000, 400
SIX = ("docker-agent:v1", "docker-agent:v3", "rtk:v1", "rtk:v2", "exact", "safe")
TOOLS = [
    ("Read", "filesystem", ReadOnly.YES),
    ("Bash", None, ReadOnly.UNKNOWN),
    ("Edit", None, ReadOnly.NO),
    ("mcp__x__get", None, ReadOnly.UNKNOWN),
]


# -- the history ---------------------------------------------------------------------------------------------


def build(db: Path, emissions: int) -> None:
    """Write a store of so many emissions; the same ones each time."""
    with open_store(db) as store, store.transaction():
        frame = drawn(np.random.default_rng(1), emissions)
        names = Names()
        tools = [names.tool(*tool) for tool in TOOLS]
        store.connection.register("drawn", frame)
        store.append("raw.unit", [(1, "claude_code", "unit", 0)])
        store.append("raw.tool", [(key, *tool) for key, tool in names.tools.items()])
        for sql in ROWS:
            store.query(sql, {"tools": tools} if "$tools" in sql else None)
        history.complete(store)


def drawn(rng: np.random.Generator, count: int) -> dict[str, NDArray[Any]]:
    """Session, number in it, agent (0: main thread), call, version and size of each result."""
    sizes: list[int] = []
    while sum(sizes) < count:
        sizes.append(int(min(20 * (1 + rng.pareto(1.1)), 6_000)))
    session = np.repeat(np.arange(len(sizes)), sizes)[:count]
    number = np.concatenate([np.arange(size) for size in sizes])[:count]
    block = number // 25
    is_agent = (session * 7_919 + block * 104_729) % 4 == 0
    call = (250 * rng.random(count) ** 2).astype(np.int64) + 60 * (number // 150)
    version = np.where(call % 3 == 0, number // 40, 0)
    size = np.exp(rng.normal(6.5, 1.2, 5_000))[(call * 31 + session) % 5_000].astype(np.int64)
    return {
        "session": session,
        "number": number,
        "agent": np.where(is_agent, block + 1, 0),
        "call": call,
        "version": version,
        "size": size,
        "is_error": rng.random(count) < 0.05,
    }


ROWS = (
    """
    insert into raw.name select distinct (hash(session) // 2)::bigint, 'session-' || session
    from drawn
    """,
    """
    create temp table made as
    select *, session * 10000 + agent as context_key,
        row_number() over (partition by session, agent order by number) - 1 as ordinal,
        1_700_000_000_000_000 + session * 3_600_000_000 + number * 10_000_000 as ts
    from drawn
    """,
    """
    insert into raw.context by name
    select 1 as unit_key, 'claude_code' as source, session as session_key, context_key,
        case when agent = 0 then 'main' else 'agent' end as kind, 'session-' || session as session_id,
        'c' || context_key as native_id, case when agent > 0 then session * 10000 end as parent_key,
        '/logs/' || context_key as path, min(ts) as started_at, max(ts) as ended_at, false as is_moved
    from made group by session, agent, context_key
    """,
    """
    insert into raw.turn by name
    select context_key, ordinal // 12 as turn, number as line, min(ts) - 1 as ts, ordinal as emissions_before,
        false as is_steering
    from made where agent = 0 and ordinal % 12 = 0 group by all
    """,
    """
    insert into raw.boundary by name
    select context_key, ordinal as at_ordinal, number as line, ts - 2 as ts, 'compaction' as kind,
        'auto' as trigger, '' as kept, '' as removed, 0 as kept_count, ordinal as removed_count
    from made where agent = 0 and ordinal % 300 = 0 and ordinal > 0
    """,
    """
    insert into raw.emission by name
    select case when agent = 0 and ordinal // 300 < max(ordinal) over (partition by context_key) // 300
            then (ordinal // 300 + 1) * 300 end as left_at,
        session * 100000 + number as emission_key, context_key, ordinal, number as line, ts, ts as clock,
        ordinal // 12 as turn, 't' || number as call_id, session * 100000 + number as copy_key,
        false as is_fork, true as is_home, false as is_return, (hash(session) // 2)::bigint as ledger_key,
        $tools[[1, 1, 1, 1, 1, 2, 2, 2, 3, 4][call % 10 + 1]] as tool_key,
        (hash(session, call) // 2)::bigint as call_key, (hash(session, call) // 2)::bigint as args_sha64,
        (hash(session, call) // 2)::bigint as norm_key, 'text' as class, is_error, false as did_not_run,
        encode(session || '.' || call || '.' || version) as sha256,
        (hash(session, call, version) // 2)::bigint as sha64, size as bytes, size as chars,
        1 + size // 40 as lines,
        0 as letters, 0 as digits, 0 as newlines, 0 as other_ascii, 0 as non_ascii,
        case when call % 10 between 5 and 7 then call % 2 = 0 end as shell_reads,
        case call % 10 when 5 then 'exact' when 6 then 'mixed' when 7 then 'no' end as rtk_mode,
        case when call % 10 between 5 and 6 then 20 end as rtk_identity_bytes, false as rtk_ran
    from made
    """,
    "drop table made",
)


# -- measured ------------------------------------------------------------------------------------------------


def b_ledger(sessions: list[int], calls: list[int], hashes: list[int]) -> int:
    """The bare loop."""
    ledger: dict[tuple[int, int], int] = {}
    repeats = 0
    for session, call, sha in zip(sessions, calls, hashes, strict=True):
        key = (session, call)
        repeats += ledger.get(key) == sha
        ledger[key] = sha
    return repeats


def replay(timeline: Timeline, chosen: list[Variant]) -> tuple[int, int]:
    """Everything but the sorting; returns what was asked and what was elided."""
    run = Replay(chosen, "session")
    asked = elisions = 0
    with collector_off():
        for chunk in timeline.chunks():
            for done in run.chunk(chunk):
                asked += len(done.answers)
                elisions += done.score.elided.results
    return asked, elisions


def cpu(function: Callable[..., object], *arguments: object) -> tuple[float, object]:
    """CPU seconds of a call, and what it gave."""
    gc.collect()
    begin = time.process_time()
    found = function(*arguments)
    return time.process_time() - begin, found


def compare(store: Store, emissions: int, rounds: int) -> None:
    """Print how the replay compares."""
    store.query("set threads = 1")  # worker threads would be charged to us
    spent, timeline = cpu(Timeline, store, "session", Knowledge())
    assert isinstance(timeline, Timeline)
    print(f"sorted into temporary tables: {spent:.1f} s")
    columns = [
        [row[0] for row in store.query(f"select {name} from emission order by family_key, seq")]
        for name in ("session_key", "call_key", "sha64")
    ]
    everything = variants()
    for name, chosen in (
        ("six policies", [variant for variant in variants(SIX) if variant.is_headline]),
        (f"all {len(everything)} variants", everything),
    ):
        ratios, rates, asked_rates, bares = [], [], [], []
        for _ in range(rounds):
            gc.disable()
            bare, _ = cpu(b_ledger, *columns)
            gc.enable()
            whole, found = cpu(replay, timeline, chosen)
            asked, elisions = found  # type: ignore[misc]
            bares.append(bare)
            ratios.append(whole / len(chosen) / bare)
            rates.append(emissions * len(chosen) / whole)
            asked_rates.append(asked / whole)
        print(
            f"{name}: {statistics.median(ratios):.2f} x B-ledger each (goal {GOAL}), "
            f"{statistics.median(rates):,.0f} decisions/s (goal {DECISIONS:,}), "
            f"{statistics.median(asked_rates):,.0f} of them asked, {100 * elisions / asked:.1f} % of these "
            f"elided; B-ledger {1e6 * statistics.median(bares) / emissions:.2f} us an emission"
        )


def peak(db: str) -> None:
    """In a process of its own: simulate everything, print the peak memory in MB."""
    with open_store(db, read_only=True) as store:
        before = peak_megabytes()
        Timeline(store, "session", Knowledge())
        sorted_ = peak_megabytes()
        simulate(store, variants())
    whole = peak_megabytes()
    print(
        f"peak memory: {whole:.0f} MB (goal {MEMORY}); "
        f"store opened {before:.0f}, history sorted {sorted_:.0f}"
    )


def main(emissions: int = 1_000_000, rounds: int = 5) -> None:
    """Make the store, measure."""
    with tempfile.TemporaryDirectory() as name:
        db = Path(name) / "bench.duckdb"
        build(db, emissions)
        subprocess.run([sys.executable, __file__, "--peak", str(db)], check=True)
        with open_store(db, read_only=True) as store:
            compare(store, emissions, rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        peak(sys.argv[2])
    else:
        main(*map(int, sys.argv[1:]))
