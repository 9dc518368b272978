"""Transcripts of Claude Code: what a session was shown, from `~/.claude/projects`.

`unit` reads what belongs together, `reader` streams a file into threads (one per context), `tree` finds each
row's parent, `sight` turns the tree into a line with boundaries, `line_up` writes the records, `texts` and
`tools` hold what is known of texts and tools. The format is described in claude-code.md; its section 15
settles what the log leaves open.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupstats.model import CompactionRule
from dedupstats.sources.base import Capabilities, Claim, Place
from dedupstats.sources.claude_code import layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupstats.model import Record
    from dedupstats.sources.base import Reading, Unit
    from dedupstats.sources.claude_code.tools import Calls
    from dedupstats.sources.probe import Probe

TREE_ROWS = frozenset({"user", "assistant", "system", "attachment", "progress"})
MARKS = {
    "summary": ("leafUuid",),
    "file-history-snapshot": ("messageId", "snapshot"),
    "file-history-delta": ("messageId",),
    "queue-operation": ("sessionId", "operation"),
    "last-prompt": ("sessionId",),
    "permission-mode": ("sessionId", "permissionMode"),
    "ai-title": ("sessionId", "aiTitle"),
    "custom-title": ("sessionId", "customTitle"),
    "agent-name": ("sessionId", "agentName"),
    "mode": ("sessionId", "mode"),
    "bridge-session": ("sessionId", "bridgeSessionId"),
}
"""members by which rows outside the tree are known (section 2)"""
HEAD_MARKS = (b'"parentUuid":', b'"isSidechain":')
"""what stands near the beginning of a row that is longer than the head of a probe (a pasted image)"""
MARKED_HEAD = 4096
_WINDOW = 200_000
"""tokens that the program reckons with"""


class ClaudeCode:
    """The source of Claude Code's transcripts."""

    name = layout.NAME
    title = "Claude Code"
    capabilities = Capabilities(
        content=True,
        usage=True,
        sessions=True,
        hints=False,
        note="results as the model was shown them; what a tool may do is judged from its name",
    )
    hinted_effects: frozenset[tuple[str, str]] = frozenset()
    #: token-economics.md 4.1 and 4.2; a context above the limit tells itself that its window is larger
    compaction = (
        CompactionRule((2, 1, 120), _WINDOW, reserve=33_000, counts_inputs=True),
        CompactionRule((2, 1, 20), _WINDOW, reserve=33_000),
        CompactionRule((2, 1), _WINDOW, reserve=45_000),
        CompactionRule((), _WINDOW, reserve=45_000, counts_entered=False),
    )

    def __init__(self) -> None:
        self._calls: Calls | None = None

    def places(self, env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
        """Default folders, most usual first; see `layout.places`."""
        return layout.places(env, home, platform)

    def claim(self, probe: Probe) -> Claim | None:
        """A transcript by its rows; an agent's meta file or a workflow's journal by its place and content."""
        if probe.name.endswith(layout.META_SUFFIX):
            return self._claim_meta(probe)
        is_journal = probe.name == layout.JOURNAL and layout.SUBAGENTS in Path(probe.path).parts
        if is_journal and next(probe.rows, None) is not None:
            return Claim(layout.unit_key(probe.path, ""))
        is_empty = True
        for row in probe.rows:
            is_empty = False
            if _is_row(row):
                session = row.get("sessionId")
                return Claim(layout.unit_key(probe.path, session if isinstance(session, str) else ""))
        if is_empty and all(mark in probe.head[:MARKED_HEAD] for mark in HEAD_MARKS):
            return Claim(layout.unit_key(probe.path, ""))
        return None

    def _claim_meta(self, probe: Probe) -> Claim | None:
        meta = probe.document
        if probe.name.startswith(layout.AGENT) and isinstance(meta, dict) and "agentType" in meta:
            return Claim(layout.unit_key(probe.path, ""))
        return None

    def companions(self, path: str) -> list[str]:
        """The folder of a session's subagents, and the meta file of an agent's."""
        if not path.endswith(layout.SUFFIX):
            return []
        stem = path.removesuffix(layout.SUFFIX)
        if Path(stem).name.startswith(layout.AGENT):
            return [stem + layout.META_SUFFIX]
        return [stem]

    def read(self, unit: Unit, reading: Reading) -> Iterator[Record]:
        """The records of a session's file and of its subagents' files, file by file, contexts last.

        Raises:
            UnreadableUnitError: No file of the unit can be read.
        """
        # loaded where something has to be read: most imports of a day find nothing new
        from dedupstats.sources.claude_code.tools import Calls
        from dedupstats.sources.claude_code.unit import UnitReader

        if self._calls is None or self._calls.reading is not reading:
            self._calls = Calls(reading)
        return UnitReader(unit, self._calls).read()


def _is_row(row: dict[str, Any]) -> bool:
    """Whether a JSON object is a row of a transcript, and of nobody else's (Qwen Code's look much alike)."""
    kind = row.get("type")
    if not isinstance(kind, str):
        return False
    if kind in TREE_ROWS:
        has_identity = isinstance(row.get("uuid"), str) and isinstance(row.get("sessionId"), str)
        if has_identity and isinstance(row.get("isSidechain"), bool):
            return True
        message = row.get("message")
        return has_identity and "parentUuid" in row and isinstance(message, dict) and "content" in message
    return kind in MARKS and all(name in row for name in MARKS[kind])
