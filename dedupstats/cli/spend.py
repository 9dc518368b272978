"""`dedupstats spend`, `top`, `observed`: where tokens and money go, and what engines have done about it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import Db, opened, window_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.tables import Table
    from dedupstats.store import Store

Since = Annotated[
    str | None, typer.Option(help="From then on: 2026-09-15, 2026-09-15T12:00, or 7d, 12h, 4w ago.")
]
Until = Annotated[str | None, typer.Option(help="Until then; a date includes its whole day.")]
Tz = Annotated[str | None, typer.Option(help="Time zone of dates and days.", show_default="local")]
Agent = Annotated[list[str] | None, typer.Option(help="Only this agent: claude-code, docker-agent.")]
Project = Annotated[list[str] | None, typer.Option(help="Only this working directory, or its last part.")]
Model = Annotated[list[str] | None, typer.Option(help="Only this model.")]
Session = Annotated[
    list[str] | None, typer.Option(help="Only the session with this id, or those whose id begins so.")
]
Form = Annotated[
    Literal["table", "md", "csv", "json", "parquet"] | None,
    typer.Option("--format", help="Guessed from the file's name.", show_default="table"),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]


def spend(
    by: Annotated[
        Literal["project", "model", "agent", "session", "day"] | None,
        typer.Option(help="One row each, in front.", show_default="all as one"),
    ] = None,
    unit: Annotated[
        Literal["usd", "tokens", "share"], typer.Option(help="What the rows of --by are counted in.")
    ] = "usd",
    since: Since = None,
    until: Until = None,
    tz: Tz = None,
    agent: Agent = None,
    project: Project = None,
    model: Model = None,
    session: Session = None,
    form: Form = None,
    output: Output = None,
    full_paths: Annotated[bool, typer.Option("--full-paths", help="Projects with their whole path.")] = False,
    db: Db = None,
) -> None:
    """Where your tokens go: the input of all requests, by what stood in their prompts.

    Every request sends its whole context again, so a token is paid for many times. Prices are the list
    prices of each request's own time; DEDUPSTATS_PRICES names a file with prices of your own.

    Example: dedupstats spend --by project --since 30d
    """
    from dedupstats.analytics.spend import spend as calculate
    from dedupstats.report import spend_tables
    from dedupstats.report.tables import deliver, json_document, table_format, written

    form = table_format(form, output)
    window = window_of(
        since=since,
        until=until,
        tz=tz,
        agent=agent,
        project=project,
        tool=None,
        model=model,
        session=session,
    )
    with priced(db) as store:
        found = calculate(store, by=by, window=window)
    if not full_paths:
        found = spend_tables.short_names(found)
    notes = [] if found.total.requests else ["No request lies in this window."]
    if form in {"table", "md"}:
        _print(spend_tables.people_tables(found, unit, notes), form, output)
    elif form == "json":
        deliver(json_document(spend_tables.document(found, notes)), output)
    else:
        deliver(written(spend_tables.flat_table(found), form), output)


def top(
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many.")] = 10,
    since: Since = None,
    until: Until = None,
    tz: Tz = None,
    agent: Agent = None,
    project: Project = None,
    tool: Annotated[list[str] | None, typer.Option(help="Only this tool.")] = None,
    model: Model = None,
    session: Session = None,
    form: Form = None,
    output: Output = None,
    db: Db = None,
) -> None:
    """The tool results that cost most to carry, over all requests that sent them.

    Example: dedupstats top --tool Read --limit 20
    """
    from dataclasses import asdict

    from dedupstats.analytics.top import top as calculate
    from dedupstats.analytics.window import check_names
    from dedupstats.report import spend_tables
    from dedupstats.report.tables import deliver, json_document, table_format, written

    form = table_format(form, output)
    window = window_of(
        since=since,
        until=until,
        tz=tz,
        agent=agent,
        project=project,
        tool=tool,
        model=model,
        session=session,
    )
    with priced(db) as store:
        check_names(store, window)
        found = calculate(store, limit=limit, window=window)
    if form in {"table", "md"}:
        _print([spend_tables.top_table(found)], form, output)
    elif form == "json":
        deliver(json_document(asdict(found)), output)
    else:
        deliver(written(spend_tables.top_flat(found), form), output)


def observed(
    since: Since = None,
    until: Until = None,
    tz: Tz = None,
    agent: Agent = None,
    project: Project = None,
    model: Model = None,
    session: Session = None,
    form: Form = None,
    output: Output = None,
    db: Db = None,
) -> None:
    """What engines that already run have done: markers found in your logs.

    Whether the text that a marker stands for could still be seen, what it saved, and whether the model read
    the same target again, beside how often it does so after an identical result shown in full.

    Example: dedupstats observed --since 30d
    """
    from dataclasses import asdict

    from dedupstats.analytics.observed import observed as find
    from dedupstats.analytics.window import check_names
    from dedupstats.report import observed_tables
    from dedupstats.report.tables import deliver, json_document, table_format, written

    form = table_format(form, output)
    window = window_of(
        since=since,
        until=until,
        tz=tz,
        agent=agent,
        project=project,
        tool=None,
        model=model,
        session=session,
    )
    with priced(db) as store:
        check_names(store, window)
        found = find(store, window=window)
    if form in {"table", "md"}:
        _print([observed_tables.people_table(found)], form, output)
    elif form == "json":
        deliver(json_document(asdict(found) | {"notes": observed_tables.notes(found)}), output)
    else:
        deliver(written(observed_tables.flat_table(found), form), output)


@contextmanager
def priced(db: Path | None) -> Iterator[Store]:
    """The store for reading, with figures of today's price list: made anew if they are of another one.

    Raises:
        NothingFoundError: It holds no requests.
        StoreError: As `dedupstats.store.open_store`.
        UsageError: Prices of your own cannot be read.
    """
    from dedupstats.errors import NothingFoundError

    reprice(db)
    with opened(db) as store:
        if not store.query("select 1 from request_cost limit 1"):
            raise NothingFoundError(
                f"the store {store.path} holds no requests of a model",
                "type `dedupstats import` (default places) or `dedupstats import PATH`",
            )
        yield store


def reprice(db: Path | None) -> None:
    """Make the store's figures anew if they are of another price list than today's.

    Raises:
        StoreError: It cannot be opened, or must be written and cannot.
        UsageError: Prices of your own cannot be read.
    """
    from dedupstats.history.costs import is_priced, price_list, settle_costs
    from dedupstats.store import open_store

    prices = price_list()
    with open_store(db, read_only=True) as store:
        is_fresh = is_priced(store, prices) or not store.query("select 1 from unit limit 1")
    if not is_fresh:
        with open_store(db) as store, store.transaction():
            settle_costs(store, prices)


def _print(tables: list[Table], form: Literal["table", "md"], output: Path | None) -> None:
    import sys

    from dedupstats.report.tables import deliver, written

    stream = sys.stdout if output is None else None
    parts = [written(table, form, stream=stream) for table in tables]
    deliver("\n".join(part for part in parts if isinstance(part, str)), output)
