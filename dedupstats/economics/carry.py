"""Where the input cost of a context goes: every request's prompt, piece by piece, charged as its usage says.

The pieces tile each prompt, so that their charges add up to what the requests recorded (token-economics.md
2.2); what recorded no usage is modelled (2.3).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.economics.cost import TTL_1H, TTL_5M, Parts, modelled_usage
from dedupstats.economics.events import legs, step_of
from dedupstats.economics.families import OPENAI, family_of
from dedupstats.economics.placing import Placing
from dedupstats.economics.prompt import PARTS
from dedupstats.economics.tokens import Step, clean_single, exact_net, has_hidden, output_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupstats.economics.cost import Usage
    from dedupstats.economics.events import Asked, Event, Leg
    from dedupstats.economics.families import Family
    from dedupstats.economics.placing import Category
    from dedupstats.economics.prices import Prices, Rates
    from dedupstats.economics.prompt import Array
    from dedupstats.economics.tokens import Estimate

    Indices = np.ndarray[Any, np.dtype[np.intp]]
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


class ShareCost(NamedTuple):
    """What one request was charged for all pieces of a category."""

    key: int
    category: Category
    parts: Parts
    cost: float | None
    again: float
    """tokens that an expired cache made the request send once more at full price"""
    again_cost: float | None


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
    """Measured tokens over those by character classes, for every result that is measured alone (5.5)."""
    found = []
    for leg in legs(events):
        family = families(leg.after.model if leg.after else None)
        step = step_of(leg)
        place, net = clean_single(step), exact_net(step)
        if family is None or place is None or net is None or has_hidden(step, step.output):
            continue
        if not step.entries[place].is_image:
            found.append(net / family.tokens(step.entries[place].counts))
    return found


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
    meter = _Meter(prices, placing, undated)
    for leg in legs(events):
        asked = leg.after or leg.before
        family = families(asked.model if asked else None)
        earlier = families(leg.before.model) if leg.before else None
        # an unknown tokenizer is taken to count as the others do
        is_other = earlier is not None and family is not None and earlier is not family
        placing.take(leg, family, is_other=is_other)
        if leg.after is not None:
            meter.charge(leg, leg.after, family)
    return ContextCost(meter.requests, meter.shares, meter.entries())


class _Meter:
    """Charges each request for the pieces of its prompt."""

    def __init__(self, prices: Prices, placing: Placing, undated: datetime) -> None:
        self.requests: list[RequestCost] = []
        self.shares: list[ShareCost] = []
        self._prices = prices
        self._placing = placing
        self._undated = undated
        self._is_long = False
        # rows: tokens by part, requests, cost, unpriced, modelled; columns: pieces
        self._totals: Array = np.zeros((PARTS + 4, 256))

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
        self._pieces(asked, usage, rates, cached if is_expired else 0.0)

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

    def _pieces(self, asked: Asked, usage: Usage, rates: Rates | None, expired: float) -> None:
        placing = self._placing
        pieces = np.asarray(placing.prompt.pieces, dtype=np.intp)
        if not len(pieces):
            return
        charged = placing.prompt.charges(usage)
        prices = None if rates is None else _vector(rates)
        tokens = charged.sum(axis=0)
        while len(placing.category_of) > self._totals.shape[1]:
            self._totals = np.hstack([self._totals, np.zeros_like(self._totals)])
        # a piece that several things share is counted once here, and read by nobody
        self._totals[:PARTS, pieces] += charged
        self._totals[PARTS, pieces] += tokens > 0
        if prices is None:
            self._totals[PARTS + 2, pieces] += tokens
        else:
            self._totals[PARTS + 1, pieces] += prices @ charged
        if asked.usage is None:
            self._totals[PARTS + 3, pieces] += tokens
        category = np.asarray(placing.category_of, dtype=np.intp)[pieces]
        parts = _by_category(charged, category, len(placing.categories))
        again = np.zeros_like(parts)
        if expired:
            charged_again = placing.prompt.charges(usage, expired)
            again = _by_category(charged_again, category, len(placing.categories))
            again[0] = 0.0
        met = np.flatnonzero(parts.any(axis=0))
        sums = again.sum(axis=0)
        if prices is None:
            paid = paid_again = [None] * len(met)
        else:
            paid, paid_again = (prices @ parts)[met].tolist(), (prices @ again)[met].tolist()
        columns = zip(
            met.tolist(), parts[:, met].T.tolist(), paid, sums[met].tolist(), paid_again, strict=True
        )
        self.shares.extend(
            ShareCost(asked.key, placing.categories[number], Parts(*own), *costs)
            for number, own, *costs in columns
        )

    def entries(self) -> list[EntryCost]:
        """Every emission of the context with what it cost."""
        found = []
        totals = self._totals.T.tolist()
        for key, piece, size in self._placing.results:
            # those that came after the last request have no column
            held = totals[piece] if piece < len(totals) else [0.0] * (PARTS + 4)
            *parts, requests, cost, unpriced, modelled = held
            found.append(EntryCost(key, size, int(requests), Parts(*parts), cost, unpriced, modelled))
        return found


def _by_category(charged: Array, category: Indices, count: int) -> Array:
    """Charges by category instead of by piece."""
    return np.array([np.bincount(category, weights=row, minlength=count) for row in charged])


def _vector(rates: Rates) -> Array:
    """Prices in the order of the parts."""
    return np.array([rates.read, rates.write_1h, rates.write_5m, rates.input])


def _gap(before: Asked | None, asked: Asked) -> float | None:
    """Seconds since the request before; a clock that ran backwards counts as 0 (2.4); None: not known."""
    if before is None or before.at is None or asked.at is None:
        return None
    return max(asked.at - before.at, 0) / 1e6
