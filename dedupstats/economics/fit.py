"""Constants of a family fitted on one's own results, and whether to trust them (token-economics.md 5.5).

The sheet's constants are from public logs. Where a family has enough results that are measured alone, the
same rule fitted on them may tell the others better; whether it does is found on results that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.economics.families import Classes, Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.economics.families import Family

Array = np.ndarray[Any, np.dtype[np.float64]]

LEAST_STEPS, LEAST_SESSIONS = 300, 20
"""With fewer results, or from fewer sessions, a fit does worse than the sheet's constants (5.4, 5.5)."""

LEAST_BYTES = 400
"""of a result on which an error is measured: below, what frames a result outweighs it"""

FOLDS = 5

MOST_APART = 4 / 3
"""Models of a family lie within a fifth of each other once characters are told apart (5.3): what is further
off than this in the middle is counted by another tokenizer, or made up."""

FEW = 0.05
"""A class of characters that fewer results than this share hold keeps its constant: nothing tells of it."""

_ROUNDS = 60
"""of reweighting, at most"""
_STILL = 1e-6
"""relative change of the coefficients that ends them"""
_LEAST_RESIDUE = 1e-4
"""relative error below which a result weighs no more"""
_NOTHING = 1e-15
"""of coefficients scaled to about 1: what rounding leaves of zero"""


class Basis(StrEnum):
    """Why a family's constants are those of the sheet, or not."""

    FITTED = "fitted"
    """the fit errs less on results that it has not seen"""
    FEW = "few"
    FOREIGN = "foreign"
    """what was measured is not this family's way to count"""
    NO_BETTER = "no_better"
    NO_RULE = "no_rule"
    """the sheet has no constants by character to be fitted"""


class Measured(NamedTuple):
    """A result that is measured alone."""

    session: int
    counts: Counts
    tokens: float


