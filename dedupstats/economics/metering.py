"""What requests were charged for each piece of their prompts, many requests of many contexts at a time.

Prompts grow at their end for most of a context's life: then its requests see the same edges, and are a run.
What they charge below a position is a function of it that is straight between few points, so that a sum over
requests needs the pieces once and not once a request: a context of a hundred thousand results stays linear.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dedupstats.economics.cost import Usage
    from dedupstats.economics.placing import Category, Placing
    from dedupstats.economics.prices import Rates
    from dedupstats.economics.tokens import Estimate

Array = np.ndarray[Any, np.dtype[Any]]

PARTS = 4
"""read, written for an hour, written for five minutes, uncached: as they stand in a prompt (2.2)"""
_ORDER = [1, 3, 2, 0]
"""where they are in `Usage` and in `Rates`"""
_FREE = (0.0,) * 5
"""for `Rates`: no price"""
_REQUESTS, _COST, _UNPRICED, _MODELLED = range(PARTS, PARTS + 4)
"""rows of the totals behind the parts"""
_BATCH = 8192
"""requests of a context, or of some, that are charged at once"""
_SLOTS = 1 << 16
"""edges that new runs may begin with until their requests are charged: each has a list of its own"""
_CELLS = 1 << 18
"""requests times categories that are held at once"""
_SLIVER = 1e-9
"""what a prompt has of a piece that only rounding put there; units"""


class Bill(NamedTuple):
    """A request to be charged for its pieces."""

    key: int
    usage: Usage
    rates: Rates | None
    output: float
    """tokens of the answer"""
    is_output_known: bool
    is_modelled: bool
    is_expired: bool
    expired: float
    """so much of the prompt the request before had sent and an expired cache lost"""


class RequestCosts(NamedTuple):
    """What requests were charged, a column each."""

    key: Array
    read: Array
    write_1h: Array
    write_5m: Array
    uncached: Array
    input_cost: Array
    """µ$; NaN: no price"""
    output: Array
    """tokens of the answer: known, estimated or, where even that fails, the lower bound of the log"""
    is_output_known: Array
    output_cost: Array
    is_modelled: Array
    """the log has no usage: the prompt is estimated and taken to hit the cache (2.3)"""
    is_expired: Array
    """the cache had expired since the request before (2.4)"""


class ShareCosts(NamedTuple):
    """What requests were charged for all pieces of a category, a row for each of both, a column each."""

    key: Array
    category: Array
    """number of it in the meter's list"""
    read: Array
    write_1h: Array
    write_5m: Array
    uncached: Array
    cost: Array
    """µ$; NaN: no price"""
    again: Array
    """tokens that an expired cache made the request send once more at full price"""
    again_cost: Array


class EmissionCosts(NamedTuple):
    """What emissions cost over their life in their contexts, a column each."""

    key: Array
    tokens: Array
    level: Array
    by_classes: Array
    """as in `tokens.Estimate`"""
    requests: Array
    """billed requests that carried it"""
    read: Array
    """tokens times requests, by what they were charged as"""
    write_1h: Array
    write_5m: Array
    uncached: Array
    cost: Array
    """µ$ of the requests with a price"""
    unpriced: Array
    """tokens times requests without a price"""
    modelled: Array
    """tokens times requests whose usage is modelled"""


class _Run(NamedTuple):
    """Requests of a context that follow each other and see the same edges."""

    placing: Placing
    first_piece: int
    """added to a number of the context's pieces it is that among those of all contexts"""
    pieces: list[int]
    edges: list[float]
    begins: int
    """number of its first request in the batch"""


class _Batch(NamedTuple):
    """Requests as arrays, a row each; and their runs end to end, an edge a slot, behind each an empty one."""

    spans: list[tuple[int, int, int, int]]
    """of each run: the slots and the requests from and to which it goes"""
    edges: Array
    pieces: Array
    """what begins at the edge; one more than there are pieces: nothing"""
    keys: Array
    prices: Array
    """as in `Rates`"""
    is_free: Array
    is_modelled: Array
    expired: Array
    scales: Array
    limits: Array
    """where the parts begin and end; units"""
    above: Array
    """slot of the first edge above each limit"""
    ends: Array
    """slot of the first edge that is not below the end; rounding aside"""


