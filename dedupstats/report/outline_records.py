"""The section on records: where those of each source went, what was ignored, what was skipped and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report.blocks import Column, Section, Table, columns, names, plural
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.model import Report

_SKIPPED_SHOWN = 50


def section(report: Report) -> Section:
    """The whole section."""
    found = report.accounting
    headings = columns("source", "files", "records", "used", "copies", "ignored", "skipped")
    rows = tuple(
        (
            row.words,
            count(row.files),
            count(row.records),
            count(row.used),
            count(row.copies),
            count(row.ignored),
            count(row.skipped),
        )
        for row in found.records
    )
    words = {row.source: row.words for row in found.records}
    where = "All files of the whole store, whatever the scope" if report.scope.filters else "All files read"
    tables = [Table(f"{where}. Records = used + copies + ignored + skipped.", headings, rows)]
    for caption, counted in (("Skipped, by reason.", found.reasons), ("Ignored, by type.", found.ignored)):
        if counted:
            lines = tuple(
                (entry.what, words.get(entry.source, entry.source), count(entry.count)) for entry in counted
            )
            heading = "reason" if counted is found.reasons else "type"
            tables.append(Table(caption, (names(heading), names("source"), Column("records")), lines))
    if found.skipped:
        tables.append(_skipped(report))
    unfinished = sum(row.unfinished for row in found.records)
    return Section(
        "records",
        "Where the records went",
        tables=tuple(tables),
        notes=tuple(_record_notes(report, unfinished)),
        folded=True,
    )


def _record_notes(report: Report, unfinished: int) -> Iterator[str]:
    if unfinished:
        yield f"{plural(unfinished, 'file')} ended in an unfinished line, which waits for the next import."
    if report.corpus.unread:
        yield f"{plural(report.corpus.unread, 'file')} could not be read: below, without a line."
    yield from report.accounting.notes


def _skipped(report: Report) -> Table:
    skipped = report.accounting.skipped
    shown = skipped[:_SKIPPED_SHOWN]
    more = f" The first {len(shown)} of {count(len(skipped))}." if len(skipped) > len(shown) else ""
    return Table(
        f"Skipped records.{more}",
        (names("file"), Column("line"), names("reason")),
        tuple(
            (record.path, "" if record.line is None else count(record.line), record.reason)
            for record in shown
        ),
    )
