from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.economics.compaction import (
    GrowthStep,
    Trigger,
    claude_code,
    codex,
    docker_agent,
    gemini_cli,
    is_limited,
    opencode,
    replay,
)

CLAUDE = claude_code("2.1.60")


def test_vector_11() -> None:
    steps = [GrowthStep(19_000)] * 18
    assert replay(20_000, steps, CLAUDE, after=34_000) == ((8, 15), 91_000)
    kept_out = [GrowthStep(19_000, removed=4_000)] * 18
    assert replay(20_000, kept_out, CLAUDE, after=34_000) == ((10,), 154_000)


@pytest.mark.parametrize(
    ("trigger", "below", "at"),
    [
        (claude_code("2.1.20"), 166_999, 167_000),
        (claude_code(None), 166_999, 167_000),
        (claude_code("2.1.19"), 154_999, 155_000),
        (claude_code("1.0.60"), 154_999, 155_000),
        (claude_code("2.1.232", window=1_000_000), 966_999, 967_000),
        # strictly above int(0.9 x window); a share that makes no sense is 0.9
        (docker_agent(), 180_000, 180_001),
        (docker_agent(threshold=1.5), 180_000, 180_001),
        (docker_agent(100_001), 90_000, 90_001),
        (codex(), 244_799, 244_800),
        (codex(limit=400_000), 244_799, 244_800),
        (codex(limit=100_000), 99_999, 100_000),
        (opencode(), 147_999, 148_000),
        (gemini_cli(), 524_287, 524_288),
    ],
)
def test_limits(trigger: Trigger, below: int, at: int) -> None:
    assert not trigger.fires(below)
    assert trigger.fires(at)


def test_what_claude_code_counts() -> None:
    """4.2: before 2.1 what enters is not counted; from 2.1.120 tool inputs are, a second time."""
    found = [claude_code(version) for version in ("2.0.8", "2.1.0", "2.1.119", "2.1.120")]
    assert [(one.counts_entered, one.counts_inputs) for one in found] == [
        (False, False),
        (True, False),
        (True, False),
        (True, True),
    ]


def test_recorded_compactions_are_reproduced() -> None:
    steps = [GrowthStep(60_000), GrowthStep(80_000), GrowthStep(10_000, after=41_000), GrowthStep(5_000)]
    assert replay(20_000, steps, CLAUDE) == ((3,), 46_000)
    # what stands in no record is the median of those that do
    again = [*steps, GrowthStep(130_000), GrowthStep(1_000)]
    assert replay(20_000, again, CLAUDE) == ((3, 5), 42_000)
    # a recorded one that does not fire under a policy goes on with what entered
    assert replay(20_000, [steps[0]._replace(removed=30_000), *steps[1:]], CLAUDE) == ((), 145_000)


def test_without_any_record_the_floor_and_a_summary() -> None:
    assert replay(20_000, [GrowthStep(150_000)], CLAUDE).end == 20_000 + 10_200


def test_a_compaction_by_hand_happens_and_is_not_counted() -> None:
    assert replay(20_000, [GrowthStep(500_000, fixed=30_000), GrowthStep(1_000)], CLAUDE) == ((), 31_000)


def test_the_agents_own_estimate_triggers() -> None:
    seen = [GrowthStep(40_000, counted=10_000), GrowthStep(0)]
    assert replay(130_000, seen, CLAUDE) == ((2,), 130_000 + 10_200)


def test_a_context_above_the_limit_is_not_under_it() -> None:
    assert is_limited([100_000, 169_999], CLAUDE)
    assert not is_limited([100_000, 170_001], CLAUDE)


@given(
    st.integers(0, 50_000),
    st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 60_000)), max_size=40),
)
def test_keeping_out_never_adds_a_compaction(start: int, grown: list[tuple[int, int]]) -> None:
    """Where what comes after is the same, a smaller context is not compacted more often than a larger one."""
    whole = replay(start, [GrowthStep(growth) for growth, _ in grown], CLAUDE, after=start)
    less = [GrowthStep(growth, removed=min(growth, removed)) for growth, removed in grown]
    kept = replay(start, less, CLAUDE, after=start)
    assert len(kept.fired) <= len(whole.fired)
    assert replay(start, [GrowthStep(growth) for growth, _ in grown], CLAUDE, after=start) == whole
