"""Where tokens go, as tables for people, one flat table for programs, and JSON; and the dearest results."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from dedupstats.analytics.spend import Slice
from dedupstats.economics.prompt import Kind
from dedupstats.economics.tokens import BANDS, Level
from dedupstats.report import money, text
from dedupstats.report.blocks import plural
from dedupstats.report.scope import filters, in_words
from dedupstats.report.tables import Column, Table
from dedupstats.report.targets import short_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.analytics.spend import Spend, SpendRow
    from dedupstats.analytics.top import Top

Unit = Literal["usd", "tokens", "share"]
"""what rows of groups are counted in; their `tokens` are tokens sent"""

WORDS = {
    Kind.RESULT: "tool results",
    Kind.FLOOR: "fixed start of every context",
    Kind.OUTPUT: "the model's own text, sent again",
    Kind.USER: "your text",
    Kind.ATTACHMENT: "attachments",
    Kind.SUMMARY: "summaries",
    Kind.META: "text of the program, hidden or not",
    Kind.SIDE: "summary calls, side questions",
}
_TOOLS = 8
"""Tools with a line of their own in the table for people."""


def short_names(spend: Spend) -> Spend:
    """The same figures with projects cut to their last part, or what tells them apart."""
    if spend.by != "project":
        return spend
    names = text.short_paths(row.group for row in spend.rows)
    return replace(spend, rows=tuple(replace(row, group=names[row.group]) for row in spend.rows))


# -- for people ----------------------------------------------------------------------------------------------


def people_tables(spend: Spend, unit: Unit, extra_notes: Iterable[str] = ()) -> list[Table]:
    """Where the input went, tool results by tool; with groups, one line a group in front."""
    tables = [_parts(spend, extra_notes)]
    if spend.total.by_tool:
        tables.append(_tools(spend))
    return [_groups(spend, unit), *tables] if spend.by is not None else tables


def _cells(part: Slice, whole: Slice) -> tuple[Any, ...]:
    return (
        money.tokens(part.tokens),
        money.usd(paid(part)),
        part_share(part, whole),
        money.usd(part.again_usd) if part.again_usd else "",
    )


_PARTS = (
    Column("tokens", "figure", money.UNITS["sent"]),
    Column("usd", "figure", money.UNITS["usd"]),
    Column("share", "percent"),
    Column("again", "figure", "of it after\na pause"),
)


def _parts(spend: Spend, extra_notes: Iterable[str]) -> Table:
    total = spend.total
    kinds = sorted(
        (kind for kind in Kind if total.by_kind[kind].tokens),
        key=lambda kind: (-total.by_kind[kind].usd, -total.by_kind[kind].tokens),
    )
    rows = [(kind_words(kind, total.floorless), *_cells(total.by_kind[kind], total.input)) for kind in kinds]
    if total.floorless and Kind.FLOOR not in kinds:
        rows.append((WORDS[Kind.FLOOR], "not known", "not known", None, ""))
    return Table(
        title=f"Where input tokens go{_scope(spend)}",
        columns=(Column("part"), *_PARTS),
        rows=rows,
        total=("input", *_cells(total.input, total.input)),
        notes=(*notes(spend), *extra_notes),
    )


def notes(spend: Spend) -> list[str]:
    """What a reader must know beside the figures."""
    total, carrying = spend.total, spend.carrying
    prices = f"{money.BASIS}: {spend.basis or 'no prices yet'}."
    if not total.requests:
        return [prices]
    share = "list price" if total.input.priced_tokens else "tokens, as nothing has a price"
    requests = plural(total.requests, "request")
    answers = f"{money.tokens(total.output_tokens)} tokens{_estimated(total)}"
    said = [
        f"{requests}. {money.SENT}; share: of the {share}.",
        f"Answers, beside it: {answers}, {money.usd(paid_answers(total))}.",
    ]
    if total.expired:
        said.append(
            f"After a pause: {plural(total.expired, 'pause')} outlived the cache, and what had been sent "
            "was paid in full once more."
        )
    if carrying.tokens:
        median = carrying.median_requests
        said.append(
            f"Tool results: {money.tokens(carrying.tokens)} tokens, each sent "
            f"{carrying.carried_tokens / carrying.tokens:.1f} times"
            f"{'' if median is None else f' (median session {median:.1f})'}. "
            f"Tokens: {money.known_by(carrying.by_level)}."
        )
    if total.unpriced:
        priced = total.input.priced_tokens / total.input.tokens if total.input.tokens else None
        said.append(
            f"{text.part_of(total.unpriced, total.requests)} requests have no price; "
            f"{text.percent(priced)} of input tokens have one."
        )
    if total.modelled:
        said.append(
            f"{text.part_of(total.modelled, total.requests)} requests have no usage in the log: their cost "
            "is modelled, as if the cache always hit."
        )
    if total.floorless:
        said.append(f"{floorless(total.floorless)}; shares of the rest are too high.")
    if spend.assumed_writes:
        said.append(
            f"{money.tokens(spend.assumed_writes)} tokens were written to the cache for a time that the log "
            "does not tell: priced as written for 5 minutes."
        )
    if spend.backwards:
        said.append(
            f"{plural(spend.backwards, 'request')} with a time before that of the one before: no pause is "
            "told there."
        )
    if spend.undated:
        is_cut = spend.window.since is not None or spend.window.until is not None
        so = "left out" if is_cut else "priced at the newest one known"
        said.append(f"Without a time, so {so}: {plural(spend.undated, 'request')}.")
    said.append(prices)
    return said


def kind_words(kind: Kind, without_floor: int) -> str:
    """A kind of piece for people; the fixed start is marked where requests are without it."""
    return f"{WORDS[kind]}, where known" if kind is Kind.FLOOR and without_floor else WORDS[kind]


def floorless(requests: int) -> str:
    """What is missing from the input of requests that nothing tells the fixed start of."""
    return f"{plural(requests, 'request')} without usage: fixed start unknown, left out"


def _estimated(row: SpendRow) -> str:
    if not row.estimated_output_tokens:
        return ""
    return f" ({text.percent(row.estimated_output_tokens / row.output_tokens)} estimated)"


def _tools(spend: Spend) -> Table:
    tools = list(spend.total.by_tool.items())
    rows = [(name, *_cells(part, spend.total.input)) for name, part in tools[:_TOOLS]]
    rest = tools[_TOOLS:]
    if rest:
        others = sum((part for _, part in rest), Slice())
        rows.append((f"{len(rest)} others", *_cells(others, spend.total.input)))
    return Table(title="Tool results by tool", columns=(Column("tool"), *_PARTS), rows=rows)


_SHOWN = (Kind.FLOOR, Kind.RESULT, Kind.OUTPUT)


def _groups(spend: Spend, unit: Unit) -> Table:
    columns = [Column(spend.by or ""), Column("requests", "int"), Column("input", "figure")]
    columns += [
        Column("floor", "figure", "fixed\nstart"),
        Column("results", "figure", "tool\nresults"),
        Column("own", "figure", "own text\nagain"),
        Column("rest", "figure", "other"),
        Column("again", "figure", "after\na pause"),
        Column("answers", "figure"),
    ]
    unit_words = {
        "usd": money.UNITS["usd"],
        "tokens": money.UNITS["sent"],
        "share": "shares of the row's input",
    }
    return Table(
        title=f"Input by {spend.by}, {unit_words[unit]}{_scope(spend)}",
        columns=tuple(columns),
        rows=[_group_row(row, unit) for row in spend.rows],
        total=_group_row(spend.total, unit),
    )


def _group_row(row: SpendRow, unit: Unit) -> tuple[Any, ...]:
    shown = [row.by_kind[kind] for kind in _SHOWN]
    rest = sum((part for kind, part in row.by_kind.items() if kind not in _SHOWN), Slice())
    again = Slice(row.input.again_tokens, row.input.again_tokens, row.input.again_usd)
    whole = row.input
    if unit == "tokens":
        cells = [money.tokens(part.tokens) for part in (whole, *shown, rest, again)]
        return (row.group, row.requests, *cells, money.tokens(row.output_tokens))
    if unit == "usd":
        # a part without tokens is no $0 where nothing beside it has a price
        is_priced = paid(whole) is not None
        cells = [money.usd(paid(part) if is_priced else None) for part in (whole, *shown, rest, again)]
        return (row.group, row.requests, *cells, money.usd(paid_answers(row)))
    cells = [text.percent(part_share(part, whole)) for part in (*shown, rest, again)]
    return (row.group, row.requests, money.usd(paid(whole)), *cells, money.usd(paid_answers(row)))


def _scope(spend: Spend | Top) -> str:
    zone = getattr(spend, "zone", None) or spend.window.zone or "UTC"
    words = in_words(filters(spend.window, zone, spend.window.projects))
    return f" ({words})" if words else ""


def paid(part: Slice) -> float | None:
    """Dollars; None where there are tokens and none has a price: never $0 ($03)."""
    return part.usd if part.priced_tokens or not part.tokens else None


def paid_answers(row: SpendRow) -> float | None:
    """What answers cost; None where none has a price."""
    return row.output_usd if row.unpriced < row.requests or not row.requests else None


def part_share(part: Slice, whole: Slice) -> float | None:
    """Of the price where anything has one, else of the tokens."""
    if whole.priced_tokens:
        return part.usd / whole.usd if whole.usd else None
    return part.tokens / whole.tokens if whole.tokens else None


# -- for programs --------------------------------------------------------------------------------------------

ANSWERS = "answers"
"""kind of the rows that hold what the model's answers cost, beside the input"""