class Meter:
    """Charges requests for the pieces of their prompts.

    Attributes:
        categories: All categories met.
        requests, shares: What was charged so far, in blocks, in order.
    """

    def __init__(self) -> None:
        self.categories: list[Category] = []
        self.requests: list[RequestCosts] = []
        self.shares: list[ShareCosts] = []
        self._numbers: dict[Category, int] = {}
        self._bills: list[Bill] = []
        self._seen: list[tuple[float, float, float]] = []
        """of each bill's prompt: where it ends in tokens and in units, and tokens of a unit"""
        self._runs: list[_Run] = []
        self._slots = 0
        """of the runs, when they began"""
        self._over = 0, 0
        """requests of the contexts that are over, and slots of their runs"""
        self._results: list[tuple[int, int, Estimate]] = []
        self._first_piece = 0
        """of the context that is being charged"""
        # rows: tokens by part, requests, cost, unpriced, modelled; columns: pieces of all contexts
        self._totals: Array = np.zeros((PARTS + 4, 0))

    def charge(self, placing: Placing, bill: Bill) -> None:
        """Charge a request whose prompt the pieces now are."""
        prompt = placing.prompt
        # other contexts have no say: figures must not depend on them, were it by a bit
        requests, slots = self._over
        if len(self._bills) - requests >= _BATCH or self._slots - slots >= _SLOTS:
            self._flush()
        if not self._runs or prompt.edges is not self._runs[-1].edges:
            self._slots += len(prompt.edges)
            self._runs.append(_Run(placing, self._first_piece, prompt.pieces, prompt.edges, len(self._bills)))
        self._bills.append(bill)
        self._seen.append((prompt.end, prompt.edges[-1], prompt.scale))

    def close(self, placing: Placing) -> None:
        """Take note of the results of a context that is over."""
        first = self._first_piece
        self._results += [(key, first + piece, size) for key, piece, size in placing.results]
        self._first_piece += len(placing.category_of)
        if len(self._bills) >= _BATCH or self._slots >= _SLOTS:
            self._flush()
        self._over = len(self._bills), self._slots

    def settle(self) -> EmissionCosts:
        """Charge what is left; what the results of all contexts cost."""
        self._flush()
        self._widen()
        keys, pieces, sizes = zip(*self._results, strict=True) if self._results else ((), (), ())
        tokens, levels, by_classes = zip(*sizes, strict=True) if sizes else ((), (), ())
        # sums of differences leave specks below zero where there is nothing
        totals = np.maximum(self._totals[:, np.array(pieces, dtype=np.intp)], 0.0)
        return EmissionCosts(
            np.array(keys, dtype=np.int64),
            np.array(tokens, dtype=np.float64),
            np.array(levels, dtype=np.int64),
            np.array(by_classes, dtype=np.float64),
            totals[_REQUESTS].astype(np.int64),
            *totals[:PARTS],
            *totals[[_COST, _UNPRICED, _MODELLED]],
        )

    def _widen(self) -> None:
        """Make room for all pieces that are there by now."""
        last = self._runs[-1] if self._runs else None
        wanted = self._first_piece if last is None else last.first_piece + len(last.placing.category_of)
        wanted = max(wanted, self._first_piece)
        if wanted > self._totals.shape[1]:
            totals = np.zeros((PARTS + 4, max(wanted, 2 * self._totals.shape[1])))
            totals[:, : self._totals.shape[1]] = self._totals
            self._totals = totals

    # -- a batch ------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        if not self._bills:
            return
        self._widen()
        parts = np.array([bill.usage for bill in self._bills], dtype=np.float64)[:, _ORDER]
        batch = self._lay(parts)
        self.requests.append(_charged(self._bills, parts, batch))
        self._add(batch)
        self._share(batch)
        self._bills, self._seen, self._runs = [], [], []
        self._slots, self._over = 0, (0, 0)

    def _lay(self, parts: Array) -> _Batch:
        bills, runs = self._bills, self._runs
        places = pairwise(accumulate((len(run.edges) + 1 for run in runs), initial=0))
        requests = pairwise([*(run.begins for run in runs), len(bills)])
        spans = [(*place, *own) for place, own in zip(places, requests, strict=True)]
        edges = np.zeros(spans[-1][1])
        pieces = np.full(len(edges), self._totals.shape[1])
        # what came behind a request is no part of it, were it by the last bit of a floating number
        tokens, units, scales = np.array(self._seen).T
        limits = np.zeros((len(bills), PARTS + 1))
        np.minimum(np.cumsum(parts, axis=1), tokens[:, None], out=limits[:, 1:])
        np.minimum(limits / scales[:, None], units[:, None], out=limits)
        above, ends = np.empty(limits.shape, dtype=np.intp), np.empty(len(bills), dtype=np.intp)
        for run, (low, high, first, end) in zip(runs, spans, strict=True):
            own = edges[low : high - 1]
            own[:] = run.edges
            pieces[low : high - 2] = run.pieces
            pieces[low : high - 2] += run.first_piece
            above[first:end] = own.searchsorted(limits[first:end], side="right") + low
            ends[first:end] = own.searchsorted(limits[first:end, -1] - _SLIVER) + low
        return _Batch(
            spans,
            edges,
            pieces,
            np.array([bill.key for bill in bills], dtype=np.int64),
            np.array([_FREE if bill.rates is None else bill.rates for bill in bills], dtype=np.float64),
            np.array([bill.rates is None for bill in bills]),
            np.array([bill.is_modelled for bill in bills]),
            np.array([bill.expired for bill in bills], dtype=np.float64),
            scales,
            limits,
            above,
            ends,
        )

    def _add(self, batch: _Batch) -> None:
        """Add to the totals of pieces; of one that several things share the total is read by nobody."""
        whole = np.ones((len(batch.limits), PARTS + 1))
        # where a part begins its price is added, where it ends taken off again
        steps = np.diff(batch.prices[:, _ORDER], axis=1, prepend=0.0, append=0.0)
        marks = np.repeat(np.column_stack([batch.is_free, batch.is_modelled]), 2, axis=1)
        columns = [*range(PARTS + 1), *range(PARTS + 1), 0, PARTS, 0, PARTS]
        beyond = _beyond(batch, columns, np.hstack([whole, steps, marks]))
        parts, costs, (free, free_end, modelled, modelled_end) = np.split(beyond, (PARTS + 1, 2 * PARTS + 2))
        found = np.zeros((PARTS + 4, beyond.shape[1] - 1))
        found[:PARTS] = np.diff(parts[:-1] - parts[1:])
        found[_COST] = np.diff(costs.sum(axis=0))
        found[_UNPRICED] = np.diff(free - free_end)
        found[_MODELLED] = np.diff(modelled - modelled_end)
        reached = np.bincount(batch.ends, minlength=len(batch.edges))
        for low, high, first, end in batch.spans:
            found[_REQUESTS, low : high - 1] = end - first - np.cumsum(reached[low : high - 1])
        size = self._totals.shape[1]
        for row, values in enumerate(found):
            self._totals[row] += np.bincount(batch.pieces[:-1], values, size + 1)[:size]

    def _share(self, batch: _Batch) -> None:
        """Sum up by category what each request was charged."""
        found = []
        for run, (low, high, first, end) in zip(self._runs, batch.spans, strict=True):
            if not run.pieces:
                continue
            categories = run.placing.categories
            numbers = np.array([self._number(category) for category in categories])
            columns = np.array([run.placing.category_of[piece] for piece in run.pieces])
            edges = batch.edges[low : high - 1]
            below = np.zeros((len(edges), len(categories)))
            below[np.arange(1, len(edges)), columns] = edges[1:] - edges[:-1]
            np.cumsum(below, axis=0, out=below)
            step = max(_CELLS // len(categories), 1)
            for begin in range(first, end, step):
                own = slice(begin, min(begin + step, end))
                limits = batch.limits[own]
                tokens = _between(edges, columns, below, limits, batch.above[own] - low)
                rows, held = np.nonzero(tokens.any(axis=1))
                tokens = tokens[rows, :, held]
                lost = np.zeros_like(tokens)
                expired = batch.expired[own]
                if expired.any():
                    limits = np.minimum(limits, (expired / batch.scales[own])[:, None])
                    above = edges.searchsorted(limits, side="right")
                    lost = _between(edges, columns, below, limits, above)[rows, :, held]
                    lost[:, 0] = 0.0
                found.append((rows + begin, numbers[held], tokens, lost))
        if not found:
            return
        rows, held, tokens, lost = (np.concatenate(parts) for parts in zip(*found, strict=True))
        tokens *= batch.scales[rows, None]
        lost *= batch.scales[rows, None]
        prices = batch.prices[:, _ORDER][rows]
        prices[batch.is_free[rows]] = np.nan
        costs, again = (tokens * prices).sum(axis=1), (lost * prices).sum(axis=1)
        self.shares.append(
            ShareCosts._make((batch.keys[rows], held, *tokens.T, costs, lost.sum(axis=1), again))
        )

    def _number(self, category: Category) -> int:
        if category not in self._numbers:
            self._numbers[category] = len(self.categories)
            self.categories.append(category)
        return self._numbers[category]


def _charged(bills: list[Bill], parts: Array, batch: _Batch) -> RequestCosts:
    prices = batch.prices.copy()
    prices[batch.is_free] = np.nan
    output = np.array([bill.output for bill in bills], dtype=np.float64)
    return RequestCosts._make(
        (
            batch.keys,
            *parts.T,
            (parts * prices[:, _ORDER]).sum(axis=1),
            output,
            np.array([bill.is_output_known for bill in bills]),
            output * prices[:, -1],
            batch.is_modelled,
            np.array([bill.is_expired for bill in bills]),
        )
    )


def _beyond(batch: _Batch, columns: list[int], weights: Array) -> Array:
    """By column of limits, at each edge: the sum over requests of weight times how far the limit lies behind.

    What a part of the prompt is charged below an edge is this at its beginning less this at its end: overlaps
    of pieces with parts (2.2), summed over requests.
    """
    size = len(batch.edges)
    weights = weights * batch.scales[:, None]
    places = (batch.above[:, columns] + np.arange(len(columns)) * size).ravel()
    found: Array = np.empty((2, len(columns), size))
    for row, values in enumerate((weights, weights * batch.limits[:, columns])):
        found[row] = np.bincount(places, values.ravel(), len(columns) * size).reshape(-1, size)
    for low, high, _, _ in batch.spans:
        own = found[:, :, low:high]
        np.cumsum(own, axis=2, out=own)
    return np.asarray(found[0] * batch.edges - found[1])


def _between(edges: Array, columns: Array, below: Array, limits: Array, above: Array) -> Array:
    """What of each category stands between limits, in units, from what stands below each edge."""
    places = np.minimum(above - 1, len(edges) - 2)
    found: Array = below[places]
    rows, at = np.ogrid[: limits.shape[0], : limits.shape[1]]
    found[rows, at, columns[places]] += limits - edges[places]
    return found[:, 1:] - found[:, :-1]
