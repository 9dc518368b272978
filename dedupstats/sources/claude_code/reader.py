"""One transcript file: its rows go into threads, one per context, while it streams by.

Nothing of a text is kept but its measure. Calls and results meet only when the file is read to its end,
because a result can stand before its call (claude-code.md section 4); `records` does that part.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dedupstats.model import BoundaryKind, Class, ContextKind, Entered, EnteredKind, Skipped, Turn
from dedupstats.sources.base import hash64
from dedupstats.sources.claude_code import attachments, texts
from dedupstats.sources.claude_code.requests import Draft
from dedupstats.sources.claude_code.rows import (
    NO_JSON,
    Block,
    CompactMetadata,
    Progress,
    ProgressKind,
    Row,
    is_record,
    prepare,
)
from dedupstats.sources.claude_code.threads import Event, Result, Thread
from dedupstats.sources.claude_code.times import microseconds
from dedupstats.sources.claude_code.tree import ROOT, Tree
from dedupstats.sources.lines import JsonLines
from dedupstats.sources.measure import class_counts, measure, to_bytes, to_storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupstats.sources.claude_code.layout import Role
    from dedupstats.sources.claude_code.tools import Calls, Facts

NAME = "claude_code"
SYNTHETIC = "<synthetic>"
"""the model of the program's own notices: no request"""
UNTYPED = "(no type)"

_ROWS = msgspec.json.Decoder(Row)
_decode_progress = msgspec.json.Decoder(Progress).decode
_decode_kind = msgspec.json.Decoder(ProgressKind).decode


class Call(NamedTuple):
    """A tool call with the request that made it."""

    facts: Facts
    thread: Thread
    message: int
    request_key: int | None
    model_key: int | None