def flat_table(spend: Spend) -> Table:
    """One row per group, kind and tool; rows of input add up to it, those of `answers` stand beside it."""
    columns = [
        *([Column(spend.by)] if spend.by else ()),
        Column("kind"),
        Column("tool"),
        Column("tokens", "float"),
        Column("priced_tokens", "float"),
        Column("usd", "float"),
        Column("share_of_tokens", "percent"),
        Column("share_of_usd", "percent"),
        Column("again_tokens", "float"),
        Column("again_usd", "float"),
    ]
    rows = []
    for row in spend.rows if spend.by else (spend.total,):
        head = (row.group,) if spend.by else ()
        parts: list[tuple[str, str | None, Slice]] = [
            (kind.value, None, row.by_kind[kind]) for kind in Kind if kind is not Kind.RESULT
        ]
        parts += [(Kind.RESULT.value, tool, part) for tool, part in row.by_tool.items()]
        for kind, tool, part in parts:
            if part.tokens:
                rows.append((*head, kind, tool, *_numbers(part, row.input)))
        rows.append(
            (*head, ANSWERS, None, row.output_tokens, None, paid_answers(row), None, None, None, None)
        )
    return Table(title="Where input tokens go", columns=tuple(columns), rows=rows)


def _numbers(part: Slice, whole: Slice) -> tuple[float | None, ...]:
    return (
        part.tokens,
        part.priced_tokens,
        paid(part),
        part.tokens / whole.tokens if whole.tokens else None,
        part.usd / whole.usd if whole.usd else None,
        part.again_tokens,
        part.again_usd,
    )


