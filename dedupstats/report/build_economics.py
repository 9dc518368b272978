"""Tokens and money for the Report: asks the analytics of spend, top, observed and calibration, adds words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dedupstats.analytics.calibration import calibration
from dedupstats.analytics.observed import observed
from dedupstats.analytics.rates import NO_TARGET
from dedupstats.analytics.spend import Slice, spend
from dedupstats.analytics.top import top
from dedupstats.economics.prompt import Kind
from dedupstats.economics.tokens import BANDS, Level
from dedupstats.history.pricing import basis, is_priced, price_list
from dedupstats.report import money, observed_tables, spend_tables
from dedupstats.report.blocks import plural
from dedupstats.report.build_compactions import compacted
from dedupstats.report.model_economics import (
    Carried,
    Dearest,
    DearResult,
    Economics,
    Known,
    LevelMix,
    ObservedMarkers,
    Part,
    Spending,
)
from dedupstats.report.targets import shared_target
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from dedupstats.analytics.observed import Markers, Observed
    from dedupstats.analytics.spend import Spend
    from dedupstats.analytics.top import Dear, Top
    from dedupstats.analytics.window import Window
    from dedupstats.report.names import Names
    from dedupstats.store import Store

DEAREST_SHOWN = 10
TOOLS_SHOWN = 8
_BLOCKS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    (spend_tables.WORDS[Kind.RESULT], (Kind.RESULT,)),
    (spend_tables.WORDS[Kind.FLOOR], (Kind.FLOOR,)),
    (spend_tables.WORDS[Kind.OUTPUT], (Kind.OUTPUT,)),
    ("your text, attachments, summaries", (Kind.USER, Kind.ATTACHMENT, Kind.SUMMARY)),
    ("program's text, summary calls", (Kind.META, Kind.SIDE)),
)
"""lines of the first screen, and what each holds"""
_STALE = (
    "No figures: prices or rules have changed since they were made, and the store cannot be written. "
    "Type `dedupstats import` where it can."
)
_UNPRICED = "No figures yet: type `dedupstats import`, which makes them."
_NO_USAGE = "No usage in these logs: what requests sent is not known."


def economics(store: Store, window: Window, names: Names, zone: str) -> Economics | None:
    """Tokens and money; None: there is no request of a model in scope."""
    asked = replace(window, tools=())
    where, values = asked.where()
    if not store.query(f"select 1 from request where {where} limit 1", values):
        return None
    if not is_priced(store, price_list()):
        return Economics(_STALE if basis(store) else _UNPRICED)
    found = spend(store, window=window, tz=zone)
    total = found.total
    if total.modelled == total.requests:
        return Economics(_NO_USAGE)
    notes = spend_tables.notes(found)
    if window.tools:
        notes.insert(0, "Of all requests in scope, whatever tools they had called.")
    return Economics(
        refused=None,
        basis=found.basis,
        spend=_spending(found, window.tools, notes),
        dearest=_dearest(top(store, limit=DEAREST_SHOWN, window=window), names),
        observed=_observed(observed(store, window=window)),
        compactions=compacted(store, window, names),
        calibration=calibration(store, window=window),
    )


# -- spend ---------------------------------------------------------------------------------------------------


def _spending(found: Spend, tools: Container[str], notes: Sequence[str]) -> Spending:
    total, carrying, whole = found.total, found.carrying, found.total.input

    def part(name: str, words: str, of: Slice) -> Part:
        share = spend_tables.part_share(of, whole)
        return Part(name, words, of.tokens, spend_tables.paid(of), share, of.again_usd)

    kinds = [
        part(kind.value, spend_tables.kind_words(kind, total.floorless), total.by_kind[kind]) for kind in Kind
    ]
    blocks = [
        part(kinds[0].value, words, sum((total.by_kind[kind] for kind in kinds), Slice()))
        for words, kinds in _BLOCKS
    ]
    by_tool = _largest(
        part(name, name, of) for name, of in total.by_tool.items() if not tools or name in tools
    )
    rest = [total.by_tool[one.name] for one in by_tool[TOOLS_SHOWN:]]
    return Spending(
        requests=total.requests,
        unpriced=total.unpriced,
        modelled=total.modelled,
        floorless=total.floorless,
        expired=total.expired,
        share_of="list price" if whole.priced_tokens else "tokens sent",
        input=part("input", "input", whole),
        parts=_largest(kinds),
        blocks=_largest(blocks),
        tools=by_tool,
        shown=TOOLS_SHOWN,
        other_tools=part("", plural(len(rest), "other tool"), sum(rest, Slice())) if rest else None,
        again_share=whole.again_usd / whole.usd if whole.usd else None,
        output_tokens=total.output_tokens,
        estimated_output_tokens=total.estimated_output_tokens,
        output_usd=spend_tables.paid_answers(total),
        floor_tokens=found.floor,
        results=Carried(
            tokens=carrying.tokens,
            carried_tokens=carrying.carried_tokens,
            requests=carrying.carried_tokens / carrying.tokens if carrying.tokens else None,
            median_requests=carrying.median_requests,
            known=known(carrying.by_level),
        ),
        notes=tuple(notes),
    )


def _largest(parts: Iterable[Part]) -> tuple[Part, ...]:
    held = (part for part in parts if part.tokens)
    return tuple(sorted(held, key=lambda part: (-(part.share or 0.0), -part.tokens, part.name)))


def known(by_level: Mapping[int, float]) -> Known:
    """How some tokens are known, by level."""
    whole = sum(by_level.values())
    levels = tuple(
        LevelMix(
            level.value,
            BANDS[level].words,
            by_level[level],
            by_level[level] / whole,
            BANDS[level].median,
            BANDS[level].most,
        )
        for level in Level
        if by_level.get(level)
    )
    return Known(money.known_by(by_level), money.known_briefly(by_level), levels)


# -- the dearest results and markers -------------------------------------------------------------------------


def _dearest(found: Top, names: Names) -> Dearest:
    return Dearest(tuple(_dear(row, names) for row in found.rows), tuple(spend_tables.top_notes(found)))


def _dear(row: Dear, names: Names) -> DearResult:
    return DearResult(
        tool=row.tool,
        target=NO_TARGET if row.target is None else shared_target(row.tool, row.target, names),
        project=names.project(row.project),
        session=names.session(row.session),
        bytes=row.bytes,
        tokens=row.tokens,
        level=row.level,
        requests=row.requests,
        carried_tokens=row.carried_tokens,
        usd=row.usd,
        share=row.share,
        superseded=row.superseded,
    )


def _observed(found: Observed) -> ObservedMarkers:
    return ObservedMarkers(
        _sentence(found.engines), found.engines, found.rtk, tuple(observed_tables.notes(found))
    )


def _sentence(engines: Sequence[Markers]) -> str | None:
    """Markers of all sources in one sentence; None: there are none."""
    markers = sum(one.markers for one in engines)
    if not markers:
        return None
    counts = {name: sum(getattr(one, name) for one in engines) for name in observed_tables.VERDICTS}
    told = ", ".join(
        f"{count(number)} {observed_tables.VERDICTS[name][0]}" for name, number in counts.items() if number
    )
    again = sum(one.after_marker.found for one in engines)
    of = sum(one.after_marker.of for one in engines)
    read = f"; read again after {count(again)} of {count(of)}" if of else ""
    return f"{plural(markers, 'marker')} in these logs: {told}{read}."
