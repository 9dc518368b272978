"""How much of what coding agents are shown had they been shown before, from the agents' own logs.

The library in one piece: open a store, import logs into it, ask for rates, replay elision policies on it,
take any view as a polars frame.

Example:
    >>> import dedupstats
    >>> with dedupstats.open_store(":memory:") as store:
    ...     summary = dedupstats.import_paths(store, ["sample_data"])
    ...     rates = dedupstats.rates(store, by="tool")
    ...     repeated = dedupstats.frame(store, "from emission_repeat where repeat_in_sight")
    >>> sorted(summary.files)
    ['claude_code', 'docker_agent', 'rtk']
    >>> rates.total.rules["repeat-in-sight"].results == len(repeated)
    True

Everything that prints a figure goes through these functions; what they do not answer, SQL on the views of
the store does (`store.query`, `frame`, or `dedupstats sql --views` for the list).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dedupstats._version import __version__
from dedupstats.errors import DedupstatsError

if TYPE_CHECKING:
    import polars as pl

    from dedupstats.analytics.rates import Rates, rates
    from dedupstats.analytics.replays import Replays, replay
    from dedupstats.analytics.window import Window
    from dedupstats.ingest import ImportSummary, import_paths
    from dedupstats.report.build import build as build_report
    from dedupstats.report.model import Report
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.variants import variants
    from dedupstats.store import Store, open_store

__all__ = [
    "DedupstatsError",
    "ImportSummary",
    "Knowledge",
    "Rates",
    "Replays",
    "Report",
    "Store",
    "Window",
    "__version__",
    "build_report",
    "frame",
    "import_paths",
    "open_store",
    "rates",
    "replay",
    "variants",
]

_HOMES = {
    "ImportSummary": "dedupstats.ingest",
    "Knowledge": "dedupstats.simulate.knowledge",
    "Rates": "dedupstats.analytics.rates",
    "Replays": "dedupstats.analytics.replays",
    "Report": "dedupstats.report.model",
    "Store": "dedupstats.store",
    "Window": "dedupstats.analytics.window",
    "build_report": "dedupstats.report.build:build",
    "import_paths": "dedupstats.ingest",
    "open_store": "dedupstats.store",
    "rates": "dedupstats.analytics.rates",
    "replay": "dedupstats.analytics.replays",
    "variants": "dedupstats.simulate.variants",
}
"""Where the public names live: they are loaded at first use, because duckdb and polars take a while."""


def frame(store: Store, query: str) -> pl.DataFrame:
    """The rows of a query, or of a whole view, as a polars frame.

    Args:
        store: An open store.
        query: SQL on the documented views: `select ...`, or short `from VIEW where ...`.

    Returns:
        One column per column of the query; times are UTC without a zone.

    Example:
        >>> import dedupstats
        >>> with dedupstats.open_store(":memory:") as store:
        ...     dedupstats.frame(store, "from session").columns[:3]
        ['session_key', 'source', 'session_id']
    """
    return store.frame(query)


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'dedupstats' has no attribute {name!r}") from None
    module, _, other = home.partition(":")
    return getattr(import_module(module), other or name)


def __dir__() -> list[str]:
    return sorted(__all__)
