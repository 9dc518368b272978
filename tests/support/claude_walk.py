"""The sight rule of claude-code.md section 15, word for word: slow, and written apart from the source.

For each result the whole tree is walked anew, so that the fast way has something to be compared with.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

TREE = {"user", "assistant", "system", "attachment", "progress"}


class _Row(NamedTuple):
    place: int
    line: int
    data: dict[str, Any]
    thread: Any


def _objects(path: Path) -> list[tuple[int, dict[str, Any]]]:
    found = []
    for number, text in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append((number, value))
    return found


def _results(data: dict[str, Any]) -> list[str]:
    content = (data.get("message") or {}).get("content")
    if data["type"] != "user" or not isinstance(content, list):
        return []
    return [
        block["tool_use_id"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


class Walk:
    """One file, in memory as it is.

    Attributes:
        sights: By line and call of each result, the calls whose results were in sight.
    """

    def __init__(self, path: Path) -> None:
        self.is_agent = path.name.startswith("agent-")
        self.rows: list[_Row] = []
        self._read(path)
        self.boundaries: list[_Row] = []
        for row in self.rows:
            if self._is_boundary(row):
                self.boundaries.append(row)
        self.message_of: dict[tuple[Any, str], str] = {}
        for row in self.rows:
            if row.data["type"] == "assistant":
                for block in row.data["message"]["content"]:
                    if isinstance(block, dict) and block.get("type") == "tool_use":
                        self.message_of.setdefault((row.thread, block["id"]), row.data["message"]["id"])
        self.next = [self._step(row) for row in self.rows]
        self.results = self._emissions()
        self.sights = {(row.line, call): self._sight(at) for at, (row, call) in enumerate(self.results)}

    # -- rows and their threads -------------------------------------------------------------------

    def _read(self, path: Path) -> None:
        before: set[tuple[Any, Any, Any]] = set()
        for line, data in _objects(path):
            if data.get("type") not in TREE:
                continue
            identity = (data.get("uuid"), data.get("parentUuid"), data.get("sessionId"))
            if identity in before:
                continue
            before.add(identity)
            self.rows.append(_Row(len(self.rows), line, data, self._thread(data)))

    def _thread(self, data: dict[str, Any]) -> Any:
        if self.is_agent or not data.get("isSidechain"):
            return "main"
        side = [row for row in self.rows if row.thread != "main"]
        if data["parentUuid"] is None:
            return len(self.rows)
        parents = [row for row in self.rows if row.data.get("uuid") == data["parentUuid"]]
        if parents:
            return len(self.rows) if parents[-1].thread == "main" else parents[-1].thread
        return side[-1].thread if side else len(self.rows)

    def _emissions(self) -> list[tuple[_Row, str]]:
        first: dict[str, Any] = {}
        pairs = [(row, call) for row in self.rows for call in _results(row.data)]
        for row, call in pairs:
            first.setdefault(call, row.data.get("uuid"))
        return [(row, call) for row, call in pairs if first[call] == row.data.get("uuid")]

    # -- steps ------------------------------------------------------------------------------------

    def _earlier(self, row: _Row) -> list[_Row]:
        return [other for other in self.rows[: row.place] if other.thread == row.thread]

    def _plain_parent(self, row: _Row) -> _Row | None:
        """The parent, never a later row."""
        parent = row.data.get("parentUuid")
        if parent is None:
            return None
        named = [other for other in self.rows[: row.place] if other.data.get("uuid") == parent]
        if named and named[-1].thread == row.thread:
            return named[-1]
        earlier = self._earlier(row)
        return earlier[-1] if earlier else None

    def _later_call(self, row: _Row) -> _Row | None:
        """The call that stands after its result and that the result names as its parent."""
        parent = row.data.get("parentUuid")
        if parent is None or not _results(row.data):
            return None
        if any(other.data.get("uuid") == parent for other in self.rows[: row.place]):
            return None
        for other in self.rows[row.place + 1 :]:
            if other.data.get("uuid") == parent:
                return other if other.thread == row.thread else None
        return None

    def _later_parent(self, row: _Row) -> _Row | None:
        """The same, if no circle can come of it."""
        call = here = self._later_call(row)
        while here is not None and here.place >= row.place:
            if self._later_call(here) is not None:
                return None
            here = self._step_back(here)
        return call

    def _is_boundary(self, row: _Row) -> bool:
        if row.data.get("subtype") == "compact_boundary":
            return True
        if not row.data.get("isCompactSummary"):
            return False
        # a summary that belongs to the boundary row before it
        for other in reversed(self._earlier(row)):
            if other.data.get("subtype") == "compact_boundary":
                return False
            if (
                other.data.get("isCompactSummary")
                or other.data["type"] == "assistant"
                or _results(other.data)
            ):
                break
        parent = self._plain_parent(row)
        return parent is None or parent not in self.boundaries

    def _step(self, row: _Row) -> _Row | None:
        later = self._later_parent(row)
        return self._step_back(row) if later is None else later

    def _step_back(self, row: _Row) -> _Row | None:
        """A step that never leads to a later row."""
        if row in self.boundaries:
            return None
        parent = self._plain_parent(row)
        if row.data.get("isCompactSummary") and parent is None:
            return self._earlier(row)[-1] if self._earlier(row) else None
        if parent is None:
            return None
        between = [
            boundary
            for boundary in self.boundaries
            if boundary.thread == row.thread and parent.place < boundary.place < row.place
        ]
        return between[-1] if between else parent

    # -- sight ------------------------------------------------------------------------------------

    def _walk(self, row: _Row) -> list[_Row]:
        walked = []
        here: _Row | None = row
        while here is not None:
            walked.append(here)
            here = self.next[here.place]
        return walked

    def _kept(self, boundary: _Row) -> set[int]:
        metadata = boundary.data.get("compactMetadata") or {}
        uuids = (metadata.get("preservedMessages") or {}).get("uuids", [])
        places = set()
        for uuid in uuids:
            named = [row for row in self.rows[: boundary.place] if row.data.get("uuid") == uuid]
            if named:
                places.add(named[-1].place)
        segment = metadata.get("preservedSegment")
        if segment and not uuids:
            tail = next(row for row in reversed(self.rows) if row.data.get("uuid") == segment["tailUuid"])
            for row in self._walk(tail):
                places.add(row.place)
                if row.data.get("uuid") == segment["headUuid"]:
                    break
        return places

    def _sight(self, at: int) -> set[str]:
        row, _ = self.results[at]
        walked = self._walk(row)
        places = {other.place for other in walked}
        if walked[-1] in self.boundaries:
            places |= self._kept(walked[-1])
        messages = {other.data["message"]["id"] for other in walked if other.data["type"] == "assistant"}
        cleared: set[tuple[int, str]] = set()
        for other in walked:
            if other.data.get("subtype") == "microcompact_boundary":
                calls = other.data["microcompactMetadata"]["compactedToolIds"]
                cleared |= {(r.place, c) for r, c in self.results if c in calls and r.place < other.place}
        return {
            call
            for other, call in self.results[:at]
            if other.thread == row.thread
            and (other.place in places or self.message_of.get((row.thread, call)) in messages)
            and (other.place, call) not in cleared
        }
