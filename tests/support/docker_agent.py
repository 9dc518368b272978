"""Small docker-agent databases of any level, and exports, for tests (docker-agent.md section 3)."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dedupstats.model import FileCount, Ignored, Skipped
from dedupstats.sources.base import FileInfo, Names, Reading, Unit
from dedupstats.sources.docker_agent import DockerAgent
from dedupstats.sources.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.model import Record

JSON = dict[str, Any]
Kind = TypeVar("Kind")

NEWEST = 38
_START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

# column: (declaration, level that adds it, level that drops it)
_SESSION_COLUMNS = {
    "id": ("TEXT PRIMARY KEY", 0, 99),
    "messages": ("TEXT", 0, 20),
    "created_at": ("TEXT", 0, 99),
    "tools_approved": ("BOOLEAN DEFAULT 0", 1, 99),
    "title": ("TEXT DEFAULT ''", 4, 99),
    "cost": ("REAL DEFAULT 0", 5, 99),
    "working_dir": ("TEXT DEFAULT ''", 8, 99),
    "parent_id": ("TEXT", 14, 99),
    "branch_parent_session_id": ("TEXT", 16, 19),
    "branch_parent_position": ("INTEGER", 16, 19),
}
_ITEM_COLUMNS = {
    "id": ("INTEGER PRIMARY KEY AUTOINCREMENT", 14),
    "session_id": ("TEXT NOT NULL", 14),
    "position": ("INTEGER NOT NULL", 14),
    "item_type": ("TEXT NOT NULL", 14),
    "agent_name": ("TEXT", 14),
    "message_json": ("TEXT", 14),
    "implicit": ("BOOLEAN DEFAULT 0", 14),
    "subsession_id": ("TEXT", 14),
    "summary_text": ("TEXT", 14),
    "first_kept_entry": ("INTEGER DEFAULT 0", 21),
    "cost": ("REAL NOT NULL DEFAULT 0", 23),
    "model": ("TEXT NOT NULL DEFAULT ''", 25),
    "usage_json": ("TEXT NOT NULL DEFAULT ''", 25),
    "actor_pending": ("BOOLEAN NOT NULL DEFAULT 0", 30),
}


def at(second: int) -> str:
    """A time as docker-agent writes it, so many seconds after the tests' beginning."""
    return (_START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(second: int) -> int:
    """The same time in microseconds since 1970."""
    return round((_START + timedelta(seconds=second)).timestamp()) * 1_000_000


def item(message: JSON, agent: str = "root", **more: Any) -> JSON:
    return {"message": {"agentName": agent, "message": message, **more}}


def user(text: str, second: int, **more: Any) -> JSON:
    return item({"role": "user", "content": text, "created_at": at(second)}, "", **more)


def definition(name: str, category: str = "filesystem", *, reads: bool = True) -> JSON:
    hint = {"readOnlyHint": True} if reads else {}
    return {"name": name, "category": category, "description": "…", "annotations": hint}


def assistant(second: int, *calls: tuple[str, str, str], **more: Any) -> JSON:
    """An assistant message; a call is (id, tool, arguments). Definitions are read-only unless given."""
    message: JSON = {"role": "assistant", "content": "", "created_at": at(second)}
    if calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}
            for name, tool, arguments in calls
        ]
        message["tool_definitions"] = [definition(tool) for _, tool, _ in calls]
    message.update(more)
    return item({name: value for name, value in message.items() if value is not None})


def result(call: str, text: str, second: int, **more: Any) -> JSON:
    return item({"role": "tool", "content": text, "tool_call_id": call, "created_at": at(second), **more})


def summary(text: str, **more: Any) -> JSON:
    return {"summary": text, **more}


def read(call: str, path: str, text: str, second: int) -> list[JSON]:
    """A call of read_file and its result one second later."""
    return [
        assistant(second, (call, "read_file", json.dumps({"path": path}))),
        result(call, text, second + 1),
    ]


def session(name: str, items: list[JSON], second: int = 0, **more: Any) -> JSON:
    """A session object as an export holds it; the same object can be written to a database."""
    return {
        "id": name,
        "title": "A title",
        "messages": items,
        "created_at": at(second),
        "tools_approved": False,
        "working_dir": "/work",
        **more,
    }


