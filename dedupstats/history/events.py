"""What happens between the emissions of a family, in the order in which engines hear of it.

A turn or boundary stands between two emissions of its own context. Where emissions of other contexts lie
between these two, the rule of arrival decides (claude-code.md section 15): running maximum of times, then
path, then line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupstats.store import Store

_UNDATED = "-9223372036854775807"

_HAPPENING = f"""
create or replace temp table happening as
with listed as (
    select context_key, kind, ts, line, at_ordinal as before, false as is_steering from raw.boundary
    union all
    select context_key, 'turn', ts, line, emissions_before, is_steering from raw.turn
),
emission as (
    select e.context_key, e.ordinal, d.seq, e.clock, e.ledger_key
    from raw.emission e
    join derived.emission d using (emission_key)
),
family as (
    select family_key, count(*) as emissions from derived.emission group by family_key
)
select row_number() over () as number, h.context_key, s.family_key, h.kind, h.ts, h.line, h.is_steering,
    c.path, coalesce(behind.ledger_key, ahead.ledger_key) as ledger_key,
    greatest(coalesce(behind.clock, {_UNDATED}), coalesce(h.ts, {_UNDATED})) as clock,
    coalesce(behind.seq + 1, 0) as least, coalesce(ahead.seq, family.emissions) as most
from listed h
join raw.context c using (context_key)
join derived.session s on s.session_key = c.session_key
join family using (family_key)
left join emission behind on behind.context_key = h.context_key and behind.ordinal = h.before - 1
left join emission ahead on ahead.context_key = h.context_key and ahead.ordinal = h.before
"""
"""Each turn and boundary with the places that its own context leaves it. Families without any emission have
nothing that an engine could decide on."""

_INSERT = """
insert into derived.event
with unsettled as (
    select * from happening where least < most
),
arrived as (
    select number, sum(is_emission) over (
        partition by family_key order by clock, path, line, is_emission desc, number
        rows between unbounded preceding and current row
    ) as place
    from (
        select number, family_key, clock, path, line, 0 as is_emission from unsettled
        union all
        select -1, d.family_key, coalesce(e.clock, -9223372036854775807), c.path, e.line, 1
        from raw.emission e
        join derived.emission d using (emission_key)
        join raw.context c using (context_key)
        where d.family_key in (select family_key from unsettled)
    )
    qualify not is_emission
)
select h.context_key, h.family_key,
    case when a.place is null then h.least else least(greatest(a.place, h.least), h.most) end,
    h.kind, h.ledger_key, h.is_steering, h.line, h.ts
from happening h
left join arrived a using (number)
order by h.family_key, 3, h.clock, h.path, h.line, h.kind
"""


def settle_events(store: Store) -> None:
    """Fill `derived.event`; `seq` is the number of emissions of the family that arrived before.

    Columns are those of the view `event`. Needs `derived.emission`.
    """
    store.query(_HAPPENING)
    store.query("delete from derived.event")
    store.query(_INSERT)
    store.query("drop table happening")
