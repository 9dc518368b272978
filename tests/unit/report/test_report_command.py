"""`dedupstats report` and a bare `dedupstats`: formats, files, scope, exit statuses."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from support.command import run
from support.pipeline import Log

from dedupstats.report import document
from dedupstats.store import open_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "DEDUPSTATS_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


def test_several_files_from_one_report(sample_store: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("r.html", "r.md", "r.json", "r.txt")]
    ran = run("report", "--db", str(sample_store), *(f"-o{file}" for file in files))

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == [f"Written {file}" for file in files]
    assert files[0].read_text().startswith("<!doctype html>")
    assert (
        files[1]
        .read_text()
        .startswith("## docker-agent v3 on 12 sessions of agent history: 6.2 % of tool-result ")
    )
    assert document.parse(files[2].read_bytes()).corpus.results == 224
    assert files[3].read_text().startswith("17.5 %")


def test_json_on_stdout_is_pure(sample_store: Path) -> None:
    # fault case U15: the samples have a skipped record
    ran = run("report", "--format", "json", "--db", str(sample_store))

    assert json.loads(ran.out)["corpus"]["skipped"] == 1


def test_the_demo_prints_its_screen_and_lists_what_was_skipped(sample_store: Path, tmp_path: Path) -> None:
    ran = run("--db", str(sample_store), "report", "--demo", "-o", str(tmp_path / "report.html"))

    assert ran.out.startswith("dedupstats demo: made-up logs")
    assert "Written" in ran.out
    with (tmp_path / "skipped.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["source"], row["line"]) for row in rows] == [("claude_code", "56")]


def test_colour_and_width_are_those_of_the_terminal(
    sample_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    database = str(sample_store)

    assert "\x1b[1m" in run("report", "--db", database, terminal=True).out
    assert "\x1b" not in run("report", "--db", database).out


def test_a_report_of_one_tool_names_it(sample_store: Path) -> None:
    ran = run("report", "--db", str(sample_store), "--tool", "Grep", "--format", "md")

    assert "- **tool**: Grep" in ran.out
    assert "--tool Grep" in ran.out
    assert "| Read |" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-o", "report.pdf"), 2, "cannot tell the format of report.pdf"),
        (("--brief", "--format", "json"), 2, "--brief is for Markdown and the terminal"),
        (("--tool", "Raed"), 2, "did you mean 'Read'?"),
        (("--agent", "codex"), 2, "no tool result of that agent"),
        (("--tz", "Mars/Olympus"), 2, "unknown time zone"),
        (("--db", "nowhere.duckdb"), 3, "no store at nowhere.duckdb"),
        (("-o", "no/such/folder/r.md"), 3, "cannot write no/such/folder/r.md"),
    ],
)
def test_wrong_use_is_one_line_and_a_hint(
    sample_store: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = run("report", "--db", str(sample_store), *arguments)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert ran.err.count("\n") == 2


def test_a_page_is_not_printed_to_a_terminal(sample_store: Path) -> None:
    assert run("report", "--db", str(sample_store), "--format", "html", terminal=True).code == 2


def test_an_empty_store_is_told_apart_from_a_report_about_nothing(tmp_path: Path, sample_store: Path) -> None:
    open_store(tmp_path / "empty.duckdb").close()
    empty = run("report", "--db", str(tmp_path / "empty.duckdb"))
    nothing = run("report", "--db", str(sample_store), "--since", "2030-01-01")

    assert empty.code == 3
    assert "is empty" in empty.err
    assert nothing.code == 0
    assert "In this scope (from 2030-01-01 00:00 (UTC)): no tool results: no data." in " ".join(
        nothing.out.split()
    )


def test_bare_imports_the_default_places_and_prints_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    log.read("t1", "/p/a", "x" * 300)
    log.read("t2", "/p/a", "x" * 300)
    log.write(tmp_path / ".claude" / "projects" / "-p" / "s1.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    ran = run("--db", str(tmp_path / "s.duckdb"))

    assert ran.code == 0
    assert ran.out.startswith("1 session, 2 tool results (600 B), 1 Mar 2026, in ")
    assert "50.0 % of tool-result bytes were repeats still visible to the model (1 of 2" in " ".join(
        ran.out.split()
    )


def test_bare_without_any_logs_names_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    ran = run("--db", str(tmp_path / "s.duckdb"))

    assert ran.code == 3
    assert "no agent logs in the default places" in ran.err
    assert ".claude" in ran.err
