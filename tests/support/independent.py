"""Repeat rates worked out once more: from the log files alone, by the sentences of the definitions.

Nothing of the package is used here, nothing is clever, and speed does not matter: every result walks up its
tree on its own, and every rule is a search among the results before. What the sentences are is said in
docs/ARCHITECTURE.md (repeat rules, sight).
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

JSON = dict[str, Any]
LONG_AGO = datetime.min.replace(tzinfo=UTC)
NO_CALL = "(no call in this file)"
RULES = (
    "call-pooled",
    "call-session",
    "repeat-pooled",
    "bytes-session",
    "repeat-session",
    "repeat-in-sight",
    "changed",
)


class Shown(NamedTuple):
    """What the model was shown."""

    digest: str
    bytes: int
    klass: str


@dataclass(eq=False)
class Result:
    """One tool result."""

    tool: str
    call: str | None
    call_id: str
    shown: Shown
    is_error: bool
    session: str
    arrival: tuple[datetime, str, int, int]
    twin: Any
    """equal for a result and its copies"""
    rank: tuple[Any, ...]
    """the copy with the smallest one is the original"""
    in_sight: list[Result] = field(default_factory=list, repr=False)
    """results of its context that stand earlier and that the next request sends"""
    original: Result | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        return self.arrival[1]

    @property
    def line(self) -> int:
        return self.arrival[2]

    @property
    def is_comparable(self) -> bool:
        return self.shown.klass in {"text", "truncated"} and not self.is_error


class Tally(NamedTuple):
    """A number of results and their bytes."""

    results: int
    bytes: int


# -- rules ---------------------------------------------------------------------------------------------------


def tallies(results: Sequence[Result]) -> dict[str, dict[str, Tally]]:
    """Per tool and in total: `results`, `errors`, `copies`, and one tally per rule.

    Args:
        results: All results of a history, in any order.
    """
    ordered = settle(results)
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for result, rules in zip(ordered, repeats(ordered), strict=True):
        marks = ["copies"] if result.original is not result else ["results", *rules]
        if result.is_error and result.original is result:
            marks.append("errors")
        for mark in marks:
            found[result.tool][mark].append(result.shown.bytes)
            found["total"][mark].append(result.shown.bytes)
    names = ("results", "errors", "copies", *RULES)
    return {
        tool: {name: Tally(len(marks[name]), sum(marks[name])) for name in names}
        for tool, marks in found.items()
    }


def settle(results: Sequence[Result]) -> list[Result]:
    """Choose originals; the results in their order of arrival."""
    twins: dict[Any, list[Result]] = defaultdict(list)
    for result in results:
        twins[result.twin].append(result)
    for group in twins.values():
        first = min(group, key=lambda result: result.rank)
        for result in group:
            result.original = first
    return sorted(results, key=lambda result: result.arrival)


def repeats(ordered: Sequence[Result]) -> Iterator[list[str]]:
    """For each result the rules by which it is a repeat."""
    before: list[Result] = []
    by_call: dict[str | None, list[Result]] = defaultdict(list)
    by_session: dict[str, list[Result]] = defaultdict(list)
    for result in ordered:
        yield _rules_of(result, by_call[result.call] if result.call else [], by_session[result.session])
        before.append(result)
        by_call[result.call].append(result)
        by_session[result.session].append(result)


def _rules_of(result: Result, same_call: list[Result], same_session: list[Result]) -> list[str]:
    if result.original is not result or not result.is_comparable:
        return []

    def same_bytes(among: Iterable[Result]) -> list[Result]:
        return [e for e in among if e.is_comparable and e.shown.digest == result.shown.digest]

    # no result is a repeat of its own copies
    same_session = [e for e in same_session if e.original is not result]
    in_session = [e for e in same_call if e.session == result.session and e.original is not result]
    pooled = [e for e in same_call if e.original is e]
    repeated = bool(same_bytes(in_session))
    is_new = not any(e.shown.digest == result.shown.digest for e in same_session)
    holds = {
        "call-pooled": bool(pooled),
        "call-session": bool(in_session),
        "repeat-pooled": bool(same_bytes(pooled)),
        "bytes-session": bool(same_bytes(same_session)),
        "repeat-session": repeated,
        "repeat-in-sight": repeated and bool(same_bytes(result.in_sight)),
        "changed": bool(in_session) and is_new,
    }
    return [name for name in RULES if holds[name]]


def call_of(tool: str, arguments: Any) -> str:
    """Equal for equal calls: keys sorted, every number a float, and no arguments are no arguments."""
    if not isinstance(arguments, dict) or not arguments:
        arguments = None
    return f"{tool} {json.dumps(json.loads(json.dumps(arguments), parse_int=float), sort_keys=True)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) and text else None


# -- Claude Code ---------------------------------------------------------------------------------------------

SIDE_REQUESTS = ("agent-acompact", "agent-aside_question", "agent-aprompt_suggestion")
READ_STUBS = (
    (
        "File unchanged since last read. The content from the earlier Read tool_result in this conversation "
        "is still current — refer to that instead of re-reading."
    ),
    "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
)


@dataclass(eq=False)
class Row:
    """A row of a transcript's tree."""

    line: int
    data: JSON
    clock: datetime = LONG_AGO
    up: Row | None = None
    """where the walk goes from here"""

    @property
    def message(self) -> JSON:
        found = self.data.get("message")
        return found if isinstance(found, dict) else {}

    def blocks(self, kind: str) -> list[JSON]:
        content = self.message.get("content")
        found = content if isinstance(content, list) else []
        return [block for block in found if isinstance(block, dict) and block.get("type") == kind]

    @property
    def is_boundary(self) -> bool:
        summary = self.data.get("isCompactSummary") and self.data.get("parentUuid") is None
        return self.data.get("subtype") == "compact_boundary" or bool(summary)


