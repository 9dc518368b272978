"""A history as replays need it: emissions and events in order of arrival, in chunks of whole families.

Everything comes from views. It is sorted once into temporary tables of numbers and read back in pieces, so
that memory does not grow with the history (methods.md section 2.1).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dedupstats.economics.families import FAMILIES, family_of
from dedupstats.economics.tokens import Level
from dedupstats.model import Provenance, ReadOnly
from dedupstats.policies.base import NEVER, Event, EventKind
from dedupstats.simulate.chunk import NO, UNKNOWN, YES, Arrival, Chunk, Columns, ContextFacts
from dedupstats.simulate.score import Tally, total
from dedupstats.simulate.weights import COLUMNS
from dedupstats.sources import all_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupstats.economics.tokens import TokenRule
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.store import Store

_CODES: Final = {ReadOnly.NO.value: NO, ReadOnly.YES.value: YES, ReadOnly.UNKNOWN.value: UNKNOWN}

Scope = Literal["session", "history"]
"""what shares state: each session for itself, or one process over all sessions in order of time"""

CHUNK: Final = 20_000
"""emissions that are held at once, if families are not larger; more is slower (methods.md 2.1)"""

FLAGS: Final = (
    "call_pooled",
    "repeat_pooled",
    "repeat_session",
    "repeat_in_sight",
    "bytes_session",
    "in_sight",
    "norm_repeat_session",
)
"""the repeat rules that ladders are made of"""

_TOOLS = """
create or replace temp table replay_tool as
select row_number() over (order by tool, category, read_only, provenance) - 1 as tool_no, *
from (
    select distinct tool, coalesce(category, '') as category, read_only, provenance from emission where {only}
)
"""

_CONTEXTS = """
create or replace temp table replay_context as
select context_key, parent_key, kind, session_key, native_id, session_id from context where {only}
"""

#: A sub-session of docker-agent has an id of its own; a ledger that subagents share is the root's.
_LEDGER = (
    "coalesce(case when {row}.ledger_session = c.native_id and c.kind = 'agent' then c.session_id "
    "else {row}.ledger_session end, '')"
)

#: RTK's name for a call where it is asked about every tool (claude-code.md section 15). Where the import kept
#: no targets, a command of the longest kind is assumed: a marker must not come out shorter than it is.
_IDENTITY = """
case when e.tool in ('Read', 'mcp__acp__Read') then 5 + coalesce(strlen(e.target), 200)
    when e.tool in ('Bash', 'mcp__acp__Bash') then coalesce(strlen(left(e.target, 200)), 200)
    else e.tool_bytes end
"""

#: The tokenizer's family of each model, which tells the tokens of a marker; 0: not known.
_MODELS = """
create or replace temp table replay_model as
select unnest($models) as model, unnest($families)::tinyint as family
"""

_LEDGERS = f"""
create or replace temp table replay_ledger as
select row_number() over (order by process, ledger) - 1 as ledger_no, process, ledger
from (
    select distinct {{process}} as process, {_LEDGER.format(row="e")} as ledger
    from emission e
    join replay_context c using (context_key)
    where {{only}}
    union
    select distinct {{process}}, {_LEDGER.format(row="v")}
    from event v
    join replay_context c using (context_key)
    where {{only}}
)
"""

#: What one id of a session may stand for: rows of two families can carry the same one.
_PROCESSES: Final[dict[Scope, str]] = {"session": "family_key", "history": "0"}

_ORDERS: Final[dict[Scope, str]] = {
    "session": "family_key, seq",
    "history": "clock, family_key, seq",
}

_ROWS = f"""
create or replace temp table replay_row as
with listed as (
    -- narrow types: a million rows are to fit in memory, twice while they are sorted
    select e.family_key, e.seq::integer as seq, e.emission_key, coalesce(e.copy_of, 0) as copy_of, e.is_copy,
        e.session_key, e.context_key, e.ordinal::integer as ordinal, coalesce(e.left_at, {NEVER}) as left_at,
        coalesce(epoch_us(e.clock), 0) as clock, t.tool_no::integer as tool_no,
        {_LEDGER.format(row="e")} as ledger,
        e.is_error, e.did_not_run, coalesce(e.call_key, 0) as call_key, e.call_key is not null as has_call,
        coalesce(e.args_sha64, 0) as args_sha64, e.sha64, e.bytes::integer as bytes,
        e.lines::integer as lines,
        e.class in ('text', 'truncated') as repeatable, coalesce(e.shell_reads, false) as shell_reads,
        case e.rtk_mode when 'exact' then 1 when 'mixed' then 2 else 0 end::tinyint as hook,
        coalesce(e.rtk_identity_bytes, 0)::integer as hook_identity, ({_IDENTITY})::integer as identity,
        {", ".join(f"r.{flag}" for flag in FLAGS)},
        coalesce(m.family, 0)::tinyint as family,
        {{counted}} as is_counted
    from emission e
    join emission_repeat r using (emission_key)
    join replay_context c using (context_key)
    join replay_tool t
        on t.tool = e.tool and t.category = coalesce(e.category, '') and t.read_only = e.read_only
            and t.provenance = e.provenance
    left join replay_model m on m.model = e.model
    where {{only}}
)
select (row_number() over (order by {{order}}) - 1)::integer as position, listed.* exclude (ledger),
    l.ledger_no::integer as ledger_no
