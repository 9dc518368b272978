"""How often a context would have been compacted: a replay that counts, by the rule that a source declares.

Baseline and policy go through the same engine (token-economics.md 4.3); what comes out is a count. What a
summary call costs is modelled (4.2) and stands apart: a sensitivity, in no sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupstats.economics.prices import Rates
    from dedupstats.model import CompactionRule

SUMMARY_TOKENS = 10_200
"""What the first prompt after a compaction holds beyond the floor: the measured median (4.3)."""

OFF_MARGIN = 3_000
"""A request so far above the limit tells that its window is larger, or that compaction is off (4.2)."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A compaction rule with its limit in tokens.

    Attributes:
        limit: Size in tokens that triggers.
        rule: Where it is from, and what counts.
    """

    limit: float
    rule: CompactionRule

    def fires(self, size: float) -> bool:
        """Whether a context of this size is compacted before the next request."""
        return size > self.limit if self.rule.is_strict else size >= self.limit

    def estimate(self, size: int) -> int:
        """What the agent takes so many bytes that entered for, tokens rounded down (4.2)."""
        return int(size / self.rule.bytes_per_token)


def trigger(rules: Sequence[CompactionRule], version: str | None, window: int | None) -> Trigger | None:
    """The trigger of an agent's version and a model's window; None: no rule, or of an unknown window.

    Args:
        rules: Of the source, newest first.
        version: Of the agent's program, as logged, `2.1.120`; None or unreadable: the newest rule.
        window: Of the model, tokens; None: not known.

    Example:
        >>> from dedupstats.model import CompactionRule
        >>> trigger([CompactionRule(share=0.9)], None, 200_000).limit
        180000
        >>> trigger([CompactionRule(share=0.9)], None, None) is None
        True
    """
    number = _version(version)
    for rule in rules:
        whole = window if rule.window is None else rule.window
        if number >= rule.since and whole is not None:
            return Trigger(int(whole * rule.share) - rule.reserve, rule)
    return None


class GrowthStep(NamedTuple):
    """What happens between two requests of a context, for the replay."""

    growth: float
    """tokens by which the prompt grows: answer and what enters, without the summary of a compaction"""
    counted: float | None = None
    """the part that the agent sees before it asks again, as it estimates it; None: all of the growth"""
    removed: float = 0.0
    """what the policy keeps out, or takes out, at this step, net of markers"""
    after: float | None = None
    """first prompt after the automatic compaction that was recorded here; None: none was"""
    fixed: float | None = None
    """first prompt after a compaction by hand or a clear, which happens under every policy"""


class Replay(NamedTuple):
    """What the replay found."""

    fired: tuple[tuple[int, float], ...]
    """steps, from 1, before whose second request the context was compacted, each with its prompt by then"""
    end: float
    """tokens of the last prompt"""
    peak: float
    """the largest size that was held against the limit"""


def replay(
    start: float, steps: Sequence[GrowthStep], trigger: Trigger, *, after: float | None = None
) -> Replay:
    """Count the compactions of a context under a policy (4.3).

    Args:
        start: Its first prompt, tokens.
        steps: What happened, in order.
        trigger: The agent's rule.
        after: First prompt after a compaction that no record tells of; None: the median of those recorded in
            this context, else `start` and `SUMMARY_TOKENS`.

    Example:
        >>> from dedupstats.model import CompactionRule
        >>> limit = Trigger(167_000, CompactionRule())
        >>> replay(20_000, [GrowthStep(19_000)] * 18, limit, after=34_000)
        Replay(fired=((8, 153000.0), (15, 148000.0)), end=91000.0, peak=172000.0)
    """
    recorded = sorted(step.after for step in steps if step.after is not None)
    if after is None:
        after = _median(recorded) if recorded else start + SUMMARY_TOKENS
    size = peak = float(start)
    fired = []
    for number, step in enumerate(steps, start=1):
        if step.fixed is not None:
            size = step.fixed
            continue
        counted = size + (step.growth if step.counted is None else step.counted) - step.removed
        peak = max(peak, counted)
        if trigger.fires(counted):
            fired.append((number, size))
            size = after if step.after is None else step.after
        else:
            size = max(size + step.growth - step.removed, 0)
    return Replay(tuple(fired), size, peak)


def is_limited(went_on: Iterable[float], trigger: Trigger) -> bool:
    """Whether a context is under the trigger's limit at all.

    A context that went on `OFF_MARGIN` above the limit has a larger window, or compaction is off (4.2): no
    replay counts for it.

    Args:
        went_on: Prompts after which the next request came without a compaction in between; one that is above
            the limit because a large result entered, and was compacted then, tells nothing.
        trigger: The agent's rule.
    """
    return all(size <= trigger.limit + OFF_MARGIN for size in went_on)


SUMMARY_READ, SUMMARY_WRITTEN = 0.982, 0.018
"""How much of its prompt a summary call reads from the cache and writes to it: measured (4.2)."""
SUMMARY_OUTPUT = 4_630
"""Tokens of a summary: the measured median (4.2)."""


def summary_call(prompt: float, rates: Rates) -> float:
    """What a summary call would cost, in millionths of a dollar; modelled, for a sensitivity alone (4.2).

    Args:
        prompt: Tokens that it reads.
        rates: Of the model.

    Example:
        >>> from dedupstats.economics.prices import Rates
        >>> round(summary_call(169_000, Rates(1, 0.1, 1.25, 2, 5)), -1)
        43550.0
    """
    carried = prompt * (SUMMARY_READ * rates.read + SUMMARY_WRITTEN * rates.write_5m)
    return carried + SUMMARY_OUTPUT * rates.output


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _version(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in (text or "").split("."))
    except ValueError:
        return (10**6,)
