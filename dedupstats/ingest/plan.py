"""Planning: which files there are, whose they are, and which units have to be read."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats._version import __version__
from dedupstats.errors import DedupstatsError, NothingFoundError, UnreadableUnitError
from dedupstats.ingest import find
from dedupstats.ingest.summary import UNREADABLE, Found, ImportSummary, Unreadable
from dedupstats.sources.base import FileInfo, Source, Unit, hash64, not_understood
from dedupstats.sources.measure import to_storable
from dedupstats.sources.probe import WAL_MAGICS, WAL_SUFFIX, Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from dedupstats.store import Store

LOG_SUFFIXES = (".jsonl", ".json", ".db")
"""endings of files that are probed whatever they begin with, and said to be strangers if they are"""
OPEN_COPIES = 16
"""private copies of databases that wait, opened, for their unit to be read; further ones are made anew"""


class _Known(NamedTuple):
    size: int
    mtime_ns: int
    fingerprint: bytes
    unit_key: int | None
    gone: bool


class Plan:
    """What one import has to read, and what it met on the way.

    Attributes:
        known: What the store knows of files, by path as stored (`to_storable`).
        notes: Files that could not be read when last tried: unit and reason, by path as stored.
        seen: Paths, as stored, that this run met.
        strangers: Rows of `raw.file` for files that no source claims.
        dropped: Paths, as stored, of files that belonged to a unit and now are nobody's.
        broken: Files that cannot be read, so that nobody knows whose they are.
    """

    def __init__(
        self, store: Store, sources: dict[str, Source], summary: ImportSummary, *, force: bool
    ) -> None:
        self._store = store
        self.force = force
        self.summary = summary
        self.sources = sources
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
        self.notes: dict[str, tuple[int, str]] = {
            path: (unit, reason)
            for path, unit, reason in store.query(
                "select path, unit_key, substr(reason, len(?) + 1) from raw.skipped "
                "where line = 0 and starts_with(reason, ?)",
                [UNREADABLE, UNREADABLE],
            )
        }
        self._failed_units = {unit for unit, _ in self.notes.values()}
        self._named: set[str] = set()
        self._known_sources = {name for name, _ in self.unit_keys.values()}
        self.judges = f"dedupstats {__version__}: {' '.join(sorted(sources))}"
        # another version, or one with further sources, may know files that were strangers before
        judged_by = store.query("select value from raw.meta where key = 'judges'")
        self.has_new_judges = judged_by != [(self.judges,)]
        self._looks: dict[str, find.Look] = {}
        self.seen: set[str] = set()
        self.strangers: list[tuple[Any, ...]] = []
        self.dropped: list[str] = []
        self.broken: list[Unreadable] = []
        self._roots_of_places: list[str] = []
        self._copies_open = 0

    # -- where to look ------------------------------------------------------------------------------------

    def roots(self, paths: Sequence[str | Path] | None, environment: Mapping[str, str]) -> list[str]:
        """What to walk: the paths given with their companions, or every source's default places.

        Raises:
            NothingFoundError: A path does not exist or is neither file nor folder.
        """
        if paths is None:
            return self._default_roots(environment)
        roots: list[str] = []
        for path in paths:
            full, is_folder = _checked(path)
            roots.append(full)
            if is_folder:
                continue
            self._named.add(full)
            # a log goes with its database, whichever was named
            base = full.removesuffix(WAL_SUFFIX)
            beside = [base, base + WAL_SUFFIX]
            for source in self.sources.values():
                beside.extend(source.companions(full))
            roots.extend(name for name in beside if name != full and os.path.exists(name))
        return roots

    def _default_roots(self, environment: Mapping[str, str]) -> list[str]:
        roots = []
        home = _home(environment)
        for source in self.sources.values():
            for place in source.places(environment, home, sys.platform):
                exists = os.path.exists(place.path)
                self.summary.places.append(Found(source.name, place.shown_as, exists))
                self._roots_of_places.append(os.path.realpath(place.path) if exists else "")
                if exists:
                    roots.append(str(place.path))
        return roots

    # -- what to read -------------------------------------------------------------------------------------

    def units(self, roots: list[str], probes: ExitStack) -> list[Unit]:
        """The units that have to be read, sorted; what is unchanged is only counted."""
        found = find.walk(
            roots, lambda path, reason: self.summary.unreadable.append(Unreadable(path, reason))
        )
        self.seen.update(to_storable(file.path) for file in found)
        units: dict[int, Unit] = {}
        touched: set[int] = set()
        for file in found:
            if self._is_wal(file):
                continue
            look = self._look(file)
            wal = find.stat_file(file.path + WAL_SUFFIX) if look.is_database else None
            probe = None
            known = self._unchanged(file, look, wal)
            if known is not None:
                unit_key = known.unit_key
                if unit_key is None:
                    self._count_stranger(file.path, file.size)
                    continue
                unit = units.get(unit_key)
                if unit is None:
                    source, name = self.unit_keys[unit_key]
                    unit = units[unit_key] = Unit(source, find.real_path(name))
            elif look.is_text and self._is_passed_over(file):
                self.summary.passed_over += 1
                continue
            else:
                probe = probes.enter_context(Probe(file.path, file.size))
                recognised = self._recognise(probe, file)
                self._let_go(probe)
                if recognised is None:
                    continue
                unit_key = hash64(recognised.source, recognised.key)
                unit = units.setdefault(unit_key, recognised)
                touched.add(unit_key)
            unit.files.extend([file] if wal is None else [file, wal])
            if probe is not None:
                unit.probes[file.path] = probe
            self._count_found(unit.source, file)
        self._unite_with_known({key: units[key] for key in touched})
        unchanged = units.keys() - touched
        for key in unchanged:
            self.summary.units_unchanged[units[key].source] += 1
        self.summary.skipped_before = sum(
            int(number)
            for key, number in self._store.query(
                "select unit_key, sum(records) from raw.skipped group by all"
            )
            if key in unchanged
        )
        wanted = sorted((units[key] for key in touched), key=lambda unit: (unit.source, unit.key))
        self.summary.new_sources = sorted({unit.source for unit in wanted} - self._known_sources)
        return wanted

    def _is_wal(self, file: FileInfo) -> bool:
        """A write-ahead log goes with its database; one that has lost it is nobody's."""
        if not file.path.endswith(WAL_SUFFIX):
            return False
        try:
            with open(file.path, "rb") as opened:
                if opened.read(4) not in {*WAL_MAGICS, b""}:
                    return False
        except OSError:
            pass  # reading its database will tell
        if not os.path.exists(file.path.removesuffix(WAL_SUFFIX)):
            self._count_stranger(file.path, file.size)
        return True

    def _count_stranger(self, path: str, size: int) -> None:
        """A file that is no log; one without any byte is nothing to wonder at."""
        if size:
            self.summary.unrecognised.append(path)
        else:
            self.summary.empty += 1

    def _unchanged(self, file: FileInfo, look: find.Look, wal: FileInfo | None) -> _Known | None:
        """What is known of a file that can be left as it was read, or as it was found to be nobody's."""
        stored = to_storable(file.path)
        known = self.known.get(stored)
        if known is None or self.force or stored in self.notes or known.unit_key in self._failed_units:
            return None
        if known.unit_key is None and self.has_new_judges:
            return None
        if known[:3] != (file.size, file.mtime_ns, look.fingerprint):
            return None
        known_wal = self.known.get(stored + WAL_SUFFIX)
        if wal is None:
            is_same = known_wal is None or known_wal.gone
        else:
            mark = self._look(wal).fingerprint
            is_same = known_wal is not None and known_wal[:3] == (wal.size, wal.mtime_ns, mark)
        return known if is_same else None

    def _look(self, file: FileInfo) -> find.Look:
        """The ends of a file, looked at before it is read: a change meanwhile shows at the next import."""
        look = self._looks.get(file.path)
        if look is None:
            look = self._looks[file.path] = find.look(file)
        return look

    def _is_passed_over(self, file: FileInfo) -> bool:
        """Whether a file that begins as no log does is not to be probed for its name or its past."""
        if file.path.endswith(LOG_SUFFIXES) or file.path in self._named:
            return False
        known = self.known.get(to_storable(file.path))
        return known is None or known.unit_key is None

    def _recognise(self, probe: Probe, file: FileInfo) -> Unit | None:
        """The unit that a file belongs to, or None; strangers are noted, not to be probed again."""
        try:
            for source in self.sources.values():
                claim = source.claim(probe)
                if claim is not None:
                    return Unit(source.name, claim.unit_key)
        except Exception as error:  # noqa: BLE001 - one hostile file must not cost the others
            if not isinstance(error, UnreadableUnitError):
                self.summary.trace(probe.path, error)
                error = UnreadableUnitError(not_understood(error))
            self.broken.append(unreadable(probe.path, error))
            self.summary.unreadable.append(self.broken[-1])
            return None
        self._count_stranger(file.path, file.size)
        self.strangers.append(self.file_row(file, None))
        known = self.known.get(to_storable(file.path))
        if known is not None and known.unit_key is not None:
            self.dropped.append(to_storable(file.path))
        return None

    def _let_go(self, probe: Probe) -> None:
        """Give back what a probe holds: thousands of files may wait for their unit to be read."""
        if not probe.is_open or self._copies_open >= OPEN_COPIES:
            probe.close()
        else:
            self._copies_open += 1
        probe.forget()

    def _count_found(self, source: str, file: FileInfo) -> None:
        summary = self.summary
        summary.files[source] += 1
        summary.bytes[source] += file.size
        for number, root in enumerate(self._roots_of_places):
            if root and (file.path == root or file.path.startswith(root.rstrip(os.sep) + os.sep)):
                place = summary.places[number]
                summary.places[number] = place._replace(files=place.files + 1, bytes=place.bytes + file.size)
                return

    def _unite_with_known(self, units: dict[int, Unit]) -> None:
        """A unit is read whole: add the files it is known to have that this walk did not meet."""
        for stored, known in self.known.items():
            unit = units.get(known.unit_key) if known.unit_key is not None else None
            if unit is None or stored in self.seen or stored.endswith(WAL_SUFFIX):
                continue
            file = find.stat_file(find.real_path(stored))
            if file is not None:
                self.seen.add(stored)
                unit.files.append(file)
        for unit in units.values():
            unit.files.sort()

    def file_row(self, file: FileInfo, unit_key: int | None) -> tuple[Any, ...]:
        """The row of `raw.file` for a file as it was met."""
        return (file.path, unit_key, file.size, file.mtime_ns, self._look(file).fingerprint, None)


def _checked(path: str | Path) -> tuple[str, bool]:
    """The real path of what a person named, and whether it is a folder."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        if os.path.islink(path):
            message = f"{path} is a link to {os.readlink(path)}, which does not exist"
        else:
            message = f"no such file or folder: {path}"
        raise NothingFoundError(message, "check the spelling, or leave it out") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NothingFoundError(f"cannot look at {path}: {reason}", "name another file or folder") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise NothingFoundError(
            f"{path} is neither a file nor a folder", "write what it holds to a file, and name that"
        )
    return os.path.realpath(path), stat.S_ISDIR(mode)


def _home(environment: Mapping[str, str]) -> Path:
    chosen = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    if chosen:
        return Path(chosen)
    try:
        return Path.home()
    except RuntimeError as error:
        raise NothingFoundError(
            "it is not known where your home folder is", "set HOME, or name a file or folder"
        ) from error


def unreadable(path: str, error: DedupstatsError) -> Unreadable:
    """An error as an entry of the summary, the path said once."""
    return Unreadable(path, error.message.removeprefix(f"{path}: "))
