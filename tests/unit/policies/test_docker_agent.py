"""What no recorded decision covers: who is told of failures, whose ledger it is, anchors, housekeeping."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.policies import USUAL, compaction, decisions, end, policy, reasons

from dedupstats.policies.base import Action, Decision
from dedupstats.policies.docker_agent import marker, shortest

REVISIONS = ["v1", "v2", "v3"]
FAILED = {"is_error": True}
DENIED = {"is_error": True, "did_not_run": True}
BOTH = ["first", "repeat"]
NEITHER = ["error", "error"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("row", "errors", "result", "expected"),
    [
        ("D07", "documented", FAILED, NEITHER),
        ("D08", "host", FAILED, BOTH),
        ("0.3: a call that was denied", "documented", DENIED, NEITHER),
        ("0.3: a call that was denied", "host", DENIED, NEITHER),
    ],
)
def test_failures_as_the_engine_is_told_of_them(
    revision: str, row: str, errors: str, result: dict[str, Any], expected: list[str]
) -> None:
    del row
    assert reasons(policy(f"docker-agent:{revision}", f"errors={errors}"), result, result) == expected


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("ledger", "child", "parent"), [("context", "first", "repeat"), ("session", "repeat", "repeat")]
)
def test_whose_ledger_it_is(revision: str, ledger: str, child: str, parent: str) -> None:
    """D12, for subagents that share their parent's session id."""
    engine = policy(f"docker-agent:{revision}", f"ledger={ledger}")
    found = reasons(engine, {"context": "main"}, {"context": "sub"}, {"context": "main"})
    assert found == ["first", child, parent]


@pytest.mark.parametrize(
    ("ledger", "after"), [("context", ["repeat", "first"]), ("session", ["first", "repeat"])]
)
def test_a_subagent_that_ends_drops_its_ledger(ledger: str, after: list[str]) -> None:
    engine = policy("docker-agent", f"ledger={ledger}")
    steps = [
        {"context": "main"},
        {"context": "sub"},
        end(context="sub"),
        {"context": "main"},
        {"context": "sub"},
    ]
    assert reasons(engine, *steps)[2:] == after


def test_the_anchor_is_the_result_that_was_recorded_last() -> None:
    """A B B A A: an elision leaves the ledger alone, a change does not."""
    found = decisions(policy("docker-agent"), *({"sha64": sha64} for sha64 in (1, 2, 2, 2, 1, 1)))
    assert [decision.anchor for decision in found] == [None, None, 1, 1, None, 4]
    assert found[2] == Decision(Action.ELIDE, "repeat", 1, marker("read_file", 1_000), 235)


@pytest.mark.parametrize("revision", ["v2", "v3"])
def test_the_added_gate(revision: str) -> None:
    engine = policy(f"docker-agent:{revision}", "min_bytes=1001")
    assert reasons(engine, {}, {"bytes": 1_001}) == ["too_small", "first"]


def test_categories_are_a_list() -> None:
    engine = policy("docker-agent", "categories=shell, mcp")
    assert reasons(engine, {}, {"category": "mcp"}, {"category": "shell"}) == ["category", "first", "repeat"]


def test_the_limiter_behind_judges_the_marker() -> None:
    """A marker is cut like any other text, if the limit is as low as that."""
    engine = policy("docker-agent:v1", "limiter=back", "max_result_bytes=300")
    long_name = {"tool": "t" * 80}
    found = decisions(engine, long_name, long_name)
    assert [(decision.action, decision.reason) for decision in found] == [
        (Action.SHORTEN, "first"),
        (Action.SHORTEN, "repeat"),
    ]


def test_forgetting_for_memory_leaves_a_session_its_place() -> None:
    """Of three sessions the first opened leaves, whether or not another one was freed before."""
    engine = policy("docker-agent", "max_sessions=2")
    decisions(engine, {"context": "a"}, {"context": "b"})
    engine.forget("b")
    assert reasons(engine, {"context": "c"}, {"context": "a"}) == ["first", "first"]


def test_a_session_that_ended_has_no_place() -> None:
    engine = policy("docker-agent", "max_sessions=2")
    decisions(engine, {"context": "a"}, {"context": "b"}, end(context="b"))
    assert reasons(engine, {"context": "c"}, {"context": "a"}) == ["first", "repeat"]


def test_the_first_proposal_does_not_know_compactions() -> None:
    for revision, last in (("v1", "repeat"), ("v2", "first"), ("v3", "first")):
        assert reasons(policy(f"docker-agent:{revision}"), {}, compaction(), {}) == ["first", last]


@given(st.text() | st.text("é😀\ud800", max_size=300), st.integers(1, 2_000))
def test_the_shortest_result_is_the_first_longer_than_its_marker(tool: str, size: int) -> None:
    assert (size > len(marker(tool, size).encode("utf-8", "surrogatepass"))) == (size >= shortest(tool))


def test_answers_that_show_are_not_made_anew() -> None:
    engine = policy("docker-agent")
    assert engine.decide(USUAL) is policy("docker-agent").decide(USUAL)
