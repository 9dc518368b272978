"""What a request charges for a place in its prompt, and what leaving a result out saves.

A prompt is a line of positions. What the cache held is read, what follows is written to it, the rest is
uncached (token-economics.md 2.2). Money is in millionths of a dollar (µ$): tokens times USD per million.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.economics.prices import Rates

TTL_5M, TTL_1H = 300.0, 3600.0
"""Life of what is written to the cache, in seconds from its last use (2.4)."""


class Usage(NamedTuple):
    """Input tokens of a request in four parts that exclude each other (1.1)."""

    uncached: float
    read: float
    write_5m: float
    write_1h: float

    @property
    def prompt(self) -> float:
        """The whole prompt."""
        return self.uncached + self.read + self.write_5m + self.write_1h


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


def modelled_usage(
    prompt: float, cached: float, gap: float | None, ttl: float, *, bills_writes: bool = True
) -> Usage:
    """The usage of a request that recorded none, by the all-hit model (2.3): a figure from it is "modelled".

    Args:
        prompt: Its whole prompt, tokens.
        cached: How much of it the request before had sent.
        gap: Seconds since the request before; None: not known, so that the cache still holds it. Below zero
            (a clock that ran backwards) is 0.
        ttl: Life of the cache in seconds.
        bills_writes: The provider charges for writes; else what is new is uncached.
    """
    read = 0.0 if gap is not None and gap > ttl else min(cached, prompt)
    rest = prompt - read
    if not bills_writes:
        return Usage(rest, read, 0, 0)
    return Usage(0, read, 0, rest) if ttl > TTL_5M else Usage(0, read, rest, 0)


def all_hit_cost(tokens: float, requests: int, rates: Rates) -> float:
    """Carrying cost of tokens over so many requests that all hit the cache, µ$ (2.3).

    Example:
        >>> from dedupstats.economics.prices import Rates
        >>> round(all_hit_cost(1800, 3, Rates(3, 0.3, 3.75, 6, 15)), 6)
        7830.0
    """
    return tokens * (rates.write_5m + (requests - 1) * rates.read) if requests > 0 else 0.0


# -- changes -------------------------------------------------------------------------------------------------


class Charge(NamedTuple):
    """What one request charged for one emission, or for a part of it."""

    parts: Parts
    rates: Rates | None


@dataclass(frozen=True, slots=True)
class Carried:
    """An emission over its life: what each request that carried it charged.

    Attributes:
        tokens: Its size, framing included.
        charges: One per request in sight, in order.
    """

    tokens: float
    charges: Sequence[Charge]

    @property
    def context_token_requests(self) -> float:
        """Tokens times requests that carried them."""
        return sum(charge.parts.tokens for charge in self.charges)

    @property
    def cost(self) -> float:
        """What its requests with a price charged, µ$; see `unpriced` for the rest."""
        return sum(charge.parts.cost(charge.rates) for charge in self.charges if charge.rates)

    @property
    def unpriced(self) -> float:
        """Context-token-requests without a price."""
        return sum(charge.parts.tokens for charge in self.charges if charge.rates is None)


class Saving(NamedTuple):
    """What a change would have saved; negative: it would have cost more. Never clipped (S03)."""

    tokens: float
    """first-pass tokens"""
    context_token_requests: float
    cost: float
    """µ$ of the requests with a price"""


class Change(Protocol):
    """What a policy does to an emission.

    Kinds have formulas of their own: leaving out at entry scales what was charged, rewriting later pays for
    the cache that it breaks (3.1).
    """

    def saving(self, carried: Carried) -> Saving:
        """What it would have saved on an emission, all else as it was."""


@dataclass(frozen=True, slots=True)
class EntryElision:
    """A marker is shown instead of the result when it arrives (2.3): no cache is broken.

    Attributes:
        marker: Tokens of the marker, framing included (the result has the same).
    """

    marker: float

    def saving(self, carried: Carried) -> Saving:
        """C(x) - C(m) over the same requests: (x - m) / x of what was charged, to first order.

        Example:
            >>> from dedupstats.economics.prices import Rates
            >>> whole = Carried(100, [Charge(Parts(write_5m=100), Rates(3, 0.3, 3.75, 6, 15))])
            >>> EntryElision(20).saving(whole)
            Saving(tokens=80, context_token_requests=80.0, cost=300.0)
        """
        if carried.tokens <= 0:
            return Saving(-self.marker, 0.0, 0.0)
        share = (carried.tokens - self.marker) / carried.tokens
        return Saving(
            carried.tokens - self.marker, share * carried.context_token_requests, share * carried.cost
        )