def claude_code(folder: Path) -> list[Result]:
    """Results of all transcripts below a folder; `_fixtures` left out."""
    paths = sorted(path for path in folder.rglob("*.jsonl") if "_fixtures" not in path.parts)
    agents = {path.stem.removeprefix("agent-") for path in paths if path.name.startswith("agent-")}
    return [
        result for path in paths if not path.name.startswith(SIDE_REQUESTS) for result in _file(path, agents)
    ]


def _file(path: Path, agents: set[str]) -> list[Result]:
    rows = list(_rows(path))
    times = [time for row in rows if (time := _time(row.data.get("timestamp")))]
    calls = {
        block["id"]: (block["name"], block.get("input"))
        for row in [*rows, *_progress(rows)]
        for block in row.blocks("tool_use")
    }
    session = _session(path, rows)
    answered: set[str] = set()
    found: list[Result] = []
    for context in _contexts(path, rows, agents):
        _connect(context)
        asked: dict[str, set[str]] = defaultdict(set)
        for row in context:
            asked[row.message.get("id", "")].update(block["id"] for block in row.blocks("tool_use"))
        seen: list[tuple[Row, Result]] = []
        clock = LONG_AGO
        for row in context:
            clock = row.clock = max(clock, _time(row.data.get("timestamp")) or clock)
            for number, block in enumerate(row.blocks("tool_result")):
                name = block["tool_use_id"]
                if name in answered and not row.data.get("again"):
                    continue
                answered.add(name)
                tool, arguments = calls.get(name, (NO_CALL, None))
                result = Result(
                    tool=tool,
                    call=call_of(tool, arguments) if name in calls else None,
                    call_id=name,
                    shown=_shown(tool, block.get("content")),
                    is_error=block.get("is_error") is True,
                    session=f"claude_code {session}",
                    arrival=(clock, str(path), row.line, number),
                    twin=(name, call_of(tool, arguments) if name in calls else None),
                    rank=(
                        "forkedFrom" in row.data,
                        _time(row.data.get("timestamp")) or datetime.max.replace(tzinfo=UTC),
                        row.data.get("sessionId") != path.stem,
                        max(times, default=LONG_AGO),
                        str(path),
                        row.line,
                    ),
                )
                result.in_sight = _in_sight(row, context, asked, seen)
                seen.append((row, result))
                found.append(result)
    return found


def _rows(path: Path) -> Iterator[Row]:
    """Rows of the tree; what was written again unchanged is left out, what moved is marked."""
    met: set[tuple[Any, ...]] = set()
    uuids: set[str] = set()
    for line, text in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            data = json.loads(text)
        except ValueError:
            continue
        if not isinstance(data, dict) or not isinstance(data.get("uuid"), str):
            continue
        place = (data["uuid"], data.get("parentUuid"), data.get("sessionId"))
        if place in met:
            continue
        met.add(place)
        if data["uuid"] in uuids:
            data["again"] = True
        uuids.add(data["uuid"])
        yield Row(line, data)


def _session(path: Path, rows: list[Row]) -> str:
    ids = Counter(row.data["sessionId"] for row in rows if row.data.get("sessionId"))
    if path.name.startswith("agent-") and "subagents" in path.parts:
        return path.parts[path.parts.index("subagents") - 1]
    if path.stem in ids or not ids:
        return path.stem
    return str(ids.most_common(1)[0][0])


