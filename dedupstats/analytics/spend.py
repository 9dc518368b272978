"""Where tokens and money go: the input cost of requests, by what stood in their prompts.

The figures are those of the views `request_cost` and `request_share`, summed; the pieces of a request add up
to what it recorded (token-economics.md 2.2). Money is in USD at list prices of each request's own time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from dedupstats.analytics.units import exact_sum
from dedupstats.analytics.window import Window, fixed_offset, local_zone, zone_info
from dedupstats.economics.prompt import Kind
from dedupstats.errors import UsageError
from dedupstats.history.pricing import basis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.store import Store

By = Literal["project", "model", "agent", "session", "day"]


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the input of requests.

    Attributes:
        tokens: Tokens times requests that carried them, all prices.
        priced_tokens: Those of requests with a price.
        usd: What those cost.
        again_tokens: Tokens that an expired cache made requests send once more at full price.
        again_usd: What those cost.
    """

    tokens: float = 0.0
    priced_tokens: float = 0.0
    usd: float = 0.0
    again_tokens: float = 0.0
    again_usd: float = 0.0

    def __add__(self, other: Slice) -> Slice:
        return Slice(
            self.tokens + other.tokens,
            self.priced_tokens + other.priced_tokens,
            self.usd + other.usd,
            self.again_tokens + other.again_tokens,
            self.again_usd + other.again_usd,
        )


@dataclass(frozen=True, slots=True)
class SpendRow:
    """One group's figures.

    Attributes:
        group: Name of the project, model, agent; id of the session; day.
        requests: Calls of the model, each counted once.
        unpriced: Those whose model has no price.
        modelled: Those without usage in the log: their prompt is estimated.
        floorless: Those of them before which their context had no usage either: its fixed start is not known
            and in no figure.
        expired: Those before which the cache had expired.
        input: All of the input.
        by_kind: The input by kind of piece (`floor`, `result` ...); they add up to it.
        by_tool: The kind `result` by tool.
        output_tokens: Tokens of the answers, known or estimated.
        estimated_output_tokens: The part that is estimated.
        output_usd: What the answers with a price cost.
    """

    group: str
    requests: int = 0
    unpriced: int = 0
    modelled: int = 0
    floorless: int = 0
    expired: int = 0
    input: Slice = Slice()
    by_kind: dict[str, Slice] = field(default_factory=dict)
    by_tool: dict[str, Slice] = field(default_factory=dict)
    output_tokens: float = 0.0
    estimated_output_tokens: float = 0.0
    output_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Carrying:
    """How often the tokens of tool results were sent.

    Attributes:
        tokens: First-pass tokens of results, copies left out.
        carried_tokens: Tokens times requests that carried them, by copies too.
        median_requests: Median over sessions of carried by first-pass tokens; None without any.
        by_level: First-pass tokens by how they are known (0 to 5, see `emission_cost.level`).
    """

    tokens: float
    carried_tokens: float
    median_requests: float | None
    by_level: dict[int, float]


@dataclass(frozen=True, slots=True)
class Spend:
    """Where the input of requests went.

    Attributes:
        by: What rows are groups of; None: there is the total alone.
        rows: Dearest first, then by name; days in order of time.
        total: All rows together.
        carrying: Of the tool results in the same window.
        floor: Median first prompt of contexts, tokens; None without any.
        basis: Where prices are from, with their date.
        undated: Requests without a time: priced at the newest time known, and left out of a window with a
            beginning or an end.
        assumed_writes: Tokens written to the cache for a time that the log does not tell: priced as if for 5
            minutes.
        backwards: Requests with a time before that of the one before them in their context: no pause is told.
        window: What was counted.
        zone: Time zone of days.
    """

    by: By | None
    rows: tuple[SpendRow, ...]
    total: SpendRow
    carrying: Carrying
    floor: float | None
    basis: str | None
    undated: int
    assumed_writes: int
    backwards: int
    window: Window
    zone: str


