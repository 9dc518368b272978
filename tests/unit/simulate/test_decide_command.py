"""`dedupstats decide`: what is printed, and how it ends."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from support.command import run

CONFORMANCE = Path(__file__).parents[2] / "conformance"
EVENT = {
    "event": "result",
    "session": "s",
    "tool": "read_file",
    "category": "filesystem",
    "read_only": True,
    "args": {},
    "payload": {"repeat": "é", "times": 300},
}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(f"{json.dumps(EVENT)}\n" * 2, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("docker-agent", "653 vectors, 8957 decisions, all equal"),
        ("rtk", "553 vectors, 7197 decisions, all equal"),
        ("rtk-rewrite", "920 vectors, 920 decisions, all equal"),
        ("go-json", "252 vectors, 252 decisions, all equal"),
    ],
)
def test_the_recorded_decisions(name: str, last: str) -> None:
    ran = run("decide", "--check", str(CONFORMANCE / f"{name}.jsonl.gz"))
    assert (ran.code, ran.out, ran.err) == (0, f"{last}\n", "")


def test_one_line_of_json_per_result(events: Path) -> None:
    ran = run(
        "decide", "--policy", "docker-agent/v1", "--set", "min_bytes=600", str(events), encoding="ascii"
    )
    first, second = map(json.loads, ran.out.splitlines())
    assert first == {"elided": False, "marker": None, "shown_bytes": 600, "reason": "first"}
    assert second["marker"].startswith("[docker-agent] The read_file tool ran")
    assert (ran.code, ran.err) == (0, "")


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(EVENT).encode())))
    ran = run("decide", "--policy", "keep-all", "-")
    assert json.loads(ran.out)["reason"] == "kept"


def test_the_first_difference(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    vector = {
        "name": "mine",
        "engine": "ceiling",
        "params": {},
        "events": [EVENT],
        "expect": [{"elided": True}],
    }
    path.write_text(json.dumps(vector), encoding="utf-8")
    ran = run("decide", "--check", str(path))
    assert ran.code == 1
    assert ran.out.splitlines() == [
        'expected: {"elided": true}',
        'decided:  {"elided": false, "marker": null, "shown_bytes": 600, "reason": "first"}',
    ]
    assert f"first difference at {path} line 1 (mine), event 1" in ran.err


def test_options_do_not_change_vectors(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    vector = {"engine": "keep-all", "params": {}, "events": [EVENT]}
    path.write_text(f"{json.dumps(vector)}\n" * 2, encoding="utf-8")
    ran = run("decide", "--policy", "ceiling", str(path))
    assert [json.loads(line)["reason"] for line in ran.out.splitlines()] == ["kept", "kept"]
    assert ran.err == "vectors name their own engine and parameters: --policy and --set are not used\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "holds bare events: which policy is to decide?"),
        (["--set", "min_bytes=1"], 2, "--set needs --policy"),
        (["--policy", "celing"], 2, "did you mean ceiling?"),
        (["--policy", "rtk", "--set", "min_tokens=-1"], 2, "its range is whole numbers from 0"),
        (["--policy", "rtk"], 3, "line 1 does not tell what rtk:v2 needs: at, identity, raw_sha64"),
        (["--policy", "safe", "--check"], 2, "records no decisions to compare with"),
    ],
)
def test_what_is_wrong(events: Path, arguments: list[str], code: int, message: str) -> None:
    ran = run("decide", *arguments, str(events))
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize("name", ["nothing.jsonl", ""])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    ran = run("decide", str(tmp_path / name))
    assert ran.code == 3
    assert "cannot read " in ran.err
