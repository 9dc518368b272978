"""What an import reads, leaves, replaces and remembers, through the library's one function."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import Transcript
from support.snapshot import duplicates, everything

from dedupstats import import_paths, open_store
from dedupstats.errors import NothingFoundError, UnreadableUnitError
from dedupstats.ingest import ImportSummary
from dedupstats.ingest import plan as planning
from dedupstats.ingest import write as writing
from dedupstats.sources import claude_code as claude_source
from dedupstats.sources.base import Names
from dedupstats.sources.claude_code import reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.store import Store

UUID = "00000000-0000-4000-8000-000000000001"


def log(*texts: str, session: str = "s1", **more: Any) -> Transcript:
    """A transcript with one read of `a` per text; calls are t1, t2 ... with the session in front."""
    made = Transcript(session, **more)
    for number, text in enumerate(texts, 1):
        call = f"{session}-{more.get('agent') or ''}t{number}"
        made.read(call, "a", text, f"m-{call}")
    return made


def calls(store: Store) -> list[str]:
    return [call for (call,) in store.query("select call_id from emission order by context_key, ordinal")]


def sizes(store: Store) -> list[int]:
    return sorted(size for (size,) in store.query("select bytes from emission"))


def tree(folder: Path) -> Path:
    """A session with two subagents, one in each of two places, beside another session, and two databases."""
    log("x" * 300, "x" * 300, session=UUID).write(folder / "p" / f"{UUID}.jsonl")
    log("x" * 300, session=UUID, agent="a1", prefix="v").write(
        folder / "p" / UUID / "subagents" / "agent-a1.jsonl"
    )
    log("y", session=UUID, agent="a2", prefix="w").write(folder / "p" / UUID / "agent-a2.jsonl")
    log("x" * 300, session="s2").write(folder / "p" / "s2.jsonl")
    docker_agent.database(
        folder / "session.db", 38, docker_agent.session("d", docker_agent.read("c1", "a", "x" * 300, 1))
    )
    rtk.write_history(folder / "rtk" / "history.db", commands=[command(1), command(2)])
    return folder


def command(second: int) -> rtk.Command:
    return rtk.Command(f"2026-03-01T09:00:{second:02}+00:00", "git status", "rtk git status", 100, 40)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "rtk").mkdir(parents=True)
    return tree(tmp_path / "logs")


# -- the order and the number of imports ---------------------------------------------------------------------


def test_any_order_and_any_number_of_imports_come_to_the_same(made: Path) -> None:
    files = sorted(path for path in made.rglob("*") if path.is_file())
    with open_store(":memory:") as store:
        import_paths(store, [made])
        expected = everything(store)
        assert len(calls(store)) == 6
    interleaved = files[::2] + files[1::2]
    ways: list[list[list[Path]]] = [
        [[made], [made]],
        [[path] for path in files],
        [[path] for path in files[::-1]],
        [[path] for path in interleaved],
        [[made / "rtk"], [made / "session.db"], [made / "p"]],
        [[made / "p" / f"{UUID}.jsonl"], [made / "p" / UUID], [made]],
        [[made / "p" / UUID / "agent-a2.jsonl"], [made / "p" / UUID / "subagents"], [made]],
        [[*files[::-1], made, made]],
    ]
    for way in ways:
        with open_store(":memory:") as store:
            for paths in way:
                import_paths(store, paths)
            assert everything(store) == expected, way
            assert duplicates(store) == {}


def test_small_batches_and_few_open_copies_change_nothing(
    made: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_paths(store, [made])
    monkeypatch.setattr(writing, "BATCH_FILES", 1)
    monkeypatch.setattr(planning, "OPEN_COPIES", 0)
    with open_store(":memory:") as other:
        import_paths(other, [made])
        assert everything(other) == everything(store)


def test_unchanged_files_are_not_opened_beyond_their_ends(
    made: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_paths(store, [made])
    monkeypatch.setattr(planning, "Probe", pytest.fail)
    summary = import_paths(store, [made])
    assert (summary.records, summary.units_read.total(), summary.units_unchanged.total()) == (0, 0, 4)
    assert summary.files.total() == 6


def test_force_reads_everything_again(made: Path, store: Store) -> None:
    first = import_paths(store, [made])
    expected = everything(store)
    again = import_paths(store, [made], force=True)
    assert (again.records, again.used, again.copies) == (first.records, first.used, first.copies)
    assert everything(store) == expected


# -- what is a log -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.txt", "log", "log.json", "log.JSONL", ".log"])
@pytest.mark.parametrize("by_name", [True, False])
def test_a_log_by_any_name(tmp_path: Path, store: Store, name: str, by_name: bool) -> None:  # noqa: FBT001
    path = log("abc").write(tmp_path / name)
    assert import_paths(store, [path if by_name else tmp_path]).files == {"claude_code": 1}
    assert import_paths(store, [tmp_path]).units_unchanged == {"claude_code": 1}
    assert sizes(store) in ([3], [])


def test_other_files_beside_logs(tmp_path: Path, store: Store) -> None:
    log("abc").write(tmp_path / "s1.jsonl")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "notes.md").write_text("# Notes\n{}")
    (tmp_path / "huge.json").write_text(json.dumps({"messages": [{"text": "x" * 1000}] * 1000}))
    (tmp_path / "history.jsonl").write_text('{"display":"fix it","timestamp":1,"project":"/home/u/p"}\n')
    for _ in range(2):
        summary = import_paths(store, [tmp_path])
        assert [path.rpartition("/")[2] for path in sorted(summary.unrecognised)] == [
            "binary.jsonl",
            "history.jsonl",
            "huge.json",
        ]
        assert (summary.passed_over, summary.unreadable, summary.files) == (1, [], {"claude_code": 1})
        assert summary.empty == 1
    assert store.query("select count(*) from file where source is null") == [(4,)]


def test_strangers_are_judged_anew_by_another_version(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log("abc").write(tmp_path / "s1.jsonl")
    with monkeypatch.context() as older:
        older.setattr(planning, "__version__", "0.0.1")
        older.setattr(claude_source.ClaudeCode, "claim", lambda *_: None)
        assert import_paths(store, [tmp_path]).files == {}
        assert import_paths(store, [tmp_path]).files == {}
    assert import_paths(store, [tmp_path]).files == {"claude_code": 1}
    assert sizes(store) == [3]


def test_strangers_that_vanish_are_forgotten(tmp_path: Path, store: Store) -> None:
    stranger = tmp_path / "x.json"
    stranger.write_text("{}")
    import_paths(store, [tmp_path])
    stranger.unlink()
    summary = import_paths(store, [tmp_path])
    assert (summary.files_gone, store.query("select count(*) from file")) == (0, [(0,)])


def test_a_database_and_its_log_whichever_is_named(tmp_path: Path) -> None:
    """Fault case X09, and its log named instead of it."""
    path = docker_agent.database(
        tmp_path / "session.db",
        38,
        docker_agent.session("d", docker_agent.read("c1", "a", "abc", 1)),
        wal_only=True,
    )
    wal = tmp_path / "session.db-wal"
    for paths in ([path], [wal], [path, wal], [tmp_path]):
        with open_store(":memory:") as store:
            summary = import_paths(store, paths)
            assert (summary.files, sizes(store)) == ({"docker_agent": 1}, [3])
            assert import_paths(store, [path]).units_unchanged == {"docker_agent": 1}


def test_a_log_that_has_lost_its_database(tmp_path: Path, store: Store) -> None:
    path = docker_agent.database(tmp_path / "session.db", 38, docker_agent.session("d", []), wal_only=True)
    path.unlink()
    summary = import_paths(store, [tmp_path / "session.db-wal"])
    assert (summary.files, summary.unrecognised) == ({}, [str(tmp_path / "session.db-wal")])


def test_a_transcript_that_ends_in_wal(tmp_path: Path, store: Store) -> None:
    log("abc").write(tmp_path / "notes-wal")
    assert import_paths(store, [tmp_path]).files == {"claude_code": 1}


def test_rows_that_come_into_the_log_alone_are_seen(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "history.db"
    rtk.write_history(path, commands=[command(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("pragma wal_autocheckpoint = 0")
        for second in (2, 3):
            main = path.read_bytes()
            rtk.add_commands(owner, [command(second)])
            assert path.read_bytes() == main
            import_paths(store, [path])
            assert store.query("select count(*) from rtk_command") == [(second,)]
    assert not (tmp_path / "history.db-wal").exists()
    summary = import_paths(store, [path])
    assert (summary.files_gone, store.query("select count(*) from rtk_command")) == (0, [(3,)])
    assert store.query("select path from file") == [(str(path),)]


def test_a_log_that_was_folded_in_elsewhere_is_no_vanished_file(tmp_path: Path, store: Store) -> None:
    path = docker_agent.database(tmp_path / "session.db", 38, docker_agent.session("d", []), wal_only=True)
    import_paths(store, [path])
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("pragma wal_checkpoint(truncate)")
    assert not (tmp_path / "session.db-wal").exists()
    log("abc").write(tmp_path / "other" / "s1.jsonl")
    assert import_paths(store, [tmp_path / "other"]).files_gone == 0


# -- changed, replaced, moved --------------------------------------------------------------------------------


def test_a_file_that_now_belongs_to_somebody_else(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "x.jsonl"
    log("abc").write(path)
    import_paths(store, [path])
    docker_agent.export(path, docker_agent.session("d", docker_agent.read("c1", "a", "abcd", 1)))
    import_paths(store, [path])
    assert store.query("select source, bytes from emission") == [("docker_agent", 4)]
    assert store.query("select source from unit") == [("docker_agent",)]
    path.write_text("[1, 2]")
    assert import_paths(store, [tmp_path]).files == {}
    assert (sizes(store), store.query("from unit"), store.query("from context")) == ([], [], [])
    log("abc").write(path)
    import_paths(store, [path])
    assert store.query("select source, bytes from emission") == [("claude_code", 3)]


def test_a_database_that_becomes_a_stranger(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "history.db"
    rtk.write_history(path, commands=[command(1)])
    import_paths(store, [path])
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table mine (x)")
    import_paths(store, [path])
    assert (store.query("from rtk_command"), store.query("from unit")) == ([], [])


def test_a_file_whose_unit_is_another_once_it_says_its_session(tmp_path: Path, store: Store) -> None:
    """The head of an agent's file decides where it belongs; it can be written later."""
    path = tmp_path / UUID / "agent-a1.jsonl"
    log("abc", session="s9", agent="a1").write(path)
    import_paths(store, [tmp_path])
    before = store.query("select path from unit")
    log("abcd", session=UUID, agent="a1").write(path)
    import_paths(store, [tmp_path])
    assert store.query("select path from unit") != before
    assert sizes(store) == [4]


