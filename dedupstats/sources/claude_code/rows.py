"""The rows of a transcript as typed structs: only the fields that some figure needs.

msgspec skips all other fields without building them; `toolUseResult` alone is half of many rows
(methods.md 1.2). Everything is optional, because every field is missing in some version
(claude-code.md section 2).
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

Number = int | float | None
Shown = str | list[Raw] | dict[str, Raw] | int | float | bool | None
"""content of a tool result: text, or blocks that are looked at one by one"""
NO_JSON = Raw(b"")


class Block(Struct, gc=False):
    """A content block of a message, of any type."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = NO_JSON
    tool_use_id: str | None = None
    content: Shown = None
    is_error: bool | None = None


class CacheCreation(Struct, gc=False):
    """The split of cache writes by their lifetime."""

    ephemeral_5m_input_tokens: Number = None
    ephemeral_1h_input_tokens: Number = None


class Usage(Struct, gc=False):
    """`message.usage`; proxies leave any of it out (claude-code.md section 3)."""

    input_tokens: Number = None
    cache_read_input_tokens: Number = None
    cache_creation_input_tokens: Number = None
    output_tokens: Number = None
    cache_creation: CacheCreation | None = None
    service_tier: str | None = None


class Message(Struct, gc=False):
    """The message as it went over the API."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[Block | str] | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class Segment(Struct, gc=False):
    """Rows that a compaction kept, as a range."""

    headUuid: str | None = None  # noqa: N815 - the log's own spelling, here and below
    tailUuid: str | None = None  # noqa: N815


class Preserved(Struct, gc=False):
    """Rows that a compaction kept, one by one."""

    uuids: list[str] | None = None


class CompactMetadata(Struct, gc=False):
    """What a boundary row tells of its compaction (claude-code.md sections 7, 8)."""

    trigger: str | None = None
    preTokens: Number = None  # noqa: N815
    postTokens: Number = None  # noqa: N815
    tokensSaved: Number = None  # noqa: N815
    compactedToolIds: list[str] | None = None  # noqa: N815
    preservedSegment: Segment | None = None  # noqa: N815
    preservedMessages: Preserved | None = None  # noqa: N815


class ToolUseResult(Struct, gc=False):
    """The host's own record of a result: not what the model saw (claude-code.md section 4)."""

    agentId: str | None = None  # noqa: N815


class Row(Struct, gc=False):
    """One line of a transcript."""

    type: str = ""
    uuid: str | None = None
    parentUuid: str | UnsetType | None = UNSET  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    timestamp: str | int | float | None = None
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    subtype: str | None = None
    cwd: str | None = None
    version: str | None = None
    attributionAgent: str | None = None  # noqa: N815
    message: Message | None = None
    attachment: Raw = NO_JSON
    data: Raw = NO_JSON
    compactMetadata: CompactMetadata | None = None  # noqa: N815
    microcompactMetadata: CompactMetadata | None = None  # noqa: N815
    forkedFrom: Raw = NO_JSON  # noqa: N815
    toolUseResult: ToolUseResult | list[Raw] | str | int | float | bool | None = None  # noqa: N815
    costUSD: Number = None  # noqa: N815


class ProgressKind(Struct, gc=False):
    """`data` of a progress row, as far as all of them go."""

    type: str = ""


class Progress(Struct, gc=False):
    """`data` of an `agent_progress` row: a copy of one of the subagent's rows."""

    agentId: str | None = None  # noqa: N815
    message: Row | None = None


TREE_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""types of the rows that stand in the tree of parents"""


def is_record(value: Any) -> bool:
    """Whether an object found inside a broken line is a whole row (fault case P01)."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and (isinstance(value.get("uuid"), str) or isinstance(value.get("sessionId"), str))
    )


def is_fork(row: Row) -> bool:
    """Whether a row says itself that a fork copied it (section 9)."""
    return row.forkedFrom is not NO_JSON and bytes(row.forkedFrom) not in (b"", b"null")


def _raw(value: Any) -> Raw:
    # ASCII, so that a lone surrogate stays the escape that the log holds
    return Raw(json.dumps(value, separators=(",", ":")).encode("ascii"))


def prepare(value: dict[str, Any]) -> dict[str, Any]:
    """A parsed row as `msgspec.convert` accepts it: what stays raw JSON is written as such again.

    Rows of types that nobody has seen yet keep their type only, whatever else is in them (fault case P08).
    """
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in TREE_TYPES:
        return {name: value[name] for name in ("type", "sessionId") if isinstance(value.get(name), str)}
    row = dict(value)
    for name in ("attachment", "data", "forkedFrom"):
        if name in row:
            row[name] = _raw(row[name])
    if not isinstance(row.get("toolUseResult"), dict):
        row.pop("toolUseResult", None)
    message = row.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        row["message"] = {**message, "content": [_block(block) for block in message["content"]]}
    return row


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block if isinstance(block, str) else {"type": "(no block)"}
    block = dict(block)
    if "input" in block:
        block["input"] = _raw(block["input"])
    content = block.get("content")
    if isinstance(content, list):
        block["content"] = [_raw(part) for part in content]
    elif isinstance(content, dict):
        block["content"] = {name: _raw(part) for name, part in content.items()}
    return block
