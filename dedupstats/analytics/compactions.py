"""Automatic compactions: those recorded, those that a replay reproduces, and those under a policy.

Baseline and policy go through the same engine (token-economics.md 4.3). Only counts come out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.compaction import GrowthStep, is_limited, replay, trigger_of
from dedupstats.economics.tokens import FRAMING, Level
from dedupstats.history.costs import session_chunks
from dedupstats.history.course import Came, Gone, Sent, courses
from dedupstats.model import BoundaryKind
from dedupstats.simulate.run import simulate
from dedupstats.simulate.verdicts import VERDICTS, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupstats.economics.compaction import Trigger
    from dedupstats.history.course import Course
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_CLEARS = (BoundaryKind.COMPACTION, BoundaryKind.CLEAR)


@dataclass(frozen=True, slots=True)
class Compactions:
    """Automatic compactions of some contexts.

    Attributes:
        recorded: In the log, in contexts that are replayed.
        reproduced: Of these, those of contexts whose replay without a policy has as many.
        under_policy: How many the replay with the policy has in these contexts.
        contexts: Contexts that are replayed.
        not_reproduced: Of these, those whose replay without a policy has more or fewer than the log: in no
            claim.
        left_out: Contexts that went on above the limit: a larger window, or compaction is off.
        no_rule: Contexts of sources for which no rule is known, or without any usage.
    """

    recorded: int = 0
    reproduced: int = 0
    under_policy: int = 0
    contexts: int = 0
    not_reproduced: int = 0
    left_out: int = 0
    no_rule: int = 0

    def __add__(self, other: Compactions) -> Compactions:
        """The sums."""
        return Compactions(
            self.recorded + other.recorded,
            self.reproduced + other.reproduced,
            self.under_policy + other.under_policy,
            self.contexts + other.contexts,
            self.not_reproduced + other.not_reproduced,
            self.left_out + other.left_out,
            self.no_rule + other.no_rule,
        )


class Growth(NamedTuple):
    """A context as the replay needs it."""

    start: float
    steps: list[GrowthStep]
    went_on: list[float]
    """prompts after which the next request came without a compaction in between"""
    recorded: int
    """automatic compactions"""


def net_removed(came: Came, marker_bytes: int) -> float:
    """Tokens that a marker saves in place of a result, at the result's own tokens per byte.

    Negative where the marker is longer (S03). The marker has a result's framing, unless the size is plain
    bytes / 4.

    Example:
        >>> net_removed(Came(1, 1, 4_000, 1_011.0, 0, "Read", None, None), 100)
        975.0
        >>> net_removed(Came(1, 1, 400, 100.0, 4, "Read", None, None), 80)
        80.0
    """
    framing = 0 if came.level == Level.UNKNOWN else FRAMING
    if came.bytes <= 0 or came.tokens <= framing:
        return came.tokens - framing - marker_bytes / 4
    return (came.tokens - framing) * (1 - marker_bytes / came.bytes)


def elisions(store: Store, policy: Variant, *, family: int | None = None) -> dict[int, int]:
    """Bytes of the marker of every elision that a policy soundly makes, by emission key.

    A copy whose original was elided is shown as that was.

    Args:
        store: An open store; read-only will do.
        policy: What is replayed.
        family: Only this family of sessions; None: the whole history.
    """
    found: dict[int, int] = {}

    def take(chunk: Chunk, replayed: list[Replayed]) -> None:
        judged = replayed[0].judged
        is_sound = judged.verdict == VERDICTS.index(Verdict.SOUND)
        keys = chunk.columns["emission_key"]
        rows = dict(zip(judged.row[is_sound].tolist(), judged.marker_bytes[is_sound].tolist(), strict=True))
        found.update((int(keys[row]), size) for row, size in rows.items())
        found.update(
            (int(keys[copy]), rows[original])
            for copy, original in chunk.original.items()
            if original in rows and original < copy
        )

    # decisions alone are wanted, not what they are worth
    simulate(store, [policy], take=take, family=family, tokens="bytes4")
    return found


def compactions(
    store: Store, policy: Variant, *, progress: Callable[[int, int], None] | None = None
) -> Compactions:
    """Count the automatic compactions of a whole store, recorded and replayed.

    Args:
        store: An open store; read-only will do.
        policy: Whose sound elisions keep text out.
        progress: Is told how many of how many chunks are done.
    """
    removed = elisions(store, policy)
    chunks = list(session_chunks(store))
    found = Compactions()
    for number, sessions in enumerate(chunks):
        for course in courses(store, sessions):
            found += counted(course, removed)
        if progress is not None:
            progress(number + 1, len(chunks))
    return found


def counted(course: Course, removed: Mapping[int, int]) -> Compactions:
    """The automatic compactions of one context.

    Args:
        course: The context.
        removed: Bytes of the marker by emission key, of what the policy elides.
    """
    own = [step for step in course.steps if isinstance(step, Sent) and step.is_own]
    trigger = trigger_of(course.source, own[0].version) if own else None
    baseline = None if trigger is None else growth(course, trigger, {})
    if baseline is None or trigger is None:
        return Compactions(no_rule=1 if own else 0)
    if not is_limited(baseline.went_on, trigger):
        return Compactions(left_out=1)
    fired = len(replay(baseline.start, baseline.steps, trigger).fired)
    if fired != baseline.recorded:
        return Compactions(baseline.recorded, contexts=1, not_reproduced=1)
    changed = growth(course, trigger, removed)
    under = fired if changed is None else len(replay(changed.start, changed.steps, trigger).fired)
    return Compactions(baseline.recorded, fired, under, 1)


def growth(course: Course, trigger: Trigger, removed: Mapping[int, int]) -> Growth | None:
    """A context's requests with usage as steps of the replay (4.2, 4.3); None: it has none.

    Copies of requests tell nothing: the context that they are copied from is replayed.
    """
    walk = _Walk(trigger, removed)
    for step in course.steps:
        walk.take(step)
    return walk.found()


class _Walk:
    """A context on its way from request to request."""

    def __init__(self, trigger: Trigger, removed: Mapping[int, int]) -> None:
        self._trigger = trigger
        self._removed = removed
        self._start: float | None = None
        self._steps: list[GrowthStep] = []
        self._went_on: list[float] = []
        self._recorded = 0
        self._last: Sent | None = None
        self._entered = 0
        self._boundary: Gone | None = None
        self._kept_out: dict[Came, float] = {}
        self._new = self._back = 0.0

    def take(self, step: Sent | Came | Gone) -> None:
        """Move on."""
        if isinstance(step, Came):
            self._enter(step)
        elif isinstance(step, Gone):
            self._leave(step)
        elif step.prompt is not None and step.is_own:
            self._send(step, step.prompt)

    def found(self) -> Growth | None:
        """What the replay needs."""
        if self._start is None:
            return None
        return Growth(self._start, self._steps, self._went_on, self._recorded)

    def _enter(self, came: Came) -> None:
        # what comes behind a boundary is not what triggered it
        if self._boundary is None:
            self._entered += came.bytes // 4
        if came.key is not None and came.key in self._removed:
            net = net_removed(came, self._removed[came.key])
            self._kept_out[came] = net
            self._new += net

    def _leave(self, gone: Gone) -> None:
        leaving = [came for came in self._kept_out if came.left is not None and came.left <= gone.at]
        for came in leaving:
            net = self._kept_out.pop(came)
            # a compaction that the policy avoids takes nothing out; elsewhere less was left to be taken out
            if gone.kind not in _CLEARS:
                self._back += net
        if gone.kind in _CLEARS:
            self._boundary = gone

    def _send(self, sent: Sent, prompt: int) -> None:
        last, boundary = self._last, self._boundary
        if last is None or last.prompt is None:
            self._start = prompt - sum(self._kept_out.values())
        else:
            counts = self._trigger
            seen = last.answer + self._entered * counts.counts_entered
            is_auto = boundary is not None and _is_automatic(boundary)
            self._recorded += is_auto
            self._steps.append(
                GrowthStep(
                    prompt - last.prompt if boundary is None else last.answer + self._entered,
                    seen + last.input_bytes // 4 * counts.counts_inputs,
                    self._new - self._back,
                    after=prompt if is_auto else None,
                    fixed=prompt if boundary is not None and not is_auto else None,
                )
            )
            if boundary is None:
                self._went_on.append(last.prompt)
        self._last, self._entered, self._boundary = sent, 0, None
        self._new = self._back = 0.0


def _is_automatic(gone: Gone) -> bool:
    return gone.kind == BoundaryKind.COMPACTION and gone.trigger == "auto"
