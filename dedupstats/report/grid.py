"""Cells laid out in columns for a terminal, and lines wrapped to its width.

Not rich's table, which reads markup and emoji codes (U01, U04), cuts with an ellipsis (U02) and takes 20 s
for a thousand rows of the view `emission`. Its widths of characters (U09) are used. Cells and titles are
taken as they are: making them safe is the caller's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP = 2
_LEAST_COMMENT = 24
"""narrower than this, what a name means stands below it instead of beside it"""


@dataclass(frozen=True, slots=True)
class Grid:
    """What is laid out.

    Attributes:
        titles: Per column, the lines of its title.
        is_left: Per column, whether it is text: aligned to the left, folded where there is little room.
        cells: Rows of cells.
        has_total: The last row is set apart.
    """

    titles: list[list[str]]
    is_left: list[bool]
    cells: list[list[str]]
    has_total: bool = False


def laid_out(grid: Grid, width: int | None, *, colour: bool) -> list[str]:
    """The grid as text, in several parts that repeat the first column where it is too wide for the terminal.

    Args:
        grid: Titles and cells.
        width: Of the terminal; None if nothing shall be parted or folded.
        colour: Titles and total in bold.
    """
    natural = _natural_widths(grid)
    return [
        "\n".join(_part(grid, _narrowed(grid, natural, chosen, width), colour=colour))
        for chosen in _fitting(natural, width)
    ]


def wrapped(line: str, width: int | None) -> str:
    """The line broken at blanks, and inside words that are wider than the terminal."""
    from rich.cells import cell_len, chop_cells

    if width is None or cell_len(line) <= width:
        return line
    rows = [""]
    for word in line.split(" "):
        joined = f"{rows[-1]} {word}" if rows[-1] else word
        if cell_len(joined) <= width:
            rows[-1] = joined
        else:
            rows.extend(chop_cells(word, width))
    return "\n".join(row for row in rows if row)


def definitions(title: str, rows: Sequence[tuple[str, ...]], width: int) -> str:
    """Names with what they mean, below a title: cells in columns, the last one wrapped below itself.

    Args:
        title: One line or more; wrapped.
        rows: Cells, as many in each row; the last is the long one.
        width: Of the terminal.
    """
    from rich.cells import cell_len

    indent = " " * _GAP
    widths = [max(map(cell_len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    begin = _GAP + sum(widths) + _GAP * len(widths)
    is_beside = width - begin >= _LEAST_COMMENT
    if not is_beside:
        begin = 2 * _GAP
    lines = [wrapped(title, width)]
    for *cells, meaning in rows:
        padded = [cell + " " * (size - cell_len(cell)) for cell, size in zip(cells, widths, strict=True)]
        start = indent + indent.join(padded)
        first, *rest = wrapped(meaning, max(1, width - begin)).split("\n")
        if is_beside:
            start += indent + first
        else:
            rest = [first, *rest]
        lines += [start.rstrip(), *(" " * begin + line for line in rest)]
    return "\n".join(lines)


def _natural_widths(grid: Grid) -> list[int]:
    """Width of each column in terminal cells, if nothing is folded."""
    from rich.cells import cell_len

    return [
        max(map(cell_len, (*titles, *(row[place] for row in grid.cells))))
        for place, titles in enumerate(grid.titles)
    ]


def _fitting(natural: list[int], width: int | None) -> Iterator[list[int]]:
    """Places of the columns of each part: the first, and as many others as fit beside it, at least one."""
    if width is None or not natural:
        yield list(range(len(natural)))
        return
    # a long first column is folded rather than leaving no place for others: to a quarter of the terminal, if
    # all others fit beside it, else to half
    room = width - sum(natural[1:]) - _GAP * (len(natural) - 1)
    first = min(natural[0], room if room >= width // 4 else width // 2)
    part, used = [0], first
    for place in range(1, len(natural)):
        wide = natural[place] + _GAP
        if used + wide > width and len(part) > 1:
            yield part
            part, used = [0], first
        part.append(place)
        used += wide
    yield part


def _narrowed(grid: Grid, natural: list[int], chosen: list[int], width: int | None) -> dict[int, int]:
    """The columns of a part with their widths; where they are too wide, text gives way, the widest first."""
    widths = {place: natural[place] for place in chosen}
    excess = sum(widths.values()) + _GAP * (len(chosen) - 1) - (width or sys.maxsize)
    foldable = [place for place in chosen if grid.is_left[place]]
    while excess > 0 and foldable:
        widest = max(foldable, key=lambda place: widths[place])
        if widths[widest] == 1:
            break
        # down to the next one only, so that wide columns narrow together
        others = [widths[place] for place in foldable if place != widest]
        step = max(1, widths[widest] - max(others, default=1))
        cut = min(excess, step, widths[widest] - 1)
        widths[widest] -= cut
        excess -= cut
    return widths


def _part(grid: Grid, widths: dict[int, int], *, colour: bool) -> Iterator[str]:
    """The lines of some columns: titles, rule, rows, and the total behind a second rule."""
    bold = "\x1b[1m{}\x1b[0m" if colour else "{}"
    rule = "-" * (sum(widths.values()) + _GAP * (len(widths) - 1))
    height = max((len(grid.titles[place]) for place in widths), default=0)
    titles = {
        # a short title stands at the bottom
        place: [""] * (height - len(grid.titles[place])) + grid.titles[place]
        for place in widths
    }
    yield from map(bold.format, _lines(grid, titles, widths))
    yield rule
    for number, row in enumerate(grid.cells):
        is_total = grid.has_total and number == len(grid.cells) - 1
        if is_total:
            yield rule
        folded = {place: wrapped(row[place], widths[place]).split("\n") for place in widths}
        lines = _lines(grid, folded, widths)
        yield from map(bold.format, lines) if is_total else lines


def _lines(grid: Grid, row: dict[int, list[str]], widths: dict[int, int]) -> Iterator[str]:
    """One row of the table: as many lines as its tallest cell has, columns aligned."""
    from rich.cells import cell_len

    for line in range(max(map(len, row.values()), default=0)):
        shown = []
        for place, folded in row.items():
            cell = folded[line] if line < len(folded) else ""
            blank = " " * (widths[place] - cell_len(cell))
            shown.append(cell + blank if grid.is_left[place] else blank + cell)
        yield (" " * _GAP).join(shown).rstrip()
