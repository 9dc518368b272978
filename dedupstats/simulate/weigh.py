"""The score of one variant in one chunk, from its answers and their verdicts."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupstats.policies.base import Stage
from dedupstats.simulate.chunk import MIXED
from dedupstats.simulate.score import (
    EXAMPLES,
    NOT_REACHED,
    Beside,
    Example,
    Group,
    Score,
    Step,
    Tally,
    add,
)
from dedupstats.simulate.verdicts import PLACES, VERDICTS, Judged, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    keep = counted[judged.row]
    kept = Judged(*(column[keep] for column in judged))
    found = _weighed(chunk, kept)
    found.asked = tally(chunk, asked[counted[asked]])
    found.reasons = _reasons(chunk, asked, answers)
    reasons = definition.reasons
    rows = np.flatnonzero(counted)
    rows = rows[rows >= chunk.start]
    for step, rule in _RULES[definition.keyed_by].items():
        rows = rows[chunk.columns[rule][rows]]
        found.steps[step] = tally(chunk, rows)
    known, decisions = _answers_at(asked, answers, rows)
    if is_partial:
        found.steps[Step.REACHED] = tally(chunk, known)
    _climb(found, chunk, known, [reasons.get(answer.reason, Stage.LEDGER) for answer in decisions], kept)
    if definition.keyed_by == "call":
        lost = np.flatnonzero(
            chunk.columns["norm_repeat_session"] & ~chunk.columns["repeat_session"] & counted
        )
        known, decisions = _answers_at(asked, answers, lost)
        is_unheld = [reasons.get(answer.reason) is Stage.LEDGER for answer in decisions]
        found.key_lost = tally(chunk, known[np.array(is_unheld, dtype=bool)])
    return found


def tally(chunk: Chunk, rows: NDArray[Any], markers: NDArray[Any] | None = None) -> Tally:
    """The sum over some rows of a chunk, with the bytes of their markers if they are elided."""
    sizes = chunk.columns["bytes"][rows]
    if markers is None:
        markers = np.zeros(0, dtype=np.int64)
    return Tally(
        len(rows),
        int(sizes.sum()),
        int(((sizes + 3) // 4).sum()),
        int(markers.sum()),
        int(((markers + 3) // 4).sum()),
    )


def _reasons(chunk: Chunk, asked: NDArray[Any], answers: list[Decision]) -> dict[str, int]:
    counted = chunk.columns["is_counted"]
    if counted.all():
        found = Counter(map(_REASON, answers))
    else:
        found = Counter(answers[place].reason for place in np.flatnonzero(counted[asked]).tolist())
    reachable = int(np.count_nonzero((counted & ~chunk.unasked)[chunk.start :]))
    if missed := reachable - found.total():
        found[NOT_REACHED] = missed
    return dict(found)


def _weighed(chunk: Chunk, judged: Judged) -> Score:
    """Everything that is a sum over elisions."""
    columns, found = chunk.columns, Score()
    everything = np.zeros(len(judged.row), dtype=np.int64)
    found.verdicts = _groups(chunk, judged, everything).get(0, {})
    mixed = columns["hook"][judged.row] == MIXED
    found.mixed = _groups(chunk, judged, mixed).get(1, {})
    found.places = {PLACES[place]: group for place, group in _groups(chunk, judged, judged.place).items()}
    for number, group in _groups(chunk, judged, columns["tool_no"][judged.row]).items():
        # one name can be several tools, which differ in what is known of them
        add(found.tools.setdefault(chunk.tools[number], {}), group)
    found.sessions = _groups(chunk, judged, columns["session_key"][judged.row])
    sound = judged.verdict == _SOUND
    for name in Beside:
        chosen = sound & getattr(judged, name.value)
        if chosen.any():
            found.beside[name] = tally(chunk, judged.row[chosen], judged.marker_bytes[chosen])
    chosen = judged.if_unknown_reads
    found.if_unknown_reads = tally(chunk, judged.row[chosen], judged.marker_bytes[chosen])
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


def _climb(found: Score, chunk: Chunk, rows: NDArray[Any], stages: Sequence[Stage], judged: Judged) -> None:
    """The steps that the policy's own answers decide, of results that are in sight."""
    markers = np.full(len(chunk), -1, dtype=np.int64)
    markers[judged.row] = judged.marker_bytes
    is_sound = np.zeros(len(chunk), dtype=bool)
    is_sound[judged.row[judged.verdict == _SOUND]] = True
    numbers = np.array([_STAGE_NUMBERS[stage] for stage in stages], dtype=np.int64)
    # what was elided has no stage of its own and passes them all
    numbers[markers[rows] >= 0] = -1
    for step, stage in _STAGES.items():
        passes = numbers != _STAGE_NUMBERS[stage]
        rows, numbers = rows[passes], numbers[passes]
        found.steps[step] = tally(chunk, rows)
    for step, is_left in ((Step.KNOWN, markers >= 0), (Step.SOUND, is_sound)):
        rows = rows[is_left[rows]]
        found.steps[step] = tally(chunk, rows, markers[rows])


def _answers_at(
    asked: NDArray[Any], answers: list[Decision], rows: NDArray[Any]
) -> tuple[NDArray[Any], list[Decision]]:
    """Those of some rows that were asked about, and the answers on them."""
    if not len(asked):
        return rows[:0], []
    places = np.minimum(np.searchsorted(asked, rows), len(asked) - 1)
    agrees = asked[places] == rows
    return rows[agrees], [answers[place] for place in places[agrees].tolist()]


def _groups(chunk: Chunk, judged: Judged, names: NDArray[Any]) -> dict[int, Group]:
    """Tallies by verdict for each name (a number) of the elisions."""
    if not len(names):
        return {}
    values, numbers = np.unique(names, return_inverse=True)
    codes = numbers * len(VERDICTS) + judged.verdict
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()
    found: dict[int, Group] = {}
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        places = order[start:stop]
        number, verdict = divmod(int(codes[places[0]]), len(VERDICTS))
        found.setdefault(int(values[number]), {})[VERDICTS[verdict]] = tally(
            chunk, judged.row[places], judged.marker_bytes[places]
        )
    return found
