"""Opening, migrating and querying the one DuckDB file.

The store knows nothing of policies or of how logs look. Rows arrive through `append`, in transactions that
hold whole units; everything downstream reads the views of `views.sql`. A store is opened for as long as a
command needs it and no longer, so that a notebook and an import can take turns.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import tomllib
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb

from dedupstats.errors import StoreError
from dedupstats.paths import expanded, for_duckdb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

_T = TypeVar("_T")

STORAGE_VERSION = "v1.4.0"
"""Format of a new file: the oldest that DuckDB 2.0 writes for us and DuckDB 1.4 can open (tested)."""

IMPORT_MEMORY = "160MB"
"""What DuckDB may hold while importing; without a limit it takes 80 % of the machine (methods.md 1.5)."""

SPARE_MEMORY = ("160MB", "200MB", "280MB", "400MB")
"""What DuckDB may hold while it sorts a history for a replay or reads it back: the first that suffices."""

WRITE_ERRORS = (
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.OutOfMemoryException,
    duckdb.SerializationException,
    duckdb.FatalException,
    duckdb.InternalException,
)
"""What DuckDB raises when the file, the disk or the memory fails; anything else is a mistake of ours."""


@cache
def _migrations() -> tuple[tuple[int, str, str], ...]:
    """Number, name and SQL of every migration, in order; the number is the file name's first four digits."""
    folder = files("dedupstats.store") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        (int(name[:4]), name[5:].removesuffix(".sql"), (folder / name).read_text("utf-8")) for name in found
    )


def _latest() -> int:
    return _migrations()[-1][0]


MIGRATIONS = _latest
"""Number of the newest migration that this program knows."""


def default_path() -> Path:
    """Where the store is: `DEDUPSTATS_DB`, else `dedupstats/dedupstats.duckdb` in the user's data folder."""
    chosen = os.environ.get("DEDUPSTATS_DB")
    if chosen:
        return expanded(chosen)
    from platformdirs import user_data_path

    return user_data_path("dedupstats", appauthor=False) / "dedupstats.duckdb"


def open_store(path: str | Path | None = None, *, read_only: bool = False) -> Store:
    """Open the store, making or migrating it if need be. Use it as a context manager.

    Args:
        path: The file; by default `DEDUPSTATS_DB` or the user's data folder. `":memory:"` for none.
        read_only: Open for reading only; several readers may share a file, a writer excludes them.

    Raises:
        StoreError: It does not exist (read-only), is locked, newer than this program, damaged, or cannot
            be written.

    Example:
        >>> with open_store(":memory:") as store:
        ...     store.query("select count(*) from emission")
        [(0,)]
    """
    return Store(":memory:" if path == ":memory:" else expanded(path or default_path()), read_only)


