from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.economics.compaction import (
    GrowthStep,
    Trigger,
    is_limited,
    replay,
    summary_call,
    trigger,
)
from dedupstats.economics.prices import Rates
from dedupstats.model import CompactionRule
from dedupstats.sources.claude_code import ClaudeCode
from dedupstats.sources.docker_agent import DockerAgent


def claude_code(version: str | None) -> Trigger:
    found = trigger(ClaudeCode.compaction, version, None)
    assert found is not None
    return found


def docker_agent(window: int) -> Trigger:
    found = trigger(DockerAgent.compaction, None, window)
    assert found is not None
    return found


CLAUDE = claude_code("2.1.60")


def test_vector_11() -> None:
    steps = [GrowthStep(19_000)] * 18
    assert replay(20_000, steps, CLAUDE, after=34_000) == (((8, 153_000), (15, 148_000)), 91_000, 172_000)
    kept_out = [GrowthStep(19_000, removed=4_000)] * 18
    assert replay(20_000, kept_out, CLAUDE, after=34_000) == (((10, 155_000),), 154_000, 170_000)


@pytest.mark.parametrize(
    ("trigger", "below", "at"),
    [
        (claude_code("2.1.20"), 166_999, 167_000),
        (claude_code(None), 166_999, 167_000),
        (claude_code("2.1.19"), 154_999, 155_000),
        (claude_code("1.0.60"), 154_999, 155_000),
        # strictly above int(0.9 x window)
        (docker_agent(200_000), 180_000, 180_001),
        (docker_agent(100_001), 90_000, 90_001),
        (docker_agent(1_000_000), 900_000, 900_001),
    ],
)
def test_limits(trigger: Trigger, below: int, at: int) -> None:
    assert not trigger.fires(below)
    assert trigger.fires(at)


def test_what_claude_code_counts() -> None:
    """4.2: before 2.1 what enters is not counted; from 2.1.120 tool inputs are, a second time."""
    found = [claude_code(version).rule for version in ("2.0.8", "2.1.0", "2.1.119", "2.1.120")]
    assert [(one.counts_entered, one.counts_inputs) for one in found] == [
        (False, False),
        (True, False),
        (True, False),
        (True, True),
    ]


def test_without_a_window_or_a_rule_there_is_no_trigger() -> None:
    assert trigger(DockerAgent.compaction, None, None) is None
    assert trigger((), None, 200_000) is None
    # a rule for newer versions alone
    assert trigger([CompactionRule((3,), 100)], "2.9", None) is None


def test_what_docker_agent_takes_texts_for() -> None:
    assert (docker_agent(200_000).estimate(700), CLAUDE.estimate(703)) == (200, 175)


def test_a_summary_call_of_169_000_tokens() -> None:
    """4.2, in input equivalents: 16,600 read, 3,800 written, 23,150 answered."""
    parts = 169_000 * 0.982 * 0.1, 169_000 * 0.018 * 1.25, 4_630 * 5
    assert [round(part, -2) for part in parts[:2]] == [16_600, 3_800]
    assert summary_call(169_000, Rates(1, 0.1, 1.25, 2, 5)) == pytest.approx(sum(parts))


def fired(start: float, steps: list[GrowthStep]) -> tuple[list[int], float]:
    found = replay(start, steps, CLAUDE)
    return [number for number, _ in found.fired], found.end


def test_recorded_compactions_are_reproduced() -> None:
    steps = [GrowthStep(60_000), GrowthStep(80_000), GrowthStep(10_000, after=41_000), GrowthStep(5_000)]
    assert fired(20_000, steps) == ([3], 46_000)
    # what stands in no record is the median of those that do
    again = [*steps, GrowthStep(130_000), GrowthStep(1_000)]
    assert fired(20_000, again) == ([3, 5], 42_000)
    # a recorded one that does not fire under a policy goes on with what entered
    assert fired(20_000, [steps[0]._replace(removed=30_000), *steps[1:]]) == ([], 145_000)


def test_without_any_record_the_floor_and_a_summary() -> None:
    assert replay(20_000, [GrowthStep(150_000)], CLAUDE).end == 20_000 + 10_200


def test_a_compaction_by_hand_happens_and_is_not_counted() -> None:
    assert fired(20_000, [GrowthStep(500_000, fixed=30_000), GrowthStep(1_000)]) == ([], 31_000)


def test_the_agents_own_estimate_triggers() -> None:
    seen = [GrowthStep(40_000, counted=10_000), GrowthStep(0)]
    assert fired(130_000, seen) == ([2], 130_000 + 10_200)


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
