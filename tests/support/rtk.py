"""Small `history.db` files of each generation of RTK, and two other ways to count repeats in them.

DDL and `user_version` as in rtk.md 2.2; rows are made up by the test.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from dedupstats.model import RtkCommand, RtkHookDecision, RtkOutput
from dedupstats.sources.base import FileInfo, Names, Reading, Unit, hash64
from dedupstats.sources.rtk import Rtk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupstats.model import Record

COMMANDS = """create table commands (id INTEGER PRIMARY KEY, timestamp TEXT NOT NULL,
  original_cmd TEXT NOT NULL, rtk_cmd TEXT NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, saved_tokens INTEGER NOT NULL, savings_pct REAL NOT NULL)"""
EXEC_TIME = "alter table commands add column exec_time_ms INTEGER DEFAULT 0"
PROJECT = "alter table commands add column project_path TEXT DEFAULT ''"
FAILURES = """create table parse_failures (id INTEGER PRIMARY KEY, timestamp TEXT NOT NULL,
  raw_command TEXT NOT NULL, error_message TEXT NOT NULL, fallback_succeeded INTEGER NOT NULL DEFAULT 0)"""
OUTPUTS = """create table session_outputs (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL,
  content_hash TEXT NOT NULL, identity TEXT NOT NULL, output_tokens INTEGER NOT NULL,
  line_count INTEGER NOT NULL, step_ordinal INTEGER NOT NULL, emit_count INTEGER NOT NULL DEFAULT 1,
  first_seen TEXT NOT NULL, last_seen TEXT NOT NULL)"""
DECISIONS = """create table hook_decisions (id INTEGER PRIMARY KEY, timestamp TEXT NOT NULL,
  session_id TEXT NOT NULL, tool_use_id TEXT NOT NULL, project_path TEXT DEFAULT '', raw_cmd TEXT NOT NULL,
  decision TEXT NOT NULL, rewritten_cmd TEXT, rtk_version TEXT NOT NULL)"""
CLASSIFIER = "create table classifier_cache (key TEXT PRIMARY KEY, answer TEXT NOT NULL, ts TEXT NOT NULL)"
ATTRIBUTION = """create table engine_attribution (day TEXT NOT NULL, site TEXT NOT NULL, kind TEXT NOT NULL,
  name TEXT NOT NULL, calls INTEGER NOT NULL DEFAULT 0, tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, site, kind, name))"""

_TO_047 = (COMMANDS, EXEC_TIME, PROJECT, FAILURES)


class Generation(Enum):
    """What a release wrote: its tables, `user_version` and journal mode."""

    OLDEST = ((COMMANDS,), 0, "delete")
    TIMED = ((COMMANDS, EXEC_TIME), 0, "delete")
    R028 = (_TO_047, 0, "delete")
    R044 = (_TO_047, 0, "wal")
    PR2937 = ((*_TO_047, OUTPUTS), 0, "wal")
    R049 = ((*_TO_047, DECISIONS), 1, "wal")
    R110 = ((*_TO_047, DECISIONS, CLASSIFIER, ATTRIBUTION), 2, "wal")


class Command(NamedTuple):
    """A row of `commands`; the id is its place in the list, from 1."""

    timestamp: Any
    original_cmd: Any
    rtk_cmd: Any
    input_tokens: Any
    output_tokens: Any
    saved_tokens: Any = 0
    exec_time_ms: Any = 5
    project_path: Any = ""


def write_history(
    path: Path,
    generation: Generation = Generation.R044,
    commands: Iterable[Command] = (),
    **tables: Iterable[Sequence[object]],
) -> Path:
    """Write a database at rest (checkpointed, no side files), as its program leaves it.

    Args:
        path: The file to write.
        generation: Which columns and tables it has; columns that it lacks are left out of the rows.
        commands: Rows of `commands`. Bytes are stored as text, valid UTF-8 or not.
        tables: Rows of other tables, without id.
    """
    ddl, user_version, journal = generation.value
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"pragma journal_mode = {journal}")
        for statement in ddl:
            database.execute(statement)
        database.execute(f"pragma user_version = {user_version}")
        add_commands(database, commands)
        for table, rows in tables.items():
            for row in rows:
                database.execute(f"insert into {table} values (NULL, {', '.join('?' * len(row))})", row)
    return path


def add_commands(database: sqlite3.Connection, commands: Iterable[Command]) -> None:
    """Append rows to `commands`, with the columns that the database has."""
    present = {row[1] for row in database.execute("pragma table_info(commands)")}
    for command in commands:
        row = {name: value for name, value in command._asdict().items() if name in present}
        values = ", ".join("cast(? as text)" if isinstance(value, bytes) else "?" for value in row.values())
        database.execute(
            f"insert into commands ({', '.join(row)}, savings_pct) values ({values}, 0)", [*row.values()]
        )


def read_history(path: Path, reading: Reading | None = None) -> list[Record]:
    """All records of a database."""
    unit = Unit("rtk", str(path), [FileInfo(str(path), path.stat().st_size, 0)])
    return list(Rtk().read(unit, reading or Reading(Names())))


def rtk_views(*paths: Path) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the views that `rtk_bounds` reads: the rows of all files, copies removed."""
    names = Names()
    connection = duckdb.connect()
    connection.execute(
        """create table rtk_command (row_key bigint, unit_key bigint, native_id bigint, ts timestamp,
          stamp text, original_sha64 bigint, rtk_sha64 bigint, rtk_name text, original text, rtk text,
          is_read boolean, is_recovery boolean, input_tokens bigint, output_tokens bigint,
          saved_tokens bigint, exec_ms bigint, project text, identity_bytes bigint);
        create table rtk_output (output_tokens bigint, emit_count bigint);
        create table rtk_hook_decision (decision text)"""
    )
    seen: set[int] = set()
    for path in paths:
        unit_key = hash64("rtk", str(path))
        for record in read_history(path, Reading(names)):
            match record:
                case RtkCommand() if record.copy_key not in seen:
                    seen.add(record.copy_key)
                    _insert(connection, record, unit_key, names)
                case RtkOutput():
                    connection.execute(
                        "insert into rtk_output values (?, ?)", [record.output_tokens, record.emit_count]
                    )
                case RtkHookDecision():
                    connection.execute("insert into rtk_hook_decision values (?)", [record.decision])
    return connection


