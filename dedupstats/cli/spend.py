"""`dedupstats spend`, `top`, `observed`: where tokens and money go, and what engines have done about it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import (
    Agent,
    Db,
    Form,
    Model,
    Output,
    Project,
    Session,
    Since,
    Tool,
    Tz,
    Until,
    opened,
    priced,
    reprice,
    window_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.store import Store


def spend(
    by: Annotated[
        Literal["project", "model", "agent", "session", "day"] | None,
        typer.Option(help="One row each, in front.", show_default="all as one"),
    ] = None,
    unit: Annotated[
        Literal["usd", "tokens", "share"] | None,
        typer.Option(help="What the rows of --by are counted in.", show_default="usd"),
    ] = None,
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
    from dedupstats.errors import UsageError
    from dedupstats.report import spend_tables
    from dedupstats.report.tables import deliver, json_document, table_format, written, written_for_people

    form = table_format(form, output)
    if unit is not None and by is None:
        raise UsageError("--unit says what the rows of --by are counted in", "add --by, e.g. --by project")
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
        tables = spend_tables.people_tables(found, unit or "usd", notes)
        deliver(written_for_people(tables, form, output), output)
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
    tool: Tool = None,
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
    from dedupstats.report.tables import deliver, json_document, table_format, written, written_for_people

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
        deliver(written_for_people([spend_tables.top_table(found)], form, output), output)
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
    from dedupstats.report.tables import deliver, json_document, table_format, written, written_for_people

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
    with _markers_or_rtk(db) as store:
        check_names(store, window)
        found = find(store, window=window)
    if form in {"table", "md"}:
        deliver(written_for_people([observed_tables.people_table(found)], form, output), output)
    elif form == "json":
        deliver(json_document(asdict(found) | {"notes": observed_tables.notes(found)}), output)
    else:
        deliver(written(observed_tables.flat_table(found), form), output)


@contextmanager
def _markers_or_rtk(db: Path | None) -> Iterator[Store]:
    """The store with figures of today's prices, refused if it holds neither requests nor rows of RTK's."""
    from dedupstats.cli.nothing import refuse_without

    reprice(db)
    with opened(db) as store:
        if not store.query("select 1 from rtk_command limit 1"):
            refuse_without(store, "requests of a model")
        yield store