def test_a_file_that_grows_while_it_is_read(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s1.jsonl"
    log("abc").write(path)
    read = claude_source.ClaudeCode.read

    def slow(*arguments: Any) -> Iterator[Any]:
        yield from read(*arguments)
        log("abc", "defg").write(path)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(claude_source.ClaudeCode, "read", slow)
        import_paths(store, [path])
    assert sizes(store) == [3]
    import_paths(store, [path])
    assert sizes(store) == [3, 4]


def test_a_change_of_equal_size_within_the_clocks_grain_while_it_is_read(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s1.jsonl"
    log("abc").write(path)
    status = path.stat()
    read = claude_source.ClaudeCode.read

    def slow(*arguments: Any) -> Iterator[Any]:
        yield from read(*arguments)
        log("xyz").write(path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(claude_source.ClaudeCode, "read", slow)
        import_paths(store, [path])
    before = store.query("select sha256 from emission")
    import_paths(store, [path])
    assert store.query("select sha256 from emission") != before


def test_names_stay_one_row_each_over_many_imports(tmp_path: Path, store: Store) -> None:
    for number in range(3):
        log(*["x" * 300] * (number + 1)).write(tmp_path / "s1.jsonl")
        log("y", session=f"t{number}").write(tmp_path / f"t{number}.jsonl")
        import_paths(store, [tmp_path])
    import_paths(store, [tmp_path], force=True)
    assert store.query("select count(*) from raw.name where text = 's1'") == [(1,)]
    assert store.query("select count(*) from raw.tool where name = 'Read'") == [(1,)]
    assert duplicates(store) == {}


# -- what cannot be read -------------------------------------------------------------------------------------


def refusing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make files of these names unreadable: the owner of a test may be root, whom no mode stops."""
    for owner in (io, os):
        opened = owner.open

        def refuse(path: Any, *arguments: Any, _opened: Any = opened, **more: Any) -> Any:
            if os.path.basename(str(path)) in names:  # noqa: PTH119
                raise PermissionError(13, "Permission denied")
            return _opened(path, *arguments, **more)

        monkeypatch.setattr(owner, "open", refuse)


def notes(store: Store) -> list[tuple[str, str]]:
    return [
        (path.rpartition("/")[2], reason)
        for path, reason in store.query("select path, reason from skipped where line = 0 order by all")
    ]


def test_an_unreadable_file_is_noted_until_it_can_be_read(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log("abc").write(tmp_path / "s1.jsonl")
    log("abcd", session="s2").write(tmp_path / "s2.jsonl")
    with monkeypatch.context() as closed:
        refusing(closed, "s1.jsonl")
        for _ in range(2):
            summary = import_paths(store, [tmp_path])
            assert [tuple(fault) for fault in summary.unreadable] == [
                (str(tmp_path / "s1.jsonl"), "Permission denied")
            ]
            assert notes(store) == [("s1.jsonl", "cannot be read: Permission denied")]
        assert (sizes(store), store.is_stale) == ([4], False)
    assert import_paths(store, [tmp_path]).unreadable == []
    assert (notes(store), sizes(store)) == ([], [3, 4])
    assert store.query("select distinct source from unit") == [("claude_code",)]


def test_a_noted_file_that_vanishes_is_forgotten(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log("abc").write(tmp_path / "s1.jsonl")
    with monkeypatch.context() as closed:
        refusing(closed, "s1.jsonl")
        import_paths(store, [tmp_path])
    path.unlink()
    import_paths(store, [tmp_path])
    assert (notes(store), store.query("from unit")) == ([], [])


def test_a_known_file_that_can_no_longer_be_read_keeps_its_rows(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log("abc").write(tmp_path / "s1.jsonl")
    import_paths(store, [tmp_path])
    expected = everything(store)
    with monkeypatch.context() as closed:
        refusing(closed, "s1.jsonl")
        assert len(import_paths(store, [tmp_path]).unreadable) == 1
        assert (sizes(store), notes(store)[0][0]) == ([3], "s1.jsonl")
    import_paths(store, [tmp_path])
    assert everything(store) == expected


def test_one_file_of_several_that_cannot_be_read_keeps_its_rows(
    made: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_paths(store, [made])
    before = calls(store)
    sub = made / "p" / UUID / "subagents" / "agent-a1.jsonl"
    with sub.open("a") as more:
        more.write("\n")
    main = made / "p" / f"{UUID}.jsonl"
    transcript = reader.Transcript
    real = transcript.read

    def failing(self: Any) -> None:
        if self.role.path == str(main):
            raise OSError(5, "Input/output error")
        real(self)

    with monkeypatch.context() as broken:
        broken.setattr(transcript, "read", failing)
        summary = import_paths(store, [made])
    assert [tuple(fault) for fault in summary.unreadable] == [(str(main), "Input/output error")]
    assert (calls(store), notes(store)) == (before, [(main.name, "cannot be read: Input/output error")])
    assert summary.records == summary.used + summary.copies + summary.ignored + summary.skipped
    import_paths(store, [made])
    assert (calls(store), notes(store)) == (before, [])


def test_a_unit_that_fails_half_way_keeps_the_rows_that_it_had(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log("abc", "defg").write(tmp_path / "s1.jsonl")
    import_paths(store, [path])
    before = everything(store)
    log("abc", "defg", "hijkl").write(path)
    read = claude_source.ClaudeCode.read

    def failing(self: Any, unit: Any, reading: Any) -> Iterator[Any]:
        for number, record in enumerate(read(self, unit, reading)):
            if number == 3:
                message = f"{path}: the disk is tired"
                raise UnreadableUnitError(message)
            yield record

    with monkeypatch.context() as broken:
        broken.setattr(claude_source.ClaudeCode, "read", failing)
        summary = import_paths(store, [path])
        assert [tuple(fault) for fault in summary.unreadable] == [(str(path), "the disk is tired")]
        assert summary.records == 0
    assert notes(store) == [("s1.jsonl", "cannot be read: the disk is tired")]
    after = everything(store)
    assert {view: rows for view, rows in after.items() if view != "skipped"} == {
        view: rows for view, rows in before.items() if view != "skipped"
    }
    import_paths(store, [path])
    assert (sizes(store), notes(store)) == ([3, 4, 5], [])


def test_a_damaged_database_keeps_the_rows_that_it_had(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "history.db"
    rtk.write_history(path, commands=[command(second) for second in range(60)])
    import_paths(store, [path])
    whole = path.read_bytes()
    path.write_bytes(whole[:4096])
    assert len(import_paths(store, [path]).unreadable) == 1
    assert store.query("select count(*) from rtk_command") == [(60,)]
    path.write_bytes(whole)
    assert import_paths(store, [path]).unreadable == []
    assert (notes(store), store.query("select count(*) from rtk_command")) == ([], [(60,)])


def test_an_error_of_ours_costs_its_log_alone(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log("abc").write(tmp_path / "s1.jsonl")
    log("d", session="s2").write(tmp_path / "s2.jsonl")
    read = claude_source.ClaudeCode.read

    def failing(source: claude_source.ClaudeCode, unit: Any, reading: Any) -> Iterator[Any]:
        yield from read(source, unit, reading)
        if unit.key.endswith("s1"):
            raise ZeroDivisionError("by nought")

    monkeypatch.setattr(claude_source.ClaudeCode, "read", failing)
    summary = import_paths(store, [tmp_path])
    assert [(Path(fault.path).name, fault.reason) for fault in summary.unreadable] == [
        ("s1.jsonl", "not understood (ZeroDivisionError: by nought)")
    ]
    assert store.query("select count(*), min(session_id), max(session_id) from emission") == [(1, "s2", "s2")]


# -- what is gone --------------------------------------------------------------------------------------------


def test_files_that_vanish_and_come_back(made: Path, store: Store) -> None:
    """Fault case X17, for each kind of unit."""
    import_paths(store, [made])
    before = everything(store)
    kept = made.rename(made.with_name("elsewhere"))
    made.mkdir()
    log("z", session="s3").write(made / "s3.jsonl")
    summary = import_paths(store, [made])
    assert (summary.files_gone, summary.files_gone_now) == (6, 6)
    assert store.query("select count(*), count(*) filter (is_gone) from emission") == [(7, 6)]
    assert store.query("select count(*) from rtk_command") == [(2,)]
    assert import_paths(store, [made]).files_gone_now == 0
    shutil.rmtree(made)
    kept.rename(made)
    summary = import_paths(store, [made])
    assert (summary.files_gone, summary.units_read.total()) == (1, 0)
    after = everything(store)
    assert [row for row in after["emission"] if not row[-2]] == before["emission"]


def test_a_session_whose_main_file_went_while_its_subagents_go_on(made: Path, store: Store) -> None:
    """Claude Code's clean-up removes the session's file and leaves its subagents'."""
    import_paths(store, [made])
    parents = store.query("select native_id, parent_key from context where kind = 'agent' order by all")
    assert all(parent is not None for _, parent in parents)
    (made / "p" / f"{UUID}.jsonl").unlink()
    log("x" * 300, "new", session=UUID, agent="a1", prefix="v").write(
        made / "p" / UUID / "subagents" / "agent-a1.jsonl"
    )
    summary = import_paths(store, [made])
    assert (summary.files_gone, summary.units_read) == (1, {"claude_code": 1})
    counts = store.query(
        "select context_kind, count(*) from emission where path like ? group by all order by all",
        [f"%{UUID}%"],
    )
    assert counts == [("agent", 3), ("main", 2)]
    assert (
        store.query("select native_id, parent_key from context where kind = 'agent' order by all") == parents
    )


def test_a_folder_that_cannot_be_seen_is_not_gone(
    made: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_paths(store, [made])
    log("z", session="s3").write(made.parent / "other" / "s3.jsonl")
    stat = os.stat

    def refuse(path: Any, *arguments: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(str(made)):
            raise PermissionError(13, "Permission denied")
        return stat(path, *arguments, **more)

    monkeypatch.setattr(os, "stat", refuse)
    assert import_paths(store, [made.parent / "other"]).files_gone == 0


# -- names that are no text ----------------------------------------------------------------------------------


def test_paths_that_are_no_utf8(tmp_path: Path, store: Store) -> None:
    """Fault case X12 in the names of files: bytes that are no UTF-8 reach us as halves of surrogate pairs."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    log("abc", "abc", session=UUID).write(folder / f"{UUID}.jsonl")
    sub = log("defg", session=UUID, agent="a1").write(folder / UUID / "subagents" / "agent-a1.jsonl")
    import_paths(store, [tmp_path])
    expected = everything(store)
    assert (sizes(store), store.query("select count(*) from unit")) == ([3, 3, 4], [(1,)])
    summary = import_paths(store, [tmp_path])
    assert (summary.records, summary.files_gone, summary.units_unchanged) == (0, 0, {"claude_code": 1})
    # only one of the two files changes, then it is named alone; the other is still known and there
    for content in (["defg", "hijkl"], ["defg"]):
        log(*content, session=UUID, agent="a1").write(sub)
        summary = import_paths(store, [sub] if len(content) == 1 else [tmp_path])
        assert (summary.units_read, summary.files_gone) == ({"claude_code": 1}, 0)
    assert {**everything(store), "file": []} == {**expected, "file": []}
    log("z", session="s3").write(tmp_path / "other" / "s3.jsonl")
    assert import_paths(store, [tmp_path / "other"]).files_gone == 0
    sub.unlink()
    assert import_paths(store, [tmp_path]).files_gone == 1


def test_numbers_that_no_column_can_hold(tmp_path: Path, store: Store) -> None:
    made = Transcript()
    usage = {"input_tokens": 10**30, "output_tokens": 1e300, "cache_read_input_tokens": -(10**30)}
    made.call("t1", "Read", {"file_path": "a"}, usage=usage)
    made.result("t1", "abc")
    made.write(tmp_path / "s1.jsonl")
    import_paths(store, [tmp_path])
    assert sizes(store) == [3]
    assert (
        writing._storable(10**30)
        is writing._storable(float("inf"))
        is writing._storable(float("nan"))
        is None
    )
    assert writing._storable(True) is True


# -- copies of a database ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["a.db", "b.db"])
def test_rows_of_a_copied_history_are_copies(tmp_path: Path, store: Store, first: str) -> None:
    stamp = "2026-03-01T09:00:00+00:00"
    outputs = [("s", "0" * 64, "git status", 9, 1, 0, 1, stamp, stamp)]
    # two rows alike in one database are two commands; the copy has one row more
    alike = [command(1), command(1), command(2)]
    for name, commands in (("a.db", alike), ("b.db", [*alike, command(3)])):
        rtk.write_history(tmp_path / name, rtk.Generation.PR2937, commands, session_outputs=outputs)
    second = "b.db" if first == "a.db" else "a.db"
    summary = import_paths(store, [tmp_path / first])
    assert (summary.used, summary.copies) == (summary.records, 0)
    summary = import_paths(store, [tmp_path / second])
    # of equal rows the first by path counts: what b.db repeats of a.db is a copy, whichever came first
    assert store.query("select path, records, used, copies, ignored, skipped from file order by path") == [
        (str(tmp_path / "a.db"), 4, 4, 0, 0, 0),
        (str(tmp_path / "b.db"), 5, 1, 4, 0, 0),
    ]
    assert store.query("select count(*) from rtk_command") == [(4,)]
    expected = (5, 1, 4) if second == "b.db" else (4, 4, 0)
    assert (summary.records, summary.used, summary.copies) == expected


def test_hook_decisions_of_a_copied_history_are_copies(tmp_path: Path, store: Store) -> None:
    stamp = "2026-03-01T09:00:00+00:00"
    row = (stamp, "s", "t1", "", "git status", "allow", "rtk git status", "0.49.0")
    for name in ("a.db", "b.db"):
        rtk.write_history(tmp_path / name, rtk.Generation.R049, hook_decisions=[row])
    summary = import_paths(store, [tmp_path])
    assert (summary.records, summary.used, summary.copies) == (2, 1, 1)


# -- places --------------------------------------------------------------------------------------------------


def test_default_places_follow_the_environment(tmp_path: Path, store: Store) -> None:
    home, more, config = tmp_path / "home", tmp_path / "more", tmp_path / "config"
    log("a").write(home / ".claude" / "projects" / "p" / "s1.jsonl")
    log("bb", session="s2").write(more / "projects" / "p" / "s2.jsonl")
    log("ccc", session="s3").write(config / "claude" / "projects" / "p" / "s3.jsonl")
    environment = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": f"{more}, {tmp_path}/none",
        "XDG_CONFIG_HOME": str(config),
    }
    summary = import_paths(store, environment=environment)
    assert sizes(store) == [1, 2, 3]
    found = {
        place.place: (place.exists, place.files) for place in summary.places if place.source == "claude_code"
    }
    assert found == {
        str(more): (True, 1),
        f"{tmp_path}/none": (False, 0),
        "~/.claude/projects": (True, 1),
        "$XDG_CONFIG_HOME/claude/projects": (True, 1),
    }
    assert sum(place.bytes for place in summary.places) == summary.bytes["claude_code"] > 0


def test_two_places_that_are_one(tmp_path: Path, store: Store) -> None:
    log("a").write(tmp_path / ".claude" / "projects" / "p" / "s1.jsonl")
    environment = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    summary = import_paths(store, environment=environment)
    assert (sizes(store), summary.files) == ([1], {"claude_code": 1})
    assert sum(place.files for place in summary.places) == 1


def test_nothing_in_the_default_places_is_no_error_of_the_library(tmp_path: Path, store: Store) -> None:
    summary = import_paths(store, environment={"HOME": str(tmp_path)})
    assert summary.files == {}
    assert {place.source for place in summary.places} == {"claude_code", "docker_agent", "rtk"}


def test_no_home(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        message = "Could not determine home directory."
        raise RuntimeError(message)

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(NothingFoundError, match="home folder"):
        import_paths(store, environment={})


def test_paths_that_cannot_be_looked_at(tmp_path: Path, store: Store) -> None:
    (tmp_path / "link").symlink_to("nothing")
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "nowhere": "no such file or folder: .*nowhere",
        "link": "link is a link to nothing, which does not exist",
        "pipe": "pipe is neither a file nor a folder",
        "file/below": "cannot look at .*below: Not a directory",
        "a\0b": "cannot look at",
    }.items():
        with pytest.raises(NothingFoundError, match=message):
            import_paths(store, [f"{tmp_path}/{name}"])


def test_a_batch_of_interned_names_is_written_with_its_units(store: Store) -> None:
    names = Names()
    batch = writing.Batch(store, names, planning.Plan(store, {}, ImportSummary(), force=False))
    names.key("a")
    batch.commit()
    assert store.query("from raw.name") == [], "nothing to commit, nothing written"
