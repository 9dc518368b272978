"""The engine against 8,957 decisions of docker-agent's own code in its three revisions."""

from __future__ import annotations

import collections
from pathlib import Path

from dedupstats.simulate.vectors import Checked, Vector, check, read

VECTORS = Path(__file__).with_name("docker-agent.jsonl.gz")


def vectors() -> list[Vector]:
    return list(read(VECTORS.read_bytes(), VECTORS.name, None))


def test_every_decision_is_the_original_one() -> None:
    assert check(vectors()) == Checked(653, 8_957, None)


def test_the_vectors_say_something() -> None:
    """Each reason and each kind of answer occurs often enough that getting it wrong would be seen."""
    expected = [answer for vector in vectors() for answer in vector.expected or ()]
    assert min(collections.Counter(answer["reason"] for answer in expected).values()) == 6  # no_session
    assert sum(answer["elided"] for answer in expected) == 1_045
    assert sum("limited" in answer for answer in expected) == 122
    assert sum("engine_elided" in answer for answer in expected) == 8
