"""The one pass: a chunk of a timeline, decided by every variant, judged and added up.

A pure function of emissions and events: no connection, no file. Each session has a policy object of its own,
so that sessions do not share state, unless the scope is `history`, where one object lives through all.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from dedupstats.policies.base import Action, Decision, Witness, delivered
from dedupstats.simulate.chunk import UNKNOWN
from dedupstats.simulate.verdicts import VERDICTS, Verdict, judge
from dedupstats.simulate.weigh import score, tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dedupstats.policies.base import Emission, Event, Policy, Reach, Wiring
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


class _Stretch(NamedTuple):
    """Consecutive rows of one ledger session without an event between them."""

    ledger: str
    events: list[Event]
    """what an engine is told before its first row"""
    start: int
    stop: int


class _Actor:
    """A variant at work: its policy objects, and what it elided in families that go on."""

    def __init__(self, variant: Variant, scope: Scope, *, unknown_reads: bool = False) -> None:
        self.variant = variant
        self.unknown_reads = unknown_reads
        self._scope: Scope = scope
        self._policies: dict[str, Policy] = {}
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
        asked = plan.asked(self.reach)
        not_full = self._remembered(chunk)
        answers = self._decide(chunk, plan, not_full)
        elided = {row: answer for row, answer in not_full.items() if answer.action is Action.ELIDE}
        definition = self.variant.spec.definition
        judged = judge(
            chunk,
            elided,
            not_full.keys() - elided.keys(),
            says_same_arguments=definition.says_same_arguments,
            sees_shell_only=self.reach == "hook",
        )
        found = score(chunk, asked, answers, judged, definition, is_partial=self.reach != "all")
        found.largest = self._largest_ledger()
        if self._scope == "session":
            self._policies.clear()
        else:
            positions = chunk.columns["position"]
            self._kept = {int(positions[row]): answer for row, answer in not_full.items()}
        return Replayed(self.variant, asked, answers, judged, found)

    def _remembered(self, chunk: Chunk) -> dict[int, Decision]:
        """What was not shown in full among the rows that were decided in earlier chunks."""
        positions = chunk.columns["position"][: chunk.start].tolist()
        return {row: self._kept[position] for row, position in enumerate(positions) if position in self._kept}

    def _largest_ledger(self) -> int:
        self._largest = max([self._largest, *(policy.largest for policy in self._policies.values())])
        return self._largest

    def _policy(self, ledger: str) -> Policy:
        # a reference keeps sight, not a ledger: a context stays one, whatever its rows call their session
        name = ledger if self._scope == "session" and not self._is_reference else ""
        policy = self._policies.get(name)
        if policy is None:
            policy = self._policies[name] = self.variant.spec.policy()
        return policy

    def _decide(self, chunk: Chunk, plan: _Plan, not_full: dict[int, Decision]) -> list[Decision]:
        """The answers on the rows that the policy is asked about; `not_full` takes those that do not show."""
        asked = plan.asked(self.reach)
        rows = asked.tolist()
        emissions = plan.fed(self.reach, self.needs, unknown_reads=self.unknown_reads)
        answers: list[Decision] = []
        unasked = np.flatnonzero(chunk.unasked).tolist() if self._is_reference else []
        for stretch, (first, last) in plan.spans(self.reach, self.wiring):
            if first == last and not stretch.events and not unasked:
                continue
            policy = self._policy(stretch.ledger)
            for event in stretch.events:
                policy.notify(event)
            if self._is_reference:
                seen = unasked[bisect_left(unasked, stretch.start) : bisect_left(unasked, stretch.stop)]
                answers += _answers(
                    cast("Witness", policy), chunk, emissions[first:last], rows[first:last], seen, not_full
                )
            else:
                decide = policy.decide
                answers += [decide(emission) for emission in emissions[first:last]]
        not_full.update(
            (row, answer)
            for row, answer in zip(rows, answers, strict=True)
            if answer.action is not Action.SHOW
        )
        return answers


def _answers(  # noqa: PLR0917 - an inner loop
    policy: Witness,
    chunk: Chunk,
    emissions: list[Emission],
    rows: list[int],
    unasked: list[int],
    not_full: dict[int, Decision],
) -> list[Decision]:
    """The answers of a policy that is also shown what is in sight without being asked about."""
    found = []
    asked = dict(zip(rows, emissions, strict=True))
    for row in sorted((*rows, *unasked)):
        emission = asked.get(row)
        if emission is None:
            # a copy is shown as its original was
            if chunk.original.get(row) not in not_full:
                policy.witness(chunk.emissions[row])
            continue
        answer = policy.decide(emission)
        found.append(answer)
        if answer.action is not Action.SHOW:
            not_full[row] = answer
    return found


class _Plan:
    """What the variants of a run share of a chunk, each part made when it is first wanted."""

    def __init__(self, chunk: Chunk, scope: Scope) -> None:
        self._chunk = chunk
        self._scope: Scope = scope
        self._asked: dict[Reach, NDArray[Any]] = {}
        self._fed: dict[tuple[Reach, bool, bool], list[Emission]] = {}
        self._stretches: dict[Wiring, list[_Stretch]] = {}
        self._spans: dict[tuple[Reach, Wiring], list[tuple[_Stretch, tuple[int, int]]]] = {}

    def asked(self, reach: Reach) -> NDArray[Any]:
        """The new rows that an engine of this reach is asked about."""
        found = self._asked.get(reach)
        if found is None:
            chunk = self._chunk
            may = ~chunk.unasked
            if reach == "hook":
                may &= chunk.columns["hook"] > 0
            may[: chunk.start] = False
            found = self._asked[reach] = np.flatnonzero(may)
        return found

    def fed(self, reach: Reach, needs: frozenset[str], *, unknown_reads: bool) -> list[Emission]:
        """The emissions of these rows.

        Where an engine that names commands is asked about every tool, its name for a shell command is the
        command and not what the hook would make of it.
        """
        renames = reach == "all" and "identity" in needs
        key = (reach, renames, unknown_reads)
        found = self._fed.get(key)
        if found is None:
            chunk = self._chunk
            rows = self.asked(reach)
            emissions = chunk.emissions
            found = [emissions[row] for row in rows.tolist()]
            if renames:
                for place in np.flatnonzero(chunk.columns["hook"][rows] > 0).tolist():
                    length = int(chunk.columns["identity"][rows[place]])
                    found[place] = found[place]._replace(identity="?" * length)
            if unknown_reads:
                for place in np.flatnonzero(chunk.known[rows] == UNKNOWN).tolist():
                    found[place] = found[place]._replace(read_only=True)
            self._fed[key] = found
        return found

    def spans(self, reach: Reach, wiring: Wiring) -> list[tuple[_Stretch, tuple[int, int]]]:
        """The stretches of a wiring, each with its part of the rows that a reach is asked about."""
        found = self._spans.get((reach, wiring))
        if found is None:
            stretches, asked = self.stretches(wiring), self.asked(reach)
            firsts = np.searchsorted(asked, [stretch.start for stretch in stretches]).tolist()
            lasts = np.searchsorted(asked, [stretch.stop for stretch in stretches]).tolist()
            found = list(zip(stretches, zip(firsts, lasts, strict=True), strict=True))
            self._spans[reach, wiring] = found
        return found

    def stretches(self, wiring: Wiring) -> list[_Stretch]:
        """The new rows cut where the ledger session changes or an event of the wiring falls."""
        found = self._stretches.get(wiring)
        if found is not None:
            return found
        chunk = self._chunk
        ledgers = chunk.columns["ledger_no"]
        if self._scope == "session":
            changes = np.flatnonzero(np.diff(ledgers[chunk.start :])) + chunk.start + 1
        else:
            changes = np.zeros(0, dtype=np.int64)
        events: dict[int, list[tuple[str, Event]]] = {}
        for arrival in chunk.arrivals:
            for kind in delivered(wiring, arrival.event.kind):
                event = arrival.event._replace(kind=kind)
                events.setdefault(arrival.row, []).append((arrival.ledger, event))
        cuts = sorted({chunk.start, len(chunk), *changes.tolist(), *events})
        found = []
        for start, stop in pairwise(cuts):
            ledger = chunk.ledgers[ledgers[start]]
            mine = []
            for owner, event in events.get(start, ()):
                if owner == ledger or self._scope == "history":
                    mine.append(event)
                else:
                    # another session's process hears of it, though no result of it follows here
                    found.append(_Stretch(owner, [event], start, start))
            found.append(_Stretch(ledger, mine, start, stop))
        self._stretches[wiring] = found
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
        with _collector_off():
            for actor, twin in zip(self._actors, self._twins, strict=True):
                replayed = actor.replay(chunk, plan)
                if twin is not None:
                    replayed.score.if_unknown_reads = _more(twin.replay(chunk, plan).judged, replayed, chunk)
                found.append(replayed)
        return found


def _more(twin: Judged, replayed: Replayed, chunk: Chunk) -> Tally:
    """Elisions that would be sound if unknown tools only read, beyond those that are."""
    is_sound = (twin.verdict == VERDICTS.index(Verdict.SOUND)) | twin.if_unknown_reads
    mine = replayed.judged.row[replayed.judged.verdict == VERDICTS.index(Verdict.SOUND)]
    more = is_sound & ~np.isin(twin.row, mine) & chunk.columns["is_counted"][twin.row]
    return tally(chunk, twin.row[more], twin.marker_bytes[more])


@contextmanager
def _collector_off() -> Iterator[None]:
    """No cyclic garbage collection: with a million live tuples it doubles the time (methods.md 0)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