from listed
join replay_ledger l on l.ledger = listed.ledger and l.process = {{process}}
order by position
"""

#: What results and their copies cost, rounded row by row so that sums do not depend on their order.
_COPIED = """
create or replace temp table replay_copied as
select o.position, r.position < o.position as is_early, {sums}
from replay_row r
join replay_row o on o.emission_key = r.copy_of
join emission_cost c on c.emission_key = r.emission_key
where r.is_copy
group by all
"""
_COSTS = """
create or replace temp table replay_cost as
select r.position, round_even(c.tokens, 0)::bigint as tokens, c.level::tinyint as level, {sums}
from replay_row r
join emission_cost c using (emission_key)
left join replay_copied k on k.position = r.position and not k.is_early
where not r.is_copy
order by r.position
"""
"""A copy is shown as its original was, so what elides the original saves on both; but a copy that arrived
before it was shown in full (as verdicts have it) and costs what it cost."""

_SUMS: Final = {
    "sent": "c.carried_tokens",
    "nano_usd": "c.usd * 1e9",
    "unpriced_sent": "c.unpriced_tokens",
    "modelled_sent": "c.modelled_tokens",
}

_LEVEL = f"coalesce(k.level, {Level.UNKNOWN.value})"
_WEIGHT = ", ".join(
    (
        "coalesce(k.tokens, (r.bytes + 3) // 4) as tokens",
        *(f"coalesce(k.{name}, 0) as {name}" for name in _SUMS),
        "(k.position is null)::tinyint as uncosted",
        f"{_LEVEL}::tinyint as level",
    )
)
"""Results without a figure of costs count by bytes / 4."""

_WEIGHED = f"""
with chosen as ({{chunk}})
select r.* replace (case when {_LEVEL} = {Level.UNKNOWN.value} then 0 else r.family end as family), {_WEIGHT}
from chosen r
left join (
    select * from replay_cost where position between {{begin}} and $last
) k using (position)
order by r.position
"""

_COUNTED = f"""
with counted as (
    select 1 as results, r.bytes, {_WEIGHT}
    from replay_row r
    left join replay_cost k using (position)
    where r.is_counted and not r.is_copy
    union all
    -- copies that no policy touches are carried all the same
    select 0, 0, 0, k.sent, k.nano_usd, k.unpriced_sent, k.modelled_sent, 0, {Level.UNKNOWN.value}
    from replay_copied k
    join replay_row r using (position)
    where k.is_early and r.is_counted
)
select level, {", ".join(f"sum({name})::bigint" for name in COLUMNS)} from counted group by all order by all
"""

_FAMILIES = """
create or replace temp table replay_family as
select family_key, min(position) as first, max(position) as last
from replay_row
group by family_key
"""

_LIVED = """
create or replace temp table replay_lived as
select ledger_no, min(position) as first, max(position) as last
from replay_row
group by ledger_no
"""

_EVENTS = f"""
create or replace temp table replay_event as
with happened as (
    select v.family_key, v.kind, v.context_key, l.ledger_no, c.kind = 'main' as is_main, v.seq, v.ts, v.line
    from event v
    join replay_context c using (context_key)
    join replay_ledger l on l.ledger = {_LEDGER.format(row="v")} and l.process = {{process}}
    -- a clear or rewind is no event for any engine, and a message after a result ends no run
    where v.kind in ('compaction', 'turn') and not v.is_steering
),
lived as (
    select ledger_no, context_key, min(position) as first, max(position) + 1 as behind
    from replay_row
    group by grouping sets ({{groups}})
)
select {{place}} as position, 2 as rank, h.kind, h.context_key, h.ledger_no,
    h.kind <> 'turn' or h.is_main as is_of_session, h.seq, h.ts, h.line
