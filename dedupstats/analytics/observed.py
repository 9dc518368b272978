"""What engines that already run have done: markers found in the logs, and whether the model fetched again.

A marker is a result of class `stub`: the host showed it in place of a text. Whether markers backfire is told
by q, the share of them after which the same target was read again, against identical full repeats, after
which nothing had been kept from the model (token-economics.md 7.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupstats.analytics.intervals import clopper_pearson
from dedupstats.analytics.units import exact_sum
from dedupstats.analytics.window import Window
from dedupstats.economics.rebound import break_even, expected_saving
from dedupstats.history.pricing import basis
from dedupstats.simulate.stubs import StubVerdict, stubs

if TYPE_CHECKING:
    from dedupstats.store import Store

WITHIN = 10
"""Requests after a marker in which reading the same target again counts as its consequence (7.6)."""

_VERDICTS = tuple(verdict.value for verdict in StubVerdict)
"""columns of counts, by the names of `Markers`"""

SHARES = (0.0, 0.1, 0.3)
"""Values of q for which the expected saving is told beside the observed one (7.6)."""


@dataclass(frozen=True, slots=True)
class Again:
    """How often the same target was read again.

    Attributes:
        found: So many times.
        of: Of so many.
        sessions: In so many sessions.
        low: Lower bound of the share, Clopper-Pearson, 95 %.
        high: Upper bound.
    """

    found: int
    of: int
    sessions: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The share; None without any."""
        return self.found / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of one engine; verdicts are those of `dedupstats explain --stubs`.

    Attributes:
        source: Whose they are: claude_code, docker_agent, rtk.
        markers: How many.
        sound: What they stand for was in sight of their context.
        attachment: It was, in an attachment alone: the words of the marker were untrue.
        false: What was in sight was older than the file.
        dangling: It had left sight, or had never been there.
        unknown: No earlier full result of the same call is in the context's log.
        tokens: Tokens of the markers themselves.
        saved_tokens: First-pass tokens of what the sound ones stand for, less their own.
        saved_usd: The same as carrying cost in USD; None: nothing of it has a price.
        trip_usd: What one more round trip of each of these would have cost: its own request once more.
        after_marker: How often the target was read again after a marker, whatever its verdict.
        after_repeat: The control: the same after an identical full repeat.
        break_even: Share of markers fetched again at which they save nothing; None: no price.
        expected_usd: Expected saving by assumed share fetched again (`0.1`); empty without a price.
    """

    source: str
    markers: int
    sound: int
    attachment: int
    false: int
    dangling: int
    unknown: int
    tokens: float
    saved_tokens: float
    saved_usd: float | None
    trip_usd: float
    after_marker: Again
    after_repeat: Again
    break_even: float | None
    expected_usd: dict[str, float]


@dataclass(frozen=True, slots=True)
class RtkRecoveries:
    """What RTK's own history tells.

    Attributes:
        commands: Commands that it ran.
        recoveries: Those by which full output was asked for (`rtk proxy`, `rtk bypass`).
        outputs: Outputs that its dedup recorded.
        met_again: How often one of them was met again.
    """

    commands: int
    recoveries: int
    outputs: int
    met_again: int


@dataclass(frozen=True, slots=True)
class Observed:
    """What engines that already run have done.

    Attributes:
        engines: One per engine that has markers, and per source that has identical repeats, by name.
        saved_by_level: Tokens of what sound markers stand for by how they are known (`emission_cost.level`).
        rtk: RTK's own counts.
        basis: Where prices are from, with their date.
        window: What was counted.
    """

    engines: tuple[Markers, ...]
    saved_by_level: dict[int, float]
    rtk: RtkRecoveries
    basis: str | None
    window: Window


_FOLLOWED = f"""
with numbered as (
    select context_key, emissions_before,
        row_number() over (partition by context_key order by emissions_before, line) as number
    from request
),
placed as (
    select e.*, coalesce(n.number, 0) as number,
        -- `rtk proxy COMMAND` fetches what `COMMAND` or `rtk COMMAND` was for
        case when e.target is null then hash(e.target_sha64)
            else hash(regexp_replace(e.target, '^rtk (proxy )?', '')) end as fetched
    from emission e
    asof left join numbered n on n.context_key = e.context_key and n.emissions_before <= e.ordinal
    where e.target_sha64 is not null
),
next as (
    -- the first of all that qualify tells: the others come later still, behind more edits and boundaries
    select *,
        min(ordinal) over (partition by context_key, tool, fetched order by number
            range between 1 following and {WITHIN} following) as fetched_at,
        min(ordinal) filter (read_only <> 'yes') over (partition by context_key, target_sha64 order by ordinal
            rows between 1 following and unbounded following) as edited_at
    from placed
),
judged as (
    select p.*, m.engine is not null as is_marker,
        -- shell commands that are seen to only read are the control of RTK's
        coalesce(m.engine, case when p.read_only = 'yes' then p.source else 'rtk' end) as engine,
        p.fetched_at is not null and (p.left_at is null or p.fetched_at < p.left_at)
            -- behind an edit of the target, reading it again is no rebound
            and (p.edited_at is null or p.edited_at >= p.fetched_at) as is_again
    from next p
    left join observed_marker m using (emission_key)
    left join emission_repeat r using (emission_key)
    where not p.is_copy
        and (m.engine is not null or (r.repeat_in_sight and (p.read_only = 'yes' or p.shell_reads)))
)
"""

_RATES = """
select engine, is_marker, count(*) filter (is_again), count(*), count(distinct session_key)
from judged where {where} group by all order by all
"""

_PRICED = "w.emission_key is not null and r.input_usd is not null"
"""what the expected saving is about: sound markers, of a request with a price"""

_MARKERS = f"""
select m.engine, count(*),
    {", ".join(f"count(*) filter (m.verdict = '{verdict}')" for verdict in _VERDICTS)},
    {exact_sum("c.tokens")}, {exact_sum("w.tokens - c.tokens")},
    {exact_sum("c.usd", _PRICED)}, {exact_sum("c.usd * w.tokens / greatest(c.tokens, 1)", _PRICED)},
    {exact_sum("r.input_usd + r.output_usd", _PRICED)}, count(*) filter ({_PRICED})
