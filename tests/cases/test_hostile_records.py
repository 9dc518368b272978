"""Records that are made to break a reader: each costs itself, never its file, never the import."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import Transcript
from support.command import run

from dedupstats import import_paths
from dedupstats.report.build import build
from dedupstats.sources.base import DEAREST, LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.store import Store

HOSTILE = {
    "400 digits": "9" * 400,
    "5,000 digits": "9" * 5000,
    "beyond a float": "1e999",
    "no number": "NaN",
    "negative": "-1",
    "nested": "[" * 985 + "]" * 985,
    "a list": '[1,{"type":"text"}]',
    "half a pair": '"\\ud800"',
}
HERE = "@here@"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values inside a JSON value."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield (*path, name)
        yield from places(member, (*path, name))


def put(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy of a JSON value with a mark at one place."""
    if not path:
        return HERE
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(value[path[0]], path[1:])
    return changed


def variants(value: Any, text: str) -> Iterator[str]:
    """The JSON of a value, once for each place inside it, with another text there."""
    for path in places(value):
        yield json.dumps(put(value, path)).replace(f'"{HERE}"', text)


def transcript() -> Transcript:
    """A row of each kind, with a block that is no text."""
    made = Transcript()
    made.user("hi")
    made.call("t1", "Read", {"file_path": "a", "limit": 3}, costUSD=1.5)
    made.result("t1", [{"type": "text", "text": "x"}, {"type": "image", "source": {"n": 1}}])
    made.attachment("file", filename="a", content={"file": {"content": "abc", "n": 1}})
    made.micro(["t1"])
    made.compact(["u2"])
    return made


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_value_of_a_transcript_costs_at_most_its_row(tmp_path: Path, store: Store, text: str) -> None:
    lines = transcript().lines()
    for number, line in enumerate(lines):
        for place, other in enumerate(variants(json.loads(line), text)):
            path = tmp_path / f"{number}-{place}.jsonl"
            path.write_text("\n".join([*lines[:number], other, *lines[number + 1 :], ""]))
    summary = import_paths(store, [tmp_path])
    assert summary.unreadable == []
    assert summary.unrecognised == []
    assert store.query("select max(skipped), min(records) from file") == [(1, len(lines))]


@pytest.mark.parametrize("text", [text for name, text in HOSTILE.items() if name != "nested"])
def test_a_value_of_an_export_costs_at_most_its_item(tmp_path: Path, store: Store, text: str) -> None:
    items = [
        docker_agent.user("hi", 1),
        docker_agent.assistant(2, ("c1", "shell", '{"cmd":"ls"}'), usage={"input_tokens": 5}, cost=0.1),
        docker_agent.result("c1", "x", 3, multi_content=[{"type": "text", "text": "x"}, {"n": 1}]),
        docker_agent.summary("s", cost=0.2, usage={"input_tokens": 1}, first_kept_entry=1),
    ]
    export = docker_agent.session("d", items)
    number = 0
    for item_number, item in enumerate(items):
        for place in places(item["message"].get("message", {}) if "message" in item else item):
            inner = ("message", "message", *place) if "message" in item else place
            if inner[-1] in {"role", "summary"}:
                continue  # what makes it an item at all
            number += 1
            other = json.dumps(put(export, ("messages", item_number, *inner)))
            (tmp_path / f"{number}.json").write_text(other.replace(f'"{HERE}"', text))
    summary = import_paths(store, [tmp_path])
    assert summary.unreadable == []
    assert summary.unrecognised == []
    assert store.query("select max(skipped), min(records) from file") == [(0, len(items))]


