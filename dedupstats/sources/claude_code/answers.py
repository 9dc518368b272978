"""Rows of the model: requests and the calls that they make (claude-code.md section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import BoundaryKind
from dedupstats.sources.base import hash64, plausible_price
from dedupstats.sources.claude_code.layout import NAME
from dedupstats.sources.claude_code.requests import Draft
from dedupstats.sources.claude_code.rows import is_fork
from dedupstats.sources.claude_code.texts import size
from dedupstats.sources.claude_code.threads import Event
from dedupstats.sources.claude_code.tree import ROOT

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.reader import Transcript
    from dedupstats.sources.claude_code.rows import Block, Message, Row
    from dedupstats.sources.claude_code.threads import Thread
    from dedupstats.sources.claude_code.tools import Facts

SYNTHETIC = "<synthetic>"
"""the model of the program's own notices: no request"""


Call = tuple["Facts", "Thread", Draft]
"""a tool call: its facts, its context, the request that made it"""


def take_assistant(file: Transcript, line: int, row: Row, thread: Thread | None = None) -> None:
    """Take in one row of the model: nearly always one content block of a message.

    Args:
        file: The transcript that is being read.
        line: Line of the row.
        row: The row.
        thread: Its context, where the row does not tell.
    """
    message = row.message
    if message is None or (message.id is None and not message.content):
        file.skip(line, "assistant record without message id and content")
        return
    cost = None if row.costUSD is None else plausible_price(row.costUSD)
    if cost is None and row.costUSD is not None:
        file.skip(line, "costUSD is no price")
        return
    thread = file.enter(line, row, thread=thread)
    if thread is None:
        return
    if thread.root != ROOT:
        # a conversation goes on below a new root: it was cleared there
        thread.events.append(Event(thread.root, BoundaryKind.CLEAR))
        thread.root = ROOT
    thread.has_answer = True
    thread.is_fresh = thread.follows_result = False
    thread.tip = thread.last_node
    if message.model == SYNTHETIC:
        file.ignored["assistant/<synthetic>"] += 1
        return
    file.used += 1
    keys = file.name_keys
    native_id = message.id or f"row {row.uuid or line}"
    draft = thread.drafts.get(native_id)
    if draft is None:
        draft = thread.drafts[native_id] = Draft(
            len(thread.drafts),
            hash64(NAME, native_id),
            head=(thread.key, native_id, line, file.at, thread.clock, thread.turn, thread.count),
            marks=(is_fork(row), file.is_home, thread.is_side),
            model_key=keys[message.model],
            version_key=file.version_key,
        )
    file.tree.messages[thread.last_node] = draft.number
    draft.stop_key = keys[message.stop_reason]
    usage = message.usage
    if usage is not None:
        draft.merge(usage)
        if usage.service_tier:
            draft.tier_key = keys[usage.service_tier]
    if cost is not None:
        draft.cost = max(draft.cost or 0.0, cost)
    _take_blocks(file, row, message, thread, draft)


def _take_blocks(file: Transcript, row: Row, message: Message, thread: Thread, draft: Draft) -> None:
    """Calls and sizes of a row's blocks; a row that was there before adds calls only if they are new."""
    content, calls = message.content, file.calls
    for block in [content] if isinstance(content, str) else content or ():
        if isinstance(block, str):
            draft.text_bytes += 0 if file.is_repeated else size(block)
        elif block.type == "tool_use":
            call_id = block.id
            if call_id is not None and call_id not in calls:
                facts = file.facts(block.name or "", bytes(block.input) or b"null", row.cwd)
                draft.calls += 1
                draft.tool_bytes += facts.input_bytes
                calls[call_id] = (facts, thread, draft)
        elif not file.is_repeated:
            _weigh(block, draft)


def _weigh(block: Block, draft: Draft) -> None:
    """Add the size of a block of the model's own output."""
    if block.type == "text":
        draft.text_bytes += size(block.text or "")
    elif block.type == "thinking":
        if block.thinking:
            draft.thinking_bytes += size(block.thinking)
        else:
            draft.hidden += 1
    elif block.type == "redacted_thinking":
        draft.hidden += 1
    elif block.type == "server_tool_use":
        draft.tool_bytes += len(bytes(block.input))
