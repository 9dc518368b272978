"""What no recorded decision covers: hosts without a handler, subagents, other idle times."""

from __future__ import annotations

from typing import Any

import pytest
from support.policies import HOUR, compaction, decisions, policy, reasons

from dedupstats.policies.base import Event, EventKind
from dedupstats.policies.rtk import marker

SUB = {"context": "sub"}
ROWS = [
    ("R6, v1", "rtk:v1", [], [{}, compaction(), {}], "repeat"),
    ("R6, v2", "rtk:v2", [], [{}, compaction(), {}], "first"),
    ("R7: no handler", "rtk:v2", ["compaction_handler=false"], [{}, compaction(), {}], "repeat"),
    ("R8: other events", "rtk:v2", [], [{}, Event(EventKind.SESSION_END, "s", "s"), {}], "repeat"),
    ("R9: then in a subagent", "rtk:v2", [], [{}, SUB], "repeat"),
    ("R10: then in the parent", "rtk:v2", [], [SUB, {}], "repeat"),
    ("R9, ledger by context", "rtk:v2", ["ledger=context"], [{}, SUB], "first"),
    ("R11: a subagent compacts", "rtk:v2", [], [{}, compaction("s", "sub"), {}], "first"),
    ("R11, ledger by context", "rtk:v2", ["ledger=context"], [{}, compaction("s", "sub"), {}], "repeat"),
    (
        "R32, ledger kept for 2 h",
        "rtk:v1",
        ["idle_hours=2"],
        [{}, {"raw_sha64": 2, "at": 2 * HOUR}, {"at": 2 * HOUR}],
        "repeat",
    ),
    ("disabled", "rtk", ["enabled=false"], [{}, {}], "disabled"),
]


@pytest.mark.parametrize(("row", "name", "settings", "steps", "last"), ROWS, ids=[row[0] for row in ROWS])
def test_last_decision(
    row: str, name: str, settings: list[str], steps: list[dict[str, Any] | Event], last: str
) -> None:
    del row
    assert reasons(policy(name, *settings), *steps)[-1] == last


def test_an_idle_row_is_pruned_by_any_command_of_any_session() -> None:
    """R30, R31: the look-up comes before the pruning."""
    late = {"at": 3 * HOUR}
    assert reasons(policy("rtk", "idle_hours=2"), {}, late) == ["first", "repeat"]
    other = {"session": "other", "bytes": 1, **late}
    assert reasons(policy("rtk", "idle_hours=2"), {}, other, late) == ["first", "too_small", "first"]


def test_a_row_of_exactly_the_limit_stays_when_others_go() -> None:
    """R32: the comparison is strict."""
    old, edge = {"raw_sha64": 1}, {"raw_sha64": 2, "at": HOUR}
    cleaner = {"bytes": 1, "at": 3 * HOUR}
    later = [{**row, "at": 3 * HOUR} for row in (edge, old)]
    assert reasons(policy("rtk", "idle_hours=2"), old, edge, cleaner, *later)[3:] == ["repeat", "first"]


def test_steps_go_on_from_the_highest_row_left() -> None:
    engine = policy("rtk", "idle_hours=1")
    found = decisions(
        engine,
        {"raw_sha64": 1},
        {"raw_sha64": 2},
        {"raw_sha64": 1, "at": HOUR},  # an elision refreshes row 1
        {"raw_sha64": 9, "at": 2 * HOUR, "bytes": 1},  # row 2 goes
        {"raw_sha64": 3, "at": 2 * HOUR},
        {"raw_sha64": 3, "at": 2 * HOUR, "identity": "git diff"},
    )
    assert found[-1].marker == marker(2, 10, 250, "git diff")
    assert found[-1].anchor == 4


def test_sizes_in_the_marker_are_those_of_the_first_emission() -> None:
    found = decisions(policy("rtk"), {}, {"bytes": 4_000, "lines": 99, "identity": "b"})
    assert found[1].marker == (
        "rtk-dedup: identical to output at step 1 · 10 lines / ~250 tok suppressed [b] "
        "(force full: rtk proxy <cmd>)\n"
    )
    assert found[1].shown_bytes == len((found[1].marker or "").encode())
