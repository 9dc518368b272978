"""`dedupstats import` as a person types it: what it says, where, and with which exit status."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import docker_agent, rtk
from support.claude import Transcript
from support.command import run

from dedupstats import open_store

if TYPE_CHECKING:
    from support.command import Ran

X = "x" * 300


def log(session: str, *texts: str) -> Transcript:
    made = Transcript(session)
    for number, text in enumerate(texts, 1):
        made.read(f"{session}-t{number}", f"/home/u/p/{session}", text, f"m-{session}-{number}")
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, from where nothing else is reached."""
    for name in list(os.environ):
        if name.startswith(("XDG_", "CLAUDE_", "DEDUPSTATS_", "RTK_")):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "a.duckdb")


def without_time(text: str) -> list[str]:
    return re.sub(r"\(\d+\.\d s\)", "(0.0 s)", text).splitlines()


def refused(ran: Ran, first: str, hint: str) -> None:
    lines = ran.err.splitlines()
    assert (ran.code, ran.out) == (3, ""), ran
    assert (lines[-2], lines[-1].strip()) == (f"dedupstats: {first}", hint)


HINT = "name a file or folder: dedupstats import PATH (reads logs of Claude Code, docker-agent, RTK)"


# -- what it says --------------------------------------------------------------------------------------------


def test_what_was_found_where_and_how_much(home: Path, db: str) -> None:
    projects = home / ".claude" / "projects"
    log("s1", X, X).write(projects / "p" / "s1.jsonl")
    log("s2", X).write(projects / "p" / "s2.jsonl")
    (projects / "p" / "notes.md").write_text("# Notes")
    (projects / "p" / "history.jsonl").write_text('{"display":"fix it"}\n')
    (home / ".cagent").mkdir()
    docker_agent.database(
        home / ".cagent" / "session.db", 38, docker_agent.session("d", docker_agent.read("c", "a", X, 1))
    )
    size = sum(path.stat().st_size for path in projects.rglob("s?.jsonl")) / 1000
    first = run("import", "--db", db)
    database = (home / ".cagent" / "session.db").stat().st_size / 1000
    assert without_time(first.out) == [
        f"~/.claude/projects    2 files, {size:.2f} kB",
        f"~/.cagent/session.db  1 file, {database:.1f} kB",
        f"Claude Code: 2 files, {size:.2f} kB; 2 logs read, 3 tool results",
        f"docker-agent: 1 file, {database:.1f} kB; 1 log read, 1 tool result",
        "8 records = 8 used + 0 copies + 0 ignored by type + 0 skipped (0.0 s)",
    ]
    assert first.err.splitlines() == [
        "1 file not recognised as a log; --verbose names it",
        "Claude Code deletes its logs after 30 days (cleanupPeriodDays); what is imported stays",
    ]
    again = run("import", "--db", db)
    assert without_time(again.out)[2:] == [
        f"Claude Code: 2 files, {size:.2f} kB; 2 logs unchanged",
        f"docker-agent: 1 file, {database:.1f} kB; 1 log unchanged",
        "Nothing new (0.0 s)",
    ]
    assert again.err.splitlines() == ["1 file not recognised as a log; --verbose names it"]


def test_faults_are_counted_and_named_when_asked_for(home: Path, db: str) -> None:
    path = log("s1", X).write(home / "s1.jsonl")
    with path.open("a") as more:
        more.write('[]\n{"type":"zz-new"}\n{"type":"user","uu')
    (home / "x.json").write_text("[1]")
    (home / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    ran = run("import", str(home), "--db", db)
    assert (
        without_time(ran.out)[-1] == "4 records = 2 used + 0 copies + 1 ignored by type + 1 skipped (0.0 s)"
    )
    lines = ran.err.splitlines()
    assert lines[0].startswith(f"not readable: {home}/broken.db: damaged SQLite file")
    assert lines[1:4] == [
        "1 file not recognised as a log; --verbose names it",
        '1 record skipped; see: dedupstats sql "from skipped order by all"',
        "1 last line is still being written; the next import takes it",
    ]
    named = run("import", str(home), "--db", db, "--verbose", "--force").err.splitlines()
    assert f"  not recognised: {home}/x.json" in named
    assert f"skipped: {path}:3: not an object but list" in named
    assert ran.code == 0
    # a file that could not be read is no record, here and in every later count
    assert "1 record was skipped when read and 1 file could not be read: " in run("rates", "--db", db).out
    assert "1 record skipped, 1 file not readable." in run("report", "--db", db, "--brief").out
    page = run("report", "--db", db, "--format", "md").out
    assert "- 1 file could not be read: below, without a line." in page


def test_strict_refuses_what_was_skipped(home: Path, db: str) -> None:
    path = log("s1", X).write(home / "s1.jsonl")
    assert run("import", str(path), "--db", db, "--strict").code == 0
    with path.open("a") as more:
        more.write("[]\n")
    ran = run("import", str(path), "--db", db, "--strict")
    assert (ran.code, ran.err.splitlines()[-2]) == (1, "dedupstats: 1 record skipped, 0 files not readable")
    again = run("import", str(path), "--db", db, "--strict")
    said = "dedupstats: 1 record skipped by an earlier import, 0 files not readable"
    assert (again.code, again.err.splitlines()[-2]) == (1, said)
    other = log("s2", X).write(home / "s2.jsonl")
    assert run("import", str(other), "--db", db, "--strict").code == 0, "the other log is not in scope"
    with other.open("a") as more:
        more.write("[]\n[]\n")
    both = run("import", str(home), "--db", db, "--strict")
    said = "dedupstats: 3 records skipped (1 of them by an earlier import), 0 files not readable"
    assert (both.code, both.err.splitlines()[-2]) == (1, said)
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*) from emission") == [(2,)], "what is sound is imported"


