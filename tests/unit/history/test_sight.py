from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupstats.history.sight import departures
from dedupstats.model import Boundary, BoundaryKind


def boundary(
    at: int, kind: BoundaryKind, kept: tuple[int, ...] = (), removed: tuple[int, ...] = (), line: int = 0
) -> Boundary:
    return Boundary(1, at, line or at * 10, None, kind, None, None, None, kept, removed)


def left(count: int, *boundaries: Boundary) -> list[int | None]:
    return [departure.left_at for departure in departures(count, boundaries)]


def test_without_boundaries_everything_stays() -> None:
    assert left(3) == [None, None, None]


def test_a_compaction_removes_all_before_it_but_what_it_kept() -> None:
    assert left(4, boundary(3, BoundaryKind.COMPACTION, kept=(1,))) == [3, None, 3, None]


def test_what_one_compaction_kept_the_next_may_remove() -> None:
    first = boundary(2, BoundaryKind.COMPACTION, kept=(1,))
    assert left(4, boundary(4, BoundaryKind.CLEAR), first) == [2, 4, 4, 4]


def test_named_results_leave_at_a_micro_compaction_and_at_a_rewind() -> None:
    micro = boundary(2, BoundaryKind.MICRO, removed=(0,))
    rewind = boundary(3, BoundaryKind.REWIND, removed=(0, 2))
    assert left(4, micro, rewind) == [2, None, 3, None]


def test_a_boundary_after_the_last_emission_counts() -> None:
    assert left(1, boundary(1, BoundaryKind.COMPACTION)) == [1]


KINDS = st.sampled_from(list(BoundaryKind))
BOUNDARIES = st.lists(
    st.tuples(st.integers(0, 8), KINDS, st.sets(st.integers(0, 7)), st.integers(1, 99)), max_size=6
)


@given(st.integers(0, 8), BOUNDARIES)
def test_it_equals_asking_for_every_moment(
    count: int, raw: list[tuple[int, BoundaryKind, set[int], int]]
) -> None:
    cuts = sorted(
        (
            boundary(at, kind, kept=tuple(some), removed=tuple(some), line=line)
            for at, kind, some, line in raw
        ),
        key=lambda cut: (cut.at_ordinal, cut.line),
    )
    expected: list[int | None] = []
    for ordinal in range(count):
        leaves = [
            cut.at_ordinal
            for cut in cuts
            if ordinal < cut.at_ordinal
            and (
                ordinal not in cut.kept
                if cut.kind in (BoundaryKind.COMPACTION, BoundaryKind.CLEAR)
                else ordinal in cut.removed
            )
        ]
        expected.append(min(leaves, default=None))
    assert left(count, *cuts) == expected
