"""Requests to be charged as arrays, and what their charges add up to along the pieces of their prompts.

Prompts grow at their end for most of a context's life: then its requests see the same edges, and are a run.
What they charge below a position is a function of it that is straight between few points, so that a sum over
requests needs the pieces once and not once a request: a context of a hundred thousand results stays linear.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupstats.economics.cost import Usage
    from dedupstats.economics.placing import Category, Placing
    from dedupstats.economics.prices import Rates

Array = np.ndarray[Any, np.dtype[Any]]

PARTS = 4
"""read, written for an hour, written for five minutes, uncached: as they stand in a prompt (2.2)"""
ORDER = [1, 3, 2, 0]
"""where they are in `Usage` and in `Rates`"""
_FREE = (0.0,) * 5
"""for `Rates`: no price"""
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


class Run(NamedTuple):
    """Requests of a context that follow each other and see the same edges."""

    placing: Placing
    first_piece: int
    """added to a number of the context's pieces it is that among those of all contexts"""
    pieces: list[int]
    edges: list[float]
    begins: int
    """number of its first request in the batch"""


class Batch(NamedTuple):
    """Requests as arrays, a row each; and their runs end to end, an edge a slot, behind each an empty one."""

    spans: list[tuple[int, int, int, int]]
    """of each run: the slots and the requests from and to which it goes"""
    edges: Array
    pieces: Array
    """what begins at the edge; one more than there are pieces: nothing"""
    keys: Array
    parts: Array
    """tokens of the prompt's parts, as they stand in it"""
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
    above_expired: Array
    """and above what had expired"""
    ends: Array
    """slot of the first edge that is not below the end; rounding aside"""


class Below(NamedTuple):
    """What of each category stands below each edge: a table a run, end to end; what follows is by request."""

    units: Array
    columns: Array
    """category of the piece that begins at a slot, in its context"""
    numbers: Array
    """of each run's categories, in the meter's list"""
    widths: Array
    """categories of the context"""
    first_cell: Array
    """where the table of the run begins"""
    first_number: Array
    first_slot: Array
    last_slot: Array
    """of the last piece"""


def lay(bills: list[Bill], seen: list[tuple[float, float, float]], runs: list[Run], nothing: int) -> Batch:
    """The arrays of requests.

    Args:
        bills: The requests.
        seen: Where the prompt of each ends in tokens and in units, and tokens of a unit.
        runs: What they saw, in order.
        nothing: Number of no piece.
    """
    places = pairwise(accumulate((len(run.edges) + 1 for run in runs), initial=0))
    requests = pairwise([*(run.begins for run in runs), len(bills)])
    spans = [(*place, *own) for place, own in zip(places, requests, strict=True)]
    edges = np.zeros(spans[-1][1])
    pieces = np.full(len(edges), nothing)
    parts = np.array([bill.usage for bill in bills], dtype=np.float64)[:, ORDER]
    # what came behind a request is no part of it, were it by the last bit of a floating number
    tokens, units, scales = np.array(seen).T
    limits = np.zeros((len(bills), PARTS + 1))
    np.minimum(np.cumsum(parts, axis=1), tokens[:, None], out=limits[:, 1:])
    np.minimum(limits / scales[:, None], units[:, None], out=limits)
    expired = np.array([bill.expired for bill in bills], dtype=np.float64)
    above = np.empty((len(bills), PARTS + 2), dtype=np.intp)
    ends = np.empty(len(bills), dtype=np.intp)
    sought = np.column_stack([limits, expired / scales])
    for run, (low, high, first, end) in zip(runs, spans, strict=True):
        own = edges[low : high - 1]
        own[:] = run.edges
        pieces[low : high - 2] = run.pieces
        pieces[low : high - 2] += run.first_piece
        above[first:end] = own.searchsorted(sought[first:end], side="right") + low
        ends[first:end] = own.searchsorted(limits[first:end, -1] - _SLIVER) + low
    return Batch(
        spans,
        edges,
        pieces,
        np.array([bill.key for bill in bills], dtype=np.int64),
        parts,
        np.array([_FREE if bill.rates is None else bill.rates for bill in bills], dtype=np.float64),
        np.array([bill.rates is None for bill in bills]),
        np.array([bill.is_modelled for bill in bills]),
        expired,
        scales,
        limits,
        above[:, :-1],
        above[:, -1],
        ends,
    )


def below(batch: Batch, runs: list[Run], number: Callable[[Category], int]) -> Below:
    """What of each category stands below each edge.

    Args:
        batch: The requests.
        runs: What they saw.
        number: Numbers categories.
    """
    tables, columns = [], np.zeros(len(batch.edges), dtype=np.intp)
    numbers: list[int] = []
    # by run: categories, cells and categories of the runs before, first slot, last slot with a piece
    places = []
    size = 0
    for run, (low, high, _, _) in zip(runs, batch.spans, strict=True):
        width = len(run.placing.categories) if run.pieces else 0
        places.append((width, size, len(numbers), low, high - 3))
        if not width:
            continue
        category_of = run.placing.category_of
        own = columns[low : high - 2]
        own[:] = [category_of[piece] for piece in run.pieces]
        edges = batch.edges[low : high - 1]
        table = np.zeros((len(edges), width))
        table[np.arange(1, len(edges)), own] = edges[1:] - edges[:-1]
        np.cumsum(table, axis=0, out=table)
        tables.append(table.ravel())
        size += table.size
        numbers += [number(category) for category in run.placing.categories]
    requests = [end - first for _, _, first, end in batch.spans]
    return Below(
        np.concatenate([*tables, np.zeros(0)]),
        columns,
        np.array(numbers, dtype=np.intp),
        *np.repeat(np.array(places), requests, axis=0).T,
    )


def beyond(batch: Batch, columns: list[int], weights: Array) -> Array:
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


def between(batch: Batch, below: Below, rows: Array, held: Array, *, is_expired: bool) -> Array:
    """What of a category stands between limits of a request, cell by cell, in units.

    Args:
        batch: The requests.
        below: What stands below each edge.
        rows: Number of the request of each cell.
        held: Number of the category, in its context.
        is_expired: Of what had expired alone.
    """
    limits, above = batch.limits, batch.above
    if is_expired:
        limits = np.minimum(limits, (batch.expired / batch.scales)[:, None])
        above = np.minimum(above, batch.above_expired[:, None])
    places = np.minimum(above - 1, below.last_slot[:, None])
    # each table has a line an edge
    lines = below.first_cell[:, None] + (places - below.first_slot[:, None]) * below.widths[:, None]
    found: Array = below.units[lines[rows] + held[:, None]]
    beyond = limits - batch.edges[places]
    found += np.where(below.columns[places][rows] == held[:, None], beyond[rows], 0.0)
    return found[:, 1:] - found[:, :-1]
