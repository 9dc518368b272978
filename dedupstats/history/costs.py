"""What requests and emissions cost: rows go through the economics and come back as tables of `derived`.

Figures depend on the price list: `pricing` tells which one a store's are from.
"""

from __future__ import annotations

from collections import defaultdict, deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.collector import collector_off
from dedupstats.economics.cost import Usage
from dedupstats.economics.events import Asked, Entered, Left, legs
from dedupstats.economics.families import Counts, Visible
from dedupstats.economics.prompt import Kind
from dedupstats.economics.tokens import EXTRAS, Entry
from dedupstats.history.pricing import stamp
from dedupstats.history.within import Within
from dedupstats.model import BoundaryKind, Class, ContextKind, EnteredKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.economics.carry import Costs
    from dedupstats.economics.events import Event, Leg
    from dedupstats.economics.prices import Prices
    from dedupstats.store import Store

USD = 1e-6
"""a millionth of a dollar, in which the economics counts"""

_ROWS = 20_000
"""rows of a chunk of sessions: what is in memory at once"""
_KEPT = 100_000
"""rows of whole chunks that are kept until they are needed again: about 70 MB"""
_FALLBACK = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1e6)
"""when requests are priced if no record of the store has a time, microseconds UTC"""


def settle_costs(store: Store, prices: Prices) -> None:
    """Fill `derived.calibration_fit`, `.request_cost`, `.request_share` and `.emission_cost`.

    In the transaction that is open; copies, sessions and requests must be settled.
    """
    # numpy takes as long to load as an import that finds nothing new to run
    from dedupstats.economics.carry import Cashier
    from dedupstats.history.fits import Fits

    for table in ("request_cost", "request_share", "emission_cost"):
        store.query(f"delete from derived.{table}")
    undated = store.query("select coalesce(max(ts), ?) from raw.request", [_FALLBACK])[0][0]
    with collector_off():
        # what estimates one session is fitted on all
        sessions = _Twice(store)
        fits = Fits(sessions.first())
        fits.save(store)
        for chunk in sessions.second():
            cashier = Cashier(prices, undated)
            for contexts in chunk:
                families = fits.families(contexts[0].source)
                factor = fits.factor(contexts[0].session_key)
                for one in contexts:
                    cashier.take(one.legs, factor=factor, is_side=one.is_side, families=families)
            _write(store, cashier.costs())
    store.query("delete from raw.meta where key in ('prices', 'price_basis')")
    store.query(
        "insert into raw.meta values ('prices', ?), ('price_basis', ?)", [stamp(prices), prices.basis]
    )


class ContextLegs(NamedTuple):
    """What happened in a context, in order."""

    source: str
    session_key: int
    context_key: int
    is_side: bool
    legs: list[Leg]


class _Twice:
    """What happened in all sessions of a store, to be gone through twice.

    What the first time makes is kept for the second one as far as memory allows; the rest is read again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: deque[list[list[ContextLegs]]] = deque()
        self._read_again: list[list[int]] = []

    def first(self) -> Iterator[list[ContextLegs]]:
        """Session by session, each context by context."""
        kept = 0
        for keys, rows in session_chunks(self._store):
            if kept + rows > _KEPT:
                self._read_again.append(keys)
                yield from _sessions(self._store, keys)
            else:
                kept += rows
                self._kept.append(list(_sessions(self._store, keys)))
                yield from self._kept[-1]

    def second(self) -> Iterator[Iterable[list[ContextLegs]]]:
        """The same in chunks; what was kept is given up."""
        while self._kept:
            yield self._kept.popleft()
        for keys in self._read_again:
            yield _sessions(self._store, keys)


def session_legs(store: Store) -> Iterator[list[ContextLegs]]:
    """What happened in every session, context by context: for measurements of the rules themselves."""
    for keys, _ in session_chunks(store):
        yield from _sessions(store, keys)


# -- from rows to events -------------------------------------------------------------------------------------


def session_chunks(store: Store) -> Iterator[tuple[list[int], int]]:
    """Session keys, so many at once that their rows fit in memory; and how many rows they are."""
    sizes = store.query(
        """
        select c.session_key, count(*) from raw.context c
        join (select context_key from raw.request union all select context_key from raw.emission
            union all select context_key from raw.entered) using (context_key)
        group by all order by all
        """
    )
    chunk: list[int] = []
    rows = 0
    for key, count in sizes:
        chunk.append(key)
        rows += count
        if rows >= _ROWS:
            yield chunk, rows
            chunk, rows = [], 0
    if chunk:
        yield chunk, rows


_CONTEXTS = """
select c.session_key, c.context_key, c.source, c.kind from raw.context c
where c.session_key in (select session_key from costed) order by all
"""
_REQUESTS = """
select r.context_key, r.emissions_before, r.line, r.request_key, r.ts, model.text, tier.text,
    coalesce(d.input_tokens, 0), coalesce(d.cache_read_tokens, 0), coalesce(d.cache_write_5m_tokens, 0),
    coalesce(d.cache_write_1h_tokens, 0), d.output_tokens, d.output_known and d.output_tokens is not null,
    r.text_bytes, r.tool_input_bytes, r.thinking_bytes, r.calls,
    r.hidden_thinking, d.context_key = r.context_key
