"""Replays the history under every shipped policy for the Report, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dedupstats.report import policy_words as words
from dedupstats.report.blocks import pct, plural
from dedupstats.report.build_changes import changes, ways
from dedupstats.report.build_examples import Markers, examples
from dedupstats.report.model_replay import (
    AnchorPlace,
    ElidedTool,
    LadderStep,
    PolicyReplay,
    Replay,
    Sums,
)
from dedupstats.report.replay_sums import cap
from dedupstats.report.share import share_of
from dedupstats.report.text import count
from dedupstats.simulate.run import simulate
from dedupstats.simulate.score import NOTHING, Beside, total
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.analytics.window import Window
    from dedupstats.report.model import Rtk
    from dedupstats.report.model_replay import ReplayExample
    from dedupstats.report.names import Names
    from dedupstats.report.share import Share
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.score import Score, Tally
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_WHAT_IFS: Final = {
    "docker-agent": ("ledger=session",),
    "rtk": ("ledger=context", "tools=all"),
}
"""other ledgers and reaches than the host's own, by engine: they decide more than any threshold"""
_REFUSED: Final = "Nothing was replayed: engines decide on outputs, of sessions; RTK's history holds neither."
_VERDICTS: Final = (Verdict.SOUND, Verdict.DANGLING, Verdict.FALSE, Verdict.HIDDEN)


def replay(store: Store, window: Window, names: Names, rtk: Rtk | None, scope: str) -> Replay | None:
    """What engines would have decided; figures count what is in the window, the whole history is replayed.

    Args:
        store: An open store.
        window: What is counted.
        names: How names are shown.
        rtk: What RTK's own rows tell; alone, they are refused.
        scope: The report's scope in words; empty: everything.

    Returns:
        The replays; None: there is nothing to replay.
    """
    counted, parameters = window.counted()
    where, values = window.where()
    if not store.query(f"select 1 from emission where {where} and not is_copy limit 1", values):
        nothing = Sums(0, 0, 0, 0, 0)
        return Replay(None, _REFUSED, "session", nothing, 0, (), ()) if rtk else None
    shipped = variants()
    headlines = _headlines(shipped)
    run = [variant if variant in headlines else _cheap(variant) for variant in shipped]
    what_ifs = [what_if for variant in headlines for what_if in _what_ifs(variant)]
    run += what_ifs
    shown = len(run)
    found = ways(store, run, len(shipped))
    markers = Markers()
    simulation = simulate(store, run, counted=counted, parameters=parameters, take=markers.take)
    told = examples(store, simulation, range(shown), markers, names)
    policies = tuple(
        _policy(
            simulation,
            place,
            told[place],
            is_headline=run[place] in headlines,
            is_what_if=run[place] in what_ifs,
        )
        for place in range(shown)
    )
    return Replay(
        headline=_headline(policies, simulation, scope),
        refused=None,
        scope=simulation.scope,
        results=_sums(simulation.results),
        sessions=simulation.sessions,
        policies=policies,
        changes=tuple(changes(found, run, simulation.scores)),
    )


def _headlines(shipped: list[Variant]) -> list[Variant]:
    """The newest revision of each engine, as its host runs it."""
    return [variant for variant in shipped if variant.is_headline and _is_newest(variant)]


def _is_newest(variant: Variant) -> bool:
    """Whether it is the newest revision of an engine; a bound has none."""
    revisions = variant.spec.definition.revisions
    return bool(revisions) and variant.spec.revision == revisions[-1]


def _cheap(variant: Variant) -> Variant:
    """Older revisions and bounds, without the question what unknown tools would add."""
    return variant if _is_newest(variant) else replace(variant, is_probe=True)


def _what_ifs(variant: Variant) -> Iterator[Variant]:
    for setting in _WHAT_IFS.get(variant.spec.definition.name, ()):
        yield replace(variant, spec=variant.spec.set([setting]), is_headline=False, is_probe=True)


