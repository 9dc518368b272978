"""Attachments, and the progress rows that may hold what is left of a lost subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dedupstats.model import ContextKind, Entered, EnteredKind
from dedupstats.sources.claude_code import attachments
from dedupstats.sources.claude_code.answers import take_assistant
from dedupstats.sources.claude_code.arrivals import take_user
from dedupstats.sources.claude_code.rows import Progress, ProgressKind

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.reader import Transcript
    from dedupstats.sources.claude_code.rows import Row

AGENT_PROGRESS = "progress/agent_progress"

_decode_kind = msgspec.json.Decoder(ProgressKind).decode
_decode_progress = msgspec.json.Decoder(Progress).decode
_REFUSED = (ValueError, RecursionError)


def take_attachment(file: Transcript, line: int, row: Row) -> None:
    """Take in a row of type `attachment`.

    Args:
        file: The transcript that is being read.
        line: Line of the row.
        row: The row.
    """
    thread = file.enter(line, row)
    if thread is None:
        return
    file.used += 1
    attachment = attachments.parse(row.attachment)
    kind = attachments.kind_of(attachment)
    if kind == attachments.HOOK_SUCCESS:
        call_id = attachments.rewritten_call(attachment)
        if call_id is not None:
            file.rewritten.add(call_id)
    entered = Entered(
        thread.key,
        line,
        file.at,
        thread.turn,
        thread.count,
        EnteredKind.ATTACHMENT,
        file.names.key(kind),
        *attachments.attached(attachment),
    )
    thread.entered.append(entered)


def take_progress(file: Transcript, line: int, row: Row) -> None:
    """Take in a row of type `progress`: it stands in the chain of parents.

    Its copy of a subagent's row is used only where the subagent has no file (section 6).

    Args:
        file: The transcript that is being read.
        line: Line of the row.
        row: The row.
    """
    data = bytes(row.data)
    try:
        kind = "progress/" + _decode_kind(data).type
    except _REFUSED:
        kind = "progress/"
    if file.enter(line, row, kind) is None:
        return
    agent_id = inner = None
    if kind == AGENT_PROGRESS:
        try:
            progress = _decode_progress(data)
        except _REFUSED:
            pass
        else:
            agent_id, inner = progress.agentId, progress.message
    take = None
    if agent_id is not None and inner is not None and not file.has_agent(agent_id):
        take = {"assistant": take_assistant, "user": take_user}.get(inner.type)
    if agent_id is None or inner is None or take is None:
        file.ignored[kind] += 1
        return
    thread = file.agents.get(agent_id)
    if thread is None:
        thread = file.agents[agent_id] = file.thread(agent_id, ContextKind.AGENT)
    inner.sessionId = row.sessionId
    inner.cwd = inner.cwd or row.cwd
    inner.version = inner.version or row.version
    take(file, line, inner, thread)
