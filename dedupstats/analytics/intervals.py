"""Exact intervals of shares, without a library of statistics."""

from __future__ import annotations

import math

_TINY = 1e-300
_STEPS = 300
"""terms of the continued fraction, and halvings; both end long before"""


def clopper_pearson(found: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval of a share (token-economics.md 7.5).

    Args:
        found: How many, 0 to `of`.
        of: Of how many; 0: nothing is known, the interval is [0, 1].
        level: Nominal coverage.

    Example:
        >>> [round(bound, 3) for bound in clopper_pearson(0, 10)]
        [0.0, 0.308]
    """
    if of == 0:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if found == 0 else beta_quantile(tail, found, of - found + 1)
    high = 1.0 if found == of else beta_quantile(1 - tail, found + 1, of - found)
    return low, high


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x at which the regularised incomplete beta function I_x(a, b) is a probability, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz).

    Example:
        >>> round(incomplete_beta(0.5, 2, 3), 6)
        0.6875
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        # the fraction converges fast below the mean
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    numerator, denominator = 1.0, 1 - (a + b) * x / (a + 1)
    denominator = 1 / (denominator if abs(denominator) > _TINY else _TINY)
    value = denominator
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1 + term * denominator
            denominator = 1 / (denominator if abs(denominator) > _TINY else _TINY)
            numerator = 1 + term / numerator
            numerator = numerator if abs(numerator) > _TINY else _TINY
            value *= denominator * numerator
        if abs(denominator * numerator - 1) < 1e-15:  # noqa: PLR2004
            break
    return value
