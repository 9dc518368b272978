"""`dedupstats import`: find logs, read them, say what was found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupstats.cli.options import Db, writing
from dedupstats.cli.progress import Bar, interruptible

if TYPE_CHECKING:
    from dedupstats.ingest import ImportSummary
    from dedupstats.store import Store

_SHOWN_FAULTS = 10
_MAX_LINE_MIB = 16

_NO_RESULTS = frozenset({"rtk"})
"""sources whose records hold no tool results"""
_RETENTION = {
    "claude_code": "Claude Code deletes its logs after 30 days (cleanupPeriodDays); what is imported stays",
    "rtk": "RTK deletes its rows after 90 days; import figures show what it still has",
}
"""said once, at the first import that reads such logs (fault case X17)"""


def import_logs(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Files or folders; without one, every default place."),
    ] = None,
    db: Db = None,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything in these logs is skipped or unreadable.")
    ] = False,
    keep_content: Annotated[
        bool, typer.Option("--keep-content", help="Store the text of tool results (private!).")
    ] = False,
    no_targets: Annotated[
        bool,
        typer.Option(
            "--no-targets",
            help="Leave out what calls are about (paths, commands, patterns, URLs); hashes stay. "
            "Log files' own paths and working directories, which name the projects, are kept.",
        ),
    ] = False,
    max_line_mib: Annotated[
        int, typer.Option("--max-line-mib", min=1, help="Longer lines are skipped and counted.")
    ] = _MAX_LINE_MIB,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Name every skipped record and every file not recognised; "
            "show where a log broke its reader, for a bug report.",
        ),
    ] = False,
) -> None:
    """Import agents' logs into the store.

    Files are recognised by their content, whatever their names. Unchanged files are skipped; a changed one
    replaces its rows; what has vanished keeps its figures. No log is changed.

    Example: dedupstats import ~/.claude/projects
    """
    from dedupstats.errors import GateError
    from dedupstats.ingest import import_paths

    with interruptible(), writing(db) as store, Bar("Reading", is_sized=True) as progress:
        summary = import_paths(
            store,
            paths or None,
            force=force,
            keep_content=keep_content,
            keep_targets=not no_targets,
            max_line_bytes=max_line_mib * 1024 * 1024,
            progress=progress.update,
        )
        is_empty = not store.query("select 1 from unit where source <> 'unknown' limit 1")
        details = _skipped(store) if verbose else []
    if verbose:
        _print_traces(summary)
    describe(summary, verbose=verbose, is_fatal=is_empty or bool(paths))
    for line in details:
        typer.echo(line, err=True)
    unchanged = sum(summary.units_unchanged.values())
    if unchanged and (keep_content or no_targets or max_line_mib != _MAX_LINE_MIB):
        typer.echo(
            f"{unchanged:,} unchanged {_noun(unchanged, 'log')} not read again: --force applies the options "
            "to them too",
            err=True,
        )
    if strict and summary.has_faults:
        raise GateError(_faults(summary), "see them with --verbose, or leave out --strict")


def _print_traces(summary: ImportSummary) -> None:
    """Where our own faults arose, for a report of them."""
    from dedupstats.report.text import safe_text

    for trace in summary.traces:
        typer.echo("not understood: " + "\n".join(map(safe_text, trace.splitlines())), err=True)


def _faults(summary: ImportSummary) -> str:
    """`2 records skipped (1 of them by an earlier import), 0 files not readable`."""
    before = summary.skipped_before
    skipped = f"{_many(summary.skipped + before, 'record')} skipped"
    if before:
        which = "by an earlier import" if before == 1 else "by earlier imports"
        skipped += f" ({before:,} of them {which})" if summary.skipped else f" {which}"
    return f"{skipped}, {_many(len(summary.unreadable), 'file')} not readable"


def describe(summary: ImportSummary, *, verbose: bool = False, is_fatal: bool = True) -> None:
    """Say what an import found and did: results to stdout, faults to stderr, one line each.

    Args:
        summary: What `import_paths` returned.
        verbose: Name every file that was not recognised or not readable.
        is_fatal: Finding nothing is an error; else a note, because earlier imports found something.

    Raises:
        NothingFoundError: Nothing was found.
    """
    from dedupstats.errors import NothingFoundError
    from dedupstats.report.text import safe_text, size

    titles = _titles()
    if not summary.files and is_fatal:
        for line in notes(summary, verbose=verbose):
            typer.echo(safe_text(line), err=True)
        raise NothingFoundError(
            safe_text(_nothing(summary)),
            f"name a file or folder: dedupstats import PATH (reads logs of {', '.join(titles.values())})",
        )
    shown = [place for place in summary.places if place.exists or not summary.files]
    width = max([len(place.place) for place in shown], default=0)
    for place in shown:
        found = f"{_many(place.files, 'file')}, {size(place.bytes)}" if place.exists else "not there"
        typer.echo(safe_text(f"{place.place:<{width}}  {found}"))
    for source, files in sorted(summary.files.items()):
        typer.echo(f"{titles.get(source, source)}: {_found(summary, source, files)}")
    if summary.records:
        typer.echo(
            f"{_many(summary.records, 'record')} = {summary.used:,} used + {summary.copies:,} copies + "
            f"{summary.ignored:,} ignored by type + {summary.skipped:,} skipped ({summary.seconds:.1f} s)"
        )
    elif summary.files:
        typer.echo(f"Nothing new ({summary.seconds:.1f} s)")
    for line in notes(summary, verbose=verbose):
        typer.echo(safe_text(line), err=True)


def _found(summary: ImportSummary, source: str, files: int) -> str:
    """`220 files, 31.2 MB; 143 logs read (12 unchanged), 3,810 tool results`."""
    from dedupstats.report.text import size

    read, unchanged = summary.units_read[source], summary.units_unchanged[source]
    parts = f"{_many(files, 'file')}, {size(summary.bytes[source])}; "
    if not read:
        return parts + (f"{_many(unchanged, 'log')} unchanged" if unchanged else "none readable")
    parts += f"{_many(read, 'log')} read"
    if unchanged:
        parts += f", {unchanged:,} unchanged"
    if source in _NO_RESULTS:
        return parts
    return f"{parts}, {_many(summary.emissions[source], 'tool result')}"


def notes(summary: ImportSummary, *, verbose: bool = False) -> list[str]:
    """What went not as usual: unreadable, unrecognised, unfinished, gone, without any result.

    A database of the working directory is named too: it is not where a person looks for it.
    """
    from dedupstats.sources.rtk_places import HERE

    lines = [f"not readable: {path}: {reason}" for path, reason in summary.unreadable]
    if not verbose and len(lines) > _SHOWN_FAULTS:
        lines[_SHOWN_FAULTS:] = [
            f"and {len(lines) - _SHOWN_FAULTS:,} more not readable; --verbose names them"
        ]
    lines.extend(
        f"{HERE} of the working directory was taken: there is no other history of RTK here"
        for place in summary.places
        if place.place == HERE and place.files
    )
    if summary.unrecognised:
        hint = "" if verbose else "; --verbose names " + ("it" if len(summary.unrecognised) == 1 else "them")
        lines.append(f"{_many(len(summary.unrecognised), 'file')} not recognised as a log{hint}")
        if verbose:
            lines.extend(f"  not recognised: {path}" for path in summary.unrecognised)
    if summary.skipped:
        lines.append(
            f'{_many(summary.skipped, "record")} skipped; see: dedupstats sql "from skipped order by all"'
        )
    if summary.unfinished:
        is_are = "is" if summary.unfinished == 1 else "are"
        lines.append(
            f"{_many(summary.unfinished, 'last line')} {is_are} still being written; the next import takes "
            + ("it" if summary.unfinished == 1 else "them")
        )
    if summary.files_gone_now:
        lines.append(
            f"{_many(summary.files_gone_now, 'file')} gone since the last import "
            f"({summary.files_gone:,} in all); the figures stay"
        )
    lines.extend(_RETENTION[source] for source in summary.new_sources if source in _RETENTION)
    read = [source for source, units in summary.units_read.items() if units and source not in _NO_RESULTS]
    if read and summary.records and not any(summary.emissions[source] for source in read):
        lines.append(
            f"{_many(summary.records, 'record')} read, but no tool result among them: {_why(summary)}; "
            'see: dedupstats sql "from ignored order by all"'
        )
    return lines


def _why(summary: ImportSummary) -> str:
    """Where the records went, if no tool result came out (fault case P22)."""
    parts = {
        "used for other than results (messages, requests)": summary.used,
        "ignored by type": summary.ignored,
        "copies": summary.copies,
        "skipped": summary.skipped,
    }
    return ", ".join(f"{number:,} {what}" for what, number in parts.items() if number)


def _nothing(summary: ImportSummary) -> str:
    if summary.unreadable:
        first = summary.unreadable[0]
        return f"nothing could be read: {first.path}: {first.reason}"
    if summary.places:
        places = (f"{place.place}{' (no logs in it)' if place.exists else ''}" for place in summary.places)
        return f"no agent logs in the default places: {', '.join(places)}"
    looked_at = len(summary.unrecognised) + summary.empty + summary.passed_over
    return f"no agent logs there ({_many(looked_at, 'file')} looked at, none recognised)"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {_noun(number, noun)}"


def _noun(number: int, noun: str) -> str:
    return noun if number == 1 else noun + "s"


def _titles() -> dict[str, str]:
    from dedupstats.sources import all_sources

    return {source.name: source.title for source in all_sources()}


def _skipped(store: Store) -> list[str]:
    from dedupstats.ingest.summary import UNREADABLE
    from dedupstats.report.text import safe_text

    return [
        safe_text(f"skipped: {path}:{line}: {reason}")
        for path, line, reason in store.query(
            "select path, line, reason from skipped "
            "where line > 0 or not starts_with(reason, ?) order by all",
            [UNREADABLE],
        )
    ]
