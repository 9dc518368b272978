"""Databases that are made otherwise than their programs make them: what can be read is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import pytest
from support import docker_agent, rtk

from dedupstats import import_paths, open_store
from dedupstats.analytics.rtk_bounds import rtk_realised
from dedupstats.report import document
from dedupstats.report.build import build
from dedupstats.sources.base import DEAREST, LARGEST
from dedupstats.store.store import refused

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats.store import Store

STAMP = "2026-03-01T09:00:00+00:00"
ROW = rtk.Command(STAMP, "git status", "rtk git status", 100, 40)
OUTPUTS = [(LARGEST // 4, 2), (LARGEST // 2, 4), (2**62, 1), (1, 2**62)]
VALUES: list[object] = [None, "x", "", "a\0b", b"\xff", 1.5, float("inf"), -1, LARGEST, 2**63 - 1, "9" * 5000]


def remade(path: Path, ends: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Make all tables of a database again without types; returns tables and columns.

    Args:
        path: The database.
        ends: By table, what follows the list of its columns instead.
    """
    found = []
    with closing(sqlite3.connect(path)) as database:
        names = database.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        ).fetchall()
        for (table,) in names:
            columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
            rows = database.execute(f"select * from {table}").fetchall()
            database.execute(f"drop table {table}")
            end = (ends or {}).get(table, ")")
            database.execute(f"create table {table} ({', '.join(columns)}{end}")
            database.executemany(f"insert into {table} values ({', '.join('?' * len(columns))})", rows)
            found += [(table, column) for column in columns]
        database.commit()
    return found


def rtk_database(path: Path) -> Path:
    rtk.write_history(
        path,
        rtk.Generation.R049,
        [ROW, ROW],
        hook_decisions=[(STAMP, "s", "t1", "", "git status", "allow", "rtk git status", "0.49.0")],
    )
    docker_agent.change(
        path,
        rtk.OUTPUTS,
        f"insert into session_outputs values (1, 's', '{'0' * 64}', 'x', 9, 1, 0, 1, '{STAMP}', '{STAMP}')",
    )
    return path


def session_database(path: Path) -> Path:
    items = [*docker_agent.read("c1", "a", "x", 1), docker_agent.summary("s", cost=0.2)]
    docker_agent.database(path, 38, docker_agent.session("d", items))
    return path


@pytest.mark.parametrize("value", VALUES)
def test_any_value_in_any_column_costs_at_most_its_row(tmp_path: Path, store: Store, value: object) -> None:
    for make in (rtk_database, session_database):
        template = make(tmp_path / "template")
        data = None
        for number, (table, column) in enumerate(remade(template)):
            data = data or template.read_bytes()
            path = tmp_path / f"{make.__name__}-{number}.db"
            path.write_bytes(data)
            with closing(sqlite3.connect(path)) as database:
                first = f"rowid = (select min(rowid) from {table})"
                database.execute(f"update {table} set {column} = ? where {first}", [value])
                database.commit()
        template.unlink()
    summary = import_paths(store, [tmp_path])
    assert summary.unreadable == []
    assert summary.unrecognised == []
    assert store.query("select max(skipped) from file") in ([(0,)], [(1,)])


def test_ids_that_are_no_numbers(tmp_path: Path, store: Store) -> None:
    session_database(tmp_path / "session.db")
    remade(tmp_path / "session.db")
    docker_agent.change(tmp_path / "session.db", "update session_items set id = 'x' || id")
    import_paths(store, [tmp_path])
    assert store.query("select line from emission") == [(2,)]


def test_a_column_that_takes_the_name_of_the_row_id(tmp_path: Path, store: Store) -> None:
    path = rtk_database(tmp_path / "history.db")
    docker_agent.change(
        path, "alter table commands add column rowid text", "update commands set rowid = 'x' || id"
    )
    import_paths(store, [tmp_path])
    assert store.query("select native_id from rtk_command order by all") == [(1,), (2,)]


def test_tables_without_row_ids(tmp_path: Path, store: Store) -> None:
    rtk_database(tmp_path / "history.db")
    session_database(tmp_path / "session.db")
    end = ", primary key (id)) without rowid"
    remade(tmp_path / "history.db", {"commands": end, "hook_decisions": end})
    remade(tmp_path / "session.db", {"sessions": end, "session_items": end})
    docker_agent.change(tmp_path / "session.db", "update session_items set id = 'x' where id = 3")
    summary = import_paths(store, [tmp_path])
    assert summary.unreadable == []
    assert store.query("select native_id from rtk_command order by all") == [(1,), (2,)]
    assert store.query("select line from emission") == [(2,)]
    assert store.query("select line, reason from skipped") == [(0, "session d: id is 'x', no whole number")]


def test_a_table_whose_module_is_missing(tmp_path: Path, store: Store) -> None:
    for path in (rtk_database(tmp_path / "history.db"), session_database(tmp_path / "session.db")):
        docker_agent.change(
            path,
            "pragma writable_schema = on",
            "insert into sqlite_master values ('table', 'v', 'v', 0, 'create virtual table v using none(x)')",
        )
    assert import_paths(store, [tmp_path]).unreadable == []
    assert store.query("select (select count(*) from rtk_command), (select count(*) from emission)") == [
        (2, 1)
    ]


