"""What each elision truly was, judged by what was in sight (DESIGN.md section 5, methods.md section 2.3).

The harness judges, not the policy: sight is a property of the recorded history, and a policy changes only
what stands at a place, never how long it stays there.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.policies.base import Action
from dedupstats.simulate.chunk import UNKNOWN, YES, latest

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    not_full: Mapping[int, Decision],
    *,
    says_same_arguments: bool,
    sees_shell_only: bool,
) -> Judged:
    """Judge what one policy elided.

    Args:
        chunk: The emissions.
        not_full: The decision for each row that is shown as a marker or shortened, rows of earlier chunks
            included; in order of rows.
        says_same_arguments: The policy's marker claims so.
        sees_shell_only: The policy is asked about shell commands only, so that those that only read count
            as read-only.
    """
    columns = chunk.columns
    there = np.fromiter(not_full, np.int64, len(not_full))
    elide = Action.ELIDE
    is_elided = np.fromiter((answer.action is elide for answer in not_full.values()), bool, len(not_full))
    is_marker, is_cut = np.zeros((2, len(chunk)), dtype=bool)
    is_marker[there[is_elided]] = True
    is_cut[there[~is_elided]] = True
    is_decided = is_elided & (there >= chunk.start)
    decided = list(compress(not_full.values(), is_decided.tolist()))
    rows = there[is_decided]
    anchor = chunk.rows(np.array([answer.anchor for answer in decided], dtype=np.int64))
    longest = _longest(chunk, is_marker, is_marker | is_cut)[rows]
    is_visible = longest > columns["ordinal"][rows]
    sha, call, arguments = columns["sha64"], columns["call_key"], columns["args_sha64"]
    known = (chunk.known_to_shell if sees_shell_only else chunk.known)[rows]
    is_error = columns["is_error"][rows]
    is_same_call = call[anchor] == call[rows]
    is_false = (sha[anchor] != sha[rows]) | is_cut[anchor]
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
        np.array([answer.shown_bytes or 0 for answer in decided], dtype=np.int64),
        verdict,
        _places(chunk, rows, anchor),
        ~is_same_call,
        is_marker[anchor],
        chunk.last_other[rows] > anchor,
        is_visible & (columns["left_at"][rows] > longest),
        ~is_error & (known == UNKNOWN) & ~is_false & is_visible,
    )


def _longest(chunk: Chunk, is_marker: NDArray[Any], is_not_full: NDArray[Any]) -> NDArray[Any]:
    """For each row that shows a marker the largest `left_at` among the full copies before it, or -1.

    Only rows that share context and bytes with a marker can matter. A copy is shown as its original was;
    where that came later in time, the copy is the first that the model saw, and full.
    """
    groups = chunk.same_bytes
    matters = np.zeros(groups.max(initial=0) + 1, dtype=bool)
    matters[groups[is_marker]] = True
    rows = np.flatnonzero(matters[groups])
    rows = rows[np.argsort(groups[rows], kind="stable")]
    original = chunk.original_row[rows]
    is_full = ~is_not_full[original] | (original > rows)
    ends, rank = chunk.left_at_ranked
    before = latest(groups[rows], np.where(is_full, rank[rows], -1))[:-1]
    has_full = (groups[rows[1:]] == groups[rows[:-1]]) & (before >= 0)
    found = np.full(len(chunk), -1, dtype=np.int64)
    found[rows[1:][has_full]] = ends[before[has_full]]
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
