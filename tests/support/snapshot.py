"""What a store says, as one value that two stores can be compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedupstats.store import Store

VOLATILE = {"unit": "exclude (imported_at)", "file": "exclude (gone_at)"}
"""columns that tell when, which no two imports share"""

UNIQUE = {
    "raw.context": "context_key",
    "raw.emission": "emission_key",
    "raw.request": "request_key, context_key",
    "raw.name": "name_key",
    "raw.tool": "tool_key",
    "raw.unit": "unit_key",
    "raw.file": "path",
    "raw.file_count": "path",
    "derived.session": "session_key",
    "derived.emission": "emission_key",
    "raw.rtk_command": "row_key",
}
"""what identifies a row; no constraint of the store holds it, for the sake of speed"""


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all views, in an order of their own."""
    views = store.query("select view_name from duckdb_views() where schema_name = 'main' and not internal")
    return {
        view: store.query(f"select * {VOLATILE.get(view, '')} from {view} order by all") for (view,) in views
    }


def duplicates(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Tables with keys that are there more than once; empty if all is well."""
    found = {
        table: store.query(f"select {key}, count(*) from {table} group by {key} having count(*) > 1")
        for table, key in UNIQUE.items()
    }
    return {table: rows for table, rows in found.items() if rows}


def unbalanced(store: Store) -> list[tuple[Any, ...]]:
    """Files whose records do not add up; empty if all is well."""
    return store.query(
        "select path, records, used, copies, ignored, skipped from file where source is not null and "
        "(records <> used + copies + ignored + skipped or least(used, copies, ignored, skipped) < 0)"
    )
