"""Planning: which files there are, whose they are, and which units have to be read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.errors import DedupstatsError, NothingFoundError, UnreadableUnitError
from dedupstats.ingest import find
from dedupstats.ingest.summary import Found, ImportSummary, Unreadable
from dedupstats.ingest.write import WAL_SUFFIX
from dedupstats.sources.base import FileInfo, Source, Unit, hash64
from dedupstats.sources.measure import to_storable
from dedupstats.sources.probe import BOM, SQLITE_MAGIC, WAL_MAGICS, Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from dedupstats.store import Store


class _Known(NamedTuple):
    size: int
    mtime_ns: int
    fingerprint: bytes
    unit_key: int | None
    gone: bool


class Plan:
    """What one import has to read, and what it met on the way.

    Attributes:
        seen: Paths that this run met.
        strangers: Rows of `raw.file` for files that no source claims.
    """

    def __init__(
        self, store: Store, sources: dict[str, Source], summary: ImportSummary, *, force: bool
    ) -> None:
        self.force = force
        self.summary = summary
        self.sources = sources
        self.broken: list[Unreadable] = []
        self.known = {
            path: _Known(size, mtime, mark, unit, gone)
            for path, size, mtime, mark, unit, gone in store.query(
                "select path, size, mtime_ns, fingerprint, unit_key, gone_at is not null from raw.file"
            )
        }
        self.unit_keys: dict[int, tuple[str, str]] = {
            key: (source, name)
            for key, source, name in store.query("select unit_key, source, key from raw.unit")
        }
        self.fingerprints: dict[str, bytes] = {}
        self.seen: set[str] = set()
        self.strangers: list[tuple[Any, ...]] = []

    def roots(self, paths: Sequence[str | Path] | None, environment: Mapping[str, str]) -> list[str]:
        """What to walk: the paths given with their companions, or every source's default places."""
        roots: list[str] = []
        if paths is None:
            for source in self.sources.values():
                for place in source.places(environment, Path.home(), sys.platform):
                    exists = place.path.exists()
                    self.summary.places.append(Found(source.name, place.shown_as, 0, exists))
                    if exists:
                        roots.append(str(place.path))
            return roots
        for path in paths:
            if not os.path.lexists(path):
                raise NothingFoundError(
                    f"no such file or folder: {path}", "check the spelling, or leave it out"
                )
            full = os.path.realpath(path)
            roots.append(full)
            if os.path.isfile(full):
                beside = [full + WAL_SUFFIX]
                for source in self.sources.values():
                    beside.extend(source.companions(full))
                roots.extend(name for name in beside if os.path.exists(name))
        return roots

    def units(self, roots: list[str], probes: ExitStack) -> list[Unit]:
        """The units that have to be read, sorted; what is unchanged is only counted."""
        found = find.walk(
            roots, lambda path, reason: self.summary.unreadable.append(Unreadable(path, reason))
        )
        self.seen.update(to_storable(file.path) for file in found)
        units: dict[tuple[str, str], Unit] = {}
        touched: set[tuple[str, str]] = set()
        logs = {file.path: file for file in found if not self._is_wal(file)}
        for file in logs.values():
            wal = _stat(file.path + WAL_SUFFIX)
            known = self.known.get(to_storable(file.path))
            changed = self.force or not self._unchanged(file, known) or self._wal_changed(file.path, wal)
            if known is not None and not changed:
                if known.unit_key is None:
                    self.summary.unrecognised.append(file.path)
                    continue
                claim = self.unit_keys[known.unit_key]
                probe = None
            else:
                probe = probes.enter_context(Probe(file.path, file.size))
                recognised = self._recognise(probe)
                if recognised is None:
                    continue
                claim = recognised
                touched.add(claim)
            unit = units.setdefault(claim, Unit(*claim))
            unit.files.append(file)
            if probe is not None:
                unit.probes[file.path] = probe
            if wal is not None:
                unit.files.append(wal)
            self.summary.files[claim[0]] += 1
        self._unite_with_known(units, touched)
        for claim in units.keys() - touched:
            self.summary.units_unchanged[claim[0]] += 1
        return [units[claim] for claim in sorted(touched)]

    def _is_wal(self, file: FileInfo) -> bool:
        """A write-ahead log goes with its database, whichever was named."""
        if not file.path.endswith(WAL_SUFFIX):
            return False
        try:
            with open(file.path, "rb") as opened:  # noqa: PTH123
                return opened.read(4) in (*WAL_MAGICS, b"")
        except OSError:
            return True

    def _unchanged(self, file: FileInfo, known: _Known | None) -> bool:
        if known is None or (known.size, known.mtime_ns) != (file.size, file.mtime_ns):
            return False
        mark = self.fingerprints[file.path] = find.fingerprint(file) or b""
        return mark == known.fingerprint

    def _wal_changed(self, path: str, wal: FileInfo | None) -> bool:
        known = self.known.get(to_storable(path + WAL_SUFFIX))
        if wal is None:
            return known is not None and not known.gone
        return not self._unchanged(wal, known)

    def _recognise(self, probe: Probe) -> tuple[str, str] | None:
        """Source and unit key of a file, or None; strangers are noted, not to be probed again."""
        try:
            if not _may_be_log(probe):
                return None
            for source in self.sources.values():
                claim = source.claim(probe)
                if claim is not None:
                    return source.name, claim.unit_key
        except UnreadableUnitError as error:
            self.summary.unreadable.append(unreadable(probe.path, error))
            self.broken.append(self.summary.unreadable[-1])
            return None
        self.summary.unrecognised.append(probe.path)
        file = _stat(probe.path)
        if file is not None:
            self.strangers.append(self.file_row(file, None))
        return None

    def _unite_with_known(self, units: dict[tuple[str, str], Unit], touched: set[tuple[str, str]]) -> None:
        """A unit is read whole: add the files it is known to have that this walk did not meet."""
        keys = {hash64(*claim): claim for claim in touched}
        for path, known in self.known.items():
            claim = keys.get(known.unit_key) if known.unit_key is not None else None
            if claim is None or path in self.seen or path.endswith(WAL_SUFFIX):
                continue
            file = _stat(path)
            if file is not None:
                self.seen.add(path)
                units[claim].files.append(file)
        for claim in touched:
            units[claim].files.sort()

    def file_row(self, file: FileInfo, unit_key: int | None) -> tuple[Any, ...]:
        """The row of `raw.file` for a file as it was met."""
        mark = self.fingerprints.get(file.path)
        if mark is None:
            mark = find.fingerprint(file) or b""
        return (file.path, unit_key, file.size, file.mtime_ns, mark, None)


def _stat(path: str) -> FileInfo | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FileInfo(path, status.st_size, status.st_mtime_ns)


def _may_be_log(probe: Probe) -> bool:
    """A quick look that rules out what no source can claim: text and media files beside the logs."""
    head = probe.head
    if head.startswith(SQLITE_MAGIC) or probe.path.endswith((".jsonl", ".json", ".db")):
        return True
    return head.removeprefix(BOM).lstrip()[:1] == b"{"


def unreadable(path: str, error: DedupstatsError) -> Unreadable:
    """An error as an entry of the summary, the path said once."""
    return Unreadable(path, error.message.removeprefix(f"{path}: "))
