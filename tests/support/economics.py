"""Contexts to cost, built in few words; a reading of a prompt, position by position; the all-hit model."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.economics.carry import Cashier
from dedupstats.economics.cost import Usage
from dedupstats.economics.events import Asked, Entered, legs
from dedupstats.economics.families import Counts, Visible
from dedupstats.economics.prices import Prices, parse_overrides
from dedupstats.economics.prompt import Kind
from dedupstats.economics.tokens import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.economics.events import Event
    from dedupstats.economics.prices import Rates

SECOND = 1_000_000
UNDATED = datetime(2026, 10, 1, tzinfo=UTC)
PRICES = Prices(
    parse_overrides(
        '[[price]]\nmodel = "hand"\ninput = 3\noutput = 15\n'
        "cache_read = 0.3\ncache_write_5m = 3.75\ncache_write_1h = 6\n"
    )
)
"""those of the hand vectors (token-economics.md 8), for the model `hand`"""


def all_hit_cost(tokens: float, requests: int, rates: Rates) -> float:
    """Carrying cost of tokens over so many requests that all hit the cache, µ$ (2.3)."""
    return tokens * (rates.write_5m + (requests - 1) * rates.read) if requests > 0 else 0.0


class Parts(NamedTuple):
    """Tokens by what they were charged as."""

    read: float = 0.0
    write_1h: float = 0.0
    write_5m: float = 0.0
    uncached: float = 0.0

    @property
    def tokens(self) -> float:
        """All of them."""
        return self.read + self.write_1h + self.write_5m + self.uncached

    def cost(self, rates: Rates) -> float:
        """What they cost, µ$."""
        return (
            self.read * rates.read
            + self.write_1h * rates.write_1h
            + self.write_5m * rates.write_5m
            + self.uncached * rates.input
        )

    def __add__(self, other: object) -> Parts:
        """Parts together (a tuple would be made longer)."""
        if not isinstance(other, Parts):
            return NotImplemented
        return Parts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def bounds(usage: Usage) -> tuple[float, float, float, float, float]:
    """Where the parts of a prompt begin and end: read, written for 1 h, for 5 min, uncached (2.2).

    The hour stands before the five minutes because the API wants longer entries first.
    """
    first = usage.read
    second = first + usage.write_1h
    third = second + usage.write_5m
    return 0.0, first, second, third, third + usage.uncached


def parts_between(usage: Usage, low: float, high: float) -> Parts:
    """How a request charged the positions from `low` to `high` of its prompt.

    Example:
        >>> parts_between(Usage(10, 4990, 2000, 0), 5200, 7000)
        Parts(read=0.0, write_1h=0.0, write_5m=1790.0, uncached=10.0)
    """
    edges = bounds(usage)
    return Parts(*(max(0.0, float(min(high, end) - max(low, begin))) for begin, end in pairwise(edges)))


def asked(
    key: int,
    usage: tuple[float, float, float, float] | None,
    output: int | None,
    *,
    model: str | None = "hand",
    seconds: float | None = None,
    is_known: bool = True,
    is_billed: bool = True,
    visible: Visible | None = None,
) -> Asked:
    """A request; usage is uncached, read, written 5 min, written 1 h."""
    return Asked(
        key,
        None if seconds is None else int(seconds * SECOND),
        model,
        None,
        None if usage is None else Usage(*usage),
        output,
        is_known,
        visible or Visible(),
        is_billed,
    )


def result(key: int, size: int = 400, ordinal: int | None = None, label: str = "Read") -> Entered:
    """A tool result, its key also its ordinal."""
    return Entered(key, key if ordinal is None else ordinal, Kind.RESULT, label, Entry(Counts(size), True))


def text(size: int = 400, kind: Kind = Kind.USER) -> Entered:
    """A text that entered otherwise."""
    return Entered(None, None, kind, None, Entry(Counts(size), False))


class RequestCost(NamedTuple):
    """What one request was charged; µ$."""

    key: int
    parts: Parts
    input_cost: float | None
    output: float
    is_output_known: bool
    output_cost: float | None
    is_modelled: bool
    is_expired: bool


class ShareCost(NamedTuple):
    """What one request was charged for all pieces of a category; µ$."""

    key: int
    kind: Kind
    label: str | None
    parts: Parts
    cost: float | None
    again: float
    again_cost: float | None


class EntryCost(NamedTuple):
    """What an emission cost over its life; µ$."""

    key: int
    tokens: float
    level: int
    by_classes: float
    requests: int
    parts: Parts
    cost: float
    unpriced: float
    modelled: float


class ContextCost(NamedTuple):
    """What contexts cost, row by row."""

    requests: list[RequestCost]
    shares: list[ShareCost]
    entries: list[EntryCost]


def cost(*contexts: Iterable[Event], is_side: bool = False) -> ContextCost:
    """What contexts cost, one after the other, at the hand vectors' prices."""
    cashier = Cashier(PRICES, int(UNDATED.timestamp() * SECOND))
    for events in contexts:
        cashier.take(legs(events), is_side=is_side)
    found = cashier.costs()
    return ContextCost(
        [
            RequestCost(key, Parts(*figures[:4]), *figures[4:])
            for block in found.requests
            for key, *figures in _rows(block)
        ],
        [
            ShareCost(key, *found.categories[number], Parts(*figures[:4]), *figures[4:])
            for block in found.shares
            for key, number, *figures in _rows(block)
        ],
        [EntryCost(*figures[:5], Parts(*figures[5:9]), *figures[9:]) for figures in _rows(found.emissions)],
    )


def _rows(columns: Iterable[Any]) -> list[list[Any]]:
    """Rows of columns; what is not a number is None."""
    return [
        [None if isinstance(cell, float) and isnan(cell) else cell for cell in row]
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def by_position(usage: Usage, rates: Rates, low: int, high: int) -> float:
    """Cost of whole positions, one by one (2.2), µ$."""
    cost = 0.0
    for position in range(low, high):
        if position < usage.read:
            cost += rates.read
        elif position < usage.read + usage.write_1h:
            cost += rates.write_1h
        elif position < usage.read + usage.write_1h + usage.write_5m:
            cost += rates.write_5m
        else:
            cost += rates.input
    return cost
