"""Where transcripts lie, and what a file's place says about it (claude-code.md sections 1, 6)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.model import ContextKind
from dedupstats.sources.base import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "claude_code"
SUFFIX = ".jsonl"
META_SUFFIX = ".meta.json"
JOURNAL = "journal.jsonl"
"""what a workflow did; no transcript"""
SUBAGENTS = "subagents"
AGENT = "agent-"
SIDE_REQUESTS = ("agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-")
"""agent files that are one request about a copy of a context (section 6)"""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class Role(NamedTuple):
    """What a file is within its unit."""

    path: str
    kind: ContextKind
    native_id: str
    session: str | None
    """session that its place names; None: only its rows tell"""


def places(env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
    """Default folders of transcripts.

    Claude Code itself knows one folder in `CLAUDE_CONFIG_DIR`; the list and the XDG folder are conventions of
    other readers, so all of them are looked at.
    """
    found = []
    for entry in env.get("CLAUDE_CONFIG_DIR", "").split(","):
        if folder := entry.strip():
            # not Path.expanduser, which raises for a user who is not there
            base = Path(os.path.expanduser(folder))  # noqa: PTH111
            found.append(Place(base if base.name == "projects" else base / "projects", folder))
    if platform == "win32" and env.get("USERPROFILE"):
        profile = Path(env["USERPROFILE"]) / ".claude" / "projects"
        found.append(Place(profile, r"%USERPROFILE%\.claude\projects"))
    found.append(Place(home / ".claude" / "projects", "~/.claude/projects"))
    if xdg := env.get("XDG_CONFIG_HOME"):
        found.append(Place(Path(xdg) / "claude" / "projects", "$XDG_CONFIG_HOME/claude/projects"))
    else:
        found.append(Place(home / ".config" / "claude" / "projects", "~/.config/claude/projects"))
    return list({place.path: place for place in reversed(found)}.values())[::-1]


def unit_key(path: str, session: str) -> str:
    """The unit that a file belongs to: the path of the session's file without its ending.

    Args:
        path: The file.
        session: Session id of its first row; empty if that is not known.
    """
    folder, name = os.path.split(path)
    parts = Path(folder).parts
    if SUBAGENTS in parts:
        last = len(parts) - 1 - parts[::-1].index(SUBAGENTS)
        return str(Path(*parts[:last]))
    if name.startswith(AGENT):
        holder = Path(folder).name
        if holder == session or (not session and _UUID.fullmatch(holder)):
            return folder
    return path.removesuffix(META_SUFFIX).removesuffix(SUFFIX)


def role_of(path: str, key: str) -> Role:
    """The role of a transcript in the unit `key`."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(SUFFIX)
    is_inside = folder == key or folder.startswith(key + os.sep)
    if not is_inside and not stem.startswith(AGENT):
        return Role(path, ContextKind.MAIN, stem, stem)
    kind = ContextKind.SIDE if stem.startswith(SIDE_REQUESTS) else ContextKind.AGENT
    session = Path(key).name if is_inside and SUBAGENTS in Path(folder).parts else None
    return Role(path, kind, stem.removeprefix(AGENT), session)


def agent_places(agent_id: str, key: str, path: str) -> list[str]:
    """Where the file of a subagent may lie, beside the unit's other files."""
    name = f"{AGENT}{agent_id}{SUFFIX}"
    folder = os.path.dirname(path)  # noqa: PTH120 - paths of a walk are text
    return [os.path.join(base, name) for base in (os.path.join(key, SUBAGENTS), key, folder)]  # noqa: PTH118
