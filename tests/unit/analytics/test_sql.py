"""Fault case X19 and its kind: a person's SQL reads the store, and nothing else is read or written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.command import run
from support.judged import Result, put

from dedupstats.analytics.sql import answer, open_locked, views
from dedupstats.errors import UsageError
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.store import Store


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "s.duckdb"
    with open_store(path) as store:
        put(store, [Result(5), Result(7)])
    return path


@pytest.fixture
def locked(path: Path) -> Iterator[Store]:
    with open_locked(path) as store:
        yield store


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{leak}'",
        "copy emission to '{leak}' (format parquet)",
        "explain analyze copy (select 1) to '{leak}'",
        "explain /* */ analyze copy (select 1) to '{leak}'",
        "explain copy (select 1) to '{leak}'",
        "export database '{leak}'",
        "attach '{leak}'",
        "attach '{leak}' as other (type duckdb)",
        "install httpfs",
        "load '{leak}'",
        "pragma database_list",
        "set enable_external_access = true",
        "reset lock_configuration",
        "call enable_logging()",
        "create table t as select 1",
        "create temp table t as select 1",
        "insert into raw.unit values (1, 'x', 'y', 0)",
        "update raw.unit set key = 'z'",
        "delete from raw.emission",
        "drop view emission",
        "with gone as (delete from raw.emission returning 1) from gone",
        "explain analyze delete from raw.emission",
        "checkpoint",
        "use raw",
        "vacuum",
        "begin",
        "prepare p as select 1",
        "comment on view emission is 'x'",
        "create secret (type s3)",
        "import database '{secret}'",
        "from '{secret}'",
        "from read_csv('{secret}')",
        "from read_text('{secret}')",
        "from read_blob('{secret}')",
        "from read_json('{secret}')",
        "from read_parquet('{secret}')",
        "from sniff_csv('{secret}')",
        "from query('from read_text(''{secret}'')')",
        "from query_table('{secret}')",
        "describe from read_text('{secret}')",
        "summarize from '{secret}'",
        "explain analyze from read_text('{secret}')",
        "from glob('{folder}/*')",
        "from duckdb_secrets()",
        "select getenv('HOME')",
        "from parquet_metadata('{secret}')",
        "from read_duckdb('{secret}')",
        "select 1; select 2",
        "select 1; copy (select 1) to '{leak}'",
        "",
        "   ",
        "-- nothing",
        "selec 1",
    ],
)
def test_what_writes_or_reaches_out_is_refused(locked: Store, tmp_path: Path, path: Path, sql: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("token-of-the-user\n")
    before = path.read_bytes()
    with pytest.raises(UsageError) as caught:
        answer(locked, sql.format(leak=tmp_path / "leak", secret=secret, folder=tmp_path))
    assert "token-of-the-user" not in caught.value.message + caught.value.hint
    assert "\n" not in caught.value.message + caught.value.hint
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.txt"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from emission",
        "from emission select count(*)",
        "with a as (select count(*) as n from emission) from a",
        "select 2;",
        "-- how many\nselect count(*) /* of */ from emission",
        "values (2)",
    ],
)
def test_what_reads_is_answered(locked: Store, sql: str) -> None:
    assert answer(locked, sql).rows == [(2,)]


@pytest.mark.parametrize(
    "sql", ["describe emission", "summarize session", "show tables", "explain from session"]
)
def test_what_describes_is_answered(locked: Store, sql: str) -> None:
    assert answer(locked, sql).rows


def test_frames_of_the_caller_are_out_of_reach(locked: Store) -> None:
    frame = [1, 2, 3]
    with pytest.raises(UsageError, match="frame does not exist"):
        answer(locked, "from frame")
    assert frame


def test_columns_of_one_name_are_told_apart(locked: Store) -> None:
    assert answer(locked, "select 1 as a, 2 as b, 3 as a, 4 as a").columns == ("a", "b", "a_2", "a_3")


def test_a_wrong_name_is_refused_with_the_right_one(locked: Store) -> None:
    with pytest.raises(UsageError, match="emisson does not exist") as caught:
        answer(locked, "from emisson")
    assert caught.value.hint == 'Did you mean "emission"?'
    assert caught.value.exit_code == 2


def test_views_are_all_documented(locked: Store) -> None:
    listed = views(locked)
    names = {row[0] for row in listed}
    assert {"emission", "emission_repeat", "request", "session", "rtk_command", "skipped"} <= names
    for view in names:
        described = {column[0] for column in answer(locked, f"describe {view}").rows}
        assert described == {row[1] for row in listed if row[0] == view and row[1] is not None}
    assert all(comment for *_, comment in listed)


def test_x19_by_the_command(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("sql", "COPY (SELECT 1) TO 'leak.csv'", "--db", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("dedupstats: COPY is not run here: the store can only be read\n")
    assert not list(tmp_path.iterdir())


def test_types_of_every_kind_in_every_format(path: Path, tmp_path: Path) -> None:
    query = (
        "select 170141183460469231731687303715884105727::hugeint as h, sum(bytes) as s, "
        "'\\x00'::blob as b, {'a': 1} as st, [1, null] as l, map {'k': 1} as m, uuid() as u, "
        "1.5::decimal(9, 2) as d, 'nan'::double as n, interval 1 day as i, date '2026-01-02' as dt, "
        "timestamptz '2026-01-02 03:04:05+00' as tz, time '12:00' as tm, true as ok, null as nothing "
        "from emission"
    )
    for form in ("table", "md", "csv", "json", "parquet"):
        out = tmp_path / form
        ran = run("sql", query, "--format", form, "-o", str(out), "--db", str(path))
        assert (ran.code, ran.err) == (0, "")
        assert out.stat().st_size
    (row,) = json.loads((tmp_path / "json").read_bytes(), parse_constant=pytest.fail)["rows"]
    assert row["s"] == 12
    assert row["h"] == str(2**127 - 1)
    assert (row["b"], row["st"], row["l"], row["n"], row["d"]) == ("00", {"a": 1}, [1, None], None, 1.5)


def test_people_get_the_first_rows_and_programs_all(path: Path) -> None:
    shown = run("sql", "from range(1500)", "--db", str(path)).out
    assert "The first 1,000 of 1,500 rows" in shown
    assert len(run("sql", "from range(1500)", "--format", "csv", "--db", str(path)).out.splitlines()) == 1501


def test_an_answer_that_is_too_large_to_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupstats.analytics.sql.MOST_CELLS", 40_000)
    path = tmp_path / "s.duckdb"
    with open_store(path):
        pass
    with open_locked(path) as store:
        assert len(answer(store, "select i, i from range(20000) t(i)").rows) == 20_000
        # what is not fetched is not made: the whole answer would take hours
        with pytest.raises(UsageError, match="more than 40,000 rows") as caught:
            answer(store, "from range(3000000000000)")
        assert "limit" in caught.value.hint
