from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from dedupstats import model
from dedupstats.errors import StoreError
from dedupstats.store import MIGRATIONS, default_path, open_store

if TYPE_CHECKING:
    from pathlib import Path

RENAMED = {"at": "ts", "klass": "class"}
"""Fields whose column has another name: `at` is a reserved word of DuckDB, `class` one of Python."""

TABLES = {
    "raw.context": (["unit_key", "source", "session_key"], model.Context),
    "raw.turn": ([], model.Turn),
    "raw.request": ([], model.Request),
    "raw.emission": (["left_at", "left_line"], model.Emission),
    "raw.entered": ([], model.Entered),
    "raw.rtk_command": (["unit_key"], model.RtkCommand),
    "raw.rtk_output": (["unit_key"], model.RtkOutput),
    "raw.rtk_hook_decision": (["unit_key"], model.RtkHookDecision),
    "raw.file_count": (["unit_key"], model.FileCount),
    "raw.ignored": (["unit_key"], model.Ignored),
    "raw.skipped": (["unit_key"], model.Skipped),
}


@pytest.mark.parametrize("table", TABLES)
def test_columns_are_the_fields_of_the_record(table: str) -> None:
    front, record = TABLES[table]
    with open_store(":memory:") as store:
        schema, name = table.split(".")
        columns = store.query(
            "select column_name from duckdb_columns() where schema_name = ? and table_name = ? "
            "order by column_index",
            [schema, name],
        )
    fields = [RENAMED.get(field, field) for field in record._fields]
    assert [column for (column,) in columns] == front + fields


def test_everything_in_the_store_is_commented(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.duckdb") as store:
        silent = store.query(
            "select table_name, column_name from duckdb_columns() where not internal and comment is null "
            "union all select table_name, '' from duckdb_tables() where not internal and comment is null "
            "union all select view_name, '' from duckdb_views() where not internal and comment is null"
        )
    assert silent == []


def test_column_types_are_the_few_that_merge_everywhere() -> None:
    with open_store(":memory:") as store:
        types = store.query(
            "select distinct data_type from duckdb_columns() where not internal and schema_name <> 'main'"
        )
    assert {name for (name,) in types} == {"BIGINT", "BOOLEAN", "DOUBLE", "VARCHAR", "BLOB"}


def test_a_new_store_and_its_log_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    old = os.umask(0o022)
    try:
        with open_store(path) as store:
            store.append("raw.name", [(1, "x")])
            wal = tmp_path / "a.duckdb.wal"
            assert wal.exists()
            assert stat.S_IMODE(wal.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert os.umask(0o022) == 0o022, "the process's own umask is back"
    finally:
        os.umask(old)


def test_a_newer_store_is_refused_with_both_numbers_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with open_store(path) as store:
        store.query("insert into raw.migration values (?, 'future', 0)", [MIGRATIONS() + 1])
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(
            StoreError, match=f"format {MIGRATIONS() + 1}, this program knows up to {MIGRATIONS()}"
        ):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_an_older_store_gets_its_views_anew_even_for_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with open_store(path) as store:
        store.query("drop view turn")
        store.query("update raw.meta set value = 'older' where key = 'views'")
    with open_store(path, read_only=True) as store:
        assert store.query("select count(*) from turn") == [(0,)]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a database at all, but long enough" * 200, "not a DuckDB file"), (b"", "not a DuckDB file")],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.duckdb"
    path.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=message):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == content


def test_somebody_elses_duckdb_file(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table mine (a int)").fetchall()
    for read_only in (True, False):
        with pytest.raises(StoreError, match="no dedupstats store"):
            open_store(path, read_only=read_only)


def test_a_missing_store_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at") as caught:
        open_store(tmp_path / "none.duckdb", read_only=True)
    assert "dedupstats import" in caught.value.hint


def test_a_store_held_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    open_store(path).close()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, duckdb; c = duckdb.connect(sys.argv[1]);print('held', flush=True); sys.stdin.read()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for read_only in (True, False):
            with pytest.raises(StoreError, match="is in use by") as caught:
                open_store(path, read_only=read_only)
            assert "\n" not in caught.value.message
    finally:
        holder.communicate(b"")


def test_a_log_that_cannot_be_replayed_is_named_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    wal = tmp_path / "a.duckdb.wal"
    open_store(path).close()
    # a process that dies leaves its log behind; a full disk then cuts it
    script = (
        "import os, sys; from dedupstats.store import open_store; s = open_store(sys.argv[1]);"
        "s.append('raw.name', [(n, 'x' * 100) for n in range(5000)]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    content = wal.read_bytes()
    wal.write_bytes(content[:50] + b"\xff" * (len(content) // 2))
    with pytest.raises(StoreError, match=r"a\.duckdb\.wal") as caught:
        open_store(path)
    assert "\n" not in caught.value.message
    assert wal.exists()
    assert path.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # tests may run as root, for whom nothing is unwritable: the question itself is answered with no
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match=f"{tmp_path} is not writable"):
        open_store(tmp_path / "a.duckdb")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        open_store(tmp_path / "file" / "a.duckdb")


def test_a_transaction_is_all_or_nothing() -> None:
    with open_store(":memory:") as store:
        store_and_fail = pytest.raises(duckdb.ConversionException)
        with store_and_fail, store.transaction():
            store.append("raw.name", [(1, "x"), ("no number", "x")])
        assert store.query("select count(*) from raw.name") == [(0,)]


def test_the_environment_names_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEDUPSTATS_DB", str(tmp_path / "x.duckdb"))
    assert default_path() == tmp_path / "x.duckdb"


def test_a_frame_has_the_columns_of_the_query() -> None:
    with open_store(":memory:") as store:
        frame = store.frame("select 1 as a, 'x' as b where $n = 2", {"n": 2})
    assert frame.to_dicts() == [{"a": 1, "b": "x"}]


def test_a_sparing_statement_gets_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupstats.store.store.SPARE_MEMORY", ("1MB", "12MB"))
    with open_store(":memory:") as store:
        store.query("create table t as select i from range(3_000_000) t(i)")
        limit = store.query("select current_setting('memory_limit')")
        # one value of 24 MB, more than any of these limits
        sql = "select len(list(i)) as n, sum(i)::bigint as whole from t"
        expected = 3_000_000 * 2_999_999 // 2
        assert store.query_sparingly(sql) == [(3_000_000, expected)]
        assert {name: values.tolist() for name, values in store.arrays(sql).items()} == {
            "n": [3_000_000],
            "whole": [expected],
        }
        assert store.query("select current_setting('memory_limit')") == limit


def test_a_sparing_statement_leaves_the_callers_threads() -> None:
    with open_store(":memory:") as store:
        store.query("set threads = 2")
        store.query_sparingly("create temp table t as select $n as n", {"n": 3})
        assert store.query("select current_setting('threads')") == [(2,)]
        assert store.query("from t") == [(3,)]
