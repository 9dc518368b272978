"""Writing: the rows of whole units, gathered in batches and committed together."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from functools import cached_property
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import duckdb

from dedupstats.history.sight import STAYS, departures
from dedupstats.ingest.stage import Stages
from dedupstats.ingest.summary import UNREADABLE
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
from dedupstats.sources.probe import WAL_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupstats.ingest.plan import Plan
    from dedupstats.store import Store

BATCH_ROWS = 30_000
BATCH_FILES = 200
"""A transaction holds whole units until one of these is reached: small commits cost more than rows."""

BATCH_BYTES = 64_000_000
"""So it does of long texts: they wait in memory."""

IGNORED_TYPES = 500
TYPE_CHARS = 200
OTHER_TYPES = "(other types)"
"""So many types of ignored records are told apart in one file, by so many characters; the rest is this."""

LONG_TEXT = 4096
"""Characters from which a text counts as long: DuckDB keeps such ones apart, whole."""

HELD_BYTES = 32_000_000
"""Long texts that DuckDB's memory for imports is enough for; with more of them it gets what it wants."""

_WIDEST = 2**63
"""integers of the store are signed and have 64 bits"""

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

    def finish(self) -> dict[str, str]:
        """Set apart the files that could not be read while others of the unit could.

        Returns:
            Their paths with the reason. Such files are taken out of the unit, so that rows that they had
            before stay, and are tried again at the next import.
        """
        self.plain[Ignored] = _few_types(self.plain[Ignored])
        if len(self.unit.files) == 1:
            return {}  # a unit of one file fails as a whole
        skipped: list[Skipped] = self.plain[Skipped]
        failed = {
            record.path: record.reason.removeprefix(UNREADABLE)
            for record in skipped
            if record.line == 0 and record.reason.startswith(UNREADABLE)
        }
        if failed:
            self.plain[Skipped] = [record for record in skipped if record.path not in failed]
            self.counts = [count for count in self.counts if count.path not in failed]
            self.unit.files = [file for file in self.unit.files if file.path not in failed]
        return failed


def _few_types(ignored: list[Ignored]) -> list[Ignored]:
    """The ignored records of each file by type; a type is what stands in the log, and may be any text."""
    counts: Counter[tuple[str, str]] = Counter()
    types: Counter[str] = Counter()
    for path, kind, records in ignored:
        name = kind if len(kind) <= TYPE_CHARS else kind[:TYPE_CHARS] + "…"
        if (path, name) not in counts:
            types[path] += 1
            if types[path] > IGNORED_TYPES:
                name = OTHER_TYPES
        counts[path, name] += records
    return [Ignored(path, name, records) for (path, name), records in counts.items()]


