"""The two layouts of a docker-agent database, and exports, as sessions made of items.

Levels 1-13 keep a session's messages as one JSON list, levels from 14 on as rows of `session_items`, levels
14-19 both (docker-agent.md section 3.2). What a database has is asked of its columns, never of its migration
number: a column that is missing reads as nothing, one that is new is left alone.
"""

from __future__ import annotations

import re
import reprlib
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.sources.base import has_many_values, parse_json, plausible_time
from dedupstats.sources.docker_agent.messages import text_of, truth
from dedupstats.sources.measure import to_bytes
from dedupstats.sources.probe import DAMAGE, DOCUMENT_BYTES, damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dedupstats.sources.probe import Probe

_SESSION_COLUMNS = ("id", "created_at", "title", "working_dir", "parent_id", "branch_parent_session_id")
_ITEM_COLUMNS = (
    "item_type",
    "agent_name",
    "message_json",
    "implicit",
    "actor_pending",
    "subsession_id",
    "summary_text",
    "first_kept_entry",
    "cost",
    "model",
    "usage_json",
)
_BRANCH = re.compile(r"\((?:branched|(?:branch|fork) \d+)\)\s*$")
"""how a copy's title ends (docker-agent.md section 3.5; forks: pkg/session/branch.go)"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PER_SECOND = 1_000_000
_MILLISECONDS_FROM = 10**11
_MICROSECONDS_FROM = 10**14
_NANOSECONDS_FROM = 10**17


class Item(NamedTuple):
    """One item of a session."""

    line: int
    """`session_items.id`, or the index in the list"""
    type: str
    """message, subsession, summary, error, termination, or what a newer host calls it"""
    agent: str | None = None
    message: dict[str, Any] | None = None
    """of type message, always"""
    is_implicit: bool = False
    is_pending: bool = False
    is_found: bool = True
    """of type subsession: there is such a session"""
    summary: str = ""
    first_kept: int = 0
    cost: Any = None
    model: str = ""
    usage: Any = None
    problem: str | None = None
    """why the item cannot be used"""


@dataclass(slots=True)
class Session:
    """One session or sub-session."""

    id: str
    root: str
    """id of the conversation that it belongs to"""
    is_sub: bool
    parent: str | None
    """of a sub-session: id of the session that started it, if that is still there"""
    cwd: str | None
    created_at: int | None
    copied_before: int | None
    """of a branch: rows older than this moment were copied into it"""
    items: Iterable[Item] = ()


class Problem(NamedTuple):
    """Why a session cannot be read."""

    line: int
    reason: str


def micros(value: Any) -> int | None:
    """UTC microseconds of a stored time: RFC 3339 with any offset, or a number of s, ms, us or ns.

    None for what is no time, and for times before 1970 (Go's zero time is in the year 1).

    Example:
        >>> micros("2026-02-03T10:26:55+01:00") == micros("2026-02-03T09:26:55Z") == micros(1770110815000)
        True
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        found = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1 << 63:
        if value < _MILLISECONDS_FROM:
            found = int(value * _PER_SECOND)
        elif value < _MICROSECONDS_FROM:
            found = int(value * 1000)
        else:
            found = int(value) if value < _NANOSECONDS_FROM else int(value) // 1000
    else:
        return None
    return plausible_time(found)


def is_database(tables: Mapping[str, frozenset[str]]) -> bool:
    """Whether these tables and columns are docker-agent's, of any level (docker-agent.md section 3.2)."""
    sessions = tables.get("sessions", frozenset())
    if not sessions >= {"id", "created_at"}:
        return False
    if tables.get("session_items", frozenset()) >= {"session_id", "position", "item_type", "message_json"}:
        return True
    return "messages" in sessions and ("tools_approved" in sessions or len(sessions) == 3)  # noqa: PLR2004


def is_export(document: Any) -> bool:
    """Whether a JSON document is an exported session (docker-agent.md sections 3.3 and 3.5)."""
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        return False
    items = document.get("messages", ())
    if items is None:
        items = []
    if not isinstance(items, list) or not all(map(_is_item, items)):
        return False
    return "tools_approved" in document or any("message" in item for item in items)


def _is_item(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    outer = value.get("message")
    if outer is None:
        return not value.keys().isdisjoint(("sub_session", "summary", "error", "termination"))
    if not isinstance(outer, dict):
        return False
    if "role" in outer:
        return not value.keys().isdisjoint(("agentName", "agent_name", "agentFilename"))
    inner = outer.get("message")
    return isinstance(inner, dict) and "role" in inner


# ------------------------------------------------------------------------------
# Lists: the column `messages`, and exports


def sessions_of_export(document: dict[str, Any]) -> Iterator[Session | Problem]:
    """The session of an export, and its sub-sessions."""
    session = _session(document, text_of(document["id"]), None)
    yield from _sessions_of_list(session, document["messages"] or [], frozenset())


def _sessions_of_list(session: Session, values: Any, known: frozenset[str]) -> Iterator[Session | Problem]:
    """A session whose items are a list, then the sub-sessions nested in it.

    Args:
        session: The session, still without items.
        values: The list.
        known: Ids of sessions that have a row of their own: nested ones of these ids are left out.
    """
    if not isinstance(values, list):
        yield Problem(0, f"session {session.id}: its messages are no JSON list")
        return
    session.items = [_item_of_list(index, value) for index, value in enumerate(values)]
    yield session
    for index, value in enumerate(values):
        nested = value.get("sub_session") if isinstance(value, dict) else None
        if isinstance(nested, dict):
            name = text_of(nested.get("id")) or f"{session.id}/{index}"
            if name not in known:
                child = _session(nested, name, session)
                yield from _sessions_of_list(child, nested.get("messages") or [], known)


def _item_of_list(index: int, value: Any) -> Item:
    if not isinstance(value, dict):
        return Item(index, "", problem="not a JSON object")
    outer = value.get("message")
    if isinstance(outer, dict):
        # the outer object names the agent; in databases of 2025 it may be missing (docker-agent.md 3.3)
        named, message = (value, outer) if "role" in outer else (outer, outer.get("message"))
        return Item(
            index,
            "message",
            agent=text_of(named.get("agentName")) or text_of(named.get("agent_name")) or None,
            message=message if isinstance(message, dict) else None,
            is_implicit=truth(named.get("implicit")),
            problem=None if isinstance(message, dict) else "message is no JSON object",
        )
    if value.get("sub_session") is not None:
        return Item(index, "subsession", is_found=isinstance(value["sub_session"], dict))
    if value.get("summary"):
        return Item(
            index,
            "summary",
            summary=text_of(value["summary"]),
            first_kept=_index(value.get("first_kept_entry")),
            cost=value.get("cost"),
            model=text_of(value.get("model")),
            usage=value.get("usage"),
        )
    return Item(index, next(filter(value.get, ("error", "termination")), " ".join(sorted(value))[:80]))


# ------------------------------------------------------------------------------
# Databases


def sessions_of_database(probe: Probe, longest: int) -> Iterator[Session | Problem]:
    """The sessions of a database in stored order, each followed by its sub-sessions.

    Args:
        probe: The database.
        longest: Bytes that the value of a column may have.

    Raises:
        UnreadableUnitError: Not even the list of sessions can be read.
    """
    rows: dict[str, dict[str, Any]] = {}
    columns = probe.tables["sessions"]
    row_id = probe.row_id("sessions")
    ordered = f"order by {row_id}" if row_id else ""
    query = f"select {_selected(_SESSION_COLUMNS, columns)} from sessions {ordered}"
    problem = None
    try:
        for values in probe.select(query, longest=longest):
            if values is None:
                yield Problem(0, f"the row of a session is longer than {longest} bytes")
                continue
            row = dict(zip(_SESSION_COLUMNS, values, strict=True))
            rows[text_of(row["id"])] = row
    except DAMAGE as error:
        if not rows:
            raise damaged(probe.path, error) from error
        problem = Problem(0, f"list of sessions is damaged after {len(rows)} ({error})")
    found: dict[str, Session] = {}
    known = frozenset(rows)
    for name, root in _family_order({name: text_of(row["parent_id"]) for name, row in rows.items()}):
        parent = text_of(rows[name]["parent_id"])
        session = found[name] = _session(rows[name], name, found.get(parent))
        session.root, session.is_sub = root, bool(parent)
        try:
            if numbers := _item_numbers(probe, name):
                # with a damaged item it is not known what was in sight: all are read before any is used
                deque(_values(probe, numbers, longest), maxlen=0)
                # where no column tells (fault case P21): nobody writes into a sub-session
                session.items = _items(probe, numbers, known, longest, implicit=bool(parent))
                yield session
            else:
                values = _column(probe, name, longest)
                if isinstance(values, Problem):
                    yield values
                else:
                    yield from _sessions_of_list(session, values, known)
        except DAMAGE as error:
            yield Problem(0, f"session {name} cannot be read ({error})")
    if problem:
        yield problem


def orphans(probe: Probe) -> int:
    """Number of items whose session was deleted; 0 where that cannot be counted."""
    if "session_items" not in probe.tables:
        return 0
    query = "select count(*) from session_items where session_id not in (select id from sessions)"
    try:
        return int(probe.database.execute(query).fetchone()[0])
    except DAMAGE:
        return 0


def _column(probe: Probe, session: str, longest: int) -> Any:
    """What the column `messages` holds: a list, or None if it is no JSON, or the problem."""
    if "messages" not in probe.tables["sessions"]:
        return []
    # the whole session is one value here, and as long as an export
    longest = max(longest, DOCUMENT_BYTES)
    query = "select messages from sessions where id = ?"
    row = next(probe.select(query, (session,), longest=longest), ("",))
    if row is None:
        return Problem(0, f"session {session}: its messages are longer than {longest} bytes")
    return _json(row[0]) if row[0] else []


def _item_numbers(probe: Probe, session: str) -> list[Any]:
    """The rows of a session's items, in order.

    Numbers alone, because what is sorted is held whole.
    """
    if "session_items" not in probe.tables:
        return []
    row_id = _row_id(probe)
    query = f"select {row_id} from session_items where session_id = ? order by position, {row_id}"
    return [number for (number,) in probe.database.execute(query, (session,))]


def _row_id(probe: Probe) -> str:
    # the row's number is its id, unless the column was made without a type and holds anything
    return probe.row_id("session_items") or "id"


def _values(probe: Probe, numbers: list[Any], longest: int) -> Iterator[tuple[Any, ...] | None]:
    """The columns of a session's items, one item at a time; None for one that is too long.

    Without any for one that is not there: a damaged index may name it all the same.
    """
    query = f"select {_selected(_ITEM_COLUMNS, probe.tables['session_items'])} from session_items"
    for number in numbers:
        yield next(probe.select(f"{query} where {_row_id(probe)} = ?", (number,), longest=longest), ())


def _items(
    probe: Probe, numbers: list[Any], known: frozenset[str], longest: int, *, implicit: bool
) -> Iterator[Item]:
    """The items of a session, one by one: one that is too long, gone, or has no number, costs itself."""
    columns = probe.tables["session_items"]
    names = [name if name in columns else f"no {name}" for name in _ITEM_COLUMNS]
    for number, values in zip(numbers, _values(probe, numbers, longest), strict=True):
        if not isinstance(number, int):
            yield Item(0, "", problem=f"id is {reprlib.repr(number)}, no whole number")
        elif values is None:
            yield Item(number, "", problem=f"longer than {longest} bytes")
        elif not values:
            yield Item(number, "", problem="an index of the database names it, and it is not there")
        else:
            yield _item_of_row(number, dict(zip(names, values, strict=True)), known, implicit=implicit)


def _item_of_row(line: int, row: dict[str, Any], known: frozenset[str], *, implicit: bool) -> Item:
    kind = text_of(row["item_type"]) or "item without a type"
    if kind == "message":
        message = _json(row["message_json"])
        return Item(
            line,
            kind,
            agent=text_of(row.get("agent_name")) or None,
            message=message if isinstance(message, dict) else None,
            is_implicit=truth(row["implicit"]) if "implicit" in row else implicit,
            is_pending=truth(row.get("actor_pending")),
            problem=None if isinstance(message, dict) else "message_json is no JSON object",
        )
    if kind == "subsession":
        return Item(line, kind, is_found=text_of(row.get("subsession_id")) in known)
    if kind == "summary":
        return Item(
            line,
            kind,
            summary=text_of(row.get("summary_text")),
            first_kept=_index(row.get("first_kept_entry")),
            cost=row.get("cost"),
            model=text_of(row.get("model")),
            usage=_json(row.get("usage_json")),
        )
    return Item(line, kind)


def _family_order(parents: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Ids with the ids of their roots: each session followed by its sub-sessions, roots in stored order.

    The parent of a session may be gone: it then names the root all the same. Sessions in a circle are roots.
    """
    children: dict[str, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    seen: set[str] = set()
    tops = [name for name, parent in parents.items() if parent not in parents]
    for top in (*tops, *parents):
        if top in seen:
            continue
        root = parents[top] if parents[top] and parents[top] not in parents else top
        waiting = [top]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                yield name, root
                waiting.extend(reversed(children.get(name, [])))


# ------------------------------------------------------------------------------
# Small things


def _session(values: dict[str, Any], name: str, parent: Session | None) -> Session:
    """A session by its row or its JSON object, still without items.

    A branch is a new session with copies that keep their times (docker-agent.md section 3.5), so what is
    older in it than itself was copied. Levels 16-18 name its parent, otherwise its title tells.
    """
    created_at = micros(values.get("created_at"))
    is_branch = text_of(values.get("branch_parent_session_id")) or _BRANCH.search(
        text_of(values.get("title"))
    )
    inherited = parent.copied_before if parent else None
    return Session(
        id=name,
        root=parent.root if parent else name,
        is_sub=parent is not None,
        parent=parent.id if parent else None,
        cwd=text_of(values.get("working_dir")) or (parent.cwd if parent else None),
        created_at=created_at,
        copied_before=created_at if is_branch else inherited,
    )


def _selected(wanted: Iterable[str], columns: frozenset[str]) -> str:
    return ", ".join(name if name in columns else "null" for name in wanted)


def _json(value: Any) -> Any:
    if not isinstance(value, bytes | str):
        return None
    data = value if isinstance(value, bytes) else to_bytes(value)
    try:
        return None if has_many_values(data) else parse_json(value)
    except (ValueError, RecursionError):
        return None


def _index(value: Any) -> int:
    return value if isinstance(value, int) else 0
