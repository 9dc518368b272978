"""What a stored message says: its tools, its shown text, its arguments, what tells it from others.

What is known beforehand of docker-agent's tools, and of the texts that its host writes, stands here as data.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple

from dedupstats.model import Class, Provenance, ReadOnly
from dedupstats.sources.base import Tool, parse_json, plausible_count, plausible_price
from dedupstats.sources.measure import to_storable
from dedupstats.sources.rtk_marker import is_rtk_marker

NAME = "docker_agent"
"""the source's word, first part of all its keys"""

_PLAIN_TOOLS: tuple[tuple[str, ReadOnly, str], ...] = (
    ("filesystem", ReadOnly.YES, "directory_tree list_directory read_file read_multiple_files"),
    ("filesystem", ReadOnly.YES, "search_files_content"),
    ("filesystem", ReadOnly.NO, "edit_file write_file create_directory remove_directory"),
    ("lsp", ReadOnly.YES, "lsp_workspace lsp_hover lsp_definition lsp_references lsp_document_symbols"),
    ("lsp", ReadOnly.YES, "lsp_workspace_symbols lsp_diagnostics lsp_code_actions lsp_call_hierarchy"),
    ("lsp", ReadOnly.YES, "lsp_type_hierarchy lsp_implementations lsp_signature_help lsp_inlay_hints"),
    ("lsp", ReadOnly.NO, "lsp_rename lsp_format"),
    ("git", ReadOnly.YES, "git_status git_log git_branches git_show git_blame"),
    ("memory", ReadOnly.YES, "get_memories search_memories"),
    ("memory", ReadOnly.NO, "add_memory update_memory delete_memory"),
    ("shell", ReadOnly.YES, "list_background_jobs view_background_job"),
    ("shell", ReadOnly.NO, "shell run_background_job stop_background_job"),
    ("todo", ReadOnly.YES, "create_todo create_todos update_todos list_todos"),
    ("tasks", ReadOnly.YES, "get_task list_tasks next_task"),
    ("tasks", ReadOnly.NO, "create_task update_task delete_task add_dependency remove_dependency"),
    ("think", ReadOnly.YES, "think"),
    ("fetch", ReadOnly.NO, "fetch"),
    ("skills", ReadOnly.YES, "read_skill read_skill_file"),
    ("deferred", ReadOnly.YES, "search_tool add_tool"),
    ("transfer", ReadOnly.YES, "transfer_task list_background_agents view_background_agent"),
    ("transfer", ReadOnly.NO, "run_background_agent stop_background_agent"),
    ("handoff", ReadOnly.YES, "handoff"),
    ("model", ReadOnly.YES, "change_model revert_model"),
    ("user_prompt", ReadOnly.YES, "user_prompt"),
    ("session_context", ReadOnly.YES, "list_sessions read_session"),
)

TARGET = ("path", "paths", "cmd")
"""arguments that name what a call is about; the first that is there (claude-code.md section 15, Target)"""

TOOLS = {
    name: Tool(category, read_only, TARGET)
    for category, read_only, names in _PLAIN_TOOLS
    for name in names.split()
}
"""Tools whose names are fixed, with the hints of docker-agent.md section 2.4.

Only for messages that were stored without definitions. `YES` is the host's own hint, also where the call has
an effect (`update_todos`, `transfer_task`): it is what an engine is told.
"""

UNKNOWN_TOOL = Tool(None, ReadOnly.UNKNOWN, TARGET, Provenance.NONE)

_STUB = re.compile(
    r"\[docker-agent\] The (.+) tool ran and returned output byte-for-byte identical to its earlier result "
    r"for these same arguments in this session, so the (\d+)-byte payload is not repeated here\. Nothing "
    r"has changed since you last saw it\."
)
_SPILLED = re.compile(
    r"Tool call result was too large \((\d+) bytes; limit (\d+) bytes\)\. "
    r"The full result is available in a file: "
)
_NO_OUTPUT = frozenset(("", "(no output)", "no output"))

_DID_NOT_RUN = re.compile(
    r"Tool '[^']*' (?:is not available\.|is denied by |requires user confirmation )"
    r"|Tool call blocked by hook: "
    r"|The user rejected the tool call\."
    r"|The tool call was (?:rejected by a |canceled |skipped because a post_tool_use hook )"
)
# The host's own sentences for calls that it answers itself (docker-agent.md section 0.3;
# pkg/runtime/toolexec/dispatcher.go at 05c538c4: run, approveAndRun, consultPreToolUseHook, askUser,
# handleResume, cancellationMessage). A call that is canceled while it runs is answered with the same sentence
# as one canceled before; the log cannot tell them apart, and both are far shorter than any marker.

_IMAGES = frozenset(("image_url", "image", "document", "file"))
"""types of blocks in `multi_content` that make a result class `image`"""


class Shown(NamedTuple):
    """A message's content as the model was shown it."""

    text: str
    others: list[Any]
    """the blocks that are no text"""
    has_image: bool


