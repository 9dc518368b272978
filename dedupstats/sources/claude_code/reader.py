"""One transcript file: its rows go into threads, one per context, while it streams by.

Nothing of a text is kept but its measure. Calls and results meet only when the file is read to its end,
because a result can stand before its call (claude-code.md section 4); `line_up` does that part.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from dedupstats.model import ContextKind
from dedupstats.sources.base import Faults, hash64, not_understood
from dedupstats.sources.claude_code.answers import take_assistant
from dedupstats.sources.claude_code.arrivals import take_user
from dedupstats.sources.claude_code.besides import take_attachment, take_progress
from dedupstats.sources.claude_code.compactions import take_system
from dedupstats.sources.claude_code.layout import NAME
from dedupstats.sources.claude_code.rows import Row, is_record, prepare
from dedupstats.sources.claude_code.threads import Thread
from dedupstats.sources.claude_code.times import microseconds
from dedupstats.sources.claude_code.tree import Tree
from dedupstats.sources.lines import JsonLines

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupstats.model import Skipped
    from dedupstats.sources.base import Names
    from dedupstats.sources.claude_code.answers import Call
    from dedupstats.sources.claude_code.layout import Role
    from dedupstats.sources.claude_code.tools import Calls

UNTYPED = "(no type)"
_session_of = attrgetter("sessionId")

TAKES: dict[str, Callable[[Transcript, int, Row], None]] = {
    "assistant": take_assistant,
    "user": take_user,
    "attachment": take_attachment,
    "system": take_system,
    "progress": take_progress,
}
"""what takes in the rows of a type; rows of other types are counted only"""
SIDE_TAKES = {"assistant": take_assistant, "user": take_user}
SIDE_PREFIX = "side_request/"

ROWS = msgspec.json.Decoder(Row)
"""decodes the lines of a transcript"""


class NameKeys(dict[str | None, int | None]):
    """The name keys of texts that come again and again, looked up without a call once they are known."""

    def __init__(self, names: Names) -> None:
        super().__init__({None: None})
        self._names = names

    def __missing__(self, text: str) -> int | None:
        key = self[text] = self._names.optional(text)
        return key


class Transcript:
    """A file while it is read, and what came of it.

    Attributes:
        role: What the file is within its unit.
        is_side: Whether it is one request about a copy of a context.
        name_keys: Name keys by text.
        tree: Its rows by their parents.
        threads: Contexts in the order of their first rows.
        main: The thread of rows that belong to no sidechain.
        agents: Threads of subagents that are only left as copies in progress rows.
        calls: Tool calls by id.
        first_rows: For each call the row of its first result.
        rewritten: Calls that RTK's hook rewrote.
        spawned: For subagents that a result names, the context of that result.
        sessions: How many rows bear which session id.
        ignored: Rows by type that no figure needs.
        skipped, faults: Rows that cannot be used: the first ones, and how many.
        at, is_home, is_repeated, ledger_key, version_key: Of the row at hand: time, whether its session id is
            the file's name, whether its uuid was there before, name keys of session and version.
    """

    def __init__(self, role: Role, calls: Calls, has_agent: Callable[[str], bool]) -> None:
        self.role = role
        self.is_side = role.kind is ContextKind.SIDE
        self.names = calls.reading.names
        self.name_keys = NameKeys(self.names)
        self.keep_content = calls.reading.keep_content
        self.o200k_tokens = calls.reading.o200k_tokens
        self.facts = calls.facts
        self.has_agent = has_agent
        self.tree = Tree()
        self.threads: list[Thread] = []
        self.main: Thread | None = None
        self.agents: dict[str, Thread] = {}
        self.calls: dict[str, Call] = {}
        self.first_rows: dict[str, str | None] = {}
        self.rewritten: set[str] = set()
        self.spawned: dict[str, int] = {}
        self.sessions: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.faults = Faults(role.path)
        self.skipped: list[Skipped] = []
        self.used = 0
        self.copies = 0
        self.unfinished = False
        self.at: int | None = None
        self.is_home = self.is_repeated = False
        self.ledger_key: int | None = None
        self.version_key: int | None = None
        self._maximum = calls.reading.max_line_bytes
        self._home = role.session
        self._session: str | None = None
        self._version: str | None = None
        self._last_side: Thread | None = None

    def read(self) -> None:
        """Read the whole file.

        Raises:
            OSError: It cannot be opened or read.
        """
        lines = JsonLines(
            self.role.path, ROWS, prepare=prepare, is_record=is_record, max_line_bytes=self._maximum
        )
        takes, prefix = (SIDE_TAKES, SIDE_PREFIX) if self.is_side else (TAKES, "")
        sessions, ignored = self.sessions, self.ignored
        for batch in lines:
            sessions.update(map(_session_of, batch.rows))
            for line, row in zip(batch.lines, batch.rows, strict=True):
                take = takes.get(row.type)
                if take is None:
                    ignored[prefix + (row.type or UNTYPED)] += 1
                else:
                    used = self.used
                    try:
                        take(self, line, row)
                    except Exception as error:  # noqa: BLE001 - one hostile row must not cost the others
                        self.used = used
                        self.skip(line, not_understood(error))
            for fault in batch.faults:
                self.skip(fault.line, fault.reason)
        sessions.pop(None, None)  # type: ignore[call-overload] # rows without a session id
        self.unfinished = lines.unfinished
        holding = {result.node for thread in self.threads for result in thread.results}
        self.tree.resolve_later(holding.__contains__)

    def skip(self, line: int, reason: str) -> None:
        """Count a record that cannot be used."""
        self.skipped.extend(self.faults.add(line, reason))

    def thread(self, native_id: str, kind: ContextKind, *, is_side: bool = False) -> Thread:
        """A new context of this file."""
        key = hash64(NAME, self.role.path, native_id)
        thread = Thread(key, native_id, kind, is_side=is_side)
        self.threads.append(thread)
        return thread

    def enter(self, line: int, row: Row, kind: str = "", thread: Thread | None = None) -> Thread | None:
        """Give a row its place in the tree; None if it is a copy that was there before.

        Args:
            line: Its line.
            row: The row.
            kind: Type under which it is ignored; empty for rows that are used.
            thread: Its context, where the row does not tell.
        """
        tree = self.tree
        self.is_repeated = row.uuid in tree.latest
        if self.is_repeated and tree.is_copy(row):
            if kind:
                self.ignored[kind] += 1
            else:
                self.copies += 1
            return None
        if thread is None:
            thread = self._thread_of(line, row) if row.isSidechain or self.main is None else self.main
        at = self.at = microseconds(row.timestamp)
        if at is not None:
            clock = thread.clock
            if clock is None:
                thread.clock = thread.started = at
            elif at > clock:
                thread.clock = at
            elif thread.started is None or at < thread.started:
                thread.started = at
        if thread.cwd is None:
            thread.cwd = row.cwd
        if thread.agent is None:
            thread.agent = row.attributionAgent
        # most rows have the session and the version of the row before
        if row.sessionId != self._session:
            self._session = row.sessionId
            self.ledger_key = self.name_keys[row.sessionId]
            self._home = self._home or row.sessionId
            self.is_home = row.sessionId == self._home
        if row.version != self._version:
            self._version = row.version
            self.version_key = self.name_keys[row.version]
        tree.add(thread, row, line, at)
        return thread

    def _thread_of(self, line: int, row: Row) -> Thread:
        """The thread of a row by its place: agent files have one, other files one per sidechain besides."""
        if row.isSidechain and self.role.kind is ContextKind.MAIN:
            self._last_side = self.tree.thread_of_side(
                row.parentUuid,
                self._last_side,
                lambda: self.thread(row.uuid or f"line {line}", ContextKind.AGENT, is_side=True),
            )
            return self._last_side
        if self.main is None:
            self.main = self.thread(self.role.native_id, self.role.kind)
        return self.main
