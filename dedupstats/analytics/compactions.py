"""Automatic compactions: those recorded, those that a replay reproduces, and those under a policy.

Baseline and policy go through the same engine (token-economics.md 4.3), by the rule that the context's source
declares. Counts come out; what fewer summary calls would have cost is a sensitivity beside them, in no sum.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.compaction import GrowthStep, is_limited, replay, summary_call, trigger
from dedupstats.economics.tokens import FRAMING, Level
from dedupstats.history.costs import USD, session_chunks
from dedupstats.history.course import Came, Gone, Sent, courses
from dedupstats.history.pricing import price_list
from dedupstats.model import BoundaryKind
from dedupstats.simulate.run import simulate
from dedupstats.simulate.verdicts import VERDICTS, Verdict
from dedupstats.sources import all_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dedupstats.analytics.window import Window
    from dedupstats.economics.compaction import Replay, Trigger
    from dedupstats.economics.prices import Prices
    from dedupstats.history.course import Course
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_CLEARS = (BoundaryKind.COMPACTION, BoundaryKind.CLEAR)


@dataclass(frozen=True, slots=True)
class ContextCount:
    """Automatic compactions of one context.

    Attributes:
        session: Id of its session.
        context: Its own id.
        kind: main or agent.
        recorded: In the log.
        replayed: By the replay without a policy.
        under_policy: By the replay with it; None: the context is in no claim.
    """

    session: str
    context: str
    kind: str
    recorded: int
    replayed: int
    under_policy: int | None


@dataclass(frozen=True, slots=True)
class Compactions:
    """Automatic compactions of some contexts.

    Attributes:
        recorded: In the log, in contexts that are replayed: automatic ones, and those of an unknown trigger.
        untold: Of these, those whose trigger the log does not tell.
        reproduced: Of those recorded, those of contexts whose replay without a policy has as many.
        reproduced_untold: Of these, those whose trigger the log does not tell.
        under_policy: How many the replay with the policy has in these contexts.
        contexts: Contexts that are replayed.
        compacted: Of these, those whose log has an automatic compaction.
        exact: Of these, those whose replay without a policy has as many.
        not_reproduced: Contexts whose replay without a policy has more or fewer than the log: in no claim.
        left_out: Contexts that went on above the limit: a larger window, or compaction is off.
        no_rule: Contexts of sources that declare no rule, or of models whose window is not known.
        no_usage: Contexts without any usage.
        unlike: Those that are not reproduced, with their counts.
        changed: Those that have more or fewer compactions under the policy.
        summary_usd: What the summary calls would have cost that `changed` has fewer of, in USD at list
            prices: modelled (token-economics.md 4.2), negative where it has more, and in no other figure.
        unpriced: Contexts of `changed` whose model has no price: not in `summary_usd`.
    """

    recorded: int = 0
    untold: int = 0
    reproduced: int = 0
    reproduced_untold: int = 0
    under_policy: int = 0
    contexts: int = 0
    compacted: int = 0
    exact: int = 0
    not_reproduced: int = 0
    left_out: int = 0
    no_rule: int = 0
    no_usage: int = 0
    unlike: tuple[ContextCount, ...] = ()
    changed: tuple[ContextCount, ...] = ()
    summary_usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Compactions) -> Compactions:
        """The sums."""
        return Compactions(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


class Triggers:
    """When contexts are compacted by themselves, and what a summary call of theirs costs.

    Args:
        prices: Price list, which has the windows of models.
        undated: Time at which requests without one are priced.
    """

    def __init__(self, prices: Prices, undated: datetime) -> None:
        self._rules = {source.name: tuple(getattr(source, "compaction", ())) for source in all_sources()}
        self._prices = prices
        self._undated = undated

    @classmethod
    def of_store(cls, store: Store) -> Triggers:
        """Those of a store: today's price list; undated requests are as new as the newest one."""
        ((newest,),) = store.query("select max(ts) from request")
        undated = newest or datetime.now(UTC)
        return cls(price_list(), undated if undated.tzinfo else undated.replace(tzinfo=UTC))

    def of(self, course: Course) -> Trigger | None:
        """The trigger of a context, by its first own request; None: its source declares no rule for it."""
        first = next((step for step in course.steps if isinstance(step, Sent) and step.is_own), None)
        if first is None:
            return None
        return trigger(self._rules.get(course.source, ()), first.version, self._prices.window(first.model))

    def summaries(self, found: Replay, asked: Sequence[Sent]) -> float | None:
        """What the summary calls of a replay would have cost, USD; None: one of them has no price.

        Args:
            found: The replay.
            asked: The request before each of its steps.
        """
        total = 0.0
        for number, prompt in found.fired:
            last = asked[number - 1]
            rates = self._prices.rates(last.model, last.ts or self._undated, prompt)
            if rates is None:
                return None
            total += summary_call(prompt, rates) * USD
        return total


