"""How unevenly repeats are spread: over all sessions, and in the few largest sessions and calls.

Fault cases S07, S10, S11.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Distribution:
    """One share per session; sessions without any repeat belong to it.

    Attributes:
        n: Sessions with something to divide by (any result with bytes, or a price).
        with_any: How many of them have a share above zero.
        median: Median share, 0 to 1; None without sessions.
        p90: 90th percentile, linear between neighbours (numpy's default rule); None without sessions.
        max: Largest share; None without sessions.
        empty: Sessions with results but nothing to divide by, which have no share.
    """

    n: int
    with_any: int
    median: float | None
    p90: float | None
    max: float | None
    empty: int = 0


@dataclass(frozen=True, slots=True)
class Concentration:
    """How much of what a rule counts the largest sessions, or calls, hold: of bytes, tokens or dollars.

    Attributes:
        total: What is repeated.
        groups: Sessions (calls) with any.
        top1: What is repeated of the largest one.
        top5: What is repeated of the five largest.
        name: The largest one: a session id; for a call, its tool. None without repeats.
    """

    total: float
    groups: int
    top1: float
    top5: float
    name: str | None


def distribution(parts: Iterable[tuple[float, float]]) -> Distribution:
    """The distribution over sessions of (what is repeated, all), in bytes, tokens or dollars.

    Example:
        >>> distribution([(0, 500), (0, 90), (60, 100), (0, 0)])
        Distribution(n=3, with_any=1, median=0.0, p90=0.48, max=0.6, empty=1)
    """
    pairs = list(parts)
    shares = sorted(part / whole for part, whole in pairs if whole)
    return Distribution(
        n=len(shares),
        with_any=sum(share > 0 for share in shares),
        median=quantile(shares, 0.5),
        p90=quantile(shares, 0.9),
        max=shares[-1] if shares else None,
        empty=len(pairs) - len(shares),
    )


def concentration(groups: Iterable[tuple[str, float]]) -> Concentration:
    """How much of a sum its largest groups hold; groups are (name, weight).

    Example:
        >>> concentration([("a", 10), ("b", 0), ("c", 90)])
        Concentration(total=100, groups=2, top1=90, top5=100, name='c')
    """
    held = [(name, size) for name, size in groups if size]
    # equal sizes are told apart by name, so that the same history names the same group
    top = heapq.nsmallest(5, held, key=lambda group: (-group[1], group[0]))
    return Concentration(
        total=sum(size for _, size in held),
        groups=len(held),
        top1=top[0][1] if top else 0,
        top5=sum(size for _, size in top),
        name=top[0][0] if top else None,
    )


def quantile(ordered: Sequence[float], at: float) -> float | None:
    """A quantile of ordered numbers, linear between neighbours; None of none.

    Example:
        >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.9)
        (2.5, 3.7)
    """
    if not ordered:
        return None
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    # one rounding less than lower + part * (upper - lower): 1, 2, 3, 4 give 3.7 and not 3.7000000000000002
    part = place - below
    return ordered[below] * (1 - part) + ordered[above] * part
