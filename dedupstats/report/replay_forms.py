"""Replays for programs: one flat table for each view, and the whole as a JSON document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dedupstats.analytics.rates import TOKEN_RULE, share
from dedupstats.analytics.replays import in_words
from dedupstats.report.replay_sums import cap, claimed, largest_first, most_first, short_sessions, untrue
from dedupstats.report.tables import Column, Table
from dedupstats.simulate.score import NOTHING, Beside
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dedupstats.analytics.replays import Replays
    from dedupstats.report.replay_tables import By
    from dedupstats.simulate.score import Group, Score, Tally
    from dedupstats.simulate.variants import Variant

_VARIANT: Final = (
    Column("variant"),
    Column("policy"),
    Column("preset"),
    Column("settings"),
    Column("is_headline", "bool"),
)
_SIZES: Final = (
    "results",
    "bytes",
    "tokens",
    "marker_bytes",
    "marker_tokens",
    "net_bytes",
    "net_tokens",
)
_ASKED: Final = ("results", "bytes", "tokens")
_GROUPED: Final[dict[By, tuple[str, ...]]] = {
    "tool": ("tool",),
    "session": ("session", "project"),
    "risk": ("anchor_place",),
}


def flat_table(found: Replays, by: By) -> Table:
    """Every figure of a view in a column of its own, exact."""
    if by == "policy":
        return _policies(found)
    columns: tuple[Column, ...]
    if by == "reason":
        columns = (Column("reason"), Column("stage"), Column("results", "int"))
        rows = [
            (*_named(variant), reason, _stage(variant, reason), number)
            for variant, score in found.rows
            for reason, number in most_first(score.reasons)
        ]
    elif by == "ladder":
        columns = (Column("step"), *(Column(size, "int") for size in _SIZES))
        rows = [
            (*_named(variant), step.name.lower(), *_sizes(tally))
            for variant, score in found.rows
            for step, tally in score.steps.items()
        ]
    else:
        columns = (*map(Column, _GROUPED[by]), *_group_columns())
        rows = [
            (*_named(variant), *names, *_group_cells(group))
            for variant, score in found.rows
            for names, group in _groups(found, score, by)
        ]
    return Table("", (*_VARIANT, *columns), rows)


def _groups(found: Replays, score: Score, by: By) -> Iterable[tuple[tuple[str | None, ...], Group]]:
    if by == "tool":
        return [((tool,), group) for tool, group in largest_first(score.tools)]
    if by == "risk":
        return [((place.value,), score.places[place]) for place in Place if place in score.places]
    names = short_sessions(found)
    return [(names[key], group) for key, group in largest_first(score.sessions)]


def _named(variant: Variant) -> tuple[Any, ...]:
    return variant.label, variant.spec.label, variant.preset, variant.settings, variant.is_headline


def _stage(variant: Variant, reason: str) -> str | None:
    stage = variant.spec.definition.reasons.get(reason)
    return stage.value if stage else None


def _sizes(tally: Tally) -> tuple[int, ...]:
    return tuple(getattr(tally, size) for size in _SIZES)


def _sized(name: str) -> list[Column]:
    return [Column(f"{name}_{size}", "int") for size in _SIZES]


def _group_columns() -> list[Column]:
    names = ("elided", "untrue", *(verdict.value for verdict in Verdict))
    return [column for name in names for column in _sized(name)]


def _group_cells(group: Group) -> list[int]:
    tallies = (claimed(group), untrue(group), *(group.get(verdict, NOTHING) for verdict in Verdict))
    return [number for tally in tallies for number in _sizes(tally)]


def _policies(found: Replays) -> Table:
    columns = [*_VARIANT, *(Column(f"asked_{size}", "int") for size in _ASKED), *_group_columns()]
    columns += [Column("sound_net_share_of_bytes", "percent"), Column("sound_net_share_of_tokens", "percent")]
    columns += [Column("largest_ledger", "int"), Column("ledger_cap", "int")]
    columns += [column for name in ("if_unknown_reads", "key_lost", "mixed") for column in _sized(name)]
    columns += [Column(f"{beside.value}_results", "int") for beside in Beside]
    columns += [Column(f"place_{place.value}_results", "int") for place in Place]
    rows = []
    for variant, score in found.rows:
        shares = _shares(found, score)
        rows.append(
            (
                *_named(variant),
                *(getattr(score.asked, size) for size in _ASKED),
                *_group_cells(score.verdicts),
                shares["share_of_bytes"],
                shares["share_of_tokens"],
                score.largest,
                cap(variant),
                *_sizes(score.if_unknown_reads),
                *_sizes(score.key_lost),
                *_sizes(claimed(score.mixed)),
                *(score.beside.get(beside, NOTHING).results for beside in Beside),
                *(claimed(score.places.get(place, {})).results for place in Place),
            )
        )
    return Table("", tuple(columns), rows)


def _shares(found: Replays, score: Score) -> dict[str, float | None]:
    """What true elisions save, net, of everything that is counted; 0 to 1, or below 0."""
    whole = found.simulation.results
    return {
        "share_of_bytes": share(score.sound.net_bytes, whole.bytes),
        "share_of_tokens": share(score.sound.net_tokens, whole.tokens),
    }


# -- JSON ----------------------------------------------------------------------------------------------------


def document(found: Replays, notes: Iterable[str]) -> dict[str, Any]:
    """Everything as members of a JSON document, whatever the view. See docs/REFERENCE.md, Formats."""
    simulation, knowledge = found.simulation, found.knowledge
    whole = simulation.results
    return {
        "scope": simulation.scope,
        "window": {
            "since": found.window.since,
            "until": found.window.until,
            "sources": found.window.sources,
            "projects": found.window.projects,
            "tools": found.window.tools,
            "models": found.window.models,
            "sessions": found.window.sessions,
        },
        "zone": found.zone,
        "first": found.first,
        "last": found.last,
        "token_rule": TOKEN_RULE,
        "results": {size: getattr(whole, size) for size in _ASKED},
        "sessions": simulation.sessions,
        "knowledge": {
            "shell_reads": knowledge.shell_reads,
            "tools": {
                name: {"read_only": said.read_only and said.read_only.value, "category": said.category}
                for name, said in sorted(knowledge.tools.items())
            },
        },
        "unknown_tools": found.unknown,
        "refused": [
            {
                "source": source.source,
                "commands": source.commands,
                "repeats_upper_bound": source.repeats,
                "reason": in_words(source),
            }
            for source in found.refused
        ],
        "variants": [_variant(found, variant, score) for variant, score in found.rows],
        "notes": list(notes),
    }


def _variant(found: Replays, variant: Variant, score: Score) -> dict[str, Any]:
    return {
        "variant": variant.label,
        "policy": variant.spec.label,
        "preset": variant.preset,
        "is_headline": variant.is_headline,
        "settings": json.loads(variant.settings),
        "asked": {size: getattr(score.asked, size) for size in _ASKED},
        "elided": _tally(score.elided),
        "untrue": _tally(score.untrue),
        "saved": _tally(score.sound) | _shares(found, score),
        "verdicts": _group(score.verdicts),
        "reasons": [
            {"reason": reason, "stage": _stage(variant, reason), "results": number}
            for reason, number in most_first(score.reasons)
        ],
        "beside": {beside.value: _tally(score.beside.get(beside, NOTHING)) for beside in Beside},
        "places": {place.value: _group(score.places.get(place, {})) for place in Place},
        "mixed": _group(score.mixed),
        "if_unknown_reads": _tally(score.if_unknown_reads),
        "key_lost": _tally(score.key_lost),
        "largest_ledger": score.largest,
        "ledger_cap": cap(variant),
        "ladder": [
            {"step": step.name.lower(), "words": step.value} | _tally(tally)
            for step, tally in score.steps.items()
        ],
        "tools": [{"tool": tool, "verdicts": _group(group)} for tool, group in largest_first(score.tools)],
        "sessions": [
            {"session": names[0], "project": names[1], "verdicts": _group(group)}
            for names, group in _groups(found, score, "session")
        ],
        "examples": [
            {
                "verdict": example.verdict.value,
                "anchor_place": example.place.value,
                "bytes": example.bytes,
                "tool": found.examples[example.emission_key].tool,
                "session": found.examples[example.emission_key].session_id,
                "call_id": found.examples[example.emission_key].call_id,
                "emission_key": example.emission_key,
                "anchor_key": example.anchor_key,
            }
            for verdict in Verdict
            for example in score.examples.get(verdict, ())
        ],
    }


def _tally(tally: Tally) -> dict[str, int]:
    return dict(zip(_SIZES, _sizes(tally), strict=True))


def _group(group: Mapping[Verdict, Tally]) -> dict[str, dict[str, int]]:
    return {verdict.value: _tally(group.get(verdict, NOTHING)) for verdict in Verdict}
