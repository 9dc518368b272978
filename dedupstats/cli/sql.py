"""`dedupstats sql`: a person's own SQL over the documented views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dedupstats.cli.options import Db, Form, Output, typed, warn_if_stale

if TYPE_CHECKING:
    from dedupstats.report.tables import Kind, Table
    from dedupstats.store import Store

_SHOWN_ROWS = 1_000
"""Rows of a table for people; programs get all."""


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUERY]", help="One SELECT, FROM, WITH, DESCRIBE or SUMMARIZE; with --views, a view."
        ),
    ] = None,
    views: Annotated[
        bool, typer.Option("--views", help="List the views and their columns, or those of one view.")
    ] = False,
    form: Form = None,
    output: Output = None,
    db: Db = None,
) -> None:
    """Run read-only SQL (DuckDB) on the store's views.

    Nothing can be written and no file be reached. Times are UTC. A result that a resume or fork wrote again
    is a row of its own: `where not is_copy` counts each once. The views are documented and stable; the
    tables of the schemas raw and derived behind them are not.

    Example: dedupstats sql "select tool, count(*) from emission where not is_copy group by all"
    """
    import sys

    from dedupstats.analytics.sql import answer, open_locked
    from dedupstats.errors import UsageError
    from dedupstats.report.tables import Column, Table, deliver, table_format, width_of, written

    if not views and query is None:
        raise UsageError("give either a query or --views", 'e.g. dedupstats sql "from session limit 5"')
    query = None if query is None else typed("the query", query)
    form = table_format(form, output)
    stream = sys.stdout if output is None else None
    with open_locked(db) as store:
        warn_if_stale(store)
        if views:
            listed = _views(store, query)
            if form == "table" and (width := width_of(stream)) is not None:
                deliver(_listing(listed, width), output)
                return
            names = ("view", "column", "type", "comment")
            table = Table("", tuple(Column(name) for name in names), listed)
        else:
            found = answer(store, query or "")
            kinds = [_kind(name) for name in found.types]
            columns = tuple(Column(*pair) for pair in zip(found.columns, kinds, strict=True))
            table = Table("", columns, found.rows)
    if form in {"table", "md"}:
        table = _first_rows(table)
    deliver(written(table, form, stream=stream), output)


def _views(store: Store, name: str | None) -> list[tuple[str, str | None, str, str]]:
    """The documented views, or one of them."""
    from difflib import get_close_matches

    from dedupstats.analytics.sql import views as all_views
    from dedupstats.errors import UsageError

    rows = all_views(store)
    if name is None:
        return rows
    known = list(dict.fromkeys(row[0] for row in rows))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"views are {', '.join(known)}"
        raise UsageError(f"no view {name!r}", hint)
    return [row for row in rows if row[0] == name]


def _listing(rows: list[tuple[str, str | None, str, str]], width: int) -> str:
    """The views for a terminal: per view a heading and its columns."""
    from itertools import groupby

    from dedupstats.report.grid import definitions

    blocks = []
    for view, group in groupby(rows, key=lambda row: row[0]):
        (_, _, _, about), *columns = group
        cells = [(column or "", kind, comment) for _, column, kind, comment in columns]
        blocks.append(definitions(f"{view}: {about}", cells, width))
    return "\n\n".join(blocks) + "\n"


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
