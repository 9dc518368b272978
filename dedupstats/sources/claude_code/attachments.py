"""Attachments: text that reaches the model beside messages and tool results (claude-code.md sections 2, 7).

What the program renders around them is not in the log, so the sizes are those of the text that the row holds.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from dedupstats.sources.base import parse_json
from dedupstats.sources.measure import class_counts, sha64, to_bytes

UNTYPED = "(no type)"
HOOK_SUCCESS = "hook_success"
PRE_TOOL_USE = "PreToolUse"
SILENT = frozenset({HOOK_SUCCESS})
"""types of which only `content` is shown; the rest is the program's own record"""
BESIDE_TEXT = frozenset(
    {
        "type",
        "filename",
        "path",
        "displayPath",
        "addedNames",
        "addedTypes",
        "names",
        "hookName",
        "hookEvent",
        "toolUseID",
        "commandMode",
        "source_uuid",
    }
)
"""members that say what the text is about, or hold it a second time"""
FILES = frozenset({"file", "nested_memory"})
"""types that put a file's content into sight"""


Attached = tuple[int, int, int, int, int, int, bytes | None, int | None]
"""what an attachment shows: the fields of `Entered` from `bytes` on"""


def parse(raw: msgspec.Raw) -> dict[str, Any]:
    """The attachment of a row; an empty one for what is no object."""
    data = bytes(raw)
    if not data:
        return {}
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        try:
            value = parse_json(data)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def kind_of(attachment: dict[str, Any]) -> str:
    """The attachment's type."""
    kind = attachment.get("type")
    return kind if isinstance(kind, str) and kind else UNTYPED


def attached(attachment: dict[str, Any]) -> Attached:
    """Size of an attachment's text; for files also the hashes of content and name."""
    kind = kind_of(attachment)
    content = attachment.get("content")
    if kind in FILES:
        text = _file_text(content)
        name = attachment.get("filename") or attachment.get("path")
        data = to_bytes(text or "")
        digest = None if text is None else hashlib.sha256(data).digest()
        target = sha64(to_bytes(name)) if isinstance(name, str) else None
        return (len(data), *class_counts(data), digest, target)
    shown: Any = content
    if kind not in SILENT:
        shown = [value for name, value in attachment.items() if name not in BESIDE_TEXT]
    data = to_bytes("".join(_strings(shown)))
    return (len(data), *class_counts(data), None, None)


def _file_text(content: Any) -> str | None:
    """Text of a file attachment, which stands one or two levels down."""
    if isinstance(content, dict):
        inner = content.get("file")
        text = inner.get("content") if isinstance(inner, dict) else content.get("content")
        return text if isinstance(text, str) else None
    return content if isinstance(content, str) else None


def _strings(value: Any) -> list[str]:
    """All strings in a JSON value, in order."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, list):
            waiting.extend(reversed(part))
        elif isinstance(part, dict):
            waiting.extend(reversed([inner for name, inner in part.items() if name != "type"]))
    return found


def rewritten_call(attachment: dict[str, Any]) -> str | None:
    """The call whose command RTK's hook says that it rewrote (claude-code.md section 8), or None.

    It is the only trace: the call itself keeps the original command.
    """
    call = attachment.get("toolUseID")
    command, answer = attachment.get("command"), attachment.get("stdout")
    if not (isinstance(call, str) and isinstance(command, str) and isinstance(answer, str)):
        return None
    if attachment.get("hookEvent", PRE_TOOL_USE) != PRE_TOOL_USE or "updatedInput" not in answer:
        return None
    try:
        value = parse_json(answer)
    except (ValueError, RecursionError):
        return None
    for name in ("hookSpecificOutput", "updatedInput"):
        value = value.get(name) if isinstance(value, dict) else None
    rewritten = value.get("command") if isinstance(value, dict) else None
    is_rtk = isinstance(rewritten, str) and ("rtk" in command or "rtk " in rewritten)
    return call if is_rtk else None
