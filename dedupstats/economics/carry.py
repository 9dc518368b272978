"""Where the input cost of a context goes: every request's prompt, piece by piece, charged as its usage says.

The pieces tile each prompt, so that their charges add up to what the requests recorded (token-economics.md
2.2); what recorded no usage is modelled (2.3).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.cost import TTL_1H, TTL_5M, Parts, modelled_usage
from dedupstats.economics.events import legs, singles
from dedupstats.economics.families import OPENAI, family_of
from dedupstats.economics.metering import Bill, Meter
from dedupstats.economics.placing import Placing
from dedupstats.economics.tokens import Step, output_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupstats.economics.cost import Usage
    from dedupstats.economics.events import Asked, Event, Leg
    from dedupstats.economics.families import Family
    from dedupstats.economics.metering import ShareCost
    from dedupstats.economics.prices import Prices, Rates
    from dedupstats.economics.tokens import Estimate

    FamilyOf = Callable[[str | None], Family | None]

TTL_OPENAI = 600.0
"""Idle life of OpenAI's cache in seconds: 5 to 10 minutes, at most an hour (2.4, taken as 10 minutes)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RequestCost(NamedTuple):
    """What one request was charged."""

    key: int
    parts: Parts
    """its whole prompt"""
    input_cost: float | None
    """µ$; None: no price"""
    output: float
    """tokens of the answer: known, estimated or, where even that fails, the lower bound of the log"""
    is_output_known: bool
    output_cost: float | None
    is_modelled: bool
    """the log has no usage: the prompt is estimated and taken to hit the cache (2.3)"""
    is_expired: bool
    """the cache had expired since the request before (2.4)"""


class EntryCost(NamedTuple):
    """What an emission cost over its life in this context."""

    key: int
    size: Estimate
    requests: int
    """billed requests that carried it"""
    parts: Parts
    """tokens times requests, by what they were charged as"""
    cost: float
    """µ$ of the requests with a price"""
    unpriced: float
    """tokens times requests without a price"""
    modelled: float
    """tokens times requests whose usage is modelled"""


class ContextCost(NamedTuple):
    """What a context cost: its billed requests, each by category, and every emission."""

    requests: list[RequestCost]
    shares: list[ShareCost]
    entries: list[EntryCost]


def exact_ratios(events: Iterable[Event], families: FamilyOf = family_of) -> list[float]:
    """Measured tokens over those by character classes, for every result that is measured alone (5.5).

    What a copy says again was measured once.
    """
    return [
        one.tokens / family.tokens(one.entry.counts)
        for one in singles(events)
        if one.asked.is_billed and (family := families(one.asked.model)) is not None
    ]


def carry(
    events: Iterable[Event],
    prices: Prices,
    *,
    undated: datetime,
    factor: float = 1.0,
    is_side: bool = False,
    families: FamilyOf = family_of,
) -> ContextCost:
    """What a context's requests were charged, and for what.

    Args:
        events: What happened in it, in order.
        prices: Price lists.
        undated: When requests without a time are priced (6.3: the newest known date).
        factor: The session's own factor on character classes.
        is_side: A summary call or side question: its prompt is a copy of another context, and one piece.
        families: Finds the tokenizer's family of a model.
    """
    placing = Placing(factor, is_side=is_side)
    cashier = _Cashier(prices, placing, undated)
    for leg in legs(events):
        asked = leg.after or leg.before
        family = families(asked.model if asked else None)
        earlier = families(leg.before.model) if leg.before else None
        # an unknown tokenizer is taken to count as the others do
        is_other = earlier is not None and family is not None and earlier is not family
        placing.take(leg, family, is_other=is_other)
        if leg.after is not None:
            cashier.charge(leg, leg.after, family)
    entries = cashier.entries()
    return ContextCost(cashier.requests, cashier.meter.shares, entries)


class _Cashier:
    """Finds each request's usage and prices, and has it charged."""

    def __init__(self, prices: Prices, placing: Placing, undated: datetime) -> None:
        self.requests: list[RequestCost] = []
        self.meter = Meter(placing)
        self._prices = prices
        self._placing = placing
        self._undated = undated
        self._is_long = False

    def charge(self, leg: Leg, asked: Asked, family: Family | None) -> None:
        """Charge the request whose prompt the pieces now are."""
        prompt = self._placing.prompt
        gap = _gap(leg.before, asked)
        at = self._undated if asked.at is None else _EPOCH + timedelta(microseconds=asked.at)
        rates = self._prices.rates(asked.model, at, prompt.end, asked.tier)
        ttl = TTL_OPENAI if family is OPENAI else TTL_1H if self._is_long else TTL_5M
        cached = 0.0 if leg.before is None else self._placing.cached
        usage = asked.usage or modelled_usage(
            prompt.end,
            cached,
            gap,
            ttl,
            bills_writes=rates is None or rates.write_5m != rates.input,
        )
        if usage.write_1h or usage.write_5m:
            self._is_long = usage.write_1h > 0
        if not asked.is_billed:
            return
        is_expired = (
            gap is not None and gap > ttl and cached > 0 and not any(left.clears for _, left in leg.left)
        )
        self._request(asked, usage, rates, family, is_expired=is_expired)
        expired = cached if is_expired else 0.0
        self.meter.charge(Bill(asked.key, usage, rates, asked.usage is None, expired))

    def _request(
        self, asked: Asked, usage: Usage, rates: Rates | None, family: Family | None, *, is_expired: bool
    ) -> None:
        parts = Parts(usage.read, usage.write_1h, usage.write_5m, usage.uncached)
        answer = output_of(Step(None, asked.output, asked.is_output_known, asked.visible, ()), family)
        output = float(asked.output or 0) if answer is None else answer
        self.requests.append(
            RequestCost(
                asked.key,
                parts,
                None if rates is None else parts.cost(rates),
                output,
                asked.is_output_known and asked.output is not None,
                None if rates is None else output * rates.output,
                asked.usage is None,
                is_expired,
            )
        )

    def entries(self) -> list[EntryCost]:
        """Every emission of the context with what it cost."""
        found = []
        totals = self.meter.totals()
        for key, piece, size in self._placing.results:
            # those that came after the last request have no column
            held = totals[piece] if piece < len(totals) else [0.0] * len(totals[0])
            *parts, requests, cost, unpriced, modelled = held
            found.append(EntryCost(key, size, int(requests), Parts(*parts), cost, unpriced, modelled))
        return found


def _gap(before: Asked | None, asked: Asked) -> float | None:
    """Seconds since the request before; a clock that ran backwards counts as 0 (2.4); None: not known."""
    if before is None or before.at is None or asked.at is None:
        return None
    return max(asked.at - before.at, 0) / 1e6
