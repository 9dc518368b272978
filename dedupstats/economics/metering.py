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
        # no part begins at the last limit, none ends at the first
        padded = np.pad(rates, ((0, 0), (1, 1)))
        marks = np.array([(1.0, bill.rates is None, bill.is_modelled) for bill in bills])
        beyond = [
            _beyond(edges, limits[:, at], np.hstack([marks, padded[:, at : at + 2]]))
            for at in range(PARTS + 1)
        ]
        for part in range(PARTS):
            self._totals[part, pieces] += np.diff(beyond[part][:, 0] - beyond[part + 1][:, 0])
        all_parts = beyond[0] - beyond[-1]
        self._totals[_UNPRICED, pieces] += np.diff(all_parts[:, 1])
        self._totals[_MODELLED, pieces] += np.diff(all_parts[:, 2])
        cost = sum(beyond[part][:, 4] - beyond[part + 1][:, 3] for part in range(PARTS))
        self._totals[_COST, pieces] += np.diff(cost)
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


def _beyond(edges: Array, starts: Array, weights: Array) -> Array:
    """At each edge, for each column of weights, the sum over requests of weight times how far it lies behind.

    What a part of the prompt is charged below an edge is this at its beginning less this at its end: overlaps
    of pieces with parts (2.2), summed over requests.
    """
    order = np.argsort(starts)
    starts, weights = starts[order], weights[order]
    behind = np.searchsorted(starts, edges, side="right")
    sums = np.zeros((2, len(starts) + 1, weights.shape[1]))
    np.cumsum(weights, axis=0, out=sums[0, 1:])
    np.cumsum(weights * starts[:, None], axis=0, out=sums[1, 1:])
    found: Array = sums[0, behind] * edges[:, None] - sums[1, behind]
    return found


def _times(count: float, rate: float) -> float:
    return count * rate


def _vector(rates: Rates | None) -> tuple[float, ...]:
    """Prices in the order of the parts; nothing where there is none."""
    if rates is None:
        return (0.0,) * PARTS
    return rates.read, rates.write_1h, rates.write_5m, rates.input
