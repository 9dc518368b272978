"""Writing: the rows of whole units, gathered in batches and committed together."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb

from dedupstats.history.sight import STAYS, departures
from dedupstats.ingest.stage import Stages
from dedupstats.model import (
    Boundary,
    Context,
    Emission,
    Entered,
    FileCount,
    Ignored,
    Record,
    Request,
    RtkCommand,
    RtkHookDecision,
    RtkOutput,
    Skipped,
    Turn,
)
from dedupstats.sources.base import Names, Unit, hash64
from dedupstats.sources.measure import to_storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupstats.store import Store

BATCH_ROWS = 30_000
BATCH_FILES = 200
"""A transaction holds whole units until one of these is reached: small commits cost more than rows."""

WAL_SUFFIX = "-wal"


_BY_CONTEXT: dict[type, str] = {Turn: "raw.turn", Request: "raw.request", Entered: "raw.entered"}
_BY_UNIT: dict[type, str] = {
    Skipped: "raw.skipped",
    Ignored: "raw.ignored",
    RtkCommand: "raw.rtk_command",
    RtkOutput: "raw.rtk_output",
    RtkHookDecision: "raw.rtk_hook_decision",
}
"""Records that need nothing from the unit but, for the second kind, its key in front."""


class UnitRows:
    """The rows of one unit, gathered until the unit has been read whole."""

    def __init__(self, unit_key: int, unit: Unit) -> None:
        self.unit_key = unit_key
        self.unit = unit
        self.files: list[tuple[Any, ...]] = []
        self.emissions: list[Emission] = []
        self.contexts: list[Context] = []
        self.boundaries: list[Boundary] = []
        self.counts: list[FileCount] = []
        self.plain: dict[type, list[Any]] = {kind: [] for kind in (*_BY_CONTEXT, *_BY_UNIT)}
        self._sinks: dict[type, Callable[[Any], None]] = {
            Emission: self.emissions.append,
            Context: self.contexts.append,
            Boundary: self.boundaries.append,
            FileCount: self.counts.append,
            **{kind: rows.append for kind, rows in self.plain.items()},
        }

    def take(self, record: Record) -> None:
        """Put a record where it belongs."""
        self._sinks[type(record)](record)


class Batch:
    """Rows of whole units, waiting for the next commit."""

    _TABLES = (
        "raw.unit", "raw.file", "raw.file_count", "raw.ignored", "raw.skipped", "raw.name", "raw.tool",
        "raw.context", "raw.turn", "raw.request", "raw.emission", "raw.entered", "raw.boundary",
        "raw.rtk_command", "raw.rtk_output", "raw.rtk_hook_decision",
    )  # fmt: skip

    def __init__(self, store: Store, names: Names) -> None:
        self._store = store
        self._names = names
        self._known_names = {key for (key,) in store.query("select name_key from raw.name")}
        self._known_tools = {key for (key,) in store.query("select tool_key from raw.tool")}
        self._known_units = {key for (key,) in store.query("select unit_key from raw.unit")}
        self._stages = Stages(store)
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {table: [] for table in self._TABLES}
        self._units: list[UnitRows] = []
        self._notes: list[tuple[int, str, int, str]] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time for a commit."""
        return self._size >= BATCH_ROWS or len(self._units) >= BATCH_FILES

    def add(self, unit: UnitRows) -> None:
        """Take a unit's rows, completed with what only the unit as a whole tells."""
        rows, key, source = self._rows, unit.unit_key, unit.unit.source
        self._units.append(unit)
        rows["raw.unit"].append((key, source, unit.unit.key, time.time_ns() // 1000))
        rows["raw.file"].extend(unit.files)
        rows["raw.file_count"].extend((key, *count) for count in unit.counts)
        rows["raw.context"].extend(
            (key, source, hash64(source, context.session_id), *context) for context in unit.contexts
        )
        rows["raw.boundary"].extend(_boundary_row(boundary) for boundary in unit.boundaries)
        rows["raw.emission"].extend(_emission_rows(unit))
        for kind, table in _BY_CONTEXT.items():
            rows[table].extend(unit.plain[kind])
        for kind, table in _BY_UNIT.items():
            rows[table].extend((key, *row) for row in unit.plain[kind])
        self._size += len(unit.emissions) + sum(map(len, unit.plain.values()))

    def note_unreadable(self, source: str, key: str, reason: str) -> None:
        """Remember that a file or unit could not be read; rows that it had before stay."""
        unit_key = hash64(source, key)
        self._notes.append((unit_key, key, 0, reason))
        if unit_key not in self._known_units:
            self._known_units.add(unit_key)
            self._rows["raw.unit"].append((unit_key, source, key, time.time_ns() // 1000))

    def commit(self) -> None:
        """Write what waits, in one transaction; units that were known are replaced."""
        if not self._units and not self._notes:
            return
        store = self._store
        self._new_names()
        with store.transaction():
            self._replace()
            self._rows["raw.skipped"].extend(self._notes)
            for table, rows in self._rows.items():
                append(self._stages, table, rows)
            store.query("delete from raw.meta where key = 'stale'")
            store.query("insert into raw.meta values ('stale', 'an import was interrupted')")
        self._known_units.update(unit.unit_key for unit in self._units)
        self._clear()

    def _new_names(self) -> None:
        names = self._names
        new = [key for key in names.texts if key not in self._known_names]
        self._rows["raw.name"] = [(key, names.texts[key]) for key in new]
        self._known_names.update(new)
        tools = [key for key in names.tools if key not in self._known_tools]
        self._rows["raw.tool"] = [(key, *names.tools[key]) for key in tools]
        self._known_tools.update(tools)

    def _replace(self) -> None:
        """Delete the rows of units that are read again, file by file: what has vanished keeps its rows."""
        store = self._store
        delete_paths(store, "raw.file", [row[0] for row in self._rows["raw.file"]])
        # notes that a file could not be read have line 0
        noted = [note[1] for note in self._notes] + [unit.unit.key for unit in self._units]
        delete_paths(store, "raw.skipped", noted, "line = 0 and")
        again = [unit for unit in self._units if unit.unit_key in self._known_units]
        if not again:
            return
        store.query("create temp table again (unit_key bigint, path varchar)")
        append(store, "again", [(unit.unit_key, file.path) for unit in again for file in unit.unit.files])
        for table in ("turn", "request", "emission", "entered", "boundary"):
            store.query(
                f"delete from raw.{table} where context_key in "
                "(select context_key from raw.context semi join again using (unit_key, path))"
            )
        for table in ("context", "file_count", "ignored", "skipped"):
            store.query(
                f"delete from raw.{table} where (unit_key, path) in (select (unit_key, path) from again)"
            )
        for table in ("unit", "rtk_command", "rtk_output", "rtk_hook_decision"):
            store.query(f"delete from raw.{table} where unit_key in (select unit_key from again)")
        # a write-ahead log that has been folded in is no vanished file
        store.query(
            f"delete from raw.file where path like '%{WAL_SUFFIX}' "
            "and unit_key in (select unit_key from again) and path not in (select path from again)"
        )
        store.query("drop table again")


def _emission_rows(unit: UnitRows) -> Iterable[tuple[Any, ...]]:
    """Emissions with their departure from sight in front, as the table has it."""
    counts = Counter(emission.context_key for emission in unit.emissions)
    boundaries: dict[int, list[Boundary]] = {}
    for boundary in unit.boundaries:
        boundaries.setdefault(boundary.context_key, []).append(boundary)
    left = {key: departures(counts[key], some) for key, some in boundaries.items()}
    for emission in unit.emissions:
        own = left.get(emission.context_key)
        yield (*(own[emission.ordinal] if own else STAYS), *emission)


def _boundary_row(boundary: Boundary) -> tuple[Any, ...]:
    kept, removed = boundary.kept, boundary.removed
    return (*boundary[:-2], _ranges(kept), _ranges(removed), len(kept), len(removed))


def _ranges(ordinals: tuple[int, ...]) -> str | None:
    """Ordinals as text: `0-3,7`; None for none.

    Example:
        >>> _ranges((7, 0, 1, 2, 3))
        '0-3,7'
    """
    runs: list[list[int]] = []
    for ordinal in sorted(ordinals):
        if runs and ordinal == runs[-1][1] + 1:
            runs[-1][1] = ordinal
        else:
            runs.append([ordinal, ordinal])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs) or None


def append(store: Store | Stages, table: str, rows: list[Any]) -> None:
    """Append; text that DuckDB refuses (lone surrogates, in file names too) is stored as visible escapes."""
    try:
        store.append(table, rows)
    except duckdb.InvalidInputException:
        store.append(
            table,
            [tuple(to_storable(cell) if isinstance(cell, str) else cell for cell in row) for row in rows],
        )


def delete_paths(store: Store, table: str, paths: list[str], condition: str = "") -> None:
    """Delete a table's rows of the given paths (that also meet a condition, an SQL text ending in `and`)."""
    if paths:
        store.query("create temp table met (path varchar)")
        append(store, "met", [(path,) for path in paths])
        store.query(f"delete from {table} where {condition} path in (select path from met)")
        store.query("drop table met")
