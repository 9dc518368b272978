"""The score of one variant in one chunk, from its answers and their verdicts."""

from __future__ import annotations

from collections import Counter
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
    from collections.abc import Collection, Iterable

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
    stage_of = {
        row: reasons.get(answer.reason, Stage.LEDGER)
        for row, answer in _answers_at(asked, answers, rows).items()
    }
    if is_partial:
        found.steps[Step.REACHED] = tally(chunk, _rows(stage_of))
    _climb(found, chunk, stage_of, kept)
    if definition.keyed_by == "call":
        lost = np.flatnonzero(
            chunk.columns["norm_repeat_session"] & ~chunk.columns["repeat_session"] & counted
        )
        unknown = [
            row
            for row, answer in _answers_at(asked, answers, lost).items()
            if reasons.get(answer.reason) is Stage.LEDGER
        ]
        found.key_lost = tally(chunk, _rows(unknown))
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


def _rows(rows: Iterable[int]) -> NDArray[Any]:
    return np.array(list(rows), dtype=np.int64)


def _reasons(chunk: Chunk, asked: NDArray[Any], answers: list[Decision]) -> dict[str, int]:
    counted = chunk.columns["is_counted"]
    if counted.all():
        found = Counter(answer.reason for answer in answers)
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
    # among equal sizes the key decides, as it does where scores are added
    places = places[np.lexsort((columns["emission_key"][rows], columns["bytes"][rows]))[-EXAMPLES:]]
    return sorted(
        (
            Example(
                int(columns["bytes"][judged.row[place]]),
                int(columns["emission_key"][judged.row[place]]),
                int(columns["emission_key"][judged.anchor[place]]),
                VERDICTS[verdict],
                PLACES[judged.place[place]],
            )
            for place in places.tolist()
        ),
        reverse=True,
    )


def _climb(found: Score, chunk: Chunk, stage_of: dict[int, Stage], judged: Judged) -> None:
    """The steps that the policy's own answers decide, of results that are in sight."""
    markers = dict(zip(judged.row.tolist(), judged.marker_bytes.tolist(), strict=True))
    sound = set(judged.row[judged.verdict == _SOUND].tolist())
    left = list(stage_of)
    for step, stage in _STAGES.items():
        # what was elided has no stage of its own and passes them all
        left = [row for row in left if stage_of[row] is not stage or row in markers]
        found.steps[step] = tally(chunk, _rows(left))
    known: tuple[tuple[Step, Collection[int]], ...] = ((Step.KNOWN, markers), (Step.SOUND, sound))
    for step, members in known:
        left = [row for row in left if row in members]
        found.steps[step] = tally(chunk, _rows(left), _rows(markers[row] for row in left))


def _answers_at(asked: NDArray[Any], answers: list[Decision], rows: NDArray[Any]) -> dict[int, Decision]:
    """The answers on some rows; rows that nobody was asked about have none."""
    if not len(asked):
        return {}
    places = np.minimum(np.searchsorted(asked, rows), len(asked) - 1)
    agrees = asked[places] == rows
    return {
        row: answers[place] for row, place in zip(rows[agrees].tolist(), places[agrees].tolist(), strict=True)
    }


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