class Errors(NamedTuple):
    """Sizes of relative errors; None: no result to measure them on."""

    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A family's constants after a look at one's own results.

    Attributes:
        family: The family with the constants to use; None: no tokenizer is known, bytes / 4.
        basis: Why these.
        steps: Results that are measured alone.
        sessions: Sessions that have any.
        tested: Those of them of 400 bytes or more, on which the errors are.
        sheet: Errors of the sheet's constants (of bytes / 4 without a family).
        refit: Errors of the fit on results of sessions that it has not seen; None: not tried.
        bytes4: Median error of bytes / 4, with its sign.
    """

    family: Family | None
    basis: Basis
    steps: int
    sessions: int
    tested: int
    sheet: Errors
    refit: Errors | None
    bytes4: float | None

    @property
    def errors(self) -> Errors:
        """Held-out errors of the constants in use."""
        return self.refit if self.basis is Basis.FITTED and self.refit else self.sheet


def fitted(family: Family | None, steps: Sequence[Measured]) -> Fitted:
    """The constants to use for a family, given the results that are measured alone.

    The fit replaces the sheet's constants where there are enough results, where these look like the family's,
    and where on sessions that had no part in it its median error is smaller and its 90 % quantile no larger.

    Args:
        family: The family with the sheet's constants.
        steps: Its results, always in the same order: sums of floating numbers depend on it.
    """
    sessions = np.array([step.session for step in steps], dtype=np.int64)
    counts = np.array([step.counts[:6] for step in steps], dtype=np.float64).reshape(-1, 6)
    tokens = np.array([step.tokens for step in steps], dtype=np.float64)
    sheet = np.array([_tokens(family, step.counts) for step in steps], dtype=np.float64)
    tested = counts[:, 0] >= LEAST_BYTES
    number = int(np.unique(sessions).size)
    bytes4 = np.ceil(counts[:, 0] / 4)
    low = float(np.median((bytes4 / tokens - 1)[tested])) if tested.any() else None
    errors = _errors(sheet, tokens, tested)
    kept = Fitted(family, Basis.NO_RULE, len(steps), number, int(tested.sum()), errors, None, low)
    if family is None or family.classes is None:
        return kept
    if len(steps) < LEAST_STEPS or number < LEAST_SESSIONS:
        return replace(kept, basis=Basis.FEW)
    apart = float(np.median(tokens / sheet))
    if not 1 / MOST_APART <= apart <= MOST_APART:
        return replace(kept, basis=Basis.FOREIGN)
    refit = _errors(_unseen(family.classes, counts, tokens, sessions), tokens, tested)
    if not _is_better(refit, kept.sheet):
        return replace(kept, basis=Basis.NO_BETTER, refit=refit)
    classes = least_error(family.classes, counts, tokens)
    return replace(kept, family=replace(family, classes=classes), basis=Basis.FITTED, refit=refit)


def least_error(sheet: Classes, counts: Array, tokens: Array) -> Classes:
    """Coefficients, none negative, of the least sum of absolute relative errors (5.5).

    Least squares, weighed anew each round by what the round before left over; the best round is kept, the
    sheet's constants being the first.

    Args:
        sheet: Where to begin, and what to keep of a class that hardly any result holds.
        counts: A row per result, its columns those of `Counts` up to `non_ascii`.
        tokens: What they measured, above 0.
    """
    # the constant takes the place of the bytes, which no coefficient belongs to
    texts = np.hstack([np.ones((len(counts), 1)), counts[:, 1:]])
    seen = (texts > 0).mean(axis=0) >= FEW
    best = np.array(sheet)
    rows = texts / tokens[:, None]
    wanted = 1 - rows[:, ~seen] @ best[~seen]
    rows = rows[:, seen]
    least = float(np.abs(wanted - rows @ best[seen]).sum())
    trial = best[seen]
    for _ in range(_ROUNDS):
        weights = 1 / np.maximum(np.abs(wanted - rows @ trial), _LEAST_RESIDUE)
        weighed = rows * weights[:, None]
        before, trial = trial, nonnegative(weighed.T @ rows, weighed.T @ wanted)
        error = float(np.abs(wanted - rows @ trial).sum())
        if error < least:
            least = error
            best[seen] = trial
        if np.allclose(trial, before, rtol=_STILL, atol=0.0):
            break
    return Classes(*best.tolist())


def nonnegative(gram: Array, right: Array) -> Array:
    """The x without a negative element that makes x'Gx/2 - r'x least (Lawson and Hanson 1974, chapter 23).

    Example:
        >>> nonnegative(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([4.0, -3.0])).tolist()
        [2.0, 0.0]
    """
    size = len(right)
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    gram, right = gram * scale[:, None] * scale, right * scale
    unbound = np.linalg.lstsq(gram, right, rcond=None)[0]
    if unbound.min() >= 0:
        return np.asarray(unbound * scale, dtype=np.float64)
    found = np.zeros(size)
    free: list[int] = []
    # each outer round frees one more; without rounding there would be fewer
    for _ in range(3 * size):
        slope = right - gram @ found
        slope[free] = 0.0
        if slope.max() <= np.abs(right).max() * 1e-12:
            break
        free.append(int(slope.argmax()))
        while free:
            trial = np.zeros(size)
            trial[free] = np.linalg.lstsq(gram[np.ix_(free, free)], right[free], rcond=None)[0]
            below = [place for place in free if trial[place] <= 0]
            if not below:
                found = trial
                break
            # as far as the first of them reaches zero
            part = min(found[place] / (found[place] - trial[place]) for place in below)
            found += part * (trial - found)
            free = [place for place in free if place not in below or found[place] > _NOTHING]
            found[[place for place in range(size) if place not in free]] = 0.0
    return found * scale


def _unseen(sheet: Classes, counts: Array, tokens: Array, sessions: np.ndarray[Any, Any]) -> Array:
    """Tokens of every result by constants of the other folds: no session is fitted and tested (5.4)."""
    found = np.zeros(len(tokens))
    folds = sessions % FOLDS
    for fold in range(FOLDS):
        own = folds == fold
        classes = least_error(sheet, counts[~own], tokens[~own])
        found[own] = classes.const + counts[own, 1:] @ np.array(classes[1:])
    return found


def _tokens(family: Family | None, counts: Counts) -> float:
    return -(-counts.bytes // 4) if family is None else family.tokens(counts)


def _errors(estimates: Array, tokens: Array, tested: np.ndarray[Any, Any]) -> Errors:
    if not tested.any():
        return Errors(None, None)
    sizes = np.abs(estimates / tokens - 1)[tested]
    return Errors(float(np.median(sizes)), float(np.quantile(sizes, 0.9)))


def _is_better(one: Errors, other: Errors) -> bool:
    if one.median is None or one.p90 is None or other.median is None or other.p90 is None:
        return False
    return one.median < other.median and one.p90 <= other.p90
