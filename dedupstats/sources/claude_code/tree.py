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

    from dedupstats.sources.claude_code.threads import Thread

ROOT = -1
NO_MESSAGE = -1
FORWARD_STEPS = 256
"""how far a parent that stands after its child is followed to prove that the two make no circle"""


class Tree:
    """All rows of a file that have a place in the tree, by their number in line order.

    Attributes:
        up: Row that a walk goes to from each row; ROOT where it ends.
        messages: Number of the message (within its thread) that a row belongs to, or NO_MESSAGE.
        lines: Line of each row.
        times: Time of each row.
        notes: 1 for a row that the program wrote in the person's name (caveats, commands).
        is_repeated: Whether the row added last bears a uuid that was there before.
    """

    def __init__(self) -> None:
        self.up: list[int] = []
        self.messages: list[int] = []
        self.lines: list[int] = []
        self.times: list[int | None] = []
        self.notes = bytearray()
        self.is_repeated = False
        self._owners: list[Thread] = []
        self._latest: dict[str, int] = {}
        self._identities: list[tuple[str | None | UnsetType, str | None]] = []
        self._variants: dict[str, set[tuple[str | None | UnsetType, str | None]]] = {}
        self._later: list[tuple[int, str]] = []
        self._wanted: dict[str, int | None] = {}

    def is_copy(self, uuid: str | None, parent: str | None | UnsetType, session: str | None) -> bool:
        """Whether the same row was there before: same uuid, parent and session id (section 15, Copy)."""
        self.is_repeated = False
        before = self._latest.get(uuid) if uuid is not None else None
        if before is None or uuid is None:
            return False
        self.is_repeated = True
        identity = (parent, session)
        variants = self._variants.setdefault(uuid, {self._identities[before]})
        if identity in variants:
            return True
        variants.add(identity)
        return False

    def thread_of_side(
        self, parent: str | None | UnsetType, last: Thread | None, new: Callable[[], Thread]
    ) -> Thread:
        """The thread of a sidechain row that stands in the session's file.

        Such rows are split by the top row that the chain of sidechain rows reaches (section 6).

        Args:
            parent: The row's parent.
            last: Thread of the nearest earlier sidechain row.
            new: Makes the thread that begins with this row.
        """
        if isinstance(parent, str):
            found = self._latest.get(parent)
            if found is not None:
                owner = self._owners[found]
                return owner if owner.is_side else new()
        elif parent is None:
            return new()
        return last or new()

    def add(
        self,
        thread: Thread,
        uuid: str | None,
        parent: str | None | UnsetType,
        session: str | None,
        line: int,
        at: int | None,
    ) -> int:
        """Hang a row into the tree; returns its number."""
        node = len(self.up)
        up = ROOT
        if parent is UNSET:
            up = thread.last_node
        elif isinstance(parent, str):
            found = self._latest.get(parent)
            if found is None:
                self._later.append((node, parent))
                self._wanted.setdefault(parent, None)
                up = thread.last_node
            elif self._owners[found] is thread:
                up = found
            else:
                up = thread.last_node
        if ROOT < up < thread.boundary:
            up = thread.boundary
        self.up.append(up)
        self.messages.append(NO_MESSAGE)
        self.lines.append(line)
        self.times.append(at)
        self.notes.append(0)
        self._owners.append(thread)
        self._identities.append((parent, session))
        if uuid is not None:
            self._latest[uuid] = node
            if self._wanted and self._wanted.get(uuid, node) is None:
                self._wanted[uuid] = node
        thread.last_node = node
        return node

    def node_of(self, uuid: str) -> int | None:
        """The last row so far that bears a uuid."""
        return self._latest.get(uuid)

    def resolve_later(self, is_result: Callable[[int], bool]) -> None:
        """Hang results on calls that stand after them (section 4), once the whole file is known.

        Only a row without a parent before it is concerned; a circle is ruled out by demanding that the walk
        from the call leads back before the result without passing another row that hangs on a later one.

        Args:
            is_result: Whether a row holds a tool result.
        """
        forward: set[int] = set()
        for node, parent in self._later:
            target = self._wanted[parent]
            if (
                target is not None
                and self._owners[target] is self._owners[node]
                and is_result(node)
            ):
                forward.add(node)
                if self._leads_back(target, node, forward):
                    self.up[node] = target
                else:
                    forward.discard(node)

    def _leads_back(self, node: int, before: int, forward: set[int]) -> bool:
        for _ in range(FORWARD_STEPS):
            if node < before:
                return True
            if node in forward:
                return False
            node = self.up[node]
        return False

    def segment(self, head: int, tail: int) -> list[int]:
        """The rows from `tail` up to `head`, or what lies between them by line if the walk misses it."""
        rows = []
        node = tail
        while node > head:
            rows.append(node)
            node = self.up[node]
        if node == head:
            return [*rows, head]
        return [row for row in range(head, tail + 1) if self._owners[row] is self._owners[tail]]
