"""Originals and copies, the families that copies tie together, and requests that several files hold.

The rules are those of claude-code.md section 15 (Copy, Requests in two files); they hold for every source,
because sources say in `copy_key` and `request_key` what is one and the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupstats.store import Store

_ORIGINALS = """
create or replace temp table original as
with member as (
    select e.emission_key, e.copy_key, e.is_return, e.is_fork, e.ts, e.is_home, c.ended_at, c.path, e.ordinal
    from raw.emission e
    join raw.context c using (context_key)
    where e.copy_key in (select copy_key from raw.emission group by copy_key having count(*) > 1)
)
select emission_key,
    first_value(emission_key) over rank as copy_of
from member
window rank as (
    partition by copy_key
    order by is_return, is_fork, ts nulls last, not is_home, ended_at nulls last, path, ordinal
)
"""
"""Emissions that have copies, each with its original; an original is a copy of itself here."""

_TIES = """
select distinct copy_key, session_key from (
    select e.copy_key, c.session_key
    from raw.emission e
    join original o using (emission_key)
    join raw.context c using (context_key)
    union all
    select r.request_key, c.session_key
    from raw.request r
    join raw.context c using (context_key)
    where r.request_key in (select request_key from raw.request group by request_key having count(*) > 1)
)
order by all
"""

_SESSIONS = """
select session_key, min(source), min(session_id),
    arg_min(cwd, (kind <> 'main', started_at is null, started_at, path)) filter (cwd is not null)
from raw.context
group by session_key
order by session_key
"""

_REQUESTS = """
insert into derived.request
with shared as (select request_key from raw.request group by request_key having count(*) > 1)
select request_key, context_key, input_tokens, cache_read_tokens, cache_write_5m_tokens,
    cache_write_1h_tokens, output_tokens, coalesce(output_known, false), 1
from raw.request
where request_key not in (from shared)
union all
select request_key, context_key, max(input_tokens) over same, max(cache_read_tokens) over same,
    max(cache_write_5m_tokens) over same, max(cache_write_1h_tokens) over same,
    max(output_tokens) over same, coalesce(bool_or(output_known) over same, false), count(*) over same
from raw.request r
join raw.context c using (context_key)
where request_key in (from shared)
window same as (partition by request_key)
qualify row_number() over (
    partition by request_key
    order by c.kind = 'side', r.is_sidechain, r.is_fork, r.ts nulls last, not r.is_home,
        c.ended_at nulls last, c.path, r.line
) = 1
"""
"""What one file holds alone passes the windows by."""


def settle_copies(store: Store) -> None:
    """Choose the original of everything that is held more than once, into the temporary table `original`.

    The original carries no mark of a fork, has the earliest time, then stands in the file that its session
    id names, then in the file that ends first, then in the first path.
    """
    store.query(_ORIGINALS)


def settle_sessions(store: Store) -> None:
    """Fill `derived.session`: sessions, and the family of those that share an emission or a request.

    A family is named by the smallest key among its sessions, so that the order of imports does not matter.
    """
    ties: dict[int, int] = {}
    first_of: dict[int, int] = {}

    def root(key: int) -> int:
        while (parent := ties.get(key, key)) != key:
            ties[key] = ties.get(parent, parent)
            key = parent
        return key

    for shared, session in store.query(_TIES):
        one, other = root(first_of.setdefault(shared, session)), root(session)
        ties[max(one, other)] = min(one, other)
    store.query("delete from derived.session")
    store.append(
        "derived.session",
        [(key, source, name, root(key), cwd) for key, source, name, cwd in store.query(_SESSIONS)],
    )


def settle_requests(store: Store) -> None:
    """Fill `derived.request`: each request once, each usage field the maximum over all its rows.

    It belongs to an agent file before an in-file sidechain, to a real context before a side request, else
    as originals do.
    """
    store.query("delete from derived.request")
    store.query(_REQUESTS)
