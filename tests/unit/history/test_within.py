from __future__ import annotations

from itertools import permutations

from dedupstats.history.within import Within


def test_order_within_a_context() -> None:
    """By results before, a result behind what has as many, then line; on one line request, boundary, text."""
    happenings = [
        ("request", 0, 2, "first request"),
        ("request", 0, 3, "the request that made a summary"),
        ("boundary", 0, 3, "the boundary on its line"),
        ("text", 0, 3, "the summary on its line"),
        ("result", 0, 1, "the result, whatever its line"),
        ("request", 1, 4, "what has one result before it"),
    ]
    for order in permutations(happenings):
        within: Within[str] = Within()
        for kind, before, line, what in order:
            getattr(within, kind)(7, before, line, what)
        assert within.of(7) == [what for *_, what in happenings]
    assert 7 in within
    assert 8 not in within
    assert within.of(8) == []


def test_what_ties_stays_as_it_came() -> None:
    within: Within[str] = Within()
    for what in ("b", "a"):
        within.text(1, 0, 5, what)
    assert within.of(1) == ["b", "a"]