def _progress(rows: list[Row]) -> list[Row]:
    """Rows of subagents as a parent's progress tells them, in the shape of rows."""
    found = []
    for row in rows:
        told = row.data.get("data")
        if isinstance(told, dict) and told.get("type") == "agent_progress" and told.get("message"):
            found.append(Row(row.line, {**told["message"], "agentId": told.get("agentId")}))
    return found


def _contexts(path: Path, rows: list[Row], agents: set[str]) -> Iterator[list[Row]]:
    if path.name.startswith("agent-"):
        yield rows
        return
    uuids = {row.data["uuid"]: row for row in rows}

    def top(row: Row) -> Row:
        parent = uuids.get(row.data.get("parentUuid"))
        while parent is not None and parent.data.get("isSidechain"):
            row, parent = parent, uuids.get(parent.data.get("parentUuid"))
        return row

    threads: dict[Row | None, list[Row]] = {None: []}
    for row in rows:
        threads.setdefault(top(row) if row.data.get("isSidechain") else None, []).append(row)
    yield from threads.values()
    lost: dict[str, list[Row]] = defaultdict(list)
    for row in _progress(rows):
        if row.data["agentId"] not in agents:
            own = lost[row.data["agentId"]]
            if all(row.data.get("uuid") != other.data.get("uuid") for other in own):
                # each hangs on the one before
                row.data["parentUuid"] = own[-1].data["uuid"] if own else None
                own.append(row)
    yield from lost.values()


def _connect(context: list[Row]) -> None:
    """Where the walk goes from each row: to its parent, or to a boundary in between."""
    by_uuid: dict[str, list[Row]] = defaultdict(list)
    for row in context:
        by_uuid[row.data["uuid"]].append(row)
    boundaries = [row for row in context if row.is_boundary]
    for place, row in enumerate(context):
        name = row.data.get("parentUuid")
        if name is None or row.is_boundary:
            continue
        named = by_uuid.get(name, [])
        before = [other for other in named if other.line < row.line]
        if named:
            row.up = before[-1] if before else named[0]
        else:
            row.up = context[place - 1] if place else None
        between = [b for b in boundaries if row.up is not None and row.up.line < b.line < row.line]
        if between:
            row.up = between[-1]


def _in_sight(
    row: Row, context: list[Row], asked: dict[str, set[str]], seen: list[tuple[Row, Result]]
) -> list[Result]:
    """The results before that are sent together with the one in this row."""
    chain: list[Row] = []
    on_chain: set[int] = set()
    here: Row | None = row
    while here is not None and id(here) not in on_chain:
        chain.append(here)
        on_chain.add(id(here))
        here = here.up
    kept = _preserved(chain[-1], context) if chain[-1].is_boundary else set()
    calls = {call for step in chain if "id" in step.message for call in asked[step.message["id"]]}
    cleared = {
        call
        for step in chain
        if step.data.get("subtype") == "microcompact_boundary"
        for call in step.data.get("microcompactMetadata", {}).get("compactedToolIds") or ()
    }
    return [
        result
        for other, result in seen
        if (id(other) in on_chain or result.call_id in calls or other.data["uuid"] in kept)
        and result.call_id not in cleared
    ]


def _preserved(boundary: Row, context: list[Row]) -> set[str]:
    told = boundary.data.get("compactMetadata") or {}
    if told.get("preservedMessages"):
        return set(told["preservedMessages"].get("uuids") or ())
    segment = told.get("preservedSegment")
    if not segment:
        return set()
    uuids = [row.data["uuid"] for row in context]
    return set(uuids[uuids.index(segment["headUuid"]) : uuids.index(segment["tailUuid"]) + 1])


