"""What the changes between revisions of an engine are worth: replays that differ in one thing each.

Where parameters allow it, the way from one revision to the next is gone in steps, each of which changes one
thing more; what no parameter tells apart is one step and says so. The steps of a way add up to the whole.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dedupstats.policies.base import NEVER
from dedupstats.report.model_replay import RevisionChange
from dedupstats.report.policy_words import FORGETS_AND_LONG_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupstats.simulate.score import Score
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_ANY_TOOLSET: Final = "categories of the history"
"""stands for all of them, which are known only when a store is open"""


class _Stop(NamedTuple):
    """A stop on the way to a revision."""

    words: str
    """what changed since the stop before"""
    settings: Mapping[str, Any]
    """in which the later revision is still set back"""
    is_isolated: bool = True


_WITHOUT_CAP: Final = {"max_sessions": NEVER}
_WITHOUT_LIMIT: Final = {"max_result_bytes": NEVER, **_WITHOUT_CAP}
_ANY: Final = {"categories": _ANY_TOOLSET, **_WITHOUT_LIMIT}
_WAYS: Final[dict[tuple[str, str], tuple[_Stop, ...]]] = {
    ("docker-agent", "v2"): (
        _Stop(FORGETS_AND_LONG_NAMES, {"min_bytes": 256, **_ANY}, False),
        _Stop("least size: the marker's, not 256 bytes", _ANY),
        _Stop("listed toolsets only", _WITHOUT_LIMIT),
        _Stop("results of 51,200 bytes or more shown", _WITHOUT_CAP),
        _Stop("at most 256 ledgers", {}),
    ),
    ("docker-agent", "v3"): (
        _Stop(
            "large only where the limiter acts",
            {"categories": ["filesystem", "git", "lsp", "memory", "rag"]},
        ),
        _Stop("toolset knowledge instead of rag", {}),
    ),
    ("rtk", "v2"): (
        _Stop("recency window of 100 outputs", {"compaction_handler": False}),
        _Stop("forgets at compactions", {}),
    ),
}
_WHOLE: Final = "all together"


class Way(NamedTuple):
    """The way from a revision to the next under one preset: its stops, by place among the run's variants."""

    earlier: str
    later: str
    preset: str
    start: int
    stops: tuple[tuple[_Stop, int], ...]


def ways(store: Store, variants: list[Variant], shipped: int) -> list[Way]:
    """The ways between the revisions of the first `shipped` variants; adds to the variants what they need."""
    toolsets = [found for (found,) in store.query("select distinct coalesce(category, '') from emission")]
    places = {(variant.spec.label, variant.settings): place for place, variant in enumerate(variants)}
    found = []
    for earlier, later in _neighbours(variants[:shipped]):
        name, revision = later.spec.definition.name, later.spec.revision
        stops = []
        for stop in _WAYS.get((name, revision), ()):
            settings = {
                key: toolsets if value == _ANY_TOOLSET else value for key, value in stop.settings.items()
            }
            probe = replace(later, spec=later.spec.using(settings), is_headline=False, is_probe=True)
            place = places.setdefault((probe.spec.label, probe.settings), len(variants))
            if place == len(variants):
                variants.append(probe)
            stops.append((stop, place))
        start, end = (places[variant.spec.label, variant.settings] for variant in (earlier, later))
        found.append(
            Way(
                earlier.spec.revision,
                revision,
                later.preset,
                start,
                (*stops, (_Stop(_WHOLE, {}, is_isolated=False), end)),
            )
        )
    return found


def _neighbours(variants: Sequence[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """Each revision with the next under the same preset."""
    rows: dict[tuple[str, str], list[Variant]] = {}
    for variant in variants:
        if variant.spec.revision:
            rows.setdefault((variant.spec.definition.name, variant.preset), []).append(variant)
    for row in rows.values():
        yield from pairwise(row)


def changes(
    found: Sequence[Way], variants: Sequence[Variant], scores: Sequence[Score]
) -> Iterator[RevisionChange]:
    """The changes of each way, the whole last."""
    for way in found:
        before = way.start
        for stop, place in way.stops:
            is_whole = stop.words == _WHOLE
            one, two = scores[way.start if is_whole else before], scores[place]
            yield RevisionChange(
                policy=variants[place].spec.definition.name,
                earlier=way.earlier,
                later=way.later,
                preset=way.preset,
                words=stop.words,
                is_whole=is_whole,
                is_isolated=stop.is_isolated,
                elided=two.elided.results - one.elided.results,
                sound=two.sound.results - one.sound.results,
                untrue=two.untrue.results - one.untrue.results,
                saved_tokens=two.sound.net_tokens - one.sound.net_tokens,
            )
            before = place
