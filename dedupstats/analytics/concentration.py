"""How unevenly repeats are spread: over sessions, and over a few sessions or calls (fault cases S07, S10, S11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Distribution:
    """One share per session; sessions without any repeat belong to it.

    Attributes:
        n: Sessions with something to divide by (any result with bytes).
        with_any: How many of them have a share above zero.
        median: Median share, 0 to 1; None without sessions.
        p90: 90th percentile, linear between neighbours (numpy's default rule); None without sessions.
        max: Largest share; None without sessions.
        empty: Sessions with results but no bytes, which have no share.
    """

    n: int
    with_any: int
    median: float | None
    p90: float | None
    max: float | None
    empty: int = 0


@dataclass(frozen=True, slots=True)
class Concentration:
    """How much of a rule's repeated bytes the largest sessions, or calls, hold.

    Attributes:
        total: Repeated bytes.
        groups: Sessions (calls) with any.
        top1: Repeated bytes of the largest one.
        top5: Repeated bytes of the five largest.
        name: The largest one: a session id; for a call, its tool. None without repeats.
    """

    total: int
    groups: int
    top1: int
    top5: int
    name: str | None
