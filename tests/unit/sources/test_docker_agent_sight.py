"""docker-agent: what a compaction keeps, removes and brings back (docker-agent.md section 3.6)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.docker_agent import (
    JSON,
    NEWEST,
    assistant,
    change,
    database,
    export,
    of,
    read,
    records,
    result,
    session,
    summary,
    user,
)

from dedupstats.model import Boundary, BoundaryKind, Emission, Entered, EnteredKind

if TYPE_CHECKING:
    from dedupstats.model import Record


def read_items(path: Path, items: list[JSON]) -> list[Record]:
    return records(export(path / "s.json", session("s", items)))


def kept(path: Path, items: list[JSON]) -> list[tuple[int, tuple[int, ...]]]:
    return [(b.at_ordinal, b.kept) for b in of(read_items(path, items), Boundary)]


def three() -> list[JSON]:
    """Items 0 to 6: results at 2, 4 and 6."""
    return [user("go", 0), *read("a", "1", "x", 1), *read("b", "2", "y", 3), *read("c", "3", "z", 5)]


@pytest.mark.parametrize(
    ("first_kept", "expected"),
    [
        (5, (2,)),
        (3, (1, 2)),
        (1, (0, 1, 2)),
        (0, ()),  # fault case R30: it kept nothing
        (-1, ()),
        (7, ()),  # the summary itself
        (99, ()),
        (6, ()),  # the result alone: its call is gone, so it is dropped
        (4, (2,)),
    ],
)
def test_what_a_summary_keeps(tmp_path: Path, first_kept: int, expected: tuple[int, ...]) -> None:
    assert kept(tmp_path, [*three(), summary("s", first_kept_entry=first_kept)]) == [(3, expected)]


def test_a_boundary_stands_at_the_summarys_row(tmp_path: Path) -> None:
    items = [*three(), summary("text"), *read("d", "4", "x", 9)]
    path = database(tmp_path / "s.db", NEWEST, session("s", items))
    found = records(path)
    (boundary,) = of(found, Boundary)
    assert (boundary.line, boundary.kind, boundary.removed) == (8, BoundaryKind.COMPACTION, ())
    (entered,) = [e for e in of(found, Entered) if e.kind is EnteredKind.SUMMARY]
    assert (entered.bytes, entered.emissions_before) == (len("Session Summary: text"), 3)


def test_levels_without_the_column_keep_nothing(tmp_path: Path) -> None:
    items = [*three(), summary("s", first_kept_entry=5)]
    (boundary,) = of(records(database(tmp_path / "s.db", 20, session("s", items))), Boundary)
    assert boundary.kept == ()


def test_a_deleted_sub_session_shifts_the_count(tmp_path: Path) -> None:
    """Section 3.6: skipped rows shift it."""
    inner = session("t", [user("x", 1)])
    items = [{"sub_session": inner}, *three(), summary("s", first_kept_entry=6)]
    path = database(tmp_path / "s.db", NEWEST, session("s", items))
    assert of(records(path), Boundary)[0].kept == (2,)
    change(path, "update session_items set subsession_id = null where subsession_id = 't'")
    change(path, "delete from sessions where id = 't'")
    found = records(path)
    # now entry 6 is the last result, without its call
    assert of(found, Boundary)[0].kept == ()


def test_a_tail_that_reaches_behind_an_earlier_summary_brings_results_back(tmp_path: Path) -> None:
    items = [*three(), summary("one"), *read("d", "4", "w", 9), summary("two", first_kept_entry=3)]
    found = read_items(tmp_path, items)
    rows = of(found, Emission)
    assert [(b.at_ordinal, b.kept) for b in of(found, Boundary)] == [(3, ()), (4, (3,))]
    assert [(e.call_id, e.ordinal, e.is_return) for e in rows] == [
        ("a", 0, False),
        ("b", 1, False),
        ("c", 2, False),
        ("d", 3, False),
        ("b", 4, True),
        ("c", 5, True),
    ]
    assert (rows[4].copy_key, rows[4].sha256, rows[4].at) == (rows[1].copy_key, rows[1].sha256, rows[1].at)
    assert rows[4].line == 10
    assert rows[4].clock == rows[3].clock
    assert len({e.emission_key for e in rows}) == 6


def in_sight(found: list[Record]) -> list[set[str]]:
    """Call ids in sight just before each later boundary and at the end, by the records' linear model."""
    rows = of(found, Emission)
    boundaries = of(found, Boundary)
    gone: set[int] = set()
    seen: list[set[str]] = []
    for place, boundary in enumerate(boundaries):
        gone |= {e.ordinal for e in rows if e.ordinal < boundary.at_ordinal} - set(boundary.kept)
        later = boundaries[place + 1].at_ordinal if place + 1 < len(boundaries) else len(rows)
        visible = [e.call_id for e in rows if e.ordinal < later and e.ordinal not in gone]
        assert len(visible) == len(set(visible))
        seen.append(set(visible))
    return seen


def sent(items: list[JSON]) -> list[set[str]]:
    """The same by the words of section 3.6, just before the next summary and at the end."""
    summaries = [n for n, value in enumerate(items) if "summary" in value]
    seen = []
    for s, end in zip(summaries, [*summaries, len(items)][1:], strict=True):
        first = items[s]["first_kept_entry"]
        start = first if 0 < first < s else s + 1
        messages = [v["message"]["message"] for v in items[start:end] if "message" in v]
        calls = {call["id"] for m in messages for call in m.get("tool_calls", [])}
        seen.append({m["tool_call_id"] for m in messages if m["role"] == "tool"} & calls)
    return seen


@st.composite
def histories(draw: st.DrawFn) -> list[JSON]:
    items: list[JSON] = []
    for n in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(("read", "batch", "user", "summary", "error")))
        if kind == "read":
            items += read(f"c{n}", "x", "same", n)
        elif kind == "batch":
            names = [f"c{n}a", f"c{n}b"]
            items.append(assistant(n, *((name, "read_file", "{}") for name in names)))
            items += [result(name, "same", n) for name in draw(st.permutations(names))]
        elif kind == "user":
            items.append(user("x", n))
        elif kind == "error":
            items.append({"error": {"message": "x"}})
        else:
            items.append(summary("s", first_kept_entry=draw(st.integers(-1, len(items) + 2))))
    return items


@settings(max_examples=150, deadline=None)
@given(histories())
def test_sight_is_that_of_the_request_that_docker_agent_builds(items: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert in_sight(read_items(Path(folder), items)) == sent(items)
