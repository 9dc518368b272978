"""What the report says, in which order: its sections as text and tables, the same for every renderer.

Figures are those of the Report; here they only become text. Cells and paragraphs may hold names from logs,
already without control characters, not yet escaped: that is the business of the renderer, which knows its
syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.report import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.report.model import Repeats, Report, Rtk, Share, Tool

DEFAULT_RULES = ("call-session", "repeat-session", "repeat-in-sight")
RULE_LABELS = {
    "call-session": "same call",
    "repeat-session": "same bytes",
    "repeat-in-sight": "still visible",
}
"""short headings of the default rules; each contains the next"""
SUBSET_NOTE = (
    "same call: in the session, whatever came back (upper bound). same bytes: the same call and bytes in the "
    "session. still visible: the same, with a full copy in the model's sight."
)
LAST_LINE = "Only the last line can be left out without pointing at text the model lacks."
TERMINAL_PERIODS = 14
SKIPPED_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Column:
    """Heading of a table's column; numbers stand on the right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its first column names the rows.

    Attributes:
        caption: What it shows; names the denominators.
        strong: Index of the row that matters most, if any.
        recent: How many rows, from the end, are enough where room is short; None: all.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: int | None = None
    recent: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        key: Its id on the page.
        lead: Paragraphs before the tables.
        terms: What the names in the tables mean.
        notes: What to know of the figures, behind them.
        folded: Detail: where a renderer can fold, it does.
        chart: The section has a chart of its key.
    """

    key: str
    title: str
    lead: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    folded: bool = False
    chart: bool = False


def outline(report: Report) -> tuple[Section, ...]:
    """The sections of the report, in order; those about nothing are left out."""
    logs = (
        _tools(report),
        _rules(report),
        _sessions(report),
        _over_time(report),
        _classes(report),
        _contexts(report),
    )
    return (
        _read(report),
        _shown_before(report),
        *(logs if report.corpus.results else ()),
        *((_rtk(report.rtk),) if report.rtk else ()),
        _records(report),
        Section("limits", "What this does not say", notes=report.limits),
        _reproduce(report),
    )


def read_line(report: Report) -> str:
    """What was read, in one or two sentences."""
    corpus = report.corpus
    if not corpus.results and not report.rtk:
        return "No tool results and no RTK commands in this scope."
    parts = []
    if corpus.results:
        agents = f" with {text.plural(corpus.subagents, 'subagent')}" if corpus.subagents else ""
        parts.append(f"{text.plural(corpus.sessions, 'session')}{agents}")
        parts.append(f"{text.plural(corpus.results, 'tool result')} ({text.size(corpus.bytes)})")
    if report.rtk:
        parts.append(f"{text.plural(report.rtk.commands, 'RTK command')}")
    if corpus.dates:
        parts.append(corpus.dates)
    return ", ".join(parts) + "."


def counted_line(report: Report) -> str:
    """What was not counted, or not twice."""
    corpus = report.corpus
    copies = f"{text.plural(corpus.copies, 'copy', 'copies')} counted once"
    return f"{copies}; {text.plural(corpus.skipped, 'record')} skipped."


def shown_before(report: Report) -> Table:
    """The block that the whole report is about: from RTK's own measure down to what can be left out."""
    rows = []
    if report.rtk:
        measure, tighter = report.rtk.bounds[0], _bound(report.rtk, "B4")
        rows.append((f"RTK's own measure: {measure.words}", of(measure.commands), pct(measure.tokens)))
        rows.append((f"  {tighter.words}", of(tighter.commands), pct(tighter.tokens)))
    words = {
        "call-session": "Logs: same call, whatever came back (upper bound)",
        "repeat-session": "Logs: same call, same bytes, in the session",
        "repeat-in-sight": "Logs: the same, and the model could still see it",
    }
    if report.corpus.results:
        repeats = {rule.name: rule.repeats for rule in report.rules}
        rows += [(words[name], of(repeats[name].results), pct(repeats[name].tokens)) for name in words]
    return Table(
        f"Shares are of all tokens shown; tokens are {report.token_rule}.",
        (Column("", numeric=False), Column("repeats"), Column("of tokens")),
        tuple(rows),
        strong=len(rows) - 1 if report.corpus.results else None,
    )


def of(share: Share) -> str:
    """`14 of 730`."""
    return f"{text.count(share.part)} of {text.count(share.whole)}"


def pct(share: Share) -> str:
    """`1.2 %`, or `no data` where there is nothing to divide by."""
    return text.percent(share.share)