def _shown(tool: str, content: Any) -> Shown:
    blocks = content if isinstance(content, list) else []
    others = [b for b in blocks if not (isinstance(b, dict) and b.get("type") == "text")]
    text = content if isinstance(content, str) else "".join(b["text"] for b in blocks if b not in others)
    hashed = text
    if others:
        hashed += "\0" + json.dumps(others, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    is_image = any(b.get("type") in {"image", "document"} for b in others if isinstance(b, dict))
    return Shown(_digest(hashed), _size(text), "image" if is_image else _class(tool, text))


def _class(tool: str, text: str) -> str:
    lines = text.split("\n")
    if text in READ_STUBS:
        return "stub"
    if text == "[Old tool result content cleared]":
        return "masked"
    if text.startswith("<persisted-output>"):
        return "spilled"
    if not text.strip() or text == "(Bash completed with no output)":
        return "empty"
    cut = re.compile(r"\.\.\. \[\d+ (lines|characters) truncated\] \.\.\.")
    is_cut = {
        "Bash": any(cut.fullmatch(line) for line in lines),
        "Grep": lines[-1].startswith("(Results are truncated"),
        "Read": any(line.startswith("[Truncated: PARTIAL view") for line in lines),
    }
    kinds = {"PowerShell": "Bash", "BashOutput": "Bash", "TaskOutput": "Bash", "Glob": "Grep"}
    return "truncated" if is_cut.get(kinds.get(tool, tool)) else "text"


# -- docker-agent --------------------------------------------------------------------------------------------

MARKER = re.compile(
    r"\[docker-agent\] The (.+) tool ran and returned output byte-for-byte identical to its earlier result "
    r"for these same arguments in this session, so the (\d+)-byte payload is not repeated here\. Nothing has "
    r"changed since you last saw it\."
)
NOTICE = re.compile(
    r"Tool call result was too large \((\d+) bytes; limit (\d+) bytes\)\. The full result is "
)


class Item(NamedTuple):
    """An item of a session: its message if it is one, its summary's kept tail if it is a summary."""

    kind: str
    line: int
    message: JSON
    first_kept: int


def docker_agent(folder: Path) -> list[Result]:
    """Results of all session stores and exports below a folder."""
    found: list[Result] = []
    for path in sorted(folder.rglob("*.db")):
        found += _database(path)
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_bytes())
        found += _exported(path, document, document["id"])
    return found


def _database(path: Path) -> list[Result]:
    with tempfile.TemporaryDirectory() as private:
        copy = copyfile(path, Path(private) / "copy.db")
        connection = sqlite3.connect(copy)
        sessions = dict(connection.execute("select id, parent_id from sessions").fetchall())
        rows = connection.execute(
            "select session_id, item_type, id, message_json, first_kept_entry from session_items "
            "order by session_id, position, id"
        ).fetchall()
        connection.close()
    items: dict[str, list[Item]] = defaultdict(list)
    for session, kind, line, message, first_kept in rows:
        items[session].append(Item(kind, line, json.loads(message or "{}"), first_kept))
    found: list[Result] = []
    for session, own in items.items():
        root = session
        while sessions.get(root):
            root = sessions[root]
        found += _conversation(path, root, own)
    return found


def _exported(path: Path, document: JSON, root: str) -> list[Result]:
    items: list[Item] = []
    found: list[Result] = []
    for line, entry in enumerate(document["messages"]):
        if "message" in entry:
            items.append(Item("message", line, entry["message"]["message"], 0))
        elif "sub_session" in entry:
            found += _exported(path, entry["sub_session"], root)
            items.append(Item("subsession", line, {}, 0))
        else:
            items.append(
                Item("summary" if "summary" in entry else "other", line, {}, entry.get("first_kept_entry", 0))
            )
    return found + _conversation(path, root, items)


def _conversation(path: Path, root: str, items: list[Item]) -> list[Result]:
    """Results of one session or sub-session; what is in sight is what a request would be rebuilt from."""
    found: list[Result] = []
    results: dict[int, Result] = {}
    calls: dict[str, JSON] = {}
    clock = LONG_AGO
    start = 0
    for place, item in enumerate(items):
        message = item.message
        clock = max(clock, _time(message.get("created_at")) or clock)
        if item.kind == "summary":
            start = item.first_kept if 0 < item.first_kept < place else place + 1
        for call in message.get("tool_calls") or () if item.kind == "message" else ():
            calls[call["id"]] = call["function"]
        if item.kind != "message" or message.get("role") != "tool":
            continue
        call = calls.get(message["tool_call_id"])
        tool = call["name"] if call else NO_CALL
        result = Result(
            tool=tool,
            call=call_of(tool, _arguments(call["arguments"])) if call else None,
            call_id=message["tool_call_id"],
            shown=_shown_by_docker(message),
            is_error=bool(message.get("is_error")),
            session=f"docker_agent {root}",
            arrival=(clock, str(path), item.line, 0),
            twin=(message["tool_call_id"], message.get("created_at"), json.dumps(message, sort_keys=True)),
            # of a database and an export of it the database is the original (D16)
            rank=(_time(message.get("created_at")), path.suffix == ".json", str(path), item.line),
        )
        result.in_sight = [earlier for at, earlier in results.items() if at >= start]
        results[place] = result
        found.append(result)
    return found


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _shown_by_docker(message: JSON) -> Shown:
    text = message.get("content") or ""
    if MARKER.fullmatch(text):
        klass = "stub"
    elif NOTICE.match(text):
        klass = "spilled"
    elif not text.strip() or text == "(no output)":
        klass = "empty"
    else:
        klass = "text"
    return Shown(_digest(text), _size(text), klass)