def test_figures_of_numbers_beyond_all_sense_are_json(tmp_path: Path, store: Store) -> None:
    """Each alone is a count; what they make together is none."""
    rows = [("s", "0" * 64, "x", tokens, 1, 0, times, STAMP, STAMP) for tokens, times in OUTPUTS]
    commands = [ROW._replace(output_tokens=LARGEST - 1, input_tokens=LARGEST - 1)] * 50
    rtk.write_history(tmp_path / "a.db", rtk.Generation.PR2937, commands, session_outputs=rows)
    items = [
        docker_agent.assistant(number, cost=cost) for number, cost in enumerate([DEAREST - 1, 1e308] * 9)
    ]
    docker_agent.database(tmp_path / "b.db", 38, docker_agent.session("d", items))
    import_paths(store, [tmp_path])
    assert store.query("select line, reason from skipped order by all") == [
        (2, f"session_outputs: emit_count is 4, of {LARGEST // 2:,} tokens each"),
        (3, f"session_outputs: output_tokens is {2**62}, beyond {LARGEST:,}"),
        (4, f"session_outputs: emit_count is {2**62}, beyond {LARGEST:,}"),
    ]
    realised = rtk_realised(store.connection)
    assert realised is not None
    assert realised.saved_tokens == LARGEST // 4
    assert json.loads(document.render(build(store)), parse_constant=pytest.fail)
    assert store.query("select isfinite(sum(cost_usd)) from request") == [(True,)]


# -- sizes ---------------------------------------------------------------------------------------------------


def test_a_value_or_a_row_that_is_too_long(tmp_path: Path, store: Store) -> None:
    long, half = ROW._replace(original_cmd="x" * 1001), "x" * 400
    whole = ROW._replace(original_cmd=half, rtk_cmd=half, project_path=half)
    history = tmp_path / "history.db"
    rtk.write_history(history, commands=[ROW, long, ROW, whole, long, long, ROW])
    docker_agent.change(history, "update commands set rtk_cmd = zeroblob(5000000) where id = 5")
    import_paths(store, [history], max_line_bytes=1000)
    assert store.query("select native_id from rtk_command order by all") == [(1,), (3,), (7,)]
    assert store.query("select line, reason from skipped order by all") == [
        (number, "commands: longer than 1000 bytes") for number in (2, 4, 5, 6)
    ]
    end = ", primary key (id)) without rowid"
    remade(history, {"commands": end})
    import_paths(store, [history], max_line_bytes=1000)
    assert store.query("select line from skipped order by all") == [(2,), (4,), (5,), (6,)]


def test_items_that_are_too_long(tmp_path: Path, store: Store) -> None:
    items = [*docker_agent.read("c1", "a", "x", 1), docker_agent.user("y" * 5000, 3)]
    docker_agent.database(tmp_path / "new.db", 38, docker_agent.session("d", items))
    docker_agent.database(
        tmp_path / "old.db", 10, docker_agent.session("e", items), docker_agent.session("f", items[:2])
    )
    docker_agent.change(
        tmp_path / "old.db", "update sessions set messages = zeroblob(34000000) where id = 'e'"
    )
    import_paths(store, [tmp_path], max_line_bytes=5000)
    assert store.query("select line, reason from skipped order by all") == [
        (0, f"session e: its messages are longer than {32 << 20} bytes"),
        (3, "session d: longer than 5000 bytes"),
    ]
    assert store.query("select count(*) from emission") == [(2,)]


def test_more_text_than_the_memory_of_an_import_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupstats.store.store.IMPORT_MEMORY", "30MB")
    monkeypatch.setattr("dedupstats.ingest.write.HELD_BYTES", 6_000_000)
    commands = [ROW._replace(original_cmd=chr(97 + number) * 3_000_000) for number in range(14)]
    path = rtk.write_history(tmp_path / "history.db", commands=commands)
    with open_store(tmp_path / "a.duckdb") as store:
        import_paths(store, [path])
    docker_agent.change(path, "update commands set input_tokens = 1 where id = 1")
    # the store is known to need more than an import takes by itself
    with open_store(tmp_path / "a.duckdb") as store:
        import_paths(store, [path])
        assert store.query("select count(*), sum(strlen(original)) from rtk_command") == [(14, 42_000_000)]


def test_long_texts_fill_a_batch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store) -> None:
    monkeypatch.setattr("dedupstats.ingest.write.BATCH_BYTES", 5000)
    commits = []
    monkeypatch.setattr("dedupstats.ingest.take.gc.collect", commits.append)
    for number in range(3):
        rtk.write_history(tmp_path / f"{number}.db", commands=[ROW._replace(original_cmd=f"{number}" * 5001)])
    rtk.write_history(tmp_path / "3.db", commands=[ROW])
    import_paths(store, [tmp_path])
    assert len(commits) == 3


def test_no_memory_is_no_full_disk() -> None:
    for text in (
        "Out of Memory Error: could not allocate block of size 14.3 MiB (143.3 MiB/152.5 MiB used)",
        "FATAL Error: Failed to create checkpoint because of error: failed to pin block of size 14.3 MiB",
    ):
        error = refused("a.duckdb", duckdb.OutOfMemoryException(text))
        assert error.message == f"not enough memory for a.duckdb: {text}"
        assert "make room" not in error.hint
