"""The score of one variant in one chunk, from its answers and their verdicts."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupstats.policies.base import Stage
from dedupstats.simulate.chunk import MIXED
from dedupstats.simulate.score import (
    EXAMPLES,
    NOT_REACHED,
    Beside,
    BySession,
    Example,
    Group,
    Score,
    Step,
    Tally,
    add,
    summed,
)
from dedupstats.simulate.verdicts import PLACES, VERDICTS, Judged, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dedupstats.policies.base import Decision
    from dedupstats.policies.spec import Definition
    from dedupstats.simulate.chunk import Chunk

_RULES: dict[str, dict[Step, str]] = {
    "call": {
        Step.SAME_CALL: "call_pooled",
        Step.SAME_BYTES: "repeat_pooled",
        Step.SAME_SESSION: "repeat_session",
        Step.IN_SIGHT: "repeat_in_sight",
    },
    "bytes": {Step.BYTES_IN_SESSION: "bytes_session", Step.IN_SIGHT: "in_sight"},
}
"""the steps that repeat rules decide, by what a policy is keyed by"""

_STAGES = {Step.ELIGIBLE: Stage.ELIGIBLE, Step.THRESHOLD: Stage.THRESHOLD, Step.CAP: Stage.CAP}


_STAGE_NUMBERS = {stage: number for number, stage in enumerate(Stage)}
_REASON = attrgetter("reason")
_SOUND = VERDICTS.index(Verdict.SOUND)


class _Numbers(dict[str, int]):
    """A number for each reason, in the order in which they are met."""

    def __missing__(self, reason: str) -> int:
        self[reason] = number = len(self)
        return number


def score(
    chunk: Chunk,
    asked: NDArray[Any],
    answers: list[Decision],
    judged: Judged,
    definition: Definition,
    *,
    is_partial: bool,
) -> Score:
    """The score of one variant in one chunk.

    Args:
        chunk: The emissions.
        asked: Rows that the policy was asked about, in order.
        answers: Its decision on each of them.
        judged: What its elisions were.
        definition: Says what it is keyed by, and at which stage each of its reasons shows a result.
        is_partial: It is not asked about every call.
    """
    counted = chunk.columns["is_counted"]
    numbers = _Numbers()
    given = np.fromiter(map(numbers.__getitem__, map(_REASON, answers)), np.int32, len(answers))
    keep = counted[judged.row]
    kept = Judged(*(column[keep] for column in judged))
    weighed = _elided(chunk, kept.row, kept.marker_bytes)
    found = _weighed(chunk, kept, weighed)
    found.asked = tally(chunk, asked[counted[asked]])
    found.reasons = _reasons(chunk, given[counted[asked]], list(numbers))
    reasons = definition.reasons
    rows, steps = _by_rules(chunk, definition.keyed_by)
    found.steps.update(steps)
    known, decided = _given(asked, given, rows)
    if is_partial:
        found.steps[Step.REACHED] = tally(chunk, known)
    stages = np.array([_STAGE_NUMBERS[reasons.get(reason, Stage.LEDGER)] for reason in numbers], np.int8)
    _climb(found, chunk, known, stages[decided], kept, weighed)
    if definition.keyed_by == "call":
        lost = np.flatnonzero(
            chunk.columns["norm_repeat_session"] & ~chunk.columns["repeat_session"] & counted
        )
        known, decided = _given(asked, given, lost)
        is_unheld = np.array([reasons.get(reason) is Stage.LEDGER for reason in numbers], bool)
        found.key_lost = tally(chunk, known[is_unheld[decided]])
    return found


def tally(chunk: Chunk, rows: NDArray[Any], markers: NDArray[Any] | None = None) -> Tally:
    """The sum over some rows of a chunk, with the bytes of their markers if they are elided."""
    if markers is None:
        # by column: a tally is a few sums over what lies together
        return Tally(*chunk.weights.whole.take(rows, axis=1).sum(axis=1).tolist())
    return _sum(_elided(chunk, rows, markers))


def _elided(chunk: Chunk, rows: NDArray[Any], markers: NDArray[Any]) -> NDArray[Any]:
    """The fields of a tally of each of some elisions, one column an elision."""
    weights = chunk.weights
    return np.vstack([weights.whole.take(rows, axis=1), weights.instead(rows, markers)])


def _sum(weighed: NDArray[Any]) -> Tally:
    return Tally(*weighed.sum(axis=1).tolist())


def _by_rules(chunk: Chunk, keyed_by: str) -> tuple[NDArray[Any], dict[Step, Tally]]:
    """The steps that repeat rules decide, the same for all policies, and the rows behind the last one."""
    found = chunk.by_rules.get(keyed_by)
    if found is None:
        rows = np.flatnonzero(chunk.columns["is_counted"])
        rows = rows[rows >= chunk.start]
        steps = {}
        for step, rule in _RULES[keyed_by].items():
            rows = rows[chunk.columns[rule][rows]]
            steps[step] = tally(chunk, rows)
        found = chunk.by_rules[keyed_by] = rows, steps
    return found


def _reasons(chunk: Chunk, given: NDArray[Any], names: list[str]) -> dict[str, int]:
    """How often each reason was given, what the policy was not asked about included."""
    counted = chunk.columns["is_counted"] & ~chunk.columns["is_copy"]
    counts = np.bincount(given, minlength=len(names)).tolist()
    found = {name: count for name, count in zip(names, counts, strict=True) if count}
    if missed := int(np.count_nonzero(counted[chunk.start :])) - len(given):
        found[NOT_REACHED] = missed
    return found


def _weighed(chunk: Chunk, judged: Judged, weighed: NDArray[Any]) -> Score:
    """Everything that is a sum over elisions."""
    columns, found = chunk.columns, Score()
    everything = np.zeros(len(judged.row), dtype=np.int64)
    found.verdicts = _groups(judged, weighed, everything).get(0, {})
    mixed = columns["hook"][judged.row] == MIXED
    found.mixed = _groups(judged, weighed, mixed).get(1, {})
    found.places = {PLACES[place]: group for place, group in _groups(judged, weighed, judged.place).items()}
    for number, group in _groups(judged, weighed, columns["tool_no"][judged.row]).items():
        # one name can be several tools, which differ in what is known of them
        add(found.tools.setdefault(chunk.tools[number], {}), group)
    found.sessions = BySession(summed(columns["session_key"][judged.row], judged.verdict, weighed))
    sound = judged.verdict == _SOUND
    for name in Beside:
        chosen = sound & getattr(judged, name.value)
        if chosen.any():
            found.beside[name] = _sum(weighed[:, chosen])
    found.if_unknown_reads = _sum(weighed[:, judged.if_unknown_reads])
    found.known_by = chunk.weights.by_level(judged.row[sound])
    for number in np.unique(judged.verdict).tolist():
        found.examples[VERDICTS[number]] = _examples(chunk, judged, number)
    return found


def _examples(chunk: Chunk, judged: Judged, verdict: int) -> list[Example]:
    """The largest elisions of one verdict."""
    columns = chunk.columns
    places = np.flatnonzero(judged.verdict == verdict)
    rows = judged.row[places]
    order = np.lexsort((columns["position"][rows], -columns["bytes"][rows]))[:EXAMPLES]
    return [
        Example(
            int(columns["bytes"][judged.row[place]]),
            int(columns["position"][judged.row[place]]),
            int(columns["emission_key"][judged.row[place]]),
            int(columns["emission_key"][judged.anchor[place]]),
            VERDICTS[verdict],
            PLACES[judged.place[place]],
        )
        for place in places[order].tolist()
    ]


def _climb(  # noqa: PLR0917 - the parts of one score
    found: Score,
    chunk: Chunk,
    rows: NDArray[Any],
    numbers: NDArray[Any],
    judged: Judged,
    weighed: NDArray[Any],
) -> None:
    """The steps that the policy's own answers decide, of results that are in sight, by their stages."""
    place = np.full(len(chunk), -1, dtype=np.int64)
    place[judged.row] = np.arange(len(judged.row))
    is_sound = np.zeros(len(chunk), dtype=bool)
    is_sound[judged.row[judged.verdict == _SOUND]] = True
    # what was elided has no stage of its own and passes them all
    numbers = np.where(place[rows] >= 0, -1, numbers)
    for step, stage in _STAGES.items():
        passes = numbers != _STAGE_NUMBERS[stage]
        rows, numbers = rows[passes], numbers[passes]
        found.steps[step] = tally(chunk, rows)
    for step, is_left in ((Step.KNOWN, place >= 0), (Step.SOUND, is_sound)):
        rows = rows[is_left[rows]]
        found.steps[step] = _sum(weighed.take(place[rows], axis=1))


def _given(asked: NDArray[Any], given: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Those of some rows that were asked about, and the reasons given for them."""
    if not len(asked):
        return rows[:0], given
    places = np.minimum(np.searchsorted(asked, rows), len(asked) - 1)
    agrees = asked[places] == rows
    return rows[agrees], given[places[agrees]]


def _groups(judged: Judged, weighed: NDArray[Any], names: NDArray[Any]) -> dict[int, Group]:
    """Tallies by verdict for each name (a number) of the elisions."""
    found: dict[int, Group] = {}
    names, verdicts, sums = summed(names, judged.verdict, weighed)
    for name, verdict, column in zip(names.tolist(), verdicts.tolist(), sums.T.tolist(), strict=True):
        found.setdefault(name, {})[VERDICTS[verdict]] = Tally(*column)
    return found
