"""The first look at a file: head, rows, document, private copies of databases."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dedupstats.errors import UnreadableUnitError
from dedupstats.sources import probe as module
from dedupstats.sources.probe import BOM, HEAD_BYTES, HEAD_LINES, Probe


def probe(path: Path) -> Probe:
    return Probe(str(path), path.stat().st_size)


def written(path: Path, data: bytes) -> Probe:
    path.write_bytes(data)
    return probe(path)


def names_in(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times."""
    return sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(folder))


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        for statement in statements:
            made.execute(statement)
    return path


# -- text ----------------------------------------------------------------------------------------------------


def test_rows_are_the_objects_on_lines_of_their_own(tmp_path: Path) -> None:
    found = written(tmp_path / "a", BOM + b'{"a":1}\r\n[]\nnull\n\n{"a":2\n{"a":3}{"a":4}\n{"a":5}')
    assert [row["a"] for row in found.rows] == [1, 5]
    assert [row["a"] for row in found.rows] == [1, 5], "asked twice, parsed once"


def test_two_readers_of_rows_do_not_take_them_from_each_other(tmp_path: Path) -> None:
    found = written(tmp_path / "a", b'{"a":1}\n{"a":2}\n{"a":3}\n')
    assert next(iter(found.rows))["a"] == 1
    assert [row["a"] for row in found.rows] == [1, 2, 3]


def test_only_so_many_rows(tmp_path: Path) -> None:
    found = written(tmp_path / "a", b"".join(b'{"a":%d}\n' % number for number in range(HEAD_LINES + 9)))
    assert [row["a"] for row in found.rows] == list(range(HEAD_LINES))


@pytest.mark.parametrize("more", [0, 1])
def test_a_line_that_ends_with_the_head(tmp_path: Path, more: int) -> None:
    line = b'{"a":"%s"}' % (b"x" * (HEAD_BYTES - len(b'{"a":""}') + more))
    found = written(tmp_path / "a", line)
    assert len(list(found.rows)) == 1 - more


def test_a_document_over_several_lines(tmp_path: Path) -> None:
    found = written(tmp_path / "a", BOM + json.dumps({"a": [1, {"b": 2}]}, indent=2).encode())
    assert found.document == {"a": [1, {"b": 2}]}


@pytest.mark.parametrize(
    "data", [b"", b"x", b'"x"', b'{"a":1}\n{"a":2}\n', b'{"a":', b"[" * 100_000, b"\xff{}"]
)
def test_what_is_no_document(tmp_path: Path, data: bytes) -> None:
    assert written(tmp_path / "a", data).document is None


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"a":1}')
    assert Probe(str(path), module.DOCUMENT_BYTES + 1).document is None
    assert Probe(str(path), module.DOCUMENT_BYTES).document == {"a": 1}


def test_a_file_that_has_vanished(tmp_path: Path) -> None:
    with pytest.raises(UnreadableUnitError, match=r"gone: No such file"):
        _ = Probe(str(tmp_path / "gone"), 1).head


def test_forgetting_keeps_what_can_be_said_again(tmp_path: Path) -> None:
    found = written(tmp_path / "a", b'{"a":1}\n')
    assert (found.document, [*found.rows]) == ({"a": 1}, [{"a": 1}])
    found.forget()
    assert "head" not in vars(found)
    assert (found.document, [*found.rows]) == ({"a": 1}, [{"a": 1}])


# -- databases -----------------------------------------------------------------------------------------------


def test_tables_and_columns(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "create table t (x, y)", 'create table "we""ird" (z)')
    with probe(path) as found:
        assert found.is_sqlite
        assert found.tables == {"t": {"x", "y"}, 'we"ird': {"z"}}
    assert written(tmp_path / "b.db", b"no database").tables == {}


def test_a_resting_wal_database_is_read_without_a_trace(tmp_path: Path) -> None:
    """Fault case X08: mode WAL, no log beside it; X10: nothing is written beside it."""
    path = database(
        tmp_path / "a.db", "pragma journal_mode = wal", "create table t (x)", "insert into t values (7)"
    )
    before = names_in(tmp_path)
    assert [name for name, *_ in before] == ["a.db"]
    with probe(path) as found:
        assert found.database.execute("select x from t").fetchall() == [(7,)]
        copies = Path(found._folder.name) if found._folder else None
    assert names_in(tmp_path) == before
    assert copies is not None
    assert not copies.exists()


