"""Options that several commands share, declared once, and how commands open the store."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.analytics.window import Window
    from dedupstats.store import Store

Db = Annotated[
    Path | None,
    typer.Option(
        "--db",
        envvar="DEDUPSTATS_DB",
        help="The store (a DuckDB file).",
        show_default="in your data folder",
        rich_help_panel="Store",
    ),
]

Since = Annotated[
    str | None, typer.Option(help="From then on: 2026-09-15, 2026-09-15T12:00, or 7d, 12h, 4w ago.")
]
Until = Annotated[str | None, typer.Option(help="Until then; a date includes its whole day.")]
Tz = Annotated[str | None, typer.Option(help="Time zone of dates and days.", show_default="local")]
Agent = Annotated[list[str] | None, typer.Option(help="Only this agent: claude-code, docker-agent.")]
Project = Annotated[list[str] | None, typer.Option(help="Only this working directory, or its last part.")]
Tool = Annotated[list[str] | None, typer.Option(help="Only this tool.")]
Model = Annotated[list[str] | None, typer.Option(help="Only this model.")]
Session = Annotated[
    list[str] | None, typer.Option(help="Only the session with this id, or those whose id begins so.")
]
Form = Annotated[
    Literal["table", "md", "csv", "json", "parquet"] | None,
    typer.Option("--format", help="Guessed from the file's name.", show_default="table"),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
TokenRule = Annotated[
    Literal["ladder", "bytes4"],
    typer.Option(
        "--tokens", help="Measured or estimated, as well as the log allows; or bytes / 4, as RTK counts."
    ),
]
UNITS = (
    "tokens as they come; sent: times the requests that carried them; usd: the list price of that; "
    "share: of what all input cost."
)
Unit = Annotated[
    Literal["tokens", "sent", "usd", "share"], typer.Option(help=f"{UNITS[0].upper()}{UNITS[1:]}")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of every policy that has it, or of one: rtk.min_tokens=50; can be repeated.",
    ),
]
Tools = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What you know of tools, TOML: [tools.NAME] with read_only and category.",
    ),
]
ShellReads = Annotated[
    bool,
    typer.Option(
        "--shell-reads",
        help="Shell commands that are seen to only read count as read-only for every policy.",
    ),
]


def window_of(
    *,
    since: str | None,
    until: str | None,
    tz: str | None,
    agent: list[str] | None,
    project: list[str] | None,
    tool: list[str] | None,
    model: list[str] | None,
    session: list[str] | None = None,
) -> Window:
    """What is counted, from the options as they were typed.

    Raises:
        UsageError: A date, span or time zone that cannot be read, or a window that ends before it begins.
    """
    from datetime import UTC, datetime

    from dedupstats.analytics.window import Window, local_zone, parse_since, parse_until, zone_info
    from dedupstats.errors import UsageError

    zone = tz or local_zone()
    zone_info(zone)
    now = datetime.now(UTC)
    begins = parse_since(since, zone, now) if since else None
    ends = parse_until(until, zone, now) if until else None
    if begins is not None and ends is not None and begins >= ends:
        raise UsageError(
            f"--since {since} is not before --until {until}: nothing lies between", "swap the two"
        )
    return Window(
        since=begins,
        until=ends,
        sources=tuple(name.lower().replace("-", "_").replace(" ", "_") for name in agent or ()),
        projects=tuple(name.rstrip("/\\") or name for name in project or ()),
        tools=tuple(tool or ()),
        models=tuple(model or ()),
        sessions=tuple(typed("--session", one) for one in session or ()),
        zone=zone,
    )


def typed(name: str, text: str) -> str:
    """A text of the command line, if it is one.

    Raises:
        UsageError: It is not UTF-8: nothing in the store can be called so.
    """
    from dedupstats.errors import UsageError
    from dedupstats.report.text import valid_utf8

    if valid_utf8(text) != text:
        raise UsageError(f"{name} is not UTF-8: {text[:100]}", "type it again, or paste it as UTF-8")
    return text


@contextmanager
def opened(db: Path | None) -> Iterator[Store]:
    """The store for reading, with a word on stderr if an import was stopped half-way.

    Raises:
        StoreError: As `dedupstats.store.open_store`.
    """
    from dedupstats.store import open_store

    with open_store(db, read_only=True) as store:
        warn_if_stale(store)
        yield store


@contextmanager
def priced(db: Path | None) -> Iterator[Store]:
    """The store for reading, with figures of today's price list: made anew if they are of another one.

    Raises:
        NothingFoundError: It holds no requests.
        StoreError: As `dedupstats.store.open_store`.
        UsageError: Prices of your own cannot be read.
    """
    from dedupstats.cli.nothing import refuse_without

    reprice(db)
    with opened(db) as store:
        refuse_without(store, "requests of a model")
        yield store


def reprice(db: Path | None) -> None:
    """Make the store's figures anew if they are of another price list than today's.

    Raises:
        StoreError: It cannot be opened, or must be written and cannot.
        UsageError: Prices of your own cannot be read.
    """
    from dedupstats.errors import StoreError
    from dedupstats.history.pricing import is_priced, price_list
    from dedupstats.store import open_store

    prices = price_list()
    with open_store(db, read_only=True) as store:
        is_fresh = is_priced(store, prices) or not store.query("select 1 from unit limit 1")
    if is_fresh:
        return
    from dedupstats.history.costs import settle_costs

    try:
        with open_store(db) as store, store.transaction():
            settle_costs(store, prices)
    except StoreError as error:
        raise StoreError(
            f"the figures are of other prices or an older program and cannot be made anew: {error.message}",
            error.hint,
        ) from error


@contextmanager
def writing(db: Path | None) -> Iterator[Store]:
    """The store for an import; one that was made for nothing is taken away again.

    Raises:
        StoreError: As `dedupstats.store.open_store`.
    """
    from dedupstats.paths import expanded
    from dedupstats.store import default_path, open_store

    path = expanded(db or default_path())
    is_new, is_empty = not path.exists(), False
    try:
        with open_store(path) as store:
            try:
                yield store
            finally:
                is_empty = is_new and not store.query("select 1 from raw.unit limit 1")
    finally:
        if is_empty:
            path.unlink()


def warn_if_stale(store: Store) -> None:
    """Say on stderr that the figures are those of the last finished import, if a later one was stopped."""
    if store.is_stale:
        typer.echo(
            "the last import was stopped before its end: figures leave out or mix what it read; "
            "type `dedupstats import` to finish it",
            err=True,
        )
