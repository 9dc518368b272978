"""`dedupstats report`, and what a bare `dedupstats` does: import, then the short report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import Db, TokenRule, opened, reprice, window_of, writing
from dedupstats.cli.progress import Bar, interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.analytics.window import Window
    from dedupstats.report.model import Report
    from dedupstats.store import Store

_CUT = "What to report on"
_OUT = "Output"
_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".txt": "terminal",
}


def report(
    form: Annotated[
        Literal["terminal", "md", "html", "json"] | None,
        typer.Option(
            "--format", help="Guessed from the file's name.", show_default="terminal", rich_help_panel=_OUT
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", help="Write to this file; may be given several times.", rich_help_panel=_OUT
        ),
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Only the first screen, or dozen lines.", rich_help_panel=_OUT)
    ] = False,
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize",
            help="Number projects, sessions, files (project-1); tool, model, version names and dates stay.",
            rich_help_panel=_OUT,
        ),
    ] = False,
    full_paths: Annotated[
        bool, typer.Option("--full-paths", help="Show paths whole.", rich_help_panel=_OUT)
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="From then on: 2026-09-15, 2026-09-15T12:00, or 7d, 12h, 4w ago.", rich_help_panel=_CUT
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Until then; a date includes its whole day.", rich_help_panel=_CUT)
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(help="Time zone of dates and days.", show_default="local", rich_help_panel=_CUT),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Only this agent: claude-code, docker-agent, rtk.", rich_help_panel=_CUT),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Only this working directory, or its last part.", rich_help_panel=_CUT),
    ] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Only this tool.", rich_help_panel=_CUT)] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model.", rich_help_panel=_CUT)] = None,
    tokens: TokenRule = "ladder",
    is_demo: Annotated[bool, typer.Option("--demo", hidden=True)] = False,
    db: Db = None,
) -> None:
    """Everything that the store tells about repeats, as one report.

    HTML is one file that loads nothing from the network; Markdown fits a pull request. No content,
    arguments or prompts are shown, and paths only by their last part.

    Example: dedupstats report -o report.html -o report.md
    """
    from contextlib import suppress

    from dedupstats.errors import StoreError
    from dedupstats.report.build import build
    from dedupstats.report.tables import format_of

    outputs = [(path, form or format_of(path, _SUFFIXES)) for path in output or ()]
    _check_output(form, outputs, brief=brief)
    window = window_of(since=since, until=until, tz=tz, agent=agent, project=project, tool=tool, model=model)
    with suppress(StoreError):
        # a store that cannot be written has the rest of the report all the same
        reprice(db)
    with opened(db) as store:
        _check_scope(store, window)
        made = build(store, window=window, anonymize=anonymize, full_paths=full_paths, tokens=tokens)
    if not outputs:
        _print(_rendered(made, form or "terminal", brief=brief, stream=True))
        return
    _write(made, outputs, brief=brief)
    if is_demo:
        _print_demo(made, outputs)
    else:
        for path, _ in outputs:
            typer.echo(f"Written {path}", err=True)


def short(db: Path | None) -> None:
    """Import what the default places hold, then print the short report."""
    from dedupstats.cli import import_
    from dedupstats.ingest import import_paths
    from dedupstats.report import terminal
    from dedupstats.report.build import build
    from dedupstats.report.tables import wants_colour, width_of
    from dedupstats.report.text import safe_text

    with interruptible(), writing(db) as store:
        with Bar("Reading", is_sized=True) as progress:
            summary = import_paths(store, progress=progress.update)
        is_empty = not store.query("select 1 from unit where source <> 'unknown' limit 1")
        made = None if is_empty else build(store)
    if made is None:
        # says which places were searched, and refuses
        import_.describe(summary)
        return
    for note in import_.notes(summary):
        typer.echo(safe_text(note), err=True)
    _print(
        terminal.short(
            made, seconds=summary.seconds, width=width_of(sys.stdout), colour=wants_colour(sys.stdout)
        )
    )


def _check_output(form: str | None, outputs: Sequence[tuple[Path, str]], *, brief: bool) -> None:
    """Refuse what makes no sense before any work is done."""
    from dedupstats.errors import UsageError

    wanted = [found for _, found in outputs] or [form or "terminal"]
    if brief and not {"md", "terminal"}.issuperset(wanted):
        raise UsageError("--brief is for Markdown and the terminal", "leave it out, or write to a .md file")
    if not outputs and form == "html" and sys.stdout.isatty():
        raise UsageError("a page of 5 MB is not for a terminal", "name a file: -o report.html")


def _check_scope(store: Store, window: Window) -> None:
    """Refuse an empty store, and names that it does not have."""
    from dataclasses import replace

    from dedupstats.analytics.window import check_names
    from dedupstats.errors import NothingFoundError

    if not store.query("select 1 from unit limit 1"):
        raise NothingFoundError(
            f"the store {store.path} is empty",
            "type `dedupstats import` (default places) or `dedupstats import PATH`",
        )
    # RTK's rows are no tool results, but can be asked for alone
    check_names(store, replace(window, sources=tuple(name for name in window.sources if name != "rtk")))


def _rendered(made: Report, form: str, *, brief: bool, stream: bool = False) -> str:
    """The report in a format; `stream` says that it goes to stdout, whose width and colours count."""
    from dedupstats.report import document, html, markdown, terminal
    from dedupstats.report.tables import wants_colour, width_of

    if form == "html":
        return html.render(made)
    if form == "json":
        return document.render(made)
    if form == "md":
        return markdown.render(made, brief=brief)
    target = sys.stdout if stream else None
    render = terminal.short if brief else terminal.render
    return render(made, width=width_of(target), colour=wants_colour(target))


def _write(made: Report, outputs: Sequence[tuple[Path, str]], *, brief: bool) -> None:
    from dedupstats.report.tables import write_file

    for path, form in outputs:
        write_file(path, _rendered(made, form, brief=brief))


def _print(text: str) -> None:
    from dedupstats.report.tables import deliver

    deliver(text, None)


def _print_demo(made: Report, outputs: Sequence[tuple[Path, str]]) -> None:
    from dedupstats.report import terminal
    from dedupstats.report.tables import Column, Table, csv_text, width_of, write_file

    columns = (Column("source"), Column("file"), Column("line", "raw"), Column("reason"))
    rows = [(row.source, row.path, row.line, row.reason) for row in made.accounting.skipped]
    skipped = outputs[0][0].with_name("skipped.csv")
    write_file(skipped, csv_text(Table("", columns, rows)))
    written = [str(path) for path, _ in outputs]
    _print(terminal.demo(made, written, str(skipped), width=width_of(sys.stdout)))
