"""The one pass: a chunk of a timeline, decided by every variant, judged and added up.

A pure function of emissions and events: no connection, no file. Each session has a policy object of its own,
so that sessions do not share state, unless the scope is `history`, where one object lives through all.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from dedupstats.policies.base import Action, Decision, Emission, Event, EventKind, Witness, delivered
from dedupstats.simulate.chunk import UNKNOWN, YES, grouped
from dedupstats.simulate.verdicts import VERDICTS, Verdict, judge
from dedupstats.simulate.weigh import score, tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dedupstats.policies.base import Policy, Reach, Wiring
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.score import Score, Tally
    from dedupstats.simulate.timeline import Scope
    from dedupstats.simulate.variants import Variant
    from dedupstats.simulate.verdicts import Judged


class Replayed(NamedTuple):
    """What one variant did in one chunk."""

    variant: Variant
    asked: NDArray[Any]
    """rows that the policy was asked about"""
    answers: list[Decision]
    judged: Judged
    score: Score


_ONE = -1
"""the process of what all ledgers share"""


class _Feed(NamedTuple):
    """Which emissions a policy is asked about, and as what."""

    reach: Reach
    renames: bool
    """its name for a shell command is the command, and not what the hook would make of it"""
    knows: bool
    """a reference: it is told what is known of a call, and not the hint that an engine sees"""
    unknown: str
    """how tools of which nothing is known are told: empty: as having an effect; else as reading, and only
    what they have to do with is asked: `all`, or what shares `call` or `bytes` with one of theirs"""


class _Fed(NamedTuple):
    """What a policy is asked about."""

    rows: NDArray[Any]
    numbers: list[int]
    """the rows once more, as Python has numbers"""
    emissions: list[Emission]


class _Stretch(NamedTuple):
    """Consecutive emissions of one ledger without an event between them."""

    ledger: int
    events: list[Event]
    """what an engine is told before the first"""
    first: int
    last: int
    """of what an engine of some reach is asked, from `first` to before `last`"""


class _Actor:
    """A variant at work: its policy objects, and what it elided in families that go on."""

    def __init__(self, variant: Variant, scope: Scope, *, unknown_reads: bool = False) -> None:
        self.variant = variant
        self.unknown_reads = unknown_reads
        self._scope: Scope = scope
        self._policies: dict[int, Policy] = {}
        self._largest = 0
        self._kept: dict[int, Decision] = {}
        sample = variant.spec.policy()
        # asked once: to ask a protocol costs more than to decide on a session
        self._is_reference = isinstance(sample, Witness)
        self.needs = sample.needs
        self.wiring: Wiring = sample.wiring
        self.reach: Reach = sample.reach

    def replay(self, chunk: Chunk, plan: _Plan) -> Replayed:
        """Decide on a chunk, judge, add up."""
        answers, judged = self.judged(chunk, plan)
        asked = plan.fed(self._feed(plan)).rows
        definition = self.variant.spec.definition
        found = score(chunk, asked, answers, judged, definition, is_partial=self.reach != "all")
        found.largest = self._largest
        return Replayed(self.variant, asked, answers, judged, found)

    def judged(self, chunk: Chunk, plan: _Plan) -> tuple[list[Decision], Judged]:
        """Decide on a chunk and judge."""
        not_full = self._remembered(chunk)
        answers = self._decide(chunk, plan, not_full)
        judged = judge(
            chunk,
            not_full,
            says_same_arguments=self.variant.spec.definition.says_same_arguments,
            sees_shell_only=self.reach == "hook",
        )
        self._largest = max([self._largest, *(policy.largest for policy in self._policies.values())])
        if self._scope == "session":
            self._policies.clear()
        else:
            positions = chunk.columns["position"]
            self._kept = {int(positions[row]): answer for row, answer in not_full.items()}
        return answers, judged

    def _feed(self, plan: _Plan) -> _Feed:
        spec = self.variant.spec
        # an engine that names commands and is asked about every tool calls a shell command by its text
        renames = self.reach == "all" and "identity" in self.needs
        if not self.unknown_reads:
            return _Feed(self.reach, renames, self._is_reference, "")
        caps = spec.definition.capped_by, spec.definition.ledgers_capped_by
        is_free = self._scope == "session" and plan.is_below(*(spec.settings.get(cap) for cap in caps))
        return _Feed(self.reach, renames, self._is_reference, spec.definition.keyed_by if is_free else "all")

    def _remembered(self, chunk: Chunk) -> dict[int, Decision]:
        """What was not shown in full among the rows that were decided in earlier chunks."""
        positions = chunk.columns["position"][: chunk.start].tolist()
        return {row: self._kept[position] for row, position in enumerate(positions) if position in self._kept}

    def _policy(self, ledger: int) -> Policy:
        # a reference keeps sight, not a ledger: a context stays one, whatever its rows call their session
        name = ledger if self._scope == "session" and not self._is_reference else _ONE
        policy = self._policies.get(name)
        if policy is None:
            policy = self._policies[name] = self.variant.spec.policy()
        return policy

    def _decide(self, chunk: Chunk, plan: _Plan, not_full: dict[int, Decision]) -> list[Decision]:
        """The answers on the rows that the policy is asked about; `not_full` takes those that do not show."""
        feed = self._feed(plan)
        _, rows, emissions = plan.fed(feed)
        answers: list[Decision] = []
        if self._is_reference:
            _refer(cast("Witness", self._policy(_ONE)), chunk, emissions, rows, answers, not_full)
            return answers
        ledger, policy = None, None
        for stretch in plan.stretches(self.wiring, feed):
            if policy is None or stretch.ledger != ledger:
                ledger, policy = stretch.ledger, self._policy(stretch.ledger)
            for event in stretch.events:
                policy.notify(event)
            decide = policy.decide
            answers += [decide(emission) for emission in emissions[stretch.first : stretch.last]]
        not_full.update(_not_shown(rows, answers))
        return answers


def _refer(  # noqa: PLR0917 - an inner loop
    policy: Witness,
    chunk: Chunk,
    emissions: list[Emission],
    rows: list[int],
    answers: list[Decision],
    not_full: dict[int, Decision],
) -> None:
    """Ask a reference, and show it what is in sight without anybody being asked.

    Events are no news to it, since emissions say themselves when they leave sight.
    """
    unasked = np.flatnonzero(chunk.unasked[chunk.start :]) + chunk.start
    decide, first = policy.decide, 0
    for row in (*unasked.tolist(), len(chunk)):
        last = bisect_left(rows, row, first)
        answers += [decide(emission) for emission in emissions[first:last]]
        not_full.update(_not_shown(rows[first:last], answers[first:]))
        first = last
        # a copy is shown as its original was
        if row < len(chunk) and chunk.original.get(row) not in not_full:
            policy.witness(chunk.emissions[row])


def _not_shown(rows: list[int], answers: list[Decision]) -> dict[int, Decision]:
    show = Action.SHOW
    return {row: answer for row, answer in zip(rows, answers, strict=True) if answer.action is not show}


class _Plan:
    """What the variants of a run share of a chunk, each part made when it is first wanted."""

    def __init__(self, chunk: Chunk, scope: Scope) -> None:
        self._chunk = chunk
        self._scope: Scope = scope
        self._fed: dict[_Feed, _Fed] = {}
        self._events: dict[Wiring, dict[int, list[tuple[int, Event]]]] = {}
        self._stretches: dict[tuple[Wiring, _Feed], list[_Stretch]] = {}

    @cached_property
    def _most_calls(self) -> int:
        """The most different calls of a ledger session."""
        return _most_within(self._chunk.columns["ledger_no"], self._chunk.same_call)

    @cached_property
    def _most_contexts(self) -> int:
        """The most contexts of a ledger session."""
        ledgers = self._chunk.columns["ledger_no"]
        return _most_within(ledgers, grouped(ledgers, self._chunk.columns["context_key"]))

    def is_below(self, most_entries: int | None, most_ledgers: int | None) -> bool:
        """Whether no ledger session of the chunk can reach these caps (None: there is none)."""
        return (most_entries is None or self._most_calls <= most_entries) and (
            most_ledgers is None or self._most_contexts <= most_ledgers
        )

    def fed(self, feed: _Feed) -> _Fed:
        """The new rows that are asked about, and their emissions."""
        found = self._fed.get(feed)
        if found is None:
            rows = self._asked(feed)
            numbers = rows.tolist()
            emissions = list(map(self._chunk.emissions.__getitem__, numbers))
            self._say(feed, rows, emissions)
            found = self._fed[feed] = _Fed(rows, numbers, emissions)
        return found

    def _asked(self, feed: _Feed) -> NDArray[Any]:
        chunk = self._chunk
        may = ~chunk.unasked
        if feed.reach == "hook":
            may &= chunk.columns["hook"] > 0
        may[: chunk.start] = False
        if feed.unknown == "call":
            may &= _meets(chunk.same_call, chunk.known == UNKNOWN, may)
        elif feed.unknown == "bytes":
            may &= _meets(chunk.same_bytes, chunk.known == UNKNOWN, may)
        return np.flatnonzero(may)

    def _say(self, feed: _Feed, rows: NDArray[Any], emissions: list[Emission]) -> None:
        """Tell emissions as the feed has them."""
        chunk = self._chunk
        says = (chunk.known if feed.knows else chunk.told)[rows] == YES
        if feed.unknown:
            says |= chunk.known[rows] == UNKNOWN
        others = np.flatnonzero(says != (chunk.told[rows] == YES))
        for place, emission in zip(others.tolist(), chunk.told_as(rows[others], says[others]), strict=True):
            emissions[place] = emission
        if feed.renames:
            for place in np.flatnonzero(chunk.columns["hook"][rows] > 0).tolist():
                length = int(chunk.columns["identity"][rows[place]])
                emissions[place] = replace(emissions[place], identity="?" * length)

    def _told(self, wiring: Wiring) -> dict[int, list[tuple[int, Event]]]:
        """What the wiring tells of, by the row before which it happens, with the ledger concerned."""
        found = self._events.get(wiring)
        if found is None:
            found = self._events[wiring] = {}
            heard = {kind: delivered(wiring, kind) for kind in EventKind}
            for row, ledger, (kind, session, context), _ in self._chunk.arrivals:
                for said in heard[kind]:
                    found.setdefault(row, []).append((ledger, Event(said, session, context)))
        return found

    def stretches(self, wiring: Wiring, feed: _Feed) -> list[_Stretch]:
        """What an engine is asked, cut where the ledger changes or an event of the wiring falls."""
        found = self._stretches.get((wiring, feed))
        if found is not None:
            return found
        chunk = self._chunk
        ledgers = chunk.columns["ledger_no"]
        is_apart = self._scope == "session"
        new = ledgers[chunk.start :]
        changes = np.flatnonzero(np.diff(new)) + chunk.start + 1 if is_apart else new[:0]
        events = self._told(wiring)
        cuts = sorted({chunk.start, len(chunk), *changes.tolist(), *events})
        places = np.searchsorted(self.fed(feed).rows, cuts).tolist()
        found = []
        # what happens to a process is told when it is next asked: most stretches hold nothing for most feeds
        waiting: dict[int, list[Event]] = {}
        for cut, (first, last) in zip(cuts, pairwise(places), strict=False):
            for owner, event in events.get(cut, ()):
                waiting.setdefault(owner if is_apart else _ONE, []).append(event)
            if first < last:
                ledger = int(ledgers[cut])
                found.append(_Stretch(ledger, waiting.pop(ledger if is_apart else _ONE, []), first, last))
        if not is_apart and waiting:
            # the one process goes on in the next chunk
            found.append(_Stretch(_ONE, waiting[_ONE], 0, 0))
        self._stretches[wiring, feed] = found
        return found


def _most_within(ledgers: NDArray[Any], names: NDArray[Any]) -> int:
    """The most different names that a ledger session has; of names that are numbers of one ledger each."""
    owner = np.full(int(names.max(initial=0)) + 1, -1, dtype=np.int64)
    owner[names] = ledgers
    return int(np.bincount(owner[owner >= 0], minlength=1).max())


def _meets(groups: NDArray[Any], unknown: NDArray[Any], may: NDArray[Any]) -> NDArray[Any]:
    """Rows whose group has several rows that may be asked about, one of a tool of which nothing is known."""
    size = int(groups.max(initial=0)) + 1
    several = np.bincount(groups[may], minlength=size) > 1
    has_unknown = np.bincount(groups[may & unknown], minlength=size) > 0
    found: NDArray[Any] = (several & has_unknown)[groups]
    return found


class Replay:
    """A run of several variants over the chunks of one timeline, in order.

    Args:
        variants: What is replayed.
        scope: What shares state.
    """

    def __init__(self, variants: Sequence[Variant], scope: Scope) -> None:
        self._scope: Scope = scope
        self._actors = [_Actor(variant, scope) for variant in variants]
        # what more there would be if unknown tools only read: asked of a twin, where the policy cares
        self._twins = [
            _Actor(variant, scope, unknown_reads=True)
            if "read_only" in actor.needs and not variant.is_probe
            else None
            for variant, actor in zip(variants, self._actors, strict=True)
        ]

    def chunk(self, chunk: Chunk) -> list[Replayed]:
        """What each variant did in the next chunk."""
        plan = _Plan(chunk, self._scope)
        found = []
        for actor, twin in zip(self._actors, self._twins, strict=True):
            replayed = actor.replay(chunk, plan)
            if twin is not None:
                replayed.score.if_unknown_reads = _more(twin.judged(chunk, plan)[1], replayed, chunk)
            found.append(replayed)
        return found


def _more(twin: Judged, replayed: Replayed, chunk: Chunk) -> Tally:
    """Elisions that would be sound if unknown tools only read, beyond those that are."""
    is_sound = (twin.verdict == VERDICTS.index(Verdict.SOUND)) | twin.if_unknown_reads
    mine = replayed.judged.row[replayed.judged.verdict == VERDICTS.index(Verdict.SOUND)]
    more = is_sound & ~np.isin(twin.row, mine) & chunk.columns["is_counted"][twin.row]
    return tally(chunk, twin.row[more], twin.marker_bytes[more])
