"""What requests were charged for each piece of their prompts, many requests at a time.

Prompts grow at their end for most of a context's life: then all its requests see the same edges. What they
charge below a position is a function of it that is straight between few points, so that a sum over requests
needs the pieces once and not once a request: a context of a hundred thousand results stays linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.economics.cost import Parts, bounds

if TYPE_CHECKING:
    from dedupstats.economics.cost import Usage
    from dedupstats.economics.placing import Category, Placing
    from dedupstats.economics.prices import Rates

Array = np.ndarray[Any, np.dtype[np.float64]]

PARTS = 4
"""read, written for an hour, written for five minutes, uncached"""
_REQUESTS, _COST, _UNPRICED, _MODELLED = range(PARTS, PARTS + 4)
"""rows of the totals behind the parts"""
_BATCH = 8192
"""requests that are charged at once"""


class ShareCost(NamedTuple):
    """What one request was charged for all pieces of a category."""

    key: int
    category: Category
    parts: Parts
    cost: float | None
    """µ$; None: no price"""
    again: float
    """tokens that an expired cache made the request send once more at full price"""
    again_cost: float | None


class Bill(NamedTuple):
    """A request to be charged for its pieces."""

    key: int
    usage: Usage
    rates: Rates | None
    is_modelled: bool
    expired: float
    """so much of the prompt the request before had sent and an expired cache lost"""


class Meter:
    """Charges requests for the pieces of their prompts.

    Attributes:
        shares: What each request was charged by category, in order.
    """

    def __init__(self, placing: Placing) -> None:
        self.shares: list[ShareCost] = []
        self._placing = placing
        self._bills: list[tuple[Bill, int]] = []
        self._pieces: list[int] = []
        self._edges: list[float] = []
        # rows: tokens by part, requests, cost, unpriced, modelled; columns: pieces
        self._totals: Array = np.zeros((PARTS + 4, 256))

    def charge(self, bill: Bill) -> None:
        """Charge a request whose prompt the pieces now are."""
        prompt = self._placing.prompt
        if prompt.edges is not self._edges or len(self._bills) >= _BATCH:
            self._flush()
            self._pieces, self._edges = prompt.pieces, prompt.edges
        self._bills.append((bill, len(prompt.pieces)))

    def totals(self) -> list[list[float]]:
        """By piece: tokens times requests by part, requests, cost in µ$, unpriced and modelled tokens."""
        self._flush()
        totals: list[list[float]] = self._totals.T.tolist()
        return totals

    def _flush(self) -> None:
        bills, self._bills = self._bills, []
        if not bills or len(self._edges) == 1:
            return
        edges = np.asarray(self._edges)
        pieces = np.asarray(self._pieces[: len(edges) - 1], dtype=np.intp)
        counts = np.array([count for _, count in bills])
        # what came behind a request is no part of it, were it by the last bit of a floating number
        limits = np.minimum(np.array([bounds(bill.usage) for bill, _ in bills]), edges[counts, None])
        self._add(edges, pieces, limits, [bill for bill, _ in bills])
        places, columns = np.unique(
            np.asarray(self._placing.category_of, dtype=np.intp)[pieces], return_inverse=True
        )
        categories = [self._placing.categories[place] for place in places.tolist()]
        sizes = np.diff(edges)
        # what of each category stands below each edge
        below = [np.append(0.0, np.cumsum(sizes * (columns == number))) for number in range(len(places))]
        own = np.array([np.diff(np.interp(limits, edges, line), axis=1) for line in below])
        for number, (bill, _) in enumerate(bills):
            again: list[list[float]] = []
            if bill.expired:
                lost = np.minimum(limits[number], bill.expired)
                again = [np.diff(np.interp(lost, edges, line)).tolist() for line in below]
                for parts in again:
                    parts[0] = 0.0
            self._share(bill, categories, own[:, number].tolist(), again)

    def _add(self, edges: Array, pieces: Any, limits: Array, bills: list[Bill]) -> None:
        """Add to the totals of pieces; of one that several things share the total is read by nobody."""
        while len(self._placing.category_of) > self._totals.shape[1]:
            self._totals = np.hstack([self._totals, np.zeros_like(self._totals)])
        rates = np.array([_vector(bill.rates) for bill in bills])
        is_unpriced = np.array([bill.rates is None for bill in bills], dtype=float)
        is_modelled = np.array([bill.is_modelled for bill in bills], dtype=float)
        for part in range(PARTS):
            low, high = limits[:, part], limits[:, part + 1]
            self._totals[part, pieces] += _charged(edges, low, high, np.ones(len(bills)))
            self._totals[_COST, pieces] += _charged(edges, low, high, rates[:, part])
            self._totals[_UNPRICED, pieces] += _charged(edges, low, high, is_unpriced)
            self._totals[_MODELLED, pieces] += _charged(edges, low, high, is_modelled)
        ends = np.sort(limits[:, -1])
        self._totals[_REQUESTS, pieces] += len(bills) - np.searchsorted(ends, edges[:-1], side="right")

    def _share(
        self, bill: Bill, categories: list[Category], parts: list[list[float]], again: list[list[float]]
    ) -> None:
        rates = None if bill.rates is None else _vector(bill.rates)
        for place, category in enumerate(categories):
            own = parts[place]
            if not any(own):
                continue
            lost = again[place] if again else None
            self.shares.append(
                ShareCost(
                    bill.key,
                    category,
                    Parts(*own),
                    None if rates is None else sum(map(_times, own, rates)),
                    sum(lost) if lost else 0.0,
                    None if rates is None else sum(map(_times, lost, rates)) if lost else 0.0,
                )
            )


def _charged(edges: Array, low: Array, high: Array, weights: Array) -> Array:
    """By piece, the sum over requests of a weight times the overlap with a part of the prompt (2.2)."""
    found: Array = np.diff(_beyond(edges, low, weights) - _beyond(edges, high, weights))
    return found


def _beyond(edges: Array, starts: Array, weights: Array) -> Array:
    """At each edge, the sum over requests of a weight times how far the edge lies behind a start."""
    order = np.argsort(starts)
    behind = np.searchsorted(starts[order], edges, side="right")
    weight = np.append(0.0, np.cumsum(weights[order]))
    moment = np.append(0.0, np.cumsum((weights * starts)[order]))
    found: Array = weight[behind] * edges - moment[behind]
    return found


def _times(count: float, rate: float) -> float:
    return count * rate


def _vector(rates: Rates | None) -> tuple[float, ...]:
    """Prices in the order of the parts; nothing where there is none."""
    if rates is None:
        return (0.0,) * PARTS
    return rates.read, rates.write_1h, rates.write_5m, rates.input
