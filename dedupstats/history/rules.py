"""Each emission's place in the order of arrival, and the repeat rules of DESIGN.md section 6.

Arrival (claude-code.md section 15): within a context by ordinal, between contexts by the running maximum of
times, then path, then line. A rule asks whether an *earlier* emission has something in common with this
one; that is "my place is behind the first place of my group", so one minimum per group answers it for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupstats.store import Store


def _recurs(key: str) -> str:
    """SQL: whether another emission has the same key."""
    shared = f"select {key} from raw.emission group by {key} having count(*) > 1"
    return f"coalesce(a.{key} in ({shared}), false)"


_PLACED = f"""
create or replace temp table placed as
with arrival as (
    select e.emission_key, c.session_key, s.family_key, e.context_key, e.ordinal, e.turn, e.call_key,
        e.norm_key, e.sha64, o.copy_of,
        coalesce(o.copy_of <> e.emission_key, e.is_return) as is_copy,
        e.class in ('text', 'truncated') and not e.is_error as comparable,
        e.left_at,
        row_number() over (
            order by coalesce(e.clock, -9223372036854775807), c.path, e.row_line, e.ordinal, e.context_key
        ) as place
    from (
        -- a return has no line of its own: it arrives with the emission behind which it stands
        select *, max(line) over (partition by context_key order by ordinal) as row_line from raw.emission
    ) e
    join raw.context c using (context_key)
    join derived.session s using (session_key)
    left join original o using (emission_key)
)
select a.* exclude (copy_of),
    case when a.is_copy then a.copy_of end as copy_of,
    -- an original is no repeat of its own copies, wherever their files stand in the order
    case when a.is_copy then greatest(a.place, coalesce(b.place, a.place)) else a.place end as turn_up,
    row_number() over (partition by a.family_key order by a.place) - 1 as seq,
    {_recurs("call_key")} or {_recurs("norm_key")} as call_recurs,
    {_recurs("sha64")} as bytes_recur
from arrival a
left join (
    select emission_key, place from arrival where emission_key in (select copy_of from original)
) b on b.emission_key = a.copy_of
"""

_BIG = "9223372036854775807"


def _rules(key: str) -> dict[str, str]:
    """SQL of the rules that compare calls by `key` (`call_key` or `norm_key`).

    Call rules count any earlier emission, whatever its class; byte rules want text on both sides. The
    earlier one may be a copy, except for the pooled rules.
    """
    judged = f"{key} is not null and comparable and not is_copy"
    return {
        "call_pooled": (
            f"{judged} and place > min(case when not is_copy then place end) over (partition by {key})"
        ),
        "call_session": f"{judged} and turn_up > min(turn_up) over (partition by session_key, {key})",
        "repeat_pooled": (
            f"{judged} and place > min(case when comparable and not is_copy then place end) "
            f"over (partition by {key}, sha64)"
        ),
        "repeat_session": (
            f"{judged} and turn_up > min(case when comparable then turn_up end) "
            f"over (partition by session_key, {key}, sha64)"
        ),
        "repeat_turn": (
            f"{judged} and turn_up > min(case when comparable then turn_up end) "
            f"over (partition by context_key, turn, {key}, sha64)"
        ),
    }


def _flags() -> str:
    exact, normalised = _rules("call_key"), _rules("norm_key")
    return ",\n    ".join(
        [f"coalesce({sql}, false) as {rule}" for rule, sql in exact.items()]
        + [f"coalesce({sql}, false) as norm_{rule}" for rule, sql in normalised.items()]
    )


_CALLS = f"""
create or replace temp table by_call as
select emission_key,
    {_flags()},
    -- a copy turns up with its original, of which it is no earlier one
    lag(emission_key) over (
        partition by session_key, call_key, sha64, comparable order by turn_up, is_copy, place
    ) as before_key
from placed
where call_recurs
"""
"""Rules that want the same call. What shares its call with nothing passes the windows by."""

_BYTES = f"""
create or replace temp table by_bytes as
select emission_key,
    coalesce(
        comparable and not is_copy and turn_up > min(case when comparable then turn_up end)
        over (partition by session_key, sha64), false) as bytes_session,
    turn_up = min(turn_up) over (partition by session_key, sha64) as are_new_bytes,
    coalesce(
        comparable and not is_copy and max(case when comparable then coalesce(left_at, {_BIG}) end) over (
            partition by context_key, sha64 order by ordinal rows between unbounded preceding and 1 preceding
        ) > ordinal, false) as in_sight
from placed
where bytes_recur
"""
"""Rules that want the same bytes; likewise."""


def _or_false(*rules: str) -> str:
    return ", ".join(f"coalesce({rule}, false)" for rule in rules)


_INSERT = f"""
insert into derived.emission
select p.emission_key, session_key, family_key, seq, copy_of,
    {
    _or_false(
        "in_sight",
        "call_pooled",
        "call_session",
        "repeat_pooled",
        "bytes_session",
        "repeat_session",
        "repeat_turn",
        "repeat_session and in_sight",
        "call_session and coalesce(are_new_bytes, true)",
        "norm_call_pooled",
        "norm_call_session",
        "norm_repeat_pooled",
        "norm_repeat_session",
        "norm_repeat_turn",
        "norm_repeat_session and in_sight",
        "norm_call_session and coalesce(are_new_bytes, true)",
    )
},
    case when repeat_session then before_key end
from placed p
left join by_call c on c.emission_key = p.emission_key
left join by_bytes b on b.emission_key = p.emission_key
"""


def settle_rules(store: Store) -> None:
    """Fill `derived.emission`: session, family, seq, original, one boolean per repeat rule, what is repeated.

    Columns are those of the view `emission_repeat`; copies have every rule false and repeat nothing.
    """
    store.query(_PLACED)
    store.query(_CALLS)
    store.query(_BYTES)
    store.query("delete from derived.emission")
    store.query(_INSERT)
    for table in ("placed", "by_call", "by_bytes"):
        store.query(f"drop table {table}")
