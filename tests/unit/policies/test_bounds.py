"""Bounds, on sequences short enough to judge by eye."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.policies import USUAL, decisions, policy, reasons

from dedupstats.policies.base import Action, Decision

WRITES = {"read_only": False}


def in_order(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"ordinal": ordinal, **step} for ordinal, step in enumerate(steps)]


@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [
        ("keep-all", [{}, {}], ["kept", "kept"]),
        ("ceiling", [{}, {"sha64": 2, "context": "sub"}, {"call_key": 2}], ["first", "repeat", "first"]),
        ("ceiling", [{}, {"session": "other"}], ["first", "first"]),
        ("exact", [{}, {"call_key": 2, "tool": "other", **WRITES}], ["first", "repeat"]),
        ("exact", [{}, {"context": "sub"}], ["first", "first"]),
        ("exact", [{"left_at": 1}, {}, {}], ["first", "first", "repeat"]),
        ("exact", [{"left_at": 2}, {}, {}], ["first", "repeat", "first"]),
        ("exact", [{"repeatable": False}, {"repeatable": False}, {}], ["no_text", "no_text", "repeat"]),
        ("exact", [{"is_error": True}, {"is_error": True}, {}], ["error", "error", "repeat"]),
        ("safe", [{}, {}], ["first", "repeat"]),
        ("safe", [{}, WRITES, {"is_error": True}, {}], ["first", "not_read_only", "error", "repeat"]),
        ("safe", [WRITES, {}], ["not_read_only", "repeat"]),
        ("safe", [{"left_at": 2}, WRITES, {}], ["first", "not_read_only", "repeat"]),
        ("safe", [WRITES, {"left_at": 2, **WRITES}, {}], ["not_read_only", "not_read_only", "repeat"]),
    ],
)
def test_reasons(name: str, steps: list[dict[str, Any]], expected: list[str]) -> None:
    assert reasons(policy(name), *in_order(*steps)) == expected


def test_the_anchor_is_the_copy_that_stays_longest() -> None:
    found = decisions(policy("safe"), *in_order({"left_at": 2}, WRITES, {}))
    assert found[2] == Decision(Action.ELIDE, "repeat", 1, "", 0)


@pytest.mark.parametrize("name", ["ceiling", "exact", "safe"])
def test_nothing_is_left_of_what_is_forgotten(name: str) -> None:
    engine = policy(name)
    engine.decide(USUAL)
    engine.forget("s")
    assert engine.decide(replace(USUAL, seq=1)).reason == "first"
