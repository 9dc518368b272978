"""When each emission of a context left the model's sight."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.model import Boundary, BoundaryKind

if TYPE_CHECKING:
    from collections.abc import Iterable

_REMOVES_ALL = frozenset({BoundaryKind.COMPACTION, BoundaryKind.CLEAR})


class Departure(NamedTuple):
    """Where an emission left sight: the ordinal and the line of the boundary; None = it never left."""

    left_at: int | None
    left_line: int | None


STAYS = Departure(None, None)


def departures(count: int, boundaries: Iterable[Boundary]) -> list[Departure]:
    """When each of a context's emissions left sight.

    An emission leaves once. What comes back into sight later stands there as an emission of its own (a
    return, DESIGN.md section 5), which is why this is one number per emission.

    Args:
        count: Number of emissions of the context; their ordinals are 0 to count - 1.
        boundaries: The context's boundaries, in any order.

    Returns:
        One departure per ordinal. Cost: linear in emissions plus what the boundaries list.

    Example:
        >>> from dedupstats.model import Boundary, BoundaryKind
        >>> cut = Boundary(1, 2, 9, None, BoundaryKind.COMPACTION, "auto", None, None, (1,), ())
        >>> [d.left_at for d in departures(3, [cut])]
        [2, None, None]
    """
    left = [STAYS] * count
    visible: list[int] = []  # ordinals that may still be in sight, except named removals
    arrived = 0
    for boundary in sorted(boundaries, key=lambda b: (b.at_ordinal, b.line)):
        here = min(boundary.at_ordinal, count)
        visible.extend(range(arrived, here))
        arrived = max(arrived, here)
        departure = Departure(boundary.at_ordinal, boundary.line)
        if boundary.kind in _REMOVES_ALL:
            kept = set(boundary.kept)
            leaving = [ordinal for ordinal in visible if ordinal not in kept]
            visible = [ordinal for ordinal in visible if ordinal in kept]
        else:
            leaving = [ordinal for ordinal in boundary.removed if ordinal < here]
        for ordinal in leaving:
            if left[ordinal] is STAYS:
                left[ordinal] = departure
    return left
