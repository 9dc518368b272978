"""Paths that a shell hands over and no program expects: one line says so, whatever the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import rtk
from support.command import run

from dedupstats import import_paths, open_store

NOBODY = "~no-such-user"
NO_UTF8 = "a\udcff"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    row = rtk.Command("2026-03-01T09:00:00+00:00", "git status", "rtk git status", 100, 40)
    rtk.write_history(tmp_path / "history.db", commands=[row])
    with open_store(tmp_path / "s.duckdb") as store:
        import_paths(store, [tmp_path / "history.db"])
    return str(tmp_path / "s.duckdb")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "--format", "md", "-o", f"{NOBODY}/r.md"),
        ("sql", "from unit", "-o", f"{NOBODY}/r.csv"),
        ("export", f"{NOBODY}/out"),
        ("import", "history.db", "--db", f"{NOBODY}/s.duckdb"),
        ("report", "--db", f"{NOBODY}/s.duckdb"),
    ],
)
def test_a_home_that_is_not_there(db: str, arguments: tuple[str, ...]) -> None:
    before = sorted(Path().iterdir())
    ran = run(*arguments, *(() if "--db" in arguments else ("--db", db)))
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"dedupstats: there is no home folder {NOBODY}")
    assert sorted(Path().iterdir()) == before


def test_a_home_that_is_not_there_in_the_environment(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEDUPSTATS_DB", f"{NOBODY}/s.duckdb")
    assert run("report").code == 2
    assert run("import", f"{NOBODY}/logs", "--db", db).code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "history.db", "--db", f"{NO_UTF8}.duckdb"),
        ("export", NO_UTF8),
    ],
)
def test_a_name_that_is_no_utf8(db: str, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, *(() if "--db" in arguments else ("--db", db)))
    assert ran.code == 2
    assert ran.err.startswith("dedupstats: the name of ")
    assert "Traceback" not in ran.err


def test_a_store_whose_name_is_no_utf8_is_not_read(db: str) -> None:
    Path(db).rename(f"{NO_UTF8}.duckdb")
    ran = run("report", "--db", f"{NO_UTF8}.duckdb")
    assert (ran.code, ran.err.startswith("dedupstats: the name of ")) == (2, True)
