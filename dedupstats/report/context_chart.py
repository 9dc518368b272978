"""A context's curve in characters: one column of blocks a request, or the largest of several."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from dedupstats.report import money

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupstats.analytics.context import Curve, Mark, Point

HEIGHT: Final = 10
_WIDEST: Final = 100
_FALLBACK: Final = 80
_NARROWEST: Final = 8
_BAR: Final = 4
"""columns that one request has at most, where there are few"""
_AXIS: Final = 8
_MIDDLING, _LARGE = 2_000, 10_000
"""tokens of results that get a sign of their own"""


class Signs(NamedTuple):
    """What a chart is drawn with."""

    parts: str
    """eighths of a cell, from none to all"""
    removed: str
    side: str
    floor: str
    corner: str


BLOCKS = Signs(" ▁▂▃▄▅▆▇█", "░", "│", "─", "└")
ASCII = Signs(" ....####", ":", "|", "-", "+")

MARKS = {
    ("compaction", True): ("C", "automatic compaction"),
    ("compaction", False): ("c", "other compaction"),
    ("clear", False): ("x", "clear"),
    ("micro_compaction", False): ("m", "micro-compaction"),
    ("rewind", False): ("r", "rewind"),
}
"""by kind, and whether it is an automatic compaction: sign and words; the first goes before the others"""


def signs_for(encoding: str | None) -> Signs:
    """Blocks where an output can show them, else ASCII.

    Example:
        >>> signs_for("utf-8") is BLOCKS, signs_for("ascii") is ASCII, signs_for("cp1252") is ASCII
        (True, True, True)
    """
    try:
        "".join(BLOCKS).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def mark_key(mark: Mark) -> tuple[str, bool]:
    """The key of a boundary in `MARKS`."""
    return mark.kind, mark.kind == "compaction" and mark.trigger == "auto"


def thinned(points: Sequence[Point], most: int) -> list[list[Point]]:
    """The points in at most so many groups of consecutive ones, as even as can be.

    Example:
        >>> thinned(range(5), 2), thinned(range(2), 5)
        ([[0, 1], [2, 3, 4]], [[0], [1]])
    """
    groups = min(len(points), most)
    edges = [number * len(points) // groups for number in range(groups + 1)] if groups else []
    return [list(points[low:high]) for low, high in pairwise(edges)]


def largest(group: Sequence[Point]) -> Point:
    """The point with the largest prompt, the first of them."""
    return max(group, key=lambda point: (point.prompt_tokens, -point.request))


def drawn(curve: Curve, width: int | None, signs: Signs) -> list[str]:
    """The lines of the chart, its axes and its legend.

    Args:
        curve: A context with at least one request.
        width: Of the terminal; None: 80 columns.
        signs: See `signs_for`.
    """
    room = _room(width)
    groups = thinned(curve.points, room)
    bar = max(1, min(_BAR, room // len(groups)))
    shown = [largest(group) for group in groups]
    top = max(point.prompt_tokens for point in shown) or 1.0
    labels = {0: money.tokens(top), HEIGHT // 2: money.tokens(top / 2)}
    lines = []
    for row in range(HEIGHT):
        cells = (_cell(point, top, HEIGHT - 1 - row, signs) * bar for point in shown)
        lines.append(f"{labels.get(row, ''):>{_AXIS}} {signs.side}{''.join(cells)}".rstrip())
    lines.append(f"{'0':>{_AXIS}} {signs.corner}{signs.floor * (bar * len(groups))}")
    first, last = curve.points[0].request, curve.points[-1].request
    between = bar * len(groups) - len(str(first))
    numbers = f"{first}{last:>{between},}" if last > first and between > len(f"{last:,}") else str(last)
    lines += [f"{label:>{_AXIS}}  {''.join(cells)}".rstrip() for label, cells in _below(curve, groups, bar)]
    lines.append(f"{'request':>{_AXIS}}  {numbers}")
    return lines


def _room(width: int | None) -> int:
    """Columns for bars; one is left for what stands behind the last."""
    return max(_NARROWEST, min(width or _FALLBACK, _WIDEST) - _AXIS - 3)


def _cell(point: Point, top: float, row: int, signs: Signs) -> str:
    """What a column shows in a row, counted from below."""
    eighths = HEIGHT * 8 / top
    whole = max(round(point.prompt_tokens * eighths), 1 if point.prompt_tokens > 0 else 0)
    removed = min(max(point.removed_tokens, 0.0), point.prompt_tokens)
    kept = round((point.prompt_tokens - removed) * eighths)
    here, all_here = min(max(kept - row * 8, 0), 8), min(max(whole - row * 8, 0), 8)
    # half a cell is worth a sign of its own
    if all_here - here >= 4:  # noqa: PLR2004
        return signs.removed
    return signs.parts[all_here]


def _below(curve: Curve, groups: Sequence[Sequence[Point]], bar: int) -> Iterator[tuple[str, list[str]]]:
    """The lines of signs below the columns, each with its label."""
    marks: dict[int, list[Mark]] = {}
    for mark in curve.marks:
        marks.setdefault(mark.request, []).append(mark)
    if marks:
        cells = [
            _sign([mark for point in group for mark in marks.get(point.request, ())]) for group in groups
        ]
        behind = _sign(marks.get(curve.points[-1].request + 1, ()))
        yield "boundary", [cell.ljust(bar) for cell in [*cells, behind]]
    entered = [sum(result.tokens for point in group for result in point.results) for group in groups]
    if any(point.results for point in curve.points):
        cells = [
            _size(tokens) if any(point.results for point in group) else " "
            for tokens, group in zip(entered, groups, strict=True)
        ]
        yield "results", [cell.ljust(bar) for cell in cells]


def _sign(marks: Sequence[Mark]) -> str:
    keys = {mark_key(mark) for mark in marks}
    return next((sign for key, (sign, _) in MARKS.items() if key in keys), " ")


def _size(tokens: float) -> str:
    return "O" if tokens >= _LARGE else "o" if tokens >= _MIDDLING else "."


def legend(curve: Curve, chart: Sequence[str], width: int | None, signs: Signs, policy: str) -> str:
    """What the signs of this chart mean, and how many requests a column stands for."""
    said = [f"{signs.parts[-1]} prompt"]
    if any(signs.removed in line for line in chart):
        said.append(f"{signs.removed} of it, left out by {policy}")
    keys = {mark_key(mark) for mark in curve.marks}
    said += [f"{sign} {words}" for key, (sign, words) in MARKS.items() if key in keys]
    if any(point.results for point in curve.points):
        said.append("tool results: . some, o from 2,000 tokens, O from 10,000")
    several = -(-len(curve.points) // _room(width))
    if several > 1:
        said.append(f"a column is up to {several:,} requests, drawn as the largest of them")
    return "; ".join(said) + "."
