from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dedupstats.economics.families import CLAUDE_4_6, CLAUDE_4_7, OPENAI, Classes, Counts
from dedupstats.economics.fit import (
    LEAST_SESSIONS,
    LEAST_STEPS,
    Basis,
    Measured,
    fitted,
    least_error,
    nonnegative,
)

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = Classes(20.0, 0.30, 1.20, 1.50, 0.60, 0.50)
"""another program's constants, within a third of those of the sheet"""


def texts(number: int, seed: int = 7) -> list[Counts]:
    """Texts of all sizes: prose, tables, code."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        letters, digits = draw.randint(0, 4_000), draw.randint(0, 400)
        newlines, others, foreign = draw.randint(0, 200), draw.randint(0, 900), draw.randint(0, 60)
        blanks = draw.randint(0, 500)
        whole = letters + digits + newlines + others + foreign + blanks
        found.append(Counts(whole, letters, digits, newlines, others, foreign))
    return found


def steps(
    count: Callable[[Counts], float], number: int = LEAST_STEPS, sessions: int = LEAST_SESSIONS, seed: int = 7
) -> list[Measured]:
    return [
        Measured(place % sessions, counts, count(counts)) for place, counts in enumerate(texts(number, seed))
    ]


def rows(found: list[Measured]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return (
        np.array([one.counts[:6] for one in found], dtype=float),
        np.array([one.tokens for one in found], dtype=float),
    )


def test_the_fit_finds_what_made_the_figures_though_a_fifth_of_them_is_off() -> None:
    made = steps(OWN.tokens, 400)
    # reminders that no log has: the least absolute error does not follow them
    spoiled = [
        one._replace(tokens=one.tokens + 300) if place % 5 == 0 else one for place, one in enumerate(made)
    ]
    found = least_error(CLAUDE_4_6.classes or OWN, *rows(spoiled))
    assert found == pytest.approx(OWN, rel=0.01)


def test_a_constant_alone_is_the_weighted_median() -> None:
    """By hand: the c of least sum |c - y| / y is the median of the y, each weighed by 1 / y."""
    tokens = [100.0, 110.0, 120.0, 400.0, 1_000.0]
    # weights 0.0100, 0.0091, 0.0083, 0.0025, 0.0010: half of 0.0309 is reached at the second
    empty = np.zeros((5, 6))
    assert least_error(Classes(500, 0, 0, 0, 0, 0), empty, np.array(tokens)).const == pytest.approx(
        110, rel=1e-3
    )


def test_no_coefficient_is_negative_and_none_is_better_nearby() -> None:
    """Digits make the figures smaller, which no tokenizer does: their coefficient ends at zero."""
    made = steps(
        lambda counts: 50 + 0.3 * counts.letters - 0.2 * counts.digits + 0.5 * counts.other_ascii + 100
    )
    counts, tokens = rows(made)
    found = np.array(least_error(CLAUDE_4_6.classes or OWN, counts, tokens))
    assert found.min() >= 0
    assert found[2] == 0
    both = np.hstack([np.ones((len(counts), 1)), counts[:, 1:]])

    def error(constants: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(np.abs(both @ constants / tokens - 1).sum())

    least = error(found)
    for place, step in itertools.product(range(6), (0.97, 1.03)):
        moved = found.copy()
        moved[place] = moved[place] * step + (0.01 if step > 1 else 0)
        assert error(moved) >= least - 1e-6


def test_a_class_that_hardly_any_text_holds_keeps_its_constant() -> None:
    sheet = CLAUDE_4_6.classes
    assert sheet
    made = [
        one._replace(counts=one.counts._replace(non_ascii=0))
        for one in steps(lambda counts: OWN.tokens(counts._replace(non_ascii=0)))
    ]
    found = least_error(sheet, *rows(made))
    assert found.non_ascii == sheet.non_ascii
    assert found.letter == pytest.approx(OWN.letter, rel=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_without_negatives_against_every_choice_of_zeros(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(12, 4))
    wanted = draw.normal(size=12)

    def left(x: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(((rows @ x - wanted) ** 2).sum())

    best = left(np.zeros(4))
    for size in range(1, 5):
        for free in itertools.combinations(range(4), size):
            x = np.zeros(4)
            x[list(free)] = np.linalg.lstsq(rows[:, list(free)], wanted, rcond=None)[0]
            if x.min() >= 0:
                best = min(best, left(x))
    found = nonnegative(rows.T @ rows, rows.T @ wanted)
    assert found.min() >= 0
    assert left(found) == pytest.approx(best, abs=1e-9)


# -- whether it is used --------------------------------------------------------------------------------------


def test_it_is_used_where_it_errs_less_on_sessions_it_has_not_seen() -> None:
    found = fitted(CLAUDE_4_6, steps(OWN.tokens))
    assert found.basis is Basis.FITTED
    assert (found.steps, found.sessions) == (LEAST_STEPS, LEAST_SESSIONS)
    assert found.family
    assert found.family.classes == pytest.approx(OWN, rel=0.01)
    # only these: what an answer has in tokens is not measured by a result
    assert (found.family.name, found.family.output) == (CLAUDE_4_6.name, CLAUDE_4_6.output)
    assert found.errors == found.refit
    assert (found.errors.median or 0) < 0.01 < (found.sheet.median or 0)


@pytest.mark.parametrize(
    ("number", "sessions"), [(LEAST_STEPS - 1, LEAST_SESSIONS), (LEAST_STEPS, LEAST_SESSIONS - 1), (1, 1)]
)
def test_too_few(number: int, sessions: int) -> None:
    found = fitted(CLAUDE_4_6, steps(OWN.tokens, number, sessions))
    assert (found.basis, found.family, found.refit) == (Basis.FEW, CLAUDE_4_6, None)
    assert found.errors == found.sheet


@pytest.mark.parametrize("factor", [0.5, 0.7, 1.4, 4.0])
def test_counts_that_are_not_the_familys_spoil_nothing(factor: float) -> None:
    """A gateway with another tokenizer, or made-up usage: it could be fitted to perfection, and is not."""
    sheet = CLAUDE_4_6.tokens
    found = fitted(CLAUDE_4_6, steps(lambda counts: factor * sheet(counts)))
    assert (found.basis, found.family, found.refit) == (Basis.FOREIGN, CLAUDE_4_6, None)
    assert found.sheet.median == pytest.approx(abs(1 / factor - 1))


def test_where_the_constants_are_right_they_stay() -> None:
    draw = random.Random(3)
    sheet = CLAUDE_4_7.tokens
    found = fitted(CLAUDE_4_7, steps(lambda counts: sheet(counts) * draw.choice((0.9, 1.0, 1.0, 1.0, 1.1))))
    assert (found.basis, found.family) == (Basis.NO_BETTER, CLAUDE_4_7)
    assert found.refit
    assert found.errors == found.sheet


def test_no_session_is_fitted_and_tested() -> None:
    """Each fold counts in its own way: what is fitted on four of them must be far off on the fifth."""
    made = [
        Measured(one.session, one.counts, one.tokens * (1 + 0.1 * (one.session % 5)))
        for one in steps(OWN.tokens, 600, 30)
    ]
    found = fitted(CLAUDE_4_6, made)
    assert found.refit
    assert (found.refit.median or 0) > 0.05


def test_the_rows_of_a_family_without_constants() -> None:
    counted = [Measured(0, Counts(1_000, o200k=250), 280.0), Measured(1, Counts(50), 20.0)]
    found = fitted(OPENAI, counted)
    assert (found.basis, found.steps, found.sessions, found.tested) == (Basis.NO_RULE, 2, 2, 1)
    assert found.sheet.median == pytest.approx(abs((250 + 26) / 280 - 1))
    assert found.bytes4 == pytest.approx(250 / 280 - 1)
    unknown = fitted(None, counted)
    assert (unknown.family, unknown.sheet.median) == (None, pytest.approx(1 - 250 / 280))


def test_no_result_is_no_error_and_no_zero() -> None:
    found = fitted(CLAUDE_4_6, [Measured(1, Counts(10, 10), 15.0)])
    assert (found.tested, found.sheet.median, found.sheet.p90, found.bytes4) == (0, None, None, None)
    empty = fitted(CLAUDE_4_6, [])
    assert (empty.steps, empty.sessions, empty.basis) == (0, 0, Basis.FEW)
