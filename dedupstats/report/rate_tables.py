"""Repeat rates as tables for people, as one flat table for programs, and as a JSON document."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.analytics.rates import RULES, share
from dedupstats.analytics.tallies import FLOOR_BYTES, Tally
from dedupstats.economics.tokens import Level
from dedupstats.report import money, text
from dedupstats.report.blocks import plural
from dedupstats.report.scope import filters, in_words, period
from dedupstats.report.tables import Column, Table
from dedupstats.report.targets import is_path, short_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.analytics.concentration import Concentration
    from dedupstats.analytics.rates import Rates, Row
    from dedupstats.analytics.units import Unit

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


class _Words(NamedTuple):
    """How a unit is called in the tables."""

    title: str
    """of the column of all results"""
    part: str
    """of what stands in brackets behind the number of repeats"""
    note: str
    """what that is"""
    noun: str


_IN: dict[Unit | None, _Words] = {
    None: _Words("bytes", "% bytes", "% bytes: their bytes, of the bytes of all results in the row", "bytes"),
    "tokens": _Words(
        "tokens", "% tokens", "% tokens: their tokens, of the tokens of all results in the row", "tokens"
    ),
    "sent": _Words(
        "tokens\nsent",
        "% sent",
        "% sent: their tokens sent, of those of all results in the row",
        "tokens sent",
    ),
    "usd": _Words("list\nprice", "$", "$: the list price of carrying them", "cost"),
    "share": _Words("of input\ncost", "% of input", "% of input: of ", "cost"),
}


def people_tables(rates: Rates, extra_notes: Iterable[str] = ()) -> list[Table]:
    """Per group, in total by rule, what that is in four units, and how repeats are spread."""
    costs = [] if is_without_cost(rates) else [_costs(rates)]
    return [_groups(rates, extra_notes), _totals(rates), *costs, _spread(rates)]


def is_without_cost(rates: Rates) -> bool:
    """Whether nothing is known, or asked, of what carrying results cost."""
    return rates.tokens == "bytes4" or not (rates.input.requests or rates.total.results.sent)


def _groups(rates: Rates, extra_notes: Iterable[str]) -> Table:
    words = _IN[rates.unit]
    columns = [Column(rates.by), *map(Column, _BESIDE.get(rates.by, ()))]
    columns += [Column("results", "int"), Column("size", "figure", words.title)]
    columns += [Column(rule, "figure", f"{_two_lines(rule)}\nn ({words.part})") for rule in rates.rules]
    order = f"Most repeated {words.noun} by repeat-session first. " if rates.by == "target" else ""
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
            f"{order}n: repeated results; {words.note}{_whole(rates)}.",
            *_beside_figures(rates),
            *_class_notes(rates.total),
            *extra_notes,
        ),
    )


def _whole(rates: Rates) -> str:
    return money.input_words(rates.input) if rates.unit == "share" else ""


def _beside_figures(rates: Rates) -> list[str]:
    """What must stand in the first table already; the rest is said where all units are."""
    if rates.unit is None:
        return []
    if rates.unit == "tokens":
        return _known(rates)
    if is_without_cost(rates):
        return cost_notes(rates)
    return [*_known(rates), *money.left_out(rates.total.results.worth)]


def _unsaid(rates: Rates, said: list[str]) -> list[str]:
    """Of some notes those that the table of groups, which stands first, does not say already."""
    before = _beside_figures(rates)
    return [note for note in said if note not in before]


def unit_notes(rates: Rates) -> list[str]:
    """What must stand beside figures in units: how tokens are known, what shares are of, what is left out."""
    return [*_known(rates), *(cost_notes(rates) if rates.tokens == "ladder" else ())]


def _known(rates: Rates) -> list[str]:
    """How the tokens are known."""
    if rates.tokens == "bytes4":
        return [f"Tokens: {money.BYTES4}."]
    return [f"Tokens: {money.known_by(rates.total.results.worth.by_level)}."]


def cost_notes(rates: Rates) -> list[str]:
    """What must stand beside figures of cost, in whatever output."""
    if is_without_cost(rates):
        return ["No request of a model lies in this window: nothing is known of what carrying results cost."]
    return [
        f"{money.SENT}. {money.LIFE}",
        f"Shares are of {money.input_words(rates.input)}.",
        *money.left_out(rates.total.results.worth),
        f"{money.BASIS}: {rates.basis or 'no prices yet'}.",
    ]


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
    figures = (
        # most cells of most tables are none at all: no share beside it
        f"{text.count(part.results)} ({_of_row(rates, part, row.results)})" if part.results else "0"
        for part in (row.rules[rule] for rule in rates.rules)
    )
    whole = row.results
    size = (
        text.size(whole.bytes) if rates.unit is None else money.amount(whole.worth, rates.unit, rates.input)
    )
    return (_group_name(row), *_beside(rates, row), whole.results, size, *figures)


def _of_row(rates: Rates, part: Tally, whole: Tally) -> str:
    """What repeats weigh: of their row, or in dollars or of all input cost, which need no row."""
    if rates.unit in {"usd", "share"}:
        return money.amount(part.worth, rates.unit, rates.input)
    return text.percent(share(part.weight(rates.unit), whole.weight(rates.unit)))


def _two_lines(rule: str) -> str:
    return rule.replace("-", "-\n", 1)


def _group_name(row: Row) -> str:
    if row.tool and len(row.group) > _COMMAND_CHARS and not is_path(row.group):
        return f"{row.group[: _COMMAND_CHARS - 1]}…"
    return f"{row.group} (part)" if row.partial else row.group


def _class_notes(row: Row) -> list[str]:
    named = [(row.errors, "error", "errors")] + [
        (row.by_class[kind], one, many)
        for kind, one, many in (
            ("image", "image", "images"),
            ("empty", "empty", "empty"),
            ("stub", "stub of the host", "stubs of the host"),
            ("spilled", "spilled to a file", "spilled to a file"),
            ("masked", "masked", "masked"),
        )
    ]
    told = [plural(tally.results, one, many) for tally, one, many in named if tally.results]
    notes = []
    if told:
        notes.append(f"Counted, and never a repeat: {', '.join(told)}.")
    if row.copies.results:
        copies = f"{plural(row.copies.results, 'copy', 'copies')} ({text.size(row.copies.bytes)})"
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
                _part(round(part.tokens), round(total.results.tokens)),
                share(floored.bytes, total.floor.bytes),
            )
        )
    denominators = (
        f"100 % are all {plural(total.results.results, 'result')}, {text.size(total.results.bytes)}, "
        f"{plural(round(total.results.tokens), 'token')}; from {FLOOR_BYTES} B: bytes of the "
        f"{plural(total.floor.results, 'result')} of at least {FLOOR_BYTES} bytes, "
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
            *_unsaid(rates, _known(rates)),
            *_unsaid(rates, cost_notes(rates) if rates.tokens == "ladder" and is_without_cost(rates) else []),
            *(_rule_note(rates, name) for name in rates.rules),
        ),
    )


def _rule_note(rates: Rates, name: str) -> str:
    rule, worth = _RULES[name], rates.total.rules[name].worth
    said = f"{name} ({rule.kind}): {rule.meaning}."
    if rates.tokens == "bytes4" or not worth.by_level:
        return said
    return f"{said} Tokens: {money.known_briefly(worth.by_level)}."


def _costs(rates: Rates) -> Table:
    def row(name: str, tally: Tally) -> tuple[str, ...]:
        worth = tally.worth
        return (name, *(money.amount(worth, unit, rates.input) for unit in money.UNITS))

    return Table(
        title="In four units",
        columns=(
            Column("rule"),
            Column("tokens", "figure", "first-pass\ntokens"),
            Column("sent", "figure", "tokens\nsent"),
            Column("usd", "figure", "list\nprice"),
            Column("share", "figure", "of input\ncost"),
        ),
        rows=[row(name, rates.total.rules[name]) for name in rates.rules],
        total=row("all results", rates.total.results),
        notes=tuple(_unsaid(rates, cost_notes(rates))),
    )


def _part(part: int, whole: int, *, sized: bool = False) -> str:
    return f"{text.size(part) if sized else text.count(part)} ({text.percent(share(part, whole))})"


def _spread(rates: Rates) -> Table:
    rows = []
    noun = _IN[rates.unit].noun
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
            f"any: sessions with such a repeat, of the {text.count(sessions)} with any {noun}.",
            f"median, p90 (linear), max: repeated {noun} of a session, of its {noun}; none counts as 0 %.",
            f"top: what the largest session or call, or the five largest, hold of the repeated {noun}.",
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
    columns += [*_tally_columns(""), *_detail_columns("")]
    for prefix in (
        "repeatable_",
        "floor_",
        "errors_",
        "copies_",
        *(f"{kind}_" for kind in rates.total.by_class),
    ):
        columns += _tally_columns(prefix)
    for name in rates.rules:
        word = name.replace("-", "_")
        columns += [*_tally_columns(f"{word}_"), *_detail_columns(f"{word}_")]
        columns += [Column(f"{word}_{share}", "percent") for share in _SHARES]
        columns += _tally_columns(f"{word}_floor_")
    return Table(
        title=f"Repeats among tool results by {rates.by}",
        columns=tuple(columns),
        rows=[_flat_row(rates, row) for row in rates.rows],
    )


_SHARES = ("share_of_results", "share_of_bytes", "share_of_tokens", "share_of_sent", "share_of_usd")
"""of a rule's repeats, of all results in the row"""