class Batch:
    """Rows of whole units, waiting for the next commit."""

    _TABLES = (
        "raw.unit", "raw.file", "raw.file_count", "raw.ignored", "raw.skipped", "raw.name", "raw.tool",
        "raw.context", "raw.turn", "raw.request", "raw.emission", "raw.entered", "raw.boundary",
        "raw.rtk_command", "raw.rtk_output", "raw.rtk_hook_decision",
    )  # fmt: skip

    def __init__(self, store: Store, names: Names, plan: Plan) -> None:
        self._store = store
        self._names = names
        self._plan = plan
        self._known_units = set(plan.unit_keys)
        self._texts = _text_columns(store, self._TABLES)
        self._long_bytes = 0
        self._clear()

    # What only a commit needs is asked for at the first one: most imports of a day find nothing new.

    @cached_property
    def _known_names(self) -> set[int]:
        return {key for (key,) in self._store.query("select name_key from raw.name")}

    @cached_property
    def _known_tools(self) -> set[int]:
        return {key for (key,) in self._store.query("select tool_key from raw.tool")}

    @cached_property
    def _stages(self) -> Stages:
        return Stages(self._store)

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {table: [] for table in self._TABLES}
        self._units: list[UnitRows] = []
        self._notes: list[tuple[int, str, int, str, int]] = []
        self._dropped: list[str] = []
        self._size = self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time for a commit."""
        return self._size >= BATCH_ROWS or len(self._units) >= BATCH_FILES or self._bytes >= BATCH_BYTES

    def add(self, unit: UnitRows) -> None:
        """Take a unit's rows, completed with what only the unit as a whole tells."""
        key, source = unit.unit_key, unit.unit.source
        rows: defaultdict[str, list[Any]] = defaultdict(list)
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
        for table, found in rows.items():
            self._bytes += self._long(table, found)
            self._rows[table].extend(found)

    def _long(self, table: str, rows: list[Any]) -> int:
        """Characters of the long texts of some rows."""
        return sum(
            length
            for column in self._texts[table]
            for length in map(len, filter(None, map(itemgetter(column), rows)))
            if length > LONG_TEXT
        )

    def note_unreadable(self, source: str, key: str, path: str, reason: str) -> None:
        """Remember that a file could not be read, unless that is noted already; rows that it had stay.

        Args:
            source: Source of the unit; `unknown` if nobody could tell.
            key: Key of the unit.
            path: The file.
            reason: Why it could not be read.
        """
        unit_key = hash64(source, key)
        if self._plan.notes.get(to_storable(path)) == (unit_key, reason):
            return
        self._notes.append((unit_key, path, 0, UNREADABLE + reason, 1))
        if unit_key not in self._known_units:
            self._known_units.add(unit_key)
            self._rows["raw.unit"].append((unit_key, source, key, time.time_ns() // 1000))

    def drop(self, paths: Iterable[str]) -> None:
        """Delete the rows of files that belonged to a unit and now hold something else."""
        self._dropped.extend(paths)

    def commit(self) -> None:
        """Write what waits, in one transaction; units that were known are replaced."""
        if not (self._units or self._notes or self._dropped):
            return
        store = self._store
        self._new_names()
        with store.transaction():
            self._make_room()
            parents = self._replace()
            self._rows["raw.skipped"].extend(self._notes)
            for table, rows in self._rows.items():
                append(self._stages, table, rows)
            if parents:
                _keep_parents(store)
            if self._units or self._dropped:
                store.query("delete from raw.meta where key = 'stale'")
                store.query("insert into raw.meta values ('stale', 'an import was interrupted')")
        self._known_units.update(unit.unit_key for unit in self._units)
        self._clear()

    def _make_room(self) -> None:
        """Give DuckDB more memory, once there are long texts that it could not write otherwise."""
        before = self._long_bytes
        self._long_bytes += self._bytes + self._long("raw.name", self._rows["raw.name"])
        if before < HELD_BYTES <= self._long_bytes:
            self._store.lift_memory()

    def _new_names(self) -> None:
        names = self._names
        new = [key for key in names.texts if key not in self._known_names]
        self._rows["raw.name"] = [(key, names.texts[key]) for key in new]
        self._known_names.update(new)
        tools = [key for key in names.tools if key not in self._known_tools]
        self._rows["raw.tool"] = [(key, *names.tools[key]) for key in tools]
        self._known_tools.update(tools)

    def _replace(self) -> bool:
        """Delete the rows of files that are read again or hold something else now.

        It goes file by file: what has vanished keeps its rows. What a file held as part of another unit goes
        too.

        Returns:
            Whether rows were deleted, and the parents of contexts are in the temporary table `parent`.
        """
        store, plan = self._store, self._plan
        read = [(unit.unit_key, file.path) for unit in self._units for file in unit.unit.files]
        paths = [*(path for _, path in read), *self._dropped]
        delete_paths(store, "raw.skipped", [*paths, *(note[1] for note in self._notes)], "line = 0 and")
        is_known = any(unit.unit_key in self._known_units for unit in self._units)
        if not is_known and not any(to_storable(path) in plan.known for path in paths):
            return False
        store.query("create temp table again (unit_key bigint, path varchar)")
        append(store, "again", [*read, *((None, path) for path in self._dropped)])
        store.query(
            "insert into again select unit_key, path from raw.file where path in (select path from again)"
        )
        store.query(
            "create or replace temp table parent as "
            "select context_key, parent_key from raw.context where path in (select path from again)"
        )
        for table in ("turn", "request", "emission", "entered", "boundary"):
            store.query(f"delete from raw.{table} where context_key in (select context_key from parent)")
        for table in ("context", "file_count", "ignored", "skipped"):
            store.query(f"delete from raw.{table} where path in (select path from again)")
        for table in ("rtk_command", "rtk_output", "rtk_hook_decision"):
            store.query(f"delete from raw.{table} where unit_key in (select unit_key from again)")
        # a write-ahead log that has been folded in is no vanished file
        store.query(
            f"delete from raw.file where path in (select path from again) or (path like '%{WAL_SUFFIX}' "
            "and unit_key in (select unit_key from again))"
        )
        store.query(
            "delete from raw.unit where unit_key in (select unit_key from again) "
            "and unit_key not in (select unit_key from raw.file where unit_key is not null)"
        )
        append(store, "again", [(unit.unit_key, None) for unit in self._units])
        store.query("delete from raw.unit where unit_key in (select unit_key from again where path is null)")
        store.query("drop table again")
        return True


def _text_columns(store: Store, tables: Iterable[str]) -> dict[str, list[int]]:
    """The places of columns that hold text, by table."""
    found: dict[str, list[int]] = {table: [] for table in tables}
    for table, place in store.query(
        "select schema_name || '.' || table_name, column_index - 1 from duckdb_columns() "
        "where schema_name = 'raw' and data_type = 'VARCHAR'"
    ):
        if table in found:
            found[table].append(place)
    return found


def _keep_parents(store: Store) -> None:
    """A subagent whose starter's file has vanished keeps the parent that it had, if that is still there."""
    store.query(
        "update raw.context set parent_key = p.parent_key from parent p "
        "where raw.context.context_key = p.context_key and raw.context.parent_key is null "
        "and p.parent_key in (select context_key from raw.context)"
    )
    store.query("drop table parent")


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


def append(store: Store | Stages, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Append rows; what DuckDB refuses is stored as near as can be: one odd value must not cost all others.

    Lone surrogates, in file names too, are stored as visible escapes; numbers beyond the column's range as
    unknown.
    """
    try:
        store.append(table, rows)
    except (duckdb.InvalidInputException, duckdb.ConversionException):
        store.append(table, [tuple(map(_storable, row)) for row in rows])


def _storable(cell: Any) -> Any:
    if isinstance(cell, str):
        return to_storable(cell)
    if isinstance(cell, int):
        return cell if -_WIDEST <= cell < _WIDEST else None
    if isinstance(cell, float):
        return cell if isfinite(cell) and abs(cell) < _WIDEST else None
    return cell


def delete_paths(store: Store, table: str, paths: Sequence[str], condition: str = "") -> None:
    """Delete a table's rows of the given paths (that also meet a condition, an SQL text ending in `and`)."""
    if paths:
        with met(store, paths):
            store.query(f"delete from {table} where {condition} path in (select path from met)")


@contextmanager
def met(store: Store, paths: Sequence[str]) -> Iterator[None]:
    """Paths as the temporary table `met`."""
    store.query("create or replace temp table met (path varchar)")
    append(store, "met", [(path,) for path in paths])
    yield
    store.query("drop table met")
