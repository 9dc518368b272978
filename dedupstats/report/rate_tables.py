"""Repeat rates as tables for people, as one flat table for programs, and as a JSON document."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dedupstats.analytics.rates import FLOOR_BYTES, RULES, share
from dedupstats.report import text
from dedupstats.report.scope import filters, in_words, period
from dedupstats.report.tables import Column, Table
from dedupstats.report.targets import is_path, short_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.analytics.concentration import Concentration
    from dedupstats.analytics.rates import Rates, Row, Tally

_RULES = {rule.name: rule for rule in RULES}
_PERIODS = ("day", "week", "month")
_BESIDE = {"session": ("project", "begun"), "target": ("tool",)}
"""columns beside the name of the group"""
_COMMAND_CHARS = 60
"""of a command or the like in a table for people; programs get it whole"""
_ID_CHARS = 8


def short_names(rates: Rates) -> Rates:
    """The same rates with paths of projects and targets cut to their last part, or what tells them apart."""
    rows = rates.rows
    if rates.by == "project":
        names = text.short_paths(row.group for row in rows)
        rows = tuple(replace(row, group=names[row.group]) for row in rows)
    elif rates.by == "session":
        names = text.short_paths(row.project for row in rows if row.project)
        rows = tuple(replace(row, project=row.project and names[row.project]) for row in rows)
    elif rates.by == "target":
        names = short_targets(row.group for row in rows)
        rows = tuple(replace(row, group=names[row.group]) for row in rows)
    return replace(rates, rows=rows)


# -- for people ----------------------------------------------------------------------------------------------


def people_tables(rates: Rates, extra_notes: Iterable[str] = ()) -> list[Table]:
    """Three tables: per group, in total by rule, and how repeats are spread over sessions and calls."""
    return [_groups(rates, extra_notes), _totals(rates), _spread(rates)]


def _groups(rates: Rates, extra_notes: Iterable[str]) -> Table:
    columns = [Column(rates.by), *map(Column, _BESIDE.get(rates.by, ()))]
    columns += [Column("results", "int"), Column("bytes", "bytes")]
    columns += [Column(rule, "figure", f"{_two_lines(rule)}\nn (% bytes)") for rule in rates.rules]
    order = "Most repeated bytes by repeat-session first. " if rates.by == "target" else ""
    names = _short_ids([row.group for row in rates.rows]) if rates.by == "session" else {}
    rows = [replace(row, group=names.get(row.group, row.group)) for row in rates.rows]
    return Table(
        title=(
            f"Repeats among tool results by {rates.by}{_scope(rates)}, "
            f"{period(rates.first, rates.last, rates.zone)}, {_key(rates)}"
        ),
        columns=tuple(columns),
        rows=[_people_row(rates, row) for row in rows],
        total=_people_row(rates, rates.total),
        notes=(
            f"{order}n: repeated results; % bytes: their bytes, of the bytes of all results in the row.",
            *_class_notes(rates.total),
            *extra_notes,
        ),
    )


def _scope(rates: Rates) -> str:
    """The filters, in brackets."""
    words = in_words(filters(rates.window, rates.zone, rates.window.projects))
    return f" ({words})" if words else ""


def _short_ids(ids: list[str]) -> dict[str, str]:
    """Ids by their beginning, as `--session` takes them: as much as tells all of them apart."""
    whole = set(ids)
    longest = max(map(len, whole), default=0)
    chars = next(
        n for n in range(_ID_CHARS, longest + _ID_CHARS) if len({name[:n] for name in whole}) == len(whole)
    )
    # the row of the others is named by no id
    return {name: name if " " in name else name[:chars] for name in whole}


def _beside(rates: Rates, row: Row) -> list[str | None]:
    """What stands beside the name of a row."""
    if rates.by == "session":
        return [row.project, row.begins.isoformat() if row.begins else None]
    return [row.tool] if rates.by == "target" else []


def _people_row(rates: Rates, row: Row) -> tuple[Any, ...]:
    whole = row.results.bytes
    parts = (row.rules[rule] for rule in rates.rules)
    figures = (
        # most cells of most tables are none at all: no share beside it
        f"{text.count(part.results)} ({text.percent(share(part.bytes, whole))})" if part.results else "0"
        for part in parts
    )
    return (_group_name(row), *_beside(rates, row), row.results.results, whole, *figures)


def _two_lines(rule: str) -> str:
    return rule.replace("-", "-\n", 1)


def _group_name(row: Row) -> str:
    if row.tool and len(row.group) > _COMMAND_CHARS and not is_path(row.group):
        return f"{row.group[: _COMMAND_CHARS - 1]}…"
    return f"{row.group} (part)" if row.partial else row.group


def _class_notes(row: Row) -> list[str]:
    named = [(row.errors, "errors")] + [
        (row.by_class[kind], word)
        for kind, word in (
            ("image", "images"),
            ("empty", "empty"),
            ("stub", "stubs of the host"),
            ("spilled", "spilled to a file"),
            ("masked", "masked"),
        )
    ]
    told = [f"{text.count(tally.results)} {word}" for tally, word in named if tally.results]
    notes = []
    if told:
        notes.append(f"Counted, and never a repeat: {', '.join(told)}.")
    if row.copies.results:
        copies = f"{text.count(row.copies.results)} copies ({text.size(row.copies.bytes)})"
        notes.append(f"Not counted again: {copies} that another session or file holds too.")
    return notes


def _totals(rates: Rates) -> Table:
    total = rates.total
    rows = []
    for name in rates.rules:
        part, floored = total.rules[name], total.rules_floor[name]
        rows.append(
            (
                name,
                _part(part.results, total.results.results),
                _part(part.bytes, total.results.bytes, sized=True),
                _part(part.tokens, total.results.tokens),
                share(floored.bytes, total.floor.bytes),
            )
        )
    denominators = (
        f"100 % are all {text.count(total.results.results)} results, {text.size(total.results.bytes)}, "
        f"{text.count(total.results.tokens)} tokens ({rates.token_rule}); from {FLOOR_BYTES} B: bytes of the "
        f"{text.count(total.floor.results)} results of at least {FLOOR_BYTES} bytes, "
        f"{text.size(total.floor.bytes)}."
    )
    return Table(
        title="In total, by rule",
        columns=(
            Column("rule"),
            Column("results", "figure"),
            Column("bytes", "figure"),
            Column("tokens", "figure"),
            Column("floor", "percent", f"from {FLOOR_BYTES} B"),
        ),
        rows=rows,
        notes=(
            denominators,
            *(f"{name} ({_RULES[name].kind}): {_RULES[name].meaning}." for name in rates.rules),
        ),
    )


def _part(part: int, whole: int, *, sized: bool = False) -> str:
    return f"{text.size(part) if sized else text.count(part)} ({text.percent(share(part, whole))})"


def _spread(rates: Rates) -> Table:
    rows = []
    sessions = 0
    for name in rates.rules:
        spread = rates.sessions[name]
        sessions = spread.n
        rows.append(
            (
                name,
                spread.with_any,
                spread.median,
                spread.p90,
                spread.max,
                _top(rates.by_session[name], 1),
                _top(rates.by_session[name], 5),
                _top(rates.by_call[name], 1),
                _top(rates.by_call[name], 5),
            )
        )
    return Table(
        title="How repeats are spread",
        columns=(
            Column("rule"),
            Column("with_any", "int", "any"),
            Column("median", "percent", "median"),
            Column("p90", "percent", "p90"),
            Column("max", "percent", "max"),
            Column("session_1", "percent", "top\nsession"),
            Column("session_5", "percent", "top 5"),
            Column("call_1", "percent", "top\ncall"),
            Column("call_5", "percent", "top 5"),
        ),
        rows=rows,
        notes=(
            f"any: sessions with such a repeat, of the {text.count(sessions)} with any bytes.",
            "median, p90 (linear), max: repeated bytes of a session, of its bytes; none counts as 0 %.",
            "top: what the largest session or call, or the five largest, hold of the rule's repeated bytes.",
        ),
    )


def _top(held: Concentration, number: int) -> float | None:
    return share(held.top1 if number == 1 else held.top5, held.total)


def _key(rates: Rates) -> str:
    return "calls compared exactly" if rates.key == "exact" else "calls compared after normalising them"


# -- for programs --------------------------------------------------------------------------------------------


def flat_table(rates: Rates) -> Table:
    """One row per group with every figure in a column; the rows add up to the total."""
    columns = [Column(rates.by), *map(Column, _BESIDE.get(rates.by, ())), Column("key")]
    if rates.by in _PERIODS:
        columns += [Column("begins"), Column("is_partial", "bool")]
    columns += _tally_columns("") + _tally_columns("repeatable_") + _tally_columns("floor_")
    columns += _tally_columns("errors_") + _tally_columns("copies_")
    for kind in rates.total.by_class:
        columns += _tally_columns(f"{kind}_")
    for name in rates.rules:
        word = name.replace("-", "_")
        columns += _tally_columns(f"{word}_")
        columns += [Column(f"{word}_share_of_{unit}", "percent") for unit in ("results", "bytes", "tokens")]
        columns += _tally_columns(f"{word}_floor_")
    return Table(
        title=f"Repeats among tool results by {rates.by}",
        columns=tuple(columns),
        rows=[_flat_row(rates, row) for row in rates.rows],
    )


def _tally_columns(prefix: str) -> list[Column]:
    return [
        Column(f"{prefix}results", "int"),
        Column(f"{prefix}bytes", "int"),
        Column(f"{prefix}tokens", "int"),
    ]


def _numbers(tally: Tally) -> tuple[int, int, int]:
    return tally.results, tally.bytes, tally.tokens


def _flat_row(rates: Rates, row: Row) -> tuple[Any, ...]:
    cells: list[Any] = [row.group, *_beside(rates, row), rates.key]
    if rates.by in _PERIODS:
        cells += [row.begins.isoformat() if row.begins else None, row.partial]
    for tally in (row.results, row.repeatable, row.floor, row.errors, row.copies, *row.by_class.values()):
        cells += _numbers(tally)
    for name in rates.rules:
        cells += _numbers(row.rules[name])
        cells += _shares(row.rules[name], row.results).values()
        cells += _numbers(row.rules_floor[name])
    return tuple(cells)


def _shares(part: Tally, whole: Tally) -> dict[str, float | None]:
    return {
        "share_of_results": share(part.results, whole.results),
        "share_of_bytes": share(part.bytes, whole.bytes),
        "share_of_tokens": share(part.tokens, whole.tokens),
    }


def document(rates: Rates, notes: Iterable[str] = ()) -> dict[str, Any]:
    """Everything in `rates` as members of a JSON document; shares are 0 to 1, null where nothing divides."""
    members = asdict(rates)
    members["rules"] = [asdict(_RULES[name]) for name in rates.rules]
    members["floor_bytes"] = FLOOR_BYTES
    for place, row in enumerate(rates.rows):
        _add_shares(members["rows"][place], row)
    _add_shares(members["total"], rates.total)
    members["notes"] = list(notes)
    return members


def _add_shares(members: dict[str, Any], row: Row) -> None:
    for name in row.rules:
        members["rules"][name] |= _shares(row.rules[name], row.results)
        members["rules_floor"][name] |= _shares(row.rules_floor[name], row.floor)
