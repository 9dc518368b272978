"""`dedupstats simulate`: what elision policies would have done on this history, and how true it was."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import (
    Db,
    Form,
    Model,
    Output,
    Project,
    Session,
    Settings,
    ShellReads,
    TokenRule,
    Tool,
    Tools,
    Unit,
    Until,
    opened,
    reprice,
    typed,
    window_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupstats.analytics.replays import Replays
    from dedupstats.simulate.save import Spool
    from dedupstats.store import Store

_LONGEST_NAME = 200


def simulate(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A policy: docker-agent:v2, rtk, safe, or docker-agent,min_bytes=512; can be repeated.",
            show_default="all",
        ),
    ] = None,
    setting: Settings = None,
    scope: Annotated[
        Literal["session", "history"],
        typer.Option(help="A process of the engine for each session, or one for all in order of time."),
    ] = "session",
    tools: Tools = None,
    shell_reads: ShellReads = False,
    by: Annotated[
        Literal["policy", "reason", "tool", "session", "ladder", "risk"],
        typer.Option(help="What each row is, beside the policy."),
    ] = "policy",
    unit: Unit = "tokens",
    tokens: TokenRule = "ladder",
    since: Annotated[
        str | None,
        typer.Option(help="Count from then on: 2026-09-15, 2026-09-15T12:00, or 7d, 12h, 4w ago."),
    ] = None,
    until: Until = None,
    tz: Annotated[
        str | None,
        typer.Option(help="Time zone of dates.", show_default="local"),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Count only this agent: claude-code, docker-agent."),
    ] = None,
    project: Project = None,
    tool: Tool = None,
    model: Model = None,
    session: Session = None,
    form: Form = None,
    output: Output = None,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Keep every decision in the store, for the view `decision`; the same name replaces.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; the figures are the same.")] = 1,
    db: Db = None,
) -> None:
    """What elision policies would have done on this history, and whether their markers were true.

    The whole history is replayed; a window chooses what is counted. Every engine is shown as its host runs
    it, then as documented. Only true elisions count as saved. Parameters: docs/REFERENCE.md, Policies.

    Other formats than tables hold every figure in all four units. Prices are the list prices of each
    request's own time; DEDUPSTATS_PRICES names a file with prices of your own.

    Saved decisions are asked for with `dedupstats sql "from decision where name = 'NAME'"`; its column
    is_current turns false once an import has changed the history.

    Example: dedupstats simulate --policy docker-agent --policy rtk --set min_bytes=512 --by tool
    """
    from dedupstats.analytics.units import check_unit
    from dedupstats.report.tables import table_format
    from dedupstats.simulate.knowledge import Knowledge, read_tools
    from dedupstats.simulate.variants import variants

    form = table_format(form, output)
    check_unit(unit, tokens)
    chosen = variants(policy or (), setting or ())
    knowledge = Knowledge(read_tools(tools) if tools else {}, shell_reads)
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
    _check_name(save)
    if tokens == "ladder":
        reprice(db)

    def run(store: Store, spool: Spool | None, progress: Callable[[int, int], None]) -> Replays:
        from dedupstats.analytics.replays import replayed

        return replayed(
            store,
            chosen,
            window=window,
            scope=scope,
            knowledge=knowledge,
            jobs=jobs,
            spool=spool,
            tokens=tokens,
            progress=progress,
        )

    found = _replay(run, save, db)
    _print(found, by, unit, form, output)


def _check_name(name: str | None) -> None:
    from dedupstats.errors import UsageError
    from dedupstats.report.text import safe_text

    if name is None:
        return
    typed("--save", name)
    if not name.strip():
        raise UsageError("--save wants a name", "e.g. --save before")
    if len(name) > _LONGEST_NAME or safe_text(name) != name:
        raise UsageError(
            f"--save wants a name of at most {_LONGEST_NAME} plain characters", "e.g. --save before"
        )


def _replay(
    run: Callable[[Store, Spool | None, Callable[[int, int], None]], Replays],
    save: str | None,
    db: Path | None,
) -> Replays:
    """Replay with the store open for reading; then, if the decisions are to be saved, for writing."""
    import shlex
    import time
    from tempfile import TemporaryDirectory

    from dedupstats.cli.progress import Bar
    from dedupstats.simulate.save import Spool
    from dedupstats.store import open_store

    folder = nullcontext("") if save is None else TemporaryDirectory(prefix="dedupstats-")
    with folder as place:
        spool = None if save is None else Spool(Path(place))
        with opened(db) as store, Bar("Replaying") as bar:
            # no import can come in between while the store is open
            begun = time.time_ns() // 1000
            found = run(store, spool, bar.update)
        if save is not None and spool is not None:
            with open_store(db) as store:
                kept = spool.keep(store, save, found.simulation, found.knowledge, begun)
            quoted = save.replace("'", "''")
            query = shlex.quote(f"from decision where name = '{quoted}'")
            typer.echo(f"{kept:,} decisions on the whole history saved: dedupstats sql {query}", err=True)
    return found


def _print(
    found: Replays,
    by: Literal["policy", "reason", "tool", "session", "ladder", "risk"],
    unit: Literal["tokens", "sent", "usd", "share"],
    form: Literal["table", "md", "csv", "json", "parquet"],
    output: Path | None,
) -> None:
    from dedupstats.report import replay_forms, replay_tables
    from dedupstats.report.tables import deliver, json_document, written, written_for_people
    from dedupstats.report.text import safe_text

    data: str | bytes
    notes = replay_tables.notes(found, "tokens", "sent", "usd", "share")
    if form in {"table", "md"}:
        data = written_for_people(replay_tables.people_tables(found, by, unit), form, output)
    elif form == "json":
        data = json_document(replay_forms.document(found, notes))
    else:
        data = written(replay_forms.flat_table(found, by), form)
    deliver(data, output)
    if form not in {"table", "md"}:
        for note in notes:
            typer.echo(safe_text(note), err=True)
