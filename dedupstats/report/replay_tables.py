"""Replays as tables for people; what programs read is `replay_forms.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dedupstats.analytics.rates import TOKEN_RULE, share
from dedupstats.analytics.replays import in_words as why_refused
from dedupstats.report import text
from dedupstats.report.policy_words import PLACES, VERDICTS
from dedupstats.report.replay_risk import risk_tables
from dedupstats.report.replay_sums import cap, claimed, largest_first, most_first, short_sessions, untrue
from dedupstats.report.scope import filters, in_words, period
from dedupstats.report.tables import Column, Table
from dedupstats.simulate.score import NOTHING, Step
from dedupstats.simulate.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.analytics.replays import Replays
    from dedupstats.simulate.score import Group
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


def people_tables(found: Replays, by: By) -> list[Table]:
    """The tables of one view; `policy` is the overview, with the risk behind it where anything is untrue."""
    if by == "policy":
        return [*_overview(found), *risk_tables(found)]
    if by == "risk":
        return [*risk_tables(found), _places_by_verdict(found)]
    make = {"reason": _reasons, "tool": _tools, "session": _sessions, "ladder": _ladder}[by]
    return [make(found)]


def notes(found: Replays) -> list[str]:
    """What a reader must know beside the figures, whatever the format."""
    simulation = found.simulation
    whole = simulation.results
    counted = (
        f"100 % are all {text.count(whole.results)} tool results of {text.count(simulation.sessions)} "
        f"sessions, copies left out: {text.count(whole.tokens)} tokens ({TOKEN_RULE}), "
        f"{text.size(whole.bytes)}."
        if whole.results
        else "No tool result lies in this window."
    )
    truth = (
        "True: the model can see a full copy of what the marker stands for. Only that is saved; net is less "
        "the markers. Saved means tokens, not time: the tools still run."
    )
    told = [counted, truth]
    if simulation.scope == "history":
        told.append("Scope history: one process of each engine lived through all sessions, in order of time.")
    told += _about_rtk(found)
    told += [f"Left out: {why_refused(source)}." for source in found.refused]
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
            f"{text.count(max(asked))} results; --set rtk.tools=all asks it about every call."
        )
    for variant, score in engines:
        mixed = claimed(score.mixed)
        if mixed.results:
            yield (
                f"{variant.label}: {text.count(mixed.results)} of its elisions are of commands of which its "
                f"hook would see a part of the output only, {text.count(untrue(score.mixed).results)} untrue."
            )


# -- by policy -----------------------------------------------------------------------------------------------


def _overview(found: Replays) -> list[Table]:
    whole = found.simulation.results
    columns = (
        Column("policy"),
        Column("asked", "int"),
        Column("elided", "int"),
        Column("true", "int"),
        Column("untrue", "int"),
        Column("saved", "figure", "net tokens\nsaved"),
    )
    rows = [
        (
            variant.label,
            score.asked.results,
            score.elided.results,
            score.sound.results,
            score.untrue.results,
            _with_share(score.sound.net_tokens, whole.tokens),
        )
        for variant, score in found.rows
    ]
    tables = [Table(_title(found), columns, rows, tuple(notes(found)))]
    return [*tables, *_worth(found), *_ledgers(found)]


def _title(found: Replays) -> str:
    words = in_words(filters(found.window, found.zone, found.window.projects))
    return f"Replayed{f' ({words})' if words else ''}, {period(found.first, found.last, found.zone)}"


def _with_share(part: int, whole: int) -> str:
    return f"{text.count(part)} ({text.percent(share(part, whole))})" if part else "0"


def _worth(found: Replays) -> Iterator[Table]:
    whole = found.simulation.results
    rows = []
    for variant, score in found.rows:
        sound = score.sound
        if score.elided.results:
            rows.append(
                (
                    variant.label,
                    sound.tokens,
                    sound.marker_tokens,
                    _with_share(sound.net_tokens, whole.tokens),
                    score.elided.net_tokens,
                    sound.bytes,
                    sound.marker_bytes,
                    f"{text.size(sound.net_bytes)} ({text.percent(share(sound.net_bytes, whole.bytes))})",
                )
            )
    if rows:
        yield Table(
            "What true elisions save: gross, less the markers, net",
            (
                Column("policy"),
                Column("tokens", "int", "gross\ntokens"),
                Column("marker_tokens", "int", "markers"),
                Column("net_tokens", "figure", "net"),
                Column("claimed_tokens", "int", "net it\nclaims"),
                Column("bytes", "bytes", "gross\nbytes"),
                Column("marker_bytes", "bytes", "markers"),
                Column("net_bytes", "figure", "net"),
            ),
            rows,
            ("Net it claims: of all its elisions, untrue ones too. Bounds have no markers.",),
        )


def _ledgers(found: Replays) -> Iterator[Table]:
    rows = []
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
                    more.net_tokens,
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
                Column("more_tokens", "int", "net\ntokens"),
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


def _reasons(found: Replays) -> Table:
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
        (_STAGE, *notes(found)),
    )


def _tools(found: Replays) -> Table:
    return _table(
        found,
        f"{_title(found)}: elisions by tool",
        (Column("tool"),),
        [
            ((tool,), variant, group)
            for variant, score in found.rows
            for tool, group in largest_first(score.tools)
        ],
    )


def _sessions(found: Replays) -> Table:
    names = short_sessions(found)
    return _table(
        found,
        f"{_title(found)}: elisions by session",
        (Column("session"), Column("project")),
        [
            ((names[key][0][:_ID_CHARS], names[key][1]), variant, group)
            for variant, score in found.rows
            for key, group in largest_first(score.sessions)
        ],
    )


def _places_by_verdict(found: Replays) -> Table:
    return _table(
        found,
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
    title: str,
    columns: tuple[Column, ...],
    groups: Iterable[tuple[tuple[str | None, ...], Variant, Group]],
) -> Table:
    """Elisions of some groups, each with its verdicts."""
    return Table(
        title,
        (
            Column("policy"),
            *columns,
            Column("elided", "int"),
            Column("true", "int"),
            Column("untrue", "int"),
            Column("net_tokens", "int", "net tokens\nsaved"),
        ),
        [
            (
                variant.label,
                *names,
                claimed(group).results,
                group.get(Verdict.SOUND, NOTHING).results,
                untrue(group).results,
                group.get(Verdict.SOUND, NOTHING).net_tokens,
            )
            for names, variant, group in groups
        ],
        tuple(notes(found)),
    )


def _unruled(found: Replays) -> Iterator[str]:
    """True elisions that stand in no ladder: of what repeat rules leave out, such as the host's own stubs."""
    for variant, score in found.rows:
        beside = score.sound.results - score.steps[Step.SOUND].results
        if beside:
            yield f"{variant.label}: {beside:,} more are true though by no repeat rule, and in no step."


def _ladder(found: Replays) -> Table:
    whole = found.simulation.results.tokens
    return Table(
        f"{_title(found)}: from the upper bound to what is saved",
        (
            Column("policy"),
            Column("step"),
            Column("results", "int"),
            Column("tokens", "figure"),
            Column("marker_tokens", "int", "markers"),
            Column("net_tokens", "figure", "net"),
        ),
        [
            (
                variant.label,
                step.value,
                tally.results,
                _with_share(tally.tokens, whole),
                tally.marker_tokens,
                _with_share(tally.net_tokens, whole),
            )
            for variant, score in found.rows
            for step, tally in score.steps.items()
        ],
        (
            "Each step is a part of the one above it; the first is an upper bound.",
            *_unruled(found),
            *notes(found),
        ),
    )
