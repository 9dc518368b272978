"""How true the markers of replayed policies are, as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report import text
from dedupstats.report.policy_words import BESIDE, PLACES, VERDICTS
from dedupstats.report.replay_sums import claimed
from dedupstats.report.tables import Column, Table
from dedupstats.simulate.score import NOTHING, Beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.analytics.replays import Replays
    from dedupstats.simulate.score import Example
    from dedupstats.simulate.variants import Variant

_COUNTERS = "The last four count true elisions. " + " ".join(
    f"{beside.value.replace('_', ' ').capitalize()}: {words}." for beside, words in BESIDE.items()
)
_ELSEWHERE = (
    "Gone: in the same context, but out of sight. Parent, sibling, child: in the context of another agent of "
    "the session, which this one does not see."
)


def risk_tables(found: Replays) -> Iterator[Table]:
    """Verdicts, counters, examples and places; nothing if everything is true."""
    rows = [(variant, score) for variant, score in found.rows if score.elided.results]
    if not any(score.untrue.results for _, score in rows):
        return
    verdicts = tuple(VERDICTS)
    yield Table(
        "Was the marker true?",
        (
            Column("policy"),
            *(Column(verdict.value, "int", _two_lines(word)) for verdict, word in VERDICTS.items()),
            *(Column(beside.value, "int", beside.value.replace("_", "\n")) for beside in Beside),
        ),
        [
            (
                variant.label,
                *(score.verdicts.get(verdict, NOTHING).results for verdict in verdicts),
                *(score.beside.get(beside, NOTHING).results for beside in Beside),
            )
            for variant, score in rows
        ],
        (_COUNTERS, *_examples(found)),
    )
    yield Table(
        "Where the earlier copy stood that the marker speaks of",
        (Column("policy"), *(Column(place.value, "int", _two_lines(word)) for place, word in PLACES.items())),
        [
            (
                variant.label,
                *(claimed(score.places.get(place, {})).results for place in PLACES),
            )
            for variant, score in rows
        ],
        (_ELSEWHERE,),
    )


def _two_lines(words: str) -> str:
    """A title broken at the blank that makes its longer half shortest."""
    places = [place for place, character in enumerate(words) if character == " "]
    if not places:
        return words
    best = min(places, key=lambda place: max(place, len(words) - place - 1))
    return f"{words[:best]}\n{words[best + 1 :]}"


def _examples(found: Replays) -> Iterator[str]:
    """The largest elision of each verdict, of an engine in its headline preset if one made any."""
    for verdict, words in VERDICTS.items():
        candidates: list[tuple[bool, bool, Example, Variant]] = [
            (bool(variant.spec.revision), variant.is_headline, example, variant)
            for variant, score in found.rows
            for example in score.examples.get(verdict, ())
        ]
        if not candidates:
            continue
        *_, example, variant = max(candidates, key=lambda one: one[:3])
        called = found.examples[example.emission_key]
        name = called.call_id or str(example.emission_key)
        what = f"{called.tool}, {text.size(example.bytes)}"
        yield (
            f"{words[0].upper()}{words[1:]}, e.g. {variant.label}: {what}, "
            f"earlier copy {PLACES[example.place]}: dedupstats explain {name}"
        )