from happened h
join replay_family f using (family_key)
left join replay_row r on r.family_key = h.family_key and r.seq = h.seq
{{clocks}}
union all
select first, 1, 'session_start', context_key, ledger_no, context_key is null, 0, null, 0 from lived
union all
select behind, 0, 'session_end', context_key, ledger_no, context_key is null, 0, null, 0 from lived
order by position, rank, seq, ts, line, kind, context_key
"""
"""Rank: what ends behind an emission ends before anything begins. A life has either a context or a ledger;
`is_of_session` tells whether it concerns the ledger that subagents share, besides the context's own."""

_AHEAD = "coalesce(r.position, f.last + 1)"
_PLACES: Final[dict[Scope, str]] = {
    "session": _AHEAD,
    # as its family has it, but before what another family's clock shows to be later
    "history": f"least({_AHEAD}, greatest(coalesce(b.position + 1, 0), coalesce(k.behind, 0)))",
}
_CLOCKS: Final[dict[Scope, str]] = {
    "session": "",
    "history": """
left join replay_row b on b.family_key = h.family_key and b.seq = h.seq - 1
asof left join (select clock, max(position) + 1 as behind from replay_row group by clock) k
    on k.clock <= epoch_us(h.ts)
""",
}

_KINDS: Final = {kind.value: kind for kind in EventKind}
"""by value: to ask the enumeration costs more than to make the event"""

_LIVES: Final[dict[Scope, str]] = {
    "session": "(family_key, ledger_no), (family_key, ledger_no, context_key)",
    "history": "(ledger_no), (ledger_no, context_key)",
}

_NEW = "select * from replay_row where position between $first and $last"
_CHUNKS: Final[dict[Scope, str]] = {
    # whole families, and no ledger is shared between two of them
    "session": _NEW,
    "history": f"""
{_NEW}
    or position < $first and (
        family_key in (select family_key from replay_family where first < $first and last >= $first)
        or ledger_no in (select ledger_no from replay_lived where first < $first and last >= $first)
    )
""",
}
"""New rows, behind those of families and ledgers that began earlier and go on: these can still be anchors."""


