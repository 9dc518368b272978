"""Importing: from files to a store whose history is settled.

Finds, recognises and reads files through the sources, writes through the store, then lets the history
settle what depends on more than one file.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dedupstats import history
from dedupstats.collector import collector_off
from dedupstats.economics import o200k
from dedupstats.errors import UnreadableUnitError
from dedupstats.history.costs import is_priced, price_list, settle_costs
from dedupstats.ingest.find import is_gone, real_path
from dedupstats.ingest.plan import Plan, unreadable
from dedupstats.ingest.summary import ImportSummary, Progress, Unreadable
from dedupstats.ingest.write import Batch, UnitRows, append, delete_paths, met
from dedupstats.sources import all_sources
from dedupstats.sources.base import MAX_LINE_BYTES, Names, Reading, Source, Unit, hash64, not_understood
from dedupstats.sources.probe import WAL_SUFFIX
from dedupstats.store.store import WRITE_ERRORS, refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dedupstats.economics.prices import Prices
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
        environment: Environment variables by which default places, and prices of your own, are found.

    Returns:
        What was found, read, skipped.

    Raises:
        NothingFoundError: A path does not exist. That no log was found is no error here: see `files` of the
            summary.
        StoreError: The store cannot be written (a full disk, for one).
        UsageError: The prices of your own cannot be read.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     import_paths(store, ["sample_data/rtk"]).files["rtk"]
        1
    """
    begun = time.monotonic()
    environment = os.environ if environment is None else environment
    prices = price_list(environment)
    counting = o200k.tokenizer_of if o200k.is_installed() else None
    reading = Reading(Names(), keep_content, keep_targets, max_line_bytes, counting)
    try:
        store.limit_memory()
        store.query("set checkpoint_threshold = '1GB'")
        with collector_off(), ExitStack() as probes:
            run = _Import(store, reading, prices, force=force)
            roots = run.plan.roots(paths, environment)
            run.read(run.plan.units(roots, probes), progress)
        run.finish()
    except WRITE_ERRORS as error:
        raise refused(store.path, error) from error
    run.summary.seconds = time.monotonic() - begun
    return run.summary