def _insert(connection: duckdb.DuckDBPyConnection, record: RtkCommand, unit_key: int, names: Names) -> None:
    row = record._asdict() | {"unit_key": unit_key, "project": names.texts.get(record.project_key or 0)}
    row["ts"] = row.pop("at")
    for name in ("copy_key", "project_key"):
        del row[name]
    values = ", ".join("make_timestamp(?)" if name == "ts" else "?" for name in row)
    connection.execute(f"insert into rtk_command ({', '.join(row)}) values ({values})", [*row.values()])


class Counted(NamedTuple):
    """Repeats of a rule, the commands it is about, and the output tokens of both."""

    repeats: int
    commands: int
    repeat_tokens: int
    output_tokens: int


PARTITIONS = {
    "M": "original_cmd",
    "M2": "original_cmd, rtk_cmd",
    "B1": "original_cmd, output_tokens",
    "B2": "original_cmd, output_tokens, input_tokens",
    "B3": "original_cmd, output_tokens, input_tokens, P",
    "B4d": "original_cmd, output_tokens, input_tokens, P, substr(timestamp, 1, 10)",
}


def counted_by_sqlite(path: Path, gap_hours: float = 5, min_tokens: int = 200) -> dict[str, Counted]:
    """The measures of rtk.md section 3 by its own SQL, run by SQLite on the file itself (all but `net`)."""
    with closing(sqlite3.connect(path)) as database:
        columns = {row[1] for row in database.execute("pragma table_info(commands)")}
        project = "coalesce(project_path, '')" if "project_path" in columns else "''"

        def count(partition: str, repeat: str = "n > 1", among: str = "1") -> Counted:
            over = f"over (partition by {partition.replace('P', project)} order by timestamp, id)"
            row = database.execute(
                f"""with r as (
                  select *, row_number() {over} as n, lag(timestamp) {over} as prev from commands)
                select coalesce(sum({repeat}), 0), count(*),
                  coalesce(sum(({repeat}) * output_tokens), 0), coalesce(sum(output_tokens), 0)
                from r where {among}"""
            ).fetchone()
            return Counted(*row)

        near = f"n > 1 and (julianday(timestamp) - julianday(prev)) * 24 <= {gap_hours}"
        found = {name: count(partition) for name, partition in PARTITIONS.items()}
        found["M-reads"] = count(PARTITIONS["M"], among="rtk_cmd = 'rtk read' or rtk_cmd like 'rtk read %'")
        found["B4"] = count(PARTITIONS["B3"], near)
        found["B5"] = count(PARTITIONS["B3"], f"{near} and output_tokens >= {min_tokens}")
    return found


