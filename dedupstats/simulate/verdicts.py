"""What each elision truly was, judged by what was in sight (DESIGN.md section 5, methods.md section 2.3).

The harness judges, not the policy: sight is a property of the recorded history, and a policy changes only
what stands at a place, never how long it stays there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.simulate.chunk import UNKNOWN, YES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dedupstats.policies.base import Decision
    from dedupstats.simulate.chunk import Chunk, ContextFacts


class Verdict(StrEnum):
    """What an elision truly was; the first that fits."""

    HIDDEN = "hidden"
    """the call had an effect or failed, and the marker does not say so"""
    FALSE = "false"
    """the anchor shows other bytes or an excerpt, or the marker says "same arguments" and they differ"""
    DANGLING = "dangling"
    """no full copy of the bytes is in sight"""
    SOUND = "sound"
    """one is"""


class Place(StrEnum):
    """Where the anchor of a marker stands, seen from the context that is shown the marker."""

    IN_SIGHT = "in_sight"
    GONE = "gone"
    """in this context, but out of sight"""
    PARENT = "parent"
    SIBLING = "sibling"
    CHILD = "child"
    OTHER = "other"
    """another session of the family, or another file with a main thread of this one"""


VERDICTS = tuple(Verdict)
PLACES = tuple(Place)


class Judged(NamedTuple):
    """The elisions of one policy in one chunk, column by column, in order of arrival."""

    row: NDArray[Any]
    """of the chunk"""
    anchor: NDArray[Any]
    """row of the emission that the marker speaks of"""
    marker_bytes: NDArray[Any]
    verdict: NDArray[Any]
    """number in `VERDICTS`"""
    place: NDArray[Any]
    """number in `PLACES`"""
    other_call: NDArray[Any]
    """the anchor is the result of another call"""
    twice_removed: NDArray[Any]
    """the anchor is itself a marker"""
    changed_between: NDArray[Any]
    """since the anchor, the same call gave other bytes, or failed"""
    later_dangling: NDArray[Any]
    """a full copy of the bytes is in sight, and this is still in sight after the last one has left"""
    if_unknown_reads: NDArray[Any]
    """would be sound, were it not that nobody says whether the call only reads"""


def judge(
    chunk: Chunk,
    elided: dict[int, Decision],
    shortened: Iterable[int],
    *,
    says_same_arguments: bool,
    sees_shell_only: bool,
) -> Judged:
    """Judge what one policy elided.

    Args:
        chunk: The emissions.
        elided: The decision for each row that is shown as a marker, rows of earlier chunks included.
        shortened: Rows that are shown, but not in full.
        says_same_arguments: The policy's marker claims so.
        sees_shell_only: The policy is asked about shell commands only, so that those that only read count
            as read-only.
    """
    columns = chunk.columns
    decided = [(row, decision) for row, decision in elided.items() if row >= chunk.start]
    rows = np.array([row for row, _ in decided], dtype=np.int64)
    anchor = chunk.rows(np.array([decision.anchor for _, decision in decided], dtype=np.int64))
    cut = set(shortened)
    until = _longest(chunk, elided, cut)
    longest = np.array([until[row] for row, _ in decided], dtype=np.int64)
    is_visible = longest > columns["ordinal"][rows]
    sha, call, arguments = columns["sha64"], columns["call_key"], columns["args_sha64"]
    known = (chunk.known_to_shell if sees_shell_only else chunk.known)[rows]
    is_error = columns["is_error"][rows]
    is_same_call = call[anchor] == call[rows]
    is_false = (sha[anchor] != sha[rows]) | np.array([there in cut for there in anchor.tolist()], dtype=bool)
    if says_same_arguments:
        is_false |= is_same_call & (arguments[anchor] != arguments[rows])
    verdict = np.select(
        [is_error | (known != YES), is_false, ~is_visible],
        [VERDICTS.index(Verdict.HIDDEN), VERDICTS.index(Verdict.FALSE), VERDICTS.index(Verdict.DANGLING)],
        VERDICTS.index(Verdict.SOUND),
    )
    return Judged(
        rows,
        anchor,
        np.array([decision.shown_bytes or 0 for _, decision in decided], dtype=np.int64),
        verdict,
        _places(chunk, rows, anchor),
        ~is_same_call,
        np.array([there in elided for there in anchor.tolist()], dtype=bool),
        chunk.last_other[rows] > anchor,
        is_visible & (columns["left_at"][rows] > longest),
        ~is_error & (known == UNKNOWN) & ~is_false & is_visible,
    )


def _longest(chunk: Chunk, elided: dict[int, Decision], shortened: set[int]) -> dict[int, int]:
    """For each elided row the largest `left_at` among the full copies before it in its context, or -1.

    Only rows that share context and bytes with an elided one can matter. A copy is shown as its original
    was; where that came later in time, the copy is the first that the model saw, and full.
    """
    columns, groups = chunk.columns, chunk.same_bytes
    matters = np.zeros(groups.max(initial=0) + 1, dtype=bool)
    matters[groups[list(elided)]] = True
    rows = np.flatnonzero(matters[groups])
    original = chunk.original
    longest: dict[int, int] = {}
    found: dict[int, int] = {}
    for row, group, left_at in zip(
        rows.tolist(), groups[rows].tolist(), columns["left_at"][rows].tolist(), strict=True
    ):
        if row in elided:
            found[row] = longest.get(group, -1)
            continue
        decided_at = original.get(row, row)
        if decided_at <= row and (decided_at in elided or decided_at in shortened):
            continue
        longest[group] = max(longest.get(group, -1), left_at)
    return found


def place(chunk: Chunk, row: int, anchor: int) -> Place:
    """Where an earlier emission stands, seen from the context of a row; a copy of it here counts as here."""
    return PLACES[int(_places(chunk, np.array([row]), np.array([anchor]))[0])]


def _places(chunk: Chunk, rows: NDArray[Any], anchors: NDArray[Any]) -> NDArray[Any]:
    """Numbers of the places of some anchors."""
    columns = chunk.columns
    contexts, ordinals, left_at = columns["context_key"], columns["ordinal"], columns["left_at"]
    is_here = contexts[anchors] == contexts[rows]
    in_sight = is_here & (left_at[anchors] > ordinals[rows])
    found: NDArray[Any] = np.where(in_sight, PLACES.index(Place.IN_SIGHT), PLACES.index(Place.GONE))
    for number in np.flatnonzero(~in_sight).tolist():
        row, anchor = int(rows[number]), int(anchors[number])
        # a copy of it in this context counts as here
        copies = [
            copy for copy in chunk.copies.get(anchor, ()) if copy < row and contexts[copy] == contexts[row]
        ]
        if any(left_at[copy] > ordinals[row] for copy in copies):
            found[number] = PLACES.index(Place.IN_SIGHT)
        elif not copies and not is_here[number]:
            relation = _relation(int(contexts[row]), int(contexts[anchor]), chunk)
            found[number] = PLACES.index(relation)
    return found


def _relation(context: int, other: int, chunk: Chunk) -> Place:
    """What another context is to this one; an agent without a known parent is the main thread's."""
    contexts = chunk.contexts
    one, two = contexts[context], contexts[other]
    if one.session != two.session or (one.is_main and two.is_main):
        return Place.OTHER
    if two.is_main or other in _ancestors(context, chunk):
        return Place.PARENT
    if one.is_main or context in _ancestors(other, chunk):
        return Place.CHILD
    return Place.SIBLING


def _ancestors(context: int, chunk: Chunk) -> set[int]:
    found: set[int] = set()
    facts: ContextFacts | None = chunk.contexts[context]
    while facts is not None and facts.parent is not None and facts.parent not in found:
        found.add(facts.parent)
        facts = chunk.contexts.get(facts.parent)
    return found
