"""`dedupstats sql`: a person's own SQL over the documented views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import Db, warn_if_stale

if TYPE_CHECKING:
    from dedupstats.report.tables import Kind, Table

_SHOWN_ROWS = 1_000
"""Rows of a table for people; programs get all."""


def sql(
    query: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="One SELECT, FROM, WITH, DESCRIBE or SUMMARIZE.")
    ] = None,
    views: Annotated[bool, typer.Option("--views", help="List the views and their columns.")] = False,
    form: Annotated[
        Literal["table", "md", "csv", "json", "parquet"], typer.Option("--format", help="Form of the output.")
    ] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    db: Db = None,
) -> None:
    """Run read-only SQL (DuckDB) on the store's views.

    Nothing can be written and no file be reached. Times are UTC. The views are documented and stable;
    the tables of the schemas raw and derived behind them are not.

    Example: dedupstats sql "select tool, count(*) from emission group by all order by 2 desc"
    """
    import sys

    from dedupstats.analytics.sql import answer, open_locked
    from dedupstats.analytics.sql import views as listed
    from dedupstats.errors import UsageError
    from dedupstats.report.tables import Column, Table, check_destination, deliver, written

    if views == (query is not None):
        raise UsageError("give either a query or --views", 'e.g. dedupstats sql "from session limit 5"')
    check_destination(form, output)
    with open_locked(db) as store:
        warn_if_stale(store)
        if query is None:
            names = ("view", "column", "type", "comment")
            table = Table("", tuple(Column(name) for name in names), listed(store))
        else:
            found = answer(store, query)
            kinds = [_kind(name) for name in found.types]
            columns = tuple(Column(*pair) for pair in zip(found.columns, kinds, strict=True))
            table = Table("", columns, found.rows)
    if form in {"table", "md"}:
        table = _first_rows(table)
    deliver(written(table, form, stream=sys.stdout if output is None else None), output)


def _first_rows(table: Table) -> Table:
    from dataclasses import replace

    if len(table.rows) <= _SHOWN_ROWS:
        return table
    note = f"The first {_SHOWN_ROWS:,} of {len(table.rows):,} rows; --format csv, json or parquet gives all."
    return replace(table, rows=table.rows[:_SHOWN_ROWS], notes=(note,))


def _kind(name: str) -> Kind:
    """The kind of column for a type of DuckDB; what is neither number, truth nor time is shown as text."""
    if name.removeprefix("U") in {"BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT"}:
        return "raw"
    if name in {"DOUBLE", "FLOAT"} or name.startswith("DECIMAL"):
        return "float"
    if name.startswith("TIMESTAMP"):
        return "time"
    return "bool" if name == "BOOLEAN" else "text"
