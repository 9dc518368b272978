"""What a marker saves if the model sometimes fetches again what it stands for (token-economics.md 7.6)."""

from __future__ import annotations


def expected_saving(whole: float, marker: float, trip: float, share: float) -> float:
    """E(q) = (G - M) - q (G + H): what is fetched again is charged in full, an upper bound of the loss.

    Args:
        whole: G, carrying cost of the result.
        marker: M, that of the marker instead.
        trip: H, cost of the extra round trip: the call, and one more reading of the context if it is a
            request of its own.
        share: q, probability that the model fetches again.

    Returns:
        In the unit of the costs; negative: markers cost more than they save.

    Example:
        >>> round(expected_saving(11_610, 290.25, 10_930.5, 0.1), 2)
        9065.7
    """
    return (whole - marker) - share * (whole + trip)


def break_even(whole: float, marker: float, trip: float) -> float | None:
    """q*, the share of markers fetched again at which they save nothing; None: there is nothing to lose.

    Example:
        >>> round(break_even(11_610, 290.25, 10_930.5), 3)
        0.502
    """
    return (whole - marker) / (whole + trip) if whole + trip > 0 else None