class Store:
    """One open DuckDB file. See `open_store`.

    Attributes:
        path: The file, or `:memory:`.
        connection: The DuckDB connection; results must be fetched whole before the next statement.
    """

    def __init__(self, path: Path | str, read_only: bool = False) -> None:  # noqa: FBT001, FBT002
        self.path = path
        self._old_umask: int | None = None
        self._spill: TemporaryDirectory[str] | None = None
        if read_only:
            self.connection = self._open_reader(Path(path))
        else:
            self.connection = self._open_writer(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except WRITE_ERRORS as failure:
            if error is None:
                raise refused(self.path, failure) from failure
        if isinstance(error, WRITE_ERRORS):
            raise refused(self.path, error) from error

    def close(self) -> None:
        """Close the file; pending changes of an open transaction are lost."""
        try:
            self.connection.close()
        finally:
            self._restore_umask()
            if self._spill is not None:
                self._spill.cleanup()

    # -- reading ------------------------------------------------------------------------------------------

    def query(
        self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """All rows of a query. Parameters are `?` or `$name`."""
        return self.connection.execute(sql, parameters).fetchall()

    def query_sparingly(
        self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """`query` for what sorts much or reads what was sorted: in little memory, if that will do."""
        return self._sparingly(lambda: self.query(sql, parameters))

    def arrays(
        self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """`query_sparingly`, column by column."""
        return self._sparingly(lambda: self.connection.execute(sql, parameters).fetchnumpy())

    def _sparingly(self, run: Callable[[], _T]) -> _T:
        """Run a statement in as little of `SPARE_MEMORY` as will do, or without a limit if none will.

        By itself DuckDB takes most of the machine's memory before it spills, and keeps what it has read. A
        private folder holds what is spilled, until the store is closed. Afterwards DuckDB's own limit holds.
        """
        if self._spill is None:
            # kept: what is made here may stay there
            self._spill = TemporaryDirectory(prefix="dedupstats-")
            self.query(f"set temp_directory = {_literal(self._spill.name)}")
        ((threads,),) = self.query("select current_setting('threads')")
        self.query("set threads = 1")
        try:
            for limit in SPARE_MEMORY:
                with suppress(duckdb.OutOfMemoryException):
                    self.query(f"set memory_limit = '{limit}'")
                    return run()
            self.query("reset memory_limit")
            return run()
        finally:
            # not what it was before: DuckDB tells it rounded, and it would shrink each time
            self.query("reset memory_limit")
            self.query(f"set threads = {threads}")

    def frame(self, sql: str, parameters: Sequence[Any] | dict[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a query as a polars frame, its columns named as in the query."""
        import polars as pl

        return pl.DataFrame(self.connection.sql(sql, params=parameters))

    @property
    def is_stale(self) -> bool:
        """Whether an import was stopped before it settled copies, sight and repeats; the next import does."""
        return bool(self.query("select 1 from raw.meta where key = 'stale'"))

    # -- writing ------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: commits at the end, rolls back on any exception."""
        self.query("begin")
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):
                self.query("rollback")
            raise
        self.query("commit")

    def append(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows, given by position, through DuckDB's appender (200 times `executemany`)."""
        if rows:
            with self.connection.appender(table) as appender:
                appender.append_rows(rows)

    def insert(
        self, sql: str, columns: Mapping[str, NDArray[Any]], parameters: dict[str, Any] | None = None
    ) -> None:
        """Run a statement that reads arrays of equal length, by name, as the columns of the table `given`."""
        self.connection.register("given", columns)
        try:
            self.query(sql, parameters)
        finally:
            self.connection.unregister("given")

    def limit_memory(self) -> None:
        """Let DuckDB hold `IMPORT_MEMORY` and no more, unless the store has texts that need more.

        The rows of one block of a column are held together whenever the block is written, however long.
        """
        if not self.query("select 1 from raw.meta where key = 'long texts'"):
            self.query(f"set memory_limit = '{IMPORT_MEMORY}'")

    def lift_memory(self) -> None:
        """Let DuckDB hold what it takes by itself, now and whenever this store is written again."""
        self.query("reset memory_limit")
        self.query("delete from raw.meta where key = 'long texts'")
        self.query("insert into raw.meta values ('long texts', 'more memory is needed to write the store')")

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file."""
        self.query("checkpoint")

    # -- opening ------------------------------------------------------------------------------------------

    def _open_reader(self, path: Path) -> duckdb.DuckDBPyConnection:
        if not os.path.lexists(path):
            raise StoreError(f"no store at {path}", "type `dedupstats import` first, or name one with --db")
        connection = _connect(path, {"access_mode": "read_only"})
        try:
            number, views = _state(connection)
        except duckdb.CatalogException as error:
            connection.close()
            raise _not_ours(path) from error
        except duckdb.Error as error:
            connection.close()
            raise refused(path, error) from error
        _refuse_newer(path, number, connection)
        if number == _latest() and views == _views_digest():
            connection.execute("set temp_directory = ''").fetchall()
            return connection
        connection.close()
        # an older store is brought up to date by a writer, once
        Store(path).close()
        return _connect(path, {"access_mode": "read_only"})

    def _open_writer(self, path: Path | str) -> duckdb.DuckDBPyConnection:
        if isinstance(path, str):
            connection = _connect(path, {})
            _migrate(connection, path)
            return connection
        if os.path.lexists(path) and not os.access(path, os.W_OK):
            raise StoreError(f"{path} is not writable", "choose another store with --db or DEDUPSTATS_DB")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the folder {path.parent}: {error.strerror or error}",
                "choose another store with --db or DEDUPSTATS_DB",
            ) from error
        if not os.access(path.parent, os.W_OK):
            raise StoreError(
                f"{path.parent} is not writable", "choose another store with --db or DEDUPSTATS_DB"
            )
        # DuckDB makes its files 0644; the store tells what a person worked on
        self._old_umask = os.umask(0o077)
        try:
            connection = _connect(path, {"storage_compatibility_version": STORAGE_VERSION})
            try:
                _migrate(connection, path)
            except duckdb.Error as error:
                with suppress(duckdb.Error):
                    connection.close()
                raise refused(path, error) from error
            except BaseException:
                connection.close()
                raise
        except BaseException:
            self._restore_umask()
            raise
        return connection

    def _restore_umask(self) -> None:
        if self._old_umask is not None:
            os.umask(self._old_umask)
            self._old_umask = None


def _connect(path: Path | str, config: dict[str, str]) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(path if isinstance(path, str) else for_duckdb(path), config=dict(config))
    except duckdb.Error as error:
        raise _translated(path, error) from error


def _translated(path: Path | str, error: duckdb.Error) -> StoreError:
    """DuckDB's message on opening as one line for a person."""
    text = str(error)
    holder = re.search(r"Conflicting lock is held in (.+?)\. ", text)
    if holder or "Could not set lock" in text:
        who = holder[1] if holder else "another process"
        return StoreError(
            f"the store {path} is in use by {who}",
            "wait until it has finished, or name another store with --db",
        )
    if "WAL file" in text or "replaying WAL" in text or ".wal" in text:
        return StoreError(
            f"the write-ahead log {path}.wal is damaged: {_first_line(error)}",
            f"move {path}.wal away (what the last import wrote is in it and is lost), "
            "then type `dedupstats import` again",
        )
    if "not a valid DuckDB database" in text:
        return StoreError(f"{path} is not a DuckDB file", "name another file with --db")
    if "different configuration" in text:
        return StoreError(f"the store {path} is open in this process with other settings", "close it first")
    return refused(path, error)


_NO_ROOM = re.compile(r"No space left|Could not write|quota|File too large|failed to offload", re.IGNORECASE)
_NO_MEMORY = re.compile(
    r"out of memory|bad allocation|failed to (?:pin|allocate)|could not allocate", re.IGNORECASE
)


def refused(path: Path | str, error: BaseException) -> StoreError:
    """What DuckDB says of a file that fails it in the middle of work, as one line for a person."""
    text = _first_line(error)
    if _NO_ROOM.search(text):
        return StoreError(
            f"cannot write {path}: {text}",
            "what was committed before is kept; make room on the disk, then type the same again",
        )
    if _NO_MEMORY.search(text):
        return StoreError(
            f"not enough memory for {path}: {text}",
            "what was committed before is kept; close other programs, or name fewer logs: "
            "dedupstats import PATH",
        )
    if "Permission denied" in text or "directory" in text:
        return StoreError(f"cannot open the store {path}: {text}", "name another file with --db")
    return StoreError(
        f"the store {path} is damaged: {text}",
        "restore it from a backup, or move it away and type `dedupstats import` again",
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _not_ours(path: Path | str) -> StoreError:
    return StoreError(f"{path} is a DuckDB file, but no dedupstats store", "name another file with --db")


def _state(connection: duckdb.DuckDBPyConnection) -> tuple[int, str | None]:
    """Newest migration applied, and the digest of the views that the file holds."""
    numbers = connection.execute("select coalesce(max(number), 0) from raw.migration").fetchall()
    views = connection.execute("select value from raw.meta where key = 'views'").fetchall()
    return int(numbers[0][0]), views[0][0] if views else None


def _refuse_newer(path: Path | str, number: int, connection: duckdb.DuckDBPyConnection) -> None:
    if number > _latest():
        connection.close()
        raise StoreError(
            f"the store {path} has format {number}, this program knows up to {_latest()}",
            "upgrade: pip install --upgrade dedupstats",
        )


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path | str) -> None:
    """Bring a file to the newest format: each missing migration, then views and comments, at once."""
    tables = connection.execute(
        "select count(*) filter (schema_name = 'raw' and table_name = 'migration'), count(*) "
        "from duckdb_tables() where not internal"
    ).fetchall()[0]
    if not tables[0]:
        if tables[1]:
            raise _not_ours(path)
        number, views = 0, None
    else:
        number, views = _state(connection)
    _refuse_newer(path, number, connection)
    if number == _latest() and views == _views_digest():
        return
    # Seven hundred small statements: a third of their time would go into plans without anything to optimise,
    # and into handing work to other threads.
    connection.execute("set threads = 1; pragma disable_optimizer; begin").fetchall()
    if number == 0:
        connection.execute(
            "create schema raw; create schema derived;"
            "create table raw.migration (number bigint, name varchar, applied_at bigint);"
            "create table raw.meta (key varchar, value varchar)"
        ).fetchall()
    for step, name, sql in _migrations():
        if step > number:
            connection.execute(sql).fetchall()
            connection.execute(
                "insert into raw.migration values (?, ?, ?)", [step, name, time.time_ns() // 1000]
            ).fetchall()
    connection.execute(_views_sql()).fetchall()
    if isinstance(path, Path):
        # they cost more than all the rest, and nobody reads a store in memory with foreign tools
        _comment(connection)
    connection.execute("delete from raw.meta where key = 'views'").fetchall()
    connection.execute("insert into raw.meta values ('views', ?)", [_views_digest()]).fetchall()
    connection.execute("commit; pragma enable_optimizer; reset threads").fetchall()


@cache
def _views_sql() -> str:
    return (files("dedupstats.store") / "views.sql").read_text("utf-8")


@cache
def _texts() -> str:
    return (files("dedupstats.store") / "columns.toml").read_text("utf-8")


def _views_digest() -> str:
    return hashlib.sha256((_views_sql() + _texts()).encode()).hexdigest()


def _comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the comments of columns.toml to every table, view and column.

    A column's text is looked up by `relation.column` first, then by its bare name, because the same column
    means the same wherever it stands.
    """
    texts = tomllib.loads(_texts())
    relations: dict[str, str] = texts["relations"]
    columns: dict[str, str] = texts["columns"]
    kinds = connection.execute(
        "select schema_name, table_name, 'table' from duckdb_tables() where not internal "
        "union all select schema_name, view_name, 'view' from duckdb_views() where not internal "
        "order by all"
    ).fetchall()
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for schema, relation, column in connection.execute(
        "select schema_name, table_name, column_name from duckdb_columns() where not internal"
    ).fetchall():
        names[schema, relation].append(column)
    statements = []
    for schema, relation, kind in kinds:
        full = relation if schema == "main" else f"{schema}.{relation}"
        statements.append(f"comment on {kind} {full} is {_literal(relations[full])}")
        for column in names[schema, relation]:
            text = columns.get(f"{relation}.{column}") or columns[column]
            statements.append(f'comment on column {full}."{column}" is {_literal(text)}')
    connection.execute(";".join(statements)).fetchall()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