class Transcript:
    """A file while it is read, and what came of it.

    Attributes:
        threads: Contexts in the order of their first rows.
        calls: Tool calls by id.
        rewritten: Calls that RTK's hook rewrote.
        spawned: Subagents by id, with the call that they answer and its context.
        sessions: How many rows bear which session id.
        ignored: Rows by type that no figure needs.
    """

    def __init__(self, role: Role, calls: Calls, has_agent: Callable[[str], bool]) -> None:
        self.role = role
        self.tree = Tree()
        self.threads: list[Thread] = []
        self.calls: dict[str, Call] = {}
        self.rewritten: set[str] = set()
        self.spawned: dict[str, tuple[str, Thread]] = {}
        self.sessions: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.skipped: list[Skipped] = []
        self.used = 0
        self.copies = 0
        self.unfinished = False
        self.main: Thread | None = None
        self._reading = calls.reading
        self._names = calls.reading.names
        self._facts = calls.facts
        self._has_agent = has_agent
        self._last_side: Thread | None = None
        self._agents: dict[str, Thread] = {}
        self._first_rows: dict[str, str | None] = {}
        # of the row at hand; most rows have the same as the one before
        self._home = role.session
        self._is_repeated = False
        self._at: int | None = None
        self._session: str | None = None
        self._ledger_key: int | None = None
        self._is_home = False
        self._version: str | None = None
        self._version_key: int | None = None
        self._takes = {
            "assistant": self._assistant,
            "user": self._user,
            "attachment": self._attachment,
            "system": self._system,
            "progress": self._progress,
        }
        if role.kind is ContextKind.SIDE:
            self._takes = {"assistant": self._assistant, "user": self._user}

    # -- rows -------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the whole file.

        Raises:
            OSError: It cannot be opened or read.
        """
        path = self.role.path
        lines = JsonLines(
            path,
            _ROWS,
            prepare=prepare,
            is_record=is_record,
            max_line_bytes=self._reading.max_line_bytes,
        )
        takes, sessions, ignored = self._takes, self.sessions, self.ignored
        prefix = "side_request/" if self.role.kind is ContextKind.SIDE else ""
        for batch in lines:
            for line, row in zip(batch.lines, batch.rows, strict=True):
                session = row.sessionId
                if session is not None:
                    sessions[session] += 1
                take = takes.get(row.type)
                if take is None:
                    ignored[prefix + (row.type or UNTYPED)] += 1
                else:
                    take(line, row)
            for fault in batch.faults:
                self._skip(fault.line, fault.reason)
        self.unfinished = lines.unfinished
        holding = {result.node for thread in self.threads for result in thread.results}
        self.tree.resolve_later(holding.__contains__)

    def _skip(self, line: int, reason: str) -> None:
        self.skipped.append(Skipped(self.role.path, line, reason))

    def _thread(self, native_id: str, kind: ContextKind, *, is_side: bool) -> Thread:
        key = hash64(NAME, self.role.path, native_id)
        thread = Thread(key, native_id, kind, is_side=is_side)
        self.threads.append(thread)
        return thread

    def _thread_of(self, line: int, row: Row) -> Thread:
        if row.isSidechain and self.role.kind is ContextKind.MAIN:
            self._last_side = self.tree.thread_of_side(
                row.parentUuid,
                self._last_side,
                lambda: self._thread(row.uuid or f"line {line}", ContextKind.AGENT, is_side=True),
            )
            return self._last_side
        if self.main is None:
            self.main = self._thread(self.role.native_id, self.role.kind, is_side=False)
        return self.main

    def _enter(self, line: int, row: Row, kind: str = "", thread: Thread | None = None) -> Thread | None:
        """Give a row its place in the tree; None if it is a copy that was there before.

        Args:
            line: Its line.
            row: The row.
            kind: Type under which it is ignored; empty for rows that are used.
            thread: Its context, where that is not told by the row.
        """
        tree = self.tree
        self._is_repeated = row.uuid in tree.latest
        if self._is_repeated and tree.is_copy(row):
            if kind:
                self.ignored[kind] += 1
            else:
                self.copies += 1
            return None
        if thread is None:
            thread = (
                self.main if self.main is not None and not row.isSidechain else self._thread_of(line, row)
            )
        at = microseconds(row.timestamp)
        if at is not None:
            if thread.clock is None or at > thread.clock:
                thread.clock = at
            if thread.started is None or at < thread.started:
                thread.started = at
        self._at = at
        if thread.cwd is None:
            thread.cwd = row.cwd
        if thread.agent is None:
            thread.agent = row.attributionAgent
        if row.sessionId != self._session:
            self._session = row.sessionId
            self._ledger_key = self._names.optional(row.sessionId)
            if self._home is None:
                self._home = row.sessionId
            self._is_home = row.sessionId == self._home
        if row.version != self._version:
            self._version = row.version
            self._version_key = self._names.optional(row.version)
        tree.add(thread, row, line, at)
        return thread

    # -- assistant --------------------------------------------------------------------------------

    def _assistant(self, line: int, row: Row, thread: Thread | None = None) -> None:
        message = row.message
        if message is None or (message.id is None and not message.content):
            self._skip(line, "assistant record without message id and content")
            return
        thread = self._enter(line, row, "", thread)
        if thread is None:
            return
        if thread.root != ROOT:
            # a conversation goes on below a new root: it was cleared there
            thread.events.append(Event(thread.root, BoundaryKind.CLEAR))
            thread.root = ROOT
        thread.has_answer = True
        thread.is_fresh = thread.follows_result = False
        node = thread.tip = thread.last_node
        if message.model == SYNTHETIC:
            self.ignored["assistant/<synthetic>"] += 1
            return
        self.used += 1
        native_id = message.id or f"row {row.uuid or line}"
        draft = thread.drafts.get(native_id)
        if draft is None:
            draft = self._draft(native_id, thread, line, row)
        number = self.tree.messages[node] = thread.message_numbers[native_id]
        if draft.model_key is None:
            draft.model_key = self._names.optional(message.model)
        draft.stop_key = self._names.optional(message.stop_reason)
        if message.usage is not None:
            draft.merge(message.usage)
            if message.usage.service_tier:
                draft.tier_key = self._names.key(message.usage.service_tier)
        if row.costUSD is not None:
            draft.cost = max(draft.cost or 0.0, float(row.costUSD))
        if isinstance(message.content, str):
            blocks: list[Block | str] = [message.content]
        else:
            blocks = message.content or []
        is_new = not self._is_repeated
        for block in blocks:
            if isinstance(block, str):
                draft.text_bytes += texts.size(block) if is_new else 0
            elif block.type == "tool_use":
                self._call(block, row, thread, draft, number)
            elif is_new:
                _weigh(block, draft)

    def _draft(self, native_id: str, thread: Thread, line: int, row: Row) -> Draft:
        draft = Draft(
            hash64(NAME, native_id),
            (thread.key, native_id, line, self._at, thread.clock, thread.turn, thread.count),
            (
                _is_fork(row),
                self._is_home,
                thread.is_side,
            ),
            self._names.optional(row.message.model if row.message else None),
            self._version_key,
        )
        thread.drafts[native_id] = draft
        thread.message_numbers[native_id] = len(thread.message_numbers)
        return draft

    def _call(self, block: Block, row: Row, thread: Thread, draft: Draft, number: int) -> None:
        call_id = block.id
        if call_id is None or call_id in self.calls:
            return
        facts = self._facts(block.name or "", bytes(block.input) or b"null", row.cwd)
        draft.calls += 1
        draft.tool_bytes += facts.input_bytes
        self.calls[call_id] = Call(facts, thread, number, draft.key, draft.model_key)

    # -- user -------------------------------------------------------------------------------------

    def _user(self, line: int, row: Row, thread: Thread | None = None) -> None:
        message = row.message
        if message is None:
            self._skip(line, "user record without message")
            return
        results = texts.results_of(message)
        if self.role.kind is ContextKind.SIDE:
            self.ignored["side_request/tool_result" if results else "side_request/user"] += 1
            return
        thread = self._enter(line, row, "", thread)
        if thread is None:
            return
        if results:
            self._results(line, row, thread, results)
        else:
            self.used += 1
            self._text(line, row, thread)

    def _results(self, line: int, row: Row, thread: Thread, results: list[Block]) -> None:
        before = thread.count
        for block in results:
            call_id = block.tool_use_id or f"row {row.uuid or line}"
            if self._first_rows.setdefault(call_id, row.uuid) == row.uuid:
                self._result(line, row, thread, call_id, block)
        if thread.count == before:
            self.ignored["user/second result of a call"] += 1
        else:
            self.used += 1
        thread.follows_result = True
        thread.is_fresh = False
        thread.tip = thread.last_node
        told = row.toolUseResult
        if isinstance(told, msgspec.Struct) and told.agentId is not None:
            self.spawned.setdefault(told.agentId, (results[0].tool_use_id or "", thread))
        text = texts.message_text(row.message) if row.message and len(results) < len(_blocks(row)) else ""
        if text:
            self._enters(line, thread, EnteredKind.USER, "beside_result", text)

    def _result(self, line: int, row: Row, thread: Thread, call_id: str, block: Block) -> None:
        content = block.content
        if isinstance(content, str):
            text, has_image, suffix = content, False, b""
        else:
            text, has_image, suffix = texts.parts(content)
        klass = texts.class_of(text, has_image=has_image)
        is_error = bool(block.is_error)
        node = thread.last_node
        thread.results.append(
            Result(
                node,
                line,
                self._at,
                thread.clock,
                thread.turn,
                call_id,
                _is_fork(row),
                self._is_home,
                self._ledger_key,
                self._version_key,
                klass,
                texts.cuts(text) if klass is Class.TEXT else 0,
                is_error,
                is_error and texts.did_not_run(text),
                measure(text, suffix),
                to_storable(text) if self._reading.keep_content else None,
            )
        )
        thread.count += 1

    def _text(self, line: int, row: Row, thread: Thread) -> None:
        """A user row that is no result: a prompt, a summary, or something that the program wrote."""
        node = thread.last_node
        text = texts.message_text(row.message) if row.message else ""
        if row.isCompactSummary:
            self._summary(row, thread, node)
            thread.follows_result = False
            self._enters(line, thread, EnteredKind.SUMMARY, "summary", text)
            return
        kind = texts.user_kind(text)
        is_command = kind in texts.COMMANDS
        if self.tree.up[node] == ROOT and thread.has_answer and (row.isMeta or not self._is_repeated):
            thread.root = node
        if row.isMeta or is_command:
            self.tree.notes[node] = 1
        if row.isMeta:
            self._enters(line, thread, EnteredKind.SYSTEM, "meta", text)
            return
        if kind == texts.PROMPT:
            self._prompt(line, thread, node)
        elif text.startswith(texts.CLEAR):
            thread.tip = node
        if not is_command:
            thread.follows_result = False
        self._enters(line, thread, EnteredKind.USER, kind, text)

    def _prompt(self, line: int, thread: Thread, node: int) -> None:
        """A message of the person begins a turn; a second one below the same row is a rewind (section 5)."""
        thread.turn += 1
        thread.turns.append(
            Turn(thread.key, thread.turn, line, self._at, thread.count, thread.follows_result)
        )
        thread.tip = node
        above = self.tree.up[node]
        if above in thread.prompt_parents:
            thread.events.append(Event(node, BoundaryKind.REWIND))
        elif above != ROOT and not self.tree.notes[above]:
            thread.prompt_parents.add(above)

    def _summary(self, row: Row, thread: Thread, node: int) -> None:
        """A summary counts as one with its boundary row; in 1.0 it stands alone (section 7)."""
        tree = self.tree
        if thread.boundary != ROOT and (thread.is_fresh or tree.up[node] == thread.boundary):
            if tree.up[node] == ROOT:
                tree.up[node] = thread.boundary
            thread.is_fresh = False
            return
        self._compaction(thread, node, row.compactMetadata or CompactMetadata())
        thread.is_fresh = False

    def _enters(self, line: int, thread: Thread, kind: EnteredKind, name: str, text: str) -> None:
        data = to_bytes(text)
        thread.entered.append(
            Entered(
                thread.key,
                line,
                self._at,
                thread.turn,
                thread.count,
                kind,
                self._names.key(name),
                len(data),
                *class_counts(data),
                None,
                None,
            )
        )

    # -- the rest ---------------------------------------------------------------------------------

    def _attachment(self, line: int, row: Row) -> None:
        thread = self._enter(line, row, "")
        if thread is None:
            return
        self.used += 1
        attachment = attachments.parse(row.attachment)
        kind = attachments.kind_of(attachment)
        if kind == attachments.HOOK_SUCCESS:
            call_id = attachments.rewritten_call(attachment)
            if call_id is not None:
                self.rewritten.add(call_id)
        thread.entered.append(
            Entered(
                thread.key,
                line,
                self._at,
                thread.turn,
                thread.count,
                EnteredKind.ATTACHMENT,
                self._names.key(kind),
                *attachments.attached(attachment),
            )
        )

    def _system(self, line: int, row: Row) -> None:
        subtype = row.subtype or "(no subtype)"
        is_compaction = subtype == "compact_boundary"
        is_micro = subtype == "microcompact_boundary"
        kind = "" if is_compaction or is_micro else f"system/{subtype}"
        thread = self._enter(line, row, kind)
        if thread is None:
            return
        if kind:
            self.ignored[kind] += 1
            return
        self.used += 1
        node = thread.last_node
        if is_compaction:
            self._compaction(thread, node, row.compactMetadata or CompactMetadata())
            thread.is_fresh = True
            return
        found = row.microcompactMetadata or CompactMetadata()
        before, saved = _whole(found.preTokens), _whole(found.tokensSaved)
        thread.events.append(
            Event(
                node,
                BoundaryKind.MICRO,
                found.trigger,
                before,
                None if before is None or saved is None else before - saved,
                cleared=tuple(dict.fromkeys(found.compactedToolIds or ())),
            )
        )

    def _compaction(self, thread: Thread, node: int, found: CompactMetadata) -> None:
        tree = self.tree
        tree.up[node] = ROOT
        kept: list[int] = []
        segment = found.preservedSegment
        if found.preservedMessages is not None and found.preservedMessages.uuids is not None:
            nodes = [tree.node_of(uuid) for uuid in found.preservedMessages.uuids]
            kept = [row for row in nodes if row is not None]
        elif segment is not None:
            head, tail = tree.node_of(segment.headUuid or ""), tree.node_of(segment.tailUuid or "")
            if head is not None and tail is not None:
                kept = tree.segment(head, tail)
        thread.boundary = node
        thread.root = ROOT
        thread.events.append(
            Event(
                node,
                BoundaryKind.COMPACTION,
                found.trigger,
                _whole(found.preTokens),
                _whole(found.postTokens),
                kept=tuple(dict.fromkeys(kept)),
            )
        )

    def _progress(self, line: int, row: Row) -> None:
        """Progress rows stand in the chain of parents; only copies of a lost subagent are used (section 6)."""
        data = bytes(row.data)
        try:
            kind = "progress/" + (_decode_kind(data).type or UNTYPED)
        except (ValueError, RecursionError):
            kind = "progress/" + UNTYPED
        if self._enter(line, row, kind) is None:
            return
        agent_id = inner = None
        if kind == "progress/agent_progress":
            try:
                progress = _decode_progress(data)
                agent_id, inner = progress.agentId, progress.message
            except (ValueError, RecursionError):
                pass
        if agent_id is None or inner is None or self._has_agent(agent_id):
            self.ignored[kind] += 1
            return
        thread = self._agents.get(agent_id)
        if thread is None:
            thread = self._agents[agent_id] = self._thread(agent_id, ContextKind.AGENT, is_side=False)
        inner.sessionId = row.sessionId
        inner.cwd = inner.cwd or row.cwd
        inner.version = inner.version or row.version
        take = {"assistant": self._assistant, "user": self._user}.get(inner.type)
        if take is None:
            self.ignored[kind] += 1
        else:
            take(line, inner, thread)


def _weigh(block: Block, draft: Draft) -> None:
    """Add the size of a block of the model's own output."""
    if block.type == "text":
        draft.text_bytes += texts.size(block.text or "")
    elif block.type == "thinking":
        if block.thinking:
            draft.thinking_bytes += texts.size(block.thinking)
        else:
            draft.hidden += 1
    elif block.type == "redacted_thinking":
        draft.hidden += 1
    elif block.type == "server_tool_use":
        draft.tool_bytes += len(bytes(block.input))


def _is_fork(row: Row) -> bool:
    return row.forkedFrom is not NO_JSON and bytes(row.forkedFrom) not in (b"", b"null")


def _blocks(row: Row) -> list[Block | str]:
    content = row.message.content if row.message else None
    return content if isinstance(content, list) else []


def _whole(number: float | None) -> int | None:
    return None if number is None or not abs(number) < 1 << 62 else int(number)