def test_a_row_that_breaks_its_reader_says_so(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The net under everything that nobody has thought of."""
    monkeypatch.setattr("dedupstats.sources.claude_code.arrivals.measure", lambda *_: 1 // 0)
    monkeypatch.setattr("dedupstats.sources.docker_agent.thread.measure", lambda *_: 1 // 0)
    transcript().write(tmp_path / "s1.jsonl")
    items = docker_agent.read("c1", "a", "x", 1)
    docker_agent.database(tmp_path / "session.db", 38, docker_agent.session("d", items))
    assert import_paths(store, [tmp_path]).unreadable == []
    assert store.query("select line, reason from skipped order by all") == [
        (2, "session d: not understood (ZeroDivisionError: integer division or modulo by zero)"),
        (3, "not understood (ZeroDivisionError: integer division or modulo by zero)"),
    ]


def test_a_file_that_breaks_the_recognition_is_named(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupstats.sources.claude_code._is_row", lambda _: 1 // 0)
    transcript().write(tmp_path / "s1.jsonl")
    docker_agent.database(tmp_path / "session.db", 38, docker_agent.session("d", []))
    summary = import_paths(store, [tmp_path])
    assert [reason[:14] for _, reason in summary.unreadable] == ["not understood"]
    assert summary.files == {"docker_agent": 1}


def test_verbose_says_where_a_reader_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Iterator[Any]:
        message = "odd\x1b[2J"
        raise ZeroDivisionError(message)
        yield

    monkeypatch.setattr("dedupstats.sources.claude_code.ClaudeCode.read", failing)
    transcript().write(tmp_path / "s1.jsonl")
    docker_agent.database(tmp_path / "session.db", 38, docker_agent.session("d", []))
    db = ("--db", str(tmp_path / "s.duckdb"))
    ran = run("import", "--verbose", str(tmp_path), *db)
    assert ran.code == 0
    assert f"not understood: {tmp_path}/s1.jsonl:\nTraceback (most recent call last):" in ran.err
    assert "in failing" in ran.err
    assert "\x1b" not in ran.err
    assert "Traceback" not in run("import", str(tmp_path), *db).err


@pytest.mark.parametrize("price", [DEAREST, 10**400, float("inf"), float("nan"), -1])
def test_a_price_that_is_none(tmp_path: Path, store: Store, price: float) -> None:
    made = transcript()
    made.say("dear", costUSD=price)
    made.say("cheap", costUSD=0.25)
    made.write(tmp_path / "s1.jsonl")
    import_paths(store, [tmp_path])
    assert store.query("select line, reason from skipped") == [(8, "costUSD is no price")]
    assert store.query("select sum(cost_usd) from request") == [(1.75,)]


def test_counts_beyond_all_sense_are_none(tmp_path: Path, store: Store) -> None:
    made = transcript()
    made.call("t2", "Read", {}, usage=(LARGEST, LARGEST - 1, 7, 10**400))
    made.write(tmp_path / "s1.jsonl")
    import_paths(store, [tmp_path])
    assert store.query(
        "select input_tokens, cache_write_5m_tokens, cache_read_tokens, output_tokens from request "
        "where line = 8"
    ) == [(0, LARGEST - 1, 7, 0)]


# -- very many -----------------------------------------------------------------------------------------------


def test_very_many_records_that_cannot_be_used(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupstats.sources.base.SHOWN_FAULTS", 2)
    made = transcript()
    for _ in range(5):
        made.raw("{")
    made.write(tmp_path / "a.jsonl")
    items = [docker_agent.item({"role": "user"})] + [{"message": {"message": []}}] * 5
    docker_agent.database(tmp_path / "b.db", 10, docker_agent.session("d", items))
    bad = rtk.Command("2026-03-01T09:00:00+00:00", "ls", "rtk ls", "x", "x")
    rtk.write_history(tmp_path / "c.db", commands=[bad] * 5)
    summary = import_paths(store, [tmp_path])
    assert summary.skipped == 15
    found = store.query("select path, line, records, reason from skipped order by path, line")
    lines = {"a.jsonl": (8, 9, 10), "b.db": (1, 2, 3), "c.db": (1, 2, 3)}
    assert [row[:3] for row in found] == [
        (str(tmp_path / name), line, 3 if line == third else 1)
        for name, (first, second, third) in lines.items()
        for line in (first, second, third)
    ]
    assert {row[3] for row in found if row[2] == 3} == {"3 further records of this file"}
    assert build(store).corpus.skipped == 15
    assert import_paths(store, [tmp_path]).skipped_before == 15


def test_very_many_types_and_very_long_ones(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupstats.ingest.write.IGNORED_TYPES", 2)
    made = transcript()
    for kind in ("a", "b", "c" * 300, "d", "d"):
        made.raw({"type": kind})
    made.write(tmp_path / "a.jsonl")
    import_paths(store, [tmp_path])
    assert store.query("select type, records from ignored order by all") == [
        ("(other types)", 3),
        ("a", 1),
        ("b", 1),
    ]


def test_a_long_reason_is_cut(tmp_path: Path, store: Store) -> None:
    session = docker_agent.session("d" * 10_000, [{"message": {"message": []}}, docker_agent.user("x", 1)])
    docker_agent.database(tmp_path / "b.db", 10, session)
    import_paths(store, [tmp_path])
    ((reason,),) = store.query("select reason from skipped")
    assert len(reason) == 501
