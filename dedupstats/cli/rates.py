"""`dedupstats rates`: how much of what agents were shown had been shown before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import (
    UNITS,
    Agent,
    Db,
    Form,
    Model,
    Output,
    Project,
    Session,
    Since,
    TokenRule,
    Tool,
    Tz,
    Until,
    opened,
    reprice,
    window_of,
)

if TYPE_CHECKING:
    from dedupstats.analytics.rates import Rates
    from dedupstats.analytics.window import Window
    from dedupstats.store import Store

_TARGETS = 30
"""rows of a table of targets for people: there may be thousands"""


def rates(
    by: Annotated[
        Literal["tool", "agent", "project", "session", "model", "version", "target", "day", "week", "month"],
        typer.Option(help="What each row is; target: what was read, run or searched."),
    ] = "tool",
    key: Annotated[
        Literal["exact", "normalised"],
        typer.Option(help="Compare calls exactly, or after normalising paths, blanks and descriptions."),
    ] = "exact",
    all_rules: Annotated[bool, typer.Option("--all-rules", help="Every repeat rule, not three.")] = False,
    unit: Annotated[
        Literal["tokens", "sent", "usd", "share"] | None,
        typer.Option(help=f"What results weigh: {UNITS}", show_default="bytes"),
    ] = None,
    tokens: TokenRule = "ladder",
    since: Since = None,
    until: Until = None,
    tz: Tz = None,
    agent: Agent = None,
    project: Project = None,
    tool: Tool = None,
    model: Model = None,
    session: Session = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Show so many rows, the rest as one; 0: all.",
            show_default=f"all; {_TARGETS} in a table of targets",
        ),
    ] = None,
    form: Form = None,
    output: Output = None,
    full_paths: Annotated[
        bool, typer.Option("--full-paths", help="Projects and targets with their whole path.")
    ] = False,
    db: Db = None,
) -> None:
    """How much of what agents were shown had been shown before, by tool or otherwise.

    A window cuts results, not sessions: whether a result repeats is judged on the whole history.
    --agent, --project, --tool, --model and --session may be given several times.

    Example: dedupstats rates --by project --since 30d --format md
    """
    from dedupstats.analytics.rates import limited
    from dedupstats.analytics.rates import rates as calculate
    from dedupstats.analytics.units import check_unit
    from dedupstats.report import rate_tables
    from dedupstats.report.tables import table_format

    form = table_format(form, output)
    check_unit(unit, tokens)
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
    if tokens == "ladder":
        reprice(db)
    with opened(db) as store:
        _check(store, window)
        found = calculate(store, by=by, key=key, all_rules=all_rules, tokens=tokens, unit=unit, window=window)
        notes = _notes(store, found)
    if limit is None and by == "target" and form in {"table", "md"}:
        limit = _TARGETS
    if limit:
        found = limited(found, limit)
    _print(found if full_paths else rate_tables.short_names(found), notes, form, output)


def _check(store: Store, window: Window) -> None:
    """Refuse a store without results, and names that it does not have."""
    from dedupstats.analytics.window import check_names
    from dedupstats.cli.nothing import refuse_without

    refuse_without(store, "tool results")
    check_names(store, window)


def _notes(store: Store, found: Rates) -> list[str]:
    """What a reader must know beside the figures, whatever the format."""
    from dedupstats.analytics.faults import faults
    from dedupstats.report.blocks import plural
    from dedupstats.report.text import count

    notes = []
    windowed = found.window.since is not None or found.window.until is not None
    if found.undated:
        where = "in no window, so left out" if windowed else "in the totals"
        notes.append(f"{count(found.undated)} results have no time: {where}.")
    if any(row.partial for row in found.rows):
        notes.append(f"(part): the window holds only a part of this {found.by}.")
    met = faults(store)
    if met.records or met.files:
        were = "record was" if met.records == 1 else "records were"
        unread = f" and {plural(met.files, 'file')} could not be read" if met.files else ""
        where = "" if found.window.is_everything else ", in the whole store"
        notes.append(
            f"{count(met.records)} {were} skipped when read{unread}{where}: "
            'dedupstats sql "from skipped order by all".'
        )
    if not found.total.results.results:
        notes.append("No tool result lies in this window.")
    elif not windowed:
        notes.append("Agents delete old logs (Claude Code after 30 days): earlier sessions may be missing.")
    return notes


def _print(
    found: Rates,
    notes: list[str],
    form: Literal["table", "md", "csv", "json", "parquet"],
    output: Path | None,
) -> None:
    from dedupstats.report import rate_tables
    from dedupstats.report.tables import deliver, json_document, written, written_for_people
    from dedupstats.report.text import safe_text

    data: str | bytes
    if form in {"table", "md"}:
        data = written_for_people(rate_tables.people_tables(found, notes), form, output)
    elif form == "json":
        data = json_document(rate_tables.document(found, notes))
    else:
        data = written(rate_tables.flat_table(found), form)
        notes = [*notes, *rate_tables.unit_notes(found), "The rows add up to the total."]
    deliver(data, output)
    if form not in {"table", "md"}:
        for note in notes:
            typer.echo(safe_text(note), err=True)
