"""A part of a whole, as every percentage of the Report states it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole; `share` is part / whole, None where there is nothing to divide by."""

    part: int
    whole: int
    share: float | None


def share_of(part: int, whole: int) -> Share:
    """`part` of `whole`.

    >>> share_of(1, 4), share_of(0, 0).share
    (Share(part=1, whole=4, share=0.25), None)
    """
    return Share(part, whole, part / whole if whole else None)
