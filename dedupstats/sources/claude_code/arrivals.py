"""Rows in the user's name: tool results, messages of the person, and what the program writes for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import BoundaryKind, Class, Entered, EnteredKind, Turn
from dedupstats.sources.claude_code import texts
from dedupstats.sources.claude_code.compactions import take_compaction
from dedupstats.sources.claude_code.rows import Block, CompactMetadata, ToolUseResult, is_fork
from dedupstats.sources.claude_code.threads import Event, Result
from dedupstats.sources.claude_code.tree import ROOT
from dedupstats.sources.measure import class_counts, measure, to_bytes, to_storable

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.reader import Transcript
    from dedupstats.sources.claude_code.rows import Message, Row
    from dedupstats.sources.claude_code.threads import Thread


def take_user(file: Transcript, line: int, row: Row, thread: Thread | None = None) -> None:
    """Take in one row in the user's name.

    Args:
        file: The transcript that is being read.
        line: Line of the row.
        row: The row.
        thread: Its context, where the row does not tell.
    """
    message = row.message
    if message is None:
        file.skip(line, "user record without message")
        return
    content = message.content
    results = (
        [block for block in content if isinstance(block, Block) and block.type == "tool_result"]
        if isinstance(content, list)
        else ()
    )
    if file.is_side:
        file.ignored["side_request/tool_result" if results else "side_request/user"] += 1
        return
    thread = file.enter(line, row, thread=thread)
    if thread is None:
        return
    if not results:
        file.used += 1
        _take_text(file, line, row, message, thread)
        return
    before = thread.count
    for block in results:
        call_id = block.tool_use_id or f"row {row.uuid or line}"
        if file.first_rows.setdefault(call_id, row.uuid) == row.uuid:
            _take_result(file, line, row, thread, block, call_id=call_id)
    if thread.count == before:
        file.ignored["user/second result of a call"] += 1
    else:
        file.used += 1
    thread.follows_result = True
    thread.is_fresh = False
    thread.tip = thread.last_node
    told = row.toolUseResult
    if isinstance(told, ToolUseResult) and told.agentId is not None:
        file.spawned.setdefault(told.agentId, thread.key)
    if len(results) < len(content or ()):
        text = texts.message_text(message)
        if text:
            _enters(file, line, thread, (EnteredKind.USER, "beside_result"), text)


def _take_result(
    file: Transcript, line: int, row: Row, thread: Thread, block: Block, *, call_id: str
) -> None:
    content = block.content
    if isinstance(content, str):
        text, has_image, suffix = content, False, b""
    else:
        text, has_image, suffix = texts.parts(content)
    klass = texts.class_of(text, has_image=has_image)
    is_error = bool(block.is_error)
    call = file.calls.get(call_id)
    result = Result(
        thread.last_node,
        call_id,
        (line, file.at, thread.clock, thread.turn),
        (is_fork(row), file.is_home),
        (file.ledger_key, file.version_key),
        klass,
        texts.cuts(text) if klass is Class.TEXT else 0,
        (is_error, is_error and texts.did_not_run(text)),
        measure(text, suffix),
        to_storable(text) if file.keep_content else None,
        None if call is None else file.o200k_tokens(call[2].model_key, text),
    )
    thread.results.append(result)
    thread.count += 1


def _take_text(file: Transcript, line: int, row: Row, message: Message, thread: Thread) -> None:
    """A row that is no result: a prompt, a summary, or something that the program wrote."""
    node = thread.last_node
    text = texts.message_text(message)
    if row.isCompactSummary:
        _take_summary(file, row, thread, node)
        thread.is_fresh = thread.follows_result = False
        _enters(file, line, thread, (EnteredKind.SUMMARY, "summary"), text)
        return
    kind = texts.user_kind(text)
    is_command = kind in texts.COMMANDS
    if file.tree.up[node] == ROOT and thread.has_answer and (row.isMeta or not file.is_repeated):
        thread.root = node
    if row.isMeta or is_command:
        file.tree.notes.add(node)
    if row.isMeta:
        _enters(file, line, thread, (EnteredKind.SYSTEM, "meta"), text)
        return
    if kind == texts.PROMPT:
        _take_prompt(file, line, thread, node)
    elif text.startswith(texts.CLEAR):
        thread.tip = node
    if not is_command:
        thread.follows_result = False
    _enters(file, line, thread, (EnteredKind.USER, kind), text)


def _take_prompt(file: Transcript, line: int, thread: Thread, node: int) -> None:
    """A message of the person begins a turn; a second one below the same row is a rewind (section 5)."""
    thread.turn += 1
    turn = Turn(thread.key, thread.turn, line, file.at, thread.count, thread.follows_result)
    thread.turns.append(turn)
    thread.tip = node
    above = file.tree.up[node]
    if above in thread.prompt_parents:
        thread.events.append(Event(node, BoundaryKind.REWIND))
    elif above != ROOT and above not in file.tree.notes:
        thread.prompt_parents.add(above)


def _take_summary(file: Transcript, row: Row, thread: Thread, node: int) -> None:
    """A summary counts as one with its boundary row; in 1.0 it stands alone (section 7)."""
    up = file.tree.up
    if thread.boundary != ROOT and (thread.is_fresh or up[node] == thread.boundary):
        if up[node] == ROOT:
            up[node] = thread.boundary
    else:
        take_compaction(file, thread, node, row.compactMetadata or CompactMetadata())


def _enters(file: Transcript, line: int, thread: Thread, kind: tuple[EnteredKind, str], text: str) -> None:
    data = to_bytes(text)
    entered = Entered(
        thread.key,
        line,
        file.at,
        thread.turn,
        thread.count,
        kind[0],
        file.names.key(kind[1]),
        len(data),
        *class_counts(data),
        None,
        None,
    )
    thread.entered.append(entered)