def _headline(policies: tuple[PolicyReplay, ...], found: Simulation, scope: str) -> str | None:
    """The sentence of a pull request: of the first engine."""
    first = next((policy for policy in policies if policy.is_headline), None)
    if first is None:
        return None
    history = f"{plural(found.sessions, 'session')} of agent history" + (f" ({scope})" if scope else "")
    saved = f"{count(first.saved.part)} of {count(first.saved.whole)}"
    return (
        f"{words.engine(first.policy, first.revision)} on {history}: {pct(first.saved)} of tool-result "
        f"tokens saved ({saved})"
    )


def _policy(
    found: Simulation,
    place: int,
    told: tuple[ReplayExample, ...],
    *,
    is_headline: bool,
    is_what_if: bool,
) -> PolicyReplay:
    variant, score = found.variants[place], found.scores[place]
    spec = variant.spec
    return PolicyReplay(
        label=variant.label,
        words=words.described(variant, is_what_if=is_what_if),
        policy=spec.definition.name,
        revision=spec.revision,
        preset=variant.preset,
        kind="what-if" if is_what_if else "engine" if spec.revision else "reference",
        is_headline=is_headline,
        settings={
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in sorted(spec.settings.items())
        },
        asked=_sums(score.asked),
        reasons=dict(sorted(score.reasons.items())),
        elided=_sums(score.elided),
        sound=_sums(score.sound),
        untrue=_sums(score.untrue),
        saved=_net(score.sound, found),
        claimed=_net(score.elided, found),
        verdicts={name: _sums(score.verdicts.get(name, NOTHING)) for name in _VERDICTS},
        places=tuple(_place(score, name) for name in Place),
        beside={name: _sums(score.beside.get(name, NOTHING)) for name in Beside},
        mixed=_sums(total(score.mixed.values())),
        if_unknown_reads=None if variant.is_probe else _sums(score.if_unknown_reads),
        key_lost=_sums(score.key_lost),
        largest_ledger=score.largest,
        cap=cap(variant),
        steps=tuple(_ladder(score)),
        tools=_tools(score),
        with_any=share_of(sum(Verdict.SOUND in group for group in score.sessions.values()), found.sessions),
        top_session=_top_session(score),
        examples=told,
    )


def _sums(tally: Tally) -> Sums:
    return Sums(*tally)


def _net(tally: Tally, found: Simulation) -> Share:
    return share_of(tally.net_tokens, found.results.tokens)


def _place(score: Score, name: Place) -> AnchorPlace:
    group = score.places.get(name, {})
    return AnchorPlace(name, _sums(total(group.values())), _sums(group.get(Verdict.SOUND, NOTHING)))


def _ladder(score: Score) -> Iterator[LadderStep]:
    before: Tally | None = None
    for step, left in score.steps.items():
        said = words.REMOVED[step] if before else words.UPPER_BOUND[step]
        removed = (before.results - left.results, before.tokens - left.tokens) if before else (0, 0)
        yield LadderStep(step.name.lower(), said, _sums(left), *removed)
        before = left
    net = score.sound
    if before and net.results > before.results:
        unruled = (before.results - net.results, before.tokens - net.tokens)
        yield LadderStep("unruled", words.UNRULED, _sums(net), *unruled)
    yield LadderStep("net", words.MARKERS, _sums(net), 0, net.marker_tokens)


def _tools(score: Score) -> tuple[ElidedTool, ...]:
    found = [
        ElidedTool(name, _sums(total(group.values())), _sums(group.get(Verdict.SOUND, NOTHING)))
        for name, group in score.tools.items()
    ]
    return tuple(sorted(found, key=lambda tool: (-tool.elided.tokens, tool.name)))


def _top_session(score: Score) -> Share:
    sizes = [group.get(Verdict.SOUND, NOTHING).bytes for group in score.sessions.values()]
    return share_of(max(sizes, default=0), score.sound.bytes)