def counted_by_hand(
    commands: Sequence[Command], gap_hours: float = 5, min_tokens: int = 200
) -> dict[str, Counted]:
    """All measures by comparing every command with every earlier one."""
    order = sorted(range(len(commands)), key=lambda at: (nanoseconds(commands[at].timestamp), at))
    history = [commands[at] for at in order]
    hits: dict[str, list[int]] = {
        name: [] for name in ("M", "M2", "M-reads", "B1", "B2", "B3", "B4", "B4d", "B5", "net")
    }
    for at, command in enumerate(history):
        earlier = [other for other in history[:at] if other.original_cmd == command.original_cmd]
        shown = command.output_tokens
        for name in _rules_met(command, earlier, gap_hours, min_tokens):
            hits[name].append(shown - marker_tokens(command) if name == "net" else shown)
    reads = [command.output_tokens for command in commands if _is_read(command)]
    everything = [command.output_tokens for command in commands]
    return {
        name: Counted(len(found), len(among), sum(found), sum(among))
        for name, found in hits.items()
        for among in [reads if name == "M-reads" else everything]
    }


def _rules_met(command: Command, earlier: list[Command], gap_hours: float, min_tokens: int) -> Iterator[str]:
    if earlier:
        yield "M"
        if _is_read(command):
            yield "M-reads"
    if any(other.rtk_cmd == command.rtk_cmd for other in earlier):
        yield "M2"
    alike = [other for other in earlier if other.output_tokens == command.output_tokens]
    if alike:
        yield "B1"
    alike = [other for other in alike if other.input_tokens == command.input_tokens]
    if alike:
        yield "B2"
    alike = [other for other in alike if (other.project_path or "") == (command.project_path or "")]
    if not alike:
        return
    yield "B3"
    if any(other.timestamp[:10] == command.timestamp[:10] for other in alike):
        yield "B4d"
    gap = nanoseconds(command.timestamp) // 1000 - nanoseconds(alike[-1].timestamp) // 1000
    if gap <= gap_hours * 3_600_000_000:
        yield "B4"
        if command.output_tokens >= min_tokens:
            yield "B5"
            yield "net"


def marker_tokens(command: Command) -> int:
    """Tokens of the marker that RTK would print, with step 1 and 1 line (rtk.md 1.5)."""
    text = command.original_cmd
    identity = "read:" + text.removeprefix("cat ") if _is_read(command) else text
    marker = (
        f"rtk-dedup: identical to output at step 1 \u00b7 1 lines / ~{command.output_tokens} tok suppressed "
        f"[{identity}] (force full: rtk proxy <cmd>)\n"
    )
    return math.ceil(len(marker.encode()) / 4)


def nanoseconds(stamp: str) -> int:
    """Nanoseconds since the beginning of the month of a stamp in UTC: enough to order rows of one month."""
    day, hour, minute = int(stamp[8:10]), int(stamp[11:13]), int(stamp[14:16])
    second, _, fraction = stamp[17:].removesuffix("+00:00").partition(".")
    return (((day * 24 + hour) * 60 + minute) * 60 + int(second)) * 10**9 + int(fraction.ljust(9, "0"))


def _is_read(command: Command) -> bool:
    return bool(command.rtk_cmd.split(" ")[:2] == ["rtk", "read"])
