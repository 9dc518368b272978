"""Importing: from files to a store whose history is settled.

Finds, recognises and reads files through the sources, writes through the store, then lets the history
settle what depends on more than one file.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import duckdb

from dedupstats import history
from dedupstats.errors import StoreError, UnreadableUnitError
from dedupstats.ingest.plan import Plan, unreadable
from dedupstats.ingest.summary import ImportSummary, Progress
from dedupstats.ingest.write import Batch, UnitRows, append, delete_paths
from dedupstats.sources import all_sources
from dedupstats.sources.base import MAX_LINE_BYTES, Names, Reading, Source, Unit, hash64
from dedupstats.sources.measure import to_storable
from dedupstats.store.store import IMPORT_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupstats.store import Store

__all__ = ["ImportSummary", "import_paths"]


def import_paths(
    store: Store,
    paths: Sequence[str | Path] | None = None,
    *,
    force: bool = False,
    keep_content: bool = False,
    keep_targets: bool = True,
    max_line_bytes: int = MAX_LINE_BYTES,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
) -> ImportSummary:
    """Import logs into the store.

    Files are recognised by content; unchanged ones are skipped; a changed one is read again and replaces
    its rows; rows whose file has vanished stay and are marked gone. Afterwards copies, sight and repeat
    rules are settled over the whole store, so that the order of imports does not matter.

    Args:
        store: An open, writable store.
        paths: Files and folders; None means every source's default places.
        force: Read unchanged files too.
        keep_content: Store the shown text of tool results.
        keep_targets: Store what calls are about (paths, commands); their hashes are stored anyhow.
        max_line_bytes: Longer lines are skipped and counted.
        progress: Called after each unit.
        environment: Environment variables by which default places are found.

    Returns:
        What was found, read, skipped.

    Raises:
        NothingFoundError: A path does not exist, or no log was found and the store is empty.
        StoreError: The store cannot be written (a full disk, for one).

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     import_paths(store, ["sample_data/rtk"]).files["rtk"]
        1
    """
    begun = time.monotonic()
    run = _Import(store, Reading(Names(), keep_content, keep_targets, max_line_bytes), force=force)
    environment = os.environ if environment is None else environment
    try:
        store.query(f"set memory_limit = '{IMPORT_MEMORY}'")
        store.query("set checkpoint_threshold = '1GB'")
        with ExitStack() as probes:
            plan = run.plan
            run.read(plan.units(plan.roots(paths, environment), probes), progress)
        run.finish()
    except duckdb.Error as error:
        raise StoreError(
            f"cannot write {store.path}: {str(error).splitlines()[0]}",
            "what was committed before is kept; free some disk space, then type the same again",
        ) from error
    run.summary.seconds = time.monotonic() - begun
    return run.summary


class _Import:
    """One run of an import."""

    def __init__(self, store: Store, reading: Reading, *, force: bool) -> None:
        self.store = store
        self.reading = reading
        self.summary = ImportSummary()
        self.sources: dict[str, Source] = {source.name: source for source in all_sources()}
        self.plan = Plan(store, self.sources, self.summary, force=force)
        self.batch = Batch(store, reading.names)
        self.read_paths: list[str] = []

    def read(self, units: list[Unit], progress: Progress | None) -> None:
        """Read units one by one; commit them in batches of whole units."""
        with _no_collector():
            self._read(units, progress)

    def _read(self, units: list[Unit], progress: Progress | None) -> None:
        total = sum(file.size for unit in units for file in unit.files)
        done = 0
        for unit in units:
            unit_key = hash64(unit.source, unit.key)
            rows = UnitRows(unit_key, unit)
            try:
                for record in self.sources[unit.source].read(unit, self.reading):
                    rows.take(record)
            except UnreadableUnitError as error:
                fault = unreadable(unit.key, error)
                self.summary.unreadable.append(fault)
                self.batch.note_unreadable(unit.source, unit.key, fault.reason)
            except Exception as error:
                error.add_note(f"while reading {unit.key}")
                raise
            else:
                rows.files = [self.plan.file_row(file, unit_key) for file in unit.files]
                self._count(unit, rows)
                self.batch.add(rows)
            for probe in unit.probes.values():
                probe.close()
            done += sum(file.size for file in unit.files)
            if self.batch.is_full:
                self.batch.commit()
                gc.collect(0)
            if progress is not None:
                progress(done, total, unit.key)
        for path, reason in self.plan.broken:
            self.batch.note_unreadable("unknown", path, reason)
        self.batch.commit()

    def _count(self, unit: Unit, rows: UnitRows) -> None:
        summary = self.summary
        summary.units_read[unit.source] += 1
        summary.emissions[unit.source] += sum(not emission.is_return for emission in rows.emissions)
        for count in rows.counts:
            self.read_paths.append(to_storable(count.path))
            summary.records += count.records
            summary.used += count.used
            summary.copies += count.copies
            summary.ignored += count.ignored
            summary.skipped += count.skipped
            summary.unfinished += count.unfinished

    def finish(self) -> None:
        """Mark what is gone, settle the history if anything changed, fold the log into the file."""
        store, plan, now = self.store, self.plan, time.time_ns() // 1000
        gone, back = [], []
        for path, known in plan.known.items():
            if known.unit_key is None:
                continue
            here = path in plan.seen or os.path.exists(path)
            if not here and not known.gone:
                gone.append(path)
            elif here and known.gone:
                back.append(path)
        self.summary.files_gone = len(gone) + sum(
            known.gone for path, known in plan.known.items() if path not in back
        )
        is_stale = bool(store.query("select 1 from raw.meta where key = 'stale'"))
        if not (gone or back or plan.strangers or is_stale):
            return
        with store.transaction():
            _mark(store, gone, now)
            _mark(store, back, None)
            delete_paths(store, "raw.file", [row[0] for row in plan.strangers])
            append(store, "raw.file", plan.strangers)
            if is_stale:
                history.complete(store)
                store.query("delete from raw.meta where key = 'stale'")
                self._count_copies()
        store.checkpoint()

    def _count_copies(self) -> None:
        """Tell the records that turned out to be copies only beside other files from those that are used."""
        read = self.store.query(
            "select coalesce(sum(copies), 0) from file where path in (select unnest(?::varchar[]))",
            [self.read_paths],
        )
        copies = int(read[0][0])
        self.summary.used -= copies - self.summary.copies
        self.summary.copies = copies


@contextmanager
def _no_collector() -> Iterator[None]:
    """Stop the cyclic garbage collector, which makes loops with many live rows up to three times slower."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _mark(store: Store, paths: list[str], gone_at: int | None) -> None:
    for path in paths:
        store.query("update raw.file set gone_at = ? where path = ?", [gone_at, to_storable(path)])