def test_rows_that_are_in_the_log_alone(tmp_path: Path) -> None:
    """Fault case X09: even the schema is only in the log."""
    with closing(sqlite3.connect(tmp_path / "made.db", isolation_level=None)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("create table t (x)")
        writer.execute("insert into t values (7)")
        for suffix in ("", "-wal"):
            shutil.copyfile(tmp_path / f"made.db{suffix}", tmp_path / f"a.db{suffix}")
    assert (tmp_path / "a.db").stat().st_size == 4096
    with probe(tmp_path / "a.db") as found:
        assert found.database.execute("select x from t").fetchall() == [(7,)]


def test_half_a_transaction_is_rolled_back(tmp_path: Path) -> None:
    """The owner was killed while it wrote without a WAL: the old pages are in the journal beside it."""
    made = database(tmp_path / "made.db", "create table t (x)", "insert into t values (zeroblob(9000))")
    with closing(sqlite3.connect(made, isolation_level=None)) as writer:
        writer.execute("pragma cache_size = 1")
        writer.execute("begin")
        for _ in range(20):
            writer.execute("insert into t values (zeroblob(9000))")
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{made}{suffix}", tmp_path / f"a.db{suffix}")
        writer.execute("rollback")
    assert (tmp_path / "a.db").stat().st_size > made.stat().st_size, (
        "pages of the transaction are in the file"
    )
    with probe(tmp_path / "a.db") as found:
        assert found.database.execute("select count(*) from t").fetchall() == [(1,)]


def test_an_owner_with_an_exclusive_lock_does_not_stop_us(tmp_path: Path) -> None:
    """Fault case X11."""
    path = database(tmp_path / "a.db", "create table t (x)", "insert into t values (7)")
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("begin exclusive")
        owner.execute("insert into t values (8)")
        with probe(path) as found:
            assert found.database.execute("select x from t").fetchall() == [(7,)]


def test_a_copy_is_made_again_if_the_owner_wrote_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(tmp_path / "a.db", "create table t (x)", "insert into t values (7)")
    copied = []

    def copyfile(source: str, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes())
        copied.append(source)
        if len(copied) == 1:
            database(path, "insert into t values (zeroblob(9000))")

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    with probe(path) as found:
        assert found.database.execute("select count(*) from t").fetchall() == [(2,)]
    assert copied == [str(path)] * 2


def test_an_owner_that_never_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path / "a.db", "create table t (x)")
    states = iter(range(1000))
    monkeypatch.setattr(module, "_state", lambda _: next(states))
    with probe(path) as found:
        assert found.tables == {"t": {"x"}}


def test_a_pipe_beside_a_database_is_not_waited_for(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "create table t (x)")
    os.mkfifo(tmp_path / "a.db-wal")
    with probe(path) as found:
        assert found.tables == {"t": {"x"}}


@pytest.mark.parametrize("length", [20, 100, 4096 + 50])
def test_a_truncated_database_is_said_to_be_damaged(tmp_path: Path, length: int) -> None:
    path = database(
        tmp_path / "a.db", "create table t (x)", "create table u (x)", "insert into t values (zeroblob(9000))"
    )
    path.write_bytes(path.read_bytes()[:length])
    with probe(path) as found, pytest.raises(UnreadableUnitError, match=r"a\.db: damaged SQLite file"):
        _ = (found.tables, found.database.execute("select * from t").fetchall())


def test_damage_that_sqlite_tells_of_in_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        "create table t (x)",
        "pragma writable_schema = on",
        "update sqlite_master set name = cast(x'8e' as text), sql = 'none'",
    )
    with probe(path) as found, pytest.raises(UnreadableUnitError, match=r"damaged SQLite file .*no text"):
        _ = found.tables


def test_no_room_for_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path / "a.db", "create table t (x)")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    found = probe(path)
    with pytest.raises(UnreadableUnitError, match=r"a\.db: No space left"):
        _ = found.tables
    assert found._folder is None, "the folder of the copy is removed"


def test_a_copy_that_was_given_back_is_made_anew(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "create table t (x)", "insert into t values (7)")
    with probe(path) as found:
        assert not found.is_open
        assert found.tables == {"t": {"x"}}
        assert found.is_open
        found.close()
        found.forget()
        assert found.database.execute("select x from t").fetchall() == [(7,)]


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "create table t (x)", "insert into t values (cast(x'61ff' as text))")
    with probe(path) as found:
        assert found.database.execute("select x from t").fetchall() == [("a\ufffd",)]
