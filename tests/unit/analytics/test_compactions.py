"""Compactions counted with and without a policy: the hand vector of the fact sheet on whole contexts."""

from __future__ import annotations

from typing import Any

import pytest

from dedupstats.analytics.compactions import Compactions, counted, net_removed
from dedupstats.economics.tokens import FRAMING
from dedupstats.history.course import Came, Course, Gone, Sent

STEP = 19_000
START = 20_000
AFTER = 34_000


def sent(prompt: int | None, **changes: Any) -> Sent:
    return Sent(1, None, "hand", "2.1.60", prompt, 0.0, 0, 0, is_own=True)._replace(**changes)


def came(key: int, left: tuple[int, int] | None = None) -> Came:
    return Came(1, key, STEP * 4, float(STEP), 4, "Read", "a", left)


def course(*steps: Sent | Came | Gone, source: str = "claude_code") -> Course:
    return Course(1, 1, source, "main", None, "c", list(steps))


def vector_11(trigger: str = "auto") -> Course:
    """Prompts of 20,000 that grow by 19,000 a step, compacted at steps 8 and 15 to 34,000 (8.11)."""
    steps: list[Sent | Came | Gone] = [sent(START)]
    prompt = START
    for step in range(1, 19):
        # each result leaves at the next of the two boundaries
        left = (8, 8) if step <= 8 else (15, 15) if step <= 15 else None
        steps.append(came(step, left))
        if step in {8, 15}:
            steps.append(Gone(step, None, "compaction", trigger, (step, step)))
            prompt = AFTER
        else:
            prompt += STEP
        steps.append(sent(prompt))
    return course(*steps)


def test_vector_11() -> None:
    # markers of 60,000 of 76,000 bytes keep 4,000 tokens out of each step
    assert net_removed(came(1), 60_000) == pytest.approx(4_000)
    removed = dict.fromkeys(range(1, 19), 60_000)
    assert counted(vector_11(), {}) == Compactions(2, 2, 2, 1)
    assert counted(vector_11(), removed) == Compactions(2, 2, 1, 1)


def test_a_compaction_by_hand_is_no_automatic_one() -> None:
    assert counted(vector_11("manual"), {}) == Compactions(0, 0, 0, 1)


def test_a_context_whose_log_has_another_count_is_in_no_claim() -> None:
    # nothing near the limit, and yet the log has a compaction
    early = course(sent(START), came(1), Gone(1, None, "compaction", "auto", (1, 1)), sent(AFTER))
    assert counted(early, {}) == Compactions(1, 0, 0, 1, not_reproduced=1)


def test_a_context_above_the_limit_is_left_out() -> None:
    assert counted(course(sent(400_000), came(1), sent(419_000)), {}) == Compactions(left_out=1)


@pytest.mark.parametrize(
    "unusable",
    [course(sent(None), came(1), sent(None)), course(sent(START), source="docker_agent")],
)
def test_without_usage_or_a_rule_nothing_is_replayed(unusable: Course) -> None:
    assert counted(unusable, {}) == Compactions(no_rule=1)


def test_copies_of_requests_are_replayed_where_they_come_from() -> None:
    copied = [step._replace(is_own=False) if isinstance(step, Sent) else step for step in vector_11().steps]
    assert counted(course(*copied), {}) == Compactions()
    assert counted(course(*copied, sent(110_000)), {}) == Compactions(0, 0, 0, 1)


def test_what_a_micro_compaction_takes_out_was_kept_out_before() -> None:
    """The log's prompt falls by the whole result; under the policy only its marker was there."""
    micro = Gone(3, None, "micro_compaction", "auto", (2, 3))
    steps = (sent(100_000), came(1, (2, 3)), sent(100_000 + STEP), micro, sent(100_000), sent(166_990))
    removed = {1: 0}
    # 166,990 is below the limit; it is reached if what was kept out were not given back
    assert counted(course(*steps), removed) == Compactions(0, 0, 0, 1)
    fired = course(*steps, came(2), Gone(9, None, "compaction", "auto", (3, 9)), sent(AFTER))
    assert counted(fired, removed) == Compactions(1, 1, 1, 1)


def test_a_marker_that_is_longer_than_its_result_saves_less_than_nothing() -> None:
    short = Came(1, 1, 40, 10.0 + FRAMING, 0, "Read", None, None)
    assert net_removed(short, 80) == pytest.approx(-10)
    # nothing to measure by
    assert net_removed(short._replace(bytes=0, tokens=0.0), 80) == pytest.approx(-20 - FRAMING)


def test_sums() -> None:
    ones = Compactions(1, 2, 3, 4, 5, 6, 7)
    assert ones + ones == Compactions(2, 4, 6, 8, 10, 12, 14)
