"""The course of a context: requests with their prompts, what entered, what left sight, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.economics.families import Visible, family_of
from dedupstats.economics.tokens import Level, output_of
from dedupstats.history.within import Within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupstats.store import Store

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Sent(NamedTuple):
    """A request."""

    line: int
    ts: datetime | None
    model: str | None
    version: str | None
    prompt: int | None
    """input, cache read and cache writes, tokens; None: the log has no usage, or all of it is 0"""
    answer: float
    """tokens of the answer, known or estimated; else the lower bound of the log"""
    visible_bytes: int
    """of the answer, tool inputs included"""
    input_bytes: int
    """of its tool inputs"""
    is_own: bool
    """False for the copy of a request that stands in another context as well"""


class Came(NamedTuple):
    """A tool result, or another text that entered."""

    line: int
    key: int | None
    """key of the emission; None: no tool result"""
    bytes: int
    tokens: float
    """of a result: the best estimate that there is; of other texts bytes / 4"""
    level: int
    tool: str | None
    target: str | None
    left: tuple[int, int] | None
    """ordinal and line of the boundary that took a result out of sight; None: it stayed"""


class Gone(NamedTuple):
    """A boundary."""

    line: int
    ts: datetime | None
    kind: str
    trigger: str | None
    at: tuple[int, int]
    """ordinal and line, as in `Came.left`"""


class Course(NamedTuple):
    """What happened in a context, in order."""

    session_key: int
    session_id: str
    context_key: int
    source: str
    kind: str
    agent: str | None
    native_id: str
    steps: list[Sent | Came | Gone]


_CONTEXTS = """
select session_key, session_id, context_key, source, kind, agent, native_id from raw.context
where session_key in (select session_key from coursed)
order by session_key, kind <> 'main', started_at, native_id, context_key
"""
_SENT = """
select r.context_key, r.emissions_before, r.line, r.ts, model.text, version.text,
    coalesce(d.input_tokens, 0) + coalesce(d.cache_read_tokens, 0) + coalesce(d.cache_write_5m_tokens, 0)
        + coalesce(d.cache_write_1h_tokens, 0),
    d.output_tokens, d.output_known, r.text_bytes, r.tool_input_bytes, r.thinking_bytes, r.calls,
    r.hidden_thinking, d.context_key = r.context_key
from raw.request r
join derived.request d using (request_key)
join raw.context c on c.context_key = r.context_key
left join raw.name model on model.name_key = r.model_key
left join raw.name version on version.name_key = r.version_key
where c.session_key in (select session_key from coursed)
order by r.context_key, r.emissions_before, r.line, r.request_key
"""
_RESULTS = """
select e.context_key, e.ordinal, e.line, e.emission_key, e.bytes, k.tokens, k.level, t.name, e.target,
    e.left_at, e.left_line
from raw.emission e
join raw.context c using (context_key)
join raw.tool t using (tool_key)
left join derived.emission_cost k using (emission_key)
where c.session_key in (select session_key from coursed)
order by e.context_key, e.ordinal
"""
_TEXTS = """
select e.context_key, e.emissions_before, e.line, e.bytes
from raw.entered e
join raw.context c using (context_key)
where c.session_key in (select session_key from coursed)
order by all
"""
_GONE = """
select b.context_key, b.at_ordinal, b.line, b.ts, b.kind, b.trigger
from raw.boundary b
join raw.context c using (context_key)
where c.session_key in (select session_key from coursed)
order by b.context_key, b.at_ordinal, b.line, b.kind
"""


def courses(store: Store, sessions: Sequence[int]) -> Iterator[Course]:
    """The contexts of some sessions, main threads first, without summary calls and side questions."""
    store.query("create or replace temp table coursed (session_key bigint)")
    store.append("coursed", [(key,) for key in sessions])
    placed: Within[Sent | Came | Gone] = Within()
    for context, before, line, *row in store.query(_SENT):
        placed.request(context, before, line, _sent(line, row))
    for context, ordinal, line, *row in store.query(_RESULTS):
        placed.result(context, ordinal, line, _came(line, row))
    for context, before, line, size in store.query(_TEXTS):
        placed.text(context, before, line, Came(line, None, size, size / 4, Level.UNKNOWN, None, None, None))
    for context, ordinal, line, ts, kind, trigger in store.query(_GONE):
        placed.boundary(context, ordinal, line, Gone(line, _time(ts), kind, trigger, (ordinal, line)))
    for session, session_id, context, source, kind, agent, native in store.query(_CONTEXTS):
        if kind != "side":
            yield Course(session, session_id, context, source, kind, agent, native, placed.of(context))


def _sent(line: int, row: list[Any]) -> Sent:
    ts, model, version, prompt, output, is_known, text, inputs, thinking, calls, hidden, is_own = row
    visible = Visible(text, inputs, thinking, calls, hidden)
    answer = output_of(output, visible, family_of(model), is_known=bool(is_known))
    return Sent(
        line,
        _time(ts),
        model,
        version,
        prompt or None,
        float(output or 0) if answer is None else answer,
        visible.bytes,
        inputs,
        bool(is_own),
    )


def _came(line: int, row: list[Any]) -> Came:
    key, size, tokens, level, tool, target, left_at, left_line = row
    left = None if left_at is None else (left_at, left_line or 0)
    if tokens is None:
        tokens, level = -(-size // 4), Level.UNKNOWN
    return Came(line, key, size, float(tokens), int(level), tool, target, left)


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
