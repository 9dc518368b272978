"""Where the input cost of a context goes: every request's prompt, piece by piece, charged as its usage says.

The pieces tile each prompt, so that their charges add up to what the requests recorded (token-economics.md
2.2); what recorded no usage is modelled (2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.batch import Bill
from dedupstats.economics.cost import TTL_1H, TTL_5M, modelled_usage
from dedupstats.economics.families import OPENAI, family_of
from dedupstats.economics.metering import Meter
from dedupstats.economics.placing import Placing
from dedupstats.economics.tokens import output_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupstats.economics.events import Asked, Leg
    from dedupstats.economics.families import Family
    from dedupstats.economics.metering import EmissionCosts, RequestCosts, ShareCosts
    from dedupstats.economics.placing import Category
    from dedupstats.economics.prices import Prices

    FamilyOf = Callable[[str | None], Family | None]

TTL_OPENAI = 600.0
"""Idle life of OpenAI's cache in seconds: 5 to 10 minutes, at most an hour (2.4, taken as 10 minutes)."""


class Costs(NamedTuple):
    """What contexts cost: their billed requests, each by category, and every emission; tables in blocks."""

    requests: list[RequestCosts]
    shares: list[ShareCosts]
    categories: list[Category]
    """by the numbers of the shares"""
    emissions: EmissionCosts


class Cashier:
    """Charges contexts for what stands in their prompts, one after the other."""

    def __init__(self, prices: Prices, undated: int) -> None:
        """Nothing is charged yet.

        Args:
            prices: Price lists.
            undated: When requests without a time are priced (6.3: the newest known date); microseconds UTC.
        """
        self._prices = prices
        self._undated = undated
        self._meter = Meter()
        self._is_long = False

    def take(
        self,
        context: Iterable[Leg],
        *,
        factor: float = 1.0,
        is_side: bool = False,
        families: FamilyOf = family_of,
    ) -> None:
        """Find what a context's requests are charged, and for what.

        Args:
            context: What happened in it, in order.
            factor: The session's own factor on character classes.
            is_side: A summary call or side question: its prompt is a copy of another context, and one piece.
            families: Finds the tokenizer's family of a model.
        """
        placing = Placing(factor, is_side=is_side)
        self._is_long = False
        for leg in context:
            asked = leg.after or leg.before
            family = families(asked.model if asked else None)
            earlier = families(leg.before.model) if leg.before else None
            # an unknown tokenizer is taken to count as the others do
            is_other = earlier is not None and family is not None and earlier is not family
            placing.take(leg, family, is_other=is_other)
            if leg.after is not None:
                self._charge(placing, leg, leg.after, family)
        self._meter.close(placing)

    def costs(self) -> Costs:
        """What all contexts that were taken cost."""
        emissions = self._meter.settle()
        return Costs(self._meter.requests, self._meter.shares, self._meter.categories, emissions)

    def _charge(self, placing: Placing, leg: Leg, asked: Asked, family: Family | None) -> None:
        """Charge the request whose prompt the pieces now are."""
        end = placing.prompt.end
        gap = _gap(leg.before, asked)
        at = self._undated if asked.at is None else asked.at
        rates = self._prices.rates_at(asked.model, at, end, asked.tier)
        ttl = TTL_OPENAI if family is OPENAI else TTL_1H if self._is_long else TTL_5M
        cached = 0.0 if leg.before is None else placing.cached
        usage = asked.usage or modelled_usage(
            end,
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
        answer = output_of(asked.output, asked.visible, family, is_known=asked.is_output_known)
        self._meter.charge(
            placing,
            Bill(
                asked.key,
                usage,
                rates,
                float(asked.output or 0) if answer is None else answer,
                asked.is_output_known and asked.output is not None,
                asked.usage is None,
                is_expired,
                cached if is_expired else 0.0,
            ),
        )


def _gap(before: Asked | None, asked: Asked) -> float | None:
    """Seconds since the request before; a clock that ran backwards counts as 0 (2.4); None: not known."""
    if before is None or before.at is None or asked.at is None:
        return None
    return max(asked.at - before.at, 0) / 1e6
