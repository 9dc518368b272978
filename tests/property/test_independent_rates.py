"""Rates, repeats and sight against a computation in plain Python that reads the logs itself."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from support import independent

from dedupstats import import_paths, open_store, rates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.independent import Result

    from dedupstats import Store

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_data"
CORPUS = (ROOT.parent / "shared" / "corpus" / "claude_code").resolve()


class Both(NamedTuple):
    """The same logs, read twice."""

    store: Store
    results: list[Result]


@pytest.fixture(scope="module", params=["samples", "corpus"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    if request.param == "samples":
        folders = [SAMPLES / "claude_code", SAMPLES / "docker_agent"]
        results = independent.claude_code(folders[0]) + independent.docker_agent(folders[1])
    elif CORPUS.is_dir():
        # `_fixtures` holds excerpts
        folders = [folder for folder in sorted(CORPUS.iterdir()) if folder.name != "_fixtures"]
        results = independent.claude_code(CORPUS)
    else:
        pytest.skip(f"no corpus at {CORPUS}")
    with open_store(":memory:") as store:
        import_paths(store, folders)
        yield Both(store, independent.settle(results))


def differences(found: dict[Any, Any], expected: dict[Any, Any]) -> list[Any]:
    """The first few keys whose values differ, with both values: whole histories are too long to show."""
    keys = (key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    return [(key, found.get(key), expected.get(key)) for key in sorted(keys, key=repr)[:5]]


def test_rates_per_tool(both: Both) -> None:
    found = rates(both.store, by="tool", all_rules=True, tz="UTC")
    counted = {}
    for row in (*found.rows, found.total):
        numbers = {"results": row.results, "errors": row.errors, "copies": row.copies}
        numbers |= {name: row.rules[name] for name in independent.RULES}
        counted[row.group] = {name: (tally.results, tally.bytes) for name, tally in numbers.items()}
    assert counted == independent.tallies(both.results)
    assert counted["total"]["repeat-in-sight"][0] > 0


def test_each_result(both: Both) -> None:
    rules = ", ".join(name.replace("-", "_") for name in independent.RULES)
    rows = both.store.query(
        "select path, line, call_id, tool, class, bytes, is_error, is_copy, source || ' ' || session_id, "
        f"{rules} from emission join emission_repeat using (emission_key) order by family_key, seq"
    )
    found = {
        tuple(row[:9]): [name for name, holds in zip(independent.RULES, row[9:], strict=True) if holds]
        for row in rows
    }
    expected = {
        (
            result.path,
            result.line,
            result.call_id,
            result.tool,
            result.shown.klass,
            result.shown.bytes,
            result.is_error,
            result.original is not result,
            result.session,
        ): repeated
        for result, repeated in zip(both.results, independent.repeats(both.results), strict=True)
    }
    assert not differences(found, expected)


def test_sight(both: Both) -> None:
    """Calls whose results are in sight of each result."""
    rows = both.store.query(
        "select path, context_key, line, ordinal, call_id, left_at from emission "
        "order by context_key, ordinal"
    )
    contexts = defaultdict(list)
    for path, context, line, ordinal, call, left_at in rows:
        contexts[path, context].append((line, ordinal, call, left_at))
    found = {
        (path, line, call): {
            earlier for _, at, earlier, left_at in own if at < ordinal and (left_at or ordinal + 1) > ordinal
        }
        for (path, _), own in contexts.items()
        for line, ordinal, call, _ in own
    }
    expected = {
        (result.path, result.line, result.call_id): {earlier.call_id for earlier in result.in_sight}
        for result in both.results
    }
    assert not differences(found, expected)