def spend(
    store: Store, *, by: By | None = None, window: Window | None = None, tz: str | None = None
) -> Spend:
    """Where the input of requests went.

    Args:
        store: An open store; reading is enough.
        by: What to group by; None: only the total.
        window: What to count: requests by their own time, model and session; tools are no matter.
        tz: Time zone of days; by default the window's, else the local one.

    Raises:
        UsageError: `by` or `tz` is unknown.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     spend(store, tz="UTC").total.requests
        0
    """
    if by is not None and by not in get_args(By):
        raise UsageError(f"cannot group by {by!r}", f"known are {', '.join(get_args(By))}")
    window = replace(window or Window(), tools=())
    zone = tz or window.zone or local_zone()
    zone_info(zone)
    rows = _rows(store, window, _group(by, zone))
    named = [replace(row, group=_label(key, by)) for key, row in rows.items()]
    where, values = replace(window, since=None, until=None).where()
    ((undated,),) = store.query(f"select count(*) from request_cost where ts is null and {where}", values)
    return Spend(
        by=by,
        rows=() if by is None else tuple(sorted(_merged(named), key=_by_name if by == "day" else _dearest)),
        total=_summed("total", named),
        carrying=carrying(store, window),
        floor=_floor(store, window),
        basis=basis(store),
        undated=undated,
        assumed_writes=_assumed_writes(store, window),
        backwards=_backwards(store, window),
        window=window,
        zone=zone,
    )


def carrying(store: Store, window: Window) -> Carrying:
    """How often the tokens of tool results in a window were sent."""
    where, values = window.where()
    lives = (
        "with life as (select original_key as emission_key, "
        f"{exact_sum('carried_tokens')} as carried from emission_cost group by all), "
        "result as (select e.session_key, c.level, c.tokens, l.carried from emission e "
        "join emission_cost c using (emission_key) join life l using (emission_key) "
        f"where not e.is_copy and e.emission_key in (select emission_key from emission where {where})) "
    )
    levels = store.query(
        f"{lives} select level, {exact_sum('tokens')}, {exact_sum('carried')} from result "
        "group by all order by all",
        values,
    )
    ((median,),) = store.query(
        f"{lives} select median(requests) from (select sum(carried) / sum(tokens) as requests from result "
        "group by session_key having sum(tokens) > 0)",
        values,
    )
    return Carrying(
        sum(tokens for _, tokens, _ in levels),
        sum(carried for *_, carried in levels),
        median,
        {level: tokens for level, tokens, _ in levels},
    )


# -- SQL -----------------------------------------------------------------------------------------------------


def _group(by: By | None, zone: str) -> str:
    if by == "agent":
        return "row(source, agent, context_kind = 'agent')"
    if by == "session":
        return "row(session_key, session_id)"
    if by == "day":
        offset = fixed_offset(zone)
        if offset is not None:
            return f"(ts + to_seconds({offset.total_seconds()}))::date"
        # the views' times are UTC without a zone
        return f"timezone('{zone}', timezone('UTC', ts))::date"
    return by or "0"


def _rows(store: Store, window: Window, group: str) -> dict[Any, SpendRow]:
    where, values = window.where()
    priced = "input_usd is not null"
    found = store.query(
        f"select {group} as grouped, count(*), count(*) filter (input_usd is null), "
        f"count(*) filter (is_modelled), count(*) filter (is_modelled and {_FLOORLESS}), "
        "count(*) filter (is_expired), "
        f"{exact_sum('output_tokens')}, {exact_sum('output_tokens', 'not is_output_known')}, "
        f"{exact_sum('output_usd', priced)} from request_cost where {where} group by all order by all",
        values,
    )
    kinds: dict[Any, dict[str, Slice]] = defaultdict(dict)
    tools: dict[Any, dict[str, Slice]] = defaultdict(dict)
    sums = ", ".join(
        (
            exact_sum("s.tokens"),
            exact_sum("s.tokens", "s.usd is not null"),
            exact_sum("s.usd", "s.usd is not null"),
            exact_sum("s.again_tokens"),
            exact_sum("s.again_usd", "s.usd is not null"),
        )
    )
    for grouped, kind, label, *figures in store.query(
        f"with counted as (select request_key, {group} as grouped from request_cost where {where}) "
        f"select grouped, s.kind, case when s.kind = 'result' then s.label end as tool, {sums} "
        "from counted join request_share s using (request_key) group by all order by all",
        values,
    ):
        part = Slice(*figures)
        kinds[grouped][kind] = kinds[grouped].get(kind, Slice()) + part
        if kind == Kind.RESULT:
            tools[grouped][label] = part
    return {
        grouped: SpendRow(
            group="",
            requests=requests,
            unpriced=unpriced,
            modelled=modelled,
            floorless=floorless,
            expired=expired,
            input=sum(kinds[grouped].values(), Slice()),
            by_kind={kind.value: kinds[grouped].get(kind.value, Slice()) for kind in Kind},
            by_tool=tools[grouped],
            output_tokens=tokens,
            estimated_output_tokens=estimated,
            output_usd=usd,
        )
        for grouped, requests, unpriced, modelled, floorless, expired, tokens, estimated, usd in found
    }


