"""Taking in: units read through their sources, their rows handed on in batches of whole units."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from dedupstats.errors import UnreadableUnitError
from dedupstats.ingest.plan import unreadable
from dedupstats.ingest.summary import Unreadable
from dedupstats.ingest.write import Batch, UnitRows
from dedupstats.sources.base import hash64, not_understood

if TYPE_CHECKING:
    from dedupstats.ingest.plan import Plan
    from dedupstats.ingest.summary import Progress
    from dedupstats.sources.base import Reading, Unit
    from dedupstats.store import Store


class Taker:
    """Reads what a plan says has to be read.

    Args:
        store: The store that is written.
        plan: The plan, whose summary is told what was read.
        reading: How to read.

    Attributes:
        read_units: Keys of the units that were read, so far.
    """

    def __init__(self, store: Store, plan: Plan, reading: Reading) -> None:
        self._store = store
        self._plan = plan
        self._summary = plan.summary
        self._reading = reading
        self._batch = Batch(store, reading.names, plan)
        self.read_units: list[int] = []

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
            if self._batch.is_full:
                self._batch.commit()
                gc.collect(0)
            if progress is not None:
                progress(done, total, unit.key)
        for path, reason in self._plan.broken:
            self._batch.note_unreadable("unknown", path, path, reason)
        self._batch.drop(self._plan.dropped)
        self._batch.commit()

    def _take(self, unit: Unit) -> None:
        """Read one unit into the batch; one that cannot be read is noted and keeps the rows that it had."""
        unit_key = hash64(unit.source, unit.key)
        rows = UnitRows(unit_key, unit)
        try:
            for record in self._plan.sources[unit.source].read(unit, self._reading):
                rows.take(record)
        except Exception as error:  # noqa: BLE001 - one hostile log must not cost the others
            first = unit.files[0].path
            if not isinstance(error, UnreadableUnitError):
                # a fault of ours: said as such, and the log keeps the rows that it had
                self._summary.trace(first, error)
                error = UnreadableUnitError(not_understood(error))
            fault = unreadable(first, error)
            self._summary.unreadable.append(fault)
            self._batch.note_unreadable(unit.source, unit.key, first, fault.reason)
            return
        for path, reason in rows.finish().items():
            self._summary.unreadable.append(Unreadable(path, reason))
            self._batch.note_unreadable(unit.source, unit.key, path, reason)
        rows.files = [self._plan.file_row(file, unit_key) for file in unit.files]
        self._count(unit, rows)
        self._batch.add(rows)

    def _count(self, unit: Unit, rows: UnitRows) -> None:
        summary = self._summary
        self.read_units.append(rows.unit_key)
        summary.units_read[unit.source] += 1
        summary.emissions[unit.source] += sum(not emission.is_return for emission in rows.emissions)
        for count in rows.counts:
            summary.records += count.records
            summary.used += count.used
            summary.copies += count.copies
            summary.ignored += count.ignored
            summary.skipped += count.skipped
            summary.unfinished += count.unfinished
