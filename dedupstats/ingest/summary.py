"""What an import found and did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and the unit at work."""


class Found(NamedTuple):
    """One place that was searched."""

    source: str
    place: str
    files: int
    exists: bool


class Unreadable(NamedTuple):
    """A file or unit that could not be read."""

    path: str
    reason: str


@dataclass(slots=True)
class ImportSummary:
    """What an import found and did. Counts are of this import unless said otherwise."""

    places: list[Found] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    """recognised files by source"""
    units_read: Counter[str] = field(default_factory=Counter)
    units_unchanged: Counter[str] = field(default_factory=Counter)
    files_gone: int = 0
    """files of the store that vanished since; their rows stay"""
    emissions: Counter[str] = field(default_factory=Counter)
    """tool results read in this import, by source, copies included"""
    records: int = 0
    used: int = 0
    copies: int = 0
    ignored: int = 0
    skipped: int = 0
    unfinished: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def has_faults(self) -> bool:
        """Something was skipped or could not be read: what `--strict` refuses."""
        return bool(self.skipped or self.unreadable)