class Growth(NamedTuple):
    """A context as the replay needs it."""

    start: float
    steps: list[GrowthStep]
    went_on: list[float]
    """prompts after which the next request came without a compaction in between"""
    asked: list[Sent]
    """the request before each step"""
    recorded: int
    """automatic compactions, and those of an unknown trigger"""
    untold: int
    """those of an unknown trigger"""


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


def elisions(
    store: Store, policies: Sequence[Variant], *, families: Sequence[int] | None = None
) -> list[dict[int, int]]:
    """Bytes of the marker of every elision that policies soundly make, by emission key, policy by policy.

    A copy whose original was elided is shown as that was.

    Args:
        store: An open store; read-only will do.
        policies: What is replayed, in one pass.
        families: Only these families of sessions; None: the whole history.
    """
    found: list[dict[int, int]] = [{} for _ in policies]

    def take(chunk: Chunk, replayed: list[Replayed]) -> None:
        keys = chunk.columns["emission_key"]
        for one, elided in zip(replayed, found, strict=True):
            judged = one.judged
            is_sound = judged.verdict == VERDICTS.index(Verdict.SOUND)
            sizes = judged.marker_bytes[is_sound].tolist()
            rows = dict(zip(judged.row[is_sound].tolist(), sizes, strict=True))
            elided.update((int(keys[row]), size) for row, size in rows.items())
            elided.update(
                (int(keys[copy]), rows[original])
                for copy, original in chunk.original.items()
                if original in rows and original < copy
            )

    # decisions alone are wanted, not what they are worth
    simulate(store, policies, take=take, families=families, tokens="bytes4")
    return found


def compactions(
    store: Store,
    policies: Sequence[Variant],
    *,
    window: Window | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Compactions]:
    """Count automatic compactions, recorded and replayed, policy by policy.

    Args:
        store: An open store; read-only will do.
        policies: Whose sound elisions keep text out.
        window: Only contexts with a request in it, and these whole; tools are no matter. None: all.
        progress: Is told how many of how many chunks are done.
    """
    chosen: set[int] | None = None
    if window is not None:
        where, values = replace(window, tools=()).where()
        rows = store.query(f"select distinct context_key from request where {where}", values)
        chosen = {key for (key,) in rows}
    triggers = Triggers.of_store(store)
    chunks = [keys for keys, _ in session_chunks(store)]
    found = Compactions()
    near: list[int] = []
    for number, sessions in enumerate(chunks):
        for course in courses(store, sessions):
            if chosen is not None and course.context_key not in chosen:
                continue
            base = baseline(course, triggers)
            if isinstance(base, Compactions):
                found += base
            elif base.replayed.peak < _NEAR * base.limit.limit:
                found += base.counts
            else:
                near.append(course.session_key)
        if progress is not None:
            progress(number + 1, len(chunks))
    return [found + one for one in _near(store, policies, list(dict.fromkeys(near)), chosen, triggers)]


_NEAR = 0.5
"""Share of the limit up to which no policy can make a context be compacted: where a marker is longer than its
result it is so by bytes."""


def _near(
    store: Store,
    policies: Sequence[Variant],
    sessions: Sequence[int],
    chosen: set[int] | None,
    triggers: Triggers,
) -> list[Compactions]:
    """The contexts of some sessions that came near the limit, policy by policy.

    Only the families of these sessions are replayed.
    """
    found = [Compactions() for _ in policies]
    if not sessions:
        return found
    families = store.query(
        "select distinct family_key from session where session_key in (select unnest($keys)) order by all",
        {"keys": list(sessions)},
    )
    removed = elisions(store, policies, families=[key for (key,) in families])
    for course in courses(store, sessions):
        if chosen is not None and course.context_key not in chosen:
            continue
        base = baseline(course, triggers)
        if isinstance(base, Compactions) or base.replayed.peak < _NEAR * base.limit.limit:
            continue
        found = [
            before + with_policy(course, base, elided, triggers)
            for before, elided in zip(found, removed, strict=True)
        ]
    return found


def counted(course: Course, removed: Mapping[int, int], triggers: Triggers) -> Compactions:
    """The automatic compactions of one context.

    Args:
        course: The context.
        removed: Bytes of the marker by emission key, of what the policy elides.
        triggers: When contexts are compacted.
    """
    base = baseline(course, triggers)
    return base if isinstance(base, Compactions) else with_policy(course, base, removed, triggers)