class Timeline:
    """A store's history in order, ready to be replayed. Use it while the store is open.

    Args:
        store: An open store; read-only will do.
        scope: What shares state.
        knowledge: What a person says of tools.
        counted: SQL condition on the view `emission` (called `e`): what the figures are to count. All of the
            history is replayed whatever it says.
        parameters: Values of the condition's `$names`.
        families: Only these, as if there were no others; None: all of them.
        tokens: How tokens are counted; by `bytes4` no costs are looked at.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        knowledge: Knowledge,
        counted: str = "true",
        parameters: Mapping[str, Any] | None = None,
        *,
        families: Sequence[int] | None = None,
        tokens: TokenRule = "ladder",
    ) -> None:
        only = "true" if families is None else f"family_key in ({', '.join(map(str, families)) or 'null'})"
        self._store = store
        self._scope: Scope = scope
        self._knowledge = knowledge
        self._tokens: TokenRule = tokens
        self._hinted_effects = frozenset(
            pair for source in all_sources() for pair in getattr(source, "hinted_effects", ())
        )
        process = _PROCESSES[scope]
        for sql in (_TOOLS, _CONTEXTS, _LEDGERS):
            store.query_sparingly(sql.format(only=only, process=process))
        models = [] if tokens == "bytes4" else _models(store)
        store.query_sparingly(
            _MODELS,
            {"models": [model for model, _ in models], "families": [family for _, family in models]},
        )
        rows = _ROWS.format(order=_ORDERS[scope], counted=counted, process=process, only=only)
        store.query_sparingly(rows, dict(parameters or {}))
        if tokens == "ladder":
            whole = ", ".join(f"sum(round_even({sql}, 0))::bigint as {name}" for name, sql in _SUMS.items())
            store.query_sparingly(_COPIED.format(sums=whole))
            own = (
                f"round_even({sql}, 0)::bigint + coalesce(k.{name}, 0) as {name}"
                for name, sql in _SUMS.items()
            )
            store.query_sparingly(_COSTS.format(sums=", ".join(own)))
        store.query_sparingly(_FAMILIES)
        if scope == "history":
            store.query_sparingly(_LIVED)
        store.query_sparingly(
            _EVENTS.format(groups=_LIVES[scope], process=process, place=_PLACES[scope], clocks=_CLOCKS[scope])
        )
        self._tools = store.query(
            "select tool, category, read_only, provenance from replay_tool order by tool_no"
        )
        self._ledgers: list[str] = [
            ledger for (ledger,) in store.query("select ledger from replay_ledger order by ledger_no")
        ]
        self._contexts = {
            key: ContextFacts(parent, kind == "main", session)
            for key, parent, kind, session in store.query(
                "select context_key, parent_key, kind, session_key from replay_context"
            )
        }

    @cached_property
    def counted(self) -> Tally:
        """What is counted, copies left out (what carrying them cost is their original's)."""
        return total(tally for _, tally in self._by_level)

    @cached_property
    def known_by(self) -> dict[int, int]:
        """Tokens of what is counted, by how they are known."""
        return {level: tally.tokens for level, tally in self._by_level if tally.tokens}

    @cached_property
    def _by_level(self) -> list[tuple[int, Tally]]:
        if self._tokens == "bytes4":
            ((results, size, tokens),) = self._store.query(
                "select count(*), coalesce(sum(bytes), 0)::bigint, "
                "coalesce(sum((bytes + 3) // 4), 0)::bigint from replay_row where is_counted and not is_copy"
            )
            return [(Level.UNKNOWN, Tally(results, size, tokens, uncosted=results))]
        return [(level, Tally(*sizes)) for level, *sizes in self._store.query(_COUNTED)]

    @cached_property
    def sessions(self) -> int:
        """Sessions with such results."""
        rows = self._store.query(
            "select count(distinct session_key) from replay_row where is_counted and not is_copy"
        )
        return int(rows[0][0])

    @cached_property
    def stretches(self) -> list[tuple[int, int]]:
        """First and last position of each chunk."""
        if self._scope == "history":
            count = self._store.query("select count(*) from replay_row")[0][0]
            return [(first, min(first + CHUNK, count) - 1) for first in range(0, count, CHUNK)]
        found: list[tuple[int, int]] = []
        for first, last in self._store.query("select first, last from replay_family order by first"):
            if found and last - found[-1][0] < CHUNK:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        return found

    def chunk(self, first: int, last: int) -> Chunk:
        """The chunk of a stretch."""
        rows = _CHUNKS[self._scope]
        if self._tokens == "bytes4":
            rows += " order by position"
        else:
            rows = _WEIGHED.format(chunk=rows, begin="$first" if self._scope == "session" else "0")
        arrays = self._store.arrays(rows, {"first": first, "last": last})
        columns = Columns({name: np.asarray(array) for name, array in arrays.items()})
        start = int(np.searchsorted(columns["position"], first))
        said = [self._said(*tool) for tool in self._tools]
        told, known = (
            np.array([tool[place] for tool in said], dtype=np.int8)[columns["tool_no"]] for place in (1, 2)
        )
        if self._knowledge.shell_reads:
            reads = (known == UNKNOWN) & columns["shell_reads"]
            told, known = np.where(reads, YES, told), np.where(reads, YES, known)
        return Chunk(
            start=start,
            columns=columns,
            tools=[tool[0] for tool in self._tools],
            categories=[category for category, _, _ in said],
            told=told,
            known=known,
            ledgers=self._ledgers,
            arrivals=self._arrivals(first, last, start),
            contexts=self._contexts,
            tokens=self._tokens,
        )

    def chunks(self) -> Iterator[Chunk]:
        """All chunks in order."""
        for first, last in self.stretches:
            yield self.chunk(first, last)

    def _said(self, tool: str, category: str, read_only: str, provenance: str) -> tuple[str, int, int]:
        """A tool's category, what an engine is told of it, and what is known of it.

        A person's word goes before the source's. An engine sees the log's own hint whatever is known better.
        """
        said = self._knowledge.tools.get(tool)
        told = known = read_only
        if (category, tool) in self._hinted_effects:
            known = ReadOnly.NO.value
        if said is not None and said.category is not None:
            category = said.category
        if said is not None and said.read_only is not None:
            known = said.read_only.value
            if provenance != Provenance.HINT.value:
                told = known
        return category, _CODES[told], _CODES[known]

    def _arrivals(self, first: int, last: int, start: int) -> list[Arrival]:
        rows = self._store.query_sparingly(
            "select position, kind, context_key, ledger_no, is_of_session, line from replay_event "
            "where position between ? and ? order by position, rank, seq, ts, line, kind, context_key",
            [first, last],
        )
        return [
            Arrival(
                position - first + start,
                ledger,
                Event(
                    _KINDS[kind],
                    self._ledgers[ledger] if is_of_session else "",
                    "" if context is None else context,
                ),
                line,
            )
            for position, kind, context, ledger, is_of_session, line in rows
        ]


def _models(store: Store) -> list[tuple[str, int]]:
    """Models whose tokenizer is known, each with the number of its family, from 1 on."""
    found = []
    for (model,) in store.query("select distinct model from emission where model is not null order by model"):
        family = family_of(model)
        if family is not None:
            found.append((model, FAMILIES.index(family) + 1))
    return found