from observed_marker m
join emission e using (emission_key)
join emission_cost c using (emission_key)
left join emission_cost w on w.emission_key = m.anchor_key and m.verdict = '{StubVerdict.SOUND}'
left join request_cost r on r.request_key = e.request_key
group by all order by all
"""

_LEVELS = f"""
select w.level, {exact_sum("w.tokens")}
from observed_marker m join emission_cost w on w.emission_key = m.anchor_key
where m.verdict = '{StubVerdict.SOUND}' group by all order by all
"""


def observed(store: Store, *, window: Window | None = None) -> Observed:
    """Markers that hosts and engines left in the logs, their verdicts, and what came after them.

    Args:
        store: An open store; reading is enough.
        window: Which results to judge.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     observed(store).engines
        ()
    """
    window = window or Window()
    where, values = window.where()
    found = stubs(store, where=where, parameters=values)
    store.query(
        "create or replace temp table observed_marker "
        "(emission_key bigint, engine varchar, verdict varchar, anchor_key bigint)"
    )
    rows = [(stub.emission_key, stub.engine, stub.verdict.value, stub.anchor_key) for stub in found]
    store.append("observed_marker", rows)
    rates: dict[tuple[str, bool], Again] = {}
    for source, is_marker, again, of, sessions in store.query(_FOLLOWED + _RATES.format(where=where), values):
        rates[source, is_marker] = Again(again, of, sessions, *clopper_pearson(again, of))
    counts = {row[0]: row[1:] for row in store.query(_MARKERS)}
    sources = sorted({source for source, _ in rates if source != "rtk"} | counts.keys())
    return Observed(
        tuple(_markers(source, counts.get(source), rates) for source in sources),
        dict(store.query(_LEVELS)),
        _rtk(store),
        basis(store),
        window,
    )


def _markers(source: str, row: tuple[Any, ...] | None, rates: dict[tuple[str, bool], Again]) -> Markers:
    nothing = Again(0, 0, 0, 0.0, 1.0)
    count, *verdicts, tokens, saved, marker, whole, trip, priced = row or (0,) * 12
    costs = (whole, marker, trip)
    return Markers(
        source=source,
        markers=count,
        **dict(zip(_VERDICTS, verdicts, strict=True)),
        tokens=float(tokens),
        saved_tokens=float(saved),
        saved_usd=whole - marker if priced else None,
        trip_usd=float(trip),
        after_marker=rates.get((source, True), nothing),
        after_repeat=rates.get((source, False), nothing),
        break_even=break_even(*costs) if priced else None,
        expected_usd={str(share): expected_saving(*costs, share) for share in SHARES} if priced else {},
    )


def _rtk(store: Store) -> RtkRecoveries:
    ((commands, recoveries),) = store.query("select count(*), count(*) filter (is_recovery) from rtk_command")
    ((outputs, again),) = store.query(
        "select count(*), coalesce(sum(greatest(emit_count - 1, 0)), 0)::bigint from rtk_output"
    )
    return RtkRecoveries(commands, recoveries, outputs, again)
