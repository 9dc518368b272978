"""Appending wide rows fast.

DuckDB's appender hands a small Python integer over as INTEGER and casts each one to the BIGINT of our
tables, which costs five times as much as storing it (350 against 70 ns a cell). The widest tables are
therefore filled by way of a temporary table whose counting columns are INTEGER; one `insert` then widens
whole columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from dedupstats.store import Store

_STAGED = ("raw.emission", "raw.request", "raw.entered")
_HASHES, _TIMES = ("_key", "sha64"), frozenset({"ts", "clock"})
"""Endings, and names, of columns whose values are large as a rule: hashes and microseconds."""


class Stages:
    """The temporary tables of one import."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stages = {table: self._make(table) for table in _STAGED}

    def _make(self, table: str) -> str:
        schema, name = table.split(".")
        small = [
            column
            for (column,) in self._store.query(
                "select column_name from duckdb_columns() where schema_name = ? and table_name = ? "
                "and data_type = 'BIGINT' order by column_index",
                [schema, name],
            )
            if not column.endswith(_HASHES) and column not in _TIMES
        ]
        narrowed = ", ".join(f"{column}::integer as {column}" for column in small)
        self._store.query(
            f"create or replace temp table stage_{name} as select * replace ({narrowed}) from {table} limit 0"
        )
        return f"stage_{name}"

    def append(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Append rows to a table, through its stage if it has one.

        Raises:
            duckdb.InvalidInputException: A text holds a lone surrogate; nothing was written.
        """
        stage = self._stages.get(table)
        if stage is None or not rows:
            self._store.append(table, rows)
            return
        try:
            self._store.append(stage, rows)
        except duckdb.ConversionException:
            # a count beyond 32 bits, in a log that lies
            self._store.append(table, rows)
            return
        self._store.query(f"insert into {table} from {stage}")
        self._store.query(f"delete from {stage}")
