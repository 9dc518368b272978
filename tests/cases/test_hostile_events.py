"""Events that are made to fill the memory, to break the reader, or to write on somebody's terminal."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.command import run

from dedupstats.simulate import vectors

if TYPE_CHECKING:
    from pathlib import Path

CALL = {"event": "result", "session": "s", "tool": "t", "read_only": True, "args": {}, "payload": "x"}
FILL = {**CALL, "event": "fill", "over": "args", "count": 1}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({**FILL, "count": 10**9}, "a fill of 1,000,000,000 is too many"),
        ({**FILL, "count": 10**30}, "a fill of 1,000"),
        ({**CALL, "payload": {"repeat": "x", "times": 10**9}}, "a payload of 1000000000 characters"),
        ({**FILL, "over": "\ud800"}, "half of a pair of surrogates"),
    ],
)
def test_one_line_and_no_more(tmp_path: Path, event: dict[str, Any], said: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(event) + "\n")
    ran = run("decide", "--policy", "docker-agent", str(path))
    assert ran.code == 3
    assert ran.err.startswith(f"dedupstats: {path} line 1: ")
    assert said in ran.err


def test_nothing_very_often_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({**CALL, "payload": {"repeat": "", "times": 10**30}}) + "\n")
    assert run("decide", "--policy", "docker-agent", str(path)).code == 0


def test_many_fills_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupstats.simulate.events._MAX_RESULTS", 10)
    path = tmp_path / "events.jsonl"
    path.write_text((json.dumps({**FILL, "count": 6}) + "\n") * 2)
    assert "line 2: a fill of 6 is too many" in run("decide", "--policy", "docker-agent", str(path)).err


def test_a_small_file_that_unpacks_to_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LONGEST", 1 << 20)
    for name, data in (("a", gzip.compress(b"\n" * (1 << 24))), ("b", b"\n" * (1 << 21))):
        (tmp_path / name).write_bytes(data)
        ran = run("decide", "--check", str(tmp_path / name))
        assert (ran.code, "holds more than 1 MiB" in ran.err) == (3, True)


def test_names_are_shown_as_text(tmp_path: Path) -> None:
    name = "a\x1b[2Jb\u202e"
    vector = {"name": name, "engine": "docker-agent:v2", "events": [CALL], "expect": [{}]}
    for number, given in enumerate([vector, {**vector, "engine": name}, {**vector, "params": {name: 1}}]):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(given))
        ran = run("decide", "--check", str(path))
        assert ran.code in {1, 3}
        assert not {"\x1b", "\u202e"} & {*ran.out, *ran.err}
