"""Stores with nothing to answer from, windows without rows, and files that are none: a line, and no hang."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command import run
from support.pipeline import Log

from dedupstats import import_paths, open_store

RTK = Path(__file__).parents[2] / "sample_data" / "rtk"
NOWHEN = ("--since", "2001-01-01", "--until", "2001-01-02")
QUESTIONS = [
    ("rates",),
    ("spend",),
    ("top",),
    ("observed",),
    ("context",),
    ("simulate",),
    ("explain", "--stubs"),
    ("explain", "--verdict", "sound"),
    ("explain", "toolu_1"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nothing")
    with open_store(folder / "empty.duckdb"):
        pass
    with open_store(folder / "rtk.duckdb") as store:
        import_paths(store, [RTK], environment={})
    log = Log()
    log.user("go")
    log.read("r", "/home/u/p/a.py", "text " * 100)
    log.say("done", "m2")
    with open_store(folder / "log.duckdb") as store:
        import_paths(store, [log.write(folder / "s1.jsonl")], environment={})
    return folder


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_an_empty_store_is_refused_in_a_line_with_what_to_type(
    folder: Path, question: tuple[str, ...]
) -> None:
    ran = run(*question, "--db", str(folder / "empty.duckdb"))
    assert (ran.code, ran.out) == (3, "")
    message, hint = ran.err.splitlines()
    assert " holds no " in message
    assert "type `dedupstats import`" in hint


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_rtk_rows_alone_are_refused_where_they_answer_nothing(
    folder: Path, question: tuple[str, ...]
) -> None:
    ran = run(*question, "--db", str(folder / "rtk.duckdb"))
    if question == ("observed",):
        # what RTK's history tells of recoveries is an answer
        assert ran.code == 0
        assert "RTK's own history: " in ran.out
        return
    assert (ran.code, ran.out) == (3, "")
    message, hint = ran.err.splitlines()
    assert "RTK" in message
    assert "`dedupstats import PATH`" in hint


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("rates", "No tool result lies in this window."),
        ("top", "No tool result lies in this window."),
        ("simulate", "No tool result lies in this window."),
        ("spend", "No request lies in this window."),
        ("observed", "No marker lies in this window."),
    ],
)
def test_a_window_without_rows_is_an_answer(folder: Path, question: str, words: str) -> None:
    ran = run(question, *NOWHEN, "--db", str(folder / "log.duckdb"))
    assert (ran.code, ran.err) == (0, "")
    assert words in ran.out
    for form in ("csv", "json"):
        assert run(question, *NOWHEN, "--format", form, "--db", str(folder / "log.duckdb")).code == 0


@pytest.fixture(params=["folder", "pipe"])
def no_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "thing.toml"
    if request.param == "folder":
        path.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        pytest.skip("no named pipes here")
    return path


@pytest.mark.parametrize(
    "question",
    [("simulate", "--tools"), ("explain", "--stubs", "--tools"), ("decide", "--policy", "rtk")],
    ids=" ".join,
)
def test_what_is_no_file_is_refused_before_it_is_opened(
    folder: Path, no_file: Path, question: tuple[str, ...]
) -> None:
    store = () if question[0] == "decide" else ("--db", str(folder / "log.duckdb"))
    ran = run(*question, str(no_file), *store)
    assert (ran.code, ran.out) == (3, "")
    message, hint = ran.err.splitlines()
    assert f"cannot read {no_file}: it is " in message
    assert hint.strip().startswith("name a ")


def test_prices_that_are_no_file_are_refused(
    folder: Path, no_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUPSTATS_PRICES", str(no_file))
    ran = run("spend", "--db", str(folder / "log.duckdb"))
    assert ran.code == 3
    assert f"cannot read {no_file}: it is " in ran.err
