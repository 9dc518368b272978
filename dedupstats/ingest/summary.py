"""What an import found and did."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and the unit at work."""

TRACES = 5
UNREADABLE = "cannot be read: "
"""How the reason begins, in line 0, of a file that could not be read as a whole (view `skipped`)."""


class Found(NamedTuple):
    """One place that was searched."""

    source: str
    place: str
    exists: bool
    files: int = 0
    """recognised files below it, whatever their source"""
    bytes: int = 0


class Unreadable(NamedTuple):
    """A file or unit that could not be read."""

    path: str
    reason: str


@dataclass(slots=True)
class ImportSummary:
    """What an import found and did. Counts are of this import unless said otherwise."""

    places: list[Found] = field(default_factory=list)
    """default places, if no path was given"""
    files: Counter[str] = field(default_factory=Counter)
    """recognised files by source"""
    bytes: Counter[str] = field(default_factory=Counter)
    """their size by source"""
    units_read: Counter[str] = field(default_factory=Counter)
    units_unchanged: Counter[str] = field(default_factory=Counter)
    new_sources: list[str] = field(default_factory=list)
    """sources of which the store held nothing before"""
    files_gone: int = 0
    """files of the store that vanished since; their rows stay"""
    files_gone_now: int = 0
    """those that this import was the first to miss"""
    emissions: Counter[str] = field(default_factory=Counter)
    """tool results read in this import, by source, copies included"""
    records: int = 0
    """records read: used + copies + ignored + skipped"""
    used: int = 0
    copies: int = 0
    ignored: int = 0
    skipped: int = 0
    traces: list[str] = field(default_factory=list)
    """where the exceptions arose for which logs are called not understood, with the logs"""
    skipped_before: int = 0
    """records of unchanged units that were skipped when earlier imports read them"""
    unfinished: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)
    """files that no source claims, of those that end like logs or were named; without empty ones"""
    empty: int = 0
    """files of no bytes among those"""
    passed_over: int = 0
    """other files beside the logs: text, media"""
    seconds: float = 0.0

    def trace(self, path: str, error: Exception) -> None:
        """Keep where an exception arose that is a fault of ours, and at which file; a few are enough."""
        if len(self.traces) < TRACES:
            self.traces.append(f"{path}:\n{''.join(traceback.format_exception(error))}")

    @property
    def has_faults(self) -> bool:
        """Something was skipped, now or earlier, or could not be read: what `--strict` refuses."""
        return bool(self.skipped or self.skipped_before or self.unreadable)
