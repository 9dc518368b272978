"""The tree of parents of one file, as its rows arrive.

Each row hangs on its parent, found by the rules of claude-code.md sections 5 and 15. The result is one list,
`up`: for every row the row that a walk goes to next, or -1 at a root. Compaction boundaries are worked into
it: a step over a boundary leads to the boundary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupstats.sources.claude_code.rows import Row
    from dedupstats.sources.claude_code.threads import Thread

ROOT = -1
NO_MESSAGE = -1
SEGMENT_EASE, SEGMENT_LEAST = 16, 10_000
"""how often each row, and how many rows in any case, can be in what compactions say that they kept"""
FORWARD_STEPS = 256
"""how far a parent that stands after its child is followed to prove that the two make no circle"""


Known = tuple["Thread", str | UnsetType | None, str | None, int, int | None]
"""a row's thread, uuid of its parent, session id, line, time"""


class Tree:
    """All rows of a file that have a place in the tree, by their number in line order.

    Attributes:
        up: Row that a walk goes to from each row; ROOT where it ends.
        messages: Number of the message (within its thread) that a row belongs to, or NO_MESSAGE.
        rows: What else is known of each row.
        notes: Rows that the program wrote in the person's name (caveats, commands).
        latest: Last row so far that bears a uuid.
    """

    def __init__(self) -> None:
        self.up: list[int] = []
        self.messages: list[int] = []
        self.rows: list[Known] = []
        self.notes: set[int] = set()
        self.latest: dict[str | None, int] = {}
        self._variants: dict[str | None, set[tuple[str | UnsetType | None, str | None]]] = {}
        self._later: list[tuple[int, str]] = []
        self._wanted: dict[str, int | None] = {}
        self._segment_rows = -SEGMENT_LEAST

    def is_copy(self, row: Row) -> bool:
        """Whether a row whose uuid was met before is the same once more: same parent and session id.

        Source: claude-code.md section 15, Copy.
        """
        _, parent, session, _, _ = self.rows[self.latest[row.uuid]]
        variants = self._variants.setdefault(row.uuid, {(parent, session)})
        identity = (row.parentUuid, row.sessionId)
        if identity in variants:
            return True
        variants.add(identity)
        return False

    def thread_of_side(
        self, parent: str | UnsetType | None, last: Thread | None, new: Callable[[], Thread]
    ) -> Thread:
        """The thread of a sidechain row that stands in the session's file.

        Such rows are split by the top row that the chain of sidechain rows reaches (section 6).

        Args:
            parent: The row's parent.
            last: Thread of the nearest earlier sidechain row.
            new: Makes the thread that begins with this row.
        """
        if isinstance(parent, str):
            found = self.latest.get(parent)
            if found is not None:
                owner = self.rows[found][0]
                return owner if owner.is_side else new()
        elif parent is None:
            return new()
        return last or new()

    def add(self, thread: Thread, row: Row, line: int, at: int | None) -> int:
        """Hang a row into the tree; returns its number."""
        parent = row.parentUuid
        ups, rows = self.up, self.rows
        node = len(ups)
        if parent is None:
            up = ROOT
        else:
            up = self.latest.get(parent, ROOT) if parent is not UNSET else ROOT
            if up == ROOT:
                if isinstance(parent, str):
                    self._later.append((node, parent))
                    self._wanted.setdefault(parent, None)
                up = thread.last_node
            elif rows[up][0] is not thread:
                up = thread.last_node
            if ROOT < up < thread.boundary:
                up = thread.boundary
        ups.append(up)
        self.messages.append(NO_MESSAGE)
        # one tuple instead of five lists
        rows.append((thread, parent, row.sessionId, line, at))
        uuid = row.uuid
        if uuid is not None:
            self.latest[uuid] = node
            if self._wanted and self._wanted.get(uuid, node) is None:
                self._wanted[uuid] = node
        thread.last_node = node
        return node

    def resolve_later(self, is_result: Callable[[int], bool]) -> None:
        """Hang results on calls that stand after them (section 4), once the whole file is known.

        Circles are ruled out by demanding that the walk from the call leads back before the result without
        passing another row that may hang on a later one.

        Args:
            is_result: Whether a row holds a tool result.
        """
        targets: dict[int, int] = {}
        rows = self.rows
        for node, parent in self._later:
            target = self._wanted[parent]
            if target is not None and rows[target][0] is rows[node][0] and is_result(node):
                targets[node] = target
        for node, target in targets.items():
            if self._leads_back(target, node, targets):
                self.up[node] = target

    def _leads_back(self, node: int, before: int, targets: dict[int, int]) -> bool:
        for _ in range(FORWARD_STEPS):
            if node < before:
                return True
            if node in targets:
                return False
            node = self.up[node]
        return False

    def segment(self, head: int, tail: int) -> list[int]:
        """The rows from `tail` up to `head`, or what lies between them by line if the walk misses it.

        Nothing, once a file has asked for many times its rows.
        """
        if self._segment_rows > SEGMENT_EASE * len(self.up):
            return []
        self._segment_rows += tail - head
        rows = []
        node = tail
        while node > head:
            rows.append(node)
            node = self.up[node]
        if node == head:
            return [*rows, head]
        return [row for row in range(head, tail + 1) if self.rows[row][0] is self.rows[tail][0]]
