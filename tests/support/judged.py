"""A store with results whose repeat flags are written by hand: what tests of figures start from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dedupstats.sources.base import hash64
from support.rows import NAMES, context, emission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.store import Store

EXACT = (
    "call_pooled",
    "call_session",
    "repeat_pooled",
    "bytes_session",
    "repeat_session",
    "repeat_turn",
    "repeat_in_sight",
    "changed",
)
NORMALISED = tuple(f"norm_{name}" for name in EXACT if name != "bytes_session")


@dataclass(frozen=True)
class Result:
    """One tool result as it shall stand in the views; `is_` names the rules by which it is a repeat."""

    size: int = 100
    is_: tuple[str, ...] = ()
    tool: str = "Read"
    session: str = "s1"
    project: str | None = "/home/u/p"
    at: str | None = "2026-01-02T03:04:05Z"
    klass: str = "text"
    is_error: bool = False
    is_copy: bool = False
    call: str = "a"
    source: str = "claude_code"
    agent: str | None = None
    kind: str = "main"
    model: str | None = None
    version: str | None = None


def put(store: Store, results: Sequence[Result]) -> None:
    """Put the results into the store, in place of what it held, in this order."""
    contexts: dict[tuple[str, str | None, str | None], int] = {}
    raw, derived, shown, sessions = [], [], [], {}
    for number, result in enumerate(results):
        place = (result.session, result.project, result.agent)
        session_key = hash64(result.source, result.session)
        if place not in contexts:
            key = contexts[place] = len(contexts) + 1
            made = context(key, result.session, cwd=result.project, agent=result.agent, kind=result.kind)
            shown.append((1, result.source, session_key, *made))
            sessions[session_key] = (session_key, result.source, result.session, session_key, result.project)
        at = None if result.at is None else round(datetime.fromisoformat(result.at).timestamp() * 1_000_000)
        row = emission(
            contexts[place],
            number,
            tool=result.tool,
            call=result.call,
            at=at,
            bytes=result.size,
            klass=result.klass,
            is_error=result.is_error,
            model_key=NAMES.optional(result.model),
            version_key=NAMES.optional(result.version),
        )
        raw.append((None, None, *row))
        flags = [name in result.is_ for name in (*EXACT, *NORMALISED)]
        copy_of = 1 if result.is_copy else None
        derived.append((row.emission_key, session_key, session_key, number, copy_of, False, *flags, None))
    with store.transaction():
        for table in ("raw.unit", "raw.context", "raw.emission", "raw.tool", "raw.name", "raw.skipped"):
            store.query(f"delete from {table}")
        for table in ("derived.session", "derived.emission"):
            store.query(f"delete from {table}")
        store.append("raw.unit", [(1, "claude_code", "unit", 0)])
        store.append("raw.context", shown)
        store.append("raw.emission", raw)
        store.append("raw.tool", [(key, *tool) for key, tool in NAMES.tools.items()])
        store.append("raw.name", list(NAMES.texts.items()))
        store.append("derived.session", list(sessions.values()))
        store.append("derived.emission", derived)