def _tally_columns(prefix: str) -> list[Column]:
    return [
        Column(f"{prefix}results", "int"),
        Column(f"{prefix}bytes", "int"),
        Column(f"{prefix}tokens", "float"),
        Column(f"{prefix}sent", "float"),
        Column(f"{prefix}usd", "float"),
        Column(f"{prefix}share_of_input", "percent"),
    ]


def _detail_columns(prefix: str) -> list[Column]:
    return [
        Column(f"{prefix}unpriced_sent", "float"),
        Column(f"{prefix}modelled_sent", "float"),
        Column(f"{prefix}unseen", "int"),
        *(Column(f"{prefix}tokens_level_{level}", "float") for level in sorted(Level)),
    ]


def _numbers(rates: Rates, tally: Tally) -> tuple[Any, ...]:
    sent, usd, of_input = _cost(rates, tally)
    return tally.results, tally.bytes, tally.tokens, sent, usd, of_input


def _details(rates: Rates, tally: Tally) -> tuple[Any, ...]:
    if rates.tokens == "bytes4":
        return (None, None, None, *tally.levels)
    return tally.unpriced_sent, tally.modelled_sent, tally.unseen, *tally.levels


def _cost(rates: Rates, tally: Tally) -> tuple[float | None, float | None, float | None]:
    """Tokens sent, dollars and their share of the input cost; None where nothing is known of it."""
    if rates.tokens == "bytes4":
        return None, None, None
    worth = tally.worth
    return worth.known_sent, worth.paid, rates.input.share(worth)


