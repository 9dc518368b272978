"""What requests were charged for each piece of their prompts, many requests of many contexts at a time.

How requests are added up is in `batch.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupstats.economics.batch import ORDER, PARTS, Run, below, between, beyond, lay

if TYPE_CHECKING:
    from dedupstats.economics.batch import Array, Batch, Bill
    from dedupstats.economics.placing import Category, Placing
    from dedupstats.economics.tokens import Estimate

_REQUESTS, _COST, _UNPRICED, _MODELLED = range(PARTS, PARTS + 4)
"""rows of the totals behind the parts"""
_BATCH = 8192
"""requests of a context, or of some, that are charged at once"""
_SLOTS = 1 << 20
"""edges times categories that further runs of a context may begin with until their requests are charged"""
_CELLS = 1 << 16
"""requests times categories that are held at once"""


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
        self._runs: list[Run] = []
        self._slots = 0
        """of runs, when they began"""
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
        last = self._runs[-1] if self._runs else None
        if last is None or prompt.edges is not last.edges:
            # a first run does not count: one that is longer than all that may be held goes on all the same
            if last is not None and last.placing is placing:
                self._slots += len(prompt.edges) * len(placing.categories)
            self._runs.append(Run(placing, self._first_piece, prompt.pieces, prompt.edges, len(self._bills)))
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
        batch = lay(self._bills, self._seen, self._runs, self._totals.shape[1])
        self.requests.append(_charged(self._bills, batch))
        self._add(batch)
        self._share(batch)
        self._bills, self._seen, self._runs = [], [], []
        self._slots, self._over = 0, (0, 0)

    def _add(self, batch: Batch) -> None:
        """Add to the totals of pieces; of one that several things share the total is read by nobody."""
        whole = np.ones((len(batch.limits), PARTS + 1))
        # where a part begins its price is added, where it ends taken off again
        steps = np.diff(batch.prices[:, ORDER], axis=1, prepend=0.0, append=0.0)
        marks = np.repeat(np.column_stack([batch.is_free, batch.is_modelled]), 2, axis=1)
        columns = [*range(PARTS + 1), *range(PARTS + 1), 0, PARTS, 0, PARTS]
        sums = beyond(batch, columns, np.hstack([whole, steps, marks]))
        parts, costs, (free, free_end, modelled, modelled_end) = np.split(sums, (PARTS + 1, 2 * PARTS + 2))
        found = np.zeros((PARTS + 4, sums.shape[1] - 1))
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

    def _share(self, batch: Batch) -> None:
        """Sum up by category what each request was charged."""
        table = below(batch, self._runs, self._number)
        # a cell is a request and a category of its context
        cells = np.cumsum(table.widths)
        cuts = (np.flatnonzero(np.diff(cells // _CELLS)) + 1).tolist()
        for first, end in pairwise([0, *cuts, len(cells)]):
            widths = table.widths[first:end]
            rows = np.repeat(np.arange(first, end), widths)
            held = np.arange(len(rows)) - np.repeat(np.cumsum(widths) - widths, widths)
            tokens = between(batch, table, rows, held, is_expired=False)
            some = tokens.any(axis=1)
            rows, held, tokens = rows[some], held[some], tokens[some]
            lost = np.zeros_like(tokens)
            late = batch.expired[rows] > 0
            lost[late] = between(batch, table, rows[late], held[late], is_expired=True)
            lost[:, 0] = 0.0
            scales, prices = batch.scales[rows, None], batch.prices[:, ORDER][rows]
            prices[batch.is_free[rows]] = np.nan
            tokens, lost = tokens * scales, lost * scales
            costs, again = (tokens * prices).sum(axis=1), (lost * prices).sum(axis=1)
            numbers = table.numbers[table.first_number[rows] + held]
            self.shares.append(
                ShareCosts._make((batch.keys[rows], numbers, *tokens.T, costs, lost.sum(axis=1), again))
            )

    def _number(self, category: Category) -> int:
        if category not in self._numbers:
            self._numbers[category] = len(self.categories)
            self.categories.append(category)
        return self._numbers[category]


def _charged(bills: list[Bill], batch: Batch) -> RequestCosts:
    prices = batch.prices.copy()
    prices[batch.is_free] = np.nan
    output = np.array([bill.output for bill in bills], dtype=np.float64)
    return RequestCosts._make(
        (
            batch.keys,
            *batch.parts.T,
            (batch.parts * prices[:, ORDER]).sum(axis=1),
            output,
            np.array([bill.is_output_known for bill in bills]),
            output * prices[:, -1],
            batch.is_modelled,
            np.array([bill.is_expired for bill in bills]),
        )
    )
