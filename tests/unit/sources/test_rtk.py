"""The `rtk` source on small databases of every generation, and on what may be wrong with them."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.rtk import Command, Generation, add_commands, read_history, write_history

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import FileCount, Ignored, RtkCommand, RtkHookDecision, RtkOutput, Skipped
from dedupstats.sources.base import Claim, FileInfo, Names, Reading, Unit, hash64
from dedupstats.sources.measure import measure
from dedupstats.sources.probe import Probe
from dedupstats.sources.rtk import Rtk, _microseconds

STAMP = "2026-05-04T08:00:00+00:00"
STATUS = Command(STAMP, "git status", "rtk git status", 88, 22, 66, 7, "/home/u/p")
SESSION = "5f0c2b7e-0d1a-4b7e-9c55-0a1b2c3d4e5f"


def commands_of(path: Path, reading: Reading | None = None) -> list[RtkCommand]:
    return [record for record in read_history(path, reading) if isinstance(record, RtkCommand)]


def counts_of(path: Path) -> FileCount:
    (count,) = [record for record in read_history(path) if isinstance(record, FileCount)]
    return count


def claim(path: Path) -> Claim | None:
    with Probe(str(path), path.stat().st_size) as probe:
        return Rtk().claim(probe)


def sha64(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big", signed=True)


# --- What a row becomes ---------------------------------------------------------------------------------


def test_a_row(tmp_path: Path) -> None:
    path = write_history(tmp_path / "history.db", Generation.R044, [STATUS])
    names = Names()
    (row,) = commands_of(path, Reading(names))
    assert row == RtkCommand(
        row_key=hash64("rtk", str(path), "commands", "1"),
        native_id=1,
        copy_key=hash64("rtk", STAMP, "git status", "rtk git status", "88", "22", "/home/u/p"),
        at=int(datetime(2026, 5, 4, 8, tzinfo=UTC).timestamp()) * 10**6,
        stamp=STAMP,
        original_sha64=sha64(b"git status"),
        rtk_sha64=sha64(b"rtk git status"),
        rtk_name="rtk git",
        original="git status",
        rtk="rtk git status",
        is_read=False,
        is_recovery=False,
        input_tokens=88,
        output_tokens=22,
        saved_tokens=66,
        exec_ms=7,
        project_key=names.key("/home/u/p"),
        identity_bytes=10,
    )


@pytest.mark.parametrize("generation", Generation)
def test_every_generation(tmp_path: Path, generation: Generation) -> None:
    path = write_history(tmp_path / "any name", generation, [STATUS, STATUS])
    assert claim(path) == Claim(str(path))
    names = Names()
    rows = commands_of(path, Reading(names))
    assert [(row.native_id, row.output_tokens) for row in rows] == [(1, 22), (2, 22)]
    has_time, has_project = generation is not Generation.OLDEST, generation.name not in ("OLDEST", "TIMED")
    assert {row.exec_ms for row in rows} == {7 if has_time else None}
    assert {row.project_key for row in rows} == {names.key("/home/u/p") if has_project else None}
    assert counts_of(path) == FileCount(str(path), 2, 2, 0, 0, 0, False)


@pytest.mark.parametrize(
    ("stamp", "microseconds"),
    [
        ("2026-05-04T08:00:00+00:00", 0),
        ("2026-05-04T08:00:00.250+00:00", 250_000),
        ("2026-05-04T08:00:00.250001+00:00", 250_001),
        ("2026-05-04T08:00:00.250001999+00:00", 250_001),
        ("2026-05-04T08:00:00.5Z", 500_000),
        ("2026-05-04 08:00:00", 0),
        ("2026-05-04T10:30:00+02:30", 0),
    ],
)
def test_times_are_cut_to_microseconds(tmp_path: Path, stamp: str, microseconds: int) -> None:
    path = write_history(tmp_path / "history.db", commands=[STATUS._replace(timestamp=stamp)])
    (row,) = commands_of(path)
    assert (row.at, row.stamp) == (1_777_881_600_000_000 + microseconds, stamp)


@pytest.mark.parametrize(
    "stamp",
    ["", "yesterday afternoon", "2026-02-30T08:00:00+00:00", "2026-05-04", 1774325831733, b"\xff"],
)
def test_a_senseless_time_leaves_the_row_undated(tmp_path: Path, stamp: object) -> None:
    path = write_history(tmp_path / "history.db", commands=[STATUS._replace(timestamp=stamp)])
    (row,) = commands_of(path)
    assert row.at is None


@pytest.mark.parametrize(
    ("original", "rtk", "name", "identity"),
    [
        ("cat src/app.py", "rtk read", "rtk read", "read:src/app.py"),
        ("cat src/app.py", "rtk read src/app.py", "rtk read", "read:src/app.py"),
        ("cat caf\u00e9.md", "rtk read", "rtk read", "read:caf\u00e9.md"),
        ("cat a b.md", "rtk read", "rtk read", "read:a b.md"),
        ("cat - (stdin)", "rtk read -", "rtk read", "read:(stdin)"),
        ("git diff ", "rtk git diff ", "rtk git", "git diff "),
        ("grep -rn 'TODO' src", "rtk grep", "rtk grep", "grep -rn 'TODO' src"),
        ("rtk find . -name x", "rtk find", "rtk find", "find . -name x"),
        ("ls -la src", "rtk ls", "rtk ls", "ls -la src"),
        ("hostname", "rtk fallback: hostname", "rtk fallback:", "hostname"),
        ("git tag", "rtk:passthrough git tag", "rtk:passthrough git", "git tag"),
        ("readelf x", "rtk readelf x", "rtk readelf", "readelf x"),
    ],
)
def test_name_and_identity(tmp_path: Path, original: str, rtk: str, name: str, identity: str) -> None:
    commands = [STATUS._replace(original_cmd=original, rtk_cmd=rtk)]
    (row,) = commands_of(write_history(tmp_path / "history.db", commands=commands))
    assert (row.rtk_name, row.identity_bytes) == (name, len(identity.encode()))
    assert row.is_read == (name == "rtk read")
    assert not row.is_recovery


@pytest.mark.parametrize("rtk", ["rtk proxy cat a.py", "rtk bypass cat a.py"])
def test_recoveries(tmp_path: Path, rtk: str) -> None:
    commands = [STATUS._replace(original_cmd="cat a.py", rtk_cmd=rtk)]
    (row,) = commands_of(write_history(tmp_path / "history.db", commands=commands))
    assert (row.is_recovery, row.is_read) == (True, False)


def test_folders_as_windows_writes_them_and_none(tmp_path: Path) -> None:
    folders = ["\\\\?\\C:\\Code\\p", "", None]
    commands = [STATUS._replace(project_path=folder) for folder in folders]
    names = Names()
    rows = commands_of(write_history(tmp_path / "history.db", commands=commands), Reading(names))
    assert [row.project_key for row in rows] == [names.key("\\\\?\\C:\\Code\\p"), None, None]


def test_negative_savings_are_accepted(tmp_path: Path) -> None:
    commands = [STATUS._replace(input_tokens=10, output_tokens=14, saved_tokens=-4)]
    (row,) = commands_of(write_history(tmp_path / "history.db", commands=commands))
    assert row.saved_tokens == -4


def test_command_texts_are_left_out_on_demand(tmp_path: Path) -> None:
    path = write_history(tmp_path / "history.db", commands=[STATUS])
    (bare,) = commands_of(path, Reading(Names(), keep_targets=False))
    (full,) = commands_of(path)
    assert bare == full._replace(original=None, rtk=None)


@pytest.mark.parametrize(
    ("rtk", "name", "bare_name"),
    [
        ("rtk git status", "rtk git", "rtk git"),
        ("rtk read", "rtk read", "rtk read"),
        ("rtk proxy cat secret.txt", "rtk proxy", "rtk proxy"),
        ("rtk fallback: ./secret.sh", "rtk fallback:", "rtk fallback:"),
        ("rtk ./secret.sh (passthrough)", "rtk ./secret.sh", "rtk (other)"),
        ("rtk:passthrough ./secret.sh", "rtk:passthrough ./secret.sh", "rtk (other)"),
        ("rtk ", "rtk", "rtk (other)"),
    ],
)
def test_names_that_a_person_typed_are_left_out_on_demand(
    tmp_path: Path, rtk: str, name: str, bare_name: str
) -> None:
    path = write_history(tmp_path / "history.db", commands=[STATUS._replace(rtk_cmd=rtk)])
    (bare,) = commands_of(path, Reading(Names(), keep_targets=False))
    (full,) = commands_of(path)
    assert (full.rtk_name, bare.rtk_name) == (name, bare_name)
    assert (bare.is_read, bare.is_recovery) == (full.is_read, full.is_recovery)


def test_text_that_is_no_utf_8(tmp_path: Path) -> None:
    texts = [b"cat caf\xe9", b"cat caf\xe8"]
    commands = [STATUS._replace(original_cmd=text, rtk_cmd="rtk read") for text in texts]
    rows = commands_of(write_history(tmp_path / "history.db", commands=commands))
    assert [row.original_sha64 for row in rows] == [sha64(text) for text in texts]
    assert rows[0].copy_key != rows[1].copy_key
    assert [row.original for row in rows] == ["cat caf\\udce9", "cat caf\\udce8"]
    assert [row.identity_bytes for row in rows] == [len(b"read:caf\xe9")] * 2


# --- Rows that cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("input_tokens", "many", "commands: input_tokens is 'many', no whole number"),
        ("output_tokens", 1.5, "commands: output_tokens is 1.5, no whole number"),
        ("output_tokens", -1, "commands: output_tokens is -1, less than 0"),
        ("saved_tokens", b"\x00", "commands: saved_tokens is '\\x00', no whole number"),
        ("exec_time_ms", -7, "commands: exec_time_ms is -7, less than 0"),
    ],
)
def test_a_senseless_number(tmp_path: Path, column: str, value: object, reason: str) -> None:
    commands = [STATUS, STATUS._replace(**{column: value}), STATUS]
    path = write_history(tmp_path / "history.db", commands=commands)
    skipped = [record for record in read_history(path) if isinstance(record, Skipped)]
    assert skipped == [Skipped(str(path), 2, reason)]
    assert [row.native_id for row in commands_of(path)] == [1, 3]
    assert counts_of(path) == FileCount(str(path), 3, 2, 0, 0, 1, False)


def test_a_number_missing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "create table commands (id integer primary key, timestamp, original_cmd, rtk_cmd, input_tokens,"
            " output_tokens, saved_tokens)"
        )
        database.execute(
            "insert into commands values (4, ?, 'ls', 'rtk ls', 1, NULL, 0), (5, ?, NULL, NULL, 1, 1, 0)",
            (STAMP, STAMP),
        )
        database.commit()
    skipped = [record for record in read_history(path) if isinstance(record, Skipped)]
    assert skipped == [Skipped(str(path), 4, "commands: output_tokens is None, no whole number")]
    assert [row.original for row in commands_of(path)] == [""]


# --- Other tables ---------------------------------------------------------------------------------------


def test_the_ledger(tmp_path: Path) -> None:
    text = "some raw output\n"
    sha = hashlib.sha256(text.encode()).hexdigest()
    good = (SESSION, sha, "read:a.py", 310, 191, 2, 5, STAMP, "2026-05-04T08:00:00.778533999+00:00")
    rows = [good, (SESSION, "no hash", *good[2:]), (*good[:6], 0, *good[7:])]
    path = write_history(tmp_path / "history.db", Generation.PR2937, session_outputs=rows)
    names = Names()
    records = read_history(path, Reading(names))
    assert [record for record in records if isinstance(record, RtkOutput)] == [
        RtkOutput(
            row_key=hash64("rtk", str(path), "session_outputs", "1"),
            native_id=1,
            session_key=names.key(SESSION),
            content_sha64=measure(text).sha64,
            identity_sha64=sha64(b"read:a.py"),
            output_tokens=310,
            line_count=191,
            step=2,
            emit_count=5,
            first_at=1_777_881_600_000_000,
            last_at=1_777_881_600_778_533,
        )
    ]
    assert [record for record in records if isinstance(record, Skipped)] == [
        Skipped(str(path), 2, "session_outputs: content_hash is 'no hash', no SHA-256"),
        Skipped(str(path), 3, "session_outputs: emit_count is 0, less than 1"),
    ]


def test_the_hook_s_answers(tmp_path: Path) -> None:
    rows = [
        (STAMP, SESSION, "toolu_1", "/p", "git status", "allow", "rtk git status", "1.1.0"),
        (STAMP, "", "toolu_2", "", "vim", "defer", None, "1.1.0"),
        (STAMP, "", "toolu_3", "", "vim", "", None, "1.1.0"),
    ]
    path = write_history(tmp_path / "history.db", Generation.R110, hook_decisions=rows)
    names = Names()
    records = read_history(path, Reading(names))
    assert [record for record in records if isinstance(record, RtkHookDecision)] == [
        RtkHookDecision(
            row_key=hash64("rtk", str(path), "hook_decisions", "1"),
            native_id=1,
            at=1_777_881_600_000_000,
            session_key=names.key(SESSION),
            call_id="toolu_1",
            project_key=names.key("/p"),
            raw_sha64=sha64(b"git status"),
            rewritten_sha64=sha64(b"rtk git status"),
            decision="allow",
            version_key=names.key("1.1.0"),
        ),
        RtkHookDecision(
            row_key=hash64("rtk", str(path), "hook_decisions", "2"),
            native_id=2,
            at=1_777_881_600_000_000,
            session_key=None,
            call_id="toolu_2",
            project_key=None,
            raw_sha64=sha64(b"vim"),
            rewritten_sha64=None,
            decision="defer",
            version_key=names.key("1.1.0"),
        ),
    ]
    assert [record.line for record in records if isinstance(record, Skipped)] == [3]


def test_tables_that_no_figure_needs_are_counted(tmp_path: Path) -> None:
    path = write_history(
        tmp_path / "history.db",
        Generation.R110,
        [STATUS],
        parse_failures=[(STAMP, "frobnicate", "error: unrecognized\n", 0)] * 2,
    )
    with closing(sqlite3.connect(path)) as database:
        database.execute("analyze")  # makes a table of SQLite's own
        database.execute('create table "odd ""name" (x)')
        database.execute('insert into "odd ""name" values (1)')
        database.commit()
    ignored = [record for record in read_history(path) if isinstance(record, Ignored)]
    assert ignored == [Ignored(str(path), 'odd "name', 1), Ignored(str(path), "parse_failures", 2)]
    assert counts_of(path) == FileCount(str(path), 4, 1, 0, 3, 0, False)


def test_unknown_columns_are_tolerated(tmp_path: Path) -> None:
    path = write_history(tmp_path / "history.db", Generation.R044, [STATUS])
    with closing(sqlite3.connect(path)) as database:
        database.execute("alter table commands add column session_id TEXT DEFAULT ''")
        add_commands(database, [STATUS])
        database.commit()
    assert [row.exec_ms for row in commands_of(path)] == [7, 7]


# --- Copies ---------------------------------------------------------------------------------------------


def test_a_row_in_two_copies_has_one_copy_key(tmp_path: Path) -> None:
    commands = [STATUS._replace(project_path=""), STATUS._replace(project_path="", output_tokens=23)]
    old = commands_of(write_history(tmp_path / "old.db", Generation.OLDEST, commands))
    # the same database later: upgraded, its first row deleted after 90 days, one row more
    later = [*commands[1:], STATUS]
    new = commands_of(write_history(tmp_path / "new.db", Generation.R110, later))
    assert old[1].copy_key == new[0].copy_key
    assert len({row.copy_key for row in old + new}) == 3
    assert len({row.row_key for row in old + new}) == 4


def test_equal_rows_of_one_database_are_two_commands(tmp_path: Path) -> None:
    paths = [
        write_history(tmp_path / name, Generation.R044, [STATUS, STATUS, STATUS]) for name in ("a.db", "b.db")
    ]
    keys = [[row.copy_key for row in commands_of(path)] for path in paths]
    assert len(set(keys[0])) == 3
    assert keys[0] == keys[1]


# --- Files ----------------------------------------------------------------------------------------------


def listing(folder: Path) -> list[tuple[str, int, int]]:
    entries = [(entry.name, entry.stat()) for entry in os.scandir(folder)]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in entries)


def test_rows_that_are_only_in_the_log(tmp_path: Path) -> None:
    """Fault cases X09 and X10."""
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        write_history(path, Generation.R044)
        database.execute("pragma wal_autocheckpoint = 0")
        add_commands(database, [STATUS])
        before = listing(tmp_path)
        assert claim(path) == Claim(str(path))
        assert len(commands_of(path)) == 1
        assert listing(tmp_path) == before
        assert [name for name, *_ in before] == ["history.db", "history.db-shm", "history.db-wal"]


def test_a_resting_database_leaves_no_trace(tmp_path: Path) -> None:
    """Fault cases X08 and X10: the mark of WAL, no log beside it."""
    path = write_history(tmp_path / "history.db", Generation.R110, [STATUS])
    before = listing(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert len(commands_of(path)) == 1
    finally:
        tmp_path.chmod(0o700)
    assert listing(tmp_path) == before
    assert [name for name, *_ in before] == ["history.db"]


def test_a_locked_database_is_read(tmp_path: Path) -> None:
    """Fault case X11."""
    path = write_history(tmp_path / "history.db", Generation.R028, [STATUS])
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("begin exclusive")
        assert len(commands_of(path)) == 1


def test_a_probe_that_is_open_is_used_and_left_open(tmp_path: Path) -> None:
    path = write_history(tmp_path / "history.db", Generation.R044, [STATUS])
    with Probe(str(path), path.stat().st_size) as probe:
        found = Rtk().claim(probe)
        assert found is not None
        unit = Unit("rtk", found.unit_key, [FileInfo(str(path), 0, 0)], {str(path): probe})
        path.unlink()
        assert len([*Rtk().read(unit, Reading(Names()))]) == 2
        assert probe.database.execute("select count(*) from commands").fetchone() == (1,)


def test_the_log_is_read_with_its_database() -> None:
    assert Rtk().companions("/x/history.db") == ["/x/history.db-wal"]


@pytest.mark.parametrize("keep", [100, 4096, 40_000])
def test_a_truncated_database(tmp_path: Path, keep: int) -> None:
    commands = [STATUS._replace(original_cmd=f"cat {'x' * 200}{number}") for number in range(500)]
    path = write_history(tmp_path / "history.db", Generation.R044, commands)
    os.truncate(path, keep)
    with pytest.raises(UnreadableUnitError) as error:
        read_history(path)
    assert error.value.message.startswith(f"{path}: damaged SQLite file (")
    assert "\n" not in error.value.message
    assert error.value.hint


def test_a_corrupt_page(tmp_path: Path) -> None:
    commands = [STATUS._replace(original_cmd=f"cat {'x' * 200}{number}") for number in range(500)]
    path = write_history(tmp_path / "history.db", Generation.OLDEST, commands)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    with pytest.raises(UnreadableUnitError, match="damaged SQLite file"):
        read_history(path)


def test_an_empty_database(tmp_path: Path) -> None:
    path = write_history(tmp_path / "history.db", Generation.R110)
    assert claim(path) is not None
    assert read_history(path) == [FileCount(str(path), 0, 0, 0, 0, 0, False)]


def test_other_files_are_not_claimed(tmp_path: Path) -> None:
    other = tmp_path / "history.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("create table commands (id integer primary key, timestamp text, command text)")
        database.execute("create table sessions (id text)")
    assert claim(other) is None
    (tmp_path / "text").write_text('{"timestamp": "original_cmd"}\n')
    (tmp_path / "empty").touch()
    assert claim(tmp_path / "text") is None
    assert claim(tmp_path / "empty") is None


# --- Places ---------------------------------------------------------------------------------------------


def places(home: Path, platform: str, **env: str) -> dict[str, Path]:
    found = Rtk().places(env, home, platform)
    assert len({place.path for place in found}) == len(found)
    return {place.shown_as: place.path for place in found}


HERE = {"./rtk/history.db": Path("rtk/history.db")}


def test_places_on_linux(tmp_path: Path) -> None:
    local = {"~/.local/share/rtk/history.db": tmp_path / ".local/share/rtk/history.db"}
    assert places(tmp_path, "linux") == local | HERE
    found = places(tmp_path, "linux", XDG_DATA_HOME="/data", RTK_DB_PATH="/else/rtk.db")
    assert found == {
        "$RTK_DB_PATH": Path("/else/rtk.db"),
        "$XDG_DATA_HOME/rtk/history.db": Path("/data/rtk/history.db"),
        **local,
        **HERE,
    }
    assert next(iter(found)) == "$RTK_DB_PATH"


def test_places_on_macos_and_windows(tmp_path: Path) -> None:
    support = tmp_path / "Library/Application Support/rtk/history.db"
    assert places(tmp_path, "darwin") == {"~/Library/Application Support/rtk/history.db": support} | HERE
    local = r"%LOCALAPPDATA%\rtk\history.db"
    assert places(tmp_path, "win32", LOCALAPPDATA="/L") == {local: Path("/L/rtk/history.db")} | HERE
    assert places(tmp_path, "win32")[local] == tmp_path / "AppData/Local/rtk/history.db"


@pytest.mark.parametrize(
    ("platform", "folder", "shown_as"),
    [
        ("linux", ".config/rtk", "~/.config/rtk/config.toml"),
        ("darwin", "Library/Application Support/rtk", "~/Library/Application Support/rtk/config.toml"),
        ("win32", "AppData/Roaming/rtk", r"%APPDATA%\rtk\config.toml"),
    ],
)
def test_the_path_in_the_configuration(tmp_path: Path, platform: str, folder: str, shown_as: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    config = tmp_path / folder / "config.toml"
    config.write_text("[tracking]\nenabled = true\ndatabase_path = '/srv/rtk.db'\n")
    assert places(tmp_path, platform)[f"database_path in {shown_as}"] == Path("/srv/rtk.db")


def test_the_configuration_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "rtk").mkdir()
    # with the mark that some editors put in front
    (tmp_path / "rtk" / "config.toml").write_text("\ufefftracking.database_path = 'x.db'\n", "utf-8")
    found = places(tmp_path / "home", "linux", XDG_CONFIG_HOME=str(tmp_path))
    assert found["database_path in $XDG_CONFIG_HOME/rtk/config.toml"] == Path("x.db")


@pytest.mark.parametrize(
    "text",
    [
        b"[tracking\n",
        b"\xff",
        b"tracking = 1\n",
        b"[tracking]\ndatabase_path = 7\n",
        b"",
        b"x = " + b"[" * 5_000,
    ],
)
def test_a_configuration_without_a_path(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".config/rtk").mkdir(parents=True)
    (tmp_path / ".config/rtk/config.toml").write_bytes(text)
    assert len(places(tmp_path, "linux")) == 2


def test_editors_with_a_home_of_their_own(tmp_path: Path) -> None:
    for revision in ("174", "175"):
        (tmp_path / f"snap/code/{revision}/.local/share/rtk").mkdir(parents=True)
        (tmp_path / f"snap/code/{revision}/.local/share/rtk/history.db").touch()
    found = [name for name in places(tmp_path, "linux") if "snap" in name]
    assert found == [
        "~/snap/code/174/.local/share/rtk/history.db",
        "~/snap/code/175/.local/share/rtk/history.db",
    ]


@pytest.mark.parametrize("there", [".local/share/rtk", "snap/code/175/.local/share/rtk"])
def test_the_working_directory_counts_only_if_there_is_no_other_database(tmp_path: Path, there: str) -> None:
    assert HERE.items() <= places(tmp_path, "linux").items()
    (tmp_path / there).mkdir(parents=True)
    assert HERE.items() <= places(tmp_path, "linux").items()
    (tmp_path / there / "history.db").touch()
    assert not HERE.items() <= places(tmp_path, "linux").items()


def test_a_place_named_twice_is_listed_once(tmp_path: Path) -> None:
    path = tmp_path / ".local/share/rtk/history.db"
    assert list(places(tmp_path, "linux", RTK_DB_PATH=str(path))) == ["$RTK_DB_PATH", "./rtk/history.db"]


@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
def test_times_that_no_calendar_of_ours_holds_are_no_times(stamp: str) -> None:
    assert _microseconds(stamp) is None
