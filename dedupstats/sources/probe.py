"""A first look at a file: what the sources judge by, read once and shown to all of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dedupstats.errors import UnreadableUnitError
from dedupstats.sources.base import has_many_values, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

SQLITE_MAGIC = b"SQLite format 3\0"
WAL_SUFFIX = "-wal"
WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
SIDE_SUFFIXES = (WAL_SUFFIX, "-journal")
"""what holds changes that the database itself does not have yet, or has half"""
ROW_IDS = ("rowid", "_rowid_", "oid")
"""SQLite's names for the number of a row"""
COPIES = "dedupstats-"
"""how the names of private copies begin; the number of their process follows"""
STALE_SECONDS = 3600
"""age from which a copy can be stale: of a process elsewhere (a container) nobody here knows that it lives"""
COPY_TRIES = 4
"""how often a database is copied anew because its owner wrote to it meanwhile"""
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""how SQLite tells of a damaged file: Python cannot read its words where they quote bytes that are no text"""
BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 256 * 1024
HEAD_LINES = 64
DOCUMENT_BYTES = 32 * 1024 * 1024
"""larger JSON documents are not taken for logs: parsed, they need eight times their size"""


class Probe:
    """One file, looked at lazily: its head, its JSON rows or document, its SQLite tables.

    A SQLite file is opened once, as a private copy together with its write-ahead log, because opening it
    in place leaves files beside it, and `immutable=1` misses the rows that are only in the log
    (docker-agent.md 3.1, rtk.md 2.2). Use as a context manager, or call `close`, to remove the copy.
    """

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self.size = size
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._connection: sqlite3.Connection | None = None
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def name(self) -> str:
        """The file's own name."""
        return Path(self.path).name

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file, without a byte order mark.

        Raises:
            UnreadableUnitError: The file cannot be opened or read.
        """
        try:
            with Path(self.path).open("rb", buffering=0) as file:
                return (file.read(HEAD_BYTES) or b"").removeprefix(BOM)
        except OSError as error:
            raise UnreadableUnitError(f"{self.path}: {error.strerror or error}") from error

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The JSON objects that stand on lines of their own in the head, parsed as far as asked for."""
        yield from self._rows
        for line in self._pending:
            with suppress(ValueError, RecursionError):
                row = parse_json(line)
                if isinstance(row, dict):
                    self._rows.append(row)
                    yield row

    @cached_property
    def _pending(self) -> Iterator[bytes]:
        """Lines of the head that nobody has asked for yet; most files are known by their first."""
        begin = 0
        for _ in range(HEAD_LINES):
            end = self.head.find(b"\n", begin)
            if end < 0:
                if self.size <= HEAD_BYTES:
                    yield self.head[begin:]
                return
            yield self.head[begin:end]
            begin = end + 1

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value, or None if it is not one, or above 32 MiB or a million values."""
        if self.size > DOCUMENT_BYTES or self.head.lstrip()[:1] not in (b"{", b"["):
            return None
        first, _, rest = self.head.partition(b"\n")
        if rest.strip() and first.rstrip().endswith(b"}") and next(self.rows, None) is not None:
            return None  # one value on the first line and more behind it: lines, no document
        try:
            data = Path(self.path).read_bytes().removeprefix(BOM)
            return None if has_many_values(data) else parse_json(data)
        except (OSError, ValueError, RecursionError):
            return None

    @property
    def is_sqlite(self) -> bool:
        """Whether the file is a SQLite database by its first 16 bytes."""
        return self.head[:16] == SQLITE_MAGIC

    @cached_property
    def tables(self) -> dict[str, frozenset[str]]:
        """SQLite tables and their columns; empty for other files.

        Raises:
            UnreadableUnitError: It has the mark of SQLite and cannot be read as such.
        """
        if not self.is_sqlite:
            return {}
        try:
            names = [
                row[0]
                for row in self.database.execute(
                    # virtual ones, which have no page, may need a module that is not here
                    "select name from sqlite_master where type = 'table' and rootpage > 0 order by name"
                ).fetchall()
            ]
            return {
                name: frozenset(
                    row[1] for row in self.database.execute(f"pragma table_info({_quoted(name)})").fetchall()
                )
                for name in names
            }
        except DAMAGE as error:
            raise damaged(self.path, error) from error

    def row_id(self, table: str) -> str | None:
        """What the numbers of a table's rows are called in SQL; None if it has none (WITHOUT ROWID).

        Raises:
            sqlite3.Error, UnicodeDecodeError: The database is damaged (`DAMAGE`).
        """
        # a column of that name would stand before the number, and may hold anything
        taken = {name.lower() for name in self.tables[table]}
        name = next((name for name in ROW_IDS if name not in taken), None)
        if name is not None:
            try:
                self.database.execute(f"select {name} from {_quoted(table)} limit 0")
            except sqlite3.OperationalError:
                return None
        return name

    def select(
        self, query: str, parameters: tuple[Any, ...] = (), *, longest: int
    ) -> Iterator[tuple[Any, ...] | None]:
        """The rows of a query; None for one with a longer value, which is passed over without being held.

        Args:
            query: SQL without a limit.
            parameters: Its parameters.
            longest: Bytes that a text or blob may have.

        Raises:
            sqlite3.Error, UnicodeDecodeError: The database is damaged (`DAMAGE`).
        """
        self.database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        place = 0
        while True:
            try:
                for row in self.database.execute(f"{query} limit -1 offset {place}", parameters):
                    place += 1
                    yield row
            except sqlite3.DataError:
                pass
            else:
                return
            # the statement that failed may have lost the row before the one that is too long
            try:
                row = self.database.execute(f"{query} limit 1 offset {place}", parameters).fetchone()
            except sqlite3.DataError:
                row = None
            place += 1
            yield row

    @property
    def is_open(self) -> bool:
        """Whether there is a private copy now."""
        return self._connection is not None

    @property
    def database(self) -> sqlite3.Connection:
        """A connection to the private copy; text that is no UTF-8 is read with replacement marks.

        Raises:
            UnreadableUnitError: The file cannot be copied.
        """
        if self._connection is None:
            try:
                remove_stale_copies()
                self._folder = tempfile.TemporaryDirectory(prefix=f"{COPIES}{os.getpid()}-")
                copy = Path(self._folder.name) / "copy.db"
                _copy_database(self.path, copy)
            except OSError as error:
                self.close()
                raise UnreadableUnitError(f"{self.path}: {error.strerror or error}") from error
            connection = sqlite3.connect(copy, timeout=0, isolation_level=None)
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._connection = connection
        return self._connection

    def forget(self) -> None:
        """Drop what was read of the file, but for the list of tables; it is read again if asked for."""
        for name in ("head", "document", "_pending"):
            self.__dict__.pop(name, None)
        self._rows = []

    def close(self) -> None:
        """Close the private copy and remove it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


