"""The results that cost most to carry: one file read early is paid for at every later request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.analytics.units import exact_sum
from dedupstats.analytics.window import Window
from dedupstats.history.pricing import basis

if TYPE_CHECKING:
    from datetime import datetime

    from dedupstats.store import Store


@dataclass(frozen=True, slots=True)
class Dear:
    """One tool result with what carrying it cost.

    Attributes:
        emission_key: Its key in the views.
        tool: The tool that was called.
        target: What the call is about; None without targets.
        project: Working directory of its session.
        session: Id of its session.
        ts: When it arrived, UTC; None: undated.
        bytes: Size as shown, UTF-8.
        bytes4_tokens: Bytes / 4, rounded up.
        tokens: First-pass tokens.
        level: How these are known (0 to 5, see `emission_cost.level`).
        requests: Requests that carried it, those of its copies too.
        carried_tokens: Tokens times requests.
        usd: What the requests with a price charged; None: none has one.
        share: Of the input cost of all requests of the window, 0 to 1; None: nothing is priced.
        superseded: What came later in its context while it was still carried: `same call` or `same target`
            (read, searched or edited again); None: nothing did.
    """

    emission_key: int
    tool: str
    target: str | None
    project: str | None
    session: str
    ts: datetime | None
    bytes: int
    bytes4_tokens: int
    tokens: float
    level: int
    requests: int
    carried_tokens: float
    usd: float | None
    share: float | None
    superseded: str | None


@dataclass(frozen=True, slots=True)
class Top:
    """The dearest results.

    Attributes:
        rows: Dearest first.
        usd: What all results of the window cost to carry, USD; None: none that was sent has a price.
        input_usd: What all input of the window cost, USD; None: no request has a price.
        results: How many results the window has.
        unpriced: Those of them that requests without a price carried, too.
        basis: Where prices are from, with their date.
        window: What was counted.
    """

    rows: tuple[Dear, ...]
    usd: float | None
    input_usd: float | None
    results: int
    unpriced: int
    basis: str | None
    window: Window


_LIVES = f"""
with life as (
    select original_key as emission_key, sum(requests)::bigint as requests,
        {exact_sum("carried_tokens")} as carried, {exact_sum("usd")} as usd,
        {exact_sum("unpriced_tokens")} as unpriced
    from emission_cost group by all
)
"""

_DEAREST = """,
dearest as materialized (
    select e.*, c.tokens as size, c.level, l.requests, l.carried, l.usd, l.unpriced
    from emission e
    join emission_cost c using (emission_key)
    join life l using (emission_key)
    where not e.is_copy and {where}
    order by l.usd desc, l.carried desc, e.emission_key
    limit $limit
)
-- what came later is looked for behind these alone: behind all results it takes the square of a context
select e.emission_key, e.tool, e.target, e.project, e.session_id, e.ts, e.bytes, e.tokens, e.size, e.level,
    e.requests, e.carried, case when e.unpriced < e.carried or e.carried = 0 then e.usd end,
    (
        select max(case when later.call_key = e.call_key then 'same call' else 'same target' end)
        from emission later
        where later.context_key = e.context_key and later.ordinal > e.ordinal
            and (e.left_at is null or later.ordinal < e.left_at)
            and (later.call_key = e.call_key or later.target_sha64 = e.target_sha64)
    )
from dearest e
order by e.usd desc, e.carried desc, e.emission_key
"""


_COLUMNS = tuple(name for name in Dear.__dataclass_fields__ if name != "share")
"""what the query selects, in order"""


def top(store: Store, *, limit: int = 10, window: Window | None = None) -> Top:
    """The results that cost most to carry, of all projects and tools of a window.

    Args:
        store: An open store; reading is enough.
        limit: How many.
        window: Which results; the cost of each is that of its whole life.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     top(store).rows
        ()
    """
    window = window or Window()
    where, parameters = window.counted()
    ((results, usd, unpriced),) = store.query(
        f"{_LIVES} select count(*), case when count(*) filter (l.unpriced < l.carried) > 0 "
        f"or count(*) filter (l.carried > 0) = 0 then {exact_sum('l.usd')} end, "
        f"count(*) filter (l.unpriced > 0) from emission e join life l using (emission_key) "
        f"where not e.is_copy and {where}",
        parameters,
    )
    inputs, input_values = Window(
        window.since, window.until, window.sources, window.projects, (), window.models, None, window.sessions
    ).where()
    ((input_usd,),) = store.query(
        f"select case when count(input_usd) > 0 or count(*) = 0 then {exact_sum('input_usd')} end "
        f"from request_cost where {inputs}",
        input_values,
    )
    rows = []
    for row in store.query(_LIVES + _DEAREST.format(where=where), parameters | {"limit": limit}):
        known = dict(zip(_COLUMNS, row, strict=True))
        cost = known["usd"]
        share = cost / input_usd if input_usd and cost is not None else None
        rows.append(Dear(**known, share=share))
    return Top(tuple(rows), usd, input_usd, results, unpriced, basis(store), window)
