"""What requests were charged for each piece of their prompts, many requests at a time.

Prompts grow at their end for most of a context's life: then all its requests see the same edges. What they
charge below a position is a function of it that is straight between few points, so that a sum over requests
needs the pieces once and not once a request: a context of a hundred thousand results stays linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.economics.cost import bounds

if TYPE_CHECKING:
    from dedupstats.economics.cost import Usage
    from dedupstats.economics.placing import Placing
    from dedupstats.economics.prices import Rates
    from dedupstats.economics.prompt import Kind

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
    kind: Kind
    label: str | None
    """tool, or type of the attachment"""
    read: float
    write_1h: float
    write_5m: float
    uncached: float
    cost: float | None
    """µ$; None: no price"""
    again: float
    """tokens that an expired cache made the request send once more at full price"""
    again_cost: float | None

    @property
    def tokens(self) -> float:
        """Of all parts together."""
        return self.read + self.write_1h + self.write_5m + self.uncached


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
        # sums of differences leave specks below zero where there is nothing
        totals: list[list[float]] = np.maximum(self._totals, 0.0).T.tolist()
        return totals

    def _flush(self) -> None:
        bills, self._bills = self._bills, []
        if not bills or len(self._edges) == 1:
            return
        edges = np.asarray(self._edges)
        pieces = np.asarray(self._pieces[: len(edges) - 1], dtype=np.intp)
        counts = np.array([count for _, count in bills])
        own = [bill for bill, _ in bills]
        # what came behind a request is no part of it, were it by the last bit of a floating number
        limits = np.minimum(np.array([bounds(bill.usage) for bill in own]), edges[counts, None])
        rates = np.array([_vector(bill.rates) for bill in own])
        self._add(edges, pieces, limits, rates, own)
        self._share(edges, pieces, limits, rates, own)

    def _add(self, edges: Array, pieces: Any, limits: Array, rates: Array, bills: list[Bill]) -> None:
        """Add to the totals of pieces; of one that several things share the total is read by nobody."""
        while len(self._placing.category_of) > self._totals.shape[1]:
            self._totals = np.hstack([self._totals, np.zeros_like(self._totals)])
        beyond = _beyond(edges, limits, np.ones(limits.shape))
        self._totals[:PARTS, pieces] += np.diff(beyond[:-1] - beyond[1:])
        # where a part begins its price is added, where it ends taken off again
        steps = np.diff(rates, axis=1, prepend=0.0, append=0.0)
        self._totals[_COST, pieces] += np.diff(_beyond(edges, limits, steps).sum(axis=0))
        for row, marks in (
            (_UNPRICED, [bill.rates is None for bill in bills]),
            (_MODELLED, [bill.is_modelled for bill in bills]),
        ):
            if any(marks):
                whole = _beyond(edges, limits[marks][:, [0, -1]], np.ones((sum(marks), 2)))
                self._totals[row, pieces] += np.diff(whole[0] - whole[1])
        reached = np.bincount(np.searchsorted(edges, limits[:, -1]), minlength=len(edges))
        self._totals[_REQUESTS, pieces] += len(bills) - np.cumsum(reached)[:-1]

    def _share(self, edges: Array, pieces: Any, limits: Array, rates: Array, bills: list[Bill]) -> None:
        """Sum up by category what each request was charged."""
        numbers = np.asarray(self._placing.category_of, dtype=np.intp)[pieces]
        places, columns = np.unique(numbers, return_inverse=True)
        below = np.zeros((len(edges), len(places)))
        below[np.arange(1, len(edges)), columns] = np.diff(edges)
        np.cumsum(below, axis=0, out=below)
        tokens = np.diff(_at(edges, columns, below, limits), axis=1)
        expired = np.array([bill.expired for bill in bills])
        lost = np.zeros_like(tokens)
        if expired.any():
            lost = np.diff(_at(edges, columns, below, np.minimum(limits, expired[:, None])), axis=1)
            lost[:, 0] = 0.0
        costs, again = (tokens * rates[:, :, None]).sum(axis=1), lost.sum(axis=1)
        again_costs = (lost * rates[:, :, None]).sum(axis=1)
        rows, held = np.nonzero(tokens.any(axis=1))
        categories = [self._placing.categories[place] for place in places.tolist()]
        keys = [bill.key for bill in bills]
        # a masked figure becomes None
        is_free = np.array([bill.rates is None for bill in bills])[rows]
        columns_of_rows = (
            [keys[row] for row in rows.tolist()],
            *zip(*(categories[place] for place in held.tolist()), strict=True),
            *tokens[rows, :, held].T.tolist(),
            np.ma.array(costs[rows, held], mask=is_free).tolist(),
            again[rows, held].tolist(),
            np.ma.array(again_costs[rows, held], mask=is_free).tolist(),
        )
        self.shares += map(ShareCost._make, zip(*columns_of_rows, strict=True))


def _beyond(edges: Array, starts: Array, weights: Array) -> Array:
    """By column of starts, at each edge: the sum over requests of weight times how far the start lies behind.

    What a part of the prompt is charged below an edge is this at its beginning less this at its end: overlaps
    of pieces with parts (2.2), summed over requests.
    """
    columns, size = starts.shape[1], len(edges)
    # the edge from which on a start lies behind, of each column its own
    first = np.searchsorted(edges, starts, side="right") + np.arange(columns) * (size + 1)
    found: Array = np.zeros((2, columns * (size + 1)))
    for row, values in enumerate((weights, weights * starts)):
        found[row] = np.bincount(first.ravel(), values.ravel(), columns * (size + 1))
    sums = np.cumsum(found.reshape(2, columns, size + 1), axis=2)[:, :, :-1]
    return np.asarray(sums[0] * edges - sums[1])


def _at(edges: Array, columns: Any, below: Array, limits: Array) -> Array:
    """What of each category stands below each limit, from what stands below each edge."""
    places = np.minimum(np.searchsorted(edges, limits, side="right") - 1, len(edges) - 2)
    found: Array = below[places]
    rows, at = np.ogrid[: limits.shape[0], : limits.shape[1]]
    found[rows, at, columns[places]] += limits - edges[places]
    return found


def _vector(rates: Rates | None) -> tuple[float, ...]:
    """Prices in the order of the parts; nothing where there is none."""
    if rates is None:
        return (0.0,) * PARTS
    return rates.read, rates.write_1h, rates.write_5m, rates.input
