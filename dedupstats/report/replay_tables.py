"""Replays as tables for people; what programs read is `replay_forms.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dedupstats.analytics.rates import share
from dedupstats.analytics.replays import in_words as why_refused
from dedupstats.report import text
from dedupstats.report.blocks import plural
from dedupstats.report.policy_words import PLACES, VERDICTS
from dedupstats.report.replay_risk import risk_tables
from dedupstats.report.replay_sums import cap, claimed, largest_first, most_first, short_sessions, untrue
from dedupstats.report.replay_units import NET, InUnit, unit_notes
from dedupstats.report.scope import filters, in_words, period
from dedupstats.report.tables import Column, Table
from dedupstats.simulate.score import NOTHING, Step
from dedupstats.simulate.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.analytics.replays import Replays
    from dedupstats.analytics.units import Unit
    from dedupstats.simulate.score import Group, Score
    from dedupstats.simulate.variants import Variant

By = Literal["policy", "reason", "tool", "session", "ladder", "risk"]

_ID_CHARS = 8
_UNKNOWN_NAMED = 3

_LOST = (
    "Lost by spelling: the session had the same bytes of a call that differs in its free-text description, "
    "blanks or spelling of a path only, which the policy takes for another call."
)
_STAGE = (
    "Stage: where on the way from the upper bound the result is shown; repeat elides. not_reached: the "
    "policy is not asked."
)


_MARKED = {Step.KNOWN, Step.SOUND}
"""steps of the ladder on which results are elided"""


def people_tables(found: Replays, by: By, unit: Unit = "tokens") -> list[Table]:
    """The tables of one view; `policy` is the overview, with the risk behind it where anything is untrue."""
    if by == "policy":
        return [*_overview(found, unit), *risk_tables(found)]
    if by == "risk":
        return [*risk_tables(found), _places_by_verdict(found, unit)]
    make = {"reason": _reasons, "tool": _tools, "session": _sessions, "ladder": _ladder}[by]
    return [make(found, unit)]


def notes(found: Replays, *units: Unit) -> list[str]:
    """What a reader must know beside the figures in some units, whatever the format."""
    simulation = found.simulation
    told = (
        list(unit_notes(found, units))
        if simulation.results.results
        else ["No tool result lies in this window."]
    )
    told.append(
        "True: the model can see a full copy of what the marker stands for. Only that is saved; net is less "
        "the markers. Saved means tokens, not time: the tools still run."
    )
    if simulation.scope == "history":
        told.append("Scope history: one process of each engine lived through all sessions, in order of time.")
    told += _about_rtk(found)
    whole = "" if found.window.is_everything else ", of the whole store"
    told += [f"Left out{whole}: {why_refused(source)}." for source in found.refused]
    told += found.unmet
    return told


def _about_rtk(found: Replays) -> Iterator[str]:
    engines = [(variant, score) for variant, score in found.rows if variant.spec.definition.name == "rtk"]
    if not engines:
        return
    reach = {variant.spec.settings["tools"] for variant, _ in engines}
    yield "rtk: recorded text stands for both what a command printed and what was shown of it."
    if "hook" in reach:
        asked = {
            score.asked.results for variant, score in engines if variant.spec.settings["tools"] == "hook"
        }
        yield (
            f"rtk is asked about shell commands that its hook (release 0.44.2) gives a session, "
            f"{plural(max(asked), 'result')}; --set rtk.tools=all asks it about every call."
        )
    for variant, score in engines:
        mixed = claimed(score.mixed)
        if mixed.results:
            yield (
                f"{variant.label}: {plural(mixed.results, 'elision')} of commands of which its hook would "
                f"see a part of the output only, {text.count(untrue(score.mixed).results)} untrue."
            )


# -- by policy -----------------------------------------------------------------------------------------------


def _overview(found: Replays, unit: Unit) -> list[Table]:
    figures = InUnit.of(found, unit)
    columns = (
        Column("policy"),
        Column("asked", "int"),
        Column("elided", "int"),
        Column("true", "int"),
        Column("untrue", "int"),
        Column("saved", "figure", NET[unit]),
    )
    rows = [
        (
            variant.label,
            score.asked.results,
            score.elided.results,
            score.sound.results,
            score.untrue.results,
            figures.of_whole(score.sound),
        )
        for variant, score in found.rows
    ]
    tables = [Table(_title(found), columns, rows, tuple(notes(found, unit)))]
    return [*tables, *_worth(found, unit), *_ledgers(found, unit)]


def _title(found: Replays) -> str:
    words = in_words(filters(found.window, found.zone, found.window.projects))
    return f"Replayed{f' ({words})' if words else ''}, {period(found.first, found.last, found.zone)}"


def _worth(found: Replays, unit: Unit) -> Iterator[Table]:
    figures = InUnit.of(found, unit)
    rows = [
        (
            variant.label,
            figures.shown(score.sound, "gross"),
            figures.shown(score.sound, "markers"),
            figures.of_whole(score.sound),
            figures.shown(score.elided),
            *(_bytes(found, score) if unit == "tokens" else ()),
        )
        for variant, score in found.rows
        if score.elided.results
    ]
    if not rows:
        return
    has_bound = any(score.elided.results and not score.elided.marker_bytes for _, score in found.rows)
    bounds = " Markers of bounds have no text." if has_bound else ""
    columns = (
        Column("policy"),
        Column("gross", "figure", f"gross\n{_SHORT[unit]}"),
        Column("markers", "figure"),
        Column("net", "figure"),
        Column("claimed", "figure", "net it\nclaims"),
    )
    in_bytes = (
        Column("bytes", "bytes", "gross\nbytes"),
        Column("marker_bytes", "bytes", "markers"),
        Column("net_bytes", "figure", "net"),
    )
    yield Table(
        "What true elisions save: gross, less the markers, net",
        (*columns, *in_bytes) if unit == "tokens" else columns,
        rows,
        (f"Net it claims: of all its elisions, untrue ones too.{bounds}",),
    )


_SHORT: dict[Unit, str] = {"tokens": "tokens", "sent": "tokens sent", "usd": "list price", "share": "share"}


def _bytes(found: Replays, score: Score) -> tuple[int, int, str]:
    sound, whole = score.sound, found.simulation.results
    net = f"{text.size(sound.net_bytes)} ({text.percent(share(sound.net_bytes, whole.bytes))})"
    return sound.bytes, sound.marker_bytes, net


def _ledgers(found: Replays, unit: Unit) -> Iterator[Table]:
    rows, figures = [], InUnit.of(found, unit)
    for variant, score in found.rows:
        largest, more = score.largest, score.if_unknown_reads
        if largest or more.results or score.key_lost.results:
            limit = cap(variant)
            of = f" of {text.count(limit)}" if limit is not None else ""
            rows.append(
                (
                    variant.label,
                    f"{text.count(largest)}{of}" if largest else "",
                    score.key_lost.results,
                    more.results,
                    figures.shown(more) if more.results else "0",
                )
            )
    if rows:
        yield Table(
            "Ledgers, keys, and what is not known of tools",
            (
                Column("policy"),
                Column("largest", "figure", "largest\nledger"),
                Column("key_lost", "int", "lost by\nspelling"),
                Column("more", "int", "more if unknown\ntools only read"),
                Column("more_net", "figure", NET[unit].removesuffix(" saved").removesuffix("\nsaved")),
            ),
            rows,
            (_LOST, _unknown_tools(found.unknown)),
        )


def _unknown_tools(unknown: dict[str, int]) -> str:
    """Of which tools nobody says whether they only read, and what can be done about it."""
    if not unknown:
        return "Of every tool it is known whether it only reads."
    named = [f"{tool} ({text.count(number)})" for tool, number in list(unknown.items())[:_UNKNOWN_NAMED]]
    others = len(unknown) - len(named)
    return (
        f"Of {text.count(sum(unknown.values()))} results nobody says whether the tool only reads: "
        f"{', '.join(named)}{f' and {text.count(others)} other tools' if others else ''}. What you know goes "
        "into --tools FILE; --shell-reads trusts commands that are seen to only read."
    )


# -- by reason, tool, session, step --------------------------------------------------------------------------


def _reasons(found: Replays, unit: Unit) -> Table:
    rows = []
    for variant, score in found.rows:
        stages = variant.spec.definition.reasons
        for reason, number in most_first(score.reasons):
            stage = stages.get(reason)
            rows.append((variant.label, reason, stage.value if stage else "", number))
    return Table(
        f"{_title(found)}: what decided",
        (Column("policy"), Column("reason"), Column("stage"), Column("results", "int")),
        rows,
        (_STAGE, *notes(found, unit)),
    )


def _tools(found: Replays, unit: Unit) -> Table:
    return _table(
        found,
        unit,
        f"{_title(found)}: elisions by tool",
        (Column("tool"),),
        [
            ((tool,), variant, group)
            for variant, score in found.rows
            for tool, group in largest_first(score.tools)
        ],
    )


def _sessions(found: Replays, unit: Unit) -> Table:
    names = short_sessions(found)
    return _table(
        found,
        unit,
        f"{_title(found)}: elisions by session",
        (Column("session"), Column("project")),
        [
            ((names[key][0][:_ID_CHARS], names[key][1]), variant, group)
            for variant, score in found.rows
            for key, group in largest_first(score.sessions)
        ],
    )


def _places_by_verdict(found: Replays, unit: Unit) -> Table:
    return _table(
        found,
        unit,
        "Elisions by verdict and place of the earlier copy",
        (Column("verdict"), Column("place", "text", "earlier copy")),
        [
            ((VERDICTS[verdict], PLACES[place]), variant, {verdict: group[verdict]})
            for variant, score in found.rows
            for place, group in sorted(score.places.items())
            for verdict in Verdict
            if verdict in group
        ],
    )


def _table(
    found: Replays,
    unit: Unit,
    title: str,
    columns: tuple[Column, ...],
    groups: Iterable[tuple[tuple[str | None, ...], Variant, Group]],
) -> Table:
    """Elisions of some groups, each with its verdicts."""
    figures = InUnit.of(found, unit)
    return Table(
        title,
        (
            Column("policy"),
            *columns,
            Column("elided", "int"),
            Column("true", "int"),
            Column("untrue", "int"),
            Column("net", "figure", NET[unit]),
        ),
        [
            (
                variant.label,
                *names,
                claimed(group).results,
                group.get(Verdict.SOUND, NOTHING).results,
                untrue(group).results,
                figures.shown(group.get(Verdict.SOUND, NOTHING)),
            )
            for names, variant, group in groups
        ],
        tuple(notes(found, unit)),
    )


def _unruled(found: Replays) -> Iterator[str]:
    """True elisions that stand in no ladder: of what repeat rules leave out, such as the host's own stubs."""
    for variant, score in found.rows:
        beside = score.sound.results - score.steps[Step.SOUND].results
        if beside:
            yield f"{variant.label}: {beside:,} more are true though by no repeat rule, and in no step."


def _ladder(found: Replays, unit: Unit) -> Table:
    figures = InUnit.of(found, unit)
    return Table(
        f"{_title(found)}: from the upper bound to what is saved",
        (
            Column("policy"),
            Column("step"),
            Column("results", "int"),
            Column("gross", "figure", _SHORT[unit]),
            Column("markers", "figure"),
            Column("net", "figure"),
        ),
        [
            (
                variant.label,
                step.value,
                tally.results,
                figures.of_whole(tally, "gross"),
                # what is not elided yet has no marker, and nothing is saved by it
                figures.shown(tally, "markers") if step in _MARKED else "",
                figures.of_whole(tally) if step in _MARKED else "",
            )
            for variant, score in found.rows
            for step, tally in score.steps.items()
        ],
        (
            "Each step is a part of the one above it; the first is an upper bound.",
            *_unruled(found),
            *notes(found, unit),
        ),
    )