def test_records_and_no_result(home: Path, db: str) -> None:
    """Fault case P22: a confident zero."""
    made = Transcript()
    made.user("hi")
    made.say("hello")
    made.raw(json.dumps({"type": "zz-new", "uuid": "z1", "sessionId": "s1"}))
    made.write(home / "s1.jsonl")
    ran = run("import", str(home), "--db", db)
    assert ran.code == 0
    assert (
        "3 records read, but no tool result among them: 2 used for other than results (messages, requests), "
        '1 ignored by type; see: dedupstats sql "from ignored order by all"'
    ) in ran.err
    rtk.write_history(
        home / "history.db", commands=[rtk.Command("2026-03-01T09:00:00+00:00", "ls", "rtk ls", 9, 4)]
    )
    assert "no tool result" not in run("import", str(home / "history.db"), "--db", db).err


def test_names_cannot_move_the_cursor(home: Path, db: str) -> None:
    (home / "a\x1b[2Jb\n.json").write_text("[]")
    ran = run("import", str(home), "--db", db, "-v")
    assert "a\\x1b[2Jb\\n.json" in ran.err
    assert "\x1b" not in ran.out + ran.err


# -- nothing to read -----------------------------------------------------------------------------------------


def test_nothing_in_the_default_places(home: Path, db: str) -> None:
    (home / ".claude" / "projects").mkdir(parents=True)
    places = (
        "~/.claude/projects (no logs in it), ~/.config/claude/projects, ~/.cagent/session.db, "
        "~/.cagent/session.db.bak, ~/.local/share/rtk/history.db, ./rtk/history.db"
    )
    refused(run("import", "--db", db), f"no agent logs in the default places: {places}", HINT)
    refused(run("--db", db), f"no agent logs in the default places: {places}", HINT)


@pytest.mark.parametrize("arguments", [(), ("import",), ("import", "nowhere")])
@pytest.mark.usefixtures("home")
def test_an_import_of_nothing_leaves_no_store_behind(db: str, arguments: tuple[str, ...]) -> None:
    assert run("--db", db, *arguments).code == 3
    assert not Path(db).exists()


def test_nothing_there_any_more_is_no_error(home: Path, db: str) -> None:
    path = log("s1", X).write(home / ".claude" / "projects" / "p" / "s1.jsonl")
    run("import", "--db", db)
    path.unlink()
    ran = run("import", "--db", db)
    assert (ran.code, ran.err.splitlines()) == (
        0,
        ["1 file gone since the last import (1 in all); the figures stay"],
    )
    assert ran.out.splitlines()[0].split() == ["~/.claude/projects", "0", "files,", "0", "B"]


def test_nothing_in_a_folder(home: Path, db: str) -> None:
    (home / "notes.md").write_text("# Notes")
    (home / "x.json").write_text("[]")
    (home / "empty").mkdir()
    refused(
        run("import", str(home), "--db", db), "no agent logs there (2 files looked at, none recognised)", HINT
    )
    refused(
        run("import", "empty", "--db", db), "no agent logs there (0 files looked at, none recognised)", HINT
    )
    log("s1", X).write(home / "s1.jsonl")
    run("import", "s1.jsonl", "--db", db)
    refused(
        run("import", "empty", "--db", db), "no agent logs there (0 files looked at, none recognised)", HINT
    )


def test_a_path_that_does_not_exist(home: Path, db: str) -> None:
    log("s1", X).write(home / "s1.jsonl")
    refused(
        run("import", "s1.jsonl", "nowhere", "--db", db),
        "no such file or folder: nowhere",
        "check the spelling, or leave it out",
    )


