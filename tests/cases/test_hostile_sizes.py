"""Logs that are made to take forever: the work grows with the log, never with its square."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from support import docker_agent
from support.claude import Transcript, of, records

from dedupstats import Store, import_paths, open_store
from dedupstats.analytics.observed import observed
from dedupstats.analytics.top import top
from dedupstats.model import Boundary, Emission, Ignored, Skipped, Turn
from dedupstats.report import text
from dedupstats.sources import base, lines
from dedupstats.sources.claude_code import sight, tree, unit
from dedupstats.sources.docker_agent import thread

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MANY = 200


def test_two_branches_that_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "LEAST", 0)
    made = Transcript()
    tips = [made.user("hi")] * 2
    for number in range(MANY):
        made.rewind(tips[number % 2])
        made.read(f"t{number}", "a", "x")
        tips[number % 2] = made.tip or ""
    found = records(made.write(tmp_path / "s1.jsonl"))
    emissions = of(Emission, found)
    assert sum(not emission.is_return for emission in emissions) == MANY
    assert len(emissions) <= (1 + sight.EASE) * MANY
    assert sum(len(boundary.removed) for boundary in of(Boundary, found)) <= (1 + sight.EASE) * MANY


def test_micro_compactions_of_a_branch_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[None] = []
    due = sight.Sight._due_micros

    def counted(self: Any) -> Any:
        looked_at.append(None)
        return due(self)

    monkeypatch.setattr(sight.Sight, "_due_micros", counted)
    made = Transcript()
    made.read("t0", "a", "x")
    here = made.tip
    for _ in range(MANY):
        made.micro(["t0"])
    made.rewind(here)
    for number in range(1, MANY):
        made.read(f"t{number}", "a", "x")
    found = records(made.write(tmp_path / "s1.jsonl"))
    assert len(of(Emission, found)) == MANY
    assert len(of(Boundary, found)) == MANY
    assert looked_at == []


def test_compactions_that_keep_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "SEGMENT_LEAST", 0)
    made = Transcript()
    first = made.user("hi")
    for number in range(MANY):
        made.read(f"t{number}", "a", "x")
        made.compact(segment=(first, made.tip or ""))
    boundaries = of(Boundary, records(made.write(tmp_path / "s1.jsonl")))
    assert sum(len(boundary.kept) for boundary in boundaries) <= (1 + tree.SEGMENT_EASE) * MANY


def test_summaries_that_keep_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "KEPT_LEAST", 0)
    items = []
    for number in range(MANY):
        items += docker_agent.read(f"c{number}", "a", "x", number)
        items += [docker_agent.summary("s", first_kept_entry=1), docker_agent.summary("t")]
    path = docker_agent.export(tmp_path / "a.json", docker_agent.session("d", items))
    found = docker_agent.records(path)
    emissions = of(Emission, found)
    assert sum(not emission.is_return for emission in emissions) == MANY
    kept = sum(len(boundary.kept) for boundary in of(Boundary, found))
    assert kept + len(emissions) <= (3 + thread.KEPT_EASE) * MANY


def test_a_broken_line_of_open_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    class Counting:
        def raw_decode(self, line: str, at: int) -> tuple[Any, int]:
            parsed.append(len(line) - at)
            return decoder.raw_decode(line, at)

    decoder = lines.JSON_DECODER
    monkeypatch.setattr(lines, "JSON_DECODER", Counting())
    made = Transcript()
    made.user("hi")
    broken = '{"type":"user","uuid":"u","x":' + '{"a":' * 300 + "[" + "1," * 10_000
    made.raw(broken)
    # what is whole at its end is found all the same (P01)
    made.raw('{"a":' * 100 + made.lines()[0].replace("u1", "u2"))
    found = records(made.write(tmp_path / "s1.jsonl"))
    assert [turn.line for turn in of(Turn, found)] == [1, 3]
    assert [record.line for record in of(Skipped, found)] == [2, 3]
    assert sum(parsed) <= (3 + lines.SALVAGE_WORK) * len(broken)


def test_very_many_values_on_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_VALUES", 2)
    made = Transcript()
    made.user("hi")
    made.raw("".join(made.lines()[0].replace("u1", f"v{number}") for number in range(4)))
    found = records(made.write(tmp_path / "s1.jsonl"))
    assert Counter(type(record).__name__ for record in found)["Turn"] == 3
    assert [record.reason for record in of(Skipped, found)] == ["more than 2 values on one line"]


def test_long_paths_that_share_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    parts = text._parts

    def counted(path: str) -> list[str]:
        calls.append(path)
        return parts(path)

    monkeypatch.setattr(text, "_parts", counted)
    end = "/a" * MANY
    short = text.short_paths(["/x" + end, "/y" + end, "z"])
    assert short == {"/x" + end: "x" + end, "/y" + end: "y" + end, "z": "z"}
    assert len(calls) == 3


def test_very_many_values_in_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MANY_VALUES", 100)
    monkeypatch.setattr(lines, "LONG_LINE", 100)
    made = Transcript()
    made.user("{}," * 200)
    made.row("user", message={"role": "user", "content": [{}] * 200})
    found = records(made.write(tmp_path / "s1.jsonl"))
    assert [record.line for record in of(Turn, found)] == [1]
    assert [(record.line, record.reason) for record in of(Skipped, found)] == [
        (2, "more than 1,000,000 values")
    ]
    whole = docker_agent.session("d", docker_agent.read("c", "a", "{}," * 200, 1))
    assert docker_agent.claims(docker_agent.export(tmp_path / "a.json", whole))
    bomb = docker_agent.session("d", docker_agent.read("c", "a", "x", 1), more=[{}] * 200)
    assert not docker_agent.claims(docker_agent.export(tmp_path / "b.json", bomb))


def test_companions_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "CHUNK_BYTES", 7)
    made = Transcript()
    made.read("t1", "a", "x")
    path = made.write(tmp_path / "s1.jsonl")
    agent = Transcript(agent="a1", prefix="v")
    agent.read("t2", "a", "x")
    folder = tmp_path / "s1" / "subagents"
    agent.write(folder / "agent-a1.jsonl")
    (folder / "journal.jsonl").write_text('{"type":"a","n":123456789}\n\n  \n{"b":2}\n   {"c":3}')
    (folder / "agent-a1.meta.json").write_text('{"agentType":"' + "x" * 3000 + '"}')
    found = records(path, max_line_bytes=2000)
    assert of(Ignored, found) == [Ignored(str(folder / "journal.jsonl"), "workflow journal", 3)]
    assert [record.reason for record in of(Skipped, found)] == ["cannot be read: longer than 2000 bytes"]
    assert len(of(Emission, found)) == 2


def test_one_file_that_is_read_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Transcript()
    made.user("hi")
    for number in range(MANY):
        made.read(f"t{number}", "a", "x" * 300, f"m{number * 2 // MANY}")
    with open_store(":memory:") as store:
        import_paths(store, [made.write(tmp_path / "s1.jsonl")], environment={})
        for command in (top, observed):
            assert most_rows(store, command, monkeypatch) <= 20 * MANY, command


def most_rows(store: Store, command: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """The most rows that any step of any query puts out; versions of DuckDB differ in the word for it."""
    query = Store.query
    asked: list[tuple[Any, ...]] = []

    def noted(self: Store, *said: Any) -> Any:
        asked.append(said)
        return query(self, *said)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "query", noted)
        command(store)
    plans = [
        query(store, f"explain (analyze, format json) {text}", *values)[0][1]
        for text, *values in asked
        if text.split()[0] in {"select", "with"}
    ]
    assert plans
    rows = [
        int(rows)
        for plan in plans
        for rows in re.findall(r'"(?:intermediate_rows|operator_cardinality)": (\d+)', plan)
    ]
    return max(rows)
