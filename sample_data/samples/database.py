"""Writes SQLite files whose bytes depend on nothing but their rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGE_BYTES = 1024
"""small, because rows just above a page's size waste most of the next one"""
LIBRARY_VERSION = 3_040_000
"""stands in the header in place of the version of the library that wrote the file"""
_COUNTERS = (24, 92)
_LIBRARY = 96


def write_database(
    path: Path,
    tables: Sequence[str],
    rows: dict[str, list[tuple[Any, ...]]],
    indexes: Sequence[str] = (),
    user_version: int = 0,
) -> None:
    """Write a database: tables, their rows in the order given, then the indexes.

    No write-ahead log, nothing deleted, so no `VACUUM` is needed. The header's change counters and the
    version of the library are set to fixed values afterwards (SQLite file format, section 1.3): both say
    who wrote the file, not what is in it.
    """
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for setting in ("journal_mode = delete", "auto_vacuum = none", "secure_delete = on"):
            database.execute(f"pragma {setting}").fetchall()
        database.execute(f"pragma page_size = {PAGE_BYTES}")
        database.execute("begin")
        for statement in tables:
            database.execute(statement)
        for table, values in rows.items():
            if values:
                marks = ", ".join("?" * len(values[0]))
                database.executemany(f"insert into {table} values ({marks})", values)
        for statement in indexes:
            database.execute(statement)
        database.execute(f"pragma user_version = {user_version}")
        database.execute("commit")
    with path.open("r+b") as file:
        for offset in _COUNTERS:
            file.seek(offset)
            file.write((1).to_bytes(4, "big"))
        file.seek(_LIBRARY)
        file.write(LIBRARY_VERSION.to_bytes(4, "big"))
