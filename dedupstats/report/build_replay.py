"""Replays the history under every shipped policy for the Report, in one pass."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dedupstats.analytics.units import input_side
from dedupstats.history.pricing import basis, is_priced, price_list
from dedupstats.report import policy_words as words
from dedupstats.report.blocks import pct, plural
from dedupstats.report.build_changes import changes, ways
from dedupstats.report.build_economics import known
from dedupstats.report.build_examples import Markers, examples
from dedupstats.report.model_replay import (
    Against,
    AnchorPlace,
    ElidedTool,
    LadderStep,
    PolicyReplay,
    Replay,
    Sums,
)
from dedupstats.report.replay_sums import cap
from dedupstats.report.replay_units import InUnit
from dedupstats.report.share import share_of
from dedupstats.report.text import count
from dedupstats.simulate.run import simulate
from dedupstats.simulate.score import NOTHING, Beside, total
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dedupstats.analytics.units import InputSide, TokenRule, Unit
    from dedupstats.analytics.window import Window
    from dedupstats.report.model import Rtk
    from dedupstats.report.model_economics import Known
    from dedupstats.report.model_replay import ReplayExample
    from dedupstats.report.names import Names
    from dedupstats.report.share import Share
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.score import Score, Tally
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

    _Weigh = Callable[[Tally], Sums]

_WHAT_IFS: Final = {
    "docker-agent": ("ledger=session",),
    "rtk": ("ledger=context", "tools=all"),
}
"""other ledgers and reaches than the host's own, by engine: they decide more than any threshold"""
_REFUSED: Final = "Nothing was replayed: engines decide on outputs, of sessions; RTK's history holds neither."
_VERDICTS: Final = (Verdict.SOUND, Verdict.DANGLING, Verdict.FALSE, Verdict.HIDDEN)


def replay(
    store: Store,
    window: Window,
    names: Names,
    rtk: Rtk | None,
    scope: str,
    *,
    tokens: TokenRule = "ladder",
) -> Replay | None:
    """What engines would have decided; figures count what is in the window, the whole history is replayed.

    Args:
        store: An open store.
        window: What is counted.
        names: How names are shown.
        rtk: What RTK's own rows tell; alone, they are refused.
        scope: The report's scope in words; empty: everything.
        tokens: How tokens are counted; by `bytes4` nothing is known of requests and dollars.

    Returns:
        The replays; None: there is nothing to replay.
    """
    counted, parameters = window.counted()
    where, values = window.where()
    if not store.query(f"select 1 from emission where {where} and not is_copy limit 1", values):
        if rtk is None:
            return None
        return Replay(None, _REFUSED, "session", tokens, known({}), None, Sums(), 0, (), ())
    shipped = variants()
    headlines = _headlines(shipped)
    run = [variant if variant in headlines else _cheap(variant) for variant in shipped]
    what_ifs = [what_if for variant in headlines for what_if in _what_ifs(variant)]
    run += what_ifs
    shown = len(run)
    found = ways(store, run, len(shipped))
    markers = Markers()
    simulation = simulate(
        store, run, counted=counted, parameters=parameters, tokens=tokens, take=markers.take
    )
    # dollars of another price list than today's are none
    is_priced_today = tokens == "ladder" and is_priced(store, price_list())
    side = input_side(store, window) if is_priced_today else None
    told = examples(store, simulation, range(shown), markers, names)
    policies = tuple(
        _policy(
            simulation,
            place,
            told[place],
            side,
            is_headline=run[place] in headlines,
            is_what_if=run[place] in what_ifs,
        )
        for place in range(shown)
    )
    return Replay(
        headline=_headline(policies, simulation, scope),
        refused=None,
        scope=simulation.scope,
        tokens=tokens,
        known=_known(simulation.known_by),
        basis=None if side is None else basis(store),
        results=_sums(simulation.results, side),
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
    side: InputSide | None,
    *,
    is_headline: bool,
    is_what_if: bool,
) -> PolicyReplay:
    variant, score = found.variants[place], found.scores[place]
    spec = variant.spec
    sums = partial(_sums, side=side)
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
        asked=sums(score.asked),
        reasons=dict(sorted(score.reasons.items())),
        elided=sums(score.elided),
        sound=sums(score.sound),
        untrue=sums(score.untrue),
        saved=_net(score.sound, found),
        claimed=_net(score.elided, found),
        against=tuple(_against(score.sound, found.results, side)),
        known=_known(score.known_by),
        verdicts={name: sums(score.verdicts.get(name, NOTHING)) for name in _VERDICTS},
        places=tuple(_place(score, name, sums) for name in Place),
        beside={name: sums(score.beside.get(name, NOTHING)) for name in Beside},
        mixed=sums(total(score.mixed.values())),
        if_unknown_reads=None if variant.is_probe else sums(score.if_unknown_reads),
        key_lost=sums(score.key_lost),
        largest_ledger=score.largest,
        cap=cap(variant),
        steps=tuple(_ladder(score, sums)),
        tools=_tools(score, sums),
        with_any=share_of(sum(Verdict.SOUND in group for group in score.sessions.values()), found.sessions),
        top_session=_top_session(score),
        examples=told,
    )


