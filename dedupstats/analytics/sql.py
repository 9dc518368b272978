"""A person's own SQL over the store: it can read the store, and nothing else can happen (fault case X19).

Three locks, each enough by itself for most of what could go wrong: the store is opened for reading only;
DuckDB's access to files, other databases and Python is switched off and the switch locked; and only a single
statement that yields rows is run at all. The documented relations are the views of schema `main`; the tables
behind them (`raw`, `derived`) can be read as well, but change without notice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats.store import Store

_EXPLAIN = re.compile(r"\s*explain(\s+analyze\b)?(\s*\([^)]*\))?", re.IGNORECASE)
MOST_CELLS = 10_000_000
"""Values that an answer may have: all of them are held, which takes a gigabyte."""
_FETCHED_ROWS = 10_000
_ALLOWED = "SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW and EXPLAIN"


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query.

    Attributes:
        columns: Names, each once: a second `a` is called `a_2`.
        types: DuckDB's types as text (`BIGINT`).
        rows: All rows.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def open_locked(path: Path | str | None = None) -> Store:
    """Open a store so that SQL can do nothing but read it; the lock holds until it is closed.

    Raises:
        StoreError: As `dedupstats.store.open_store`.
    """
    from dedupstats.store import open_store

    store = open_store(path, read_only=True)
    store.query("set enable_external_access = false")
    store.query("set lock_configuration = true")
    return store


def answer(store: Store, sql: str) -> Answer:
    """Run one reading statement on a store from `open_locked`.

    Raises:
        UsageError: It is no single reading statement, DuckDB refuses it, or its answer is too large.
    """
    connection = store.connection
    try:
        _refuse_other_than_reading(connection, sql)
        result = connection.execute(sql)
        described = result.description or []
        rows: list[tuple[Any, ...]] = []
        while some := result.fetchmany(_FETCHED_ROWS):
            rows += some
            if len(rows) * len(described) > MOST_CELLS:
                raise UsageError(
                    f"the answer has more than {len(rows) - len(some):,} rows, too many to be held",
                    "add a limit or group the rows; `dedupstats export` writes whole views",
                )
    except duckdb.Error as error:
        raise _translated(error) from error
    return Answer(
        columns=_distinct([column[0] for column in described]),
        types=tuple(str(column[1]) for column in described),
        rows=rows,
    )


def _refuse_other_than_reading(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(f"{len(statements)} statements, and one is run at a time", f"allowed are {_ALLOWED}")
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE runs what it explains
        explained = connection.extract_statements(_EXPLAIN.sub("", statements[0].query, count=1))
        kind = explained[0].type if len(explained) == 1 else kind
    if kind != duckdb.StatementType.SELECT:
        raise UsageError(
            f"{kind.name} is not run here: the store can only be read", f"allowed are {_ALLOWED}"
        )


def _translated(error: duckdb.Error) -> UsageError:
    """DuckDB's message as one line, and its suggestion as the hint."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    near = next((line for line in lines if line.startswith(("Did you mean", "Candidate"))), "")
    message = lines[0] if lines else type(error).__name__
    return UsageError(message, near or "`dedupstats sql --views` lists views and columns")


def _distinct(names: list[str]) -> tuple[str, ...]:
    made: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted in made:
            number += 1
            wanted = f"{name}_{number}"
        made.append(wanted)
    return tuple(made)


def views(store: Store) -> list[tuple[str, str | None, str, str]]:
    """The documented views as (view, column, type, comment); the row of a view itself has no column.

    A store in memory holds no comments: they are None there.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     [row[:3] for row in views(store) if row[0] == "skipped"][1]
        ('skipped', 'unit_key', 'BIGINT')
    """
    return store.query(
        "select view_name, column_name, type, comment from ("
        "select view_name, null as column_name, '' as type, comment, 0 as place from duckdb_views() "
        "where schema_name = 'main' and not internal "
        "union all "
        "select c.table_name, c.column_name, c.data_type, c.comment, c.column_index from duckdb_columns() c "
        "join duckdb_views() v on v.view_name = c.table_name and v.schema_name = c.schema_name "
        "where c.schema_name = 'main' and not v.internal"
        ") order by view_name, place"
    )