def records(path: Path, reading: Reading | None = None) -> list[Record]:
    """Read a file; whatever it holds, the count of its records has to add up."""
    unit = Unit("docker_agent", str(path), [FileInfo(str(path), path.stat().st_size, 0)])
    found = list(DockerAgent().read(unit, reading or Reading(Names())))
    (count,) = of(found, FileCount)
    assert count.records == count.used + count.copies + count.ignored + count.skipped
    assert count.skipped == len(of(found, Skipped))
    assert count.ignored == sum(record.records for record in of(found, Ignored))
    return found


def of(found: Iterable[Any], kind: type[Kind]) -> list[Kind]:
    """The records of one kind."""
    return [record for record in found if isinstance(record, kind)]


def claims(path: Path) -> bool:
    with Probe(str(path), path.stat().st_size) as probe:
        return DockerAgent().claim(probe) is not None


def export(path: Path, document: JSON) -> Path:
    path.write_text(json.dumps(document, indent=2), "utf-8")
    return path


def database(path: Path, level: int, *sessions: JSON, wal_only: bool = False) -> Path:
    """Write sessions to a new database of the given migration level.

    Args:
        path: Where to.
        level: Migration level; it decides which tables and columns there are.
        sessions: Session objects in the form of exports. Items may also be `{"row": {...}}`: columns of a row
            of `session_items` as they are.
        wal_only: Leave everything in the write-ahead log, and the main file one page long (fault case X09).
    """
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        connection = sqlite3.connect(made, isolation_level=None)
        connection.execute("pragma synchronous = off")
        if wal_only:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma wal_autocheckpoint = 0")
        connection.execute("begin")
        _create(connection, level)
        for document in sessions:
            _insert(connection, level, document, None)
        connection.execute("commit")
        # while it is open: closing would fold the log in
        shutil.copyfile(made, path)
        if wal_only:
            shutil.copyfile(f"{made}-wal", f"{path}-wal")
        connection.close()
    return path


def change(path: Path, *statements: str) -> None:
    """Run SQL on a database without a log."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def _create(connection: sqlite3.Connection, level: int) -> None:
    columns = ", ".join(
        f"{name} {kind}"
        for name, (kind, added, dropped) in _SESSION_COLUMNS.items()
        if added <= level < dropped
    )
    connection.execute(f"create table sessions ({columns})")
    connection.execute("create table migrations (id integer primary key, name text, applied_at text)")
    connection.executemany(
        "insert into migrations values (?, ?, '')", [(n, f"{n:03}") for n in range(1, level + 1)]
    )
    if level >= 14:
        columns = ", ".join(
            f"{name} {kind}" for name, (kind, added) in _ITEM_COLUMNS.items() if added <= level
        )
        connection.execute(f"create table session_items ({columns})")
        connection.execute("create index idx_items on session_items(session_id, position)")


def _insert(connection: sqlite3.Connection, level: int, document: JSON, parent: str | None) -> None:
    row = {name: value for name, value in document.items() if name in _SESSION_COLUMNS} | {
        "parent_id": parent
    }
    if level < 20:
        row["messages"] = json.dumps(document["messages"])
    there = [
        n for n, (_, added, dropped) in _SESSION_COLUMNS.items() if added <= level < dropped and n in row
    ]
    _add(connection, "sessions", {name: row[name] for name in there})
    if level < 14:
        return
    for position, value in enumerate(document["messages"]):
        columns = {"session_id": document["id"], "position": position, **_columns(value)}
        if "sub_session" in value:
            _insert(connection, level, value["sub_session"], document["id"])
        there = [name for name, (_, added) in _ITEM_COLUMNS.items() if added <= level and name in columns]
        _add(connection, "session_items", {name: columns[name] for name in there})


def _columns(value: JSON) -> JSON:
    if "row" in value:
        return dict(value["row"])
    if "message" in value:
        outer = value["message"]
        return {
            "item_type": "message",
            "agent_name": outer["agentName"],
            "message_json": json.dumps(outer["message"]),
            "implicit": int(outer.get("implicit", False)),
        }
    if "sub_session" in value:
        return {"item_type": "subsession", "subsession_id": value["sub_session"]["id"]}
    if "summary" in value:
        return {
            "item_type": "summary",
            "summary_text": value["summary"],
            "first_kept_entry": value.get("first_kept_entry", 0),
            "cost": value.get("cost", 0),
            "model": value.get("model", ""),
            "usage_json": json.dumps(value["usage"]) if "usage" in value else "",
        }
    (kind,) = value
    return {"item_type": kind, "message_json": json.dumps(value[kind])}


def _add(connection: sqlite3.Connection, table: str, row: JSON) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