def document(spend: Spend, extra_notes: Iterable[str] = ()) -> dict[str, Any]:
    """Everything in `spend` as members of a JSON document, with the bands of the levels and the notes."""
    members = asdict(spend)
    members["levels"] = {
        str(level.value): {
            "words": BANDS[level].words,
            "median_error": BANDS[level].median,
            "p90_error": BANDS[level].most,
        }
        for level in Level
    }
    members["notes"] = [*notes(spend), *extra_notes]
    return members


# -- the dearest results -------------------------------------------------------------------------------------


_CAME_AGAIN = (
    "Sent: requests that carried it; came again: the same call, or another on the same target, later in its "
    "context while this result was still sent."
)


def top_notes(top: Top) -> list[str]:
    """What the dearest results cost together, beside what, and how their tokens are known."""
    if not top.results:
        return ["No tool result lies in this window."]
    sent = [row.usd for row in top.rows if row.carried_tokens]
    paid = [usd for usd in sent if usd is not None]
    shown = money.usd(sum(paid) if paid or not sent else None)
    results, whole = text.count(top.results), money.usd(top.usd)
    said = [f"They cost {shown}, all {results} results {whole}, all input {money.usd(top.input_usd)}."]
    if top.usd is None:
        said = [f"None of the {results} results has a price; all input: {money.usd(top.input_usd)}."]
    elif top.unpriced:
        unpriced = text.part_of(top.unpriced, top.results)
        said.append(f"{unpriced} results were sent by requests without a price, which are in no dollar.")
    return [
        *said,
        _CAME_AGAIN,
        f"Tokens: {money.known_by(_levels(top))}.",
        f"{money.BASIS}: {top.basis or 'no prices yet'}.",
    ]


def top_table(top: Top) -> Table:
    """The dearest results, for people."""
    names = short_targets(row.target for row in top.rows if row.target)
    rows = [
        (
            row.tool,
            _cut(names[row.target] if row.target else "(no target)"),
            money.tokens(row.tokens),
            row.requests,
            money.usd(row.usd),
            row.share,
            row.superseded or "",
        )
        for row in top.rows
    ]
    return Table(
        title=f"The results that cost most to carry{_scope(top)}",
        columns=(
            Column("tool"),
            Column("target", title="what was read or run"),
            Column("tokens", "figure"),
            Column("requests", "int", "sent"),
            Column("usd", "figure", "list price"),
            Column("share", "percent", "of all\ninput"),
            Column("superseded", title="while carried,\ncame again"),
        ),
        rows=rows,
        notes=tuple(top_notes(top)),
    )


def _levels(top: Top) -> dict[int, float]:
    levels: dict[int, float] = {}
    for row in top.rows:
        levels[row.level] = levels.get(row.level, 0.0) + row.tokens
    return levels


_TARGET_CHARS = 48
"""of a command or path in the table for people"""


def _cut(target: str) -> str:
    return target if len(target) <= _TARGET_CHARS else f"{target[: _TARGET_CHARS - 1]}…"


_TOP_COLUMNS = (
    Column("emission_key", "raw"),
    Column("tool"),
    Column("target"),
    Column("project"),
    Column("session"),
    Column("ts", "time"),
    Column("bytes", "int"),
    Column("bytes4_tokens", "int"),
    Column("tokens", "float"),
    Column("level", "int"),
    Column("requests", "int"),
    Column("carried_tokens", "float"),
    Column("usd", "float"),
    Column("share", "percent"),
    Column("superseded"),
)


def top_flat(top: Top) -> Table:
    """The dearest results, for programs: the members of `Dear` as columns."""
    rows = [tuple(getattr(row, column.name) for column in _TOP_COLUMNS) for row in top.rows]
    return Table(title="The results that cost most to carry", columns=_TOP_COLUMNS, rows=rows)
