"""Replays for programs: one flat table for each view, and the whole as a JSON document."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from dedupstats.analytics.rates import share
from dedupstats.analytics.replays import in_words
from dedupstats.analytics.units import TOKEN_RULES
from dedupstats.report.replay_sums import cap, claimed, largest_first, most_first, short_sessions, untrue
from dedupstats.report.replay_units import InUnit
from dedupstats.report.tables import Column, Table
from dedupstats.simulate.score import NOTHING, Beside
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dedupstats.analytics.replays import Replays
    from dedupstats.analytics.units import Unit
    from dedupstats.report.replay_tables import By
    from dedupstats.report.replay_units import Part
    from dedupstats.simulate.score import Group, Score, Tally
    from dedupstats.simulate.variants import Variant

_VARIANT: Final = (
    Column("variant"),
    Column("policy"),
    Column("preset"),
    Column("settings"),
    Column("is_headline", "bool"),
)
_WHOLE: Final = ("bytes", "tokens", "sent", "usd", "share")
SIZES: Final = (
    "results",
    *_WHOLE,
    *(f"marker_{name}" for name in _WHOLE),
    *(f"net_{name}" for name in _WHOLE),
    "unpriced_sent",
    "modelled_sent",
    "uncosted",
)
"""of elisions: what they weigh, what their markers weigh, the difference, and what is not known of them"""
ASKED: Final = ("results", *_WHOLE, "unpriced_sent", "modelled_sent", "uncosted")
"""of results that no marker stands for"""
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
        columns = (Column("step"), *(_column(size) for size in SIZES))
        rows = [
            (*_named(variant), step.name.lower(), *_sizes(found, tally))
            for variant, score in found.rows
            for step, tally in score.steps.items()
        ]
    else:
        columns = (*map(Column, _GROUPED[by]), *_group_columns())
        rows = [
            (*_named(variant), *names, *_group_cells(found, group))
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


def _column(size: str, prefix: str = "") -> Column:
    kind = size.rpartition("_")[2]
    return Column(prefix + size, {"usd": "float", "share": "percent"}.get(kind, "int"))  # type: ignore[arg-type]


def _sizes(found: Replays, tally: Tally, names: tuple[str, ...] = SIZES) -> tuple[float | None, ...]:
    return tuple(_size(found, tally, name) for name in names)


def _size(found: Replays, tally: Tally, name: str) -> float | None:
    """A size; None: of that nothing is known. Shares are of the input-side cost, 0 to 1."""
    part, _, unit = name.rpartition("_")
    if name in {"unpriced_sent", "modelled_sent"} or unit not in {"sent", "usd", "share"}:
        value: float = getattr(tally, name)
        return value
    return InUnit.of(found, unit).value(tally, _PARTS[part])  # type: ignore[arg-type]


_PARTS: Final[dict[str, Part]] = {"": "gross", "marker": "markers", "net": "net"}


def _sized(name: str, sizes: tuple[str, ...] = SIZES) -> list[Column]:
    return [_column(size, f"{name}_") for size in sizes]


def _group_columns() -> list[Column]:
    names = ("elided", "untrue", *(verdict.value for verdict in Verdict))
    return [column for name in names for column in _sized(name)]


def _group_cells(found: Replays, group: Group) -> list[float | None]:
    tallies = (claimed(group), untrue(group), *(group.get(verdict, NOTHING) for verdict in Verdict))
    return [number for tally in tallies for number in _sizes(found, tally)]


def _policies(found: Replays) -> Table:
    columns = [*_VARIANT, *_sized("asked", ASKED), *_group_columns()]
    columns += [
        Column(f"sound_net_share_of_{unit}", "percent") for unit in ("bytes", "tokens", "sent", "usd")
    ]
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
                *_sizes(found, score.asked, ASKED),
                *_group_cells(found, score.verdicts),
                *shares.values(),
                score.largest,
                cap(variant),
                *_sizes(found, score.if_unknown_reads),
                *_sizes(found, score.key_lost),
                *_sizes(found, claimed(score.mixed)),
                *(score.beside.get(beside, NOTHING).results for beside in Beside),
                *(claimed(score.places.get(place, {})).results for place in Place),
            )
        )
    return Table("", tuple(columns), rows)


def _shares(found: Replays, score: Score) -> dict[str, float | None]:
    """What true elisions save, net, of everything that is counted; 0 to 1, or below 0."""
    whole, sound = found.simulation.results, score.sound
    shares = {
        "share_of_bytes": share(sound.net_bytes, whole.bytes),
        "share_of_tokens": share(sound.net_tokens, whole.tokens),
    }
    units: tuple[Unit, ...] = ("sent", "usd")
    for unit in units:
        shares[f"share_of_{unit}"] = InUnit.of(found, unit).share(sound)
    return shares


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
        "tokens": simulation.tokens,
        "token_rule": TOKEN_RULES[simulation.tokens],
        "results": _asked(found, whole) | {"known_by": simulation.known_by},
        "input_side": found.side and asdict(found.side),
        "price_basis": found.side and found.basis,
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
        "asked": _asked(found, score.asked),
        "elided": _tally(found, score.elided),
        "untrue": _tally(found, score.untrue),
        "saved": _tally(found, score.sound) | _shares(found, score) | {"known_by": score.known_by},
        "verdicts": _group(found, score.verdicts),
        "reasons": [
            {"reason": reason, "stage": _stage(variant, reason), "results": number}
            for reason, number in most_first(score.reasons)
        ],
        "beside": {beside.value: _tally(found, score.beside.get(beside, NOTHING)) for beside in Beside},
        "places": {place.value: _group(found, score.places.get(place, {})) for place in Place},
        "mixed": _group(found, score.mixed),
        "if_unknown_reads": _tally(found, score.if_unknown_reads),
        "key_lost": _tally(found, score.key_lost),
        "largest_ledger": score.largest,
        "ledger_cap": cap(variant),
        "ladder": [
            {"step": step.name.lower(), "words": step.value} | _tally(found, tally)
            for step, tally in score.steps.items()
        ],
        "tools": [
            {"tool": tool, "verdicts": _group(found, group)} for tool, group in largest_first(score.tools)
        ],
        "sessions": [
            {"session": names[0], "project": names[1], "verdicts": _group(found, group)}
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


def _tally(found: Replays, tally: Tally) -> dict[str, float | None]:
    return dict(zip(SIZES, _sizes(found, tally), strict=True))


def _asked(found: Replays, tally: Tally) -> dict[str, Any]:
    return dict(zip(ASKED, _sizes(found, tally, ASKED), strict=True))


def _group(found: Replays, group: Mapping[Verdict, Tally]) -> dict[str, dict[str, float | None]]:
    return {verdict.value: _tally(found, group.get(verdict, NOTHING)) for verdict in Verdict}
