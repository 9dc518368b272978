"""The calls that were repeated most, for the Report: where the repeats are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.analytics.rates import NO_TARGET
from dedupstats.report.model import RepeatedCalls
from dedupstats.report.share import share_of
from dedupstats.report.targets import shared_target

if TYPE_CHECKING:
    from dedupstats.analytics.window import Window
    from dedupstats.report.names import Names
    from dedupstats.store import Store

CALLS_SHOWN = 10


def calls(store: Store, window: Window, names: Names, repeated_bytes: int) -> tuple[RepeatedCalls, ...]:
    """Most repeated bytes first, by `repeat-session`, of which there are `repeated_bytes`."""
    where, parameters = window.where()
    rows = store.query(
        f"""select tool, target, count(*), sum(bytes), coalesce(sum(bytes) filter (repeat_in_sight), 0)
        from emission join emission_repeat using (emission_key) where {where} and repeat_session
        group by tool, target order by sum(bytes) desc, count(*) desc, tool, target limit {CALLS_SHOWN}""",
        parameters,
    )
    return tuple(
        RepeatedCalls(
            tool,
            NO_TARGET if target is None else shared_target(tool, target, names),
            times,
            share_of(int(size), repeated_bytes),
            share_of(int(visible), int(size)),
        )
        for tool, target, times, size, visible in rows
    )