def test_only_files_that_cannot_be_read(home: Path, db: str) -> None:
    (home / "a.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    ran = run("import", "a.db", "--db", db)
    assert ran.err.splitlines()[-2].startswith(
        f"dedupstats: nothing could be read: {home}/a.db: damaged SQLite"
    )
    assert ran.code == 3
    assert run("--db", db).code == 3, "and a store that knows no more than that is empty"


def test_pipes_and_sockets_do_not_hang(home: Path, db: str) -> None:
    os.mkfifo(home / "pipe.jsonl")
    docker_agent.database(
        home / "session.db", 38, docker_agent.session("d", docker_agent.read("c", "a", X, 1))
    )
    os.mkfifo(home / "session.db-wal")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.jsonl")
        ran = run("import", str(home), "--db", db)
    assert (ran.code, ran.err) == (0, "")
    assert "docker-agent: 1 file" in ran.out
    refused(
        run("import", "pipe.jsonl", "--db", db),
        "pipe.jsonl is neither a file nor a folder",
        "write what it holds to a file, and name that",
    )


# -- options -------------------------------------------------------------------------------------------------


def test_targets_and_content_are_stored_as_asked(home: Path, tmp_path: Path) -> None:
    log("s1", X).write(home / "s1.jsonl")
    stored = {}
    for option in ("--no-targets", "--keep-content", "--force"):
        db = str(tmp_path / f"{option}.duckdb")
        run("import", "s1.jsonl", "--db", db, option)
        with open_store(db, read_only=True) as store:
            stored[option] = store.query("select target, target_sha64 is not null, content from emission")
    assert stored == {
        "--no-targets": [(None, True, None)],
        "--keep-content": [("/home/u/p/s1", True, X)],
        "--force": [("/home/u/p/s1", True, None)],
    }
    db = str(tmp_path / "--force.duckdb")
    said = "1 unchanged log not read again: --force applies the options to them too\n"
    assert run("import", "s1.jsonl", "--db", db, "--no-targets").err == said
    assert run("import", "s1.jsonl", "--db", db, "--no-targets", "--force").err == ""
    with open_store(db, read_only=True) as store:
        assert store.query("select target from emission") == [(None,)]


def test_what_no_targets_leaves_out_and_what_it_keeps(home: Path, db: str) -> None:
    log("s1", X).write(home / "s1.jsonl")
    typed = rtk.Command(
        "2026-03-01T09:00:00+00:00", "./secret.sh", "rtk ./secret.sh", 9, 3, project_path="/home/u/shop"
    )
    rtk.write_history(home / "history.db", commands=[typed])
    assert run("import", str(home), "--db", db, "--no-targets").code == 0
    with open_store(db, read_only=True) as store:
        assert store.query("select path, project, target from emission") == [
            (f"{home}/s1.jsonl", "/home/u/p", None)
        ]
        assert store.query("select rtk_name, original, rtk, project from rtk_command") == [
            ("rtk (other)", None, None, "/home/u/shop")
        ]
    content = Path(db).read_bytes()
    assert b"secret.sh" not in content
    assert b"/home/u/p/s1" not in content
    shown = " ".join(re.sub("[^ -~]", " ", run("import", "--help").out).split())
    for kept in ("paths, commands, patterns, URLs", "hashes stay", "working directories"):
        assert kept in shown


def test_the_history_of_the_working_directory(home: Path, db: str) -> None:
    (home / "rtk").mkdir()
    commands = [rtk.Command("2026-03-01T09:00:00+00:00", "git log", "rtk git log", 9, 3)]
    rtk.write_history(home / "rtk" / "history.db", commands=commands)
    said = "./rtk/history.db of the working directory was taken: there is no other history of RTK here"
    bare = run("--db", db)
    assert (bare.code, said in bare.err.splitlines()) == (0, True)
    usual = home / ".local/share/rtk"
    usual.mkdir(parents=True)
    rtk.write_history(usual / "history.db", commands=[*commands, *commands])
    ran = run("import", "--db", db + "2")
    assert "./rtk" not in ran.out + ran.err
    assert "2 records = 2 used" in ran.out


def test_empty_files_are_nothing_to_wonder_at(home: Path, db: str) -> None:
    log("s1", X).write(home / "s1.jsonl")
    (home / "empty.jsonl").touch()
    (home / "empty.db").touch()
    for _ in range(2):
        assert "recognised" not in run("import", str(home), "--db", db).err


def test_longer_lines_are_skipped(home: Path, db: str) -> None:
    log("s1", X, "y" * 3_000_000).write(home / "s1.jsonl")
    ran = run("import", "s1.jsonl", "--db", db, "--max-line-mib", "1")
    assert "3 used" in ran.out
    assert "1 skipped" in ran.out
    assert "4 used" in run("import", "s1.jsonl", "--db", db, "--max-line-mib", "4", "--force").out
    assert run("import", "s1.jsonl", "--db", db, "--max-line-mib", "0").code == 2


def test_the_store_that_the_environment_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log("s1", X).write(home / "s1.jsonl")
    monkeypatch.setenv("DEDUPSTATS_DB", str(home / "below" / "x.duckdb"))
    assert run("import", "s1.jsonl").code == 0
    assert (home / "below" / "x.duckdb").exists()


# -- the terminal --------------------------------------------------------------------------------------------


def in_terminal(*arguments: str) -> tuple[str, str]:
    """Run the command with its stderr on a terminal; what it wrote to stdout, and to the terminal."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dedupstats", *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=False,
            env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        os.set_blocking(ours, False)
        return done.stdout.decode(), os.read(ours, 1_000_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_progress_bar_on_a_terminal_only(home: Path, db: str) -> None:
    log("s1", X).write(home / "s1.jsonl")
    out, shown = in_terminal("import", str(home), "--db", db, "--force")
    assert "Reading" in shown
    assert "Claude Code: 1 file" in out
    assert "\x1b" not in out
    piped = run("import", str(home), "--db", db, "--force")
    assert "Reading" not in piped.out + piped.err