from raw.request r
join derived.request d using (request_key)
join raw.context c on c.context_key = r.context_key
left join raw.name model on model.name_key = r.model_key
left join raw.name tier on tier.name_key = r.tier_key
where c.session_key in (select session_key from costed)
order by r.context_key, r.emissions_before, r.line, r.request_key
"""
_EMISSIONS = """
select e.context_key, e.ordinal, e.line, e.emission_key, t.name, e.class, e.bytes, e.letters, e.digits,
    e.newlines, e.other_ascii, e.non_ascii, e.o200k_tokens
from raw.emission e
join raw.context c using (context_key)
join raw.tool t using (tool_key)
where c.session_key in (select session_key from costed)
order by e.context_key, e.ordinal
"""
_ENTERED = """
select e.context_key, e.emissions_before, e.line, e.kind, type.text, e.bytes, e.letters, e.digits,
    e.newlines, e.other_ascii, e.non_ascii
from raw.entered e
join raw.context c using (context_key)
left join raw.name type on type.name_key = e.type_key
where c.session_key in (select session_key from costed)
order by e.context_key, e.emissions_before, e.line, e.kind, type.text, e.bytes
"""
_BOUNDARIES = """
select b.context_key, b.at_ordinal, b.line, b.kind, b.kept, b.removed
from raw.boundary b
join raw.context c using (context_key)
where c.session_key in (select session_key from costed)
order by b.context_key, b.at_ordinal, b.line, b.kind
"""

_CLEARS = (BoundaryKind.COMPACTION, BoundaryKind.CLEAR)
_KINDS: dict[str, Kind] = {
    EnteredKind.USER: Kind.USER,
    EnteredKind.ATTACHMENT: Kind.ATTACHMENT,
    EnteredKind.SUMMARY: Kind.SUMMARY,
    EnteredKind.SYSTEM: Kind.META,
}


def _sessions(store: Store, keys: list[int]) -> Iterator[list[ContextLegs]]:
    store.query("create or replace temp table costed (session_key bigint)")
    store.append("costed", [(key,) for key in keys])
    placed: Within[Event] = Within()
    for context, before, line, *row in store.query(_REQUESTS):
        key, at, model, tier, uncached, read, short, long, output, is_known, *visible, is_billed = row
        usage = Usage(uncached, read, short, long) if uncached or read or short or long else None
        asked = Asked(
            key, at, model, tier, usage, output, bool(is_known), Visible._make(visible), bool(is_billed)
        )
        placed.request(context, before, line, asked)
    for context, ordinal, line, key, tool, klass, *counts in store.query(_EMISSIONS):
        entry = Entry(Counts._make(counts), True, klass == Class.IMAGE)
        placed.result(context, ordinal, line, Entered(key, ordinal, Kind.RESULT, tool, entry))
    for context, before, line, kind, label, *counts in store.query(_ENTERED):
        is_attachment = kind == EnteredKind.ATTACHMENT
        extra = EXTRAS.get(label) if is_attachment else None
        entry = Entry(Counts(*counts), False, False, extra, kind == EnteredKind.USER)
        one = Entered(None, None, _KINDS[kind], label if is_attachment else None, entry)
        placed.text(context, before, line, one)
    for context, ordinal, line, kind, kept, removed in store.query(_BOUNDARIES):
        clears = kind in _CLEARS
        left = Left(clears, kind == BoundaryKind.REWIND, ordinals(kept if clears else removed))
        placed.boundary(context, ordinal, line, left)
    sessions: defaultdict[int, list[ContextLegs]] = defaultdict(list)
    for session, context, source, kind in store.query(_CONTEXTS):
        if context in placed:
            found = list(legs(placed.of(context)))
            sessions[session].append(ContextLegs(source, session, context, kind == ContextKind.SIDE, found))
    yield from sessions.values()


def ordinals(ranges: str | None) -> frozenset[int]:
    """The ordinals of a boundary as it stores them.

    Example:
        >>> sorted(ordinals("0-3,7")), ordinals(None)
        ([0, 1, 2, 3, 7], frozenset())
    """
    found: set[int] = set()
    for part in (ranges or "").split(","):
        first, _, last = part.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


# -- from figures to rows ------------------------------------------------------------------------------------


_INSERT_REQUESTS = f"""
insert into derived.request_cost
select key, read, write_1h, write_5m, uncached, case when not isnan(input_cost) then input_cost * {USD} end,
    output, is_output_known, case when not isnan(output_cost) then output_cost * {USD} end, is_modelled,
    is_expired
from given
"""
_INSERT_SHARES = f"""
insert into derived.request_share
select key, $kinds[category + 1], $labels[category + 1], read, write_1h, write_5m, uncached,
    case when not isnan(cost) then cost * {USD} end, again,
    case when not isnan(again_cost) then again_cost * {USD} end
from given
"""
_INSERT_EMISSIONS = f"""
insert into derived.emission_cost
select key, tokens, level, by_classes, requests, read, write_1h, write_5m, uncached, cost * {USD}, unpriced,
    modelled
from given
"""


def _write(store: Store, costs: Costs) -> None:
    for requests in costs.requests:
        store.insert(_INSERT_REQUESTS, requests._asdict())
    kinds = [category.kind.value for category in costs.categories]
    labels = [category.label for category in costs.categories]
    for shares in costs.shares:
        store.insert(_INSERT_SHARES, shares._asdict(), {"kinds": kinds, "labels": labels})
    store.insert(_INSERT_EMISSIONS, costs.emissions._asdict())
