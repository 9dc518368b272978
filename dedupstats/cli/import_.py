"""`dedupstats import`: find logs, read them, say what was found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupstats.cli.options import Db

if TYPE_CHECKING:
    from dedupstats.ingest import ImportSummary

_SHOWN_FAULTS = 10


def import_logs(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Files or folders; without one, every default place."),
    ] = None,
    db: Db = None,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything was skipped or unreadable.")
    ] = False,
    keep_content: Annotated[
        bool, typer.Option("--keep-content", help="Store the text of tool results (private!).")
    ] = False,
    no_targets: Annotated[
        bool, typer.Option("--no-targets", help="Store no paths and commands, only their hashes.")
    ] = False,
    max_line_mib: Annotated[
        int, typer.Option("--max-line-mib", min=1, help="Longer lines are skipped and counted.")
    ] = 16,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every skipped record and every file not recognised.")
    ] = False,
) -> None:
    """Import agents' logs into the store.

    Files are recognised by their content, whatever their names. Unchanged files are skipped; a changed one
    replaces its rows; what has vanished keeps its figures. No log is changed.

    Example: dedupstats import ~/.claude/projects
    """
    from dedupstats.errors import GateError
    from dedupstats.ingest import import_paths
    from dedupstats.store import open_store

    with open_store(db) as store, _Progress() as progress:
        summary = import_paths(
            store,
            paths or None,
            force=force,
            keep_content=keep_content,
            keep_targets=not no_targets,
            max_line_bytes=max_line_mib * 1024 * 1024,
            progress=progress.update,
        )
        details = _skipped(db_store=store) if verbose else []
    describe(summary, verbose=verbose)
    for line in details:
        typer.echo(line, err=True)
    if strict and summary.has_faults:
        raise GateError(
            f"{summary.skipped} records skipped, {len(summary.unreadable)} files unreadable",
            "see them with --verbose, or leave out --strict",
        )


class _Progress:
    """A progress bar on a terminal, nothing when piped."""

    def __init__(self) -> None:
        self._bar = None
        self._task = None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, _unit: str) -> None:
        """Show how many bytes are done; the bar appears with the first unit."""
        if self._bar is None:
            if not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("Reading"),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        self._bar.update(self._task, completed=done)


def describe(summary: ImportSummary, *, verbose: bool = False) -> None:
    """Say what an import found and did: results to stdout, faults to stderr, one line each.

    Args:
        summary: What `import_paths` returned.
        verbose: Name every file that was not recognised or not readable.

    Raises:
        NothingFoundError: Nothing was found, not even by an earlier import.
    """
    from dedupstats.errors import NothingFoundError
    from dedupstats.report.text import safe_text

    titles = _titles()
    for place in summary.places:
        state = "searched" if place.exists else "not there"
        typer.echo(f"{titles.get(place.source, place.source):<14}{safe_text(place.place)} ({state})", err=True)
    if not summary.files and not summary.files_gone:
        raise NothingFoundError(
            _nothing(summary), "name a file or folder: dedupstats import PATH (formats: " + ", ".join(titles.values()) + ")"
        )
    for source, files in sorted(summary.files.items()):
        read, unchanged = summary.units_read[source], summary.units_unchanged[source]
        typer.echo(
            f"{titles.get(source, source)}: {_many(files, 'file')}, {read:,} units read, {unchanged:,} unchanged, "
            f"{_many(summary.emissions[source], 'tool result')} read"
        )
    if summary.records:
        typer.echo(
            f"{summary.records:,} records = {summary.used:,} used + {summary.copies:,} copies + "
            f"{summary.ignored:,} ignored by type + {summary.skipped:,} skipped ({summary.seconds:.1f} s)"
        )
    for line in notes(summary, verbose=verbose):
        typer.echo(safe_text(line), err=True)


def notes(summary: ImportSummary, *, verbose: bool = False) -> list[str]:
    """What went not as usual: unreadable, unrecognised, unfinished, gone, without any result."""
    lines = [f"not readable: {path}: {reason}" for path, reason in summary.unreadable]
    if not verbose and len(lines) > _SHOWN_FAULTS:
        lines[_SHOWN_FAULTS:] = [f"and {len(lines) - _SHOWN_FAULTS:,} more not readable; --verbose names them"]
    if summary.unrecognised:
        lines.append(f"{_many(len(summary.unrecognised), 'file')} not recognised as a log")
        if verbose:
            lines.extend(f"  not recognised: {path}" for path in summary.unrecognised)
    if summary.skipped:
        lines.append(f"{_many(summary.skipped, 'record')} skipped; see: dedupstats sql 'from skipped'")
    if summary.unfinished:
        lines.append(f"{_many(summary.unfinished, 'last line')} still being written; the next import takes it")
    if summary.files_gone:
        lines.append(f"{_many(summary.files_gone, 'file')} gone since an earlier import; the figures stay")
    if summary.records and not sum(summary.emissions.values()) and not summary.files["rtk"]:
        lines.append(
            "records were read, but no tool result among them: "
            f"{summary.ignored:,} ignored by type, {summary.skipped:,} skipped; see: dedupstats sql 'from ignored'"
        )
    return lines


def _nothing(summary: ImportSummary) -> str:
    if summary.places:
        return "no agent logs in the default places: " + ", ".join(place.place for place in summary.places)
    if summary.unreadable:
        return f"nothing could be read: {summary.unreadable[0].path}: {summary.unreadable[0].reason}"
    return f"no agent logs there ({_many(len(summary.unrecognised), 'file')} looked at, none recognised)"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _titles() -> dict[str, str]:
    from dedupstats.sources import all_sources

    return {source.name: source.title for source in all_sources()}


def _skipped(db_store: object) -> list[str]:
    from dedupstats.report.text import safe_text
    from dedupstats.store import Store

    assert isinstance(db_store, Store)
    return [
        safe_text(f"skipped: {path}:{line}: {reason}")
        for path, line, reason in db_store.query("select path, line, reason from skipped order by all")
    ]
