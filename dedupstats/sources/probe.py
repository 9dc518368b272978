"""A first look at a file: what the sources judge by, read once and shown to all of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dedupstats.errors import UnreadableUnitError

if TYPE_CHECKING:
    from collections.abc import Iterator

SQLITE_MAGIC = b"SQLite format 3\0"
WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 256 * 1024
HEAD_LINES = 64
DOCUMENT_BYTES = 64 * 1024 * 1024


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

    @property
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
        """The JSON objects that stand on lines of their own in the head, parsed as far as they are asked for."""
        yield from self._rows
        while self._pending:
            line = self._pending.pop()
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                if isinstance(row, dict):
                    self._rows.append(row)
                    yield row

    @cached_property
    def _pending(self) -> list[bytes]:
        """Lines of the head that nobody has asked for yet, the first one last."""
        lines = self.head.split(b"\n", HEAD_LINES)
        if len(self.head) >= HEAD_BYTES or len(lines) > HEAD_LINES:
            lines.pop()
        return lines[::-1]

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value, or None if it is not one (or is above 64 MiB)."""
        if self.size > DOCUMENT_BYTES or self.head.lstrip()[:1] not in (b"{", b"["):
            return None
        first, _, rest = self.head.partition(b"\n")
        if rest.strip() and first.rstrip().endswith(b"}") and next(self.rows, None) is not None:
            return None  # one value on the first line and more behind it: lines, no document
        try:
            return json.loads(Path(self.path).read_bytes().removeprefix(BOM))
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
                    "select name from sqlite_master where type = 'table' order by name"
                ).fetchall()
            ]
            return {
                name: frozenset(
                    row[1] for row in self.database.execute(f"pragma table_info({_quoted(name)})").fetchall()
                )
                for name in names
            }
        except sqlite3.Error as error:
            raise UnreadableUnitError(
                f"{self.path}: damaged SQLite file ({error})", "restore it from a backup, or leave it out"
            ) from error

    @property
    def database(self) -> sqlite3.Connection:
        """A connection to the private copy; text that is no UTF-8 is read with replacement marks."""
        if self._connection is None:
            try:
                self._folder = tempfile.TemporaryDirectory(prefix="dedupstats-")
                copy = Path(self._folder.name) / "copy.db"
                shutil.copyfile(self.path, copy)
                with suppress(FileNotFoundError):
                    shutil.copyfile(self.path + "-wal", f"{copy}-wal")
            except OSError as error:
                raise UnreadableUnitError(f"{self.path}: {error.strerror or error}") from error
            connection = sqlite3.connect(copy, timeout=0, isolation_level=None)
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._connection = connection
        return self._connection

    def close(self) -> None:
        """Close the private copy and remove it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
