"""Elisions in words for the Report: who was told what, and what is true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dedupstats.analytics.rates import NO_TARGET
from dedupstats.report.model_replay import ReplayExample
from dedupstats.report.targets import shared_target
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.report.names import Names
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.score import Example
    from dedupstats.store import Store

_CLAIM: Final = re.compile(r"identical to (?:output at (step \d+)|its earlier result)")
"""what the engines' markers say of the earlier result, at their core"""
_CLAIM_CHARS: Final = 60
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class Markers:
    """Keeps the markers of a run's examples while the chunks pass by."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], str] = {}

    def take(self, chunk: Chunk, replayed: list[Replayed]) -> None:
        """Keep those of one chunk."""
        for place, one in enumerate(replayed):
            wanted = {example.emission_key for listed in one.score.examples.values() for example in listed}
            if not wanted:
                continue
            keys = chunk.columns["emission_key"][one.asked].tolist()
            self._found |= {
                (place, key): answer.marker
                for key, answer in zip(keys, one.answers, strict=True)
                if key in wanted and answer.marker
            }

    def of(self, place: int, example: Example) -> str:
        """The marker of an example of the variant at a place of the run."""
        return self._found.get((place, example.emission_key), "")


class _Shown(NamedTuple):
    """What a store knows of an emission that an example names."""

    call_id: str | None
    tool: str
    target: str | None
    read_only: str
    is_error: bool
    sha64: int
    context: str
    """in words"""


def examples(
    store: Store, found: Simulation, places: Iterable[int], markers: Markers, names: Names
) -> dict[int, tuple[ReplayExample, ...]]:
    """The largest untrue elisions of the variants at some places of a run, verdict by verdict."""
    listed = {
        place: [
            example
            for verdict, these in sorted(found.scores[place].examples.items())
            if verdict is not Verdict.SOUND
            for example in these
        ]
        for place in places
    }
    keys = {
        key
        for these in listed.values()
        for example in these
        for key in (example.emission_key, example.anchor_key)
    }
    shown = _shown(store, sorted(keys))
    return {
        place: tuple(_told(example, markers.of(place, example), shown, names) for example in these)
        for place, these in listed.items()
    }


def _told(example: Example, marker: str, shown: dict[int, _Shown], names: Names) -> ReplayExample:
    one, anchor = shown[example.emission_key], shown[example.anchor_key]
    claim = _CLAIM.search(marker)
    subject = claim[1].capitalize() if claim and claim[1] else "The earlier result"
    is_numbered = "--anonymize" in names.options
    return ReplayExample(
        verdict=example.verdict,
        place=example.place,
        tool=one.tool,
        target=NO_TARGET if one.target is None else shared_target(one.tool, one.target, names),
        bytes=example.bytes,
        told=one.context,
        claim=claim[0] if claim else marker[:_CLAIM_CHARS],
        truth=_truth(example, subject, one, anchor),
        id=None if is_numbered else one.call_id or str(example.emission_key),
    )


def _truth(example: Example, subject: str, one: _Shown, anchor: _Shown) -> str:
    if example.verdict is Verdict.HIDDEN:
        if one.is_error:
            return "The call had failed, which the marker does not say."
        if one.read_only == "no":
            return "The call has an effect, which the marker does not say."
        return "Nobody says that such calls only read, and the marker hides what they do."
    if example.verdict is Verdict.FALSE:
        if one.sha64 != anchor.sha64:
            return f"{subject} is another text."
        return "The earlier call had other arguments."
    if example.place is Place.IN_SIGHT:
        return f"{subject} is a marker itself, and the text is not visible."
    if example.place is Place.GONE:
        return f"{subject} was no longer visible."
    return f"{subject} was shown to {anchor.context}."


def _shown(store: Store, keys: list[int]) -> dict[int, _Shown]:
    rows = store.query(
        """select emission_key, call_id, tool, target, read_only, is_error, sha64, context_key, session_id
        from emission where emission_key in (select unnest(?::bigint[]))""",
        [keys],
    )
    contexts = _contexts(store, sorted({row[-1] for row in rows}))
    return {
        key: _Shown(call_id, tool, target, read_only, is_error, sha64, contexts[context])
        for key, call_id, tool, target, read_only, is_error, sha64, context, _ in rows
    }


def _contexts(store: Store, sessions: list[str]) -> dict[int, str]:
    """Contexts in words: subagents get letters in order of their beginning, each session from `a` on."""
    rows: list[tuple[Any, ...]] = store.query(
        """select context_key, session_id, native_id, kind from context
        where session_id in (select unnest(?::varchar[]))
        order by session_id, started_at nulls last, native_id, context_key""",
        [sessions],
    )
    agents: dict[str, dict[str, str]] = {}
    found = {}
    for key, session, native, kind in rows:
        if kind != "agent":
            found[key] = "the main thread" if kind == "main" else "a side request"
            continue
        # read from two folders, an agent is one
        known = agents.setdefault(session, {})
        number = len(known)
        letter = _LETTERS[number] if number < len(_LETTERS) else str(number + 1)
        found[key] = known.setdefault(native, f"subagent {letter}")
    return found
