"""The tools of Claude Code as data, and the facts of one call.

Read-only is judged from a tool's purpose, because the log holds no annotation (claude-code.md section 12);
a tool that is not listed is unknown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from dedupstats.model import ReadOnly
from dedupstats.sources.base import Reading, Tool, parse_json
from dedupstats.sources.calls import read_call
from dedupstats.sources.measure import sha64, to_bytes, to_storable
from dedupstats.sources.rtk_hook import hooked
from dedupstats.sources.shell import reads_only

NO_CALL = "(no call in this file)"
ACP_PREFIX = "mcp__acp__"
"""ACP bridges name built-in tools `mcp__acp__Read`; they count as the tool that they name"""
FILES = "filesystem"

_YES, _NO, _UNKNOWN = ReadOnly.YES, ReadOnly.NO, ReadOnly.UNKNOWN

TOOLS: dict[str, Tool] = {
    "Read": Tool(FILES, _YES, ("file_path",)),
    "Grep": Tool(FILES, _YES, ("pattern", "path")),
    "Glob": Tool(FILES, _YES, ("pattern", "path")),
    "LS": Tool(FILES, _YES, ("path",)),
    "NotebookRead": Tool(FILES, _YES),
    "LSP": Tool(None, _YES),
    "WebFetch": Tool(None, _YES, ("url",)),
    "WebSearch": Tool(None, _YES, ("query",)),
    "TaskOutput": Tool(None, _YES),
    "ListMcpResourcesTool": Tool(None, _YES),
    "ListAgents": Tool(None, _YES),
    "ToolSearch": Tool(None, _YES),
    "Bash": Tool(None, _UNKNOWN, ("command",)),
    "PowerShell": Tool(None, _UNKNOWN, ("command",)),
    "BashOutput": Tool(None, _UNKNOWN),
    "Edit": Tool(None, _NO, ("file_path",)),
    "Write": Tool(None, _NO, ("file_path",)),
    "MultiEdit": Tool(None, _NO, ("file_path",)),
    "NotebookEdit": Tool(None, _NO, ("notebook_path",)),
    "Task": Tool(None, _NO),
    "Agent": Tool(None, _NO),
    "TodoWrite": Tool(None, _NO),
    "ExitPlanMode": Tool(None, _NO),
    "exit_plan_mode": Tool(None, _NO),
    "EnterPlanMode": Tool(None, _NO),
    "AskUserQuestion": Tool(None, _NO),
    "TaskCreate": Tool(None, _NO),
    "TaskUpdate": Tool(None, _NO),
    "TaskStop": Tool(None, _NO),
    "KillBash": Tool(None, _NO),
    "KillShell": Tool(None, _NO),
    "Artifact": Tool(None, _NO),
    "SendMessage": Tool(None, _NO),
    "Skill": Tool(None, _NO),
}
SHELLS = frozenset({"Bash", "PowerShell"})
HOOKED = "Bash"
"""the tool whose calls RTK's hook sees"""
MEMO_CALLS = 8192
MEMO_BYTES = 1024


class Facts(NamedTuple):
    """What the arguments of a call tell, as `Emission` holds it."""

    name: str
    tool_key: int
    call_key: int | None
    args_sha64: int | None
    norm_key: int | None
    target_sha64: int | None
    target: str | None
    shell_reads: bool | None
    rtk_mode: str | None
    rtk_identity_bytes: int | None
    input_bytes: int


class Calls:
    """The facts of calls, remembered for those that come again (a repeated call is what this is all about).

    Attributes:
        reading: The import that this serves.
        missing: The facts of a call that is not in its file.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._memo: dict[tuple[str, bytes, str | None], Facts] = {}
        self._tools: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.missing = Facts(
            NO_CALL, reading.names.tool(NO_CALL), None, None, None, None, None, None, None, None, 0
        )

    def facts(self, name: str, arguments: bytes, cwd: str | None) -> Facts:
        """The facts of a call.

        Args:
            name: The tool's name.
            arguments: JSON text of the arguments as logged.
            cwd: Working directory of the row.
        """
        if len(arguments) > MEMO_BYTES:
            return self._facts(name, arguments, cwd)
        memo_key = (name, arguments, cwd)
        found = self._memo.get(memo_key)
        if found is None:
            found = self._facts(name, arguments, cwd)
            if len(self._memo) >= MEMO_CALLS:
                self._memo.clear()
            self._memo[memo_key] = found
        return found

    def _facts(self, name: str, arguments: bytes, cwd: str | None) -> Facts:
        (call_key, args_sha64, norm_key), plain = read_call(name, arguments, cwd)
        known = self._tools.get(name)
        if known is None:
            known = self._tools[name] = self._tool(name)
        tool_key, members = known
        target = _target(members, arguments, plain) if members else None
        target_sha64 = shell_reads = rtk_mode = identity_bytes = None
        if target is not None:
            target_sha64 = sha64(to_bytes(target))
            if name in SHELLS:
                shell_reads = reads_only(target)
                if name == HOOKED:
                    _, identity, rtk_mode = hooked(target)
                    identity_bytes = None if identity is None else len(to_bytes(identity))
            if not self.reading.keep_targets:
                target = None
            elif plain is None:
                target = to_storable(target)
        return Facts(
            name,
            tool_key,
            call_key,
            args_sha64,
            norm_key,
            target_sha64,
            target,
            shell_reads,
            rtk_mode,
            identity_bytes,
            len(arguments),
        )

    def _tool(self, name: str) -> tuple[int, tuple[str, ...]]:
        """Key of a tool, and the arguments that name its target."""
        tool = TOOLS.get(name.removeprefix(ACP_PREFIX))
        names = self.reading.names
        if tool is None:
            return names.tool(name), ()
        return names.tool(name, tool.category, tool.read_only, tool.provenance), tool.target


class _Arguments(msgspec.Struct, gc=False):
    """The arguments that name what a call is about."""

    file_path: Any = None
    notebook_path: Any = None
    path: Any = None
    pattern: Any = None
    command: Any = None
    url: Any = None
    query: Any = None


_decode = msgspec.json.Decoder(_Arguments).decode


def _target(members: tuple[str, ...], text: bytes, plain: dict[str, Any] | None) -> str | None:
    """The values of the named arguments, joined by a blank; None if there is none.

    Args:
        members: Names of the arguments.
        text: JSON text of all arguments.
        plain: The arguments, if they are plain.
    """
    given = _parsed(text) if plain is None else plain
    if len(members) == 1:
        value = given.get(members[0])
        return value if isinstance(value, str) and value else None
    values = [given.get(name) for name in members]
    found = [value for value in values if isinstance(value, str) and value]
    return " ".join(found) if found else None


def _parsed(text: bytes) -> dict[str, Any]:
    """Arguments that are not plain, such as those with floats or a lone surrogate; none of broken ones."""
    try:
        return msgspec.structs.asdict(_decode(text))
    except (ValueError, RecursionError):
        pass
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
