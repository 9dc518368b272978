"""From the tree to the line: what each tool result still had in sight, told as boundaries.

The rule (claude-code.md section 15, In sight) is a walk up the tree from the row of a result. The store wants
a line: emissions in order, and points at which earlier ones leave. This module keeps the walk's path from one
result to the next, so that only what differs is walked, and writes down every difference: what left as a
boundary, what came back as an emission that stands there once more.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.model import BoundaryKind
from dedupstats.sources.claude_code.tree import NO_MESSAGE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.sources.claude_code.threads import Event
    from dedupstats.sources.claude_code.tree import Tree


EASE, LEAST, FEW = 8, 10_000, 256
"""A log may jump from branch to branch at every row. Rows are walked, and results come back, so often on
average, and so often in any case; then walks end after a few rows, and nothing comes back into sight."""


class Left(NamedTuple):
    """Emissions left sight before the ordinal `at_ordinal`."""

    at_ordinal: int
    node: int
    kind: BoundaryKind
    event: Event | None
    kept: tuple[int, ...]
    removed: tuple[int, ...]


class Shown(NamedTuple):
    """A result that came back into sight gets the next ordinal."""

    number: int


class Sight:
    """The sight of one context, moved from result to result.

    Results are numbered as they are added; an ordinal is the place in the line, where returns stand too.
    A result is in sight as long as one of these holds: its row is on the path, a row of its call's message is
    on the path, a compaction on the path kept it; and no micro-compaction on the path cleared it.
    """

    def __init__(self, tree: Tree, events: list[Event]) -> None:
        self._tree = tree
        self._events = events
        self._next_event = 0
        self._by_event: dict[int, Event] = {}
        self._path: list[int] = []
        self._on_path = bytearray(len(tree.up))
        self._message_rows: dict[int, int] = {}
        self._marked: set[int] = set()
        self._of_row: dict[int, list[int]] = {}
        self._of_message: dict[int, list[int]] = {}
        self._of_call: dict[str, list[int]] = {}
        self._kept: dict[int, list[int]] = {}
        self._cleared: dict[int, list[int]] = {}
        self._reasons: list[int] = []
        self._masks: list[int] = []
        self._visible: dict[int, int] = {}
        self._touched: set[int] = set()
        self._ordinal = 0
        self._has_micros = any(event.kind is BoundaryKind.MICRO for event in events)
        self._micros: dict[int, Event] = {}
        """not yet on the path, by row"""
        self._ready: list[int] = []
        self._clears: deque[int] = deque()
        self._steps_left = EASE * len(tree.up) + LEAST
        self._returns_left = LEAST

    def add(self, node: int, message: int, call_id: str) -> list[Left | Shown]:
        """The next result, in line order; it takes the ordinal after all that is returned.

        Args:
            node: Its row.
            message: Number of its call's message; NO_MESSAGE without a call.
            call_id: Id of its call.

        Returns:
            What left sight before it, and what came back; nearly always nothing.
        """
        due = self._due(node) if self._next_event < len(self._events) else []
        old_root, branch = self._move(node)
        number = len(self._reasons)
        self._reasons.append(1 + (self._message_rows.get(message, 0) > 0))
        self._masks.append(0)
        self._marked.add(node)
        self._of_row.setdefault(node, []).append(number)
        if message != NO_MESSAGE:
            self._of_message.setdefault(message, []).append(number)
        if self._has_micros:
            self._of_call.setdefault(call_id, []).append(number)
        steps: list[Left | Shown] = []
        if due or self._touched or self._clears or self._ready:
            steps.extend(self._boundaries(due, old_root, branch))
            for back in self._returning(number):
                self._visible[back] = self._ordinal
                self._ordinal += 1
                steps.append(Shown(back))
        self._visible[number] = self._ordinal
        self._ordinal += 1
        return steps

    def finish(self, tip: int, last: int) -> Iterator[Left]:
        """What left sight after the last result, seen from the last row of the conversation.

        Args:
            tip: Last row of the conversation, or ROOT if there is none.
            last: Last row of the context.
        """
        due = self._due(last + 1)
        old_root, branch = self._move(tip) if tip != ROOT else (self._root(), ROOT)
        yield from self._boundaries(due, old_root, branch)
        for event in self._micros.values():
            yield Left(self._ordinal, event.node, event.kind, event, (), ())

    def _root(self) -> int:
        return self._path[0] if self._path else ROOT

    def _due(self, node: int) -> list[Event]:
        """Events before a row that were not met yet, with the results that they speak of."""
        due: list[Event] = []
        while self._next_event < len(self._events) and self._events[self._next_event].node < node:
            event = self._events[self._next_event]
            self._next_event += 1
            due.append(event)
            self._marked.add(event.node)
            if event.kind is BoundaryKind.COMPACTION:
                self._kept[event.node] = [
                    number for row in event.kept for number in self._of_row.get(row, ())
                ]
            elif event.kind is BoundaryKind.MICRO:
                self._cleared[event.node] = [
                    number for call in event.cleared for number in self._of_call.get(call, ())
                ]
        return due

    def _move(self, node: int) -> tuple[int, int]:
        """Move the path to a row; returns the old path's root and the row where the new one leaves it."""
        up, on_path, path = self._tree.up, self._on_path, self._path
        old_root = self._root()
        entering: list[int] = []
        most = len(up) if self._steps_left > 0 else FEW
        while node != ROOT and not on_path[node]:
            entering.append(node)
            node = up[node] if len(entering) < most else ROOT
        self._steps_left -= len(entering)
        while path and path[-1] != node:
            row = path.pop()
            on_path[row] = 0
            self._weigh(row, -1)
        for row in reversed(entering):
            path.append(row)
            on_path[row] = 1
            self._weigh(row, 1)
        return old_root, entering[-1] if entering else node

    def _weigh(self, row: int, by: int) -> None:
        """Count a row's reasons for sight in (1) or out (-1)."""
        if row in self._marked:
            self._change(self._of_row.get(row, ()), by)
            self._change(self._kept.get(row, ()), by)
            for number in self._cleared.get(row, ()):
                self._masks[number] += by
                self._touched.add(number)
            if by > 0 and row in self._micros:
                self._ready.append(row)
        message = self._tree.messages[row]
        if message != NO_MESSAGE:
            rows = self._message_rows[message] = self._message_rows.get(message, 0) + by
            # its first row came onto the path, or its last one left it
            if rows == max(by, 0) and message in self._of_message:
                self._change(self._of_message[message], by)

    def _change(self, numbers: Iterable[int], by: int) -> None:
        for number in numbers:
            self._reasons[number] += by
            self._touched.add(number)

    def _sees(self, number: int) -> bool:
        return self._reasons[number] > 0 and not self._masks[number]

    def _boundaries(self, due: list[Event], old_root: int, branch: int) -> Iterator[Left]:
        """What leaves at this point: first by the log's own word, then what the walk leaves out."""
        root = self._root()
        rewinds: list[int] = []
        for event in due:
            if event.kind is BoundaryKind.COMPACTION:
                self._clears.clear()
                yield self._sweep(event.node, event.kind, event, self._kept[event.node])
            elif event.kind is BoundaryKind.MICRO:
                self._micros[event.node] = event
                if self._on_path[event.node]:
                    self._ready.append(event.node)
            elif event.kind is BoundaryKind.CLEAR:
                self._clears.append(event.node)
            else:
                rewinds.append(event.node)
        while self._clears and self._clears[0] <= root:
            yield self._sweep(self._clears.popleft(), BoundaryKind.CLEAR, None, ())
        if self._ready:
            yield from self._due_micros()
        gone = [number for number in self._touched if number in self._visible and not self._sees(number)]
        removed = tuple(sorted(self._visible.pop(number) for number in gone))
        if old_root < root and removed:
            kept = tuple(sorted(self._visible.values()))
            yield Left(self._ordinal, root, BoundaryKind.CLEAR, None, kept, ())
        elif removed:
            yield Left(self._ordinal, branch, BoundaryKind.REWIND, None, (), removed)
            rewinds = rewinds[:-1]
        for node in rewinds:
            # nothing was to be removed, but the branch is dead all the same
            yield Left(self._ordinal, node, BoundaryKind.REWIND, None, (), ())

    def _sweep(self, node: int, kind: BoundaryKind, event: Event | None, kept: Iterable[int]) -> Left:
        """A boundary that takes everything but what is named, or still seen from where it begins."""
        staying = {number: self._visible[number] for number in kept if number in self._visible}
        if self._root() == node:
            staying.update((number, at) for number, at in self._visible.items() if self._sees(number))
        # what left may yet be seen from the other side
        self._touched.update(self._visible.keys() - staying.keys())
        self._visible = staying
        return Left(self._ordinal, node, kind, event, tuple(sorted(staying.values())), ())

    def _due_micros(self) -> Iterator[Left]:
        for node in sorted(self._ready):
            event = self._micros.pop(node)
            gone = [number for number in self._cleared[event.node] if number in self._visible]
            removed = tuple(sorted(self._visible.pop(number) for number in gone))
            yield Left(self._ordinal, event.node, event.kind, event, (), removed)
        self._ready.clear()

    def _returning(self, number: int) -> list[int]:
        """Earlier results that are in sight again, oldest first."""
        back = sorted(
            other
            for other in self._touched
            if other < number and other not in self._visible and self._sees(other)
        )
        self._touched.clear()
        # most that can come back grows with what there is
        if len(back) > self._returns_left + EASE * number:
            return []
        self._returns_left -= len(back)
        return back
