"""What shown texts are: classes of results, errors without a run, kinds of user rows.

All of it settled in claude-code.md section 15 so that two implementations agree to the byte.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dedupstats.model import Class
from dedupstats.sources.base import parse_json
from dedupstats.sources.measure import to_bytes
from dedupstats.sources.rtk_marker import is_rtk_marker

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.rows import Message, Shown

READ_STUBS = frozenset(
    {
        (
            "File unchanged since last read. The content from the earlier Read tool_result in this"
            " conversation is still current — refer to that instead of re-reading."
        ),
        "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
    }
)
"""claude-code.md section 8: what the host itself shows instead of a file that it thinks is known"""
LONGEST_STUB = max(map(len, READ_STUBS))
MASKED = "[Old tool result content cleared]"
SPILLED = "<persisted-output>"
NO_OUTPUT = "(Bash completed with no output)"
IMAGES = frozenset({"image", "document"})

# Marks of a text that was cut in place; which of them counts depends on the tool.
CUT_LINES, CUT_LISTING, CUT_VIEW = 1, 2, 4
CUTS = {
    "Bash": CUT_LINES,
    "PowerShell": CUT_LINES,
    "BashOutput": CUT_LINES,
    "TaskOutput": CUT_LINES,
    "Glob": CUT_LISTING,
    "Grep": CUT_LISTING,
    "Read": CUT_VIEW,
}
_CUT_LINE = re.compile(r"^\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.$", re.MULTILINE)
_CUT_VIEW = re.compile(r"^\[Truncated: PARTIAL view", re.MULTILINE)
_LISTING = "(Results are truncated"

_NOT_RUN = (
    "The user doesn't want to ",
    "Permission to use ",
    "Permission for ",
    "Claude requested permissions",
    "This command requires approval",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "<tool_use_error>Cancelled: parallel",
    "<tool_use_error>Sibling tool call",
    "<tool_use_error>Error: No such tool available",
    "Error: No such tool",
    "[Request interrupted by user",
    "Tool use rejected",
    "Tool use was rejected",
    "User rejected",
)
_BLOCKED = ("PreToolUse", "blocked by hook", "operation blocked")
_BLOCKED_WITHIN = 80

PROMPT = "prompt"
"""the one kind of user text that begins a turn"""
_USER_KINDS = (
    ("[Request interrupted by user", "interrupt"),
    ("<command-name>", "local_command"),
    ("<local-command-", "local_command"),
    ("Caveat: The messages below", "local_command"),
    ("<bash-", "bash"),
    ("<task-notification>", "task_notification"),
    ("<system-reminder>", "system_reminder"),
    ("[SUGGESTION MODE", "suggestion"),
)
COMMANDS = frozenset({"local_command", "bash"})
CLEAR = "<command-name>/clear</command-name>"


class Parts(NamedTuple):
    """A tool result taken apart."""

    text: str
    has_image: bool
    hashed_suffix: bytes
    """blocks that are no text, as they take part in the hash"""


def parts(content: Shown) -> Parts:
    """Text and other blocks of a tool result that is no plain string.

    Text blocks are joined without separator; other blocks enter the hash as one NUL and their compact JSON
    with sorted keys.
    """
    if content is None:
        return Parts("", False, b"")
    texts: list[str] = []
    others: list[Any] = []
    blocks = content if isinstance(content, list) else [content]
    for raw in blocks:
        block = _plain(raw)
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str) and block.get("type") == "text":
            texts.append(block["text"])
        else:
            others.append(block)
    suffix = b""
    if others:
        written = json.dumps(others, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        suffix = b"\0" + to_bytes(written)
    return Parts("".join(texts), any(map(_is_image, others)), suffix)


def _is_image(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in IMAGES


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        # msgspec passes raw JSON on unseen: a byte that is no UTF-8 is shown as a replacement mark
        return parse_json(bytes(value))
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


def class_of(text: str, *, has_image: bool) -> Class:
    """The class of a shown text, but for cuts in place, which depend on the tool."""
    if has_image:
        return Class.IMAGE
    # a long text is not worth a hash
    if (len(text) <= LONGEST_STUB and text in READ_STUBS) or is_rtk_marker(text):
        return Class.STUB
    if text == MASKED:
        return Class.MASKED
    if text.startswith(SPILLED):
        return Class.SPILLED
    if not text or text == NO_OUTPUT or text.isspace():
        return Class.EMPTY
    return Class.TEXT


def cuts(text: str) -> int:
    """Marks of cuts in place that a text bears."""
    if "runcated" not in text:
        return 0
    found = CUT_LINES if _CUT_LINE.search(text) else 0
    if text.rstrip("\n").rpartition("\n")[2].startswith(_LISTING):
        found |= CUT_LISTING
    return found | (CUT_VIEW if _CUT_VIEW.search(text) else 0)


def did_not_run(text: str) -> bool:
    """Whether the text of a failed result says that the tool was not run at all."""
    if text.startswith(_NOT_RUN):
        return True
    head = text[:_BLOCKED_WITHIN]
    return any(mark in head for mark in _BLOCKED)


def user_kind(text: str) -> str:
    """What a user row without a result says, by how it begins.

    A slash command whose row begins with `<command-message>` is sent to the model and begins a turn; one that
    begins with `<command-name>` is carried out by the program itself.
    """
    for start, kind in _USER_KINDS:
        if text.startswith(start):
            return kind
    return PROMPT


def message_text(message: Message) -> str:
    """The text blocks of a user's message, joined."""
    content = message.content
    if isinstance(content, str):
        return content
    if not content:
        return ""
    return "".join(block if isinstance(block, str) else block.text or "" for block in content)


def size(text: str) -> int:
    """UTF-8 bytes of a text."""
    return len(text) if text.isascii() else len(to_bytes(text))