def _known(by_level: Mapping[int, int]) -> Known:
    return known({level: float(tokens) for level, tokens in by_level.items()})


def _sums(tally: Tally, side: InputSide | None) -> Sums:
    is_costed = tally.is_costed
    is_paid = side is not None and side.paid is not None
    return Sums(
        results=tally.results,
        bytes=tally.bytes,
        tokens=tally.tokens,
        sent=tally.sent if is_costed else None,
        usd=tally.usd if is_paid else None,
        marker_bytes=tally.marker_bytes,
        marker_tokens=tally.marker_tokens,
        marker_sent=tally.marker_sent if is_costed else None,
        marker_usd=tally.marker_usd if is_paid else None,
        unpriced_sent=tally.unpriced_sent,
        modelled_sent=tally.modelled_sent,
        uncosted=tally.uncosted,
    )


_AGAINST: Final[dict[Unit, str]] = {
    "tokens": "first-pass tokens of all results",
    "sent": "tokens sent of all results",
    "usd": "list price of carrying all results",
    "share": "input-side cost of all requests",
}
"""what each unit is measured against"""


def _against(sound: Tally, whole: Tally, side: InputSide | None) -> Iterator[Against]:
    paid = None if side is None else side.paid
    for unit, said in _AGAINST.items():
        share = InUnit(unit, whole, side).share(sound)
        shown = InUnit("usd" if unit == "share" else unit, whole, side)
        of = paid if unit == "share" else shown.value(whole, "gross")
        yield Against(unit, said, _float(shown.value(sound)), _float(of), share)


def _float(number: float | None) -> float | None:
    """As a JSON document gives it back."""
    return None if number is None else float(number)


def _net(tally: Tally, found: Simulation) -> Share:
    return share_of(tally.net_tokens, found.results.tokens)


def _place(score: Score, name: Place, weigh: _Weigh) -> AnchorPlace:
    group = score.places.get(name, {})
    return AnchorPlace(name, weigh(total(group.values())), weigh(group.get(Verdict.SOUND, NOTHING)))


def _ladder(score: Score, weigh: _Weigh) -> Iterator[LadderStep]:
    before: Tally | None = None
    for step, left in score.steps.items():
        said = words.REMOVED[step] if before else words.UPPER_BOUND[step]
        removed = (before.results - left.results, before.tokens - left.tokens) if before else (0, 0)
        yield LadderStep(step.name.lower(), said, weigh(left), *removed)
        before = left
    net = score.sound
    if before and net.results > before.results:
        unruled = (before.results - net.results, before.tokens - net.tokens)
        yield LadderStep("unruled", words.UNRULED, weigh(net), *unruled)
    yield LadderStep("net", words.MARKERS, weigh(net), 0, net.marker_tokens)


def _tools(score: Score, weigh: _Weigh) -> tuple[ElidedTool, ...]:
    found = [
        ElidedTool(name, weigh(total(group.values())), weigh(group.get(Verdict.SOUND, NOTHING)))
        for name, group in score.tools.items()
    ]
    return tuple(sorted(found, key=lambda tool: (-tool.elided.tokens, tool.name)))


def _top_session(score: Score) -> Share:
    sizes = [group.get(Verdict.SOUND, NOTHING).bytes for group in score.sessions.values()]
    return share_of(max(sizes, default=0), score.sound.bytes)