def shown(message: dict[str, Any]) -> Shown:
    """Text and other blocks of a message (claude-code.md section 15, Shown bytes).

    `content` repeats the first text block where there are blocks, so the blocks count if any is text.
    """
    text = raw_text(message.get("content"))
    blocks = message.get("multi_content")
    if not isinstance(blocks, list) or not blocks:
        return Shown(text, [], False)
    texts: list[str] = []
    others: list[Any] = []
    has_image = False
    for block in blocks:
        kind = raw_text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text":
            texts.append(raw_text(block.get("text")))
        else:
            others.append(block)
            has_image = has_image or kind in _IMAGES
    return Shown("".join(texts) if texts else text, others, has_image)


def class_of(result: Shown) -> Class:
    """Class of a tool result by its text (docker-agent.md sections 2.3 and 3.4; order: claude-code.md 15)."""
    if result.has_image:
        return Class.IMAGE
    if _STUB.fullmatch(result.text) or is_rtk_marker(result.text):
        return Class.STUB
    if _SPILLED.match(result.text):
        return Class.SPILLED
    if result.text.strip() in _NO_OUTPUT:
        return Class.EMPTY
    return Class.TEXT


def did_not_run(text: str) -> bool:
    """Whether an error's text is the host's own answer to a call that it did not carry out."""
    return _DID_NOT_RUN.match(text) is not None


def tool_of(name: str, definitions: dict[str, Any]) -> Tool:
    """What a call's tool is: from the message's own definitions, else from the table, else unknown.

    Args:
        name: The tool's name.
        definitions: Definitions stored with the message that made the call, by name.
    """
    definition = definitions.get(name)
    if definition is not None:
        category = definition.get("category")
        return Tool(
            category if isinstance(category, str) and category else None,
            ReadOnly.YES if _has_hint(definition) else ReadOnly.NO,
            TARGET,
            Provenance.HINT,
        )
    return UNKNOWN_TOOL if definitions else TOOLS.get(name, UNKNOWN_TOOL)


def definitions_of(message: dict[str, Any]) -> dict[str, Any]:
    """The definitions stored with an assistant message, by the tool's name."""
    found = message.get("tool_definitions")
    if not isinstance(found, list):
        return {}
    return {
        item["name"]: item for item in found if isinstance(item, dict) and isinstance(item.get("name"), str)
    }


def _has_hint(definition: dict[str, Any]) -> bool:
    """The read-only hint in either spelling; without annotations it is false (fault case R12)."""
    annotations = definition.get("annotations")
    places = (annotations, definition) if isinstance(annotations, dict) else (definition,)
    return any(truth(place.get(name)) for place in places for name in ("readOnlyHint", "read_only_hint"))


def truth(value: Any) -> bool:
    """A boolean that is stored as such, as a number, or as text (docker-agent.md section 3.7)."""
    if isinstance(value, str):
        return value.strip().lower() in {"1", "t", "true", "y", "yes"}
    return bool(value)


def digest(message: dict[str, Any]) -> str:
    """Hash of a message that is equal for its copies in rows, lists and exports of any age.

    Members without a value are left out, because some versions write them and some do not; the definitions
    of tools too, because they are large and no part of what was said.
    """
    said = {name: value for name, value in message.items() if value and name != "tool_definitions"}
    return hashlib.sha256(compact(said)).hexdigest()


def compact(value: Any) -> bytes:
    """JSON without blanks, names sorted."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def raw_text(value: Any) -> str:
    """The value if it is a text, as logged; else the empty text."""
    return value if isinstance(value, str) else ""


def text_of(value: Any) -> str:
    """The value if it is a text (or one stored as bytes), as the store accepts it; else the empty text."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return to_storable(raw_text(value))


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of an assistant message."""
    found = message.get("tool_calls")
    return [call for call in found if isinstance(call, dict)] if isinstance(found, list) else []


def arguments_of(call: dict[str, Any]) -> str:
    """The model's own string of arguments (docker-agent.md section 3.3)."""
    function = call.get("function")
    found = function.get("arguments") if isinstance(function, dict) else None
    if found is None or isinstance(found, str):
        return found or ""
    return compact(found).decode()


def parsed_arguments(arguments: str) -> dict[str, Any]:
    """The arguments as an object; empty if they are none."""
    try:
        value = parse_json(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def target_of(arguments: dict[str, Any]) -> str | None:
    """What the call is about: a path, paths joined by blanks, or a command."""
    for name in TARGET:
        value = arguments.get(name)
        if isinstance(value, list):
            value = " ".join(item for item in value if isinstance(item, str))
        if isinstance(value, str) and value:
            return value
    return None


def tokens(usage: dict[str, Any] | None, name: str) -> int | None:
    """A count of tokens; a member that is left out is 0, and one that is no count is not known."""
    if usage is None:
        return None
    return plausible_count(usage.get(name, 0))


def price(value: Any) -> float | None:
    """The price that the log states; 0 is free or unpriced (docker-agent.md section 3.7), so not stated."""
    return plausible_price(value) or None
