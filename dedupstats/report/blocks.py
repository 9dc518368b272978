"""What a section of the report is made of, whatever it is printed as, and how figures become text in it.

Titles, paragraphs and notes are our own words and may mark `code` by backticks. Cells of tables and the
meanings of terms may hold names from logs: the renderer, which knows its syntax, makes them safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.report.text import count, percent

if TYPE_CHECKING:
    from dedupstats.report.share import Share


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
        columns: Its columns.
        rows: The cells, row by row.
        is_last_strong: The last row is the one that matters.
        latest: How many rows, from the end, are enough where room is short; None: all.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    is_last_strong: bool = False
    latest: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        key: Its id on the page.
        title: Its heading.
        lead: Paragraphs before the tables.
        tables: Its tables.
        terms: What the names in the tables mean.
        commands: What to type, to be copied; may hold names from logs.
        notes: What to know of the figures, behind them.
        folded: Detail: where a renderer can fold, it does.
    """

    key: str
    title: str
    lead: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    folded: bool = False


def names(title: str) -> Column:
    """A column of names."""
    return Column(title, numeric=False)


def columns(first: str, *numbers: str) -> tuple[Column, ...]:
    """A column of names and columns of numbers."""
    return (names(first), *(Column(title) for title in numbers))


def of(share: Share) -> str:
    """`14 of 730`."""
    return f"{count(share.part)} of {count(share.whole)}"


def pct(share: Share) -> str:
    """`1.2 %`, or `no data` where there is nothing to divide by."""
    return percent(share.share)


def of_pct(share: Share) -> str:
    """`14 of 730 (1.9 %)`."""
    return f"{of(share)} ({pct(share)})"


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "copy", "copies"), plural(2000, "session")
        ('1 copy', '2,000 sessions')
    """
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
