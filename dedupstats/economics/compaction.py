"""How often a context would have been compacted: a replay that counts, with every agent's trigger as data.

Baseline and policy go through the same engine (token-economics.md 4.3); what comes out is a count, never
dollars. The trigger rules are those of 4.1, of Claude Code as measured in 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUMMARY_TOKENS = 10_200
"""What the first prompt after a compaction holds beyond the floor: the measured median (4.3)."""

OFF_MARGIN = 3_000
"""A request so far above the limit tells that its window is larger, or that compaction is off (4.2)."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When an agent compacts a context.

    Attributes:
        limit: Size in tokens that triggers.
        is_strict: Only above the limit, not at it.
        counts_entered: What entered since the last usage counts too, as the agent itself estimates it.
        counts_inputs: And, a second time, the tool inputs of the answer before it.
    """

    limit: float
    is_strict: bool = False
    counts_entered: bool = True
    counts_inputs: bool = False

    def fires(self, size: float) -> bool:
        """Whether a context of this size is compacted before the next request."""
        return size > self.limit if self.is_strict else size >= self.limit


WINDOW = 200_000


def claude_code(version: str | None, window: int = WINDOW, max_output: int = 32_000) -> Trigger:
    """Claude Code's rule by its version (4.1, 4.2).

    Args:
        version: As logged, `2.1.120`; None or unreadable: the newest rule.
        window: Of the model, tokens.
        max_output: Of the model, tokens; the newer rule reserves at most 20,000 of it.

    Example:
        >>> claude_code("2.1.19").limit, claude_code("2.1.20").limit, claude_code("2.0.8").counts_entered
        (155000, 167000, False)
    """
    number = _version(version)
    reserve = max_output if number < (2, 1, 20) else min(max_output, 20_000)
    return Trigger(
        window - reserve - 13_000,
        counts_entered=number >= (2, 1),
        counts_inputs=number >= (2, 1, 120),
    )


def docker_agent(window: int = WINDOW, threshold: float = 0.9) -> Trigger:
    """docker-agent's rule: strictly above a share of the window; a share outside (0, 1] is 0.9 (4.1)."""
    share = threshold if 0 < threshold <= 1 else 0.9
    return Trigger(int(share * window), is_strict=True)


def codex(window: int = 272_000, limit: int | None = None) -> Trigger:
    """Codex's rule: 90 % of the window; a configured limit only lowers it (4.1)."""
    whole = int(window * 0.9)
    return Trigger(whole if limit is None else min(limit, whole))


def opencode(window: int = WINDOW, max_output: int = 32_000, reserved: int | None = None) -> Trigger:
    """OpenCode's rule: the window without the output's room and a reserve of at most 20,000 (4.1)."""
    kept = min(20_000, max_output) if reserved is None else reserved
    return Trigger(window - max_output - kept, counts_entered=False)


def gemini_cli(threshold: float = 0.5) -> Trigger:
    """Gemini CLI's rule: half of a window of 1,048,576, by the last prompt alone (4.1)."""
    return Trigger(threshold * 1_048_576, counts_entered=False)


def trigger_of(source: str, version: str | None) -> Trigger | None:
    """The rule of a source's contexts that its logs tell enough for; None: they do not.

    docker-agent's limit hangs on the window of the model, which no log of it has.
    """
    return claude_code(version) if source == "claude_code" else None


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

    fired: tuple[int, ...]
    """numbers of the steps, from 1, before whose second request the context was compacted"""
    end: float
    """tokens of the last prompt"""


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
        >>> replay(20_000, [GrowthStep(19_000)] * 18, Trigger(167_000), after=34_000)
        Replay(fired=(8, 15), end=91000.0)
    """
    recorded = sorted(step.after for step in steps if step.after is not None)
    if after is None:
        after = _median(recorded) if recorded else start + SUMMARY_TOKENS
    size = float(start)
    fired = []
    for number, step in enumerate(steps, start=1):
        if step.fixed is not None:
            size = step.fixed
            continue
        counted = step.growth if step.counted is None else step.counted
        if trigger.fires(size + counted - step.removed):
            fired.append(number)
            size = after if step.after is None else step.after
        else:
            size = max(size + step.growth - step.removed, 0)
    return Replay(tuple(fired), size)


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


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _version(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in (text or "").split("."))
    except ValueError:
        return (10**6,)
