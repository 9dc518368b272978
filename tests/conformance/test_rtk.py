"""The engine against 7,197 decisions of RTK's own code in its two revisions."""

from __future__ import annotations

import collections
from pathlib import Path

from dedupstats.simulate.vectors import Checked, Vector, check, read

VECTORS = Path(__file__).with_name("rtk.jsonl.gz")


def vectors() -> list[Vector]:
    return list(read(VECTORS.read_bytes(), VECTORS.name, None))


def test_every_decision_is_the_original_one() -> None:
    assert check(vectors()) == Checked(553, 7_197, None)


def test_the_vectors_say_something() -> None:
    expected = [answer for vector in vectors() for answer in vector.expected or ()]
    reasons = collections.Counter(answer["reason"] for answer in expected)
    assert set(reasons) == {"no_session", "error", "too_small", "first", "stale", "repeat"}
    assert (reasons["repeat"], reasons["stale"]) == (1_779, 58)
