"""What happens within contexts, put in order from rows that come table by table.

By the results before it, then by line; a result stands behind what has as many before it. On one line a
request goes first, then what leaves sight, then what enters: docker-agent's item of a summary is the request
that made it and still sent everything, then the boundary, then the summary; Claude Code has the last two.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Generic, TypeVar

_T = TypeVar("_T")
_ASKED, _LEFT, _ENTERED = range(3)


class Within(Generic[_T]):
    """Collects what happens in some contexts, in any order of tables."""

    def __init__(self) -> None:
        self._placed: defaultdict[int, list[tuple[int, bool, int, int, int, _T]]] = defaultdict(list)

    def request(self, context: int, before: int, line: int, what: _T) -> None:
        """A request with so many results before it."""
        own = self._placed[context]
        own.append((before, False, line, _ASKED, len(own), what))

    def result(self, context: int, ordinal: int, line: int, what: _T) -> None:
        """A tool result."""
        own = self._placed[context]
        own.append((ordinal, True, line, _ENTERED, len(own), what))

    def text(self, context: int, before: int, line: int, what: _T) -> None:
        """Another text that entered, with so many results before it."""
        own = self._placed[context]
        own.append((before, False, line, _ENTERED, len(own), what))

    def boundary(self, context: int, ordinal: int, line: int, what: _T) -> None:
        """A point at which results before an ordinal leave sight."""
        own = self._placed[context]
        own.append((ordinal, False, line, _LEFT, len(own), what))

    def __contains__(self, context: int) -> bool:
        return context in self._placed

    def of(self, context: int) -> list[_T]:
        """What happened in a context, in order; what ties stays as it came."""
        # the number of its row decides before the things themselves would be compared
        return [one[5] for one in sorted(self._placed.get(context, ()))]