def _flat_row(rates: Rates, row: Row) -> tuple[Any, ...]:
    cells: list[Any] = [row.group, *_beside(rates, row), rates.key]
    if rates.by in _PERIODS:
        cells += [row.begins.isoformat() if row.begins else None, row.partial]
    cells += [*_numbers(rates, row.results), *_details(rates, row.results)]
    for tally in (row.repeatable, row.floor, row.errors):
        cells += _numbers(rates, tally)
    # what copies were sent is in the figures of their originals: nothing, not $0, is theirs
    cells += [row.copies.results, row.copies.bytes, row.copies.tokens, None, None, None]
    for tally in row.by_class.values():
        cells += _numbers(rates, tally)
    for name in rates.rules:
        repeats = row.rules[name]
        cells += [*_numbers(rates, repeats), *_details(rates, repeats)]
        cells += _shares(rates, repeats, row.results).values()
        cells += _numbers(rates, row.rules_floor[name])
    return tuple(cells)


def _shares(rates: Rates, part: Tally, whole: Tally) -> dict[str, float | None]:
    (sent, usd, _), (all_sent, all_usd, _) = _cost(rates, part), _cost(rates, whole)
    parts = (part.results, part.bytes, part.tokens, sent, usd)
    wholes = (whole.results, whole.bytes, whole.tokens, all_sent, all_usd)
    return {
        name: None if one is None or every is None else share(one, every)
        for name, one, every in zip(_SHARES, parts, wholes, strict=True)
    }


def document(rates: Rates, notes: Iterable[str] = ()) -> dict[str, Any]:
    """Everything in `rates` as members of a JSON document; shares are 0 to 1, null where nothing divides."""
    members = {field.name: getattr(rates, field.name) for field in fields(rates)}
    for name in ("sessions", "by_session", "by_call"):
        members[name] = {rule: asdict(one) for rule, one in members[name].items()}
    members |= {"window": asdict(rates.window), "input": asdict(rates.input) | {"usd": rates.input.paid}}
    members["rules"] = [asdict(_RULES[name]) for name in rates.rules]
    members["rows"] = [_row_members(rates, row) for row in rates.rows]
    members["total"] = _row_members(rates, rates.total)
    members["floor_bytes"] = FLOOR_BYTES
    members["notes"] = [*notes, *unit_notes(rates)]
    return members


def _row_members(rates: Rates, row: Row) -> dict[str, Any]:
    members = {field.name: getattr(row, field.name) for field in fields(row)}
    for name, value in members.items():
        if isinstance(value, Tally):
            members[name] = _tally_members(rates, value)
        elif isinstance(value, dict):
            members[name] = {key: _tally_members(rates, tally) for key, tally in value.items()}
    members["copies"] |= {"sent": None, "usd": None, "share_of_input": None}
    for name in row.rules:
        members["rules"][name] |= _shares(rates, row.rules[name], row.results)
        members["rules_floor"][name] |= _shares(rates, row.rules_floor[name], row.floor)
    return members


def _tally_members(rates: Rates, tally: Tally) -> dict[str, Any]:
    members = {name: getattr(tally, name) for name in _TALLY}
    sent, usd, of_input = _cost(rates, tally)
    if rates.tokens == "bytes4":
        members |= {"unpriced_sent": None, "modelled_sent": None, "unseen": None}
    return members | {"sent": sent, "usd": usd, "share_of_input": of_input}


_TALLY = tuple(field.name for field in fields(Tally))
