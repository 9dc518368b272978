"""Repeat rates of tool results: how much of what an agent was shown had it been shown before.

One row per group (tool, day, project ...) and one for the total, each with counts, bytes, tokens and carrying
cost of all results and of the repeats by each rule (DESIGN.md section 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from dedupstats.analytics.concentration import Concentration, Distribution, concentration, distribution
from dedupstats.analytics.tallies import Cell, Counted, Tally, tally_of
from dedupstats.analytics.units import TOKEN_RULES, InputSide, TokenRule, Unit, check_unit, input_side
from dedupstats.analytics.window import Window, day_start, fixed_offset, local_zone, zone_info
from dedupstats.errors import UsageError
from dedupstats.history.pricing import basis
from dedupstats.model import Class

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dedupstats.store import Store

By = Literal["tool", "agent", "project", "session", "model", "version", "target", "day", "week", "month"]
Key = Literal["exact", "normalised"]
_CALLS = {"exact": "call_key", "normalised": "norm_key"}
NO_TARGET = "(no target)"
"""what calls without a path, command, pattern or address are called, and all of an import without targets"""


@dataclass(frozen=True, slots=True)
class Rule:
    """One repeat rule, as people meet it.

    Attributes:
        name: `call-session`, as printed and as the key of `Row.rules`.
        kind: What the figure is good for.
        meaning: What it counts, in words.
    """

    name: str
    kind: Literal["upper bound", "repeat", "never a repeat"]
    meaning: str

    def column(self, key: Key = "exact") -> str:
        """Its column in the view `emission_repeat`."""
        plain = self.name.replace("-", "_")
        # bytes-session asks for no call, so it has one column for both keys
        return plain if key == "exact" or self.name == "bytes-session" else f"norm_{plain}"


RULES = (
    Rule("call-pooled", "upper bound", "same call, anywhere in the history, whatever came back"),
    Rule("call-session", "upper bound", "same call in the session, whatever came back"),
    Rule("repeat-pooled", "upper bound", "same call, same bytes, anywhere in the history"),
    Rule("bytes-session", "upper bound", "same bytes in the session, from any call"),
    Rule("repeat-session", "repeat", "same call, same bytes, in the session"),
    Rule("repeat-turn", "repeat", "same call, same bytes, in the same turn"),
    Rule("repeat-in-sight", "repeat", "same call, same bytes, and a full copy still visible"),
    Rule("changed", "never a repeat", "same call in the session, but new bytes"),
)
DEFAULT_RULES = ("call-session", "repeat-session", "repeat-in-sight")


@dataclass(frozen=True, slots=True)
class Row:
    """One group's figures. The denominator of every rate is `results` (with a floor: `floor`).

    Attributes:
        group: Name of the tool, day, project ...; for a session its id.
        results: All results of all classes, copies left out.
        repeatable: Those that can be a repeat: class text or truncated, no error.
        by_class: All results by class (text, truncated, image, empty, stub, spilled, masked).
        errors: Results with the error flag, whatever their class.
        copies: What a resume, fork or branch wrote once more; in no other figure, but what was sent of it,
            and what that cost, is in those of the originals.
        rules: Repeats by rule, keyed by the rule's name.
        floor: Results of at least 256 bytes.
        rules_floor: Repeats of at least 256 bytes by rule.
        begins: First day: of the period, with `by` day, week or month; of the session, with `by` session.
        partial: The window cuts this period: it holds less than a whole day, week or month.
        project: The session's, with `by` session.
        tool: The tool that was called, with `by` target (what was read, run or searched).
    """

    group: str
    results: Tally
    repeatable: Tally
    by_class: dict[str, Tally]
    errors: Tally
    copies: Tally
    rules: dict[str, Tally]
    floor: Tally
    rules_floor: dict[str, Tally]
    begins: date | None = None
    partial: bool = False
    project: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """Repeat rates of a history or a window of it.

    Attributes:
        by: What rows are groups of.
        key: How calls are compared: exact, or after normalising their arguments.
        rules: Names of the rules shown, from the upper bounds down.
        rows: Largest first (in `unit`), then by name; periods in order of time; targets by what is repeated
            of them (`repeat-session`).
        total: All rows together.
        sessions: Per rule, the distribution over sessions of the share that is repeated, of `unit`.
        by_session: Per rule, how much of what is repeated the largest sessions hold, in `unit`.
        by_call: Per rule, how much of what is repeated the largest calls hold, in `unit`.
        undated: Results without a time; in the totals of a window without beginning and end, else left out.
        window: What was counted.
        first: Time of the first dated result, UTC; None without one.
        last: Time of the last.
        zone: Time zone of days, weeks and months.
        tokens: The rule for tokens: `ladder`, or `bytes4`.
        token_rule: It in words.
        unit: What results are weighed in where a figure is of one unit; None: bytes. A share of cost weighs
            as the cost does.
        input: The input side of all requests in the window, which shares of cost are of.
        basis: Where prices are from, with their date; None: there are none yet.
    """

    by: By
    key: Key
    rules: tuple[str, ...]
    rows: tuple[Row, ...]
    total: Row
    sessions: dict[str, Distribution]
    by_session: dict[str, Concentration]
    by_call: dict[str, Concentration]
    undated: int
    window: Window
    first: datetime | None
    last: datetime | None
    zone: str
    tokens: TokenRule
    token_rule: str
    unit: Unit | None
    input: InputSide
    basis: str | None


def rates(
    store: Store,
    *,
    by: By = "tool",
    all_rules: bool = False,
    key: Key = "exact",
    tokens: TokenRule = "ladder",
    unit: Unit | None = None,
    window: Window | None = None,
    tz: str | None = None,
) -> Rates:
    """Repeat rates per group and in total.

    Args:
        store: An open store; reading is enough.
        by: What to group by; `agent` is the agent program with the name of its subagent.
        all_rules: All rules of `RULES` instead of `DEFAULT_RULES`.
        key: Compare calls exactly, or after normalising their arguments (paths, blanks, descriptions).
        tokens: How tokens are counted: measured or estimated by the `ladder`, or `bytes4`, which knows no
            cost.
        unit: What results are weighed in for the order of rows and the spread over sessions and calls; None:
            bytes. All other figures are there in every unit.
        window: What to count; everything by default.
        tz: Time zone of days, weeks and months; by default the window's, else the local one.

    Raises:
        UsageError: `by` or `tz` is unknown, or `unit` is a cost and `tokens` knows none.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     found = rates(store, by="tool", tz="UTC")
        >>> found.total.results.results, found.rules
        (0, ('call-session', 'repeat-session', 'repeat-in-sight'))
    """
    if by not in get_args(By):
        raise UsageError(f"cannot group by {by!r}", f"known are {', '.join(get_args(By))}")
    window = window or Window()
    zone = tz or window.zone or local_zone()
    zone_info(zone)
    check_unit(unit, tokens)
    rules = tuple(rule for rule in RULES if all_rules or rule.name in DEFAULT_RULES)
    columns = [rule.column(key) for rule in rules]
    names = tuple(rule.name for rule in rules)

    counted = Counted(store, window, tokens, columns)
    cells = counted.cells(*_group(store, by, zone))
    if by in PERIODS:
        rows = _period_rows(cells, by, names, window, zone)
    elif by == "target":
        rows = _target_rows(cells, names, unit)
    else:
        made = _session_rows(store, cells, names, zone) if by == "session" else _rows(cells, by, names)
        rows = _largest_first(made, unit)
    per_session = counted.by_session(unit)
    first, last, undated = _dates(store, window)
    if window != window.whole():
        undated = _dates(store, window.whole())[2]
    return Rates(
        by=by,
        key=key,
        rules=names,
        rows=rows,
        total=_row("total", [cell for row in cells.values() for cell in row], names),
        sessions={
            name: distribution((row[place], row[1]) for row in per_session)
            for place, name in enumerate(names, start=2)
        },
        by_session={
            name: concentration((row[0], row[place]) for row in per_session)
            for place, name in enumerate(names, start=2)
        },
        by_call=dict(zip(names, counted.by_call(unit, _CALLS[key]), strict=True)),
        undated=undated,
        window=window,
        first=first,
        last=last,
        zone=zone,
        tokens=tokens,
        token_rule=TOKEN_RULES[tokens],
        unit=unit,
        input=InputSide() if tokens == "bytes4" else input_side(store, window),
        basis=None if tokens == "bytes4" else basis(store),
    )


def limited(found: Rates, number: int) -> Rates:
    """The same rates with the first rows alone and the others summed in one, named `12 others`.

    Raises:
        UsageError: Rows are periods, which come in order of time and not of size.
    """
    if found.by in PERIODS:
        raise UsageError(f"--limit does not go with --by {found.by}", "narrow the time with --since, --until")
    rest = found.rows[number:]
    if not rest:
        return found
    others = summed(rest, f"{len(rest):,} other{'s' if len(rest) > 1 else ''}")
    return replace(found, rows=(*found.rows[:number], others))


def summed(rows: Sequence[Row], group: str) -> Row:
    """Rows as one; there must be one at least."""

    def total(name: str) -> dict[str, Tally]:
        return {key: tally_of(getattr(row, name)[key] for row in rows) for key in getattr(rows[0], name)}

    return Row(
        group=group,
        results=tally_of(row.results for row in rows),
        repeatable=tally_of(row.repeatable for row in rows),
        by_class=total("by_class"),
        errors=tally_of(row.errors for row in rows),
        copies=tally_of(row.copies for row in rows),
        rules=total("rules"),
        floor=tally_of(row.floor for row in rows),
        rules_floor=total("rules_floor"),
    )


def share(part: float, whole: float) -> float | None:
    """The part of a whole, 0 to 1; None where there is nothing to divide by (fault case S08).

    Example:
        >>> share(1, 4), share(0, 0)
        (0.25, None)
    """
    return part / whole if whole else None


def _group(store: Store, by: By, zone: str) -> tuple[str, list[Any]]:
    """What rows are groups of, in SQL: text, a tuple that `_label` words, or the first day of a period."""
    if by == "session":
        return "row(session_key, session_id)", []
    if by == "agent":
        return "row(source, agent, context_kind = 'agent')", []
    if by == "target":
        return "row(tool, target)", []
    if by not in PERIODS:
        return by, []
    offset = fixed_offset(zone)
    if offset is not None:
        return f"date_trunc('{by}', ts + to_seconds({round(offset.total_seconds())}))::date", []
    if not store.query("select 1 from pg_timezone_names() where lower(name) = lower(?)", [zone]):
        raise UsageError(
            f"DuckDB does not know the time zone {zone!r}", "e.g. --tz Europe/Madrid or --tz UTC+02:00"
        )
    return f"date_trunc('{by}', timezone(?, timezone('UTC', ts)))::date", [zone]


def _dates(store: Store, window: Window) -> tuple[datetime | None, datetime | None, int]:
    """First and last time of originals, UTC, and how many have none."""
    condition, parameters = window.where()
    first, last, undated = store.query(
        "select min(ts), max(ts), count(*) filter (ts is null) "
        f"from emission where {condition} and not is_copy",
        parameters,
    )[0]
    return first and first.replace(tzinfo=UTC), last and last.replace(tzinfo=UTC), undated


# -- rows ----------------------------------------------------------------------------------------------------

PERIODS: dict[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    # the ISO year belongs to the ISO week: 2027-01-01 lies in 2026-W53 (fault case T08)
    "week": lambda day: f"{day.isocalendar().year}-W{day.isocalendar().week:02}",
    "month": lambda day: f"{day:%Y-%m}",
}
"""how a day, week or month is called, from its first day"""


def _period_rows(
    cells: dict[Any, list[Cell]], by: By, rules: tuple[str, ...], window: Window, zone: str
) -> tuple[Row, ...]:
    dated = sorted(day for day in cells if day is not None)
    rows = [
        _row(PERIODS[by](day), cells[day], rules, begins=day, partial=_is_cut(day, by, window, zone))
        for day in dated
    ]
    undated = [_row("undated", cells[None], rules)] if None in cells else []
    return (*rows, *undated)


def _rows(cells: dict[Any, list[Cell]], by: By, rules: tuple[str, ...]) -> list[Row]:
    titles = _source_titles() if by == "agent" else {}
    return [_row(_label(grouped, by, titles), own, rules) for grouped, own in cells.items()]


def _session_rows(store: Store, cells: dict[Any, list[Cell]], rules: tuple[str, ...], zone: str) -> list[Row]:
    found = store.query("select session_key, project, started_at from session")
    about = {key: (project, at) for key, project, at in found}
    rows = []
    for (key, session), own in cells.items():
        project, at = about[key]
        day = at and at.replace(tzinfo=UTC).astimezone(zone_info(zone)).date()
        rows.append(replace(_row(str(session), own, rules), begins=day, project=project))
    return rows


def _largest_first(rows: list[Row], unit: Unit | None) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.results.weight(unit), -row.results.bytes, row.group)))


def _target_rows(cells: dict[Any, list[Cell]], rules: tuple[str, ...], unit: Unit | None) -> tuple[Row, ...]:
    rows = [
        replace(_row(NO_TARGET if target is None else target, own, rules), tool=tool)
        for (tool, target), own in cells.items()
    ]

    def size(row: Row) -> tuple[float, float, int, str, str]:
        repeated, whole = row.rules["repeat-session"].weight(unit), row.results.weight(unit)
        return -repeated, -whole, -row.results.bytes, row.group, row.tool or ""

    return tuple(sorted(rows, key=size))


def _row(
    group: str,
    cells: list[Cell],
    rules: tuple[str, ...],
    *,
    begins: date | None = None,
    partial: bool = False,
) -> Row:
    own = [cell for cell in cells if not cell.is_copy]
    floored = [cell for cell in own if cell.is_floored]
    shown = (Class.TEXT, Class.TRUNCATED)
    return Row(
        group=group,
        results=tally_of(cell.tally for cell in own),
        repeatable=tally_of(cell.tally for cell in own if cell.klass in shown and not cell.is_error),
        by_class={kind.value: tally_of(cell.tally for cell in own if cell.klass == kind) for kind in Class},
        errors=tally_of(cell.tally for cell in own if cell.is_error),
        copies=tally_of(cell.tally for cell in cells if cell.is_copy),
        rules=_repeats(own, rules),
        floor=tally_of(cell.tally for cell in floored),
        rules_floor=_repeats(floored, rules),
        begins=begins,
        partial=partial,
    )


def _repeats(cells: list[Cell], rules: tuple[str, ...]) -> dict[str, Tally]:
    return {
        rule: tally_of(cell.tally for cell in cells if cell.repeats[place])
        for place, rule in enumerate(rules)
    }


def _label(grouped: Any, by: By, titles: dict[str, str]) -> str:
    if by == "agent":
        source, agent, is_subagent = grouped
        name = agent or ("subagent" if is_subagent else None)
        return f"{titles.get(source, source)}: {name}" if name else titles.get(source, source)
    return f"no {by}" if grouped is None else str(grouped)


def _source_titles() -> dict[str, str]:
    from dedupstats.sources import all_sources

    return {source.name: source.title for source in all_sources()}


def _is_cut(begins: date, by: By, window: Window, zone: str) -> bool:
    """Whether the window holds only a part of a day, week or month (fault case T09)."""
    if by == "month":
        ends = (begins.replace(day=1) + timedelta(days=31)).replace(day=1)
    else:
        ends = begins + timedelta(days=7 if by == "week" else 1)
    return (window.since is not None and window.since > day_start(begins, zone)) or (
        window.until is not None and window.until < day_start(ends, zone)
    )