class _Import:
    """One run of an import."""

    def __init__(self, store: Store, reading: Reading, prices: Prices, *, force: bool) -> None:
        self.store = store
        self.prices = prices
        self.reading = reading
        self.summary = ImportSummary()
        self.sources: dict[str, Source] = {source.name: source for source in all_sources()}
        self.plan = Plan(store, self.sources, self.summary, force=force)
        self.batch = Batch(store, reading.names, self.plan)
        self._read_units: list[int] = []

    def read(self, units: list[Unit], progress: Progress | None) -> None:
        """Read units one by one; commit them in batches of whole units."""
        total = sum(file.size for unit in units for file in unit.files)
        done = 0
        for unit in units:
            size = sum(file.size for file in unit.files)
            self._take(unit)
            for probe in unit.probes.values():
                probe.close()
                probe.forget()
            done += size
            if self.batch.is_full:
                self.batch.commit()
                gc.collect(0)
            if progress is not None:
                progress(done, total, unit.key)
        for path, reason in self.plan.broken:
            self.batch.note_unreadable("unknown", path, path, reason)
        self.batch.drop(self.plan.dropped)
        self.batch.commit()

    def _take(self, unit: Unit) -> None:
        """Read one unit into the batch; one that cannot be read is noted and keeps the rows that it had."""
        unit_key = hash64(unit.source, unit.key)
        rows = UnitRows(unit_key, unit)
        try:
            for record in self.sources[unit.source].read(unit, self.reading):
                rows.take(record)
        except Exception as error:  # noqa: BLE001 - one hostile log must not cost the others
            first = unit.files[0].path
            if not isinstance(error, UnreadableUnitError):
                # a fault of ours: said as such, and the log keeps the rows that it had
                self.summary.trace(first, error)
                error = UnreadableUnitError(not_understood(error))
            fault = unreadable(first, error)
            self.summary.unreadable.append(fault)
            self.batch.note_unreadable(unit.source, unit.key, first, fault.reason)
            return
        for path, reason in rows.finish().items():
            self.summary.unreadable.append(Unreadable(path, reason))
            self.batch.note_unreadable(unit.source, unit.key, path, reason)
        rows.files = [self.plan.file_row(file, unit_key) for file in unit.files]
        self._count(unit, rows)
        self.batch.add(rows)

    def _count(self, unit: Unit, rows: UnitRows) -> None:
        summary = self.summary
        self._read_units.append(rows.unit_key)
        summary.units_read[unit.source] += 1
        summary.emissions[unit.source] += sum(not emission.is_return for emission in rows.emissions)
        for count in rows.counts:
            summary.records += count.records
            summary.used += count.used
            summary.copies += count.copies
            summary.ignored += count.ignored
            summary.skipped += count.skipped
            summary.unfinished += count.unfinished

    def finish(self) -> None:
        """Mark what is gone, settle the history if anything changed, fold the log into the file."""
        store, plan, now = self.store, self.plan, time.time_ns() // 1000
        gone, back = self._gone_and_back()
        # nothing hangs on strangers and on notes of what could not be read: they go with their files
        vanished = [
            path
            for path, known in plan.known.items()
            if known.unit_key is None and path not in plan.seen and is_gone(real_path(path))
        ]
        unnoted = [path for path in plan.notes if path not in plan.seen and is_gone(real_path(path))]
        if gone or back or vanished or plan.notes or plan.strangers or plan.has_new_judges or store.is_stale:
            with store.transaction():
                _mark(store, gone, now)
                _mark(store, back, None)
                delete_paths(store, "raw.skipped", unnoted, "line = 0 and")
                delete_paths(store, "raw.file", [*vanished, *(row[0] for row in plan.strangers)])
                append(store, "raw.file", plan.strangers)
                store.query("delete from raw.meta where key = 'judges'")
                store.query("insert into raw.meta values ('judges', ?)", [plan.judges])
                store.query(_DROP_EMPTY_UNITS)
                if store.is_stale:
                    history.complete(store)
                    settle_costs(store, self.prices)
                    store.query("delete from raw.meta where key = 'stale'")
            store.checkpoint()
        if not is_priced(store, self.prices):
            with store.transaction():
                settle_costs(store, self.prices)
        self._count_copies()

    def _gone_and_back(self) -> tuple[list[str], list[str]]:
        """Files of units that have vanished, and that are here again, since the store was last told."""
        gone, back = [], []
        for path, known in self.plan.known.items():
            # a write-ahead log comes and goes with the work on its database
            if known.unit_key is None or path.endswith(WAL_SUFFIX):
                continue
            if path not in self.plan.seen and is_gone(real_path(path)):
                gone.append((path, known.gone))
            elif known.gone:
                back.append(path)
        self.summary.files_gone = len(gone)
        new = [path for path, is_known in gone if not is_known]
        self.summary.files_gone_now = len(new)
        return new, back

    def _count_copies(self) -> None:
        """Move results that the history found to be copies from used to copies, as the view `file` has it."""
        if not self._read_units:
            return
        self.store.query("create or replace temp table met (unit_key bigint)")
        append(self.store, "met", [(key,) for key in self._read_units])
        ((copies,),) = self.store.query(
            "select coalesce(sum(f.copies), 0) - coalesce(sum(n.copies), 0) from file f "
            "join raw.file_count n on n.unit_key = f.unit_key and n.path = f.path "
            "where f.unit_key in (select unit_key from met)"
        )
        self.store.query("drop table met")
        self.summary.used -= int(copies)
        self.summary.copies += int(copies)


_DROP_EMPTY_UNITS = """
delete from raw.unit
where unit_key not in (select unit_key from raw.file where unit_key is not null)
    and unit_key not in (select unit_key from raw.skipped)
"""


def _mark(store: Store, paths: list[str], gone_at: int | None) -> None:
    """Set the time at which files were found to be gone, or None for those that are here again."""
    if paths:
        with met(store, paths):
            store.query("update raw.file set gone_at = ? where path in (select path from met)", [gone_at])