@cache
def remove_stale_copies() -> None:
    """Remove private copies that killed processes of this user have left; once in the life of this one."""
    if not hasattr(os, "getuid"):
        return  # without POSIX there is no asking for a process that would not touch it
    for folder in Path(tempfile.gettempdir()).glob(f"{COPIES}*-*"):
        with suppress(OSError, ValueError):
            status = folder.lstat()
            is_old = time.time() - status.st_mtime > STALE_SECONDS
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and is_old:
                try:
                    os.kill(int(folder.name.split("-")[1]), 0)
                except ProcessLookupError:
                    shutil.rmtree(folder, ignore_errors=True)


def _copy_database(path: str, copy: Path) -> None:
    """Copy a database with its logs, all of one moment: again if somebody wrote to it meanwhile.

    No lock is taken, so neither does a locked database (fault case X11) stop us, nor we its owner. If it
    never rests, the last copy is taken, whose damage, if any, SQLite reports.
    """
    for _ in range(COPY_TRIES):
        before = _state(path)
        shutil.copyfile(path, copy)
        for suffix in SIDE_SUFFIXES:
            side = Path(f"{copy}{suffix}")
            side.unlink(missing_ok=True)
            if Path(path + suffix).is_file():
                with suppress(FileNotFoundError):
                    shutil.copyfile(path + suffix, side)
        if _state(path) == before:
            return


def _state(path: str) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for suffix in ("", *SIDE_SUFFIXES):
        try:
            status = Path(path + suffix).stat()
        except OSError:
            found.append(None)
        else:
            found.append((status.st_size, status.st_mtime_ns))
    return found


def damaged(path: str, error: Exception) -> UnreadableUnitError:
    """What to say of a database that one of `DAMAGE` was met in."""
    reason = "its schema is no text" if isinstance(error, UnicodeDecodeError) else error
    return UnreadableUnitError(
        f"{path}: damaged SQLite file ({reason})", "restore it from a backup, or leave it out"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
