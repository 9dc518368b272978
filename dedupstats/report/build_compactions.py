"""Automatic compactions for the Report: the engines that it replays, each as its host runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dedupstats.analytics.compactions import compactions
from dedupstats.report.model_economics import Compacted
from dedupstats.simulate.variants import variants

if TYPE_CHECKING:
    from dedupstats.analytics.compactions import ContextCount
    from dedupstats.analytics.window import Window
    from dedupstats.report.names import Names
    from dedupstats.store import Store

_ENGINES: Final = ("docker-agent", "rtk")


def compacted(store: Store, window: Window, names: Names) -> tuple[Compacted, ...]:
    """Counts by policy, of contexts with a request in scope; empty: none of them can be replayed."""
    policies = [variant for variant in variants(_ENGINES) if variant.is_headline]
    counts = compactions(store, policies, window=window)

    def named(contexts: tuple[ContextCount, ...]) -> tuple[ContextCount, ...]:
        return tuple(replace(one, session=names.session(one.session), context="") for one in contexts)

    return tuple(
        Compacted(policy.label, replace(found, unlike=named(found.unlike), changed=named(found.changed)))
        for policy, found in zip(policies, counts, strict=True)
        if found.contexts
    )