class Baseline(NamedTuple):
    """A context whose recorded compactions the replay without a policy reproduces."""

    limit: Trigger
    growth: Growth
    replayed: Replay
    counts: Compactions
    """under a policy that changes nothing"""


def baseline(course: Course, triggers: Triggers) -> Compactions | Baseline:
    """The replay of a context without a policy; the bare counts where no policy can be replayed on it."""
    own = [step for step in course.steps if isinstance(step, Sent) and step.is_own]
    if not own:
        return Compactions()
    if all(step.prompt is None for step in own):
        return Compactions(no_usage=1)
    limit = triggers.of(course)
    if limit is None:
        return Compactions(no_rule=1)
    grown = growth(course, limit, {})
    if not is_limited(grown.went_on, limit):
        return Compactions(left_out=1)
    replayed = replay(grown.start, grown.steps, limit)
    recorded, fired = grown.recorded, len(replayed.fired)
    found = Compactions(recorded, untold=grown.untold, contexts=1, compacted=int(recorded > 0))
    if fired != recorded:
        unlike = ContextCount(course.session_id, course.native_id, course.kind, recorded, fired, None)
        return replace(found, not_reproduced=1, unlike=(unlike,))
    counts = replace(
        found,
        reproduced=fired,
        reproduced_untold=grown.untold,
        under_policy=fired,
        exact=found.compacted,
    )
    return Baseline(limit, grown, replayed, counts)


def with_policy(
    course: Course, base: Baseline, removed: Mapping[int, int], triggers: Triggers
) -> Compactions:
    """The counts of a context under a policy.

    Args:
        course: The context.
        base: Its replay without a policy.
        removed: Bytes of the marker by emission key, of what the policy elides.
        triggers: For what summary calls cost.
    """
    changed = growth(course, base.limit, removed)
    replayed = replay(changed.start, changed.steps, base.limit)
    fired, under = len(base.replayed.fired), len(replayed.fired)
    if under == fired:
        return base.counts
    change = ContextCount(course.session_id, course.native_id, course.kind, fired, fired, under)
    found = replace(base.counts, under_policy=under, changed=(change,))
    costs = triggers.summaries(base.replayed, base.growth.asked), triggers.summaries(replayed, changed.asked)
    if costs[0] is None or costs[1] is None:
        return replace(found, unpriced=1)
    return replace(found, summary_usd=costs[0] - costs[1])


def growth(course: Course, limit: Trigger, removed: Mapping[int, int]) -> Growth:
    """A context's requests with usage as steps of the replay (4.2, 4.3).

    Copies of requests tell nothing: the context that they are copied from is replayed. Nor does the request
    that made a summary, where it stands on the line of the boundary: it is what the boundary brought about.
    """
    walk = _Walk(limit, removed)
    boundaries = {step.line for step in course.steps if isinstance(step, Gone)}
    for step in course.steps:
        if not (isinstance(step, Sent) and step.line in boundaries):
            walk.take(step)
    return walk.found()


class _Walk:
    """A context on its way from request to request."""

    def __init__(self, limit: Trigger, removed: Mapping[int, int]) -> None:
        self._limit = limit
        self._removed = removed
        self._start = 0.0
        self._asked: list[Sent] = []
        self._steps: list[GrowthStep] = []
        self._went_on: list[float] = []
        self._recorded = self._untold = 0
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

    def found(self) -> Growth:
        """What the replay needs."""
        return Growth(self._start, self._steps, self._went_on, self._asked, self._recorded, self._untold)

    def _enter(self, came: Came) -> None:
        # what comes behind a boundary is not what triggered it
        if self._boundary is None:
            self._entered += self._limit.estimate(came.bytes)
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
            counts = self._limit.rule
            seen = last.answer + self._entered * counts.counts_entered
            is_auto = boundary is not None and _is_automatic(boundary)
            self._recorded += is_auto
            self._untold += is_auto and boundary is not None and boundary.trigger is None
            self._steps.append(
                GrowthStep(
                    prompt - last.prompt if boundary is None else last.answer + self._entered,
                    seen + self._limit.estimate(last.input_bytes) * counts.counts_inputs,
                    self._new - self._back,
                    after=prompt if is_auto else None,
                    fixed=prompt if boundary is not None and not is_auto else None,
                )
            )
            self._asked.append(last)
            if boundary is None:
                self._went_on.append(last.prompt)
        self._last, self._entered, self._boundary = sent, 0, None
        self._new = self._back = 0.0


def _is_automatic(gone: Gone) -> bool:
    # where the log tells no trigger, a compaction by hand counts too: then the replay does not reproduce it
    return gone.kind == BoundaryKind.COMPACTION and gone.trigger in {"auto", None}