_FLOORLESS = (
    "context_kind <> 'side' "
    "and request_key not in (select request_key from request_share where kind = 'floor')"
)
"""of a request: nothing in its prompt is known to be the fixed start"""


def _assumed_writes(store: Store, window: Window) -> int:
    where, values = window.where()
    ((tokens,),) = store.query(
        f"select coalesce(sum(assumed_write_tokens), 0)::bigint from request_cost where {where}", values
    )
    return int(tokens)


def _backwards(store: Store, window: Window) -> int:
    where, values = window.where()
    ((found,),) = store.query(
        "with step as (select request_key, ts < lag(ts) over "
        "(partition by context_key order by emissions_before, line) as is_back from request) "
        f"select count(*) from request_cost join step using (request_key) where is_back and {where}",
        values,
    )
    return int(found)


def _floor(store: Store, window: Window) -> float | None:
    where, values = window.where()
    ((median,),) = store.query(
        "select median(tokens) from (select c.context_key, min_by(s.tokens, (c.ts is null, c.ts)) as tokens "
        "from (select * from request_cost "
        f"where {where} and not is_modelled) c join request_share s using (request_key) "
        "where s.kind = 'floor' group by all)",
        values,
    )
    return None if median is None else float(median)


# -- rows ----------------------------------------------------------------------------------------------------


def _label(key: Any, by: By | None) -> str:
    if by == "agent":
        from dedupstats.sources import all_sources

        source, agent, is_subagent = key
        title = {one.name: one.title for one in all_sources()}.get(source, source)
        name = agent or ("subagent" if is_subagent else None)
        return f"{title}: {name}" if name else str(title)
    if by == "session":
        return str(key[1])
    return f"no {by}" if key is None else str(key)


def _merged(rows: Iterable[SpendRow]) -> list[SpendRow]:
    """Rows of one name as one: two sources may call something alike."""
    groups: dict[str, list[SpendRow]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return [own[0] if len(own) == 1 else _summed(name, own) for name, own in groups.items()]


def _summed(group: str, rows: list[SpendRow]) -> SpendRow:
    kinds = {kind.value: Slice() for kind in Kind}
    tools: dict[str, Slice] = {}
    for row in rows:
        for sums, parts in ((kinds, row.by_kind), (tools, row.by_tool)):
            for name, part in parts.items():
                sums[name] = sums.get(name, Slice()) + part
    return SpendRow(
        group,
        sum(row.requests for row in rows),
        sum(row.unpriced for row in rows),
        sum(row.modelled for row in rows),
        sum(row.floorless for row in rows),
        sum(row.expired for row in rows),
        sum((row.input for row in rows), Slice()),
        kinds,
        dict(sorted(tools.items(), key=lambda one: (-one[1].usd, -one[1].tokens, one[0]))),
        sum(row.output_tokens for row in rows),
        sum(row.estimated_output_tokens for row in rows),
        sum(row.output_usd for row in rows),
    )


def _dearest(row: SpendRow) -> tuple[float, float, str]:
    return -row.input.usd, -row.input.tokens, row.group


def _by_name(row: SpendRow) -> str:
    return row.group
