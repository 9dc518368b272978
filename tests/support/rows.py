"""Rows of the schema `raw`, made by hand: what history and analytics tests start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupstats import history
from dedupstats.economics.prices import Prices
from dedupstats.history.costs import settle_costs
from dedupstats.model import Context, ContextKind, Emission
from dedupstats.sources.base import Names, hash64
from dedupstats.sources.measure import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.store import Store

NAMES = Names()


def context(key: int, session: str = "s1", **changes: Any) -> Context:
    """A context with plain defaults."""
    plain = Context(
        context_key=key,
        native_id=f"c{key}",
        kind=ContextKind.MAIN,
        session_id=session,
        parent_key=None,
        agent=None,
        path=f"/logs/{key}.jsonl",
        cwd="/home/u/p",
        started_at=None,
        ended_at=None,
        is_moved=False,
    )
    return plain._replace(**changes)


def emission(
    context_key: int, ordinal: int, text: str = "x" * 300, tool: str = "Read", call: str = "a", **changes: Any
) -> Emission:
    """An emission of `text` in answer to `tool(call)`; its time is its ordinal in seconds."""
    at = ordinal * 1_000_000
    call_key = hash64(tool, call)
    plain = dict.fromkeys(Emission._fields)
    plain.update(measure(text)._asdict())
    plain.update(
        emission_key=hash64("emission", str(context_key), str(ordinal)),
        context_key=context_key,
        ordinal=ordinal,
        line=ordinal + 1,
        at=at,
        clock=at,
        turn=1,
        call_id=f"t{context_key}-{ordinal}",
        copy_key=hash64("copy", str(context_key), str(ordinal)),
        is_fork=False,
        is_home=True,
        is_return=False,
        tool_key=NAMES.tool(tool),
        call_key=call_key,
        args_sha64=call_key,
        norm_key=call_key,
        klass="text",
        is_error=False,
        did_not_run=False,
        rtk_ran=False,
    )
    plain.update(changes)
    return Emission(**plain)


def fill(
    store: Store,
    contexts: list[Context],
    emissions: list[Emission],
    left: dict[int, int] | None = None,
    *,
    turns: Sequence[tuple[Any, ...]] = (),
    boundaries: Sequence[tuple[Any, ...]] = (),
) -> None:
    """Put the rows into the store, in place of what it held, and let the history settle.

    Args:
        store: An open store; making one costs more than a test, so tests may share it.
        contexts: Their contexts.
        emissions: The emissions, in any order.
        left: Emission key to the ordinal at which it left sight.
        turns: Rows of `raw.turn`.
        boundaries: Rows of `raw.boundary`, up to the kind.
    """
    with store.transaction():
        for table in ("unit", "context", "emission", "tool", "name", "turn", "boundary"):
            store.query(f"delete from raw.{table}")
        unit = hash64("test", "unit")
        store.append("raw.unit", [(unit, "claude_code", "unit", 0)])
        store.append(
            "raw.context", [(unit, "claude_code", hash64("claude_code", c.session_id), *c) for c in contexts]
        )
        store.append("raw.emission", [((left or {}).get(e.emission_key), None, *e) for e in emissions])
        store.append("raw.turn", list(turns))
        store.append("raw.boundary", [(*row, None, None, None, "", "", 0, 0) for row in boundaries])
        store.append("raw.tool", [(key, *tool) for key, tool in NAMES.tools.items()])
        store.append("raw.name", list(NAMES.texts.items()))
        history.complete(store)
        settle_costs(store, Prices())
